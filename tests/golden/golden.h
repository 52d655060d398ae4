/* The structs of the golden files, and the random numbers of their inputs: one stream per name, the
 * same as in make_golden.py. Include it after tfnorm.h. */
#ifndef GOLDEN_H
#define GOLDEN_H

typedef struct golden_row { const char *name; int first, count; } golden_row;

static tfn_key golden_key(const char *name)          /* FNV-1a of the name */
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return tfn_key_make(hash);
}

/* Uniform in [-1, 1), exact. */
static float golden_draw(tfn_key key, uint64_t i) { return 2 * tfn_random_uniform(key, i) - 1; }

static const golden_row *golden_find(const golden_row *table, const char *name)
{
    while (table->name && strcmp(table->name, name)) table++;
    return table->name ? table : NULL;
}

#endif
