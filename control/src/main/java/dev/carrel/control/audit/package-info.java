/**
 * Who did what: append-only records, chained by hashes and signed, so that whoever changes the
 * database is found out.
 */
@NullMarked
package dev.carrel.control.audit;

import org.jspecify.annotations.NullMarked;
