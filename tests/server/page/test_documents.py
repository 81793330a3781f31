"""The documents view in a real browser: uploading, reading, searching, removing and reindexing."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.runs.conftest import MakeEngine
from tests.server.conftest import OpenPage, Serve, Served, Watched
from veracity.engine import Veracity
from veracity.models import Document, Role
from veracity.settings import Settings

expect.set_options(timeout=90_000)  # the machine may be busy

ENGLISH = "# Parking\n\nParking is free on Sundays. Bring the blue card.\n"
CHINESE = "停车场周日免费。请带上蓝色卡片。\n"
JAPANESE = "日曜日の駐車は無料です。青いカードをお持ちください。\n"
SENT = "**/api/documents?upload=*"  # a batch of files
HOSTILE = "<img src=x onerror=alert(1)>\u202egnp.exe"

# Drops a file that exists only in memory.
DROP = """([name, text]) => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([text], name));
  for (const type of ["dragover", "drop"]) {
    document.body.dispatchEvent(new DragEvent(type, { dataTransfer: transfer, bubbles: true, cancelable: true }));
  }
}"""
# Counts file choosers instead of opening them.
COUNT_CHOOSERS = """() => document.querySelector("input[type=file]").addEventListener("click", (event) => {
  event.preventDefault();
  window.choosers = (window.choosers ?? 0) + 1;
})"""
# Records every status of a file, and the numbers of the block: its heading, its bar, and the rows that are over.
RECORD = """() => {
  window.seen = { statuses: new Set(), shares: [], numbers: [] };
  new MutationObserver(() => {
    const rows = [...document.querySelectorAll(".documents-file")];
    rows.forEach((row) => seen.statuses.add(row.dataset.status));
    const share = /sending (\\d+)%/.exec(rows[0]?.textContent);
    if (share && Number(share[1]) !== seen.shares.at(-1)) seen.shares.push(Number(share[1]));
    const bar = document.querySelector(".documents-uploading progress");
    const over = rows.filter((row) => !["waiting", "sending", "received"].includes(row.dataset.status)).length;
    const heading = document.querySelector(".documents-uploading h2");
    if (bar) seen.numbers.push([parseInt(heading.textContent), bar.value, over]);
  }).observe(document.body, { childList: true, subtree: true, attributes: true, characterData: true });
}"""


@pytest.fixture
def served(serve: Serve, engine_with: MakeEngine) -> Served:
    return serve(engine_with(reading={"workers": 1}, server={"upload_megabytes": 2}))


def _documents(page: Page) -> Page:
    expect(page.get_by_role("table")).to_be_visible()
    return page


def _choose(page: Page, files: list[Path]) -> None:
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Add files").click()
    chooser.value.set_files(files)


def _written(folder: Path, texts: dict[str, str | bytes]) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return [folder / name for name in texts]


def _row(page: Page, name: str) -> Any:
    return page.locator(".documents-file", has_text=name)


def _fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def test_chosen_files_are_added_and_each_shows_its_outcome(served: Served, open_page: OpenPage, tmp_path: Path) -> None:
    page = _documents(open_page(served, "#/documents"))
    texts: dict[str, str | bytes] = {"parking.md": ENGLISH, "停车.txt": CHINESE, "駐車.txt": JAPANESE}
    texts |= {"broken.pdf": b"%PDF-1.4 broken", "empty.txt": "", "large.txt": "a" * 2_200_000}
    _choose(page, _written(tmp_path / "files", texts))

    expect(page.get_by_text("Done: 3 added, 1 skipped, 2 failed")).to_be_visible()
    expect(_row(page, "large.txt")).to_contain_text("It is larger than 2 MB")  # checked before it is sent
    expect(_row(page, "broken.pdf")).to_contain_text("It is damaged: it is cut off or not a valid PDF.")
    expect(_row(page, "empty.txt")).to_contain_text("It is empty.")
    for title in ("Parking", "停车", "駐車"):  # the list updates
        expect(page.get_by_role("table").get_by_role("button", name=title, exact=True)).to_be_visible()
    assert {"Parking", "停车", "駐車"} <= {one.title for one in served.engine.documents()}


def test_dropped_files_and_folders_are_added(served: Served, open_page: OpenPage, tmp_path: Path) -> None:
    [loose] = _written(tmp_path, {"loose.txt": CHINESE})
    _written(tmp_path / "office" / "dublin", {"rules.md": ENGLISH, ".hidden.md": ENGLISH})
    _written(tmp_path / "office" / "osaka", {"rules.md": JAPANESE})
    page = _documents(open_page(served, "#/documents"))
    mouse = page.context.new_cdp_session(page)
    dragged = {"items": [], "files": [str(loose), str(tmp_path / "office")], "dragOperationsMask": 1}
    for kind in ("dragEnter", "dragOver"):
        mouse.send("Input.dispatchDragEvent", {"type": kind, "x": 500, "y": 400, "data": dragged})
    expect(page.get_by_text("Drop to add them")).to_be_visible()
    mouse.send("Input.dispatchDragEvent", {"type": "drop", "x": 500, "y": 400, "data": dragged})

    expect(page.get_by_text("Done: 3 added")).to_be_visible()
    expect(page.get_by_text("Drop to add them")).to_have_count(0)
    names = {Path(one.location).name for one in served.engine.documents() if one.location}
    assert names == {"loose.txt", "office - dublin - rules.md", "office - osaka - rules.md"}


def test_a_file_of_the_same_name_replaces_the_first(served: Served, open_page: OpenPage) -> None:
    page = _documents(open_page(served, "#/documents"))
    page.evaluate(DROP, ["notes.txt", "The gate opens at seven."])
    expect(page.get_by_text("Done: 1 added")).to_be_visible()
    page.evaluate(DROP, ["notes.txt", "The gate opens at eight."])
    expect(page.get_by_text("Done: 1 updated")).to_be_visible()
    page.evaluate(DROP, ["notes.txt", "The gate opens at eight."])
    expect(page.get_by_text("Done: 1 unchanged")).to_be_visible()


def test_the_bar_the_heading_and_the_rows_agree(served: Served, open_page: OpenPage, tmp_path: Path) -> None:
    page = _documents(open_page(served, "#/documents"))
    slow = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 400_000}
    page.context.new_cdp_session(page).send("Network.emulateNetworkConditions", slow)
    page.evaluate(RECORD)
    long = "\n\n".join(f"The locker {number} is in corridor {number % 7}." for number in range(12_000))
    _choose(page, _written(tmp_path / "files", {"lockers.txt": long, "parking.md": ENGLISH}))

    expect(page.get_by_text("Done: 2 added")).to_be_visible(timeout=30_000)
    seen = page.evaluate("({ ...seen, statuses: [...seen.statuses] })")
    assert {"sending", "received", "added"} <= set(seen["statuses"])
    assert len(seen["shares"]) > 1 and seen["shares"] == sorted(seen["shares"])  # while it was being sent
    assert seen["numbers"] and all(heading == bar == over for heading, bar, over in seen["numbers"])


def test_a_failed_upload_can_be_retried(served: Served, open_page: OpenPage, watched: Watched, tmp_path: Path) -> None:
    watched.allowed += ["503", "429"]
    page = _documents(open_page(served, "#/documents"))
    refusal = json.dumps({"error": {"kind": "Stopping", "message": "The server is stopping."}})
    page.route(SENT, lambda route: _refused(route, refusal))
    _choose(page, _written(tmp_path / "files", {"parking.md": ENGLISH}))
    expect(_row(page, "parking.md")).to_contain_text("The server is stopping.")

    page.unroute(SENT)
    page.route(SENT, lambda route: _refused(route, "", 200), times=1)
    page.get_by_role("button", name="Try again").click()
    expect(_row(page, "parking.md")).to_contain_text("The server did not report the outcome.")

    page.route(SENT, lambda route: _refused(route, refusal, 429, later=1), times=1)
    page.get_by_role("button", name="Try again").click()  # the page waits and retries
    expect(page.get_by_text("Done: 1 added")).to_be_visible()


def _refused(route: Route, body: str, status: int = 503, later: int = 0) -> None:
    if route.request.method == "POST":
        headers = {"Retry-After": str(later)} if later else {}
        route.fulfill(status=status, body=body, headers={"Content-Type": "application/json", **headers})
    else:
        route.continue_()


def test_stopped_files_are_not_sent_with_later_ones(served: Served, open_page: OpenPage, tmp_path: Path) -> None:
    page = _documents(open_page(served, "#/documents"))
    held: list[Route] = []
    page.route(SENT, lambda route: held.append(route) if not held else route.continue_())
    with page.expect_request(SENT):
        _choose(page, _written(tmp_path, dict.fromkeys(("one.bin", "two.bin"), b"\0" * 700_000)))  # two requests
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Done: 2 cancelled")).to_be_visible()
    page.evaluate(DROP, ["notes.txt", "The gate opens at seven."])
    expect(page.get_by_text("Done: 1 added")).to_be_visible()
    expect(_row(page, "two.bin")).to_have_count(0)
    assert [document.title for document in served.engine.documents() if "uploads/" in document.location] == ["notes"]


def test_removing_explains_itself_and_asks_first(served: Served, open_page: OpenPage) -> None:
    served.engine.add([Document(id="old", title="Old rules", text="Smoking is allowed on the roof.")])
    page = _documents(open_page(served, "#/documents"))
    remove_button = page.get_by_role("button", name="Remove Old rules")
    remove_button.click()
    question = page.get_by_role("dialog")
    expect(question).to_contain_text("receipts")
    page.keyboard.press("Escape")
    expect(question).to_have_count(0)
    expect(remove_button).to_be_focused()
    assert any(one.id == "old" for one in served.engine.documents())

    remove_button.click()
    question.get_by_role("button", name="Remove").click()
    expect(page.get_by_text("“Old rules” was removed.")).to_be_visible()
    expect(remove_button).to_have_count(0)
    expect(page.get_by_role("heading", name="Documents", exact=True)).to_be_focused()
    assert not any(one.id == "old" for one in served.engine.documents())


@contextmanager
def _held_at(served: Served, name: str) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Reading a file of this name sets the first event and waits for the second."""
    begun, go_on, whole = threading.Event(), threading.Event(), served.engine.upload

    def waits(given: str, source: Any) -> Any:
        if given == name:
            begun.set()
            go_on.wait(60)
        return whole(given, source)

    served.engine.upload = waits  # type: ignore[assignment,method-assign]
    try:
        yield begun, go_on
    finally:
        go_on.set()
        served.engine.upload = whole  # type: ignore[method-assign]


@contextmanager
def _upload_under_way(served: Served, name: str) -> Iterator[threading.Event]:
    """Another client's upload, which ends when the event is set."""
    client = served.client()
    thread = threading.Thread(target=lambda: client.post("/api/documents", files={"files": (name, CHINESE.encode())}))
    with _held_at(served, name) as (begun, go_on):
        thread.start()
        assert begun.wait(20)
        yield go_on
    thread.join(30)


UNDER_WAY: list[tuple[str, Role, str]] = [
    ("en-GB", "asker", "local is adding files"),
    ("zh-CN", "admin", "local 正在添加文件"),
    ("ja-JP", "approver", "local さんがファイルを追加しています"),
]


def test_every_tab_shows_the_current_change(served: Served, open_page: OpenPage) -> None:
    tabs = [
        (_documents(open_page(served, "#/documents", token=served.token(role), locale=locale)), told)
        for locale, role, told in UNDER_WAY
    ]
    with _upload_under_way(served, "年假.txt"):
        for page, told in tabs:
            expect(page.get_by_text(told)).to_be_visible()
        for page, _ in tabs:
            page.reload(wait_until="commit")
        for page, told in tabs:
            expect(page.get_by_text(told)).to_be_visible()
    for page, told in tabs:
        expect(page.get_by_text(told)).to_have_count(0)


def test_a_waiting_upload_shows_what_it_waits_for(served: Served, open_page: OpenPage) -> None:
    page = _documents(open_page(served, "#/documents"))
    with _upload_under_way(served, "年假.txt") as go_on:
        page.evaluate(DROP, ["notes.txt", "The gate opens at seven."])
        expect(_row(page, "notes.txt")).to_contain_text("waiting for another change")
        expect(page.get_by_text("Files are being added")).to_be_visible()
        go_on.set()
        expect(page.get_by_text("Done: 1 added")).to_be_visible()


def test_a_stopped_upload_can_be_retried(served: Served, open_page: OpenPage, tmp_path: Path) -> None:
    page = _documents(open_page(served, "#/documents"))
    stop = page.get_by_role("button", name=re.compile("Stop|Cancel"))
    with _held_at(served, "年假.txt") as (_, go_on):
        _choose(page, _written(tmp_path / "files", {"年假.txt": CHINESE, "parking.md": ENGLISH}))
        expect(_row(page, "年假.txt")).to_contain_text("being read")
        expect(_row(page, "parking.md")).to_contain_text("waiting")
        expect(page.locator(".documents-under-way")).to_have_count(0)  # nothing says it twice
        stop.click()  # there is one
        expect(page.get_by_text("Stopping after this file")).to_be_visible()
        go_on.set()
        expect(page.get_by_text("Done: 1 added, 1 cancelled")).to_be_visible()
    expect(_row(page, "parking.md")).to_have_attribute("data-status", "cancelled")
    expect(page.get_by_text("You cancelled")).to_have_count(0)
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("Done: 2 added")).to_be_visible()


def test_the_outcome_of_an_upload_is_kept_until_it_is_dismissed(
    served: Served, open_page: OpenPage, tmp_path: Path
) -> None:
    page = _documents(open_page(served, "#/documents"))
    texts: dict[str, str | bytes] = {"parking.md": ENGLISH, "empty.txt": "", "one.bin": b"\0" * 700_000}
    with _held_at(served, "empty.txt") as (_, go_on):
        _choose(page, _written(tmp_path, {**texts, "two.bin": b"\0" * 700_000, "three.md": CHINESE}))  # two requests
        expect(_row(page, "empty.txt")).to_contain_text("being read")
        page.reload(wait_until="commit")
        expect(page.get_by_text("1 of 5 files done")).to_be_visible()  # the server is reading still
        expect(_row(page, "empty.txt")).to_contain_text("being read")
        expect(_row(page, "one.bin")).to_contain_text("waiting")
        expect(_row(page, "three.md")).to_contain_text("not sent")
        expect(page.locator(".documents-under-way")).to_have_count(0)
        go_on.set()
    told = "Done: 1 added, 2 skipped, 2 not sent"
    expect(page.get_by_text(told)).to_be_visible()
    expect(_row(page, "empty.txt")).to_contain_text("It is empty.")
    expect(page.get_by_text("add them again")).to_be_visible()
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)  # the page no longer has the files

    other = _documents(open_page(served, "#/documents", locale="ja-JP"))  # another browser of the same person
    expect(other.get_by_text("完了：追加済み 1 件、対象外 2 件、未送信 2 件")).to_be_visible()
    stranger = _documents(open_page(served, "#/documents", token=served.token("admin")))
    expect(stranger.locator(".documents-uploading")).to_have_count(0)
    page.get_by_role("button", name="Dismiss").click()
    expect(page.locator(".documents-uploading")).to_have_count(0)
    for tab in (page, other):
        with tab.expect_response("**/api/documents/upload"):
            tab.reload()
        _documents(tab)
        expect(tab.locator(".documents-uploading")).to_have_count(0)


def test_an_upload_of_another_tab_can_be_stopped(served: Served, open_page: OpenPage, tmp_path: Path) -> None:
    sender, other = (_documents(open_page(served, "#/documents")) for _ in range(2))
    with _held_at(served, "年假.txt") as (begun, go_on):
        _choose(sender, _written(tmp_path / "files", {"年假.txt": CHINESE, "parking.md": ENGLISH}))
        assert begun.wait(20)
        expect(other.get_by_text("0 of 2 files done")).to_be_visible()
        other.get_by_role("button", name="Stop").click()
        expect(other.get_by_text("Stopping after this file")).to_be_visible()
        go_on.set()
        for page in (sender, other):
            expect(page.get_by_text("Done: 1 added, 1 cancelled")).to_be_visible()


@pytest.fixture
def empty(serve: Serve, workspace: Path) -> Iterator[Served]:
    with Veracity(workspace, settings=Settings.model_validate({"models": {"embedder": "none"}})) as engine:
        yield serve(engine)


def test_a_click_in_the_dashed_area_and_its_button_choose_files(
    empty: Served, open_page: OpenPage, tmp_path: Path
) -> None:
    page, phone = open_page(empty, "#/documents"), open_page(empty, "#/documents", width=390)
    area = page.locator(".documents-target")
    expect(area).to_contain_text("Drop files or folders")
    area.get_by_role("button", name="Choose files").focus()
    page.evaluate(COUNT_CHOOSERS)  # Chromium may drop the second of two choosers
    page.keyboard.press("Enter")
    page.wait_for_function("window.choosers === 1")
    area = phone.locator(".documents-target")
    expect(area.get_by_text("Up to 100 MB each", exact=True)).to_be_visible()
    expect(area.get_by_text("Drop files")).to_be_hidden()
    with phone.expect_file_chooser() as chooser:
        area.click(position={"x": 20, "y": 20})
    chooser.value.set_files(_written(tmp_path, {"parking.md": ENGLISH}))
    expect(phone.get_by_text("Done: 1 added")).to_be_visible()


def test_a_waiting_removal_explains_itself_and_can_be_cancelled(
    served: Served, open_page: OpenPage, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("veracity.server.routes.documents.MAX_WAIT_SECONDS", 60.0)
    watched.allowed.append("409")
    served.engine.add([Document(id="old", title="Old rules", text="Smoking is allowed on the roof.")])
    page = _documents(open_page(served, "#/documents"))
    question = page.get_by_role("dialog")
    with _upload_under_way(served, "年假.txt"):
        page.get_by_role("button", name="Remove Old rules").click()
        question.get_by_role("button", name="Remove").click()
        expect(question).to_contain_text("Files are being added. The document will be removed after that.")
        question.get_by_role("button", name="Cancel").click()
        expect(question).to_have_count(0)

        monkeypatch.setattr("veracity.server.routes.documents.MAX_WAIT_SECONDS", 1.5)  # seconds
        page.get_by_role("button", name="Remove Old rules").click()
        question.get_by_role("button", name="Remove").click()
        expect(question).to_contain_text("The document was not removed")
        page.keyboard.press("Escape")
    expect(page.get_by_text("Files are being added")).to_have_count(0)
    assert any(one.id == "old" for one in served.engine.documents())


def test_all_documents_are_reindexed(served: Served, open_page: OpenPage) -> None:
    page = _documents(open_page(served, "#/documents"))
    page.get_by_role("button", name="Reindex").click()
    page.get_by_role("dialog").get_by_role("button", name="Reindex").click()
    count = len(served.engine.documents())
    expect(page.get_by_text(f"All {count} documents were reindexed")).to_be_visible()


def test_a_long_text_is_loaded_in_pieces(served: Served, open_page: OpenPage, tmp_path: Path) -> None:
    text = "".join(f"{number} 😀 楽しい。" for number in range(3_500))
    served.engine.ingest(_written(tmp_path / "shelf", {"Long.txt": text}))
    page = _documents(open_page(served, "#/documents"))
    page.get_by_role("table").get_by_role("button", name="Long", exact=True).click()
    reader = page.get_by_role("dialog", name="Long")
    expect(reader.locator("header")).to_contain_text("…/shelf/Long.txt")  # the path is shortened
    expect(reader).to_contain_text("20,000 of")
    while reader.get_by_role("button", name="Show more of the text").count():
        reader.get_by_role("button", name="Show more of the text").click()
        expect(reader.get_by_text("Loading the text")).to_have_count(0)
    shown = reader.locator(".documents-text").all_text_contents()
    expect(reader.locator(".documents-text").first).to_have_attribute("lang", "ja")
    assert "".join(shown).strip() == text.strip()
    page.keyboard.press("Escape")
    expect(reader).to_have_count(0)


def test_a_search_shows_passages_and_opens_their_document(served: Served, open_page: OpenPage) -> None:
    served.engine.add([Document(id="yard", title="駐車場", text=f"# 案内\n\n😀 {JAPANESE}\n\n## 他\n\n以上です。")])
    page = _documents(open_page(served, "#/documents"))
    page.get_by_role("tab", name="Try a search").click()
    query = page.get_by_label("Question to search for")
    query.fill("日曜日の駐車は無料ですか")
    query.press("Enter")
    found = page.locator(".documents-passage").first
    expect(found).to_contain_text("青いカード")
    expect(found.locator(".documents-passage-text")).to_have_attribute("lang", "ja")
    expect(found).to_contain_text("Relevance")
    expect(found).to_contain_text("shared names")

    found.get_by_role("button", name="駐車場").click()
    expect(page.locator(".source mark")).to_contain_text("青いカード")
    page.keyboard.press("Escape")
    expect(page.locator(".source")).to_have_count(0)


def test_only_admins_change_documents(served: Served, open_page: OpenPage) -> None:
    for role in ("asker", "approver"):
        page = _documents(open_page(served, "#/documents", token=served.token(role)))
        expect(page.get_by_role("tab", name="Try a search")).to_be_visible()
        for name in ("Add files", "Reindex", "Remove"):
            expect(page.get_by_role("button", name=name)).to_have_count(0)
        page.evaluate(DROP, ["notes.txt", "The gate opens at seven."])
        expect(page.locator(".documents-uploading")).to_have_count(0)
        expect(page.get_by_text("Drop to add them")).to_have_count(0)


def test_documents_added_by_others_appear(served: Served, open_page: OpenPage) -> None:
    page = _documents(open_page(served, "#/documents", token=served.token("asker")))
    served.client().post("/api/documents", files=[("files", ("parking.md", ENGLISH.encode()))]).raise_for_status()
    expect(page.get_by_role("table").get_by_role("button", name="Parking", exact=True)).to_be_visible()


def test_ten_thousand_documents_are_paged_filtered_and_sorted(served: Served, open_page: OpenPage) -> None:
    listed = [_made_up(number) for number in range(10_000)]
    page = open_page(served)
    page.route("**/api/documents", lambda route: route.fulfill(json=listed))
    page.goto(f"{served.url}/#/documents")
    rows = _documents(page).locator("tbody tr")
    expect(rows).to_have_count(50)
    expect(page.get_by_text("1–50 of 10,000")).to_be_visible()
    page.get_by_role("button", name="Next page").click()
    expect(page.get_by_text("51–100 of 10,000")).to_be_visible()

    page.get_by_role("button", name="Passages").click()
    expect(rows.first).to_contain_text("Report 9999")
    expect(page.get_by_role("columnheader", name="Passages")).to_have_attribute("aria-sort", "descending")
    page.get_by_label("Filter by title or path").fill("ＲＥＰＯＲＴ 777")  # full-width letters
    expect(page.get_by_role("navigation", name="Pages of the list")).to_have_count(0)
    expect(rows).to_have_count(19)  # 777, 7770–7779, and 1777, 2777, …
    page.locator(".documents-filters").get_by_label("Language").select_option("ja")
    expect(page.get_by_text("No document matches.")).to_be_visible()
    page.get_by_role("button", name="Clear the filters").click()
    expect(rows).to_have_count(50)


def _made_up(number: int) -> dict[str, Any]:
    return {
        "id": f"d{number}",
        "title": f"Report {number}",
        "location": f"/shelf/{number % 100}.pdf",
        "format": "pdf" if number % 2 else "markdown",
        "language": "ja" if number < 100 else "en",
        "passages": number,
        "characters": number * 900,
        "added": "2026-01-02T03:04:05Z",
        "metadata": {},
    }


def test_hostile_titles_are_shown_as_text(served: Served, open_page: OpenPage) -> None:
    served.engine.add([Document(id="bad", title=HOSTILE, text="<script>alert(1)</script> The text of it.")])
    page = _documents(open_page(served, "#/documents"))
    shown = page.get_by_role("table").get_by_role("button", name="<img src=x onerror=alert(1)>").first
    assert "\u202e" not in shown.inner_text()  # replaced: it would reverse the text
    shown.click()
    expect(page.get_by_role("dialog")).to_contain_text("<script>alert(1)</script>")
    assert page.locator("main img").count() == 0


@pytest.mark.parametrize(
    ("locale", "title", "add", "empty", "done"),
    [
        ("zh-CN", "文档", "添加文件", "文件为空。", "已添加 1 个，已跳过 1 个，失败 1 个"),
        ("ja-JP", "文書", "ファイルを追加", "ファイルが空です。", "追加済み 1 件、対象外 1 件、失敗 1 件"),
    ],
)
def test_the_view_is_translated_and_fits_a_phone(
    served: Served, open_page: OpenPage, tmp_path: Path, locale: str, title: str, add: str, empty: str, done: str
) -> None:
    page = open_page(served, "#/documents", locale=locale, width=320, height=640, theme="dark")
    expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()
    expect(page.get_by_role("button", name=add)).to_be_visible()
    expect(_documents(page).locator("tbody tr").first).to_be_visible()
    assert _fits(page)
    page.get_by_role("tab").nth(1).click()
    page.locator("#documents-query").fill("leave")
    page.keyboard.press("Enter")
    expect(page.locator(".documents-search-count")).not_to_be_empty()
    assert _fits(page)
    page.get_by_role("tab").first.click()
    texts: dict[str, str | bytes] = {"停车.txt": CHINESE, "empty.txt": "", "broken.pdf": b"%PDF-1.4 broken"}
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=add).click()
    chooser.value.set_files(_written(tmp_path / "files", texts))
    expect(page.get_by_text(done)).to_be_visible()
    expect(_row(page, "empty.txt")).to_contain_text(empty)
    expect(_row(page, "broken.pdf")).to_contain_text("（it is cut off or not a valid PDF）")
