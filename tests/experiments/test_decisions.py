"""From people's decisions to a promise: labels, statements, and when they are withdrawn (SPEC X6)."""

import json
import logging
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.commands import Run
from veracity import Document, InputError, Veracity
from veracity.experiments.decisions import calibrate, labels_of
from veracity.experiments.statement import write_statement
from veracity.models import Answer, Approval, Decision
from veracity.models.steps import ScoreStep
from veracity.settings import ModelSettings, ReadingSettings, Settings, load_settings, with_overrides
from veracity.workspace import Workspace

CALIBRATED = {"approval": {"threshold": "calibrated"}, "models": {"embedder": "none"}}
WORDS_ONLY = Settings(models=ModelSettings(embedder="none"), reading=ReadingSettings(workers=1))

RISK = ("--risk", "0.2")


def approval(
    number: int,
    score: float = 0.9,
    why: str = "audit",
    state: str = "approved",
    edit: str | None = None,
    **more: object,
) -> Approval:
    draft = Answer(
        run_id=f"r{number}",
        status="answered",
        question="How long?",
        text="24 months.",
        form="extractive",
        language=str(more.get("language", "en")),
        quality=None,
        score=score,
    )
    verdict = {"approved": "approve", "rejected": "reject"}.get(state)
    now = datetime.now(UTC)
    decision = Decision.model_validate({"verdict": verdict, "by": "ann", "at": now, "edit": edit}) if verdict else None
    values = {"run_id": f"r{number}", "attempt": 1, "user": "local", "question": "How long?", "draft_hash": "h"}
    return Approval.model_validate(
        {
            **values,
            "approval_id": f"r{number}.1",
            "why": why,
            "on_reject": "record",
            "draft": draft,
            "created": now,
            "state": state,
            "decision": decision,
            "inclusion": more.get("inclusion", 0.2 if why == "audit" else 1.0),
        }
    )


def test_rejected_edited_and_undecided_answers_are_wrong() -> None:
    labels = labels_of(
        [approval(1), approval(2, state="rejected"), approval(3, edit="25 months."), approval(4, state="pending")]
    )
    assert [label.wrong for label in labels] == [False, True, True, True]


def test_enough_right_decisions_make_a_statement(tmp_path: Path) -> None:
    approvals = [approval(number, language="zh" if number % 3 else "en") for number in range(100)]
    report = calibrate(approvals, Workspace(tmp_path), WORDS_ONLY, 0.05, 0.95)
    assert report.statement
    assert report.sentence == (
        "At most 5 % of the answers that are released unseen, with a score of at least 0.75, are wrong (95 % sure, 100 "
        "decisions)."
    )
    assert set(report.statement.languages) == {"zh"}, "34 English decisions are too few"
    assert round(report.statement.mix["zh"], 2) == 0.66


def test_too_few_decisions_are_said_to_be_too_few(tmp_path: Path) -> None:
    few = calibrate([approval(number) for number in range(31)], Workspace(tmp_path), WORDS_ONLY, 0.05, 0.95)
    assert (few.statement, few.sentence) == (None, "Not enough labels: 31 of at least 59.")
    none = calibrate([], Workspace(tmp_path), WORDS_ONLY, 0.05, 0.95)
    assert none.sentence.endswith("set approval.audit, so that people check some of what is released.")


def test_languages_with_enough_decisions_get_thresholds_of_their_own(tmp_path: Path) -> None:
    approvals = [
        *(approval(number, language="en") for number in range(100)),
        *(approval(number, language="zh") for number in range(100, 180)),
        *(approval(number, language="ja", state="rejected") for number in range(180, 190)),
    ]
    mixed = calibrate(approvals, Workspace(tmp_path), WORDS_ONLY, 0.05, 0.95, separate=True)
    assert (mixed.statement, mixed.language) == (None, "")
    assert mixed.sentence == "Not enough labels in other languages: 10 of at least 80."
    report = calibrate(approvals[:180], Workspace(tmp_path), WORDS_ONLY, 0.05, 0.95, separate=True)
    assert report.statement
    assert report.statement.separate and set(report.statement.languages) == {"en", "zh"}
    assert all(own.confidence == 0.975 for own in report.statement.languages.values()), "they share the error"
    assert (report.statement.certificate.labels, report.statement.certificate.confidence) == (180, 0.95)
    assert "0.75 in en, 0.75 in zh, 0.75 in other languages, are wrong (95 % sure, 180 decisions)" in report.sentence


def test_one_language_with_wrong_answers_is_named(tmp_path: Path) -> None:
    approvals = [
        *(approval(number, language="en") for number in range(200)),
        *(
            approval(number, language="zh", state="rejected" if number % 4 else "approved")
            for number in range(200, 300)
        ),
    ]
    report = calibrate(approvals, Workspace(tmp_path), WORDS_ONLY, 0.05, 0.95, separate=True)
    assert (report.statement, report.language) == (None, "zh")
    assert report.sentence.startswith("A risk of 5 % cannot be certified in zh with 100 decisions")
    assert calibrate([], Workspace(tmp_path), WORDS_ONLY, 0.05, 0.95, separate=True).statement is None


def test_many_wrong_answers_name_the_smallest_risk(tmp_path: Path) -> None:
    approvals = [approval(number, state="approved" if number % 5 else "rejected") for number in range(100)]
    report = calibrate(approvals, Workspace(tmp_path), WORDS_ONLY, 0.05, 0.95)
    assert report.statement is None
    assert "the smallest that can be is 27" in report.sentence


def test_answers_that_wait_for_another_reason_do_not_count(tmp_path: Path) -> None:
    others = [approval(number, why="review_failed", state="rejected") for number in range(50)]
    superseded = [approval(number + 60, state="superseded") for number in range(50)]
    report = calibrate([*others, *superseded], Workspace(tmp_path), WORDS_ONLY, 0.05, 0.95)
    assert report.calibration.labels == 0


@pytest.mark.parametrize(("risk", "confidence"), [(0, 0.95), (1, 0.95), (0.05, 1.5)])
def test_impossible_promises_are_refused(tmp_path: Path, risk: float, confidence: float) -> None:
    with pytest.raises(InputError, match="must be between 0.0001 and 0.9999"):
        calibrate([], Workspace(tmp_path), WORDS_ONLY, risk, confidence)


@pytest.fixture
def audited(tmp_path: Path) -> Path:
    """A workspace in which twenty released answers were audited and approved: enough for a risk of 20 %."""
    root = tmp_path / "ws"
    settings = WORDS_ONLY.model_copy(
        update={"approval": WORDS_ONLY.approval.model_copy(update={"audit": 1.0, "grounding_floor": 0.0})}
    )
    with Veracity(root, settings=settings) as engine:
        engine.add(Document(id="leave", text="Full-time staff get 24 days of paid annual leave."))
        for number in range(20):
            engine.ask("How many days of paid annual leave do full-time staff get?", user=f"user{number}")
        for waiting in engine.approvals():
            engine.decide(waiting.approval_id, "approve", by="ann")
    (root / "veracity.toml").write_text("[models]\nembedder = 'none'\n")
    return root


@pytest.mark.only_sqlite
def test_calibrate_write_use_and_withdraw(
    audited: Path, run: Run, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = ("--workspace", str(audited))
    dry = run("calibrate", *RISK, "--dry-run", *where)
    assert (dry.code, (audited / "calibration.json").exists()) == (0, False)
    ran = run("calibrate", *RISK, *where)
    assert ran.code == 0
    assert ran.out.startswith("At most 20 % of the answers")
    assert 'set approval.threshold = "calibrated"' in ran.out
    statement = json.loads((audited / "calibration.json").read_text())
    assert statement["certificate"]["labels"] == 20
    assert run("calibrate", "--risk", "0.001", "--dry-run", *where).code == 6
    (audited / "veracity.toml").write_text("[models]\nembedder = 'none'\n[approval]\nthreshold = 'calibrated'\n")
    with Veracity(audited) as engine:
        assert engine.settings.approval.threshold == statement["certificate"]["threshold"]
    assert "Calibration: At most 20 %" in run("doctor", "--no-ask", *where).out
    monkeypatch.setenv("VERACITY_MODELS__WRITER", "test:other")
    with caplog.at_level(logging.WARNING), Veracity(audited) as engine:
        assert engine.settings.approval.threshold == max(0.75, statement["certificate"]["threshold"])
        found = engine.calibrator.statement()
    assert found
    assert found.withdrawn == "changed since: writer"
    assert "the statement was withdrawn (changed since: writer)" in caplog.text
    assert "The calibration of the threshold was withdrawn" in run("doctor", "--no-ask", *where).out
    other = run("calibrate", *RISK, *where)
    assert (other.code, other.out.startswith("Not enough labels: 0 of")) == (6, True), "another writer's answers"
    monkeypatch.delenv("VERACITY_MODELS__WRITER")
    assert run("calibrate", "--risk", "0.001", *where).code == 6
    with Veracity(audited) as engine:
        found = engine.calibrator.statement()
    assert found
    assert found.withdrawn == "the decisions no longer show it"


@pytest.mark.only_sqlite
def test_other_languages_withdraw_a_statement(audited: Path, run: Run) -> None:
    run("calibrate", *RISK, "--workspace", str(audited))
    with Veracity(audited, settings=WORDS_ONLY) as engine:
        assert engine.calibrator.statement()
        for number in range(8):
            engine.ask("年假有多少天？", user=f"zh{number}")
        found = engine.calibrator.statement()
        assert found
        assert found.withdrawn.startswith("the languages of the questions have changed")
    assert "have changed" in json.loads((audited / "calibration.json").read_text())["withdrawn"]


@pytest.mark.only_sqlite
def test_a_running_engine_follows_the_statement(audited: Path, run: Run) -> None:
    """Calibrated, lowered, raised, and withdrawn by hand and by another metric, without a restart."""
    settings = "[models]\nembedder = 'none'\n[approval]\nthreshold = 'calibrated'\ngrounding_floor = 0\n"
    (audited / "veracity.toml").write_text(settings)

    def threshold_of_next_run() -> float | None:
        answer = engine.ask("How many days of paid annual leave do full-time staff get?")
        scored = [step for step in engine.progress(answer.run_id).steps if isinstance(step, ScoreStep)]
        return scored[-1].facts.threshold

    with Veracity(audited) as engine:
        configuration = engine.configuration
        assert threshold_of_next_run() == 0.75
        assert run("calibrate", *RISK, "--workspace", str(audited)).code == 0
        statement = engine.calibrator.statement()
        assert statement
        for threshold in (0.6, 0.9):
            certificate = statement.certificate.model_copy(update={"threshold": threshold})
            write_statement(audited, statement.model_copy(update={"certificate": certificate}))
            assert threshold_of_next_run() == threshold
            assert (engine.settings.approval.threshold, engine.configuration) == (threshold, configuration)
        write_statement(audited, statement.model_copy(update={"withdrawn": "for a test"}))
        assert threshold_of_next_run() == 0.75
        certificate = statement.certificate.model_copy(update={"threshold": 0.6})
        write_statement(audited, statement.model_copy(update={"certificate": certificate}))
        assert threshold_of_next_run() == 0.6
        (audited / "configs").mkdir(exist_ok=True)
        (audited / "configs" / "evaluator.toml").write_text("[[metrics]]\nname = 'Groundedness'\n")
        assert threshold_of_next_run() == 0.75


@pytest.mark.only_sqlite
def test_the_gate_uses_the_threshold_of_the_language(audited: Path, run: Run) -> None:
    (audited / "veracity.toml").write_text("[models]\nembedder = 'none'\n[approval]\nthreshold = 'calibrated'\n")
    ran = run("calibrate", *RISK, "--per-language", "--workspace", str(audited))
    assert (ran.code, ran.out.count("in en, ")) == (0, 1)
    with Veracity(audited) as engine:
        statement = engine.calibrator.statement()
        assert statement and statement.separate
        strict = statement.languages["en"].model_copy(update={"threshold": 1.0})
        common = statement.certificate.model_copy(update={"threshold": 0.1})
        changed = {"certificate": common, "languages": {"en": strict}}
        write_statement(audited, statement.model_copy(update=changed))
        assert engine.settings.approval.language_thresholds == {"en": 1.0}
        engine.add(Document(id="假期", text="全职员工每年有二十四天带薪年假。"))
        questions = "How many days of leave do staff get?", "全职员工每年有多少天带薪年假？"
        answers = [engine.ask(question, user=question) for question in questions]
        thresholds = [
            step.facts.threshold
            for answer in answers
            for step in engine.progress(answer.run_id).steps
            if isinstance(step, ScoreStep)
        ]
        assert thresholds == [1.0, 0.1]
        write_statement(audited, statement.model_copy(update={**changed, "withdrawn": "for a test"}))
        assert engine.settings.approval.for_language("zh").threshold == 0.75


def test_a_calibrated_threshold_needs_a_statement(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), Veracity(tmp_path, settings=Settings.model_validate(CALIBRATED)) as engine:
        assert engine.settings.approval.threshold == 0.75
    assert "the statement does not exist" in caplog.text
    (tmp_path / "calibration.json").write_text("{}")
    with caplog.at_level(logging.WARNING), Veracity(tmp_path, settings=Settings.model_validate(CALIBRATED)) as engine:
        assert engine.settings.approval.threshold == 0.75
    assert "is not a statement: run veracity calibrate again" in caplog.text


def test_the_setting_is_read_from_the_file_and_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    file = load_settings(b"[approval]\nthreshold = 'calibrated'\n", Path("veracity.toml"))
    assert file.approval.calibrated
    assert not with_overrides(file, ["approval.threshold=0.9"]).approval.calibrated, "a number replaces it"
    monkeypatch.setenv("VERACITY_APPROVAL__THRESHOLD", "calibrated")
    assert load_settings(None, Path("veracity.toml")).approval.calibrated
    monkeypatch.setenv("VERACITY_APPROVAL__THRESHOLD", "0.8")
    again = load_settings(b"[approval]\nthreshold = 'calibrated'\n", Path("veracity.toml")).approval
    assert (again.calibrated, again.threshold) == (False, 0.8)
