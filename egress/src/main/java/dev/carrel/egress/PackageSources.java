package dev.carrel.egress;

import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads from where pip, npm, cargo and apt of this host get packages: their own variables and
 * files, and where these say nothing the clients themselves. Names no registry of its own, so a
 * company's mirror is what sandboxes use, too.
 */
public final class PackageSources {
  private static final Logger LOG = LoggerFactory.getLogger(PackageSources.class);
  private static final long MAX_FILE = 1 << 20;
  private static final Pattern ASSIGNED =
      Pattern.compile("\\s*([^#;=\\s][^=]*?)\\s*=\\s*(.*?)\\s*");
  private static final Pattern URL = Pattern.compile("(?:[a-z]+\\+)?(https?://[^\\s\"'#;]+)");
  private static final Pattern CARGO = Pattern.compile("\\s*(?:registry|index)\\s*=\\s*(\".*\").*");
  // What a sandbox with the host's own files sees of its certificates.
  private static final List<String> SEEN_INSIDE = List.of("/etc/ssl/certs/", "/usr/");

  private final Map<String, String> variables;
  private final Path home;
  private final Path root;
  private final List<Rule> more;
  private final ReentrantLock asking = new ReentrantLock();
  private @Nullable List<Rule> found;

  public PackageSources(PackageHost host) {
    this.variables = host.variables();
    this.home = host.home();
    this.root = host.root();
    this.more = host.more();
  }

  /** What the clients inside are told, so that they use the same places; no credentials in it. */
  public Map<String, String> environment() {
    var told = new LinkedHashMap<String, String>();
    Map<String, String> pip = pip();
    Map<String, String> npm = npm();
    tell(told, "PIP_INDEX_URL", withoutUser(pip.get("index-url")));
    tell(told, "PIP_EXTRA_INDEX_URL", withoutUser(pip.get("extra-index-url")));
    tell(told, "PIP_TRUSTED_HOST", pip.get("trusted-host"));
    tell(told, "PIP_CERT", seenInside(pip.get("cert")));
    tell(told, "NPM_CONFIG_REGISTRY", withoutUser(npm.get("registry")));
    tell(told, "NPM_CONFIG_CAFILE", seenInside(npm.get("cafile")));
    return told;
  }

  /** The hosts that packages come from; the first time this may ask the clients. */
  public List<Rule> rules() {
    asking.lock();
    try {
      List<Rule> known = found;
      if (known == null) {
        known = find();
        // Whoever is called away has not heard the clients out.
        found = Thread.currentThread().isInterrupted() ? null : known;
      }
      return known;
    } finally {
      asking.unlock();
    }
  }

  private List<Rule> find() {
    var urls = new LinkedHashSet<String>();
    Map<String, String> pip = pip();
    if (pip.containsKey("index-url")) {
      urls.addAll(urls(pip.get("index-url")));
    } else {
      urls.addAll(PackageDefaults.ofPip(variables));
    }
    urls.addAll(urls(pip.getOrDefault("extra-index-url", "")));
    Map<String, String> npm = npm();
    if (!npm.containsKey("registry")) {
      urls.addAll(PackageDefaults.ofNpm(variables));
    }
    npm.forEach(
        (key, value) -> {
          if (key.equals("registry") || key.endsWith(":registry")) {
            urls.addAll(urls(value));
          }
        });
    urls.addAll(cargo());
    urls.addAll(apt());
    var rules = new LinkedHashSet<Rule>();
    urls.forEach(url -> rule(url).ifPresent(rules::add));
    rules.addAll(more);
    LOG.info("packages come from {}", rules);
    return List.copyOf(rules);
  }

  private static Optional<Rule> rule(String url) {
    try {
      URI uri = URI.create(String.valueOf(withoutUser(url)));
      String host = uri.getHost();
      if (host == null) {
        throw new IllegalArgumentException("no host in " + uri);
      }
      boolean usual = uri.getPort() < 0 || uri.getPort() == 80 || uri.getPort() == 443;
      return Optional.of(Rule.of(HostPattern.parse(usual ? host : host + ":" + uri.getPort())));
    } catch (IllegalArgumentException e) {
      LOG.warn("a package source of this host cannot be read: {}", e.getMessage());
      return Optional.empty();
    }
  }

  private Map<String, String> pip() {
    var values = new LinkedHashMap<String, String>();
    var files = new ArrayList<Path>();
    files.add(root.resolve("etc/xdg/pip/pip.conf"));
    files.add(root.resolve("etc/pip.conf"));
    files.add(home.resolve(".pip/pip.conf"));
    files.add(configHome().resolve("pip/pip.conf"));
    named("VIRTUAL_ENV").ifPresent(folder -> files.add(folder.resolve("pip.conf")));
    named("PIP_CONFIG_FILE").ifPresent(files::add);
    // Later ones go over earlier ones, and variables over all.
    files.forEach(file -> values.putAll(assignments(file, true)));
    for (String key : List.of("index-url", "extra-index-url", "trusted-host", "cert")) {
      String name = "PIP_" + key.toUpperCase(Locale.ROOT).replace('-', '_');
      tell(values, key, variables.get(name));
    }
    return values;
  }

  private Map<String, String> npm() {
    var values = new LinkedHashMap<String, String>();
    Stream.of("usr/etc/npmrc", "usr/local/etc/npmrc", "etc/npmrc")
        .forEach(file -> values.putAll(assignments(root.resolve(file), false)));
    named("NPM_CONFIG_GLOBALCONFIG").ifPresent(file -> values.putAll(assignments(file, false)));
    values.putAll(assignments(home.resolve(".npmrc"), false));
    for (String key : List.of("registry", "cafile")) {
      tell(values, key, variables.get("npm_config_" + key));
      tell(values, key, variables.get("NPM_CONFIG_" + key.toUpperCase(Locale.ROOT)));
    }
    return values;
  }

  private Set<String> cargo() {
    Path folder = named("CARGO_HOME").orElse(home.resolve(".cargo"));
    var found = new LinkedHashSet<String>();
    for (String name : List.of("config.toml", "config")) {
      for (String line : lines(folder.resolve(name))) {
        Matcher matcher = CARGO.matcher(line);
        if (matcher.matches()) {
          found.addAll(urls(matcher.group(1)));
        }
      }
    }
    return found;
  }

  private Set<String> apt() {
    var files = new ArrayList<Path>(List.of(root.resolve("etc/apt/sources.list")));
    try (Stream<Path> more = Files.list(root.resolve("etc/apt/sources.list.d"))) {
      more.filter(file -> file.toString().matches(".*\\.(list|sources)")).forEach(files::add);
    } catch (IOException e) {
      LOG.debug("apt has no further sources: {}", e.toString());
    }
    var found = new LinkedHashSet<String>();
    for (Path file : files) {
      for (String line : lines(file)) {
        if (line.matches("\\s*(deb|deb-src|URIs:)\\s.*")) {
          found.addAll(urls(line));
        }
      }
    }
    return found;
  }

  /** Lines of the form {@code key = value}; with {@code continued}, further values are indented. */
  private static Map<String, String> assignments(Path file, boolean continued) {
    var values = new LinkedHashMap<String, String>();
    String last = null;
    for (String line : lines(file)) {
      Matcher matcher = ASSIGNED.matcher(line);
      if (continued && last != null && line.matches("\\s+[^#;\\s].*")) {
        values.merge(last, line.strip(), (one, two) -> (one + " " + two).strip());
      } else if (matcher.matches()) {
        last = matcher.group(1).strip().replace('_', '-');
        values.put(last, matcher.group(2));
      }
    }
    return values;
  }

  private static List<String> lines(Path file) {
    try {
      if (!Files.isRegularFile(file) || Files.size(file) > MAX_FILE) {
        return List.of();
      }
      return new String(Files.readAllBytes(file), StandardCharsets.UTF_8).lines().toList();
    } catch (IOException e) {
      // Another user's file, for example: then it is not ours to use.
      LOG.debug("{} cannot be read: {}", file, e.toString());
      return List.of();
    }
  }

  private static List<String> urls(@Nullable String text) {
    return text == null
        ? List.of()
        : URL.matcher(text).results().map(match -> match.group(1)).toList();
  }

  private static @Nullable String withoutUser(@Nullable String urls) {
    return urls == null ? null : urls.replaceAll("://[^/\\s]*@", "://");
  }

  private static @Nullable String seenInside(@Nullable String path) {
    return path != null && SEEN_INSIDE.stream().anyMatch(path::startsWith) ? path : null;
  }

  private static void tell(Map<String, String> told, String name, @Nullable String value) {
    if (value != null && !value.isBlank()) {
      told.put(name, value);
    }
  }

  private Optional<Path> named(String variable) {
    return Optional.ofNullable(variables.get(variable)).map(Path::of).filter(Path::isAbsolute);
  }

  private Path configHome() {
    return named("XDG_CONFIG_HOME").orElse(home.resolve(".config"));
  }
}
