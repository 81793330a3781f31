"""What was typed at a terminal goes with its conversation, wherever that is forgotten (SPEC X3)."""

import stat
from pathlib import Path

import pytest
from prompt_toolkit.history import FileHistory

from tests.ledger.material import answered, bytes_of
from veracity.errors import LedgerError, NotFoundError
from veracity.ledger import Ledger, forget

QUESTIONS = ["How long is leave?\nIn days,\n+ or weeks?", "年假有多少天？", "有給休暇は何日ですか？\r"]
OTHERS = ["What may a hotel cost?", "# 年假", "/help", "+ how"]


@pytest.fixture
def history(tmp_path: Path) -> FileHistory:
    (tmp_path / "ledger").mkdir()
    return FileHistory(str(tmp_path / "ledger" / forget.FILE_TYPED))


def test_it_goes_with_the_conversation(ledger: Ledger, tmp_path: Path, history: FileHistory) -> None:
    for at, question in enumerate(QUESTIONS):
        answered(ledger, f"r{at}", question.strip(), "24 days.", "c")
    for text in [OTHERS[0], *QUESTIONS, OTHERS[1], f"  {QUESTIONS[1]}", *OTHERS[2:]]:
        history.store_string(text)
    assert ledger.forget_conversation("ann", "c") == 3
    assert list(history.load_history_strings())[::-1] == OTHERS
    content = bytes_of(tmp_path / "ledger")
    assert not any(question.encode() in content for question in ("How long is leave?", *QUESTIONS[1:]))
    assert stat.S_IMODE((tmp_path / "ledger" / forget.FILE_TYPED).stat().st_mode) == 0o600


def test_what_cannot_be_removed_is_told_and_keeps_nothing_else(ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "ledger" / forget.FILE_TYPED).mkdir(parents=True)
    answered(ledger, "r1", QUESTIONS[1], "24 days.", "c")
    with pytest.raises(LedgerError, match="may still be in .*chat_history"):
        ledger.forget_conversation("ann", "c")
    with pytest.raises(NotFoundError):
        ledger.forget_conversation("ann", "c")
