"""Methods, one a file, found by being there."""
