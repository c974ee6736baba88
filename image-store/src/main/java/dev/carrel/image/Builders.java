package dev.carrel.image;

import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Workshop;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What roots of packages can be made with on this host, and the choice among it. */
public final class Builders {
  private static final List<Path> PROGRAMS =
      List.of(Path.of("/usr/bin/mmdebstrap"), Path.of("/usr/local/bin/mmdebstrap"));

  private static final String ABSENT = "this host does not have it; apt-get install mmdebstrap";

  /** What is to be used. */
  public enum Choice {
    /** mmdebstrap where it is there, else whatever works. */
    AUTO,
    MMDEBSTRAP,
    DOCKER
  }

  private final Choice choice;
  private final @Nullable Reference base;
  private final List<Workshop> workshops;
  private final List<Path> programs;
  private final Path etc;

  /**
   * @param base what builds in containers begin with; null: the image of this host's own release
   */
  public Builders(Choice choice, @Nullable Reference base, List<Workshop> workshops) {
    this(choice, base, workshops, PROGRAMS, Path.of("/etc"));
  }

  /**
   * @param programs where mmdebstrap may be
   * @param etc the host's /etc
   */
  Builders(
      Choice choice,
      @Nullable Reference base,
      List<Workshop> workshops,
      List<Path> programs,
      Path etc) {
    this.choice = choice;
    this.base = base;
    this.workshops = List.copyOf(workshops);
    this.programs = List.copyOf(programs);
    this.etc = etc;
  }

  /** mmdebstrap alone. */
  public static Builders usual() {
    return new Builders(Choice.AUTO, null, List.of());
  }

  /** What each of them is good for here; the one that a build would use says so. */
  public List<Finding> findings() {
    var all = new ArrayList<Finding>();
    for (Finding found : found()) {
      boolean used =
          found.usable() && allows(found.name()) && all.stream().noneMatch(Finding::used);
      all.add(new Finding(found.name(), found.usable(), used, found.detail()));
    }
    return all;
  }

  /** Removes what builds of an earlier process left behind. */
  public void sweep() throws IOException {
    for (Workshop workshop : workshops) {
      if (workshop.problem().isEmpty()) {
        workshop.sweep();
      }
    }
  }

  /** The one to build with. */
  RootBuilder choose() {
    Optional<Path> program = program();
    if (program.isPresent() && allows(MmdebstrapBuilder.NAME)) {
      return new MmdebstrapBuilder(program.get());
    }
    var problems = new ArrayList<String>();
    if (program.isEmpty() && allows(MmdebstrapBuilder.NAME)) {
      problems.add(MmdebstrapBuilder.NAME + ": " + ABSENT);
    }
    for (Workshop workshop : workshops) {
      if (!allows(workshop.name())) {
        continue;
      }
      Optional<String> problem = workshop.problem();
      if (problem.isEmpty()) {
        return new WorkshopBuilder(workshop, base());
      }
      problems.add(workshop.name() + ": " + problem.get());
    }
    throw new SandboxException(
            ErrorCode.NOT_SUPPORTED,
            "this host has nothing to build an image with: " + String.join("; ", problems))
        .withHint("apt-get install mmdebstrap");
  }

  private List<Finding> found() {
    var all = new ArrayList<Finding>();
    Optional<Path> program = program();
    all.add(
        new Finding(
            MmdebstrapBuilder.NAME,
            program.isPresent(),
            false,
            program.map(Path::toString).orElse(ABSENT)));
    for (Workshop workshop : workshops) {
      Optional<String> problem = workshop.problem();
      all.add(
          new Finding(
              workshop.name(), problem.isEmpty(), false, problem.orElse("on the image " + base())));
    }
    return all;
  }

  private boolean allows(String name) {
    return choice == Choice.AUTO || choice.name().toLowerCase(Locale.ROOT).equals(name);
  }

  private Optional<Path> program() {
    return programs.stream().filter(Files::isExecutable).findFirst();
  }

  private String base() {
    return base == null ? ofRelease() : base.toString();
  }

  /** Named as those who publish them do. */
  private String ofRelease() {
    Map<String, String> release = release();
    String codename = release.getOrDefault("VERSION_CODENAME", "");
    String system = release.getOrDefault("ID", "");
    if (system.equals("debian") && !codename.isEmpty()) {
      return "debian:" + codename + "-slim";
    }
    return system.equals("ubuntu") && !codename.isEmpty()
        ? "ubuntu:" + codename
        : "debian:stable-slim";
  }

  private Map<String, String> release() {
    var fields = new HashMap<String, String>();
    try {
      for (String line : Files.readAllLines(etc.resolve("os-release"))) {
        int equals = line.indexOf('=');
        if (equals > 0) {
          fields.put(
              line.substring(0, equals), line.substring(equals + 1).replace("\"", "").strip());
        }
      }
    } catch (IOException none) {
      return Map.of();
    }
    return fields;
  }

  /**
   * One way to build.
   *
   * @param used whether a build would go this way now
   * @param detail where it is, or what it begins with; where it cannot be used, why and what to do
   */
  public record Finding(String name, boolean usable, boolean used, String detail) {}
}
