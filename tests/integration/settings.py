"""How random tests run here: few examples with much in each, since a write through a server takes most of a second."""

import os

from hypothesis import HealthCheck, Phase, settings

# With EXPLORE=20 in the environment there are twenty times as many examples, drawn anew in every run.
EXPLORE = int(os.environ.get("EXPLORE", "0"))


def few(examples: int) -> settings:
    """The settings of a random test: the same examples in every run, unless one explores."""
    return settings(
        max_examples=examples * max(EXPLORE, 1),
        deadline=None,
        derandomize=not EXPLORE,
        print_blob=True,
        # Making a failing history smaller takes minutes, and it is short and printed as it is.
        phases=[phase for phase in Phase if phase is not Phase.shrink],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
