"""Where raw data comes from: one importer a file."""
