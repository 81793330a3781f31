"""Tasks that misbehave, for the worker processes of the tests."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from veracity.reading.extract import extract
from veracity.reading.sandbox import frames, progress

_leaked: list[bytes] = []


def run_task(request: dict[str, Any]) -> dict[str, Any]:
    """Run the function that the request names."""
    result: dict[str, Any] = globals()[request["task"]](request)
    return result


def echo(request: dict[str, Any]) -> dict[str, Any]:
    return {"said": request.get("say"), "process": os.getpid()}


def sleep(request: dict[str, Any]) -> dict[str, Any]:
    time.sleep(request.get("seconds", 600))
    return {}


def spin(request: dict[str, Any]) -> dict[str, Any]:
    while True:
        pass


def read_pages(request: dict[str, Any]) -> dict[str, Any]:
    """Begins parts, and takes a while for each."""
    for _ in range(request["pages"]):
        progress.begin_part()
        time.sleep(request["seconds"])
    return {"pages": request["pages"]}


def allocate(request: dict[str, Any]) -> dict[str, Any]:
    return {"length": len(b"x" * request["megabytes"] * 1_000_000)}


def leak(request: dict[str, Any]) -> dict[str, Any]:
    """Leaks memory, as a library may."""
    _leaked.append(b"x" * request["megabytes"] * 1_000_000)
    return {"process": os.getpid()}


def abort(request: dict[str, Any]) -> dict[str, Any]:
    os.abort()


def segfault(request: dict[str, Any]) -> dict[str, Any]:
    ctypes.string_at(0)
    return {}


def exit_at_once(request: dict[str, Any]) -> dict[str, Any]:
    os._exit(3)


def kill_self(request: dict[str, Any]) -> dict[str, Any]:
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def fail(request: dict[str, Any]) -> dict[str, Any]:
    raise ValueError(request["say"])


def recurse(request: dict[str, Any]) -> dict[str, Any]:
    return recurse(request)


def print_everywhere(request: dict[str, Any]) -> dict[str, Any]:
    print("noise", flush=True)
    print("noise", file=sys.stderr, flush=True)
    os.write(1, b"\xff" * 1_000)
    os.write(2, b"\xff" * 1_000)
    return {"input": sys.stdin.read() if request.get("read") else ""}


def write_file(request: dict[str, Any]) -> dict[str, Any]:
    Path(request["path"]).write_text("not a byte")
    return {}


def connect(request: dict[str, Any]) -> dict[str, Any]:
    socket.create_connection(("127.0.0.1", request["port"]))
    return {}


def run_program(request: dict[str, Any]) -> dict[str, Any]:
    subprocess.run([sys.executable, "-c", ""], check=True)
    return {}


def read(request: dict[str, Any]) -> dict[str, Any]:
    reading = extract(bytes.fromhex(request["content"]), request["name"])
    return {"text": reading.text, "format": reading.format}


def environment(request: dict[str, Any]) -> dict[str, Any]:
    return dict(os.environ)


def nothing(request: dict[str, Any]) -> Any:
    return None


def not_json(request: dict[str, Any]) -> dict[str, Any]:
    return {"a": object()}


def too_long(request: dict[str, Any]) -> dict[str, Any]:
    frames.MAX_FRAME_BYTES = 1_000
    return {"a": "x" * 2_000}


def lie(request: dict[str, Any]) -> dict[str, Any]:
    """Writes to the pipe directly, as a compromised worker would."""
    for number in range(3, 20):
        try:
            os.write(number, bytes.fromhex(request["bytes"]))
        except OSError:
            continue
    os._exit(0)
