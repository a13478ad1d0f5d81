"""Contracts, statistics, report pages and figures of TANQ's question sets and evaluations."""
