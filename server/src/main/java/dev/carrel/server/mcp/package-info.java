/** The Model Context Protocol, in both of its eras: messages, sessions, and what is offered. */
@NullMarked
package dev.carrel.server.mcp;

import org.jspecify.annotations.NullMarked;
