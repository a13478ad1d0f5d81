"""Metrics that need no model, one file per metric. This package imports no stages, flows or models."""
