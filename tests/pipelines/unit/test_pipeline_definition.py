"""Definitions of pipelines: YAML of Flink CDC is read, what is wrong has a place, and no secret is shown."""

import datetime
import json
from pathlib import Path
from typing import Literal, get_args, get_origin

import pytest
from pydantic import BaseModel

import keylake as kl
from keylake_pipelines.definition.fields import is_unused
from keylake_pipelines.definition.json_schema import json_schema
from keylake_pipelines.definition.routes import is_captured, route, unmatched
from keylake_pipelines.definition.yaml_file import parsed as parsed_as
from keylake_pipelines.pipeline.running import load_of
from keylake_pipelines.rate_control.targets import Bounds
from keylake_pipelines.runner.settings import Fixed, Setting
from keylake_pipelines.runner.sizing import Sized
from keylake_pipelines.source.tables import SourceTable

DOCUMENTS = Path(__file__).parents[3] / "sdk" / "docs"
SECRET = "hunter2"

PAIMON = r"""
source:
  type: mysql
  name: MySQL Source
  hostname: 127.0.0.1
  port: 3306
  username: admin
  password: 0123456
  tables: adb.\.*, bdb.user_table_[0-9]+, [app|web].order_\.*
  tables.exclude: adb.tmp_\.*
  server-id: 5401-5404
  server-time-zone: Asia/Shanghai
  scan.startup.mode: initial
  schema-change.enabled: true
  connect.timeout: 30s
  jdbc.properties.useSSL: false
  debezium.snapshot.locking.mode: none
sink:
  type: keylake
  name: Paimon Sink
  catalog.properties.metastore: filesystem
  catalog.properties.warehouse: /path/warehouse
  table.properties.bucket: 4
transform:
  - source-table: adb.web_order01
    projection: \*, UPPER(product_name) as product_name
    filter: id > 10 AND order_id > 100
    primary-keys: id, order_id
    table-options: comment=web order,bucket=2
    description: project fields and filter
route:
  - source-table: adb.\.*
    sink-table: ods_db.<>
    replace-symbol: <>
    description: one to one
pipeline:
  name: MySQL to Paimon Pipeline
  parallelism: 2
  schema.change.behavior: EVOLVE
"""

SMALL = f"""source:
  type: mysql
  hostname: db
  username: etl
  password: {SECRET}
  tables: shop.\\.*
sink:
  type: keylake
pipeline:
  name: shop
"""


def parsed(text: str, name: str) -> kl.Pipeline:
    return parsed_as(text, name, kl.Pipeline)


def refused(text: str) -> str:
    with pytest.raises(kl.DefinitionError) as caught:
        parsed(text, "p.yaml")
    assert SECRET not in str(caught.value)
    return str(caught.value)


def test_a_file_for_mysql_to_paimon_is_read_after_its_sink_is_changed() -> None:
    pipeline = parsed(PAIMON, "p.yaml")
    source = pipeline.source
    assert isinstance(source, kl.MySql)
    assert source.password.get_secret_value() == "0123456"
    assert (source.server_id, source.server_time_zone) == ("5401-5404", "Asia/Shanghai")
    assert pipeline.pipeline == kl.PipelineOptions(
        name="MySQL to Paimon Pipeline", parallelism=2, schema_change_behavior="evolve"
    )
    assert pipeline.transform[0].primary_keys == ("id", "order_id")
    assert pipeline.transform[0].table_properties() == {"comment": "web order", "bucket": "2"}
    assert pipeline.ignored() == (
        "source.server-time-zone",
        "source.connect.timeout",
        "source.jdbc.properties.useSSL",
        "source.debezium.snapshot.locking.mode",
        "sink.catalog.properties.metastore",
        "sink.catalog.properties.warehouse",
    )


def test_keys_of_the_sinks_of_quickstarts_are_told_as_ignored() -> None:
    keys = {
        "fenodes": "127.0.0.1:8030", "jdbc-url": "jdbc:mysql://x", "load-url": "x:8080", "hosts": "http://x:9200",
        "username": "root", "password": "of a sink", "table.create.properties.replication_num": "1",
        "properties.bootstrap.servers": "x:9092", "sink.enable-delete": "true", "topic": "changes", "path": "/x",
        "buckets-num": "8", "hadoop.conf.fs": "x", "direct-load.enabled": "true",
    }  # fmt: skip
    lines = "".join(f"  {name}: {value!r}\n" for name, value in keys.items())
    pipeline = parsed(SMALL.replace("  type: keylake\n", f"  type: keylake\n{lines}"), "p.yaml")
    assert sorted(pipeline.ignored()) == sorted(f"sink.{name}" for name in keys)
    assert "of a sink" not in pipeline.to_yaml() + repr(pipeline)
    with pytest.raises(kl.DefinitionError, match=r"sink has no key 'zork'\. There are: type, .*schema\.changes\.$"):
        parsed(SMALL.replace("  type: keylake\n", "  type: keylake\n  zork: 1\n"), "p.yaml")


def test_what_no_table_of_the_source_is_meant_by() -> None:
    lines = "route:\n  - source-table: shop.order_\\d+\n    sink-table: lake.orders\n"
    lines += "transform:\n  - source-table: shop.people\n    filter: id > 1\n"
    source = SMALL.replace(r"tables: shop.\.*", r"tables: shop.orders, shop.old_\.*" + "\n  keys: {shop.events: id}")
    pipeline = parsed(source + lines, "p.yaml")
    tables = [SourceTable(("shop", name)) for name in ("orders", "people")]
    assert unmatched(pipeline, tables) == (
        r"source.tables 'shop.old_\\.*'", r"route.source-table 'shop.order_\\d+'", "source.keys 'shop.events'",
    )  # fmt: skip
    tables += [SourceTable(("shop", name)) for name in ("old_1", "order_1", "events")]
    assert unmatched(pipeline, tables) == ()


def test_what_is_written_is_read_as_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = parsed(PAIMON, "p.yaml")
    text = pipeline.to_yaml()
    assert "0123456" not in text
    monkeypatch.setenv("SOURCE_PASSWORD", "0123456")
    assert parsed(text, "p.yaml") == pipeline


def test_python_says_the_same_as_yaml() -> None:
    said = parsed(SMALL + "  route-mode: first_match\n", "p.yaml")
    assert said == kl.Pipeline(
        source=kl.MySql(hostname="db", username="etl", password=SECRET, tables=r"shop.\.*"),  # type: ignore[arg-type]
        sink=kl.LakeSink(),
        pipeline=kl.PipelineOptions(name="shop", route_mode="FIRST_MATCH"),
    )
    assert SECRET not in repr(said)


@pytest.mark.parametrize(
    ("was", "now", "sentence"),
    [
        ("  hostname", "  hostnam", r"p.yaml:3:3: source has no key 'hostnam'. Did you mean 'hostname'?"),
        ("type: mysql", "type: mysq", "p.yaml:2:9: source.type is 'mysq'. Did you mean 'mysql'?"),
        ("type: keylake", "type: paimon", "p.yaml:8:9: sink.type is 'paimon'. Use keylake, and leave the other keys"),
        ("  username: etl\n", "", "p.yaml:1:1: source.username is missing."),
        ("  username: etl", "  username: etl\n  port: x", "p.yaml:5:9: source.port is 'x'. Use a whole number."),
        ("  username: etl", "  username: etl\n  port: 70000", "p.yaml:5:9: source.port is '70000'. Use at most 65535."),
        (
            "  username: etl",
            "  username: etl\n  username: a",
            "p.yaml:5:3: source.username is given twice, first in line 4",
        ),
        ("pipeline:", "pipelin:", "p.yaml:9:1: A pipeline has no key 'pipelin'. Did you mean 'pipeline'?"),
        (SECRET, "${NOT_SET_AT_ALL}", "p.yaml:5:13: source.password needs the environment variable NOT_SET_AT_ALL"),
        (SECRET, f"[{SECRET}]", "p.yaml:5:3: source.password does not fit. Use text."),
        (SECRET, f"*{SECRET}", "p.yaml:5:13: The file is no YAML: found undefined alias. Quote a value"),
        (SECRET, f"!{SECRET} a", "p.yaml:5:13: source.password has a tag of YAML"),
        (f"password: {SECRET}", f"pasword: {SECRET}", "source has no key 'pasword'. Did you mean 'password'?"),
        (SECRET, f"'{SECRET}", "p.yaml:11:1: The file is no YAML: found unexpected end of stream."),
        ("  name: shop", "  schema.change.behavior: evolv", "Did you mean 'evolve'?"),
        (
            "  name: shop",
            "  user-defined-function: []",
            "p.yaml:9:1: pipeline has user-defined-function: classes of Java",
        ),
        ("  type: keylake", "  freshness: 1 fortnight", "p.yaml:8:14: sink.freshness is '1 fortnight'. Use a length"),
        ("  type: keylake", "  include.schema.changes: colums", "sink knows no change 'colums'."),
        (
            "sink:",
            "route:\n  - source-table: a.[\n    sink-table: b.c\nsink:",
            "p.yaml:8:19: route.0.source-table is 'a.['",
        ),
        ("sink:", "transform:\n  - source-table: a.b\n    projection: *, b\nsink:", "p.yaml:9:18: The file is no YAML"),
        (
            "  name: shop",
            "  load.freshness: 0 s",
            "p.yaml:10:19: pipeline.load.freshness is 0 ms. Use a length of time ab",
        ),
        (
            "  name: shop",
            "  load.rows.most: 10",
            "p.yaml:9:1: pipeline has load.rows.least 1000, above load.rows.most 10. Lower it.",
        ),
        ("  tables", "  scan.startup.mode: timestamp\n  tables", "say which, scan.startup.timestamp-millis."),
        ("sink:\n  type: keylake", "sink: &x\n  name: *x", "sink.name contains itself"),
        (SMALL, "", "p.yaml: The file is empty."),
        (SMALL, "- a", "p.yaml:1:1: The pipeline does not fit. Use a mapping of keys."),
    ],
)
def test_what_is_wrong_has_a_line_a_column_and_a_next_step(was: str, now: str, sentence: str) -> None:
    assert sentence in refused(SMALL.replace(was, now, 1))


def test_all_that_is_wrong_is_told_at_once_in_the_order_of_lines() -> None:
    text = refused(SMALL.replace("hostname", "hostnam").replace("name: shop", "parallelism: 0"))
    assert [line.split(" ")[0] for line in text.splitlines()] == ["p.yaml:3:3:", "p.yaml:10:16:"]


def test_secrets_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PASSWORD", f"{SECRET}: '*&")
    pipeline = parsed(SMALL.replace(SECRET, "${DB_PASSWORD}").replace("name: shop", "name: a$${b}"), "p.yaml")
    assert isinstance(pipeline.source, kl.MySql)
    assert pipeline.source.password.get_secret_value() == f"{SECRET}: '*&"
    assert pipeline.pipeline.name == "a${b}"
    assert refused(SMALL.replace("  hostname: db", "  hostname: db\n  port: ${DB_PASSWORD}"))


def test_errors_in_python_are_sentences_without_values_of_secrets() -> None:
    with pytest.raises(kl.DefinitionError, match=r"MySql has no key 'hostnam'\. Did you mean 'hostname'") as caught:
        kl.MySql(hostnam="db", username="etl", password=SECRET, tables="a.b")  # type: ignore[call-arg, arg-type]
    assert SECRET not in str(caught.value)
    with pytest.raises(kl.DefinitionError, match=r"PipelineOptions\.name does not fit\. Use text\."):
        kl.PipelineOptions(name=3)  # type: ignore[arg-type]


def test_options_of_a_client_that_sound_of_secrets_are_secrets() -> None:
    kafka = kl.Kafka(
        bootstrap_servers="b:9092",
        topics=("orders",),
        format="json",
        properties={"security.protocol": "SASL_SSL", "sasl.jaas.config": SECRET},
    )
    assert SECRET not in repr(kafka)
    assert kafka.client_options() == {"security.protocol": "SASL_SSL", "sasl.jaas.config": SECRET}


STEPS = """steps:
  - sql: totals.sql
    every: 5 minutes
    table: lake.orders
    event-time: paid_at
    late: 10 s
    since: 2026-11-01T00:00:00Z
"""


def test_steps_lie_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "totals.sql").write_text("INSERT INTO lake.a.b SELECT 1")
    (tmp_path / "nothing.sql").write_text("-- SELECT 1;")
    file = str(tmp_path / "p.yaml")
    whole = parsed(SMALL + STEPS, file)
    [step] = whole.steps
    assert step == kl.Step(
        sql=str(tmp_path / "totals.sql"),
        every=datetime.timedelta(minutes=5),
        table="lake.orders",
        event_time="paid_at",
        late=datetime.timedelta(seconds=10),
        since=datetime.datetime(2026, 11, 1, tzinfo=datetime.timezone.utc),
    )
    assert step.trigger == "totals"
    assert parsed(whole.to_yaml().replace("${SOURCE_PASSWORD}", SECRET), file) == whole
    for was, now, sentence in (
        ("totals.sql", "total.sql", "p.yaml:12:10: steps.0.sql is 'total.sql', and "),
        ("totals.sql", "nothing.sql", "nothing.sql' has no statement."),
        ("5 minutes", "7 minutes", "p.yaml:13:12: steps.0.every is 7 min. Use whole minutes that divide a day"),
        ("5 minutes", "30 s", "p.yaml:13:12: steps.0.every is 30 s. Use whole minutes"),
        ("5 minutes", "often", "p.yaml:13:12: steps.0.every is 'often'. Use a length of time such as"),
        ("00:00:00Z", "00:00:00", "p.yaml:17:12: steps.0.since is 2026-11-01 00:00:00, and has no time zone."),
        ("event-time", "event_time", "p.yaml:15:5: steps.0 has no key 'event_time'. Did you mean 'event-time'?"),
        (STEPS, STEPS + STEPS.removeprefix("steps:\n"), "two steps that are called 'totals'. Give one of them another"),
        (
            STEPS,
            STEPS + STEPS.removeprefix("steps:\n").replace("10 s", "9 s") + "    name: b\n",
            "steps of lake.orders with several event times",
        ),
    ):
        with pytest.raises(kl.DefinitionError) as caught:
            parsed((SMALL + STEPS).replace(was, now, 1), file)
        assert sentence in str(caught.value)


def test_load_is_sized_by_a_controller_unless_said() -> None:
    usual = load_of(pipeline())
    assert isinstance(usual, Sized)
    assert (usual.controller.targets.freshness_seconds, usual.controller.targets.rows) == (8, Bounds(1000, 500_000))
    once = load_of(pipeline(), once=True)
    assert isinstance(once, Sized)
    assert once.controller.targets.freshness_seconds == 60
    given = kl.PipelineOptions(load_freshness=datetime.timedelta(seconds=1), load_rows_most=5000)
    hasty = load_of(pipeline().model_copy(update={"pipeline": given}))
    assert isinstance(hasty, Sized)
    assert hasty.controller.targets.rows == Bounds(1000, 5000)
    fixed = kl.PipelineOptions(load_control=False, load_rows_most=5000)
    assert load_of(pipeline().model_copy(update={"pipeline": fixed})) == Fixed(Setting(5000))


@pytest.mark.parametrize(("load", "sink", "fresh"), [(None, 0, 8), (None, 1, 1), (None, 60, 8), (300, 1, 300)])
def test_freshness_is_that_of_the_sink_where_it_is_shorter(load: int | None, sink: int, fresh: int) -> None:
    seconds = datetime.timedelta(seconds=1)
    options = kl.PipelineOptions(load_freshness=None if load is None else load * seconds)
    given = pipeline().model_copy(update={"pipeline": options, "sink": kl.LakeSink(freshness=sink * seconds)})
    assert given.freshness == fresh * seconds


def test_lengths_of_time() -> None:
    assert kl.LakeSink(freshness="1 minute").freshness == datetime.timedelta(minutes=1)  # type: ignore[arg-type]


def pipeline(*routes: kl.Route, mode: str = "ALL_MATCH", namespace: str | None = None) -> kl.Pipeline:
    return kl.Pipeline(
        source=kl.Files(path="in", key=("id",)),
        sink=kl.LakeSink(namespace=namespace),
        route=routes,
        pipeline=kl.PipelineOptions(route_mode=mode),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("pattern", "sink", "symbol", "table", "targets"),
    [
        (r"shop.\.*", "lake.<>", "<>", "shop.orders", ("lake.orders",)),
        (r"shop.\.*", "lake.ods_<>", "<>", "shops.orders", ("shops.orders",)),
        (r"shop.order_\d+, shop.old", "lake.orders", None, "shop.order_17", ("lake.orders",)),
        (r"shop.order_\d{1,2}", "lake.orders", None, "shop.order_17", ("lake.orders",)),
        (r"shop.order_\d{1,2}", "lake.orders", None, "shop.order_170", ("shop.order_170",)),
        (r"db_(\.*).(\.*)_tbl", "sink_$1.t_$2", None, "db_foo.bar_tbl", ("sink_foo.t_bar",)),
        (r"mydb\.*", "lake.all", None, "mydb.orders", ("lake.all",)),
        (r"[app|web].order_\.*", "lake.o", None, "a.order_1", ("lake.o",)),
        (r"app.public.\.*", "lake.<>", "<>", "app.public.orders", ("lake.orders",)),
        ("other.x", "lake.x", None, "app.public.orders", ("public.orders",)),
        ("other.x", "lake.x", None, "topic", ("files.topic",)),
    ],
)
def test_routes(pattern: str, sink: str, symbol: str | None, table: str, targets: tuple[str, ...]) -> None:
    rule = kl.Route(source_table=pattern, sink_table=sink, replace_symbol=symbol)
    assert route(pipeline(rule), SourceTable(tuple(table.split(".")))) == targets


def test_all_routes_that_fit_count_or_the_first() -> None:
    rules = [kl.Route(source_table="shop.orders", sink_table=f"lake.{name}") for name in ("a", "b", "a")]
    orders = SourceTable(("shop", "orders"))
    assert route(pipeline(*rules), orders) == ("lake.a", "lake.b")
    assert route(pipeline(*rules, mode="FIRST_MATCH"), orders) == ("lake.a",)
    assert route(pipeline(namespace="lake"), orders) == ("lake.orders",)


def test_tables_of_a_source_and_those_left_out() -> None:
    source = parsed(PAIMON, "p.yaml").source
    assert isinstance(source, kl.MySql)
    names = ("adb.orders", "adb.tmp_1", "bdb.user_table_7", "bdb.other")
    assert [is_captured(source, SourceTable(tuple(name.split(".")))) for name in names] == [True, False, True, False]


def test_the_schema_in_the_documents_is_that_of_the_models() -> None:
    assert json.loads((DOCUMENTS / "pipeline.schema.json").read_text()) == json.loads(json.dumps(json_schema()))


@pytest.mark.parametrize(
    "model",
    [kl.MySql, kl.Postgres, kl.Kafka, kl.Files, kl.LakeSink, kl.Route, kl.Transform, kl.Step, kl.PipelineOptions],
)
def test_the_documents_have_the_table_of_all_keys(model: type[BaseModel]) -> None:
    assert reference(model) in (DOCUMENTS / "pipelines.md").read_text()


def reference(model: type[BaseModel]) -> str:
    """The table of the keys of a model."""
    lines = ["| key | unless said | meaning |", "|---|---|---|"]
    unused: list[str] = []
    for field in model.model_fields.values():
        if is_unused(field):
            unused.append(f"`{field.validation_alias}`")
            continue
        default = field.default
        if field.is_required():
            said = "required"
        elif default in (None, (), {}):
            said = ""
        else:
            is_length = isinstance(default, datetime.timedelta)
            shown = f"{default.total_seconds():g} s" if is_length else default
            said = f"`{json.dumps(default) if isinstance(default, bool) else shown}`"
        choices = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
        meaning = f"{field.description} {', '.join(f'`{each}`' for each in choices if len(choices) > 1)}".rstrip()
        lines.append(f"| `{field.validation_alias}` | {said} | {meaning} |")
    if unused:
        lines += ["", f"Accepted and told as ignored: {', '.join(unused)}."]
    return "\n".join(lines) + "\n"
