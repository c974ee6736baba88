/** Counts and times, without a metrics library. */
@NullMarked
package dev.carrel.control.telemetry;

import org.jspecify.annotations.NullMarked;
