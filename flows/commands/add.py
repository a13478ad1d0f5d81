"""`benchloom add`: write an entry into params.yaml after trying it once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.cli_options import Json
from tasks.errors import BadInput
from tasks.lines import print_line

if TYPE_CHECKING:
    from flows.adding.addition import Addition
    from flows.parameters import Parameters

Name = Annotated[str, typer.Argument(metavar="NAME", help="The entry's name in params.yaml.")]
NoTry = Annotated[bool, typer.Option("--no-try", help="Write the entry without trying it.")]
Replace = Annotated[bool, typer.Option("--replace", help="Replace an entry with the same name.")]
Endpoint = Annotated[
    str | None, typer.Option(metavar="URL", help="The model's URL for the OpenAI protocol, up to /v1.")
]
KeyEnv = Annotated[str | None, typer.Option(metavar="VAR", help="The environment variable with the API key.")]
ServedModel = Annotated[
    str | None, typer.Option(metavar="NAME", help="The model's name at the endpoint, if it differs.")
]
InputPrice = Annotated[float | None, typer.Option(min=0, help="US dollars per million tokens of prompts.")]
OutputPrice = Annotated[float | None, typer.Option(min=0, help="US dollars per million tokens of replies.")]

app = typer.Typer(help="Try something once, and write its entry into params.yaml.", no_args_is_help=True)


@app.callback()
def describe() -> None:
    """Write an entry into params.yaml after trying it once. What fails its try is not written.

    Example: benchloom add database shop shop.sqlite
    """


@app.command()
def database(
    name: Name,
    place: Annotated[
        str, typer.Argument(metavar="FILE|URL", help="A SQLite file, or dialect://user@host/database.")
    ],
    title: Annotated[str, typer.Option(help="The title for people.")] = "",
    licence: Annotated[str, typer.Option(help="The licence of the content: CC0-1.0, proprietary, ...")] = "",
    source: Annotated[str, typer.Option(help="The source of the content.")] = "",
    attribution: Annotated[str, typer.Option(help="The authors to credit.")] = "",
    description: Annotated[str, typer.Option(help="The content, in one sentence.")] = "",
    password_env: Annotated[
        str | None,
        typer.Option(metavar="VAR", help="The environment variable with the URL's password."),
    ] = None,
    no_try: NoTry = False,
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Add a database: open it and read ten rows of each table. A file elsewhere is copied into the project.

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
            help="Roles for the model: generator,reader. Default: all except the embedder's.",
        ),
    ] = None,
    input_price: InputPrice = None,
    output_price: OutputPrice = None,
    no_try: NoTry = False,
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Add a model: try one token, a JSON schema, a grammar, a tool call and log probabilities.

    Without --endpoint, the model is an entry of `models:`, or OpenAI's if OPENAI_API_KEY is set.

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
        typer.Option("--as", metavar="ROLE", help="The role: judge, or a new role for an additional judge."),
    ] = "judge",
    input_price: InputPrice = None,
    output_price: OutputPrice = None,
    no_try: NoTry = False,
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Make a model the judge of answers; with --as, an additional judge.

    The model is an entry of `run.endpoints`, or a new one with an address.

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
    url: Annotated[str | None, typer.Option(help="The URL of an HTTP system.")] = None,
    key_env: KeyEnv = None,
    path: Annotated[str, typer.Option(help="The path after the URL: /answer.")] = "",
    body: Annotated[
        str, typer.Option(metavar="JSON", help="The JSON to post; {question} stands for the question.")
    ] = '{"question": "{question}"}',
    text: Annotated[str, typer.Option(help="The answer's place in the reply (JMESPath).")] = "answer",
    passages: Annotated[
        str | None, typer.Option(help="The place of the list of retrieved passages, best first.")
    ] = None,
    contexts: Annotated[str | None, typer.Option(help="The text's place in a passage.")] = None,
    ids: Annotated[str | None, typer.Option(help="The document id's place in a passage.")] = None,
    system_version: Annotated[
        str, typer.Option(help="The system's version; change it when the system changes.")
    ] = "1",
    retriever: Annotated[
        str | None,
        typer.Option(help="The retriever of the built-in RAG: keyword, bm25, dense, hybrid or none."),
    ] = None,
    top_k: Annotated[int | None, typer.Option(min=1, help="Number of passages in the prompt.")] = None,
    question: Annotated[str, typer.Option(help="The question to try.")] = "",
    database: Annotated[
        str | None, typer.Option(help="Also write an assessment on this database's questions.")
    ] = None,
    no_try: NoTry = False,
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Add a system under test: ask it one question.

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
        Path, typer.Argument(metavar="PATH", help="Questions with reference answers, or a stream's folder.")
    ],
    no_try: NoTry = False,
    replace: Replace = False,
    as_json: Json = False,
) -> None:
    """Add a dataset: read its first ten items. A set of questions goes to ragcheck.sets.

    A folder of data/raw/streambench goes to streambench.streams.

    Example: benchloom add dataset ours my-set/
    """

    def make(root: Path, params: Parameters) -> Addition:
        from flows.adding.datasets import add_dataset

        return add_dataset(root, params, name, path, tried=not no_try, replace=replace)

    add(make, as_json=as_json)


def read_body(text: str) -> dict[str, Any]:
    """Read what is posted to a system. Raises BadInput where it is not a JSON object."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput("--body", f"is not JSON: {error}", hint='{"query": "{question}"}') from error
    if not isinstance(body, dict):
        raise BadInput("--body", "is not a JSON object", hint='{"query": "{question}"}')
    return body


def add(make: Callable[[Path, Parameters], Addition], *, as_json: bool) -> None:
    """Make an addition of the project here, write it, and say what it is and what comes next."""
    from flows.adding.addition import write_addition
    from flows.settings import find_project, load_params

    root = find_project()
    addition = make(root, load_params(root))
    lines = write_addition(root, addition)
    if as_json:
        print(json.dumps(describe_addition(addition, lines), indent=1, ensure_ascii=False))
        return
    print_line(f"{addition.kind} {addition.name} is in params.yaml:")
    for keys, line in lines.items():
        print_line(f"  line {line}: {keys}")
    for said in addition.said:
        print_line(said)
    print_line(f"next: {addition.following}")


def describe_addition(addition: Addition, lines: dict[str, int]) -> dict[str, object]:
    """Return an addition as one JSON document."""
    return {
        "kind": addition.kind,
        "name": addition.name,
        "wrote": {".".join(keys): value for keys, value in addition.values.items()},
        "lines": lines,
        "found": dict(addition.found),
        "next": addition.following,
    }
