/**
 * Takes the values of secrets out of what leaves a sandbox; knows nothing of where they come from.
 */
@NullMarked
package dev.carrel.control.redact;

import org.jspecify.annotations.NullMarked;
