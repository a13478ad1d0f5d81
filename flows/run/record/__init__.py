"""DVC's half of a run: what is stale, what lies there, and the record of what ran."""
