"""One writer at a time; the second is told so, whichever process or thread it is."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from veracity.errors import BusyError, KnowledgeError
from veracity.knowledge.library import writing

HOLD = """
import sys, time
from pathlib import Path
from veracity.knowledge.locking import writing
with writing(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_the_folder_is_created_and_the_lock_can_be_taken_again(folder: Path) -> None:
    for _ in range(2):
        with writing(folder / "deeper"):
            assert (folder / "deeper").is_dir()


def test_another_process_is_named_and_its_end_frees_the_lock(folder: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        told = f"are being changed by process {holder.pid}: try again when"
        with pytest.raises(BusyError, match=told), writing(folder):
            pytest.fail("two writers")
        holder.kill()
        holder.wait()
        with writing(folder):
            assert (folder / ".writer.pid").read_text() == str(os.getpid())


def test_another_thread_has_to_wait_too(folder: Path) -> None:
    told: list[BaseException] = []

    def write() -> None:
        try:
            with writing(folder):
                pass
        except BusyError as problem:
            told.append(problem)

    with writing(folder):
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
    assert "by another thread of this process" in str(told[0])


@pytest.mark.parametrize("ending", [KeyboardInterrupt, ValueError])
def test_the_lock_is_released_however_the_writer_ends(folder: Path, ending: type[BaseException]) -> None:
    with pytest.raises(ending), writing(folder):
        raise ending
    with writing(folder):
        pass


@pytest.mark.parametrize("content", [None, "nonsense"])
def test_a_holder_that_left_no_name_is_another_process(folder: Path, content: str | None) -> None:
    with writing(folder):
        (folder / ".writer.pid").unlink()
        if content:
            (folder / ".writer.pid").write_text(content)
        with pytest.raises(BusyError, match="by another process"), writing(folder):
            pass


def test_a_note_that_cannot_be_written_is_no_obstacle(folder: Path) -> None:
    (folder / ".writer.pid").mkdir(parents=True)
    with writing(folder), pytest.raises(BusyError, match="by another process"), writing(folder):
        pass


@pytest.mark.parametrize("place", ["/proc/veracity", "{file}", "{file}/below"])
def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("x")
    target = Path(place.format(file=tmp_path / "file"))
    with pytest.raises(KnowledgeError, match="cannot be written .*: make it a writable folder"), writing(target):
        pass
