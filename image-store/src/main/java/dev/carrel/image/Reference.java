package dev.carrel.image;

import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Where an image is in a registry, as people write it: {@code alpine}, {@code ghcr.io/a/b:2}.
 *
 * @param tag null when only the digest is given
 */
public record Reference(
    String registry, String repository, @Nullable String tag, @Nullable Digest digest) {
  private static final String PART = "[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*";
  private static final Pattern REPOSITORY = Pattern.compile("PART(?:/PART)*".replace("PART", PART));
  private static final Pattern TAG = Pattern.compile("[A-Za-z0-9_][A-Za-z0-9._-]{0,127}");
  private static final String LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?";
  private static final Pattern REGISTRY =
      Pattern.compile(
          "(?:LABEL(?:\\.LABEL)*|\\[[0-9a-fA-F:]+])(?::[0-9]{1,5})?".replace("LABEL", LABEL));
  private static final int MAX = 255;
  private static final String DOCKER = "docker.io";

  /** Reads a name; short ones are Docker's. */
  public static Reference parse(String text) {
    if (text.isEmpty() || text.length() > MAX + 72) {
      throw wrong(text);
    }
    String rest = text;
    Digest digest = null;
    int at = rest.indexOf('@');
    if (at >= 0) {
      digest = Digest.parse(rest.substring(at + 1));
      rest = rest.substring(0, at);
    }
    int slash = rest.indexOf('/');
    String first = slash < 0 ? "" : rest.substring(0, slash);
    // As Docker tells them apart: a registry's name has a dot or a port, or is localhost.
    boolean named = first.indexOf('.') >= 0 || first.indexOf(':') >= 0 || first.equals("localhost");
    String registry = named ? first : DOCKER;
    if (registry.equals("index.docker.io")) {
      registry = DOCKER;
    }
    rest = named ? rest.substring(slash + 1) : rest;
    int colon = rest.lastIndexOf(':');
    String tag = colon < 0 ? null : rest.substring(colon + 1);
    String repository = colon < 0 ? rest : rest.substring(0, colon);
    if (registry.equals(DOCKER) && repository.indexOf('/') < 0) {
      repository = "library/" + repository;
    }
    if (tag == null && digest == null) {
      tag = "latest";
    }
    if (!REGISTRY.matcher(registry).matches()
        || repository.length() > MAX
        || !REPOSITORY.matcher(repository).matches()
        || (tag != null && !TAG.matcher(tag).matches())) {
      throw wrong(text);
    }
    return new Reference(registry, repository, tag, digest);
  }

  /** What to ask the registry for. */
  String wanted() {
    return digest != null ? digest.toString() : String.valueOf(tag);
  }

  /** As short as it can be said. */
  @Override
  public String toString() {
    boolean docker = registry.equals(DOCKER);
    String name = docker ? repository : registry + "/" + repository;
    if (docker && name.startsWith("library/")) {
      name = name.substring("library/".length());
    }
    return name + (tag == null ? "" : ":" + tag) + (digest == null ? "" : "@" + digest);
  }

  private static SandboxException wrong(String text) {
    return SandboxException.invalid(
        "reference",
        "'" + Text.printable(text, 100) + "' is not an image's name, such as alpine:3.20");
  }
}
