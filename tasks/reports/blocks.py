"""Build blocks for rows in the item viewer: texts, tables, passages, calls.

A block is a JSON array whose first element names its kind; pages/viewer.js renders the blocks. Texts are
never interpreted as markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

Block = tuple[object, ...]
Tag = tuple[str, str]
"""The text and tone of a tag (a rounded box). The tone is `good`, `bad`, `off`, or empty."""
GOOD, BAD, OFF = "good", "bad", "off"


def heading(text: str, *tags: Tag) -> Block:
    """Return a heading for the following blocks, with tags after the heading's text."""
    return ("head", text, list(tags))


def title(heading_text: str, *tags: Tag) -> Block:
    """Return a heading followed by the row's title, which is stored only once per row."""
    return ("title", heading_text, list(tags))


def rows(row_ids: Iterable[str], style: str = "siblings") -> Block:
    """Return links to other rows by id, with titles and tags; the open row is omitted."""
    return ("rows", list(row_ids), style)


def text(value: str, style: str = "", lang: str = "") -> Block:
    """Return a text with line breaks.

    `style`: `question`, `reply`, `said`, `dim`, `error`, or a class in the paper's style sheet. `lang`:
    language code of the text.
    """
    return ("text", value, style, lang)


def dim(value: str) -> Block:
    """Return a remark in a subdued style."""
    return text(value, "dim")


def code(value: str, *, sql: bool = False, slots: bool = False) -> Block:
    """Return a code block. sql: highlight SQL keywords. slots: highlight placeholders (`[films.title]`)."""
    return ("code", value, int(sql), int(slots))


def tags(*shown: Tag, beside: str = "") -> Block:
    """Return tags on one line. beside: a remark after the tags."""
    return ("tags", list(shown), beside)


def table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, total: int | None = None, beside: str = ""
) -> Block:
    """Return a table; None is shown as NULL.

    total: number of rows in the full table, if `rows` is incomplete.
    """
    shown = [list(row) for row in rows]
    return ("table", list(columns), shown, len(shown) if total is None else total, beside)


def items(values: Iterable[str | Sequence[object]], style: str = "plain") -> Block:
    """Return a list of texts, or of (text, tag, tone, link to another row); trailing values are optional."""
    return ("list", [value if isinstance(value, str) else list(value) for value in values], style)


def facts(values: Mapping[str, str]) -> Block:
    """Return a list of labelled texts; labels with an empty text are omitted. values: label -> text."""
    return ("facts", [[name, value] for name, value in values.items() if value])


def fold(
    summary: str,
    inside: Sequence[Block],
    *shown: Tag,
    beside: str = "",
    style: str = "passage",
    is_open: bool = False,
    anchor: str = "",
) -> Block:
    """Return collapsible blocks with a summary. anchor: the name by which `links` expands the blocks."""
    return ("fold", summary, list(shown), beside, style, int(is_open), anchor, list(inside))


def group(style: str, inside: Sequence[Block], who: str = "") -> Block:
    """Return blocks in a styled box. who: the name at the top of the box."""
    return ("group", style, who, list(inside))


def links(parts: Iterable[tuple[str, Sequence[tuple[str, str]]]], style: str = "reply") -> Block:
    """Return a text in parts, each followed by buttons (label, anchor) that expand collapsible blocks."""
    return ("links", [[part, [list(link) for link in after]] for part, after in parts], style)


def marked(value: str, words: Iterable[str], style: str = "said", *, whole: bool = False) -> Block:
    """Return a text with highlighted words. whole: highlight only whole words."""
    return ("marked", value, [word for word in words if word], style, int(whole))


def passages(title: str, shown: Iterable[tuple[str, str, Sequence[Tag], str]], none: str = "None.") -> Block:
    """Return a titled list of passages. A passage has a name, a remark, tags and a text.

    none: the text to show if there are no passages.
    """
    return ("passages", title, [[name, beside, list(own), body] for name, beside, own, body in shown], none)


def calls(title: str, keys: Iterable[str], *, file: str = "calls", is_open: bool = False) -> Block:
    """Return model calls by ledger key; the page loads the calls on demand from a data file."""
    return ("calls", title, list(dict.fromkeys(keys)), file, int(is_open))


def ids(**named: str) -> Block:
    """Return a list of ids. named: label -> id."""
    return ("ids", [[name, value] for name, value in named.items()])


def shared(key: str) -> Block:
    """Return a reference to blocks that several rows use. key: the key of these blocks in the viewer."""
    return ("shared", key)


def stored(file: str, key: str) -> Block:
    """Return a reference to blocks in a data file, which is loaded when the row is opened."""
    return ("stored", file, key)


def component(name: str, data: object) -> Block:
    """Return paper-specific data, rendered by the function that the paper's script registers as `name`."""
    return ("component", name, data)


def score_tag(score: int | None, *, top: int = 5) -> Tag:
    """Return the tag for a grade from 1 to `top`, for 0 ("not sure"), or for None ("no grade")."""
    if score is None:
        return ("no grade", OFF)
    if score == 0:
        return ("0, not sure", OFF)
    tone = GOOD if score >= top - 1 else BAD if score <= 2 else OFF
    return (f"{score} of {top}", tone)
