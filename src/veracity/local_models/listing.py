"""Lists models: the bundled ones, those that were pulled, and those that are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict

from veracity.local_models.known import KnownModel, find_known, known_models
from veracity.local_models.models_folder import LockedModel, ModelsFolder
from veracity.settings import Settings

State = Literal["bundled", "pulled", "damaged", "known"]


class ListedModel(BaseModel):
    """`setting` is what to write into the settings; `used_by` lists the settings that name it already."""

    model_config = ConfigDict(frozen=True)

    name: str
    state: State
    role: str
    setting: str
    used_by: list[str]
    languages: list[str]
    size: int
    licence: str
    revision: str = ""
    dimensions: int | None = None
    max_tokens: int | None = None
    query_prefix: str = ""
    passage_prefix: str = ""


def list_models(settings: Settings, bundled_bytes: Mapping[str, int]) -> list[ListedModel]:
    """Ready ones first. `bundled_bytes` has the size of each bundled model by its role. Compares sizes, not hashes:
    those are compared when a model is loaded."""
    used = {"models.embedder": settings.models.embedder, "models.reranker": settings.reranker}
    used_bundled = {"embedder": ["models.embedder"], "reader": ["models.reader", "models.reranker"]}
    values = {**used, "models.reader": settings.reader}

    def used_by(*names: str) -> list[str]:
        return [setting for setting, value in used.items() if value in names]

    bundled = [
        ListedModel(
            name="bundled",
            state="bundled",
            role=role,
            setting="bundled",
            used_by=[setting for setting in used_bundled[role] if values[setting] == "bundled"],
            languages=["en", "zh", "ja"],
            size=size,
            licence="apache-2.0",
        )
        for role, size in bundled_bytes.items()
    ]
    folder = ModelsFolder(settings.models.folder)
    pulled = {key: _pulled(folder, key, locked, used_by(key)) for key, locked in folder.locked().items()}
    known = [
        _describe(model, setting, "known", used_by(setting), model.megabytes * 1_000_000)
        for model in known_models()
        if (setting := f"{model.kind}:{model.name}") not in pulled
    ]
    return [*bundled, *pulled.values(), *known]


def _pulled(folder: ModelsFolder, key: str, locked: LockedModel, used_by: list[str]) -> ListedModel:
    kind, _, name = key.partition(":")
    place = folder.path / kind / name
    sizes = {file: pin.size for file, pin in locked.files.items()}
    is_whole = all((place / file).is_file() and (place / file).stat().st_size == size for file, size in sizes.items())
    known = find_known(name)
    state: State = "pulled" if is_whole else "damaged"
    total = sum(sizes.values())
    if known is None:
        return ListedModel(
            name=name,
            state=state,
            role="",
            setting=key,
            used_by=used_by,
            languages=[],
            size=total,
            licence=locked.licence,
            revision=locked.revision,
        )
    listed = _describe(known, key, state, used_by, total)
    return listed.model_copy(
        update={"name": name, "revision": locked.revision, "licence": locked.licence or known.licence}
    )


def _describe(model: KnownModel, setting: str, state: State, used_by: list[str], size: int) -> ListedModel:
    return ListedModel(
        name=model.name,
        state=state,
        role=model.role,
        setting=setting,
        used_by=used_by,
        languages=[*model.languages, *(["…"] if model.others else [])],
        size=size,
        licence=model.licence,
        revision=model.revision,
        dimensions=model.dimensions,
        max_tokens=model.max_tokens,
        query_prefix=model.query_prefix,
        passage_prefix=model.passage_prefix,
    )
