package dev.carrel.image;

import dev.carrel.spi.SandboxException;

/** How what cannot be read for certain is refused. */
@FunctionalInterface
interface Refusal {
  SandboxException because(String why);
}
