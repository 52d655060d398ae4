/* What the page's engine wants of a C library, so that it needs none: memory as a stack, strings,
 * the conversions of printf that the tools use. build.sh lets <stdio.h> and others be this file.
 * Numbers are written and logarithms taken by JavaScript (engine.js): no bit of a model depends on
 * them. Files are not there: what the tools do with them is declared, so that they compile, and
 * does not link if it is called. */
#ifndef WEB_LIBC_H
#define WEB_LIBC_H

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMPORT(name) __attribute__((import_module("env"), import_name(#name))) extern
IMPORT(print) void web_print(const char *text, size_t bytes, int is_error);
IMPORT(number) int web_number(char *to, double x, int precision, int conversion);
IMPORT(read) int web_read(double at, void *to, size_t bytes);       /* of a file; 0: it failed */
IMPORT(exit) _Noreturn void exit(int code);

/* -- memory ------------------------------------------------------------------------------------ */

void *malloc(size_t bytes);             /* 64-byte aligned, zeros; NULL: the browser has no more */
void *calloc(size_t count, size_t bytes);
void *realloc(void *p, size_t bytes);
void  free(void *p);                    /* it comes back when all behind it did */

void *memcpy(void *to, const void *from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int byte, size_t bytes);
int   memcmp(const void *a, const void *b, size_t bytes);
void *memchr(const void *a, int byte, size_t bytes);

/* -- strings ----------------------------------------------------------------------------------- */

size_t strlen(const char *s);
int    strcmp(const char *a, const char *b);
int    strncmp(const char *a, const char *b, size_t most);
char  *strcpy(char *to, const char *from);
char  *strcat(char *to, const char *from);
char  *strchr(const char *s, int c);
char  *strrchr(const char *s, int c);
char  *strstr(const char *s, const char *part);
size_t strspn(const char *s, const char *set);
size_t strcspn(const char *s, const char *set);
long   strtol(const char *s, char **end, int base);                     /* base 10 */
double strtod(const char *s, char **end);
void   qsort(void *base, size_t count, size_t bytes, int (*order)(const void *, const void *));
void  *bsearch(const void *key, const void *base, size_t count, size_t bytes,
               int (*order)(const void *, const void *));

/* -- numbers ----------------------------------------------------------------------------------- */

#define HUGE_VAL    __builtin_huge_val()
#define INFINITY    __builtin_inff()
#define NAN         __builtin_nanf("")
#define isnan(x)    __builtin_isnan(x)
#define isfinite(x) __builtin_isfinite(x)
static inline float  sqrtf(float x) { return __builtin_sqrtf(x); }
static inline double sqrt(double x) { return __builtin_sqrt(x); }
static inline double fabs(double x) { return __builtin_fabs(x); }
static inline double floor(double x) { return __builtin_floor(x); }
static inline double ceil(double x) { return __builtin_ceil(x); }
static inline double fmax(double a, double b)
{
    if (a > b || isnan(b)) return a;
    return b;
}
static inline double fmin(double a, double b) { return -fmax(-a, -b); }
double ldexp(double x, int power);
int abs(int x);
IMPORT(tanh) double tanh(double x);
IMPORT(atan) double atan(double x);
IMPORT(exp) double exp(double x);
IMPORT(log) double log(double x);
IMPORT(log10) double log10(double x);
IMPORT(pow) double pow(double x, double y);
IMPORT(sin) double sin(double x);
IMPORT(cos) double cos(double x);

/* -- text -------------------------------------------------------------------------------------- */

typedef struct web_file { int is_error; } FILE;         /* its text goes to JavaScript */
extern FILE web_files[2];
#define stdout (&web_files[0])
#define stderr (&web_files[1])
#define EOF (-1)
int printf(const char *format, ...);
int fprintf(FILE *f, const char *format, ...);
int vfprintf(FILE *f, const char *format, va_list args);
int sprintf(char *to, const char *format, ...);
int snprintf(char *to, size_t size, const char *format, ...);
int vsnprintf(char *to, size_t size, const char *format, va_list args);
int fputs(const char *text, FILE *f);
int puts(const char *text);

/* -- what is only declared --------------------------------------------------------------------- */

#define errno web_errno
extern int web_errno;
#define EEXIST 17
#define stdin ((FILE *)NULL)
#define SEEK_SET 0
#define SEEK_END 2
#define O_RDONLY 0
#define O_WRONLY 1
#define F_GETFD 1
#define SIGPIPE 13
#define SIG_IGN NULL
#define STDOUT_FILENO 1
#define CLOCKS_PER_SEC 1
#define CLOCK_THREAD_CPUTIME_ID 0
#define S_ISREG(mode) (mode)
#define S_ISDIR(mode) (mode)
typedef long ssize_t, time_t, clock_t, off_t;
struct stat { unsigned st_mode; };
struct timespec { time_t tv_sec; long tv_nsec; };
int     atexit(void (*last)(void));
void   *signal(int number, void *handler);
int     fcntl(int file, int command);
int     open(const char *path, int how);
int     stat(const char *path, struct stat *s);
int     remove(const char *path);
int     rename(const char *from, const char *to);
int     isatty(int file);
ssize_t readlink(const char *path, char *to, size_t size);
char   *strerror(int error);
char   *getenv(const char *name);
clock_t clock(void);
time_t  time(time_t *t);
double  difftime(time_t end, time_t begin);
int     clock_gettime(int id, struct timespec *t);
FILE   *fopen(const char *path, const char *how);
int     fclose(FILE *f);
int     fflush(FILE *f);
int     ferror(FILE *f);
int     fileno(FILE *f);
int     feof(FILE *f);
int     fseek(FILE *f, long at, int from);
long    ftell(FILE *f);
size_t  fread(void *to, size_t bytes, size_t count, FILE *f);
size_t  fwrite(const void *from, size_t bytes, size_t count, FILE *f);
int     fputc(int c, FILE *f);
int     getc(FILE *f);
int     getchar(void);
char   *fgets(char *to, int size, FILE *f);
#endif
