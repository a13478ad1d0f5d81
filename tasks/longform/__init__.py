"""Long-form questions over databases: built, solved by agents with SQL, and judged (paper 000)."""
