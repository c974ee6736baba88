package dev.carrel.server.http;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;

/** The addresses that this host can listen on. */
public final class ListenAddresses {
  private ListenAddresses() {}

  /** Also true where that cannot be found out. */
  public static boolean has(InetAddress address) {
    try {
      return address.isAnyLocalAddress()
          // All of 127.0.0.0/8 can be listened on, though interfaces have one of them.
          || (address instanceof Inet4Address && address.isLoopbackAddress())
          || NetworkInterface.getByInetAddress(address) != null;
    } catch (SocketException e) {
      return true;
    }
  }
}
