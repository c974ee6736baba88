package dev.carrel.egress;

/** How the body of a message ends. */
sealed interface Framing {
  record None() implements Framing {}

  record Length(long bytes) implements Framing {}

  record Chunked() implements Framing {}

  /** Only an answer can have this. */
  record UntilClose() implements Framing {}

  /** Whether there is a body. */
  default boolean hasBody() {
    return switch (this) {
      case None _ -> false;
      case Length(long bytes) -> bytes > 0;
      case Chunked _, UntilClose _ -> true;
    };
  }

  /** The field that says so, with its line's end; empty when none does. */
  default String field() {
    return switch (this) {
      case None _, UntilClose _ -> "";
      case Length(long bytes) -> "Content-Length: " + bytes + "\r\n";
      case Chunked _ -> "Transfer-Encoding: chunked\r\n";
    };
  }
}
