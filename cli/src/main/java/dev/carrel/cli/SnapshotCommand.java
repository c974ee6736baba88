package dev.carrel.cli;

import dev.carrel.sdk.Sandbox;
import dev.carrel.sdk.SnapshotInfo;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code carrel snapshot …}: one class for each verb. */
@Command(
    name = "snapshot",
    description = "Keep the files of sandboxes as they are, and bring them back.",
    synopsisSubcommandLabel = "COMMAND",
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel snapshot create SANDBOX --name before",
      "  carrel snapshot list SANDBOX",
      "  carrel snapshot restore SNAPSHOT SANDBOX"
    })
final class SnapshotCommand extends CommandGroup {

  @Command(
      name = "create",
      description = "Keep a sandbox's files as they are now, and print the snapshot's id.")
  static final class Create implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(paramLabel = "SANDBOX", description = "Whose files.")
    private String sandbox = "";

    @Option(names = "--name", paramLabel = "TEXT", description = "What to call it.")
    private @Nullable String name;

    Create(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        SnapshotInfo made;
        try (Progress _ = console.progress("copying files")) {
          made = server.carrel().sandboxes().get(sandbox).snapshot(name);
        }
        if (common.json()) {
          console.json(made);
        } else {
          console.line(made.id());
        }
      }
      return 0;
    }
  }

  @Command(name = "list", aliases = "ls", description = "List snapshots, newest first.")
  static final class ListAll implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(arity = "0..1", paramLabel = "SANDBOX", description = "Only of this one.")
    private @Nullable String sandbox;

    ListAll(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        List<SnapshotInfo> found =
            sandbox == null
                ? server.carrel().snapshots().list()
                : server.carrel().sandboxes().get(sandbox).snapshots();
        if (common.json()) {
          console.json(Map.of("snapshots", found));
        } else if (found.isEmpty()) {
          console.note("no snapshots; make one with: carrel snapshot create SANDBOX");
        } else {
          console.table(
              List.of("ID", "SANDBOX", "IMAGE", "SIZE", "USED", "MADE", "NAME"),
              found.stream().map(info -> row(console, info)).toList());
        }
      }
      return 0;
    }

    private static List<String> row(Console console, SnapshotInfo info) {
      return List.of(
          info.id(),
          info.sandboxId(),
          info.image(),
          info.sizeMb() + " MB",
          (info.usedBytes() >> 20) + " MB",
          Wording.time(info.createdAt()),
          info.name() == null ? "" : console.safe(info.name()));
    }
  }

  @Command(
      name = "restore",
      description = "Give a sandbox the files of a snapshot in place of its own.")
  static final class Restore implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(index = "0", paramLabel = "SNAPSHOT", description = "Which files.")
    private String snapshot = "";

    @Parameters(index = "1", paramLabel = "SANDBOX", description = "Who gets them.")
    private String sandbox = "";

    Restore(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        Sandbox restored;
        try (Progress _ = console.progress("restoring files")) {
          restored = server.carrel().sandboxes().get(sandbox).restore(snapshot);
        }
        if (common.json()) {
          console.json(restored.info());
        } else {
          console.line(restored.id() + "  " + restored.info().status());
        }
      }
      return 0;
    }
  }

  @Command(name = "delete", aliases = "rm", description = "Remove snapshots.")
  static final class Delete implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(arity = "1..*", paramLabel = "ID", description = "The snapshots.")
    private List<String> ids = List.of();

    Delete(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      try (Session.Connection server = session.connect()) {
        return new Deletion(session.console())
            .each(ids, server.carrel().snapshots()::delete)
            .told(common.json());
      }
    }
  }
}
