"""The client for language models. All calls go through it.

`LLM.ask` takes a `Question` and returns an `Answer` that fits the question's schema; `LLM.write` takes a `TextRequest`
and returns a `Text`. The first call loads pydantic-ai, not this import.
"""

from veracity.llm.budget import Budget
from veracity.llm.call_log import CallLog
from veracity.llm.client import LLM
from veracity.llm.listening import OnText, Piece
from veracity.llm.requests import Answer, Message, Question, Text, TextRequest

__all__ = ["LLM", "Answer", "Budget", "CallLog", "Message", "OnText", "Piece", "Question", "Text", "TextRequest"]
