/* The calls for other languages: options by name as texts, and places of members in structs. The
 * lists are compared with the header's structs, so that a new member cannot be forgotten. */
#include "../lib.h"
#include "../check.h"
#include "../header.h"

enum { FOREIGN_TEXT = 96 };

/* -- options by name --------------------------------------------------------------------------- */

/* Members without a text: pointers to memory and to rows of the user. */
static const char foreign_no_option[] =
    " parameters gradients moments workspace norm_rule decoder_norm_rule init_rule loss loss_user ";

static bool foreign_in_words(const char *words, const char *name)
{
    char text[80];
    snprintf(text, sizeof text, " %s ", name);
    return strstr(words, text) != NULL;
}

static bool foreign_is_option(const char *name)
{
    const size_t n = strlen(name);
    for (int32_t i = 0; tfn_desc_name(i); i++) {
        const char *option = tfn_desc_name(i);
        if (!strncmp(option, name, n) && (!option[n] || option[n] == '[')) return true;
    }
    return false;
}

static void foreign_cover(const char *type, const char *prefix)
{
    char member[64], name[80];
    for (int i = 0; header_member(type, i, member, sizeof member); i++) {
        snprintf(name, sizeof name, "%s%s", prefix, member);
        if (!strcmp(name, "schedule")) foreign_cover("tfn_schedule", "schedule.");
        else if (foreign_is_option(name) == foreign_in_words(foreign_no_option, name))
            FAIL("%s is %s", name, foreign_is_option(name) ? "an option" : "no option");
    }
}

TEST(foreign_all_options)
{
    int32_t count = 0;
    foreign_cover("tfn_model_desc", "");
    while (tfn_desc_name(count)) count++;
    CHECK(count > 70);
    CHECK(tfn_desc_name(-1) == NULL && tfn_desc_name(count + 1) == NULL);
}

/* The value is stored and read as the same text, and no other option changes. That text gives the
 * same description when set in an empty one, and "default" makes it empty again. */
static void foreign_set(const char *name, const char *value)
{
    tfn_model_desc d, again, empty;
    tfn_error e;
    char text[FOREIGN_TEXT], other[FOREIGN_TEXT], wanted[FOREIGN_TEXT], copy[FOREIGN_TEXT];
    memset(&empty, 0, sizeof empty);
    d = again = empty;
    snprintf(copy, sizeof copy, "%s", value);
    CASE("%s %s", name, value);
    if (tfn_desc_set(&d, name, copy, &e) != TFN_OK) {
        FAIL("%s", tfn_error_text(&e, other, sizeof other));
        return;
    }
    memset(copy, 'x', sizeof copy - 1);                 /* no pointer to it is kept */
    CHECK(tfn_desc_get(&d, name, text, sizeof text) == text);
    if (strcmp(text, value)) FAIL("is %s", text);
    for (int32_t i = 0; tfn_desc_name(i); i++) {
        if (!strcmp(tfn_desc_name(i), name)) continue;
        tfn_desc_get(&d, tfn_desc_name(i), other, sizeof other);
        tfn_desc_get(&empty, tfn_desc_name(i), wanted, sizeof wanted);
        if (strcmp(other, wanted)) FAIL("%s became %s", tfn_desc_name(i), other);
    }
    CHECK(tfn_desc_set(&again, name, text, NULL) == TFN_OK && !memcmp(&again, &d, sizeof d));
    CHECK(tfn_desc_set(&d, name, "default", &e) == TFN_OK && !memcmp(&d, &empty, sizeof d));
}

/* A number as the header writes it: shortest, "0.0003". */
static const char *foreign_number(const lib_limit *l, double v)
{
    static char text[FOREIGN_TEXT];
    tfn_model_desc d;
    const float real = (float)v;
    memset(&d, 0, sizeof d);
    if (!l->real) {
        snprintf(text, sizeof text, "%lld", (long long)v);
        return text;
    }
    memcpy((char *)&d + l->at, &real, sizeof real);
    return tfn_desc_get(&d, l->name, text, sizeof text);
}

static void foreign_refuses(const char *name, const char *value, tfn_status status,
                            const char *wanted)
{
    tfn_model_desc d, before;
    tfn_error e;
    char text[300];
    memset(&d, 0, sizeof d);
    d.vocab = d.context = 8;
    before = d;
    CASE("%s %s", name, value);
    CHECK_INT(tfn_desc_set(&d, name, value, &e), status);
    tfn_error_text(&e, text, sizeof text);
    if (strcmp(text, wanted) && wanted[0]) FAIL("\"%s\", not \"%s\"", text, wanted);
    CHECK(!memcmp(&d, &before, sizeof d));
    CHECK_INT(tfn_desc_set(&d, name, value, NULL), status);
}

/* The ends of each range, and values past them. */
TEST(foreign_numbers)
{
    lib_limit l;
    for (int i = 0; lib_limit_at(LIB_MODEL, i, &l); i++) {
        const double step = l.real ? 1e-6 * (l.most + 1) : 1;
        if (tfn_choice_at(l.name, 0) || !strcmp(l.name, "isa")) continue;
        foreign_set(l.name, foreign_number(&l, l.least));
        if (l.below) foreign_refuses(l.name, foreign_number(&l, l.most), TFN_BAD_OPTION, "");
        else if (l.most < 9e15 && (l.size > 4 || l.most < 2147483647))
            foreign_set(l.name, foreign_number(&l, l.most));
        if (!l.real && l.most >= 2147483647) continue;          /* the type's own limit */
        foreign_refuses(l.name, foreign_number(&l, l.most + step), TFN_BAD_OPTION, "");
        if (l.least - step != 0)
            foreign_refuses(l.name, foreign_number(&l, l.least - step), TFN_BAD_OPTION, "");
    }
    foreign_set("seed", "-1");
    foreign_set("seed", "9223372036854775807");
    foreign_set("schedule.lr", "0.0003");
}

/* Numbers in forms that people write. */
TEST(foreign_numbers_text)
{
    static const struct { double x; const char *text; } rows[] = {
        { 1.5, "1.5" }, { 1e18, "1e18" }, { 0.001, "0.001" }, { 3e-4, "0.0003" }, { 1e-4, "0.0001" },
        { 1e-5, "1e-5" }, { 2.5e-7, "2.5e-7" }, { -2.5e-7, "-2.5e-7" }, { 0, "0" }, { -0.0, "0" },
        { 1, "1" }, { -1, "-1" }, { 10, "10" }, { 65504, "65504" }, { 1e6, "1000000" },
        { 1.5e6, "1500000" }, { 1e7, "1e7" }, { 16777216, "16777216" }, { 9.6e9, "9.6e9" },
        { 0.1, "0.1" }, { -12.25, "-12.25" }, { 0.02, "0.02" }, { 0.999, "0.999" },
        { 3.4028235e38, "3.4028235e38" }, { 0.0123, "0.0123" }, { 1e-12, "1e-12" },
        { 99999.5, "99999.5" }, { 1e10, "1e10" }, { 1.4e-45, "1e-45" }, { HUGE_VAL, "0" }
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[FOREIGN_TEXT];
        tfn_model_desc d;
        memset(&d, 0, sizeof d);
        d.norm_eps = (float)rows[i].x;
        tfn_desc_get(&d, "norm_eps", text, sizeof text);
        if (strcmp(text, rows[i].text)) FAIL("%s is written %s", rows[i].text, text);
    }
}

/* The text of any number reads as the same number, in C and in the library. */
TEST(foreign_numbers_read_back)
{
    const tfn_key key = tfn_key_make(7);
    int seen = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        const uint32_t bits = (uint32_t)tfn_random_bits(key, i);
        char text[FOREIGN_TEXT];
        float x, y;
        tfn_model_desc d;
        memset(&d, 0, sizeof d);
        memcpy(&x, &bits, sizeof x);
        if (!(x - x >= 0)) continue;                            /* infinity and NaN have no text */
        d.norm_eps = x;
        tfn_desc_get(&d, "norm_eps", text, sizeof text);
        y = strtof(text, NULL);
        if (memcmp(&x, &y, sizeof x)) FAIL("%s is another number than %.9g", text, (double)x);
        if (tfn_desc_set(&d, "norm_eps", text, NULL) == TFN_OK) seen++;   /* else: out of range */
        if (memcmp(&x, &d.norm_eps, sizeof x)) FAIL("%s is read as %.9g", text, (double)d.norm_eps);
    }
    CHECK(seen > 2000);
}

TEST(foreign_truths_and_names)
{
    tfn_model_desc d;
    char text[FOREIGN_TEXT];
    memset(&d, 0, sizeof d);
    for (int32_t i = 0; tfn_desc_name(i); i++) {
        const char *name = tfn_desc_name(i);
        tfn_desc_get(&d, name, text, sizeof text);
        if (!strcmp(text, "false")) foreign_set(name, "true");
        for (int32_t k = 0; tfn_choice_at(name, k); k++)
            foreign_set(name, tfn_choice_at(name, k)->name);
    }
    for (int32_t i = 0; tfn_recipe_at(i); i++) foreign_set("recipe", tfn_recipe_at(i)->name);
    for (int32_t i = 0; tfn_norm_at(i); i++) foreign_set("norm", tfn_norm_at(i)->name);
    for (int32_t i = 0; tfn_norm_at(i); i++) foreign_set("decoder_norm", tfn_norm_at(i)->name);
    for (int32_t i = 0; tfn_init_at(i); i++) foreign_set("init", tfn_init_at(i)->name);
    for (int32_t i = 0; tfn_topology_at(i); i++) {
        foreign_set("topology", tfn_topology_at(i)->name);
        foreign_set("decoder_topology", tfn_topology_at(i)->name);
    }
    for (int isa = 0; isa < TFN_ISA_COUNT; isa++) {
        const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
        if (k && isa) foreign_set("isa", k->name);
    }
    foreign_set("isa", "best");
    foreign_set("groups[0]", "encoder.*.norm* rate=0.5 frozen");
    foreign_set("groups[3]", "*.weight");
}

/* Option, value, status, message. */
TEST(foreign_refused)
{
    static const struct {
        const char *name, *value;
        tfn_status status;
        const char *text;
    } rows[] = {
        { "widht", "8", TFN_NOT_FOUND, "model: no option is called widht; did you mean width?" },
        { "lr", "8", TFN_NOT_FOUND, "model: no option is called lr; did you mean schedule.lr?" },
        { "", "8", TFN_NOT_FOUND, "model: no option is called " },
        { "parameters", "8", TFN_NOT_FOUND, "" },
        { "layers", "two", TFN_BAD_OPTION, "model: layers is two; a whole number of 32 bits "
          "is expected" },
        { "layers", "2 ", TFN_BAD_OPTION, "" }, { "layers", "", TFN_BAD_OPTION, "" },
        { "layers", "2.5", TFN_BAD_OPTION, "" }, { "layers", "99999999999", TFN_BAD_OPTION, "" },
        { "layers", "-1", TFN_BAD_OPTION, "model: layers is -1; it must be at least 1" },
        { "schedule.steps", "x", TFN_BAD_OPTION, "model: schedule.steps is x; a whole number of "
          "64 bits is expected" },
        { "dropout", "1", TFN_BAD_OPTION, "model: dropout is 1; it must be below 1" },
        { "dropout", "nan", TFN_BAD_OPTION, "model: dropout is nan; a number is expected" },
        { "dropout", "1e99", TFN_BAD_OPTION, "" },
        { "untied", "yes", TFN_BAD_OPTION, "model: untied is yes; true or false is expected" },
        { "untied", "1", TFN_BAD_OPTION, "" },
        { "recipe", "pre-ln", TFN_NOT_FOUND, "model: recipe is pre-ln, which is not known here; "
          "did you mean pre?" },
        { "topology", "prre", TFN_NOT_FOUND, "model: topology is prre, which is not known here; "
          "did you mean pre?" },
        { "decoder_topology", "prre", TFN_NOT_FOUND, "model: decoder_topology is prre, which is not "
          "known here; did you mean pre?" },
        { "init", "xaviar", TFN_NOT_FOUND, "model: init is xaviar, which is not known here; did "
          "you mean xavier?" },
        { "norm", "rmsnrom", TFN_NOT_FOUND, "model: norm is rmsnrom, which is not known here; did "
          "you mean rmsnorm?" },
        { "decoder_norm", "rmsnrom", TFN_NOT_FOUND, "model: decoder_norm is rmsnrom, which is not "
          "known here; did you mean rmsnorm?" },
        { "position", "rotery", TFN_NOT_FOUND, "model: position is rotery, which is not known "
          "here; did you mean rotary?" },
        { "arch", "0", TFN_NOT_FOUND, "" },
        { "groups[0]", "*.weight fast", TFN_BAD_OPTION, "" },
        { "isa", "avx3", TFN_NOT_FOUND, "model: isa is avx3, which is not known here; did you "
          "mean avx2?" },
    };
    char name[400];
    tfn_model_desc d;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        foreign_refuses(rows[i].name, rows[i].value, rows[i].status, rows[i].text);
    memset(name, 'x', sizeof name - 1);                 /* longer than an error's name */
    name[sizeof name - 1] = 0;
    foreign_refuses(name, "1", TFN_NOT_FOUND, "");
    foreign_refuses("width", name, TFN_BAD_OPTION, "");
    foreign_refuses("norm", name, TFN_NOT_FOUND, "");
    memset(&d, 0, sizeof d);
    CHECK(tfn_desc_get(&d, "widht", name, sizeof name) == NULL);
    CHECK(!strcmp(tfn_desc_get(&d, "untied", name, 4), "fal"));
    CHECK(!strcmp(tfn_desc_get(&d, "isa", name, sizeof name), "best"));
    d.isa = (tfn_isa)-1;
    CHECK(!strcmp(tfn_desc_get(&d, "isa", name, sizeof name), ""));
}

/* A name with one letter too many: the error suggests that name, whichever it is. */
static void foreign_suggests(const char *option, const char *name)
{
    tfn_model_desc d = { 0 };
    tfn_error e;
    char given[FOREIGN_TEXT], wanted[3 * FOREIGN_TEXT], text[3 * FOREIGN_TEXT];
    snprintf(given, sizeof given, "%sZ", name);
    snprintf(wanted, sizeof wanted, "model: %s is %s, which is not known here; did you mean %s?",
             option, given, name);
    CASE("%s", given);
    CHECK_INT(tfn_desc_set(&d, option, given, &e), TFN_NOT_FOUND);
    if (strcmp(tfn_error_text(&e, text, sizeof text), wanted)) FAIL("%s", text);
}
TEST(foreign_suggestions)
{
    static const char *const rows[] = { "topology", "decoder_topology", "norm", "decoder_norm" };
    int names = 0;
    for (int32_t k = 0; tfn_desc_name(k); k++)
        for (int32_t i = 0; tfn_choice_at(tfn_desc_name(k), i); i++, names++)
            foreign_suggests(tfn_desc_name(k), tfn_choice_at(tfn_desc_name(k), i)->name);
    for (int32_t i = 0; tfn_recipe_at(i); i++, names++)
        foreign_suggests("recipe", tfn_recipe_at(i)->name);
    for (int32_t i = 0; tfn_init_at(i); i++, names++) foreign_suggests("init", tfn_init_at(i)->name);
    for (int k = 0; k < 2; k++)
        for (int32_t i = 0; tfn_topology_at(i); i++, names++)
            foreign_suggests(rows[k], tfn_topology_at(i)->name);
    for (int k = 2; k < 4; k++)
        for (int32_t i = 0; tfn_norm_at(i); i++, names++)
            foreign_suggests(rows[k], tfn_norm_at(i)->name);
    foreign_suggests("isa", "best");
    for (int isa = 1; isa < TFN_ISA_COUNT; isa++)
        if (tfn_kernels_for((tfn_isa)isa))
            foreign_suggests("isa", tfn_kernels_for((tfn_isa)isa)->name);
    CHECK(names > 150);
}

/* A model from texts equals the one from the struct, and its resolved options have texts. */
TEST(foreign_model)
{
    static const char *const texts[][2] = {
        { "vocab", "11" }, { "context", "8" }, { "width", "16" }, { "recipe", "b2t" },
        { "schedule.kind", "cosine" }, { "schedule.lr", "0.002" }, { "schedule.steps", "9" },
        { "seed", "5" }, { "threads", "1" }
    };
    tfn_model_desc by_name, d = { 0 };
    tfn_model a, b;
    char text[FOREIGN_TEXT];
    memset(&by_name, 0, sizeof by_name);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        CHECK(tfn_desc_set(&by_name, texts[i][0], texts[i][1], NULL) == TFN_OK);
    d.vocab = 11;
    d.context = 8;
    d.width = 16;
    d.recipe = "b2t";
    d.schedule.kind = TFN_SCHEDULE_COSINE;
    d.schedule.lr = (float)0.002;
    d.schedule.steps = 9;
    d.seed = 5;
    d.threads = 1;
    CHECK(d.schedule.lr == by_name.schedule.lr);
    CHECK(tfn_model_new(&a, &by_name, NULL) == TFN_OK && tfn_model_new(&b, &d, NULL) == TFN_OK);
    CHECK(tfn_model_hash(&a) == tfn_model_hash(&b));
    CHECK(!strcmp(tfn_desc_get(&a.desc, "topology", text, sizeof text), "b2t"));
    CHECK(!strcmp(tfn_desc_get(&a.desc, "ffn", text, sizeof text), "64"));
    tfn_model_free(&a);
    tfn_model_free(&b);
}

/* -- the layout of structs --------------------------------------------------------------------- */

/* Structs; whole: every member has a row, none is private. */
static const struct { const char *type; size_t size; bool whole; }
    foreign_structs[] = {
    { "tfn_error", sizeof(tfn_error), false },
    { "tfn_model_desc", sizeof(tfn_model_desc), false },
    { "tfn_model", sizeof(tfn_model), false },
    { "tfn_memory", sizeof(tfn_memory), true },
    { "tfn_batch", sizeof(tfn_batch), true },
    { "tfn_report", sizeof(tfn_report), true },
    { "tfn_sums", sizeof(tfn_sums), true },
    { "tfn_param_info", sizeof(tfn_param_info), true },
    { "tfn_decoder", sizeof(tfn_decoder), false },
    { "tfn_generate_desc", sizeof(tfn_generate_desc), true },
    { "tfn_generator", sizeof(tfn_generator), false },
    { "tfn_tokenizer_source", sizeof(tfn_tokenizer_source), true },
    { "tfn_tokenizer", sizeof(tfn_tokenizer), false },
    { "tfn_file", sizeof(tfn_file), false },
    { "tfn_tape", sizeof(tfn_tape), false },
    { "tfn_custom_op", sizeof(tfn_custom_op), false },
    { "tfn_custom_args", sizeof(tfn_custom_args), false },
    { "tfn_checkpoint", sizeof(tfn_checkpoint), true },
    { "tfn_export", sizeof(tfn_export), false }
};

/* The type of a member in its declaration, which begins at `from`: a type, then perhaps other names
 * before `name`. */
static char foreign_kind(const char *from, const char *end, const char *name)
{
    static const char *const reals[] = { "float", "double" };
    const char *last = end;
    bool pointer = false;
    while (strncmp(last, name, strlen(name))) last--;
    for (const char *s = last; s > from && *s != ','; s--) pointer = pointer || s[-1] == '*';
    if (pointer) return 'p';
    while (isspace((unsigned char)*from)) from++;
    if (!strncmp(from, "const ", 6)) from += 6;
    for (int i = 0; i < 2; i++)
        if (!strncmp(from, reals[i], strlen(reals[i]))) return 'r';
    if (!strncmp(from, "bool", 4)) return 'b';
    if (!strncmp(from, "char", 4)) return 't';
    for (const char *s = from; !isspace((unsigned char)*s); s++)
        if (!strncmp(s, "int", 3) || !strncmp(s, "size_t", 6)) return 'w';
    return 0;                           /* a struct or an enumeration */
}

/* Finds the declaration of a member: from the previous semicolon to the next comma or semicolon.
 * The header's text has no comments here. */
static char foreign_declared(const char *type, const char *name)
{
    char head[80];
    const char *s, *from;
    const size_t n = strlen(name);
    snprintf(head, sizeof head, "typedef struct %s {", type);
    s = strstr(header_text(), head);
    if (!s) return 0;
    from = s += strlen(head);
    for (; *s != '}'; s++) {
        if (*s == ';') from = s + 1;
        if (!strncmp(s, name, n) && strchr(",;[", s[n]) && !isalnum((unsigned char)s[-1])
            && s[-1] != '_') return foreign_kind(from, s, name);
    }
    return 0;
}

/* Members are in the order of their declarations and do not overlap. */
static void foreign_members(const char *type, size_t size, bool whole)
{
    char name[64];
    size_t end = 0;
    for (int i = 0; header_member(type, i, name, sizeof name); i++) {
        size_t at = SIZE_MAX, bytes = SIZE_MAX;
        const char kind = tfn_layout(type, name, &at, &bytes);
        const char wanted = foreign_declared(type, name);
        CASE("%s.%s", type, name);
        if (!kind) {
            CHECK(!whole && at == SIZE_MAX && bytes == SIZE_MAX);
            continue;
        }
        if (kind != wanted && !(wanted == 0 && (kind == 's' || kind == 'w')))
            FAIL("is '%c', declared is '%c'", kind, wanted ? wanted : '-');
        CHECK(at >= end && bytes > 0 && at + bytes <= size);
        end = at + bytes;
    }
}

TEST(foreign_layout)
{
    for (size_t i = 0; i < sizeof foreign_structs / sizeof *foreign_structs; i++) {
        const char *type = foreign_structs[i].type;
        size_t size = 0;
        size_t at = 1;
        CASE("%s", type);
        CHECK(tfn_layout(type, NULL, &at, &size) == 's' && at == 0);
        CHECK_INT(size, foreign_structs[i].size);
        CHECK(tfn_layout(type, "", NULL, NULL) == 's');
        foreign_members(type, size, foreign_structs[i].whole);
    }
    CASE("places");
    {
        size_t at = 0;
        size_t size = 0;
        CHECK(tfn_layout("tfn_report", "grad_norm", &at, &size) == 'r');
        CHECK(at == offsetof(tfn_report, grad_norm) && size == sizeof(float));
        CHECK(tfn_layout("tfn_model", "desc", &at, NULL) == 's');
        CHECK(at == offsetof(tfn_model, desc));
    }
    CHECK(tfn_layout("tfn_report", "los", NULL, NULL) == 0);
    CHECK(tfn_layout("tfn_reports", "loss", NULL, NULL) == 0);
    CHECK(tfn_layout(NULL, "loss", NULL, NULL) == 0);
}

/* Groups as texts: defaults are left out, and an invalid value is refused. */
TEST(foreign_groups)
{
    static const struct { const char *given, *text; } rows[] = {
        { "*.x rate=1 rank=2", "*.x rank=2" }, { "*.x decay=0", "*.x decay=0" },
        { "*.x rate=2", "*.x rate=2" },
        { "*.x rank=2 alpha=8 frozen", "*.x rank=2 alpha=8 frozen" },
        { "*.x rate=1x", NULL }, { "*.x rate=", NULL }, { "*.x rank=0", NULL },
        { "*.x rank=1e9", NULL }, { "*.x rank=1.5", NULL }, { "*.x rank=x", NULL }
    };
    tfn_model_desc d;
    tfn_error e;
    char text[FOREIGN_TEXT];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CASE("%s", rows[i].given);
        memset(&d, 0, sizeof d);
        CHECK((tfn_desc_set(&d, "groups[0]", rows[i].given, &e) == TFN_OK) == (rows[i].text != NULL));
        tfn_error_text(&e, text, sizeof text);
        if (!rows[i].text) CHECK(e.status == TFN_BAD_OPTION && strstr(text, "a pattern, then rate=R"));
        tfn_desc_get(&d, "groups[0]", text, sizeof text);
        CHECK(!strcmp(text, rows[i].text ? rows[i].text : "default"));
    }
    for (int value = -1; value <= TFN_ACTIVATION_COUNT; value += TFN_ACTIVATION_COUNT + 1) {
        CASE("activation %d", value);
        d.activation = (tfn_activation_kind)value;
        CHECK(tfn_desc_get(&d, "activation", text, sizeof text) == text && !text[0]);
    }
}

#undef tfn_error_text           /* without the check of check.h */
/* Texts of errors: a status that does not exist, a percent sign that is no placeholder. */
TEST(foreign_messages)
{
    static const struct { const char *text, *says; } rows[] = {
        { "100 % of %s", "part: 100 % of it" }, { "%d of %d, %", "part: 3 of 4, %" },
        { "%%s", "part: %it" }, { NULL, NULL }
    };
    tfn_error e;
    char text[FOREIGN_TEXT];
    CHECK(!strcmp(tfn_version(), TFNORM_VERSION));
    CHECK(!strcmp(tfn_status_text(TFN_STATUS_COUNT), "unknown status"));
    CHECK(!strcmp(tfn_status_text((tfn_status)-1), "unknown status"));
    CHECK(!strcmp(tfn_error_text(NULL, text, sizeof text), "error is NULL"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memset(&e, 0, sizeof e);
        e.status = TFN_BAD_FORMAT;
        e.op = "part";
        e.text = rows[i].text;
        e.node = -1;
        e.found = 3, e.wanted = 4;
        strcpy(e.name, "it");
        tfn_error_text(&e, text, sizeof text);
        if (!rows[i].text) CHECK(!strncmp(text, "part: ", 6) && !strcmp(text + 6, tfn_status_text(e.status)));
        else if (strcmp(text, rows[i].says)) FAIL("%s, not %s", text, rows[i].says);
    }
}

int main(void)
{
    RUN(foreign_all_options);
    RUN(foreign_numbers);
    RUN(foreign_numbers_text);
    RUN(foreign_numbers_read_back);
    RUN(foreign_truths_and_names);
    RUN(foreign_refused);
    RUN(foreign_suggestions);
    RUN(foreign_model);
    RUN(foreign_layout);
    RUN(foreign_groups);
    RUN(foreign_messages);
    return DONE();
}
