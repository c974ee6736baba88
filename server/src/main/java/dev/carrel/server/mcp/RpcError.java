package dev.carrel.server.mcp;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.carrel.server.http.HttpProblem;
import org.jspecify.annotations.Nullable;

/** A request that the protocol refuses, as opposed to a tool that failed. */
public final class RpcError extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private final int code;
  private final int status;
  private final transient @Nullable JsonNode data;

  private RpcError(int code, int status, String message, @Nullable JsonNode data) {
    // Made for every bad request: its stack is of no interest and would only cost.
    super(message, null, false, false);
    this.code = code;
    this.status = status;
    this.data = data;
  }

  public static RpcError invalidParams(String message) {
    return new RpcError(Protocol.INVALID_PARAMS, 200, message, null);
  }

  public static RpcError invalidParams(String message, JsonNode data) {
    return new RpcError(Protocol.INVALID_PARAMS, 200, message, data);
  }

  /** The client did not say that it can do what this request needs. */
  public static RpcError missingCapability(String name) {
    ObjectNode data = Protocol.object();
    data.set("requiredCapabilities", Protocol.object().set(name, Protocol.object()));
    return new RpcError(
        Protocol.MISSING_CAPABILITY,
        400,
        "this request needs the client capability '" + name + "', which was not declared",
        data);
  }

  static RpcError resourceNotFound(int code, String uri) {
    return new RpcError(code, 200, "there is no such resource", Protocol.object().put("uri", uri));
  }

  static RpcError malformed(int code, String message) {
    return new RpcError(code, 400, message, null);
  }

  /** A body of which not even the id of the request is known. */
  static RpcError unreadable(HttpProblem problem) {
    int code = problem.status() == 400 ? Protocol.PARSE_ERROR : Protocol.INVALID_REQUEST;
    return new RpcError(code, problem.status(), problem.detail(), null);
  }

  static RpcError methodNotFound(String method, int status) {
    return new RpcError(Protocol.METHOD_NOT_FOUND, status, "there is no method " + method, null);
  }

  static RpcError unsupportedVersion(String requested) {
    ObjectNode data = Protocol.object();
    data.putArray("supported").add(Protocol.MODERN);
    data.put("requested", requested);
    return new RpcError(
        Protocol.UNSUPPORTED_VERSION, 400, "unsupported protocol version " + requested, data);
  }

  static RpcError noSession() {
    return new RpcError(
        Protocol.INVALID_REQUEST, 404, "there is no such session; initialize a new one", null);
  }

  static RpcError tooMany(String message) {
    return new RpcError(Protocol.INTERNAL_ERROR, 429, message, null);
  }

  static RpcError internal() {
    return new RpcError(
        Protocol.INTERNAL_ERROR, 200, "the server failed; its log has the reason", null);
  }

  /** Of the answer over HTTP. */
  int status() {
    return status;
  }

  String message() {
    return String.valueOf(getMessage());
  }

  int code() {
    return code;
  }

  /** The answer to the request of this id. */
  ObjectNode reply(@Nullable JsonNode id) {
    ObjectNode message = Protocol.object().put("jsonrpc", "2.0");
    message.set("id", id == null ? message.nullNode() : id);
    ObjectNode error = message.putObject("error").put("code", code).put("message", message());
    if (data != null) {
      error.set("data", data);
    }
    return message;
  }
}
