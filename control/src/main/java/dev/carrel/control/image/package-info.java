/** The images of this server: which there are, where they came from, and who still needs them. */
@NullMarked
package dev.carrel.control.image;

import org.jspecify.annotations.NullMarked;
