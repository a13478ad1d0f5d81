"""Parquet files, dataset cards and lineage."""
