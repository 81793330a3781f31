"""Write the page's libraries, `src/veracity/server/static/vendor`, from their npm packages.

    python scripts/vendor_page.py [--check]

The packages come from the npm registry in a fixed version and must match the digests below. Modules keep their bytes,
with two exceptions: bare imports ("preact") become relative, since the page's Content-Security-Policy allows no import
map, and pointers to source maps are removed, since the maps are not shipped. `--check` writes nothing and exits with 1
when the folder differs.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import io
import re
import sys
import tarfile
import urllib.request
from dataclasses import dataclass
from pathlib import Path

VENDOR = Path(__file__).resolve().parent.parent / "src" / "veracity" / "server" / "static" / "vendor"
SUMS = "SHA256SUMS"
SOURCE_MAP = re.compile(rb"\n?//# sourceMappingURL=\S+\s*$")
BARE_IMPORT = re.compile(rb'(from|import)\s*"([^"./][^"]*)"')


@dataclass(frozen=True)
class Package:
    """`files` maps paths in the package to paths in the vendor folder, `imports` bare imports to relative ones."""

    name: str
    version: str
    sha512: str
    files: dict[str, str]
    imports: dict[str, str]

    @property
    def address(self) -> str:
        return f"https://registry.npmjs.org/{self.name}/-/{self.name}-{self.version}.tgz"


PACKAGES = [
    Package(
        name="preact",
        version="11.2.0",
        sha512="/HfHI/7N84e6GrWBJ3J280z3mLaRJiDcSvj/A+y/4AbLnND/1UlGHe1sR6oYuTGwId0nP7dqDU9OnLxMPZ7xBg==",
        files={
            "package/dist/preact.mjs": "preact/preact.js",
            "package/hooks/dist/hooks.mjs": "preact/hooks.js",
            "package/LICENSE": "preact/LICENSE",
        },
        imports={"preact": "./preact.js"},
    ),
    Package(
        name="htm",
        version="3.1.1",
        sha512="983Vyg8NwUE7JkZ6NmOqpCZ+sh1bKv2iYTlUkzlWmA5JD2acKoxd4KVxbMmxX/85mtfdnDmTFoNKcg5DGAvxNQ==",
        files={"package/dist/htm.mjs": "htm/htm.js", "package/LICENSE": "htm/LICENSE"},
        imports={},
    ),
]


def fetch(package: Package) -> bytes:
    with urllib.request.urlopen(package.address, timeout=60) as response:
        archive: bytes = response.read()
    digest = base64.b64encode(hashlib.sha512(archive).digest()).decode()
    if digest != package.sha512:
        raise SystemExit(f"{package.address} has the digest {digest}, not {package.sha512}.")
    return archive


def rewrite_module(module: bytes, imports: dict[str, str]) -> bytes:
    """Make bare imports relative and remove the pointer to a source map."""

    def replace(match: re.Match[bytes]) -> bytes:
        name = match[2].decode()
        if name not in imports:
            raise SystemExit(f'A module imports "{name}", which has no relative path here: add one to `imports`.')
        return match[1] + f'"{imports[name]}"'.encode()

    return BARE_IMPORT.sub(replace, SOURCE_MAP.sub(b"\n", module))


def unpack(package: Package) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(fetch(package))) as archive:
        for path, target in package.files.items():
            member = archive.extractfile(path)
            if member is None:
                raise SystemExit(f"{package.address} has no {path}.")
            content = member.read()
            files[target] = rewrite_module(content, package.imports) if target.endswith(".js") else content
    return files


def vendor_files() -> dict[str, bytes]:
    """All files of the vendor folder, including the list of their digests."""
    files: dict[str, bytes] = {}
    for package in PACKAGES:
        files |= unpack(package)
    lines = [f"# {package.name} {package.version} {package.address}" for package in PACKAGES]
    lines += [f"{hashlib.sha256(content).hexdigest()}  {name}" for name, content in sorted(files.items())]
    return files | {SUMS: ("\n".join(lines) + "\n").encode()}


def changed_files(files: dict[str, bytes]) -> list[str]:
    return [
        name
        for name, content in files.items()
        if not (VENDOR / name).is_file() or (VENDOR / name).read_bytes() != content
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the page's libraries from their npm packages.")
    parser.add_argument("--check", action="store_true", help="write nothing, exit with 1 when a file differs")
    check = parser.parse_args().check
    files = vendor_files()
    changed = changed_files(files)
    if not check:
        for name in changed:
            (VENDOR / name).parent.mkdir(parents=True, exist_ok=True)
            (VENDOR / name).write_bytes(files[name])
    for name in changed:
        print(name, "differs" if check else "written")
    if check and changed:
        sys.exit(1)


if __name__ == "__main__":
    main()
