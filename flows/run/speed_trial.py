"""Measure an embedded model's speed with two calls: one with a long prompt, one with a long reply."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from flows.run.model_settings import read_models
from flows.run.speeds import Speed
from tasks.errors import BenchloomError
from tasks.lines import say_line
from tasks.models.settings import EmbeddedModel, Endpoint

READ_WORDS, WRITTEN_TOKENS = 100, 24
"""Number of words in the long prompt; number of tokens in the long reply."""
PATIENCE_S = 120.0
"""Timeout of a call in seconds."""
WORD = "harbour "


class SpeedTrial:
    """Measures the speed of a project's embedded models whose files are present; skips other models."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        run, self._models = read_models(params)
        self._endpoints, self._idle_s = run.endpoints, run.idle_s

    def can_try(self, name: str) -> bool:
        """Return whether a model is a language model that this machine can run now."""
        model, endpoint = self._models.get(name), self._endpoints.get(name)
        return model is not None and is_here(model, endpoint)

    def measure(self, name: str) -> Speed | None:
        """Measure a model's speed, which takes a few seconds; None if the model cannot be measured."""
        if not self.can_try(name):
            return None
        from tasks.models.serving.embedded import ensure_server

        say_line(
            f"benchloom: measuring the speed of {name} on this machine; this happens once and takes a few "
            "seconds"
        )
        try:
            url = ensure_server(name, self._models[name], self._idle_s)
            ask(url, name, 1, 1)  # the first call includes the server's deferred start-up work
            reading = ask(url, name, READ_WORDS, 1)
            writing = ask(url, name, 1, WRITTEN_TOKENS)
        except (BenchloomError, OSError, ValueError, KeyError) as error:
            say_line(f"benchloom: the speed of {name} could not be measured: {error}")
            return None
        return solve(reading, writing)


def is_here(model: EmbeddedModel, endpoint: Endpoint | None) -> bool:
    """Return whether a language model's files and library are present and its endpoint has no URL."""
    from tasks.models.serving.embedded import LIBRARIES
    from tasks.models.serving.fetching import has_files

    if model.kind != "embedded" or endpoint is None or endpoint.url is not None:
        return False
    return find_spec(LIBRARIES[model.kind][0]) is not None and has_files(model)


def ask(url: str, name: str, words: int, max_tokens: int) -> tuple[float, int, int]:
    """Call a model with about `words` words; return seconds, prompt tokens and completion tokens.

    Raises OSError, ValueError or KeyError if the server fails.
    """
    # Begin each prompt differently, since a server caches prompts by their beginning.
    text = f"{words} {max_tokens}: " + WORD * words + "Write about the sea."
    message = {"role": "user", "content": text}
    body = {"model": name, "messages": [message], "max_tokens": max_tokens, "temperature": 0}
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE_S)
    started = time.monotonic()
    try:
        head = {"Content-Type": "application/json"}
        connection.request("POST", f"{parts.path}/chat/completions", json.dumps(body), head)
        usage = json.loads(connection.getresponse().read())["usage"]
    except HTTPException as error:
        raise ValueError(f"no answer ({type(error).__name__})") from error
    finally:
        connection.close()
    return time.monotonic() - started, usage["prompt_tokens"], usage["completion_tokens"]


def solve(reading: tuple[float, int, int], writing: tuple[float, int, int]) -> Speed | None:
    """Compute a model's prompt rate p and output rate o from two calls; None if there is no valid solution.

    For each call, seconds = prompt tokens / p + output tokens / o.
    """
    (first_s, prompt, output), (second_s, other_prompt, other_output) = reading, writing
    determinant = prompt * other_output - other_prompt * output
    per_prompt = (first_s * other_output - second_s * output) / determinant if determinant else 0.0
    per_output = (second_s * prompt - first_s * other_prompt) / determinant if determinant else 0.0
    if per_prompt <= 0 or per_output <= 0:
        return None
    return Speed((first_s + second_s) / 2, 1 / per_prompt, 1 / per_output)
