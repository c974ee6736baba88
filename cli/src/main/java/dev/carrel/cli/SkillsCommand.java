package dev.carrel.cli;

import dev.carrel.sdk.InstalledSkill;
import dev.carrel.sdk.SkillInfo;
import dev.carrel.sdk.SkillInstallation;
import dev.carrel.sdk.Skills;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code carrel skills …}: one class for each verb. */
@Command(
    name = "skills",
    description = "Keep folders with instructions for agents, and give them to sandboxes.",
    synopsisSubcommandLabel = "COMMAND",
    footerHeading = "%nExamples:%n",
    footer = {
      "  carrel skills add ./my-skill",
      "  carrel skills list",
      "  carrel skills install SANDBOX my-skill"
    })
final class SkillsCommand extends CommandGroup {

  static CommandLine line(Session session) {
    return new CommandLine(new SkillsCommand())
        .addSubcommand(new ListAll(session))
        .addSubcommand(new Add(session))
        .addSubcommand(new Show(session))
        .addSubcommand(new Install(session))
        .addSubcommand(new Remove(session));
  }

  @Command(name = "list", aliases = "ls", description = "List your skills, or a sandbox's.")
  static final class ListAll implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(arity = "0..1", paramLabel = "SANDBOX", description = "What this one was given.")
    private @Nullable String sandbox;

    ListAll(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        if (sandbox == null) {
          show(console, server.carrel().skills().list());
        } else {
          given(console, server.carrel().sandboxes().get(sandbox).skills());
        }
      }
      return 0;
    }

    private void show(Console console, List<SkillInfo> skills) {
      if (common.json()) {
        console.json(Map.of("skills", skills));
      } else if (skills.isEmpty()) {
        console.note("no skills; keep one with: carrel skills add FOLDER");
      } else {
        console.table(
            List.of("NAME", "VERSION", "FILES", "SIZE", "UPDATED", "DESCRIPTION"),
            skills.stream()
                .map(
                    skill ->
                        List.of(
                            skill.name(),
                            String.valueOf(skill.version()),
                            String.valueOf(skill.fileCount()),
                            ((skill.sizeBytes() + 1023) >> 10) + " KB",
                            Wording.time(skill.updatedAt()),
                            console.safe(skill.description())))
                .toList());
      }
    }

    private void given(Console console, List<InstalledSkill> skills) {
      if (common.json()) {
        console.json(Map.of("skills", skills));
      } else if (skills.isEmpty()) {
        console.note("none; give it one with: carrel skills install SANDBOX NAME");
      } else {
        console.table(
            List.of("NAME", "VERSION", "PATH", "INSTALLED"),
            skills.stream()
                .map(
                    skill ->
                        List.of(
                            skill.name(),
                            String.valueOf(skill.version()),
                            skill.path(),
                            Wording.time(skill.installedAt())))
                .toList());
      }
    }
  }

  @Command(
      name = "add",
      description = "Keep skills, or their next versions.",
      footerHeading = "%nExamples:%n",
      footer = {"  carrel skills add ./pdf-tools", "  carrel skills add pdf-tools.skill notes.md"})
  static final class Add implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(
        arity = "1..*",
        paramLabel = "FILE",
        description = "A folder with a SKILL.md, a .zip or .skill of one, or that file alone.")
    private List<Path> files = List.of();

    Add(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() throws IOException {
      Console console = session.console();
      var kept = new ArrayList<SkillInfo>();
      try (Session.Connection server = session.connect()) {
        for (Path file : files) {
          kept.add(keep(server.carrel().skills(), file));
        }
      }
      if (common.json()) {
        console.json(Map.of("skills", kept));
      } else {
        kept.forEach(skill -> console.line(skill.name() + "  version " + skill.version()));
      }
      return 0;
    }

    private static SkillInfo keep(Skills skills, Path file) throws IOException {
      if (!Files.isDirectory(file)) {
        return skills.upload(file);
      }
      try (var packed = PackedFolder.of(file)) {
        return skills.upload(packed.zip());
      }
    }
  }

  @Command(name = "show", description = "Show a skill and its files, or one of them.")
  static final class Show implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(paramLabel = "SKILL", description = "Its name or id.")
    private String skill = "";

    @Option(names = "--file", paramLabel = "PATH", description = "Print this file of it.")
    private @Nullable String file;

    Show(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      try (Session.Connection server = session.connect()) {
        if (file != null) {
          byte[] content = server.carrel().skills().read(skill, file);
          console.out().writeBytes(content);
          Console.requireRead(console.out());
          return 0;
        }
        SkillInfo info = server.carrel().skills().get(skill);
        if (common.json()) {
          console.json(info);
          return 0;
        }
        console.line(info.name() + "  version " + info.version() + "  " + info.digest());
        console.line(console.safe(info.description()));
        console.table(
            List.of("FILE", "BYTES"),
            info.files().stream()
                .map(one -> List.of(console.safe(one.path()), String.valueOf(one.sizeBytes())))
                .toList());
      }
      return 0;
    }
  }

  @Command(
      name = "install",
      description = "Give skills to a sandbox; one that is there already stays as it is.")
  static final class Install implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(index = "0", paramLabel = "SANDBOX", description = "Who gets them.")
    private String sandbox = "";

    @Parameters(index = "1..*", arity = "1..*", paramLabel = "SKILL", description = "Names or ids.")
    private List<String> skills = List.of();

    Install(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      Console console = session.console();
      SkillInstallation done;
      try (Session.Connection server = session.connect()) {
        done = server.carrel().sandboxes().get(sandbox).installSkills(skills);
      }
      if (common.json()) {
        console.json(done);
      } else {
        done.installed().forEach(one -> console.line(one.name() + "  installed  " + one.path()));
        done.alreadyInstalled()
            .forEach(one -> console.line(one.name() + "  already there  " + one.path()));
        done.notFound().forEach(one -> console.error("there is no skill " + console.safe(one)));
        done.extractionErrors()
            .forEach(one -> console.error(one.name() + ": " + console.safe(one.error())));
      }
      return done.complete() ? 0 : 1;
    }
  }

  @Command(
      name = "rm",
      aliases = "delete",
      description = "Remove skills; sandboxes keep what they have of them.")
  static final class Remove implements Callable<Integer> {
    private final Session session;
    @Mixin private CommonOptions common = new CommonOptions();

    @Parameters(arity = "1..*", paramLabel = "SKILL", description = "Names or ids.")
    private List<String> skills = List.of();

    Remove(Session session) {
      this.session = session;
    }

    @Override
    public Integer call() {
      try (Session.Connection server = session.connect()) {
        return new Deletion(session.console())
            .each(skills, server.carrel().skills()::delete)
            .told(common.json());
      }
    }
  }
}
