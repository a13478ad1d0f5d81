"""Use LLM judges: quote untrusted text, parse verdicts, run test cases, measure agreement with people."""
