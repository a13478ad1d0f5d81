"""An endpoint on loopback that writes random texts allowed by the grammar, and reads documents."""

import hashlib
import random
import re

from aiohttp import web

from tasks.grammar.corpus.sentence_rules import list_telling
from tasks.grammar.corpus.vocabulary import stem
from tests.grammar.gbnf import parse_grammar

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


async def write_reply(request: web.Request) -> web.Response:
    """Answer a chat completion, by its grammar alone or from the document in the prompt."""
    body = await request.json()
    prompt = body["messages"][-1]["content"]
    seed = hashlib.sha256(f"{prompt}{body.get('seed')}{body['grammar']}".encode()).hexdigest()
    if "Questions\n" in prompt:
        text = read_document(prompt)
    elif body["grammar"] == 'root ::= "yes" | "no"':
        text = "no"
    else:
        text = write_text(body["grammar"], random.Random(seed))
    return web.json_response(
        {
            "id": "x", "object": "chat.completion", "created": 0, "model": body["model"],
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            ],
            "usage": {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(text) // 4,
                      "total_tokens": (len(prompt) + len(text)) // 4},
        }
    )  # fmt: skip


def read_document(prompt: str) -> str:
    """Return the sentence that names the attribute, from a paragraph that names the subject."""
    document, _, questions = prompt.partition("Questions\n")
    said = []
    for number, attribute, subject in re.findall(r"(\d+)\. What is the (.+?) of ([A-Z].*)\?", questions):
        telling = list_telling(attribute)
        sentences = (
            sentence
            for paragraph in document.splitlines()
            if subject in paragraph
            for sentence in re.split(r"(?<=\.) (?=[A-Z])", paragraph)
        )
        found = next(
            (sentence for sentence in sentences if telling <= set(map(stem, sentence.split()))), "not stated"
        )
        said.append(f"{number}. {found[:140]}")
    return "\n".join(said)


def write_text(grammar: str, rng: random.Random) -> str:
    """Return a random text that a grammar allows."""
    rules = parse_grammar(grammar)
    return "".join(_write(rules, rules["root"], rng))


def _write(rules, node, rng):
    kind, what = node[0], node[1]
    if kind == "text":
        yield what
    elif kind == "class":
        yield rng.choice([letter for letter in LETTERS if what.match(letter)])
    elif kind == "rule":
        yield from _write(rules, rules[what], rng)
    elif kind == "repeat":
        for _ in range(rng.randint(node[2], node[3])):
            yield from _write(rules, what, rng)
    else:
        for part in rng.choice(what):
            yield from _write(rules, part, rng)
