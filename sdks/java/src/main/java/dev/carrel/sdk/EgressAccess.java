package dev.carrel.sdk;

/**
 * How to reach the proxy as a sandbox.
 *
 * @param proxyUrl for {@code HTTP_PROXY} and {@code HTTPS_PROXY}; has a secret in it
 * @param expiresAt in ISO-8601
 */
public record EgressAccess(String proxyUrl, String expiresAt) {}
