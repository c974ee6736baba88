package dev.carrel.e2e.chaos;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** A file system that is small enough to be filled. */
final class SmallDisk {
  private SmallDisk() {}

  static void mount(Path folder) throws IOException, InterruptedException {
    run("mount", "-t", "tmpfs", "-o", "size=192m,mode=700", "carrel-chaos", folder.toString());
  }

  static void unmount(Path folder) throws IOException, InterruptedException {
    run("umount", folder.toString());
  }

  /** Takes all space that is left, into this file. */
  static void fill(Path filler) throws IOException {
    byte[] block = new byte[1 << 16];
    try (OutputStream out =
        Files.newOutputStream(filler, StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
      for (int size = block.length; size > 0; ) {
        try {
          out.write(block, 0, size);
        } catch (IOException full) {
          size /= 2;
        }
      }
    }
  }

  /** Lets no further file be made there. */
  static void leaveNoFiles(Path folder) throws IOException, InterruptedException {
    String used = run("df", "--output=iused", folder.toString()).lines().toList().getLast();
    run("mount", "-o", "remount,nr_inodes=" + used.strip(), folder.toString());
  }

  static void leaveFiles(Path folder) throws IOException, InterruptedException {
    run("mount", "-o", "remount,nr_inodes=100000", folder.toString());
  }

  private static String run(String... command) throws IOException, InterruptedException {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(String.join(" ", command) + ": " + said).isZero();
    return said;
  }
}
