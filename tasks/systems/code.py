"""Call a Python function as a system under test; params.yaml or a plug-in names the function.

A plug-in (kind `plug`) is a file in tasks/systems/own/, or a module of an installed package.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tasks.errors import BadInput
from tasks.models.ask import Ask
from tasks.plugs import find_plug, refuse_twice
from tasks.systems.contract import Passage, Response, Turn
from tasks.systems.entries import CallableEntry, PlugEntry
from tasks.systems.replies import Reply, ReplyPaths, make_response, read_reply

PATHS = ReplyPaths(text="answer", contexts="contexts", ids="ids", titles="titles", scores="scores")
"""The fields of a function's result; a result that is a plain string is the answer."""
FOLDER = Path(__file__).parent / "own"
"""The folder of the project's plug-in files."""
KIND = "systems"
DIGITS = 16
"""Number of hex digits of the hash in a plug-in's version."""


class CodeSystem:
    """Calls `function(question=..., history=[{question, answer}, ...])`, sync or async.

    The function returns the answer's text, or {"answer": text, "contexts": [text, ...], "ids": [id, ...]}
    with optional `titles` and `scores`. `search(query=...)` returns the same dict without `answer`.
    """

    def __init__(
        self, name: str, entry: CallableEntry, ask: Ask, locate: Callable[[str], str] = lambda name: name
    ) -> None:
        """Create the system from its entry.

        `locate`: maps a function's name in the entry to the `package.module:name` to call.
        """
        self.name, self.version = name, entry.version
        self._entry, self._ask, self._locate = entry, ask, locate

    async def answer(
        self, question: str, *, row: str, history: Sequence[Turn] = (), item: str = ""
    ) -> Response:
        """Answer one question with the function; see `System.answer`."""
        turns = [{"question": turn.question, "answer": turn.answer} for turn in history]
        answer = await self._ask.system(
            self.name,
            self.version,
            {"function": self._entry.function, "question": question, "history": turns},
            send=lambda transport: transport.call(
                self._locate(self._entry.function), question=question, history=turns
            ),
            row=row,
            parse=lambda text: read_reply(text, PATHS, needs_text=True),
        )
        return make_response(answer)

    async def retrieve(self, query: str, *, row: str) -> tuple[Passage, ...] | None:
        """Retrieve passages with the function `search`, best first.

        Returns None if the entry names no search function, or if the call failed.
        """
        search = self._entry.search
        if search is None:
            return None
        answer = await self._ask.system(
            self.name,
            self.version,
            {"function": search, "query": query},
            send=lambda transport: transport.call(self._locate(search), query=query),
            row=row,
            parse=lambda text: read_reply(text, PATHS, needs_text=False),
        )
        reply: Reply | None = answer.value
        return None if reply is None else reply.passages


@dataclass(frozen=True)
class Plugged:
    """The functions of a plug-in.

    - `entry`: the functions' names in the ledger, available even if the package is not installed.
    - `locate`: maps a function's name in the ledger to the `package.module:name` to call. `locate` raises
      BadInput if the installed package differs from the package in params.yaml.
    """

    entry: CallableEntry
    locate: Callable[[str], str]


def find_plugged(name: str, entry: PlugEntry) -> Plugged:
    """Return the plug-in of `systems.<name>`: a project file, otherwise an installed package.

    The plug-in is not imported. Raises BadInput if the entry of a file plug-in has a version or record, or if
    an installed package has a plug-in of the same name.
    """
    module = (entry.plug or name).replace("-", "_")
    path = FOLDER / f"{module}.py"
    if not path.is_file():
        version = f"{entry.version}-{entry.record[:DIGITS]}"
        return Plugged(make_entry(module, version, entry), lambda function: locate(name, entry, function))
    if (plug := find_plug(KIND, entry.plug or name)) is not None:
        raise refuse_twice(f"tasks/systems/{FOLDER.name}/{path.name}", plug)
    if entry.version or entry.record:
        raise BadInput(
            f"params.yaml: systems.{name}",
            f"is the project file {path.name}, which is versioned by its content",
            hint="omit version and record",
        )
    version = hashlib.sha256(path.read_bytes()).hexdigest()[:DIGITS]
    named = make_entry(f"{__package__}.{FOLDER.name}.{module}", version, entry)
    return Plugged(named, lambda function: function)


def make_entry(module: str, version: str, entry: PlugEntry) -> CallableEntry:
    """Return an entry for a module's function `answer`, and for `search` if `entry.search` is set."""
    search = f"{module}:search" if entry.search else None
    return CallableEntry(kind="callable", version=version, function=f"{module}:answer", search=search)


def locate(name: str, entry: PlugEntry, function: str) -> str:
    """Return the `package.module:name` of a function of an installed plug-in.

    Raises BadInput if the plug-in is not installed, has a different version or record than the entry, or
    lacks the function.
    """
    place, plug_name = f"params.yaml: systems.{name}", entry.plug or name
    plug = find_plug(KIND, plug_name)
    if plug is None:
        problem = f"there is no file {FOLDER.name}/{plug_name}.py and no installed plug-in {plug_name}"
        raise BadInput(place, problem, hint="see docs/plugs.md")
    # This check precedes plug.load(), because loading runs the package's code.
    if (entry.version, entry.record) != (plug.version, plug.record):
        problem = f"{plug.package} {plug.version} is installed, but the entry names another version or record"
        raise BadInput(place, problem, hint=f'set version: "{plug.version}", record: {plug.record}')
    wanted = function.partition(":")[2]
    if not callable(getattr(plug.load(), wanted, None)):
        raise BadInput(str(plug), f"has no function {wanted!r}", hint="see docs/plugs.md")
    return f"{plug.value}:{wanted}"
