/* Files: safetensors against the format's rules and hostile input, checkpoints, resumed runs,
 * failing disks, averages, arrays of NumPy. Golden bytes: golden/make_files.py. */
#ifndef TESTS_ALL
#if !defined _POSIX_C_SOURCE && !defined _WIN32
#define _POSIX_C_SOURCE 200809L         /* fsync, even with -std=c99 */
#endif
#define FILES_HOOKS                     /* system calls that fail on request */
#endif
#include "../hook.h"
#include <stdio.h>
#ifdef FILES_HOOKS
#if defined __unix__ || defined __APPLE__
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
static int files_open(const char *path, int flags, ...);
static FILE *files_fdopen(int fd, const char *mode);
static int files_fchmod(int fd, mode_t mode);
static int files_fchown(int fd, uid_t owner, gid_t group);
static int files_fsync(int fd);
static int files_rename(const char *from, const char *to);
static int files_close(int fd);
static int files_stat(const char *path, struct stat *s);
static int files_fstat(int fd, struct stat *s);
static int files_fseeko(FILE *f, off_t at, int from);
#define open(...) files_open(__VA_ARGS__)
#define fdopen(fd, mode) files_fdopen(fd, mode)
#define fchmod(fd, mode) files_fchmod(fd, mode)
#define fchown(fd, owner, group) files_fchown(fd, owner, group)
#define fsync(fd) files_fsync(fd)
#define rename(from, to) files_rename(from, to)
#define close(fd) files_close(fd)
#define stat(path, s) files_stat(path, s)
#define fstat(fd, s) files_fstat(fd, s)
#define fseeko(f, at, from) files_fseeko(f, at, from)
#endif
static size_t files_fwrite(const void *p, size_t each, size_t n, FILE *f);
static int files_fflush(FILE *f);
static int files_fclose(FILE *f);
static FILE *files_fopen(const char *path, const char *mode);
#define fopen(path, mode) files_fopen(path, mode)
#define fwrite(p, each, n, f) files_fwrite(p, each, n, f)
#define fflush(f) files_fflush(f)
#define fclose(f) files_fclose(f)
#endif
#define TFNORM_IMPLEMENTATION
#include "../../tfnorm.h"
#ifdef FILES_HOOKS
#undef fopen
#undef fwrite
#undef fflush
#undef fclose
#undef open
#undef fdopen
#undef fchmod
#undef fchown
#undef fsync
#undef rename
#undef close
#undef stat
#undef fstat
#undef fseeko
#endif
#include "../../tools/common/library.c"
#include "../check.h"
#include "../digest.h"
#include "../golden/golden_files.h"
#include "../golden/golden_checkpoint.h"
#include "../golden/golden_checkpoint_0_1.h"

/* -- helpers --------------------------------------------------------------------------------- */

static tfn_file files_from(const void *bytes, size_t size)
{
    tfn_file f;
    memset(&f, 0, sizeof f);
    f.from = bytes;
    f.from_size = size;
    return f;
}
static tfn_file files_at(const char *path)
{
    tfn_file f;
    memset(&f, 0, sizeof f);
    f.path = path;
    return f;
}
static const char *files_error(const tfn_error *e)
{
    static char text[1400];             /* with a long path */
    return tfn_error_text(e, text, sizeof text);
}
#define FILES_OK(call, f) \
    do { if ((call) != TFN_OK) FAIL("%s: %s", #call, files_error(&(f).error)); } while (0)

/* Checks a call's status, and a part of the text of its error. */
static void files_says(tfn_status status, const tfn_error *e, tfn_status wanted, const char *text)
{
    CHECK_INT(status, wanted);
    if (!strstr(files_error(e), text)) FAIL("%s, not %s", files_error(e), text);
}

/* Opens a safetensors file of these bytes and reads everything in it. */
static tfn_status files_try(const void *bytes, size_t size, char *text, size_t room)
{
    unsigned char *copy = (unsigned char *)calloc(size ? size : 1, 1);     /* ASan checks its end */
    tfn_file f = files_from(copy, size);
    tfn_tensor t;
    tfn_status status;
    float values[64];
    if (size) memcpy(copy, bytes, size);
    status = tfn_file_open(&f);
    for (int32_t i = 0; tfn_file_tensor(&f, i, &t); i++) {
        tfn_tensor again;
        if (t.count <= 64 && tfn__has_values(t.dtype)) tfn_file_read(&f, &t, values, 0, t.count);
        CHECK(tfn_file_find(&f, t.name, &again) && again.at == t.at);
    }
    if (text) tfn_error_text(&f.error, text, room);
    tfn_file_close(&f);
    free(copy);
    return status;
}
static tfn_status files_header(const char *header, size_t data, char *text, size_t room)
{
    size_t n = strlen(header), size = 8 + n + data;
    unsigned char *bytes = (unsigned char *)calloc(size, 1);
    tfn_status status;
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)((uint64_t)n >> 8*i);
    memcpy(bytes + 8, header, n);
    status = files_try(bytes, size, text, room);
    free(bytes);
    return status;
}

/* -- safetensors ----------------------------------------------------------------------------- */

typedef struct files_bad_case { const char *header; size_t data; const char *message;
                                } files_bad_case;

TEST(files_rules)
{
#define FILES_T(name, dtype, shape, begin, end) \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" begin "," end "]}"
    static const files_bad_case bad[] = {
        { "{", 0, "a string is expected at byte 1" }, { "\xff", 0, "not UTF-8" },
            { "", 0, "{ is expected" },
        { "{\"\xc0\x80\":0}", 0, "not UTF-8" }, { "{\"\xed\xa0\x80\":0}", 0, "not UTF-8" },
        { "{\"\xf4\x90\x80\x80\":0}", 0, "not UTF-8" }, { "{}x", 0,
            "header's end is expected at byte 2" },
        { "[]", 0, "{ is expected" }, { "{} {}", 0, "header's end" }, { "{\"a\":1}", 0,
            "{ is expected" },
        { "{" FILES_T("a", "I32", "[2,2]", "0", "4") "}", 4, "a has 4 bytes, its shape needs 16" },
        { "{" FILES_T("a", "I32", "[2,18446744073709551614]", "0", "16") "}", 16,
          "a smaller number" },
        { "{" FILES_T("a", "I32", "[2,9223372036854775807]", "0", "16") "}", 16,
          "a smaller number" },
        { "{" FILES_T("a", "I32", "[281474976710656]", "0", "0") "}", 0, "a smaller number" },
        { "{" FILES_T("a", "I32", "[4294967296,4294967296]", "0", "0") "}", 0, "too many values" },
        { "{" FILES_T("a", "I32", "[4294967296,4294967296,0]", "0", "0") "}", 0,
          "too many values" },
        { "{" FILES_T("a", "F32", "[4611686018427387904]", "0", "0") "}", 0, "a smaller number" },
        { "{" FILES_T("a", "F32", "[65536,281474976710655]", "0", "0") "}", 0, "too many values" },
        { "{" FILES_T("a", "U8", "[4]", "0", "4") "," FILES_T("b", "U8", "[4]", "0", "4") "}", 4,
          " begins at 0, 4 is expected" },
        { "{" FILES_T("a", "U8", "[4]", "0", "4") "," FILES_T("b", "U8", "[4]", "5", "9") "}", 9,
          "b begins at 5, 4 is expected" },
        { "{" FILES_T("a", "U8", "[4]", "0", "4") "}", 5,
          "the tensors have 4 bytes, the file has 5" },
        { "{" FILES_T("a", "U8", "[4]", "0", "4") "}", 3,
          "the tensors have 4 bytes, the file has 3" },
        { "{" FILES_T("a", "U8", "[2]", "0", "2") "," FILES_T("a", "U8", "[2]", "2", "4") "}", 4,
          "a comes twice" },
        { "{" FILES_T("a", "U8", "[2]", "0", "2") "," FILES_T("\\u0061", "U8", "[2]", "2", "4") "}",
          4,
          "a comes twice" },
        { "{" FILES_T("a", "U8", "[-1]", "0", "0") "}", 0, "a whole number" },
        { "{" FILES_T("a", "U8", "[1.0]", "0", "1") "}", 1, ", or ] is expected" },
        { "{" FILES_T("a", "U8", "[1e0]", "0", "1") "}", 1, ", or ] is expected" },
        { "{" FILES_T("a", "U8", "[1e30]", "0", "1") "}", 1, ", or ] is expected" },
        { "{" FILES_T("a", "U8", "[01]", "0", "1") "}", 1, "a whole number" },
        { "{" FILES_T("a", "U8", "[+1]", "0", "1") "}", 1, "a whole number" },
        { "{" FILES_T("a", "U8", "[-0]", "0", "0") "}", 0, "a whole number" },
        { "{" FILES_T("a", "U8", "[1,]", "0", "1") "}", 1, "a whole number" },
        { "{" FILES_T("a", "U8", "[NaN]", "0", "1") "}", 1, "a whole number" },
        { "{" FILES_T("a", "F33", "[1]", "0", "4") "}", 4, "a known dtype" },
        { "{" FILES_T("a", "U8", "[1]", "4", "3") "}", 4, "a begins at 4, 0 is expected" },
        { "{" FILES_T("a", "U8", "[0]", "0", "0") "," FILES_T("b", "U8", "[1]", "0", "1") ","
          FILES_T("c", "U8", "[1]", "1", "0") "}", 1, "c ends before it begins" },
        { "{" FILES_T("a", "U8", "[1]", "0", "18446744073709551615") "}", 1, "a smaller number" },
        { "{" FILES_T("a", "F4", "[1]", "0", "0") "}", 0, "a has 0 bytes, its shape needs 0" },
        { "{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1,
          "a tensor with dtype, shape and data_offsets" },
        { "{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
          "once" },
        { "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1,2]}}", 1, "two offsets" },
        { "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0]}}", 1, "two offsets" },
        { "{\"__metadata__\":{\"a\":{}}}", 0, "a string is expected" },
            { "{\"__metadata__\":{\"a\":1}}", 0, "a string" },
        { "{\"__metadata__\":{},\"__metadata__\":{}}", 0, "one of it" },
        { "{\"__metadata__\":nul}", 0, "null" }, { "{\"a\" {}}", 0, ": is expected" },
        { "{\"a\":{\"x\":[[[[[[[[[0]]]]]]]]],\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "less depth" },
        { "{\"a\":{\"x\":01,\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
          "a number" },
        { "{\"a\":{\"x\":1.,\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
          "a number" },
        { "{\"a\":{\"x\":1e,\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
          "an exponent" },
        { "{\"a\":{\"x\":Infinity,\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
          "a number" },
        { "{" FILES_T("a\\u0000", "U8", "[1]", "0", "1") "}", 1, "without zeros" } };
    static const files_bad_case good[] = {
        { "{}", 0, NULL }, { " \t\r\n{ } ", 0, NULL }, { "{\"__metadata__\":null}", 0, NULL },
        { "{" FILES_T("a", "F32", "[]", "0", "4") "}", 4, NULL },
        { "{" FILES_T("a", "F32", "[0,281474976710655,281474976710655]", "0", "0") "}", 0, NULL },
        { "{" FILES_T("b", "U8", "[1]", "1", "2") ",\n" FILES_T("a", "BOOL", "[1]", "0", "1") "}  ",
          2, NULL },
        { "{" FILES_T("a", "F4", "[4]", "0", "2") "}", 2, NULL },
        { "{" FILES_T("a", "U8", "[1,1,1,1,1,1,1,1,1]", "0", "1") "}", 1, NULL },
        { "{\"a\":{\"x\":[[[[[[[[0]]]]]]]],\"dtype\":\"U8\",\"shape\":[1],"
          "\"data_offsets\":[0,1]}}", 1, NULL },
        { "{\"__metadata__\":{\"k\":\"\\ud83d\\ude00\"},\"a\":{\"x\":[1,-2.5e+3,{\"y\":null}],\"dtype\":\"U8\","
          "\"shape\":[1],\"data_offsets\":[0,1]}}", 1, NULL } };
    unsigned char n[16] = { 0 };
    char text[300];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (files_header(bad[i].header, bad[i].data, text, sizeof text) == TFN_OK
            || !strstr(text, bad[i].message))
            FAIL("%s: %s", bad[i].header, text);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        if (files_header(good[i].header, good[i].data, text, sizeof text) != TFN_OK)
            FAIL("%s: %s", good[i].header, text);
    files_try(n, 0, text, sizeof text);
    CHECK(strstr(text, "it has 0 bytes, 8 are expected"));
    CHECK_INT(files_try(n, 7, NULL, 0), TFN_BAD_FORMAT);
    n[0] = 9;
    files_try(n, 16, text, sizeof text);
    CHECK(strstr(text, "a header of 9 bytes, the file has 8"));
    memset(n, 255, 8);
    files_try(n, 16, text, sizeof text);
    CHECK(strstr(text, "the header has over 100000000 bytes"));
    for (int i = 0; i < 8; i++) n[i] = (unsigned char)(UINT64_C(100000001) >> 8*i);
    files_try(n, 16, text, sizeof text);
    CHECK(strstr(text, "the header has over 100000000 bytes"));
}

/* Tensors whose names or ranks do not fit into tfn_tensor are left out; the others are read. */
TEST(files_without_room)
{
#define FILES_LESS "012345678901234567890123456789012345678901234567890123456789012"
#define FILES_LONG FILES_LESS "3"
    static const char header[] =
        "{" FILES_T(FILES_LONG FILES_LONG, "U8", "[1]", "0", "1") ","
        FILES_T("deep", "U8", "[1,1,1,1,1,1,1,1,1]", "1", "2") ","
        FILES_T("kept", "U8", "[1]", "2", "3") "," FILES_T("", "U8", "[1]", "3", "4") ","
        FILES_T(FILES_LONG FILES_LESS, "U8", "[1]", "4", "5") ","
        FILES_T("last", "U8", "[1,1,1,1,1,1,1,1]", "5", "6") "}";
    unsigned char bytes[8 + sizeof header + 5] = { (unsigned char)(sizeof header - 1),
                                                   (unsigned char)((sizeof header - 1) >> 8) };
    tfn_file f;
    tfn_tensor t;
    memcpy(bytes + 8, header, sizeof header - 1);
    memset(&f, 0, sizeof f);
    f.from = bytes;
    f.from_size = 8 + sizeof header - 1 + 6;
    CHECK(tfn_file_open(&f) == TFN_OK);
    CHECK(tfn_file_tensor(&f, 0, &t) && !strcmp(t.name, ""));
    CHECK(tfn_file_tensor(&f, 1, &t) && !strcmp(t.name, FILES_LONG FILES_LESS));
    CHECK(tfn_file_tensor(&f, 2, &t) && !strcmp(t.name, "kept") && t.bytes == 1);
    CHECK(tfn_file_tensor(&f, 3, &t) && !strcmp(t.name, "last") && t.rank == 8);
    CHECK(!tfn_file_tensor(&f, 4, &t));
    CHECK(tfn_file_find(&f, "kept", &t) && !tfn_file_find(&f, "deep", &t));
    CHECK(!tfn_file_find(&f, FILES_LONG, &t) && !tfn_file_find(&f, FILES_LONG FILES_LONG, &t));
    CHECK(f.error.status == TFN_OK);
    tfn_file_close(&f);
}

/* Many tensors with the same bytes; many names; the work is enough for the worst header. */
TEST(files_many)
{
    const int count = check_tier() >= 2 ? 1000000 : 20000;
    char *header = (char *)malloc((size_t)count * 70 + 10), text[300];
    for (int same = 0; same < 2; same++) {
        char *p = header;
        *p++ = '{';
        for (int i = 0; i < count; i++)
            p += sprintf(p, "%s\"%d\":{\"dtype\":\"U8\",\"shape\":[%d],\"data_offsets\":[%d,%d]}",
                         i ? "," : "",
                         i * 7919 % count, same ? 16 : 0, 0, same ? 16 : 0);
        strcpy(p, "}");
        files_header(header, same ? 16 : 0, text, sizeof text);
        if (same) CHECK(strstr(text, " begins at 0, 16 is expected"));
        else CHECK(!strcmp(text, "no error"));
    }
    free(header);
}

static void files_value(tfn_file *f, const char *name, const float *wanted, int count)
{
    tfn_tensor t;
    float got[8];
    CHECK(tfn_file_find(f, name, &t));
    CHECK_INT(t.count, count);
    FILES_OK(tfn_file_read(f, &t, got, 0, count), *f);
    for (int i = 0; i < count; i++)
        if (!(got[i] == wanted[i] || (got[i] != got[i] && wanted[i] != wanted[i])))
            FAIL("%s[%d] is %g, not %g", name, i, (double)got[i], (double)wanted[i]);
}

TEST(files_values)
{
    const float matrix[] = { 0, -0.0f, 1, 1e-45f, 3.4028235e38f, -INFINITY };
    static const float i8[] = { -128, 127 }, u8[] = { 0, 255 }, i16[] = { -32768, 32767 };
    static const float u16[] = { 65535 }, i32[] = { -2147483648.f, 2147483648.f },
        u32[] = { 4294967296.f };
    static const float truth[] = { 0, 1 }, seven[] = { 7 };
    tfn_file f = files_from(golden_all_dtypes, sizeof golden_all_dtypes);
    tfn_tensor t;
    char text[8];
    FILES_OK(tfn_file_open(&f), f);
    files_value(&f, "matrix", matrix, 6);
    files_value(&f, "half", golden_half, 8);
    files_value(&f, "brain", golden_brain, 6);
    files_value(&f, "double", golden_double, 3);
    files_value(&f, "i8", i8, 2);
    files_value(&f, "u8", u8, 2);
    files_value(&f, "i16", i16, 2);
    files_value(&f, "u16", u16, 1);
    files_value(&f, "i32", i32, 2);
    files_value(&f, "u32", u32, 1);
    files_value(&f, "i64", golden_i64, 2);
    files_value(&f, "u64", golden_u64, 1);
    files_value(&f, "bool", truth, 2);
    files_value(&f, "empty", NULL, 0);
    files_value(&f, "a \"quoted\"\\\xc3\xa9", seven, 1);
    CHECK(!tfn_file_find(&f, "matri", &t) && !tfn_file_find(&f, "zzz", &t)
          && !tfn_file_find(&f, "", &t));
    CHECK_INT(tfn_file_text(&f, "format", text, sizeof text), 2);
    CHECK(!strcmp(text, "pt") && !tfn_file_text(&f, "other", NULL, 0));
    CHECK(tfn_file_find(&f, "matrix", &t) && t.rank == 2 && t.shape[0] == 2 && t.shape[1] == 3);
    CHECK_INT(tfn_file_read(&f, &t, NULL, 5, 2), TFN_BAD_SHAPE);
    tfn_file_close(&f);
}

/* Writes the same bytes as Python. Every size of memory and of work below the exact one fails. */
TEST(files_writing)
{
    static const float a[] = { 3, 4 }, b[] = { 1.5f, -2 };
    tfn_tensor t[3];
    unsigned char out[sizeof golden_small], work[4096];
    tfn_file f;
    size_t wanted;
    memset(t, 0, sizeof t);
    strcpy(t[0].name, "c"), t[0].dtype = TFN_DTYPE_U8, t[0].rank = 1, t[0].shape[0] = 3,
        t[0].data = "xyz";
    strcpy(t[1].name, "b"), t[1].rank = 1, t[1].shape[0] = 2, t[1].data = b;
    strcpy(t[2].name, "a"), t[2].rank = 2, t[2].shape[0] = 1, t[2].shape[1] = 2, t[2].data = a;
    for (size_t size = 0; size <= sizeof out; size++) {
        unsigned char *exact = (unsigned char *)malloc(size ? size : 1);
        f = files_from(NULL, 0);
        f.to = exact;
        f.to_size = size;
        f.work = work;
        f.work_size = 3*4 + 63;
        CHECK_INT(tfn_file_write(&f, t, 3), size < sizeof out ? TFN_NO_MEMORY : TFN_OK);
        CHECK_INT(f.used, sizeof out);
        if (size == sizeof out) CHECK_BITS(exact, golden_small, sizeof out);
        free(exact);
    }
    f = files_from(NULL, 0);
    FILES_OK(tfn_file_write(&f, t, 3), f);               /* counted only */
    CHECK_INT(f.used, sizeof out);
    f.work = work;
    f.work_size = 3*4 + 62;
    CHECK_INT(tfn_file_write(&f, t, 3), TFN_NO_MEMORY);
    f = files_from(golden_small, sizeof golden_small);
    wanted = tfn_file_work(&f);
    f.work = work + 1;
    f.work_size = wanted;
    FILES_OK(tfn_file_open(&f), f);
    CHECK_INT(f.count, 3);
    tfn_file_close(&f);
    f.work_size--;
    CHECK_INT(tfn_file_open(&f), TFN_NO_MEMORY);
    CHECK_INT(tfn_file_open(&f), TFN_NO_MEMORY);         /* the error stays */
    strcpy(t[0].name, "a");                              /* a name twice, also with another dtype */
    f = files_from(NULL, 0);
    CHECK_INT(tfn_file_write(&f, t, 3), TFN_BAD_OPTION);
    t[0].dtype = TFN_DTYPE_F32;
    f = files_from(NULL, 0);
    CHECK_INT(tfn_file_write(&f, t, 3), TFN_BAD_OPTION);
    t[0].rank = 9;
    f = files_from(NULL, 0);
    CHECK_INT(tfn_file_write(&f, t, 3), TFN_BAD_SHAPE);
}

/* -- the index of several files -------------------------------------------------------------- */

TEST(files_index)
{
    static const char good[] = "{\"metadata\":{\"total_size\":12},\"weight_map\":"
                               "{\"a\":\"x-1.safetensors\",\"b\":\"x-2.safetensors\"}}\n";
    static const char *const bad[] = { "", "{}", "{\"weight_map\":{\"a\":\"../x\"}}",
                                       "{\"weight_map\":{\"a\":\"\"}}",
        "{\"weight_map\":{\"a\":\"..\"}}", "{\"weight_map\":{\"a\":\"b\\\\c\"}}",
            "{\"weight_map\":{\"a\":1}}",
        "{\"weight_map\":{}}x", "{\"weight_map\":{},\"weight_map\":{}}",
            "{\"weight_map\":{\"a\":\"c:x\"}}" };
    char file[32];
    static char work[sizeof good + 63];
    tfn_file f = files_from(good, sizeof good - 1);
    FILES_OK(tfn_index_open(&f), f);
    CHECK(tfn_file_text(&f, "b", file, sizeof file) == 15 && !strcmp(file, "x-2.safetensors"));
    CHECK(tfn_file_text(&f, "a", file, sizeof file) == 15
          && !tfn_file_text(&f, "c", file, sizeof file));
    tfn_file_close(&f);
    f = files_from(good, sizeof good - 1);
    f.work = work;
    f.work_size = sizeof good - 1 + 63;             /* the text, and room to align it */
    FILES_OK(tfn_index_open(&f), f);
    tfn_file_close(&f);
    f.work_size--;
    files_says(tfn_index_open(&f), &f.error, TFN_NO_MEMORY, "are needed");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        f = files_from(bad[i], strlen(bad[i]));
        if (tfn_index_open(&f) != TFN_BAD_FORMAT) FAIL("accepted: %s", bad[i]);
    }
    for (size_t n = 0; n < sizeof good - 2; n++) {
        f = files_from(good, n);
        if (tfn_index_open(&f) != TFN_BAD_FORMAT) FAIL("accepted when cut to %d", (int)n);
    }
    f = files_at("build/no-such-index.json");
    files_says(tfn_index_open(&f), &f.error, TFN_BAD_FILE, "cannot be opened");
}

/* -- checkpoints ----------------------------------------------------------------------------- */

enum { FILES_T = 9, FILES_B = 3, FILES_V = 17, FILES_BANDS = 2 };
typedef struct files_case {
    const char *recipe;
    int32_t micro, stop;                /* micro-batches in a step; batches before the save */
    tfn_optimizer optimizer;
    bool half, encoder;
    tfn_head head;                      /* other than tokens: the input is frames */
} files_case;
static const files_case files_cases[] = {
    { "pre", 1, 4, TFN_OPTIMIZER_ADAMW, false, false, TFN_HEAD_TOKENS },
    { "post", 3, 5, TFN_OPTIMIZER_ADAM, false, false, TFN_HEAD_TOKENS },
    { "admin", 2, 3, TFN_OPTIMIZER_RADAM, false, false, TFN_HEAD_TOKENS },
    { "admin", 1, 0, TFN_OPTIMIZER_ADAMW, false, false, TFN_HEAD_TOKENS },
    { "batchnorm", 1, 4, TFN_OPTIMIZER_ADAMW, false, true, TFN_HEAD_TOKENS },
    { "powernorm", 2, 5, TFN_OPTIMIZER_SGD, false, true, TFN_HEAD_TOKENS },
    { "pre", 1, 5, TFN_OPTIMIZER_ADAMW, true, false, TFN_HEAD_TOKENS },
    { "lsuv", 1, 2, TFN_OPTIMIZER_SGD, false, false, TFN_HEAD_TOKENS },
    { "deepnorm", 2, 1, TFN_OPTIMIZER_ADAMW, false, true, TFN_HEAD_TOKENS },
    { "ngpt", 1, 3, TFN_OPTIMIZER_ADAM, false, false, TFN_HEAD_TOKENS },
    { "rezero", 1, 3, TFN_OPTIMIZER_SGD, false, false, TFN_HEAD_TOKENS },
    { "pre", 2, 5, TFN_OPTIMIZER_LION, true, false, TFN_HEAD_TOKENS },
    { "pre", 2, 5, TFN_OPTIMIZER_MUON, false, false, TFN_HEAD_TOKENS },
    { "lsuv", 2, 3, TFN_OPTIMIZER_MUON, true, false, TFN_HEAD_TOKENS },
    { "lsuv", 2, 1, TFN_OPTIMIZER_ADAFACTOR, false, false, TFN_HEAD_TOKENS },
    { "post", 1, 4, TFN_OPTIMIZER_ADAFACTOR, true, false, TFN_HEAD_TOKENS },
    { "admin", 2, 3, TFN_OPTIMIZER_SCHEDULE_FREE, true, false, TFN_HEAD_TOKENS },
    { "post", 1, 4, TFN_OPTIMIZER_ADAMW, false, true, TFN_HEAD_SEQUENCE },
    { "batchnorm", 2, 5, TFN_OPTIMIZER_ADAMW, false, true, TFN_HEAD_POSITIONS },
    { "pre", 2, 3, TFN_OPTIMIZER_ADAM, true, true, TFN_HEAD_NUMBERS },
    { "pre", 1, 3, TFN_OPTIMIZER_SGD, false, true, TFN_HEAD_NUMBERS }
};
static tfn_model_desc files_desc(const files_case *c)
{
    tfn_model_desc d;
    memset(&d, 0, sizeof d);
    d.recipe = c->recipe;
    d.arch = c->encoder ? TFN_ARCH_ENCODER : TFN_ARCH_DECODER;
    d.vocab = FILES_V;
    d.context = FILES_T;
    d.batch = FILES_B;
    d.width = 12;
    d.heads = 2;
    d.ffn = 20;
    d.micro_batches = c->micro;
    d.optimizer = c->optimizer;
    d.beta1 = c->optimizer == TFN_OPTIMIZER_SGD && c->micro > 1 ? (float)0.5 : 0;
    d.half = c->half;
    d.loss_scale = c->half ? (float)4194304 : 0;       /* too large, so that the scale changes */
    d.dropout = d.attention_dropout = d.activation_dropout = (float)0.1;
    d.schedule.kind = TFN_SCHEDULE_INVERSE_SQRT;
    d.schedule.warmup = 3;
    d.clip = 1;
    d.decay = (float)0.01;
    d.seed = UINT64_C(0xfedcba9876543210);
    d.head = c->head;
    if (c->head == TFN_HEAD_TOKENS) return d;
    d.bands = FILES_BANDS;
    d.frame_map = c->micro > 1 ? TFN_FRAME_MAP_LINEAR : TFN_FRAME_MAP_CONVOLUTIONS;
    d.classes = FILES_V;
    d.numbers = 2;
    d.number_loss = c->half ? TFN_NUMBER_LOSS_HUBER : TFN_NUMBER_LOSS_SQUARED;
    return d;
}

/* Trains on batches first .. last-1. */
static void files_train(tfn_model *m, int first, int last, tfn_report *report)
{
    int32_t tokens[FILES_B * FILES_T], targets[FILES_B * FILES_T];
    float frames[FILES_B * (4 * FILES_T + 3) * FILES_BANDS];
    const bool convolves = m->desc.bands && m->desc.frame_map == TFN_FRAME_MAP_CONVOLUTIONS;
    tfn_batch b;
    memset(&b, 0, sizeof b);
    memset(report, 0, sizeof *report);
    b.tokens = tokens;
    b.targets = targets;
    b.batch = FILES_B;
    b.time = convolves ? 4 * FILES_T + 3 : FILES_T;
    b.frames = b.numbers = frames;
    for (int n = first; n < last; n++) {
        for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
            frames[i] = (float)((int)(i * 11 + (size_t)n * 5) % 31 - 15) / 16;
        for (int i = 0; i < FILES_B * FILES_T; i++) {
            tokens[i] = (i * 7 + n * 5 + i / 4) % FILES_V;
            targets[i] = (tokens[i] * 3 + 1) % FILES_V;
        }
        if (tfn_model_step(m, &b, report) != TFN_OK) FAIL("%s", files_error(&m->error));
    }
}
static tfn_model files_model(const tfn_model_desc *d)
{
    tfn_model m;
    if (tfn_model_new(&m, d, NULL) != TFN_OK) FAIL("%s: %s", d->recipe, files_error(&m.error));
    return m;
}

/* Saves to memory that the caller frees. */
static unsigned char *files_save(const tfn_model *m, const tfn_checkpoint *with, size_t *size)
{
    tfn_file f = files_from(NULL, 0);
    FILES_OK(tfn_model_save(&f, m, with), f);
    *size = (size_t)f.used;
    f.to = malloc(*size);
    f.to_size = *size;
    FILES_OK(tfn_model_save(&f, m, with), f);
    CHECK_INT(f.used, *size);
    return (unsigned char *)f.to;
}

/* A checkpoint has exactly the moments that its optimizer keeps. */
TEST(files_moments)
{
    static const struct { tfn_optimizer optimizer; float beta1; int first, second; } rows[] = {
        { TFN_OPTIMIZER_ADAMW, 0, 1, 1 }, { TFN_OPTIMIZER_LION, 0, 1, 0 },
        { TFN_OPTIMIZER_SGD, 0.9f, 1, 0 }, { TFN_OPTIMIZER_SGD, 0, 0, 0 },
        { TFN_OPTIMIZER_ADAFACTOR, 0, 0, 1 }
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tfn_model_desc d = files_desc(files_cases);
        int count[3] = { 0, 0, 0 };
        unsigned char *bytes;
        size_t size;
        tfn_report report;
        tfn_tensor t;
        tfn_model m;
        tfn_file f;
        CASE("row %d", (int)i);
        d.optimizer = rows[i].optimizer;
        d.beta1 = rows[i].beta1;
        m = files_model(&d);
        files_train(&m, 0, 1, &report);
        bytes = files_save(&m, NULL, &size);
        f = files_from(bytes, size);
        FILES_OK(tfn_file_open(&f), f);
        for (int32_t k = 0; tfn_file_tensor(&f, k, &t); k++) {
            if (!strncmp(t.name, "training.moment1.", 17)) count[1]++;
            else if (!strncmp(t.name, "training.moment2.", 17)) count[2]++;
            else count[0] += strncmp(t.name, "training.", 9) != 0;
        }
        CHECK(count[0] > 10);
        CHECK_INT(count[1], rows[i].first * count[0]);
        CHECK_INT(count[2], rows[i].second * count[0]);
        tfn_file_close(&f);
        tfn_model_free(&m);
        free(bytes);
    }
}

/* Stop, save, load into a new model, continue: the same bits as a run without interruption, and the
 * same file at its end. */
/* The numbers of a run, which decide its next steps, are those of the saved one. */
static void files_same_state(const tfn_model *a, const tfn_model *b)
{
    CHECK_INT(a->step, b->step);
    CHECK_INT(a->micro, b->micro);
    CHECK_INT(a->sums.targets, b->sums.targets);
    CHECK_INT(a->finite_steps, b->finite_steps);
    CHECK_INT(a->profiled, b->profiled);
    CHECK_INT(a->profile_open && a->micro, b->profile_open && b->micro);
    CHECK_BITS(&a->loss_scale, &b->loss_scale, sizeof a->loss_scale);
    CHECK_BITS(&a->sums.loss, &b->sums.loss, sizeof a->sums.loss);
    CHECK_BITS(&a->sums.nll, &b->sums.nll, sizeof a->sums.nll);
    CHECK_BITS(&a->rate_squares, &b->rate_squares, sizeof a->rate_squares);
}
TEST(files_resume)
{
    for (size_t i = 0; i < sizeof files_cases / sizeof *files_cases; i++) {
        const files_case *c = files_cases + i;
        tfn_model_desc d = files_desc(c), peeked;
        tfn_model whole = files_model(&d), first = files_model(&d), second;
        tfn_report a, b;
        size_t size, ends[2];
        unsigned char *bytes, *end[2];
        int64_t step;
        tfn_file f;
        files_train(&whole, 0, 9, &a);
        files_train(&first, 0, c->stop, &b);
        bytes = files_save(&first, NULL, &size);
        f = files_from(bytes, size);
        FILES_OK(tfn_model_peek(&f, &peeked, &step), f);
        CHECK_INT(step, first.step);
        CHECK(peeked.recipe && !strcmp(peeked.recipe, c->recipe) && peeked.seed == d.seed);
        peeked.batch = FILES_B + 2;                    /* limits may differ */
        peeked.recompute = true;
        second = files_model(&peeked);
        FILES_OK(tfn_model_load(&second, &f), f);
        CHECK_INT(tfn_model_hash(&second), tfn_model_hash(&first));
        files_same_state(&second, &first);
        files_train(&second, c->stop, 9, &b);
        if (tfn_model_hash(&second) != tfn_model_hash(&whole)) FAIL("%s: other bits", c->recipe);
        CHECK(a.loss == b.loss && a.nll == b.nll && a.loss_scale == b.loss_scale && a.lr == b.lr);
        second.desc.batch = d.batch;
        second.desc.recompute = false;
        end[0] = files_save(&whole, NULL, ends);
        end[1] = files_save(&second, NULL, ends + 1);
        CHECK_INT(ends[0], ends[1]);
        if (memcmp(end[0], end[1], ends[0])) FAIL("%s: other files", c->recipe);
        free(bytes), free(end[0]), free(end[1]);
        tfn_model_free(&whole), tfn_model_free(&first), tfn_model_free(&second);
    }
}

/* A run is saved between two micro-batches, and many steps after its loss scale changed last. */
TEST(files_state)
{
    for (int half = 0; half < 2; half++) {
        tfn_model_desc d = files_desc(files_cases + 11);
        tfn_model m, again;
        tfn_report report;
        unsigned char *bytes;
        size_t size;
        tfn_file f;
        CASE("half %d", half);
        d.half = half != 0;
        m = files_model(&d);
        again = files_model(&d);
        files_train(&m, 0, 41, &report);        /* the first updates of half precision overflow */
        CHECK_INT(m.micro, 1);
        CHECK(m.step > 0 && m.sums.targets > 0 && m.sums.loss > 0 && m.sums.nll > 0);
        if (half) m.finite_steps = 41;
        bytes = files_save(&m, NULL, &size);
        f = files_from(bytes, size);
        FILES_OK(tfn_model_load(&again, &f), f);
        files_same_state(&again, &m);
        free(bytes);
        tfn_model_free(&m), tfn_model_free(&again);
    }
}

/* A difference from the model is an error that names it, and changes nothing. */
TEST(files_differences)
{
    tfn_model_desc d = files_desc(files_cases), e;
    tfn_model m = files_model(&d), other;
    tfn_report report;
    size_t size;
    unsigned char *bytes;
    tfn_file f;
    uint64_t before;
    files_train(&m, 0, 2, &report);
    bytes = files_save(&m, NULL, &size);
    for (int i = 0; i < 8; i++) {
        static const char *const messages[] = { "layers is 2, the model has 3",
                                                "dropout is 0.1, the model has 0.2",
            "topology is pre, the model has post", "recipe is pre, the model has admin",
                "untied is false, the model has true",
            "schedule.lr is 0.001, the model has 0.5", "positio",
            "schedule.fairseq is not given, the model has true" };
        e = d;
        if (i == 0) e.layers = 3;
        if (i == 1) e.dropout = (float)0.2;
        if (i == 2) e.recipe = "post";
        if (i == 3) e.recipe = "admin", e.topology = tfn_topology_find("pre"), e.init = m.desc.init;
        if (i == 4) e.untied = true;
        if (i == 5) e.schedule.lr = (float)0.5;
        if (i == 6) e.context = FILES_T + 1;
        if (i == 7) e.schedule.fairseq = true;
        other = files_model(&e);
        before = tfn_model_hash(&other);
        f = files_from(bytes, size);
        CHECK(tfn_model_load(&other, &f) != TFN_OK);
        if (!strstr(files_error(&f.error), messages[i])) FAIL("%s", files_error(&f.error));
        CHECK(other.error.status == TFN_OK && tfn_model_hash(&other) == before && !other.step);
        f = files_from(bytes, size);                   /* only weights: only the shapes must fit */
        CHECK_INT(tfn_model_load_weights(&other, &f, 1) == TFN_OK, i == 1 || i == 3 || i == 5
                  || i == 7);
        if (i == 1) CHECK_INT(tfn_model_hash(&other), tfn_model_hash(&m));
        tfn_model_free(&other);
    }
    e = d;
    e.inference = true;
    e.context = FILES_T;
    other = files_model(&e);
    f = files_from(bytes, size);
    FILES_OK(tfn_model_load(&other, &f), f);
    CHECK_INT(tfn_model_hash(&other), tfn_model_hash(&m));
    tfn_model_free(&other);
    other = files_model(&d);
    f = files_from(golden_small, sizeof golden_small);
    CHECK_INT(tfn_model_load(&other, &f), TFN_BAD_FORMAT);
    CHECK(strstr(files_error(&f.error), "not a checkpoint"));
    tfn_model_free(&other), tfn_model_free(&m);
    free(bytes);
}

/* Replaces a text in the header of a file in a buffer with room. Returns the new size. */
static size_t files_replace(unsigned char *bytes, size_t size, const char *old, const char *now)
{
    const size_t from = strlen(old), to = strlen(now);
    size_t header = 0;
    for (int i = 7; i >= 0; i--) header = header << 8 | bytes[i];
    for (size_t at = 8; at + from <= 8 + header; at++) {
        if (memcmp(bytes + at, old, from)) continue;
        memmove(bytes + at + to, bytes + at + from, size - at - from);
        memcpy(bytes + at, now, to);
        header = header + to - from;
        for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)((uint64_t)header >> 8*i);
        return size + to - from;
    }
    FAIL("the file has no %s", old);
    return size;
}

/* The shapes in a checkpoint: a matrix has rank 2, even if one side is 1; a vector has rank 1, and so
 * have Adafactor's sums over the rows and columns of a matrix. A load refuses the same values in
 * another shape. */
TEST(files_shapes)
{
    static const struct { const char *name; int32_t rank, rows, cols; } rows[] = {
        { "embedding.weight", 2, FILES_V, 12 }, { "encoder.0.ffn.w1.weight", 2, 12, 20 },
        { "encoder.0.ffn.w1.bias", 1, 20, 0 }, { "encoder.0.self.norm.weight", 1, 12, 0 },
        { "classifier.weight", 2, 12, 1 }, { "classifier.bias", 1, 1, 0 },
        { "training.moment2.encoder.0.ffn.w1.weight", 1, 32, 0 },
        { "training.moment2.encoder.0.self.norm.weight", 1, 12, 0 },
        { "training.moment2.classifier.weight", 1, 13, 0 }, { "training.state", 1, 8, 0 }
    };
    static const struct { const char *name, *now, *says; } other[] = {
        { "\"encoder.0.self.norm.weight\":", "[1,12]", "encoder.0.self.norm.weight has rank 2, not 1" },
        { "\"encoder.0.self.norm.weight\":", "[12,1]", "encoder.0.self.norm.weight has rank 2, not 1" },
        { "\"classifier.weight\":", "[1,12]", "classifier.weight has 1 rows, 12 are expected" },
        { "\"classifier.weight\":", "[12]", "classifier.weight has rank 1, not 2" },
        { "\"training.moment2.encoder.0.ffn.w1.weight\":", "[4,8]", "w1.weight has rank 2, not 1" }
    };
    tfn_model_desc d = files_desc(files_cases + 17);
    tfn_model m;
    size_t size;
    unsigned char *bytes;
    tfn_tensor t;
    tfn_file f;
    d.bands = 0;
    d.layers = d.classes = 1;
    d.frame_map = TFN_FRAME_MAP_CONVOLUTIONS;
    d.optimizer = TFN_OPTIMIZER_ADAFACTOR;
    m = files_model(&d);
    bytes = files_save(&m, NULL, &size);
    f = files_from(bytes, size);
    FILES_OK(tfn_file_open(&f), f);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CASE("%s", rows[i].name);
        CHECK(tfn_file_find(&f, rows[i].name, &t));
        CHECK_INT(t.rank, rows[i].rank);
        CHECK_INT(t.shape[0], rows[i].rows);
        if (t.rank == 2) CHECK_INT(t.shape[1], rows[i].cols);
    }
    tfn_file_close(&f);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        char old[100], now[100];
        unsigned char *changed = (unsigned char *)malloc(size + 16);
        size_t more;
        const char *at;
        memcpy(changed, bytes, size);
        at = (const char *)bytes + 8;
        while (strncmp(at, other[i].name, strlen(other[i].name))) at++;
        snprintf(old, sizeof old, "%.*s", (int)(strchr(at, ']') + 1 - at), at);
        snprintf(now, sizeof now, "%.*s%s", (int)(strchr(old, '[') - old), old, other[i].now);
        more = files_replace(changed, size, old, now);
        f = files_from(changed, more);
        CASE("%s", now);
        CHECK_INT(tfn_model_load(&m, &f), TFN_BAD_SHAPE);
        if (!strstr(files_error(&f.error), other[i].says)) FAIL("%s", files_error(&f.error));
        free(changed);
    }
    tfn_model_free(&m);
    free(bytes);
}

/* Files of earlier builds have numbers as 1e-1 and 15e-1: they must read as the same options. */
TEST(files_old_numbers)
{
    static const struct { const char *now, *old; } rows[] = {
        { "tfn.dropout\":\"0.1\"", "tfn.dropout\":\"1e-1\"" },
        { "tfn.schedule.lr\":\"0.001\"", "tfn.schedule.lr\":\"1e-3\"" },
        { "tfn.norm_factor\":\"1.5\"", "tfn.norm_factor\":\"15e-1\"" },
        { "tfn.clip\":\"1e18\"", "tfn.clip\":\"10e17\"" },
        { "*norm* rate=0.5 decay=0.25 frozen", "*norm* rate=5e-1 decay=25e-2 frozen" }
    };
    tfn_model_desc d = files_desc(files_cases);
    tfn_model m, other;
    size_t size;
    unsigned char *bytes, *old;
    tfn_file f;
    d.norm_factor = 1.5f;
    d.clip = (float)1e18;
    CHECK(tfn_group_add(&d, "*norm* rate=0.5 decay=0.25 frozen", NULL));
    m = files_model(&d), other = files_model(&d);
    bytes = files_save(&m, NULL, &size);
    old = (unsigned char *)malloc(size + 64);
    memcpy(old, bytes, size);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        size = files_replace(old, size, rows[i].now, rows[i].old);
    f = files_from(old, size);
    FILES_OK(tfn_model_load(&other, &f), f);
    size = files_replace(old, size, "rate=5e-1", "rate=6e-1");
    f = files_from(old, size);
    CHECK(tfn_model_load(&other, &f) == TFN_BAD_SHAPE && strstr(files_error(&f.error),
          "groups[0] is *norm* rate=0.6 decay=0.25 frozen, the model has *norm* rate=0.5 decay"));
    tfn_model_free(&m), tfn_model_free(&other);
    free(bytes), free(old);
}

/* An option that older files lack is in a file only if it is not 0. */
TEST(files_later_option)
{
    tfn_model_desc d = files_desc(files_cases), sound, peeked;
    tfn_model m, heard, other;
    size_t size;
    unsigned char *bytes[2];
    char text[8];
    tfn_file f;
    d.arch = TFN_ARCH_ENCODER_DECODER;
    sound = d;
    sound.bands = 5;
    sound.frame_map = TFN_FRAME_MAP_LINEAR;
    m = files_model(&d), heard = files_model(&sound);
    bytes[0] = files_save(&m, NULL, &size);
    f = files_from(bytes[0], size);
    FILES_OK(tfn_file_open(&f), f);
    CHECK_INT(tfn_file_text(&f, "tfn.bands", text, sizeof text), 0);
    CHECK_INT(tfn_file_text(&f, "tfn.frame_map", text, sizeof text), 0);
    tfn_file_close(&f);
    CHECK(tfn_model_load(&heard, &f) == TFN_BAD_SHAPE
          && strstr(files_error(&f.error), "bands is not given, the model has 5"));
    bytes[1] = files_save(&heard, NULL, &size);
    f = files_from(bytes[1], size);
    FILES_OK(tfn_model_peek(&f, &peeked, NULL), f);
    CHECK_INT(peeked.bands, 5);
    CHECK_INT(peeked.frame_map, TFN_FRAME_MAP_LINEAR);
    other = files_model(&peeked);
    FILES_OK(tfn_model_load(&other, &f), f);
    CHECK_INT(tfn_model_hash(&other), tfn_model_hash(&heard));
    CHECK(tfn_model_load(&m, &f) == TFN_BAD_SHAPE
          && strstr(files_error(&f.error), "bands is 5, the model has 0"));
    tfn_model_free(&other);
    sound.frame_map = TFN_FRAME_MAP_CONVOLUTIONS;
    other = files_model(&sound);
    f = files_from(bytes[1], size);
    CHECK(tfn_model_load(&other, &f) == TFN_BAD_SHAPE
          && strstr(files_error(&f.error), "frame_map is linear, the model has convolutions"));
    tfn_model_free(&m), tfn_model_free(&heard), tfn_model_free(&other);
    free(bytes[0]), free(bytes[1]);
    d.arch = TFN_ARCH_DECODER;    /* other such options: clusters of words */
    d.width = 16;
    d.cutoffs[0] = 2, d.cutoffs[1] = 5;
    d.schedule.kind = TFN_SCHEDULE_POLYNOMIAL;
    d.schedule.steps = 10;
    d.schedule.power = 2.5f;
    d.schedule.fairseq = true;
    d.norm_factor = 1.5f;
    d.decay_all = true;
    m = files_model(&d);
    bytes[0] = files_save(&m, NULL, &size);
    f = files_from(bytes[0], size);
    FILES_OK(tfn_model_peek(&f, &peeked, NULL), f);
    CHECK(peeked.cutoffs[0] == 2 && peeked.cutoffs[1] == 5);
    CHECK(peeked.schedule.power == 2.5f && peeked.schedule.fairseq);
    CHECK(peeked.norm_factor == 1.5f && peeked.decay_all);
    other = files_model(&peeked);
    FILES_OK(tfn_model_load(&other, &f), f);
    CHECK_INT(tfn_model_hash(&other), tfn_model_hash(&m));
    tfn_model_free(&m), tfn_model_free(&other);
    free(bytes[0]);
}

/* A user's row is identified only by its name. */
TEST(files_own_row)
{
    static const tfn_topology own = { "my \"own\"", "x + F(N(x))", "none", 2026,
                                      TFN_TOPOLOGY_FINAL_NORM, TFN_AGGREGATE_NONE,
        NULL, { true, false, false, false, false, false, false, false, TFN_SOURCE_STREAM,
                TFN_SOURCE_STREAM, TFN_QK_NORM_DEFAULT,
                TFN_HEAD_SCALE_NONE, { TFN_SCALE_NONE, 0, 0, 0, 0, 0 },
                    { TFN_SCALE_NONE, 0, 0, 0, 0, 0 },
                { TFN_SCALE_NONE, 0, 0, 0, 0, 0 }, { TFN_SCALE_NONE, 0, 0, 0, 0, 0 } },
        { true, false, false, false, false, false, false, false, TFN_SOURCE_STREAM,
          TFN_SOURCE_STREAM, TFN_QK_NORM_DEFAULT,
          TFN_HEAD_SCALE_NONE, { TFN_SCALE_NONE, 0, 0, 0, 0, 0 }, { TFN_SCALE_NONE, 0, 0, 0, 0, 0 },
          { TFN_SCALE_NONE, 0, 0, 0, 0, 0 }, { TFN_SCALE_NONE, 0, 0, 0, 0, 0 } } };
    tfn_model_desc d = files_desc(files_cases), e;
    tfn_model m, other;
    size_t size;
    unsigned char *bytes;
    tfn_file f;
    d.topology = &own;
    m = files_model(&d);
    bytes = files_save(&m, NULL, &size);
    f = files_from(bytes, size);
    FILES_OK(tfn_model_peek(&f, &e, NULL), f);
    other = files_model(&e);
    CHECK(tfn_model_load(&other, &f) != TFN_OK
          && strstr(files_error(&f.error), "is my \"own\", the model has pre"));
    tfn_model_free(&other);
    e.topology = &own;
    e.decoder_topology = NULL;
    other = files_model(&e);
    f = files_from(bytes, size);
    FILES_OK(tfn_model_load(&other, &f), f);
    tfn_model_free(&other), tfn_model_free(&m);
    free(bytes);
}

/* Tokenizer and the user's text are returned. */
TEST(files_luggage)
{
    static const char text[] = "the cat and the dog and the bird";
    static const char extra[] = "epoch 3, \"line\" 17\n\\ \xe2\x82\xac \x01";
    tfn_model_desc d = files_desc(files_cases);
    tfn_model m = files_model(&d);
    tfn_tokenizer_desc td;
    tfn_trainer trainer;
    tfn_tokenizer k, again;
    tfn_tokenizer_source s;
    tfn_checkpoint with = { NULL, extra, true };
    size_t size, work, n;
    unsigned char *bytes;
    char got[64], blob[2000], mem[40000];
    void *room, *block;
    tfn_file f;
    memset(&td, 0, sizeof td);
    memset(&s, 0, sizeof s);
    td.vocab = 270;
    td.words = 100;
    n = tfn_trainer_size(&td);
    room = malloc(n);
    tfn_trainer_init(&trainer, &td, room, n);
    tfn_trainer_add(&trainer, text, sizeof text - 1);
    CHECK_INT(tfn_trainer_run(&trainer), TFN_OK);
    s.trainer = &trainer;
    CHECK_INT(tfn_tokenizer_init(&k, &s, mem, sizeof mem), TFN_OK);
    with.tokenizer = &k;
    bytes = files_save(&m, &with, &size);
    f = files_from(bytes, size);
    FILES_OK(tfn_file_open(&f), f);
    CHECK_INT(tfn_file_text(&f, "extra", got, sizeof got), sizeof extra - 1);
    CHECK(!strcmp(got, extra));
    tfn_file_close(&f);
    n = tfn_checkpoint_tokenizer(&f, NULL, 0);
    CHECK_INT(n, tfn_tokenizer_write(&k, NULL, 0));
    CHECK_INT(tfn_checkpoint_tokenizer(&f, blob, sizeof blob), n);
    memset(&s, 0, sizeof s);
    s.blob = blob;
    s.blob_size = n;
    block = malloc(tfn_tokenizer_size(&s));
    CHECK_INT(tfn_tokenizer_init(&again, &s, block, tfn_tokenizer_size(&s)), TFN_OK);
    CHECK_INT(again.merges, k.merges);
    FILES_OK(tfn_model_load(&m, &f), f);
    free(block);
    files_replace(bytes, size, "\"tokenizer\":", "\"tokeniser\":");          /* version 0.1's name */
    memset(got, 0, sizeof got);
    CHECK_INT(tfn_checkpoint_tokenizer(&f, got, sizeof got), n);
    CHECK_BITS(got, blob, sizeof got);
    work = tfn_model_save_work(&m, &with);                      /* exact work, and one byte less */
    for (int less = 0; less < 2; less++) {
        f = files_from(NULL, 0);
        block = f.work = malloc(work - (size_t)less);
        f.work_size = work - (size_t)less;
        CHECK_INT(tfn_model_save(&f, &m, &with), less ? TFN_NO_MEMORY : TFN_OK);
        free(block);
    }
    with.extra = "\xff";
    f = files_from(NULL, 0);
    CHECK_INT(tfn_model_save(&f, &m, &with), TFN_BAD_OPTION);
    /* an error of the model, other than a bad batch, is not saved */
    for (int status = TFN_OK; status <= TFN_BAD_BATCH; status++) {
        const tfn_error kept = m.error;
        char text[300];
        f = files_from(NULL, 0);
        m.error.status = (tfn_status)status;
        tfn_model_save(&f, &m, NULL);
        if (status != TFN_OK && status != TFN_BAD_BATCH) {
            CHECK_INT(f.error.status, TFN_NOT_READY);
            CHECK(strstr(tfn_error_text(&f.error, text, sizeof text), "the model has an error"));
        } else CHECK(f.error.status != TFN_NOT_READY);
        m.error = kept;
    }
    free(bytes), free(room);
    tfn_model_free(&m);
}

/* Adds names, shapes and values of a file's tensors to a digest. */
static void files_digest(uint32_t *h, tfn_file *f)
{
    tfn_tensor t;
    float to[8];
    tfn_file_open(f);
    for (int32_t i = 0; f->error.status == TFN_OK && tfn_file_tensor(f, i, &t); i++) {
        digest_text(h, t.name, strlen(t.name));
        digest_int(h, t.rank + 8*(int64_t)t.dtype + 256*t.count);
        if (t.count > 0 && t.count <= 8 && tfn_file_read(f, &t, to, 0, t.count) == TFN_OK)
            digest_floats(h, to, (size_t)t.count);
    }
    digest_error(h, &f->error);
    tfn_file_close(f);
}

/* A call that opens a file must close it. */
static void files_closed(const tfn_file *f) { CHECK(!f->header && !f->stream && !f->owned); }

/* A file that is cut anywhere, or has any byte changed, gives success or an error, stays in bounds,
 * and takes at most twice its size as memory. readers.sh tries all changes. */
static void files_attempt(int kind, const unsigned char *bytes, size_t size, tfn_model *m, uint32_t *h)
{
    tfn_file f = files_from(bytes, size), sized = f;
    tfn_tensor t;
    float to[8];
    char blob[8];
    if (kind < 2) CHECK(tfn_file_work(&sized) <= 2 * size + 256);
    files_closed(&sized);
    if (kind == 0) {
        files_try(bytes, size, NULL, 0);
        files_digest(h, &f);
    } else if (kind == 1) {
        int64_t step = 0;
        tfn_model_desc d;
        tfn_status peek = tfn_model_peek(&f, &d, &step);
        files_closed(&f);
        digest_error(h, &f.error);
        if (peek != TFN_OK) return;
        digest_int(h, step);
        digest_int(h, d.vocab);
        digest_option(h, &d.seed, sizeof d.seed);
        if (tfn_model_load(m, &f) != TFN_OK) CHECK(f.error.text && m->error.status == TFN_OK);
        else digest_int(h, (int64_t)tfn_model_hash(m));
        files_closed(&f);
        digest_error(h, &f.error);
        f = files_from(bytes, size);
        CHECK(tfn_checkpoint_tokenizer(&f, blob, sizeof blob) < size);
        files_closed(&f);
    } else if (kind == 2) {
        memset(to, 0, sizeof to);
        if (library_npy_read(&f, &t, to, TFN_DTYPE_DEFAULT, 8) == TFN_OK) digest_floats(h, to, 8);
        digest_error(h, &f.error);
    } else {
        if (tfn_index_open(&f) == TFN_OK) {
            CHECK(tfn_file_text(&f, "a", NULL, 0) < size);
            memset(blob, 0, sizeof blob);
            digest_int(h, (int64_t)tfn_file_text(&f, "a", blob, sizeof blob));
            digest_text(h, blob, sizeof blob);
        }
        if (f.error.status != TFN_OK) files_closed(&f);
        digest_error(h, &f.error);
        tfn_file_close(&f);
    }
}
TEST(files_any_byte)
{
    static const uint32_t files_digests[] = { 0xdd29c62au, 0x81e8268au, 0xaa39671eu, 0xdf9ab2c6u };
    static const unsigned char index[] =
        "{\"metadata\": {\"total_size\": 12.5e1, \"x\": [true, null]},\n"
        " \"weight_map\": {\"a\": \"model-1.safetensors\", \"b\\u00e9\": \"model-2.safetensors\"}}";
    const unsigned char *from[] = { golden_all_dtypes, NULL, golden_npy_f4, index };
    size_t sizes[] = { sizeof golden_all_dtypes, 0, sizeof golden_npy_f4, sizeof index - 1 };
    tfn_model_desc d = files_desc(files_cases + 1);
    tfn_model m;
    const bool every = getenv("TEST_EVERY") != NULL;
    d.width = d.heads = d.ffn = d.layers = 1;
    d.vocab = 2;
    d.context = 2;
    d.batch = 1;
    d.schedule.warmup = 0;
    d.recipe = "t-fixup";                                       /* has few tensors */
    d.optimizer = TFN_OPTIMIZER_SGD;
    d.no_bias = true;
    m = files_model(&d);
    from[1] = files_save(&m, NULL, &sizes[1]);
    for (int kind = 0; kind < 4; kind++) {
        const size_t n = sizes[kind];
        uint32_t digest = DIGEST_BEGIN, other = DIGEST_BEGIN;       /* of what each tier tries */
        int tier = check_tier(), step = every ? 1 : kind == 1 || !tier ? 85 : 5;
        for (size_t at = 0; at < n; at += kind == 1 && tier < 2 && !every ? 13 : 1) {
            unsigned char *copy = (unsigned char *)malloc(n),
                *cut = (unsigned char *)malloc(at + !at);
            memcpy(cut, from[kind], at);
            memcpy(copy, from[kind], n);
            files_attempt(kind, cut, at, &m, kind == 1 && at % 13 ? &other : &digest);
            for (int change = 1; change < 256; change += step) {
                copy[at] = (unsigned char)(from[kind][at] ^ change);
                files_attempt(kind, copy, n, &m,
                              change % 85 != 1 || (kind == 1 && at % 13) ? &other : &digest);
            }
            free(copy), free(cut);
        }
        CASE("kind %d", kind);
        CHECK_DIGEST(digest, files_digests[kind]);
    }
    free((void *)(uintptr_t)from[1]);
    tfn_model_free(&m);
}

/* Sets a number of the training state. */
static void files_set_state(unsigned char *bytes, size_t size, int slot, double v)
{
    tfn_file f = files_from(bytes, size);
    tfn_tensor t;
    uint64_t bits;
    memcpy(&bits, &v, 8);
    FILES_OK(tfn_file_open(&f), f);
    CHECK(tfn_file_find(&f, "training.state", &t) && slot < t.count);
    tfn_file_close(&f);
    for (int k = 0; k < 8; k++) bytes[t.at + 8*(uint64_t)slot + (uint64_t)k] = (uint8_t)(bits >> 8*k);
}
/* Every number of the training state: an illegal value is refused without undefined behaviour
 * (readers.sh checks that) and changes nothing. */
TEST(files_any_byte_of_state)
{
    const double values[] = { (double)INFINITY, -(double)INFINITY, (double)NAN, -1, 0.5, 1e16,
                              1e300 };
    tfn_model_desc d = files_desc(files_cases + 1);
    tfn_model m = files_model(&d);
    tfn_tensor t;
    size_t n;
    unsigned char *saved = files_save(&m, NULL, &n);
    const uint64_t hash = tfn_model_hash(&m);
    tfn_file f = files_from(saved, n);
    FILES_OK(tfn_file_open(&f), f);
    CHECK(tfn_file_find(&f, "training.state", &t) && t.count == 8);
    tfn_file_close(&f);
    for (int slot = 0; slot < 6; slot++)
        for (int i = 0; i < 7; i++) {
            const bool legal = slot == 5 && (values[i] == 0.5 || values[i] == 1e16);  /* a scale */
            unsigned char kept[8];
            memcpy(kept, saved + t.at + 8*slot, 8);
            for (int k = 0; k < 8; k++) {
                uint64_t bits;
                memcpy(&bits, values + i, 8);
                saved[t.at + 8*(uint64_t)slot + (uint64_t)k] = (unsigned char)(bits >> 8*k);
            }
            f = files_from(saved, n);
            if ((tfn_model_load(&m, &f) == TFN_OK) != legal) FAIL("number %d is %g", slot,
                values[i]);
            CHECK(m.error.status == TFN_OK && tfn_model_hash(&m) == hash);
            memcpy(saved + t.at + 8*slot, kept, 8);
        }
    free(saved);
    tfn_model_free(&m);
}

/* -- what is refused ------------------------------------------------------------------------- */

/* Checkpoints with a wrong text in the header or a wrong number in the state: the error of a load,
 * which changes nothing. */
TEST(files_refused_checkpoints)
{
#define FILES_STATE "\"training.state\":{\"dtype\":"
#define FILES_TOKENS "\"embedding.weight\":{\"dtype\":"
    static const struct { const char *old, *now; tfn_status status; const char *says; } rows[] = {
        { "\"tfn_format\":\"2\"", "\"tfn_format\":\"0\"", TFN_UNSUPPORTED,
          "its format is 0, the latest known here is 2" },
        { "\"tfn_format\":\"2\"", "\"tfn_format\":\"22\"", TFN_UNSUPPORTED, "its format is 22, " },
        { FILES_STATE "\"F64\",\"shape\":[9]", FILES_STATE "\"I64\",\"shape\":[9]", TFN_BAD_FORMAT,
          "training.state has no legal values" },
        { FILES_STATE "\"F64\",\"shape\":[9]", FILES_STATE "\"F64\",\"shape\":[9,1]", TFN_BAD_FORMAT,
          "training.state has no legal values" },
        { FILES_STATE "\"F64\",\"shape\":[9]", FILES_STATE "\"U8\",\"shape\":[72]", TFN_BAD_FORMAT,
          "training.state has no legal values" },
        { FILES_TOKENS "\"F32\",\"shape\":[17,12]", FILES_TOKENS "\"F8_E4M3\",\"shape\":[17,48]",
          TFN_UNSUPPORTED, "embedding.weight has a dtype that is not read" },
        { "*norm* rate=0.5", "*norm* rate=oak", TFN_BAD_SHAPE,
          "groups[0] is *norm* rate=oak, the model has *norm* rate=0.5" }
    };
    static const struct { int slot; double value; bool legal; } numbers[] = {
        { 8, -1, false }, { 8, 1e300, false }, { 8, (double)NAN, false }, { 8, 2, true },
        { 4, 2, true }                  /* a profile is open only during an update */
    };
    tfn_model_desc d = files_desc(files_cases);
    tfn_model m;
    tfn_report report;
    tfn_file f;
    unsigned char *bytes, *changed;
    size_t size, now = 0;
    uint64_t hash;
    d.optimizer = TFN_OPTIMIZER_SCHEDULE_FREE;
    CHECK(tfn_group_add(&d, "*norm* rate=0.5", NULL));
    m = files_model(&d);
    files_train(&m, 0, 2, &report);
    CHECK(m.rate_squares > 0);
    hash = tfn_model_hash(&m);
    bytes = files_save(&m, NULL, &size);
    changed = (unsigned char *)malloc(size + 16);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CASE("%s", rows[i].now);
        memcpy(changed, bytes, size);
        now = files_replace(changed, size, rows[i].old, rows[i].now);
        f = files_from(changed, now);
        files_says(tfn_model_load(&m, &f), &f.error, rows[i].status, rows[i].says);
        CHECK(m.error.status == TFN_OK && tfn_model_hash(&m) == hash);
    }
    f = files_from(changed, now);       /* a group that is not for LoRA matters only to training */
    FILES_OK(tfn_model_load_weights(&m, &f, 1), f);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        CASE("number %d is %g", numbers[i].slot, numbers[i].value);
        memcpy(changed, bytes, size);
        files_set_state(changed, size, numbers[i].slot, numbers[i].value);
        f = files_from(changed, size);
        if (numbers[i].legal) {
            FILES_OK(tfn_model_load(&m, &f), f);
            CHECK(!m.profile_open && m.profiled);
        } else files_says(tfn_model_load(&m, &f), &f.error, TFN_BAD_FORMAT, "no legal values");
    }
    free(bytes), free(changed);
    tfn_model_free(&m);
}

/* Calls that a model, or a file of an earlier version, does not allow. */
TEST(files_refused_calls)
{
    static const struct { const char *now, *says; } old[] = {
        { "\"tfn.arch\":\"9\"", "arch is 9, which is not known here" },
        { "\"tfn.arch\":\"x\"", "arch is x, which is not known here" }
    };
    tfn_model_desc d = files_desc(files_cases + 1), other = d, peeked;
    tfn_model m, whole;
    tfn_tokenizer empty;
    tfn_checkpoint with = { NULL, NULL, false };
    tfn_report report;
    tfn_file f = files_from(NULL, 0);
    unsigned char *bytes, copy[sizeof golden_checkpoint_0_1];
    size_t size;
    memset(&m, 0, sizeof m);
    files_says(tfn_model_save(&f, &m, NULL), &f.error, TFN_NOT_READY, "the model was not initialized");
    m = files_model(&d);
    memset(&empty, 0, sizeof empty);
    with.tokenizer = &empty;
    f = files_from(NULL, 0);
    files_says(tfn_model_save(&f, &m, &with), &f.error, TFN_NOT_READY,
               "the tokenizer was not initialized");
    files_train(&m, 0, 2, &report);                             /* 2 micro-batches of 3 */
    bytes = files_save(&m, NULL, &size);
    other.micro_batches = 2;
    whole = files_model(&other);
    f = files_from(bytes, size);
    files_says(tfn_model_load(&whole, &f), &f.error, TFN_BAD_FORMAT,
               "2 micro-batches, 2 make a step");
    tfn_model_free(&whole);
    m.error.status = TFN_NOT_READY;                             /* as after half a load */
    f = files_from(bytes, size);
    CHECK_INT(tfn_model_load(&m, &f), TFN_NOT_READY);
    CHECK(f.error.status == TFN_OK && !f.used);                 /* it was not opened */
    m.error.status = TFN_BAD_BATCH;
    FILES_OK(tfn_model_load(&m, &f), f);
    CHECK_INT(m.error.status, TFN_OK);
    tfn_model_free(&m);
    free(bytes);
    d.inference = true;
    m = files_model(&d);
    f = files_from(NULL, 0);
    files_says(tfn_model_save_adapter(&f, &m, NULL), &f.error, TFN_NOT_READY,
               "a model for inference has nothing that trains");
    tfn_model_free(&m);
    for (size_t i = 0; i < sizeof old / sizeof *old; i++) {
        memcpy(copy, golden_checkpoint_0_1, sizeof copy);
        files_replace(copy, sizeof copy, "\"tfn.arch\":\"1\"", old[i].now);
        f = files_from(copy, sizeof copy);
        files_says(tfn_model_peek(&f, &peeked, NULL), &f.error, TFN_BAD_SHAPE, old[i].says);
    }
}

/* Tensors that the caller changed before a read, and tensors that cannot be written. */
TEST(files_refused_tensors)
{
    static const struct { int dtype; int64_t first, count; bool beyond; tfn_status status;
                          const char *says; } reads[] = {
        { TFN_DTYPE_F16, -1, 1, false, TFN_BAD_SHAPE, "half has 8 values, not 1 more" },
        { TFN_DTYPE_F16, 0, -1, false, TFN_BAD_SHAPE, "half has 8 values, not -1 more" },
        { TFN_DTYPE_F16, 0, 1, true, TFN_BAD_FILE, "2 bytes at byte " },
        { TFN_DTYPE_Q8_0, 0, 1, true, TFN_BAD_FILE, "34 bytes at byte " },
        { TFN_DTYPE_DEFAULT, 0, 1, false, TFN_UNSUPPORTED, "half has a dtype that is not read" },
        { TFN_DTYPE_COUNT, 0, 1, false, TFN_UNSUPPORTED, "half has a dtype that is not read" },
        { TFN_DTYPE_C64, 0, 1, false, TFN_UNSUPPORTED, "half has a dtype that is not read" }
    };
    static const struct { const char *name; int dtype; int32_t rank; int64_t side; bool data;
                          tfn_status status; const char *says; } writes[] = {
        { "a", TFN_DTYPE_F32, -1, 1, true, TFN_BAD_SHAPE, "a has no legal dtype or shape" },
        { "a", TFN_DTYPE_C64, 1, 1, true, TFN_BAD_SHAPE, "a has no legal dtype or shape" },
        { "a", TFN_DTYPE_Q8_0, 1, 32, true, TFN_BAD_SHAPE, "a has no legal dtype or shape" },
        { "a", TFN_DTYPE_U8, 1, INT64_C(1) << 58, true, TFN_BAD_SHAPE, "a has no legal dtype or shape" },
        { "a", TFN_DTYPE_F32, 1, 1, false, TFN_NULL, "a has no data" },
        { "__metadata__", TFN_DTYPE_F32, 1, 1, true, TFN_BAD_OPTION,
          "__metadata__ is not a name, or comes twice" }
    };
    tfn_file f;
    tfn_tensor t;
    float one[1] = { 7 };
    unsigned char bytes[64];
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
        CASE("read %d", (int)i);
        f = files_from(golden_all_dtypes, sizeof golden_all_dtypes);
        FILES_OK(tfn_file_open(&f), f);
        CHECK(!tfn_file_tensor(&f, -1, &t) && f.error.status == TFN_OK);
        CHECK(tfn_file_find(&f, "half", &t));
        t.dtype = (tfn_dtype)reads[i].dtype;
        if (reads[i].beyond) t.at = sizeof golden_all_dtypes;
        files_says(tfn_file_read(&f, &t, one, reads[i].first, reads[i].count), &f.error,
                   reads[i].status, reads[i].says);
        CHECK(one[0] == 7);
        tfn_file_close(&f);
    }
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
        CASE("write %d", (int)i);
        memset(&t, 0, sizeof t);
        strcpy(t.name, writes[i].name);
        t.dtype = (tfn_dtype)writes[i].dtype;
        t.rank = writes[i].rank;
        t.shape[0] = writes[i].side;
        if (writes[i].data) t.data = one;
        f = files_from(NULL, 0);
        files_says(tfn_file_write(&f, &t, 1), &f.error, writes[i].status, writes[i].says);
    }
    f = files_from(NULL, 0);
    files_says(tfn_file_write(&f, &t, -1), &f.error, TFN_BAD_OPTION, "-1 tensors");
    f = files_from(NULL, 0);
    files_says(tfn_file_write(&f, NULL, 1), &f.error, TFN_NULL, "tensors is NULL");
    f = files_from(NULL, 0);
    f.to = bytes;
    f.to_size = sizeof bytes;
    FILES_OK(tfn_file_write(&f, NULL, 0), f);                   /* only the metadata */
    CHECK(f.used == 40 && !memcmp(bytes + 8, "{\"__metadata__\":{\"format\":\"pt\"}} ", 32));
}

/* Missing callbacks, a size that does not fit into memory, and invalid indices. */
TEST(files_refused_sources)
{
    tfn_model_desc d = files_desc(files_cases);
    tfn_model m = files_model(&d);
    tfn_io io = { NULL, NULL, NULL, 0 };
    tfn_file f = files_from(NULL, 0);
    uint8_t *header;
    static const char index[] = "{\"weight_map\":{\"a\":\".\"}}";
    f.io = &io;
    files_says(tfn_model_save(&f, &m, NULL), &f.error, TFN_BAD_FILE,
               "8 bytes cannot be written after 0");
    f = files_from(NULL, 0);
    f.io = &io;
    io.size = 100;
    files_says(tfn_model_load(&m, &f), &f.error, TFN_BAD_FILE, "8 bytes at byte 0 cannot be read");
    f = files_from(NULL, 0);
    f.io = &io;
    files_says(tfn_index_open(&f), &f.error, TFN_BAD_FILE, "100 bytes at byte 0 cannot be read");
    f = files_from(NULL, 0);
    f.io = &io;
    io.size = UINT64_MAX;
    files_says(tfn_index_open(&f), &f.error, TFN_NO_MEMORY, "work has 0 bytes");
    f = files_from(index, sizeof index - 1);
    files_says(tfn_index_open(&f), &f.error, TFN_BAD_FORMAT, "a plain file name is expected");
    f = files_from(NULL, 0);                                    /* a header from elsewhere */
    header = tfn__room_for_header(&f, 2);
    memcpy(header, "{x", 2);
    tfn__list_entries(&f);
    files_says(f.error.status, &f.error, TFN_BAD_FORMAT, "a string is expected at byte 1 of the header");
    tfn_file_close(&f);
    tfn_model_free(&m);
}

/* Texts of all lengths: of __metadata__, of "extra", and names of tensors. */
TEST(files_texts)
{
    static const struct { const char *metadata; size_t bytes; } rows[] = {
        { "\"__metadata__\":null", 0 }, { "\"__metadata__\":{}", 0 }, { "", 0 },
        { "\"__metadata__\":{\"" FILES_LONG FILES_LONG FILES_LONG "\":\"x\",\"k\":\"value\"}", 5 }
    };
    tfn_model_desc d = files_desc(files_cases);
    tfn_model m = files_model(&d);
    tfn_checkpoint with = { NULL, NULL, true };
    tfn_file f;
    tfn_tensor t;
    char extra[1001], got[1001];
    unsigned char *bytes, one[1] = { 9 }, file[1200];
    size_t size;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t n = strlen(rows[i].metadata) + 2;
        CASE("%s", rows[i].metadata);
        memset(file, 0, 8);
        file[0] = (unsigned char)(n & 255), file[1] = (unsigned char)(n >> 8);
        sprintf((char *)file + 8, "{%s}", rows[i].metadata);
        f = files_from(file, 8 + n);
        FILES_OK(tfn_file_open(&f), f);
        CHECK_INT(tfn_file_text(&f, "k", got, sizeof got), rows[i].bytes);
        CHECK(!strcmp(got, rows[i].bytes ? "value" : ""));
        tfn_file_close(&f);
    }
    for (int i = 0; i < 1000; i++) extra[i] = (char)(1 + i % 126);
    extra[1000] = 0;
    with.extra = extra;
    bytes = files_save(&m, &with, &size);
    f = files_from(bytes, size);
    FILES_OK(tfn_file_open(&f), f);
    CHECK_INT(tfn_file_text(&f, "extra", got, sizeof got), 1000);
    CHECK(!strcmp(got, extra));
    tfn_file_close(&f);
    memset(&t, 0, sizeof t);
    memset(t.name, 1, sizeof t.name - 1);                       /* each character needs an escape */
    memcpy(extra, t.name, sizeof t.name);
    t.dtype = TFN_DTYPE_U8, t.rank = 1, t.shape[0] = 1, t.data = one;
    f = files_from(NULL, 0);
    f.to = file;
    f.to_size = sizeof file;
    FILES_OK(tfn_file_write(&f, &t, 1), f);
    f = files_from(file, (size_t)f.used);
    FILES_OK(tfn_file_open(&f), f);
    CHECK(tfn_file_find(&f, extra, &t) && t.count == 1 && file[t.at] == 9);
    tfn_file_close(&f);
    free(bytes);
    tfn_model_free(&m);
}

/* Encoding a block writes only its bytes, and decoding writes only its 32 numbers. */
TEST(files_blocks_alone)
{
    static const tfn_dtype dtypes[] = { TFN_DTYPE_Q8_0, TFN_DTYPE_Q4_0 };
    for (int i = 0; i < 2; i++) {
        const size_t bytes = i ? 18 : 34;
        uint8_t to[40];
        float x[34], y[34];
        for (int k = 0; k < 34; k++) x[k] = (float)(k - 16);
        x[32] = 1e9f;
        memset(to, 0xa5, sizeof to);
        CHECK(tfn__encode_block(dtypes[i], x, to));
        for (size_t k = bytes; k < sizeof to; k++) CHECK_INT(to[k], 0xa5);
        for (int k = 0; k < 34; k++) y[k] = -99;
        tfn__decode_block(dtypes[i], to, y);
        for (int k = 0; k < 34; k++) CHECK((y[k] == -99) == (k >= 32));
    }
}

/* Conversions between number formats. */
TEST(files_converted)
{
    static const struct { float value; tfn_dtype dtype; bool fits; } blocks[] = {
        { 1, TFN_DTYPE_Q8_0, true }, { 1, TFN_DTYPE_Q4_0, true }, { NAN, TFN_DTYPE_Q8_0, false },
        { NAN, TFN_DTYPE_Q4_0, false }, { INFINITY, TFN_DTYPE_Q8_0, false },
        { 1e7f, TFN_DTYPE_Q8_0, false }, { 1e6f, TFN_DTYPE_Q4_0, false }, { -1e6f, TFN_DTYPE_Q4_0, false },
        { 1e-42f, TFN_DTYPE_Q8_0, true }, { 1e-42f, TFN_DTYPE_Q4_0, true }
    };
    tfn_file f = files_from(golden_all_dtypes, sizeof golden_all_dtypes);
    tfn_tensor t;
    int32_t whole[2];
    double real[8];
    FILES_OK(tfn_file_open(&f), f);
    CHECK(tfn_file_find(&f, "i16", &t));
    tfn__read_as(&f, &t, whole, TFN_DTYPE_I32, 0, 2);
    CHECK(whole[0] == -32768 && whole[1] == 32767);
    CHECK(tfn_file_find(&f, "half", &t) && t.count == 8);
    tfn__read_as(&f, &t, real, TFN_DTYPE_F64, 0, 8);
    for (int i = 0; i < 8; i++)
        CHECK(real[i] == (double)golden_half[i] || (real[i] != real[i] && golden_half[i] != golden_half[i]));
    tfn_file_close(&f);
    CHECK_INT(tfn__ieee_bits((double)NAN, 5, 10) & 0x7fff, 0x7e00);
    CHECK_INT(tfn__ieee_bits((double)NAN, 8, 7) & 0x7fff, 0x7fc0);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        float x[32], back[TFN__BLOCK_MOST];
        uint8_t to[TFN__BLOCK_BYTES];
        CASE("%g", (double)blocks[i].value);
        for (int k = 0; k < 32; k++) x[k] = k == 5 ? blocks[i].value : 0;
        CHECK_INT(tfn__encode_block(blocks[i].dtype, x, to), blocks[i].fits);
        if (!blocks[i].fits) continue;
        tfn__decode_block(blocks[i].dtype, to, back);
        for (int k = 0; k < 32; k++) CHECK_CLOSE((double)back[k], (double)x[k], 1e-3);
        if (blocks[i].value < 1e-30f) {     /* too small for the scale: the numbers of zeros */
            uint8_t zeros[TFN__BLOCK_BYTES];
            x[5] = 0;
            CHECK(tfn__encode_block(blocks[i].dtype, x, zeros));
            CHECK_BITS(to + 2, zeros + 2, blocks[i].dtype == TFN_DTYPE_Q8_0 ? 32 : 16);
        }
    }
    CHECK(tfn__volume(INT64_MAX / 8, 8) == INT64_MAX - 7 && tfn__volume(INT64_MAX, 1) == INT64_MAX);
    CHECK(tfn__volume(INT64_MAX / 8 + 1, 8) == -1 && tfn__volume(-1, 0) == -1);
}

/* A file of version 0.1 has the number of updates only in its training state. Without one, the
 * warm-up of a scheduled scale counts as over. */
TEST(files_old_updates)
{
    static const char name[] = "schedule.updates";
    tfn_model_desc d = files_desc(files_cases);
    tfn_model m, other;
    tfn_report report;
    tfn_tensor t;
    tfn_file f, from[2];
    unsigned char *bytes, *again;
    size_t size, n;
    d.recipe = "branchnorm";
    m = files_model(&d);
    files_train(&m, 0, 3, &report);
    bytes = files_save(&m, NULL, &size);
    from[0] = files_from("x", 1);                               /* only the first file is wrong */
    from[1] = files_from(bytes, size);
    files_says(tfn_model_load_weights(&m, from, 2), &from[0].error, TFN_BAD_FORMAT, "it has 1 bytes");
    CHECK(from[1].error.status == TFN_OK && m.error.status == TFN_OK);
    for (int i = 0; i < 3; i++) {
        float updates;
        CASE("%d", i);
        if (i == 1) files_replace(bytes, size, "\"schedule.updates\"", "\"schedule.renamed\"");
        if (i == 2) files_replace(bytes, size, "\"training.state\"", "\"training.stats\"");
        other = files_model(&d);
        f = files_from(bytes, size);
        FILES_OK(tfn_model_load(&other, &f), f);
        again = files_save(&other, NULL, &n);
        f = files_from(again, n);
        FILES_OK(tfn_file_open(&f), f);
        CHECK(tfn_file_find(&f, name, &t));
        FILES_OK(tfn_file_read(&f, &t, &updates, 0, 1), f);
        CHECK(updates == (i == 2 ? 16777216.f : 3.f));
        tfn_file_close(&f);
        free(again);
        tfn_model_free(&other);
    }
    free(bytes);
    tfn_model_free(&m);
}

/* A matrix of LoRA has two dimensions in a file, even with one row or column. A model of packed
 * weights with LoRA is one that trains. A packed tensor must have the model's dtype. */
TEST(files_lora)
{
    tfn_model_desc d = files_desc(files_cases), peeked;
    tfn_model m;
    tfn_tensor t;
    tfn_file f;
    unsigned char *bytes;
    size_t size;
    int found = 0;
    CHECK(tfn_group_add(&d, "decoder.0.ffn.w1.weight rank=1", NULL));
    d.weights = TFN_WEIGHTS_BF16;
    m = files_model(&d);
    bytes = files_save(&m, NULL, &size);
    f = files_from(bytes, size);
    FILES_OK(tfn_file_open(&f), f);
    for (int32_t i = 0; tfn_file_tensor(&f, i, &t); i++) {
        if (strncmp(t.name, "decoder.0.ffn.w1.lora", 21)) continue;
        CHECK(t.rank == 2 && (t.shape[0] == 1 || t.shape[1] == 1));
        found++;
    }
    CHECK_INT(found, 2);
    tfn_file_close(&f);
    FILES_OK(tfn_model_peek(&f, &peeked, NULL), f);
    CHECK(peeked.weights == TFN_WEIGHTS_BF16 && !peeked.inference);
    size = files_replace(bytes, size, "\"decoder.0.ffn.w2.weight\":{\"dtype\":\"BF16\"",
                         "\"decoder.0.ffn.w2.weight\":{\"dtype\":\"F16\"");
    f = files_from(bytes, size);
    files_says(tfn_model_load(&m, &f), &f.error, TFN_BAD_SHAPE,
               "decoder.0.ffn.w2.weight has another dtype than the model's");
    free(bytes);
    tfn_model_free(&m);
}

/* -- callbacks and disks that fail ----------------------------------------------------------- */

typedef struct files_disk { unsigned char *bytes; size_t size, room; int calls, fail; } files_disk;

static bool files_read(void *user, uint64_t at, void *to, size_t bytes)
{
    files_disk *d = (files_disk *)user;
    if (++d->calls == d->fail || at > d->size || bytes > d->size - at) return false;
    memcpy(to, d->bytes + at, bytes);
    return true;
}
static bool files_write(void *user, const void *from, size_t bytes)
{
    files_disk *d = (files_disk *)user;
    if (++d->calls == d->fail || bytes > d->room - d->size) return false;
    memcpy(d->bytes + d->size, from, bytes);
    d->size += bytes;
    return true;
}

TEST(files_callbacks)
{
    tfn_model_desc d = files_desc(files_cases);
    tfn_model m = files_model(&d), other;
    tfn_report report;
    size_t size;
    unsigned char *bytes;
    files_disk disk;
    tfn_io io = { files_read, files_write, &disk, 0 };
    tfn_file f = files_from(NULL, 0);
    int calls, before = 0, half = 0;
    uint64_t hash;
    files_train(&m, 0, 2, &report);
    hash = tfn_model_hash(&m);
    bytes = files_save(&m, NULL, &size);
    memset(&disk, 0, sizeof disk);
    disk.bytes = (unsigned char *)malloc(size);
    disk.room = size;
    f.io = &io;
    FILES_OK(tfn_model_save(&f, &m, NULL), f);
    CHECK_INT(disk.size, size);
    CHECK_BITS(disk.bytes, bytes, size);
    calls = disk.calls;
    for (int i = 1; i <= calls; i++) {
        disk.calls = 0;
        disk.size = 0;
        disk.fail = i;
        memset(&f.error, 0, sizeof f.error);
        if (tfn_model_save(&f, &m, NULL) != TFN_BAD_FILE) FAIL("write %d did not fail", i);
    }
    memcpy(disk.bytes, bytes, size);
    disk.size = size;
    io.size = size;
    for (int i = 1; ; i++) {
        tfn_status status;
        other = files_model(&d);
        disk.calls = 0;
        disk.fail = i;
        memset(&f.error, 0, sizeof f.error);
        status = tfn_model_load(&other, &f);
        if (status == TFN_OK) break;
        CHECK_INT(status, TFN_BAD_FILE);
        if (other.error.status == TFN_OK) before++;
        else {
            half++;
            files_train(&other, 0, 0, &report);
            CHECK(other.error.status == TFN_NOT_READY && !tfn_model_logits(&other, NULL));
        }
        tfn_model_free(&other);
    }
    CHECK(before >= 2 && half > 10);
    CHECK_INT(tfn_model_hash(&other), hash);
    tfn_model_free(&other), tfn_model_free(&m);
    free(bytes), free(disk.bytes);
}

/* Loads a file, or the mean of two copies, while one read of the last disk fails, the first, then
 * later ones. Returns how many loads left a half-read model. */
static int files_failing_reads(const tfn_model_desc *d, unsigned char *bytes, size_t size, int count)
{
    int half = 0;
    tfn_status status = TFN_BAD_FILE;
    for (int fail = 1; status != TFN_OK; fail += 1 + fail / 16) {
        files_disk disks[2];
        tfn_io io[2];
        tfn_file f[2];
        tfn_model m = files_model(d);
        memset(disks, 0, sizeof disks);
        memset(io, 0, sizeof io);
        for (int k = 0; k < count; k++) {
            disks[k].bytes = bytes;
            io[k].size = disks[k].size = size;
            io[k].read = files_read;
            io[k].user = disks + k;
            f[k] = files_from(NULL, 0);
            f[k].io = io + k;
        }
        disks[count - 1].fail = fail;
        CASE("%d files, read %d fails", count, fail);
        status = count == 1 ? tfn_model_load(&m, f) : tfn_model_load_weights(&m, f, count);
        if (status != TFN_OK) {
            files_says(status, &f[count - 1].error, TFN_BAD_FILE, "cannot be read");
            CHECK(count == 1 || f[0].error.status == TFN_OK);
            if (m.error.status != TFN_OK)
                files_says(m.error.status, &m.error, TFN_NOT_READY, "it was half loaded from a file");
            half += m.error.status != TFN_OK;
        } else CHECK_INT(m.error.status, TFN_OK);
        tfn_model_free(&m);
    }
    return half;
}

TEST(files_failing_loads)
{
    tfn_model_desc d = files_desc(files_cases);
    tfn_model m;
    unsigned char *bytes;
    size_t size;
    d.layers = 1;
    m = files_model(&d);
    bytes = files_save(&m, NULL, &size);
    CHECK(files_failing_reads(&d, bytes, size, 2) > 10);
    free(bytes);
    tfn_model_free(&m);
    d.inference = true;
    d.weights = TFN_WEIGHTS_BF16;
    m = files_model(&d);
    bytes = files_save(&m, NULL, &size);
    CHECK(files_failing_reads(&d, bytes, size, 1) > 10);
    free(bytes);
    tfn_model_free(&m);
}

#ifdef FILES_HOOKS
static int files_calls, files_fail;      /* the call that fails, from 1; 0: none */
static int files_dies;                   /* the call that kills the process; 0: none */
static int files_plants;                 /* files still to plant under the next new names */
static int files_planted;                /* planted files */
static int files_readable = -1;          /* the mode that no new file may exceed; -1: any */
static int files_unowned;                /* changes of owner or group that will be refused */
static int files_unsynced;               /* errno of an fsync that fails; 0: EIO */
static bool files_unclosed;              /* true: closing a descriptor fails */
static int files_unstat, files_unsought; /* the query or seek that fails, from 1; 0: none */
static unsigned files_type;              /* what a path seems to lead to; 0: what it does */
static const char *files_ring;           /* becomes a link to itself at the next write */
static bool files_now(void)
{
    ++files_calls;
#if defined __unix__ || defined __APPLE__
    if (files_calls == files_dies) raise(SIGKILL);
#endif
    return files_calls == files_fail;
}

#if defined __unix__ || defined __APPLE__
/* Before each new file, acts like an attacker who guesses all names: plants a link to files_victim,
 * a dangling link, and a file. */
static const char *files_victim, *files_dangling;
static void files_plant(const char *path)
{
    if (!files_plants) return;
    files_plants--;
    if (access(path, F_OK) == 0) return;
    files_planted++;
    if (files_planted % 3 == 0) CHECK(symlink(files_victim, path) == 0);
    else if (files_planted % 3 == 1) CHECK(symlink(files_dangling, path) == 0);
    else {
        int fd = open(path, O_WRONLY | O_CREAT, 0600);
        CHECK(fd >= 0 && write(fd, "mine", 4) == 4);
        close(fd);
    }
}
static void files_look_at_mode(int fd)
{
    struct stat s;
    if (files_readable < 0 || fstat(fd, &s)) return;
    if (s.st_mode & 0777 & ~(unsigned)files_readable)
        FAIL("a temporary file has mode %o, its target %o", (unsigned)s.st_mode & 0777,
             (unsigned)files_readable);
}
static int files_open(const char *path, int flags, ...)
{
    va_list list;
    mode_t mode = 0;
    int fd;
    va_start(list, flags);
    if (flags & O_CREAT) mode = (mode_t)va_arg(list, unsigned);
    va_end(list);
    if (files_now()) return errno = EIO, -1;
    if (flags & O_CREAT) files_plant(path);
    fd = open(path, flags, mode);
    if (flags & O_CREAT && fd >= 0) files_look_at_mode(fd);
    return fd;
}
static FILE *files_fdopen(int fd, const char *mode)
{
    return files_now() ? errno = ENOMEM, (FILE *)NULL : fdopen(fd, mode);
}
static int files_fchmod(int fd, mode_t mode)
{
    return files_now() ? errno = EIO, -1 : fchmod(fd, mode);
}
static int files_fchown(int fd, uid_t owner, gid_t group)
{
    if (files_unowned && files_unowned--) return errno = EPERM, -1;
    return fchown(fd, owner, group);
}
static int files_rename(const char *from, const char *to)
{
    return files_now() ? -1 : rename(from, to);
}
static int files_fsync(int fd)
{
    return files_now() ? errno = files_unsynced ? files_unsynced : EIO, -1 : fsync(fd);
}
static int files_close(int fd) { return close(fd) || files_unclosed ? -1 : 0; }
static int files_stat(const char *path, struct stat *s)
{
    int result;
    if (files_unstat && --files_unstat == 0) return errno = EIO, -1;
    result = stat(path, s);
    if (files_type) s->st_mode = (mode_t)files_type;
    return result;
}
static int files_fstat(int fd, struct stat *s)
{
    return files_unstat && --files_unstat == 0 ? errno = EIO, -1 : fstat(fd, s);
}
static int files_fseeko(FILE *f, off_t at, int from)
{
    return files_unsought && --files_unsought == 0 ? errno = ESPIPE, -1 : fseeko(f, at, from);
}
static void files_make_ring(void)
{
    if (files_ring) CHECK(remove(files_ring) == 0 && symlink("x.safetensors", files_ring) == 0);
    files_ring = NULL;
}
#else
static void files_plant(const char *path) { (void)path; }
static void files_look_at_mode(int fd) { (void)fd; }
static void files_make_ring(void) { }
#define fileno(s) 0
#endif
static FILE *files_fopen(const char *path, const char *mode)
{
    if (files_now()) return NULL;
    if (mode[0] == 'w') files_plant(path);
    return fopen(path, mode);
}
static size_t files_fwrite(const void *p, size_t each, size_t n, FILE *f)
{
    files_look_at_mode(fileno(f));
    files_make_ring();
    return fwrite(p, each, files_now() ? n / 2 : n, f);        /* a full disk takes a part */
}
static int files_fflush(FILE *f)
{
    files_look_at_mode(fileno(f));
    return files_now() ? EOF : fflush(f);
}
static int files_fclose(FILE *f)
{
    int result = fclose(f);
    return files_now() ? EOF : result;
}

#if defined __unix__ || defined __APPLE__
/* The temporary files in a folder. */
static int files_temporaries(const char *folder)
{
    DIR *d = opendir(folder);
    struct dirent *e;
    int count = 0;
    if (!d) return 0;
    while ((e = readdir(d)) != NULL) {
        size_t n = strlen(e->d_name);
        if (n > 4 && !strcmp(e->d_name + n - 4, ".tmp")) count++;
    }
    closedir(d);
    return count;
}
#endif

/* Returns the descriptor that the next open file gets: it is higher if a file was left open. */
static int files_lowest(void)
{
    int fd = 0;
#if defined __unix__ || defined __APPLE__
    fd = open(".", O_RDONLY);
    close(fd);
#endif
    return fd;
}

/* Every system call fails in turn: the old file or the new one is whole, and no other file is
 * left. */
TEST(files_failing_disk)
{
    const char *path = "build/files.safetensors";
    tfn_model_desc d = files_desc(files_cases);
    tfn_model m = files_model(&d), other = files_model(&d);
    tfn_report report;
    tfn_file f = files_at(path);
    uint64_t old = tfn_model_hash(&m), now;
    int calls, lowest;
    FILE *s;
    files_fail = files_calls = 0;
    if (!(s = fopen("build/files.try", "wb"))) {
        tfn_model_free(&m), tfn_model_free(&other);
        SKIP("no folder build");
    }
    fclose(s);
    remove("build/files.try");
    FILES_OK(tfn_model_save(&f, &m, NULL), f);
    files_calls = 0;
    FILES_OK(tfn_model_save(&f, &m, NULL), f);          /* replaces a file */
    calls = files_calls;
    CHECK(calls > 50);
    CHECK(!strcmp(tfn_io_durable(), "fsync") || !strcmp(tfn_io_durable(), "commit"));
    files_train(&m, 0, 1, &report);
    now = tfn_model_hash(&m);
    lowest = files_lowest();
    for (files_fail = 1; files_fail <= calls + 1; files_fail++) {
        tfn_status status;
        uint64_t found;
        int call = files_fail;
        files_calls = 0;
        memset(&f.error, 0, sizeof f.error);
        status = tfn_model_save(&f, &m, NULL);
        if (call > calls ? status != TFN_OK : status != TFN_BAD_FILE) FAIL("call %d: %s", call,
            files_error(&f.error));
#if defined __unix__ || defined __APPLE__
        CHECK_INT(files_temporaries("build"), 0);
#endif
        files_fail = 0;
        memset(&f.error, 0, sizeof f.error);
        FILES_OK(tfn_model_load(&other, &f), f);
        files_fail = call;
        found = tfn_model_hash(&other);
        if (found != old && found != now) FAIL("call %d: a third file", call);
        if (call < calls - 4 && found != old) FAIL("call %d: the new file is there", call);
    }
    CHECK_INT(tfn_model_hash(&other), now);
    files_fail = 0;
    CHECK_INT(files_lowest(), lowest);
    f = files_at("build/none/files");
    CHECK_INT(tfn_model_save(&f, &m, NULL), TFN_BAD_FILE);
    CHECK(strstr(files_error(&f.error), "build/none/files: cannot be opened: No such file"));
    f = files_at("build/none");
    CHECK_INT(tfn_model_load(&m, &f), TFN_BAD_FILE);
    f = files_at("build");
    CHECK(tfn_model_load(&m, &f) != TFN_OK);                     /* path is a folder */
    remove(path);
    tfn_model_free(&m), tfn_model_free(&other);
}

#if defined __unix__ || defined __APPLE__
/* BPE on a few words, with at least one merge. */
static void *files_bpe(tfn_tokenizer *k)
{
    static const char text[] = "one and one and one are three";
    tfn_tokenizer_desc d;
    tfn_tokenizer_source source;
    tfn_trainer t;
    void *room, *mem;
    size_t size;
    memset(&d, 0, sizeof d);
    memset(&source, 0, sizeof source);
    d.vocab = 270;
    d.words = 64;
    size = tfn_trainer_size(&d);
    room = malloc(size);
    tfn_trainer_init(&t, &d, room, size);
    tfn_trainer_add(&t, text, sizeof text - 1);
    CHECK(tfn_trainer_run(&t) == TFN_OK);
    source.trainer = &t;
    size = tfn_tokenizer_size(&source);
    mem = malloc(size);
    CHECK(tfn_tokenizer_init(k, &source, mem, size) == TFN_OK);
    free(room);
    return mem;
}

static bool files_there(const char *folder, const char *name)
{
    char path[100];
    FILE *s;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    s = fopen(path, "rb");
    if (s) fclose(s);
    return s != NULL;
}

/* Every system call fails in turn: a folder of the hub is complete, or is not a model. */
TEST(files_failing_export)
{
    static const char *const names[] = { "model.safetensors", "config.json", "tokenizer.json",
                                         "tokenizer_config.json" };
    const char *folder = "build/files-hub";
    tfn_model_desc d;
    tfn_model m, other;
    tfn_export x;
    tfn_tokenizer k;
    void *mem;
    tfn_status status = TFN_BAD_FILE;
    if (mkdir(folder, 0777) && errno != EEXIST) SKIP("no folder build");
    memset(&d, 0, sizeof d);
    d.vocab = 270;
    d.context = 8;
    d.recipe = "gpt2";
    d.layers = 1;
    d.width = 8;
    CHECK(tfn_model_new(&m, &d, NULL) == TFN_OK);
    mem = files_bpe(&k);
    for (files_fail = 1; status != TFN_OK; files_fail++) {
        for (int i = 0; i < 4; i++) {                       /* files from before, too */
            char path[100];
            snprintf(path, sizeof path, "%s/%s", folder, names[i]);
            remove(path);
        }
        files_calls = 0;
        memset(&x, 0, sizeof x);
        x.folder = folder;
        x.tokenizer = &k;
        status = tfn_export_write(&x, &m);
        if (status != TFN_OK) CHECK_INT(status, TFN_BAD_FILE);
        if (status == TFN_OK) CHECK(files_fail > 60);
        if (files_temporaries(folder)) FAIL("call %d leaves a temporary file", files_fail);
        for (int i = 0; i < 4; i++) {
            if (files_there(folder, names[i]) != (status == TFN_OK) && i > 1)
                FAIL("call %d: %s", files_fail, names[i]);
        }
        if (status != TFN_OK && files_there(folder, names[0])
            && files_there(folder, names[1]))
            FAIL("call %d leaves a folder that looks whole", files_fail);
    }
    files_fail = 0;
    CHECK(tfn_import_new(&other, folder, NULL) == TFN_OK);
    CHECK(tfn_model_hash(&other) == tfn_model_hash(&m));
    tfn_model_free(&other);
    tfn_model_free(&m);
    free(mem);
}

/* -- files that a save replaces --------------------------------------------------------------- */

/* Every writer of the library, each into a new private folder. An export writes several files, of
 * which two are checked. */
typedef struct files_place {
    char folder[40];
    tfn_model model;
} files_place;
typedef enum files_writer {
    FILES_MODEL, FILES_ADAPTER, FILES_TENSORS, FILES_EXPORT, FILES_EXPORT_CONFIG, FILES_WRITERS
} files_writer;

static const char *files_path(const files_place *p, const char *name)
{
    static char paths[8][100];
    static int next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", p->folder, name);
    return path;
}
/* The file that a writer replaces, whose text must survive a failure. */
static const char *files_target(const files_place *p, files_writer writer)
{
    static char paths[FILES_WRITERS][100];
    const char *name = "x.safetensors";
    if (writer == FILES_EXPORT) name = "model.safetensors";
    if (writer == FILES_EXPORT_CONFIG) name = "config.json";
    snprintf(paths[writer], sizeof paths[0], "%s/%s", p->folder, name);
    return paths[writer];
}
static tfn_status files_save_by(const files_place *p, files_writer writer, tfn_error *e)
{
    static const float values[3] = { 1, 2, 3 };
    tfn_file f = files_at(files_target(p, FILES_MODEL));
    tfn_export x;
    tfn_tensor t;
    tfn_status status;
    memset(&x, 0, sizeof x);
    memset(&t, 0, sizeof t);
    x.folder = p->folder;
    strcpy(t.name, "t");
    t.rank = 1, t.shape[0] = 3, t.data = values;
    if (writer == FILES_MODEL) status = tfn_model_save(&f, &p->model, NULL);
    else if (writer == FILES_ADAPTER) status = tfn_model_save_adapter(&f, &p->model, NULL);
    else if (writer == FILES_TENSORS) status = tfn_file_write(&f, &t, 1);
    else status = tfn_export_write(&x, &p->model);
    *e = f.error;
    if (writer >= FILES_EXPORT) *e = x.error;
    return status;
}
static bool files_place_make(files_place *p)
{
    tfn_model_desc d;
    memset(p, 0, sizeof *p);
    memset(&d, 0, sizeof d);
    strcpy(p->folder, "build/files-XXXXXX");
    if (!mkdtemp(p->folder)) return false;
    d.vocab = 11;
    d.context = 8;
    d.width = 8;
    d.layers = 1;
    d.recipe = "gpt2";
    CHECK(tfn_model_new(&p->model, &d, NULL) == TFN_OK);
    files_fail = files_dies = files_plants = files_planted = 0;
    files_readable = -1;
    return true;
}
/* Empty the folder. */
static void files_place_clear(const files_place *p)
{
    DIR *d = opendir(p->folder);
    struct dirent *e;
    while ((e = readdir(d)) != NULL) {
        char path[300];
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", p->folder, e->d_name);
        if (remove(path)) FAIL("%s cannot be removed", path);
    }
    closedir(d);
}
static void files_place_drop(files_place *p)
{
    files_place_clear(p);
    rmdir(p->folder);
    tfn_model_free(&p->model);
}
static void files_put(const char *path, const char *text, unsigned mode)
{
    FILE *s = fopen(path, "wb");
    if (!s) FAIL("%s cannot be opened", path);
    if (!s) return;
    fputs(text, s);
    fclose(s);
    chmod(path, (mode_t)mode);
}
static bool files_has(const char *path, const char *text)
{
    char found[32] = "";
    FILE *s = fopen(path, "rb");
    if (!s) return false;
    found[fread(found, 1, sizeof found - 1, s)] = 0;
    fclose(s);
    return !strcmp(found, text);
}
static unsigned files_mode(const char *path)
{
    struct stat s;
    if (lstat(path, &s)) return 0;
    return (unsigned)s.st_mode;
}

/* Under each name that a writer tries, there is a link or another user's file: neither is written
 * to, and the save takes another name. */
TEST(files_planted_names)
{
    files_place p;
    char victim[100], dangling[100];
    if (!files_place_make(&p)) SKIP("no folder build");
    snprintf(victim, sizeof victim, "victim");
    snprintf(dangling, sizeof dangling, "none");
    for (int writer = 0; writer < FILES_WRITERS; writer++) {
        const char *target = files_target(&p, (files_writer)writer);
        tfn_error e;
        CASE("writer %d", writer);
        files_put(files_path(&p, "victim"), "important", 0644);
        files_victim = victim;
        files_dangling = dangling;
        CHECK(symlink(victim, files_path(&p, "x.safetensors.tmp")) == 0);   /* the name of 0.2 */
        files_planted = 0;
        files_plants = 30;
        if (files_save_by(&p, (files_writer)writer, &e) != TFN_OK) FAIL("%s", files_error(&e));
        CHECK_INT(files_plants, 0);
        CHECK_INT(files_planted, 30);
        CHECK(files_has(files_path(&p, "victim"), "important"));
        CHECK(!files_there(p.folder, "none"));
        CHECK(S_ISREG(files_mode(target)));
        files_place_clear(&p);
    }
    /* if all names are taken it is an error, and nothing is replaced */
    {
        const char *target = files_target(&p, FILES_MODEL);
        tfn_error e;
        files_put(files_path(&p, "victim"), "important", 0644);
        files_put(target, "old", 0644);
        files_plants = 1000000;
        CHECK_INT(files_save_by(&p, FILES_MODEL, &e), TFN_BAD_FILE);
        CHECK(files_has(target, "old") && files_has(files_path(&p, "victim"), "important"));
        files_plants = 0;
    }
    files_place_drop(&p);
}

/* A replaced file keeps its mode and a new one follows the umask. During the save, nothing is more
 * readable than the replaced file. */
TEST(files_modes)
{
    static const unsigned modes[] = { 0600, 0640, 0644, 0660, 0666, 0400, 0440, 0700, 0755, 0000,
                                      0604 };
    static const unsigned masks[] = { 022, 077, 027, 0, 0777 };
    const mode_t before = umask(022);
    files_place p;
    if (!files_place_make(&p)) SKIP("no folder build");
    for (int writer = 0; writer < FILES_WRITERS; writer++)
        for (size_t k = 0; k < sizeof masks / sizeof *masks; k++) {
            const char *target = files_target(&p, (files_writer)writer);
            tfn_error e;
            for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
                files_place_clear(&p);
                files_put(target, "old", modes[i]);
                CASE("writer %d, umask %o, mode %o", writer, masks[k], modes[i]);
                umask((mode_t)masks[k]);
                if (writer < FILES_EXPORT) files_readable = (int)modes[i];
                CHECK_INT(files_save_by(&p, (files_writer)writer, &e), TFN_OK);
                files_readable = -1;
                umask(022);
                CHECK(!files_has(target, "old"));
                if ((files_mode(target) & 07777) != modes[i])
                    FAIL("the mode is %o", files_mode(target) & 07777);
            }
            files_place_clear(&p);
            CASE("writer %d, umask %o, new", writer, masks[k]);
            umask((mode_t)masks[k]);
            files_readable = (int)(0666 & ~masks[k]);
            CHECK_INT(files_save_by(&p, (files_writer)writer, &e), TFN_OK);
            files_readable = -1;
            umask(022);
            CHECK_INT(files_mode(target) & 07777, 0666 & ~masks[k]);
        }
    umask(before);
    files_place_drop(&p);
}

/* A replaced file keeps its owner and group. Without the right to set the group, its members get
 * only the rights of all others. */
TEST(files_owners)
{
    static const struct { unsigned uid, gid; int refused; unsigned as_uid, as_gid, mode; } rows[] = {
        { 12345, 12346, 0, 12345, 12346, 0640 }, { 12345, 12346, 1, 0, 12346, 0640 },
        { 12345, 12346, 2, 0, 0, 0600 },         { 0, 12346, 2, 0, 0, 0600 },
        { 12345, 0, 1, 0, 0, 0640 },             { 0, 12346, 0, 0, 12346, 0640 }
    };
    files_place p;
    struct stat s;
    tfn_error e;
    const char *target;
    if (geteuid() != 0 || getegid() != 0) SKIP("only root can give files away");
    if (!files_place_make(&p)) SKIP("no folder build");
    target = files_target(&p, FILES_MODEL);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CASE("row %d", (int)i);
        files_place_clear(&p);
        files_put(target, "old", 0640);
        CHECK(chown(target, rows[i].uid, rows[i].gid) == 0);
        files_unowned = rows[i].refused;
        CHECK_INT(files_save_by(&p, FILES_MODEL, &e), TFN_OK);
        CHECK_INT(files_unowned, 0);
        CHECK(stat(target, &s) == 0);
        CHECK_INT(s.st_uid, rows[i].as_uid);
        CHECK_INT(s.st_gid, rows[i].as_gid);
        CHECK_INT(s.st_mode & 07777, rows[i].mode);
    }
    files_place_drop(&p);
}

/* Folders, pipes, sockets and devices are refused, also through links, before a byte is written,
 * and stay unchanged. All are in a folder of the test. */
TEST(files_kinds)
{
    static const char *const kinds[] = { "a folder", "a pipe", "a socket", "a device" };
    files_place p;
    tfn_error e;
    if (!files_place_make(&p)) SKIP("no folder build");
    for (int writer = 0; writer < FILES_WRITERS; writer++)
        for (int kind = 0; kind < 8; kind++) {
            const char *target = files_target(&p, (files_writer)writer);
            const char *node = target;
            struct sockaddr_un at;
            unsigned mode;
            int fd;
            CASE("writer %d, kind %d", writer, kind);
            if (kind >= 4) node = files_path(&p, "node");
            if (kind % 4 == 0) CHECK(mkdir(node, 0755) == 0);
            if (kind % 4 == 1) CHECK(mkfifo(node, 0644) == 0);
            if (kind % 4 == 2) {
                memset(&at, 0, sizeof at);
                at.sun_family = AF_UNIX;
                snprintf(at.sun_path, sizeof at.sun_path, "%s", node);
                fd = socket(AF_UNIX, SOCK_STREAM, 0);
                CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0);
                close(fd);
            }
            if (kind % 4 == 3) {                        /* like /dev/null, if permitted */
                char command[200];
                snprintf(command, sizeof command, "mknod %s c 1 3 2> /dev/null", node);
                if (system(command)) continue;
            }
            mode = files_mode(node);
            if (kind >= 4) CHECK(symlink("node", target) == 0);
            CHECK_INT(files_save_by(&p, (files_writer)writer, &e), TFN_BAD_FILE);
            if (!strstr(files_error(&e), kinds[kind % 4])) FAIL("%s", files_error(&e));
            CHECK_INT(files_mode(node), mode);
            CHECK(node == target || S_ISLNK(files_mode(target)));
            CHECK_INT(files_temporaries(p.folder), 0);
            files_place_clear(&p);
        }
    files_place_drop(&p);
}

/* A link stays a link, even a dangling one; the file that it leads to is replaced. */
TEST(files_links)
{
    files_place p;
    tfn_error e;
    if (!files_place_make(&p)) SKIP("no folder build");
    for (int writer = 0; writer < FILES_WRITERS; writer++)
        for (int there = 0; there < 2; there++) {
            const char *target = files_target(&p, (files_writer)writer);
            CASE("writer %d, there %d", writer, there);
            CHECK(symlink("second", target) == 0);
            CHECK(symlink("far", files_path(&p, "second")) == 0);
            if (there) files_put(files_path(&p, "far"), "old", 0600);
            CHECK_INT(files_save_by(&p, (files_writer)writer, &e), TFN_OK);
            CHECK(S_ISLNK(files_mode(target)) && S_ISLNK(files_mode(files_path(&p, "second"))));
            CHECK(S_ISREG(files_mode(files_path(&p, "far"))));
            CHECK(!files_has(files_path(&p, "far"), "old"));
            if (there) CHECK_INT(files_mode(files_path(&p, "far")) & 0777, 0600);
            files_place_clear(&p);
        }
    CHECK(symlink("x.safetensors", files_path(&p, "x.safetensors")) == 0);
    CHECK_INT(files_save_by(&p, FILES_MODEL, &e), TFN_BAD_FILE);
    CHECK_INT(files_temporaries(p.folder), 0);
    files_place_drop(&p);
}

/* Saving follows as many links as the system does (40 on Linux, fewer elsewhere), but never more
 * than 40. */
TEST(files_many_links)
{
    files_place p;
    if (!files_place_make(&p)) SKIP("no folder build");
    for (int links = 31; links < 43; links++) {
        char name[20];
        bool opens;
        FILE *s;
        tfn_error e;
        tfn_file f;
        const char *target = files_target(&p, FILES_MODEL);
        CASE("%d links", links);
        f = files_at(files_path(&p, "0"));
        FILES_OK(tfn_model_save(&f, &p.model, NULL), f);
        for (int i = 1; i <= links; i++) {
            char to[20];
            snprintf(to, sizeof to, "%d", i - 1);
            snprintf(name, sizeof name, "%d", i);
            CHECK(symlink(to, i == links ? target : files_path(&p, name)) == 0);
        }
        s = fopen(target, "rb");
        opens = s != NULL;
        if (s) fclose(s);
        f = files_at(target);
        CHECK_INT(tfn_model_load(&p.model, &f), opens ? TFN_OK : TFN_BAD_FILE);
        if (opens || links > 40)
            CHECK_INT(files_save_by(&p, FILES_MODEL, &e), opens ? TFN_OK : TFN_BAD_FILE);
        files_place_clear(&p);
    }
    files_place_drop(&p);
}

/* The name of a target may be as long as the system allows. */
TEST(files_long_name)
{
    char name[256];
    files_place p;
    tfn_file f;
    if (!files_place_make(&p)) SKIP("no folder build");
    for (size_t letter = 1; letter <= 3; letter += 2)
        for (size_t bytes = 190; bytes < 256; bytes += letter) {
            char path[320];
            memset(name, 0, sizeof name);
            for (size_t i = 0; i + letter <= bytes; i += letter)
                memcpy(name + i, letter == 1 ? "a" : "\xe2\x82\xac", letter);
            snprintf(path, sizeof path, "%s/%s", p.folder, name);
            f = files_at(path);
            FILES_OK(tfn_model_save(&f, &p.model, NULL), f);
            FILES_OK(tfn_model_load(&p.model, &f), f);
            remove(path);
        }
#ifndef __APPLE__                       /* a name that is not UTF-8, without the start of a character */
    {
        char path[320];
        memset(name, 0x80, 220);
        name[220] = 0;
        snprintf(path, sizeof path, "%s/%s", p.folder, name);
        f = files_at(path);
        FILES_OK(tfn_model_save(&f, &p.model, NULL), f);
        FILES_OK(tfn_model_load(&p.model, &f), f);
    }
    CHECK_INT(files_temporaries(p.folder), 0);
    files_place_clear(&p);
#endif
    files_place_drop(&p);
}

/* Symbolic links, and paths that are too long. */
TEST(files_paths)
{
    static char absolute[1100], longest[1100];
    files_place p;
    tfn_file f;
    tfn_error e;
    const char *target;
    int here;
    if (!files_place_make(&p)) SKIP("no folder build");
    target = files_target(&p, FILES_MODEL);
    memset(longest, 0, sizeof longest);
    memset(longest, '/', 1020);
    memcpy(longest, p.folder, strlen(p.folder));
    f = files_at(longest);
    files_says(tfn_model_load(&p.model, &f), &f.error, TFN_BAD_FILE,
               "the path has 1020 bytes, the limit is 1019");
    longest[1016] = 'x';
    longest[1017] = 0;
    f = files_at(longest);
    FILES_OK(tfn_model_save(&f, &p.model, NULL), f);
    memcpy(longest + 1016, "xyzt", 4);
    f = files_at(longest);
    files_says(tfn_model_save(&f, &p.model, NULL), &f.error, TFN_BAD_FILE,
               "the path has 1020 bytes, the limit is 1019");
    files_place_clear(&p);
    CHECK(symlink("x.safetensors", target) == 0);               /* to itself */
    f = files_at(target);
    files_says(tfn_model_load(&p.model, &f), &f.error, TFN_BAD_FILE,
               "its symbolic links are too many or too long");
    CHECK(remove(target) == 0 && getcwd(absolute, 900) != NULL);
    snprintf(absolute + strlen(absolute), 150, "/%s/far", p.folder);
    CHECK(symlink(absolute, target) == 0);
    CHECK_INT(files_save_by(&p, FILES_MODEL, &e), TFN_OK);
    CHECK(S_ISLNK(files_mode(target)) && S_ISREG(files_mode(files_path(&p, "far"))));
    CHECK(remove(target) == 0);
    for (int i = 0; i < 1010; i++) absolute[i] = "./"[i % 2];   /* the folder and this are too long */
    strcpy(absolute + 1010, "far");
    CHECK(symlink(absolute, target) == 0);
    f = files_at(target);
    files_says(tfn_model_load(&p.model, &f), &f.error, TFN_BAD_FILE,
               "its symbolic links are too many or too long");
    files_place_clear(&p);
    here = open(".", O_RDONLY);
    CHECK(here >= 0 && chdir(p.folder) == 0);
    f = files_at("here");                                       /* no folder in the path */
    FILES_OK(tfn_model_save(&f, &p.model, NULL), f);
    FILES_OK(tfn_model_load(&p.model, &f), f);
    CHECK(fchdir(here) == 0 && close(here) == 0);
    CHECK(S_ISREG(files_mode(files_path(&p, "here"))) && files_temporaries(p.folder) == 0);
    files_place_drop(&p);
}

/* Failing stat, fstat, fseeko, fsync and close: the text of the error, and the old file stays. */
TEST(files_failing_queries)
{
    static const char *const says[] = { "cannot be opened: ",
        "cannot be opened: ", "its mode cannot be read: ",
        "its mode cannot be read: ", "it is a device, not a regular file" };
    static const char *const unread[] = { "it has no size: ",
                                          "8 bytes at byte 0 cannot be read: " };
    files_place p;
    tfn_file f;
    tfn_error e;
    const char *target;
    int calls;
    if (!files_place_make(&p)) SKIP("no folder build");
    target = files_target(&p, FILES_MODEL);
    for (int i = 0; i < 5; i++) {
        files_put(target, "old", 0640);
        if (i < 4) files_unstat = i + 1;
        else files_type = S_IFBLK | 0640;
        files_says(files_save_by(&p, FILES_MODEL, &e), &e, TFN_BAD_FILE, says[i]);
        CHECK_INT(files_unstat, 0);
        files_type = 0;
        CHECK(files_has(target, "old") && files_temporaries(p.folder) == 0);
    }
    files_calls = 0;
    CHECK_INT(files_save_by(&p, FILES_MODEL, &e), TFN_OK);
    calls = files_calls;
    for (int i = 0; i < 2; i++) {
        f = files_at(target);
        files_unsought = i + 1;
        files_says(tfn_model_load(&p.model, &f), &f.error, TFN_BAD_FILE, unread[i]);
        CHECK_INT(files_unsought, 0);
    }
    for (int unknown = 0; unknown < 2; unknown++) {             /* the last call is the folder's fsync */
        files_calls = 0;
        files_fail = calls;
        files_unsynced = unknown ? EINVAL : 0;
        CHECK_INT(files_save_by(&p, FILES_MODEL, &e), unknown ? TFN_OK : TFN_BAD_FILE);
        files_fail = files_unsynced = 0;
    }
    files_unclosed = true;
    files_says(files_save_by(&p, FILES_MODEL, &e), &e, TFN_BAD_FILE, "fsync of its folder failed");
    files_unclosed = false;
    files_ring = target;                                        /* while the file is written */
    files_says(files_save_by(&p, FILES_MODEL, &e), &e, TFN_BAD_FILE,
               "its symbolic links are too many or too long");
    CHECK(S_ISLNK(files_mode(target)));
    files_place_drop(&p);
}

/* A program that is killed at any call of a save leaves a whole file, and the next save
 * succeeds. */
TEST(files_leftovers)
{
    files_place p;
    tfn_file f;
    tfn_error e;
    int calls, left = 0;
    if (!files_place_make(&p)) SKIP("no folder build");
    files_calls = 0;
    CHECK_INT(files_save_by(&p, FILES_MODEL, &e), TFN_OK);
    calls = files_calls;
    f = files_at(files_target(&p, FILES_MODEL));
    for (int call = 1; call <= calls; call++) {
        int status = 0;
        const pid_t child = fork();
        if (child == 0) {
            files_calls = 0;
            files_dies = call;
            files_save_by(&p, FILES_MODEL, &e);
            _exit(0);
        }
        waitpid(child, &status, 0);
        CHECK(WIFSIGNALED(status));
        FILES_OK(tfn_model_load(&p.model, &f), f);
        if (files_temporaries(p.folder) > left) left = files_temporaries(p.folder);
        CHECK_INT(files_save_by(&p, FILES_MODEL, &e), TFN_OK);
        CHECK_INT(files_temporaries(p.folder), left);
        FILES_OK(tfn_model_load(&p.model, &f), f);
    }
    CHECK(left > 0);
    files_place_drop(&p);
}

/* Four processes save one path at the same time. Each reports OK, and at any moment the file is a
 * whole one from one of them. */
TEST(files_two_writers)
{
    enum { WRITERS = 4, SAVES = 25 };
    files_place p;
    tfn_file f;
    tfn_error e;
    if (!files_place_make(&p)) SKIP("no folder build");
    CHECK_INT(files_save_by(&p, FILES_MODEL, &e), TFN_OK);
    for (int i = 0; i < WRITERS; i++)
        if (fork() == 0) {
            p.model.params[0] = (float)i;
            for (int k = 0; k < SAVES; k++)
                if (files_save_by(&p, FILES_MODEL, &e) != TFN_OK) _exit(1);
            _exit(0);
        }
    f = files_at(files_target(&p, FILES_MODEL));
    for (int ended = 0; ended < WRITERS;) {
        int status = 0;
        FILES_OK(tfn_model_load(&p.model, &f), f);
        if (waitpid(-1, &status, WNOHANG) <= 0) continue;
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        ended++;
    }
    CHECK_INT(files_temporaries(p.folder), 0);
    files_place_drop(&p);
}
#endif
#endif

/* -- averages, NumPy, golden ----------------------------------------------------------------- */

TEST(files_average)
{
    tfn_model_desc d = files_desc(files_cases);
    tfn_model m = files_model(&d), mean = files_model(&d);
    tfn_report report;
    tfn_file from[3];
    unsigned char *bytes[3], *saved;
    tfn_param_info p, q;
    size_t size[3], n;
    float *sum = (float *)calloc((size_t)m.param_floats, sizeof *sum), worst = 0;
    uint64_t hash;
    for (int k = 0; k < 3; k++) {
        files_train(&m, k, k + 1, &report);
        bytes[k] = files_save(&m, NULL, size + k);
        from[k] = files_from(bytes[k], size[k]);
        for (int64_t i = 0; i < m.param_floats; i++) sum[i] += m.params[i] / 3;
    }
    FILES_OK(tfn_model_load_weights(&mean, from, 3), from[0]);
    for (int32_t i = 0; tfn_model_param(&m, i, &p) && tfn_model_param(&mean, i, &q); i++)
        for (int64_t k = 0; k < (int64_t)p.rows * p.cols; k++) {
            float error = fabsf(q.data[k] - sum[p.data - m.params + k]);
            worst = error > worst ? error : worst;
        }
    CHECK(worst < 1e-6f && mean.step == 0 && mean.profiled);
    hash = tfn_model_hash(&mean);
    saved = files_save(&mean, NULL, &n);
    files_train(&mean, 0, 1, &report);                  /* it can be trained further */
    CHECK(tfn_model_hash(&mean) != hash);
    from[0] = files_from(saved, n);
    FILES_OK(tfn_model_load(&mean, from), from[0]);
    CHECK_INT(tfn_model_hash(&mean), hash);
    free(saved);
    d.layers = 1;
    tfn_model_free(&m);
    m = files_model(&d);
    free(bytes[1]);
    bytes[1] = files_save(&m, NULL, size + 1);
    from[0] = files_from(bytes[0], size[0]);
    from[1] = files_from(bytes[1], size[1]);
    CHECK(tfn_model_load_weights(&mean, from, 3) != TFN_OK);
    CHECK(strstr(files_error(&from[1].error), "layers is 1, the model has 2")
          && tfn_model_hash(&mean) == hash);
    CHECK_INT(tfn_model_load_weights(&mean, from, 0), TFN_BAD_OPTION);
    for (int k = 0; k < 3; k++) free(bytes[k]);
    free(sum);
    tfn_model_free(&m), tfn_model_free(&mean);
}

/* A file of format 1, from an earlier version: its weights, and the bits of the next step. */
TEST(files_golden)
{
    static const int32_t tokens[] = { 0, 1, 2, 1 }, targets[] = { 1, 2, 1, 0 };
    tfn_file f = files_from(golden_checkpoint, sizeof golden_checkpoint);
    tfn_model_desc d;
    tfn_model m;
    tfn_batch b;
    tfn_report r;
    int64_t step;
    char extra[16];
    memset(&b, 0, sizeof b);
    FILES_OK(tfn_model_peek(&f, &d, &step), f);
    CHECK(step == 1 && !strcmp(d.recipe, "admin") && d.dropout == 0.1f && d.seed == 7);
    m = files_model(&d);
    FILES_OK(tfn_model_load(&m, &f), f);
    CHECK_INT(tfn_model_hash(&m), GOLDEN_CHECKPOINT_HASH);
    b.tokens = tokens;
    b.targets = targets;
    b.batch = 1;
    b.time = 4;
    CHECK_INT(tfn_model_step(&m, &b, &r), TFN_OK);
    if (!strcmp(tfn_bits(TFN_ISA_BEST), "canonical")) CHECK_INT(tfn_model_hash(&m),
        GOLDEN_CHECKPOINT_NEXT);
    FILES_OK(tfn_file_open(&f), f);
    CHECK(tfn_file_text(&f, "extra", extra, sizeof extra) == 6 && !strcmp(extra, "golden"));
    tfn_file_close(&f);
    tfn_model_free(&m);
}

/* Version 0.1 saved enumerators as numbers; they are read as names, and a new file has names. */
TEST(files_of_0_1)
{
    static const struct { const char *option, *name; } names[] = {
        { "tfn.activation", "silu" }, { "tfn.arch", "encoder" }, { "tfn.head", "sequence" },
        { "tfn.optimizer", "radam" }, { "tfn.position", "fairseq" }, { "tfn.qk_norm", "head" },
        { "tfn.radam", "decay" }, { "tfn.schedule.kind", "stable-decay" },
        { "tfn.smoothing_kind", "fairseq" }, { "tfn_format", "2" }
    };
    tfn_file f = files_from(golden_checkpoint_0_1, sizeof golden_checkpoint_0_1);
    tfn_model_desc d;
    tfn_model m;
    int64_t step;
    unsigned char *bytes;
    size_t size;
    char text[32];
    FILES_OK(tfn_model_peek(&f, &d, &step), f);
    CHECK_INT(step, 3);
    CHECK_INT(d.activation, TFN_ACTIVATION_SILU);
    CHECK_INT(d.arch, TFN_ARCH_ENCODER);
    CHECK_INT(d.head, TFN_HEAD_SEQUENCE);
    CHECK_INT(d.optimizer, TFN_OPTIMIZER_RADAM);
    CHECK_INT(d.position, TFN_POSITION_SINUSOIDAL_FAIRSEQ);
    CHECK_INT(d.qk_norm, TFN_QK_NORM_HEAD);
    CHECK_INT(d.radam, TFN_RADAM_DECAY);
    CHECK_INT(d.schedule.kind, TFN_SCHEDULE_WARMUP_STABLE_DECAY);
    CHECK_INT(d.smoothing_kind, TFN_SMOOTHING_FAIRSEQ);
    m = files_model(&d);
    FILES_OK(tfn_model_load(&m, &f), f);
    CHECK_INT(tfn_model_hash(&m), GOLDEN_CHECKPOINT_0_1_HASH);
    bytes = files_save(&m, NULL, &size);
    f = files_from(bytes, size);
    FILES_OK(tfn_file_open(&f), f);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tfn_file_text(&f, names[i].option, text, sizeof text);
        if (strcmp(text, names[i].name)) FAIL("%s is %s", names[i].option, text);
    }
    tfn_file_close(&f);
    FILES_OK(tfn_model_load(&m, &f), f);
    CHECK_INT(tfn_model_hash(&m), GOLDEN_CHECKPOINT_0_1_HASH);
    tfn_model_free(&m);
    free(bytes);
}

/* An unknown name: the message shows it and suggests a similar one. */
TEST(files_unknown_name)
{
    static const struct { const char *from, *to, *message; } cases[] = {
        { "\"tfn.position\":\"learned\"", "\"tfn.position\":\"learnet\"",
          "position is learnet, which is not known here; did you mean learned?" },
        { "\"tfn.optimizer\":\"adamw\"", "\"tfn.optimizer\":\"12345\"",
          "optimizer is 12345, which is not known here" },
        { "\"tfn.recipe\":\"pre\"", "\"tfn.recipe\":\"prf\"",
          "recipe is prf, which is not known here; did you mean pre?" },
        { "\"tfn_format\":\"2\"", "\"tfn_format\":\"3\"",
          "its format is 3, the latest known here is 2" }
    };
    tfn_model_desc d;
    tfn_model m;
    size_t size;
    memset(&d, 0, sizeof d);
    d.vocab = d.context = 4;
    m = files_model(&d);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char *bytes = files_save(&m, NULL, &size);
        const size_t n = strlen(cases[i].from);
        tfn_file f = files_from(bytes, size);
        for (size_t at = 0; at + n <= size; at++)
            if (!memcmp(bytes + at, cases[i].from, n)) memcpy(bytes + at, cases[i].to, n);
        CHECK(tfn_model_peek(&f, &d, NULL) != TFN_OK);
        if (!strstr(files_error(&f.error), cases[i].message))
            FAIL("%s: %s", cases[i].to, files_error(&f.error));
        free(bytes);
    }
    tfn_model_free(&m);
}

static void files_npy_case(const unsigned char *golden, size_t size, const tfn_tensor *x)
{
    tfn_file f = files_from(golden, size);
    tfn_tensor t;
    double values[8];
    unsigned char *out = (unsigned char *)malloc(size);
    FILES_OK(library_npy_read(&f, &t, values, x->dtype == TFN_DTYPE_DEFAULT ? TFN_DTYPE_F32 : x->dtype,
                          8), f);
    CHECK(t.rank == x->rank && !memcmp(t.shape, x->shape, sizeof t.shape));
    CHECK_BITS(values, x->data, (size_t)t.bytes);
    f.to = out;
    f.to_size = size;
    FILES_OK(library_npy_write(&f, x), f);
    CHECK_INT(f.used, size);
    CHECK_BITS(out, golden, size);
    free(out);
}
TEST(files_npy)
{
    static const float f4[] = { 0, .5f, 1, 1.5f, 2, 2.5f };
    static const double f8[] = { 0.1 };
    static const int32_t i4[] = { 1, -2, 2147483647 };
    tfn_tensor t;
    tfn_file f = files_from(golden_npy_i4, sizeof golden_npy_i4);
    float to[3];
    memset(&t, 0, sizeof t);
    t.rank = 2, t.shape[0] = 2, t.shape[1] = 3, t.data = f4;
    files_npy_case(golden_npy_f4, sizeof golden_npy_f4, &t);
    memset(&t, 0, sizeof t);
    t.dtype = TFN_DTYPE_F64, t.data = f8;
    files_npy_case(golden_npy_f8, sizeof golden_npy_f8, &t);
    memset(&t, 0, sizeof t);
    t.dtype = TFN_DTYPE_I32, t.rank = 1, t.shape[0] = 3, t.data = i4;
    files_npy_case(golden_npy_i4, sizeof golden_npy_i4, &t);
    FILES_OK(library_npy_read(&f, &t, to, TFN_DTYPE_DEFAULT, 3), f);
    CHECK(to[1] == -2 && t.count == 3);
    CHECK_INT(library_npy_read(&f, &t, to, TFN_DTYPE_DEFAULT, 2), TFN_NO_MEMORY);
    f = files_from(golden_npy_f4, sizeof golden_npy_f4);
    FILES_OK(library_npy_read(&f, &t, NULL, TFN_DTYPE_DEFAULT, 0), f);
    CHECK_INT(library_npy_read(&f, &t, to, TFN_DTYPE_I32, 3), TFN_NO_MEMORY);
}

int main(void)
{
    RUN(files_rules);
    RUN(files_without_room);
    RUN(files_many);
    RUN(files_values);
    RUN(files_writing);
    RUN(files_index);
    RUN(files_moments);
    RUN(files_resume);
    RUN(files_state);
    RUN(files_differences);
    RUN(files_old_numbers);
    RUN(files_shapes);
    RUN(files_later_option);
    RUN(files_own_row);
    RUN(files_luggage);
    RUN(files_any_byte);
    RUN(files_any_byte_of_state);
    RUN(files_refused_checkpoints);
    RUN(files_refused_calls);
    RUN(files_refused_tensors);
    RUN(files_refused_sources);
    RUN(files_texts);
    RUN(files_blocks_alone);
    RUN(files_converted);
    RUN(files_old_updates);
    RUN(files_lora);
    RUN(files_callbacks);
    RUN(files_failing_loads);
#ifdef FILES_HOOKS
    RUN(files_failing_disk);
#if defined __unix__ || defined __APPLE__
    RUN(files_failing_export);
    RUN(files_planted_names);
    RUN(files_modes);
    RUN(files_owners);
    RUN(files_kinds);
    RUN(files_links);
    RUN(files_many_links);
    RUN(files_long_name);
    RUN(files_paths);
    RUN(files_failing_queries);
    RUN(files_leftovers);
    RUN(files_two_writers);
#endif
#endif
    RUN(files_average);
    RUN(files_golden);
    RUN(files_of_0_1);
    RUN(files_unknown_name);
    RUN(files_npy);
    return DONE();
}
