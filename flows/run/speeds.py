"""Determine models' speed on this machine from recorded calls or, for embedded models, by a trial."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

from tasks.files import write_text

if TYPE_CHECKING:
    from tasks.models.recording.ledger import Ledger

RECENT = 200
"""Maximum number of recent calls from which a model's speed is computed."""
FEWEST = 10
"""Minimum number of calls for computing a speed."""
READING = 4.0
"""Ratio of an embedded model's prompt-processing rate to its generation rate (docs/models.md)."""
RECENT_CALLS = (
    "SELECT at, latency_s, prompt_tokens, completion_tokens FROM calls "
    "WHERE model = ? AND batch = 0 AND latency_s > 0 AND finish_reason != 'unanswered' "
    "ORDER BY at DESC LIMIT ?"
)


@dataclass(frozen=True)
class TimedCall:
    """One call from the ledger: the time when its answer was recorded, and its latency in seconds."""

    at: float
    latency_s: float
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True)
class Speed:
    """The speed of a model.

    `call_s`: mean seconds per call; the time of concurrent calls is counted only once. `prompt_per_s`: prompt
    tokens processed per second. `output_per_s`: tokens generated per second. Both rates apply to calls that
    run one at a time; both are None for a remote model, which answers many calls at once.
    """

    call_s: float
    prompt_per_s: float | None = None
    output_per_s: float | None = None

    def describe(self) -> str:
        """Format the measured rates; empty if only the time per call is known."""
        if self.prompt_per_s is None or self.output_per_s is None:
            return ""
        return f"{self.prompt_per_s:.0f} prompt tokens/s, {self.output_per_s:.0f} output tokens/s"


def measure_calls(calls: Sequence[TimedCall], *, embedded: bool) -> Speed | None:
    """Compute a model's speed from its last calls; None if there are too few calls.

    The time of a call does not include the time in which earlier calls were still in flight. Concurrent calls
    are thus not counted twice, and idle time between calls does not count.
    """
    if len(calls) < FEWEST:
        return None
    busy, ended = [], 0.0
    for call in sorted(calls, key=lambda call: call.at):
        busy.append(max(0.0, call.at - max(ended, call.at - call.latency_s)))
        ended = call.at
    ordered = sorted(calls, key=lambda call: call.at)
    call_s = sum(busy) / len(busy)
    if not embedded or not call_s:
        return Speed(call_s)
    prompts, outputs = ([float(getattr(call, name)) for call in ordered]
                        for name in ("prompt_tokens", "completion_tokens"))  # fmt: skip
    return Speed(call_s, *fit_rates(prompts, outputs, busy))


def fit_rates(
    prompts: Sequence[float], outputs: Sequence[float], seconds: Sequence[float]
) -> tuple[float, float]:
    """Fit the prompt rate p and the output rate o by least squares: seconds = prompt / p + output / o.

    If the calls are too similar to separate the two rates, or if o would exceed p, p is assumed to be READING
    times o.
    """
    pp, oo = sum(x * x for x in prompts), sum(y * y for y in outputs)
    po = sum(x * y for x, y in zip(prompts, outputs, strict=True))
    ps = sum(x * s for x, s in zip(prompts, seconds, strict=True))
    os = sum(y * s for y, s in zip(outputs, seconds, strict=True))
    determinant = pp * oo - po * po
    if determinant > 1e-3 * pp * oo:
        per_prompt, per_output = (ps * oo - os * po) / determinant, (os * pp - ps * po) / determinant
        # Reading a token is faster than generating one, so any other fit is noise.
        if per_prompt > 0 and per_output > per_prompt:
            return 1 / per_prompt, 1 / per_output
    mixed = sum(prompts) / READING + sum(outputs)
    rate = mixed / sum(seconds)
    return rate * READING, rate


def read_calls(ledger: Ledger, model: str) -> list[TimedCall]:
    """Read a model's last calls from the live ledger."""
    return [TimedCall(*row) for row in ledger.read(RECENT_CALLS, (model, RECENT))]


Measure = Callable[[str], "Speed | None"]
"""A function that takes an embedded model's name and returns the model's measured speed.

The result is None if the speed cannot be measured.
"""


class Speeds:
    """Looks up the speeds of models, each model only once."""

    def __init__(
        self, ledger: Ledger, identities: Mapping[str, str], measure: Measure = lambda model: None
    ) -> None:
        """Set up the lookup.

        `identities`: embedded model -> the model's checksum. `measure`: runs a trial of a model with too few
        calls; by default, no trial is run.
        """
        self._ledger, self._identities, self._measure = ledger, identities, measure
        self._found: dict[str, Speed | None] = {}

    def find(self, model: str) -> Speed | None:
        """Return a model's speed; None if it is unknown.

        The speed is computed from the model's last calls. For an embedded model with too few calls, the speed
        is the result of an earlier trial on this machine, or of a new trial.
        """
        if model not in self._found:
            self._found[model] = self._look_up(model)
        return self._found[model]

    def describe(self) -> list[str]:
        """Return one line with the speed of each embedded model that was looked up and is known."""
        known = {model: speed.describe() for model, speed in self._found.items() if speed is not None}
        return [f"measured: {said} ({model})" for model, said in sorted(known.items()) if said]

    def _look_up(self, model: str) -> Speed | None:
        embedded = model in self._identities
        speed = measure_calls(read_calls(self._ledger, model), embedded=embedded)
        if speed is not None or not embedded:
            return speed
        place = name_place(self._identities[model])
        kept = load_speed(place)
        if kept is None and (kept := self._measure(model)) is not None:
            write_text(place, json.dumps(asdict(kept)))
        return kept


def name_place(identity: str) -> Path:
    """Return the path of a model's speed file; the file's name contains the machine's name."""
    folder = Path(platformdirs.user_cache_dir("benchloom", appauthor=False)) / "speeds"
    return folder / f"{platform.node() or 'machine'}-{identity[:16]}.json"


def load_speed(place: Path) -> Speed | None:
    """Read a stored speed; None if it is missing or cannot be read."""
    try:
        return Speed(**json.loads(place.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
