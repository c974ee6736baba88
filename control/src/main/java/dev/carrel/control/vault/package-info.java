/** Secrets: kept encrypted, given to processes by name, and kept from leaving their sandboxes. */
@NullMarked
package dev.carrel.control.vault;

import org.jspecify.annotations.NullMarked;
