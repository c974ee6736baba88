/* COPY and MOVE: what arrives at a name arrives whole, by a rename; only a copy into a directory that exists is merged. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "subtree.h"

struct transfer {
	char *from_path;
	char *to_path;
	bool overwrite;
	struct place from;
	struct place to;
	struct stat source;
	bool there; /* something has the target's name */
	struct stat target;
};

static void
transfer_free(struct transfer *transfer)
{
	free_text(&transfer->from_path);
	free_text(&transfer->to_path);
	place_free(&transfer->from);
	place_free(&transfer->to);
}

/* True when a directory is the other one or lies within it. */
static bool
lies_within(int directory, const struct stat *ancestor)
{
	int fd CLEANUP(close_fd) = dup(directory);
	struct stat status, last = {0};
	while (fd >= 0 && fstat(fd, &status) == 0) {
		if (status.st_dev == ancestor->st_dev && status.st_ino == ancestor->st_ino)
			return true;
		if (status.st_dev == last.st_dev && status.st_ino == last.st_ino)
			return false; /* the top is its own parent */
		last = status;
		int up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(fd);
		fd = up;
	}
	return false;
}

/* Resolves both ends and refuses what cannot work. Answers itself when it returns false. */
static bool
prepare(struct operation *op, const char *doing, struct transfer *transfer)
{
	bool parents;
	transfer->from.parent = transfer->to.parent = -1;
	if ((transfer->from_path = ask_path(op, 10, "from")) == NULL || (transfer->to_path = ask_path(op, 11, "to")) == NULL ||
	    !ask_flag(op, 12, "overwrite", true, &transfer->overwrite) || !ask_flag(op, 13, "parents", true, &parents))
		return false;
	if (place_find(op, transfer->from_path, 0, &transfer->from) < 0 || place_stat(&transfer->from, &transfer->source) < 0) {
		fail_errno(op, errno, doing, transfer->from_path);
		return false;
	}
	if (place_find(op, transfer->to_path, parents ? PLACE_PARENTS : 0, &transfer->to) < 0) {
		fail_errno(op, errno, "write", transfer->to_path);
		return false;
	}
	transfer->there = place_stat(&transfer->to, &transfer->target) == 0;
	if (transfer->there && !transfer->overwrite) {
		fail_errno(op, EEXIST, "write", transfer->to_path);
		return false;
	}
	bool self = transfer->there && S_ISDIR(transfer->target.st_mode) && transfer->source.st_dev == transfer->target.st_dev &&
		    transfer->source.st_ino == transfer->target.st_ino;
	if (S_ISDIR(transfer->source.st_mode) && (self || lies_within(transfer->to.parent, &transfer->source))) {
		fail(op, "bad_request", EINVAL, "cannot %s %.2000s into itself (%.2000s)", doing, transfer->from_path,
		    transfer->to_path);
		return false;
	}
	return true;
}

static void
report(struct operation *op, const char *doing, const struct transfer *transfer, const struct subtree_failure *failure, bool partly)
{
	char *path = failure->path == NULL ? strdup(transfer->from_path) : join_path(transfer->from_path, failure->path);
	const char *place = path == NULL ? transfer->from_path : path;
	if (failure->error == ENXIO)
		fail(op, "not_a_file", ENXIO, "cannot %s %.4096s: it is a device, pipe or socket%s", doing, place,
		    partly ? "; everything else was copied" : "");
	else if (partly) {
		char note[64];
		snprintf(note, sizeof note, "%s all; %lld left out, first", doing, (long long)failure->skipped);
		fail_errno(op, failure->error, note, place);
	} else {
		fail_errno(op, failure->error, doing, place);
	}
	free(path);
}

static void
done(struct operation *op, const struct transfer *transfer)
{
	struct stat status;
	if (place_stat(&transfer->to, &status) < 0) {
		fail_errno(op, errno, "look at", transfer->to_path);
		return;
	}
	char target[TARGET_SIZE];
	put_entry_at(op, transfer->to_path, &status, link_target(&status, transfer->to.parent, transfer->to.name, target),
	    transfer->to.parent, transfer->to.name);
	put_ok(op);
}

static int
settle(const struct transfer *transfer, int parent, const char *name)
{
	if (transfer->overwrite)
		return renameat(parent, name, transfer->to.parent, transfer->to.name);
	return rename_new(parent, name, transfer->to.parent, transfer->to.name);
}

/* Copies to a temporary name beside the target and renames it. With `whole`, one entry left out spoils it. Returns 0, or -1
 * with the failure and nothing left behind. */
static int
copy_beside(struct operation *op, const struct transfer *transfer, bool whole, struct subtree_failure *failure)
{
	char name[32];
	sibling_name(name);
	int result = subtree_copy(op, &transfer->from, transfer->to.parent, name, false, failure);
	if (result == 0 && whole && failure->skipped > 0)
		result = -1;
	if (result == 0 && settle(transfer, transfer->to.parent, name) < 0) {
		free_text(&failure->path);
		failure->error = errno;
		result = -1;
	}
	if (result < 0)
		subtree_discard(transfer->to.parent, name);
	return result;
}

void
serve_copy(struct operation *op)
{
	struct transfer transfer CLEANUP(transfer_free) = {0};
	struct subtree_failure failure CLEANUP(subtree_failure_free) = {0};
	if (!prepare(op, "copy", &transfer))
		return;
	int result;
	if (transfer.there && S_ISDIR(transfer.target.st_mode) && S_ISDIR(transfer.source.st_mode))
		result = subtree_copy(op, &transfer.from, transfer.to.parent, transfer.to.name, true, &failure);
	else
		result = copy_beside(op, &transfer, false, &failure);
	if (result < 0 || failure.skipped > 0)
		report(op, "copy", &transfer, &failure, result == 0);
	else
		done(op, &transfer);
}

/* Each of the two is then where the other was, and at no moment is there nothing at a name. */
static void
swap(struct operation *op, const struct transfer *transfer)
{
	if (!transfer->there)
		fail_errno(op, ENOENT, "exchange with", transfer->to_path);
	else if (S_ISDIR(transfer->target.st_mode) && lies_within(transfer->from.parent, &transfer->target))
		fail(op, "bad_request", EINVAL, "cannot exchange %.2000s with what it is in (%.2000s)", transfer->from_path,
		    transfer->to_path);
	else if (rename_exchange(transfer->from.parent, transfer->from.name, transfer->to.parent, transfer->to.name) < 0)
		fail_errno(op, errno, "exchange", transfer->from_path);
	else
		done(op, transfer);
}

void
serve_move(struct operation *op)
{
	struct transfer transfer CLEANUP(transfer_free) = {0};
	struct subtree_failure failure CLEANUP(subtree_failure_free) = {0};
	bool exchange;
	if (!ask_flag(op, 14, "exchange", false, &exchange) || !prepare(op, "move", &transfer))
		return;
	if (exchange) {
		swap(op, &transfer);
		return;
	}
	if (settle(&transfer, transfer.from.parent, transfer.from.name) == 0) {
		done(op, &transfer);
		return;
	}
	if (errno != EXDEV) {
		fail_errno(op, errno, "move", transfer.from_path);
		return;
	}
	int64_t removed = 0;
	if (copy_beside(op, &transfer, true, &failure) < 0)
		report(op, "move", &transfer, &failure, false);
	else if (subtree_remove(op, transfer.from.parent, transfer.from.name, &removed, &failure) < 0)
		report(op, "remove after it was copied", &transfer, &failure, false);
	else
		done(op, &transfer);
}
