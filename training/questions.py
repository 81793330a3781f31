"""Questions about windows, written and judged by a small language model.

    python -m training.questions pack qwen2.5-coder-1.5b-instruct.gguf LM
    python -m training.questions write LM DATA --seconds 300

`write` reads DATA/windows.jsonl.xz and writes DATA/gen.jsonl, a line for each window: w, its number; q, six questions
[text, language, unit that answers or -1, margin of yes over no]. Documents that are held out come first.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import string
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from training import gguf
from training.batches import log
from training.corpus import STATEMENTS, Window, read_windows
from training.sources import LANGUAGES

PROMPTS: dict[str, Any] = tomllib.loads(Path(__file__).with_name("questions.toml").read_text(encoding="utf-8"))
LETTERS = string.ascii_uppercase
END = "<|im_end|>\n<|im_start|>assistant\n"
START = "<|im_start|>system\nYou are a careful assistant.<|im_end|>\n<|im_start|>user\n"
QUESTIONS = 6  # for each window; the fifth is in another language, the sixth has no answer
LONGEST_PREFIX = 560
LONGEST_QUESTION = 44
SEED = 7


class Task(NamedTuple):
    language: str
    unit: int
    prompt: str


def statement_numbers(window: Window) -> list[int]:
    return [number for number, unit in enumerate(window.units) if unit.kind in STATEMENTS][:24]


def prefix(window: Window) -> str:
    """The passage, with a letter before each statement."""
    letters = dict(zip(statement_numbers(window), LETTERS, strict=False))
    lines = []
    for number, unit in enumerate(window.units):
        text = unit.text[:420]
        if number in letters:
            lines.append(f"{letters[number]}. {text}")
        elif unit.kind == "heading":
            lines.append("# " + text.lstrip("# "))
        else:
            lines.append("    " + text[:160] if unit.kind == "code" else text[:200])
    title = f'Passage from "{window.head[-120:]}"' if window.head else "Passage"
    return f"{START}{title}:\n" + "\n".join(lines) + "\n\n"


def tasks(window: Window, chance: random.Random) -> list[Task]:
    statements = statement_numbers(window)
    shortest = 40 if window.language == "en" else 16
    units = [number for number in statements if len(window.units[number].text) >= shortest] or list(statements)
    chance.shuffle(units)
    found = []
    for number in range(QUESTIONS - 1):
        unit = units[number % len(units)]
        others = [language for language in LANGUAGES if language != window.language]
        language = window.language if number < QUESTIONS - 2 else chance.choice(others)
        prompts = PROMPTS[language]
        style = chance.choice(prompts["styles"]).replace("{word}", chance.choice(prompts["words"]))
        prompt = prompts["ask"].format(x=LETTERS[statements.index(unit)], style=style)
        found.append(Task(language, unit, prompt + END + prompts["reply"]))
    prompts = PROMPTS[window.language]
    return [*found, Task(window.language, -1, prompts["unanswered"] + END + prompts["reply"])]


def make_batches(windows: Sequence[Window], lengths: Sequence[int], size: int) -> list[list[int]]:
    """Neighbouring windows together, prefixes of similar length, and the languages in turn."""
    runs: list[list[int]] = []
    for number, window in enumerate(windows):
        if lengths[number] > LONGEST_PREFIX or window.use == "excluded":
            continue
        if runs and windows[runs[-1][-1]].document == window.document:
            runs[-1].append(number)
        else:
            runs.append([number])
    chance = random.Random(SEED)
    ordered: list[tuple[int, list[int]]] = []
    for language in LANGUAGES:
        mine = [run for run in runs if windows[run[0]].language == language]
        held = [run for run in mine if windows[run[0]].use == "held"]
        trained = [run for run in mine if windows[run[0]].use != "held"]
        chance.shuffle(held)
        chance.shuffle(trained)
        ordered += enumerate(_fill(held[:100], lengths, size) + _fill(trained, lengths, size))
    return [batch for _, batch in sorted(ordered, key=lambda entry: entry[0])]


def _fill(runs: Sequence[list[int]], lengths: Sequence[int], size: int) -> list[list[int]]:
    found = []
    for start in range(0, len(runs), 400):
        current: list[int] = []
        for run in sorted(runs[start : start + 400], key=lambda run: max(lengths[number] for number in run)):
            if current and len(current) + len(run) > size:
                found.append(current)
                current = []
            current = current + run
        if len(current) > 1:
            found.append(current)
    return found


def judge_questions(model: Any, passages: Any, groups: Sequence[Sequence[str]]) -> Any:
    """The margin of yes over no, when the language model is asked whether each passage answers its questions."""
    yes, no = (ids[0] for ids in model.ids(["yes", "no"]))
    prompts = [model.ids([PROMPTS["judge"].format(q=text[:200]) + END for text in group]) for group in groups]
    scores = passages.choose(prompts, [yes, no])
    return scores[:, :, 0] - scores[:, :, 1]


def write_batch(model: Any, windows: Sequence[Window], numbers: Sequence[int], chance: Any, seed: int) -> list[str]:
    """A line of gen.jsonl for each window."""
    from training.language_model import Continuations  # noqa: PLC0415 - needs PyTorch

    mine = [windows[number] for number in numbers]
    order = random.Random(seed)
    asked = [tasks(window, order) for window in mine]
    room = QUESTIONS * (144 + LONGEST_QUESTION + 4 + 60)
    passages = Continuations(model, model.ids([prefix(window) for window in mine]), room)
    prompts = [model.ids([task.prompt for task in group]) for group in asked]
    written = passages.write(prompts, LONGEST_QUESTION, model.line_ends(), chance)
    questions = [[_clean(model.text(ids)) for ids in group] for group in written]
    margins = judge_questions(model, passages, questions)
    lines = []
    for row, number in enumerate(numbers):
        asked_here = [
            [questions[row][place], task.language, task.unit, round(float(margins[row, place]), 2)]
            for place, task in enumerate(asked[row])
        ]
        lines.append(json.dumps({"w": number, "q": asked_here}, ensure_ascii=False, separators=(",", ":")))
    return lines


def _clean(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip().strip('"“”「」 ')


def write(folder: Path, data: Path, seconds: float, device: str, batches: int | None, size: int) -> None:
    import torch  # noqa: PLC0415 - `pack` does not need it

    from training.language_model import LanguageModel  # noqa: PLC0415

    started = time.time()
    windows = read_windows(data)
    model = LanguageModel(folder, device)
    lengths = [len(ids) for ids in model.ids([prefix(window) for window in windows])]
    planned = make_batches(windows, lengths, size)[:batches]
    log("windows", len(windows), "batches", len(planned))
    chance = torch.Generator(device).manual_seed(1)
    count = 0
    with (data / "gen.jsonl").open("w", encoding="utf-8") as file:
        for number, batch in enumerate(planned):
            if time.time() - started > seconds:
                break
            lines = write_batch(model, windows, batch, chance, number)
            file.writelines(f"{line}\n" for line in lines)
            count += QUESTIONS * len(lines)
            if number % 10 == 0:
                log(number, "questions", count, json.loads(lines[0])["q"][0][0])
    log("questions", count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack", help="pack the language model")
    packing.add_argument("gguf", type=Path, help="Qwen2.5-Coder-1.5B-Instruct as Q4_K_M")
    packing.add_argument("folder", type=Path)
    writing = commands.add_parser("write", help="write and judge questions")
    writing.add_argument("folder", type=Path, help="of the packed language model")
    writing.add_argument("data", type=Path)
    writing.add_argument("--seconds", type=float, default=480)
    writing.add_argument("--device", default="cuda", help="cuda or cpu (default cuda)")
    writing.add_argument("--batches", type=int, help="stop after this many, for a quick trial")
    writing.add_argument("--windows-per-batch", type=int, default=288)
    arguments = parser.parse_args()
    if arguments.command == "pack":
        gguf.pack(arguments.gguf, arguments.folder)
    else:
        size = arguments.windows_per_batch
        write(arguments.folder, arguments.data, arguments.seconds, arguments.device, arguments.batches, size)


if __name__ == "__main__":
    main()
