"""The ledger: which calls were made and answered, where the ledger lies, and who may write it."""
