"""A GBNF grammar that lets a model write exactly the SQL templates that a wish allows."""

from __future__ import annotations

import json

from tasks.grammar.construct.template_requests import Wish, list_templates


def write_sql_grammar(wish: Wish) -> str:
    """Write the grammar: the choice of columns is the model's, all else is fixed."""
    return "root ::= " + " | ".join(json.dumps(sql, ensure_ascii=False) for sql in list_templates(wish))
