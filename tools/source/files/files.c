#include "files.h"
#include "../ground/ground.h"

TFN__SMALL
/* Files: errors, paths, temporary files, and bytes. Builds on basics. The format of safetensors
 * (huggingface.co):
 *
 *     8 bytes   n, the length of the header, little-endian
 *     n bytes   JSON: "__metadata__", which holds named texts, and for every tensor its name,
 *               dtype, shape, and where its bytes begin and end, counted from the header's end
 *     the rest  the tensors' bytes, without gaps, in any order
 *
 * Files are hostile. Every offset is compared with the bytes that exist before it is used. No size
 * in a file decides an allocation: a kilobyte that promises a terabyte costs a kilobyte. Opening a
 * file checks its whole header; later calls do not check it again.
 *
 * The first error stays in the file's object, and every function below does nothing after it. So a
 * sequence of calls needs one check at its end. */

/* -- errors ---------------------------------------------------------------------------------- */

/* No error so far. */
SHARED bool tfn__fine(const tfn_file *f) { return f->error.status == TFN_OK; }

/* Keep the first error; always returns the status in force. In `text`, %s is `what` (a tensor, an
 * option, a reason), and %d is `found`, then `wanted`. tfn_error_text puts the whole path in front
 * of it. */
SHARED tfn_status tfn__file_fail(tfn_file *f, tfn_status status, const char *text,
                                 const char *what, int64_t found, int64_t wanted)
{
    if (!tfn__fine(f)) return f->error.status;
    tfn__fail_name(&f->error, status, "file", text, what);
    f->error.found = found;
    f->error.wanted = wanted;
    f->error.path = f->path;
    return status;
}

/* The bytes violate the format. */
SHARED void tfn__bad(tfn_file *f, const char *text, const char *what, int64_t found, int64_t wanted)
{
    tfn__file_fail(f, TFN_BAD_FORMAT, text, what, found, wanted);
}

/* Call before the C library: forget errno's value from earlier calls. */
static void tfn__clear_reason(void)
{
#if TFN__PATHS
    errno = 0;
#endif
}

/* Call after the C library failed. %s in `text` becomes ": " and the system's reason, such as
 * ": No space left on device", or nothing if errno has none, as for memory and streams. C does not
 * promise that two threads may call strerror at a time, but the texts of known errors are constants
 * on all systems. */
static void tfn__system_fail(tfn_file *f, const char *text, int64_t found, int64_t wanted)
{
    char reason[sizeof f->error.name];
    tfn__text t = tfn__text_in(reason, sizeof reason);
#if TFN__PATHS
    if (f->path && errno) tfn__put_texts(&t, ": ", strerror(errno), NULL);
#endif
    tfn__end(&t);
    tfn__file_fail(f, TFN_BAD_FILE, text, reason, found, wanted);
}

/* -- paths ----------------------------------------------------------------------------------- */

#if TFN__PATHS
enum {
    TFN__PATH = 1024,                   /* bytes of a buffer for a path */
    TFN__PATH_MOST = 1019,              /* the longest path */
    TFN__LINKS = 40,                    /* followed at most, as Linux does */
    TFN__TEMPORARY = TFN__PATH + 32,    /* bytes of a buffer for the path of a temporary file */
    TFN__NAME_MOST = 200,               /* bytes of a target's name inside a temporary name */
    TFN__TRIES = 100                    /* names to try for a temporary file */
};

/* Features that C99 lacks: positions beyond 2 GiB, bytes that are on the disk and not in a cache, a
 * rename that replaces, and exclusive creation. DURABLE is the result of tfn_io_durable. SEEK, SYNC
 * and RENAME return 0 on success. CREATE returns a file descriptor, below 0 on failure. MoveFileExA
 * is declared here because windows.h is long and defines many macros. */
#if defined _WIN32
#define TFN__DURABLE "commit"
#define TFN__SEEK(s, at, from) _fseeki64(s, (int64_t)(at), from)
#define TFN__TELL(s) _ftelli64(s)
#define TFN__SYNC(s) _commit(_fileno(s))
#define TFN__RENAME(from, to) !MoveFileExA(from, to, 1 | 8)    /* replace, write through */
#define TFN__CREATE(name, mode) \
    _open(name, _O_WRONLY | _O_CREAT | _O_EXCL | _O_BINARY, _S_IREAD | _S_IWRITE)
#define TFN__STREAM(number) _fdopen(number, "wb")
#define TFN__CLOSE(number) _close(number)
#define TFN__TAKEN() (errno == EEXIST)
#define TFN__PROCESS() _getpid()
#ifdef __cplusplus
extern "C"
#endif
__declspec(dllimport) int __stdcall MoveFileExA(const char *, const char *, unsigned long);
#elif defined TFN__POSIX
#define TFN__DURABLE "fsync"
#define TFN__SYNC(s) fsync(fileno(s))
#define TFN__RENAME(from, to) rename(from, to)
#define TFN__CREATE(name, mode) open(name, O_WRONLY | O_CREAT | O_EXCL, mode)
#define TFN__STREAM(number) fdopen(number, "wb")
#define TFN__CLOSE(number) close(number)
#define TFN__TAKEN() (errno == EEXIST)
#define TFN__PROCESS() getpid()
#ifndef TFN__HIDDEN
#define TFN__SEEK(s, at, from) fseeko(s, (off_t)(at), from)
#define TFN__TELL(s) ftello(s)
#endif
#else
#define TFN__DURABLE "no"
#define TFN__SYNC(s) 0
#define TFN__RENAME(from, to) rename(from, to)
#define TFN__TAKEN() false
#define TFN__PROCESS() 0
#endif
#ifndef TFN__SEEK
#define TFN__SEEK(s, at, from) ((at) > LONG_MAX || fseek(s, (long)(at), from))
#define TFN__TELL(s) ftell(s)
#endif

/* Bytes of the folder at the start of a path, with its slash; 0 if there is none. */
static size_t tfn__folder_bytes(const char *path)
{
    size_t bytes = 0;
    for (size_t i = 0; path[i]; i++) {
        if (path[i] == '/') bytes = i + 1;
#ifdef _WIN32
        if (path[i] == '\\' || path[i] == ':') bytes = i + 1;
#endif
    }
    return bytes;
}

#ifdef TFN__POSIX
/* Write the folder of a new file to the disk, because it stores the file's name. True also where
 * the file system cannot do this (EINVAL). */
static bool tfn__sync_folder(const char *path)
{
    const size_t bytes = tfn__folder_bytes(path);
    char name[TFN__PATH] = ".";
    int folder;
    bool done;
    if (bytes) TFNORM_MEMCPY(name, path, bytes);        /* zeros follow */
    folder = open(name, O_RDONLY);
    if (folder < 0) return false;
    done = !fsync(folder) || errno == EINVAL;
    return !close(folder) && done;
}

/* Replace a path by the path that its symbolic links lead to, so that a link stays a link and its
 * target is replaced. False: too many links, or a path that does not fit. */
static bool tfn__follow(char *path)
{
    for (int links = 0; links <= TFN__LINKS; links++) {
        char link[TFN__PATH];
        size_t folder = 0;
        const ptrdiff_t got = (ptrdiff_t)readlink(path, link, sizeof link - 1);
        if (got < 0) return true;                       /* not a link */
        link[got] = 0;
        if (link[0] != '/') folder = tfn__folder_bytes(path);   /* relative to the link's folder */
        if (folder + (size_t)got + 1 > TFN__PATH) return false;
        TFNORM_MEMCPY(path + folder, link, (size_t)got + 1);
    }
    return false;
}
#else
static bool tfn__sync_folder(const char *path) { return path != NULL; }
static bool tfn__follow(char *path) { return path != NULL; }
#endif

/* Copy f->path with its symbolic links followed. False, and an error, if there are too many links
 * or a path is too long. */
static bool tfn__target(tfn_file *f, char *target)
{
    size_t bytes = tfn__length(f->path);
    if (bytes <= TFN__PATH_MOST) {
        TFNORM_MEMCPY(target, f->path, bytes + 1);
        if (!tfn__follow(target)) {
            tfn__file_fail(f, TFN_BAD_FILE, "its symbolic links are too many or too long", NULL, 0,
                           0);
            return false;
        }
        bytes = tfn__length(target);
    }
    if (bytes > TFN__PATH_MOST)
        tfn__file_fail(f, TFN_BAD_FILE, "the path has %d bytes, the limit is %d", NULL,
                       (int64_t)bytes, TFN__PATH_MOST);
    return bytes <= TFN__PATH_MOST;
}

/* The mode of the file that will be replaced, or -1 for a new file. An error if the path leads to
 * something else, such as a folder or a device: nothing may take its place. */
static int tfn__replaced_mode(tfn_file *f)
{
#if defined _WIN32
    struct _stat64 s;
    if (_stat64(f->path, &s)) return -1;
    if ((s.st_mode & _S_IFMT) != _S_IFREG)
        tfn__file_fail(f, TFN_BAD_FILE, "it is not a regular file", NULL, 0, 0);
    return s.st_mode & 0777;
#elif defined TFN__POSIX
    struct stat s;
    const char *kind = "a socket";
    tfn__clear_reason();
    if (stat(f->path, &s)) {
        if (errno != ENOENT) tfn__system_fail(f, "cannot be opened%s", 0, 0);
        return -1;
    }
    if (S_ISREG(s.st_mode)) return (int)(s.st_mode & 07777);
    if (S_ISDIR(s.st_mode)) kind = "a folder";
    else if (S_ISFIFO(s.st_mode)) kind = "a pipe";
    else if (S_ISCHR(s.st_mode) || S_ISBLK(s.st_mode)) kind = "a device";
    tfn__file_fail(f, TFN_BAD_FILE, "it is %s, not a regular file", kind, 0, 0);
    return -1;
#else
    (void)f;
    return -1;
#endif
}

/* Give the temporary file the owner, group and mode of the file that it replaces. Only root may
 * change an owner. If the group cannot be kept, its members keep only the rights of all others. */
static void tfn__keep_mode(tfn_file *f)
{
#ifdef TFN__POSIX
    struct stat old;
    struct stat now;
    const int number = fileno((FILE *)f->stream);
    unsigned mode;
    if (tfn__replaced_mode(f) < 0) return;
    tfn__clear_reason();
    if (stat(f->path, &old) || fstat(number, &now)) {
        tfn__system_fail(f, "its mode cannot be read%s", 0, 0);
        return;
    }
    mode = (unsigned)old.st_mode & 07777;
    if (old.st_uid != now.st_uid || old.st_gid != now.st_gid)
        if (fchown(number, old.st_uid, old.st_gid)) {
            mode &= 0777;
            if (old.st_gid != now.st_gid && fchown(number, now.st_uid, old.st_gid))
                mode &= 0707 | (mode & 7) << 3;
        }
    tfn__clear_reason();
    if (((unsigned)now.st_mode & 07777) != mode && fchmod(number, (mode_t)mode))
        tfn__system_fail(f, "its mode cannot be kept%s", 0, 0);
#else
    tfn__replaced_mode(f);
#endif
}

/* -- temporary files ------------------------------------------------------------------------- */

/* A path is replaced whole or not at all: its bytes go to a temporary file in the same folder,
 * FILE.PROCESS-XXXXXX.tmp, which is renamed when it is complete. The six letters are random. So two
 * programs can write one path, and a file that a crash has left never blocks the next one. */

/* The path of the temporary file with this number: the process in the upper bits, and the letters
 * in the lower 30. A long name is cut, but not within a character of UTF-8. */
static void tfn__temporary_path(char *path, const char *target, uint64_t number)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
    const size_t folder = tfn__folder_bytes(target);
    size_t bytes = tfn__length(target + folder);
    tfn__text t = tfn__text_in(path, TFN__TEMPORARY);
    if (bytes > TFN__NAME_MOST)
        for (bytes = TFN__NAME_MOST; bytes > 0; bytes--)
            if ((target[folder + bytes] & 0xc0) != 0x80) break;
    tfn__put_bytes(&t, target, folder + bytes);
    tfn__put_int(&t, ".", (int64_t)(number >> 30), "-");
    for (int shift = 25; shift >= 0; shift -= 5)
        tfn__put_bytes(&t, letters + (number >> shift & 31), 1);
    tfn__put(&t, ".tmp");
    tfn__end(&t);
}

/* Create a file and open it to write. Fails with EEXIST if the name is taken, even by a symbolic
 * link. C99 has no such call, and C11 has one ("x"). So on a system that is neither POSIX nor
 * Windows, a program compiled as C99 would overwrite a file of this name. */
static FILE *tfn__create(const char *path, unsigned mode)
{
#ifdef TFN__CREATE
    const int number = TFN__CREATE(path, (mode_t)mode);
    FILE *s = NULL;
    (void)mode;
    if (number < 0) return NULL;
    s = TFN__STREAM(number);
    if (s) return s;
    TFN__CLOSE(number);
    remove(path);
    return NULL;
#elif defined __STDC_VERSION__ && __STDC_VERSION__ >= 201112L
    (void)mode;
    return fopen(path, "wbx");
#else
    (void)mode;
    return fopen(path, "wb");
#endif
}

/* Open a temporary file for f->path; no other function creates one. If it replaces a file, only its
 * owner may read it until it is complete. The mode of a new file follows the umask. */
static void tfn__open_temporary(tfn_file *f)
{
    char target[TFN__PATH];
    char path[TFN__TEMPORARY];
    const int old = tfn__replaced_mode(f);
    unsigned mode = 0666;
    tfn_key key = tfn_key_make((uint64_t)time(NULL) ^ (uint64_t)clock() << 32);
    if (old >= 0) mode = (unsigned)old & 0600;
    if (!tfn__fine(f) || !tfn__target(f, target)) return;
    key = tfn_key_fold(key, (uint64_t)(uintptr_t)path);     /* an address that systems randomize */
    for (uint64_t i = 0; i < TFN__TRIES; i++) {
        const uint64_t letters = tfn_random_bits(key, i) >> 34;
        f->temporary = (uint64_t)TFN__PROCESS() << 30 | letters;
        tfn__temporary_path(path, target, f->temporary);
        tfn__clear_reason();
        f->stream = tfn__create(path, mode);
        if (f->stream || !TFN__TAKEN()) break;
    }
    if (!f->stream) tfn__system_fail(f, "cannot be opened%s", 0, 0);
}

/* Open the path to read and set `used` to the bytes that can be read. Some systems open a folder,
 * too, but then it has no size, or one that no file has. */
static void tfn__open_path(tfn_file *f)
{
    char target[TFN__PATH];
    FILE *s;
    if (!tfn__target(f, target)) return;                /* the same limit as for writing */
    tfn__clear_reason();
    s = fopen(f->path, "rb");
    f->stream = s;
    if (!s) tfn__system_fail(f, "cannot be opened%s", 0, 0);
    if (!s) return;
    f->used = UINT64_MAX;
    if (!TFN__SEEK(s, 0, SEEK_END)) f->used = (uint64_t)TFN__TELL(s);
    if (f->used > INT64_MAX) tfn__system_fail(f, "it has no size%s", 0, 0);
}

/* Close the temporary file and rename it, or remove it after an error. The bytes reach the disk
 * first, then the name, then the folder. So a crash at any point leaves a whole file, old or new.
 * If the name came first, it could belong to bytes that were never written. */
static void tfn__commit_path(tfn_file *f)
{
    char target[TFN__PATH];
    char path[TFN__TEMPORARY];
    FILE *s = (FILE *)f->stream;
    const bool named = tfn__target(f, target);
    if (tfn__fine(f)) tfn__keep_mode(f);
    f->stream = NULL;
    tfn__clear_reason();
    if (tfn__fine(f) && fflush(s)) tfn__system_fail(f, "flush failed%s", 0, 0);
    if (tfn__fine(f) && TFN__SYNC(s)) tfn__system_fail(f, "fsync failed%s", 0, 0);
    if (fclose(s)) tfn__system_fail(f, "close failed%s", 0, 0);
    if (!named) return;
    tfn__temporary_path(path, target, f->temporary);
    if (tfn__fine(f) && TFN__RENAME(path, target)) tfn__system_fail(f, "rename failed%s", 0, 0);
    if (!tfn__fine(f)) remove(path);
    else if (!tfn__sync_folder(target)) tfn__system_fail(f, "fsync of its folder failed%s", 0, 0);
}
#else
#define TFN__DURABLE "no"
#endif
TFNORM_API const char *tfn_io_durable(void) { return TFN__DURABLE; }

/* -- bytes ----------------------------------------------------------------------------------- */

/* True on a little-endian machine: files have the same byte order, so values are copied. Elsewhere
 * the bytes of each value are swapped. */
SHARED bool tfn__little(void)
{
    const uint16_t one = 1;
    return *(const uint8_t *)&one;
}

/* Call before a file is read or written. `used` becomes the bytes that can be read, or counts those
 * that are written. Without an output, bytes are only counted: sizes come from the code that
 * writes, so the two cannot differ. */
SHARED bool tfn__begin(tfn_file *f, bool write)
{
    if (!tfn__fine(f)) return false;
    f->used = 0;
    if (!write && f->io) f->used = f->io->size;
    else if (!write) f->used = f->from_size;
    f->counts = write && !f->path && !f->to && !f->io;
    if (!f->path) return true;
#if TFN__PATHS
    if (write) tfn__open_temporary(f);
    else tfn__open_path(f);
#else
    tfn__file_fail(f, TFN_UNSUPPORTED, "paths are left out by TFNORM_NO_STDIO", NULL, 0, 0);
#endif
    return tfn__fine(f);
}

/* Read bytes, which exist, from the path, the stream or the memory. */
static bool tfn__get_bytes(tfn_file *f, uint64_t at, void *to, size_t bytes)
{
#if TFN__PATHS
    FILE *s = (FILE *)f->stream;
    if (f->path) return !TFN__SEEK(s, at, SEEK_SET) && fread(to, 1, bytes, s) == bytes;
#endif
    if (f->io) return f->io->read && f->io->read(f->io->user, at, to, bytes);
    TFNORM_MEMCPY(to, (const uint8_t *)f->from + at, bytes);
    return true;
}

/* Copy bytes from a place in the file, or fail. The check against the file's size uses no sum that
 * could overflow. */
SHARED bool tfn__file_get(tfn_file *f, uint64_t at, void *to, uint64_t bytes)
{
    const bool there = bytes <= f->used && at <= f->used - bytes && bytes <= SIZE_MAX;
    if (!tfn__fine(f)) return false;
    if (!bytes) return true;
    tfn__clear_reason();
    if (there && tfn__get_bytes(f, at, to, (size_t)bytes)) return true;
    tfn__system_fail(f, "%d bytes at byte %d cannot be read%s", (int64_t)bytes, (int64_t)at);
    return false;
}

/* Append bytes to the path, the stream or the memory. Memory takes a piece only if it fits;
 * tfn__finish_writing then returns the size that a second try needs. */
static bool tfn__put_bytes_to(tfn_file *f, const void *from, size_t bytes)
{
#if TFN__PATHS
    if (f->path) return fwrite(from, 1, bytes, (FILE *)f->stream) == bytes;
#endif
    if (f->io) return f->io->write && f->io->write(f->io->user, from, bytes);
    if (f->used <= f->to_size && bytes <= f->to_size - f->used)
        TFNORM_MEMCPY((uint8_t *)f->to + f->used, from, bytes);
    return true;
}

/* Append bytes, or only count them. */
SHARED void tfn__file_put(tfn_file *f, const void *from, size_t bytes)
{
    if (!tfn__fine(f)) return;
    tfn__clear_reason();
    if (bytes && !f->counts && !tfn__put_bytes_to(f, from, bytes))
        tfn__system_fail(f, "%d bytes cannot be written after %d%s", (int64_t)bytes,
                         (int64_t)f->used);
    f->used += bytes;
}

/* Call after the last byte. Renames a path's temporary file; reports the needed size if memory was
 * too small. */
SHARED tfn_status tfn__finish_writing(tfn_file *f)
{
#if TFN__PATHS
    if (f->path && f->stream) tfn__commit_path(f);
#endif
    if (!f->path && !f->io && f->to && f->used > f->to_size)
        tfn__file_fail(f, TFN_NO_MEMORY, "the memory has %d bytes, %d are needed", NULL,
                       (int64_t)f->to_size, (int64_t)f->used);
    tfn_file_close(f);
    return f->error.status;
}

/* Only the error survives. A closed file can be opened again. */
TFNORM_API void tfn_file_close(tfn_file *f)
{
    if (!f) return;
#if TFN__PATHS
    if (f->stream) fclose((FILE *)f->stream);
#endif
    TFN__RELEASE(f->owned);
    f->stream = NULL;
    f->owned = NULL;
    f->header = NULL;                   /* marks the file as closed */
    f->count = 0;
}

/* Memory until the file is closed: the caller's, or malloc's if there is none. tfn__arena_in aligns
 * its start, which takes up to TFN__ALIGN - 1 bytes: all sizes of work include these. */
SHARED tfn__arena tfn__work_of(tfn_file *f, size_t bytes)
{
    void *mem = f->work;
    size_t size = 0;
    if (mem) size = f->work_size;
    if (!mem && bytes < SIZE_MAX) mem = f->owned = TFN__MALLOC(bytes);
    if (f->owned) size = bytes;
    if (!mem || size < bytes)
        tfn__file_fail(f, TFN_NO_MEMORY, "work has %d bytes, %d are needed", NULL, (int64_t)size,
                       (int64_t)bytes);
    return tfn__arena_in(mem, size);
}

/* A little-endian number of up to 8 bytes, on a machine of any order. */
SHARED uint64_t tfn__from_bytes(const uint8_t *s, size_t bytes)
{
    uint64_t v = 0;
    while (bytes-- > 0) v = v << 8 | s[bytes];
    return v;
}

/* Decode an IEEE 754 number of any format: sign, biased exponent, fraction. Normal numbers have a
 * leading 1 before the fraction; denormal ones (exponent 0) do not. */
SHARED double tfn__ieee(uint64_t u, int exponent_bits, int fraction_bits)
{
    const int most = (1 << exponent_bits) - 1;          /* the exponent of infinity and NaN */
    const int unit = most / 2 + fraction_bits;          /* bias plus the fraction's bits */
    const int exponent = (int)(u >> fraction_bits) & most;
    const uint64_t one = UINT64_C(1) << fraction_bits;
    const uint64_t fraction = u & (one - 1);
    double v;
    if (exponent == most && fraction) v = (double)NAN;
    else if (exponent == most) v = (double)INFINITY;
    else if (exponent == 0) v = ldexp((double)fraction, 1 - unit);
    else v = ldexp((double)(fraction | one), exponent - unit);
    if (u >> (exponent_bits + fraction_bits) & 1) v = -v;
    return v;
}

/* The bits of the number of an IEEE 754 format that is nearest to v, ties to even: the inverse of
 * tfn__ieee, for formats with fewer than 52 bits of fraction. */
SHARED uint64_t tfn__ieee_bits(double v, int exponent_bits, int fraction_bits)
{
    const int64_t most = (INT64_C(1) << exponent_bits) - 1;
    const uint64_t infinite = (uint64_t)most << fraction_bits;
    uint64_t u, sign, bits, rest;
    int64_t exponent;
    int drop = 52 - fraction_bits;
    TFNORM_MEMCPY(&u, &v, sizeof u);
    sign = u >> 63 << (exponent_bits + fraction_bits);
    exponent = (int64_t)(u >> 52 & 2047) - 1023 + most / 2;
    if (v != v) return sign | infinite | UINT64_C(1) << (fraction_bits - 1);
    if (exponent >= most) return sign | infinite;
    if (!(v < 0 || v > 0)) return sign;
    u = (u & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    if (exponent < 1) {                     /* denormal: no leading 1 */
        drop += (int)tfn__min(1 - (ptrdiff_t)exponent, 53 - drop);
        exponent = 1;
    }
    bits = u >> drop;
    rest = u - (bits << drop);
    if (rest > UINT64_C(1) << (drop - 1)) bits++;
    if (rest == UINT64_C(1) << (drop - 1)) bits += bits & 1;
    return sign | (bits + ((uint64_t)(exponent - 1) << fraction_bits));
}
TFN__SMALL_END
