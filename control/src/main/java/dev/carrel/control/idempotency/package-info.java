/** Requests that may be sent twice: which key stands for what, across crashes of this process. */
@NullMarked
package dev.carrel.control.idempotency;

import org.jspecify.annotations.NullMarked;
