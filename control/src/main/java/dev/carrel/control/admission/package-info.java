/** Who may begin now and who waits: bounded, fair between tenants. */
@NullMarked
package dev.carrel.control.admission;

import org.jspecify.annotations.NullMarked;
