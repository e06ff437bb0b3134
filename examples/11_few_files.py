"""Few files: many small commits, what a table looks like then, and how it looks after itself.

`compaction_plan` shows each bucket and says what the policy would merge, and why. The server does it in the background.
A merge changes no answer, and old files stay for readers of older snapshots until `clean` removes them.
"""

from random import Random

import keylake as kl
from keylake import Float64, Int64, column, key, ordering


class Sensor(kl.Table, name="plant.sensors", buckets=2):
    """The latest readings of each sensor."""

    sensor_id: Int64 = key()
    at: Int64 = ordering(doc="Seconds since the plant was switched on.")
    temperature: Float64 | None = column()
    pressure: Float64 | None = column()


def readings(minute: int) -> list[dict[str, object]]:
    """A minute's readings of a tenth of the sensors."""
    random = Random(minute)
    return [
        {"sensor_id": sensor, "at": 60 * minute + 1, "temperature": 20 + random.random(), "pressure": random.random()}
        for sensor in random.sample(range(1000), 100)
    ]


with kl.connect() as lake:
    lake.spark.sql("DROP TABLE IF EXISTS plant.sensors PURGE")  # an earlier run's
    sensors = lake.create(Sensor)
    # Small files of the last ten minutes stay as they were written, unless a policy says otherwise.
    sensors.layout.set_compaction_policy(kl.CompactionPolicy(max_files=8, superseded_share=0.3, recent_seconds=0))

    # Every commit adds a file to each bucket. With maintenance paused, nobody merges them.
    with lake.maintenance.paused():
        for minute in range(12):
            sensors.upsert(readings(minute), stream="plant")
        print(sensors.layout.compaction_plan())  # nothing is done

    # Resumed, the server does what the plan said, in the background, beside readers and writers.
    lake.maintenance.wait()
    done = [entry for entry in lake.maintenance.log() if entry.table.endswith(sensors.name)]
    print(*done, sep="\n")
    print(sensors.layout.compaction_plan())

    print(f"{sensors.read().count()} sensors, {len(sensors.history())} commits")
    print(sensors.layout.clean(kl.RetentionPolicy(days=0)))
