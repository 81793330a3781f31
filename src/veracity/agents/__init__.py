"""Those who do the work of a run: writer, reviewer, rewriter. Each has a form that asks a language model and a local
one that needs none, behind one protocol. They know nothing of each other, nor of the order in which they are asked.
"""
