package dev.carrel.server.tools;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.control.Control;
import dev.carrel.control.exec.ExecResult;
import dev.carrel.control.packages.InstallPackages;
import dev.carrel.control.packages.Installation;
import dev.carrel.control.packages.PackageClient;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.egress.Policy;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.Language;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import dev.carrel.spi.Text;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Map;

/** Packages that a session is to begin with, checked before anything is made. */
final class Dependencies {
  private static final String BOUNDS = "<>=!~";
  private static final String PRESET = "packages";
  private static final int SHOWN = 2000;

  private final Language language;
  private final ObjectNode wanted = Schemas.object();

  Dependencies(Language language, JsonNode given) {
    this.language = language;
    for (Map.Entry<String, JsonNode> entry : given.properties()) {
      wanted.put(entry.getKey(), entry.getValue().isNull() ? "" : entry.getValue().asText());
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

  /** As anybody else's packages, by the same rules: what cannot be so is not looked at here. */
  InstallPackages request() {
    PackageClient client = PackageTools.usual(language);
    var words = new ArrayList<String>();
    for (Map.Entry<String, JsonNode> entry : wanted.properties()) {
      words.add(entry.getKey() + version(client, entry.getValue().asText()));
    }
    return new InstallPackages(client, words, false);
  }

  private static String version(PackageClient client, String version) {
    if (version.isEmpty() || version.equals("*")) {
      return "";
    }
    if (client == PackageClient.NPM) {
      return "@" + version;
    }
    return BOUNDS.indexOf(version.charAt(0)) < 0 ? "==" + version : version;
  }

  /**
   * Installs them into a session that nobody else knows yet. Who asks for packages asks for the way
   * to them, too: it is open for as long as this takes.
   */
  Installation install(Control control, Caller caller, Sandbox made) throws InterruptedException {
    Policy own = made.network();
    var presets = new HashSet<>(own.presets());
    boolean shut = presets.add(PRESET);
    if (shut) {
      control.egress().set(caller, made.id(), own.withPresets(presets));
    }
    try {
      Installation done = control.packages().install(caller, made.id(), request());
      if (!done.success()) {
        throw failed(done.exec());
      }
      if (shut) {
        control.egress().set(caller, made.id(), own);
      }
      return done;
    } catch (SandboxException e) {
      throw refused(e, made.id());
    }
  }

  /** The session is gone by the time that this is read. */
  static SandboxException refused(SandboxException e, SandboxId gone) {
    return e.code() == ErrorCode.FORBIDDEN
        ? e.map(words -> words.replace("sandbox " + gone, "the session"))
            .withHint("call create_session again with that host in allowed_domains")
        : e;
  }

  private static SandboxException failed(ExecResult result) {
    String said =
        result.stderr().text().isBlank() ? result.stdout().text() : result.stderr().text();
    String end = said.length() > SHOWN ? "…" + Text.tail(said, SHOWN) : said;
    return new SandboxException(
            ErrorCode.WRONG_STATE,
            "the packages could not be installed (exit code %d): %s"
                .formatted(result.exitCode(), end.strip()))
        .withHint(
            "no session was made; what has to run code while it is installed goes by"
                + " install_package with scripts, into a session with presets [\"packages\"]");
  }
}
