package dev.carrel.server.grpc;

import com.google.protobuf.Message;
import dev.carrel.spi.SandboxException;
import java.io.IOException;

/**
 * A method and what serves it.
 *
 * @param question an empty message of the kind that clients send
 * @param answer an empty one of the kind that they get
 */
record Method<Q extends Message, A extends Message>(
    String name, Shape shape, Q question, A answer, Handler<Q, A> handler) {

  /** How many messages go each way. */
  enum Shape {
    /** One each. */
    UNARY,
    /** One question, many answers. */
    ANSWERS,
    /** Many each, in whatever order. */
    BOTH
  }

  /** Serves a call to its end. */
  interface Handler<Q extends Message, A extends Message> {
    void serve(Call<Q, A> call) throws IOException, InterruptedException;
  }

  /** Answers one question. */
  interface Unary<Q extends Message, A extends Message> {
    A answer(Call<Q, A> call, Q question) throws IOException, InterruptedException;
  }

  /** Answers one question bit by bit. */
  interface Streaming<Q extends Message, A extends Message> {
    void serve(Call<Q, A> call, Q question) throws IOException, InterruptedException;
  }

  static <Q extends Message, A extends Message> Method<Q, A> unary(
      String name, Q question, A answer, Unary<Q, A> handler) {
    return new Method<>(
        name, Shape.UNARY, question, answer, call -> call.send(handler.answer(call, only(call))));
  }

  static <Q extends Message, A extends Message> Method<Q, A> streaming(
      String name, Q question, A answer, Streaming<Q, A> handler) {
    return new Method<>(
        name, Shape.ANSWERS, question, answer, call -> handler.serve(call, only(call)));
  }

  static <Q extends Message, A extends Message> Method<Q, A> both(
      String name, Q question, A answer, Handler<Q, A> handler) {
    return new Method<>(name, Shape.BOTH, question, answer, handler);
  }

  private static <Q extends Message> Q only(Call<Q, ?> call) throws InterruptedException {
    Q question = call.next();
    if (question == null) {
      throw SandboxException.invalid("body", "must hold one message");
    }
    return question;
  }
}
