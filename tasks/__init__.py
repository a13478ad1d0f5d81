"""What the stages are made of. Nothing here knows Prefect or DVC."""
