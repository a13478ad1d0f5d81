"""Tests that a stage's arguments come from the graph and the parameters, according to its signature."""

import sys
import types
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import BaseModel

from flows.run.binding import Places, bind, check_asked, find_section, read_epoch
from flows.run.node import Node
from tasks.artifacts.parquet import read_rows
from tasks.artifacts.rows import Counts, Drafts, Dropped
from tasks.databases.entry import DatabaseEntry
from tasks.errors import BadInput, StageFailed
from tasks.models.calls import Call
from tasks.systems.build import SystemEntry
from tests.flows.conftest import TRIAL_PARAMS
from tests.flows.trial.answers import Answer
from tests.flows.trial.words import Word

WORDS = "data/trial/words.parquet"
PARAMS = {**TRIAL_PARAMS, "databases": {"shop": {"file": "shop.sqlite", "title": "A shop"}}}


def make_node(stage="trial.words", deps=("source.txt",), outs=(WORDS,), key="", params=()):
    return Node(
        stage.replace(".", "-"),
        stage,
        key,
        tuple(deps),
        tuple(outs),
        (),
        settings={"params.yaml": tuple(params)},
    )


def refuse(stage, prompts, epoch):
    raise AssertionError("no model is asked here")


@pytest.fixture
def stage(monkeypatch):
    """Replace a stage's function."""

    def place(function):
        module = types.ModuleType(f"tasks.trial.{function.__name__}")
        module.__file__ = __file__
        setattr(module, function.__name__, function)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        return f"trial.{function.__name__}"

    return place


def test_rows_and_drops_are_written_where_the_graph_says_and_counted(trial):
    node = make_node(outs=(WORDS, "data/trial/words.dropped.parquet"))
    work = bind(node, PARAMS, Places(trial.root, trial.root), refuse).call()
    assert (work.rows_in, work.rows_out, work.dropped) == (None, 4, {"short": 1})
    assert sorted(row.text for row in read_rows(trial.root / WORDS, Word)) == [
        "apple", "oddity", "pear", "plum",
    ]  # fmt: skip
    (dropped,) = read_rows(trial.root / "data/trial/words.dropped.parquet", Dropped)
    assert (dropped.reason, dropped.detail) == ("short", "an")


def test_a_file_of_an_entry_is_the_argument_of_its_fields_name(stage, tmp_path, monkeypatch):
    def words(file: Path, source: Path) -> Drafts[Word]: ...

    node = make_node(stage(words), deps=("raw/names.txt", "source.txt"), key="one")
    params = {"trial": {"entries": {"one": {"file": "./raw/names.txt", "source": "elsewhere.txt"}}}}
    monkeypatch.setattr("flows.run.binding.find_section_of", lambda stage: "trial.entries")
    given = bind(node, params, Places(tmp_path, tmp_path), refuse).arguments
    assert given == {"file": tmp_path / "raw/names.txt", "source": tmp_path / "source.txt"}


@pytest.mark.parametrize("last", ["raw/names", "data/trial/names.parquet"])
def test_an_artifact_is_not_confused_with_a_file_of_the_same_name_that_the_user_chose(
    stage, tmp_path, monkeypatch, last
):
    def words(names: Path) -> Drafts[Word]: ...

    deps = sorted(["raw/names", "data/trial/names.parquet"], key=lambda dep: dep == last)
    node = make_node(stage(words), deps=deps, key="one")
    params = {"trial": {"entries": {"one": {"seeds": "raw/names"}}}}
    monkeypatch.setattr("flows.run.binding.find_section_of", lambda stage: "trial.entries")
    given = bind(node, params, Places(tmp_path, tmp_path), refuse).arguments
    assert given == {"names": tmp_path / "data/trial/names.parquet"}


def test_an_asking_stage_gets_rows_and_an_ask_and_its_calls_are_an_artifact(trial):
    assert trial.run()["trial-answers"].rows_in == 4
    rows = read_rows(trial.root / "data/trial/answers.parquet", Answer)
    calls = {call.id: call for call in read_rows(trial.root / "data/trial/answers.calls.parquet", Call)}
    assert sorted(row.text for row in rows) == ["It is apple?", "It is pear?", "It is plum?"]
    assert len(calls) == 5  # the answer for one word does not parse, so its call is repeated
    for row in rows:
        assert calls[row.origin[1].reference].text == row.text


def test_a_stage_that_asks_by_what_it_does_not_depend_on_is_refused(tmp_path):
    (tmp_path / "tasks/trial/prompts/texts").mkdir(parents=True)
    (tmp_path / "tasks/trial/prompts/texts/short.md").touch()
    code = ("tasks/trial/answers.py", "tasks/trial/prompts/ask.md", "tasks/trial/prompts/texts")
    node = make_node(deps=code, params=("roles.judge.model", "roles.writer"))

    def check(prompt, role, node=node):
        check_asked(node, tmp_path, [SimpleNamespace(prompt=prompt, role=role)])

    for prompt, role in (("ask", "judge"), ("short", "writer"), ("", "system"), ("", "judge")):
        check(prompt, role)
    with pytest.raises(BadInput, match=r"used the prompt 'other'.*prompts="):
        check("other", "judge")
    with pytest.raises(BadInput, match=r"used the role 'other'.*roles="):
        check("ask", "other")
    check("ask", "other", make_node(deps=code, params=("roles",)))
    check("other", "other", make_node(deps=("source.txt", "tasks/judging/canaries.yaml")))


def test_settings_are_the_declared_parameters_by_dotted_name(trial, stage):
    def keep(settings: dict, out: Path) -> Counts:
        out.write_text(repr(settings))
        return Counts(0, 0, {})

    node = make_node(stage(keep), (), ("data/kept.txt",), params=("trial.page", "trial.words.letters"))
    bind(node, PARAMS, Places(trial.root, trial.root), refuse).call()
    assert (trial.root / "data/kept.txt").read_text() == repr(
        {"trial.page.look.wide": True, "trial.page.title": "Words", "trial.words.letters": 4}
    )


def test_a_database_is_the_entry_that_the_stage_is_fanned_out_over(trial, stage):
    given = []

    def look(database: DatabaseEntry) -> None:
        given.append(database)

    bind(make_node(stage(look), (), (), key="shop"), PARAMS, Places(trial.root, trial.root), refuse).call()
    assert given[0].title == "A shop"
    assert given[0].file == trial.root / "shop.sqlite"


def test_a_place_that_a_stage_fills_by_itself_is_cleared_first(trial, stage):
    def fill(out: Path) -> None:
        out.mkdir()

    old = trial.root / "data/folder/old.txt"
    old.parent.mkdir(parents=True)
    old.write_text("of the last run")
    places = Places(trial.root, trial.root)
    bind(make_node(stage(fill), (), ("data/folder",)), PARAMS, places, refuse).call()
    assert list((trial.root / "data/folder").iterdir()) == []


def test_a_preview_reads_its_own_artifacts_first_and_writes_beside_them(trial, stage):
    def copy(words: list[Word], limit: int, out: Path) -> Counts:
        out.write_text(" ".join([str(limit), *sorted(word.text for word in words)]))
        return Counts(len(words), len(words), {})

    whole = Places(trial.root, trial.root)
    bind(make_node(), PARAMS, whole, refuse).call()
    preview = Places(trial.root, trial.root / "data/.preview", 2)
    node = make_node(stage(copy), (WORDS,), ("data/trial/copy.txt",))

    assert bind(node, PARAMS, preview, refuse).call().rows_in == 2
    trial.write("source.txt", "quince")
    bind(make_node(), PARAMS, preview, refuse).call()
    bind(node, PARAMS, preview, refuse).call()

    assert (trial.root / "data/.preview/trial/copy.txt").read_text() == "2 quince"
    assert not (trial.root / "data/trial/copy.txt").exists()
    assert len(read_rows(trial.root / WORDS, Word)) == 4


def test_a_stage_that_reads_a_stream_gets_it_as_often_as_it_asks(trial, stage):
    def join(words: Iterable[Word]) -> Drafts[Word]:
        assert [word.id for word in words] == sorted(word.id for word in words)
        return Drafts(list(words))

    whole = Places(trial.root, trial.root)
    bind(make_node(), PARAMS, whole, refuse).call()
    node = make_node(stage(join), (WORDS,), ("data/trial/join.parquet",))
    work = bind(node, PARAMS, whole, refuse).call()
    assert (work.rows_in, work.rows_out) == (4, 4)
    assert (trial.root / "data/trial/join.parquet").read_bytes() == (trial.root / WORDS).read_bytes()

    preview = Places(trial.root, trial.root / "data/.preview", 2)
    assert bind(node, PARAMS, preview, refuse).call().rows_in == 2
    (trial.root / WORDS).unlink()
    with pytest.raises(BadInput, match=r"words.parquet: cannot be read as Parquet"):
        bind(node, PARAMS, whole, refuse)


def test_an_argument_that_is_no_dependency_is_named(trial):
    with pytest.raises(BadInput, match=r"trial-words has no dependency for the argument 'source'"):
        bind(make_node(deps=("raw.txt",)), PARAMS, Places(trial.root, trial.root), refuse)


def test_a_wrong_parameter_is_named(trial):
    wrong = {"trial": {"words": {"letters": 4, "leters": 3}}}
    with pytest.raises(BadInput, match=r"params.yaml: trial.words.leters"):
        bind(make_node(), wrong, Places(trial.root, trial.root), refuse)


def test_a_stage_without_a_module_is_named(trial):
    with pytest.raises(BadInput, match=r"there is no tasks/trial/nothing\.py"):
        bind(make_node("trial.nothing"), PARAMS, Places(trial.root, trial.root), refuse)


def test_a_module_without_the_function_is_named(trial, monkeypatch):
    monkeypatch.setitem(sys.modules, "tasks.trial.words", types.ModuleType("tasks.trial.words"))
    with pytest.raises(BadInput, match=r"tasks/trial/words.py: has no function 'words'"):
        bind(make_node(), PARAMS, Places(trial.root, trial.root), refuse)


def test_a_stage_that_writes_by_itself_has_one_output(trial, stage):
    def both(out: Path) -> None:
        out.touch()

    with pytest.raises(BadInput, match=r"must have exactly one output"):
        bind(make_node(stage(both), (), ("a.txt", "b.txt")), PARAMS, Places(trial.root, trial.root), refuse)


def test_an_artifact_that_was_not_written_is_named(trial, stage):
    def forget(out: Path) -> None:
        assert not out.exists()

    bound = bind(make_node(stage(forget), (), ("a.txt",)), PARAMS, Places(trial.root, trial.root), refuse)
    with pytest.raises(StageFailed, match=r"trial-forget: the stage did not write a.txt"):
        bound.call()


def test_an_artifact_with_other_columns_is_named_with_what_to_do(trial, stage):
    def read(words: list[Dropped]) -> Drafts[Word]:
        return Drafts([])

    places = Places(trial.root, trial.root)
    bind(make_node(), PARAMS, places, refuse).call()
    with pytest.raises(BadInput, match=r"words.parquet: has the columns id, text, origin, not id, reason"):
        bind(make_node(stage(read), (WORDS,)), PARAMS, places, refuse)


class Assessment(BaseModel):
    database: str
    system: str
    questions: int = 3


FANNED = {
    **PARAMS,
    "systems": {
        "weak": {"kind": "rag", "top_k": 1},
        "far": {"kind": "http", "version": "2", "answer": {"body": {"q": "{question}"}, "text": "a"}},
    },
    "assessments": {"shop-far": {"database": "shop", "system": "far"}},
    "evaluation": {"as_of": "monday"},
}


def bind_fanned(trial, function, params=("assessments.shop-far", "systems", "evaluation"), **changes):
    node = make_node(function, (), (), key="shop-far", params=params)
    return bind(node, {**FANNED, **changes}, Places(trial.root, trial.root), refuse)


def test_a_stage_gets_the_entry_it_is_fanned_out_over_and_what_that_names(trial, stage):
    given = {}

    def look(
        key: str,
        entry: Assessment,
        database: DatabaseEntry,
        system: SystemEntry,
        systems: Mapping[str, SystemEntry],
    ) -> None:
        given.update(key=key, entry=entry, database=database, system=system, systems=systems)

    bind_fanned(trial, stage(look)).call()
    assert given["key"] == "shop-far"
    assert given["entry"] == Assessment(database="shop", system="far")
    assert given["database"].file == trial.root / "shop.sqlite"
    assert (given["system"].kind, given["system"].version) == ("http", "2")
    assert sorted(given["systems"]) == ["far", "weak"]


def test_a_stage_that_is_fanned_out_over_systems_gets_its_own(trial, stage):
    given = []

    def look(system: SystemEntry) -> None:
        given.append(system)

    node = make_node(stage(look), (), (), key="weak", params=("systems.weak",))
    bind(node, FANNED, Places(trial.root, trial.root), refuse).call()
    assert (given[0].kind, given[0].retriever) == ("rag", "keyword")


@pytest.mark.parametrize(
    ("systems", "said"),
    [
        ({"far": {"kind": "rag", "topk": 1}}, r"params.yaml: systems.far.topk"),
        ({"far": {"kind": "robot"}}, r"params.yaml: systems.far: its 'kind' is missing or unknown"),
        ({}, r"params.yaml: systems.far"),
    ],
)
def test_a_wrong_system_is_named(trial, stage, systems, said):
    def look(system: SystemEntry) -> None:
        raise AssertionError

    with pytest.raises(BadInput, match=said):
        bind_fanned(trial, stage(look), systems=systems)


def test_an_entry_is_told_from_one_of_the_same_name_that_the_stage_also_reads():
    node = replace(
        make_node("tanq.predictions", params=("tanq.sets.sample", "tanq.evaluations.sample")), key="sample"
    )
    assert find_section(node) == "tanq.evaluations.sample"
    with pytest.raises(BadInput, match=r"must declare exactly one parameter"):
        find_section(replace(node, stage="own.stage"))


def test_an_entry_that_dvc_yaml_does_not_declare_is_told(trial, stage):
    def look(entry: Assessment) -> None:
        raise AssertionError

    with pytest.raises(BadInput, match=r"must declare exactly one parameter <section>"):
        bind_fanned(trial, stage(look), params=("systems",))


def test_only_a_stage_that_declares_the_evaluation_asks_under_its_night():
    assert read_epoch(make_node(params=("trial.words", "systems", "evaluation")), FANNED) == "monday"
    assert read_epoch(make_node(params=("evaluation.as_of",)), FANNED) == "monday"
    assert read_epoch(make_node(params=("trial.words", "systems")), FANNED) == ""
    assert read_epoch(make_node(params=("evaluation",)), {"evaluation": {"as_of": ""}}) == ""
    assert read_epoch(make_node(params=("evaluation",)), {}) == ""
    assert read_epoch(make_node(params=("baselines",)), FANNED) == ""
    assert read_epoch(make_node(params=("baselines",)), {"baselines": {"as_of": "sunday"}}) == "sunday"
