"""How fast models answer on this machine: by the live ledger's calls, an embedded one also by a try."""

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
"""So many of a model's last calls tell how fast it is."""
FEWEST = 10
READING = 4.0
"""An embedded model reads about so many tokens while it writes one (docs/models.md)."""
RECENT_CALLS = (
    "SELECT at, latency_s, prompt_tokens, completion_tokens FROM calls "
    "WHERE model = ? AND batch = 0 AND latency_s > 0 AND finish_reason != 'unanswered' "
    "ORDER BY at DESC LIMIT ?"
)


@dataclass(frozen=True)
class TimedCall:
    """One call as the ledger has it: when its answer was recorded, and how long it took, in seconds."""

    at: float
    latency_s: float
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True)
class Speed:
    """How fast a model is. call_s: seconds of waiting for a call, with others under way at the same time.

    prompt_per_s, output_per_s: tokens that it reads and writes, asked one call at a time; None of a model
    elsewhere, which answers many at once.
    """

    call_s: float
    prompt_per_s: float | None = None
    output_per_s: float | None = None

    def describe(self) -> str:
        """Write what was measured; empty where it is only known per call."""
        if self.prompt_per_s is None or self.output_per_s is None:
            return ""
        return f"{self.prompt_per_s:.0f} prompt tokens/s, {self.output_per_s:.0f} output tokens/s"


def measure_calls(calls: Sequence[TimedCall], *, embedded: bool) -> Speed | None:
    """Measure a model's speed by its last calls; None where there are too few.

    The time of a call is that in which no other one was being waited for: what is idle in between does not
    count, nor does what is answered at the same time count twice.
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
    """Fit tokens read and written in a second by least squares: seconds = prompt / p + output / o.

    Where the calls are too much alike to tell reading from writing, a model reads READING times as fast.
    """
    pp, oo = sum(x * x for x in prompts), sum(y * y for y in outputs)
    po = sum(x * y for x, y in zip(prompts, outputs, strict=True))
    ps = sum(x * s for x, s in zip(prompts, seconds, strict=True))
    os = sum(y * s for y, s in zip(outputs, seconds, strict=True))
    determinant = pp * oo - po * po
    if determinant > 1e-3 * pp * oo:
        per_prompt, per_output = (ps * oo - os * po) / determinant, (os * pp - ps * po) / determinant
        if per_prompt > 0 and per_output > per_prompt:
            return 1 / per_prompt, 1 / per_output
    mixed = sum(prompts) / READING + sum(outputs)
    rate = mixed / sum(seconds)
    return rate * READING, rate


def read_calls(ledger: Ledger, model: str) -> list[TimedCall]:
    """Read a model's last calls from the live ledger."""
    return [TimedCall(*row) for row in ledger.read(RECENT_CALLS, (model, RECENT))]


Measure = Callable[[str], "Speed | None"]
"""The name of an embedded model -> its speed by a try, where it can be tried."""


class Speeds:
    """The speeds of models, each looked up once."""

    def __init__(
        self, ledger: Ledger, identities: Mapping[str, str], measure: Measure = lambda model: None
    ) -> None:
        """identities: of the embedded models."""
        self._ledger, self._identities, self._measure = ledger, identities, measure
        self._found: dict[str, Speed | None] = {}

    def find(self, model: str) -> Speed | None:
        """Find a model's speed: by its last calls, of an embedded one else by a try."""
        if model not in self._found:
            self._found[model] = self._look_up(model)
        return self._found[model]

    def describe(self) -> list[str]:
        """Write a line for each embedded model whose speed was looked up and is known."""
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
    """Name the file that keeps a model's speed on this machine; a home may be shared by several."""
    folder = Path(platformdirs.user_cache_dir("benchloom", appauthor=False)) / "speeds"
    return folder / f"{platform.node() or 'machine'}-{identity[:16]}.json"


def load_speed(place: Path) -> Speed | None:
    """Read a speed that was kept; None where there is none that can be read."""
    try:
        return Speed(**json.loads(place.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
