"""Where data is stored: in files of the workspace, or in Postgres and an object store that several machines share."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import SplitResult, parse_qsl, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from veracity.errors import ConfigurationError

POSTGRES_EXAMPLE = "postgresql://veracity@db.example.com/veracity"
S3_EXAMPLE = "s3://bucket/veracity"
IN_WORKSPACE = "workspace"  # the name of the default place of everything
MoveState = Literal["moved", "arriving"]


def explain_move(setting: str, state: MoveState, place: str) -> str:
    """The error of a place that was moved elsewhere, or to which a move is not finished."""
    if state == "arriving":
        return f"The move to the place of store.{setting} is not finished: run the same veracity move-to again."
    if place == IN_WORKSPACE:
        return f"The content of store.{setting} was moved to the workspace: remove store.{setting} from veracity.toml."
    return f'What was stored here was moved to "{place}": set store.{setting} to that in veracity.toml.'


def _split(url: str, example: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises for a port out of range
    except ValueError:
        raise ValueError(f"must be a URL such as {example}") from None
    return parts


def _checked_postgres_url(url: str) -> str:
    url = url.strip()
    if not url:
        return url
    parts = _split(url, POSTGRES_EXAMPLE)
    if parts.scheme not in ("postgresql", "postgres") or not url.isprintable() or " " in url:
        raise ValueError(f"must be a URL such as {POSTGRES_EXAMPLE}, or empty for a file in the workspace")
    if parts.password or any(key.lower() in ("password", "passfile") for key, _ in parse_qsl(parts.query)):
        raise ValueError("must not contain a password: set PGPASSWORD or PGPASSFILE")
    if not parts.path.strip("/"):
        raise ValueError(f"must name a database, such as {POSTGRES_EXAMPLE}")
    return url


def _checked_s3_url(url: str) -> str:
    url = url.strip().rstrip("/")
    if not url:
        return url
    parts = _split(url, S3_EXAMPLE)
    if parts.scheme != "s3" or not parts.netloc or not url.isprintable() or " " in url:
        raise ValueError(f"must be a URL such as {S3_EXAMPLE}, or empty for a folder in the workspace")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("must be a bucket and a path alone: keys come from AWS_ACCESS_KEY_ID and its like")
    return url


def _checked_endpoint(url: str) -> str:
    url = url.strip().rstrip("/")
    if not url:
        return url
    parts = _split(url, "https://s3.example.com")
    if parts.scheme not in ("http", "https") or not parts.hostname or not url.isprintable() or " " in url:
        raise ValueError("must be a URL such as https://s3.example.com, or empty for AWS")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("must be an address alone: keys come from AWS_ACCESS_KEY_ID and its like")
    return url


class StoreSettings(BaseModel):
    """Where data is stored. Unset: in files of the workspace. Passwords and keys come from the environment."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    ledger: Annotated[str, AfterValidator(_checked_postgres_url)] = Field(
        default="", description=f"Postgres for runs, approvals and users, such as `{POSTGRES_EXAMPLE}`"
    )
    knowledge: Annotated[str, AfterValidator(_checked_s3_url)] = Field(
        default="", description=f"object store for documents, such as `{S3_EXAMPLE}`; needs `store.ledger`"
    )
    uploads: Annotated[str, AfterValidator(_checked_s3_url)] = Field(
        default="", description="object store for uploaded files; needs `store.ledger`"
    )
    s3_endpoint: Annotated[str, AfterValidator(_checked_endpoint)] = Field(
        default="", description="URL of an S3-compatible server; unset: AWS"
    )

    def require_shared_ledger(self) -> None:
        """Raise `ConfigurationError` for an object store without Postgres, which holds the lock of its writer."""
        for name in ("knowledge", "uploads"):
            if getattr(self, name) and not self.ledger:
                raise ConfigurationError(f"store.{name} needs a ledger that other machines share: set store.ledger.")
