"""How the files of the page are sent: whole, packed where that is understood, and kept by browsers."""

import gzip
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser

from tests.server.conftest import MODULES, MakeEngine, OpenPage, Serve, Served
from veracity.server.bundle import bundle
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


def test_the_page_is_few_requests_and_small(served: Served, open_page: OpenPage) -> None:
    page = open_page(served)
    page.get_by_role("textbox").wait_for()
    entries = """["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind))
        .map((one) => [new URL(one.name).pathname, one.transferSize])"""
    cold = page.evaluate(entries)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(urlsplit(request.url).path))
    with page.expect_request("**/api/examples"), page.expect_request("**/api/events"):
        page.reload()
    page.get_by_role("textbox").wait_for()
    warm = page.evaluate(entries)
    assert len(cold) <= 30 and sum(size for _, size in cold) <= 150_000, cold
    fetched = [path for path, size in warm if size and not path.startswith("/api/")]
    assert fetched == ["/"], "unchanged files are neither sent nor asked for again"
    asked = {path for path in requests if path.startswith("/api/")}
    assert asked == {"/api/conversations", "/api/documents", "/api/events", "/api/examples", "/api/me"}


def test_every_module_is_in_the_bundle_once() -> None:
    script = files().by_name["page.js"].content.decode()
    own = {path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*.js")} - {"boot.js"}
    assert {name for name in own if script.count(f'"{name}": async () =>') != 1} == set()


MODULES_OF_A_PAGE = {
    "app.js": """import { one, two as b } from "./lib/a.js";
import c from "./c.js";
globalThis.result = [one, b(), c()];
""",
    "lib/a.js": 'export { two } from "../d.js";\nexport const one = await Promise.resolve(1);\n',
    "c.js": 'import{three as n}from"./d.js";var t=n;export default function(){return t}',
    "d.js": "export function two() {\n  return 2;\n}\nvar x=3;export{x as three};",
}


def test_a_bundle_does_what_its_modules_do(chromium: Browser) -> None:
    page = chromium.new_page()
    script = bundle("app.js", MODULES_OF_A_PAGE.__getitem__)
    assert page.evaluate(
        "(script) => import(`data:text/javascript,${encodeURIComponent(script)}`).then(() => result)", script
    ) == [1, 2, 3]
    page.close()


def test_comments_and_types_are_left_out_of_the_bundle() -> None:
    module = """// A comment.
/** @param {string} a */
export const f = (a) => `// not ${a} /** a comment */`;
  // Another.
const g = /** @type {number} */ (f("https://x"));
/**
 * Text with * and /.
 */
g();
"""
    script = bundle("app.js", {"app.js": module}.__getitem__)
    assert 'const f = (a) => `// not ${a} /** a comment */`;\nconst g = (f("https://x"));\ng();' in script


@pytest.mark.parametrize(
    "text", ['import * as all from "./a.js";', "export let a = 1;", 'const a = await import("./b.js");']
)
def test_unknown_forms_are_not_bundled(text: str) -> None:
    with pytest.raises(ValueError, match=r"app\.js has a form of import or export"):
        bundle("app.js", {"app.js": text}.__getitem__)


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
