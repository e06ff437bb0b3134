"""W6: hot keys. One key of a hundred is written by every one of 50 commits, and no other key ever again."""

from benchmarks.workload import Workload
from benchmarks.workloads.whole_rows import FEW, SEED, VALUES

FULL_SIZE = 1_000_000
COMMITS = 50
CHOSEN = "pmod({h}, 100) = 0"


def hot_keys(keys: int) -> Workload:
    return Workload("W6", keys, SEED, VALUES, FEW, chosen=CHOSEN, commits=COMMITS, hot=True)
