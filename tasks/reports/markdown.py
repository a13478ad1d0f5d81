"""Write a comparison as Markdown, for a comment on a pull request or merge request.

Names, questions and answers are untrusted data from models and other people. `quote` escapes this data, so
that no Git host interprets any of it as markup, as a mention, or as the start of another cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from tasks.judging.comparison import Comparison, MetricChange, SystemComparison
from tasks.judging.priced_means import AnswerCost, PricedMean, PricedMetric
from tasks.reports.plurals import count_of

LONGEST = 120
"""Maximum number of characters of a name in a cell; a caution may be three times as long."""
CAUTIONS = 20
"""Maximum number of cautions in the report."""
ROWS = 100
"""Maximum number of table rows, since Git hosts reject comments of more than 65,536 characters."""
MARKUP = re.compile(r"[\\`*_{}\[\]()#!|~<>&@:%$^]|^[+=-]|(?<=www)\.|(?<=\d)\.(?=\s)", re.IGNORECASE)
STARTS = frozenset("@#!~%$&[:.")
"""Characters that begin a mention, a reference or a link; Git hosts detect these after rendering."""
APART = "&#8203;"
"""A zero-width space, which prevents the host from detecting a mention or link."""
BLANK = re.compile(r"[<>\s]")
UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]+")
"""Control characters and invisible characters, which could hide or reorder text."""


def quote(text: str, longest: int = LONGEST) -> str:
    """Escape a text for one line of Markdown by replacing markup characters with character references.

    A character reference never starts a link, cell or HTML tag; backslash escapes fail on some hosts. Hosts
    search the rendered text for `@name`, `#12` and URLs, so a zero-width space follows each escaped
    character in `STARTS`. Control characters become spaces. A text over `longest` characters is truncated.
    """
    line = " ".join(UNSEEN.sub(" ", text).split())
    short = line if len(line) <= longest else f"{line[: longest - 1]}…"
    return MARKUP.sub(_refer, short)


def _refer(found: re.Match[str]) -> str:
    return f"&#{ord(found[0])};{APART if found[0] in STARTS else ''}"


def write_markdown(
    comparison: Comparison,
    alone: Mapping[str, Sequence[str]] = MappingProxyType({}),
    links: Sequence[tuple[str, str]] = (),
) -> str:
    """Return the report: a verdict, the systems, the pairs, cautions and links.

    `alone`: letter of a side -> names of answer sets or entries that only this side has. `links`: pairs
    (text, URL); only https and http URLs are included.
    """
    parts = [
        "### Benchloom: " + " compared with ".join(quote(side) for side in comparison.sides),
        "\n".join(list_verdicts(comparison)),
        *(write_systems(metric) for metric in comparison.means),
        write_pairs(comparison),
        write_cautions(comparison, alone),
        write_links(links),
        f"{count_of(comparison.n_tests, 'test')}, corrected with Holm's method at {comparison.alpha:g}. "
        f"Intervals: 95%, {comparison.draws:,} bootstrap resamples of whole clusters.",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def list_verdicts(comparison: Comparison) -> list[str]:
    """Return one line per significant change, worst first.

    If no metric dropped, or no metric could be tested, the first line says so. If the comparison has several
    pairs of systems, each line names the pair.
    """
    changes = [
        (change, compared)
        for compared in comparison.strands
        for change in compared.metrics
        if change.adjusted is not None and change.adjusted < comparison.alpha
    ]
    lines = [
        f"- **{_name_change(change, compared, comparison)} "
        f"{'dropped' if change.difference < 0 else 'rose'} by "
        f"{abs(change.difference):.3f}** {_write_interval(change.low, change.high)}, "
        f"p {_show_p(change.adjusted)} after Holm"
        for change, compared in sorted(changes, key=lambda pair: pair[0].difference or 0.0)
        if change.difference and change.adjusted is not None
    ]
    if not list_drops(comparison):
        lines.insert(0, f"**No metric dropped significantly** ({count_of(comparison.n_tests, 'test')}).")
        if comparison.n_tests == 0:
            lines[0] = "**No metric could be tested**: see the cautions."
    return lines


def list_drops(comparison: Comparison) -> list[MetricChange]:
    """List the metrics that dropped significantly: difference below zero, Holm-corrected p below alpha."""
    return [
        change
        for compared in comparison.strands
        for change in compared.metrics
        if change.difference is not None
        and change.difference < 0
        and change.adjusted is not None
        and change.adjusted < comparison.alpha
    ]


def write_systems(metric: PricedMetric) -> str:
    """Return a table of the systems for one metric, with price and latency per answer if known."""
    head = ["System", quote(metric.metric), "95% interval", "items", "tokens", "price", "latency"]
    rows = [
        [
            quote(system.system),
            f"{system.mean:.3f}",
            _show_interval(system),
            f"{metric.n_items:,}",
            *_show_cost(system.cost),
        ]
        for system in metric.systems
    ]
    left_out = f" {metric.left_out:,} further items lack a score." if metric.left_out else ""
    told = dict.fromkeys(quote(system.cost.why) for system in metric.systems if system.cost.why)
    why = f" Price not shown: {'; '.join(told)}." if told else ""
    note = (
        "Means are taken over the items with a score from every system. Tokens, price and latency are per "
        f"answer.{left_out}{why}"
    )
    return f"#### {quote(metric.section)}: {quote(metric.metric)}\n\n{_write_table(head, rows)}\n\n{note}"


def write_pairs(comparison: Comparison) -> str:
    """Return a table of all metrics for all pairs."""
    head = ["Pair", "metric", "pairs", "from", "to", "change", "95% interval", "p (Holm)", "fell", "rose"]
    rows = [
        [
            _name_pair(compared, comparison),
            quote(change.metric),
            f"{change.n_pairs:,}",
            _show(change.mean_a, ".3f"),
            _show(change.mean_b, ".3f"),
            _show(change.difference, "+.3f"),
            _write_interval(change.low, change.high) if change.low is not None else "not known",
            _show_p(change.adjusted),
            f"{change.fell:,}",
            f"{change.rose:,}",
        ]
        for compared in comparison.strands
        for change in compared.metrics
    ]
    return f"#### Pairs over the same items\n\n{_write_table(head, rows)}"


def write_cautions(comparison: Comparison, alone: Mapping[str, Sequence[str]]) -> str:
    """Return a list of cautions about the figures; empty if there are no cautions."""
    lines = [quote(caution, 3 * LONGEST) for caution in comparison.cautions]
    lines += [f"only in {letter}: {quote(', '.join(names))}" for letter, names in alone.items() if names]
    shown = [f"- {line}" for line in lines[:CAUTIONS]]
    if len(lines) > CAUTIONS:
        shown.append(f"- and {len(lines) - CAUTIONS:,} more")
    return "\n".join(["#### Cautions", "", *shown]) if shown else ""


def write_links(links: Iterable[tuple[str, str]]) -> str:
    """Return the http and https links as one line of Markdown."""
    kept = [
        f"[{quote(text)}](<{BLANK.sub('', address)}>)"
        for text, address in links
        if address.startswith(("https://", "http://"))
    ]
    return " · ".join(kept)


def _name_change(change: MetricChange, compared: SystemComparison, comparison: Comparison) -> str:
    only = len(comparison.strands) == 1
    return quote(change.metric) if only else f"{quote(change.metric)} of {_name_pair(compared, comparison)}"


def _name_pair(compared: SystemComparison, comparison: Comparison) -> str:
    names = quote(compared.a) if compared.a == compared.b else f"{quote(compared.a)} → {quote(compared.b)}"
    return names if len(comparison.sides) == 2 else f"{' → '.join(compared.letters)}: {names}"


def _show_interval(system: PricedMean) -> str:
    if system.interval is None:
        return quote(system.why) or "not known"
    return f"{system.interval[0]:.3f} to {system.interval[1]:.3f}"


def _show_cost(cost: AnswerCost) -> list[str]:
    usd = "not shown" if cost.usd is None else "$0" if not cost.usd else f"${cost.usd:.2g}"
    return [_show(cost.tokens, ",.0f"), usd, "not shown" if cost.seconds is None else f"{cost.seconds:.2f} s"]


def _show(value: float | None, form: str) -> str:
    return "not known" if value is None else format(value, form)


def _show_p(value: float | None) -> str:
    return "not known" if value is None else "below 0.0001" if value < 0.0001 else f"{value:.4f}"


def _write_interval(low: float | None, high: float | None) -> str:
    return "[interval not known]" if low is None or high is None else f"[{low:+.3f} to {high:+.3f}]"


def _write_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table; the first column is left-aligned, all other columns are right-aligned."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows[:ROWS]]
    text = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    left_out = len(rows) - ROWS
    return text if left_out <= 0 else f"{text}\n\n{left_out:,} more lines are not shown."
