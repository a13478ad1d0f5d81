"""Build long-form questions over databases, have agents answer them, and judge the answers (paper 000)."""
