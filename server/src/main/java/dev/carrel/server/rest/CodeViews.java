package dev.carrel.server.rest;

import dev.carrel.control.context.CodeError;
import dev.carrel.control.context.CodeResult;
import dev.carrel.control.context.Context;
import dev.carrel.control.context.MimeBundle;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Contexts and what runs in them, on the wire. */
final class CodeViews {
  private CodeViews() {}

  static Map<String, String> bundle(MimeBundle bundle) {
    var byType = new LinkedHashMap<String, String>();
    for (MimeBundle.Item item : bundle.items()) {
      byType.put(item.mime(), item.text());
    }
    return byType;
  }

  record Result(
      boolean success,
      String contextId,
      String language,
      long executionCount,
      String stdout,
      String stderr,
      long stdoutBytes,
      long stderrBytes,
      boolean stdoutTruncated,
      boolean stderrTruncated,
      @Nullable Map<String, String> result,
      List<Display> displayOutputs,
      @Nullable Failed error,
      String cause,
      boolean timedOut,
      boolean interrupted,
      boolean truncated,
      String state,
      double queuedMs,
      double durationMs,
      @Nullable String hint) {
    static Result of(CodeResult result) {
      MimeBundle value = result.result();
      return new Result(
          result.success(),
          result.context().value(),
          result.language().wireName(),
          result.executionCount(),
          result.stdout().text(),
          result.stderr().text(),
          result.stdout().totalBytes(),
          result.stderr().totalBytes(),
          result.stdout().truncated(),
          result.stderr().truncated(),
          value == null ? null : bundle(value),
          result.displayOutputs().stream()
              .map(item -> new Display(item.mime(), item.text()))
              .toList(),
          Failed.of(result.error()),
          ExecViews.wireName(result.cause()),
          result.timedOut(),
          result.interrupted(),
          result.truncated(),
          result.state().wireName(),
          ExecViews.millis(result.queued()),
          ExecViews.millis(result.duration()),
          result.hint());
    }
  }

  record Display(String type, String data) {}

  record Failed(String type, String message, String traceback) {
    static @Nullable Failed of(@Nullable CodeError error) {
      return error == null ? null : new Failed(error.type(), error.message(), error.traceback());
    }
  }

  record Started(double queuedMs) {}

  record Gap(long events) {}

  record Done(
      boolean success,
      String contextId,
      String language,
      long executionCount,
      long stdoutBytes,
      long stderrBytes,
      String cause,
      boolean timedOut,
      boolean interrupted,
      boolean truncated,
      String state,
      double queuedMs,
      double durationMs,
      @Nullable String hint) {
    static Done of(CodeResult result) {
      return new Done(
          result.success(),
          result.context().value(),
          result.language().wireName(),
          result.executionCount(),
          result.stdout().totalBytes(),
          result.stderr().totalBytes(),
          ExecViews.wireName(result.cause()),
          result.timedOut(),
          result.interrupted(),
          result.truncated(),
          result.state().wireName(),
          ExecViews.millis(result.queued()),
          ExecViews.millis(result.duration()),
          result.hint());
    }
  }

  record ContextInfo(
      String id,
      String sandboxId,
      String language,
      @Nullable String languageVersion,
      @Nullable String flavour,
      @Nullable String start,
      String status,
      boolean isDefault,
      long executionCount,
      int queued,
      String createdAt,
      String lastUsedAt) {
    static ContextInfo of(Context context) {
      return new ContextInfo(
          context.id().value(),
          context.sandbox().value(),
          context.language().wireName(),
          context.languageVersion(),
          context.flavour(),
          context.start() == null ? null : context.start().wireName(),
          context.status().wireName(),
          context.isDefault(),
          context.executionCount(),
          context.queued(),
          context.createdAt().toString(),
          context.lastUsedAt().toString());
    }
  }

  record ContextInfoList(List<ContextInfo> contexts) {}
}
