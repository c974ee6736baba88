/** The server's entry: settings in, a listening port out. */
@NullMarked
package dev.carrel.server;

import org.jspecify.annotations.NullMarked;
