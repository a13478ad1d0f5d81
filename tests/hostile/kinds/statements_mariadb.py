"""Hostile statements for MariaDB: endless optimization, code in comments, code hidden in texts."""

from __future__ import annotations

from functools import partial
from random import Random

from tests.hostile.statements import Statement, open_server
from tests.hostile.subject import Kind

ATTACKS = [
    "SLEEP(60)", "GET_LOCK('evil', 1)", "BENCHMARK(1000000000000, MD5('x'))", "LOAD_FILE('/etc/passwd')",
    "@evil := 1", "@@datadir", "NEXTVAL(numbers)", "NEXT VALUE FOR numbers", "SETVAL(numbers, 9999)",
    "VERSION()", "UUID()", "RAND()", "NOW()", "SYS_GUID()", "MASTER_POS_WAIT('x', 1, 60)",
    "REPEAT('x', 1000000000)", "LPAD('x', 1000000000, 'y')", "(SELECT user FROM mysql.user)",
    "(SELECT 1 FROM information_schema.processlist)", "RELEASE_ALL_LOCKS()", "CONNECTION_ID()",
    "UPDATEXML(1, CONCAT(0x7e, (SELECT VERSION())), 1)", "LAST_INSERT_ID(7)", "test.SLEEP(60)",
]  # fmt: skip
PLACES = [
    "SELECT {}", "SELECT title FROM books WHERE {} IS NULL", "SELECT title FROM books ORDER BY {}",
    "SELECT COUNT(*) FROM books GROUP BY {}", "SELECT COUNT(*) FROM books HAVING {} IS NULL",
    "WITH x AS (SELECT {} AS y) SELECT y FROM x", "SELECT 1 UNION SELECT {}",
    "SELECT SUM(pages) OVER (PARTITION BY {}) FROM books", "SELECT CASE WHEN {} THEN 1 END",
    "SELECT title FROM books WHERE pages IN (SELECT {})", "SELECT * FROM books JOIN authors ON {}",
    "SELECT * FROM (SELECT {} AS x) y", "SELECT GROUP_CONCAT({}) FROM books", "SELECT IF({}, 1, 2)",
]  # fmt: skip
HIDINGS = [
    "1 /*! , {} */", "1 /*!50000 , {} */", "1 /*M! , {} */", "1 /*M!100000 , {} */", "1 --1 , {}",
    "1 -- \r'\n, {} -- '", "1 --\u00a0, {} FROM (SELECT 1 AS `\u00a0`) t", "1 /* /* */, {} -- */ */",
    "'\\'', {}, '\\''", "\"\\\"\", {}, \"\"", "'a''\\', {}, '",
    "1 # '\n, {} # '", "`a\\`, {}, `", "_binary'\\\\', {}, ''",
    "1 --\x0b, {}", "1 --\x01, {}", "N'\\', {}, '", "1 #\r, {}", "x'41', {}", "'\n' , {}", "{}",
]  # fmt: skip
LONGEST = 3_000
"""Maximum length in characters; longer statements are mostly refused for their size."""


def make(random: Random) -> Statement:
    """Hide a call in ambiguous syntax, or nest named queries to overload the optimizer."""
    if random.random() < 0.5:
        while len(nested := make_nested(random, [], random.choice([2, 4, 6, 9, 12]))) > LONGEST:
            continue
        return nested
    attack = random.choice(ATTACKS)
    if random.random() < 0.2:
        attack = attack.replace("(", random.choice([" (", "/**/(", "\n("]), 1)
    place = random.choice(PLACES)
    return place.replace("{}", (random.choice(HIDINGS) if place == PLACES[0] else "{}").replace("{}", attack))


def make_nested(random: Random, names: list[str], depth: int) -> str:
    """Nest queries over `books` and the named queries in scope, each with its own named queries."""
    clause = ""
    if depth > 0 and random.random() < 0.5:
        own = random.sample(["a", "b", "c", "d"], random.choice([1, 1, 1, 2, 3]))
        parts = []
        for name in own:
            parts.append(f"{name} AS ({make_nested(random, names, depth - 1)})")
            names = [*names, name, name]
        clause = f"WITH {', '.join(parts)} "

    def choose() -> str:
        if depth <= 0 or random.random() < 0.6:
            return random.choice([*names, "books"])
        return f"({make_nested(random, names, depth - 1)})"

    shape = random.choice([
        "SELECT x.title FROM {} x", "SELECT x.title FROM {} x",
        "SELECT x.title FROM {} x JOIN {} y USING (title)",
        "SELECT x.title FROM {} x WHERE x.title IN (SELECT title FROM {} z)",
        "SELECT x.title FROM {} x WHERE EXISTS (SELECT 1 FROM {} z WHERE z.title = x.title)",
        "SELECT x.title FROM {} x UNION SELECT y.title FROM {} y",
        "SELECT (SELECT MIN(z.title) FROM {} z) AS title FROM {} x",
    ])  # fmt: skip
    return clause + shape.format(choose(), choose())


KIND = Kind(at_least=180, open=partial(open_server, "mariadb"), make=make)
