package dev.carrel.engine.docker;

import dev.carrel.engine.host.Gvisor;
import dev.carrel.engine.host.RootTree;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The three files of /etc that a daemon puts into every container, whatever is there: its own would
 * tell the host's name servers. They are replaced by ours, for which there must be a place.
 *
 * @param binds ours, where the root tree does not bring them
 * @param overlay the layers of /etc, topmost first, where the image has one that lacks the places
 */
record EtcFiles(List<RootTree.Bind> binds, Optional<String> overlay) {
  private static final List<String> NAMES = List.of("hosts", "hostname", "resolv.conf");
  private static final String ETC = "/etc";
  private static final String PRELOAD = "ld.so.preload";
  private static final String LIBRARY = RootTree.LIB + "/" + Gvisor.PRELOAD + "\n";
  private static final int MAX_OWN = 4096;

  EtcFiles {
    binds = List.copyOf(binds);
  }

  /**
   * @param preloads whether programs are to load what makes up for an old gVisor
   */
  static EtcFiles make(MachineFolder folder, RootTree root, boolean preloads) throws IOException {
    Optional<Path> image =
        root.binds().stream()
            .filter(bind -> bind.target().equals(ETC))
            .map(RootTree.Bind::source)
            .findFirst();
    var binds = new ArrayList<RootTree.Bind>();
    for (String name : NAMES) {
      String target = ETC + "/" + name;
      if (root.binds().stream().anyMatch(bind -> bind.target().equals(target))) {
        continue;
      }
      Path ours = root.skeleton().resolve("etc").resolve(name);
      if (image.isPresent() || Files.notExists(ours)) {
        ours = folder.path().resolve("etc-" + name);
        Files.writeString(ours, content(name, folder.id()));
      }
      binds.add(new RootTree.Bind(ours, target));
    }
    if (image.isEmpty()) {
      Path own = root.skeleton().resolve("etc");
      if (preloads && Files.isDirectory(own, LinkOption.NOFOLLOW_LINKS)) {
        Files.writeString(own.resolve(PRELOAD), LIBRARY);
      }
      return new EtcFiles(binds, Optional.empty());
    }
    boolean places =
        NAMES.stream()
            .allMatch(name -> Files.exists(image.get().resolve(name), LinkOption.NOFOLLOW_LINKS));
    return new EtcFiles(
        binds,
        places && !preloads
            ? Optional.empty()
            : Optional.of(overlay(folder, image.get(), preloads)));
  }

  private static String content(String name, SandboxId id) {
    return switch (name) {
      case "hosts" -> RootTree.hosts(id);
      case "hostname" -> id + "\n";
      default -> "";
    };
  }

  private static String overlay(MachineFolder folder, Path image, boolean preloads)
      throws IOException {
    Path places = Files.createDirectory(folder.path().resolve("places"));
    for (String name : NAMES) {
      Files.createFile(places.resolve(name));
    }
    if (preloads) {
      Path theirs = image.resolve(PRELOAD);
      boolean has = Files.isRegularFile(theirs, LinkOption.NOFOLLOW_LINKS);
      Files.writeString(
          places.resolve(PRELOAD),
          has && Files.size(theirs) <= MAX_OWN ? LIBRARY + Files.readString(theirs) : LIBRARY);
    }
    String layers = places + ":" + image;
    if (layers.matches(".*[,\\\\\"].*") || image.toString().contains(":")) {
      throw new IOException("the image's folder has a name that no mount takes: " + image);
    }
    return layers;
  }
}
