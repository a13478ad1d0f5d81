"""Tool calls of the OpenAI protocol: offer tools to a model, and convert the model's calls to text.

The arguments of a call become lines with a label and a value, such as `SQL: SELECT 1`, in the order of the
tool's parameters. A model without tools replies in the same format, so one parser is sufficient, and the
ledger contains text in both cases.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from tasks.models.ask import Request, Role, Tool, try_parse
from tasks.models.recording.entries import LedgerEntry

Value = TypeVar("Value")

BAD_CALL = "bad_tool_call"
"""The finish reason of a reply with unreadable tool calls; the reply's text states the problem."""
MOST_CALLS = 32
"""Maximum number of tool calls per reply."""
SHOWN = 200
"""Maximum number of characters to quote from unreadable arguments."""


class BadCall(ValueError):
    """Raised if a tool call is unreadable; the message states the reason."""


def describe_tools(request: Request) -> dict[str, object]:
    """Return the fields of a request body that offer the request's tools; {} without tools."""
    tools = list_tools(request)
    if not tools:
        return {}
    # A single tool is chosen by name, because fewer endpoints support `required`.
    choice: object = "required"
    if len(tools) == 1:
        choice = {"type": "function", "function": {"name": tools[0].name}}
    return {
        "tools": [{"type": "function", "function": tool.describe()} for tool in tools],
        "tool_choice": choice,
    }


def list_tools(request: Request) -> list[Tool]:
    """Return the tools of a request."""
    offered: Any = request.constraint.get("tools", ())
    return [Tool(tool["name"], tool["description"], tool["parameters"]) for tool in offered]


def parse_entry(
    entry: LedgerEntry, request: Request, role: Role, parse: Callable[[str], Value]
) -> tuple[Value | None, str | None, bool]:
    """Parse a recorded reply; return (value, None, True), or (None, reason, whether the failure is final).

    A reply that does not parse is a final failure only at the last of the role's `attempts`. A call without
    an answer, or with a finish reason that the role refuses, is always a final failure.
    """
    if reason := entry.text if entry.is_unanswered else role.refuse(entry.finish_reason):
        return None, reason, True
    value, problem = _parse_text(entry, request, parse)
    return value, problem, problem is None or request.attempt + 1 >= role.attempts


def _parse_text(
    entry: LedgerEntry, request: Request, parse: Callable[[str], Value]
) -> tuple[Value | None, str | None]:
    if entry.finish_reason == BAD_CALL and "tools" in request.constraint:
        return None, entry.text
    return try_parse(parse, entry.text, request.decoding["max_tokens"])


def write_calls(calls: object, tools: Sequence[Tool]) -> str:
    """Return the tool calls of a reply as text. Raises BadCall if a call is unreadable."""
    if not isinstance(calls, list):
        raise BadCall("the tool calls are not a list")
    if len(calls) > MOST_CALLS:
        raise BadCall(f"the reply has {len(calls)} tool calls; at most {MOST_CALLS} are allowed")
    try:
        return "\n".join(line for call in calls for line in _write_call(call, tools))
    except RecursionError:
        raise BadCall("the arguments are nested too deeply") from None


def _write_call(call: object, tools: Sequence[Tool]) -> Iterator[str]:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        raise BadCall("a tool call has no function")
    name = function.get("name")
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None:
        raise BadCall(f"there is no tool {str(name)[:SHOWN]!r}")
    return _write_value(_read_arguments(function.get("arguments")), tool.parameters, tool.name)


def _read_arguments(arguments: object) -> object:
    """Return a call's arguments, decoded if JSON text; {} if missing. Raises BadCall for invalid JSON."""
    if not isinstance(arguments, str):
        return arguments if arguments is not None else {}
    try:
        return json.loads(arguments) if arguments.strip() else {}
    except ValueError:
        raise BadCall(f"the arguments are not valid JSON: {' '.join(arguments.split())[:SHOWN]}") from None


def _write_value(value: object, schema: Mapping[str, Any], name: str) -> Iterator[str]:
    """Yield the lines that represent a value.

    A string is labelled with the `title` of its schema. If an object's schema has no properties, the
    only line is the `title` of this schema. Raises BadCall if the value does not match the schema.
    """
    kind = schema["type"]
    if kind == "string":
        if not isinstance(value, str):
            raise BadCall(f"{name} is not a string")
        yield f"{schema['title']}: {_write_lines(value)}"
    elif kind == "array":
        if not isinstance(value, list):
            raise BadCall(f"{name} is not a list")
        for member in value:
            yield from _write_value(member, schema["items"], name)
    elif not isinstance(value, dict):
        raise BadCall(f"the arguments of {name} are not a JSON object")
    elif not schema["properties"]:
        yield schema["title"]
    else:
        for field, field_schema in schema["properties"].items():
            if value.get(field) is not None:
                yield from _write_value(value[field], field_schema, field)
            elif field in schema["required"]:
                raise BadCall(f"{name} is missing the argument {field!r}")


def _write_lines(text: str) -> str:
    """Remove blank lines, because a blank line ends a value in the text format."""
    return "\n".join(line for line in text.strip().splitlines() if line.strip())
