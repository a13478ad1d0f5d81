"""The runner, which connects Prefect and DVC."""
