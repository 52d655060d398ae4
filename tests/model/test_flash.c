/* Training with checkpoints in pages of flash. The power fails at every page write, in five ways,
 * once or twice. Then the run resumes from the newest whole checkpoint, with the bits of a run
 * without interruption. */
#include "../lib.h"
#include "../check.h"

enum { FLASH_V = 5, FLASH_T = 4, FLASH_UPDATES = 5, FLASH_PAGE = 512, FLASH_PAGES = 24,
       FLASH_NEVER = -1 };

/* The content of the page after a cut: the old page, an erased one, a few words of the new one (so
 * that the head itself is torn), half of it, or all. */
typedef enum flash_torn {
    FLASH_OLD, FLASH_ERASED, FLASH_WORDS, FLASH_HALF, FLASH_NEW, FLASH_WAYS
} flash_torn;
enum { FLASH_TORN_HEAD = 40 };

static unsigned char flash_chip[2 * FLASH_PAGES][FLASH_PAGE];
static double flash_work[FLASH_PAGE / sizeof(double)];
static int flash_writes, flash_cut;
static flash_torn flash_way;
static bool flash_deaf;                 /* reads fail */
static int flash_reads, flash_fails;    /* how many reads there were, and from which on they fail */
static bool flash_garbles;              /* these give a wrong bit instead */

static bool flash_read(void *user, int32_t page, void *to)
{
    (void)user;
    const bool fails = flash_fails && flash_reads >= flash_fails;
    flash_reads++;
    if (flash_deaf || (fails && !flash_garbles)) return false;
    memcpy(to, flash_chip[page], FLASH_PAGE);
    if (fails) *(unsigned char *)to ^= 1;
    return true;
}

static bool flash_write(void *user, int32_t page, const void *from)
{
    (void)user;
    if (flash_cut != FLASH_NEVER && flash_writes > flash_cut) return false;    /* no power */
    if (flash_writes++ != flash_cut) {
        memcpy(flash_chip[page], from, FLASH_PAGE);
        return true;
    }
    if (flash_way != FLASH_OLD) memset(flash_chip[page], 255, FLASH_PAGE);
    if (flash_way == FLASH_WORDS) memcpy(flash_chip[page], from, FLASH_TORN_HEAD);
    if (flash_way == FLASH_HALF) memcpy(flash_chip[page], from, FLASH_PAGE / 2);
    if (flash_way == FLASH_NEW) memcpy(flash_chip[page], from, FLASH_PAGE);
    return false;
}

static tfn_flash flash_of(void)
{
    tfn_flash f = { 0 };
    f.page = FLASH_PAGE;
    f.pages = FLASH_PAGES;
    f.work = flash_work;
    f.read = flash_read;
    f.write = flash_write;
    return f;
}

static tfn_model_desc flash_desc(void)
{
    tfn_model_desc d = { 0 };
    d.vocab = FLASH_V;
    d.context = FLASH_T;
    d.width = 8;
    d.heads = 2;
    d.ffn = 8;
    d.layers = 1;
    d.threads = 1;
    d.micro_batches = 2;
    d.dropout = 0.1f;
    d.ema = 0.5f;
    return d;
}

/* One update, whose sentences depend only on its number. */
static bool flash_update(tfn_model *m)
{
    int32_t tokens[FLASH_T + 1];
    tfn_batch batch = { 0 };
    batch.tokens = tokens;
    batch.targets = tokens + 1;
    batch.batch = 1;
    batch.time = FLASH_T;
    for (int part = 0; part < 2; part++) {
        const uint64_t at = (uint64_t)(2 * m->step + part) * 16;
        for (int i = 0; i <= FLASH_T; i++)
            tokens[i] = (int32_t)(tfn_random_bits(tfn_key_make(5), at + (uint64_t)i) % FLASH_V);
        if (tfn_model_step(m, &batch, NULL) != TFN_OK) return false;
    }
    return true;
}

/* Hash of the weights, and through the next update of moments and averages. */
static uint64_t flash_hash(const tfn_model *m)
{
    uint64_t hash = tfn_model_hash(m);
    for (int64_t i = 0; i < m->trained_floats; i++) {
        uint32_t bits[2];
        memcpy(bits, m->moments + i, sizeof *bits);
        memcpy(bits + 1, m->averages + i, sizeof *bits);
        hash = tfn_random_bits(tfn_key_make(hash), (uint64_t)bits[0] << 32 | bits[1]);
    }
    return hash;
}

/* Runs from the checkpoint of update `first`, or from the beginning (0), to the end or until the
 * power fails. Stores the hashes after each update, or compares them with the stored hashes of the
 * run that was not cut. */
static void flash_run(int first, uint64_t *hashes, bool compare)
{
    const tfn_model_desc desc = flash_desc();
    tfn_flash f = flash_of();
    tfn_model m;
    flash_writes = 0;
    CHECK(tfn_model_new(&m, &desc, NULL) == TFN_OK);
    CHECK_INT(tfn_flash_load(&m, &f), first ? TFN_OK : TFN_NOT_FOUND);
    CHECK_INT(m.step, first);
    if (first) CHECK(flash_hash(&m) == hashes[first]);
    for (int update = first + 1; update <= FLASH_UPDATES; update++) {
        if (!flash_update(&m)) break;
        CHECK_INT(m.step, update);
        if (compare) CHECK(flash_hash(&m) == hashes[update]);
        else hashes[update] = flash_hash(&m);
        f = flash_of();
        if (tfn_flash_save(&f, &m) != TFN_OK) break;
    }
    CHECK(flash_cut != FLASH_NEVER || m.step == FLASH_UPDATES);
    tfn_model_free(&m);
}

/* The update of the newest whole checkpoint after a run from `first` was cut. The head is in the
 * page written last; half of that page already contains all words that are not 0. */
static int flash_kept(int first, int cut, int pages)
{
    const bool whole = flash_way >= FLASH_HALF && cut % pages == pages - 1;
    return first + cut / pages + whole;
}

/* Cuts each update at each of its pages; then cuts the first update of the resumed run at the same
 * page, which the other slot must also survive. */
TEST(flash_cuts)
{
    uint64_t hashes[FLASH_UPDATES + 1] = { 0 };
    int pages;
    memset(flash_chip, 255, sizeof flash_chip);
    flash_cut = FLASH_NEVER;
    flash_run(0, hashes, false);
    pages = flash_writes / FLASH_UPDATES;
    CHECK(pages > 5 && flash_writes == pages * FLASH_UPDATES);
    for (int way = 0; way < FLASH_WAYS; way++)
        for (int cut = 0; cut < pages * FLASH_UPDATES; cut++) {
            int first;
            CASE("way %d, page %d of %d", way, cut, pages * FLASH_UPDATES);
            memset(flash_chip, 255, sizeof flash_chip);
            flash_way = (flash_torn)way;
            flash_cut = cut;
            flash_run(0, hashes, true);
            first = flash_kept(0, cut, pages);
            if (first < FLASH_UPDATES) {
                flash_cut = cut % pages;
                flash_run(first, hashes, true);
                first = flash_kept(first, flash_cut, pages);
            }
            flash_cut = FLASH_NEVER;
            flash_run(first, hashes, true);
        }
}

/* The newest slot is taken; a cut never costs more than the update under way. */
TEST(flash_newest)
{
    const tfn_model_desc desc = flash_desc();
    tfn_flash f = flash_of();
    tfn_model m;
    memset(flash_chip, 0, sizeof flash_chip);
    flash_cut = FLASH_NEVER;
    CHECK(tfn_model_new(&m, &desc, NULL) == TFN_OK);
    for (int64_t step = 1; step <= 4; step++) {
        tfn_model other;
        CHECK(flash_update(&m) && tfn_flash_save(&f, &m) == TFN_OK);
        CHECK(tfn_model_new(&other, &desc, NULL) == TFN_OK);
        CHECK(tfn_flash_load(&other, &f) == TFN_OK && other.step == step);
        CHECK(flash_hash(&other) == flash_hash(&m));
        tfn_model_free(&other);
    }
    flash_chip[FLASH_PAGES + 3][7] ^= 1;            /* damages update 4, so 3 is taken */
    CHECK(tfn_flash_load(&m, &f) == TFN_OK && m.step == 3);
    tfn_model_free(&m);
}

/* Pages are complete: the last one is 0 after the end of the state, and does not contain data of
 * the page before it. */
TEST(flash_ends_in_zeros)
{
    static const unsigned char zeros[16];
    const tfn_model_desc desc = flash_desc();
    const size_t end = FLASH_PAGE - sizeof zeros;
    tfn_flash f = flash_of();
    tfn_model m;
    int last = 0;
    flash_cut = FLASH_NEVER;
    CHECK(tfn_model_new(&m, &desc, NULL) == TFN_OK);
    memset(flash_chip, 255, sizeof flash_chip);
    CHECK(flash_update(&m) && tfn_flash_save(&f, &m) == TFN_OK);
    for (int page = 0; page < 2 * FLASH_PAGES; page++)
        if (flash_chip[page][FLASH_PAGE - 1] != 255 || flash_chip[page][0] != 255) last = page;
    CHECK(last > 1 && memcmp(flash_chip[last - 1] + end, zeros, sizeof zeros) != 0);
    CHECK_BITS(flash_chip[last] + end, zeros, sizeof zeros);
    tfn_model_free(&m);
}

static void flash_refuses(tfn_status status, const tfn_flash *f, tfn_status wanted, const char *text)
{
    char said[200];
    CHECK_INT(status, wanted);
    if (!strstr(tfn_error_text(&f->error, said, sizeof said), text)) FAIL("%s", said);
}

/* A checkpoint of as many bytes, but of other shapes, is another model's. */
TEST(flash_other_shapes)
{
    tfn_model_desc desc = flash_desc(), other;
    tfn_flash f = flash_of();
    tfn_model m, n;
    desc.ema = 0;
    desc.micro_batches = 1;
    desc.no_bias = true;
    desc.vocab = 16;
    other = desc;
    other.vocab = 8;                    /* 64 numbers less in the embedding, as many more in w1 and w2 */
    other.ffn = 12;
    memset(flash_chip, 0, sizeof flash_chip);
    flash_cut = FLASH_NEVER;
    CHECK(tfn_model_new(&m, &desc, NULL) == TFN_OK && tfn_model_new(&n, &other, NULL) == TFN_OK);
    CHECK_INT(m.param_floats, n.param_floats);
    CHECK_INT(tfn_flash_pages(&m, FLASH_PAGE), tfn_flash_pages(&n, FLASH_PAGE));
    CHECK_INT(tfn_flash_save(&f, &m), TFN_OK);
    flash_refuses(tfn_flash_load(&n, &f), &f, TFN_NOT_FOUND, "neither slot has a whole checkpoint");
    CHECK_INT(tfn_flash_load(&m, &f), TFN_OK);
    tfn_model_free(&m);
    tfn_model_free(&n);
}

TEST(flash_errors)
{
    tfn_model_desc desc = flash_desc();
    tfn_flash f = flash_of();
    tfn_model m, full;
    uint64_t hash;
    memset(flash_chip, 0, sizeof flash_chip);
    flash_cut = FLASH_NEVER;
    CHECK(tfn_model_new(&m, &desc, NULL) == TFN_OK);
    CHECK(tfn_flash_save(NULL, &m) == TFN_NULL && tfn_flash_load(&m, NULL) == TFN_NULL);
    flash_refuses(tfn_flash_load(&m, &f), &f, TFN_NOT_FOUND, "neither slot has a whole checkpoint");
    f.page = FLASH_PAGE + 4;
    flash_refuses(tfn_flash_save(&f, &m), &f, TFN_BAD_OPTION, "a page has 516 bytes; it must be a multiple of 8");
    f.page = 120;
    flash_refuses(tfn_flash_save(&f, &m), &f, TFN_BAD_OPTION, "at least 128");
    CHECK_INT(tfn_flash_pages(&m, 120), 0);
    full = m;                               /* more pages than an int32_t counts in two slots */
    full.param_floats = (int64_t)1 << 50;
    if (sizeof(size_t) > 4) CHECK_INT(tfn_flash_pages(&full, FLASH_PAGE), 0);
    f = flash_of();
    f.pages = tfn_flash_pages(&m, FLASH_PAGE) - 1;
    flash_refuses(tfn_flash_save(&f, &m), &f, TFN_NO_MEMORY, "pages, ");
    f.pages++;
    CHECK(tfn_flash_save(&f, &m) == TFN_OK);
    f = flash_of();
    f.work = NULL;
    flash_refuses(tfn_flash_save(&f, &m), &f, TFN_NULL, "work is NULL");
    f = flash_of();
    f.read = NULL;
    flash_refuses(tfn_flash_save(&f, &m), &f, TFN_NULL, "read or write is NULL");

    f = flash_of();
    f.write = NULL;
    flash_refuses(tfn_flash_save(&f, &m), &f, TFN_NULL, "read or write is NULL");

    /* a model with an error of its own; a bad batch is none */
    f = flash_of();
    m.error.status = TFN_BAD_FILE;
    m.error.text = "it is broken";
    flash_refuses(tfn_flash_save(&f, &m), &f, TFN_BAD_FILE, "it is broken");
    m.error.status = TFN_BAD_BATCH;
    CHECK(tfn_flash_save(&f, &m) == TFN_OK);
    m.error.status = TFN_OK;

    /* within an update, and while averages are swapped in */
    f = flash_of();
    m.micro = 1;
    flash_refuses(tfn_flash_save(&f, &m), &f, TFN_NOT_READY, "an update is under way: 1 of 2");
    m.micro = 0;
    CHECK(flash_update(&m) && tfn_model_swap_ema(&m) == TFN_OK);
    flash_refuses(tfn_flash_save(&f, &m), &f, TFN_NOT_READY, "averages are in place");
    CHECK(tfn_model_swap_ema(&m) == TFN_OK && tfn_flash_save(&f, &m) == TFN_OK);

    /* pages that cannot be read: nothing is found, nothing changes */
    hash = flash_hash(&m);
    flash_deaf = true;
    flash_refuses(tfn_flash_load(&m, &f), &f, TFN_NOT_FOUND, "neither slot");
    flash_deaf = false;
    flash_cut = flash_writes = 0;
    flash_refuses(tfn_flash_save(&f, &m), &f, TFN_BAD_FILE, "cannot be written");
    flash_cut = FLASH_NEVER;
    CHECK(flash_hash(&m) == hash && tfn_flash_load(&m, &f) == TFN_OK && flash_hash(&m) == hash);
    tfn_model_free(&m);

    /* another shape, and a model that does not train */
    desc.ffn = 12;
    CHECK(tfn_model_new(&m, &desc, NULL) == TFN_OK);
    flash_refuses(tfn_flash_load(&m, &f), &f, TFN_NOT_FOUND, "neither slot");
    tfn_model_free(&m);
    desc.inference = true;
    desc.ema = 0;
    CHECK(tfn_model_new(&m, &desc, NULL) == TFN_OK);
    flash_refuses(tfn_flash_save(&f, &m), &f, TFN_NOT_READY, "the model does not train");
    tfn_model_free(&m);
}

/* A chip whose reads fail, or give other bytes, from a certain read on. A load checks the pages of
 * the slot, reads the head of the empty slot, and reads the pages after the head again. If the
 * check fails, the model is unchanged; if a later read fails, the model has the error. */
TEST(flash_reads_fail)
{
    static const struct { bool garbles; const char *text; } ways[] = {
        { false, "cannot be read" }, { true, "it gave other bytes the second time" }
    };
    const tfn_model_desc desc = flash_desc();
    tfn_flash f = flash_of();
    tfn_model m, other;
    int pages;
    memset(flash_chip, 0, sizeof flash_chip);
    flash_cut = FLASH_NEVER;
    flash_fails = 0;
    CHECK(tfn_model_new(&m, &desc, NULL) == TFN_OK);
    CHECK(flash_update(&m) && tfn_flash_save(&f, &m) == TFN_OK);
    pages = tfn_flash_pages(&m, FLASH_PAGE);
    for (int way = 0; way < 2; way++)
        for (int fails = 1; fails < 2*pages; fails++) {
            CASE("%s at read %d", ways[way].garbles ? "garbled" : "failed", fails);
            CHECK(tfn_model_new(&other, &desc, NULL) == TFN_OK);
            const uint64_t hash = flash_hash(&other);
            flash_garbles = ways[way].garbles;
            flash_fails = fails;
            flash_reads = 0;
            if (fails < pages) {
                flash_refuses(tfn_flash_load(&other, &f), &f, TFN_NOT_FOUND, "neither slot");
                CHECK(flash_hash(&other) == hash && other.error.status == TFN_OK);
            } else {
                flash_refuses(tfn_flash_load(&other, &f), &f, TFN_BAD_FILE, ways[way].text);
                CHECK_INT(other.error.status, TFN_BAD_FILE);
            }
            tfn_model_free(&other);
        }
    flash_fails = 0;
    tfn_model_free(&m);
}

/* SGD without momentum has no moments to save, and without desc.ema there are no averages. */
TEST(flash_without_moments)
{
    for (int ema = 0; ema < 2; ema++) {
        tfn_model_desc desc = flash_desc();
        tfn_flash f = flash_of();
        tfn_model m, other;
        CASE("ema %d", ema);
        memset(flash_chip, 0, sizeof flash_chip);
        flash_cut = FLASH_NEVER;
        desc.optimizer = TFN_OPTIMIZER_SGD;
        desc.ema = ema ? 0.5f : 0;
        CHECK(tfn_model_new(&m, &desc, NULL) == TFN_OK && !m.moments && !m.averages == !ema);
        CHECK(flash_update(&m) && tfn_flash_save(&f, &m) == TFN_OK);
        CHECK(tfn_model_new(&other, &desc, NULL) == TFN_OK && tfn_flash_load(&other, &f) == TFN_OK);
        CHECK(tfn_model_hash(&other) == tfn_model_hash(&m) && other.step == 1);
        if (ema) CHECK_BITS(other.averages, m.averages, (size_t)m.trained_floats * sizeof(float));
        tfn_model_free(&other);
        tfn_model_free(&m);
    }
}

int main(void)
{
    RUN(flash_cuts);
    RUN(flash_newest);
    RUN(flash_ends_in_zeros);
    RUN(flash_other_shapes);
    RUN(flash_errors);
    RUN(flash_reads_fail);
    RUN(flash_without_moments);
    return DONE();
}
