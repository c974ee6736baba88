/**
 * Looks at code before it runs: whether it can be read, and whether it does what few programs
 * should.
 */
@NullMarked
package dev.carrel.control.validate;

import org.jspecify.annotations.NullMarked;
