"""The documents of a workspace: read, cut into passages, indexed, kept. `library` is the way in."""
