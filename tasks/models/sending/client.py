"""Send requests to model endpoints, with rate limits, a budget, retries and a deadline per call.

The module uses the official `openai` client over its aiohttp transport. The module reads raw responses,
because typed responses would lower the throughput by a fifth. The client's automatic retries are off: they
neither record the possible cost of a lost reply nor respect a deadline for the whole call.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import httpx  # noqa: F401 - openai reads it from sys.modules, where another thread's may be half imported
import httpx2
from openai import AsyncOpenAI

from tasks.errors import BadInput, ModelFailed, ModelRefused
from tasks.models.ask import Request
from tasks.models.incoming import Secret, is_loopback
from tasks.models.recording.entries import UNANSWERED, LedgerEntry
from tasks.models.recording.ledger import PossiblyPaid
from tasks.models.request_builder import is_embedding
from tasks.models.sending.adapting import Adapter
from tasks.models.sending.budget import Amount, Budget, Reservation
from tasks.models.sending.connections import OneReplyClient
from tasks.models.sending.failures import (
    MAX_REDIRECTS,
    SENDING_ERRORS,
    Failure,
    choose_wait,
    classify_failure,
)
from tasks.models.sending.incoming_hooks import IncomingHooks
from tasks.models.sending.provider import ProviderClient
from tasks.models.sending.rate_limiter import Permit, RateLimiter
from tasks.models.sending.replies import (
    CHAT,
    build_post,
    estimate_worst_case,
    make_entry,
    read_body,
    read_replies,
)
from tasks.models.sending.results import CallResult, RecordEntries
from tasks.models.settings import Endpoint, read_secret

REFUSED_ALIKE = 10
"""If an endpoint has answered nothing and refuses this many items with the same message, it counts as
refusing all requests."""
KEY_HEADER = "X-Benchloom-Key"
"""Header with the ledger keys of a request; it is sent only to loopback servers, such as the ledger
server."""
MAX_KEYS_IN_HEADER = 100
"""Maximum number of ledger keys in the header, so that the keys fit into one header line."""

LocateServer = Callable[[str], Awaitable[str]]
"""Function that returns the base URL of a model's embedded server, and starts the server if necessary."""


class EndpointClient:
    """An endpoint with its settings, rate limiter and connections."""

    def __init__(self, name: str, settings: Endpoint) -> None:
        self.name, self.settings = name, settings
        self.limiter = RateLimiter(name, settings)
        self.adapter = Adapter(settings.token_limit)
        self.refusals: Counter[str] = Counter()
        """Error message -> number of items refused with this message before the endpoint's first answer."""
        self.refuses: Failure | None = None
        """The failure to report for every request, if the endpoint is known to refuse all requests."""
        place = f"params.yaml: run.endpoints.{name}"
        self._headers = {
            header: read_secret(f"{place}.headers.{header}", variable)
            for header, variable in settings.headers.items()
        }
        self._secret = Secret(read_secret(place, settings.key_env), *self._headers.values())
        self._clients: dict[str, AsyncOpenAI] = {}
        is_provider = settings.kind == "provider"
        self.provider = ProviderClient(name, settings, self._secret) if is_provider else None

    def open(self, url: str) -> AsyncOpenAI:
        """Return the client for a base URL; an embedded model's URL changes when its server restarts."""
        if url not in self._clients:
            # Later than the timeout in `_exchange`, which ends an attempt and also respects the deadline.
            timeout_s = self.settings.timeout_s + 5
            hooks = IncomingHooks(url, self._secret, self.settings)
            http = OneReplyClient(
                timeout=timeout_s,
                # A proxy from the environment must not be used for loopback addresses.
                trust_env=not is_loopback(url),
                max_redirects=MAX_REDIRECTS,
                event_hooks={"request": [hooks.check_request], "response": [hooks.read_response]},
            )
            self._clients[url] = AsyncOpenAI(
                # The library rejects a request without a key, even if the server needs none.
                api_key=self._secret.value or "none",
                base_url=url,
                default_headers=self._headers,
                default_query=dict(self.settings.query),
                max_retries=0,
                timeout=timeout_s,
                http_client=http,
            )
        return self._clients[url]

    def require_willing(self) -> None:
        """Raise ModelRefused if the endpoint is known to refuse every request."""
        if self.refuses is not None:
            raise ModelRefused(f"{self.name}: the endpoint {self.refuses.problem}")

    def build_post(self, requests: Sequence[Request]) -> tuple[str, dict[str, object]]:
        """Return the path and body of a POST request, without parameters that the endpoint refuses."""
        path, body = build_post(requests, self.settings)
        if path == CHAT:
            body["stream"] = False
        self.adapter.adapt(body)
        return path, body

    async def close(self) -> None:
        """Close the connections."""
        for client in self._clients.values():
            await client.close()
        self._clients.clear()
        if self.provider is not None:
            await self.provider.close()


@dataclass
class SendState:
    """The state of one `ModelClient.send` call: the requests, and the attempts and seconds so far."""

    endpoint: EndpointClient
    requests: Mapping[str, Request]
    admit: Callable[[str], bool]
    record_entries: RecordEntries | None
    attempts: int = 0
    used_s: float = 0.0
    """Seconds spent in exchanges with the endpoint and in waits between attempts."""
    url: str = ""
    """The base URL of the last attempt."""
    sent_without: frozenset[str] = frozenset()
    """Parameters that the last attempt omitted, because the endpoint had refused them (`Adapter.refused`)."""
    answered_before: int = 0
    """Number of calls that the endpoint had answered before the first attempt."""


def describe_problem(state: SendState, failure: Failure) -> str:
    """Describe how the last attempt failed, with the URL if the endpoint could not be reached."""
    unreached = failure.kind == "broken" and not failure.paid
    return f"{state.url} {failure.problem}" if unreached else failure.problem


def is_of_item(state: SendState, failure: Failure) -> bool:
    """Return whether a final failure affects only this request, so that other requests may continue.

    A refusal affects only its request if `failure.item` is True, unless the endpoint has answered nothing
    and refuses REFUSED_ALIKE items with the same message. Also sets `EndpointClient.refuses` if the endpoint
    refuses all requests.

    A reply that is still broken after all retries affects only its request if the endpoint has answered
    other requests since the first attempt, and does not count as down. A failed embedding always affects the
    whole endpoint.
    """
    endpoint = state.endpoint
    if any(is_embedding(request) for request in state.requests.values()):
        return False
    if failure.retry:
        others_answered = endpoint.limiter.answers > state.answered_before
        return failure.paid and others_answered and not endpoint.limiter.is_broken
    if not failure.item and failure.kind == "refused":
        endpoint.refuses = failure
    elif not endpoint.limiter.answers:
        endpoint.refusals[failure.problem] += 1
        if endpoint.refusals[failure.problem] >= REFUSED_ALIKE:
            endpoint.refuses = failure
            return False
    return failure.item


def make_unanswered(key: str, model: str, failure: Failure, attempts: int) -> LedgerEntry:
    """Return the ledger entry of a call without an answer."""
    text = f"the endpoint {failure.problem}"
    return LedgerEntry(key, text, UNANSWERED, 0, 0, attempts=attempts, at=time.time(), model=model)


def without_model(extra: Mapping[str, object]) -> dict[str, object]:
    """Return `extra` without the model, which is a local file name in an embedded server's reply."""
    return {name: value for name, value in extra.items() if name != "model"}


def advise(failure: Failure) -> str:
    """Return a hint about settings if the endpoint refused a parameter, otherwise ""."""
    if failure.words & {"unknown_parameter", "unsupported_parameter", "unsupported_value"}:
        return " (in its run.endpoints entry, `token_limit` renames the limit, `omit` removes a parameter)"
    return ""


class ModelClient:
    """Sends requests to all endpoints of a run, in one event loop; other threads use the dispatcher."""

    def __init__(
        self,
        endpoints: Mapping[str, Endpoint],
        budget: Budget,
        *,
        locate: LocateServer | None = None,
        record_possibly_paid: Callable[[PossiblyPaid], None] = lambda _: None,
    ) -> None:
        self._settings, self._budget = endpoints, budget
        self._locate, self._record_possibly_paid = locate, record_possibly_paid
        self._endpoints: dict[str, EndpointClient] = {}

    async def send(
        self,
        requests: Mapping[str, Request],
        admit: Callable[[str], bool] = lambda _: True,
        record_entries: RecordEntries | None = None,
    ) -> dict[str, CallResult]:
        """Send one question, or several texts to embed, to one model; retry until a usable reply arrives.

        `requests`: ledger key -> request. `admit`: called for each key immediately before each attempt; if it
        returns False, the request is not sent and is missing from the result. `record_entries`: records the
        replies; the call counts as in flight until this function returns.

        The entry of a request has no answer (UNANSWERED) if the endpoint refuses this request, or sends no
        usable reply although it answers other requests.

        Raises BudgetSpent. Raises ModelFailed if the endpoint still fails after the last retry or the
        deadline, ModelRefused if it refuses all requests, and BadInput if the model has no endpoint.
        """
        endpoint = self.find_endpoint(next(iter(requests.values())).model)
        state, limit = SendState(endpoint, requests, admit, record_entries), endpoint.settings
        state.answered_before = endpoint.limiter.answers
        while True:
            result = await self._try(state)
            if not isinstance(result, Failure):
                return result
            if endpoint.adapter.learn(result, state.sent_without, requests.values()):
                continue
            wait_s = choose_wait(state.attempts, result)
            is_last = state.attempts > limit.retries or state.used_s + wait_s >= limit.deadline_s
            if not result.retry or is_last:
                return await self._give_up(state, result)
            await asyncio.sleep(wait_s)
            state.used_s += wait_s

    async def _give_up(self, state: SendState, failure: Failure) -> dict[str, CallResult]:
        """Record requests as unanswered. Raises ModelFailed or ModelRefused if the whole endpoint fails."""
        endpoint = state.endpoint
        if not is_of_item(state, failure):
            told = f"the endpoint {describe_problem(state, failure)}"
            if failure.retry:
                tries = f"{state.attempts} {'try' if state.attempts == 1 else 'tries'}"
                told = f"no usable reply after {tries} in {state.used_s:.0f} s; {told}"
            kind = ModelFailed if failure.retry else ModelRefused
            raise kind(f"{endpoint.name}: {told}{advise(failure)}")
        entries = [make_unanswered(key, endpoint.name, failure, state.attempts) for key in state.requests]
        if state.record_entries is not None:
            await state.record_entries(entries)
        return {entry.key: CallResult(entry, live=True) for entry in entries}

    async def close(self) -> None:
        """Close all connections."""
        for endpoint in self._endpoints.values():
            await endpoint.close()

    def list_failing(self) -> list[str]:
        """Return a report line for each endpoint with at least two consecutive failures."""
        # A copy, because the event loop's thread may add an endpoint during the iteration.
        reports = [endpoint.limiter.failure_report for endpoint in list(self._endpoints.values())]
        return [report for report in reports if report]

    def list_notes(self) -> list[str]:
        """Return a line for each parameter that is removed or renamed for an endpoint."""
        endpoints = list(self._endpoints.values())
        return [
            f"{endpoint.name}: {note}" for endpoint in endpoints for note in endpoint.adapter.list_notes()
        ]

    def find_endpoint(self, model: str) -> EndpointClient:
        """Return the client of a model's endpoint. Raises BadInput if no endpoint is configured."""
        if model not in self._endpoints:
            settings = self._settings.get(model)
            if settings is None:
                known = ", ".join(sorted(self._settings)) or "none"
                raise BadInput(f"params.yaml: run.endpoints.{model}", f"is missing (known: {known})")
            self._endpoints[model] = EndpointClient(model, settings)
        return self._endpoints[model]

    async def _try(self, state: SendState) -> dict[str, CallResult] | Failure:
        """Send one attempt once the rate limiter and the budget admit it; return {} if `admit` rejects it."""
        endpoint, worst_case = state.endpoint, estimate_worst_case(state.requests.values())
        permit = await endpoint.limiter.acquire(sum(worst_case))
        reservation = None
        try:
            # The endpoint may have refused all requests while this request was waiting.
            endpoint.require_willing()
            reservation = await self._budget.reserve(endpoint.name, *worst_case)
            url = state.url = await self.find_url(endpoint)
            chosen = {key: request for key, request in state.requests.items() if state.admit(key)}
        except BaseException:
            self._release_unsent(endpoint, permit, reservation)
            raise
        if not chosen:
            self._release_unsent(endpoint, permit, reservation)
            return {}
        # The deadline starts now, so it excludes waits for the rate limiter and the budget.
        started = time.monotonic()
        state.attempts += 1
        state.sent_without = endpoint.adapter.refused
        try:
            return await self._exchange(state, url, chosen, permit, reservation)
        finally:
            state.used_s += time.monotonic() - started

    async def _exchange(
        self,
        state: SendState,
        url: str,
        chosen: Mapping[str, Request],
        permit: Permit,
        reservation: Reservation,
    ) -> dict[str, CallResult] | Failure:
        endpoint, started = state.endpoint, time.monotonic()
        timeout_s = min(endpoint.settings.timeout_s, endpoint.settings.deadline_s - state.used_s)
        try:
            async with asyncio.timeout(timeout_s):
                raw = await self._post(endpoint, url, chosen)
            strips = endpoint.settings.reasoning == "strip"
            replies = read_replies(read_body(raw), list(chosen.values()), strips_reasoning=strips)
        except SENDING_ERRORS as error:
            failure = classify_failure(error)
            self._account(reservation, chosen, failure.problem, paid=failure.paid, times=failure.times)
            endpoint.limiter.release_failed(permit, failure, failure.wait_s or 0.0)
            return failure
        except BaseException as error:
            self._account(reservation, chosen, f"interrupted ({type(error).__name__})", paid=True)
            endpoint.limiter.release_unsent(permit)
            raise
        if endpoint.settings.kind == "embedded":
            replies = [replace(reply, extra=without_model(reply.extra)) for reply in replies]
        prompt = sum(reply.prompt_tokens for reply in replies)
        completion = sum(reply.completion_tokens for reply in replies)
        self._budget.settle(reservation, prompt, completion)
        latency_s = round(time.monotonic() - started, 3)
        entries = [
            replace(
                make_entry(key, reply),
                latency_s=latency_s,
                attempts=state.attempts,
                at=time.time(),
                model=endpoint.name,
            )
            for key, reply in zip(chosen, replies, strict=True)
        ]
        try:
            # The permit is released only after the reply is on disk, so killing the process loses only calls
            # in flight.
            if state.record_entries is not None:
                await state.record_entries(entries)
        finally:
            endpoint.limiter.release_answered(permit, prompt + completion)
        return {
            entry.key: CallResult(entry, live=True, cost=self._price(endpoint, entry)) for entry in entries
        }

    def _release_unsent(
        self, endpoint: EndpointClient, permit: Permit, reservation: Reservation | None
    ) -> None:
        endpoint.limiter.release_unsent(permit)
        if reservation is not None:
            self._budget.release(reservation)

    def _price(self, endpoint: EndpointClient, entry: LedgerEntry) -> Amount:
        return self._budget.price(endpoint.name, entry.prompt_tokens, entry.completion_tokens)

    async def find_url(self, endpoint: EndpointClient) -> str:
        """Return an endpoint's base URL; start the server of an embedded model if necessary."""
        if endpoint.settings.url is not None:
            return endpoint.settings.url
        if self._locate is None:
            raise BadInput(f"params.yaml: run.endpoints.{endpoint.name}", "has no url")
        return await self._locate(endpoint.name)

    async def _post(self, endpoint: EndpointClient, url: str, chosen: Mapping[str, Request]) -> bytes:
        if endpoint.provider is not None:
            return await endpoint.provider.complete(*chosen.values())
        sends_keys = is_loopback(url) and len(chosen) <= MAX_KEYS_IN_HEADER
        headers = {KEY_HEADER: ",".join(chosen)} if sends_keys else {}
        path, body = endpoint.build_post(list(chosen.values()))
        response = await endpoint.open(url).post(
            path, cast_to=httpx2.Response, body=body, options={"headers": headers}
        )
        return response.content

    def _account(
        self,
        reservation: Reservation,
        chosen: Mapping[str, Request],
        problem: str,
        *,
        paid: bool,
        times: int = 1,
    ) -> None:
        if not paid:
            self._budget.release(reservation)
            return
        self._budget.record_possibly_paid(reservation, times)
        for key, request in [*chosen.items()] * times:
            prompt, max_tokens = estimate_worst_case([request])
            self._record_possibly_paid(
                PossiblyPaid(key, request.model, problem, prompt, max_tokens, time.time())
            )
