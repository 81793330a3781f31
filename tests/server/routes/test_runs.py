"""GET /api/runs/{id}: what a receipt says about the models, and to whom (SPEC X3)."""

from tests.runs.conftest import MakeEngine
from tests.runs.scripts import GOOD, PASS, QUESTION, judged
from tests.server.conftest import Serve
from veracity.testing import ScriptedLLM

PROMPTS = {"prompts": True}


def scripted() -> ScriptedLLM:
    return ScriptedLLM.by_role(writer=GOOD, reviewer=PASS, judge=judged(95))


def test_x3_a_receipt_shows_usage_by_role(engine_with: MakeEngine, serve: Serve) -> None:
    served = serve(engine_with(scripted()))
    ann = served.client(role="asker", name="ann")
    run_id = ann.post("/api/ask", json={"question": QUESTION}).json()["run_id"]
    receipt = ann.get(f"/api/runs/{run_id}").json()
    assert set(receipt["usage_by_role"]["writer"]) == {
        "calls",
        "input_tokens",
        "cached_tokens",
        "output_tokens",
        "cost_usd",
    }
    total = sum(used["input_tokens"] for used in receipt["usage_by_role"].values())
    assert total == receipt["usage"]["input_tokens"] > 0
    assert receipt["calls"] == []
    assert "From cache" in ann.get(f"/api/runs/{run_id}/page").text


def test_x5_the_page_is_in_the_language_and_zone_of_its_reader(engine_with: MakeEngine, serve: Serve) -> None:
    ann = serve(engine_with(scripted())).client(role="asker", name="ann")
    run_id = ann.post("/api/ask", json={"question": QUESTION}).json()["run_id"]
    page = f"/api/runs/{run_id}/page"
    chosen = ann.get(page, params={"lang": "ja", "zone": "Asia/Tokyo"}, headers={"Accept-Language": "zh"}).text
    assert '<html lang="ja">' in chosen and " JST</time>" in chosen
    assert f'<a href="/#/runs/{run_id}">' in chosen
    assert '<html lang="zh-Hans">' in ann.get(page, headers={"Accept-Language": "de, zh-CN;q=0.8, en;q=0.5"}).text
    unknown = ann.get(page, params={"lang": "tlh", "zone": "../../etc/passwd"}).text
    assert '<html lang="en">' in unknown and " UTC</time>" in unknown


def test_x3_those_who_see_the_run_see_its_prompts(engine_with: MakeEngine, serve: Serve) -> None:
    served = serve(engine_with(scripted(), receipts=PROMPTS))
    ann = served.client(role="asker", name="ann")
    run_id = ann.post("/api/ask", json={"question": QUESTION}).json()["run_id"]
    for reader in (ann, served.client(role="approver", name="bob")):
        calls = reader.get(f"/api/runs/{run_id}").json()["calls"]
        assert [call["role"] for call in calls][:2] == ["writer", "reviewer"]
        assert calls[0]["texts"]["reply"]["text"] == GOOD
        assert "Prompts and replies" in reader.get(f"/api/runs/{run_id}/page").text
    other = served.client(role="asker", name="carl")
    assert other.get(f"/api/runs/{run_id}").status_code == other.get(f"/api/runs/{run_id}/page").status_code == 404
