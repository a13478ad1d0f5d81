"""Check, tabulate and publish streams and evaluations (StreamBench, sections 4.3 and 5, appendices)."""
