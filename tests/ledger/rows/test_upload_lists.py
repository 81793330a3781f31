"""The list of each person's last upload."""

from collections.abc import Sequence

import pytest

from veracity.errors import InputError
from veracity.ledger import Ledger
from veracity.ledger.rows import upload_lists
from veracity.ledger.rows.upload_lists import UploadLists
from veracity.models import AnnouncedFile, Outcome, UploadList

pytestmark = pytest.mark.both_engines

NAMES = ("leave.md", "年假.txt", "休暇.txt")


@pytest.fixture
def lists(ledger: Ledger) -> UploadLists:
    return ledger.upload_lists


def files(names: Sequence[str] = NAMES, reason: str = "") -> list[AnnouncedFile]:
    return [AnnouncedFile(name=name, size=9, document_id=f"id of {name}", reason=reason) for name in names]


def failed(name: str, reason: str = "it is empty") -> Outcome:
    return Outcome(name=name, status="failed", reason=reason)


def statuses(listed: UploadList | None) -> dict[str, str]:
    return {file.name: file.status for file in listed.files} if listed else {}


def test_files_are_listed_from_their_announcement_to_their_outcome(lists: UploadLists) -> None:
    assert lists.read("ann") is None
    listed = lists.announce("ann", files())
    assert [(file.number, file.name, file.size, file.status) for file in listed.files] == [
        (number, name, 9, "waiting") for number, name in enumerate(NAMES, 1)
    ]
    lists.receive("ann", listed.id, [1, 2])
    lists.settle("ann", listed.id, 1, Outcome(name="leave.md", status="added", document_id="d"))
    assert statuses(lists.read("ann")) == dict(zip(NAMES, ("added", "received", "waiting"), strict=True))
    lists.settle("ann", listed.id, 2, failed("年假.txt"))
    lists.cancel("ann", listed.id)
    assert statuses(lists.read("ann")) == dict(zip(NAMES, ("added", "failed", "cancelled"), strict=True))
    lists.receive("ann", listed.id, [2])  # it is sent again
    lists.settle("ann", listed.id, 2, failed("年假.txt"), is_cancelled=True)
    again = lists.read("ann")
    assert again and (again.files[1].status, again.files[1].reason) == ("cancelled", "")
    lists.dismiss("ann", "of another tab")
    assert lists.read("ann") == again
    lists.dismiss("ann", listed.id)
    assert lists.read("ann") is None


def test_files_are_added_to_the_last_list_only(lists: UploadLists) -> None:
    first = lists.announce("ann", files(["a.md"]))
    more = lists.announce("ann", files(["b.md"], "it is too large"), first.id)
    assert more.id == first.id and statuses(more) == {"a.md": "waiting", "b.md": "failed"}
    assert [file.number for file in more.files] == [1, 2]
    lists.announce("bob", files(["c.md"]), first.id)  # not bob's
    second = lists.announce("ann", files(["d.md"]))
    assert second.id != first.id and statuses(lists.read("ann")) == {"d.md": "waiting"}
    lists.settle("ann", first.id, 1, failed("a.md"))  # of the replaced list
    assert statuses(lists.read("ann")) == {"d.md": "waiting"} and statuses(lists.read("bob")) == {"c.md": "waiting"}


def test_a_list_is_bounded(lists: UploadLists, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload_lists, "MAX_FILES", 3)
    listed = lists.announce("ann", files())
    with pytest.raises(InputError, match="up to 3 files"):
        lists.announce("ann", files(["one more"]), listed.id)
    lists.settle("ann", listed.id, 1, failed(NAMES[0], "x" * 9000))
    [long] = lists.announce("bob", files(["y" * 9000])).files
    kept = lists.read("ann")
    assert kept and len(kept.files) == 3
    assert len(kept.files[0].reason) == upload_lists.MAX_REASON_LENGTH
    assert len(long.name) == upload_lists.MAX_NAME_LENGTH


def test_an_outcome_that_is_found_later_is_listed_if_the_file_was_received(lists: UploadLists) -> None:
    listed = lists.announce("ann", files())
    lists.receive("ann", listed.id, [1])
    for name in NAMES[:2]:
        lists.settle_document(f"id of {name}", Outcome(name=name, status="added"))
    assert statuses(lists.read("ann")) == dict(zip(NAMES, ("added", "waiting", "waiting"), strict=True))


def test_names_of_forgotten_documents_leave_every_list(ledger: Ledger, lists: UploadLists) -> None:
    lists.announce("ann", files())
    lists.announce("bob", files(["年假.txt"]))
    ledger.forget_documents(["id of 年假.txt", "unknown"])
    assert list(statuses(lists.read("ann"))) == ["leave.md", "休暇.txt"]
    assert lists.read("bob") is None


def test_a_removed_user_has_no_list(ledger: Ledger, lists: UploadLists) -> None:
    ledger.users.add("ann", "admin")
    lists.announce("ann", files())
    ledger.users.remove("ann")
    assert lists.read("ann") is None
