package dev.carrel.control.exec;

import dev.carrel.control.idempotency.RequestKey;
import dev.carrel.spi.Command;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A command to start.
 *
 * @param otherwise run instead when the program of {@code command} is not there
 * @param input the whole of standard input; null when it is empty or comes later
 * @param key null: each request is a new command, and a foreground one dies with its stream
 * @param secrets names of those that this command gets besides the sandbox's own
 * @param artifacts files to sign when it has ended, besides those in the folder of outputs
 * @param from offset from which the stream shows the output, for a request that was sent before
 * @param busy whether the sandbox is in use for as long as it runs; otherwise only while somebody
 *     looks at it or it works
 */
@SuppressWarnings("ArrayRecordComponent") // written once, never compared
public record ExecStart(
    Command command,
    @Nullable Command otherwise,
    boolean background,
    byte @Nullable [] input,
    @Nullable RequestKey key,
    long from,
    List<String> secrets,
    List<String> artifacts,
    boolean busy) {
  public ExecStart {
    secrets = List.copyOf(secrets);
    artifacts = List.copyOf(artifacts);
  }

  public static ExecStart of(Command command) {
    return new ExecStart(command, null, false, null, null, 0, List.of(), List.of(), true);
  }

  /**
   * What a shell is to run: bash, or {@code /bin/sh} in an image that has none.
   *
   * @param by the command for a shell of this name
   */
  public static ExecStart shell(Function<String, Command> by) {
    return new ExecStart(
        by.apply("bash"), by.apply("/bin/sh"), false, null, null, 0, List.of(), List.of(), true);
  }

  public ExecStart inBackground() {
    return new ExecStart(command, otherwise, true, input, key, from, secrets, artifacts, busy);
  }

  /** The sandbox is in use for as long as this runs. */
  public ExecStart whileItRuns() {
    return new ExecStart(
        command, otherwise, background, input, key, from, secrets, artifacts, true);
  }

  public ExecStart withInput(byte[] newInput) {
    return new ExecStart(
        command.withStdin(true),
        otherwise,
        background,
        newInput,
        key,
        from,
        secrets,
        artifacts,
        busy);
  }

  /** As sent, or sent again to see the output from {@code newFrom} on. */
  public ExecStart withKey(RequestKey newKey, long newFrom) {
    return new ExecStart(
        command, otherwise, background, input, newKey, newFrom, secrets, artifacts, busy);
  }

  public ExecStart withSecrets(String... newSecrets) {
    return new ExecStart(
        command, otherwise, background, input, key, from, List.of(newSecrets), artifacts, busy);
  }

  public ExecStart withArtifacts(String... newArtifacts) {
    return new ExecStart(
        command, otherwise, background, input, key, from, secrets, List.of(newArtifacts), busy);
  }
}
