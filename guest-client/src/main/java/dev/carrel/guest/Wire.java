package dev.carrel.guest;

/** Numbers of {@code spec/guest-protocol.md}: frame types, and the tags that more than one has. */
final class Wire {
  static final int HEADER = 5;
  static final int MAX_PAYLOAD = 1 << 20;
  static final int VERSION = 1;

  static final int PING = 0x01;
  static final int EXEC = 0x02;
  static final int ATTACH = 0x03;
  static final int LIST = 0x04;
  static final int FORGET = 0x05;
  static final int SIGNAL_EXEC = 0x06;
  static final int SHUTDOWN = 0x08;
  static final int STAT = 0x10;
  static final int READ = 0x11;
  static final int WRITE = 0x12;
  static final int LIST_DIR = 0x13;
  static final int MKDIR = 0x14;
  static final int MOVE = 0x15;
  static final int COPY = 0x16;
  static final int REMOVE = 0x17;
  static final int GLOB = 0x18;
  static final int GREP = 0x19;
  static final int WATCH = 0x1A;
  static final int TUNNEL = 0x20;

  static final int DATA = 0x40;
  static final int DATA_END = 0x41;
  static final int RESIZE = 0x43;
  static final int CONTROL = 0x44;
  static final int DETACH = 0x45;

  static final int OK = 0x80;
  static final int ERROR = 0x81;
  static final int STARTED = 0x82;
  static final int STDOUT = 0x83;
  static final int STDERR = 0x84;
  static final int EXITED = 0x85;
  static final int CHANGE = 0x86;
  static final int CONTROL_OUT = 0x87;
  static final int ENTRY = 0x88;
  static final int MATCH = 0x89;
  static final int DATA_OUT = 0x8A;
  static final int EVENT = 0x8B;
  static final int EXEC_INFO = 0x8C;
  static final int GAP = 0x8D;

  static final int TAG_TOKEN = 2;
  static final int TAG_ROOT = 3;
  static final int TAG_ATTRIBUTES = 4;
  static final int TAG_ROWS = 17;
  static final int TAG_COLUMNS = 18;
  static final int TAG_TRUNCATED = 20;
  static final int TAG_UNREADABLE = 24;
  static final int TAG_CODE = 30;
  static final int TAG_SIGNAL = 31;
  static final int TAG_TIMED_OUT = 32;
  static final int TAG_DURATION = 34;
  static final int TAG_PATH = 50;

  private Wire() {}
}
