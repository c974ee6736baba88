/* The bash kernel of a context: speaks spec/kernel-protocol.md and drives one long-lived bash.
 *
 * bash runs interactively, though without a terminal: only so does SIGINT bring it back to its top level with all state
 * kept, where a script would die. It reads commands from a pipe on its standard input. Cell 7 arrives there as
 *
 *     builtin printf '+7\0' >&63; builtin eval '…' </dev/null 63>&-
 *     builtin printf '7 %d\0' "$?" >&63
 *
 * so the code has an empty standard input, runs at the top level (cd, variables, functions, traps and redirections by exec
 * live on), and neither it nor its children hold the pipe that tells the end of the cell.
 *
 * An interrupt is passed on only between the two reports: bash drops the line it is just reading when SIGINT comes, and what
 * is left of that line would run as a command. It may drop the second line too, so each interrupt is followed by a copy of it. */
#include "frames.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    SHELL_STDERR = 62, /* in bash, for the length of its start */
    SHELL_REPORT = 63, /* in bash: where the end of a cell is told */
    MAX_FRAME = 64 << 20,
    MAX_REPORT = 1 << 20,
    MAX_WORDS = 200,
    MAX_INTERRUPTS = 200, /* a cell; each leaves a line in bash's input */
    EXIT_GRACE_MS = 500,
};


static pid_t shell;
static int shell_input;  /* commands to bash */
static int shell_report; /* ends of cells from bash */
static struct buffer unread; /* what bash reported beyond the last message */
static uint32_t cell;        /* number of the last cell */
static volatile sig_atomic_t interrupts; /* SIGINTs not yet passed on */
static sigset_t while_waiting;           /* the signal mask under which SIGINT gets in */

/* ---- bash */

/* bash has ended, by `exit`, `set -e`, `exec` or a signal: so does the context, with the same status. */
static void
end_with_shell(void)
{
    int status = 0;
    while (waitpid(shell, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WEXITSTATUS(status));
}

static void
on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupts++;
}

static void
become_bash(int input, int report)
{
    setpgid(0, 0);
    /* Should the kernel be killed, bash must not stay. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &while_waiting, NULL);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    /* Its complaints about the missing terminal are not the user's. */
    if (nowhere < 0 || dup2(2, SHELL_STDERR) < 0 || dup2(nowhere, 2) < 0 || dup2(report, SHELL_REPORT) < 0 || dup2(input, 0) < 0)
        _exit(126);
    setenv("PS1", "", 1);
    setenv("PS2", "", 1);
    unsetenv("PROMPT_COMMAND");
    unsetenv("BASH_ENV");
    execlp("bash", "bash", "--norc", "--noprofile", "--noediting", "+o", "history", "+o", "histexpand", "-i", (char *)NULL);
    dup2(SHELL_STDERR, 2);
    fprintf(stderr, "kernel: cannot start bash: %s\n", strerror(errno));
    _exit(127);
}

static void
start_shell(void)
{
    int input[2], report[2];
    if (pipe2(input, O_CLOEXEC) < 0 || pipe2(report, O_CLOEXEC) < 0)
        fail("pipe");
    if (fcntl(REQUESTS, F_SETFD, FD_CLOEXEC) < 0 || fcntl(EVENTS, F_SETFD, FD_CLOEXEC) < 0)
        fail("descriptors 3 and 4");
    shell = fork();
    if (shell < 0)
        fail("fork");
    if (shell == 0)
        become_bash(input[0], report[1]);
    setpgid(shell, shell);
    close(input[0]);
    close(report[1]);
    shell_input = input[1];
    shell_report = report[0];
}

/* Waits for bash to report something more. Returns 0 when a signal came first: SIGINT is let in only here. */
static int
wait_for_shell(void)
{
    struct pollfd report = {.fd = shell_report, .events = POLLIN};
    if (ppoll(&report, 1, NULL, &while_waiting) < 0) {
        if (errno != EINTR)
            fail("ppoll");
        return 0;
    }
    char chunk[4096];
    ssize_t got = read(shell_report, chunk, sizeof chunk);
    if (got <= 0)
        end_with_shell();
    append(&unread, chunk, (size_t)got);
    return 1;
}

/* Takes one message off what bash has reported; NULL when none is complete. */
static char *
next_message(void)
{
    char *end = unread.size > 0 ? memchr(unread.data, '\0', unread.size) : NULL;
    if (end == NULL) {
        if (unread.size > MAX_REPORT) {
            errno = EMSGSIZE;
            fail("a report of bash");
        }
        return NULL;
    }
    char *message = strdup(unread.data);
    if (message == NULL)
        fail("out of memory");
    size_t used = (size_t)(end - unread.data) + 1;
    unread.size -= used;
    memmove(unread.data, end + 1, unread.size);
    return message;
}

static void
append_quoted(struct buffer *command, const char *text, size_t size)
{
    append(command, "'", 1);
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\'')
            append(command, "'\\''", 4);
        else
            append(command, text + i, 1);
    }
    append(command, "'", 1);
}

static void
tell_shell(const char *command, size_t size)
{
    if (write_all(shell_input, command, size) < 0)
        end_with_shell();
}

/* Has bash run a command line and returns its report, which begins with `mark`; others are left from interrupts. */
static char *
ask_shell(struct buffer *command, const char *mark)
{
    tell_shell(command->data, command->size);
    free(command->data);
    for (;;) {
        char *message = next_message();
        if (message != NULL && strncmp(message, mark, strlen(mark)) == 0)
            return message;
        free(message);
        if (message == NULL)
            wait_for_shell();
    }
}

static void
pass_on_interrupt(const char *report_line)
{
    interrupts = 0;
    kill(-shell, SIGINT);
    tell_shell("\n", 1);
    tell_shell(report_line, strlen(report_line));
}

/* SIGINT while nothing runs means nothing; being blocked it is still waiting. */
static void
drop_idle_interrupts(void)
{
    sigset_t interrupt_only;
    const struct timespec now = {0};
    sigemptyset(&interrupt_only);
    sigaddset(&interrupt_only, SIGINT);
    while (sigtimedwait(&interrupt_only, NULL, &now) == SIGINT)
        ;
    interrupts = 0;
}

/* Sends a cell to bash and returns its exit status. */
static int
run_cell(struct buffer *command, const char *report_line, int *interrupted)
{
    char started[32], ended[32];
    int begin = 0, status = -1;
    snprintf(started, sizeof started, "+%u", cell);
    int mark = snprintf(ended, sizeof ended, "%u ", cell);
    *interrupted = 0;
    drop_idle_interrupts();
    tell_shell(command->data, command->size);
    while (status < 0) {
        wait_for_shell();
        for (char *message; status < 0 && (message = next_message()) != NULL; free(message)) {
            if (strcmp(message, started) == 0)
                begin = 1;
            else if (strncmp(message, ended, (size_t)mark) == 0)
                status = atoi(message + mark);
            /* else a copy of an earlier cell's last line */
        }
        if (begin && status < 0 && interrupts > 0 && *interrupted < MAX_INTERRUPTS) {
            ++*interrupted;
            pass_on_interrupt(report_line);
        }
    }
    return status;
}

/* ---- requests */

static void
add_error(struct buffer *out, uint32_t id, const char *type, const char *message)
{
    struct buffer payload = {0};
    append_u32(&payload, id);
    append_text(&payload, type, strlen(type));
    append_text(&payload, message, strlen(message));
    append_text(&payload, message, strlen(message));
    add_event(out, ERROR, &payload);
    free(payload.data);
}

static void
finish_cell(uint32_t id, int status, int interrupted)
{
    struct buffer out = {0};
    char message[128];
    if (interrupted && status == 128 + SIGINT) {
        add_error(&out, id, "Interrupted", "the cell was interrupted");
        add_done(&out, id, INTERRUPTED);
    } else if (status != 0) {
        if (status > 128 && status <= 128 + SIGRTMAX)
            snprintf(message, sizeof message, "exit status %d (%s)", status, strsignal(status - 128));
        else
            snprintf(message, sizeof message, "exit status %d", status);
        add_error(&out, id, "ExitStatus", message);
        add_done(&out, id, FAILED);
    } else {
        add_done(&out, id, OK);
    }
    send_events(&out);
}

static void
execute(uint32_t id, const char *code, size_t size)
{
    if (memchr(code, '\0', size) != NULL) {
        struct buffer out = {0};
        add_error(&out, id, "SyntaxError", "the code contains a NUL byte, which bash cannot read");
        add_done(&out, id, FAILED);
        send_events(&out);
        return;
    }
    char begin[64], end[64];
    cell++;
    snprintf(begin, sizeof begin, "builtin printf '+%u\\0' >&63; builtin eval ", cell);
    snprintf(end, sizeof end, "builtin printf '%u %%d\\0' \"$?\" >&63\n", cell);
    struct buffer command = {0};
    append(&command, begin, strlen(begin));
    append_quoted(&command, code, size);
    append(&command, " </dev/null 63>&-\n", 18);
    append(&command, end, strlen(end));
    int interrupted;
    int status = run_cell(&command, end, &interrupted);
    finish_cell(id, status, interrupted);
    free(command.data);
}

static int
by_name(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

static void
add_words(struct buffer *payload, char *lines)
{
    size_t count = 0, kept = 0, room = 1;
    for (const char *at = lines; *at != '\0'; at++)
        room += *at == '\n';
    char **words = calloc(room, sizeof *words);
    if (words == NULL)
        fail("out of memory");
    for (char *word = strtok(lines, "\n"); word != NULL && count < room; word = strtok(NULL, "\n"))
        words[count++] = word;
    qsort(words, count, sizeof *words, by_name);
    for (size_t i = 0; i < count && kept < MAX_WORDS; i++) {
        if (i == 0 || strcmp(words[i], words[i - 1]) != 0)
            words[kept++] = words[i];
    }
    append_u32(payload, (uint32_t)kept);
    for (size_t i = 0; i < kept; i++)
        append_text(payload, words[i], strlen(words[i]));
    free(words);
}

static void
complete(uint32_t id, uint32_t cursor, const char *code, size_t size)
{
    if (cursor > size)
        cursor = (uint32_t)size;
    uint32_t start = cursor;
    while (start > 0 && strchr(" \t\n;|&(){}<>\"'=`", code[start - 1]) == NULL)
        start--;
    int variable = start < cursor && code[start] == '$';
    char begin[96], mark[16];
    snprintf(mark, sizeof mark, "%u:", ++cell);
    snprintf(begin, sizeof begin, "builtin printf '%s' >&63; compgen %s -- ", mark, variable ? "-v -P '$'" : "-c -f");
    struct buffer command = {0};
    append(&command, begin, strlen(begin));
    append_quoted(&command, code + start + variable, cursor - start - (uint32_t)variable);
    static const char end[] = " </dev/null >&63; builtin printf '\\0' >&63\n";
    append(&command, end, sizeof end - 1);
    char *words = ask_shell(&command, mark);
    struct buffer payload = {0}, out = {0};
    append_u32(&payload, id);
    append_u32(&payload, start);
    append_u32(&payload, cursor);
    add_words(&payload, words + strlen(mark));
    add_event(&out, COMPLETIONS, &payload);
    add_done(&out, id, OK);
    send_events(&out);
    free(payload.data);
    free(words);
}

/* bash's exit traps get a moment; what is left of it dies with this process. */
static void
shut_down(void)
{
    kill(shell, SIGHUP);
    struct pollfd end = {.fd = shell_report, .events = POLLIN};
    poll(&end, 1, EXIT_GRACE_MS);
    _exit(0);
}

static void
serve_request(unsigned char type, const char *payload, size_t size)
{
    uint32_t id = u32_at(payload);
    struct buffer out = {0};
    if (type == PING) {
        struct buffer pong = {0};
        append_u32(&pong, id);
        add_event(&out, PONG, &pong);
        free(pong.data);
        add_done(&out, id, OK);
        send_events(&out);
    } else if (type == SHUTDOWN) {
        add_done(&out, id, OK);
        send_events(&out);
        shut_down();
    } else if ((type == EXECUTE || type == COMPLETE) && size >= 12 && u32_at(payload + 8) == size - 12) {
        if (type == EXECUTE)
            execute(id, payload + 12, size - 12);
        else
            complete(id, u32_at(payload + 4), payload + 12, size - 12);
    } else {
        errno = EPROTO;
        fail("a malformed request");
    }
}

static void
greet(void)
{
    /* From here on its standard error is the user's. */
    static const char set_up[] = "exec 2>&62 62>&-; export -n PS1 PS2; unset MAILCHECK; set +m; "
                                 "builtin printf '%s\\0' \"$BASH_VERSION\" >&63\n";
    struct buffer command = {0}, payload = {0}, out = {0};
    append(&command, set_up, sizeof set_up - 1);
    char *version = ask_shell(&command, "");
    append_text(&payload, "bash", 4);
    append_text(&payload, version, strcspn(version, "("));
    append_text(&payload, "plain", 5);
    add_event(&out, READY, &payload);
    send_events(&out);
    free(payload.data);
    free(version);
}

int
main(void)
{
    sigset_t interrupt_only;
    sigemptyset(&interrupt_only);
    sigaddset(&interrupt_only, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupt_only, &while_waiting);
    sigdelset(&while_waiting, SIGINT);
    struct sigaction interrupt = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &interrupt, NULL);
    signal(SIGPIPE, SIG_IGN);
    start_shell();
    greet();
    char header[5];
    while (read_all(REQUESTS, header, sizeof header)) {
        uint32_t size = u32_at(header);
        if (size < 4 || size > MAX_FRAME) {
            errno = EMSGSIZE;
            fail("a request");
        }
        char *payload = malloc(size);
        if (payload == NULL)
            fail("out of memory");
        if (!read_all(REQUESTS, payload, size))
            break;
        serve_request((unsigned char)header[4], payload, size);
        free(payload);
    }
    shut_down();
}
