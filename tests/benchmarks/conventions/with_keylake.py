# definition
from datetime import datetime, timezone

import keylake as kl


class Profile(kl.Table, name="features.profile"):
    user_id: int = kl.key()
    at: datetime = kl.ordering()
    city: str | None = kl.column()
    clicks: int | None = kl.column()


lake = kl.connect()
profiles = lake.create(Profile)


# write
def at(hour: int) -> datetime:
    return datetime(2026, 11, 1, hour, tzinfo=timezone.utc)


profiles.upsert([Profile(user_id=user, at=at(9), city="Oslo", clicks=0) for user in (7, 8)])

# partial update
for hour, clicks in ((12, 4), (11, 3)):
    profiles.update([{"user_id": 7, "at": at(hour), "clicks": clicks}])

# read
row = profiles.get(user_id=7)
print(row.city, row.clicks)

# history
commits = profiles.history()
print(len(commits), profiles.read(where="user_id = 7", at=commits[-1]).first().clicks)

# errors
try:
    profiles.update([{"user_id": 7, "at": at(13), "clicks": "many"}])
except kl.BadRows as error:
    print(type(error).__name__, error)
