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
    page.get_by_label("Name", exact=True).press_sequentially("a")
    expect(page.get_by_role("alert")).to_have_count(0)  # it is being corrected
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
    expect(rows.filter(has_text=re.compile(r"approval\.threshold(?!_)"))).to_contain_text(re.compile("0.7.*file"))
    expect(rows.last).to_contain_text("default")
    expect(rows.filter(has_text="models.writer")).to_contain_text("none: answers are quoted from the documents")
    expect(page.locator(".admin-models")).to_contain_text("none: local checks")
    expect(rows.filter(has_text="budget.tokens")).to_contain_text("tokens one run or one evaluation may consume")
    for column in (".admin-value", ".badge"):
        edges = page.locator(f".admin-settings {column}").evaluate_all(
            "(all) => all.map((one) => one.getBoundingClientRect().left)"
        )
        assert len(edges) > 100 and max(edges) - min(edges) < 1, "the columns are aligned"
    expect(page.locator(".admin-section h3").first).to_have_text("Changed")
    expect(page.locator(".admin-section h3", has_text="Budget")).to_have_count(1)
    expect(page.locator(".admin-models")).to_contain_text("Embedder")
    page.get_by_label("Search the settings").fill("PORT LISTEN")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("server.port")
    expect(page.get_by_text("Settings: 1, changed: 0")).to_be_visible()


@pytest.mark.parametrize(
    "locale, section, text, unset",
    [
        ("ja-JP", "予算", "質問と回答を削除するまでの日数", "なし：削除しません"),
        ("zh-CN", "预算", "多少天后删除问题和回答", "无：永不删除"),
    ],
)
def test_settings_are_described_in_the_language_of_the_page(
    served: Served, open_page: OpenPage, locale: str, section: str, text: str, unset: str
) -> None:
    page = open_page(served, "#/admin/settings", locale=locale, width=390)
    expect(page.locator(".admin-section h3", has_text=section)).to_have_count(1)
    row = page.locator(".admin-settings li", has_text="retention.runs_days")
    expect(row).to_contain_text(text)
    expect(row).to_contain_text(unset)
    page.locator("input[type=search]").fill(text)
    expect(page.locator(".admin-settings li")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize(
    "locale, name, add, said",
    [
        ("ja-JP", "名前", "追加", "「Ann」は「ann」と見分けがつきません。別の名前を選んでください。"),
        ("zh-CN", "姓名", "添加", "“Ann”与“ann”看起来相同：请使用其他姓名。"),
    ],
)
def test_what_the_server_refuses_is_said_in_the_language_of_the_page(
    served: Served, open_page: OpenPage, watched: Watched, locale: str, name: str, add: str, said: str
) -> None:
    watched.allowed.append(REFUSED)
    served.token("asker", "ann")
    page = open_page(served, "#/admin", locale=locale)
    page.get_by_label(name, exact=True).fill("Ann")
    page.get_by_role("button", name=add).click()
    expect(page.get_by_role("alert")).to_have_text(said)


def test_the_result_of_a_change_leaves_with_the_next_input(
    served: Served, open_page: OpenPage, watched: Watched
) -> None:
    watched.allowed.append(REFUSED)
    page = open_page(served, "#/admin", token=served.token("admin", "ada"))
    page.get_by_label("Role of ada").select_option("asker")
    expect(page.locator(".notice.bad")).to_be_visible()
    page.get_by_label("Name", exact=True).fill("bo")
    expect(page.locator(".notice.bad")).to_have_count(0)


def test_others_than_admins_see_nothing(served: Served, open_page: OpenPage) -> None:
    page = open_page(served, "#/admin", token=served.token("approver"))
    expect(page.get_by_text("Only admins manage people and see the settings.")).to_be_visible()
    expect(page.get_by_role("link", name="Admin")).to_have_count(0)
