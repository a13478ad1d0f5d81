"""Read JSQuAD (JGLUE, CC BY-SA 4.0): Japanese questions about Wikipedia paragraphs, in SQuAD's layout.

The context of a paragraph is `title [SEP] text`. Several people answered each question; the reference is the
most frequent answer.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NotRequired, TypedDict

from tasks.errors import BadInput

SEPARATOR = "[SEP]"


class _Answer(TypedDict):
    text: str


class _Question(TypedDict):
    id: str
    question: str
    answers: list[_Answer]
    is_impossible: NotRequired[bool]


class _Paragraph(TypedDict):
    context: str
    qas: list[_Question]


class _Article(TypedDict):
    """An article of the published file, before any validation."""

    title: NotRequired[str]
    paragraphs: list[_Paragraph]


@dataclass(frozen=True)
class Paragraph:
    """A paragraph. `id`: `<article index>.<paragraph index>`, because the layout has no ids."""

    id: str
    title: str
    text: str


@dataclass(frozen=True)
class Item:
    """A question. `paragraph`: the id of its paragraph.

    `reference`: the most frequent answer; empty if the question has no answer or is marked as impossible.
    """

    id: str
    title: str
    question: str
    reference: str
    paragraph: str


def read_squad(path: Path) -> tuple[list[Item], list[Paragraph]]:
    """Return the items and paragraphs of a SQuAD-layout file, or of the only JSON file in a folder.

    Raises BadInput if the file or an article is not in the published layout.
    """
    file = _find_file(path)
    try:
        articles = json.loads(file.read_text(encoding="utf-8"))["data"]
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
        raise BadInput(file, f"is not a SQuAD file: {type(error).__name__}: {error}") from error
    items: list[Item] = []
    paragraphs: list[Paragraph] = []
    for number, article in enumerate(articles if isinstance(articles, list) else [articles]):
        try:
            for paragraph, asked in _read_article(number, article):
                paragraphs.append(paragraph)
                items += asked
        except (KeyError, TypeError, AttributeError) as error:
            what = f"article {number} is not in SQuAD's layout: {type(error).__name__}: {error}"
            raise BadInput(file, what) from error
    return items, paragraphs


def _find_file(path: Path) -> Path:
    if not path.is_dir():
        return path
    files = sorted(path.glob("*.json"))
    if len(files) != 1:
        raise BadInput(
            path, f"contains {len(files)} JSON files; expected one", hint="give the path of one file"
        )
    return files[0]


def _read_article(number: int, article: _Article) -> Iterator[tuple[Paragraph, list[Item]]]:
    for place, given in enumerate(article["paragraphs"]):
        head, separator, body = given["context"].partition(SEPARATOR)
        title = article.get("title") or head.strip()
        paragraph = Paragraph(f"{number:04}.{place:03}", title, (body if separator else head).strip())
        yield paragraph, [_read_item(asked, title, paragraph.id) for asked in given["qas"]]


def _read_item(asked: _Question, title: str, paragraph: str) -> Item:
    answers = Counter(answer["text"].strip() for answer in asked["answers"])
    # Among equally frequent answers, most_common returns the first answer.
    reference = answers.most_common(1)[0][0] if answers and not asked.get("is_impossible") else ""
    return Item(asked["id"], title, asked["question"].strip(), reference, paragraph)
