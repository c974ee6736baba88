/**
 * The engines {@code runc}, {@code crun} and {@code runsc} (gVisor): sandboxes that an OCI runtime
 * of this host makes from a bundle that is written here, without a daemon.
 */
@NullMarked
package dev.carrel.engine.oci;

import org.jspecify.annotations.NullMarked;
