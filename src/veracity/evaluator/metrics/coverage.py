"""Does it answer all that was asked?"""

from veracity.evaluator.metrics.llm_metric import RULES, LLMMetric


class Coverage(LLMMetric):
    """Does the submission answer every part of the query, in the depth it asks for?"""

    system_instruction = f"""\
You judge the coverage of a submission written in answer to a user's query: whether it answers all that was asked. \
First list for yourself every part of the query: each question, condition, comparison and requested item. Then check \
for each part whether the submission answers it with substance. Naming a topic is not answering it. Where a context is \
given, stating that the context does not contain a part counts as answering that part; inventing it does not.

What the scores mean:
100 - every part is answered, in the depth the query asks for.
75 - the main parts are answered; a minor one is missing or thin.
50 - about half of what was asked is answered.
25 - only a small part is answered, or all of it only in passing.
0 - nothing that was asked is answered.

{RULES}"""
