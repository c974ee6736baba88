/* Feeds the decoder and the parser of EXEC anything at all. With libFuzzer this is its target; without it, main mutates a few
 * good frames with a fixed seed for a few seconds. Memory errors are the sanitizers' to find; what must hold is checked here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "command.h"
#include "frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
expect(bool condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "does not hold: %s\n", what);
		abort();
	}
}

static void
check_fields(struct bytes payload)
{
	size_t offset = 0, total = 0;
	uint8_t tag;
	struct bytes value;
	bool valid = fields_valid(payload);
	int more;
	while ((more = field_next(payload, &offset, &tag, &value)) == 1) {
		expect(value.data >= payload.data && value.data + value.length <= payload.data + payload.length, "inside");
		total += 5 + value.length;
	}
	expect(valid == (more == 0), "valid means that the walk ends well");
	expect(!valid || total == payload.length, "all bytes belong to a field");
	if (!valid)
		return;
	for (unsigned wanted = 0; wanted < 30; wanted++) {
		int64_t number;
		field_int(payload, (uint8_t)wanted, 0, &number);
		free(field_string(payload, (uint8_t)wanted));
	}
	struct command command;
	const char *why = NULL;
	if (command_parse(&command, payload, "/", &why)) {
		expect(command.arguments[0] != NULL && command.directory != NULL, "a command has a name and a place");
		command_free(&command);
	} else {
		expect(why != NULL, "a refusal has a reason");
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + (size == 0)), type;
	struct bytes payload;
	if (size > 0)
		memcpy(copy, data, size);
	for (size_t at = 0;;) {
		ptrdiff_t length = frame_decode(copy + at, size - at, &type, &payload);
		if (length <= 0)
			break;
		expect((size_t)length == FRAME_HEADER + payload.length && (size_t)length <= size - at, "size");
		check_fields(payload);
		at += (size_t)length;
	}
	check_fields((struct bytes){copy, size});
	free(copy);
	return 0;
}

#ifndef LIBFUZZER
static uint64_t state = 0x2545F4914F6CDD1Du;

static size_t
dice(size_t sides)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (size_t)(state % sides);
}

static size_t
seed(uint8_t *input)
{
	struct writer writer = {0};
	for (size_t frames = dice(3) + 1; frames > 0; frames--) {
		frame_begin(&writer, (uint8_t)dice(256));
		for (size_t fields = dice(6); fields > 0; fields--) {
			if (dice(2))
				put_int(&writer, (uint8_t)dice(30), (int64_t)state);
			else
				put_bytes(&writer, (uint8_t)dice(30), "PATH=/bin:/usr/bin", dice(19));
		}
		frame_end(&writer);
	}
	size_t length = writer.length;
	memcpy(input, writer.data, length);
	writer_free(&writer);
	return length;
}

int
main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 5;
	uint8_t input[4096];
	size_t runs = 0;
	for (time_t end = time(NULL) + seconds; time(NULL) < end;)
		for (int i = 0; i < 1000; i++, runs++) {
			size_t length = seed(input);
			for (size_t changes = dice(8); changes > 0; changes--)
				input[dice(length)] = dice(3) ? (uint8_t)dice(256) : (uint8_t)(0xff << dice(8));
			LLVMFuzzerTestOneInput(input, dice(4) ? length : dice(length));
		}
	printf("%zu inputs\n1 passed, 0 failed\n", runs);
	return 0;
}
#else
static void
passed(void)
{
	printf("1 passed, 0 failed\n");
}

/* Who finds something ends without what is to be done at an exit. */
int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return atexit(passed);
}
#endif
