"""Check ragcheck's estimates for `bench.intervals`: means, correlations, agreement, differences, leaks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from bench.intervals_checks import Checks, Floats, divide, draw_clusters, draw_coefficient, draw_ratio
from bench.intervals_rows import Row, read_table

Values = Mapping[str, float]
COEFFICIENTS = ("pearson", "spearman")


def check_ragcheck(root: Path) -> Iterator[tuple[str, Checks]]:
    """Check every evaluation of ragcheck; yield its folder and its comparisons."""
    for path in sorted(root.glob("data/ragcheck/**/questions.parquet")):
        folder, checks = path.parent, Checks()
        for name, check in (
            ("correlations", _check_correlations),
            ("rule_comparison", _check_rules),
            ("comparison", _check_conversations),
        ):
            if (folder / f"{name}.parquet").is_file():
                check(folder, read_table(folder / f"{name}.parquet"), checks)
        yield folder.relative_to(root).as_posix(), checks


def _told(estimate: Row) -> tuple[float, float] | None:
    return None if estimate["low"] is None else (estimate["low"], estimate["high"])


def _check_correlations(folder: Path, lines: Sequence[Row], checks: Checks) -> None:
    """Check the means of measures and their agreement with people, by a bootstrap over conversations."""
    questions = {row["id"]: row for row in read_table(folder / "questions.parquet")}
    talks = {
        row["id"]: _find_talk(questions, row["question"]) for row in read_table(folder / "answers.parquet")
    }
    people = _average_people(folder)
    for line in lines:
        values = _list_values(folder, line, people, questions)
        place = " ".join(str(line[name]) for name in ("system", "dataset", "measure", "judge"))
        if line["mean"]["value"] is not None:
            names = sorted(values)
            drawn, clusters = draw_ratio(
                [values[name] for name in names], [1] * len(names), [talks[name] for name in names]
            )
            checks.check_drawn(f"{place} mean", _told(line["mean"]), drawn, clusters)
        paired = sorted(name for name in values if people.get(name))
        pairs = np.array([(people[name], values[name]) for name in paired]).reshape(-1, 2)
        for name in COEFFICIENTS:
            if line[name]["value"] is not None:
                drawn, clusters = draw_coefficient(
                    name, pairs[:, 0], pairs[:, 1], [talks[conversation] for conversation in paired]
                )
                checks.check_drawn(f"{place} {name}", _told(line[name]), drawn, clusters)
        if line["alpha"]["value"] is not None:
            own = _list_own(folder, line, questions)
            items = _list_ratings(folder, own) if line["measure"] == "E1" else pairs.tolist()
            rated = [ratings for ratings in items if len(ratings) > 1]
            checks.check_drawn(f"{place} alpha", _told(line["alpha"]), _draw_alpha(rated), len(rated))


def _find_talk(questions: Mapping[str, Row], question: str) -> str:
    """Return the conversation of a question: the part of its key before `<::>`."""
    return str(questions[question]["key"]).partition("<::>")[0] if question in questions else question


def _average_people(folder: Path) -> dict[str, float]:
    """Average people's ratings by answer, without answers about which anyone was not sure."""
    given: defaultdict[str, list[float]] = defaultdict(list)
    for row in read_table(folder / "ratings.parquet"):
        given[row["answer"]].append(row["rating"])
    return {answer: sum(values) / len(values) for answer, values in given.items() if 0 not in values}


def _list_values(folder: Path, line: Row, people: Values, questions: Mapping[str, Row]) -> dict[str, float]:
    """Return a measure's values by answer, for a system's answers to a dataset, without 0 ("not sure")."""
    if line["measure"] == "E1":
        found = dict(people)
    elif line["judge"]:
        found = {
            row["answer"]: row["score"]
            for row in read_table(folder / "scores.parquet")
            if (row["rule"], row["judge"]) == (line["measure"], line["judge"]) and row["score"]
        }
    else:
        found = {
            row["answer"]: row["value"]
            for row in read_table(folder / "baselines.parquet")
            if row["measure"] == line["measure"] and row["value"] is not None
        }
    own = _list_own(folder, line, questions)
    return {answer: value for answer, value in found.items() if answer in own}


def _list_own(folder: Path, line: Row, questions: Mapping[str, Row]) -> set[str]:
    """Return the answers to a line's dataset by the line's system."""
    return {
        row["id"]
        for row in read_table(folder / "answers.parquet")
        if row["system"] == line["system"]
        and row["question"] in questions
        and line["dataset"] in ("", questions[row["question"]]["dataset"])
    }


def _list_ratings(folder: Path, own: set[str]) -> list[list[float]]:
    given: defaultdict[str, list[float]] = defaultdict(list)
    for row in read_table(folder / "ratings.parquet"):
        if row["rating"] and row["answer"] in own:
            given[row["answer"]].append(row["rating"])
    return list(given.values())


def _draw_alpha(items: Sequence[Sequence[float]]) -> Floats:
    """Bootstrap Krippendorff's ordinal alpha over items, from their coincidences."""
    grades = sorted({rating for item in items for rating in item})
    counts = np.array([[list(item).count(grade) for grade in grades] for item in items], dtype=float)
    sizes = counts.sum(axis=1)
    pairs = counts[:, :, None] * (counts[:, None, :] - np.eye(len(grades))) / (sizes - 1)[:, None, None]
    _, weights = draw_clusters(range(len(items)))
    together, given = np.einsum("di,igh->dgh", weights, pairs), weights @ counts
    middle = np.cumsum(given, axis=1) - given / 2
    apart = (middle[:, :, None] - middle[:, None, :]) ** 2
    expected = (given[:, :, None] * given[:, None, :] * apart).sum(axis=(1, 2)) / (given.sum(axis=1) - 1)
    return 1 - divide((together * apart).sum(axis=(1, 2)), expected)


def _check_rules(folder: Path, lines: Sequence[Row], checks: Checks) -> None:
    """Check the differences between E3 and E2 on the same answers, p values and Holm's correction."""
    questions = {row["id"]: row for row in read_table(folder / "questions.parquet")}
    people = _average_people(folder)
    families: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for line in lines:
        graded: dict[str, dict[str, Row]] = {"E2": {}, "E3": {}}
        for row in read_table(folder / "scores.parquet"):
            asked = questions.get(row["question"])
            same = (row["system"], row["judge"]) == (line["system"], line["judge"])
            if asked and same and row["score"] and line["dataset"] in ("", asked["dataset"]):
                graded[row["rule"]][row["answer"]] = row
        both = sorted({*graded["E2"]} & {*graded["E3"]})
        kept = both if line["figure"] == "mean" else [answer for answer in both if answer in people]
        if line["estimate"]["value"] is None:
            continue
        before, after = ([graded[rule][answer]["score"] for answer in kept] for rule in ("E2", "E3"))
        talks = [_find_talk(questions, graded["E2"][answer]["question"]) for answer in kept]
        if line["figure"] == "mean":
            delta = np.subtract(after, before)
            drawn, clusters = draw_ratio(delta, [1] * len(kept), talks)
        else:
            sides = []
            for grades in (after, before):
                rated = [people[answer] for answer in kept]
                side, clusters = draw_coefficient(line["figure"], rated, grades, talks)
                sides.append(side)
            drawn = sides[0] - sides[1]
        place = f"rules {line['system']} {line['dataset']} {line['judge']} {line['figure']}"
        checks.check_drawn(place, _told(line["estimate"]), drawn, clusters)
        checks.check_p(place, line["p_value"], drawn, clusters)
        families[line["system"], line["dataset"]].append(line)
    for tests in families.values():
        _check_holm("rules", tests, checks)


def _check_holm(place: str, lines: Sequence[Row], checks: Checks) -> None:
    tested = [line for line in lines if line["p_value"] is not None]
    names = [f"{place} {line['id']}" for line in tested]
    checks.check_holm(names, [line["adjusted"] for line in tested], [line["p_value"] for line in tested])


def _check_conversations(folder: Path, lines: Sequence[Row], checks: Checks) -> None:
    """Check Part II: means, pairwise differences of systems, and shares of leaking texts."""
    questions = {row["id"]: row for row in read_table(folder / "questions.parquet")}
    talks = [row for row in read_table(folder / "conversations.parquet") if row["question"] in questions]
    families: defaultdict[tuple[str, str, bool], list[Row]] = defaultdict(list)
    for line in lines:
        place = " ".join(str(line[name]) for name in ("kind", "dataset", "system", "other", "measure"))
        own = [row for row in talks if line["dataset"] in ("", questions[row["question"]]["dataset"])]
        told = _told(line["estimate"])
        if line["kind"] == "sign" or line["estimate"]["value"] is None:
            continue
        if line["kind"] == "rate":
            hits, names = _list_hits(folder, line)
            drawn, clusters = draw_ratio(hits, [1] * len(hits), names)
            checks.check_drawn(place, told, drawn, clusters, line["estimate"]["value"])
            continue
        one, other = (
            {row["question"]: row[line["measure"]] for row in own if row["system"] == line[side]}
            for side in ("system", "other")
        )
        if line["kind"] == "mean":
            values = [value for value in one.values() if value is not None]
            drawn, clusters = draw_ratio(values, [1] * len(values), range(len(values)))
            checks.check_drawn(place, told, drawn, clusters)
            continue
        both = [name for name in {*one} & {*other} if None not in (one[name], other[name])]
        drawn, clusters = draw_ratio([one[name] - other[name] for name in both], [1] * len(both), both)
        checks.check_drawn(place, told, drawn, clusters)
        checks.check_p(place, line["p_value"], drawn, clusters)
        families[line["system"], line["other"], bool(line["dataset"])].append(line)
    for tests in families.values():
        _check_holm("conversations", tests, checks)


def _list_hits(folder: Path, line: Row) -> tuple[list[bool], list[str]]:
    """Return, for each text of a rate, whether it is counted, and its conversation."""
    measure = line["measure"]
    tasks = [measure.removeprefix("leak_")] if measure.startswith("leak_") else ["T5"]
    if measure == "leak":
        tasks = ["T2", "T6"]
    column = "flagged" if measure == "flagged" else "words"
    rows = [
        row
        for row in read_table(folder / "guards.parquet")
        if row["system"] == line["system"] and row["task"] in tasks
    ]
    return [bool(row[column]) for row in rows], [row["conversation"] for row in rows]
