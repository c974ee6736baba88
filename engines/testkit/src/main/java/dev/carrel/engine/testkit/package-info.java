/** The contract that every engine passes, and what its tests stand on. */
@NullMarked
package dev.carrel.engine.testkit;

import org.jspecify.annotations.NullMarked;
