/** The life of a sandbox: who owns it, what it may use, how it starts, dies and is found again. */
@NullMarked
package dev.carrel.control.sandbox;

import org.jspecify.annotations.NullMarked;
