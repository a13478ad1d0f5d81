"""Write a GBNF grammar that accepts exactly the SQL templates that a request allows."""

from __future__ import annotations

import json

from tasks.grammar.construct.template_requests import TemplateRequest, list_templates


def write_sql_grammar(request: TemplateRequest) -> str:
    """Write the grammar: the model chooses the columns, everything else is fixed."""
    return "root ::= " + " | ".join(json.dumps(sql, ensure_ascii=False) for sql in list_templates(request))
