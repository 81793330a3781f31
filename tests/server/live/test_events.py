"""Where a reader goes on who comes from an event, whatever the ledger holds by now."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from veracity.models import RunProgress, RunSummary, Step
from veracity.server.live.events import Place, Stretch, ended_at, place_of, recorded, steps_seen

BEGAN = datetime(2026, 11, 15, tzinfo=UTC)


def step(second: float, name: str = "step") -> Step:
    return Step(name=name, started=BEGAN + timedelta(seconds=second), seconds=0.5)


def progress(*steps: Step) -> RunProgress:
    run = RunSummary(run_id="r", question="q", user="u", status="running", started=BEGAN)
    return RunProgress(run=run, steps=list(steps))


def test_the_number_of_steps_tells_where() -> None:
    steps = [step(1), step(2), step(3)]
    for number in range(4):
        moment = ended_at(steps[number - 1]) if number else 0
        assert steps_seen(steps, Place(number, moment)) == number


def test_without_a_moment_the_number_counts() -> None:
    assert steps_seen([step(1), step(2)], Place(1)) == 1
    assert steps_seen([step(1), step(2)], Place(9)) == 2


def test_steps_that_were_told_and_lost_do_not_hide_those_after_them() -> None:
    """Sixteen were told, thirteen were written down when the process was killed, and others followed."""
    told = [step(second) for second in range(16)]
    ledger = [*told[:13], step(100), step(101), step(102), step(103)]
    assert steps_seen(ledger, Place(16, ended_at(told[15]))) == 13
    events = list(recorded(progress(*ledger), Place(16, ended_at(told[15]))))
    assert [place_of(event.id).steps for event in events] == [14, 15, 16, 17]


def test_of_two_that_ended_at_once_none_is_lost_whichever_was_told_first() -> None:
    ledger = [step(1), step(2.01), step(2.0), step(3)]
    seen = Place(2, ended_at(ledger[1]))
    assert [place_of(event.id).steps for event in recorded(progress(*ledger), seen)] == [3, 4]


@pytest.mark.parametrize("name", ["", "x", "7", "7.", "-3.5", "9" * 500, "1.2.3", "٣.٤", "1e9.0", "NaN.NaN", "1.-5"])
def test_what_is_no_id_is_a_place_all_the_same(name: str) -> None:
    place = place_of(name)
    assert place.steps >= 0 and place.moment >= 0


def test_a_clock_that_was_put_back_hides_nothing() -> None:
    """Five steps were done by a clock that was half a minute ahead."""
    done = [step(second) for second in range(5)]
    soon = datetime.now(UTC) + timedelta(seconds=30)
    done.append(Step(name="step", started=soon, seconds=0.5))

    async def told() -> list[str]:
        stretch = Stretch("r", asyncio.get_running_loop())
        stretch.begin(done)
        stretch.publish("started", name="generate_answer")
        stretch.publish_step(Step(name="generate_answer", started=datetime.now(UTC), seconds=0.1))
        stretch.publish("answer", answer={})
        stretch.end()
        return [event.data["kind"] async for event in stretch.following(Place(6, ended_at(done[-1])))]

    assert asyncio.run(told()) == ["started", "finished", "answer"]
