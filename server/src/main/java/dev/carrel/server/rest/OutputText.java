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
  private final Map<ExecEvent.Channel, Stream> streams = new EnumMap<>(ExecEvent.Channel.class);
  private final List<ExecViews.Chunk> chunks = new ArrayList<>();
  private long next;

  /** One of the streams of a command, with where the character that it is within began. */
  private static final class Stream {
    private final Utf8Text text = new Utf8Text();
    private long cutAt;
    private int cutIn;
  }

  private OutputText(ExecOutput page) {
    this.page = page;
    this.next = page.next();
  }

  static OutputText of(ExecOutput page) {
    var text = new OutputText(page);
    text.read();
    if (page.running() || page.next() < page.end()) {
      text.endBeforeCut();
    }
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
      Stream stream = streams.computeIfAbsent(chunk.channel(), _ -> new Stream());
      int size = chunk.bytes().remaining();
      String data = stream.text.decode(chunk.bytes());
      int pending = stream.text.pending();
      // Else it began in a chunk before, and this one did not end it.
      if (pending <= size) {
        stream.cutAt = offset + size - pending;
        stream.cutIn = chunks.size();
      }
      chunks.add(new ExecViews.Chunk(ExecViews.wireName(chunk.channel()), offset, data));
      offset += size;
    }
  }

  /** One at the very start stays: without it, there might never be a next page. */
  private void endBeforeCut() {
    next =
        streams.values().stream()
            .filter(stream -> stream.text.pending() > 0 && stream.cutAt > page.from())
            .mapToLong(stream -> stream.cutAt)
            .min()
            .orElse(next);
    chunks.removeIf(chunk -> chunk.offset() >= next);
  }

  private void endStreams() {
    for (Stream stream : streams.values()) {
      if (stream.text.pending() > 0 && stream.cutAt < next) {
        ExecViews.Chunk cut = chunks.get(stream.cutIn);
        chunks.set(
            stream.cutIn,
            new ExecViews.Chunk(cut.channel(), cut.offset(), cut.data() + stream.text.end()));
      }
    }
  }
}
