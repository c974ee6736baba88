/** Packages of languages, installed inside sandboxes by their own clients. */
@NullMarked
package dev.carrel.control.packages;

import org.jspecify.annotations.NullMarked;
