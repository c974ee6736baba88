/* The known files: found while they are there, and quickly forgotten however many go at once. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "harness.h"
#include "nodes.h"

#define MANY 60000

static struct node *
numbered(struct node *parent, int number, bool add)
{
	char name[16];
	snprintf(name, sizeof name, "%d", number);
	return add ? node_add(parent, name) : node_find(parent, name);
}

static int
count_children(const struct node *parent)
{
	int count = 0;
	for (const struct node *child = parent->child; child != NULL; child = child->sibling)
		count++;
	return count;
}

static void
the_rest_is_kept_whichever_go(void)
{
	struct node *folder_node = node_add(nodes_root(), "some");
	folder_node->present = true;
	for (int keep = 0; keep < 8; keep++) {
		/* Of three, every choice. */
		for (int i = 0; i < 3; i++)
			numbered(folder_node, i, true)->present = true;
		for (int i = 0; i < 3; i++)
			if ((keep >> i & 1) == 0)
				node_gone(numbered(folder_node, i, false));
		nodes_purge();
		CHECK(count_children(folder_node) == (keep & 1) + (keep >> 1 & 1) + (keep >> 2 & 1));
		for (int i = 0; i < 3; i++) {
			struct node *left = numbered(folder_node, i, false);
			CHECK((left != NULL) == (keep >> i & 1));
			if (left != NULL)
				node_gone(left);
		}
		nodes_purge();
		CHECK(folder_node->child == NULL);
	}
	node_gone(folder_node);
	nodes_purge();
}

/* In every order: the newest is the first among its siblings. */
static void
many_go_at_once(bool forwards)
{
	struct node *folder_node = node_add(nodes_root(), "many");
	folder_node->present = true;
	for (int i = 0; i < MANY; i++)
		numbered(folder_node, i, true)->present = true;
	for (int i = 0; i < MANY; i++)
		node_gone(numbered(folder_node, forwards ? i : MANY - 1 - i, false));
	node_gone(folder_node);
	clock_t begin_at = clock(); /* of the processor: it may have other work too */
	nodes_purge();
	CHECK(clock() - begin_at < CLOCKS_PER_SEC);
	CHECK(nodes_root()->child == NULL);
}

int
main(void)
{
	the_rest_is_kept_whichever_go();
	many_go_at_once(true);
	many_go_at_once(false);
	return finish();
}
