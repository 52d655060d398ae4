/* Metrics: vectors from the definitions, properties, and random texts against golden/
 * make_metrics.py, which counts in a simple, slow way. */
#include "../lib.h"
#include "../check.h"
#include "../digest.h"
#include "../golden/golden_metrics.h"

enum { METRICS_GOLDEN = sizeof golden_metrics / sizeof *golden_metrics };

/* Exactly the required memory, so that a sanitizer sees an access past it. One byte less is refused
 * and changes nothing. */
static void *metrics_work(size_t *size, const char *hyp, const char *const *refs, int32_t count)
{
    size_t bytes = strlen(hyp);
    void *mem;
    for (int32_t i = 0; i < count; i++) bytes += strlen(refs[i]);
    *size = tfn_metric_work(bytes, count + 1);
    CHECK(*size > 0);
    mem = malloc(*size);
    if (!mem) exit(2);
    memset(mem, 0x5a, *size);
    return mem;
}

static void metrics_bleu(tfn_bleu *b, const char *hyp, const char *const *refs, int32_t count)
{
    size_t size;
    void *work = metrics_work(&size, hyp, refs, count);
    const tfn_bleu before = *b;
    CHECK(tfn_bleu_add(b, hyp, refs, count, work, size - 1) == TFN_NO_MEMORY);
    CHECK(tfn_bleu_add(b, hyp, refs, count, NULL, size) == TFN_NO_MEMORY);
    CHECK_BITS(b, &before, sizeof before);
    CHECK(tfn_bleu_add(b, hyp, refs, count, work, size) == TFN_OK);
    free(work);
}

static double metrics_sentence(const char *hyp, const char *ref, bool effective)
{
    tfn_bleu b;
    memset(&b, 0, sizeof b);
    metrics_bleu(&b, hyp, &ref, 1);
    return tfn_bleu_score(&b, TFN_SMOOTH_EXP, effective);
}

static tfn_rouge metrics_rouge(const char *hyp, const char *ref)
{
    size_t size;
    void *work = metrics_work(&size, hyp, &ref, 1);
    tfn_rouge r;
    memset(&r, 0, sizeof r);
    CHECK(tfn_rouge_add(&r, hyp, ref, work, size - 1) == TFN_NO_MEMORY && r.pairs == 0);
    CHECK(tfn_rouge_add(&r, hyp, ref, work, size) == TFN_OK && r.pairs == 1);
    free(work);
    return r;
}

static void metrics_edits(tfn_edits *e, const char *hyp, const char *ref, bool words)
{
    size_t size;
    void *work = metrics_work(&size, hyp, &ref, 1);
    const tfn_edits before = *e;
    tfn_status (*add)(tfn_edits *, const char *, const char *, void *, size_t) =
        words ? tfn_edits_add_words : tfn_edits_add_characters;
    CHECK(add(e, hyp, ref, work, size - 1) == TFN_NO_MEMORY);
    CHECK_BITS(e, &before, sizeof before);
    CHECK(add(e, hyp, ref, work, size) == TFN_OK);
    free(work);
}

/* -- BLEU ---------------------------------------------------------------------------------- */

static void metrics_tokens(const char *text, const char *tokens)
{
    const char *none = "", *word;
    size_t size, used = 0;
    void *work = metrics_work(&size, text, &none, 1);
    char found[200];
    int32_t length;
    for (int32_t i = 0; (word = lib_word_13a(text, i, &length, work, size)) != NULL; i++) {
        if (i) found[used++] = ' ';
        memcpy(found + used, word, (size_t)length);
        used += (size_t)length;
    }
    found[used] = 0;
    if (strcmp(found, tokens)) FAIL("\"%s\" gives \"%s\", not \"%s\"", text, found, tokens);
    free(work);
}

TEST(metrics_13a)
{
    metrics_tokens("It's 3.14, not 3,14.", "It's 3.14 , not 3,14 .");
    metrics_tokens("a,,b", "a , , b");
    metrics_tokens("x...y", "x . . . y");
    metrics_tokens("1990-1995", "1990 - 1995");
    metrics_tokens("well-known", "well-known");
    metrics_tokens("U.S.A.", "U . S . A .");
    metrics_tokens("$5.00/kg (50%)", "$ 5.00 / kg ( 50 % )");
    metrics_tokens("a.1", "a . 1");
    metrics_tokens("1.a", "1 . a");
    metrics_tokens("5-", "5 -");
    metrics_tokens("-5", "-5");
    metrics_tokens("", "");
    metrics_tokens(" \t\n ", "");
    metrics_tokens("&amp;lt;&quot;x&gt;", "< \" x >");
    metrics_tokens("a&amp;amp;b", "a & amp ; b");
    metrics_tokens("one<skipped>two-\nthree\nfour-\n", "onetwothree four-");
    metrics_tokens("a\302\240b\343\200\200c\342\200\251d", "a b c d");
}

/* All characters that Python calls white space, and their neighbours in Unicode. */
TEST(metrics_white_space)
{
    static const char *const white[] = { "\t", "\n", "\v", "\f", "\r", "\x1c", "\x1d", "\x1e", "\x1f",
        "\xc2\x85", "\xc2\xa0", "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x8a", "\xe2\x80\xa8",
        "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80" };
    static const char *const others[] = { "\x08", "\x0e", "\x1b", "\x7f", "\xc2\x84", "\xc2\xa1",
        "\xe1\x9a\x81", "\xe2\x80\x8b", "\xe2\x80\xa7", "\xe2\x80\xaa", "\xe2\x80\xae", "\xe2\x81\xa0",
        "\xe3\x80\x81" };
    char text[20];
    for (size_t i = 0; i < sizeof white / sizeof *white; i++) {
        CASE("white space %d", (int)i);
        snprintf(text, sizeof text, "a%sb%s", white[i], white[i]);
        metrics_tokens(text, "a b");
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        CASE("none, %d", (int)i);
        snprintf(text, sizeof text, "a%sb", others[i]);
        metrics_tokens(text, text);
    }
    metrics_tokens("a\xe2\x80", "a\xe2\x80");       /* the text ends within a character */
    metrics_tokens("a\xc2", "a\xc2");
}

TEST(metrics_bleu_vectors)
{
    static const char *const hyps[] = { "The dog bit the man.", "It wasn't surprising.",
                                        "The man had just bitten him." };
    static const char *const refs[3][2] = {
        { "The dog bit the man.", "The dog had bit the man." },
        { "It was not unexpected.", "No one was surprised." },
        { "The man bit him first.", "The man had bitten the dog." }
    };
    static const int64_t correct[] = { 14, 7, 5, 3 }, total[] = { 17, 14, 11, 8 };
    char text[100];
    tfn_bleu b;
    memset(&b, 0, sizeof b);
    for (int i = 0; i < 3; i++) metrics_bleu(&b, hyps[i], refs[i], 2);
    CHECK_CLOSE(tfn_bleu_score(&b, TFN_SMOOTH_EXP, false), 48.530827, 1e-8);
    CHECK_BITS(b.correct, correct, sizeof correct);
    CHECK_BITS(b.total, total, sizeof total);
    CHECK(b.length == 17 && b.reference_length == 18);
    CHECK(!strcmp(tfn_bleu_text(&b, TFN_SMOOTH_EXP, false, text, sizeof text),
                  "nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:tfnorm-" TFNORM_VERSION));
    metrics_bleu(&b, hyps[0], refs[0], 1);
    CHECK(strstr(tfn_bleu_text(&b, TFN_SMOOTH_ADD_ONE, true, text, sizeof text),
                 "nrefs:var|case:mixed|eff:yes|tok:13a|smooth:add-k[1.00]|") == text);
    tfn_bleu_text(&b, TFN_SMOOTH_EXP, false, text, 8);
    CHECK(!strcmp(text, "nrefs:v"));
    CHECK_CLOSE(metrics_sentence("the cat is on mat", "the cat sat on the mat", false), 20.801195,
                1e-7);
    CHECK_CLOSE(metrics_sentence("the the the the", "the cat sat", false), 15.973578, 1e-7);
    CHECK(metrics_sentence("a test", "a test", false) == 0);
    CHECK_CLOSE(metrics_sentence("a test", "a test", true), 100, 1e-12);
    CHECK_CLOSE(metrics_sentence("the cat", "the cat sat on the mat", true), 13.533528, 1e-7);
}

/* One pair in both directions, an empty text, texts with nothing in common. */
TEST(metrics_bleu_properties)
{
    const char *text = "Four tokens are enough.";
    tfn_bleu b;
    memset(&b, 0, sizeof b);
    CHECK(tfn_bleu_score(&b, TFN_SMOOTH_EXP, false) == 0);
    CHECK_CLOSE(metrics_sentence(text, text, false), 100, 1e-12);
    CHECK(metrics_sentence("", text, false) == 0 && metrics_sentence("", text, true) == 0);
    CHECK(metrics_sentence(text, "", true) == 0 && metrics_sentence("", "", true) == 0);
    CHECK(metrics_sentence("nothing in common", "all words differ", true) == 0);
    CHECK_CLOSE(metrics_sentence("word", "word", true), 100, 1e-12);
    CHECK(metrics_sentence("Word", "word", true) == 0);                  /* case counts */
    CHECK(tfn_bleu_add(&b, text, &text, 0, &b, sizeof b) == TFN_BAD_OPTION);
    metrics_bleu(&b, text, &text, 1);
    metrics_bleu(&b, "", &text, 1);                 /* half of the corpus: the penalty is exp(-1) */
    CHECK_CLOSE(tfn_bleu_score(&b, TFN_SMOOTH_EXP, false), 100 * exp(-1), 1e-12);
}

TEST(metrics_golden)
{
    tfn_bleu all;
    tfn_rouge sum;
    memset(&all, 0, sizeof all);
    memset(&sum, 0, sizeof sum);
    for (int i = 0; i < METRICS_GOLDEN; i++) {
        const char *hyp = golden_metrics[i].hyp;
        tfn_bleu b;
        tfn_rouge r = metrics_rouge(hyp, golden_metrics[i].refs[0]);
        tfn_edits words = { 0, 0 }, characters = { 0, 0 };
        memset(&b, 0, sizeof b);
        metrics_bleu(&b, hyp, golden_metrics[i].refs, golden_metrics[i].count);
        metrics_bleu(&all, hyp, golden_metrics[i].refs, golden_metrics[i].count);
        for (int s = 0; s < 4; s++)
            CHECK_CLOSE(tfn_bleu_score(&b, (tfn_smooth)s, false), golden_metrics[i].bleu[s], 1e-10);
        CHECK_CLOSE(tfn_bleu_score(&b, TFN_SMOOTH_EXP, true), golden_metrics[i].effective, 1e-10);
        for (int j = 0; j < 3; j++)
            CHECK_CLOSE(tfn_rouge_score(&r, j), golden_metrics[i].rouge[j], 1e-10);
        metrics_edits(&words, hyp, golden_metrics[i].refs[0], true);
        metrics_edits(&characters, hyp, golden_metrics[i].refs[0], false);
        CHECK_INT(words.edits, golden_metrics[i].word_edits);
        CHECK_INT(words.length, golden_metrics[i].words);
        CHECK_INT(characters.edits, golden_metrics[i].character_edits);
        CHECK_INT(characters.length, golden_metrics[i].characters);
    }
    for (int s = 0; s < 4; s++)
        CHECK_CLOSE(tfn_bleu_score(&all, (tfn_smooth)s, false), golden_corpus[s], 1e-10);
}

/* -- ROUGE, error rates -------------------------------------------------------------------- */

TEST(metrics_rouge_vectors)
{
    static const struct { const char *hyp, *ref; double f1[3]; } vectors[] = {
        { "The quick brown dog jumps on the log.", "The quick brown fox jumps over the lazy dog",
          { .705882, .266667, .588235 } },
        { "police kill the gunman", "police killed the gunman", { .75, .333333, .75 } },
        { "the gunman kill police", "police killed the gunman", { .75, .333333, .5 } },
        { "one", "ONE!", { 1, 0, 1 } },
        { "", "one", { 0, 0, 0 } },
        { "", "", { 0, 0, 0 } },
        { "same words here", "same words here", { 1, 1, 1 } },
        { "same words here", "none of those", { 0, 0, 0 } }
    };
    tfn_rouge sum;
    char work[4000];
    double mean = 0;
    memset(&sum, 0, sizeof sum);
    CHECK(isnan(tfn_rouge_score(&sum, 0)));
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        tfn_rouge r = metrics_rouge(vectors[i].hyp, vectors[i].ref);
        for (int j = 0; j < 3; j++) CHECK_CLOSE(tfn_rouge_score(&r, j), vectors[i].f1[j], 1e-6);
        CHECK(tfn_rouge_add(&sum, vectors[i].hyp, vectors[i].ref, work, sizeof work) == TFN_OK);
        mean += vectors[i].f1[2] / 8;
    }
    CHECK_CLOSE(tfn_rouge_score(&sum, 2), mean, 1e-6);
    CHECK(isnan(tfn_rouge_score(&sum, 3)) && isnan(tfn_rouge_score(&sum, -1)));
}

TEST(metrics_error_rates)
{
    tfn_edits e = { 0, 0 }, c = { 0, 0 };
    CHECK(isnan(tfn_edits_score(&e)));
    metrics_edits(&e, "the cat sit on mat", "the cat sat on the mat", true);
    CHECK_CLOSE(tfn_edits_score(&e), 2.0 / 6, 1e-15);
    metrics_edits(&e, " a\tb\nc ", "x", true);                  /* of the corpus, may exceed 1 */
    CHECK_CLOSE(tfn_edits_score(&e), 5.0 / 7, 1e-15);
    metrics_edits(&c, "na\303\257ve", "naive", false);
    metrics_edits(&c, "", "\346\227\245\346\234\254", false);
    CHECK(c.edits == 3 && c.length == 7);
    e.edits = e.length = 0;
    metrics_edits(&e, "word", "", true);
    CHECK(isnan(tfn_edits_score(&e)));
    e.edits = e.length = 0;
    metrics_edits(&e, "same same", "same same", true);
    CHECK(tfn_edits_score(&e) == 0 && e.length == 2);
}

/* -- numbers ------------------------------------------------------------------------------- */

TEST(metrics_numbers)
{
    static const int32_t wanted[] = { 1, 2, -1, 3, 4, 5, -1, -1, -1, -1, 4, -1 };
    static const int32_t found[] = { 1, 2, 9, 3, 0, 5, 1, 2, 3, 1, 4, 1 };
    static const int32_t tied[] = { 0, 1 };             /* of equal logits, token 0 is found */
    float logits[12 * 6];
    tfn_accuracy a, b;
    memset(&a, 0, sizeof a);
    b = a;
    tfn_accuracy_add(&a, found, wanted, 4, 3);
    CHECK(a.right == 5 && a.tokens == 6 && a.right_rows == 2 && a.rows == 3);
    for (int i = 0; i < 12; i++)
        for (int v = 0; v < 6; v++) logits[6*i + v] = v == found[i] ? 1 : -(float)v;
    tfn_accuracy_add_logits(&b, logits, wanted, 4, 3, 6);
    CHECK_BITS(&a, &b, sizeof a);
    memset(logits, 0, sizeof logits);
    tfn_accuracy_add_logits(&b, logits, tied, 1, 2, 6);
    CHECK_INT(b.right, a.right + 1);
    CHECK_CLOSE(tfn_perplexity(10 * log(7), 10), 7, 1e-14);
    CHECK_CLOSE(tfn_bits_per_byte(6 * log(2), 3), 2, 1e-14);
    CHECK(isnan(tfn_perplexity(1, 0)) && isnan(tfn_bits_per_byte(1, 0)));
    CHECK(tfn_metric_work(SIZE_MAX, 2) == 0 && tfn_metric_work(1, 0) == 0);
}

/* Random texts of few words, with punctuation, digits and white space: the digest holds counts, and
 * scores in units of 1e-9. */
TEST(metrics_any)
{
    static const char *const words[] = { "a", "b", "the", "The", "cats", "running", "1,000", "2.5", "-", "it's",
        "\xc3\xa9t\xc3\xa9", "\xe6\x97\xa5", "<unk>", "&amp;", "\t", "\n", "\xc2\xa0", "x-y", "end.", "(q)" };
    const tfn_key key = tfn_key_make(9);
    uint32_t digest = DIGEST_BEGIN;
    for (uint64_t i = 0; i < 400; i++) {
        char text[3][200] = { "", "", "" };
        const char *refs[2];
        char work[4000];
        tfn_bleu b;
        tfn_rouge r;
        tfn_edits e = { 0, 0 }, c = { 0, 0 };
        memset(&b, 0, sizeof b);
        memset(&r, 0, sizeof r);
        for (uint64_t t = 0; t < 3; t++) {
            const uint64_t count = tfn_random_bits(key, 64*i + 16*t) % 12;
            for (uint64_t k = 0; k < count; k++) {
                const uint64_t bits = tfn_random_bits(key, 64*i + 16*t + k + 1);
                strcat(text[t], words[bits % (i % 2 ? 5 : 20)]);
                if (bits >> 40 & 3) strcat(text[t], " ");
            }
        }
        refs[0] = text[1];
        refs[1] = text[2];
        digest_int(&digest, tfn_bleu_add(&b, text[0], refs, 1 + (int)(i % 2), work, sizeof work));
        for (int n = 0; n < 4; n++) digest_int(&digest, b.correct[n] + 1000*b.total[n]);
        digest_int(&digest, b.length + 1000*b.reference_length);
        for (int s = 0; s < 4; s++)
            digest_int(&digest, llround(1e9 * tfn_bleu_score(&b, (tfn_smooth)s, i % 3 == 0)));
        digest_int(&digest, tfn_rouge_add(&r, text[0], text[1], work, sizeof work));
        for (int n = 0; n < 3; n++) digest_int(&digest, llround(1e9 * tfn_rouge_score(&r, n)));
        digest_int(&digest, tfn_edits_add_words(&e, text[0], text[1], work, sizeof work));
        digest_int(&digest, tfn_edits_add_characters(&c, text[0], text[1], work, sizeof work));
        digest_int(&digest, e.edits + 100*e.length + 10000*c.edits + 10000000*c.length);
    }
    CHECK_DIGEST(digest, 0xb8186d43u);
}

/* BLEU's signature names the number of references, or var. */
TEST(metrics_texts)
{
    static const char *const references[] = { "nrefs:var|", "nrefs:0|", "nrefs:1|", "nrefs:12|" };
    static const int32_t counts[] = { -1, 0, 1, 12 };
    tfn_bleu b;
    char text[100];
    memset(&b, 0, sizeof b);
    for (int i = 0; i < 4; i++) {
        b.references = counts[i];
        tfn_bleu_text(&b, TFN_SMOOTH_EXP, false, text, sizeof text);
        if (strstr(text, references[i]) != text) FAIL("%s", text);
    }
}

/* All sizes below the required one are refused, and texts of more than 2^30 bytes together. */
TEST(metrics_memory)
{
    static const char *references[1030];
    const size_t size = tfn_metric_work(6, 2), long_bytes = (size_t)1 << 20;
    char *work = (char *)malloc(size);
    char *text = (char *)malloc(long_bytes + 1);
    tfn_rouge r;
    tfn_bleu b;
    memset(&r, 0, sizeof r);
    memset(&b, 0, sizeof b);
    for (size_t n = 0; n + 16 < size; n++) {
        CASE("%d bytes", (int)n);
        CHECK_INT(tfn_rouge_add(&r, "a b", "a c", work, n), TFN_NO_MEMORY);
    }
    CHECK_INT(tfn_rouge_add(&r, "a b", "a c", work, size), TFN_OK);
    CHECK_INT(r.pairs, 1);
    memset(text, 'a', long_bytes);
    text[long_bytes] = 0;
    for (int i = 0; i < 1030; i++) references[i] = text;
    CHECK_INT(tfn_bleu_add(&b, "a", references, 1030, work, size), TFN_TOO_LARGE);
    CHECK_INT(tfn_bleu_add(&b, "a", references, 2, work, size), TFN_NO_MEMORY);
    CHECK(b.length == 0 && b.references == 0);
    free(work), free(text);
}

int main(void)
{
    RUN(metrics_13a);
    RUN(metrics_white_space);
    RUN(metrics_bleu_vectors);
    RUN(metrics_bleu_properties);
    RUN(metrics_golden);
    RUN(metrics_rouge_vectors);
    RUN(metrics_error_rates);
    RUN(metrics_numbers);
    RUN(metrics_any);
    RUN(metrics_texts);
    RUN(metrics_memory);
    return DONE();
}
