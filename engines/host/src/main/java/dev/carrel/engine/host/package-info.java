/** What engines that put containers on this host share: processes, control groups, root trees. */
@NullMarked
package dev.carrel.engine.host;

import org.jspecify.annotations.NullMarked;
