"""Tests that docs/parameters.md matches the schema of params.yaml and the presets."""

from bench.parameters_page import PAGE, list_parameters, write_page
from flows.presets import list_lines

PARAMETERS = list_parameters()


def find(path):
    return next(parameter for parameter in PARAMETERS if parameter.path == path)


def test_the_page_is_what_the_code_says():
    assert PAGE.read_text(encoding="utf-8") == write_page(), "python -m bench.parameters_page"


def test_a_default_is_the_preset_s_where_there_is_one():
    cap = find("grammar.fill_in.cap")
    assert (cap.type, cap.default) == ("integer or null", "`30`, paper: `null`")
    assert cap.meaning.endswith("Paper: 4.2: the Cartesian product.")
    assert find("assessments.<name>.system").default == "required"
    assert find("assessments.<name>.withheld.seed").default == "`0`"


def test_every_line_of_the_presets_is_on_the_page():
    shown = sum("Paper: " in parameter.meaning for parameter in PARAMETERS)
    assert shown >= len(list_lines()) - 4, "some lines are about one name of many"


def test_keys_of_a_definition_stand_once_and_other_places_refer_to_them():
    assert find("systems.<name>.search.path")
    assert sum(parameter.path == "systems.<name>.retriever" for parameter in PARAMETERS) == 1
    kinds = [parameter for parameter in PARAMETERS if parameter.path == "systems.<name>"]
    assert any("`kind: http`" in parameter.meaning for parameter in kinds)


def test_every_parameter_has_a_meaning():
    assert [parameter.path for parameter in PARAMETERS if not parameter.meaning] == []
