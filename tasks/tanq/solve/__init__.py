"""Run the baselines that predict tables: closed book, oracle, and an agent with search."""
