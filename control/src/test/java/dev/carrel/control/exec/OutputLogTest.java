package dev.carrel.control.exec;

import static org.assertj.core.api.Assertions.assertThat;

import dev.carrel.spi.ExecEvent.Channel;
import dev.carrel.spi.ExecEvent.Output;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class OutputLogTest {
  private static final int MIB = 1 << 20;

  @TempDir Path folder;

  private final Random random = new Random(3);
  private final ByteArrayOutputStream stdout = new ByteArrayOutputStream();
  private final ByteArrayOutputStream stderr = new ByteArrayOutputStream();

  @Test
  void smallOutputNeedsNoFile() throws InterruptedException {
    OutputLog log = log(MIB);
    fill(log, 1000);
    byte[] records = Objects.requireNonNull(log.keep());

    assertThat(folder).isEmptyDirectory();
    assertSame(log, 1000);
    assertSame(OutputLog.ofRecords(file(), records), 1000);
  }

  @Test
  void longOutputIsReadableWhileItGrowsAndAfterwards() throws Exception {
    OutputLog log = log(10 * MIB);
    fill(log, 500_000);
    assertSame(log, 500_000);
    fill(log, 500_000);
    assertThat(log.keep()).isNull();
    log.finish();

    assertSame(log, 1_000_000);
    assertSame(OutputLog.ofFile(file()), 1_000_000);
    assertThat(log.lossy()).isFalse();
    assertThat(Files.getPosixFilePermissions(file())).hasSize(2);
  }

  @Test
  void tinyAlternatingWritesStayWithinTheLimit() throws Exception {
    OutputLog log = log(MIB);
    for (int i = 0; i < 1_000_000; i++) {
      log.append(i % 2 == 0 ? Channel.STDOUT : Channel.STDERR, ByteBuffer.wrap(new byte[] {1}));
    }
    log.keep();
    log.finish();

    assertThat(Files.size(file())).isLessThan(MIB + 2L * MIB);
    assertThat(log.lossy()).isTrue();
    assertThat(total(log)).isEqualTo(1_000_000);
  }

  @Test
  void aPageOfTinyPiecesIsSmall() throws Exception {
    OutputLog log = log(MIB);
    for (int i = 0; i < 100_000; i++) {
      log.append(i % 2 == 0 ? Channel.STDOUT : Channel.STDERR, ByteBuffer.wrap(new byte[] {1}));
    }

    ExecOutput page = Execs.page(log, 0, MIB);

    assertThat(page.chunks()).hasSizeBetween(1000, 20_000);
    assertThat(page.next()).isEqualTo(page.chunks().size());
    assertThat(page.end()).isEqualTo(100_000);
  }

  @Test
  void pastTheLimitTheBeginningAndTheEndAreKept() throws Exception {
    OutputLog log = log(MIB);
    byte[] first = bytes(100_000);
    log.append(Channel.STDOUT, ByteBuffer.wrap(first));
    for (int i = 0; i < 100; i++) {
      log.append(Channel.STDOUT, ByteBuffer.wrap(bytes(64 * 1024)));
    }
    byte[] last = bytes(100_000);
    log.append(Channel.STDERR, ByteBuffer.wrap(last));
    log.keep();
    log.finish();
    long end = 200_000 + 100L * 64 * 1024;

    for (OutputLog each : new OutputLog[] {log, OutputLog.ofFile(file())}) {
      assertThat(each.end()).isEqualTo(end);
      assertThat(read(each, 0, 100_000)).isEqualTo(first);
      assertThat(read(each, end - 100_000, end)).isEqualTo(last);
      assertThat(total(each)).isEqualTo(end);
    }
  }

  @Test
  void aPinnedReaderHoldsTheWriterAndLosesNothing() throws Exception {
    readPinned(log(0));
  }

  @Test
  void anotherProcessGoesOnWhereTheFileEnds() throws Exception {
    OutputLog log = log(10 * MIB);
    fill(log, 300_000);
    // A crash: the last block is only in memory, and the last record torn.
    Files.write(file(), new byte[] {0, 0, 1, 0, 55}, StandardOpenOption.APPEND);
    OutputLog next = OutputLog.resume(file(), share(10 * MIB), _ -> true);
    long kept = next.end();

    assertThat(kept).isBetween(300_000L - 2 * OutputBlock.CAPACITY, 300_000L);
    next.gap(50);
    next.append(Channel.STDOUT, ByteBuffer.wrap(new byte[] {7}));
    next.keep();
    next.finish();
    OutputLog stored = OutputLog.ofFile(file());
    assertThat(stored.end()).isEqualTo(kept + 51);
    assertThat(stored.read(kept, 10).lost()).isEqualTo(50);
    assertThat(read(stored, kept + 50, kept + 51)).containsExactly(7);
  }

  @Test
  void aFileThatIsGoneIsALossAndNoFailure() throws Exception {
    OutputLog log = log(10 * MIB);
    fill(log, 300_000);
    log.keep();
    log.finish();
    Files.delete(file());

    assertThat(log.read(0, 1000).lost()).isPositive();
    assertThat(total(log)).isEqualTo(300_000);
  }

  @Test
  void whatWasKeptBeforeTheDiskWasFullIsReadAsItWas() throws Exception {
    var disk = new FullDisk(file(), 200_000);
    var log = new OutputLog(new OutputFile(file(), _ -> disk), share(10 * MIB), _ -> true);
    fill(log, 500_000);
    disk.free(MIB);
    log.keep();
    log.finish();

    assertSame(log, 500_000);
    assertSame(OutputLog.ofFile(file()), 500_000);
  }

  @Test
  void nothingFollowsABlockThatWasTornForGood() throws Exception {
    var disk = new FullDisk(file(), 200_000);
    disk.refuseToTruncate();
    var log = new OutputLog(new OutputFile(file(), _ -> disk), share(10 * MIB), _ -> true);
    fill(log, 500_000);
    disk.free(MIB);
    log.keep();
    log.finish();

    assertSame(log, 500_000);
    assertThat(log.lossy()).isTrue();
    assertThat(Files.size(file())).isEqualTo(200_000);
    OutputLog stored = OutputLog.ofFile(file());
    assertThat(stored.end()).isBetween(100_000L, 200_000L);
    assertThat(read(stored, 0, stored.end())).isEqualTo(read(log, 0, stored.end()));
  }

  @Test
  void withoutRoomInMemoryTheFileHasItAll() throws Exception {
    var log = new OutputLog(file(), share(10 * MIB), _ -> false);
    fill(log, MIB);
    assertSame(log, MIB);
    log.keep();
    log.finish();

    assertSame(log, MIB);
    assertSame(OutputLog.ofFile(file()), MIB);
    assertThat(log.lossy()).isFalse();
  }

  @Test
  void withoutRoomAnywhereTheEndIsKept() throws Exception {
    MemoryRoom.Share room = new MemoryRoom(20_000).share("acme");
    var log = new OutputLog(file(), share(0), room::take);
    byte[] all = bytes(MIB);
    for (int at = 0; at < MIB; at += 1024) {
      log.append(Channel.STDOUT, ByteBuffer.wrap(all, at, 1024));
    }
    log.finish();

    assertThat(log.lossy()).isTrue();
    assertThat(total(log)).isEqualTo(MIB);
    assertThat(read(log, MIB - 5000, MIB)).isEqualTo(Arrays.copyOfRange(all, MIB - 5000, MIB));
  }

  @Test
  void withoutRoomAnywhereAPinnedReaderHoldsTheWriter() throws Exception {
    var log = new OutputLog(file(), share(0), _ -> false);
    readPinned(log);
  }

  private void readPinned(OutputLog log) throws Exception {
    log.pin(0);
    Thread writer =
        Thread.ofVirtual()
            .start(
                () -> {
                  try {
                    fill(log, 5_000_000);
                    log.keep();
                    log.finish();
                  } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                  }
                });
    long at = 0;
    var out = new ByteArrayOutputStream();
    var err = new ByteArrayOutputStream();
    while (log.await(at, Long.MAX_VALUE)) {
      OutputLog.Piece piece = log.read(at, 10_000);
      assertThat(piece.lost()).isZero();
      piece.outputs().forEach(output -> add(output, out, err));
      at = piece.next();
      log.pin(at);
      if (piece.ended() && at == piece.end()) {
        break;
      }
    }
    writer.join();
    assertThat(out.toByteArray()).isEqualTo(stdout.toByteArray());
    assertThat(err.toByteArray()).isEqualTo(stderr.toByteArray());
  }

  private OutputLog log(long limit) {
    return new OutputLog(file(), share(limit), _ -> true);
  }

  private static SpillShare share(long limit) {
    return new SpillShare(new AtomicLong(Long.MAX_VALUE / 2), limit);
  }

  private Path file() {
    return folder.resolve("x.out");
  }

  private void fill(OutputLog log, int size) throws InterruptedException {
    for (int left = size; left > 0; ) {
      byte[] bytes = bytes(Math.min(left, 1 + random.nextInt(20_000)));
      boolean out = random.nextBoolean();
      (out ? stdout : stderr).writeBytes(bytes);
      log.append(out ? Channel.STDOUT : Channel.STDERR, ByteBuffer.wrap(bytes));
      left -= bytes.length;
    }
  }

  private byte[] bytes(int size) {
    byte[] bytes = new byte[size];
    random.nextBytes(bytes);
    return bytes;
  }

  private void assertSame(OutputLog log, long size) {
    var out = new ByteArrayOutputStream();
    var err = new ByteArrayOutputStream();
    assertThat(log.end()).isEqualTo(size);
    for (long at = 0; at < size; ) {
      OutputLog.Piece piece = log.read(at, 1 + random.nextInt(30_000));
      assertThat(piece.lost()).isZero();
      piece.outputs().forEach(output -> add(output, out, err));
      at = piece.next();
    }
    assertThat(out.toByteArray()).isEqualTo(stdout.toByteArray());
    assertThat(err.toByteArray()).isEqualTo(stderr.toByteArray());
  }

  private static void add(Output output, ByteArrayOutputStream out, ByteArrayOutputStream err) {
    byte[] bytes = new byte[output.bytes().remaining()];
    output.bytes().duplicate().get(bytes);
    (output.channel() == Channel.STDOUT ? out : err).writeBytes(bytes);
  }

  private static byte[] read(OutputLog log, long from, long to) throws IOException {
    var all = new ByteArrayOutputStream();
    for (long at = from; at < to; ) {
      OutputLog.Piece piece = log.read(at, (int) (to - at));
      if (piece.lost() > 0) {
        throw new IOException("lost " + piece.lost() + " at " + at);
      }
      piece.outputs().forEach(output -> add(output, all, all));
      at = piece.next();
    }
    return all.toByteArray();
  }

  /** Bytes and losses together. */
  private static long total(OutputLog log) {
    long total = 0;
    for (long at = 0; at < log.end(); ) {
      OutputLog.Piece piece = log.read(at, OutputBlock.CAPACITY);
      total += piece.lost();
      for (Output output : piece.outputs()) {
        total += output.bytes().remaining();
      }
      assertThat(piece.next()).isGreaterThan(at);
      at = piece.next();
    }
    return total;
  }
}
