package dev.carrel.egress;

import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.time.Duration;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The addresses that this host's interfaces have. Hosts get others while they run, so they are read
 * again every few seconds; not for each connection, since some hosts have hundreds of interfaces.
 */
final class OwnAddresses implements Predicate<InetAddress> {
  private static final Duration FRESH = Duration.ofSeconds(5);

  private volatile @Nullable Found last;

  private record Found(Set<InetAddress> addresses, long at) {}

  /** Also true where that cannot be found out. */
  @Override
  public boolean test(InetAddress address) {
    Found found = last;
    if (found == null || System.nanoTime() - found.at > FRESH.toNanos()) {
      try {
        found = look();
      } catch (SocketException e) {
        return true;
      }
      last = found;
    }
    return found.addresses.contains(address);
  }

  private static Found look() throws SocketException {
    long now = System.nanoTime();
    Set<InetAddress> addresses =
        NetworkInterface.networkInterfaces()
            .flatMap(NetworkInterface::inetAddresses)
            .collect(Collectors.toUnmodifiableSet());
    return new Found(addresses, now);
  }
}
