/* Slots of ids: whose they are when folders and links come and go without each other. */
#include "idmap.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "owners.h"

#define IMAGE "/images/a"
#define BASE 0x50000000u

static struct spawn spawn;
static struct owner owners[OWNERS_MAX];
static char run_folder[80];

/* A server that has just started, on a host that has so many slots. */
static void
begin_server(int slots)
{
	memset(&spawn, 0, sizeof spawn);
	memset(owners, 0, sizeof owners);
	spawn.owners = owners;
	spawn.run = run_folder;
	spawn.ids = (struct id_pool){.map = MAP_RANGE, .uid_base = BASE, .gid_base = BASE, .ids = 65536, .slots = slots};
	snprintf(spawn.ids.registry, sizeof spawn.ids.registry, "%s", in("ids"));
}

static bool
leads_to(const char *link, const char *target)
{
	char held[256] = "";
	return readlink(link, held, sizeof held - 1) > 0 && strcmp(held, target) == 0;
}

static void
a_slot_is_given_back_only_by_whose_it_is(void)
{
	mkdir(in("run/sba"), 0700);
	mkdir(in("run/sbb"), 0700);
	int slot = id_pool_claim(&spawn.ids, spawn.run, "sba");
	CHECK(slot == 0 && leads_to(in("ids/0"), in("run/sba")));
	rmdir(in("run/sba"));
	/* The link leads nowhere now: another server is faster than ours to notice. */
	CHECK(unlink(in("ids/0")) == 0 && symlink(in("run/sbb"), in("ids/0")) == 0);
	id_pool_release(&spawn.ids, slot, spawn.run, "sba");
	CHECK(leads_to(in("ids/0"), in("run/sbb")));
	id_pool_release(&spawn.ids, slot, spawn.run, "sbb");
	CHECK(!leads_to(in("ids/0"), in("run/sbb")));
}

static void
an_owner_keeps_its_slot_though_the_registry_is_new(void)
{
	char link[16];
	uid_t owner = owner_of(&spawn, IMAGE);
	CHECK(owner >= BASE);
	snprintf(link, sizeof link, "ids/%u", (owner - BASE) / 65536);
	CHECK(unlink(in(link)) == 0);
	begin_server(2);
	owners_adopt(&spawn);
	CHECK(owner_of(&spawn, IMAGE) == owner);
	CHECK(id_pool_claim(&spawn.ids, spawn.run, "sbb") >= 0);
	CHECK(id_pool_claim(&spawn.ids, spawn.run, "sbb") == -1);
	begin_server(2);
	owners_adopt(&spawn);
	CHECK(owner_of(&spawn, IMAGE) == owner); /* it is ours already */
}

static void
an_owner_takes_another_slot_when_its_own_is_taken(void)
{
	char link[16];
	uid_t before = owner_of(&spawn, IMAGE);
	snprintf(link, sizeof link, "ids/%u", (before - BASE) / 65536);
	CHECK(unlink(in(link)) == 0 && symlink(in("run/sbb"), in(link)) == 0);
	begin_server(3);
	owners_adopt(&spawn);
	uid_t after = owner_of(&spawn, IMAGE);
	CHECK(after >= BASE && after != before);
	CHECK(leads_to(in(link), in("run/sbb")));
}

int
main(void)
{
	folder_make();
	snprintf(run_folder, sizeof run_folder, "%s/run", folder);
	mkdir(run_folder, 0700);
	begin_server(2);
	a_slot_is_given_back_only_by_whose_it_is();
	an_owner_keeps_its_slot_though_the_registry_is_new();
	an_owner_takes_another_slot_when_its_own_is_taken();
	folder_remove();
	return finish();
}
