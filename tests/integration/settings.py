"""How random tests run here: few examples with much in each, since a write through a server takes most of a second."""

import os

from hypothesis import HealthCheck, Phase, settings

IN_CI = bool(os.environ.get("CI"))


def few(examples: int) -> settings:
    """The settings of a random test. In CI the seeds are always the same; a failure prints how to repeat it."""
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=IN_CI,
        print_blob=True,
        # Making a failing history smaller takes minutes: on a developer's machine it is worth it, in CI it is not.
        phases=[phase for phase in Phase if phase is not Phase.shrink or not IN_CI],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
