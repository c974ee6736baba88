package dev.carrel.egress;

import java.io.IOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardProtocolFamily;
import java.net.StandardSocketOptions;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.CancelledKeyException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The proxy: one thread that accepts for all gates and one that ends what takes too long; each
 * connection has a virtual thread. Safe for many threads. (A virtual thread for each gate would
 * spare two wakes in the life of a sandbox, and cost each connection a third of a millisecond.)
 */
public final class EgressProxy implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(EgressProxy.class);
  private static final Set<PosixFilePermission> FOR_ALL =
      PosixFilePermissions.fromString("rw-rw-rw-");
  private static final int BACKLOG = 128;
  private static final Duration LOOK = Duration.ofSeconds(1);
  private static final Duration BREATH = Duration.ofMillis(50);

  private final EgressSettings settings;
  private final Buffers buffers = new Buffers();
  private final Pipes pipes;
  private final Addresses addresses;
  private final Resolver resolver;
  private final Dialler dialler;
  private final Selector selector;
  private final Set<Gate> gates = ConcurrentHashMap.newKeySet();
  private volatile @Nullable TokenDoor door;
  private final Room room;
  private final Thread accepting;
  private final Thread watching;
  private volatile boolean closed;

  public EgressProxy(EgressSettings settings, Presets presets) throws IOException {
    this(settings, presets, Pipes.open());
  }

  EgressProxy(EgressSettings settings, Presets presets, Pipes pipes) throws IOException {
    this.settings = settings;
    this.pipes = pipes;
    this.room = new Room(settings.maxTotalConnections());
    this.addresses = new Addresses(settings.privateHosts(), settings.privateRanges());
    this.resolver = new Resolver(settings.pinned(), addresses, InetAddress::getAllByName);
    this.dialler =
        new Dialler(
            new Judge(presets, settings.deny()),
            resolver,
            buffers,
            pipes,
            settings.connectTimeout());
    this.selector = Selector.open();
    this.accepting = Thread.ofPlatform().daemon().name("egress-accept").start(this::accept);
    this.watching = Thread.ofPlatform().daemon().name("egress-watch").start(this::watch);
  }

  /**
   * Listens for one sandbox. Whoever can reach the socket is that sandbox, so its folder is for
   * others to guard.
   *
   * @param socket replaced when it is there
   */
  public Gate open(String sandbox, Path socket, Gate.Witness witness) throws IOException {
    ServerSocketChannel listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
    try {
      try {
        listener.bind(UnixDomainSocketAddress.of(socket), BACKLOG);
      } catch (BindException there) {
        // Not looked for before: it hardly ever is, and a look that finds nothing is dear.
        try {
          Files.deleteIfExists(socket);
        } catch (IOException e) {
          there.addSuppressed(e);
          throw there;
        }
        listener.bind(UnixDomainSocketAddress.of(socket), BACKLOG);
      }
      Files.setPosixFilePermissions(socket, FOR_ALL);
      listener.configureBlocking(false);
      var gate = new Gate(sandbox, socket, listener, witness);
      gates.add(gate);
      listener.register(selector, SelectionKey.OP_ACCEPT, gate);
      selector.wakeup();
      return gate;
    } catch (IOException | RuntimeException e) {
      listener.close();
      throw e;
    }
  }

  /**
   * Listens for all sandboxes that cannot reach a socket of their own; once.
   *
   * @return where, with the port that was chosen when none was given
   */
  public InetSocketAddress listen(InetSocketAddress address, Tokens tokens, TokenDoor.Keeper keeper)
      throws IOException {
    ServerSocketChannel listener = ServerSocketChannel.open();
    try {
      listener.bind(address, BACKLOG);
      listener.configureBlocking(false);
      var opened = new TokenDoor(listener, tokens, keeper);
      door = opened;
      listener.register(selector, SelectionKey.OP_ACCEPT, opened);
      selector.wakeup();
      return (InetSocketAddress) listener.getLocalAddress();
    } catch (IOException | RuntimeException e) {
      listener.close();
      throw e;
    }
  }

  /**
   * A gate for what the server itself asks for; nobody comes in through it. What the operator
   * opened beside the internet it reaches only where a rule of its policy names it.
   */
  public Gate inner(String name, Gate.Witness witness) {
    return new Gate(name, witness);
  }

  /** The server's own requests. */
  public Fetch fetch(TlsEnds ends) {
    return new Fetch(dialler, buffers, ends);
  }

  /**
   * Why the server does not follow others to this address of the target; empty: it is the internet,
   * or the operator opened it.
   */
  public Optional<String> closed(Target target, InetAddress address) {
    try {
      addresses.require(target, address);
      return Optional.empty();
    } catch (RefusedException e) {
      return Optional.of(e.message());
    }
  }

  /** Ends the gate with all its connections. */
  public void close(Gate gate) {
    gates.remove(gate);
    gate.close();
    // Until the selector has looked, the kernel keeps the socket.
    selector.wakeup();
  }

  private void accept() {
    while (!closed) {
      try {
        selector.select(
            key -> {
              if (key.attachment() instanceof Gate gate) {
                acceptOne(gate);
              } else {
                acceptOne((TokenDoor) key.attachment());
              }
            });
      } catch (IOException e) {
        // The top of a loop: with no descriptors left there is nothing to do but wait for some.
        LOG.warn("the proxy cannot accept: {}", e.toString());
        LockSupport.parkNanos(BREATH.toNanos());
      } catch (ClosedSelectorException | CancelledKeyException e) {
        LOG.debug("a gate closed while it was looked at");
      } catch (RuntimeException | OutOfMemoryError e) {
        // The one thread that accepts for everybody: what one connection meets is not its end.
        LOG.warn("the proxy cannot accept", e);
        LockSupport.parkNanos(BREATH.toNanos());
      }
    }
  }

  private void acceptOne(Gate gate) {
    try {
      SocketChannel channel = Objects.requireNonNull(gate.listener()).accept();
      if (channel != null) {
        closedUnless(channel, () -> begin(gate, channel));
      }
    } catch (IOException e) {
      if (!gate.isClosed()) {
        LOG.warn("the proxy cannot accept for {}: {}", gate.sandbox(), e.toString());
        LockSupport.parkNanos(BREATH.toNanos());
      }
    }
  }

  private interface Beginning {
    void run() throws IOException;
  }

  /** Whoever cannot be served is to notice. */
  private static void closedUnless(SocketChannel channel, Beginning begins) throws IOException {
    try {
      begins.run();
    } catch (IOException | RuntimeException | OutOfMemoryError e) {
      channel.close();
      throw e;
    }
  }

  private void begin(Gate gate, SocketChannel channel) throws IOException {
    boolean full = gate.sessions().size() >= settings.maxConnections();
    String owner = gate.owner();
    if (full || !room.enter(owner)) {
      refuse(gate, channel, full);
      return;
    }
    Session session = session(gate, owner, new Wire(channel, buffers, pipes), null);
    Thread.ofVirtual().name("egress-" + gate.sandbox()).start(session);
  }

  private Session session(Gate gate, String owner, Wire client, @Nullable TokenDoor through) {
    var session =
        new Session(
            gate,
            client,
            through,
            dialler,
            buffers,
            settings.idleTimeout(),
            () -> room.leave(owner));
    gate.sessions().add(session);
    if (gate.isClosed()) {
      session.close();
    }
    return session;
  }

  /** Strangers have as much room together as one sandbox has, and none when the proxy is full. */
  private void acceptOne(TokenDoor through) {
    try {
      SocketChannel channel = through.listener().accept();
      if (channel == null) {
        return;
      }
      closedUnless(channel, () -> begin(through, channel));
    } catch (IOException e) {
      LOG.warn("the proxy cannot accept over TCP: {}", e.toString());
      LockSupport.parkNanos(BREATH.toNanos());
    }
  }

  private void begin(TokenDoor through, SocketChannel channel) throws IOException {
    channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
    if (through.arrivals().size() >= settings.maxConnections() || !room.enterUnknown()) {
      channel.close();
      return;
    }
    var arrival =
        new Arrival(
            through,
            channel,
            buffers,
            pipes,
            (gate, wire) -> goOn(through, gate, wire),
            room::leaveUnknown);
    through.arrivals().add(arrival);
    Thread.ofVirtual().name("egress-arrival").start(arrival);
  }

  private void goOn(TokenDoor through, Gate gate, Wire client) {
    String owner = gate.owner();
    boolean entitled = room.become(owner);
    Session session = session(gate, owner, client, through);
    if (!entitled || gate.sessions().size() > settings.maxConnections()) {
      session.close();
    }
    session.run();
  }

  /** Says so without waiting: a fresh connection has room for a few bytes. */
  private static void refuse(Gate gate, SocketChannel channel, boolean own) throws IOException {
    try (channel) {
      var why =
          new RefusedException(
              Reason.TOO_MANY,
              own
                  ? "this sandbox has too many connections open"
                  : "the proxy has too few connections left for another of this tenant's");
      gate.refused("http", why);
      channel.configureBlocking(false);
      channel.write(ByteBuffer.wrap(Denial.http(gate.sandbox(), null, why, true)));
    }
  }

  private void watch() {
    while (!closed) {
      LockSupport.parkNanos(LOOK.toNanos());
      long now = System.nanoTime();
      gates.forEach(gate -> gate.sessions().forEach(session -> session.closeIfLate(now)));
      TokenDoor opened = door;
      if (opened != null) {
        opened.arrivals().forEach(arrival -> arrival.closeIfLate(now));
      }
    }
  }

  /** Ends everything; the sockets of the gates go too. */
  @Override
  public void close() {
    closed = true;
    gates.forEach(this::close);
    TokenDoor opened = door;
    try {
      if (opened != null) {
        opened.listener().close();
        opened.arrivals().forEach(Arrival::close);
      }
      selector.close();
    } catch (IOException e) {
      LOG.warn("the proxy did not close in order: {}", e.toString());
    }
    LockSupport.unpark(watching);
    LockSupport.unpark(accepting);
    resolver.close();
    pipes.close();
  }
}
