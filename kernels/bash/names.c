#include "names.h"

#include <string.h>

int
is_identifier(const char *name, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        int letter = (name[i] >= 'a' && name[i] <= 'z') || (name[i] >= 'A' && name[i] <= 'Z') || name[i] == '_';
        if (!letter && (i == 0 || name[i] < '0' || name[i] > '9'))
            return 0;
    }
    return size > 0;
}

int
is_own_variable(const char *name, size_t size)
{
    static const char *const own[] = {"BASHOPTS", "BASHPID", "BASH_ENV", "BASH_VERSINFO", "EPOCHREALTIME", "EPOCHSECONDS",
                                      "EUID", "HISTCMD", "IFS", "LINENO", "MAILCHECK", "OPTIND", "PPID", "PROMPT_COMMAND",
                                      "PS0", "PS1", "PS2", "PWD", "RANDOM", "SECONDS", "SHELLOPTS", "SRANDOM", "TMOUT", "UID"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (strlen(own[i]) == size && memcmp(own[i], name, size) == 0)
            return 1;
    }
    return 0;
}
