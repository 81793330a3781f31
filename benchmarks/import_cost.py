"""CPU time of `import veracity` and `veracity --help`, relative to `import typer, pydantic` in the same run.

The bar is a ratio of 3. Commands run in turn, in new processes, so that noise affects all of them.
"""

import os
import statistics
import subprocess
import sys

ROUNDS = 15
COMMANDS = {
    "import typer, pydantic": [sys.executable, "-c", "import typer, pydantic"],
    "import veracity": [sys.executable, "-c", "import veracity"],
    "veracity --help": [sys.executable, "-m", "veracity", "--help"],
    "import every public name": [sys.executable, "-c", "from veracity import *"],
    "import lancedb": [sys.executable, "-c", "import lancedb"],
    "lancedb as we load it": [sys.executable, "-c", "import veracity.knowledge.lance"],
    "import the server": [sys.executable, "-c", "import veracity.server.app"],
}


def cpu_seconds(command: list[str]) -> float:
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return (after.children_user - before.children_user) + (after.children_system - before.children_system)


def main() -> None:
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, command in COMMANDS.items():
            seconds[name].append(cpu_seconds(command))
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    base = medians["import typer, pydantic"]
    print(f"{'command':<28}{'CPU ms':>10}{'ratio':>8}")
    for name, value in medians.items():
        print(f"{name:<28}{1000 * value:>10.0f}{value / base:>8.2f}")


if __name__ == "__main__":
    main()
