/** The machine that the server runs on: commands and files outside of every sandbox. */
@NullMarked
package dev.carrel.control.host;

import org.jspecify.annotations.NullMarked;
