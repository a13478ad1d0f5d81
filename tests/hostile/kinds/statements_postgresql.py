"""Hostile statements for PostgreSQL: disguised function calls, and text that a parser may misread."""

from __future__ import annotations

from functools import partial
from random import Random

from tests.hostile.statements import Statement, open_server
from tests.hostile.subject import Kind

CALLED = [
    ("CAST(4711 AS bigint)", "pg_advisory_lock"), ("CAST(4711 AS bigint)", "pg_try_advisory_lock_shared"),
    ("CAST(60 AS double precision)", "pg_sleep"), ("CAST('1 minute' AS interval)", "pg_sleep_for"),
    ("CAST(4712 AS int)", "lo_create"), ("CAST(-1 AS int)", "lo_creat"), ("'numbers'", "nextval"),
    ("'/etc/passwd'", "pg_read_file"), ("'/'", "pg_ls_dir"), ("'/etc/passwd'", "lo_import"),
    ("'data_directory'", "current_setting"), ("'books'", "to_regclass"), ("'books'", "regclass"),
    ("'x'", "md5"), ("'x'", "text"), ("CAST(1 AS int)", "pg_terminate_backend"), ("'evil'", "query_to_xml"),
    ("CAST(1 AS int)", "pg_cancel_backend"), ("ROW(1, 2)", "row_to_json"), ("ARRAY[1]", "cardinality"),
]  # fmt: skip
FORMS = [
    "({value}).{name}", "({value}).{name}", "(({value})).{name}", "(ARRAY[{value}])[1].{name}",
    "(SELECT {value}).{name}", "(SELECT v.v FROM (SELECT {value} AS v) v).{name}",
    "(SELECT v.{name} FROM abs({value}) AS v)", "(SELECT (v.x).{name} FROM (VALUES ({value})) AS v(x))",
    "(CASE WHEN true THEN {value} END).{name}", "(coalesce({value})).{name}", "{name}({value})",
    "pg_catalog.{name}({value})", "({value}).pg_catalog.{name}", "TREAT({value} AS {name})",
    "(SELECT v.{name} FROM (SELECT {value} AS {name}) w, lower('x') AS v)",
    "(SELECT ({value}).{name} FROM (SELECT 1 AS {name}) v)", "({value}).{name}.{name}", "({value})::{name}",
]  # fmt: skip
PLACES = [
    "SELECT {}", "SELECT title FROM books WHERE {} IS NULL", "SELECT title FROM books ORDER BY {}",
    "SELECT count(*) FROM books GROUP BY {}", "SELECT 1 LIMIT ({})::text::bigint",
    "SELECT 1 OFFSET length(({})::text)", "SELECT count(*) FROM books HAVING {} IS NULL",
    "WITH x AS (SELECT {} AS y) SELECT y FROM x", "WITH x AS MATERIALIZED (SELECT {} AS y) SELECT 1",
    "SELECT sum(pages) FILTER (WHERE {} IS NULL) FROM books",
    "SELECT sum(pages) OVER (PARTITION BY {}) FROM books",
    "SELECT sum(pages) OVER (ROWS ({})::text::int PRECEDING) FROM books",
    "SELECT DISTINCT ON ({}) title FROM books", "SELECT CASE WHEN {} IS NULL THEN 1 END",
    "SELECT NULL UNION ALL SELECT ({})::text",
    "SELECT 1 FROM books WHERE pages IN (SELECT length(({})::text))",
    "SELECT * FROM books JOIN authors ON {} IS NULL", "SELECT * FROM (VALUES ({})) v(x)",
    "SELECT 1 FROM books b, LATERAL (SELECT {}) AS l", "SELECT EXISTS (SELECT {})", "SELECT ARRAY[{}]",
    "SELECT max({}) FROM books", "SELECT concat({})",
]  # fmt: skip
HIDINGS = [
    "{}", "{}", "{}", "1 AS x$$, {} AS y$$", "'\\', {}, '\\'", "E'\\'', {}, ''", "E'a'\n'\\', ', {}, ''''",
    "$a$ ' $a$, {}, $a$ ' $a$", "1 /* /* */ */, {}", "1 -- x\r, {} --", "1 -- ' \n, {} -- '", "'' '', {}, ''",
    "U&'\\0027', {}, U&'\\0027'", "\"\"\"\", {}", "1 --\u2028, {}", "N'\\', {}, '",
    "B'1', {}", "'\n', {}, '\n'",
]  # fmt: skip
SPELLINGS = [
    "{}",
    "{}",
    "{}",
    '"{}"',
    " {}",
    "/**/{}",
    '"{}" ',
    "\n-- x\n{}",
    "\u00a0{}",
    'U&"{}"',
    "{}/* */",
]


def make(random: Random) -> Statement:
    """Generate a function call in one of many forms and positions, after text that may be misread."""
    value, name = random.choice(CALLED)
    form = random.choice(FORMS)
    if "{name}.{name}" not in form:
        name = random.choice(SPELLINGS).format(name.upper() if random.random() < 0.1 else name)
    call = form.format(value=value, name=name)
    if random.random() < 0.3:
        call = f"(SELECT {call})" if random.random() < 0.5 else f"({call})"
    place = random.choice(PLACES)
    hiding = random.choice(HIDINGS) if place == PLACES[0] or random.random() < 0.1 else "{}"
    return place.replace("{}", hiding.replace("{}", call))


KIND = Kind(at_least=290, open=partial(open_server, "postgresql"), make=make)
