/** Pages and searches of the web, for agents: fetched under a policy, and made readable. */
@NullMarked
package dev.carrel.control.web;

import org.jspecify.annotations.NullMarked;
