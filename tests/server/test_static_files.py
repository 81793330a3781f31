"""How the files of the page are sent: whole, packed where that is understood, and kept by browsers."""

import gzip
import re
from pathlib import Path

import pytest

from tests.server.conftest import MODULES, MakeEngine, OpenPage, Serve, Served
from veracity.server.static_files import IMMUTABLE, STATIC, Files, files


@pytest.fixture
def served(serve: Serve, engine_with: MakeEngine) -> Served:
    return serve(engine_with())


def test_files_are_compressed_and_cached(served: Served) -> None:
    client = served.client(token="")
    for name, kind in {"app.js": "text/javascript", "lib/base.css": "text/css", "icon.svg": "image/svg+xml"}.items():
        for coding in ("gzip, br", "identity"):
            sent = client.get(f"{MODULES}/{name}", headers={"Accept-Encoding": coding})
            assert sent.content == (STATIC / name).read_bytes()
            assert sent.headers["content-type"].startswith(kind)
            assert sent.headers.get("content-encoding") == ("gzip" if "gzip" in coding else None)
            assert (sent.headers["cache-control"], sent.headers["vary"]) == (IMMUTABLE, "Accept-Encoding")
        assert client.head(f"{MODULES}/{name}").content == b""


def test_files_of_another_version_are_served_uncached(served: Served) -> None:
    sent = served.client(token="").get("/static/0123456789abcdef/app.js")
    assert sent.content == (STATIC / "app.js").read_bytes()
    assert sent.headers["cache-control"] == "no-cache"
    assert served.client(token="").get("/").headers["cache-control"] == "no-cache"


@pytest.mark.parametrize(
    "name", ["nothing.js", "", "../page.py", "..%2fpage.py", "%2e%2e/page.py", "vendor", "app.js/", "a%00"]
)
def test_no_other_files_are_served(served: Served, name: str) -> None:
    sent = served.client(token="").get(f"{MODULES}/{name}")
    assert sent.status_code == 404
    assert "APIRouter" not in sent.text


def test_the_index_preloads_the_first_view(served: Served, open_page: OpenPage) -> None:
    named = set(re.findall(rf'"(static/{files().version}/[^"]+)"', served.client().get("/").text))
    page = open_page(served)
    page.get_by_role("textbox").wait_for()
    loaded = page.evaluate("performance.getEntriesByType('resource').map((one) => new URL(one.name).pathname.slice(1))")
    assert {name for name in loaded if name.endswith(".js")} <= named
    assert len(loaded) > 40


def test_the_version_depends_on_the_contents(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.js").write_text("1")
    one = Files(folder).version
    assert Files(folder).version == one
    (folder / "a.js").write_text("2")
    two = Files(folder).version
    (folder / "a.js").rename(folder / "b.js")
    assert len({one, two, Files(folder).version}) == 3
    assert gzip.decompress(Files(folder).by_name["b.js"].compressed) == b"2"
