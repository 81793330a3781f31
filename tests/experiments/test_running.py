"""Experiments through the engine: what passes, what is stored, reused and resumed (SPEC X6)."""

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from veracity import Document, InputError, Veracity, VeracityError
from veracity.errors import BudgetError
from veracity.experiments.case_runs import contains, contains_literally
from veracity.experiments.records import CaseResult, Records
from veracity.experiments.running import Progress
from veracity.settings import ModelSettings, ReadingSettings, Settings
from veracity.testing import ScriptedLLM

NOTES = [
    Document(id="leave", text="# Leave\n\nFull-time staff get 24 days of paid annual leave.\n", markdown=True),
    Document(id="差旅", text="# 差旅\n\n上海办公室的员工出差时每晚住宿不超过六百元。\n", markdown=True),
    Document(id="休暇", text="# 休暇\n\n大阪の社員は年に二十日の有給休暇をもらえます。\n", markdown=True),
]
CASES: list[dict[str, Any]] = [
    {"id": "en", "question": "How many days of annual leave do full-time staff get?", "answers": ["24 days"]},
    {"id": "zh", "question": "上海员工出差每晚住宿不超过多少元？", "answers": ["六百元"], "must_cite": ["差旅"]},
    {"id": "ja", "question": "大阪の社員の有給休暇は年に何日ですか？", "answers": ["二十日"], "tags": ["hr"]},
    {"id": "none", "question": "What does a taxi to the moon cost?", "expect": "abstain"},
    {"id": "wrong", "question": "How much annual leave do full-time staff get?", "answers": ["99 weeks"]},
    {
        "id": "judged",
        "question": "How long is the warranty?",
        "submission": "The warranty is 24 months [1].",
        "context": ["The warranty is 24 months."],
    },
]
WORDS_ONLY = Settings(models=ModelSettings(embedder="none"), reading=ReadingSettings(workers=1))

Write = Callable[..., Path]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    with Veracity(tmp_path / "ws", settings=WORDS_ONLY) as engine:
        engine.add(NOTES)
    return tmp_path / "ws"


@pytest.fixture
def engine(workspace: Path) -> Iterator[Veracity]:
    with Veracity(workspace, settings=WORDS_ONLY) as engine:
        yield engine


@pytest.fixture
def write(workspace: Path) -> Write:
    def write(*cases: dict[str, Any], settings: str = "", name: str = "team") -> Path:
        folder = workspace / "evals"
        folder.mkdir(exist_ok=True)
        lines = (json.dumps(case, ensure_ascii=False) for case in cases or CASES)
        (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
        if settings:
            (folder / f"{name}.toml").write_text(settings)
        return folder / f"{name}.jsonl"

    return write


def results(workspace: Path, name: str) -> dict[tuple[str, int], CaseResult]:
    found = list(Records.load(workspace / "experiments" / name).results())
    assert len({(result.case, result.repeat, result.attempt) for result in found}) == len(found), "every case once"
    return {(result.case, result.repeat): result for result in found}


def test_cases_pass_or_say_why_not(engine: Veracity, workspace: Path, write: Write) -> None:
    write()
    summary = engine.experiment("team", name="first")
    found = results(workspace, "first")
    assert [result.case for result in found.values() if not result.passed] == ["wrong"]
    assert found["wrong", 0].faults == ["does not say “99 weeks”"]
    assert found["none", 0].status == "abstained"
    assert found["judged", 0].status == "scored"
    assert found["zh", 0].language == "zh"
    assert summary.passed
    assert (summary.passed.n, round(summary.passed.value, 3), summary.not_run) == (6, 0.833, 0)
    assert {part.name for part in summary.slices} == {"en", "zh", "ja"}
    assert summary.abstention.abstained_as_expected == 1
    assert summary.abstention.answered_as_expected == 4


def test_every_case_has_a_receipt_and_leaves_no_other_trace(engine: Veracity, workspace: Path, write: Write) -> None:
    write(*CASES[:5])
    engine.experiment("team", name="first")
    for result in results(workspace, "first").values():
        receipt = engine.receipt(result.run_id)
        assert (receipt.run.user, receipt.run.question) == (
            "experiment:first",
            receipt.answer and receipt.answer.question,
        )
    assert not engine.runs()
    assert not list(engine.observations())
    assert engine.pending() == 0
    with pytest.raises(InputError, match="There is no run yet"):
        engine.receipt("last")


def test_nobody_can_ask_as_an_experiment(engine: Veracity) -> None:
    """Its runs pass without approval."""
    with pytest.raises(InputError, match="cases of experiments"):
        engine.ask("How many days?", user="experiment:x")
    with pytest.raises(InputError, match="experiments use such names"):
        engine.users.add("Experiment:x", "asker")


def test_an_answer_that_the_gate_would_hold_is_not_released(workspace: Path, write: Write) -> None:
    write(CASES[0])
    (workspace / "configs").mkdir(exist_ok=True)
    (workspace / "configs" / "evaluator.toml").write_text("[[metrics]]\nname = 'ClarityCoherence'\n")
    settings = WORDS_ONLY.model_copy(update={"models": ModelSettings(embedder="none", judge="test:judge")})
    with Veracity(workspace, settings=settings, llm=ScriptedLLM({"reason": "Fair.", "score": 60})) as engine:
        strict = engine.experiment("team", name="strict")
        loose = engine.experiment("team", name="loose", overrides=["approval.threshold=0.5"])
        assert engine.pending() == 0, "nobody is asked"
    assert (strict.released and strict.released.value, loose.released and loose.released.value) == (0, 1)
    assert results(workspace, "strict")["en", 0].held == "low_score"


def test_results_are_reused_only_if_everything_is_the_same(engine: Veracity, workspace: Path, write: Write) -> None:
    write(*CASES[:2])
    engine.experiment("team", name="first")
    again = engine.experiment("team", name="again", repeat=2)
    assert again.reused == 2, "of the first repeat"
    assert engine.experiment("team", name="other", overrides=["answering.evidence=7"]).reused == 0
    (workspace / "prompts").mkdir()
    (workspace / "prompts" / "writer.md").write_text("{material}")
    assert engine.experiment("team", name="prompts").reused == 0
    (workspace / "prompts" / "writer.md").unlink()
    engine.add(Document(id="new", text="Another document."))
    assert engine.experiment("team", name="documents").reused == 0
    write(*CASES[:2], settings="metrics = ['Groundedness']\n")
    assert engine.experiment("team", name="suite").reused == 0
    (workspace / "configs").mkdir(exist_ok=True)
    (workspace / "configs" / "evaluator.toml").write_text("[[metrics]]\nname = 'Groundedness'\n")
    assert engine.experiment("team", name="metrics").reused == 0


def test_another_experiment_is_not_continued_under_its_name(engine: Veracity, write: Write) -> None:
    write(*CASES[:2])
    engine.experiment("team", name="first")
    with pytest.raises(InputError, match="was run before the settings changed"):
        engine.experiment("team", name="first", overrides=["answering.evidence=7"])
    write(*CASES[:3])
    with pytest.raises(InputError, match="was run before the suite changed"):
        engine.experiment("team", name="first")


def test_an_interrupted_experiment_goes_on(engine: Veracity, workspace: Path, write: Write) -> None:
    write(*CASES[:5])

    def interrupt(progress: Progress) -> None:
        if progress.finished == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.experiment("team", concurrency=1, progress=interrupt)
    before = len(results(workspace, "team-1"))
    assert 2 <= before < 5
    summary = engine.experiment("team")
    assert (summary.manifest.name, summary.finished, summary.not_run) == ("team-1", 5, 0)
    assert engine.experiment("team").manifest.name == "team-2", "a finished one is not continued"


def test_a_run_that_ended_before_a_kill_is_not_asked_again(engine: Veracity, workspace: Path, write: Write) -> None:
    """Killed between the end of the run and the line of its result, or in the middle of that line."""
    write(*CASES[:3])
    engine.experiment("team", name="first", concurrency=1)
    file = workspace / "experiments" / "first" / "results.jsonl"
    before = results(workspace, "first")
    file.write_bytes(file.read_bytes()[:-40])
    assert engine.experiment("team", name="first").finished == 3
    after = results(workspace, "first")
    assert {key: result.run_id for key, result in after.items()} == {
        key: result.run_id for key, result in before.items()
    }


def test_a_removed_experiment_is_not_found_again(engine: Veracity, workspace: Path, write: Write) -> None:
    """Its runs are still in the ledger, but they are those of another experiment."""
    write(CASES[0])
    engine.experiment("team", name="first")
    before = results(workspace, "first")["en", 0].run_id
    shutil.rmtree(workspace / "experiments")
    engine.experiment("team", name="first")
    assert results(workspace, "first")["en", 0].run_id != before


def test_a_suite_that_is_edited_during_a_run_ends_it(engine: Veracity, workspace: Path, write: Write) -> None:
    write(*CASES[:3], settings="repeats = 2\n")

    def edit(progress: Progress) -> None:
        if progress.finished == 1:
            write(CASES[0], {**CASES[1], "must_cite": ["leave"]}, CASES[2])

    with pytest.raises(InputError, match="has changed meanwhile"):
        engine.experiment("team", name="first", concurrency=1, progress=edit)
    assert ("zh", 1) not in results(workspace, "first")


def test_only_one_process_runs_an_experiment(engine: Veracity, workspace: Path, write: Write) -> None:
    write(CASES[0])
    engine.experiment("team", name="first")
    with (
        Records.load(workspace / "experiments" / "first").open(),
        pytest.raises(VeracityError, match="Another process"),
    ):
        engine.experiment("team", name="first")


def test_repeats_find_flaky_cases(workspace: Path, write: Write) -> None:
    write(
        {"id": "flaky", "question": "How long?", "submission": "24 months.", "context": ["24 months."]},
        {"id": "good", "question": "How far?", "submission": "9 km.", "context": ["9 km."]},
        settings="repeats = 4\nmetrics = ['ClarityCoherence']\n",
    )
    lock, asked = threading.Lock(), []

    def judge(call: Any) -> dict[str, Any]:
        with lock:
            asked.append(call.prompt)
            is_low = "24 months" in call.prompt and len([text for text in asked if "24 months" in text]) % 2 == 0
        return {"reason": "Read.", "score": 10 if is_low else 95}

    settings = WORDS_ONLY.model_copy(update={"models": ModelSettings(embedder="none", judge="test:judge")})
    with Veracity(workspace, settings=settings, llm=ScriptedLLM(judge)) as engine:
        summary = engine.experiment("team")
    assert summary.flaky == ["flaky"]
    assert summary.passed_always
    assert (summary.passed_always.value, summary.finished, summary.usage.calls) == (0.5, 8, 8)


def test_a_case_that_fails_is_tried_again(workspace: Path, write: Write) -> None:
    write({"id": "a", "question": "How long?", "submission": "24 months.", "context": ["24 months."]})
    settings = WORDS_ONLY.model_copy(update={"models": ModelSettings(embedder="none", judge="test:judge")})
    (workspace / "evals" / "team.toml").write_text("metrics = ['ClarityCoherence']\n")
    with Veracity(workspace, settings=settings, llm=ScriptedLLM(VeracityError("The model is away."))) as engine:
        summary = engine.experiment("team")
    assert (summary.finished, summary.not_run) == (0, 1)
    assert "The model is away." in summary.failed[0].problem
    with Veracity(workspace, settings=settings, llm=ScriptedLLM({"reason": "Good.", "score": 90})) as engine:
        summary = engine.experiment("team")
    assert (summary.manifest.name, summary.finished, summary.failed) == ("team-1", 1, [])


def test_a_broken_model_ends_the_experiment_early(workspace: Path, write: Write) -> None:
    write(
        *({"id": str(n), "question": "How?", "submission": "So.", "context": ["So."]} for n in range(40)),
        settings="metrics = ['ClarityCoherence']\n",
    )
    settings = WORDS_ONLY.model_copy(update={"models": ModelSettings(embedder="none", judge="test:judge")})
    with (
        Veracity(workspace, settings=settings, llm=ScriptedLLM(VeracityError("The model is away."))) as engine,
        pytest.raises(VeracityError, match="10 cases in a row failed, and the rest was not tried"),
    ):
        engine.experiment("team", concurrency=1)
    assert len(results(workspace, "team-1")) == 10


def test_a_budget_needs_known_prices(workspace: Path, write: Write) -> None:
    write(
        *({"id": str(n), "question": "How?", "submission": "So.", "context": ["So."]} for n in range(5)),
        settings="metrics = ['ClarityCoherence']\n",
    )
    settings = WORDS_ONLY.model_copy(update={"models": ModelSettings(embedder="none", judge="test:judge")})
    with (
        Veracity(workspace, settings=settings, llm=ScriptedLLM({"reason": "Good.", "score": 90})) as engine,
        pytest.raises(BudgetError, match="price of a model is not known"),
    ):
        engine.experiment("team", concurrency=1, budget_usd=1)


def test_a_case_that_fails_counts_towards_the_budget(workspace: Path, write: Write) -> None:
    """Every reply is paid for, also one that cannot be used. Its price is not known here, so the first one ends it."""
    write(
        *({"id": str(n), "question": "How?", "submission": "So.", "context": ["So."]} for n in range(5)),
        settings="metrics = ['ClarityCoherence']\n",
    )
    settings = WORDS_ONLY.model_copy(update={"models": ModelSettings(embedder="none", judge="test:judge")})
    with Veracity(workspace, settings=settings, llm=ScriptedLLM("no verdict")) as engine:
        with pytest.raises(BudgetError, match="price of a model is not known"):
            engine.experiment("team", concurrency=1, budget_usd=1)
        (failed,) = results(workspace, "team-1").values()
        assert (failed.status, failed.usage.calls, failed.usage.cost_usd) == ("failed", 4, None)
        summary = engine.experiment("team", name="team-1", concurrency=1)
    assert (len(summary.failed), summary.usage.calls) == (5, 6 * 4)


def test_a_run_that_fails_counts_towards_the_budget(workspace: Path, write: Write) -> None:
    write(CASES[0], {**CASES[0], "id": "next"})
    settings = WORDS_ONLY.model_copy(update={"models": ModelSettings(embedder="none", writer="test:writer")})

    with (
        Veracity(workspace, settings=settings, llm=ScriptedLLM.by_role(writer="")) as engine,
        pytest.raises(BudgetError, match="price of a model is not known"),
    ):
        engine.experiment("team", name="first", concurrency=1, budget_usd=1)
    (failed,) = results(workspace, "first").values()
    assert (failed.case, failed.status, failed.usage.calls) == ("en", "failed", 4)


def test_earlier_questions_belong_to_the_conversation(engine: Veracity, workspace: Path, write: Write) -> None:
    write(
        {
            "id": "follow-up",
            "history": ["How many days of annual leave do full-time staff get?"],
            "question": "And the staff in Osaka?",
            "answers": ["二十日"],
        }
    )
    engine.experiment("team", name="first")
    (result,) = results(workspace, "first").values()
    receipt = engine.receipt(result.run_id)
    assert receipt.run.conversation.startswith("follow-up#0#0#")
    turns = engine.turns(receipt.run.conversation, user="experiment:first")
    assert [turn.question for turn in turns] == [CASES[0]["question"], "And the staff in Osaka?"]


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        ({**CASES[0], "must_cite": ["missing.md"]}, 'must cite "missing.md", but no document matches'),
        ({"id": "a"}, "question: this is missing"),
    ],
)
def test_faults_are_found_before_anything_is_run(
    engine: Veracity, workspace: Path, write: Write, case: dict[str, Any], problem: str
) -> None:
    write(case)
    with pytest.raises(InputError, match=problem):
        engine.experiment("team", name="first")
    assert not (workspace / "experiments").exists()


def test_a_workspace_without_documents_is_refused(tmp_path: Path) -> None:
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "team.jsonl").write_text(json.dumps(CASES[0]))
    with Veracity(tmp_path, settings=WORDS_ONLY) as engine, pytest.raises(InputError, match="no documents yet"):
        engine.experiment("team")


def test_suites_and_results_are_not_ingested(engine: Veracity, workspace: Path, write: Write) -> None:
    """A suite holds the expected answers."""
    write(CASES[0])
    engine.experiment("team", name="first")
    report = engine.ingest(workspace)
    assert not [outcome.name for outcome in report.outcomes if "evals" in outcome.name or "experiments" in outcome.name]


@pytest.mark.parametrize(
    ("text", "expected", "is_found"),
    [
        ("Staff get 24 days.", "24 days", True),
        ("Staff get 24 paid days.", "24 days", True),
        ("Staff get 124 days.", "24 days", False),
        ("Staff get 24 days.", "4", False),
        ("有效期为六百元。", "六百元", True),
        ("有給は二十日です。", "二十日", True),
        ("Ｆｕｌｌ width", "full", True),
        ("Nothing.", "24 days", False),
    ],
)
def test_expected_words_are_found_in_any_wording(text: str, expected: str, is_found: bool) -> None:
    assert contains(text, expected) is is_found


def test_forbidden_words_are_compared_literally() -> None:
    assert contains_literally("It costs 4,000 euros.", "4,000")
    assert not contains_literally("It costs 14,000 euros.", "4,000")
