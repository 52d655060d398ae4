/* The implementation of tfnorm.h for the tools: compiled once, with threads. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#if !defined __wasm__ && !defined __TINYC__     /* no threads, or no atomics for them */
#define LIBRARY_TEAMS
#include "threads.h"
#undef TFNORM_PARALLEL_FOR
#undef TFNORM_PARALLEL_COUNT
#define TFNORM_PARALLEL_FOR(threads, run, context) library_threads(threads, run, context)
#define TFNORM_PARALLEL_COUNT(threads) library_count(threads)
static void library_threads(int threads, void (*run)(void *, int), void *context);
static int library_count(int threads);
#endif
#define TFNORM_ALL_ISA
#define TFNORM_IMPLEMENTATION
#include "../../tfnorm.h"
#include "library.h"

double library_log(double x) { return tfn__log(x); }
double library_sin(double x) { return tfn__sin(x); }
double library_cos(double x) { return tfn__cos(x); }
double library_pow(double x, double y) { return tfn__pow(x, y); }

bool library_has_lora(const tfn_model_desc *desc) { return tfn__has_lora(desc); }
bool library_by_sentences(const tfn_model_desc *desc) { return tfn__by_sentences(desc); }
int32_t library_logit_cols(const tfn_model_desc *desc) { return tfn__logit_cols(desc); }

/* -- one thread does the work of a team, timed ------------------------------------------------- */

#ifdef LIBRARY_TEAMS
static const library_watch *library_watches;

void library_watch_teams(const library_watch *watch) { library_watches = watch; }

/* Bytes of the arrays of an entry. Gradients that it adds to are read and written. */
static double library_entry_bytes(const tfn__call *c)
{
    double floats = 0;
    if (c->y) floats += (double)(c->rows * c->cols);
    if (c->saved) floats += (double)(c->rows * c->cols);
    if (c->dy) floats += (double)(c->rows * c->cols);
    for (int j = 0; j < TFN_INPUTS; j++) {
        const double size = (double)(c->x_rows[j] * c->x_cols[j]);
        if (c->x[j]) floats += size;
        if (c->dx[j]) floats += size;
        if (c->dx[j] && c->add[j]) floats += size;
    }
    return floats * sizeof(float);
}

/* Does all chunks of a round, and reports the time of each. */
static void library_time_round(tfn__call *c, int32_t kind, bool clears, ptrdiff_t chunks)
{
    static const char *const kinds[] = { "", "again", "seed", "prepare", "backward" };
    const library_watch *w = library_watches;
    library_round round = { NULL, NULL, 0, 0, 0, 0, false };
    round.name = tfn__ops[c->n->op].name;
    round.kind = clears ? "padding" : kinds[kind];
    round.rows = c->rows;
    round.cols = c->cols;
    round.chunks = chunks;
    round.shared = !tfn__is_small(c, clears, chunks);
    if (!clears) round.bytes = library_entry_bytes(c);
    w->round(w->user, &round);
    for (ptrdiff_t i = 0; i < chunks; i++) {
        const double start = w->clock();
        if (clears) tfn__clear_padding(c, kind, i);
        else tfn__entry_chunk(c, kind, i);
        w->chunk(w->user, w->clock() - start);
    }
}

static void library_time_entries(const tfn__team *m)
{
    for (int32_t e = m->first; e < m->last; e++) {
        const int32_t kind = tfn__entry_kind(m->t->order[e]);
        ptrdiff_t sentences;
        tfn__call c;
        tfn__make_call(&c, m->t, m->r, m->t->order[e], m->r->work);
        c.chunks = tfn__entry_chunks(&c, kind);
        library_time_round(&c, kind, false, c.chunks);
        sentences = tfn__padding_chunks(&c, kind);
        if (sentences > 0) library_time_round(&c, kind, true, sentences);
    }
}

/* Times work outside a tape as one round of equal parts, so each part gets the mean time. */
static void library_time_parts(tfn__crew *crew)
{
    const library_watch *w = library_watches;
    library_round round = { "other work", "", 0, 0, 0, 0, true };
    const double start = w->clock();
    double seconds;
    tfn__crew_member(crew, 0);
    seconds = w->clock() - start;
    round.chunks = (ptrdiff_t)crew->queue - 1;      /* the last request found no part */
    if (crew->f == tfn__squares_share) {
        round.name = "norm of the gradient";
        round.bytes = 4 * (double)((const tfn__squares_job *)crew->job)->m->trained_floats;
    } else if (crew->f == tfn__update_flat) {
        round.name = "update";                      /* Adam reads four numbers and writes three */
        round.bytes = 28 * (double)((const tfn__update_job *)crew->job)->m->trained_floats;
    }
    w->round(w->user, &round);
    for (ptrdiff_t i = 0; i < round.chunks; i++)
        w->chunk(w->user, seconds / (double)round.chunks);
}

static int library_count(int threads)
{
    return library_watches ? threads : tfn_workers_ready(threads);
}

static void library_threads(int threads, void (*run)(void *, int), void *context)
{
    if (!library_watches) {
        tfn_workers_run(threads, run, context);
        return;
    }
    library_watches->region(library_watches->user);
    if (run == tfn__team_member) library_time_entries((const tfn__team *)context);
    else library_time_parts((tfn__crew *)context);
}
#endif

/* -- arrays of NumPy --------------------------------------------------------------------------- */

#ifndef TFNORM_NO_STDIO
/* The magic, then a u16 length and a Python dict that ends with a newline at a multiple of 64. */
static const uint8_t library_npy_magic[8] = { 0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0 };
enum { LIBRARY_NPY_HEAD = 502 };           /* most bytes of a dict; enough for 8 sizes */

/* The dtype in NumPy's form, little-endian; NULL: another dtype. */
static const char *library_npy_descr(tfn_dtype d)
{
    switch (d) {
    case TFN_DTYPE_F32: return "<f4";
    case TFN_DTYPE_F64: return "<f8";
    case TFN_DTYPE_I32: return "<i4";
    default:            return NULL;
    }
}

/* Writes the dict with NumPy's order and spaces, padded so that the data begins at a multiple of
 * 64. A tuple of one has a comma after it. */
tfn_status library_npy_write(tfn_file *f, const tfn_tensor *tensor)
{
    char buf[LIBRARY_NPY_HEAD + 10];
    tfn__text t = tfn__text_in(buf, sizeof buf);
    tfn_tensor x = *tensor;
    if (!x.dtype) x.dtype = TFN_DTYPE_F32;
    tfn__measure_tensor(&x);
    if (!tfn__begin(f, true)) return f->error.status;
    if (!library_npy_descr(x.dtype) || x.count < 0 || x.bytes > SIZE_MAX / 2)
        tfn__file_fail(f, TFN_BAD_SHAPE, "no legal dtype or shape", NULL, 0, 0);
    tfn__put_bytes(&t, library_npy_magic, 8);
    tfn__put_bytes(&t, "\0", 2);
    tfn__put_texts(&t, "{'descr': '", library_npy_descr(x.dtype),
                   "', 'fortran_order': False, 'shape': (");
    for (int32_t k = 0; k < x.rank; k++) {
        if (k) tfn__put(&t, ", ");
        tfn__put_int(&t, NULL, x.shape[k], NULL);
    }
    if (x.rank == 1) tfn__put(&t, ",");
    tfn__put(&t, "), }");
    while (t.used % 64 != 63) tfn__put(&t, " ");
    tfn__put(&t, "\n");
    buf[8] = (char)((t.used - 10) & 255);
    buf[9] = (char)((t.used - 10) >> 8);
    tfn__file_put(f, buf, t.used);
    tfn__put_values(f, &x);
    return tfn__finish_writing(f);
}

/* Reads exactly the text s; false: an error, which r->wanted describes. */
static bool library_literal(tfn__reader *r, const char *s)
{
    for (const char *c = s; *c; c++) {
        if (tfn__accept(r, *c)) continue;
        tfn__want(r, s);
        return false;
    }
    return true;
}

/* Reads the dict exactly as NumPy writes it, to the last space. */
static void library_npy_dict(tfn__reader *r, tfn_tensor *t)
{
    library_literal(r, "{'descr': '<");
    t->dtype = TFN_DTYPE_F32;                   /* i4, f4 or f8 */
    if (tfn__accept(r, 'i')) t->dtype = TFN_DTYPE_I32;
    else if (library_literal(r, "f") && tfn__accept(r, '8')) t->dtype = TFN_DTYPE_F64;
    if (t->dtype != TFN_DTYPE_F64) library_literal(r, "4");
    library_literal(r, "', 'fortran_order': False, 'shape': (");
    while (!tfn__accept(r, ')')) {
        int64_t v = tfn__json_count(r, INT64_MAX);
        if (t->rank == TFN__RANK) tfn__want(r, "a lower rank");
        else t->shape[t->rank++] = v;
        if (tfn__accept(r, ',')) tfn__accept(r, ' ');
        else if (tfn__peek(r) != ')') tfn__want(r, "a comma or )");
        if (r->wanted) return;
    }
    library_literal(r, ", }");
    while (tfn__accept(r, ' ')) {}
    if (!tfn__accept(r, '\n') || r->at < r->size) tfn__want(r, "a newline at the end");
}

tfn_status library_npy_read(tfn_file *f, tfn_tensor *t, void *to, tfn_dtype as, int64_t room)
{
    uint8_t head[LIBRARY_NPY_HEAD + 10];
    tfn__reader r;
    uint64_t n = 0;
    TFNORM_MEMSET(t, 0, sizeof *t);
    tfn_file_close(f);
    if (tfn__begin(f, false) && tfn__file_get(f, 0, head, 10)) n = tfn__from_bytes(head + 8, 2);
    if (tfn__fine(f) && (!tfn__same(head, library_npy_magic, 8) || n > LIBRARY_NPY_HEAD))
        tfn__bad(f, "it is not an array of version 1.0, or its header has over %d"
                       " bytes", NULL, LIBRARY_NPY_HEAD, 0);
    tfn__file_get(f, 10, head, n);
    if (!tfn__fine(f)) return f->error.status;
    r = tfn__read_from(head, (size_t)n);
    library_npy_dict(&r, t);
    if (r.wanted)
        tfn__bad(f, "%s is expected at byte %d of the header", r.wanted, (int64_t)r.at, 0);
    t->at = 10 + n;
    tfn__measure_tensor(t);
    if (t->count < 0 || t->bytes != f->used - t->at)
        tfn__bad(f, "it has %d bytes of data, its shape needs %d", NULL,
                       (int64_t)(f->used - t->at), (int64_t)t->bytes);
    if (to && room < t->count)
        tfn__file_fail(f, TFN_NO_MEMORY, "it has %d values, there is room for %d", NULL, t->count,
                       room);
    if (to && as == TFN_DTYPE_I32 && t->dtype != TFN_DTYPE_I32)
        tfn__file_fail(f, TFN_BAD_SHAPE, "it has no whole numbers", NULL, 0, 0);
    if (to && tfn__fine(f)) tfn__read_as(f, t, to, as, 0, t->count);
    tfn_file_close(f);
    return f->error.status;
}
#endif
