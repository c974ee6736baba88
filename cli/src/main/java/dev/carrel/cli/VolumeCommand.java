package dev.carrel.cli;

import dev.carrel.sdk.VolumeInfo;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code carrel volume …}: one class for each verb. */
@Command(
    name = "volume",
    description = "Make, list and delete volumes, which outlive sandboxes.",
    synopsisSubcommandLabel = "COMMAND",
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel volume create data --size 512",
      "  carrel sandbox create --volume data",
      "  carrel volume list"
    })
final class VolumeCommand extends CommandGroup {

  @Command(
      name = "create",
      description = "Make a volume.",
      footerHeading = "%nExamples:%n",
      footer = {
        "  carrel volume create datasets --size 4096",
        "  carrel sandbox create --volume datasets"
      })
  static final class Create implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(paramLabel = "NAME", description = "What to call it.")
    private String name = "";

    @Option(names = "--size", paramLabel = "MB", description = "How large it may become.")
    private @Nullable Long size;

    Create(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      try (Session.Connection server = session.connect()) {
        VolumeInfo made = server.carrel().volumes().create(name, size);
        if (common.json()) {
          session.console().json(made);
        } else {
          session.console().line(made.name());
        }
      }
      return 0;
    }
  }

  @Command(name = "list", aliases = "ls", description = "List your volumes.")
  static final class ListAll implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    ListAll(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        List<VolumeInfo> found = server.carrel().volumes().list();
        if (common.json()) {
          console.json(Map.of("volumes", found));
        } else if (found.isEmpty()) {
          console.note("no volumes; make one with: carrel volume create NAME");
        } else {
          var rows = new ArrayList<List<String>>();
          for (VolumeInfo info : found) {
            rows.add(
                List.of(
                    info.name(),
                    info.engine(),
                    info.sizeMb() + " MB",
                    (info.usedBytes() >> 20) + " MB",
                    info.sandboxId() == null ? "" : info.sandboxId()));
          }
          console.table(List.of("NAME", "ENGINE", "SIZE", "USED", "IN USE BY"), rows);
        }
      }
      return 0;
    }
  }

  @Command(name = "delete", aliases = "rm", description = "Remove volumes with their files.")
  static final class Delete implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(arity = "1..*", paramLabel = "NAME", description = "The volumes.")
    private List<String> names = List.of();

    Delete(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      try (Session.Connection server = session.connect()) {
        return new Deletion(session.console())
            .each(names, server.carrel().volumes()::delete)
            .told(common.json());
      }
    }
  }
}
