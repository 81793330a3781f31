"""scripts/install_chromium.sh with a PATH that holds only fakes."""

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
    """A folder that is the whole PATH, next to a home folder."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for name in NEEDED:
        found = shutil.which(name)
        if not found:
            pytest.skip(f"{name} is not installed")
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


def _copy_script(machine: Path) -> Path:
    """Copies the script out of the repository, whose virtualenv may have Playwright."""
    script = machine.parent / "repository" / "scripts" / SCRIPT.name
    script.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(SCRIPT, script)
    return script


def _start(machine: Path, **environment: str) -> subprocess.Popen[str]:
    home = {"PATH": str(machine), "HOME": str(machine.parent / "home"), **environment}
    return subprocess.Popen(
        [str(machine / "sh"), str(_copy_script(machine))],
        env=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=os.sep,
    )


def _run(machine: Path, **environment: str) -> tuple[int, str]:
    with _start(machine, **environment) as process:
        out, err = process.communicate(timeout=60)
    return process.returncode, out + err


@pytest.mark.parametrize("name", ["chromium", "chromium-browser", "google-chrome"])
def test_an_installed_browser_is_used_silently(machine: Path, name: str) -> None:
    log = _apt(machine, "exit 1")
    _program(machine / name, BROWSER)
    assert _run(machine) == (0, "")
    assert not log.exists()


def test_the_browser_named_by_the_environment_must_run(machine: Path) -> None:
    named = machine.parent / "mine"
    code, output = _run(machine, VERACITY_CHROMIUM=str(named))
    assert code == 1
    assert output == f"install_chromium: VERACITY_CHROMIUM names {named}, which does not run.\n"
    _program(named, BROWSER)
    assert _run(machine, VERACITY_CHROMIUM=str(named)) == (0, "")


def test_two_concurrent_runs_install_the_package_once(machine: Path) -> None:
    source = machine.parent / "browser"
    _program(source, BROWSER)
    _program(machine / "chromium-browser", "#!/bin/sh\necho 'install the snap'\nexit 1\n")  # as Ubuntu's
    log = _apt(machine, f"cp {source} {machine}/chromium")
    with _start(machine) as first, _start(machine) as second:
        assert [first.wait(60), second.wait(60)] == [0, 0]
    installs = [line for line in log.read_text().splitlines() if " install " in line]
    assert len(installs) == 1
    assert "--no-install-recommends chromium" in installs[0]
    assert _run(machine) == (0, "")


def test_playwright_is_the_fallback_after_three_attempts(machine: Path) -> None:
    log = _apt(machine, "exit 100")
    browsers = machine.parent / "home" / ".cache" / "ms-playwright" / "chromium-1" / "chrome-linux"
    source = machine.parent / "browser"
    _program(source, BROWSER)
    _program(
        machine / "python3",
        f'#!/bin/sh\n[ "$1" = -c ] && exit 0\nmkdir -p {browsers} && cp {source} {browsers}/chrome\n',
    )
    code, output = _run(machine)
    assert code == 0
    assert log.read_text().count(" install ") == 6  # both packages
    assert f"VERACITY_CHROMIUM={browsers}/chrome" in output
    assert _run(machine)[0] == 0


def test_the_error_says_what_to_do_when_nothing_can_be_installed(machine: Path) -> None:
    code, output = _run(machine)
    assert code == 1
    assert output.count("\n") == 1
    assert "set VERACITY_CHROMIUM to its path" in output
