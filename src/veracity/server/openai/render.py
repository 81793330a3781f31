"""Answers as OpenAI's clients understand them: chat completions, whole and in pieces. Knows nothing about HTTP.

Sources and notices stand below the text, since most clients show nothing else; docs/openai.md tells why.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, Literal

from pydantic import BaseModel

from veracity.agents.links import inert
from veracity.models import Answer, AnswerStatus, Notice
from veracity.server.openai.schemas import MODEL, Content

PIECE = 48  # characters of the text in one chunk
LONGEST_SHOWN = 150  # characters of a title or a place

LABELS = {
    "en": ("Sources:", "Notes:", "page {}"),
    "zh": ("来源：", "说明：", "第 {} 页"),
    "ja": ("出典：", "注記：", "{} ページ"),
}


class CitedSource(BaseModel):
    """`number` is the [n] of the text; `quote` is the document's text[start:end], in characters."""

    number: int
    document_id: str
    title: str
    location: str
    page: int | None
    quote: str
    start: int
    end: int


class Examined(BaseModel):
    """What OpenAI's form has no place for. With the status "awaiting_approval" the text only says that a person is
    asked; `approval_id` names what waits, and /api/runs/{run_id} tells the answer later."""

    run_id: str
    conversation: str
    status: AnswerStatus
    score: float | None
    approval_id: str
    notices: list[Notice]
    citations: list[CitedSource]


class SaidMessage(BaseModel):
    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class Choice(BaseModel):
    index: int = 0
    message: SaidMessage
    logprobs: None = None
    finish_reason: Literal["stop"] = "stop"


class Tokens(BaseModel):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Completion(BaseModel):
    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str = MODEL
    choices: list[Choice]
    usage: Tokens
    veracity: Examined


def completion_of(answer: Answer, content: Content) -> Completion:
    return Completion(
        id=_id(answer.run_id),
        created=int(time.time()),
        choices=[Choice(message=SaidMessage(content=content_of(answer, content)))],
        usage=_tokens(answer),
        veracity=_examined(answer),
    )


class Chunks:
    """The pieces of one streamed completion, each as the data of an event."""

    def __init__(self, run_id: str) -> None:
        self._head = {"id": _id(run_id), "object": "chat.completion.chunk", "created": int(time.time()), "model": MODEL}

    def opening(self) -> dict[str, Any]:
        return self._chunk({"role": "assistant", "content": ""})

    def of(self, answer: Answer, content: Content, has_usage: bool) -> Iterator[dict[str, Any]]:
        text = content_of(answer, content)
        for start in range(0, len(text), PIECE):
            yield self._chunk({"content": text[start : start + PIECE]})
        yield {**self._chunk({}, "stop"), "veracity": _examined(answer).model_dump(mode="json")}
        if has_usage:
            yield {**self._head, "choices": [], "usage": _tokens(answer).model_dump()}

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return {**self._head, "choices": [choice]}


def content_of(answer: Answer, content: Content) -> str:
    """The text, and below it what [1] is and what whoever reads it should know."""
    if content == "answer" or answer.status == "awaiting_approval":
        return answer.text
    sources, notes, page = LABELS.get(answer.language, LABELS["en"])
    cited = {one.number: one for one in _citations(answer)}
    listed = [f"- [{number}] `{_shown(cited[number], page)}`" for number in sorted(cited)]
    told = [f"- {inert(one.text)}" for one in answer.notices]
    below = ["\n".join([label, "", *lines]) for label, lines in ((sources, listed), (notes, told)) if lines]
    return "\n\n".join([answer.text, *below])


def _shown(cited: CitedSource, page: str) -> str:
    """As code, so that no client makes a link or an image of what a document calls itself."""
    is_web = cited.location.startswith(("http://", "https://"))
    place = cited.location if is_web else PurePosixPath(cited.location.replace("\\", "/")).name
    if cited.document_id.startswith("run:"):  # an earlier answer, whose title is its question
        place = ""
    known = [cited.title, place if place != cited.title else "", page.format(cited.page) if cited.page else ""]
    told = (" ".join(one.replace("`", "'").split())[:LONGEST_SHOWN] for one in known)
    return ", ".join(one for one in told if one) or cited.document_id.replace("`", "'")


def _citations(answer: Answer) -> list[CitedSource]:
    """Each stretch of a document once, in the order of the text."""
    cited = (one for sentence in answer.sentences for one in sentence.citations)
    unique = {(one.number, one.start, one.end): one for one in cited if 1 <= one.number <= len(answer.evidence)}
    return [
        CitedSource(
            number=one.number,
            document_id=one.document_id,
            title=source.title,
            location=source.location,
            page=source.page,
            quote=one.quote,
            start=one.start,
            end=one.end,
        )
        for one in unique.values()
        for source in [answer.evidence[one.number - 1]]
    ]


def _examined(answer: Answer) -> Examined:
    return Examined(
        run_id=answer.run_id,
        conversation=answer.conversation,
        status=answer.status,
        score=answer.score,
        approval_id=answer.approval_id,
        notices=answer.notices,
        citations=_citations(answer),
    )


def _tokens(answer: Answer) -> Tokens:
    """What all models of the run used together; nothing where none is set."""
    used = answer.usage
    return Tokens(prompt_tokens=used.input_tokens, completion_tokens=used.output_tokens, total_tokens=used.tokens)


def _id(run_id: str) -> str:
    return f"chatcmpl-{run_id}"
