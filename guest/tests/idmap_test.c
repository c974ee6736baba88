/* Slots of ids: whose they are when folders and records come and go without each other. */
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

/* The records as they are: of one size each. */
static FILE *
record(int slot)
{
	FILE *file = fopen(in("ids/slots"), "r+");
	CHECK(file != NULL && fseek(file, (long)slot * (HOST_PATH_MAX + ID_MAX), SEEK_SET) == 0);
	return file;
}

static bool
is_held_by(int slot, const char *owner)
{
	char held[256];
	FILE *file = record(slot);
	held[fread(held, 1, sizeof held - 1, file)] = 0;
	fclose(file);
	return strcmp(held, owner) == 0;
}

static void
give_to(int slot, const char *owner)
{
	FILE *file = record(slot);
	CHECK(fwrite(owner, 1, strlen(owner) + 1, file) == strlen(owner) + 1);
	fclose(file);
}

static void
a_slot_is_given_back_only_by_whose_it_is(void)
{
	mkdir(in("run/sba"), 0700);
	mkdir(in("run/sbb"), 0700);
	int slot = id_pool_claim(&spawn.ids, spawn.run, "sba");
	CHECK(slot == 0 && is_held_by(0, in("run/sba")));
	rmdir(in("run/sba"));
	/* Its folder is gone: another server is faster than ours to notice. */
	give_to(0, in("run/sbb"));
	id_pool_release(&spawn.ids, slot, spawn.run, "sba");
	CHECK(is_held_by(0, in("run/sbb")));
	id_pool_release(&spawn.ids, slot, spawn.run, "sbb");
	CHECK(is_held_by(0, ""));
}

static void
a_slot_is_free_again_when_its_folder_is_gone(void)
{
	mkdir(in("run/sba"), 0700);
	begin_server(1);
	CHECK(id_pool_claim(&spawn.ids, spawn.run, "sba") == 0);
	CHECK(id_pool_claim(&spawn.ids, spawn.run, "sbb") == -1);
	rmdir(in("run/sba"));
	CHECK(id_pool_claim(&spawn.ids, spawn.run, "sbb") == 0 && is_held_by(0, in("run/sbb")));
	id_pool_release(&spawn.ids, 0, spawn.run, "sbb");
	begin_server(2);
}

static void
an_owner_keeps_its_slot_though_the_registry_is_new(void)
{
	uid_t owner = owner_of(&spawn, IMAGE);
	CHECK(owner >= BASE);
	CHECK(unlink(in("ids/slots")) == 0);
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
	uid_t before = owner_of(&spawn, IMAGE);
	int slot = (int)((before - BASE) / 65536);
	give_to(slot, in("run/sbb"));
	begin_server(3);
	owners_adopt(&spawn);
	uid_t after = owner_of(&spawn, IMAGE);
	CHECK(after >= BASE && after != before);
	CHECK(is_held_by(slot, in("run/sbb")));
}

int
main(void)
{
	folder_make();
	snprintf(run_folder, sizeof run_folder, "%s/run", folder);
	mkdir(run_folder, 0700);
	begin_server(2);
	a_slot_is_given_back_only_by_whose_it_is();
	a_slot_is_free_again_when_its_folder_is_gone();
	an_owner_keeps_its_slot_though_the_registry_is_new();
	an_owner_takes_another_slot_when_its_own_is_taken();
	folder_remove();
	return finish();
}
