/** Persistent interpreters and the protocol that their kernels speak. */
@NullMarked
package dev.carrel.control.context;

import org.jspecify.annotations.NullMarked;
