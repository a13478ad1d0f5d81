"""What is measured, and against what: `python -m bench` runs all."""
