"""List English names of Wikidata's most common units; dumps filtered by class usually lack these units."""

from __future__ import annotations

from collections.abc import Mapping

UNIT_NAMES: Mapping[str, str] = {
    "Q11573": "metre",
    "Q174728": "centimetre",
    "Q174789": "millimetre",
    "Q828224": "kilometre",
    "Q218593": "inch",
    "Q3710": "foot",
    "Q253276": "mile",
    "Q25343": "square metre",
    "Q712226": "square kilometre",
    "Q232291": "square mile",
    "Q35852": "hectare",
    "Q81292": "acre",
    "Q11570": "kilogram",
    "Q41803": "gram",
    "Q191118": "tonne",
    "Q100995": "pound",
    "Q11574": "second",
    "Q7727": "minute",
    "Q25235": "hour",
    "Q573": "day",
    "Q577": "year",
    "Q25267": "degree Celsius",
    "Q4917": "United States dollar",
    "Q4916": "euro",
}
"""Map the Wikidata id of each unit to its English label."""
