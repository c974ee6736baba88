/** What listens inside sandboxes, reached from outside. */
@NullMarked
package dev.carrel.control.port;

import org.jspecify.annotations.NullMarked;
