/* The laboratory: all records, in memory and in a file of JSON lines, so that nothing is measured
 * twice, be it by an interrupted run or by two claims.
 *
 * A claim asks for records (lab_get). Those that are missing are noted, and the answer is NULL.
 * Then lab_work (lab_work.h) measures all that was noted, and the claim is asked again. */
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
    bool         full;                /* seeds and depths of --full */
    int          seeds, init_seeds;   /* of training; of initialization alone */
    int          jobs;
    long         part, parts;         /* of the work, 1 to `parts`; 0: all of it */
    const char  *file;                /* JSON lines; NULL: none */
    FILE        *out;
    bool         lost;                /* not all of it could be written */
    int32_t      missing;             /* asked for and not there; reset it */
    double       spent;               /* seconds of the records asked for, once each; reset it */
    uint32_t     asked;               /* counts the resets of `spent` */
    int32_t      depth, width;        /* wanted of the deepest and widest of a claim; 0: its own */
    const char  *recipe, *instead;    /* recipe in the place of `instead`; NULL: none */
    const char  *init;                /* of all sides of the claim that asks; NULL: their own */
    sides        asked_for;           /* what that claim compares; reset it */
    tfn_isa      isa;                 /* changes no number */
    int32_t      deepest, widest;     /* of a claim, found by asking it */
    bool         asking;
    long         first;               /* samples begin with the seed behind this one */
    int          user;                /* the claim that asks: a bit of the records' users */
    double       cost, cost_done;     /* operations wanted and done */
    time_t       start;
    int          wrong;               /* numbers that a claim asked for and that there cannot be */
    char         wrong_text[LAB_KEY + 120];     /* the first of them */
} lab;

lab_record *lab_find(const lab *l, const char *key);

lab_record *lab_add(lab *l, const char *key);

/* Layers and widths of a claim in proportion to the wanted ones; whole, and multiples of 8. */
enum { LAB_DEEPEST = 64 };
int32_t lab_layers(const lab *l, int32_t layers);

int32_t lab_width(const lab *l, int32_t width);

const char *lab_recipe(const lab *l, const char *recipe);

/* A claim's spec as it is wanted. */
lab_spec lab_wanted(lab *l, lab_spec s);

/* The record of a measurement, or NULL while there is none; it is then noted as wanted. */
const lab_record *lab_get(lab *l, const lab_spec *spec);

/* Of all that was asked for and is there. */
void lab_total(const lab *l, int *count, double *seconds);

void lab_free(lab *l);
char *lab_line(const lab_record *r);

/* What the file has; none is as good as an empty one. Another file is not taken for one of
 * measurements, which are written behind what it holds. */
void lab_read(lab *l);
#endif
