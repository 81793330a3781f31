"""The writer lock excludes other processes and threads."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from veracity.errors import BusyError, KnowledgeError
from veracity.knowledge.library import writer_lock

HOLD = """
import sys, time
from pathlib import Path
from veracity.knowledge.library import writer_lock
with writer_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_the_lock_creates_the_folder_and_can_be_reacquired(folder: Path) -> None:
    for _ in range(2):
        with writer_lock(folder / "deeper"):
            assert (folder / "deeper").is_dir()


def test_the_error_names_the_process_whose_end_frees_the_lock(folder: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        message = f"are being changed by process {holder.pid}: try again when"
        with pytest.raises(BusyError, match=message), writer_lock(folder):
            pytest.fail("two writers")
        holder.kill()
        holder.wait()
        with writer_lock(folder):
            assert (folder / ".writer.pid").read_text() == str(os.getpid())


def test_the_lock_excludes_other_threads(folder: Path) -> None:
    errors: list[BaseException] = []

    def write() -> None:
        try:
            with writer_lock(folder):
                pass
        except BusyError as problem:
            errors.append(problem)

    with writer_lock(folder):
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
    assert "by another thread of this process" in str(errors[0])


@pytest.mark.parametrize("ending", [KeyboardInterrupt, ValueError])
def test_the_lock_is_released_on_errors(folder: Path, ending: type[BaseException]) -> None:
    with pytest.raises(ending), writer_lock(folder):
        raise ending
    with writer_lock(folder):
        pass


@pytest.mark.parametrize("content", [None, "nonsense"])
def test_a_holder_without_a_pid_is_another_process(folder: Path, content: str | None) -> None:
    with writer_lock(folder):
        (folder / ".writer.pid").unlink()
        if content:
            (folder / ".writer.pid").write_text(content)
        with pytest.raises(BusyError, match="by another process"), writer_lock(folder):
            pass


def test_an_unwritable_pid_file_is_ignored(folder: Path) -> None:
    (folder / ".writer.pid").mkdir(parents=True)
    with writer_lock(folder), pytest.raises(BusyError, match="by another process"), writer_lock(folder):
        pass


@pytest.mark.parametrize("place", ["/proc/veracity", "{file}", "{file}/below"])
def test_an_unwritable_folder_is_an_error(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("x")
    target = Path(place.format(file=tmp_path / "file"))
    with pytest.raises(KnowledgeError, match="cannot be written .*: make it a writable folder"), writer_lock(target):
        pass
