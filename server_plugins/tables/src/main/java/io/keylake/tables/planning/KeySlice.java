package io.keylake.tables.planning;

import java.io.Serializable;
import org.jspecify.annotations.Nullable;

/**
 * A part of a section that one task reads: the rows whose first sort column lies in [lower, upper).
 * A boundary is a {@code Long} (whole numbers, days, microseconds) or a {@code String} (the order
 * is that of UTF-8 bytes), and need not be the key of any row.
 *
 * @param lower null where the slice has no lower end
 * @param upper null where the slice has no upper end
 */
public record KeySlice(@Nullable Serializable lower, @Nullable Serializable upper)
    implements Serializable {}
