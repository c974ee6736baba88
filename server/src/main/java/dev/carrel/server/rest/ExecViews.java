package dev.carrel.server.rest;

import dev.carrel.control.exec.Exec;
import dev.carrel.control.exec.ExecResult;
import dev.carrel.spi.ExecEvent;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Execs on the wire. */
final class ExecViews {
  private ExecViews() {}

  static double millis(Duration duration) {
    return duration.toNanos() / 1e6;
  }

  static String wireName(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }

  record Result(
      String id,
      int exitCode,
      @Nullable Integer signal,
      String cause,
      boolean timedOut,
      String stdout,
      String stderr,
      long stdoutBytes,
      long stderrBytes,
      boolean stdoutTruncated,
      boolean stderrTruncated,
      long outputBytes,
      double queuedMs,
      double durationMs,
      List<FileChange> filesChanged,
      boolean filesChangedTruncated,
      List<ArtifactRoutes.View> artifacts,
      List<ArtifactRoutes.SkippedView> artifactsSkipped,
      boolean artifactsTruncated,
      @Nullable String message,
      @Nullable String hint) {
    static Result of(ExecResult result) {
      return new Result(
          result.id().value(),
          result.exitCode(),
          result.signal(),
          wireName(result.cause()),
          result.timedOut(),
          result.stdout().text(),
          result.stderr().text(),
          result.stdout().totalBytes(),
          result.stderr().totalBytes(),
          result.stdout().truncated(),
          result.stderr().truncated(),
          result.outputEnd(),
          millis(result.queued()),
          millis(result.duration()),
          FileChange.of(result.filesChanged()),
          result.filesChangedTruncated(),
          ArtifactRoutes.View.of(result.signed().artifacts()),
          ArtifactRoutes.SkippedView.of(result.signed().skipped()),
          result.signed().truncated(),
          result.message(),
          result.hint());
    }
  }

  record FileChange(String path, String action, long sizeBytes, String type) {
    static List<FileChange> of(List<dev.carrel.spi.FileChange> changes) {
      return changes.stream()
          .map(
              change ->
                  new FileChange(
                      change.path(),
                      wireName(change.action()),
                      change.size(),
                      change.directory() ? "dir" : "file"))
          .toList();
    }
  }

  record ExecInfo(
      String id,
      String sandboxId,
      List<String> command,
      @Nullable String cwd,
      String status,
      boolean background,
      boolean terminal,
      long pid,
      String startedAt,
      @Nullable String endedAt,
      long outputBytes,
      @Nullable Integer exitCode,
      @Nullable Integer signal,
      @Nullable String cause,
      @Nullable Double durationMs) {
    static ExecInfo of(Exec exec) {
      ExecEvent.Exited exited = exec.exited();
      var endedAt = exec.endedAt();
      return new ExecInfo(
          exec.id().value(),
          exec.sandbox().value(),
          exec.arguments(),
          exec.cwd(),
          exited == null ? "running" : "exited",
          exec.background(),
          exec.terminal(),
          exec.pid(),
          exec.startedAt().toString(),
          endedAt == null ? null : endedAt.toString(),
          exec.outputEnd(),
          exited == null ? null : exited.code(),
          exited == null ? null : exited.signal(),
          exited == null ? null : wireName(exited.cause()),
          exited == null ? null : millis(exited.duration()));
    }
  }

  record ExecInfoList(List<ExecInfo> execs) {}

  record Started(String id, long pid, long offset) {}

  record Gap(long bytes) {}

  record Exited(
      String id,
      int exitCode,
      @Nullable Integer signal,
      String cause,
      boolean timedOut,
      long outputBytes,
      double queuedMs,
      double durationMs,
      double cpuMs,
      long maxRssBytes,
      int processesLeft,
      List<FileChange> filesChanged,
      boolean filesChangedTruncated,
      List<ArtifactRoutes.View> artifacts,
      List<ArtifactRoutes.SkippedView> artifactsSkipped,
      boolean artifactsTruncated,
      @Nullable String message,
      @Nullable String hint) {
    static Exited of(ExecEvent.Exited exited, ExecResult result) {
      return new Exited(
          result.id().value(),
          exited.code(),
          exited.signal(),
          wireName(result.cause()),
          result.timedOut(),
          result.outputEnd(),
          millis(result.queued()),
          millis(exited.duration()),
          millis(exited.cpu()),
          exited.maxRssBytes(),
          exited.left(),
          FileChange.of(exited.changes()),
          exited.changesTruncated(),
          ArtifactRoutes.View.of(result.signed().artifacts()),
          ArtifactRoutes.SkippedView.of(result.signed().skipped()),
          result.signed().truncated(),
          exited.message(),
          result.hint());
    }
  }

  record Output(
      long from,
      long nextOffset,
      long end,
      long lostBytes,
      boolean running,
      String encoding,
      List<Chunk> chunks) {}

  record Chunk(String channel, long offset, String data) {}
}
