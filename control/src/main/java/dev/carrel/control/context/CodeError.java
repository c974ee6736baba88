package dev.carrel.control.context;

/**
 * Why a cell failed.
 *
 * @param type the language's own name of it, or one of TimeoutError, KernelDied, OutOfMemory
 */
public record CodeError(String type, String message, String traceback) {}
