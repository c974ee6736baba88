/** What listens in sandboxes, for browsers and other clients of HTTP and WebSocket. */
@NullMarked
package dev.carrel.server.app;

import org.jspecify.annotations.NullMarked;
