@NullMarked
package dev.carrel.e2e.functional;

import org.jspecify.annotations.NullMarked;
