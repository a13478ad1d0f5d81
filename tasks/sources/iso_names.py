"""English names of languages and currencies by ISO code, and each country's languages and currencies.

The source is Babel, with data from Unicode's Common Locale Data Repository, which is updated regularly.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cache

from babel import Locale
from babel.languages import get_official_languages
from babel.numbers import get_currency_name, get_territory_currencies

FORMS = frozenset({"gsw", "nb", "nn"})
"""Codes of dialects and written forms that Babel lists in addition to their language."""
LATER_LANGUAGES: Mapping[str, tuple[str, ...]] = {
    "BF": (), "ML": (), "NE": (), "DZ": ("ar",), "TN": ("ar",), "IL": ("he",), "MG": ("fr", "mg"),
    "ME": (), "NG": ("en",), "IQ": ("ar", "ku"), "RW": ("en", "fr", "rw", "sw"),
    "CH": ("de", "fr", "it", "rm"), "KM": ("ar", "fr", "zdj"),
    "BO": ("ay", "es", "gn", "qu"), "ER": (), "ET": (),
    "ZW": ("en", "nd", "sn", "st", "tn", "ts", "ve", "xh"),
    "ZA": ("af", "en", "nr", "nso", "ss", "st", "tn", "ts", "ve", "xh", "zu"),
}  # fmt: skip
"""Country code -> its current official languages, if Babel's data differs from current law.

French is no longer official in Burkina Faso, Mali and Niger. The list is empty if one of the languages has no
English name. The list is also empty for Eritrea and Ethiopia, which have working languages instead of
official languages.
"""
DISPUTED = frozenset({"ny", "sr"})
"""Codes of languages that are never listed as official languages.

Countries use these languages alongside an official language, or call them by other names.
"""
OWN_NAMES = {"zdj": "Comorian"}
"""Language code -> its name, for codes that Babel does not contain."""
LATER_MONEY = {"BG": ("EUR",), "HT": ("HTG",)}
"""Country code -> its currencies, if Babel's list is wrong.

For example, the US dollar is not legal tender in Haiti.
"""


def name_language(code: str) -> str | None:
    """Return a language's name by its ISO 639 code, such as `Norwegian` for `no`; None if unknown."""
    return OWN_NAMES.get(code) or _load().languages.get(code)


def name_currency(code: str) -> str | None:
    """Return a currency's singular name by its ISO 4217 code, such as `Norwegian krone`.

    The result is None if the code is unknown. If another code has replaced a currency's code, Babel appends
    the old code's years of use to the name. The years are removed, because the currency's name is unchanged.
    """
    if code not in _load().currencies:
        return None
    name = str(get_currency_name(code, count=1, locale="en"))
    return re.sub(r" \(\d{4}\D\d{4}\)$", "", name)


def list_official_languages(country: str, known: Collection[str]) -> list[str]:
    """List the codes of a country's official languages; `country` is its two-letter code.

    `known`: the codes of the official languages according to another source. A language that is only de facto
    official is listed only if `known` contains it.
    """
    if country in LATER_LANGUAGES:
        return sorted({*LATER_LANGUAGES[country]} - DISPUTED)
    by_law = set(get_official_languages(country))
    in_fact = set(get_official_languages(country, de_facto=True)) & set(known)
    return sorted({code.partition("_")[0] for code in by_law | in_fact} - FORMS - DISPUTED)


def list_currencies(country: str) -> list[str]:
    """List the codes of a country's current legal tender; `country` is its two-letter code."""
    return sorted(LATER_MONEY.get(country, get_territory_currencies(country, tender=True)))


@cache
def _load() -> Locale:
    return Locale("en")
