"""Servers on loopback: embedded models, and a ledger that answers as an endpoint does."""
