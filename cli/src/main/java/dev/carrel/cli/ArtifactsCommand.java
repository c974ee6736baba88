package dev.carrel.cli;

import dev.carrel.sdk.ArtifactInfo;
import dev.carrel.sdk.Sandbox;
import dev.carrel.sdk.SignedArtifacts;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "artifacts",
    description = {
      "List the files of a sandbox that were signed, newest first.",
      "",
      "What a command changes in /workspace/outputs is signed when it ends. Other files, and what"
          + " code in a context left, are signed when they are named here."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel artifacts ID                      what is signed",
      "  carrel artifacts ID outputs report.pdf   sign these as they are now",
      "  carrel artifacts ID --exec EXEC          what this command left",
      "  carrel artifacts ID --manifest all.json  all under one signature, for offline"
    })
final class ArtifactsCommand implements Callable<Integer> {
  private static final int SHORT_DIGEST = 16;

  private final Session session;
  @Mixin private CommonOptions common = new CommonOptions();

  @Parameters(index = "0", paramLabel = "ID", description = "The sandbox.")
  private String id = "";

  @Parameters(
      index = "1..*",
      arity = "0..*",
      paramLabel = "PATH",
      description = "Sign these files and folders now, and list them.")
  private List<String> paths = List.of();

  @Option(names = "--exec", paramLabel = "EXEC", description = "Only of this command.")
  private @Nullable String exec;

  @Option(
      names = "--manifest",
      paramLabel = "FILE",
      description = "Write the last of each file, under one signature, to this file.")
  private @Nullable Path manifest;

  @Option(
      names = {"-n", "--limit"},
      paramLabel = "N",
      description = "How many, at most 1000; ${DEFAULT-VALUE} unless said.")
  private int limit = 100;

  ArtifactsCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() throws IOException {
    try (Session.Connection server = session.connect()) {
      Sandbox sandbox = server.carrel().sandboxes().get(id);
      SignedArtifacts shown =
          paths.isEmpty()
              ? new SignedArtifacts(sandbox.artifacts(exec, limit), List.of(), false)
              : sandbox.sign(paths);
      if (manifest != null) {
        sandbox.artifactManifest().write(manifest);
      }
      show(shown);
      return shown.skipped().isEmpty() && !shown.truncated() ? 0 : 1;
    }
  }

  private void show(SignedArtifacts shown) {
    Console console = session.console();
    if (common.json()) {
      console.json(Map.of("artifacts", shown.artifacts(), "skipped", shown.skipped()));
      return;
    }
    if (shown.artifacts().isEmpty()) {
      console.note("nothing is signed; what a command leaves in /workspace/outputs is");
    } else {
      console.table(
          List.of("PATH", "SIZE", "TYPE", "SHA-256", "SIGNED"),
          shown.artifacts().stream().map(this::row).toList());
    }
    shown.skipped().forEach(one -> console.note(LiveExec.notSigned(console, one)));
    if (shown.truncated()) {
      console.note("there were more files than the server looks at; name them in smaller parts");
    }
  }

  private List<String> row(ArtifactInfo info) {
    return List.of(
        session.console().safe(info.path()),
        Long.toString(info.sizeBytes()),
        info.mime(),
        info.sha256().substring(0, SHORT_DIGEST) + "…",
        Wording.time(info.signedAt()));
  }
}
