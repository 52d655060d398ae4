/* Records by their keys, and the file that keeps them. */
#include "lab.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The slot of a key, or the empty one where it belongs. */
static int32_t *lab_slot(const lab *l, const char *key)
{
    uint32_t hash = 2166136261u;                /* FNV-1a */
    for (const char *c = key; *c; c++) hash = (hash ^ (unsigned char)*c) * 16777619u;
    for (;; hash++) {
        int32_t *slot = &l->slots[hash & (uint32_t)(l->room - 1)];
        if (!*slot || !strcmp(l->records[*slot - 1]->key, key)) return slot;
    }
}

lab_record *lab_find(const lab *l, const char *key)
{
    int32_t at = 0;
    if (l->room) at = *lab_slot(l, key);
    if (!at) return NULL;
    return l->records[at - 1];
}

/* Keeps at least half of the slots empty. */
static bool lab_widen(lab *l)
{
    if (2 * (l->count + 1) <= l->room) return true;
    const int32_t room = l->room ? 2 * l->room : 1024;
    int32_t *slots = (int32_t *)calloc((size_t)room, sizeof *slots);
    if (!slots) return false;
    free(l->slots);
    l->slots = slots;
    l->room = room;
    for (int32_t i = 0; i < l->count; i++) *lab_slot(l, l->records[i]->key) = i + 1;
    return true;
}

lab_record *lab_add(lab *l, const char *key)
{
    lab_record *r;
    if (!lab_widen(l)) return NULL;
    if (l->count == l->capacity) {
        int32_t capacity = l->capacity ? 2 * l->capacity : 256;
        lab_record **more = (lab_record **)realloc(l->records, (size_t)capacity * sizeof *more);
        if (!more) return NULL;
        l->records = more;
        l->capacity = capacity;
    }
    r = (lab_record *)calloc(1, sizeof *r);
    if (!r) return NULL;
    snprintf(r->key, sizeof r->key, "%s", key);
    l->records[l->count++] = r;
    *lab_slot(l, r->key) = l->count;
    return r;
}
int32_t lab_layers(const lab *l, int32_t layers)
{
    if (!l->depth || !l->deepest || !layers) return layers;
    layers = (2 * layers * l->depth + l->deepest) / (2 * l->deepest);
    return layers > 1 ? layers : 1;
}

int32_t lab_width(const lab *l, int32_t width)
{
    if (!l->width || !l->widest) return width;
    width = width * l->width / l->widest & ~7;
    return width > 8 ? width : 8;
}

const char *lab_recipe(const lab *l, const char *recipe)
{
    if (recipe && l->recipe && !strcmp(recipe, l->instead)) return l->recipe;
    return recipe;
}

lab_spec lab_wanted(lab *l, lab_spec s)
{
    const int32_t width = lab_width(l, s.width);
    if (l->asking) {
        if (s.layers > l->deepest) l->deepest = s.layers;
        if (s.width > l->widest) l->widest = s.width;
    }
    s.layers = lab_layers(l, s.layers);
    s.decoder_layers = lab_layers(l, s.decoder_layers);
    s.ffn = s.ffn * width / s.width;
    s.width = width;
    s.recipe = lab_recipe(l, s.recipe);
    s.decoder = lab_recipe(l, s.decoder);
    s.init = side_init_wanted(&s, l->init);
    sides_add(&l->asked_for, &s);
    s.isa = l->isa;
    return s;
}

const lab_record *lab_get(lab *l, const lab_spec *spec)
{
    const lab_spec wanted = lab_wanted(l, *spec);
    const lab_spec *s = &wanted;
    char key[LAB_KEY];
    lab_record *r;
    if (l->asking) return NULL;
    lab_key_text(key, s);
    r = lab_find(l, key);
    if (r && r->done) {
        r->spec = *s;
        if (l->spent <= 0) l->asked++;
        if (r->asked != l->asked) l->spent += r->seconds;
        r->asked = l->asked;
        r->users[l->user / 64] |= UINT64_C(1) << l->user % 64;
        return r;
    }
    l->missing++;
    if (!r) r = lab_add(l, key);
    if (!r) return NULL;
    r->spec = *s;
    r->users[l->user / 64] |= UINT64_C(1) << l->user % 64;
    return NULL;
}

void lab_total(const lab *l, int *count, double *seconds)
{
    *count = 0;
    *seconds = 0;
    for (int32_t i = 0; i < l->count; i++) {
        if (!l->records[i]->asked) continue;
        ++*count;
        *seconds += l->records[i]->seconds;
    }
}

void lab_free(lab *l)
{
    for (int32_t i = 0; i < l->count; i++) {
        for (int32_t k = 0; k < l->records[i]->count; k++) free(l->records[i]->lists[k].v);
        free(l->records[i]);
    }
    free(l->records);
    free(l->slots);
    memset(l, 0, sizeof *l);
}

/* A line is {"lab":3.2,"spec":"...","seconds":1.5,"name":[1,2,null]}; null is NaN. The number
 * before the point counts changes of what a spec means; the number after it is TFN_BITS_VERSION. 1
 * had another string reversal, whose test was also in the training. 2 was measured by version 0.1,
 * with other schedules and some other initializations. Lines with another number are not read. */
#define LAB_TEXT_OF(x) #x
#define LAB_NUMBER(x) LAB_TEXT_OF(x)
#define LAB_LINE "{\"lab\":3." LAB_NUMBER(TFN_BITS_VERSION) ",\"spec\":\""
char *lab_line(const lab_record *r)
{
    size_t size = LAB_KEY + 64;
    size_t at = 0;
    char *text;
    for (int32_t i = 0; i < r->count; i++) size += 40 + 26 * (size_t)r->lists[i].n;
    text = (char *)malloc(size);
    if (!text) return NULL;
    at += (size_t)snprintf(text, size, LAB_LINE "%s\",\"seconds\":%.2f", r->key, r->seconds);
    for (int32_t i = 0; i < r->count; i++) {
        const lab_list *l = &r->lists[i];
        at += (size_t)snprintf(text + at, size - at, ",\"%s\":[", l->name);
        for (int32_t k = 0; k < l->n; k++) {
            if (k) text[at++] = ',';
            if (isfinite(l->v[k])) at += (size_t)snprintf(text + at, size - at, "%.17g", l->v[k]);
            else at += (size_t)snprintf(text + at, size - at, "null");
        }
        at += (size_t)snprintf(text + at, size - at, "]");
    }
    snprintf(text + at, size - at, "}\n");
    return text;
}

/* True if a line is complete, and every list in it is closed and holds numbers. */
static bool lab_is_whole(const char *line)
{
    const char *end = strchr(line, '\n');
    if (!end || end == line) return false;
    if (end[-1] == '\r') end--;                /* an editor may have written Windows lines */
    if (end == line || end[-1] != '}') return false;
    for (const char *list = strchr(line, '['); list; list = strchr(list + 1, '['))
        if (list[1 + strspn(list + 1, "0123456789+-.e,nul")] != ']') return false;
    return true;
}

/* Reads a line of the file. A line that an interruption cut is skipped. */
static void lab_read_line(lab *l, char *line)
{
    const size_t n = strlen(LAB_LINE);
    char *at = line + n;
    char *quote;
    lab_record *r;
    if (strncmp(line, LAB_LINE, n) || !lab_is_whole(line)) return;
    quote = strchr(at, '"');
    if (!quote) return;
    *quote = 0;
    if (lab_find(l, at) || !(r = lab_add(l, at))) return;
    at = quote + 1;
    while ((at = strchr(at, '"')) != NULL) {
        char *name = at + 1;
        char *close = strchr(name, '"');
        int32_t count = 1;
        double *v;
        if (!close || close[1] != ':') break;
        *close = 0;
        at = close + 2;
        if (*at != '[') { r->seconds = strtod(at, &at); continue; }
        for (char *c = at; *c != ']'; c++) count += *c == ',';
        v = lab_put(r, count, "%s", name);
        if (!v) break;
        for (int32_t i = 0; i < count; i++) {
            at++;
            if (!strncmp(at, "null", 4)) at += 4;
            else v[i] = strtod(at, &at);
        }
    }
    r->done = true;
}

/* Reads a line of any length into a block that grows; false: no more lines. */
static bool lab_get_line(char **line, size_t *size, FILE *f)
{
    if (!fgets(*line, (int)*size, f)) return false;
    while (!strchr(*line, '\n')) {
        if (feof(f)) break;
        char *more = (char *)realloc(*line, 2 * *size);
        if (!more) break;
        *line = more;
        if (!fgets(*line + strlen(*line), (int)(2 * *size - strlen(*line)), f)) break;
        *size *= 2;
    }
    return true;
}

void lab_read(lab *l)
{
    static const char begin[] = "{\"lab\":";
    size_t size = 1 << 20;
    bool first = true;
    if (!l->file) return;
    FILE *f = fopen(l->file, "rb");
    if (!f) return;
    char *line = (char *)malloc(size);
    while (line) {
        if (!lab_get_line(&line, &size, f)) break;
        if (first && strncmp(line, begin, sizeof begin - 1)) {
            fprintf(stderr, "normlab: \"%s\" is not a file of measurements\n", l->file);
            exit(1);
        }
        lab_read_line(l, line);
        first = false;
    }
    free(line);
    fclose(f);
}
