"""LanceDB is imported without its REST client, which other code can still use."""

import subprocess
import sys

import pytest

OUR_IMPORT = "import veracity.knowledge.lance"
CLIENT_IMPORT = "import lance_namespace_urllib3_client as client"
USE_CLIENT = """
print(client.TableApi.create_table.__qualname__)
from lance_namespace_urllib3_client.api import table_api
assert client.TableApi is client.api.TableApi is table_api.TableApi
assert not hasattr(client, "nothing")
"""


@pytest.mark.parametrize("imports", [f"{OUR_IMPORT}\n{CLIENT_IMPORT}", f"{CLIENT_IMPORT}\n{OUR_IMPORT}"])
def test_the_client_is_loaded_on_first_use(imports: str) -> None:
    run = subprocess.run([sys.executable, "-c", f"{imports}{USE_CLIENT}"], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "TableApi.create_table"
