"""What a night does in its worktree: data, gold, stages, comparison, record, push, and the alarm."""

from __future__ import annotations

import json
import os
import signal
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from flows.night_settings import BRANCH, EvaluatedEntry, Nightly, Webhook, find_evaluation
from flows.nights.basis import derive_gold
from flows.nights.gold import GoldProof, prove_gold, write_digests
from flows.nights.history import find_against, read_history, write_night
from flows.nights.outcome import compare_night
from flows.nights.preparation import bring_ground, push_artifacts
from flows.nights.selection import check_ground, select_contracts, select_nights
from flows.run.failures import describe_error
from flows.run.runner import Run
from tasks.errors import Alarm, BadInput, BenchloomError, BudgetSpent, ContractBroken
from tasks.judging.nights import AlarmKind, Night, NightAlarm
from tasks.reports.night_summary import describe_night

BringUp = Callable[[Run, Sequence[str]], int]
"""Brings stages up to date, and gives the exit code that it came to."""
TIMEOUT_S = 20.0


@dataclass(frozen=True)
class NightWork:
    """A night in its worktree. home: the user's project; run: of the worktree."""

    home: Path
    label: str
    nightly: Nightly
    run: Run

    def carry_out(self, bring_up: BringUp) -> tuple[Night | None, int]:
        """Carry the night out; return it, if there is anything to tell, and the exit code.

        Raises BadInput if what it stands on is not up to date.
        """
        evaluations = [find_evaluation(self.run.params, name) for name in self.nightly.assessments]
        nodes = self.run.recorder.nodes
        chosen = select_nights(nodes, evaluations)
        names = [*select_contracts(nodes, chosen), *chosen]
        bring_ground(self.home, self.run.recorder, names, self.run.say)
        against = find_against(read_history(self.home), self.label)
        proof = self._prove_gold(evaluations, names, against)
        try:
            check_ground(self.run.recorder, names)
        except BadInput as stale:
            if not proof.differences:
                raise
            self.run.say(str(stale))  # its database is not what it was, which the alarm says by item
            return self._leave(Night(self.label, against, "unfinished", tuple(proof.list_alarms())), proof)
        if code := bring_up(self.run, names):
            return self._tell_unfinished(code, against, proof)
        night, comparison, bases = compare_night(
            self.home, self.run.root, evaluations, self.label, against, self.nightly.alarm
        )
        alarms = (*night.alarms, *proof.list_alarms())
        night = replace(night, alarms=alarms, state="alarm" if alarms else "accepted")
        night = replace(night, gold=proof.n, differences=proof.differences)
        bases |= derive_gold(night, proof.rows)
        write_night(self.home, night, comparison, bases)
        write_digests(self.home, self.label, proof)
        whole = push_artifacts(self.run.recorder, names, self.run.say)
        told = self._tell(night)
        return night, Alarm.exit_code if night.alarms else int(not (whole and told))

    def _prove_gold(
        self, evaluations: Sequence[EvaluatedEntry], names: Sequence[str], against: str | None
    ) -> GoldProof:
        try:
            return prove_gold(self.home, self.run.root, self.run.params, evaluations, against)
        except BadInput:
            check_ground(self.run.recorder, names)  # says which stage to run, where an artifact is missing
            raise

    def _leave(self, night: Night, proof: GoldProof) -> tuple[Night, int]:
        """Record a night that is not over, with what its gold queries gave, and tell of it."""
        night = replace(night, gold=proof.n, differences=proof.differences)
        write_night(self.home, night, bases=derive_gold(night, proof.rows))
        self._tell(night)
        return night, Alarm.exit_code

    def _tell_unfinished(self, code: int, against: str | None, proof: GoldProof) -> tuple[Night | None, int]:
        """Record a night that the budget ended, or a broken contract; nothing of any other failure."""
        alarms = [
            NightAlarm(kind, f"{stage}: {describe_error(error)}")
            for stage, error in sorted(self.run.errors.items())
            if (kind := classify_error(error)) is not None
        ]
        if not alarms or self.run.stopping.is_set():
            return None, code
        broken = any(alarm.kind == "contract" for alarm in alarms)
        night = Night(self.label, against, "unfinished", (*alarms, *proof.list_alarms()))
        night, alarmed = self._leave(night, proof)
        return night, alarmed if broken else code

    def _tell(self, night: Night) -> bool:
        """Tell the webhook; a night is not lost where that fails, which is said."""
        try:
            if line := send_alarm(self.home, self.nightly.webhook, night):
                self.run.say(line)
        except BenchloomError as error:
            self.run.say(str(error))
            return False
        return True


def classify_error(error: BaseException) -> AlarmKind | None:
    """Say which alarm a stage's error is; None for one that is none."""
    if isinstance(error, BudgetSpent):
        return "budget"
    return "contract" if isinstance(error, ContractBroken) else None


def stop_with_parent(run: Run) -> None:
    """Stop the run, as Ctrl-C does, once the process that began it is gone and a pipe is closed by that."""

    def watch() -> None:
        while os.read(0, 1024):
            pass
        if not run.stopping.is_set():
            os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def send_alarm(home: Path, webhook: Webhook, night: Night) -> str:
    """Tell the webhook of a night's alarms; return a line that says so, empty where there is nothing to tell.

    Raises BenchloomError where it cannot be told; the address, which may hold a secret, is in no line.
    """
    if webhook.url_env is None or not night.alarms:
        return ""
    url = os.environ.get(webhook.url_env, "")
    if not url.startswith(("http://", "https://")):
        what = "holds no http address" if url else "is not set"
        raise BenchloomError(f"the webhook was not told: {webhook.url_env} {what} in the environment")
    body = {
        "project": home.name,
        "night": night.label,
        "state": night.state,
        "against": night.against,
        "branch": f"{BRANCH}{night.label}",
        "alarms": [asdict(alarm) for alarm in night.alarms],
        "text": "\n".join(describe_night(night)),
    }
    request = urllib.request.Request(  # noqa: S310 - http or https, above
        url, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as reply:  # noqa: S310 - as above
            return f"the webhook of {webhook.url_env} was told ({reply.status})"
    except (urllib.error.URLError, OSError) as error:
        reason = getattr(error, "code", None) or type(getattr(error, "reason", error)).__name__
        raise BenchloomError(
            f"the webhook was not told: what {webhook.url_env} names does not take it ({reason})"
        ) from error
