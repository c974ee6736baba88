package dev.carrel.cli;

import dev.carrel.sdk.ArtifactInfo;
import dev.carrel.sdk.ArtifactKey;
import dev.carrel.sdk.ArtifactManifest;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "verify",
    description = {
      "Check whether a file is what a sandbox left. Exit 0 when it is, 1 when not.",
      "",
      "The key is the server's, or --key (carrel audit --key prints it), which needs no server."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel verify report.pdf                      ask the server where it is from",
      "  carrel verify report.pdf SIGNATURE --key KEY  offline",
      "  carrel verify report.pdf --manifest all.json --key server.pub",
      "  carrel verify report.pdf SHA256               the digest alone: no origin"
    })
final class VerifyCommand implements Callable<Integer> {
  private static final int HEX_DIGITS = 64;
  private static final long MAX_KEY = 4096;

  private final Session session;
  @Mixin private CommonOptions common = new CommonOptions();

  @Parameters(index = "0", paramLabel = "FILE", description = "What to check.")
  private Path file = Path.of("");

  @Parameters(
      index = "1",
      arity = "0..1",
      paramLabel = "SIGNATURE|SHA",
      description = "A signature in base64, or a SHA-256 in hex.")
  private @Nullable String expected;

  @Option(
      names = "--key",
      paramLabel = "KEY|FILE",
      description = "The server's public key, or a file that holds it.")
  private @Nullable String key;

  @Option(
      names = "--manifest",
      paramLabel = "FILE",
      description = "A manifest that must name the file's content.")
  private @Nullable Path manifest;

  VerifyCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() throws IOException {
    ArtifactKey.Digest digest = ArtifactKey.Digest.of(file);
    Verdict verdict = verdict(digest);
    Console console = session.console();
    if (common.json()) {
      var json = new LinkedHashMap<String, Object>();
      json.put("valid", verdict.valid());
      json.put("signed", verdict.signed());
      json.put("reason", verdict.reason());
      json.put("sha256", digest.sha256());
      json.put("size_bytes", digest.size());
      json.put("artifacts", verdict.origins());
      console.json(json);
    } else {
      console.line(
          (verdict.valid()
                  ? console.styled(Console.Style.GOOD, "valid")
                  : console.styled(Console.Style.BAD, "NOT VALID"))
              + "  "
              + console.safe(verdict.reason()));
      verdict
          .origins()
          .forEach(
              origin ->
                  console.line(
                      "  sandbox %s  %s  %s"
                          .formatted(
                              origin.sandboxId(), console.safe(origin.path()), origin.signedAt())));
    }
    return verdict.valid() ? 0 : 1;
  }

  private Verdict verdict(ArtifactKey.Digest digest) throws IOException {
    if (manifest != null) {
      return byManifest(digest, manifest);
    }
    String given = expected;
    if (given == null) {
      return byServer(digest);
    }
    if (given.length() == HEX_DIGITS && given.chars().allMatch(c -> Character.digit(c, 16) >= 0)) {
      boolean same = given.toLowerCase(Locale.ROOT).equals(digest.sha256());
      return same
          ? new Verdict(true, false, "the digest is this one; that proves no origin", List.of())
          : Verdict.no("its SHA-256 is " + digest.sha256());
    }
    return key().signed(digest, given)
        ? new Verdict(true, true, "signed by the server", List.of())
        : Verdict.no("the signature is not of this file, or by another key");
  }

  private Verdict byManifest(ArtifactKey.Digest digest, Path from) throws IOException {
    Optional<Map<String, String>> names = key().digests(ArtifactManifest.read(from));
    if (names.isEmpty()) {
      return Verdict.no("the manifest is not signed by this key");
    }
    List<String> found =
        names.get().entrySet().stream()
            .filter(name -> name.getValue().equals(digest.sha256()))
            .map(Map.Entry::getKey)
            .toList();
    return found.isEmpty()
        ? Verdict.no("the manifest has no file of this content")
        : new Verdict(true, true, "in the manifest as " + String.join(", ", found), List.of());
  }

  private Verdict byServer(ArtifactKey.Digest digest) throws IOException {
    try (Session.Connection server = session.connect()) {
      ArtifactKey trusted =
          key == null ? ArtifactKey.parse(server.carrel().audit().key().publicKey()) : key();
      List<ArtifactInfo> origins =
          server.carrel().artifacts(digest.sha256()).stream()
              .filter(origin -> trusted.signed(digest, origin.signature()))
              .toList();
      return origins.isEmpty()
          ? Verdict.no("the server has signed no such file")
          : new Verdict(true, true, "signed by the server", origins);
    }
  }

  private ArtifactKey key() throws IOException {
    String given = key;
    if (given == null) {
      try (Session.Connection server = session.connect()) {
        return ArtifactKey.parse(server.carrel().audit().key().publicKey());
      }
    }
    Path named = Path.of(given);
    boolean inFile = Files.isRegularFile(named) && Files.size(named) <= MAX_KEY;
    try {
      return ArtifactKey.parse(inFile ? Files.readString(named) : given);
    } catch (IllegalArgumentException e) {
      throw new CommandFailure(
          "--key: " + e.getMessage(), "carrel audit --key prints the server's public key");
    }
  }

  /**
   * What came of it.
   *
   * @param signed whether a signature was checked
   */
  private record Verdict(boolean valid, boolean signed, String reason, List<ArtifactInfo> origins) {
    static Verdict no(String reason) {
      return new Verdict(false, false, reason, List.of());
    }
  }
}
