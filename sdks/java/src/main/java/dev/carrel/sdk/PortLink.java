package dev.carrel.sdk;

/**
 * Opens one port of one sandbox for whoever has it.
 *
 * @param url of what listens there, by the address that this client uses
 * @param path the same on the server, by whatever name it is addressed
 * @param expiresAt when it ends
 */
public record PortLink(String url, String path, int port, String expiresAt) {}
