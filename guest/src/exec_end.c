/* What an exec tells its host about its start and its end. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "exec.h"
#include "server.h"

void
exec_send_started(struct exec *exec)
{
	struct writer *out = &exec->connection->out;
	frame_begin(out, FRAME_STARTED);
	put_string(out, 10, exec->id);
	put_int(out, 11, exec->pid);
	put_int(out, 12, (int64_t)exec->replay);
	frame_end(out);
	connection_flush(exec->connection);
}

static int
failure_code(const struct exec *exec)
{
	return exec->failure.stage == START_EXEC && (exec->failure.error == ENOENT || exec->failure.error == ENOTDIR) ? 127
														      : 126;
}

static void
put_failure(const struct exec *exec, struct writer *out)
{
	static const char *const stages[] = {
		[START_OK] = "lost",
		[START_FORK] = "cannot make a process",
		[START_SETUP] = "cannot prepare the process",
		[START_DIRECTORY] = "cannot enter the working directory",
		[START_EXEC] = "cannot run the program",
	};
	char message[160];
	snprintf(message, sizeof message, "%s: %s", stages[exec->failure.stage], strerror(exec->failure.error));
	put_int(out, 30, failure_code(exec));
	put_string(out, 33, message);
}

void
exec_put_end(const struct exec *exec, struct writer *out)
{
	if (!exec->started)
		put_failure(exec, out);
	else if (WIFSIGNALED(exec->last.status))
		put_int(out, 31, WTERMSIG(exec->last.status));
	else
		put_int(out, 30, WEXITSTATUS(exec->last.status));
	put_int(out, 32, exec->timed_out);
	put_int(out, 34, exec->end - exec->begin);
}

void
exec_send_exited(struct exec *exec)
{
	struct writer *out = &exec->connection->out;
	if (!exec->changes.failed)
		writer_bytes(out, exec->changes.data, exec->changes.length);
	frame_begin(out, FRAME_EXITED);
	exec_put_end(exec, out);
	put_int(out, 35, exec->last.cpu_us);
	put_int(out, 36, exec->last.max_rss_bytes);
	put_int(out, 37, exec->last.left);
	put_int(out, 38, exec->killed);
	if (exec->mark.truncated || exec->changes.failed)
		put_int(out, 39, 1);
	frame_end(out);
}
