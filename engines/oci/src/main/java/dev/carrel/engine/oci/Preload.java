package dev.carrel.engine.oci;

import dev.carrel.engine.host.Gvisor;
import dev.carrel.engine.host.RootTree;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Lets dynamically linked programs of a machine load the library that makes up for what an old
 * gVisor refuses; see {@code guest/preload/gvisor.c}.
 *
 * @param root the machine's tree, in which {@code /etc/ld.so.preload} names the library
 * @param etc the image's own folder where it has one: then the file lies over it on the stage
 * @param top the folder with that file alone
 */
record Preload(RootTree root, Optional<Path> etc, Path top) {
  /** The name on the stage of the folder that is covered. */
  static final String LAYER = "etc";

  private static final String FILE = "ld.so.preload";
  private static final int MAX_OWN = 4096;

  static Preload none(RootTree root) {
    return new Preload(root, Optional.empty(), Path.of(""));
  }

  /**
   * Puts the file into the tree.
   *
   * @param folder of the machine, for the file where the image has an /etc of its own
   */
  static Preload into(RootTree root, Path folder, Path libDirectory) throws IOException {
    requireLibrary(libDirectory);
    Optional<RootTree.Bind> etc =
        root.binds().stream().filter(bind -> bind.target().equals("/" + LAYER)).findFirst();
    if (etc.isEmpty()) {
      Path own = root.skeleton().resolve(LAYER);
      if (Files.notExists(own, LinkOption.NOFOLLOW_LINKS)) {
        Files.createDirectory(own);
      }
      if (Files.isDirectory(own, LinkOption.NOFOLLOW_LINKS)) {
        Files.writeString(own.resolve(FILE), RootTree.LIB + "/" + Gvisor.PRELOAD + "\n");
      }
      return none(root);
    }
    Path image = etc.get().source();
    Path top = Files.createDirectory(folder.resolve("preload"));
    Files.writeString(top.resolve(FILE), RootTree.LIB + "/" + Gvisor.PRELOAD + "\n" + ownOf(image));
    var staged = new RootTree.Bind(Bundle.STAGE.resolve(LAYER), "/" + LAYER);
    var binds = root.binds().stream().map(bind -> bind.equals(etc.get()) ? staged : bind).toList();
    return new Preload(new RootTree(root.skeleton(), binds), Optional.of(image), top);
  }

  /**
   * The same for an image that is written over: a folder to lie between it and what is written.
   *
   * @param folder of the machine
   */
  static Path over(Path image, Path folder, Path libDirectory) throws IOException {
    requireLibrary(libDirectory);
    Path top = Files.createDirectory(folder.resolve("preload"));
    Path etc = image.resolve(LAYER);
    if (Files.notExists(etc, LinkOption.NOFOLLOW_LINKS)
        || Files.isDirectory(etc, LinkOption.NOFOLLOW_LINKS)) {
      Path own = Files.createDirectory(top.resolve(LAYER));
      Files.writeString(own.resolve(FILE), RootTree.LIB + "/" + Gvisor.PRELOAD + "\n" + ownOf(etc));
    }
    return top;
  }

  private static void requireLibrary(Path libDirectory) {
    if (!Files.isReadable(libDirectory.resolve(Gvisor.PRELOAD))) {
      throw new SandboxException(
          ErrorCode.ENGINE_FAILED,
          "start, preload: this gVisor needs %s, which is not there; build the guest"
              .formatted(libDirectory.resolve(Gvisor.PRELOAD)));
    }
  }

  /** What the image itself wants to have loaded; no link of it is followed. */
  private static String ownOf(Path image) throws IOException {
    Path file = image.resolve(FILE);
    return Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS) && Files.size(file) <= MAX_OWN
        ? Files.readString(file, StandardCharsets.ISO_8859_1)
        : "";
  }
}
