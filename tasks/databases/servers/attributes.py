"""Find what PostgreSQL may take for a call where nothing in a statement looks like one.

`(value).name` and `alias.name` are a column's value; where there is no such column they call the function
`name`, or cast to the type `name`: `(4711).pg_advisory_lock`, `(title).md5`, `books.row_to_json` and, in
`FROM abs(0.3) AS x`, `x.pg_sleep`. Only the server knows which. What it prints of a plan does not tell: it
has called what is immutable by then, and leaves out limits and frames. What it resolved it prints into its
own log alone. But it can be asked whether there is such a column, since `ORDER BY name` over a UNION names a
column of the result and nothing else. So a statement with a name behind a dot that is also a function's or
a type's is first prepared, which resolves it and runs nothing, with the condition
`EXISTS (SELECT owner.* UNION ALL SELECT owner.* ORDER BY name)` beside each such name. Where that fails, the
name is no column, or cannot be shown to be one, and the statement is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

from sqlglot import Dialect, TokenType, exp
from sqlglot.tokenizer_core import Token

from tasks.errors import SqlRefused

DIALECT = "postgres"
MAX_PROOFS = 100


def list_dotted(sql: str) -> Counter[str]:
    """Count the names that stand behind a dot, as PostgreSQL reads them."""
    pairs = _list_pairs(sql)
    return Counter(_spell(token) for before, token in pairs if before.token_type == TokenType.DOT)


def list_called(sql: str) -> Counter[str]:
    """Count the names that stand before a bracket, as PostgreSQL reads them."""
    pairs = _list_pairs(sql)
    return Counter(_spell(token) for token, after in pairs if after.token_type == TokenType.L_PAREN)


def _list_pairs(sql: str) -> Iterator[tuple[Token, Token]]:
    return pairwise(Dialect.get_or_raise(DIALECT).tokenize(sql))


def _spell(token: Token) -> str:
    return token.text if token.token_type == TokenType.IDENTIFIER else token.text.lower()


def write_proof(root: exp.Query, sql: str, is_callable: Callable[[Iterable[str]], set[str]]) -> str | None:
    """Write the statement that can be prepared only if every name behind a dot is a column's.

    is_callable: picks the names that are functions or types, too. Returns None where none is; raises
    SqlRefused where a name cannot be found in the parse tree or asked for.
    """
    dotted = list_dotted(sql)
    suspects = is_callable(dotted)
    if not suspects:
        return None
    seen: Counter[str] = Counter()
    conditions: dict[tuple[int, str], tuple[exp.Select, str]] = {}
    proof = root.copy()
    for node in proof.find_all(exp.Column, exp.Dot, exp.Table):
        seen.update(_read_name(node.args[part]) for part in ("db", "table") if _is_qualified(node, part))
        name, owner = _split(node)
        seen[name] += 1
        if name not in suspects or isinstance(node, exp.Table):
            continue
        select = node.find_ancestor(exp.Select)
        if select is None:
            raise SqlRefused(f"the name {name[:40]} cannot be shown to be a column there")
        quoted = exp.to_identifier(name, quoted=True).sql(dialect=DIALECT)
        condition = f"EXISTS (SELECT {owner}.* UNION ALL SELECT {owner}.* ORDER BY {quoted})"
        conditions[id(select), condition] = select, condition
    if any(seen[name] < dotted[name] for name in suspects) or len(conditions) > MAX_PROOFS:
        raise SqlRefused(f"the name {min(suspects)[:40]} cannot be shown to be a column")
    for select, condition in conditions.values():
        select.where(condition, dialect=DIALECT, copy=False)
    return proof.sql(dialect=DIALECT)


def _split(node: exp.Expr) -> tuple[str, str]:
    """Split a node at its last dot: the name behind it, empty where there is none, and the SQL before it."""
    if isinstance(node, exp.Dot):
        return _read_name(node.expression), f"({node.this.sql(dialect=DIALECT)})"
    if not node.args.get("table" if isinstance(node, exp.Column) else "db"):
        return "", ""
    parts = [node.args.get(part) for part in ("catalog", "db", "table")]
    return _read_name(node.this), ".".join(part.sql(dialect=DIALECT) for part in parts if part is not None)


def _is_qualified(node: exp.Expr, part: str) -> bool:
    """Return whether a schema or table has a dot before it, too."""
    before = {"db": "catalog", "table": "db"}[part]
    return node.args.get(part) is not None and node.args.get(before) is not None


def _read_name(node: exp.Expr) -> str:
    return node.name if node.args.get("quoted") else node.name.lower()
