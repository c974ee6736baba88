/** Files on their way into sandboxes and out of them. */
@NullMarked
package dev.carrel.control.transfer;

import org.jspecify.annotations.NullMarked;
