"""LLM judges: quoting what they judge, parsing verdicts, canaries, and agreement with people."""
