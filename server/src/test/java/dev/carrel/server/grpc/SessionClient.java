package dev.carrel.server.grpc;

import dev.carrel.protocols.sandbox.CreateSessionRequest;
import dev.carrel.protocols.sandbox.CreateSessionResponse;
import dev.carrel.protocols.sandbox.DestroySessionRequest;
import dev.carrel.protocols.sandbox.DestroySessionResponse;
import dev.carrel.protocols.sandbox.ExecRequest;
import dev.carrel.protocols.sandbox.ExecResponse;
import dev.carrel.protocols.sandbox.ExecStreamRequest;
import dev.carrel.protocols.sandbox.ExecStreamResponse;
import dev.carrel.protocols.sandbox.GetSessionRequest;
import dev.carrel.protocols.sandbox.GetSessionResponse;
import dev.carrel.protocols.sandbox.ListSessionsRequest;
import dev.carrel.protocols.sandbox.ListSessionsResponse;
import dev.carrel.protocols.sandbox.PipInstallRequest;
import dev.carrel.protocols.sandbox.ReadFileRequest;
import dev.carrel.protocols.sandbox.ReadFileResponse;
import dev.carrel.protocols.sandbox.SessionInfo;
import dev.carrel.protocols.sandbox.WriteFileRequest;
import dev.carrel.protocols.sandbox.WriteFileResponse;
import java.util.Iterator;
import java.util.List;

/** {@code sandbox.v1} as its own clients call it. */
record SessionClient(GrpcClient grpc) {
  static final String SERVICE = "sandbox.v1.SandboxService/";

  SessionInfo create(CreateSessionRequest request) {
    return grpc.ask(SERVICE + "CreateSession", request, CreateSessionResponse.getDefaultInstance())
        .getSession();
  }

  String create() {
    return create(CreateSessionRequest.getDefaultInstance()).getSessionId();
  }

  SessionInfo get(String id) {
    return grpc.ask(
            SERVICE + "GetSession",
            GetSessionRequest.newBuilder().setSessionId(id).build(),
            GetSessionResponse.getDefaultInstance())
        .getSession();
  }

  boolean destroy(String id) {
    return grpc.ask(
            SERVICE + "DestroySession",
            DestroySessionRequest.newBuilder().setSessionId(id).build(),
            DestroySessionResponse.getDefaultInstance())
        .getSuccess();
  }

  List<String> list() {
    return grpc
        .ask(
            SERVICE + "ListSessions",
            ListSessionsRequest.getDefaultInstance(),
            ListSessionsResponse.getDefaultInstance())
        .getSessionsList()
        .stream()
        .map(SessionInfo::getSessionId)
        .toList();
  }

  ExecResponse exec(ExecRequest request) {
    return grpc.ask(SERVICE + "Exec", request, ExecResponse.getDefaultInstance());
  }

  ExecResponse exec(String id, String command) {
    return exec(ExecRequest.newBuilder().setSessionId(id).setCommand(command).build());
  }

  Iterator<ExecStreamResponse> stream(String id, String command) {
    return grpc.stream(
        SERVICE + "ExecStream",
        ExecStreamRequest.newBuilder().setSessionId(id).setCommand(command).build(),
        ExecStreamResponse.getDefaultInstance());
  }

  WriteFileResponse write(String id, String path, String content, String mode) {
    return grpc.ask(
        SERVICE + "WriteFile",
        WriteFileRequest.newBuilder()
            .setSessionId(id)
            .setPath(path)
            .setContent(content)
            .setMode(mode)
            .build(),
        WriteFileResponse.getDefaultInstance());
  }

  ReadFileResponse read(String id, String path) {
    return grpc.ask(
        SERVICE + "ReadFile",
        ReadFileRequest.newBuilder().setSessionId(id).setPath(path).build(),
        ReadFileResponse.getDefaultInstance());
  }

  ExecResponse pip(String id, String... packages) {
    return grpc.ask(
        SERVICE + "PipInstall",
        PipInstallRequest.newBuilder().setSessionId(id).addAllPackages(List.of(packages)).build(),
        ExecResponse.getDefaultInstance());
  }
}
