"""Ways in which the server of a model misbehaves. Each answers one request on its raw connection."""

from __future__ import annotations

import itertools
import json
import socket
import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

Request = dict[str, Any]
Send = Callable[[socket.socket, Request], None]

SENTENCE = "The draft does not cite its source, so the claim cannot be verified. "
HANG_SECONDS = 60.0
LONG = "".join(map("{:07x} ".format, range(1_250_000)))  # 10 MB


@dataclass(frozen=True)
class Kind:
    name: str
    send: Send


def http(body: bytes, status: str = "200 OK", kind: str = "application/json", **headers: str) -> bytes:
    fields = {"Content-Type": kind, "Content-Length": str(len(body)), **headers}
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body


def completion(request: Request, content: str, finish_reason: str = "stop", tool: str = "", calls: int = 1) -> bytes:
    """A reply as a tool call if the request has tools, else as text; streamed if it asks for that."""
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if tools := request.get("tools"):
        name = tool or tools[0]["function"]["name"]
        call = {"type": "function", "function": {"name": name, "arguments": content}}
        message = {"role": "assistant", "content": None}
        message["tool_calls"] = [{**call, "id": f"call_{number}", "index": number} for number in range(calls)]
    if request.get("stream"):
        events = [chunk(message), chunk({}, finish_reason), event({"choices": [], "usage": USAGE}), b"data: [DONE]\n\n"]
        return http(b"".join(events), kind="text/event-stream")
    choice = {"index": 0, "finish_reason": finish_reason, "message": message}
    return http(json.dumps({**HEAD, "object": "chat.completion", "choices": [choice], "usage": USAGE}).encode())


def chunk(delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
    return event({"choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}]})


def event(fields: dict[str, Any]) -> bytes:
    return f"data: {json.dumps({**HEAD, 'object': 'chat.completion.chunk', **fields})}\n\n".encode()


HEAD = {"id": "1", "created": 1, "model": "m"}
USAGE = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
EVENT_STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
ENDLESS_JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"


def says(content: str, finish_reason: str = "stop", **options: Any) -> Send:
    return lambda peer, request: peer.sendall(completion(request, content, finish_reason, **options))


def sends(data: bytes, closes: bool = False) -> Send:
    def send(peer: socket.socket, _: Request) -> None:
        peer.sendall(data)
        if closes:
            peer.close()

    return send


def drips(pieces: Iterable[bytes], every: float) -> Send:
    """Until the client disconnects."""

    def send(peer: socket.socket, _: Request) -> None:
        end = time.monotonic() + HANG_SECONDS
        for piece in pieces:
            peer.sendall(piece)
            if time.monotonic() > end:
                return
            time.sleep(every)

    return send


def never_answers(peer: socket.socket, _: Request) -> None:
    """Waits until the client disconnects."""
    peer.settimeout(HANG_SECONDS)
    peer.recv(1)


def streams_endlessly(text: str) -> Send:
    """Text to requests that stream, else a body without end."""

    def send(peer: socket.socket, request: Request) -> None:
        is_stream = request.get("stream")
        peer.sendall(EVENT_STREAM if is_stream else ENDLESS_JSON)
        end = time.monotonic() + HANG_SECONDS
        for number in itertools.count():
            said = text or f"word{number * 7919:x} "
            peer.sendall(chunk({"content": said}) if is_stream else said.encode() * 1000)
            if time.monotonic() > end:
                return

    return send


def disconnects_midway(peer: socket.socket, request: Request) -> None:
    data = completion(request, '{"reason": "It is fine." , "score": 80')
    peer.sendall(data[: len(data) // 2])
    peer.close()


def packs_a_bomb(peer: socket.socket, request: Request) -> None:
    kind = "text/event-stream" if request.get("stream") else "application/json"
    peer.sendall(http(packed_comments(), kind=kind, Content_Encoding="gzip"))


@cache
def packed_comments() -> bytes:
    """300 MB. Takes seconds, so call it before a run."""
    packer = zlib.compressobj(9, wbits=zlib.MAX_WBITS | 16)
    megabyte = b":   \n\n  " * 125_000
    return b"".join([*(packer.compress(megabyte) for _ in range(300)), packer.flush()])


KINDS = (
    Kind("never answers", never_answers),
    Kind("accepts, then closes", sends(b"", closes=True)),
    Kind("endless reply", streams_endlessly("")),
    Kind("endless looping reply", streams_endlessly(SENTENCE)),
    Kind("loop", says(SENTENCE * 40)),
    Kind("loop in Chinese", says("答案没有引用来源，因此无法核实这一说法。" * 40)),
    Kind("loop in JSON", says('{"passed": true, "reason": "' + SENTENCE * 40 + '", "score": 99}')),
    Kind("cut off", says('{"reason": "It is', "length")),
    Kind("cut off, always", says("Staff have 25 days of leave [1] and", "length")),
    Kind("10 MB", says(LONG)),
    Kind("wrong schema", says('{"verdict": "good"}')),
    Kind("HTML", sends(http(b"<html><body>Welcome</body></html>", kind="text/html"))),
    Kind("429", sends(http(b'{"error": {"message": "slow down"}}', "429 Too Many Requests", Retry_After="0"))),
    Kind("Retry-After of a day", sends(http(b"{}", "429 Too Many Requests", Retry_After="86400"))),
    Kind("500", sends(http(b"oops", "500 Internal Server Error", "text/plain"))),
    Kind("401", sends(http(b'{"error": {"message": "no such key"}}', "401 Unauthorized"))),
    Kind("redirects to itself", sends(http(b"", "307 Temporary Redirect", Location="/v1/chat/completions"))),
    Kind("drips bytes", drips(itertools.chain([ENDLESS_JSON], itertools.repeat(b" ")), 0.05)),
    Kind("drips comments", drips(itertools.chain([EVENT_STREAM], itertools.repeat(b": \n\n")), 0.05)),
    Kind("drips headers", drips(itertools.chain([b"HTTP/1.1 200 OK\r\n"], itertools.repeat(b"X-A: b\r\n")), 0.05)),
    Kind("disconnects midway", disconnects_midway),
    Kind("too short for its length", sends(http(b"{}", Content_Length="5000"), closes=True)),
    Kind("length is no number", sends(http(b"{}", Content_Length="many"))),
    Kind("no HTTP", sends(b"220 mail.example ESMTP\r\n", closes=True)),
    Kind("gzip bomb", packs_a_bomb),
    Kind("gzip that is none", sends(http(b"not packed", Content_Encoding="gzip"))),
    Kind("invalid UTF-8", sends(http(b'{"id": "\xff\xfe", "choices": [{"message": {"content": "\xc3\x28"}}]}'))),
    Kind("deeply nested JSON", sends(http(b'{"a":' * 200_000))),
    Kind("deeply nested arguments", says('{"a":[' * 20_000)),
    Kind("no choices", sends(http(json.dumps({**HEAD, "object": "chat.completion", "choices": []}).encode()))),
    Kind("null choices", sends(http(json.dumps({**HEAD, "object": "chat.completion", "choices": None}).encode()))),
    Kind("an error with status 200", sends(http(b'{"error": {"message": "model is loading", "code": 503}}'))),
    Kind("empty reply", says("")),
    Kind("an array", sends(http(b"[1, 2, 3]"))),
    Kind("score NaN", says('{"reason": "x", "score": NaN, "passed": NaN}')),
    Kind("a number of 4,000 digits", says('{"reason": "x", "score": ' + "9" * 4000 + ', "passed": 9}')),
    Kind("refusal", says("", "content_filter")),
    Kind("empty stream", sends(http(b"data: [DONE]\n\n", kind="text/event-stream"))),
    Kind("lone surrogates", says('{"reason": "\\ud83d", "score": "\\ud83d"}')),
)
