package dev.carrel.control.transfer;

import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import org.jspecify.annotations.Nullable;

/**
 * Something to be brought into a sandbox.
 *
 * @param destination null: its own name, in the workspace; one that ends with a slash is a folder
 *     to put it in
 * @param unpack whether it is an archive whose files are wanted rather than itself
 */
public record ImportFile(Source source, @Nullable String destination, boolean unpack) {

  /** Where it comes from. */
  public sealed interface Source {
    /** As a person would name it. */
    String shown();

    /** The name that it has there. */
    String name();
  }

  /** A file or folder of this host. */
  public record OnHost(String path) implements Source {
    @Override
    public String shown() {
      return path;
    }

    @Override
    public String name() {
      return lastPart(path);
    }
  }

  /** Bytes that came with the request. */
  @SuppressWarnings("ArrayRecordComponent") // written once, never compared
  public record Inline(String name, byte[] content) implements Source {
    public Inline {
      if (name.isBlank()) {
        throw SandboxException.invalid("file_name", "must not be empty");
      }
    }

    @Override
    public String shown() {
      return name;
    }
  }

  /** What an address leads to, under the sandbox's policy. */
  public record Address(String url) implements Source {
    @Override
    public String shown() {
      return url;
    }

    @Override
    public String name() {
      int end = url.indexOf('?') < 0 ? url.length() : url.indexOf('?');
      int host = Math.max(0, url.indexOf("://") + 3);
      int slash = url.indexOf('/', host);
      String name = slash < 0 || slash > end ? "" : lastPart(url.substring(slash, end));
      return name.isEmpty() ? "download" : name;
    }
  }

  /** What another sandbox has exported. */
  public record Exported(SandboxId sandbox, String path) implements Source {
    @Override
    public String shown() {
      return sandbox + ":" + path;
    }

    @Override
    public String name() {
      return lastPart(path);
    }
  }

  private static String lastPart(String path) {
    int end = path.length();
    while (end > 0 && path.charAt(end - 1) == '/') {
      end--;
    }
    return path.substring(path.lastIndexOf('/', end - 1) + 1, end);
  }

  /** Where it goes. */
  String target() {
    if (destination == null || destination.isEmpty()) {
      return unpack ? "." : source.name();
    }
    return destination.endsWith("/") && !unpack ? destination + source.name() : destination;
  }
}
