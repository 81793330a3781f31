"""Suites: `evals/NAME.jsonl` or `.csv` with one case a line, and `evals/NAME.toml` with what to do with them.

A suite is read case by case, as often as needed, and never held in memory: its size is not limited.
"""

from __future__ import annotations

import csv
import hashlib
import os.path
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from veracity.errors import InputError
from veracity.experiments.row_files import read_jsonl, read_lines, validate_row
from veracity.language import guess_language, possible_languages
from veracity.secrets import presentable
from veracity.settings.toml import explain, parse, read_bytes

FOLDER = "evals"
SUFFIXES = (".jsonl", ".csv")
MAX_REPEATS = 100
LIST_SEPARATOR = "|"  # between the items of a list in a CSV file

Expectation = Literal["answer", "abstain"]
Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100_000)]
Label = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")
]


class Case(BaseModel):
    """One question and what is expected of its answer. With a `submission`, only the evaluator runs.

    A run passes if it answers (or abstains, if that is expected), contains one of `answers`, cites all of `must_cite`
    and contains none of `forbid`. A submission passes if its score reaches the threshold of the gate; if abstaining is
    expected, if it does not.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)

    # Lists come from a factory: pydantic would deep-copy a default, which takes longer than the rest of a case.
    id: Label
    question: Text
    expect: Expectation = "answer"
    answers: list[Text] = Field(default_factory=list)
    must_cite: list[Text] = Field(default_factory=list)
    forbid: list[Text] = Field(default_factory=list)
    history: list[Text] = Field(default_factory=list, description="earlier questions of the same conversation")
    submission: Text | None = None
    context: list[Text] = Field(default_factory=list)
    rephrased: list[Text] = Field(
        default_factory=list, description="the question in other words or languages, to test a judge"
    )
    cluster: Label | None = Field(default=None, description="cases that depend on each other have the same")
    language: Literal["en", "zh", "ja"] | None = None
    tags: list[Label] = Field(default_factory=list)
    origin: Text | None = None

    @model_validator(mode="after")
    def _is_consistent(self) -> Case:
        if self.expect == "abstain" and self.submission is None and (self.answers or self.must_cite):
            raise ValueError('with expect = "abstain" there is nothing to answer or cite: remove answers and must_cite')
        if self.context and self.submission is None:
            raise ValueError("context is the evidence of a submission: add submission, or remove context")
        if self.rephrased and self.submission is None:
            raise ValueError("rephrased questions test a judge: add submission, or remove rephrased")
        if self.submission is not None and (self.answers or self.must_cite or self.forbid or self.history):
            raise ValueError("a submission is only scored: remove answers, must_cite, forbid and history")
        if self.language and self.language not in possible_languages(self.question):
            raise ValueError(f'language is "{self.language}", but the question is not written in it: correct one')
        return self

    @property
    def asked_in(self) -> str:
        return self.language or guess_language(self.question)

    @property
    def group(self) -> str:
        """Cases of one group are not independent. A case without a cluster is a group of its own."""
        return f"cluster {self.cluster}" if self.cluster else f"case {self.id}"

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]


class Gate(BaseModel):
    """What `--gate` requires. Rates are from 0 to 1, scores of metrics from 0 to 100."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    pass_rate: float | None = Field(default=None, ge=0, le=1, description="the least share of cases that pass")
    wrong_released: float | None = Field(
        default=None, ge=0, le=1, description="the largest share of released answers that are wrong"
    )
    metrics: dict[str, Annotated[float, Field(ge=0, le=100)]] = Field(default={}, description="the least mean score")
    baseline: Label | None = Field(default=None, description="an experiment that this one must not be worse than")


class SuiteSettings(BaseModel):
    """The file beside the suite."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    metrics: list[Label] = Field(default=[], description="metrics to score with; empty: those of the workspace")
    repeats: int = Field(default=1, ge=1, le=MAX_REPEATS)
    slices: list[Label] = Field(default=["language"], description='"language", or tags')
    margin: float = Field(default=0.05, gt=0, lt=1, description="a smaller difference does not matter; 1 is the scale")
    gate: Gate = Gate()


KEYS = {"": list(SuiteSettings.model_fields), "gate": list(Gate.model_fields)}


@dataclass(frozen=True, slots=True)
class Suite:
    """`digest` covers both files, `digests` are those of the cases. `cited` has each name in `must_cite`, with the id
    of the first case that has it."""

    name: str
    file: Path
    settings: SuiteSettings
    digest: str
    digests: dict[str, str]
    cited: dict[str, str]
    has_runs: bool  # some case asks a question
    has_submissions: bool

    def cases(self, chosen: Iterable[str] | None = None) -> Iterator[Case]:
        """Read the cases again, or those with the chosen ids. Raises `InputError` if the file has changed."""
        wanted = None if chosen is None else set(chosen)
        digest = hashlib.sha256()
        for case in _read_cases(self.file, digest.update):
            if self.digests.get(case.id) != case.digest:
                raise self._changed()
            if wanted is None or case.id in wanted:
                yield case
        if _whole_digest(digest.hexdigest(), self.file) != self.digest:
            raise self._changed()

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(self.digests)

    def _changed(self) -> InputError:
        return InputError(f"{self.file} has changed meanwhile: run the experiment again under another --name.")

    def sample(self, number: int | None, seed: int) -> tuple[str, ...]:
        """The ids of a random sample, in the order of the suite."""
        if number is None or number >= len(self.digests):
            return self.ids
        drawn = set(random.Random(seed).sample(range(len(self.digests)), number))
        return tuple(case for index, case in enumerate(self.ids) if index in drawn)


def find_suite(name: str, workspace: Path) -> Path:
    """The file of a suite that is named by its path, or by its name in `evals/`."""
    path = Path(os.path.expanduser(name))  # noqa: PTH111 - Path.expanduser raises for an unknown user
    candidates = [path] if path.suffix in SUFFIXES else [workspace / FOLDER / f"{name}{suffix}" for suffix in SUFFIXES]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    known = sorted({file.stem for file in (workspace / FOLDER).glob("*") if file.suffix in SUFFIXES})
    hint = f"suites are: {', '.join(map(presentable, known))}" if known else f"write cases into {candidates[0]}"
    raise InputError(f'There is no suite "{presentable(name)}": {hint}.')


def open_suite(path: Path) -> Suite:
    """Validate every case. Raises `InputError` with the place of the first fault."""
    digest, seen, digests = hashlib.sha256(), dict[str, int](), dict[str, str]()
    cited, has_runs, has_submissions = dict[str, str](), False, False
    for number, case in enumerate(_read_cases(path, digest.update), 1):
        if case.id in seen:
            raise InputError(
                f'{path}: cases {seen[case.id]} and {number} have the same id "{presentable(case.id)}": rename one.'
            )
        seen[case.id], digests[case.id] = number, case.digest
        for name in case.must_cite:
            cited.setdefault(name, case.id)
        has_runs |= case.submission is None
        has_submissions |= case.submission is not None
    if not seen:
        raise InputError(f'{path} has no cases: add lines such as {{"id": "leave", "question": "How many days …?"}}.')
    return Suite(
        name=path.stem,
        file=path,
        settings=_read_settings(path.with_suffix(".toml")),
        digest=_whole_digest(digest.hexdigest(), path),
        digests=digests,
        cited=cited,
        has_runs=has_runs,
        has_submissions=has_submissions,
    )


def _whole_digest(cases: str, path: Path) -> str:
    settings = read_bytes(path.with_suffix(".toml")) or b""
    return hashlib.sha256(cases.encode() + settings).hexdigest()[:16]


def _read_settings(path: Path) -> SuiteSettings:
    content = read_bytes(path)
    try:
        return SuiteSettings.model_validate({} if content is None else parse(content, path))
    except ValidationError as problem:
        raise InputError(explain(problem, str(path), KEYS)) from None


def _read_cases(path: Path, update: Callable[[bytes], None]) -> Iterator[Case]:
    """`update` gets every line."""
    rows = _read_csv(path, update) if path.suffix == ".csv" else read_jsonl(path, update)
    for place, row in rows:
        yield validate_row(Case, place, row)


def _read_csv(path: Path, update: Callable[[bytes], None]) -> Iterator[tuple[str, dict[str, Any]]]:
    lines = (line for _, line in read_lines(path, update))
    rows = csv.DictReader(lines, strict=True)
    try:
        for row in rows:
            place = f"{path}, line {rows.line_num}"
            if None in row or None in row.values():
                raise InputError(f"{place} has another number of columns than the first line: quote commas.")
            yield place, {key: _split(key, value) for key, value in row.items() if value.strip()}
    except csv.Error as problem:
        raise InputError(f"{path}, line {rows.line_num} is not valid CSV ({problem}): correct it.") from None


def _split(key: str, value: str) -> str | list[str]:
    field = Case.model_fields.get(key)
    is_list = field is not None and field.default_factory is list
    return [item for item in value.split(LIST_SEPARATOR) if item.strip()] if is_list else value
