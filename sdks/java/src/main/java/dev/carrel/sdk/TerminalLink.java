package dev.carrel.sdk;

/**
 * Opens one terminal for whoever has it.
 *
 * @param url of its WebSocket, by the address that this client uses
 * @param path the same on the server, by whatever name it is addressed
 * @param write whether its holder may type
 * @param expiresAt when it ends, for those who are attached, too
 */
public record TerminalLink(String url, String path, boolean write, String expiresAt) {}
