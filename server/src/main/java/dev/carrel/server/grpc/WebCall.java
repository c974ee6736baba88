package dev.carrel.server.grpc;

import com.google.protobuf.Message;
import dev.carrel.control.sandbox.Caller;
import dev.carrel.server.http.Exchange;
import dev.carrel.spi.SandboxException;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import java.io.IOException;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A call over gRPC-Web: one question, read before it began. Served by the thread of its connection,
 * which the client's going away interrupts, and the end of its time.
 */
final class WebCall<Q extends Message, A extends Message> implements Call<Q, A>, AutoCloseable {
  private static final HeaderName TIMEOUT = HeaderNames.create("grpc-timeout");
  private static final Pattern TIME = Pattern.compile("([0-9]{1,8})([HMSmun])");

  private final Exchange exchange;
  private final WebAnswers answers;
  private final Thread thread = Thread.currentThread();
  private final @Nullable Thread clock;
  private @Nullable Q question;
  private boolean settled;
  private boolean late;

  WebCall(Exchange exchange, Q question, WebAnswers answers) {
    this.exchange = exchange;
    this.question = question;
    this.answers = answers;
    this.clock = time(exchange).map(this::clock).orElse(null);
  }

  private static Optional<Duration> time(Exchange exchange) {
    return exchange
        .header(TIMEOUT)
        .map(
            text -> {
              Matcher matcher = TIME.matcher(text);
              if (!matcher.matches()) {
                throw SandboxException.invalid("grpc-timeout", "is no time, as 30S is");
              }
              return Duration.of(
                  Long.parseLong(matcher.group(1)),
                  switch (matcher.group(2)) {
                    case "H" -> ChronoUnit.HOURS;
                    case "M" -> ChronoUnit.MINUTES;
                    case "S" -> ChronoUnit.SECONDS;
                    case "m" -> ChronoUnit.MILLIS;
                    case "u" -> ChronoUnit.MICROS;
                    default -> ChronoUnit.NANOS;
                  });
            });
  }

  private Thread clock(Duration time) {
    return Thread.ofVirtual()
        .name("grpc-web-deadline")
        .start(
            () -> {
              try {
                Thread.sleep(time);
                expire();
              } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
              }
            });
  }

  private synchronized void expire() {
    if (!settled) {
      settled = true;
      late = true;
      thread.interrupt();
    }
  }

  /** Whether its time has passed. */
  synchronized boolean late() {
    return late;
  }

  @Override
  public Caller caller() {
    return exchange.caller();
  }

  @Override
  public @Nullable Q next() {
    Q next = question;
    question = null;
    return next;
  }

  @Override
  public void send(A answer) throws IOException {
    answers.send(answer);
  }

  @Override
  public synchronized void settle() {
    settled = true;
    exchange.settle();
  }

  @Override
  public void close() {
    settle();
    if (clock != null) {
      clock.interrupt();
    }
  }
}
