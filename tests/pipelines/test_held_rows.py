"""A pipeline whose transform requires conditions: rows that fail one are held back, or set their table aside."""

from pathlib import Path

import pytest

import keylake as kl
from integration.streams.arriving import arrive
from integration.twin import fresh_name

DEFINED = """
source:
  type: files
  path: {folder}
  key: id
sink:
  type: keylake
  namespace: {name}
transform:
  - source-table: orders
    projection: id, CAST(total AS INT) AS total, city
    require:
      - total >= 0
      - city IN ('Oslo', 'Bern')
    on-failure: {on_failure}
  - source-table: clicks
    projection: id, CAST(total AS INT) AS total
    require: total < 100
pipeline:
  name: {name}
  load.freshness: 1 s
"""


def defined(tmp_path: Path, name: str, on_failure: str) -> kl.Pipeline:
    file = tmp_path / "pipeline.yaml"
    file.write_text(DEFINED.format(folder=tmp_path / "in", name=name, on_failure=on_failure))
    return kl.Pipeline.load(file)


@pytest.mark.parametrize("on_failure", ["quarantine", "raise"])
def test_a_transform_requires_conditions_of_rows(lake: kl.Lake, tmp_path: Path, on_failure: str) -> None:
    name = fresh_name("required").replace(".", "_")
    pipeline = defined(tmp_path, name, on_failure)
    assert pipeline.transform[0].require == ("total >= 0", "city IN ('Oslo', 'Bern')")
    assert kl.Pipeline.model_validate(pipeline.model_dump()) == pipeline
    for table in ("orders", "clicks"):
        (tmp_path / "in" / table).mkdir(parents=True)
    good = {"id": 1, "total": 5, "city": "Oslo"}
    arrive(tmp_path / "in" / "orders", "1", good, {"id": 2, "total": -5, "city": "Oslo"})
    arrive(tmp_path / "in" / "clicks", "1", {"id": 1, "total": 7})
    kl.run_pipeline(pipeline, lake, once=True)
    # The requirement holds after a restart, too.
    rome, bern = ({"id": key, "total": key, "city": city} for key, city in ((3, "Rome"), (4, "Bern")))
    arrive(tmp_path / "in" / "orders", "2", rome, bern)
    report = kl.run_pipeline(pipeline, lake, once=True)
    orders, clicks = (lake.table(f"{name}.{table}") for table in ("orders", "clicks"))
    found = sorted(row.id for row in orders.read(["id"]).collect())
    assert [row.total for row in clicks.read(["id", "total"]).collect()] == [7]
    if on_failure == "raise":
        assert found == []
        assert report.set_aside == (f"{name}.orders",)
        return
    assert found == [1, 4]
    failed = {row.id: row._failed for row in orders.quarantine.rows(["id"]).collect()}
    assert failed == {2: "total >= 0", 3: "city IN ('Oslo', 'Bern')"}
    assert orders.quarantine.release().rows == 2
    assert sorted(row.id for row in orders.read(["id"]).collect()) == [1, 2, 3, 4]
