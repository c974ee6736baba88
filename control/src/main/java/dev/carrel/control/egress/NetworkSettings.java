package dev.carrel.control.egress;

import dev.carrel.egress.EgressSettings;
import dev.carrel.egress.PackageHost;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The way out of sandboxes.
 *
 * @param directory where their sockets are; its path must be short
 * @param usualPresets what {@code network_enabled} without a policy means
 * @param allowObserve whether a policy may only look, which lets everything pass
 * @param packages whose package clients say where packages come from
 * @param tokens the proxy over TCP too; null: there is none
 * @param upstreamCas files with certificates that servers are believed by, beside the host's own,
 *     where the proxy itself speaks TLS with them
 */
public record NetworkSettings(
    Path directory,
    EgressSettings proxy,
    Set<String> usualPresets,
    boolean allowObserve,
    PackageHost packages,
    @Nullable TokenSettings tokens,
    List<Path> upstreamCas) {
  public NetworkSettings {
    upstreamCas = List.copyOf(upstreamCas);
    usualPresets = Set.copyOf(usualPresets);
  }

  public static NetworkSettings defaults(Path directory) {
    return new NetworkSettings(
        directory,
        EgressSettings.defaults(),
        Set.of("packages", "github"),
        false,
        PackageHost.none(),
        null,
        List.of());
  }

  public NetworkSettings withProxy(EgressSettings newProxy) {
    return new NetworkSettings(
        directory, newProxy, usualPresets, allowObserve, packages, tokens, upstreamCas);
  }

  public NetworkSettings withAllowObserve(boolean newAllowObserve) {
    return new NetworkSettings(
        directory, proxy, usualPresets, newAllowObserve, packages, tokens, upstreamCas);
  }

  public NetworkSettings withPackages(PackageHost newPackages) {
    return new NetworkSettings(
        directory, proxy, usualPresets, allowObserve, newPackages, tokens, upstreamCas);
  }
}
