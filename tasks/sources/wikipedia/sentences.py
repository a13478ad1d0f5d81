"""Split running text into sentences with nltk's Punkt and abbreviations that encyclopaedias use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

LONGEST = 20_000
"""Maximum length in characters of a tokenizer's input; a longer paragraph is first cut at spaces."""
ABBREVIATIONS = [
    "a.d", "a.k.a", "a.m", "adm", "al", "approx", "apr", "assn", "assoc", "aug", "ave", "b", "b.c",
    "b.c.e", "bn", "bro", "bros", "brig", "c", "c.e", "ca", "capt", "cf", "cmdr", "co", "col", "comdr",
    "corp", "cpl", "d", "d.c", "dec", "dept", "dist", "div", "dr", "e.g", "ed", "eds", "esp", "est",
    "etc", "f.c", "feb", "fig", "figs", "fl", "fr", "ft", "gen", "gov", "govt", "hon", "i.e", "inc",
    "incl", "jan", "jr", "jul", "jun", "lat", "lb", "lbs", "lieut", "lit", "lt", "ltd", "m.d", "maj",
    "mar", "messrs", "mg", "misc", "mme", "mr", "mrs", "ms", "msgr", "mt", "mts", "n.b", "née", "no",
    "nos", "nov", "oct", "op", "p", "p.m", "pg", "ph.d", "phd", "pl", "pop", "pp", "pres", "prof", "pt",
    "pub", "r.i.p", "ref", "rep", "rev", "rt", "sec", "sen", "sep", "sept", "sgt", "sq", "sr", "ss", "st",
    "ste", "supt", "treas", "u.k", "u.n", "u.s", "u.s.a", "univ", "v", "viz", "vol", "vols",
    "vs"]  # fmt: skip
STARTERS = [
    "a", "after", "although", "an", "as", "at", "before", "both", "but", "by", "during", "each", "for",
    "from", "he", "her", "his", "however", "if", "in", "it", "its", "later", "many", "most", "on", "one",
    "she", "since", "some", "such", "that", "the", "their", "then", "there", "these", "they", "this",
    "those", "though", "to", "two", "under", "until", "when", "while", "with"]  # fmt: skip
"""Words that start a sentence if they are capitalised and follow an abbreviation."""
ONWARD = re.compile(r"[a-z]|[)\]»”]|\d+(?:[.,–-]\d+)*[.)]{1,2}$")
"""Matches the start of text that cannot begin a new sentence."""
BEFORE_NUMBER = re.compile(
    r"(?:^|[\s(])(?:no|nos|p|pp|vol|vols|fig|figs|c|ca|approx|op|ch|art|sec)\.$", re.IGNORECASE
)
NAMED_MARK = re.compile(r"\b(?:Yahoo|Jeopardy|Panic|Wham|Mamma Mia|Oklahoma|Hello, Dolly)!$")
GERMAN_DATE = re.compile(
    r"(?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|Jahrhundert)\b"
)


def split_sentences(text: str) -> list[str]:
    """Split a paragraph of plain text into its sentences, in order; white space is collapsed."""
    return [sentence for piece in _cut(" ".join(text.split())) for sentence in _join(_load().tokenize(piece))]


@cache
def _load() -> PunktSentenceTokenizer:
    parameters = PunktParameters()
    parameters.abbrev_types = set(ABBREVIATIONS)
    parameters.sent_starters = set(STARTERS)
    return PunktSentenceTokenizer(parameters)


def _cut(text: str) -> Iterator[str]:
    while len(text) > LONGEST:
        end = text.rfind(" ", 0, LONGEST)
        end = end if end > 0 else LONGEST
        yield text[:end]
        text = text[end:].lstrip()
    if text:
        yield text


def _join(sentences: list[str]) -> list[str]:
    """Rejoin sentences that the tokenizer split by mistake."""
    joined: list[str] = []
    for sentence in sentences:
        if joined and _goes_on(joined[-1], sentence):
            joined[-1] += f" {sentence}"
        else:
            joined.append(sentence)
    return joined


def _goes_on(before: str, after: str) -> bool:
    if ONWARD.match(after) or NAMED_MARK.search(before):
        return True
    if after[0].isdigit() and BEFORE_NUMBER.search(before):
        return True
    if re.search(r"\b\d{1,2}\.$", before) and GERMAN_DATE.match(after):
        return True
    # A sentence break inside parentheses is ignored if the closing parenthesis follows soon.
    opened = before.count("(") - before.count(")")
    return opened > 0 and len(before) < 400 and 0 <= after.find(")") < 200
