"""DVC's part of a run: staleness, existing files, and the record of finished stages."""
