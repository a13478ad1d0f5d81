"""What an evaluation's replies were beside their texts: cut, filtered, missing, and of which model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from tasks.lineage.derivation import Derivation
from tasks.lineage.selection import CellValue, Selection
from tasks.models.calls import Call
from tasks.models.recording.entries import UNANSWERED

KINDS = {"unanswered": UNANSWERED, "cut": "length", "filtered": "content_filter"}
"""What is counted of replies -> their finish reason."""
NOT_NAMED = "not named"


def derive_replies(calls: Iterable[Call], artifact: str = "calls") -> dict[str, object]:
    """Derive the counts of model replies by role and model. artifact: of the calls.

    Returns `<role>@<model>` -> replies, those of each kind, and by the model that the reply names.
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


def describe_replies(calls: Sequence[Call]) -> list[str]:
    """Describe what a reader of the figures must know of replies, a line for each role and kind."""
    lines = []
    for role in sorted({call.role for call in calls if call.prompt}):
        own = [call for call in calls if call.role == role and call.prompt]
        reasons = Counter(call.finish_reason for call in own)
        for reason, said in (
            ("length", "cut at the limit of their tokens"),
            ("content_filter", "ended by a filter"),
        ):
            if reasons[reason]:
                lines.append(f"{role}: {reasons[reason]} of {len(own)} replies {said}")
        if stripped := sum(bool(call.reasoning) for call in own):
            lines.append(
                f"{role}: the reasoning before the answer was taken off {stripped} of {len(own)} replies"
            )
        lines += _describe_models(role, own)
    return lines


def _describe_models(role: str, calls: Sequence[Call]) -> list[str]:
    """Caution where replies name several models, or another than was asked for."""
    named = Counter(call.answered_by or NOT_NAMED for call in calls if call.finish_reason != UNANSWERED)
    asked = {call.model for call in calls} | {call.identity for call in calls}
    others = [name for name in named if name != NOT_NAMED and not any(_is_same(name, own) for own in asked)]
    if len(named) < 2 and not others:
        return []
    shares = ", ".join(f"{count} by {name}" for name, count in sorted(named.items()))
    return [f"{role}: asked of {' and '.join(sorted({call.model for call in calls}))}, answered {shares}"]


def _is_same(named: str, asked: str) -> bool:
    """Tell whether a reply names the model that was asked: providers add a date or their own prefix."""
    return bool(asked) and (named.startswith(asked) or named.endswith(f"/{asked}"))
