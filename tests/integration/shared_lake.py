"""One server for all tests of a worker, started as everybody's is: by the SDK, in a process of its own."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import keylake as kl
from integration.class_archive import ARCHIVE, OPTIONS, USES_IT
from integration.query_plans import changed_settings
from integration.raw import catalog_of, check_raw_rows, tables_of

# Half an hour off the whole ones, with daylight saving, and another zone than the one the tests' process may be in.
TIME_ZONE = "America/St_Johns"

os.environ.setdefault("JAVA_TOOL_OPTIONS", f"{OPTIONS} {USES_IT}" if ARCHIVE.exists() else OPTIONS)


@pytest.fixture(scope="session")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the lake of this session lies."""
    return tmp_path_factory.mktemp("warehouse")


@pytest.fixture(scope="session")
def lake(warehouse: Path) -> Iterator[kl.Lake]:
    """The lake that the tests of a worker share; each makes tables of its own, which pyiceberg opens at the end."""
    # Tests look at the files that they have written, so nobody may merge them meanwhile.
    settings = {
        "spark.sql.session.timeZone": TIME_ZONE,
        "spark.keylake.maintenance.enabled": "false",
        "spark.keylake.catalog.port": "0",  # Iceberg's REST catalog listens, too
    }
    with kl.connect(warehouse=warehouse, memory="2g", settings=settings) as lake:
        yield lake
        with closing(catalog_of(lake)) as catalog:
            check_raw_rows(tables_of(catalog))


@pytest.fixture
def without_broadcasts(lake: kl.Lake) -> Iterator[None]:
    """Small tables are joined as large ones are."""
    with changed_settings(lake, {"spark.sql.autoBroadcastJoinThreshold": "-1"}):
        yield
