package dev.carrel.server.grpc;

import com.google.protobuf.ByteString;
import dev.carrel.control.Control;
import dev.carrel.control.port.PortStream;
import dev.carrel.control.port.Ports;
import dev.carrel.protocols.carrel.OpenTunnel;
import dev.carrel.protocols.carrel.TunnelEnded;
import dev.carrel.protocols.carrel.TunnelInput;
import dev.carrel.protocols.carrel.TunnelOpened;
import dev.carrel.protocols.carrel.TunnelOutput;
import dev.carrel.spi.ErrorCode;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.SandboxId;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * {@code carrel.v1.TunnelService}: bytes between a client and a port of a sandbox. The call's own
 * thread carries those of the sandbox, another one those of the client; neither keeps more than a
 * piece, so who reads slowly is waited for.
 */
final class TunnelCalls {
  private static final int PIECE = 64 * 1024;

  private final Ports ports;
  private final Sessions sessions;

  TunnelCalls(Control control) {
    this.ports = control.ports();
    this.sessions = new Sessions(control);
  }

  Service service() {
    return new Service(
        TunnelInput.getDescriptor().getFile().findServiceByName("TunnelService"),
        List.of(
            Method.both(
                "Tunnel",
                TunnelInput.getDefaultInstance(),
                TunnelOutput.getDefaultInstance(),
                this::tunnel)));
  }

  private void tunnel(Call<TunnelInput, TunnelOutput> call)
      throws IOException, InterruptedException {
    TunnelInput first = call.next();
    if (first == null || !first.hasOpen()) {
      throw SandboxException.invalid("open", "must be the first message");
    }
    OpenTunnel open = first.getOpen();
    SandboxId sandbox = sessions.require(call.caller(), open.getSandbox());
    try (PortStream stream = ports.open(call.caller(), sandbox, open.getPort())) {
      var upstream = new Upstream(call, stream);
      stream.whenLost(upstream::interruptCall);
      try {
        call.send(TunnelOutput.newBuilder().setOpened(TunnelOpened.getDefaultInstance()).build());
        upstream.begin();
        carry(stream, call);
        call.send(TunnelOutput.newBuilder().setEnded(TunnelEnded.getDefaultInstance()).build());
        upstream.await();
      } catch (InterruptedException e) {
        throw reason(stream, upstream, e);
      } finally {
        upstream.end();
        call.settle();
      }
      upstream.rethrow();
    }
  }

  /** The client's leaving, unless something else has ended the call. */
  private static InterruptedException reason(
      PortStream stream, Upstream upstream, InterruptedException e) {
    upstream.rethrow();
    if (stream.lost()) {
      throw new SandboxException(ErrorCode.SANDBOX_GONE, "the sandbox has ended, and its tunnels");
    }
    return e;
  }

  private static void carry(PortStream stream, Call<?, TunnelOutput> call)
      throws IOException, InterruptedException {
    ByteBuffer piece = ByteBuffer.allocate(PIECE);
    while (read(stream, piece.clear()) >= 0) {
      ByteString data = ByteString.copyFrom(piece.flip());
      call.send(TunnelOutput.newBuilder().setData(data).build());
    }
  }

  /** A connection that broke off has nothing more to say, as one that ended. */
  private static int read(PortStream stream, ByteBuffer target) throws InterruptedException {
    try {
      return stream.read(target);
    } catch (IOException e) {
      if (Thread.interrupted() || !stream.isOpen()) {
        throw new InterruptedException("the tunnel was closed");
      }
      return -1;
    }
  }

  /** The client's bytes, on their way to the sandbox; a thread of its own. */
  private static final class Upstream {
    private final Call<TunnelInput, TunnelOutput> call;
    private final PortStream stream;
    private final Thread serving = Thread.currentThread();
    private final Thread thread = Thread.ofVirtual().name("grpc-tunnel").unstarted(this::carry);
    private @Nullable SandboxException failure;
    private boolean over;

    Upstream(Call<TunnelInput, TunnelOutput> call, PortStream stream) {
      this.call = call;
      this.stream = stream;
    }

    void begin() {
      thread.start();
    }

    private void carry() {
      try {
        for (TunnelInput input = call.next(); input != null; input = call.next()) {
          if (input.hasOpen()) {
            throw SandboxException.invalid("open", "the tunnel is open already");
          }
          stream.write(input.getData().asReadOnlyByteBuffer());
        }
        stream.endOutput();
      } catch (SandboxException e) {
        fail(e);
      } catch (IOException e) {
        // Nobody there listens any more. What it still says is carried to its end.
        return;
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }

    void await() throws InterruptedException {
      thread.join();
    }

    private synchronized void fail(SandboxException e) {
      failure = e;
      interruptCall();
    }

    synchronized void interruptCall() {
      if (!over) {
        over = true;
        serving.interrupt();
      }
    }

    synchronized void rethrow() {
      if (failure != null) {
        throw failure;
      }
    }

    void end() {
      synchronized (this) {
        over = true;
      }
      thread.interrupt();
    }
  }
}
