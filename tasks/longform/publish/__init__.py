"""Publish: figures, report page, dataset."""
