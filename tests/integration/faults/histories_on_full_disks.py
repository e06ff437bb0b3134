"""A random history on a disk that is full again and again, in a mount namespace of its own.

unshare --map-root-user --mount python histories_on_full_disks.py <an empty folder> <a seed> <a number of verbs>
"""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import keylake as kl
from integration.faults.any_verb import EVERYTHING, SHAPE, History, newest_of, opened
from integration.faults.small_disks import filled, mount_small

SIZE = "48m"
ROOM = (0, 4_096, 20_000, 60_000, 150_000, 400_000)  # bytes that are left
DONE = "done"
SETTINGS = {"spark.keylake.maintenance.enabled": "false", "spark.sql.shuffle.partitions": "2"}


def main(folder: Path, seed: int, verbs: int) -> None:
    mount_small(folder, SIZE)
    draw = Random(seed)
    history = History(draw, seed)
    ends: Counter[str] = Counter()
    with kl.connect(warehouse=folder / "lake", memory="700m", settings=SETTINGS) as lake:
        twin = SHAPE.create(lake, "faults.full")
        for _ in range(verbs):
            newest = newest_of(twin.table)
            verb, after = history.work(twin)
            filler = filled(folder, draw.choice(ROOM))
            end = end_of(verb)
            filler.unlink()
            ends[end] += 1
            is_acknowledged = end == DONE
            history.undoable &= is_acknowledged
            twin = opened(lake, twin, newest, after, is_acknowledged)
        twin.table.compact("full")
        twin.table.layout.clean(EVERYTHING)
        twin.check()
    assert ends["Unavailable"], ends
    print(dict(ends))


def end_of(verb: Callable[[], object]) -> str:
    """The error of a verb that failed, which is one sentence."""
    try:
        verb()
    except kl.KeylakeError as error:
        said, end = str(error), type(error).__name__
    else:
        return DONE
    assert not any(word in said for word in ("\n", "Exception", "org.apache")), said
    return end


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
