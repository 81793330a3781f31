"""`veracity serve` in a subprocess."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

import httpx

TOKEN = "a-token-of-the-environment"


class Process:
    """Starts in `with`; `url` is set once the server accepts requests."""

    def __init__(self, root: Path, *options: str, token: str = TOKEN, **variables: str) -> None:
        self.token = token
        command = [sys.executable, "-m", "veracity", "serve", "-w", str(root), "--port", "0", *options]
        own = {"VERACITY_MODELS__EMBEDDER": "none", "COLUMNS": "200", **({"VERACITY_TOKEN": token} if token else {})}
        self._popen = subprocess.Popen(
            command,
            env={**os.environ, **own, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.url = ""
        self.printed = ""

    def __enter__(self) -> Self:
        assert self._popen.stdout
        for line in self._popen.stdout:
            self.printed += line
            if found := re.search(r"(http://\S+?)/(?:#token=(\S+))?$", line.strip()):
                self.url, self.token = found[1], found[2] or self.token
                return self
        raise AssertionError(self.printed + self.ended()[2])

    def __exit__(self, *_: object) -> None:
        if self._popen.poll() is None:
            self._popen.kill()
        self._popen.communicate(timeout=20)

    def client(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=120, trust_env=False, verify=False)

    def tell(self, what: signal.Signals) -> None:
        self._popen.send_signal(what)

    def ended(self) -> tuple[int, str, str]:
        printed, errors = self._popen.communicate(timeout=40)
        return self._popen.returncode, printed, errors
