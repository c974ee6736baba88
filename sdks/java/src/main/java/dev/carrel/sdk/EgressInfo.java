package dev.carrel.sdk;

/**
 * The network of one sandbox.
 *
 * @param draft the least policy that allows what passed lately
 */
public record EgressInfo(
    NetworkPolicy policy, long sentBytes, long receivedBytes, NetworkPolicy draft) {}
