/** Java client of Carrel: blocking calls over REST, at home on virtual threads. */
@NullMarked
package dev.carrel.sdk;

import org.jspecify.annotations.NullMarked;
