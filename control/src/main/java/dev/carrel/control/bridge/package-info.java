/** Values on their way from one interpreter to another. */
@NullMarked
package dev.carrel.control.bridge;

import org.jspecify.annotations.NullMarked;
