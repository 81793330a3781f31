"""`[servers.NAME]` in the file and the environment."""

from contextlib import suppress
from pathlib import Path

import pytest
from pydantic_ai.providers import infer_provider_class

from tests.test_secrets import KEYS as SECRETS
from veracity.errors import ConfigurationError
from veracity.reranking.remote import SERVICES
from veracity.settings import ModelServer, Settings, load_settings
from veracity.settings.servers import OTHER_KINDS, PROVIDERS

URL = "http://gpu:8000/v1"


def load(text: str = "") -> dict[str, ModelServer]:
    return load_settings(text.encode(), Path("veracity.toml")).servers


def refusal(text: str = "") -> str:
    with pytest.raises(ConfigurationError) as caught:
        load(text)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_servers_of_the_file() -> None:
    assert Settings().servers == load() == {}
    text = f'[servers.big]\nurl = "{URL}/"\nkey_env = "BIG_API_KEY"\n[servers.my-small_1]\nurl = "https://h:1"\n'
    assert load(text) == {
        "big": ModelServer(url=URL, key_env="BIG_API_KEY"),
        "my-small_1": ModelServer(url="https://h:1", key_env=None),
    }


def test_servers_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERACITY_SERVERS__MY_GPU__URL", f" {URL} ")
    monkeypatch.setenv("VERACITY_SERVERS__MY_GPU__KEY_ENV", "GPU_TOKEN")
    monkeypatch.setenv("VERACITY_SERVERS__EMPTY__URL", " ")
    assert load() == {"my_gpu": ModelServer(url=URL, key_env="GPU_TOKEN")}
    text = '[servers.my-gpu]\nurl = "http://other"\n[servers.x]\nurl = "http://x"\nkey_env = "X_KEY"\n'
    monkeypatch.setenv("VERACITY_SERVERS__X__URL", "http://y")
    assert load(text) == {
        "my-gpu": ModelServer(url=URL, key_env="GPU_TOKEN"),
        "x": ModelServer(url="http://y", key_env="X_KEY"),
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[servers.a]", "servers.a.url: this is missing; add it."),
        ("[servers]\na = 3", "servers.a = 3: must be a section: write [servers.a] above its settings."),
        ("servers = 3", "servers = 3: must be a section"),
        (
            f'[servers.a]\nurl = "{URL}"\nkey_en = "A_KEY"',
            'servers.a.key_en: there is no such setting (did you mean "key_env"?); known: url, key_env, api.',
        ),
        *(
            (
                f'[servers.a]\nurl = "{url}"',
                f"servers.a.url = '{url}': must be the address of a server, such as http://",
            )
            for url in ("", "gpu:8000", "ftp://gpu/v1", "http://", "http://gpu:99999", "http://g pu")
        ),
        (
            '[servers.a]\nurl = "http://me@gpu/v1"',
            "servers.a.url = 'http://me@gpu/v1': must not contain a user name or password",
        ),
        ('[servers.a]\nurl = "http://gpu/v1?a=b"', "servers.a.url = 'http://gpu/v1?a=b': must end with its path"),
        (f'[servers.a]\nurl = "{URL}"\nkey_env = ""', "servers.a.key_env = '': must be the name of an environment"),
        (f'[servers.a]\nurl = "{URL}"\nkey_env = "A-KEY"', "servers.a.key_env = 'A-KEY': must be the name of an env"),
        (f'[servers.a]\nurl = "{URL}"\nkey_env = "PATH"', "servers.a.key_env = 'PATH': must be a variable with _KEY"),
        *(
            (f'[servers."{name}"]\nurl = "{URL}"', f'servers: a server cannot be called "{name}": use small letters')
            for name in ("GPU", "a b", "größe", "-a", "a.b", "a:b", "")
        ),
        (
            f'[servers.a-b]\nurl = "{URL}"\n[servers.a_b]\nurl = "{URL}"',
            'servers: the servers "a-b" and "a_b" would have the same environment variables.',
        ),
    ],
)
def test_errors_in_the_file(text: str, told: str) -> None:
    assert refusal(text).startswith(f"veracity.toml, {told}")


@pytest.mark.parametrize("name", ["openai", "openai-chat", "anthropic", "ollama", *sorted({*SERVICES, *OTHER_KINDS})])
def test_names_with_a_meaning_are_reserved(name: str) -> None:
    assert f'a server cannot be called "{name}"' in refusal(f'[servers.{name}]\nurl = "{URL}"')


@pytest.mark.parametrize("provider", PROVIDERS)
def test_listed_providers_exist(provider: str) -> None:
    """The SDK may be missing, but pydantic-ai knows the name."""
    with suppress(ImportError):
        infer_provider_class(provider)


def test_all_providers_of_pydantic_ai_are_reserved() -> None:
    source = Path(infer_provider_class.__code__.co_filename).read_text(encoding="utf-8")
    cases = [line.strip() for line in source.splitlines() if line.strip().startswith("case '")]
    names = {name.strip(" '") for case in cases for name in case.removeprefix("case").rstrip(":").split("|")}
    assert len(names) > 30 and names <= {*PROVIDERS, *OTHER_KINDS}


@pytest.mark.parametrize("secret", SECRETS[:3])
def test_keys_are_refused_and_not_shown(secret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """SPEC B13."""
    for place in ("key_env", "url", "key"):
        values = {"url": URL, place: secret}
        message = refusal("[servers.a]\n" + "".join(f'{key} = "{value}"\n' for key, value in values.items()))
        assert f"servers.a.{place}: this looks like a credential" in message and secret not in message
    monkeypatch.setenv("VERACITY_SERVERS__A__KEY_ENV", secret)
    assert secret not in refusal() and "VERACITY_SERVERS__A__KEY_ENV looks like a credential" in refusal()


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("VERACITY_SERVERS__A__URL", "gpu", "VERACITY_SERVERS__A__URL = 'gpu': must be the address of a server"),
        ("VERACITY_SERVERS__A__KEY_ENV", "A_KEY", "VERACITY_SERVERS__A__URL is missing: set it to the address"),
        (
            "VERACITY_SERVERS__A__UR",
            URL,
            "VERACITY_SERVERS__A__UR is not a setting; known: VERACITY_SERVERS__NAME__URL",
        ),
        (
            "VERACITY_SERVERS__URL",
            URL,
            "VERACITY_SERVERS__URL is not a setting; known: VERACITY_SERVERS__NAME__URL, ",
        ),
        ("VERACITY_SERVERS", URL, "VERACITY_SERVERS is not a setting; "),
        ("veracity_servers__a__url", URL, "veracity_servers__a__url is not a setting; known: VERACITY_SERVERS__NAME__"),
    ],
)
def test_errors_in_the_environment(name: str, value: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    assert refusal().startswith(f"The environment variable {told}")


def test_reserved_name_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERACITY_SERVERS__OLLAMA__URL", URL)
    assert refusal().startswith('The environment variables VERACITY_SERVERS__…: a server cannot be called "ollama"')
