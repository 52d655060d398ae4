/* Files, subwords, then rows of ids. */
#include "lab_pairs.h"
#include "../../tfnorm.h"
#include "lab_data.h"
#include "lab_spec.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS_SUBWORDS = 4000, PAIRS_LEAST = LAB_TEST };
static const char *const parts[LAB_PARTS] = { "train", "valid", "test" };
static tfn_tokenizer subwords;

/* -- files ------------------------------------------------------------------------------------- */

typedef struct text_file { char *text; size_t bytes; } text_file;

static bool read_file(text_file *f, const char *folder, const char *name)
{
    char path[1024];
    size_t got = 1;
    snprintf(path, sizeof path, "%s/%s.tsv", folder, name);
    FILE *in = fopen(path, "rb");
    if (!in) return false;
    while (got) {
        char *more = (char *)realloc(f->text, f->bytes + 65537);
        if (!more) break;
        f->text = more;
        got = fread(f->text + f->bytes, 1, 65536, in);
        f->bytes += got;
    }
    const bool ok = !got && !ferror(in);
    fclose(in);
    if (ok) f->text[f->bytes] = 0;
    return ok;
}

/* Cuts the next line into its two sides; false: no more. A line without a tab has no target. */
static bool next_pair(char **at, char **source, char **target)
{
    if (!**at) return false;
    char *line = *at;
    char *end = strchr(line, '\n');
    *at = end ? end + 1 : line + strlen(line);
    if (end) *end = 0;
    line[strcspn(line, "\r")] = 0;
    char *tab = strchr(line, '\t');
    *source = line;
    *target = line + strlen(line);
    if (!tab) return true;
    *tab = 0;
    *target = tab + 1;
    return true;
}

/* -- subwords ---------------------------------------------------------------------------------- */

/* Learns subwords from both sides of the training text. */
static bool learn_subwords(const text_file *train)
{
    tfn_tokenizer_desc d;
    tfn_tokenizer_source from;
    tfn_trainer t;
    memset(&d, 0, sizeof d);
    memset(&from, 0, sizeof from);
    d.kind = TFN_TOKENIZER_BPE;
    d.vocab = PAIRS_SUBWORDS;
    d.no_pad = d.no_bos = d.no_eos = d.no_unk = true;
    size_t size = tfn_trainer_size(&d);
    void *mem = size ? malloc(size) : NULL;
    bool ok = mem && tfn_trainer_init(&t, &d, mem, size) == TFN_OK
              && tfn_trainer_add(&t, train->text, train->bytes) == TFN_OK
              && tfn_trainer_run(&t) == TFN_OK;
    from.trainer = &t;
    size = ok ? tfn_tokenizer_size(&from) : 0;
    void *kept = size ? malloc(size) : NULL;
    ok = kept && tfn_tokenizer_init(&subwords, &from, kept, size) == TFN_OK;
    free(mem);
    return ok;
}

/* The text of ids, which ends with END, for scores. */
static void pairs_text(char *text, size_t room, const int32_t *ids, int32_t n)
{
    int32_t plain[LAB_TIME];
    int32_t count = 0;
    for (int32_t i = 0; i < n; i++) {
        if (ids[i] == LAB_END || count == LAB_TIME) break;
        if (ids[i] >= LAB_FIRST) plain[count++] = ids[i] - LAB_FIRST;
    }
    size_t bytes = tfn_tokenizer_decode(&subwords, text, room - 1, plain, count);
    if (bytes > room - 1) bytes = room - 1;
    text[bytes] = 0;
}

/* -- rows -------------------------------------------------------------------------------------- */

/* Encodes one side; 0: it is empty or too long. */
static uint16_t encode_side(uint16_t *to, const char *text)
{
    int32_t ids[LAB_TIME];
    const ptrdiff_t n = tfn_tokenizer_encode(&subwords, ids, LAB_TIME, text, strlen(text));
    if (n < 1 || n >= LAB_TIME) return 0;
    for (ptrdiff_t i = 0; i < n; i++) to[i] = (uint16_t)ids[i];
    return (uint16_t)n;
}

/* Keeps the pairs of a part whose sides have 1 to 31 subwords. */
static bool encode_part(int part, const text_file *f)
{
    struct lab_pairs *p = &lab_pairs;
    char *at = f->text;
    char *source, *target;
    int32_t room = 0;
    while (next_pair(&at, &source, &target)) {
        if (p->count[part] == room) {
            room = room ? 2 * room : 1024;
            lab_pair *more = (lab_pair *)realloc(p->rows[part], (size_t)room * sizeof *more);
            if (!more) return false;
            p->rows[part] = more;
        }
        lab_pair *row = &p->rows[part][p->count[part]];
        row->n = encode_side(row->source, source);
        row->m = encode_side(row->target, target);
        if (row->n && row->m) p->count[part]++;
    }
    return true;
}

static void hash_text(const text_file *f)
{
    for (size_t i = 0; i < f->bytes; i++)
        lab_pairs.hash = (lab_pairs.hash ^ (unsigned char)f->text[i]) * 1099511628211u;
}

static const char *take_files(text_file *files)
{
    lab_pairs.hash = UINT64_C(14695981039346656037);
    for (int part = 0; part < LAB_PARTS; part++) hash_text(&files[part]);
    if (!learn_subwords(&files[0])) return "no subwords can be learned from train.tsv";
    for (int part = 0; part < LAB_PARTS; part++)
        if (!encode_part(part, &files[part])) return "out of memory";
    for (int part = 0; part < LAB_PARTS; part++)
        if (lab_pairs.count[part] < PAIRS_LEAST) return "a part has less than 128 pairs";
    lab_pairs.vocab = subwords.vocab;
    lab_pairs.text = pairs_text;
    return NULL;
}

const char *lab_take_pairs(const char *folder)
{
    text_file files[LAB_PARTS];
    const char *wrong = NULL;
    memset(files, 0, sizeof files);
    for (int part = 0; part < LAB_PARTS; part++)
        if (!wrong && !read_file(&files[part], folder, parts[part]))
            wrong = "train.tsv, valid.tsv or test.tsv cannot be read";
    if (!wrong) wrong = take_files(files);
    for (int part = 0; part < LAB_PARTS; part++) free(files[part].text);
    return wrong;
}
