package dev.carrel.control.settings;

import dev.carrel.control.admission.QueueSettings;
import dev.carrel.control.sandbox.SandboxSettings;

/**
 * What the settings are at one moment.
 *
 * @param pools whether sandboxes are made ahead of need
 */
public record Values(SandboxSettings sandboxes, QueueSettings queue, boolean pools) {}
