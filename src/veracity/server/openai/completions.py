"""Answers as chat completions, whole or in chunks.

Sources and notices are appended to the text, because most clients show nothing else: see docs/openai.md.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any, Literal

from pydantic import BaseModel, Field

from veracity.engine import make_inert
from veracity.locales import text
from veracity.models import Answer, AnswerStatus, Notice
from veracity.server.openai.schemas import MODEL, Content

ID = "chatcmpl-{}"
CHUNK_LENGTH = 48
MAX_LABEL_LENGTH = 150  # of a title or file name


class CitedSource(BaseModel):
    number: int = Field(description="the [n] in the text")
    document_id: str
    title: str
    location: str
    page: int | None
    quote: str = Field(description="the document's text from `start` to `end`")
    start: int
    end: int


class RunInfo(BaseModel):
    """Fields that OpenAI's format does not have."""

    run_id: str
    conversation: str
    status: AnswerStatus = Field(description='for "awaiting_approval", read the answer later from /api/runs/{run_id}')
    score: float | None
    approval_id: str
    notices: list[Notice]
    citations: list[CitedSource]


class CompletionMessage(BaseModel):
    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class Choice(BaseModel):
    index: int = 0
    message: CompletionMessage
    logprobs: None = None
    finish_reason: Literal["stop"] = "stop"


class TokenUsage(BaseModel):
    """The tokens of all models in the run."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Completion(BaseModel):
    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str = MODEL
    choices: list[Choice]
    usage: TokenUsage
    veracity: RunInfo


def render_completion(answer: Answer, content: Content) -> Completion:
    return Completion(
        id=ID.format(answer.run_id),
        created=int(time.time()),
        choices=[Choice(message=CompletionMessage(content=render_content(answer, content)))],
        usage=_usage(answer),
        veracity=_run_info(answer),
    )


class ChunkRenderer:
    """Renders the chunks of one streamed completion."""

    def __init__(self, run_id: str) -> None:
        self._head = {
            "id": ID.format(run_id),
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": MODEL,
        }

    def first(self) -> dict[str, Any]:
        return self._chunk({"role": "assistant", "content": ""})

    def rest(self, answer: Answer, content: Content, include_usage: bool) -> Iterator[dict[str, Any]]:
        rendered = render_content(answer, content)
        for start in range(0, len(rendered), CHUNK_LENGTH):
            yield self._chunk({"content": rendered[start : start + CHUNK_LENGTH]})
        yield {**self._chunk({}, "stop"), "veracity": _run_info(answer)}
        if include_usage:
            yield {**self._head, "choices": [], "usage": _usage(answer)}

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return {**self._head, "choices": [choice]}


def render_content(answer: Answer, content: Content) -> str:
    """The answer, followed by its sources and notices unless `content` is "answer"."""
    if content == "answer" or answer.status == "awaiting_approval":
        return answer.text
    cited = {source.number: source for source in _citations(answer)}
    lists = {
        "sources": [f"[{number}] `{_label(cited[number], answer.language)}`" for number in sorted(cited)],
        "notes": [make_inert(notice.text) for notice in answer.notices],
    }
    sections = [
        "\n".join([text(answer.language, "server", key), "", *(f"- {line}" for line in lines)])
        for key, lines in lists.items()
        if lines
    ]
    return "\n\n".join([answer.text, *sections])


def _label(source: CitedSource, language: str) -> str:
    """Title, file name and page, safe within backticks. The source may also be an earlier answer with its question."""
    file_name = PurePosixPath(source.location.replace("\\", "/")).name
    if source.document_id.startswith("run:") or file_name == source.title:
        file_name = ""
    page = text(language, "server", "page", page=source.page) if source.page else ""
    labels = (" ".join(label.replace("`", "'").split()) for label in (source.title, file_name, page))
    return ", ".join(label[:MAX_LABEL_LENGTH] for label in labels if label) or source.document_id.replace("`", "'")


def _citations(answer: Answer) -> list[CitedSource]:
    """Each cited quote once, in the order of the text."""
    citations = (citation for sentence in answer.sentences for citation in sentence.citations)
    unique = {(one.number, one.start, one.end): one for one in citations if 1 <= one.number <= len(answer.evidence)}
    return [
        CitedSource(
            **citation.model_dump(include={"number", "document_id", "quote", "start", "end"}),
            **answer.evidence[citation.number - 1].model_dump(include={"title", "location", "page"}),
        )
        for citation in unique.values()
    ]


def _run_info(answer: Answer) -> RunInfo:
    fields = answer.model_dump(include=set(RunInfo.model_fields) - {"citations"})
    return RunInfo(**fields, citations=_citations(answer))


def _usage(answer: Answer) -> TokenUsage:
    usage = answer.usage
    return TokenUsage(
        prompt_tokens=usage.input_tokens, completion_tokens=usage.output_tokens, total_tokens=usage.tokens
    )
