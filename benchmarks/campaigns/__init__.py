"""Long tests of the whole engine: killed processes, racing decisions, growing conversations."""
