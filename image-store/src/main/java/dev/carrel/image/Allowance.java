package dev.carrel.image;

/** What is left of the limits of one image while its layers are unpacked. For one thread. */
final class Allowance {
  private final ImageLimits limits;
  private long files;
  private long bytes;

  Allowance(ImageLimits limits) {
    this.limits = limits;
  }

  void takeEntry() {
    if (++files > limits.maxFiles()) {
      throw BadImage.tooLarge("more than " + limits.maxFiles() + " files and folders");
    }
  }

  void takeBytes(long count) {
    if (count > limits.maxSize().bytes() - bytes) {
      throw BadImage.tooLarge("more than " + limits.maxSize().mebibytes() + " MB of files");
    }
    bytes += count;
  }
}
