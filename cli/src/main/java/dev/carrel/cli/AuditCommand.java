package dev.carrel.cli;

import dev.carrel.sdk.Audit;
import dev.carrel.sdk.AuditFilter;
import dev.carrel.sdk.AuditRecord;
import dev.carrel.sdk.AuditVerdict;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
    name = "audit",
    description = "Show what was done and by whom; find out whether somebody changed the record.",
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel audit --limit 20",
      "  carrel audit --sandbox ID --action file",
      "  carrel audit --verify",
      "  carrel audit --export audit.jsonl"
    })
final class AuditCommand implements Callable<Integer> {
  private static final int TAMPERED = 1;
  private static final int LONGEST = 60;

  private final Session session;
  @Mixin private CommonOptions common = new CommonOptions();

  @Option(names = "--namespace", paramLabel = "NAME", description = "Only of this namespace.")
  private @Nullable String namespace;

  @Option(names = "--sandbox", paramLabel = "ID", description = "Only of this sandbox.")
  private @Nullable String sandbox;

  @Option(
      names = "--action",
      paramLabel = "WORD",
      description = "Only these, such as exec.run, or file for all that is done to files.")
  private @Nullable String action;

  @Option(names = "--since", paramLabel = "TIME", description = "Only from this time on.")
  private @Nullable String since;

  @Option(
      names = "--limit",
      paramLabel = "N",
      defaultValue = "50",
      description = "At most so many (default: ${DEFAULT-VALUE}).")
  private int limit;

  @ArgGroup private @Nullable Mode mode;

  AuditCommand(Session session) {
    this.session = session;
  }

  @Override
  public Integer call() throws IOException {
    Mode asked = mode == null ? new Mode() : mode;
    try (Session.Connection server = session.connect(asked.follow)) {
      Audit audit = server.carrel().audit();
      if (asked.verify) {
        return verify(audit.verify());
      }
      if (asked.key) {
        key(audit.key());
        return 0;
      }
      AuditFilter filter = filter();
      if (asked.export != null) {
        export(audit, filter, asked.export);
      } else if (asked.follow) {
        follow(audit, filter);
      } else {
        list(audit.list(filter, null, limit));
      }
      return 0;
    }
  }

  private AuditFilter filter() {
    try {
      return new AuditFilter(
          namespace, sandbox, action, since == null ? null : Instant.parse(since));
    } catch (DateTimeParseException e) {
      throw CommandFailure.usage("--since must be a time such as 2026-01-31T12:00:00Z");
    }
  }

  private int verify(AuditVerdict verdict) {
    Console console = session.console();
    if (common.json()) {
      console.json(verdict);
    } else if (verdict.intact()) {
      console.line(
          "%s  %d records, %d to %d, %d signed checkpoints"
              .formatted(
                  console.styled(Console.Style.GOOD, "intact"),
                  verdict.records(),
                  verdict.first(),
                  verdict.last(),
                  verdict.checkpoints()));
    } else {
      console.line(console.styled(Console.Style.BAD, "tampered with"));
      console.table(
          List.of("RECORD", "KIND", "WHAT"),
          verdict.problems().stream()
              .map(
                  problem ->
                      List.of(Long.toString(problem.sequence()), problem.kind(), problem.message()))
              .toList());
    }
    return verdict.intact() ? 0 : TAMPERED;
  }

  private void key(Audit.SigningKey key) {
    if (common.json()) {
      session.console().json(key);
    } else {
      session.console().line(key.publicKey());
    }
  }

  private void export(Audit audit, AuditFilter filter, String file) throws IOException {
    if (file.equals("-")) {
      audit.export(filter, session.console().bytes());
      return;
    }
    try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(Path.of(file)))) {
      audit.export(filter, out);
    }
  }

  private void follow(Audit audit, AuditFilter filter) {
    try (Audit.Stream stream = audit.follow(filter, null)) {
      for (Optional<AuditRecord> next = stream.next(); next.isPresent(); next = stream.next()) {
        if (common.json()) {
          session.console().jsonLine(next.get());
        } else {
          session.console().line(String.join("  ", row(next.get())));
        }
      }
    }
  }

  private void list(List<AuditRecord> records) {
    Console console = session.console();
    if (common.json()) {
      console.json(Map.of("records", records));
    } else if (records.isEmpty()) {
      console.note("nothing on record");
    } else {
      console.table(
          List.of("RECORD", "TIME", "WHO", "SANDBOX", "ACTION", "OUTCOME", "WHAT"),
          records.stream().map(this::row).toList());
    }
  }

  private List<String> row(AuditRecord record) {
    String what =
        record
            .details()
            .getOrDefault(
                "command",
                record
                    .details()
                    .getOrDefault("code", record.subject() == null ? "" : record.subject()));
    String shown = session.console().safe(what);
    return List.of(
        Long.toString(record.sequence()),
        Wording.time(record.at()),
        session.console().safe(record.principal()),
        record.sandboxId() == null ? "-" : record.sandboxId(),
        record.action(),
        session.console().safe(record.cause())
            + (record.exitCode() == null ? "" : " " + record.exitCode()),
        shown.length() <= LONGEST ? shown : shown.substring(0, LONGEST - 1) + "…");
  }

  /** What to do instead of listing. */
  static final class Mode {
    @Option(names = "--follow", description = "Show new records as they are written.")
    private boolean follow;

    @Option(
        names = "--verify",
        description = "Look at every record and signature; exit 1 when any was tampered with.")
    private boolean verify;

    @Option(
        names = "--key",
        description = "Print the public key of what the server signs, for carrel verify.")
    private boolean key;

    @Option(
        names = "--export",
        paramLabel = "FILE",
        description = "Write all as JSON Lines, oldest first; - for standard output.")
    private @Nullable String export;
  }
}
