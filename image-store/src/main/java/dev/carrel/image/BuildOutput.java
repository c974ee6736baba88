package dev.carrel.image;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.util.ArrayList;
import java.util.List;

/** What a build writes for people: steps, complaints and everything else. */
final class BuildOutput {
  private static final int NAMED_IN_FAILURE = 20;
  private static final int MAX_MISSING = ImageLock.MAX_PACKAGES;
  private static final int SHOWN = 500;

  private final Progress progress;
  private final List<String> missing = new ArrayList<>();
  private volatile String error = "";

  BuildOutput(Progress progress) {
    this.progress = progress;
  }

  void hear(String line) {
    if (line.startsWith("E:")) {
      error = Text.printable(line.substring(2).strip(), SHOWN);
    }
    if (line.startsWith(DebianScripts.MISSING) && missing.size() < MAX_MISSING) {
      missing.add(Text.printable(line.substring(DebianScripts.MISSING.length()), SHOWN));
    }
    if (line.startsWith("I: ")) {
      progress.step(line.substring(3));
    } else {
      progress.log(line);
    }
  }

  /** To be called when nothing more is heard. */
  SandboxException failure(String otherwise) {
    if (!missing.isEmpty()) {
      return new SandboxException(
              ErrorCode.IMAGE_SOURCE_FAILED,
              "the package sources do not have %d of the versions that the lock names: %s"
                  .formatted(missing.size(), some(missing)))
          .withHint("give a snapshot of a time when they were there, or build without the lock");
    }
    return new SandboxException(
            ErrorCode.IMAGE_SOURCE_FAILED,
            "the build failed: " + (error.isEmpty() ? otherwise : error))
        .withHint("'carrel images log NAME' shows everything it said");
  }

  static String some(Iterable<?> all) {
    var named = new ArrayList<String>();
    int more = 0;
    for (Object one : all) {
      if (named.size() < NAMED_IN_FAILURE) {
        named.add(one.toString());
      } else {
        more++;
      }
    }
    return String.join(", ", named) + (more == 0 ? "" : " and " + more + " more");
  }
}
