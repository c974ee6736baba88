package dev.carrel.control.packages;

import dev.carrel.spi.SandboxException;
import java.util.List;

/**
 * Packages to install.
 *
 * @param packages in the client's own way of writing a name and a version
 * @param scripts whether packages may run code of their own while they are installed
 */
public record InstallPackages(PackageClient client, List<String> packages, boolean scripts) {
  private static final int MOST = 100;

  public InstallPackages {
    packages = List.copyOf(packages);
    if (packages.isEmpty() || packages.size() > MOST) {
      throw SandboxException.invalid("packages", "must name 1 to " + MOST + " packages");
    }
  }

  List<Requirement> requirements() {
    return packages.stream().map(client::requirement).toList();
  }
}
