/* cc -O2 examples/07_translate.c -o translate -lm && ./translate
 * Translates German numbers, in which the units come before the tens, with an encoder-decoder.
 * Every seventh number is held out; beam search translates these, and BLEU is computed as
 * sacrebleu does.
 * Prints:
 *     step 100: loss 0.7983
 *     ...
 *     fünf hundert sechs und neunzig tausend vier hundert sieben
 *       = five hundred ninety six thousand four hundred seven
 *     BLEU 97.5 */
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include <stdio.h>
#include <string.h>

enum { BATCH = 32, T = 20, STEPS = 600, HUNDRED = 28, THOUSAND, UND };

static const char *const words[2] = {           /* 0 to 27: 1 to 19, 20, 30 to 90 */
    "- ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn "
    "sechzehn siebzehn achtzehn neunzehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig "
    "neunzig hundert tausend und ",
    "- one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety "
    "hundred thousand - "
};
static char text[2][BATCH][200];
static int32_t source[BATCH * T], source_lengths[BATCH], tokens[BATCH * T], targets[BATCH * T];

/* Each word follows a space, so that it is the same token at the beginning and elsewhere. */
static void say(char *to, int english, int word)
{
    const char *s = words[english];
    while (word--) s = strchr(s, ' ') + 1;
    if (*s != '-') strncat(strcat(to, " "), s, strcspn(s, " "));
}
static void number(char *to, int english, int n)                /* 0 to 999,999; 0: empty */
{
    int tens = n % 100 < 20 ? 0 : 18 + n % 100 / 10, unit = tens ? n % 10 : n % 100;
    if (n >= 1000) number(to, english, n / 1000), say(to, english, THOUSAND), n %= 1000;
    if (n >= 100) say(to, english, n / 100), say(to, english, HUNDRED);
    say(to, english, english ? tens : unit);
    if (tens && unit) say(to, english, UND);
    say(to, english, english ? unit : tens);
}
static void draw(uint64_t seed, bool held_out)
{
    memset(text, 0, sizeof text);
    for (uint64_t i = 0, b = 0; b < BATCH; i++) {
        int n = 1 + (int)(tfn_random_bits(tfn_key_make(seed), i) % 999999);
        if ((n % 7 == 0) != held_out) continue;
        number(text[0][b], 0, n), number(text[1][b++], 1, n);
    }
}
/* source: German words, END.  tokens: END, English words.  targets: English words, END. */
static tfn_batch make_batch(const tfn_tokenizer *k)
{
    int32_t end = k->special[TFN_SPECIAL_EOS], n;
    memset(targets, -1, sizeof targets);
    for (int b = 0; b < BATCH; b++) {
        int32_t *from = source + b * T, *to = tokens + b * T;
        n = (int32_t)tfn_tokenizer_encode(k, from, T - 1, text[0][b], strlen(text[0][b]));
        from[n] = end, source_lengths[b] = n + 1;
        n = (int32_t)tfn_tokenizer_encode(k, to + 1, T - 1, text[1][b], strlen(text[1][b]));
        to[0] = end;
        memcpy(targets + b * T, to + 1, (size_t)n * sizeof *to), targets[b * T + n] = end;
    }
    return (tfn_batch) { .tokens = tokens, .targets = targets, .batch = BATCH, .time = T,
                         .source = source, .source_lengths = source_lengths, .source_time = T };
}
int main(void)
{
    static char work[1 << 21], memory[1 << 21], writer[11 << 20];
    tfn_tokenizer_desc pieces = { .kind = TFN_TOKENIZER_WORDS, .words = 256 };
    tfn_trainer trainer;
    tfn_tokenizer k;
    tfn_model m;
    tfn_generator g;
    tfn_bleu bleu = { 0 };
    tfn_report r = { 0 };
    tfn_trainer_init(&trainer, &pieces, work, sizeof work);
    for (int i = 0; i < 2; i++) tfn_trainer_add(&trainer, words[i] + 1, strlen(words[i]) - 2);
    tfn_trainer_run(&trainer);
    tfn_tokenizer_init(&k, &(tfn_tokenizer_source) { .trainer = &trainer }, memory, sizeof memory);
    tfn_model_desc desc = { .arch = TFN_ARCH_ENCODER_DECODER, .vocab = k.vocab, .context = T,
        .batch = BATCH, .position = TFN_POSITION_ROTARY,
        .schedule = { .kind = TFN_SCHEDULE_COSINE, .lr = 3e-3f, .warmup = 50, .steps = STEPS } };
    if (tfn_model_new(&m, &desc, NULL) != TFN_OK) return 1;
    for (int step = 1; step <= STEPS; step++) {
        draw((uint64_t)step, false);
        tfn_batch batch = make_batch(&k);
        tfn_model_step(&m, &batch, &r);
        if (step % 100 == 0) printf("step %d: loss %.4f\n", step, r.loss);
    }
    draw(0, true);
    tfn_batch batch = make_batch(&k);
    tfn_generate_desc how = { .sentences = BATCH, .beam = 4, .end = k.special[TFN_SPECIAL_EOS] };
    batch.tokens = NULL;                                    /* each begins with only END */
    if (tfn_generator_init(&g, &m, &how, writer, sizeof writer) != TFN_OK
        || tfn_generator_run(&g, &batch, NULL) != TFN_OK) return 1;
    for (int b = 0; b < BATCH; b++) {
        char found[400] = "";
        const char *wanted = text[1][b];
        const int32_t *ids = g.tokens + b * g.width * g.most;               /* the best text */
        tfn_tokenizer_decode(&k, found, sizeof found - 1, ids, g.lengths[b * g.width]);
        tfn_bleu_add(&bleu, found, &wanted, 1, work, sizeof work);
        if (b < 3) printf("%s\n  =%s\n", text[0][b] + 1, found);
    }
    printf("BLEU %.1f\n", tfn_bleu_score(&bleu, TFN_SMOOTH_EXP, false));
}
