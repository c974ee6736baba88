package dev.carrel.e2e.functional;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import dev.carrel.bench.ServerProcess;
import dev.carrel.e2e.Api;
import dev.carrel.e2e.Carrel;
import dev.carrel.protocols.sandbox.SessionInfo;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * Stock clients of gRPC, as their package managers install them, with the proto of the contract.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class GrpcClientsIT {
  private static final Path PROTOS = Path.of(System.getProperty("carrel.root"), "spec", "proto");

  private ServerProcess server;
  private Api api;

  @BeforeAll
  void serve(@TempDir Path folder) throws Exception {
    server = Carrel.start(folder, Map.of());
    api = new Api(server.address(), server.token());
  }

  @AfterAll
  void end() {
    api.close();
    server.close();
  }

  @Test
  void python() throws Exception {
    var program = new ClientProgram("pypi-grpc");
    String python = program.file("venv/bin/python");
    program.succeed("/usr/bin/python3", "-m", "venv", "venv");
    program.succeed(
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "grpcio==1.85.1",
        "grpcio-tools==1.85.1",
        "grpcio-health-checking==1.85.1");
    program.succeed(
        python,
        "-m",
        "grpc_tools.protoc",
        "-I" + PROTOS,
        "--python_out=.",
        "--grpc_python_out=.",
        PROTOS.resolve("sandbox/v1/sandbox.proto").toString(),
        PROTOS.resolve("carrel/v1/carrel.proto").toString());
    program.copy("grpc_client.py");
    assertThat(
            program.run(
                List.of(
                    python,
                    "grpc_client.py",
                    server.grpc().getAuthority(),
                    key("acme"),
                    key("bolt"),
                    Carrel.KEEPS_VOLUMES ? "volumes" : "nothing")))
        .contains(" passed, 0 failed");
  }

  @Test
  void web() throws Exception {
    var program = new ClientProgram("npm-grpc-web");
    program.write("package.json", "{\"private\":true}");
    program.succeed(
        "npm",
        "install",
        "--no-audit",
        "--no-fund",
        "--no-package-lock",
        "@bufbuild/protobuf@2.17.0",
        "@connectrpc/connect@2.2.0",
        "@connectrpc/connect-web@2.2.0");
    var descriptors = FileDescriptorSet.newBuilder();
    descriptors.addFile(SessionInfo.getDescriptor().getFile().toProto());
    Files.write(Path.of(program.file("sandbox.bin")), descriptors.build().toByteArray());
    program.copy("grpc_web.mjs");
    assertThat(
            program.run(
                List.of(
                    "node",
                    "grpc_web.mjs",
                    server.address().toString(),
                    key("acme"),
                    "sandbox.bin")))
        .contains(" passed, 0 failed");
  }

  private String key(String tenant) {
    return api.call(
            "POST",
            "/api/v1/keys",
            "{\"name\":\"e2e\",\"tenant\":\"%s\",\"principal\":\"ada\"}".formatted(tenant))
        .json()
        .get("key")
        .asText();
  }
}
