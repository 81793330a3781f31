"""A run from the question to the answer in the ledger."""
