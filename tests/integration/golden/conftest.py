"""The tests of golden lakes come first: a lake is unpacked in one place, and a worker with some of them would wait."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: HERE not in item.path.parents)
