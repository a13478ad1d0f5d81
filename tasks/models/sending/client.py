"""Send requests to model endpoints: rate limit, budget, retries, one deadline per call.

Uses the official `openai` client over its aiohttp transport and takes raw responses: building typed
ones costs a fifth of the calls per second. The client's own retries are off, since they neither
record what a lost reply may have cost nor end at one deadline.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import httpx  # noqa: F401 - at each call openai takes it from sys.modules, where another thread's may be half there
import httpx2
from openai import AsyncOpenAI, DefaultAioHttpClient

from tasks.errors import BadInput, ModelFailed
from tasks.models.ask import Request
from tasks.models.incoming import Secret, is_loopback
from tasks.models.recording.entries import LedgerEntry
from tasks.models.recording.ledger import PossiblyPaid
from tasks.models.sending.budget import NOTHING, Amount, Budget, Reservation
from tasks.models.sending.failures import SENDING_ERRORS, Failure, choose_wait, classify_failure
from tasks.models.sending.incoming_hooks import IncomingHooks
from tasks.models.sending.provider import ProviderClient
from tasks.models.sending.rate_limiter import Permit, RateLimiter
from tasks.models.sending.replies import build_post, estimate_prompt, make_entry, read_body, read_replies
from tasks.models.settings import Endpoint, read_secret

KEY_HEADER = "X-Benchloom-Key"
MAX_KEYS_IN_HEADER = 100
"""How many ledger keys fit into one header line."""

LocateServer = Callable[[str], Awaitable[str]]
"""Model name -> base URL of its embedded server, which is started if it is not running."""
RecordEntries = Callable[[Iterable[LedgerEntry]], Awaitable[None]]
"""Record entries in the ledger; they are on disk when it returns."""


@dataclass(frozen=True)
class CallResult:
    """The ledger entry that answers a request, and whether it was asked now (`live`, at a cost)."""

    entry: LedgerEntry
    live: bool
    cost: Amount = NOTHING


class EndpointClient:
    """One endpoint: its settings, rate limiter and connections."""

    def __init__(self, name: str, settings: Endpoint) -> None:
        self.name, self.settings = name, settings
        self.limiter = RateLimiter(name, settings)
        self._secret = Secret(read_secret(f"params.yaml: run.endpoints.{name}", settings.key_env))
        self._clients: dict[str, AsyncOpenAI] = {}
        is_provider = settings.kind == "provider"
        self.provider = ProviderClient(name, settings, self._secret) if is_provider else None

    def open(self, url: str) -> AsyncOpenAI:
        """Return the client for a base URL; an embedded model's URL changes when its server restarts."""
        if url not in self._clients:
            timeout_s = self.settings.timeout_s + 5
            hooks = IncomingHooks(url, self._secret, self.settings)
            http = DefaultAioHttpClient(
                timeout=timeout_s,
                # A proxy named in the environment is not meant for loopback ports.
                trust_env=not is_loopback(url),
                event_hooks={"request": [hooks.check_request], "response": [hooks.read_response]},
            )
            self._clients[url] = AsyncOpenAI(
                api_key=self._secret.value or "none",
                base_url=url,
                max_retries=0,
                timeout=timeout_s,
                http_client=http,
            )
        return self._clients[url]

    async def close(self) -> None:
        """Close the connections."""
        for client in self._clients.values():
            await client.close()
        self._clients.clear()
        if self.provider is not None:
            await self.provider.close()


@dataclass
class SendState:
    """The state of one `ModelClient.send`: what is to be sent, attempts and seconds used so far."""

    endpoint: EndpointClient
    requests: Mapping[str, Request]
    admit: Callable[[str], bool]
    record_entries: RecordEntries | None
    attempts: int = 0
    used_s: float = 0.0
    """Time spent by the endpoint and waiting between attempts."""
    url: str = ""
    """Where the last attempt went."""


def describe_problem(state: SendState, failure: Failure) -> str:
    """Say how the last attempt failed, and where it went if nobody answered there."""
    unreached = failure.kind == "broken" and not failure.paid
    return f"{state.url} {failure.problem}" if unreached else failure.problem


class ModelClient:
    """All endpoints of a run, in one event loop; see `tasks.models.sending.dispatcher` for threads."""

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
        """Send requests of one model until a usable reply comes: one question, or texts to embed.

        requests: by ledger key. admit: asked for each key right before each attempt; refused keys are
        not sent and missing from the result. record_entries: records the replies; the call counts as
        in flight until it returns.
        Raises ModelFailed after the last retry or the deadline, or at once if the endpoint refuses
        the request; BudgetSpent; BadInput if the endpoint is not set up.
        """
        endpoint = self.find_endpoint(next(iter(requests.values())).model)
        state, limit = SendState(endpoint, requests, admit, record_entries), endpoint.settings
        while True:
            result = await self._try(state)
            if not isinstance(result, Failure):
                return result
            if not result.retry:
                raise ModelFailed(f"{endpoint.name}: the endpoint {describe_problem(state, result)}")
            wait_s = choose_wait(state.attempts, result)
            if state.attempts > limit.retries or state.used_s + wait_s >= limit.deadline_s:
                raise ModelFailed(
                    f"{endpoint.name}: no usable reply after {state.attempts} "
                    f"{'try' if state.attempts == 1 else 'tries'} in {state.used_s:.0f} s; "
                    f"the endpoint {describe_problem(state, result)}"
                )
            await asyncio.sleep(wait_s)
            state.used_s += wait_s

    async def close(self) -> None:
        """Close all connections."""
        for endpoint in self._endpoints.values():
            await endpoint.close()

    def list_failing(self) -> list[str]:
        """Describe the endpoints whose last calls all failed, a line each."""
        reports = [endpoint.limiter.failure_report for endpoint in list(self._endpoints.values())]
        return [report for report in reports if report]

    def find_endpoint(self, model: str) -> EndpointClient:
        """Find a model's endpoint. Raises BadInput if none is set up."""
        if model not in self._endpoints:
            settings = self._settings.get(model)
            if settings is None:
                known = ", ".join(sorted(self._settings)) or "none"
                raise BadInput(f"params.yaml: run.endpoints.{model}", f"is missing (there: {known})")
            self._endpoints[model] = EndpointClient(model, settings)
        return self._endpoints[model]

    async def _try(self, state: SendState) -> dict[str, CallResult] | Failure:
        """Make one attempt, once the rate limiter and the budget allow it."""
        endpoint, worst_case = state.endpoint, estimate_worst_case(state.requests.values())
        permit = await endpoint.limiter.acquire(sum(worst_case))
        reservation = None
        try:
            reservation = await self._budget.reserve(endpoint.name, *worst_case)
            url = state.url = await self.find_url(endpoint)
            chosen = {key: request for key, request in state.requests.items() if state.admit(key)}
        except BaseException:
            self._release_unsent(endpoint, permit, reservation)
            raise
        if not chosen:
            self._release_unsent(endpoint, permit, reservation)
            return {}
        # Time in the queue does not count against the deadline.
        started = time.monotonic()
        state.attempts += 1
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
            replies = read_replies(read_body(raw), list(chosen.values()))
        except SENDING_ERRORS as error:
            failure = classify_failure(error)
            self._account(reservation, chosen, failure.problem, paid=failure.paid)
            endpoint.limiter.release_failed(permit, failure, failure.wait_s or 0.0)
            return failure
        except BaseException as error:
            self._account(reservation, chosen, f"interrupted ({type(error).__name__})", paid=True)
            endpoint.limiter.release_unsent(permit)
            raise
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
            # The permit is released once the reply is on disk: a kill then loses only calls in flight.
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
        """Find an endpoint's base URL; an embedded model's server is started if necessary."""
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
        settings = endpoint.settings
        path, body = build_post(list(chosen.values()), settings.served_model, settings.omit)
        response = await endpoint.open(url).post(
            path, cast_to=httpx2.Response, body=body, options={"headers": headers}
        )
        return response.content

    def _account(
        self, reservation: Reservation, chosen: Mapping[str, Request], problem: str, *, paid: bool
    ) -> None:
        if not paid:
            self._budget.release(reservation)
            return
        self._budget.record_possibly_paid(reservation)
        for key, request in chosen.items():
            prompt, max_tokens = estimate_worst_case([request])
            self._record_possibly_paid(
                PossiblyPaid(key, request.model, problem, prompt, max_tokens, time.time())
            )


def estimate_worst_case(requests: Iterable[Request]) -> tuple[int, int]:
    """Estimate the most tokens that requests can cost, as (prompt tokens, completion tokens)."""
    tokens = [(estimate_prompt(request), int(request.decoding.get("max_tokens", 0))) for request in requests]
    return sum(prompt for prompt, _ in tokens), sum(completion for _, completion in tokens)
