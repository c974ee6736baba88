package dev.carrel.engine.namespaces;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIOException;

import dev.carrel.spi.EngineSettings;
import java.io.EOFException;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Against one that answers at once, but never to what may take long. */
@Timeout(60)
final class SpawnServerTest {
  private static final int MANY = 100;

  @TempDir Path folder;

  private final Semaphore begun = new Semaphore(0);
  private ServerSocketChannel listener;
  private SpawnServer server;

  @BeforeEach
  void listen() throws IOException {
    Path lib = Files.createDirectory(folder.resolve("lib"));
    Files.writeString(lib.resolve("guest"), "not a program");
    server =
        new SpawnServer(
            new EngineSettings(folder, folder.resolve("volumes"), lib, Set.of()),
            Duration.ofSeconds(2));
    listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    listener.bind(UnixDomainSocketAddress.of(folder.resolve("spawn.sock")), MANY);
    Thread.ofVirtual().start(this::accept);
  }

  @AfterEach
  void leave() throws IOException {
    listener.close();
  }

  @ParameterizedTest
  @ValueSource(ints = {Frame.VOLUME_COPY, Frame.LIMIT})
  void longRequestsLeaveSlotsToTheOthers(int kind) throws Exception {
    var threads = Executors.newVirtualThreadPerTaskExecutor();
    try {
      for (int i = 0; i < MANY; i++) {
        threads.execute(() -> ask(kind));
      }
      assertThat(begun.tryAcquire(SpawnServer.MAX_LONG, 30, TimeUnit.SECONDS)).isTrue();

      assertThat(server.ask(Frame.of(Frame.STATUS))).hasSize(1);
      assertThat(server.ask(Frame.of(Frame.DESTROY))).hasSize(1);
      assertThat(begun.tryAcquire(100, TimeUnit.MILLISECONDS)).as("one more of them").isFalse();
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void theTwoKindsDoNotWaitForEachOther() throws Exception {
    var threads = Executors.newVirtualThreadPerTaskExecutor();
    try {
      for (int i = 0; i < MANY; i++) {
        threads.execute(() -> ask(Frame.VOLUME_COPY));
      }
      assertThat(begun.tryAcquire(SpawnServer.MAX_LONG, 30, TimeUnit.SECONDS)).isTrue();
      threads.execute(() -> ask(Frame.LIMIT));

      assertThat(begun.tryAcquire(30, TimeUnit.SECONDS)).isTrue();
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void aChangeOfLimitsIsNotWaitedForLongerThanOthers() {
    assertThatIOException()
        .isThrownBy(() -> server.ask(Frame.of(Frame.LIMIT)))
        .withMessageContaining("no answer in 2000 ms");
  }

  @Test
  void aChangeOfLimitsIsNotMadeWhenItsCallerHasGone() throws Exception {
    var threads = Executors.newVirtualThreadPerTaskExecutor();
    try {
      for (int i = 0; i < SpawnServer.MAX_LONG; i++) {
        threads.execute(() -> ask(Frame.LIMIT));
      }
      assertThat(begun.tryAcquire(SpawnServer.MAX_LONG, 30, TimeUnit.SECONDS)).isTrue();

      assertThatIOException()
          .isThrownBy(() -> server.ask(Frame.of(Frame.LIMIT)))
          .withMessageContaining("none was done in 1000 ms");
    } finally {
      threads.shutdownNow();
    }
  }

  private void ask(int kind) {
    try {
      server.ask(Frame.of(kind));
    } catch (IOException e) {
      return; // interrupted, as the test is over
    }
  }

  private void accept() {
    try {
      while (true) {
        SocketChannel channel = listener.accept();
        Thread.ofVirtual().start(() -> serve(channel));
      }
    } catch (IOException e) {
      return; // the test is over
    }
  }

  private void serve(SocketChannel channel) {
    try (channel) {
      while (true) {
        ByteBuffer header = read(channel, Frame.HEADER).order(ByteOrder.LITTLE_ENDIAN);
        int length = header.getInt();
        int type = header.get();
        read(channel, length);
        if (type == Frame.VOLUME_COPY || type == Frame.LIMIT) {
          begun.release();
          continue;
        }
        ByteBuffer answer = Frame.of(Frame.OK).with(Frame.BUILD, server.build()).encode();
        while (answer.hasRemaining()) {
          channel.write(answer);
        }
      }
    } catch (IOException e) {
      return; // it hung up
    }
  }

  private static ByteBuffer read(SocketChannel channel, int length) throws IOException {
    ByteBuffer buffer = ByteBuffer.allocate(length);
    while (buffer.hasRemaining()) {
      if (channel.read(buffer) < 0) {
        throw new EOFException();
      }
    }
    return buffer.flip();
  }
}
