"""scripts/install_chromium.sh, on a machine that has only what a test puts there."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "install_chromium.sh"
NEEDED = ("sh", "dirname", "env", "mkdir", "flock", "chmod", "cat", "rm", "cp")
BROWSER = "#!/bin/sh\necho Chromium 150\n"
APT = """#!/bin/sh
echo "$*" >> {log}
case "$*" in *" install "*) {does} ;; esac
"""


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A folder that is all of PATH, and the home beside it."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for name in NEEDED:
        found = shutil.which(name)
        if not found:
            pytest.skip(f"{name} is not here")
        (bin_folder / name).symlink_to(found)
    _program(bin_folder / "id", "#!/bin/sh\necho 0\n")
    _program(bin_folder / "sleep", "#!/bin/sh\n")
    return bin_folder


def _program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def _apt(machine: Path, does: str) -> Path:
    log = machine.parent / "apt.log"
    _program(machine / "apt-get", APT.format(log=log, does=does))
    return log


def _copied(machine: Path) -> Path:
    """Away from the repository, whose environment may have a Playwright."""
    script = machine.parent / "repository" / "scripts" / SCRIPT.name
    script.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(SCRIPT, script)
    return script


def _started(machine: Path, **environment: str) -> subprocess.Popen[str]:
    home = {"PATH": str(machine), "HOME": str(machine.parent / "home"), **environment}
    return subprocess.Popen(
        [str(machine / "sh"), str(_copied(machine))],
        env=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=os.sep,
    )


def _ran(machine: Path, **environment: str) -> tuple[int, str]:
    with _started(machine, **environment) as process:
        out, err = process.communicate(timeout=60)
    return process.returncode, out + err


@pytest.mark.parametrize("name", ["chromium", "chromium-browser", "google-chrome"])
def test_nothing_is_done_or_said_where_there_is_one(machine: Path, name: str) -> None:
    log = _apt(machine, "exit 1")
    _program(machine / name, BROWSER)
    assert _ran(machine) == (0, "")
    assert not log.exists()


def test_the_one_that_is_named_has_to_run(machine: Path) -> None:
    named = machine.parent / "mine"
    code, said = _ran(machine, VERACITY_CHROMIUM=str(named))
    assert code == 1
    assert said == f"install_chromium: VERACITY_CHROMIUM names {named}, which does not run.\n"
    _program(named, BROWSER)
    assert _ran(machine, VERACITY_CHROMIUM=str(named)) == (0, "")


def test_the_package_is_installed_once_by_two_at_the_same_time(machine: Path) -> None:
    source = machine.parent / "browser"
    _program(source, BROWSER)
    _program(machine / "chromium-browser", "#!/bin/sh\necho 'install the snap'\nexit 1\n")  # as Ubuntu's
    log = _apt(machine, f"cp {source} {machine}/chromium")
    with _started(machine) as first, _started(machine) as second:
        assert [first.wait(60), second.wait(60)] == [0, 0]
    installs = [line for line in log.read_text().splitlines() if " install " in line]
    assert len(installs) == 1
    assert "--no-install-recommends chromium" in installs[0]
    assert _ran(machine) == (0, "")


def test_a_mirror_that_fails_is_asked_three_times_and_then_playwright(machine: Path) -> None:
    log = _apt(machine, "exit 100")
    browsers = machine.parent / "home" / ".cache" / "ms-playwright" / "chromium-1" / "chrome-linux"
    source = machine.parent / "browser"
    _program(source, BROWSER)
    _program(
        machine / "python3",
        f'#!/bin/sh\n[ "$1" = -c ] && exit 0\nmkdir -p {browsers} && cp {source} {browsers}/chrome\n',
    )
    code, said = _ran(machine)
    assert code == 0
    assert log.read_text().count(" install ") == 3
    assert f"VERACITY_CHROMIUM={browsers}/chrome" in said
    assert _ran(machine)[0] == 0


def test_where_nothing_can_be_installed_one_sentence_says_what_to_do(machine: Path) -> None:
    code, said = _ran(machine)
    assert code == 1
    assert said.count("\n") == 1
    assert "set VERACITY_CHROMIUM to its path" in said
