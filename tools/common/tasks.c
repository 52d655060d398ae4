/* Generators of tasks: strings, a German-like and an English-like grammar, spoken digits. */
#include "tasks.h"
#include "library.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static int task_below(task_draw *r, int n)
{
    return (int)(tfn_random_bits(r->key, r->at++) % (uint64_t)n);
}
static int task_size(task_draw *r) { return r->min + task_below(r, r->max - r->min + 1); }

static void task_add(char *text, const char *more)       /* cut to fit */
{
    size_t n = strlen(text);
    snprintf(text + n, TASK_BYTES - n, "%s", more);
}
/* Appends a word, after a space unless it is the first. */
static void task_word(char *text, const char *word)
{
    if (text[0] && word[0]) task_add(text, " ");
    task_add(text, word);
}

/* -- strings --------------------------------------------------------------------------------- */

static void task_letters(task_item *x, task_draw *r)
{
    int n = task_size(r);
    for (int i = 0; i < n; i++) x->source[i] = (char)('a' + task_below(r, r->symbols));
    x->source[n] = 0;
}
static void task_copy(task_item *x, task_draw *r)
{
    task_letters(x, r);
    task_add(x->target, x->source);
}
static void task_reverse(task_item *x, task_draw *r)
{
    int n;
    task_letters(x, r);
    n = (int)strlen(x->source);
    for (int i = 0; i < n; i++) x->target[i] = x->source[n - 1 - i];
    x->target[n] = 0;
}
static void task_sort(task_item *x, task_draw *r)
{
    char *to = x->target;
    task_letters(x, r);
    for (char c = 'a'; c <= 'z'; c++)
        for (const char *s = x->source; *s; s++)
            if (*s == c) *to++ = c;
    *to = 0;
}
/* Two numbers of min to max digits, without a leading zero. */
static void task_addition(task_item *x, task_draw *r)
{
    long sum = 0;
    for (int k = 0; k < 2; k++) {
        long n = 1 + task_below(r, 9);
        for (int digits = task_size(r); digits > 1; digits--) n = 10*n + task_below(r, 10);
        sum += n;
        if (k) strcat(x->source, "+");
        sprintf(x->source + strlen(x->source), "%ld", n);
    }
    sprintf(x->target, "%ld", sum);
}

/* -- a grammar: German-like and English-like -------------------------------------------------- */

/* A sentence is a tree without words; each language writes it by its own rules.
 *     German: the finite verb comes second in main clauses, last in others; other verb forms at the
 *     end; articles, pronouns and adjectives have case, gender and number; units before tens; an
 *     object may come first if its form differs from a subject's.
 *     English: subject, verb, object; "do" in negations; a or an; tens before units. */
enum { TASK_NOM, TASK_ACC, TASK_DAT };                          /* cases */
enum { TASK_SLEEP, TASK_SEE, TASK_HELP, TASK_SAY };             /* no object, acc, dat, "that" */
enum { TASK_PLURAL = 3 };                                       /* instead of a gender */

static const struct { const char *de[2], *en[2]; int gender; } task_nouns[] = {     /* m, f, n */
    { { "Hund", "Hunde" }, { "dog", "dogs" }, 0 },
    { { "Mann", "Männer" }, { "man", "men" }, 0 },
    { { "Lehrer", "Lehrer" }, { "teacher", "teachers" }, 0 },
    { { "Katze", "Katzen" }, { "cat", "cats" }, 1 },
    { { "Frau", "Frauen" }, { "woman", "women" }, 1 },
    { { "Maus", "Mäuse" }, { "mouse", "mice" }, 1 },
    { { "Kind", "Kinder" }, { "child", "children" }, 2 },
    { { "Mädchen", "Mädchen" }, { "girl", "girls" }, 2 }
};
static const struct { const char *de, *en; } task_adjectives[] = {
    { "alt", "old" }, { "jung", "young" }, { "klein", "small" }, { "schnell", "fast" }
};
static const struct { int kind; const char *de[3], *en[3]; } task_verbs[] = {
    /* finite singular; plural and infinitive; participle */
    { TASK_SLEEP, { "schläft", "schlafen", "geschlafen" }, { "sleeps", "sleep", "slept" } },
    { TASK_SLEEP, { "lacht", "lachen", "gelacht" }, { "laughs", "laugh", "laughed" } },
    { TASK_SEE, { "sieht", "sehen", "gesehen" }, { "sees", "see", "seen" } },
    { TASK_SEE, { "hört", "hören", "gehört" }, { "hears", "hear", "heard" } },
    { TASK_SEE, { "malt", "malen", "gemalt" }, { "paints", "paint", "painted" } },
    { TASK_HELP, { "hilft", "helfen", "geholfen" }, { "helps", "help", "helped" } },
    { TASK_HELP, { "dankt", "danken", "gedankt" }, { "thanks", "thank", "thanked" } },
    { TASK_SAY, { "sagt", "sagen", "gesagt" }, { "says", "say", "said" } },
    { TASK_SAY, { "glaubt", "glauben", "geglaubt" }, { "believes", "believe", "believed" } }
};
/* The finite word, "" for the verb itself, and the form of the verb: singular, plural; negated. */
static const struct { const char *de[2], *en[2], *en_not[2]; int form; } task_tenses[] = {
    { { "", "" }, { "", "" }, { "does not", "do not" }, 1 },
    { { "hat", "haben" }, { "has", "have" }, { "has not", "have not" }, 2 },
    { { "kann", "können" }, { "can", "can" }, { "can not", "can not" }, 1 },
    { { "will", "wollen" }, { "wants to", "want to" }, { "does not want to", "do not want to" }, 1 }
};
static const struct { const char *de, *en; } task_adverbs[] = {
    { "heute", "today" }, { "jetzt", "now" }, { "hier", "here" }
}, task_joints[] = { { "dass", "that" }, { "weil", "because" }, { "wenn", "when" } };
static const char *const task_units[][2] = {
    { "null", "zero" }, { "ein", "one" }, { "zwei", "two" }, { "drei", "three" },
    { "vier", "four" }, { "fünf", "five" }, { "sechs", "six" }, { "sieben", "seven" },
    { "acht", "eight" }, { "neun", "nine" }
};
static const char *const task_tens[][2] = {
    { "zwanzig", "twenty" }, { "dreißig", "thirty" }, { "vierzig", "forty" }, { "fünfzig", "fifty" }
};

#define TASK_MANY(rows) ((int)(sizeof(rows) / sizeof *(rows)))
#define TASK_ONE_OF(r, rows) task_below(r, TASK_MANY(rows))

static int task_plural(const task_np *x)
{
    return x->determiner == TASK_THE_MANY || x->determiner == TASK_COUNT;
}
static int task_gender(const task_np *x)
{
    if (task_plural(x)) return TASK_PLURAL;
    return task_nouns[x->noun].gender;
}

/* The case of the object. */
static int task_case(const task_clause *c)
{
    return task_verbs[c->verb].kind == TASK_HELP ? TASK_DAT : TASK_ACC;
}

static bool task_has_object(const task_clause *c)
{
    return task_verbs[c->verb].kind == TASK_SEE || task_verbs[c->verb].kind == TASK_HELP;
}

/* -- German */

static const char *const task_the[3][4] = {             /* m, f, n, plural */
    { "der", "die", "das", "die" }, { "den", "die", "das", "die" }, { "dem", "der", "dem", "den" }
};
static const char *const task_a[3][3] = {
    { "ein", "eine", "ein" }, { "einen", "eine", "ein" }, { "einem", "einer", "einem" }
};
static const char *const task_endings[3][3][4] = {      /* after the, a, a number */
    { { "e", "e", "e", "en" }, { "en", "e", "e", "en" }, { "en", "en", "en", "en" } },
    { { "er", "e", "es", "" }, { "en", "e", "es", "" }, { "en", "en", "en", "" } },
    { { "", "", "", "e" }, { "", "", "", "e" }, { "", "", "", "en" } }
};

static const char *task_pronoun(int grammatical_case, int gender)
{
    if (grammatical_case == TASK_DAT && gender == TASK_PLURAL) return "denen";
    return task_the[grammatical_case][gender];
}

/* A number 2..9 or 20..59; from 20 on: "drei und zwanzig", "twenty three". */
static void task_number(char *text, int n, int language)
{
    const char *tens = "";
    const char *unit = "";
    if (n >= 20) tens = task_tens[n / 10 - 2][language];
    if (n % 10) unit = task_units[n % 10][language];
    if (language == 0) {                        /* German: the unit first */
        task_word(text, unit);
        if (tens[0] && unit[0]) task_word(text, "und");
        task_word(text, tens);
    } else {
        task_word(text, tens);
        task_word(text, unit);
    }
}

static void task_german_np(char *text, const task_np *x, int grammatical_case)
{
    static const int row[] = { 0, 0, 1, 2 };            /* of task_endings, by determiner */
    int gender = task_gender(x);
    int plural = task_plural(x);
    const char *noun = task_nouns[x->noun].de[plural];
    if (x->determiner == TASK_COUNT) task_number(text, x->number, 0);
    else if (x->determiner == TASK_A) task_word(text, task_a[grammatical_case][gender]);
    else task_word(text, task_the[grammatical_case][gender]);
    if (x->adjective >= 0) {
        task_word(text, task_adjectives[x->adjective].de);
        task_add(text, task_endings[row[x->determiner]][grammatical_case][gender]);
    }
    task_word(text, noun);
    if (grammatical_case == TASK_DAT && plural && noun[strlen(noun) - 1] != 'n')
        task_add(text, "n");
}

static void task_comma(char *text)               /* unless there is one */
{
    if (text[strlen(text) - 1] != ',') task_add(text, ",");
}

static inline void task_german_clause(char *text, const task_sentence *s, const task_clause *c,
                                      const char *order);

/* Writes a subject or an object: the relative pronoun if the clause modifies it, else the noun and
 * its relative clause between commas. */
static void task_german_part(char *text, const task_sentence *s, const task_clause *c,
                             bool is_subject)
{
    const task_np *np = is_subject ? &c->subject : &c->object;
    const int grammatical_case = is_subject ? TASK_NOM : task_case(c);
    const int gap = is_subject ? TASK_SUBJECT_GAP : TASK_OBJECT_GAP;
    if (!is_subject && !task_has_object(c)) return;
    if (c->gap == gap) {
        task_word(text, task_pronoun(grammatical_case, task_gender(np)));
        return;
    }
    task_german_np(text, np, grammatical_case);
    if (np->relative < 0) return;
    const task_clause *relative = &s->clause[np->relative];
    task_comma(text);
    if (relative->gap == TASK_OBJECT_GAP) task_german_clause(text, s, relative, "OSNVF");
    else task_german_clause(text, s, relative, "SONVF");
    task_comma(text);
}

static void task_german_finite(char *text, const task_clause *c)
{
    const int many = task_plural(&c->subject);
    if (c->tense) task_word(text, task_tenses[c->tense].de[many]);
    else task_word(text, task_verbs[c->verb].de[many]);
}

/* Writes the parts of a clause in the order of its letters: Adverb, Subject, Finite verb, Object,
 * Not, Verb form that is not finite. */
static void task_german_clause(char *text, const task_sentence *s, const task_clause *c,
                               const char *order)
{
    for (; *order; order++)
        switch (*order) {
        case 'A': task_word(text, task_adverbs[c->adverb].de); break;
        case 'S': task_german_part(text, s, c, true); break;
        case 'F': task_german_finite(text, c); break;
        case 'O': task_german_part(text, s, c, false); break;
        case 'N':
            if (c->negated) task_word(text, "nicht");
            break;
        case 'V':
            if (c->tense) task_word(text, task_verbs[c->verb].de[task_tenses[c->tense].form]);
            break;
        }
}

void task_german(char *text, const task_sentence *s)
{
    static const char *const orders[] = { "SFONV", "AFSONV", "OFSNV", "FSONV" };
    int first = s->clause[0].first;
    text[0] = 0;
    for (int part = 0; part < 2; part++) {
        if (part == (first != TASK_CLAUSE_FIRST)) {     /* the other clause, before or after */
            if (s->joint < 0) continue;
            if (part) task_comma(text);
            task_word(text, task_joints[s->joint].de);
            task_german_clause(text, s, &s->clause[1], "SONVF");
            if (!part) task_comma(text);
        } else task_german_clause(text, s, &s->clause[0], orders[first]);
    }
    if (text[strlen(text) - 1] == ',') text[strlen(text) - 1] = 0;
    task_add(text, ".");
}

/* -- English */

static void task_english_np(char *text, const task_np *x, bool bare)
{
    const char *noun = task_nouns[x->noun].en[task_plural(x)];
    const char *adjective = "";
    char sound = *noun;                         /* the first letter after the article */
    if (x->adjective >= 0) {
        adjective = task_adjectives[x->adjective].en;
        sound = *adjective;
    }
    if (x->determiner == TASK_COUNT) task_number(text, x->number, 1);
    else if (!bare && x->determiner != TASK_A) task_word(text, "the");
    else if (!bare) task_word(text, strchr("aeiou", sound) ? "an" : "a");
    task_word(text, adjective);
    task_word(text, noun);
}

/* hidden: "_" for the finite verb */
static void task_english_verb(char *text, const task_clause *c, bool hidden)
{
    const int many = task_plural(&c->subject);
    int form = task_tenses[c->tense].form;
    char group[64] = "";
    if (c->tense == TASK_PRESENT && !c->negated) form = many;
    if (c->negated) task_add(group, task_tenses[c->tense].en_not[many]);
    else task_add(group, task_tenses[c->tense].en[many]);
    task_word(group, task_verbs[c->verb].en[form]);
    if (hidden) {
        task_word(text, "_");
        task_add(text, group + strcspn(group, " "));
    } else task_word(text, group);
}

static inline void task_english_clause(char *text, const task_sentence *s, const task_clause *c,
                                       bool hidden);

/* Writes a noun, then its relative clause. */
static void task_english_part(char *text, const task_sentence *s, const task_np *np)
{
    task_english_np(text, np, false);
    if (np->relative >= 0) task_english_clause(text, s, &s->clause[np->relative], false);
}

static void task_english_clause(char *text, const task_sentence *s, const task_clause *c,
                                bool hidden)
{
    if (c->gap) task_word(text, "that");
    if (c->gap != TASK_SUBJECT_GAP) task_english_part(text, s, &c->subject);
    task_english_verb(text, c, hidden);
    if (c->gap != TASK_OBJECT_GAP && task_has_object(c)) task_english_part(text, s, &c->object);
}

void task_english(char *text, const task_sentence *s, bool hidden)
{
    bool before = s->clause[0].first == TASK_CLAUSE_FIRST;
    text[0] = 0;
    if (s->clause[0].first == TASK_ADVERB_FIRST)
        task_word(text, task_adverbs[s->clause[0].adverb].en);
    for (int part = 0; part < 2; part++)
        if (part == before) task_english_clause(text, s, &s->clause[0], hidden);
        else if (s->joint >= 0) {
            task_word(text, task_joints[s->joint].en);
            task_english_clause(text, s, &s->clause[1], false);
            if (before) task_add(text, ",");
        }
    task_add(text, ".");
}

/* -- drawing sentences */

static task_np task_draw_np(task_draw *r)
{
    static const int determiners[] = { TASK_THE, TASK_THE, TASK_A, TASK_A, TASK_THE_MANY,
                                       TASK_THE_MANY, TASK_THE_MANY, TASK_COUNT };
    task_np x;
    x.noun = TASK_ONE_OF(r, task_nouns);
    x.adjective = -1;
    if (task_below(r, 2)) x.adjective = TASK_ONE_OF(r, task_adjectives);
    x.determiner = determiners[TASK_ONE_OF(r, determiners)];
    if (task_below(r, 2)) x.number = 2 + task_below(r, 8);
    else x.number = 20 + task_below(r, 40);
    x.relative = -1;
    return x;
}

static task_clause task_draw_clause(task_draw *r, int verbs)
{
    task_clause c;
    memset(&c, 0, sizeof c);
    c.verb = task_below(r, verbs);
    c.tense = task_below(r, TASK_TENSES);
    c.negated = task_below(r, 4) == 0;
    c.adverb = TASK_ONE_OF(r, task_adverbs);
    c.subject = task_draw_np(r);
    c.object = task_draw_np(r);
    return c;
}

/* Draws the role of the noun in its relative clause: subject, or object if the pronoun shows it. */
static void task_draw_relative(task_draw *r, task_sentence *s, task_np *x, int verbs)
{
    task_clause c = task_draw_clause(r, verbs);
    int gender = task_gender(x);
    int grammatical_case = task_case(&c);
    bool object = task_below(r, 2) && task_has_object(&c)
               && strcmp(task_pronoun(grammatical_case, gender), task_pronoun(TASK_NOM, gender));
    if (object) {
        c.gap = TASK_OBJECT_GAP;
        c.object = *x;
    } else {
        c.gap = TASK_SUBJECT_GAP;
        c.subject = *x;
    }
    x->relative = s->count;
    s->clause[s->count++] = c;
}

/* True if the object's form differs from a subject's. */
static bool task_shows_case(const task_clause *c)
{
    char object[TASK_BYTES] = "";
    char subject[TASK_BYTES] = "";
    task_german_np(object, &c->object, task_case(c));
    task_german_np(subject, &c->object, TASK_NOM);
    return task_has_object(c) && strcmp(object, subject);
}

/* Adds a relative clause to every second noun while there is room for a clause. */
static void task_maybe_relative(task_draw *r, task_sentence *s, task_np *x, int clauses,
                                int verbs)
{
    if (s->count < clauses && task_below(r, 2)) task_draw_relative(r, s, x, verbs);
}

/* A sentence of at most `clauses` clauses, 1 .. 6. */
static task_sentence task_draw_sentence(task_draw *r, int clauses)
{
    enum { ALL = TASK_MANY(task_verbs), SIMPLE = ALL - 2 };     /* the last two need a clause */
    task_sentence s;
    task_clause *c = s.clause;
    const int joined = clauses > 1 && task_below(r, 2);
    memset(&s, 0, sizeof s);
    s.joint = -1;
    s.count = 1 + joined;
    c[0] = task_draw_clause(r, joined ? ALL : SIMPLE);
    if (joined) {
        c[1] = task_draw_clause(r, SIMPLE);
        s.joint = 0;
        if (task_verbs[c->verb].kind != TASK_SAY) s.joint = 1 + task_below(r, 2);
    }
    for (int i = 0; i <= joined; i++) {
        task_maybe_relative(r, &s, &c[i].subject, clauses, SIMPLE);
        if (task_has_object(&c[i])) task_maybe_relative(r, &s, &c[i].object, clauses, SIMPLE);
    }
    const int first = task_below(r, 5);
    if (first == 0) c->first = TASK_ADVERB_FIRST;
    if (first == 1 && s.joint > 0) c->first = TASK_CLAUSE_FIRST;
    if (first == 2 && task_shows_case(c)) c->first = TASK_OBJECT_FIRST;
    return s;
}

/* -- tasks of the grammar -------------------------------------------------------------------- */

static void task_translate(task_item *x, task_draw *r)
{
    task_sentence s = task_draw_sentence(r, task_size(r));
    task_german(x->source, &s);
    task_english(x->target, &s, false);
}
static void task_sentences(task_item *x, task_draw *r)
{
    task_sentence s = task_draw_sentence(r, task_size(r));
    task_english(x->target, &s, false);
}

/* A headline states who does what in the simple present, whatever the tense was, without articles,
 * relative clauses, adverbs or reasons. The second sentence is a distractor. */
static void task_headline(task_item *x, task_draw *r)
{
    task_sentence s = task_draw_sentence(r, task_size(r)), more;
    int parts = task_verbs[s.clause[0].verb].kind == TASK_SAY ? 2 : 1;
    task_english(x->source, &s, false);
    more = task_draw_sentence(r, task_size(r));
    task_english(x->second, &more, false);
    task_word(x->source, x->second);
    x->second[0] = 0;
    for (int i = 0; i < parts; i++) {
        s.clause[i].tense = TASK_PRESENT;
        task_english_np(x->target, &s.clause[i].subject, true);
        task_english_verb(x->target, &s.clause[i], false);
        if (task_has_object(&s.clause[i])) task_english_np(x->target, &s.clause[i].object, true);
    }
}

/* The main verb is "_": is it singular or plural? (Linzen 2016.) Nouns of a relative clause are
 * between it and its subject. */
static void task_agreement(task_item *x, task_draw *r)
{
    task_sentence s = task_draw_sentence(r, task_size(r));
    task_clause *c = s.clause;
    if (c->tense == TASK_CAN) c->tense = TASK_PRESENT;          /* "can" has no plural form */
    if (c->subject.relative < 0 && s.count < TASK_CLAUSES)
        task_draw_relative(r, &s, &c->subject, TASK_MANY(task_verbs) - 2);
    task_english(x->source, &s, true);
    x->label = task_plural(&c->subject);
}

/* "the dog has not seen the cat", or "the cat has not been seen by the dog" */
static void task_fact(char *text, const task_clause *c, bool passive)
{
    static const char *const be[2][2] = { { "is", "are" }, { "has", "have" } };
    const bool perfect = c->tense == TASK_PERFECT;
    text[0] = 0;
    if (passive) {
        task_english_np(text, &c->object, false);
        task_word(text, be[perfect][task_plural(&c->object)]);
        if (c->negated) task_word(text, "not");
        if (perfect) task_word(text, "been");
        task_word(text, task_verbs[c->verb].en[2]);
        task_word(text, "by");
        task_english_np(text, &c->subject, false);
    } else {
        task_english_np(text, &c->subject, false);
        task_english_verb(text, c, false);
        task_english_np(text, &c->object, false);
    }
    task_add(text, ".");
}

/* Two facts about known beings. The second repeats the first, maybe with fewer adjectives, in the
 * active or the passive (entailment); or negates it (contradiction); or has another verb or the
 * roles exchanged (neutral). Either may have a "not", so the second by itself reveals nothing. */
static void task_entailment(task_item *x, task_draw *r)
{
    task_clause c = task_draw_clause(r, 1);
    int change = task_below(r, 2);
    c.verb = 2 + task_below(r, 5);
    c.tense = task_below(r, 2);
    c.negated = task_below(r, 2) != 0;
    c.subject.determiner = task_below(r, 2);
    c.object.determiner = task_below(r, 2);
    if (c.object.noun == c.subject.noun)
        c.object.noun = (c.subject.noun + 1 + task_below(r, 7)) % TASK_MANY(task_nouns);
    task_fact(x->source, &c, task_below(r, 2) != 0);
    if (task_below(r, 2)) c.subject.adjective = -1;
    if (task_below(r, 2)) c.object.adjective = -1;
    x->label = task_below(r, 3);
    if (x->label == 1 && change) c.verb = 2 + (c.verb - 2 + 1 + task_below(r, 4)) % 5;
    else if (x->label == 1) {
        task_np subject = c.subject;
        c.subject = c.object;
        c.object = subject;
    }
    if (x->label == 1) c.negated = task_below(r, 2) != 0;
    if (x->label == 2) c.negated = !c.negated;
    task_fact(x->second, &c, task_below(r, 2) != 0);
}

/* A language of known entropy. Each pair of words is followed by one of four words with
 * probabilities 1/2, 1/4, 1/8 and 1/8. So a word takes 1.75 bits = 1.2130 nats, and no model can do
 * better; the first two of a line are arbitrary. The four words are the same for all seeds. Lines
 * differ in length, so that windows of a text do not always begin at the same place of a line. */
static void task_markov(task_item *x, task_draw *r)
{
    int pair[2] = { 0, 0 }, n = task_size(r);
    for (int i = 0; i < n; i++) {
        char word[3] = "";
        int next = task_below(r, r->symbols);
        int row = 0;
        for (; row < 3; row++)
            if (!task_below(r, 2)) break;
        if (i > 1) {
            uint64_t state = (uint64_t)(pair[0] * r->symbols + pair[1]);
            tfn_key key = tfn_key_fold(tfn_key_make(0), state);
            next = (int)tfn_random_shuffle(key, row, r->symbols);
        }
        word[0] = "bdfgklmn"[next % 8];
        word[1] = "aeiou"[next / 8 % 5];
        task_word(x->target, word);
        pair[0] = pair[1];
        pair[1] = next;
    }
}

/* -- spoken digits ---------------------------------------------------------------------------- */

static void task_digits(task_item *x, task_draw *r)
{
    for (int n = task_size(r); n > 0; n--)
        task_word(x->target, task_units[task_below(r, 10)][1]);
}
enum { TASK_SAMPLES = (TASK_FRAMES - 1) * TASK_HOP + TASK_WINDOW };

/* Two tones for each digit glide from one pair of frequencies to another, like vowels' formants. */
static const double task_tones[10][4] = {
    { 300, 450, 2200, 900 },  { 650, 400, 900, 2300 },  { 350, 300, 1100, 850 },
    { 500, 300, 1700, 2500 }, { 450, 700, 800, 1100 },  { 700, 350, 1200, 2100 },
    { 380, 380, 2000, 2000 }, { 550, 550, 1800, 1300 }, { 480, 330, 2000, 2600 },
    { 750, 450, 1300, 2400 }
};

/* Writes one digit from sample `at` on, between pauses. Returns where it ends. */
static int task_say_digit(double *wave, int at, int digit, task_draw *r)
{
    const double *f = task_tones[digit];
    const double two_pi = 6.28318530717958648;
    double pitch = 0.9 + 0.2 * (double)tfn_random_uniform(r->key, 0), phase[2] = { 0, 0 };
    int n = 800 + task_below(r, 800);
    int pause = 160 + task_below(r, 240);
    for (int i = 0; i < n; i++) {
        double part = (double)i / n;
        double value = 0;
        for (int k = 0; k < 2; k++) {
            double hertz = pitch * (f[2*k] + (f[2*k + 1] - f[2*k]) * part);
            phase[k] += hertz / TASK_RATE;
            phase[k] -= phase[k] >= 1;
            value += library_sin(two_pi * phase[k]) / (1 + k);
        }
        if (at + i < TASK_SAMPLES) wave[at + i] += value * library_sin(two_pi / 2 * part);
    }
    return at + n + pause;
}

void task_fft(double *re, double *im)
{
    for (int half = TASK_FFT / 2; half; half /= 2)
        for (int j = 0; j < half; j++) {
            double angle = 3.14159265358979324 * j / half;
            double c = library_cos(angle);
            double s = library_sin(angle);
            for (int a = j; a < TASK_FFT; a += 2*half) {
                int b = a + half;
                double x = re[a] - re[b];
                double y = im[a] - im[b];
                re[a] += re[b];
                im[a] += im[b];
                re[b] = x*c + y*s;
                im[b] = y*c - x*s;
            }
        }
}

/* The frame's energy in triangular bands that overlap by half on the mel scale,
 * m(f) = 1127 ln(1 + f/700), from 100 Hz to 4 kHz. Logarithms in 64ths of a nat, so that the last
 * bit of a sum does not matter. */
static void task_bands(float *bands, const double *re, const double *im)
{
    double low = 1127 * library_log(1 + 100.0/700);
    double step = (1127 * library_log(1 + 4000.0/700) - low) / (TASK_BANDS + 1);
    double sum[TASK_BANDS] = { 0 };
    for (int k = 1; k < TASK_FFT / 2; k++) {
        int reversed = 0;
        double place, energy;
        for (int bit = 1; bit < TASK_FFT; bit *= 2)
            reversed = 2*reversed + ((k & bit) != 0);
        energy = re[reversed]*re[reversed] + im[reversed]*im[reversed];
        place = (1127 * library_log(1 + (double)k * TASK_RATE / TASK_FFT / 700) - low) / step;
        for (int m = 0; m < TASK_BANDS; m++) {
            double share = 1 - fabs(place - (m + 1));
            if (share > 0) sum[m] += share * energy;
        }
    }
    for (int m = 0; m < TASK_BANDS; m++)
        bands[m] = (float)(floor(64 * library_log(sum[m] + 1e-3) + 0.5) / 64);
}

int32_t task_features(float *features, const task_item *item)
{
    static const double two_pi = 6.28318530717958648;
    double wave[TASK_SAMPLES], re[TASK_FFT], im[TASK_FFT];
    task_draw r = { { 0 }, 1, 0, 0, 0 };
    const char *word = item->target;
    int end = 160, frames;
    r.key = item->key;
    for (int i = 0; i < TASK_SAMPLES; i++)
        wave[i] = 0.05 * ((double)tfn_random_uniform(r.key, UINT64_C(1) << 32 | (uint64_t)i) - 0.5);
    for (; *word; word += strcspn(word, " "), word += strspn(word, " "))
        for (int d = 0; d < 10; d++) {
            size_t n = strlen(task_units[d][1]);
            if (strcspn(word, " ") == n && !strncmp(word, task_units[d][1], n))
                end = task_say_digit(wave, end, d, &r);
        }
    frames = 0;
    if (end > 160) frames = (end - TASK_WINDOW) / TASK_HOP + 1;
    if (frames > TASK_FRAMES) frames = TASK_FRAMES;
    for (int t = 0; t < frames; t++) {
        memset(re, 0, sizeof re);
        memset(im, 0, sizeof im);
        for (int i = 0; i < TASK_WINDOW; i++)           /* Hann's window */
            re[i] = wave[t*TASK_HOP + i]
                  * (0.5 - 0.5 * library_cos(two_pi * (i + 0.5) / TASK_WINDOW));
        task_fft(re, im);
        task_bands(features + t*TASK_BANDS, re, im);
    }
    return frames;
}

/* -- the table -------------------------------------------------------------------------------- */

static const task task_rows[] = {
    { "reverse", TASK_PAIR, "abcd -> dcba", "a string backwards; sizes: letters",
      5, 8, 500, 8, 26, TFN_TOKENIZER_CHARACTERS, false, { NULL }, task_reverse },
    { "copy", TASK_PAIR, "abcd -> abcd", "a string again; sizes: letters",
      5, 12, 500, 16, 26, TFN_TOKENIZER_CHARACTERS, false, { NULL }, task_copy },
    { "sort", TASK_PAIR, "dbca -> abcd", "its letters in order; sizes: letters",
      5, 12, 500, 16, 26, TFN_TOKENIZER_CHARACTERS, false, { NULL }, task_sort },
    { "add", TASK_PAIR, "345+78 -> 423", "the sum of two numbers; sizes: digits of each",
      1, 4, 8, 2, 2, TFN_TOKENIZER_CHARACTERS, false, { NULL }, task_addition },
    { "translate", TASK_PAIR, "weil er sieht, ... -> because he sees ...",
      "German-like to English-like sentences; sizes: most clauses",
      1, 3, 6, 2, 2, TFN_TOKENIZER_WORDS, true, { NULL }, task_translate },
    { "headline", TASK_PAIR, "two sentences -> who does what",
      "the headline of two English-like sentences; sizes: most clauses of each",
      1, 3, 6, 2, 2, TFN_TOKENIZER_WORDS, false, { NULL }, task_headline },
    { "agreement", TASK_LABEL, "the dogs that see the cat _ -> plural",
      "the number of the hidden verb (Linzen 2016); sizes: most clauses",
      1, 4, 6, 2, 2, TFN_TOKENIZER_WORDS, false, { "singular", "plural" }, task_agreement },
    { "entailment", TASK_LABEL, "A, B -> does A say B?", "two facts: does one say the other?",
      1, 1, 1, 2, 2, TFN_TOKENIZER_WORDS, false, { "entailment", "neutral", "contradiction" },
      task_entailment },
    { "sentences", TASK_TEXT, "the dog sleeps.",
      "English-like sentences, one a line; sizes: most clauses",
      1, 4, 6, 2, 2, TFN_TOKENIZER_WORDS, true, { NULL }, task_sentences },
    { "markov", TASK_TEXT, "p(w | u, v) = 1/2, 1/4, 1/8, 1/8",
      "words of exactly 1.75 bits each; sizes: words of a line",
      16, 32, 300, 16, 40, TFN_TOKENIZER_WORDS, true, { NULL }, task_markov },
    { "digits", TASK_SPEECH, "sound -> three seven one",
      "spoken digits as 24 log-mel bands, 100 frames a second; sizes: digits",
      2, 5, 5, 2, 2, TFN_TOKENIZER_WORDS, true, { NULL }, task_digits }
};

const task *task_at(int i)            /* NULL: past the end */
{
    if (i < 0 || i >= TASK_MANY(task_rows)) return NULL;
    return &task_rows[i];
}

const task *task_find(const char *name)
{
    for (int i = 0; task_at(i); i++)
        if (!strcmp(task_at(i)->name, name)) return task_at(i);
    return NULL;
}

task_split task_split_of(const char *text, size_t bytes)
{
    tfn_key key = { UINT64_C(14695981039346656037) };
    for (size_t i = 0; i < bytes; i++) key.bits = (key.bits ^ (uint8_t)text[i]) * 1099511628211u;
    switch (tfn_random_bits(key, 0) % 16) {
    case 0: return TASK_TEST;
    case 1: return TASK_VALID;
    default: return TASK_TRAIN;
    }
}

static int task_clip(int x, int least, int most)
{
    if (x < least) return least;
    if (x > most) return most;
    return x;
}

/* The size that was asked for (0: the task's own), within bounds. */
static int task_wanted(int asked, int own, int least, int most)
{
    return task_clip(asked ? asked : own, least, most);
}

bool task_make(task_item *item, const task *t, const task_options *o, task_split split, uint64_t i)
{
    tfn_key key = tfn_key_fold(tfn_key_make(o->seed), (uint64_t)(t - task_rows));
    key = tfn_key_fold(tfn_key_fold(key, (uint64_t)split), i);
    for (uint64_t again = 0; again < 4096; again++) {
        const char *told = t->by_target ? item->target : item->source;
        task_draw r;
        r.key = tfn_key_fold(key, again);
        r.at = 0;
        r.min = task_wanted(o->min, t->min, 1, t->most);
        r.max = task_wanted(o->max, t->max, r.min, t->most);
        r.symbols = task_wanted(o->symbols, t->symbols, 4, t->most_symbols);
        item->source[0] = item->second[0] = item->target[0] = 0;
        item->label = 0;
        t->make(item, &r);
        item->key = tfn_key_fold(r.key, UINT64_MAX);
        if (t->kind == TASK_LABEL) task_add(item->target, t->classes[item->label]);
        if (task_split_of(told, strlen(told)) == split) return true;
    }
    return false;
}
