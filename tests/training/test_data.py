"""The stages that make training data. What needs PyTorch is not tested here: it is no dependency of the tests."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from training.batches import Item, batches, collate, prefetch
from training.paragraphs import align, split_blocks
from training.sources import LANGUAGES, LICENCES, Folder, attributions, load_sources
from training.tokens import UNKNOWN, WORD_PIECES, Tokens
from training.vocabulary import build_vocabulary
from training.weights import load_parts, save_parts
from training.windows import Builder, read_cnxml
from training.words import chinese_words, join_tokens, read_wordnet

from tests.training.conftest import MakeSnapshot
from veracity.embedding import bundled

TOKENIZER = bundled.FOLDER / "tokenizer.json"
ENGLISH = """---
title: Pods
---
# Pods

A Pod is the smallest unit that you can deploy. See [Workloads](../workloads.md).

- It has one or more `containers`.
- They share storage and network.

Only the English page has this paragraph, which is new.

Create 3 replicas of it for availability.
"""
JAPANESE = """---
title: Pod
---
# Podについて説明します

Podは、デプロイできる最小の単位です。[ワークロード](../workloads.md)を参照してください。

- 1つ以上の`containers`を持ちます。
- ストレージとネットワークを共有します。

可用性のために3個のレプリカを作成してください。
"""


def test_aligned_paragraphs_are_translations_and_skip_what_is_new() -> None:
    pairs = dict(align(split_blocks(ENGLISH), split_blocks(JAPANESE)))
    assert pairs["They share storage and network."] == "ストレージとネットワークを共有します。"
    assert pairs["Create 3 replicas of it for availability."] == "可用性のために3個のレプリカを作成してください。"
    assert not any("new" in english for english in pairs)


def test_untranslated_paragraphs_are_no_pairs() -> None:
    assert list(align(split_blocks(ENGLISH), split_blocks(ENGLISH))) == []


def test_a_window_has_head_and_units_and_occurs_once() -> None:
    sentence = "Employees receive {} days of annual leave, which they agree with their team in advance."
    document = "---\ntitle: Leave\n---\n\n## Rules\n\n" + "\n\n".join(sentence.format(days) for days in range(20, 30))
    builder = Builder(random.Random(1))
    folder = Folder("", "en", "train", 10)
    windows = builder.windows("owner/name:leave.md", document, folder)
    assert windows[0]["title"] == "Leave"
    assert windows[0]["use"] == "train"
    assert ["prose", sentence.format(20)] in [unit[:2] for unit in windows[0]["units"]]
    assert builder.windows("owner/name:copy.md", document, folder) == []


def test_modules_of_books_become_markdown() -> None:
    paragraph = "The Senate met in Rome, and Cicero spoke for an hour. " * 4
    content = f"<section><title>The <term>Senate</term></title><para>{paragraph}</para><para>Short.</para></section>"
    module = f'<document xmlns="http://cnx.rice.edu/cnxml"><title>Rome</title><content>{content}</content></document>'
    assert read_cnxml(module) == f"# Rome\n\n## The Senate\n\n{paragraph.strip()}"
    assert read_cnxml("<document>") == ""


def test_a_document_in_another_language_has_no_windows() -> None:
    text = "# 年假\n\n员工每年有二十五天带薪年假。未使用的假期可以结转到次年三月底。" * 10
    assert Builder(random.Random(1)).windows("owner/name:a.md", text, Folder("", "en", "train", 10)) == []


def test_sources_have_a_permissive_licence_and_are_named_in_the_readme() -> None:
    sources = load_sources()
    names = {repository.name for repository in sources.repositories}
    for repository in sources.repositories:
        assert repository.licence in LICENCES
        assert len(repository.commit) == 40
        assert repository.holder
        assert {folder.use for folder in repository.folders} <= {"train", "held"}
        assert {folder.language for folder in repository.folders} <= set(LANGUAGES)
    for translation in sources.translations:
        assert {place.partition(":")[0] for place in (translation.en, translation.ja, translation.zh)} <= names
    readme = (Path(__file__).parents[2] / "training" / "README.md").read_text(encoding="utf-8")
    assert attributions(sources) in readme


def test_sources_exclude_parts_with_other_licences() -> None:
    sources = load_sources()
    assert sources.excludes("ethereum/ethereum-org-website:public/content/translations/ja/glossary/index.md")
    assert not sources.excludes("ethereum/ethereum-org-website:public/content/staking/index.md")
    assert sources.excludes("nobody/unlisted:README.md")


def test_tokens_of_three_scripts_give_the_text_back() -> None:
    texts = ["年假可以结转", "有給休暇を繰り越せます", "年假年假", "ソースコード", "ソースコード"]
    vocabulary = build_vocabulary(TOKENIZER, texts * 2)
    tokens = Tokens(TOKENIZER, vocabulary)
    names = {number: token for token, number in vocabulary.items()}
    ids = tokens.ids("leave: 年假可以结转 ソースコード")
    assert UNKNOWN not in ids
    assert "".join(names[number] for number in ids) == "leave:年假可以结转ソースコード"
    assert any(number >= WORD_PIECES and len(names[number]) > 1 for number in ids)
    assert tokens.ids("Ｌｅａｖｅ") == tokens.ids("leave")
    assert json.dumps(build_vocabulary(TOKENIZER, texts * 2)) == json.dumps(vocabulary)


def test_batches_hold_every_text_once_within_the_limit() -> None:
    lengths = [random.Random(2).randrange(3, 60) for _ in range(200)]
    found = batches(lengths, 300, random.Random(3))
    assert sorted(index for batch in found for index in batch) == list(range(200))
    assert all(len(batch) == 1 or max(lengths[index] for index in batch) * len(batch) <= 300 for batch in found)
    arrays = collate([Item([5, 6, 7], 2), Item([8])])
    assert arrays.ids.shape == (2, 16)
    assert arrays.segments[0, :4].tolist() == [0, 0, 1, 0]
    assert arrays.attended.sum() == 4


def test_prefetching_passes_exceptions_on() -> None:
    def numbers() -> Iterator[int]:
        yield 1
        raise ValueError("no more")

    source = prefetch(numbers(), 2)
    assert next(source) == 1
    with pytest.raises(ValueError, match="no more"):
        next(source)


def test_weights_survive_being_split(tmp_path: Path) -> None:
    weights = {
        "large": np.arange(5_000_000, dtype=np.float32).reshape(50_000, 100) % 1000,
        "small": np.ones(3, np.float32),
    }
    save_parts(weights, tmp_path / "model")
    loaded = load_parts(tmp_path / "model")
    assert all(np.array_equal(weights[name], loaded[name]) for name in weights)
    assert max(file.stat().st_size for file in tmp_path.iterdir()) < 16_000_000


def test_words_of_a_meaning_are_pairs(tmp_path: Path, make_snapshot: MakeSnapshot) -> None:
    for part in ("verb", "adj", "adv"):
        (tmp_path / f"data.{part}").write_text("")
    noun = "02084071 05 n 02 dog 0 domestic_dog 0 001 @ 02083346 n 0000 | a member of the genus Canis; barks  "
    (tmp_path / "data.noun").write_text(f"  1 the licence\n{noun}\n")
    meanings = read_wordnet(tmp_path)
    assert str(meanings["02084071-n"]) == "dog, domestic dog: a member of the genus Canis; barks"
    lemmas = "# head\tcmn\n02084071-n\tcmn:lemma\t狗\n02084071-n\tcmn:lemma\t家+犬\n00000001-n\tcmn:lemma\t无\n"
    snapshot = make_snapshot({"wns/cow/wn-data-cmn.tab": lemmas.encode()})
    pairs = list(chinese_words(snapshot, meanings, random.Random(1)))
    assert [pair.other for pair in pairs] == ["狗", "家犬"]
    assert all(pair.english.startswith("dog") for pair in pairs)


def test_tokenized_english_is_joined() -> None:
    assert join_tokens("i don 't know , but she 's here ( now ) .") == "I don't know, but she's here (now)."
