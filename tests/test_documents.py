"""Documents are true: examples run, output is shown as printed, settings, links and file names exist."""

import contextlib
import io
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.commands import Run
from tests.evaluator.requests import request
from veracity import Evaluator, errors
from veracity.evaluator.config import load_configuration
from veracity.experiments.suite import SuiteSettings
from veracity.models import MetricConfig
from veracity.settings import SECTIONS, Settings, load_settings, variable
from veracity.testing import ScriptedLLM

ROOT = Path(__file__).parent.parent
TOP_DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
DOCUMENTS = [*TOP_DOCUMENTS, *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"(?:<!-- (?P<note>[^>]*) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)```", re.DOTALL)

FILE_NAME = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|js|j2|css|sh|sql|ts))`")
FILE_PLACES = (ROOT, ROOT / "src", ROOT / "src/veracity", ROOT / "docs", ROOT / "src/veracity/server/static")
FILE_TREES = ("src", "tests", "benchmarks", "scripts", "examples")
SOURCE_NAMES = ROOT / "docs/source-names.md"  # names files of other projects: see test_source_names.py
USER_FILES = {"metrics/politeness.py", "metrics/tone.py"}  # files that a reader creates


class Block(NamedTuple):
    note: str
    language: str
    text: str


def blocks(path: Path) -> list[Block]:
    return [Block(found["note"] or "", found["language"], found["text"]) for found in BLOCK.finditer(path.read_text())]


def examples() -> Iterator[tuple[str, str | None]]:
    """Each Python example with its documented output."""
    for path in DOCUMENTS:
        found = blocks(path)
        for number, block in enumerate(found):
            if block.language == "python" and not block.note.startswith("file:"):
                after = found[number + 1] if number + 1 < len(found) else Block("", "", "")
                expected = after.text if after.note == "output" else None
                yield block.text, expected


@pytest.mark.parametrize(("source", "expected"), list(examples()))
def test_examples_print_the_documented_output(source: str, expected: str | None) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, "example", "exec"), {"__name__": "example"})
    if expected is not None:
        assert printed.getvalue() == expected


def test_custom_metrics_of_the_guide_work_in_ten_lines(workspace: Path) -> None:
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


def test_the_demo_page_shows_the_output_of_the_demo(run: Run) -> None:
    page = blocks(ROOT / "docs/demo.md")
    questions, scores = (block.text.rstrip() for block in page if block.note == "output of: veracity demo")
    printed = "\n".join(line.rstrip() for line in run("demo").out.splitlines())
    assert questions
    assert printed.startswith(questions)
    assert scores
    assert scores in printed


def test_the_errors_page_shows_the_tree() -> None:
    shown = next(block.text for block in blocks(ROOT / "docs/errors.md") if block.note.startswith("the tree"))
    assert errors.__doc__ is not None
    tree = [line[4:] for line in errors.__doc__.splitlines() if line.startswith("    ")]
    assert shown.splitlines() == tree


def test_the_configuration_page_lists_every_setting_and_key() -> None:
    page = (ROOT / "docs/configure.md").read_text()
    for name, section in SECTIONS.items():
        for key in section.model_fields:
            assert f"| `{name}.{key}` | `{variable(name, key)}` |" in page
    for key in MetricConfig.model_fields:
        assert f"| `{key}` |" in page


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_documented_configurations_are_valid(path: Path) -> None:
    for block in blocks(path):
        if block.language != "toml":
            continue
        if block.text.startswith("# veracity.toml"):
            assert load_settings(block.text.encode(), path) != Settings()
        elif block.text.startswith("# evals/"):
            assert SuiteSettings.model_validate(tomllib.loads(block.text)) != SuiteSettings()
        else:
            assert load_configuration(block.text.encode(), path).metrics


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_resolve(path: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text())
    assert [target for target in targets if not (path.parent / target).exists()] == []
    assert len(path.read_text()) > 200


def test_the_readme_works_on_a_package_index() -> None:
    """It has no files next to it there, and Markdown has several ways to refer to one."""
    text = re.sub(r"```.*?```", "", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    inline = re.findall(r"\]\(\s*<?([^)\s>]+)", text)
    references = re.findall(r"^ {0,3}\[[^\]]+\]:\s*(\S+)", text, re.MULTILINE)
    tags = re.findall(r"""(?:href|src)\s*=\s*["']?([^"'\s>]+)""", text)
    assert [target for target in (*inline, *references, *tags) if not target.startswith("https://")] == []
    assert not re.search(r"\]\[", text), "a link to a reference"
    names = re.findall(r"`((?:docs/[\w/-]+|[A-Z]+)\.md)`", text)
    assert "docs/README.md" in names and [name for name in names if not (ROOT / name).exists()] == []


def test_the_table_of_contents_lists_every_page() -> None:
    text = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"]({page.name})" not in text] == ["README.md"]


@pytest.mark.parametrize(
    "path", [path for path in DOCUMENTS if path != SOURCE_NAMES], ids=lambda path: str(path.relative_to(ROOT))
)
def test_files_in_documents_exist(path: Path) -> None:
    """A path is relative to the repository, the package or the page; a bare file name may be anywhere."""
    known = {file.name for tree in FILE_TREES for file in (ROOT / tree).rglob("*")}
    names = set(FILE_NAME.findall(path.read_text(encoding="utf-8"))) - USER_FILES
    missing = [
        name for name in names if name not in known and not any((place / name).exists() for place in FILE_PLACES)
    ]
    assert missing == []
