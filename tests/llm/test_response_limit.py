"""Responses without end, as sent and unpacked."""

import gzip
import json
import zlib

import pytest

from tests.llm.sample_requests import text_request
from tests.loopback import LoopbackServer, raw
from veracity.errors import ModelError
from veracity.llm import LLM
from veracity.llm import response_limit as limit
from veracity.settings import LLMSettings

CHOICE = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "So."}}
REPLY = json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [CHOICE]}).encode()


@pytest.fixture
def impatient(server: LoopbackServer) -> LLM:
    return LLM(LLMSettings(backoff=0.01))


@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), ("deflate", zlib.compress), ("", bytes)])
def test_packed_reply_is_read(server: LoopbackServer, impatient: LLM, encoding: str, pack: type[bytes]) -> None:
    server.respond_with(raw(pack(REPLY), **({"Content_Encoding": encoding} if encoding else {})))
    assert impatient.write(text_request(max_retries=0)).text == "So."


@pytest.mark.parametrize("encoding", ["gzip", ""])
def test_larger_reply_is_cut_off(
    server: LoopbackServer, impatient: LLM, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limit, "MAX_BYTES", 100_000)
    padded = REPLY[:-1] + b" " * 200_000 + b"}"
    headers = {"Content_Encoding": encoding} if encoding else {}
    server.respond_with(raw(gzip.compress(padded) if encoding else padded, **headers))
    with pytest.raises(ModelError, match="could not be used|not in its API's format|failed unexpectedly"):
        impatient.write(text_request(max_retries=0))


def test_damaged_packing_is_an_error(server: LoopbackServer, impatient: LLM) -> None:
    server.respond_with(raw(b"not packed", Content_Encoding="gzip"))
    with pytest.raises(ModelError):
        impatient.write(text_request(max_retries=0))
