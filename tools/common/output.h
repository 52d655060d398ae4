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

#include <stdbool.h>
#include <stdio.h>

enum { OUTPUT_PATH = 4096 + 4,        /* bytes of a path */
       OUTPUT_PART = OUTPUT_PATH + 32 };    /* and of the temporary file beside it */

typedef struct output_file {
    FILE *f;
    const char *name;               /* as it was given */
    char  path[OUTPUT_PATH];        /* behind its symbolic links */
    char  part[OUTPUT_PART];        /* the temporary file that is written; "": a device */
} output_file;
/* A reader that went away is an error like a full disk, not a signal. What is closed from the start
 * stays closed: no file may take its number. */
void output_begin(const char *program);
bool output_lost(const char *what);
/* False, and said why, if the standard output took not all. */
bool output_flush(void);
/* The exit code of a program whose own one is `code`. */
int output_end(int code);

/* True if a person reads what is written there, or types what is read. */
bool output_is_terminal(FILE *f);

/* Columns of a terminal, asked at each call because it may be resized; 80 if it does not say. */
int output_columns(FILE *f);

/* Where a path leads: symbolic links stay links. False: nowhere, or too far. */
bool output_target(char *to, const char *path);
/* A pipe or a device, which is written to as it stands; no file can take its place. */
bool output_is_device(const char *path);

/* Two names of one file; where none is there yet, and in a page, one name. */
bool output_is_same(const char *a, const char *b);

/* Creates and opens a temporary file beside `target`: NAME.PROCESS-XXXXXX.tmp, as the library names
 * its own. It is created exclusively, so that it never writes through a link, and it is not more
 * readable than the file that it will replace. The tools create no temporary file in another way.
 * part: OUTPUT_PART bytes for its path. Returns NULL, and errno says why, if that fails. */
FILE *output_create(const char *target, char *part);
/* Remove what programs that are no longer running have left beside this path: temporary files of
 * names that begin like it, up to the last dot ("m.100.safetensors" of "m.safetensors", too). */
void output_remove_stale(const char *path);

/* "-" is the standard output. */
FILE *output_open(output_file *o, const char *path);
/* False, and said, if it is lost: then what was at the path is still there. */
bool output_close(output_file *o);
#endif
