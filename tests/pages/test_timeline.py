"""Bars on one scale of active time."""

from tests.pages.material import approval, at, decision, full, steps
from tests.pages.reading import Page
from veracity.models import Approval, Step
from veracity.pages.elements import joined
from veracity.pages.labels import Words
from veracity.pages.timeline import Scale, holds, timeline


def made(*spans: tuple[float, float]) -> list[Step]:
    return [Step.model_validate({"name": "retrieve", "started": at(start), "seconds": took}) for start, took in spans]


def decided(created: float, when: float) -> Approval:
    return Approval.model_validate(approval(1, created, state="approved", decision=decision("approve", when)))


def shares(steps: list[Step], approvals: list[Approval]) -> list[tuple[str | None, str | None]]:
    rows = Page(joined(*timeline(steps, approvals, Words("en")))).all("rect")
    return [(row.attributes["x"], row.attributes["width"]) for row in rows]


def test_steps_side_by_side_share_their_place() -> None:
    assert shares(made((0, 1), (1, 2), (1, 3)), []) == [("0.00%", "25.00%"), ("25.00%", "50.00%"), ("25.00%", "75.00%")]


def test_days_of_waiting_leave_the_scale_as_it_is() -> None:
    days = 3 * 86400.0
    waited = made((0, 1), (days, 3))
    assert shares(waited, [decided(1, days - 0.5)]) == [("0.00%", "25.00%"), ("25.00%", "75.00%")]
    page = Page(joined(*timeline(waited, [decided(1, days - 0.5)], Words("en"))))
    assert "Waited for a person: 2 d 23 h" in page.all("ol")[0].text
    assert "4.0 s" in page.all("dl")[0].text


def test_a_step_that_lasts_while_a_person_decides_is_as_long_as_its_work() -> None:
    assert shares(made((0, 1), (1, 1001)), [decided(1.5, 1001.5)]) == [("0.00%", "50.00%"), ("50.00%", "50.00%")]


def test_a_process_that_died_is_a_pause_and_no_wait() -> None:
    (hold,) = holds(made((0, 1), (100, 1)), [])
    assert (hold.end - hold.start, hold.is_wait) == (99.0, False)


def test_short_gaps_are_part_of_the_time() -> None:
    some = made((0, 1), (1.9, 1))
    assert holds(some, []) == []
    assert round(Scale(some, []).active, 6) == 2.9


def test_the_rows_stand_in_the_order_of_time() -> None:
    rows = Page(joined(*timeline(full().steps, full().approvals, Words("en")))).all("li")
    held = [place for place, row in enumerate(rows) if row.attributes.get("class") == "hold"]
    assert held[0] == len([step for step in steps() if step["started"] < at(8)])
    assert "One page could not be opened." in rows[held[0] + 1].text


def test_who_waits_still() -> None:
    pending = Approval.model_validate(approval(1, 7.5))
    assert "Waiting for a person" in joined(*timeline(full().steps[:3], [pending], Words("en")))


def test_times_that_make_no_sense_are_drawn_all_the_same() -> None:
    odd = [
        step.model_copy(update={"seconds": seconds}) for step in made((0, 0)) for seconds in (float("nan"), -1.0, 0.0)
    ]
    assert shares(odd, []) == [("0.00%", "0.40%")] * 3
    assert timeline([], [], Words("en")) == []
