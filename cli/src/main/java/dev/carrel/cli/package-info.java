/** The command line. Talks to servers through the Java SDK only. */
@NullMarked
package dev.carrel.cli;

import org.jspecify.annotations.NullMarked;
