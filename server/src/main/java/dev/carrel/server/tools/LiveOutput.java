package dev.carrel.server.tools;

import dev.carrel.server.http.Utf8Text;
import dev.carrel.server.mcp.Call;
import dev.carrel.server.mcp.LogLevel;
import dev.carrel.spi.ExecEvent.Channel;
import dev.carrel.spi.Text;
import java.nio.ByteBuffer;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;

/** Tells a client what a program writes while it runs, if the client wants to know. */
final class LiveOutput {
  private static final int LONGEST = 8192;

  private final Call call;
  private final Map<Channel, Utf8Text> texts = new EnumMap<>(Channel.class);
  private long told;

  LiveOutput(Call call) {
    this.call = call;
  }

  /** Whether anybody would see it. */
  boolean wanted() {
    return call.wantsProgress() || call.wantsLog(LogLevel.INFO);
  }

  void wrote(Channel channel, ByteBuffer piece) {
    String text = texts.computeIfAbsent(channel, _ -> new Utf8Text()).decode(piece);
    for (int at = 0; at < text.length(); ) {
      int end = Text.cut(text, at + LONGEST);
      String part = text.substring(at, end);
      at = end;
      told += part.length();
      call.progress((double) told, null, part);
      call.log(LogLevel.INFO, channel.name().toLowerCase(Locale.ROOT), part);
    }
  }
}
