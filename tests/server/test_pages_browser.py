"""A quote is on its own page of a PDF, also where its passage began on the page before."""

from playwright.sync_api import expect

from tests.reading.documents import pdf
from tests.server.conftest import MakeEngine, OpenPage, Serve

PAGES = (
    "The fire drill is held twice a year. Everybody leaves by the nearest stairs.",
    "The fire warden of the second floor is Maeve Kelly.",
)


def test_a_citation_names_the_page_of_its_quote(serve: Serve, engine_with: MakeEngine, open_page: OpenPage) -> None:
    served = serve(engine_with())
    client = served.client()
    report = client.post("/api/documents", files={"files": ("drill.pdf", pdf(*PAGES))}).json()
    document_id = report["outcomes"][0]["document_id"]
    text = client.get("/api/document/text", params={"id": document_id}).json()
    assert len(text["page_starts"]) == 2
    assert text["text"][text["page_starts"][1] :].startswith("The fire warden")
    answer = client.post("/api/ask", json={"question": "Who is the fire warden of the second floor?"}).json()
    assert "Maeve Kelly" in answer["text"]
    page = open_page(served, f"#/runs/{answer['run_id']}")
    page.locator(".answer").get_by_role("button", name="Source").first.click()
    expect(page.locator(".source")).to_contain_text("page 2")
    expect(page.locator(".source-quote")).to_contain_text("Maeve Kelly")
