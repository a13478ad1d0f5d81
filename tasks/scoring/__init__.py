"""Compute metrics that need no model.

One file per metric. This package imports no stages, flows or models.
"""
