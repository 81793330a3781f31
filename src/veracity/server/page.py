"""The page: files that come with the package. They hold nothing of the workspace, so they need no token."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, FastAPI
from fastapi.responses import FileResponse
from starlette.staticfiles import StaticFiles

STATIC = Path(__file__).parent / "static"

router = APIRouter(include_in_schema=False)


@router.head("/")
@router.get("/")
async def index() -> FileResponse:
    return FileResponse(STATIC / "index.html")


def install(app: FastAPI) -> None:
    app.mount("/static", StaticFiles(directory=STATIC, check_dir=False), name="static")
