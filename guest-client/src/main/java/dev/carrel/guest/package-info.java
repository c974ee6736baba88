/** The host's end of the guest protocol ({@code spec/guest-protocol.md}). */
@NullMarked
package dev.carrel.guest;

import org.jspecify.annotations.NullMarked;
