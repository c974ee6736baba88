package dev.carrel.control.exec;

import dev.carrel.control.idempotency.RequestKey;
import dev.carrel.spi.Command;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A command to start.
 *
 * @param otherwise run instead when the program of {@code command} is not there
 * @param input the whole of standard input; null when it is empty or comes later
 * @param key null: each request is a new command, and a foreground one dies with its stream
 * @param secrets names of those that this command gets besides the sandbox's own
 * @param from offset from which the stream shows the output, for a request that was sent before
 */
@SuppressWarnings("ArrayRecordComponent") // written once, never compared
public record ExecStart(
    Command command,
    @Nullable Command otherwise,
    boolean background,
    byte @Nullable [] input,
    @Nullable RequestKey key,
    long from,
    List<String> secrets) {
  public ExecStart {
    secrets = List.copyOf(secrets);
  }

  public static ExecStart of(Command command) {
    return new ExecStart(command, null, false, null, null, 0, List.of());
  }

  public ExecStart inBackground() {
    return new ExecStart(command, otherwise, true, input, key, from, secrets);
  }

  public ExecStart withInput(byte[] newInput) {
    return new ExecStart(
        command.withStdin(true), otherwise, background, newInput, key, from, secrets);
  }

  /** As sent, or sent again to see the output from {@code newFrom} on. */
  public ExecStart withKey(RequestKey newKey, long newFrom) {
    return new ExecStart(command, otherwise, background, input, newKey, newFrom, secrets);
  }

  public ExecStart withSecrets(String... newSecrets) {
    return new ExecStart(command, otherwise, background, input, key, from, List.of(newSecrets));
  }
}
