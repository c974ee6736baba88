/** Files of a sandbox: path rules, transfers, archives. */
@NullMarked
package dev.carrel.control.files;

import org.jspecify.annotations.NullMarked;
