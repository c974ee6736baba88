/** {@code carrel bench}: what Carrel costs, beside what the kernel alone and its peers cost. */
@NullMarked
package dev.carrel.bench;

import org.jspecify.annotations.NullMarked;
