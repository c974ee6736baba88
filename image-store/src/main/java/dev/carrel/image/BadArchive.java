package dev.carrel.image;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;

/** How an archive is refused that somebody wants unpacked. */
final class BadArchive {
  private BadArchive() {}

  static SandboxException because(String why) {
    return new SandboxException(ErrorCode.INVALID_INPUT, "the archive is refused: " + why);
  }

  static SandboxException tooLarge(String what) {
    return new SandboxException(ErrorCode.TOO_LARGE, "the archive is refused: it has " + what)
        .withHint("unpack it inside the sandbox, or in smaller parts");
  }
}
