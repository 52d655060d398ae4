/* The BibTeX of tools/normlab/papers.c against the rows of the header. Every row has references
 * that agree with its paper and year, and no entry is unused. A new method fails here until its
 * paper has an entry. */
#define _XOPEN_SOURCE 600          /* the tools' readlink */
#include "../lib.h"
#include "../check.h"
#include "../../tools/normlab/papers.c"

enum { REFERENCES_NOTES = sizeof notes / sizeof *notes,
       REFERENCES_COUNT = sizeof references / sizeof *references };

/* The keys of a name's references; NULL: none. */
static const char *references_keys(const char *name)
{
    for (int i = 0; i < REFERENCES_NOTES; i++)
        if (!strcmp(notes[i].name, name)) return notes[i].keys;
    return NULL;
}

/* A reference fits a row if the year is the same, or the next one, when the preprint was published,
 * and if the row contains a word of at least four letters from its first author or title. Code may
 * be later than the paper, and has other names. */
static bool references_fit(const reference *r, const char *paper, int32_t year)
{
    char author[80];
    char word[80];
    if (strstr(paper, "code")) return r->year <= year + 1;
    if (r->year != year && r->year != year + 1) return false;
    snprintf(author, sizeof author, "%.*s", (int)strcspn(r->author, ","), r->author);
    if (strstr(paper, author)) return true;
    for (const char *s = paper; *s; s += strspn(s, " ,;()")) {
        const size_t n = strcspn(s, " ,;()");
        snprintf(word, sizeof word, "%.*s", (int)n, s);
        if (n >= 4 && strstr(r->title, word)) return true;
        s += n;
    }
    return false;
}

static void references_of_row(const char *name, const char *paper, int32_t year)
{
    const char *keys = references_keys(name);
    bool fits = false;
    CASE("%s", name);
    if (!keys || !*keys) {
        FAIL("no reference in tools/normlab/papers.c, wanted that of %s %d", paper, (int)year);
        return;
    }
    while (*keys) {
        const size_t n = strcspn(keys, " ");
        const reference *r = find_reference(keys, n);
        if (!r) FAIL("no BibTeX is called %.*s", (int)n, keys);
        if (r && references_fit(r, paper, year)) fits = true;
        keys += n;
        keys += strspn(keys, " ");
    }
    /* PyTorch's layer is older than the paper about PyTorch */
    if (!fits && strcmp(name, "framework"))
        FAIL("%s is not %s %d", references_keys(name), paper, (int)year);
}

TEST(references_of_rows)
{
    for (int32_t i = 0; tfn_topology_at(i); i++) {
        const tfn_topology *row = tfn_topology_at(i);
        references_of_row(row->name, row->paper, row->year);
    }
    for (int32_t i = 0; tfn_norm_at(i); i++) {
        const tfn_norm_rule *row = tfn_norm_at(i);
        references_of_row(row->name, row->paper, row->year);
    }
    for (int32_t i = 0; tfn_init_at(i); i++) {
        const tfn_init_rule *row = tfn_init_at(i);
        references_of_row(row->name, row->paper, row->year);
    }
    for (int32_t i = 0; tfn_recipe_at(i); i++) {
        CASE("recipe %s", tfn_recipe_at(i)->name);
        CHECK(references_keys(tfn_recipe_at(i)->name) != NULL);
    }
}

static bool references_asked_for(const char *key)
{
    const size_t length = strlen(key);
    for (int i = 0; i < REFERENCES_NOTES; i++) {
        for (const char *s = notes[i].keys; *s; s += strspn(s, " ")) {
            const size_t n = strcspn(s, " ");
            if (n == length && !strncmp(s, key, n)) return true;
            s += n;
        }
    }
    return false;
}

TEST(references_once)
{
    for (int i = 0; i < REFERENCES_COUNT; i++) {
        const reference *r = references + i;
        CASE("%s", r->key);
        CHECK(find_reference(r->key, strlen(r->key)) == r);
        CHECK(references_asked_for(r->key));
    }
    for (int i = 0; i < REFERENCES_NOTES; i++) {
        bool row = false;
        CASE("%s", notes[i].name);
        for (int kind = 0; kind < KINDS; kind++) row = row || is_a(kind, notes[i].name);
        CHECK(row);
        CHECK(references_keys(notes[i].name) == notes[i].keys);
    }
}

int main(void)
{
    RUN(references_of_rows);
    RUN(references_once);
    return DONE();
}
