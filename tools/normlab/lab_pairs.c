/* Files, subwords, then rows of ids. */
#include "lab_pairs.h"
#include "../../tfnorm.h"
#include "../common/data.h"
#include "lab_data.h"
#include "lab_spec.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS_SUBWORDS = 4000, PAIRS_LEAST = LAB_TEST };
static const char *const parts[LAB_PARTS] = { "train", "valid", "test" };
static tfn_tokenizer subwords;

/* -- subwords ---------------------------------------------------------------------------------- */

/* Learns subwords from both sides of the training text. */
static bool learn_subwords(const data_file *train)
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
              && tfn_trainer_add(&t, train->bytes, train->size) == TFN_OK
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

/* Encodes one side. Returns the number of its subwords; 0: it has none, or too many. */
static uint16_t encode_side(uint16_t *to, const char *text, size_t bytes)
{
    int32_t ids[LAB_TIME];
    const ptrdiff_t n = tfn_tokenizer_encode(&subwords, ids, LAB_TIME, text, bytes);
    if (n < 1 || n >= LAB_TIME) return 0;
    for (ptrdiff_t i = 0; i < n; i++) to[i] = (uint16_t)ids[i];
    return (uint16_t)n;
}

/* Keeps the pairs of a part whose sides have 1 to 31 subwords. */
static bool encode_part(int part, data_lines *lines)
{
    struct lab_pairs *p = &lab_pairs;
    lab_pair *row = (lab_pair *)calloc((size_t)lines->count, sizeof *row);
    data_item pair;
    if (!row) return false;
    p->rows[part] = row;
    for (int64_t i = 0; i < lines->count; i++) {
        data_get_line(&pair, lines, i);
        row->n = encode_side(row->source, pair.text[0], pair.bytes[0]);
        row->m = encode_side(row->target, pair.text[1], pair.bytes[1]);
        if (row->n && row->m) row++;
    }
    p->count[part] = (int32_t)(row - p->rows[part]);
    return true;
}

static void hash_text(const data_file *f)
{
    for (size_t i = 0; i < f->size; i++)
        lab_pairs.hash = (lab_pairs.hash ^ (unsigned char)f->bytes[i]) * 1099511628211u;
}

static const char *take_files(const data_file *files, data_lines *lines)
{
    lab_pairs.hash = UINT64_C(14695981039346656037);
    for (int part = 0; part < LAB_PARTS; part++) hash_text(&files[part]);
    if (!learn_subwords(&files[0])) return "no subwords can be learned from train.tsv";
    for (int part = 0; part < LAB_PARTS; part++)
        if (!encode_part(part, &lines[part])) return "out of memory";
    for (int part = 0; part < LAB_PARTS; part++)
        if (lab_pairs.count[part] < PAIRS_LEAST) return "a part has less than 128 pairs";
    lab_pairs.vocab = subwords.vocab;
    lab_pairs.text = pairs_text;
    return NULL;
}

const char *lab_take_pairs(const char *folder)
{
    static data_file files[LAB_PARTS];      /* whose errors are returned */
    static data_lines lines[LAB_PARTS];
    const char *wrong = NULL;
    for (int part = 0; part < LAB_PARTS && !wrong; part++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s.tsv", folder, parts[part]);
        if (!data_read(&files[part], path)) wrong = files[part].error;
        else if (!data_lines_init(&lines[part], &files[part], DATA_PAIRS, NULL))
            wrong = lines[part].error;
    }
    if (!wrong) wrong = take_files(files, lines);
    for (int part = 0; part < LAB_PARTS; part++) {
        data_lines_free(&lines[part]);
        data_file_free(&files[part]);
    }
    return wrong;
}
