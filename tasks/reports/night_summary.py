"""Summarise a nightly run as one line of text per finding, and as Markdown for a pull request."""

from __future__ import annotations

from tasks.judging.night_forecast import describe_forecast, describe_part
from tasks.judging.nights import JudgeChange, Night, NightSeries

SHOWN = 20
"""Maximum number of changed gold answers to list; `gold.tsv` contains all changes."""


def describe_series(series: NightSeries, against: str | None) -> str:
    """Return the outcome of a metric on one line. against: label of the earlier run to compare with."""
    mean = "no item scored" if series.mean is None else f"mean {series.mean:.3f}"
    head = f"{series.name}: {mean}, {series.n_scored} of {series.n} scored"
    if series.outcome == "first" or series.difference is None:
        return f"{head}; no earlier night to compare with"
    interval = "" if series.low is None else f" ({series.low:+.3f} to {series.high:+.3f})"
    told = {
        "held": "held",
        "fell": "FELL",
        "judge drift": "fell, but the verdicts of its judge drifted",
        "too few": f"{series.clusters} clusters are too few to distinguish a change from chance",
        "unscored": "too many items could not be scored",
        "first": "",
    }
    return f"{head}; {series.difference:+.3f} against {against}{interval}: {told[series.outcome]}"


def describe_night(night: Night) -> list[str]:
    """Return a run's summary as lines: item selection, metrics, changed gold answers, alarms, state."""
    lines = _describe_asked(night)
    lines += [describe_series(series, night.against) for series in night.series]
    if night.gold:
        lines.append(f"{night.gold} gold queries run again: {len(night.differences)} give a different answer")
        lines += [f"{found.entry} {found.item}: {found.what}" for found in night.differences[:SHOWN]]
    lines += [f"ALARM ({alarm.kind}): {alarm.what}" for alarm in night.alarms]
    first = "the first night, accepted" if night.against is None else f"accepted, against {night.against}"
    states = {
        "accepted": first,
        "alarm": f"alarm; `benchloom nightly accept {night.label}` accepts it as the new state",
        "unfinished": "unfinished: the next night continues it",
    }
    return [*lines, f"night {night.label}: {states[night.state]}"]


def _describe_asked(night: Night) -> list[str]:
    """Return lines about a run's selection of items; empty if no subset is configured."""
    if night.part is not None:
        return [describe_part(night.part), *map(describe_forecast, night.part.forecasts)]
    return [f"all items: {night.whole}"] if night.whole else []


def summarise_night(night: Night) -> str:
    """Return the summary of a nightly run in Markdown."""
    parts = [f"# Night {night.label}: {night.state}\n"]
    parts.append(
        f"Compared with {f'the night {night.against}' if night.against else 'nothing: the first'}.\n"
    )
    if asked := _describe_asked(night):
        parts.append("\n".join(f"- {escape(line)}" for line in asked) + "\n")
    if night.alarms:
        parts.append("\n".join(f"- **{alarm.kind}**: {escape(alarm.what)}" for alarm in night.alarms) + "\n")
    if night.series:
        head = ("What", "Mean", "Scored", "Before", "Difference", "95% interval", "p (Holm)", "Outcome")
        rows = [head, ("---",) * len(head), *map(_tabulate, night.series)]
        parts.append("\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n")
    if night.judges:
        parts.append("\n".join(f"- {_describe_judge(judge)}" for judge in night.judges) + "\n")
    if night.gold:
        parts.append(
            f"{night.gold} gold queries run again, {len(night.differences)} with a different answer.\n"
        )
        shown = [f"- `{found.item}`: {escape(found.what)}\n" for found in night.differences[:SHOWN]]
        parts += ["".join(shown)] if shown else []
    return "\n".join(parts)


def _tabulate(series: NightSeries) -> tuple[str, ...]:
    interval = "" if series.low is None else f"{series.low:+.3f} to {series.high:+.3f}"
    return (
        escape(series.name),
        _write(series.mean, ".3f"),
        f"{series.n_scored} of {series.n}",
        _write(series.before, ".3f"),
        _write(series.difference, "+.3f"),
        interval,
        _write(series.adjusted, ".4f"),
        series.outcome,
    )


def _write(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _describe_judge(judge: JudgeChange) -> str:
    name = f"{judge.section}.{judge.entry}{f' ({judge.judge})' if judge.judge else ''}"
    said = "drifted" if judge.drifted else "did not drift"
    return f"judge of {name}: right on {judge.right} of {judge.n} canaries, before {judge.before}; {said}"


def escape(text: str) -> str:
    """Escape a text for one cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
