"""Read the entries of a parsed infobox, with the label that a reader sees beside each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tasks.sources.wikipedia.markup import FILE_NAME, Renderer, make_label, make_value

LOOKS = re.compile(
    r"(?:.*_)?(?:image|img|photo|logo|map|flag|seal|shield|crest|signature|sound)_?"
    r"(?:size|width|height|alt|upright|zoom|style|class|frame)?\d*$"
    r"|picture$|(?:.*_)?picture_?(?:size|width|height|alt|upright|zoom|style|class|frame)\d*$"
    r"|(?:above|below|label|data|header|body|title|caption|list)_?(?:style|class)\d*$"
    r"|(?:bg_?colou?r|background(?:_?colou?r)?|(?:text|box|header)_?colou?r|box_width|caption_align|italic_title)$"
    r"|(?:pattern_|leftarm|rightarm|body|shorts|socks)\w*\d+$|(?:pushpin_\w+|unit_pref|embed|nocat|show-medals)$"
)
"""Keys of entries that say how the box looks."""
PAIRS = (
    (re.compile(r"(.*)_date(\d*)$"), r"\1_title\2"),
    (re.compile(r"(.*)_name(\d*)$"), r"\1_type\2"),
    (re.compile(r"(.*)_name(\d*)$"), r"\1_title\2"),
    (re.compile(r"(.*)_info(\d*)(.*)$"), r"\1_name\2\3"),
    (re.compile(r"(.*)data(\d+)$"), r"\1label\2"),
    (re.compile(r"(.*)value(\d+)$"), r"\1name\2"),
    (re.compile(r"(leader)_name(\d*)$"), r"\1_title\2"),
    (re.compile(r"((?:area|population)_blank\d+)(?:_\w+)?$"), r"\1_title"),
)
"""Key of a value -> key of the entry that names it: of `established_date2`, `established_title2`."""
LOOK = re.compile(
    r"(?:#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{3}))+$"
    r"|(?=.*\d)(?=.*[a-fA-F])[0-9a-fA-F]{6}$|\d{1,4} ?px$"
)
SIDE = re.compile(r"(?:.*_)?(?:align|float|label_position)\d*$")
"""Keys of entries whose `left` or `right` is about the box; elsewhere it is a hand or a side of a road."""


def read_infobox(template: Any, renderer: Renderer) -> Iterator[tuple[str, str, str]]:
    """Yield (key, label, value) of every entry that says something, in the order of the page.

    Those that say how the box looks are counted in `renderer.looks` by key.
    """
    values: dict[str, str] = {}
    for parameter in template.params:
        key = str(parameter.name).strip()
        if parameter.showkey and key and len(key) <= 100:
            values[key] = make_value(renderer.render(parameter.value))
    labelling = {key: name for key in values if (name := _find_label(key, values))}
    for key, value in values.items():
        named = any(labelling[other] == key and values[other] for other in labelling)
        if value and not named and is_look(key, value):
            renderer.looks[key] += 1
        elif value and not named:
            label = (
                make_label(values[labelling[key]])
                if key in labelling
                else " ".join(key.replace("_", " ").split())
            )
            yield key, label, value


def is_look(key: str, value: str) -> bool:
    """Tell whether an entry is about how the box looks: an image's file, a size, a colour."""
    if value in {"left", "right"} and SIDE.match(key.lower()):
        return True
    return any((LOOKS.match(key.lower()), FILE_NAME.match(value), LOOK.match(value)))


def _find_label(key: str, values: dict[str, str]) -> str:
    for pattern, name in PAIRS:
        if (found := pattern.match(key)) and values.get(other := found.expand(name)) and other != key:
            return other
    return ""
