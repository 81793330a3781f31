"""Notices are in the language of the question, with translations for other readers (SPEC X5)."""

import pytest

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import GOOD, QUESTION, fail
from veracity.errors import ModelUnreachableError
from veracity.ledger.forget import erase_notices
from veracity.locales import LANGUAGES, text
from veracity.models import Notice, NoticeCode
from veracity.runs.outcome import notice
from veracity.testing import ScriptedLLM


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_notice_has_the_texts_of_all_languages(language: str) -> None:
    made = notice(language, "revised", times=2)
    texts = {other: text(other, "notices", "revised", times=2) for other in LANGUAGES}
    assert made.text == texts.pop(language)
    assert made.translations == texts


def test_texts_inside_a_notice_are_translated_too(engine_with: MakeEngine) -> None:
    """The reasons of weak evidence and of a pending approval."""
    engine = engine_with(approval={"policy": "always"}, quality={"medium": 0.95, "high": 0.95, "max_rewrites": 0})
    pending = engine.ask(QUESTION)
    drafted = engine.approval(pending.approval_id).draft.notices
    for made in (*pending.notices, *drafted):
        assert set(made.translations) == {"zh", "ja"}
        assert not any(translation.isascii() for translation in made.translations.values())
    weak = next(made for made in drafted if made.code == "evidence_weak")
    assert text("ja", "notices", "evidence_count") in weak.translations["ja"]
    assert text("zh", "notices", "waiting_policy") in pending.notices[0].translations["zh"]


def test_a_pending_answer_says_how_the_search_was_limited(
    engine_with: MakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ModelUnreachableError("The reranker is down.")

    engine = engine_with(approval={"policy": "always"}, models={"reranker": "bundled"})
    monkeypatch.setattr(engine._parts.searcher, "rerank", broken)
    pending = engine.ask(QUESTION)
    assert [made.code for made in pending.notices] == ["waiting", "not_reranked"]


def test_a_redraft_that_abstains_is_reported_in_every_language(engine_with: MakeEngine) -> None:
    llm = ScriptedLLM.by_role(writer=[GOOD, "NO ANSWER: the price"], reviewer=fail("Fix it."))
    made = next(made for made in engine_with(llm).ask(QUESTION).notices if made.code == "redraft_failed")
    assert made.text == "The draft could not be revised: the writer found no answer any more."
    assert made.translations["zh"] == "草稿未能修改：撰写者再也找不到答案。"


def test_translations_lose_quotes_with_the_text() -> None:
    made = notice("ja", "not_scored", problem="the secret of a document")
    (erased,) = erase_notices([made])
    assert "secret" not in erased.model_dump_json()
    assert set(erased.translations) == {"en", "zh"}
    assert erased.translations["en"] == "The answer was not scored."


def test_an_old_notice_has_no_translations() -> None:
    assert Notice.model_validate({"code": "revised", "text": "Revised."}).translations == {}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("code", "setting"), [("deadline", "answering.run_deadline"), ("search_incomplete", "quality.loop_deadline")]
)
def test_a_missed_deadline_names_its_setting(language: str, code: NoticeCode, setting: str) -> None:
    made = notice(language, code).text
    assert setting in made and 'llm.pace = "slow"' in made
