import pytest

from tasks.sources.wikipedia.article import clean_title


@pytest.mark.parametrize(
    ("title", "cleaned"),
    [
        ("alm_town#Sights", "Alm town"), ("éa", "Éa"), ("თბილისი", "თბილისი"), ("ß", "ß"), ("ŉx", "ŉx"), ("", ""),
    ],
)  # fmt: skip
def test_titles_begin_with_the_letter_that_mediawiki_gives_them(title, cleaned):
    assert clean_title(title) == cleaned
