/** The flat API: one computer a caller, answers in an envelope. Over the same control plane. */
@NullMarked
package dev.carrel.server.flat;

import org.jspecify.annotations.NullMarked;
