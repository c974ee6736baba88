package dev.carrel.server.grpc;

import com.google.protobuf.Message;
import dev.carrel.control.sandbox.Caller;
import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A call over the port of gRPC: what Netty's thread hears is handed to the one that serves. A
 * message is asked for when somebody wants it, and sent when the client has room: what is kept here
 * is one message at most.
 */
final class NettyCall<Q extends Message, A extends Message> extends ServerCall.Listener<Q>
    implements Call<Q, A> {
  private final ServerCall<Q, A> wire;
  private final Method<Q, A> method;
  private final Caller caller;
  private final Calls calls;
  private final Thread thread;
  private final long begun = System.nanoTime();
  private final Deque<Q> arrived = new ArrayDeque<>();
  private boolean begunAnswer;
  private boolean said;
  private boolean gone;
  private boolean settled;

  NettyCall(ServerCall<Q, A> wire, Method<Q, A> method, Caller caller, Calls calls) {
    this.wire = wire;
    this.method = method;
    this.caller = caller;
    this.calls = calls;
    this.thread = Thread.ofVirtual().name("grpc-" + method.name()).unstarted(this::serve);
  }

  /** Begins, or ends at once when the server has too much to do. */
  void start() {
    Optional<Failures.End> refused = calls.enter(this);
    if (refused.isPresent()) {
      end(refused.get());
      return;
    }
    thread.start();
  }

  private void serve() {
    Failures.End end;
    try {
      if (method.shape() != Method.Shape.UNARY) {
        begin();
      }
      method.handler().serve(this);
      settle();
      end = Failures.End.ok();
    } catch (InterruptedException e) {
      settle();
      end = interrupted();
    } catch (Exception e) {
      settle();
      end = calls.failures.of(path(), e);
    }
    calls.leave(this);
    end(end);
  }

  private Failures.End interrupted() {
    return calls.stopping()
        ? Failures.stopping()
        : new Failures.End(Status.CANCELLED, new Metadata());
  }

  private void end(Failures.End end) {
    calls.log.record(path(), end.status().getCode(), System.nanoTime() - begun, caller);
    // A call that was cancelled has had its end; another would break the whole connection.
    if (!isGone()) {
      wire.close(end.status(), end.trailers());
    }
  }

  private synchronized boolean isGone() {
    return gone;
  }

  private String path() {
    return wire.getMethodDescriptor().getFullMethodName();
  }

  @Override
  public Caller caller() {
    return caller;
  }

  @Override
  public synchronized @Nullable Q next() throws InterruptedException {
    if (arrived.isEmpty() && !said && !gone) {
      wire.request(1);
    }
    while (arrived.isEmpty() && !said && !gone) {
      wait();
    }
    return gone ? null : arrived.poll();
  }

  @Override
  public void send(A answer) throws InterruptedException {
    synchronized (this) {
      while (!gone && !wire.isReady()) {
        wait();
      }
      if (gone) {
        throw new InterruptedException("the client has gone");
      }
    }
    if (!begunAnswer) {
      begin();
    }
    wire.sendMessage(answer);
  }

  private void begin() {
    begunAnswer = true;
    wire.sendHeaders(new Metadata());
  }

  @Override
  public synchronized void settle() {
    settled = true;
    Thread.interrupted();
  }

  /** Whether it streams, or has been under way for longer than that. */
  boolean lasts(Duration time) {
    return method.shape() != Method.Shape.UNARY || System.nanoTime() - begun > time.toNanos();
  }

  synchronized void cancel() {
    if (!settled) {
      settled = true;
      thread.interrupt();
    }
  }

  @Override
  public synchronized void onMessage(Q message) {
    arrived.add(message);
    notifyAll();
  }

  @Override
  public synchronized void onHalfClose() {
    said = true;
    notifyAll();
  }

  @Override
  public synchronized void onReady() {
    notifyAll();
  }

  /** Nothing more is sent or heard. */
  @Override
  public synchronized void onComplete() {
    said = true;
    notifyAll();
  }

  /** The client has gone, or its deadline has passed. */
  @Override
  public synchronized void onCancel() {
    gone = true;
    notifyAll();
    cancel();
  }
}
