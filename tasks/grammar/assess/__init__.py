"""GRAMMAR-Eval: ask a system, judge its answers, and attribute its failures (section 4.3)."""
