"""Build a stage's requests and parse their answers, the same for live, replayed and planned runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tasks.errors import BadInput
from tasks.models.ask import Prompt, Request, Role, make_request, render_prompt
from tasks.models.embeddings import make_embedding
from tasks.models.system_calls import make_system_call

SPEAKERS = ("user", "assistant")


class RequestBuilder:
    """Builds a stage's requests from its prompts and roles."""

    def __init__(
        self,
        stage: str,
        prompts: Path,
        roles: Mapping[str, Role],
        *,
        identities: Mapping[str, str] | None = None,
        epoch: str = "",
    ) -> None:
        """prompts: the stage's prompt folder. identities: model name -> checksum, for embedded models."""
        self.stage, self.prompts, self.roles = stage, prompts, roles
        self.identities, self.epoch = identities or {}, epoch

    def role(self, name: str) -> Role:
        """Find a role by name. Raises BadInput that names the parameter."""
        if name not in self.roles:
            known = ", ".join(sorted(self.roles)) or "none"
            raise BadInput(f"params.yaml: roles.{name}", f"is missing; {self.stage} asks it (there: {known})")
        return self.roles[name]

    def render(
        self, prompt: str | Path, fields: Mapping[str, object], turns: Sequence[tuple[str, str]] = ()
    ) -> Prompt:
        """Render a prompt, with earlier turns before its last message. Raises BadInput if it is missing."""
        path = prompt if isinstance(prompt, Path) else self.prompts / f"{prompt}.md"
        try:
            rendered = render_prompt(path, fields)
        except FileNotFoundError as error:
            raise BadInput(path, f"is missing; {self.stage} asks by it") from error
        if not turns:
            return rendered
        earlier = [
            {"role": role, "content": text}
            for turn in turns
            for role, text in zip(SPEAKERS, turn, strict=True)
        ]
        return replace(rendered, messages=(*rendered.messages[:-1], *earlier, rendered.messages[-1]))

    def request(self, prompt: Prompt, role: Role, attempt: int, **options: Any) -> Request:
        """Make the request of one attempt. options: those of `make_request`."""
        identity = self.identities.get(role.model, "")
        return make_request(prompt, role, identity=identity, attempt=attempt, epoch=self.epoch, **options)

    def embedding(self, text: str, role: Role) -> Request:
        """Make the request that embeds a text."""
        return make_embedding(text, role, identity=self.identities.get(role.model, ""), epoch=self.epoch)

    def system_call(self, name: str, version: str, request: Mapping[str, object]) -> Request:
        """Make the request of one call to a system under test."""
        return make_system_call(name, version, request, epoch=self.epoch)
