package dev.carrel.control.sandbox;

/**
 * Why a sandbox is not running.
 *
 * @param cause a word for programs: start_failed, lost, idle, out_of_memory, killed, crashed,
 *     stopped, canary, unknown
 * @param message what happened
 * @param hint what to do about it
 */
public record Failure(String cause, String message, String hint) {
  /** It tried to let out a secret that nobody needs, and its engine could not hold it. */
  public static final String CANARY = "canary";
}
