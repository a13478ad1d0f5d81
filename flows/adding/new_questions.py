"""Implement `benchloom new --questions`: read the table, estimate a nightly run, and preview answers."""

from __future__ import annotations

from benchloom.history import History
from flows.adding.new_project import PREVIEW, NewOptions, NewProject, StepFailed, describe_cost, read_rows
from tasks.lines import print_line

SYSTEM = "alone"
"""Name of the system without a retriever: a table of questions comes without documents to retrieve."""
LONGEST = 100
"""Maximum length of a question or an answer in the terminal, in characters."""


def show_evaluation(project: NewProject, options: NewOptions) -> int:
    """Read questions, estimate a nightly run, preview the first answers, and commit. Raises StepFailed."""
    entry = f"{project.entry}-{SYSTEM}"
    page = f"qa-evaluation-page@{entry}"
    project.call("run", "--plain", f"qa-items@{project.entry}")
    items = read_rows(project.folder / "data/qa" / project.entry / "items.parquet")
    print_line(f"{project.entry}: {len(items)} questions")
    print_line(f"One nightly run: {describe_cost(project.ask('plan', page), free=project.embedded)}")
    code = 0
    if project.is_lacking():
        following = f"benchloom model pull && benchloom run {page} && benchloom nightly once"
    else:
        following = "benchloom nightly once"
        try:
            project.call("run", "--plain", "--limit", str(options.limit), page)
        except StepFailed as failed:
            code = failed.code
        show_answers(project, options.limit)
    # A nightly run evaluates the committed state of the project.
    History(project.folder).commit_all(f"Add {entry}")
    print_line(f"next: cd {project.folder} && {following}")
    return code


def show_answers(project: NewProject, limit: int) -> None:
    """Print the preview's questions with the model's answers, and the path of the preview's page."""
    folder = project.folder / PREVIEW / "qa" / project.entry
    entry = folder / "systems" / f"{project.entry}-{SYSTEM}"
    items = {row["id"]: row for row in read_rows(folder / "items.parquet")}
    answers = {row["id"]: row for row in read_rows(entry / "answers.parquet")}
    scores = read_rows(entry / "scores.parquet")
    for number, score in enumerate(scores[:limit], 1):
        item, answer = items[score["item"]], answers[score["id"]]
        text = answer["text"] if answer["text"] is not None else f"no answer: {answer['problem']}"
        expected = " | ".join(accepted["text"] for accepted in item["accepted"])
        print_line(f"{number:>3}. {shorten(item['question'])}")
        print_line(f"     {shorten(text)}")
        print_line(f"     expected: {shorten(expected)}")
    scored = [score["em"] for score in scores if score["em"] is not None]
    if scored:
        print_line(f"exact match: {sum(scored) / len(scored):.0%} of {len(scored)} answers")
    page = project.folder / PREVIEW / "reports/qa" / f"{project.entry}-{SYSTEM}" / "index.html"
    if page.is_file():
        print_line(f"page: {page}")


def shorten(text: str) -> str:
    """Return the text as a single line, truncated to LONGEST characters."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."
