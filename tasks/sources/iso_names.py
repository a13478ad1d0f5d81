"""English names of languages and currencies by ISO code, and those that a country uses, from Babel.

Babel has it of Unicode's Common Locale Data Repository, which is kept up to date.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache

from babel import Locale
from babel.languages import get_official_languages
from babel.numbers import get_currency_name, get_territory_currencies

FORMS = frozenset({"gsw", "nb", "nn"})
"""Codes that are listed beside the language whose forms they are."""
LATER_LANGUAGES: Mapping[str, tuple[str, ...]] = {
    "BF": (), "ML": (), "NE": (), "DZ": ("ar",), "TN": ("ar",), "IL": ("he",), "MG": ("fr", "mg"),
    "ME": (), "NG": ("en",), "IQ": ("ar", "ku"), "RW": ("en", "fr", "rw", "sw"),
    "CH": ("de", "fr", "it", "rm"), "KM": ("ar", "fr", "zdj"),
    "BO": ("ay", "es", "gn", "qu"), "ER": (), "ET": (),
    "ZW": ("en", "nd", "sn", "st", "tn", "ts", "ve", "xh"),
    "ZA": ("af", "en", "nr", "nso", "ss", "st", "tn", "ts", "ve", "xh", "zu"),
}  # fmt: skip
"""Countries whose official languages Babel's data has otherwise than their laws of today.

French is official no more in Burkina Faso, Mali and Niger; empty too where a language lacks a name, and of
Eritrea and Ethiopia, which have working languages.
"""
DISPUTED = frozenset({"ny", "sr"})
"""Languages that are official under another name, or in use beside the official one, in some country."""
OWN_NAMES = {"zdj": "Comorian"}
"""Names of codes that Babel does not name."""
LATER_MONEY = {"BG": ("EUR",), "HT": ("HTG",)}
"""Countries whose money Babel's data has otherwise: Haiti's dollars are no money of its law."""


def name_language(code: str) -> str | None:
    """Return the name of an ISO 639 code, `Norwegian` for `no`; None for a code that is none."""
    return OWN_NAMES.get(code) or _load().languages.get(code)


def name_currency(code: str) -> str | None:
    """Return the name of an ISO 4217 code as one of it is called, `Norwegian krone`; None for none.

    The years of a code that another has replaced are left away: the money is called the same.
    """
    if code not in _load().currencies:
        return None
    name = str(get_currency_name(code, count=1, locale="en"))
    return re.sub(r" \(\d{4}\D\d{4}\)$", "", name)


def list_official_languages(country: str, known: Collection[str]) -> list[str]:
    """List the codes of the official languages of a country, given by its code of two letters.

    known: what another source takes for official; what is so in fact alone must be among it.
    """
    if country in LATER_LANGUAGES:
        return sorted({*LATER_LANGUAGES[country]} - DISPUTED)
    by_law = set(get_official_languages(country))
    in_fact = set(get_official_languages(country, de_facto=True)) & set(known)
    return sorted({code.partition("_")[0] for code in by_law | in_fact} - FORMS - DISPUTED)


def list_currencies(country: str) -> list[str]:
    """List the codes of a country's legal tender of today, by its code of two letters."""
    return sorted(LATER_MONEY.get(country, get_territory_currencies(country, tender=True)))


@cache
def _load() -> Locale:
    return Locale("en")
