"""Prepares a stage's requests and reads their answers, alike whether they are asked, replayed or planned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from tasks.errors import BadInput
from tasks.models.ask import Prompt, Request, Role, Unparsed, make_request, render_prompt
from tasks.models.embeddings import make_embedding

Value = TypeVar("Value")


class Desk:
    """Prepares a stage's requests: finds its prompts and roles, and keys them."""

    def __init__(
        self,
        stage: str,
        prompts: Path,
        roles: Mapping[str, Role],
        *,
        identities: Mapping[str, str] | None = None,
        epoch: str = "",
    ) -> None:
        """prompts: the stage's folder. identities: model name -> checksum, for embedded models."""
        self.stage, self.prompts, self.roles = stage, prompts, roles
        self.identities, self.epoch = identities or {}, epoch

    def role(self, name: str) -> Role:
        """Find a role. Raises BadInput that names the parameter."""
        if name not in self.roles:
            known = ", ".join(sorted(self.roles)) or "none"
            raise BadInput(f"params.yaml: roles.{name}", f"is missing; {self.stage} asks it (there: {known})")
        return self.roles[name]

    def render(self, prompt: str, fields: Mapping[str, object]) -> Prompt:
        """Render one of the stage's prompts. Raises BadInput where there is no such file."""
        path = self.prompts / f"{prompt}.md"
        try:
            return render_prompt(path, fields)
        except FileNotFoundError as error:
            raise BadInput(path, f"is missing; {self.stage} asks by it") from error

    def request(self, prompt: Prompt, role: Role, attempt: int, **wishes: Any) -> Request:
        """Make the request of one attempt. wishes: grammar, schema, sample, max_tokens, top_logprobs."""
        identity = self.identities.get(role.model, "")
        return make_request(prompt, role, identity=identity, attempt=attempt, epoch=self.epoch, **wishes)

    def embedding(self, text: str, role: Role) -> Request:
        """Make the request that embeds a text."""
        return make_embedding(text, role, identity=self.identities.get(role.model, ""), epoch=self.epoch)


def try_parse(parse: Callable[[str], Value], text: str) -> tuple[Value | None, str | None]:
    """Parse an answer; return its value, or None and why it is none."""
    try:
        return parse(text), None
    except Unparsed as error:
        return None, str(error) or "did not parse"
