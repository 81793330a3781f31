"""Requests: the question, the turns before it, and parameters that are not supported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field

from veracity.errors import InputError
from veracity.secrets import presentable
from veracity.server.errors import RefusedError

MODEL = "veracity"
MAX_MESSAGES = 10_000
MAX_PARTS = 10_000  # of all messages
TASK_PREFIX = "### Task:"  # Open WebUI's own prompts for titles, tags and follow-up questions
NO_TOOLS = "Veracity answers from the workspace's documents and calls no tools"
REASONS = {
    "tools": NO_TOOLS,
    "functions": NO_TOOLS,
    "response_format": "answers are text; structured data is in the response's field veracity",
    "web_search_options": "the workspace's settings control web search",
    "text": "answers are text; structured data is in the response's field veracity",
    "prompt": "prompts are configured in the workspace",
}
TEXT_PARTS = ("text", "input_text")  # of chat completions and of responses

Content = Literal["full", "answer"]


class UnsupportedError(RefusedError):
    """For a parameter that would change the meaning of the answer."""

    def __init__(self, param: str, reason: str) -> None:
        super().__init__(400, "unsupported_parameter", f'The parameter "{param}" is not supported: {reason}.')
        self.param = param


class Part(BaseModel):
    type: str
    text: str | None = None


class ChatMessage(BaseModel):
    """Only user and assistant messages are read: the workspace alone sets the prompts."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content or [] if part.text)


def limit_parts(messages: Any) -> Any:
    """Counts before validation, because creating the models is expensive."""
    items = messages if isinstance(messages, list) else []
    contents = (item.get("content") for item in items if isinstance(item, dict))
    if sum(len(content) for content in contents if isinstance(content, list)) > MAX_PARTS:
        raise ValueError(f"there are more than {MAX_PARTS:,} parts in all")
    return messages


class StreamOptions(BaseModel):
    include_usage: bool | None = None


class Metadata(BaseModel):
    model_config = ConfigDict(extra="allow")

    conversation: Annotated[str, Field(max_length=500, description="continue this conversation of the user")] = ""
    content: Annotated[Content, Field(description='"answer" omits sources and notices from the text')] = "full"


class ChatRequest(BaseModel):
    """Other parameters, such as temperature, max_tokens, seed and user, are ignored. Those after `metadata` are refused
    if set."""

    model: Annotated[str, Field(examples=[MODEL])]
    messages: Annotated[
        list[ChatMessage],
        FailFast(),
        Field(max_length=MAX_MESSAGES, examples=[[{"role": "user", "content": "Who may work from home?"}]]),
        BeforeValidator(limit_parts),
    ]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    metadata: Metadata | None = None
    n: int | None = None
    tools: list[Any] | None = None
    tool_choice: Any = None
    functions: list[Any] | None = None
    function_call: Any = None
    response_format: dict[str, Any] | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    modalities: list[Any] | None = None  # not list[str]: that would validate each of many items
    audio: Any = None
    web_search_options: Any = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """An earlier question and its answer, as the client sent them."""

    question: str
    answer: str


def require_model(name: str) -> None:
    if name != MODEL:
        raise RefusedError(404, "model_not_found", f'There is no model "{presentable(name)}": use "{MODEL}".')


def require_supported(request: ChatRequest) -> None:
    require_model(request.model)
    refuse_set(
        {
            "n": request.n not in (None, 1),
            "tools": request.tools,
            "functions": request.functions,
            "tool_choice": request.tool_choice not in (None, "none", "auto"),
            "function_call": request.function_call not in (None, "none", "auto"),
            "response_format": (request.response_format or {}).get("type", "text") != "text",
            "logprobs": request.logprobs,
            "top_logprobs": request.top_logprobs,
            "modalities": request.modalities not in (None, [], ["text"]),
            "audio": request.audio is not None,
            "web_search_options": request.web_search_options is not None,
        }
    )


def refuse_set(parameters: Mapping[str, object]) -> None:
    """Raises an error for the first parameter that is set."""
    for param, is_set in parameters.items():
        if is_set:
            raise UnsupportedError(param, REASONS.get(param, "there is one answer, as text"))


def read_question(messages: Sequence[ChatMessage], param: str = "messages") -> str:
    """The last user message. Raises an error unless it is text. `param` names the messages in the request."""
    message = next((message for message in reversed(messages) if message.role == "user"), None)
    if message is None:
        raise InputError("There is no user message: send the question as the last one.")
    parts = message.content if isinstance(message.content, list) else []
    if other := next((part.type for part in parts if part.type not in TEXT_PARTS), None):
        raise UnsupportedError(param, f"the question must be text, but a part has the type {other[:40]!a}")
    if message.text.lstrip().startswith(TASK_PREFIX):
        raise UnsupportedError(param, "this is a chat program's own task; use another model for titles and tags")
    return message.text


def read_earlier(messages: Sequence[ChatMessage]) -> list[Exchange]:
    """The exchanges before the last question."""
    last = max((index for index, message in enumerate(messages) if message.role == "user"), default=0)
    earlier: list[Exchange] = []
    for message in messages[:last]:
        if message.role == "user":
            earlier.append(Exchange(message.text, ""))
        elif message.role == "assistant" and earlier:
            earlier[-1] = Exchange(earlier[-1].question, earlier[-1].answer + message.text)
    return earlier
