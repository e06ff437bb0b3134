"""Random orders of a shop, some of which a rule shows."""

import random

ROWS = 400
REGIONS = ["north", "south", None]


def row(drawn: random.Random, key: int) -> dict[str, object]:
    return {
        "id": key,
        "region": drawn.choice(REGIONS),
        "amount": float(drawn.randrange(ROWS)),
        "email": f"{drawn.choice('abcd')}{drawn.choice('xy')}@{drawn.randrange(5)}",
        "secret": "s",
    }
