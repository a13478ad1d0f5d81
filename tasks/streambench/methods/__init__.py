"""Methods, one per file; a method in a new file is found automatically."""
