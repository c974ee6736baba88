package dev.carrel.egress;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;

/**
 * The host whose package clients are asked where packages come from.
 *
 * @param variables of the server's own environment, as far as those clients read them
 * @param root where /etc is; {@code /} but for tests
 * @param more what the operator adds to what the clients say
 */
public record PackageHost(Map<String, String> variables, Path home, Path root, List<Rule> more) {
  private static final Pattern READ =
      Pattern.compile("PATH|HOME|XDG_CONFIG_HOME|VIRTUAL_ENV|(PIP|NPM_CONFIG|npm_config|CARGO)_.*");

  public PackageHost {
    var read = new TreeMap<>(variables);
    read.keySet().removeIf(name -> !READ.matcher(name).matches());
    variables = Map.copyOf(read);
    more = List.copyOf(more);
  }

  /** One without any. */
  public static PackageHost none() {
    return new PackageHost(Map.of(), Path.of("/nonexistent"), Path.of("/nonexistent"), List.of());
  }
}
