"""A flow of three stages for the runner's tests: one reads, one asks, one writes its file by itself."""
