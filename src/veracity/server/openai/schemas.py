"""What OpenAI's clients send: the question, what was said before it, and what they want that cannot be had.

Knows nothing about how it is answered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field

from veracity.errors import InputError
from veracity.secrets import presentable
from veracity.server.errors import RefusedError

MODEL = "veracity"
MOST_MESSAGES = 10_000
MOST_PARTS = 10_000  # of all messages together
TASK = "### Task:"  # how Open WebUI begins what it wants of a model for itself: titles, tags, further questions
Content = Literal["full", "answer"]


class UnsupportedError(RefusedError):
    """A parameter that would make the answer mean something else. `param` is its name, as OpenAI tells it."""

    def __init__(self, param: str, instead: str) -> None:
        super().__init__(400, "unsupported_parameter", f'The parameter "{param}" is not supported: {instead}.')
        self.param = param


class Part(BaseModel):
    type: str
    text: str | None = None


class ChatMessage(BaseModel):
    """Only what users and assistants said is read: nobody but the workspace sets the prompts."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        parts = self.content if isinstance(self.content, list) else []
        return self.content if isinstance(self.content, str) else "\n".join(one.text for one in parts if one.text)


def _few_parts(messages: Any) -> Any:
    """Counted before anything is made of them: a megabyte holds sixty thousand."""
    contents = (one.get("content") for one in messages if isinstance(one, dict)) if isinstance(messages, list) else ()
    if sum(len(content) for content in contents if isinstance(content, list)) > MOST_PARTS:
        raise ValueError(f"there are more than {MOST_PARTS:,} parts in all")
    return messages


class StreamOptions(BaseModel):
    include_usage: bool | None = None


class Metadata(BaseModel):
    """`conversation` names one of the caller's. `content`: "answer" leaves the sources and notices out of the text."""

    model_config = ConfigDict(extra="allow")

    conversation: Annotated[str, Field(max_length=500)] = ""
    content: Content = "full"


class ChatRequest(BaseModel):
    """What is not named here is ignored: temperature, max_tokens, seed, user and the like change nothing. What is named
    after `metadata` is refused if it asks for anything."""

    model: Annotated[str, Field(examples=[MODEL])]
    messages: Annotated[
        list[ChatMessage],
        FailFast(),
        Field(max_length=MOST_MESSAGES, examples=[[{"role": "user", "content": "Who may work from home?"}]]),
        BeforeValidator(_few_parts),
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
    modalities: list[Any] | None = None  # of strings; as such each that is none would be an error of its own
    audio: Any = None
    web_search_options: Any = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question that was asked before, and what the client says was answered."""

    question: str
    answer: str


def require_model(name: str) -> None:
    if name != MODEL:
        raise RefusedError(404, "model_not_found", f'There is no model "{presentable(name)}": ask for "{MODEL}".')


def require_supported(asked: ChatRequest) -> None:
    require_model(asked.model)
    wanted = {
        "n": asked.n not in (None, 1),
        "tools": asked.tools,
        "functions": asked.functions,
        "tool_choice": asked.tool_choice not in (None, "none", "auto"),
        "function_call": asked.function_call not in (None, "none", "auto"),
        "response_format": (asked.response_format or {}).get("type", "text") != "text",
        "logprobs": asked.logprobs,
        "top_logprobs": asked.top_logprobs,
        "modalities": asked.modalities not in (None, [], ["text"]),
        "audio": asked.audio is not None,
        "web_search_options": asked.web_search_options is not None,
    }
    if param := next((name for name, is_wanted in wanted.items() if is_wanted), None):
        raise UnsupportedError(param, INSTEAD.get(param, "an answer is one text, as it was examined"))


INSTEAD = {
    "tools": "Veracity answers from the documents of its workspace, and calls nothing",
    "functions": "Veracity answers from the documents of its workspace, and calls nothing",
    "response_format": "an answer is text; its parts are in the field veracity of the response",
    "web_search_options": "the settings of the workspace say whether the web is searched",
}


def question_of(asked: ChatRequest) -> str:
    message = next((one for one in reversed(asked.messages) if one.role == "user"), None)
    if message is None:
        raise InputError("There is no message of a user: the last one is the question.")
    if isinstance(message.content, list) and (other := next((p for p in message.content if p.type != "text"), None)):
        raise UnsupportedError("messages", f"only text is read, and a part is of another type ({other.type[:40]!a})")
    if message.text.lstrip().startswith(TASK):
        raise UnsupportedError("messages", "this is a task of a chat program; let another model find titles and tags")
    return message.text


def exchanges_before(messages: list[ChatMessage]) -> list[Exchange]:
    """What was said before the last question."""
    last = max((place for place, one in enumerate(messages) if one.role == "user"), default=0)
    said: list[Exchange] = []
    for message in messages[:last]:
        if message.role == "user":
            said.append(Exchange(message.text, ""))
        elif message.role == "assistant" and said:
            said[-1] = Exchange(said[-1].question, said[-1].answer + message.text)
    return said
