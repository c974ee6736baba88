package dev.carrel.control.packages;

import org.jspecify.annotations.Nullable;

/**
 * A package that is asked for.
 *
 * @param version null: the newest that the client finds
 */
record Requirement(String name, @Nullable String version) {
  String with(String separator) {
    return version == null ? name : name + separator + version;
  }
}
