"""The timeline of a receipt: bars on one scale of active time."""

from tests.receipt.page import Page
from tests.receipt.receipts import approval, at, decision, full, steps
from veracity.models import Approval, Step
from veracity.models.steps import load_step
from veracity.receipt.render import render_receipt
from veracity.receipt.timeline import find_holds, make_timeline


def make_steps(*spans: tuple[float, float]) -> list[Step]:
    return [load_step({"name": "retrieve", "started": at(start), "seconds": seconds}) for start, seconds in spans]


def decided_approval(created: float, when: float) -> Approval:
    return Approval.model_validate(approval(1, created, state="approved", decision=decision("approve", when)))


def bars(steps: list[Step], approvals: list[Approval]) -> list[tuple[float, float]]:
    """The position and width of each bar, in percent."""
    rows = [row for row in make_timeline(steps, approvals).rows if row.step]
    return [(round(100 * row.x, 2), round(100 * row.width, 2)) for row in rows]


def timeline_page(steps: list[Step], approvals: list[Approval]) -> Page:
    return Page(render_receipt(full().model_copy(update={"steps": steps, "approvals": approvals})))


def test_parallel_steps_share_their_position() -> None:
    assert bars(make_steps((0, 1), (1, 2), (1, 3)), []) == [(0.0, 25.0), (25.0, 50.0), (25.0, 75.0)]


def test_waiting_for_approval_is_left_out_of_the_scale() -> None:
    days = 3 * 86400.0
    waited = make_steps((0, 1), (days, 3))
    assert bars(waited, [decided_approval(1, days - 0.5)]) == [(0.0, 25.0), (25.0, 75.0)]
    page = timeline_page(waited, [decided_approval(1, days - 0.5)])
    assert [rect.attributes["x"] for rect in page.all("rect") if "x" in rect.attributes] == ["0.00%", "25.00%"]
    assert "Waited for approval: 2 d 23 h" in page.section("timeline")
    assert "Active time4.0 s" in page.section("timeline")


def test_step_that_lasts_through_a_wait_counts_only_its_active_time() -> None:
    assert bars(make_steps((0, 1), (1, 1001)), [decided_approval(1.5, 1001.5)]) == [(0.0, 50.0), (50.0, 50.0)]


def test_gap_without_approval_is_a_pause() -> None:
    (hold,) = find_holds(make_steps((0, 1), (100, 1)), [])
    assert (hold.end - hold.start, hold.is_wait) == (99.0, False)


def test_short_gaps_count_as_active_time() -> None:
    spans = make_steps((0, 1), (1.9, 1))
    assert find_holds(spans, []) == []
    assert round(make_timeline(spans, []).active, 6) == 2.9


def test_rows_are_in_order_of_time() -> None:
    rows = make_timeline(full().steps, full().approvals).rows
    first_hold = next(index for index, row in enumerate(rows) if row.step is None)
    assert first_hold == len([step for step in steps() if step["started"] < at(8)])
    failed = rows[first_hold + 1].step
    assert failed is not None
    assert failed.facts.problem == "One page could not be opened."
    shown = Page(render_receipt(full())).section("timeline")
    assert shown.index("Waited for approval") < shown.index(failed.facts.problem)


def test_pending_approval_is_the_last_row() -> None:
    pending = Approval.model_validate(approval(1, 7.5))
    assert "Awaiting approval" in timeline_page(full().steps[:3], [pending]).all("li", "hold")[-1].text


def test_invalid_times_are_drawn() -> None:
    invalid = [
        step.model_copy(update={"seconds": seconds})
        for step in make_steps((0, 0))
        for seconds in (float("nan"), -1.0, 0.0)
    ]
    assert bars(invalid, []) == [(0.0, 0.4)] * 3
    assert timeline_page([], []).section("timeline") == ""
