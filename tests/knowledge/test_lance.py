"""LanceDB is loaded without the client of its REST catalogue, which is there for whoever asks for it."""

import subprocess
import sys

import pytest

OURS = "import veracity.knowledge.lance"
WHOLE = "import lance_namespace_urllib3_client as client"
ASKED = """
print(client.TableApi.create_table.__qualname__)
from lance_namespace_urllib3_client.api import table_api
assert client.TableApi is client.api.TableApi is table_api.TableApi
assert not hasattr(client, "nothing")
"""


@pytest.mark.parametrize("loaded", [f"{OURS}\n{WHOLE}", f"{WHOLE}\n{OURS}"])
def test_the_client_is_loaded_when_it_is_asked_for(loaded: str) -> None:
    run = subprocess.run([sys.executable, "-c", f"{loaded}{ASKED}"], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "TableApi.create_table"
