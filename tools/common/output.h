/* Output that cannot get lost silently. The standard output is checked when the program ends; a
 * file is replaced as a whole or not at all.
 *
 *     int main(...) { output_begin("tool"); return output_end(run(...)); }
 *
 *     output_file o;
 *     FILE *f = output_open(&o, "picture.svg");       // NULL: failed, and reported
 *     if (f) draw(f);
 *     if (!output_close(&o)) return 1;                // false: lost, and reported
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

enum { OUTPUT_PATH = 4096 + 4,        /* bytes of a path */
       OUTPUT_PART = OUTPUT_PATH + 32 };    /* bytes of the path of its temporary file */

typedef struct output_file {
    FILE *f;
    const char *name;               /* as it was given */
    char  path[OUTPUT_PATH];        /* with symbolic links followed */
    char  part[OUTPUT_PART];        /* the temporary file; "": written directly, to a device */
} output_file;
/* Call first. A write to a closed pipe sends no signal that ends the program. Standard streams that
 * are closed at the start stay closed: no file may get their number. */
void output_begin(const char *program);
bool output_lost(const char *what);
/* Writes what is buffered. False if the standard output did not take everything: with a message,
 * unless it is a pipe whose reader has gone away ("| head"), which is no error. */
bool output_flush(void);
/* The exit code after output_flush returned false: 0 if the reader has gone away, else 1. */
int output_code(void);
/* The program's exit code: `code`, or output_code if the standard output was lost. */
int output_end(int code);

/* True if a person reads what is written to f, or types what is read from it. */
bool output_is_terminal(FILE *f);

/* Columns of a terminal, asked at each call because it may be resized; 80 if unknown. */
int output_columns(FILE *f);

/* Prints a message. On a terminal, long lines are wrapped between words, with the indent of their
 * first line. */
void output_say(FILE *f, const char *format, ...);
void output_vsay(FILE *f, const char *format, va_list args);

/* The path with its symbolic links followed, so that links stay links. False: it leads nowhere. */
bool output_target(char *to, const char *path);
/* True for a pipe or a device, which is written to directly because no file can replace it. */
bool output_is_device(const char *path);

/* True if two names are the same file. If neither exists, or in a web page: if they are equal. */
bool output_is_same(const char *a, const char *b);

/* Creates and opens a temporary file in the folder of `target`: NAME.PROCESS-XXXXXX.tmp, like those
 * of the library. It is created exclusively, so that it never writes through a link, and is not
 * more readable than the file that it will replace. The tools create temporary files only here.
 * part: OUTPUT_PART bytes for its path. NULL on failure, see errno. */
FILE *output_create(const char *target, char *part);
/* Locks a path that this program will write to repeatedly, by the file PATH.lock beside it. The
 * lock ends with the process. A killed process may leave the file, which then locks nothing. False:
 * another process has the lock; *holder is its number, or 0 if unknown. On Windows only one process
 * can open the file, and the system removes it. On file systems without locks, and in a web page,
 * nothing is locked. */
bool output_lock(const char *path, long *holder);

/* For a signal handler: prints the text, releases the lock, and ends the program by the signal. */
void output_end_by(int sig, const char *text);

/* Removes temporary files that programs which no longer run have left in this path's folder: those
 * whose names begin like its name up to the last dot ("m.100.safetensors" for "m.safetensors"). */
void output_remove_stale(const char *path);

/* "-" is the standard output. */
FILE *output_open(output_file *o, const char *path);
/* False, with a message, if the output is lost; then the old file at the path is unchanged. */
bool output_close(output_file *o);
#endif
