/**
 * The one way out of a sandbox: an HTTP and SOCKS proxy that knows a sandbox by the socket it came
 * through, asks that sandbox's policy, resolves a name once and dials what it checked.
 */
@NullMarked
package dev.carrel.egress;

import org.jspecify.annotations.NullMarked;
