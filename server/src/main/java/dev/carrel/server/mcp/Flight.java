package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.server.http.Failure;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A request that is being served on a thread of its own, so that it can outlive the connection that
 * brought it, and be cancelled from another one.
 */
final class Flight {
  private final RpcMessage.Request request;
  private final Outbox outbox;
  private final Work work;
  private final Thread thread;
  private final AtomicBoolean cancelled = new AtomicBoolean();
  private volatile int status = 200;

  /** Makes the result of a request. */
  interface Work {
    ObjectNode run() throws Exception;
  }

  private Flight(RpcMessage.Request request, Outbox outbox, Work work, Runnable after) {
    this.request = request;
    this.outbox = outbox;
    this.work = work;
    this.thread =
        Thread.ofVirtual()
            .name("mcp-" + request.method())
            .unstarted(
                () -> {
                  try {
                    run();
                  } finally {
                    after.run();
                  }
                });
  }

  /**
   * @param after called when it has ended, in whatever way
   */
  static Flight prepare(RpcMessage.Request request, Outbox outbox, Work work, Runnable after) {
    return new Flight(request, outbox, work, after);
  }

  void start() {
    thread.start();
  }

  Outbox outbox() {
    return outbox;
  }

  /** Of the answer over HTTP, once there is one. */
  int status() {
    return status;
  }

  /** Ends it without an answer; what it runs in a sandbox is killed. */
  void cancel() {
    // Once only: a second interrupt would break the clean-up that the first one began.
    if (cancelled.compareAndSet(false, true)) {
      thread.interrupt();
    }
  }

  private void run() {
    ObjectNode answer;
    try {
      answer = request.answer(work.run());
    } catch (InterruptedException e) {
      answer = failed(new SandboxException(ErrorCode.SHUTTING_DOWN, "the request was cancelled"));
    } catch (Exception e) {
      answer = failed(e);
    }
    if (cancelled.get()) {
      outbox.abandon();
    } else {
      outbox.finish(answer);
    }
  }

  private ObjectNode failed(Exception e) {
    if (!(e instanceof RpcError)) {
      Failure.log(request.method(), e);
    }
    RpcError error =
        switch (e) {
          case RpcError rpc -> rpc;
          case SandboxException known -> RpcError.invalidParams(known.message());
          default -> RpcError.internal();
        };
    status = error.status();
    return error.reply(request.id());
  }
}
