"""Asking models: requests, the ledger, the client, the budget and the embedded model."""
