"""Stage: predict the table of every item with every baseline and model (TANQ, section 4)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tasks.artifacts.rows import Drafts, make_id
from tasks.errors import StageFailed
from tasks.models.ask import Ask
from tasks.tanq.build.tanq_item import TanqItem
from tasks.tanq.entries import TableEvaluation
from tasks.tanq.solve.article_shelf import ArticleShelf, open_shelf
from tasks.tanq.solve.examples import take_examples
from tasks.tanq.solve.open_agent import OpenSession, search_table
from tasks.tanq.solve.prediction import OPEN, ORACLE, Prediction, TableRun, list_runs, make_prediction
from tasks.tanq.solve.reading import predict_table
from tasks.tanq.solve.table_options import PredictionLimits

WIKIPEDIA = Path("data/raw/wikipedia")
"""The folder of imported articles, which is the stage's argument `wikipedia`."""


async def predictions(
    items: list[TanqItem],
    wikipedia: Path,
    entry: TableEvaluation,
    params: PredictionLimits,
    settings: Mapping[str, Any],
    ask: Ask,
) -> Drafts[Prediction]:
    """Return the predictions of every baseline of an evaluation for the evaluation's items.

    If there was no call or no reply, `failed` contains the reason. wikipedia: the folder of imported
    articles. The open agent searches the articles of the set's source. Raises StageFailed if the open agent
    runs and the source's articles are outside the folder `wikipedia`.
    """
    # Items are sorted by id, so that the limit selects the same items regardless of the file's order.
    ordered = sorted(items, key=lambda item: item.id)
    asked = ordered[: entry.items]
    with ExitStack() as stack:
        shelf = None
        if OPEN in entry.settings:
            shelf = stack.enter_context(open_shelf(find_articles(wikipedia, entry.set, settings)))
        rows = await asyncio.gather(
            *(
                _predict(item, ordered, run, params, settings, entry.set, shelf, ask)
                for item in asked
                for run in list_runs(entry)
            )
        )
    return Drafts(rows)


def find_articles(wikipedia: Path, name: str, settings: Mapping[str, Any]) -> Path:
    """Return the article folder of a set's source.

    Raises StageFailed if the article folder is not below `WIKIPEDIA`.
    """
    source = settings.get(f"tanq.sets.{name}.source")
    folder = Path(str(settings.get(f"tanq.sources.{source}.articles", "")))
    # is_relative_to() does not resolve `..`, so `data/raw/wikipedia/../x` would count as inside.
    if not folder.is_relative_to(WIKIPEDIA) or ".." in folder.parts:
        raise StageFailed(
            f"tanq.predictions: the articles of source {source} are in {folder}, but the open agent "
            f"searches only imported articles under {WIKIPEDIA}"
        )
    return wikipedia / folder.relative_to(WIKIPEDIA)


def find_window(model: str, params: PredictionLimits, settings: Mapping[str, Any]) -> int:
    """Return the context window of a model in tokens. model: a name under `roles`."""
    served = settings.get(f"roles.{model}.model")
    known = settings.get(f"models.{served}.context")
    return params.windows.get(model, known if isinstance(known, int) else params.window)


async def _predict(
    item: TanqItem,
    items: list[TanqItem],
    run: TableRun,
    params: PredictionLimits,
    settings: Mapping[str, Any],
    name: str,
    shelf: ArticleShelf | None,
    ask: Ask,
) -> Prediction:
    row = make_id(item.id, run.system)
    window = find_window(run.model, params, settings)
    if shelf is not None and run.setting == OPEN:
        session = OpenSession(row, run.model, item.question, shelf, params.open, ask)
        reply = await search_table(session, window, params.table_tokens)
        place = settings.get(f"tanq.sources.{settings.get(f'tanq.sets.{name}.source')}.articles")
        return make_prediction(
            item,
            run,
            reply,
            session.failed,
            session.calls,
            left_out=session.left_out,
            steps=session.steps,
            articles=[f"{place}/articles#{title}" for title in session.articles],
        )
    if run.setting == ORACLE and window < params.least_window:
        failed = f"not asked: a window of {window:,} tokens, less than {params.least_window:,}"
        return make_prediction(item, run, "", failed, ())
    examples = take_examples(item, items, run.shots, run.choice, params.seed)
    if len(examples) < run.shots:
        failed = f"not asked: {len(examples)} of {run.shots} examples"
        return make_prediction(item, run, "", failed, ())
    others = items if run.setting == ORACLE else None
    said = await predict_table(item, examples, others, run.model, run.instruction, window, params, ask, row)
    return make_prediction(
        item, run, said.reply, said.failed, said.calls, examples=examples, left_out=said.left_out
    )
