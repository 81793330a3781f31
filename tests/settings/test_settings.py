"""Settings come from the file and the environment, and an error says which (SPEC B3, B8, B13)."""

from pathlib import Path

import pytest

from tests.test_secrets import KEYS as SECRETS
from veracity.errors import ConfigurationError
from veracity.settings import (
    KEYS,
    SECTIONS,
    ModelServer,
    ModelSettings,
    Settings,
    load_settings,
    model_warnings,
    origin,
    variable,
)

PATH = Path("veracity.toml")
ALL = ", ".join(KEYS[""])
MODEL = 'a model is written "provider:model", without spaces and with the provider in small letters, such as'


def load(text: str | None = None) -> Settings:
    return load_settings(None if text is None else text.encode(), PATH)


def refusal(text: str | None = None) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load(text)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_without_a_file_the_defaults_apply() -> None:
    empty = "".join(f"[{name}]\n" for name in SECTIONS)
    assert load() == load("") == load("# nothing") == load(empty) == Settings()


def test_the_environment_overrides_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "[models]\njudge = 'openai:gpt-5'\n[llm]\nworkers = 3\ncall_timeout = 5\n[budget]\ncost_usd = 1"
    assert load(text).models.judge == "openai:gpt-5"
    assert (load(text).llm.workers, load(text).llm.call_timeout, load(text).budget.cost_usd) == (3, 5.0, 1.0)
    monkeypatch.setenv("VERACITY_LLM__WORKERS", " 7 ")
    monkeypatch.setenv("VERACITY_LLM__OUTPUT_MODE", "tool")
    monkeypatch.setenv("VERACITY_BUDGET__COST_USD", "0.25")
    changed = load(text)
    assert (changed.llm.workers, changed.llm.call_timeout, changed.llm.output_mode) == (7, 5.0, "tool")
    assert (changed.budget.cost_usd, changed.models.judge) == (0.25, "openai:gpt-5")


def test_hosts_are_stored_as_browsers_send_them(monkeypatch: pytest.MonkeyPatch) -> None:
    given = ["Answers.Example.com:8443", "münchen.example.", "例え.jp", "my_service", "192.0.2.7:80", "fd00::7"]
    known = ["answers.example.com", "xn--mnchen-3ya.example", "xn--r8jz45g.jp", "my_service", "192.0.2.7", "fd00::7"]
    assert load(f"[server]\nallowed_hosts = {given}").server.allowed_hosts == known
    monkeypatch.setenv("VERACITY_SERVER__ALLOWED_HOSTS", ", ".join(given))
    assert load().server.allowed_hosts == known


@pytest.mark.parametrize("sources", [["graph"], ["graph", "knowledge"], ["knowledge"]])
def test_lists_use_commas_in_the_environment(sources: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(f"[retrieval]\nsources = {sources}").retrieval.sources == sources
    for comma in (",", ", ", " , "):
        monkeypatch.setenv("VERACITY_RETRIEVAL__SOURCES", comma.join(sources))
        assert load("[retrieval]\nsources = ['knowledge']").retrieval.sources == sources


@pytest.mark.parametrize("name", ["bundled", "none", "openai:text-embedding-3-small", "ollama:bge-m3", "onnx:/a b/模"])
def test_embedders(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load(f"[models]\nembedder = '{name}'").models.embedder == name
    monkeypatch.setenv("VERACITY_MODELS__EMBEDDER", name)
    assert load().models.embedder == name


@pytest.mark.parametrize("section", ["models", "retrieval"])
def test_a_model_folder_is_not_a_credential(section: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hugging Face calls the folder of a model by its commit. `retrieval.reranker` is the earlier name."""
    reranker = f"onnx:/models/hub/models--a--b/snapshots/{'0123456789abcdef' * 2}01234567"
    assert load(f"[{section}]\nreranker = '{reranker}'").reranker == reranker
    monkeypatch.setenv(f"VERACITY_{section.upper()}__RERANKER", reranker)
    assert load().reranker == reranker


def test_the_default_reranker_is_the_bundled_one_unless_words_alone_are_compared() -> None:
    assert load().reranker == "bundled"
    assert load("[models]\nembedder = 'none'").reranker == "none"
    assert load("[models]\nembedder = 'none'\nreranker = 'onnx:a'").reranker == "onnx:a"
    assert load("[models]\nreranker = 'none'").reranker == "none"


def test_two_rerankers_are_an_error() -> None:
    text = "[models]\nreranker = 'onnx:a'\n[retrieval]\nreranker = 'onnx:{}'"
    assert load(text.format("a")).reranker == "onnx:a"
    with pytest.raises(ConfigurationError, match=r"are different models: remove retrieval\.reranker\.$"):
        load(text.format("b"))


def test_the_sections_of_the_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load("[reading]\nworkers = 2\n[knowledge]\npassage_tokens = 128\n[retrieval]\nfusion = 'cascade'")
    assert (settings.reading.workers, settings.reading.seconds) == (2, 60)
    assert (settings.knowledge.passage_tokens, settings.knowledge.overlap_tokens) == (128, 30)
    assert (settings.retrieval.fusion, settings.retrieval.vector_weight) == ("cascade", 0.4)
    monkeypatch.setenv("VERACITY_READING__WORKERS", "3")
    monkeypatch.setenv("VERACITY_RETRIEVAL__VECTOR_WEIGHT", "0")
    assert (load().reading.workers, load().retrieval.vector_weight) == (3, 0.0)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("llm = 3", "llm = 3: must be a section: write [llm] above its settings."),
        ("[[llm]]", "llm: must be a section: write [llm] above its settings."),
        ("[model]", f'model: there is no such setting (did you mean "models"?); known: {ALL}.'),
        ("x = 1", f"x: there is no such setting; known: {ALL}."),
        (
            "[models]\njugde = 'a:b'",
            'models.jugde: there is no such setting (did you mean "judge"?); known: writer, '
            "reviewer, rewriter, router, summarizer, judge, embedder, reranker, reader, folder.",
        ),
        ("[models]\njudge = 3", "models.judge = 3: must be text in quotes."),
        ("[models]\njudge = 'gpt-5'", f"models.judge = 'gpt-5': {MODEL}"),
        ("[llm]\nworkers = '16'", "llm.workers = '16': must be a whole number."),
        ("[llm]\nworkers = true", "llm.workers = true: must be a whole number."),
        ("[llm]\nworkers = 0", "llm.workers = 0: must be at least 1."),
        ("[llm]\ncall_timeout = 0", "llm.call_timeout = 0: must be more than 0."),
        ("[llm]\ndeadline = inf", "llm.deadline = inf: must be at most 86,400."),
        ("[llm]\noutput_mode = 'x'", "llm.output_mode = 'x': must be 'auto', 'tool', 'native' or 'prompted'."),
        ("[budget]\ntokens = 1.5", "budget.tokens = 1.5: must be a whole number."),
        ("[budget]\ntokens = 0x" + "f" * 9999, "budget.tokens: must be at most 1,000,000,000,000."),
        ("[budget]\ncost_usd = nan", "budget.cost_usd = nan: must be a finite number."),
        ("[budget]\ncost_usd = inf", "budget.cost_usd = inf: must be a finite number."),
        ("[models]\nembedder = 'mini'", f'models.embedder = \'mini\': write "bundled", "none" or a model; {MODEL}'),
        ("[models]\nembedder = 3", "models.embedder = 3: must be text in quotes."),
        ("[reading]\nmax_megabytes = 0", "reading.max_megabytes = 0: must be at least 1."),
        ("[reading]\nseconds = 0", "reading.seconds = 0: must be more than 0."),
        ("[reading]\nseconds = 3601", "reading.seconds = 3601: must be at most 3,600."),
        ("[reading]\nmemory_megabytes = 511", "reading.memory_megabytes = 511: must be at least 512."),
        ("[reading]\nworkers = 257", "reading.workers = 257: must be at most 256."),
        ("[knowledge]\npassage_tokens = 31", "knowledge.passage_tokens = 31: must be at least 32."),
        ("[knowledge]\npassage_tokens = 2001", "knowledge.passage_tokens = 2001: must be at most 2,000."),
        ("[knowledge]\noverlap_tokens = -1", "knowledge.overlap_tokens = -1: must be at least 0."),
        ("[retrieval]\nvector_weight = 1.1", "retrieval.vector_weight = 1.1: must be at most 1."),
        ("[retrieval]\nvector_weight = -0.1", "retrieval.vector_weight = -0.1: must be at least 0."),
        ("[retrieval]\nfusion = 'x'", "retrieval.fusion = 'x': must be 'rrf', 'weighted' or 'cascade'."),
        (
            "[retrieval]\nsources = ['graph', 'web']",
            "retrieval.sources[2] = 'web': must be 'knowledge' or 'graph'.",
        ),
        ("[retrieval]\nsources = [1]", "retrieval.sources[1] = 1: must be 'knowledge' or 'graph'."),
        ("[retrieval]\nsources = []", "retrieval.sources: "),
        ("[retrieval]\nsources = 3", "retrieval.sources = 3: must be a list"),
        (
            "[server]\nallowed_hosts = 5",
            'server.allowed_hosts = 5: must be a list of names, such as ["answers.example.com"].',
        ),
        *(
            (
                f"[server]\nallowed_hosts = ['answers.example.com', '{name}']",
                f"server.allowed_hosts[2] = '{name}': write the name alone, such as \"answers.example.com\".",
            )
            for name in ("https://answers.example.com", "answers.example.com/", "*", "*.example.com", "a b", "a..b")
        ),
        ("[retrieval]\nsource = ['graph']", 'retrieval.source: there is no such setting (did you mean "sources"?)'),
    ],
)
def test_b8_errors_in_the_file(text: str, told: str) -> None:
    assert refusal(text).startswith(f"veracity.toml, {told}")


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("LLM__WORKERS", "many", " = 'many': must be a whole number."),
        ("LLM__WORKERS", "1.5", " = '1.5': must be a whole number."),
        ("LLM__WORKERS", "0", " = '0': must be at least 1."),
        ("LLM__WORKERS", "[1]", " = '[1]': must be a whole number."),
        ("LLM__CALL_TIMEOUT", "soon", " = 'soon': must be a number."),
        ("LLM__OUTPUT_MODE", "x", " = 'x': must be 'auto', 'tool', 'native' or 'prompted'."),
        ("MODELS__JUDGE", "gpt-5", f" = 'gpt-5': {MODEL}"),
        ("MODELS__JUDGE", "openai:\udcff", f" = 'openai:\\udcff': {MODEL}"),
        ("BUDGET__COST_USD", "inf", " = 'inf': must be a finite number."),
        ("MODELS__EMBEDDER", "mini", f' = \'mini\': write "bundled", "none" or a model; {MODEL}'),
        ("RETRIEVAL__SOURCES", "graph,web", " = 'web': must be 'knowledge' or 'graph'."),
        ("RETRIEVAL__SOURCES", "graph,", " = '': must be 'knowledge' or 'graph'."),
        ("RETRIEVAL__SOURCES", '["graph"]', " = '[\"graph\"]': must be 'knowledge' or 'graph'."),
        ("RETRIEVAL__VECTOR_WEIGHT", "nan", " = 'nan': must be at most 1."),
        ("RETRIEVAL__SOURCE", "graph", " is not a setting; did you mean VERACITY_RETRIEVAL__SOURCES?"),
        ("READING__WORKERS", "0", " = '0': must be at least 1."),
        ("BUDGET__TOKENS", "9" * 5000, ": must be a smaller number."),
        (
            "MODELS__JUDGE",
            SECRETS[0],
            " looks like a credential (not shown): put that into the provider's own variable",
        ),
        ("MODELS", '{"judge": 3}', " is not a setting; known: VERACITY_MODELS__WRITER, "),
        ("MODELS", "garbage", " is not a setting; known: VERACITY_MODELS__WRITER, "),
        ("MODELS__JUDGE__X", "a:b", " is not a setting; did you mean VERACITY_MODELS__JUDGE?"),
        ("MODELS_JUDGE", "a:b", " is not a setting; did you mean VERACITY_MODELS__JUDGE?"),
        ("MODEL__JUDGE", "a:b", " is not a setting; did you mean VERACITY_MODELS__JUDGE?"),
        ("NONSENSE__X", "1", " is not a setting; settings are named VERACITY_SECTION__KEY, and the sections are: "),
    ],
)
def test_b8_errors_in_the_environment(name: str, value: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"VERACITY_{name}", value)
    message = refusal("[models]\njudge = 'openai:gpt-5'")
    assert message.startswith(f"The environment variable VERACITY_{name}{told}")
    assert SECRETS[0] not in message


def test_b8_a_lowercase_variable_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("veracity_models__judge", "a:b")
    assert refusal().endswith("veracity_models__judge is not a setting; did you mean VERACITY_MODELS__JUDGE?")


def test_empty_and_foreign_variables_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VERACITY_MODELS__JUDGE", "VERACITY_LLM__WORKERS", "VERACITY_MODELS", "VERACITY_X__Y"):
        monkeypatch.setenv(name, "  ")
    monkeypatch.setenv("VERACITY_HOME", "/srv")
    monkeypatch.setenv("VERACITY_FUZZ_EXAMPLES", "5")
    assert load("[models]\njudge = 'openai:gpt-5'").models.judge == "openai:gpt-5"


def test_the_origin_of_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    assert origin("models", "judge") == "veracity.toml, models.judge"
    monkeypatch.setenv(variable("models", "judge"), "a:b")
    assert origin("models", "judge") == "the environment variable VERACITY_MODELS__JUDGE"


def test_every_section_is_listed() -> None:
    sections = {name: type(getattr(Settings(), name)) for name in Settings.model_fields if name != "servers"}
    assert sections == SECTIONS and set(KEYS[""]) == set(Settings.model_fields)
    roles = ["writer", "reviewer", "rewriter", "router", "summarizer", "judge", "embedder", "reranker", "reader"]
    assert KEYS["models"] == [*roles, "folder"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "coverage_weight = 0.5",
            "The weights of [quality] must sum to 1, not 1.1: coverage_weight 0.5 + relevance_weight 0.3 + "
            "diversity_weight 0.2 + count_weight 0.1.",
        ),
        (
            "coverage_weight = 1.0\nrelevance_weight = 0.0\ndiversity_weight = 0.0\ncount_weight = 0.0",
            "[quality] coverage_weight leaves no weight for the others, and coverage is not always known: lower it.",
        ),
        ("medium = 0.8", "[quality] medium (0.8) must not exceed high (0.7): lower medium or raise high."),
    ],
)
def test_c1_settings_that_depend_on_each_other(text: str, told: str) -> None:
    assert refusal(f"[quality]\n{text}") == f"veracity.toml or the environment: {told}"


def test_c1_weights_may_come_from_both_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERACITY_QUALITY__COVERAGE_WEIGHT", "0.3")
    assert load("[quality]\nrelevance_weight = 0.4").quality.coverage_weight == 0.3
    assert "The weights of [quality] must sum to 1, not 0.9" in refusal("")


def test_aliases_are_read_and_own_names_take_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GENER_EPOCH", "5")
    monkeypatch.setenv("LLM_MUTI_AGENT", "openai:gpt-5")
    settings = load("[answering]\ngener_epoch = 1")
    assert (settings.answering.gener_epoch, settings.models.reviewer) == (5, "openai:gpt-5")
    assert origin("models", "reviewer") == "the environment variable LLM_MUTI_AGENT"
    monkeypatch.setenv("VERACITY_ANSWERING__GENER_EPOCH", "2")
    assert load("").answering.gener_epoch == 2
    monkeypatch.setenv("LLM_MUTI_AGENT", "gpt-5")
    assert refusal("").startswith("The environment variable LLM_MUTI_AGENT = 'gpt-5': ")


def test_a9_a_model_that_reviews_itself_is_a_warning() -> None:
    same = ModelSettings(writer="openai:gpt-5", reviewer="openai:gpt-5")
    assert "reviews its own drafts (veracity.toml, models.reviewer)" in model_warnings(same, {})[0]
    assert model_warnings(ModelSettings(writer="openai:gpt-5", reviewer="openai:gpt-4"), {}) == []
    assert model_warnings(ModelSettings(), {}) == []
    assert model_warnings(ModelSettings(writer="openai:gpt-5", reviewer="openai-chat:gpt-5"), {})


@pytest.mark.parametrize(
    ("writer", "reviewer", "is_same"),
    [
        ("big:m", "big:m", True),
        ("big:m", "big:n", False),
        ("big:m", "small:m", False),
        ("my-big:m", "my-small:m", False),
        ("big:m", "same:m", True),
        ("big:m", "openai-chat:m", False),
        ("small:m", "openai-chat:m", True),
    ],
)
def test_a9_servers_with_one_address_are_one_place(
    writer: str, reviewer: str, is_same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses = {"big": "b", "same": "B/", "small": "s", "my-big": "b", "my-small": "s"}
    servers = {name: ModelServer(url=f"http://gpu/{path}") for name, path in addresses.items()}
    monkeypatch.setenv("OPENAI_BASE_URL", "http://gpu/s/")
    assert bool(model_warnings(ModelSettings(writer=writer, reviewer=reviewer), servers)) is is_same


def test_every_setting_is_described() -> None:
    fields = {
        f"{name}.{key}": field for name, section in SECTIONS.items() for key, field in section.model_fields.items()
    }
    assert [name for name, field in fields.items() if not field.description] == []
