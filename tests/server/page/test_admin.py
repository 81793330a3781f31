"""The admin view in a real browser: people and their tokens, and the settings in force."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.server.conftest import MakeEngine, OpenPage, Serve, Served, Watched

SIGNED_OUT = "status of 401"
REFUSED = "status of 400"


@pytest.fixture
def served(engine_with: MakeEngine, serve: Serve) -> Served:
    return serve(engine_with(approval={"policy": "ask", "threshold": 0.7}))


def issued_token(page: Page) -> str:
    """Reads the token of the dialog, and closes it."""
    dialog = page.get_by_role("dialog", name="Token of")
    expect(dialog).to_contain_text("shown only now")
    dialog.get_by_role("button", name="Copy: Access token").click()
    token = dialog.get_by_label("Access token", exact=True).input_value()
    assert dialog.get_by_label("Sign-in address").input_value().endswith(f"/#token={token}")
    dialog.get_by_role("button", name="Done").click()
    expect(dialog).to_have_count(0)
    assert token not in page.content()
    return token


def test_a_person_is_added_changed_renewed_and_removed(served: Served, open_page: OpenPage, watched: Watched) -> None:
    watched.allowed += [SIGNED_OUT, REFUSED]
    page = open_page(served, "#/admin")
    page.get_by_label("Name", exact=True).fill("ann")
    page.get_by_label("Role", exact=True).select_option("approver")
    expect(page.get_by_text("Also sees all questions and decides on drafts.")).to_be_visible()
    page.get_by_role("button", name="Add").click()
    token = issued_token(page)
    row = page.get_by_role("listitem").filter(has_text="ann").filter(has_text="never signed in")
    expect(row.get_by_label("Role of ann")).to_have_value("approver")
    hers = open_page(served, "#/inbox", token=token)
    expect(hers.get_by_role("link", name="Admin")).to_have_count(0)

    page.get_by_label("Name", exact=True).fill("Ann")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("alert")).to_contain_text('looks like the user "ann"')
    page.get_by_label("Role of ann").select_option("admin")
    expect(page.get_by_role("status")).to_contain_text(["ann now has the role admin."])
    expect(hers.get_by_role("link", name="Admin")).to_be_visible()  # without a reload

    page.get_by_role("button", name="Renew the token of ann").click()
    page.get_by_role("dialog").get_by_role("button", name="Renew token").click()
    renewed = issued_token(page)
    assert renewed != token
    expect(hers.get_by_role("dialog")).to_contain_text("Your session has ended.")
    hers.fill("#token", renewed)
    hers.keyboard.press("Enter")
    expect(hers.get_by_role("dialog")).to_have_count(0)

    page.get_by_role("button", name="Remove ann").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Questions, answers and decisions are kept")
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("button", name="Remove ann")).to_be_focused()
    page.keyboard.press("Enter")
    dialog.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("Nobody has been added yet.")).to_be_visible()
    expect(hers.get_by_role("dialog")).to_contain_text("Your session has ended.")
    assert served.engine.users.list() == []


def test_the_only_admin_stays_one_and_keeps_the_page_after_a_renewal(
    served: Served, open_page: OpenPage, watched: Watched
) -> None:
    watched.allowed.append(REFUSED)
    page = open_page(served, "#/admin", token=served.token("admin", "ada"), locale="ja-JP", width=390)
    role = page.get_by_label("ada の役割")
    role.select_option("asker")
    expect(page.get_by_role("status")).to_contain_text(["管理者はこの人だけです。"])
    expect(role).to_have_value("admin")
    page.get_by_role("button", name="ada のトークンを更新").click()
    page.get_by_role("dialog").get_by_role("button", name="トークンを更新").click()
    page.get_by_role("dialog").get_by_role("button", name="完了").click()
    page.reload()
    expect(role).to_have_value("admin")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_settings_are_listed_with_their_source_and_searched(served: Served, open_page: OpenPage) -> None:
    page = open_page(served, "#/admin")
    page.get_by_role("link", name="Settings").click()
    rows = page.locator(".admin-settings li")
    expect(rows.filter(has_text="approval.threshold")).to_contain_text(re.compile("0.7.*file"))
    expect(rows.last).to_contain_text("default")
    expect(page.locator(".admin-models")).to_contain_text("Embedder")
    page.get_by_label("Search the settings").fill("PORT LISTEN")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("server.port")
    expect(page.get_by_text("Settings: 1, changed: 0")).to_be_visible()


def test_others_than_admins_see_nothing(served: Served, open_page: OpenPage) -> None:
    page = open_page(served, "#/admin", token=served.token("approver"))
    expect(page.get_by_text("Only admins manage people and see the settings.")).to_be_visible()
    expect(page.get_by_role("link", name="Admin")).to_have_count(0)
