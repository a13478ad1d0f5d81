"""The stages' functions and the code that they share. No module here imports Prefect or DVC."""
