import pytest
from dvc.repo import Repo

from flows.commands.report import report_command
from tasks.errors import BadInput
from tasks.reports.page import Page, Section
from tasks.reports.record import RECORD, write_record


def test_a_record_without_its_page_and_a_page_without_its_record_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("dvc.yaml", "params.yaml"):
        (tmp_path / name).write_text("{}\n", encoding="utf-8")
    Repo.init(str(tmp_path), no_scm=True).close()
    folder = tmp_path / "data/reports/trial/rivers"
    folder.mkdir(parents=True)
    write_record(folder / RECORD, Page(Section("stream", "Streams", 3), "trial", "rivers", "Rivers", ""), {})
    with pytest.raises(BadInput, match=r"rivers.index\.html: does not exist, although report\.json does"):
        report_command(open_it=False)
    (folder / "index.html").touch()
    assert report_command(open_it=False) == 0
    assert "Streams" in (tmp_path / "data/reports/index.html").read_text(encoding="utf-8")
    (folder / RECORD).unlink()
    with pytest.raises(BadInput, match=r"rivers.report\.json: is not a report record"):
        report_command(open_it=False)
