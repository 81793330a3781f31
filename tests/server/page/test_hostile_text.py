"""Hostile text in a real browser, as a growing draft and in every place of an answer and its sources: no script runs,
no request leaves the origin, and no foreign element appears."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.server.page.hostile_texts import CORPUS
from tests.server.page.stage import Stage, staged_in

SIZE = 1_250
GROWTH = 16
MAX_RATIO = 100  # linear work takes about 16 times as long for 16 times the text, quadratic work 256 times
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


def test_nothing_runs_or_loads_at_any_cut_of_the_stream(stage: Stage) -> None:
    result = stage.show(CORPUS)
    assert result.pop("renders") > sum(map(len, CORPUS))
    assert result == {"problems": [], "ran": 0, "violations": [], "left": [], "troubles": []}


def test_the_stage_detects_what_it_looks_for(stage: Stage) -> None:
    tamper = """() => {
        const image = stage.root.appendChild(document.createElement("img"));
        image.src = "https://evil.example/pixel.png";
        image.setAttribute("href", "https://evil.example");
        image.style.position = "fixed";
        canary();
        return stage.foreign();
    }"""
    assert stage.page.evaluate(tamper) == ["<img>", "img[src]", "img[href]", 'style="position: fixed;"']
    stage.page.wait_for_function("stage.seen.violations.length >= 1")
    assert stage.happened()["ran"] == 1
    stage.page.reload()
    stage.page.wait_for_function("document.title === 'ready'")
    stage.troubles.clear()


@pytest.mark.parametrize(
    "text", ["<script>canary()</script>", "[click](javascript:canary%28%29)", "![x](https://evil.example/p)"]
)
def test_hostile_text_stays_readable(stage: Stage, text: str) -> None:
    stage.page.evaluate("(text) => stage.draft(text)", text)
    said = stage.page.inner_text("#root .md")
    assert all(part in said for part in text.replace("!", "").replace("[", "").replace("](", " (").split())


def test_rendering_time_is_linear(stage: Stage) -> None:
    compare = """([parts, size, growth]) => parts.map((part) => {
        const [small, large] = [size, size * growth].map((length) => part.repeat(length / part.length));
        stage.timed(small);
        const base = stage.timed(small);
        return Math.min(stage.timed(large), stage.timed(large)) / Math.max(base, 1);
    })"""
    ratios = stage.page.evaluate(compare, [REPEATED, SIZE, GROWTH])
    assert {part: round(ratio) for part, ratio in zip(REPEATED, ratios, strict=True) if ratio > MAX_RATIO} == {}
