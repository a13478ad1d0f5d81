"""Solve the questions with agents that plan, query and answer (sections 3 and 4.1 of the paper)."""
