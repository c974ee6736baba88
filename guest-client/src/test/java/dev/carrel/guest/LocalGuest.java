package dev.carrel.guest;

import java.io.File;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The real guest as a process of this host, without any isolation. */
final class LocalGuest implements AutoCloseable {
  private final Path folder;
  private final Process process;

  LocalGuest(@Nullable String token) throws IOException {
    folder = Files.createTempDirectory("guest-");
    Files.createDirectory(workspace());
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("carrel.lib", "")).resolve("guest").toString());
    command.addAll(List.of("init", "--socket", folder.resolve("s").toString()));
    command.addAll(List.of("--workspace", workspace().toString()));
    if (token != null) {
      Files.writeString(folder.resolve("token"), token);
      command.addAll(List.of("--token-file", folder.resolve("token").toString()));
    }
    process =
        new ProcessBuilder(command)
            .redirectInput(new File("/dev/null"))
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.INHERIT)
            .start();
    awaitListening();
  }

  Path workspace() {
    return folder.resolve("workspace");
  }

  Guest client() {
    return client(GuestSettings.DEFAULT);
  }

  Guest client(GuestSettings settings) {
    return new Guest(this::connect, settings);
  }

  private SocketChannel connect() throws IOException {
    return SocketChannel.open(UnixDomainSocketAddress.of(folder.resolve("s")));
  }

  private void awaitListening() throws IOException {
    long end = System.nanoTime() + Duration.ofSeconds(10).toNanos();
    while (true) {
      try (SocketChannel channel = connect()) {
        if (channel.isConnected()) {
          return;
        }
      } catch (IOException e) {
        if (!process.isAlive() || System.nanoTime() - end > 0) {
          throw e;
        }
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(1));
      }
    }
  }

  @Override
  public void close() throws IOException {
    process.destroy();
    process.onExit().join();
    try (Stream<Path> paths = Files.walk(folder)) {
      for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(path);
      }
    }
  }
}
