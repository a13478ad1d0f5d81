"""Three fictitious records in the layout of TANQ's release, and a plain reader of this layout.

The records contain variants that a tolerant reader must accept: ids with or without URL, missing, null and
empty fields, and fields with other names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

WIKI = "https://en.wikipedia.org/wiki/"
TEXT: dict[str, Any] = {
    "text": "The score of The Glass Tide is by Ada Morn and Piet Ruys, Jr.", "section": "Music",
    "parent_section": "Production", "found_in_url": f"{WIKI}The_Glass_Tide_(1971_film)", "index": 4,
    "proof_type": "text", "eval_result": "verifiable",
}  # fmt: skip
TABLE: dict[str, Any] = {
    "rows": [
        {"cells": [{"cell_value": "Year"}, {"cell_value": "Film"}, {"cell_value": "Composer"}]},
        {"cells": [{"cell_value": "1971"}, {"cell_value": "The Glass Tide"},
                   {"cell_value": "Piet Ruys, Jr."}]},
        {"cells": [{"cell_value": "1980"}, {"cell_value": "Harbour Nine"}, {"cell_value": "Ada Morn"}]},
    ],
    "caption": "Scores by year", "section": "Films", "parent_section": "", "index": 2,
    "found_in_url": f"{WIKI}Piet_Ruys", "proof_type": "table", "eval_result": True,
}  # fmt: skip
INFOBOX: dict[str, Any] = {
    "key": "Release date", "value": "14 May 1971", "section": "", "parent_section": None,
    "found_in_url": f"{WIKI}The_Glass_Tide_(1971_film)", "index": 0, "proof_type": "infobox",
    "eval_result": "verifiable",
}  # fmt: skip
REFUSED = {**TEXT, "text": "Harbour Nine was shown in 1980.", "eval_result": "not verifiable"}


def column(name: str, label: str, entity: object, *proofs: object, **more: object) -> dict[str, Any]:
    return {
        "extension_property_id": name, "extension_property_label": label, "extension_entity": entity,
        "extension_wikidata_id": None, "extension_wikipedia_id": None, "proof": list(proofs), **more,
    }  # fmt: skip


MORN = column(
    "P86", "composer", {"label": "Ada Morn", "id": "Q501"}, TEXT, extension_wikidata_id="Q501",
    extension_wikipedia_id=f"{WIKI}Ada_Morn",
)  # fmt: skip
FILMS: dict[str, Any] = {
    "init_qid": "7__wikidata_intersection__test",
    "init_question": "Which films were directed and written by Bo Falk?",
    "ext_question": "Which films were directed and written by Bo Falk and what are their composer, "
    "publication date?",
    "ext_question_cleaned": "Which films did Bo Falk direct and write? Name composer and year.",
    "ext_question_rephrased": "Which films did Bo Falk direct and write, and what is their composer "
    "(composer) and year of publication? Filter the answer table for publication date equal to or after "
    "1970.\n",
    "question_properties": ["composer", "publication date"],
    "answer_list": [
        {
            "init_answer_wikidata_id": "http://www.wikidata.org/entity/Q101",
            "init_answer_wikipedia_id": f"{WIKI}The_Glass_Tide_(1971_film)",
            "init_answer_composed": None,
            "init_answer_proof": [
                {"proof_text": "The Glass Tide is a film written and directed by Bo Falk.",
                 "found_in_url": f"{WIKI}The_Glass_Tide_(1971_film)"}
            ],
            "filter_pass": True,
            "instance_type": ["film"],
            "extension_answer": [
                MORN,
                column("https://www.wikidata.org/wiki/Property:P86", "composer",
                       {"label": "Piet Ruys, Jr.", "description": "composer"}, TEXT, TABLE,
                       extension_wikidata_id="Q502"),
                column("P577", "publication date", {"time": "+1971-05-14T00:00:00Z", "precision": 11},
                       INFOBOX),
            ],
        },
        {
            "init_answer_wikidata_id": "Q102",
            "init_answer_wikipedia_id": "Harbour Nine",
            "init_answer_proof": [],
            "filter_pass": True,
            "instance_type": "film",
            "extension_answer": [
                MORN | {"proof": [TABLE, REFUSED]},
                column("P577", "publication date", {"time": "1980-01-01"}, REFUSED),
            ],
        },
        {
            "init_answer_wikidata_id": "Q103",
            "init_answer_wikipedia_id": "Low Bridge",
            "init_answer_proof": None,
            "filter_pass": False,
            "instance_type": ["film"],
            "extension_answer": [
                MORN | {"proof": [{**TEXT, "text": "Low Bridge has music by Ada Morn.", "index": 9}]},
                column("P577", "publication date", {"time": "+1962-00-00T00:00:00Z", "precision": 9},
                       {**INFOBOX, "value": "1962", "found_in_url": f"{WIKI}Low_Bridge"}),
            ],
        },
    ],
    "extended_types": ["Filtering time", "Date-to-year conversion"],
    "answer_table": "entity|composer|year of publication\n"
    "The Glass Tide (1971 film)|Ada Morn, Piet Ruys, Jr.|1971\nHarbour Nine|Ada Morn|1980\n",
}  # fmt: skip
PEOPLE: dict[str, Any] = {
    "init_qid": "12__wikidata_comp__dev",
    "init_question": "Who directed a film that Ida Lund wrote?",
    "ext_question": "Who directed a film that Ida Lund wrote and what are their place of birth, height?",
    "ext_question_cleaned": "Who directed a film by Ida Lund, where were they born, and how tall are they?",
    "ext_question_rephrased": None,
    "answer_list": [
        {
            "init_answer_wikidata_id": "Q201",
            "init_answer_wikipedia_id": "Jon Berg",
            "init_answer_composed": [
                {"wikidata_id": "Q301", "wikipedia_id": f"{WIKI}1917", "label": "1917"},
                {"wikidata_id": "Q302", "wikipedia_id": "Cold Yard", "label": "Cold Yard"},
            ],
            "extension_answer": [
                column("P19", "place of birth", {"name": "Tromso"},
                       {**TEXT, "text": "Berg was born in Tromso.", "found_in_url": f"{WIKI}1917"}),
                column("P2048", "height", {"amount": "+182", "unit": "centimetre"},
                       {**INFOBOX, "key": "Height", "value": "182 cm"}),
            ],
        },
        {
            "init_answer_wikidata_id": None,
            "init_answer_wikipedia_id": "Sif Dahl",
            "init_answer_composed": "Q303",
            "filter_pass": None,
            "extension_answer": [column("P19", "place of birth", {"name": "Oslo"}, TEXT)],
        },
    ],
    "extended_types": [],
    "answer_table": "entity|place of birth|height\nJon Berg|Tromso|182\nSif Dahl|Oslo|",
}  # fmt: skip
RIVERS: dict[str, Any] = {
    "init_qid": "31__wikitables_simple__test",
    "ext_question_rephrased": "Which rivers end in the Lower Sea, and how long are they?",
    "popularity": 0.5,
    "result_closedbook": "river|length\nAmra|120",
    "answer_list": [
        {
            "init_answer_wikipedia_id": "Amra",
            "rank": 3,
            "extension_answer": [
                column("P2043", "length", {"amount": "120"},
                       {**TABLE, "license": "x", "proof_type": "table"}, score=0.9)
            ],
        },
        7,
    ],
    "answer_table": "entity|length\nAmra|120\n",
}  # fmt: skip
RECORDS = [FILMS, PEOPLE, RIVERS]


def read_contents(record: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Yield each proof of each value as (answer's title, label, kind, content)."""
    for answer in record["answer_list"]:
        if not isinstance(answer, dict):
            continue
        title = read_title(answer["init_answer_wikipedia_id"])
        for value in answer["extension_answer"]:
            for proof in value["proof"]:
                kind = proof["proof_type"]
                place = (read_title(proof["found_in_url"]), proof["section"] or "",
                         proof["parent_section"] or "", proof["index"])  # fmt: skip
                if kind == "infobox":
                    content: tuple[str, ...] = (proof["key"], proof["value"])
                elif kind == "text":
                    content = (proof["text"],)
                else:
                    cells = (cell["cell_value"] for row in proof["rows"] for cell in row["cells"])
                    content = (proof["caption"] or "", *cells)
                yield (title, value["extension_property_label"], kind, place, content)


def read_title(address: str) -> str:
    return unquote(address.removeprefix(WIKI)).replace("_", " ")
