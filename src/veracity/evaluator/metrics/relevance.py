"""Is it about what was asked?"""

from veracity.evaluator.metrics.llm_metric import RULES, LLMMetric


class Relevance(LLMMetric):
    """Is what the submission says about what the query asks?"""

    system_instruction = f"""\
You judge the relevance of a submission to a user's query: whether what it says is about what was asked, about the \
same subject, person, time and place, and useful to the one who asked. Read it statement by statement: is this \
statement part of an answer to this query? An answer to another question is irrelevant however good it is, and so are \
statements that a given context contradicts. Whether anything is missing is not your concern.

What the scores mean:
100 - every statement serves the query.
75 - the answer is to the point; some statements stray from it.
50 - about half of it is to the point, or it answers a neighbouring question.
25 - it touches the subject but hardly serves the query.
0 - it is about something else.

{RULES}"""
