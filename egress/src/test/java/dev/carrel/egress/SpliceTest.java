package dev.carrel.egress;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.egress.ProxyFixture.Client;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What passes unseen: the same bytes, counts and ends as with copies, and nothing left behind. */
@Timeout(120)
final class SpliceTest {
  private static final int MUCH = 16 << 20;

  private final ServerSocketChannel listener = ServerSocketChannel.open();
  private ProxyFixture fixture;
  private Pipes pipes;
  private long before;

  SpliceTest() throws IOException {}

  @BeforeEach
  void open() throws IOException {
    listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    before = descriptors();
    use(Pipes.open());
  }

  @AfterEach
  void close() throws IOException {
    fixture.close();
    listener.close();
  }

  private void use(Pipes newPipes) throws IOException {
    if (fixture != null) {
      fixture.close();
    }
    pipes = newPipes;
    fixture = new ProxyFixture(settings -> settings, pipes);
    fixture.gate().policy(allowed());
  }

  private Policy allowed() {
    return Policy.NOTHING.withAllow(
        List.of(Rule.parse(ProxyFixture.ECHO + ":" + listener.socket().getLocalPort())));
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void bytesArriveInWhateverPiecesTheyAreSentAndRead(boolean unseen) throws Exception {
    if (!unseen) {
      use(Pipes.none());
    }
    var random = new Random(11);
    long all = 0;
    for (int round = 0; round < 6; round++) {
      byte[] up = bytes(random, round);
      byte[] down = bytes(random, round + 1);
      try (Client client = tunnel();
          SocketChannel server = listener.accept()) {
        long seed = random.nextLong();
        var sent = async(() -> send(client.channel(), up, seed));
        var answered = async(() -> send(server, down, seed + 1));
        var heard = async(() -> read(server, seed + 2));
        assertThat(read(client.channel(), seed + 3)).as("round " + round).isEqualTo(down);
        assertThat(heard.get()).as("round " + round).isEqualTo(up);
        sent.get();
        answered.get();
      }
      all += up.length + down.length;
    }
    assertThat(fixture.gate().sent() + fixture.gate().received()).isEqualTo(all);
    assertThat(pipes.moved() > 0).isEqualTo(unseen);
    assertNothingIsLeft();
  }

  /** Whoever hears nothing more may still speak. */
  @Test
  void oneDirectionOutlivesTheOther() throws Exception {
    byte[] much = bytes(new Random(5), 0);
    try (Client client = tunnel();
        SocketChannel server = listener.accept()) {
      client.send(new byte[1]);
      client.endOutput();
      assertThat(read(server, 1)).hasSize(1);
      var sent = async(() -> send(server, much, 2));
      assertThat(read(client.channel(), 3)).isEqualTo(much);
      sent.get();
    }
    assertNothingIsLeft();
  }

  @Test
  void bodiesOfPlainHttpPassUnseen() throws Exception {
    String host = ProxyFixture.ECHO + ":" + listener.socket().getLocalPort();
    byte[] body = new byte[MUCH];
    new Random(8).nextBytes(body);
    try (Client client = fixture.connect()) {
      for (int i = 0; i < 2; i++) {
        client.send("GET http://%s/ HTTP/1.1\r\nHost: %s\r\n\r\n".formatted(host, host));
        try (var server = new Client(listener.accept())) {
          server.until("\r\n\r\n");
          // The answer after it must be the next one's, to the byte.
          server.send(
              "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n".formatted(MUCH));
          var sent = async(() -> send(server.channel(), body, 4));
          assertThat(client.until("\r\n\r\n")).startsWith("HTTP/1.1 200");
          assertThat(client.read(MUCH)).isEqualTo(body);
          sent.get();
        }
      }
    }
    assertThat(pipes.moved()).isPositive();
    assertNothingIsLeft();
  }

  @Test
  void budgetCutsInTheMiddle() throws Exception {
    int budget = 3_000_000;
    fixture.gate().policy(allowed().withBudget(budget, 0));
    try (Client client = tunnel();
        SocketChannel server = listener.accept()) {
      var sent = async(() -> sendUntilCut(server));
      assertThat(client.rest().length()).isBetween(1, budget);
      sent.get();
    }
    assertThat(fixture.gate().received()).isBetween((long) budget, (long) budget + Buffers.SIZE);
    assertThat(fixture.decisions.getLast().reason()).isEqualTo(Reason.BUDGET);
    // What was cut off is in a pipe: the next one must not get it.
    fixture.gate().policy(allowed());
    byte[] next = bytes(new Random(9), 0);
    try (Client client = tunnel();
        SocketChannel server = listener.accept()) {
      var sent = async(() -> send(server, next, 1));
      assertThat(read(client.channel(), 2)).isEqualTo(next);
      sent.get();
    }
    assertNothingIsLeft();
  }

  /** The client reads a while and then no more: the proxy waits for it, with a full pipe. */
  @Test
  void closingReachesWhoeverWaits() throws Exception {
    try (Client client = tunnel();
        SocketChannel server = listener.accept()) {
      var read = new CountDownLatch(1);
      var stalled = new CountDownLatch(1);
      var sent = async(() -> sendUntilStalled(server, read, stalled));
      client.read(MUCH);
      read.countDown();
      stalled.await();
      fixture.proxy().close(fixture.gate());
      client.rest();
      sent.get();
      assertThat(server.read(ByteBuffer.allocate(1))).isNegative();
    } catch (IOException reset) {
      // As good an end as any for a server whose words were thrown away.
      assertThat(reset).hasMessageContaining("reset");
    }
    assertNothingIsLeft();
  }

  /** Whoever waits in the kernel holds a thread that all others take turns on. */
  @Test
  @Timeout(25)
  void othersPassWhileManyWait() throws Exception {
    byte[] much = bytes(new Random(7), 0);
    var waiting = new ArrayList<AutoCloseable>();
    try {
      for (int i = 0; i < 8; i++) {
        waiting.add(tunnel());
        SocketChannel server = listener.accept();
        waiting.add(server);
        sendUntilStalled(server, new CountDownLatch(0), new CountDownLatch(1));
      }
      for (int i = 0; i < 3; i++) {
        try (Client client = tunnel();
            SocketChannel server = listener.accept()) {
          var sent = async(() -> send(server, much, 2));
          var got = async(() -> read(client.channel(), 3));
          assertThat(got.get()).isEqualTo(much);
          sent.get();
        }
      }
    } finally {
      for (AutoCloseable one : waiting) {
        one.close();
      }
    }
    assertNothingIsLeft();
  }

  @Test
  void withoutAWayToMoveBytesTheyAreCopied() throws Exception {
    use(
        Pipes.open(
            () -> {
              throw new LinkageError("there is no splice here");
            }));
    byte[] much = bytes(new Random(6), 0);
    try (Client client = tunnel();
        SocketChannel server = listener.accept()) {
      var sent = async(() -> send(server, much, 2));
      assertThat(read(client.channel(), 3)).isEqualTo(much);
      sent.get();
    }
    assertThat(pipes.take()).isNull();
    assertThat(pipes.moved()).isZero();
  }

  @Test
  void pipesAreBoundedAndLeaveNothing() {
    var taken = Stream.generate(pipes::take).takeWhile(pipe -> pipe != null).toList();
    assertThat(taken).hasSize(Pipes.MOST);
    taken.forEach(Pipes.Pipe::close);
    assertThat(pipes.take()).isIn(taken);
    pipes.close();
    assertThat(pipes.take()).isNull();
  }

  @Test
  void closedChannelHasNoDescriptor() throws IOException {
    SocketChannel closed;
    var state = Libc.state();
    try (SocketChannel channel = SocketChannel.open(listener.getLocalAddress())) {
      assertThat(Descriptor.of(channel, state)).as("it would wait").isNull();
      channel.configureBlocking(false);
      try (Descriptor descriptor = Descriptor.of(channel, state)) {
        assertThat(descriptor).isNotNull();
      }
      closed = channel;
    }
    assertThat(Descriptor.of(closed, state)).isNull();
  }

  private static byte[] bytes(Random random, int round) {
    byte[] bytes = new byte[round % 3 == 0 ? 1 << 22 : random.nextInt(1 << 20)];
    random.nextBytes(bytes);
    if (bytes.length > 0) {
      bytes[0] = 0; // no TLS
    }
    return bytes;
  }

  private static void send(SocketChannel to, byte[] bytes, long seed) throws IOException {
    var random = new Random(seed);
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    while (buffer.position() < bytes.length) {
      int most = random.nextInt(4) == 0 ? 1 + random.nextInt(100) : 1 + random.nextInt(600_000);
      buffer.limit(Math.min(bytes.length, buffer.position() + most));
      while (buffer.hasRemaining()) {
        to.write(buffer);
      }
    }
    to.shutdownOutput();
  }

  private static byte[] read(SocketChannel from, long seed) throws IOException {
    var random = new Random(seed);
    ByteBuffer all = ByteBuffer.allocate(MUCH);
    do {
      all.limit(Math.min(all.capacity(), all.position() + 1 + random.nextInt(300_000)));
    } while (from.read(all) >= 0);
    byte[] bytes = new byte[all.position()];
    all.flip().get(bytes);
    return bytes;
  }

  private static void sendUntilCut(SocketChannel to) {
    ByteBuffer piece = ByteBuffer.allocate(1 << 20);
    try {
      for (int i = 0; i < 64; i++) {
        while (piece.hasRemaining()) {
          to.write(piece);
        }
        piece.clear();
      }
    } catch (IOException cut) {
      assertThat(cut).isNotNull();
    }
  }

  /** Until nothing fits any more once the reader has stopped. */
  private static void sendUntilStalled(
      SocketChannel to, CountDownLatch read, CountDownLatch stalled) throws IOException {
    to.configureBlocking(false);
    ByteBuffer piece = ByteBuffer.allocate(1 << 20);
    long last = System.nanoTime();
    while (System.nanoTime() - last < Duration.ofMillis(300).toNanos()) {
      if (to.write(piece.clear()) > 0 || read.getCount() > 0) {
        last = System.nanoTime();
      }
      LockSupport.parkNanos(Duration.ofMillis(1).toNanos());
    }
    stalled.countDown();
    to.configureBlocking(true);
  }

  private interface Work {
    void run() throws IOException;
  }

  private interface Reading {
    byte[] run() throws IOException;
  }

  private static CompletableFuture<Void> async(Work work) {
    return async(
            () -> {
              work.run();
              return new byte[0];
            })
        .thenAccept(_ -> {});
  }

  private static CompletableFuture<byte[]> async(Reading reading) {
    var result = new CompletableFuture<byte[]>();
    Thread.startVirtualThread(
        () -> {
          try {
            result.complete(reading.run());
          } catch (IOException | RuntimeException | Error e) {
            result.completeExceptionally(e);
          }
        });
    return result.orTimeout(100, TimeUnit.SECONDS);
  }

  private Client tunnel() throws IOException {
    Client client = fixture.connect();
    String target = ProxyFixture.ECHO + ":" + listener.socket().getLocalPort();
    client.send("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n".formatted(target, target));
    assertThat(client.until("\r\n\r\n")).startsWith("HTTP/1.1 200");
    return client;
  }

  /** Sessions end by themselves soon after their connections. */
  private void assertNothingIsLeft() throws IOException {
    fixture.close();
    long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
    while (descriptors() > before && System.nanoTime() < deadline) {
      LockSupport.parkNanos(Duration.ofMillis(10).toNanos());
    }
    assertThat(descriptors()).isLessThanOrEqualTo(before);
    fixture = new ProxyFixture();
  }

  /** Pipes and sockets of this process. */
  private static long descriptors() throws IOException {
    long count = 0;
    try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
      for (Path descriptor : all.toList()) {
        try {
          String what = Files.readSymbolicLink(descriptor).toString();
          count += what.startsWith("pipe:") || what.startsWith("socket:") ? 1 : 0;
        } catch (NoSuchFileException gone) {
          count += 0; // the one that the listing itself was made through
        }
      }
    }
    return count;
  }
}
