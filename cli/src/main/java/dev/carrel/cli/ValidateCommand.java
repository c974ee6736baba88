package dev.carrel.cli;

import dev.carrel.sdk.Validation;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
    name = "validate",
    description = {
      "Look at code in a sandbox without running it.",
      "",
      "Tells what cannot be read, dangerous calls and missing imports (Python). Exits with 1 when"
          + " the code should not run."
    },
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel validate job.py",
      "  carrel validate --on-danger reject --fix job.py",
      "  carrel validate --language bash - < setup"
    })
final class ValidateCommand implements Callable<Integer> {
  private final Session session;
  @Mixin private CommonOptions common = new CommonOptions();

  @Option(
      names = "--language",
      paramLabel = "NAME",
      completionCandidates = Choices.Languages.class,
      description = "python, node, r or bash; by the file's name when left out.")
  private @Nullable String language;

  @Option(
      names = "--on-danger",
      paramLabel = "CHOICE",
      completionCandidates = Choices.OnDanger.class,
      description = "What a dangerous call means: reject, warn (default) or off.")
  private String onDanger = "warn";

  @Option(names = "--no-auto-fix", description = "Do not look for missing imports.")
  private boolean noAutoFix;

  @Option(names = "--fix", description = "Write missing imports into the file.")
  private boolean fix;

  @Parameters(paramLabel = "FILE", description = "The code; - for standard input.")
  private Path file = Path.of("-");

  ValidateCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() throws IOException {
    boolean fromInput = file.toString().equals("-");
    String code =
        fromInput
            ? new String(session.in().readAllBytes(), StandardCharsets.UTF_8)
            : Files.readString(file);
    Validation found;
    try (Session.Connection server = session.connectForOneRun()) {
      found = server.carrel().validate(chosen(), code, onDanger, !noAutoFix);
    }
    if (common.json()) {
      session.console().json(found);
    } else {
      show(found);
    }
    String fixed = found.fixedCode();
    if (fix && fixed != null && !fromInput) {
      Files.writeString(file, fixed);
    }
    return found.valid() ? 0 : 1;
  }

  private String chosen() {
    if (language != null) {
      return language;
    }
    String name = String.valueOf(file.getFileName());
    String ending = name.substring(name.lastIndexOf('.') + 1);
    return switch (ending) {
      case "py" -> "python";
      case "js", "mjs", "cjs" -> "node";
      case "sh", "bash" -> "bash";
      case "r", "R" -> "r";
      default ->
          throw CommandFailure.usage("say --language: the name " + name + " does not tell it");
    };
  }

  private void show(Validation found) {
    Console console = session.console();
    var rows = new ArrayList<List<String>>();
    for (Validation.Finding finding : found.findings()) {
      rows.add(
          List.of(
              finding.line() + ":" + finding.column(),
              finding.severity(),
              console.safe(finding.rule()),
              console.safe(finding.message())));
    }
    if (!rows.isEmpty()) {
      console.table(List.of("AT", "SEVERITY", "RULE", "WHAT"), rows);
    }
    console.line(found.valid() ? "valid" : "not valid");
  }
}
