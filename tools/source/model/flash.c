#include "../ground/ground.h"
#include "../ground/basics.h"
#include "update.h"
#include "model.h"

#if !defined TFNORM_NO_TRAINING
TFN__SMALL
/* What a training needs to go on is in RAM, which a power cut clears. Files are too much for a
 * board: their names, their text, and a second state beside the first. Here a page at a time passes
 * through the caller's buffer.
 * A slot: one page with the head, then the state as one run of bytes, in pages, the last filled up
 * with 0. Who saves writes the state first: as soon as one page of it is another, the old head's
 * hash of the state is wrong, and the slot is no checkpoint until its new head is whole. */
/* Eight-byte members first, so that all compilers lay it out alike and no byte is left between. */
typedef struct tfn__flash_head {
    uint64_t magic;                     /* what it is, in this version */
    uint64_t shape;                     /* hash of the shapes of all tensors, and of the bytes */
    uint64_t number;                    /* of the checkpoint: the higher is the newer */
    uint64_t state;                     /* hash of the state */
    int64_t  step;
    double   rate_squares;
    double   loss_scale;
    int32_t  finite_steps, profiled;
    uint64_t head;                      /* hash of what is above */
} tfn__flash_head;
enum { TFN__FLASH_LEAST = 128 };        /* bytes of a page */
#define TFN__FLASH_MAGIC UINT64_C(0x3168736c666e6674)

/* A hash of whole words, of which pages and head consist, begun with `hash`. Not one against an
 * attacker: what it finds is a page that is old, torn or worn. */
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

/* Part i of the state, NULL past the last; *bytes may be 0. */
static float *tfn__flash_part(const tfn_model *m, int i, size_t *bytes)
{
    float *const parts[] = { m->params, m->moments, m->averages };
    int64_t floats[] = { 0, 0, 0 };
    *bytes = 0;
    if (i >= 3) return NULL;
    floats[0] = m->param_floats + m->buffer_floats;
    if (m->moments) floats[1] = tfn__moments_floats(m);
    if (m->averages) floats[2] = m->trained_floats;
    *bytes = (size_t)floats[i] * sizeof(float);
    return parts[i];
}

/* Gradients are no part of it: between two updates nobody needs them, and what an optimizer keeps
 * of them are the moments. Nor are the tables, which a new model makes, nor the workspace. */
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

/* Bytes [at, at + size) of the state, from the model into the page, or back with `load`. A page may
 * have the end of one part and the beginning of the next; behind the end of all it is 0. */
static void tfn__flash_move(const tfn_model *m, void *page, size_t at, size_t size, bool load)
{
    unsigned char *to = (unsigned char *)page;
    size_t begin = 0;                   /* of the part, in the state */
    if (!load) TFNORM_MEMSET(page, 0, size);
    for (int i = 0; i < 3; i++) {
        size_t bytes;
        unsigned char *part = (unsigned char *)tfn__flash_part(m, i, &bytes);
        size_t first = begin;           /* what both the page and the part have, in the state */
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

/* Of two models with the same shapes the one takes the other's checkpoint: options that are no
 * shapes are the program's, as a seed is. */
static uint64_t tfn__flash_shape(const tfn_model *m)
{
    uint64_t hash = tfn__flash_bytes(m);
    for (int32_t i = 0; i < m->weight_count; i++) {
        const uint64_t shape[2] = { (uint64_t)m->weights[i].rows, (uint64_t)m->weights[i].cols };
        hash = tfn__flash_hash(hash, shape, sizeof shape);
    }
    return tfn__mix(hash ^ (uint64_t)m->desc.optimizer);
}

/* One page for the head, and those of the state. A page smaller than a head would be torn between
 * two writes; one that is no multiple of a word would end within one. */
TFNORM_API int32_t tfn_flash_pages(const tfn_model *m, int32_t page)
{
    size_t pages;
    if (!m || !m->weights || !tfn__trains(&m->desc)) return 0;
    if (page < TFN__FLASH_LEAST || page % (int32_t)sizeof(uint64_t)) return 0;
    pages = 1 + (tfn__flash_bytes(m) + (size_t)page - 1) / (size_t)page;
    if (pages > INT32_MAX / 2) return 0;
    return (int32_t)pages;
}

/* What both begin with: the flash is one that can have this model, whose own error, if it is
 * broken, is passed on. An error of the flash concerns its last call only, as a page may be read
 * well the next time. */
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
        tfn__fail(&f->error, TFN_NO_MEMORY, "flash", "a slot has %d pages, %d are wanted", f->pages,
                  wanted);
    return f->error.status;
}

/* A page into f->work, and from it; false and an error with the page's number, and after the first
 * error no page is asked for any more. */
static bool tfn__flash_read(tfn_flash *f, int32_t page)
{
    if (f->error.status != TFN_OK) return false;
    if (f->read(f->user, page, f->work)) return true;
    tfn__fail(&f->error, TFN_BAD_FILE, "flash", "page %d cannot be read", page, 0);
    return false;
}

/* The page is erased before it is programmed, so that a cut between the two leaves one that is
 * neither the old nor the new: to tfn__flash_whole it is as any other page that is wrong. */
static bool tfn__flash_write(tfn_flash *f, int32_t page)
{
    if (f->error.status != TFN_OK) return false;
    if (f->write(f->user, page, f->work)) return true;
    tfn__fail(&f->error, TFN_BAD_FILE, "flash", "page %d cannot be written", page, 0);
    return false;
}

/* The slot has a whole checkpoint of a model of this shape. Pages that cannot be read are none. */
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

/* The slot of the newest checkpoint and its head; -1: there is none. */
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

/* Within an update a half of what it wants is in the gradients; exchanged averages would be taken
 * for the weights. Both are the caller's to bring to an end. */
static void tfn__flash_check_model(tfn_error *e, const tfn_model *m)
{
    if (m->micro)
        tfn__fail(e, TFN_NOT_READY, "flash", "an update is under way: %d of %d micro-batches",
                  m->micro, m->desc.micro_batches);
    if (m->swapped)
        tfn__fail(e, TFN_NOT_READY, "flash", "averages stand in the place of the weights", 0, 0);
}

/* The slots take turns, so that pages wear alike. A number that is one higher than that of the
 * newest checkpoint tells them apart; where there is none yet, it is 1, and the slot is the first.
 * The model is only read, and a page that cannot be written ends the call at once: as the newest
 * checkpoint stands in the other slot, there is nothing to be undone. */
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

/* The slot was read whole before: what is copied now has the hash of its head, unless the flash
 * gives other bytes the second time, or none. Then the model is not as it was, and says so. */
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

/* Both slots are read whole before anything is changed, and the newer one of those that are good is
 * read once more: RAM has no room for a second state. */
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
TFN__SMALL_END
#endif
