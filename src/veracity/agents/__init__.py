"""The agents of a run: writer, reviewer, rewriter, router and summarizer, each with a model or without (`base.py`)."""
