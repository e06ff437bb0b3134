"""Keys of the sinks of Flink CDC's quickstarts, which mean nothing for keyed tables."""

from __future__ import annotations

from typing import Annotated, Any

from keylake_pipelines.definition.fields import NO_OPTIONS, Definition, Options, Secret, unused


class OtherSinks(Definition):
    """The keys of the sinks of Doris, StarRocks, Elasticsearch, Kafka, MaxCompute, OceanBase, Fluss and Hudi."""

    access_id: Annotated[Secret | None, unused("access-id")] = None
    access_key: Annotated[Secret | None, unused("access-key")] = None
    auto_redirect: Annotated[Any, unused("auto-redirect")] = None
    batch_size_max: Annotated[Any, unused("batch.size.max")] = None
    batch_size_max_bytes: Annotated[Any, unused("batch.size.max.bytes")] = None
    benodes: Annotated[Any, unused("benodes")] = None
    bootstrap_servers: Annotated[Any, unused("bootstrap.servers")] = None
    bucket_buffer_size: Annotated[Any, unused("bucket.buffer-size")] = None
    bucket_key: Annotated[Any, unused("bucket.key")] = None
    bucket_num: Annotated[Any, unused("bucket.num")] = None
    buckets_num: Annotated[Any, unused("buckets-num")] = None
    buckets_number: Annotated[Any, unused("buckets.number")] = None
    buffer_flush_options: Annotated[Options, unused("buffer-flush.*")] = NO_OPTIONS
    buffer_time_max_ms: Annotated[Any, unused("buffer.time.max.ms")] = None
    buffered_requests_max: Annotated[Any, unused("buffered.requests.max")] = None
    canal_json_options: Annotated[Options, unused("canal-json.*")] = NO_OPTIONS
    charset_encoding: Annotated[Any, unused("charset-encoding")] = None
    commit_thread_num: Annotated[Any, unused("commit.thread-num")] = None
    compatible_mode: Annotated[Any, unused("compatible-mode")] = None
    compress_algorithm: Annotated[Any, unused("compress.algorithm")] = None
    debezium_json_options: Annotated[Options, unused("debezium-json.*")] = NO_OPTIONS
    direct_load_options: Annotated[Options, unused("direct-load.*")] = NO_OPTIONS
    driver_class_name: Annotated[Any, unused("driver-class-name")] = None
    druid_properties: Annotated[Any, unused("druid-properties")] = None
    endpoint: Annotated[Any, unused("endpoint")] = None
    fenodes: Annotated[Any, unused("fenodes")] = None
    flush_concurrent_num: Annotated[Any, unused("flush.concurrent-num")] = None
    hadoop_conf_options: Annotated[Options, unused("hadoop.conf.*")] = NO_OPTIONS
    hoodie_options: Annotated[Options, unused("hoodie.*")] = NO_OPTIONS
    hosts: Annotated[Any, unused("hosts")] = None
    index_type: Annotated[Any, unused("index.type")] = None
    inflight_requests_max: Annotated[Any, unused("inflight.requests.max")] = None
    jdbc_url: Annotated[Any, unused("jdbc-url")] = None
    key_format: Annotated[Any, unused("key.format")] = None
    load_url: Annotated[Any, unused("load-url")] = None
    materialized_in_memory: Annotated[Any, unused("materialized.in.memory")] = None
    max_retries: Annotated[Any, unused("max-retries")] = None
    memstore_check_options: Annotated[Options, unused("memstore-check.*")] = NO_OPTIONS
    partition_enabled: Annotated[Any, unused("partition.enabled")] = None
    partition_strategy: Annotated[Any, unused("partition.strategy")] = None
    password: Annotated[Secret | None, unused("password")] = None
    path: Annotated[Any, unused("path")] = None
    print_enabled: Annotated[Any, unused("print.enabled")] = None
    project: Annotated[Any, unused("project")] = None
    properties_options: Annotated[Options, unused("properties.*")] = NO_OPTIONS
    quota_name: Annotated[Any, unused("quota.name")] = None
    record_size_max_bytes: Annotated[Any, unused("record.size.max.bytes")] = None
    schema_name: Annotated[Any, unused("schema-name")] = None
    sharding_suffix_key: Annotated[Any, unused("sharding.suffix.key")] = None
    sharding_suffix_separator: Annotated[Any, unused("sharding.suffix.separator")] = None
    sink_options: Annotated[Options, unused("sink.*")] = NO_OPTIONS
    sts_token: Annotated[Secret | None, unused("sts-token")] = None
    sync_write: Annotated[Any, unused("sync-write")] = None
    table_create_auto_partition_properties_options: Annotated[
        Options, unused("table.create.auto-partition.properties.*")
    ] = NO_OPTIONS
    table_create_num_buckets: Annotated[Any, unused("table.create.num-buckets")] = None
    table_create_properties_options: Annotated[Options, unused("table.create.properties.*")] = NO_OPTIONS
    table_name: Annotated[Any, unused("table-name")] = None
    table_schema_change_timeout: Annotated[Any, unused("table.schema-change.timeout")] = None
    topic: Annotated[Any, unused("topic")] = None
    total_buffer_size: Annotated[Any, unused("total.buffer-size")] = None
    tunnel_endpoint: Annotated[Any, unused("tunnel.endpoint")] = None
    unicode_char_max_bytes: Annotated[Any, unused("unicode-char.max-bytes")] = None
    url: Annotated[Any, unused("url")] = None
    username: Annotated[Any, unused("username")] = None
    value_format: Annotated[Any, unused("value.format")] = None
    version: Annotated[Any, unused("version")] = None
