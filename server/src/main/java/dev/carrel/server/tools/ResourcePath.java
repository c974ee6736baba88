package dev.carrel.server.tools;

import dev.carrel.spi.SandboxException;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.stream.Collectors;

/** The path of a file as part of a resource's address. */
final class ResourcePath {
  private ResourcePath() {}

  static String encoded(String path) {
    return Arrays.stream(path.split("/", -1))
        .map(part -> URLEncoder.encode(part, StandardCharsets.UTF_8).replace("+", "%20"))
        .collect(Collectors.joining("/"));
  }

  static String decoded(String raw) {
    try {
      return URLDecoder.decode(raw.replace("+", "%2B"), StandardCharsets.UTF_8);
    } catch (IllegalArgumentException e) {
      throw SandboxException.invalid("uri", "has a broken escape");
    }
  }
}
