package dev.carrel.control.transfer;

import dev.carrel.control.files.SandboxPath;
import dev.carrel.control.sandbox.RunningSandbox;
import dev.carrel.guest.FileUpload;
import dev.carrel.guest.FileWrite;
import dev.carrel.guest.GuestFiles;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.io.InputStream;
import java.util.HashSet;
import java.util.Set;

/** Files that arrive in a sandbox, below one place of it. For one thread and one import. */
final class Landing {
  private static final int BUFFER = 64 * 1024;
  private static final int PLAIN = 0644;
  private static final int EXECUTABLE = 0755;

  private final RunningSandbox sandbox;
  private final GuestFiles guest;
  private final TransferSettings settings;
  private final String target;
  private final Set<String> folders = new HashSet<>();
  private long files;
  private long bytes;

  Landing(RunningSandbox sandbox, TransferSettings settings, String target) {
    this.sandbox = sandbox;
    this.guest = sandbox.guest().files();
    this.settings = settings;
    this.target = target;
  }

  long files() {
    return files;
  }

  long bytes() {
    return bytes;
  }

  /**
   * @param name below the target; empty: that itself
   */
  void folder(String name) {
    if (folders.size() >= settings.maxFiles()) {
      throw tooMany();
    }
    String path = path(name);
    if (folders.add(path) && !path.equals(".")) {
      guest.mkdir(path);
    }
  }

  void file(String name, boolean executable, InputStream content) throws IOException {
    if (++files > settings.maxFiles()) {
      throw tooMany();
    }
    FileWrite write =
        FileWrite.to(path(name)).withMode(executable ? EXECUTABLE : PLAIN).withParents(true);
    try (FileUpload upload = guest.write(write)) {
      byte[] buffer = new byte[BUFFER];
      for (int count = content.read(buffer); count >= 0; count = content.read(buffer)) {
        bytes += count;
        if (bytes > settings.maxSize().bytes()) {
          throw new SandboxException(
                  ErrorCode.TOO_LARGE, "it has more than " + settings.maxSize().bytes() + " bytes")
              .withHint("bring it in smaller parts, or raise import.max-size");
        }
        upload.write(buffer, 0, count);
        sandbox.countUpload(count);
      }
      upload.commit();
    }
  }

  private String path(String name) {
    String whole = name.isEmpty() ? target : target + "/" + name;
    return SandboxPath.of("destination", whole).inside();
  }

  private SandboxException tooMany() {
    return new SandboxException(
            ErrorCode.TOO_LARGE, "it has more than " + settings.maxFiles() + " files")
        .withHint("bring it in smaller parts, or raise import.max-files");
  }
}
