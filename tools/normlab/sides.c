/* Lists of names, and the options that a spec takes from its recipe. */
#include "sides.h"
#include "../../tfnorm.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* True for inits that belong to no method but to libraries. */
static bool is_general(const char *init)
{
    static const char *const general[] = { "xavier", "xavier-uniform", "fused", "fairseq" };
    for (size_t i = 0; i < sizeof general / sizeof *general; i++)
        if (!strcmp(general[i], init)) return true;
    return false;
}

const char *side_init(const lab_spec *s)
{
    const tfn_recipe *recipe = tfn_recipe_find(s->recipe);
    if (s->init) return s->init;
    if (!recipe) return "";
    return recipe->init;
}

const char *side_init_wanted(const lab_spec *s, const char *init)
{
    const char *own = side_init(s);
    if (s->init || !init) return s->init;
    if (!strcmp(own, init) || !is_general(own)) return NULL;
    return init;
}

/* True if the list "a, b" contains the name. */
static bool has_name(const char *list, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = strstr(list, name); at; at = strstr(at + 1, name)) {
        const bool begins = at == list || at[-1] == ' ';
        if (begins && (!at[n] || at[n] == ',')) return true;
    }
    return false;
}

static void add_name(char *list, const char *name)
{
    const size_t n = strlen(list);
    if (has_name(list, name) || n + strlen(name) + 3 > SIDES_TEXT) return;
    snprintf(list + n, SIDES_TEXT - n, "%s%s", n ? ", " : "", name);
}

void sides_add(sides *x, const lab_spec *s)
{
    const tfn_recipe *recipe = tfn_recipe_find(s->recipe);
    if (!recipe) return;
    char placement[64];
    snprintf(placement, sizeof placement, "%s%s%s", recipe->topology, s->decoder ? "/" : "",
             s->decoder ? s->decoder : "");
    add_name(x->placements, placement);
    add_name(x->norms, s->norm ? s->norm : recipe->norm);
    add_name(x->inits, side_init(s));
}

const char *sides_differ(const sides *x)
{
    static char text[3 * SIDES_TEXT];
    char *const end = text + sizeof text;
    char *at = text;
    text[0] = 0;
    if (strchr(x->placements, ',')) at += snprintf(at, (size_t)(end - at), "placement");
    if (strchr(x->norms, ','))
        at += snprintf(at, (size_t)(end - at), "%snorm: %s", at > text ? "; " : "", x->norms);
    if (strchr(x->inits, ','))
        snprintf(at, (size_t)(end - at), "%sinitialization: %s", at > text ? "; " : "", x->inits);
    return text;
}
