"""Call a provider through the provider's library, using any-llm.

Requests and replies have the format of OpenAI's chat completions, the only format that the budget and the
ledger support. This module sends each request once; `ModelClient` handles retries.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import httpx

from tasks.errors import BadInput
from tasks.models.ask import Request
from tasks.models.incoming import Secret, is_loopback
from tasks.models.request_builder import is_embedding
from tasks.models.sending.connections import OneReplyHttpx
from tasks.models.sending.failures import MAX_REDIRECTS, ProviderFailed
from tasks.models.sending.incoming_hooks import IncomingHooks
from tasks.models.sending.replies import build_body
from tasks.models.settings import Endpoint

if TYPE_CHECKING:
    from any_llm import AnyLLM

NO_FIELD = frozenset({"grammar"})
"""Fields of a request body that no provider's protocol supports."""


@dataclass
class Sending:
    """Whether a call was sent; an unsent call costs nothing.

    A provider's library may raise an error before sending.
    """

    begun: bool = False


SENDING: ContextVar[Sending] = ContextVar("SENDING")
"""The `Sending` object of the current call, which a hook of the HTTP library updates."""


async def note_sending(request: httpx.Request) -> None:
    """Record that the request of the current context is being sent."""
    SENDING.get().begun = True


class ProviderClient:
    """An endpoint of kind `provider`. Must be used from a single event loop."""

    def __init__(self, name: str, settings: Endpoint, secret: Secret) -> None:
        """Store the settings; `complete` loads the library. Raises BadInput if the library is missing."""
        self._name, self._settings, self._secret = name, settings, secret
        self._api: AnyLLM | None = None
        self._http: httpx.AsyncClient | None = None
        if find_spec("any_llm") is None:
            what = "is of kind provider, which needs a library that is not installed"
            raise BadInput(self._place, what, hint="run pip install 'benchloom[providers]'")

    async def complete(self, request: Request) -> bytes:
        """Send a request once; return the reply as the body of a chat completion.

        Raises ProviderFailed for errors of the provider's library, and BadInput for an embedding request.
        """
        if is_embedding(request):
            raise BadInput(
                self._place,
                "is of kind provider, which cannot embed texts",
                hint="see docs/providers.md",
            )
        api, sending = self._open(), Sending()
        SENDING.set(sending)
        from any_llm.exceptions import AnyLLMError

        body = build_body(request, self._settings)
        fields: dict[str, Any] = {name: value for name, value in body.items() if name not in NO_FIELD}
        try:
            # reasoning_effort=None disables reasoning. With any-llm's default, the provider would decide, and
            # the decision would not be part of the call's key.
            reply: Any = await api.acompletion(
                **fields, reasoning_effort=None, timeout=self._settings.timeout_s
            )
            text: str = reply.model_dump_json()
        except AnyLLMError as error:
            raise self._describe(error, sent=sending.begun) from error.original_exception
        except NotImplementedError as error:
            raise ProviderFailed(self._clean(str(error)), sent=False) from error
        except ValueError as error:  # from pydantic, if a field has the wrong type or text is not UTF-8
            raise ProviderFailed(type(error).__name__, sent=sending.begun) from error
        return text.encode()

    async def close(self) -> None:
        """Close the connections."""
        if self._http is not None:
            await self._http.aclose()

    @property
    def _place(self) -> str:
        return f"params.yaml: run.endpoints.{self._name}"

    def _open(self) -> AnyLLM:
        if self._api is not None:
            return self._api
        from any_llm import AnyLLM

        url = self._settings.url or ""
        hooks = IncomingHooks(url, self._secret, self._settings, httpx)
        self._http = OneReplyHttpx(
            timeout=self._settings.timeout_s + 5,
            # A proxy from the environment must not be used for loopback addresses.
            trust_env=not is_loopback(url),
            follow_redirects=True,
            max_redirects=MAX_REDIRECTS,
            event_hooks={
                "request": [note_sending, hooks.check_request],
                "response": [hooks.read_response],
            },
        )
        self._api = AnyLLM.create(
            self._settings.provider or "",
            api_key=self._secret.value or "none",
            api_base=url,
            unified_exceptions=True,
            max_retries=0,
            http_client=self._http,
        )
        return self._api

    def _describe(self, error: Any, *, sent: bool) -> ProviderFailed:
        cause = error.original_exception
        headers: Mapping[str, str] = getattr(getattr(cause, "response", None), "headers", None) or {}
        status = error.status_code if error.status_code and error.status_code >= 300 else None
        return ProviderFailed(
            self._clean(read_message(error, cause)), sent=sent, status=status, headers=headers
        )

    def _clean(self, text: str) -> str:
        return self._secret.remove(text)


def read_message(error: Any, cause: Any) -> str:
    """Return a provider's error message, from the response body if possible."""
    body = getattr(cause, "body", None)
    for part in (body.get("error"), body) if isinstance(body, dict) else ():
        if isinstance(part, dict) and isinstance(part.get("message"), str):
            return str(part["message"])
    return str(error.message)
