-- ana
SELECT id, region, email FROM lake.shop.orders
SELECT count(*), max(email) FROM lake.shop.orders
SELECT id FROM lake.shop.orders WHERE id IN (1, 2)
SELECT id FROM lake.shop.orders WHERE 1 / (id - 2) > 0
SELECT * FROM lake.shop.orders
SELECT id FROM (SELECT * FROM lake.shop.orders)
SELECT id FROM lake.shop.orders WHERE secret = 's1'
SELECT id FROM lake.shop.orders ORDER BY secret
SELECT id FROM lake.shop.notes WHERE id IN (SELECT length(secret) FROM lake.shop.orders)
SELECT id FROM lake.shop.notes UNION ALL SELECT secret FROM lake.shop.orders
SELECT _merge_info FROM lake.shop.orders
SELECT id FROM lake.shop.orders VERSION AS OF 'main'
SELECT o.id FROM lake.shop.orders o JOIN lake.shop.notes n ON o.id = n.id
SELECT id FROM lake.shop.orders.branch_dev_1
SELECT * FROM lake.shop.orders.files
SELECT * FROM lake.shop.orders.changes
SELECT count(*) FROM lake.shop.orders.snapshots
SELECT * FROM lake.shop.hidden
SELECT * FROM lake.shop.plain
SELECT * FROM lake.shop.hidden.files
WITH t AS (SELECT id, email FROM lake.shop.orders) SELECT * FROM t
CREATE TEMPORARY VIEW mine AS SELECT id, email FROM lake.shop.orders
SELECT * FROM mine
CREATE GLOBAL TEMPORARY VIEW ours AS SELECT id FROM lake.shop.orders
CREATE VIEW lake.shop.kept AS SELECT id FROM lake.shop.orders
SHOW TABLES IN lake.shop
SHOW NAMESPACES IN lake
DESCRIBE lake.shop.hidden
DESCRIBE EXTENDED lake.shop.orders id
EXPLAIN SELECT id FROM lake.shop.hidden
EXECUTE IMMEDIATE 'SELECT id FROM lake.shop.hidden'
INSERT INTO lake.shop.orders VALUES (3, 'north', 1.0, 'e', 's')
UPDATE lake.shop.orders SET amount = 3 WHERE id = 1
DELETE FROM lake.shop.orders WHERE id = 1
MERGE INTO lake.shop.notes t USING lake.shop.orders s ON t.id = s.id WHEN MATCHED THEN UPDATE SET email = s.email
UPDATE lake.shop.notes SET amount = 9 WHERE id = 1
SELECT id, amount, email FROM lake.shop.notes
SELECT count(*) FROM lake.shop.notes.changes WITH ('after' = '0')
SELECT count(*) FROM lake.shop.notes.changes WITH ('after' = '0', 'every-commit' = 'true')
SELECT count(*) FROM lake.shop.orders.changes WITH ('after' = '0', 'every-commit' = 'true')
SELECT count(*) FROM lake.shop.notes.files
CALL lake.system.compaction_policy(table => 'shop.notes')
CALL lake.system.compaction_policy(table => 'shop.notes', policy => 'full')
ALTER TABLE lake.shop.notes ADD COLUMN more INT
ALTER TABLE lake.shop.notes RENAME TO lake.shop.other
ALTER TABLE lake.shop.notes CREATE BRANCH own
ALTER TABLE lake.shop.notes SET TBLPROPERTIES ('a' = 'b')
DROP TABLE lake.shop.notes
CREATE TABLE lake.shop.mine (id INT) USING iceberg
CREATE TABLE lake.shop.mine USING iceberg AS SELECT 1 AS id
CREATE NAMESPACE lake.own
DROP NAMESPACE lake.shop
CALL lake.system.tables()
CALL lake.system.describe(table => 'shop.hidden')
CALL lake.system.undo(table => 'shop.notes', everything => true)
CALL lake.system.compact(table => 'shop.notes')
CALL lake.system.explain_row(table => 'shop.orders', key => named_struct('id', 2L))
CALL lake.system.expire_snapshots(table => 'shop.notes')
CALL lake.system.publish_kv(table => 'shop.notes', target => '/tmp/x')
CALL lake.system.register_table(table => 'shop.mine', metadata_file => '/tmp/x')
CALL lake.system.maintenance_log()
SET
SET spark.sql.catalog.lake.uri
SET spark.sql.catalog.other = org.apache.iceberg.spark.SparkCatalog
SET spark.keylake.access.session = x
SET -v
SET fs.file.impl = java.lang.String
DROP VIEW IF EXISTS global_temp.ours
CLEAR CACHE
SET spark.ssl.keyPassword
SET spark.sql.variable.substitute = true
SET spark.sql.analyzer.singlePassResolver.enabled = true
SELECT '${env:HOME}', '${spark.keylake.access.session}', '${spark.sql.catalog.lake.uri}'
SELECT from_xml('<a><b>1</b></a>', 'b INT', map('rowValidationXSDPath', '/etc/hostname'))
SET spark.sql.runSQLOnFiles = true
RESET
RESET spark.keylake.access.session
SELECT * FROM parquet.`/etc/hostname`
SELECT * FROM text.`/etc/hostname`
SELECT reflect('java.lang.System', 'getProperty', 'user.home')
SELECT transform(id) USING 'cat' FROM lake.shop.notes
ADD JAR '/tmp/x.jar'
CREATE TEMPORARY FUNCTION f AS 'java.lang.String'
INSERT OVERWRITE DIRECTORY '/tmp/keylake-x' USING parquet SELECT 1
CREATE TABLE spark_catalog.default.t (id INT) USING parquet
USE lake.shop
SELECT id FROM orders
-- dan
SELECT id, email FROM lake.shop.orders
SELECT id FROM lake.shop.notes
-- ben
SELECT id FROM lake.shop.orders
SELECT id, secret FROM lake.shop.orders.branch_dev_1
SELECT id FROM lake.shop.orders VERSION AS OF 'dev_1'
INSERT INTO lake.shop.orders.branch_dev_1 VALUES (3, 'north', 1.0, 'e', 's')
INSERT INTO lake.shop.orders VALUES (3, 'north', 1.0, 'e', 's')
ALTER TABLE lake.shop.orders CREATE BRANCH dev_2
SELECT id FROM lake.shop.orders WITH ('branch' = 'dev_1')
INSERT INTO lake.shop.orders WITH ('branch' = 'main') VALUES (3, 'north', 1.0, 'e', 's')
INSERT INTO lake.shop.orders WITH ('branch' = 'dev_1') VALUES (4, 'north', 1.0, 'e', 's')
INSERT INTO lake.shop.orders.branch_dev_1 WITH ('branch' = 'main') VALUES (5, 'north', 1.0, 'e', 's')
SELECT id FROM lake.shop.orders.branch_dev_1
CALL lake.system.ensure_branch(table => 'shop.orders', branch => 'dev_2')
CALL lake.system.ensure_branch(table => 'shop.orders', branch => 'prod')
CALL lake.system.publish(table => 'shop.orders', branch => 'dev_1', head => 1)
-- cleo
SHOW TABLES IN lake.shop
CREATE TABLE lake.sandbox.t (id INT PRIMARY KEY, v STRING) USING keylake
INSERT INTO lake.sandbox.t VALUES (1, 'a'), (2, 'b')
MERGE INTO lake.sandbox.t USING (SELECT 1 AS id, 'z' AS v) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v
SELECT id, v FROM lake.sandbox.t
CREATE TABLE lake.sandbox.k USING keylake TBLPROPERTIES ('key' = 'id') AS SELECT id, v FROM lake.sandbox.t
SELECT id FROM lake.sandbox.k
CREATE TABLE lake.sandbox.far (id INT) USING iceberg LOCATION '/tmp/elsewhere'
CREATE TABLE lake.sandbox.far (id INT) USING iceberg TBLPROPERTIES ('write.data.path' = '/tmp/elsewhere')
CREATE TABLE lake.sandbox.far USING iceberg TBLPROPERTIES ('write.location-provider.impl' = 'java.lang.String') AS SELECT 1 AS id
ALTER TABLE lake.sandbox.t SET TBLPROPERTIES ('write.metadata.path' = '/tmp/elsewhere')
ALTER TABLE lake.sandbox.t SET LOCATION '/tmp/elsewhere'
CREATE NAMESPACE lake.sandbox.far LOCATION '/tmp/elsewhere'
CREATE TABLE lake.sandbox.c USING iceberg AS SELECT id, v FROM lake.sandbox.t
UPDATE lake.sandbox.c SET v = 'y' WHERE id = 2
DELETE FROM lake.sandbox.c WHERE id = 1
SELECT id, v FROM lake.sandbox.c
CALL lake.system.remove_orphan_files(table => 'sandbox.c')
CALL lake.system.remove_orphan_files(table => 'sandbox.c', location => '/tmp/elsewhere')
CALL lake.system.remove_orphan_files(table => 'sandbox.c', file_list_view => 'v')
USE lake.sandbox
CALL lake.system.rewrite_data_files(table => 'c')
USE lake.shop
CALL lake.system.rewrite_data_files(table => 'plain')
ALTER TABLE lake.sandbox.t ADD COLUMN w INT
CREATE TABLE lake.sandbox.code (id INT PRIMARY KEY, v STRING) USING keylake TBLPROPERTIES ('reduce.v' = 'Own(name = java.lang.String)')
CALL lake.system.compact(table => 'sandbox.t', policy => 'full')
ALTER TABLE lake.sandbox.c RENAME TO lake.shop.c
ALTER TABLE lake.sandbox.c RENAME TO sandbox.d
DROP TABLE lake.sandbox.d
-- eve
SHOW NAMESPACES IN lake
SELECT * FROM lake.shop.orders
SELECT 1
CALL lake.system.tables()
