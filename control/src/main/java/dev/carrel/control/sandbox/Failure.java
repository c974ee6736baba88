package dev.carrel.control.sandbox;

/**
 * Why a sandbox is not running.
 *
 * @param cause a word for programs: start_failed, lost, idle, out_of_memory, killed, crashed,
 *     stopped, unknown
 * @param message what happened
 * @param hint what to do about it
 */
public record Failure(String cause, String message, String hint) {}
