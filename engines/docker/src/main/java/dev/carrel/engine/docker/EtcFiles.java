package dev.carrel.engine.docker;

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

  EtcFiles {
    binds = List.copyOf(binds);
  }

  static EtcFiles make(MachineFolder folder, RootTree root) throws IOException {
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
    boolean places =
        image.isEmpty()
            || NAMES.stream()
                .allMatch(
                    name -> Files.exists(image.get().resolve(name), LinkOption.NOFOLLOW_LINKS));
    return new EtcFiles(
        binds, places ? Optional.empty() : Optional.of(overlay(folder, image.get())));
  }

  private static String content(String name, SandboxId id) {
    return switch (name) {
      case "hosts" -> RootTree.hosts(id);
      case "hostname" -> id + "\n";
      default -> "";
    };
  }

  private static String overlay(MachineFolder folder, Path image) throws IOException {
    Path places = Files.createDirectory(folder.path().resolve("places"));
    for (String name : NAMES) {
      Files.createFile(places.resolve(name));
    }
    String layers = places + ":" + image;
    if (layers.matches(".*[,\\\\\"].*") || image.toString().contains(":")) {
      throw new IOException("the image's folder has a name that no mount takes: " + image);
    }
    return layers;
  }
}
