"""Messages as LangChain has them, which is how the state carries them, and as our door to the models takes them."""

from __future__ import annotations

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage

from veracity.llm import Message

KINDS: dict[str, type[SystemMessage | HumanMessage | AIMessage]] = {
    "system": SystemMessage,
    "user": HumanMessage,
    "assistant": AIMessage,
}


def as_langchain(message: Message) -> AnyMessage:
    return KINDS[message.role](message.text)


def as_ours(message: AnyMessage) -> Message:
    text = str(message.content)
    if isinstance(message, SystemMessage):
        return Message("system", text)
    return Message("assistant" if isinstance(message, AIMessage) else "user", text)
