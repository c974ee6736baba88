/** Who asks: tokens, and the callers they stand for. */
@NullMarked
package dev.carrel.server.auth;

import org.jspecify.annotations.NullMarked;
