/* `guest volume copy`: what the server asks of volumes without a spawn server. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "oci.h"
#include "volume.h"

/* guest volume copy FOLDER FROM TO [PID PLACE]: the process in whose view FROM is mounted, and where, without the first /. */
int
volume_main(int argc, char **argv)
{
	struct volume_copy order = {0};
	struct failure failure = {0};
	if ((argc != 5 && argc != 7) || strcmp(argv[1], "copy") != 0 || !volume_id_valid(argv[3]) || !volume_id_valid(argv[4])
		|| strlen(argv[2]) >= sizeof order.folder)
		return 2;
	memcpy(order.folder, argv[2], strlen(argv[2]) + 1);
	memcpy(order.from, argv[3], VOLUME_ID_MAX);
	memcpy(order.to, argv[4], VOLUME_ID_MAX);
	if (argc == 7) {
		order.pid = atoi(argv[5]);
		order.place = argv[6];
	}
	if (volume_copy(&order, &failure))
		return 0;
	fprintf(stderr, "%s\t%s: %s\n", failure_kind_name(failure.kind), failure.step, failure.message);
	return 1;
}
