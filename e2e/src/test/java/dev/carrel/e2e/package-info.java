/** The whole product from outside: a real server process, one engine, plain HTTP. */
@NullMarked
package dev.carrel.e2e;

import org.jspecify.annotations.NullMarked;
