"""Are questions of a conversation understood? See `python -m benchmarks.conversation --help`."""
