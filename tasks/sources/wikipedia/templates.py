"""Expand templates to the text that a page displays, according to the template's name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tasks.sources.wikipedia import dates, quantities
from tasks.sources.wikipedia.arguments import Arguments

Rule = Callable[[Arguments], str]


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(",") if name.strip())


UNSEEN_NAMES = _names(
    """
    0, about, advert, album chart, anchor, article for deletion, article issues, authority control,
    autres projets, bare, bots, break, cbignore, certification, chess diagram, citation needed,
    citation needed span end, citation style, clarify, cleanup, clear, cn, coi, col-2, col-3, col-4,
    col-begin, col-break, col-end, colbegin, colend, color box, colorbox, commons, commons category,
    commons category-inline, commonscat, compact toc, coord missing, de icon, dead link, decrease,
    default sort, defaultsort, details, distinguish, div col, div col end, dmoz, dn, doi, down arrow,
    dtsh, dynamic list, efn, efn-la, efn-ua, end, engvarb, es icon, expand list, expand section,
    expert needed, external media, fact, failed verification, featured article, flag icon, flagdeco, flagicon,
    flagicon image, for, for multi, fr icon, fs end, fs mid, fs start, full citation needed, further,
    good article, good topic, graph:chart, harv, harvid, harvnb, harvp, harvs, harvtxt, hatnote,
    hauptartikel, hidden sort key, hs, image label small, imdb name, imdb title, improve,
    inconsistent citations, increase, inflation, inflation-year, inflation/fn, interlanguage link icon,
    isbn, issn, it icon, italic title, ja icon, large category toc, lead too short, lesenswert, listen,
    location map, location map+, main, main article, main articles, maplink, merge,
    more citations needed, multiple image, multiple issues, navboxes, ndash-sort, nobots, normdata,
    normdaten, notability, note label, notelist, notelist-la, notelist-ua, ntsh, oclc, official, official url,
    official website, oldafdfull, oldid, open access, original research, other people, other uses,
    otheruses, pad, page needed, panorama, peacock, persondata, personendaten, portail, portal,
    portal bar, pov, pp, pp-protected, primary sources, protection padlock, pt icon, r, redirect,
    redirect-distinguish, redirect-multi, redirect2, ref, refbegin, refend, references, references-small,
    refimprove, refimprove section, reflist, refn, registration required, request quotation,
    resize-image, ro icon, rp, ru icon, s-end, s-start, same as, see also, seealso, sep entry, sfn, sfnm,
    sfnp, sfnref, short description, sister project links, sisterlinks, snf, spoken wikipedia, steady,
    subject bar, subscription required, tdright, template reference list, toc left, toc limit, toc right,
    tocleft, toclimit, tocright, tocrwi, tone, tracklist-ref, unbalanced, unreferenced,
    unreferenced section, up arrow, update, update after, update inline, use american english,
    use british english, use canadian english, use dmy dates, use indian english, use jamaican english,
    use mdy dates, vague, verification needed, verify source, vspace, wayback, weather box, webarchive,
    when, where, which, who, whom, wide image, wikibooks, wikinews, wikiquote, wikisource, wikispecies,
    wikivoyage, wiktionary, wiktionary-inline, year needed
    """
)
"""Names of templates that add no text to a sentence: they display a note, a box or nothing."""
UNSEEN_PATTERN = re.compile(
    r"(?:cite |cita |citation|harv|pp-|use \w+ (?:english|dates)|internetquelle|literatur|google buch|ipa"
    r"|respell|pronunciation|certification |single ?chart|album ?chart|cleanup|expand |translated|commons"
    r"|wikidata|sort(?:ierung|title)|defaultsort|displaytitle|sfn|refn?$|#tag|#invoke|#if|#switch|#expr|#time)"
    r"|.*(?:-stub|[ -]?navbox|[ -]?sidebar|nav box|/meta/color|citation needed|[ -]inline|[ -]icon)$"
)
FIRST_NAMES = _names(
    """
    abbr, abbrlink, align-center, angle bracket, as written, bandera, big, bigger, birth year,
    birth year and age, birth-date, birth-date and age, birth-date and given age, bl,
    blockquote, bold, bquote, by, center,
    centered pull quote, centre, code, color-text, country, cquote, datum, death year, death-date,
    death-date and age, death-date and given age,
    death-year, em, end-date, flag, flag+link, flagathlete, flagcountry, flaglist,
    flagu, formatdate, highlight, hsp, huge, ifempty, ill, illm, interlanguage link, italics, kbd, large,
    larger, lbb, lbc, lbs, lbx, left-align, link-interwiki, linktext, longitem, math-text, mlb year,
    mono, mp, mpl, mvar, nastaliq, native name-text, nbsp-text, nihongo krt, no wrap, nobold, nobr,
    nobreak, noitalic, normal, not a typo, nowrap, nq, oldstyledate, plain text, poem, poem quote,
    poemquote, proper name, quotation, quote, quote box quote, raw, resize1, rquote, s, section link,
    ship-name, sic, small, smalldiv, smaller, start year, start-date, stl, strong, sub, text, title,
    tooltip, tq, u, underline, urdu, vanchor, var, verse translation, visible anchor, won-text, zh-text
    """
)
"""Names of templates that display their first argument."""
LAST_NAMES = frozenset(
    {"lang", "transl", "transliteration", "color", "colour", "font color", "fontcolor", "native name",
    "nativename",
     "sort", "resize", "script", "align", "background color", "bg", "font", "rtl-lang", "hlc", "sortkeyname",
     "native phrase", "native", "okina", "style", "fontsize"}
)  # fmt: skip
"""Names of templates that display their last argument."""
LIST_NAMES = frozenset(
    {"ubl", "ublist", "unbulleted list", "ubt", "ulist", "plainlist", "plain list", "flatlist",
    "flat list", "hlist",
     "cslist", "bulleted list", "ordered list", "br separated entries", "bulletlist", "bullet list",
     "comma separated entries",
     "blist", "columns-list", "collapsible list", "collapsible", "hidden list", "numbered list",
     "horizontal list",
     "vunblist", "list", "pagelist", "based on", "hidden", "columnslist", "multicol list", "tree list",
     "unbulleted"}
)  # fmt: skip
DATE_NAMES = frozenset(
    {"birth date", "birth date and age", "bda", "dob", "start date", "start date and age",
    "start date and years ago",
     "end date", "end date and age", "death date", "date", "dts", "release date", "release date and age",
     "launch date",
     "film release", "bday",
     "birth date and age2", "date table sorting",
     "start and end date", "opening date", "beginning date", "foundation date", "founded date"}
)  # fmt: skip
SIGNS = {
    "!": "|", "=": "=", "snd": " – ", "snds": " – ", "spnd": " – ", "sndash": " – ",
    "spaced ndash": " – ", "ndash": "–",
    "endash": "–", "en dash": "–", "–": "–", "mdash": "—", "emdash": "—", "em dash": "—",
    "spaced mdash": " — ",
    "nbsp": " ", "space": " ", "spaces": " ", "'": "'", '"': '"', "'s": "'s", "'-": "'", "dot": " · ",
    "·": " · ",
    "•": " • ", "bullet": " • ", "bull": " • ", "middot": " · ", "ya": "Yes", "aye": "Yes", "yes2": "Yes",
    "tick": "Yes",
    "check": "Yes", "y": "Yes", "cross": "No", "nay": "No", "x mark": "No", "dagger": "†",
    "double dagger": "‡", "dagger alt": "†",
    "-": "", "date-": "", "sup2": "²", "x": "×", "times": "×", "no.": "No.", "n°": "No.",
    "number sign": "#", "pi": "π",
    "sect": "§", "asterisk": "*", "star": "★", "hr": "", "sp": " ", "thinsp": " ", "wj": "", "zwj": "",
    "shy": "", "figure space": " ",
    "br": "\n", "crlf": "\n", "gbr": "GBR", "usa": "USA", "ussr": "USSR",
}  # fmt: skip
VERDICTS = {
    "won": "Won", "nom": "Nominated", "nominated": "Nominated", "yes": "Yes", "no": "No", "n/a": "N/A",
    "na": "N/A",
    "tba": "TBA", "tbd": "TBD", "partial": "Partial", "pending": "Pending", "unknown": "Unknown",
    "dunno": "?",
    "none": "None", "some": "Some", "draw": "Draw", "winner": "Winner", "cancelled": "Cancelled",
    "included": "Included",
    "eliminated": "Eliminated", "runner-up": "Runner-up", "maybe": "Maybe", "free": "Free", "ayes": "Yes",
}  # fmt: skip
"""Name of a template that colours a cell -> the text that it displays without an argument."""
FRACTION_NAMES = ("frac", "fraction", "sfrac", "fract")
FLAG_CODES = _names(
    "bk, bkw, cr, cr-rt, crw, fb, fb-rt, fbu, fbw, fh, field hockey, hb, ih, nft, rl, ru, ru-rt, rul, rut"
)
"""Names of templates for national teams, whose argument is a country's code or name."""
LANGUAGE = re.compile(r"lang-[a-z-]+$")
COUNTRY = re.compile(r"[a-z]{3}$")


def expand(arguments: Arguments) -> str | None:
    """Return a template's text, with a line per list entry; None if the template has no rule."""
    name = arguments.name
    if name in SIGNS and not (name in {"x", "y"} and arguments.positional):
        return SIGNS[name]
    if name in RULES:
        return RULES[name](arguments)
    if name.startswith("formatnum:"):
        return quantities.expand_number(arguments)
    if LANGUAGE.match(name) or name in LAST_NAMES:
        return next((text for text in reversed(arguments.positional) if text), "")
    if name.partition(":")[0] in {"lc", "uc", "lcfirst", "ucfirst", "nowiki"} and ":" in name:
        return name.partition(":")[2]
    return None


def is_unseen(name: str) -> bool:
    """Return whether a template shows nothing in running text."""
    return name in UNSEEN_NAMES or UNSEEN_PATTERN.match(name) is not None


def guess(arguments: Arguments) -> str:
    """Return the first argument of a template without a rule; most inline templates display it.

    An argument of more than 200 characters is omitted. For a template without arguments whose name has three
    letters, such as a country code, return the name in upper case.
    """
    if not arguments.positional and not arguments.named and COUNTRY.match(arguments.name):
        return arguments.name.upper()
    text = next((text for text in arguments.positional if text), "")
    return "" if len(text) > 200 else text


def _first(arguments: Arguments) -> str:
    return next(filter(None, arguments.positional), "") or arguments.first("text", "quote", "content", "1")


def _lines(arguments: Arguments) -> str:
    given = arguments.positional or (arguments.first("list", "1", "content"),)
    if arguments.name in {"hidden"}:
        given = given[1:]
    return "\n" + "\n".join(text for text in given if text) + "\n"


def _sort_name(arguments: Arguments) -> str:
    return f"{arguments.at(0)} {arguments.at(1)}".strip()


def _url(arguments: Arguments) -> str:
    return arguments.at(1) or arguments.at(0)


def _circa(arguments: Arguments) -> str:
    years = [f"c. {year}" for year in arguments.positional[:2] if year]
    return "–".join(years) or "c."


def _floruit(arguments: Arguments) -> str:
    return (
        f"fl. {arguments.at(0)}".strip()
        if not arguments.at(1)
        else f"fl. {arguments.at(0)}–{arguments.at(1)}"
    )


def _reign(arguments: Arguments) -> str:
    return "r. " + "–".join(year for year in arguments.positional[:2] if year)


def _langx(arguments: Arguments) -> str:
    return arguments.at(1) or arguments.first("text")


def _nihongo(arguments: Arguments) -> str:
    english, *others = (*arguments.positional[:3], "")
    inside = ", ".join(text for text in others if text)
    return f"{english} ({inside})" if english and inside else english or inside


def _verdict(arguments: Arguments) -> str:
    return arguments.at(0) or VERDICTS[arguments.name]


def _ship(arguments: Arguments) -> str:
    if arguments.name == "ship":
        return f"{arguments.at(0)} {arguments.at(1)}".strip()
    return f"{arguments.name.upper()} {arguments.at(0)}".strip()


def _player(arguments: Arguments) -> str:
    parts = [arguments.first(name) for name in ("no", "pos", "name", "other")]
    nation = arguments.first("nat")
    said = " ".join(part for part in parts[:3] if part) + (f" ({nation})" if nation else "")
    return "\n" + (f"{said}, {parts[3]}" if parts[3] else said) + "\n"


def _year_of(arguments: Arguments) -> str:
    return arguments.at(0)


def _age_years(arguments: Arguments) -> str:
    return ""


RULES: Mapping[str, Rule] = {
    **dict.fromkeys(FIRST_NAMES, _first),
    **dict.fromkeys(LIST_NAMES, _lines),
    **dict.fromkeys(DATE_NAMES, dates.expand_date),
    **dict.fromkeys(("death date and age", "dda"), dates.expand_death),
    **dict.fromkeys(("death year and age", "death-year and age"), dates.expand_death_year),
    "birth based on age as of date": dates.expand_birth_by_age,
    **dict.fromkeys(("film date", "video game release date", "tv date"), dates.expand_film_dates),
    **dict.fromkeys(("as of", "asof"), dates.expand_as_of),
    **dict.fromkeys(("marriage", "married"), dates.expand_marriage),
    **dict.fromkeys(("convert", "cvt", "conv", "convinfobox"), quantities.expand_convert),
    **dict.fromkeys(("height", "hgt"), quantities.expand_height),
    **dict.fromkeys(("val", "value"), quantities.expand_value),
    **dict.fromkeys(FRACTION_NAMES, quantities.expand_fraction),
    **dict.fromkeys(("coord", "coords", "location"), quantities.expand_coordinates),
    **dict.fromkeys(("formatnum", "nts", "number table sorting"), quantities.expand_number),
    **dict.fromkeys(("e", "x10^", "×10^"), quantities.expand_power),
    **dict.fromkeys(("sup", "esp"), quantities.expand_superscript),
    "gaps": quantities.expand_gaps,
    **dict.fromkeys(quantities.SYMBOLS, quantities.expand_currency),
    **dict.fromkeys(("sortname", "name"), _sort_name),
    **dict.fromkeys(("url", "official site", "website", "oficial url"), _url),
    **dict.fromkeys(("circa", "c.", "ca"), _circa),
    **dict.fromkeys(("floruit", "fl", "fl."), _floruit),
    "reign": _reign,
    "langx": _langx,
    "inrconvert": quantities.expand_rupees,
    **dict.fromkeys(("nihongo", "nihongo2", "nihongo3", "korean", "zh-full"), _nihongo),
    **dict.fromkeys(VERDICTS, _verdict),
    **dict.fromkeys(("ship", "uss", "hms", "rms", "ss", "hmcs", "hmas", "sms"), _ship),
    **dict.fromkeys(("fs player", "football squad player", "fs2 player", "football squad2 player"), _player),
    **dict.fromkeys(FLAG_CODES, _year_of),
    **dict.fromkeys(
        ("baseball year", "nfl year", "nba year", "avyear", "mlby", "nhl year", "year"), _year_of
    ),
    **dict.fromkeys(("age", "age in years", "age in years and days", "currentyear", "time ago"), _age_years),
}
"""Name of a template -> the function that converts it to text."""
