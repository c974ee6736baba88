package dev.carrel.control.vault;

import dev.carrel.egress.HostPattern;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A secret as its owner sees it: everything but its value.
 *
 * @param name the variable that a process gets it in
 * @param version grows with each rotation
 * @param canary whether it only exists to be seen leaving
 * @param hosts that requests may carry it to, while processes get a placeholder; empty: processes
 *     get it themselves
 * @param updatedAt of the present version; null for one of the server's environment
 */
public record Secret(
    String namespace,
    String name,
    long version,
    boolean canary,
    List<String> hosts,
    Source source,
    @Nullable Instant createdAt,
    @Nullable Instant updatedAt) {
  public Secret {
    hosts = List.copyOf(hosts);
  }

  /** Shorter ones would turn ordinary text into masks. */
  public static final int MIN_BYTES = 6;

  public static final int MAX_BYTES = 8192;

  private static final int MAX_HOSTS = 16;
  // Anything else could end the field that it stands in, and begin another.
  private static final Pattern BROKERED = Pattern.compile("[!-~]([ -~]*[!-~])?");
  private static final Pattern NAME = Pattern.compile("[A-Za-z_][A-Za-z0-9_]{0,127}");

  /** Where a value is kept. */
  public enum Source {
    STORE,
    ENVIRONMENT;

    public String wireName() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  static void checkName(String field, String name) {
    if (!NAME.matcher(name).matches()) {
      throw SandboxException.invalid(
          field,
          "must be the name of a variable: 1 to 128 letters, digits and '_', the first no digit,"
              + " not '"
              + Text.printable(name, 64)
              + "'");
    }
  }

  /** The hosts as they are kept. */
  static List<String> checkHosts(List<String> hosts, boolean canary) {
    if (canary && !hosts.isEmpty()) {
      throw SandboxException.invalid("hosts", "a canary is bound to none: nobody is to get it");
    }
    if (hosts.size() > MAX_HOSTS) {
      throw SandboxException.invalid("hosts", "must be at most " + MAX_HOSTS);
    }
    return hosts.stream().map(Secret::checkHost).distinct().toList();
  }

  private static String checkHost(String text) {
    HostPattern pattern;
    try {
      pattern = HostPattern.parse(text);
    } catch (IllegalArgumentException e) {
      throw SandboxException.invalid("hosts", String.valueOf(e.getMessage()));
    }
    if (!pattern.host().isName()) {
      throw SandboxException.invalid(
          "hosts", "'" + pattern + "' is an address; a host shows by its name who it is");
    }
    if (pattern.host().text().indexOf('_') >= 0) {
      throw SandboxException.invalid(
          "hosts",
          "'" + pattern + "' has a '_', which no host that speaks TLS can be asked for by");
    }
    return pattern.toString();
  }

  /** A value that is to be put into requests. */
  static void checkBrokered(String value) {
    if (!BROKERED.matcher(value).matches()) {
      throw SandboxException.invalid(
          "value",
          "of a secret that is bound to hosts must be printable ASCII without blanks around");
    }
  }

  static void checkValue(String value) {
    int length = value.getBytes(StandardCharsets.UTF_8).length;
    if (length < MIN_BYTES) {
      throw SandboxException.invalid("value", "must have at least " + MIN_BYTES + " bytes")
          .withHint(
              "a shorter one cannot be told from ordinary text, and so cannot be kept out of it");
    }
    if (length > MAX_BYTES) {
      throw SandboxException.invalid("value", "must have at most " + MAX_BYTES + " bytes");
    }
    if (value.indexOf('\0') >= 0) {
      throw SandboxException.invalid("value", "must not contain NUL: no variable can");
    }
  }
}
