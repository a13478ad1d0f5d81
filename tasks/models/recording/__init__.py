"""The ledger of model calls: entries, storage and the process that writes."""
