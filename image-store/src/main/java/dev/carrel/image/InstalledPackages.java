package dev.carrel.image;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What dpkg has installed in a root. */
final class InstalledPackages {
  private static final String INSTALLED = "install ok installed";

  private InstalledPackages() {}

  /** In order. */
  static List<LockedPackage> in(Path root) throws IOException {
    // The root is whole and nobody's to change, but a link in it is still not ours to follow.
    Path status =
        InRoot.resolve(root, "var/lib/dpkg/status")
            .orElseThrow(() -> new NoSuchFileException("var/lib/dpkg/status"));
    var installed = new ArrayList<LockedPackage>();
    var fields = new HashMap<String, String>();
    try (BufferedReader lines = Files.newBufferedReader(status)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        int colon = line.indexOf(": ");
        if (line.isEmpty()) {
          add(fields, installed);
          fields.clear();
        } else if (colon > 0 && !line.startsWith(" ")) {
          fields.put(line.substring(0, colon), line.substring(colon + 2).strip());
        }
      }
    }
    add(fields, installed);
    return installed.stream().sorted().toList();
  }

  private static void add(Map<String, String> fields, List<LockedPackage> installed) {
    if (INSTALLED.equals(fields.get("Status"))) {
      installed.add(
          new LockedPackage(
              fields.getOrDefault("Package", ""),
              fields.getOrDefault("Architecture", ""),
              fields.getOrDefault("Version", "")));
    }
  }
}
