package dev.carrel.image;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How an image of the catalog is built.
 *
 * @param packages of Debian or Ubuntu
 * @param snapshot where they come from unless a build says otherwise; null: the host's own sources
 */
public record Recipe(
    String name, String description, List<String> packages, @Nullable Snapshot snapshot) {
  public Recipe {
    packages = List.copyOf(packages);
  }
}
