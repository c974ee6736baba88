package dev.carrel.engine.namespaces;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** One message of the spawn protocol: a type and fields. */
record Frame(int type, List<Field> fields) {
  static final int HEADER = 5;
  static final int MAX_PAYLOAD = 1 << 20;

  record Field(int tag, ByteBuffer value) {}

  static final int HELLO = 0x60;
  static final int PROBE = 0x61;
  static final int CREATE = 0x62;
  static final int DESTROY = 0x63;
  static final int LIST = 0x64;
  static final int STATUS = 0x65;
  static final int LEAVE = 0x66;
  static final int PAUSE = 0x67;
  static final int RESUME = 0x68;
  static final int LIMIT = 0x69;
  static final int VOLUME_COPY = 0x6A;
  static final int VOLUME_REMOVE = 0x6B;
  static final int VOLUMES = 0x6C;
  static final int FORK = 0x70;

  static final int OK = 0xE0;
  static final int SANDBOX = 0xE1;
  static final int PROBED = 0xE2;
  static final int STATUS_IS = 0xE3;
  static final int VOLUME_IS = 0xE4;
  static final int FAILED = 0xEF;

  static final int ID = 10;
  static final int IMAGE = 11;
  static final int MEMORY = 12;
  static final int CPU = 13;
  static final int PIDS = 14;
  static final int DISK = 15;
  static final int NOFILE = 16;
  static final int EGRESS = 17;
  static final int ALLOW_MISSING = 18;
  static final int IF_IDLE = 19;
  static final int VERSION = 20;
  static final int BUILD = 21;
  static final int PID = 22;
  static final int RUNNING = 23;
  static final int EXIT_CODE = 24;
  static final int SIGNAL = 25;
  static final int OOM_KILLS = 26;
  static final int VOLUME = 31;
  static final int TARGET = 32;
  static final int ON_DISK = 33;
  static final int PAUSED = 34;
  static final int ISOLATED = 35;
  static final int DISCARD = 36;

  /** The number of {@link #DISCARD}, too, which no answer has, as no request has this. */
  static final int FORKED = 36;

  static final int OVERLAY = 37;
  static final int CGROUP = 40;
  static final int MEASURE = 41;
  static final int STEP = 50;
  static final int MESSAGE = 52;
  static final int KIND = 53;
  static final int EXEC = 60;
  static final int PRELOAD = 61;
  static final int VARIABLE = 62;
  static final int DIRECTORY = 63;

  static Frame of(int type) {
    return new Frame(type, new ArrayList<>());
  }

  Frame with(int tag, String value) {
    fields.add(new Field(tag, StandardCharsets.UTF_8.encode(value)));
    return this;
  }

  Frame with(int tag, long value) {
    fields.add(new Field(tag, littleEndian(Long.BYTES).putLong(value).flip()));
    return this;
  }

  ByteBuffer encode() {
    int length = fields.stream().mapToInt(field -> HEADER + field.value().remaining()).sum();
    ByteBuffer bytes = littleEndian(HEADER + length).putInt(length).put((byte) type);
    for (Field field : fields) {
      ByteBuffer value = field.value().duplicate();
      bytes.put((byte) field.tag()).putInt(value.remaining()).put(value);
    }
    return bytes.flip();
  }

  private static ByteBuffer littleEndian(int size) {
    return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
  }

  /** Reads the fields of a payload; every length is checked against what is there. */
  static Frame decode(int type, ByteBuffer payload) throws IOException {
    payload.order(ByteOrder.LITTLE_ENDIAN);
    Frame frame = of(type);
    while (payload.hasRemaining()) {
      if (payload.remaining() < HEADER) {
        throw new IOException("a field is cut off");
      }
      int tag = payload.get() & 0xFF;
      int length = payload.getInt();
      if (length < 0 || length > payload.remaining()) {
        throw new IOException("a field is longer than its frame");
      }
      frame.fields.add(new Field(tag, payload.slice(payload.position(), length)));
      payload.position(payload.position() + length);
    }
    return frame;
  }

  String text(int tag) {
    return texts(tag).stream().findFirst().orElse("");
  }

  List<String> texts(int tag) {
    return fields.stream()
        .filter(field -> field.tag() == tag)
        .map(field -> StandardCharsets.UTF_8.decode(field.value().duplicate()).toString())
        .toList();
  }

  long number(int tag) throws IOException {
    return findNumber(tag).orElseThrow(() -> new IOException("field " + tag + " is missing"));
  }

  Optional<Long> findNumber(int tag) {
    return fields.stream()
        .filter(field -> field.tag() == tag && field.value().remaining() == Long.BYTES)
        .map(field -> field.value().duplicate().order(ByteOrder.LITTLE_ENDIAN).getLong())
        .findFirst();
  }
}
