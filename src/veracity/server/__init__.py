"""The HTTP API and the page: parses requests, calls the engine, renders the results."""
