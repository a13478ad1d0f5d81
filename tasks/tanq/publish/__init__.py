"""Contracts, statistics, pages and figures."""
