package dev.carrel.control.context;

import dev.carrel.spi.ExecEvent.Channel;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a cell's left-overs write while no cell runs, until the next one shows it: the beginning,
 * and no more than a bounded part of the heap, in however small pieces it comes.
 */
final class BetweenCells {
  /** Bytes. */
  static final int USUAL = 64 << 10;

  /** What the pipes of code that was sent ahead may hold before the greeting is read. */
  static final int EARLY = 256 << 10;

  // What a run of one channel costs beside its bytes.
  private static final int RUN_BYTES = 128;

  private final List<CodeEvent.Output> runs = new ArrayList<>();
  private final ByteArrayOutputStream last = new ByteArrayOutputStream();
  private @Nullable Channel channel;
  private int cost;

  void add(Channel from, ByteBuffer bytes, int max) {
    boolean another = from != channel;
    int more = bytes.remaining() + (another ? RUN_BYTES : 0);
    if (cost + more > max) {
      return;
    }
    cost += more;
    if (another) {
      endRun();
      channel = from;
    }
    byte[] copy = new byte[bytes.remaining()];
    bytes.duplicate().get(copy);
    last.writeBytes(copy);
  }

  /** All of it, once. */
  List<CodeEvent.Output> take() {
    endRun();
    var taken = List.copyOf(runs);
    runs.clear();
    cost = 0;
    return taken;
  }

  private void endRun() {
    if (channel != null) {
      runs.add(new CodeEvent.Output(channel, ByteBuffer.wrap(last.toByteArray())));
    }
    channel = null;
    last.reset();
  }
}
