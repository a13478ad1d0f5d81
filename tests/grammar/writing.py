"""An endpoint on loopback: it writes whatever a request's grammar lets through, and reads documents back."""

import hashlib
import random
import re

from aiohttp import web

from tests.grammar.gbnf import parse_grammar

TURN = ", (?:which|so|and|a|as) "
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


async def write_reply(request: web.Request) -> web.Response:
    """Answer a chat completion: by its grammar alone, or from the document that stands in the prompt."""
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
    """Find what a document says by its own plainest sentences: The city of Kola is Oslet, ..."""
    document, _, questions = prompt.partition("Questions\n")
    said = []
    for number, attribute, subject in re.findall(r"(\d+)\. What is the (.+?) of ([A-Z].*)\?", questions):
        word = re.escape(attribute.removesuffix(" in eur"))
        forms = (
            rf"The {word}(?:s|es)? of (?:the [a-z]+ )?{re.escape(subject)} (?:is|are) (.+?){TURN}",
            rf"The [a-z]+ {re.escape(subject)} has the {word}(?:s|es)? (.+?){TURN}",
        )
        found = next((match for form in forms if (match := re.search(form, document))), None)
        said.append(f"{number}. {found.group(1) if found else 'not stated'}")
    return "\n".join(said)


def write_text(grammar: str, rng: random.Random) -> str:
    """Write a text that a grammar lets through, drawn at random."""
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
