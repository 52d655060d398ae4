/* -- files ----------------------------------------------------------------------------------- */

#if !defined TFNORM_NO_FILES && !defined TFNORM_ONLY_KERNELS
/* A file: where bytes are read from or written to. Start with { 0 } and set a path, a block of
 * memory, or callbacks. With none of them, a write only counts its bytes. Keep the path's text
 * while the file or its error is in use. The first error stays, and later calls return it.
 *
 * A path is replaced whole or not at all. The bytes go to a temporary file in the same folder,
 * PATH.PROCESS-XXXXXX.tmp, which is renamed once it is complete and, where tfn_io_durable promises
 * it, on the disk. Two programs may write one path at the same time: the last one wins. A program
 * that is killed leaves its temporary file. You may delete it; it never blocks a later run.
 * - A symbolic link stays a link, and the file that it leads to is replaced.
 * - Only a regular file is replaced. A folder, a device, a pipe or a socket is an error.
 * - A new file has the mode that the umask allows. A replaced file keeps its mode, group and owner.
 *   If the system refuses the group, its members keep only the rights that all others have. Access
 *   control lists are not copied: on Windows the new file has those of its folder.
 * - The temporary file is created exclusively, so that it never writes through a link. While it is
 *   written, it is not more readable than the file that it replaces.
 * On a system that is neither POSIX nor Windows (tfn_io_durable returns "no"), the C library knows
 * neither links nor modes, and only a C11 compiler creates files exclusively. */
typedef struct tfn_io {
    bool   (*read)(void *user, uint64_t at, void *to, size_t bytes);      /* all bytes, or false */
    bool   (*write)(void *user, const void *from, size_t bytes);          /* append, or false */
    void    *user;
    uint64_t size;                      /* bytes that can be read */
} tfn_io;

typedef struct tfn_file {
    tfn_error     error;
    const char   *path;
    const void   *from;                 /* memory to read; `to`: memory to write */
    void         *to;
    size_t        from_size, to_size;
    const tfn_io *io;
    void         *work;                 /* in use until the call or tfn_file_close returns; NULL:
                                         * malloc */
    size_t        work_size;
    uint64_t      used;                 /* bytes that the last call wrote, or that can be read */
    void         *stream, *owned, *entries;          /* this and all below: private */
    uint64_t      data;                 /* offset of the tensors' bytes */
    uint64_t      temporary;            /* the number in the name of the temporary file */
    uint8_t      *header;
    size_t        header_size, metadata, metadata_end;
    int32_t      *order, count;
    bool          counts;
} tfn_file;

/* "fsync", "commit" (Windows), or "no": a crash of the system may lose the bytes of a write. */
TFNORM_API const char *tfn_io_durable(void);

/* Ordered as tensors are in a file: the widest first. */
typedef enum tfn_dtype {
    TFN_DTYPE_DEFAULT = 0,              /* F32 */
    TFN_DTYPE_U64, TFN_DTYPE_I64, TFN_DTYPE_F64, TFN_DTYPE_C64, TFN_DTYPE_F32, TFN_DTYPE_U32,
        TFN_DTYPE_I32, TFN_DTYPE_BF16, TFN_DTYPE_F16, TFN_DTYPE_U16,
    TFN_DTYPE_I16, TFN_DTYPE_F8_E5M2FNUZ, TFN_DTYPE_F8_E4M3FNUZ, TFN_DTYPE_F8_E8M0,
        TFN_DTYPE_F8_E4M3, TFN_DTYPE_F8_E5M2, TFN_DTYPE_I8,
    TFN_DTYPE_U8, TFN_DTYPE_F6_E3M2, TFN_DTYPE_F6_E2M3, TFN_DTYPE_F4, TFN_DTYPE_BOOL,
    TFN_DTYPE_Q4_0, TFN_DTYPE_Q4_1, TFN_DTYPE_Q5_0, TFN_DTYPE_Q5_1, TFN_DTYPE_Q8_0,
        TFN_DTYPE_Q4_K, TFN_DTYPE_Q5_K, TFN_DTYPE_Q6_K,                 /* blocks, only in GGUF */
        TFN_DTYPE_COUNT
} tfn_dtype;

typedef struct tfn_tensor {
    char        name[128];
    tfn_dtype   dtype;                  /* 0: F32 */
    int32_t     rank;
    int64_t     shape[8], count;        /* count: values; set when reading */
    uint64_t    at, bytes;              /* place in the file; set when reading */
    const void *data;                   /* row-major; only for writing */
} tfn_tensor;

/* safetensors. tfn_file_open checks the whole header before anything is used; its work is
 * tfn_file_work bytes. Tensors come in the order of their names. A tensor whose name has 128 bytes
 * or more, or whose rank is above 8, is left out. All dtypes are converted to float except C64 and
 * floats below 16 bits. Files are little-endian on every machine: a big-endian one swaps the bytes
 * of each value. */
TFNORM_API size_t tfn_file_work(tfn_file *f);              /* bytes; 0: an error */
TFNORM_API tfn_status tfn_file_open(tfn_file *f);
TFNORM_API void tfn_file_close(tfn_file *f);               /* no effect if NULL or closed */
TFNORM_API bool tfn_file_tensor(tfn_file *f, int32_t i, tfn_tensor *t);     /* false: no more */
TFNORM_API bool tfn_file_find(tfn_file *f, const char *name, tfn_tensor *t);
TFNORM_API tfn_status tfn_file_read(tfn_file *f, const tfn_tensor *t, float *to, int64_t first,
                                    int64_t count);
/* Stores a text of __metadata__, cut to fit and with a final zero. Returns the bytes of the whole
 * text; 0: no such key. */
TFNORM_API size_t tfn_file_text(tfn_file *f, const char *key, char *text, size_t size);
/* Writes tensors, in any order, from their names, shapes and data. Work: 4 bytes for each. */
TFNORM_API tfn_status tfn_file_write(tfn_file *f, const tfn_tensor *tensors, int32_t count);

/* Opens the index of a model in several files, model.safetensors.index.json. Then tfn_file_text
 * returns the file of a tensor. Work: the size of the index plus 63 bytes. */
TFNORM_API tfn_status tfn_index_open(tfn_file *f);

/* Checkpoints: a safetensors file with the parameters and running statistics by their names, and
 * the options in __metadata__, where enumerators have the names of their rows. It also holds the
 * state of training: moments, step, gradients of micro-batches, loss scale. A resumed run computes
 * the same bits as one that was never interrupted. */
#define TFN_FORMAT 2                    /* 1: version 0.1, enumerations as numbers */
typedef struct tfn_checkpoint {         /* additions to a checkpoint; NULL: none */
    const struct tfn_tokenizer *tokenizer;
    const char *extra;                  /* a text of yours, such as the position in your data */
    bool weights_only;                  /* true: without the state of training */
} tfn_checkpoint;
TFNORM_API size_t tfn_model_save_work(const tfn_model *m, const tfn_checkpoint *with);
TFNORM_API tfn_status tfn_model_save(tfn_file *f, const tfn_model *m, const tfn_checkpoint *with);
/* Loads a checkpoint into a model of the same options; the first difference is the error. Batch,
 * threads and the like may differ, and so may the context unless positions are a table. If the file
 * or the model has no state of training, only the weights are loaded. Work: tfn_file_work.
 * - A model for inference takes the averages of a run with desc.ema instead of its weights, unless
 *   its own desc.ema is 0. One with LoRA takes the weights of a base file as they are, because its
 *   LoRA was trained with those.
 * - If desc.weights packs the model and the file has floats, they are packed as they are read, with
 *   the result of tfn_model_quantize.
 * - A faulty file leaves the model unchanged. If a read fails half-way, the model has an error.
 * - A loaded model never profiles again, unless it was saved before it did. */
TFNORM_API tfn_status tfn_model_load(tfn_model *m, tfn_file *f);
/* Loads only the weights, or their mean over several files of the same tensors, each with its own
 * work. Use it for inference, or to train with other options from step 0 with new moments. A base
 * and an adapter take two calls. */
TFNORM_API tfn_status tfn_model_load_weights(tfn_model *m, tfn_file *files, int32_t count);
/* Reads the options, resolved, of a model for this file, and (unless NULL) the step, -1 if the file
 * has only weights. Rows of your own are not found: set desc->topology, norm_rule and init_rule
 * yourself. norm, decoder_norm or init is NULL where the file names a row that is not the
 * library's. */
TFNORM_API tfn_status tfn_model_peek(tfn_file *f, tfn_model_desc *desc, int64_t *step);
/* Stores the blob of the checkpoint's tokenizer, cut to fit (NULL: nothing is stored). Returns the
 * bytes of the whole blob; 0: no tokenizer, or an error. For the extra text, open the file and call
 * tfn_file_text with "extra". */
TFNORM_API size_t tfn_checkpoint_tokenizer(tfn_file *f, void *blob, size_t size);

/* Saves only the weights that train: LoRA's A and B, and any others that are not frozen.
 * tfn_model_load_weights loads this file into a model with the same LoRA, after the weights of the
 * base. Each of the two files leaves the weights that it lacks unchanged. Work:
 * tfn_model_save_work. */
TFNORM_API tfn_status tfn_model_save_adapter(tfn_file *f, const tfn_model *m,
                                             const tfn_checkpoint *with);

/* Appends a group to desc, from its text in a checkpoint: its pattern, then "rate=0.1",
 * "decay=0" (none), "rank=8", "alpha=16" or "frozen", separated by spaces. False, with an error in
 * e (unless NULL), if the text is no group or if there are TFN_MOST_GROUPS already. */
TFNORM_API bool tfn_group_add(tfn_model_desc *desc, const char *text, tfn_error *e);

/* -- checkpoints of the hub ------------------------------------------------------------------ */

#if !defined TFNORM_NO_IMPORT && !defined TFNORM_NO_STDIO
/* Models that others have trained, in the format of huggingface.co: a folder with config.json and
 * model.safetensors, or its parts and model.safetensors.index.json, or pytorch_model.bin.
 * "model_type" names the family. The family's rows say which options the keys of config.json set
 * and which tensor is which parameter:
 *
 *     tfn_model m;
 *     if (tfn_import_new(&m, "gpt2", NULL) != TFN_OK) ...          // see m.error
 *
 * or, into your own block: tfn_import_peek, tfn_model_size, tfn_model_init, tfn_import_weights.
 * Nothing is guessed: a key or a tensor that the family does not know is an error that names it.
 * Tensors of F64, F32, F16 and BF16 are read one after the other, and packed as they come if
 * desc.weights says so. So memory is that for the model and for the headers of the files. */
typedef enum tfn_key_form {
    TFN_KEY_IS = 0,           /* the option is the value, or `text` if the key is missing */
    TFN_KEY_IS_OR_OFF,        /* as IS, but null leaves the option unchanged */
    TFN_KEY_NOT,              /* the option is the negated value */
    TFN_KEY_IF,               /* if the value is true, the option is `text` */
    TFN_KEY_UNLESS,           /* if the value is false, the option is `text` */
    TFN_KEY_NAMES,            /* the option is `text` if the value, or one value of a list, matches
                               * the pattern after '=' in the key: "architectures=*ForMaskedLM".
                               * No option: a match is an error, and `text` is expected */
    TFN_KEY_ONLY_IF,          /* unless the value is true, the option is `text` */
    TFN_KEY_LAYERS,           /* the value is a list of one name per layer; `text` has two. The
                               * option is "window", and layers of the first name have the window
                               * (sets window_from, window_period and window_shift), or
                               * "rotary_period", and layers of the first name rotate */
    TFN_KEY_GROUPS,           /* the same for a list of groups: [[names, how often], ...] */
    TFN_KEY_GATED,            /* as IS, for an activation that is a gate */
    TFN_KEY_INVERSE_ROOT,     /* the option is value^(-1/2) */
    TFN_KEY_SHARE,            /* the option is the value times the size of a head */
    TFN_KEY_ENTRIES,          /* the option is the number of entries of the object */
    TFN_KEY_LESS,             /* the option is the value less the number `text`; the key is
                               * required */
    TFN_KEY_SAME,             /* an error unless the value equals the option */
    TFN_KEY_WANT,             /* an error unless the value, or each value of a list, is `text`. A
                               * missing key is no error. Sets no option */
    TFN_KEY_INSIDE            /* the family's keys are inside this object. Sets no option */
} tfn_key_form;
typedef struct tfn_key_rule {
    const char  *key;         /* in config.json, "rope_scaling.factor" inside an object; NULL: the
                               * option is always `text` */
    const char  *option;      /* a name for tfn_desc_set; NULL: the key sets no option */
    const char  *text;        /* NULL: the key is required; "": a missing key sets nothing */
    tfn_key_form form;
} tfn_key_rule;

/* How a file stores a tensor. Linear maps are (out, in) in PyTorch, and (in, out) in this library
 * and in GPT-2's files. */
enum {
    TFN_FORM_TRANSPOSED = 1,  /* a matrix is (out, in) */
    TFN_FORM_BY_HEAD = 2,     /* parts alternate head by head: NeoX, BLOOM */
    TFN_FORM_TURNING = 4,     /* the rotated channels of a head come first: see rotary_size */
    TFN_FORM_SPARE = 8,       /* ignored if the model has no parameter for it */
    TFN_FORM_HEAD = 16,       /* belongs to the head: its name lacks the family's prefix */
    TFN_FORM_GATED = 32,      /* only in models whose activation is a gate */
    TFN_FORM_APART = 64,      /* only in models with separate_source */
    TFN_FORM_ROW = 128,       /* a vector is stored as a matrix of one row */
    TFN_FORM_PAIRS = 256,     /* channels of a head that rotate together are neighbours: GGUF,
                               * GPT-J */
    TFN_FORM_SEQUENCE = 512,  /* only in models with a head for sequences */
    TFN_FORM_QKV = 1024       /* the three parts are queries, keys and values of their own widths:
                               * Phi-3 */
};
typedef struct tfn_tensor_rule {
    const char *theirs;       /* "h.#.attn.c_attn.*"; #: the layer, from 0; *: "weight" or "bias";
                               * %: any end */
    const char *ours;         /* "decoder.#.self.q.*"; NULL: not a weight, such as a mask */
    uint32_t    form;         /* sum of flags */
    int32_t     part, parts;  /* part `part`, from 0, of `parts` equal parts of the outputs; 0: 1.
                               * Parts are unequal only with TFN_FORM_QKV */
    int32_t     first;        /* rows to skip at the start of the file's tensor */
} tfn_tensor_rule;

/* Tables of a family end with a row of zeros. The rows of `like` hold too: its keys come first,
 * and its tensors apply where the family has no row. Your own family works like the library's. */
typedef struct tfn_family {
    const char            *name;             /* "model_type" */
    const char            *prefix;           /* optional starts of the names of tensors, separated
                                              * by spaces */
    const struct tfn_family *like;           /* NULL: none */
    const tfn_key_rule    *keys;
    const tfn_tensor_rule *tensors;
} tfn_family;
TFNORM_API const tfn_family *tfn_family_at(int32_t i);                  /* NULL: past the end */
TFNORM_API const tfn_family *tfn_family_find(const char *name);         /* NULL: unknown */

/* Opens pytorch_model.bin, the zip archive that torch.save writes since PyTorch 1.6. Reads the
 * dictionary of its tensors and executes nothing; a file that calls other functions is refused. The
 * open file is used like a safetensors file (tfn_file_tensor, tfn_file_find, tfn_file_read). Needs
 * malloc. TFNORM_NO_PICKLE leaves it out. */
TFNORM_API tfn_status tfn_pickle_open(tfn_file *f);

/* Opens a GGUF file, version 2 or 3, the format of llama.cpp. The open file is used like a
 * safetensors file; its tensors keep the names of GGUF, with (out, in) for matrices. F32, F16, BF16
 * and the blocks Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K and Q6_K are read as floats with the bits
 * of ggml's reference. Needs malloc. TFNORM_NO_GGUF leaves it out. */
TFNORM_API tfn_status tfn_gguf_open(tfn_file *f);
#ifndef TFNORM_NO_TOKENIZERS
/* Writes the tokenizer in an open GGUF file as a text that a source can name: tokenizer.json, or
 * SentencePiece's model. Returns the bytes of the text, 0 if there is no tokenizer or on an error
 * (f->error), for example if tokenizer.ggml.pre names rules that the library does not know. If they
 * are at most `size`, stores the text and sets *source to it; otherwise clears *source. So call
 * once with size 0, then with a block of that size:
 *
 *     size_t bytes = tfn_gguf_tokenizer(&f, &source, NULL, 0);
 *     char *text = (char *)malloc(bytes);
 *     tfn_gguf_tokenizer(&f, &source, text, bytes);
 *     tfn_tokenizer_size(&source) ...
 *
 * llama.cpp does not compose characters; this reads qwen2 with NFC, as it was published. */
TFNORM_API size_t tfn_gguf_tokenizer(tfn_file *f, tfn_tokenizer_source *source, void *text,
                                     size_t size);
#endif

/* Start with { 0 }. Set the folder, or the text of config.json and the open files. */
typedef struct tfn_import {
    tfn_error         error;
    const char       *folder;                /* or a .gguf file; needs paths and malloc */
    const char       *config;                /* without a folder: the text of config.json */
    size_t            config_size;
    tfn_file         *files;                 /* without a folder: open files with all tensors */
    int32_t           count;
    const tfn_family *family;                /* NULL: the library's row for "model_type", which the
                                              * first call stores here */
    bool              lenient;               /* true: skip keys that no rule knows, except those of
                                              * quantization and scales */
    tfn_dtype         dtype;                 /* dtype of the first weight, from tfn_import_weights:
                                              * an export in this dtype has the same bits */
    char              aside[512];            /* the keys that no rule knows, separated by ", ":
                                              * skipped if lenient, else the reason for the error */
    tfn_file          file, index;           /* this and all below: private */
    char              path[1024], part[256];
    const uint8_t    *text;
    size_t            text_size;
} tfn_import;
/* Reads the options of the model. Options that config.json does not determine (batch, threads,
 * inference, dropout, the optimizer) keep their values in *desc. A context in *desc is kept too if
 * the model allows it: a shorter one saves memory. */
TFNORM_API tfn_status tfn_import_peek(tfn_import *x, tfn_model_desc *desc);
/* Loads the weights into a model of these options. All tensors are checked before the first is
 * read, so faulty files leave the model unchanged. If a read fails half-way, the model has an
 * error. Packed weights (desc.weights) are the same as after tfn_model_quantize, but the model is
 * never in memory as floats. */
TFNORM_API tfn_status tfn_import_weights(tfn_import *x, tfn_model *m);
/* Stores another value of config.json, cut to fit and with a final zero: the characters of a
 * string, or any other value as it is written, "[[30]]". Returns the bytes of the whole text; 0: no
 * such key, null, or an error. For an encoder-decoder, prompt tfn_generator_run with
 * "decoder_start_token_id" and set desc.end to "eos_token_id". "id2label.0" names the first class.
 * `config` may be any other JSON object, such as generation_config.json. */
TFNORM_API size_t tfn_import_text(tfn_import *x, const char *key, char *text, size_t size);
#ifndef TFNORM_NO_MALLOC
/* Reads the options, allocates the model and loads the weights. with: the options to start from;
 * NULL: inference, one thread, a context of at most 1024. An error is the model's, with the folder
 * as its path. */
TFNORM_API tfn_status tfn_import_new(tfn_model *m, const char *folder, const tfn_model_desc *with);
#endif

/* Writes a model in the same format and from the same rows: config.json, model.safetensors and, if
 * the format can express the tokenizer, tokenizer.json with tokenizer_config.json. The options
 * decide the family: a family fits if reading the written config.json gives the same options again.
 * So a model that was trained here can be written as any family that fits.
 *
 *     tfn_export x = { 0 };
 *     x.folder = "mine";                                           // must exist
 *     if (tfn_export_write(&x, &m) != TFN_OK) ...                  // see x.error
 *
 * An option that no family can express is an error that names it. Rows of a table of positions that
 * no text reads, the first two of OPT's, are written as 0. A pooler that no head reads is left
 * out. The gains of Gemma's norms, which come whole from GGUF, are written less 1. */
typedef struct tfn_export {
    tfn_error         error;
    const char       *folder;                /* needs paths and malloc; config.json comes last */
    tfn_file         *config, *weights;      /* without a folder: the two outputs, or NULL; each
                                              * with its own work, tfn_export_work bytes */
    const tfn_family *family;                /* NULL: the library's first that fits, which is stored
                                              * here */
    tfn_dtype         dtype;                 /* 0: F32; F16 or BF16 for values that these can hold.
                                              * Norms and biases that they cannot hold stay F32 */
    bool              round;                 /* false: matrices that dtype cannot hold are an error;
                                              * true: they are rounded */
    const struct tfn_tokenizer *tokenizer;   /* NULL: none */
    const int32_t    *specials;              /* pad_token_id, bos_token_id, eos_token_id and
                                              * decoder_start_token_id; below 0: null. NULL: from
                                              * the tokenizer, with the end as the start, as in
                                              * tfn_generator_run */
    const char *const *labels;               /* the names of the classes of a sequence head, for
                                              * id2label; NULL: none */
    const char       *name, *chat_template;  /* GGUF: general.name and tokenizer.chat_template, a
                                              * text in Jinja; NULL: none */
    int32_t           tensors, kept;         /* tensors that were written; those that stayed F32 */
    char              path[1024];            /* private */
} tfn_export;
/* Writes the weights that the model computes with: for averages, call tfn_model_swap_ema first.
 * Each file is replaced whole or not at all. If a later file fails, the earlier ones are removed,
 * because weights without their config.json, or with an older one, are not a model. */
TFNORM_API tfn_status tfn_export_write(tfn_export *x, const tfn_model *m);
TFNORM_API size_t tfn_export_work(const tfn_model *m);

/* Writes a model as one file of llama.cpp, with its tokenizer: `folder` is the path of the file, or
 * `weights` the output. The options decide the architecture, as above: llama, qwen2, qwen3, olmo,
 * olmo2, gemma, gemma2, gemma3, gpt2, gptneox, granite, smollm3, phi2, phi3, stablelm or bloom;
 * `family` chooses one by name. dtype: F32, F16, BF16, Q8_0 or Q4_0, the last two with the bits of
 * ggml's reference. Vectors and tables of positions stay F32. `kept`
 * counts the matrices of another type: rows that do not fill blocks of 32 stay F32, and with Q4_0
 * the matrix that gives logits is Q8_0. The model is never in memory a second time. The tokenizer
 * must be byte-level BPE, a tokenizer of bytes, or SentencePiece's BPE with bytes; ids of the model
 * beyond the tokenizer's are unused tokens. Without a tokenizer, the file has no vocabulary. What
 * llama.cpp cannot do is an error that names it. labels and config have no effect.
 *
 *     tfn_export x = { 0 };
 *     x.folder = "mine.gguf";
 *     x.tokenizer = &k;
 *     if (tfn_export_gguf(&x, &m) != TFN_OK) ...                   // see x.error
 *
 * work: of `weights`, if you give it: tfn_export_gguf_work bytes. */
TFNORM_API tfn_status tfn_export_gguf(tfn_export *x, const tfn_model *m);
TFNORM_API size_t tfn_export_gguf_work(const tfn_export *x, const tfn_model *m);

#ifndef TFNORM_NO_GROUPS
/* LoRA in the files of PEFT, the Python library: a folder with adapter_config.json and
 * adapter_model.safetensors (or .bin). Tensors have the names of the base's family:
 *
 *     tfn_import base = { 0 }, x = { 0 };
 *     base.folder = "gpt2";
 *     x.folder = "gpt2-notes";
 *     tfn_import_peek(&base, &desc);
 *     x.family = base.family;
 *     tfn_peft_peek(&x, &desc);                     // errors are in x.error
 *     tfn_model_new(&m, &desc, NULL);
 *     tfn_import_weights(&base, &m);
 *     tfn_peft_read(&x, &m);
 *
 * Then the model can generate, train its LoRA, or be merged by tfn_model_fold. The base may also
 * come from a checkpoint; then set x.family by tfn_family_find. Without a folder, x.config is the
 * text of adapter_config.json, and x.files are the open files with the tensors.
 *
 * tfn_peft_peek appends groups to the options, one for each kind of sub-layer. tfn_peft_read checks
 * everything and then loads A and B. Maps that the adapter leaves out, or to which rank_pattern
 * gives a lower rank, get zeros, which stay 0 in training. use_rslora, rank_pattern and
 * alpha_pattern (names, not expressions) are understood. Features that LoRA does not have here are
 * refused by name: DoRA, biases, modules_to_save, adapted embeddings, and initial values that
 * change the base, such as PiSSA's. lenient: skip unknown keys of adapter_config.json. */
TFNORM_API tfn_status tfn_peft_peek(tfn_import *x, tfn_model_desc *desc);
TFNORM_API tfn_status tfn_peft_read(tfn_import *x, tfn_model *m);

/* Writes LoRA of a model as such a folder, which must exist, or to x->weights and x->config. family
 * as in tfn_export_write; name: base_model_name_or_path, NULL: null. dtype and round as for
 * matrices. Queries, keys and values that are one module in the family, as in GPT-2, are written as
 * a module of three times the rank, unless their A are equal. It computes the same. Other weights
 * that train are an error, because an adapter has no place for them. */
TFNORM_API tfn_status tfn_peft_write(tfn_export *x, const tfn_model *m);
#endif
#endif

/* -- for other languages --------------------------------------------------------------------- */

/* Sets an option of a model by its name and a text. Names are as in tfn_model_desc: "width",
 * "schedule.lr", "cutoffs[0]". Texts are as in checkpoints: numbers in JSON's form (the seed as
 * a signed integer), "true" or "false", or the name of an enumerator, recipe, norm, initialization,
 * topology or instruction set. "default" is 0 or NULL and always legal. Checks only the range of
 * this option; tfn_model_resolve checks options together. An error (in e unless NULL) suggests the
 * nearest name and leaves *d unchanged. *d keeps no pointer to the texts. */
TFNORM_API tfn_status  tfn_desc_set(tfn_model_desc *d, const char *name, const char *value,
                                    tfn_error *e);
/* Stores the text of an option in buf, cut to fit, and returns buf; 128 bytes are always enough.
 * NULL: no such option, or an argument is NULL. */
TFNORM_API const char *tfn_desc_get(const tfn_model_desc *d, const char *name, char *buf,
                                    size_t size);
TFNORM_API const char *tfn_desc_name(int32_t i);       /* of option i; NULL: past the end */

/* Finds a member of a public struct, for languages that read no header. For example,
 * tfn_layout("tfn_report", "loss", &at, &size) stores the member's offset and size in bytes; either
 * pointer may be NULL. Returns its type: 'b' bool, 'w' signed integer or enumerator, 'r' floating
 * point, 't' array of char with a final zero, 'p' pointer, 's' struct. With a name of NULL or "",
 * describes the struct itself. Returns 0 and stores nothing if the name is unknown or private. */
TFNORM_API char tfn_layout(const char *type, const char *name, size_t *at, size_t *size);
#endif
