"""Event positions, and resuming from them whatever the ledger holds."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from veracity.models import RunProgress, RunSummary, Step, load_step
from veracity.server.live.events import Position, RunLog, count_seen, end_time, parse_position, recorded_events

BEGAN = datetime(2026, 11, 15, tzinfo=UTC)


def step(second: float) -> Step:
    return step_at(BEGAN + timedelta(seconds=second))


def step_at(started: datetime) -> Step:
    return load_step({"name": "retrieve", "started": started, "seconds": 0.5})


def progress(*steps: Step) -> RunProgress:
    run = RunSummary(run_id="r", question="q", user="u", status="running", started=BEGAN)
    return RunProgress(run=run, steps=list(steps))


def test_seen_steps_are_counted_by_number() -> None:
    steps = [step(1), step(2), step(3)]
    for number in range(4):
        moment = end_time(steps[number - 1]) if number else 0
        assert count_seen(steps, Position(number, moment)) == number


def test_without_a_time_the_number_decides() -> None:
    assert count_seen([step(1), step(2)], Position(1)) == 1
    assert count_seen([step(1), step(2)], Position(9)) == 2


def test_steps_lost_in_a_power_failure_do_not_hide_later_ones() -> None:
    """Sixteen were published, thirteen survived, and others followed."""
    published = [step(second) for second in range(16)]
    ledger = [*published[:13], step(100), step(101), step(102), step(103)]
    assert count_seen(ledger, Position(16, end_time(published[15]))) == 13
    events = list(recorded_events(progress(*ledger), Position(16, end_time(published[15]))))
    assert [parse_position(event.id).steps for event in events] == [14, 15, 16, 17]


def test_steps_that_ended_out_of_order_are_not_lost() -> None:
    ledger = [step(1), step(2.01), step(2.0), step(3)]
    seen = Position(2, end_time(ledger[1]))
    assert [parse_position(event.id).steps for event in recorded_events(progress(*ledger), seen)] == [3, 4]


@pytest.mark.parametrize("name", ["", "x", "7", "7.", "-3.5", "9" * 500, "1.2.3", "٣.٤", "1e9.0", "NaN.NaN", "1.-5"])
def test_invalid_event_ids_parse_to_a_valid_position(name: str) -> None:
    place = parse_position(name)
    assert place.steps >= 0 and place.time >= 0


def test_a_clock_set_back_hides_no_events() -> None:
    """A step was recorded by a clock that was half a minute ahead."""
    done = [step(second) for second in range(5)]
    soon = datetime.now(UTC) + timedelta(seconds=30)
    done.append(step_at(soon))

    async def follow_log() -> list[str]:
        run_log = RunLog("r", asyncio.get_running_loop())
        run_log.skip(done)
        run_log.publish("started", name="retrieve")
        run_log.publish_step(step_at(datetime.now(UTC)))
        run_log.publish("answer", answer={})
        run_log.close()
        return [event.data["kind"] async for event in run_log.follow(Position(6, end_time(done[-1])))]

    assert asyncio.run(follow_log()) == ["started", "finished", "answer"]
