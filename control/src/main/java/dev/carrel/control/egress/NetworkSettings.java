package dev.carrel.control.egress;

import dev.carrel.egress.EgressSettings;
import dev.carrel.egress.PackageHost;
import java.nio.file.Path;
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
 */
public record NetworkSettings(
    Path directory,
    EgressSettings proxy,
    Set<String> usualPresets,
    boolean allowObserve,
    PackageHost packages,
    @Nullable TokenSettings tokens) {
  public NetworkSettings {
    usualPresets = Set.copyOf(usualPresets);
  }

  public static NetworkSettings defaults(Path directory) {
    return new NetworkSettings(
        directory,
        EgressSettings.defaults(),
        Set.of("packages", "github"),
        false,
        PackageHost.none(),
        null);
  }

  public NetworkSettings withProxy(EgressSettings newProxy) {
    return new NetworkSettings(directory, newProxy, usualPresets, allowObserve, packages, tokens);
  }

  public NetworkSettings withAllowObserve(boolean newAllowObserve) {
    return new NetworkSettings(directory, proxy, usualPresets, newAllowObserve, packages, tokens);
  }

  public NetworkSettings withPackages(PackageHost newPackages) {
    return new NetworkSettings(directory, proxy, usualPresets, allowObserve, newPackages, tokens);
  }

  public NetworkSettings withTokens(TokenSettings newTokens) {
    return new NetworkSettings(directory, proxy, usualPresets, allowObserve, packages, newTokens);
  }
}
