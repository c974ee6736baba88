package dev.carrel.control.context;

/** What a kernel says on its control channel. Everything in it is the word of untrusted code. */
sealed interface KernelEvent {
  record Ready(String language, String version, String flavour) implements KernelEvent {}

  record Result(int id, MimeBundle bundle) implements KernelEvent {}

  record Display(int id, MimeBundle bundle) implements KernelEvent {}

  record Failed(int id, CodeError error) implements KernelEvent {}

  record Done(int id, Status status) implements KernelEvent {}

  record Pong(int id) implements KernelEvent {}

  /** A frame that was not kept: too large, or of a kind that nobody asked for. */
  record Skipped(int type, long bytes) implements KernelEvent {}

  /** How a cell ended. */
  enum Status {
    OK,
    ERROR,
    INTERRUPTED
  }
}
