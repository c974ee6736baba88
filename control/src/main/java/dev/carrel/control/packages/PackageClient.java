package dev.carrel.control.packages;

import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Text;
import java.util.Arrays;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Who installs. */
public enum PackageClient {
  /** A name, maybe with extras, maybe with bounds of its version. */
  PIP(
      Pattern.compile(
          "(?<name>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)"
              + "(?:\\[[A-Za-z0-9][A-Za-z0-9._-]*(?:,[A-Za-z0-9][A-Za-z0-9._-]*)*\\])?"
              + "(?:==(?<version>[A-Za-z0-9][A-Za-z0-9.!+]*)"
              + "|(?:(?:>=|<=|~=|!=|<|>)[A-Za-z0-9][A-Za-z0-9.!+]*)"
              + "(?:,(?:>=|<=|~=|!=|<|>)[A-Za-z0-9][A-Za-z0-9.!+]*)*)?"),
      "six, six==1.17.0, six>=1,<2 or name[extra]"),
  /**
   * A name with or without a scope, or that and {@code @} and a version or tag. Old names, which
   * others depend on, have capitals.
   */
  NPM(
      Pattern.compile(
          "(?<name>(?:@[a-z0-9][a-z0-9._-]*/)?[A-Za-z0-9][A-Za-z0-9._-]*)(?:@(?<version>[A-Za-z0-9][A-Za-z0-9.+-]*))?"),
      "is-odd, is-odd@3.0.1 or @scope/name"),
  /** A name; the newest version is what the repository has. */
  R(Pattern.compile("(?<name>[A-Za-z][A-Za-z0-9.]*[A-Za-z0-9])(?<version>)"), "jsonlite");

  private static final int MAX = 214;
  private static final Pattern SEPARATORS = Pattern.compile("[-_.]+");

  private final Pattern grammar;
  private final String example;

  PackageClient(Pattern grammar, String example) {
    this.grammar = grammar;
    this.example = example;
  }

  public String wireName() {
    return name().toLowerCase(Locale.ROOT);
  }

  public static PackageClient parse(String name) {
    return Arrays.stream(values())
        .filter(client -> client.wireName().equals(name))
        .findFirst()
        .orElseThrow(
            () ->
                SandboxException.invalid(
                    "manager", "must be pip, npm or r, not '" + Text.printable(name, 32) + "'"));
  }

  /**
   * Reads what somebody asks for. Only names and versions: an option, an address, a path or a
   * repository would bring in what no rule has seen.
   */
  Requirement requirement(String text) {
    Matcher matcher = grammar.matcher(text);
    if (!accepts(text) || !matcher.matches()) {
      throw SandboxException.invalid(
          "packages",
          "'%s' is no package of %s; write %s"
              .formatted(Text.printable(text, 64), wireName(), example));
    }
    @Nullable String version = matcher.group("version");
    return new Requirement(
        matcher.group("name"), version == null || version.isEmpty() ? null : version, text);
  }

  /** One of the ways to write a name: what is the same for the client is the same for a rule. */
  String canonical(String name) {
    String lower = name.toLowerCase(Locale.ROOT);
    return this == PIP ? SEPARATORS.matcher(lower).replaceAll("-") : lower;
  }

  /** Whether this is how a package of this client is written. */
  public boolean accepts(String text) {
    return text.length() <= MAX && grammar.matcher(text).matches();
  }
}
