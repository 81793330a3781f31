"""Answers as objects of OpenAI's Responses API, whole or as typed events.

An answer is one message with one text. Its citations are annotations of the text, and in the field `veracity`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from veracity.models import Answer, RunProgress, RunSummary
from veracity.server.citations import CitedSource, cited_sources, name_file
from veracity.server.idempotency import STOPPED
from veracity.server.openai.completions import RunInfo, describe_run, render_content, split_text
from veracity.server.openai.response_schemas import ID, ConversationName, ResponsesRequest
from veracity.server.openai.schemas import MODEL, Metadata
from veracity.server.sse import encode_json

MESSAGE_ID = "msg_{}"
ResponseStatus = Literal["completed", "failed", "in_progress", "cancelled"]


class FileCitation(BaseModel):
    """`index` is the position of the citation in the text."""

    type: Literal["file_citation"] = "file_citation"
    file_id: str
    filename: str
    index: int


class UrlCitation(BaseModel):
    type: Literal["url_citation"] = "url_citation"
    url: str
    title: str
    start_index: int
    end_index: int


class OutputText(BaseModel):
    type: Literal["output_text"] = "output_text"
    text: str = ""
    annotations: list[FileCitation | UrlCitation] = []
    logprobs: list[Any] = []


class OutputMessage(BaseModel):
    type: Literal["message"] = "message"
    id: str
    role: Literal["assistant"] = "assistant"
    status: Literal["in_progress", "completed"]
    content: list[OutputText]


class ResponseProblem(BaseModel):
    code: Literal["server_error"] = "server_error"
    message: str


class InputDetails(BaseModel):
    cached_tokens: int
    cache_write_tokens: int = 0


class OutputDetails(BaseModel):
    reasoning_tokens: int = 0


class ResponseUsage(BaseModel):
    """The tokens of all models in the run."""

    input_tokens: int
    input_tokens_details: InputDetails
    output_tokens: int
    output_tokens_details: OutputDetails = OutputDetails()
    total_tokens: int


class ResponseObject(BaseModel):
    """`store` is always true: every run is stored. `metadata` are those of the request, which are not stored."""

    id: str
    object: Literal["response"] = "response"
    created_at: int
    status: ResponseStatus
    background: bool = False
    error: ResponseProblem | None = None
    incomplete_details: None = None
    instructions: None = None
    max_output_tokens: None = None
    metadata: dict[str, Any] = {}
    model: str = MODEL
    output: list[OutputMessage] = []
    parallel_tool_calls: bool = False
    previous_response_id: str | None = None
    conversation: ConversationName | None = None
    store: Literal[True] = True
    temperature: None = None
    text: dict[str, Any] = {"format": {"type": "text"}}
    tool_choice: Literal["none"] = "none"
    tools: list[Any] = []
    top_p: None = None
    truncation: Literal["disabled"] = "disabled"
    usage: ResponseUsage | None = None
    veracity: RunInfo | None = Field(default=None, description="null until the run has ended, in events")


@dataclass(frozen=True, slots=True)
class ResponseFormat:
    """What a request says about its response."""

    metadata: Metadata = field(default_factory=Metadata)
    previous_response_id: str | None = None
    background: bool = False

    @classmethod
    def of(cls, request: ResponsesRequest) -> ResponseFormat:
        metadata = request.metadata or Metadata()
        return cls(metadata, request.previous_response_id or None, bool(request.background))

    def render_answer(self, answer: Answer) -> ResponseObject:
        message = _message(answer.run_id, "completed", _output_text(answer, self.metadata))
        return self._render(
            answer.run_id,
            "completed",
            output=[message],
            usage=_usage(answer),
            conversation=_conversation(answer.conversation),
            veracity=describe_run(answer),
        )

    def render_progress(self, progress: RunProgress) -> ResponseObject:
        """A response whose run may not have ended."""
        if progress.answer:
            return self.render_answer(progress.answer)
        run = progress.run
        is_failed = run.status == "failed"
        return self._render(
            run.run_id,
            _status(run),
            error=ResponseProblem(message=run.problem) if is_failed else None,
            conversation=_conversation(run.conversation),
            veracity=RunInfo(run_id=run.run_id, conversation=run.conversation, status=run.status),
        )

    def render_started(self, run_id: str) -> ResponseObject:
        return self._render(run_id, "in_progress")

    def render_failed(self, run_id: str, problem: str) -> ResponseObject:
        return self._render(run_id, "failed", error=ResponseProblem(message=problem))

    def _render(self, run_id: str, status: ResponseStatus, **fields: Any) -> ResponseObject:
        return ResponseObject(
            id=ID.format(run_id),
            created_at=_created(run_id),
            status=status,
            background=self.background,
            metadata=self.metadata.model_dump(exclude_unset=True),
            previous_response_id=self.previous_response_id,
            **fields,
        )


class EventRenderer:
    """Renders the events of one streamed response."""

    def __init__(self, response_format: ResponseFormat, run_id: str) -> None:
        self._format = response_format
        self._run_id = run_id
        self._sent = 0

    def start(self) -> Iterator[bytes]:
        started = self._format.render_started(self._run_id)
        yield self._event("response.created", response=started)
        yield self._event("response.in_progress", response=started)

    def answer(self, answer: Answer) -> Iterator[bytes]:
        rendered = self._format.render_answer(answer)
        (message,) = rendered.output
        (part,) = message.content
        item = {"output_index": 0}
        place = {"item_id": message.id, "output_index": 0, "content_index": 0}
        yield self._event("response.output_item.added", **item, item=_message(self._run_id, "in_progress"))
        yield self._event("response.content_part.added", **place, part=OutputText())
        for piece in split_text(part.text):
            yield self._event("response.output_text.delta", **place, delta=piece, logprobs=[])
        for index, annotation in enumerate(part.annotations):
            fields = {"annotation_index": index, "annotation": annotation}
            yield self._event("response.output_text.annotation.added", **place, **fields)
        yield self._event("response.output_text.done", **place, text=part.text, logprobs=[])
        yield self._event("response.content_part.done", **place, part=part)
        yield self._event("response.output_item.done", **item, item=message)
        yield self._event("response.completed", response=rendered)

    def failure(self, problem: str) -> bytes:
        return self._event("response.failed", response=self._format.render_failed(self._run_id, problem))

    def error(self, message: str, kind: str, code: str) -> bytes:
        return self._event("error", code=code, message=message, param=None)

    def _event(self, kind: str, **fields: Any) -> bytes:
        data = {"type": kind, "sequence_number": self._sent, **fields}
        self._sent += 1
        return f"event: {kind}\ndata: ".encode() + encode_json(data) + b"\n\n"


def _message(run_id: str, status: Literal["in_progress", "completed"], *content: OutputText) -> OutputMessage:
    return OutputMessage(id=MESSAGE_ID.format(run_id), status=status, content=list(content))


def _output_text(answer: Answer, metadata: Metadata) -> OutputText:
    return OutputText(text=render_content(answer, metadata.content), annotations=_annotations(answer))


def _annotations(answer: Answer) -> list[FileCitation | UrlCitation]:
    """One for each source that a sentence cites, in the order of the text, which begins with the answer."""
    sources = {source.number: source for source in reversed(cited_sources(answer))}
    annotations: list[FileCitation | UrlCitation] = []
    end = 0
    for sentence in answer.sentences:
        start = max(answer.text.find(sentence.text, end), end)
        end = start + len(sentence.text)
        for number in dict.fromkeys(citation.number for citation in sentence.citations if citation.number in sources):
            mark = sentence.text.find(f"[{number}]")
            annotations.append(_annotation(sources[number], start, start + mark if mark >= 0 else end, end))
    return annotations


def _annotation(source: CitedSource, start: int, mark: int, end: int) -> FileCitation | UrlCitation:
    """`start` and `end` are those of the sentence, `mark` is where it cites the source."""
    if source.location.startswith(("https://", "http://")):
        return UrlCitation(url=source.location, title=source.title, start_index=start, end_index=end)
    return FileCitation(file_id=source.document_id, filename=name_file(source) or source.title, index=mark)


def _status(run: RunSummary) -> ResponseStatus:
    if run.status != "failed":
        return "in_progress"
    return "cancelled" if run.problem.startswith(STOPPED) else "failed"


def _conversation(name: str) -> ConversationName | None:
    return ConversationName(id=name) if name else None


def _created(run_id: str) -> int:
    """From the id, which begins with the time: the same in every response of the run."""
    return int(datetime.strptime(run_id[:15], "%Y%m%d-%H%M%S").replace(tzinfo=UTC).timestamp())


def _usage(answer: Answer) -> ResponseUsage:
    usage = answer.usage
    return ResponseUsage(
        input_tokens=usage.input_tokens,
        input_tokens_details=InputDetails(cached_tokens=usage.cached_tokens),
        output_tokens=usage.output_tokens,
        total_tokens=usage.tokens,
    )
