/** Files that came out of sandboxes, with their digests, signed. */
@NullMarked
package dev.carrel.control.artifact;

import org.jspecify.annotations.NullMarked;
