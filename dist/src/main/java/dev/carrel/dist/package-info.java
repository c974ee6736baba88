/** The program: wires the parts together, starts and stops them. */
@NullMarked
package dev.carrel.dist;

import org.jspecify.annotations.NullMarked;
