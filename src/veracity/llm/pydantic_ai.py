"""One call to one model through pydantic-ai. No other module of the client uses that library.

A call is made once: the SDKs' own retries are off. pydantic-ai's instrumentation is off too; `telemetry.py` traces the
call, without its texts.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from genai_prices import calc_price
from opentelemetry.context import Context
from pydantic import BaseModel
from pydantic_ai import messages as chat
from pydantic_ai.direct import model_request_stream_sync, model_request_sync
from pydantic_ai.exceptions import ModelHTTPError, UnexpectedModelBehavior, UnsupportedSettingWarning
from pydantic_ai.messages import ModelResponse, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta, ToolCallPart
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from veracity import telemetry
from veracity.llm.listening import StreamingError
from veracity.llm.replies import Output, Reply, strip_thoughts
from veracity.llm.requests import Message, ModelRequest
from veracity.models import Usage
from veracity.printable import encodable
from veracity.providers.errors import translate, translate_errors
from veracity.settings import OutputMode

MakeModel = Callable[[str, str], Model]
"""Makes a model from its name and its role."""

OUTPUT_TOOL = "answer"
PLAIN_TEXT = ModelRequestParameters()

# Some providers do not support `max_retries=0`. Users cannot change that, so they get no warning per call.
warnings.filterwarnings("ignore", category=UnsupportedSettingWarning)


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt at a request. `turns` end with the user's; a repeated attempt's differ from the request's."""

    request: ModelRequest[Any]
    turns: tuple[Message, ...]
    mode: OutputMode
    timeout: float


def make_model(name: str, role: str, make: MakeModel | None = None) -> Model:
    model = translate_errors(name, lambda: make(name, role) if make else infer_model(name))
    if make is None and _sdk_retries(model) is not None:
        model.client.max_retries = 0  # type: ignore[attr-defined]
    return model


def send(
    model: Model, call: Call, on_chunk: Callable[[str], None] | None = None, parent: Context | None = None
) -> Reply:
    """Streams if `on_chunk` is set."""
    request, params = call.request, call.request.params
    description = telemetry.ModelCall(
        provider=model.system,
        model=model.model_name,
        role=params.role,
        output="json" if request.output else "text",
        temperature=params.temperature,
        max_tokens=params.max_tokens,
        streams=on_chunk is not None,
    )
    with telemetry.model_call(description, parent) as span:
        response = translate_errors(
            params.model, lambda: _stream(model, call, on_chunk) if on_chunk else _request(model, call)
        )
        usage = _usage(response)
        span.set_response(response.model_name, response.finish_reason, usage.input_tokens, usage.output_tokens)
    if on_chunk:
        outputs: list[Output] = [strip_thoughts(_text(response))]
    else:
        outputs = _structured_outputs(response) if request.output else [_text(response)]
    return Reply(outputs, response.finish_reason, usage)


def _request(model: Model, call: Call) -> ModelResponse:
    output = call.request.output
    return model_request_sync(
        model,
        _history(call),
        model_settings=_settings(model, call),
        model_request_parameters=_parameters(output, call.mode) if output else PLAIN_TEXT,
        instrument=False,
    )


def _stream(model: Model, call: Call, on_chunk: Callable[[str], None]) -> ModelResponse:
    """pydantic-ai applies the call's timeout to the whole stream, however slowly it drips."""
    name, failure = call.request.params.model, None
    try:
        with model_request_stream_sync(
            model,
            _history(call),
            model_settings=_settings(model, call),
            model_request_parameters=PLAIN_TEXT,
            instrument=False,
        ) as stream:
            for event in stream:
                if text := _text_of(event):
                    on_chunk(text)
            response = stream.response
    except (ModelHTTPError, UnexpectedModelBehavior) as problem:
        failure = _streaming_error(name, problem)
        if failure is None:
            raise
    if failure:
        raise failure  # outside the handler, so that it does not keep the SDK's error
    if not _is_complete(response):
        raise StreamingError(f'The provider of "{name}" broke off its answer: check the server.')
    return response


def _streaming_error(model: str, problem: Exception) -> StreamingError | None:
    """None if the failure has nothing to do with streaming."""
    if isinstance(problem, ModelHTTPError):
        is_refusal = problem.status_code < 500 and "stream" in str(problem.body).lower()
        return StreamingError(str(translate(model, problem)), is_permanent=True) if is_refusal else None
    return StreamingError(str(translate(model, problem)))  # no event: the server may have answered without streaming


def _text_of(event: chat.ModelResponseStreamEvent) -> str:
    """Empty for thinking, which comes in other parts."""
    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
        return event.delta.content_delta
    return ""


def _is_complete(response: ModelResponse) -> bool:
    """pydantic-ai takes a closed connection for the end of the text; then the provider's finish reason is missing."""
    if response.state != "complete":
        return False
    has_reason = response.finish_reason == "content_filter" or "finish_reason" in (response.provider_details or {})
    return has_reason or response.provider_name is None  # no provider: a function model


def _settings(model: Model, call: Call) -> ModelSettings:
    params = call.request.params
    settings = ModelSettings(temperature=params.temperature, request_timeout=call.timeout)
    if _sdk_retries(model) != 0:
        settings["max_retries"] = 0  # makes pydantic-ai copy the client, which takes 0.3 ms
    if params.max_tokens is not None:
        settings["max_tokens"] = params.max_tokens
    return settings


def _sdk_retries(model: Model) -> int | None:
    """None if the SDK's client has no such setting; those of OpenAI, Anthropic and Groq have it."""
    retries = getattr(getattr(model, "client", None), "max_retries", None)
    return retries if isinstance(retries, int) else None


def _history(call: Call) -> list[chat.ModelMessage]:
    """The instructions go with the last request, where pydantic-ai looks for them."""
    *earlier, last = (Message(turn.role, encodable(turn.text)) for turn in call.turns)
    history: list[chat.ModelMessage] = [
        chat.ModelRequest.user_text_prompt(turn.text)
        if turn.role == "user"
        else ModelResponse(parts=[TextPart(turn.text)])
        for turn in earlier
    ]
    instructions = encodable(call.request.instructions) or None
    return [*history, chat.ModelRequest.user_text_prompt(last.text, instructions=instructions)]


@lru_cache
def _parameters(output: type[BaseModel], mode: OutputMode) -> ModelRequestParameters:
    """Describes both forms; "auto" leaves the choice to the model's profile."""
    schema = output.model_json_schema()
    description = output.__doc__ or ""
    tool = ToolDefinition(name=OUTPUT_TOOL, description=description, parameters_json_schema=schema, kind="output")
    return ModelRequestParameters(
        output_mode=mode,
        output_object=OutputObjectDefinition(json_schema=schema, name=OUTPUT_TOOL, description=description),
        output_tools=[tool],
        allow_text_output=mode in ("native", "prompted"),
    )


def _structured_outputs(response: ModelResponse) -> list[Output]:
    """The arguments of its tool calls; else the text, since many small servers answer a tool request in plain JSON."""
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    arguments: list[Output] = [
        call.args if isinstance(call.args, str) else {**call.args} for call in calls if call.args
    ]
    return arguments or [_text(response)]


def _text(response: ModelResponse) -> str:
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def _usage(response: ModelResponse) -> Usage:
    return Usage(
        calls=1,
        input_tokens=max(0, response.usage.input_tokens),
        output_tokens=max(0, response.usage.output_tokens),
        cost_usd=_cost(response),
    )


def _cost(response: ModelResponse) -> float | None:
    """Looked up by the server's address: a model on a user's own server may have a famous name, but not its price."""
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
    except Exception:  # noqa: BLE001 - an unknown price must not lose an answer that is paid for
        return None
