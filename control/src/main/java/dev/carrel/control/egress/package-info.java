/** What sandboxes may reach: the policy of each, its gate in the proxy, and what was decided. */
@NullMarked
package dev.carrel.control.egress;

import org.jspecify.annotations.NullMarked;
