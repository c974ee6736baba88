/** What a sandbox or a namespace may use up in all. */
@NullMarked
package dev.carrel.control.budget;

import org.jspecify.annotations.NullMarked;
