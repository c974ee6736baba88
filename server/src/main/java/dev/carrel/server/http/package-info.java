/**
 * HTTP itself: connections, routing, bodies, events, errors. Knows nothing of sandboxes but their
 * errors and callers.
 */
@NullMarked
package dev.carrel.server.http;

import org.jspecify.annotations.NullMarked;
