package dev.carrel.control.admission;

import dev.carrel.control.idempotency.RequestKey;
import dev.carrel.control.idempotency.RequestKeys;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.control.sandbox.CreateSandbox;
import dev.carrel.control.sandbox.Namespace;
import dev.carrel.control.sandbox.Sandbox;
import dev.carrel.control.sandbox.Sandboxes;
import dev.carrel.control.telemetry.Telemetry;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * The way to a new sandbox: in its turn, and once for each key of the caller. Safe for many
 * threads.
 */
public final class Creates {
  /** For {@link #create(Caller, CreateSandbox, RequestKey, Runnable, Function, Finish)}. */
  public static final Finish NOTHING_TO_FINISH = _ -> true;

  // Before the id of a sandbox that has not all yet, in what its key stands for.
  private static final String UNFINISHED = "unfinished:";

  private final Sandboxes sandboxes;
  private final Queue queue;
  private final RequestKeys keys;
  private final Telemetry telemetry;

  public Creates(Sandboxes sandboxes, Queue queue, RequestKeys keys, Telemetry telemetry) {
    this.sandboxes = sandboxes;
    this.queue = queue;
    this.keys = keys;
    this.telemetry = telemetry;
  }

  /**
   * As {@link Sandboxes#obtain}, once there is a place for it.
   *
   * @param key null: each request is a new one
   * @param begun called when the waiting is over: from then on an interrupt would break the start
   */
  public Created create(
      Caller caller, CreateSandbox request, @Nullable RequestKey key, Runnable begun)
      throws InterruptedException {
    return create(caller, request, key, begun, Sandboxes.NOTHING_TO_NOTE, NOTHING_TO_FINISH);
  }

  /**
   * As {@link #create(Caller, CreateSandbox, RequestKey, Runnable)}. Who asks again with the key
   * waits until a new one is finished, and finishes it when that did not come about: it failed, or
   * the server ended before.
   *
   * @param about told the id of a new one before there is anything of it; what it returns is run
   *     when that one does not come to be, or is {@link Sandboxes#NOTHING_NOTED}
   * @param finish what a new one needs before it is what was asked for; when it throws, that one
   *     goes again unless others have it
   */
  public Created create(
      Caller caller,
      CreateSandbox request,
      @Nullable RequestKey key,
      Runnable begun,
      Function<SandboxId, Runnable> about,
      Finish finish)
      throws InterruptedException {
    if (key == null) {
      Created created = obtain(caller, request, about, begun);
      if (created.made) {
        finish(caller, created, finish, () -> {});
      }
      return created;
    }
    try (RequestKeys.Claim claim =
        keys.claim(caller.tenant(), null, RequestKeys.Kind.CREATE, key)) {
      String known = claim.target().orElse(null);
      if (known != null) {
        boolean unfinished = known.startsWith(UNFINISHED);
        String id = unfinished ? known.substring(UNFINISHED.length()) : known;
        Optional<Created> before = before(caller, new SandboxId(id));
        if (before.isPresent()) {
          // One that does not run cannot be finished; once it does, the next request does that.
          if (unfinished && before.get().sandbox.status().live()) {
            begun.run();
            // An answer may have told of it, so whatever comes of this, it stays.
            noteFinished(claim, before.get(), finish.finish(before.get()));
          }
          return before.get();
        }
      }
      String mark = finish.equals(NOTHING_TO_FINISH) ? "" : UNFINISHED;
      Created created = obtain(caller, request, claim, begun, about, mark);
      if (created.made && !mark.isEmpty()) {
        boolean finished = finish(caller, created, finish, () -> claim.forget(_ -> {}));
        noteFinished(claim, created, finished);
      }
      return created;
    }
  }

  /** The sandbox of a session key: made when there is none, started when it has stopped. */
  public Sandbox usual(Caller caller, String key) throws InterruptedException {
    return create(caller, CreateSandbox.defaults().withSessionKey(key), null, () -> {}).sandbox();
  }

  /**
   * Gives a new one what it needs.
   *
   * @param gone run when it was taken back
   */
  private boolean finish(Caller caller, Created created, Finish finish, Runnable gone)
      throws InterruptedException {
    boolean allowed = false;
    try {
      boolean finished = finish.finish(created);
      allowed = true;
      return finished;
    } finally {
      if (!allowed && sandboxes.deleteUnlessShared(caller, created.sandbox.id())) {
        gone.run();
      }
    }
  }

  private static void noteFinished(RequestKeys.Claim claim, Created created, boolean finished) {
    if (finished) {
      claim.keep(created.sandbox.id().value(), _ -> {});
    }
  }

  /**
   * @param mark before the id of a new one
   */
  private Created obtain(
      Caller caller,
      CreateSandbox request,
      RequestKeys.Claim claim,
      Runnable begun,
      Function<SandboxId, Runnable> about,
      String mark)
      throws InterruptedException {
    boolean made = false;
    try {
      Created created =
          obtain(
              caller,
              request,
              id -> {
                claim.keep(mark + id.value(), _ -> {});
                return about.apply(id);
              },
              begun);
      made = true;
      if (!created.made) {
        // The session key had one already.
        claim.keep(created.sandbox.id().value(), _ -> {});
      }
      return created;
    } finally {
      if (!made) {
        claim.forget(_ -> {});
      }
    }
  }

  /** What the key made before; empty when the server ended before there was anything. */
  private Optional<Created> before(Caller caller, SandboxId id) {
    try {
      Sandbox sandbox = sandboxes.get(caller, id);
      telemetry.count("creates_replayed");
      return Optional.of(new Created(sandbox, false, true, Duration.ZERO));
    } catch (SandboxException e) {
      if (e.code() != ErrorCode.SANDBOX_NOT_FOUND) {
        throw e;
      }
      if (sandboxes.wasDeleted(caller, id)) {
        throw new SandboxException(
                ErrorCode.RESULT_GONE, "the sandbox of this key, " + id + ", was deleted")
            .withHint("use a new key for a new sandbox");
      }
      return Optional.empty();
    }
  }

  private Created obtain(
      Caller caller, CreateSandbox request, Function<SandboxId, Runnable> about, Runnable begun)
      throws InterruptedException {
    try (Place place =
        queue.enterCreate(caller.tenant(), Namespace.of(request.namespace()), Waiting.UNSEEN)) {
      begun.run();
      Sandboxes.Obtained obtained = sandboxes.obtain(caller, request, about);
      return new Created(obtained.sandbox(), obtained.made(), false, place.waited());
    }
  }

  /** What a new sandbox needs, once it runs. */
  @FunctionalInterface
  public interface Finish {
    /**
     * Returns whether it has all now; if not, the next request with the same key tries again.
     *
     * @throws SandboxException when it may not have it
     */
    boolean finish(Created created) throws InterruptedException;
  }

  /**
   * What came of it.
   *
   * @param made whether it is new
   * @param replay whether an earlier request with the same key made it
   */
  public record Created(Sandbox sandbox, boolean made, boolean replay, Duration queued) {}
}
