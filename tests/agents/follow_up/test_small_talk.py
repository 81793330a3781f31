"""Small talk is recognized, and the replies to it state nothing that needs a review (SPEC D3)."""

from typing import get_args

import pytest

from veracity.agents.follow_up.small_talk import SmallTalk, classify_small_talk, reply_to_small_talk
from veracity.language import Language, guess_language


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Hi!", "greeting"),
        ("Good morning, everyone", "greeting"),
        ("Hi team, how are you?", "greeting"),
        ("你好吗？", "greeting"),
        ("你好！", "greeting"),
        ("早上好", "greeting"),
        ("こんにちは。", "greeting"),
        ("おはようございます", "greeting"),
        ("Thanks a lot for your help!", "thanks"),
        ("ok, thank you so much 🙏", "thanks"),
        ("非常感谢您的帮助！", "thanks"),
        ("好的，谢谢你", "thanks"),
        ("どうもありがとうございました。", "thanks"),
        ("分かりました、ありがとう！", "thanks"),
        ("Thanks, bye!", "farewell"),
        ("再见", "farewell"),
        ("さようなら", "farewell"),
        ("Hello! What can you do?", "help"),
        ("help", "help"),
        ("你是谁？", "help"),
        ("你好，你能做什么？", "help"),
        ("何ができますか？", "help"),
    ],
)
def test_small_talk_is_recognized_in_three_languages(message: str, kind: str) -> None:
    assert classify_small_talk(message) == kind


@pytest.mark.parametrize(
    "message",
    [
        "",
        "   ",
        "???",
        "Thanks, and what about Japan?",
        "And the cool team?",
        "What do you do for the team?",
        "How are you so much help?",
        "Understood?",
        "知道了吗？",
        "了解你的帮助",
        "分かりましたか？",
        "Hi, how many days of leave do I have?",
        "What does the help desk do?",
        "Who wrote the thank-you letter?",
        "Hello World program",
        "there",
        "please",
        "谢谢，那日本呢？",
        "你好，请问病假怎么申请？",
        "帮助中心的电话是多少？",
        "ありがとう。では大阪は？",
        "こんにちは、休暇は何日ですか。",
        "使い方のマニュアルはどこですか",
        "thanks " * 30,
    ],
)
def test_message_with_anything_else_is_not_small_talk(message: str) -> None:
    assert classify_small_talk(message) is None


@pytest.mark.parametrize("language", ["en", "zh", "ja"])
@pytest.mark.parametrize("kind", get_args(SmallTalk))
def test_every_kind_has_a_reply_in_every_language(language: str, kind: str) -> None:
    assert guess_language(reply_to_small_talk(kind, language)) == language  # type: ignore[arg-type]


def test_replies_contain_no_numbers_or_marks() -> None:
    texts = [reply_to_small_talk(kind, language) for kind in get_args(SmallTalk) for language in get_args(Language)]
    assert not any(character.isdigit() or character in "[]" for text in texts for character in text)
