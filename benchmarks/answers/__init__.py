"""Benchmark of the extractive writer: answers, abstentions and citations."""
