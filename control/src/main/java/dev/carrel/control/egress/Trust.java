package dev.carrel.control.egress;

import dev.carrel.egress.TlsEnds;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * How sandboxes get to know the authority that vouches for hosts which secrets are bound to: one
 * file with all that the host believes and that authority, linked into the folder of each gate that
 * needs it, and variables that name it there.
 */
final class Trust {
  static final String FILE = "ca.pem";

  /** Where engines that isolate show the folder of the gate. */
  private static final String INSIDE = "/run/carrel/egress/" + FILE;

  // Each of them is read by some client in place of its usual certificates; the one of Node adds.
  private static final List<String> VARIABLES =
      List.of(
          "SSL_CERT_FILE",
          "REQUESTS_CA_BUNDLE",
          "CURL_CA_BUNDLE",
          "GIT_SSL_CAINFO",
          "PIP_CERT",
          "CARGO_HTTP_CAINFO",
          "AWS_CA_BUNDLE",
          "DENO_CERT",
          "NODE_EXTRA_CA_CERTS");

  // Set only where the host's clients are: npm believes nothing but what stands there.
  private static final List<String> OF_PACKAGES = List.of("PIP_CERT", "NPM_CONFIG_CAFILE");

  private final TlsEnds ends;
  private final Path shared;
  private final Map<String, String> packages;
  private boolean written;

  /**
   * @param directory of the gates' folders
   * @param packages what every sandbox is told about the host's package clients
   */
  Trust(TlsEnds ends, Path directory, Map<String, String> packages) {
    this.ends = ends;
    this.shared = directory.resolve(FILE);
    this.packages = Map.copyOf(packages);
  }

  TlsEnds ends() {
    return ends;
  }

  /** Puts the file into a gate's folder. Returns the variables that name it. */
  synchronized Map<String, String> giveTo(Path folder, boolean hostFiles) {
    Path file = folder.resolve(FILE);
    try {
      if (!written) {
        write();
      }
      if (!Files.exists(file)) {
        Files.createLink(file, shared);
      }
    } catch (IOException e) {
      throw new SandboxException(
              ErrorCode.ENGINE_FAILED,
              "cannot let the sandbox know the proxy's certificate: " + e,
              e)
          .withHint(
              "see egress.upstream-ca, and that egress-ca.pem of the data directory is whole");
    }
    String seen = hostFiles ? file.toAbsolutePath().toString() : INSIDE;
    var variables = new LinkedHashMap<String, String>();
    VARIABLES.forEach(name -> variables.put(name, seen));
    OF_PACKAGES.stream().filter(packages::containsKey).forEach(name -> variables.put(name, seen));
    return variables;
  }

  private void write() throws IOException {
    var text = new StringBuilder(ends.bundle());
    for (String name : OF_PACKAGES) {
      String more = packages.get(name);
      if (more != null && Files.isReadable(Path.of(more))) {
        String added = Files.readString(Path.of(more), StandardCharsets.ISO_8859_1);
        // Often it is the host's own bundle, which is there already.
        text.append(text.indexOf(added) < 0 ? added + "\n" : "");
      }
    }
    Path fresh = shared.resolveSibling(FILE + ".new");
    Files.writeString(fresh, text, StandardCharsets.ISO_8859_1);
    Files.setPosixFilePermissions(fresh, PosixFilePermissions.fromString("r--r--r--"));
    Files.move(fresh, shared, StandardCopyOption.ATOMIC_MOVE);
    written = true;
  }
}
