/**
 * Iceberg's REST catalog, beside Connect: the catalogs of this server for engines without the
 * plug-in.
 */
@NullMarked
package io.keylake.spark.rest;

import org.jspecify.annotations.NullMarked;
