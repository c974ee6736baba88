/** The vocabulary of Carrel: what every other module and every engine shares. */
@NullMarked
package dev.carrel.spi;

import org.jspecify.annotations.NullMarked;
