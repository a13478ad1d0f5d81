import pytest

from tasks.sources.wikipedia.sentences import LONGEST, split_sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ["He was born in St. Louis, Missouri, U.S.", "His father worked for J. P. Morgan & Co. in New York."],
        ["J. R. R. Tolkien wrote it.", "Mr. Smith (b. 1950) met Dr. No at 5 p.m. on Jan. 5, 1990.", "It cost $5.5 million."],
        ["The company, Acme Inc., was founded c. 1900.", "It has approx. 3,000 employees."],
        ['"Really?" she asked.', "Yes!"],
        ["The album No. 1 reached no. 5 on the chart.", "It was produced by Yahoo! Inc. for Washington D.C. residents."],
        ["She earned a Ph.D. from MIT.", "Lt. Col. John A. Smith Jr. died in 1990.", "Gov. Brown attended."],
        ["The U.S. Army left.", "The species E. coli is common.", "Fig. 3 shows it.", "(See p. 5.)", "It ended."],
        ["See Vol. 3, pp. 4–5.", "St. Mary's was built in 1900."],
        ["Am 3. Oktober 1990 wurde Deutschland vereinigt.", "Danach nicht."],
        ["It lasted until the 5th century B.C.", "The Romans came in 43 A.D. and left."],
    ],
)  # fmt: skip
def test_abbreviations_end_no_sentence(sentences):
    assert split_sentences(" ".join(sentences)) == sentences


def test_a_paragraph_without_an_end_is_cut_and_nothing_is_lost():
    text = "word " * (LONGEST // 2)
    pieces = split_sentences(text)
    assert max(map(len, pieces)) <= LONGEST
    assert " ".join(pieces) == text.strip()
