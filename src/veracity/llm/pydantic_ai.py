"""One call to one model through pydantic-ai. No other module of the client uses that library.

A call is made once: the SDKs' own retries are off. pydantic-ai's instrumentation is off too; `telemetry.py` traces the
call, without its texts.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from genai_prices import calc_price
from opentelemetry.context import Context
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_ai import messages as chat
from pydantic_ai.direct import model_request_stream, model_request_sync
from pydantic_ai.exceptions import ModelHTTPError, UnexpectedModelBehavior, UnsupportedSettingWarning, UserError
from pydantic_ai.messages import (
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
)
from pydantic_ai.models import Model, ModelRequestParameters, infer_model
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from veracity import telemetry
from veracity.llm.listening import StreamingError
from veracity.llm.repetition import RepetitionGuard
from veracity.llm.replies import THINK_END, Output, Reply, strip_thoughts
from veracity.llm.requests import Message, ModelRequest
from veracity.models import Usage
from veracity.printable import encodable
from veracity.providers.errors import translate, translate_errors
from veracity.providers.keys import NO_SERVERS, ServersByName, provider_of, unknown_provider
from veracity.settings import OutputMode

MakeModel = Callable[[str, str], Model]
"""Makes a model from its name and its role."""

OUTPUT_TOOL = "answer"
PLAIN_TEXT = ModelRequestParameters()
MAX_STREAM_LENGTH = 200_000  # characters, thoughts included; a server that streams more ignores `max_tokens`
BYTES_PER_TOKEN = 4  # an estimate, for a stream that is cut off before it reports its usage

# Some providers do not support `max_retries=0`, and some models no temperature, which pydantic-ai then leaves out.
# Users cannot change that, so they get no warning per call.
warnings.filterwarnings("ignore", category=UnsupportedSettingWarning)
warnings.filterwarnings("ignore", message="Sampling parameters .* not supported", category=UserWarning)


@dataclass(frozen=True, slots=True)
class Call:
    """One attempt at a request. `turns` end with the user's; a repeated attempt's differ from the request's."""

    request: ModelRequest[Any]
    turns: tuple[Message, ...]
    mode: OutputMode
    timeout: float
    max_tokens: int | None


def make_model(name: str, role: str, make: MakeModel | None = None, servers: ServersByName = NO_SERVERS) -> Model:
    """A model of pydantic-ai for the provider or server in the name."""
    model = translate_errors(name, lambda: make(name, role) if make else _infer_model(name, servers))
    if make is None and _sdk_retries(model) is not None:
        model.client.max_retries = 0  # type: ignore[attr-defined]
    return model


def _infer_model(name: str, servers: ServersByName) -> Model:
    if provider_of(name) in servers:
        from veracity.providers.servers import make_server_model  # noqa: PLC0415 - loads the SDK of OpenAI

        return make_server_model(name, servers)
    try:
        return infer_model(name)
    except UserError as problem:
        if "Unknown model" not in str(problem):
            raise
    raise unknown_provider(name, servers)


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
        max_tokens=call.max_tokens,
        streams=on_chunk is not None,
    )
    with telemetry.model_call(description, parent) as span:
        response = translate_errors(
            params.model, lambda: _stream(model, call, on_chunk) if on_chunk else _request(model, call)
        )
        usage = _usage(response)
        span.set_response(response.model_name, response.finish_reason, usage.input_tokens, usage.output_tokens)
        span.set(telemetry.CACHED_TOKENS, usage.cached_tokens or None)
    if on_chunk:
        outputs: list[Output] = [strip_thoughts(_text(response))]
    else:
        outputs = _structured_outputs(response) if request.output else [_text(response)]
    return Reply(outputs, response.finish_reason, usage, _has_thoughts(response))


def _request(model: Model, call: Call) -> ModelResponse:
    output = call.request.output
    return model_request_sync(
        model,
        _history(call),
        model_settings=_settings(model, call),
        model_request_parameters=_parameters(output, call.mode) if output else PLAIN_TEXT,
        instrument=False,
    )


def thinks(model: Model) -> bool:
    """Whether the model thinks before it answers, unless told otherwise. Its thoughts count towards `max_tokens`."""
    return bool(model.profile.get("thinking_always_enabled") or model.profile.get("thinking_enabled_by_default"))


def _stream(model: Model, call: Call, on_chunk: Callable[[str], None]) -> ModelResponse:
    name, failure = call.request.params.model, None
    try:
        response, is_cut_off = asyncio.get_event_loop().run_until_complete(_read_stream(model, call, on_chunk))
    except (ModelHTTPError, UnexpectedModelBehavior) as problem:
        failure = _streaming_error(name, problem)
        if failure is None:
            raise
    if failure:
        raise failure  # outside the handler, so that it does not keep the SDK's error
    if is_cut_off:
        return _with_estimated_usage(replace(response, finish_reason="length"), call)
    if not _is_complete(response):
        raise StreamingError(f'The provider of "{name}" broke off its answer: check the server.')
    return response


async def _read_stream(model: Model, call: Call, on_chunk: Callable[[str], None]) -> tuple[ModelResponse, bool]:
    """The response, and whether it was cut off because it loops or does not end. Leaving the stream disconnects.

    pydantic-ai applies the call's timeout to the whole stream, however slowly it drips.
    """
    guard, length = RepetitionGuard(), 0
    async with model_request_stream(
        model,
        _history(call),
        model_settings=_settings(model, call),
        model_request_parameters=PLAIN_TEXT,
        instrument=False,
    ) as stream:
        async for event in stream:
            text = _text_of(event)
            written = text or _thought_of(event)
            length += len(written)
            if length > MAX_STREAM_LENGTH or guard.is_looping(written):
                return stream.get(), True
            if text:
                on_chunk(text)
        return stream.get(), False


def _with_estimated_usage(response: ModelResponse, call: Call) -> ModelResponse:
    """Servers report the usage at the end. What is known to have been sent and received counts until then."""
    if response.usage.output_tokens:
        return response
    sent = [call.request.instructions, *(turn.text for turn in call.turns)]
    received = (part.content for part in response.parts if isinstance(part, TextPart | ThinkingPart))
    usage = replace(response.usage, input_tokens=_estimate_tokens(sent), output_tokens=_estimate_tokens(received))
    return replace(response, usage=usage)


def _estimate_tokens(texts: Iterable[str]) -> int:
    return sum(len(text.encode("utf-8", "replace")) for text in texts) // BYTES_PER_TOKEN


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


def _thought_of(event: chat.ModelResponseStreamEvent) -> str:
    if isinstance(event, PartStartEvent) and isinstance(event.part, ThinkingPart):
        return event.part.content
    if isinstance(event, PartDeltaEvent) and isinstance(event.delta, ThinkingPartDelta):
        return event.delta.content_delta or ""
    return ""


def _has_thoughts(response: ModelResponse) -> bool:
    return THINK_END in _text(response) or any(isinstance(part, ThinkingPart) for part in response.parts)


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
    if call.max_tokens is not None:
        settings["max_tokens"] = call.max_tokens
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


class UntitledSchema(GenerateJsonSchema):
    """Without the fields' titles, which only repeat their names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


@lru_cache
def _parameters(output: type[BaseModel], mode: OutputMode) -> ModelRequestParameters:
    """Describes both forms; "auto" leaves the choice to the model's profile."""
    schema = output.model_json_schema(schema_generator=UntitledSchema)
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
    """pydantic-ai counts cached tokens as input tokens, whatever the provider reports."""
    input_tokens = max(0, response.usage.input_tokens)
    return Usage(
        calls=1,
        input_tokens=input_tokens,
        cached_tokens=min(max(0, response.usage.cache_read_tokens), input_tokens),
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
