package dev.carrel.dist;

import dev.carrel.control.Control;
import dev.carrel.dist.config.Configuration;
import dev.carrel.dist.config.ConfigurationException;
import dev.carrel.server.CarrelServer;
import dev.carrel.server.auth.TokenFile;
import dev.carrel.spi.Capabilities;
import dev.carrel.spi.Engine;
import dev.carrel.spi.EngineProvider;
import dev.carrel.spi.EngineSettings;
import dev.carrel.spi.SandboxException;
import dev.carrel.spi.Workshop;
import dev.carrel.spi.WorkshopProvider;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import org.jspecify.annotations.Nullable;

/**
 * Everything that makes a server, in the order in which it is built. Closing undoes it backwards.
 */
final class RunningServer implements AutoCloseable {
  private final DataDirectory data;
  private final Control control;
  private final CarrelServer server;

  private RunningServer(DataDirectory data, Control control, CarrelServer server) {
    this.data = data;
    this.control = control;
    this.server = server;
  }

  /** Returns once requests are answered. Leaves nothing open when it throws. */
  static RunningServer start(Configuration configuration, DataDirectory data) {
    Control control = null;
    CarrelServer.prepare();
    try {
      TokenFile tokens = TokenFile.openOrCreate(data.tokenFile());
      EngineSettings settings = engineSettings(configuration);
      control = Control.open(configuration.control(), engines(settings), workshops(settings));
      CarrelServer server =
          CarrelServer.start(configuration.server(), configuration.grpc(), control, tokens);
      return new RunningServer(data, control, server);
    } catch (SandboxException e) {
      closeAll(control, data);
      throw new ConfigurationException(e.message() + e.hint().map(h -> " (" + h + ")").orElse(""));
    } catch (RuntimeException e) {
      closeAll(control, data);
      throw e;
    }
  }

  private static EngineSettings engineSettings(Configuration configuration) {
    return new EngineSettings(
        configuration.storage().run(),
        configuration.control().dataDirectory().resolve("volumes"),
        configuration.control().libDirectory(),
        configuration.engine().allowMissing(),
        configuration.engine().warm(),
        configuration.engine().daemon());
  }

  private static List<Engine> engines(EngineSettings settings) {
    var engines = new ArrayList<Engine>();
    for (EngineProvider provider : ServiceLoader.load(EngineProvider.class)) {
      engines.add(provider.create(settings));
    }
    return engines;
  }

  private static List<Workshop> workshops(EngineSettings settings) {
    var workshops = new ArrayList<Workshop>();
    for (WorkshopProvider provider : ServiceLoader.load(WorkshopProvider.class)) {
      workshops.add(provider.create(settings));
    }
    return workshops;
  }

  URI address() {
    return server.uri();
  }

  /** Where gRPC is served; empty when it has no port of its own. */
  Optional<URI> grpcAddress() {
    return server.grpcUri();
  }

  String token() {
    try {
      return TokenFile.firstToken(data.tokenFile());
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read " + data.tokenFile(), e);
    }
  }

  /** What a sandbox that names no engine gets; empty when there is none that can be used. */
  Optional<Capabilities> defaultEngine() {
    return control.engines().usualCapabilities();
  }

  /** How many sandboxes have a machine now, paused ones among them. */
  long sandboxes() {
    return control.sandboxes().liveIds().count();
  }

  @Override
  public void close() {
    server.close();
    closeAll(control, data);
  }

  private static void closeAll(@Nullable Control control, DataDirectory data) {
    if (control != null) {
      control.close();
    }
    data.close();
  }
}
