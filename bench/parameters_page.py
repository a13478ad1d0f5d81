"""Write docs/parameters.md, the reference for params.yaml, from the schema and the presets: `make docs`.

A meaning is the docstring below a field in the code; `benchloom graph` copies it into params.schema.json.
`--check` changes nothing, and exits with 1 if the page differs.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flows.presets import DEFAULT, EACH, PRESETS, PresetLine, list_lines
from flows.sections import SCHEMA
from tests.documented import ROOT

PAGE = ROOT / "docs" / "parameters.md"
HEAD = """\
# Parameters

`make docs` writes this page from the code. Each table lists the keys that a section of `params.yaml` may
have: type, default and meaning. `<name>` stands for a name that you choose. Where a [preset](presets.md)
gives the default, the column has the value of `sample`, then the value of `paper`, and the meaning ends with
the place in the paper.
"""
NAME = "<name>"
NAMING = re.compile(
    r"^(?:`[\w.]+` in params\.yaml|Parameters of the stage `[\w.]+`|One entry of `[\w.]+`)(?:[.:;] ?|$)"
)
"""Matches the beginning of a section's docstring, which would repeat the section's name in the row."""
LONGEST = 48
"""Maximum characters of a default; longer defaults are truncated."""
MARKUP = re.compile(r"(`[^`]*`)|[<*]")
"""Matches code, which is not changed, or characters that Markdown reads as markup."""
WORDS = {"boolean": "true or false", "string": "text", "object": "mapping", "array": "list"}
"""Type of JSON Schema -> its name on the page, if different."""
Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Parameter:
    """One key of params.yaml. path: its dotted name. default: empty for a key that has keys below."""

    path: str
    type: str
    default: str
    meaning: str


@dataclass(frozen=True)
class ParameterReader:
    """Reads parameters from a schema. shown: definition -> the path under which its keys are listed."""

    definitions: Mapping[str, Schema]
    shown: dict[str, str] = field(default_factory=dict)

    def list_below(self, schema: Schema, path: str) -> Iterator[Parameter]:
        """Yield the parameters below a path."""
        whole = self.resolve(schema)
        for key, part in list_keys(whole):
            if "const" not in part:  # the mapping's row already states the `kind`
                yield from self.list_at(part, f"{path}.{key}", key in whole.get("required", ()))

    def list_at(
        self, schema: Schema, path: str, required: bool = False, kind: str = ""
    ) -> Iterator[Parameter]:
        """Yield a parameter and the parameters below it. kind: the value of `kind` of the mapping."""
        whole = self.resolve(schema)
        options = [option for option in list_options(whole) if list_keys(self.resolve(option))]
        below = options[0] if len(options) == 1 else schema
        definition = below.get("$ref", "") if list_keys(self.resolve(below)) else ""
        first = self.shown.setdefault(definition, path) if definition else path
        line = find_line(path)
        described = whole.get("description") or self.resolve(below).get("description", "")
        if list_keys(whole):
            described = NAMING.sub("", described)
            described = described[:1].upper() + described[1:]
        parts = [kind, described, line and f"Paper: {line.section}."]
        parts += [f"The keys are those of `{first}`."] if first != path else []
        default = write_values(line) if line else write_default(whole, required)
        if any(parts) or not (list_keys(whole) or path.endswith(NAME)):
            yield Parameter(path, self.write_type(whole), default, " ".join(filter(None, parts)))
        if first == path:
            yield from self.list_below(below, path)
            for option in options if len(options) > 1 else ():
                yield from self.list_at(option, path, kind=self.write_kind(option))

    def resolve(self, schema: Schema) -> Schema:
        """Replace a reference by its definition; the schema's description overrides the definition's."""
        if "$ref" not in schema:
            return schema
        return {**self.definitions[schema["$ref"].rpartition("/")[2]], **schema}

    def write_kind(self, schema: Schema) -> str:
        """Return the value of `kind` that selects a mapping."""
        kind = self.resolve(schema).get("properties", {}).get("kind", {})
        return f"`kind: {kind['const']}`:" if "const" in kind else ""

    def write_type(self, schema: Schema) -> str:
        """Return a type in words."""
        whole = self.resolve(schema)
        if options := list_options(whole):
            return " or ".join(dict.fromkeys(self.write_type(option) for option in options))
        if "enum" in whole or "const" in whole:
            return ", ".join(f"`{value}`" for value in whole.get("enum", [whole.get("const")]))
        types = whole.get("type", "any value")
        return " or ".join(WORDS.get(name, name) for name in ([types] if isinstance(types, str) else types))


def list_options(schema: Schema) -> Sequence[Schema]:
    """Return the alternatives of a schema."""
    return [*schema.get("anyOf", []), *schema.get("oneOf", [])]


def list_keys(schema: Schema) -> list[tuple[str, Schema]]:
    """List the keys of a mapping; user-chosen names are one key, unless their values are scalars."""
    entries = schema.get("additionalProperties")
    chosen = isinstance(entries, dict) and set(entries) & {"$ref", "anyOf", "oneOf", "properties"}
    return [*schema.get("properties", {}).items(), *([(NAME, entries)] if chosen else [])]


def find_line(path: str) -> PresetLine | None:
    """Find the line of the preset table for a parameter; `<name>` matches any name."""
    for line in list_lines():
        keys = [line.flow, *(NAME if key == EACH else key for key in line.keys)]
        parts = path.split(".")
        if len(parts) == len(keys) and all(
            part in (key, NAME) for part, key in zip(parts, keys, strict=True)
        ):
            return line
    return None


def write_values(line: PresetLine) -> str:
    """Format the values of the presets; if only `paper` is set, it is the default of the code."""
    values = [write_value(line.values[preset]) for preset in PRESETS if preset in line.values]
    return ", paper: ".join(values) if DEFAULT in line.values else values[0]


def write_default(schema: Schema, required: bool) -> str:
    """Format a default; empty for a mapping, whose keys have separate defaults."""
    if required:
        return "required"
    return write_value(schema["default"]) if "default" in schema and not list_keys(schema) else ""


def write_value(value: object) -> str:
    """Format a value as YAML on one line."""
    text = json.dumps(value, ensure_ascii=False)
    return f"`{text}`" if len(text) <= LONGEST else f"`{text[: LONGEST - 3]}...`"


def list_parameters() -> list[Parameter]:
    """List all parameters of params.yaml, in the order of the schema."""
    schema = json.loads((ROOT / SCHEMA).read_text(encoding="utf-8"))
    reader = ParameterReader(schema["$defs"])
    return [found for key, part in schema["properties"].items() for found in reader.list_at(part, key)]


def write_page() -> str:
    """Return the page: a heading and a table for each section, and for each part of a flow."""
    parameters = list_parameters()
    flows = {
        parameter.path.partition(".")[0] for parameter in parameters if parameter.path.endswith(".preset")
    }
    text, heading = HEAD, ""
    for parameter in parameters:
        first, _, rest = parameter.path.partition(".")
        name = ".".join(parameter.path.split(".")[:2]) if first in flows and rest else first
        if name != heading:
            heading = name
            text += f"\n{'###' if '.' in name else '##'} {name}\n\n"
            text += "| parameter | type | default | meaning |\n|---|---|---|---|\n"
        cells = (f"`{parameter.path}`", parameter.type, parameter.default, parameter.meaning)
        text += f"| {' | '.join(fit_cell(cell) for cell in cells)} |\n"
    return text


def fit_cell(text: str) -> str:
    """Escape a text for a cell of a Markdown table."""
    plain = " ".join(text.split()).replace("|", "\\|")
    return MARKUP.sub(lambda found: found[0] if found[1] else f"\\{found[0]}", plain)


def main(words: Sequence[str]) -> int:
    """Write the page, or compare it with the code; return the exit code."""
    text = write_page()
    if "--check" not in words:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{PAGE.name} differs from the code; `python -m bench.parameters_page` writes it", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
