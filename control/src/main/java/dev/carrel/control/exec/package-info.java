/**
 * Processes in sandboxes: their output, bounded in memory and spilled to disk, and why they ended.
 */
@NullMarked
package dev.carrel.control.exec;

import org.jspecify.annotations.NullMarked;
