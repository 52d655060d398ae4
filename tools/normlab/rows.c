/* Names of rows, and lines of text about them. */
#include "rows.h"
#include "../../tfnorm.h"
#include "../common/output.h"
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *const kinds[] = { "topology", "norm", "init", "recipe" };
const char *const plurals[] = { "topologies", "norms", "inits", "recipes" };

/* The name of row i of a kind, NULL past the end. */
static const char *name_at(int kind, int32_t i)
{
    if (kind == TOPOLOGY && tfn_topology_at(i)) return tfn_topology_at(i)->name;
    if (kind == NORM && tfn_norm_at(i)) return tfn_norm_at(i)->name;
    if (kind == INIT && tfn_init_at(i)) return tfn_init_at(i)->name;
    if (kind == RECIPE && tfn_recipe_at(i)) return tfn_recipe_at(i)->name;
    return NULL;
}

bool is_a(int kind, const char *name)
{
    if (kind == TOPOLOGY) return tfn_topology_find(name) != NULL;
    if (kind == NORM) return tfn_norm_find(name) != NULL;
    if (kind == INIT) return tfn_init_find(name) != NULL;
    return tfn_recipe_find(name) != NULL;
}

static bool is_close(const char *wanted, const char *name)
{
    if (cli_distance(wanted, name) <= 2) return true;
    if (strlen(wanted) > 2 && strstr(name, wanted)) return true;
    return strlen(name) > 2 && strstr(wanted, name);
}

/* Adds the names of a kind that are similar to `wanted`, each once. Names that also belong to an
 * earlier kind, from `first` on, were added before. */
static void add_close(char *close, size_t size, const char *wanted, int kind, int first)
{
    for (int32_t i = 0; name_at(kind, i); i++) {
        const char *other = name_at(kind, i);
        bool seen = false;
        for (int k = first; k < kind; k++) seen = seen || is_a(k, other);
        if (seen || !is_close(wanted, other)) continue;
        if (strlen(close) + strlen(other) + 3 > size) continue;
        if (close[0]) strcat(close, ", ");
        strcat(close, other);
    }
}

void unknown(const cli *c, const char *name, int only)
{
    char close[TEXT] = "";
    const char *wanted = "topology, norm, init or recipe";
    if (name[0] == '-') cli_fail(c, "there is no option %s here", name);
    if (only == KINDS) {
        for (int kind = 0; kind < KINDS; kind++) add_close(close, sizeof close, name, kind, 0);
    } else {
        add_close(close, sizeof close, name, only, only);
        wanted = kinds[only];
    }
    if (close[0]) cli_fail(c, "no %s is called \"%s\"; close: %s", wanted, name, close);
    cli_fail(c, "no %s is called \"%s\"", wanted, name);
}

void add_text(char *text, const char *more)
{
    if (strlen(text) + strlen(more) + 3 > TEXT) return;
    if (text[0]) strcat(text, "; ");
    strcat(text, more);
}

void print_wrapped(const char *text, int indent)
{
    int column = indent;
    int most = 78;
    if (output_is_terminal(stdout) && output_columns(stdout) <= most)
        most = output_columns(stdout) - 1;
    while (*text) {
        const int n = (int)strcspn(text, " ");
        if (column > indent && column + n + 1 > most) column = printf("\n%*s", indent, "") - 1;
        else if (column > indent) column += printf(" ");
        column += printf("%.*s", n, text);
        text += n;
        text += strspn(text, " ");
    }
    printf("\n");
}
