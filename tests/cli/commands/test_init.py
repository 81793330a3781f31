"""`veracity init`."""

import re
import tomllib
from pathlib import Path

from tests.commands import Run
from tests.evaluator.requests import request
from veracity import Evaluator

# Sections, settings, and the two lines of the multi-line instruction.
EXAMPLE = re.compile(r"(# )?(\[|\w+ = |Is the submission|Reason first)")


def test_creates_a_working_workspace(run: Run, tmp_path: Path) -> None:
    root = tmp_path / "new" / "place"
    ran = run("init", root)
    assert ran.code == 0 and ran.out.count("created") == 3
    assert Evaluator(root).evaluate(request()).metric_set == "default-local"
    assert "Brevity" in run("metrics", "-w", root).out


def test_keeps_existing_files(run: Run, tmp_path: Path) -> None:
    (tmp_path / "veracity.toml").write_text("# mine\n")
    ran = run("init", tmp_path)
    assert "kept" in ran.out and (tmp_path / "veracity.toml").read_text() == "# mine\n"
    assert run("init", tmp_path).out.count("kept") == 3


def test_current_directory_is_the_default(run: Run) -> None:
    assert run("init").code == 0
    assert Path("configs/evaluator.toml").is_file()


def test_file_in_the_way_is_reported(run: Run, tmp_path: Path) -> None:
    (tmp_path / "configs").write_text("")
    for directory in (tmp_path, tmp_path / "configs"):
        ran = run("init", directory)
        assert ran.code == 2 and "cannot be created" in ran.err


def test_every_commented_example_is_valid_when_uncommented(run: Run, tmp_path: Path) -> None:
    """What the comments show must work: each setting line, uncommented, loads."""
    run("init", tmp_path)
    for path in (tmp_path / "configs/evaluator.toml", tmp_path / "veracity.toml"):
        examples = [line.removeprefix("# ") for line in path.read_text().splitlines() if EXAMPLE.match(line)]
        path.write_text("\n".join(line for line in examples if "openai" not in line))  # one judge of several
        tomllib.loads(path.read_text())
    planned = {item.name: item.weight for item in Evaluator(tmp_path).plan().metrics}
    assert planned == {"Relevance": 0.5, "Groundedness": 0.3, "LLMPlain": 0.2}
