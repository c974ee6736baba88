@NullMarked
package dev.carrel.e2e.security;

import org.jspecify.annotations.NullMarked;
