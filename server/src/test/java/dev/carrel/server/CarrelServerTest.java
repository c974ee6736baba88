package dev.carrel.server;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.spi.SandboxException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import org.junit.jupiter.api.Test;

class CarrelServerTest {
  @Test
  void anAddressOfAnotherHostIsToldApartFromAPortInUse() throws IOException {
    // For documentation alone (RFC 5737): no host has it.
    InetAddress elsewhere = InetAddress.getByName("192.0.2.1");

    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> CarrelServer.requireFree(elsewhere, 0))
        .withMessageStartingWith("host: cannot listen on 192.0.2.1:0")
        .satisfies(
            e -> assertThat(e.hint().orElseThrow()).contains("an address that this host has"));
  }

  @Test
  void aPortInUseIsTold() throws IOException {
    try (var taken = new ServerSocket()) {
      taken.bind(new InetSocketAddress(InetAddress.getByName("127.0.0.2"), 0));

      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> CarrelServer.requireFree(taken.getInetAddress(), taken.getLocalPort()))
          .withMessageStartingWith("port: cannot listen on 127.0.0.2")
          .satisfies(e -> assertThat(e.hint().orElseThrow()).contains("stop what listens there"));
    }
  }
}
