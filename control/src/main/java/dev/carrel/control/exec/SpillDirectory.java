package dev.carrel.control.exec;

import dev.carrel.spi.ExecId;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Where the output of execs is when it is too long for memory: a folder for each sandbox. */
final class SpillDirectory {
  private static final Logger LOG = LoggerFactory.getLogger(SpillDirectory.class);

  private static final Pattern NAME = Pattern.compile("sb[a-z2-7]{14}");

  private final Path directory;

  SpillDirectory(Path directory) {
    this.directory = directory;
  }

  Path file(SandboxId sandbox, ExecId exec) {
    return folder(sandbox).resolve(exec.value() + ".out");
  }

  /** The output of an ended exec; empty when nothing of it is left. */
  OutputLog open(Exec exec, Optional<byte[]> records) {
    Path path = file(exec.sandbox(), exec.id());
    if (records.isPresent()) {
      return OutputLog.ofRecords(path, records.get());
    }
    try {
      return OutputLog.ofFile(path);
    } catch (IOException e) {
      LOG.debug("the output of exec {} is gone: {}", exec.id(), e.toString());
      return OutputLog.ofRecords(path, new byte[0]);
    }
  }

  /** Zero when there is none. */
  long size(SandboxId sandbox, ExecId exec) {
    return file(sandbox, exec).toFile().length();
  }

  void remove(SandboxId sandbox, ExecId exec) {
    delete(file(sandbox, exec));
  }

  void remove(SandboxId sandbox) {
    Path folder = folder(sandbox);
    if (!Files.exists(folder)) {
      return;
    }
    List<Path> files;
    try (Stream<Path> found = Files.list(folder)) {
      files = found.toList();
    } catch (IOException e) {
      LOG.warn("{} could not be listed: {}", folder, e.toString());
      return;
    }
    files.forEach(SpillDirectory::delete);
    delete(folder);
  }

  /** The sandboxes that have a folder here. */
  List<SandboxId> sandboxes() {
    try (Stream<Path> found = Files.list(directory)) {
      return found
          .map(path -> String.valueOf(path.getFileName()))
          .filter(name -> NAME.matcher(name).matches())
          .map(SandboxId::new)
          .toList();
    } catch (NoSuchFileException e) {
      return List.of();
    } catch (IOException e) {
      LOG.warn("{} could not be listed: {}", directory, e.toString());
      return List.of();
    }
  }

  private static void delete(Path path) {
    try {
      Files.deleteIfExists(path);
    } catch (IOException e) {
      LOG.warn("{} could not be removed: {}", path, e.toString());
    }
  }

  private Path folder(SandboxId sandbox) {
    return directory.resolve(sandbox.value());
  }
}
