"""JSON Schema of an OpenLineage event, derived from the classes of `openlineage-python`.

No package ships the standard's JSON files. `openlineage-python` ships classes generated from these files.
`_get_schema` of a class names its definition and version, like `_schemaURL` of a facet.
"""

import typing
from enum import Enum
from functools import cache
from types import ModuleType, NoneType, UnionType
from typing import Any

import attr
from jsonschema import Draft202012Validator
from openlineage.client import facet_v2
from openlineage.client.generated import base

TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$"
URI = r"^[a-z][a-z0-9+.-]*:\S+$"
FORMATS = {
    "eventTime": TIME,
    "runId": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
    **dict.fromkeys(("producer", "schemaURL", "_producer", "_schemaURL"), URI),
}
"""Formats of texts in the standard, which the generated classes check in code."""
PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean"}


@cache
def list_facets() -> dict[str, type]:
    """List the standard's facets by the URL of their schema."""
    return {
        kind._get_schema(): kind
        for module in vars(facet_v2).values()
        if isinstance(module, ModuleType)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, base.BaseFacet)
    }


def make_schema(kind: type) -> dict[str, Any]:
    """Return the schema of a class, including nested classes."""
    definitions: dict[str, Any] = {}
    _define(kind, definitions)
    return {"$defs": definitions, "$ref": f"#/$defs/{kind.__name__}"}


def validate(event: dict[str, Any]) -> list[str]:
    """Validate an event and each of its facets; return the names of the standard's facets.

    Raises jsonschema's ValidationError. A custom facet must have the fields that every facet has.
    """
    make_validator(base.RunEvent).validate(event)
    found = []
    for place in (event["run"], event["job"], *event["inputs"], *event["outputs"]):
        for group in ("facets", "inputFacets", "outputFacets"):
            for name, facet in (place.get(group) or {}).items():
                kind = list_facets().get(facet["_schemaURL"])
                make_validator(kind or base.BaseFacet).validate(facet)
                found += [name] if kind else []
    return found


@cache
def make_validator(kind: type) -> Draft202012Validator:
    """Return the cached validator of a class's schema."""
    return Draft202012Validator(make_schema(kind))


def _define(kind: type, definitions: dict[str, Any]) -> None:
    if kind.__name__ in definitions:
        return
    own: dict[str, Any] = {"type": "object"}
    definitions[kind.__name__] = own  # before nested classes, which may be recursive
    hints = typing.get_type_hints(kind)
    fields = attr.fields(kind)
    own["properties"] = {
        field.name: _describe(hints[field.name], definitions) | _find_format(field.name) for field in fields
    }
    own["required"] = [
        field.name for field in fields if field.default is attr.NOTHING or field.name in FORMATS
    ]
    # The standard allows additional fields in events and facets, but this package sends none.
    own["additionalProperties"] = kind is base.BaseFacet


def _find_format(name: str) -> dict[str, Any]:
    return {"pattern": FORMATS[name]} if name in FORMATS else {}


def _describe(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a type: a scalar, an enumeration, a class, a list, an object, or a union."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (UnionType, typing.Union):
        # The client omits fields that are None; the standard has no null.
        choices = [_describe(argument, definitions) for argument in arguments if argument is not NoneType]
        return choices[0] if len(choices) == 1 else {"anyOf": choices}
    if origin is list:
        return {"type": "array", "items": _describe(arguments[0], definitions)}
    if origin is dict:
        if isinstance(arguments[1], type) and issubclass(arguments[1], base.BaseFacet):
            return {"type": "object"}  # each facet is validated by its own schema
        return {"type": "object", "additionalProperties": _describe(arguments[1], definitions)}
    if hint in PLAIN:
        return {"type": PLAIN[hint]}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [member.value for member in hint]}
    if isinstance(hint, type) and attr.has(hint):
        _define(hint, definitions)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    assert hint is Any, f"of no known type: {hint}"
    return {}
