package dev.carrel.server.tools;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.control.exec.ExecResult;
import dev.carrel.control.packages.InstallPackages;
import dev.carrel.control.packages.PackageClient;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import java.util.ArrayList;
import java.util.Map;
import java.util.regex.Pattern;

/** Packages that a session is to begin with, checked before anything is made. */
final class Dependencies {
  private static final Pattern NAME =
      Pattern.compile("@?[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,127}[A-Za-z0-9])?");
  private static final Pattern VERSION = Pattern.compile("[A-Za-z0-9.*+!_-]{0,64}");
  private static final int MAX = 100;
  private static final int SHOWN = 2000;

  private final Language language;
  private final ObjectNode wanted = Schemas.object();

  Dependencies(Language language, JsonNode given) {
    this.language = language;
    if (given.size() > MAX) {
      throw SandboxException.invalid("dependencies", "must be at most " + MAX);
    }
    for (Map.Entry<String, JsonNode> entry : given.properties()) {
      String version = entry.getValue().isNull() ? "" : entry.getValue().asText();
      if (!NAME.matcher(entry.getKey()).matches() || !VERSION.matcher(version).matches()) {
        throw SandboxException.invalid(
            "dependencies",
            "must be names of packages with versions, without options or addresses");
      }
      wanted.put(entry.getKey(), version);
    }
    if (any() && language == Language.BASH) {
      throw SandboxException.invalid("dependencies", "there are none for bash");
    }
  }

  boolean any() {
    return !wanted.isEmpty();
  }

  ObjectNode wanted() {
    return wanted;
  }

  /** As anybody else's packages, by the same rules. */
  InstallPackages request() {
    PackageClient client = PackageTools.usual(language);
    String separator = client == PackageClient.NPM ? "@" : "==";
    var words = new ArrayList<String>();
    for (Map.Entry<String, JsonNode> entry : wanted.properties()) {
      String version = entry.getValue().asText();
      boolean any = version.isEmpty() || version.equals("*") || client == PackageClient.R;
      words.add(any ? entry.getKey() : entry.getKey() + separator + version);
    }
    return new InstallPackages(client, words, false);
  }

  SandboxException failed(ExecResult result) {
    String said =
        result.stderr().text().isBlank() ? result.stdout().text() : result.stderr().text();
    String end = said.length() > SHOWN ? "…" + said.substring(said.length() - SHOWN) : said;
    return new SandboxException(
            ErrorCode.WRONG_STATE,
            "the packages could not be installed (exit code %d): %s"
                .formatted(result.exitCode(), end.strip()))
        .withHint(
            "the session must be allowed to reach the package index: see allowed_domains; what has"
                + " to run code for it is installed by install_package with scripts");
  }
}
