"""Compute scores and costs of steps, and learning curves of methods (StreamBench, section 5.2)."""
