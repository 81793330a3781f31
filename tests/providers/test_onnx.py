"""Batches of local models."""

from veracity.providers import onnx


def test_batches_hold_texts_of_similar_length() -> None:
    assert list(onnx._batches([500, 3, 400, 4, 5, 130])) == [[1, 3, 4], [5], [2], [0]]
    assert list(onnx._batches([])) == []
