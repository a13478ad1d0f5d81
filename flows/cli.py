"""The `benchloom` command. Expensive imports are deferred until a command needs them."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated

import typer

from flows.commands.add import app as add_app
from flows.commands.cli_graph import graph, lineage, plan, run, snapshot, stage, status
from flows.commands.cli_group import CommandGroup
from flows.commands.cli_options import (
    AnswerColumn,
    ContextsColumn,
    GroupColumn,
    IdColumn,
    Json,
    QuestionColumn,
    TagsColumn,
    collect_columns,
)
from flows.commands.cli_scores import compare, evaluate, score
from flows.commands.import_ import app as import_app
from flows.commands.ledger import app as ledger_app
from flows.commands.model import app as model_app
from flows.commands.nightly import app as nightly_app
from flows.commands.review import app as review_app
from flows.extras import explain_missing
from flows.run.collection import collect_seldom
from tasks.errors import BadInput, BenchloomError
from tasks.lines import say_line

FULL = {
    errno.ENOSPC: "the disk is full; make room",
    errno.EDQUOT: "the disk is full; make room",
    errno.EFBIG: "a file exceeds the size limit of `ulimit -f`; raise the limit",
}
"""Error number -> message for a write that failed for lack of disk space."""
DENIED = (errno.EACCES, errno.EPERM, errno.EROFS)

app = typer.Typer(
    cls=CommandGroup,
    name="benchloom",
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def init(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="DIR", help="A new or empty folder. With --upgrade: the folder of the project to upgrade."
        ),
    ] = None,
    upgrade: Annotated[
        bool, typer.Option("--upgrade", help="Merge the installed version of the code into the project.")
    ] = False,
) -> None:
    """Create a project: a copy of the code, and a parameter file in which you enter a database and a model.

    Example: benchloom init my-benchmark
    """
    from benchloom.making import init_command
    from benchloom.upgrading import upgrade_command

    if upgrade:
        raise typer.Exit(upgrade_command(folder or Path()))
    if folder is None:
        hint = "for example, run benchloom init my-benchmark"
        raise BadInput("benchloom init", "the argument DIR is missing", hint=hint)
    raise typer.Exit(init_command(folder))


def new(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    database: Annotated[
        str | None,
        typer.Option(metavar="FILE|URL", help="A SQLite file, or a URL: dialect://user@host/database."),
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A table of questions and answers; the model is evaluated on this table every night.",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="The model's name. Default: an OpenAI model if OPENAI_API_KEY is set, otherwise the "
            "embedded model, which runs on this machine."
        ),
    ] = None,
    endpoint: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Base URL of an OpenAI-compatible endpoint, including /v1."),
    ] = None,
    key_env: Annotated[
        str | None, typer.Option(metavar="NAME", help="The environment variable that holds the API key.")
    ] = None,
    served_model: Annotated[
        str | None, typer.Option(metavar="NAME", help="The model's name at the endpoint, if it differs.")
    ] = None,
    password_env: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The environment variable that holds the database password."),
    ] = None,
    input_price: Annotated[
        float | None, typer.Option(min=0, help="Price in US dollars per million prompt tokens.")
    ] = None,
    output_price: Annotated[
        float | None, typer.Option(min=0, help="Price in US dollars per million completion tokens.")
    ] = None,
    question: QuestionColumn = None,
    answer: AnswerColumn = None,
    contexts: ContextsColumn = None,
    item_id: IdColumn = None,
    group: GroupColumn = None,
    tags: TagsColumn = None,
    limit: Annotated[int, typer.Option(min=1, help="Number of questions in the preview.")] = 20,
) -> None:
    """Create a project from a database and a model, with a cost estimate and a preview of 20 questions.

    With --questions instead of --database, the project evaluates the model on your own questions.

    Example: benchloom new shop --database shop.sqlite --model gpt-5-mini
    """
    from flows.adding.new_project import NewOptions
    from flows.commands.new import new_command

    columns = collect_columns(question, answer, contexts, item_id, group, tags)
    options = NewOptions(
        database, questions, model, endpoint, key_env, served_model, password_env, input_price, output_price,
        limit, columns,
    )  # fmt: skip
    raise typer.Exit(new_command(folder, options))


def print_version(wanted: bool) -> None:
    """Print the installed version and exit, if the option is given."""
    if wanted:
        from importlib.metadata import version

        print(f"benchloom {version('benchloom')}")
        raise typer.Exit


@app.callback()
def describe(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=print_version, is_eager=True, help="Print the installed version and exit."
        ),
    ] = False,
) -> None:
    """Build question-answering benchmarks from databases, and re-evaluate systems on them.

    Example: benchloom run grammar
    """
    del version  # the callback print_version has handled the option


def report(
    open_it: Annotated[bool, typer.Option("--open", help="Open the site in a browser.")] = False,
) -> None:
    """Build the front page that links to all reports.

    Example: benchloom report --open
    """
    from flows.commands.report import report_command

    raise typer.Exit(report_command(open_it=open_it))


def publish(
    name: Annotated[
        str,
        typer.Argument(
            help="An entry of params.yaml, such as films or longform.sets.sample, or a folder of TANQ items."
        ),
    ],
    target: Annotated[
        str,
        typer.Argument(help="The destination: a folder (same as --to) or hub:OWNER/NAME (same as --hub)."),
    ] = "",
    to: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="A new folder, or the folder of an earlier publication of this dataset."
        ),
    ] = None,
    hub: Annotated[
        str,
        typer.Option(
            metavar="OWNER/NAME",
            help="A repository on a Hugging Face hub; the environment variables HF_ENDPOINT and HF_TOKEN set "
            "the hub's URL and the token.",
        ),
    ] = "",
    public: Annotated[
        bool, typer.Option("--public", help="Make the repository public. Default: private.")
    ] = False,
    private_sources: Annotated[
        bool,
        typer.Option(
            "--private-sources",
            help="Publish even if a source has no licence or may not be redistributed.",
        ),
    ] = False,
    language: Annotated[str, typer.Option(help="Language of the questions, if no stage defines it.")] = "en",
    prediction_key: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="For the flow `tanq`: write each system's predicted tables to this field, for the official "
            "evaluator.",
        ),
    ] = "",
    as_json: Json = False,
) -> None:
    """Publish a dataset or evaluated items: rows, model calls, ledger, dataset card, licences and checksums.

    Example: benchloom publish films films-dataset
    """
    from flows.commands.publish import PublishOptions, publish_command

    kind, _, repository = target.partition(":")
    is_hub = kind == "hub"
    if target and (hub if is_hub else to):
        raise typer.BadParameter(
            f"the destination is given twice, the second time as {target}",
            param_hint="--hub" if is_hub else "--to",
        )
    if target:
        to, hub = (to, repository) if is_hub else (Path(target), hub)
    options = PublishOptions(to, hub, public, private_sources, language, prediction_key)
    raise typer.Exit(publish_command(name, options, as_json=as_json))


def doctor(as_json: Json = False) -> None:
    """Check this machine and project. For each problem, print the command that fixes it.

    Example: benchloom doctor --json
    """
    from flows.commands.doctor import doctor_command

    raise typer.Exit(doctor_command(as_json=as_json))


def stop() -> None:
    """Stop the background servers of this project: Prefect and the embedded models.

    Example: benchloom stop
    """
    from flows.run.prefect_server import read_port, server_folder
    from flows.run.servers import stop_servers
    from flows.settings import find_project
    from tasks.models.serving.embedded import stop_own_servers

    root = find_project()
    models = stop_own_servers()
    stopped = [*stop_servers(server_folder(root)), *models.names]
    said = f"stopped: {', '.join(stopped)}" if stopped else "no server of this project is running"
    if read_port(root) is not None:
        said += (
            "; the nightly deployment needs Prefect's server (start it: `benchloom nightly work` or any run)"
        )
    for name, projects in models.shared.items():
        said += (
            f"; still running: {name}, used by {', '.join(projects)} (`benchloom model stop {name}` stops it)"
        )
    print(said, file=sys.stderr)


for command in (
    init,
    new,
    run,
    stage,
    graph,
    plan,
    status,
    score,
    evaluate,
    compare,
    snapshot,
    lineage,
    report,
    publish,
    doctor,
    stop,
):
    app.command()(command)
app.add_typer(add_app, name="add")
app.add_typer(import_app, name="import")
app.add_typer(ledger_app, name="ledger")
app.add_typer(model_app, name="model")
app.add_typer(nightly_app, name="nightly")
app.add_typer(review_app, name="review")


def run_command(words: Sequence[str]) -> int | None:
    """Run a command and return its exit code; `import` runs in a separate process. `main` prints errors."""
    if words[:1] == ["import"]:
        from flows.import_process import import_apart, is_inside

        if not is_inside():
            return import_apart(words)
    # In standalone mode, Typer would print errors itself and end the process.
    code: int | None = app(words, prog_name="benchloom", standalone_mode=False)
    return code


def report_if_slow(words: Sequence[str]) -> AbstractContextManager[None]:
    """Return a context manager that reports a slow command's progress.

    Nothing is reported for servers, help texts and commands that start other commands.
    """
    asks_help = not words or words[0].startswith("-") or "--help" in words
    if asks_help or words[0] == "new" or words[1:2] in (["once"], ["serve"], ["work"]):
        return nullcontext()
    if words[0] == "import":
        from flows.import_process import is_inside

        if not is_inside():
            return nullcontext()
    from flows.run.progress import follow_command

    return follow_command(words[0])


def explain_refused(error: OSError) -> str:
    """Return the error message for a full disk, a read-only disk, or a file of another account."""
    if error.errno in FULL:
        return f"{FULL[error.errno]} and run the same command again ({error})"
    why = "the disk is read-only" if error.errno == errno.EROFS else "the file belongs to another account"
    hint = "run the command as the project's owner, or in a clone of the project"
    return f"{os.fsdecode(error.filename)}: {error.strerror}: {why} ({hint})"


def main() -> None:
    """Run the command line. Each `BenchloomError` becomes one line on stderr and an exit code."""
    collect_seldom()
    try:
        with report_if_slow(sys.argv[1:]):
            code = run_command(sys.argv[1:])
    except (typer.Abort, KeyboardInterrupt):
        code = 130
    except typer.TyperException as error:
        say_line(f"benchloom: {error.format_message()}")
        code = 2
    except BenchloomError as error:
        say_line(f"benchloom: {error}")
        code = error.exit_code
    except ModuleNotFoundError as error:
        missing = explain_missing(error, sys.argv[1:])
        if missing is None:
            raise
        say_line(f"benchloom: {missing}")
        code = missing.exit_code
    except OSError as error:
        if error.errno not in FULL and (error.errno not in DENIED or not error.filename):
            raise
        code = 1 if error.errno in FULL else BadInput.exit_code
        say_line(f"benchloom: {explain_refused(error)}")
    sys.exit(code or 0)


if __name__ == "__main__":
    main()
