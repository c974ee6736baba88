/* The bash kernel of a context: speaks spec/kernel-protocol.md and drives one long-lived bash.
 *
 * bash runs interactively, though without a terminal: only so does SIGINT bring it back to its top level with all state
 * kept, where a script would die. It reads commands from a pipe on its standard input. Cell 7 arrives there as
 *
 *     { \builtin printf '+7\0' >&63; } &>/dev/null; \builtin eval '…' </dev/null 63>&-; { \builtin printf '7 %d\0' "$?" >&63; … } &>/dev/null
 *
 * so the code has an empty standard input, runs at the top level (cd, variables, functions, traps and redirections by exec
 * live on), and neither it nor its children hold the pipe that tells the end of the cell. The braces keep our own commands out of
 * the trace of `set -x`, and what a trap on DEBUG says to them out of the output. Code may hide `builtin` and `printf` behind functions
 * and aliases, or disable them: before each cell they are brought back. An interactive bash prompts before each line that it reads, into the streams of the next cell: so the end of
 * the line takes back whatever prompt the code has set, as `activate` of Python's venv does.
 *
 * SIGINT makes bash drop the line that it runs or is just reading; what is left of a line half read would run as a command.
 * So an interrupt is passed on only after the first report, when the line has been read, and is followed by a number of empty
 * lines, for bash to notice the signal among, and a last report in place of the one that may be lost. The cell is over when that
 * has come: then no signal is under way that could hit the next cell. A SIGINT that the code sends to its own shell is not seen here:
 * a cell that takes its time gets such a last report in advance. */
#include "frames.h"
#include "missed.h"
#include "names.h"

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
    MAX_INTERRUPTS = 200,    /* a cell; each leaves some lines in bash's input */
    INTERRUPT_PAUSE_MS = 20, /* one that follows sooner is the same */
    SECOND_LOOK_MS = 100,    /* after an interrupt, for processes that it missed */
    ADVANCE_MS = 500,        /* until the last report of a cell is asked for in advance */
    EXIT_GRACE_MS = 3000,
};

/* Begins a line, and with an empty one: after a cell that ends within quotes bash would take the `{` for a command. */
#define GROUP "\n{ "
/* Ends a line: what came since the last `{` is not traced. */
#define QUIETLY " } >/dev/null 2>&1\n"
/* What code may have hidden; only after the status of a cell has been kept. */
#define UNHIDDEN "\\unset -f builtin enable || \\:; \\enable builtin printf eval set unset : || \\:; "
/* Tells the status of a cell. */
#define REPORT(name) \
    "for __carrel_status in \"$?\"; do " UNHIDDEN "\\builtin printf '" name " %%d\\0' \"$__carrel_status\" >&63; done;" \
    " \\builtin unset -v __carrel_status || \\builtin :;"
/* Nor follow prompts, echoes or a log-out. What is read-only cannot be unset; to assign to it would be fatal under `set -e`. */
#define WITHOUT_PROMPT \
    " \\builtin set +v; \\builtin unset -v TMOUT || \\builtin :;" \
    " \\builtin unset -v PROMPT_COMMAND PS0 PS1 PS2 && PS1= PS2= || \\builtin :;" QUIETLY

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
    unsetenv("PS0");
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

/* Waits for bash to report something more, for a signal (SIGINT is let in only here) or, unless negative, for a time. */
static void
wait_for_shell(int wait_ms)
{
    struct pollfd report = {.fd = shell_report, .events = POLLIN};
    struct timespec limit = {.tv_nsec = wait_ms * 1000000L};
    int ready = ppoll(&report, 1, wait_ms < 0 ? NULL : &limit, &while_waiting);
    if (ready < 0 && errno != EINTR)
        fail("ppoll");
    if (ready <= 0)
        return;
    char chunk[4096];
    ssize_t got = read(shell_report, chunk, sizeof chunk);
    if (got <= 0)
        end_with_shell();
    append(&unread, chunk, (size_t)got);
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
            wait_for_shell(-1);
    }
}

static int64_t
milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Lets bash notice a SIGINT that it was just sent, and report; number 0 is for one that the code may send. */
static void
follow_interrupt(int number)
{
    char lines[768];
    memset(lines, '\n', 80);
    snprintf(lines + 80, sizeof lines - 80, "{ " REPORT("%u.%d") WITHOUT_PROMPT, cell, number);
    tell_shell(lines, strlen(lines));
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

struct progress {
    int begun, status; /* status: -1 until known */
    int interrupts, answered, in_advance;
    int64_t begin, last_interrupt;
};

static void
note_report(struct progress *progress, const char *message)
{
    unsigned number = 0;
    int copy = 0, status = 0;
    if (message[0] == '+') {
        progress->begun |= (uint32_t)strtoul(message + 1, NULL, 10) == cell;
    } else if (sscanf(message, "%u.%d %d", &number, &copy, &status) == 3 || sscanf(message, "%u %d", &number, &status) == 2) {
        if (number != cell)
            return;
        progress->answered = copy > progress->answered ? copy : progress->answered;
        progress->status = progress->status < 0 ? status : progress->status;
    }
}

/* Passes an interrupt on to the cell when one has come, or looks after the last one. */
static void
interrupt_cell(struct progress *progress)
{
    int64_t since = milliseconds() - progress->last_interrupt;
    int hit = 0;
    if (interrupts > 0) {
        interrupts = 0;
        if (since >= INTERRUPT_PAUSE_MS)
            hit = kill(-shell, SIGINT) == 0;
    } else if (progress->interrupts > 0 && since >= SECOND_LOOK_MS) {
        hit = interrupt_missed(shell, 1);
    }
    if (hit) {
        progress->last_interrupt = milliseconds();
        follow_interrupt(++progress->interrupts);
    }
}

/* How long to wait for a report before something else is to be done. */
static int
patience(const struct progress *progress)
{
    if (progress->interrupts > 0 && progress->status < 0)
        return SECOND_LOOK_MS;
    return progress->in_advance ? -1 : ADVANCE_MS;
}

/* Sends a cell to bash and waits for its end. */
static struct progress
run_cell(struct buffer *command)
{
    static int clean = 1;
    struct progress progress = {.status = -1, .begin = milliseconds(), .last_interrupt = -INTERRUPT_PAUSE_MS};
    drop_idle_interrupts();
    /* What an interrupted cell left in the foreground: bash would wait for it together with the next command. */
    if (!clean)
        interrupt_missed(shell, 0);
    tell_shell(command->data, command->size);
    while (progress.status < 0 || progress.answered < progress.interrupts) {
        wait_for_shell(patience(&progress));
        for (char *message; (message = next_message()) != NULL; free(message))
            note_report(&progress, message);
        if (progress.begun && progress.status < 0 && progress.interrupts < MAX_INTERRUPTS)
            interrupt_cell(&progress);
        if (progress.begun && progress.status < 0 && !progress.in_advance && milliseconds() - progress.begin >= ADVANCE_MS) {
            follow_interrupt(0);
            progress.in_advance = 1;
        }
    }
    clean = progress.interrupts == 0;
    if (!clean)
        interrupt_missed(shell, 0);
    return progress;
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
    char begin[256], end[640];
    cell++;
    snprintf(begin, sizeof begin, GROUP UNHIDDEN "\\builtin printf '+%u\\0' >&63; } >/dev/null 2>&1; \\builtin eval ", cell);
    snprintf(end, sizeof end, " </dev/null 63>&-; { " REPORT("%u") WITHOUT_PROMPT, cell);
    struct buffer command = {0};
    append(&command, begin, strlen(begin));
    append_quoted(&command, code, size);
    append(&command, end, strlen(end));
    struct progress progress = run_cell(&command);
    finish_cell(id, progress.status, progress.interrupts > 0);
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
    char begin[256], mark[16];
    snprintf(mark, sizeof mark, "%u:", ++cell);
    snprintf(begin, sizeof begin, GROUP UNHIDDEN "\\builtin printf '%s' >&63; \\builtin compgen %s -- ", mark, variable ? "-v -P '$'" : "-c -f");
    struct buffer command = {0};
    append(&command, begin, strlen(begin));
    append_quoted(&command, code + start + variable, cursor - start - (uint32_t)variable);
    static const char end[] = " </dev/null >&63; \\builtin printf '\\0' >&63;" QUIETLY;
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

static void
malformed_request(void)
{
    errno = EPROTO;
    fail("a malformed request");
}

/* The string at `*at`, which is moved past it; malformed when it reaches beyond `size` or holds a NUL. */
static const char *
string_at(const char *payload, size_t size, size_t *at, size_t *length)
{
    *length = size - *at >= 4 ? u32_at(payload + *at) : size;
    if (size - *at < 4 || *length > size - *at - 4 || memchr(payload + *at + 4, '\0', *length) != NULL)
        malformed_request();
    const char *string = payload + *at + 4;
    *at += 4 + *length;
    return string;
}

/* The environment of a user who came after the start. */
static void
bind_environment(uint32_t id, const char *payload, size_t size)
{
    struct buffer command = {0}, out = {0};
    unsigned char status = OK;
    size_t at = 8;
    append(&command, GROUP UNHIDDEN, sizeof GROUP UNHIDDEN - 1);
    for (uint32_t left = u32_at(payload + 4); left > 0; left--) {
        size_t name_size, value_size;
        const char *name = string_at(payload, size, &at, &name_size);
        const char *value = string_at(payload, size, &at, &value_size);
        if (name_size == 0 || memchr(name, '=', name_size) != NULL)
            malformed_request();
        if (!is_identifier(name, name_size)) {
            status = FAILED;
        } else if (!is_own_variable(name, name_size)) {
            append(&command, "\\builtin export ", 16);
            append(&command, name, name_size);
            append(&command, "=", 1);
            append_quoted(&command, value, value_size);
            append(&command, "; ", 2);
        }
    }
    if (at != size)
        malformed_request();
    char mark[32], end[96];
    snprintf(mark, sizeof mark, "%u=", ++cell);
    snprintf(end, sizeof end, "\\builtin printf '%s\\0' >&63;" QUIETLY, mark);
    append(&command, end, strlen(end));
    free(ask_shell(&command, mark));
    add_done(&out, id, status);
    send_events(&out);
}

/* bash's exit traps get a moment; what is left of it dies with this process. bash hangs up on itself: a signal from here could
 * find it before it has taken its last report's redirection back, and its traps would write there. */
static void
shut_down(void)
{
    static const char hang_up[] = "\\builtin kill -s HUP $$\n";
    tell_shell(hang_up, sizeof hang_up - 1);
    for (int64_t end = milliseconds() + EXIT_GRACE_MS, left; (left = end - milliseconds()) > 0;) {
        struct pollfd report = {.fd = shell_report, .events = POLLIN};
        char rest[4096];
        if (poll(&report, 1, (int)left) > 0 && read(shell_report, rest, sizeof rest) <= 0)
            break;
    }
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
    } else if (type == BIND && size >= 8) {
        bind_environment(id, payload, size);
    } else if ((type == EXECUTE || type == COMPLETE) && size >= 12 && u32_at(payload + 8) == size - 12) {
        if (type == EXECUTE)
            execute(id, payload + 12, size - 12);
        else
            complete(id, u32_at(payload + 4), payload + 12, size - 12);
    } else {
        malformed_request();
    }
}

static void
greet(void)
{
    /* From here on its standard error is the user's. */
    static const char set_up[] = "exec 2>&62 62>&-; export -n PS1 PS2; unset MAILCHECK TMOUT; set +m; "
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
