/* The laboratory: all records, in memory and in a file of JSON lines. So an interrupted run, or two
 * claims that need the same, measure nothing twice.
 *
 * A claim asks for records (lab_get). Missing ones are noted, and the answer is NULL. Then lab_work
 * (lab_work.h) measures everything that was noted, and the claim is asked again. */
#ifndef LAB_H
#define LAB_H

#include "../../tfnorm.h"
#include "lab_spec.h"
#include "sides.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

typedef struct lab {
    lab_record **records;
    int32_t      count, capacity;
    int32_t     *slots, room;         /* the number of a record plus 1 by the hash of its key */
    bool         full;                /* seeds and depths of --full */
    int          seeds, init_seeds;   /* for training; for measurements at initialization */
    int          jobs;
    long         part, parts;         /* this machine's share, 1 to `parts`; 0: everything */
    const char  *file;                /* JSON lines; NULL: none */
    FILE        *out;
    bool         lost;                /* some lines could not be written */
    int32_t      missing;             /* records asked for but missing; reset it */
    double       spent;               /* seconds of the records asked for, each once; reset it */
    uint32_t     asked;               /* counts the resets of `spent` */
    int32_t      depth, width;        /* requested for the deepest and widest model of a claim; 0:
                                       * the claim's own */
    const char  *recipe;              /* use recipe in place of `instead`; NULL: none */
    char         instead[64];
    const char  *init;                /* for all sides of the claim that asks; NULL: their own */
    const char  *every_init;          /* for all claims, in place of that; NULL: none */
    sides        asked_for;           /* the sides that this claim compares; reset it */
    tfn_isa      isa;                 /* does not change results */
    int32_t      deepest, widest;     /* sizes of a claim, found by asking it */
    bool         asking;
    long         first;               /* the seed before the first one of a sample */
    int          user;                /* the claim that asks: its bit in the records' users */
    double       cost, cost_done;     /* operations to do, and done */
    time_t       start;
    int          wrong;               /* requests for numbers that cannot exist */
    char         wrong_text[LAB_KEY + 120];     /* the first of these */
} lab;

lab_record *lab_find(const lab *l, const char *key);

lab_record *lab_add(lab *l, const char *key);

/* Scales layers and widths of a claim to the requested size; whole, widths a multiple of 8. */
enum { LAB_DEEPEST = 64 };
int32_t lab_layers(const lab *l, int32_t layers);

int32_t lab_width(const lab *l, int32_t width);

const char *lab_recipe(const lab *l, const char *recipe);

/* A claim's spec at the requested size. */
lab_spec lab_wanted(lab *l, lab_spec s);

/* The record of a measurement; NULL if it is missing, which is noted. */
const lab_record *lab_get(lab *l, const lab_spec *spec);

/* Counts all records that were asked for and exist. */
void lab_total(const lab *l, int *count, double *seconds);

void lab_free(lab *l);
char *lab_line(const lab_record *r);

/* Reads the file; a missing one counts as empty. A file of something else is refused, because
 * measurements are appended to it. */
void lab_read(lab *l);
#endif
