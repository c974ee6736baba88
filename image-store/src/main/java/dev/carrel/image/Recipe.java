package dev.carrel.image;

import java.util.List;

/**
 * How an image of the catalog is built.
 *
 * @param packages of Debian or Ubuntu
 */
public record Recipe(String name, String description, List<String> packages) {
  public Recipe {
    packages = List.copyOf(packages);
  }
}
