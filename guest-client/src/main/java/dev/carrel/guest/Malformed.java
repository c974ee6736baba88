package dev.carrel.guest;

import java.io.IOException;

/** Something from the guest that the protocol does not allow. The connection is of no use after. */
final class Malformed extends IOException {
  private static final long serialVersionUID = 1L;

  Malformed(String reason) {
    super(reason);
  }
}
