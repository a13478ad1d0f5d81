"""The fallback languages of labels, as Wikidata defines them.

Wikidata shows the first existing label in this order: the reader's language, its fallback languages from
MediaWiki, `mul`, and English. `mul` is the default for all languages; since 2024, many items have no other
label. If none of these labels exists, Wikidata shows the item's id. Before that, this module tries a variant
of the reader's language, such as `en-gb` for `en`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from tasks.sources.wikidata.values import Text

MUL, LAST = "mul", "en"
_CHINESE = "zh-hant zh zh-hans"
_TAIWAN = f"zh-tw {_CHINESE}"
_SIMPLIFIED = "zh-cn zh-hans zh zh-hant"
_ONE_STEP = {
    "ar": "acm aeb-arab apc arq ary arz",
    "ban": "ban-bali",
    "bho": "bh",
    "bn": "bpy",
    "cs": "sk",
    "da": "jut kl",
    "de": "bar de-at de-ch de-formal frr gsw hrx ksh lb nds pdc pdt pfl rm sli stq vmf",
    "el": "pnt",
    "eo": "io",
    "es": "an arn ast ay cbk-zam es-formal ext gn guc lad nah",
    "et": "liv vep vro",
    "fa": "azb bcc bgn bqi glk lki lrc luz mzn",
    "fi": "fit krl olo smn vot",
    "fr": "atj bci bm fon frc frp gcf gcr ht kab kbp ln lua mg pcd ses sg shy-latn ty wa wls wo",
    "he": "yi",
    "hi": "anp awa mag mai sa",
    "hu": "hu-formal",
    "hy": "hyw",
    "id": "abs ace ban bbc-latn bew bjn btm bug gor jv kge mad min mui nia su",
    "it": "aae co egl eml fur lij nap pms rgn roa-tara scn sdc sro vec",
    "ka": "xmf",
    "kn": "tcy",
    "ko": "ko-kp",
    "lt": "sgs",
    "lv": "ltg",
    "mk": "ruq-cyrl",
    "ms": "bdr dtp iba ms-arab",
    "my": "blk kjp ksw mnw",
    "ne": "dty",
    "nl": "li nds-nl nl-informal srn vls zea",
    "oc": "ca",
    "pl": "csb szl",
    "pt": "gl kea mwl pt-br tet vmw",
    "pt-br": "pt",
    "ro": "crh-ro mo rmy ruq-latn rup",
    "ru": "ab alt av ba bxr ce crh-cyrl cv gld inh kjh koi krc kum kv lbe os rut sah sjd sty tt-cyrl tyv udm "
    "xal",
    "sk": "cs",
    "sq": "aln",
    "tr": "gag kiu lzz",
    "ur": "khw",
}
"""Fallback language -> the languages that have only this fallback, from MediaWiki's definitions."""
_SEVERAL = {
    "ady": "ady-cyrl", "aeb": "aeb-arab ar", "als": "gsw de", "ami": _TAIWAN, "avk": "fr es ru",
    "bat-smg": "sgs lt", "bbc": "bbc-latn id", "be-tarask": "be", "be-x-old": "be-tarask be",
    "cdo": f"nan {_CHINESE}", "crh": "crh-latn", "dsb": "hsb de", "fiu-vro": "vro et",
    "gan": f"gan-hant gan-hans {_CHINESE}", "gan-hans": "gan gan-hant zh-hans zh zh-hant",
    "gan-hant": f"gan gan-hans {_CHINESE}", "gom": "gom-deva gom-latn", "gom-deva": "gom-latn",
    "hak": _CHINESE, "hif": "hif-latn", "hsb": "dsb de", "hsn": _SIMPLIFIED, "ii": _SIMPLIFIED,
    "ike-cans": "iu", "ike-latn": "iu", "iu": "ike-cans", "kaa": "kk-latn kk-cyrl", "kbd": "kbd-cyrl",
    "kk": "kk-cyrl", "kk-arab": "kk kk-cyrl", "kk-cn": "kk-arab kk kk-cyrl", "kk-cyrl": "kk",
    "kk-kz": "kk-cyrl kk", "kk-latn": "kk kk-cyrl", "kk-tr": "kk-latn kk kk-cyrl", "ks": "ks-arab",
    "ku": "ku-latn", "ku-arab": "ku ckb", "ku-latn": "ku", "lez": "ru az", "lld": "it rm fur",
    "lmo": "pms eml lij vec it", "lzh": _CHINESE, "map-bms": "jv id", "mdf": "myv ru", "mhr": "mrj ru",
    "mrj": "mhr ru", "myv": "mdf ru", "nan": f"cdo {_CHINESE}", "nb": "no nn", "nn": "no nb", "no": "nb",
    "nrm": "nrf fr", "nyo": "ttj nyn lg sw", "oc": "ca fr", "pwn": _TAIWAN, "qu": "qug es", "qug": "qu es",
    "roa-rup": "rup ro", "rsk": "sr-cyrl sr-ec", "rue": "uk ru", "ruq": "ruq-latn ro", "sdh": "ckb fa",
    "se": "nb fi", "sh": "sh-latn sh-cyrl bs sr-latn sr-el hr", "shi": "shi-latn fr", "shy": "shy-latn fr",
    "skr": "skr-arab", "skr-arab": "skr", "sma": "sv nb", "sr": "sr-cyrl sr-ec sr-latn sr-el",
    "sr-cyrl": "sr-ec sr", "sr-ec": "sr-cyrl sr", "sr-el": "sr-latn sr", "sr-latn": "sr-el sr",
    "szy": _TAIWAN, "tay": _TAIWAN, "tg": "tg-cyrl", "tg-cyrl": "tg", "tg-latn": "tg", "trv": _TAIWAN,
    "tt": "tt-cyrl ru", "ttj": "nyo nyn lg sw", "ug": "ug-arab",
    "wuu": "wuu-hans wuu-hant zh-hans zh zh-hant",
    "yue": "yue-hant yue-hans", "za": "zh-hans zh zh-hant", "zh": "zh-hans zh-hant zh-cn zh-tw zh-hk",
    "zh-classical": f"lzh {_CHINESE}", "zh-cn": "zh-hans zh zh-hant", "zh-hans": "zh-cn zh zh-hant",
    "zh-hant": "zh-tw zh-hk zh zh-hans", "zh-hk": "zh-hant zh-tw zh zh-hans",
    "zh-min-nan": f"nan cdo {_CHINESE}",
    "zh-mo": "zh-hk zh-hant zh-tw zh zh-hans", "zh-my": "zh-sg zh-hans zh-cn zh zh-hant",
    "zh-sg": "zh-hans zh-cn zh zh-hant", "zh-tw": "zh-hant zh-hk zh zh-hans",
    "zh-yue": "yue yue-hant yue-hans",
}  # fmt: skip
"""Language -> its fallback languages, in order."""
FALLBACKS: Mapping[str, tuple[str, ...]] = {
    **{code: (target,) for target, codes in _ONE_STEP.items() for code in codes.split()},
    **{code: tuple(codes.split()) for code, codes in _SEVERAL.items()},
}


@lru_cache(maxsize=1024)
def list_fallbacks(language: str) -> tuple[str, ...]:
    """Return the languages of possible labels, best first: the language, its fallbacks, `mul`, English."""
    return tuple(dict.fromkeys((language, *FALLBACKS.get(language, ()), MUL, LAST)))


def may_name(code: str, languages: Iterable[str]) -> bool:
    """Return whether a label in the language `code` may be shown to readers of any of `languages`."""
    return any(_rank(code, language) is not None for language in languages)


def pick_label(labels: Iterable[Text], language: str) -> Text | None:
    """Return the best label for readers of a language; None if no label is in a suitable language."""
    ranked = ((_rank(label.language, language), label) for label in labels if label.text.strip())
    found = [(rank, label) for rank, label in ranked if rank is not None]
    return min(found, key=lambda pair: (pair[0], pair[1].language))[1] if found else None


def pick_labels(labels: Iterable[Text], languages: Iterable[str]) -> Iterator[Text]:
    """Yield the distinct labels that `pick_label` returns for `languages`, sorted by the label's language."""
    given = tuple(labels)
    picked = {pick_label(given, language) for language in languages}
    yield from sorted((label for label in picked if label), key=lambda label: (label.language, label.text))


def _rank(code: str, language: str) -> int | None:
    chain = list_fallbacks(language)
    if code in chain:
        return chain.index(code)
    return len(chain) if code.startswith(f"{language}-") else None
