/* ADOPT: a kernel that a zygote forks into this sandbox becomes an exec. The host hands over our ends of its streams and of
 * its keeper's channel; from the keeper's first report on there is no difference. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "exec.h"
#include "server.h"

/* In the order in which they come: see spec/guest-protocol.md. */
enum { PASSED_OUTPUT, PASSED_ERROR, PASSED_CONTROL_INPUT, PASSED_CONTROL_OUTPUT, PASSED_CHANNEL };

/* Programs get the descriptors up to 4, so ours lie above; and we never wait for one. */
static bool
take_over(int *fd)
{
	int moved = *fd > 4 ? *fd : fcntl(*fd, F_DUPFD_CLOEXEC, 5);
	if (moved < 0)
		return false;
	if (moved != *fd)
		close(*fd);
	*fd = moved;
	return fcntl(moved, F_SETFL, O_NONBLOCK) == 0;
}

static void
adopt(struct connection *connection, struct exec *exec)
{
	int *passed = connection->passed;
	const struct ends ours = {.input = -1, .output = passed[PASSED_OUTPUT], .error = passed[PASSED_ERROR],
		.control_input = passed[PASSED_CONTROL_INPUT], .control_output = passed[PASSED_CONTROL_OUTPUT],
		.channel = passed[PASSED_CHANNEL], .keeper_channel = -1};
	connection->passed_count = 0;
	/* It runs on its own; its keeper tells the pid when it has come to be one. */
	exec->keep = exec->adopted = exec->started = true;
	exec_set_ends(exec, &ours);
	execs_add(exec);
	if (!source_watch(&exec->keeper, EPOLLIN))
		exec_order(exec, SIGKILL, SCOPE_TREE);
	frame_begin(&connection->out, FRAME_OK);
	frame_end(&connection->out);
	connection_finish(connection);
}

void
exec_adopt(struct connection *connection, struct bytes payload)
{
	struct bytes id;
	struct exec *exec = NULL;
	bool whole = connection->passed_count == PASSED_MAX;
	for (int i = 0; i < PASSED_MAX && whole; i++)
		whole = take_over(&connection->passed[i]);
	if (!whole)
		connection_error(connection, "bad_request", "ADOPT comes with five descriptors", 0);
	else if (!field_find(payload, 10, &id) || !exec_id_valid(id))
		connection_error(connection, "bad_request", "exec_id must be 1 to 64 of [a-zA-Z0-9_-]", 0);
	else if (exec_find(id) != NULL)
		connection_error(connection, "exists", "another exec has this exec_id: FORGET it, or choose a new one", 0);
	else if (guest.stopping || execs_running() >= EXECS_MAX)
		connection_error(connection, "busy", guest.stopping ? "the guest is shutting down" : "too many execs", 0);
	else if ((exec = exec_new(id, 0)) == NULL)
		connection_error(connection, "io", "no memory in the sandbox for another exec", ENOMEM);
	else
		adopt(connection, exec);
}
