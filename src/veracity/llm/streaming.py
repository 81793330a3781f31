"""One call whose text is said as it comes. Knows nothing about what is asked, or who hears it."""

from __future__ import annotations

from collections.abc import Callable

from pydantic_ai.direct import StreamedResponseSync
from pydantic_ai.exceptions import ModelHTTPError, UnexpectedModelBehavior
from pydantic_ai.messages import (
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)

from veracity.llm.hearing import NotStreamedError
from veracity.providers.failures import explain

Say = Callable[[str], None]


def heard(stream: StreamedResponseSync, model: str, say: Say) -> ModelResponse:
    """All of it, in the end. pydantic-ai holds the whole to the timeout of the call, however slowly it drips."""
    failure = None
    try:
        with stream as events:
            for event in events:
                if text := _said(event):
                    say(text)
            response = stream.response
    except (ModelHTTPError, UnexpectedModelBehavior) as problem:
        failure = _not_streamed(model, problem)
        if failure is None:
            raise
    if failure:
        raise failure  # out here, so that it does not hold on to theirs
    if not _has_end(response):
        raise NotStreamedError(f'The server of "{model}" broke its answer off: look whether it is in order.')
    return response


def _not_streamed(model: str, problem: Exception) -> NotStreamedError | None:
    """None for what has nothing to do with streaming."""
    if isinstance(problem, ModelHTTPError):
        is_refusal = problem.status_code < 500 and "stream" in str(problem.body).lower()
        return NotStreamedError(str(explain(model, problem)), for_good=True) if is_refusal else None
    return NotStreamedError(str(explain(model, problem)))  # no event at all: it may have answered without streaming


def _said(event: ModelResponseStreamEvent) -> str:
    """What the model thought stands in parts of another kind."""
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""


def _has_end(response: ModelResponse) -> bool:
    """A connection that is closed may look like the end of the text, and pydantic-ai takes it for one. Then only the
    provider's own word for why it ended is missing."""
    if response.state != "complete":
        return False
    said = response.finish_reason == "content_filter" or "finish_reason" in (response.provider_details or {})
    return said or response.provider_name is None  # no provider: a function
