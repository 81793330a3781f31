"""What the documents show is run: examples, output, settings and links."""

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.commands import Run
from tests.evaluator.requests import request
from veracity import Evaluator, errors
from veracity.evaluator.config import load_configuration
from veracity.models import MetricConfig
from veracity.settings import SECTIONS, Settings, load_settings, variable
from veracity.testing import ScriptedLLM

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"(?:<!-- (?P<note>[^>]*) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)```", re.DOTALL)


class Block(NamedTuple):
    note: str
    language: str
    text: str


def blocks(path: Path) -> list[Block]:
    return [Block(found["note"] or "", found["language"], found["text"]) for found in BLOCK.finditer(path.read_text())]


def examples() -> Iterator[tuple[str, str | None]]:
    """Each Python example, with the output that is said to follow."""
    for path in DOCUMENTS:
        found = blocks(path)
        for number, block in enumerate(found):
            if block.language == "python" and not block.note.startswith("file:"):
                after = found[number + 1] if number + 1 < len(found) else Block("", "", "")
                expected = after.text if after.note == "output" else None
                yield block.text, expected


@pytest.mark.parametrize(("source", "expected"), list(examples()))
def test_examples_run_and_print_what_is_shown(source: str, expected: str | None) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, "example", "exec"), {"__name__": "example"})
    if expected is not None:
        assert printed.getvalue() == expected


def test_the_custom_metrics_of_the_guide_work_in_ten_lines(workspace: Path) -> None:
    """SPEC B17."""
    files = {
        block.note.removeprefix("file: "): block.text
        for block in blocks(ROOT / "docs/custom-metrics.md")
        if block.note.startswith("file: ")
    }
    for name, text in files.items():
        (workspace / name).write_text(text)
    evaluator = Evaluator(workspace, llm=ScriptedLLM({"reason": "warm", "score": 80}))
    assert evaluator.evaluate(request(submission="Thank you: the warranty.")).metrics[0].score == 100
    assert evaluator.evaluate(request(submission="The warranty.")).metrics[0].score == 0
    assert {"Politeness", "Tone"} <= {entry.name for entry in evaluator.metrics}
    assert all(len(text.strip().splitlines()) <= 10 for name, text in files.items() if name.endswith(".py"))


def test_the_readme_shows_what_the_demo_prints(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = next(block.text for block in blocks(ROOT / "README.md") if block.note == "output of: veracity demo")
    printed = [line.rstrip() for line in run("demo").out.splitlines()]
    assert shown.strip()
    assert "\n".join(printed).startswith(shown.rstrip())


def test_the_errors_page_shows_the_tree() -> None:
    shown = next(block.text for block in blocks(ROOT / "docs/errors.md") if block.note.startswith("the tree"))
    assert errors.__doc__ is not None
    tree = [line[4:] for line in errors.__doc__.splitlines() if line.startswith("    ")]
    assert shown.splitlines() == tree


def test_the_configuration_page_names_every_setting_and_key() -> None:
    page = (ROOT / "docs/configure.md").read_text()
    for name, section in SECTIONS.items():
        for key in section.model_fields:
            assert f"| `{name}.{key}` | `{variable(name, key)}` |" in page
    for key in MetricConfig.model_fields:
        assert f"| `{key}` |" in page


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_configurations_shown_are_valid(path: Path) -> None:
    for block in blocks(path):
        if block.language != "toml":
            continue
        if block.text.startswith("# veracity.toml"):
            assert load_settings(block.text.encode(), path) != Settings()
        else:
            assert load_configuration(block.text.encode(), path).metrics


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text())
    assert [target for target in targets if not (path.parent / target).exists()] == []
    assert len(path.read_text()) > 200
