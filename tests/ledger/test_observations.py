"""Observations: one whole record per line after any crash, and each run once (SPEC A12)."""

import errno
import json
import os
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import select, update

from tests.ledger.killed import run_alone
from tests.ledger.material import begin, finish_run, make_answer, make_evidence
from veracity.errors import LedgerError
from veracity.ledger import Ledger, Observations, RunRecords
from veracity.ledger import observations as observations_module
from veracity.ledger.observations import make_observation
from veracity.ledger.tables import outbox

KILLS = int(os.environ.get("VERACITY_KILLS", "20"))


def records(path: Path) -> list[dict[str, object]]:
    content = path.read_bytes()
    assert content == b"" or content.endswith(b"\n")
    return [json.loads(line) for line in content.split(b"\n")[:-1]]


def keys(path: Path) -> list[tuple[object, object]]:
    return [(record["run_id"], record["attempt"]) for record in records(path)]


def states(ledger: Ledger) -> Counter[str]:
    with ledger._database.reading() as connection:
        return Counter(connection.execute(select(outbox.c.state)).scalars())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "observational_data.json"


def test_a_record_contains_no_line_break_of_any_kind(observations: Observations, path: Path) -> None:
    text = "有給\u2028 \u2029 \x85 \n \r\n \x0b \0 \ud83d \U0001f600"
    observations.append([{"output": text, "run_id": "r1", "attempt": 1}, {"run_id": "r2", "attempt": 1}])
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["run_id"] for line in lines] == ["r1", "r2"]
    assert json.loads(lines[0])["output"] == text.replace("\ud83d", "\ufffd")


def test_a12_evidence_names_the_questions_it_answers() -> None:
    """A cited passage answers this question, an earlier answer the question it was given to."""
    cited, uncited = make_evidence("a"), make_evidence("b")
    recalled = make_evidence("c").model_copy(update={"source": "history", "title": "休暇は何日？"})
    answer = make_answer("r1", [cited, uncited, recalled])
    (sentence,) = answer.sentences
    assert answer.review
    changes = {
        "standalone": "How many days of leave?",
        "review": answer.review.model_copy(update={"outcome": "passed"}),
        "sentences": [
            sentence.model_copy(update={"citations": sentence.citations[::2]}),
            sentence.model_copy(update={"citations": sentence.citations[1:2], "supported": False}),
        ],
    }
    record = make_observation(answer.model_copy(update=changes), {})
    assert record
    own = "How many days of leave?"
    assert [item["questions"] for item in record["input"]] == [[own], [], ["休暇は何日？", own]]


def test_records_are_read_without_other_lines(observations: Observations, path: Path) -> None:
    assert list(observations.read()) == []
    observations.append([{"output": "a\u2028b", "run_id": "r1", "attempt": 1}])
    path.write_bytes(path.read_bytes() + b'a note\n[1]\n{"mine": 1}\n{"run_id": "r2", "attempt": 1}\n{"run_id": "r3"')
    assert list(observations.read()) == [
        {"output": "a\u2028b", "run_id": "r1", "attempt": 1},
        {"run_id": "r2", "attempt": 1},
    ]


@pytest.mark.parametrize("whole", [0, 2])
def test_a_torn_line_is_repaired(ledger: Ledger, observations: Observations, path: Path, whole: int) -> None:
    """The killed process had marked its record as being delivered, and written some of its bytes."""
    record = {"o": "答え", "run_id": "r1", "attempt": 1}
    line = json.dumps(record, ensure_ascii=False).encode() + b"\n"
    before = b"".join(json.dumps({"run_id": f"w{n}", "attempt": 1}).encode() + b"\n" for n in range(whole))
    finish_run(ledger, "r1", observation={"o": "答え"})
    for length in range(len(line) + 1):
        path.write_bytes(before + line[:length])
        with ledger._database.writing() as connection:
            own = outbox.c.run_id == "r1"
            connection.execute(update(outbox).where(own).values(state="delivering", record=record))
        assert ledger.deliver(observations) == (1 if length < len(line) - 1 else 0)
        finish_run(ledger, f"next{length}", observation={})
        ledger.deliver(observations)
        assert keys(path) == [*((f"w{n}", 1) for n in range(whole)), ("r1", 1), (f"next{length}", 1)]


def test_foreign_lines_are_kept(observations: Observations, path: Path) -> None:
    path.write_bytes(b'{"mine": 1}')
    observations.append([{"run_id": "r1", "attempt": 1}])
    path.write_bytes(path.read_bytes() + b"a note")
    observations.append([{"run_id": "r2", "attempt": 1}])
    assert path.read_bytes().splitlines()[::2] == [b'{"mine": 1}', b"a note"]
    assert observations.find({("r1", 1), ("r2", 1), ("r2", 2)}) == {("r1", 1), ("r2", 1)}


def test_zeros_after_a_power_failure_are_cut_off(observations: Observations, path: Path) -> None:
    observations.append([{"run_id": "r1", "attempt": 1}])
    path.write_bytes(path.read_bytes() + bytes(10_000))
    observations.append([{"run_id": "r2", "attempt": 1}])
    assert keys(path) == [("r1", 1), ("r2", 1)]


def test_records_are_removed_by_run_and_attempt(observations: Observations, path: Path) -> None:
    observations.append([{"run_id": run_id, "attempt": n} for run_id in ('a"b', "安") for n in (1, 2)])
    path.chmod(0o640)
    observations.remove({('a"b', 2), ("安", 1), ("none", 1)})
    assert keys(path) == [('a"b', 1), ("安", 2)]
    assert path.stat().st_mode & 0o777 == 0o640
    assert not list(path.parent.glob("*draft"))


def test_a_run_is_delivered_once(ledger: Ledger, observations: Observations, path: Path) -> None:
    assert ledger.deliver(observations) == 0
    finish_run(ledger, "r1", observation={"instruction": "問", "score": float("nan")})
    second = make_answer("r2", []).model_copy(update={"attempt": 2})
    observation = {"run_id": "forged", "attempt": 9}
    ledger.finish(second, RunRecords(observation=observation), token=begin(ledger, "r2"))
    finish_run(ledger, "r3")
    assert not path.exists()
    assert [ledger.deliver(observations), ledger.deliver(observations)] == [2, 0]
    assert records(path) == [
        {"instruction": "問", "score": None, "run_id": "r1", "attempt": 1},
        {"run_id": "r2", "attempt": 2},
    ]
    assert states(ledger) == {"written": 2}
    with ledger._database.reading() as connection:
        assert connection.execute(select(outbox.c.record)).scalars().all() == [None, None]


def test_several_batches_are_delivered(ledger: Ledger, observations: Observations, path: Path) -> None:
    for number in range(130):
        finish_run(ledger, f"r{number}", observation={})
    assert ledger.deliver(observations) == 130
    assert keys(path) == [(f"r{number}", 1) for number in range(130)]


def test_concurrent_deliveries_write_nothing_twice(
    ledger: Ledger, observations: Observations, path: Path, tmp_path: Path
) -> None:
    others = [Ledger(tmp_path / "ledger") for _ in range(4)]

    def deliver_runs(thread: int) -> None:
        for number in range(10):
            finish_run(others[thread], f"{thread}-{number}", observation={})
            others[thread].deliver(observations if thread % 2 else Observations(path))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(deliver_runs, range(4)))
    assert sorted(keys(path), key=str) == sorted(((f"{a}-{b}", 1) for a in range(4) for b in range(10)), key=str)
    for other in others:
        other.close()


def test_a_full_disk_is_reported_and_the_record_is_delivered_later(
    ledger: Ledger, observations: Observations, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    observations.append([{"run_id": "r0", "attempt": 1}])
    finish_run(ledger, "r1", observation={"output": "x" * 100})
    real = os.fsync

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LedgerError, match=r"No space left on device\): free some disk space"):
        ledger.deliver(observations)
    assert keys(path) == [("r0", 1)]
    monkeypatch.setattr(os, "fsync", real)
    assert ledger.deliver(observations) == 1
    assert keys(path) == [("r0", 1), ("r1", 1)]


def test_a_folder_instead_of_the_file_is_reported(ledger: Ledger, observations: Observations, path: Path) -> None:
    path.mkdir()
    finish_run(ledger, "r1", observation={})
    with pytest.raises(LedgerError, match="cannot be used"):
        ledger.deliver(observations)


def test_a_lock_timeout_is_reported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observations_module, "LOCK_TIMEOUT_SECONDS", 0.1)
    errors: list[BaseException] = []

    def append() -> None:
        try:
            Observations(path).append([{"run_id": "r1", "attempt": 1}])
        except LedgerError as error:
            errors.append(error)

    with Observations(path).locked():
        other = threading.Thread(target=append)
        other.start()
        other.join(60)
    assert "is being written by another process: try again" in str(errors[0])


@pytest.mark.only_sqlite
def test_killed_processes_lose_nothing_and_write_nothing_twice(tmp_path: Path, path: Path) -> None:
    """Set VERACITY_KILLS=500 for a thorough run."""
    print(run_alone("kill_writers", tmp_path, 11, KILLS, 5 * KILLS))
    finished = [tuple(line.split()) for line in (tmp_path / "log").read_text().splitlines()]
    ledger, observations = Ledger(tmp_path / "ledger"), Observations(path)
    unfinished = states(ledger)
    ledger.deliver(observations)
    once = Counter((run_id, str(attempt)) for run_id, attempt in keys(path))
    print(f"{len(finished)} runs finished, outbox after the kills: {dict(unfinished)}")
    assert set(once.values()) == {1}
    assert set(finished) <= set(once)
    done = {run.run_id for run in ledger.runs(1_000_000) if run.status == "answered"}
    assert done == {run_id for run_id, _ in once}
    assert set(states(ledger)) == {"written"}
    assert len(finished) >= 5 * KILLS
    begin(ledger, "afterwards")
    ledger.close()
