"""Long campaigns over the whole engine: processes that are killed, deciders that race, conversations that grow."""
