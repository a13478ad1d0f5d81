"""A corpus of hostile inputs as data files, and one runner for all kinds of inputs."""
