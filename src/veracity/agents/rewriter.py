"""Rewrites a query that found too little, with a model (SPEC C4)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, Field

from veracity.agents.base import Rewrite, RewriteTask
from veracity.agents.prompts import load_prompt
from veracity.language import guess_language, normalized
from veracity.llm import LLM, Question
from veracity.models import Shortfall, WritableText

ROLE = "rewriter"
MAX_QUERY_LENGTH = 300  # characters
MAX_PASSAGES = 5
MAX_EXCERPT_LENGTH = 240
MAX_WEAK_POINTS = 5
MAX_RETRIES = 1  # a late query is worth nothing

LANGUAGES = {"en": "English", "zh": "Chinese (查询用中文写)", "ja": "Japanese (検索語は日本語で書く)"}

STRATEGIES: dict[Shortfall, str] = {
    "empty": "Nothing was found: use more general words for the same thing, and search all sources.",
    "coverage": "This is a known weak point of the user: name the source `temporal` and address the weak points.",
    "relevance": "The results are not relevant: use more specific keywords, the terms of a document about it.",
    "diversity": "Only one source answered: name the other sources that are available.",
    "count": "Too little was found: broaden the query with synonyms and general terms, and keep the specific ones.",
}


class Rewriting(BaseModel):
    """The new query: first the reason, then the query."""

    reason: WritableText = Field(
        min_length=1,
        description="what the last query lacked, in one sentence",
        json_schema_extra={"maxLength": MAX_QUERY_LENGTH},
    )
    query: WritableText = Field(
        min_length=1,
        description="the new search query, one line, no operators",
        json_schema_extra={"maxLength": MAX_QUERY_LENGTH},
    )
    sources: list[Literal["knowledge", "temporal", "graph"]] = Field(
        default=[], description="further sources to search, if any"
    )


class LLMRewriter:
    def __init__(self, llm: LLM, model: str, instructions: str | None = None) -> None:
        self.model = model
        self._llm = llm
        self._instructions = instructions or load_prompt(f"instructions/{ROLE}")

    def rewrite(self, task: RewriteTask) -> Rewrite | None:
        question = Question(
            model=self.model,
            role=ROLE,
            instructions=self._instructions,
            prompt=make_request(task),
            output=Rewriting,
            max_retries=MAX_RETRIES,
        )
        answer = self._llm.ask(question, task.budget, deadline=task.deadline)
        query = " ".join(answer.value.query.split())[:MAX_QUERY_LENGTH].strip()
        is_tried = comparable(query) in {"", *(comparable(tried) for tried in task.tried)}
        if is_tried or not _is_in_a_useful_language(query, task):
            return None
        return Rewrite(
            query=query,
            sources=choose_sources(task, answer.value.sources),
            reason=" ".join(answer.value.reason.split()),
            widen=needs_more_passages(task),
            usage=answer.usage,
        )


def make_request(task: RewriteTask) -> str:
    codes: list[Shortfall] = [issue.code for issue in task.quality.issues]
    material = {
        "question": task.question,
        "queries_tried": list(task.tried),
        "issues": [issue.text for issue in task.quality.issues],
        "found": [
            {"title": item.title, "text": item.text[:MAX_EXCERPT_LENGTH], "relevance": item.metadata.relevance_score}
            for item in task.evidence[:MAX_PASSAGES]
        ],
        "weak_points": list(task.weak_points[:MAX_WEAK_POINTS]),
        "sources_asked": list(task.sources),
        "sources_available": list(task.available),
    }
    return load_prompt(
        "requests/rewriter",
        material=json.dumps(material, ensure_ascii=False),
        strategy="\n".join(f"- {STRATEGIES[code]}" for code in codes or ["relevance"]),
        language=_language_request(task),
    )


def comparable(query: str) -> str:
    """Queries that differ only in case, spaces, width or punctuation return the same results."""
    return re.sub(r"[\W_]+", " ", normalized(query)).casefold().strip()


def choose_sources(task: RewriteTask, requested: Sequence[str] = ()) -> tuple[str, ...]:
    """The available sources among those searched before, requested, and required by the issues (SPEC C4)."""
    codes = {issue.code for issue in task.quality.issues}
    wanted = {*task.sources, *requested}
    if "coverage" in codes:
        wanted.add("temporal")
    if codes & {"diversity", "empty"}:
        wanted.update(task.available)
    return tuple(source for source in task.available if source in wanted) or tuple(task.sources)


def needs_more_passages(task: RewriteTask) -> bool:
    return any(issue.code in ("count", "empty") for issue in task.quality.issues)


def _language_request(task: RewriteTask) -> str:
    languages = _useful_languages(task)
    names = " or ".join(LANGUAGES[language] for language in languages if language in LANGUAGES)
    why = "the language of the question" if languages == [guess_language(task.question)] else "as the documents are"
    return f"Write the query in {names}, {why}."


def _useful_languages(task: RewriteTask) -> list[str]:
    """The question's language, unless all evidence is in other languages."""
    language, found = guess_language(task.question), {item.language for item in task.evidence}
    return [language] if language in found or not found else sorted(found)


def _is_in_a_useful_language(query: str, task: RewriteTask) -> bool:
    """Whether the query is in an expected language. Small models tend to translate into English, which finds nothing in
    other documents. Only English is checked: short Chinese and Japanese texts look alike."""
    languages = (guess_language(task.question), *_useful_languages(task))
    return (guess_language(query) == "en") in {language == "en" for language in languages}
