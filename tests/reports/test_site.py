import json

import pytest

from tasks.errors import BadInput
from tasks.reports.embed import encode_json
from tasks.reports.frame import summarise
from tasks.reports.site import write_index


def write_record(folder, title, part="dataset", figures=(), **told):
    folder.mkdir(parents=True)
    begun = summarise(part, flow="grammar", name=folder.name, title=title, subtitle="", **told)
    record = {**begun, "figures": figures}
    (folder / "report.json").write_text(json.dumps(record), encoding="utf-8")
    return folder


def test_reports_are_linked_relatively_and_in_order(tmp_path):
    folders = [
        write_record(tmp_path / "grammar" / name, title) for name, title in (("b", "Zoo"), ("a b", "<Ants>"))
    ]

    write_index(folders, tmp_path / "index.html")

    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert page.index("grammar/a%20b/index.html") < page.index("grammar/b/index.html")
    assert "&lt;Ants&gt;" in page
    assert "<Ants>" not in page
    assert str(tmp_path) not in page


def test_assessments_come_after_datasets_with_their_figures_and_warnings(tmp_path):
    told = {"finding": "module at fault: retrieval", "warnings": ["The judge got 1 of 2 canaries right."]}
    figures = [{"label": "accuracy", "value": 0.1, "note": "0.033 to 0.200"}]
    folders = [
        write_record(tmp_path / "grammar" / "a", "Ants", "assessment", figures, **told),
        write_record(tmp_path / "grammar" / "b", "Zoo"),
    ]

    write_index(folders, tmp_path / "index.html")

    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    shown = ["Datasets", "Zoo", "Assessments", "Ants", "fault: retrieval", "1 of 2", "0.100", "0.033 to"]
    places = [page.index(text) for text in shown]
    assert places == sorted(places)


def test_a_folder_without_a_report_is_named(tmp_path):
    with pytest.raises(BadInput, match=r"films.report\.json"):
        write_index([tmp_path / "films"], tmp_path / "index.html")


def test_a_record_of_an_older_kind_is_named(tmp_path):
    folder = write_record(tmp_path / "films", "Films")
    (folder / "report.json").write_text('{"flow": "grammar", "title": "Films"}', encoding="utf-8")
    with pytest.raises(BadInput, match=r"films.report\.json: is the record of an older report"):
        write_index([folder], tmp_path / "index.html")


def test_embedded_json_closes_no_tag_and_reads_back():
    hostile = {"a": "</script><!-- & \u2028 \u2029"}

    text = encode_json(hostile)

    assert not set(text) & {"<", ">", "&", "\u2028", "\u2029"}
    assert json.loads(text) == hostile
