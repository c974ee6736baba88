/** E2B's wire API: its clients work unchanged. */
@NullMarked
package dev.carrel.server.e2b;

import org.jspecify.annotations.NullMarked;
