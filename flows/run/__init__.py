"""The runner, which executes stages with Prefect and DVC."""
