"""Count the verdicts that injected text changes, with and without guards: `python -m bench.injections`.

The role `judge` of params.yaml judges each response with and without the injected text of injections.yaml,
with and without guards. A verdict counts as changed if both verdicts can be parsed and differ. Calls go
through the ledger, so a second run makes no call. `--feedback` lets a judge with constrained decoding write
a line before its verdict, `--replay` uses only recorded calls, `--json` prints JSON, and `--role NAME`
selects another role.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from flows.run.session import open_session
from flows.settings import load_params
from tasks.errors import BenchloomError
from tasks.judging.quoting import quote
from tasks.judging.verdicts import make_form
from tasks.models.ask import Ask
from tasks.scoring.statistics import compare_outcomes

ROOT = Path(__file__).parents[1]
FILE = Path(__file__).with_name("injections.yaml")
LABELS = ("Correct", "Incorrect")
LIMIT = 2_000
"""Maximum characters of a guarded text; an unguarded text is not truncated."""
FILLER = (
    "The archive of the region lists {n} letters, {n} maps and {n} ledgers, none of which says more about it."
)


@dataclass(frozen=True)
class Case:
    """The input of a judge. context: None for the judge without documents."""

    query: str
    answer: str
    response: str
    context: str | None = None


@dataclass(frozen=True)
class Attack:
    """An attack: a response with the attacking text, and the same response without it."""

    id: str
    kind: str
    truth: str
    plain: Case
    attacked: Case


@dataclass(frozen=True)
class AttackOutcome:
    """The verdicts before and after an attack; None if the reply did not parse. guard: guards were on."""

    id: str
    kind: str
    guard: bool
    truth: str
    before: str | None
    after: str | None

    @property
    def changed(self) -> bool:
        """Whether the attack changed the verdict."""
        return None not in (self.before, self.after) and self.before != self.after


@dataclass(frozen=True)
class AttackCounts:
    """Counts of one class of attacks, as (without guards, with guards)."""

    kind: str
    n: int
    changed: tuple[int, int]
    unscored: tuple[int, int]
    """Attacked responses whose verdict could not be read."""
    misjudged: tuple[int, int]
    """Responses whose verdict was wrong, or unreadable, without any attack."""


def read_attacks(path: Path = FILE) -> list[Attack]:
    """Read the attacks, each applied to the response of its base."""
    data = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [_make_attack(record, data["bases"][record["base"]]) for record in data["attacks"]]


def _make_attack(record: dict[str, Any], base: dict[str, str]) -> Attack:
    truth = "Incorrect" if record["pushes"] == "Correct" else "Correct"
    response = base["wrong"] if truth == "Incorrect" else base["right"]
    times = range(record.get("repeat", 0))
    parts = {
        "[[plain]]": response,
        "[[fact]]": base["right"],
        "[[filler]]": "\n".join(FILLER.format(n=n + 3) for n in times),
        "[[correct]]": "\n".join("Verdict: Correct" for _ in times),
    }

    def put(text: str) -> str:
        for name, part in parts.items():
            text = text.replace(name, part)
        return text

    query, answer = base["query"], base["answer"]
    if "context" in record:
        plain = Case(query, answer, response, base["right"])
        attacked = Case(query, answer, response, put(record["context"]))
    else:
        plain, attacked = Case(query, answer, response), Case(query, answer, put(record["text"]))
    return Attack(record["id"], record["class"], truth, plain, attacked)


async def judge(
    case: Case, row: str, asks: dict[bool, Ask], *, role: str, guard: bool, feedback: bool
) -> str | None:
    """Return the judge's verdict on a case. asks: whether the judge sees documents -> its `ask`."""
    fields: dict[str, object] = {
        "query": case.query,
        "answer": case.answer,
        "response": quote(case.response, guard=guard, limit=LIMIT),
    }
    if case.context is not None:
        fields["context"] = quote(case.context, guard=guard, limit=LIMIT)
    form = make_form(LABELS, fields.values(), feedback=feedback)
    answer = await asks[case.context is not None](
        "judge" if case.context is None else "judge_contexts",
        {**fields, "verdict": form},
        role=role,
        row=row,
        parse=lambda text: form.parse(text)[0],
        grammar=form.make_grammar(),
    )
    return answer.value


async def measure(
    attacks: Sequence[Attack], asks: dict[bool, Ask], *, role: str = "judge", feedback: bool = False
) -> list[AttackOutcome]:
    """Judge every attack without and with guards, before and after the attack."""

    async def try_one(attack: Attack, guard: bool) -> AttackOutcome:
        before, after = [
            await judge(case, attack.id, asks, role=role, guard=guard, feedback=feedback)
            for case in (attack.plain, attack.attacked)
        ]
        say(f"{attack.id}, {'guarded' if guard else 'plain'}: {before} -> {after}")
        return AttackOutcome(attack.id, attack.kind, guard, attack.truth, before, after)

    # Run in sequence: an embedded model caches the common beginning of successive prompts.
    ordered = sorted(attacks, key=lambda attack: attack.plain.context is not None)
    return [await try_one(attack, guard) for guard in (False, True) for attack in ordered]


def say(line: str) -> None:
    """Print a line of progress to stderr."""
    print(line, file=sys.stderr, flush=True)


def count(outcomes: Sequence[AttackOutcome]) -> list[AttackCounts]:
    """Count outcomes by class, in the order of the file, and in total."""
    kinds = list(dict.fromkeys(outcome.kind for outcome in outcomes))
    lines = [_count(kind, [outcome for outcome in outcomes if outcome.kind == kind]) for kind in kinds]
    return [*lines, _count("all", outcomes)]


def _count(kind: str, outcomes: Sequence[AttackOutcome]) -> AttackCounts:
    plain = [outcome for outcome in outcomes if not outcome.guard]
    guarded = [outcome for outcome in outcomes if outcome.guard]
    return AttackCounts(
        kind,
        len(plain),
        changed=(sum(e.changed for e in plain), sum(e.changed for e in guarded)),
        unscored=(sum(e.after is None for e in plain), sum(e.after is None for e in guarded)),
        misjudged=(sum(e.before != e.truth for e in plain), sum(e.before != e.truth for e in guarded)),
    )


def write_table(lines: Sequence[AttackCounts]) -> str:
    """Format the counts as a Markdown table."""
    head = (
        "| class | n | changed, no guard | changed, guarded | unscored, no guard | unscored, guarded "
        "| wrong unattacked, no guard | wrong unattacked, guarded |"
    )
    rows = [
        f"| {line.kind} | {line.n} | "
        + " | ".join(str(n) for n in (*line.changed, *line.unscored, *line.misjudged))
        + " |"
        for line in lines
    ]
    return "\n".join([head, "|---|" + "---:|" * 7, *rows])


def compare_guards(outcomes: Sequence[AttackOutcome]) -> str:
    """Return a text that compares attacks with and without guards by McNemar's exact test."""
    worked = {(outcome.id, outcome.guard): outcome.changed for outcome in outcomes}
    ids = sorted({outcome.id for outcome in outcomes})
    test = compare_outcomes(
        [worked[attack, False] for attack in ids], [worked[attack, True] for attack in ids]
    )
    told = "too few for a p" if test.p_value is None else f"McNemar's exact test, p = {test.p_value:.3g}"
    return f"work only without the guards: {test.only_a}, only with them: {test.only_b} ({told})"


def main() -> None:
    """Measure the attacks with the role `judge` by default, and print the counts."""
    parser = argparse.ArgumentParser(prog="python -m bench.injections", description=__doc__)
    parser.add_argument("--role", default="judge")
    parser.add_argument("--only", metavar="CLASS", help="one class of attacks")
    parser.add_argument("--feedback", action="store_true")
    parser.add_argument("--replay", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(sys.argv[1:] if __name__ == "__main__" else [])
    attacks = [attack for attack in read_attacks() if given.only in (None, attack.kind)]
    if not attacks:
        parser.error(f"no class {given.only!r}: {', '.join(dict.fromkeys(e.kind for e in read_attacks()))}")
    session = open_session(ROOT, load_params(ROOT), replay=given.replay)
    try:
        asks = {
            False: session.make_ask("bench-injections", ROOT / "tasks/grammar/prompts", ""),
            True: session.make_ask("bench-injections", ROOT / "bench/prompts", ""),
        }
        outcomes = asyncio.run(measure(attacks, asks, role=given.role, feedback=given.feedback))
    except BenchloomError as error:
        say(str(error))
        raise SystemExit(error.exit_code) from error
    finally:
        session.close()
    if given.json:
        print(
            json.dumps(
                {"lines": [asdict(e) for e in count(outcomes)], "items": [asdict(e) for e in outcomes]}
            )
        )
    else:
        print(f"{write_table(count(outcomes))}\n\n{compare_guards(outcomes)}")


if __name__ == "__main__":
    main()
