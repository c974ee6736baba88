/** gRPC on a port of its own, and gRPC-Web on the main one: one table of methods, two ways in. */
@NullMarked
package dev.carrel.server.grpc;

import org.jspecify.annotations.NullMarked;
