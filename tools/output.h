/* What the tools write. Nothing that is lost goes unsaid: the standard output is looked at when the
 * program ends, and a file is replaced whole or not at all.
 *
 *     int main(...) { output_begin("tool"); return output_end(run(...)); }
 *
 *     output_file o;
 *     FILE *f = output_open(&o, "picture.svg");       // NULL: it was said why not
 *     if (f) draw(f);
 *     if (!output_close(&o)) return 1;                // it was said what is lost
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifndef _WIN32
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

enum { OUTPUT_PATH = 4096 + 4 };    /* bytes of a path with ".tmp" and its zero */

typedef struct output_file {
    FILE *f;
    const char *name;               /* as it was given */
    char  path[OUTPUT_PATH];        /* behind its symbolic links */
    char  part[OUTPUT_PATH];        /* what is written meanwhile; "": it is a device */
} output_file;

static const char *output_program = "";
static char output_part[OUTPUT_PATH];   /* of the file that is open; taken away at the end */

static inline void output_remove_part(void)
{
    if (output_part[0]) remove(output_part);
}
/* A reader that went away is an error like a full disk, not a signal. What is closed from the start
 * stays closed: no file may take its number. */
static inline void output_begin(const char *program)
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
static inline bool output_lost(const char *what)
{
    const char *why = "what was written is lost";
    if (errno) why = strerror(errno);
    fprintf(stderr, "%s: %s cannot be written: %s\n", output_program, what, why);
    return true;
}
/* False, and said why, if the standard output took not all. */
static inline bool output_flush(void)
{
    static bool said;
    errno = 0;
    if (!(fflush(stdout) | ferror(stdout))) return true;
    if (!said) output_lost("the standard output");
    said = true;
    return false;
}
/* The exit code of a program whose own one is `code`. */
static inline int output_end(int code)
{
    bool good = output_flush();
    if (!good && !code) return 1;
    return code;
}

/* Where a path leads: symbolic links stay links. False: nowhere, or too far. */
static inline bool output_target(char *to, const char *path)
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
/* A pipe or a device, which is written to as it stands; no file can take its place. */
static inline bool output_is_device(const char *path)
{
#ifndef _WIN32
    struct stat s;
    return !stat(path, &s) && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode);
#else
    return !strcmp(path, "NUL");
#endif
}

/* Two names of one file; where none is there yet, and in a page, one name. */
static inline bool output_is_same(const char *a, const char *b)
{
#if !defined _WIN32 && !defined __wasm__
    struct stat s, t;
    if (output_is_device(a)) return false;
    if (!stat(a, &s) && !stat(b, &t)) return s.st_dev == t.st_dev && s.st_ino == t.st_ino;
#endif
    return !strcmp(a, b);
}

/* "-" is the standard output. */
static inline FILE *output_open(output_file *o, const char *path)
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
/* False, and said, if it is lost: then what was at the path is still there. */
static inline bool output_close(output_file *o)
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
#endif
