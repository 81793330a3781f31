"""Answers as chat completions, whole or in chunks.

Sources and notices are appended to the text, because most clients show nothing else: see docs/openai.md.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel, Field

from veracity.models import Answer, Notice, RunStatus
from veracity.server.citations import CitedSource, cited_sources, render_with_sources
from veracity.server.openai.schemas import MODEL, Content
from veracity.server.sse import encode_json

ID = "chatcmpl-{}"
CHUNK_LENGTH = 48


class RunInfo(BaseModel):
    """Fields that OpenAI's format does not have."""

    run_id: str
    conversation: str
    status: RunStatus = Field(description='for "awaiting_approval", read the answer later from /api/runs/{run_id}')
    score: float | None = None
    approval_id: str = ""
    notices: list[Notice] = []
    citations: list[CitedSource] = []


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
        veracity=describe_run(answer),
    )


class ChunkRenderer:
    """Renders the chunks of one streamed completion."""

    def __init__(self, content: Content, include_usage: bool, run_id: str) -> None:
        self._content: Content = content
        self._include_usage = include_usage
        self._head = {
            "id": ID.format(run_id),
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": MODEL,
        }

    def start(self) -> Iterator[bytes]:
        yield _encode(self._chunk({"role": "assistant", "content": ""}))

    def answer(self, answer: Answer) -> Iterator[bytes]:
        for piece in split_text(render_content(answer, self._content)):
            yield _encode(self._chunk({"content": piece}))
        yield _encode({**self._chunk({}, "stop"), "veracity": describe_run(answer)})
        if self._include_usage:
            yield _encode({**self._head, "choices": [], "usage": _usage(answer)})
        yield b"data: [DONE]\n\n"

    def failure(self, problem: str) -> bytes:
        return self.error(problem, "server_error", "run_failed")

    def error(self, message: str, kind: str, code: str) -> bytes:
        """OpenAI's clients raise it."""
        return _encode({"error": {"message": message, "type": kind, "param": None, "code": code}})

    def _chunk(self, delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return {**self._head, "choices": [choice]}


def split_text(text: str) -> list[str]:
    """The pieces in which a text is streamed."""
    return [text[start : start + CHUNK_LENGTH] for start in range(0, len(text), CHUNK_LENGTH)]


def render_content(answer: Answer, content: Content) -> str:
    """The answer, followed by its sources and notices unless `content` is "answer"."""
    return answer.text if content == "answer" else render_with_sources(answer)


def describe_run(answer: Answer) -> RunInfo:
    fields = answer.model_dump(include=set(RunInfo.model_fields) - {"citations"})
    return RunInfo(**fields, citations=cited_sources(answer))


def _usage(answer: Answer) -> TokenUsage:
    usage = answer.usage
    return TokenUsage(
        prompt_tokens=usage.input_tokens, completion_tokens=usage.output_tokens, total_tokens=usage.tokens
    )


def _encode(value: dict[str, Any]) -> bytes:
    return b"data: " + encode_json(value) + b"\n\n"
