/**
 * The engine {@code native}: sandboxes made of the kernel's own namespaces by the spawn server that
 * is part of the guest program. See {@code spec/spawn-protocol.md}.
 */
@NullMarked
package dev.carrel.engine.namespaces;

import org.jspecify.annotations.NullMarked;
