package dev.carrel.server.rest;

import com.fasterxml.jackson.annotation.JsonProperty;
import dev.carrel.control.artifact.Artifact;
import dev.carrel.control.artifact.Artifacts;
import dev.carrel.control.artifact.Manifest;
import dev.carrel.control.artifact.Signed;
import dev.carrel.server.http.Disposition;
import dev.carrel.server.http.Exchange;
import dev.carrel.server.http.Router;
import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxException;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Files that came out of sandboxes, signed. */
final class ArtifactRoutes {
  private static final String OF_SANDBOX = "/api/v1/sandboxes/{id}/artifacts";
  private static final String ALL = "/api/v1/artifacts";
  private static final int PAGE = 100;

  private final Artifacts artifacts;

  ArtifactRoutes(Artifacts artifacts) {
    this.artifacts = artifacts;
  }

  void addTo(Router router) {
    router
        .post(OF_SANDBOX, this::sign)
        .get(OF_SANDBOX, this::list)
        .get(OF_SANDBOX + "/manifest", this::manifest)
        .get(ALL, this::find);
  }

  private void sign(Exchange exchange) throws IOException {
    List<String> paths = exchange.fields().words("paths").orElse(null);
    exchange.json(
        200, SignedView.of(artifacts.sign(exchange.caller(), Ids.sandbox(exchange), paths)));
  }

  private void list(Exchange exchange) {
    ExecId exec = exchange.query().text("exec").map(ExecId::new).orElse(null);
    int limit = (int) exchange.query().number("limit", PAGE, 1, Artifacts.MAX_LISTED);
    exchange.json(
        200,
        new Page(View.of(artifacts.list(exchange.caller(), Ids.sandbox(exchange), exec, limit))));
  }

  private void find(Exchange exchange) {
    String sha256 =
        exchange
            .query()
            .text("sha256")
            .orElseThrow(() -> SandboxException.invalid("sha256", "is required"));
    exchange.json(200, new Page(View.of(artifacts.find(exchange.caller(), sha256))));
  }

  private void manifest(Exchange exchange) {
    Manifest manifest = artifacts.manifest(exchange.caller(), Ids.sandbox(exchange));
    exchange
        .header(
            HeaderNames.CONTENT_DISPOSITION, Disposition.of("attachment", "artifacts.intoto.json"))
        .json(200, Envelope.of(manifest));
  }

  record Page(List<View> artifacts) {}

  record SignedView(List<View> artifacts, List<SkippedView> skipped, boolean truncated) {
    static SignedView of(Signed signed) {
      return new SignedView(
          View.of(signed.artifacts()), SkippedView.of(signed.skipped()), signed.truncated());
    }
  }

  record SkippedView(String path, String reason) {
    static List<SkippedView> of(List<Signed.Skipped> skipped) {
      return skipped.stream().map(one -> new SkippedView(one.path(), one.reason())).toList();
    }
  }

  record View(
      String sandboxId,
      @Nullable String execId,
      String namespace,
      String path,
      String sha256,
      long sizeBytes,
      String mime,
      String signature,
      String keyId,
      String signedAt) {
    static List<View> of(List<Artifact> artifacts) {
      return artifacts.stream().map(View::of).toList();
    }

    private static View of(Artifact artifact) {
      ExecId exec = artifact.exec();
      return new View(
          artifact.sandbox().value(),
          exec == null ? null : exec.value(),
          artifact.namespace(),
          artifact.path(),
          artifact.sha256(),
          artifact.size(),
          artifact.mime(),
          artifact.signature(),
          artifact.key(),
          artifact.signedAt().toString());
    }
  }

  /** Spelt as DSSE spells it. */
  record Envelope(
      @JsonProperty("payloadType") String payloadType,
      String payload,
      List<EnvelopeSignature> signatures) {
    static Envelope of(Manifest manifest) {
      return new Envelope(
          manifest.payloadType(),
          manifest.payload(),
          List.of(new EnvelopeSignature(manifest.key(), manifest.signature())));
    }
  }

  record EnvelopeSignature(String keyid, String sig) {}
}
