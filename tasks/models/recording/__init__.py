"""The ledger of model calls: its entries, its storage, and the thread that writes the entries."""
