/** The SQLite file: migrations, one writer, batched bookkeeping. */
@NullMarked
package dev.carrel.control.store;

import org.jspecify.annotations.NullMarked;
