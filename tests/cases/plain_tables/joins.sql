-- Joins of tables in buckets, where Spark shuffles neither side, and tables in other buckets that are broadcast.
CREATE TABLE {t}p (id BIGINT, a BIGINT) USING iceberg PARTITIONED BY (bucket(3, id));
CREATE TABLE {t}q (id BIGINT, a BIGINT) USING iceberg PARTITIONED BY (bucket(3, id));
CREATE TABLE {t}r (id BIGINT, a BIGINT) USING iceberg PARTITIONED BY (bucket(16, id));
INSERT INTO {t}p SELECT id, id FROM range(40);
INSERT INTO {t}q SELECT id, id FROM range(40);
INSERT INTO {t}r SELECT id, id FROM range(40);
SET spark.sql.autoBroadcastJoinThreshold = -1;
SET spark.sql.iceberg.planning.preserve-data-grouping = true;
SELECT count(*), sum(q.a) FROM {t}p p JOIN {t}q q ON p.id = q.id;
SELECT /*+ BROADCAST(r) */ count(*), sum(r.id) FROM {t}p p JOIN {t}r r ON p.a = r.a JOIN {t}q q ON p.id = q.id;
SELECT /*+ BROADCAST(r) */ count(*), sum(r.a) FROM {t}p p LEFT JOIN {t}r r ON p.id = r.id LEFT SEMI JOIN {t}q q ON p.id = q.id;
SELECT count(*), sum(n) FROM (SELECT p.id, count(*) AS n FROM {t}p p JOIN {t}q q ON p.id = q.id JOIN {t}r r ON p.a = r.a GROUP BY p.id);
MERGE INTO {t}p t USING {t}q s ON t.id = s.id WHEN MATCHED AND s.id = 1 THEN UPDATE SET a = s.a + 1;
RESET spark.sql.autoBroadcastJoinThreshold;
RESET spark.sql.iceberg.planning.preserve-data-grouping;
SELECT sum(a) FROM {t}p;
