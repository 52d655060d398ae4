/* Files are written beside their place as NAME.tmp and renamed when they are complete. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "output.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <io.h>
#else
#ifndef __wasm__
#include <dirent.h>
#endif
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

static const char *output_program = "";
static char output_part[OUTPUT_PATH];   /* of the file that is open; taken away at the end */

static void output_remove_part(void)
{
    if (output_part[0]) remove(output_part);
}
void output_begin(const char *program)
{
    output_program = program;
    atexit(output_remove_part);
#ifndef _WIN32
    signal(SIGPIPE, SIG_IGN);
    for (int number = 0; number < 3; number++)
        if (fcntl(number, F_GETFD) < 0 && open("/dev/null", number ? O_RDONLY : O_WRONLY) < 0)
            exit(1);
#endif
}
bool output_lost(const char *what)
{
    const char *why = "what was written is lost";
    if (errno) why = strerror(errno);
    fprintf(stderr, "%s: %s cannot be written: %s\n", output_program, what, why);
    return true;
}
bool output_flush(void)
{
    static bool said;
    errno = 0;
    if (!(fflush(stdout) | ferror(stdout))) return true;
    if (!said) output_lost("the standard output");
    said = true;
    return false;
}
int output_end(int code)
{
    bool good = output_flush();
    if (!good && !code) return 1;
    return code;
}

bool output_is_terminal(FILE *f)
{
#ifdef _WIN32
    return _isatty(_fileno(f)) != 0;
#else
    return isatty(fileno(f)) != 0;
#endif
}

int output_columns(FILE *f)
{
    const char *said = getenv("COLUMNS");
#ifdef TIOCGWINSZ
    struct winsize size;
    if (ioctl(fileno(f), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
#else
    (void)f;
#endif
    if (said && atoi(said) > 0) return atoi(said);
    return 80;
}

bool output_target(char *to, const char *path)
{
    size_t n = strlen(path);
    if (n >= OUTPUT_PATH - 4) return false;
    memcpy(to, path, n + 1);
#ifndef _WIN32
    for (int links = 0; links < 40; links++) {
        char link[OUTPUT_PATH];
        char *name = strrchr(to, '/');
        ssize_t got = readlink(to, link, sizeof link);
        if (got < 0) return true;
        if (name && link[0] != '/') name++;             /* beside the link */
        else name = to;
        if (name - to + got >= OUTPUT_PATH - 4) return false;
        memcpy(name, link, (size_t)got);
        name[got] = 0;
    }
    return false;
#else
    return true;
#endif
}
bool output_is_device(const char *path)
{
#ifndef _WIN32
    struct stat s;
    return !stat(path, &s) && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode);
#else
    return !strcmp(path, "NUL");
#endif
}

bool output_is_same(const char *a, const char *b)
{
#if !defined _WIN32 && !defined __wasm__
    struct stat s, t;
    if (output_is_device(a)) return false;
    if (!stat(a, &s) && !stat(b, &t)) return s.st_dev == t.st_dev && s.st_ino == t.st_ino;
#endif
    return !strcmp(a, b);
}

FILE *output_open(output_file *o, const char *path)
{
    memset(o, 0, sizeof *o);
    o->name = path;
    errno = 0;
    if (!strcmp(path, "-")) return o->f = stdout;
    if (output_is_device(path)) o->f = fopen(path, "wb");
    else if (output_target(o->path, path)) {
        snprintf(o->part, sizeof o->part, "%.*s.tmp", OUTPUT_PATH - 5, o->path);
        o->f = fopen(o->part, "wb");
    }
    if (!o->f) {
        output_lost(path);
        return NULL;
    }
    memcpy(output_part, o->part, sizeof o->part);
    return o->f;
}
bool output_close(output_file *o)
{
    bool lost;
    if (!o->f) return false;
    if (o->f == stdout) return output_flush();
    errno = 0;
    lost = (fflush(o->f) | ferror(o->f)) != 0;
    lost = fclose(o->f) != 0 || lost;
    o->f = NULL;
#ifdef _WIN32
    if (!lost && o->part[0]) remove(o->path);           /* rename there replaces nothing */
#endif
    if (!lost && o->part[0]) lost = rename(o->part, o->path) != 0;
    if (lost) output_lost(o->name);
    if (lost) output_remove_part();
    output_part[0] = 0;
    return !lost;
}

#if !defined _WIN32 && !defined __wasm__
/* The process in NAME.PROCESS-XXXXXX.tmp, a file of the library; 0: it is none of NAME. */
static long output_process(const char *entry, const char *name)
{
    const size_t n = strlen(name);
    char *end;
    long process;
    if (strncmp(entry, name, n) || entry[n] != '.') return 0;
    process = strtol(entry + n + 1, &end, 10);
    if (process <= 0 || *end != '-' || strlen(end) != 11 || strcmp(end + 7, ".tmp")) return 0;
    return process;
}

void output_remove_stale(const char *path)
{
    char to[OUTPUT_PATH], part[2 * OUTPUT_PATH];
    const char *folder = ".";
    const char *name = to;
    if (!output_target(to, path)) return;
    char *slash = strrchr(to, '/');
    if (slash) {
        folder = slash == to ? "/" : to;
        name = slash + 1;
        *slash = 0;
    }
    DIR *d = opendir(folder);
    if (!d) return;
    for (struct dirent *entry = readdir(d); entry; entry = readdir(d)) {
        const long process = output_process(entry->d_name, name);
        if (!process || !kill((pid_t)process, 0) || errno != ESRCH) continue;
        snprintf(part, sizeof part, "%s/%s", folder, entry->d_name);
        remove(part);
    }
    closedir(d);
}
#else
void output_remove_stale(const char *path) { (void)path; }
#endif
