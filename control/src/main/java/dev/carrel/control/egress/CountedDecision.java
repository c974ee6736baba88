package dev.carrel.control.egress;

import dev.carrel.egress.Decision;
import java.time.Instant;

/**
 * Decisions that were alike.
 *
 * @param first when the first of them was made
 */
public record CountedDecision(Decision last, long count, Instant first) {}
