"""The one door to language models.

Ask an `LLM` a `Question` and get an `Answer` whose value fits the question's schema, or hand it a `Writing` and get a
`Text`; or one of the errors in `veracity.errors`. Knows nothing about what is asked. pydantic-ai is loaded by the first
call, not by this import.
"""

from veracity.llm.client import LLM, Budget
from veracity.llm.listening import OnText, Piece
from veracity.llm.requests import Answer, Message, Question, Text, Writing

__all__ = ["LLM", "Answer", "Budget", "Message", "OnText", "Piece", "Question", "Text", "Writing"]
