"""Publish TANQ's question sets and evaluations: contracts, statistics, report pages and figures."""
