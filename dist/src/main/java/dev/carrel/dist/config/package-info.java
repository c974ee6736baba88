/** Configuration: where settings come from, and one record for each concern that has some. */
@NullMarked
package dev.carrel.dist.config;

import org.jspecify.annotations.NullMarked;
