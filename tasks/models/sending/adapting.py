"""Adapt requests automatically to an endpoint that refuses a parameter by name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tasks.models.ask import Request
from tasks.models.sending.failures import Failure


@dataclass(frozen=True)
class Adaptation:
    """How to detect that an endpoint refuses a parameter, and how to change later requests.

    `spelt`: pattern to search for in the error message of a refusal. `said`: description of the change for
    reports. `left_out`: parameters to remove from the body of later requests.
    """

    spelt: re.Pattern[str]
    said: str
    left_out: tuple[str, ...] = ()


MAX_TOKENS, MAX_COMPLETION_TOKENS = "max_tokens", "max_completion_tokens"
ADAPTATIONS = {
    MAX_TOKENS: Adaptation(
        re.compile(MAX_COMPLETION_TOKENS),
        "takes no max_tokens; the limit was sent as max_completion_tokens (set token_limit in run.endpoints)",
    ),
    "grammar": Adaptation(
        re.compile(r"\bgrammar\b"),
        "takes no grammar; its replies are checked by parsers only",
        ("grammar",),
    ),
    "json_schema": Adaptation(
        re.compile("response_format|json_schema|structured output", re.IGNORECASE),
        "takes no JSON schema; its replies are checked by parsers only",
        ("response_format",),
    ),
    "tools": Adaptation(
        re.compile(r"\btools?\b|tool_choice|tool use|function call", re.IGNORECASE),
        "takes no tools; it was asked for text",
        ("tools", "tool_choice"),
    ),
}
"""Name of a constraint or of the token limit -> the adaptation for endpoints that refuse the parameter."""


class Adapter:
    """Records the parameters that an endpoint has refused; removes or renames them in later requests."""

    def __init__(self, token_limit: str) -> None:
        """Start with no refused parameters.

        `token_limit`: the endpoint's name for the token limit; a name set by the user is not changed.
        """
        self._names_limit = token_limit != MAX_TOKENS
        self.refused: frozenset[str] = frozenset()
        """Keys of ADAPTATIONS that the endpoint has refused."""

    def learn(self, failure: Failure, sent_without: frozenset[str], requests: Iterable[Request]) -> bool:
        """Record the parameter that was refused; return whether to resend the requests.

        `sent_without`: the parameters that the failed request already omitted.
        """
        if failure.retry or failure.paid or failure.kind != "refused":
            return False
        carried = {name for request in requests for name in request.constraint}
        carried |= set() if self._names_limit else {MAX_TOKENS}
        for name in sorted(carried & ADAPTATIONS.keys() - sent_without):
            if ADAPTATIONS[name].spelt.search(failure.problem):
                self.refused |= {name}
                return True
        return False

    def adapt(self, body: dict[str, object]) -> None:
        """Remove or rename the refused parameters in a request's body, in place."""
        if MAX_TOKENS in self.refused and MAX_TOKENS in body:
            body[MAX_COMPLETION_TOKENS] = body.pop(MAX_TOKENS)
        for name in self.refused:
            for parameter in ADAPTATIONS[name].left_out:
                body.pop(parameter, None)

    def list_notes(self) -> list[str]:
        """Return a description of each parameter that was removed or renamed."""
        return [ADAPTATIONS[name].said for name in sorted(self.refused)]
