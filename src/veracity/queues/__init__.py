"""What servers leave to workers besides runs: uploaded files and evaluations. The ledger has the rows."""
