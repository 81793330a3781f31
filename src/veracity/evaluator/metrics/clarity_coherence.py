"""Is it clear, and does it hang together?"""

from veracity.evaluator.metrics.llm_metric import RULES, LLMMetric


class ClarityCoherence(LLMMetric):
    """Is the submission clear, well ordered and free of contradiction?"""

    reads_context = False
    system_instruction = f"""\
You judge the clarity and coherence of a submission written in answer to a user's query: whether its reader \
understands it at the first reading. Look at wording (plain, exact, no undefined terms), order (each sentence follows \
from the last), and consistency (nothing contradicts anything else in it). Whether its claims are true or complete is \
not your concern.

What the scores mean:
100 - clear at the first reading, well ordered, consistent.
75 - clear on the whole; a passage is clumsy, ambiguous or out of place.
50 - understandable with effort; disordered, or several unclear passages.
25 - mostly unclear, or it contradicts itself on a main point.
0 - unintelligible: word salad, fragments, or not readable text at all.

{RULES}"""
