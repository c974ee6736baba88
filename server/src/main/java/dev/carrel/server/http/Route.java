package dev.carrel.server.http;

import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * One method on one path.
 *
 * @param method {@link #ANY} for all that have no route of their own
 * @param template segments with parameters in braces; a last {@code {name...}} takes the rest of
 *     the path
 */
public record Route(
    String method,
    String template,
    Access access,
    Handler handler,
    AtomicReferenceArray<Object> meters) {

  /** Stands for every method. */
  public static final String ANY = "*";

  Route(String method, String template, Access access, Handler handler) {
    this(method, template, access, handler, new AtomicReferenceArray<>(6));
  }

  /** Who may call. */
  public enum Access {
    /** Anyone; only for what says nothing about anybody. */
    OPEN,
    TOKEN,
    /** Whoever the handler lets in: it sees to tokens and to where a browser comes from. */
    OWN
  }

  /** Answers a request. */
  @FunctionalInterface
  public interface Handler {
    void handle(Exchange exchange) throws Exception;
  }
}
