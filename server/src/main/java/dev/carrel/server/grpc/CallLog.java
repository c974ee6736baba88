package dev.carrel.server.grpc;

import dev.carrel.control.sandbox.Caller;
import dev.carrel.spi.Text;
import io.grpc.Status;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Counts, times and logs calls; never what is in them. */
final class CallLog {
  private static final Logger LOG = LoggerFactory.getLogger("carrel.access");
  private static final int NAME = 64;

  private final MeterRegistry registry;

  CallLog(MeterRegistry registry) {
    this.registry = registry;
  }

  void record(String path, Status.Code status, long nanos, Caller caller) {
    Timer.builder("carrel.grpc.calls")
        .description("Calls by method and status")
        .tag("method", path)
        .tag("status", status.name())
        .register(registry)
        .record(nanos, TimeUnit.NANOSECONDS);
    LOG.atInfo()
        .addKeyValue("grpc", path)
        .addKeyValue("status", status)
        .addKeyValue("micros", nanos / 1000)
        .addKeyValue("tenant", Text.printable(caller.tenant(), NAME))
        .addKeyValue("principal", Text.printable(caller.principal(), NAME))
        .log("call");
  }
}
