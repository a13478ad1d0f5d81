"""Use DVC in a run: determine staleness, handle existing files, and record finished stages."""
