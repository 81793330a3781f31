"""A run from the question to the answer in the ledger: `running` drives the graph, `concluding` makes the answer of
what it left, `receipts` tells afterwards how it came about. Knows nothing about how evidence is found or drafts are
written.
"""
