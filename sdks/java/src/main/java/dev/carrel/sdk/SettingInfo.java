package dev.carrel.sdk;

/**
 * A setting of the server that can change while it runs.
 *
 * @param value a number, a boolean or a string
 * @param configured what it is without a change
 * @param changed whether an administrator changed it
 */
public record SettingInfo(String name, Object value, Object configured, boolean changed) {}
