"""Write one value into the text of a YAML file: every other character stays as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from tasks.errors import BadInput


def write_value(text: str, keys: Sequence[str], written: str) -> str:
    """Write a value under the keys of a mapping: in place of the old one, or as a new last key.

    written: the value as YAML. It stands in the file as it is where that is possible, else in flow style, on
    one line. Keys that are missing on the way are made. Raises BadInput where the file's text cannot say so:
    a value that an alias or a merge shares with others.
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
    raise BadInput(f"--set {'.'.join(keys)}", "stands in params.yaml by an alias or a merge; edit the file")


def put_value(data: Any, keys: Sequence[str], value: object) -> dict[str, Any]:
    """Return nested mappings with a value under the keys; nothing of them is shared with `data`."""
    first, *rest = keys
    there = dict(data) if isinstance(data, Mapping) else {}
    return {**there, first: put_value(there.get(first), rest, value) if rest else value}


def replace_value(text: str, keys: Sequence[str], written: str) -> str:
    """Write a value's text in place of the old one. The result may be no YAML, or say something else."""
    node: Any = yaml.compose(text, Loader=yaml.SafeLoader)
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
    """Write `a: {b: value}` of the keys a, b."""
    first, *rest = keys
    return f"{dump_flow(first)}: {f'{{{nest_text(rest, written)}}}' if rest else written}"


def replace_node(text: str, key: yaml.Node, node: yaml.Node, written: str) -> str:
    """Write a text in place of a key's value."""
    start, end = node.start_mark.index, find_end(text, node)
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        # It begins on a line below its key, and what stands between is a comment.
        colon = text.index(":", key.end_mark.index) + 1
        return f"{text[:colon]} {written}{text[colon:start].rstrip()}{text[end:]}"
    space = "" if text[start - 1 : start].isspace() else " "
    return f"{text[:start]}{space}{written}{text[end:]}"


def insert_pair(text: str, node: yaml.Node, pair: str) -> str:
    """Write a new last pair into a mapping: behind the last one within braces, else on a line of its own."""
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
    """Find where a value's text ends: a block's mark lies behind the blanks and comments that follow it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        return max(find_end(text, part) for part in list_parts(node))
    start, end = node.start_mark.index, node.end_mark.index
    block = isinstance(node, yaml.ScalarNode) and node.style in ("|", ">")
    return start + len(text[start:end].rstrip()) if block else end


def list_parts(node: yaml.CollectionNode) -> Iterator[yaml.Node]:
    """List the keys and values of a mapping, or the items of a sequence."""
    for part in node.value:
        yield from part if isinstance(part, tuple) else (part,)


def dump_flow(value: object) -> str:
    """Write a value as YAML on one line."""
    text = yaml.safe_dump(
        value, default_flow_style=True, width=float("inf"), sort_keys=False, allow_unicode=True
    )
    return text.removesuffix("\n").removesuffix("\n...")
