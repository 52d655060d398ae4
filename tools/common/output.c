/* Files are written as temporary files in the same folder, and renamed when they are complete. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "output.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <share.h>
#include <sys/stat.h>
#else
#ifndef __wasm__
#include <dirent.h>
#include <sys/ioctl.h>
#endif
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

static const char *output_program = "";
static char output_part[OUTPUT_PART];   /* the open temporary file; removed at the end */

static void output_remove_part(void)
{
    if (output_part[0]) remove(output_part);
}
static char output_lock_path[OUTPUT_PATH + 8];          /* of output_lock; "": nothing is locked */
static int output_lock_file = -1;

/* Removes the lock's file while it is locked; the system gives the lock up with the process. */
static void output_unlock(void)
{
    if (output_lock_file < 0) return;
#if !defined _WIN32 && !defined __wasm__
    unlink(output_lock_path);
#endif
}

#ifndef __wasm__                        /* a page has no signals */
void output_end_by(int sig, const char *text)
{
#ifndef _WIN32
    if (write(2, text, strlen(text)) < 0) text = NULL;          /* fprintf is unsafe in a handler */
#else
    (void)text;
#endif
    output_unlock();
    signal(sig, SIG_DFL);
    raise(sig);
}
#endif

#if !defined _WIN32 && !defined __wasm__
/* Opens and locks output_lock_path. Returns the file; -1: another process has the lock (*holder);
 * -2: this file system has no locks, or the path is a link, or a file of another purpose: it has
 * bytes or is not regular. Such a file stays as it is, and there is no lock. */
static int output_try_lock(long *holder)
{
    struct flock lock;
    struct stat s;
    const int file = open(output_lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                          0666);
    if (file < 0) return -2;
    if (fstat(file, &s) || !S_ISREG(s.st_mode) || s.st_size > 0) {
        close(file);
        return -2;
    }
    memset(&lock, 0, sizeof lock);
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    if (!fcntl(file, F_SETLK, &lock)) return file;
    const bool held = errno == EACCES || errno == EAGAIN;
    if (held && !fcntl(file, F_GETLK, &lock) && lock.l_type != F_UNLCK) *holder = (long)lock.l_pid;
    close(file);
    return held ? -1 : -2;
}
#endif

bool output_lock(const char *path, long *holder)
{
    static char target[OUTPUT_PATH];
    *holder = 0;
    if (output_is_device(path) || !output_target(target, path)) return true;
    snprintf(output_lock_path, sizeof output_lock_path, "%s.lock", target);
#if defined _WIN32
    /* Only a new file is opened as temporary, because the system removes it at the end. One that is
     * there is another process's lock, which cannot be opened, or has another purpose. */
    output_lock_file = _sopen(output_lock_path, _O_RDWR | _O_CREAT | _O_EXCL | _O_TEMPORARY,
                              _SH_DENYRW, _S_IREAD | _S_IWRITE);
    if (output_lock_file >= 0 || errno != EEXIST) return true;
    const int file = _sopen(output_lock_path, _O_RDONLY, _SH_DENYNO);
    if (file >= 0) _close(file);
    return file >= 0 || errno != EACCES;
#elif !defined __wasm__
    for (int tries = 0; tries < 10; tries++) {
        struct stat ours, there;
        const int file = output_try_lock(holder);
        if (file < 0) return file == -2;
        output_lock_file = file;
        /* The process that had the lock may have removed the file between open and lock. */
        if (!fstat(file, &ours) && !stat(output_lock_path, &there) && ours.st_ino == there.st_ino)
            return true;
        output_lock_file = -1;
        close(file);
    }
#endif
    return true;
}

#if !defined _WIN32 && !defined __wasm__
static volatile sig_atomic_t output_broken;     /* a write to a pipe without a reader was tried */
static void output_note(int number)
{
    (void)number;
    output_broken = 1;
}
#endif

/* True if the standard output is a pipe whose reader has gone away: it read all that it needed. */
static bool output_has_no_reader(void)
{
#if !defined _WIN32 && !defined __wasm__
    struct stat s;
    if (!output_broken || fstat(fileno(stdout), &s)) return false;
    return S_ISFIFO(s.st_mode) || S_ISSOCK(s.st_mode);
#else
    return false;
#endif
}

void output_begin(const char *program)
{
    output_program = program;
    atexit(output_remove_part);
    atexit(output_unlock);
#if !defined _WIN32 && !defined __wasm__
    struct sigaction note;
    memset(&note, 0, sizeof note);
    note.sa_handler = output_note;      /* signal() might forget it after the first time */
    sigaction(SIGPIPE, &note, NULL);
#endif
#ifndef _WIN32
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
    if (!said && !output_has_no_reader()) output_lost("the standard output");
    said = true;
    return false;
}
int output_code(void) { return !output_has_no_reader(); }
int output_end(int code)
{
    bool good = output_flush();
    if (!good && !code) return output_code();
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
    const long columns = said ? strtol(said, NULL, 10) : 0;
    if (columns > 0 && columns < 10000) return (int)columns;
    return 80;
}

#ifndef __wasm__                        /* a page has no terminal */
/* Columns of n bytes of UTF-8. Characters from U+3000 on count as two columns. */
static int output_width(const char *text, size_t n)
{
    int columns = 0;
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)text[i];
        if ((c & 0xc0) != 0x80) columns += c >= 0xe3 ? 2 : 1;
    }
    return columns;
}

/* Prints a line in several if it is wider than `columns`; returns where the next line begins. */
static const char *output_wrap(FILE *f, const char *line, int columns)
{
    const int indent = (int)strspn(line, " ");
    const char *end = line + strcspn(line, "\n");
    int column = 0;
    while (line < end) {
        const size_t spaces = strspn(line, " ");
        const size_t n = spaces + strcspn(line + spaces, " \n");
        const int width = output_width(line, n);
        size_t skip = 0;                                /* spaces that a new line replaces */
        if (column > indent && column + width > columns) {
            column = fprintf(f, "\n%*s", indent, "") - 1;
            skip = spaces;
        }
        fprintf(f, "%.*s", (int)(n - skip), line + skip);
        column += width - (int)skip;
        line += n;
    }
    if (*line) fputc(*line++, f);
    return line;
}

void output_vsay(FILE *f, const char *format, va_list args)
{
    va_list again;
    char *text = NULL;
    if (output_is_terminal(f)) {
        va_copy(again, args);
        const int n = vsnprintf(NULL, 0, format, again);
        va_end(again);
        if (n >= 0) text = (char *)malloc((size_t)n + 1);
        if (text) vsnprintf(text, (size_t)n + 1, format, args);
    }
    if (text) {
        const int columns = output_columns(f);
        for (const char *line = text; *line;) line = output_wrap(f, line, columns);
        free(text);
    } else vfprintf(f, format, args);
}
#else
void output_vsay(FILE *f, const char *format, va_list args) { vfprintf(f, format, args); }
#endif
void output_say(FILE *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    output_vsay(f, format, args);
    va_end(args);
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
        if (name && link[0] != '/') name++;             /* in the link's folder */
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

/* -- temporary files ------------------------------------------------------------------------- */

enum { OUTPUT_TRIES = 100, OUTPUT_LETTERS = 6, OUTPUT_NAME = 200 };

/* The bytes of the folder at the start of a path. */
static size_t output_folder(const char *path)
{
    size_t n = 0;
    for (size_t i = 0; path[i]; i++) {
        if (path[i] == '/') n = i + 1;
#ifdef _WIN32
        if (path[i] == '\\' || path[i] == ':') n = i + 1;
#endif
    }
    return n;
}

/* Creates a file exclusively. If it replaces a file, only the owner has that file's rights. */
static FILE *output_create_at(const char *part, const char *target)
{
    int number;
    FILE *f;
#if defined __wasm__
    (void)target;
    (void)number;
    f = fopen(part, "wb");                              /* a page has no links */
#elif defined _WIN32
    (void)target;
    number = _open(part, _O_WRONLY | _O_CREAT | _O_EXCL | _O_BINARY, _S_IREAD | _S_IWRITE);
    if (number < 0) return NULL;
    f = _fdopen(number, "wb");
    if (!f) _close(number);
#else
    struct stat s;
    mode_t mode = 0666;
    if (!stat(target, &s)) mode = s.st_mode & 0600;
    number = open(part, O_WRONLY | O_CREAT | O_EXCL, mode);
    if (number < 0) return NULL;
    f = fdopen(number, "wb");
    if (!f) close(number);
#endif
    if (!f) remove(part);
    return f;
}

FILE *output_create(const char *target, char *part)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    const size_t folder = output_folder(target);
    size_t n = strlen(target + folder);
    unsigned long long draw = (unsigned long long)(size_t)&n;
#ifdef _WIN32
    const long process = (long)_getpid();
#elif defined __wasm__
    const long process = 0;
#else
    const long process = (long)getpid();
#endif
#ifndef __wasm__
    draw ^= (unsigned long long)time(NULL) ^ (unsigned long long)clock() << 32;
#endif
    if (n > OUTPUT_NAME)                                /* not inside a UTF-8 character */
        for (n = OUTPUT_NAME; n > 0 && (target[folder + n] & 0xc0) == 0x80;) n--;
    for (int i = 0; i < OUTPUT_TRIES; i++) {
        char word[OUTPUT_LETTERS + 1] = "";
        FILE *f;
        for (int k = 0; k < OUTPUT_LETTERS; k++) {
            draw = draw * 6364136223846793005u + 1442695040888963407u;
            word[k] = letters[draw >> 59];
        }
        snprintf(part, OUTPUT_PART, "%.*s.%ld-%s.tmp", (int)(folder + n), target, process, word);
        f = output_create_at(part, target);
        if (f || errno != EEXIST) return f;
    }
    return NULL;
}

/* Before the file is closed: copies the owner, group and mode of the file that it replaces. If the
 * group cannot be kept, its members keep only the rights of all others. False: see errno. */
static bool output_keep_mode(FILE *f, const char *target)
{
#if !defined _WIN32 && !defined __wasm__
    struct stat old, now;
    mode_t mode;
    if (stat(target, &old)) return errno == ENOENT;
    if (!S_ISREG(old.st_mode)) {
        errno = EEXIST;
        return false;
    }
    if (fstat(fileno(f), &now)) return false;
    mode = old.st_mode & 07777;
    if ((old.st_uid != now.st_uid || old.st_gid != now.st_gid)
        && fchown(fileno(f), old.st_uid, old.st_gid)) {
        mode &= 0777;
        if (old.st_gid != now.st_gid && fchown(fileno(f), now.st_uid, old.st_gid))
            mode &= 0707 | (mode & 7) << 3;
    }
    errno = 0;
    return (now.st_mode & 07777) == mode || !fchmod(fileno(f), mode);
#else
    (void)f;
    (void)target;
    return true;
#endif
}

#if !defined _WIN32 && !defined __wasm__
/* True if a name ends with ".PROCESS-XXXXXX.tmp" of a process that no longer runs. */
static bool output_is_stale(const char *name)
{
    const size_t n = strlen(name), tail = sizeof "-XXXXXX.tmp" - 1;
    size_t begin;
    long process;
    if (n <= tail || strcmp(name + n - 4, ".tmp") || name[n - tail] != '-') return false;
    for (begin = n - tail; begin > 0; begin--)
        if (name[begin - 1] < '0' || name[begin - 1] > '9') break;
    if (begin == n - tail || begin == 0 || name[begin - 1] != '.') return false;
    process = strtol(name + begin, NULL, 10);
    return process > 0 && kill((pid_t)process, 0) && errno == ESRCH;
}
#endif
void output_remove_stale(const char *path)
{
#if !defined _WIN32 && !defined __wasm__
    static char target[OUTPUT_PATH], folder[OUTPUT_PATH], found[OUTPUT_PATH + 256];
    const struct dirent *entry;
    const char *dot;
    size_t at, n;
    DIR *d;
    if (!output_target(target, path)) return;
    at = output_folder(target);
    dot = strrchr(target + at, '.');
    n = dot ? (size_t)(dot - target) - at + 1 : strlen(target + at);
    snprintf(folder, sizeof folder, "%.*s", (int)at, at ? target : "");
    d = opendir(at ? folder : ".");
    if (!d) return;
    while ((entry = readdir(d)) != NULL) {
        if (strncmp(entry->d_name, target + at, n) || !output_is_stale(entry->d_name)) continue;
        snprintf(found, sizeof found, "%s%s", folder, entry->d_name);
        remove(found);
    }
    closedir(d);
#else
    (void)path;
#endif
}

FILE *output_open(output_file *o, const char *path)
{
    memset(o, 0, sizeof *o);
    o->name = path;
    errno = 0;
    if (!strcmp(path, "-")) return o->f = stdout;
    if (output_is_device(path)) o->f = fopen(path, "wb");
    else if (output_target(o->path, path)) o->f = output_create(o->path, o->part);
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
    if (o->f == stdout) return output_flush() || !output_code();
    errno = 0;
    lost = (fflush(o->f) | ferror(o->f)) != 0;
    if (o->part[0] && !output_keep_mode(o->f, o->path)) lost = true;
    lost = fclose(o->f) != 0 || lost;
    o->f = NULL;
#ifdef _WIN32
    if (!lost && o->part[0]) remove(o->path);           /* this system's rename cannot replace */
#endif
    if (!lost && o->part[0]) lost = rename(o->part, o->path) != 0;
    if (lost) output_lost(o->name);
    if (lost) output_remove_part();
    output_part[0] = 0;
    return !lost;
}
