"""Tests of finding a user's own system by name, in a file of the project or an installed package."""

import shutil
import sys

import pytest

import tasks.systems.own
from tasks.errors import BadInput, CallMissing
from tasks.plugs import find_plug
from tasks.systems import code
from tasks.systems.contract import Passage
from tests.packages import install, read_example
from tests.systems.test_kinds import answer, run

NOWHERE = "http://127.0.0.1:9/v1"
CODE = """
asked = []


def answer(question, history):
    asked.append(question)
    return {"answer": "From the file.", "contexts": ["a text"], "ids": ["d1"]}


def search(query):
    return {"contexts": ["found"], "ids": ["d2"]}
"""
POINTS = "[benchloom.systems]\nacme-rag = acme_rag\n"


@pytest.fixture
def own(tmp_path, monkeypatch):
    folder = tmp_path / "own"
    folder.mkdir()
    monkeypatch.setattr(code, "FOLDER", folder)
    monkeypatch.setattr(tasks.systems.own, "__path__", [str(folder)])
    return folder


async def search(system):
    return await system.retrieve("Who leads?", row="r1")


def test_a_file_is_a_system_by_being_there_and_an_edit_is_asked_anew(own, tmp_path):
    (own / "file_one.py").write_text(CODE)
    entry = {"kind": "plug", "plug": "file-one"}
    response, (call,) = run(tmp_path, entry, answer, NOWHERE)
    assert response.text == "From the file."
    assert response.passages == (Passage("d1", "", "a text", 0.0),)
    assert run(tmp_path, entry, answer) == (response, [call])
    assert run(tmp_path, entry, search, NOWHERE) == (None, [])
    passages, _ = run(tmp_path, {**entry, "search": True}, search, NOWHERE)
    assert passages == (Passage("d2", "", "found", 0.0),)
    (own / "file_one.py").write_text(CODE + "# edited\n")
    with pytest.raises(CallMissing):
        run(tmp_path, entry, answer)
    with pytest.raises(BadInput, match="omit version and record"):
        run(tmp_path, {**entry, "version": "1"}, answer)


def test_an_installed_one_must_be_the_one_that_is_named(own, site):
    install(site, "acme-rag", "2.0", points=POINTS, code=CODE.replace("the file", "the package"))
    entry = {"kind": "plug", "plug": "acme-rag"}
    with pytest.raises(
        BadInput, match=r"acme-rag 2\.0 is installed.*version: \"2\.0\", record: \w{64}"
    ) as error:
        run(site, entry, answer, NOWHERE)
    entry |= {"version": "2.0", "record": str(error.value).rstrip(")").rpartition(" ")[2]}
    response, (call,) = run(site, entry, answer, NOWHERE)
    assert response.text == "From the package."
    assert call.identity == f"2.0-{entry['record'][:16]}"
    (site / "acme_rag-2.0.dist-info/entry_points.txt").unlink()
    assert run(site, entry, answer) == (response, [call]), "a replay needs nothing installed"
    with pytest.raises(
        BadInput, match=r"systems\.mine: there is no file own/acme-rag\.py and no installed plug-in acme-rag"
    ):
        run(site, entry, answer, NOWHERE, epoch="monday")


def test_an_installed_one_that_cannot_be_called_is_one_line_with_its_entry_point(own, site):
    entry = {"kind": "plug", "plug": "acme-rag"}

    def name_installed(code):
        sys.modules.pop("acme_rag", None)
        shutil.rmtree(site / "acme_rag-2.0.dist-info", ignore_errors=True)
        install(site, "acme-rag", "2.0", points=POINTS, code=code)
        return {**entry, "version": "2.0", "record": find_plug("systems", "acme-rag").record}

    place = r"acme-rag 2\.0, entry point acme-rag = acme_rag of benchloom\.systems: "
    with pytest.raises(BadInput, match=place + "cannot be imported: ZeroDivisionError: division by zero"):
        run(site, name_installed("1 / 0"), answer, NOWHERE)
    with pytest.raises(BadInput, match=place + "has no function 'answer'"):
        run(site, name_installed("# nothing"), answer, NOWHERE)
    (own / "acme_rag.py").write_text(CODE)
    with pytest.raises(BadInput, match=place + r"tasks/systems/own/acme_rag\.py has the same name"):
        run(site, entry, answer, NOWHERE)


def test_the_page_shows_a_system_that_answers(own, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/a.txt").write_text("Nobody.\nThe quarry is old")
    (tmp_path / "notes/b.txt").write_text("Bo.\nBo leads the quarry since 1990 , who else")
    (own / "shelf.py").write_text(read_example("A system"))
    entry = {"kind": "plug", "plug": "shelf", "search": True}
    response, _ = run(tmp_path, entry, answer, NOWHERE)
    assert response.text == "Bo."
    passages, _ = run(tmp_path, entry, search, NOWHERE)
    assert [passage.text[:3] for passage in passages] == ["Bo.", "Nob"]
