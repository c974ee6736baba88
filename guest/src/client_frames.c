/* Requests as they come and answers as they go. Clients are of our own user, but their bytes are checked like anybody's. */
#include "client_frames.h"

#include <string.h>
#include <sys/wait.h>

#include "volume.h"

const struct limits usual_limits = {.memory = 256 << 20, .cpu = 1000, .pids = 128, .disk = 64 << 20, .nofile = 1024};

void
answer_ok(struct writer *out)
{
	frame_begin(out, OK);
	frame_end(out);
}

void
answer_failed(struct writer *out, const struct failure *failure)
{
	frame_begin(out, FAILED);
	put_string(out, TAG_KIND, failure_kind_name(failure->kind));
	put_string(out, TAG_STEP, failure->step);
	put_int(out, TAG_ERRNO, failure->error);
	put_string(out, TAG_MESSAGE, failure->message);
	frame_end(out);
}

void
put_measures(struct writer *out, const struct measures *measures)
{
	char text[DETAIL_MAX + 40];
	for (int i = 0; i < MEASURE_COUNT; i++) {
		snprintf(text, sizeof text, "%c%s %s", measures->applied[i] ? '+' : '-', measure_name((enum measure)i), measures->detail[i]);
		put_string(out, TAG_MEASURE, text);
	}
}

static void
put_groups(struct writer *out, const struct hierarchies *groups)
{
	char text[CGROUP_PATH_MAX + 64];
	for (int i = 0; i < groups->count; i++)
		for (int c = 0; c < CG_COUNT; c++)
			if (groups->at[i].controllers & 1u << c) {
				snprintf(text, sizeof text, "%s %d %s", controller_name((enum controller)c), groups->at[i].v2 ? 2 : 1,
					groups->at[i].path);
				put_string(out, TAG_CGROUP, text);
			}
}

void
answer_sandbox(struct writer *out, const struct box *box, const struct box_details *details)
{
	frame_begin(out, SANDBOX);
	put_string(out, TAG_ID, box->id);
	put_int(out, TAG_PID, box->pid);
	put_int(out, TAG_RUNNING, box->state == BOX_RUNNING);
	put_int(out, TAG_PAUSED, box->paused);
	put_int(out, TAG_MEMORY, details->limits.memory);
	put_int(out, TAG_CPU, details->limits.cpu);
	put_int(out, TAG_PIDS, details->limits.pids);
	put_int(out, TAG_DISK, details->limits.disk);
	put_int(out, TAG_NOFILE, details->limits.nofile);
	if (box->volume[0] != 0)
		put_string(out, TAG_VOLUME, box->volume);
	put_groups(out, &details->groups);
	put_measures(out, &details->measures);
	frame_end(out);
}

void
answer_status(struct writer *out, const struct box *box, const struct box_details *details)
{
	struct cgroup_counters counters;
	cgroup_read(&details->groups, &counters);
	frame_begin(out, STATUS_IS);
	put_string(out, TAG_ID, box->id);
	put_int(out, TAG_RUNNING, box->state == BOX_RUNNING);
	put_int(out, TAG_PAUSED, box->paused);
	if (box->status_known && WIFEXITED(box->status))
		put_int(out, TAG_EXIT_CODE, WEXITSTATUS(box->status));
	if (box->status_known && WIFSIGNALED(box->status))
		put_int(out, TAG_SIGNAL, WTERMSIG(box->status));
	put_int(out, TAG_OOM_KILLS, counters.oom_kills);
	put_int(out, TAG_PIDS_REFUSED, counters.pids_refused);
	put_int(out, TAG_MEMORY_USED, counters.memory);
	put_int(out, TAG_CPU_NS, counters.cpu_ns);
	put_int(out, TAG_PIDS_NOW, counters.pids);
	frame_end(out);
}

bool
copy_text(struct bytes payload, uint8_t tag, char *text, size_t size)
{
	struct bytes value;
	text[0] = 0;
	if (!field_find(payload, tag, &value))
		return true;
	if (value.length >= size || memchr(value.data, 0, value.length) != NULL)
		return false;
	memcpy(text, value.data, value.length);
	text[value.length] = 0;
	return true;
}

/* Ids name folders, groups and hosts, so they are plain: `sb` and lower-case letters and digits. */
static bool
valid_id(const char *id)
{
	return strncmp(id, "sb", 2) == 0 && strlen(id) > 2 && id[strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789")] == 0;
}

bool
parse_limits(struct bytes payload, struct limits *limits)
{
	const struct {
		uint8_t tag;
		int64_t least, most;
		int64_t *value;
	} fields[] = {{TAG_MEMORY, 8 << 20, (int64_t)1 << 46, &limits->memory}, {TAG_CPU, 10, 1024000, &limits->cpu},
		{TAG_PIDS, 4, 1 << 22, &limits->pids}, {TAG_DISK, 1 << 20, (int64_t)1 << 46, &limits->disk},
		{TAG_NOFILE, 32, 1 << 20, &limits->nofile}};
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (!field_int(payload, fields[i].tag, *fields[i].value, fields[i].value) || *fields[i].value < fields[i].least
			|| *fields[i].value > fields[i].most)
			return false;
	return true;
}

bool
parse_create(struct bytes payload, struct create_request *request, struct failure *failure)
{
	size_t offset = 0;
	uint8_t tag;
	struct bytes value;
	memset(request, 0, sizeof *request);
	request->limits = usual_limits;
	if (!copy_text(payload, TAG_ID, request->id, sizeof request->id) || !valid_id(request->id))
		return give_up(failure, KIND_BAD_REQUEST, "id", 0, "not an id");
	if (!copy_text(payload, TAG_IMAGE, request->image, sizeof request->image)
		|| !copy_text(payload, TAG_EGRESS, request->egress, sizeof request->egress))
		return give_up(failure, KIND_BAD_REQUEST, "path", 0, "a path is too long");
	if (request->image[0] != 0 && (request->image[0] != '/' || request->image[strspn(request->image, "/.")] == 0))
		return give_up(failure, KIND_IMAGE, "image", 0, "an image is an absolute path to a folder other than /");
	if (strchr(request->image, '\n') != NULL)
		return give_up(failure, KIND_IMAGE, "image", 0, "an image's path is one line");
	if (!copy_text(payload, TAG_VOLUME, request->volume, sizeof request->volume)
		|| (request->volume[0] != 0 && !volume_id_valid(request->volume)))
		return give_up(failure, KIND_BAD_REQUEST, "volume", 0, "not a volume's id");
	int64_t isolated, overlay;
	if (!parse_limits(payload, &request->limits) || !field_int(payload, TAG_ISOLATED, 0, &isolated)
		|| !field_int(payload, TAG_OVERLAY, 0, &overlay))
		return give_up(failure, KIND_BAD_REQUEST, "limits", 0, "a limit is out of range");
	request->isolated = isolated != 0;
	request->overlay = overlay != 0;
	if (request->overlay && request->image[0] == 0)
		return give_up(failure, KIND_UNSUPPORTED, "rootfs", 0,
			"the host's own /usr cannot be a writable root: its files would become readable to the sandbox's root");
	while (field_next(payload, &offset, &tag, &value) == 1) {
		if (tag != TAG_ALLOW_MISSING)
			continue;
		enum measure measure = measure_find((const char *)value.data, value.length);
		if (measure == MEASURE_COUNT)
			return give_up(failure, KIND_BAD_REQUEST, "allow-missing", 0, "no measure has this name: %.*s",
				value.length < 40 ? (int)value.length : 40, (const char *)value.data);
		request->allow_missing |= 1u << measure;
	}
	return true;
}
