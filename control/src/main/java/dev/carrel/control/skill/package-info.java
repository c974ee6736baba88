/** What tenants teach their agents: folders with instructions, kept here and given to sandboxes. */
@NullMarked
package dev.carrel.control.skill;

import org.jspecify.annotations.NullMarked;
