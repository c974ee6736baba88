/** News of what happens to sandboxes, kept for a while and told live. */
@NullMarked
package dev.carrel.control.event;

import org.jspecify.annotations.NullMarked;
