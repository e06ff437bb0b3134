"""A lake of its own: pyiceberg, which opens all tables of the shared one, refuses equality deletes."""

from collections.abc import Iterator

import pytest

import keylake as kl


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kl.Lake]:
    settings = {"spark.keylake.maintenance.enabled": "false"}
    with kl.connect(warehouse=tmp_path_factory.mktemp("flink") / "lake", memory="1g", settings=settings) as lake:
        lake.spark.sql("CREATE NAMESPACE lake.streams")
        yield lake
