"""Application code without Spark: a service looks users up in this process, while a job on Spark has written them."""

import keylake as kl
import keylake.local


class User(kl.Table, name="shop.users", buckets=4, versions="explicit"):
    """What a service wants to know of a user."""

    user_id: kl.Int64 = kl.key()
    city: str | None = kl.column()
    clicks: kl.Int64 | None = kl.column(reduce=kl.Sum())


# The job: it writes through Spark, and its server has ended when the service begins.
with kl.connect(warehouse="./lake") as job:
    users = job.create(User, if_exists="match")
    users.upsert([User(user_id=n, city="Oslo", clicks=1) for n in range(1000)], version=1, idempotency_key="monday")
    users.update([{"user_id": 7, "clicks": 5}, {"user_id": 8, "clicks": 2}], version=2, idempotency_key="tuesday")
    users.delete([{"user_id": 9}], version=3, idempotency_key="wednesday")

# The service: no Spark, no JVM. It reads the same files by the same merge law.
with keylake.local.open("./lake") as lake:
    users_now = lake.table(User)
    print(users_now.get(user_id=7))
    print([None if user is None else user.clicks for user in users_now.get_many([{"user_id": n} for n in (7, 8, 9)])])
    rows = users_now.read(columns=["city", "clicks"], where="user_id < 100").to_arrow()
    print(rows.group_by("city").aggregate([("clicks", "sum")]).to_pylist())
