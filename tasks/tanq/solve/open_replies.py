"""Parse the open agent's replies (labelled lines or tool calls), and build its grammars and tools."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tasks.judging.labelled import SIGNS, split_parts
from tasks.models.ask import Tool, Unparsed
from tasks.tanq.solve.table_options import OpenLimits

THOUGHT, KEYWORDS, FOUND, TABLE = "Thought", "Keywords", "Found", "TABLE"
SUB_TASK, CALCULATE = "SubTask", "Calculate"
WIKI_SEARCH, FIND_EVIDENCE, GET_INTRO = "WikiSearch", "FindEvidence", "GetIntro"
MAIN_ACTIONS = (SUB_TASK, CALCULATE)
SUB_ACTIONS = (WIKI_SEARCH, FIND_EVIDENCE, GET_INTRO)
BETWEEN = " | "
"""Separates the article and the keywords of a step."""
CHARACTERS_PER_TOKEN = 3
"""Estimated number of characters per token, to compute the lengths of lines in grammars."""
LONGEST = 400
"""Maximum number of characters of a thought or an argument; longer texts are truncated."""
ACTIONS = "|".join((*MAIN_ACTIONS, *SUB_ACTIONS))
CALL = re.compile(rf"(?m)^\W{{0,6}}(?:Action\W{{1,6}})?({ACTIONS})[ \t]*[(\[](.*)[)\]]\W{{0,6}}$")
"""Matches a call in the notation of the TANQ paper: `FindEvidence(Oslo, population)`."""

END = re.compile(rf"(?im)^{SIGNS}{TABLE}{SIGNS}(?:[.:]{SIGNS})?$")


@dataclass(frozen=True)
class AgentMove:
    """A parsed step of the agent.

    tool: the tool's name; empty if the agent finishes. argument: the tool's input. If a sub-agent finishes,
    `argument` is its finding. If the main agent finishes, `argument` is empty.
    """

    thought: str
    tool: str
    argument: str


def parse_main_move(reply: str) -> AgentMove:
    """Parse the first step of the main agent in a reply. Raises Unparsed if there is no step."""
    if END.search(_drop_invented(reply, MAIN_ACTIONS)):
        return AgentMove(_read_thought(reply), "", "")
    return _read_move(reply, MAIN_ACTIONS, "")


def parse_sub_move(reply: str) -> AgentMove:
    """Parse the first step of a sub-agent in a reply. Raises Unparsed if there is no step."""
    return _read_move(reply, SUB_ACTIONS, FOUND)


def parse_found(reply: str) -> AgentMove:
    """Parse the final finding of a sub-agent, labelled or not. Raises Unparsed if the finding is empty."""
    parts = split_parts(reply, (FOUND,))
    text = _join(parts[0][1] if parts else reply)
    if not text:
        raise Unparsed("no_finding: the reply is empty")
    return AgentMove("", "", text)


def _read_move(reply: str, actions: Sequence[str], end: str) -> AgentMove:
    called = CALL.search(reply)
    labels = (THOUGHT, *actions, KEYWORDS, *filter(None, (end,)))
    parts = split_parts(reply, labels)
    moves = [place for place, (label, _) in enumerate(parts) if label not in (THOUGHT, KEYWORDS)]
    if called and called[1] in actions and not moves:
        article, comma, words = called[2].partition(",")
        argument = f"{article}{BETWEEN}{words}" if called[1] == FIND_EVIDENCE and comma else called[2]
        return AgentMove(_read_thought(reply), called[1], _join(argument.replace('"', "")))
    if not moves:
        raise Unparsed(f"no_step: no line begins with one of {', '.join((*actions, *filter(None, (end,))))}")
    label, text = parts[moves[0]]
    # Text below the first line is invented by the model, except in a finding.
    argument = _join(text) if label == end else _join(text.strip().partition("\n")[0])
    if not argument:
        raise Unparsed(f"no_step: there is no text after `{label}:`")
    if label == FIND_EVIDENCE:
        argument += BETWEEN + next((_join(keyword) for keyword in _list_keywords(parts[moves[0] + 1 :])), "")
    return AgentMove(_read_thought(reply), "" if label == end else label, argument)


def _list_keywords(parts: Sequence[tuple[str, str]]) -> list[str]:
    return [text.strip().partition("\n")[0] for label, text in parts[:1] if label == KEYWORDS]


def _drop_invented(reply: str, actions: Sequence[str]) -> str:
    """Return a reply up to its first action, because the model invents the text that follows."""
    return re.split(rf"(?m)^{SIGNS}(?:{'|'.join(actions)}){SIGNS}[:(\[]", reply)[0]


def _read_thought(reply: str) -> str:
    return next(
        (_join(text.strip().partition("\n")[0]) for label, text in split_parts(reply, (THOUGHT,))), ""
    )


def _join(text: str) -> str:
    return " ".join(text.encode("utf-8", "replace").decode().split()).strip("*` ")[:LONGEST]


def make_main_grammar(params: OpenLimits, *, noted: bool) -> str:
    """Build the GBNF grammar for a step of the main agent.

    noted: whether the agent may calculate or finish.
    """
    line = _line(params.step_tokens)
    more = f' | "{CALCULATE}: " [0-9+*/().% -]{{1,80}} | "{TABLE}"' if noted else ""
    return f'root ::= "{THOUGHT}: " line "\\n" ("{SUB_TASK}: " line{more})\nline ::= {line}'


def make_sub_grammar(params: OpenLimits, *, noted: bool) -> str:
    """Build the GBNF grammar for a step of a sub-agent. noted: whether a finding may be reported."""
    more = f' | "{FOUND}: " found' if noted else ""
    return (
        f'root ::= "{THOUGHT}: " line "\\n" ("{WIKI_SEARCH}: " line | "{GET_INTRO}: " line'
        f' | "{FIND_EVIDENCE}: " line "\\n{KEYWORDS}: " line{more})\n'
        f"line ::= {_line(params.step_tokens)}\nfound ::= {_line(params.found_tokens, 1)}"
    )


def make_found_grammar(params: OpenLimits) -> str:
    """Build the GBNF grammar for the final finding of a sub-agent."""
    return f'root ::= "{FOUND}: " {_line(params.found_tokens, 1)}'


def _line(tokens: int, lines: int = 2) -> str:
    """Build the grammar pattern for one of `lines` lines that share a limit of `tokens` tokens.

    The limit is converted to characters with `CHARACTERS_PER_TOKEN`.
    """
    return f"[^ \\t\\n\\r] [^\\n\\r]{{0,{tokens * CHARACTERS_PER_TOKEN // lines}}}"


def offer_main(*, noted: bool) -> tuple[Tool, ...]:
    """Return the main agent's tools, for endpoints that support tool calls.

    noted: whether the agent may calculate or finish.
    """
    task = _make_tool("sub_task", "Have one thing found out in Wikipedia.", {SUB_TASK: "What, by full names"})
    if not noted:
        return (task,)
    end = {"type": "object", "properties": {}, "required": [], "additionalProperties": False, "title": TABLE}
    return (
        task,
        _make_tool("calculate", "Compute an expression.", {CALCULATE: "Numbers and + - * /"}),
        Tool("table", "Say that all is found.", end),
    )


def offer_sub(*, noted: bool) -> tuple[Tool, ...]:
    """Return a sub-agent's tools, for endpoints with tool calls. noted: whether a finding may be reported."""
    title = "Title of an article"
    tools = (
        _make_tool("wiki_search", "Find the one article that fits best.", {WIKI_SEARCH: "Words"}),
        _make_tool("get_intro", "Read an article's introduction.", {GET_INTRO: title}),
        _make_tool(
            "find_evidence",
            "Find sentences, table cells and infobox entries of an article.",
            {FIND_EVIDENCE: title, KEYWORDS: "Words to look for in it"},
        ),
    )
    return (*tools, *offer_found()) if noted else tools


def offer_found() -> tuple[Tool, ...]:
    """Return the tool with which a sub-agent reports its finding."""
    return (
        _make_tool("found", "Say what was found.", {FOUND: "All names and figures that the task asks for"}),
    )


def _make_tool(name: str, about: str, fields: Mapping[str, str]) -> Tool:
    given = {} if name == "found" else {"thought": (THOUGHT, "What is missing, in a few words")}
    given |= {label.lower(): (label, description) for label, description in fields.items()}
    properties = {
        key: {"type": "string", "title": label, "description": text} for key, (label, text) in given.items()
    }
    required = [label.lower() for label in fields]
    known = {"properties": properties, "required": required, "additionalProperties": False}
    return Tool(name, about, {"type": "object", **known})
