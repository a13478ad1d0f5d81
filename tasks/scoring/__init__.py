"""Metrics that need no model: one file a metric. Nothing here knows stages, flows or models."""
