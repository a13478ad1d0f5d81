"""A flow of three stages for tests of the runner: one reads, one calls a model, one writes its own file."""
