"""Validate params.yaml, with error messages that name the parameter and its line."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from flows.yaml_nodes import compose_yaml
from tasks.errors import BadInput

NAME = "params.yaml"
KINDS: Mapping[type, str] = {
    NoneType: "nothing", bool: "true or false", int: "a number", float: "a number", str: "text",
    list: "a list", dict: "a mapping",
}  # fmt: skip
WANTED = {
    "bool_parsing": "true or false", "bool_type": "true or false", "dict_type": "a mapping",
    "float_parsing": "a number", "float_type": "a number", "frozen_set_type": "a list",
    "int_from_float": "a whole number", "int_parsing": "a whole number", "int_type": "a whole number",
    "list_type": "a list", "mapping_type": "a mapping", "model_type": "a mapping", "path_type": "a path",
    "set_type": "a list", "string_type": "text", "tuple_type": "a list",
}  # fmt: skip
"""Error type of pydantic -> the expected kind of value."""
BOUNDS = {
    "greater_than": "must be more than {gt}", "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}", "less_than_equal": "must be at most {le}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must have at least {min_length} entries",
    "too_long": "must have at most {max_length} entries",
    "finite_number": "must be a finite number",
    "string_pattern_mismatch": "must match the pattern {pattern}",
}  # fmt: skip


class Parameters(dict[str, Any]):
    """The parameters, with the path and the bytes of their file.

    `written`: the content of the file without values filled in from presets; by default the parameters
    themselves.
    """

    def __init__(
        self,
        content: Mapping[str, object],
        path: Path | None,
        text: bytes = b"",
        written: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(content)
        self.path, self.text = path, text
        self.written = content if written is None else written

    def is_current(self) -> bool:
        """Return whether the file still contains the bytes that were read."""
        try:
            return self.path is not None and self.path.read_bytes() == self.text
        except OSError:
            return False


# PyYAML's safe dumper rejects subclasses of dict.
yaml.SafeDumper.add_representer(Parameters, yaml.SafeDumper.represent_dict)


def validate(
    hint: Any, value: object, keys: Sequence[str], params: Mapping[str, object] | None = None
) -> Any:
    """Validate a value of params.yaml against an annotation. keys: the value's path in the file.

    Raises a BadInput that names the parameter, the problem, and the line if `params` has a file. The message
    never contains the value, which may be a secret.
    """
    try:
        return TypeAdapter(hint).validate_python(value)
    except ValidationError as error:
        errors = error.errors(include_url=False)
    # A misspelt key also causes an error for a missing key; report the misspelling, which is more helpful.
    first = next((error for error in errors if error["type"] == "extra_forbidden"), errors[0])
    place, model = follow(hint, first["loc"])
    words, suggestion = describe(first, model)
    more = f"and {len(errors) - 1} more" if len(errors) > 1 and not suggestion else ""
    raise refuse(params, [*keys, *place], words, hint=suggestion or more)


def refuse(params: Mapping[str, object] | None, keys: Sequence[str], words: str, hint: str = "") -> BadInput:
    """Return the error for one parameter, with its line if `params` has a file."""
    path = params.path if isinstance(params, Parameters) else None
    line = None if path is None else find_line(path, keys)
    return BadInput(NAME, f"{'.'.join(keys)}: {words}", line=line, hint=hint)


def describe(error: ErrorDetails, model: type[BaseModel] | None) -> tuple[str, str]:
    """Return a validation error as text, and a suggestion.

    model: the model whose fields are suggested for an unknown key; None if the model is not known.
    """
    kind, context = error["type"], error.get("ctx", {})
    if kind == "missing":
        return "is missing", ""
    if kind == "extra_forbidden":
        known = list(model.model_fields) if model else []
        return "no such key", suggest(str(error["loc"][-1]), known)
    if kind in WANTED:
        return f"must be {WANTED[kind]}, not {KINDS.get(type(error['input']), 'another type')}", ""
    if kind in BOUNDS:
        return BOUNDS[kind].format(**context), ""
    if kind in ("literal_error", "enum"):
        known = [word.strip("' ") for word in context["expected"].replace(" or ", ", ").split(",")]
        return "is not an allowed value", suggest(str(error["input"]), known)
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        known = [word.strip("' ") for word in context.get("expected_tags", "").split(",") if word]
        field = context["discriminator"].strip("'")
        return f"its {field!r} is missing or unknown", suggest(str(context.get("tag", "")), known)
    if kind in ("value_error", "assertion_error"):
        return str(context["error"]), ""
    return error["msg"][:1].lower() + error["msg"][1:], ""


def suggest(written: str, known: Sequence[str]) -> str:
    """Return a hint that lists the known names, preceded by a similar name if there is one."""
    there = f"known: {', '.join(known)}" if known else ""
    near = difflib.get_close_matches(written, known, n=1)
    return f"did you mean {near[0]!r}? {there}" if near else there


def follow(hint: Any, location: Sequence[int | str]) -> tuple[list[str], type[BaseModel] | None]:
    """Return an error's location as keys of the file, and the model that the last key belongs to.

    pydantic's location also names the chosen member of a union, which is not a key of the file.
    """
    keys: list[str] = []
    model: type[BaseModel] | None = None
    for step in location:
        options = list_options(hint)
        chosen = next((option for option in options if is_chosen(option, step)), None)
        if chosen is not None and len(options) > 1:
            hint = chosen
            continue
        if len(options) > 1 and isinstance(step, str) and "[" in step:
            continue
        keys.append(str(step))
        model, hint = find_next(options, step)
    return keys, model


def find_next(options: Sequence[Any], step: int | str) -> tuple[type[BaseModel] | None, Any]:
    """Return the model that should have the field `step`, and the annotation of the field's value.

    The model is None if the step is an index or key of a collection. The annotation is None for an unknown
    field.
    """
    for option in options:
        if isinstance(option, type) and issubclass(option, BaseModel):
            field = option.model_fields.get(str(step))
            return option, field.annotation if field else None
        arguments = [argument for argument in get_args(option) if argument is not Ellipsis]
        if arguments:
            return None, arguments[-1]
    return None, None


def list_options(hint: Any) -> list[Any]:
    """List the members of a union except None; for any other annotation, return only the annotation."""
    if hasattr(hint, "__value__"):  # a named alias
        return list_options(hint.__value__)
    if get_origin(hint) is Annotated:
        return list_options(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return [option for part in get_args(hint) for option in list_options(part) if option is not NoneType]
    return [hint]


def is_chosen(option: Any, step: int | str) -> bool:
    """Return whether a step of an error's location names a member of a union, by class or tag."""
    if not (isinstance(option, type) and issubclass(option, BaseModel)):
        return False
    annotations = [field.annotation for field in option.model_fields.values()]
    tags = [
        tag for annotation in annotations if get_origin(annotation) is Literal for tag in get_args(annotation)
    ]
    return step == option.__name__ or step in tags


def find_line(path: Path, keys: Sequence[str]) -> int | None:
    """Return the line of a parameter or of its nearest existing parent; None if there is none."""
    try:
        node = compose_yaml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return None
    line = None
    for key in keys:
        found = None
        if isinstance(node, yaml.MappingNode):
            found = next(((name, value) for name, value in node.value if name.value == key), None)
        elif isinstance(node, yaml.SequenceNode) and key.isdigit() and int(key) < len(node.value):
            found = (node.value[int(key)], node.value[int(key)])
        if found is None:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return line
