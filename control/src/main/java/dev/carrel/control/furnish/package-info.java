/** Sandboxes that begin with more than their files: a budget, packages. */
@NullMarked
package dev.carrel.control.furnish;

import org.jspecify.annotations.NullMarked;
