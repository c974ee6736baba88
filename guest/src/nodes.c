#include "nodes.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct node *root;
static struct node *gone;
static struct node **names, **watches; /* buckets; their number is a power of two */
static size_t buckets, count;

static size_t
name_bucket(const struct node *parent, const char *name)
{
	uint64_t hash = (uint64_t)(uintptr_t)parent * UINT64_C(0x9E3779B97F4A7C15) >> 7;
	for (; *name != 0; name++)
		hash = (hash ^ (uint8_t)*name) * UINT64_C(0x100000001B3);
	return (size_t)(hash ^ hash >> 29) & (buckets - 1);
}

static size_t
watch_bucket(int watch)
{
	return (size_t)watch & (buckets - 1);
}

static void
insert(struct node *node)
{
	size_t bucket = name_bucket(node->parent, node->name);
	node->by_name = names[bucket];
	names[bucket] = node;
	if (node->watch >= 0) {
		bucket = watch_bucket(node->watch);
		node->by_watch = watches[bucket];
		watches[bucket] = node;
	}
}

/* Makes room for one more. Growing doubles, so its cost is spread over the additions. */
static bool
grow(void)
{
	if (count < buckets)
		return true;
	size_t old = buckets, size = old ? old * 2 : 64;
	struct node **new_names = calloc(size, sizeof *new_names), **new_watches = calloc(size, sizeof *new_watches);
	if (new_names == NULL || new_watches == NULL) {
		free(new_names);
		free(new_watches);
		return false;
	}
	struct node **old_names = names;
	free(watches);
	names = new_names;
	watches = new_watches;
	buckets = size;
	for (size_t i = 0; i < old; i++)
		for (struct node *node = old_names[i], *next; node != NULL; node = next) {
			next = node->by_name;
			insert(node);
		}
	free(old_names);
	return true;
}

static struct node *
new_node(struct node *parent, const char *name)
{
	size_t length = strlen(name) + 1;
	struct node *node = count < NODES_MAX && grow() ? calloc(1, sizeof *node + length) : NULL;
	if (node == NULL)
		return NULL;
	memcpy(node->name, name, length);
	node->parent = parent;
	node->watch = -1;
	count++;
	insert(node);
	return node;
}

struct node *
nodes_root(void)
{
	if (root == NULL) {
		root = new_node(NULL, "");
		if (root != NULL)
			root->directory = root->present = true;
	}
	return root;
}

struct node *
node_find(struct node *parent, const char *name)
{
	for (struct node *node = names[name_bucket(parent, name)]; node != NULL; node = node->by_name)
		if (node->parent == parent && strcmp(node->name, name) == 0)
			return node;
	return NULL;
}

struct node *
node_add(struct node *parent, const char *name)
{
	struct node *node = parent->depth < NODES_DEPTH ? new_node(parent, name) : NULL;
	if (node == NULL)
		return NULL;
	node->depth = (uint8_t)(parent->depth + 1);
	node->sibling = parent->child;
	node->link = &parent->child;
	if (node->sibling != NULL)
		node->sibling->link = &node->sibling;
	parent->child = node;
	return node;
}

void
node_set_watch(struct node *node, int watch)
{
	if (node->watch >= 0) {
		struct node **link = &watches[watch_bucket(node->watch)];
		while (*link != node)
			link = &(*link)->by_watch;
		*link = node->by_watch;
	}
	node->watch = watch;
	if (watch >= 0) {
		node->by_watch = watches[watch_bucket(watch)];
		watches[watch_bucket(watch)] = node;
	}
}

struct node *
node_by_watch(int watch)
{
	struct node *node = watch < 0 || buckets == 0 ? NULL : watches[watch_bucket(watch)];
	while (node != NULL && node->watch != watch)
		node = node->by_watch;
	return node;
}

void
node_gone(struct node *node)
{
	node->present = false;
	node_set_watch(node, -1);
	if (node->listed_gone)
		return;
	node->listed_gone = true;
	node->next_gone = gone;
	gone = node;
}

static void
unlink_node(struct node *node)
{
	struct node **link = &names[name_bucket(node->parent, node->name)];
	while (*link != node)
		link = &(*link)->by_name;
	*link = node->by_name;
	*node->link = node->sibling;
	if (node->sibling != NULL)
		node->sibling->link = node->link;
}

void
nodes_purge(void)
{
	struct node *dead = NULL;
	/* All are unlinked before any is freed, because a parent may come before its child. */
	for (struct node *node = gone, *next; node != NULL; node = next) {
		next = node->next_gone;
		node->listed_gone = false;
		if (node->present)
			continue;
		unlink_node(node);
		node->next_gone = dead;
		dead = node;
	}
	gone = NULL;
	for (struct node *next; dead != NULL; dead = next) {
		next = dead->next_gone;
		free(dead);
		count--;
	}
}

bool
node_path(const struct node *node, char *path, size_t size)
{
	size_t at = size - 1;
	path[at] = 0;
	for (; node->parent != NULL; node = node->parent) {
		size_t length = strlen(node->name);
		if (length + 1 > at)
			return false;
		at -= length;
		memcpy(path + at, node->name, length);
		if (node->parent->parent != NULL)
			path[--at] = '/';
	}
	memmove(path, path + at, size - at);
	return true;
}

int
node_open(const struct node *node, int top)
{
	/* Opened anew, not copied: a copy would share the place in the directory that a former look has read up to. */
	if (node->parent == NULL)
		return openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
	int parent = node_open(node->parent, top);
	if (parent < 0)
		return -1;
	int fd = openat(parent, node->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	close(parent);
	return fd;
}
