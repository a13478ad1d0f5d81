"""Tests of finding methods by name, in files of the project and installed packages."""

import pytest

from tasks.errors import BadInput
from tasks.plugged_classes import list_own
from tasks.streambench.entries import MethodChoice
from tasks.streambench.methods import finding
from tests.packages import install, read_example
from tests.streambench.methods_folder import copy_methods
from tests.streambench.scripted import StreamAsk, know_all, make_items, run_steps

PACKAGE = """
from tasks.streambench.method import StreamMethod


class Plain(StreamMethod):
    name = "plain"
    searches = False

    async def step(self, seen, talk):
        return await talk.answer(seen.agents[0])
"""
POINTS = "[benchloom.methods]\nplain = acme_methods:Plain\n"


@pytest.fixture
def folder(tmp_path):
    """A folder of methods to which tests can add files."""
    with copy_methods(tmp_path / "methods"):
        yield tmp_path / "methods"


def find(name, **more):
    return finding.find_method(MethodChoice(method=name, **more))


def test_the_example_of_the_page_is_found_by_being_there_and_runs(folder):
    (folder / "last_right.py").write_text(read_example("A method"))
    ask = StreamAsk(lambda asked: "NONE" if "green" in asked.question else know_all(asked))
    runs = run_steps(ask, make_items(6), "zero_shot", "last_right", k=2)
    rows = runs["last_right|agent|42"]
    assert [[entry.position for entry in row.shown] for row in rows] == [[], [1], [1], [1, 3], [3, 4], [3, 4]]
    assert [row.memory_size for row in rows] == [1, 1, 2, 3, 3, 4]
    assert rows[0].calls == runs["zero_shot|agent|42"][0].calls
    assert ask.embedded == []


def test_a_prompt_of_its_own_may_lie_beside_it(folder):
    (folder / "last_word.md").write_text("# user\n\n{{ hint }}: {{ question }}\n")
    (folder / "last_word.py").write_text(
        PACKAGE.replace("plain", "last_word").replace(
            "talk.answer(seen.agents[0])",
            "talk.ask(seen.agents[0], Path(__file__).with_suffix('.md'), {'hint': 'Quick'})",
        )
        + "\n\nfrom pathlib import Path\n"
    )
    ask = StreamAsk(know_all)
    rows = run_steps(ask, make_items(2), "last_word")["last_word|agent|42"]
    assert ask.asked[0].text == "Quick: Question: red 0"
    assert [row.bit for row in rows] == [True, True]


def test_all_eight_are_there():
    names = "chain few_shot grow_prompt mam_stream_icl mem_prompt self_refine self_stream_icl zero_shot"
    assert list_own(finding.FOLDER) == names.split()
    assert find("chain").name == "chain"


def test_a_file_without_the_class_is_refused(folder):
    twice = PACKAGE.replace("plain", "last_two")
    (folder / "last_two.py").write_text(twice + twice.replace("Plain", "Other"))
    with pytest.raises(BadInput, match=r"methods/last_two\.py: must define exactly one method"):
        find("last_two")
    with pytest.raises(BadInput, match="omit version and record"):
        find("chain", version="1")
    (folder / "last_none.py").write_text("import acme_nowhere\n" + PACKAGE.replace("plain", "last_none"))
    with pytest.raises(
        BadInput,
        match=r"methods/last_none\.py: cannot be imported: .*install the package that provides acme_n",
    ):
        find("last_none")


def test_a_file_and_a_package_of_one_name_are_refused(folder, site):
    install(site, "acme-methods", "2.0", points=POINTS, code=PACKAGE)
    (folder / "plain.py").write_text(PACKAGE)
    with pytest.raises(
        BadInput, match=r"acme-methods 2\.0, .*methods/plain\.py has the same name.*pip uninstall"
    ):
        find("plain")


def test_an_installed_method_is_the_one_that_is_named(site):
    install(site, "acme-methods", "2.0", points=POINTS, code=PACKAGE)
    with pytest.raises(
        BadInput, match=r"acme-methods 2\.0 provides plain, but the entry names another version"
    ) as refused:
        find("plain")
    record = str(refused.value).rpartition("record: ")[2].strip("})")
    assert find("plain", version="2.0", record=record).name == "plain"
    with pytest.raises(BadInput, match="names another version or record"):
        find("plain", version="1.0", record=record)
    with pytest.raises(BadInput, match=r"'other': is not known \(known: chain, .*, plain"):
        find("other")
