"""Loopback servers: embedded models, and a ledger server that behaves like an endpoint."""
