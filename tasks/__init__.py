"""The functions of the stages and the code that they share. Nothing here imports Prefect or DVC."""
