"""What went wrong may be told in words that quote: they go with what is forgotten (SPEC X3)."""

from pathlib import Path
from string import Formatter

import pytest

from tests.ledger.material import USED, begin, bytes_of, make_answer, make_evidence, make_step
from veracity.ledger import Ledger
from veracity.ledger.forget import GONE, NOTHING_BUT, QUOTING, notices_without
from veracity.models import Notice
from veracity.runs.notices import TEXTS, notice

RARE = "zanzibarquartz"
QUOTE = f"cannot parse: “{RARE}\n{RARE}：有給”"


@pytest.mark.parametrize("language", TEXTS)
def test_every_notice_that_may_quote_keeps_our_words_alone(language: str) -> None:
    quoting = {code for code, text in TEXTS[language].items() if "problem" in fields(text)}
    assert quoting == QUOTING | {NOTHING_BUT, "budget"}  # whose problem is a sentence of ours
    for code in QUOTING:
        (kept,) = notices_without([notice(language, code, problem=QUOTE)])
        whole = notice(language, code, problem="").text
        assert kept.code == code
        assert kept.text[:-1] == whole.rstrip(" :：")
        assert kept.text[-1] in ".。"
        assert notices_without([kept]) == [kept]
    assert notices_without([notice(language, NOTHING_BUT, problem=QUOTE)]) == []
    revised = notice(language, "revised", times=2)
    assert notices_without([revised]) == [revised]


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("is_late", [True, False])
def test_they_go_with_a_document(ledger: Ledger, tmp_path: Path, given: bool, is_late: bool) -> None:
    """From a run that only found it as well, and from one that hands them in later."""
    begin(ledger, "r1")
    begin(ledger, "r2")
    for run_id in ("r1", "r2"):
        ledger.keep_evidence(run_id, [make_evidence()], given=given)
    if is_late:
        ledger.forget_documents(["d1"])
    told = {"evaluate": "failed", "rerank": "problem", "web_search": "outcome"}
    for name, fact in told.items():
        ledger.record("r1", make_step(name).model_copy(update={"facts": {"attempt": 1, fact: QUOTE}}), token=1)
    ledger.record("r1", make_step("eval_answer").model_copy(update={"facts": {"outcome": "passed"}}), token=1)
    notices = [Notice(code="not_scored", text=f"The answer was not scored: {QUOTE}")]
    answer = make_answer("r1", [make_evidence("p2", "d2")]).model_copy(update={"notices": notices})
    ledger.finish("r1", "answered", token=1, answer=answer, usage=USED, seconds=1.0)
    ledger.finish("r2", "failed", token=1, answer=None, usage=USED, seconds=1.0, problem=QUOTE)
    if not is_late:
        assert RARE.encode() in bytes_of(tmp_path / "ledger")
        ledger.forget_documents(["d1"])
    facts = {step.name: step.facts for step in ledger.steps("r1")}
    assert facts.pop("eval_answer") == {"outcome": "passed"}
    assert facts == {name: {"attempt": 1, fact: GONE} for name, fact in told.items()}
    kept = ledger.answer("r1")
    assert kept is not None
    assert kept.notices[0] == Notice(code="not_scored", text="The answer was not scored.")
    assert (ledger.summary("r2").status, ledger.summary("r2").problem) == ("failed", GONE)
    assert RARE.encode() not in bytes_of(tmp_path / "ledger")


def test_they_go_with_a_conversation(ledger: Ledger, tmp_path: Path) -> None:
    begin(ledger, "r1", conversation="c")
    ledger.finish("r1", "failed", token=1, answer=None, usage=USED, seconds=1.0, problem=QUOTE)
    ledger.forget_conversation("ann", "c")
    assert RARE.encode() not in bytes_of(tmp_path / "ledger")
