"""Declare the flows and run them. The only package that imports Prefect and DVC."""

from flows.loaded_code import watch_imports

watch_imports()
