import hashlib
import json

from tasks.artifacts.rows import Origin
from tasks.grammar.construct.glossary import Term
from tasks.grammar.construct.pairs import Question
from tasks.grammar.publish.report import report
from tests.grammar.sample import HOSTILE, write, write_sample
from tests.reports.figure_folders import place_figures


def read_data(path):
    text = path.read_text(encoding="utf-8")
    return json.loads("[" + text.removeprefix("Benchloom.give(").removesuffix(");\n") + "]")[1]


def make(tmp_path, **options):
    sample = write_sample(tmp_path, **options)
    out = tmp_path / "out"
    return (
        sample,
        out,
        report(
            **sample.page_inputs(),
            database=sample.entry,
            settings={},
            out=out,
            **place_figures(out, "metrics"),
        ),
    )


def test_every_question_points_at_its_text_group_and_calls(tmp_path):
    sample, out, counts = make(tmp_path)
    data, calls = read_data(out / "rows.js"), read_data(out / "calls.js")
    groups = read_data(out / "groups.js")
    questions = {question.id: question for question in sample.questions}

    assert counts.rows_out == len(data["rows"]) == 16
    assert {row[0] for row in data["rows"] if row[2][0] == "balanced"} == set(questions)
    for row_id, title, values, _, blocks, *_ in data["rows"]:
        group = groups[blocks[1][2]]
        text = data["shared"][blocks[2][1]]
        if row_id in questions:
            assert ["code", questions[row_id].sql, 1, 0] in group
            assert ["text", questions[row_id].answer, "reply", ""] in group
        assert row_id in next(block[1] for block in group if block[0] == "rows")
        sentence, sql = (block[1] for block in text if block[0] == "code")
        assert title.startswith(sentence.partition("[")[0])
        assert values[2] == str([option[0] for option in data["filters"][2]["options"]].index(values[2]))
        assert sql.startswith(data["filters"][2]["options"][int(values[2])][1][:40])
        wording, template = (
            {calls[key]["stage"] for key in block[2]} for block in text if block[0] == "calls"
        )
        assert wording == {"grammar.text_templates", "grammar.back_check"}
        assert template == {"grammar.sql_templates"}


def test_the_page_escapes_what_rows_hold(tmp_path):
    _, out, _ = make(tmp_path, hostile=True)
    page = (out / "index.html").read_text(encoding="utf-8")

    assert "onerror=alert(1)" in page  # the dropped row's detail is shown ...
    assert "<img" not in page  # ... but not as markup
    assert page.count("</script>") == page.count("<script src=") == 4
    assert "</script>" not in (out / "rows.js").read_text(encoding="utf-8")
    assert HOSTILE in read_data(out / "rows.js")["rows"][0][1]


def test_the_page_says_whether_the_texts_were_read_a_second_time(tmp_path):
    sample, out, _ = make(tmp_path)
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "of 5 written; second reading turned off" in page
    assert "The same texts as in back_check: the second reading is turned off." in page
    assert "confirmed by the second reading" not in page
    by_model = {"grammar.second_reading.by": "model", "grammar.second_reading.groups": 3}
    report(
        **sample.page_inputs(),
        database=sample.entry,
        settings=by_model,
        out=out,
        **place_figures(out, "metrics"),
    )
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "texts confirmed by the second reading" in page
    assert "of 4 confirmed" in page
    assert "second reading turned off" not in page


def test_the_glossary_says_whose_words_it_has(tmp_path):
    sample = write_sample(tmp_path)
    terms = [
        Term("film.dob", "film", "dob", "date <of> birth", "params", ()),
        Term("film.rt", "film", "rt", "running time", "proposed", (Origin("call", "0c"),)),
    ]
    write(sample.folder, "glossary", Term, terms, [])
    out = tmp_path / "out"
    report(
        **sample.page_inputs(), database=sample.entry, settings={}, out=out, **place_figures(out, "metrics")
    )
    page = (out / "index.html").read_text(encoding="utf-8")

    assert "date &lt;of&gt; birth (written by a person)" in page
    assert "running time (proposed by a model)" in page
    assert "databases.films.glossary" in page


def test_the_graph_is_drawn_from_origins(tmp_path):
    _, out, _ = make(tmp_path)
    page = (out / "index.html").read_text(encoding="utf-8")

    for line in (
        "films to schema",
        "films to fill_in",
        "sql_templates to fill_in",
        "text_templates to back_check",
    ):
        assert f"<title>{line}</title>" in page
    assert "<title>schema to balanced</title>" not in page


def test_the_same_rows_give_the_same_bytes(tmp_path):
    sample, out, _ = make(tmp_path)
    again = tmp_path / "again"
    report(
        **sample.page_inputs(),
        database=sample.entry,
        settings={},
        out=again,
        **place_figures(again, "metrics"),
    )

    digests = [
        {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in at.iterdir()}
        for at in (out, again)
    ]

    assert digests[0] == digests[1]
    assert str(tmp_path) not in "".join(path.read_text(encoding="utf-8") for path in out.iterdir())


def test_a_question_of_either_set_is_shown(tmp_path):
    sample = write_sample(tmp_path)
    write(sample.folder, "unbalanced", Question, sample.questions[1:4], [])
    out = tmp_path / "out"

    report(
        **sample.page_inputs(), database=sample.entry, settings={}, out=out, **place_figures(out, "metrics")
    )

    shown = {row[0] for row in read_data(out / "rows.js")["rows"]}
    assert shown == {question.id for question in sample.questions}
