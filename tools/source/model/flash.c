#include "../ground/ground.h"
#include "../ground/basics.h"
#include "update.h"
#include "model.h"

TFN__RARE
/* Saves and loads the state of a training in flash, so that it survives a power cut. Files would be
 * too much for a board: names, texts, and a second state in memory. Here one page at a time passes
 * through the caller's buffer. Builds on model and update for the parts of the state.
 *
 * A slot is one page with the head, then the state as one run of bytes, padded with 0 to whole
 * pages. The state is written first. As soon as one of its pages differs, the old head's hash is
 * wrong, and the slot is no checkpoint until its new head is complete. */
/* 8-byte members come first, so that all compilers use the same layout without gaps. */
typedef struct tfn__flash_head {
    uint64_t magic;                     /* format and version */
    uint64_t shape;                     /* hash of the bytes and of the shapes of all tensors */
    uint64_t number;                    /* number of the checkpoint; higher is newer */
    uint64_t state;                     /* hash of the state */
    int64_t  step;
    double   rate_squares;
    double   loss_scale;
    int32_t  finite_steps, profiled;
    uint64_t head;                      /* hash of the members above */
} tfn__flash_head;
enum { TFN__FLASH_LEAST = 128 };        /* smallest page, in bytes */
#define TFN__FLASH_MAGIC UINT64_C(0x3168736c666e6674)

/* Hashes whole words, starting from `hash`. It detects pages that are old, torn or worn, but not
 * attacks. */
static uint64_t tfn__flash_hash(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *p = (const unsigned char *)data;
    for (size_t i = 0; i < bytes; i += sizeof hash) {
        uint64_t word;
        TFNORM_MEMCPY(&word, p + i, sizeof word);
        hash = tfn__mix(hash ^ word) + UINT64_C(0x9e3779b97f4a7c15);
    }
    return hash;
}

/* Returns part i of the state, 0 to 2. *bytes may be 0. */
static float *tfn__flash_part(const tfn_model *m, int i, size_t *bytes)
{
    float *const parts[] = { m->params, m->moments, m->averages };
    int64_t floats[] = { 0, 0, 0 };
    floats[0] = m->param_floats + m->buffer_floats;
    if (m->moments) floats[1] = tfn__moments_floats(m);
    if (m->averages) floats[2] = m->trained_floats;
    *bytes = (size_t)floats[i] * sizeof(float);
    return parts[i];
}

/* Returns the bytes of the state. Gradients are not included, because they are not needed between
 * updates; nor are tables, which a new model fills, and the workspace. */
static size_t tfn__flash_bytes(const tfn_model *m)
{
    size_t all = 0;
    for (int i = 0; i < 3; i++) {
        size_t bytes;
        tfn__flash_part(m, i, &bytes);
        all += bytes;
    }
    return all;
}

/* Copies bytes [at, at + size) of the state from the model to the page, or with `load` back. A page
 * may contain the end of one part and the beginning of the next; after the state it is 0. */
static void tfn__flash_move(const tfn_model *m, void *page, size_t at, size_t size, bool load)
{
    unsigned char *to = (unsigned char *)page;
    size_t begin = 0;                   /* offset of the part in the state */
    if (!load) TFNORM_MEMSET(page, 0, size);
    for (int i = 0; i < 3; i++) {
        size_t bytes;
        unsigned char *part = (unsigned char *)tfn__flash_part(m, i, &bytes);
        size_t first = begin;           /* the bytes that page and part share, in the state */
        size_t end = begin + bytes;
        if (first < at) first = at;
        if (end > at + size) end = at + size;
        if (first < end && load)
            TFNORM_MEMCPY(part + (first - begin), to + (first - at), end - first);
        if (first < end && !load)
            TFNORM_MEMCPY(to + (first - at), part + (first - begin), end - first);
        begin += bytes;
    }
}

/* Hashes the shapes. A model accepts a checkpoint of any model with the same shapes; other options,
 * such as the seed, belong to the program. */
static uint64_t tfn__flash_shape(const tfn_model *m)
{
    uint64_t hash = tfn__flash_bytes(m);
    for (int32_t i = 0; i < m->weight_count; i++) {
        const uint64_t shape[2] = { (uint64_t)m->weights[i].rows, (uint64_t)m->weights[i].cols };
        hash = tfn__flash_hash(hash, shape, sizeof shape);
    }
    return tfn__mix(hash ^ (uint64_t)m->desc.optimizer);
}

/* One page for the head, and the pages of the state. A head must fit into one page, so that it is
 * written at once, and a page must hold whole words. */
TFNORM_API int32_t tfn_flash_pages(const tfn_model *m, int32_t page)
{
    size_t pages;
    if (!m || !m->weights || !tfn__trains(&m->desc)) return 0;
    if (page < TFN__FLASH_LEAST || page % (int32_t)sizeof(uint64_t)) return 0;
    pages = 1 + (tfn__flash_bytes(m) + (size_t)page - 1) / (size_t)page;
    if (pages > INT32_MAX / 2) return 0;
    return (int32_t)pages;
}

/* Begins both calls: checks that the flash can hold this model, and passes on an error of the
 * model. An error of the flash lasts until the next call, because the next read may succeed. */
static tfn_status tfn__flash_ready(tfn_flash *f, const tfn_model *m)
{
    const int32_t wanted = tfn_flash_pages(m, f->page);
    tfn__no_error(&f->error);
    tfn__given(&f->error, "flash", "work", f->work);
    if (!f->read || !f->write)
        tfn__fail(&f->error, TFN_NULL, "flash", "read or write is NULL", 0, 0);
    if (m->error.status != TFN_OK && m->error.status != TFN_BAD_BATCH) f->error = m->error;
    if (!m->weights || !tfn__trains(&m->desc))
        tfn__fail(&f->error, TFN_NOT_READY, "flash", "the model does not train", 0, 0);
    if (!wanted)
        tfn__fail(&f->error, TFN_BAD_OPTION, "flash", "a page has %d bytes; it must be a multiple "
                  "of 8, at least %d", f->page, TFN__FLASH_LEAST);
    if (f->pages < wanted)
        tfn__fail(&f->error, TFN_NO_MEMORY, "flash", "a slot has %d pages, but %d are needed",
                  f->pages, wanted);
    return f->error.status;
}

/* Reads a page into f->work. On failure returns false and an error with the page's number. */
static bool tfn__flash_read(tfn_flash *f, int32_t page)
{
    if (f->read(f->user, page, f->work)) return true;
    tfn__fail(&f->error, TFN_BAD_FILE, "flash", "page %d cannot be read", page, 0);
    return false;
}

/* Writes a page from f->work. It is erased before it is programmed; a power cut between the two
 * leaves a page that tfn__flash_whole rejects like any other wrong page. */
static bool tfn__flash_write(tfn_flash *f, int32_t page)
{
    if (f->write(f->user, page, f->work)) return true;
    tfn__fail(&f->error, TFN_BAD_FILE, "flash", "page %d cannot be written", page, 0);
    return false;
}

/* True if the slot has a complete checkpoint of this shape. Pages that cannot be read fail. */
static bool tfn__flash_whole(tfn_flash *f, const tfn_model *m, int32_t slot, tfn__flash_head *head)
{
    const int32_t first = slot * f->pages;
    const int32_t pages = tfn_flash_pages(m, f->page);
    uint64_t hash = 0;
    TFNORM_MEMSET(head, 0, sizeof *head);
    if (!f->read(f->user, first, f->work)) return false;
    TFNORM_MEMCPY(head, f->work, sizeof *head);
    if (head->magic != TFN__FLASH_MAGIC || head->shape != tfn__flash_shape(m)) return false;
    if (head->head != tfn__flash_hash(0, head, offsetof(tfn__flash_head, head))) return false;
    for (int32_t i = 1; i < pages; i++) {
        if (!f->read(f->user, first + i, f->work)) return false;
        hash = tfn__flash_hash(hash, f->work, (size_t)f->page);
    }
    return hash == head->state;
}

/* Returns the slot of the newest checkpoint and its head, or -1 if there is none. */
static int32_t tfn__flash_newest(tfn_flash *f, const tfn_model *m, tfn__flash_head *newest)
{
    int32_t found = -1;
    TFNORM_MEMSET(newest, 0, sizeof *newest);
    for (int32_t slot = 0; slot < 2; slot++) {
        tfn__flash_head head;
        if (!tfn__flash_whole(f, m, slot, &head)) continue;
        if (found >= 0 && head.number < newest->number) continue;
        found = slot;
        *newest = head;
    }
    return found;
}

/* Rejects a model within an update, whose gradients are not saved, and one whose averages are in
 * place of the weights. The caller must finish the update or swap back first. */
static void tfn__flash_check_model(tfn_error *e, const tfn_model *m)
{
    if (m->micro)
        tfn__fail(e, TFN_NOT_READY, "flash", "an update is under way: %d of %d micro-batches",
                  m->micro, m->desc.micro_batches);
    if (m->swapped)
        tfn__fail(e, TFN_NOT_READY, "flash", "averages are in place of the weights", 0, 0);
}

/* The slots take turns, so that pages wear evenly. The new checkpoint has a number one higher than
 * the newest; the first has number 1 and slot 0. The model is only read. A page that cannot be
 * written ends the call, and nothing needs undoing, because the newest checkpoint is in the other
 * slot. */
TFNORM_API tfn_status tfn_flash_save(tfn_flash *f, const tfn_model *m)
{
    tfn__flash_head head;
    int32_t slot;
    int32_t pages;
    uint64_t hash = 0;
    if (!f || !m) return TFN_NULL;
    if (tfn__flash_ready(f, m) != TFN_OK) return f->error.status;
    tfn__flash_check_model(&f->error, m);
    if (f->error.status != TFN_OK) return f->error.status;
    slot = 0;
    if (tfn__flash_newest(f, m, &head) == 0) slot = 1;
    pages = tfn_flash_pages(m, f->page);
    for (int32_t i = 1; i < pages; i++) {
        tfn__flash_move(m, f->work, (size_t)(i - 1) * (size_t)f->page, (size_t)f->page, false);
        hash = tfn__flash_hash(hash, f->work, (size_t)f->page);
        if (!tfn__flash_write(f, slot * f->pages + i)) return f->error.status;
    }
    head.magic = TFN__FLASH_MAGIC;
    head.shape = tfn__flash_shape(m);
    head.number++;
    head.state = hash;
    head.step = m->step;
    head.rate_squares = m->rate_squares;
    head.loss_scale = (double)m->loss_scale;
    head.finite_steps = m->finite_steps;
    head.profiled = m->profiled;
    head.head = tfn__flash_hash(0, &head, offsetof(tfn__flash_head, head));
    TFNORM_MEMSET(f->work, 0, (size_t)f->page);
    TFNORM_MEMCPY(f->work, &head, sizeof head);
    tfn__flash_write(f, slot * f->pages);
    return f->error.status;
}

/* Loads a slot that was already verified. If the flash returns other bytes the second time, or
 * none, the model has changed and gets an error. */
static void tfn__flash_take(tfn_flash *f, tfn_model *m, int32_t slot, const tfn__flash_head *head)
{
    const int32_t pages = tfn_flash_pages(m, f->page);
    uint64_t hash = 0;
    for (int32_t i = 1; i < pages; i++) {
        if (!tfn__flash_read(f, slot * f->pages + i)) break;
        hash = tfn__flash_hash(hash, f->work, (size_t)f->page);
        tfn__flash_move(m, f->work, (size_t)(i - 1) * (size_t)f->page, (size_t)f->page, true);
    }
    if (hash != head->state)
        tfn__fail(&f->error, TFN_BAD_FILE, "flash", "it gave other bytes the second time", 0, 0);
    if (f->error.status != TFN_OK) m->error = f->error;
    m->step = head->step;
    m->rate_squares = head->rate_squares;
    m->loss_scale = (float)head->loss_scale;
    m->finite_steps = head->finite_steps;
    m->profiled = head->profiled != 0;
    m->micro = 0;
    m->swapped = false;
    TFNORM_MEMSET(&m->sums, 0, sizeof m->sums);
}

/* Verifies both slots before changing anything, then reads the newer good one again, because RAM
 * has no room for a second state. */
TFNORM_API tfn_status tfn_flash_load(tfn_model *m, tfn_flash *f)
{
    tfn__flash_head head;
    int32_t slot;
    if (!f || !m) return TFN_NULL;
    if (tfn__flash_ready(f, m) != TFN_OK) return f->error.status;
    slot = tfn__flash_newest(f, m, &head);
    if (slot < 0)
        tfn__fail(&f->error, TFN_NOT_FOUND, "flash", "neither slot has a whole checkpoint of "
                  "such a model", 0, 0);
    else tfn__flash_take(f, m, slot, &head);
    return f->error.status;
}
TFN__RARE_END
