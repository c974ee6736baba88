/* Image files: names, locks, sparse copies, lists. What needs a loop device is proven by the engine's tests. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "volume_image.h"

#define ONE "voaaaaaaaaaaaaaa"
#define TWO "vobbbbbbbbbbbbbb"

static void
only_plain_ids_are_ids(void)
{
	static const char *const bad[] = {"", "vo", "sbaaaaaaaaaaaaaa", "voaaaaaaaaaaaaa", "voaaaaaaaaaaaaaaa", "voaaaaaaaaaaaaa1",
		"voaaaaaaaaaaaaaA", "vo/../../../etc", "vo............../", "voaaaaaaaaaaaaa\n"};
	CHECK(volume_id_valid(ONE) && volume_id_valid("voz234567abcdefg"));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		CHECK(!volume_id_valid(bad[i]));
}

static void
folder_must_be_ours_alone(void)
{
	struct failure failure;
	int made = volume_folder(in("volumes"), &failure);
	struct stat status;
	CHECK(made >= 0 && fstat(made, &status) == 0 && (status.st_mode & 0777) == 0700);
	close(made);
	chmod(in("volumes"), 0777);
	CHECK(volume_folder(in("volumes"), &failure) == -1);
	chmod(in("volumes"), 0700);
	CHECK(volume_folder(in("no/such/place"), &failure) == -1);
}

static void
copy_has_the_bytes_and_the_holes(void)
{
	struct failure failure;
	struct stat before, after;
	char piece[8192], read_back[8192];
	int from = open(in("from"), O_RDWR | O_CREAT | O_CLOEXEC, 0600), to = open(in("to"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	memset(piece, 'x', sizeof piece);
	CHECK(ftruncate(from, 64 << 20) == 0);
	for (off_t at = 0; at < 64 << 20; at += 8 << 20)
		CHECK(pwrite(from, piece, sizeof piece, at + 4096) == (ssize_t)sizeof piece);
	CHECK(volume_copy_bytes(from, to, &failure));
	CHECK(fstat(from, &before) == 0 && fstat(to, &after) == 0 && after.st_size == before.st_size);
	CHECK(after.st_blocks <= before.st_blocks + 64 && after.st_blocks < 4096);
	for (off_t at = 0; at < 64 << 20; at += 8 << 20)
		CHECK(pread(to, read_back, sizeof read_back, at + 4096) == (ssize_t)sizeof read_back && memcmp(piece, read_back, sizeof piece) == 0);
	CHECK(pread(to, read_back, 1, 60 << 20) == 1 && read_back[0] == 0);
	close(to);
	to = open("/dev/full", O_RDWR | O_CLOEXEC);
	CHECK(!volume_copy_bytes(from, to, &failure) && strcmp(failure.step, "volume") == 0);
	close(to);
	close(from);
}

static void
nothing_has_a_name_before_it_is_whole(void)
{
	struct failure failure;
	int folder_fd = volume_folder(in("volumes"), &failure);
	int file = volume_nameless(folder_fd, &failure);
	CHECK(file >= 0 && !exists(in("volumes/" ONE ".img")));
	CHECK(volume_name_it(file, folder_fd, ONE ".img") && exists(in("volumes/" ONE ".img")));
	close(file);
	file = volume_nameless(folder_fd, &failure);
	CHECK(!volume_name_it(file, folder_fd, ONE ".img") && errno == EEXIST); /* nor in the place of another */
	close(file);
	close(folder_fd);
}

static void
locked_is_in_use(void)
{
	CHECK(!volume_in_use(in("volumes"), ONE) && !volume_in_use(in("volumes"), TWO));
	int image = open(in("volumes/" ONE ".img"), O_RDWR | O_CLOEXEC);
	CHECK(volume_lock(image, LOCK_EX) && volume_in_use(in("volumes"), ONE));
	int same = dup(image);
	close(image);
	CHECK(volume_in_use(in("volumes"), ONE)); /* it is the open file's, as the loop device's is */
	close(same);
	CHECK(!volume_in_use(in("volumes"), ONE));
}

static char listed[256];

static void
note(void *to, const char *id, int64_t size, int64_t on_disk)
{
	CHECK(to == listed && size >= 0 && on_disk >= 0);
	strcat(listed, id);
	strcat(listed, " ");
}

static void
list_has_volumes_and_nothing_else(void)
{
	struct failure failure;
	put_text(in("volumes/template-1-16777216.img"), "");
	put_text(in("volumes/" TWO ".imgx"), "");
	mkdir(in("volumes/" TWO ".img"), 0700);
	CHECK(volume_list(in("volumes"), "", note, listed, &failure) && strcmp(listed, ONE " ") == 0);
	listed[0] = 0;
	CHECK(volume_list(in("volumes"), TWO, note, listed, &failure) && listed[0] == 0);
	CHECK(volume_list(in("no-such-folder"), "", note, listed, &failure) && listed[0] == 0);
	CHECK(volume_remove(in("volumes"), ONE, &failure) && volume_remove(in("volumes"), ONE, &failure));
	CHECK(!exists(in("volumes/" ONE ".img")) && exists(in("volumes/template-1-16777216.img")));
}

static void
copy_of_an_image_keeps_to_the_rules(void)
{
	struct failure failure;
	struct volume_copy order = {.from = ONE, .to = TWO};
	snprintf(order.folder, sizeof order.folder, "%s", in("volumes"));
	rmdir(in("volumes/" TWO ".img"));
	CHECK(!volume_copy(&order, &failure) && failure.kind == KIND_NOT_FOUND);
	put_text(in("volumes/" ONE ".img"), "content");
	CHECK(volume_copy(&order, &failure) && has_text(in("volumes/" TWO ".img"), "content"));
	CHECK(!volume_copy(&order, &failure) && failure.kind == KIND_CONFLICT);
}

static void
room_is_kept_for_the_host(void)
{
	struct failure failure;
	int folder_fd = volume_folder(in("volumes"), &failure);
	CHECK(!volume_room(folder_fd, (int64_t)1 << 60, &failure) && failure.kind == KIND_SPACE);
	CHECK(strstr(failure.message, "MiB must stay free") != NULL);
	close(folder_fd);
}

int
main(void)
{
	folder_make();
	only_plain_ids_are_ids();
	folder_must_be_ours_alone();
	copy_has_the_bytes_and_the_holes();
	nothing_has_a_name_before_it_is_whole();
	locked_is_in_use();
	list_has_volumes_and_nothing_else();
	copy_of_an_image_keeps_to_the_rules();
	room_is_kept_for_the_host();
	folder_remove();
	return finish();
}
