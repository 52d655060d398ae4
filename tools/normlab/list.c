/* A table of cells for each kind of row. */
#include "list.h"
#include "features.h"
#include "rows.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { COLUMNS_MAX = 7 };
typedef struct table {
    int  columns, rows;
    char cell[ROWS_MAX][COLUMNS_MAX][TEXT];     /* row 0: headings */
} table;

static void put_row(table *t, int columns, ...)
{
    va_list args;
    if (t->rows == ROWS_MAX) return;
    va_start(args, columns);
    t->columns = columns;
    for (int i = 0; i < columns; i++)
        snprintf(t->cell[t->rows][i], TEXT, "%s", va_arg(args, const char *));
    va_end(args);
    t->rows++;
}

/* -- printing a table -------------------------------------------------------------------------- */

static void print_text_table(const table *t)
{
    int width[COLUMNS_MAX] = { 0 };
    const int last = t->columns - 1;
    for (int r = 0; r < t->rows; r++)
        for (int i = 0; i < last; i++)
            if ((int)strlen(t->cell[r][i]) > width[i]) width[i] = (int)strlen(t->cell[r][i]);
    for (int r = 0; r < t->rows; r++) {
        for (int i = 0; i < last; i++) printf("%-*s  ", width[i], t->cell[r][i]);
        printf("%s\n", t->cell[r][last]);
    }
}

/* Prints a cell with its bars escaped; "-" means empty. */
static void print_markdown_text(const char *text)
{
    if (!strcmp(text, "-")) return;
    for (; *text; text++) {
        if (*text == '|') printf("\\");
        printf("%c", *text);
    }
}

/* Prints the table; the first two columns, names and formulas, as code. */
static void print_markdown_table(const table *t)
{
    for (int r = 0; r < t->rows; r++) {
        printf("|");
        for (int i = 0; i < t->columns; i++) {
            const char *quote = r > 0 && i < 2 ? "`" : "";
            printf(" %s", quote);
            print_markdown_text(t->cell[r][i]);
            printf("%s |", quote);
        }
        printf("\n");
        if (r > 0) continue;
        for (int i = 0; i < t->columns; i++) printf("|---");
        printf("|\n");
    }
}

/* -- content of the tables --------------------------------------------------------------------- */

static bool has_year(const char *paper, int length)
{
    for (int i = 0; i + 5 <= length; i++)
        if (!strncmp(paper + i, " 20", 3) || !strncmp(paper + i, " 19", 3)) return true;
    return false;
}

const char *paper_text(char *text, const char *paper, int32_t year)
{
    const int n = (int)strcspn(paper, ",;");
    const char *form = "%.*s %d%s";
    if (has_year(paper, n)) {
        snprintf(text, TEXT, "%s", paper);
        return text;
    }
    if (strchr("0123456789", paper[n - 1])) form = "%.*s (%d)%s";
    snprintf(text, TEXT, form, n, paper, (int)year, paper + n);
    return text;
}

static void table_topologies(table *t)
{
    put_row(t, 6, "topology", "formula", "paper", "final norm", "beyond plain Pre-/Post-LN",
            "needs");
    for (int32_t i = 0; tfn_topology_at(i); i++) {
        const tfn_topology *x = tfn_topology_at(i);
        const char *final = x->flags & TFN_TOPOLOGY_FINAL_NORM ? "yes" : "no";
        char paper[TEXT], extra[TEXT], needs[TEXT];
        extra_text(extra, x);
        needs_text(needs, x, NULL, NULL);
        put_row(t, 6, x->name, x->formula, paper_text(paper, x->paper, x->year), final, extra,
                needs);
    }
}

static void table_norms(table *t)
{
    put_row(t, 5, "norm", "formula", "paper", "parameters", "needs");
    for (int32_t i = 0; tfn_norm_at(i); i++) {
        const tfn_norm_rule *x = tfn_norm_at(i);
        char paper[TEXT], parameters[TEXT], needs[TEXT];
        norm_parameters(parameters, x);
        needs_text(needs, NULL, x, NULL);
        put_row(t, 5, x->name, x->formula, paper_text(paper, x->paper, x->year), parameters, needs);
    }
}

static void table_inits(table *t)
{
    put_row(t, 4, "init", "formula", "paper", "needs");
    for (int32_t i = 0; tfn_init_at(i); i++) {
        const tfn_init_rule *x = tfn_init_at(i);
        char paper[TEXT], needs[TEXT];
        needs_text(needs, NULL, NULL, x);
        put_row(t, 4, x->name, x->formula, paper_text(paper, x->paper, x->year), needs);
    }
}

/* Returns which of its three parts a recipe is known for: the one with its name, else an
 * unusual one. */
static int origin_of(const tfn_recipe *r)
{
    if (tfn_topology_find(r->name)) return TOPOLOGY;
    if (tfn_norm_find(r->name)) return NORM;
    if (tfn_init_find(r->name)) return INIT;
    if (strcmp(r->topology, "pre") && strcmp(r->topology, "post")) return TOPOLOGY;
    if (strcmp(r->norm, "layernorm")) return NORM;
    return INIT;
}

const char *recipe_paper(char *text, const tfn_recipe *r)
{
    const tfn_topology *x = tfn_topology_find(r->topology);
    const tfn_norm_rule *n = tfn_norm_find(r->norm);
    const tfn_init_rule *w = tfn_init_find(r->init);
    switch (origin_of(r)) {
    case TOPOLOGY: return paper_text(text, x->paper, x->year);
    case NORM: return paper_text(text, n->paper, n->year);
    default: return paper_text(text, w->paper, w->year);
    }
}

static void table_recipes(table *t)
{
    put_row(t, 6, "recipe", "formula", "norm", "init", "paper", "needs");
    for (int32_t i = 0; tfn_recipe_at(i); i++) {
        const tfn_recipe *r = tfn_recipe_at(i);
        const tfn_topology *x = tfn_topology_find(r->topology);
        char paper[TEXT], needs[TEXT];
        needs_text(needs, x, tfn_norm_find(r->norm), tfn_init_find(r->init));
        put_row(t, 6, r->name, x->formula, r->norm, r->init, recipe_paper(paper, r), needs);
    }
}

/* -- the command ------------------------------------------------------------------------------- */

/* The kind whose plural is the argument. */
static int kind_wanted(const cli *c)
{
    for (int kind = 0; kind < KINDS; kind++)
        if (cli_is(c, plurals[kind])) return kind;
    cli_fail(c, "list needs topologies, norms, inits or recipes, not \"%s\"", c->argv[c->at]);
    return KINDS;
}

int list_command(cli *c)
{
    static void (*const fill[])(table *) = { table_topologies, table_norms, table_inits,
                                             table_recipes };
    static table t;
    bool wanted[KINDS] = { false };
    bool any = false;
    bool markdown = false;
    while (cli_next(c)) {
        if (cli_is(c, "--markdown")) {
            markdown = true;
            continue;
        }
        wanted[kind_wanted(c)] = true;
        any = true;
    }
    int printed = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        if (any && !wanted[kind]) continue;
        if (printed++) printf("\n");
        t.rows = 0;
        fill[kind](&t);
        if (markdown) print_markdown_table(&t);
        else print_text_table(&t);
    }
    return 0;
}
