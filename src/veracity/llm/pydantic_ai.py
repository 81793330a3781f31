"""One call to one model, through pydantic-ai: with `streaming.py` and `failures.py`, all that knows that library.

A call is made once: no retries here, and none in the provider's SDK. Nor does pydantic-ai tell anybody of it, whatever
a program has set up: what is traced is in `telemetry.py`, and holds no text.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from genai_prices import calc_price
from opentelemetry.context import Context
from pydantic import BaseModel
from pydantic_ai.direct import StreamedResponseSync, model_request_stream_sync, model_request_sync
from pydantic_ai.exceptions import ModelHTTPError, UnexpectedModelBehavior, UnsupportedSettingWarning
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from veracity import telemetry
from veracity.llm.listening import NotStreamedError
from veracity.llm.replies import Reply, Written, aloud
from veracity.llm.requests import Message
from veracity.models import Usage
from veracity.printable import encodable
from veracity.providers.errors import explain, explained
from veracity.settings import OutputMode

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


MakeModel = Callable[[str, str], Model]
"""From the name of a model and the role it plays to the model."""

TOOL = "answer"
PLAIN_TEXT = ModelRequestParameters()

# A few providers cannot be told to leave retrying to us. Nothing a user could do about it, so no warning per call.
warnings.filterwarnings("ignore", category=UnsupportedSettingWarning)


@dataclass(frozen=True, slots=True)
class Call:
    """What is sent: `turns` end with the user's, `output` is the schema the answer should fit, None for plain text."""

    model: str
    role: str
    instructions: str
    turns: tuple[Message, ...]
    output: type[BaseModel] | None
    mode: OutputMode
    temperature: float
    max_tokens: int | None
    timeout: float


def make_model(name: str, role: str, make: MakeModel | None = None) -> Model:
    model = explained(name, lambda: make(name, role) if make else infer_model(name))
    if make is None and _retries_of_sdk(model) is not None:
        model.client.max_retries = 0  # type: ignore[attr-defined]
    return model


def _retries_of_sdk(model: Model) -> int | None:
    """None where the SDK's client has no such setting, which OpenAI's, Anthropic's and Groq's have."""
    retries = getattr(getattr(model, "client", None), "max_retries", None)
    return retries if isinstance(retries, int) else None


def send(model: Model, call: Call, say: Say | None = None, parent: Context | None = None) -> Reply:
    """With `say`, the text is also said as it comes: the server is asked to stream."""
    with telemetry.model_call(_described(model, call, streams=say is not None), parent) as span:
        response = explained(call.model, lambda: _streamed(model, call, say) if say else _whole(model, call))
        usage = _usage(response)
        span.answered(response.model_name, response.finish_reason, usage.input_tokens, usage.output_tokens)
    if say:
        return Reply([aloud(_text(response))], response.finish_reason, usage)
    written: list[Written] = _written(response) if call.output else [_text(response)]
    return Reply(written, response.finish_reason, usage)


def _described(model: Model, call: Call, streams: bool) -> telemetry.ModelCall:
    return telemetry.ModelCall(
        provider=model.system,
        model=model.model_name,
        role=call.role,
        output="json" if call.output else "text",
        temperature=call.temperature,
        max_tokens=call.max_tokens,
        streams=streams,
    )


def _whole(model: Model, call: Call) -> ModelResponse:
    parameters = _parameters(call.output, call.mode) if call.output else PLAIN_TEXT
    return model_request_sync(
        model,
        _history(call),
        model_settings=_settings(model, call),
        model_request_parameters=parameters,
        instrument=False,
    )


def _streamed(model: Model, call: Call, say: Say) -> ModelResponse:
    stream = model_request_stream_sync(
        model,
        _history(call),
        model_settings=_settings(model, call),
        model_request_parameters=PLAIN_TEXT,
        instrument=False,
    )
    return heard(stream, call.model, say)


def _settings(model: Model, call: Call) -> ModelSettings:
    settings = ModelSettings(temperature=call.temperature, request_timeout=call.timeout)
    if _retries_of_sdk(model) != 0:
        settings["max_retries"] = 0  # for a single call, for which pydantic-ai copies the client: 0.3 ms
    if call.max_tokens is not None:
        settings["max_tokens"] = call.max_tokens
    return settings


def _history(call: Call) -> list[ModelMessage]:
    """The instructions go with the last request, where pydantic-ai looks for them."""
    *earlier, last = (Message(turn.role, encodable(turn.text)) for turn in call.turns)
    history: list[ModelMessage] = [
        ModelRequest.user_text_prompt(turn.text) if turn.role == "user" else ModelResponse(parts=[TextPart(turn.text)])
        for turn in earlier
    ]
    instructions = encodable(call.instructions) or None
    return [*history, ModelRequest.user_text_prompt(last.text, instructions=instructions)]


@lru_cache
def _parameters(output: type[BaseModel], mode: OutputMode) -> ModelRequestParameters:
    """Both forms are described; "auto" leaves the choice to the model's profile."""
    schema = output.model_json_schema()
    description = output.__doc__ or ""
    return ModelRequestParameters(
        output_mode=mode,
        output_object=OutputObjectDefinition(json_schema=schema, name=TOOL, description=description),
        output_tools=[ToolDefinition(name=TOOL, description=description, parameters_json_schema=schema, kind="output")],
        allow_text_output=mode in ("native", "prompted"),
    )


def _written(response: ModelResponse) -> list[Written]:
    """The arguments of its tool calls; else the text, since many small servers answer a tool request in plain JSON."""
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    arguments: list[Written] = [
        call.args if isinstance(call.args, str) else {**call.args} for call in calls if call.args
    ]
    return arguments or [_text(response)]


def _text(response: ModelResponse) -> str:
    """Without what the model thought, which stands in parts of another kind."""
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def _usage(response: ModelResponse) -> Usage:
    return Usage(
        calls=1,
        input_tokens=max(0, response.usage.input_tokens),
        output_tokens=max(0, response.usage.output_tokens),
        cost_usd=_cost(response),
    )


def _cost(response: ModelResponse) -> float | None:
    """By the server's address alone: on a user's own server a model may carry a famous name, but not its price."""
    if not response.provider_url or not response.model_name or response.usage.unmeasured_requests:
        return None
    try:
        price = calc_price(
            response.usage,
            response.model_name,
            provider_api_url=response.provider_url,
            genai_request_timestamp=response.timestamp,
            price_context=response.provider_details,
        )
        return float(price.total_price)
    except Exception:  # noqa: BLE001 - an answer that is paid for is not lost for want of its price
        return None
