"""What runs, in which order. The only part that knows Prefect and DVC."""

from flows.loaded_code import watch_imports

watch_imports()
