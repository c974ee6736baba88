/**
 * Random life under faults: what was acknowledged is kept, nothing is stuck, nothing is left
 * behind.
 */
@NullMarked
package dev.carrel.e2e.chaos;

import org.jspecify.annotations.NullMarked;
