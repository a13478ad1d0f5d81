"""Declare the flows and run them. Only this package imports Prefect and DVC."""

from flows.loaded_code import watch_imports

watch_imports()
