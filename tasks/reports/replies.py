"""Count the replies of each answering model, and describe truncated, filtered and missing replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeVar

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import CellValue, Selection
from tasks.models.calls import Call
from tasks.models.recording.entries import UNANSWERED
from tasks.reports.calls import ShownCall

KINDS = {"unanswered": UNANSWERED, "cut": "length", "filtered": "content_filter"}
"""Kind of reply -> finish reason."""
SAID = {
    "length": "cut off at the token limit",
    "content_filter": "ended by a content filter",
    UNANSWERED: "missing, because the endpoint refused the request or sent nothing usable",
}
NOT_NAMED = "not named"
CallT = TypeVar("CallT", Call, ShownCall)
"""The type of the model calls: rows of a calls artifact, or calls shown on a page."""


def derive_replies(calls: Iterable[Call], artifact: str = "calls") -> dict[str, object]:
    """Return the derivations of reply counts. artifact: the calls artifact.

    The result maps `<role>@<model>` to derivations of the number of replies: in total, by kind, and by the
    model named in the reply.
    """
    models: dict[tuple[str, str], set[str]] = {}
    for call in calls:
        if call.prompt:
            models.setdefault((call.role, call.model), set()).add(call.answered_by)

    def count(role: str, model: str, where: Mapping[str, CellValue]) -> Derivation:
        return Derivation("count", (Selection(artifact, {"role": role, "model": model, **where}),))

    return {
        f"{role}@{model}": {
            "replies": count(role, model, {}),
            **{kind: count(role, model, {"finish_reason": reason}) for kind, reason in KINDS.items()},
            "answered_by": {
                name or NOT_NAMED: count(role, model, {"answered_by": name}) for name in sorted(names)
            },
        }
        for (role, model), names in sorted(models.items())
    }


def describe_replies(calls: Iterable[CallT]) -> list[str]:
    """Return one line for each problem found in a role's replies.

    The problems are truncated, filtered and missing replies, and replies from several models.
    """
    lines = []
    for role, own in group_roles(calls).items():
        reasons = Counter(call.finish_reason for call in own)
        for reason, said in SAID.items():
            if count := reasons[reason]:
                lines.append(
                    f"{role}: {count} of {len(own)} replies {'was' if count == 1 else 'were'} {said}"
                )
        named = count_models(own)
        if len(named.keys() - {NOT_NAMED}) > 1:
            lines.append(f"{role}: the replies are from several models: {join_counts(named)}")
    return lines


def describe_served(calls: Iterable[Call]) -> list[str]:
    """Return lines about removed reasoning, and about replies that do not name the requested model.

    Replies that do not name the requested model are listed only if the role's replies name exactly one model.
    For several models, see `describe_replies`.
    """
    lines = []
    for role, own in group_roles(calls).items():
        if stripped := sum(bool(call.reasoning) for call in own):
            lines.append(
                f"{role}: the reasoning before the answer was removed from {stripped} of {len(own)} replies"
            )
        named = count_models(own)
        asked = {call.model for call in own} | {call.identity for call in own}
        others = [
            name
            for name in named
            if name != NOT_NAMED and not any(_is_same(name, wanted) for wanted in asked)
        ]
        has_one = len(named.keys() - {NOT_NAMED}) == 1
        if has_one and (others or NOT_NAMED in named):
            models = " and ".join(sorted({call.model for call in own}))
            lines.append(f"{role}: the requests named {models}; the replies are {join_counts(named)}")
    return lines


def group_roles(calls: Iterable[CallT]) -> dict[str, list[CallT]]:
    """Group the calls with a prompt by role, sorted by role."""
    groups: dict[str, list[CallT]] = {}
    for call in calls:
        if call.prompt:
            groups.setdefault(call.role, []).append(call)
    return dict(sorted(groups.items()))


def count_models(calls: Iterable[CallT]) -> Counter[str]:
    """Count the replies by the model named in the reply; requests without a reply are not counted."""
    return Counter(call.answered_by or NOT_NAMED for call in calls if call.finish_reason != UNANSWERED)


def join_counts(named: Mapping[str, int]) -> str:
    """Format counts by model as `2 by a, 1 by b`, sorted by name."""
    return ", ".join(f"{count} by {name}" for name, count in sorted(named.items()))


def _is_same(named: str, asked: str) -> bool:
    """Return whether a reply names the requested model, ignoring a date or prefix that providers add."""
    return bool(asked) and (named.startswith(asked) or named.endswith(f"/{asked}"))
