/** What a person has to allow first: asked for, waited for, decided, and kept. */
@NullMarked
package dev.carrel.control.approval;

import org.jspecify.annotations.NullMarked;
