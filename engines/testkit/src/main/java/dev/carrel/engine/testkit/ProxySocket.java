package dev.carrel.engine.testkit;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;

/** A proxy's socket as machines expect it: alone in its folder, both open to all ids. */
record ProxySocket(ServerSocketChannel channel, Path path) implements AutoCloseable {
  /** Binds it, anew when it is there already. */
  static ProxySocket bind(Path folder) throws IOException {
    Files.createDirectories(folder);
    Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwx--x--x"));
    Path path = folder.resolve("egress.sock");
    Files.deleteIfExists(path);
    var channel = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    channel.bind(UnixDomainSocketAddress.of(path));
    Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-rw-rw-"));
    return new ProxySocket(channel, path);
  }

  SocketChannel accept() throws IOException {
    return channel.accept();
  }

  /** Leaves what a server that was killed leaves. */
  @Override
  public void close() throws IOException {
    channel.close();
  }
}
