#include "missed.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The start of a file under /proc/PID, ended by NUL; empty when the process has gone. */
static void
read_about(pid_t process, const char *name, char *text, size_t room)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)process, name);
    ssize_t size = -1;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        size = read(file, text, room - 1);
        close(file);
    }
    text[size > 0 ? size : 0] = '\0';
}

static int
is_in_group(pid_t process, pid_t group)
{
    char text[512], state;
    int parent, found;
    read_about(process, "stat", text, sizeof text);
    /* The name in parentheses may contain anything. */
    const char *after_name = strrchr(text, ')');
    return after_name != NULL && sscanf(after_name + 1, " %c %d %d", &state, &parent, &found) == 3 && found == group &&
           state != 'Z';
}

static int
dies_of_sigint(pid_t process)
{
    char text[4096];
    read_about(process, "status", text, sizeof text);
    const char *ignored = strstr(text, "\nSigIgn:"), *caught = strstr(text, "\nSigCgt:");
    if (ignored == NULL || caught == NULL)
        return 0;
    uint64_t handled = strtoull(ignored + 8, NULL, 16) | strtoull(caught + 8, NULL, 16);
    return (handled & (uint64_t)1 << (SIGINT - 1)) == 0;
}

int
interrupt_missed(pid_t shell, int tell_shell)
{
    int count = 0;
    DIR *processes = opendir("/proc");
    if (processes == NULL)
        return 0;
    for (struct dirent *entry; (entry = readdir(processes)) != NULL;) {
        pid_t process = (pid_t)atoi(entry->d_name);
        if (process <= 0 || process == shell || !is_in_group(process, shell) || !dies_of_sigint(process))
            continue;
        if (count++ == 0 && tell_shell)
            kill(shell, SIGINT);
        kill(process, SIGINT);
    }
    closedir(processes);
    return count;
}
