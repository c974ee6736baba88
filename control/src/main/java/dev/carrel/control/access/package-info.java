/** Keys that clients come with, and tokens that open one sandbox. */
@NullMarked
package dev.carrel.control.access;

import org.jspecify.annotations.NullMarked;
