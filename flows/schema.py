"""Generate params.schema.json, a JSON Schema of params.yaml for editors, from the models that validate it.

The schema uses draft 7, which editors support best. The schema does not include checks by the models'
validators, for example that a database needs a file or a URL.
"""

from __future__ import annotations

import ast
import inspect
import json
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from flows.graph import DeclaredGraph
from flows.sections import SCHEMA, find_sections, list_required
from tasks.databases.entry import DatabaseEntry

HEAD = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "$comment": "Written by `benchloom graph` from the models that validate params.yaml; do not edit it.",
    "title": "The parameters of a Benchloom project",
}
KEYS: Mapping[type[BaseModel], str] = {DatabaseEntry: "name"}
"""Model -> field that contains the entry's key; entries in params.yaml omit this field."""
CLOSED = "additionalProperties"


def compare_schema(root: Path) -> tuple[str, str]:
    """Return the current and the required text of params.schema.json.

    Raises BadInput if a stage cannot be imported.
    """
    path = root / SCHEMA
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    schema = make_schema(DeclaredGraph(root))
    return before, json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def make_schema(graph: DeclaredGraph) -> dict[str, Any]:
    """Generate the schema of params.yaml. Undeclared sections are allowed, since users may add sections."""
    sections = find_sections(graph)
    found, shared = TypeAdapter.json_schemas(
        [(name, "validation", TypeAdapter(hint)) for name, hint in sections.items()],
        schema_generator=DescribedSchema,
    )
    titles = {flow.name: flow.title for flow in graph.flows}
    tree = _nest({name: found[name, "validation"] for name in sections}, list_required(graph), titles)
    definitions = _simplify(shared.get("$defs", {}))
    return {**HEAD, **_simplify(tree), CLOSED: True, "$defs": dict(sorted(definitions.items()))}


class DescribedSchema(GenerateJsonSchema):
    """Generates field descriptions from the docstrings below fields, and omits titles."""

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """Return a model's schema with descriptions of its fields."""
        made = super().model_schema(schema)
        model = schema["cls"]
        made.pop("title", None)
        properties = made.get("properties", {})
        properties.pop(KEYS.get(model, ""), None)
        for name, text in _read_docs(model).items():
            if name in properties:
                properties[name].setdefault("description", text)
        return made

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Return False: titles are omitted, because they would repeat the fields' names."""
        return False


def _nest(
    schemas: Mapping[str, Any], required: Sequence[str], titles: Mapping[str, str], above: str = ""
) -> dict[str, Any]:
    """Return one nested schema for all dotted names that begin with `above`."""
    names = [name.removeprefix(above) for name in schemas if name.startswith(above)]
    needed = [name.removeprefix(above) for name in required if name.startswith(above)]
    properties = {}
    for name in sorted({name.partition(".")[0] for name in names}):
        whole = f"{above}{name}"
        properties[name] = schemas.get(whole) or _nest(schemas, required, titles, f"{whole}.")
        if whole in titles:
            properties[name] = {"description": titles[whole], **properties[name]}
    made = {"type": "object", "properties": properties, CLOSED: False}
    return made | ({"required": sorted({name.partition(".")[0] for name in needed})} if needed else {})


def _simplify(schema: Any) -> Any:
    """Simplify a schema for editors: nullable types become `[integer, null]`, uniform tuples use `items`."""
    if isinstance(schema, list):
        return [_simplify(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {name: part if name == "default" else _simplify(part) for name, part in schema.items()}
    schema.pop("discriminator", None)
    options = schema.get("anyOf", [])
    if len(options) == 2 and options[1] == {"type": "null"} and _is_plain(options[0]):
        del schema["anyOf"]
        schema = {**options[0], "type": [options[0]["type"], "null"], **schema}
    places = schema.get("prefixItems")
    if places and all(place == places[0] for place in places):
        del schema["prefixItems"]
        schema["items"] = places[0]
    return schema


def _is_plain(schema: Mapping[str, Any]) -> bool:
    return "type" in schema and not {"enum", "const"} & set(schema)


def _read_docs(model: type[BaseModel]) -> dict[str, str]:
    """Read the docstrings below the fields of a model and its bases: name -> text on one line."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel:
            found |= _read_module(inspect.getsourcefile(base) or "").get(base.__qualname__, {})
    return found


@cache
def _read_module(path: str) -> dict[str, dict[str, str]]:
    """Read the docstrings below the fields of a module's classes: class -> field -> text."""
    tree = ast.parse(Path(path).read_text(encoding="utf-8"), path)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return {class_.name: _read_class(class_.body) for class_ in classes}


def _read_class(body: Sequence[ast.stmt]) -> dict[str, str]:
    return {
        field.target.id: " ".join(below.value.value.split())
        for field, below in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
        and isinstance(below.value.value, str)
    }
