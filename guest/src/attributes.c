/* What a host wants to keep with a file beside its bytes: extended attributes, where other tools of sandboxes look for them. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "files.h"

#define PREFIX "user.e2b."
#define PREFIX_LENGTH (sizeof PREFIX - 1)
#define NAME_MOST 255 /* the kernel's, with the prefix */
#define BYTES_MOST 4096 /* names and values of one file together */
#define ATTRIBUTE 16
#define ATTRIBUTE_OF 59

/* 0, or the errno; E2BIG for more than a file may have. */
static int
set_one(int fd, struct bytes text, size_t *total)
{
	char name[NAME_MOST + 1] = PREFIX;
	const uint8_t *equals = memchr(text.data, '=', text.length);
	size_t length = equals == NULL ? 0 : (size_t)(equals - text.data);
	if (length == 0 || memchr(text.data, 0, length) != NULL)
		return EINVAL;
	*total += text.length - 1 + PREFIX_LENGTH;
	if (length > NAME_MOST - PREFIX_LENGTH || *total > BYTES_MOST)
		return E2BIG;
	memcpy(name + PREFIX_LENGTH, text.data, length);
	if (fsetxattr(fd, name, equals + 1, text.length - length - 1, 0) == 0)
		return 0;
	/* A file system that has room for files may have none for these. */
	return errno == ENOSPC || errno == ERANGE ? E2BIG : errno;
}

int
attributes_set(const struct operation *op, int fd)
{
	size_t offset = 0, total = 0;
	uint8_t tag;
	struct bytes value;
	int error = 0;
	while (error == 0 && field_next(op->request, &offset, &tag, &value) == 1)
		if (tag == ATTRIBUTE)
			error = set_one(fd, value, &total);
	return error;
}

bool
attributes_asked(const struct operation *op)
{
	struct bytes value;
	return field_find(op->request, ATTRIBUTE, &value);
}

/* Those of a regular file; whatever cannot be read, or is more than we would have set, is not there. */
void
put_attributes(struct writer *out, int parent, const char *name)
{
	char names[BYTES_MOST], text[NAME_MOST + 1 + BYTES_MOST];
	int fd = openat(parent, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	ssize_t length = fd < 0 ? 0 : flistxattr(fd, names, sizeof names);
	size_t total = 0;
	for (ssize_t at = 0; at < length; at += (ssize_t)strlen(names + at) + 1) {
		const char *key = names + at + PREFIX_LENGTH;
		if (strncmp(names + at, PREFIX, PREFIX_LENGTH) != 0)
			continue;
		size_t start = strlen(key) + 1;
		memcpy(text, key, start - 1);
		text[start - 1] = '=';
		ssize_t value = fgetxattr(fd, names + at, text + start, BYTES_MOST);
		if (value < 0 || (total += start + (size_t)value) > BYTES_MOST)
			continue;
		put_bytes(out, ATTRIBUTE_OF, text, start + (size_t)value);
	}
	close_fd(&fd);
}
