"""Ask models: requests, the ledger, clients, the budget and embedded models."""
