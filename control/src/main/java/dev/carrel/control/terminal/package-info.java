/** Terminals: shells that outlive those who look at them, and who may look and type. */
@NullMarked
package dev.carrel.control.terminal;

import org.jspecify.annotations.NullMarked;
