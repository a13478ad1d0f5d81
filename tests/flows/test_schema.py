"""Tests that params.schema.json rejects exactly the values that the validation rejects."""

import ast
import copy
import json
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft7Validator
from pydantic import TypeAdapter

from flows.graph import DeclaredGraph
from flows.parameters import Parameters
from flows.presets import EACH, PRESETS, fill_presets, list_lines
from flows.run.model_settings import RUNNER_KEYS
from flows.run.node import PARAMS, Node
from flows.schema import compare_schema
from flows.sections import HOUSE, SCHEMA, RunSettings, check_params, check_read, find_sections, list_refused
from flows.stage import Flow, Scope
from tasks.errors import BadInput
from tasks.models.settings import ModelRun
from tests.flows.test_graph import SWITCHED_ON
from tests.flows.test_presets import WRITTEN, find, select

ROOT = Path(__file__).parents[2]
HEAD = "# yaml-language-server: $schema=params.schema.json"
GONE = object()


@pytest.fixture(scope="module")
def graph():
    return DeclaredGraph(ROOT)


@pytest.fixture(scope="module")
def sections(graph):
    return find_sections(graph)


@pytest.fixture(scope="module")
def validator():
    schema = json.loads((ROOT / SCHEMA).read_text())
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


@pytest.fixture
def params():
    loaded = yaml.safe_load((ROOT / "params.yaml").read_text())
    for name, entries in copy.deepcopy(SWITCHED_ON).items():
        loaded[name] |= entries
    loaded["closed"]["films"]["columns"] = {"films.title": "film"}
    loaded["systems"]["service"] = {
        "kind": "http", "version": "1", "answer": {"text": "answer", "body": {"q": "{question}"}},
    }  # fmt: skip
    return loaded


def put(params, name, value):
    """Set a parameter; GONE removes it."""
    *above, last = name.split(".")
    for key in above:
        params = params.setdefault(key, {})
    if value is GONE:
        del params[last]
    else:
        params[last] = value


def test_the_committed_schema_is_what_the_models_say():
    before, after = compare_schema(ROOT)
    assert before == after


def test_the_parameters_name_their_schema_and_keep_to_it(validator, sections, params):
    lines = (ROOT / "params.yaml").read_text().splitlines()
    assert lines[0] == HEAD
    assert list(validator.iter_errors(yaml.safe_load("\n".join(lines)))) == []
    assert list(validator.iter_errors(params)) == []
    check_params(params, sections)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        # a misspelt key: of a stage, below a stage, of an entry, of a system, of a shared section, a stage
        ("grammar.fill_in.capp", 3, "grammar.fill_in.capp: no such key (did you mean 'cap'?"),
        ("grammar.fill_in.limits.timeout", 3, "grammar.fill_in.limits.timeout: no such key"),
        ("assessments.films-weak.sytem", "good", "assessments.films-weak.sytem: no such key"),
        ("systems.good.retreiver", "bm25", "systems.good.retreiver: no such key"),
        ("run.workrs", 4, "run.workrs: no such key (did you mean 'workers'?"),
        ("evaluation.as_off", "x", "evaluation.as_off: no such key"),
        ("ragcheck.judging.gaurd", True, "ragcheck.judging.gaurd: no such key"),
        ("grammar.fil_in", {}, "grammar.fil_in: no such key (did you mean 'fill_in'?"),
        ("ragcheck.set", {}, "ragcheck.set: no such key (did you mean 'sets'?"),
        # a key that is missing
        ("assessments.films-weak.system", GONE, "assessments.films-weak.system: is missing"),
        ("systems.service.answer.text", GONE, "systems.service.answer.text: is missing"),
        # a value of another type
        ("grammar.back_check.seed", "many", "grammar.back_check.seed: must be a whole number, not text"),
        ("models.minilm.licence", 3, "models.minilm.licence: must be text, not a number"),
        ("run.workers", 1.5, "run.workers: must be a whole number"),
        ("companies.halden.reports.staff_pages", "often", "staff_pages: must be true or false, not text"),
        # a list for a mapping, and a mapping for a list
        ("grammar.fill_in", [], "grammar.fill_in: must be a mapping, not a list"),
        ("nightly.assessments", {}, "nightly.assessments: must be a list, not a mapping"),
        # an empty value that is required
        ("roles.judge.model", None, "roles.judge.model: must be text, not nothing"),
        # out of bounds: too large, too small, and an invalid length of a list
        ("grammar.back_check.choices", 9, "grammar.back_check.choices: must be at most 4"),
        ("judging.thresholds.human_alpha", -1, "judging.thresholds.human_alpha: must be at least 0"),
        ("nightly.alarm.alpha", 1, "nightly.alarm.alpha: must be less than 1"),
        ("grammar.documents.words", [1, 2, 3], "grammar.documents.words: must have at most 2 entries"),
        ("ragcheck.continuity.trial.systems", [], "systems: must have at least 1 entries"),
        # not one of the allowed words
        ("roles.judge.constrain", "gbnf", "roles.judge.constrain: is not an allowed value"),
        ("systems.good.kind", "ragg", "systems.good: its 'kind' is missing or unknown (did you mean 'rag'?"),
        # text in an invalid format
        ("models.minilm.sha256", "abc", "models.minilm.sha256: must match the pattern ^[0-9a-f]{64}$"),
        ("grammar.assessment.rule", "sibling", "grammar.assessment.rule: must match the pattern"),
    ],
)  # fmt: skip
def test_a_mistake_is_marked_by_the_schema_and_refused_by_the_validation(
    validator, sections, params, name, value, said
):
    put(params, name, value)
    assert list(validator.iter_errors(params))
    with pytest.raises(BadInput) as caught:
        check_params(Parameters(params, None), sections)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("stage", "read", "name", "value", "said"),
    [
        ("grammar.fill_in", "grammar.fill_in", "grammar.fill_in.cap", "all", "must be a whole number"),
        ("grammar.fill_in", "grammar.fill_in.limits", "grammar.fill_in.limits.bytes", "x", "must be a"),
        ("grammar.retrieval", "systems.good", "systems.good.retriever", "bm52", "is not an allowed value"),
        ("grammar.company.employees", "companies.halden", "companies.halden.employes", 3, "no such key"),
        ("grammar.schema", "databases.films", "databases.films.fil", "x", "no such key"),
        # the stage reads a section that only other stages, which do not run, fan out over
        ("tanq.predictions", "roles.reader", "roles.reader.temperature", "hot", "must be a number"),
    ],
)  # fmt: skip
def test_a_stage_is_stopped_by_an_invalid_parameter_that_it_reads_and_by_no_other(
    graph, params, stage, read, name, value, said
):
    put(params, name, value)
    settings = Parameters(params, None)
    own, other = (
        Node("one", stage, "", (), (), (), settings={PARAMS: (key,)}) for key in (read, "databases.flights")
    )
    check_read(graph, settings, [other])
    with pytest.raises(BadInput) as caught:
        check_read(graph, settings, [other, own])
    assert f"{name}: {said}" in str(caught.value)


def test_the_schema_alone_names_an_invalid_value_before_any_stage_is_imported(params, tmp_path):
    assert list_refused(ROOT, params) == []
    put(params, "grammar.fill_in.cap", "all")
    put(params, "companies.halden.employes", 3)
    assert list_refused(ROOT, params) == ["companies.halden", "grammar.fill_in.cap"]
    assert list_refused(tmp_path, params) == [], "a project without the file"


@pytest.mark.parametrize(
    "schema",
    ["", "[]", "{", '{"type": "word"}', '{"properties": {"grammar": {"$ref": "#/$defs/Gone"}}}', "7"],
)
def test_a_schema_that_was_edited_stops_nothing(params, tmp_path, schema):
    (tmp_path / SCHEMA).write_text(schema)
    assert list_refused(tmp_path, params) == []


def test_a_section_that_stages_fan_out_over_must_be_there(validator, graph, params):
    del params["companies"]
    (error,) = validator.iter_errors(params)
    assert error.message == "'companies' is a required property"
    with pytest.raises(BadInput, match="has no section companies"):
        graph.make_blocks(params)


def test_sections_of_a_users_own_are_nobodys_business(validator, sections, params):
    params["mine"] = {"words": {"letters": "any"}}
    assert list(validator.iter_errors(params)) == []
    check_params(params, sections)


def test_a_field_has_its_default_its_bounds_and_its_docstring():
    schema = json.loads((ROOT / SCHEMA).read_text())

    def find(*keys):
        part = schema
        for key in keys:
            own = part.get("properties", {})
            part = own[key] if key in own else part["additionalProperties"]
            while "$ref" in part:
                part = schema["$defs"][part["$ref"].rpartition("/")[2]]
        return part

    repeats = find("grammar", "judgements", "repeats")
    assert repeats.pop("description")
    assert repeats == {"default": 1, "minimum": 1, "type": "integer"}
    assert find("grammar", "fill_in", "cap")["type"] == ["integer", "null"]
    assert "name" not in find("databases", "films")["properties"]  # the name is the entry's key
    assert "environment variable" in find("run", "endpoints", "mine", "key_env")["description"]


def test_what_run_holds_beside_the_models_is_the_runners():
    assert set(RunSettings.model_fields) - set(ModelRun.model_fields) == RUNNER_KEYS


def test_every_section_that_is_read_by_name_has_its_model(sections):
    """A section that flows/ begins to read must be named in flows/sections.py."""
    read = {name for file in (ROOT / "flows").rglob("*.py") for name in find_names(file.read_text())}
    assert {"nightly", "run.openlineage"} <= read
    for name in read:
        assert any(
            f"{name}.".startswith(f"{section}.") or section.startswith(f"{name}.") for section in sections
        ), name


def find_names(code):
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) > 1:
            reads = node.func.id in ("get_section", "parse_section", "parse_value", "read_mapping")
            if reads and isinstance(node.args[1], ast.Constant):
                yield node.args[1].value


def test_settings_that_no_model_validates_are_refused():
    scope = Scope(over="ragcheck.sets", folder="data/ragcheck/${key}")
    stage = scope.stage("ragcheck.questions", reads=("${item.path}",), settings=("ragcheck.wording",))
    with pytest.raises(BadInput, match=r"reads the settings 'ragcheck.wording', which no model validates"):
        find_sections(DeclaredGraph(ROOT, [Flow("ragcheck", "Trial", (stage,))]))
    flow = Flow("ragcheck", "Trial", (stage,), {"ragcheck.wording": "tasks.ragcheck.grading:Wording"})
    with pytest.raises(BadInput, match=r"tasks/ragcheck/grading.py: has no class 'Wording'"):
        find_sections(DeclaredGraph(ROOT, [flow]))


def test_any_stage_alone_finds_what_validates_the_settings_that_it_reads(graph):
    for name, declaration in graph.declared.items():
        found = find_sections(graph, {name})
        for read in declaration.stage.settings:
            part = read.partition(".${")[0]
            assert any(f"{part}.".startswith(f"{known}.") or known.startswith(f"{part}.") for known in found)


def test_the_house_has_no_section_that_a_flow_has(graph):
    assert not {flow.name for flow in graph.flows} & {name.partition(".")[0] for name in HOUSE}


@pytest.mark.parametrize("preset", PRESETS)
def test_every_value_of_a_preset_is_one_that_its_parameter_takes(sections, preset):
    filled = fill_presets(select(preset))
    check_params(filled, sections)
    for line in list_lines():
        if line.fills:
            assert set(map(repr, find(filled, (line.flow, *line.keys)))) == {repr(line.values[preset])}, line


def test_a_line_of_the_presets_without_a_sample_says_the_default_of_the_code(sections):
    stated = [line for line in list_lines() if not line.fills]
    assert len(stated) > 10
    for line in stated:
        stage, *rest = line.keys
        section = copy.deepcopy(fill_presets(WRITTEN)[line.flow][stage])
        for place in [[name, *rest[1:]] for name in section] if rest[0] == EACH else [rest]:
            *above, last = place
            inner = section
            for key in above:
                inner = inner[key]
            inner.pop(last, None)
            made = TypeAdapter(sections[f"{line.flow}.{stage}"]).validate_python(section)
            for key in place:
                made = made[key] if isinstance(made, dict) else getattr(made, key)
            assert (list(made) if isinstance(made, tuple) else made) == line.values["paper"], line
