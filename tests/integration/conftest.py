"""One server for the whole session, started as everybody's is: by the SDK, in a process of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import keylake as kl

# Half an hour off the whole ones, with daylight saving, and another zone than the one the tests' process may be in.
TIME_ZONE = "America/St_Johns"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What looks at the tables of all tests comes last."""
    items.sort(key=lambda item: item.path.name == "test_pyiceberg.py")


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the lake of this session lies."""
    return tmp_path_factory.mktemp("warehouse")


@pytest.fixture(scope="session")
def lake(warehouse: Path) -> Iterator[kl.Lake]:
    """The lake that tests share; each makes tables of its own."""
    # Tests look at the files that they have written, so nobody may merge them meanwhile.
    settings = {"spark.sql.session.timeZone": TIME_ZONE, "spark.keylake.maintenance.enabled": "false"}
    with kl.connect(warehouse=warehouse, memory="2g", settings=settings) as lake:
        yield lake
