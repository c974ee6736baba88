/* Names of variables, not ended by a NUL. */
#ifndef CARREL_NAMES_H
#define CARREL_NAMES_H

#include <stddef.h>

int is_identifier(const char *name, size_t size);

/* What bash evaluates when it is set (numbers) or later (prompts), lets nobody set, or does not take from its environment
 * when it starts either. */
int is_own_variable(const char *name, size_t size);

#endif
