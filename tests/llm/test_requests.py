"""Conversations in the form that servers accept (SPEC A10)."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.llm.sample_requests import text_request
from veracity.llm import Message
from veracity.llm.requests import join_instructions, merge_turns

roles = st.sampled_from(["system", "user", "assistant"])
conversations = st.lists(st.builds(Message, roles, st.text(alphabet=" \nab問", max_size=4)))


@given(conversations)
def test_turns_alternate_and_keep_all_text(messages: list[Message]) -> None:
    turns = merge_turns(messages)
    assert all(first.role != second.role for first, second in pairwise(turns))
    assert all(turn.text.strip() and turn.role != "system" for turn in turns)
    said = [message.text for message in messages if message.role != "system" and message.text.strip()]
    assert "".join("".join(turn.text for turn in turns).split()) == "".join("".join(said).split())


def test_system_messages_are_joined_in_order() -> None:
    said = [
        Message("system", "Be brief."),
        Message("user", "Why?"),
        Message("system", " "),
        Message("system", "引用を付けて"),
    ]
    assert join_instructions(said) == "Be brief.\n\n引用を付けて"
    assert join_instructions(said[1:2]) == ""


@pytest.mark.parametrize(
    "messages",
    [
        (Message("system", "Be brief."),),
        (Message("user", " \n"),),
        (Message("user", "Why?"), Message("assistant", "So.")),
        (Message("assistant", "Hello."), Message("user", "Why?")),
    ],
)
def test_conversation_must_start_and_end_with_the_user(messages: tuple[Message, ...]) -> None:
    """Some providers refuse anything else, but only after it is sent."""
    with pytest.raises(ValueError, match="must start and end with a non-empty user message"):
        text_request(*messages)
