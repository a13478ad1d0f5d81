"""Parse params.yaml with errors that name the line, and edit single values in its text.

An edit leaves every other character of the file unchanged.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from flows.yaml_nodes import DEEPEST, TooDeep, compose_yaml
from tasks.errors import BadInput

MOST_BYTES = 4 * 1024 * 1024
"""Maximum size of params.yaml in bytes."""
MOST_NODES = 100_000
"""Maximum number of values in the file after aliases are expanded."""
NAME = re.compile(r"\w[\w-]{0,79}")
"""Valid names of entries, which become folders and command line arguments."""
NEAR = 0.85
"""Minimum similarity (0 to 1) to a known section's name for an unknown section to count as misspelt."""
QUOTE = "keys must be text: put the key in quotes"


def parse_params(
    content: bytes, path: Path, named: Collection[str], sections: Collection[str]
) -> dict[str, object]:
    """Parse params.yaml into nested mappings.

    `named`: dotted names of the sections with stages that run per entry. `sections`: names of Benchloom's own
    sections. Raises BadInput, with the line if known, in these cases:
    - the file is not a YAML mapping with string keys.
    - aliases expand beyond the limit.
    - a section is blank.
    - the name of an unknown section is similar to one of Benchloom's sections.
    - an entry has an invalid name.
    """
    if len(content) > MOST_BYTES:
        raise BadInput(path, f"is larger than {MOST_BYTES // 1024**2} MiB")
    try:
        # Some editors begin a UTF-8 file with a byte order mark.
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise BadInput(path, "is not UTF-8", line=line, hint="save it as UTF-8") from error
    try:
        root = compose_yaml(text)
        if not isinstance(root, yaml.MappingNode):
            raise BadInput(
                path,
                "is not a mapping (key: value)",
                hint="see params.yaml in a project that `benchloom init` created",
            )
        check_nodes(root, path)
        loader = yaml.SafeLoader("")
        data: dict[str, object] = loader.construct_document(root)
    except TooDeep as error:
        raise BadInput(path, str(error), line=error.line) from error
    except yaml.MarkedYAMLError as error:
        at = error.problem_mark.line + 1 if error.problem_mark else None
        raise BadInput(path, f"is not valid YAML: {str(error.problem)[:200]}", line=at) from error
    except yaml.YAMLError as error:  # a character that is not allowed in YAML
        raise BadInput(path, f"is not valid YAML: {str(error).splitlines()[0]}") from error
    except (
        RecursionError,
        ValueError,
        OverflowError,
        AttributeError,
    ) as error:  # nested too deeply, or an invalid date or number
        raise BadInput(path, f"cannot be read: {type(error).__name__}: {str(error)[:80]}") from error
    check_sections(root, path, named, sections)
    return data


def check_nodes(root: yaml.MappingNode, path: Path) -> None:
    """Check that keys are unique strings, and that the depth and the number of values are within limits."""
    sizes: dict[int, int] = {}

    def count(node: yaml.Node, above: tuple[int, ...]) -> int:
        # Aliases can make a small file expand to billions of values, so each node is visited only once.
        if id(node) in sizes:
            return sizes[id(node)]
        if id(node) in above or len(above) > DEEPEST:
            what = "contains itself" if id(node) in above else f"is nested more than {DEEPEST} levels deep"
            raise BadInput(path, f"a value {what}", line=node.start_mark.line + 1)
        parts: list[yaml.Node] = []
        if isinstance(node, yaml.MappingNode):
            seen: dict[str, int] = {}
            for key, value in node.value:
                line = key.start_mark.line + 1
                if key.tag not in ("tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"):
                    raise BadInput(path, f"a key is {describe_tag(key)}", line=line, hint=QUOTE)
                if key.value in seen:
                    what = f"{key.value[:60]}: is already defined in line {seen[key.value]}"
                    raise BadInput(path, what, line=line, hint="add your keys to the existing value")
                seen[key.value] = line
                parts.append(value)
        elif isinstance(node, yaml.SequenceNode):
            parts = node.value
        total = 1 + sum(count(part, (*above, id(node))) for part in parts)
        if total > MOST_NODES:
            raise BadInput(path, f"contains more than {MOST_NODES:,} values", line=node.start_mark.line + 1)
        sizes[id(node)] = total
        return total

    count(root, ())


def check_sections(
    root: yaml.MappingNode, path: Path, named: Collection[str], sections: Collection[str]
) -> None:
    """Check that no section is blank or misspelt, and that entries of `named` have valid names."""
    for key, value in root.value:
        # Users may add sections, so a misspelt section would silently have no effect.
        near = difflib.get_close_matches(key.value, sections, n=1, cutoff=NEAR)
        if near and key.value not in sections:
            what = f"{key.value[:60]}: no stage reads a section of this name"
            raise BadInput(path, what, line=key.start_mark.line + 1, hint=f"did you mean {near[0]!r}?")
        if key.value in sections and is_blank(value):
            raise BadInput(
                path,
                f"{key.value}: is blank",
                line=key.start_mark.line + 1,
                hint="write {} for an empty section",
            )
    for section in named:
        node: yaml.Node | None = root
        for name in section.split("."):
            pairs = node.value if isinstance(node, yaml.MappingNode) else []
            found = next((pair for pair in pairs if pair[0].value == name), None)
            if found is not None and is_blank(found[1]):
                line = found[0].start_mark.line + 1
                raise BadInput(path, f"{section}: is blank", line=line, hint="write {} for an empty section")
            node = found[1] if found is not None else None
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if not NAME.fullmatch(key.value):
                raise BadInput(
                    path,
                    f"{section}: {key.value[:60]!r} is not a valid name",
                    line=key.start_mark.line + 1,
                    hint="use at most 80 letters, digits, `_` and `-`, and do not begin with `-`",
                )


def is_blank(node: yaml.Node) -> bool:
    """Return whether a value is null or missing."""
    return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"


def describe_tag(node: yaml.Node) -> str:
    """Describe the type of a key that is not text."""
    kinds: Mapping[str, str] = {
        "int": "a number", "float": "a number", "bool": "true or false", "null": "blank",
        "timestamp": "a date", "map": "a mapping", "seq": "a list",
    }  # fmt: skip
    return kinds.get(node.tag.rpartition(":")[2], "not text")


def write_value(text: str, keys: Sequence[str], written: str) -> str:
    """Replace the value at a key path, or append the key to its mapping; return the new text.

    `written`: the value as YAML. The text is inserted unchanged if possible, otherwise in flow style on one
    line. Missing parent keys are created. Raises BadInput if an alias or a merge shares the value, since the
    text then cannot express the edit.
    """
    value = yaml.safe_load(written)
    wanted = put_value(yaml.safe_load(text), keys, value)
    for form in (written.strip(), dump_flow(value)):
        edited = replace_value(text, keys, form)
        try:
            if yaml.safe_load(edited) == wanted and edited.count("\n") - text.count("\n") <= 1:
                return edited
        except (yaml.YAMLError, ValueError):
            continue
    raise BadInput(
        f"params.yaml: {'.'.join(keys)}",
        "is set by a YAML alias or merge key",
        hint="edit params.yaml by hand",
    )


def list_changes(
    data: object, keys: tuple[str, ...], value: object
) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield the smallest set of writes (keys, value) that sets a value under `keys` in nested mappings."""
    there = data
    for key in keys:
        there = there.get(key) if isinstance(there, Mapping) else None
    parts = isinstance(value, Mapping) and isinstance(there, Mapping) and there.keys() <= value.keys()
    if parts and there and isinstance(value, Mapping):
        for name, part in value.items():
            yield from list_changes(data, (*keys, name), part)
    elif there is None or there != value:
        yield keys, value


def put_value(data: Any, keys: Sequence[str], value: object) -> dict[str, Any]:
    """Return nested mappings with a value set at a key path, without changing `data`."""
    first, *rest = keys
    there = dict(data) if isinstance(data, Mapping) else {}
    return {**there, first: put_value(there.get(first), rest, value) if rest else value}


def replace_value(text: str, keys: Sequence[str], written: str) -> str:
    """Replace the text of a value. The result may be invalid YAML or have a different meaning."""
    node: Any = compose_yaml(text)
    for depth, key in enumerate(keys):
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        pair = next((pair for pair in pairs if pair[0].value == key), None)
        if pair is None:
            return insert_pair(text, node, nest_text(keys[depth:], written))
        found: yaml.Node = pair[1]
        last = depth == len(keys) - 1
        if last or not isinstance(found, yaml.MappingNode):
            inner = written if last else f"{{{nest_text(keys[depth + 1 :], written)}}}"
            return replace_node(text, pair[0], found, inner)
        node = found
    return text


def nest_text(keys: Sequence[str], written: str) -> str:
    """Return the text `a: {b: value}` for the keys a, b."""
    first, *rest = keys
    return f"{dump_flow(first)}: {f'{{{nest_text(rest, written)}}}' if rest else written}"


def replace_node(text: str, key: yaml.Node, node: yaml.Node, written: str) -> str:
    """Replace the text of a key's value."""
    start, end = node.start_mark.index, find_end(text, node)
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        # The value begins on a line below its key; the text between them is a comment.
        colon = text.index(":", key.end_mark.index) + 1
        return f"{text[:colon]} {written}{text[colon:start].rstrip()}{text[end:]}"
    space = "" if text[start - 1 : start].isspace() else " "
    return f"{text[:start]}{space}{written}{text[end:]}"


def insert_pair(text: str, node: yaml.Node, pair: str) -> str:
    """Append a pair to a mapping: inside the braces of flow style, otherwise on a new line."""
    pairs = node.value
    end = find_end(text, pairs[-1][1]) if pairs else node.end_mark.index - 1
    if node.flow_style:  # type: ignore[attr-defined]
        return f"{text[:end]}{', ' if pairs else ''}{pair}{text[end:]}"
    line = text.find("\n", end)
    line = len(text) if line < 0 else line
    above, newline = (text[: line - 1], "\r\n") if text[:line].endswith("\r") else (text[:line], "\n")
    below = text[len(above) :]
    return f"{above}{newline}{' ' * pairs[0][0].start_mark.column}{pair}{below}"


def find_end(text: str, node: yaml.Node) -> int:
    """Find the end of a value's text, without trailing blanks and comments (unlike the parser's end mark)."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        return max(find_end(text, part) for part in list_parts(node))
    start, end = node.start_mark.index, node.end_mark.index
    block = isinstance(node, yaml.ScalarNode) and node.style in ("|", ">")
    return start + len(text[start:end].rstrip()) if block else end


def list_parts(node: yaml.CollectionNode) -> Iterator[yaml.Node]:
    """Yield the keys and values of a mapping, or the items of a sequence."""
    for part in node.value:
        yield from part if isinstance(part, tuple) else (part,)


def dump_flow(value: object) -> str:
    """Return a value as YAML on one line that is also valid inside braces."""
    # Dump the value as the only item of a list: otherwise a text with a comma would not be quoted.
    text = yaml.safe_dump(
        [value], default_flow_style=True, width=float("inf"), sort_keys=False, allow_unicode=True
    )
    line = text.rstrip("\n")[1:-1]
    return line if "\n" not in line else json.dumps(value, ensure_ascii=False)
