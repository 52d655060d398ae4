/* The options of tfn. A table has a row for every option of every command. This part reads the
 * command line into `settings`, answers what an option is, prints the help, and writes and reads
 * the settings as lines of text for checkpoints.
 *
 * A row of OPTIONS is: number, kind, name, name of the value, default or NULL, least, most,
 * commands, help. Kinds: f flag, i whole number, r real, s text, l texts between commas, which may
 * also be given one by one, c one of the names between bars, e one of the header's names for the
 * model option that the row names (tfn_choice).
 *
 * Values are kept as texts that options_read has checked. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "../common/cli.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { TRAIN = 1, GENERATE = 2, TRANSLATE = 4, CLASSIFY = 8, EVAL = 16, AVERAGE = 32, FOLD = 64,
       EXPORT = 128, BITS = 256, INSPECT = 512, SCORE = 1024, EMBED = 2048,
       IMPORT = 4096, LOGITS = 8192, ENCODE = 16384, FILL = 32768, CHAT = 65536,
       QUANTIZE = 131072 };
#define WRITE (GENERATE | TRANSLATE | EVAL)             /* commands that write text */
#define SENTENCE (INSPECT | FILL | CLASSIFY)            /* commands with --text or --ids */
#define OVERWRITES (AVERAGE | FOLD | EXPORT | EMBED | IMPORT | INSPECT | QUANTIZE)
#define DRAW  (WRITE | CHAT)
#define USE   (WRITE | CLASSIFY | EMBED)
#define KEPT  (TRAIN | OPTION_KEPT)

#define OPTIONS(X) \
    X(TASK, 's', "task", "NAME", NULL, 0, 0, KEPT, \
      "task whose data is generated: translate, digits ...") \
    X(PAIRS, 's', "pairs", "FILE", NULL, 0, 0, KEPT, "training data: lines SOURCE tab TARGET") \
    X(LABELS, 's', "labels", "FILE", NULL, 0, 0, KEPT, \
      "training data: lines LABEL tab A, or LABEL tab A tab B") \
    X(VALID, 's', "valid", "FILE", NULL, 0, 0, KEPT, \
      "validation data; default a held-out part of the training data") \
    X(ITEMS, 'i', "items", "N", "50000", 1, 1e8, KEPT, "generated items for training") \
    X(HELD, 'i', "held", "N", "500", 1, 1e7, KEPT, \
      "generated items for validation, and for test") \
    X(MIN, 'i', "min", "N", "0", 0, 1000, KEPT, \
      "smallest size of a task's items; 0: the task's own") \
    X(MAX, 'i', "max", "N", "0", 0, 1000, KEPT, \
      "largest size of a task's items; 0: the task's own") \
    X(TOKENIZER, 'c', "tokenizer", "auto|bpe|bytes|chars|words", "auto", 0, 0, KEPT, \
      "kind of tokens") \
    X(VOCAB, 'i', "vocab", "N", "4096", 8, 1e6, KEPT, "largest vocabulary of bpe and words") \
    X(ARCH, 'c', "arch", "auto|decoder|encoder|encdec", "auto", 0, 0, KEPT, "architecture") \
    X(LAYERS, 'i', "layers", "N", "4", 1, 1000, KEPT, "layers of each stack") \
    X(WIDTH, 'i', "width", "N", "64", 1, 65536, KEPT, "channels") \
    X(MUP, 'i', "mup", "N", "0", 0, 65536, KEPT, \
      "scale rates and weights from width N (muP); 0: off") \
    X(HEADS, 'i', "heads", "N", "0", 0, 1024, KEPT, "attention heads; 0: width/32") \
    X(FFN, 'i', "ffn", "N", "0", 0, 1e6, KEPT, "hidden width; 0: 4 width") \
    X(CONTEXT, 'i', "context", "N", "64", 4, 1e6, KEPT, "most tokens of a text or row") \
    X(CUTOFFS, 's', "cutoffs", "N[,M]", NULL, 0, 0, KEPT, \
      "clusters of the vocabulary begin at N and M") \
    X(POSITION, 'e', "position", "position", "rotary", 0, 0, KEPT, "position encoding") \
    X(RECIPE, 's', "recipe", "NAME", "pre", 0, 0, KEPT, "topology, norm, init (normlab list)") \
    X(TOPOLOGY, 's', "topology", "NAME", NULL, 0, 0, KEPT, "instead of the recipe's") \
    X(NORM, 's', "norm", "NAME", NULL, 0, 0, KEPT, "instead of the recipe's") \
    X(INIT, 's', "init", "NAME", NULL, 0, 0, KEPT, "instead of the recipe's") \
    X(DROPOUT, 'r', "dropout", "P", "0", 0, 0.99, KEPT, "dropout of branches and embeddings") \
    X(SMOOTHING, 'r', "smoothing", "P", "0", 0, 0.99, KEPT, "label smoothing") \
    X(STEPS, 'i', "steps", "N", "2000", 1, 1e9, KEPT, "number of updates") \
    X(MINUTES, 'r', "minutes", "M", NULL, 0.001, 1e5, TRAIN, \
      "train for about M minutes of processor time: a trial chooses --steps and, for a text, " \
      "model, batch and rate") \
    X(WALL, 'f', "wall", "", NULL, 0, 0, TRAIN, \
      "count --minutes on the wall clock, which goes on while other programs run") \
    X(BATCH, 'i', "batch", "N", "64", 1, 65536, KEPT | USE, "most rows of a batch") \
    X(BATCH_TOKENS, 'i', "batch-tokens", "N", "1024", 0, 1e7, KEPT, \
      "most tokens of a batch; 0: no limit") \
    X(OPTIMIZER, 'e', "optimizer", "optimizer", "adamw", 0, 0, KEPT, "optimizer") \
    X(LR, 'r', "lr", "R", "0.002", 0, 1e6, KEPT, "peak learning rate; lion: 0.0002") \
    X(WARMUP, 'i', "warmup", "N", NULL, 0, 1e9, KEPT, \
      "warm-up steps; default 200, or a tenth of all steps") \
    X(SCHEDULE, 'e', "schedule", "schedule.kind", "cosine", 0, 0, KEPT, \
      "schedule of the learning rate; step falls to a tenth half-way") \
    X(POWER, 'r', "power", "R", "1", 0.01, 100, KEPT, "exponent of the schedule polynomial") \
    X(BETA1, 'r', "beta1", "R", "0.9", 0, 0.9999, KEPT, "decay of the first moment; adafactor: 0") \
    X(BETA2, 'r', "beta2", "R", "0", 0, 0.99999, KEPT, \
      "decay of the second moment; 0: 0.98, lion 0.99, adafactor growing") \
    X(DECAY, 'r', "decay", "R", "0", 0, 1e3, KEPT, "weight decay") \
    X(DECAY_OF, 'c', "decay-of", "matrices|all", "matrices", 0, 0, KEPT, \
      "parameters with weight decay") \
    X(FREEZE, 'l', "freeze", "NAMES,..", NULL, 0, 0, KEPT, \
      "parameters that do not train, with wildcards * ? [ab] (tfn inspect lists the names)") \
    X(GROUP, 'l', "group", "GROUP,..", NULL, 0, 0, KEPT, \
      "other rates for parameters: 'NAMES rate=0.1 decay=0'; the last match counts") \
    X(LORA, 'l', "lora", "NAMES:N,..", NULL, 0, 0, KEPT, \
      "train LoRA matrices of rank N for these weights, and nothing else: " \
      "'decoder.*.self.[qv].weight:8'; NAMES:N:ALPHA scales them by ALPHA/N; tfn fold " \
      "merges them") \
    X(SET, 'l', "set", "NAME=VALUE,..", NULL, 0, 0, KEPT, \
      "any other options of tfn_model_desc: 'qk_norm=head,muon_rate=10'") \
    X(CLIP, 'r', "clip", "R", "1", 0, 1e9, KEPT, "largest gradient norm; 0: no limit") \
    X(EMA, 'r', "ema", "R", "0", 0, 0.99999, KEPT, \
      "validate and use averages of the weights with this decay") \
    X(CLIP_VALUE, 'r', "clip-value", "R", "0", 0, 1e9, KEPT, \
      "largest gradient value; 0: no limit") \
    X(SEED, 'i', "seed", "N", "1", 0, 9e15, KEPT | DRAW, \
      "seed of weights, data, dropout and sampling") \
    X(EVAL_EVERY, 'i', "eval-every", "N", "0", 0, 1e9, KEPT, \
      "steps between validations; 0: 20 validations, fewer with --minutes; the best model " \
      "goes to OUT.best") \
    X(SAVE_EVERY, 'i', "save-every", "N", "1000", 0, 1e9, KEPT, \
      "steps between checkpoints; 0: only at the end") \
    X(KEEP, 'i', "keep", "N", "0", 0, 1e4, KEPT, "also keep the last N checkpoints, as OUT.STEP") \
    X(OUT, 's', "out", "FILE", NULL, 0, 0, KEPT | OVERWRITES, \
      "file to write, also -o; default for train model.safetensors, for quantize " \
      "MODEL.TYPE.safetensors") \
    X(FROM, 's', "from", "MODEL", NULL, 0, 0, KEPT, \
      "start from the tokenizer, shape and weights of a model") \
    X(ADAPTER, 's', "adapter", "FILE", NULL, 0, 0, \
      TRAIN | USE | FILL | CHAT | FOLD | EXPORT | IMPORT, \
      "file for only what --lora trains: written at the end, read together with its model; " \
      "reading takes a folder of PEFT, too") \
    X(RESUME, 's', "resume", "FILE", NULL, 0, 0, TRAIN, "continue a run; auto: OUT if it exists") \
    X(LONGEST, 'i', "context", "N", NULL, 1, 1e6, IMPORT, \
      "most tokens of a text; default 1024, or less if the model has less") \
    X(WEIGHTS, 'e', "weights", "weights", "float32", 0, 0, IMPORT, \
      "type of the imported matrices") \
    X(TO, 'e', "to", "weights", NULL, 0, 0, QUANTIZE, "type of the matrices") \
    X(ON, 's', "on", "FILE", NULL, 0, 0, QUANTIZE, "print the loss on FILE before and after") \
    X(LENIENT, 'f', "lenient", "", NULL, 0, 0, IMPORT, \
      "ignore unknown keys of config.json, and print them") \
    X(IDS, 's', "ids", "\"N N ..\"", NULL, 0, 0, SENTENCE | LOGITS | GENERATE | TRANSLATE, \
      "tokens of the text") \
    X(SOURCE_IDS, 's', "source-ids", "\"N N ..\"", NULL, 0, 0, LOGITS, \
      "tokens that an encoder-decoder reads; --ids are what its decoder has written") \
    X(SEGMENTS, 's', "segments", "\"N N ..\"", NULL, 0, 0, LOGITS | CLASSIFY, \
      "the segment of each token, 0 or 1; else a text before and after its tab") \
    X(HIDDEN, 'f', "hidden", "", NULL, 0, 0, LOGITS, \
      "hidden states of the last layer, before the head") \
    X(SAID, 's', "text", "TEXT", NULL, 0, 0, SENTENCE | GENERATE | TRANSLATE, "the text") \
    X(PROMPT, 's', "prompt", "TEXT", NULL, 0, 0, GENERATE | TRANSLATE, "the same as --text") \
    X(MASK, 'i', "mask", "ID", NULL, 0, 1e9, FILL, "id of the mask; default the tokenizer's") \
    X(TOP, 'i', "top", "N", "5", 1, 1e6, FILL, "number of likeliest tokens") \
    X(TARGET, 's', "target", "TEXT", NULL, 0, 0, INSPECT, \
      "text for the decoder of an encoder-decoder; default what it generates") \
    X(FORCE, 'f', "force", "", NULL, 0, 0, TRAIN | OVERWRITES, "overwrite existing files") \
    X(LOG, 's', "log", "FILE", NULL, 0, 0, TRAIN, \
      "log of every step: .csv, else JSON lines; default PLOT.csv with --plot") \
    X(PLOT, 's', "plot", "FILE.svg", NULL, 0, 0, TRAIN, \
      "picture of the log: loss, learning rate, gradient norms of layers") \
    X(QUIET, 'f', "quiet", "", NULL, 0, 0, TRAIN, "no progress") \
    X(BEAM, 'i', "beam", "N", "0", 0, 1000, WRITE, "beams of beam search; 0: no search") \
    X(LENGTH_PENALTY, 'r', "length-penalty", "R", "1", 0, 100, WRITE, "score: sum / length^R") \
    X(TEMPERATURE, 'r', "temperature", "R", "0", 0, 1e6, DRAW, \
      "temperature of sampling; 0: take the likeliest") \
    X(TOP_K, 'i', "top-k", "N", "0", 0, 1e6, DRAW, "sample from the N likeliest tokens; 0: all") \
    X(TOP_P, 'r', "top-p", "P", "1", 0, 1, DRAW, \
      "sample from the likeliest tokens that hold probability P") \
    X(MAX_TOKENS, 'i', "max-tokens", "N", "200", 1, 1e6, DRAW, \
      "most tokens of a generated text; a full context continues with its later half") \
    X(TEMPLATE, 'c', "template", "plain|chatml|llama2|llama3|gemma|phi3|zephyr", NULL, 0, 0, \
      CHAT | OPTION_KEPT, "format of turns; default the imported one, or plain") \
    X(SYSTEM, 's', "system", "TEXT", NULL, 0, 0, CHAT, "text before the first turn") \
    X(USER, 's', "user", "TEXT", NULL, 0, 0, CHAT, \
      "mark before the user's text; \\n is a newline") \
    X(ASSISTANT, 's', "assistant", "TEXT", NULL, 0, 0, CHAT, "mark before the answer") \
    X(END, 's', "end", "TEXT", NULL, 0, 0, CHAT, "mark after the answer") \
    X(STOP, 'l', "stop", "TEXT,..", NULL, 0, 0, CHAT, "other texts that end an answer") \
    X(COUNTS, 'f', "counts", "", NULL, 0, 0, CHAT | GENERATE | TRANSLATE, \
      "on stderr: tokens of each text or turn, and why it stopped or what the cache kept") \
    X(LINES, 'f', "lines", "", NULL, 0, 0, GENERATE, \
      "a text a line: newline as \\n, backslash as \\\\; --n-best does so too") \
    X(N_BEST, 'i', "n-best", "N", "0", 0, 1000, GENERATE | TRANSLATE | CLASSIFY, \
      "lines NUMBER tab SCORE tab TEXT") \
    X(SEEDS, 'i', "seeds", "N", "0", 2, 1000, CLASSIFY, \
      "train again with N seeds and print accuracies") \
    X(LAYER, 'i', "layer", "N", NULL, 0, 1000, EMBED, \
      "hidden states after N layers, 0: the embedding; default the output of the stack") \
    X(POOL, 'c', "pool", "mean|first|last", "mean", 0, 0, EMBED, \
      "pooling over the positions of a line") \
    X(UNIT, 'f', "unit", "", NULL, 0, 0, EMBED, "vectors of length 1, whose products are cosines") \
    X(FORMAT, 'c', "format", "auto|npy|tsv", "auto", 0, 0, EMBED, \
      "file format; auto: by the extension of OUT, else tsv") \
    X(PREFIX, 's', "prefix", "NAME", "model", 0, 0, EXPORT, "prefix of the names in the C file") \
    X(HF, 's', "hf", "DIR", NULL, 0, 0, EXPORT, \
      "write a folder of the hub instead of C: config.json, model.safetensors, " \
      "tokenizer.json") \
    X(PEFT, 's', "peft", "DIR", NULL, 0, 0, EXPORT, \
      "write only LoRA, as a folder of PEFT: adapter_config.json, adapter_model.safetensors") \
    X(FAMILY, 's', "family", "NAME", NULL, 0, 0, EXPORT | IMPORT | OPTION_KEPT, \
      "family to read or write the model as; default as the files say (tfn import lists " \
      "families)") \
    X(DTYPE, 'c', "dtype", "f32|f16|bf16", NULL, 0, 0, EXPORT | OPTION_KEPT, \
      "number type of --hf and --peft; default for --hf the imported one, or f32") \
    X(TYPE, 'c', "type", "f32|f16|bf16|q8_0|q4_0", NULL, 0, 0, EXPORT, \
      "numbers of matrices in a .gguf file") \
    X(ROUND, 'f', "round", "", NULL, 0, 0, EXPORT, "round numbers that --dtype cannot hold") \
    X(JSON, 'f', "json", "", NULL, 0, 0, TRAIN | EVAL | INSPECT, \
      "print one object of JSON a line, for programs") \
    X(THREADS, 'i', "threads", "N", NULL, 1, 64, TRAIN | USE | FILL | CHAT, \
      "threads; default the faster of one and all; results are the same bits") \
    /* parts of the experiment without an option; the ids are from an import's config.json */ \
    X(START_TOKEN, 'i', "start-token", "ID", NULL, 0, 0, OPTION_KEPT, "") \
    X(END_TOKEN, 'i', "end-token", "ID", NULL, 0, 0, OPTION_KEPT, "") \
    X(PAD_TOKEN, 'i', "pad-token", "ID", NULL, 0, 0, OPTION_KEPT, "") \
    X(MORE_ENDS, 's', "more-ends", "ID ID ..", NULL, 0, 0, OPTION_KEPT, "") \
    X(BAD_TOKENS, 's', "bad-tokens", "ID ID ..", NULL, 0, 0, OPTION_KEPT, "") \
    X(TEXT, 's', "text", "FILE", NULL, 0, 0, OPTION_KEPT, "") \
    X(KIND, 's', "kind", "NAME", NULL, 0, 0, OPTION_KEPT, "") \
    X(CLASSES, 's', "classes", "NAMES", NULL, 0, 0, OPTION_KEPT, "") \
    X(DATA, 's', "data", "HASH", NULL, 0, 0, OPTION_KEPT, "") \
    X(POSITION_SEEN, 'i', "batches-seen", "N", NULL, 0, 0, OPTION_KEPT, "") \
    X(BEST_VALID, 'r', "best-valid", "R", NULL, 0, 0, OPTION_KEPT, "") \
    X(BEST_STEP, 'i', "best-step", "N", NULL, 0, 0, OPTION_KEPT, "") \
    X(PLAYGROUND, 's', "playground", "SETTINGS", NULL, 0, 0, OPTION_KEPT, "")

#define OPTION_ENUM(id, kind, name, value, normal, least, most, commands, help) O_##id,
typedef enum option_id { OPTIONS(OPTION_ENUM) O_COUNT } option_id;
#undef OPTION_ENUM

enum { OPTION_KEPT = 1 << 30, OPTION_FILES = 64 };  /* KEPT for a command: of the experiment */
typedef struct option_row {
    const char *name, *value, *normal, *help;
    double      least, most;
    int         commands;
    char        kind;
} option_row;
extern const option_row option_rows[];

typedef struct settings {
    const char *text[O_COUNT];          /* as given; NULL: the default */
    const char *file[OPTION_FILES];     /* arguments without an option */
    int         files;
} settings;

bool given(const settings *s, option_id i);

const char *text_of(const settings *s, option_id i);

double real_of(const settings *s, option_id i);

int64_t whole_of(const settings *s, option_id i);

/* The number of a name in a list between bars, from 0; -1: it is not there. */
int option_name(const char *names, const char *text);

int choice_of(const settings *s, option_id i);

/* The values of an option: names between bars, or a word such as FILE. Valid until the next
 * call. */
const char *option_values(const option_row *r);

/* Keeps in *best, first NULL, the name nearest to `text`. Names that begin with `text` are
 * nearer. */
void option_nearer(const char **best, const char *text, const char *name);

/* True if a name is near enough to suggest it: at most a third of the letters differ. */
bool option_is_near(const char *text, const char *name);

/* A list with another text after a comma. The result is never freed, because lists are few. */
const char *option_longer(const char *list, const char *text);

/* Reads all arguments of a command: "--name value", "--name=value", files. -o is --out, - is a
 * file. */
void options_read(settings *s, cli *c, int command);

void options_help(FILE *f, int command);

/* Writes the experiment as lines "name value". Returns the bytes without the final zero, like
 * snprintf. */
size_t options_write(char *to, size_t room, const settings *s);

/* Takes options that are not given yet from such lines. The lines are cut into pieces and must
 * remain valid. */
void options_take(settings *s, char *lines);
#endif
