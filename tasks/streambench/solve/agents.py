"""Define the agents that answer prompts: the model of a role, or the user's system."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tasks.models.ask import Ask, render_prompt, try_parse
from tasks.systems.contract import System

PROMPTS = Path(__file__).parents[1] / "prompts"


@dataclass(frozen=True)
class AgentReply:
    """The reply of an agent. value: the parsed reply; if None, `problem` has the reason."""

    text: str
    value: str | None
    problem: str
    calls: tuple[str, ...]


class RoleAgents:
    """Sends prompts to models; each agent is a role in params.yaml."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def ask(
        self,
        agent: str,
        prompt: Path,
        fields: Mapping[str, object],
        *,
        row: str,
        parse: Callable[[str], str],
        max_tokens: int,
        item: str,
    ) -> AgentReply:
        """Send a prompt to the role's model. Raises ModelFailed, BudgetSpent or CallMissing."""
        answer = await self._ask(prompt, fields, role=agent, row=row, parse=parse, max_tokens=max_tokens)
        return AgentReply(answer.text, answer.value, answer.problem, (answer.call,))


class SystemAgent:
    """An agent that sends prompts to a system under test, with all messages joined by blank lines."""

    def __init__(self, system: System) -> None:
        self._system = system

    async def ask(
        self,
        agent: str,
        prompt: Path,
        fields: Mapping[str, object],
        *,
        row: str,
        parse: Callable[[str], str],
        max_tokens: int,
        item: str,
    ) -> AgentReply:
        """Send a prompt to the system, ignoring `max_tokens`."""
        messages = render_prompt(prompt, fields).messages
        question = "\n\n".join(message["content"] for message in messages)
        response = await self._system.answer(question, row=row, item=item)
        if response.text is None:
            return AgentReply("", None, response.problem or "no answer", response.calls)
        text = response.text.encode("utf-8", "replace").decode()
        value, problem = try_parse(parse, text)
        return AgentReply(text, value, problem or "", response.calls)


StreamAgents = RoleAgents | SystemAgent
"""The agents of a stage; the parameter `agent` of `ask` selects an agent."""
