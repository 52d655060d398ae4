/* -- files ----------------------------------------------------------------------------------- */

#if !defined TFNORM_NO_FILES && !defined TFNORM_ONLY_KERNELS
/* Where bytes come from or go to. Begin with { 0 } and set a path, memory, or callbacks; without
 * any of them, bytes that are written are only counted. The path is the caller's text: keep it
 * while the file, or its error, is in use. The first error stays, and calls return it.
 *
 * A path is replaced whole or not at all. The bytes go to a temporary file in the same folder,
 * PATH.PROCESS-XXXXXX.tmp, which is renamed when it is complete and, where tfn_io_durable says so,
 * on the disk. Two programs may write one path at the same time: the last one wins. A program that
 * is killed leaves its temporary file, which you may delete; it never blocks a later one.
 * - A symbolic link stays a link, and the file that it leads to is replaced.
 * - Only a regular file is replaced. A folder, a device, a pipe or a socket is an error.
 * - A new file has the mode that the umask allows. A replaced file keeps its mode, group and owner;
 *   if the system refuses the group, its members keep only what all others may do. Access control
 *   lists are not copied: on Windows the new file has those of its folder.
 * - The temporary file is created exclusively, so that it never writes through a link, and while it
 *   is written it is not more readable than the file that it replaces.
 * On a system that is neither POSIX nor Windows (tfn_io_durable says "no"), the C library knows
 * neither links nor modes, and only a C11 compiler creates files exclusively. */
typedef struct tfn_io {
    bool   (*read)(void *user, uint64_t at, void *to, size_t bytes);      /* all, or false */
    bool   (*write)(void *user, const void *from, size_t bytes);          /* the next ones */
    void    *user;
    uint64_t size;                      /* bytes that can be read */
} tfn_io;

typedef struct tfn_file {
    tfn_error     error;
    const char   *path;
    const void   *from;                 /* read here, or write there */
    void         *to;
    size_t        from_size, to_size;
    const tfn_io *io;
    void         *work;                 /* of a call, or from open to close; NULL: malloc */
    size_t        work_size;
    uint64_t      used;                 /* bytes that the last call wrote, or that there are */
    void         *stream, *owned, *entries;          /* from here on private */
    uint64_t      data;                 /* where the tensors' bytes begin */
    uint64_t      temporary;            /* the number in the name of the temporary file */
    uint8_t      *header;
    size_t        header_size, metadata, metadata_end;
    int32_t      *order, count;
    bool          counts;
} tfn_file;

/* "fsync", "commit" (Windows), or "no": then a crash of the system may lose what was written. */
TFNORM_API const char *tfn_io_durable(void);

/* In the order in which files have them. */
typedef enum tfn_dtype {
    TFN_DTYPE_DEFAULT = 0,              /* F32 */
    TFN_DTYPE_U64, TFN_DTYPE_I64, TFN_DTYPE_F64, TFN_DTYPE_C64, TFN_DTYPE_F32, TFN_DTYPE_U32,
        TFN_DTYPE_I32, TFN_DTYPE_BF16, TFN_DTYPE_F16, TFN_DTYPE_U16,
    TFN_DTYPE_I16, TFN_DTYPE_F8_E5M2FNUZ, TFN_DTYPE_F8_E4M3FNUZ, TFN_DTYPE_F8_E8M0,
        TFN_DTYPE_F8_E4M3, TFN_DTYPE_F8_E5M2, TFN_DTYPE_I8,
    TFN_DTYPE_U8, TFN_DTYPE_F6_E3M2, TFN_DTYPE_F6_E2M3, TFN_DTYPE_F4, TFN_DTYPE_BOOL,
        TFN_DTYPE_COUNT
} tfn_dtype;

typedef struct tfn_tensor {
    char        name[128];
    tfn_dtype   dtype;                  /* 0: F32 */
    int32_t     rank;
    int64_t     shape[8], count;        /* count: values; of what is read */
    uint64_t    at, bytes;              /* in the file; of what is read */
    const void *data;                   /* of what is written, row-major */
} tfn_tensor;

/* safetensors. Open checks all of the header before anything is used; work: tfn_file_work bytes.
 * Tensors come in the order of their names. Values are converted to float: all but C64 and those
 * below 16 bits that are not integers. Files are little-endian; so that any machine reads what
 * another wrote, those that are not turn the bytes of each value round. */
TFNORM_API size_t tfn_file_work(tfn_file *f);              /* bytes; 0: an error */
TFNORM_API tfn_status tfn_file_open(tfn_file *f);
TFNORM_API void tfn_file_close(tfn_file *f);               /* NULL, or closed: nothing */
TFNORM_API bool tfn_file_tensor(tfn_file *f, int32_t i, tfn_tensor *t);     /* false: no more */
TFNORM_API bool tfn_file_find(tfn_file *f, const char *name, tfn_tensor *t);
TFNORM_API tfn_status tfn_file_read(tfn_file *f, const tfn_tensor *t, float *to, int64_t first,
                                    int64_t count);
/* A text of __metadata__: its bytes, of which those that fit are stored, with a zero; 0: none. */
TFNORM_API size_t tfn_file_text(tfn_file *f, const char *key, char *text, size_t size);
/* Names, shapes and data of all; any order. Work: 4 bytes for each. */
TFNORM_API tfn_status tfn_file_write(tfn_file *f, const tfn_tensor *tensors, int32_t count);

/* The index of a model in several files, model.safetensors.index.json: tfn_file_text gives the file
 * of a tensor. Work: the size of the index and 63. */
TFNORM_API tfn_status tfn_index_open(tfn_file *f);

/* Checkpoints: a safetensors file with the parameters and running statistics by their names, the
 * options in __metadata__, enumerations by the names of their rows, and what training goes on with:
 * moments, step, gradients of micro-batches, loss scale. A resumed run has the bits of one that was
 * never stopped. */
#define TFN_FORMAT 2                    /* 1: version 0.1, enumerations as numbers */
typedef struct tfn_checkpoint {         /* what goes along; NULL: nothing does */
    const struct tfn_tokenizer *tokenizer;
    const char *extra;                  /* a text of yours, such as the place in your data */
    bool weights_only;                  /* nothing to go on training with */
} tfn_checkpoint;
TFNORM_API size_t tfn_model_save_work(const tfn_model *m, const tfn_checkpoint *with);
TFNORM_API tfn_status tfn_model_save(tfn_file *f, const tfn_model *m, const tfn_checkpoint *with);
/* Into a model of the same options, or the first difference is the error; batch, threads and the
 * like may differ, and the context where positions are no table. Without training in file or model,
 * weights alone count; a model for inference takes the averages that a run with desc.ema has made
 * instead, unless its own is 0, or it has LoRA and the file none, as that of a base, whose last
 * weights LoRA was trained with. Of floats, desc.weights packs what tfn_model_quantize would, as it
 * is read. What is wrong with the file leaves the model as it was; if reading fails half-way, the
 * model says so. A loaded model never profiles again, unless it was saved before it did. Work:
 * tfn_file_work. */
TFNORM_API tfn_status tfn_model_load(tfn_model *m, tfn_file *f);
/* The weights alone, or the mean over several files of the same tensors, each with its own work:
 * for inference, or to train on with other options, from step 0 with new moments. A base and an
 * adapter are two calls. */
TFNORM_API tfn_status tfn_model_load_weights(tfn_model *m, tfn_file *files, int32_t count);
/* The options, resolved, with which a model for this file can be made, and (or NULL) the step, -1:
 * weights alone. Rows of your own are not found: set desc->topology, norm_rule, init_rule yourself
 * then; norm, decoder_norm or init is NULL where the file has a name that is not the library's. */
TFNORM_API tfn_status tfn_model_peek(tfn_file *f, tfn_model_desc *desc, int64_t *step);
/* The tokenizer that went along: bytes of its blob, of which those that fit are stored, into NULL
 * none; 0: there is none, or an error. The extra text is that of "extra": open the file, ask
 * tfn_file_text, and close it. */
TFNORM_API size_t tfn_checkpoint_tokenizer(tfn_file *f, void *blob, size_t size);

/* What trains, alone: LoRA's A and B, and whatever else is not frozen. tfn_model_load_weights takes
 * it into a model with the same LoRA, after the weights of the base; either file leaves what it
 * lacks as it is. Work: tfn_model_save_work. */
TFNORM_API tfn_status tfn_model_save_adapter(tfn_file *f, const tfn_model *m,
                                             const tfn_checkpoint *with);

/* Options have texts in a checkpoint; that of a group is its pattern, then "rate=0.1", "decay=0"
 * (none), "rank=8", "alpha=16" or "frozen", with spaces between. Append one to those of desc; false
 * and an error (e or NULL): it is no such text, or TFN_MOST_GROUPS are there already. */
TFNORM_API bool tfn_group_add(tfn_model_desc *desc, const char *text, tfn_error *e);

/* -- checkpoints of the hub ------------------------------------------------------------------ */

#if !defined TFNORM_NO_IMPORT && !defined TFNORM_NO_STDIO
/* Models that others have trained, as huggingface.co keeps them: a folder of config.json and
 * model.safetensors, or its parts and model.safetensors.index.json, or pytorch_model.bin.
 * "model_type" names the family, whose rows say which options the keys set and which tensor is
 * which parameter:
 *
 *     tfn_model m;
 *     if (tfn_import_new(&m, "gpt2", NULL) != TFN_OK) ...          // see m.error
 *
 * or, into a block of one's own, peek, tfn_model_size, tfn_model_init, tfn_import_weights. A key or
 * a tensor that the family does not know is an error that names it: nothing is guessed. Tensors of
 * F64, F32, F16 and BF16 are read one after the other; memory is that of the model and of the
 * files' headers, also where desc.weights packs them as they come. */
typedef enum tfn_key_form {
    TFN_KEY_IS = 0,           /* the option is the value; without the key it is `text` */
    TFN_KEY_IS_OR_OFF,        /* the same, but null leaves the option as it is */
    TFN_KEY_NOT,              /* of truths: the other one */
    TFN_KEY_IF,               /* if the value is true, the option is `text` */
    TFN_KEY_UNLESS,           /* if it is false, the option is `text` */
    TFN_KEY_NAMES,            /* if the value, or one of a list, matches what stands behind the '='
                               * of the key ("architectures=*ForMaskedLM"), the option is `text` */
    TFN_KEY_ONLY_IF,          /* unless it is true, the option is `text` */
    TFN_KEY_LAYERS,           /* a name for each layer; those with `text` have the window: sets
                               * window_from and window_period */
    TFN_KEY_GATED,            /* as IS, of an activation that is a gate */
    TFN_KEY_INVERSE_ROOT,     /* the option is value^(-1/2) */
    TFN_KEY_SHARE,            /* the option is so large a share of a head */
    TFN_KEY_ENTRIES,          /* the option is how many entries the object has */
    TFN_KEY_SAME,             /* the value must be that of the option */
    TFN_KEY_WANT              /* the value, or each of a list, must be `text`, as it is without the
                               * key: the option is no other, and there is none */
} tfn_key_form;
typedef struct tfn_key_rule {
    const char  *key;         /* of config.json, "rope_scaling.factor" in an object; NULL: none, and
                               * the option is `text` */
    const char  *option;      /* as tfn_desc_set knows it; NULL: the key changes nothing */
    const char  *text;        /* NULL: the key must be there; "": without it nothing is set */
    tfn_key_form form;
} tfn_key_rule;

/* How a file keeps a tensor. Linear maps of PyTorch are (out, in), those of this library and of
 * GPT-2's files (in, out). */
enum {
    TFN_FORM_TRANSPOSED = 1,  /* a matrix is (out, in) */
    TFN_FORM_BY_HEAD = 2,     /* parts follow each other head by head: NeoX, BLOOM */
    TFN_FORM_TURNING = 4,     /* the channels of a head that turn come first: see rotary_size */
    TFN_FORM_SPARE = 8,       /* may be there though the model has no place for it */
    TFN_FORM_HEAD = 16,       /* of the head: written without the family's prefix */
    TFN_FORM_GATED = 32,      /* only of models whose activation is a gate */
    TFN_FORM_APART = 64,      /* only of models with separate_source */
    TFN_FORM_ROW = 128        /* a vector is a matrix of one row */
};
typedef struct tfn_tensor_rule {
    const char *theirs;       /* "h.#.attn.c_attn.*": # a layer, from 0, * "weight" or "bias" */
    const char *ours;         /* "decoder.#.self.q.*"; NULL: no weight, such as a mask */
    uint32_t    form;         /* flags, added */
    int32_t     part, parts;  /* outputs are part `part`, from 0, of so many side by side; 0: 1 */
    int32_t     first;        /* so many rows stand before the first one that counts */
} tfn_tensor_rule;

/* The rows of a family end with zeros; those of `like` hold too, keys before its own, tensors where
 * its own say nothing. One's own family is as good as one of the library's. */
typedef struct tfn_family {
    const char            *name;             /* "model_type" */
    const char            *prefix;           /* names of tensors begin with it, or lack it */
    const struct tfn_family *like;           /* NULL: none */
    const tfn_key_rule    *keys;
    const tfn_tensor_rule *tensors;
} tfn_family;
TFNORM_API const tfn_family *tfn_family_at(int32_t i);                  /* NULL: past the end */
TFNORM_API const tfn_family *tfn_family_find(const char *name);         /* NULL: unknown */

/* pytorch_model.bin: a zip archive of torch.save, since PyTorch 1.6. Open reads the dictionary of
 * its tensors and executes nothing; a file that calls other functions is refused. Then it is used
 * like a safetensors file (tfn_file_tensor, tfn_file_find, tfn_file_read). Needs malloc;
 * TFNORM_NO_PICKLE leaves it out. */
TFNORM_API tfn_status tfn_pickle_open(tfn_file *f);

/* Begin with { 0 } and set the folder, or the text of config.json and files that are open. */
typedef struct tfn_import {
    tfn_error         error;
    const char       *folder;                /* wants paths and malloc */
    const char       *config;                /* without a folder: the text of config.json */
    size_t            config_size;
    tfn_file         *files;                 /* and open safetensors that have all tensors */
    int32_t           count;
    const tfn_family *family;                /* NULL: the library's of "model_type", which the first
                                              * call stores here */
    bool              lenient;               /* true: leave aside keys that no rule knows, but none
                                              * of quantization or scales */
    tfn_dtype         dtype;                 /* of the first weight, which tfn_import_weights stores
                                              * here: as such a model goes out with the same bits */
    char              aside[512];            /* the keys that no rule knows, ", " between them: left
                                              * aside, or the reason for the error */
    tfn_file          file, index;           /* from here on private */
    char              path[1024], part[256];
    const uint8_t    *text;
    size_t            text_size;
} tfn_import;
/* The options of the model. What config.json says nothing of (batch, threads, inference, dropout,
 * the optimizer) stays as it is in *desc; a context that is set there stays, too, if the model can
 * have it: less than the whole saves memory. */
TFNORM_API tfn_status tfn_import_peek(tfn_import *x, tfn_model_desc *desc);
/* The weights, into a model of these options. All tensors are looked at before the first is read:
 * what is wrong with the files leaves the model as it was; if reading fails half-way, the model
 * says so. Packed weights (desc.weights) are those that tfn_model_quantize makes of the model in
 * floats, which is never in memory. */
TFNORM_API tfn_status tfn_import_weights(tfn_import *x, tfn_model *m);
/* What else config.json says: a string's characters, another value as it stands, "[[30]]", of which
 * those that fit are stored, with a zero; returns its bytes, 0: no such key, null, or an error. An
 * encoder-decoder writes as its authors meant when the prompts of tfn_generator_run are
 * "decoder_start_token_id" and desc.end is "eos_token_id"; "id2label.0" names the first class. Any
 * other object of JSON may stand in `config`, such as generation_config.json. */
TFNORM_API size_t tfn_import_text(tfn_import *x, const char *key, char *text, size_t size);
#ifndef TFNORM_NO_MALLOC
/* Both, and the memory between them. with: what peek begins with, or NULL: for inference, with one
 * thread and a context of at most 1024. The error is the model's, whose path then is the folder. */
TFNORM_API tfn_status tfn_import_new(tfn_model *m, const char *folder, const tfn_model_desc *with);
#endif

/* And out again: config.json, model.safetensors and, of a tokenizer that it can say, tokenizer.json
 * with tokenizer_config.json, from the same rows. What the family is the options say: a family has
 * a model if the config.json that is written, read again, gives the options that it has. So a model
 * that was trained here goes out as whatever family it is one of.
 *
 *     tfn_export x = { 0 };
 *     x.folder = "mine";                                           // is there
 *     if (tfn_export_write(&x, &m) != TFN_OK) ...                  // see x.error
 *
 * What a family cannot say is an error that names the option. Rows of a table of positions that no
 * text reads, the first two of OPT's, are 0; a pooler that no head reads is left out. */
typedef struct tfn_export {
    tfn_error         error;
    const char       *folder;                /* wants paths and malloc; config.json comes last */
    tfn_file         *config, *weights;      /* without a folder: where the two go, or NULL; each
                                              * with its own work, tfn_export_work bytes */
    const tfn_family *family;                /* NULL: the first of the library's that has the model,
                                              * which is stored here */
    tfn_dtype         dtype;                 /* 0: F32; F16, BF16: of values that it holds. Norms
                                              * and biases that it does not hold stay F32 */
    bool              round;                 /* false: matrices that it does not hold are an error;
                                              * true: they are rounded to it */
    const struct tfn_tokenizer *tokenizer;   /* NULL: none */
    const int32_t    *specials;              /* pad_token_id, bos_token_id, eos_token_id and
                                              * decoder_start_token_id, below 0: null; NULL: the
                                              * tokenizer's, and the start is the end, as that of
                                              * tfn_generator_run */
    const char *const *labels;               /* the names of the classes of a sequence head, as
                                              * id2label has them; NULL: it has none */
    int32_t           tensors, kept;         /* that were written; those of them that stayed F32 */
    char              path[1024];            /* private */
} tfn_export;
/* Weights are those that the model computes with: exchange averages first (tfn_model_swap_ema).
 * Each file is replaced whole or not at all; where a later one fails, those before it are taken
 * away, for weights without their config.json, or with an older one, are no model. */
TFNORM_API tfn_status tfn_export_write(tfn_export *x, const tfn_model *m);
TFNORM_API size_t tfn_export_work(const tfn_model *m);
#endif

/* -- for other languages --------------------------------------------------------------------- */

/* Options of a model by their names, which are those of tfn_model_desc ("width", "schedule.lr",
 * "cutoffs[0]"), as texts, which are those of checkpoints: numbers as JSON has them, the seed with
 * a sign; "true", "false"; names of rows of an enumeration, recipe, norm, initialization, topology
 * or instruction set. "default" is 0 or NULL, which is legal of each. Set checks the range of the
 * option alone, tfn_model_resolve how it goes with others. An error, in e or NULL, names what comes
 * nearest, and *d stays. The texts may be thrown away: what *d keeps is the library's. */
TFNORM_API tfn_status  tfn_desc_set(tfn_model_desc *d, const char *name, const char *value,
                                    tfn_error *e);
/* The text of an option, cut to fit, in buf, which is returned; 127 bytes and a zero are enough.
 * NULL: there is no such option, or something is NULL. */
TFNORM_API const char *tfn_desc_get(const tfn_model_desc *d, const char *name, char *buf,
                                    size_t size);
TFNORM_API const char *tfn_desc_name(int32_t i);       /* of option i; NULL: past the end */

/* Where a member stands in a public struct, so that a language that reads no header need not copy
 * it: tfn_layout("tfn_report", "loss", &at, &size) stores bytes from the struct's begin and bytes,
 * either may be NULL, and returns what it is: 'b' a bool, 'w' a whole number with a sign, or an
 * enumerator, 'r' a real number, 't' a text that a zero ends, 'p' a pointer, 's' a struct. Without
 * a name, or "", it is the struct itself. 0: unknown, or private; nothing is stored. */
TFNORM_API char tfn_layout(const char *type, const char *name, size_t *at, size_t *size);
#endif
