"""Compute scores and costs of steps, and learning curves of methods (section 5.2)."""
