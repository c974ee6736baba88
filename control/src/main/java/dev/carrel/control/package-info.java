/** Assembles the control plane: the one place that sees every feature of it. */
@NullMarked
package dev.carrel.control;

import org.jspecify.annotations.NullMarked;
