"""Tests of an evaluation's figures on hand-written rows; test_scripted_evaluation.py computes every cell."""

import json
import random
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import binomtest

from tasks.artifacts.rows import Counts, Origin
from tasks.judging.canaries import CanaryRow
from tasks.longform.build.items import LongformItem
from tasks.longform.entries import AgentEvaluation
from tasks.longform.judge.error_types import ErrorLabel
from tasks.longform.judge.human_labels import PersonLabel
from tasks.longform.judge.judge_repeats import JudgeRepeat
from tasks.longform.judge.peers import Review
from tasks.longform.judge.reference_verdicts import ReferenceVerdict
from tasks.longform.labels import ERRORS, MATCHES, STEPS, Verdict
from tasks.longform.publish.evaluation_figures import evaluation_figures
from tasks.longform.solve.interaction import Interaction
from tasks.reports.tables import mean_cell, rate_cell, round_figures
from tasks.scoring.statistics import LEAST
from tests.longform.scripted_judges import make_interaction, make_item, make_query, make_review

KIND = {
    "i1": "conclusive",
    "i2": "conclusive",
    "i3": "interpretive",
    "i4": "interpretive",
    "i5": "conclusive",
}
MODELS, AGENTS = ("agent", "other"), ("none", "sequential", "iterative", "guess")
ENTRY = AgentEvaluation(set="tiny", models=MODELS, agents=AGENTS, judge="judge", reviewer="reviewer")
BAD = make_query([], error="SqlError: no such table")
EMPTY = make_query([])
STATISTICS = {
    "items": 5,
    "by_kind": {
        "conclusive": {"items": 3, "answer_words": 8.5},
        "interpretive": {"items": 2, "answer_words": 21.0},
    },
    "answer_words": 13.5,
    "databases": {"tables": 2.0, "all_tables": 8, "columns_per_table": 3.5, "rows_per_table": 9.0},
}
SETTINGS = {
    "judging.thresholds.canary_agreement": 0.9,
    "judging.thresholds.unscored_share": 1.0,
    **{
        f"roles.{role}.model": f"model of {role}"
        for role in ("generator", "agent", "other", "judge", "reviewer")
    },
}


@dataclass
class Rows:
    """The artifacts that the stage reads."""

    items: list[LongformItem]
    interactions: list[Interaction]
    verdicts: list[ReferenceVerdict]
    reviews: list[Review]
    metas: list[Review]
    revisions: list[Review]
    errors: list[ErrorLabel]
    canaries: list[CanaryRow]
    labels: list[PersonLabel] = field(default_factory=list)
    repeats: list[JudgeRepeat] = field(default_factory=list)

    def run(self, folder: Path, entry: AgentEvaluation = ENTRY, **settings: object) -> tuple[Any, Counts]:
        statistics, out = folder / "statistics.json", folder / "evaluation_figures.json"
        statistics.write_text(json.dumps(STATISTICS))
        counts = evaluation_figures(
            items=self.items, interactions=self.interactions, reference_verdicts=self.verdicts,
            reviews=self.reviews, meta_reviews=self.metas, revisions=self.revisions, error_types=self.errors,
            human_labels=self.labels, human_labels_dropped=[],
            peer_canaries=self.canaries, judge_repeats=self.repeats,
            statistics=statistics, entry=entry, key="tiny",
            interactions_calls=folder / "interactions.calls.parquet", out=out,
            settings={**SETTINGS, **settings},
        )  # fmt: skip
        return json.loads(out.read_text()), counts


def make_rows() -> Rows:
    """Make rows of two models and four agents on five items, including failures."""
    chance = random.Random(7)
    items = [make_item(int(name[1]), kind=kind) for name, kind in KIND.items()]
    rows = Rows(items, [], [], [], [], [], [], make_canaries())
    for model in MODELS:
        for agent in AGENTS:
            for name in KIND:
                add_interaction(rows, chance, model, agent, name)
    return rows


def add_interaction(rows: Rows, chance: random.Random, model: str, agent: str, name: str) -> None:
    works = agent in ("sequential", "iterative")
    made = make_interaction(
        int(name[1]),
        agent,
        id=f"{model}-{agent}-{name}",
        model=model,
        plan=" ".join(["word"] * chance.randint(1, 9)) if works else "",
        queries=tuple(chance.choices([make_query(), BAD, EMPTY], k=chance.randint(0, 4))) if works else (),
        answer=" ".join(["said"] * chance.randint(1, 30)),
    )
    if agent == "none" and (model, name) in (("other", "i5"), ("agent", "i4")):
        made = replace(made, answer=None, problem="records do not fit: 9000 of 3000 tokens")
    if (model, agent, name) == ("agent", "none", "i2"):
        made = replace(made, answer=None, problem="agent_alone: no answer")
    if (model, agent, name) == ("agent", "sequential", "i1"):
        made = replace(made, plan="", queries=(), answer=None, problem="agent_plan: x; agent_queries: y")
    rows.interactions.append(made)
    label = chance.choice(MATCHES) if KIND[name] == "conclusive" else None
    score = chance.randint(1, 5) if KIND[name] == "interpretive" else None
    if made.answer is None or (model, agent, name) == ("other", "iterative", "i3"):
        label = score = None
    rows.verdicts.append(
        ReferenceVerdict(f"v-{made.id}", made.id, name, KIND[name], label, score, "", "", ())
    )
    if not works:
        return
    choices = [None] if made.answer is None else ["Perfect", "Perfect", "Imperfect", None]
    peers = 3 if name in ("i1", "i2", "i3") else 1
    for step in STEPS:
        where: dict[str, Any] = {"interaction": made.id, "item": name}
        rows.reviews += [make_review(chance.choice(choices), n, step, **where) for n in range(peers)]
        rows.metas += [make_review(chance.choice(choices), n, step, **where) for n in range(peers)]
        revised = chance.choice(choices)
        rows.revisions.append(make_review(revised, 0, step, **where))
        if revised == "Imperfect":
            label = chance.choice([*ERRORS[step], None])
            rows.errors.append(ErrorLabel(f"e-{made.id}-{step}", made.id, name, step, label, "", ()))


def make_canaries(wrong: int = 0, kind: str = "conclusive") -> list[CanaryRow]:
    good = ("conclusive", "interpretive", "IP", "TE", "IS")
    rows = [
        CanaryRow(f"c-{k}-{n}", k, "Match", "Match", "", True, "", "", False, ())
        for k in good
        for n in (0, 1)
    ]
    return [
        replace(row, agreed=False, given="Not Match") if row.kind == kind and int(row.id[-1]) < wrong else row
        for row in rows
    ]


@pytest.fixture(scope="module")
def rows() -> Rows:
    return make_rows()


@pytest.fixture(scope="module")
def written(rows: Rows, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return rows.run(tmp_path_factory.mktemp("figures"))


@pytest.fixture(scope="module")
def figures(written: Any) -> Any:
    return written[0]


def find(table: Any, *label: str) -> dict[str, Any]:
    (line,) = [line for line in table["lines"] if line["label"] == list(label)]
    assert len(line["label"]) == len(table["heads"])
    return dict(zip(table["columns"], line["cells"], strict=True))


def check_mean(cell: Any, values: list[Any]) -> None:
    given = [value for value in values if value is not None]
    assert (cell["n"], cell["failed"]) == (len(given), len(values) - len(given))
    if given:
        assert cell["value"] == pytest.approx(fmean(given), rel=1e-9)
        assert cell["interval"] is None or not cell["why"]
    else:
        assert cell["value"] is None
        assert cell["why"]
        assert cell["interval"] is None


def check_rate(cell: Any, values: list[Any]) -> None:
    check_mean(cell, values)
    given = [value for value in values if value is not None]
    assert cell["interval"] is None or len(given) >= LEAST
    if len(given) >= LEAST:
        wilson = binomtest(int(sum(given)), len(given)).proportion_ci(method="wilson")
        assert cell["interval"] == pytest.approx([wilson.low, wilson.high], abs=1e-9)


def test_table_1_is_of_the_statistics(figures: Any) -> None:
    values = [line["cells"][0]["value"] for line in figures["tables"]["1"]["lines"]]
    assert values == [5, 3, 2, 13.5, 8.5, 21.0, 2.0, 3.5, 9.0]
    counted = [
        (line["cells"][0]["n"], line["cells"][0]["of"]) for line in figures["tables"]["1"]["lines"][-3:]
    ]
    assert counted == [(5, "databases"), (8, "tables"), (8, "tables")]


def test_lost_plan_is_no_plan_of_no_words(rows: Rows, figures: Any) -> None:
    cell = find(figures["tables"]["2"], "agent", "sequential")["plan, words (C)"]
    assert (cell["n"], cell["failed"]) == (2, 1)


def test_tokens_are_of_all_attempts_and_shared_calls(rows: Rows, tmp_path: Path) -> None:
    guess = [row for row in rows.interactions if row.agent == "guess" and row.model == "agent"]
    first, second = guess[0], guess[1]
    calls = [
        {"id": "a", "row": first.id, "prompt_tokens": 100, "completion_tokens": 10},
        {"id": "b", "row": first.id, "prompt_tokens": 100, "completion_tokens": 7},
    ]
    pq.write_table(pa.Table.from_pylist(calls), tmp_path / "interactions.calls.parquet")
    shared = replace(second, origin=(Origin("call", "b"), Origin("row", "items#i2")))
    told = replace(rows, interactions=[shared if row is second else row for row in rows.interactions])
    cells = find(told.run(tmp_path)[0]["tables"]["2"], "agent", "guess")
    assert (first.item, second.item) == ("i1", "i2")
    check_mean(cells["tokens (C)"], [217, 107, None])
    check_mean(cells["tokens (I)"], [None, None])


def test_table_3_is_of_items_that_fit_for_every_model(figures: Any) -> None:
    table = figures["tables"]["3"]
    for model in MODELS:
        for agent in ("none", "sequential"):
            cells = find(table, model, agent)
            counted = [cell["n"] + cell["failed"] for cell in cells.values()]
            assert counted == [2, 1], "i1 and i2 are conclusive, i3 is interpretive"
    assert "3 of 5 items" in table["notes"][0]
    assert figures["counts"]["items_left_out"] == 2


@pytest.mark.parametrize("missing", ["none", "sequential"])
def test_table_3_says_which_agent_was_not_run(rows: Rows, tmp_path: Path, missing: str) -> None:
    agents = tuple(agent for agent in AGENTS if agent != missing)
    less = replace(rows, interactions=[row for row in rows.interactions if row.agent != missing])
    less.verdicts = [v for v in rows.verdicts if f"-{missing}-" not in v.interaction]
    less.errors = [label for label in rows.errors if f"-{missing}-" not in label.interaction]
    found = less.run(tmp_path, ENTRY.model_copy(update={"agents": agents}))[0]
    for cell in find(found["tables"]["3"], "agent", missing).values():
        assert cell["value"] is None
        assert cell["why"] == f"the agent `{missing}` did not run"
    other = find(found["tables"]["3"], "agent", "sequential" if missing == "none" else "none")
    assert (other["match rate (C)"]["value"] is None) == (missing == "none")
    assert (found["figures"]["4"] == []) == (missing == "sequential")


def test_one_reviewer_has_nobody_to_agree_with(rows: Rows, tmp_path: Path) -> None:
    alone = replace(rows, reviews=[r for r in rows.reviews if r.reviewer == 0])
    cells = find(alone.run(tmp_path)[0]["tables"]["5"], "agent", "iterative", "TE")
    assert cells["reviewers, agreement"]["value"] is None
    assert cells["reviewers, agreement"]["why"] == "only one reviewer"
    assert cells["meta-reviewers, agreement"]["n"] + cells["meta-reviewers, agreement"]["failed"] == 3


def test_figure_3_says_why_there_is_no_correlation(rows: Rows, tmp_path: Path) -> None:
    same = [replace(v, label=v.label and Verdict.MATCH) for v in rows.verdicts]
    few = [v if v.kind == "conclusive" else replace(v, score=None) for v in same]
    found = replace(rows, verdicts=few).run(tmp_path)[0]["figures"]["3"]
    assert found["conclusive"]["pearson"] is None
    assert found["conclusive"]["why"] == "all interactions have the same quality"
    assert found["interpretive"]["spearman"] is None
    assert found["interpretive"]["why"].startswith("0 points")
    still = [replace(row, queries=()) for row in rows.interactions]
    found = replace(rows, interactions=still).run(tmp_path)[0]["figures"]["3"]
    assert found["conclusive"]["why"] == "all interactions have the same number of valid queries"


def test_counts_add_up(rows: Rows, written: Any) -> None:
    found, counted = written
    counts = found["counts"]
    queries = [query for row in rows.interactions for query in row.queries]
    assert counts == {
        "interactions": 40,
        "answered": 36,
        "failed": 4,
        "scored": 35,
        "unscored": 1,
        "queries": len(queries),
        "valid_queries": sum(query not in (BAD, EMPTY) for query in queries),
        "items_left_out": 2,
    }
    assert counted == Counts(40, 35, {"failed": 4, "unscored": 1})
    assert found["tables"]["4"]["lines"] == []
    assert found["tables"]["4"]["notes"]


def test_no_warning_without_a_reason(figures: Any) -> None:
    assert figures["warnings"] == []
    assert figures["canaries"]["judge"]["n"] == 4
    assert figures["canaries"]["reviewer"]["n"] == 6


@pytest.mark.parametrize(("kind", "who"), [("conclusive", "`judge`"), ("IP", "`reviewer`")])
def test_canaries_are_told_apart(rows: Rows, tmp_path: Path, kind: str, who: str) -> None:
    (warning,) = replace(rows, canaries=make_canaries(1, kind)).run(tmp_path)[0]["warnings"]
    assert who in warning
    assert f"c-{kind}-0" in warning


def test_a_judge_that_people_disagree_with_is_warned_of(rows: Rows, tmp_path: Path) -> None:
    judged = [verdict for verdict in rows.verdicts if verdict.label]
    turned = dict(zip(MATCHES, reversed(MATCHES), strict=True))
    told = [
        PersonLabel(f"p-{v.id}", v.interaction, v.item, "match", "ann", turned[v.label], ()) for v in judged
    ]
    labelled = ENTRY.model_copy(update={"labels": Path("data/labels/tiny.csv")})
    (warning,) = replace(rows, labels=told).run(tmp_path, labelled)[0]["warnings"]
    assert f"(`judge`): The judge agrees with people on 0.0% of {len(told)} items" in warning
    (warning,) = rows.run(tmp_path, labelled)[0]["warnings"]
    assert "does not contain a label for any answer of this run" in warning


def make_repeats(part: str, way: str, after: list[Verdict | None], before: Verdict) -> list[JudgeRepeat]:
    return [
        JudgeRepeat(f"{part}-{way}-{n}", f"x{n}", "i1", part, way, before, verdict, "", ())
        for n, verdict in enumerate(after)
    ]


def test_judges_that_change_their_verdicts_are_warned_of(rows: Rows, tmp_path: Path) -> None:
    match, missed = MATCHES
    repeats = [
        *make_repeats("match", "again", [match, match, None], match),
        *make_repeats("match", "swapped", [match, missed], match),
        *make_repeats("TE", "swapped", [Verdict.IMPERFECT, None], Verdict.PERFECT),
    ]
    found = replace(rows, repeats=repeats).run(tmp_path)[0]
    judge, reviewer = found["warnings"]
    assert judge.startswith("Answer judge (`judge`): The judge changes too many verdicts")
    assert (
        "conclusive answers with the order swapped, 1 of 2 interactions unchanged (50.0%)" in judge
    )  # two values have no interval
    assert "repeated: " not in judge
    assert reviewer.startswith("Step reviewer (`reviewer`): The judge changes too many verdicts")
    assert "TE (queries) with the order swapped, 0 of 1 interactions unchanged" in reviewer
    table = found["tables"]["repeats"]
    check_rate(find(table, "match", "conclusive")["request repeated, unchanged"], [True, True, None])
    assert find(table, "IP", "all")["order swapped, unchanged"]["why"] == "no interactions"
    mild = replace(rows, repeats=repeats).run(tmp_path, **{"judging.thresholds.judge_repeats": 0.5})[0]
    assert [warning.split(" (")[0] for warning in mild["warnings"]] == ["Step reviewer"]


def test_without_repeats_the_table_says_so(figures: Any) -> None:
    table = figures["tables"]["repeats"]
    assert (table["columns"], table["lines"]) == ([], [])
    assert "longform.judge_repeats.items" in table["notes"][0]


def test_shares_of_failures_are_warned_of(rows: Rows, tmp_path: Path) -> None:
    warnings = rows.run(tmp_path, **{"judging.thresholds.unscored_share": 0.0})[0]["warnings"]
    assert len(warnings) == 3
    assert "1 of 36 rows" in warnings[0]
    assert "`reviewer`" in warnings[1]
    assert warnings[2].startswith("4 of 40 interactions have no answer (10.0%)")


def test_one_model_for_all_is_warned_of(rows: Rows, tmp_path: Path) -> None:
    same = {f"roles.{role}.model": "small" for role in ("generator", "other", "judge")}
    (warning,) = rows.run(tmp_path, **same)[0]["warnings"]
    assert warning.startswith(
        "One model, `small`, wrote the reference answers, answered the questions and judged"
    )
    assert not rows.run(tmp_path, **{**same, "roles.judge.model": "large"})[0]["warnings"]
    # If a role's model is unknown, roles are compared.
    assert not rows.run(tmp_path, **{**same, "roles.judge.model": None})[0]["warnings"]
    own = ENTRY.model_copy(update={"models": ("generator", "other"), "judge": "generator"})
    renamed = [replace(r, model={"agent": "generator"}.get(r.model, r.model)) for r in rows.interactions]
    (warning,) = replace(rows, interactions=renamed).run(tmp_path, own, **{"roles.other.model": None})[0][
        "warnings"
    ]
    assert warning.startswith("One role, `generator`")


def test_the_file_is_the_same_whatever_the_order_of_rows(rows: Rows, tmp_path: Path) -> None:
    first = json.dumps(rows.run(tmp_path)[0])
    turned = Rows(**{name: value[::-1] for name, value in vars(rows).items()})
    assert json.dumps(turned.run(tmp_path)[0]) == first


def test_a_set_without_items_has_reasons_and_no_zeros(tmp_path: Path) -> None:
    found = Rows([], [], [], [], [], [], [], make_canaries()).run(tmp_path)[0]
    for number in ("2", "3", "5", "errors"):
        for line in found["tables"][number]["lines"]:
            for cell in line["cells"]:
                assert cell["value"] is None
                assert cell["why"]


def test_cells_leave_failures_out() -> None:
    assert rate_cell([True, None, False, True]).value == 2 / 3
    assert rate_cell([None, None]).why == "no value: 2 interactions failed"
    assert mean_cell([1, None, 4]).value == 2.5
    few, same = mean_cell([1, 5] * 2, interval=True), mean_cell([3] * 8, interval=True)
    assert (few.value, few.interval, few.why) == (3.0, None, "fewer than 6 interactions: no interval")
    assert (same.value, same.interval, same.why) == (3.0, None, "all values are equal: no interval")
    low, high = mean_cell([1, 5] * 4, interval=True).interval
    assert 1 < low < 3 < high < 5
    assert round_figures({"a": (1 / 3, 2, True, None)}) == {"a": [0.3333333333, 2, True, None]}
