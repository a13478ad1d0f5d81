"""Items about a few countries, articles about these countries, and a scripted `ask`."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tasks.tanq
from tasks.artifacts.parquet import write_rows
from tasks.artifacts.rows import Origin, make_id
from tasks.models.ask import Answer, render_prompt, try_parse
from tasks.sources.wikipedia.rows import ArticleRow, PartRow
from tasks.tanq.build.skill_use import SkillUse
from tasks.tanq.build.tanq_item import FinalCell, FinalColumn, FinalRow, ItemProof, TanqItem
from tasks.tanq.labels import Support

PROMPTS = Path(tasks.tanq.__file__).parent / "prompts"
CAPITALS = {"Norway": "Oslo", "Sweden": "Stockholm", "Denmark": "Copenhagen", "France": "Paris",
            "Spain": "Madrid", "Italy": "Rome", "Japan": "Tokyo", "Kenya": "Nairobi"}  # fmt: skip


def make_proof(country: str, number: int = 0) -> ItemProof:
    text = f"{CAPITALS[country]} is the capital of {country}."
    return ItemProof(
        f"p-{country}-{number}", f"f-{country}", country, "P36", CAPITALS[country], country, 7, "History", "",
        number, "text", (), "", text, Support.SUPPORTED,
    )  # fmt: skip


def make_item(
    name: str, countries: Sequence[str], *, kind: str = "simple", skills: Sequence[str] = (), seed: str = ""
) -> TanqItem:
    rows = tuple(
        FinalRow(country, country, True, (FinalCell((CAPITALS[country],), (f"f-{country}",)),))
        for country in countries
    )
    lines = ["entity|capital", *(f"{country}|{CAPITALS[country]}" for country in countries)]
    return TanqItem(
        id=name, kind=kind, shape="s", init_qid=seed or f"q-{name}", init_question="", ext_question="",
        ext_question_rephrased="", ext_question_cleaned="", question=f"What are the capitals in {name}?",
        noun="countries", relations=("P36",), extended_types=(),
        skills=tuple(SkillUse(skill, "P36", "", "", "", "") for skill in skills),
        columns=(FinalColumn("P36", "capital", "item", ""),), rows=rows, answer_table="\n".join(lines),
        intermediates=(), things=(), instance_type=(), init_answer_proof=(),
        proofs=tuple(make_proof(country) for country in countries), source="graph",
        origin=(Origin("file", "x"),),
    )  # fmt: skip


def write_articles(folder: Path) -> Path:
    """Write imported Wikipedia articles about the countries and two others."""
    articles, parts = [], []
    for title, capital in CAPITALS.items():
        lines = [f"{title} is a country.", f"{capital} is the capital of {title}."]
        box = PartRow(title, 2, "infobox", "", "", ("capital", "Capital"), capital, 0, None, None)
        parts += [
            PartRow(title, n, "text", "", "", (), line, None, None, None) for n, line in enumerate(lines)
        ]
        parts += [box, PartRow(title, 3, "text", "History", "", (), f"{title} is old.", None, None, None)]
        aliases = (f"Kingdom of {title}",) if title in ("Norway", "Sweden") else ()
        articles.append(ArticleRow(title, None, 7, aliases, 4, "", ""))
    write_rows(folder / "articles.parquet", ArticleRow, articles)
    write_rows(folder / "parts.parquet", PartRow, parts)
    return folder


class ScriptedTables:
    """Replies by a function of the prompt's name and text; stores the requests."""

    def __init__(self, reply: Callable[[str, str], str], attempts: int = 1) -> None:
        self.reply, self.attempts = reply, attempts
        self.asked: list[tuple[str, str]] = []
        self.more: list[Mapping[str, Any]] = []

    async def __call__(
        self, prompt: str, fields: Mapping[str, object], *, role: str, row: str, parse: Callable[[str], Any],
        max_tokens: int = 0, **more: Any,
    ) -> Answer[Any]:  # fmt: skip
        rendered = render_prompt(PROMPTS / f"{prompt}.md", fields)
        text = "\n".join(message["content"] for message in rendered.messages)
        for attempt in range(self.attempts):
            self.asked.append((prompt, text))
            self.more.append({"role": role, "row": row, "max_tokens": max_tokens, **more})
            reply = self.reply(prompt, text)
            value, problem = try_parse(parse, reply, max_tokens)
            tries = attempt + 1
            if problem is None:
                break
        return Answer(value, reply, make_id(prompt, row, text), tries, problem or "")
