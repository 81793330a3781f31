"""Whatever a file or a variable says: a plan whose weights sum to 1, or one sentence without secrets.

Covers SPEC B4, B8, B13, B16.
`make fuzz` runs many more examples, and different ones each time; without it the examples are always the same.
"""

import json
import math
import os
import random
import re
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from veracity.errors import ConfigurationError
from veracity.evaluator.config import load_configuration
from veracity.evaluator.plan import Plan, make_plan
from veracity.evaluator.registry import Registry, built_in
from veracity.settings import Settings, load_settings

EXAMPLES = os.environ.get("VERACITY_FUZZ_EXAMPLES", "")
fuzzed = settings(
    max_examples=int(EXAMPLES or 120),
    derandomize=not EXAMPLES,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example, HealthCheck.data_too_large],
)

FILE = Path("configs/evaluator.toml")
REGISTRY = Registry(built_in())
NAMES = [entry.name for entry in REGISTRY]


def plan_of(content: bytes) -> Plan:
    return make_plan(load_configuration(content, FILE), REGISTRY, Settings(), str(FILE))


def outcome(load: Callable[[], object], *secrets: str) -> object | None:
    """What was loaded; None when it was refused in the way it should be. Any other error fails the test."""
    try:
        loaded = load()
    except ConfigurationError as problem:
        message = str(problem)
        assert message.isprintable() and 20 < len(message) < 1000, message
        assert not [secret for secret in secrets if secret in message]
        return None
    if isinstance(loaded, Plan):
        weights = [metric.weight for metric in loaded.metrics]
        assert weights and min(weights) >= 0 and math.isclose(math.fsum(weights), 1, abs_tol=1e-9)
    return loaded


def both_outcomes(content: bytes, *secrets: str) -> tuple[object | None, object | None]:
    """Of the same content as the one file and as the other."""
    plan = outcome(lambda: plan_of(content), *secrets)
    return plan, outcome(lambda: load_settings(content, Path("veracity.toml")), *secrets)


# --- credentials ---

LETTERS = string.ascii_letters + string.digits
KEY_FORMS: dict[str, tuple[str, int]] = {
    "sk-{}": (LETTERS, 48),
    "sk-proj-{}": (LETTERS + "-_", 120),
    "sk-ant-api03-{}": (LETTERS + "-_", 95),
    "AIza{}": (LETTERS + "-_", 35),
    "gsk_{}": (LETTERS, 52),
    "hf_{}": (string.ascii_letters, 34),
    "AKIA{}": (string.ascii_uppercase + "234567", 16),
    "ghp_{}": (LETTERS, 36),
    "eyJ{}": (LETTERS + "-_", 60),
    "Bearer {}": (LETTERS, 40),
    "https://me:{}@example.com": (LETTERS, 12),
    "https://example.com/?api_key={}": (LETTERS, 12),
    "{}": ("0123456789abcdef", 40),
}


def _key(form: str, seed: int) -> str:
    alphabet, length = KEY_FORMS[form]
    return form.format("".join(random.Random(seed).choices(alphabet, k=length)))


keys = st.builds(_key, st.sampled_from(sorted(KEY_FORMS)), st.integers(0, 10**9))

# --- documents ---

text = st.text(st.characters(codec="utf-8"), max_size=30)
junk: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        text,
        st.integers(),
        st.integers(-(2**200), 2**200),
        st.floats(),
        st.booleans(),
        st.dates(),
        st.datetimes(),
        st.times(),
        st.sampled_from(["", " ", "gpt-5", "openai:", ":x", "antropic:claude", "a:b", "x" * 3000, "../os", "a\n\x1b"]),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=4,
)
PARAMETERS: dict[str, st.SearchStrategy[Any]] = {
    "model": st.sampled_from(["openai:gpt-5", "anthropic:claude-sonnet-5-5", "openrouter:qwen/qwen3:free"]),
    "system_instruction": st.sampled_from(["Is it polite?", "回答是否准确?token 不算。", "x" * 5000]),
    "temperature": st.floats(0, 2) | st.integers(0, 2),
    "max_tokens": st.integers(1, 10_000_000),
    "max_retries": st.integers(0, 20),
    "samples": st.integers(1, 25),
}
weights = st.floats(0, 1)


def _document(names: list[str], shares: list[float] | None, parameters: list[dict[str, Any]]) -> dict[str, Any]:
    """A valid one. The first of `parameters` is `[llm_default]`."""
    total = math.fsum(shares[: len(names)]) if shares else 0
    metrics: list[dict[str, Any]] = [{"name": name, **own} for name, own in zip(names, parameters[1:], strict=False)]
    if shares and total > 0.01:
        metrics = [{**metric, "weight": share / total} for metric, share in zip(metrics, shares, strict=False)]
    return {"metrics": metrics, "llm_default": parameters[0]}


documents = st.builds(
    _document,
    st.lists(st.sampled_from(NAMES), max_size=3, unique=True),
    st.none() | st.lists(weights, min_size=3, max_size=3),
    st.lists(st.fixed_dictionaries({}, optional=PARAMETERS), min_size=4, max_size=4),
)


def toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml(str(name))} = {toml(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(toml(one) for one in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return value.isoformat() if hasattr(value, "isoformat") else repr(value)


def written(document: dict[str, Any], sections: bool) -> str:
    """With `[sections]` as people write them, or all of it inline."""
    inline, below = [], []
    for name, value in document.items():
        if sections and isinstance(value, dict):
            below.append(f"[{toml(name)}]\n{written(value, False)}")
        elif sections and isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
            below += [f"[[{toml(name)}]]\n{written(one, False)}" for one in value]
        else:
            inline.append(f"{toml(name)} = {toml(value)}")
    return "\n".join([*inline, *below]) + "\n"


def places(document: Any) -> list[Any]:
    """Every table and list in it, itself included."""
    parts = document.values() if isinstance(document, dict) else document if isinstance(document, list) else ()
    own = [document] if isinstance(document, dict | list) else []
    return own + [place for part in parts for place in places(part)]


KNOWN = ["metrics", "llm_default", "default_model", "name", "weight", "enabled", "models", "judge", "llm", "workers"]
KNOWN += ["call_timeout", "output_mode", "budget", "tokens", "cost_usd", *PARAMETERS]
MISTAKES: dict[str, st.SearchStrategy[Any]] = {
    "name": st.sampled_from([*NAMES, "", "../os", "os.path", "Covrage", "x" * 3000, "a\n\x1b"]),
    "weight": weights | st.sampled_from([0, 1, -0.5, 1.5, math.nan, math.inf, 0.999, 1.0009, "1", True]),
    "enabled": st.booleans(),
    "model": st.sampled_from(["gpt-5", "openai:", ":x", "antropic:claude", "a:b", "OpenAI:x", "a:" + "x" * 3000]),
    "temperature": st.sampled_from([-1, 2.5, "hot", True, math.nan]),
    "max_tokens": st.sampled_from([0, 1.5, 2**200, True]),
    "max_retries": st.sampled_from([-1, 21, "3"]),
    "samples": st.sampled_from([0, 26, 1.0]),
    "system_instruction": st.sampled_from(["", " ", 3]),
}


def mistaken(draw: st.DrawFn, document: dict[str, Any]) -> None:
    """One value of a metric or of `[llm_default]` is exchanged for one that may be wrong, or taken away."""
    place = draw(st.sampled_from([*document["metrics"], document["llm_default"]]))
    name = draw(st.sampled_from(sorted(MISTAKES)))
    if name in place and draw(st.booleans()):
        del place[name]
    else:
        place[name] = draw(MISTAKES[name])


def mutated(draw: st.DrawFn, document: dict[str, Any]) -> None:
    """Anything is put anywhere."""
    place = draw(st.sampled_from(places(document)))
    if isinstance(place, list):
        place.insert(draw(st.integers(0, len(place))), draw(junk))
    else:
        place[draw(st.sampled_from([*place, *KNOWN]) | text)] = draw(junk)


@st.composite
def mutations(draw: st.DrawFn) -> str:
    document = draw(documents)
    for _ in range(draw(st.integers(0, 3))):
        mistaken(draw, document)
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        mutated(draw, document)
    return written(document, draw(st.booleans()))


@st.composite
def documents_with_a_key(draw: st.DrawFn) -> tuple[str, str]:
    """A credential as a value, inside one, as a name, or as the value of a field that is called like one."""
    document, key = draw(documents), draw(keys)
    place = draw(st.sampled_from([place for place in places(document) if isinstance(place, dict)]))
    match draw(st.sampled_from(["value", "prose", "model", "list", "name", "field"])):
        case "value":
            place[draw(st.sampled_from(KNOWN))] = key
        case "prose":
            place["system_instruction"] = f"Judge it. The key is {key} for now."
        case "model":
            place["model"] = f"openai:{key}"
        case "list":
            place[draw(text)] = [0, {"x": [key]}]
        case "name":
            place[key] = draw(junk)
        case _:
            key = "hunter2 the " + draw(st.text(string.ascii_lowercase, min_size=1))
            place[draw(st.sampled_from(["api_key", "token", "OPENAI_API_KEY", "password", "accessToken"]))] = key
    return written(document, draw(st.booleans())), key


EXAMPLE = """\
# Which metrics score a submission.
default_model = "openai:gpt-5"
[llm_default]
temperature = 0.0
max_tokens = 1000
[[metrics]]
name = "Relevance"
weight = 0.5
[[metrics]]
name = 'LLMPlain'
weight = 0.5
enabled = true
model = "anthropic:claude-sonnet-5-5"
system_instruction = \"\"\"
Is it polite? 礼儀正しいですか。\\u0041
Reason first.\"\"\"
"""
OTHER_EXAMPLE = """\
[models]
judge = "openai:gpt-5"
[llm]
workers = 16
call_timeout = 60.5
output_mode = 'tool'
[budget]
tokens = 50_000
"""
FORMS = ["{}", "# {}", 'api_key = "{}"', 'model = "{}"', "{} = 1", "'{}' = 1", '["{}"]', "x = {}"]
SNIPPETS = [
    *"\"'[]{}=.,#\n\r\t \\\0-_0",
    "[[",
    "]]",
    '"""',
    "nan",
    "1e999",
    "true",
    "\\u",
    "\\x",
    "0x",
    "é",
    "1979-05-27",
]


@st.composite
def edits(draw: st.DrawFn) -> tuple[bytes, str]:
    """An example, perhaps with a credential in a line of it, then cut, doubled, filled in or with bits turned over."""
    key = draw(keys)
    lines = draw(st.sampled_from([EXAMPLE, OTHER_EXAMPLE])).splitlines(keepends=True)
    form = draw(st.just("") | st.sampled_from(FORMS))
    if form:
        lines.insert(draw(st.integers(0, len(lines))), form.replace("{}", key) + "\n")
    content = "".join(lines).encode()
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(0, len(content)))
        end = draw(st.integers(start, min(len(content), start + 40)))
        match draw(st.sampled_from(["cut", "double", "fill", "turn", "end"])):
            case "cut":
                content = content[:start] + content[end:]
            case "double":
                content = content[:end] + content[start:]
            case "fill":
                content = content[:start] + draw(st.sampled_from(SNIPPETS)).encode() + content[start:]
            case "turn" if start < len(content):
                turned = bytes([content[start] ^ (1 << draw(st.integers(0, 7)))])
                content = content[:start] + turned + content[start + 1 :]
            case _:
                content = content[:start]
    return content, key


def _joined(pieces: list[str]) -> bytes:
    return "".join(pieces).encode()


SETTINGS = ["MODELS__JUDGE", "LLM__WORKERS", "LLM__BACKOFF", "LLM__OUTPUT_MODE", "BUDGET__TOKENS", "BUDGET__COST_USD"]
variables = st.builds(
    "VERACITY_{}".format,
    st.sampled_from(SETTINGS) | st.from_regex(r"(MODELS|LLM|X)_{0,2}[A-Z_]{0,12}", fullmatch=True),
)
values = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=100) | st.sampled_from(
    ["a:b", "gpt-5", "1", "0", "-1", "1.5", "nan", "inf", "tool", '{"judge": 3}', "[1]", "null", "9" * 5000]
)


class TestFuzz:
    @fuzzed
    @given(documents, st.booleans())
    def test_b4_valid_documents_are_planned(self, document: dict[str, Any], sections: bool) -> None:
        plan = outcome(lambda: plan_of(written(document, sections).encode()))
        assert isinstance(plan, Plan)
        if listed := document["metrics"]:
            assert [metric.name for metric in plan.metrics] == [metric["name"] for metric in listed]
            expected = [metric.get("weight", 1 / len(listed)) for metric in listed]
            assert [metric.weight for metric in plan.metrics] == pytest.approx(expected, abs=1e-9)

    @fuzzed
    @given(mutations())
    def test_b8_mutated_documents(self, content: str) -> None:
        both_outcomes(content.encode())

    @fuzzed
    @given(documents_with_a_key())
    def test_b13_documents_with_a_credential_are_refused(self, planted: tuple[str, str]) -> None:
        content, key = planted
        assert both_outcomes(content.encode(), key) == (None, None)

    @fuzzed
    @given(edits())
    def test_b16_edited_text(self, edited: tuple[bytes, str]) -> None:
        content, key = edited
        glued = re.search(rb"[A-Za-z0-9]" + re.escape(key.encode()), content)  # what has grown together is another text
        both_outcomes(content, *([] if glued else [key]))

    @fuzzed
    @given(st.binary(max_size=300) | st.lists(st.sampled_from([*SNIPPETS, *KNOWN]), max_size=60).map(_joined))
    def test_b8_random_bytes(self, content: bytes) -> None:
        both_outcomes(content)

    @fuzzed
    @given(st.dictionaries(variables, values, max_size=3), variables, keys)
    def test_b8_random_variables(self, environment: dict[str, str], name: str, key: str) -> None:
        with patch.dict(os.environ, environment):
            outcome(lambda: load_settings(b"[models]\njudge = 'a:b'", Path("veracity.toml")))
        with patch.dict(os.environ, {**environment, name: key}):
            outcome(lambda: load_settings(None, Path("veracity.toml")), key)
