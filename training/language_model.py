"""Qwen2.5-1.5B in PyTorch, from a folder that gguf.pack wrote. A prefix is read once for all its continuations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional

from training.gguf import BLOCKS, FLOAT, Q4_K

LAYERS, WIDTH, INNER = 28, 1536, 8960
HEADS, KEY_HEADS, HEAD_WIDTH = 12, 2, 128
PER_KEY = HEADS // KEY_HEADS
ALL_TOKENS = 151_936
ROPE_BASE = 1_000_000.0
HIDDEN_SCORE = -30_000.0
END_TOKENS = (151_643, 151_645)  # <|endoftext|>, <|im_end|>


def unpack_q4(blocks: Tensor) -> Tensor:
    """144 bytes to 256 values: eight groups of 32 with 6-bit scales and minima."""
    scale, minimum = (_half(blocks[:, start : start + 2]) for start in (0, 2))
    packed = blocks[:, 4:16].int()
    low, middle, high = packed[:, 0:4], packed[:, 4:8], packed[:, 8:12]
    scales = torch.cat([low & 63, (high & 15) | ((low >> 6) << 4)], 1).float()
    minima = torch.cat([middle & 63, (high >> 4) | ((middle >> 6) << 4)], 1).float()
    nibbles = blocks[:, 16:].view(-1, 4, 32)
    values = torch.stack([nibbles & 15, nibbles >> 4], 2).reshape(-1, 8, 32).float()
    return (values * (scale * scales)[:, :, None] - (minimum * minima)[:, :, None]).view(-1, 256)


def unpack_q6(blocks: Tensor) -> Tensor:
    """210 bytes to 256 values: sixteen groups of 16 with 8-bit scales."""
    low = blocks[:, 0:128].view(-1, 2, 64).int()
    high = blocks[:, 128:192].view(-1, 2, 32).int()
    scales = blocks[:, 192:208].contiguous().view(torch.int8).view(-1, 2, 4, 2).float().repeat_interleave(16, 3)
    first, second = low[:, :, :32], low[:, :, 32:]
    nibbles = (first & 15, second & 15, first >> 4, second >> 4)
    parts = [nibble | (((high >> 2 * number) & 3) << 4) for number, nibble in enumerate(nibbles)]
    values = torch.stack(parts, 2).float() - 32
    return (values * scales * _half(blocks[:, 208:210])[:, None, None, :]).reshape(-1, 256)


def _half(content: Tensor) -> Tensor:
    return content.contiguous().view(torch.float16).float()


class LanguageModel:
    def __init__(self, folder: Path, device: str) -> None:
        self.device = device
        self.kind = torch.float32 if device == "cpu" else torch.bfloat16
        self.weights = self._load(folder)
        self.kept: list[int] = np.load(folder / "keep.npy").tolist()
        self.number = [-1] * ALL_TOKENS
        for place, token in enumerate(self.kept):
            self.number[token] = place
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        steps = torch.arange(0, HEAD_WIDTH, 2, device=device).float() / HEAD_WIDTH
        angles = torch.arange(4096, device=device).float()[:, None] / ROPE_BASE**steps
        self.cos, self.sin = (torch.cat([part, part], 1) for part in (angles.cos(), angles.sin()))

    def _load(self, folder: Path) -> dict[str, Tensor]:
        stored = np.memmap(folder / "lm.bin", np.uint8, "r")
        weights: dict[str, Tensor] = {}
        for name, shape, kind, start, size in json.loads((folder / "index.json").read_text()):
            raw = torch.from_numpy(np.array(stored[start : start + size])).to(self.device)
            if kind == FLOAT:
                value = raw.view(torch.float32).to(self.kind)
            else:
                unpack = unpack_q4 if kind == Q4_K else unpack_q6
                blocks = raw.view(-1, BLOCKS[kind][1]).split(200_000)
                value = torch.cat([unpack(block).to(self.kind) for block in blocks])
            weights[name] = value.view(shape)
        return weights

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        encoded = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [[number for number in map(self.number.__getitem__, text.ids) if number >= 0] for text in encoded]

    def text(self, ids: Sequence[int]) -> str:
        return self.tokenizer.decode([self.kept[number] for number in ids], skip_special_tokens=True) if ids else ""

    def line_ends(self) -> list[int]:
        """Numbers of the tokens that end a line or the reply."""
        names = ((place, self.tokenizer.id_to_token(token) or "") for place, token in enumerate(self.kept))
        ends = [place for place, name in names if "Ċ" in name or "\n" in name]
        return ends + [self.number[token] for token in END_TOKENS]

    def logits(self, hidden: Tensor) -> Tensor:
        return functional.linear(hidden, self.weights["output.weight"]).float()

    @torch.no_grad()
    def run(self, ids: Tensor, positions: Tensor, cache: list[Tensor], at: int, seen: Tensor | None) -> Tensor:
        """Keys and values go to the cache from `at` on. `seen` [rows, tokens, slots]: what each token may see of it.

        Without `seen` every token sees those before it in `ids`.
        """
        x = functional.embedding(ids, self.weights["output.weight"])
        hide = None
        if seen is not None:
            hide = torch.zeros(seen.shape, device=self.device, dtype=self.kind).masked_fill_(~seen, HIDDEN_SCORE)
        for layer in range(LAYERS):
            weight = {name: self.weights[f"blk.{layer}.{name}.weight"] for name in BLOCK_WEIGHTS}
            bias = {part: self.weights[f"blk.{layer}.attn_{part}.bias"] for part in "qkv"}
            normed = functional.rms_norm(x, (WIDTH,), weight["attn_norm"], 1e-6)
            query, key, value = (
                functional.linear(normed, weight[f"attn_{part}"], bias[part]).unflatten(-1, (-1, HEAD_WIDTH))
                for part in "qkv"
            )
            query, key = self._rotate(query, positions), self._rotate(key, positions)
            end = at + ids.shape[1]
            cache[layer][0, :, :, at:end], cache[layer][1, :, :, at:end] = key.transpose(1, 2), value.transpose(1, 2)
            attended = _attend(query, cache[layer][..., :end, :], hide, causal_from=at)
            x = x + functional.linear(attended, weight["attn_output"])
            normed = functional.rms_norm(x, (WIDTH,), weight["ffn_norm"], 1e-6)
            gate = functional.silu(functional.linear(normed, weight["ffn_gate"]))
            x = x + functional.linear(gate * functional.linear(normed, weight["ffn_up"]), weight["ffn_down"])
        return functional.rms_norm(x, (WIDTH,), self.weights["output_norm.weight"], 1e-6)

    def _rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        cos, sin = self.cos[positions][:, :, None], self.sin[positions][:, :, None]
        first, second = x[..., : HEAD_WIDTH // 2], x[..., HEAD_WIDTH // 2 :]
        return (x * cos + torch.cat([-second, first], -1) * sin).to(x.dtype)


BLOCK_WEIGHTS = (
    *("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output"),
    *("ffn_norm", "ffn_gate", "ffn_up", "ffn_down"),
)


def _attend(query: Tensor, stored: Tensor, hide: Tensor | None, causal_from: int) -> Tensor:
    rows, tokens = query.shape[:2]
    if hide is None:
        keys, values = stored[0][:, :, causal_from:], stored[1][:, :, causal_from:]
        attended = functional.scaled_dot_product_attention(
            query.transpose(1, 2), keys, values, is_causal=True, enable_gqa=True
        )
        return attended.transpose(1, 2).reshape(rows, tokens, WIDTH)
    # Six query heads share a key head: as more tokens of one head, the keys are not copied.
    grouped = query.view(rows, tokens, KEY_HEADS, PER_KEY, HEAD_WIDTH).permute(0, 2, 3, 1, 4)
    grouped = grouped.reshape(rows, KEY_HEADS, PER_KEY * tokens, HEAD_WIDTH)
    scores = (grouped @ stored[0].transpose(-1, -2)).view(rows, KEY_HEADS, PER_KEY, tokens, -1) * HEAD_WIDTH**-0.5
    shares = (scores + hide[:, None, None]).softmax(-1).view(rows, KEY_HEADS, PER_KEY * tokens, -1)
    attended = (shares @ stored[1]).view(rows, KEY_HEADS, PER_KEY, tokens, HEAD_WIDTH)
    return attended.permute(0, 3, 1, 2, 4).reshape(rows, tokens, WIDTH)


class Continuations:
    """A batch of prefixes in the cache, and several continuations of each."""

    def __init__(self, model: LanguageModel, prefixes: Sequence[Sequence[int]], room: int) -> None:
        self.model, self.rows, device = model, len(prefixes), model.device
        self.lengths = torch.tensor([len(prefix) for prefix in prefixes], device=device)
        self.width = -(-max(map(len, prefixes)) // 16) * 16
        ids = torch.zeros(self.rows, self.width, dtype=torch.long)
        for row, prefix in enumerate(prefixes):
            ids[row, : len(prefix)] = torch.tensor(prefix)
        shape = (2, self.rows, KEY_HEADS, self.width + room, HEAD_WIDTH)
        self.cache = [torch.zeros(shape, device=device, dtype=model.kind) for _ in range(LAYERS)]
        positions = torch.arange(self.width, device=device)[None].expand(self.rows, -1)
        model.run(ids.to(device), positions, self.cache, 0, None)
        self.seen = torch.arange(self.width, device=device)[None] < self.lengths[:, None]

    def choose(self, groups: Sequence[Sequence[Sequence[int]]], options: Sequence[int]) -> np.ndarray:
        """Log-probabilities of the option tokens after each continuation: [row, continuation, option]."""
        last, _, _ = self._read(groups)
        return self.model.logits(last).log_softmax(-1)[:, :, list(options)].cpu().numpy()

    def write(
        self, groups: Sequence[Sequence[Sequence[int]]], steps: int, stop: Sequence[int], chance: Any
    ) -> list[list[list[int]]]:
        """Goes on after each continuation until a stop token, sampled from the likeliest 40 tokens (92%) at 0.8."""
        last, lengths, width = self._read(groups)
        device, count = self.model.device, lengths.shape[1]
        base = self.width + count * width
        seen = torch.zeros(self.rows, count, base + steps * count, dtype=torch.bool, device=device)
        seen[:, :, : self.width] = self.seen[:, None]
        for number in range(count):
            start = self.width + number * width
            seen[:, number, start : start + width] = (
                torch.arange(width, device=device)[None] < lengths[:, number : number + 1]
            )
        stops = torch.tensor(list(stop), device=device)
        done = torch.zeros(self.rows, count, dtype=torch.bool, device=device)
        written = []
        for step in range(steps):
            chosen = _sample(self.model.logits(last), chance)
            done = done | torch.isin(chosen, stops)
            written.append(torch.where(done, -1, chosen))
            if step == steps - 1 or (step % 4 == 3 and bool(done.all())):
                break
            at = base + step * count
            for number in range(count):
                seen[:, number, at + number] = True
            positions = self.lengths[:, None] + lengths + step
            last = self.model.run(chosen, positions, self.cache, at, seen[:, :, : at + count])
        found = torch.stack(written, -1).cpu().tolist()
        return [[[token for token in text if token >= 0] for text in row] for row in found]

    def _read(self, groups: Sequence[Sequence[Sequence[int]]]) -> tuple[Tensor, Tensor, int]:
        """Reads one continuation after the other, each seeing only its prefix and itself.

        Returns the hidden states of the last tokens, the lengths, and the width that each takes in the cache.
        """
        device, count = self.model.device, len(groups[0])
        width = -(-max(len(text) for group in groups for text in group) // 8) * 8
        ids = torch.zeros(self.rows, count, width, dtype=torch.long)
        for row, group in enumerate(groups):
            for number, text in enumerate(group):
                ids[row, number, : len(text)] = torch.tensor(text)
        lengths = torch.tensor([[len(text) for text in group] for group in groups], device=device)
        places = torch.arange(width, device=device)
        positions = (self.lengths[:, None, None] + places).expand(self.rows, count, width).reshape(self.rows, -1)
        own = torch.block_diag(*[torch.ones(width, width, device=device).tril()] * count).bool()
        before = self.seen[:, None].expand(self.rows, count * width, self.width)
        seen = torch.cat([before, own[None].expand(self.rows, -1, -1)], -1)
        hidden = self.model.run(ids.view(self.rows, -1).to(device), positions, self.cache, self.width, seen)
        hidden = hidden.view(self.rows, count, width, -1)
        rows, columns = torch.arange(self.rows, device=device)[:, None], torch.arange(count, device=device)[None]
        return hidden[rows, columns, lengths - 1], lengths, width


def _sample(logits: Tensor, chance: Any) -> Tensor:
    values, tokens = logits.topk(40, -1)
    shares = (values / 0.8).softmax(-1)
    shares = shares.masked_fill(shares.cumsum(-1) - shares > 0.92, 0)
    picked = torch.multinomial(shares.view(-1, 40), 1, generator=chance).view(*tokens.shape[:-1], 1)
    return tokens.gather(-1, picked).squeeze(-1)
