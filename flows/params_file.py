"""params.yaml as text: whatever it holds is read or refused in one line, by its place in the file."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from pathlib import Path

import yaml

from tasks.errors import BadInput

MOST_BYTES = 4 * 1024 * 1024
MOST_NODES = 100_000
"""Values of the whole file once its aliases are written out."""
DEEPEST = 50
NAME = re.compile(r"\w[\w-]{0,79}")
"""Names of entries that stages run for: they become folders, and words of commands."""
NEAR = 0.85
"""How alike, of 1, a section may not be to one of ours: misspelt, it would silently have no effect."""
QUOTE = "a name is text: put it in quotes"


def parse_params(
    content: bytes, path: Path, named: Collection[str], sections: Collection[str]
) -> dict[str, object]:
    """Parse params.yaml.

    named: the sections, by dotted name, whose keys are entries that stages run for. sections: those that
    hold settings of ours. Raises BadInput, with the line where there is one, for anything but a YAML mapping
    of text keys, for aliases that grow beyond bounds, for a blank section, for a section that is spelt nearly
    as one of ours, and for an entry whose name is none.
    """
    if len(content) > MOST_BYTES:
        raise BadInput(path, f"is larger than {MOST_BYTES // 1024**2} MiB")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise BadInput(path, "is not UTF-8", line=line, hint="save it as UTF-8") from error
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if not isinstance(root, yaml.MappingNode):
            raise BadInput(path, "holds no mapping", hint="see params.yaml in a project that `init` made")
        check_nodes(root, path)
        loader = yaml.SafeLoader("")
        data: dict[str, object] = loader.construct_document(root)
    except yaml.MarkedYAMLError as error:
        at = error.problem_mark.line + 1 if error.problem_mark else None
        raise BadInput(path, f"is not valid YAML: {str(error.problem)[:200]}", line=at) from error
    except yaml.YAMLError as error:  # a character that YAML does not allow
        raise BadInput(path, f"is not valid YAML: {str(error).splitlines()[0]}") from error
    except (
        RecursionError,
        ValueError,
        OverflowError,
        AttributeError,
    ) as error:  # too deep; no date, no number
        raise BadInput(path, f"cannot be read: {type(error).__name__}: {str(error)[:80]}") from error
    check_sections(root, path, named, sections)
    return data


def check_nodes(root: yaml.MappingNode, path: Path) -> None:
    """Hold that keys are text and stand once, and that the file is no larger than a person would write it."""
    sizes: dict[int, int] = {}

    def count(node: yaml.Node, above: tuple[int, ...]) -> int:
        if id(node) in sizes:
            return sizes[id(node)]
        if id(node) in above or len(above) > DEEPEST:
            what = "stands within itself" if id(node) in above else f"is more than {DEEPEST} deep"
            raise BadInput(path, f"a value {what}", line=node.start_mark.line + 1)
        parts: list[yaml.Node] = []
        if isinstance(node, yaml.MappingNode):
            seen: dict[str, int] = {}
            for key, value in node.value:
                line = key.start_mark.line + 1
                if key.tag not in ("tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"):
                    raise BadInput(path, f"a key is {describe_tag(key)}", line=line, hint=QUOTE)
                if key.value in seen:
                    what = f"{key.value[:60]}: stands in line {seen[key.value]} already"
                    raise BadInput(path, what, line=line, hint="add to what stands there")
                seen[key.value] = line
                parts.append(value)
        elif isinstance(node, yaml.SequenceNode):
            parts = node.value
        total = 1 + sum(count(part, (*above, id(node))) for part in parts)
        if total > MOST_NODES:
            raise BadInput(path, f"holds more than {MOST_NODES:,} values", line=node.start_mark.line + 1)
        sizes[id(node)] = total
        return total

    count(root, ())


def check_sections(
    root: yaml.MappingNode, path: Path, named: Collection[str], sections: Collection[str]
) -> None:
    """Hold that no section is blank or misspelt, and that entries of `named` ones have names of use."""
    for key, value in root.value:
        near = difflib.get_close_matches(key.value, sections, n=1, cutoff=NEAR)
        if near and key.value not in sections:
            what = f"{key.value[:60]}: no stage reads a section of this name"
            raise BadInput(path, what, line=key.start_mark.line + 1, hint=f"did you mean {near[0]!r}?")
        if key.value in sections and is_blank(value):
            raise BadInput(path, f"{key.value}: is blank", line=key.start_mark.line + 1, hint="{} is none")
    for section in named:
        node: yaml.Node | None = root
        for name in section.split("."):
            pairs = node.value if isinstance(node, yaml.MappingNode) else []
            found = next((pair for pair in pairs if pair[0].value == name), None)
            if found is not None and is_blank(found[1]):
                line = found[0].start_mark.line + 1
                raise BadInput(path, f"{section}: is blank", line=line, hint="{} is none")
            node = found[1] if found is not None else None
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if not NAME.fullmatch(key.value):
                raise BadInput(
                    path,
                    f"{section}: {key.value[:60]!r} cannot be a name",
                    line=key.start_mark.line + 1,
                    hint="letters, digits, `_`, and `-` but in front; at most 80",
                )


def is_blank(node: yaml.Node) -> bool:
    """Return whether a value is null, or not there."""
    return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"


def describe_tag(node: yaml.Node) -> str:
    """Describe what a key is that is no text."""
    kinds: Mapping[str, str] = {
        "int": "a number", "float": "a number", "bool": "true or false", "null": "blank",
        "timestamp": "a date", "map": "a mapping", "seq": "a list",
    }  # fmt: skip
    return kinds.get(node.tag.rpartition(":")[2], "no text")
