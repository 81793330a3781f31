"""MiniLM's encoder in PyTorch, with the heads of both models. Parameters have the names of the original weights."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from training.batches import Arrays
from training.tokens import WORD_PIECES
from training.weights import Weights, count_layers, load_minilm, load_parts, save_parts

LAYERS, WIDTH, WIDE, HEADS, POSITIONS = 6, 384, 1536, 12, 512
DROPOUT = 0.1
EPSILON = 1e-12
HEAD_MODULES = ("masked_words", "answer", "unit")  # not part of MiniLM's weights


class Embeddings(nn.Module):
    def __init__(self, words: int) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(words, WIDTH)
        self.position_embeddings = nn.Embedding(POSITIONS, WIDTH)
        self.token_type_embeddings = nn.Embedding(2, WIDTH)
        self.LayerNorm = nn.LayerNorm(WIDTH, eps=EPSILON)

    def forward(self, ids: Tensor, segments: Tensor) -> Tensor:
        positions = self.position_embeddings(torch.arange(ids.shape[1], device=ids.device))
        total = self.word_embeddings(ids) + positions[None] + self.token_type_embeddings(segments)
        return functional.dropout(self.LayerNorm(total), DROPOUT, self.training)


class SelfAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, length, _ = x.shape
        query, key, value = (
            part(x).view(batch, length, HEADS, -1).transpose(1, 2) for part in (self.query, self.key, self.value)
        )
        attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return attended.transpose(1, 2).reshape(batch, length, WIDTH)


class ResidualOutput(nn.Module):
    """Projects, adds to what went in, and normalizes."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.dense = nn.Linear(width, WIDTH)
        self.LayerNorm = nn.LayerNorm(WIDTH, eps=EPSILON)

    def forward(self, x: Tensor, residual: Tensor) -> Tensor:
        return self.LayerNorm(residual + functional.dropout(self.dense(x), DROPOUT, self.training))


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.ModuleDict({"self": SelfAttention(), "output": ResidualOutput(WIDTH)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(WIDTH, WIDE)})
        self.output = ResidualOutput(WIDE)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = self.attention["output"](self.attention["self"](x, mask), x)
        return self.output(functional.gelu(self.intermediate["dense"](x)), x)


class Network(nn.Module):
    def __init__(self, words: int = WORD_PIECES, layers: int = LAYERS) -> None:
        super().__init__()
        self.embeddings = Embeddings(words)
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(Layer() for _ in range(layers))})
        self.masked_words = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.LayerNorm(WIDTH))
        self.answer = nn.Linear(WIDTH, 1)
        self.unit = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, 1))

    def hidden(self, ids: Tensor, segments: Tensor, attended: Tensor) -> Tensor:
        x = self.embeddings(ids, segments)
        mask = attended[:, None, None, :]
        for layer in self.encoder["layer"]:
            x = layer(x, mask)
        return x

    def vectors(self, ids: Tensor, attended: Tensor) -> Tensor:
        """Means of the tokens, of unit length."""
        hidden = self.hidden(ids, torch.zeros_like(ids), attended).float()
        weight = attended[:, :, None].float()
        return functional.normalize((hidden * weight).sum(1) / weight.sum(1).clamp(min=1), dim=-1)

    def word_logits(self, ids: Tensor, segments: Tensor, attended: Tensor, places: Tensor) -> Tensor:
        """For the tokens at `places` of the flattened batch."""
        hidden = self.hidden(ids, segments, attended).reshape(-1, WIDTH)[places]
        return functional.linear(self.masked_words(hidden), self.embeddings.word_embeddings.weight)

    def read(self, ids: Tensor, segments: Tensor, attended: Tensor) -> tuple[Tensor, Tensor]:
        """Logits: that the window answers the question, and for each token that its unit does."""
        hidden = self.hidden(ids, segments, attended)
        return self.answer(hidden[:, 0]).squeeze(-1).float(), self.unit(hidden).squeeze(-1).float()

    def set_words(self, table: Tensor) -> None:
        self.embeddings.word_embeddings = nn.Embedding.from_pretrained(table, freeze=False)


def load_original(minilm: Path) -> Network:
    """MiniLM. The heads keep their random start."""
    network = Network()
    weights = {name: torch.from_numpy(value) for name, value in load_minilm(minilm).items()}
    weights.pop("embeddings.position_ids", None)
    result = network.load_state_dict(weights, strict=False)
    missing = [name for name in result.missing_keys if not name.startswith(HEAD_MODULES)]
    if missing or result.unexpected_keys:
        raise SystemExit(f"{minilm} is not MiniLM: missing {missing}, unexpected {result.unexpected_keys}.")
    return network


def load_network(prefix: Path) -> Network:
    weights = load_parts(prefix)
    network = Network(len(weights["embeddings.word_embeddings.weight"]), count_layers(weights))
    network.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()})
    return network


def deepen(network: Network, layers: int) -> Network:
    """With each layer several times in a row: a deeper network to go on from."""
    own = list(network.encoder["layer"])
    copies = [deepcopy(own[number * len(own) // layers]) for number in range(layers)]
    network.encoder["layer"] = nn.ModuleList(copies)
    return network


def save_network(network: Network, prefix: Path) -> None:
    save_parts(arrays_of(network), prefix)


def arrays_of(network: Network) -> Weights:
    return {name: value.detach().float().cpu().numpy() for name, value in network.state_dict().items()}


def to_device(arrays: Arrays, device: str) -> tuple[Tensor, Tensor, Tensor]:
    ids, segments, attended = (torch.from_numpy(array).to(device, non_blocking=True) for array in arrays)
    return ids, segments, attended


def autocast(device: str) -> Any:
    """bfloat16 on a GPU."""
    return torch.autocast(device, dtype=torch.bfloat16, enabled=device != "cpu")


def parameter_groups(network: Network, rate: float, word_rate: float) -> list[dict[str, Any]]:
    """Word embeddings have their own rate and do not decay: most of them get no gradient in a batch."""
    words = network.embeddings.word_embeddings.weight
    others = [parameter for parameter in network.parameters() if parameter is not words]
    return [
        {"params": [words], "peak_rate": word_rate, "weight_decay": 0.0},
        {"params": others, "peak_rate": rate, "weight_decay": 0.01},
    ]


def set_rates(optimizer: Any, step: int, warmup: int, progress: float, least: float) -> None:
    """Linear warmup by steps, then linear decay by progress."""
    for group in optimizer.param_groups:
        group["lr"] = group["peak_rate"] * min(1.0, (step + 1) / warmup) * max(least, 1 - progress)


def optimizer_for(network: Network, rate: float, word_rate: float, device: str) -> Any:
    groups = parameter_groups(network, rate, word_rate)
    return torch.optim.AdamW(groups, lr=1e-4, fused=device != "cpu", betas=(0.9, 0.98))


def update(network: Network, optimizer: Any, loss: Tensor) -> None:
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimizer.step()


def as_numpy(value: Tensor) -> np.ndarray:
    return value.float().cpu().numpy()
