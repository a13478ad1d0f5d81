"""The `benchloom add` commands: test a database, model, judge, system or dataset; add it to params.yaml."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

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
from tasks.errors import BadInput
from tasks.lines import print_line

if TYPE_CHECKING:
    from flows.adding.addition import Addition
    from flows.parameters import Parameters

ROLES = "roles"
Name = Annotated[str, typer.Argument(metavar="NAME", help="The entry's name in params.yaml.")]
NoTry = Annotated[bool, typer.Option("--no-try", help="Add the entry without testing it.")]
Replace = Annotated[bool, typer.Option("--replace", help="Replace an existing entry of the same name.")]
Endpoint = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Base URL of an OpenAI-compatible endpoint, including /v1."),
]
KeyEnv = Annotated[
    str | None, typer.Option(metavar="VAR", help="The environment variable that holds the API key.")
]
ServedModel = Annotated[
    str | None, typer.Option(metavar="NAME", help="The model's name at the endpoint, if it differs.")
]
InputPrice = Annotated[
    float | None, typer.Option(min=0, help="Price in US dollars per million prompt tokens.")
]
OutputPrice = Annotated[
    float | None, typer.Option(min=0, help="Price in US dollars per million completion tokens.")
]

app = typer.Typer(
    cls=CommandGroup, help="Test an entry once and add it to params.yaml.", no_args_is_help=True
)


@app.callback()
def describe() -> None:
    """Test an entry once and add it to params.yaml. An entry that fails the test is not added.

    Example: benchloom add database shop shop.sqlite
    """


@app.command()
def database(
    name: Name,
    place: Annotated[
        str, typer.Argument(metavar="FILE|URL", help="A SQLite file, or a URL: dialect://user@host/database.")
    ],
    title: Annotated[str, typer.Option(help='A readable title, such as "Our shop".')] = "",
    licence: Annotated[str, typer.Option(help="Licence of the content: CC0-1.0, proprietary, ...")] = "",
    source: Annotated[str, typer.Option(help="Where the content comes from: a URL or a description.")] = "",
    attribution: Annotated[str, typer.Option(help="The attribution that the licence requires.")] = "",
    description: Annotated[str, typer.Option(help="One sentence about the content of the database.")] = "",
    password_env: Annotated[
        str | None,
        typer.Option(metavar="VAR", help="The environment variable that holds the database password."),
    ] = None,
    no_try: NoTry = False,
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Add a database; at most ten rows per table are read. A file outside the project is copied to data/.

    Example: benchloom add database shop shop.sqlite --title "Our shop" --licence proprietary
    """

    def make(root: Path, params: Parameters) -> Addition:
        from flows.adding.databases import DatabaseOptions, add_database

        texts = {
            "title": title, "licence": licence, "source": source, "attribution": attribution,
            "description": description,
        }  # fmt: skip
        given = {key: text for key, text in texts.items() if text}
        options = DatabaseOptions(place, password_env, given, not no_try, replace)
        return add_database(root, params, name, options)

    add(make, as_json=as_json)


@app.command()
def model(
    name: Name,
    endpoint: Endpoint = None,
    key_env: KeyEnv = None,
    served_model: ServedModel = None,
    role: Annotated[
        list[str] | None,
        typer.Option(
            "--role",
            "--roles",
            metavar="ROLES",
            help="Roles that use the model, such as generator,reader. Default: all roles except embedders.",
        ),
    ] = None,
    input_price: InputPrice = None,
    output_price: OutputPrice = None,
    no_try: NoTry = False,
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Add a model after testing its replies, JSON schemas, grammars, tool calls and log probabilities.

    Without --endpoint, NAME is an embedded model in `models:`, or an OpenAI model if OPENAI_API_KEY is set.

    Example: benchloom add model gpt-mini --endpoint https://api.openai.com/v1 --key-env OPENAI_API_KEY
    """

    def make(root: Path, params: Parameters) -> Addition:
        from flows.adding.models import ModelOptions, add_model

        return add_model(
            params,
            name,
            ModelOptions(
                endpoint, key_env, served_model, role or (), input_price, output_price, not no_try, replace
            ),
        )

    add(make, as_json=as_json)


@app.command()
def judge(
    name: Name,
    endpoint: Endpoint = None,
    key_env: KeyEnv = None,
    served_model: ServedModel = None,
    role: Annotated[
        str,
        typer.Option("--as", metavar="ROLE", help="The role: judge, or a new name for an additional judge."),
    ] = "judge",
    input_price: InputPrice = None,
    output_price: OutputPrice = None,
    no_try: NoTry = False,
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Make a model the judge of answers or, with --as, an additional judge.

    NAME is an endpoint in `run.endpoints`, or a new endpoint that you define with --endpoint.

    Example: benchloom add judge gpt-mini --as second_judge
    """

    def make(root: Path, params: Parameters) -> Addition:
        from flows.adding.models import ModelOptions, add_judge

        return add_judge(
            params,
            name,
            ModelOptions(endpoint, key_env, served_model, (), input_price, output_price, not no_try, replace),
            role,
        )

    add(make, as_json=as_json)


@app.command()
def system(
    name: Name,
    url: Annotated[str | None, typer.Option(help="The URL of a system that answers over HTTP.")] = None,
    key_env: KeyEnv = None,
    path: Annotated[str, typer.Option(help="The path appended to the URL, such as /answer.")] = "",
    body: Annotated[
        str,
        typer.Option(
            metavar="JSON", help="The JSON body of the request; {question} is replaced by the question."
        ),
    ] = '{"question": "{question}"}',
    text: Annotated[str, typer.Option(help="JMESPath expression for the answer in the reply.")] = "answer",
    passages: Annotated[
        str | None,
        typer.Option(help="JMESPath expression for the retrieved passages in the reply, best first."),
    ] = None,
    contexts: Annotated[
        str | None, typer.Option(help="JMESPath expression for the text in a passage.")
    ] = None,
    ids: Annotated[
        str | None, typer.Option(help="JMESPath expression for the document id in a passage.")
    ] = None,
    system_version: Annotated[
        str, typer.Option(help="The system's version. Change it when the system changes.")
    ] = "1",
    retriever: Annotated[
        str | None,
        typer.Option(help="Use the built-in RAG with this retriever: keyword, bm25, dense, hybrid or none."),
    ] = None,
    top_k: Annotated[
        int | None, typer.Option(min=1, help="Number of passages in the prompt of the built-in RAG.")
    ] = None,
    question: Annotated[str, typer.Option(help="The question to ask in the test.")] = "",
    database: Annotated[
        str | None,
        typer.Option(help="Also add an assessment of the system on this database's questions."),
    ] = None,
    no_try: NoTry = False,
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Add a system under test after asking it one question.

    Example: benchloom add system ours --url http://127.0.0.1:8000 --path /answer --text reply.text
    """

    def make(root: Path, params: Parameters) -> Addition:
        from flows.adding.systems import QUESTION, SystemOptions, add_system

        call = {
            "path": path, "body": read_body(body), "text": text, "passages": passages,
            "contexts": contexts, "ids": ids,
        }  # fmt: skip
        given = {key: value for key, value in call.items() if value}
        options = SystemOptions(
            url, key_env, given, system_version, retriever, top_k, question or QUESTION, database, not no_try,
            replace,
        )  # fmt: skip
        return add_system(params, name, options)

    add(make, as_json=as_json)


@app.command()
def dataset(
    name: Name,
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="A table of questions and answers, a file or folder of questions with documents, or a "
            "folder in data/raw/streambench.",
        ),
    ],
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="For the flow `streambench`: a method to run on the stream. Repeatable."
        ),
    ] = None,
    system: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="For the flow `qa`: the system in params.yaml to evaluate on the table."
        ),
    ] = None,
    score: Annotated[
        Literal["rules", "judge", "both"],
        typer.Option(help="For the flow `qa`: how to score the answers of --system."),
    ] = "rules",
    nightly: Annotated[
        bool, typer.Option("--nightly", help="For the flow `qa`: evaluate --system every night.")
    ] = False,
    question: QuestionColumn = None,
    answer: AnswerColumn = None,
    contexts: ContextsColumn = None,
    item_id: IdColumn = None,
    group: GroupColumn = None,
    tags: TagsColumn = None,
    no_try: NoTry = False,
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Add a dataset after reading its first ten items.

    A table of questions and answers is added to qa.sets, questions with documents to ragcheck.sets, and a
    folder in data/raw/streambench to streambench.streams.

    Example: benchloom add dataset mine my.csv --system alone --nightly
    """

    def make(root: Path, params: Parameters) -> Addition:
        from flows.adding.datasets import DatasetOptions, add_dataset

        columns = collect_columns(question, answer, contexts, item_id, group, tags)
        options = DatasetOptions(not no_try, replace, tuple(method or ()), columns, system, score, nightly)
        return add_dataset(root, params, name, path, options)

    add(make, as_json=as_json)


def read_body(text: str) -> dict[str, Any]:
    """Parse the request body for a system. Raises BadInput if the body is not a JSON object."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(
            "--body", f"is not valid JSON: {error}", hint='write, for example, {"query": "{question}"}'
        ) from error
    if not isinstance(body, dict):
        raise BadInput("--body", "is not a JSON object", hint='write, for example, {"query": "{question}"}')
    return body


def add(make: Callable[[Path, Parameters], Addition], *, as_json: bool) -> None:
    """Create an entry, write it into the current project, and print the new keys and the next command."""
    from flows.adding.addition import write_addition
    from flows.settings import find_project, load_params

    root = find_project()
    addition = make(root, load_params(root))
    lines = write_addition(root, addition)
    if as_json:
        print(json.dumps(describe_addition(addition, lines), indent=1, ensure_ascii=False))
        return
    print_line(f"added {addition.kind} {addition.name} to params.yaml:")
    for line in list_places(lines):
        print_line(f"  {line}")
    for said in addition.said:
        print_line(said)
    print_line(f"next: {addition.following}")


def list_places(lines: Mapping[str, int]) -> list[str]:
    """List the written keys with their line numbers.

    A key that was written for several roles is listed once, with a range of lines.
    """
    by_field = defaultdict[str, list[str]](list)
    for keys in lines:
        section, _, rest = keys.partition(".")
        role, _, name = rest.partition(".")
        by_field[f"{section}.*.{name}" if section == ROLES and name else keys].append(role)
    places = []
    for keys, roles in by_field.items():
        found = [line for key, line in lines.items() if key == keys or matches(key, keys)]
        if len(found) == 1:
            places.append(f"line {found[0]}: {keys.replace('*', roles[0])}")
        else:
            places.append(f"lines {min(found)} to {max(found)}: {keys} of {len(found)} roles")
    return places


def matches(key: str, pattern: str) -> bool:
    """Return whether a key matches a pattern: `roles.judge.model` matches `roles.*.model`."""
    section, star, name = pattern.partition(".*.")
    return bool(star) and key.startswith(f"{section}.") and key.endswith(f".{name}")


def describe_addition(addition: Addition, lines: Mapping[str, int]) -> dict[str, object]:
    """Convert an addition to the document that `--json` prints."""
    return {
        "kind": addition.kind,
        "name": addition.name,
        "wrote": {".".join(keys): value for keys, value in addition.values.items()},
        "lines": dict(lines),
        "found": dict(addition.found),
        "next": addition.following,
    }
