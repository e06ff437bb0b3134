package io.keylake.spark.engine;

import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend;

/**
 * Takes the changed rows of a streaming query in update mode: they are updates by key, so that
 * nothing has to be deleted before them.
 */
public interface StreamUpdates extends SupportsStreamingUpdateAsAppend {}
