"""Run methods over streams (section 4)."""
