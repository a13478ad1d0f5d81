"""GRAMMAR-Eval: a system is asked, judged and diagnosed (section 4.3)."""
