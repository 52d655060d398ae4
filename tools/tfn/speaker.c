/* Rows of prompts, then texts longer than the context, then printing. */
#include "speaker.h"
#include "../common/output.h"
#include "prompt.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* -- generate, translate ----------------------------------------------------------------------- */

/* True if texts may be longer than the context: tokens are written in order, and the prompt is no
 * source that must stay visible. */
static bool speaker_slides(const speaker *x)
{
    return x->b->kind == DATA_TEXT && !whole_of(x->s, O_BEAM) && !given(x->s, O_N_BEST);
}

/* True if each text is one line, because lines were learned or asked for. Else texts are printed
 * unchanged. */
static bool speaker_in_lines(const speaker *x)
{
    return x->b->kind != DATA_TEXT || given(&x->b->from, O_TASK) || given(x->s, O_LINES)
        || given(x->s, O_N_BEST);
}

/* Ids that no text may contain. For a model trained here: special tokens except the end. For an
 * import: those its files forbid, and padding. The caller frees them. */
static int32_t *speaker_forbids(const bundle *b, int32_t *count)
{
    const tfn_tokenizer *k = &b->tokenizer.tokenizer;
    const char *bad = text_of(&b->from, O_BAD_TOKENS);
    int32_t *ids;
    if (!bad) bad = "";
    ids = (int32_t *)reserve(strlen(bad) / 2 + 2 + TFN_SPECIAL_COUNT, sizeof *ids);
    *count = 0;
    if (given(&b->from, O_START_TOKEN)) {
        for (char *end; *bad; bad = end) ids[(*count)++] = (int32_t)strtol(bad, &end, 10);
        if (kept_id(b, O_PAD_TOKEN) >= 0) ids[(*count)++] = kept_id(b, O_PAD_TOKEN);
        return ids;
    }
    if (!b->tokenizer.mem) return ids;
    for (int i = 0; i < TFN_SPECIAL_COUNT; i++)
        if (k->special[i] >= 0 && k->special[i] != end_of(b)) ids[(*count)++] = k->special[i];
    return ids;
}

/* Further ids that end a text of an import. The caller frees them. */
static int32_t *speaker_ends(const bundle *b, int32_t *count)
{
    const char *more = text_of(&b->from, O_MORE_ENDS);
    int32_t *ids;
    if (!more) more = "";
    ids = (int32_t *)reserve(strlen(more) / 2 + 2, sizeof *ids);
    *count = 0;
    for (char *end; *more; more = end) ids[(*count)++] = (int32_t)strtol(more, &end, 10);
    return ids;
}

/* True if a text may end before --max-tokens: the model was trained on texts with an end, or its
 * import names the end token. */
static bool speaker_ends_texts(const bundle *b)
{
    return b->kind != DATA_TEXT || given(&b->from, O_TASK) || given(&b->from, O_END_TOKEN);
}

static void speaker_describe(const speaker *x, tfn_generate_desc *d)
{
    const settings *s = x->s;
    memset(d, 0, sizeof *d);
    d->sentences = x->rows;
    d->beam = (int32_t)whole_of(s, O_BEAM);
    d->max_tokens = (int32_t)whole_of(s, O_MAX_TOKENS);
    d->end = end_of(x->b);
    if (!speaker_ends_texts(x->b)) d->end = -1;
    d->length_penalty = (float)real_of(s, O_LENGTH_PENALTY);
    d->unnormalized = d->length_penalty == 0;
    d->temperature = (float)real_of(s, O_TEMPERATURE);
    d->top_k = (int32_t)whole_of(s, O_TOP_K);
    d->top_p = (float)real_of(s, O_TOP_P);
    d->key = tfn_key_make((uint64_t)whole_of(s, O_SEED));
}

void speaker_open(speaker *x, bundle *b, const settings *s)
{
    tfn_generate_desc d;
    int32_t *forbidden, *ends;
    size_t size = tfn_model_scratch(&b->desc);
    void *scratch = reserve(size, 1);
    memset(x, 0, sizeof *x);
    x->b = b;
    x->s = s;
    x->rows = b->desc.batch;
    x->room = b->desc.context;
    if (b->kind == DATA_PAIRS) x->room = b->model.desc.source_context;
    speaker_describe(x, &d);
    d.forbidden = forbidden = speaker_forbids(b, &d.forbidden_count);
    d.ends = ends = speaker_ends(b, &d.ends_count);
    size = tfn_generator_size(&b->model, &d, scratch, size);
    free(scratch);
    x->mem = reserve(size, 1);
    tfn_generator_init(&x->g, &b->model, &d, x->mem, size);
    must_be_ok(&x->g.error);
    free(forbidden);
    free(ends);
    x->ids = (int32_t *)reserve((size_t)x->room * (size_t)x->rows, sizeof(int32_t));
    x->tokens = (int32_t *)reserve((size_t)x->room * (size_t)x->rows, sizeof(int32_t));
    x->lengths = (int32_t *)reserve((size_t)x->rows, sizeof(int32_t));
    x->starts = (int32_t *)reserve((size_t)x->rows, sizeof(int32_t));
    if (b->kind == DATA_PAIRS)
        for (int32_t r = 0; r < x->rows; r++) x->starts[r] = start_of(b);
    x->number = (int64_t *)reserve((size_t)x->rows, sizeof(int64_t));
    x->prompt = (char **)reserve((size_t)x->rows, sizeof *x->prompt);
    x->prompt_bytes = (size_t *)reserve((size_t)x->rows, sizeof(size_t));
    x->past = (int32_t **)reserve((size_t)x->rows, sizeof *x->past);
    x->prompt_ids = (int32_t *)reserve((size_t)x->rows, sizeof(int32_t));
    x->written = (int32_t *)reserve((size_t)x->rows, sizeof(int32_t));
}

void speaker_free(speaker *x)
{
    free(x->past);
    free(x->prompt_ids);
    free(x->written);
    free(x->mem);
    free(x->ids);
    free(x->tokens);
    free(x->lengths);
    free(x->starts);
    free(x->number);
    free(x->prompt);
    free(x->prompt_bytes);
    free(x->text);
}

void speaker_add_ids(speaker *x, const int32_t *ids, int32_t count)
{
    int32_t *row = x->ids + (int64_t)x->used * x->room;
    if (count > x->room) die("--ids: %d ids, the limit is %d", (int)count, (int)x->room);
    memcpy(row, ids, (size_t)count * sizeof *row);
    x->lengths[x->used++] = count;
}

void speaker_add(speaker *x, const char *text, size_t bytes, int64_t number)
{
    const tfn_tokenizer *k = &x->b->tokenizer.tokenizer;
    const data_kind kind = x->b->kind;
    int32_t *row = x->ids + (int64_t)x->used * x->room;
    int32_t n = 0;
    int64_t most = x->room - 1 - (kind == DATA_JOINED);
    int64_t count, read, first = 0;
    int32_t *ids;
    x->prompt[x->used] = NULL;
    x->number[x->used] = number;
    if (kind == DATA_PAIRS) {
        x->lengths[x->used++] = prompt_row(x->b, text, bytes, false, x->room, number, row);
        return;
    }
    ids = encode_text(x->b, text, bytes, &count);
    if (kind == DATA_TEXT) most = x->room / 2;
    read = cut_ids(count, most, number);
    if (kind == DATA_TEXT) first = count - read;                /* its end is continued */
    if (reads_lines(x->b)) row[n++] = k->special[TFN_SPECIAL_EOS];
    for (int64_t i = 0; i < read; i++) row[n++] = ids[first + i];
    if (kind != DATA_TEXT) row[n++] = k->special[TFN_SPECIAL_EOS];
    if (kind == DATA_TEXT) {
        x->prompt[x->used] = (char *)reserve(bytes, 1);
        x->prompt_bytes[x->used] = bytes;
        memcpy(x->prompt[x->used], text, bytes);
    }
    x->lengths[x->used++] = n;
    free(ids);
}

void speaker_run(speaker *x)
{
    tfn_batch b = { 0 };
    int32_t longest = 1;
    for (int32_t r = 0; r < x->used; r++)
        if (x->lengths[r] > longest) longest = x->lengths[r];
    for (int32_t r = 0; r < x->used; r++) {
        int32_t *to = x->tokens + (int64_t)r * longest;
        memset(to, 0, (size_t)longest * sizeof *to);
        memcpy(to, x->ids + (int64_t)r * x->room, (size_t)x->lengths[r] * sizeof *to);
    }
    b.batch = x->used;
    if (x->b->kind == DATA_PAIRS) {
        b.source = x->tokens;
        b.source_lengths = x->lengths;
        b.source_time = longest;
        b.tokens = x->starts;
        b.time = 1;
    } else {
        b.tokens = x->tokens;
        b.lengths = x->lengths;
        b.time = longest;
    }
    tfn_generator_run(&x->g, &b, x->number);
    must_be_ok(&x->g.error);
}

/* Tokens as text, without the space in front. The text may contain zero bytes. */
static const char *speaker_decode(speaker *x, const int32_t *ids, int32_t count, size_t *bytes)
{
    const tfn_tokenizer *t = &x->b->tokenizer.tokenizer;
    size_t n = tfn_tokenizer_decode(t, x->text, x->text_room, ids, count);
    if (n >= x->text_room) {
        free(x->text);
        x->text = (char *)reserve(x->text_room = 2*n + 64, 1);
        tfn_tokenizer_decode(t, x->text, x->text_room, ids, count);
    }
    x->text[n] = 0;
    const bool space = x->b->kind != DATA_TEXT && x->text[0] == ' ';
    *bytes = n - space;
    return x->text + space;
}

/* The text of tokens that continue a prompt, whose last token is *last (NULL: it has none). Some
 * tokenizers drop the space before the first token that they decode. So this decodes *last, too,
 * and removes its text. */
static const char *speaker_continue(speaker *x, const int32_t *last, const int32_t *ids,
                                    int32_t count, size_t *bytes)
{
    int32_t *all;
    size_t before;
    if (!last) return speaker_decode(x, ids, count, bytes);
    all = (int32_t *)reserve((size_t)count + 1, sizeof *all);
    all[0] = *last;
    if (count) memcpy(all + 1, ids, (size_t)count * sizeof *all);
    const char *text = speaker_decode(x, all, 1, &before);
    char *begin = (char *)reserve(before + 1, 1);
    memcpy(begin, text, before);
    text = speaker_decode(x, all, count + 1, bytes);
    const bool same = *bytes >= before && !memcmp(text, begin, before);
    free(begin);
    free(all);
    if (!same) return speaker_decode(x, ids, count, bytes);     /* *last is a part of a character */
    *bytes -= before;
    return text + before;
}

const char *speaker_text(speaker *x, int32_t r, int32_t k, size_t *bytes)
{
    const int64_t place = (int64_t)r * x->g.width + k;
    const int32_t *ids = x->g.tokens + place * x->g.most;
    const int32_t *last = NULL;
    if (x->b->kind == DATA_TEXT && x->lengths[r])
        last = x->ids + (int64_t)r * x->room + x->lengths[r] - 1;
    return speaker_continue(x, last, ids, x->g.lengths[place], bytes);
}

/* The same for a text that may be longer than the context. */
static const char *speaker_written(speaker *x, int32_t r, size_t *bytes)
{
    const int32_t *ids = x->past[r] + x->prompt_ids[r];
    const int32_t *last = NULL;
    if (x->prompt_ids[r]) last = ids - 1;
    return speaker_continue(x, last, ids, x->written[r], bytes);
}

/* -- texts longer than the context */

/* Adds to row r what row `at` of the generator wrote. True: the context was too short and more text
 * is needed. */
static bool speaker_take(speaker *x, int32_t r, int32_t at)
{
    const int32_t most = (int32_t)whole_of(x->s, O_MAX_TOKENS);
    const int32_t n = x->g.lengths[at];
    const int32_t *ids = x->g.tokens + (int64_t)at * x->g.most;
    int32_t used = x->prompt_ids[r] + x->written[r];
    for (int32_t i = 0; i < n; i++) {
        if (x->written[r] == most) break;
        x->past[r][used++] = ids[i];
        x->written[r]++;
    }
    return x->written[r] < most && n > 0 && x->g.stops[at] != TFN_STOP_END;
}

/* Continues rows list[0 .. n-1] from the later half of their context, with random draws of their
 * own for each `round`. */
static void speaker_go_on(speaker *x, const int32_t *list, int32_t n, int64_t round)
{
    const int32_t half = x->room > 1 ? x->room / 2 : 1;
    int32_t *lengths = (int32_t *)reserve((size_t)n, sizeof *lengths);
    int64_t *ids = (int64_t *)reserve((size_t)n, sizeof *ids);
    tfn_batch b = { 0 };
    for (int32_t i = 0; i < n; i++) {
        const int32_t r = list[i];
        const int32_t used = x->prompt_ids[r] + x->written[r];
        memcpy(x->tokens + (int64_t)i * half, x->past[r] + used - half,
               (size_t)half * sizeof *x->tokens);
        lengths[i] = half;
        ids[i] = x->number[r] + round * ((int64_t)1 << 40);
    }
    b.batch = n;
    b.time = half;
    b.tokens = x->tokens;
    b.lengths = lengths;
    tfn_generator_run(&x->g, &b, ids);
    must_be_ok(&x->g.error);
    free(lengths);
    free(ids);
}

/* Runs until every text has ended or has --max-tokens. */
static void speaker_slide(speaker *x)
{
    const size_t most = (size_t)whole_of(x->s, O_MAX_TOKENS);
    int32_t *list = (int32_t *)reserve((size_t)x->used, sizeof *list);
    int32_t n = 0;
    speaker_run(x);
    for (int32_t r = 0; r < x->used; r++) {
        x->prompt_ids[r] = x->lengths[r];
        x->written[r] = 0;
        x->past[r] = (int32_t *)reserve((size_t)x->room + most, sizeof **x->past);
        memcpy(x->past[r], x->ids + (int64_t)r * x->room, (size_t)x->lengths[r] * sizeof **x->past);
        if (speaker_take(x, r, r)) list[n++] = r;
    }
    for (int64_t round = 1; n > 0; round++) {
        int32_t left = 0;
        speaker_go_on(x, list, n, round);
        for (int32_t i = 0; i < n; i++)
            if (speaker_take(x, list[i], i)) list[left++] = list[i];
        n = left;
    }
    free(list);
}

/* Why row r stopped. A text that slides stops only at its end or at --max-tokens. */
static tfn_stop speaker_stop(const speaker *x, int32_t r, bool slides)
{
    if (!slides) return (tfn_stop)x->g.stops[r * x->g.width];
    if (x->written[r] < whole_of(x->s, O_MAX_TOKENS)) return TFN_STOP_END;
    return TFN_STOP_LENGTH;
}

void speaker_count(speaker *x, int32_t r, int64_t number, bool slides)
{
    const tfn_stop stop = speaker_stop(x, r, slides);
    const int32_t tokens = slides ? x->written[r] : x->g.lengths[r * x->g.width];
    x->stopped[stop]++;
    if (!given(x->s, O_COUNTS)) return;
    fprintf(stderr, "tfn: text %lld: %d tokens, stopped at ", (long long)number + 1, (int)tokens);
    if (stop == TFN_STOP_END) fprintf(stderr, "its end\n");
    if (stop == TFN_STOP_LENGTH) fprintf(stderr, "--max-tokens %s\n", text_of(x->s, O_MAX_TOKENS));
    if (stop == TFN_STOP_CONTEXT)
        fprintf(stderr, "the context of %d tokens\n", (int)x->b->desc.context);
}

/* Prints a text; line: on one line, with a newline as "\n" and a backslash as "\\". */
static void put_text(const char *s, size_t n, bool line)
{
    for (size_t i = 0; i < n; i++) {
        if (line && s[i] == '\n') fputs("\\n", stdout);
        else if (line && s[i] == '\\') fputs("\\\\", stdout);
        else putchar(s[i]);
    }
}

void speaker_print(speaker *x)
{
    const int32_t best = (int32_t)whole_of(x->s, O_N_BEST);
    const int32_t texts = best ? best : 1;
    const bool slides = speaker_slides(x);
    const bool lines = speaker_in_lines(x);
    if (slides) speaker_slide(x);
    else speaker_run(x);
    for (int32_t r = 0; r < x->used; r++) {
        speaker_count(x, r, x->number[r], slides);
        for (int32_t k = 0; k < texts; k++) {
            const char *text;
            size_t bytes;
            if (k && !x->g.lengths[r * x->g.width + k]) break;
            if (slides) text = speaker_written(x, r, &bytes);
            else text = speaker_text(x, r, k, &bytes);
            if (best) printf("%lld\t%.9g\t", (long long)x->number[r] + 1,
                             (double)x->g.scores[r * x->g.width + k]);
            if (x->prompt[r]) put_text(x->prompt[r], x->prompt_bytes[r], lines);
            put_text(text, bytes, lines);
            putchar('\n');
        }
        free(x->prompt[r]);
        if (slides) free(x->past[r]);
    }
    if (!output_flush()) exit(output_code());
    x->used = 0;
}

void say_stops(const speaker *x)
{
    const int64_t full = x->stopped[TFN_STOP_CONTEXT];
    const int64_t cut = x->stopped[TFN_STOP_LENGTH];
    const bool ends = x->g.desc.end >= 0;
    if (full)
        output_say(stderr, "tfn: %lld text%s stopped because no room was left in the context of %d "
                   "tokens: with --ids, --beam, --n-best or a source it does not move on\n",
                   (long long)full, full > 1 ? "s" : "", (int)x->b->desc.context);
    if (cut && ends && output_is_terminal(stderr) && !given(x->s, O_COUNTS))
        output_say(stderr, "tfn: %lld text%s stopped at --max-tokens %s, before the end\n",
                   (long long)cut, cut > 1 ? "s" : "", text_of(x->s, O_MAX_TOKENS));
}
