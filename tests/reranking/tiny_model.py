"""A tiny but real cross-encoder: it runs on onnxruntime, with its own tokenizer.

Its score is the number of pairs of equal words, one in the question, one in the passage. Without token_type_ids it
cannot distinguish the two, and counts all pairs of equal words.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import BertProcessing, TemplateProcessing

from tests.reranking.onnx_writer import model, node

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
TEXTS = [
    "the cat sleeps on a sofa",
    "interest rates rose again in march",
    "treaty of westphalia ended war 1648",
    "bread is baked in an oven",
    "猫在沙发上睡觉 银行利率上升",
    "猫がソファで寝ています 金利が上がりました",
]
PLAIN = np.ones((1, 1), np.float32)


def words_of(text: str) -> list[str]:
    normal = BertNormalizer().normalize_str(text)
    return [word for word, _ in BertPreTokenizer().pre_tokenize_str(normal)]


def make_tokenizer(*, template: bool = False) -> Tokenizer:
    numbered = (f"w{number}" for number in range(700))
    words = dict.fromkeys([*SPECIAL, *(word for text in TEXTS for word in words_of(text)), *numbered])
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.post_processor = _template(vocabulary) if template else BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return tokenizer


def make_folder(
    folder: Path,
    *,
    types: bool = True,
    weights: np.ndarray = PLAIN,
    flat: bool = False,
    kind: str = "int64",
    where: str = "model.onnx",
    template: bool = False,
    extra: Sequence[str] = (),
) -> Path:
    """`weights` turn the score into the columns of the output; `flat`: an output without columns."""
    tokenizer = make_tokenizer(template=template)
    (folder / where).parent.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / where).write_bytes(
        make_model(tokenizer.get_vocab_size(), types=types, weights=weights, flat=flat, kind=kind, extra=extra)
    )
    return folder


def make_model(
    size: int, *, types: bool, weights: np.ndarray, flat: bool, kind: str, extra: Sequence[str] = ()
) -> bytes:
    table = np.eye(size, dtype=np.float32)
    table[: len(SPECIAL)] = 0
    table[0] = 100  # padding that the mask does not hide would show
    constants = {"table": table, "weights": weights, "one": np.array([1]), "two": np.array([2])}
    nodes = [
        node("Gather", ["table", "input_ids"], "words", axis=0),
        node("Cast", ["attention_mask"], "mask", to=1),
        node("Unsqueeze", ["mask", "two"], "wide_mask"),
        node("Mul", ["words", "wide_mask"], "masked"),
        node("ReduceSum", ["masked", "one"], "all", keepdims=0),
    ]
    if types:
        nodes += [
            node("Cast", ["token_type_ids"], "kinds", to=1),
            node("Unsqueeze", ["kinds", "two"], "wide_kinds"),
            node("Mul", ["masked", "wide_kinds"], "of_passage"),
            node("ReduceSum", ["of_passage", "one"], "passage", keepdims=0),
            node("Sub", ["all", "passage"], "question"),
            node("Mul", ["question", "passage"], "equal"),
        ]
    else:
        nodes.append(node("Mul", ["all", "all"], "equal"))
    nodes += (
        [node("ReduceSum", ["equal", "one"], "logits", keepdims=0)]
        if flat
        else [
            node("ReduceSum", ["equal", "one"], "score", keepdims=1),
            node("MatMul", ["score", "weights"], "logits"),
        ]
    )
    inputs = dict.fromkeys(["input_ids", "attention_mask", *(["token_type_ids"] if types else []), *extra], kind)
    return model(nodes, inputs, ["logits"], constants)


def _template(vocabulary: dict[str, int]) -> TemplateProcessing:
    """Without token types, as in XLM-R."""
    return TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] [SEP] $B [SEP]",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
