package dev.carrel.sdk;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What came of installing packages.
 *
 * @param success whether the client said so, and every package is there
 * @param packages those asked for, as they are now
 * @param resolved all that was chosen to be installed for them, with what they depend on
 * @param filesCached how many of their files the server had already
 * @param filesFetched how many it fetched now, and has from now on
 */
public record Installation(
    String manager,
    boolean success,
    List<Installed> packages,
    List<Installed> resolved,
    int filesCached,
    int filesFetched,
    int exitCode,
    boolean timedOut,
    String stdout,
    String stderr,
    double durationMs,
    String execId) {

  /** A package as it is now; version null: it is not there. */
  public record Installed(String name, @Nullable String version) {}
}
