package dev.carrel.image;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;

/** How an image is refused. */
final class BadImage {
  private BadImage() {}

  static SandboxException because(String why) {
    return new SandboxException(ErrorCode.IMAGE_INVALID, "the image is refused: " + why);
  }

  static SandboxException tooLarge(String what) {
    return new SandboxException(ErrorCode.TOO_LARGE, "the image is refused: " + what)
        .withHint("the operator can raise the limits image.max-size-mb and image.max-files");
  }
}
