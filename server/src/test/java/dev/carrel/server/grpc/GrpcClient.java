package dev.carrel.server.grpc;

import com.google.protobuf.Message;
import dev.carrel.server.LiveServer;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import java.net.URI;
import java.time.Duration;
import java.util.Iterator;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** A client of the port of gRPC. */
final class GrpcClient implements AutoCloseable {
  private final ManagedChannel channel;
  private final Channel calls;
  private CallOptions options = CallOptions.DEFAULT;

  private GrpcClient(ManagedChannel channel, @Nullable String token) {
    this.channel = channel;
    this.calls = token == null ? channel : ClientInterceptors.intercept(channel, bearer(token));
  }

  static GrpcClient to(LiveServer server, @Nullable String token) {
    return to(server.server().grpcUri().orElseThrow(), token);
  }

  static GrpcClient to(URI address, @Nullable String token) {
    return new GrpcClient(
        NettyChannelBuilder.forAddress(address.getHost(), address.getPort()).usePlaintext().build(),
        token);
  }

  static GrpcClient over(ManagedChannel channel, String token) {
    return new GrpcClient(channel, token);
  }

  private static io.grpc.ClientInterceptor bearer(String token) {
    var metadata = new Metadata();
    metadata.put(
        Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER), "Bearer " + token);
    return MetadataUtils.newAttachHeadersInterceptor(metadata);
  }

  GrpcClient within(Duration time) {
    options = options.withDeadlineAfter(time.toMillis(), TimeUnit.MILLISECONDS);
    return this;
  }

  Channel channel() {
    return calls;
  }

  <Q extends Message, A extends Message> A ask(String method, Q question, A answer) {
    return ClientCalls.blockingUnaryCall(
        calls, descriptor(MethodType.UNARY, method, question, answer), options, question);
  }

  <Q extends Message, A extends Message> Iterator<A> stream(String method, Q question, A answer) {
    return ClientCalls.blockingServerStreamingCall(
        calls,
        descriptor(MethodType.SERVER_STREAMING, method, question, answer),
        options,
        question);
  }

  static <Q extends Message, A extends Message> MethodDescriptor<Q, A> descriptor(
      MethodType type, String method, Q question, A answer) {
    return MethodDescriptor.<Q, A>newBuilder()
        .setType(type)
        .setFullMethodName(method)
        .setRequestMarshaller(ProtoUtils.marshaller(question))
        .setResponseMarshaller(ProtoUtils.marshaller(answer))
        .build();
  }

  @Override
  public void close() {
    channel.shutdownNow();
  }
}
