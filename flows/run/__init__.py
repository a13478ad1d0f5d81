"""The runner between Prefect and DVC."""
