"""Conversations in the form that servers take (SPEC A10)."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.llm.asking import writing
from veracity.llm import Message
from veracity.llm.requests import instructions_in, turns_in

roles = st.sampled_from(["system", "user", "assistant"])
conversations = st.lists(st.builds(Message, roles, st.text(alphabet=" \nab問", max_size=4)))


@given(conversations)
def test_roles_alternate_and_nothing_that_was_said_is_lost(messages: list[Message]) -> None:
    turns = turns_in(messages)
    assert all(one.role != other.role for one, other in pairwise(turns))
    assert all(turn.text.strip() and turn.role != "system" for turn in turns)
    said = [message.text for message in messages if message.role != "system" and message.text.strip()]
    assert "".join("".join(turn.text for turn in turns).split()) == "".join("".join(said).split())


def test_what_the_system_says_is_put_together_in_order() -> None:
    said = [
        Message("system", "Be brief."),
        Message("user", "Why?"),
        Message("system", " "),
        Message("system", "引用を付けて"),
    ]
    assert instructions_in(said) == "Be brief.\n\n引用を付けて"
    assert instructions_in(said[1:2]) == ""


@pytest.mark.parametrize(
    "messages",
    [
        (Message("system", "Be brief."),),
        (Message("user", " \n"),),
        (Message("user", "Why?"), Message("assistant", "So.")),
        (Message("assistant", "Hello."), Message("user", "Why?")),
    ],
)
def test_a_conversation_begins_and_ends_with_the_user(messages: tuple[Message, ...]) -> None:
    """Anything else is refused by one provider or another, and only once it is sent."""
    with pytest.raises(ValueError, match="begins and ends with something that the user says"):
        writing(*messages)
