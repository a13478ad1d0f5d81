"""Parquet files, their contracts, and dataset cards."""
