"""The ledger of model calls: entries, storage and the thread that writes them."""
