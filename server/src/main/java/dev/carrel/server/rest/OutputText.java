package dev.carrel.server.rest;

import dev.carrel.control.exec.ExecOutput;
import dev.carrel.server.http.Utf8Text;
import dev.carrel.spi.ExecEvent;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * A page of output as text. A character that the page cuts comes whole with the next one, which
 * then begins with it: the page ends before it, whatever the other stream said after that.
 */
final class OutputText {
  private final ExecOutput page;
  private final long next;
  // The last place that is within no character of any stream.
  private long whole;
  private final Map<ExecEvent.Channel, Stream> streams = new EnumMap<>(ExecEvent.Channel.class);
  private final List<ExecViews.Chunk> chunks = new ArrayList<>();

  /** One of the streams of a command, with where the character that it is within began. */
  private static final class Stream {
    private final Utf8Text text = new Utf8Text();
    private long cutAt;
    private int cutIn;
  }

  private OutputText(ExecOutput page, long next) {
    this.page = page;
    this.next = next;
    this.whole = page.from();
    read();
  }

  static OutputText of(ExecOutput page) {
    var whole = new OutputText(page, page.next());
    boolean more = page.running() || page.next() < page.end();
    OutputText text = more ? whole.endedBeforeCut() : whole;
    text.endStreams();
    return text;
  }

  List<ExecViews.Chunk> chunks() {
    return chunks;
  }

  /** The offset to ask for next. */
  long next() {
    return next;
  }

  private void read() {
    long offset = page.from();
    for (ExecEvent.Output chunk : page.chunks()) {
      if (offset >= next) {
        return;
      }
      Stream stream = streams.computeIfAbsent(chunk.channel(), _ -> new Stream());
      int size = (int) Math.min(chunk.bytes().remaining(), next - offset);
      String data = stream.text.decode(chunk.bytes().slice(chunk.bytes().position(), size));
      int pending = stream.text.pending();
      // Else it began in a chunk before, and this one did not end it.
      if (pending <= size) {
        stream.cutAt = offset + size - pending;
        stream.cutIn = chunks.size();
        if (streams.values().stream().noneMatch(other -> other != stream && isCut(other))) {
          whole = isCut(stream) ? stream.cutAt : offset + size;
        }
      }
      chunks.add(new ExecViews.Chunk(ExecViews.wireName(chunk.channel()), offset, data));
      offset += size;
    }
  }

  /** To end before one character may be to end within one of the other stream. */
  private OutputText endedBeforeCut() {
    OutputText text = whole < next ? new OutputText(page, whole) : this;
    // One at the very start stays: without it, there might never be a next page. If only what was
    // left out ends it, one of the two is cut in any case.
    return text.isCutAtStart() && !isCutAtStart() ? this : text;
  }

  private boolean isCut(Stream stream) {
    return stream.text.pending() > 0 && stream.cutAt > page.from();
  }

  private boolean isCutAtStart() {
    return streams.values().stream()
        .anyMatch(stream -> stream.text.pending() > 0 && stream.cutAt == page.from());
  }

  private void endStreams() {
    for (Stream stream : streams.values()) {
      if (stream.text.pending() > 0) {
        ExecViews.Chunk cut = chunks.get(stream.cutIn);
        chunks.set(
            stream.cutIn,
            new ExecViews.Chunk(cut.channel(), cut.offset(), cut.data() + stream.text.end()));
      }
    }
  }
}
