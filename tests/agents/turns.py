"""Conversations for tests."""

from __future__ import annotations

from datetime import UTC, datetime

from veracity.models import PastTurn


def turns(*said: tuple[str, str]) -> list[PastTurn]:
    """Past turns from pairs of question and answer."""
    asked = datetime(2026, 1, 1, tzinfo=UTC)
    return [
        PastTurn(run_id=f"run-{number}", number=number, question=question, answer=answer, asked=asked)
        for number, (question, answer) in enumerate(said, 1)
    ]


LEAVE = {
    "en": turns(("How many days of leave do staff in Dublin have?", "Staff in Dublin have 24 days of leave [1].")),
    "zh": turns(("都柏林的全职员工有多少天年假？", "都柏林的全职员工有24天年假[1]。")),
    "ja": turns(("ダブリンのスタッフの休暇は何日ですか。", "ダブリンのスタッフの休暇は24日です[1]。")),
}
PHONE = {
    "en": turns(("How much is the Pixel 7?", "The Pixel 7 costs 599 dollars [1].")),
    "zh": turns(("Pixel 7 的价格是多少？", "Pixel 7 的价格是599美元[1]。")),
    "ja": turns(("Pixel 7 の値段はいくらですか。", "Pixel 7 の値段は599ドルです[1]。")),
}
