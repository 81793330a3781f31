"""The public names of the package, and the cost of importing it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import veracity

PROVIDERS = ("pydantic_ai", "openai", "anthropic", "langgraph", "httpx", "httpx2")
STORAGE = ("sqlalchemy", "lancedb", "pyarrow", "numpy", "onnxruntime", "tokenizers")
HEAVY = (*PROVIDERS, *STORAGE, "rjieba", "rich")


def test_public_names() -> None:
    assert sorted(veracity.__all__) == [
        "Answer",
        "Approval",
        "BaseMetric",
        "BusyError",
        "ConfigurationError",
        "ConversationSummary",
        "DecidedError",
        "Decision",
        "DecisionError",
        "Document",
        "EvaluationConfig",
        "EvaluationError",
        "EvaluationRequest",
        "EvaluationResult",
        "Evaluator",
        "Evidence",
        "IngestReport",
        "InputError",
        "KnowledgeError",
        "KnownDocument",
        "LLMMetric",
        "LedgerError",
        "MetricConfig",
        "MetricScore",
        "ModelError",
        "OutdatedIndexError",
        "PastTurn",
        "Receipt",
        "RunEvent",
        "RunSummary",
        "SupersededError",
        "Veracity",
        "VeracityError",
        "WebSearchError",
        "__version__",
    ]
    for name in veracity.__all__:
        assert getattr(veracity, name) is not None
    assert set(veracity.__all__) <= set(dir(veracity))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_here"):
        _ = veracity.nothing_here


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        ("import veracity", (*HEAVY, "pydantic", "typer")),
        ("import veracity.cli", HEAVY),
        ("import veracity; veracity.Evaluator().plan()", (*PROVIDERS, *STORAGE)),
        ("import veracity; veracity.Document, veracity.Evidence, veracity.BusyError", HEAVY),
        ("import veracity.knowledge.store", ("lance_namespace_urllib3_client.api",)),
        ("import veracity.engine", (*HEAVY, "langchain_core")),
    ],
)
def test_heavy_modules_are_not_imported(code: str, unwanted: tuple[str, ...]) -> None:
    """DESIGN 7: names, help and configuration checks import no provider SDK, database or embedding model."""
    program = f"{code}\nimport sys\nprint([name for name in {unwanted!r} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_no_library_writes_an_id_to_the_home_directory(tmp_path: Path) -> None:
    """onnxruntime does by default, for its telemetry."""
    program = "from veracity.embedding.bundled import BundledEmbedder; BundledEmbedder().embed_query('a')"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "ORT_"))}
    subprocess.run([sys.executable, "-c", program], check=True, env={**environment, "HOME": str(tmp_path)})
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
