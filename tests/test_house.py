"""The figures of docs/contributing.md are those that scripts/measure_house.py prints, and stay within their bars."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROW = re.compile(r"^(?P<name>.+?)  +(?P<value>[\d,]+(?: / \d+)?|not traced)  +(?P<bar>.+)$", re.M)


def printed() -> dict[str, str]:
    command = [sys.executable, str(ROOT / "scripts/measure_house.py"), "--no-trace"]
    output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    return {found["name"]: found["value"] for found in ROW.finditer(output)}


def test_the_house_has_no_import_cycle_and_the_script_prints_every_figure() -> None:
    figures = printed()
    assert figures["import cycles, type-only included"] == "0"
    documented = (ROOT / "docs/contributing.md").read_text(encoding="utf-8")
    assert [name for name in figures if f"| {name} |" not in documented] == []
