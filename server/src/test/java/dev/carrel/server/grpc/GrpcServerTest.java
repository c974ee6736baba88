package dev.carrel.server.grpc;

import static dev.carrel.server.grpc.SandboxSessionsTest.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import dev.carrel.control.sandbox.Caller;
import dev.carrel.protocols.sandbox.CreateSessionRequest;
import dev.carrel.server.LiveServer;
import dev.carrel.server.SelfSigned;
import dev.carrel.server.SharedServer;
import dev.carrel.spi.SandboxException;
import io.grpc.Status;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.reflection.v1.ServerReflectionGrpc;
import io.grpc.reflection.v1.ServerReflectionRequest;
import io.grpc.reflection.v1.ServerReflectionResponse;
import io.grpc.stub.StreamObserver;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

@ExtendWith(SharedServer.class)
class GrpcServerTest {
  private final LiveServer server;

  GrpcServerTest(LiveServer server) {
    this.server = server;
  }

  @Test
  void withoutATokenNothingIsAnswered() {
    try (GrpcClient nobody = GrpcClient.to(server, null);
        GrpcClient stranger = GrpcClient.to(server, "carrel_wrong-wrong-wrong")) {
      var without = new SessionClient(nobody);
      var wrong = new SessionClient(stranger);
      refused(Status.Code.UNAUTHENTICATED, "bearer token", without::list);
      refused(Status.Code.UNAUTHENTICATED, "not valid", wrong::list);
      refused(Status.Code.UNAUTHENTICATED, "", without::create);
      refused(
          Status.Code.UNAUTHENTICATED,
          "",
          () -> without.stream("x", "true").forEachRemaining(e -> {}));
    }
  }

  @Test
  void anotherTenantsSessionDoesNotExist() {
    try (GrpcClient one = GrpcClient.to(server, LiveServer.ADA);
        GrpcClient other = GrpcClient.to(server, LiveServer.BOB)) {
      var ada = new SessionClient(one);
      var bob = new SessionClient(other);
      var request = CreateSessionRequest.newBuilder().setSessionId("shared-name").build();
      String sandbox = ada.create(request).getContainerId();
      try {
        ada.write("shared-name", "secret", "ada's", "w");
        for (String id : List.of("shared-name", sandbox)) {
          refused(Status.Code.NOT_FOUND, "Session not found", () -> bob.get(id));
          assertThat(bob.exec(id, "cat secret").getStderr()).isEqualTo("Session not found");
          assertThat(bob.read(id, "secret").getError()).isEqualTo("Session not found");
          assertThat(bob.destroy(id)).isFalse();
        }
        assertThat(bob.list()).doesNotContain("shared-name", sandbox);
        assertThat(bob.create(request).getContainerId()).isNotEqualTo(sandbox);
        assertThat(bob.read("shared-name", "secret").getError()).isEqualTo("File not found");
      } finally {
        bob.destroy("shared-name");
        assertThat(ada.destroy("shared-name")).isTrue();
      }
    }
  }

  @Test
  void aMessageBeyondTheLimitIsRefused() {
    try (GrpcClient client = GrpcClient.to(server, LiveServer.ADA)) {
      var sessions = new SessionClient(client);
      String huge = "x".repeat(5 << 20);
      refused(Status.Code.RESOURCE_EXHAUSTED, "", () -> sessions.write("any", "file", huge, "w"));
      assertThat(sessions.list()).isNotNull();
    }
  }

  @Test
  void healthIsOpenAndReflectionIsNot() throws Exception {
    try (GrpcClient nobody = GrpcClient.to(server, null);
        GrpcClient client = GrpcClient.to(server, LiveServer.ADA)) {
      assertThat(
              nobody
                  .ask(
                      "grpc.health.v1.Health/Check",
                      HealthCheckRequest.getDefaultInstance(),
                      HealthCheckResponse.getDefaultInstance())
                  .getStatus())
          .isEqualTo(HealthCheckResponse.ServingStatus.SERVING);
      assertThat(services(nobody)).isCompletedExceptionally();
      assertThat(services(client).get())
          .contains("sandbox.v1.SandboxService", "grpc.health.v1.Health");
    }
  }

  private static CompletableFuture<List<String>> services(GrpcClient client) {
    var names = new CompletableFuture<List<String>>();
    StreamObserver<ServerReflectionRequest> asking =
        ServerReflectionGrpc.newStub(client.channel())
            .serverReflectionInfo(
                new StreamObserver<>() {
                  @Override
                  public void onNext(ServerReflectionResponse answer) {
                    names.complete(
                        answer.getListServicesResponse().getServiceList().stream()
                            .map(service -> service.getName())
                            .toList());
                  }

                  @Override
                  public void onError(Throwable e) {
                    names.completeExceptionally(e);
                  }

                  @Override
                  public void onCompleted() {
                    names.completeExceptionally(new IllegalStateException("no answer"));
                  }
                });
    asking.onNext(ServerReflectionRequest.newBuilder().setListServices("").build());
    names.handle((_, _) -> null).orTimeout(30, TimeUnit.SECONDS).join();
    return names;
  }

  @Test
  void theNetworkIsReachedOverTlsOnly() {
    var open = GrpcSettings.defaults().withAddress("0.0.0.0", 0);
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> listen(open))
        .withMessageContaining("0.0.0.0 can be reached from other machines")
        .satisfies(e -> assertThat(e.hint().orElseThrow()).contains("grpc.tls-certificate"));
  }

  @Test
  void tlsCarriesCalls(@TempDir Path folder) throws Exception {
    var own = SelfSigned.in(folder);
    Path certificate = own.certificate();
    Path key = own.key();
    try (GrpcApi api =
        listen(GrpcSettings.defaults().withAddress("0.0.0.0", 0).withTls(certificate, key))) {
      int port = api.uri().orElseThrow().getPort();
      assertThat(api.uri().orElseThrow().getScheme()).isEqualTo("grpcs");
      var trusting =
          NettyChannelBuilder.forAddress("localhost", port)
              .sslContext(GrpcSslContexts.forClient().trustManager(certificate.toFile()).build())
              .build();
      try (GrpcClient client = GrpcClient.over(trusting, LiveServer.ADA)) {
        assertThat(new SessionClient(client).list()).isNotNull();
      }
      try (GrpcClient plain =
          GrpcClient.to(URI.create("grpc://127.0.0.1:" + port), LiveServer.ADA)) {
        refused(Status.Code.UNAVAILABLE, "", () -> new SessionClient(plain).list());
      }
    }
    Files.writeString(key, "nonsense");
    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(
            () ->
                listen(
                    GrpcSettings.defaults().withAddress("127.0.0.1", 0).withTls(certificate, key)))
        .withMessageContaining("cannot be used");
  }

  @Test
  void aPortInUseIsToldAtOnce() throws Exception {
    try (var taken = new ServerSocket()) {
      taken.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      var settings = GrpcSettings.defaults().withAddress("127.0.0.1", taken.getLocalPort());
      assertThatExceptionOfType(SandboxException.class)
          .isThrownBy(() -> listen(settings))
          .withMessageStartingWith("grpc.port: cannot listen on 127.0.0.1:" + taken.getLocalPort());
    }
  }

  @Test
  void anAddressOfAnotherHostIsToldApartFromAPortInUse(@TempDir Path folder) throws Exception {
    var own = SelfSigned.in(folder);
    // For documentation alone (RFC 5737): no host has it.
    var elsewhere =
        GrpcSettings.defaults().withAddress("192.0.2.1", 0).withTls(own.certificate(), own.key());

    assertThatExceptionOfType(SandboxException.class)
        .isThrownBy(() -> listen(elsewhere))
        .withMessageStartingWith("grpc.listen: cannot listen on 192.0.2.1:0")
        .satisfies(
            e -> assertThat(e.hint().orElseThrow()).contains("an address that this host has"));
  }

  @Test
  void noMoreConnectionsThanSettled() throws Exception {
    GrpcSettings usual = GrpcSettings.defaults();
    var two =
        new GrpcSettings(true, "127.0.0.1", 0, null, null, usual.maxMessage(), 2, usual.maxCalls());
    try (GrpcApi api = listen(two)) {
      URI address = api.uri().orElseThrow();
      try (var first = new Socket(address.getHost(), address.getPort());
          var second = new Socket(address.getHost(), address.getPort())) {
        // The server speaks first: they are in.
        assertThat(first.getInputStream().read()).isNotNegative();
        assertThat(second.getInputStream().read()).isNotNegative();
        try (var third = new Socket(address.getHost(), address.getPort())) {
          assertThat(third.getInputStream().read()).isNegative();
        }
      }
    }
  }

  @Test
  void whatWasNeverUsedEndsAtOnce() throws Exception {
    GrpcApi api = listen(GrpcSettings.defaults().withAddress("127.0.0.1", 0));
    int port = api.uri().orElseThrow().getPort();
    api.close();
    try (var again = new ServerSocket()) {
      again.setReuseAddress(true);
      again.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
      assertThat(again.isBound()).isTrue();
    }
  }

  private GrpcApi listen(GrpcSettings settings) {
    var api =
        new GrpcApi(
            settings,
            server.control(),
            token ->
                token.equals(LiveServer.ADA)
                    ? Optional.of(Caller.user("acme", "ada"))
                    : Optional.empty(),
            new SimpleMeterRegistry(),
            Duration.ofSeconds(5));
    api.listen();
    return api;
  }
}
