"""What a team does in the inbox besides one decision: undo, send back, assign, decide several (SPEC D10, D11)."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import GOOD, PASS, QUESTION, judged
from tests.server.conftest import OpenPage, Serve
from tests.waiting import until
from veracity.engine import Veracity
from veracity.testing import ScriptedLLM

OTHERS = ("How many days may be carried over?", "When is leave requested?")
BETTER = f"{GOOD} Up to 5 days may be carried over until March. [1]"
NOTE = "Say what happens to unused days."


@pytest.fixture
def waiting(gated: MakeEngine) -> Callable[..., Veracity]:
    """`waiting(QUESTION, …)`: an engine in which the answers to these questions are pending."""

    def make(*questions: str, scores: tuple[float, ...] = (30,), writer: Any = GOOD, **approval: Any) -> Veracity:
        llm = ScriptedLLM.by_role(writer=writer, reviewer=PASS, judge=judged(*scores))
        engine = gated(llm, approval=approval)
        for question in questions:
            assert engine.ask(question).status == "awaiting_approval"
        return engine

    return make


def row(page: Page, question: str) -> Locator:
    return page.locator(".inbox-row").filter(has_text=question)


def open_draft(page: Page, question: str) -> None:
    """Keys decide only while a draft is open."""
    row(page, question).click()
    expect(page.locator("#inbox-question")).to_have_text(question)


def approve_two(page: Page) -> str:
    """Approves the first draft, and then the next, which opens by itself. Returns the first question."""
    page.locator(".inbox-row").first.click()
    first = page.locator("#inbox-question").inner_text()
    page.keyboard.press("a")
    expect(page.locator("#inbox-question")).not_to_have_text(first)
    expect(page.locator(".inbox-undo")).to_contain_text(first)
    page.keyboard.press("a")  # and the next one
    expect(page.locator(".inbox-undo")).not_to_contain_text(first)
    return first


def states(engine: Veracity) -> dict[str, str]:
    return {approval.question: approval.state for approval in engine.approvals(state="any")}


def test_a_decision_is_undone_before_it_takes_effect(
    waiting: Callable[..., Veracity], serve: Serve, open_page: OpenPage
) -> None:
    engine = waiting(QUESTION, undo_seconds=60)
    page = open_page(serve(engine), "#/inbox")
    open_draft(page, QUESTION)
    page.get_by_role("button", name="Approve").click()
    undo = page.locator(".inbox-undo")
    expect(undo).to_contain_text(f"Approved: “{QUESTION}”")
    assert states(engine) == {QUESTION: "approved"} and engine.runs()[0].status == "awaiting_approval"
    undo.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    expect(undo).to_be_empty()
    assert states(engine) == {QUESTION: "pending"}
    page.keyboard.press("a")
    expect(undo).to_contain_text("Approved")
    page.keyboard.press("z")
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    assert engine.approvals()[0].decision is None


def test_a_decision_takes_effect_after_the_page_is_closed(
    waiting: Callable[..., Veracity], serve: Serve, open_page: OpenPage
) -> None:
    engine = waiting(QUESTION, undo_seconds=1)
    page = open_page(serve(engine), "#/inbox")
    open_draft(page, QUESTION)
    page.keyboard.press("a")
    expect(page.locator(".inbox-undo")).to_contain_text("Approved")
    page.close()
    until(lambda: engine.runs()[0].status == "answered")
    answer = engine.receipt("last").answer
    assert answer and answer.text == GOOD


def test_the_next_draft_opens_after_a_decision(
    waiting: Callable[..., Veracity], serve: Serve, open_page: OpenPage
) -> None:
    engine = waiting(QUESTION, OTHERS[0], undo_seconds=60)
    page = open_page(serve(engine), "#/inbox")
    first = approve_two(page)
    for _ in range(2):
        page.keyboard.press("z")
    expect(page.locator("#inbox-question")).to_have_text(first)
    assert set(states(engine).values()) == {"pending"}


def test_undoing_twice_opens_the_first_draft_in_any_order_of_responses(
    waiting: Callable[..., Veracity], serve: Serve, open_page: OpenPage
) -> None:
    engine = waiting(QUESTION, OTHERS[0], undo_seconds=60)
    page = open_page(serve(engine), "#/inbox")
    first = approve_two(page)
    held: list[Route] = []
    page.route("**/api/approvals/*/decision", lambda route: route.continue_() if held else held.append(route))
    for _ in range(2):
        page.keyboard.press("z")
    expect(page.locator("#inbox-question")).to_have_text(first)
    with page.expect_response("**/api/approvals/*/decision"):
        held[0].continue_()
    expect(page.locator(".inbox-row")).to_have_count(2)
    expect(page.locator("#inbox-question")).to_have_text(first)


def test_others_see_a_withdrawn_decision_d6(
    waiting: Callable[..., Veracity], serve: Serve, open_page: OpenPage
) -> None:
    engine = waiting(QUESTION, undo_seconds=60)
    served = serve(engine)
    page, other = (open_page(served, "#/inbox", token=served.token("approver", name)) for name in ("ana", "bo"))
    for one in (page, other):
        open_draft(one, QUESTION)
    page.keyboard.press("a")
    expect(other.locator(".inbox-decided")).to_contain_text("Approved by ana")
    page.locator(".inbox-undo").get_by_role("button", name="Undo").click()
    expect(other.get_by_role("button", name="Approve")).to_be_visible()


def test_a_decision_withdrawn_before_its_details_are_loaded_d6(
    waiting: Callable[..., Veracity], serve: Serve, open_page: OpenPage
) -> None:
    served = serve(waiting(QUESTION, undo_seconds=60))
    page, other = (open_page(served, "#/inbox", token=served.token("approver", name)) for name in ("ana", "bo"))
    for one in (page, other):
        open_draft(one, QUESTION)
    held: list[Route] = []
    is_held = True
    other.route("**/api/approvals/*", lambda route: held.append(route) if is_held else route.continue_())
    page.keyboard.press("a")
    expect(other.locator(".inbox-decided")).to_contain_text("Approved by ana")  # from the feed
    page.locator(".inbox-undo").get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    is_held = False
    for request in held:
        request.continue_()
    expect(other.get_by_role("button", name="Approve")).to_be_visible()


def test_send_back_with_a_note_d10(waiting: Callable[..., Veracity], serve: Serve, open_page: OpenPage) -> None:
    engine = waiting(QUESTION, scores=(30, 40), writer=[GOOD, BETTER])
    page = open_page(serve(engine), "#/inbox")
    open_draft(page, QUESTION)
    page.keyboard.press("s")
    page.get_by_role("button", name="Send back", exact=True).click()
    expect(page.get_by_label("What must the next draft change?")).to_be_focused()  # a note is required
    page.get_by_label("What must the next draft change?").fill(NOTE)
    page.get_by_role("button", name="Send back", exact=True).click()
    expect(page.locator(".inbox-decided")).to_contain_text("Sent back by you")
    page.get_by_role("link", name="Open the second answer").click()
    expect(page.locator(".inbox-approval .md").first).to_contain_text("carried over")
    expect(page.locator(".inbox-rejection")).to_contain_text(NOTE)
    expect(page.locator(".inbox-head")).not_to_contain_text("web")
    page.keyboard.press("a")
    expect(page.locator(".inbox-decided")).to_contain_text("Approved by you")
    until(lambda: engine.runs()[0].status == "answered")
    page.goto(f"{page.url.split('#')[0]}#/runs/{engine.runs()[0].run_id}")
    expect(page.locator(".ask-decisions")).to_contain_text("sent a draft back with a note")


def test_the_undo_bar_fits_a_phone(waiting: Callable[..., Veracity], serve: Serve, open_page: OpenPage) -> None:
    page = open_page(serve(waiting(QUESTION, undo_seconds=60)), "#/inbox", width=390)
    open_draft(page, QUESTION)
    page.get_by_role("button", name="Approve").click()
    expect(page.locator(".inbox-undo button")).to_be_in_viewport(ratio=1)
    box = page.locator(".inbox-undo .notice").bounding_box()
    assert box and box["height"] < 100 and box["y"] >= 0


def test_a_draft_that_cannot_be_sent_back_has_no_button(
    waiting: Callable[..., Veracity], serve: Serve, open_page: OpenPage
) -> None:
    page = open_page(serve(waiting(QUESTION, send_backs=0)), "#/inbox")
    open_draft(page, QUESTION)
    expect(page.get_by_role("button", name="Reject…")).to_be_visible()
    expect(page.get_by_role("button", name="Send back…")).to_have_count(0)


def test_the_button_to_send_back_says_that_the_limit_is_reached(
    waiting: Callable[..., Veracity], serve: Serve, open_page: OpenPage
) -> None:
    engine = waiting(QUESTION, scores=(30, 40), writer=[GOOD, BETTER], send_backs=1)
    [first] = engine.approvals()
    engine.decide(first.approval_id, "send_back", by="ana", reason=NOTE)
    page = open_page(serve(engine), "#/inbox")
    open_draft(page, QUESTION)
    button = page.get_by_role("button", name="Send back…")
    expect(button).to_be_disabled()
    expect(button).to_have_accessible_description("It was sent back once, as often as the settings allow.")
    expect(page.get_by_text("It was sent back once, as often as the settings allow.")).to_be_visible()
    page.keyboard.press("s")
    expect(page.get_by_label("What must the next draft change?")).to_have_count(0)


def test_assign_and_filter_d11(waiting: Callable[..., Veracity], serve: Serve, open_page: OpenPage) -> None:
    engine = waiting(QUESTION, OTHERS[0])
    served = serve(engine)
    served.token("asker", "cy")
    page, other = (open_page(served, "#/inbox", token=served.token("approver", name)) for name in ("ana", "bo"))
    open_draft(page, QUESTION)
    chooser = page.get_by_label("For:")
    expect(chooser.locator("option")).to_have_text(["anybody", "ana (you)", "bo"])
    chooser.select_option("bo")
    expect(row(page, QUESTION)).to_contain_text("for bo")
    expect(page.locator(".shell-count").first).to_contain_text("2 waiting")
    expect(row(other, QUESTION)).to_contain_text("for you")
    page.goto(f"{served.url}/#/runs/{engine.approvals()[0].run_id}")
    expect(page.locator(".ask-waiting")).to_contain_text("bo was asked to decide")
    other.get_by_label("For whom").select_option("bo")
    expect(other.locator(".inbox-row")).to_have_count(1)
    assert {approval.question: approval.assignee for approval in engine.approvals()} == {QUESTION: "bo", OTHERS[0]: ""}


def test_decide_several_after_a_confirmation(
    waiting: Callable[..., Veracity], serve: Serve, open_page: OpenPage
) -> None:
    engine = waiting(QUESTION, *OTHERS, undo_seconds=60)
    page = open_page(serve(engine), "#/inbox")
    for question in (QUESTION, OTHERS[0]):
        page.get_by_role("checkbox", name=f"Select “{question}”").check()
    page.get_by_role("group", name="Selected answers").get_by_role("button", name="Approve…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Approve 2 answers?")
    assert set(states(engine).values()) == {"pending"}
    dialog.get_by_role("button", name="Approve them").click()
    expect(page.locator(".inbox-row")).to_have_count(1)
    assert states(engine) == {QUESTION: "approved", OTHERS[0]: "approved", OTHERS[1]: "pending"}
    page.locator(".inbox-undo").get_by_role("button", name="Undo").click()
    expect(page.locator(".inbox-row")).to_have_count(3)
    assert set(states(engine).values()) == {"pending"}


def test_select_all_selects_what_the_list_shows(
    waiting: Callable[..., Veracity], serve: Serve, open_page: OpenPage
) -> None:
    engine = waiting(QUESTION, *OTHERS)
    engine.inbox.assign(engine.approvals()[0].approval_id, "local")
    page = open_page(serve(engine), "#/inbox")
    everything = page.get_by_role("checkbox", name="Select all 3")
    page.get_by_role("checkbox", name=f"Select “{QUESTION}”").check()
    assert everything.evaluate("(box) => box.indeterminate") and not everything.is_checked()
    everything.check()
    expect(page.get_by_role("group", name="Selected answers")).to_contain_text("3 selected")
    page.get_by_label("For whom").select_option("local")
    expect(page.locator(".inbox-row")).to_have_count(1)
    expect(page.get_by_role("group", name="Selected answers")).to_contain_text("1 selected")  # not what is hidden
    page.get_by_label("For whom").select_option("")
    expect(everything).to_be_checked()
    everything.uncheck()
    expect(page.get_by_role("group", name="Selected answers")).to_have_count(0)


def test_an_expired_draft_was_not_sent_d11(waiting: Callable[..., Veracity], serve: Serve, open_page: OpenPage) -> None:
    engine = waiting(QUESTION, expires=3)
    page = open_page(serve(engine), "#/inbox")
    open_draft(page, QUESTION)
    expect(page.locator(".inbox-head")).to_contain_text("expires in 3 hours")
    soon = waiting(OTHERS[0], expires=1e-6)
    until(lambda: soon.approval("last").question == QUESTION)
    page.get_by_role("button", name="Decided").click()
    row(page, OTHERS[0]).click()
    expect(page.locator(".inbox-decided")).to_contain_text("nobody decided in time, so it was not sent")
    until(lambda: engine.runs()[0].status == "rejected")
    page.goto(f"{page.url.split('#')[0]}#/runs/{engine.runs()[0].run_id}")
    expect(page.locator(".verdict").first).to_contain_text("nobody decided in time")


@pytest.mark.parametrize(("locale", "label"), [("zh-CN", "退回…"), ("ja-JP", "差し戻す…")])
def test_the_decisions_fit_a_phone_in_every_language(
    waiting: Callable[..., Veracity], serve: Serve, open_page: OpenPage, locale: str, label: str
) -> None:
    page = open_page(serve(waiting(QUESTION)), "#/inbox", locale=locale, width=360)
    open_draft(page, QUESTION)
    expect(page.get_by_role("button", name=label)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
