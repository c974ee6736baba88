package dev.carrel.egress;

import java.util.function.UnaryOperator;

/**
 * What a gate has to know of the secrets of its sandbox: those that code there uses without having
 * them, and those that must not leave. Safe for many threads.
 */
public interface Broker {
  /** A sandbox without secrets. */
  Broker NONE = new Secretless(Filter.NONE);

  /** Until it is known what must not leave, nothing that could be read does. */
  Broker UNKNOWN =
      new Secretless(
          new Filter() {
            @Override
            public java.nio.ByteBuffer next(java.nio.ByteBuffer piece) {
              return end();
            }

            @Override
            public java.nio.ByteBuffer end() {
              return java.nio.ByteBuffer.allocate(0);
            }

            @Override
            public String found() {
              return "the secrets of this sandbox are not known yet; try again";
            }
          });

  /** Whether a secret is bound to it, so that the proxy speaks TLS with both ends. */
  boolean brokers(Target target);

  /** With what it does so. */
  TlsEnds ends();

  /**
   * The text with values in place of their placeholders, as far as these are bound to the target.
   *
   * @param written how a value has to be written there
   */
  String fill(Target target, String text, UnaryOperator<String> written);

  /** For what leaves the sandbox. */
  Filter out();

  /** For what comes in from a server that was sent values, and may send them back. */
  Filter in();
}
