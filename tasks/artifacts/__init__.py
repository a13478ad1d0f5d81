"""Artifacts: Parquet files of dataclass rows, their statistics and contracts, and dataset cards."""
