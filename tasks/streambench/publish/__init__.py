"""Check, tabulate and publish streams and evaluations (sections 4.3 and 5, appendices)."""
