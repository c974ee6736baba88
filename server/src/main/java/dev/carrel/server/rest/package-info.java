/** The native REST API: one class of routes a resource, with its wire records beside it. */
@NullMarked
package dev.carrel.server.rest;

import org.jspecify.annotations.NullMarked;
