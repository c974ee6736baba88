package dev.carrel.egress;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.List;

/** Decides, resolves and connects: to the address that was checked, not to a name. */
final class Dialler {
  private final Judge judge;
  private final Resolver resolver;
  private final Buffers buffers;
  private final Pipes pipes;
  private final Duration timeout;

  Dialler(Judge judge, Resolver resolver, Buffers buffers, Pipes pipes, Duration timeout) {
    this.judge = judge;
    this.resolver = resolver;
    this.buffers = buffers;
    this.pipes = pipes;
    this.timeout = timeout;
  }

  /** Whether the gate's policy lets it pass, and why. Tells nobody. */
  Judge.Pass judge(Gate gate, Asked asked) throws RefusedException {
    gate.requireBudget();
    return judge.judge(gate.policy(), asked);
  }

  /** As {@link #judge}, and notes it. */
  Judge.Pass permit(Gate gate, Asked asked) throws RefusedException {
    Judge.Pass pass = judge(gate, asked);
    gate.decided(
        asked, pass.observed() ? Decision.Outcome.OBSERVED : Decision.Outcome.ALLOWED, pass.rule());
    return pass;
  }

  /** A connection to a target that has passed. */
  Wire dial(Gate gate, Target target) throws RefusedException, InterruptedException {
    List<InetAddress> addresses = resolver.resolve(gate, target);
    IOException last = new IOException("no address");
    for (InetAddress address : addresses) {
      try {
        return new Wire(connect(new InetSocketAddress(address, target.port())), buffers, pipes);
      } catch (SocketTimeoutException e) {
        throw new RefusedException(
            Reason.TIMED_OUT,
            "%s does not answer within %ds".formatted(target, timeout.toSeconds()));
      } catch (IOException e) {
        last = e;
      }
    }
    throw new RefusedException(
        Reason.UNREACHABLE, "cannot connect to " + target + ": " + last.getMessage());
  }

  private SocketChannel connect(InetSocketAddress address) throws IOException {
    SocketChannel channel = SocketChannel.open();
    try {
      channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
      channel.socket().connect(address, (int) timeout.toMillis());
      return channel;
    } catch (IOException e) {
      channel.close();
      throw e;
    }
  }
}
