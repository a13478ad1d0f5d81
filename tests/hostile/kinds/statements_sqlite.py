"""Hostile statements for SQLite, disguised: writes, access to other files, endless or growing queries."""

from __future__ import annotations

from random import Random

from tests.hostile.statements import Statement, open_file
from tests.hostile.subject import Kind

ATTACKS = [
    "load_extension('{folder}/evil.so')", "readfile('/etc/passwd')", "writefile('{folder}/evil', 'x')",
    "edit('x', 'touch {folder}/evil')", "fts3_tokenizer('simple')", "randomblob(300000000)", "random()",
    "zeroblob(900000000)", "sqlite_version()", "last_insert_rowid()", "sqlite_compileoption_get(1)",
    "(SELECT sql FROM sqlite_master)", "(SELECT name FROM sqlite_schema)", "(SELECT 1 FROM sqlite_dbpage)",
    "(SELECT file FROM pragma_database_list)", "(SELECT name FROM pragma_table_info('books'))",
    "(SELECT count(*) FROM fsdir('/'))", "(SELECT 1 FROM sqlite_temp_master)",
    "(WITH RECURSIVE r(t) AS (SELECT 'ab' UNION ALL SELECT t || t FROM r) SELECT max(length(t)) FROM r)",
    "(WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT count(*) FROM r)",
    "(SELECT group_concat(a.title || b.title) FROM books a, books b, books c)",
    "(SELECT count(*) FROM books a, books b, books c, books d)",
]  # fmt: skip
PLACES = [
    "SELECT {}", "SELECT title FROM books WHERE {} IS NOT NULL", "SELECT title FROM books ORDER BY {}",
    "SELECT max(pages) FROM books GROUP BY {}", "SELECT 1 LIMIT {}", "SELECT 1 LIMIT 1 OFFSET {}",
    "SELECT max(pages) FROM books HAVING {} IS NULL", "WITH x AS (SELECT {} AS y) SELECT y FROM x",
    "SELECT sum(pages) FILTER (WHERE {} IS NULL) FROM books",
    "SELECT sum(pages) OVER (PARTITION BY {}) FROM books",
    "SELECT CASE WHEN {} THEN 1 END", "SELECT 1 UNION SELECT {}",
    "SELECT title FROM books WHERE pages IN ({})",
    "SELECT * FROM (SELECT {}) x", "SELECT 1 FROM authors JOIN books ON {}", "SELECT coalesce(NULL, {})",
    "SELECT json_object('a', {})", "SELECT value FROM json_each({})", "SELECT -{} COLLATE NOCASE",
]  # fmt: skip
BEFORE = ["", "", "", "/**/", "-- x\n", "/* ' */", "WITH z AS (SELECT 1) ", "\t\n", "/* /* */"]
AFTER = [
    "",
    "",
    "",
    ";",
    "; --",
    " -- x",
    " /*",
    "; DELETE FROM books",
    "; ATTACH '{folder}/evil' AS e",
    "\x00",
    ";;",
]


def make(random: Random) -> Statement:
    """Insert an attack at a random position of a SELECT, in one of several disguises."""
    attack = random.choice(ATTACKS)
    for _ in range(random.choice([0, 0, 0, 1, 2, 5])):
        attack = random.choice(
            ["(SELECT {})", "(WITH q AS (SELECT {} AS v) SELECT v FROM q)", "abs({})", "({})"]
        ).format(attack)
    if random.random() < 0.2:
        attack = "".join(random.choice([letter.upper(), letter]) for letter in attack)
    if random.random() < 0.2:
        attack = attack.replace("(", random.choice([" (", "/**/(", "\n(", "--\n("]), 1)
    return random.choice(BEFORE) + random.choice(PLACES).replace("{}", attack) + random.choice(AFTER)


KIND = Kind(at_least=180, open=open_file, make=make)
