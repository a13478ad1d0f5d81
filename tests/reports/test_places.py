import pytest

from tasks.reports.places import link_home, name_in_project


@pytest.mark.parametrize(
    ("path", "known", "home"),
    [
        ("data/reports/grammar/films/index.html", True, "../../index.html"),
        ("data/grammar/data/contracts/index.html", True, "../../../reports/index.html"),
        (".benchloom/lineage/a.html", True, "../../data/reports/index.html"),
        ("elsewhere/a.html", False, ""),
    ],
)  # fmt: skip
def test_a_page_is_named_and_leads_home_wherever_its_project_lies(tmp_path, monkeypatch, path, known, home):
    monkeypatch.chdir(tmp_path)
    for page in (tmp_path / path, (tmp_path / path).relative_to(tmp_path)):
        assert name_in_project(page) == (path if known else "")
        assert link_home(page) == home


def test_a_page_of_another_project_leads_home_there(tmp_path):
    page = tmp_path / "data" / "project" / "data" / "reports" / "a" / "b" / "index.html"
    assert link_home(page) == "../../index.html"
