"""Credentials are spotted, and ordinary text is not taken for one (SPEC B13)."""

import pytest

from veracity.secrets import HIDDEN, key_place, looks_like_key, names_credential, presentable, without_secrets

KEYS = [
    "sk-T3BlbkFJ0123456789abcdefABCDEF0123456789abcdefgh",
    "sk-abcdefghijklmnopqrstuvwx",
    "sk-1234567890abcd",
    "sk-proj-Ab3_dE6-gH9jKl2mNo5pQr8sTu1vWx4yZa7bCd0eFg3hIj6",
    "sk-ant-api03-Zx9Yw8Vu7Ts6Rq5Po4Nm3Lk2Ji1Hg0Fe-Dc_Ba9876543210AA",
    "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",
    "sk-lf-1a2b3c4d-5e6f-7a8b-9c0d-1e2f3a4b5c6d",
    "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY",
    "gsk_Kq3vR8wZ1xY6uT0pL5nM9bC2dF7gH4jS8kQ1",
    "hf_abcdefghijABCDEFGHIJklmnopqrst",
    "AKIAIOSFODNN7EXAMPLE",
    "ASIAIOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
    "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuv",
    "glpat-Ab1Cd2Ef3Gh4Ij5Kl6Mn",
    "xoxb-123456789012-abcdefGHIJKL",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    "Authorization: Bearer abc123def456ghi789jkl",
    "bearer 0123456789abcdef0123",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----",
    "9f86d081884c7d659a2feaa0c55ad015",
    "9F86D081884C7D659A2FEAA0C55AD015",
    "use 9f86d081884c7d659a2feaa0c55ad015 for it",
    "Xb7Qn2Wc9Lf4Rk6Tz1Vp8Md3Hs5Jy0Ga",
    "https://me:hunter2@example.com/v1",
    "https://example.com/v1?api_key=hunter22&x=1",
    "openai:https://example.com/sk-proj-Ab3dE6gH9jKl2mNo5pQr8sTu1vWx4yZ",
    "请使用sk-proj-Ab3dE6gH9jKl2mNo5pQr8sTu1vWx4yZ作为密钥",
]

ORDINARY = [
    "",
    "anthropic:claude-sonnet-4-5-20250929",
    "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "bedrock:arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2c3d4e5f6",
    "openrouter:qwen/qwen3-235b-a22b-2507",
    "openrouter:nousresearch/hermes-3-llama-3.1-405b:free",
    "huggingface:Qwen/Qwen3-235B-A22B",
    "huggingface:meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8",
    "openai-chat:Qwen2.5-Coder-1.5B-Instruct-Q4_K_M.gguf",
    "openai-chat:hf.co/bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M",
    "openai-chat:/home/me/models/Qwen3/8B/v2/q4/checkpoints/final2",
    "openai:ft:gpt-4o-2024-08-06:acme:custom:AbC12dEf",
    "fireworks:accounts/fireworks/models/llama-v3p1-405b-instruct",
    "together:deepseek-ai/DeepSeekV3Base0324Instruct",
    "azure:myorggpt4omini20240718",
    "ollama:deepseek-r1:1.5b",
    "IsItOnTopicOrNotAtAll",
    "AnswerIsNeitherTooLongNorTooShort",
    "sk-learn",
    "sk-learn-pipeline-tutorial",
    "risk-assessment-and-mitigation-plan-2025",
    "task-decomposition-and-planning-2025-edition",
    "Aizawa-sensei-explains-the-topic-2025",
    "ASIAPACIFICREGION2025",
    "bearer instruments-issued-in-2025",
    "http://localhost:8000/v1",
    "--------------------------------------------",
    "12345678901234567890123456789012345678901234567890",
    "Count every token. Never ask for a password or an API key; a secret is no answer. Use sk-learn where it helps. "
    * 9,
    "请判断回答是否准确、完整。不要要求用户提供密码(password)或令牌(token)。评分从0到100,2025年版第12345678条。" * 20,
    "回答が正確かどうかを判断してください。パスワードやトークン（token）は不要です。sk-learnの説明も可。" * 20,
    "Donaudampfschifffahrtsgesellschaftskapitaenswitwe",
]


@pytest.mark.parametrize("text", KEYS)
def test_b13_keys_are_detected_alone_in_prose_and_in_lists(text: str) -> None:
    assert looks_like_key(text)
    assert looks_like_key(f"The key is {text} and nothing else.")
    assert key_place({"a": [{"b": f"x {text}"}]}) == ("a", 0, "b")


@pytest.mark.parametrize("text", ORDINARY)
def test_b13_ordinary_text_is_not_a_key(text: str) -> None:
    assert not looks_like_key(text)
    assert key_place({"model": text, "system_instruction": text}) is None


@pytest.mark.parametrize(
    "field", ["api_key", "apiKey", "API-KEY", "key", "token", "hf_token", "accessToken", "password"]
)
def test_b13_a_field_named_like_a_credential_holds_one(field: str) -> None:
    assert names_credential(field)
    assert key_place({"llm": {field: "hunter2"}}) == ("llm", field)
    assert key_place({field: ""}) is None


@pytest.mark.parametrize("field", ["max_tokens", "tokens", "monkey", "keyboard", "passwordless", "", "2025", "名前"])
def test_b13_a_similar_field_name_is_not_a_credential(field: str) -> None:
    assert not names_credential(field)
    assert key_place({field: "hunter2"}) is None


def test_b13_a_key_used_as_a_name_is_not_part_of_its_place() -> None:
    assert key_place({"a": {KEYS[0]: {"b": 1}}}) == ("a",)
    assert key_place({KEYS[0]: 1}) == ()


def test_b13_secrets_are_hidden_in_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_API_KEY", "correct horse")
    monkeypatch.setenv("ACME_TOKEN", "correct horse battery")
    monkeypatch.setenv("SHORT_KEY", "a")
    text = without_secrets(
        f"correct horse battery, correct horse, {KEYS[0]}, https://me:hunter2@host, sk-learn-pipeline"
    )
    assert text == f"{HIDDEN}, {HIDDEN}, {HIDDEN}, https://{HIDDEN}@host, sk-learn-pipeline"


def test_b8_repeated_input_is_short_printable_and_not_secret() -> None:
    assert presentable("Coverage") == "Coverage"
    assert presentable("a\nb\x1b[31m\u202e\udcff") == "a\\nb\\x1b[31m\\u202e\\udcff"
    assert presentable("x" * 10_000) == "x" * 60 + "…"
    assert presentable("it's\\") == "it's\\"
    assert presentable("x" * 100 + " " + KEYS[0]) == HIDDEN


@pytest.mark.parametrize(
    "piece", ["sk-", "a1", "eyJ", "https://a:", "?key=", "ASIA", "Bearer ", "-----BEGIN ", "a/", "9"]
)
def test_b13_a_megabyte_is_scanned_in_linear_time(piece: str) -> None:
    """No pattern takes time that grows with the square of the text: that would be minutes."""
    assert looks_like_key(piece * (1_000_000 // len(piece)) + " sk-proj-Ab3dE6gH9jKl2mNo5pQr8sTu1vWx4yZ")
