package dev.carrel.sdk;

/** An error of the language itself, for example a ZeroDivisionError. */
public record CodeError(String type, String message, String traceback) {}
