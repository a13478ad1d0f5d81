"""Call models: requests, the ledger of recorded calls, clients, the budget and embedded models."""
