package dev.carrel.server.grpc;

import com.google.protobuf.Message;
import dev.carrel.control.sandbox.Caller;
import java.io.IOException;
import org.jspecify.annotations.Nullable;

/**
 * One call of a client, whatever carries it. The thread that serves it is interrupted when the
 * client goes away, its deadline passes or the server stops. {@link #next} is for one thread and
 * {@link #send} for one, which may be another.
 */
interface Call<Q extends Message, A extends Message> {
  Caller caller();

  /** Waits for the next message; null when no more will come. */
  @Nullable Q next() throws InterruptedException;

  /** Sends at once; waits while the client does not keep up. */
  void send(A answer) throws IOException, InterruptedException;

  /**
   * From now on nothing interrupts the thread, and no interrupt is pending. To be called before
   * anything is closed whose closing cancels something in a sandbox: an interrupt would break that.
   */
  void settle();
}
