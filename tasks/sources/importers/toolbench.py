"""Import STE's subset of ToolBench (Wang et al., 2024; MIT, descriptions Apache-2.0).

`tool_test.json` maps 50 APIs to their queries with the gold call (`query`, `action`, `action_input`),
`API_descriptions.json` maps 817 APIs to their descriptions, and `API_list.json` lists the 50 APIs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import orjson

from tasks.sources.importer import Importer
from tasks.sources.stream_dataset import DatasetItem, LeftOutRecord, tidy, tidy_line
from tasks.sources.whole_json import read_json_list, read_json_object

SCHEMA = re.compile(r"Your input should be a json \(args json schema\): \{([^{}]*)\}")
TRIGGER = re.compile(r"The Action to trigger this API should be .*\Z")
TEST, DESCRIPTIONS, LISTED = "tool_test.json", "API_descriptions.json", "API_list.json"


class Toolbench(Importer):
    """Import STE's subset of ToolBench (questions for 50 APIs, descriptions of 817 APIs) for streambench.

    STE has one split, so few-shot examples come from your own file (--shots).

    Example: benchloom import toolbench STE/tool_metadata
    """

    name = "toolbench"
    kind = "toolbench"
    title, licence = "ToolBench (the subset of STE)", "MIT; descriptions Apache-2.0"
    source = "https://github.com/microsoft/simulated-trial-and-error"
    files = (TEST,)
    stratum = "api"

    def read_items(self) -> Iterator[tuple[str, DatasetItem | LeftOutRecord]]:
        """Yield the queries of all APIs; the key `add_date#3` joins the API and the query's index.

        Queries of an API without a description are skipped, because prompts could not mention that API.
        """
        tests, known = (read_json_object(self.folder / name) for name in (TEST, DESCRIPTIONS))
        for api, queries in tests.items():
            for number, record in enumerate(queries if isinstance(queries, list) else [None]):
                key = f"{api}#{number}"
                yield key, _make_item(key, record, known)

    def list_files(self, items: Sequence[DatasetItem]) -> Mapping[str, Path | bytes]:
        """Return descriptions.json, with the descriptions of all APIs."""
        words = json.dumps(list_descriptions(self.folder), ensure_ascii=False, indent=1) + "\n"
        return {"descriptions.json": words.encode()}

    def list_read(self) -> Sequence[Path]:
        """List the published files that exist."""
        names = (TEST, DESCRIPTIONS, LISTED)
        return [self.folder / name for name in names if (self.folder / name).is_file()]


def _make_item(key: str, record: object, known: Mapping[str, object]) -> DatasetItem | LeftOutRecord:
    own = record if isinstance(record, Mapping) else {}
    text, api = tidy_line(own.get("query")), tidy(own.get("action"))
    if not text or not api:
        return LeftOutRecord("incomplete", f"{key}: no {'action' if text else 'query'}")
    if api not in known:
        return LeftOutRecord("no_description", f"{key}: {api[:80]}")
    try:
        arguments = orjson.loads(tidy(own.get("action_input")) or "null")
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        return LeftOutRecord("bad_arguments", f"{key}: {str(own.get('action_input'))[:80]}")
    call = {"api": api, "arguments": arguments}
    return DatasetItem(key, text, text, "", json.dumps(call, ensure_ascii=False), call)


def list_descriptions(folder: Path) -> dict[str, object]:
    """Return all descriptions and the tested APIs' names: `{"apis": {name: text}, "listed": [name]}`."""
    apis = read_json_object(folder / DESCRIPTIONS)
    listed = read_json_list(folder / LISTED) if (folder / LISTED).is_file() else []
    found = {name: write_description(value) for name, value in sorted(apis.items())}
    return {"apis": found, "listed": [name for name in listed if isinstance(name, str) and name in found]}


def write_description(value: object) -> str:
    """Return an API's description for prompts: its purpose, its tool, and one line per argument.

    `value`: a JSON object as text, or plain text. In plain text, the JSON schema of the arguments is
    converted to lines, and the usage instructions are removed.
    """
    text = tidy(value)
    try:
        record = orjson.loads(text)
    except ValueError:
        record = None
    if not isinstance(record, dict):
        # In STE's descriptions, the braces of JSON are doubled, as in format strings.
        return _write_plain(tidy_line(text.replace("{{", "{").replace("}}", "}")))
    tool = ": ".join(
        filter(None, (tidy_line(record.get("parent_tool_name")), _shown(record, "parent_tool_description")))
    )
    lines = [_shown(record, "description"), f"Tool: {tool}" if tool else ""]
    for field, word in (("required_parameters", "required"), ("optional_parameters", "optional")):
        own = record.get(field)
        lines += [_write_argument(argument, word) for argument in (own if isinstance(own, list) else [])]
    return "\n".join(line for line in lines if line)


def _write_plain(text: str) -> str:
    """Return a plain-text description of one of STE's tools, with one line per argument.

    `text`: sentences, then a JSON schema of the arguments, then usage instructions, which are removed.
    """
    text = TRIGGER.sub("", text).strip()
    found = SCHEMA.search(text)
    if found is None:
        return text
    pairs = [pair.partition(":") for pair in found[1].split(",") if ":" in pair]
    lines = ["- {} ({}, required)".format(name.strip(' "'), kind.strip()) for name, _, kind in pairs]
    return "\n".join([text[: found.start()].replace("..", ".").strip(), *lines])


def _shown(record: Mapping[str, object], field: str) -> str:
    return tidy_line(record.get(field))


def _write_argument(argument: object, word: str) -> str:
    own = argument if isinstance(argument, Mapping) else {}
    name = tidy_line(own.get("name"))
    if not name:
        return ""
    example = own.get("default")
    parts = [
        _shown(own, "description"),
        f"such as {tidy_line(str(example))}" if example not in (None, "") else "",
    ]
    said = "; ".join(part for part in parts if part)
    return f"- {name} ({_shown(own, 'type').lower() or 'string'}, {word})" + (f": {said}" if said else "")
