package dev.carrel.image;

import dev.carrel.spi.Language;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Which languages' interpreters a root has, as a sandbox on it would find them. */
public final class Interpreters {
  private static final List<String> PATH =
      List.of("usr/local/bin", "usr/bin", "bin", "usr/local/sbin", "usr/sbin", "sbin");

  private Interpreters() {}

  /** Looks; nothing in the root is run. */
  public static Set<Language> in(Path root) throws IOException {
    var found = EnumSet.noneOf(Language.class);
    for (Language language : Language.values()) {
      if (has(root, program(language))) {
        found.add(language);
      }
    }
    return found;
  }

  private static String program(Language language) {
    return switch (language) {
      case PYTHON -> "python3";
      case NODE -> "node";
      case R -> "R";
      case BASH -> "bash";
    };
  }

  private static boolean has(Path root, String program) throws IOException {
    for (String folder : PATH) {
      Optional<Path> file = InRoot.resolve(root, folder + "/" + program);
      if (file.isPresent()
          && Files.isRegularFile(file.get(), LinkOption.NOFOLLOW_LINKS)
          && Files.getPosixFilePermissions(file.get(), LinkOption.NOFOLLOW_LINKS)
              .contains(PosixFilePermission.OTHERS_EXECUTE)) {
        return true;
      }
    }
    return false;
  }
}
