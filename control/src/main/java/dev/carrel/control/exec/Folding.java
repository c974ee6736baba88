package dev.carrel.control.exec;

import dev.carrel.control.artifact.Signed;
import dev.carrel.spi.ExecEvent;
import dev.carrel.spi.ExecEvent.Channel;
import java.util.Objects;

/** Makes one answer of an exec that has ended. */
final class Folding {
  private Folding() {}

  static ExecResult result(
      Exec exec, CapturedText stdout, CapturedText stderr, boolean spillTruncated, Signed signed) {
    ExecEvent.Exited exited = Objects.requireNonNull(exec.exited());
    return new ExecResult(
        exec.id(),
        exited.code(),
        exited.signal(),
        stdout,
        stderr,
        exec.queued(),
        exited.duration(),
        exited.cause() == ExecEvent.Cause.TIMED_OUT,
        exited.cause(),
        Causes.hint(exited.cause(), exited.signal()),
        exited.message(),
        exec.outputEnd(),
        spillTruncated,
        exited.changes(),
        exited.changesTruncated(),
        signed);
  }

  /** From the log alone; of a truncated one, with what is left of it. */
  static ExecResult result(Exec exec, OutputLog log, ExecSettings settings, Signed signed) {
    var stdout = new HeadTail(settings.stdoutChars());
    var stderr = new HeadTail(settings.stderrChars());
    long lost = 0;
    for (long at = 0; at < exec.outputEnd(); ) {
      OutputLog.Piece piece = log.read(at, OutputBlock.CAPACITY);
      lost += piece.lost();
      stdout.skip(piece.lost());
      for (ExecEvent.Output output : piece.outputs()) {
        (output.channel() == Channel.STDOUT ? stdout : stderr).add(output.bytes());
      }
      if (piece.next() <= at) {
        break;
      }
      at = piece.next();
    }
    return result(exec, stdout.text(), stderr.text(), lost > 0, signed);
  }
}
