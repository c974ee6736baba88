package dev.carrel.control.packages;

import dev.carrel.control.exec.CapturedText;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** What a client would install, dependencies and all, before anything is. */
record Resolution(List<Chosen> chosen) {
  static final Pattern VERSION = Pattern.compile("[A-Za-z0-9][A-Za-z0-9.!+_-]{0,63}");
  private static final Pattern DIGEST = Pattern.compile("[0-9a-f]{64}|-");

  Resolution {
    chosen = List.copyOf(chosen);
  }

  /**
   * A package.
   *
   * @param sha256 of its file, as the index tells; null: it does not
   */
  record Chosen(String name, String version, @Nullable String sha256) {}

  /** Reads the client's words; they come from a sandbox, so that nothing is taken on trust. */
  static Resolution read(PackageClient client, CapturedText text) {
    if (text.truncated()) {
      throw unreadable("it names too many packages");
    }
    var chosen = new ArrayList<Chosen>();
    for (String line : text.text().lines().filter(one -> !one.isBlank()).toList()) {
      String[] words = line.strip().split(" ", -1);
      if (words.length == 3
          && client.accepts(words[0])
          && VERSION.matcher(words[1]).matches()
          && DIGEST.matcher(words[2]).matches()) {
        chosen.add(new Chosen(words[0], words[1], words[2].equals("-") ? null : words[2]));
      } else {
        throw unreadable("a line of it is no package");
      }
    }
    return new Resolution(chosen);
  }

  private static SandboxException unreadable(String why) {
    return new SandboxException(
            ErrorCode.NOT_SUPPORTED,
            "what would be installed cannot be told from the client's answer: " + why)
        .withHint("install fewer packages at once, or look at the client inside the sandbox");
  }

  /** What pip reads: these files and no others. */
  String requirements() {
    boolean hashed = chosen.stream().allMatch(one -> one.sha256 != null);
    var text = new StringBuilder();
    for (Chosen one : chosen) {
      text.append(one.name).append("==").append(one.version);
      if (hashed) {
        text.append(" --hash=sha256:").append(one.sha256);
      }
      text.append('\n');
    }
    return text.toString();
  }
}
