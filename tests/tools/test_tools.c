/* Parts of the tools: generated tasks against a second implementation of the rules, data, batches,
 * pictures. */
#include "../../tfnorm.h"
#include "../../tools/common/data.h"
#include "../../tools/common/svg.h"
#include "../../tools/common/tasks.h"
#include "../check.h"

/* -- helpers --------------------------------------------------------------------------------- */

static uint64_t tools_hash(uint64_t h, const void *p, size_t n)        /* FNV-1a */
{
    const uint8_t *s = (const uint8_t *)p;
    for (size_t i = 0; i < n; i++) h = (h ^ s[i]) * UINT64_C(1099511628211);
    return h;
}
static uint64_t tools_item_hash(uint64_t h, const task_item *x)
{
    h = tools_hash(h, x->source, strlen(x->source) + 1);
    h = tools_hash(h, x->second, strlen(x->second) + 1);
    h = tools_hash(h, x->target, strlen(x->target) + 1);
    return tools_hash(h, &(uint8_t){ (uint8_t)x->label }, 1);
}
static task_item tools_item;
static const task_item *tools_make(const char *name, uint64_t seed, task_split split, int i)
{
    task_options o;
    memset(&o, 0, sizeof o);
    o.seed = seed;
    if (!task_make(&tools_item, task_find(name), &o, split, (uint64_t)i)) FAIL("%s %d", name, i);
    return &tools_item;
}
static bool tools_in(const char *word, const char *list)      /* a list of words, each in spaces */
{
    char spaced[64];
    snprintf(spaced, sizeof spaced, " %s ", word);
    return strstr(list, spaced) != NULL;
}
/* Cuts a sentence into words, with commas and the full stop as words; returns how many. */
enum { TOOLS_WORDS = 160, TOOLS_WORD = 32 };
static int tools_words(const char *text, char (*words)[TOOLS_WORD])
{
    int n = 0;
    while (*text && n < TOOLS_WORDS) {
        size_t k = strcspn(text, " ,.");
        if (k) snprintf(words[n++], TOOLS_WORD, "%.*s", (int)k, text);
        text += k;
        if (*text == ',' || *text == '.') snprintf(words[n++], TOOLS_WORD, "%.1s", text);
        text += *text != 0;
    }
    return n;
}

/* -- tasks: strings ---------------------------------------------------------------------------- */

TEST(tools_strings)
{
    for (int i = 0; i < 500; i++) {
        const task_item *x = tools_make("reverse", 7, TASK_TRAIN, i);
        size_t n = strlen(x->source);
        CHECK(n >= 5 && n <= 8 && strlen(x->target) == n && strspn(x->source, "abcdefgh") == n);
        for (size_t j = 0; j < n; j++) CHECK(x->source[j] == x->target[n - 1 - j]);
        x = tools_make("copy", 7, TASK_VALID, i);
        CHECK(!strcmp(x->source, x->target) && x->source[0]);
        x = tools_make("sort", 7, TASK_TEST, i);
        n = strlen(x->target);
        CHECK(strlen(x->source) == n);
        for (size_t j = 0; j < n; j++) {
            int a = 0, b = 0;
            for (size_t k = 0; k < n; k++)
                a += x->source[k] == x->source[j], b += x->target[k] == x->source[j];
            CHECK(a == b && (j == 0 || x->target[j - 1] <= x->target[j]));
        }
        x = tools_make("add", 7, TASK_TRAIN, i);
        CHECK_INT(atol(x->source) + atol(strchr(x->source, '+')), atol(x->target));
        CHECK(x->source[0] != '0' && strchr(x->source, '+')[1] != '0');
    }
}

/* -- tasks: grammar ---------------------------------------------------------------------------- */

static task_np tools_np(int noun, int adjective, int determiner, int number, int relative)
{
    task_np x = { 0, 0, 0, 0, 0 };
    x.noun = noun, x.adjective = adjective, x.determiner = determiner;
    x.number = number, x.relative = relative;
    return x;
}
enum { DOG, MAN, TEACHER, CAT, WOMAN, MOUSE, CHILD, GIRL };
enum { SLEEPS, LAUGHS, SEES, HEARS, PAINTS, HELPS, THANKS, SAYS };
static void tools_sentence(const task_sentence *s, const char *german, const char *english)
{
    char text[TASK_BYTES];
    task_german(text, s);
    if (strcmp(text, german)) FAIL("\"%s\", not \"%s\"", text, german);
    task_english(text, s, false);
    if (strcmp(text, english)) FAIL("\"%s\", not \"%s\"", text, english);
}

TEST(tools_grammar_by_hand)
{
    task_sentence s;
    task_clause *c = s.clause;
    memset(&s, 0, sizeof s);
    s.count = 1, s.joint = -1;
    c[0].verb = SEES;
    c[0].subject = tools_np(DOG, 0, TASK_A, 0, -1);
    c[0].object = tools_np(MAN, 2, TASK_THE, 0, -1);
    tools_sentence(&s, "ein alter Hund sieht den kleinen Mann.", "an old dog sees the small man.");
    c[0].first = TASK_OBJECT_FIRST, c[0].negated = true;
    tools_sentence(&s, "den kleinen Mann sieht ein alter Hund nicht.",
                   "an old dog does not see the small man.");
    c[0].first = TASK_ADVERB_FIRST, c[0].tense = TASK_PERFECT, c[0].verb = HELPS;
    c[0].object = tools_np(MOUSE, 1, TASK_COUNT, 21, -1);
    tools_sentence(&s, "heute hat ein alter Hund ein und zwanzig jungen Mäusen nicht geholfen.",
                   "today an old dog has not helped twenty one young mice.");
    s.count = 3, s.joint = 1;                       /* weil; a relative clause of the object */
    c[0].object = tools_np(GIRL, -1, TASK_THE_MANY, 0, 2);
    c[0].first = TASK_CLAUSE_FIRST;
    c[1].verb = SLEEPS, c[1].tense = TASK_WANT;
    c[1].subject = tools_np(WOMAN, -1, TASK_COUNT, 30, -1);
    c[2].verb = THANKS, c[2].tense = TASK_CAN, c[2].gap = TASK_OBJECT_GAP;
    c[2].subject = tools_np(CHILD, -1, TASK_THE, 0, -1), c[2].object = c[0].object;
    tools_sentence(&s, "weil dreißig Frauen schlafen wollen, hat ein alter Hund den Mädchen, denen "
                   "das Kind danken kann, nicht geholfen.",
                   "because thirty women want to sleep, an old dog has not helped the girls that "
                   "the child can thank.");
    s.count = 2, s.joint = 0;
    c[0] = c[1];
    c[0].verb = SAYS, c[0].tense = TASK_PRESENT, c[0].subject = tools_np(TEACHER, 3, TASK_A, 0, -1);
    tools_sentence(&s, "ein schneller Lehrer sagt, dass dreißig Frauen schlafen wollen.",
                   "a fast teacher says that thirty women want to sleep.");
}

/* Words with the same meaning in both languages; the index in the list is the meaning. */
static const char *const tools_meanings[][2] = {
    { " Hund Hunde Hunden ", " dog dogs " }, { " Mann Männer Männern ", " man men " },
    { " Lehrer Lehrern ", " teacher teachers " }, { " Katze Katzen ", " cat cats " },
    { " Frau Frauen ", " woman women " }, { " Maus Mäuse Mäusen ", " mouse mice " },
    { " Kind Kinder Kindern ", " child children " }, { " Mädchen ", " girl girls " },
    { " alte alten alter altes ", " old " }, { " junge jungen junger junges ", " young " },
    { " kleine kleinen kleiner kleines ", " small " },
    { " schnelle schnellen schneller schnelles ", " fast " },
    { " schläft schlafen geschlafen ", " sleeps sleep slept " },
    { " lacht lachen gelacht ", " laughs laugh laughed " },
    { " sieht sehen gesehen ", " sees see seen " }, { " hört hören gehört ", " hears hear heard " },
    { " malt malen gemalt ", " paints paint painted " },
    { " hilft helfen geholfen ", " helps help helped " },
    { " dankt danken gedankt ", " thanks thank thanked " },
    { " sagt sagen gesagt ", " says say said " },
    { " glaubt glauben geglaubt ", " believes believe believed " },
    { " kann können ", " can " }, { " will wollen ", " want wants " },
    { " hat haben ", " has have " },
    { " nicht ", " not " }, { " heute ", " today " }, { " jetzt ", " now " },
    { " hier ", " here " }, { " weil ", " because " }, { " wenn ", " when " },
    { " zwei ", " two " }, { " drei ", " three " }, { " vier ", " four " }, { " fünf ", " five " },
    { " sechs ", " six " }, { " sieben ", " seven " }, { " acht ", " eight " },
    { " neun ", " nine " }, { " zwanzig ", " twenty " }, { " dreißig ", " thirty " },
    { " vierzig ", " forty " }, { " fünfzig ", " fifty " }
};
enum { TOOLS_MEANINGS = sizeof tools_meanings / sizeof *tools_meanings };
#define TOOLS_FINITE " schläft schlafen lacht lachen sieht sehen hört hören malt malen hilft " \
    "helfen dankt danken sagt sagen glaubt glauben hat haben kann können will wollen "
#define TOOLS_PLURALS " dogs men teachers cats women mice children girls "
#define TOOLS_NUMBERS " zwei drei vier fünf sechs sieben acht neun zwanzig dreißig vierzig fünfzig "

/* Determiners that a noun form may have: by gender in the singular, and in the plural. */
static bool tools_agrees(const char *determiner, const char *noun)
{
    static const struct { const char *nouns, *determiners; } rules[] = {
        { " Hund Mann Lehrer ", " der den dem ein einen einem " },
        { " Katze Frau Maus ", " die der eine einer " },
        { " Kind Mädchen ", " das dem ein einem " },
        { " Hunde Männer Lehrer Katzen Frauen Mäuse Kinder Mädchen ", " die " TOOLS_NUMBERS },
        { " Hunden Männern Lehrern Katzen Frauen Mäusen Kindern Mädchen ", " den " TOOLS_NUMBERS }
    };
    for (int i = 0; i < 5; i++)
        if (tools_in(noun, rules[i].nouns) && tools_in(determiner, rules[i].determiners))
            return true;
    return false;
}

static void tools_check_german(const char *text)
{
    static char w[TOOLS_WORDS][TOOLS_WORD];
    int n = tools_words(text, w);
    bool joined = false, noun = false, before = false, inside = false;
    CHECK(n > 2 && !strcmp(w[n - 1], "."));
    for (int i = 0; i < n; i++, before = noun) {
        bool comma = !strcmp(w[i], ",");
        joined = joined || (i > 1 && tools_in(w[i], " dass weil wenn "));
        noun = false;
        for (int k = 0; k < 8; k++) noun = noun || tools_in(w[i], tools_meanings[k][0]);
        if (noun) {
            int d = i - 1;
            for (int k = 8; k < 12; k++) d -= tools_in(w[i - 1], tools_meanings[k][0]);
            if (d < 0 || !tools_agrees(w[d], w[i]))
                FAIL("%s: %s %s", text, d < 0 ? "" : w[d], w[i]);
        }
        if ((comma || i == n - 1) && inside && !tools_in(w[i - 1], TOOLS_FINITE))
            FAIL("%s: a relative clause ends in %s", text, w[i - 1]);
        if (comma)          /* after a noun a clause opens, unless one ends here */
            inside = before && !inside && tools_in(w[i + 1], " der die das den dem denen ");
    }
    if (joined && !tools_in(w[n - 2], TOOLS_FINITE)) FAIL("%s: ends in %s", text, w[n - 2]);
}

TEST(tools_grammar_rules)
{
    static char w[TOOLS_WORDS][TOOLS_WORD];
    for (int i = 0; i < 3000; i++) {
        const task_item *x = tools_make("translate", 3, TASK_TRAIN, i);
        tools_check_german(x->source);
        for (int m = 0; m < TOOLS_MEANINGS; m++) {
            int count[2] = { 0, 0 };
            for (int language = 0; language < 2; language++) {
                int n = tools_words(language ? x->target : x->source, w);
                for (int k = 0; k < n; k++)
                    count[language] += tools_in(w[k], tools_meanings[m][language]);
            }
            if (count[0] != count[1])
                FAIL("%s | %s: %s", x->source, x->target, tools_meanings[m][1]);
        }
    }
}

/* The first noun is the subject of the main verb, unless a clause comes before it. */
TEST(tools_agreement)
{
    static char w[TOOLS_WORDS][TOOLS_WORD];
    int plural = 0, all = 0;
    for (int i = 0; i < 2000; i++) {
        const task_item *x = tools_make("agreement", 5, TASK_TRAIN, i);
        int n = tools_words(x->source, w), at = 0, hidden = 0;
        for (int k = 0; k < n; k++) hidden += !strcmp(w[k], "_");
        CHECK_INT(hidden, 1);
        plural += x->label;
        CHECK(!strcmp(x->target, x->label ? "plural" : "singular"));
        if (tools_in(w[0], " because when ")) continue;
        for (bool found = false; !found; at += !found)
            for (int k = 0; k < 8; k++) found = found || tools_in(w[at], tools_meanings[k][1]);
        CHECK_INT(x->label, tools_in(w[at], TOOLS_PLURALS));
        all++;
    }
    CHECK(all > 1000 && plural > 900 && plural < 1100);
}

/* agent, verb, patient, tense, denial: the content of a fact without its adjectives */
static void tools_fact(int *fact, const char *text)
{
    static char w[TOOLS_WORDS][TOOLS_WORD];
    int n = tools_words(text, w), nouns = 0;
    bool passive = false;
    memset(fact, 0, 7 * sizeof *fact);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 8; k++)
            if (tools_in(w[i], tools_meanings[k][1])) {
                fact[2*nouns + 1] = tools_in(w[i], TOOLS_PLURALS);
                fact[2*nouns++] = k + 1;
            }
        for (int k = 12; k < 21; k++) if (tools_in(w[i], tools_meanings[k][1])) fact[4] = k;
        if (!strcmp(w[i], "by")) passive = true;
        if (tools_in(w[i], " has have ")) fact[5] = 1;
        if (!strcmp(w[i], "not")) fact[6] = 1;
    }
    CHECK_INT(nouns, 2);
    for (int k = 0; k < 2 && passive; k++) {
        int t = fact[k];
        fact[k] = fact[k + 2];
        fact[k + 2] = t;
    }
}
TEST(tools_entailment)
{
    int labels[3] = { 0, 0, 0 };
    for (int i = 0; i < 3000; i++) {
        const task_item *x = tools_make("entailment", 5, TASK_TRAIN, i);
        int a[7], b[7];
        tools_fact(a, x->source);
        tools_fact(b, x->second);
        CHECK_INT(x->label, memcmp(a, b, 6 * sizeof *a) ? 1 : a[6] == b[6] ? 0 : 2);
        CHECK(!strcmp(x->target, x->label == 1 ? "neutral" : x->label ? "contradiction"
                                 : "entailment"));
        labels[x->label]++;
    }
    for (int k = 0; k < 3; k++) CHECK(labels[k] > 900);
}

TEST(tools_headlines)           /* checked by eye */
{
    static const char *const wanted[] = {
        "old teacher helps teacher", "young child thanks young cats", "mouse thanks girl",
        "fast woman says fast teacher does not help small teachers", "young dog paints six mice"
    };
    for (int i = 0; i < 5; i++) {
        const task_item *x = tools_make("headline", 0, TASK_TRAIN, i);
        if (strcmp(x->target, wanted[i])) FAIL("\"%s\" is \"%s\"", x->source, x->target);
    }
}

TEST(tools_markov)              /* four words after each pair; 1.75 bits a word */
{
    enum { LINES = 20000 };
    static int seen[16][16][16];
    double bits = 0, words = 0;
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < LINES; i++) {
        const char *s = tools_make("markov", (uint64_t)i % 3, TASK_TRAIN, i / 3)->target;
        int w[32], n = (int)(strlen(s) + 1) / 3;
        CHECK(n >= 16 && n <= 32);
        for (int k = 0; k < n; k++)
            w[k] = (int)(strchr("bdfgklmn", s[3*k]) - "bdfgklmn") + 8 * (s[3*k + 1] == 'e');
        for (int k = 2; k < n; k++) seen[w[k - 2]][w[k - 1]][w[k]]++;
    }
    for (int a = 0; a < 16; a++)
        for (int b = 0; b < 16; b++) {
            int kinds = 0, sum = 0;
            for (int c = 0; c < 16; c++) kinds += seen[a][b][c] > 0, sum += seen[a][b][c];
            CHECK(kinds <= 4);
            for (int c = 0; c < 16; c++)
                if (seen[a][b][c]) bits -= seen[a][b][c] * log2((double)seen[a][b][c] / sum);
            words += sum;
        }
    CHECK_CLOSE(bits / words, 1.75, 0.003);
}

/* -- tasks: speech ----------------------------------------------------------------------------- */

TEST(tools_fft)
{
    double re[TASK_FFT], im[TASK_FFT], x[TASK_FFT];
    for (int i = 0; i < TASK_FFT; i++) {
        re[i] = x[i] = (double)tfn_random_normal(tfn_key_make(1), (uint64_t)i);
        im[i] = 0;
    }
    task_fft(re, im);
    for (int k = 0; k < TASK_FFT; k++) {
        double a = 0, b = 0;
        int reversed = 0;
        for (int i = 0; i < TASK_FFT; i++) {
            a += x[i] * cos(6.283185307179586 * k * i / TASK_FFT);
            b -= x[i] * sin(6.283185307179586 * k * i / TASK_FFT);
        }
        for (int bit = 1; bit < TASK_FFT; bit *= 2) reversed = 2*reversed + ((k & bit) != 0);
        CHECK_CLOSE(re[reversed], a, 1e-10);
        CHECK_CLOSE(im[reversed], b, 1e-10);
    }
}

TEST(tools_digits)
{
    static float features[TASK_FRAMES * TASK_BANDS];
    uint64_t h = 1;
    for (int i = 0; i < 60; i++) {
        const task_item *x = tools_make("digits", 0, TASK_TRAIN, i);
        int frames = task_features(features, x), digits = 1;
        for (const char *s = x->target; *s; s++) digits += *s == ' ';
        CHECK(frames >= 10 * digits && frames <= 25 * digits + 2 && frames < TASK_FRAMES);
        for (int k = 0; k < frames * TASK_BANDS; k++) {
            int32_t v = (int32_t)(64 * features[k]);
            CHECK(features[k] > -8 && features[k] < 12 && (float)v == 64 * features[k]);
            h = tools_hash(h, (uint8_t[2]){ (uint8_t)(v & 255), (uint8_t)(v >> 8 & 255) }, 2);
        }
    }
    if (h != UINT64_C(0xc841464f5d3d6165)) FAIL("the hash is %08lx%08lx", (unsigned long)(h >> 32),
                                 (unsigned long)(h & 0xffffffff));
    CHECK_INT(task_features(features, tools_make("copy", 0, TASK_TRAIN, 0)), 0);
}

/* -- tasks: splits and sizes ------------------------------------------------------------------- */

TEST(tools_same_everywhere)     /* in any order */
{
    uint64_t h = 1;
    for (int i = 0; i < 40; i++)
        for (int t = 0; task_at(t); t++)
            h = tools_item_hash(h, tools_make(task_at(t)->name, 11, (task_split)(i % 3), i));
    if (h != UINT64_C(0xf263defbc2cfdf85)) FAIL("the hash is %08lx%08lx", (unsigned long)(h >> 32),
                                 (unsigned long)(h & 0xffffffff));
    for (int t = 0; task_at(t); t++) {
        uint64_t a = tools_item_hash(1, tools_make(task_at(t)->name, 1, TASK_TRAIN, 5));
        tools_make(task_at(t)->name, 1, TASK_TRAIN, 6);
        CHECK(tools_item_hash(1, tools_make(task_at(t)->name, 1, TASK_TRAIN, 5)) == a);
        CHECK(tools_item_hash(1, tools_make(task_at(t)->name, 2, TASK_TRAIN, 5)) != a);
        CHECK(task_find(task_at(t)->name) == task_at(t));
    }
    CHECK(!task_find("nothing") && !task_at(-1));
}

static int tools_by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a / 3, y = *(const uint64_t *)b / 3;
    return (x > y) - (x < y);
}
TEST(tools_splits)              /* no source is in two splits, with any seeds */
{
    enum { N = 700 };
    static uint64_t told[3*N];
    for (int t = 0; task_at(t); t++) {
        bool target = !tools_make(task_at(t)->name, 0, TASK_TRAIN, 0)->source[0]
                    || !strcmp(task_at(t)->name, "translate");
        for (int i = 0; i < 3*N; i++) {
            task_split split = (task_split)(i % 3);
            const task_item *x = tools_make(task_at(t)->name, (uint64_t)(i % 5), split, i);
            const char *text = target ? x->target : x->source;
            told[i] = tools_hash(1, text, strlen(text)) / 3 * 3 + (uint64_t)split;
        }
        qsort(told, 3*N, sizeof *told, tools_by_value);
        for (int i = 1; i < 3*N; i++)
            if (told[i] / 3 == told[i - 1] / 3 && told[i] != told[i - 1])
                FAIL("%s: an item is in two splits", task_at(t)->name);
    }
}

TEST(tools_sizes)
{
    task_options o;
    int failures = 0;
    for (int t = 0; task_at(t); t++) {
        memset(&o, 0, sizeof o);
        o.min = o.max = o.symbols = 1 << 30;            /* limited to the most */
        for (int i = 0; i < 300; i++) {
            task_item *x = &tools_item;
            CHECK(task_make(x, task_at(t), &o, TASK_TRAIN, (uint64_t)i));
            CHECK(strlen(x->source) < TASK_BYTES - 1 && strlen(x->target) < TASK_BYTES - 1);
            CHECK(task_at(t)->tokens != TFN_TOKENIZER_WORDS || task_at(t)->kind == TASK_LABEL
                  || x->target[strlen(x->target) - 1] != ' ');
        }
        o.min = o.max = o.symbols = -5;
        CHECK(task_make(&tools_item, task_at(t), &o, TASK_TRAIN, 0) || task_at(t)->min > 1);
    }
    o.min = o.max = 1, o.symbols = 4;                   /* four sources: one split has none */
    for (int split = 0; split < 3; split++)
        failures += !task_make(&tools_item, task_find("copy"), &o, (task_split)split, 0);
    CHECK(failures > 0);
}

/* -- data: files and lines --------------------------------------------------------------------- */

static data_file tools_file(const char *text, size_t bytes)
{
    static char room[4096];
    data_file f;
    memset(&f, 0, sizeof f);
    memcpy(room, text, bytes);
    room[bytes] = 0;
    f.name = "x.tsv", f.bytes = room, f.size = bytes;
    return f;
}

TEST(tools_cosine)
{
    static const float x[] = { 1, 0, 2, 2, 0, 0 }, y[] = { 0, 1, 1, 1, 3, 4 };
    CHECK(isnan(data_cosine(x, y, 0, 2)));
    CHECK_CLOSE(data_cosine(x, y, 3, 2), 0.5, 1e-15);      /* cosines 0 and 1, and a row of zeros */
}

TEST(tools_lines)
{
    data_file f = tools_file("a b\tc\r\nd\te f\n\n", 14);
    data_lines x;
    data_classes classes;
    memset(&classes, 0, sizeof classes);
    CHECK(data_lines_init(&x, &f, DATA_PAIRS, NULL) && x.count == 2);
    CHECK(x.items[0].bytes[0] == 3 && x.items[0].bytes[1] == 1 && x.items[1].bytes[1] == 3);
    CHECK(!memcmp(x.items[1].text[1], "e f", 3));
    data_lines_free(&x);
    f = tools_file("yes\tA\tB\nno\tC\nyes\tD\n", 19);
    CHECK(data_lines_init(&x, &f, DATA_LABELS, &classes) && x.count == 3 && classes.count == 2);
    CHECK(x.items[0].label == 0 && x.items[1].label == 1 && x.items[2].label == 0);
    CHECK(x.items[0].bytes[1] == 1 && !x.items[1].bytes[1] && *x.items[1].text[0] == 'C');
    data_lines_free(&x);
    f = tools_file("one\n\ntwo", 8);
    CHECK(data_lines_init(&x, &f, DATA_MASKED, NULL) && x.count == 2);
    data_lines_free(&x);
}

static void tools_bad(const char *text, size_t bytes, data_kind kind, const char *message)
{
    data_file f = tools_file(text, bytes);
    data_lines x;
    data_classes classes;
    memset(&classes, 0, sizeof classes);
    strcpy(classes.name[0], "yes");
    classes.count = 1, classes.fixed = true;
    CHECK(!data_lines_init(&x, &f, kind, &classes));
    if (strcmp(x.error, message)) FAIL("\"%s\", not \"%s\"", x.error, message);
    data_lines_free(&x);
}
TEST(tools_bad_lines)
{
    tools_bad("a\tb\nc\n", 6, DATA_PAIRS, "x.tsv:2: 1 field, expected SOURCE tab TARGET");
    tools_bad("a\tb\tc\n", 6, DATA_PAIRS, "x.tsv:1: 3 fields, expected SOURCE tab TARGET");
    tools_bad("a\tb\n\nc\td", 8, DATA_PAIRS, "x.tsv:2: field 1 is empty, expected SOURCE tab TARGET");
    tools_bad("a\t\n", 3, DATA_PAIRS, "x.tsv:1: field 2 is empty, expected SOURCE tab TARGET");
    tools_bad("a\tb\0\n", 5, DATA_PAIRS, "x.tsv:1: a zero byte, expected text");
    tools_bad("", 0, DATA_PAIRS, "x.tsv: no line, expected SOURCE tab TARGET");
    tools_bad("yes\ta\nno\tb\n", 11, DATA_LABELS,
              "x.tsv:2: label \"no\", expected one of the 1 before it");
    tools_bad("a\tb\tc\td\te\tf", 11, DATA_LABELS,
              "x.tsv:1: 6 fields, expected LABEL tab A or LABEL tab A tab B");
}

TEST(tools_files)
{
    const char *path = "build/tools-file.tmp";
    FILE *out = fopen(path, "wb");
    static char longest[4096];      /* the longest path of Linux */
    data_file f;
    size_t n = 200001;
    if (!out) SKIP("no folder build");
    for (size_t i = 0; i < n; i++) fputc(i % 50 == 49 ? '\n' : 'a' + (int)(i % 26), out);
    fclose(out);
    CHECK(data_read(&f, path) && f.size == n && !f.bytes[n]);
    for (size_t i = 0; i < n && f.size == n; i++)
        if (f.bytes[i] != (i % 50 == 49 ? '\n' : 'a' + (int)(i % 26))) FAIL("byte %d", (int)i);
    n = data_cut(f.bytes, f.size);
    CHECK(n >= 180000 && n < 180100 && f.bytes[n - 1] == '\n');
    CHECK_INT(data_cut("abc", 3), 3);
    data_file_free(&f);
    remove(path);
    CHECK(!data_read(&f, "nowhere/nothing") && strstr(f.error, "/nothing: cannot be opened"));
    data_file_free(&f);
    for (size_t i = 0; i < sizeof longest - 1; i++) longest[i] = i % 200 ? 'a' : '/';
    CHECK(!data_read(&f, longest) && strstr(f.error, "a: cannot be opened: "));
    CHECK(!strncmp(f.error, longest, sizeof longest - 1));      /* whole */
    data_file_free(&f);
}

/* -- data: sets and batches -------------------------------------------------------------------- */

typedef struct tools_box {
    data_task task;
    data_tokenizer source, target;
    data_set set;
    data_batches batches;
} tools_box;
static tools_box tools_b;

/* n items of a generated task, with a tokenizer of its kind on each side. */
static tools_box *tools_begin(const char *name, data_kind kind, int64_t n, int32_t most,
                              int32_t batch, int32_t tokens, bool in_order)
{
    tools_box *x = &tools_b;
    tfn_tokenizer_desc d;
    data_set_options s;
    data_batch_options o;
    memset(x, 0, sizeof *x);
    memset(&d, 0, sizeof d);
    memset(&s, 0, sizeof s);
    memset(&o, 0, sizeof o);
    x->task.task = task_find(name);
    d.kind = x->task.task->tokens;
    d.words = 1000;
    d.mask = true;
    s.space = d.kind == TFN_TOKENIZER_WORDS;
    CHECK(data_tokenizer_init(&x->source, &d, data_get_task, &x->task, n,
                              kind == DATA_PAIRS ? DATA_FIRST : DATA_FIRST | DATA_SECOND, s.space));
    if (kind == DATA_PAIRS)
        CHECK(data_tokenizer_init(&x->target, &d, data_get_task, &x->task, n, DATA_SECOND,
                                  s.space));
    s.kind = kind, s.most = most;
    s.speech = x->task.task->kind == TASK_SPEECH;
    s.tokenizer = &x->source.tokenizer;
    s.target = kind == DATA_PAIRS ? &x->target.tokenizer : NULL;
    if (!data_set_init(&x->set, &s, data_get_task, &x->task, n)) FAIL("%s", x->set.error);
    o.batch = batch, o.tokens = tokens, o.in_order = in_order, o.seed = 3;
    if (!data_batches_init(&x->batches, &x->set, &o)) FAIL("%s", x->batches.error);
    return x;
}
static void tools_end(tools_box *x)
{
    data_batches_free(&x->batches);
    data_set_free(&x->set);
    data_tokenizer_free(&x->source);
    data_tokenizer_free(&x->target);
}

static uint64_t tools_batch_hash(const tfn_batch *b)
{
    size_t n = (size_t)b->batch * (size_t)b->time * sizeof(int32_t);
    uint64_t h = tools_hash(1, b->tokens, n);
    h = tools_hash(h, b->lengths, (size_t)b->batch * sizeof(int32_t));
    h = tools_hash(h, b->targets, b->segments ? (size_t)b->batch * sizeof(int32_t) : n);
    if (b->source) h = tools_hash(h, b->source, (size_t)b->batch * (size_t)b->source_time * 4);
    return h;
}

/* Decodes ids up to END into `text`. */
static const char *tools_text(const tfn_tokenizer *k, const int32_t *ids, char *text)
{
    ptrdiff_t n = 0;
    while (ids[n] != k->special[TFN_SPECIAL_EOS]) n++;
    text[tfn_tokenizer_decode(k, text, TASK_BYTES, ids, n)] = 0;
    return text + (text[0] == ' ');
}

static void tools_pairs(const char *name, int32_t batch, int32_t tokens)
{
    enum { N = 500 };
    static int seen[N];
    tools_box *x = tools_begin(name, DATA_PAIRS, N, 200, batch, tokens, false);
    data_batches *b = &x->batches;
    uint64_t first = 0, other = 0;
    char text[TASK_BYTES];
    CHECK_INT(x->set.count, N);
    for (int64_t p = 0; p < 3 * b->count; p++) {
        const tfn_batch *y = data_batch(b, p);
        int32_t pad = x->source.tokenizer.special[TFN_SPECIAL_PAD];
        if (p % b->count == 0) memset(seen, 0, sizeof seen);
        if (p == 0) first = tools_batch_hash(y);
        if (p == b->count) other = tools_batch_hash(y);
        CHECK(y->batch >= 1 && y->batch <= b->most_rows && y->time <= b->most_time);
        CHECK(y->source_time <= b->most_source && (!batch || y->batch <= batch));
        CHECK(!tokens || (y->batch * y->time <= tokens && y->batch * y->source_time <= tokens));
        for (int32_t r = 0; r < y->batch; r++) {
            const int32_t *row = y->tokens + r * y->time, *goal = y->targets + r * y->time;
            int32_t n = y->lengths[r], m = y->source_lengths[r], i = b->items[r];
            const int32_t *from = y->source + r * y->source_time;
            seen[i]++;
            task_make(&tools_item, x->task.task, &x->task.options, TASK_TRAIN, (uint64_t)i);
            CHECK(!strcmp(tools_text(&x->source.tokenizer, from, text), tools_item.source));
            CHECK(!strcmp(tools_text(&x->target.tokenizer, goal, text), tools_item.target));
            CHECK(from[m - 1] == x->source.tokenizer.special[TFN_SPECIAL_EOS]);
            CHECK(row[0] == goal[n - 1] && !memcmp(row + 1, goal, (size_t)(n - 1) * sizeof *row));
            for (int32_t t = n; t < y->time; t++) CHECK(row[t] == pad && goal[t] == -1);
            for (int32_t t = m; t < y->source_time; t++) CHECK(from[t] == pad);
        }
        for (int i = 0; i < N && (p + 1) % b->count == 0; i++) CHECK_INT(seen[i], 1);
    }
    CHECK(first != other);
    CHECK(tools_batch_hash(data_batch(b, b->count)) == other);         /* whatever came before */
    CHECK(tools_batch_hash(data_batch(b, 0)) == first);
    tools_end(x);
}
TEST(tools_pairs_by_rows) { tools_pairs("translate", 32, 0); tools_pairs("reverse", 7, 0); }
TEST(tools_pairs_by_tokens)
{
    tools_pairs("translate", 0, 1024);
    tools_pairs("add", 16, 100);
}

TEST(tools_token_batches_are_full)      /* similar lengths: little padding */
{
    tools_box *x = tools_begin("translate", DATA_PAIRS, 2000, 200, 0, 2048, false);
    int64_t cells = 0, used = 0;
    for (int64_t p = 0; p < x->batches.count; p++) {
        const tfn_batch *y = data_batch(&x->batches, p);
        cells += y->batch * y->time;
        for (int32_t r = 0; r < y->batch; r++) used += y->lengths[r];
    }
    CHECK((double)used / (double)cells > 0.85);
    CHECK(x->batches.count * 2048 < 3 * used);
    tools_end(x);
}

TEST(tools_in_order)
{
    tools_box *x = tools_begin("sort", DATA_PAIRS, 50, 60, 8, 0, true);
    for (int64_t p = 0; p < x->batches.count; p++) {
        uint64_t h = tools_batch_hash(data_batch(&x->batches, p));
        for (int32_t r = 0; r < x->batches.batch.batch; r++)
            CHECK_INT(x->batches.items[r], 8*p + r);
        CHECK(h == tools_batch_hash(data_batch(&x->batches, p + 5 * x->batches.count)));
    }
    tools_end(x);
}

TEST(tools_joined)
{
    tools_box *x = tools_begin("reverse", DATA_JOINED, 40, 60, 8, 0, true);
    const tfn_tokenizer *k = &x->source.tokenizer;
    const tfn_batch *y = data_batch(&x->batches, 2);
    char text[TASK_BYTES];
    CHECK(!y->source && y->batch == 8);
    for (int32_t r = 0; r < y->batch; r++) {
        const int32_t *row = y->tokens + r * y->time, *goal = y->targets + r * y->time;
        int32_t n = 0;
        task_make(&tools_item, x->task.task, &x->task.options, TASK_TRAIN, (uint64_t)(16 + r));
        CHECK(!strcmp(tools_text(k, row, text), tools_item.source));
        while (row[n] != k->special[TFN_SPECIAL_EOS]) CHECK_INT(goal[n++], -1);
        CHECK(!strcmp(tools_text(k, goal + n, text), tools_item.target));
        CHECK_INT(y->lengths[r], 2*n + 1);
    }
    tools_end(x);
}

TEST(tools_labels)
{
    for (int32_t most = 12; most <= 60; most += 48) {
        tools_box *x = tools_begin("entailment", DATA_LABELS, 60, most, 60, 0, true);
        const tfn_tokenizer *k = &x->source.tokenizer;
        const tfn_batch *y = data_batch(&x->batches, 0);
        char text[TASK_BYTES];
        CHECK(x->set.dropped == 0 && (x->set.cut > 0) == (most == 12));
        for (int32_t r = 0; r < y->batch; r++) {
            const int32_t *row = y->tokens + r * y->time, *part = y->segments + r * y->time;
            int32_t n = y->lengths[r], middle = 1;
            task_make(&tools_item, x->task.task, &x->task.options, TASK_TRAIN, (uint64_t)r);
            CHECK(n <= most && row[0] == k->special[TFN_SPECIAL_BOS]
                  && row[n - 1] == k->special[TFN_SPECIAL_EOS]);
            while (row[middle] != k->special[TFN_SPECIAL_EOS]) middle++;
            for (int32_t t = 0; t < n; t++) CHECK_INT(part[t], t > middle);
            CHECK_INT(y->targets[r], tools_item.label);
            if (most == 12) CHECK(n < 12 || abs(middle - 1 - (n - middle - 2)) < 2);
            else CHECK(!strcmp(tools_text(k, row + 1, text), tools_item.source)
                       && !strcmp(tools_text(k, row + middle + 1, text), tools_item.second));
        }
        tools_end(x);
    }
}

static void tools_windows(int64_t items, int32_t time, int32_t batch)
{
    tools_box *x = tools_begin("sentences", DATA_TEXT, items, time, batch, 0, false);
    data_batches *b = &x->batches;
    int64_t n = x->set.at[2 * x->set.count];
    int *seen = (int *)calloc((size_t)n, sizeof *seen), last = -1, same = 0;
    for (int64_t p = 0; p < 4 * b->count; p++) {
        const tfn_batch *y = data_batch(b, p);
        for (int32_t r = 0; r < y->batch; r++) {
            int64_t from, to;
            data_window(b, p / b->count, b->items[r], &from, &to);
            CHECK(to - from == y->lengths[r] && to > from && to - from <= time && to < n);
            for (int64_t i = from; i < to; i++) {
                CHECK_INT(y->tokens[r * y->time + i - from], x->set.ids[i]);
                CHECK_INT(y->targets[r * y->time + i - from], x->set.ids[i + 1]);
            }
            if (b->items[r] == 0) same += to == last, last = (int)to;
            for (int64_t i = from; i < to; i++) seen[i + 1]++;
        }
        for (int64_t i = 1; i < n && (p + 1) % b->count == 0; i++)
            CHECK_INT(seen[i], (p + 1) / b->count);
    }
    CHECK(same < 3 || n <= time + 1);           /* the cuts change */
    free(seen);
    tools_end(x);
}
TEST(tools_text_windows)
{
    for (int32_t time = 4; time < 40; time++) tools_windows(30, time, 3);
    tools_windows(2, 200, 8);
}

TEST(tools_masked)
{
    tools_box *x = tools_begin("entailment", DATA_MASKED, 1000, 60, 50, 0, false);
    const tfn_tokenizer *k = &x->source.tokenizer;
    double all = 0, chosen = 0, masked = 0, other = 0;
    uint64_t first = 0;
    for (int64_t p = 0; p < 5 * x->batches.count; p++) {
        const tfn_batch *y = data_batch(&x->batches, p);
        for (int32_t r = 0; r < y->batch; r++) {
            const int32_t *row = y->tokens + r * y->time, *goal = y->targets + r * y->time;
            const int64_t *at = x->set.at + 2 * x->batches.items[r];
            int32_t targets = 0;
            for (int32_t t = 0; t < y->lengths[r]; t++) {
                int64_t j = at[0] + t - 1 - (at[0] + t - 1 > at[1]);
                bool special = t == 0 || at[0] + t - 1 == at[1] || t == y->lengths[r] - 1;
                if (special) { CHECK(goal[t] < 0 && data_is_special(k, row[t])); continue; }
                all++;
                if (goal[t] < 0) { CHECK_INT(row[t], x->set.ids[j]); continue; }
                CHECK_INT(goal[t], x->set.ids[j]);
                targets++;
                if (row[t] == k->special[TFN_SPECIAL_MASK]) masked++;
                else {
                    other += row[t] != goal[t];
                    CHECK(!data_is_special(k, row[t]));
                }
            }
            for (int32_t t = y->lengths[r]; t < y->time; t++) CHECK_INT(goal[t], -1);
            CHECK(targets > 0);
            chosen += targets;
        }
        if (!p) first = tools_batch_hash(y);
        else CHECK(tools_batch_hash(y) != first);
    }
    CHECK(chosen / all > 0.145 && chosen / all < 0.17);     /* at least one: a little over 15 % */
    CHECK_CLOSE(masked / chosen, 0.8, 0.01);
    CHECK_CLOSE(other / chosen, 0.1, 0.01);
    CHECK(tools_batch_hash(data_batch(&x->batches, 0)) == first);
    tools_end(x);
}

static bool tools_refuse(data_item *item, void *user, int64_t i)
{
    return i < 2 && data_get_task(item, user, i);
}
TEST(tools_set_errors)
{
    tools_box *x = tools_begin("copy", DATA_PAIRS, 20, 60, 4, 0, false);
    data_set_options s = x->set.options;
    data_set set;
    data_batches b;
    data_batch_options o;
    tfn_tokenizer k = *s.tokenizer;
    memset(&o, 0, sizeof o);
    s.most = 10;
    CHECK(data_set_init(&set, &s, data_get_task, &x->task, 20) && set.count + set.dropped == 20);
    CHECK(set.dropped > 0 && set.count > 0);
    o.tokens = 5;
    CHECK(!data_batches_init(&b, &set, &o) && strstr(b.error, "batches of 5"));
    data_batches_free(&b);
    data_set_free(&set);
    s.most = 4;
    CHECK(!data_set_init(&set, &s, data_get_task, &x->task, 20) && strstr(set.error, "at most 4"));
    data_set_free(&set);
    CHECK(!data_set_init(&set, &s, tools_refuse, &x->task, 20) && strstr(set.error, "item 2"));
    data_set_free(&set);
    s.tokenizer = &k;
    k.special[TFN_SPECIAL_EOS] = -1;
    CHECK(!data_set_init(&set, &s, data_get_task, &x->task, 20) && strstr(set.error, "no </s>"));
    data_set_free(&set);
    tools_end(x);
}

TEST(tools_sounds)                  /* each once an epoch, its sound, then silence */
{
    enum { N = 30 };
    static float sound[TASK_FRAMES * TASK_BANDS];
    tools_box *x = tools_begin("digits", DATA_PAIRS, N, 64, 7, 0, false);
    int seen[N] = { 0 };
    char text[TASK_BYTES];
    CHECK_INT(x->set.count, N);
    for (int64_t p = 0; p < x->batches.count; p++) {
        const tfn_batch *y = data_batch(&x->batches, p);
        CHECK(!y->source && y->source_time % 4 == 3
              && y->source_time / 4 <= x->batches.most_source);
        for (int32_t r = 0; r < y->batch; r++) {
            const float *frames = y->frames + (ptrdiff_t)r * y->source_time * TASK_BANDS;
            int32_t i = x->batches.items[r], n, silent = y->source_lengths[r] * TASK_BANDS;
            seen[i]++;
            task_make(&tools_item, x->task.task, &x->task.options, TASK_TRAIN, (uint64_t)i);
            n = task_features(sound, &tools_item);
            CHECK(n == y->source_lengths[r] && n <= y->source_time);
            CHECK_BITS(frames, sound, (size_t)(n * TASK_BANDS) * sizeof *frames);
            for (; silent < y->source_time * TASK_BANDS; silent++)
                if (frames[silent] < 0 || frames[silent] > 0) FAIL("sound in the padding");
            CHECK(!strcmp(tools_text(&x->target.tokenizer, y->targets + r * y->time, text),
                          tools_item.target));
        }
    }
    for (int i = 0; i < N; i++) CHECK_INT(seen[i], 1);
    tools_end(x);
}

TEST(tools_batches_train)           /* a model accepts every kind of data_batch */
{
    static const struct { const char *task; data_kind kind; } rows[] = {
        { "sentences", DATA_TEXT }, { "translate", DATA_PAIRS }, { "reverse", DATA_JOINED },
        { "entailment", DATA_LABELS }, { "agreement", DATA_MASKED }, { "digits", DATA_PAIRS }
    };
    for (int i = 0; i < 6; i++) {
        tools_box *x = tools_begin(rows[i].task, rows[i].kind, i < 5 ? 200 : 40, 64, 8,
                                   i % 4 == 1 ? 400 : 0, false);
        tfn_model_desc d;
        tfn_model m;
        tfn_report report;
        char text[200];
        memset(&d, 0, sizeof d);
        d.vocab = x->source.tokenizer.vocab;
        if (i % 4 == 1 && x->target.tokenizer.vocab > d.vocab) d.vocab = x->target.tokenizer.vocab;
        d.context = x->batches.most_time, d.source_context = x->batches.most_source;
        d.batch = x->batches.most_rows;
        d.width = 16, d.layers = 1, d.heads = 1;
        d.arch = i % 4 == 1 ? TFN_ARCH_ENCODER_DECODER : i > 2 ? TFN_ARCH_ENCODER
            : TFN_ARCH_DECODER;
        d.segments = d.arch == TFN_ARCH_ENCODER ? 2 : 0;
        d.bands = i == 5 ? TASK_BANDS : 0;
        if (i == 3) d.head = TFN_HEAD_SEQUENCE, d.classes = 3;
        if (tfn_model_new(&m, &d, NULL) != TFN_OK) FAIL("%s", tfn_error_text(&m.error, text, 200));
        for (int64_t p = 0; p < 3; p++)
            if (tfn_model_step(&m, data_batch(&x->batches, p), &report) != TFN_OK)
                FAIL("%d: %s", i, tfn_error_text(&m.error, text, 200));
        CHECK(report.loss > 0 && report.loss < 10 && report.tokens > 0);
        tfn_model_free(&m);
        tools_end(x);
    }
}

TEST(tools_keep)            /* splits of a file: every line once, equal lines together */
{
    char text[4000] = "";
    int64_t sum = 0;
    data_file f;
    for (int i = 0; i < 300; i++) sprintf(text + strlen(text), "line %d\tx\n", i % 150);
    f = tools_file(text, strlen(text));
    for (int split = 0; split < 3; split++) {
        data_lines x;
        CHECK(data_lines_init(&x, &f, DATA_PAIRS, NULL));
        data_keep(&x, (task_split)split);
        CHECK(x.count % 2 == 0 && x.count > 0);
        sum += x.count;
        data_lines_free(&x);
    }
    CHECK_INT(sum, 300);
}

/* -- pictures ---------------------------------------------------------------------------------- */

/* Checks that tags close in order, attributes are in quotes, no bare & or <. Returns an error, or
 * NULL. */
static const char *tools_xml(const char *s)
{
    char open[32][16];
    int depth = 0, tags = 0;
    while (*s) {
        const char *name = ++s;
        size_t n;
        bool closing = *name == '/';
        if (name[-1] == '&') {
            if (strncmp(s, "lt;", 3) && strncmp(s, "gt;", 3) && strncmp(s, "amp;", 4)
                && strncmp(s, "quot;", 5)) return "an entity";
            continue;
        }
        if (name[-1] != '<') {
            if (name[-1] == '>' || (!depth && tags && name[-1] > ' ')) return "text";
            continue;
        }
        tags++;
        name += closing;
        for (s = name; *s && *s != '>'; s++)
            if (*s == '<') return "a < in a tag";
            else if (*s == '"') while (*++s != '"') if (!*s || *s == '<') return "an open quote";
        if (!*s++) return "an open tag";
        if (*name == '?') continue;
        n = strcspn(name, " />");
        if (closing) {
            if (!depth || strncmp(open[--depth], name, n) || open[depth][n]) return "a wrong end";
        } else if (s[-2] != '/') {
            if (depth == 32 || n > 15) return "too deep";
            snprintf(open[depth++], 16, "%.*s", (int)n, name);
        }
    }
    return depth || !tags ? "an open element" : NULL;
}

static char tools_page[1 << 18];
static size_t tools_read_back(FILE *f)
{
    size_t n;
    rewind(f);
    n = fread(tools_page, 1, sizeof tools_page - 1, f);
    tools_page[n] = 0;
    fclose(f);
    return n;
}
static void tools_draw(int picture, const void *what)
{
    FILE *f = tmpfile();
    const char *bad;
    if (!f) SKIP("no temporary file");
    if (picture == 0) svg_curves(f, (const svg_plot *)what);
    else if (picture == 1) svg_bars(f, (const svg_plot *)what);
    else svg_heat(f, (const svg_heat_map *)what);
    CHECK(tools_read_back(f) > 500);
    bad = tools_xml(tools_page);
    if (bad) FAIL("picture %d: %s", picture, bad);
    CHECK(!strstr(tools_page, "nan") && !strstr(tools_page, "inf"));
}
static void tools_print(const svg_plot *p)
{
    for (int bars = 0; bars < 2; bars++) {
        FILE *f = tmpfile();
        int column = 0;
        if (!f) SKIP("no temporary file");
        if (bars) plot_bars(f, p);
        else plot_curves(f, p);
        tools_read_back(f);
        for (const char *s = tools_page; *s; s++) {
            column = *s == '\n' ? 0 : column + 1;
            CHECK(column <= 80 && (*s == '\n' || (*s >= ' ' && *s < 127)));
        }
    }
}

TEST(tools_pictures)
{
    enum { N = 30 };
    double x[N], y[3][N], low[N], high[N], one[1] = { 5 }, none[2];
    static const char *const names[] = { "a <b> & \"c\"", "post", NULL };
    svg_curve c[3];
    svg_plot p;
    svg_heat_map h;
    memset(c, 0, sizeof c);
    memset(&p, 0, sizeof p);
    memset(&h, 0, sizeof h);
    none[0] = (double)NAN, none[1] = (double)INFINITY;
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < N; i++) {
            x[i] = i, y[k][i] = (k - 1) * exp(-0.1 * i) + 0.01 * i;
            low[i] = y[0][i] - 0.1, high[i] = y[0][i] + 0.1;
        }
        c[k].name = names[k], c[k].x = x, c[k].y = y[k], c[k].count = N, c[k].fit = k == 1;
    }
    y[0][7] = none[0], y[0][9] = none[1];
    c[0].low = low, c[0].high = high;
    p.title = "x < y & z > \"u\"", p.x_label = "step", p.y_label = "loss";
    p.curves = c, p.count = 3;
    for (int form = 0; form < 12; form++) {
        p.log_x = form & 1, p.log_y = form & 2;
        p.y_min = form & 4 ? 0.1 : 0, p.y_max = form & 4 ? 0.3 : 0;
        if (form >= 8) p.count = form - 8;
        if (form == 9) c[0].x = c[0].y = one, c[0].count = 1, c[0].low = c[0].high = NULL;
        if (form == 10) c[0].x = c[0].y = none, c[0].count = 2;
        tools_draw(0, &p);
        tools_draw(1, &p);
        tools_print(&p);
    }
    h.title = "beta", h.values = y[0], h.rows = 5, h.cols = 6;
    tools_draw(2, &h);
    h.values = none, h.rows = 1, h.cols = 2;
    tools_draw(2, &h);
    h.rows = 0;
    tools_draw(2, &h);
    CHECK(tools_xml("<a><b></a></b>") && tools_xml("<a>&x</a>") && tools_xml("<a b=\"></a>"));
    CHECK(!tools_xml("<a><b/>x &lt;</a>"));
}

TEST(tools_ticks)
{
    static const double ends[][2] = {
        { 0, 2.3 }, { -1, 1 }, { 0.001, 0.0011 }, { 1e5, 3e7 }, { 3, 3 }, { 0, 0 }, { -5, -5 },
        { 0.02, 900 }, { 1e-12, 1e12 }, { 9.99, 10.01 }
    };
    for (int i = 0; i < 10; i++)
        for (int log = 0; log < 2; log++) {
            svg_axis a;
            double low = ends[i][0], high = ends[i][1];
            a.log = log != 0;
            a.from = 0, a.to = 100;
            if (log && low <= 0) continue;
            svg_scale(&a, low, high, false, 6);
            CHECK(a.ticks >= 1 && a.ticks <= 14 && a.min < a.max);
            CHECK(a.min <= low + 1e-9 * fabs(low) && a.max >= high - 1e-9 * fabs(high));
            for (int k = 1; k < a.ticks; k++) CHECK(a.tick[k] > a.tick[k - 1]);
            CHECK_CLOSE(svg_place(&a, a.min), 0, 1e-9);
            CHECK_CLOSE(svg_place(&a, a.max), 100, 1e-9);
        }
    for (int i = -9; i < 9; i++) CHECK(svg_125(i) < svg_125(i + 1) && svg_below(svg_125(i)) == i);
}

TEST(tools_fit)
{
    double x[5] = { 1, 2, 4, 8, 16 }, y[5], slope, b;
    svg_curve c;
    memset(&c, 0, sizeof c);
    c.x = x, c.y = y, c.count = 5;
    for (int i = 0; i < 5; i++) y[i] = 3 / sqrt(x[i]);
    CHECK(svg_fit(&c, true, true, &slope, &b));
    CHECK_CLOSE(slope, -0.5, 1e-12);
    CHECK_CLOSE(exp(b), 3, 1e-12);
    for (int i = 0; i < 5; i++) y[i] = 1.25 * x[i] - 4;
    y[2] = (double)NAN;
    CHECK(svg_fit(&c, false, false, &slope, &b));
    CHECK_CLOSE(slope, 1.25, 1e-12);
    CHECK_CLOSE(b, -4, 1e-12);
    c.count = 1;
    CHECK(!svg_fit(&c, false, false, &slope, &b));
}

int main(void)
{
    RUN(tools_strings);
    RUN(tools_grammar_by_hand);
    RUN(tools_grammar_rules);
    RUN(tools_agreement);
    RUN(tools_entailment);
    RUN(tools_headlines);
    RUN(tools_markov);
    RUN(tools_fft);
    RUN(tools_digits);
    RUN(tools_same_everywhere);
    RUN(tools_splits);
    RUN(tools_sizes);
    RUN(tools_cosine);
    RUN(tools_lines);
    RUN(tools_bad_lines);
    RUN(tools_files);
    RUN(tools_keep);
    RUN(tools_pairs_by_rows);
    RUN(tools_pairs_by_tokens);
    RUN(tools_token_batches_are_full);
    RUN(tools_in_order);
    RUN(tools_joined);
    RUN(tools_labels);
    RUN(tools_text_windows);
    RUN(tools_masked);
    RUN(tools_set_errors);
    RUN(tools_sounds);
    RUN(tools_batches_train);
    RUN(tools_pictures);
    RUN(tools_ticks);
    RUN(tools_fit);
    return DONE();
}
