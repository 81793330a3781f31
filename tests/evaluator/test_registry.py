"""Which metrics there are, and what a metric's file may not be (SPEC B7, B8, B17)."""

import sys
from pathlib import Path
from typing import Any, ClassVar, get_type_hints

import pytest

from veracity import BaseMetric, EvaluationRequest, LLMMetric, MetricScore
from veracity.errors import ConfigurationError
from veracity.evaluator.registry import BUILT_IN, REGISTERED, Registry, built_in, from_files, registered

HEAD = "from veracity import BaseMetric, LLMMetric\n"
GOOD = HEAD + "class Good(BaseMetric):\n    def evaluate(self, request):\n        return self.score(1, 'x')\n"


class Constant(BaseMetric):
    """Always 40.

    More than one line.
    """

    def evaluate(self, request: EvaluationRequest) -> MetricScore:
        return self.score(40, "forty")


class Unfinished(BaseMetric):
    pass


def found(**sources: str | bytes) -> Registry:
    contents = {
        Path(f"metrics/{name}.py"): source if isinstance(source, bytes) else source.encode()
        for name, source in sources.items()
    }
    return Registry([*built_in(), *from_files(contents, contents)])


def own(**sources: str | bytes) -> list[str]:
    return [entry.name for entry in found(**sources) if entry.origin != BUILT_IN]


def refusal(**sources: str | bytes) -> str:
    with pytest.raises(ConfigurationError) as caught:
        found(**sources)
    message = str(caught.value)
    assert message.isprintable() and len(message) < 500
    return message


class TestBuiltIn:
    def test_b1_built_in_metrics(self) -> None:
        names = {entry.name for entry in built_in()}
        assert {"ClarityCoherence", "Coverage", "Relevance", "LLMPlain"} <= names
        assert not {"BaseMetric", "LLMMetric"} & names
        assert all(entry.origin == BUILT_IN and entry.summary for entry in built_in())


class TestFiles:
    def test_b7_a_class_in_a_file_is_a_metric(self) -> None:
        registry = found(good=GOOD)
        assert registry.find("Good", "f").score(1, "x").metric_name == "Good"
        assert {entry.name: entry.origin for entry in registry}["Good"] == "metrics/good.py"

    def test_b17_the_template_is_a_metric(self) -> None:
        import veracity

        template = Path(veracity.__file__).parent / "templates" / "metrics" / "brevity.py"
        assert own(brevity=template.read_bytes()) == ["Brevity"]

    def test_b7_imported_classes_are_not_metrics_of_the_file(self) -> None:
        borrowed = "from veracity.evaluator.metrics.coverage import Coverage\n"
        assert own(a=borrowed + GOOD) == ["Good"]
        assert refusal(a=borrowed).startswith("metrics/a.py defines no metric: define a class derived from BaseMetric")

    def test_b7_a_metric_may_extend_a_built_in_one(self) -> None:
        source = (
            "from veracity.evaluator.metrics.coverage import Coverage\nclass Strict(Coverage):\n    '''Stricter.'''"
        )
        assert own(a=source) == ["Strict"]

    @pytest.mark.parametrize(
        "source",
        [
            "", "# nothing", HEAD, "x = 1", HEAD + "class A(BaseMetric):\n    pass", "class A:\n    pass",
            HEAD + "class A(LLMMetric):\n    pass", HEAD + "class A(LLMMetric):\n    system_instruction = ' '",
            HEAD + "class A(LLMMetric):\n    system_instruction = None", GOOD.replace("Good", "_Private"),
        ],
    )  # fmt: skip
    def test_b7_a_file_without_a_metric_is_an_error(self, source: str) -> None:
        assert refusal(a=source) == (
            "metrics/a.py defines no metric: define a class derived from BaseMetric (it needs an evaluate() method, "
            "or a system_instruction if it derives from LLMMetric), or start the file's name with an underscore."
        )

    @pytest.mark.parametrize(
        ("source", "told"),
        [
            ("class", "SyntaxError: invalid syntax (line 1)"),
            ("x = 1\n\nx = (\n", "SyntaxError: '(' was never closed (line 3)"),
            ("import no_such_package", "ModuleNotFoundError: No module named 'no_such_package' (line 1)"),
            ("from veracity import Nothing", "ImportError: cannot import name 'Nothing' from 'veracity'"),
            ("\n\nundefined", "NameError: name 'undefined' is not defined (line 3)"),
            ("import sys\nsys.exit(3)", "SystemExit: 3 (line 2)"),
            ("raise SystemExit", "SystemExit (line 1)"),
            ("def f():\n    f()\nf()", "RecursionError: maximum recursion depth exceeded"),
            ("1/0", "ZeroDivisionError: division by zero (line 1)"),
            ("x = " + "(" * 5000 + ")" * 5000, ""),
            ("raise ValueError('a\\nb\\x1b[31m' + 'x' * 9999)", "ValueError: a b\\x1b[31mxxx"),
            ("from . import other", "ImportError: attempted relative import with no known parent package (line 1)"),
            (b"x = 1\0", ""),
            (b"x = '\xff'", "SyntaxError: "),
            ("x = 1".encode("utf-16"), ""),
        ],
    )
    def test_b7_a_file_that_does_not_import_is_an_error(self, source: str | bytes, told: str) -> None:
        before = set(sys.modules)
        message = refusal(a=source)
        assert message.startswith(f"metrics/a.py does not import: {told}")
        assert message.endswith(": fix the file or remove it.")
        assert not [name for name in set(sys.modules) - before if name.startswith("a@")]

    def test_b13_no_secret_of_an_import_error_is_shown(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ACME_API_KEY", "correct horse")
        message = refusal(a="import os\nraise ValueError('no ' + os.environ['ACME_API_KEY'])")
        assert "ValueError: no •••" in message and "horse" not in message

    @pytest.mark.parametrize(
        "body",
        [
            "def __init__(self, limit): ...",
            "def __init__(self): raise ValueError('boom')",
            "def __init__(self): raise SystemExit(1)",
        ],
    )
    def test_b7_a_constructor_that_cannot_be_called(self, body: str) -> None:
        message = refusal(a=f"{GOOD}    {body}\n")
        assert message.startswith('metrics/a.py: the metric "Good" cannot be created (')
        assert message.endswith("): its constructor must work without arguments.")

    def test_b7_two_classes_of_one_name(self) -> None:
        assert refusal(a=GOOD, b=GOOD) == (
            'Two metrics are called "Good" (metrics/a.py; metrics/b.py): rename one of them.'
        )
        assert refusal(a=GOOD.replace("Good", "Coverage")) == (
            'Two metrics are called "Coverage" (built-in; metrics/a.py): rename one of them.'
        )

    def test_b7_an_alias_is_not_a_second_metric(self) -> None:
        assert own(a=GOOD + "Same = Good") == ["Good"]

    def test_b7_dataclasses_whose_annotations_are_text(self) -> None:
        source = (
            f"from __future__ import annotations\nfrom dataclasses import dataclass\n{GOOD}"
            "@dataclass(slots=True)\nclass Word:\n    text: str = ''\n"
            "@dataclass\nclass Better(Good):\n    limit: int = 3\n"
        )
        assert own(a=source) == ["Good", "Better"]

    def test_b7_future_imports_are_not_inherited(self) -> None:
        assert own(a=GOOD + "def f(x: int): ...\nassert f.__annotations__ == {'x': int}") == ["Good"]

    def test_b7_metrics_that_share_a_private_or_unfinished_base(self) -> None:
        base = "class _Base(BaseMetric):\n    def __init__(self, x): ...\n    def evaluate(self, request): ...\n"
        derived = "class Mine(_Base):\n    def __init__(self): ...\n"
        style = "class Style(LLMMetric):\n    pass\nclass Polite(Style):\n    system_instruction = 'Is it polite?'\n"
        assert own(a=HEAD + base + derived + style) == ["Mine", "Polite"]

    def test_b7_an_llm_metric_may_ask_in_its_own_way(self) -> None:
        assert own(a=HEAD + "class Mine(LLMMetric):\n    def evaluate(self, request): ...") == ["Mine"]

    def test_a_summary_is_the_metrics_own(self) -> None:
        summaries = {entry.name: entry.summary for entry in found(good=GOOD).with_entries([registered(Constant)])}
        assert summaries["Good"] == ""
        assert summaries["Constant"] == "Always 40."


class TestRegistering:
    def test_b7_a_class_is_registered_once(self) -> None:
        registry = Registry(built_in()).with_entries([registered(Constant)]).with_entries([registered(Constant)])
        assert isinstance(registry.find("Constant", "f"), Constant)
        assert [entry.origin for entry in registry if entry.name == "Constant"] == [REGISTERED]

    def test_b7_a_class_called_like_another(self) -> None:
        other = type("Coverage", (Constant,), {})
        with pytest.raises(ConfigurationError, match=r'Two metrics are called "Coverage" \(built-in; registered from'):
            Registry(built_in()).with_entries([registered(other)])

    @pytest.mark.parametrize("thing", [Constant(), "Constant", 3, None, int, "sk-proj-Ab3dE6gH9jKl2mNo5pQr8sTu1vWx4yZ"])
    def test_b7_only_metric_classes_can_be_registered(self, thing: Any) -> None:
        with pytest.raises(
            ConfigurationError, match="cannot be registered: give a class derived from BaseMetric"
        ) as error:
            registered(thing)
        assert "sk-proj" not in str(error.value)

    @pytest.mark.parametrize("unfinished", [BaseMetric, LLMMetric, Unfinished])
    def test_b7_abstract_classes_cannot_be_registered(self, unfinished: type[BaseMetric]) -> None:
        with pytest.raises(
            ConfigurationError, match=r"cannot be registered: it needs an evaluate\(\) method, or a system_inst"
        ):
            registered(unfinished)


class TestFinding:
    @pytest.mark.parametrize(
        ("name", "shown"),
        [
            ("Nothing", '"Nothing"'),
            ("../os", '"../os"'),
            ("os.path", '"os.path"'),
            ("", '""'),
            ("a b", '"a b"'),
            ("a\n\x1b", '"a\\n\\x1b"'),
            ("x" * 10_000, '"' + "x" * 60 + '…"'),
            ("名前", '"名前"'),
        ],
    )
    def test_b7_an_unknown_name_lists_known_metrics(self, name: str, shown: str) -> None:
        with pytest.raises(ConfigurationError) as caught:
            Registry(built_in()).find(name, "f")
        message = str(caught.value)
        assert message.startswith(f"f: there is no metric {shown}; known: AnswersQuestion, CitationAccuracy, ")
        assert message.isprintable() and len(message) < 500

    def test_b7_a_misspelt_name_gets_a_suggestion(self) -> None:
        with pytest.raises(ConfigurationError, match=r'no metric "Covrage" \(did you mean "Coverage"\?\); known: '):
            Registry(built_in()).find("Covrage", "f")


def test_b16_a_broken_file_keeps_the_last_valid_version() -> None:
    """Type hints are looked up late, in the module of the class."""
    hinted = "from __future__ import annotations\n" + GOOD + "    limit: Limit = 3\nLimit = int\n"
    metric = found(a=hinted).find("Good", "f")
    refusal(a="1/0")
    assert get_type_hints(type(metric)) == {"limit": int, "needs_context": ClassVar[bool]}
