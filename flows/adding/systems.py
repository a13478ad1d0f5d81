"""Create an entry for `benchloom add system`, and send the system (HTTP or the built-in RAG) one question."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from flows.adding.addition import Addition, require_name, require_new, trying
from flows.parameters import Parameters, refuse, suggest, validate
from flows.run.model_settings import read_mapping, read_models
from flows.settings import get_section
from tasks.errors import BadInput, ModelFailed
from tasks.models.ask import Role
from tasks.models.opening import list_prices, open_client
from tasks.models.recorded_model import RecordedModel
from tasks.models.recording.ledger import Ledger
from tasks.models.request_builder import RequestBuilder
from tasks.models.sending.budget import Budget
from tasks.models.sending.dispatcher import Dispatcher
from tasks.models.sending.systems import SystemClient
from tasks.models.settings import SystemRun
from tasks.systems.build import build_system
from tasks.systems.contract import Document, Response
from tasks.systems.entries import RagEntry, SystemEntry, can_search

RETRIES, DEADLINE_S = 1, 120.0
"""Number of retries, and deadline in seconds, for the test of a system.

The values are much lower than in a run, so that the test of a broken system fails quickly.
"""
LONGEST = 200
"""Maximum displayed length of an answer, in characters."""
QUESTION = "How many berths does the harbour of Larkholm have?"
CORPUS = (
    Document("harbour", "Larkholm", "The harbour of Larkholm has 12 berths.", ()),
    Document("station", "Brunsby", "The station of Brunsby has four platforms.", ()),
)
"""Documents for testing the built-in RAG, since a project may not have documents yet."""


@dataclass(frozen=True)
class SystemOptions:
    """Options for a new entry of `systems`.

    A system over HTTP uses `url`, `key_env`, `call` and `version`. The built-in RAG uses `retriever` and
    `top_k`.
    """

    url: str | None = None
    key_env: str | None = None
    call: Mapping[str, object] = field(default_factory=dict)
    """The content of the entry's key `answer` (docs/systems.md).

    The possible keys are path, body, text, passages, contexts and ids.
    """
    version: str = "1"
    retriever: str | None = None
    top_k: int | None = None
    question: str = QUESTION
    database: str | None = None
    """A database whose questions the system must answer; an entry of `assessments` is added, too."""
    tried: bool = True
    replace: bool = False


def add_system(params: Parameters, name: str, options: SystemOptions) -> Addition:
    """Test a system and return its entries.

    Raises BadInput if the options are incomplete, and ModelFailed if the system does not answer.
    """
    require_name(name)
    keys = ("systems", name)
    require_new(params, keys, replace=options.replace)
    fields = describe_system(options)
    entry = cast(SystemEntry, validate(SystemEntry, fields, keys, params))
    values: dict[tuple[str, ...], object] = {keys: fields}
    connection = SystemRun()
    if options.url is not None:
        place = {"url": options.url, **({"key_env": options.key_env} if options.key_env else {})}
        connection = validate(SystemRun, place, ["run", "systems", name], params)
        values["run", "systems", name] = place
    following = f"benchloom evaluate grammar --dataset FILE --system {name}"
    if options.database is not None:
        assessment = name_assessment(params, name, options)
        values["assessments", assessment] = {
            "database": options.database, "system": name, "llm_only": assessment, "baselines": False,
        }  # fmt: skip
        following = f"benchloom run grammar-assessment-report@{assessment}"
        if options.url is not None:
            following = f"benchloom run grammar-documents@{options.database}, index them, and {following}"
    found: dict[str, object] = {}
    said: list[str] = []
    if options.tried:
        with trying(params, keys):
            response = try_system(params, name, entry, connection, options.question)
        passages = None if response.passages is None else len(response.passages)
        found = {"answer": response.text, "passages": passages, "search": can_search(entry)}
        said = describe_response(response, can_search(entry))
    return Addition("system", name, values, found, said, following)


def describe_system(options: SystemOptions) -> dict[str, object]:
    """Return the entry of a system.

    Raises BadInput if URL and retriever are both given or both missing, or if `top_k` or `key_env` does not
    apply to the system.
    """
    if (options.url is None) == (options.retriever is None):
        what = "cannot be combined" if options.url else "both are missing"
        raise BadInput(
            "--url, --retriever",
            what,
            hint="give --url for a system that answers over HTTP, or --retriever for the built-in RAG",
        )
    if options.url is not None:
        if options.top_k is not None:
            raise BadInput(
                "--top-k", "requires the built-in RAG", hint="for example, use --retriever bm25 --top-k 2"
            )
        return {"kind": "http", "version": options.version, "answer": dict(options.call)}
    if options.key_env is not None:
        raise BadInput(
            "--key-env",
            "can be used only with --url",
            hint="omit it: the model for the role `answerer` has its own key",
        )
    top_k = {} if options.top_k is None else {"top_k": options.top_k}
    return {"kind": "rag", "retriever": options.retriever, **top_k}


def name_assessment(params: Parameters, name: str, options: SystemOptions) -> str:
    """Return the name of the new assessment, `<database>-<system>`.

    Raises BadInput if the database is unknown, or if the assessment exists and `replace` is false.
    """
    databases, database = get_section(params, "databases") or {}, str(options.database)
    if database not in databases:
        raise refuse(
            params,
            ["databases", database],
            "is not a database of params.yaml",
            hint=suggest(database, list(databases)),
        )
    require_new(params, ("assessments", f"{database}-{name}"), replace=options.replace)
    return f"{database}-{name}"


def try_system(
    params: Parameters, name: str, entry: SystemEntry, connection: SystemRun, question: str
) -> Response:
    """Ask a system one question, with a temporary ledger.

    Raises ModelFailed if the system does not answer, and BadInput if its settings are invalid.
    """
    run, models = read_models(params)
    quick = {"retries": RETRIES, "deadline_s": DEADLINE_S}
    endpoints = {key: endpoint.model_copy(update=quick) for key, endpoint in run.endpoints.items()}
    run = run.model_copy(update={"endpoints": endpoints})
    systems = SystemClient({name: connection.model_copy(update=quick)})
    builder = RequestBuilder(
        "benchloom add system",
        Path(),
        read_mapping(params, "roles", Role),
        identities={key: model.identity for key, model in models.items()},
    )
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "trial.sqlite")
        budget = Budget(run.budget, list_prices(run, models))
        dispatcher = Dispatcher(ledger, open_client(run, models, budget), budget, run.batch, systems)
        try:
            corpus = CORPUS if isinstance(entry, RagEntry) else ()
            system = build_system(name, entry, corpus, RecordedModel(builder, dispatcher))
            response = asyncio.run(system.answer(question, row="the try"))
        finally:
            dispatcher.close()
            ledger.close()
    if response.text is None:
        raise ModelFailed(f"{name}: {response.problem}")
    return response


def describe_response(response: Response, searches: bool) -> list[str]:
    """Format a system's answer as lines."""
    text = " ".join((response.text or "").split())
    lines = [f"answered: {text[:LONGEST]}{'...' if len(text) > LONGEST else ''}"]
    if response.passages is None:
        lines.append(
            "reports no passages, so errors cannot be attributed to a module (--passages and --ids select "
            "them)"
        )
    else:
        lines.append(f"reports passages: {len(response.passages)} for this question")
    return [*lines, *([] if searches else ["cannot retrieve without answering"])]
