"""Makes the libraries of the page, `src/veracity/server/static/vendor`, out of their npm packages.

    python scripts/vendor_page.py [--check]

The packages are fetched from the npm registry by version and must have the digest that stands here, so that the same
bytes come out anywhere. A module keeps its bytes but for two things: what it imports by a bare name ("preact") is named
by its place instead, since the page's Content-Security-Policy allows no import map; and the pointer to a source map
goes, since the map is not shipped. `--check` writes nothing and fails when the folder is not what would be written.

It knows nothing about `vendor/preact.js`, which is ours: the one door through which the page takes all of this.
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
    """`files` maps a path in the package to one in the vendor folder, `places` a bare import to where it is."""

    name: str
    version: str
    sha512: str
    files: dict[str, str]
    places: dict[str, str]

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
        places={"preact": "./preact.js"},
    ),
    Package(
        name="htm",
        version="3.1.1",
        sha512="983Vyg8NwUE7JkZ6NmOqpCZ+sh1bKv2iYTlUkzlWmA5JD2acKoxd4KVxbMmxX/85mtfdnDmTFoNKcg5DGAvxNQ==",
        files={"package/dist/htm.mjs": "htm/htm.js", "package/LICENSE": "htm/LICENSE"},
        places={},
    ),
]


def fetch(package: Package) -> bytes:
    with urllib.request.urlopen(package.address, timeout=60) as response:
        archive: bytes = response.read()
    digest = base64.b64encode(hashlib.sha512(archive).digest()).decode()
    if digest != package.sha512:
        raise SystemExit(f"{package.address} has the digest {digest}, not the one expected.")
    return archive


def placed(module: bytes, places: dict[str, str]) -> bytes:
    """The module with its bare imports named by place, and without its pointer to a source map."""

    def place(match: re.Match[bytes]) -> bytes:
        name = match[2].decode()
        if name not in places:
            raise SystemExit(f'A module imports "{name}", for which no place is given.')
        return match[1] + f'"{places[name]}"'.encode()

    return BARE_IMPORT.sub(place, SOURCE_MAP.sub(b"\n", module))


def unpacked(package: Package) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(fetch(package))) as archive:
        for path, target in package.files.items():
            member = archive.extractfile(path)
            if member is None:
                raise SystemExit(f"{package.address} holds no {path}.")
            content = member.read()
            files[target] = placed(content, package.places) if target.endswith(".js") else content
    return files


def vendored() -> dict[str, bytes]:
    """Every file of the vendor folder that is not ours, with the list of their digests."""
    files: dict[str, bytes] = {}
    for package in PACKAGES:
        files |= unpacked(package)
    lines = [f"# {package.name} {package.version} {package.address}" for package in PACKAGES]
    lines += [f"{hashlib.sha256(content).hexdigest()}  {name}" for name, content in sorted(files.items())]
    return files | {SUMS: ("\n".join(lines) + "\n").encode()}


def differing(files: dict[str, bytes]) -> list[str]:
    return [
        name
        for name, content in files.items()
        if not (VENDOR / name).is_file() or (VENDOR / name).read_bytes() != content
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Makes the libraries of the page out of their npm packages.")
    parser.add_argument("--check", action="store_true", help="write nothing, fail when something differs")
    check = parser.parse_args().check
    files = vendored()
    changed = differing(files)
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
