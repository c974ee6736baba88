package dev.carrel.engine.oci;

import dev.carrel.engine.host.RootTree;
import dev.carrel.spi.MachineSpec;
import dev.carrel.spi.Rootfs;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;

/**
 * What the companion lays out as the machine's root before the runtime begins.
 *
 * @param binds what the runtime puts into that root, all read-only
 * @param options the companion's words for it
 */
record Stage(List<RootTree.Bind> binds, List<String> options) {
  /** The name on the stage of what a machine with a writable root has at {@link RootTree#OWN}. */
  static final String OWN = "own";

  /**
   * In that folder, the guest. Commands are root of the ids that the machine has, and so the owner
   * of what the kernel shows of its processes in /proc, unless who runs there cannot read its own
   * program: then the owner is root of the host. So this is a copy that can only be run.
   */
  static final String PROGRAM = "init";

  Stage {
    binds = List.copyOf(binds);
    options = List.copyOf(options);
  }

  /**
   * Makes what it needs in the machine's folder.
   *
   * @param preloads whether programs of the machine load what makes up for an old gVisor
   */
  static Stage of(MachineFolder folder, MachineSpec spec, boolean preloads, Path libDirectory)
      throws IOException {
    return spec.rootfs() == Rootfs.OVERLAY
        ? writable(folder, spec, preloads, libDirectory)
        : readOnly(folder, spec, preloads, libDirectory);
  }

  private static Stage readOnly(
      MachineFolder folder, MachineSpec spec, boolean preloads, Path libDirectory)
      throws IOException {
    RootTree root = RootTree.make(folder.root(), folder.id(), spec.image());
    Preload preload =
        preloads ? Preload.into(root, folder.path(), libDirectory) : Preload.none(root);
    var options = new ArrayList<>(List.of("--bind", "root=" + folder.root()));
    if (preload.etc().isPresent()) {
      options.addAll(List.of("--bind", Preload.LAYER + "=" + preload.etc().get()));
      options.addAll(List.of("--bind", Preload.LAYER + ".top=" + preload.top()));
      options.addAll(List.of("--layer", Preload.LAYER));
    }
    return new Stage(preload.root().binds(), options);
  }

  private static Stage writable(
      MachineFolder folder, MachineSpec spec, boolean preloads, Path libDirectory)
      throws IOException {
    Path image = RootTree.writable(folder.root(), spec.image());
    Files.copy(libDirectory.resolve("guest"), folder.root().resolve(PROGRAM));
    Files.setPosixFilePermissions(
        folder.root().resolve(PROGRAM), PosixFilePermissions.fromString("rwx--x--x"));
    var options = new ArrayList<>(List.of("--bind", OWN + "=" + folder.root()));
    options.addAll(List.of("--lower", image.toString()));
    if (preloads) {
      Path first = Preload.over(image, folder.path(), libDirectory);
      options.addAll(List.of("--first", first.toString()));
    }
    return new Stage(List.of(), options);
  }
}
