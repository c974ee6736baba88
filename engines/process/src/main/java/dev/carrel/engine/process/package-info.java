/** The engine without isolation: a guest as a plain process of the server's own user. */
@NullMarked
package dev.carrel.engine.process;

import org.jspecify.annotations.NullMarked;
