/* The headline rows and initializations, the verdict over them, then the command. */
#include "robust.h"
#include "judge.h"
#include "lab.h"
#include "measure.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *const headlines[] = {
    "X8a", "X8b", "X12a", "X14a", "X14b", "A1a", "A1b", "A3a", "A3b", "A5a", "A5b", "A16b",
    "B3a", "B3b", "B3c", "B4", "B6a", "B6b", "B7b", "B8b", "B10b"
};
enum { ROBUST_ROWS = sizeof headlines / sizeof *headlines };

/* Xiong 2020 used xavier, Transformer-Clinic (the code of Liu 2020) fused, Takase 2022 fairseq. */
static const char *const inits[] = { "xavier", "fused", "fairseq" };
enum { ROBUST_INITS = sizeof inits / sizeof *inits };

typedef struct robustness {
    bool    measured;                   /* under all initializations */
    verdict verdict[ROBUST_INITS];
    char    found[ROBUST_INITS][1024];         /* the numbers of each */
} robustness;

/* Decides a row under each initialization, from existing records. */
static void decide_each(const claim *c, lab *l, outcome *o, robustness *r)
{
    r->measured = true;
    for (int i = 0; i < ROBUST_INITS; i++) {
        l->every_init = inits[i];
        if (!decide(c, l, o)) r->measured = false;
        r->verdict[i] = o->verdict;
        snprintf(r->found[i], sizeof r->found[i], "%s", found_text(c, o));
    }
    l->every_init = NULL;
}

/* The rule was committed before the results. If two initializations have different verdicts, and
 * both are decided, the row depends on the initialization. If all have the same decided verdict, it
 * is robust. Otherwise it is undecided. */
static const char *robust_text(const robustness *r)
{
    verdict decided = UNDECIDED;
    bool open = false;
    if (!r->measured) return "not measured yet";
    for (int i = 0; i < ROBUST_INITS; i++) {
        const verdict v = r->verdict[i];
        if (v == UNDECIDED || v == TOO_CLOSE) open = true;
        else if (decided != UNDECIDED && v != decided) return "depends on the init";
        else decided = v;
    }
    return open ? "undecided" : "robust";
}

static void print_row(const claim *c, const robustness *r)
{
    printf("%-5s %-20s", c->id, robust_text(r));
    for (int i = 0; i < ROBUST_INITS && r->measured; i++)
        printf("%s%s %s", i ? ", " : "", inits[i], verdicts[r->verdict[i]]);
    printf("\n");
    for (int i = 0; i < ROBUST_INITS && r->measured; i++)
        printf("      %-8s %s\n", inits[i], r->found[i]);
}

static void print_markdown(const claim *c, const robustness *r)
{
    printf("| %s | %s | %s |", c->id, c->title, robust_text(r));
    for (int i = 0; i < ROBUST_INITS; i++)
        printf(" %s: %s |", r->measured ? verdicts[r->verdict[i]] : "-",
               r->measured ? r->found[i] : "-");
    printf("\n");
}

static void named_headlines(lab_claims *wanted)
{
    wanted->count = ROBUST_ROWS;
    for (int i = 0; i < ROBUST_ROWS; i++) wanted->list[i] = find_claim(headlines[i]);
}

typedef struct robust_rows { lab_claims wanted; outcome o; robustness r; } robust_rows;
static void decide_every(lab *l, void *rows)
{
    robust_rows *x = (robust_rows *)rows;
    for (int i = 0; i < x->wanted.count; i++) decide_each(x->wanted.list[i], l, &x->o, &x->r);
}

int robust_command(cli *c)
{
    static robust_rows x;
    bool markdown;
    bool ok = true;
    lab l;
    lab_arguments(c, &l, &x.wanted, &markdown);
    if (!x.wanted.count) named_headlines(&x.wanted);
    lab_read(&l);
    if (!markdown) decide_every(&l, &x);
    if (!markdown) ok = lab_work_on(&l, decide_every, &x) && !l.lost;
    else printf("| row | what | over three initializations | xavier | fused | fairseq |\n"
                "|---|---|---|---|---|---|\n");
    for (int i = 0; i < x.wanted.count; i++) {
        decide_each(x.wanted.list[i], &l, &x.o, &x.r);
        if (markdown) print_markdown(x.wanted.list[i], &x.r);
        else print_row(x.wanted.list[i], &x.r);
    }
    ok = claims_right(&l) && ok;
    lab_free(&l);
    return ok ? 0 : 1;
}
