"""LLM judges: quoting of untrusted text, parsing of verdicts, test cases, and agreement with people."""
