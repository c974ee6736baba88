/**
 * The engines {@code docker} and {@code docker-runsc}: sandboxes that a daemon of this host, Docker
 * or Podman, makes from folders of this host.
 */
@NullMarked
package dev.carrel.engine.docker;

import org.jspecify.annotations.NullMarked;
