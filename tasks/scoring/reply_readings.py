"""Extract SQL, code, answers and tool calls from replies by the rules of StreamBench's released code.

If StreamBench's code would crash on a reply, the functions return a result that counts as a wrong answer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from tasks.errors import BadInput
from tasks.scoring.items import MAX_DEPTH, is_deeper

LENIENT, RELEASED, NONE = "lenient", "released", "none"
READINGS = (LENIENT, RELEASED)
FENCE = "```"
RELEASED_NAMES, OWN_NAMES = ("action", "action_input"), ("api", "arguments")
"""The names of a call's two fields: in the published prompts, and in our prompts."""


def check_reading(given: str, allowed: tuple[str, ...] = (*READINGS, NONE), where: str = "--reading") -> str:
    """Return the extraction rule `given`. Raises BadInput if the rule is not in `allowed`.

    `where`: the option that the error names.
    """
    if given not in allowed:
        raise BadInput(where, f"{given!r} is not an extraction rule", hint=f"known: {', '.join(allowed)}")
    return given


def read_released_sql(reply: str) -> str:
    """Extract the query from a reply by the rules of the released code; return the query.

    - If the reply begins with a fence, `sql` and a line break, and ends with a fence, the query is the text
      between the fences.
    - In any other reply with a fence, the query is the first block that opens with a fence, `sql` and a line
      break, and whose closing fence begins a line. If no block has this form, the query is all text after the
      first fence, without the other fences. If `sql` or `SQL` and a line break directly follow a fence, they
      are removed with the fence.
    - In any other reply, the query is the whole text.

    Outer white space is removed. `SELECT ` is prepended unless the text begins with upper-case `SELECT`.
    """
    opening, closing = f"{FENCE}sql\n", f"\n{FENCE}"
    sql = reply
    if reply.startswith(opening) and reply.endswith(FENCE):
        sql = reply[len(opening) : -len(FENCE)]
    elif FENCE in reply:
        begin = reply.find(opening)
        end = reply.find(closing, begin + len(opening)) if begin >= 0 else -1
        if end >= 0:
            sql = reply[begin + len(opening) : end]
        else:
            for language in ("sql", "SQL"):
                sql = sql.replace(f"{FENCE}{language}\n", FENCE)
            sql = sql.partition(FENCE)[2].replace(FENCE, "")
    sql = sql.strip()
    return sql if sql.startswith("SELECT") else f"SELECT {sql}"


def read_released_code(reply: str) -> str:
    """Return the text between the first fence with `python` and the next fence, or the whole reply.

    If no block has `python` and a closing fence, the whole reply is returned; its fence then causes a
    syntax error.
    """
    opening = f"{FENCE}python"
    begin = reply.find(opening)
    end = reply.find(FENCE, begin + len(opening)) if begin >= 0 else -1
    return reply[begin + len(opening) : end] if end >= 0 else reply


def cut_object(reply: str) -> str | None:
    """Return the text from the first opening brace to its closing brace; "" if there is no such pair.

    Braces within strings also count. Returns None if a closing brace precedes all opening braces.
    """
    depth, begin = 0, 0
    for place, sign in enumerate(reply):
        if sign == "{":
            begin = begin if depth else place
            depth += 1
        elif sign == "}":
            if not depth:
                return None
            depth -= 1
            if not depth:
                return reply[begin : place + 1]
    return ""


def load_object(reply: str) -> Mapping[str, object] | None:
    """Return the first JSON object in a reply; None if it is missing, not valid, or nested too deeply."""
    text = cut_object(reply)
    try:
        found = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and not is_deeper(found, MAX_DEPTH) else None


def read_released_answer(reply: str) -> str:
    """Return the short answer of a reply (HotpotQA): the value of `answer` in its JSON object.

    If the object has no `answer`, the object's JSON text is the answer. Without a valid object, the whole
    reply is the answer. Returns "", which counts as wrong, if the released code would crash: if a closing
    brace comes first, or if the answer is not a string.
    """
    text = cut_object(reply)
    if text is None:
        return ""
    found = load_object(reply)
    if found is None:
        return reply
    answer = found.get("answer", text)
    return answer if isinstance(answer, str) else ""


@dataclass(frozen=True)
class ReadCall:
    """A parsed tool call.

    `arguments`: any JSON value; a string is parsed as JSON if it is valid JSON.
    """

    api: object
    arguments: object
    valid: bool = True
    """False if the arguments are a string that is not valid JSON."""


def read_released_call(reply: str) -> ReadCall | None:
    """Return the call in a reply (ToolBench); None if it is not well-formed.

    A call is well-formed if its JSON object has both fields, with the published names or with the names in
    our prompts.
    """
    found = load_object(reply) or {}
    for api, arguments in (RELEASED_NAMES, OWN_NAMES):
        if api in found and arguments in found:
            return make_call(found[api], found[arguments])
    return None


def make_call(api: object, arguments: object) -> ReadCall:
    """Create a call from its two fields; string arguments are parsed as JSON."""
    try:
        return ReadCall(api, json.loads(arguments) if isinstance(arguments, str) else arguments)
    except (ValueError, RecursionError):
        return ReadCall(api, arguments, valid=False)


def write_call(call: ReadCall) -> str:
    """Format a call as one line of JSON, with the names in our prompts, as input for `make_call`."""
    text = call.valid and isinstance(call.arguments, str)
    parts = (call.api, json.dumps(call.arguments) if text else call.arguments)
    written = json.dumps(dict(zip(OWN_NAMES, parts, strict=True)), ensure_ascii=False)
    # A reply's JSON may contain lone surrogates (`"\ud800"`), which cannot be written as UTF-8.
    return written.encode("utf-8", "replace").decode("utf-8")


def read_released_diagnosis(reply: str) -> str:
    """Return the diagnosis in a reply (DDXPlus): the `answer` in its JSON object, or the whole reply."""
    found = load_object(reply) or {}
    answer = found.get("answer")
    return answer if isinstance(answer, str) else reply
