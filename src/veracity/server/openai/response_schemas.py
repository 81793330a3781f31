"""Requests of OpenAI's Responses API, and the ids of its responses."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, FailFast, Field

from veracity.engine import Veracity
from veracity.errors import InputError, NotFoundError
from veracity.models import User
from veracity.secrets import presentable
from veracity.server.openai.schemas import (
    MAX_MESSAGES,
    MODEL,
    ChatMessage,
    Metadata,
    UnsupportedError,
    limit_parts,
    refuse_set,
    require_model,
)
from veracity.server.permissions import FULL_IDS

ID = "resp_{}"
MAX_ID_LENGTH = 200


def _read_messages(given: Any) -> Any:
    """A text is a message. Other items, such as reasoning and tool calls of earlier responses, are not read."""
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    if not isinstance(given, list):
        return given
    return [item for item in given if not (isinstance(item, dict) and item.get("type", "message") != "message")]


class ConversationName(BaseModel):
    id: Annotated[str, Field(max_length=500)]


class ResponsesRequest(BaseModel):
    """Other parameters, such as instructions, temperature, reasoning and store, are ignored. Those after `background`
    are refused if set."""

    model: Annotated[str, Field(examples=[MODEL])]
    input: Annotated[
        list[ChatMessage],
        FailFast(),
        Field(max_length=MAX_MESSAGES, examples=["Who may work from home?"]),
        BeforeValidator(limit_parts),
        BeforeValidator(_read_messages, json_schema_input_type=str | list[ChatMessage]),
    ]
    previous_response_id: Annotated[str, Field(max_length=MAX_ID_LENGTH)] | None = Field(
        default=None, description="continue the conversation of this response"
    )
    conversation: Annotated[str, Field(max_length=500)] | ConversationName | None = Field(
        default=None, description="continue this conversation of the user"
    )
    metadata: Metadata | None = None
    stream: bool | None = None
    background: bool | None = Field(default=None, description="return at once; read the response later by its id")
    tools: list[Any] | None = None
    tool_choice: Any = None
    text: dict[str, Any] | None = None
    top_logprobs: int | None = None
    prompt: Any = None

    @property
    def conversation_name(self) -> str:
        if isinstance(self.conversation, ConversationName):
            return self.conversation.id
        return self.conversation or (self.metadata.conversation if self.metadata else "")

    def require_supported(self) -> None:
        require_model(self.model)
        answer_format = (self.text or {}).get("format")
        refuse_set(
            {
                "tools": self.tools,
                "tool_choice": self.tool_choice not in (None, "none", "auto"),
                "text": isinstance(answer_format, dict) and answer_format.get("type", "text") != "text",
                "top_logprobs": self.top_logprobs,
                "prompt": self.prompt is not None,
            }
        )
        if self.previous_response_id and self.conversation_name:
            raise UnsupportedError("previous_response_id", "the request names a conversation, too; send one of them")


def read_run_id(response_id: str) -> str:
    """The id of the response's run. Raises 404 for any other id."""
    run_id = response_id.removeprefix(ID.format(""))
    if run_id == response_id or not FULL_IDS["run"].fullmatch(run_id):
        raise _not_found(response_id)
    return run_id


def find_previous_conversation(engine: Veracity, user: User, response_id: str) -> str:
    """The conversation that the user's response belongs to. Other users' responses are reported as 404."""
    try:
        run = engine.progress(read_run_id(response_id)).run
    except NotFoundError:
        raise _not_found(response_id) from None
    if run.user != user.name:
        raise _not_found(response_id)
    if not run.conversation:
        name = presentable(response_id)
        raise InputError(f'The response "{name}" belongs to no conversation: name one as "conversation" instead.')
    return run.conversation


def _not_found(response_id: str) -> NotFoundError:
    return NotFoundError(f'There is no response "{presentable(response_id)}".')
