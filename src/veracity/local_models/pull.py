"""Pulls a model: chooses its files, fetches what is missing, compares hashes, and records them in lock.json."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict

from veracity.errors import BusyError, ConfigurationError, PullError, reason_of
from veracity.local_models.known import FilePin, Kind, find_known
from veracity.local_models.libraries import fastembed_models
from veracity.local_models.models_folder import LockedModel, ModelsFolder, check_name, matches, sha256_of
from veracity.local_models.sources import Listing, RemoteFile, Source, make_source
from veracity.settings.servers import LOCAL_KINDS

ONNX_FILES = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
# Weights for other frameworks and formats, besides those a kind uses.
OTHER_WEIGHTS = re.compile(r"\.(?:onnx|onnx_data|h5|ot|msgpack|gguf|mlmodel|pt|pth|tflite|ckpt)$|^(?:openvino|coreml)/")
# Settings and vocabularies: of the model, and of the modules after it ("1_Pooling").
TEXT_FILES = re.compile(r"(?:\d+_\w+/)?[\w.-]+\.(?:json|txt|model)|LICENSE[\w.-]*")
NON_COMMERCIAL = re.compile(r"(?i)(?:^|[-_ ])nc(?:[-_ ]|$)|non-?commercial")

# Called with the name of a file, the bytes that have arrived, and its size.
FileProgress = Callable[[str, int, int], None]


class PullPlan(BaseModel):
    """What a pull would do; nothing but the list of files was fetched so far."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    kind: Kind
    name: str
    repository: str
    revision: str
    origin: str
    licence: str
    folder: Path
    files: dict[str, int]
    is_pulled: bool

    @property
    def size(self) -> int:
        return sum(self.files.values())

    @property
    def is_non_commercial(self) -> bool:
        return NON_COMMERCIAL.search(self.licence) is not None


class Puller:
    """Raises `PullError` or `ConfigurationError`, each with one sentence."""

    def __init__(self, folder: ModelsFolder, place: str | None = None) -> None:
        self._folder = folder
        self._source: Source = make_source(place)
        self._listed: dict[str, RemoteFile] = {}

    def plan(self, model: str, revision: str = "", file: str = "") -> PullPlan:
        """`model` is "NAME" or "KIND:NAME". `file` is the ONNX file to use, if not the usual one."""
        kind, name = split_name(model)
        repository, wanted = (name, [file] if file else []) if kind != "fastembed" else _fastembed_files(name)
        known, locked = find_known(name), self._folder.locked().get(f"{kind}:{name}")
        pinned = (known.revision if known and known.name == repository else "") or "main"
        asked = revision or (locked.revision if locked else "") or pinned
        listing = self._source.list_files(check_name(repository), asked)
        chosen = choose_files(kind, listing, wanted, repository)
        self._listed = {entry.name: entry for entry in chosen}
        target = self._folder.path_of(kind, name)
        return PullPlan(
            kind=kind,
            name=name,
            repository=repository,
            revision=listing.revision or revision,
            origin=self._source.origin,
            licence=listing.licence or (known.licence if known else "") or (locked.licence if locked else ""),
            folder=target,
            files={entry.name: entry.size for entry in chosen},
            is_pulled=locked is not None
            and locked.files.keys() == self._listed.keys()
            and all(matches(target / name, pin) for name, pin in locked.files.items()),
        )

    def pull(self, plan: PullPlan, progress: FileProgress = lambda *_: None) -> LockedModel:
        """Fetch into a folder beside the final one, compare, record, and rename. May be interrupted and repeated."""
        partial = plan.folder.with_name(f"{plan.folder.name}.partial")
        try:
            partial.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{partial}.lock", timeout=0):
                pins = {name: self._fetch(plan, partial, name, progress) for name in plan.files}
                locked = LockedModel(
                    revision=plan.revision, origin=plan.origin, licence=plan.licence, files=dict(sorted(pins.items()))
                )
                self._folder.record(f"{plan.kind}:{plan.name}", locked)
                if plan.folder.exists():
                    shutil.rmtree(plan.folder)
                partial.rename(plan.folder)
        except Timeout:
            raise BusyError(f'Another process is pulling "{plan.name}": wait for it.') from None
        except OSError as problem:
            raise PullError(f'The model cannot be written to "{partial}" ({reason_of(problem)}).') from None
        Path(f"{partial}.lock").unlink(missing_ok=True)
        return locked

    def _fetch(self, plan: PullPlan, partial: Path, name: str, progress: FileProgress) -> FilePin:
        file, target = self._listed[name], partial / name
        target.parent.mkdir(parents=True, exist_ok=True)
        done = plan.folder / name
        if not target.exists() and done.is_file() and done.stat().st_size == file.size:
            shutil.copyfile(done, target)  # of an earlier pull; compared below
        self._source.fetch(
            plan.repository, plan.revision, file, target, lambda arrived: progress(name, arrived, file.size)
        )
        file.require_match(target)
        pin = FilePin(size=target.stat().st_size, sha256=sha256_of(target))
        self._require_expected(plan, name, pin, target)
        return pin

    def _require_expected(self, plan: PullPlan, name: str, pin: FilePin, target: Path) -> None:
        """Compare with all that is known of the file: the list of the source, known.toml, and lock.json."""
        expected = {"the list of its source": self._listed[name].sha256}
        known = find_known(plan.name)
        if known and known.name == plan.repository and plan.revision in ("", known.revision):
            expected["the hash that Veracity knows"] = known.files[name].sha256 if name in known.files else ""
        locked = self._folder.locked().get(f"{plan.kind}:{plan.name}")
        if locked and locked.revision == plan.revision and name in locked.files:
            expected["lock.json"] = locked.files[name].sha256
        for where, sha256 in expected.items():
            if sha256 and sha256 != pin.sha256:
                target.unlink()
                raise PullError(
                    f'{name} of "{plan.name}" does not match {where}, and was deleted: pull it from another place, '
                    "or name its --revision if it is another one."
                )


def split_name(model: str) -> tuple[Kind, str]:
    """The kind of a known model that has no ONNX file is the one that runs it."""
    kind, _, name = model.partition(":") if ":" in model else (_usual_kind(model), "", model)
    if kind not in LOCAL_KINDS:
        raise ConfigurationError(
            f'Models of "{kind[:60]}" are not pulled: write NAME, fastembed:NAME or sentence-transformers:NAME.'
        )
    return kind, check_name(name)  # type: ignore[return-value]


def _usual_kind(name: str) -> str:
    known = find_known(name)
    return known.kind if known and known.name == name else "onnx"


def choose_files(kind: Kind, listing: Listing, wanted: list[str], repository: str) -> list[RemoteFile]:
    """The files that a library of this kind reads, without weights for others. `wanted` names the model's own files."""
    files = {file.name: file for file in listing.files}
    texts = [file for name, file in files.items() if TEXT_FILES.fullmatch(name)]
    if kind == "sentence-transformers":
        weights = _torch_weights(files)
        if not weights:
            raise PullError(f'"{repository}" has no model.safetensors or pytorch_model.bin: choose another model.')
    else:
        weights = _onnx_weights(files, wanted, repository)
    chosen = {file.name: file for file in (*weights, *texts)}
    return [chosen[name] for name in sorted(chosen)]


def _torch_weights(files: dict[str, RemoteFile]) -> list[RemoteFile]:
    """Weights of all modules: in safetensors where a module has them, else in PyTorch's own format."""
    chosen = []
    for name, file in files.items():
        if OTHER_WEIGHTS.search(name) or name.startswith("onnx/"):
            continue
        folder = str(PurePosixPath(name).parent)
        has_safetensors = any(
            other.endswith(".safetensors") and str(PurePosixPath(other).parent) == folder for other in files
        )
        if name.endswith(".safetensors") or (name.endswith(".bin") and not has_safetensors):
            chosen.append(file)
    return chosen


def _onnx_weights(files: dict[str, RemoteFile], wanted: list[str], repository: str) -> list[RemoteFile]:
    """The ONNX file, and the files beside it that hold its weights."""
    model = next((name for name in wanted or ONNX_FILES if name in files), None)
    if model is None:
        others = ", ".join(name for name in files if name.endswith(".onnx")) or "none"
        raise PullError(
            f'"{repository}" has no {(wanted or ["model.onnx"])[0]} (ONNX files there: {others[:300]}): '
            "name one of them with --file, or use sentence-transformers:NAME."
        )
    folder = PurePosixPath(model).parent
    beside = [
        file
        for name, file in files.items()
        if PurePosixPath(name).parent == folder
        and (name.startswith(f"{model}_data") or name.startswith(f"{model}.data") or "_attr__" in name)
    ]
    if "tokenizer.json" not in files and f"{folder}/tokenizer.json" in files:
        beside += [file for name, file in files.items() if re.fullmatch(rf"{folder}/[\w.-]+\.json", name)]
    return [files[model], *beside, *(files[name] for name in wanted if name in files)]


def _fastembed_files(name: str) -> tuple[str, list[str]]:
    """The repository that fastembed takes a model from, and its files there."""
    for description in fastembed_models():
        if description["model"].lower() == name.lower() and description["sources"]["hf"]:
            return description["sources"]["hf"], [description["model_file"], *description["additional_files"]]
    raise PullError(f'fastembed has no model "{name}": veracity models pull {name} may find it for onnx:{name}.')
