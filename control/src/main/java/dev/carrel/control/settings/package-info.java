/** Settings that an administrator changes while the server runs. */
@NullMarked
package dev.carrel.control.settings;

import org.jspecify.annotations.NullMarked;
