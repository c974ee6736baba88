/** What is offered over MCP: tools in sets, prompts, resources. Each is a call on control. */
@NullMarked
package dev.carrel.server.tools;

import org.jspecify.annotations.NullMarked;
