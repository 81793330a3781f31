"""The documents of a workspace: read, cut into passages, indexed, kept. `library` is the way in."""

import os

# LanceDB writes to stderr what it finds worth a warning, and none of it is for who uses Veracity. Read on its import.
os.environ.setdefault("LANCEDB_LOG", "error")
