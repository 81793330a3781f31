"""A judge whose quality is configured by the user."""

from veracity.evaluator.metrics.llm_metric import RULES, LLMMetric


class LLMPlain(LLMMetric):
    """The overall quality of the submission, or whatever its system_instruction asks for."""

    system_instruction = f"""\
You judge the overall quality of a submission written in answer to a user's query: whether the one who asked is well \
served by it. Weigh together whether it is correct as far as you can tell (where a context is given: whether the \
context supports it), whether it answers what was asked, and whether it is clear.

What the scores mean:
100 - correct, complete and clear: nothing to improve.
75 - good; a small error, gap or unclear passage.
50 - of use, but with a serious error or gap.
25 - mostly wrong, missing the point or hard to use.
0 - of no use, or harmful to rely on.

{RULES}"""
