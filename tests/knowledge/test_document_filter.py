"""Searches limited to documents: by path, end of a path, folder, glob or id, in the query of the store."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.knowledge.material import no_progress
from veracity.errors import InputError
from veracity.knowledge import store as store_module
from veracity.knowledge.document_filter import MAX_PATTERNS, check_patterns
from veracity.knowledge.library import Library
from veracity.knowledge.store import Store
from veracity.models import Document

NAMES = [
    "guide/leave.md", "guide/old/leave.md", "guide.md", "travel/[x] it's.md", "規程/休暇.md", "規程/か\u3099.md",
    "指南/a+b (1).md",
]  # fmt: skip


@pytest.fixture
def store(library: Library, files: Path) -> Store:
    for name in NAMES:
        (files / name).parent.mkdir(parents=True, exist_ok=True)
        (files / name).write_text(
            f"Leave lasts twenty days, says {Path(name).stem}. 有給休暇。 年假。", encoding="utf-8"
        )
    library.ingest([files], False, no_progress)
    library.add(
        [Document(id="faq", text="Leave in the faq."), Document(id="it's.me", text="Leave of me.")], no_progress
    )
    return library.store


def found(store: Store, files: Path, patterns: Sequence[str]) -> set[str]:
    limited = store.limited_to(check_patterns(patterns))
    passages = [hit.passage for hit in limited.by_words(["leav"], 50)]
    assert {passage.id for passage in passages} == {hit.passage.id for hit in limited.by_vector([0.1] * 16, 50)}
    return {passage.location.removeprefix(f"{files}/") or passage.document_id for passage in passages}


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("{files}/guide/leave.md", {"guide/leave.md"}),
        ("{files}/guide", {"guide/leave.md", "guide/old/leave.md"}),
        ("{files}/gui", set()),
        ("guide/", {"guide/leave.md", "guide/old/leave.md"}),
        ("./guide/leave.md", {"guide/leave.md"}),
        ("…/guide/leave.md", {"guide/leave.md"}),
        ("…/guide", {"guide/leave.md"}),  # that path is …/old/leave.md for the other one
        ("…/old", {"guide/old/leave.md"}),
        ("…/{files.name}", {"guide.md"}),
        ("…/files/guide/*", set()),
        ("…/**/old/*", {"guide/old/leave.md"}),
        ("…/faq", {"faq"}),
        ("leave.md", {"guide/leave.md", "guide/old/leave.md"}),
        ("eave.md", set()),
        ("guide/*.md", {"guide/leave.md"}),
        ("guide/**/leave.md", {"guide/leave.md", "guide/old/leave.md"}),
        ("guide/**", {"guide/leave.md", "guide/old/leave.md"}),
        ("gu?de.m[cd]", {"guide.md"}),
        ("gu?de.m[!d]", set()),
        ("[x] it's.md", {"travel/[x] it's.md"}),
        ("a+b (1).md", {"指南/a+b (1).md"}),
        ("規程", {"規程/休暇.md", "規程/か\u3099.md"}),
        ("が.md", {"規程/か\u3099.md"}),
        ("faq", {"faq"}),
        ("it's*", {"it's.me"}),
        ("x' OR '1'='1", set()),
        (".*", set()),
    ],
)
def test_patterns(store: Store, files: Path, pattern: str, expected: set[str]) -> None:
    pattern = pattern.format(files=files)
    assert found(store, files, [pattern]) == expected
    assert store.has_document(pattern) == bool(expected)


def test_several_patterns_and_ids(store: Store, files: Path) -> None:
    assert found(store, files, ["guide.md", "faq"]) == {"guide.md", "faq"}
    [leave] = [document for document in store.documents() if document.location.endswith("guide/leave.md")]
    assert found(store, files, [leave.id]) == {"guide/leave.md"}


def test_the_limit_counts_before_the_number_of_results(
    library: Library, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also with an index of the vectors."""
    library.add([Document(id=f"better-{n}", text="Leave, leave, leave: leave.") for n in range(300)], no_progress)
    monkeypatch.setattr(store_module, "MIN_INDEXED_VECTORS", 100)
    store.maintain()
    limited = store.limited_to(["faq", "it's.me"])
    assert {hit.passage.document_id for hit in limited.by_words(["leav"], 2)} == {"faq", "it's.me"}
    assert {hit.passage.document_id for hit in limited.by_vector([0.1] * 16, 2)} == {"faq", "it's.me"}
    assert len(store.limited_to(["better-*"]).by_vector([0.1] * 16, 50)) == 50


def test_every_search_is_limited_and_the_store_itself_is_not(store: Store) -> None:
    ids = [hit.passage.id for hit in store.by_words(["leav"], 50)]
    limited = store.limited_to(["faq"])
    assert [hit.passage.document_id for hit in limited.by_ids(ids)] == ["faq"]
    assert [hit.passage.document_id for hit in limited.by_words(["leav"], 50, "en")] == ["faq"]
    assert limited.by_words(["leav"], 50, "ja") == []
    names = [name for hit in store.by_ids(ids) for name in hit.passage.entities]
    assert {hit.passage.document_id for hit in limited.by_entities(names, 50)} <= {"faq"}
    assert len(store.by_ids(ids)) == len(ids) == len(NAMES) + 2


@pytest.mark.parametrize(
    "patterns", [[""], [" "], ["x" * 501], ["[z-a].md"], ["[!]"], [f"{n}.md" for n in range(MAX_PATTERNS + 1)]]
)
def test_unusable_patterns_are_one_sentence(patterns: list[str]) -> None:
    with pytest.raises(InputError, match=r"^[^.]+(\.md)?[^.]*\.$"):
        check_patterns(patterns)


HOSTILE = ("*a" * 250, "**/" * 160, "[" * 500, "か\u3099*" * 160, "?" * 500, "[!a]" * 125, "\0", "(?i)(", "{1000}", "|")


def test_hostile_patterns_work(store: Store, files: Path) -> None:
    """Also many of them at once: a regular expression has a maximum size."""
    for pattern in HOSTILE:
        assert found(store, files, [pattern]) in (set(), {*NAMES, "faq", "it's.me"})
    many = [f"…/{number}{pattern}"[:502] for number in range(2) for pattern in HOSTILE]
    assert found(store, files, many) == set()
