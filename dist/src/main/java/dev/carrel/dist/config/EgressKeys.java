package dev.carrel.dist.config;

import dev.carrel.control.egress.NetworkSettings;
import dev.carrel.control.egress.TokenSettings;
import dev.carrel.egress.AddressRange;
import dev.carrel.egress.EgressSettings;
import dev.carrel.egress.Host;
import dev.carrel.egress.HostPattern;
import dev.carrel.egress.PackageHost;
import dev.carrel.egress.Rule;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The keys of {@link NetworkSettings}. */
final class EgressKeys {
  private static final int MANY = 1 << 20;

  private EgressKeys() {}

  static NetworkSettings read(Settings settings, StorageConfig storage, Environment environment) {
    NetworkSettings usual = NetworkSettings.defaults(storage.run().resolve("egress"));
    List<Rule> packages = each(settings, "egress.packages", Rule::parse);
    return new NetworkSettings(
        usual.directory(),
        proxy(settings, usual.proxy()),
        Set.copyOf(
            settings.list("egress.presets", usual.usualPresets().stream().sorted().toList())),
        settings.flag("egress.allow-observe", usual.allowObserve()),
        new PackageHost(environment.variables(), environment.userHome(), Path.of("/"), packages),
        tokens(settings, storage),
        each(settings, "egress.upstream-ca", Path::of));
  }

  private static @Nullable TokenSettings tokens(Settings settings, StorageConfig storage) {
    List<InetSocketAddress> listen = each(settings, "egress.listen", EgressKeys::address);
    return listen.isEmpty()
        ? null
        : new TokenSettings(listen.getFirst(), storage.data().resolve("egress.key"));
  }

  private static InetSocketAddress address(String text) {
    int colon = text.lastIndexOf(':');
    String host = colon < 0 ? "" : text.substring(0, colon).replaceAll("[\\[\\]]", "");
    try {
      return new InetSocketAddress(
          InetAddress.ofLiteral(host), Integer.parseInt(text.substring(colon + 1)));
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("'" + text + "' is not ADDRESS:PORT", e);
    }
  }

  private static EgressSettings proxy(Settings settings, EgressSettings usual) {
    List<Private> opened = each(settings, "egress.allow-private", Private::parse);
    return new EgressSettings(
        each(settings, "egress.deny", HostPattern::parse),
        opened.stream().flatMap(entry -> entry.hosts().stream()).toList(),
        opened.stream().flatMap(entry -> entry.ranges().stream()).toList(),
        pinned(settings),
        settings.number("egress.max-connections", usual.maxConnections(), 1, MANY),
        settings.number("egress.max-total-connections", usual.maxTotalConnections(), 1, MANY),
        settings.duration("egress.connect-timeout", usual.connectTimeout()),
        settings.duration("egress.idle-timeout", usual.idleTimeout()));
  }

  /** A word of egress.allow-private. */
  private record Private(List<HostPattern> hosts, List<AddressRange> ranges) {
    static Private parse(String text) {
      return AddressRange.isRange(text)
          ? new Private(List.of(), List.of(AddressRange.parse(text)))
          : new Private(List.of(HostPattern.parse(text)), List.of());
    }
  }

  private static Map<Host, List<InetAddress>> pinned(Settings settings) {
    var pinned = new HashMap<Host, List<InetAddress>>();
    for (Map.Entry<Host, InetAddress> pin : each(settings, "egress.hosts", EgressKeys::pin)) {
      pinned.put(pin.getKey(), List.of(pin.getValue()));
    }
    return pinned;
  }

  private static Map.Entry<Host, InetAddress> pin(String text) {
    int equals = text.indexOf('=');
    if (equals < 0) {
      throw new IllegalArgumentException("'" + text + "' is not NAME=ADDRESS");
    }
    return Map.entry(
        Host.parse(text.substring(0, equals)), InetAddress.ofLiteral(text.substring(equals + 1)));
  }

  private static <T> List<T> each(Settings settings, String key, Function<String, T> parse) {
    var parsed = new ArrayList<T>();
    for (String text : settings.list(key, List.of())) {
      try {
        parsed.add(parse.apply(text));
      } catch (IllegalArgumentException e) {
        throw new ConfigurationException(key + ": " + e.getMessage());
      }
    }
    return parsed;
  }
}
