package dev.carrel.egress;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.net.InetAddress;
import java.net.NetworkInterface;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class AddressesTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.100.100.200",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "168.63.129.16",
        "169.254.169.254",
        "169.254.170.2",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::7f00:1",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "100::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "3fff::1",
        "4000::1",
        "5f00::1"
      })
  void whatIsNotTheInternetIsRefused(String address) {
    var addresses = new Addresses(List.of(), List.of());
    assertThatExceptionOfType(RefusedException.class)
        .isThrownBy(
            () ->
                addresses.require(Target.parse("a.example:443", 0), InetAddress.ofLiteral(address)))
        .matches(e -> e.reason() == Reason.ADDRESS);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "1.1.1.1",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "128.0.0.1",
        "169.253.255.255",
        "172.15.255.255",
        "172.32.0.0",
        "192.167.255.255",
        "203.0.114.0",
        "223.255.255.255",
        "2606:2800::1",
        "2a00::1",
        "2003::1"
      })
  void theInternetIsNot(String address) {
    assertThat(Addresses.special(InetAddress.ofLiteral(address))).isEmpty();
  }

  @Test
  void operatorOpensAHostOrARange() throws Exception {
    var addresses =
        new Addresses(
            List.of(HostPattern.parse("*.corp.example:8443")),
            List.of(AddressRange.parse("10.1.0.0/17")));
    addresses.require(Target.parse("a.corp.example:8443", 0), InetAddress.ofLiteral("192.168.1.1"));
    addresses.require(Target.parse("b.example:443", 0), InetAddress.ofLiteral("10.1.127.255"));
    for (Map.Entry<String, String> refused :
        Map.of(
                "a.corp.example:443", "192.168.1.1",
                "b.example:443", "10.1.128.0",
                "evil.example:8443", "192.168.1.1")
            .entrySet()) {
      assertThatExceptionOfType(RefusedException.class)
          .isThrownBy(
              () ->
                  addresses.require(
                      Target.parse(refused.getKey(), 0),
                      InetAddress.ofLiteral(refused.getValue())));
    }
  }

  /** Over the loopback, past every firewall, and as somebody whom its services trust. */
  @Test
  void thisHostIsNotTheInternetByAnyOfItsAddresses() throws Exception {
    InetAddress own = InetAddress.ofLiteral("2a01:db9::1");
    InetAddress next = InetAddress.ofLiteral("2a01:db9::2");
    Target target = Target.parse("[2a01:db9::1]:9100", 0);
    var closed = new Addresses(List.of(), List.of(), own::equals);
    for (Judging judging : List.<Judging>of(closed::require, closed::requireInternet)) {
      assertThatExceptionOfType(RefusedException.class)
          .isThrownBy(() -> judging.require(target, own))
          .matches(e -> e.reason() == Reason.ADDRESS)
          .withMessageContaining("this host's own");
      judging.require(target, next);
    }
    var opened =
        new Addresses(List.of(HostPattern.parse("[2a01:db9::1]:9100")), List.of(), own::equals);
    opened.require(target, own);
    assertThatExceptionOfType(RefusedException.class)
        .isThrownBy(() -> opened.require(Target.parse("[2a01:db9::1]:22", 0), own));
  }

  private interface Judging {
    void require(Target target, InetAddress address) throws RefusedException;
  }

  @Test
  void interfacesTellWhichAddressesAreThisHosts() throws Exception {
    var own = new OwnAddresses();
    assertThat(NetworkInterface.networkInterfaces().flatMap(NetworkInterface::inetAddresses))
        .isNotEmpty()
        .allMatch(own);
    assertThat(own.test(InetAddress.ofLiteral("93.184.216.34"))).isFalse();
  }

  /** An address that Java maps back to IPv4 is judged as that. */
  @Test
  void mappedAddressesAreIpv4() throws Exception {
    byte[] mapped = new byte[16];
    mapped[10] = mapped[11] = (byte) 0xff;
    mapped[12] = 127;
    mapped[15] = 1;
    assertThat(Addresses.special(InetAddress.getByAddress(mapped))).contains("loopback");
  }

  @ParameterizedTest
  @ValueSource(strings = {"10.0.0.0/33", "10.0.0.0", "10.0.0/8", "::/129", "a/8", "10.0.0.0/-1"})
  void rangesAreRanges(String text) {
    assertThatIllegalArgumentException().isThrownBy(() -> AddressRange.parse(text));
  }
}
