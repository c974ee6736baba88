package dev.carrel.sdk;

/**
 * One way to build images of the catalog.
 *
 * @param used whether a build would go this way now
 * @param detail where it is, or what it begins with; where it cannot be used, why and what to do
 */
public record ImageBuilder(String name, boolean usable, boolean used, String detail) {}
