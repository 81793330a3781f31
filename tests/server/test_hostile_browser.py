"""Hostile text in a real browser, under the server's own policy: as a draft that grows by one character at a time, and
in every place of a finished answer and of its sources. No script runs, nothing is asked of another origin, and nothing
stands in the page that is not ours."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.server.browser_hostile import Stage, staged_in
from tests.server.browser_hostile_corpus import CORPUS

LARGE = 20_000
LONGEST = 4_000  # milliseconds; what is not linear takes four times that
REPEATED = (
    "[",
    "![",
    "[1]",
    "[1,",
    "](",
    "[a](b",
    "*",
    "**a ",
    "a** ",
    "_a_",
    "`a``b",
    "\\",
    "- a\n",
    "1\n",
    "|a|\n|-|\n",
)


@pytest.fixture(scope="module")
def stage(chromium: Browser) -> Iterator[Stage]:
    with staged_in(chromium) as ready:
        yield ready


def test_nothing_runs_loads_or_leads_away_at_any_cut_of_the_stream(stage: Stage) -> None:
    told = stage.show(CORPUS)
    assert told.pop("renders") > sum(map(len, CORPUS))
    assert told == {"problems": [], "ran": 0, "violations": [], "left": [], "troubles": []}


def test_the_stage_notices_what_it_looks_for(stage: Stage) -> None:
    with_it = """() => {
        const image = stage.root.appendChild(document.createElement("img"));
        image.src = "https://evil.example/pixel.png";
        image.setAttribute("href", "https://evil.example");
        image.style.position = "fixed";
        canary();
        return stage.foreign();
    }"""
    assert stage.page.evaluate(with_it) == ["<img>", "img[src]", "img[href]", 'style="position: fixed;"']
    stage.page.wait_for_function("stage.seen.violations.length >= 1")
    assert stage.happened()["ran"] == 1
    stage.page.reload()
    stage.page.wait_for_function("document.title === 'ready'")
    stage.troubles.clear()


@pytest.mark.parametrize(
    "text", ["<script>canary()</script>", "[click](javascript:canary%28%29)", "![x](https://evil.example/p)"]
)
def test_what_is_not_obeyed_is_still_there_to_read(stage: Stage, text: str) -> None:
    stage.page.evaluate("(text) => stage.draft(text)", text)
    said = stage.page.inner_text("#root .md")
    assert all(part in said for part in text.replace("!", "").replace("[", "").replace("](", " (").split())


def test_a_large_text_takes_no_longer_than_its_length(stage: Stage) -> None:
    times = stage.page.evaluate(
        "([parts, size]) => parts.map((part) => stage.timed(part.repeat(size / part.length)))", [REPEATED, LARGE]
    )
    assert {part: round(time) for part, time in zip(REPEATED, times, strict=True) if time > LONGEST} == {}
