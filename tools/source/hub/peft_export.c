#include "peft.h"
#include "../ground/basics.h"
#include "../model/options.h"
#include "../model/resolve.h"
#include "../model/builder.h"
#include "../model/initial.h"
#include "../text/json.h"
#include "../files/files.h"
#include "../files/safetensors.h"
#include "../files/fields.h"
#include "export.h"
#include "import.h"
#include "keys.h"

/* Writes LoRA of a model as an adapter of PEFT. Builds on peft and export.
 *
 * PEFT has one A and one B for each module. If a module holds several maps, such as the queries,
 * keys and values of GPT-2, and their A are not the same, the maps are stacked: lora_A has the rows
 * of all A, and lora_B is block-diagonal. This is the same function with a higher rank. */
TFN__RARE

/* -- modules --------------------------------------------------------------------------------- */

/* A module, the maps that it holds, and their LoRA. a[p] is NULL for a map without LoRA. */
typedef struct tfn__peft_module {
    tfn__fusion        maps;
    const tfn_model   *m;
    const tfn__weight *a[TFN__FUSED_MOST], *b[TFN__FUSED_MOST];
    float              factor[TFN__FUSED_MOST]; /* alpha / rank of the map's group */
    int32_t            first;                   /* the first map with LoRA; -1: none has it */
    int32_t            rank;                    /* of the module */
    bool               common;                  /* all maps have the same A and factor */
} tfn__peft_module;

/* The name of the matrix of the map that a weight belongs to. A tied output has one, too. */
static void tfn__peft_matrix(const tfn__weight *w, char *name, size_t size)
{
    tfn__weight named = *w;
    tfn__text t = tfn__text_in(name, size);
    named.kind = TFN__MATRIX;
    tfn__weight_name(&named, &t);
    tfn__end(&t);
}

/* Add map p, whose matrix has this name, of the sub-layer of weight i. Returns false if the
 * sub-layer has no such matrix. */
static bool tfn__peft_add_map(tfn__peft_module *o, int32_t i, const char *matrix, int32_t p)
{
    const tfn_model *m = o->m;
    const tfn__spot at = tfn__spot_of(m->weights + i);
    char name[sizeof o->maps.part->info.name];
    const tfn_group *g;
    const tfn__weight *w = NULL;
    for (int32_t k = 0; k < m->weight_count; k++) {
        const tfn__weight *x = m->weights + k;
        if (x->layer != at.layer || x->stack != at.stack || x->sub != at.sub) continue;
        if (x->kind != TFN__MATRIX && x->kind != TFN__LORA_A) continue;
        tfn__peft_matrix(x, name, sizeof name);
        if (!w && tfn__equal(name, matrix)) w = x;
    }
    if (!w) return false;
    o->a[p] = tfn__find_weight(m->weights, m->weight_count, at, w->part, TFN__LORA_A);
    o->b[p] = tfn__find_weight(m->weights, m->weight_count, at, w->part, TFN__LORA_B);
    o->maps.part[p].info.cols = w->cols;
    if (!o->a[p]) return true;
    o->maps.part[p].info.cols = o->b[p]->cols;
    g = m->desc.groups + tfn__lora_group(&m->desc, at, w->part);
    o->factor[p] = g->alpha / (float)g->rank;
    o->rank += o->a[p]->cols;
    if (o->first < 0) o->first = p;
    return true;
}

/* True if all maps have LoRA with the same A, to the bit, and the same factor. */
static bool tfn__peft_same(const tfn__peft_module *o)
{
    const float *a;
    const float *other;
    for (int32_t p = 0; p < o->maps.parts; p++) {
        if (!o->a[p] || o->a[p]->cols != o->a[0]->cols) return false;
        if (o->factor[p] < o->factor[0] || o->factor[p] > o->factor[0]) return false;
        a = tfn__weight_data(o->m, o->a[0]);
        other = tfn__weight_data(o->m, o->a[p]);
        for (int64_t i = 0; i < (int64_t)o->a[0]->rows * o->a[0]->cols; i++)
            if (a[i] < other[i] || a[i] > other[i]) return false;
    }
    return true;
}

/* Find the module of weight i and all its maps. False: the family has no tensor for it. */
static bool tfn__peft_find_module(const tfn_family *family, const tfn_model *m, int32_t i,
                                  tfn__peft_module *o)
{
    char matrix[sizeof o->maps.part->info.name];
    const tfn_tensor_rule *rule;
    tfn__peft_matrix(m->weights + i, matrix, sizeof matrix);
    TFNORM_MEMSET(o, 0, sizeof *o);
    rule = tfn__tensor_rule(family, &m->desc, matrix, &o->maps.blanks);
    if (!rule || rule->parts > TFN__FUSED_MOST) return false;
    o->m = m;
    o->first = -1;
    o->maps.blanks.last = "weight";
    o->maps.parts = (int32_t)tfn__max(rule->parts, 1);
    for (int32_t p = 0; p < o->maps.parts; p++) {
        const tfn_tensor_rule *r = rule;
        if (o->maps.parts > 1) r = tfn__rule_of_part(family, rule->theirs, p);
        if (!r) return false;
        tfn__put_form(matrix, sizeof matrix, NULL, r->ours, &o->maps.blanks);
        o->maps.part[p].rule = r;
        if (!tfn__peft_add_map(o, i, matrix, p)) return false;
    }
    o->common = tfn__peft_same(o);
    if (o->common) o->rank = o->a[0]->cols;
    return true;
}

/* The alpha of the module: alpha / rank is the factor of its first map. */
static float tfn__peft_alpha_of(const tfn__peft_module *o)
{
    return o->factor[o->first] * (float)o->rank;
}

/* -- tensors --------------------------------------------------------------------------------- */

/* The state that the functions of a tfn__source share. */
typedef struct tfn__peft_writing {
    const tfn_export *x;
    const tfn_model  *m;
    bool              bare;             /* the model has no head, so names have no prefix */
} tfn__peft_writing;

/* Find the module of weight i if the adapter's tensor of that module is written at i: at A or B of
 * its first map with LoRA. */
static bool tfn__peft_leads(const tfn__peft_writing *g, int32_t i, tfn__peft_module *o)
{
    const tfn__weight *w = g->m->weights + i;
    if (!tfn__is_lora(w) || !tfn__peft_find_module(g->x->family, g->m, i, o)) return false;
    return w == o->a[o->first] || w == o->b[o->first];
}

static void tfn__peft_describe(const tfn__source *s, int32_t i, tfn_tensor *t)
{
    const tfn__peft_writing *g = (const tfn__peft_writing *)s->user;
    char prefix[TFN__PREFIX_ROOM] = "";
    char module[TFN__PEFT_NAME];
    const char *list = g->x->family->prefix;
    const bool is_a = g->m->weights[i].kind == TFN__LORA_A;
    tfn__peft_module o;
    tfn__text text = tfn__text_in(t->name, sizeof t->name);
    if (!tfn__peft_leads(g, i, &o)) return;
    if (g->bare || (o.maps.part->rule->form & TFN_FORM_HEAD)) list = NULL;
    if (list) tfn__next_word(&list, prefix, sizeof prefix);
    tfn__peft_module_name(module, sizeof module, prefix, o.maps.part->rule, &o.maps.blanks);
    tfn__put_texts(&text, tfn__peft_prefix, module, NULL);
    if (is_a) tfn__put(&text, ".lora_A.weight");
    else tfn__put(&text, ".lora_B.weight");
    tfn__end(&text);
    t->rank = 2;
    t->dtype = g->x->dtype;
    if (!t->dtype) t->dtype = TFN_DTYPE_F32;
    t->shape[!is_a] = o.rank;
    t->shape[is_a] = o.a[o.first]->rows;
    if (!is_a) t->shape[0] = tfn__outputs(o.maps.part, &g->m->desc);
    t->data = tfn__weight_data(g->m, g->m->weights + i);    /* not NULL; tfn__peft_values writes */
}

/* lora_A (rank, in): the rows of each A one after the other, or of the common A once. */
static void tfn__peft_pack_a(tfn__packing *p, const tfn__peft_module *o)
{
    for (int32_t k = 0; k < o->maps.parts; k++) {
        const tfn__weight *a = o->a[k];
        if (!a || (o->common && k > 0)) continue;
        for (int32_t r = 0; r < a->cols; r++)
            tfn__pack(p, tfn__weight_data(o->m, a) + r, a->rows, a->cols);
    }
}

/* lora_B (out, rank): each output has its column of B, and 0 where other maps have theirs. If a
 * map's factor is not the module's, its B is multiplied by their ratio. */
static void tfn__peft_pack_b(tfn__packing *p, const tfn__peft_module *o, const tfn_model_desc *d)
{
    const int64_t outputs = tfn__outputs(o->maps.part, d);
    for (int64_t j = 0; j < outputs; j++) {
        int64_t i = j;
        const int32_t part = tfn__part_at(&o->maps, d, &i);
        for (int32_t k = 0; k < o->maps.parts; k++) {
            const tfn__weight *b = o->b[k];
            float v;
            if (!b || (o->common && k != part)) continue;
            for (int32_t r = 0; r < b->rows; r++) {
                v = tfn__weight_data(o->m, b)[(int64_t)r * b->cols + (k == part) * i];
                v *= o->factor[k] / o->factor[o->first];
                if (k != part) v = 0;
                tfn__pack(p, &v, 1, 1);
            }
        }
    }
}

static void tfn__peft_pack(const tfn__peft_writing *g, int32_t i, tfn__packing *p)
{
    tfn__peft_module o;
    if (!tfn__peft_leads(g, i, &o)) return;
    if (g->m->weights[i].kind == TFN__LORA_A) tfn__peft_pack_a(p, &o);
    else tfn__peft_pack_b(p, &o, &g->m->desc);
}

static void tfn__peft_values(const tfn__source *s, int32_t i, tfn_file *f)
{
    const tfn__peft_writing *g = (const tfn__peft_writing *)s->user;
    tfn__packing p;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.f = f;
    p.dtype = g->x->dtype;
    if (!p.dtype) p.dtype = TFN_DTYPE_F32;
    tfn__peft_pack(g, i, &p);
    tfn__flush_values(&p);
}

/* -- adapter_config.json --------------------------------------------------------------------- */

/* The part of a module's name after the number of its layer, "attn.c_attn", or all of it. */
static const char *tfn__peft_short(const tfn_tensor_rule *rule, const char *name)
{
    const char *s = name;
    const char *form = rule->theirs;
    for (; *form; form++)
        if (*form == '#') break;
    if (!*form) return name;
    for (s += form - rule->theirs; *s; s++)
        if (*s == '.') return s + 1;
    return name;
}

/* True if the module of a weight has a name that ends like this, after a dot. */
static bool tfn__peft_ends(const tfn__peft_writing *g, const tfn__weight *w, const char *end)
{
    char name[TFN__PEFT_NAME];
    const size_t bytes = tfn__length(end);
    const tfn_tensor_rule *rule;
    tfn__blanks blanks;
    size_t all;
    if (w->kind != TFN__MATRIX && w->kind != TFN__LORA_A) return false;
    tfn__peft_matrix(w, name, sizeof name);
    rule = tfn__tensor_rule(g->x->family, &g->m->desc, name, &blanks);
    if (!rule) return false;
    blanks.last = "weight";
    tfn__peft_module_name(name, sizeof name, ".", rule, &blanks);
    all = tfn__length(name);
    return all > bytes && name[all - bytes - 1] == '.' && tfn__equal(name + (all - bytes), end);
}

/* True if all modules of the model whose names end like this have LoRA of the same rank and factor.
 * Then PEFT understands this end as the name of all of them. *first is the first that leads. */
static bool tfn__peft_shared(const tfn__peft_writing *g, const tfn__peft_module *o,
                             const char *end, int32_t *first)
{
    const float alpha = tfn__peft_alpha_of(o);
    tfn__peft_module other;
    *first = -1;
    for (int32_t i = 0; i < g->m->weight_count; i++) {
        if (!tfn__peft_ends(g, g->m->weights + i, end)) continue;
        if (!tfn__peft_find_module(g->x->family, g->m, i, &other)) continue;
        if (other.first < 0 || other.rank != o->rank) return false;
        if (tfn__peft_alpha_of(&other) < alpha || tfn__peft_alpha_of(&other) > alpha) return false;
        if (*first < 0 && tfn__peft_leads(g, i, &other)) *first = i;
    }
    return true;
}

/* Build the name under which the module of weight i is listed: only its end if that is enough.
 * False: weight i does not lead, or the name was listed with an earlier one. */
static bool tfn__peft_label(const tfn__peft_writing *g, int32_t i, tfn__peft_module *o, char *name,
                            size_t size)
{
    const char *end;
    int32_t first;
    if (g->m->weights[i].kind != TFN__LORA_A || !tfn__peft_leads(g, i, o)) return false;
    tfn__peft_module_name(name, size, NULL, o->maps.part->rule, &o->maps.blanks);
    end = tfn__peft_short(o->maps.part->rule, name);
    if (!tfn__peft_shared(g, o, end, &first)) return true;
    for (char *to = name; *to; to++, end++) {
        *to = *end;
        if (!*end) break;
    }
    return first == i;
}

/* Put the names of all modules, or those whose rank or alpha is not the first module's with their
 * own: ["attn.c_attn"] or {"attn.c_attn": 24}. */
enum { TFN__PEFT_NAMES, TFN__PEFT_OWN_RANKS, TFN__PEFT_OWN_ALPHAS };
static void tfn__peft_put_modules(const tfn__peft_writing *g, int what, tfn_file *f)
{
    char room[256];
    char name[TFN__PEFT_NAME];
    tfn__text t = tfn__text_in(room, sizeof room);
    tfn__peft_module o;
    tfn__peft_module usual;
    bool any = false;
    usual.first = -1;
    for (int32_t i = 0; i < g->m->weight_count; i++) {
        bool own = what == TFN__PEFT_NAMES;
        if (!tfn__peft_label(g, i, &o, name, sizeof name)) continue;
        if (usual.first < 0) usual = o;
        if (what == TFN__PEFT_OWN_RANKS) own = o.rank != usual.rank;
        if (what == TFN__PEFT_OWN_ALPHAS)
            own = tfn__peft_alpha_of(&o) < tfn__peft_alpha_of(&usual)
               || tfn__peft_alpha_of(&o) > tfn__peft_alpha_of(&usual);
        if (!own) continue;
        if (any) tfn__put(&t, ", ");
        any = true;
        tfn__put_texts(&t, "\"", name, "\"");
        if (what == TFN__PEFT_OWN_RANKS) tfn__put_int(&t, ": ", o.rank, NULL);
        if (what == TFN__PEFT_OWN_ALPHAS) {
            tfn__put(&t, ": ");
            tfn__put_float(&t, tfn__peft_alpha_of(&o));
        }
        tfn__flush_text(f, &t);
    }
}

/* The task by which PEFT chooses its class. If it is null, PEFT wraps any model. If it names a head
 * of classes, PEFT expects the head's weights in the adapter, too. */
static const char *tfn__peft_task(const tfn_model_desc *d)
{
    if (d->arch == TFN_ARCH_DECODER) return "\"CAUSAL_LM\"";
    if (d->arch == TFN_ARCH_ENCODER_DECODER) return "\"SEQ_2_SEQ_LM\"";
    return "null";
}

/* Find the first module. Its rank and alpha become the adapter's r and lora_alpha. False: there is
 * none. */
static bool tfn__peft_first(const tfn__peft_writing *g, tfn__peft_module *o)
{
    for (int32_t i = 0; i < g->m->weight_count; i++)
        if (tfn__peft_leads(g, i, o)) return true;
    return false;
}

/* Write adapter_config.json with the keys that every version of PEFT knows. */
static void tfn__peft_write_config(const tfn__peft_writing *g, tfn_file *f)
{
    char room[256];
    tfn__text t = tfn__text_in(room, sizeof room);
    tfn__peft_module o;
    if (!tfn__begin(f, true) || !tfn__peft_first(g, &o)) return;
    tfn__put(&t, "{\n  \"alpha_pattern\": {");
    tfn__flush_text(f, &t);
    tfn__peft_put_modules(g, TFN__PEFT_OWN_ALPHAS, f);
    tfn__put(&t, "},\n  \"base_model_name_or_path\": ");
    if (g->x->name) {
        tfn__put(&t, "\"");
        tfn__put_name(&t, g->x->name, f);
        tfn__put(&t, "\"");
    } else tfn__put(&t, "null");
    tfn__put(&t, ",\n  \"bias\": \"none\",\n  \"fan_in_fan_out\": ");
    if (o.maps.part->rule->form & TFN_FORM_TRANSPOSED) tfn__put(&t, "false");
    else tfn__put(&t, "true");
    tfn__put(&t, ",\n  \"inference_mode\": true,\n  \"init_lora_weights\": true,\n"
                 "  \"layers_pattern\": null,\n  \"layers_to_transform\": null,\n");
    tfn__flush_text(f, &t);
    tfn__put(&t, "  \"lora_alpha\": ");
    tfn__put_float(&t, tfn__peft_alpha_of(&o));
    tfn__put_int(&t, ",\n  \"lora_dropout\": 0.0,\n  \"modules_to_save\": null,\n"
                     "  \"peft_type\": \"LORA\",\n  \"r\": ", o.rank, ",\n  \"rank_pattern\": {");
    tfn__flush_text(f, &t);
    tfn__peft_put_modules(g, TFN__PEFT_OWN_RANKS, f);
    tfn__put(&t, "},\n  \"target_modules\": [");
    tfn__flush_text(f, &t);
    tfn__peft_put_modules(g, TFN__PEFT_NAMES, f);
    tfn__put_texts(&t, "],\n  \"task_type\": ", tfn__peft_task(&g->m->desc),
                   ",\n  \"use_rslora\": false\n}\n");
    tfn__flush_text(f, &t);
    tfn__finish_writing(f);
}

/* -- files ----------------------------------------------------------------------------------- */

/* Refuse models that an adapter cannot hold: without LoRA, or with other weights that train. */
static void tfn__peft_check_model(tfn_export *x, const tfn_model *m)
{
    char name[sizeof x->error.name];
    int group;
    tfn__check_whole(x, m);
    if (x->error.status == TFN_OK && !tfn__has_lora(&m->desc))
        tfn__fail(&x->error, TFN_UNSUPPORTED, "export", "groups: the model has no LoRA, which an "
                  "adapter consists of", 0, 0);
    if (x->error.status != TFN_OK) return;
    for (int32_t i = 0; i < m->weight_count; i++) {
        tfn__text t = tfn__text_in(name, sizeof name);
        if (tfn__is_lora(m->weights + i)) continue;
        tfn__weight_name(m->weights + i, &t);
        group = tfn__group_named(&m->desc, tfn__end(&t), false);
        if (group >= 0 && !m->desc.groups[group].frozen)
            tfn__fail_name(&x->error, TFN_UNSUPPORTED, "export", "groups: %s trains, but an "
                           "adapter of PEFT holds only LoRA", name);
    }
}

/* Refuse a map that the family has no tensor for, and values that the dtype cannot hold. */
static void tfn__peft_check_values(tfn_export *x, const tfn__peft_writing *g)
{
    tfn__peft_module o;
    tfn__packing p;
    for (int32_t i = 0; i < g->m->weight_count; i++) {
        char name[sizeof x->error.name];
        tfn__text t = tfn__text_in(name, sizeof name);
        if (!tfn__is_lora(g->m->weights + i) || x->error.status != TFN_OK) continue;
        tfn__weight_name(g->m->weights + i, &t);
        tfn__end(&t);
        if (!tfn__peft_find_module(x->family, g->m, i, &o))
            tfn__fail_name(&x->error, TFN_UNSUPPORTED, "export", "the family has no tensor for %s",
                           name);
        if (x->error.status != TFN_OK || !x->dtype || x->dtype == TFN_DTYPE_F32) continue;
        TFNORM_MEMSET(&p, 0, sizeof p);
        p.dtype = x->dtype;
        tfn__peft_pack(g, i, &p);
        if (!p.lost || (x->round && !p.beyond)) continue;
        tfn__fail_name(&x->error, TFN_UNSUPPORTED, "export", "%s has %d values that the dtype does "
                       "not hold: round them, or write F32", name);
        x->error.found = p.lost;
    }
}

static void tfn__peft_write_weights(const tfn__peft_writing *g, tfn_file *f)
{
    tfn__source s = { g, g->m->weight_count, tfn__peft_describe, NULL, tfn__peft_values };
    if (tfn__begin(f, true)) tfn__write_source(f, &s, tfn__work_of(f, tfn_export_work(g->m)));
}

/* Write one of the two files, to the folder or to the caller's file. */
static void tfn__peft_write_file(tfn_export *x, const tfn__peft_writing *g, bool config)
{
    tfn_file own;
    tfn_file *f = x->weights;
    if (config) f = x->config;
    if (x->error.status != TFN_OK || (!x->folder && !f)) return;
    TFNORM_MEMSET(&own, 0, sizeof own);
    if (x->folder) {
        f = &own;
        own.path = x->path;
        if (config)
            tfn__folder_path(&x->error, x->path, sizeof x->path, x->folder, "adapter_config.json");
        else
            tfn__folder_path(&x->error, x->path, sizeof x->path, x->folder,
                             "adapter_model.safetensors");
        if (x->error.status != TFN_OK) return;
    }
    if (config) tfn__peft_write_config(g, f);
    else tfn__peft_write_weights(g, f);
    x->error = f->error;
}

TFNORM_API tfn_status tfn_peft_write(tfn_export *x, const tfn_model *m)
{
    tfn__peft_writing g = { x, m, false };
    tfn_model_desc d;
    const char *pattern = NULL;
    bool heads = false;
    if (!x) return TFN_NULL;
    if (!tfn__begin_export(x, m)) return x->error.status;
    tfn__peft_check_model(x, m);
    tfn__check_dtype(x);
    if (x->error.status != TFN_OK) return x->error.status;
    d = m->desc;
    tfn__spell_out(&d);
    tfn__find_folder(x, &d);
    if (x->error.status == TFN_OK) tfn__peft_check_values(x, &g);
    if (x->error.status != TFN_OK) return x->error.status;
    tfn__class_of(x->family, &m->desc, &pattern, &heads);
    g.bare = heads && !pattern;
    for (int32_t i = 0; i < m->weight_count; i++) {
        tfn__peft_module o;
        x->tensors += tfn__peft_leads(&g, i, &o);
    }
    tfn__peft_write_file(x, &g, false);
    tfn__peft_write_file(x, &g, true);
    return x->error.status;
}
TFN__RARE_END
