"""The documents of a workspace: read, chunked into passages, indexed and stored. `library.py` is the entry point."""

import os

# LanceDB reads this on import. Its warnings go to stderr and mean nothing to Veracity's users.
os.environ.setdefault("LANCEDB_LOG", "error")
