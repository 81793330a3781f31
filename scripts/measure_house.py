"""Prints figures that describe the code base: file sizes, name clashes, imports, function lengths, call depth.

python scripts/measure_house.py            # all figures
python scripts/measure_house.py --no-trace # without the traced question, which needs the installed package
python scripts/measure_house.py --list     # also the files behind the figures
"""

from __future__ import annotations

import argparse
import ast
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "veracity"
SHARED_NAMES = {"__init__", "base"}  # file names that every package may use
SURFACES = ("cli/commands/", "server/routes/", "ledger/rows/")  # folders whose files share the name of what they serve

# Runs in a process of its own: a question to a small workspace, and the stack when the first node is called.
TRACE = """
import sys, tempfile, threading
from pathlib import Path
from veracity.cli import main

def frames(frame):
    while frame:
        name = frame.f_globals.get("__name__", "")
        if name.startswith("veracity"):
            yield f"{name}.{frame.f_code.co_qualname}"
        frame = frame.f_back

def profile(frame, event, _):
    global stack
    if event == "call" and frame.f_code.co_name == NODE and not stack:
        ours = list(frames(frame))
        if threading.current_thread() is not threading.main_thread():
            ours += frames(sys._current_frames()[threading.main_thread().ident])
        stack = ours[::-1]

NODE, stack = "process_input", []
with tempfile.TemporaryDirectory() as folder:
    page = Path(folder, "leave.md")
    page.write_text("# Leave\\n\\nEmployees have 25 days of annual leave.\\n", encoding="utf8")
    for command in (["ingest", str(page)], ["ask", "How many days of annual leave do employees have?"]):
        sys.argv = ["veracity", *command, "--workspace", folder]
        if command[0] == "ask":
            sys.setprofile(profile), threading.setprofile(profile)
        try:
            main()
        except SystemExit:
            pass
    sys.setprofile(None), threading.setprofile(None)
print(*stack, sep="\\n", file=sys.stderr)
"""


class Module(NamedTuple):
    path: str  # relative to the package
    lines: int
    imports: frozenset[str]  # paths of the modules it imports, under TYPE_CHECKING and in functions included
    functions: tuple[tuple[int, str], ...]


class Figure(NamedTuple):
    name: str
    value: str
    bar: str


def read_modules() -> dict[str, Module]:
    sources = {file.relative_to(PACKAGE).as_posix(): file.read_text("utf8") for file in PACKAGE.rglob("*.py")}
    return {path: _module(path, text, sources.keys()) for path, text in sorted(sources.items())}


def _module(path: str, text: str, known: object) -> Module:
    tree = ast.parse(text)
    found = {target for node in ast.walk(tree) for target in _targets(node, known)}
    functions = [
        ((node.end_lineno or node.lineno) - node.lineno + 1, f"{path}:{node.name}")
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return Module(path, text.count("\n"), frozenset(found - {path}), tuple(functions))


def _targets(node: ast.AST, known: object) -> list[str]:
    """The modules that an import statement names; `from package import module` names the module."""
    if isinstance(node, ast.Import):
        return [path for alias in node.names if (path := _path(alias.name, known))]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        submodules = [_path(f"{node.module}.{alias.name}", known) for alias in node.names]
        package = _path(node.module, known)
        return [found for path in submodules if (found := path or package)]
    return []


def _path(module: str, known: object) -> str:
    if not module.startswith("veracity"):
        return ""
    stem = "/".join(module.split(".")[1:])
    candidates = (f"{stem}.py", f"{stem}/__init__.py" if stem else "__init__.py")
    return next((path for path in candidates if path in known), "")  # type: ignore[operator]


def repeated_names(modules: dict[str, Module]) -> dict[str, list[str]]:
    places = defaultdict(list)
    for path in modules:
        stem = Path(path).stem
        if stem not in SHARED_NAMES and not path.startswith(SURFACES):
            places[stem].append(path)
    return {name: found for name, found in places.items() if len(found) > 1}


def single_importer_files(modules: dict[str, Module]) -> dict[str, str]:
    importers = defaultdict(list)
    for module in modules.values():
        for target in module.imports:
            importers[target].append(module.path)
    return {
        path: importers[path][0]
        for path in modules
        if len(importers[path]) == 1 and Path(path).stem not in SHARED_NAMES and not path.startswith(SURFACES)
    }


def import_cycles(modules: dict[str, Module]) -> list[list[str]]:
    """Strongly connected components of more than one module (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(path: str) -> None:
        index[path] = low[path] = len(index)
        stack.append(path)
        for target in modules[path].imports:
            if target not in index:
                visit(target)
                low[path] = min(low[path], low[target])
            elif target in stack:
                low[path] = min(low[path], index[target])
        if low[path] == index[path]:
            component = [stack.pop()]
            while component[-1] != path:
                component.append(stack.pop())
            if len(component) > 1:
                found.append(sorted(component))

    for path in modules:
        if path not in index:
            visit(path)
    return found


def calls_to_first_node() -> list[str]:
    traced = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", TRACE], capture_output=True, text=True, check=True, timeout=300
    )
    stack = [line for line in traced.stderr.splitlines() if line.startswith("veracity")]
    return stack[stack.index("veracity.cli.main") :]


def javascript_lines() -> int:
    own = [file for file in (PACKAGE / "server/static").rglob("*.js") if "vendor" not in file.parts]
    return sum(file.read_text("utf8").count("\n") for file in own)


def measure(modules: dict[str, Module], stack: list[str]) -> list[Figure]:
    lengths = sorted(length for module in modules.values() for length, _ in module.functions)
    files = [module.lines for module in modules.values()]
    return [
        Figure("Python files in src", str(len(modules)), "≤ 260"),
        Figure("median file length", f"{statistics.median(files):.0f}", "≥ 110"),
        Figure("Python lines in src", f"{sum(files):,}", "≤ 32,000"),
        Figure("file names used in more than one package", str(len(repeated_names(modules))), "≤ 6"),
        Figure("files imported by exactly one other file", str(len(single_importer_files(modules))), "≤ 60"),
        Figure("function median / longest", f"{statistics.median(lengths):.0f} / {lengths[-1]}", "≤ 8 / ≤ 60"),
        Figure("import cycles, type-only included", str(len(import_cycles(modules))), "0"),
        Figure("calls from main to the first graph node", str(len(stack) - 1) if stack else "not traced", "≤ 10"),
        Figure("own JavaScript lines", f"{javascript_lines():,}", "≤ 7,200"),
    ]


def list_files(modules: dict[str, Module], stack: list[str]) -> None:
    for name, places in sorted(repeated_names(modules).items()):
        print(f"name  {name}: {', '.join(places)}")
    for path, importer in single_importer_files(modules).items():
        print(f"once  {path} ({modules[path].lines}) ← {importer}")
    for cycle in import_cycles(modules):
        print(f"cycle {', '.join(cycle)}")
    for length, name in sorted((item for module in modules.values() for item in module.functions), reverse=True)[:5]:
        print(f"long  {length} {name}")
    for depth, call in enumerate(stack):
        print(f"call  {depth:2} {call}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-trace", action="store_true", help="skip the traced question")
    parser.add_argument("--list", action="store_true", help="also list the files behind the figures")
    options = parser.parse_args()
    modules = read_modules()
    stack = [] if options.no_trace else calls_to_first_node()
    if options.list:
        list_files(modules, stack)
    figures = measure(modules, stack)
    width = max(len(figure.name) for figure in figures)
    for figure in figures:
        print(f"{figure.name:{width}}  {figure.value:>12}  {figure.bar}")


if __name__ == "__main__":
    main()
