/* >> manual */
/* tfnorm.h - train and run small Transformers, with the normalization wherever a paper put it.
 * Version 0.2.0.  One C99 header, no dependency.  MIT or public domain, as you like (at the end).
 *
 * In ONE source file, best in one of your own, tfnorm.c, which is compiled once and kept:
 *     #define TFNORM_IMPLEMENTATION
 *     #include "tfnorm.h"
 * In all others only the include, which compiles in no time (examples/14_two_files.c):
 *     cc -O2 -c tfnorm.c && cc -O2 program.c tfnorm.o -o program -lm
 * `cc -O2` with no other flag is fast: the best kernels of the processor are chosen when the
 * program runs. See it learn, one hundred lines from text to model:
 *     cc -O2 examples/quickstart.c -o quickstart -lm && ./quickstart
 *
 * It does
 *   models      decoder-only, encoder-only, encoder-decoder; any depth and width; tied or not
 *   placement   Pre-LN, Post-LN, Admin, B2T, DeepNorm, DLCL, T-Fixup, Fixup, ReZero, Peri-LN,
 *               ResiDual, nGPT and forty more by name, hybrids, and any row of your own; 26 norms
 *               and 24 initializations, each free to combine with the others
 *   inside      multi-head and grouped-query attention; learned, sinusoidal, rotary positions;
 *               ReLU, GELU (both forms), SiLU, GEGLU, SwiGLU; dropout at every usual place
 *   training    cross-entropy with label smoothing; SGD, Adam, AdamW, RAdam; clipping; nine
 *               schedules with warm-up; gradient accumulation; recomputation
 *   text        byte-level BPE with its training, words, characters, bytes
 *   files       safetensors; checkpoints, after which a run goes on with the same bits
 *   running     a key/value cache, batches, beams; microcontroller builds without training
 *   processors  AVX-512, AVX2, 128-bit x86, NEON, WebAssembly SIMD, plain C; threads if you like
 *
 * It does not
 *   - use a GPU, the hardware's half precision (it simulates it) or quantized weights;
 *   - fetch data: it takes and gives arrays, and reads and writes its own checkpoints;
 *   - differentiate C code: each operation has its backward, written by hand (add your own);
 *   - allocate after init, print, exit, abort, or keep anything in a global variable;
 *   - train on several machines.
 *
 * Three levels, each usable alone. Kernels: plain functions on plain pointers (tfn_kernels_for).
 * Tape: record operations once, plan their memory once, run many times (tfn_tape_init). Model: one
 * options struct and one call per training step (tfn_model_new). A lower level knows no higher one.
 * If you come from the papers, begin with ">> reference": norms, softmax, attention, linear maps,
 * cross-entropy and AdamW in plain loops, with the bits of the fast kernels.
 *
 * CONTENTS: search for ">> name".
 *   manual        what you are reading
 *   config        the macros you may define
 *   api           everything public: types, constants, functions
 *   ground        status, arena, random numbers
 *   math          scalar functions of our own, with their errors
 *   tables        of positions: sines, rotations
 *   simd          the vector macros: one set per instruction set
 *   vmath         exp, tanh, erf of vectors; sums over a row
 *   dense         matrix products
 *   norms         of rows, of single values, of columns over a batch; softmax
 *   attention     scaled dot-product attention, and its one-token form
 *   ffn           activations, gated units, dropout, sums
 *   embed         embeddings and positions
 *   loss          cross-entropy, optimizers' updates
 *   table         the public table of one instruction set
 *   instances     one copy of the kernels per instruction set
 *   reference     norms, softmax, attention, linear, loss, AdamW in plain loops: read it first
 *   choice        which copy runs here, and whether its bits are canonical
 *   tape          operations; record, plan, run
 *   topologies    rows: where norms and scales stand; initializations
 *   optim         schedules, and the constants of an update
 *   options       defaults, and what has no legal value
 *   builder       parameters, norms, joins, branches and stacks on a tape
 *   initial       first values of the weights
 *   fold          scales and gains into the weights, for inference
 *   model         memory, batches, the training step, profiles
 *   decoder       one token after the other
 *   generate      text: greedy, drawn, by beam search
 *   json          UTF-8 and JSON, read strictly
 *   tokenize      bytes, characters, words, byte-level BPE: training, encoding, saving
 *   metrics       perplexity, accuracy, BLEU, ROUGE, error rates
 *   files         bytes and paths, safetensors, the index of several
 *   checkpoints   options as texts, saving, loading, means of several
 *   diagnostics   the self-check
 *   end           private macros are undefined again
 *   rules         house rules; how to add things
 *   history       releases
 *   licence       MIT or public domain
 *
 *
 * FIVE PROMISES (each has a test)
 *
 * 1. Every placement. A recipe names topology, norm and initialization together; one field sets it,
 *    and each of the three can be overridden: tfn_recipe_at, tfn_topology_at, tfn_norm_at and
 *    tfn_init_at list them, and your own row is as good as one of these.
 * 2. Same bits. The same seed gives the same bits with any number of threads, any compiler and
 *    optimization level, and every processor with a fused multiply-add, at full speed, by default.
 * 3. Exact memory. A function says how many bytes a configuration needs. With that block it works;
 *    with one byte less it returns an error. No allocation after init, nothing to free.
 * 4. Never kills you. No abort, exit, print or global state. A wrong argument gives an error with
 *    a message, and a failed call changes nothing.
 * 5. Fast as compiled. No flags, no library: plain `cc -O2` runs close to the processor's limit.
 *
 *
 * STEP BY STEP
 *
 * 1. Say what you want. All zero is legal, but for vocab and context; 0 means a good default.
 *
 *        tfn_model_desc desc = { 0 };
 *        desc.vocab   = 256;
 *        desc.context = 128;
 *        desc.batch   = 16;                        // the most sentences a call will get
 *        desc.recipe  = "post";                    // 0: "pre"
 *        desc.schedule.kind = TFN_SCHEDULE_INVERSE_SQRT;    // 0: constant
 *        desc.schedule.lr = 1e-3f;
 *        desc.schedule.warmup = 400;
 *
 *    tfn_model_resolve shows what the zeros become. recipe sets three things; .topology, .norm and
 *    .init override them one by one. .topology takes a row of your own (see topologies), and
 *    .decoder_topology and .decoder_norm make the two stacks of an encoder-decoder differ.
 *    Recipes that look at data first ("admin", "lsuv") do so in the first step, or when you call
 *    tfn_model_profile.
 *
 * 2. Make the model.
 *
 *        tfn_model model;
 *        if (tfn_model_new(&model, &desc, NULL) != TFN_OK) {      // malloc, or your allocator
 *            char text[200];
 *            puts(tfn_error_text(&model.error, text, sizeof text));
 *        }
 *
 *    Without malloc, see MEMORY. The weights are drawn from desc.seed.
 *
 * 3. Train. Tokens and targets are rows of `time` numbers, one row per sentence. A target below 0
 *    is ignored. Sentences shorter than `time` are padded on the right; lengths says how long each
 *    is (NULL: all full). Padding may hold anything and changes nothing, not the last bit.
 *
 *        tfn_batch batch = { 0 };
 *        batch.tokens  = tokens;                   // (batch, time)
 *        batch.targets = targets;                  // the same shape: for text, tokens moved by one
 *        batch.batch   = 16;
 *        batch.time    = 128;
 *        tfn_report report;
 *        for (int i = 0; i < 1000; i++) {
 *            fill(tokens, targets);
 *            if (tfn_model_step(&model, &batch, &report) != TFN_OK) break;
 *            printf("%.3f\n", report.loss);        // nats per target
 *        }
 *
 *    Batches may be smaller than planned, in both directions, without any preparation. With
 *    desc.micro_batches = 4, four calls make one update. An update in which a loss or a gradient is
 *    not finite changes nothing, neither weights and moments nor what its earlier micro-batches did
 *    to running statistics, and a profile that it made falls with it; report.skipped says so, and
 *    report.culprit which parameter.
 *
 * 4. Measure. tfn_model_eval is the loss without dropout and without an update;
 *    tfn_model_logits gives the scores themselves.
 *
 * 5. Use it. A decoder feeds one token after the other and remembers the past.
 *
 *        size_t scratch_size = tfn_model_scratch(&desc);
 *        void *scratch = malloc(scratch_size);
 *        size_t size = tfn_decoder_size(&model, 1, 1, scratch, scratch_size);
 *        tfn_decoder decoder;
 *        tfn_decoder_init(&decoder, &model, 1, 1, malloc(size), size);
 *        const float *logits = tfn_decoder_next(&decoder, &token, 1, NULL);
 *
 *    Several decoders may share a model. An encoder-decoder gets its source by tfn_decoder_start.
 *    The scores are those of the full forward, to the last bit (but with a norm over the whole
 *    tensor, TFN_FLAG_WHOLE, which no decode can know).
 *
 * 6. Look inside. tfn_model_param(&model, i, &info) gives tensor i with name, shape, data, gradient
 *    and group; all parameters are one flat vector, and so are gradients and moments. Weights are
 *    stored (in, out). tfn_model_hash is a fingerprint of all of them.
 *
 * 7. Ship it. A model made with .inference and .folded takes the weights of a trained one through
 *    tfn_model_fold, and has none of the scales, gains and shifts that those can hold.
 *
 * 8. Save, and go on another day. A run that was resumed has the bits of one that never stopped.
 *
 *        tfn_file file = { 0 };
 *        tfn_checkpoint with = { &tokenizer, "line 4711", false };    // or NULL: nothing more
 *        file.path = "model.safetensors";
 *        if (tfn_model_save(&file, &model, &with) != TFN_OK)
 *            puts(tfn_error_text(&file.error, text, sizeof text));
 *
 *    The old file stands until the new one is whole. Later, or in another program:
 *
 *        int64_t step;
 *        tfn_model_peek(&file, &desc, &step);      // the options, all of them
 *        tfn_model_new(&model, &desc, NULL);
 *        tfn_model_load(&model, &file);
 *
 *    Made with desc.inference, the model takes the weights alone. tfn_model_load_weights begins
 *    anew from them, or from the mean of several checkpoints. Python reads the file with the
 *    package safetensors.
 *
 * Encoder-decoder: desc.arch = TFN_ARCH_ENCODER_DECODER; a batch also has source, source_time and
 * source_lengths. The source may be sound (desc.bands): frames of a spectrum, which two
 * convolutions make a quarter as many positions of. Encoder: desc.arch = TFN_ARCH_ENCODER, with a
 * class per position or one per sentence (desc.head = TFN_HEAD_SEQUENCE, desc.classes).
 *
 * The tape alone: examples/05_own_op.c. A kernel alone: examples/02_kernel.c.
 *
 * A LOOP OF YOUR OWN
 *
 * Training is a loop in your program, so whatever you want between two updates stands there. The
 * parameters are one vector that begins with tensor 0: the weights that did best on held-out data
 * are one memcpy away (all of it in examples/14_two_files.c).
 *
 *        tfn_model_param(&model, 0, &all);
 *        for (int step = 1; worse < 3; step++) {
 *            tfn_model_step(&model, &batch, &report);         // report.lr, report.grad_norm ...
 *            if (step % 20) continue;
 *            tfn_model_eval(&model, &held_out, &loss);
 *            worse++;
 *            if (loss.loss >= best) continue;
 *            best = loss.loss;
 *            worse = 0;
 *            memcpy(kept, all.data, model.memory.parameters);
 *        }
 *
 * After a step info.grad of each tensor is the gradient of the summed loss, before clipping. You
 * may write to info.data at any time between two calls: nothing is kept that depends on it.
 *
 *
 * WEIGHTS FROM NUMPY
 *
 * Names, shapes and order are those of tfn_model_param; matrices are (in, out), the transpose of
 * torch.nn.Linear's, and vectors have one row. In Python, with a dictionary of arrays:
 *
 *        from safetensors.numpy import save_file
 *        save_file({"decoder.0.self.q.weight": q.T.copy()}, "weights.safetensors")    # and so on
 *
 * and in C:
 *
 *        tfn_file file = { 0 };
 *        file.path = "weights.safetensors";
 *        if (tfn_file_open(&file) != TFN_OK) return 1;
 *        for (int32_t i = 0; tfn_model_param(&model, i, &info); i++) {
 *            if (!tfn_file_find(&file, info.name, &tensor)) return 1;
 *            if (tensor.count != (int64_t)info.rows * info.cols) return 1;
 *            if (tfn_file_read(&file, &tensor, info.data, 0, tensor.count) != TFN_OK) return 1;
 *        }
 *        tfn_file_close(&file);
 *
 *
 * CMAKE
 *
 * One header needs no package. In a project whose tfnorm.c has the two lines above:
 *
 *        include(FetchContent)
 *        FetchContent_Declare(tfnorm GIT_REPOSITORY ${TFNORM_URL} GIT_TAG ${TFNORM_TAG})
 *        FetchContent_MakeAvailable(tfnorm)                   # 3.14 or later
 *        add_executable(program program.c tfnorm.c)
 *        target_include_directories(program PRIVATE ${tfnorm_SOURCE_DIR})
 *        target_link_libraries(program PRIVATE m)
 *
 *
 * MEMORY
 *
 * A model is one block. tfn_model_size runs the very code of init on an arena that only counts, so
 * its answer is exact and includes the slack for alignment: any address will do.
 *
 *        static unsigned char block[SIZE];
 *        size_t wanted = tfn_model_size(&desc, block, sizeof block);   // the block as scratch
 *        tfn_status st = tfn_model_init(&model, &desc, block, sizeof block);
 *
 * The size pass plans the model for real and needs a little real memory to do so: the scratch, of
 * at most tfn_model_scratch(&desc) bytes. It is not used afterwards.
 * The block holds four regions: parameters, gradients, moments, workspace; model.memory has their
 * bytes. Each can be a pointer of yours instead (desc.parameters ...): give a model made for
 * inference its weights from flash, or let two models share a workspace when they do not run at
 * the same time. desc.inference leaves gradients and moments out. desc.recompute computes the
 * inside of each layer again in the backward, for less workspace.
 * No buffer grows with the square of a length. Models may be thrown away; tfn_model_free is for
 * tfn_model_new only. Do not copy a model to another address while you use it from two places:
 * it is plain data, but both copies would work in the same block.
 *
 *
 * ERRORS
 *
 * Every call that can fail returns a tfn_status, a pointer that is NULL, or a size that is 0. The
 * first error of an object is kept in its `error`, and later calls return it again and do nothing:
 * check once, at the end. An exception: what is wrong with a batch (TFN_BAD_BATCH) concerns that
 * call only. A pointer that is NULL gives TFN_NULL, or TFN_BAD_BATCH for a batch and what it must
 * have, unless a comment says what NULL means; so does an object that is NULL, which has no error
 * to keep. One that no init has seen, all zero, gives TFN_NOT_READY. tfn_error_text says what was
 * found and what was wanted:
 *     linear: input has 48 channels, weight wants 64 (node 17, layer 2)
 * TFNORM_ASSERT is for defects of this library, never for a mistake of yours.
 *
 *
 * BITS
 *
 * Every sum in here has a fixed order, given by the data and never by the machine; matrix products
 * are chains of fused multiply-adds in order of the inner index; exp, tanh, erf and the others are
 * our own; random numbers are counted, not drawn. So a result depends on the seed, the options and
 * the data. It does not depend on: compiler, -O level, -march, instruction set, threads, padding,
 * the batch's capacity, the address of the block.
 * Promised where the processor has a fused multiply-add: x86 with FMA3 (AVX-512, AVX2, 128 bits),
 * AArch64, RISC-V with F, Cortex-M4F and later, ARMv7 with VFPv4, 64-bit POWER, s390x. Without one
 * ("sse2", i386, MIPS, WebAssembly, plain C compiled without -mfma) the results are as good, but
 * their bits are others: a second set, the same on all of these. TFNORM_EXACT makes plain C compute
 * a fused multiply-add in software, slowly, to get the canonical ones.
 * Excluded: -ffast-math and -Ofast, clang's -ffp-contract=fast, x87 arithmetic, and a processor set
 * to flush denormals to zero. tfn_bits(isa) tries all of these with a few numbers and returns
 * "canonical" or "differ: reason". tfn_selfcheck trains a small model for 20 steps: its hash equals
 * TFN_BITS_HASH wherever the bits are canonical, and TFN_BITS_HASH_NO_FMA wherever the answer is
 * "differ: no FMA", given only if nothing else is amiss. One large batch and the same one in
 * micro-batches are different configurations, and differ in the last bits.
 * The order of every sum is part of the interface: TFN_BITS_VERSION changes if it does.
 * Denormal numbers are slow on many processors, so none is made for nothing: a softmax's exp, a
 * logistic function and a derivative that decays to 0 are exactly 0 below 2^-60, an optimizer's
 * moments below 2^-100.
 *
 *
 * THREADS
 *
 * desc.threads, fixed at init. Compiled with OpenMP (-fopenmp) they are OpenMP's; else define
 * TFNORM_PARALLEL_FOR (see config; tools/threads.h has one for pthreads and Windows); else all runs
 * on the calling thread. Each forward and each backward is one parallel region with small chunks
 * taken from a queue, and every output has one writer: the bits are equal for every number. A
 * thread that the system delays is waited for only while it holds a chunk. Objects are independent;
 * one object must not be used from two threads at once, but for the model that several decoders
 * read. On a 32-bit processor without 8-byte atomics, such as MIPS32, threads want -latomic.
 *
 *
 * PLATFORMS
 *
 * Any C99 compiler with 32-bit IEEE floats; the implementation also compiles as C++11. gcc and
 * clang choose the kernels at run time on x86-64. Built by gcc for Windows (MinGW) only 128-bit
 * vectors are used, because of GCC bug 54412 (misaligned AVX spills). Other compilers get plain C.
 * README.md has the table of what is tested, compiled only, or expected to work.
 */

/* >> config */
/* Define these before the implementation, if you want them.
 *
 *   TFNORM_IMPLEMENTATION   emit the code here: in exactly one source file (or see _STATIC)
 *   TFNORM_STATIC           all functions static: each file that includes it has its own copy
 *   TFNORM_API              what stands before each declaration instead of extern, such as
 *                           __declspec(dllexport); define it in all files alike
 *   TFNORM_ASSERT(x)        for defects of the library; nothing by default
 *   TFNORM_NO_STDIO         without <stdio.h>: files in memory and through callbacks alone
 *   TFNORM_NO_FILES         without files
 *   TFNORM_NO_MALLOC        without <stdlib.h>, tfn_model_new and tfn_model_free; files want work
 *   TFNORM_NO_TRAINING      without gradients, optimizers and random weights: a decoder fits a
 *                           microcontroller
 *   TFNORM_ALL_NORMS        with TFNORM_NO_TRAINING: keep the norms that are neither LayerNorm nor
 *                           RMSNorm; without it a decoder has those two alone
 *   TFNORM_ONLY_KERNELS     the kernels alone, without tape and model
 *   TFNORM_NO_TOKENIZERS    without tokenizers
 *   TFNORM_NO_METRICS       without BLEU and the other scores of texts
 *   TFNORM_NO_SIMD          plain C only
 *   TFNORM_DEBUG            plain C only, without attributes and pragmas that optimize: compiled
 *                           with -O0 it takes a second, and every line can be stepped through. The
 *                           bits are those of TFNORM_NO_SIMD
 *   TFNORM_EXACT            plain C computes the fused multiply-add in software where the compiler
 *                           has no instruction for it: canonical bits, slowly
 *   TFNORM_PARALLEL_FOR(threads, fn, ctx)
 *                           must call fn(ctx, i) once for each int i = 0 .. threads-1, in any
 *                           order, side by side or not, and return when all have returned;
 *                           fn is void fn(void *, int). gcc and clang only (it uses atomics)
 *   TFNORM_MEMSET, TFNORM_MEMCPY, TFNORM_SQRTF
 *                           instead of memset, memcpy, sqrtf; without the first two <string.h>.
 *                           TFNORM_SQRTF must round correctly, or the bits are not canonical
 *   TFNORM_FILE             how the header includes itself, "tfnorm.h" by default: define it if
 *                           yours has another name, or a path that quotes do not resolve
 */
/* >> api */
#ifndef TFNORM_H
#define TFNORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TFNORM_VERSION "0.2.0"

/* The version of the library's arithmetic: raised only on purpose, with the two hashes that
 * tfn_selfcheck must give: on every machine whose bits are canonical; and on every processor that
 * has no fused multiply-add, where all have the same second set of bits ("differ: no FMA"). */
#define TFN_BITS_VERSION 2
#define TFN_BITS_HASH        UINT64_C(0x890a8ae3717f254d)
#define TFN_BITS_HASH_NO_FMA UINT64_C(0x0c56999348397224)

#ifndef TFNORM_API
#ifdef TFNORM_STATIC
#if defined __GNUC__ || defined __clang__
#define TFNORM_API static __attribute__((unused))
#else
#define TFNORM_API static
#endif
#else
#define TFNORM_API extern
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* B batch, T time, C channels (the width), H heads, D head size, V vocabulary, F hidden width
 * of the feed-forward, L layers. Matrices are row-major; weights are stored (in, out): y = x W. */

/* -- status and errors ----------------------------------------------------------------------- */

#define TFN__STATUS_LIST(X)                                                                    \
    X(TFN_OK,           "no error")                                                            \
    X(TFN_BAD_OPTION,   "an option has no legal value")                                        \
    X(TFN_BAD_SHAPE,    "shapes do not fit")                                                   \
    X(TFN_BAD_BATCH,    "the batch does not fit the model")                                    \
    X(TFN_NOT_FOUND,    "no such name")                                                        \
    X(TFN_NO_MEMORY,    "the memory block is too small")                                       \
    X(TFN_TOO_LARGE,    "a size does not fit the machine's integers")                          \
    X(TFN_NO_GRADIENT,  "a gradient reached an operation that has no backward")                \
    X(TFN_NOT_READY,    "called before what it needs was done")                                \
    X(TFN_NOT_FINITE,   "a number is not finite")                                              \
    X(TFN_BAD_FORMAT,   "the data is not what its format says")                                \
    X(TFN_BAD_FILE,     "a file cannot be read or written")                                    \
    X(TFN_UNSUPPORTED,  "left out of this build or not available on this machine")             \
    X(TFN_NULL,         "a pointer is NULL that must not be")

#define TFN__STATUS_ENUM(name, text) name,
typedef enum tfn_status { TFN__STATUS_LIST(TFN__STATUS_ENUM) TFN_STATUS_COUNT } tfn_status;

/* The first error of an object; later calls return it again and do nothing. */
typedef struct tfn_error {
    tfn_status  status;
    const char *op;            /* who found it, such as "linear"; static text */
    const char *text;          /* static format: %d takes found, then wanted; %s takes name */
    int64_t     found, wanted;
    const char *path;          /* the file it concerns, or NULL; the caller's text, not a copy */
    int32_t     node, layer;   /* tape node and layer it concerns, -1: none */
    char        name[128];     /* a name given by the user, cut to fit */
} tfn_error;

/* Write the error as one line of text ("linear: input has 48 channels, weight wants 64 (node 17,
 * layer 2)"), always terminated. Returns buf, so that it can stand in a printf; buf may be NULL. */
TFNORM_API const char *tfn_error_text(const tfn_error *error, char *buf, size_t size);
TFNORM_API const char *tfn_status_text(tfn_status status);
TFNORM_API const char *tfn_version(void);

/* -- random numbers: counter-based, no state ------------------------------------------------- */

/* A key names a stream; the same key and index give the same number on every machine. */
typedef struct tfn_key { uint64_t bits; } tfn_key;
TFNORM_API tfn_key  tfn_key_make(uint64_t seed);
TFNORM_API tfn_key  tfn_key_fold(tfn_key key, uint64_t data);      /* a sub-stream */
TFNORM_API uint64_t tfn_random_bits(tfn_key key, uint64_t index);
TFNORM_API float    tfn_random_uniform(tfn_key key, uint64_t index);   /* [0, 1) */
TFNORM_API float    tfn_random_normal(tfn_key key, uint64_t index);    /* mean 0, variance 1 */
/* Element i of a random permutation of 0..n-1, in constant memory; 0 for n <= 1. */
TFNORM_API int64_t  tfn_random_shuffle(tfn_key key, int64_t i, int64_t n);

/* -- kernels --------------------------------------------------------------------------------- */

/* Plain functions on plain pointers: no state, no failure. One table per instruction set, all with
 * the same bits where the machine has a fused multiply-add. `add` false stores a gradient, true
 * adds to what is there. Pointers of different arguments must not overlap unless said. */

typedef enum tfn_isa {
    TFN_ISA_BEST = 0,      /* the widest that machine and compiler have */
    TFN_ISA_PLAIN,         /* C without vectors */
    TFN_ISA_SSE2,          /* x86, 128 bits, no fused multiply-add: other bits */
    TFN_ISA_FMA128,        /* x86, 128 bits with FMA3 */
    TFN_ISA_AVX2,          /* x86, 256 bits with FMA3 */
    TFN_ISA_AVX512,        /* x86, 512 bits (AVX-512F) */
    TFN_ISA_NEON,          /* AArch64 */
    TFN_ISA_WASM,          /* WebAssembly SIMD, 128 bits, no fused multiply-add: other bits */
    TFN_ISA_COUNT
} tfn_isa;

/* Options that are enumerations have a list: enumerator, name in checkpoints and on command lines,
 * what it is, paper. A new one is a row at its list's end: see tfn_choice. */
#define TFN__CHOICE_ENUM(value, name, formula, paper) value,

#define TFN__ACTIVATION_LIST(X)                                                                   \
    X(TFN_ACTIVATION_RELU, "relu", "max(x, 0)", "Nair & Hinton 2010")                             \
    X(TFN_ACTIVATION_GELU, "gelu", "x/2 (1 + erf(x/sqrt 2))", "Hendrycks & Gimpel 2016")          \
    X(TFN_ACTIVATION_GELU_TANH, "gelu-tanh", "x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))",     \
      "Hendrycks & Gimpel 2016")                                                                  \
    X(TFN_ACTIVATION_SILU, "silu", "x/(1 + exp(-x))", "Elfwing et al. 2018")                      \
    X(TFN_ACTIVATION_TANH, "tanh", "tanh(x)", NULL)                                               \
    X(TFN_ACTIVATION_GEGLU, "geglu", "GELU(x W1) * (x W3), then W2; model only", "Shazeer 2020")  \
    X(TFN_ACTIVATION_SWIGLU, "swiglu", "SiLU(x W1) * (x W3), then W2; model only", "Shazeer 2020") \
    X(TFN_ACTIVATION_IDENTITY, "identity", "x", NULL)
typedef enum tfn_activation_kind {
    TFN_ACTIVATION_DEFAULT = 0,   /* GELU_TANH */
    TFN__ACTIVATION_LIST(TFN__CHOICE_ENUM) TFN_ACTIVATION_COUNT
} tfn_activation_kind;

/* c (m, n) = start + a (m, k) * b (k, n). Element (i, p) of a is a[i*a_row + p*a_col],
 * likewise b; c and start have unit column stride. start NULL: +0; start == c: accumulate; a
 * bias (n): start_ld 0. Each element is one chain of fused multiply-adds over k in increasing
 * order: blocks, tiles, vectors and threads cannot change a bit. */
typedef struct tfn_matmul_args {
    float       *c;
    const float *start, *a, *b;
    ptrdiff_t    m, n, k;
    ptrdiff_t    c_ld, start_ld, a_row, a_col, b_row, b_col;
} tfn_matmul_args;

/* Scaled dot-product attention with H query heads and G key/value heads (head h reads h*G/H);
 * Vaswani 2017, eq. 1. q, y (B*Tq, H*D); k, v (B*Tk, G*D); rows of q, k, v, y are q_ld ...
 * floats apart; causal: query i reads keys 0..i. lengths (B) or NULL: keys at and beyond
 * lengths[b] are never read. stats keeps m, l of the softmax: (B*Tq, H, 2). Dropout on the
 * weights: rate p > 0 with a key, see dropout below; its index is ((b*H + h) * 2^20 + query) *
 * 2^20 + key. The backward wants y and stats from the forward. */
typedef struct tfn_attention_args {
    float       *y, *stats;
    const float *q, *k, *v;
    const int32_t *lengths;
    float       *dq, *dk, *dv;        /* backward only; dk, dv chained over the heads of a group */
    const float *dy;
    ptrdiff_t    batch, tq, tk;
    int32_t      heads, kv_heads, head_size;
    ptrdiff_t    q_ld, k_ld, v_ld, y_ld;     /* gradients have the strides of their values */
    float        scale;               /* usually 1/sqrt(D) */
    float        cap;                 /* > 0: scores are cap*tanh(score/cap) (Gemma 2) */
    float        dropout;
    tfn_key      key;
    bool         causal, add_dq, add_dk, add_dv;
} tfn_attention_args;

/* One new query row per sentence against a cache: q, y (B, H*D); k_cache (B, G, D, capacity):
 * keys in lanes; v_cache (B, G, capacity, D). count: keys valid for every sentence, or per
 * sentence in lengths. */
typedef struct tfn_attention_cached_args {
    float         *y;
    const float   *q, *k_cache, *v_cache;
    const int32_t *lengths;           /* NULL: count for all */
    const int32_t *beam;              /* NULL, or cache row to read for sentence b */
    ptrdiff_t      batch, count, capacity, q_ld, y_ld;
    int32_t        heads, kv_heads, head_size;
    float          scale, cap;
} tfn_attention_cached_args;

/* Norms of rows: y = gain * n + bias, n = (x - mean) * rstd. Compiled with TFNORM_NO_TRAINING, but
 * not TFNORM_ALL_NORMS, only LAYER and RMS are there. */
typedef enum tfn_norm_kind {
    TFN_NORM_LAYER = 0,    /* mean; 1/sqrt(var + eps): Ba 2016 */
    TFN_NORM_RMS,          /* 0; 1/sqrt(mean(x^2) + eps): Zhang & Sennrich 2019, eq. 4 */
    TFN_NORM_RMS_OUTSIDE,  /* 0; 1/(sqrt(mean(x^2)) + eps): their PyTorch code */
    TFN_NORM_L2,           /* 0; 1/max(|x|, eps): Nguyen & Salazar 2019, with a gain ScaleNorm */
    TFN_NORM_CRMS,         /* 0; 1/sqrt((sum(x^2) + sum(x)^2)/(C+1) + eps): Jiang 2023, for C of the
                            * C+1 features of a vector whose sum is 0 */
    TFN_NORM_CENTER,       /* mean; C/(C-1): LipsFormer, Qi 2023 */
    TFN_NORM_ADA,          /* mean; 1/(s + eps), s with 1/(C-1); y = factor*(1 - slope*n)*n, all
                            * before n taken for a constant; no gain, no bias: Xu 2019, eq. 6 */
    TFN_NORM_ABSMAX,       /* the kernel is LAYER's: with eps*a^2 for eps, a = max|x|/8 of the whole
                            * tensor, that is CogView's LayerNorm of x/a (Ding 2021). A tape takes
                            * this eps by itself, with a of the rows that count; a caller must */
    /* not functions of one row's moments: */
    TFN_NORM_POINT,        /* tfn_point_args */
    TFN_NORM_SEED,         /* tfn_seed_args */
    TFN_NORM_BATCH,        /* tfn_columns_args: Ioffe & Szegedy 2015 */
    TFN_NORM_POWER         /* tfn_columns_args: PowerNorm, Shen 2020 */
} tfn_norm_kind;
typedef struct tfn_norm_args {
    tfn_norm_kind kind;                 /* up to ABSMAX */
    float       *y, *mean, *rstd;       /* mean, rstd (rows, groups) are kept, or NULL */
    const float *x, *gain, *bias;       /* (rows, cols); (cols) or NULL for 1 and 0 */
    float       *dx, *dgain, *dbias;    /* backward; dgain, dbias chain over the rows, or NULL */
    const float *dy;
    ptrdiff_t    rows, cols;
    ptrdiff_t    groups;                /* 0: 1; statistics of each of so many groups of columns */
    ptrdiff_t    part;                  /* 0: all; statistics of a group's first so many (RMS) */
    float        eps, slope, factor;
    bool         offset;                /* the gain is 1 + gain: Gemma */
    bool         detach_mean, detach_std;    /* the backward takes them for constants: Xu 2019 */
    bool         add, add_params;
} tfn_norm_args;

/* y = gain * f(alpha*x + shift) + bias: DyT (tanh), Zhu 2025; Derf and its siblings, Chen 2025. */
typedef enum tfn_squash_kind {
    TFN_SQUASH_TANH = 0, TFN_SQUASH_ERF,
    TFN_SQUASH_ISRU,                    /* z / sqrt(z^2 + 1) */
    TFN_SQUASH_EXP,                     /* sign(z) (1 - exp(-|z|)) */
    TFN_SQUASH_ATAN,                    /* 2/pi atan z */
    TFN_SQUASH_SIN,                     /* sin z, z clipped to +-pi/2 */
    TFN_SQUASH_SOFTSIGN                 /* z / (1 + |z|) */
} tfn_squash_kind;
typedef struct tfn_point_args {
    tfn_squash_kind   squash;
    float       *y;
    const float *x, *alpha, *shift, *gain, *bias;    /* alpha, shift: one number; NULL: 1, 0 */
    float       *dx, *dalpha, *dshift, *dgain, *dbias;    /* each may be NULL */
    const float *dy;
    ptrdiff_t    rows, cols;
    bool         add, add_alpha, add_shift, add_gain, add_bias;
} tfn_point_args;

/* SeeDNorm, Cai 2025: y = (t*alpha + gain) * n, t = tanh(x . direction) a row, n of RMSNorm;
 * vectors of C. */
typedef struct tfn_seed_args {
    float       *y, *stats;             /* (rows, 2): t and rstd */
    const float *x, *gain, *alpha, *direction;
    float       *dx, *dgain, *dalpha, *ddirection;
    const float *dy;
    ptrdiff_t    rows, cols;
    float        eps;
    bool         add, add_gain, add_alpha, add_direction;
} tfn_seed_args;

/* Norms of each column over the rows of a batch; rows at and beyond lengths[b] do not count in the
 * statistics, but are normalized. BATCH: n = (x - mean)/sqrt(var + eps). POWER: n = x/sqrt(v +
 * eps), v = mean(x^2), after `warmup` updates the running v; its backward is not the gradient but,
 * as the authors' code: with g = dy*gain, h = g - (1 - 0.9)*nu*n: dx = h/sqrt(v + eps) with the
 * batch's v, nu += mean(h*n). That mean is over the rows that count, and h = g in the others: the
 * authors' code averages over padding, too, so that its results depend on how long the longest
 * sentence of a batch is.
 * running and next (2, cols): BATCH mean and variance (momentum 0.1, variance over 1/(T-1)), first
 * 0 and 1; POWER v and nu (0.9), first 1 and 0. next gets what running becomes when the update is
 * done: both rows in the forward, then nu in POWER's backward. If no row counts, running normalizes
 * and stays. Without training it normalizes too, the backward takes it for a constant, next is not
 * written, and stats may be NULL. */
typedef struct tfn_columns_args {
    tfn_norm_kind kind;                 /* BATCH or POWER */
    float       *y, *next;
    float       *stats;                 /* (2, cols), for the backward. BATCH: mean and rstd; POWER:
                                         * what x and what h is multiplied by */
    const float *x, *gain, *bias, *running;
    const int32_t *lengths;             /* (batch) or NULL: all time rows count */
    float       *dx, *dgain, *dbias;
    const float *dy;
    ptrdiff_t    batch, time, cols;
    int64_t      step, warmup;          /* step from 1 */
    float        eps;
    bool         training, add, add_gain, add_bias;
} tfn_columns_args;

/* Optimizers: g the gradient, m and v its moments, lr the rate, b1 and b2 the betas, d the decay.
 * A row begins with how many moments it keeps of each parameter, at most 2. */
#define TFN__OPTIMIZER_LIST(X)                                                                    \
    X(1, TFN_OPTIMIZER_SGD, "sgd", "g += d p; m = b1 m + g; p -= lr m; without b1 no m",          \
      "Sutskever et al. 2013; PyTorch")                                                           \
    X(2, TFN_OPTIMIZER_ADAM, "adam", "g += d p; p -= lr m^/(sqrt v^ + eps)",                      \
      "Kingma & Ba 2015, algorithm 1")                                                            \
    X(2, TFN_OPTIMIZER_ADAMW, "adamw", "p -= lr (m^/(sqrt v^ + eps) + d p)",                      \
      "Loshchilov & Hutter 2019, algorithm 2")                                                    \
    X(2, TFN_OPTIMIZER_RADAM, "radam", "adamw, m^ alone until the variance of v^ is known",       \
      "Liu et al. 2020, algorithm 2")
#define TFN__OPTIMIZER_ENUM(moments, value, name, formula, paper) value,
typedef enum tfn_optimizer {
    TFN_OPTIMIZER_DEFAULT = 0,    /* ADAMW */
    TFN__OPTIMIZER_LIST(TFN__OPTIMIZER_ENUM) TFN_OPTIMIZER_COUNT
} tfn_optimizer;

/* RAdam while the variance of the second moment is unknown, which rho_t tells. PYTORCH has the
 * decay in the gradient, not in the step as the others, and eps_inside does not count. */
#define TFN__RADAM_LIST(X)                                                                        \
    X(TFN_RADAM_DEFAULT, "paper", "rho_t <= 4: SGD with momentum", "Liu et al. 2020, algorithm 2") \
    X(TFN_RADAM_AUTHORS, "authors", "rho_t < 5: neither step nor decay", "the authors' code")     \
    X(TFN_RADAM_DECAY, "decay", "rho_t < 5: only decay", "Transformer-Clinic, code")              \
    X(TFN_RADAM_MOMENTUM, "momentum", "rho_t < 5: SGD with momentum", "deepnmt, code")            \
    X(TFN_RADAM_PYTORCH, "pytorch", "rho_t <= 5: SGD with momentum", "torch.optim.RAdam")
typedef enum tfn_radam { TFN__RADAM_LIST(TFN__CHOICE_ENUM) TFN_RADAM_COUNT } tfn_radam;

/* One pass of an optimizer over n values with its gradient g and moments m, v: variants in the
 * optim section. */
typedef struct tfn_update_args {
    tfn_optimizer optimizer;
    tfn_radam     radam;
    float lr, beta1, beta2, eps, decay;
    float grad_scale;           /* 1/tokens times the clipping factor */
    bool  nesterov;
    bool  eps_inside;           /* true: sqrt(v / (1 - beta2^t)) + eps, as PyTorch's Adam and AdamW;
                                 * false: (sqrt v + eps) / sqrt(1 - beta2^t), as fairseq's Adam and
                                 * RAdam and PyTorch's RAdam */
    /* of this step, filled by tfn_update_at: */
    bool  adaptive, skip;       /* divided by the second moment; moments alone change */
    float step_size, root;      /* bias corrections */
} tfn_update_args;

typedef struct tfn_kernels {
    const char *name;           /* "avx512" ... */
    tfn_isa     isa;
    bool        fma;            /* false: the bits are not canonical */

    /* Matrix product; work: matmul_work floats. */
    void      (*matmul)(const tfn_matmul_args *p, float *work);
    ptrdiff_t (*matmul_work)(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k);
    /* dbias (cols) = chain over rows of dy (rows, cols), ld floats a row. */
    void (*column_sum)(float *dbias, const float *dy, ptrdiff_t rows, ptrdiff_t cols,
                       ptrdiff_t ld, bool add);

    /* Norms of rows, and their gradients: struct tfn_norm_args. The parameters' gradients of
     * columns [first, first + count). */
    void (*norm_forward)(const tfn_norm_args *p);
    void (*norm_backward)(const tfn_norm_args *p);
    void (*norm_params_backward)(const tfn_norm_args *p, ptrdiff_t first, ptrdiff_t count);

    /* y = exp(x - max) / sum, per row; y may be x. dx = y * (dy - sum(dy*y)); dx may be dy. */
    void (*softmax_forward)(float *y, const float *x, ptrdiff_t rows, ptrdiff_t cols);
    void (*softmax_backward)(float *dx, const float *dy, const float *y, ptrdiff_t rows,
                             ptrdiff_t cols, bool add);

    /* Attention of sentence and key/value head pairs [first, last) of B*G; work: attention_work
     * floats, linear in tk. The cached form wants those of tq = 0 and tk = capacity. */
    void (*attention_forward)(const tfn_attention_args *p, ptrdiff_t first, ptrdiff_t last,
                              float *work);
    void (*attention_backward)(const tfn_attention_args *p, ptrdiff_t first, ptrdiff_t last,
                               float *work);
    ptrdiff_t (*attention_work)(ptrdiff_t tq, ptrdiff_t tk, ptrdiff_t head_size);
    void (*attention_cached)(const tfn_attention_cached_args *p, ptrdiff_t first, ptrdiff_t last,
                             float *work);

    /* y = f(x), dx = f'(x) dy over n values; y may be x, dx may be dy. */
    void (*activation_forward)(float *y, const float *x, ptrdiff_t n, tfn_activation_kind kind);
    void (*activation_backward)(float *dx, const float *dy, const float *x, ptrdiff_t n,
                                tfn_activation_kind kind, bool add);
    /* y = f(gate) * up (Shazeer 2020); kind is TFN_ACTIVATION_GELU, TFN_ACTIVATION_SILU ... */
    void (*gated_forward)(float *y, const float *gate, const float *up, ptrdiff_t n,
                          tfn_activation_kind kind);
    void (*gated_backward)(float *dgate, float *dup, const float *dy, const float *gate,
                           const float *up,
                           ptrdiff_t n, tfn_activation_kind kind, bool add_gate, bool add_up);

    /* y = scale * table[token], (rows, cols) from (V, cols); a token outside 0..V-1 gives
     * zeros. The backward adds to dtable in the order of the rows, on columns [0, cols) of
     * rows ld apart. */
    void (*embed_forward)(float *y, const float *table, const int32_t *tokens, ptrdiff_t rows,
                          ptrdiff_t cols, ptrdiff_t vocab, float scale);
    void (*embed_backward)(float *dtable, const float *dy, const int32_t *tokens, ptrdiff_t rows,
                           ptrdiff_t cols, ptrdiff_t ld, ptrdiff_t vocab, float scale);
    /* y = x + table[t + start], rows b*time + t; y may be x. The backward chains dtable over
     * b, columns as above. */
    void (*position_forward)(float *y, const float *x, const float *table, ptrdiff_t batch,
                             ptrdiff_t time, ptrdiff_t cols, ptrdiff_t start);
    void (*position_backward)(float *dtable, const float *dy, ptrdiff_t batch, ptrdiff_t time,
                              ptrdiff_t cols, ptrdiff_t ld, ptrdiff_t start, bool add);
    /* Rotary positions, half-split (Su 2021; LLaMA): y[j] = x[j] cos - x[j+D/2] sin, y[j+D/2]
     * = x[j+D/2] cos + x[j] sin. table (T, D): D/2 cosines then D/2 sines of row t + start;
     * the inverse rotation is the backward. y may be x. */
    void (*rotary)(float *y, const float *x, const float *table, ptrdiff_t batch, ptrdiff_t time,
                   ptrdiff_t heads, ptrdiff_t head_size, ptrdiff_t start, bool inverse, bool add);
    /* y = x / (1-p) where the mask of (key, first + i) keeps, else 0. Its own backward. y may
     * be x. */
    void (*dropout)(float *y, const float *x, ptrdiff_t n, float p, tfn_key key, uint64_t first,
                    bool add);
    /* y = a*x + b*z + add*y; z may be NULL; y may be x or z. */
    void (*combine)(float *y, const float *x, const float *z, ptrdiff_t n, float a, float b,
                    bool add);
    /* y = x * v, v (cols); dv (columns [0, cols)) chains dy*x over the rows. */
    void (*scale_columns)(float *y, const float *x, const float *v, ptrdiff_t rows,
                          ptrdiff_t cols, bool add);
    void (*scale_columns_backward)(float *dv, const float *dy, const float *x, ptrdiff_t rows,
                                   ptrdiff_t cols, ptrdiff_t ld, bool add);
    /* the canonical flat sum of x*y; y NULL: of x */
    float (*dot)(const float *x, const float *y, ptrdiff_t n);
    /* the largest |x|; 0 of none */
    float (*absmax)(const float *x, ptrdiff_t n);

    /* Cross-entropy in nats per row; targets < 0 are ignored: loss 0. stats keeps max and sum
     * (rows, 2). Label smoothing e over V classes: kind 0: (1-e)*nll + e/V * sum_v -log p_v
     * (PyTorch; Szegedy 2016); kind 1: e_i = e/(V-1): (1-e-e_i)*nll + e_i * sum_v -log p_v
     * (fairseq). nll may be NULL. */
    void (*cross_entropy_forward)(float *loss, float *nll, float *stats, const float *logits,
                                  const int32_t *targets,
                                  ptrdiff_t rows, ptrdiff_t cols, float smoothing, int32_t kind);
    /* dlogits may be logits. dloss (rows) or NULL for 1. */
    void (*cross_entropy_backward)(float *dlogits, const float *dloss, const float *stats,
                                   const float *logits,
                                   const int32_t *targets, ptrdiff_t rows, ptrdiff_t cols,
                                   float smoothing, int32_t kind, bool add);

    void (*update)(float *p, const float *g, float *m, float *v, ptrdiff_t n,
                   const tfn_update_args *u);
    /* Elementwise functions on n values, for tests and users: errors are in the math section. */
    void (*exp)(float *y, const float *x, ptrdiff_t n);
    void (*tanh)(float *y, const float *x, ptrdiff_t n);
    void (*erf)(float *y, const float *x, ptrdiff_t n);
} tfn_kernels;

/* The table of an instruction set, or NULL where compiler or machine lack it. */
TFNORM_API const tfn_kernels *tfn_kernels_for(tfn_isa isa);
/* "avx2"; NULL or unknown: best */
TFNORM_API tfn_isa            tfn_isa_find(const char *name);
/* "canonical", or "differ: reason" for the bits of that instruction set on this machine. */
TFNORM_API const char        *tfn_bits(tfn_isa isa);

/* Norms that few models have, the same for all tables, of which they use a few kernels. Not there
 * with TFNORM_NO_TRAINING, but for the forwards with TFNORM_ALL_NORMS. Columns [first, first +
 * count) of norms over a batch. */
#if !defined TFNORM_NO_TRAINING || defined TFNORM_ALL_NORMS
TFNORM_API void tfn_point_forward(const tfn_kernels *k, const tfn_point_args *p);
TFNORM_API void tfn_seed_forward(const tfn_kernels *k, const tfn_seed_args *p);
TFNORM_API void tfn_columns_forward(const tfn_columns_args *p, ptrdiff_t first, ptrdiff_t count);
#endif
#ifndef TFNORM_NO_TRAINING
TFNORM_API void tfn_point_backward(const tfn_kernels *k, const tfn_point_args *p);
TFNORM_API void tfn_point_params_backward(const tfn_kernels *k, const tfn_point_args *p);
TFNORM_API void tfn_seed_backward(const tfn_seed_args *p);
TFNORM_API void tfn_seed_params_backward(const tfn_seed_args *p);
TFNORM_API void tfn_columns_backward(const tfn_columns_args *p, ptrdiff_t first, ptrdiff_t count);
#endif

#ifndef TFNORM_ONLY_KERNELS
/* -- tape: record once, plan once, run many -------------------------------------------------- */

/* A value on a tape; {0} is "none", and what every call on a failed tape returns. */
typedef struct tfn_var { int32_t id; } tfn_var;

/* How many rows a value has: known when the tape runs. */
typedef enum tfn_rows {
    TFN_ROWS_FIXED = 0,    /* a number given with the shape: parameters */
    TFN_ROWS_BATCH,        /* B */
    TFN_ROWS_SOURCE,       /* B*Ts */
    TFN_ROWS_TARGET,       /* B*Tt */
    TFN_ROWS_FRAMES,       /* B*(4*Ts + 3): what two convolutions make B*Ts of, */
    TFN_ROWS_HALF          /* B*(2*Ts + 1): and what stands between them */
} tfn_rows;

#define TFN_INPUTS 6       /* most inputs a node has */
#define TFN_SLOTS  16      /* integer arrays and float inputs that a run binds, each */

/* One operation and the value it makes: indices and offsets, no pointers. */
typedef struct tfn_node {
    uint8_t  op, rows, reads, grad_add;  /* reads: what the backward reads; grad_add: bit a input */
    uint8_t  grad_need, flags;           /* grad_need: inputs that want a gradient, a bit each */
    int16_t  layer;
    int32_t  segment;                    /* recomputed together; 0: kept */
    int32_t  in[TFN_INPUTS];
    int32_t  count, cols, saved_cols;    /* count: rows if TFN_ROWS_FIXED; saved floats a row */
    int32_t  arg[4];
    float    number[2];
    uint32_t site;                       /* stable name of its random numbers */
    /* timeline entry after which value, saved, grad are dead */
    int32_t  dies[5];
    int64_t  value[2], saved[2], grad;   /* floats into their region; [1]: recomputed life */
} tfn_node;

/* What an operation of the user's sees. Inputs' gradients are NULL where none is wanted; add[i]
 * says whether dx[i] is stored or added to. */
typedef struct tfn_custom_args {
    void        *user;
    const float *x[TFN_INPUTS], *dy;
    float       *y, *dx[TFN_INPUTS];
    bool         add[TFN_INPUTS];
    ptrdiff_t    rows, cols, x_rows[TFN_INPUTS], x_cols[TFN_INPUTS];
} tfn_custom_args;

typedef struct tfn_custom_op {
    const char *name;
    void (*forward)(const tfn_custom_args *args);
    void (*backward)(const tfn_custom_args *args);   /* NULL: no gradient passes */
    void *user;
} tfn_custom_op;

typedef struct tfn_tape {
    tfn_error  error;                    /* the first one; later calls do nothing */
    tfn_node  *nodes;                    /* nodes[0] is "none" */
    int32_t   *order;                    /* the timeline, made by the plan */
    size_t     size, peak;               /* bytes of the block; of them used at most, by the plan */
    int32_t    count, capacity, order_count, forward_count, segment;
    int32_t    batch, source, target;    /* capacities: B, Ts, Tt; > 0: the most rows B*Ts, B*Tt */
    int32_t    tokens;
    int32_t    layer, threads, customs;
    uint32_t   site;
    uint32_t   inputs_read, targets_read;    /* slots that a run, a backward must bind: bits */
    bool       training, planned, half;
    int64_t    params, tables, buffers, state;    /* floats of each region */
    int64_t    work, values, scratch;    /* floats: the workspace; its values, scratch a thread */
    const tfn_custom_op *custom;         /* the caller's `customs` own operations; set before use */
    const tfn_kernels   *kernels;
} tfn_tape;

/* Called for each probe in forward (backward false: the value) and backward (its gradient). */
typedef void tfn_probe_fn(void *user, int32_t id, const float *data, ptrdiff_t rows,
                          ptrdiff_t cols, bool backward);

/* All that changes from run to run; the tape itself stays constant. */
typedef struct tfn_run {
    int32_t        batch, source, target;     /* B, Ts, Tt of this run, within the capacities */
    int32_t        start;                     /* position of the first target token */
    float         *params, *grads, *tables, *buffers, *state, *work;
    int64_t        step;                      /* updates done */
    const float   *inputs[TFN_SLOTS];
    const int32_t *ints[TFN_SLOTS];
    tfn_key        key;                       /* of dropout: seed, step and micro-batch */
    bool           accumulate;                /* add to the parameters' gradients */
    bool           skip_padding;              /* rows at and beyond the lengths bound below count
                                               * for nothing: they have no target, add nothing to
                                               * the gradient of a scalar, and are 0 behind
                                               * tfn_convolution. false: they are rows like others
                                               * */
    float          loss_scale;                /* d(last node); 0: 1 */
    tfn_probe_fn  *probe;
    void          *probe_user;
} tfn_run;

/* The integer arrays every model binds. LENGTHS are those of target rows, SOURCE_LENGTHS those of
 * source rows; a tape of your own may bind them, too. */
enum { TFN_INT_TOKENS, TFN_INT_TARGETS, TFN_INT_LENGTHS, TFN_INT_SOURCE, TFN_INT_SOURCE_LENGTHS,
       TFN_INT_SEGMENTS, TFN_INT_BEAM,
       TFN_INT_CLUSTERS = 8, TFN_INT_CLUSTER_TARGETS = 11 };   /* of desc.cutoffs: 3 each */

/* Start a tape in a block of memory for nodes; capacities as above. The plan lies in the block
 * too. */
TFNORM_API void tfn_tape_init(tfn_tape *t, void *mem, size_t size, int32_t batch, int32_t source,
                              int32_t target, bool training);
TFNORM_API size_t tfn_tape_bytes(int32_t nodes);      /* block for a tape of so many nodes */

TFNORM_API tfn_var tfn_param(tfn_tape *t, int32_t rows, int32_t cols);       /* next in params */
TFNORM_API tfn_var tfn_input(tfn_tape *t, int32_t slot, tfn_rows rows, int32_t cols);
TFNORM_API tfn_var tfn_linear(tfn_tape *t, tfn_var x, tfn_var w, tfn_var b,
                              tfn_activation_kind act);
TFNORM_API tfn_var tfn_linear_transposed(tfn_tape *t, tfn_var x, tfn_var w, tfn_var b);  /* x w^T */
/* over time, of stride 2: y_t = [x_2t x_2t+1 x_2t+2] w + b of each sentence; w (3*C, out) */
TFNORM_API tfn_var tfn_convolution(tfn_tape *t, tfn_var x, tfn_var w, tfn_var b);
TFNORM_API tfn_var tfn_layernorm(tfn_tape *t, tfn_var x, tfn_var gain, tfn_var bias, float eps);
TFNORM_API tfn_var tfn_rmsnorm(tfn_tape *t, tfn_var x, tfn_var gain, float eps);
/* A norm of rows as `like` says (kind, groups, part, eps, slope, factor (0: 1), offset, detached
 * parts), of `cols` columns each, which divide those of x: a head's, for example. gain, bias (1,
 * cols) or none. */
TFNORM_API tfn_var tfn_norm(tfn_tape *t, tfn_var x, tfn_var gain, tfn_var bias, int32_t cols,
                                 const tfn_norm_args *like);
/* gain * f(alpha x + shift) + bias; alpha, shift (1, 1) or none */
TFNORM_API tfn_var tfn_squash(tfn_tape *t, tfn_var x, tfn_var gain, tfn_var bias, tfn_var alpha,
                                tfn_var shift, tfn_squash_kind f);
TFNORM_API tfn_var tfn_seednorm(tfn_tape *t, tfn_var x, tfn_var gain, tfn_var alpha,
                                tfn_var direction, float eps);
TFNORM_API tfn_var tfn_softmax(tfn_tape *t, tfn_var x);
TFNORM_API tfn_var tfn_activation(tfn_tape *t, tfn_var x, tfn_activation_kind act);
TFNORM_API tfn_var tfn_glu(tfn_tape *t, tfn_var gate, tfn_var up, tfn_activation_kind act);
/* z = a*x + b*y */
TFNORM_API tfn_var tfn_add(tfn_tape *t, tfn_var x, tfn_var y, float a, float b);
/* by: parameter (1,1), (1,g) for g groups of channels, or (1,C) */
TFNORM_API tfn_var tfn_scale(tfn_tape *t, tfn_var x, tfn_var by);
/* x + a*by, by (1,1) or (1,C) */
TFNORM_API tfn_var tfn_shift(tfn_tape *t, tfn_var x, tfn_var by, float a);
/* z + w_k x, w (1,n); z may be none. w (g,n): channel i of x has the weight (i mod g, k). */
TFNORM_API tfn_var tfn_mix(tfn_tape *t, tfn_var z, tfn_var x, tfn_var w, int32_t k);
/* x - SiLU(q) x, the second x constant in the backward; q (1,1): Chen 2025 */
TFNORM_API tfn_var tfn_gate(tfn_tape *t, tfn_var x, tfn_var q);
TFNORM_API tfn_var tfn_dropout(tfn_tape *t, tfn_var x, float p);
TFNORM_API tfn_var tfn_embedding(tfn_tape *t, tfn_var table, int32_t slot, tfn_rows rows,
                                 float scale);
TFNORM_API tfn_var tfn_position(tfn_tape *t, tfn_var x, tfn_var table);
TFNORM_API tfn_var tfn_rotary(tfn_tape *t, tfn_var x, tfn_var table, int32_t head_size);
TFNORM_API tfn_var tfn_first_rows(tfn_tape *t, tfn_var x);    /* row 0 of each sentence */
/* Self- or cross-attention of projected q, k, v; lengths: integer slot or -1. */
TFNORM_API tfn_var tfn_attention(tfn_tape *t, tfn_var q, tfn_var k, tfn_var v, int32_t heads,
                              int32_t kv_heads, bool causal, int32_t lengths, float dropout);
TFNORM_API tfn_var tfn_cross_entropy(tfn_tape *t, tfn_var logits, int32_t slot, float smoothing,
                                     int32_t kind);                  /* loss per row, in nats */
TFNORM_API tfn_var tfn_custom(tfn_tape *t, int32_t index, const tfn_var *in, int32_t count,
                              tfn_rows rows, int32_t fixed, int32_t cols);
TFNORM_API void tfn_probe(tfn_tape *t, tfn_var x, int32_t id);      /* report x and its gradient */
/* x and its gradient stay readable after a run; the gradient of a linear with an activation is then
 * the one before the activation, which takes its place. */
TFNORM_API void tfn_keep(tfn_tape *t, tfn_var x);
TFNORM_API void tfn_recompute(tfn_tape *t, int32_t segment);        /* from here on; 0: keep all */

/* Place everything; afterwards t->params, t->work ... say how many floats a run must bind. */
TFNORM_API tfn_status tfn_tape_plan(tfn_tape *t, const tfn_kernels *kernels, int32_t threads);
TFNORM_API tfn_status tfn_tape_forward(const tfn_tape *t, const tfn_run *r);
/* d(last node) = 1 */
TFNORM_API tfn_status tfn_tape_backward(const tfn_tape *t, const tfn_run *r);
TFNORM_API float     *tfn_value(const tfn_tape *t, const tfn_run *r, tfn_var x);
TFNORM_API float     *tfn_gradient(const tfn_tape *t, const tfn_run *r, tfn_var x);

/* -- norms: rows of data --------------------------------------------------------------------- */

/* What the options "norm" and "decoder_norm" name; flags are added. Gain and bias start at 1, 0. */
enum {
    TFN_FLAG_GAIN = 1, TFN_FLAG_BIAS = 2,     /* vectors of C, learned */
    TFN_FLAG_SCALAR = 4,                      /* one learned gain, sqrt(C) at the start */
    TFN_FLAG_OFFSET = 8,                      /* the gain is 1 + weight, the weight starts at 0 */
    TFN_FLAG_DETACH_MEAN = 16, TFN_FLAG_DETACH_STD = 32,     /* the backward sees constants */
    TFN_FLAG_BY_HEAD = 64,                    /* statistics of `heads` contiguous groups */
    TFN_FLAG_SHIFT = 128,                     /* of TFN_NORM_POINT: a learned shift */
    /* A property, not a choice: statistics of the whole tensor, at inference too. What stands at a
     * position depends on later ones and on the other sentences of the batch: neither causal nor
     * equal in decode. */
    TFN_FLAG_WHOLE = 256,
    TFN_FLAG_PLAIN = 512                      /* of TFN_NORM_ADA: n itself, slope 0 and factor 1 */
};
typedef struct tfn_norm_rule {
    const char   *name, *formula, *paper;
    int32_t       year;
    tfn_norm_kind kind;
    uint32_t      flags;
    float         eps;                  /* 0: desc.norm_eps, or 1e-5 */
    float         part;                 /* statistics of the first part*C features; 0: of all */
    tfn_squash_kind    squash;               /* of TFN_NORM_POINT, whose alpha starts at 1/2 */
} tfn_norm_rule;
TFNORM_API const tfn_norm_rule *tfn_norm_find(const char *name);         /* NULL: unknown */
TFNORM_API const tfn_norm_rule *tfn_norm_at(int32_t i);                  /* NULL: past the end */

/* -- topologies: rows of data ---------------------------------------------------------------- */

/* A scale of the residual join: value * N^n * M^m * l^layer, N and M the depths of encoder and
 * decoder (a lone stack counts as both), l the layer from 1; learned ones start there. */
typedef enum tfn_scale_kind {
    TFN_SCALE_NONE = 0, TFN_SCALE_CONSTANT,
    TFN_SCALE_LEARNED, TFN_SCALE_VECTOR,      /* a scalar, or one a channel */
    TFN_SCALE_SHARED,                         /* a scalar for all sub-layers of a layer */
    TFN_SCALE_PROFILED,                       /* VECTOR, set by tfn_model_profile */
    TFN_SCALE_FOLDED,                         /* the same, then folded into the weights */
    TFN_SCALE_SCHEDULED,                      /* min(1, t/value) after t updates, which the weights
                                               * "schedule.updates" count, up to 2^24 */
    TFN_SCALE_LERP                            /* skip only: 1 - |out|, channel by channel; the
                                               * branch is multiplied by |out|, too */
} tfn_scale_kind;
typedef struct tfn_scale_rule {
    tfn_scale_kind kind;
    float value, n, m, layer;
    float unit;               /* learned: stored times unit, so that lr acts on value/unit; 0: 1 */
} tfn_scale_rule;

/* Norms of queries and keys, before rotary positions but for UNIT. L2 has a learned scalar in the
 * place of 1/sqrt(D), COSINE exp(min(tau, ln 100)) a head. HEAD, FULL and QKV_HEAD are the model's
 * norm, a gain of (D) or of all heads. UNIT has a learned vector, which queries and keys share, so
 * kv_heads must be heads, and sqrt(D). */
#define TFN__QK_NORM_LIST(X)                                                                      \
    X(TFN_QK_NORM_NONE, "none", "q . k / sqrt(D)", NULL)                                          \
    X(TFN_QK_NORM_L2, "l2", "g cos(q, k)", "Henry et al. 2020")                                   \
    X(TFN_QK_NORM_COSINE, "cosine", "exp(min(tau, ln 100)) cos(q, k)", "Liu et al. 2021, Swin v2") \
    X(TFN_QK_NORM_HEAD, "head", "N(q) . N(k) / sqrt(D)", "Dehghani et al. 2023; Gemma 3")         \
    X(TFN_QK_NORM_FULL, "full", "head, the norm over all heads", "OLMo 2 2024")                   \
    X(TFN_QK_NORM_UNIT, "unit", "sqrt(D) (s q/|q|) . (s k/|k|)", "Loshchilov et al. 2024")        \
    X(TFN_QK_NORM_QKV_HEAD, "qkv-head", "head, of the values too", "Zhuo et al. 2025")
typedef enum tfn_qk_norm {
    TFN_QK_NORM_DEFAULT = 0,      /* the topology's, or NONE */
    TFN__QK_NORM_LIST(TFN__CHOICE_ENUM) TFN_QK_NORM_COUNT
} tfn_qk_norm;

typedef enum tfn_source { TFN_SOURCE_STREAM = 0, TFN_SOURCE_NORMED, TFN_SOURCE_LAYER,
                          TFN_SOURCE_FIRST }
    tfn_source;
typedef enum tfn_head_scale { TFN_HEAD_SCALE_NONE = 0, TFN_HEAD_SCALE_BEFORE, TFN_HEAD_SCALE_AFTER }
    tfn_head_scale;

/* One sub-layer F with input x, in a layer that began with x_0:
 *   p = out * N_branch(F(in * N_in(source)));  z = skip*x + p + extra*x_0;  x = N_sum(z) */
typedef struct tfn_join {
    bool norm_in, norm_branch, norm_sum;
    bool norm_inner;              /* before the last matrix of F: W_O, W_2 */
    bool shifts;                  /* Fixup's: x - s before F; W_2(f(x W_1 - s) - s) in it */
    bool gate;                    /* GPAS: x - SiLU(q) sg(x), q of the layer: of the sum, or where
                                   * that is normed of the skip */
    bool extra_last;              /* extra*x_0 after N_sum */
    bool scales;                  /* nGPT: learned vectors behind W_1 and W_3 */
    tfn_source source;            /* STREAM x; LAYER x_0; FIRST: what its first sub-layer read */
    tfn_source skip_from;         /* STREAM x; NORMED: N_in(x); LAYER: x_0 */
    tfn_qk_norm qk;
    tfn_head_scale head_scale;    /* learned, a head: of W_O's input, or of its output's blocks */
    tfn_scale_rule in, out, skip, extra;
} tfn_join;

typedef enum tfn_sublayer {
    TFN_SUBLAYER_SELF_ATTENTION, TFN_SUBLAYER_CROSS_ATTENTION, TFN_SUBLAYER_FFN,
    TFN_SUBLAYER_FFN_BEFORE                      /* the first half of a Macaron */
} tfn_sublayer;
typedef struct tfn_place {              /* where a row is asked for */
    tfn_sublayer kind;
    bool    decoder, alone;             /* alone: no other stack */
    int32_t layer, depth;               /* layer from 1 */
    int32_t encoder_depth, decoder_depth, width;     /* N, M (a lone stack counts as both), C */
} tfn_place;

/* What whole stacks have; flags are added. */
enum {
    TFN_TOPOLOGY_FINAL_NORM = 1, TFN_TOPOLOGY_EMBEDDING_NORM = 2,
    TFN_TOPOLOGY_FIXNORM = 4,    /* rows of the embedding have length 1 wherever it is used: a table
                               * that two stacks share, if one of them says so */
    TFN_TOPOLOGY_MACARON = 8,          /* half a feed-forward before the attention */
    /* y = x_0 + sum of all p; output x + N(y) (ResiDual): side_scale */
    TFN_TOPOLOGY_SIDE_STREAM = 16,
    TFN_TOPOLOGY_TRANSPARENT = 32,  /* layers of the decoder see a learned mean of encoder layers */
    TFN_TOPOLOGY_EDGE_SHIFTS = 64,     /* Fixup: the output is shifted, the encoder's scaled too */
    TFN_TOPOLOGY_BIASLESS = 128,       /* linear maps have no bias */
    TFN_TOPOLOGY_UNIT_WEIGHTS = 256,   /* nGPT: weights of length 1 along C after each update */
    TFN_TOPOLOGY_LOGIT_SCALE = 512,    /* nGPT: a learned scale for each word */
    TFN_TOPOLOGY_EMBEDDING_SCALE = 1024,   /* x_0 times a learned scalar, sqrt(C) at the start */
    TFN_TOPOLOGY_SIGMA_REPARAM = 2048, /* sigmaReparam: linear maps are gamma/sigma W, see below */
    /* gamma starts at sigma, so that maps start as drawn; else at 1 */
    TFN_TOPOLOGY_SIGMA_OWN = 4096
};
/* sigmaReparam (Zhai 2023, section 3.2): a linear map reads gamma/sigma W in the place of W (in,
 * out), sigma = u^T W v, gamma a learned scalar. u and v are state, saved with the weights: they
 * follow W by one power iteration, v = W^T u/|W^T u|, u = W v/|W v|, after each update, and begin
 * near W's first singular vectors. The gradient takes them for constants and goes through sigma.
 * The authors' code iterates when a forward begins, in evaluation too: the same numbers. Where W is
 * 0, sigma counts as 1. All maps of sub-layers and of the model's ends have it, but for embeddings,
 * a tied output and the clusters of words. tfn_model_fold merges it. */

/* How the input of a layer, and of what follows the last, comes from all layers y_0 .. y_l. */
typedef enum tfn_aggregate {
    TFN_AGGREGATE_NONE = 0,
    TFN_AGGREGATE_NORMED,     /* sum of w_k N_k(y_k), y_0 as it is; w_k = 1/(l+1) at the start */
    TFN_AGGREGATE_NORM,       /* N(sum of w_k y_k) */
    TFN_AGGREGATE_DENSE,      /* N(sum of y_k) */
    TFN_AGGREGATE_LINEAR      /* sum of w_k y_k */
} tfn_aggregate;

/* The weights w of an aggregate, as rows of DLCL's code have them (Wang 2019). All zero: one number
 * for each y_k. The tensor is (groups, outputs). */
typedef struct tfn_mix_rule {
    int32_t groups;           /* 0: 1; so many weights for each y_k: channel i has i mod groups */
    bool    channels;         /* as many groups as channels */
    bool    softmax;          /* what is stored are logits: softmax over the y_k, group by group */
    bool    ones;             /* they start at 1, not at 1/(l+1) */
    int32_t window;           /* 0: all. With softmax only the last so many y_k are mixed; without,
                               * the others start at 0, but are learned, as in the code (1/(l+1)
                               * becomes 1/window, and ones are not changed) */
} tfn_mix_rule;

typedef struct tfn_topology {
    const char *name, *formula, *paper;
    int32_t     year;
    uint32_t    flags;
    tfn_aggregate aggregate;
    /* NULL, or what differs by place: changes *join, which holds the row's */
    void      (*rule)(const tfn_place *place, tfn_join *join);
    tfn_join    attention, ffn;         /* self- and cross-attention share a join */
    tfn_mix_rule mix;                   /* of the aggregate */
    /* of TFN_TOPOLOGY_SIDE_STREAM, each 0: 1. y = side_scale (x_0 + sum of all p), small against
     * overflow in half precision; output side_weight x + N(y) */
    float       side_scale, side_weight;
} tfn_topology;

TFNORM_API const tfn_topology *tfn_topology_find(const char *name);     /* NULL: unknown */
TFNORM_API const tfn_topology *tfn_topology_at(int32_t i);              /* NULL: past the end */
/* The join of a sub-layer: the row's, changed by its rule. Of NULL: all zero. */
TFNORM_API tfn_join tfn_topology_join(const tfn_topology *t, const tfn_place *place);

/* Initial weights: a base distribution with a gain per matrix class. */
typedef enum tfn_distribution {
    TFN_DISTRIBUTION_XAVIER_NORMAL,      /* variance 2/(in+out): Xiong 2020, section 3.3 */
    TFN_DISTRIBUTION_XAVIER_UNIFORM,     /* the same variance (Glorot & Bengio 2010) */
    TFN_DISTRIBUTION_NORMAL,             /* standard deviation `std` */
    TFN_DISTRIBUTION_TRUNCATED_NORMAL,   /* the same, redrawn outside two standard deviations */
    /* U(+-1/sqrt(in)) for weights and biases: PyTorch's nn.Linear */
    TFN_DISTRIBUTION_FAN_IN_UNIFORM,
    TFN_DISTRIBUTION_FAN_IN_NORMAL,      /* variance 1/in */
    TFN_DISTRIBUTION_HE_NORMAL,          /* variance 2/in: He 2015 */
    TFN_DISTRIBUTION_ORTHOGONAL,         /* orthonormal rows or columns: Saxe 2014 */
    TFN_DISTRIBUTION_MIRRORED  /* Xavier; W_1 = [A, -A], W_2 = [C; -C]: LookLinear, Balduzzi 2017 */
} tfn_distribution;
typedef struct tfn_gains { float q, k, v, o, w1, w2, embedding; } tfn_gains;
typedef struct tfn_init_rule {
    const char      *name, *formula, *paper;
    int32_t          year;
    tfn_distribution base, ffn_base;              /* of attention and the rest; of W_1, W_2, W_3 */
    float            std, embedding_std;          /* embedding_std 0: 1/sqrt(C) */
    bool             zero_output, zero_branch;    /* untied output matrix; gains of N_branch */
    bool             qkv_bias, gain_bias;         /* draw the biases of q, k, v: U(+-1/sqrt(in));
                                                   * gains act on biases too */
    bool             unit_variance;               /* LSUV: W over the deviation of its output */
    bool             table_output;                /* an untied output matrix is N(0, 1/C) */
    /* NULL: all 1. Gains at a place; they hold 1 when it is called */
    void           (*rule)(const tfn_place *place, tfn_gains *gains);
} tfn_init_rule;
TFNORM_API const tfn_init_rule *tfn_init_find(const char *name);
TFNORM_API const tfn_init_rule *tfn_init_at(int32_t i);

/* A recipe: the three together, under the name of the method. */
typedef struct tfn_recipe { const char *name, *topology, *norm, *init; } tfn_recipe;
TFNORM_API const tfn_recipe *tfn_recipe_find(const char *name);
TFNORM_API const tfn_recipe *tfn_recipe_at(int32_t i);

/* -- schedules ------------------------------------------------------------------------------- */

/* The rate of update t = 1, 2, ... With W = warmup, S = steps and A = anchor, every kind but Noam
 * begins with the warm-up of Xiong 2020, eq. 1, for t <= W, so that the rate of W is lr:
 *   lr_init + t (lr - lr_init)/W
 * and goes on as its row says, for t > W and with r = (S - t + 1)/(S - W + 1); Noam has its formula
 * from t = 1. So no update has a rate of 0 and update S still moves; lr_min comes behind it. */
#define TFN__SCHEDULE_LIST(X)                                                                     \
    X(TFN_SCHEDULE_CONSTANT, "constant", "lr", NULL)                                              \
    X(TFN_SCHEDULE_INVERSE_SQRT, "inverse-sqrt", "lr sqrt(A/t); lr while t <= A", "fairseq")      \
    X(TFN_SCHEDULE_NOAM, "noam", "lr width^-1/2 min(t^-1/2, t W^-3/2)",                           \
      "Vaswani et al. 2017, eq. 3")                                                               \
    X(TFN_SCHEDULE_LINEAR, "linear", "lr_min + (lr - lr_min) r", NULL)                            \
    X(TFN_SCHEDULE_STEP, "step", "lr; see step_at", NULL)                                         \
    X(TFN_SCHEDULE_COSINE, "cosine", "lr_min + (lr - lr_min) (1 - cos(pi r))/2",                  \
      "Loshchilov & Hutter 2017, eq. 5")                                                          \
    X(TFN_SCHEDULE_WARMUP_STABLE_DECAY, "stable-decay",                                           \
      "lr_min + (lr - lr_min) min(1, (S - t + 1)/(D + 1)), D = decay_steps", "Hu et al. 2024")    \
    X(TFN_SCHEDULE_T_FIXUP, "t-fixup", "lr sqrt(A/(A + t - W))", "Huang et al. 2020")             \
    X(TFN_SCHEDULE_POLYNOMIAL, "polynomial", "lr_min + (lr - lr_min) r^power", "fairseq")
typedef enum tfn_schedule_kind {
    TFN_SCHEDULE_DEFAULT = 0,     /* CONSTANT */
    TFN__SCHEDULE_LIST(TFN__CHOICE_ENUM) TFN_SCHEDULE_COUNT
} tfn_schedule_kind;

typedef struct tfn_schedule {
    tfn_schedule_kind kind;
    float   lr;               /* peak; 0: 1e-3; of Noam the factor, 0: 1 */
    float   lr_init, lr_min;
    int64_t warmup, steps;    /* steps: the last update of those that end */
    int64_t anchor;           /* of the inverse square root, 0: warmup, at least 1; of T-Fixup,
                               * 0: 4000 */
    int64_t step_at;          /* > 0: times step_factor after so many updates, of any kind */
    float   step_factor;      /* 0: 0.1 */
    int64_t decay_steps;      /* 0: steps/10; at least 1, at most steps - warmup */
    float   power;            /* of POLYNOMIAL; 0: 1 */
    bool    fairseq;          /* true: fairseq's counting. Update t + 1 has the rate lr(t), the
                               * first lr(0) = lr_init, and r = (S - t)/(S - W): 0 at t = S. */
    bool    frozen;           /* true: the rate is 0, and no weight moves */
} tfn_schedule;
/* The rate of update t, from 1; width is Noam's. Of NULL: NaN. */
TFNORM_API float tfn_schedule_at(const tfn_schedule *s, int64_t t, int32_t width);

/* -- model ----------------------------------------------------------------------------------- */

#define TFN__ARCH_LIST(X)                                                                         \
    X(TFN_ARCH_DECODER, "decoder", "causal self-attention", "Radford et al. 2018")                \
    X(TFN_ARCH_ENCODER, "encoder", "self-attention both ways", "Devlin et al. 2018")              \
    X(TFN_ARCH_ENCODER_DECODER, "encoder-decoder", "both, and cross-attention",                   \
      "Vaswani et al. 2017")
typedef enum tfn_arch { TFN__ARCH_LIST(TFN__CHOICE_ENUM) TFN_ARCH_COUNT } tfn_arch;

#define TFN__POSITION_LIST(X)                                                                     \
    X(TFN_POSITION_LEARNED, "learned", "a vector for each position", "Gehring et al. 2017")       \
    X(TFN_POSITION_SINUSOIDAL, "sinusoidal",                                                      \
      "10000^(-2k/C), sines then cosines, from position 0", "Vaswani et al. 2017")                \
    X(TFN_POSITION_SINUSOIDAL_FAIRSEQ, "fairseq",                                      \
      "10000^(-k/(C/2-1)), from position 2", "fairseq")                                           \
    X(TFN_POSITION_ROTARY, "rotary", "queries and keys turned by base^(-2k/D)", "Su et al. 2021") \
    X(TFN_POSITION_NONE, "none", "none", NULL)
typedef enum tfn_position_kind {
    TFN_POSITION_DEFAULT = 0,     /* LEARNED */
    TFN__POSITION_LIST(TFN__CHOICE_ENUM) TFN_POSITION_COUNT
} tfn_position_kind;

#define TFN__HEAD_LIST(X)                                                                         \
    X(TFN_HEAD_TOKENS, "tokens", "one a position: language models, masked tokens", NULL)          \
    X(TFN_HEAD_SEQUENCE, "sequence", "one of `classes`, from the first position (encoder only)",  \
      NULL)
typedef enum tfn_head { TFN__HEAD_LIST(TFN__CHOICE_ENUM) TFN_HEAD_COUNT } tfn_head;

/* Label smoothing, over all V classes or over the V - 1 false ones: see cross_entropy_forward. */
#define TFN__SMOOTHING_LIST(X)                                                                    \
    X(TFN_SMOOTHING_UNIFORM, "uniform", "(1-e) nll + e/V sum", "Szegedy et al. 2016")             \
    X(TFN_SMOOTHING_FAIRSEQ, "fairseq", "(1-e-e_i) nll + e_i sum, e_i = e/(V-1)", "fairseq")
typedef enum tfn_smoothing {
    TFN__SMOOTHING_LIST(TFN__CHOICE_ENUM) TFN_SMOOTHING_COUNT
} tfn_smoothing;

/* All zero but vocab and context is legal and good. */
typedef struct tfn_model_desc {
    int32_t vocab, context;       /* required: V, and the longest sentence T */
    tfn_arch arch;                /* 0: decoder */
    int32_t source_context;       /* 0: context */
    int32_t width;                /* 0: 64 */
    int32_t layers;               /* 0: 2 */
    int32_t decoder_layers;       /* 0: layers; of an encoder-decoder */
    int32_t heads;                /* 0: width/32, at least 1 */
    int32_t kv_heads;             /* 0: as many as heads */
    int32_t ffn;                  /* 0: 4*width */
    int32_t segments;             /* 0: no segment embeddings (encoder only) */
    int32_t classes;              /* of TFN_HEAD_SEQUENCE */
    int32_t bands;                /* 0: the source is tokens; else frames of so many numbers, such
                                   * as a spectrum: see tfn_batch (encoder-decoder only) */
    tfn_head head;                /* 0: tokens */
    int32_t cutoffs[2];           /* 0: none; the words, by frequency, in two or three clusters that
                                   * begin with these: adaptive input and softmax, see below */
    tfn_activation_kind activation;    /* 0: GELU, tanh form */
    tfn_position_kind position;   /* 0: learned */
    float rotary_base;            /* 0: 10000 */
    bool untied;                  /* false: the output matrix is the embedding */
    bool separate_source;         /* false: encoder and decoder share the embedding */
    bool scale_embedding;         /* true: embeddings times sqrt(C), as the papers do */
    bool no_bias;                 /* true: linear maps without bias */

    const char *recipe;           /* NULL: "pre"; sets topology, norm and init together */
    const char *norm;             /* NULL: the recipe's; see tfn_norm_at */
    const char *decoder_norm;     /* NULL: norm; of the decoder of an encoder-decoder */
    const char *init;             /* NULL: the recipe's; see tfn_init_at */
    const tfn_topology *topology;          /* NULL: the recipe's; one's own row */
    const tfn_topology *decoder_topology;  /* NULL: topology (hybrid stacks) */
    tfn_qk_norm qk_norm;          /* 0: the topology's */
    float attention_cap;          /* > 0: scores become cap*tanh(score/cap); Gemma 2: 50 */
    float logit_cap;              /* the same of the logits; Gemma 2: 30 */
    float norm_eps;               /* 0: the norm's, or 1e-5 */
    float norm_factor;            /* c of adanorm; 0: 1; the authors' scripts have 1, 1.5 and 2 */
    int64_t norm_warmup;          /* of PowerNorm; 0: schedule.warmup */
    bool folded;                  /* inference: what tfn_model_fold fills, without extra state */

    float dropout;                /* residual branches and embeddings */
    float attention_dropout, activation_dropout;
    float smoothing;              /* label smoothing */
    tfn_smoothing smoothing_kind; /* 0: (1-e) nll + e/V sum */

    tfn_optimizer optimizer;      /* 0: AdamW */
    tfn_schedule schedule;        /* all 0: constant 1e-3 */
    float beta1, beta2, eps;      /* 0: 0.9, 0.98, 1e-8; SGD: beta1 is the momentum, 0 none */
    float decay;                  /* weight decay of matrices; norms, biases, scales have none */
    tfn_radam radam;              /* 0: the paper's rule; where the codes differ: tfn_radam */
    bool  decay_all;              /* true: of every parameter, norms, biases and scales too, as
                                   * fairseq, and so of Admin's w */
    bool  nesterov, eps_inside;   /* eps_inside: where PyTorch's Adam has eps, false: fairseq's; see
                                   * tfn_update_args */
    float clip;                   /* 0: no clipping by the global norm */
    int32_t micro_batches;        /* 0: 1; gradients of so many batches make one step */

    int32_t batch;                /* 0: 1; the largest B of a batch */
    int32_t batch_tokens;         /* 0: any; the most B*T, and B*Ts: less memory if rows differ */
    int32_t threads;              /* 0: 1, or OpenMP's number where it is on; without OpenMP and
                                   * TFNORM_PARALLEL_FOR more than 1 is refused */
    tfn_isa isa;                  /* 0: best */
    uint64_t seed;
    bool inference;               /* true: no gradients, no moments */
    bool recompute;               /* true: layers are computed again in the backward */
    bool probes;                  /* true: training can be watched, see tfn_model_watch */
    bool half;                    /* true: simulated half precision, see below; one thread, and
                                   * more are refused */
    float loss_scale;             /* of half, at the start; 0: 128; without half it is 1 */

    float *parameters, *gradients, *moments, *workspace;   /* NULL: inside the block */
} tfn_model_desc;

/* A row of an option that is an enumeration, such as "optimizer", "schedule.kind" or "activation":
 * the names are those of tfn_model_desc. */
typedef struct tfn_choice {
    int32_t     value;
    char        name[20];
    const char *formula;          /* NULL with TFNORM_NO_TRAINING */
    const char *paper;            /* NULL, too, where there is none */
} tfn_choice;
TFNORM_API const tfn_choice *tfn_choice_at(const char *option, int32_t i);  /* NULL: past the end */
TFNORM_API const tfn_choice *tfn_choice_find(const char *option, const char *name);
/* The name of a value; NULL: it has none, such as a default that was not resolved. */
TFNORM_API const char       *tfn_choice_name(const char *option, int32_t value);

/* Adaptive input (Baevski & Auli 2018) and adaptive softmax (Grave 2017), of a decoder: words of
 * cluster k = 0, 1, 2 have vectors of width/4^k numbers and a map to the width. The head tells the
 * words of the first cluster and the other clusters apart, tails the words within each; so rare
 * words have few weights. Unless untied, input and output share them. Logits are log p. */

/* Simulated half precision (as fairseq's, in which Xiong 2020, Liu 2020 and Takase 2022 trained): a
 * copy of the weights, every activation and every gradient is rounded to IEEE half after each
 * operation; the parameters themselves, moments and the loss stay in float. The loss is scaled: a
 * gradient that is not finite halves the scale and skips the update, 256 updates without one double
 * it. Below 0.03125 a step returns TFN_NOT_FINITE. The model makes its copy anew in each call, a
 * decoder its own when a sentence begins: both see weights that you write yourself, too. */

/* B sentences of T tokens each, row-major; padded on the right. */
typedef struct tfn_batch {
    const int32_t *tokens;    /* (B, T): the decoder's, or the encoder's of TFN_ARCH_ENCODER */
    const int32_t *targets;         /* (B, T) or (B): classes; < 0: ignored */
    const int32_t *lengths;         /* (B) or NULL: all T. What stands beyond is not looked at, in
                                     * no array: no result depends on it, nor on how much it is */
    const int32_t *source;          /* (B, Ts), encoder-decoder */
    const float   *frames;          /* (B, Ts, bands) instead, Ts = 4 n + 3: two convolutions of
                                     * kernel 3 and stride 2, each with a ReLU, make n positions of
                                     * them. source_context counts positions, lengths are of frames:
                                     * L of them fill (L - 3)/4. Padding may be anything */
    const int32_t *source_lengths;  /* (B) or NULL */
    const int32_t *segments;        /* (B, T) or NULL: 0 */
    int32_t batch, time, source_time;
} tfn_batch;

typedef struct tfn_report {
    double   loss;            /* nats per target token, smoothing included */
    double   nll;             /* the same without smoothing */
    int64_t  tokens;          /* targets counted */
    int64_t  step;            /* updates done, this one included */
    float    lr, grad_norm;   /* of this update; the norm is before clipping */
    float    loss_scale;      /* of this step; 1 without half precision */
    bool     updated;         /* false: more micro-batches are wanted */
    bool     skipped;         /* a loss, gradient, profile or running statistic was not finite, or
                               * there were no targets: all is as before the first micro-batch */
    int32_t  culprit;         /* the parameter whose gradient, or the running statistic, that is not
                               * finite; or -1: the loss or the profile */
} tfn_report;

typedef struct tfn_param_info {
    char     name[64];        /* "decoder.3.self.q.weight" */
    float   *data, *grad;     /* grad NULL without training, and of running statistics */
    int32_t  rows, cols;
    int32_t  layer;           /* from 0; -1: outside the layers */
    bool     decay;           /* its group: weight decay applies */
} tfn_param_info;

typedef struct tfn_allocator {
    void *(*allocate)(size_t size, void *user);
    void  (*release)(void *mem, size_t size, void *user);
    void  *user;
} tfn_allocator;

/* Bytes by class, of tfn_model_memory. */
typedef struct tfn_memory {
    size_t total, parameters, gradients, moments, tables, workspace, scratch, metadata;
    size_t working;           /* the rounded copy of half precision */
    size_t before;            /* what an update that is skipped gives back */
} tfn_memory;

typedef struct tfn__weight {            /* private: one parameter tensor */
    int64_t at;                         /* floats into the region */
    int32_t rows, cols;
    int16_t layer;                      /* from 0; -1: outside the layers */
    uint8_t stack, sub, part, kind;
    float   initial;                    /* constant start of biases, gains and scales */
} tfn__weight;

typedef struct tfn_model {
    tfn_error error;
    tfn_model_desc desc;                /* resolved */
    const tfn_kernels *kernels;
    tfn_tape  train, infer;
    tfn__weight *weights;
    int32_t   weight_count, micro;
    tfn_run   run;
    int32_t  *lengths;                  /* of sources of frames, in positions */
    int32_t  *words;                    /* tokens and targets as each cluster has them */
    float    *params, *moments;         /* run.params are these, or their rounded copy */
    float     loss_scale;
    int32_t   finite_steps;             /* updates since the scale changed */
    int64_t   param_floats, buffer_floats, step, tokens;     /* the buffers lie behind */
    bool      profiled;
    bool      profile_open;             /* made by the update under way, which may be skipped */
    float    *before;                   /* the buffers before this update; see tfn__before */
    double    loss_sum, nll_sum;        /* of the micro-batches so far */
    tfn_var   logits, loss, train_loss; /* on infer, infer, train */
    tfn_memory memory;
    void     *mem;                      /* of tfn_model_new */
    size_t    mem_size;
    tfn_allocator allocator;
} tfn_model;

/* Fill the defaults; false and an error where an option has no legal value: outside its range (see
 * tfn__limits), not a number, unknown, or one that does not go with another. */
TFNORM_API bool tfn_model_resolve(tfn_model_desc *out, const tfn_model_desc *desc, tfn_error *e);
/* Bytes of scratch that tfn_model_size needs: bounds the tapes' metadata. 0: invalid. */
TFNORM_API size_t tfn_model_scratch(const tfn_model_desc *desc);
/* Bytes of the block that tfn_model_init needs, exact, for any address. 0: invalid. */
TFNORM_API size_t tfn_model_size(const tfn_model_desc *desc, void *scratch, size_t scratch_size);
TFNORM_API tfn_status tfn_model_init(tfn_model *m, const tfn_model_desc *desc, void *mem,
                                     size_t size);
#ifndef TFNORM_NO_MALLOC
/* Size, allocate (NULL: malloc) and init in one call; tfn_model_free gives the block back. */
TFNORM_API tfn_status tfn_model_new(tfn_model *m, const tfn_model_desc *desc,
                                    const tfn_allocator *allocator);
TFNORM_API void tfn_model_free(tfn_model *m);          /* NULL: nothing */
#endif
/* One micro-batch forward and backward, and the update when all of a step are in. An update is made
 * whole or not at all: see report->skipped. Here and in eval report may be NULL. */
TFNORM_API tfn_status tfn_model_step(tfn_model *m, const tfn_batch *batch, tfn_report *report);
/* The loss alone, without dropout; nothing changes. */
TFNORM_API tfn_status tfn_model_eval(tfn_model *m, const tfn_batch *batch, tfn_report *report);
/* Logits (B*T, V) or (B, classes) of a batch, valid until the next call on the model. */
TFNORM_API const float *tfn_model_logits(tfn_model *m, const tfn_batch *batch);
/* With desc.probes: `probe` is called during each forward and backward of a training step with the
 * values and gradients of these points of every sub-layer, as ids that tfn_probe_of reads; NULL: no
 * longer. Gradients are those of the summed loss. */
typedef enum tfn_watched {
    TFN_WATCH_NONE,           /* an id that is none of these */
    TFN_WATCH_INPUT,          /* x, what the sub-layer begins with */
    TFN_WATCH_READ,           /* u = in * N_in(x), what F reads */
    TFN_WATCH_BRANCH,         /* p, after norm and dropout */
    TFN_WATCH_SUM,            /* z */
    TFN_WATCH_OUTPUT,         /* x after N_sum */
    TFN_WATCH_EMBEDDING,      /* x_0 of a stack */
    TFN_WATCH_STACK           /* output of a stack, after its final norm */
} tfn_watched;
typedef struct tfn_probe_info {
    tfn_watched  point;
    tfn_sublayer kind;
    bool         decoder;
    int32_t      layer;       /* from 0 */
} tfn_probe_info;
TFNORM_API tfn_probe_info tfn_probe_of(int32_t id);
TFNORM_API tfn_status     tfn_model_watch(tfn_model *m, tfn_probe_fn *probe, void *user);
/* Data-dependent initialization (Admin, LSUV) on a batch of any size; else it does nothing. The
 * first step of a model that was not profiled does it with its own batch; a model that was profiled
 * or trained is left as it is. TFN_NOT_FINITE: a number of the profile is not finite, and nothing
 * was changed. */
TFNORM_API tfn_status tfn_model_profile(tfn_model *m, const tfn_batch *batch);
/* Give `to` the weights of `from`, with all folded into them that can be. `to` was made with the
 * same options, but .inference and .folded: it has no gains of norms before a linear map, no scales
 * of branches, no constant or profiled scales of skips, no shifts, no statistics of a batch before
 * a linear map, and RMSNorm for the LayerNorm of an untied Pre-LN model. Where a row of your own
 * lets something else read what a scale or gain changes, that one stays in `to` as it is. Outputs
 * agree to rounding. TFN_BAD_OPTION: another option or shape, or a profiled scale that is 0; the
 * error names it. */
TFNORM_API tfn_status tfn_model_fold(tfn_model *to, const tfn_model *from);
/* Parameter tensor i, false past the last. Its order is that of the flat vectors. */
TFNORM_API bool       tfn_model_param(const tfn_model *m, int32_t i, tfn_param_info *info);
TFNORM_API uint64_t   tfn_model_hash(const tfn_model *m);       /* 64 bits over all parameters */

/* -- decoding -------------------------------------------------------------------------------- */

/* One token after the other against a cache; several decoders may share one model. */
typedef struct tfn_decoder {
    tfn_error  error;
    const tfn_model *model;
    tfn_tape   encode, decode;
    tfn_run    run;
    int32_t    batch, chunk;
    tfn_var    logits;
    float     *spare;                   /* to reorder the caches of beams */
    int32_t   *lengths;                 /* of the source, a copy */
    int32_t   *words;                   /* tokens as each cluster has them */
    bool       started;
} tfn_decoder;

/* Bytes for B sentences, up to `chunk` tokens a call (0: 1); 0: invalid. Scratch: as much as
 * tfn_model_scratch says for the model. */
TFNORM_API size_t tfn_decoder_size(const tfn_model *m, int32_t batch, int32_t chunk, void *scratch,
                                   size_t scratch_size);
TFNORM_API tfn_status tfn_decoder_init(tfn_decoder *d, const tfn_model *m, int32_t batch,
                                       int32_t chunk, void *mem, size_t size);
/* Begin again; source: the encoder's batch of an encoder-decoder, else NULL. */
TFNORM_API tfn_status tfn_decoder_start(tfn_decoder *d, const tfn_batch *source);
/* Feed `time` tokens per sentence, (B, time): the logits (B, V) of the last one, or NULL and
 * d->error. beam: NULL, or the sentence whose past each of the B continues. */
TFNORM_API const float *tfn_decoder_next(tfn_decoder *d, const int32_t *tokens, int32_t time,
                                         const int32_t *beam);

/* 20 training steps on generated data: equals TFN_BITS_HASH where the bits are canonical. The block
 * must hold tfn_selfcheck_size() bytes; 0: error. */
TFNORM_API size_t   tfn_selfcheck_size(void);
TFNORM_API uint64_t tfn_selfcheck(void *mem, size_t size, tfn_isa isa, int32_t threads);

/* -- generation ------------------------------------------------------------------------------ */

/* Text from a model: greedy, drawn, or by beam search. All zero is greedy. */
typedef struct tfn_generate_desc {
    int32_t sentences;        /* 0: 1; the most of a call */
    int32_t beam;             /* 0: greedy or drawn; else so many beams, fairseq's search */
    int32_t max_tokens;       /* 0: 200; without the end; never more than the context holds */
    float   max_ratio;        /* so many more for each source token; 0: none */
    int32_t min_tokens;       /* 0: 1; the end may not come before */
    bool    allow_empty;      /* true: min_tokens 0 means 0 */
    int32_t end;              /* the token that ends a text, itself included; below 0: none does */
    const int32_t *forbidden; /* tokens never chosen, such as padding; a copy is kept */
    int32_t forbidden_count;
    float   length_penalty;   /* 0: 1; a text's score is sum(log p) / length^this, end counted */
    bool    unnormalized;     /* true: the score is the sum */
    float   temperature;      /* 0: greedy; else tokens are drawn from softmax(logits/this) */
    int32_t top_k;            /* 0: all; draw from so many likeliest */
    float   top_p;            /* 0: 1; of these, from the fewest that hold so much probability */
    tfn_key key;              /* of the draws: token t of text i has draw (key, id of i, t) */
    int32_t chunk;            /* 0: 16, encoder-decoder 1; tokens of a prompt fed at once */
} tfn_generate_desc;

typedef struct tfn_generator {
    tfn_error error;
    tfn_generate_desc desc;   /* resolved */
    tfn_decoder decoder;
    /* what the last run gave; each text's hypotheses, the best first */
    int32_t   sentences;
    int32_t   width, most;    /* hypotheses of a sentence, places of each */
    int32_t  *tokens;         /* (sentences, width, most), the end included */
    int32_t  *lengths;        /* (sentences, width); 0: there is none */
    float    *scores;         /* (sentences, width) */
    /* private: of sentences, */
    int32_t  *order, *begin, *last, *found, *alive;   /* (sentences) */
    int32_t   live, fed;
    /* of beams: what was chosen at each step and from which beam, sums of log p, rows to feed */
    int32_t  *chosen, *parent, *next, *from;
    double   *sums;
    /* candidates of a step; softmax of a row, and a heap of it to draw from */
    double   *score;
    int32_t  *row, *token, *heap, count, room;
    float    *weights;
} tfn_generator;

/* Bytes, exact; scratch as for a decoder. 0: invalid. */
TFNORM_API size_t tfn_generator_size(const tfn_model *m, const tfn_generate_desc *desc,
                                     void *scratch, size_t scratch_size);
TFNORM_API tfn_status tfn_generator_init(tfn_generator *g, const tfn_model *m,
                                         const tfn_generate_desc *desc, void *mem, size_t size);
/* Continue the prompts: batch->tokens and lengths (NULL: all time), each of at least one token;
 * without tokens each begins with the end token, as fairseq's decoders do. An encoder-decoder also
 * has source and source_lengths. The result of a sentence depends neither on the others nor on
 * padding. ids: what names a sentence's draws, NULL: 0, 1 ... What is wrong with a batch, and
 * logits that are not finite, concern that call only. */
TFNORM_API tfn_status tfn_generator_run(tfn_generator *g, const tfn_batch *batch,
                                        const int64_t *ids);
#ifndef TFNORM_NO_METRICS
/* -- metrics --------------------------------------------------------------------------------- */

/* Sums over a corpus: begin with { 0 }, add, and ask for the score when you like; an addition that
 * fails changes nothing, and one to or of NULL fails; a score of NULL is NaN. Texts are UTF-8 and
 * end with a zero. What has no value is NaN. */

/* nll in nats; count what nll counts: ends of sentences usually, padding never */
TFNORM_API double tfn_perplexity(double nll, int64_t tokens);
TFNORM_API double tfn_bits_per_byte(double nll, int64_t bytes);

/* Bytes that suffice, exactly, for `strings` texts of `bytes` bytes in all, without their zeros:
 * the hypothesis and the references of one addition. 0: too large. */
TFNORM_API size_t tfn_metric_work(size_t bytes, int32_t strings);

typedef struct tfn_accuracy { int64_t right, tokens, right_rows, rows; } tfn_accuracy;
/* (rows, cols); wanted < 0 is ignored; a row is right when all of it is. */
TFNORM_API void tfn_accuracy_add(tfn_accuracy *a, const int32_t *found, const int32_t *wanted,
                                 ptrdiff_t rows, ptrdiff_t cols);
/* The same for logits (rows, cols, V), of which the largest counts. */
TFNORM_API void tfn_accuracy_add_logits(tfn_accuracy *a, const float *logits,
                                        const int32_t *wanted, ptrdiff_t rows, ptrdiff_t cols,
                                        int32_t vocab);

/* BLEU (Papineni 2002) as sacrebleu has it: 0..100, tokens by 13a, case counts. A sentence's own
 * score is that of a sum of one, with effective_order. */
typedef enum tfn_smooth {
    TFN_SMOOTH_EXP = 0,      /* orders without a match count 1/2, 1/4 ... */
    TFN_SMOOTH_FLOOR,        /* 0.1 */
    TFN_SMOOTH_ADD_ONE,      /* one more match and n-gram from order 2 on */
    TFN_SMOOTH_NONE
} tfn_smooth;
typedef struct tfn_bleu {
    int64_t correct[4], total[4];           /* n-grams */
    int64_t length, reference_length;       /* tokens */
    int32_t references;                     /* of each sentence; -1: it varies */
} tfn_bleu;
TFNORM_API tfn_status tfn_bleu_add(tfn_bleu *b, const char *hypothesis,
                                   const char *const *references, int32_t count, void *work,
                                   size_t size);
TFNORM_API double tfn_bleu_score(const tfn_bleu *b, tfn_smooth smooth, bool effective_order);
/* The signature, "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:...". Returns buf. */
TFNORM_API const char *tfn_bleu_text(const tfn_bleu *b, tfn_smooth smooth, bool effective_order,
                                     char *buf, size_t size);

/* ROUGE-1, -2 and -L, F1 (Lin 2004): 0..1, a mean over pairs, without stemming. */
typedef struct tfn_rouge { double f1[3]; int64_t pairs; } tfn_rouge;      /* sums */
TFNORM_API tfn_status tfn_rouge_add(tfn_rouge *r, const char *hypothesis, const char *reference,
                                    void *work, size_t size);
TFNORM_API double tfn_rouge_score(const tfn_rouge *r, int32_t i);         /* 0, 1, 2: L */

/* Word and character error rates: substitutions, deletions and insertions per unit of the
 * reference, over the corpus. */
typedef struct tfn_edits { int64_t edits, length; } tfn_edits;
TFNORM_API tfn_status tfn_edits_add_words(tfn_edits *e, const char *hypothesis,
                                          const char *reference, void *work, size_t size);
TFNORM_API tfn_status tfn_edits_add_characters(tfn_edits *e, const char *hypothesis,
                                               const char *reference, void *work, size_t size);
TFNORM_API double tfn_edits_score(const tfn_edits *e);
#endif /* TFNORM_NO_METRICS */
#endif /* TFNORM_ONLY_KERNELS */

/* -- tokenizers ------------------------------------------------------------------------------ */

#if !defined TFNORM_NO_TOKENIZERS && !defined TFNORM_ONLY_KERNELS
/* Text to numbers and back. Text is bytes: any, valid UTF-8 or not, zeros too. It is cut into
 * pieces: bytes, characters (a byte that is not UTF-8 is one) or words, which are those of GPT-2's
 * rules: "Hello  world's" is "Hello", " ", " world", "'s".
 *
 *     tfn_tokenizer_desc desc = { 0 };                 // BPE of 8192 ids
 *     size_t room = tfn_trainer_size(&desc);
 *     tfn_trainer trainer;
 *     tfn_trainer_init(&trainer, &desc, malloc(room), room);
 *     tfn_trainer_add(&trainer, text, bytes);          // any number of texts
 *     if (tfn_trainer_run(&trainer) != TFN_OK) ...     // the first error of all calls
 *
 *     tfn_tokenizer_source source = { 0 };
 *     source.trainer = &trainer;
 *     size_t size = tfn_tokenizer_size(&source);
 *     tfn_tokenizer tokenizer;
 *     tfn_tokenizer_init(&tokenizer, &source, malloc(size), size);
 *     ptrdiff_t count = tfn_tokenizer_encode(&tokenizer, ids, capacity, text, bytes);
 *
 * A tokenizer is not changed by its use: threads may share one. Encoding takes a few steps per
 * byte; only within one word of over 256 bytes it may take as many per byte as there are merges. */
typedef enum tfn_tokenizer_kind {
    TFN_TOKENIZER_BPE = 0,  /* words, then merges of pairs of bytes: Sennrich 2016, Radford 2019 */
    TFN_TOKENIZER_BYTES,             /* no training needed */
    TFN_TOKENIZER_CHARACTERS,        /* those seen in training */
    TFN_TOKENIZER_WORDS              /* those seen in training */
} tfn_tokenizer_kind;

/* A vocabulary begins with these, as far as wanted: "<pad>", "<s>", "</s>", "<unk>", "<mask>". No
 * text is encoded as one of them but what is unknown. */
typedef enum tfn_special {
    TFN_SPECIAL_PAD, TFN_SPECIAL_BOS, TFN_SPECIAL_EOS, TFN_SPECIAL_UNK, TFN_SPECIAL_MASK,
        TFN_SPECIAL_COUNT
} tfn_special;

typedef struct tfn_tokenizer_desc {
    tfn_tokenizer_kind kind;            /* 0: BPE */
    int32_t vocab;                      /* most ids; 0: 8192 for BPE, else no limit */
    int64_t min_count;                  /* rarer ones are left out; 0: 2 for pairs, else 1 */
    bool    no_pad, no_bos, no_eos, no_unk, mask;
    int32_t words;                      /* room for different pieces; 0: 262144 words or 16384
                                         * characters. 100 MB of text had 385,292 */
    int32_t word_bytes;                 /* room for their bytes; 0: 12 each, 4 of a character */
} tfn_tokenizer_desc;

typedef struct tfn__pair {
    int32_t left, right;
    int64_t count;
    int32_t head, at;                   /* first occurrence; place in the heap */
} tfn__pair;

/* Training: init, add any number of texts, run; then a tokenizer can be made of it. */
typedef struct tfn_trainer {
    tfn_error error;
    tfn_tokenizer_desc desc;            /* resolved */
    int32_t   vocab, words, word_bytes, first;      /* found so far; first id after the specials */
    bool      ran;
    uint8_t  *text;                     /* of the words */
    int32_t  *start, *slots, *order;
    int64_t  *count;
    int32_t  *symbol, *word, *next, *prev;          /* of each byte of the words */
    tfn__pair *pair;
    int32_t  *heap, *pair_slots, pairs, pair_room, heap_size, spare;
    int32_t  *left, *right, *length;    /* of each id */
} tfn_trainer;

/* What a tokenizer is made of, one of three. */
typedef struct tfn_tokenizer_source {
    const tfn_trainer *trainer;         /* one that ran */
    const void *blob;                   /* what tfn_tokenizer_write gave */
    size_t      blob_size;
    const char *vocab, *merges;         /* the texts of vocab.json and merges.txt, as GPT-2's */
    size_t      vocab_size, merges_size;
    tfn_tokenizer_kind kind;            /* of vocab without merges: bytes, characters or words */
} tfn_tokenizer_source;

typedef struct tfn_tokenizer {
    tfn_error error;
    tfn_tokenizer_kind kind;
    int32_t   vocab, merges;            /* how many ids, how many merges */
    int32_t   special[TFN_SPECIAL_COUNT];           /* ids, -1: none */
    uint8_t  *text, *flags;             /* all tokens' bytes; the rest per token and merge */
    int32_t  *start, *slots, *merge, *merge_slots, *byte_id;
} tfn_tokenizer;

#ifndef TFNORM_NO_TRAINING
/* Bytes to train with, exact; 0: invalid. For BPE about 350 per word of the room. */
TFNORM_API size_t tfn_trainer_size(const tfn_tokenizer_desc *desc);
TFNORM_API tfn_status tfn_trainer_init(tfn_trainer *t, const tfn_tokenizer_desc *desc, void *mem,
                                       size_t size);
/* Count the pieces of a text; none goes on in the next one, so cut files at ends of lines. */
TFNORM_API tfn_status tfn_trainer_add(tfn_trainer *t, const char *text, size_t bytes);
/* Choose the vocabulary. BPE merges the most frequent pair; of equally frequent ones that with the
 * smallest left id, then the smallest right id. Words and characters are sorted by count, then by
 * their bytes. */
TFNORM_API tfn_status tfn_trainer_run(tfn_trainer *t);
#endif

/* Bytes that a tokenizer needs, exact; 0: invalid (init says why). The source is not used after
 * init. */
TFNORM_API size_t tfn_tokenizer_size(const tfn_tokenizer_source *source);
TFNORM_API tfn_status tfn_tokenizer_init(tfn_tokenizer *k, const tfn_tokenizer_source *source,
                                         void *mem, size_t size);
/* The ids of a text: returns how many there are, and stores those that fit. Room for one id per
 * byte is always enough. With less, a word of over 256 bytes may be counted as its bytes. No
 * special id is added; what is unknown becomes "<unk>", or nothing if there is none. Here and below
 * what is stored into may be NULL: then it is only counted; of any other NULL there is nothing. */
TFNORM_API ptrdiff_t tfn_tokenizer_encode(const tfn_tokenizer *k, int32_t *ids, ptrdiff_t capacity,
                                          const char *text, size_t bytes);
/* The text of ids: returns its bytes, and stores those that fit, without a final zero. Specials
 * give nothing, but for "<unk>", which stands for ids out of range too. */
TFNORM_API size_t tfn_tokenizer_decode(const tfn_tokenizer *k, char *text, size_t capacity,
                                       const int32_t *ids, ptrdiff_t count);
/* The bytes of one token, not terminated; NULL: no such id. bytes may be NULL. */
TFNORM_API const char *tfn_tokenizer_token(const tfn_tokenizer *k, int32_t id, size_t *bytes);
/* The id of a token given by its bytes or a special's name; -1: there is none. */
TFNORM_API int32_t tfn_tokenizer_find(const tfn_tokenizer *k, const char *token, size_t bytes);
/* Save: as a blob for checkpoints, or as the texts of vocab.json and merges.txt. They return the
 * bytes that are needed, and store those that fit, without a final zero. */
TFNORM_API size_t tfn_tokenizer_write(const tfn_tokenizer *k, void *blob, size_t capacity);
TFNORM_API size_t tfn_tokenizer_vocab_text(const tfn_tokenizer *k, char *text, size_t capacity);
TFNORM_API size_t tfn_tokenizer_merges_text(const tfn_tokenizer *k, char *text, size_t capacity);
#endif

/* -- files ----------------------------------------------------------------------------------- */

#if !defined TFNORM_NO_FILES && !defined TFNORM_ONLY_KERNELS
/* Where bytes come from or go to. Begin with { 0 } and set a path, or memory, or callbacks; what is
 * written to none of them is counted. A path is the caller's text: keep it while the file, or its
 * error, is in use. It is replaced whole or not at all: bytes go to PATH.tmp, which takes the name
 * when it is complete and, where tfn_io_durable says so, on the disk. There a symbolic link stays
 * one, and the file that it leads to is replaced. Two programs must not write one path at the same
 * time. The first error stays; calls return it. */
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
/* Into a model of the same options, or the first difference is the error; batch, context, threads
 * and the like may differ. Without training in file or model, weights alone count. What is wrong
 * with the file leaves the model as it was; if reading fails half-way, the model says so for good.
 * A loaded model never profiles again, unless it was saved before it did. Work: tfn_file_work. */
TFNORM_API tfn_status tfn_model_load(tfn_model *m, tfn_file *f);
/* The weights alone, or the mean over several files, each with its own work: for inference, or to
 * train on with other options, from step 0 with new moments. */
TFNORM_API tfn_status tfn_model_load_weights(tfn_model *m, tfn_file *files, int32_t count);
/* The options, resolved, with which a model for this file can be made, and (or NULL) the step, -1:
 * weights alone. Rows of your own are not found: set desc->topology yourself then. */
TFNORM_API tfn_status tfn_model_peek(tfn_file *f, tfn_model_desc *desc, int64_t *step);
/* The tokenizer that went along: bytes of its blob, of which those that fit are stored, into NULL
 * none; 0: there is none, or an error. The extra text is that of "extra": open the file, ask
 * tfn_file_text, and close it. */
TFNORM_API size_t tfn_checkpoint_tokenizer(tfn_file *f, void *blob, size_t size);
#endif

#ifdef __cplusplus
}
#endif
#endif /* TFNORM_H */
/* >> ground */
#if defined TFNORM_IMPLEMENTATION && !defined TFN__BODY && !defined TFN__IMPLEMENTED
#define TFN__IMPLEMENTED      /* the implementation stands outside the guard, and comes once */
#define TFN__IMPLEMENTING

#ifndef TFNORM_FILE
#define TFNORM_FILE "tfnorm.h"
#endif
#ifndef TFNORM_ASSERT
#define TFNORM_ASSERT(x) ((void)0)
#endif
#if !defined TFNORM_MEMSET || !defined TFNORM_MEMCPY
#include <string.h>
#endif
#ifndef TFNORM_MEMSET
#define TFNORM_MEMSET memset
#endif
#ifndef TFNORM_MEMCPY
#define TFNORM_MEMCPY memcpy
#endif
#ifndef TFNORM_NO_MALLOC
#include <stdlib.h>
#endif
#include <math.h>
#if !defined TFNORM_NO_STDIO && !defined TFNORM_NO_FILES && !defined TFNORM_ONLY_KERNELS
#define TFN__STDIO
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#if defined _WIN32
#include <io.h>
#elif (defined __unix__ || defined __APPLE__) && (!defined __STRICT_ANSI__ \
    || (defined _POSIX_C_SOURCE && _POSIX_C_SOURCE >= 200112L))
#define TFN__POSIX            /* fsync is declared */
#include <fcntl.h>
#include <unistd.h>
#endif
#endif

/* Attributes of functions, by compiler:
 *   TFN__SMALL .. TFN__SMALL_END   around code that is not hot: clang optimizes it for size, which
 *                   takes a sixth less time. gcc has `optimize` pragmas in its place.
 *   TFN__INLINE     inlined always, but where size was asked for
 *   TFN__APART      never inlined, nor copied for arguments that are constant
 *   TFN__NOINLINE   never inlined; gcc may copy it for constant arguments, and should
 *   TFN__RESTRICT   C99's restrict, also in C++ */
#if defined __clang__ && !defined TFNORM_DEBUG
#define TFN__SMALL \
    _Pragma("clang attribute push(__attribute__((minsize)), apply_to = function)")
#define TFN__SMALL_END _Pragma("clang attribute pop")
#else
#define TFN__SMALL
#define TFN__SMALL_END
#endif
#if defined __GNUC__ || defined __clang__
#if defined __OPTIMIZE_SIZE__ || defined TFNORM_DEBUG
#define TFN__INLINE inline
#else
#define TFN__INLINE inline __attribute__((always_inline))
#endif
#ifdef __clang__
#define TFN__APART  __attribute__((noinline))
#else
#define TFN__APART  __attribute__((noinline, noclone))
#endif
#define TFN__NOINLINE __attribute__((noinline))
#define TFN__RESTRICT __restrict
#elif defined _MSC_VER
#define TFN__INLINE __forceinline
#define TFN__APART  __declspec(noinline)
#define TFN__NOINLINE
#define TFN__RESTRICT __restrict
#else
#define TFN__INLINE inline
#define TFN__APART
#define TFN__NOINLINE
#define TFN__RESTRICT
#endif

/* Which instruction sets this compiler can build. gcc for Windows misaligns AVX spills (GCC bug
 * 54412), so there only the 128-bit sets are built. TFN__DOUBLE is the tests' double build. */
#if !defined TFNORM_NO_SIMD && !defined TFNORM_DEBUG && !defined TFN__DOUBLE
#if (defined __x86_64__ || defined _M_X64) && (defined __GNUC__ || defined __clang__)
#if defined __GNUC__ && !defined __clang__      /* its own headers warn: GCC bug 105593 */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#else
#include <immintrin.h>
#endif
#define TFN__X86
#if !defined __MINGW32__ || defined __clang__
#define TFN__X86_WIDE
#endif
#elif defined __aarch64__
#include <arm_neon.h>
#define TFN__NEON
#elif defined __wasm_simd128__
#include <wasm_simd128.h>
#define TFN__WASM
#endif
#endif

/* Threads: the caller's hook, else OpenMP where the compiler has it on, else none. */
#if (defined __GNUC__ || defined __clang__) && !defined TFN__POISON
#if defined TFNORM_PARALLEL_FOR || defined _OPENMP
#define TFN__THREADS
#endif
#if defined TFN__THREADS && !defined TFNORM_PARALLEL_FOR
#include <omp.h>
#endif
#if defined _WIN32
#include <windows.h>
#define TFN__YIELD() Sleep(0)
#elif defined __unix__ || defined __APPLE__
#include <sched.h>
#define TFN__YIELD() sched_yield()
#else
#define TFN__YIELD() ((void)0)
#endif
#endif

/* TFN__TRAINS and TFN__ALL are constants for conditions, so that a compiler drops what hangs on
 * them: training, and what a decoder asks for by TFNORM_ALL_NORMS, namely norms other than
 * LayerNorm and RMSNorm and topologies other than Pre-LN and Post-LN. */
#ifdef TFNORM_NO_TRAINING
#define TFN__TRAINS false
#else
#define TFN__TRAINS true
#endif
#if !defined TFNORM_NO_TRAINING || defined TFNORM_ALL_NORMS
#define TFN__EXTRA_NORMS
#define TFN__ALL true
#else
#define TFN__ALL false
#endif

/* A compiler that contracts a*b + c to one instruction rounds once where the header's definition
 * of its results rounds twice, so contraction is off. gcc has no pragma of the standard for it. The
 * strings are written out here and below: gcc ignores a macro inside them, silently. */
#if defined __clang__
#pragma STDC FP_CONTRACT OFF
#elif defined __GNUC__
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#if defined __FLT_EVAL_METHOD__ && __FLT_EVAL_METHOD__ == 1     /* s390x under -std=c99 */
#pragma GCC optimize("excess-precision=fast")                   /* not in double */
#endif
#elif defined _MSC_VER
#pragma fp_contract(off)
#endif

/* Parts left out by macro leave helpers that nobody calls. */
#if (defined __GNUC__ || defined __clang__) \
    && (defined TFNORM_NO_TRAINING || defined TFNORM_ONLY_KERNELS \
        || defined TFNORM_NO_TOKENIZERS || defined TFNORM_NO_METRICS || defined TFNORM_NO_FILES)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#endif

#ifdef TFN__DOUBLE            /* gradient tests, which define float before the api as well */
#define float double
#define TFN__SQRT sqrt
#elif defined TFNORM_SQRTF
#define TFN__SQRT TFNORM_SQRTF
#else
#define TFN__SQRT sqrtf
#endif

static TFN__INLINE ptrdiff_t tfn__min(ptrdiff_t a, ptrdiff_t b) { return a < b ? a : b; }
static TFN__INLINE ptrdiff_t tfn__max(ptrdiff_t a, ptrdiff_t b) { return a > b ? a : b; }

/* strcmp, strlen: a build with its own TFNORM_MEMSET and TFNORM_MEMCPY has no <string.h>. */
static int tfn__compare(const char *a, const char *b)
{
    while (*a == *b) {
        if (*a == 0) return 0;
        a++;
        b++;
    }
    return (int)(uint8_t)*a - (int)(uint8_t)*b;
}
static bool tfn__equal(const char *a, const char *b) { return tfn__compare(a, b) == 0; }

static size_t tfn__length(const char *s)
{
    size_t n = 0;
    while (s[n]) n++;
    return n;
}

/* -- text ------------------------------------------------------------------------------------ */

/* A text under construction, in a buffer of the caller: what fits is stored, but all of it is
 * counted in `used`, so that a caller can ask for the size first, as with snprintf. Nothing here
 * needs <stdio.h>, nor depends on the locale. */
typedef struct tfn__text {
    char  *buf;
    size_t size;
    size_t used;
} tfn__text;

/* An empty text; over NULL it only counts. */
static tfn__text tfn__text_in(void *buf, size_t size)
{
    tfn__text t = { (char *)buf, 0, 0 };
    if (buf) t.size = size;
    return t;
}

static void tfn__put_bytes(tfn__text *t, const void *from, size_t n)
{
    const char *s = (const char *)from;
    for (size_t i = 0; i < n; i++, t->used++)
        if (t->used < t->size) t->buf[t->used] = s[i];
}

/* One string, or three; NULL is none. */
static void tfn__put(tfn__text *t, const char *s)
{
    if (s) tfn__put_bytes(t, s, tfn__length(s));
}
static void tfn__put_texts(tfn__text *t, const char *a, const char *b, const char *c)
{
    tfn__put(t, a);
    tfn__put(t, b);
    tfn__put(t, c);
}

/* Terminate the text, over its last byte if it is full. Returns the buffer. */
static char *tfn__end(tfn__text *t)
{
    if (t->size) t->buf[tfn__min((ptrdiff_t)t->used, (ptrdiff_t)t->size - 1)] = 0;
    return t->buf;
}

/* `before`, the value in decimal, `after`. The digits are made from the last to the first, of the
 * magnitude without a sign: that of INT64_MIN has no int64_t. */
static void tfn__put_int(tfn__text *t, const char *before, int64_t value, const char *after)
{
    char digits[24];
    int i = 23;
    uint64_t left = (uint64_t)value;
    if (value < 0) left = 0 - left;
    digits[i] = 0;
    do {
        digits[--i] = (char)('0' + left % 10);
        left /= 10;
    } while (left);
    if (value < 0) digits[--i] = '-';
    tfn__put_texts(t, before, digits + i, after);
}

/* v * 10^power, one power after the other, which is exact where the result is. v is 0, or from 1
 * to 1e18: so 345 powers are always enough to reach 0 or infinity. */
static double tfn__decimal(double v, int64_t power)
{
    const int64_t most = 345;
    if (power > most) power = most;
    if (power < -most) power = -most;
    for (; power > 0; power--) v *= 10;
    for (; power < 0; power++) v /= 10;
    return v;
}

/* The shortest decimal number that reads as x again, such as 3e-4; 0 for what JSON lacks, infinity
 * and NaN. |x| = rest * 10^power with 1 <= rest < 10; one digit more is tried at a time, rounded to
 * nearest, until tfn__decimal of the text is x. 17 digits are always enough. */
static void tfn__put_float(tfn__text *t, float x)
{
    char digits[32] = "0";
    int32_t power = 0;
    const bool negative = x < 0;
    double rest = fabs((double)x);
    if (!(rest - rest >= 0)) rest = 0;                       /* infinity or NaN */
    for (; rest >= 10; power++) rest /= 10;
    if (rest > 0) for (; rest < 1; power--) rest *= 10;

    for (int32_t n = 0; n < 17; n++, rest *= 10) {
        tfn__text s = tfn__text_in(digits, sizeof digits);
        int64_t whole = (int64_t)(rest + 0.5);
        if (negative) whole = -whole;
        if (whole == 0) break;
        tfn__put_int(&s, NULL, whole, NULL);
        if (power != n) tfn__put_int(&s, "e", power - n, NULL);
        tfn__end(&s);
        if ((float)tfn__decimal((double)whole, power - n) == x) break;
    }
    tfn__put(t, digits);
}

/* -- status ---------------------------------------------------------------------------------- */

#define TFN__STATUS_TEXT(name, text) text,
TFNORM_API const char *tfn_status_text(tfn_status status)
{
    static const char *const text[] = { TFN__STATUS_LIST(TFN__STATUS_TEXT) };
    if ((unsigned)status >= TFN_STATUS_COUNT) return "unknown status";
    return text[status];
}

TFNORM_API const char *tfn_version(void) { return TFNORM_VERSION; }

/* Keep the first error of an object; always returns the status in force. `text` may hold "%d",
 * which becomes `found`, then `wanted`. */
static tfn_status tfn__fail(tfn_error *e, tfn_status status, const char *op, const char *text,
                            int64_t found, int64_t wanted)
{
    if (e->status == TFN_OK) {
        e->status = status;
        e->op = op;
        e->text = text;
        e->found = found;
        e->wanted = wanted;
        e->node = e->layer = -1;
        e->name[0] = 0;
    }
    return e->status;
}

/* The same about something with a name, for "%s" in the text. The name is copied: it may be in
 * memory that is gone when the message is read. */
static void tfn__fail_name(tfn_error *e, tfn_status status, const char *op, const char *text,
                           const char *name)
{
    size_t n = 0;
    if (e->status != TFN_OK) return;
    tfn__fail(e, status, op, text, 0, 0);
    if (name)
        for (; name[n]; n++) {
            if (n == sizeof e->name - 1) break;
            e->name[n] = name[n];
        }
    e->name[n] = 0;
}

/* False and an error if an argument that is needed is NULL. */
static bool tfn__given(tfn_error *e, const char *op, const char *name, const void *p)
{
    if (!p) tfn__fail_name(e, TFN_NULL, op, "%s is NULL", name);
    return p != NULL;
}

/* An error for an object that no init has seen: it is all zero, so a pointer in it that every init
 * sets, `part`, is NULL. */
static void tfn__made(tfn_error *e, const char *op, const void *part)
{
    if (!part) tfn__fail(e, TFN_NOT_READY, op, "it was not initialized", 0, 0);
}

static void tfn__no_error(tfn_error *e)
{
    TFNORM_MEMSET(e, 0, sizeof *e);
    e->node = e->layer = -1;
}

/* A bad batch concerns the call it was given to, and does not stick: the object is as good as
 * before. */
static void tfn__forgive(tfn_error *e)
{
    if (e->status == TFN_OK || e->status == TFN_BAD_BATCH) tfn__no_error(e);
}

/* A message, its placeholders filled in: "%d" takes found, then wanted; "%s" takes the name. */
static void tfn__put_message(tfn__text *t, const tfn_error *e)
{
    int64_t value = e->found;
    for (const char *s = e->text; *s; s++)
        if (s[0] == '%' && s[1] == 'd') {
            tfn__put_int(t, NULL, value, NULL);
            value = e->wanted;
            s++;
        } else if (s[0] == '%' && s[1] == 's') {
            tfn__put(t, e->name);
            s++;
        } else tfn__put_bytes(t, s, 1);
}

/* "linear: the input has 48 channels, the weight wants 64 (node 17, layer 2)" */
TFNORM_API const char *tfn_error_text(const tfn_error *e, char *buf, size_t size)
{
    tfn__text t = tfn__text_in(buf, size);
    if (!e) {
        tfn__put(&t, "error is NULL");
        return tfn__end(&t);
    }
    if (e->path) tfn__put_texts(&t, e->path, ": ", NULL);
    else if (e->op) tfn__put_texts(&t, e->op, ": ", NULL);
    if (e->text) tfn__put_message(&t, e);
    else tfn__put(&t, tfn_status_text(e->status));
    if (e->node >= 0 && e->op) {
        tfn__put_int(&t, " (node ", e->node, NULL);
        if (e->layer >= 0) tfn__put_int(&t, ", layer ", e->layer, NULL);
        tfn__put(&t, ")");
    }
    return tfn__end(&t);
}

/* -- arena ----------------------------------------------------------------------------------- */

/* Products and sums of sizes are checked, always. SIZE_MAX stands for "does not fit", and what is
 * computed from it is SIZE_MAX again (a product with 0 apart), so one test at the end is enough. */
static size_t tfn__mul(size_t a, size_t b)
{
    if (a != 0 && b > SIZE_MAX / a) return SIZE_MAX;
    return a * b;
}
static size_t tfn__sum(size_t a, size_t b)
{
    if (b > SIZE_MAX - a) return SIZE_MAX;
    return a + b;
}

/* A count of floats as size_t, SIZE_MAX where they do not fit into memory. */
static size_t tfn__count(int64_t n)
{
    if (n < 0 || (uint64_t)n > SIZE_MAX / sizeof(float)) return SIZE_MAX;
    return (size_t)n;
}

/* Bytes, a power of two: a line of the cache, and a vector of AVX-512. */
#define TFN__ALIGN 64

/* A block of memory handed out from the front; nothing is ever given back one by one. Without a
 * block it only counts, and hands out an address that is never read nor NULL: so the size of a
 * model is found by the very code that builds it, run once on an arena that counts. Passed by value
 * for temporary memory: what the callee takes is free again when it returns, `peak` has the most
 * that was in use. */
typedef struct tfn__arena {
    unsigned char *base;      /* NULL: count only */
    size_t         size, used, peak;
} tfn__arena;

/* The first aligned address from mem on. */
static unsigned char *tfn__aligned(void *mem)
{
    return (unsigned char *)mem + ((0 - (size_t)(uintptr_t)mem) & (TFN__ALIGN - 1));
}

/* An arena over a block of any address, of whose bytes it leaves out what aligning it may cost.
 * Over NULL it counts as far as `size`. */
static tfn__arena tfn__arena_in(void *mem, size_t size)
{
    tfn__arena a = { NULL, 0, 0, 0 };
    if (mem) a.base = tfn__aligned(mem);
    if (size >= TFN__ALIGN) a.size = size - (TFN__ALIGN - 1);
    return a;
}

/* From here on it counts, without a limit but that of size_t. */
static void tfn__only_count(tfn__arena *a)
{
    a->base = NULL;
    a->size = SIZE_MAX - 2 * TFN__ALIGN;
}

/* `count` things of `each` bytes, aligned, or NULL and an error. */
static unsigned char *tfn__take(tfn__arena *a, size_t count, size_t each, tfn_error *e)
{
    size_t bytes = tfn__mul(count, each);
    size_t start = tfn__sum(a->used, (0 - a->used) & (TFN__ALIGN - 1));
    size_t end = tfn__sum(start, bytes);
    if (end == SIZE_MAX) {
        tfn__fail(e, TFN_TOO_LARGE, "memory", NULL, 0, 0);
        return NULL;
    }
    if (end > a->size) {
        tfn__fail(e, TFN_NO_MEMORY, "memory", "the block has %d bytes, at least %d are wanted",
                  (int64_t)a->size, (int64_t)end);
        return NULL;
    }
    a->used = end;
    if (end > a->peak) a->peak = end;
    if (!a->base) return (unsigned char *)(uintptr_t)TFN__ALIGN;
    return a->base + start;
}

static int32_t *tfn__take_ids(tfn__arena *a, size_t n, tfn_error *e)
{
    return (int32_t *)(void *)tfn__take(a, n, sizeof(int32_t), e);
}

/* -- order ----------------------------------------------------------------------------------- */

/* Sorting by index: whether element i of x comes before element j. */
typedef bool tfn__before_fn(const void *x, int32_t i, int32_t j);

/* One step of heapsort: `order` is a heap with the greatest at its top, but for the index at `at`,
 * which sinks below children that come after it. */
static void tfn__sink(int32_t *order, int32_t at, int32_t n, tfn__before_fn *before, const void *x)
{
    int32_t moved = order[at];
    for (int32_t child; at < n / 2; at = child) {
        child = 2*at + 1;
        if (child + 1 < n && before(x, order[child], order[child + 1])) child++;
        if (!before(x, moved, order[child])) break;
        order[at] = order[child];
    }
    order[at] = moved;
}

/* The indices 0..n-1 in the order of their elements: heapsort (Williams 1964), which needs no
 * memory and never n^2 comparisons. It is not stable: `before` must decide ties. */
static void tfn__order(int32_t *order, int32_t n, tfn__before_fn *before, const void *x)
{
    for (int32_t i = 0; i < n; i++) order[i] = i;
    for (int32_t i = n / 2; i-- > 0;) tfn__sink(order, i, n, before, x);
    for (int32_t last = n - 1; last > 0; last--) {
        int32_t top = order[0];
        order[0] = order[last];
        order[last] = top;
        tfn__sink(order, 0, last, before, x);
    }
}

/* -- rng ------------------------------------------------------------------------------------- */

/* A counter-based generator: draw number `index` of a key is a function of the two, without a
 * state. So any thread can draw any number, a mask need not be stored, and a resumed run draws what
 * an uninterrupted one would. It is splitmix64 (Steele, Lea & Flood 2014), which adds 2^64 / golden
 * ratio at each step and sends the sum through this mixer (constants: Stafford's variant 13). */
#define TFN__GOLDEN UINT64_C(0x9e3779b97f4a7c15)

static uint64_t tfn__mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

TFNORM_API tfn_key tfn_key_make(uint64_t seed)
{
    const tfn_key key = { tfn__mix(seed + TFN__GOLDEN) };
    return key;
}

/* A key for a part of what the key is for: the step, the layer, the purpose. */
TFNORM_API tfn_key tfn_key_fold(tfn_key key, uint64_t data)
{
    key.bits = tfn__mix(key.bits ^ tfn__mix(data + TFN__GOLDEN));
    return key;
}

TFNORM_API uint64_t tfn_random_bits(tfn_key key, uint64_t index)
{
    return tfn__mix(key.bits + (index + 1) * TFN__GOLDEN);
}

/* In [0, 1): 24 bits over 2^24, of which a float holds every one. */
TFNORM_API float tfn_random_uniform(tfn_key key, uint64_t index)
{
    return (float)(tfn_random_bits(key, index) >> 40) * (float)(1.0 / 16777216);
}

/* Where i of 0..n-1 goes in a random permutation, without a table of it. Four rounds of a Feistel
 * network permute the numbers of 2*half bits, the fewest that hold n - 1 (Luby & Rackoff 1988). It
 * is applied again until the number is below n, which makes it a permutation of these (cycle
 * walking, Black & Rogaway 2002). At least every fourth number is below n: it takes four tries on
 * average, or fewer. */
TFNORM_API int64_t tfn_random_shuffle(tfn_key key, int64_t i, int64_t n)
{
    const int most = 31;              /* bits of a half: n up to 2^62 */
    int half = 1;
    uint64_t x = (uint64_t)i;
    uint64_t mask;
    if (n <= 1) return 0;
    for (; half < most; half++)
        if (((uint64_t)n - 1) >> (2 * half) == 0) break;
    mask = (UINT64_C(1) << half) - 1;
    do {
        uint64_t left = x >> half;
        uint64_t right = x & mask;
        for (uint64_t round = 0; round < 4; round++) {
            uint64_t t = right;
            right = left ^ (tfn_random_bits(tfn_key_fold(key, round), right) & mask);
            left = t;
        }
        x = left << half | right;
    } while (x >= (uint64_t)n);
    return (int64_t)x;
}
#endif /* TFN__IMPLEMENTING */
/* >> math */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY
/* Where fmaf is an instruction gcc says so by __FP_FAST_FMAF. clang says so for few processors, and
 * where errno is kept (on bare metal, say) it calls libm's fmaf even if there is an instruction. So
 * its intrinsic is called by its name; where the processor lacks the instruction, that again would
 * call libm: hence the list. */
#ifdef __clang__
#if defined __FMA__ || defined __aarch64__ || defined __ARM_FEATURE_FMA \
    || (defined __riscv_flen && __riscv_flen >= 32) || defined __powerpc64__ || defined __s390x__ \
    || (defined __loongarch_frlen && __loongarch_frlen >= 32) || defined __FP_FAST_FMAF
#define TFN__LLVM_FMA
#endif
#elif defined __FP_FAST_FMAF
#define TFN__GCC_FMA
#endif

/* a*b + c with one rounding, where it is an instruction: a libm may round some halfway cases
 * wrongly. Else, on demand, slow but right: the product is exact in double, and a sum rounded to
 * odd may be rounded again (Boldo & Melquiond 2008). */
#ifdef TFN__DOUBLE
#define TFN__PLAIN_FMA false
static TFN__INLINE float tfn__fma(float a, float b, float c) { return a*b + c; }
#else
static TFN__INLINE uint32_t tfn__to_bits(float x)
{
    uint32_t u;
    TFNORM_MEMCPY(&u, &x, sizeof u);
    return u;
}

static TFN__INLINE float tfn__from_bits(uint32_t u)
{
    float x;
    TFNORM_MEMCPY(&x, &u, sizeof x);
    return x;
}

#if defined TFN__LLVM_FMA
#define TFN__PLAIN_FMA true
#ifdef __cplusplus
extern "C"
#endif
float tfn__llvm_fma(float a, float b, float c) __asm__("llvm.fma.f32");
static TFN__INLINE float tfn__fma(float a, float b, float c) { return tfn__llvm_fma(a, b, c); }
#elif defined TFN__GCC_FMA
#define TFN__PLAIN_FMA true
static TFN__INLINE float tfn__fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#elif defined TFNORM_EXACT
#define TFN__PLAIN_FMA true
static TFN__INLINE float tfn__fma(float a, float b, float c)
{
    const double product = (double)a * (double)b;
    double sum = product + (double)c;
    const double part = sum - product;                               /* of c, that went in */
    const double lost = (product - (sum - part)) + ((double)c - part);
    uint64_t u;
    TFNORM_MEMCPY(&u, &sum, sizeof u);
    if (lost != 0 && lost == lost && u % 2 == 0) {                   /* to the odd neighbour */
        if ((lost > 0) == (sum > 0)) u++;
        else u--;
    }
    TFNORM_MEMCPY(&sum, &u, sizeof u);
    return (float)sum;
}
#else
#define TFN__PLAIN_FMA false
static TFN__INLINE float tfn__fma(float a, float b, float c) { return a*b + c; }
#endif
#endif

/* Denormals cost some 150 cycles each on many processors, and functions that decay to 0 make them:
 * 0.7 % of the gradients behind GELU, in one model, took three quarters of its time. So such
 * functions are exactly 0 below TFN__TAIL, which leaves room for products with small numbers. */
#define TFN__TAIL       ((float)8.67361737988403547e-19)       /* 2^-60 */
#define TFN__TAIL_LOG   ((float)42)                            /* a little above 60 ln 2 */
#define TFN__LEAST      ((float)7.88860905221011805e-31)       /* 2^-100, of averages */
#define TFN__LEAST_ROOT ((float)8.88178419700125232e-16)       /* 2^-50 */

/* Scalar functions in double, from + - * / alone, so that their bits do not depend on the machine.
 * Measured relative errors: exp 2e-16, log 5e-16, sin and cos 3e-16 for |x| up to 1e6, pow 4e-14
 * where the result fits a float: rounded to float, all are within 0.5001 ULP. */

/* The double whose bits are u. */
static inline double tfn__double_of(uint64_t u)
{
    double x;
    TFNORM_MEMCPY(&x, &u, sizeof x);
    return x;
}

/* c[0] + c[1] x + ... + c[n-1] x^(n-1), by Horner's rule */
static inline double tfn__series(const double *c, int n, double x)
{
    double y = c[--n];
    while (n) y = y*x + c[--n];
    return y;
}

/* Nearest integer, |x| < 2^31; halves away from 0. */
static inline int32_t tfn__round(double x)
{
    if (x < 0) return (int32_t)(x - 0.5);
    return (int32_t)(x + 0.5);
}

/* 2^n, -1022 <= n <= 1023. */
static inline double tfn__power2(int32_t n) { return tfn__double_of((uint64_t)(n + 1023) << 52); }

/* ln 2 in two parts; 32 bits in the first: times an integer of 21 bits is exact. */
#define TFN__LN2_HIGH 6.93147180369123816490e-01
#define TFN__LN2_LOW  1.90821492927058770002e-10

/* exp(n ln 2 + r) = 2^n exp(r), |r| <= ln(2)/2, by Taylor's series. 2^n is two factors, as the
 * power of a denormal result or of one just below infinity is no double itself. */
static inline double tfn__exp(double x)
{
    static const double c[] = {
        1, 1, 1.0/2, 1.0/6, 1.0/24, 1.0/120, 1.0/720, 1.0/5040, 1.0/40320, 1.0/362880,
        1.0/3628800, 1.0/39916800, 1.0/479001600, 1.0/6227020800
    };
    int32_t n, half;
    double r;
    if (x <= -746) return 0;
    if (x > 710) x = 710;                         /* infinity */
    if (x != x) return x;
    n = tfn__round(x * 1.44269504088896340736);
    half = n / 2;
    r = (x - n * TFN__LN2_HIGH) - n * TFN__LN2_LOW;
    return tfn__series(c, 14, r) * tfn__power2(half) * tfn__power2(n - half);
}

/* log(2^n m) = n ln 2 + 2 artanh(s), s = (m-1)/(m+1), 1/sqrt(2) <= m < sqrt(2). n and m are the
 * exponent and the fraction of x's bits. */
static inline double tfn__log(double x)
{
    static const double c[] = {
        1, 1.0/3, 1.0/5, 1.0/7, 1.0/9, 1.0/11, 1.0/13, 1.0/15, 1.0/17, 1.0/19
    };
    int32_t n = 0;
    uint64_t u;
    double m;
    double s;
    if (x < 0 || x != x) return (double)NAN;
    if (!(x > 0)) return -HUGE_VAL;
    if (x > 1.7976931348623157e308) return x;     /* infinity */
    if (x < 2.2250738585072014e-308) {            /* denormal */
        x *= 18014398509481984.0;                 /* 2^54 */
        n = -54;
    }
    TFNORM_MEMCPY(&u, &x, sizeof u);
    n += (int32_t)(u >> 52) - 1023;
    m = tfn__double_of((u & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52);
    if (m > 1.41421356237309504880) {
        m *= 0.5;
        n++;
    }
    s = (m - 1) / (m + 1);
    return n * TFN__LN2_HIGH + (2*s * tfn__series(c, 10, s*s) + n * TFN__LN2_LOW);
}

/* x^y, x >= 0; 0^0 is 1. */
static inline double tfn__pow(double x, double y)
{
    if (y == 0) return 1;
    return tfn__exp(y * tfn__log(x));
}

/* sin(x + turns pi/2), |x| up to a million. pi/2 has three parts of 33 bits, so that n times a part
 * is exact (Cody & Waite 1980); the series are Taylor's, |r| <= pi/4. */
static inline double tfn__sine(double x, int32_t turns)
{
    static const double odd[] = {
        1, -1.0/6, 1.0/120, -1.0/5040, 1.0/362880, -1.0/39916800, 1.0/6227020800,
        -1.0/1307674368000, 1.0/355687428096000
    };
    static const double even[] = {
        1, -1.0/2, 1.0/24, -1.0/720, 1.0/40320, -1.0/3628800, 1.0/479001600,
        -1.0/87178291200, 1.0/20922789888000
    };
    int32_t n;
    double a, b, r, y;
    if (!(x > -1e9 && x < 1e9)) return x - x;     /* NaN; far away 0, but never undefined */
    n = tfn__round(x * 0.63661977236758134308);
    a = x - n * 1.57079632673412561417e+00;
    b = n * 6.07710050630396597660e-11;
    r = a - b;
    r += ((a - r) - b) - n * 2.02226624879595063154e-21;
    turns += n & 3;
    if (turns & 1) y = tfn__series(even, 9, r*r);            /* cos(r) */
    else y = r * tfn__series(odd, 9, r*r);                   /* sin(r) */
    if (turns & 2) y = -y;
    return y;
}

static inline double tfn__sin(double x) { return tfn__sine(x, 0); }
static inline double tfn__cos(double x) { return tfn__sine(x, 1); }

/* A normal deviate, sqrt(-2 ln u) cos(2 pi v) (Box & Muller 1958), with u and v the two halves of
 * one draw. u is never 0. */
TFNORM_API float tfn_random_normal(tfn_key key, uint64_t index)
{
    uint64_t bits = tfn_random_bits(key, index);
    double radius = ((double)(bits >> 32) + 0.5) / 4294967296.0;        /* in (0, 1) */
    double angle = (double)(bits & 0xffffffff) * (6.28318530717958647693 / 4294967296.0);
    return TFN__SQRT((float)(-2 * tfn__log(radius))) * (float)tfn__cos(angle);
}
#endif
/* >> tables */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY && !defined TFNORM_ONLY_KERNELS

/* Tables of positions depend on shapes alone: they are computed once, when a model is made. */

/* Sinusoidal positions (T, C): sin(t * rate_k) in the first half of a row, cos(t * rate_k) in the
 * second (Vaswani 2017, section 3.5, interleaves them). Tensor2Tensor and Marian: rates
 * 10000^(-2k/C) from position 0; fairseq: 10000^(-k/(C/2 - 1)), and the first token has position
 * padding_idx + 1 = 2. An odd last column is 0. */
static void tfn__sinusoid_table(float *table, ptrdiff_t time, ptrdiff_t cols, bool fairseq)
{
    const ptrdiff_t half = cols / 2;
    double span = (double)cols / 2;
    ptrdiff_t first = 0;
    if (fairseq) {
        span = (double)tfn__max(half - 1, 1);
        first = 2;
    }
    for (ptrdiff_t t = 0; t < time; t++, table += cols) {
        for (ptrdiff_t k = 0; k < half; k++) {
            double angle = (double)(first + t) * tfn__pow(10000, -(double)k / span);
            table[k] = (float)tfn__sin(angle);
            table[half + k] = (float)tfn__cos(angle);
        }
        if (cols % 2) table[cols - 1] = 0;
    }
}

/* Rotary positions (T, D): the cosines, then the sines of t * theta^(-2j/D), j < D/2 (Su 2021,
 * eq. 15), by which a head's pairs of features turn at position t. */
static void tfn__rotary_table(float *table, ptrdiff_t time, ptrdiff_t head_size, float theta)
{
    ptrdiff_t half = head_size / 2;
    for (ptrdiff_t t = 0; t < time; t++, table += head_size)
        for (ptrdiff_t j = 0; j < half; j++) {
            double rate = tfn__pow((double)theta, -2.0 * (double)j / (double)head_size);
            double angle = (double)t * rate;
            table[j] = (float)tfn__cos(angle);
            table[half + j] = (float)tfn__sin(angle);
        }
}
#endif /* TFN__IMPLEMENTING */
/* >> simd */
#ifdef TFN__BODY
/* The kernels are one body, read once per instruction set: the header includes itself with
 * TFN__BODY and one TFN__USE_ macro defined. A new instruction set gives these macros, over one
 * vector type; plain C, with a vector of one float, shows at the end what each computes.
 *
 *   N(name)           the name of this instance's function
 *   V, W              the vector type and its number of lanes
 *   LOAD, STORE       W floats at an address of any alignment
 *   LOADN, STOREN     the first k lanes only (0 <= k <= W); the others are 0, and memory behind
 *                     them is neither read nor written
 *   SET, SETBITS      the same number, or the same 32 bits, in all lanes
 *   ADD SUB MUL DIV ROOT   each rounded once
 *   FMA(a, b, c)      a*b + c, rounded once, or twice where NO_FMA is defined
 *   MIN, MAX          b if either is NaN
 *   LESS(a, b, x, y)  x in the lanes where a < b, else y
 *   AND, OR           of bits
 *   EXP2(t)           2^n for t = n + 1.5 * 2^23, whose last bits are n; or instead of it
 *   SCALE(r, n)       r * 2^n, rounded once */

#if defined TFN__USE_AVX512
#define TFN__N(name)         name##_avx512
#define TFN__ISA_NAME        "avx512"
#define TFN__ISA_ID          TFN_ISA_AVX512
#define TFN__W               16
#define TFN__V               __m512
#define TFN__LOAD(p)         _mm512_loadu_ps(p)
#define TFN__STORE(p, v)     _mm512_storeu_ps(p, v)
#define TFN__LOADN(p, k)     _mm512_maskz_loadu_ps((__mmask16)((1u << (k)) - 1u), p)
#define TFN__STOREN(p, v, k) _mm512_mask_storeu_ps(p, (__mmask16)((1u << (k)) - 1u), v)
#define TFN__SET(x)          _mm512_set1_ps(x)
#define TFN__SETBITS(u)      _mm512_castsi512_ps(_mm512_set1_epi32((int)(u)))
#define TFN__ADD(a, b)       _mm512_add_ps(a, b)
#define TFN__SUB(a, b)       _mm512_sub_ps(a, b)
#define TFN__MUL(a, b)       _mm512_mul_ps(a, b)
#define TFN__DIV(a, b)       _mm512_div_ps(a, b)
#define TFN__FMA(a, b, c)    _mm512_fmadd_ps(a, b, c)
/* maskz with all lanes: of the plain ones g++ says "may be used uninitialized" (GCC bug 105593). */
#define TFN__MIN(a, b)       _mm512_maskz_min_ps((__mmask16)0xffff, a, b)
#define TFN__MAX(a, b)       _mm512_maskz_max_ps((__mmask16)0xffff, a, b)
#define TFN__ROOT(a)         _mm512_maskz_sqrt_ps((__mmask16)0xffff, a)
#define TFN__LESS(a, b, x, y) _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x)
#define TFN__BITS(a)         _mm512_castps_si512(a)
#define TFN__AND(a, b)       _mm512_castsi512_ps(_mm512_and_si512(TFN__BITS(a), TFN__BITS(b)))
#define TFN__OR(a, b)        _mm512_castsi512_ps(_mm512_or_si512(TFN__BITS(a), TFN__BITS(b)))
#define TFN__SCALE(r, n)     _mm512_maskz_scalef_ps((__mmask16)0xffff, r, n)

/* AVX2 has no masks in registers of their own: lane i of TFN__MASK(k) is all ones where i < k. */
#elif defined TFN__USE_AVX2
#define TFN__N(name)         name##_avx2
#define TFN__ISA_NAME        "avx2"
#define TFN__ISA_ID          TFN_ISA_AVX2
#define TFN__W               8
#define TFN__V               __m256
#define TFN__LOAD(p)         _mm256_loadu_ps(p)
#define TFN__STORE(p, v)     _mm256_storeu_ps(p, v)
#define TFN__MASK(k)         _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(k)), \
                                                _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))
#define TFN__LOADN(p, k)     _mm256_maskload_ps(p, TFN__MASK(k))
#define TFN__STOREN(p, v, k) _mm256_maskstore_ps(p, TFN__MASK(k), v)
#define TFN__SET(x)          _mm256_set1_ps(x)
#define TFN__SETBITS(u)      _mm256_castsi256_ps(_mm256_set1_epi32((int)(u)))
#define TFN__ADD(a, b)       _mm256_add_ps(a, b)
#define TFN__SUB(a, b)       _mm256_sub_ps(a, b)
#define TFN__MUL(a, b)       _mm256_mul_ps(a, b)
#define TFN__DIV(a, b)       _mm256_div_ps(a, b)
#define TFN__FMA(a, b, c)    _mm256_fmadd_ps(a, b, c)
#define TFN__MIN(a, b)       _mm256_min_ps(a, b)
#define TFN__MAX(a, b)       _mm256_max_ps(a, b)
#define TFN__ROOT(a)         _mm256_sqrt_ps(a)
#define TFN__LESS(a, b, x, y) _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ))
#define TFN__AND(a, b)       _mm256_and_ps(a, b)
#define TFN__OR(a, b)        _mm256_or_ps(a, b)
#define TFN__EXP2(t) _mm256_castsi256_ps(_mm256_add_epi32(             \
    _mm256_slli_epi32(_mm256_castps_si256(t), 23), _mm256_set1_epi32(0x3f800000)))

/* 128 bits: SSE2, which every x86-64 has, and the same with the FMA of processors since 2012. SSE2
 * has no blend, hence LESS by bits. */
#elif defined TFN__USE_SSE2 || defined TFN__USE_FMA128
#ifdef TFN__USE_FMA128
#define TFN__N(name)         name##_fma128
#define TFN__ISA_NAME        "fma128"
#define TFN__ISA_ID          TFN_ISA_FMA128
#define TFN__FMA(a, b, c)    _mm_fmadd_ps(a, b, c)
#else
#define TFN__N(name)         name##_sse2
#define TFN__ISA_NAME        "sse2"
#define TFN__ISA_ID          TFN_ISA_SSE2
#define TFN__FMA(a, b, c)    _mm_add_ps(_mm_mul_ps(a, b), c)
#define TFN__NO_FMA
#endif
#define TFN__W               4
#define TFN__V               __m128
#define TFN__LOAD(p)         _mm_loadu_ps(p)
#define TFN__STORE(p, v)     _mm_storeu_ps(p, v)
#define TFN__SET(x)          _mm_set1_ps(x)
#define TFN__SETBITS(u)      _mm_castsi128_ps(_mm_set1_epi32((int)(u)))
#define TFN__ADD(a, b)       _mm_add_ps(a, b)
#define TFN__SUB(a, b)       _mm_sub_ps(a, b)
#define TFN__MUL(a, b)       _mm_mul_ps(a, b)
#define TFN__DIV(a, b)       _mm_div_ps(a, b)
#define TFN__MIN(a, b)       _mm_min_ps(a, b)
#define TFN__MAX(a, b)       _mm_max_ps(a, b)
#define TFN__ROOT(a)         _mm_sqrt_ps(a)
#define TFN__LESS(a, b, x, y) _mm_or_ps(_mm_and_ps(_mm_cmplt_ps(a, b), x), \
                                        _mm_andnot_ps(_mm_cmplt_ps(a, b), y))
#define TFN__AND(a, b)       _mm_and_ps(a, b)
#define TFN__OR(a, b)        _mm_or_ps(a, b)
#define TFN__EXP2(t) _mm_castsi128_ps(_mm_add_epi32(                   \
    _mm_slli_epi32(_mm_castps_si128(t), 23), _mm_set1_epi32(0x3f800000)))

/* AArch64. vminq and vmaxq would return a NaN of either operand, hence the selections. */
#elif defined TFN__USE_NEON
#define TFN__N(name)         name##_neon
#define TFN__ISA_NAME        "neon"
#define TFN__ISA_ID          TFN_ISA_NEON
#define TFN__W               4
#define TFN__V               float32x4_t
#define TFN__LOAD(p)         vld1q_f32(p)
#define TFN__STORE(p, v)     vst1q_f32(p, v)
#define TFN__SET(x)          vdupq_n_f32(x)
#define TFN__SETBITS(u)      vreinterpretq_f32_u32(vdupq_n_u32(u))
#define TFN__ADD(a, b)       vaddq_f32(a, b)
#define TFN__SUB(a, b)       vsubq_f32(a, b)
#define TFN__MUL(a, b)       vmulq_f32(a, b)
#define TFN__DIV(a, b)       vdivq_f32(a, b)
#define TFN__FMA(a, b, c)    vfmaq_f32(c, a, b)
#define TFN__MIN(a, b)       vbslq_f32(vcltq_f32(a, b), a, b)
#define TFN__MAX(a, b)       vbslq_f32(vcgtq_f32(a, b), a, b)
#define TFN__ROOT(a)         vsqrtq_f32(a)
#define TFN__LESS(a, b, x, y) vbslq_f32(vcltq_f32(a, b), x, y)
#define TFN__BITS(a)         vreinterpretq_u32_f32(a)
#define TFN__AND(a, b)       vreinterpretq_f32_u32(vandq_u32(TFN__BITS(a), TFN__BITS(b)))
#define TFN__OR(a, b)        vreinterpretq_f32_u32(vorrq_u32(TFN__BITS(a), TFN__BITS(b)))
#define TFN__EXP2(t)         vreinterpretq_f32_u32(vaddq_u32(vshlq_n_u32(TFN__BITS(t), 23), \
                                                             vdupq_n_u32(0x3f800000)))

/* WebAssembly without relaxed SIMD, which has no FMA. */
#elif defined TFN__USE_WASM
#define TFN__N(name)         name##_wasm
#define TFN__ISA_NAME        "wasm"
#define TFN__ISA_ID          TFN_ISA_WASM
#define TFN__NO_FMA
#define TFN__W               4
#define TFN__V               v128_t
#define TFN__LOAD(p)         wasm_v128_load(p)
#define TFN__STORE(p, v)     wasm_v128_store(p, v)
#define TFN__SET(x)          wasm_f32x4_splat(x)
#define TFN__SETBITS(u)      wasm_i32x4_splat((int32_t)(u))
#define TFN__ADD(a, b)       wasm_f32x4_add(a, b)
#define TFN__SUB(a, b)       wasm_f32x4_sub(a, b)
#define TFN__MUL(a, b)       wasm_f32x4_mul(a, b)
#define TFN__DIV(a, b)       wasm_f32x4_div(a, b)
#define TFN__FMA(a, b, c)    wasm_f32x4_add(wasm_f32x4_mul(a, b), c)
#define TFN__MIN(a, b)       wasm_v128_bitselect(a, b, wasm_f32x4_lt(a, b))
#define TFN__MAX(a, b)       wasm_v128_bitselect(a, b, wasm_f32x4_gt(a, b))
#define TFN__ROOT(a)         wasm_f32x4_sqrt(a)
#define TFN__LESS(a, b, x, y) wasm_v128_bitselect(x, y, wasm_f32x4_lt(a, b))
#define TFN__AND(a, b)       wasm_v128_and(a, b)
#define TFN__OR(a, b)        wasm_v128_or(a, b)
#define TFN__EXP2(t)         wasm_i32x4_add(wasm_i32x4_shl(t, 23), wasm_i32x4_splat(0x3f800000))

/* Plain C, the twin of all the others and their reference in the tests. */
#else
#define TFN__N(name)         name##_plain
#define TFN__ISA_NAME        "plain"
#define TFN__ISA_ID          TFN_ISA_PLAIN
#define TFN__W               1
#define TFN__V               float
#define TFN__LOAD(p)         (*(p))
#define TFN__STORE(p, v)     (*(p) = (v))
#define TFN__LOADN(p, k)     TFN__N(tfn__loadn)(p, k)
#define TFN__STOREN(p, v, k) do { if ((k) > 0) *(p) = (v); } while (0)
#define TFN__SET(x)          (x)
#define TFN__SETBITS(u)      tfn__from_bits(u)
#define TFN__ADD(a, b)       ((a) + (b))
#define TFN__SUB(a, b)       ((a) - (b))
#define TFN__MUL(a, b)       ((a) * (b))
#define TFN__DIV(a, b)       ((a) / (b))
#define TFN__FMA(a, b, c)    tfn__fma(a, b, c)
#define TFN__MIN(a, b)       ((a) < (b) ? (a) : (b))
#define TFN__MAX(a, b)       ((a) > (b) ? (a) : (b))
#define TFN__ROOT(a)         TFN__SQRT(a)
#define TFN__LESS(a, b, x, y) ((a) < (b) ? (x) : (y))
#define TFN__AND(a, b)       tfn__from_bits(tfn__to_bits(a) & tfn__to_bits(b))
#define TFN__OR(a, b)        tfn__from_bits(tfn__to_bits(a) | tfn__to_bits(b))
#define TFN__EXP2(t)         tfn__from_bits((tfn__to_bits(t) << 23) + 0x3f800000u)
#endif

#if TFN__W == 1
static TFN__INLINE float TFN__N(tfn__loadn)(const float *p, ptrdiff_t k)
{
    if (k > 0) return *p;
    return 0;
}
#elif !defined TFN__LOADN      /* 128-bit sets without masked access go through a copy */
#define TFN__LOADN(p, k)     TFN__N(tfn__loadn)(p, k)
#define TFN__STOREN(p, v, k) TFN__N(tfn__storen)(p, v, k)
static TFN__APART TFN__V TFN__N(tfn__loadn)(const float *p, ptrdiff_t k)
{
    float t[TFN__W] = { 0 };
    for (ptrdiff_t i = 0; i < k; i++) t[i] = p[i];
    return TFN__LOAD(t);
}
static TFN__APART void TFN__N(tfn__storen)(float *p, TFN__V v, ptrdiff_t k)
{
    float t[TFN__W];
    TFN__STORE(t, v);
    for (ptrdiff_t i = 0; i < k; i++) p[i] = t[i];
}
#endif

/* Kernels that mostly wait for memory, and the norms, which are a small part of a step: AVX-512
 * has AVX2's, of the same bits, and its own are not compiled. */
#ifdef TFN__USE_AVX512
#define TFN__LIGHT(name) name##_avx2
#else
#define TFN__LIGHT(name) TFN__N(name)
#endif

/* For transposing 4 columns of W rows, in parts of four lanes (see tfn__transpose4 in dense):
 *
 *   QLOAD(s, p)       four floats from each of s[0] + p, s[4] + p, s[8] + p ..., in this order
 *   ZIPLO(a, b)       of each four lanes of a and b: a0 b0 a1 b1
 *   ZIPHI(a, b)       a2 b2 a3 b3 */
#if defined TFN__USE_AVX512
#define TFN__QROW(s, p, i, v) \
    _mm512_maskz_insertf32x4((__mmask16)0xffff, v, _mm_loadu_ps((s)[4*(i)] + (p)), i)
#define TFN__QLOAD(s, p)  TFN__QROW(s, p, 3, TFN__QROW(s, p, 2, TFN__QROW(s, p, 1, \
    TFN__QROW(s, p, 0, _mm512_setzero_ps()))))
#define TFN__ZIPLO(a, b)  _mm512_maskz_unpacklo_ps((__mmask16)0xffff, a, b)
#define TFN__ZIPHI(a, b)  _mm512_maskz_unpackhi_ps((__mmask16)0xffff, a, b)
#elif defined TFN__USE_AVX2
#define TFN__QLOAD(s, p)  _mm256_insertf128_ps( \
    _mm256_castps128_ps256(_mm_loadu_ps((s)[0] + (p))), _mm_loadu_ps((s)[4] + (p)), 1)
#define TFN__ZIPLO(a, b)  _mm256_unpacklo_ps(a, b)
#define TFN__ZIPHI(a, b)  _mm256_unpackhi_ps(a, b)
#elif defined TFN__X86 && TFN__W > 1
#define TFN__QLOAD(s, p)  _mm_loadu_ps((s)[0] + (p))
#define TFN__ZIPLO(a, b)  _mm_unpacklo_ps(a, b)
#define TFN__ZIPHI(a, b)  _mm_unpackhi_ps(a, b)
#elif defined TFN__USE_NEON
#define TFN__QLOAD(s, p)  vld1q_f32((s)[0] + (p))
#define TFN__ZIPLO(a, b)  vzip1q_f32(a, b)
#define TFN__ZIPHI(a, b)  vzip2q_f32(a, b)
#elif defined TFN__USE_WASM
#define TFN__QLOAD(s, p)  wasm_v128_load((s)[0] + (p))
#define TFN__ZIPLO(a, b)  wasm_i32x4_shuffle(a, b, 0, 4, 1, 5)
#define TFN__ZIPHI(a, b)  wasm_i32x4_shuffle(a, b, 2, 6, 3, 7)
#endif

/* An elementwise loop is written once, for whole vectors and for the tail:
 *
 *   TFN__EACH(i, k, n) TFN__PUT(y + i, TFN__MUL(s, TFN__GET(x + i, k)), k);
 *
 * with k the lanes that are left, W at most. The compiler makes a fast path of k == W. */
#define TFN__GET(p, k)    ((k) == TFN__W ? TFN__LOAD(p) : TFN__LOADN(p, k))
#define TFN__PUT(p, v, k) \
    do { if ((k) == TFN__W) TFN__STORE(p, v); else TFN__STOREN(p, v, k); } while (0)
#define TFN__EACH(i, k, n)                                                                     \
    for (ptrdiff_t i = 0, k; (k = tfn__min((n) - i, TFN__W)) > 0; i += TFN__W)

/* Sums have one order on all machines: term i goes to lane i mod 16, of 16 that are held in 16/W
 * vectors, and the lanes are added by a fixed tree: lane i + lane i+8, then +4, +2, +1. Missing
 * terms of the last block add +0, which changes no sum. */
#define TFN__LANES (16 / TFN__W)
static TFN__INLINE float TFN__N(tfn__tree)(const TFN__V *acc)
{
    float t[16];
    for (int i = 0; i < TFN__LANES; i++) TFN__STORE(t + i*TFN__W, acc[i]);
    for (int i = 0; i < 8; i++) t[i] += t[i + 8];
    for (int i = 0; i < 4; i++) t[i] += t[i + 4];
    return (t[0] + t[2]) + (t[1] + t[3]);
}
#endif /* TFN__BODY */
/* >> vmath */
#ifdef TFN__BODY
/* Elementary functions of a vector, sums over a row, and dropout. Coefficients are Remez's, from
 * tools/fit.py. Largest errors over all floats, measured, in ULP: exp 0.90, tanh 1.37, erf 1.12;
 * without FMA exp 1.17, tanh 1.37, erf 1.33. The double build has libm's functions.
 *
 * What decays to 0, be it an exp, a logistic function or a slope, is exactly 0 below TFN__TAIL, and
 * nothing on the way to it is denormal. exp itself has its whole range. */

/* x, but at least low and at most high. NaN stays: MIN and MAX return their second operand. */
static TFN__INLINE TFN__V TFN__N(tfn__vlimit)(TFN__V x, float low, float high)
{
    return TFN__MAX(TFN__SET(low), TFN__MIN(TFN__SET(high), x));
}

#ifdef TFN__DOUBLE
static TFN__INLINE TFN__V TFN__N(tfn__vabs)(TFN__V x)  { return fabs(x); }
static TFN__INLINE TFN__V TFN__N(tfn__vexp)(TFN__V x)  { return exp(x); }
static TFN__INLINE TFN__V TFN__N(tfn__vexp_near)(TFN__V x)
{
    return exp(TFN__N(tfn__vlimit)(x, -TFN__TAIL_LOG, TFN__TAIL_LOG));
}
static TFN__INLINE TFN__V TFN__N(tfn__vtanh)(TFN__V x) { return tanh(x); }
static TFN__INLINE TFN__V TFN__N(tfn__verf)(TFN__V x)  { return erf(x); }
#else
/* c[0] + c[1] x + ... + c[n-1] x^(n-1), by Horner's rule */
static TFN__INLINE TFN__V TFN__N(tfn__vseries)(const float *c, int n, TFN__V x)
{
    TFN__V y = TFN__SET(c[n - 1]);
    for (int i = n - 2; i >= 0; i--) y = TFN__FMA(y, x, TFN__SET(c[i]));
    return y;
}

/* 1.5 * 2^23: the floats around it are 1 apart, so adding it rounds x to an integer n, which then
 * stands in the last bits of the sum; taking it away again leaves n as a float. */
#define TFN__MAGIC TFN__SET((float)12582912)

static TFN__INLINE TFN__V TFN__N(tfn__vabs)(TFN__V x)
{
    return TFN__AND(x, TFN__SETBITS(0x7fffffffu));
}

/* exp(n ln 2 + r) = 2^n (1 + r + r^2 q(r)), |r| <= ln(2)/2: the factor of 2^n, and in *t the number
 * n + magic. ln 2 is split so that n times its first part is exact. */
static TFN__INLINE TFN__V TFN__N(tfn__vexp_part)(TFN__V x, TFN__V *t)
{
    static const float c[] = {
        1, 1, (float)0.49999994, (float)0.166665167, (float)0.0416681059, (float)0.00836914126,
        (float)0.00138367398
    };
    TFN__V n, r;
    *t = TFN__FMA(x, TFN__SET((float)1.44269504), TFN__MAGIC);
    n = TFN__SUB(*t, TFN__MAGIC);
    r = TFN__FMA(n, TFN__SET((float)-0.693145752), x);
    r = TFN__FMA(n, TFN__SET((float)-1.42860677e-6), r);
    return TFN__N(tfn__vseries)(c, 7, r);
}

/* exp(x): 2^n comes in two halves, so that neither leaves the range where the result is denormal or
 * infinite. Beyond the limits it is 0 or inf. */
static TFN__INLINE TFN__V TFN__N(tfn__vexp)(TFN__V x)
{
    TFN__V t, r = TFN__N(tfn__vexp_part)(TFN__N(tfn__vlimit)(x, (float)-104, (float)89), &t);
    const TFN__V n = TFN__SUB(t, TFN__MAGIC);
#ifdef TFN__SCALE
    return TFN__SCALE(r, n);
#else
    t = TFN__FMA(n, TFN__SET((float)0.5), TFN__MAGIC);
    r = TFN__MUL(r, TFN__EXP2(t));
    t = TFN__SUB(n, TFN__SUB(t, TFN__MAGIC));
    return TFN__MUL(r, TFN__EXP2(TFN__ADD(t, TFN__MAGIC)));
#endif
}

/* exp(x) with |x| limited to TFN__TAIL_LOG: a normal number, of the same bits where x is within. */
static TFN__INLINE TFN__V TFN__N(tfn__vexp_near)(TFN__V x)
{
    TFN__V t, r;
    x = TFN__N(tfn__vlimit)(x, -TFN__TAIL_LOG, TFN__TAIL_LOG);
    r = TFN__N(tfn__vexp_part)(x, &t);
#ifdef TFN__SCALE
    return TFN__SCALE(r, TFN__SUB(t, TFN__MAGIC));
#else
    return TFN__MUL(r, TFN__EXP2(t));
#endif
}

/* The sign of x on y, which has none. */
static TFN__INLINE TFN__V TFN__N(tfn__vsign)(TFN__V x, TFN__V y)
{
    return TFN__OR(y, TFN__AND(x, TFN__SETBITS(0x80000000u)));
}

/* tanh is odd: for a = |x| it is a + a s q(s), s = x^2, near 0, where 1 - 2/(exp(2a) + 1), which
 * is right elsewhere, would lose digits. Both are computed, and one is taken per lane. */
static TFN__INLINE TFN__V TFN__N(tfn__vtanh)(TFN__V x)
{
    static const float c[] = {
        (float)-0.333332807, (float)0.133314058, (float)-0.0537365153, (float)0.0206281673,
        (float)-0.00569229666
    };
    const TFN__V one = TFN__SET(1);
    const TFN__V a = TFN__N(tfn__vabs)(x);
    const TFN__V s = TFN__MUL(x, x);
    const TFN__V e = TFN__N(tfn__vexp_near)(TFN__ADD(a, a));
    const TFN__V inner = TFN__FMA(TFN__MUL(a, s), TFN__N(tfn__vseries)(c, 5, s), a);
    const TFN__V outer = TFN__SUB(one, TFN__DIV(TFN__SET(2), TFN__ADD(e, one)));
    return TFN__N(tfn__vsign)(x, TFN__LESS(a, TFN__SET((float)0.625), inner, outer));
}

/* erf is odd, too: a + a q(s), s = x^2, below 1; else 1 - exp(m d(m) - m), m = min(a, 4): from 4
 * on it is 1. */
static TFN__INLINE TFN__V TFN__N(tfn__verf)(TFN__V x)
{
    static const float c[] = {
        (float)0.128379166, (float)-0.37612626, (float)0.112835787, (float)-0.0268533472,
        (float)0.0051871622, (float)-0.00079978531, (float)7.80690316e-05
    };
    static const float d[] = {
        (float)-0.128480017, (float)-0.635831535, (float)-0.105116092, (float)0.0227984507,
        (float)-0.00318694627, (float)0.000210642567
    };
    const TFN__V one = TFN__SET(1);
    const TFN__V a = TFN__N(tfn__vabs)(x);
    const TFN__V s = TFN__MUL(x, x);
    const TFN__V m = TFN__MIN(TFN__SET(4), a);
    const TFN__V inner = TFN__FMA(a, TFN__N(tfn__vseries)(c, 7, s), a);
    const TFN__V t = TFN__SUB(TFN__MUL(m, TFN__N(tfn__vseries)(d, 6, m)), m);
    const TFN__V outer = TFN__SUB(one, TFN__N(tfn__vexp_near)(t));
    return TFN__N(tfn__vsign)(x, TFN__LESS(a, one, inner, outer));
}
#undef TFN__MAGIC
#endif

/* exp(x), x <= 0, or exactly 0 where that is below TFN__TAIL. */
static TFN__INLINE TFN__V TFN__N(tfn__vexp_tail)(TFN__V x)
{
    const TFN__V e = TFN__N(tfn__vexp_near)(x);
    return TFN__LESS(e, TFN__SET(TFN__TAIL), TFN__SET(0), e);
}

/* v, a multiple of the logistic function 1/(1 + e), or exactly 0 where that is below TFN__TAIL. */
static TFN__INLINE TFN__V TFN__N(tfn__vlogistic_tail)(TFN__V v, TFN__V e)
{
    return TFN__LESS(TFN__SET(1 / TFN__TAIL), e, TFN__SET(0), v);
}

/* y / (1 + exp(-x)): the logistic function of x, times y. */
static TFN__INLINE TFN__V TFN__N(tfn__vlogistic)(TFN__V y, TFN__V x)
{
    const TFN__V e = TFN__N(tfn__vexp_near)(TFN__SUB(TFN__SET(0), x));
    return TFN__N(tfn__vlogistic_tail)(TFN__DIV(y, TFN__ADD(TFN__SET(1), e)), e);
}

/* x, or exactly 0 where |x| is below the least that counts. */
static TFN__INLINE TFN__V TFN__N(tfn__vcut)(TFN__V x, float least)
{
    return TFN__LESS(TFN__N(tfn__vabs)(x), TFN__SET(least), TFN__SET(0), x);
}

/* The k lanes at y are v, or y + v: how a kernel writes a gradient, which the planner has it store
 * the first time and add the others. */
static TFN__INLINE void TFN__N(tfn__store_or_add)(float *y, TFN__V v, ptrdiff_t k, bool add)
{
    if (add) v = TFN__ADD(TFN__GET(y, k), v);
    TFN__PUT(y, v, k);
}

/* The public table's elementary functions of n numbers; y may be x. */
static void TFN__N(tfn__exp)(float *y, const float *x, ptrdiff_t n)
{
    TFN__EACH(i, k, n) TFN__PUT(y + i, TFN__N(tfn__vexp)(TFN__GET(x + i, k)), k);
}
static void TFN__N(tfn__tanh)(float *y, const float *x, ptrdiff_t n)
{
    TFN__EACH(i, k, n) TFN__PUT(y + i, TFN__N(tfn__vtanh)(TFN__GET(x + i, k)), k);
}
static void TFN__N(tfn__erf)(float *y, const float *x, ptrdiff_t n)
{
    TFN__EACH(i, k, n) TFN__PUT(y + i, TFN__N(tfn__verf)(TFN__GET(x + i, k)), k);
}

/* The loop of a sum, in blocks of 16 terms: the body sees the vector at i, its k lanes and the
 * number l of its accumulator. It is expanded twice, for whole blocks, where k is a constant, and
 * for the last one: one loop for both keeps the accumulators in memory. */
#define TFN__EACH16(l, i, k, n, ...)                                                           \
    do {                                                                                       \
        ptrdiff_t i = 0;                                                                       \
        for (const ptrdiff_t k = TFN__W; i + 16 <= (n);)                                       \
            for (int l = 0; l < TFN__LANES; l++, i += TFN__W) __VA_ARGS__                      \
        for (int l = 0; i < (n); l++, i += TFN__W) {                                           \
            const ptrdiff_t k = tfn__min((n) - i, TFN__W);                                     \
            __VA_ARGS__                                                                        \
        }                                                                                      \
    } while (0)

static TFN__INLINE void TFN__N(tfn__zero_lanes)(TFN__V *acc)
{
    for (int l = 0; l < TFN__LANES; l++) acc[l] = TFN__SET(0);
}

/* The first k lanes of v, the others +0: what an exp made of missing lanes must not be summed. */
static TFN__INLINE TFN__V TFN__N(tfn__first_lanes)(TFN__V v, ptrdiff_t k)
{
    float t[TFN__W];
    if (k == TFN__W) return v;
    TFN__STORE(t, v);
    return TFN__LOADN(t, k);
}

/* The sum of x, and of x*y, over a row. */
static TFN__APART float TFN__N(tfn__row_sum)(const float *x, ptrdiff_t n)
{
    TFN__V acc[TFN__LANES];
    TFN__N(tfn__zero_lanes)(acc);
    TFN__EACH16(l, i, k, n, { acc[l] = TFN__ADD(acc[l], TFN__GET(x + i, k)); });
    return TFN__N(tfn__tree)(acc);
}

static TFN__APART float TFN__N(tfn__row_dot)(const float *x, const float *y, ptrdiff_t n)
{
    TFN__V acc[TFN__LANES];
    TFN__N(tfn__zero_lanes)(acc);
    TFN__EACH16(l, i, k, n, {
        acc[l] = TFN__ADD(acc[l], TFN__MUL(TFN__GET(x + i, k), TFN__GET(y + i, k)));
    });
    return TFN__N(tfn__tree)(acc);
}

static TFN__INLINE float TFN__N(tfn__greater)(float a, float b)
{
    if (b > a) return b;
    return a;
}

/* The largest of 16 lanes, and of n >= 1 values. A NaN may be passed over: it is not lost, as the
 * sum of exponentials that follows each maximum is NaN. */
static TFN__INLINE float TFN__N(tfn__largest)(const TFN__V *acc)
{
    float t[16];
    for (int l = 0; l < TFN__LANES; l++) TFN__STORE(t + l*TFN__W, acc[l]);
    for (int l = 0; l < 8; l++) t[l] = TFN__N(tfn__greater)(t[l], t[l + 8]);
    for (int l = 0; l < 4; l++) t[l] = TFN__N(tfn__greater)(t[l], t[l + 4]);
    for (int l = 0; l < 2; l++) t[l] = TFN__N(tfn__greater)(t[l], t[l + 2]);
    return TFN__N(tfn__greater)(t[0], t[1]);
}

static TFN__APART float TFN__N(tfn__row_max)(const float *x, ptrdiff_t n)
{
    TFN__V acc[TFN__LANES];
    float max;
    ptrdiff_t i = 0;
    for (int l = 0; l < TFN__LANES; l++) acc[l] = TFN__SET(x[0]);
    for (; i + 16 <= n;)
        for (int l = 0; l < TFN__LANES; l++, i += TFN__W)
            acc[l] = TFN__MAX(TFN__LOAD(x + i), acc[l]);
    max = TFN__N(tfn__largest)(acc);
    for (; i < n; i++) max = TFN__N(tfn__greater)(max, x[i]);
    return max;
}

/* A softmax's numerator and denominator: y = exp(x - max), 0 below TFN__TAIL, and the sum of it,
 * which is returned; y may be x, or NULL for the sum alone. */
static TFN__APART float TFN__N(tfn__row_exp_sum)(float *y, const float *x, ptrdiff_t n, float max)
{
    const TFN__V m = TFN__SET(max);
    TFN__V acc[TFN__LANES];
    TFN__N(tfn__zero_lanes)(acc);
    TFN__EACH16(l, i, k, n, {
        const TFN__V e = TFN__N(tfn__vexp_tail)(TFN__SUB(TFN__GET(x + i, k), m));
        if (y) TFN__PUT(y + i, e, k);
        acc[l] = TFN__ADD(acc[l], TFN__N(tfn__first_lanes)(e, k));
    });
    return TFN__N(tfn__tree)(acc);
}

/* The factors of elements first .. first + count - 1, scale or 0, of which 2^20 share a draw of the
 * generator: these must not cross from one draw to the next. In a draw the index goes through a
 * 32-bit mixer of two multiplications (Wellons's lowbias32 without its last step), of which the
 * high bits decide: an element is kept if they are at least p * 2^31. */
static TFN__INLINE void TFN__N(tfn__dropout_factors)(float *factor, ptrdiff_t count, tfn_key key,
                                                     uint64_t first, int32_t least, float scale)
{
    const uint64_t draw = tfn_random_bits(key, first >> 20);
    const uint32_t low = (uint32_t)draw;
    const uint32_t high = (uint32_t)(draw >> 32);
    const uint32_t start = (uint32_t)(first & 0xfffff);
    for (ptrdiff_t i = 0; i < count; i++) {
        uint32_t h = low ^ (start + (uint32_t)i);
        h = (h ^ h >> 16) * 0x7feb352du + high;
        h = (h ^ h >> 15) * 0x846ca68bu;
        factor[i] = (int32_t)(h >> 1) >= least ? scale : 0;
    }
}

/* Dropout (Srivastava 2014): y = x/(1-p) where the mask keeps, else 0; y may be x. The mask is
 * never stored: the backward, which is this kernel on the gradient, draws it again. A dropped
 * element is 0 also where x is infinite or NaN. */
static TFN__APART void TFN__N(tfn__dropout)(float *y, const float *x, ptrdiff_t n, float p,
                                            tfn_key key, uint64_t first, bool add)
{
    const TFN__V zero = TFN__SET(0);
    int32_t least = INT32_MAX;                    /* p = 1 drops all */
    float scale = 0;
    float factor[256];
    if (p < 1) {
        least = 0;
        if (p > 0) least = (int32_t)((double)p * 2147483648.0);
        scale = 1 / (1 - p);
    }
    for (ptrdiff_t count; n > 0; n -= count, x += count, y += count, first += (uint64_t)count) {
        const ptrdiff_t same_draw = (ptrdiff_t)(0x100000 - (first & 0xfffff));
        count = tfn__min(tfn__min(n, 256), same_draw);
        TFN__N(tfn__dropout_factors)(factor, count, key, first, least, scale);
        TFN__EACH(i, k, count) {
            const TFN__V f = TFN__GET(factor + i, k);
            const TFN__V v = TFN__MUL(TFN__GET(x + i, k), f);
            TFN__N(tfn__store_or_add)(y + i, TFN__LESS(zero, f, v, zero), k, add);
        }
    }
}
#endif /* TFN__BODY */
/* >> dense */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY
/* Matrix products. All that follows computes, for i < m and j < n,
 *
 *     y = start ? start[i*start_ld + j] : 0;
 *     for (p = 0; p < k; p++) y = fma(a[i*a_row + p*a_col], b[p*b_row + j*b_col], y);
 *     c[i*c_ld + j] = y;
 *
 * and since each element is one chain in order of p, no cut of the loops below changes a bit.
 * The cut is that of Goto & van de Geijn 2008: what is read again soon stays near the processor.
 *
 *                        2W                  c's tile, MR rows by two vectors of W floats, stays in
 *                      +----+---------       registers while p runs. A step of p reads two vectors
 *               p  KC  | :: |  b             of b and MR single numbers of a, and does 2*MR vector
 *          KC   |      +----+---------       FMAs: a load is used MR times or twice.
 *      +-------+v
 *   MR |. . . .|       +----+---------       b's panel, KC steps by 2W, is read for every tile
 *      +-------+       |tile|  c             below the first one: from the first cache.
 *      |   a   | MC    +----+                a's block, MC rows by KC steps, is read for every
 *      |       |       |                     panel: from the second. b's block comes from the
 *                                            third, or from memory once.
 *
 * Packing copies a panel so that it is read from end to end: b's as rows of 2W, a's as columns of a
 * tile's height. Cache lines are used whole then, and rows that are a power of two apart do not
 * push each other out of their set. It costs a pass over the data, so it is done only where a panel
 * is read often enough: see the crossovers above tfn__matmul.
 *
 * a's block is 504 KiB, for a cache of the second level; b's packed one 1.5 MiB, for one of the
 * third, or a quarter of it for one of the second when no other rows will read it again. */
#define TFN__KC 384          /* steps of p in a block */
#define TFN__MC 336          /* rows of a in a block: a multiple of each MR */
#define TFN__NC 1024         /* columns of b in a packed block of KC steps */
#define TFN__NR 32           /* columns of the widest tile */

#if defined __OPTIMIZE_SIZE__ || defined TFNORM_DEBUG
#define TFN__UNROLL
#elif defined __clang__
#define TFN__UNROLL _Pragma("clang loop unroll(full)")
#elif defined __GNUC__
#define TFN__UNROLL _Pragma("GCC unroll 16")
#else
#define TFN__UNROLL
#endif
#if defined __GNUC__ && !defined __OPTIMIZE_SIZE__ && !defined TFNORM_DEBUG
#define TFN__FETCH(p) __builtin_prefetch(p, 0, 3)
#define TFN__FETCH_FAR(p) __builtin_prefetch(p, 0, 2)        /* to the second cache */
#else
#define TFN__FETCH(p) ((void)(p))
#define TFN__FETCH_FAR(p) ((void)(p))
#endif

/* The next part when `left` is split evenly into parts of at most `most`: 15 rows in tiles of at
 * most 14 are 8 and 7, not 14 and 1, which would leave the processor idle. */
static TFN__INLINE ptrdiff_t tfn__part(ptrdiff_t left, ptrdiff_t most)
{
    const ptrdiff_t parts = (left + most - 1) / most;
    if (parts == 0) return 0;
    return (left + parts - 1) / parts;
}

/* x + i, or NULL for an operand that is absent. */
static TFN__INLINE const float *tfn__at(const float *x, ptrdiff_t i)
{
    if (!x) return NULL;
    return x + i;
}

/* Where block (i, j) of the product p is, for the steps from q on. A chain starts from p->start in
 * its first steps, and goes on from c in the others. */
static TFN__INLINE void tfn__place_c(tfn_matmul_args *t, const tfn_matmul_args *p, ptrdiff_t i,
                                     ptrdiff_t j, ptrdiff_t q)
{
    t->c = p->c + i * p->c_ld + j;
    t->start = t->c;
    t->start_ld = p->c_ld;
    if (q == 0) {
        t->start = tfn__at(p->start, i * p->start_ld + j);
        t->start_ld = p->start_ld;
    }
}

/* Floats of work for a packed block of b, whole panels of NR columns; and for one of a, with what
 * the last vector store runs over. */
static ptrdiff_t tfn__matmul_b(ptrdiff_t n, ptrdiff_t k)
{
    n = tfn__min((n + TFN__NR - 1) / TFN__NR, TFN__KC * TFN__NC) * TFN__NR;
    return tfn__min(n * tfn__min(k, TFN__KC), TFN__KC * TFN__NC);
}

static ptrdiff_t tfn__matmul_a(ptrdiff_t m, ptrdiff_t k)
{
    return tfn__min(m, TFN__MC) * tfn__min(k, TFN__KC) + TFN__NR;
}

#ifndef TFNORM_NO_TRAINING
#define TFN__SPAN 4096       /* terms in a block of a flat sum; blocks in a block of these */

/* A flat sum whose terms come in pieces. It has the bits of the kernel `dot` of all terms side by
 * side: a term goes to the lane of its index mod 16; the sum of each block of 4,096 terms goes to
 * the next level in the same way. */
typedef struct tfn__flat_sum {
    int64_t count;           /* terms so far */
    float   lane[3][16];     /* of terms; of blocks; of blocks of blocks */
} tfn__flat_sum;

/* The sum of 16 lanes by the fixed tree; the lanes are 0 afterwards. */
static float tfn__take_lanes(float *lane)
{
    float sum;
    for (int i = 0; i < 8; i++) lane[i] += lane[i + 8];
    for (int i = 0; i < 4; i++) lane[i] += lane[i + 4];
    sum = (lane[0] + lane[2]) + (lane[1] + lane[3]);
    TFNORM_MEMSET(lane, 0, 16 * sizeof *lane);
    return sum;
}

/* The last term of a block is in: its sum becomes a term of the next level. */
static void tfn__close_blocks(tfn__flat_sum *s)
{
    const int64_t blocks = s->count / TFN__SPAN;
    s->lane[1][(blocks - 1) % 16] += tfn__take_lanes(s->lane[0]);
    if (blocks % TFN__SPAN == 0)
        s->lane[2][(blocks / TFN__SPAN - 1) % 16] += tfn__take_lanes(s->lane[1]);
}

/* Term i of a sum of products, or of a plain sum where y is NULL. */
static TFN__INLINE float tfn__term(const float *x, const float *y, ptrdiff_t i)
{
    if (y) return x[i] * y[i];
    return x[i];
}

/* lane[(at + i) % 16] += term i, in order of i: up to a multiple of 16, by 16, the rest. */
static void tfn__fill_lanes(float *lane, ptrdiff_t at, const float *x, const float *y, ptrdiff_t n)
{
    const ptrdiff_t head = tfn__min((16 - at % 16) % 16, n);
    ptrdiff_t i = 0;
    for (; i < head; i++) lane[at % 16 + i] += tfn__term(x, y, i);
    if (y)
        for (; i + 16 <= n; i += 16)
            for (int l = 0; l < 16; l++) lane[l] += x[i + l] * y[i + l];
    else
        for (; i + 16 <= n; i += 16)
            for (int l = 0; l < 16; l++) lane[l] += x[i + l];
    for (; i < n; i++) lane[(at + i) % 16] += tfn__term(x, y, i);
}

/* n more terms x[i]*y[i], or x[i] where y is NULL. */
static void tfn__flat_add(tfn__flat_sum *s, const float *x, const float *y, ptrdiff_t n)
{
    while (n > 0) {
        const ptrdiff_t at = (ptrdiff_t)(s->count % TFN__SPAN);
        const ptrdiff_t piece = tfn__min(n, TFN__SPAN - at);
        tfn__fill_lanes(s->lane[0], at, x, y, piece);
        s->count += piece;
        if (at + piece == TFN__SPAN) tfn__close_blocks(s);
        x += piece;
        y = tfn__at(y, piece);
        n -= piece;
    }
}

/* The sum of all terms, once. Blocks that are not full close here; +0 changes no other. */
static float tfn__flat_total(tfn__flat_sum *s)
{
    const int64_t blocks = s->count / TFN__SPAN;
    s->lane[1][blocks % 16] += tfn__take_lanes(s->lane[0]);
    s->lane[2][blocks / TFN__SPAN % 16] += tfn__take_lanes(s->lane[1]);
    return tfn__take_lanes(s->lane[2]);
}
#endif
#endif

#ifdef TFN__BODY
/* The tile: MR rows of two vectors. They stay in registers with the two vectors of b and one number
 * of a, so 2*MR + 3 is at most 32 (AVX-512, where 14 leaves one over; NEON, which takes 12) or 16
 * (AVX and SSE: 6). Products with fewer rows have a function for each height, in which all loops
 * over rows unroll: TFN__ROWS(X) is X(1) X(2) ... X(MR). */
#if TFN__W == 16
#define TFN__MR 14
#define TFN__ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#elif defined TFN__USE_NEON
#define TFN__MR 12
#define TFN__ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12)
#elif TFN__W > 1
#define TFN__MR 6
#define TFN__ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#else
#define TFN__MR 4
#define TFN__ROWS(X) X(1) X(2) X(3) X(4)
#endif

/* c (R, W), or c (R, 2 W) if wide, from b with unit column stride. The elements of a are broadcast
 * one by one, so a may have any strides; one pointer for four rows spares address registers. R and
 * wide are constants in each of the functions below: the loops over rows unroll, and the arrays x
 * and y, the tile's left and right half, are registers. */
static TFN__INLINE void TFN__N(tfn__tile)(const tfn_matmul_args *t, const int R, const bool wide)
{
    const ptrdiff_t k = t->k;
    const ptrdiff_t row = t->a_row;
    const ptrdiff_t col = t->a_col;
    const ptrdiff_t b_row = t->b_row;
    const ptrdiff_t second = wide ? TFN__W : 0;
    const float *a[4] = { t->a, t->a + 4*row, t->a + 8*row, t->a + 12*row };
    const float *b = t->b;
    const float *ahead = b;
    TFN__V x[TFN__MR];
    TFN__V y[TFN__MR];

    /* Rows of b that are not packed are fetched 12 steps ahead, in chains that are long enough. */
    if (k > 16 && b_row > 2*TFN__W) ahead += 12*b_row;

    TFN__UNROLL
    for (int i = 0; i < R; i++) {
        x[i] = TFN__SET(0);
        y[i] = TFN__SET(0);
        if (t->start) {
            x[i] = TFN__LOAD(t->start + i * t->start_ld);
            y[i] = TFN__LOAD(t->start + i * t->start_ld + second);
        }
    }
    for (ptrdiff_t p = 0; p < k; p++, b += b_row, ahead += b_row) {
        const TFN__V u = TFN__LOAD(b);
        const TFN__V v = TFN__LOAD(b + second);
        TFN__FETCH(ahead);
        TFN__FETCH(ahead + second);
        TFN__UNROLL
        for (int i = 0; i < R; i++) {
            const TFN__V s = TFN__SET(a[i / 4][i % 4 * row]);
            x[i] = TFN__FMA(s, u, x[i]);
            if (wide) y[i] = TFN__FMA(s, v, y[i]);
        }
        TFN__UNROLL
        for (int i = 0; i < R; i += 4) a[i / 4] += col;
    }
    TFN__UNROLL
    for (int i = 0; i < R; i++) {
        TFN__STORE(t->c + i * t->c_ld, x[i]);
        if (wide) TFN__STORE(t->c + i * t->c_ld + TFN__W, y[i]);
    }
}

#define TFN__TILE(r)                                                                           \
    static TFN__APART void TFN__N(tfn__tile##r)(const tfn_matmul_args *t)                      \
    {                                                                                          \
        if (t->n > TFN__W) TFN__N(tfn__tile)(t, r, true);                                      \
        else TFN__N(tfn__tile)(t, r, false);                                                   \
    }
TFN__ROWS(TFN__TILE)
#undef TFN__TILE

/* The tile of t->m rows. */
#define TFN__TILE(r) case r: TFN__N(tfn__tile##r)(t); break;
static void TFN__N(tfn__tile_rows)(const tfn_matmul_args *t)
{
    switch (t->m) { TFN__ROWS(TFN__TILE) default: break; }
}
#undef TFN__TILE
#undef TFN__ROWS

static TFN__INLINE void TFN__N(tfn__copy)(float *d, const float *s, ptrdiff_t n)
{
    TFN__EACH(i, lanes, n) TFN__PUT(d + i, TFN__GET(s + i, lanes), lanes);
}

/* The same at c's right edge, where the last vector is not full: on a copy of the tile, whose other
 * columns compute with what is behind b's in its panel, and are dropped. */
static void TFN__N(tfn__tile_edge)(const tfn_matmul_args *t)
{
    float edge[TFN__MR * 2*TFN__W] = { 0 };
    tfn_matmul_args s = *t;
    s.c = edge;
    s.c_ld = s.start_ld = 2*TFN__W;
    s.start = edge;
    if (t->start)
        for (ptrdiff_t i = 0; i < t->m; i++)
            TFN__N(tfn__copy)(edge + i * s.c_ld, t->start + i * t->start_ld, t->n);
    TFN__N(tfn__tile_rows)(&s);
    for (ptrdiff_t i = 0; i < t->m; i++)
        TFN__N(tfn__copy)(t->c + i * t->c_ld, edge + i * s.c_ld, t->n);
}

#ifdef TFN__ZIPLO
/* Four columns of W rows become four vectors. q[r] = QLOAD(row + r, p) holds four columns of each
 * fourth row, and v[i] is column p + i of all of them; in each part of four lanes, with rows
 * r0 .. r3:
 *
 *     q[0] = r0 at p, p+1, p+2, p+3        v[0] = r0 r1 r2 r3 at p
 *     q[1] = r1 ...                        v[1] = r0 r1 r2 r3 at p+1 ... */
static TFN__INLINE void TFN__N(tfn__transpose4)(TFN__V *v, const TFN__V *q)
{
    const TFN__V even_low = TFN__ZIPLO(q[0], q[2]);           /* r0 r2 r0 r2 at p, p+1 */
    const TFN__V even_high = TFN__ZIPHI(q[0], q[2]);          /* the same at p+2, p+3 */
    const TFN__V odd_low = TFN__ZIPLO(q[1], q[3]);
    const TFN__V odd_high = TFN__ZIPHI(q[1], q[3]);
    v[0] = TFN__ZIPLO(even_low, odd_low);
    v[1] = TFN__ZIPHI(even_low, odd_low);
    v[2] = TFN__ZIPLO(even_high, odd_high);
    v[3] = TFN__ZIPHI(even_high, odd_high);
}

/* Pointers to W rows, `lane` apart, from row j on; the last of `count` stands for those that are
 * missing. */
static TFN__INLINE void TFN__N(tfn__row_pointers)(const float **row, const float *s,
                                                  ptrdiff_t lane, ptrdiff_t j, ptrdiff_t count)
{
    for (int i = 0; i < TFN__W; i++) row[i] = s + tfn__min(j + i, count - 1) * lane;
}

/* tfn__pack for sources that are contiguous in k, four steps at a time; returns the steps of k
 * done. A last group of lanes may run over into the next row of d, which is written after it: hence
 * right to left. 64 steps on end are what a source gives before the next one, so that sources 4 KiB
 * apart, which share a few cache sets, do not push each other out; the 64 that follow are fetched,
 * a line of 16 floats at each fourth of four steps. */
static TFN__NOINLINE ptrdiff_t TFN__N(tfn__pack_transposed)(float *d, ptrdiff_t width,
                                                            const float *s, ptrdiff_t lane,
                                                            ptrdiff_t count, ptrdiff_t k)
{
    const ptrdiff_t done = k / 4 * 4;
    for (ptrdiff_t q = 0; q < done; q += 64) {
        const ptrdiff_t end = tfn__min(q + 64, done);
        for (ptrdiff_t j = (width - 1) / TFN__W * TFN__W; j >= 0; j -= TFN__W) {
            const float *row[TFN__W];
            TFN__N(tfn__row_pointers)(row, s, lane, j, count);
            for (ptrdiff_t p = q; p < end; p += 4) {
                TFN__V v[4];
                TFN__V f[4];
                for (int i = 0; i < 4; i++) f[i] = TFN__QLOAD(row + i, p);
                TFN__N(tfn__transpose4)(v, f);
                for (int i = 0; i < 4; i++) TFN__STORE(d + (p + i) * width + j, v[i]);
                for (int i = 0; i < TFN__W / 4; i++)
                    TFN__FETCH(row[p % 16 / 4 * (TFN__W / 4) + i] + p / 16 * 16 + 64);
            }
        }
    }
    return done;
}

#define TFN__FEW 8           /* rows of c: with no more, a transposed b is not worth packing */

/* W columns of up to R rows of c, from W rows of a transposed b: b[l] points to the k numbers of
 * column l. W by W of them at a time are transposed in registers and used for all rows. Rows from
 * t->m on do what the last one does, and are not stored. */
static TFN__INLINE void TFN__N(tfn__transposed_rows)(const tfn_matmul_args *t,
                                                     const float *const *b, const int R)
{
    TFN__V x[TFN__FEW];
    TFN__V v[4];
    TFN__V q[TFN__W / 4][4];
    float last[TFN__W];
    const float *a[TFN__FEW];
    ptrdiff_t p = 0;
    TFN__UNROLL
    for (int r = 0; r < R; r++) {
        a[r] = t->a + tfn__min(r, t->m - 1) * t->a_row;
        x[r] = TFN__SET(0);
        if (t->start && r < t->m) x[r] = TFN__GET(t->start + r * t->start_ld, t->n);
    }
    for (; p + TFN__W <= t->k; p += TFN__W) {                /* W steps of a source on end */
        TFN__UNROLL
        for (int s = 0; s < 4; s++) {
            TFN__UNROLL
            for (int i = 0; i < TFN__W / 4; i++) q[i][s] = TFN__QLOAD(b + s, p + 4*i);
        }
        for (int l = 0; l < TFN__W; l++)                      /* the next W rows of b */
            TFN__FETCH_FAR(b[l] + TFN__W * t->b_col + p);
        TFN__UNROLL
        for (int i = 0; i < TFN__W; i++) {
            if (i % 4 == 0) TFN__N(tfn__transpose4)(v, q[i / 4]);
            TFN__UNROLL
            for (int r = 0; r < R; r++)
                x[r] = TFN__FMA(TFN__SET(a[r][(p + i) * t->a_col]), v[i % 4], x[r]);
        }
    }
    for (; p < t->k; p++) {
        for (int l = 0; l < TFN__W; l++) last[l] = b[l][p];
        TFN__UNROLL
        for (int r = 0; r < R; r++)
            x[r] = TFN__FMA(TFN__SET(a[r][p * t->a_col]), TFN__LOAD(last), x[r]);
    }
    TFN__UNROLL
    for (int r = 0; r < R; r++)
        if (r < t->m) TFN__PUT(t->c + r * t->c_ld, x[r], t->n);
}

/* Few rows of c from a transposed b (a head tied to its embedding, one token at a time): packing b
 * would take longer than the product. */
static void TFN__N(tfn__matmul_transposed)(const tfn_matmul_args *p)
{
    tfn_matmul_args t = *p;
    for (ptrdiff_t j = 0; j < p->n; j += TFN__W) {
        const float *b[TFN__W];
        TFN__N(tfn__row_pointers)(b, p->b, p->b_col, j, p->n);
        t.n = tfn__min(p->n - j, TFN__W);
        t.c = p->c + j;
        t.start = tfn__at(p->start, j);
        if (t.m == 1) TFN__N(tfn__transposed_rows)(&t, b, 1);
        else if (t.m <= 4) TFN__N(tfn__transposed_rows)(&t, b, 4);
        else TFN__N(tfn__transposed_rows)(&t, b, TFN__FEW);
    }
}
#endif

/* tfn__pack for lanes side by side in memory: whole vectors, which may run over into the next row
 * of d, but for the last one of all. Rows are fetched 16 steps ahead. */
static TFN__INLINE void TFN__N(tfn__pack_rows)(float *d, ptrdiff_t width, const float *s,
                                               ptrdiff_t step, ptrdiff_t count, ptrdiff_t k)
{
    for (ptrdiff_t p = 0; p < k; p++)
        for (ptrdiff_t j = 0; j < width; j += TFN__W) {
            const ptrdiff_t lanes = tfn__max(tfn__min(count - j, TFN__W), 0);
            const TFN__V v = TFN__GET(s + p*step + j, lanes);
            if ((k - p) * width - j >= TFN__W) TFN__STORE(d + p*width + j, v);
            else TFN__STOREN(d + p*width + j, v, width - j);
            TFN__FETCH_FAR(s + (p + 16) * step + j);
        }
}

/* A panel: d (k, width) with d[p*width + j] = s[p*step + j*lane]. Lanes from count on hold any
 * numbers. Where lane is not 1 it may write up to a vector too far. */
static TFN__NOINLINE void TFN__N(tfn__pack)(float *d, ptrdiff_t width, const float *s,
                                            ptrdiff_t lane, ptrdiff_t step, ptrdiff_t count,
                                            ptrdiff_t k)
{
    ptrdiff_t p = 0;
    if (lane == 1) {
        TFN__N(tfn__pack_rows)(d, width, s, step, count, k);
        return;
    }
#ifdef TFN__ZIPLO
    if (step == 1) p = TFN__N(tfn__pack_transposed)(d, width, s, lane, count, k);
#endif
    for (; p < k; p++)
        for (ptrdiff_t j = 0; j < width; j++)
            d[p*width + j] = s[p*step + tfn__min(j, count - 1) * lane];
}

/* One row of c, c (1, n) = start + a (1, k) b (k, n): V vectors from column j on, over all of k. */
static TFN__INLINE void TFN__N(tfn__row_part)(const tfn_matmul_args *t, ptrdiff_t j,
                                              ptrdiff_t lanes, const int V)
{
    const float *a = t->a;
    const float *b = t->b + j;
    TFN__V x[8];
    TFN__UNROLL
    for (int v = 0; v < V; v++) {
        x[v] = TFN__SET(0);
        if (t->start) x[v] = TFN__GET(t->start + j + v * TFN__W, lanes);
    }
    for (ptrdiff_t p = 0; p < t->k; p++, a += t->a_col, b += t->b_row) {
        const TFN__V s = TFN__SET(*a);
        TFN__UNROLL
        for (int v = 0; v < V; v++) x[v] = TFN__FMA(s, TFN__GET(b + v * TFN__W, lanes), x[v]);
    }
    TFN__UNROLL
    for (int v = 0; v < V; v++) TFN__PUT(t->c + j + v * TFN__W, x[v], lanes);
}

/* All of the row: eight vectors at a time are enough chains to hide an FMA's latency. */
static void TFN__N(tfn__row)(const tfn_matmul_args *t)
{
    ptrdiff_t j = 0;
    for (; j + 8*TFN__W <= t->n; j += 8*TFN__W) TFN__N(tfn__row_part)(t, j, TFN__W, 8);
    for (; j + 4*TFN__W <= t->n; j += 4*TFN__W) TFN__N(tfn__row_part)(t, j, TFN__W, 4);
    for (; j < t->n; j += TFN__W) TFN__N(tfn__row_part)(t, j, tfn__min(t->n - j, TFN__W), 1);
}

/* Eight steps of one row, c (1, n) = start + a (1, 8) b (8, n): eight rows of b are read side by
 * side, which the processor's prefetchers can follow, and the rows 16 further on are fetched. */
static void TFN__N(tfn__stream)(const tfn_matmul_args *t)
{
    const float *b[2] = { t->b, t->b + 4 * t->b_row };
    TFN__V a[8];
    for (int p = 0; p < 8; p++) a[p] = TFN__SET(t->a[p * t->a_col]);
    TFN__EACH(j, lanes, t->n) {
        TFN__V x = TFN__SET(0);
        if (t->start) x = TFN__GET(t->start + j, lanes);
        TFN__UNROLL
        for (int p = 0; p < 8; p++) {
            const float *from = b[p / 4] + p % 4 * t->b_row + j;
            TFN__FETCH_FAR(from + 16 * t->b_row);
            x = TFN__FMA(a[p], TFN__GET(from, lanes), x);
        }
        TFN__PUT(t->c + j, x, lanes);
    }
}

/* Floats of b, 512 KiB, that may still be in a cache. */
#define TFN__CACHED 131072

/* Few rows of c, or long ones of a single step: matrix times vector, bound by reading b once. A b
 * that may be in a cache is read down its columns, while c stays in registers; a larger one in
 * eight streams (decoding from memory gained 12 to 30 %). */
static void TFN__N(tfn__matmul_rows)(const tfn_matmul_args *p)
{
    const bool cached = p->n * p->k <= TFN__CACHED;
    tfn_matmul_args t = *p;
    ptrdiff_t q = 0;
    do {
        t.k = p->k - q;
        if (!cached) t.k = tfn__min(t.k, 8);
        t.b = p->b + q * p->b_row;
        for (ptrdiff_t i = 0; i < p->m; i++) {
            tfn__place_c(&t, p, i, 0, q);
            t.a = p->a + i * p->a_row + q * p->a_col;
            if (cached || t.k < 8) TFN__N(tfn__row)(&t);
            else TFN__N(tfn__stream)(&t);
        }
        q += t.k;
    } while (q < p->k);
}
#undef TFN__CACHED

/* The part of c that is computed after tile t of s at (i, j), two lines of each row, is fetched
 * meanwhile: the tile to the right, or the first one of the next rows. */
static TFN__INLINE void TFN__N(tfn__fetch_next)(const tfn_matmul_args *s, const tfn_matmul_args *t,
                                                ptrdiff_t i, ptrdiff_t j)
{
    const float *next = t->c + t->n;
    if (j + t->n >= s->n) next = s->c + tfn__min(i + t->m, s->m - 1) * s->c_ld;
    for (ptrdiff_t r = 0; r < t->m; r++) {
        TFN__FETCH(next + r * s->c_ld);
        TFN__FETCH(next + r * s->c_ld + 16);
    }
}

/* Tiles over columns whose part of b stays in the first cache. Packed rows of a lie in panels of a
 * tile's height, columns of b in panels of a tile's width, b_col apart. */
static void TFN__N(tfn__matmul_tiles)(const tfn_matmul_args *s, bool packed)
{
    tfn_matmul_args t = *s;
    for (ptrdiff_t i = 0; i < s->m; i += t.m) {
        t.m = tfn__part(s->m - i, TFN__MR);
        t.a = s->a + i * s->a_row;
        if (packed) {
            t.a = s->a + i * s->k;
            t.a_row = 1;
            t.a_col = t.m;
        }
        t.b = s->b;
        for (ptrdiff_t j = 0; j < s->n; j += 2*TFN__W, t.b += s->b_col) {
            t.n = tfn__min(s->n - j, 2*TFN__W);
            t.c = s->c + i * s->c_ld + j;
            t.start = tfn__at(s->start, i * s->start_ld + j);
            TFN__N(tfn__fetch_next)(s, &t, i, j);
            if (t.n % TFN__W) TFN__N(tfn__tile_edge)(&t);
            else TFN__N(tfn__tile_rows)(&t);
        }
    }
}

/* A block of c by groups of panels: as many as have KC steps together, so that short chains, too,
 * fill the first cache with b before the rows of a pass by. */
static void TFN__N(tfn__matmul_block)(const tfn_matmul_args *p, bool packed)
{
    const ptrdiff_t panels = tfn__max(TFN__KC / tfn__max(p->k, 1), 1);
    tfn_matmul_args s = *p;
    for (ptrdiff_t j = 0; j < p->n; j += s.n) {
        s.n = tfn__min(p->n - j, panels * 2*TFN__W);
        s.b = p->b + j / (2*TFN__W) * p->b_col;
        s.c = p->c + j;
        s.start = tfn__at(p->start, j);
        TFN__N(tfn__matmul_tiles)(&s, packed);
    }
}

/* Panels of a's rows, shared out evenly, or of b's columns. Where these lie side by side in memory,
 * all panels get their next 16 steps in turn, so that memory is read in long pieces. */
static void TFN__N(tfn__pack_panels)(float *work, const float *s, ptrdiff_t lane, ptrdiff_t step,
                                     ptrdiff_t count, ptrdiff_t k, const bool of_a)
{
    ptrdiff_t steps = tfn__max(k, 1);
    if (lane == 1) steps = 16;
    for (ptrdiff_t q = 0; q < k; q += steps)
        for (ptrdiff_t j = 0, width; j < count; j += width) {
            width = 2*TFN__W;
            if (of_a) width = tfn__part(count - j, TFN__MR);
            TFN__N(tfn__pack)(work + j*k + q*width, width, s + j*lane + q*step, lane, step,
                              tfn__min(count - j, width), tfn__min(k - q, steps));
        }
}

/* b's block, packed into work, in place of b. */
static void TFN__N(tfn__pack_b)(tfn_matmul_args *s, float *work)
{
    TFN__N(tfn__pack_panels)(work, s->b, s->b_col, s->b_row, s->n, s->k, false);
    s->b = work;
    s->b_row = 2*TFN__W;
    s->b_col = 2*TFN__W * s->k;
}

/* Columns of a block: panels that fill the buffer for b, a quarter of it if all rows of a are one
 * block and none will read b's again. Where b is not packed, all that are whole panels already; the
 * rest then makes a block of its own. */
static ptrdiff_t TFN__N(tfn__block_cols)(const tfn_matmul_args *s, ptrdiff_t n, bool pack_b)
{
    const ptrdiff_t whole = n / (2*TFN__W) * (2*TFN__W);
    ptrdiff_t floats = TFN__KC * TFN__NC;
    if (!pack_b && whole > 0) return whole;
    if (s->m <= TFN__MC) floats /= 4;
    return tfn__min(n, floats / tfn__max(s->k, 1) / (2*TFN__W) * (2*TFN__W));
}

/* The crossovers between ways to compute a product, measured on x86 with AVX2 and AVX-512. */
#define TFN__VECTOR_ROWS    2          /* rows of c that are computed one by one */
#define TFN__OUTER_COLS     256        /* with one step, k = 1, columns from which rows are, too */
#define TFN__PACK_A_APART   96         /* columns of c to pack a for, its steps apart in memory */
#define TFN__PACK_A_COLS    128        /* the same if they are side by side, ... */
#define TFN__PACK_A_STEPS   128        /* ... and steps */
#define TFN__OFTEN          20         /* tiles one below the other that read a panel of b: often */
#define TFN__OFTEN_CROWDED  2          /* the same where its rows share few sets of the cache */
#define TFN__PACK_B_OFTEN   24576      /* floats of b, 96 KiB, to pack if it is read often */
#define TFN__PACK_B_ONCE    4194304    /* the same if it is not: 16 MiB, to read in long pieces */

/* Packing a pays where each of its panels passes many columns. */
static bool TFN__N(tfn__packs_a)(const tfn_matmul_args *p)
{
    if (p->a_col != 1) return p->n > TFN__PACK_A_APART;
    return p->n > TFN__PACK_A_COLS && p->k > TFN__PACK_A_STEPS;
}

/* Packing b pays where many tiles read each of its panels: fewer if rows 2 KiB apart would crowd
 * into few sets of the cache, of which narrow vectors use no more than a line. A transposed b must
 * be packed, as tiles read vectors. */
static bool TFN__N(tfn__packs_b)(const tfn_matmul_args *p)
{
    const bool crowded = 2*TFN__W <= 16 && p->b_row % 512 == 0;
    ptrdiff_t often = TFN__OFTEN;
    if (p->b_col != 1) return true;
    if (crowded) often = TFN__OFTEN_CROWDED;
    if (p->m > often * TFN__MR) return p->n * p->k > TFN__PACK_B_OFTEN;
    return p->n * p->k > TFN__PACK_B_ONCE;
}

/* One block of b, s, from column j and step q on: all rows of a pass by it, MC at a time. The
 * buffer for a's panels holds MC rows: of more, they are packed again for each block of b. */
static void TFN__N(tfn__matmul_rows_of)(const tfn_matmul_args *p, const tfn_matmul_args *s,
                                        ptrdiff_t j, ptrdiff_t q, float *packed_a)
{
    tfn_matmul_args t = *s;
    for (ptrdiff_t i = 0; i < p->m; i += t.m) {
        t.m = tfn__part(p->m - i, TFN__MC);
        t.a = p->a + i * p->a_row + q * p->a_col;
        tfn__place_c(&t, p, i, j, q);
        if (packed_a) {
            if (j == 0 || p->m > TFN__MC)
                TFN__N(tfn__pack_panels)(packed_a, t.a, t.a_row, t.a_col, t.m, t.k, true);
            t.a = packed_a;
        }
        TFN__N(tfn__matmul_block)(&t, packed_a != NULL);
    }
}

/* The general product: blocks of KC steps, in them blocks of b's columns. k may be 0, and then c
 * is start. */
static void TFN__N(tfn__matmul_blocks)(const tfn_matmul_args *p, float *work)
{
    const bool pack_b = TFN__N(tfn__packs_b)(p);
    float *packed_a = NULL;
    tfn_matmul_args s = *p;
    ptrdiff_t q = 0;
    if (TFN__N(tfn__packs_a)(p)) packed_a = work + tfn__matmul_b(p->n, p->k);
    do {
        s.k = tfn__part(p->k - q, TFN__KC);
        for (ptrdiff_t j = 0; j < p->n; j += s.n) {
            s.n = TFN__N(tfn__block_cols)(&s, p->n - j, pack_b);
            s.b = p->b + j * p->b_col + q * p->b_row;
            s.b_row = p->b_row;
            s.b_col = p->b_col;
            if (pack_b || s.n < 2*TFN__W) TFN__N(tfn__pack_b)(&s, work);
            else s.b_col = 2*TFN__W;
            TFN__N(tfn__matmul_rows_of)(p, &s, j, q, packed_a);
        }
        q += s.k;
    } while (q < p->k);
}

/* Choose a way by the shape; all have the same bits. */
static void TFN__N(tfn__matmul)(const tfn_matmul_args *p, float *work)
{
    const bool one_step = p->k == 1 && p->n > TFN__OUTER_COLS;
    if (p->m <= 0 || p->n <= 0) return;
    if (p->b_col == 1 && (p->m <= TFN__VECTOR_ROWS || one_step)) {
        TFN__N(tfn__matmul_rows)(p);
        return;
    }
#ifdef TFN__ZIPLO
    if (p->b_row == 1 && p->m <= TFN__FEW) {
        TFN__LIGHT(tfn__matmul_transposed)(p);
        return;
    }
#endif
    TFN__N(tfn__matmul_blocks)(p, work);
}
#undef TFN__VECTOR_ROWS
#undef TFN__OUTER_COLS
#undef TFN__PACK_A_APART
#undef TFN__PACK_A_COLS
#undef TFN__PACK_A_STEPS
#undef TFN__OFTEN
#undef TFN__OFTEN_CROWDED
#undef TFN__PACK_B_OFTEN
#undef TFN__PACK_B_ONCE

/* Floats of work that a product may want, of any strides and any instruction set. */
static ptrdiff_t TFN__N(tfn__matmul_work)(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k)
{
    return tfn__matmul_b(n, k) + tfn__matmul_a(m, k);
}

/* dbias (cols) = the sum of dy's rows, added to dbias or not: the product of a row of ones with dy,
 * as 1*x + sum is rounded like x + sum. */
static void TFN__N(tfn__column_sum)(float *dbias, const float *dy, ptrdiff_t rows, ptrdiff_t cols,
                                    ptrdiff_t ld, bool add)
{
    const float one = 1;
    tfn_matmul_args p;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.c = dbias;
    if (add) p.start = dbias;
    p.a = &one;                              /* of strides 0: each element of a is the same one */
    p.b = dy;
    p.m = 1;
    p.n = cols;
    p.k = rows;
    p.b_row = ld;
    p.b_col = 1;
    TFN__N(tfn__matmul_rows)(&p);
}

/* Sixteen terms from i on, or what is left of them, to their lanes. */
static TFN__INLINE void TFN__N(tfn__dot_lanes)(TFN__V *acc, const float *x, const float *y,
                                               ptrdiff_t i, ptrdiff_t left)
{
    for (int l = 0; l < TFN__LANES; l++, i += TFN__W, left -= TFN__W) {
        const ptrdiff_t lanes = tfn__min(tfn__max(left, 0), TFN__W);
        TFN__V v = TFN__GET(x + i, lanes);
        if (y) v = TFN__MUL(v, TFN__GET(y + i, lanes));
        acc[l] = TFN__ADD(acc[l], v);
    }
}

/* The sum of x[i]*y[i], or of x where y is NULL, over a whole tensor: up to 4,096 terms in 16
 * lanes; of more, the sums of blocks of 4,096, or of 4,096^2, are the terms. So no chain of
 * additions is longer than 256, and the rounding errors of a long sum stay small. */
static float TFN__N(tfn__dot)(const float *x, const float *y, ptrdiff_t n)
{
    const ptrdiff_t block = 4096;
    TFN__V acc[TFN__LANES];
    float lane[16] = { 0 };
    ptrdiff_t span = block;
    ptrdiff_t i = 0;
    if (n > block) {
        while (span * block < n) span *= block;
        for (; i < n; i += span)
            lane[i / span % 16] += TFN__N(tfn__dot)(x + i, tfn__at(y, i), tfn__min(n - i, span));
    }
    for (int l = 0; l < TFN__LANES; l++) acc[l] = TFN__LOAD(lane + l*TFN__W);
    for (; i + 16 <= n; i += 16) TFN__N(tfn__dot_lanes)(acc, x, y, i, 16);
    if (i < n) TFN__N(tfn__dot_lanes)(acc, x, y, i, n - i);
    return TFN__N(tfn__tree)(acc);
}

/* y = a*x + b*z, or y += that; z NULL: a*x. */
static void TFN__N(tfn__combine)(float *y, const float *x, const float *z, ptrdiff_t n, float a,
                                 float b, bool add)
{
    const TFN__V va = TFN__SET(a);
    const TFN__V vb = TFN__SET(b);
    TFN__EACH(i, lanes, n) {
        TFN__V v = TFN__MUL(va, TFN__GET(x + i, lanes));
        if (z) v = TFN__ADD(v, TFN__MUL(vb, TFN__GET(z + i, lanes)));
        if (add) v = TFN__ADD(TFN__GET(y + i, lanes), v);
        TFN__PUT(y + i, v, lanes);
    }
}
#undef TFN__MR
#undef TFN__FEW
#endif /* TFN__BODY */
/* >> norms */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY
/* Norms of rows are kernels, with a copy per instruction set: see the second half of this section,
 * and `reference` for LayerNorm, RMSNorm and softmax in plain lines. The first half has what few
 * models use, once for all instruction sets: norms of single values (DyT and its siblings),
 * SeeDNorm, and norms of columns over a batch (BatchNorm, PowerNorm). */

/* How the gain enters y = gain * n: as it is, as 1 + gain (Gemma), or as AdaNorm's C (1 - k n). */
enum { TFN__GAIN_AS_IS, TFN__GAIN_OFFSET, TFN__GAIN_ADA };
/* What the backward takes away from g besides n*b: nothing, mean(g), or CRMSNorm's b*sum(n). */
enum { TFN__SHIFT_NONE, TFN__SHIFT_MEAN, TFN__SHIFT_SUM };

/* A build without training, which has LayerNorm and RMSNorm only, is spared groups and parts. */
static ptrdiff_t tfn__norm_groups(const tfn_norm_args *p)
{
    if (!TFN__ALL) return 1;
    return tfn__max(p->groups, 1);
}

/* How many of a group's n features the statistics are of: fewer in pRMSNorm (Zhang & Sennrich
 * 2019). */
static ptrdiff_t tfn__norm_count(const tfn_norm_args *p, ptrdiff_t n)
{
    const bool rms = p->kind == TFN_NORM_RMS || p->kind == TFN_NORM_RMS_OUTSIDE;
    if (TFN__ALL && rms && p->part > 0) return tfn__min(p->part, n);
    return n;
}

/* Kinds that take the mean away; the others leave it in. */
static bool tfn__norm_centered(const tfn_norm_args *p)
{
    return p->kind == TFN_NORM_LAYER || p->kind == TFN_NORM_CENTER || p->kind == TFN_NORM_ADA
           || p->kind == TFN_NORM_ABSMAX;
}

#ifndef TFNORM_NO_TRAINING
/* One group of one row in the backward. Statistics are of its first `count` features. */
typedef struct tfn__norm_group {
    const float *x;
    const float *dy;
    const float *gain;                   /* or NULL */
    float       *dx;
    ptrdiff_t    n;
    ptrdiff_t    count;
    float        mean;
    float        rstd;
} tfn__norm_group;

/* Which of the forms above this norm has. A mean that counts as a constant (detach_mean, Xu et al.
 * 2019) sends nothing back. */
static int tfn__gain_form(const tfn_norm_args *p)
{
    if (p->kind == TFN_NORM_ADA) return TFN__GAIN_ADA;
    if (p->offset) return TFN__GAIN_OFFSET;
    return TFN__GAIN_AS_IS;
}

static int tfn__shift_form(const tfn_norm_args *p)
{
    if (p->kind == TFN_NORM_CRMS) return TFN__SHIFT_SUM;
    if (tfn__norm_centered(p) && !p->detach_mean) return TFN__SHIFT_MEAN;
    return TFN__SHIFT_NONE;
}

/* The features that rstd is not of only scale by it: dx = rstd * g. */
static void tfn__norm_rest(const tfn_norm_args *p, const tfn__norm_group *row)
{
    const float unit = p->offset ? (float)1 : (float)0;
    for (ptrdiff_t c = row->count; c < row->n; c++) {
        float g = row->dy[c];
        if (row->gain) g = g * (unit + row->gain[c]);
        g = row->rstd * g;
        if (p->add) g = row->dx[c] + g;
        row->dx[c] = g;
    }
}
#endif

#ifdef TFN__EXTRA_NORMS
/* -- norms that few models have ---------------------------------------------------------------
 * Once for all instruction sets: plain C from + - * / and square roots, which give the same bits
 * everywhere. tanh, erf, exp and the sums of whole rows are the kernels'. */

/* Values or columns that go together: a multiple of 16, so that a block begins in lane 0. */
#define TFN__BLOCK 64

/* Gradients of parameters are chains over the rows: they start from 0, or from what is there. */
static void tfn__start_chains(float *dx, ptrdiff_t n, bool add)
{
    if (!dx || add) return;
    for (ptrdiff_t i = 0; i < n; i++) dx[i] = 0;
}

/* Element c of a gain or a bias that may be absent; so may alpha and shift of DyT. */
static float tfn__gain_or_1(const float *gain, ptrdiff_t c)
{
    if (!gain) return 1;
    return gain[c];
}
static float tfn__bias_or_0(const float *bias, ptrdiff_t c)
{
    if (!bias) return 0;
    return bias[c];
}

/* -- norms of single values: y = gain * f(alpha*x + shift) + bias -- */

/* x, brought to at most `most` from 0; NaN stays. */
static float tfn__clip(float x, float most)
{
    if (x > most) return most;
    if (x < -most) return -most;
    return x;
}

/* atan(x) = -atan(-x) = pi/2 - atan(1/x) = pi/6 + atan((x sqrt 3 - 1)/(x + sqrt 3)): the first two
 * bring x into 0..1, the third to at most tan(pi/12) from 0, where 15 terms of the series
 * x - x^3/3 + x^5/5 - ... are enough. */
static double tfn__atan(double x)
{
    static const double pi = 3.14159265358979323846;
    static const double root3 = 1.73205080756887729353;
    static const double tan15 = 0.26794919243112270647;
    double offset = 0;
    double sum = 0;
    if (x < 0) return -tfn__atan(-x);
    if (x > 1) return pi/2 - tfn__atan(1/x);
    if (x > tan15) {
        offset = pi/6;
        x = (x*root3 - 1) / (x + root3);
    }
    for (int k = 29; k > 0; k -= 2) sum = 1.0/k - x*x*sum;
    return x*sum + offset;
}

/* f(z) of the squashes that no kernel computes, and f'(z) in *derivative. Each is odd, rises with
 * slope 1 or 2/pi at 0 and levels off at +-1. Behind the name: f; f'. */
static float tfn__squash(tfn_squash_kind which, float z, float *derivative)
{
    static const double pi = 3.14159265358979323846;
    const float a = z < 0 ? -z : z;
    float v;
    switch (which) {
    case TFN_SQUASH_ISRU:                           /* z/sqrt(z^2 + 1); (z^2 + 1)^(-3/2) */
        v = tfn__clip(z, (float)1e9);               /* its square must stay finite */
        v = 1 / TFN__SQRT(v*v + 1);
        *derivative = v*v*v;
        return tfn__clip(z*v, 1);                   /* beyond 1e9 it exceeds 1 */
    case TFN_SQUASH_EXP:                            /* sign(z) (1 - exp(-|z|)); exp(-|z|) */
        v = tfn__clip(a, TFN__TAIL_LOG);            /* beyond, f is +-1 */
        v = (float)tfn__exp(-(double)v);
        *derivative = v;
        if (z < 0) return v - 1;
        return 1 - v;
    case TFN_SQUASH_ATAN:                           /* 2/pi atan z; 2/pi / (1 + z^2) */
        *derivative = (float)(2/pi) / (1 + z*z);
        return (float)(2/pi * tfn__atan((double)z));
    case TFN_SQUASH_SIN:                            /* sin z, and cos z, up to a quarter turn */
        *derivative = 0;
        if ((double)a < pi/2) *derivative = (float)tfn__cos((double)z);
        if ((double)a > pi/2) return tfn__clip(z, 1);
        return (float)tfn__sin((double)z);
    default:                                        /* softsign: z/(1 + |z|); 1/(1 + |z|)^2 */
        v = 1 / (1 + a);
        *derivative = v*v;
        return z / (1 + a);
    }
}

/* erf'(z) = 2/sqrt(pi) exp(-z^2). The exponent stops at -42, below which the result counts as 0
 * anyway: an exp further down could be denormal. */
static void tfn__erf_derivative(const tfn_kernels *k, float *derivative, const float *z,
                                ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        derivative[i] = -(z[i]*z[i]);
        if (derivative[i] < -TFN__TAIL_LOG) derivative[i] = -TFN__TAIL_LOG;
    }
    k->exp(derivative, derivative, n);
    for (ptrdiff_t i = 0; i < n; i++) derivative[i] *= (float)1.1283791670955126;
}

/* Of z = alpha*x + shift, for n <= TFN__BLOCK values from x[at] on, in columns from c on: f(z), and
 * unless g is NULL the gradient g = dy*gain*f'(z), where an f'(z) below TFN__TAIL counts as 0.
 * tanh' = 1 - tanh^2. */
static void tfn__point_block(const tfn_kernels *k, const tfn_point_args *p, ptrdiff_t at,
                             ptrdiff_t c, ptrdiff_t n, float *f, float *g)
{
    const float alpha = tfn__gain_or_1(p->alpha, 0);
    const float shift = tfn__bias_or_0(p->shift, 0);
    float derivative[TFN__BLOCK];
    derivative[0] = 0;          /* gcc 12 -O1 warns: it does not see that n > 0 */
    for (ptrdiff_t i = 0; i < n; i++) f[i] = alpha * p->x[at + i] + shift;
    if (p->squash == TFN_SQUASH_TANH) {
        k->tanh(f, f, n);
        for (ptrdiff_t i = 0; i < n; i++) derivative[i] = 1 - f[i]*f[i];
    } else if (p->squash == TFN_SQUASH_ERF) {
        if (g) tfn__erf_derivative(k, derivative, f, n);
        k->erf(f, f, n);
    } else {
        for (ptrdiff_t i = 0; i < n; i++) f[i] = tfn__squash(p->squash, f[i], &derivative[i]);
    }

    if (!g) return;
    for (ptrdiff_t i = 0; i < n; i++) {
        if (derivative[i] < TFN__TAIL) derivative[i] = 0;
        g[i] = p->dy[at + i] * tfn__gain_or_1(p->gain, c + i) * derivative[i];
    }
}

/* y = gain * f(alpha*x + shift) + bias: DyT with tanh (Zhu et al. 2025), Derf with erf
 * (Chen et al. 2025). */
TFNORM_API void tfn_point_forward(const tfn_kernels *k, const tfn_point_args *p)
{
    float f[TFN__BLOCK];
    for (ptrdiff_t r = 0; r < p->rows; r++)
        for (ptrdiff_t c = 0; c < p->cols; c += TFN__BLOCK) {
            const ptrdiff_t n = tfn__min(p->cols - c, TFN__BLOCK);
            float *y = p->y + r*p->cols + c;
            tfn__point_block(k, p, r*p->cols + c, c, n, f, NULL);
            for (ptrdiff_t i = 0; i < n; i++)
                y[i] = tfn__gain_or_1(p->gain, c + i) * f[i] + tfn__bias_or_0(p->bias, c + i);
        }
}

#ifndef TFNORM_NO_TRAINING
/* With g = dy*gain*f'(z): dx = alpha*g. f(z) is computed again: the forward saves nothing. */
TFNORM_API void tfn_point_backward(const tfn_kernels *k, const tfn_point_args *p)
{
    const float alpha = tfn__gain_or_1(p->alpha, 0);
    float f[TFN__BLOCK];
    float g[TFN__BLOCK];
    for (ptrdiff_t r = 0; r < p->rows; r++)
        for (ptrdiff_t c = 0; c < p->cols; c += TFN__BLOCK) {
            const ptrdiff_t n = tfn__min(p->cols - c, TFN__BLOCK);
            float *dx = p->dx + r*p->cols + c;
            tfn__point_block(k, p, r*p->cols + c, c, n, f, g);
            tfn__start_chains(dx, n, p->add);
            for (ptrdiff_t i = 0; i < n; i++) dx[i] += alpha * g[i];
        }
}

/* dalpha = sum(g*x), dshift = sum(g): rows by lanes, then a chain over them; dgain = sum(dy*f) and
 * dbias = sum(dy) over the rows. */
TFNORM_API void tfn_point_params_backward(const tfn_kernels *k, const tfn_point_args *p)
{
    float f[TFN__BLOCK];
    float g[TFN__BLOCK];
    tfn__start_chains(p->dgain, p->cols, p->add_gain);
    tfn__start_chains(p->dbias, p->cols, p->add_bias);
    tfn__start_chains(p->dalpha, 1, p->add_alpha);
    tfn__start_chains(p->dshift, 1, p->add_shift);
    for (ptrdiff_t r = 0; r < p->rows; r++) {
        float sum_gx[16] = { 0 };                   /* of this row; a block begins in lane 0 */
        float sum_g[16] = { 0 };
        for (ptrdiff_t c = 0; c < p->cols; c += TFN__BLOCK) {
            const ptrdiff_t at = r*p->cols + c;
            const ptrdiff_t n = tfn__min(p->cols - c, TFN__BLOCK);
            tfn__point_block(k, p, at, c, n, f, g);
            for (ptrdiff_t i = 0; i < n; i++) {
                sum_gx[i % 16] += g[i] * p->x[at + i];
                sum_g[i % 16] += g[i];
                if (p->dgain) p->dgain[c + i] += p->dy[at + i] * f[i];
                if (p->dbias) p->dbias[c + i] += p->dy[at + i];
            }
        }
        if (p->dalpha) *p->dalpha += tfn__take_lanes(sum_gx);
        if (p->dshift) *p->dshift += tfn__take_lanes(sum_g);
    }
}
#endif

/* -- SeeDNorm: y = (t*alpha + gain) * n, t = tanh(z), z = x . direction, n = x*rstd -- */

/* Cai et al. 2025: RMSNorm with a gain that depends on the row, by a number t in (-1, 1) that says
 * how far the row points in a learned direction. t and rstd are kept. */
TFNORM_API void tfn_seed_forward(const tfn_kernels *k, const tfn_seed_args *p)
{
    const ptrdiff_t cols = p->cols;
    if (cols <= 0) return;
    for (ptrdiff_t r = 0; r < p->rows; r++) {
        const float *x = p->x + r*cols;
        const float rstd = 1 / TFN__SQRT(k->dot(x, x, cols) / (float)cols + p->eps);
        float t = k->dot(x, p->direction, cols);
        k->tanh(&t, &t, 1);
        for (ptrdiff_t c = 0; c < cols; c++)
            p->y[r*cols + c] = (t * p->alpha[c] + p->gain[c]) * (x[c] * rstd);
        if (p->stats) {
            p->stats[2*r] = t;
            p->stats[2*r + 1] = rstd;
        }
    }
}

#ifndef TFNORM_NO_TRAINING
/* Of row r, with g = (t*alpha + gain)*dy: the mean of g*n, and dz = (1 - t^2) sum(dy*alpha*n). */
static void tfn__seed_sums(const tfn_seed_args *p, ptrdiff_t r, float *mean, float *dz)
{
    const float *x = p->x + r*p->cols;
    const float *dy = p->dy + r*p->cols;
    const float t = p->stats[2*r];
    const float rstd = p->stats[2*r + 1];
    float sum_gn[16] = { 0 };
    float sum_an[16] = { 0 };
    for (ptrdiff_t c = 0; c < p->cols; c++) {
        const float d = dy[c] * (x[c] * rstd);
        sum_gn[c % 16] += (t * p->alpha[c] + p->gain[c]) * d;
        sum_an[c % 16] += p->alpha[c] * d;
    }
    *mean = tfn__take_lanes(sum_gn) / (float)p->cols;
    *dz = (1 - t) * (1 + t) * tfn__take_lanes(sum_an);
}

/* dx = rstd * (g - n*mean(g*n)) + dz*direction: RMSNorm's, and what comes by way of z. */
TFNORM_API void tfn_seed_backward(const tfn_seed_args *p)
{
    if (p->cols <= 0) return;
    for (ptrdiff_t r = 0; r < p->rows; r++) {
        const float *x = p->x + r*p->cols;
        const float *dy = p->dy + r*p->cols;
        const float t = p->stats[2*r];
        const float rstd = p->stats[2*r + 1];
        float *dx = p->dx + r*p->cols;
        float mean;
        float dz;
        tfn__seed_sums(p, r, &mean, &dz);
        for (ptrdiff_t c = 0; c < p->cols; c++) {
            const float g = (t * p->alpha[c] + p->gain[c]) * dy[c];
            float d = rstd * (g - x[c]*rstd * mean) + dz * p->direction[c];
            if (p->add) d = dx[c] + d;
            dx[c] = d;
        }
    }
}

/* dgain = sum(dy*n), dalpha = sum(t*dy*n), ddirection = sum(dz*x), chains over the rows. */
TFNORM_API void tfn_seed_params_backward(const tfn_seed_args *p)
{
    tfn__start_chains(p->dgain, p->cols, p->add_gain);
    tfn__start_chains(p->dalpha, p->cols, p->add_alpha);
    tfn__start_chains(p->ddirection, p->cols, p->add_direction);
    for (ptrdiff_t r = 0; r < p->rows; r++) {
        const float *x = p->x + r*p->cols;
        const float *dy = p->dy + r*p->cols;
        const float t = p->stats[2*r];
        const float rstd = p->stats[2*r + 1];
        float mean;
        float dz;
        tfn__seed_sums(p, r, &mean, &dz);
        for (ptrdiff_t c = 0; c < p->cols; c++) {
            const float v = dy[c] * (x[c] * rstd);
            if (p->dgain) p->dgain[c] += v;
            if (p->dalpha) p->dalpha[c] += t*v;
            if (p->ddirection) p->ddirection[c] += dz*x[c];
        }
    }
}
#endif

/* -- norms of columns over a batch: y = gain*n + bias, n = (x - mean)*scale ---------------------
 * BatchNorm (Ioffe & Szegedy 2015, algorithm 1): mean and 1/sqrt(variance + eps) of a column over
 * the rows of the batch; without training, the running ones. PowerNorm (Shen et al. 2020): mean 0,
 * and 1/sqrt(mean(x^2) + eps), of the batch during warm-up, then of the running mean of squares.
 * The batch's own factor is kept besides, because PowerNorm's backward multiplies by that one.
 * A block of columns at a time, whose statistics fit into a few KiB of stack, while rows stream by;
 * each sum is a chain over the rows. */

/* A block of columns while it is worked on: an array has an element per column. */
typedef struct tfn__columns {
    ptrdiff_t at;                        /* the block is columns at ... at + n - 1 */
    ptrdiff_t n;
    ptrdiff_t count;                     /* rows that count; 0: no statistics of this batch */
    float gain[TFN__BLOCK];
    float mean[TFN__BLOCK];
    float scale[TFN__BLOCK];             /* n = (x - mean)*scale */
    float square[TFN__BLOCK];            /* of this batch: variance, or mean of squares */
    float rstd[TFN__BLOCK];              /* 1/sqrt(square + eps), what the backward multiplies by */
    float dy[TFN__BLOCK];                /* sums of dy, dy*n, h*n */
    float dyn[TFN__BLOCK];
    float hn[TFN__BLOCK];
    float a[TFN__BLOCK];                 /* h = g - a - n*b, g = dy*gain */
    float b[TFN__BLOCK];
} tfn__columns;

/* Rows of sentence b that count, the others being padding; and how many count in the batch. */
static ptrdiff_t tfn__counted_in(const tfn_columns_args *p, ptrdiff_t b)
{
    if (!p->lengths) return p->time;
    return tfn__min(tfn__max(p->lengths[b], 0), p->time);
}
static ptrdiff_t tfn__counted(const tfn_columns_args *p)
{
    ptrdiff_t n = 0;
    for (ptrdiff_t b = 0; b < p->batch; b++) n += tfn__counted_in(p, b);
    return n;
}

/* The block from column `at` on. Without training no row counts, and running statistics do. */
static void tfn__columns_begin(const tfn_columns_args *p, tfn__columns *b, ptrdiff_t at,
                               ptrdiff_t end)
{
    b->at = at;
    b->n = tfn__min(end - at, TFN__BLOCK);
    b->count = 0;
    if (p->training) b->count = tfn__counted(p);
    for (ptrdiff_t c = 0; c < b->n; c++) b->gain[c] = tfn__gain_or_1(p->gain, at + c);
}

/* Over the rows that count: the mean of (x - mean)^2, or of x where mean is NULL. */
static void tfn__column_mean(float *y, const float *mean, const tfn_columns_args *p,
                             const tfn__columns *b)
{
    for (ptrdiff_t c = 0; c < b->n; c++) y[c] = 0;
    for (ptrdiff_t s = 0; s < p->batch; s++) {
        const float *x = p->x + s*p->time*p->cols + b->at;
        for (ptrdiff_t t = 0; t < tfn__counted_in(p, s); t++, x += p->cols)
            for (ptrdiff_t c = 0; c < b->n; c++) {
                if (mean) y[c] += (x[c] - mean[c]) * (x[c] - mean[c]);
                else y[c] += x[c];
            }
    }
    for (ptrdiff_t c = 0; c < b->n; c++) y[c] /= (float)b->count;
}

/* A running statistic, 0 below TFN__LEAST: that of a column which has become 0 would end as a
 * denormal number. */
static float tfn__running(float x)
{
    if (x < TFN__LEAST && x > -TFN__LEAST) return 0;
    return x;
}

/* What running becomes. BatchNorm: mean, and variance with 1/(T-1) for T rows. PowerNorm: the mean
 * of squares is the plain mean of all batches during warm-up, and moves on besides, as in the
 * authors' code; nu waits for the backward. */
static void tfn__columns_next(const tfn_columns_args *p, const tfn__columns *b)
{
    const float *first = p->running + b->at;       /* means; PowerNorm's means of squares */
    const float *second = first + p->cols;         /* variances; nu */
    const float unbiased = (float)b->count / (float)tfn__max(b->count - 1, 1);
    float *next = p->next + b->at;
    float t = 1;
    if (p->step > 1) t = (float)p->step;
    for (ptrdiff_t c = 0; c < b->n; c++) {
        float x = first[c];
        float z = second[c];
        if (b->count > 0 && p->kind == TFN_NORM_POWER) {
            if (p->step < p->warmup) x = x * ((t - 1) / t) + b->square[c] / t;
            x = (float)0.9 * x + (float)0.1 * b->square[c];
        } else if (b->count > 0) {
            x = (float)0.9 * x + (float)0.1 * b->mean[c];
            z = (float)0.9 * z + (float)0.1 * (b->square[c] * unbiased);
        }
        next[c] = tfn__running(x);
        next[p->cols + c] = tfn__running(z);
    }
}

/* The statistics of a block, and which of them normalize: those of the batch; running ones where no
 * row counts, and for PowerNorm after its warm-up. */
static void tfn__columns_moments(const tfn_columns_args *p, tfn__columns *b)
{
    const bool power = p->kind == TFN_NORM_POWER;
    const float *mean = p->running + b->at;
    const float *square = mean + p->cols;
    if (power) square = p->running + b->at;
    for (ptrdiff_t c = 0; c < b->n; c++) {
        b->mean[c] = 0;
        if (!power && !b->count) b->mean[c] = mean[c];
        b->square[c] = square[c];
    }
    if (b->count && !power) tfn__column_mean(b->mean, NULL, p, b);
    if (b->count) tfn__column_mean(b->square, b->mean, p, b);
    for (ptrdiff_t c = 0; c < b->n; c++) {
        b->rstd[c] = 1 / TFN__SQRT(b->square[c] + p->eps);
        b->scale[c] = b->rstd[c];
        if (power && p->step > p->warmup) b->scale[c] = 1 / TFN__SQRT(square[c] + p->eps);
    }
}

/* Keep for the backward: BatchNorm its mean, PowerNorm, which has none, the factor of n in its
 * place; then both the batch's own factor. */
static void tfn__columns_keep(const tfn_columns_args *p, const tfn__columns *b)
{
    const float *first = b->mean;
    if (p->kind == TFN_NORM_POWER) first = b->scale;
    for (ptrdiff_t c = 0; c < b->n; c++) {
        p->stats[b->at + c] = first[c];
        p->stats[p->cols + b->at + c] = b->rstd[c];
    }
}

/* Columns first ... first + count - 1. Threads share out columns, never rows: so a sum over rows
 * has one order. Padding is normalized like the rest, though it did not count. */
TFNORM_API void tfn_columns_forward(const tfn_columns_args *p, ptrdiff_t first, ptrdiff_t count)
{
    const ptrdiff_t end = first + count;
    tfn__columns b;
    for (ptrdiff_t at = first; at < end; at += b.n) {
        float bias[TFN__BLOCK];
        tfn__columns_begin(p, &b, at, end);
        tfn__columns_moments(p, &b);
        if (p->training) tfn__columns_next(p, &b);
        if (p->training) tfn__columns_keep(p, &b);
        for (ptrdiff_t c = 0; c < b.n; c++) bias[c] = tfn__bias_or_0(p->bias, at + c);
        for (ptrdiff_t r = 0; r < p->batch * p->time; r++) {
            const float *x = p->x + r*p->cols + at;
            float *y = p->y + r*p->cols + at;
            for (ptrdiff_t c = 0; c < b.n; c++)
                y[c] = b.gain[c] * ((x[c] - b.mean[c]) * b.scale[c]) + bias[c];
        }
    }
}

#ifndef TFNORM_NO_TRAINING
/* What the forward normalized with: from stats, or without training from running. */
static void tfn__columns_again(const tfn_columns_args *p, tfn__columns *b)
{
    const float *first = tfn__at(p->stats, b->at);
    const float *rstd = tfn__at(first, p->cols);
    if (!p->training) {
        tfn__columns_moments(p, b);
        return;
    }
    for (ptrdiff_t c = 0; c < b->n; c++) {
        b->rstd[c] = rstd[c];
        if (p->kind == TFN_NORM_POWER) {
            b->mean[c] = 0;
            b->scale[c] = first[c];
        } else {
            b->mean[c] = first[c];
            b->scale[c] = rstd[c];
        }
    }
}

/* Does row r of (batch, time) count, or is it padding? */
static bool tfn__row_counts(const tfn_columns_args *p, ptrdiff_t r)
{
    return r % p->time < tfn__counted_in(p, r / p->time);
}

/* Sums over all rows of dy and dy*n, which are the gradients of bias and gain; over those that
 * count of h*n with PowerNorm's a and b, by which nu grows. */
static void tfn__columns_sums(const tfn_columns_args *p, tfn__columns *b)
{
    tfn__start_chains(b->dy, b->n, false);
    tfn__start_chains(b->dyn, b->n, false);
    tfn__start_chains(b->hn, b->n, false);
    for (ptrdiff_t r = 0; r < p->batch * p->time; r++) {
        const float *x = p->x + r*p->cols + b->at;
        const float *dy = p->dy + r*p->cols + b->at;
        const bool counts = tfn__row_counts(p, r);
        for (ptrdiff_t c = 0; c < b->n; c++) {
            const float n = (x[c] - b->mean[c]) * b->scale[c];
            const float g = dy[c] * b->gain[c];
            b->dy[c] += dy[c];
            b->dyn[c] += dy[c] * n;
            if (counts) b->hn[c] += (g - b->a[c] - n*b->b[c]) * n;
        }
    }
}

/* dx = rstd*h, h = g - a - n*b; in rows that did not count, dx = rstd*g: no statistic moves with
 * their x. */
static void tfn__columns_gradient(const tfn_columns_args *p, const tfn__columns *b)
{
    for (ptrdiff_t r = 0; r < p->batch * p->time; r++) {
        const float *x = p->x + r*p->cols + b->at;
        const float *dy = p->dy + r*p->cols + b->at;
        const bool counts = tfn__row_counts(p, r);
        float *dx = p->dx + r*p->cols + b->at;
        for (ptrdiff_t c = 0; c < b->n; c++) {
            const float n = (x[c] - b->mean[c]) * b->scale[c];
            const float before = p->add ? dx[c] : 0;
            float h = dy[c] * b->gain[c];
            if (p->training && counts) h = h - b->a[c] - n*b->b[c];
            dx[c] = b->rstd[c] * h + before;
        }
    }
}

/* Add a block's sums to the gradient of the gain or the bias, which may be NULL. */
static void tfn__columns_chain(float *dgain, const float *sum, const tfn__columns *b, bool add)
{
    if (!dgain) return;
    tfn__start_chains(dgain + b->at, b->n, add);
    for (ptrdiff_t c = 0; c < b->n; c++) dgain[b->at + c] += sum[c];
}

/* BatchNorm: a = sum(g)/T, b = sum(g*n)/T, sums over all rows because all were normalized.
 * PowerNorm: a = 0, b = (1 - 0.9)*nu, and nu grows by the mean of h*n over the rows that count. */
TFNORM_API void tfn_columns_backward(const tfn_columns_args *p, ptrdiff_t first, ptrdiff_t count)
{
    const bool power = p->kind == TFN_NORM_POWER && p->training;
    const ptrdiff_t end = first + count;
    tfn__columns b;
    for (ptrdiff_t at = first; at < end; at += b.n) {
        const float *nu = p->running + p->cols + at;
        tfn__columns_begin(p, &b, at, end);
        tfn__columns_again(p, &b);
        for (ptrdiff_t c = 0; c < b.n; c++) {
            b.a[c] = 0;
            b.b[c] = 0;
            if (power) b.b[c] = (float)0.1 * nu[c];
        }
        tfn__columns_sums(p, &b);

        /* what the sums are for: PowerNorm's next nu, BatchNorm's a and b */
        for (ptrdiff_t c = 0; c < b.n; c++) {
            if (power) {
                p->next[p->cols + at + c] = nu[c] + b.hn[c] / (float)tfn__max(b.count, 1);
            } else if (b.count > 0) {
                b.a[c] = b.gain[c] * b.dy[c] / (float)b.count;
                b.b[c] = b.gain[c] * b.dyn[c] / (float)b.count;
            }
        }
        tfn__columns_chain(p->dgain, b.dyn, &b, p->add_gain);
        tfn__columns_chain(p->dbias, b.dy, &b, p->add_bias);
        if (p->dx) tfn__columns_gradient(p, &b);
    }
}
#endif
#endif
#endif

#ifdef TFN__BODY
/* -- norms of rows, forward --------------------------------------------------------------------
 * y = gain * n + bias, n = (x - mean) * rstd, over each group of each row; the kinds differ in
 * mean and rstd (tfn_norm_kind). Sums over features go by 16 lanes and the tree. */

/* sum((x - mean)^2)/n: a second pass, because sum(x^2)/n - mean^2 would cancel. A lane beyond n
 * holds 0 - mean, whose square must not count: hence first_lanes. */
static float TFN__N(tfn__row_variance)(const float *x, ptrdiff_t n, float mean)
{
    const TFN__V m = TFN__SET(mean);
    TFN__V acc[TFN__LANES];
    TFN__N(tfn__zero_lanes)(acc);
    TFN__EACH16(l, i, k, n, {
        const TFN__V d = TFN__SUB(TFN__GET(x + i, k), m);
        acc[l] = TFN__ADD(acc[l], TFN__N(tfn__first_lanes)(TFN__MUL(d, d), k));
    });
    return TFN__N(tfn__tree)(acc) / (float)n;
}

/* Rows of LayerNorm that go side by side: of one alone, each addition of its sums waits for the one
 * before, and gain and bias are read again. Narrow vectors have lanes enough without. */
#if TFN__W < 8
#define TFN__ABREAST 1
#else
#define TFN__ABREAST 4
#endif

/* y = gain * ((x - mean) * rstd) + bias of R rows; gain, bias may be NULL. The last product and the
 * bias are one fused multiply-add, in the plain form too. R and what is NULL are constants where
 * the loop is hot. */
static TFN__INLINE void TFN__N(tfn__normalize)(float *y, const float *x, const float *gain,
                                               const float *bias, ptrdiff_t cols,
                                               const float *mean, const float *rstd,
                                               const bool offset, const int R)
{
    TFN__V m[TFN__ABREAST], s[TFN__ABREAST], g = TFN__SET(1), b = TFN__SET(0);
    for (int r = 0; r < R; r++) {
        m[r] = TFN__SET(mean[r]);
        s[r] = TFN__SET(rstd[r]);
    }
    TFN__EACH(c, k, cols) {
        if (gain) g = TFN__GET(gain + c, k);
        if (gain && offset) g = TFN__ADD(TFN__SET(1), g);
        if (bias) b = TFN__GET(bias + c, k);
        TFN__UNROLL
        for (int r = 0; r < R; r++) {
            TFN__V v = TFN__MUL(TFN__SUB(TFN__GET(x + r*cols + c, k), m[r]), s[r]);
            if (gain) {
                if (bias) v = TFN__FMA(g, v, b);
                else v = TFN__MUL(g, v);
            } else if (bias) {
                v = TFN__ADD(v, b);
            }
            TFN__PUT(y + r*cols + c, v, k);
        }
    }
}

/* AdaNorm's factor C (1 - k n), which it takes for a constant: Xu et al. 2019, eq. 6. */
static TFN__INLINE TFN__V TFN__N(tfn__ada)(const tfn_norm_args *p, TFN__V n)
{
    const TFN__V kn = TFN__MUL(TFN__SET(p->slope), n);
    return TFN__MUL(TFN__SET(p->factor), TFN__SUB(TFN__SET(1), kn));
}

#ifndef TFNORM_NO_TRAINING
/* -- norms of rows, backward: the gradient of x ------------------------------------------------
 * Of LayerNorm, with C features: by d mean/dx_i = 1/C and d rstd/dx_i = -rstd^2 n_i/C,
 *     dn_j/dx_i = rstd * ([i = j] - 1/C - n_i n_j/C),
 * and with g = dy*gain, the gradient of n, dx_i = sum_j g_j dn_j/dx_i has the form of all kinds,
 *     dx = rstd * (g - a - n*b),
 * where a is what goes by way of the mean, b by way of rstd. From s = sum(g*n):
 *     LAYER         a = mean(g)           b = s/C
 *     RMS           a = 0                 b = s/k, for the k features that rstd is of, else 0
 *     RMS_OUTSIDE   a = 0                 b = s/(k*rms*rstd), as above
 *     L2            a = 0                 b = s; 0 in a row shorter than eps
 *     CRMS          a = b*sum(x)*rstd     b = s/(C+1)
 *     CENTER        a = mean(g)           b = 0
 *     ADA           a = mean(g)           b = s/((C-1)*deviation*rstd)
 * and a = 0 with a mean, b = 0 with a rstd that counts as a constant. */

/* k lanes of g, from feature i on. `how` the gain enters is constant where the loop is hot. */
static TFN__INLINE TFN__V TFN__N(tfn__norm_g)(const tfn_norm_args *p, const float *dy,
                                              const float *gain, TFN__V n, ptrdiff_t i,
                                              ptrdiff_t k, const int how)
{
    TFN__V g = TFN__GET(dy + i, k);                   /* missing lanes: g is +0 */
    if (how == TFN__GAIN_ADA) return TFN__MUL(g, TFN__N(tfn__ada)(p, n));
    if (gain && how == TFN__GAIN_OFFSET)
        g = TFN__MUL(g, TFN__ADD(TFN__SET(1), TFN__GET(gain + i, k)));
    if (gain && how == TFN__GAIN_AS_IS) g = TFN__MUL(g, TFN__GET(gain + i, k));
    return g;
}

/* dx of one group of one row. b = s/divisor, or 0 where the divisor is 0; `shift` says which a. The
 * first pass sums g and g*n over all features, the second stores dx of those that rstd is of. */
static TFN__INLINE void TFN__N(tfn__norm_gradient)(const tfn_norm_args *p,
                                                   const tfn__norm_group *row, float divisor,
                                                   const int how, const int shift)
{
    const float *x = row->x;
    const float *dy = row->dy;
    const float *gain = row->gain;
    const ptrdiff_t n = row->n;
    const ptrdiff_t count = row->count;
    const TFN__V m = TFN__SET(row->mean);
    const TFN__V s = TFN__SET(row->rstd);
    const bool add = p->add;
    float *dx = row->dx;
    TFN__V sum_g[TFN__LANES], sum_gn[TFN__LANES], a = TFN__SET(0), b = a;

    /* sum(g), s = sum(g*n) */
    TFN__N(tfn__zero_lanes)(sum_g);
    TFN__N(tfn__zero_lanes)(sum_gn);
    TFN__EACH16(l, i, k, n, {
        const TFN__V v = TFN__MUL(TFN__SUB(TFN__GET(x + i, k), m), s);
        const TFN__V g = TFN__N(tfn__norm_g)(p, dy, gain, v, i, k, how);
        sum_g[l] = TFN__ADD(sum_g[l], g);
        sum_gn[l] = TFN__ADD(sum_gn[l], TFN__MUL(g, v));
    });

    /* a and b of the table */
    if (divisor > 0) b = TFN__SET(TFN__N(tfn__tree)(sum_gn) / divisor);
    if (shift == TFN__SHIFT_MEAN) a = TFN__SET(TFN__N(tfn__tree)(sum_g) / (float)n);
    if (shift == TFN__SHIFT_SUM)
        a = TFN__MUL(b, TFN__SET(TFN__N(tfn__row_sum)(x, n) * row->rstd));

    /* dx = rstd * (g - a - n*b) */
    TFN__EACH(c, k, count) {
        const TFN__V v = TFN__MUL(TFN__SUB(TFN__GET(x + c, k), m), s);
        TFN__V g = TFN__N(tfn__norm_g)(p, dy, gain, v, c, k, how);
        g = TFN__MUL(s, TFN__SUB(TFN__SUB(g, a), TFN__MUL(v, b)));
        TFN__N(tfn__store_or_add)(dx + c, g, k, add);
    }
}
#endif

#ifdef TFN__EXTRA_NORMS
/* -- the kinds that few models have ------------------------------------------------------------
 * Vectors are enough: -O1, or clang's for size, spares the time to compile more. */
#if defined __GNUC__ && !defined __clang__ && !defined __OPTIMIZE_SIZE__
#pragma GCC push_options
#if TFN__W > 1
#pragma GCC optimize("O1", "fp-contract=off")
#endif
#endif
TFN__SMALL

/* AdaNorm: y = C (1 - k n) n. */
static void TFN__N(tfn__ada_row)(const tfn_norm_args *p, float *y, const float *x, ptrdiff_t cols,
                                 float mean, float rstd)
{
    const TFN__V m = TFN__SET(mean);
    const TFN__V r = TFN__SET(rstd);
    TFN__EACH(c, k, cols) {
        const TFN__V n = TFN__MUL(TFN__SUB(TFN__GET(x + c, k), m), r);
        TFN__PUT(y + c, TFN__MUL(TFN__N(tfn__ada)(p, n), n), k);
    }
}

/* What eps is added to outside of a root: AdaNorm's deviation, with 1/(n-1); the root of the mean
 * square; or the length |x|, which L2 compares with eps. */
static TFN__APART float TFN__N(tfn__spread)(const tfn_norm_args *p, const float *x, ptrdiff_t n,
                                            float mean)
{
    const ptrdiff_t count = tfn__norm_count(p, n);
    const ptrdiff_t others = tfn__max(n - 1, 1);
    if (p->kind == TFN_NORM_ADA)
        return TFN__SQRT(TFN__N(tfn__row_variance)(x, n, mean) * (float)n / (float)others);
    if (p->kind == TFN_NORM_RMS_OUTSIDE)
        return TFN__SQRT(TFN__N(tfn__row_dot)(x, x, count) / (float)count);
    return TFN__SQRT(TFN__N(tfn__row_dot)(x, x, count));
}

/* rstd, the factor of x - mean; CRMSNorm's (Jiang et al. 2023) counts a feature that is not there,
 * -sum(x), with which the sum of the row would be 0. L2 of a zero row without eps is zero (nGPT has
 * none). */
static float TFN__N(tfn__rstd_extra)(const tfn_norm_args *p, const float *x, ptrdiff_t n,
                                     float mean)
{
    float spread;
    if (p->kind == TFN_NORM_CENTER) return (float)n / (float)tfn__max(n - 1, 1);
    if (p->kind == TFN_NORM_CRMS) {
        const float sum = TFN__N(tfn__row_sum)(x, n);
        return 1 / TFN__SQRT((TFN__N(tfn__row_dot)(x, x, n) + sum*sum) / (float)(n + 1) + p->eps);
    }
    spread = TFN__N(tfn__spread)(p, x, n, mean);
    if (p->kind != TFN_NORM_L2) return 1 / (spread + p->eps);
    if (spread < p->eps) return 1 / p->eps;
    if (spread >= 0 && spread <= 0) return 0;
    return 1 / spread;
}

/* The largest |x|; a NaN is passed over. */
static float TFN__N(tfn__absmax)(const float *x, ptrdiff_t n)
{
    const TFN__V zero = TFN__SET(0);
    TFN__V acc[TFN__LANES];
    float t[16];
    float max = 0;
    TFN__N(tfn__zero_lanes)(acc);
    TFN__EACH16(l, i, k, n, {
        const TFN__V v = TFN__GET(x + i, k);
        acc[l] = TFN__MAX(TFN__MAX(v, TFN__SUB(zero, v)), acc[l]);
    });
    for (int l = 0; l < TFN__LANES; l++) TFN__STORE(t + l*TFN__W, acc[l]);
    for (int l = 0; l < 16; l++)
        if (t[l] > max) max = t[l];
    return max;
}

#ifndef TFNORM_NO_TRAINING
/* What s is divided by to give b in the table above, 0 for b = 0. */
static float TFN__N(tfn__norm_divisor)(const tfn_norm_args *p, const tfn__norm_group *row)
{
    const ptrdiff_t n = row->n;
    if (p->detach_std || p->kind == TFN_NORM_CENTER) return 0;
    if (p->kind == TFN_NORM_L2) {
        if (p->eps > 0 && row->rstd >= 1 / p->eps) return 0;
        return 1;
    }
    if (p->kind == TFN_NORM_CRMS) return (float)(n + 1);
    if (p->kind == TFN_NORM_RMS_OUTSIDE)
        return (float)row->count * (TFN__N(tfn__spread)(p, row->x, n, 0) * row->rstd);
    if (p->kind == TFN_NORM_ADA)
        return (float)(n - 1) * (TFN__N(tfn__spread)(p, row->x, n, row->mean) * row->rstd);
    return (float)row->count;
}

/* Any norm, any flags. */
static void TFN__N(tfn__norm_gradient_any)(const tfn_norm_args *p, tfn__norm_group row)
{
    float divisor;
    row.count = tfn__norm_count(p, row.n);
    divisor = TFN__N(tfn__norm_divisor)(p, &row);
    TFN__N(tfn__norm_gradient)(p, &row, divisor, tfn__gain_form(p), tfn__shift_form(p));
    tfn__norm_rest(p, &row);
}
#endif

TFN__SMALL_END
#if defined __GNUC__ && !defined __clang__ && !defined __OPTIMIZE_SIZE__
#pragma GCC pop_options
#endif
#endif /* TFN__EXTRA_NORMS */

/* -- the kernels -- */

/* Of n features the mean, 0 in kinds that do not center, and as result rstd. RMSNorm comes first:
 * with LayerNorm it is all that a build without training has. */
static TFN__INLINE float TFN__N(tfn__moments)(const tfn_norm_args *p, const float *x, ptrdiff_t n,
                                              float *mean)
{
    const ptrdiff_t count = tfn__norm_count(p, n);
    *mean = 0;
    if (p->kind == TFN_NORM_RMS)
        return 1 / TFN__SQRT(TFN__N(tfn__row_dot)(x, x, count) / (float)count + p->eps);
#ifdef TFN__EXTRA_NORMS
    if (p->kind == TFN_NORM_RMS_OUTSIDE || p->kind == TFN_NORM_L2 || p->kind == TFN_NORM_CRMS)
        return TFN__N(tfn__rstd_extra)(p, x, n, 0);
#endif
    *mean = TFN__N(tfn__row_sum)(x, n) / (float)n;
#ifdef TFN__EXTRA_NORMS
    if (p->kind == TFN_NORM_CENTER || p->kind == TFN_NORM_ADA)
        return TFN__N(tfn__rstd_extra)(p, x, n, *mean);
#endif
    return 1 / TFN__SQRT(TFN__N(tfn__row_variance)(x, n, *mean) + p->eps);
}

/* One group of one row, n features from x[at] on; c is its first column. The usual gains get copies
 * of the loop where there is room, that is where models train. */
static TFN__INLINE void TFN__N(tfn__norm_row)(const tfn_norm_args *p, ptrdiff_t at, ptrdiff_t c,
                                              ptrdiff_t n, float mean, float rstd)
{
    const float *gain = tfn__at(p->gain, c);
    const float *bias = tfn__at(p->bias, c);
    const float *x = p->x + at;
    float *y = p->y + at;
#ifdef TFN__EXTRA_NORMS
    if (p->kind == TFN_NORM_ADA) {
        TFN__N(tfn__ada_row)(p, y, x, n, mean, rstd);
        return;
    }
#endif
    if (TFN__TRAINS && !p->offset && gain && bias)
        TFN__N(tfn__normalize)(y, x, gain, bias, n, &mean, &rstd, false, 1);
    else if (TFN__TRAINS && !p->offset && gain)
        TFN__N(tfn__normalize)(y, x, gain, NULL, n, &mean, &rstd, false, 1);
    else TFN__N(tfn__normalize)(y, x, gain, bias, n, &mean, &rstd, TFN__ALL && p->offset, 1);
}

/* LayerNorm's mean = sum(x)/n and rstd = 1/sqrt(sum((x - mean)^2)/n + eps) of up to ABREAST rows of
 * x (rows, n), the sums by lanes as everywhere; missing rows do what the last one does. */
static TFN__APART void TFN__N(tfn__layer_moments)(const float *x, ptrdiff_t rows, ptrdiff_t n,
                                                  float eps, float *mean, float *rstd)
{
    TFN__V acc[TFN__ABREAST][TFN__LANES], m[TFN__ABREAST];
    const float *row[TFN__ABREAST];

    /* the sums, the means */
    for (int r = 0; r < TFN__ABREAST; r++) {
        row[r] = x + tfn__min(r, rows - 1) * n;
        TFN__N(tfn__zero_lanes)(acc[r]);
    }
    TFN__EACH16(l, i, k, n, {
        for (int r = 0; r < TFN__ABREAST; r++)
            acc[r][l] = TFN__ADD(acc[r][l], TFN__GET(row[r] + i, k));
    });
    for (int r = 0; r < TFN__ABREAST; r++) {
        mean[r] = TFN__N(tfn__tree)(acc[r]) / (float)n;
        m[r] = TFN__SET(mean[r]);
        TFN__N(tfn__zero_lanes)(acc[r]);
    }

    /* the squares of what is left */
    TFN__EACH16(l, i, k, n, {
        for (int r = 0; r < TFN__ABREAST; r++) {
            const TFN__V d = TFN__SUB(TFN__GET(row[r] + i, k), m[r]);
            acc[r][l] = TFN__ADD(acc[r][l], TFN__N(tfn__first_lanes)(TFN__MUL(d, d), k));
            TFN__FETCH(row[r] + TFN__ABREAST * n + i);      /* the rows that follow */
        }
    });
    for (int r = 0; r < TFN__ABREAST; r++)
        rstd[r] = 1 / TFN__SQRT(TFN__N(tfn__tree)(acc[r]) / (float)n + eps);
}

/* The usual RMSNorm once more, without what it does not need: a third less time for narrow rows. */
static void TFN__N(tfn__rms_rows)(float *y, float *mean, float *rstd, const float *x,
                                  const float *gain, ptrdiff_t rows, ptrdiff_t cols, float eps)
{
    const float zero = 0;
    for (ptrdiff_t r = 0; r < rows; r++, x += cols, y += cols) {
        float s = 1 / TFN__SQRT(TFN__N(tfn__row_dot)(x, x, cols) / (float)cols + eps);
        TFN__N(tfn__normalize)(y, x, gain, NULL, cols, &zero, &s, false, 1);
        if (mean) mean[r] = 0;
        if (rstd) rstd[r] = s;
    }
}

/* A group of a row counts as a row of n columns here: there are rows*groups. The usual RMSNorm goes
 * its own way; LayerNorm goes ABREAST rows at a time, all other kinds one. */
static void TFN__N(tfn__norm_forward)(const tfn_norm_args *p)
{
    const ptrdiff_t groups = tfn__norm_groups(p);
    const ptrdiff_t n = p->cols / groups;
    const ptrdiff_t rows = p->rows * groups;
    const bool plain = groups == 1 && p->part <= 0 && !p->offset && !p->bias;
    const bool affine = groups == 1 && p->gain && p->bias && !p->offset;
    float mean[TFN__ABREAST], rstd[TFN__ABREAST];
    if (n <= 0) return;
    if (TFN__TRAINS && plain && p->kind == TFN_NORM_RMS) {
        TFN__N(tfn__rms_rows)(p->y, p->mean, p->rstd, p->x, p->gain, p->rows, n, p->eps);
        return;
    }
    for (ptrdiff_t r = 0, count; r < rows; r += count) {
        count = 1;
        if (p->kind == TFN_NORM_LAYER) count = tfn__min(rows - r, TFN__ABREAST);

        /* mean and rstd */
        if (TFN__ABREAST > 1 && count > 1)
            TFN__N(tfn__layer_moments)(p->x + r*n, count, n, p->eps, mean, rstd);
        else rstd[0] = TFN__N(tfn__moments)(p, p->x + r*n, n, mean);

        /* y */
        if (TFN__TRAINS && TFN__ABREAST > 1 && affine && count == TFN__ABREAST)
            TFN__N(tfn__normalize)(p->y + r*n, p->x + r*n, p->gain, p->bias, n, mean, rstd, false,
                                   TFN__ABREAST);
        else
            for (ptrdiff_t i = 0; i < count; i++)
                TFN__N(tfn__norm_row)(p, (r + i) * n, (r + i) % groups * n, n, mean[i], rstd[i]);

        /* both are kept for the backward */
        for (ptrdiff_t i = 0; i < count; i++) {
            if (p->mean) p->mean[r + i] = mean[i];
            if (p->rstd) p->rstd[r + i] = rstd[i];
        }
    }
}
#undef TFN__ABREAST

#ifndef TFNORM_NO_TRAINING
/* The gradient of x, one group of one row after the other. LayerNorm and RMSNorm as most models
 * have them get copies of the loop in which their form is constant. */
static void TFN__N(tfn__norm_backward)(const tfn_norm_args *p)
{
    const ptrdiff_t groups = tfn__norm_groups(p);
    const bool plain = !p->offset && !p->detach_mean && !p->detach_std && p->part <= 0;
    const ptrdiff_t n = p->cols / groups;
    if (n <= 0) return;
    for (ptrdiff_t r = 0; r < p->rows; r++)
        for (ptrdiff_t g = 0; g < groups; g++) {
            const ptrdiff_t at = r*p->cols + g*n;
            tfn__norm_group row;
            row.x = p->x + at;
            row.dy = p->dy + at;
            row.dx = p->dx + at;
            row.gain = tfn__at(p->gain, g*n);
            row.n = n;
            row.count = n;
            row.mean = tfn__bias_or_0(p->mean, r*groups + g);
            row.rstd = p->rstd[r*groups + g];
            if (plain && p->kind == TFN_NORM_LAYER)
                TFN__N(tfn__norm_gradient)(p, &row, (float)n, TFN__GAIN_AS_IS, TFN__SHIFT_MEAN);
            else if (plain && p->kind == TFN_NORM_RMS)
                TFN__N(tfn__norm_gradient)(p, &row, (float)n, TFN__GAIN_AS_IS, TFN__SHIFT_NONE);
            else TFN__N(tfn__norm_gradient_any)(p, row);
        }
}

/* dgain += sum(dy*n), dbias += sum(dy) of n columns from c on, all in group g: down the rows, each
 * gradient a chain. The gradients stay in the first cache, rows stream by. n is computed again from
 * x, mean and rstd: nothing of the size of x is saved. */
static void TFN__N(tfn__norm_params)(const tfn_norm_args *p, ptrdiff_t c, ptrdiff_t n, ptrdiff_t g)
{
    const ptrdiff_t groups = tfn__norm_groups(p);
    const float *dy = p->dy + c;
    const float *x = p->x + c;
    float *dgain = p->dgain;
    float *dbias = p->dbias;
    if (dgain) dgain += c;
    if (dbias) dbias += c;
    tfn__start_chains(dgain, n, p->add_params);
    tfn__start_chains(dbias, n, p->add_params);
    for (ptrdiff_t r = g; r < p->rows * groups; r += groups, dy += p->cols, x += p->cols) {
        const TFN__V m = TFN__SET(tfn__bias_or_0(p->mean, r));
        const TFN__V s = TFN__SET(p->rstd[r]);
        if (dgain)
            TFN__EACH(i, k, n) {
                const TFN__V v = TFN__MUL(TFN__SUB(TFN__GET(x + i, k), m), s);
                TFN__PUT(dgain + i, TFN__FMA(TFN__GET(dy + i, k), v, TFN__GET(dgain + i, k)), k);
            }
        if (dbias)
            TFN__EACH(i, k, n)
                TFN__PUT(dbias + i, TFN__ADD(TFN__GET(dbias + i, k), TFN__GET(dy + i, k)), k);
    }
}

/* Columns first ... first + count - 1, cut where a group ends. */
static void TFN__N(tfn__norm_params_backward)(const tfn_norm_args *p, ptrdiff_t first,
                                              ptrdiff_t count)
{
    const ptrdiff_t n = p->cols / tfn__norm_groups(p);
    const ptrdiff_t end = first + count;
    for (ptrdiff_t c = first, next; c < end; c = next) {
        next = tfn__min(end, (c / n + 1) * n);
        TFN__N(tfn__norm_params)(p, c, next - c, c / n);
    }
}
#endif

/* -- softmax -- */

/* y /= by: a division each, because a product with the reciprocal would be rounded twice. */
static void TFN__N(tfn__divide_row)(float *y, ptrdiff_t n, float by)
{
    const TFN__V l = TFN__SET(by);
    TFN__EACH(i, k, n) TFN__PUT(y + i, TFN__DIV(TFN__GET(y + i, k), l), k);
}

/* y = exp(x - max(x))/sum(exp(x - max(x))) of each row of x (rows, cols). Short rows go eight
 * abreast, others two, so that no sum waits for the one of the row before. */
static void TFN__N(tfn__softmax_forward)(float *y, const float *x, ptrdiff_t rows, ptrdiff_t cols)
{
    const ptrdiff_t abreast = cols <= 256 ? 8 : 2;
    float max[8];
    float sum[8];
    if (cols <= 0) return;
    for (ptrdiff_t n; rows > 0; rows -= n, x += n*cols, y += n*cols) {
        n = tfn__min(rows, abreast);
        for (ptrdiff_t r = 0; r < n; r++) max[r] = TFN__N(tfn__row_max)(x + r*cols, cols);
        for (ptrdiff_t r = 0; r < n; r++)
            sum[r] = TFN__N(tfn__row_exp_sum)(y + r*cols, x + r*cols, cols, max[r]);
        for (ptrdiff_t r = 0; r < n; r++) TFN__N(tfn__divide_row)(y + r*cols, cols, sum[r]);
    }
}

#ifndef TFNORM_NO_TRAINING
/* dx = y * (dy - sum(dy*y)): the Jacobian diag(y) - y y^T, times dy. */
static void TFN__N(tfn__softmax_backward)(float *dx, const float *dy, const float *y,
                                          ptrdiff_t rows, ptrdiff_t cols, bool add)
{
    for (ptrdiff_t r = 0; r < rows; r++, dx += cols, dy += cols, y += cols) {
        const TFN__V dot = TFN__SET(TFN__N(tfn__row_dot)(dy, y, cols));
        TFN__EACH(c, k, cols) {
            const TFN__V d = TFN__SUB(TFN__GET(dy + c, k), dot);
            TFN__N(tfn__store_or_add)(dx + c, TFN__MUL(TFN__GET(y + c, k), d), k, add);
        }
    }
}
#endif
#endif /* TFN__BODY */
/* >> attention */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY
/* Scaled dot-product attention (Vaswani et al. 2017, eq. 1): the section `reference` has it in
 * plain loops. Here a strip of queries of one head goes together, so that memory grows with the
 * number of keys, not with its square, and the products are matrix products. Chains are those of
 * the reference: every strip, tile or triangle goes on where the last one stopped. */
#define TFN__STRIP 64        /* query rows whose scores are held at once */
#define TFN__STEP  8         /* rows or keys that go together along the causal diagonal */

/* A strip of query rows of one head, D = size, and its scratch. Rows a power of two apart share few
 * sets of the cache, so what is read often is copied to where its rows lie close together. Scores
 * of a causal strip: a block that is an ordinary product, and a triangle, computed in steps.
 *
 *               key 0          before      keys
 *     row       +----------------+
 *               |                |##
 *               | seen by all    |####
 *     row+rows-1|                |#######
 *               +----------------+--------
 */
typedef struct tfn__strip {
    const tfn_attention_args *p;
    ptrdiff_t b, g, h, size;      /* sentence, key/value head, head; floats of a head */
    ptrdiff_t all;                /* keys that the last query sees */
    ptrdiff_t row, rows;          /* queries row ... row + rows - 1 */
    ptrdiff_t before, keys;       /* every row sees the keys below `before`, the last row all */
    ptrdiff_t ld;                 /* floats between two rows of scores */
    float    *q, *dy;             /* (rows, D) */
    float    *s, *ds;             /* scores, then weights, and their gradients: (rows, keys) */
    float    *kt, *vt;            /* right factors of q k^T and dy v^T, packed */
    float    *x;                  /* (all, D): forward the values, backward the keys */
    float    *dk, *dv;            /* (all, D) */
    float    *work;               /* of products */
} tfn__strip;

/* Keys that query i of sentence b sees: all that are no padding, causally those up to i. They are
 * the first so many: a mask is a loop's bound. */
static ptrdiff_t tfn__seen(const tfn_attention_args *p, ptrdiff_t b, ptrdiff_t i)
{
    ptrdiff_t keys = p->tk;
    if (p->lengths) keys = tfn__min(tfn__max(p->lengths[b], 0), p->tk);
    if (p->causal) keys = tfn__min(i + 1, keys);
    return keys;
}

/* Where the strip's rows begin in q or y, the head's in k or v, and a row's pair in stats. */
static ptrdiff_t tfn__q_at(const tfn__strip *a, ptrdiff_t ld)
{
    return (a->b * a->p->tq + a->row) * ld + a->h * a->size;
}
static ptrdiff_t tfn__k_at(const tfn__strip *a, ptrdiff_t ld)
{
    return a->b * a->p->tk * ld + a->g * a->size;
}
static ptrdiff_t tfn__stats_at(const tfn__strip *a, ptrdiff_t r)
{
    return ((a->b * a->p->tq + a->row + r) * a->p->heads + a->h) * 2;
}

/* Floats of a row of scores, with room to fill its last block of 16, an odd number of cache lines;
 * and of all keys or values of a head, packed or not. */
static ptrdiff_t tfn__score_ld(ptrdiff_t tk) { return (tk + 31) / 32 * 32 + 16; }
static ptrdiff_t tfn__head_floats(ptrdiff_t tk, ptrdiff_t size)
{
    return (tk + TFN__NR - 1) / TFN__NR * TFN__NR * size + TFN__NR;
}

/* The lanes of a block of 16, for comparisons with a count. (A table with -inf is no constant to
 * every compiler.) */
static const float tfn__lane[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
#endif

#ifdef TFN__BODY
/* Of each strip
 *     s = q k^T,  m = max(scale s),  e = exp(scale s - m),  l = sum(e),  y = (e v)/l.
 * m and l are saved. There is no online softmax: rescaling would break the chains. Backward:
 *     p = e/l,  dp = dy v^T,  ds = p (dp - sum(dy y)) scale;  dq = ds k,  dk = ds^T q,
 *     dv = p^T dy.
 * With a cap (Gemma 2) u = cap tanh(scale s/cap) takes the place of scale s, and ds gets the factor
 * 1 - (u/cap)^2.
 * Masked keys are left out by loop bounds, never multiplied by zero: scores right of the diagonal
 * are computed in passing, but not used. Dropout takes e in e v, p in p^T dy, and dp. */

/* y (rows, D), side by side, from rows of x that are ld apart. */
static void TFN__N(tfn__gather)(float *y, const float *x, ptrdiff_t ld, ptrdiff_t rows,
                                ptrdiff_t size)
{
    for (ptrdiff_t r = 0; r < rows; r++) TFN__N(tfn__copy)(y + r*size, x + r*ld, size);
}

/* Pack k (keys, D), or v, once for all strips. */
static void TFN__N(tfn__pack_keys)(const tfn__strip *a, float *kt, const float *k, ptrdiff_t ld)
{
    tfn_matmul_args t;
    TFNORM_MEMSET(&t, 0, sizeof t);
    t.b = k + tfn__k_at(a, ld);
    t.b_row = 1;
    t.b_col = ld;
    t.n = a->all;
    t.k = a->size;
    TFN__N(tfn__pack_b)(&t, kt);
}

/* s (rows, keys) = q (rows, D) k^T, some rows at a time, as far as the last of these sees, and some
 * more keys to make the last vector full. */
static void TFN__N(tfn__scores)(const tfn__strip *a, float *s, const float *q, const float *kt)
{
    const ptrdiff_t most = a->p->causal ? 2*TFN__STEP : a->rows;
    tfn_matmul_args t;
    TFNORM_MEMSET(&t, 0, sizeof t);
    t.b = kt;
    t.b_row = 2*TFN__W;
    t.b_col = 2*TFN__W * a->size;
    t.a_row = a->size;
    t.a_col = 1;
    t.c_ld = a->ld;
    t.k = a->size;
    for (ptrdiff_t i = 0; i < a->rows; i += t.m) {
        t.m = tfn__min(a->rows - i, most);
        t.n = tfn__seen(a->p, a->b, a->row + i + t.m - 1);
        t.n = (t.n + TFN__W - 1) / TFN__W * TFN__W;
        t.c = s + i*a->ld;
        t.a = q + i*a->size;
        TFN__N(tfn__matmul_block)(&t, false);
    }
}

/* cap*tanh(scale s/cap) of n scores (Gemma 2, Riviere et al. 2024), if there is a cap. Returns the
 * scale that they still want: 1, or without a cap the usual one. */
static TFN__APART float TFN__N(tfn__cap_scores)(float *s, ptrdiff_t n, float scale, float cap)
{
    if (!TFN__ALL || !(cap > 0)) return scale;
    TFN__N(tfn__combine)(s, s, NULL, n, scale, 0, false);
    TFN__N(tfn__divide_row)(s, n, cap);
    TFN__N(tfn__tanh)(s, s, n);
    TFN__N(tfn__combine)(s, s, NULL, n, cap, 0, false);
    return 1;
}

/* Scale n scores, and return the largest. Their last block of 16 is filled up with -inf, of which
 * exp is 0: so the sum that follows has whole blocks only. */
static float TFN__N(tfn__scale_max)(float *s, ptrdiff_t n, float scale)
{
    const TFN__V f = TFN__SET(scale);
    const TFN__V none = TFN__SET(-(float)INFINITY);
    TFN__V max[TFN__LANES];
    for (int l = 0; l < TFN__LANES; l++) max[l] = none;
    for (ptrdiff_t i = 0; i < n; i += 16)
        for (int l = 0; l < TFN__LANES; l++) {
            TFN__V v = TFN__MUL(TFN__LOAD(s + i + l*TFN__W), f);
            if (n - i < 16)
                v = TFN__LESS(TFN__LOAD(tfn__lane + l*TFN__W), TFN__SET((float)(n - i)), v, none);
            TFN__STORE(s + i + l*TFN__W, v);
            max[l] = TFN__MAX(v, max[l]);
        }
    return TFN__N(tfn__largest)(max);
}

/* s = exp(s - max), and the sum, to which exp(-inf) adds +0; 1 for a row without keys: y = 0/1. */
static float TFN__N(tfn__exp_sum)(float *s, ptrdiff_t n, float max)
{
    if (n <= 0) return 1;
    return TFN__N(tfn__row_exp_sum)(s, s, (n + 15) / 16 * 16, max);
}

/* The dropout mask of row r on its n weights. */
static void TFN__N(tfn__drop_row)(const tfn__strip *a, float *x, ptrdiff_t r, ptrdiff_t n)
{
    const uint64_t head = (uint64_t)(a->b * a->p->heads + a->h);
    const uint64_t first = ((head << 20) + (uint64_t)(a->row + r)) << 20;
    if (a->p->dropout > 0 && TFN__TRAINS)
        TFN__N(tfn__dropout)(x, x, n, a->p->dropout, a->p->key, first, false);
}

/* x += a b: step p of the chains of the rows from `first` to before `end`. */
static TFN__INLINE void TFN__N(tfn__wedge_step)(const tfn_matmul_args *t, TFN__V *x,
                                                const float *const *a, ptrdiff_t p, ptrdiff_t j,
                                                ptrdiff_t lanes, int first, int end)
{
    const TFN__V u = TFN__GET(t->b + p * t->b_row + j, lanes);
    TFN__UNROLL
    for (int i = 0; i < TFN__STEP; i++)
        if (i >= first && i < end) x[i] = TFN__FMA(TFN__SET(a[i][p * t->a_col]), u, x[i]);
}

/* Lanes of c (m, n), m <= TFN__STEP, from column j on, where the diagonal cuts the chains: row i
 * has the steps p <= cut + i, or transposed the steps p >= i. So the first `cut` steps are of all
 * rows; of the next eight each has one row less, or transposed one more; transposed, those after
 * are of all rows again. Missing rows do what the last one does. */
static TFN__INLINE void TFN__N(tfn__wedge)(const tfn_matmul_args *t, ptrdiff_t cut,
                                           const bool transposed, ptrdiff_t j, ptrdiff_t lanes)
{
    const ptrdiff_t all = tfn__min(cut, t->k);
    const float *a[TFN__STEP];
    ptrdiff_t p = 0;
    TFN__V x[TFN__STEP];
    TFN__UNROLL
    for (int i = 0; i < TFN__STEP; i++) {
        const ptrdiff_t r = tfn__min(i, t->m - 1);
        a[i] = t->a + r * t->a_row;
        x[i] = TFN__SET(0);
        if (t->start) x[i] = TFN__GET(t->start + r * t->start_ld + j, lanes);
    }
    for (; p < all; p++) TFN__N(tfn__wedge_step)(t, x, a, p, j, lanes, 0, TFN__STEP);
    TFN__UNROLL
    for (int d = 0; d < TFN__STEP; d++)
        if (p < t->k) {
            if (transposed) TFN__N(tfn__wedge_step)(t, x, a, p, j, lanes, 0, d + 1);
            else TFN__N(tfn__wedge_step)(t, x, a, p, j, lanes, d, TFN__STEP);
            p++;
        }
    if (transposed)
        for (; p < t->k; p++) TFN__N(tfn__wedge_step)(t, x, a, p, j, lanes, 0, TFN__STEP);
    TFN__UNROLL
    for (int i = 0; i < TFN__STEP; i++)
        if (i < t->m) TFN__PUT(t->c + i * t->c_ld + j, x[i], lanes);
}

/* y (rows, D) = w (rows, keys) x (keys, D), or y + that: the keys that all rows see; then along the
 * diagonal, some rows at a time. */
static void TFN__N(tfn__over_keys)(const tfn__strip *a, float *y, ptrdiff_t y_ld, const float *w,
                                   bool add)
{
    const ptrdiff_t diagonal = a->keys - a->before;
    tfn_matmul_args t;

    /* keys that all rows see */
    TFNORM_MEMSET(&t, 0, sizeof t);
    t.c = y;
    if (add) t.start = y;
    t.a = w;
    t.b = a->x;
    t.m = a->rows;
    t.n = a->size;
    t.k = a->before;
    t.c_ld = y_ld;
    t.start_ld = y_ld;
    t.a_row = a->ld;
    t.a_col = 1;
    t.b_row = a->size;
    t.b_col = 1;
    if (t.k > 0 || diagonal <= 0) TFN__N(tfn__matmul)(&t, a->work);
    if (diagonal <= 0) return;

    /* the others, TFN__STEP rows at a time, which go on from what is in y */
    t.b += a->before * a->size;
    t.k = diagonal;
    for (ptrdiff_t i = 0; i < a->rows; i += TFN__STEP) {
        t.c = y + i*y_ld;
        if (a->before || add) t.start = t.c;
        t.a = w + i*a->ld + a->before;
        t.m = tfn__min(TFN__STEP, a->rows - i);
        TFN__EACH(j, lanes, t.n) TFN__N(tfn__wedge)(&t, i, false, j, lanes);
    }
}

/* The maxima of all rows, then all sums: no row waits for its own maximum. */
static void TFN__N(tfn__strip_forward)(const tfn__strip *a)
{
    const tfn_attention_args *p = a->p;
    float *y = p->y + tfn__q_at(a, p->y_ld);
    float stats[TFN__STRIP][2];                    /* of a row m and l */

    /* s = q k^T, and m */
    TFN__N(tfn__gather)(a->q, p->q + tfn__q_at(a, p->q_ld), p->q_ld, a->rows, a->size);
    TFN__N(tfn__scores)(a, a->s, a->q, a->kt);
    for (ptrdiff_t r = 0; r < a->rows; r++) {
        const ptrdiff_t n = tfn__seen(p, a->b, a->row + r);
        const float scale = TFN__N(tfn__cap_scores)(a->s + r*a->ld, n, p->scale, p->cap);
        stats[r][0] = TFN__N(tfn__scale_max)(a->s + r*a->ld, n, scale);
    }

    /* e = exp(s - m), and l, of all weights; then dropout takes some */
    for (ptrdiff_t r = 0; r < a->rows; r++) {
        const ptrdiff_t n = tfn__seen(p, a->b, a->row + r);
        stats[r][1] = TFN__N(tfn__exp_sum)(a->s + r*a->ld, n, stats[r][0]);
        TFN__N(tfn__drop_row)(a, a->s + r*a->ld, r, n);
        if (p->stats) TFNORM_MEMCPY(p->stats + tfn__stats_at(a, r), stats[r], sizeof stats[r]);
    }

    /* y = (e v)/l */
    TFN__N(tfn__over_keys)(a, y, p->y_ld, a->s, false);
    for (ptrdiff_t r = 0; r < a->rows; r++)
        TFN__N(tfn__divide_row)(y + r*p->y_ld, a->size, stats[r][1]);
}

/* Pair u of a sentence and a key/value head: its place in `work`, which attention_work counts, and
 * its keys packed. Without training there are no gradients' parts. */
static tfn__strip TFN__N(tfn__begin_pair)(const tfn_attention_args *p, ptrdiff_t u, float *work)
{
    const ptrdiff_t rows = tfn__min(p->tq, TFN__STRIP);
    const ptrdiff_t size = p->head_size;
    const ptrdiff_t floats = tfn__head_floats(p->tk, size);
    tfn__strip a;
    TFNORM_MEMSET(&a, 0, sizeof a);
    a.p = p;
    a.b = u / p->kv_heads;
    a.g = u % p->kv_heads;
    a.size = size;
    if (p->tq > 0) a.all = tfn__seen(p, a.b, p->tq - 1);
    a.ld = tfn__score_ld(p->tk);
    a.s = work;
    a.q = a.s + rows*a.ld;
    a.kt = a.q + rows*size;
    a.x = a.kt + floats;
    a.work = a.x + floats;
    if (TFN__TRAINS) {
        a.ds = a.work;
        a.dy = a.ds + rows*a.ld;
        a.vt = a.dy + rows*size;
        a.dk = a.vt + floats;
        a.dv = a.dk + floats;
        a.work = a.dv + floats;
    }
    TFN__N(tfn__pack_keys)(&a, a.kt, p->k, p->k_ld);
    return a;
}

/* Floats of `work`: s and q, kt and x; ds and dy, vt, dk and dv; what the products want. */
static ptrdiff_t TFN__N(tfn__attention_work)(ptrdiff_t tq, ptrdiff_t tk, ptrdiff_t head_size)
{
    const ptrdiff_t rows = tfn__min(tq, TFN__STRIP);
    const ptrdiff_t strip = rows * (tfn__score_ld(tk) + head_size);
    const ptrdiff_t head = tfn__head_floats(tk, head_size);
    ptrdiff_t floats = strip + 2*head;
    if (TFN__TRAINS) floats += strip + 3*head;
    if (tq <= 0) return tfn__score_ld(tk);                    /* of the cached form */
    return floats + tfn__max(TFN__N(tfn__matmul_work)(rows, head_size, tk),
                             TFN__N(tfn__matmul_work)(tk, head_size, rows));
}

/* The heads of a pair's group one after another, their strips in order: so the chains of dk and dv,
 * which all of them add to, go over heads and queries in increasing order. */
static void TFN__N(tfn__each_strip)(tfn__strip a, void (*strip)(const tfn__strip *a))
{
    const tfn_attention_args *p = a.p;
    const ptrdiff_t group = p->heads / p->kv_heads;
    for (a.h = a.g * group; a.h < (a.g + 1) * group; a.h++)
        for (a.row = 0; a.row < p->tq; a.row += a.rows) {
            a.rows = tfn__min(TFN__STRIP, p->tq - a.row);
            a.keys = tfn__seen(p, a.b, a.row + a.rows - 1);
            a.before = a.keys;
            if (p->causal) a.before = tfn__min(a.row, a.keys);
            strip(&a);
        }
}

/* Pairs first ... last - 1, in one work after the other. */
static void TFN__N(tfn__attention_forward)(const tfn_attention_args *p, ptrdiff_t first,
                                           ptrdiff_t last, float *work)
{
    for (ptrdiff_t u = first; u < last; u++) {
        const tfn__strip a = TFN__N(tfn__begin_pair)(p, u, work);
        TFN__N(tfn__gather)(a.x, p->v + tfn__k_at(&a, p->v_ld), p->v_ld, a.all, a.size);
        TFN__N(tfn__each_strip)(a, TFN__N(tfn__strip_forward));
    }
}

#ifndef TFNORM_NO_TRAINING
/* dv (keys, D) += w^T (keys, rows) dy (rows, D): the keys that all rows see; then along the
 * diagonal, some keys at a time, the triangle and the rows after it. Rows come in increasing order,
 * from strip to strip. */
static void TFN__N(tfn__over_rows)(const tfn__strip *a, float *dv, const float *w, const float *dy)
{
    const ptrdiff_t diagonal = a->keys - a->before;
    const ptrdiff_t size = a->size;
    tfn_matmul_args t;
    TFNORM_MEMSET(&t, 0, sizeof t);
    t.c = dv;
    t.start = dv;
    t.a = w;
    t.b = dy;
    t.m = a->before;
    t.n = size;
    t.k = a->rows;
    t.c_ld = size;
    t.start_ld = size;
    t.a_row = 1;
    t.a_col = a->ld;
    t.b_row = size;
    t.b_col = 1;
    TFN__N(tfn__matmul)(&t, a->work);

    /* key before + j is seen from row j of the strip on */
    for (ptrdiff_t j = 0; j < diagonal; j += TFN__STEP) {
        t.c = dv + (a->before + j)*size;
        t.start = t.c;
        t.a = w + j*a->ld + a->before + j;
        t.b = dy + j*size;
        t.m = tfn__min(TFN__STEP, diagonal - j);
        t.k = a->rows - j;
        TFN__EACH(l, lanes, size) TFN__N(tfn__wedge)(&t, 0, true, l, lanes);
    }
}

/* n capped scores u = cap tanh(scale s/cap): dp becomes (dp - dot) (1 - (u/cap)^2), the second
 * factor being the derivative of cap tanh(z/cap). */
static void TFN__N(tfn__cap_gradient)(float *dp, const float *u, ptrdiff_t n, float cap, float dot)
{
    const TFN__V c = TFN__SET(cap);
    const TFN__V t = TFN__SET(dot);
    const TFN__V one = TFN__SET(1);
    TFN__EACH(j, k, n) {
        const TFN__V v = TFN__DIV(TFN__GET(u + j, k), c);
        const TFN__V d = TFN__SUB(TFN__GET(dp + j, k), t);
        TFN__PUT(dp + j, TFN__MUL(d, TFN__SUB(one, TFN__MUL(v, v))), k);
    }
}

/* A row of n scores: s becomes p = e/l, and dp, which stands in ds, becomes
 * ds = p (dp - dot) scale. With a cap, dp - dot and the cap's factor come first. */
static void TFN__N(tfn__score_gradient)(const tfn_attention_args *how, float *s, float *ds,
                                        ptrdiff_t n, const float *stats, float dot)
{
    const TFN__V m = TFN__SET(stats[0]);
    const TFN__V l = TFN__SET(stats[1]);
    const TFN__V f = TFN__SET(how->scale);
    const TFN__V u = TFN__SET(TFN__N(tfn__cap_scores)(s, n, how->scale, how->cap));
    TFN__V t = TFN__SET(dot);
    if (how->cap > 0) {
        TFN__N(tfn__cap_gradient)(ds, s, n, how->cap, dot);
        t = TFN__SET(0);
    }
    for (ptrdiff_t j = 0; j < n; j += TFN__W) {
        const TFN__V e = TFN__N(tfn__vexp_tail)(TFN__SUB(TFN__MUL(TFN__LOAD(s + j), u), m));
        const TFN__V p = TFN__DIV(e, l);
        const TFN__V dp = TFN__LOAD(ds + j);
        TFN__STORE(s + j, p);
        TFN__STORE(ds + j, TFN__MUL(TFN__MUL(p, TFN__SUB(dp, t)), f));
    }
}

/* The scores again, which would take T numbers per query to save, and dp = dy v^T in the same way;
 * then ds and p, row by row; then products. */
static void TFN__N(tfn__strip_backward)(const tfn__strip *a)
{
    const tfn_attention_args *p = a->p;
    const ptrdiff_t at = tfn__q_at(a, p->q_ld);
    const float *y = p->y + tfn__q_at(a, p->y_ld);
    TFN__N(tfn__gather)(a->q, p->q + at, p->q_ld, a->rows, a->size);
    TFN__N(tfn__gather)(a->dy, p->dy + tfn__q_at(a, p->y_ld), p->y_ld, a->rows, a->size);
    TFN__N(tfn__scores)(a, a->s, a->q, a->kt);
    TFN__N(tfn__scores)(a, a->ds, a->dy, a->vt);
    for (ptrdiff_t r = 0; r < a->rows; r++) {
        const ptrdiff_t n = tfn__seen(p, a->b, a->row + r);
        const float dot = TFN__N(tfn__row_dot)(a->dy + r*a->size, y + r*p->y_ld, a->size);
        float *s = a->s + r*a->ld;
        float *ds = a->ds + r*a->ld;
        TFN__N(tfn__drop_row)(a, ds, r, n);
        TFN__N(tfn__score_gradient)(p, s, ds, n, p->stats + tfn__stats_at(a, r), dot);
        TFN__N(tfn__drop_row)(a, s, r, n);
    }

    /* dq = ds k, dk += ds^T q, dv += p^T dy */
    if (p->dq) TFN__N(tfn__over_keys)(a, p->dq + at, p->q_ld, a->ds, p->add_dq);
    if (p->dk) TFN__N(tfn__over_rows)(a, a->dk, a->ds, a->q);
    if (p->dv) TFN__N(tfn__over_rows)(a, a->dv, a->s, a->dy);
}

/* The chains of a head's keys, dk or dv, begin at 0, or at what is there. */
static void TFN__N(tfn__begin_chains)(const tfn__strip *a, float *sum, const float *dk,
                                      ptrdiff_t ld, bool add)
{
    if (!dk) return;
    if (add) TFN__N(tfn__gather)(sum, dk + tfn__k_at(a, ld), ld, a->all, a->size);
    else TFNORM_MEMSET(sum, 0, (size_t)(a->all * a->size) * sizeof(float));
}

/* They go to their place. Keys that no query sees have a gradient of 0. */
static void TFN__N(tfn__end_chains)(const tfn__strip *a, float *dk, const float *sum, ptrdiff_t ld,
                                    bool add)
{
    if (!dk) return;
    dk += tfn__k_at(a, ld);
    for (ptrdiff_t j = 0; j < a->all; j++) TFN__N(tfn__copy)(dk + j*ld, sum + j*a->size, a->size);
    if (add) return;
    for (ptrdiff_t j = a->all; j < a->p->tk; j++)
        TFNORM_MEMSET(dk + j*ld, 0, (size_t)a->size * sizeof(float));
}

/* All strips of a pair add to its dk and dv, which are gathered before and spread out after. */
static void TFN__N(tfn__attention_backward)(const tfn_attention_args *p, ptrdiff_t first,
                                            ptrdiff_t last, float *work)
{
    for (ptrdiff_t u = first; u < last; u++) {
        const tfn__strip a = TFN__N(tfn__begin_pair)(p, u, work);
        TFN__N(tfn__pack_keys)(&a, a.vt, p->v, p->v_ld);
        TFN__N(tfn__gather)(a.x, p->k + tfn__k_at(&a, p->k_ld), p->k_ld, a.all, a.size);
        TFN__N(tfn__begin_chains)(&a, a.dk, p->dk, p->k_ld, p->add_dk);
        TFN__N(tfn__begin_chains)(&a, a.dv, p->dv, p->v_ld, p->add_dv);
        TFN__N(tfn__each_strip)(a, TFN__N(tfn__strip_backward));
        TFN__N(tfn__end_chains)(&a, p->dk, a.dk, p->k_ld, p->add_dk);
        TFN__N(tfn__end_chains)(&a, p->dv, a.dv, p->v_ld, p->add_dv);
    }
}
#endif

/* One head of one sentence: the row that attention_forward would give, to the bit. Products of one
 * row with unit column stride need no scratch. */
static void TFN__N(tfn__cached_row)(const tfn_attention_cached_args *p, ptrdiff_t b, ptrdiff_t h,
                                    float *work)
{
    const ptrdiff_t size = p->head_size;
    const ptrdiff_t group = p->heads / p->kv_heads;
    const float *q = p->q + b*p->q_ld + h*size;
    float *y = p->y + b*p->y_ld + h*size;
    ptrdiff_t from = b;                            /* row of the cache */
    ptrdiff_t n = p->count;                        /* keys */
    ptrdiff_t cache;
    float scale;
    float max;
    float sum;
    tfn_matmul_args t;
    if (p->beam) from = p->beam[b];
    if (p->lengths) n = p->lengths[b];
    n = tfn__max(tfn__min(n, p->capacity), 0);
    cache = (from*p->kv_heads + h / group) * size * p->capacity;

    TFNORM_MEMSET(&t, 0, sizeof t);                /* s = q k^T: keys lie in the lanes */
    t.c = work;
    t.a = q;
    t.b = p->k_cache + cache;
    t.m = 1;
    t.n = n;
    t.k = size;
    t.a_col = 1;
    t.b_row = p->capacity;
    t.b_col = 1;
    TFN__N(tfn__matmul)(&t, work);
    scale = TFN__N(tfn__cap_scores)(work, n, p->scale, p->cap);
    max = TFN__N(tfn__scale_max)(work, n, scale);
    sum = TFN__N(tfn__exp_sum)(work, n, max);

    t.c = y;                                       /* y = e v / sum */
    t.a = work;
    t.b = p->v_cache + cache;
    t.n = size;
    t.k = n;
    t.b_row = size;
    TFN__N(tfn__matmul)(&t, work);
    TFN__N(tfn__divide_row)(y, size, sum);
}

static void TFN__N(tfn__attention_cached)(const tfn_attention_cached_args *p, ptrdiff_t first,
                                          ptrdiff_t last, float *work)
{
    const ptrdiff_t group = p->heads / p->kv_heads;
    for (ptrdiff_t u = first; u < last; u++)
        for (ptrdiff_t h = 0; h < group; h++)
            TFN__N(tfn__cached_row)(p, u / p->kv_heads, u % p->kv_heads * group + h, work);
}
#endif /* TFN__BODY */
/* >> ffn */
#ifdef TFN__BODY
/* Functions of single values. Activations: ReLU; GELU = x Phi(x) (Hendrycks & Gimpel 2016) and its
 * tanh form; SiLU = x/(1 + exp(-x)); tanh. Gated units y = f(gate) * up (Shazeer 2020): GEGLU with
 * GELU, SwiGLU with SiLU. Nothing is saved: the backward computes from x again. */

/* Phi(x) = (1 + erf(x/sqrt 2))/2, the normal distribution. */
static TFN__INLINE TFN__V TFN__N(tfn__vphi)(TFN__V x)
{
    const TFN__V half = TFN__SET((float)0.5);
    const TFN__V root = TFN__SET((float)0.70710678118654752);          /* sqrt(1/2) */
    return TFN__FMA(half, TFN__N(tfn__verf)(TFN__MUL(x, root)), half);
}

/* f(x) of each kind; kind is constant where this is used, so only one branch remains. The tanh form
 * of GELU, x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), is a logistic function:
 * (1 + tanh u)/2 = 1/(1 + exp(-2u)), with 2u = x (c + b x^2). */
static TFN__INLINE TFN__V TFN__N(tfn__vactivation)(TFN__V x, const tfn_activation_kind kind)
{
    const TFN__V c = TFN__SET((float)1.5957691216057307);          /* 2 sqrt(2/pi) */
    const TFN__V b = TFN__SET((float)(1.5957691216057307 * 0.044715));
    switch (kind) {
    case TFN_ACTIVATION_RELU: return TFN__MAX(TFN__SET(0), x);
    case TFN_ACTIVATION_TANH: return TFN__N(tfn__vtanh)(x);
    case TFN_ACTIVATION_SILU: return TFN__N(tfn__vlogistic)(x, x);
    case TFN_ACTIVATION_GELU: return TFN__MUL(x, TFN__N(tfn__vphi)(x));
    case TFN_ACTIVATION_GELU_TANH:
        return TFN__N(tfn__vlogistic)(x, TFN__MUL(x, TFN__FMA(b, TFN__MUL(x, x), c)));
    default: return x;
    }
}

/* The derivative of x s, s = 1/(1 + e), e = exp(-u): s + x s (1 - s) u' = s (1 + v (1 - s)) with
 * v = x u'. 1 - s = e s does not cancel. Callers limit |x| so that v is finite; beyond, the
 * derivative is 0 or 1. */
static TFN__INLINE TFN__V TFN__N(tfn__logistic_derivative)(TFN__V u, TFN__V v)
{
    const TFN__V one = TFN__SET(1);
    const TFN__V e = TFN__N(tfn__vexp_near)(TFN__SUB(TFN__SET(0), u));
    const TFN__V s = TFN__DIV(one, TFN__ADD(one, e));
    return TFN__N(tfn__vlogistic_tail)(TFN__MUL(s, TFN__FMA(v, TFN__MUL(e, s), one)), e);
}

/* f'(x). ReLU: 1 above 0; tanh: 1 - t^2; GELU: Phi + x phi, phi = exp(-x^2/2)/sqrt(2 pi). SiLU is
 * x s with u = x; the tanh form is x s with u = x (c + b x^2) as above, so x u' = x (c + 3 b x^2).
 * At the limits of x, and beyond, both derivatives are 0 or 1. */
static TFN__INLINE TFN__V TFN__N(tfn__vderivative)(TFN__V x, const tfn_activation_kind kind)
{
    const TFN__V one = TFN__SET(1);
    const TFN__V zero = TFN__SET(0);
    const TFN__V c = TFN__SET((float)1.5957691216057307);          /* 2 sqrt(2/pi) */
    const TFN__V b = TFN__SET((float)(1.5957691216057307 * 0.044715));
    const TFN__V b3 = TFN__SET((float)(1.5957691216057307 * 0.044715 * 3));
    TFN__V u;
    switch (kind) {
    case TFN_ACTIVATION_RELU: return TFN__LESS(zero, x, one, zero);
    case TFN_ACTIVATION_TANH:
        u = TFN__N(tfn__vtanh)(x);
        return TFN__SUB(one, TFN__MUL(u, u));
    case TFN_ACTIVATION_SILU:
        x = TFN__N(tfn__vlimit)(x, (float)-88, (float)88);
        return TFN__N(tfn__logistic_derivative)(x, x);
    case TFN_ACTIVATION_GELU:
        u = TFN__N(tfn__vexp_tail)(TFN__MUL(TFN__MUL(TFN__SET((float)-0.5), x), x));
        u = TFN__MUL(TFN__SET((float)0.39894228040143268), u);
        return TFN__FMA(x, u, TFN__N(tfn__vphi)(x));
    case TFN_ACTIVATION_GELU_TANH:
        x = TFN__N(tfn__vlimit)(x, (float)-10, (float)10);
        u = TFN__MUL(x, x);
        return TFN__N(tfn__logistic_derivative)(TFN__MUL(x, TFN__FMA(b, u, c)),
                                                TFN__MUL(x, TFN__FMA(b3, u, c)));
    default: return one;
    }
}

/* Choose the kind once, outside the loop: `call` makes a loop for each kind, in which it is a
 * constant. */
#define TFN__KINDS(kind, call)                                                                 \
    switch (kind) {                                                                            \
    case TFN_ACTIVATION_RELU: call(TFN_ACTIVATION_RELU); break;                                \
    case TFN_ACTIVATION_GELU: call(TFN_ACTIVATION_GELU); break;                                \
    case TFN_ACTIVATION_SILU: call(TFN_ACTIVATION_SILU); break;                                \
    case TFN_ACTIVATION_TANH: call(TFN_ACTIVATION_TANH); break;                                \
    case TFN_ACTIVATION_IDENTITY: call(TFN_ACTIVATION_IDENTITY); break;                        \
    default: call(TFN_ACTIVATION_GELU_TANH); break;                                            \
    }

/* y = f(x). */
static void TFN__N(tfn__activation_forward)(float *y, const float *x, ptrdiff_t n,
                                            tfn_activation_kind kind)
{
#define TFN__CALL(which) \
    TFN__EACH(i, k, n) TFN__PUT(y + i, TFN__N(tfn__vactivation)(TFN__GET(x + i, k), which), k)
    TFN__KINDS(kind, TFN__CALL)
#undef TFN__CALL
}

/* y = a * b element by element, or y += that. */
static TFN__APART void TFN__N(tfn__multiply)(float *y, const float *a, const float *b, ptrdiff_t n,
                                             bool add)
{
    TFN__EACH(i, k, n) {
        const TFN__V v = TFN__MUL(TFN__GET(a + i, k), TFN__GET(b + i, k));
        TFN__N(tfn__store_or_add)(y + i, v, k, add);
    }
}

/* So many values at a time, that f(gate) stays in the first cache. */
#define TFN__GATED_BLOCK 256
static void TFN__N(tfn__gated_forward)(float *y, const float *gate, const float *up, ptrdiff_t n,
                                       tfn_activation_kind kind)
{
    float t[TFN__GATED_BLOCK];
    for (ptrdiff_t i = 0; i < n; i += TFN__GATED_BLOCK) {
        const ptrdiff_t count = tfn__min(n - i, TFN__GATED_BLOCK);
        TFN__N(tfn__activation_forward)(t, gate + i, count, kind);
        TFN__N(tfn__multiply)(y + i, t, up + i, count, false);
    }
}

#ifndef TFNORM_NO_TRAINING
/* dx = f'(x) * dy. */
static void TFN__N(tfn__activation_backward)(float *dx, const float *dy, const float *x,
                                             ptrdiff_t n, tfn_activation_kind kind, bool add)
{
#define TFN__CALL(which)                                                                       \
    TFN__EACH(i, k, n) {                                                                       \
        const TFN__V d = TFN__N(tfn__vderivative)(TFN__GET(x + i, k), which);                  \
        TFN__N(tfn__store_or_add)(dx + i, TFN__MUL(d, TFN__GET(dy + i, k)), k, add);           \
    }
    TFN__KINDS(kind, TFN__CALL)
#undef TFN__CALL
}

/* dup = dy * f(gate), dgate = dy * up * f'(gate). */
static void TFN__N(tfn__gated_backward)(float *dgate, float *dup, const float *dy,
                                        const float *gate, const float *up, ptrdiff_t n,
                                        tfn_activation_kind kind, bool add_gate, bool add_up)
{
    float f[TFN__GATED_BLOCK];                           /* f(gate) */
    float d[TFN__GATED_BLOCK];                           /* dy * up */
    for (ptrdiff_t i = 0; i < n; i += TFN__GATED_BLOCK) {
        const ptrdiff_t count = tfn__min(n - i, TFN__GATED_BLOCK);
        if (dup) {
            TFN__N(tfn__activation_forward)(f, gate + i, count, kind);
            TFN__N(tfn__multiply)(dup + i, dy + i, f, count, add_up);
        }
        if (!dgate) continue;
        TFN__N(tfn__multiply)(d, dy + i, up + i, count, false);
        TFN__N(tfn__activation_backward)(dgate + i, d, gate + i, count, kind, add_gate);
    }
}
#endif
#undef TFN__KINDS
#undef TFN__GATED_BLOCK

/* y = x * v, a factor for each column. */
static void TFN__N(tfn__scale_columns)(float *y, const float *x, const float *v, ptrdiff_t rows,
                                       ptrdiff_t cols, bool add)
{
    for (ptrdiff_t r = 0; r < rows; r++, x += cols, y += cols)
        TFN__EACH(c, k, cols) {
            const TFN__V u = TFN__MUL(TFN__GET(x + c, k), TFN__GET(v + c, k));
            TFN__N(tfn__store_or_add)(y + c, u, k, add);
        }
}

#ifndef TFNORM_NO_TRAINING
/* dv = the sum over the rows of dy * x, a chain for each column; rows are ld apart. */
static void TFN__N(tfn__scale_columns_backward)(float *dv, const float *dy, const float *x,
                                                ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t ld,
                                                bool add)
{
    TFN__EACH(c, k, cols) {
        TFN__V sum = TFN__SET(0);
        if (add) sum = TFN__GET(dv + c, k);
        for (ptrdiff_t r = 0; r < rows; r++)
            sum = TFN__FMA(TFN__GET(dy + r*ld + c, k), TFN__GET(x + r*ld + c, k), sum);
        TFN__PUT(dv + c, sum, k);
    }
}
#endif
#endif /* TFN__BODY */
/* >> embed */
#ifdef TFN__BODY
/* Tokens and positions: rows of a table are looked up, added, or turned by. Their gradients go to
 * the rows that were read, in the order of the tokens, so that the sums have one order; threads
 * share out the columns. */

/* y (rows, cols) = scale * table[token]; zeros for a token that is none. */
static void TFN__N(tfn__embed_forward)(float *y, const float *table, const int32_t *tokens,
                                       ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t vocab, float scale)
{
    const TFN__V s = TFN__SET(scale);
    for (ptrdiff_t r = 0; r < rows; r++, y += cols) {
        const float *row = table;
        if (tokens[r] < 0 || tokens[r] >= vocab) {
            TFNORM_MEMSET(y, 0, (size_t)cols * sizeof(float));
            continue;
        }
        row += tokens[r] * cols;
        TFN__EACH(c, k, cols) TFN__PUT(y + c, TFN__MUL(s, TFN__GET(row + c, k)), k);
    }
}

/* y = x + table[start + t], of rows (batch, time). */
static void TFN__N(tfn__position_forward)(float *y, const float *x, const float *table,
                                          ptrdiff_t batch, ptrdiff_t time, ptrdiff_t cols,
                                          ptrdiff_t start)
{
    for (ptrdiff_t b = 0; b < batch; b++)
        for (ptrdiff_t t = 0; t < time; t++, x += cols, y += cols) {
            const float *row = table + (start + t) * cols;
            TFN__EACH(c, k, cols)
                TFN__PUT(y + c, TFN__ADD(TFN__GET(x + c, k), TFN__GET(row + c, k)), k);
        }
}

#ifndef TFNORM_NO_TRAINING
/* dtable[token] += scale * dy, token after token; rows are ld apart. Two tokens may be the same:
 * so threads share out columns here, not tokens. */
static void TFN__N(tfn__embed_backward)(float *dtable, const float *dy, const int32_t *tokens,
                                        ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t ld,
                                        ptrdiff_t vocab, float scale)
{
    const TFN__V s = TFN__SET(scale);
    for (ptrdiff_t r = 0; r < rows; r++, dy += ld) {
        float *row = dtable;
        if (tokens[r] < 0 || tokens[r] >= vocab) continue;
        row += tokens[r] * ld;
        TFN__EACH(c, k, cols)
            TFN__PUT(row + c, TFN__FMA(s, TFN__GET(dy + c, k), TFN__GET(row + c, k)), k);
    }
}

/* dtable[start + t] = the sum of dy over the batch, a chain; rows are ld apart. */
static void TFN__N(tfn__position_backward)(float *dtable, const float *dy, ptrdiff_t batch,
                                           ptrdiff_t time, ptrdiff_t cols, ptrdiff_t ld,
                                           ptrdiff_t start, bool add)
{
    for (ptrdiff_t t = 0; t < time; t++) {
        float *row = dtable + (start + t) * ld;
        TFN__EACH(c, k, cols) {
            TFN__V sum = TFN__SET(0);
            if (add) sum = TFN__GET(row + c, k);
            for (ptrdiff_t b = 0; b < batch; b++)
                sum = TFN__ADD(sum, TFN__GET(dy + (b*time + t) * ld + c, k));
            TFN__PUT(row + c, sum, k);
        }
    }
}
#endif

/* One head of rotary positions (Su et al. 2021, eq. 15): each pair (a, b) = (x[j], x[j + D/2]) is
 * turned by its angle, (a cos - b sin, b cos + a sin). `half` is D/2; the table holds the cosines,
 * then the sines. The inverse turns back, which is the gradient. */
static TFN__INLINE void TFN__N(tfn__rotate_head)(float *y, const float *x, const float *table,
                                                 ptrdiff_t half, bool inverse, bool add)
{
    TFN__EACH(j, k, half) {
        const TFN__V a = TFN__GET(x + j, k);
        const TFN__V b = TFN__GET(x + half + j, k);
        const TFN__V c = TFN__GET(table + j, k);
        TFN__V s = TFN__GET(table + half + j, k);
        TFN__V u, v;
        if (inverse) s = TFN__SUB(TFN__SET(0), s);
        u = TFN__SUB(TFN__MUL(a, c), TFN__MUL(b, s));
        v = TFN__ADD(TFN__MUL(b, c), TFN__MUL(a, s));
        if (add) {
            u = TFN__ADD(TFN__GET(y + j, k), u);
            v = TFN__ADD(TFN__GET(y + half + j, k), v);
        }
        TFN__PUT(y + j, u, k);
        TFN__PUT(y + half + j, v, k);
    }
}

/* All heads of rows (batch, time); the row at time t has position start + t. */
static void TFN__N(tfn__rotary)(float *y, const float *x, const float *table, ptrdiff_t batch,
                                ptrdiff_t time, ptrdiff_t heads, ptrdiff_t head_size,
                                ptrdiff_t start, bool inverse, bool add)
{
    for (ptrdiff_t b = 0; b < batch; b++)
        for (ptrdiff_t t = 0; t < time; t++)
            for (ptrdiff_t h = 0; h < heads; h++, x += head_size, y += head_size)
                TFN__N(tfn__rotate_head)(y, x, table + (start + t) * head_size, head_size / 2,
                                         inverse, add);
}
#endif /* TFN__BODY */
/* >> loss */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY
/* Cross-entropy, and the step of an optimizer: `reference` has both in plain loops, without label
 * smoothing and for AdamW alone. */

/* Label smoothing e over n classes spreads `each` on every class and leaves `rest` to the true one:
 * loss = rest * nll + each * sum_v(-log p_v). Kind 0: each = e/V (Szegedy 2016; PyTorch, the
 * papers' fairseq); kind 1: each = e/(V-1), the true class keeps exactly 1-e (later fairseq). */
static inline void tfn__smooth(double e, int32_t kind, ptrdiff_t n, double *each, double *rest)
{
    if (kind) {
        *each = e / (double)tfn__max(n - 1, 1);
        *rest = 1 - e - *each;
    } else {
        *each = e / (double)tfn__max(n, 1);
        *rest = 1 - e;
    }
}

#ifndef TFNORM_NO_TRAINING
/* Is the decay added to the gradient, as an L2 penalty is? Else the weights shrink beside the step
 * (Loshchilov & Hutter 2019). */
static inline bool tfn__decay_is_coupled(const tfn_update_args *u)
{
    const bool torch_radam = u->optimizer == TFN_OPTIMIZER_RADAM && u->radam == TFN_RADAM_PYTORCH;
    return u->optimizer == TFN_OPTIMIZER_SGD || u->optimizer == TFN_OPTIMIZER_ADAM || torch_radam;
}
#endif
#endif

#ifdef TFN__BODY
/* sum(max - x): how far below the maximum the row lies, all classes together. */
static float TFN__N(tfn__row_below)(const float *x, ptrdiff_t n, float max)
{
    const TFN__V m = TFN__SET(max);
    TFN__V acc[TFN__LANES];
    TFN__N(tfn__zero_lanes)(acc);
    TFN__EACH16(l, i, k, n, {
        const TFN__V d = TFN__SUB(m, TFN__GET(x + i, k));
        acc[l] = TFN__ADD(acc[l], TFN__N(tfn__first_lanes)(d, k));
    });
    return TFN__N(tfn__tree)(acc);
}

/* With m = max x, l = sum exp(x - m): nll = log l + m - x_y, and
 * sum_v(-log p_v) = V log l + sum(m - x). In double from l on, then rounded. A row whose target is
 * no class has loss 0. m and l are kept. */
static void TFN__N(tfn__cross_entropy_forward)(float *loss, float *nll, float *stats,
                                               const float *logits, const int32_t *targets,
                                               ptrdiff_t rows, ptrdiff_t cols, float smoothing,
                                               int32_t kind)
{
    const float *x = logits;
    double each, rest;
    tfn__smooth((double)smoothing, kind, cols, &each, &rest);
    for (ptrdiff_t r = 0; r < rows; r++, x += cols) {
        const int32_t y = targets[r];
        double hard = 0;                           /* nll */
        double smooth = 0;
        if (y >= 0 && y < cols) {
            const float max = TFN__N(tfn__row_max)(x, cols);
            const float sum = TFN__N(tfn__row_exp_sum)(NULL, x, cols, max);
            const double z = tfn__log((double)sum);
            hard = z + ((double)max - (double)x[y]);
            smooth = hard;
            if (smoothing > 0) {
                const double below = (double)TFN__N(tfn__row_below)(x, cols, max);
                smooth = rest*hard + each*((double)cols * z + below);
            }
            stats[2*r] = max;
            stats[2*r + 1] = sum;
        }
        loss[r] = (float)smooth;
        if (nll) nll[r] = (float)hard;
    }
}

#ifndef TFNORM_NO_TRAINING
/* dx = scale * exp(x - max) - share, of n classes that have the same share of the target. */
static void TFN__N(tfn__classes_gradient)(float *dx, const float *x, ptrdiff_t n, float max,
                                          float scale, float share, bool add)
{
    const TFN__V m = TFN__SET(max);
    const TFN__V s = TFN__SET(scale);
    const TFN__V t = TFN__SET(-share);
    TFN__EACH(i, k, n) {
        const TFN__V e = TFN__N(tfn__vexp_tail)(TFN__SUB(TFN__GET(x + i, k), m));
        TFN__N(tfn__store_or_add)(dx + i, TFN__FMA(s, e, t), k, add);
    }
}

/* dx_v = dloss * (p_v - each - rest [v = y]), p = exp(x - m)/l: the classes before the true one, y,
 * that one, and those after it. A dloss that is NULL is 1. */
static void TFN__N(tfn__cross_entropy_backward)(float *dlogits, const float *dloss,
                                                const float *stats, const float *logits,
                                                const int32_t *targets, ptrdiff_t rows,
                                                ptrdiff_t cols, float smoothing, int32_t kind,
                                                bool add)
{
    double each, rest;
    tfn__smooth((double)smoothing, kind, cols, &each, &rest);
    for (ptrdiff_t r = 0; r < rows; r++, dlogits += cols, logits += cols) {
        const ptrdiff_t y = targets[r];
        const ptrdiff_t after = y + 1;
        const float m = stats[2*r];
        float d = 1;
        if (dloss) d = dloss[r];
        if (y >= 0 && y < cols) {
            const float s = d / stats[2*r + 1];
            const float false_share = (float)((double)d * each);
            const float true_share = (float)((double)d * (each + rest));
            TFN__N(tfn__classes_gradient)(dlogits, logits, y, m, s, false_share, add);
            TFN__N(tfn__classes_gradient)(dlogits + y, logits + y, 1, m, s, true_share, add);
            TFN__N(tfn__classes_gradient)(dlogits + after, logits + after, cols - after, m, s,
                                          false_share, add);
        } else if (!add) {
            for (ptrdiff_t c = 0; c < cols; c++) dlogits[c] = 0;
        }
    }
}

/* -- the optimizers' pass over parameters p and moments m, v, once through memory --------------
 * Moments below 2^-100 become 0: those of a row that is no longer used would end as denormals. So a
 * gradient below 2^-100 counts as 0, the square of one below 2^-50 too, and Adam does not move what
 * has no second moment. (Weights that only decay take ages: at a rate of 1e-3 and a decay of 0.1
 * 800,000 updates to the first denormal.) */

/* SGD's step of k weights from i on: lr m, m = b1 m + g; Nesterov's lr (g + b1 m); without m lr g.
 * PyTorch's form. */
static TFN__INLINE TFN__V TFN__N(tfn__sgd_step)(float *m, TFN__V g, ptrdiff_t i, ptrdiff_t k,
                                                const tfn_update_args *u)
{
    const TFN__V b1 = TFN__SET(u->beta1);
    TFN__V mean;
    if (!m) return TFN__MUL(TFN__SET(u->lr), g);
    mean = TFN__N(tfn__vcut)(TFN__FMA(b1, TFN__GET(m + i, k), g), TFN__LEAST);
    TFN__PUT(m + i, mean, k);
    if (u->nesterov) mean = TFN__FMA(b1, mean, g);
    return TFN__MUL(TFN__SET(u->lr), mean);
}

/* Adam's (Kingma & Ba 2015, algorithm 1): m = b1 m + (1-b1) g, v = b2 v + (1-b2) g^2, step
 * step_size * m / (root * sqrt v + eps), where the corrections of the bias are in step_size and
 * root; RAdam's, while v is not to be trusted, step_size * m. */
static TFN__INLINE TFN__V TFN__N(tfn__adam_step)(float *m, float *v, TFN__V g, ptrdiff_t i,
                                                 ptrdiff_t k, const tfn_update_args *u)
{
    const TFN__V one = TFN__SET(1);
    const TFN__V b1 = TFN__SET(u->beta1);
    const TFN__V b2 = TFN__SET(u->beta2);
    TFN__V mean, square, step;
    mean = TFN__FMA(b1, TFN__GET(m + i, k), TFN__MUL(TFN__SUB(one, b1), g));
    mean = TFN__N(tfn__vcut)(mean, TFN__LEAST);
    g = TFN__N(tfn__vcut)(g, TFN__LEAST_ROOT);
    square = TFN__FMA(b2, TFN__GET(v + i, k), TFN__MUL(TFN__MUL(TFN__SUB(one, b2), g), g));
    square = TFN__N(tfn__vcut)(square, TFN__LEAST);
    TFN__PUT(m + i, mean, k);
    TFN__PUT(v + i, square, k);
    step = TFN__MUL(TFN__SET(u->step_size), mean);
    if (!u->adaptive) return step;
    step = TFN__DIV(step, TFN__FMA(TFN__ROOT(square), TFN__SET(u->root), TFN__SET(u->eps)));
    return TFN__LESS(square, TFN__SET(TFN__LEAST), TFN__SET(0), step);
}

/* p -= step, with the gradient times grad_scale; decay is coupled (g += decay * p) or not
 * (p -= lr * decay * p). An update that is skipped changes the moments alone. */
static void TFN__N(tfn__update)(float *p, const float *g, float *m, float *v, ptrdiff_t n,
                                const tfn_update_args *u)
{
    const TFN__V scale = TFN__SET(u->grad_scale);
    const TFN__V decay = TFN__SET(u->decay);
    const TFN__V shrink = TFN__SET(u->lr * u->decay);
    const bool coupled = tfn__decay_is_coupled(u) && u->decay > 0;
    const bool decoupled = !tfn__decay_is_coupled(u) && u->decay > 0;
    TFN__EACH(i, k, n) {
        TFN__V x = TFN__GET(p + i, k);
        TFN__V d = TFN__N(tfn__vcut)(TFN__GET(g + i, k), TFN__LEAST);
        d = TFN__MUL(d, scale);
        if (coupled) d = TFN__FMA(decay, x, d);
        if (u->optimizer == TFN_OPTIMIZER_SGD) d = TFN__N(tfn__sgd_step)(m, d, i, k, u);
        else d = TFN__N(tfn__adam_step)(m, v, d, i, k, u);
        if (u->skip) continue;
        if (decoupled) x = TFN__SUB(x, TFN__MUL(shrink, x));
        TFN__PUT(p + i, TFN__SUB(x, d), k);
    }
}
#endif
#endif /* TFN__BODY */
/* >> table */
#ifdef TFN__BODY
/* The instance's public table, in the order of the struct. Training kernels are NULL without
 * training, so that a decoder links without them, and so are norms that it does not ask for. */
#ifdef TFNORM_NO_TRAINING       /* a kernel that only training wants */
#define TFN__TRAIN(function) NULL
#else
#define TFN__TRAIN(function) function
#endif
#ifdef TFN__EXTRA_NORMS         /* a kernel that only norms beyond the usual two want */
#define TFN__EXTRA(function) function
#else
#define TFN__EXTRA(function) NULL
#endif

#ifdef TFN__NO_FMA              /* a*b + c with one rounding? Plain C may have it */
#define TFN__HAS_FMA false
#elif TFN__W == 1
#define TFN__HAS_FMA TFN__PLAIN_FMA
#else
#define TFN__HAS_FMA true
#endif
static const tfn_kernels TFN__N(tfn__kernels) = {
    TFN__ISA_NAME, TFN__ISA_ID, TFN__HAS_FMA,
    /* products */
    TFN__N(tfn__matmul),
    TFN__N(tfn__matmul_work),
    TFN__TRAIN(TFN__N(tfn__column_sum)),
    /* norms and softmax of rows */
    TFN__LIGHT(tfn__norm_forward),
    TFN__TRAIN(TFN__LIGHT(tfn__norm_backward)),
    TFN__TRAIN(TFN__LIGHT(tfn__norm_params_backward)),
    TFN__LIGHT(tfn__softmax_forward),
    TFN__TRAIN(TFN__LIGHT(tfn__softmax_backward)),
    /* attention */
    TFN__N(tfn__attention_forward),
    TFN__TRAIN(TFN__N(tfn__attention_backward)),
    TFN__N(tfn__attention_work),
    TFN__LIGHT(tfn__attention_cached),
    /* activations and gated units */
    TFN__N(tfn__activation_forward),
    TFN__TRAIN(TFN__N(tfn__activation_backward)),
    TFN__N(tfn__gated_forward),
    TFN__TRAIN(TFN__N(tfn__gated_backward)),
    /* tokens and positions */
    TFN__LIGHT(tfn__embed_forward),
    TFN__TRAIN(TFN__LIGHT(tfn__embed_backward)),
    TFN__LIGHT(tfn__position_forward),
    TFN__TRAIN(TFN__LIGHT(tfn__position_backward)),
    TFN__LIGHT(tfn__rotary),
    /* dropout, sums, scales, and sums of all values */
    TFN__TRAIN(TFN__N(tfn__dropout)),
    TFN__LIGHT(tfn__combine),
    TFN__LIGHT(tfn__scale_columns),
    TFN__TRAIN(TFN__LIGHT(tfn__scale_columns_backward)),
    TFN__LIGHT(tfn__dot),
    TFN__EXTRA(TFN__LIGHT(tfn__absmax)),
    /* loss, update */
    TFN__TRAIN(TFN__N(tfn__cross_entropy_forward)),
    TFN__TRAIN(TFN__N(tfn__cross_entropy_backward)),
    TFN__TRAIN(TFN__LIGHT(tfn__update)),
    /* elementary functions */
    TFN__LIGHT(tfn__exp),
    TFN__LIGHT(tfn__tanh),
    TFN__LIGHT(tfn__erf)
};
/* leave nothing of this instance behind */
#undef TFN__TRAIN
#undef TFN__EXTRA
#undef TFN__LIGHT
#undef TFN__HAS_FMA
#undef TFN__NO_FMA
#undef TFN__N
#undef TFN__ISA_NAME
#undef TFN__ISA_ID
#undef TFN__W
#undef TFN__V
#undef TFN__LOAD
#undef TFN__STORE
#undef TFN__LOADN
#undef TFN__STOREN
#undef TFN__MASK
#undef TFN__SET
#undef TFN__SETBITS
#undef TFN__ADD
#undef TFN__SUB
#undef TFN__MUL
#undef TFN__DIV
#undef TFN__FMA
#undef TFN__MIN
#undef TFN__MAX
#undef TFN__ROOT
#undef TFN__LESS
#undef TFN__BITS
#undef TFN__AND
#undef TFN__OR
#undef TFN__EXP2
#undef TFN__SCALE
#undef TFN__QROW
#undef TFN__QLOAD
#undef TFN__ZIPLO
#undef TFN__ZIPHI
#undef TFN__GET
#undef TFN__PUT
#undef TFN__EACH
#undef TFN__LANES
#endif /* TFN__BODY */
/* >> instances */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY
/* One instance of the kernels per instruction set. Contraction is off in all of them. gcc 12 does
 * not make fast loops of these bodies at -O2, so they ask for the parts of -O3 that pay, which
 * takes a second less than all of it. Plain C next to others, and the 128-bit sets next to wider
 * ones, which few processors run, are for a short compilation. The 128-bit set with FMA must not
 * use wider registers on its own: see TFN__X86_WIDE. */
#if defined __GNUC__ && !defined __clang__ && !defined __OPTIMIZE_SIZE__ && !defined TFNORM_DEBUG
#define TFN__TUNED            /* by gcc's pragmas */
#endif
#define TFN__BODY
#ifdef TFN__X86
#ifdef TFN__TUNED
#pragma GCC push_options
#pragma GCC optimize("Og", "fp-contract=off")
#endif
TFN__SMALL
#define TFN__USE_PLAIN
#include TFNORM_FILE
#undef TFN__USE_PLAIN
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("sse2"))), apply_to = function)
#elif defined TFN__TUNED && !defined TFN__X86_WIDE
#pragma GCC optimize("O2", "peel-loops", "split-loops", "vect-cost-model=dynamic")
#pragma GCC optimize("fp-contract=off")
#elif defined TFN__TUNED
#pragma GCC optimize("O1", "fp-contract=off")
#endif
#define TFN__USE_SSE2
#include TFNORM_FILE
#undef TFN__USE_SSE2
#ifdef __clang__
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx,fma"))), apply_to = function)
#elif defined __GNUC__
#pragma GCC push_options
#pragma GCC target("avx,fma,prefer-vector-width=128")
#endif
#define TFN__USE_FMA128
#include TFNORM_FILE
#undef TFN__USE_FMA128
#ifdef __clang__
#pragma clang attribute pop
#elif defined __GNUC__
#pragma GCC pop_options
#endif
TFN__SMALL_END
#ifdef TFN__TUNED
#pragma GCC pop_options
#endif
#endif /* TFN__X86 */

#ifdef TFN__TUNED
#pragma GCC push_options
#pragma GCC optimize("O2", "peel-loops", "split-loops", "unswitch-loops")
#pragma GCC optimize("vect-cost-model=dynamic", "fp-contract=off")
#endif
#ifndef TFN__X86
#define TFN__USE_PLAIN
#include TFNORM_FILE
#undef TFN__USE_PLAIN
#endif

#ifdef TFN__X86_WIDE
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#elif defined __GNUC__
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define TFN__USE_AVX2
#include TFNORM_FILE
#undef TFN__USE_AVX2
#ifdef __clang__
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f,avx2,fma"))), apply_to = function)
#elif defined __GNUC__
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx2,fma")
#endif
#pragma GCC diagnostic push             /* those of which AVX2's serve: see TFN__LIGHT */
#pragma GCC diagnostic ignored "-Wunused-function"
#define TFN__USE_AVX512
#include TFNORM_FILE
#undef TFN__USE_AVX512
#pragma GCC diagnostic pop
#ifdef __clang__
#pragma clang attribute pop
#elif defined __GNUC__
#pragma GCC pop_options
#endif
#endif /* TFN__X86_WIDE */

#ifdef TFN__NEON
#define TFN__USE_NEON
#include TFNORM_FILE
#undef TFN__USE_NEON
#endif
#ifdef TFN__WASM
#define TFN__USE_WASM
#include TFNORM_FILE
#undef TFN__USE_WASM
#endif
#undef TFN__BODY

/* The nearest IEEE halves, ties to even; infinite from 65520 on. Adding and taking away 2^13 times
 * the power of two below |x|, at least 2^-14, rounds to 11 bits. Without a branch it is vectors,
 * where -O3 is on, and 7 times as fast. */
static inline void tfn__round_to_half(float *p, ptrdiff_t n)
{
    if (!p) return;
    for (ptrdiff_t i = 0; i < n; i++) {
#ifndef TFN__DOUBLE
        int32_t bits, all, power, over;
        uint32_t raised;
        float a, big;
        TFNORM_MEMCPY(&all, p + i, sizeof all);
        bits = all & 0x7fffffff;
        TFNORM_MEMCPY(&a, &bits, sizeof a);
        power = (bits & 0x7f800000) < 0x38800000 ? 0x38800000 : bits & 0x7f800000;
        raised = (uint32_t)power + (13u << 23);     /* of infinity it is nothing, nor is it used */
        TFNORM_MEMCPY(&big, &raised, sizeof big);
        a = a + big - big;
        TFNORM_MEMCPY(&power, &a, sizeof power);
        over = -(bits >= 0x477ff000);               /* what follows: infinity, or the NaN */
        bits = (bits > 0x7f800000 ? bits : 0x7f800000) & over;
        bits |= (power & ~over) | (all & ~0x7fffffff);
        TFNORM_MEMCPY(p + i, &bits, sizeof bits);
#endif
    }
}
#ifdef TFN__TUNED
#pragma GCC pop_options
#endif
#undef TFN__TUNED
#undef TFN__KC
#undef TFN__MC
#undef TFN__NC
#undef TFN__NR
#undef TFN__UNROLL
#undef TFN__APART
#undef TFN__FETCH
#undef TFN__FETCH_FAR
#endif /* TFN__IMPLEMENTING */
/* >> reference */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY \
    && (defined TFNORM_DEBUG || defined TFN__REFERENCE)
/* What the fast kernels compute, once more in plain loops over floats: read this first. It is not
 * compiled unless debugging or the tests ask for it, and the tests want of every instruction set
 * that has a fused multiply-add the bits of these lines.
 *
 * The order of operations below is the definition of the library's results (see "The arithmetic" in
 * the rules): a sum over features goes by 16 lanes, an element of a matrix product is one chain of
 * fused multiply-adds, and a gradient adds to what is there, in the order of the rows. Parentheses
 * count. Rows are rows of a matrix: of (B, T, C) there are B*T. */

/* The sum of 16 lanes, where term i was added to lane i mod 16: the tree +8, +4, +2, +1. */
static inline float tfn__ref_tree(float *lane)
{
    for (int half = 8; half > 0; half /= 2)
        for (int i = 0; i < half; i++) lane[i] += lane[i + half];
    return lane[0];
}

/* sum x[i] y[i] by lanes, for statistics and inner derivatives. */
static inline float tfn__ref_dot(const float *x, const float *y, ptrdiff_t n)
{
    float lane[16] = { 0 };
    for (ptrdiff_t i = 0; i < n; i++) lane[i % 16] += x[i] * y[i];
    return tfn__ref_tree(lane);
}

/* sum x[i] y[i] by one chain, as an element of a matrix product. */
static inline float tfn__ref_chain(const float *x, const float *y, ptrdiff_t n)
{
    float sum = 0;
    for (ptrdiff_t i = 0; i < n; i++) sum = tfn__fma(x[i], y[i], sum);
    return sum;
}

/* exp(x), x <= 0, and exactly 0 below 2^-60, so that no denormal numbers follow: the plain form of
 * the function in vmath. */
static inline float tfn__ref_exp(float x) { return tfn__vexp_tail_plain(x); }

static inline float tfn__ref_max(const float *x, ptrdiff_t n)
{
    float max = x[0];
    for (ptrdiff_t i = 1; i < n; i++)
        if (x[i] > max) max = x[i];
    return max;
}

/* -- LayerNorm ---------------------------------------------------------------------------------
 * y = gain * n + bias,  n = (x - mean) / sqrt(variance + eps)           Ba et al. 2016, eq. 4
 * y, x (rows, cols); gain, bias (cols); mean and rstd = 1/sqrt(variance + eps) (rows) are kept. The
 * variance takes a second pass, because mean(x^2) - mean^2 would cancel. */
static inline void tfn__ref_layernorm_forward(float *y, float *mean, float *rstd, const float *x,
                                              const float *gain, const float *bias,
                                              ptrdiff_t rows, ptrdiff_t cols, float eps)
{
    for (ptrdiff_t r = 0; r < rows; r++, x += cols, y += cols) {
        float sum[16] = { 0 };
        float square[16] = { 0 };
        for (ptrdiff_t c = 0; c < cols; c++) sum[c % 16] += x[c];
        mean[r] = tfn__ref_tree(sum) / (float)cols;
        for (ptrdiff_t c = 0; c < cols; c++)
            square[c % 16] += (x[c] - mean[r]) * (x[c] - mean[r]);
        rstd[r] = 1 / TFN__SQRT(tfn__ref_tree(square) / (float)cols + eps);
        for (ptrdiff_t c = 0; c < cols; c++)
            y[c] = tfn__fma(gain[c], (x[c] - mean[r]) * rstd[r], bias[c]);
    }
}

/* With g = dy*gain:  dx += rstd * (g - mean(g) - n*mean(g*n)),  dgain += dy*n,  dbias += dy.
 * The two means are what x does by way of mean and variance. */
static inline void tfn__ref_layernorm_backward(float *dx, float *dgain, float *dbias,
                                               const float *dy, const float *x, const float *gain,
                                               const float *mean, const float *rstd,
                                               ptrdiff_t rows, ptrdiff_t cols)
{
    for (ptrdiff_t r = 0; r < rows; r++, x += cols, dy += cols, dx += cols) {
        float sum_g[16] = { 0 };
        float sum_gn[16] = { 0 };
        float mean_g;
        float mean_gn;
        for (ptrdiff_t c = 0; c < cols; c++) {
            sum_g[c % 16] += dy[c] * gain[c];
            sum_gn[c % 16] += (dy[c] * gain[c]) * ((x[c] - mean[r]) * rstd[r]);
        }
        mean_g = tfn__ref_tree(sum_g) / (float)cols;
        mean_gn = tfn__ref_tree(sum_gn) / (float)cols;
        for (ptrdiff_t c = 0; c < cols; c++) {
            const float n = (x[c] - mean[r]) * rstd[r];
            dx[c] += rstd[r] * (dy[c] * gain[c] - mean_g - n * mean_gn);
            dgain[c] = tfn__fma(dy[c], n, dgain[c]);
            dbias[c] += dy[c];
        }
    }
}

/* -- RMSNorm -----------------------------------------------------------------------------------
 * y = gain * n,  n = x / sqrt(mean(x^2) + eps)                 Zhang & Sennrich 2019, eq. 4
 * LayerNorm without mean and bias. y, x (rows, cols); gain (cols); rstd (rows) is kept. */
static inline void tfn__ref_rmsnorm_forward(float *y, float *rstd, const float *x,
                                            const float *gain, ptrdiff_t rows, ptrdiff_t cols,
                                            float eps)
{
    for (ptrdiff_t r = 0; r < rows; r++, x += cols, y += cols) {
        rstd[r] = 1 / TFN__SQRT(tfn__ref_dot(x, x, cols) / (float)cols + eps);
        for (ptrdiff_t c = 0; c < cols; c++) y[c] = gain[c] * (x[c] * rstd[r]);
    }
}

/* With g = dy*gain:  dx += rstd * (g - n*mean(g*n)),  dgain += dy*n. */
static inline void tfn__ref_rmsnorm_backward(float *dx, float *dgain, const float *dy,
                                             const float *x, const float *gain, const float *rstd,
                                             ptrdiff_t rows, ptrdiff_t cols)
{
    for (ptrdiff_t r = 0; r < rows; r++, x += cols, dy += cols, dx += cols) {
        float sum_gn[16] = { 0 };
        float mean_gn;
        for (ptrdiff_t c = 0; c < cols; c++)
            sum_gn[c % 16] += (dy[c] * gain[c]) * (x[c] * rstd[r]);
        mean_gn = tfn__ref_tree(sum_gn) / (float)cols;
        for (ptrdiff_t c = 0; c < cols; c++) {
            const float n = x[c] * rstd[r];
            dx[c] += rstd[r] * (dy[c] * gain[c] - n * mean_gn);
            dgain[c] = tfn__fma(dy[c], n, dgain[c]);
        }
    }
}

/* -- softmax -----------------------------------------------------------------------------------
 * y_i = exp(x_i - m) / sum_j exp(x_j - m),  m = max(x)                            Bridle 1990
 * m changes nothing but that no exp overflows. y, x (rows, cols). */
static inline void tfn__ref_softmax_forward(float *y, const float *x, ptrdiff_t rows,
                                            ptrdiff_t cols)
{
    if (cols <= 0) return;
    for (ptrdiff_t r = 0; r < rows; r++, x += cols, y += cols) {
        const float m = tfn__ref_max(x, cols);
        float lane[16] = { 0 };
        float sum;
        for (ptrdiff_t c = 0; c < cols; c++) {
            y[c] = tfn__ref_exp(x[c] - m);
            lane[c % 16] += y[c];
        }
        sum = tfn__ref_tree(lane);
        for (ptrdiff_t c = 0; c < cols; c++) y[c] /= sum;
    }
}

/* dx_i += y_i * (dy_i - sum_j dy_j y_j): the Jacobian diag(y) - y y^T, times dy. */
static inline void tfn__ref_softmax_backward(float *dx, const float *dy, const float *y,
                                             ptrdiff_t rows, ptrdiff_t cols)
{
    for (ptrdiff_t r = 0; r < rows; r++, dx += cols, dy += cols, y += cols) {
        const float dot = tfn__ref_dot(dy, y, cols);
        for (ptrdiff_t c = 0; c < cols; c++) dx[c] += y[c] * (dy[c] - dot);
    }
}

/* -- the linear map ----------------------------------------------------------------------------
 * y = x w + bias.  y (rows, outs), x (rows, ins), w (ins, outs), bias (outs). The chain of an
 * element begins with its bias. */
static inline void tfn__ref_linear_forward(float *y, const float *x, const float *w,
                                           const float *bias, ptrdiff_t rows, ptrdiff_t ins,
                                           ptrdiff_t outs)
{
    for (ptrdiff_t r = 0; r < rows; r++)
        for (ptrdiff_t o = 0; o < outs; o++) {
            float sum = bias[o];
            for (ptrdiff_t i = 0; i < ins; i++) sum = tfn__fma(x[r*ins + i], w[i*outs + o], sum);
            y[r*outs + o] = sum;
        }
}

/* dx += dy w^T, dw += x^T dy, dbias += sum over the rows of dy. */
static inline void tfn__ref_linear_backward(float *dx, float *dw, float *dbias, const float *dy,
                                            const float *x, const float *w, ptrdiff_t rows,
                                            ptrdiff_t ins, ptrdiff_t outs)
{
    for (ptrdiff_t r = 0; r < rows; r++, x += ins, dx += ins, dy += outs)
        for (ptrdiff_t o = 0; o < outs; o++) {
            for (ptrdiff_t i = 0; i < ins; i++) {
                dx[i] = tfn__fma(dy[o], w[i*outs + o], dx[i]);
                dw[i*outs + o] = tfn__fma(x[i], dy[o], dw[i*outs + o]);
            }
            dbias[o] += dy[o];
        }
}

/* -- attention ---------------------------------------------------------------------------------
 * y = softmax(scale q k^T) v,  scale = 1/sqrt(D)                        Vaswani et al. 2017, eq. 1
 * q, k, v, y (B*T, H*D): head h has columns h*D ... h*D + D - 1; causal: query i sees keys 0..i.
 * stats (B*T, H, 2) keeps the maximum and the sum of each softmax. */

/* One query of one head. The `seen` keys and values are rows of k and v, ld floats apart. The
 * division by the sum comes last, when y is D numbers and no longer T. */
static inline void tfn__ref_query_forward(float *y, float *stats, const float *q, const float *k,
                                          const float *v, ptrdiff_t seen, ptrdiff_t ld,
                                          ptrdiff_t size, float scale)
{
    float lane[16] = { 0 };
    float m = -(float)INFINITY;
    for (ptrdiff_t j = 0; j < seen; j++) {
        const float s = tfn__ref_chain(q, k + j*ld, size) * scale;
        if (s > m) m = s;
    }
    for (ptrdiff_t d = 0; d < size; d++) y[d] = 0;
    for (ptrdiff_t j = 0; j < seen; j++) {
        const float e = tfn__ref_exp(tfn__ref_chain(q, k + j*ld, size) * scale - m);
        lane[j % 16] += e;
        for (ptrdiff_t d = 0; d < size; d++) y[d] = tfn__fma(e, v[j*ld + d], y[d]);
    }
    stats[0] = m;
    stats[1] = tfn__ref_tree(lane);
    for (ptrdiff_t d = 0; d < size; d++) y[d] /= stats[1];
}

/* With p = softmax(s), s = scale q k^T, and dp = dy v^T: ds = p * (dp - sum(dp*p)), where the sum,
 * over keys, equals sum(dy*y), over D features;
 *     dq += scale ds k,  dk += scale ds^T q,  dv += p^T dy. */
static inline void tfn__ref_query_backward(float *dq, float *dk, float *dv, const float *dy,
                                           const float *y, const float *stats, const float *q,
                                           const float *k, const float *v, ptrdiff_t seen,
                                           ptrdiff_t ld, ptrdiff_t size, float scale)
{
    const float dot = tfn__ref_dot(dy, y, size);
    for (ptrdiff_t j = 0; j < seen; j++, k += ld, v += ld, dk += ld, dv += ld) {
        const float s = tfn__ref_chain(q, k, size) * scale;
        const float p = tfn__ref_exp(s - stats[0]) / stats[1];
        const float dp = tfn__ref_chain(dy, v, size);
        const float ds = p * (dp - dot) * scale;
        for (ptrdiff_t d = 0; d < size; d++) {
            dq[d] = tfn__fma(ds, k[d], dq[d]);
            dk[d] = tfn__fma(ds, q[d], dk[d]);
            dv[d] = tfn__fma(p, dy[d], dv[d]);
        }
    }
}

/* All heads of all queries: query i of sentence b is row r = b*T + i. */
static inline void tfn__ref_attention_forward(float *y, float *stats, const float *q,
                                              const float *k, const float *v, ptrdiff_t batch,
                                              ptrdiff_t time, ptrdiff_t heads, ptrdiff_t size,
                                              float scale, bool causal)
{
    const ptrdiff_t ld = heads * size;
    for (ptrdiff_t r = 0; r < batch * time; r++)
        for (ptrdiff_t h = 0; h < heads; h++) {
            const ptrdiff_t at = r*ld + h*size;
            const ptrdiff_t first = (r - r % time)*ld + h*size;        /* of the sentence */
            ptrdiff_t seen = time;
            if (causal) seen = r % time + 1;
            tfn__ref_query_forward(y + at, stats + (r*heads + h)*2, q + at, k + first, v + first,
                                   seen, ld, size, scale);
        }
}

static inline void tfn__ref_attention_backward(float *dq, float *dk, float *dv, const float *dy,
                                               const float *y, const float *stats, const float *q,
                                               const float *k, const float *v, ptrdiff_t batch,
                                               ptrdiff_t time, ptrdiff_t heads, ptrdiff_t size,
                                               float scale, bool causal)
{
    const ptrdiff_t ld = heads * size;
    for (ptrdiff_t r = 0; r < batch * time; r++)
        for (ptrdiff_t h = 0; h < heads; h++) {
            const ptrdiff_t at = r*ld + h*size;
            const ptrdiff_t first = (r - r % time)*ld + h*size;
            ptrdiff_t seen = time;
            if (causal) seen = r % time + 1;
            tfn__ref_query_backward(dq + at, dk + first, dv + first, dy + at, y + at,
                                    stats + (r*heads + h)*2, q + at, k + first, v + first, seen,
                                    ld, size, scale);
        }
}

/* -- cross-entropy -----------------------------------------------------------------------------
 * loss = -log p_y,  p = softmax(x):  loss = log(sum_v exp(x_v - m)) + m - x_y,  m = max(x)
 * x (rows, cols) are the logits, y = targets[r] the true class; a target below 0 is ignored, its
 * loss is 0. m and the sum are kept, (rows, 2). The loss is computed in double, then rounded. */
static inline void tfn__ref_cross_entropy_forward(float *loss, float *stats, const float *x,
                                                  const int32_t *targets, ptrdiff_t rows,
                                                  ptrdiff_t cols)
{
    for (ptrdiff_t r = 0; r < rows; r++, x += cols) {
        float lane[16] = { 0 };
        float m;
        float sum;
        loss[r] = 0;
        if (targets[r] < 0 || targets[r] >= cols) continue;
        m = tfn__ref_max(x, cols);
        for (ptrdiff_t c = 0; c < cols; c++) lane[c % 16] += tfn__ref_exp(x[c] - m);
        sum = tfn__ref_tree(lane);
        loss[r] = (float)(tfn__log((double)sum) + ((double)m - (double)x[targets[r]]));
        stats[2*r] = m;
        stats[2*r + 1] = sum;
    }
}

/* dx_v += dloss * (p_v - [v = y]). */
static inline void tfn__ref_cross_entropy_backward(float *dx, const float *dloss,
                                                   const float *stats, const float *x,
                                                   const int32_t *targets, ptrdiff_t rows,
                                                   ptrdiff_t cols)
{
    for (ptrdiff_t r = 0; r < rows; r++, dx += cols, x += cols) {
        if (targets[r] < 0 || targets[r] >= cols) continue;
        for (ptrdiff_t c = 0; c < cols; c++) {
            const float e = tfn__ref_exp(x[c] - stats[2*r]);
            float share = 0;
            if (c == targets[r]) share = dloss[r];
            dx[c] += tfn__fma(dloss[r] / stats[2*r + 1], e, -share);
        }
    }
}

/* -- AdamW -------------------------------------------------------------------------------------
 * m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2             Kingma & Ba 2015, algorithm 1
 * p -= lr * decay * p                                         Loshchilov & Hutter 2019, algorithm 2
 * p -= lr * m^ / (sqrt(v^) + eps),  m^ = m/(1 - b1^t),  v^ = v/(1 - b2^t)
 * t counts updates from 1. Averages below 2^-100 become 0 (and so must squares, of what is below
 * 2^-50): those of a weight that is no longer used would end as denormal numbers, which are slow. A
 * weight without a second moment does not move. */
static inline float tfn__ref_cut(float x, float least)
{
    if (x < least && x > -least) return 0;
    return x;
}

static inline void tfn__ref_adamw(float *p, const float *g, float *m, float *v, ptrdiff_t n,
                                  float lr, float b1, float b2, float eps, float decay, int64_t t)
{
    const double correct1 = 1 - tfn__pow((double)b1, (double)t);
    const double correct2 = 1 - tfn__pow((double)b2, (double)t);
    const float step = (float)((double)lr / correct1);
    const float root = (float)(1 / tfn__pow(correct2, 0.5));
    for (ptrdiff_t i = 0; i < n; i++) {
        float d = tfn__ref_cut(g[i], TFN__LEAST);
        m[i] = tfn__ref_cut(tfn__fma(b1, m[i], (1 - b1) * d), TFN__LEAST);
        d = tfn__ref_cut(d, TFN__LEAST_ROOT);
        v[i] = tfn__ref_cut(tfn__fma(b2, v[i], (1 - b2) * d * d), TFN__LEAST);
        if (decay > 0) p[i] -= lr * decay * p[i];
        if (v[i] < TFN__LEAST) continue;
        p[i] -= step * m[i] / tfn__fma(TFN__SQRT(v[i]), root, eps);
    }
}
#endif
/* >> choice */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY
/* The table of one instruction set, or NULL. */
static const tfn_kernels *tfn__kernels_of(tfn_isa isa)
{
#ifdef TFN__X86
    if (isa == TFN_ISA_SSE2) return &tfn__kernels_sse2;
    if (isa == TFN_ISA_FMA128 && __builtin_cpu_supports("fma")) return &tfn__kernels_fma128;
#endif
#ifdef TFN__X86_WIDE
    if (isa == TFN_ISA_AVX2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &tfn__kernels_avx2;
    if (isa == TFN_ISA_AVX512 && __builtin_cpu_supports("avx512f")) return &tfn__kernels_avx512;
#endif
#ifdef TFN__NEON
    if (isa == TFN_ISA_NEON) return &tfn__kernels_neon;
#endif
#ifdef TFN__WASM
    if (isa == TFN_ISA_WASM) return &tfn__kernels_wasm;
#endif
    if (isa == TFN_ISA_PLAIN) return &tfn__kernels_plain;
    return NULL;
}

TFNORM_API const tfn_kernels *tfn_kernels_for(tfn_isa isa)
{
    static const tfn_isa best[] = { TFN_ISA_AVX512, TFN_ISA_AVX2, TFN_ISA_FMA128, TFN_ISA_NEON,
                                    TFN_ISA_SSE2, TFN_ISA_WASM };
    if (isa != TFN_ISA_BEST) return tfn__kernels_of(isa);
    for (size_t i = 0; i < sizeof best / sizeof *best; i++)
        if (tfn__kernels_of(best[i])) return tfn__kernels_of(best[i]);
    return &tfn__kernels_plain;
}

TFNORM_API tfn_isa tfn_isa_find(const char *name)
{
    static const char *const names[TFN_ISA_COUNT] = {
        "best", "plain", "sse2", "fma128", "avx2", "avx512", "neon", "wasm"
    };
    if (!name) return TFN_ISA_BEST;
    for (int isa = 0; isa < TFN_ISA_COUNT; isa++)
        if (tfn__equal(name, names[isa])) return (tfn_isa)isa;
    return TFN_ISA_BEST;
}

/* a*b + c as a product of 1x1 matrices computes it. */
static float tfn__try_fma(const tfn_kernels *kernels, float a, float b, float c)
{
    float y = 0;
    float work[80];
    tfn_matmul_args p;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.c = &y;
    p.start = &c;
    p.a = &a;
    p.b = &b;
    p.m = p.n = p.k = 1;
    p.c_ld = p.start_ld = 1;
    p.a_row = p.a_col = 1;
    p.b_row = p.b_col = 1;
    kernels->matmul(&p, work);
    return y;
}

/* a*b + d*c as an elementwise kernel computes it: each product, then the sum, is rounded. */
static float tfn__try_sum(const tfn_kernels *kernels, float a, float b, float d, float c)
{
    float y = 0;
    kernels->combine(&y, &b, &c, 1, a, d, false);
    return y;
}

/* What a compiler's flags or the processor's mode can break, tried with numbers that the compiler
 * cannot see: e = 2^-24 is half the distance from 1 to the next float. */
TFNORM_API const char *tfn_bits(tfn_isa isa)
{
    const tfn_kernels *k = tfn_kernels_for(isa);
    volatile float half = (float)0.5;
    volatile float e = (float)(1.0 / 16777216);
    volatile float h = (float)(1.0 / 4096);
    volatile float tiny = (float)1.17549435e-38;         /* the least that is not denormal */
    volatile float big = (float)1e8;                     /* floats around it are 8 apart */
    volatile float sum = big + 1;
    volatile float root = 1 + h;                 /* root^2 = square + e; each read is new, or */
    volatile float square = 1 + 2*h;             /* a compiler that contracts would share */
    float next = 1 + 2*e;                        /* products */
    if (!k) return "differ: the instruction set is not available";
    if (sizeof next != 4) return "differ: double";
    if (k->fma && tfn__try_fma(k, root, root, -square) != e)
        return "differ: the FMA rounds its product";
    if (k->fma && tfn__try_fma(k, next, e * (2 - next), next) != next)
        return "differ: the FMA rounds twice";
    if (tfn__try_sum(k, root, root, root, -root) != 0 || root * root - square != 0)
        return "differ: products are contracted";
    if (tfn__try_sum(k, root, root, 1, -square) != 0) return "differ: sums are wider than a float";
    if (tfn__try_sum(k, half, tiny, half, tiny) != tiny || tfn__try_sum(k, half, tiny, 0, 0) == 0)
        return "differ: denormals are flushed";
    if (sum - big != 0 || (big + half) - big != 0) return "differ: sums are reassociated";
    if (!k->fma) return "differ: no FMA";
    return "canonical";
}
#endif
/* >> tape */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY && !defined TFNORM_ONLY_KERNELS
/* From here to the files no loop is hot: that takes gcc and clang half the time to compile. */
#if defined __GNUC__ && !defined __clang__ && defined __OPTIMIZE__ && !defined __OPTIMIZE_SIZE__
#pragma GCC push_options
#pragma GCC optimize("Og", "fp-contract=off")
#endif
TFN__SMALL
/* A tape is a graph of operations that is recorded once, planned once and run many times.
 *
 * RECORD. A call such as tfn_linear(t, x, w, b, act) computes nothing. It checks shapes and appends
 * a tfn_node: the operation, the nodes it reads, the rows and columns it makes. A tfn_var is the
 * number of a node. Rows are symbols (B*Tt, see tfn_rows), so that one tape runs every batch within
 * its capacities. Leaves (parameters, tables, buffers, inputs) do no work: they name memory that
 * the caller binds.
 *
 * PLAN. tfn_tape_plan writes the timeline, a list of entries in the order in which they will run.
 * First the forward of each node; then, if the tape trains, the gradient 1 of the last value and
 * the backward of the nodes in reverse. Of x - linear - norm - loss:
 *
 *     0 linear   1 norm   2 loss   3 seed   4 loss'   5 norm'   6 linear'
 *
 * A buffer is a node's value, what its forward saves for its backward, or its gradient. It lives
 * from the first entry that touches it to the last. The value of the linear above lives from 0 to
 * 5, because the backward of the norm reads it; that of the norm from 1 to 4; the gradient of the
 * norm from 4 to 5. Buffers that never live at one time share memory: they are placed largest
 * first, each at the lowest offset that is free during its life. Without a backward lives are
 * short, which is why inference needs a fraction of the memory. The workspace is one block:
 *
 *     work:  scratch of thread 0 | of thread 1 | ... | values, saved arrays and gradients, shared
 *
 * RUN. tfn_tape_forward walks the entries up to forward_count, tfn_tape_backward the others. An
 * entry's tfn__call holds the pointers and sizes of this run; the operation's row in TFN__OPS names
 * the function for it. An entry is cut into chunks, which threads share out. Each output is
 * written by one chunk, in one order: neither the number of threads nor their speed changes a bit.
 *
 * GRADIENTS add up where a value has several readers. The plan knows which of them comes first on
 * the timeline: that one stores, the others add (grad_add), and nothing is cleared in advance. A
 * parameter that no gradient reaches is cleared by tfn_tape_backward.
 *
 * RECOMPUTATION (tfn_recompute) trades time for memory: values of a segment die in the forward, and
 * their forward runs again (TFN__REDO) just before the backward of their segment. Such a value has
 * two lives, each with a place of its own: value[0] and value[1].
 *
 * A new operation is a kernel pair, two functions here that call it for a chunk, a row of TFN__OPS,
 * and a function that records it; the rules at the end of this file walk through one. */

/* What a call of an operation sees: pointers and sizes of this run. */
typedef struct tfn__call {
    const tfn_tape    *t;
    const tfn_run     *r;
    const tfn_kernels *k;
    const tfn_node    *n;
    float    *y, *saved, *dy;         /* the value, what the forward saves, the value's gradient */
    float    *x[TFN_INPUTS];          /* inputs, NULL where absent */
    float    *dx[TFN_INPUTS];         /* their gradients, NULL where none is wanted */
    bool      add[TFN_INPUTS];        /* dx[i] is added to, not stored */
    float    *work;                   /* scratch of this thread */
    ptrdiff_t rows, cols;             /* of y */
    ptrdiff_t x_rows[TFN_INPUTS], x_cols[TFN_INPUTS];
    ptrdiff_t chunk, chunks;          /* which part of the work, of how many */
} tfn__call;
/* A function that does chunk c->chunk of an operation, and one that says how many chunks it has.
 * Both depend on the call alone: threads ask them independently and must agree. */
typedef void tfn__op_fn(const tfn__call *c);
typedef ptrdiff_t tfn__chunks_fn(const tfn__call *c);

/* What a backward reads beside its own gradient and the parameters. The plan keeps alive what is
 * named here and nothing else; test_tape_poison.c fills dead memory with NaN to prove the masks. */
enum { TFN__IN0 = 1, TFN__IN1 = 2, TFN__IN2 = 4, TFN__IN3 = 8, TFN__IN4 = 16, TFN__IN5 = 32,
       TFN__OUT = 64, TFN__SAVED = 128, TFN__READ_ALL = 255 };

/* Flags of a node. */
enum { TFN__KEEP = 1,              /* the user's tfn_keep: value and gradient outlive the run */
       TFN__LEARNS = 2,            /* a parameter flows into it */
       TFN__NEED = 4,              /* ... and it into the last value: it has a gradient */
       TFN__WRITTEN = 8,           /* an entry writes its gradient: later ones add */
       TFN__AGAIN = 16,            /* recomputed in the backward, in a second life */
       TFN__PROBED = 32,           /* a probe watches it */
       TFN__BATCH_STATISTICS = 64, /* saves saved_cols floats in all, read after the run */
       TFN__LAYER = 128 };         /* output of a layer, or what the first one reads */

/* -- the operations -------------------------------------------------------------------------- */

/* A row: the name in messages; the forward, and into how many chunks it is cut; the backward, and
 * into how many; what the backward reads. Leaves, which do nothing, stand up to INPUT. Builds
 * without training have no TFN__BACK(f). */
#define TFN__NO_GRAD NULL               /* the only way to have no backward */
#ifdef TFNORM_NO_TRAINING
#define TFN__BACK(f) NULL
#else
#define TFN__BACK(f) f
#endif

#define TFN__OPS(X)                                                                              \
    X(NONE,       "operation",       NULL, NULL, TFN__NO_GRAD, NULL, 0)                          \
    X(PARAM,      "parameter",       NULL, NULL, TFN__NO_GRAD, NULL, 0)                          \
    X(TABLE,      "table",           NULL, NULL, TFN__NO_GRAD, NULL, 0)                          \
    X(BUFFER,     "buffer",          NULL, NULL, TFN__NO_GRAD, NULL, 0)                          \
    X(MEMORY,     "memory",          NULL, NULL, TFN__NO_GRAD, NULL, 0)                          \
    X(INPUT,      "input",           NULL, NULL, TFN__NO_GRAD, NULL, 0)                          \
                                                                                                 \
    X(LINEAR,     "linear",          tfn__linear_forward,         tfn__linear_chunks,            \
                                     tfn__linear_backward,        tfn__linear_backward_chunks,   \
                                     TFN__IN0 | TFN__IN1 | TFN__SAVED)                           \
    X(NORM,       "norm",            tfn__norm_forward,           tfn__norm_chunks,              \
                                     tfn__norm_backward,          tfn__norm_backward_chunks,     \
                                     TFN__IN0 | TFN__IN1 | TFN__SAVED)                           \
    X(SOFTMAX,    "softmax",         tfn__softmax_op,             tfn__by_rows,                  \
                                     tfn__softmax_backward_op,    tfn__by_rows,                  \
                                     TFN__OUT)                                                   \
    X(ACTIVATE,   "activation",      tfn__activate_forward,       tfn__by_rows,                  \
                                     tfn__activate_backward,      tfn__by_rows,                  \
                                     TFN__IN0)                                                   \
    X(GATED,      "gated unit",      tfn__gated_op,               tfn__by_rows,                  \
                                     tfn__gated_backward_op,      tfn__by_rows,                  \
                                     TFN__IN0 | TFN__IN1)                                        \
    X(ADD,        "add",             tfn__add_forward,            tfn__by_rows,                  \
                                     tfn__add_backward,           tfn__by_rows,                  \
                                     0)                                                          \
    X(MULTIPLE,   "multiple",        tfn__multiple_forward,       tfn__by_rows,                  \
                                     tfn__multiple_backward,      tfn__by_rows,                  \
                                     0)                                                          \
    X(SCALE,      "scale",           tfn__scale_forward,          tfn__by_rows,                  \
                                     tfn__scale_backward,         tfn__rows_and_by,              \
                                     TFN__IN0 | TFN__IN1)                                        \
    X(DROPOUT,    "dropout",         TFN__BACK(tfn__dropout_forward), tfn__by_rows,              \
                                     tfn__dropout_backward,       tfn__by_rows,                  \
                                     0)                                                          \
    X(EMBED,      "embedding",       tfn__embed_op,               tfn__by_rows,                  \
                                     tfn__embed_backward_op,      tfn__by_cols,                  \
                                     0)                                                          \
    X(POSITION,   "position",        tfn__position_op,            tfn__one,                      \
                                     tfn__position_backward_op,   tfn__position_backward_chunks, \
                                     0)                                                          \
    X(ROTARY,     "rotary",          tfn__rotary_op,              tfn__one,                      \
                                     tfn__rotary_backward,        tfn__one,                      \
                                     0)                                                          \
    X(FIRST,      "first",           tfn__first_forward,          tfn__one,                      \
                                     tfn__first_backward,         tfn__one,                      \
                                     0)                                                          \
    X(LAST,       "last",            tfn__last_forward,           tfn__one,                      \
                                     tfn__last_backward,          tfn__one,                      \
                                     0)                                                          \
    X(ATTEND,     "attention",       tfn__attend_forward,         tfn__by_heads,                 \
                                     tfn__attend_backward,        tfn__by_heads,                 \
                                     TFN__IN0 | TFN__IN1 | TFN__IN2 | TFN__OUT | TFN__SAVED)     \
    X(CACHE,      "cache",           tfn__cache_op, tfn__one, TFN__NO_GRAD, NULL, 0)             \
    X(ENCODED,    "encoded memory",  tfn__encoded_op, tfn__one, TFN__NO_GRAD, NULL, 0)           \
    X(CACHED,     "cached attention",tfn__cached_op, tfn__one, TFN__NO_GRAD, NULL, 0)            \
    X(LOSS,       "cross-entropy",   TFN__BACK(tfn__loss_forward), TFN__BACK(tfn__loss_chunks),  \
                                     tfn__loss_backward,          tfn__loss_chunks,              \
                                     TFN__IN0 | TFN__SAVED)                                      \
    X(PROBE,      "probe",           tfn__probe_forward,          tfn__one,                      \
                                     tfn__probe_backward,         tfn__one,                      \
                                     0)                                                          \
    X(CUSTOM,     "custom",          tfn__custom_forward,         tfn__one,                      \
                                     tfn__custom_backward,        tfn__one,                      \
                                     TFN__READ_ALL & ~TFN__SAVED)                                \
    TFN__MORE_OPS(X)

#ifdef TFN__EXTRA_NORMS
#define TFN__MORE_OPS(X)                                                                         \
    X(WORDS,      "words",           tfn__words_op, tfn__by_rows, TFN__NO_GRAD, NULL, 0)         \
    X(CONV,       "convolution",     tfn__conv_forward,           tfn__by_sentence,              \
                                     tfn__conv_backward,          tfn__conv_backward_chunks,     \
                                     TFN__IN0 | TFN__IN1)                                        \
    X(POINT,      "pointwise norm",  tfn__point_forward,          tfn__by_rows,                  \
                                     tfn__point_backward,         tfn__rows_and_one,             \
                                     TFN__IN0 | TFN__IN1 | TFN__IN3 | TFN__IN4)                  \
    X(SEED,       "SeeDNorm",        tfn__seed_forward,           tfn__by_rows,                  \
                                     tfn__seed_backward,          tfn__rows_and_one,             \
                                     TFN__IN0 | TFN__IN1 | TFN__IN2 | TFN__IN3 | TFN__SAVED)     \
    X(COLUMNS,    "batch norm",      tfn__columns_forward,        tfn__by_cols,                  \
                                     tfn__columns_backward,       tfn__by_cols,                  \
                                     TFN__IN0 | TFN__IN1 | TFN__IN3 | TFN__SAVED)                \
    X(EXP_CAPPED, "capped exp",      tfn__exp_capped_forward,     tfn__by_rows,                  \
                                     tfn__exp_capped_backward,    tfn__by_rows,                  \
                                     TFN__IN0)                                                   \
    X(SIGMA,      "sigma",           tfn__sigma_forward,          tfn__one,                      \
                                     tfn__sigma_backward,         tfn__by_weight_rows,           \
                                     TFN__IN1 | TFN__IN2)                                        \
    X(RESCALE,    "rescale",         tfn__rescale_forward,        tfn__by_rows,                  \
                                     tfn__rescale_backward,       tfn__rows_and_one,             \
                                     TFN__IN0 | TFN__IN1 | TFN__IN2)                             \
    X(RAMP,       "ramp",            tfn__ramp_forward,           tfn__by_rows,                  \
                                     tfn__ramp_backward,          tfn__by_rows,                  \
                                     TFN__IN1)                                                   \
    X(SHIFT,      "shift",           tfn__shift_forward,          tfn__by_rows,                  \
                                     tfn__shift_backward,         tfn__rows_and_by,              \
                                     0)                                                          \
    X(MIX,        "mix",             tfn__mix_forward,            tfn__by_rows,                  \
                                     tfn__mix_backward,           tfn__rows_and_by,              \
                                     TFN__IN0 | TFN__IN1)                                        \
    X(GATE,       "gate",            tfn__gate_forward,           tfn__by_rows,                  \
                                     tfn__gate_backward,          tfn__rows_and_by,              \
                                     TFN__IN0 | TFN__IN1)                                        \
    X(MAGNITUDE,  "magnitude",       tfn__magnitude_forward,      tfn__by_rows,                  \
                                     tfn__magnitude_backward,     tfn__by_rows,                  \
                                     TFN__IN0)
#else
/* A small build has none of them: recording one (TFN__OP_NONE) is an error. */
#define TFN__MORE_OPS(X)
enum { TFN__OP_WORDS, TFN__OP_CONV = 0, TFN__OP_POINT = 0, TFN__OP_SEED = 0, TFN__OP_COLUMNS = 0,
       TFN__OP_EXP_CAPPED = 0, TFN__OP_SIGMA = 0, TFN__OP_RESCALE = 0, TFN__OP_RAMP = 0,
       TFN__OP_SHIFT = 0, TFN__OP_MIX = 0, TFN__OP_GATE = 0, TFN__OP_MAGNITUDE = 0 };
#endif

#define TFN__OP_ENUM(id, name, forward, chunks, backward, backward_chunks, reads) TFN__OP_##id,
enum { TFN__OPS(TFN__OP_ENUM) TFN__OP_COUNT };

/* What a node's arg holds, by operation. A SLOT is an index of a run's inputs or ints; LENGTHS is
 * one, too, or -1: every key counts. */
enum { TFN__INPUT_SLOT };
enum { TFN__EMBED_SLOT };
enum { TFN__LOSS_SLOT, TFN__LOSS_KIND };                    /* of the targets; form of smoothing */
enum { TFN__LINEAR_ACTIVATION, TFN__LINEAR_TRANSPOSED };
enum { TFN__FUNCTION };                                     /* of activation, of gated unit */
enum { TFN__NORM_KIND, TFN__NORM_GROUPS, TFN__NORM_PART, TFN__NORM_COLS };
enum { TFN__POINT_FUNCTION };
enum { TFN__BATCH_KIND, TFN__BATCH_WARMUP };
enum { TFN__MIX_OUTPUT };                                   /* column of the weights */
enum { TFN__ROTARY_HEAD_SIZE };
enum { TFN__ATTEND_HEADS, TFN__ATTEND_KV_HEADS, TFN__ATTEND_CAUSAL, TFN__ATTEND_LENGTHS };
enum { TFN__CACHED_HEADS, TFN__CACHED_CACHE, TFN__CACHED_LENGTHS };         /* CACHE: a node */
enum { TFN__CACHE_KV_HEADS, TFN__CACHE_CAPACITY, TFN__CACHE_PLACE };
enum { TFN__PROBE_ID };                                     /* what the callback is told */
enum { TFN__CUSTOM_INDEX };                                 /* of the tape's `custom` */

/* -- how an operation's work is cut into chunks: each output has one writer, so that neither
 * the number of threads nor the order of the chunks can change a bit
 * -------------------------------- */

/* Why that holds: a chunk is a range of rows, columns or heads of the output, and whatever is
 * summed for an output element is summed inside its chunk, over all terms in their order. No sum
 * is ever split into parts that threads add up. So a chunk may be small or large, and may run when
 * it likes. An operation's sums decide along what it can be cut: a norm's rows are independent,
 * but dgain sums over rows, so that its chunks are ranges of columns; both kinds may follow each
 * other in one entry, as in tfn__norm_backward, and threads then work on both at once. */

/* Sizes of chunks when there is more than one thread. They change no bit, only how evenly the
 * threads are loaded against what taking a chunk costs. */
enum { TFN__CHUNK_FLOATS = 16384,       /* of elementwise work, in whole rows */
       TFN__CHUNK_COLS = 64,            /* of sums over all rows, in columns */
       TFN__PRODUCT_ROWS = 128,         /* of a matrix product: a block of so many rows, */
       TFN__PRODUCT_COLS = 256,         /* and of so many columns, where rows are few */
       TFN__PRODUCT_MANY_ROWS = 256 };  /* rows are many from here on, for each thread */

/* Items first ... first + count - 1 of rows, columns or values. */
typedef struct tfn__range {
    ptrdiff_t first, count;
} tfn__range;

/* Range number `chunk` of n items that are cut into ranges of `step`; the last is shorter. */
static tfn__range tfn__slice(ptrdiff_t n, ptrdiff_t step, ptrdiff_t chunk)
{
    const tfn__range s = { chunk * step, tfn__min(step, n - chunk * step) };
    return s;
}

/* How many such ranges there are. */
static ptrdiff_t tfn__pieces(ptrdiff_t n, ptrdiff_t step) { return (n + step - 1) / step; }

/* One thread takes the whole of an operation in one chunk. */
static bool tfn__serial(const tfn__call *c) { return c->t->threads < 2; }

/* Rows in a chunk of a (rows, cols) array. */
static ptrdiff_t tfn__row_step(const tfn__call *c, ptrdiff_t rows, ptrdiff_t cols)
{
    if (tfn__serial(c)) return tfn__max(rows, 1);
    return tfn__max(TFN__CHUNK_FLOATS / tfn__max(cols, 1), 1);
}

/* Columns in a chunk, where an output is a sum over all rows of its column. */
static ptrdiff_t tfn__col_step(const tfn__call *c, ptrdiff_t cols)
{
    if (tfn__serial(c)) return tfn__max(cols, 1);
    return TFN__CHUNK_COLS;
}

/* The ways in which most operations are cut: not at all, by columns of y, by rows of y. */
static ptrdiff_t tfn__one(const tfn__call *c)
{
    (void)c;
    return 1;
}
/* ... for sums over rows, such as the gradient of a bias. */
static ptrdiff_t tfn__by_cols(const tfn__call *c)
{
    return tfn__pieces(c->cols, tfn__col_step(c, c->cols));
}
/* ... for what each row gives alone: nearly every forward. */
static ptrdiff_t tfn__by_rows(const tfn__call *c)
{
    return tfn__pieces(c->rows, tfn__row_step(c, c->rows, c->cols));
}

/* This chunk's columns; `chunk` counts from the first chunk that is one of columns. */
static tfn__range tfn__cols_of(const tfn__call *c, ptrdiff_t cols, ptrdiff_t chunk)
{
    return tfn__slice(cols, tfn__col_step(c, cols), chunk);
}
/* This chunk's rows, and their values. */
static tfn__range tfn__my_rows(const tfn__call *c)
{
    return tfn__slice(c->rows, tfn__row_step(c, c->rows, c->cols), c->chunk);
}
static tfn__range tfn__my_values(const tfn__call *c)
{
    tfn__range s = tfn__my_rows(c);
    s.first *= c->cols;
    s.count *= c->cols;
    return s;
}

/* A matrix in memory by its strides: element (i, j) is at[i*row + j*col]. */
typedef struct tfn__matrix {
    const float *at;
    ptrdiff_t row, col;
} tfn__matrix;

/* Rows of `cols` floats, one behind the other. */
static tfn__matrix tfn__matrix_of(const float *at, ptrdiff_t cols)
{
    const tfn__matrix m = { at, cols, 1 };
    return m;
}
/* The same memory read as the transposed matrix: the strides change places, nothing moves. */
static tfn__matrix tfn__transpose(tfn__matrix m)
{
    const tfn__matrix transposed = { m.at, m.col, m.row };
    return transposed;
}

/* y = a b; y (m, n), a (m, k), b (k, n) */
static tfn_matmul_args tfn__product(float *y, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, tfn__matrix a,
                                    tfn__matrix b)
{
    tfn_matmul_args p;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.c = y;
    p.c_ld = n;
    p.m = m;
    p.n = n;
    p.k = k;
    p.a = a.at;
    p.a_row = a.row;
    p.a_col = a.col;
    p.b = b.at;
    p.b_row = b.row;
    p.b_col = b.col;
    return p;
}
/* The product goes on from what stands in y. */
static void tfn__add_product(tfn_matmul_args *p)
{
    p->start = p->c;
    p->start_ld = p->c_ld;
}

/* Chunks of a product (m, n) are blocks of rows, cut into blocks of columns, too, where rows
 * alone would not give every thread its share. Blocks never cut the sum over k. */
static ptrdiff_t tfn__product_cols(const tfn__call *c, ptrdiff_t m, ptrdiff_t n)
{
    if (tfn__serial(c)) return tfn__max(n, 1);
    if (m >= TFN__PRODUCT_MANY_ROWS * c->t->threads) return tfn__max(n, 1);
    return TFN__PRODUCT_COLS;
}
static ptrdiff_t tfn__product_rows(const tfn__call *c, ptrdiff_t m)
{
    if (tfn__serial(c)) return tfn__max(m, 1);
    return TFN__PRODUCT_ROWS;
}
/* How many blocks that makes. */
static ptrdiff_t tfn__product_chunks(const tfn__call *c, ptrdiff_t m, ptrdiff_t n)
{
    return tfn__pieces(m, tfn__product_rows(c, m)) * tfn__pieces(n, tfn__product_cols(c, m, n));
}

/* Do a chunk of the product *p, which becomes the product of that block alone. */
static void tfn__product_chunk(const tfn__call *c, tfn_matmul_args *p, ptrdiff_t chunk)
{
    ptrdiff_t wide = tfn__pieces(p->n, tfn__product_cols(c, p->m, p->n));
    tfn__range i = tfn__slice(p->m, tfn__product_rows(c, p->m), chunk / wide);
    tfn__range j = tfn__slice(p->n, tfn__product_cols(c, p->m, p->n), chunk % wide);
/* the corner of the block in a, b, y and the start */
    p->a += i.first * p->a_row;
    p->b += j.first * p->b_col;
    p->c += i.first * p->c_ld + j.first;
    if (p->start) p->start += i.first * p->start_ld + j.first;
    p->m = i.count;
    p->n = j.count;
    c->k->matmul(p, c->work);
}

/* -- linear: y = act(x W + b), or act(x W^T + b). in: x, W, b or none -------------------------- */

/* The activation that is fused into the map; IDENTITY: none. */
static tfn_activation_kind tfn__linear_activation(const tfn__call *c)
{
    return (tfn_activation_kind)c->n->arg[TFN__LINEAR_ACTIVATION];
}

/* The weight as (in, out). A transposed one is stored as (out, in): a tied head reads the table of
 * the embedding, whose rows are words. */
static tfn__matrix tfn__linear_weight(const tfn__call *c)
{
    if (c->n->arg[TFN__LINEAR_TRANSPOSED])
        return tfn__transpose(tfn__matrix_of(c->x[1], c->x_cols[0]));
    return tfn__matrix_of(c->x[1], c->cols);
}

/* What the activation reads, u = x W + b: saved for the backward if the tape trains. Otherwise, and
 * for ReLU, whose output has the sign of its input, it stands in y and is activated in place. */
static float *tfn__linear_sum(const tfn__call *c)
{
    if (c->saved) return c->saved;
    return c->y;
}

/* The chain of the product starts from the bias. Activates its own block while that is in the
 * cache. */
static void tfn__linear_forward(const tfn__call *c)
{
    ptrdiff_t in = c->x_cols[0];
    ptrdiff_t out = c->cols;
    tfn_activation_kind act = tfn__linear_activation(c);
    float *u = tfn__linear_sum(c);
    tfn_matmul_args p = tfn__product(u, c->rows, out, in, tfn__matrix_of(c->x[0], in),
                                     tfn__linear_weight(c));
    p.start = c->x[2];
    tfn__product_chunk(c, &p, c->chunk);
    if (act == TFN_ACTIVATION_IDENTITY) return;
    for (ptrdiff_t r = 0; r < p.m; r++)
        c->k->activation_forward(c->y + (p.c - u) + r*out, p.c + r*out, p.n, act);
}
/* Chunks are blocks of y. */
static ptrdiff_t tfn__linear_chunks(const tfn__call *c)
{
    return tfn__product_chunks(c, c->rows, c->cols);
}

#ifndef TFNORM_NO_TRAINING
/* dy becomes du = dy act'(u) in place, before the products below read it: an entry of its own on
 * the timeline (TFN__PREPARE), since each product reads all of du. */
static void tfn__linear_prepare(const tfn__call *c)
{
    tfn__range s = tfn__my_values(c);
    const float *u = tfn__linear_sum(c);
    c->k->activation_backward(c->dy + s.first, c->dy + s.first, u + s.first, s.count,
                              tfn__linear_activation(c), false);
}

/* dx = du W^T; dW = x^T du, of a transposed W: du^T x. One that is not wanted has p.c NULL. */
static void tfn__linear_products(const tfn__call *c, tfn_matmul_args *dx, tfn_matmul_args *dw)
{
    ptrdiff_t rows = c->rows;
    ptrdiff_t in = c->x_cols[0];
    ptrdiff_t out = c->cols;
    tfn__matrix x = tfn__matrix_of(c->x[0], in);
    tfn__matrix du = tfn__matrix_of(c->dy, out);
    tfn__matrix w = tfn__linear_weight(c);

    *dx = tfn__product(c->dx[0], rows, in, out, du, tfn__transpose(w));
    if (c->n->arg[TFN__LINEAR_TRANSPOSED])
        *dw = tfn__product(c->dx[1], out, in, rows, tfn__transpose(du), x);
    else
        *dw = tfn__product(c->dx[1], in, out, rows, tfn__transpose(x), du);

    if (c->add[0]) tfn__add_product(dx);
    if (c->add[1]) tfn__add_product(dw);
}

/* Chunks of a gradient that may not be wanted: an input of the model needs no dx, frozen weights no
 * dW. */
static ptrdiff_t tfn__gradient_chunks(const tfn__call *c, const tfn_matmul_args *p)
{
    if (!p->c) return 0;
    return tfn__product_chunks(c, p->m, p->n);
}

/* Chunks of dx come first, then those of dW, then those of db, the column sums of du. */
static void tfn__linear_backward(const tfn__call *c)
{
    ptrdiff_t chunk = c->chunk;
    tfn_matmul_args dx;
    tfn_matmul_args dw;
    tfn__range j;
    tfn__linear_products(c, &dx, &dw);

    if (chunk < tfn__gradient_chunks(c, &dx)) {
        tfn__product_chunk(c, &dx, chunk);
        return;
    }
    chunk -= tfn__gradient_chunks(c, &dx);
    if (chunk < tfn__gradient_chunks(c, &dw)) {
        tfn__product_chunk(c, &dw, chunk);
        return;
    }
    chunk -= tfn__gradient_chunks(c, &dw);
    j = tfn__cols_of(c, c->cols, chunk);
    c->k->column_sum(c->dx[2] + j.first, c->dy + j.first, c->rows, j.count, c->cols, c->add[2]);
}
/* The same three groups, counted: blocks of dx, blocks of dW, ranges of columns of db. */
static ptrdiff_t tfn__linear_backward_chunks(const tfn__call *c)
{
    ptrdiff_t chunks;
    tfn_matmul_args dx;
    tfn_matmul_args dw;
    tfn__linear_products(c, &dx, &dw);
    chunks = tfn__gradient_chunks(c, &dx) + tfn__gradient_chunks(c, &dw);
    if (c->dx[2]) chunks += tfn__by_cols(c);
    return chunks;
}
#endif

/* -- which rows count ------------------------------------------------------------------------ */

/* Rows come from sentences on a grid of B times Ts or Tt positions. Shorter sentences stand at its
 * left; what is to their right is padding, which must not change a bit of anything else. */

/* Positions of a sentence on the grid of a value whose rows are positions. */
static ptrdiff_t tfn__time_of(const tfn__call *c)
{
    if (c->n->rows == TFN_ROWS_SOURCE) return c->r->source;
    return c->r->target;
}
/* Positions that each of its sentences has, or NULL: all. */
static const int32_t *tfn__lengths_of(const tfn__call *c)
{
    if (c->n->rows == TFN_ROWS_SOURCE) return c->r->ints[TFN_INT_SOURCE_LENGTHS];
    return c->r->ints[TFN_INT_LENGTHS];
}

/* Rows of sentences that have so many source or target positions together. A convolution of
 * kernel 3 and stride 2 makes T rows of 2T + 1: HALF, and those of 4T + 3: FRAMES. */
static int64_t tfn__rows_of_positions(int rows, int64_t positions, int64_t sentences)
{
    if (TFN__ALL && rows == TFN_ROWS_HALF) return 2*positions + sentences;
    if (TFN__ALL && rows == TFN_ROWS_FRAMES) return 4*positions + 3*sentences;
    return positions;
}

/* The lengths of a value's sentences, in positions; NULL: all its rows count. */
static const int32_t *tfn__padding_of(const tfn_run *r, tfn_rows rows)
{
    if (!r->skip_padding || rows == TFN_ROWS_FIXED || rows == TFN_ROWS_BATCH) return NULL;
    if (rows == TFN_ROWS_TARGET) return r->ints[TFN_INT_LENGTHS];
    return r->ints[TFN_INT_SOURCE_LENGTHS];
}

/* Rows of sentence b that count: all but its padding, which is on the right. */
static ptrdiff_t tfn__counted_rows(const tfn_run *r, tfn_rows rows, ptrdiff_t b)
{
    const int32_t *lengths = tfn__padding_of(r, rows);
    ptrdiff_t positions = r->source;
    if (rows == TFN_ROWS_BATCH) return 1;
    if (rows == TFN_ROWS_TARGET) positions = r->target;
    if (lengths) positions = tfn__min(tfn__max(lengths[b], 0), positions);
    if (positions == 0) return 0;                   /* an empty sentence has no frames, either */
    return (ptrdiff_t)tfn__rows_of_positions((int)rows, positions, 1);
}

/* -- norms of rows. in: x, gain, bias (or none); number: eps, slope of AdaNorm ---------------- */

/* The kind shares its slot with flags, of which a kind (below 256) has no bit. */
enum { TFN__NORM_KIND_MASK = 255,
       TFN__NORM_OFFSET = 256, TFN__NORM_DETACH_MEAN = 512, TFN__NORM_DETACH_STD = 1024 };

/* The two parts of the slot. */
static int tfn__norm_kind_of(const tfn_node *n)
{
    return n->arg[TFN__NORM_KIND] & TFN__NORM_KIND_MASK;
}
static bool tfn__norm_flag(const tfn_node *n, int flag)
{
    return (n->arg[TFN__NORM_KIND] & flag) != 0;
}

/* The kernel's arguments for rows first ... of the value. A row of the value holds `each` rows of
 * the norm, one for each head, for example. What is saved is mean (rows, each, groups), behind it
 * rstd of the same shape. */
static tfn_norm_args tfn__norm_of(const tfn__call *c, ptrdiff_t first, ptrdiff_t count)
{
    const tfn_node *n = c->n;
    ptrdiff_t cols = n->arg[TFN__NORM_COLS];
    ptrdiff_t each = c->cols / tfn__max(cols, 1);
    ptrdiff_t stats = each * tfn__max(n->arg[TFN__NORM_GROUPS], 1);
    tfn_norm_args p;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.kind = (tfn_norm_kind)tfn__norm_kind_of(n);
    if (TFN__ALL) {
        p.offset = tfn__norm_flag(n, TFN__NORM_OFFSET);
        p.detach_mean = tfn__norm_flag(n, TFN__NORM_DETACH_MEAN);
        p.detach_std = tfn__norm_flag(n, TFN__NORM_DETACH_STD);
        p.groups = n->arg[TFN__NORM_GROUPS];
        p.part = n->arg[TFN__NORM_PART];
        p.slope = n->number[1];
        p.factor = 1;                       /* recorded as an operation of its own: tfn_norm */
    }
    p.rows = count * each;
    p.cols = cols;
    p.eps = n->number[0];
    p.x = c->x[0] + first * c->cols;
    p.gain = c->x[1];
    p.bias = c->x[2];
    if (c->saved) {
        p.mean = c->saved + first*stats;
        p.rstd = c->saved + (c->rows + first)*stats;
    }
    return p;
}

/* TFN_NORM_ABSMAX norms x/(max|x|/8) with the maximum over the whole tensor, so as one chunk. */
static bool tfn__norm_is_whole(const tfn_node *n)
{
    return TFN__ALL && tfn__norm_kind_of(n) == TFN_NORM_ABSMAX;
}

/* Dividing x by s = max|x|/8 before the norm is the same as multiplying eps by s^2. The maximum
 * leaves out the padding. */
static float tfn__absmax_eps(const tfn__call *c)
{
    const int32_t *lengths = tfn__lengths_of(c);
    ptrdiff_t time = tfn__time_of(c);
    ptrdiff_t sentences = 1;
    float most = 0;
    if (lengths) sentences = c->r->batch;
    for (ptrdiff_t b = 0; b < sentences; b++) {
        ptrdiff_t rows = c->rows;
        float m;
        if (lengths) rows = lengths[b];
        m = c->k->absmax(c->x[0] + b*time*c->cols, rows * c->cols) / 8;
        if (m > most) most = m;
    }
    return c->n->number[0] * most * most;
}

/* y, and where the tape trains the statistics, so that the backward need not find them again. */
static void tfn__norm_forward(const tfn__call *c)
{
    tfn__range s = tfn__my_rows(c);
    tfn_norm_args p;
    if (tfn__norm_is_whole(c->n)) {
        s.first = 0;
        s.count = c->rows;
    }
    p = tfn__norm_of(c, s.first, s.count);
    if (tfn__norm_is_whole(c->n)) p.eps = tfn__absmax_eps(c);
    p.y = c->y + s.first * c->cols;
    c->k->norm_forward(&p);
}
/* Each row is normed alone, so rows may be cut anywhere. */
static ptrdiff_t tfn__norm_chunks(const tfn__call *c)
{
    if (tfn__norm_is_whole(c->n)) return 1;
    return tfn__by_rows(c);
}

#ifndef TFNORM_NO_TRAINING
/* dx of this chunk's rows. */
static void tfn__norm_rows_backward(const tfn__call *c)
{
    tfn__range s = tfn__my_rows(c);
    tfn_norm_args p = tfn__norm_of(c, s.first, s.count);
/* nothing below learns */
    if (!c->dx[0]) return;
    p.dy = c->dy + s.first * c->cols;
    p.dx = c->dx[0] + s.first * c->cols;
    p.add = c->add[0];
    c->k->norm_backward(&p);
}
/* dgain and dbias of some columns: chains over all rows. */
static void tfn__norm_cols_backward(const tfn__call *c, ptrdiff_t chunk)
{
    tfn_norm_args p = tfn__norm_of(c, 0, c->rows);
    tfn__range j = tfn__cols_of(c, p.cols, chunk);
    p.dy = c->dy;
    p.dgain = c->dx[1];
    p.dbias = c->dx[2];
    p.add_params = c->add[2];
    if (p.dgain) p.add_params = c->add[1];
    c->k->norm_params_backward(&p, j.first, j.count);
}
/* Chunks of rows come first, then those of columns. */
static void tfn__norm_backward(const tfn__call *c)
{
    ptrdiff_t rows = tfn__by_rows(c);
    if (c->chunk < rows) tfn__norm_rows_backward(c);
    else tfn__norm_cols_backward(c, c->chunk - rows);
}
/* Of gain and bias either may be absent or frozen; the kernel leaves out the one that is NULL. */
static ptrdiff_t tfn__norm_backward_chunks(const tfn__call *c)
{
    ptrdiff_t cols = c->n->arg[TFN__NORM_COLS];
    ptrdiff_t chunks = tfn__by_rows(c);
    if (c->dx[1] || c->dx[2]) chunks += tfn__pieces(cols, tfn__col_step(c, cols));
    return chunks;
}
#endif

#ifdef TFN__EXTRA_NORMS
/* -- convolution over time, kernel 3, stride 2. in: x, W (3 C, out), b or none ----------------- */

/* y_t = [x_2t x_2t+1 x_2t+2] W + b. The 2T + 1 rows of a sentence, three at a time, are a matrix
 * (T, 3 C) whose rows overlap (stride 2 C): nothing is copied. T rows do not read beyond the frames
 * of T, so that padding cannot reach them; the rows of the padding itself, whose frames may be
 * anything, are 0. A chunk is a sentence. */
static ptrdiff_t tfn__by_sentence(const tfn__call *c) { return c->r->batch; }

/* Sentence b of x as that matrix; `time` rows of y come from it. */
static tfn__matrix tfn__conv_windows(const tfn__call *c, ptrdiff_t b, ptrdiff_t time)
{
    ptrdiff_t in = c->x_cols[0];
    const tfn__matrix m = { c->x[0] + b*(2*time + 1)*in, 2*in, 1 };
    return m;
}

/* One sentence: its rows that count as one product, the others 0. */
static void tfn__conv_forward(const tfn__call *c)
{
    ptrdiff_t in = c->x_cols[0];
    ptrdiff_t out = c->cols;
    ptrdiff_t time = c->rows / tfn__max(c->r->batch, 1);
    ptrdiff_t counted = tfn__counted_rows(c->r, (tfn_rows)c->n->rows, c->chunk);
    float *y = c->y + c->chunk*time*out;
    tfn_matmul_args p = tfn__product(y, counted, out, 3*in, tfn__conv_windows(c, c->chunk, time),
                                     tfn__matrix_of(c->x[1], out));
    p.start = c->x[2];
    c->k->matmul(&p, c->work);
    TFNORM_MEMSET(y + counted*out, 0, (size_t)((time - counted) * out) * sizeof *y);
}

#ifndef TFNORM_NO_TRAINING
/* dx_2t = dy_t W_0^T + dy_t-1 W_2^T, dx_2t+1 = dy_t W_1^T of one sentence, with the three blocks
 * W_k (C, out) of W: three products, each into every other row of dx. That of W_2 comes last: its
 * rows but the last have the sum of W_0 already. */
static void tfn__conv_input_backward(const tfn__call *c, ptrdiff_t time)
{
    ptrdiff_t in = c->x_cols[0];
    ptrdiff_t out = c->cols;
    tfn__matrix dy = tfn__matrix_of(c->dy + c->chunk*time*out, out);
    float *dx = c->dx[0] + c->chunk*(2*time + 1)*in;
    if (!c->add[0]) TFNORM_MEMSET(dx + 2*time*in, 0, (size_t)in * sizeof *dx);
    for (ptrdiff_t k = 0; k < 3; k++) {
        tfn__matrix w = tfn__matrix_of(c->x[1] + k*in*out, out);
        tfn_matmul_args p = tfn__product(dx + k*in, time, in, out, dy, tfn__transpose(w));
        p.c_ld = 2*in;
        if (c->add[0] || k == 2) tfn__add_product(&p);
        c->k->matmul(&p, c->work);
    }
}

/* dW of some columns is a chain over the rows of all sentences but those of the padding, where dy
 * is 0 and x may be NaN. */
static void tfn__conv_weight_backward(const tfn__call *c, ptrdiff_t time, tfn__range j)
{
    ptrdiff_t in = c->x_cols[0];
    ptrdiff_t out = c->cols;
    ptrdiff_t batch = tfn__max(c->r->batch, 1);
    for (ptrdiff_t b = 0; b < batch; b++) {
        ptrdiff_t counted = tfn__counted_rows(c->r, (tfn_rows)c->n->rows, b);
        tfn__matrix x = tfn__conv_windows(c, b, time);
        tfn__matrix dy = tfn__matrix_of(c->dy + b*time*out + j.first, out);
        tfn_matmul_args p = tfn__product(c->dx[1] + j.first, 3*in, j.count, counted,
                                         tfn__transpose(x), dy);
        p.c_ld = out;
        if (c->add[1] || b > 0) tfn__add_product(&p);
        c->k->matmul(&p, c->work);
    }
}

/* Chunks: the sentences of dx, then columns of dW and db. */
static void tfn__conv_backward(const tfn__call *c)
{
    ptrdiff_t out = c->cols;
    ptrdiff_t time = c->rows / tfn__max(c->r->batch, 1);
    ptrdiff_t sentences = 0;
    tfn__range j;
    if (c->dx[0]) sentences = c->r->batch;
    if (c->chunk < sentences) {
        tfn__conv_input_backward(c, time);
        return;
    }
    j = tfn__cols_of(c, out, c->chunk - sentences);
    if (c->dx[1]) tfn__conv_weight_backward(c, time, j);
    if (c->dx[2])
        c->k->column_sum(c->dx[2] + j.first, c->dy + j.first, c->rows, j.count, out, c->add[2]);
}
/* The same two groups, counted. */
static ptrdiff_t tfn__conv_backward_chunks(const tfn__call *c)
{
    ptrdiff_t chunks = tfn__by_cols(c);
    if (c->dx[0]) chunks += c->r->batch;
    return chunks;
}
#endif

/* -- pointwise norms: gain * f(alpha x + shift) + bias. in: x, gain, bias, alpha, shift ------- */

/* The kernel's arguments for some rows: the forward sets y, the backward dy; the parameters are the
 * same for every row. DyT and its siblings (Zhu 2025, Chen 2025) need no statistics, so nothing is
 * saved. */
static tfn_point_args tfn__point_of(const tfn__call *c, tfn__range s)
{
    ptrdiff_t at = s.first * c->cols;
    tfn_point_args p;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.squash = (tfn_squash_kind)c->n->arg[TFN__POINT_FUNCTION];
    p.x = c->x[0] + at;
    p.gain = c->x[1];
    p.bias = c->x[2];
    p.alpha = c->x[3];
    p.shift = c->x[4];
    p.rows = s.count;
    p.cols = c->cols;
    if (c->y) p.y = c->y + at;
    if (c->dy) p.dy = c->dy + at;
    return p;
}
static void tfn__point_forward(const tfn__call *c)
{
    tfn_point_args p = tfn__point_of(c, tfn__my_rows(c));
    tfn_point_forward(c->k, &p);
}

/* -- SeeDNorm. in: x, gain, alpha, direction; number: eps -------------------------------------- */

static tfn_seed_args tfn__seed_of(const tfn__call *c, tfn__range s)
{
    ptrdiff_t at = s.first * c->cols;
    tfn_seed_args p;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.x = c->x[0] + at;
    p.gain = c->x[1];
    p.alpha = c->x[2];
    p.direction = c->x[3];
    p.rows = s.count;
    p.cols = c->cols;
    p.eps = c->n->number[0];
    if (c->saved) p.stats = c->saved + 2*s.first;
    if (c->y) p.y = c->y + at;
    if (c->dy) p.dy = c->dy + at;
    return p;
}
static void tfn__seed_forward(const tfn__call *c)
{
    tfn_seed_args p = tfn__seed_of(c, tfn__my_rows(c));
    tfn_seed_forward(c->k, &p);
}

/* -- norms over the batch. in: x, gain, bias, running statistics (2, C); number: eps ---------- */

/* Saved are the statistics of this batch (2, C), behind them what the running ones become (2, C):
 * the model copies these into its buffers after an update, so that a failed one changes nothing. */
static tfn_columns_args tfn__columns_of(const tfn__call *c)
{
    tfn_columns_args p;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.kind = (tfn_norm_kind)c->n->arg[TFN__BATCH_KIND];
    p.y = c->y;
    p.x = c->x[0];
    p.gain = c->x[1];
    p.bias = c->x[2];
    p.running = c->x[3];
    p.dy = c->dy;
    if (c->saved) {
        p.stats = c->saved;
        p.next = c->saved + 2*c->cols;
    }
    p.lengths = tfn__lengths_of(c);
    p.batch = c->r->batch;
    p.time = tfn__time_of(c);
    p.cols = c->cols;
    p.step = c->r->step + 1;
    p.warmup = c->n->arg[TFN__BATCH_WARMUP];
    p.eps = c->n->number[0];
    p.training = c->t->training;
    return p;
}
/* A column's statistics run over all rows that count, so the columns are what is cut. */
static void tfn__columns_forward(const tfn__call *c)
{
    tfn__range j = tfn__cols_of(c, c->cols, c->chunk);
    tfn_columns_args p = tfn__columns_of(c);
    tfn_columns_forward(&p, j.first, j.count);
}

#ifndef TFNORM_NO_TRAINING
/* Chunks of rows give dx; the one behind them gives the gradients of the parameters. */
static ptrdiff_t tfn__rows_and_one(const tfn__call *c) { return tfn__by_rows(c) + 1; }

/* dx of this chunk's rows. */
static void tfn__point_rows_backward(const tfn__call *c)
{
    tfn__range s = tfn__my_rows(c);
    tfn_point_args p = tfn__point_of(c, s);
    if (!c->dx[0]) return;
    p.dx = c->dx[0] + s.first * c->cols;
    p.add = c->add[0];
    tfn_point_backward(c->k, &p);
}
/* Chunks of rows, then one chunk for all parameters: alpha and shift are single numbers, whose sums
 * run over the whole array. */
static void tfn__point_backward(const tfn__call *c)
{
    tfn__range all = { 0, c->rows };
    tfn_point_args p;
    if (c->chunk < tfn__by_rows(c)) {
        tfn__point_rows_backward(c);
        return;
    }
    p = tfn__point_of(c, all);
    p.dgain = c->dx[1];
    p.dbias = c->dx[2];
    p.dalpha = c->dx[3];
    p.dshift = c->dx[4];
    p.add_gain = c->add[1];
    p.add_bias = c->add[2];
    p.add_alpha = c->add[3];
    p.add_shift = c->add[4];
    tfn_point_params_backward(c->k, &p);
}

/* dx of this chunk's rows. */
static void tfn__seed_rows_backward(const tfn__call *c)
{
    tfn__range s = tfn__my_rows(c);
    tfn_seed_args p = tfn__seed_of(c, s);
    if (!c->dx[0]) return;
    p.dx = c->dx[0] + s.first * c->cols;
    p.add = c->add[0];
    tfn_seed_backward(&p);
}
/* Chunks of rows, then one chunk for gain, alpha and direction. */
static void tfn__seed_backward(const tfn__call *c)
{
    tfn__range all = { 0, c->rows };
    tfn_seed_args p;
    if (c->chunk < tfn__by_rows(c)) {
        tfn__seed_rows_backward(c);
        return;
    }
    p = tfn__seed_of(c, all);
    p.dgain = c->dx[1];
    p.dalpha = c->dx[2];
    p.ddirection = c->dx[3];
    p.add_gain = c->add[1];
    p.add_alpha = c->add[2];
    p.add_direction = c->add[3];
    tfn_seed_params_backward(&p);
}

/* A column's dx, dgain and dbias come from that column alone. */
static void tfn__columns_backward(const tfn__call *c)
{
    tfn__range j = tfn__cols_of(c, c->cols, c->chunk);
    tfn_columns_args p = tfn__columns_of(c);
    p.dx = c->dx[0];
    p.dgain = c->dx[1];
    p.dbias = c->dx[2];
    p.add = c->add[0];
    p.add_gain = c->add[1];
    p.add_bias = c->add[2];
    tfn_columns_backward(&p, j.first, j.count);
}
#endif
#endif

/* -- elementwise ----------------------------------------------------------------------------- */

/* y = exp(x - max x) / sum of each row: the weights of a learned sum of layers, for example. */
static void tfn__softmax_op(const tfn__call *c)
{
    tfn__range s = tfn__my_rows(c);
    ptrdiff_t at = s.first * c->cols;
    c->k->softmax_forward(c->y + at, c->x[0] + at, s.count, c->cols);
}

/* Which function an activation or gated unit applies. */
static tfn_activation_kind tfn__function_of(const tfn__call *c)
{
    return (tfn_activation_kind)c->n->arg[TFN__FUNCTION];
}

/* y = act(x) */
static void tfn__activate_forward(const tfn__call *c)
{
    tfn__range s = tfn__my_values(c);
    c->k->activation_forward(c->y + s.first, c->x[0] + s.first, s.count, tfn__function_of(c));
}
/* y = act(gate) * up */
static void tfn__gated_op(const tfn__call *c)
{
    tfn__range s = tfn__my_values(c);
    c->k->gated_forward(c->y + s.first, c->x[0] + s.first, c->x[1] + s.first, s.count,
                        tfn__function_of(c));
}

/* y = a x + b z. in: x, z; number: a, b */
static void tfn__add_forward(const tfn__call *c)
{
    tfn__range s = tfn__my_values(c);
    c->k->combine(c->y + s.first, c->x[0] + s.first, c->x[1] + s.first, s.count,
                  c->n->number[0], c->n->number[1], false);
}

/* This chunk of out = a in, or of out += a in. */
static void tfn__multiply(const tfn__call *c, float *out, const float *in, float a, bool add)
{
    tfn__range s = tfn__my_values(c);
    c->k->combine(out + s.first, in + s.first, NULL, s.count, a, 0, add);
}
/* y = a x. number: a */
static void tfn__multiple_forward(const tfn__call *c)
{
    tfn__multiply(c, c->y, c->x[0], c->n->number[0], false);
}

/* out = in * by of this chunk's rows; by is (1, 1), (1, g) for g groups of channels, or (1, C). The
 * backward uses it, too: dx = dy * by. */
static void tfn__scale_rows(const tfn__call *c, float *out, const float *in, bool add)
{
    ptrdiff_t groups = c->x_cols[1];
    ptrdiff_t each = c->cols / tfn__max(groups, 1);
    tfn__range s = tfn__my_rows(c);
    if (groups < 2) {
        tfn__multiply(c, out, in, c->x[1][0], add);
        return;
    }
    out += s.first * c->cols;
    in += s.first * c->cols;
    if (!TFN__ALL || each == 1) {
        c->k->scale_columns(out, in, c->x[1], s.count, c->cols, add);
        return;
    }
    for (ptrdiff_t i = 0; i < s.count * groups; i++)
        c->k->combine(out + i*each, in + i*each, NULL, each, c->x[1][i % groups], 0, add);
}
/* Learned scales of residual branches: LayerScale (1, C), ReZero (1, 1), scales of heads (1, H). */
static void tfn__scale_forward(const tfn__call *c) { tfn__scale_rows(c, c->y, c->x[0], false); }

#ifdef TFN__EXTRA_NORMS
/* y = exp(min(x, ln 100)), 0 below TFN__TAIL: the learned temperature of Swin v2's attention (Liu
 * 2022), one number a head. */
static const float tfn__exp_cap = (float)4.60517018598809137;           /* ln 100 */
static float tfn__exp_capped(float x)
{
    float y;
    if (!(x < tfn__exp_cap)) x = tfn__exp_cap;
    y = (float)tfn__exp((double)x);
    if (y < TFN__TAIL) return 0;
    return y;
}
static void tfn__exp_capped_forward(const tfn__call *c)
{
    tfn__range s = tfn__my_values(c);
    for (ptrdiff_t i = s.first; i < s.first + s.count; i++) c->y[i] = tfn__exp_capped(c->x[0][i]);
}

/* sigma = u^T W v, the largest singular value when u and v are its vectors (spectral norm, Miyato
 * 2018). in: W (in, out), buffers u (1, in), v (1, out). */
static void tfn__sigma_forward(const tfn__call *c)
{
    const ptrdiff_t cols = c->x_cols[0];
    double sum = 0;
    for (ptrdiff_t r = 0; r < c->x_rows[0]; r++)
        sum += (double)c->x[1][r] * (double)c->k->dot(c->x[0] + r*cols, c->x[2], cols);
    c->y[0] = (float)sum;
}

/* y = a/b x, a and b (1, 1); where b is 0, a x. in: x, a, b. */
static float tfn__ratio_of(const tfn__call *c)
{
    const float a = c->x[1][0];
    const float b = c->x[2][0];
    if (b < 0 || b > 0) return a / b;
    return a;
}
/* With b = sigma(W) and a = gamma learned this is sigma reparameterization (Zhai 2023). */
static void tfn__rescale_forward(const tfn__call *c)
{
    tfn__multiply(c, c->y, c->x[0], tfn__ratio_of(c), false);
}

/* y = min(1, t/steps) x. in: x, a buffer (1, 1) that holds t, the updates done; number: steps */
static float tfn__ramp_of(const tfn__call *c)
{
    const float updates = c->x[1][0];
    const float steps = c->n->number[0];
    if (updates < steps) return updates / steps;
    return 1;
}
/* A schedule of the forward pass: the weight of a branch grows linearly to 1, in evaluation, too,
 * where t stands still. */
static void tfn__ramp_forward(const tfn__call *c)
{
    tfn__multiply(c, c->y, c->x[0], tfn__ramp_of(c), false);
}

/* y = x + a by. in: x, by (1, 1) or (1, C); number: a */
static void tfn__shift_forward(const tfn__call *c)
{
    const float a = c->n->number[0];
    tfn__range s = tfn__my_rows(c);
    ptrdiff_t step = 0;                         /* from one channel's number to the next's */
    if (c->x_cols[1] > 1) step = 1;
    for (ptrdiff_t r = s.first; r < s.first + s.count; r++)
        for (ptrdiff_t i = 0; i < c->cols; i++)
            c->y[r*c->cols + i] = c->x[0][r*c->cols + i] + a * c->x[1][i*step];
}

/* y = z + w_k x, a term of a weighted sum of layers. in: x, w (groups, outputs), z or none. With
 * several groups channel i has the weight (i mod groups, k). */

/* A weight for each group. The channels of a group are not adjacent, so value by value. */
static void tfn__mix_groups(const tfn__call *c)
{
    const ptrdiff_t groups = c->x_rows[1];
    const ptrdiff_t outputs = c->x_cols[1];
    const float *w = c->x[1] + c->n->arg[TFN__MIX_OUTPUT];
    tfn__range s = tfn__my_rows(c);
    for (ptrdiff_t r = s.first; r < s.first + s.count; r++)
        for (ptrdiff_t i = 0; i < c->cols; i++) {
            const ptrdiff_t at = r*c->cols + i;
            c->y[at] = w[i % groups * outputs] * c->x[0][at];
            if (c->x[2]) c->y[at] += c->x[2][at];
        }
}
/* One weight for all channels: y = w_k x + 1 z. */
static void tfn__mix_forward(const tfn__call *c)
{
    tfn__range s = tfn__my_values(c);
    if (c->x_rows[1] > 1) {
        tfn__mix_groups(c);
        return;
    }
    c->k->combine(c->y + s.first, c->x[0] + s.first, tfn__at(c->x[2], s.first), s.count,
                  c->x[1][c->n->arg[TFN__MIX_OUTPUT]], 1, false);
}

/* SiLU(q) = q/(1 + exp(-q)), 0 where the logistic function is below TFN__TAIL */
static float tfn__silu(float q)
{
    const float e = (float)tfn__exp(-(double)q);
    if (e > 1 / TFN__TAIL) return 0;
    return q / (1 + e);
}
/* y = x - SiLU(q) x, where the second x is a constant in the backward (GPAS, Chen 2025). in: x,
 * q (1, 1) */
static void tfn__gate_forward(const tfn__call *c)
{
    tfn__multiply(c, c->y, c->x[0], 1 - tfn__silu(c->x[1][0]), false);
}

/* y = |x| */
static void tfn__magnitude_forward(const tfn__call *c)
{
    tfn__range s = tfn__my_values(c);
    for (ptrdiff_t i = s.first; i < s.first + s.count; i++) {
        c->y[i] = c->x[0][i];
        if (c->x[0][i] < 0) c->y[i] = -c->x[0][i];
    }
}
#endif

#ifndef TFNORM_NO_TRAINING
/* One number of a gradient. */
static void tfn__store_or_add_one(float *d, float value, bool add)
{
    if (add) *d += value;
    else *d = value;
}

/* The counter of a mask's element names sentence, position and channel, 20 bits for each of the
 * last two, so that padding and capacity cannot move it. The backward makes the same mask again
 * instead of reading a stored one. */
static void tfn__drop(const tfn__call *c, float *out, const float *in, bool add)
{
    tfn__range s = tfn__my_rows(c);
    tfn_key key = tfn_key_fold(c->r->key, c->n->site);
    ptrdiff_t time = 1;
    if (c->n->rows == TFN_ROWS_SOURCE) time = c->r->source;
    if (c->n->rows == TFN_ROWS_TARGET) time = c->r->target;
    for (ptrdiff_t r = s.first; r < s.first + s.count; r++) {
/* sentence << 20 | position */
        const uint64_t place = (uint64_t)(r / time) << 20 | (uint64_t)(r % time);
        c->k->dropout(out + r*c->cols, in + r*c->cols, c->cols, c->n->number[0], key, place << 20,
                      add);
    }
}
/* y = x / (1 - p) where the mask keeps it, else 0; the backward is the same map of dy. */
static void tfn__dropout_forward(const tfn__call *c) { tfn__drop(c, c->y, c->x[0], false); }
static void tfn__dropout_backward(const tfn__call *c)
{
    tfn__drop(c, c->dx[0], c->dy, c->add[0]);
}

/* dx = y (dy - <dy, y>) of each row; it reads y, not x. */
static void tfn__softmax_backward_op(const tfn__call *c)
{
    tfn__range s = tfn__my_rows(c);
    ptrdiff_t at = s.first * c->cols;
    c->k->softmax_backward(c->dx[0] + at, c->dy + at, c->y + at, s.count, c->cols, c->add[0]);
}
/* dx = dy act'(x) */
static void tfn__activate_backward(const tfn__call *c)
{
    tfn__range s = tfn__my_values(c);
    c->k->activation_backward(c->dx[0] + s.first, c->dy + s.first, c->x[0] + s.first, s.count,
                              tfn__function_of(c), c->add[0]);
}
/* dgate = dy up act'(gate), dup = dy act(gate) */
static void tfn__gated_backward_op(const tfn__call *c)
{
    tfn__range s = tfn__my_values(c);
    float *dgate = NULL;
    float *dup = NULL;
    if (c->dx[0]) dgate = c->dx[0] + s.first;
    if (c->dx[1]) dup = c->dx[1] + s.first;
    c->k->gated_backward(dgate, dup, c->dy + s.first, c->x[0] + s.first, c->x[1] + s.first,
                         s.count, tfn__function_of(c), c->add[0], c->add[1]);
}

/* dx = a dy of this chunk, where an input wants it. */
static void tfn__pass_on(const tfn__call *c, int input, float a)
{
    if (c->dx[input]) tfn__multiply(c, c->dx[input], c->dy, a, c->add[input]);
}
/* dx = a dy, dz = b dy */
static void tfn__add_backward(const tfn__call *c)
{
    for (int i = 0; i < 2; i++) tfn__pass_on(c, i, c->n->number[i]);
}
/* dx = a dy */
static void tfn__multiple_backward(const tfn__call *c) { tfn__pass_on(c, 0, c->n->number[0]); }

/* <dy, x>, the gradient of one number that all values are multiplied by; x NULL: the sum of dy. It
 * is the flat sum over the rows that count, set side by side: padding must not move a term to
 * another lane. */
static float tfn__dot_counted(const tfn__call *c, const float *x)
{
    const tfn_rows rows = (tfn_rows)c->n->rows;
    const ptrdiff_t time = c->rows / tfn__max(c->r->batch, 1);
    tfn__flat_sum sum;
    if (!tfn__padding_of(c->r, rows)) return c->k->dot(c->dy, x, c->rows * c->cols);
    TFNORM_MEMSET(&sum, 0, sizeof sum);
    for (ptrdiff_t b = 0; b < c->r->batch; b++) {
        const ptrdiff_t at = b*time*c->cols;
        tfn__flat_add(&sum, c->dy + at, tfn__at(x, at),
                      tfn__counted_rows(c->r, rows, b) * c->cols);
    }
    return tfn__flat_total(&sum);
}

/* A gradient of n numbers that loops add to starts from 0, unless it is there already. */
static void tfn__start_sum(float *d, ptrdiff_t n, bool add)
{
    if (!add) TFNORM_MEMSET(d, 0, (size_t)n * sizeof *d);
}

/* dby = <dy, x>, over the channels of each group. */
static void tfn__scale_by_backward(const tfn__call *c)
{
    ptrdiff_t groups = c->x_cols[1];
    ptrdiff_t each = c->cols / groups;
    if (groups == 1) {
        tfn__store_or_add_one(c->dx[1], tfn__dot_counted(c, c->x[0]), c->add[1]);
    } else if (each == 1) {
        c->k->scale_columns_backward(c->dx[1], c->dy, c->x[0], c->rows, c->cols, c->cols,
                                     c->add[1]);
    } else {
        tfn__start_sum(c->dx[1], groups, c->add[1]);
        for (ptrdiff_t i = 0; i < c->rows * groups; i++)
            c->dx[1][i % groups] += c->k->dot(c->dy + i*each, c->x[0] + i*each, each);
    }
}
/* dx = dy by, in chunks of rows; the chunk behind them is dby. */
static void tfn__scale_backward(const tfn__call *c)
{
    if (c->chunk == tfn__by_rows(c)) tfn__scale_by_backward(c);
    else if (c->dx[0]) tfn__scale_rows(c, c->dx[0], c->dy, c->add[0]);
}

/* Chunks of rows, and one more where in[1], a few numbers, wants its gradient. */
static ptrdiff_t tfn__rows_and_by(const tfn__call *c)
{
    if (!c->dx[1]) return tfn__by_rows(c);
    return tfn__by_rows(c) + 1;
}

/* dx = dy exp(x) below the cap, 0 above. */
static void tfn__exp_capped_backward(const tfn__call *c)
{
    tfn__range s = tfn__my_values(c);
    for (ptrdiff_t i = s.first; i < s.first + s.count; i++) {
        float x = c->x[0][i];
        float d = 0;
        if (x < tfn__exp_cap) d = c->dy[i] * tfn__exp_capped(x);
        tfn__store_or_add_one(c->dx[0] + i, d, c->add[0]);
    }
}

/* dW = dsigma u v^T, some rows of W at a time. */
static ptrdiff_t tfn__by_weight_rows(const tfn__call *c)
{
    return tfn__pieces(c->x_rows[0], tfn__row_step(c, c->x_rows[0], c->x_cols[0]));
}
static void tfn__sigma_backward(const tfn__call *c)
{
    const ptrdiff_t cols = c->x_cols[0];
    tfn__range s = tfn__slice(c->x_rows[0], tfn__row_step(c, c->x_rows[0], cols), c->chunk);
    if (!c->dx[0]) return;
    for (ptrdiff_t r = s.first; r < s.first + s.count; r++)
        c->k->combine(c->dx[0] + r*cols, c->x[2], NULL, cols, c->dy[0] * c->x[1][r], 0, c->add[0]);
}

/* dx = a/b dy; da = <dy, x>/b; db = -a/b^2 <dy, x>. Where b is 0: dx = a dy, da = <dy, x>. */
static void tfn__rescale_backward(const tfn__call *c)
{
    const float b = c->x[2][0];
    float da;
    float db = 0;
    if (c->chunk < tfn__by_rows(c)) {
        tfn__pass_on(c, 0, tfn__ratio_of(c));
        return;
    }
    da = tfn__dot_counted(c, c->x[0]);
    if (b < 0 || b > 0) {
        da /= b;
        db = -tfn__ratio_of(c) * da;
    }
    if (c->dx[1]) tfn__store_or_add_one(c->dx[1], da, c->add[1]);
    if (c->dx[2]) tfn__store_or_add_one(c->dx[2], db, c->add[2]);
}

/* The ramp is a constant for the backward: updates are counted, not learned. */
static void tfn__ramp_backward(const tfn__call *c) { tfn__pass_on(c, 0, tfn__ramp_of(c)); }

/* dx = dy; dby = a times the sum of dy, of all channels or of each. */
static void tfn__shift_backward(const tfn__call *c)
{
    float a = c->n->number[0];
    if (c->chunk < tfn__by_rows(c)) {
        tfn__pass_on(c, 0, 1);
    } else if (c->x_cols[1] == 1) {
        tfn__store_or_add_one(c->dx[1], a * tfn__dot_counted(c, NULL), c->add[1]);
    } else {
        tfn__start_sum(c->dx[1], c->cols, c->add[1]);
        for (ptrdiff_t i = 0; i < c->rows*c->cols; i++) c->dx[1][i % c->cols] += a * c->dy[i];
    }
}

/* A weight for each group of channels: dx = w dy, dz = dy of this chunk's rows. */
static void tfn__mix_groups_rows_backward(const tfn__call *c)
{
    const ptrdiff_t groups = c->x_rows[1];
    const ptrdiff_t outputs = c->x_cols[1];
    const float *w = c->x[1] + c->n->arg[TFN__MIX_OUTPUT];
    tfn__range s = tfn__my_rows(c);
    tfn__pass_on(c, 2, 1);
    if (!c->dx[0]) return;
    for (ptrdiff_t r = s.first; r < s.first + s.count; r++)
        for (ptrdiff_t i = 0; i < c->cols; i++) {
            const ptrdiff_t at = r*c->cols + i;
            tfn__store_or_add_one(c->dx[0] + at, w[i % groups * outputs] * c->dy[at], c->add[0]);
        }
}
/* dw is a chain over the rows that count and their channels. */
static void tfn__mix_groups_weight_backward(const tfn__call *c)
{
    const tfn_rows rows = (tfn_rows)c->n->rows;
    const ptrdiff_t groups = c->x_rows[1];
    const ptrdiff_t outputs = c->x_cols[1];
    const bool padded = tfn__padding_of(c->r, rows) != NULL;
    float *dw = c->dx[1] + c->n->arg[TFN__MIX_OUTPUT];
    ptrdiff_t sentences = 1;
    ptrdiff_t each;
    if (padded) sentences = c->r->batch;
    each = c->rows * c->cols / tfn__max(sentences, 1);
    tfn__start_sum(c->dx[1], groups * outputs, c->add[1]);
    for (ptrdiff_t b = 0; b < sentences; b++) {
        const ptrdiff_t first = b*each;
        ptrdiff_t n = each;
        if (padded) n = tfn__counted_rows(c->r, rows, b) * c->cols;
        for (ptrdiff_t i = 0; i < n; i++)
            dw[i % c->cols % groups * outputs] += c->dy[first + i] * c->x[0][first + i];
    }
}
/* dx = w_k dy, dz = dy, dw_k = <dy, x>; the other weights have gradient 0. */
static void tfn__mix_backward(const tfn__call *c)
{
    const bool rows = c->chunk < tfn__by_rows(c);
    ptrdiff_t k = c->n->arg[TFN__MIX_OUTPUT];
    if (c->x_rows[1] > 1) {
        if (rows) tfn__mix_groups_rows_backward(c);
        else tfn__mix_groups_weight_backward(c);
    } else if (rows) {
        tfn__pass_on(c, 0, c->x[1][k]);
        tfn__pass_on(c, 2, 1);
    } else {
        tfn__start_sum(c->dx[1], c->x_cols[1], c->add[1]);
        c->dx[1][k] += tfn__dot_counted(c, c->x[0]);
    }
}

/* The logistic function 1/(1 + exp(-q)), 0 below TFN__TAIL. */
static float tfn__logistic(float q)
{
    const float e = (float)tfn__exp(-(double)q);
    if (e > 1 / TFN__TAIL) return 0;
    return 1 / (1 + e);
}
/* dx = dy; dq = -SiLU'(q) <dy, x> with SiLU'(q) = s (1 + q (1 - s)), s the logistic function. */
static void tfn__gate_backward(const tfn__call *c)
{
    const float q = c->x[1][0];
    const float s = tfn__logistic(q);
    if (c->chunk < tfn__by_rows(c)) {
        tfn__pass_on(c, 0, 1);
        return;
    }
    tfn__store_or_add_one(c->dx[1], -(s * (1 + q * (1 - s))) * tfn__dot_counted(c, c->x[0]),
                      c->add[1]);
}

/* dx = sign(x) dy, 0 where x is 0 */
static void tfn__magnitude_backward(const tfn__call *c)
{
    tfn__range s = tfn__my_values(c);
    for (ptrdiff_t i = s.first; i < s.first + s.count; i++) {
        float d = 0;
        if (c->x[0][i] > 0) d = c->dy[i];
        if (c->x[0][i] < 0) d = -c->dy[i];
        tfn__store_or_add_one(c->dx[0] + i, d, c->add[0]);
    }
}
#endif

/* -- embeddings and positions ---------------------------------------------------------------- */

/* The position of the first row of a sentence: behind what was decoded so far. A source is always
 * read from its beginning. */
static ptrdiff_t tfn__start_of(const tfn__call *c)
{
    if (c->n->rows == TFN_ROWS_SOURCE) return 0;
    return c->r->start;
}

/* y = scale * row `token` of x. in: table; number: scale. A run that binds no tokens reads row 0
 * everywhere, as for segments of a single text: the kernel then does one row at a time. */
static void tfn__embed_op(const tfn__call *c)
{
    static const int32_t zero = 0;
    const int32_t *tokens = c->r->ints[c->n->arg[TFN__EMBED_SLOT]];
    const float scale = c->n->number[0];
    tfn__range s = tfn__my_rows(c);
    if (tokens) {
        c->k->embed_forward(c->y + s.first*c->cols, c->x[0], tokens + s.first, s.count, c->cols,
                            c->x_rows[0], scale);
        return;
    }
    for (ptrdiff_t r = s.first; r < s.first + s.count; r++)
        c->k->embed_forward(c->y + r*c->cols, c->x[0], &zero, 1, c->cols, c->x_rows[0], scale);
}

/* y = x + row of the position. in: x, table (positions, C) */
static void tfn__position_op(const tfn__call *c)
{
    c->k->position_forward(c->y, c->x[0], c->x[1], c->r->batch, tfn__time_of(c), c->cols,
                           tfn__start_of(c));
}

/* Pairs of channels of each head turn by the angle of the position (RoPE, Su 2021, eq. 34); their
 * gradients turn back. in: x, table of cosines and sines (positions, head size) */
static void tfn__rotate(const tfn__call *c, float *out, const float *in, bool back, bool add)
{
    const int32_t head_size = c->n->arg[TFN__ROTARY_HEAD_SIZE];
    c->k->rotary(out, in, c->x[1], c->r->batch, tfn__time_of(c), c->cols / head_size, head_size,
                 tfn__start_of(c), back, add);
}
static void tfn__rotary_op(const tfn__call *c) { tfn__rotate(c, c->y, c->x[0], false, false); }

/* One row of each sentence: y (B, C) from x (B*T, C). The first is what a classifier reads; the
 * last, what a decoder does, whose prompt has T tokens. */
static ptrdiff_t tfn__x_time(const tfn__call *c) { return c->x_rows[0] / tfn__max(c->rows, 1); }
static void tfn__pick_rows(const tfn__call *c, ptrdiff_t position)
{
    ptrdiff_t time = tfn__x_time(c);
    for (ptrdiff_t b = 0; b < c->rows; b++)
        TFNORM_MEMCPY(c->y + b*c->cols, c->x[0] + (b*time + position)*c->cols,
                      (size_t)c->cols * sizeof(float));
}
/* The first position, and the last. */
static void tfn__first_forward(const tfn__call *c) { tfn__pick_rows(c, 0); }
static void tfn__last_forward(const tfn__call *c) { tfn__pick_rows(c, tfn__x_time(c) - 1); }

#ifndef TFNORM_NO_TRAINING
/* Clear some columns of a (rows, cols) gradient that rows are then added to. */
static void tfn__clear_cols(float *d, ptrdiff_t rows, ptrdiff_t cols, tfn__range j)
{
    for (ptrdiff_t r = 0; r < rows; r++)
        TFNORM_MEMSET(d + r*cols + j.first, 0, (size_t)j.count * sizeof *d);
}

/* Row `token` of dtable += scale * dy: tokens in order, threads split the columns. */
static void tfn__embed_backward_op(const tfn__call *c)
{
    static const int32_t zero = 0;
    const int32_t *tokens = c->r->ints[c->n->arg[TFN__EMBED_SLOT]];
    const float scale = c->n->number[0];
    tfn__range j = tfn__cols_of(c, c->cols, c->chunk);
    float *dtable = c->dx[0] + j.first;
    const float *dy = c->dy + j.first;
    if (!c->add[0]) tfn__clear_cols(c->dx[0], c->x_rows[0], c->cols, j);
    if (tokens) {
        c->k->embed_backward(dtable, dy, tokens, c->rows, j.count, c->cols, c->x_rows[0], scale);
        return;
    }
    for (ptrdiff_t r = 0; r < c->rows; r++)
        c->k->embed_backward(dtable, dy + r*c->cols, &zero, 1, j.count, c->cols, c->x_rows[0],
                             scale);
}

/* dx = dy; dtable is the sum over the sentences. */
static void tfn__position_backward_op(const tfn__call *c)
{
    ptrdiff_t rows = tfn__by_rows(c);
    tfn__range j;
    if (c->chunk < rows) {
        tfn__pass_on(c, 0, 1);
        return;
    }
    j = tfn__cols_of(c, c->cols, c->chunk - rows);
    if (!c->add[1]) tfn__clear_cols(c->dx[1], c->x_rows[1], c->cols, j);
    c->k->position_backward(c->dx[1] + j.first, c->dy + j.first, c->r->batch, tfn__time_of(c),
                            j.count, c->cols, tfn__start_of(c), true);
}
/* Rows of dx, then columns of the table's gradient, if it is learned. */
static ptrdiff_t tfn__position_backward_chunks(const tfn__call *c)
{
    if (!c->dx[1]) return tfn__by_rows(c);
    return tfn__by_rows(c) + tfn__by_cols(c);
}

/* A rotation's transpose is the rotation back. */
static void tfn__rotary_backward(const tfn__call *c)
{
    tfn__rotate(c, c->dx[0], c->dy, true, c->add[0]);
}

/* The rows that were not picked have gradient 0. */
static void tfn__pick_rows_backward(const tfn__call *c, ptrdiff_t position)
{
    ptrdiff_t time = tfn__x_time(c);
    tfn__start_sum(c->dx[0], c->x_rows[0] * c->cols, c->add[0]);
    for (ptrdiff_t b = 0; b < c->rows; b++)
        c->k->combine(c->dx[0] + (b*time + position)*c->cols, c->dy + b*c->cols, NULL, c->cols, 1,
                      0, true);
}
static void tfn__first_backward(const tfn__call *c) { tfn__pick_rows_backward(c, 0); }
/* The same for the last position. */
static void tfn__last_backward(const tfn__call *c)
{
    tfn__pick_rows_backward(c, tfn__x_time(c) - 1);
}
#endif

/* -- attention. in: q (B*Tq, H*D), k and v (B*Tk, G*D); number: dropout, cap of the scores ---- */

/* An integer array of the run, NULL where the operation names none. */
static const int32_t *tfn__ints_or_none(const tfn__call *c, int32_t slot)
{
    if (slot < 0) return NULL;
    return c->r->ints[slot];
}

/* The kernel's arguments for all sentences and heads. Scores are scaled by 1/sqrt(D) (Vaswani 2017,
 * eq. 1); stats are maximum and sum of each softmax, from which the backward makes the weights
 * again: keeping them would take T^2 floats a head. */
static tfn_attention_args tfn__attention_of(const tfn__call *c)
{
    const int32_t heads = c->n->arg[TFN__ATTEND_HEADS];
    const int32_t head_size = (int32_t)(c->cols / heads);
    tfn_attention_args p;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.y = c->y;
    p.stats = c->saved;
    p.q = c->x[0];
    p.k = c->x[1];
    p.v = c->x[2];
    p.lengths = tfn__ints_or_none(c, c->n->arg[TFN__ATTEND_LENGTHS]);
    p.batch = c->r->batch;
    p.tq = c->rows / tfn__max(p.batch, 1);
    p.tk = c->x_rows[1] / tfn__max(p.batch, 1);
    p.heads = heads;
    p.kv_heads = c->n->arg[TFN__ATTEND_KV_HEADS];
    p.head_size = head_size;
    p.q_ld = c->cols;
    p.y_ld = c->cols;
    p.k_ld = c->x_cols[1];
    p.v_ld = c->x_cols[1];
    p.scale = 1 / TFN__SQRT((float)head_size);
    p.dropout = c->n->number[0];
    p.cap = c->n->number[1];
    p.key = tfn_key_fold(c->r->key, c->n->site);
    p.causal = c->n->arg[TFN__ATTEND_CAUSAL] != 0;
    return p;
}

/* A chunk is one key/value head of one sentence, with the query heads that share it: dk and dv are
 * sums over these. */
static ptrdiff_t tfn__by_heads(const tfn__call *c)
{
    if (tfn__serial(c)) return 1;
    return (ptrdiff_t)c->r->batch * c->n->arg[TFN__ATTEND_KV_HEADS];
}
/* This chunk's pairs of sentence and key/value head. */
static tfn__range tfn__my_heads(const tfn__call *c, const tfn_attention_args *p)
{
    tfn__range s = { c->chunk, 1 };
    if (tfn__serial(c)) s.count = p->batch * p->kv_heads;
    return s;
}
/* The kernel takes a range of pairs [first, last). */
static void tfn__attend_forward(const tfn__call *c)
{
    tfn_attention_args p = tfn__attention_of(c);
    tfn__range s = tfn__my_heads(c, &p);
    c->k->attention_forward(&p, s.first, s.first + s.count, c->work);
}
#ifndef TFNORM_NO_TRAINING
/* dq, dk and dv may each be absent: of keys that come from a frozen encoder, for example. */
static void tfn__attend_backward(const tfn__call *c)
{
    tfn_attention_args p = tfn__attention_of(c);
    tfn__range s = tfn__my_heads(c, &p);
    p.dy = c->dy;
    p.dq = c->dx[0];
    p.dk = c->dx[1];
    p.dv = c->dx[2];
    p.add_dq = c->add[0];
    p.add_dk = c->add[1];
    p.add_dv = c->add[2];
    c->k->attention_backward(&p, s.first, s.first + s.count, c->work);
}
#endif

/* -- caches of decoding: keys (B, G, D, capacity), behind them values (B, G, capacity, D) ------ */

/* They lie in the state, which outlives a run: keys with the time in lanes, as their products want
 * them. Three operations name a cache: TFN__OP_CACHE appends the rows of this run, TFN__OP_ENCODED
 * stores the keys and values of the encoder's output, and TFN__OP_MEMORY, a leaf of the decoder's
 * tape, says where the encoder's tape has stored them. in: k, v */
enum { TFN__CACHE_ALIGN = 64 };         /* floats: places in the state are multiples of this */

/* Where the keys and the values of a cache begin. */
static float *tfn__key_cache(const tfn__call *c, const tfn_node *cache)
{
    return c->r->state + (int64_t)cache->arg[TFN__CACHE_PLACE] * TFN__CACHE_ALIGN;
}
/* Values lie behind the keys of all B sentences of the capacity. */
static float *tfn__value_cache(const tfn__call *c, const tfn_node *cache)
{
    return tfn__key_cache(c, cache)
         + (ptrdiff_t)c->t->batch * cache->cols * cache->arg[TFN__CACHE_CAPACITY];
}

/* Put the rows of k and v at positions start ... of each sentence and head. */
static void tfn__store_rows(const tfn__call *c, ptrdiff_t start)
{
    ptrdiff_t groups = c->n->arg[TFN__CACHE_KV_HEADS];
    ptrdiff_t capacity = c->n->arg[TFN__CACHE_CAPACITY];
    ptrdiff_t size = c->cols / groups;
    ptrdiff_t time = c->x_rows[0] / tfn__max(c->r->batch, 1);
    for (ptrdiff_t h = 0; h < c->r->batch * groups; h++) {
        float *keys = tfn__key_cache(c, c->n) + h*size*capacity;
        float *values = tfn__value_cache(c, c->n) + h*capacity*size;
        for (ptrdiff_t t = 0; t < time; t++) {
/* row t of sentence h / groups, channels of head h % groups */
            const ptrdiff_t from = (h/groups*time + t)*c->cols + h%groups*size;
            const ptrdiff_t to = start + t;
            for (ptrdiff_t i = 0; i < size; i++) keys[i*capacity + to] = c->x[0][from + i];
            TFNORM_MEMCPY(values + to*size, c->x[1] + from, (size_t)size * sizeof(float));
        }
    }
}
/* A decoder's own positions go behind those before; an encoder's output begins at 0. */
static void tfn__cache_op(const tfn__call *c) { tfn__store_rows(c, c->r->start); }
static void tfn__encoded_op(const tfn__call *c) { tfn__store_rows(c, 0); }

/* Attention of this run's positions, one after the other, to what a cache holds: to all positions
 * of the memory, or to those up to its own. in: q */
static void tfn__cached_op(const tfn__call *c)
{
    const tfn_node *cache = c->t->nodes + c->n->arg[TFN__CACHED_CACHE];
    ptrdiff_t time = c->r->target;
    tfn_attention_cached_args p;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.heads = c->n->arg[TFN__CACHED_HEADS];
    p.kv_heads = cache->arg[TFN__CACHE_KV_HEADS];
    p.head_size = (int32_t)(c->cols / p.heads);
    p.capacity = cache->arg[TFN__CACHE_CAPACITY];
    p.k_cache = tfn__key_cache(c, cache);
    p.v_cache = tfn__value_cache(c, cache);
    p.lengths = tfn__ints_or_none(c, c->n->arg[TFN__CACHED_LENGTHS]);
    p.batch = c->r->batch;
    p.q_ld = time * c->cols;
    p.y_ld = time * c->cols;
    p.scale = 1 / TFN__SQRT((float)p.head_size);
    p.cap = c->n->number[1];
    for (ptrdiff_t t = 0; t < time; t++) {
        p.count = c->r->start + t + 1;
        if (cache->op == TFN__OP_MEMORY) p.count = c->r->source;
        p.q = c->x[0] + t*c->cols;
        p.y = c->y + t*c->cols;
        c->k->attention_cached(&p, 0, p.batch * p.kv_heads, c->work);
    }
}

/* -- loss: -log p(target) of each row. in: logits; number: smoothing -------------------------- */

/* Saved are maximum and sum of each row's softmax, (rows, 2), behind them the losses without
 * smoothing, (rows). */
enum { TFN__LOSS_SAVED = 3 };

#ifndef TFNORM_NO_TRAINING
/* Chunks of the loss are cut by rows, anywhere in a sentence, and the kernel takes rows side by
 * side: the loops below go from one change between rows that count and padding to the next. */

/* How many rows from r on, before end, stand together: all of them count, or all are padding. */
static ptrdiff_t tfn__rows_alike(const tfn__call *c, ptrdiff_t r, ptrdiff_t end, bool *counts)
{
    const tfn_rows rows = (tfn_rows)c->n->rows;
    ptrdiff_t time;
    ptrdiff_t stop;                     /* where in the sentence they end */
    *counts = true;
    if (!tfn__padding_of(c->r, rows)) return end - r;
    time = c->rows / tfn__max(c->r->batch, 1);
    stop = tfn__counted_rows(c->r, rows, r / time);
    *counts = r % time < stop;
    if (!*counts) stop = time;
    return tfn__min(end - r, stop - r % time);
}

/* Chunks of rows as wide as the vocabulary, although y has one column. */
static ptrdiff_t tfn__loss_row_step(const tfn__call *c)
{
    return tfn__row_step(c, c->rows, c->x_cols[0]);
}
/* The same for forward and backward. */
static ptrdiff_t tfn__loss_chunks(const tfn__call *c)
{
    return tfn__pieces(c->rows, tfn__loss_row_step(c));
}

/* The padding has no targets, whatever stands there: its loss is 0. */
static void tfn__loss_forward(const tfn__call *c)
{
    ptrdiff_t cols = c->x_cols[0];
    ptrdiff_t n;
    tfn__range s = tfn__slice(c->rows, tfn__loss_row_step(c), c->chunk);
    const int32_t *targets = c->r->ints[c->n->arg[TFN__LOSS_SLOT]];
    float *stats = c->saved;
    float *nll = c->saved + 2*c->rows;
    bool counts;
    if (!targets) return;                       /* only the logits are wanted */
    for (ptrdiff_t r = s.first; r < s.first + s.count; r += n) {
        n = tfn__rows_alike(c, r, s.first + s.count, &counts);
        if (counts) {
            c->k->cross_entropy_forward(c->y + r, nll + r, stats + 2*r, c->x[0] + r*cols,
                                        targets + r, n, cols, c->n->number[0],
                                        c->n->arg[TFN__LOSS_KIND]);
        } else {
            TFNORM_MEMSET(c->y + r, 0, (size_t)n * sizeof *c->y);
            TFNORM_MEMSET(nll + r, 0, (size_t)n * sizeof *nll);
        }
    }
}
/* dlogits = dy (softmax - target), from the saved statistics; 0 for the padding. */
static void tfn__loss_backward(const tfn__call *c)
{
    ptrdiff_t cols = c->x_cols[0];
    ptrdiff_t n;
    tfn__range s = tfn__slice(c->rows, tfn__loss_row_step(c), c->chunk);
    const int32_t *targets = c->r->ints[c->n->arg[TFN__LOSS_SLOT]];
    bool counts;
    for (ptrdiff_t r = s.first; r < s.first + s.count; r += n) {
        float *dx = c->dx[0] + r*cols;
        n = tfn__rows_alike(c, r, s.first + s.count, &counts);
        if (counts)
            c->k->cross_entropy_backward(dx, c->dy + r, c->saved + 2*r, c->x[0] + r*cols,
                                         targets + r, n, cols, c->n->number[0],
                                         c->n->arg[TFN__LOSS_KIND], c->add[0]);
        else if (!c->add[0]) TFNORM_MEMSET(dx, 0, (size_t)(n * cols) * sizeof *dx);
    }
}
#endif

/* The index of the largest, the first of equals. */
static int32_t tfn__largest(const float *x, int32_t n)
{
    int32_t best = 0;
    for (int32_t i = 1; i < n; i++)
        if (x[i] > x[best]) best = i;
    return best;
}
/* log sum exp x = x_i - log softmax(x)_i for every i, of which the largest is the most exact;
 * scratch (n). */
static double tfn__log_sum(const tfn_kernels *k, float *scratch, const float *x, ptrdiff_t n)
{
    const int32_t best = tfn__largest(x, (int32_t)n);
    k->softmax_forward(scratch, x, 1, n);
    return (double)x[best] - tfn__log((double)scratch[best]);
}

#ifdef TFN__EXTRA_NORMS
/* log p of all words of an adaptive softmax (Grave 2017). in: logits of the head, whose last ones
 * stand for the tails, and logits of each tail. A word of the head has log p_head(word), one of
 * tail k has log p_head(tail k) + log p_tail(word). */
static void tfn__words_op(const tfn__call *c)
{
    ptrdiff_t tails = (c->x[1] != NULL) + (c->x[2] != NULL);
    ptrdiff_t words = c->x_cols[0] - tails;                         /* of the head */
    tfn__range s = tfn__my_rows(c);
    for (ptrdiff_t r = s.first; r < s.first + s.count; r++) {
        const float *head = c->x[0] + r*c->x_cols[0];
        float *y = c->y + r*c->cols;
        const double total = tfn__log_sum(c->k, y, head, c->x_cols[0]);
        for (ptrdiff_t v = 0; v < words; v++) y[v] = (float)((double)head[v] - total);
        y += words;
        for (ptrdiff_t k = 1; k <= tails; k++) {
            const float *tail = c->x[k] + r*c->x_cols[k];
            const ptrdiff_t n = c->x_cols[k];
            const double tail_sum = tfn__log_sum(c->k, y, tail, n);
            const double base = -total + ((double)head[words + k - 1] - tail_sum);
            for (ptrdiff_t v = 0; v < n; v++) y[v] = (float)((double)tail[v] + base);
            y += n;
        }
    }
}
#endif

/* -- probes and the user's own operations ---------------------------------------------------- */

/* Tell the callback the value. It may read, not write: a run without it has the same bits. */
static void tfn__probe_forward(const tfn__call *c)
{
    if (c->r->probe)
        c->r->probe(c->r->probe_user, c->n->arg[TFN__PROBE_ID], c->x[0], c->x_rows[0],
                    c->x_cols[0], false);
}

/* The user's own operation that a node runs, and what its functions see. */
static const tfn_custom_op *tfn__custom_of(const tfn_tape *t, const tfn_node *n)
{
    return t->custom + n->arg[TFN__CUSTOM_INDEX];
}
/* The part of a call that is public, with the user's pointer. */
static tfn_custom_args tfn__custom_args_of(const tfn__call *c)
{
    tfn_custom_args a;
    TFNORM_MEMSET(&a, 0, sizeof a);
    a.user = tfn__custom_of(c->t, c->n)->user;
    a.y = c->y;
    a.dy = c->dy;
    a.rows = c->rows;
    a.cols = c->cols;
    for (int i = 0; i < TFN_INPUTS; i++) a.x[i] = c->x[i];
    TFNORM_MEMCPY(a.dx, c->dx, sizeof a.dx);
    TFNORM_MEMCPY(a.add, c->add, sizeof a.add);
    TFNORM_MEMCPY(a.x_rows, c->x_rows, sizeof a.x_rows);
    TFNORM_MEMCPY(a.x_cols, c->x_cols, sizeof a.x_cols);
    return a;
}
/* One chunk: the user's code is called by one thread at a time. */
static void tfn__custom_forward(const tfn__call *c)
{
    tfn_custom_args a = tfn__custom_args_of(c);
    tfn__custom_of(c->t, c->n)->forward(&a);
}

#ifndef TFNORM_NO_TRAINING
/* On the timeline it stands where the gradient of what it watches is complete. */
static void tfn__probe_backward(const tfn__call *c)
{
    tfn_var x;
    x.id = c->n->in[0];
    if (!c->r->probe || !(c->t->nodes[x.id].flags & TFN__NEED)) return;
    c->r->probe(c->r->probe_user, c->n->arg[TFN__PROBE_ID], tfn_gradient(c->t, c->r, x),
                c->x_rows[0], c->x_cols[0], true);
}
/* The plan assumes that it reads its inputs and its output, and knows nothing of saved arrays. */
static void tfn__custom_backward(const tfn__call *c)
{
    tfn_custom_args a = tfn__custom_args_of(c);
    tfn__custom_of(c->t, c->n)->backward(&a);
}
#endif

/* A row of TFN__OPS. */
typedef struct tfn__op {
    const char     *name;
    tfn__op_fn     *forward;
    tfn__chunks_fn *chunks;
    tfn__op_fn     *backward;
    tfn__chunks_fn *backward_chunks;
    uint8_t         reads;
} tfn__op;
#define TFN__OP_ROW(id, name, forward, chunks, backward, backward_chunks, reads) \
    { name, forward, chunks, TFN__BACK(backward), TFN__BACK(backward_chunks), (uint8_t)(reads) },
static const tfn__op tfn__ops[] = { TFN__OPS(TFN__OP_ROW) };

/* -- record ---------------------------------------------------------------------------------- */

/* Every function here follows one pattern: look at the inputs' nodes, check shapes and options, and
 * append a node. The first error stays with the tape; after it nothing is recorded and every call
 * returns {0}, so that a caller checks once, when the tape is planned. */

/* The functions of the API check their tape first (tfn__recording); those of this library alone,
 * which the builder calls on a tape that it has made, leave that to tfn__record. */
static const tfn_var tfn__none = { 0 };

/* The node of an input that is missing: all zero. It is written over an array, since some C++
 * compilers warn of a struct's { 0 }. */
static const union tfn__zero_node {
    int64_t  zero[(sizeof(tfn_node) + sizeof(int64_t) - 1) / sizeof(int64_t)];
    tfn_node node;
} tfn__no_node = { { 0 } };

/* The layout of a tape's block: nodes, the timeline, and while planning the tfn__items with their
 * order. A node has at most four entries (forward, again, prepare, backward) and five items of 36
 * bytes; the seed's entry is in the slack. */
#define TFN__NODE_BYTES (sizeof(tfn_node) + 4 * sizeof(int32_t) + 5 * 36)
#define TFN__TAPE_SLACK (4 * TFN__ALIGN)
enum { TFN__MOST_NODES = 1000000 };     /* a timeline's entry is 8 times the node, in 32 bits */

/* Enough for any tape of so many nodes; tfn_tape.peak says afterwards what was used. */
TFNORM_API size_t tfn_tape_bytes(int32_t nodes)
{
    size_t bytes = TFN__NODE_BYTES;
    if (nodes > 0) bytes = tfn__mul((size_t)nodes, TFN__NODE_BYTES);
    return tfn__sum(bytes, TFN__TAPE_SLACK);
}

/* The tape takes as many nodes as fit into the block. Whether the plan fits, too, is known when it
 * is made: leaves need no items, and evaluation fewer. */
TFNORM_API void tfn_tape_init(tfn_tape *t, void *mem, size_t size, int32_t batch, int32_t source,
                              int32_t target, bool training)
{
    size_t skip = (0 - (size_t)(uintptr_t)mem) & (TFN__ALIGN - 1);      /* to the alignment */
    size_t nodes = 0;
    if (!t) return;
    TFNORM_MEMSET(t, 0, sizeof *t);
    t->error.node = -1;
    t->error.layer = -1;
    if (size >= skip) nodes = (size - skip) / sizeof(tfn_node);
    if (!mem || !nodes) {
        tfn__fail(&t->error, TFN_NO_MEMORY, "tape", "the block has %d bytes, %d are wanted",
                  (int64_t)size, (int64_t)tfn_tape_bytes(1));
        return;
    }
    if (nodes > TFN__MOST_NODES) nodes = TFN__MOST_NODES;
    t->capacity = (int32_t)nodes;
    t->nodes = (tfn_node *)(void *)((unsigned char *)mem + skip);
    TFNORM_MEMSET(t->nodes, 0, sizeof *t->nodes);                       /* nodes[0] is "none" */
    t->size = size - skip;
    t->count = 1;
    t->batch = batch;
    t->source = source;
    t->target = target;
    t->training = training;
    t->layer = -1;
}

/* The tape's first error, with the place where recording was. */
static tfn_var tfn__tape_error(tfn_tape *t, tfn_status status, const char *op, const char *text,
                               int64_t found, int64_t wanted)
{
    bool first = t->error.status == TFN_OK;
    tfn__fail(&t->error, status, op, text, found, wanted);
    if (first) {
        t->error.node = t->count;
        t->error.layer = t->layer;
    }
    return tfn__none;
}
/* The most frequent error: a size that does not fit. */
static tfn_var tfn__bad_shape(tfn_tape *t, const char *op, const char *text, int64_t found,
                              int64_t wanted)
{
    return tfn__tape_error(t, TFN_BAD_SHAPE, op, text, found, wanted);
}

/* Whether a tape takes another operation. */
static bool tfn__recording(tfn_tape *t)
{
    if (!t) return false;
    tfn__made(&t->error, "tape", t->nodes);
    return t->error.status == TFN_OK;
}

/* x names a recorded node. */
static bool tfn__known(const tfn_tape *t, tfn_var x) { return x.id > 0 && x.id < t->count; }

/* What any operation may ask for: inputs that exist or are absent, known rows, room on the tape. */
static bool tfn__node_fits(tfn_tape *t, const char *name, int rows, int32_t count, int32_t cols,
                           const tfn_var *in)
{
    for (int i = 0; i < 3; i++)
        if (in[i].id < 0 || in[i].id >= t->count) {
            tfn__bad_shape(t, name, "an input is value %d, the tape has %d", in[i].id, t->count);
            return false;
        }
    if (rows < TFN_ROWS_FIXED || rows > TFN_ROWS_HALF)
        tfn__bad_shape(t, name, "rows of kind %d, the last kind is %d", rows, TFN_ROWS_HALF);
    else if (t->planned)
        tfn__tape_error(t, TFN_NOT_READY, name, "the tape is already planned", 0, 0);
    else if (t->count == t->capacity)
        tfn__tape_error(t, TFN_NO_MEMORY, name, "the tape is full with %d nodes", t->capacity, 0);
    else if (cols < 0)
        tfn__bad_shape(t, name, "a size is %d, at least %d is wanted", cols, 0);
    else if (rows == TFN_ROWS_FIXED && count < 0)
        tfn__bad_shape(t, name, "a size is %d, at least %d is wanted", count, 0);
    return t->error.status == TFN_OK;
}

static const char tfn__plain_only[] = "left out: define TFNORM_ALL_NORMS";

/* Append a node that makes rows of cols values from a, b and c: `count` rows, or B*Tt ... as `rows`
 * says. Inputs that are {0} stay absent. NULL after an error. */
static tfn_node *tfn__record(tfn_tape *t, int op, int rows, int32_t count, int32_t cols,
                             tfn_var a, tfn_var b, tfn_var c)
{
    tfn_node *n;
    const tfn_var in[3] = { a, b, c };
    if (!TFN__ALL && op == TFN__OP_NONE)
        tfn__tape_error(t, TFN_UNSUPPORTED, tfn__ops[op].name, tfn__plain_only, 0, 0);
    if (t->error.status != TFN_OK) return NULL;
    if (!tfn__node_fits(t, tfn__ops[op].name, rows, count, cols, in)) return NULL;

    n = t->nodes + t->count++;
    TFNORM_MEMSET(n, 0, sizeof *n);
    n->op = (uint8_t)op;
    n->rows = (uint8_t)rows;
    n->count = count;
    n->cols = cols;
    n->reads = tfn__ops[op].reads;
    n->layer = (int16_t)t->layer;
    n->segment = t->segment;
    for (int i = 0; i < 3; i++) n->in[i] = in[i].id;
    for (int life = 0; life < 2; life++) {              /* no place yet */
        n->value[life] = -1;
        n->saved[life] = -1;
    }
    n->grad = -1;
    return n;
}

/* A leaf of rows x cols that the caller's memory holds. */
static tfn_node *tfn__record_leaf(tfn_tape *t, int op, int rows, int32_t count, int32_t cols)
{
    return tfn__record(t, op, rows, count, cols, tfn__none, tfn__none, tfn__none);
}

/* The value of a node; none where there is no node. */
static tfn_var tfn__var_of(const tfn_tape *t, const tfn_node *n)
{
    tfn_var v = tfn__none;
    if (n) v.id = (int32_t)(n - t->nodes);
    return v;
}

/* The value of a node that has an argument and a number; none where there is no node. */
static tfn_var tfn__var_with(const tfn_tape *t, tfn_node *n, int32_t arg, float number)
{
    if (!n) return tfn__none;
    n->arg[0] = arg;
    n->number[0] = number;
    return tfn__var_of(t, n);
}

/* The node of a required input; the "none" node and an error where there is none. */
static const tfn_node *tfn__need(tfn_tape *t, const char *op, tfn_var x)
{
    if (t->error.status == TFN_OK && !tfn__known(t, x))
        tfn__bad_shape(t, op, "an input is missing (value %d of %d)", x.id, t->count);
    if (t->error.status != TFN_OK) return &tfn__no_node.node;
    return t->nodes + x.id;
}

/* x is a parameter or table of rows x cols. */
static bool tfn__wants(tfn_tape *t, const char *op, tfn_var x, int32_t rows, int32_t cols)
{
    const tfn_node *n = tfn__need(t, op, x);
    if (t->error.status != TFN_OK) return false;
    if (n->rows != TFN_ROWS_FIXED)
        tfn__bad_shape(t, op, "a parameter is wanted, not value %d", x.id, 0);
    else if (n->cols != cols)
        tfn__bad_shape(t, op, "a parameter has %d columns, %d are wanted", n->cols, cols);
    else if (n->count != rows)
        tfn__bad_shape(t, op, "a parameter has %d rows, %d are wanted", n->count, rows);
    return t->error.status == TFN_OK;
}
/* The same where x may be absent. */
static bool tfn__may_have(tfn_tape *t, const char *op, tfn_var x, int32_t rows, int32_t cols)
{
    if (!x.id) return t->error.status == TFN_OK;
    return tfn__wants(t, op, x, rows, cols);
}

/* Two values of equal rows, as symbols, and channels. */
static bool tfn__same_shape(tfn_tape *t, const char *op, const tfn_node *a, const tfn_node *b)
{
    if (t->error.status != TFN_OK) return false;
    if (a->rows != b->rows || (a->rows == TFN_ROWS_FIXED && a->count != b->count))
        tfn__bad_shape(t, op, "the inputs have different rows (kinds %d and %d)", a->rows, b->rows);
    else if (a->cols != b->cols)
        tfn__bad_shape(t, op, "one input has %d channels, the other %d", a->cols, b->cols);
    return t->error.status == TFN_OK;
}

/* Rows are positions of sentences. */
static bool tfn__has_time(tfn_tape *t, const char *op, const tfn_node *x)
{
    if (t->error.status != TFN_OK) return false;
    if (x->rows != TFN_ROWS_SOURCE && x->rows != TFN_ROWS_TARGET)
        tfn__bad_shape(t, op, "rows of kind %d are no positions in time", x->rows, 0);
    return t->error.status == TFN_OK;
}

/* An index of a run's inputs or ints. */
static bool tfn__slot_ok(tfn_tape *t, const char *op, int32_t slot)
{
    if (slot < 0 || slot >= TFN_SLOTS)
        tfn__bad_shape(t, op, "slot %d, there are %d", slot, TFN_SLOTS);
    return t->error.status == TFN_OK;
}

/* -- leaves ---------------------------------------------------------------------------------- */

/* Each region (parameters, tables, buffers, workspace) is cut into pieces of whole vectors. */
static int64_t tfn__padded(int64_t floats) { return (floats + 15) / 16 * 16; }

/* A parameter of rows x cols, the next of the flat vector. */
TFNORM_API tfn_var tfn_param(tfn_tape *t, int32_t rows, int32_t cols)
{
    if (!tfn__recording(t)) return tfn__none;
    tfn_node *n = tfn__record_leaf(t, TFN__OP_PARAM, TFN_ROWS_FIXED, rows, cols);
    if (!n) return tfn__none;
    n->value[0] = t->params;
    n->value[1] = t->params;
    n->grad = t->params;
    t->params += tfn__padded((int64_t)rows * cols);
    return tfn__var_of(t, n);
}

/* A parameter that lies where an earlier tape put it; if this tape may have it already, that node:
 * the flags of its gradient are counted by node. */
static tfn_var tfn__param_at(tfn_tape *t, int32_t rows, int32_t cols, int64_t at, bool shared)
{
    tfn_var x;
    if (shared)
        for (x.id = 1; x.id < t->count; x.id++)
            if (t->nodes[x.id].op == TFN__OP_PARAM && t->nodes[x.id].value[0] == at) return x;
    t->params = at;
    return tfn_param(t, rows, cols);
}

/* Constant data beside the parameters, such as sinusoids: the next of the tables region. */
static tfn_var tfn__table(tfn_tape *t, int32_t rows, int32_t cols)
{
    tfn_node *n = tfn__record_leaf(t, TFN__OP_TABLE, TFN_ROWS_FIXED, rows, cols);
    if (!n) return tfn__none;
    n->value[0] = t->tables;
    n->value[1] = t->tables;
    t->tables += tfn__padded((int64_t)rows * cols);
    return tfn__var_of(t, n);
}

/* Numbers that training changes after an update, such as running statistics, where an earlier tape
 * put them in the buffers region. */
static tfn_var tfn__buffer_at(tfn_tape *t, int32_t rows, int32_t cols, int64_t at)
{
    tfn_node *n = tfn__record_leaf(t, TFN__OP_BUFFER, TFN_ROWS_FIXED, rows, cols);
    if (!n) return tfn__none;
    n->value[0] = at;
    n->value[1] = at;
    t->buffers = at + tfn__padded((int64_t)rows * cols);
    return tfn__var_of(t, n);
}

/* Floats that the caller binds for each run, such as frames of speech. They have no gradient. */
TFNORM_API tfn_var tfn_input(tfn_tape *t, int32_t slot, tfn_rows rows, int32_t cols)
{
    if (!tfn__recording(t)) return tfn__none;
    if (!tfn__slot_ok(t, "input", slot)) return tfn__none;
    t->inputs_read |= UINT32_C(1) << slot;
    return tfn__var_with(t, tfn__record_leaf(t, TFN__OP_INPUT, (int)rows, 1, cols), slot, 0);
}

/* -- linear maps and norms ------------------------------------------------------------------- */

/* Gated kinds are two linear maps, not one function. */
static bool tfn__act_ok(tfn_tape *t, const char *op, tfn_activation_kind act)
{
    if (act != TFN_ACTIVATION_IDENTITY && ((int)act < 0 || act > TFN_ACTIVATION_TANH))
        tfn__tape_error(t, TFN_BAD_OPTION, op, "activation %d is no function of one value; %d is",
                        (int64_t)act, TFN_ACTIVATION_GELU_TANH);
    return t->error.status == TFN_OK;
}
/* The default function has its name in the node. */
static int32_t tfn__act_of(tfn_activation_kind act)
{
    if (act == TFN_ACTIVATION_DEFAULT) return (int32_t)TFN_ACTIVATION_GELU_TANH;
    return (int32_t)act;
}

/* x has as many channels as the weight has inputs. */
static bool tfn__weight_fits(tfn_tape *t, tfn_var x, tfn_var w, int32_t in)
{
    const tfn_node *xn = tfn__need(t, "linear", x);
    const tfn_node *wn = tfn__need(t, "linear", w);
    if (t->error.status != TFN_OK) return false;
    if (wn->rows != TFN_ROWS_FIXED)
        tfn__bad_shape(t, "linear", "the weight is no parameter (value %d)", w.id, 0);
    else if (xn->cols != in)
        tfn__bad_shape(t, "linear", "input has %d channels, weight wants %d", xn->cols, in);
    else if (x.id == w.id)
        tfn__bad_shape(t, "linear", "input and weight are one value (%d)", x.id, 0);
    return t->error.status == TFN_OK;
}

/* A ReLU's backward needs only the sign of u = x W + b, which y has, too. Other activations read u
 * itself, which a tape that trains saves. */
static tfn_var tfn__linear(tfn_tape *t, tfn_var x, tfn_var w, tfn_var b, tfn_activation_kind act,
                           bool transposed)
{
    const tfn_node *xn = tfn__need(t, "linear", x);
    const tfn_node *wn = tfn__need(t, "linear", w);
    int32_t in = wn->count;
    int32_t out = wn->cols;
    tfn_node *n;
    if (transposed) {
        in = wn->cols;
        out = wn->count;
    }
    if (!tfn__act_ok(t, "linear", act)) return tfn__none;
    if (!tfn__weight_fits(t, x, w, in)) return tfn__none;
    if (!tfn__may_have(t, "linear", b, 1, out)) return tfn__none;
    n = tfn__record(t, TFN__OP_LINEAR, xn->rows, xn->count, out, x, w, b);
    if (!n) return tfn__none;
    n->arg[TFN__LINEAR_ACTIVATION] = tfn__act_of(act);
    n->arg[TFN__LINEAR_TRANSPOSED] = transposed;
    if (act == TFN_ACTIVATION_RELU) n->reads |= TFN__OUT;
    else if (act != TFN_ACTIVATION_IDENTITY && t->training) n->saved_cols = out;
    return tfn__var_of(t, n);
}

TFNORM_API tfn_var tfn_linear(tfn_tape *t, tfn_var x, tfn_var w, tfn_var b, tfn_activation_kind act)
{
    if (!tfn__recording(t)) return tfn__none;
    return tfn__linear(t, x, w, b, act, false);
}
/* For a head that is tied to the embedding, whose table is (words, channels). */
TFNORM_API tfn_var tfn_linear_transposed(tfn_tape *t, tfn_var x, tfn_var w, tfn_var b)
{
    if (!tfn__recording(t)) return tfn__none;
    return tfn__linear(t, x, w, b, TFN_ACTIVATION_IDENTITY, true);
}

/* An operation that keeps the shape of its first input. */
static tfn_node *tfn__map(tfn_tape *t, int op, tfn_var x, tfn_var y, tfn_var z)
{
    const tfn_node *xn = tfn__need(t, tfn__ops[op].name, x);
    return tfn__record(t, op, xn->rows, xn->count, xn->cols, x, y, z);
}
/* The same with one input. */
static tfn_node *tfn__map_one(tfn_tape *t, int op, tfn_var x)
{
    return tfn__map(t, op, x, tfn__none, tfn__none);
}

/* a x; of a = 1 that is x itself. After an error x, too: the tape has kept the error. */
static tfn_var tfn__multiple(tfn_tape *t, tfn_var x, float a)
{
    tfn_node *n = NULL;
    if (a < 1 || a > 1) n = tfn__map_one(t, TFN__OP_MULTIPLE, x);
    if (!n) return x;
    n->number[0] = a;
    return tfn__var_of(t, n);
}

/* The kind of a norm with its flags. */
static int32_t tfn__norm_kind_and_flags(const tfn_norm_args *like)
{
    int32_t kind = (int32_t)like->kind;
    if (like->offset) kind |= TFN__NORM_OFFSET;
    if (like->detach_mean) kind |= TFN__NORM_DETACH_MEAN;
    if (like->detach_std) kind |= TFN__NORM_DETACH_STD;
    return kind;
}

/* Norms of `cols` channels split a row, and groups split a norm. */
static bool tfn__norm_fits(tfn_tape *t, tfn_var x, int32_t cols, const tfn_norm_args *like)
{
    const tfn_node *xn = tfn__need(t, "norm", x);
    ptrdiff_t groups = tfn__max(like->groups, 1);
    if (TFN__ALL && t->error.status == TFN_OK && (cols < 1 || xn->cols % cols || cols % groups))
        tfn__bad_shape(t, "norm", "norms of %d channels do not divide %d", cols, xn->cols);
    else if (like->kind > TFN_NORM_ABSMAX || (like->kind > TFN_NORM_RMS && !TFN__ALL))
        tfn__tape_error(t, TFN_UNSUPPORTED, "norm", "kind %d is no norm of rows", like->kind, 0);
    return t->error.status == TFN_OK;
}

/* The factor of AdaNorm is an operation of its own. */
TFNORM_API tfn_var tfn_norm(tfn_tape *t, tfn_var x, tfn_var gain, tfn_var bias, int32_t cols,
                            const tfn_norm_args *like)
{
    if (!tfn__recording(t)) return tfn__none;
    if (!tfn__given(&t->error, "norm", "like", like)) return tfn__none;
    int32_t groups = (int32_t)tfn__max(like->groups, 1);
    tfn_node *n;
    if (!tfn__norm_fits(t, x, cols, like)) return tfn__none;
    if (!tfn__may_have(t, "norm", gain, 1, cols)) return tfn__none;
    if (!tfn__may_have(t, "norm", bias, 1, cols)) return tfn__none;
    n = tfn__map(t, TFN__OP_NORM, x, gain, bias);
    if (!n) return tfn__none;
    n->arg[TFN__NORM_KIND] = (int32_t)like->kind;
    n->arg[TFN__NORM_GROUPS] = 1;
    n->arg[TFN__NORM_COLS] = cols;
    n->number[0] = like->eps;
    if (!TFN__ALL) return tfn__var_of(t, n);

    n->arg[TFN__NORM_KIND] = tfn__norm_kind_and_flags(like);
    n->arg[TFN__NORM_GROUPS] = groups;
    n->arg[TFN__NORM_PART] = (int32_t)like->part;
    n->number[1] = like->slope;
    if (t->training) n->saved_cols = 2 * (n->cols / cols) * groups;     /* mean and rstd */
    if (like->kind == TFN_NORM_ADA && like->factor > 0)
        return tfn__multiple(t, tfn__var_of(t, n), like->factor);
    return tfn__var_of(t, n);
}

/* LayerNorm and RMSNorm over all channels of a row, as the papers have them. */
static tfn_norm_args tfn__plain_norm(tfn_norm_kind kind, float eps)
{
    tfn_norm_args like;
    TFNORM_MEMSET(&like, 0, sizeof like);
    like.kind = kind;
    like.eps = eps;
    return like;
}
TFNORM_API tfn_var tfn_layernorm(tfn_tape *t, tfn_var x, tfn_var gain, tfn_var bias, float eps)
{
    if (!tfn__recording(t)) return tfn__none;
    const tfn_norm_args like = tfn__plain_norm(TFN_NORM_LAYER, eps);
    return tfn_norm(t, x, gain, bias, tfn__need(t, "norm", x)->cols, &like);
}
/* Without a bias, as Zhang & Sennrich 2019 have it. */
TFNORM_API tfn_var tfn_rmsnorm(tfn_tape *t, tfn_var x, tfn_var gain, float eps)
{
    if (!tfn__recording(t)) return tfn__none;
    const tfn_norm_args like = tfn__plain_norm(TFN_NORM_RMS, eps);
    return tfn_norm(t, x, gain, tfn__none, tfn__need(t, "norm", x)->cols, &like);
}

/* Frames become half as many, and these positions. */
TFNORM_API tfn_var tfn_convolution(tfn_tape *t, tfn_var x, tfn_var w, tfn_var b)
{
    if (!tfn__recording(t)) return tfn__none;
    const tfn_node *xn = tfn__need(t, "convolution", x);
    const tfn_node *wn = tfn__need(t, "convolution", w);
    int64_t window = 3 * (int64_t)xn->cols;
    int rows = TFN_ROWS_SOURCE;
    if (t->error.status != TFN_OK) return tfn__none;
    if (xn->rows == TFN_ROWS_FRAMES) rows = TFN_ROWS_HALF;
    else if (xn->rows != TFN_ROWS_HALF)
        return tfn__bad_shape(t, "convolution", "rows of kind %d are no frames", xn->rows, 0);
    if (wn->count != window)
        return tfn__bad_shape(t, "convolution", "a kernel of %d rows, %d are wanted", wn->count,
                              window);
    if (!tfn__wants(t, "convolution", w, wn->count, wn->cols)) return tfn__none;
    if (!tfn__may_have(t, "convolution", b, 1, wn->cols)) return tfn__none;
    return tfn__var_of(t, tfn__record(t, TFN__OP_CONV, rows, 1, wn->cols, x, w, b));
}

/* gain, bias, alpha and shift may each be absent: 1, 0, 1 and 0. */
TFNORM_API tfn_var tfn_squash(tfn_tape *t, tfn_var x, tfn_var gain, tfn_var bias, tfn_var alpha,
                              tfn_var shift, tfn_squash_kind f)
{
    if (!tfn__recording(t)) return tfn__none;
    const tfn_node *xn = tfn__need(t, "pointwise norm", x);
    tfn_node *n;
    tfn__may_have(t, "pointwise norm", gain, 1, xn->cols);
    tfn__may_have(t, "pointwise norm", bias, 1, xn->cols);
    tfn__may_have(t, "pointwise norm", alpha, 1, 1);
    tfn__may_have(t, "pointwise norm", shift, 1, 1);
    n = tfn__map(t, TFN__OP_POINT, x, gain, bias);
    if (!n) return tfn__none;
    n->in[3] = alpha.id;
    n->in[4] = shift.id;
    n->arg[TFN__POINT_FUNCTION] = (int32_t)f;
    return tfn__var_of(t, n);
}

/* gain, alpha and direction are all needed. Two numbers a row are saved. */
TFNORM_API tfn_var tfn_seednorm(tfn_tape *t, tfn_var x, tfn_var gain, tfn_var alpha,
                                tfn_var direction, float eps)
{
    if (!tfn__recording(t)) return tfn__none;
    const tfn_node *xn = tfn__need(t, "SeeDNorm", x);
    tfn_node *n;
    if (!tfn__wants(t, "SeeDNorm", gain, 1, xn->cols)) return tfn__none;
    if (!tfn__wants(t, "SeeDNorm", alpha, 1, xn->cols)) return tfn__none;
    if (!tfn__wants(t, "SeeDNorm", direction, 1, xn->cols)) return tfn__none;
    n = tfn__map(t, TFN__OP_SEED, x, gain, alpha);
    if (!n) return tfn__none;
    n->in[3] = direction.id;
    n->number[0] = eps;
    if (t->training) n->saved_cols = 2;
    return tfn__var_of(t, n);
}

/* Positions in time are what is normalized over; running: buffer (2, C), the mean and variance that
 * evaluation uses. */
static tfn_var tfn__batch_norm(tfn_tape *t, tfn_var x, tfn_var gain, tfn_var bias, tfn_var running,
                               tfn_norm_kind kind, int32_t warmup, float eps)
{
    tfn_node *n;
    if (!tfn__has_time(t, "batch norm", tfn__need(t, "batch norm", x))) return tfn__none;
    n = tfn__map(t, TFN__OP_COLUMNS, x, gain, bias);
    if (!n) return tfn__none;
    n->in[3] = running.id;
    n->arg[TFN__BATCH_KIND] = (int32_t)kind;
    n->arg[TFN__BATCH_WARMUP] = warmup;
    n->number[0] = eps;
    if (t->training) {
        n->saved_cols = 4 * n->cols;
        n->flags |= TFN__BATCH_STATISTICS;
    }
    return tfn__var_of(t, n);
}

/* -- elementwise operations ------------------------------------------------------------------ */

/* Over all columns of a row. */
TFNORM_API tfn_var tfn_softmax(tfn_tape *t, tfn_var x)
{
    if (!tfn__recording(t)) return tfn__none;
    return tfn__var_of(t, tfn__map_one(t, TFN__OP_SOFTMAX, x));
}

/* A function alone; behind a linear map the fused form saves a pass over memory. */
TFNORM_API tfn_var tfn_activation(tfn_tape *t, tfn_var x, tfn_activation_kind act)
{
    if (!tfn__recording(t)) return tfn__none;
    if (!tfn__act_ok(t, "activation", act)) return tfn__none;
    return tfn__var_with(t, tfn__map_one(t, TFN__OP_ACTIVATE, x), tfn__act_of(act), 0);
}

/* exp(min(x, ln 100)) */
static tfn_var tfn__exp_capped_of(tfn_tape *t, tfn_var x)
{
    return tfn__var_of(t, tfn__map_one(t, TFN__OP_EXP_CAPPED, x));
}

/* |x| */
static tfn_var tfn__magnitude(tfn_tape *t, tfn_var x)
{
    return tfn__var_of(t, tfn__map_one(t, TFN__OP_MAGNITUDE, x));
}

/* gate and up are two values, since each has a gradient that the kernel stores. */
TFNORM_API tfn_var tfn_glu(tfn_tape *t, tfn_var gate, tfn_var up, tfn_activation_kind act)
{
    if (!tfn__recording(t)) return tfn__none;
    const tfn_node *gn = tfn__need(t, "gated unit", gate);
    const tfn_node *un = tfn__need(t, "gated unit", up);
    if (gate.id == up.id)
        return tfn__bad_shape(t, "gated unit", "gate and up are one value (%d)", gate.id, 0);
    if (!tfn__act_ok(t, "gated unit", act)) return tfn__none;
    if (!tfn__same_shape(t, "gated unit", gn, un)) return tfn__none;
    return tfn__var_with(t, tfn__map(t, TFN__OP_GATED, gate, up, tfn__none), tfn__act_of(act), 0);
}

/* a x + b y. x and y may be one value: its gradient is then stored by the first and added to by the
 * second. */
TFNORM_API tfn_var tfn_add(tfn_tape *t, tfn_var x, tfn_var y, float a, float b)
{
    if (!tfn__recording(t)) return tfn__none;
    const tfn_node *xn = tfn__need(t, "add", x);
    const tfn_node *yn = tfn__need(t, "add", y);
    tfn_node *n;
    if (!tfn__same_shape(t, "add", xn, yn)) return tfn__none;
    n = tfn__map(t, TFN__OP_ADD, x, y, tfn__none);
    if (!n) return tfn__none;
    n->number[0] = a;
    n->number[1] = b;
    return tfn__var_of(t, n);
}

/* by has one number, one for each group of adjacent channels, or one for each channel. */
TFNORM_API tfn_var tfn_scale(tfn_tape *t, tfn_var x, tfn_var by)
{
    if (!tfn__recording(t)) return tfn__none;
    const tfn_node *xn = tfn__need(t, "scale", x);
    int32_t groups = tfn__need(t, "scale", by)->cols;
    if (groups < 1 || xn->cols % groups != 0) groups = xn->cols;        /* the error names this */
    if (!tfn__wants(t, "scale", by, 1, groups)) return tfn__none;
    return tfn__var_of(t, tfn__map(t, TFN__OP_SCALE, x, by, tfn__none));
}

/* gamma/sigma W, gamma (1, 1), sigma = u^T W v with buffers u (1, in), v (1, out) */
static tfn_var tfn__reparameterized(tfn_tape *t, tfn_var w, tfn_var gamma, tfn_var u, tfn_var v)
{
    const tfn_node *wn = tfn__need(t, "sigma", w);
    tfn_var sigma;
    if (!tfn__wants(t, "sigma", gamma, 1, 1)) return tfn__none;
    if (!tfn__wants(t, "sigma", u, 1, wn->count)) return tfn__none;
    if (!tfn__wants(t, "sigma", v, 1, wn->cols)) return tfn__none;
    sigma = tfn__var_of(t, tfn__record(t, TFN__OP_SIGMA, TFN_ROWS_FIXED, 1, 1, w, u, v));
    return tfn__var_of(t, tfn__map(t, TFN__OP_RESCALE, w, gamma, sigma));
}

/* min(1, t/steps) x; updates: the buffer (1, 1) that holds t */
static tfn_var tfn__ramp(tfn_tape *t, tfn_var x, tfn_var updates, float steps)
{
    return tfn__var_with(t, tfn__map(t, TFN__OP_RAMP, x, updates, tfn__none), 0, steps);
}

/* by has one number or one for each channel. */
TFNORM_API tfn_var tfn_shift(tfn_tape *t, tfn_var x, tfn_var by, float a)
{
    if (!tfn__recording(t)) return tfn__none;
    int32_t cols = tfn__need(t, "shift", x)->cols;
    if (tfn__need(t, "shift", by)->cols == 1) cols = 1;
    if (!tfn__wants(t, "shift", by, 1, cols)) return tfn__none;
    return tfn__var_with(t, tfn__map(t, TFN__OP_SHIFT, x, by, tfn__none), 0, a);
}

/* A sum of layers is a chain of these, each adding its term to the z before. */
TFNORM_API tfn_var tfn_mix(tfn_tape *t, tfn_var z, tfn_var x, tfn_var w, int32_t k)
{
    if (!tfn__recording(t)) return tfn__none;
    const tfn_node *wn = tfn__need(t, "mix", w);
    const tfn_node *xn = tfn__need(t, "mix", x);
    if (k < 0 || k >= wn->cols)
        return tfn__bad_shape(t, "mix", "weight %d, there are %d", k, wn->cols);
    if (!tfn__wants(t, "mix", w, wn->count, wn->cols)) return tfn__none;
    if (wn->count > xn->cols)
        return tfn__bad_shape(t, "mix", "%d groups of weights, there are %d channels", wn->count,
                              xn->cols);
    if (z.id && !tfn__same_shape(t, "mix", xn, tfn__need(t, "mix", z))) return tfn__none;
    return tfn__var_with(t, tfn__map(t, TFN__OP_MIX, x, w, z), k, 0);
}

/* q is one learned number, a parameter (1, 1). */
TFNORM_API tfn_var tfn_gate(tfn_tape *t, tfn_var x, tfn_var q)
{
    if (!tfn__recording(t)) return tfn__none;
    if (!tfn__wants(t, "gate", q, 1, 1)) return tfn__none;
    return tfn__var_of(t, tfn__map(t, TFN__OP_GATE, x, q, tfn__none));
}

static bool tfn__is_rate(float p) { return p >= 0 && p < 1; }           /* false of NaN */

/* Evaluation has no dropout. The site, which is counted over all dropouts of a tape, keys the mask:
 * other nodes may come and go without changing it. */
TFNORM_API tfn_var tfn_dropout(tfn_tape *t, tfn_var x, float p)
{
    if (!tfn__recording(t)) return tfn__none;
    tfn_node *n;
    if (!tfn__is_rate(p))
        return tfn__tape_error(t, TFN_BAD_OPTION, "dropout", "the rate is not in [0, 1)", 0, 0);
    if (!t->training || p <= 0) return x;
    n = tfn__map_one(t, TFN__OP_DROPOUT, x);
    if (!n) return tfn__none;
    n->number[0] = p;
    n->site = ++t->site;
    return tfn__var_of(t, n);
}

/* -- embeddings and positions ---------------------------------------------------------------- */

TFNORM_API tfn_var tfn_embedding(tfn_tape *t, tfn_var table, int32_t slot, tfn_rows rows,
                                 float scale)
{
    if (!tfn__recording(t)) return tfn__none;
    const tfn_node *w = tfn__need(t, "embedding", table);
    tfn_node *n;
    if (!tfn__slot_ok(t, "embedding", slot)) return tfn__none;
    if (!tfn__wants(t, "embedding", table, w->count, w->cols)) return tfn__none;
    n = tfn__record(t, TFN__OP_EMBED, (int)rows, 1, w->cols, table, tfn__none, tfn__none);
    return tfn__var_with(t, n, slot, scale);
}

/* Positions of the longest sentence of a value with such rows. */
static int32_t tfn__capacity_of(const tfn_tape *t, int rows)
{
    if (rows == TFN_ROWS_SOURCE) return t->source;
    if (rows == TFN_ROWS_TARGET) return t->target;
    return 1;
}

/* An operation on x and a table with a row of `cols` numbers for every position. */
static tfn_var tfn__positional(tfn_tape *t, int op, tfn_var x, tfn_var table, int32_t cols)
{
    const char *name = tfn__ops[op].name;
    const tfn_node *xn = tfn__need(t, name, x);
    const tfn_node *w = tfn__need(t, name, table);
    int32_t positions = tfn__capacity_of(t, xn->rows);
    if (!tfn__has_time(t, name, xn)) return tfn__none;
    if (w->count < positions)
        return tfn__bad_shape(t, name, "the table has %d positions, %d are wanted", w->count,
                              positions);
    if (!tfn__wants(t, name, table, w->count, cols)) return tfn__none;
    return tfn__var_of(t, tfn__map(t, op, x, table, tfn__none));
}

/* A table of sinusoids (no gradient) or a parameter (learned). */
TFNORM_API tfn_var tfn_position(tfn_tape *t, tfn_var x, tfn_var table)
{
    if (!tfn__recording(t)) return tfn__none;
    return tfn__positional(t, TFN__OP_POSITION, x, table, tfn__need(t, "position", x)->cols);
}

/* The table has a row of head_size numbers for every position; all heads share it. */
TFNORM_API tfn_var tfn_rotary(tfn_tape *t, tfn_var x, tfn_var table, int32_t head_size)
{
    if (!tfn__recording(t)) return tfn__none;
    tfn_var y = tfn__none;
    int32_t cols = tfn__need(t, "rotary", x)->cols;
    if (head_size < 2 || head_size % 2 || cols % head_size)
        return tfn__bad_shape(t, "rotary", "the head size %d is odd or does not divide %d",
                              head_size, cols);
    y = tfn__positional(t, TFN__OP_ROTARY, x, table, head_size);
    if (y.id) t->nodes[y.id].arg[TFN__ROTARY_HEAD_SIZE] = head_size;
    return y;
}

/* One row of each sentence: y (B, C). */
static tfn_var tfn__row_of_each(tfn_tape *t, int op, tfn_var x)
{
    const char *name = tfn__ops[op].name;
    const tfn_node *xn = tfn__need(t, name, x);
    if (!tfn__has_time(t, name, xn)) return tfn__none;
    return tfn__var_of(t, tfn__record(t, op, TFN_ROWS_BATCH, 1, xn->cols, x, tfn__none, tfn__none));
}
/* The output has B rows, whatever the length of the sentences. */
TFNORM_API tfn_var tfn_first_rows(tfn_tape *t, tfn_var x)
{
    if (!tfn__recording(t)) return tfn__none;
    return tfn__row_of_each(t, TFN__OP_FIRST, x);
}
/* Of the rows of this run: a decoder, whose sentences are not padded, wants the logits of these. */
static tfn_var tfn__last(tfn_tape *t, tfn_var x) { return tfn__row_of_each(t, TFN__OP_LAST, x); }

/* -- attention and loss ---------------------------------------------------------------------- */

/* Heads divide the channels, and groups the heads. */
static bool tfn__heads_fit(tfn_tape *t, int32_t cols, int32_t kv_cols, int32_t heads, int32_t kv)
{
    if (t->error.status != TFN_OK) return false;
    if (heads < 1 || kv < 1 || heads % kv)
        tfn__bad_shape(t, "attention", "%d heads cannot share %d key/value heads", heads, kv);
    else if (cols % heads)
        tfn__bad_shape(t, "attention", "%d channels do not split into %d heads", cols, heads);
    else if (kv_cols != cols / heads * kv)
        tfn__bad_shape(t, "attention", "keys have %d channels, %d are wanted", kv_cols,
                       cols / heads * kv);
    return t->error.status == TFN_OK;
}

/* Three values: each has a gradient of its own, which no other may store over. */
static bool tfn__three_values(tfn_tape *t, tfn_var q, tfn_var k, tfn_var v)
{
    int32_t twice = -1;
    if (q.id == v.id || k.id == v.id) twice = v.id;
    if (q.id == k.id) twice = q.id;
    if (twice < 0) return true;
    tfn__bad_shape(t, "attention", "q, k and v must be three values (%d is there twice)", twice, 0);
    return false;
}

TFNORM_API tfn_var tfn_attention(tfn_tape *t, tfn_var q, tfn_var k, tfn_var v, int32_t heads,
                                 int32_t kv_heads, bool causal, int32_t lengths, float dropout)
{
    if (!tfn__recording(t)) return tfn__none;
    const tfn_node *qn = tfn__need(t, "attention", q);
    const tfn_node *kn = tfn__need(t, "attention", k);
    const tfn_node *vn = tfn__need(t, "attention", v);
    tfn_node *n;
    if (!tfn__three_values(t, q, k, v)) return tfn__none;
    if (!tfn__same_shape(t, "attention", kn, vn)) return tfn__none;
    if (!tfn__heads_fit(t, qn->cols, kn->cols, heads, kv_heads)) return tfn__none;
    if (lengths >= 0 && !tfn__slot_ok(t, "attention", lengths)) return tfn__none;
    if (!tfn__is_rate(dropout))
        return tfn__tape_error(t, TFN_BAD_OPTION, "attention", "the dropout is not in [0, 1)", 0,
                               0);
    n = tfn__map(t, TFN__OP_ATTEND, q, k, v);
    if (!n) return tfn__none;
    n->arg[TFN__ATTEND_HEADS] = heads;
    n->arg[TFN__ATTEND_KV_HEADS] = kv_heads;
    n->arg[TFN__ATTEND_CAUSAL] = causal;
    n->arg[TFN__ATTEND_LENGTHS] = (int32_t)tfn__max(lengths, -1);
    if (t->training) n->number[0] = dropout;
    n->site = ++t->site;
    n->saved_cols = 2 * heads;                          /* maximum and sum of each softmax */
    return tfn__var_of(t, n);
}

/* A cache of keys and values of `cols` channels, the next of the state. */
static tfn_var tfn__cache_of(tfn_tape *t, int op, tfn_var k, tfn_var v, int32_t cols,
                             int32_t kv_heads, int32_t capacity)
{
    int64_t floats = (int64_t)2 * t->batch * cols * capacity;
    tfn_node *n = tfn__record(t, op, TFN_ROWS_FIXED, 0, cols, k, v, tfn__none);
    if (!n) return tfn__none;
    n->arg[TFN__CACHE_KV_HEADS] = kv_heads;
    n->arg[TFN__CACHE_CAPACITY] = capacity;
    n->arg[TFN__CACHE_PLACE] = (int32_t)(t->state / TFN__CACHE_ALIGN);
    t->state += (floats + TFN__CACHE_ALIGN - 1) / TFN__CACHE_ALIGN * TFN__CACHE_ALIGN;
    return tfn__var_of(t, n);
}
/* Put the rows of k and v behind what the cache holds. */
static tfn_var tfn__cache_rows(tfn_tape *t, tfn_var k, tfn_var v, int32_t cols, int32_t kv_heads,
                               int32_t capacity)
{
    return tfn__cache_of(t, TFN__OP_CACHE, k, v, cols, kv_heads, capacity);
}
/* The encoder's tape stores its keys and values; the decoder's names them. */
static tfn_var tfn__cache_encoded(tfn_tape *t, tfn_var k, tfn_var v, int32_t cols,
                                  int32_t kv_heads, int32_t capacity)
{
    return tfn__cache_of(t, TFN__OP_ENCODED, k, v, cols, kv_heads, capacity);
}
static tfn_var tfn__cache_memory(tfn_tape *t, int32_t cols, int32_t kv_heads, int32_t capacity)
{
    return tfn__cache_of(t, TFN__OP_MEMORY, tfn__none, tfn__none, cols, kv_heads, capacity);
}
/* lengths: slot, or -1 */
static tfn_var tfn__attend_cached(tfn_tape *t, tfn_var q, tfn_var cache, int32_t heads,
                                  int32_t lengths)
{
    tfn_node *n = tfn__map_one(t, TFN__OP_CACHED, q);
    if (!n) return tfn__none;
    n->arg[TFN__CACHED_HEADS] = heads;
    n->arg[TFN__CACHED_CACHE] = cache.id;
    n->arg[TFN__CACHED_LENGTHS] = lengths;
    return tfn__var_of(t, n);
}

/* One loss a row, in nats, 0 for padding. The slot is noted: a backward without targets is refused,
 * a forward without them gives the logits alone. */
TFNORM_API tfn_var tfn_cross_entropy(tfn_tape *t, tfn_var logits, int32_t slot, float smoothing,
                                     int32_t kind)
{
    if (!tfn__recording(t)) return tfn__none;
    const tfn_node *x = tfn__need(t, "cross-entropy", logits);
    tfn_node *n;
#ifdef TFNORM_NO_TRAINING
    tfn__tape_error(t, TFN_UNSUPPORTED, "cross-entropy", "this build has no training", 0, 0);
#endif
    if (!tfn__slot_ok(t, "cross-entropy", slot)) return tfn__none;
    t->targets_read |= UINT32_C(1) << slot;
    if (!tfn__is_rate(smoothing))
        return tfn__tape_error(t, TFN_BAD_OPTION, "cross-entropy", "the smoothing is not in [0, 1)",
                               0, 0);
    n = tfn__record(t, TFN__OP_LOSS, x->rows, x->count, 1, logits, tfn__none, tfn__none);
    if (!n) return tfn__none;
    n->arg[TFN__LOSS_SLOT] = slot;
    n->arg[TFN__LOSS_KIND] = kind;
    n->number[0] = smoothing;
    n->saved_cols = TFN__LOSS_SAVED;
    return tfn__var_of(t, n);
}

/* -- the user's own operations, and what is asked of single values ---------------------------- */

/* The shape is what the caller says; inputs may be any values. */
TFNORM_API tfn_var tfn_custom(tfn_tape *t, int32_t index, const tfn_var *in, int32_t count,
                              tfn_rows rows, int32_t fixed, int32_t cols)
{
    if (!tfn__recording(t)) return tfn__none;
    tfn_node *n;
    if (index < 0 || index >= t->customs)
        return tfn__tape_error(t, TFN_BAD_OPTION, "custom", "operation %d, the tape has %d", index,
                               t->customs);
    if (count < 0 || count > TFN_INPUTS)
        return tfn__bad_shape(t, "custom", "%d inputs, the limit is %d", count, TFN_INPUTS);
    if (!tfn__given(&t->error, "custom", "tape.custom", t->custom)) return tfn__none;
    if (count && !tfn__given(&t->error, "custom", "in", in)) return tfn__none;
    for (int32_t i = 0; i < count; i++) tfn__need(t, t->custom[index].name, in[i]);
    n = tfn__record(t, TFN__OP_CUSTOM, (int)rows, fixed, cols, tfn__none, tfn__none, tfn__none);
    if (!n) return tfn__none;
    for (int32_t i = 0; i < count; i++) n->in[i] = in[i].id;
    n->arg[TFN__CUSTOM_INDEX] = index;
    return tfn__var_of(t, n);
}

/* A node of its own, so that the timeline says when the callback comes. */
TFNORM_API void tfn_probe(tfn_tape *t, tfn_var x, int32_t id)
{
    if (!tfn__recording(t)) return;
    tfn_node *n;
    tfn__need(t, "probe", x);
    n = tfn__record(t, TFN__OP_PROBE, TFN_ROWS_FIXED, 0, 0, x, tfn__none, tfn__none);
    if (!n) return;
    n->arg[TFN__PROBE_ID] = id;
    t->nodes[x.id].flags |= TFN__PROBED;
}
/* The flag is read by the plan: value and gradient then live to the end. */
TFNORM_API void tfn_keep(tfn_tape *t, tfn_var x)
{
    if (!tfn__recording(t)) return;
    tfn__need(t, "keep", x);
    if (t->error.status == TFN_OK) t->nodes[x.id].flags |= TFN__KEEP;
}
/* Nodes that are recorded from here on belong to the segment. */
TFNORM_API void tfn_recompute(tfn_tape *t, int32_t segment)
{
    if (tfn__recording(t)) t->segment = segment;
}

/* -- plan: the timeline, then a place for every buffer by liveness --------------------------- */

/* Kinds of entries. REDO is a forward in the second life; SEED writes the gradient 1 of the last
 * value; PREPARE takes a linear map's gradient back through its activation. */
enum { TFN__FORWARD, TFN__REDO, TFN__SEED, TFN__PREPARE, TFN__BACKWARD, TFN__ENTRY_KINDS = 8 };

static int32_t tfn__timeline_entry(int32_t node, int32_t kind)
{
    return node*TFN__ENTRY_KINDS + kind;
}
/* The two parts of an entry. */
static int32_t tfn__entry_node(int32_t entry) { return entry / TFN__ENTRY_KINDS; }
static int32_t tfn__entry_kind(int32_t entry) { return entry % TFN__ENTRY_KINDS; }

/* Buffers of a node: value and saved, in training also those of the second life and the gradient.
 * Life l of the value is buffer TFN__VALUE + 2*l; so is that of what is saved. */
enum { TFN__VALUE, TFN__SAVE, TFN__VALUE2, TFN__SAVE2, TFN__GRAD, TFN__BUFFERS };

/* How many of these a node of this tape has. */
static int tfn__buffers(const tfn_tape *t)
{
    if (t->training) return TFN__BUFFERS;
    return TFN__SAVE + 1;
}

/* Leaves have no entry on the timeline. */
static bool tfn__is_leaf(const tfn_node *n) { return n->op <= TFN__OP_INPUT; }

/* Its value is not in the workspace: it lies in another region, or there is none. */
static bool tfn__outside(const tfn_node *n)
{
    return tfn__is_leaf(n) || n->op == TFN__OP_CACHE || n->op == TFN__OP_ENCODED
        || n->op == TFN__OP_PROBE;
}

/* Which life of a node an entry sees: once the backward has begun, the second, if there is one. */
static int tfn__life_of(const tfn_node *n, bool again)
{
    if (again && (n->flags & TFN__AGAIN)) return 1;
    return 0;
}

/* Rows of a value in a run of these sizes. */
static int64_t tfn__rows_at(const tfn_node *n, int64_t batch, int64_t source, int64_t target)
{
    if (n->rows == TFN_ROWS_FIXED) return n->count;
    if (n->rows == TFN_ROWS_BATCH) return batch;
    if (n->rows == TFN_ROWS_TARGET) return batch * target;
    return tfn__rows_of_positions(n->rows, batch * source, batch);
}
/* The most rows of any run: B*Tt by the capacities, but not more than `tokens` positions. */
static int64_t tfn__rows_max(const tfn_tape *t, const tfn_node *n)
{
    int64_t rows = tfn__rows_at(n, t->batch, t->source, t->target);
    int64_t most;
    if (!t->tokens || n->rows <= TFN_ROWS_BATCH) return rows;
    most = tfn__rows_of_positions(n->rows, t->tokens, t->batch);
    if (most < rows) return most;
    return rows;
}

/* Floats that a node with so many rows saves. */
static int64_t tfn__saved_floats(const tfn_node *n, int64_t rows)
{
    if (n->flags & TFN__BATCH_STATISTICS) return n->saved_cols;
    return rows * n->saved_cols;
}

#ifndef TFNORM_NO_TRAINING
/* An operation of the user's has its own. */
static bool tfn__has_backward(const tfn_tape *t, const tfn_node *n)
{
    if (n->op == TFN__OP_CUSTOM) return tfn__custom_of(t, n)->backward != NULL;
    return tfn__ops[n->op].backward != NULL;
}
static const char *tfn__op_name(const tfn_tape *t, const tfn_node *n)
{
    if (n->op == TFN__OP_CUSTOM) return tfn__custom_of(t, n)->name;
    return tfn__ops[n->op].name;
}

/* Inputs that no gradient flows into: what a probe watches, and a table of angles. */
static bool tfn__constant(const tfn_node *n, int input)
{
    return n->op == TFN__OP_PROBE || (n->op == TFN__OP_ROTARY && input == 1);
}

/* Two passes find where gradients flow. Neither alone is enough: a value may depend on parameters
 * and not reach the loss (a probe's, or the last layer's cache), or reach it and depend on none
 * (an input, frozen features). Only what does both costs memory and time in the backward. */

/* LEARNS, from the first node to the last: a parameter, or what reads a value that learns. */
static void tfn__mark_learns(tfn_tape *t)
{
    for (int32_t i = 1; i < t->count; i++) {
        tfn_node *n = t->nodes + i;
        if (n->op == TFN__OP_PARAM) n->flags |= TFN__LEARNS;
        for (int j = 0; j < TFN_INPUTS; j++)
            if (n->in[j] && !tfn__constant(n, j) && (t->nodes[n->in[j]].flags & TFN__LEARNS))
                n->flags |= TFN__LEARNS;
    }
}

/* NEED, from the last node to the first: the last value, and what a value reads that has a gradient
 * itself; of these only what learns. */
static void tfn__mark_needs(tfn_tape *t)
{
    tfn_node *loss = t->nodes + t->count - 1;
    if (loss->flags & TFN__LEARNS) loss->flags |= TFN__NEED;
    for (int32_t i = t->count - 1; i > 0; i--) {
        tfn_node *n = t->nodes + i;
        if (!(n->flags & TFN__NEED)) continue;
        if (!tfn__is_leaf(n) && !tfn__has_backward(t, n)) {
            tfn__tape_error(t, TFN_NO_GRADIENT, tfn__op_name(t, n), NULL, 0, 0);
            t->error.node = i;
            t->error.layer = n->layer;
            return;
        }
        for (int j = 0; j < TFN_INPUTS; j++) {
            tfn_node *x = t->nodes + n->in[j];
            if (!n->in[j] || !(x->flags & TFN__LEARNS) || tfn__constant(n, j)) continue;
            x->flags |= TFN__NEED;
            n->grad_need |= (uint8_t)(1u << j);
        }
    }
}

/* The end of the nodes from `first` on that are of its segment; *needed: one has a backward. */
static int32_t tfn__segment_end(const tfn_tape *t, int32_t first, bool *needed)
{
    int32_t i = first;
    *needed = false;
    for (; i < t->count; i++) {
        const tfn_node *n = t->nodes + i;
        if (n->segment != t->nodes[first].segment) break;
        if (!tfn__is_leaf(n) && (n->flags & TFN__NEED)) *needed = true;
    }
    return i;
}

/* Gradient checkpointing (Chen 2016): only what a segment's readers outside need is kept between
 * forward and backward, the rest costs one more forward. The second forward draws the same dropout
 * mask, because that depends on the site alone. */

/* Values of a segment that nobody outside reads are made again in the backward, if it comes to the
 * segment: no gradient reaches a layer whose output nothing reads. */
static void tfn__mark_again(tfn_tape *t)
{
    int32_t end = 1;
    bool needed = false;
    for (int32_t i = 1; i < t->count; i++) {
        tfn_node *n = t->nodes + i;
        if (i == end) end = tfn__segment_end(t, i, &needed);
        if (!needed || !n->segment || tfn__outside(n) || (n->flags & TFN__KEEP)) continue;
        n->flags |= TFN__AGAIN;
    }

/* What another segment reads must outlive the forward: that reader's backward comes before
     * this segment's second forward. */
    for (int32_t i = 1; i < t->count; i++)
        for (int j = 0; j < TFN_INPUTS; j++) {
            tfn_node *x = t->nodes + t->nodes[i].in[j];
            if (x->segment != t->nodes[i].segment) x->flags &= (uint8_t)~TFN__AGAIN;
        }
    t->nodes[t->count - 1].flags &= (uint8_t)~TFN__AGAIN;
}

/* The functions below write entries at e of the timeline and return its new end. */

/* The second forward of a segment. */
static int32_t tfn__redo(tfn_tape *t, int32_t segment, int32_t e)
{
    for (int32_t i = 1; i < t->count; i++)
        if (t->nodes[i].segment == segment && (t->nodes[i].flags & TFN__AGAIN))
            t->order[e++] = tfn__timeline_entry(i, TFN__REDO);
    return e;
}

/* A gradient is complete when its value's own backward comes: then its probes see it. */
static int32_t tfn__probe_order(tfn_tape *t, int32_t node, int32_t e)
{
    if (!(t->nodes[node].flags & TFN__PROBED)) return e;
    for (int32_t i = node + 1; i < t->count; i++)
        if (t->nodes[i].op == TFN__OP_PROBE && t->nodes[i].in[0] == node)
            t->order[e++] = tfn__timeline_entry(i, TFN__BACKWARD);
    return e;
}

/* The first writer of a gradient stores, later ones add. */
static void tfn__mark_writers(tfn_tape *t, tfn_node *n)
{
    for (int j = 0; j < TFN_INPUTS; j++) {
        tfn_node *x = t->nodes + n->in[j];
        if (!(n->grad_need >> j & 1)) continue;
        if (x->flags & TFN__WRITTEN) n->grad_add |= (uint8_t)(1u << j);
        x->flags |= TFN__WRITTEN;
    }
}

/* The backward half: the seed, then the nodes in reverse, each segment after its second forward. */
static int32_t tfn__backward_order(tfn_tape *t, int32_t e)
{
    int32_t redone = 0;
    for (int32_t i = 1; i < t->count; i++) t->nodes[i].flags &= (uint8_t)~TFN__WRITTEN;
    t->order[e++] = tfn__timeline_entry(t->count - 1, TFN__SEED);
    for (int32_t i = t->count - 1; i > 0; i--) {
        tfn_node *n = t->nodes + i;
        e = tfn__probe_order(t, i, e);
        if (tfn__is_leaf(n) || !(n->flags & TFN__NEED)) continue;
/* the first node of a segment, from behind, that has a backward */
        if (n->segment && n->segment != redone) {
            redone = n->segment;
            e = tfn__redo(t, redone, e);
        }
        if (n->op == TFN__OP_LINEAR && n->arg[TFN__LINEAR_ACTIVATION] != TFN_ACTIVATION_IDENTITY)
            t->order[e++] = tfn__timeline_entry(i, TFN__PREPARE);
        t->order[e++] = tfn__timeline_entry(i, TFN__BACKWARD);
        tfn__mark_writers(t, n);
    }
    return e;
}
#endif

/* The forward half: every node but the leaves, in order of recording, which is an order in which
 * inputs come first. */
static void tfn__make_order(tfn_tape *t)
{
    int32_t e = 0;
    for (int32_t i = 1; i < t->count; i++)
        if (!tfn__is_leaf(t->nodes + i)) t->order[e++] = tfn__timeline_entry(i, TFN__FORWARD);
    t->forward_count = e;
#ifndef TFNORM_NO_TRAINING
    if (t->training) e = tfn__backward_order(t, e);
#endif
    t->order_count = e;
}

/* From here on a plan is about memory alone. Every value, saved array and gradient is an item with
 * a size and a life [first, last] on the timeline. Two items may overlap in memory if and only if
 * their lives do not overlap. Finding the smallest block for all is NP-hard (it is two-dimensional
 * packing with one side fixed); placing the largest first comes close, since the small ones fill
 * the gaps that the large ones leave. Its cost is the square of the number of items at worst,
 * once. */

/* A buffer while the plan is made: its life on the timeline (first -1: none) and its place. */
typedef struct tfn__item {
    int64_t size, at;           /* floats; offset among the values */
    int32_t first, last;        /* entries; last = order_count: to the end, and after it */
    int32_t next;               /* the placed item behind this one, or -1 */
    int32_t owner;              /* node * TFN__BUFFERS + buffer, in rising order */
} tfn__item;

/* The items of a tape, every buffer of every node that has a place in the workspace. */
typedef struct tfn__layout {
    tfn_tape  *t;
    tfn__item *items;
    int32_t    count;
} tfn__layout;

/* The node and the buffer that an item is. */
static tfn_node *tfn__owner_of(const tfn__layout *p, const tfn__item *item)
{
    return p->t->nodes + item->owner / TFN__BUFFERS;
}
static int tfn__buffer_of(const tfn__item *item) { return item->owner % TFN__BUFFERS; }

/* The item of a buffer, by bisection: owners rise. */
static tfn__item *tfn__item_of(const tfn__layout *p, int32_t node, int buffer)
{
    const int32_t owner = node*TFN__BUFFERS + buffer;
    int32_t low = 0;
    int32_t high = p->count - 1;
/* low <= the wanted index <= high */
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (p->items[middle].owner < owner) low = middle + 1;
        else high = middle;
    }
    return p->items + low;
}

/* A buffer is in use at entry e; e rises from call to call. */
static void tfn__touch(const tfn__layout *p, int32_t node, int buffer, int32_t e)
{
    tfn__item *item;
    if (tfn__outside(p->t->nodes + node)) return;
    item = tfn__item_of(p, node, buffer);
    if (item->first < 0) item->first = e;
    item->last = e;
}

/* All that entry e reads or writes is in use at e. A forward reads its inputs and writes value and
 * saved; a backward reads what its row says and the gradient, and writes those of its inputs. */
static void tfn__touch_entry(const tfn__layout *p, int32_t e)
{
    const tfn_tape *t = p->t;
    int32_t i = tfn__entry_node(t->order[e]);
    int32_t kind = tfn__entry_kind(t->order[e]);
    const tfn_node *n = t->nodes + i;
    bool forward = kind == TFN__FORWARD || kind == TFN__REDO;
    bool again = kind != TFN__FORWARD;
    int own = 2 * tfn__life_of(n, again);
    unsigned reads = n->reads;
    if (kind == TFN__SEED) {
        tfn__touch(p, i, TFN__GRAD, e);
        return;
    }
    if (forward) reads = TFN__READ_ALL;

/* inputs and their gradients; a probe reads the gradient of what it watches */
    for (int j = 0; j < TFN_INPUTS; j++) {
        int32_t x = n->in[j];
        bool gradient = (n->grad_need >> j & 1) || n->op == TFN__OP_PROBE;
        if (!x) continue;
        if (reads >> j & 1)
            tfn__touch(p, x, TFN__VALUE + 2 * tfn__life_of(t->nodes + x, again), e);
        if (!forward && gradient) tfn__touch(p, x, TFN__GRAD, e);
    }
/* the node's own buffers, of the life that this entry sees */
    if (reads & TFN__OUT) tfn__touch(p, i, TFN__VALUE + own, e);
    if (reads & TFN__SAVED) tfn__touch(p, i, TFN__SAVE + own, e);
    if (!forward) tfn__touch(p, i, TFN__GRAD, e);
}

/* Floats of a buffer at full capacity; 0: it needs no place. */
static int64_t tfn__buffer_floats(const tfn_tape *t, const tfn_node *n, int buffer)
{
    int64_t rows = tfn__rows_max(t, n);
    if (buffer == TFN__SAVE || buffer == TFN__SAVE2) return tfn__saved_floats(n, rows);
    if (buffer == TFN__GRAD && !(n->flags & TFN__NEED)) return 0;
    return rows * n->cols;
}

/* Whether somebody reads a buffer after the run: the user, who kept it, or the model, which makes
 * running statistics of those of the batch. */
static bool tfn__outlives(const tfn_node *n, int buffer)
{
    bool second_life = buffer == TFN__VALUE2 || buffer == TFN__SAVE2;
    bool saved = buffer == TFN__SAVE || buffer == TFN__SAVE2;
    if ((n->flags & TFN__KEEP) && !second_life) return true;
    return (n->flags & TFN__BATCH_STATISTICS) && saved;
}

/* Sizes and lives of all items. */
static void tfn__find_lives(const tfn__layout *p)
{
    const tfn_tape *t = p->t;
    for (int32_t e = 0; e < t->order_count; e++) tfn__touch_entry(p, e);
    for (int32_t k = 0; k < p->count; k++) {
        tfn__item *item = p->items + k;
        const tfn_node *n = tfn__owner_of(p, item);
        int buffer = tfn__buffer_of(item);
        item->size = tfn__padded(tfn__buffer_floats(t, n, buffer));
        if (tfn__outlives(n, buffer)) item->last = t->order_count;
    }
}

/* The order of placing. Equal sizes by owner: the same plan on every machine. */
static bool tfn__larger(const void *items, int32_t i, int32_t j)
{
    const tfn__item *a = (const tfn__item *)items + i;
    const tfn__item *b = (const tfn__item *)items + j;
    if (a->size != b->size) return a->size > b->size;
    return a->owner < b->owner;
}

/* The lowest offset at which an item fits between those that live at the same time. The placed ones
 * stand in order of their offset from head on. */
static int64_t tfn__lowest_place(const tfn__item *items, int32_t head, const tfn__item *item)
{
    int64_t at = 0;
    for (int32_t k = head; k >= 0; k = items[k].next) {
        const tfn__item *placed = items + k;
/* never in use at one time */
        if (placed->first > item->last || item->first > placed->last) continue;
/* the gap before it is large enough */
        if (placed->at - at >= item->size) break;
        if (placed->at + placed->size > at) at = placed->at + placed->size;
    }
    return at;
}

/* Largest first, each at the lowest offset that is free during its whole life. The floats that all
 * together need are close to the most that live at one time. */
static int64_t tfn__place(tfn__item *items, int32_t count)
{
    int32_t *order = (int32_t *)(void *)(items + count);
    int32_t head = -1;
    int64_t end = 0;
    tfn__order(order, count, tfn__larger, items);
    for (int32_t i = 0; i < count; i++) {
        tfn__item *item = items + order[i];
        int32_t *link = &head;
        if (item->first < 0 || item->size <= 0) continue;
        item->at = tfn__lowest_place(items, head, item);
        if (item->at + item->size > end) end = item->at + item->size;

        while (*link >= 0) {                    /* into the list, behind those at lower offsets */
            if (items[*link].at > item->at) break;
            link = &items[*link].next;
        }
        item->next = *link;
        *link = order[i];
    }
    return end;
}

/* Write the places, behind the threads' scratch, into the nodes. */
static void tfn__settle(const tfn__layout *p)
{
    int64_t start = p->t->threads * p->t->scratch;
    for (int32_t k = 0; k < p->count; k++) {
        const tfn__item *item = p->items + k;
        tfn_node *n = tfn__owner_of(p, item);
        int buffer = tfn__buffer_of(item);
        n->dies[buffer] = -1;
        if (item->size <= 0 || item->first < 0) continue;
        n->dies[buffer] = item->last;
        if (buffer == TFN__GRAD) n->grad = start + item->at;
        else if (buffer % 2 == TFN__VALUE) n->value[buffer / 2] = start + item->at;
        else n->saved[buffer / 2] = start + item->at;
    }
}

/* -- scratch: what packing of matrices and scores of attention take, for each thread ----------- */

/* Of a linear map or convolution: the product (rows, in) (in, out), in training those of both
 * gradients, and of a transposed W's. */
static int64_t tfn__product_work(const tfn_tape *t, const tfn_kernels *k, ptrdiff_t rows,
                                 ptrdiff_t in, ptrdiff_t out)
{
    ptrdiff_t work = k->matmul_work(rows, out, in);
    if (!t->training) return work;
    work = tfn__max(work, k->matmul_work(rows, in, out));
    work = tfn__max(work, k->matmul_work(in, out, rows));
    return tfn__max(work, k->matmul_work(out, in, rows));
}

/* Scratch floats one thread wants for a node at full capacity. */
static int64_t tfn__scratch_of(const tfn_tape *t, const tfn_kernels *k, const tfn_node *n)
{
    ptrdiff_t rows = (ptrdiff_t)tfn__rows_max(t, n);
    const tfn_node *x = t->nodes + n->in[0];
    const tfn_node *w = t->nodes + n->in[1];            /* of attention: the keys */
    if (n->op == TFN__OP_LINEAR) return tfn__product_work(t, k, rows, x->cols, n->cols);
    if (TFN__ALL && n->op == TFN__OP_CONV) return tfn__product_work(t, k, rows, w->count, n->cols);
    if (n->op == TFN__OP_ATTEND) {
        ptrdiff_t queries = t->target;
        ptrdiff_t keys = t->target;
        if (n->rows == TFN_ROWS_SOURCE) queries = t->source;
        if (w->rows == TFN_ROWS_SOURCE) keys = t->source;
        return k->attention_work(queries, keys, n->cols / n->arg[TFN__ATTEND_HEADS]);
    }
    if (n->op == TFN__OP_CACHED) {
        const tfn_node *cache = t->nodes + n->arg[TFN__CACHED_CACHE];
        return k->attention_work(0, cache->arg[TFN__CACHE_CAPACITY],
                                 n->cols / n->arg[TFN__CACHED_HEADS]);
    }
    return 0;
}

/* The most of all nodes: threads work on one entry at a time. */
static int64_t tfn__most_scratch(const tfn_tape *t, const tfn_kernels *k)
{
    int64_t most = 0;
    for (int32_t i = 1; i < t->count; i++) {
        int64_t floats = tfn__padded(tfn__scratch_of(t, k, t->nodes + i));
        if (floats > most) most = floats;
    }
    return most;
}

/* -- the plan's memory, and the plan ----------------------------------------------------------- */

/* No buffer is so large that the sums of the plan, in 64 bits, or a pointer could overflow. In
 * double, which does not. */
static bool tfn__plan_sizes_ok(tfn_tape *t)
{
    for (int32_t i = 1; i < t->count; i++) {
        const tfn_node *n = t->nodes + i;
        double floats = (double)tfn__rows_max(t, n) * (n->cols + n->saved_cols);
        if (floats > 1e15 || floats > (double)PTRDIFF_MAX / 64) {
            tfn__tape_error(t, TFN_TOO_LARGE, tfn__ops[n->op].name, NULL, 0, 0);
            return false;
        }
    }
    return true;
}

/* Bytes of nodes and timeline, which stay; items and their order, which do not, lie behind. */
static size_t tfn__order_end(const tfn_tape *t)
{
    size_t entries = 1;                         /* of a node, at most */
    if (t->training) entries = 4;
    return ((size_t)t->count * (sizeof(tfn_node) + entries * sizeof(int32_t)) + 15) / 16 * 16;
}

/* Find room for the timeline and the items, and list these without life or place. */
static bool tfn__plan_memory(tfn_tape *t, tfn__layout *p)
{
    size_t start = tfn__order_end(t);
    tfn__item *item;
    p->t = t;
    p->count = 0;
    for (int32_t i = 1; i < t->count; i++)
        if (!tfn__outside(t->nodes + i)) p->count += tfn__buffers(t);
    t->peak = start + (size_t)p->count * (sizeof(tfn__item) + sizeof(int32_t));
    if (t->peak > t->size) {
        tfn__tape_error(t, TFN_NO_MEMORY, "tape", "the block has %d bytes, %d are wanted",
                        (int64_t)t->size, (int64_t)t->peak);
        return false;
    }
    t->order = (int32_t *)(void *)(t->nodes + t->count);
    p->items = (tfn__item *)(void *)((unsigned char *)t->nodes + start);

    item = p->items;
    for (int32_t i = 1; i < t->count; i++) {
        if (tfn__outside(t->nodes + i)) continue;
        for (int b = 0; b < tfn__buffers(t); b++) {
            TFNORM_MEMSET(item, 0, sizeof *item);
            item->first = -1;
            item->last = -1;
            item->owner = i*TFN__BUFFERS + b;
            item++;
        }
    }
    return true;
}

/* Mark what has a gradient, write the timeline, find the lives, place the buffers. The places are
 * offsets, so that the plan serves any workspace and any number of runs. */
TFNORM_API tfn_status tfn_tape_plan(tfn_tape *t, const tfn_kernels *kernels, int32_t threads)
{
    tfn__layout layout;
    if (!t) return TFN_NULL;
    tfn__made(&t->error, "tape", t->nodes);
    tfn__given(&t->error, "tape", "kernels", kernels);
    if (t->error.status == TFN_OK && t->count < 2)
        tfn__tape_error(t, TFN_NOT_READY, "tape", "nothing is recorded", 0, 0);
/* What the block must hold is known from the nodes alone. */
    if (t->error.status != TFN_OK || !tfn__plan_sizes_ok(t)) return t->error.status;
    if (!tfn__plan_memory(t, &layout)) return t->error.status;
    t->kernels = kernels;
    t->threads = (int32_t)tfn__max(threads, 1);
#ifndef TFNORM_NO_TRAINING
    if (t->training) {
        tfn__mark_learns(t);
        tfn__mark_needs(t);
        tfn__mark_again(t);
    }
#else
    if (t->training) tfn__tape_error(t, TFN_UNSUPPORTED, "tape", NULL, 0, 0);
#endif
    if (t->error.status != TFN_OK) return t->error.status;

    tfn__make_order(t);
    tfn__find_lives(&layout);
    t->values = tfn__place(layout.items, layout.count);
/* Scratch first, for each thread; the values behind it. */
    t->scratch = tfn__most_scratch(t, kernels);
    tfn__settle(&layout);
    t->work = t->values + t->threads * t->scratch;
    t->planned = true;
    return TFN_OK;
}

/* -- run ------------------------------------------------------------------------------------- */

/* Where a node's value lies in this run; NULL: absent, or not computed. */
static float *tfn__place_of(const tfn_tape *t, const tfn_run *r, int32_t id, bool again)
{
    const tfn_node *n = t->nodes + id;
    int64_t at = n->value[tfn__life_of(n, again)];
    if (!id) return NULL;
    if (n->op == TFN__OP_PARAM) return r->params + at;
    if (n->op == TFN__OP_TABLE) return r->tables + at;
    if (n->op == TFN__OP_BUFFER) return r->buffers + at;
    if (n->op == TFN__OP_INPUT) {
        union { const float *in; float *out; } u;       /* inputs are only read */
        u.in = r->inputs[n->arg[TFN__INPUT_SLOT]];
        return u.out;
    }
    if (at < 0) return NULL;
    return r->work + at;
}
/* Where its gradient lies; NULL: it has none. */
static float *tfn__grad_of(const tfn_tape *t, const tfn_run *r, int32_t id)
{
    const tfn_node *n = t->nodes + id;
    if (n->grad < 0 || !id) return NULL;
    if (n->op == TFN__OP_PARAM) return r->grads + n->grad;
    return r->work + n->grad;
}

/* A region that the tape uses is bound. */
static bool tfn__bound(int64_t floats, const float *region) { return floats <= 0 || region; }
/* All regions but the gradients, which only a backward needs. */
static bool tfn__regions_bound(const tfn_tape *t, const tfn_run *r)
{
    return tfn__bound(t->params, r->params) && tfn__bound(t->tables, r->tables)
        && tfn__bound(t->buffers, r->buffers) && tfn__bound(t->state, r->state)
        && tfn__bound(t->work, r->work);
}

/* After a run these hold what tfn_keep protects, the last value, and what no later entry has
 * overwritten. */
TFNORM_API float *tfn_value(const tfn_tape *t, const tfn_run *r, tfn_var x)
{
    if (!t || !r || !t->planned || !tfn__known(t, x)) return NULL;
    if (!tfn__regions_bound(t, r)) return NULL;
    return tfn__place_of(t, r, x.id, false);
}
/* NULL where no gradient was wanted. */
TFNORM_API float *tfn_gradient(const tfn_tape *t, const tfn_run *r, tfn_var x)
{
    if (!t || !r || !t->planned || !tfn__known(t, x)) return NULL;
    if (!tfn__regions_bound(t, r) || !tfn__bound(t->params, r->grads)) return NULL;
    if (!(t->nodes[x.id].flags & TFN__NEED)) return NULL;
    return tfn__grad_of(t, r, x.id);
}

/* Input j of a call: its value, its shape, and in a backward its gradient. A run may accumulate the
 * gradients of parameters over several batches: then the first writer adds, too. */
static void tfn__bind_input(tfn__call *c, int j, bool again, bool backward)
{
    const tfn_node *n = c->n;
    const tfn_node *x = c->t->nodes + n->in[j];
    const tfn_run *r = c->r;
    c->x[j] = tfn__place_of(c->t, r, n->in[j], again);
    c->x_rows[j] = (ptrdiff_t)tfn__rows_at(x, r->batch, r->source, r->target);
    c->x_cols[j] = x->cols;
    c->dx[j] = NULL;
    c->add[j] = false;
    if (!backward || !(n->grad_need >> j & 1)) return;
    c->dx[j] = tfn__grad_of(c->t, r, n->in[j]);
    c->add[j] = (n->grad_add >> j & 1) || (r->accumulate && x->op == TFN__OP_PARAM);
}

/* The pointers and sizes of an entry in this run. */
static void tfn__make_call(tfn__call *c, const tfn_tape *t, const tfn_run *r, int32_t entry,
                           float *work)
{
    int32_t id = tfn__entry_node(entry);
    int32_t kind = tfn__entry_kind(entry);
    const tfn_node *n = t->nodes + id;
    bool again = kind != TFN__FORWARD;
    bool backward = kind >= TFN__SEED;
    int64_t saved = n->saved[tfn__life_of(n, again)];
/* what is the same for every entry of a run */
    c->t = t;
    c->r = r;
    c->k = t->kernels;
    c->n = n;
    c->work = work;
/* the node's shape and buffers; absent ones are NULL */
    c->rows = (ptrdiff_t)tfn__rows_at(n, r->batch, r->source, r->target);
    c->cols = n->cols;
    c->y = NULL;
    c->saved = NULL;
    c->dy = NULL;
    if (!tfn__outside(n)) c->y = tfn__place_of(t, r, id, again);
    if (saved >= 0) c->saved = r->work + saved;
    if (backward) c->dy = tfn__grad_of(t, r, id);
    for (int j = 0; j < TFN_INPUTS; j++) tfn__bind_input(c, j, again, backward);
}

/* Into how many chunks an entry is cut. */
static ptrdiff_t tfn__entry_chunks(const tfn__call *c, int32_t kind)
{
    const tfn__op *op = tfn__ops + c->n->op;
    if (kind == TFN__SEED) return 1;
    if (kind == TFN__PREPARE) return tfn__by_rows(c);
    if (kind == TFN__BACKWARD) return op->backward_chunks(c);
    return op->chunks(c);
}

#ifndef TFNORM_NO_TRAINING
/* The gradient of the loss itself: 1, or the scale that keeps half precision from underflow. */
static void tfn__seed_gradient(const tfn__call *c)
{
    float scale = 1;
    if (c->r->loss_scale > 0) scale = c->r->loss_scale;
    for (ptrdiff_t i = 0; i < c->rows * c->cols; i++) c->dy[i] = scale;
}
#endif

static void tfn__entry_chunk(tfn__call *c, int32_t kind, ptrdiff_t chunk)
{
    const tfn__op *op = tfn__ops + c->n->op;
    c->chunk = chunk;
    switch (kind) {
#ifndef TFNORM_NO_TRAINING
    case TFN__SEED:     tfn__seed_gradient(c);  break;
    case TFN__PREPARE:  tfn__linear_prepare(c); break;
    case TFN__BACKWARD: op->backward(c);        break;
#endif
    default:            op->forward(c);         break;
    }
}

/* Simulated half precision: round what an entry wrote. The loss stays in float, and sigma, as in
 * the code of its authors. */
static void tfn__round_entry(const tfn__call *c, int32_t kind)
{
    bool exact = c->n->op == TFN__OP_LOSS || (TFN__ALL && c->n->op == TFN__OP_SIGMA);
    switch (kind) {
    case TFN__SEED:
        break;
    case TFN__PREPARE:
        tfn__round_to_half(c->dy, c->rows * c->cols);
        break;
    case TFN__BACKWARD:
        for (int j = 0; j < TFN_INPUTS; j++)
            tfn__round_to_half(c->dx[j], c->x_rows[j] * c->x_cols[j]);
        break;
    default:
        if (!exact) tfn__round_to_half(c->y, c->rows * c->cols);
        break;
    }
}

/* One thread: entry by entry, chunk by chunk. */
static void tfn__run_serial(const tfn_tape *t, const tfn_run *r, int32_t first, int32_t last)
{
    for (int32_t e = first; e < last; e++) {
        int32_t kind = tfn__entry_kind(t->order[e]);
        tfn__call c;
        tfn__make_call(&c, t, r, t->order[e], r->work);
        c.chunks = tfn__entry_chunks(&c, kind);
        for (ptrdiff_t i = 0; i < c.chunks; i++) tfn__entry_chunk(&c, kind, i);
        if (TFN__ALL && t->half) tfn__round_entry(&c, kind);
#ifdef TFN__POISON          /* the tests' proof of the planner: what is dead becomes NaN */
        TFN__POISON(t, r, e);
#endif
    }
}

#ifdef TFN__THREADS
/* One parallel region per run. Every thread walks the timeline; the chunks of an entry are taken
 * from a counter, and an entry is over when all its chunks are done, not when all threads came by:
 * a thread that the system holds back is never waited for, unless it holds a chunk. */
/* The protocol: queue holds the number of the current entry and that of its next chunk in one
 * word, so that a compare-and-swap takes a chunk only of the entry that the thread means. done
 * counts the chunks that are finished, of all entries so far; a thread that has walked to entry e
 * knows how many these must be at its end. Whoever sees that number moves the queue to the next
 * entry; the acquire with which the others see it there makes all that the chunks wrote visible to
 * them. A thread that slept finds the queue at a later entry and walks there without taking
 * anything. */
typedef struct tfn__team {
    const tfn_tape *t;
    const tfn_run  *r;
    int32_t  first, last;
    /* aligned, because 32-bit x86 has 4 bytes for it and clang then calls a library of atomics */
    __attribute__((aligned(8))) uint64_t queue;     /* entry << 32 | next chunk */
    __attribute__((aligned(8))) uint64_t done;      /* chunks done since the region began */
} tfn__team;

/* Spins before a waiting thread gives its processor away: entries of small models are shorter than
 * a change of threads. */
enum { TFN__SPINS = 2000 };

static uint64_t tfn__atomic_load(const uint64_t *x) { return __atomic_load_n(x, __ATOMIC_ACQUIRE); }

/* If *x is *old, make it wanted; else *old becomes *x. */
static bool tfn__atomic_replace(uint64_t *x, uint64_t *old, uint64_t wanted)
{
    return __atomic_compare_exchange_n(x, old, wanted, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* Take the next chunk of an entry; false: all are taken, or others are at a later entry already. */
static bool tfn__take_chunk(tfn__team *m, uint32_t entry, ptrdiff_t chunks, ptrdiff_t *chunk)
{
    uint64_t q = tfn__atomic_load(&m->queue);
    for (;;) {
        *chunk = (ptrdiff_t)(q & 0xffffffffu);
        if (q >> 32 != entry || *chunk >= chunks) return false;
        if (tfn__atomic_replace(&m->queue, &q, q + 1)) return true;
    }
}

/* A short wait keeps the processor, a long one gives it to whoever holds the chunk. */
static void tfn__relax(int *spins)
{
    if (*spins >= TFN__SPINS) {
        TFN__YIELD();
        return;
    }
    ++*spins;
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#endif
}

/* Wait until the queue has left an entry, which whoever sees all chunks done makes it do. */
static void tfn__finish_entry(tfn__team *m, uint32_t entry, uint64_t all_done)
{
    int spins = 0;
    for (;;) {
        uint64_t q = tfn__atomic_load(&m->queue);
        if (q >> 32 != entry) return;
        if (tfn__atomic_load(&m->done) == all_done)
            tfn__atomic_replace(&m->queue, &q, (uint64_t)(entry + 1) << 32);
        else
            tfn__relax(&spins);
    }
}

/* What each thread does. Every thread makes the call of an entry for itself: the calls differ only
 * in the scratch, and sharing one would cost a wait. */
static void tfn__team_member(void *team, int index)
{
    tfn__team *m = (tfn__team *)team;
    float *work = m->r->work + index * m->t->scratch;
    uint64_t all_done = 0;
    for (int32_t e = m->first; e < m->last; e++) {
        int32_t kind = tfn__entry_kind(m->t->order[e]);
        uint32_t entry = (uint32_t)(e - m->first);
        ptrdiff_t chunk;
        tfn__call c;
        tfn__make_call(&c, m->t, m->r, m->t->order[e], work);
        c.chunks = tfn__entry_chunks(&c, kind);
        all_done += (uint64_t)c.chunks;
/* take chunks until none is left, then see the entry to its end */
        while (tfn__take_chunk(m, entry, c.chunks, &chunk)) {
            tfn__entry_chunk(&c, kind, chunk);
            __atomic_fetch_add(&m->done, 1, __ATOMIC_ACQ_REL);
        }
        tfn__finish_entry(m, entry, all_done);
    }
}

/* Start the threads by the caller's hook or by OpenMP, and wait for them. */
static void tfn__run_team(const tfn_tape *t, const tfn_run *r, int32_t first, int32_t last)
{
    tfn__team team;
    TFNORM_MEMSET(&team, 0, sizeof team);
    team.t = t;
    team.r = r;
    team.first = first;
    team.last = last;
#ifdef TFNORM_PARALLEL_FOR
    TFNORM_PARALLEL_FOR(t->threads, tfn__team_member, &team);
#else
#pragma omp parallel num_threads(t->threads)
    tfn__team_member(&team, omp_get_thread_num());
#endif
}
#endif

/* Entries [first, last) of the timeline. */
static void tfn__run_entries(const tfn_tape *t, const tfn_run *r, int32_t first, int32_t last)
{
#ifdef TFN__THREADS
    if (t->threads > 1) {
        tfn__run_team(t, r, first, last);
        return;
    }
#endif
    tfn__run_serial(t, r, first, last);
}

/* Whether a run has what the tape reads; without tokens they are 0, without targets there is no
 * loss. */
static bool tfn__run_bound(const tfn_tape *t, const tfn_run *r)
{
    if (!tfn__regions_bound(t, r)) return false;
    for (int i = 0; i < TFN_SLOTS; i++)
        if ((t->inputs_read >> i & 1) && !r->inputs[i]) return false;
    return true;
}
/* Whether the backward has targets and a place for the gradients. */
static bool tfn__backward_bound(const tfn_tape *t, const tfn_run *r)
{
    for (int i = 0; i < TFN_SLOTS; i++)
        if ((t->targets_read >> i & 1) && !r->ints[i]) return false;
    return tfn__bound(t->params, r->grads);
}

/* The sizes of a run are within the tape's capacities. */
static bool tfn__batch_fits(const tfn_tape *t, const tfn_run *r)
{
    int64_t longest = tfn__max(r->source, r->target);
    if (r->batch < 0 || r->source < 0 || r->target < 0 || r->start < 0) return false;
    if (r->batch > t->batch || r->source > t->source || r->target > t->target) return false;
    return !t->tokens || r->batch * longest <= t->tokens;
}

/* Why a run cannot start. The tape is const here: a run's mistake does not stay with it. */
static tfn_status tfn__run_status(const tfn_tape *t, const tfn_run *r)
{
    if (!t || !r) return TFN_NULL;
    if (t->error.status != TFN_OK) return t->error.status;
    if (!t->planned || !tfn__run_bound(t, r)) return TFN_NOT_READY;
    if (!tfn__batch_fits(t, r)) return TFN_BAD_BATCH;
    return TFN_OK;
}

/* Compute all values. What the backward reads stays in the workspace until then. */
TFNORM_API tfn_status tfn_tape_forward(const tfn_tape *t, const tfn_run *r)
{
    tfn_status status = tfn__run_status(t, r);
    if (status != TFN_OK) return status;
#ifdef TFN__POISON
    TFN__POISON(t, r, -1);
#endif
    tfn__run_entries(t, r, 0, t->forward_count);
    return TFN_OK;
}

/* Parameters that no entry writes the gradient of have gradient 0. */
static void tfn__clear_unreached(const tfn_tape *t, const tfn_run *r)
{
    for (int32_t i = 1; i < t->count; i++) {
        const tfn_node *n = t->nodes + i;
        if (n->op == TFN__OP_PARAM && !(n->flags & TFN__WRITTEN))
            TFNORM_MEMSET(r->grads + n->grad, 0,
                          (size_t)n->count * (size_t)n->cols * sizeof(float));
    }
}

/* Compute the gradients of what the forward of the same run has left in the workspace. */
TFNORM_API tfn_status tfn_tape_backward(const tfn_tape *t, const tfn_run *r)
{
    tfn_status status = tfn__run_status(t, r);
    if (status != TFN_OK) return status;
    if (!t->training || !tfn__backward_bound(t, r)) return TFN_NOT_READY;
    if (!r->accumulate) tfn__clear_unreached(t, r);
    tfn__run_entries(t, r, t->forward_count, t->order_count);
    return TFN_OK;
}
#endif /* TFN__IMPLEMENTING */
/* >> topologies */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY && !defined TFNORM_ONLY_KERNELS
TFN__SMALL
/* What is known of a method stands in one block: its formula and paper, what differs by place
 * (rules of its topology and of its initialization), and its rows. A row is a topology, a norm, an
 * initialization, or a recipe, which names one of each. One builder reads the rows, and the
 * library's have no privileges over a user's. Where published code differs from its paper, the
 * block says so; the paper's form is the one without a suffix.
 *
 * The header reads the blocks five times: here for the rules, with rows that expand to nothing, and
 * then for each table, in the order of the blocks (see "tables of the rows", below them). To add a
 * method, write a block: functions between #ifdef TFN__RULES and #endif, then rows. */

/* The rows, which each table defines in its turn. */
#define TFN__TOPOLOGY(...)
#define TFN__AGGREGATED(...)
#define TFN__NORM(...)
#define TFN__NORM_OF(...)
#define TFN__POINT(...)
#define TFN__INIT(...)
#define TFN__INIT_STD(...)
#define TFN__RECIPE(...)
#define TFN__RULES

#ifdef TFN__EXTRA_NORMS
static tfn_scale_rule tfn__scale_of(tfn_scale_kind kind, double value)
{
    tfn_scale_rule s;
    TFNORM_MEMSET(&s, 0, sizeof s);
    s.kind = kind;
    s.value = (float)value;
    return s;
}

static tfn_scale_rule tfn__constant_of(double a) { return tfn__scale_of(TFN_SCALE_CONSTANT, a); }

/* All matrices of a sub-layer. */
static void tfn__all_gains(tfn_gains *g, double a)
{
    g->q = g->k = g->v = g->o = g->w1 = g->w2 = (float)a;
}

/* Those that the size of the branch is proportional to: queries and keys only steer a softmax. */
static void tfn__branch_gains(tfn_gains *g, double a)
{
    g->v = g->o = g->w1 = g->w2 = (float)a;
}

static void tfn__qkv_gains(tfn_gains *g, double a) { g->q = g->k = g->v = (float)a; }

/* Q, K and V drawn as one C x 3C matrix, sqrt(2/(C + 3C)), against Xavier's sqrt(2/(C + C)). */
#define TFN__FUSED 0.70710678118654752

/* A stack's residual sub-layers: 2 a layer, 3 with cross-attention. */
static int32_t tfn__sublayers(const tfn_place *p)
{
    if (p->decoder && !p->alone) return 3 * p->depth;
    return 2 * p->depth;
}
#endif
#endif

/* The blocks. In formulas: x the stream, x_0 the layer's input, y_k the layers' outputs (y_0 the
 * embedding), N a norm of the chosen kind, F a sub-layer, A attention, l the layer from 1, L the
 * depth of the stack, N and M the depths of encoder and decoder, C the width. */
#if (defined TFN__IMPLEMENTING && !defined TFN__BODY && !defined TFNORM_ONLY_KERNELS) \
    || defined TFN__ROWS

/* -- Pre-LN and Post-LN ----------------------------------------------------------------------
 * Xiong et al. 2020, table 1. Post-LN norms the stream itself, so its gradients shrink at each norm
 * on the way down, and deep stacks want a warm-up. Pre-LN leaves the stream alone: gradients pass,
 * what later layers add counts less and less, and the end needs a norm of its own. */
TFN__TOPOLOGY("pre", "x = x + F(N(x)); final norm",
              "Baevski & Auli; Child et al.; Wang et al.; Xiong et al. 2020, table 1", 2019,
              PRE, 0, NULL)
TFN__TOPOLOGY("post", "x = N(x + F(x))", "Vaswani et al.; Xiong et al. 2020, table 1", 2017,
              POST, 0, NULL)
TFN__NORM("layernorm", "g (x - mean)/sqrt(var + e) + b", "Ba et al., eq. 4", 2016,
          LAYER, TFN__AFFINE)
TFN__NORM("rmsnorm", "g x/sqrt(mean(x^2) + e)", "Zhang & Sennrich, eq. 4", 2019,
          RMS, TFN_FLAG_GAIN)
TFN__INIT("xavier", "N(0, 2/(in+out))", "Glorot & Bengio; Xiong et al. 2020, section 3.3", 2010,
          XAVIER_NORMAL, XAVIER_NORMAL, 0, NULL)
TFN__INIT("xavier-uniform", "U, variance 2/(in+out)", "Glorot & Bengio, eq. 16", 2010,
          XAVIER_UNIFORM, XAVIER_UNIFORM, 0, NULL)
TFN__RECIPE("pre",  "pre",  "layernorm", "xavier")
TFN__RECIPE("post", "post", "layernorm", "xavier")

#ifdef TFN__EXTRA_NORMS
/* -- what code bases start from --------------------------------------------------------------
 * Papers say Xavier; their code draws q, k and v as one matrix (older fairseq), or leaves the
 * feed-forward and its biases to the framework (fairseq >= 0.10): its branch then starts with a
 * sixth of the variance. fairseq and torchscale draw an untied output matrix as they draw the
 * embedding. */
#ifdef TFN__RULES
static void tfn__fused_gains(const tfn_place *p, tfn_gains *g)
{
    (void)p;
    tfn__qkv_gains(g, TFN__FUSED);
}
#endif
TFN__INIT("fused", "xavier-uniform; q, k, v: 1/sqrt(2)", "fairseq; Transformer-Clinic, code", 2019,
          XAVIER_UNIFORM, XAVIER_UNIFORM, TFN__TABLE_OUTPUT, tfn__fused_gains)
TFN__INIT("fairseq", "fused; W_1, W_2 and the biases of q, k, v, W_1, W_2: U(+-1/sqrt(in))",
          "fairseq >= 0.10; b2t_connection, code", 2020,
          XAVIER_UNIFORM, FAN_IN_UNIFORM, TFN__QKV_BIAS | TFN__TABLE_OUTPUT, tfn__fused_gains)
TFN__INIT("framework", "U(+-1/sqrt(in)), biases too", "PyTorch's nn.Linear", 2016,
          FAN_IN_UNIFORM, FAN_IN_UNIFORM, 0, NULL)

/* -- Admin -----------------------------------------------------------------------------------
 * Liu et al. 2020, section 4.3: how much a layer depends on its own branch decides whether Post-LN
 * trains. One batch is run first (the profile), and each w becomes the deviation of the stream that
 * the branch is added to: w_s^2 = Var(x_0) + the sum of Var(F_j) over j < s, w_1 = 1. Then w is
 * learned. Appendix C folds w into the weights instead. Its displayed equation scales W_V of the
 * cross-attention by 1/w, its text does not: the text is right, for the memory is not rescaled, and
 * the fold here follows it. */
#ifdef TFN__RULES
static void tfn__admin(const tfn_place *p, tfn_join *j)
{
    (void)p;
    j->skip = tfn__scale_of(TFN_SCALE_PROFILED, 1);
}

static void tfn__admin_direct(const tfn_place *p, tfn_join *j)
{
    (void)p;
    j->skip = tfn__scale_of(TFN_SCALE_FOLDED, 1);
}

/* admin-torch has no profile: a constant of the number n of sub-layers. */
static void tfn__admin_constant(const tfn_place *p, tfn_join *j)
{
    const double n = tfn__sublayers(p);
    j->skip = tfn__constant_of(tfn__pow((n + 1) / tfn__log(n + 1) - 1, 0.5));
}

static void tfn__admin_sqrt(const tfn_place *p, tfn_join *j)
{
    j->skip = tfn__constant_of(tfn__pow(tfn__sublayers(p), 0.5));
}
#endif
TFN__TOPOLOGY("admin", "x = N(w x + F(x)), w learned, profiled", "Liu et al., section 4.3", 2020,
              POST, 0, tfn__admin)
TFN__TOPOLOGY("admin-direct", "x = N(x + F(x)), the profiled w folded into the weights",
              "Liu et al., appendix C", 2020, POST, 0, tfn__admin_direct)
TFN__TOPOLOGY("admin-constant", "x = N(w x + F(x)), w = sqrt((n+1)/ln(n+1) - 1), n sub-layers",
              "admin-torch, code", 2022, POST, 0, tfn__admin_constant)
TFN__TOPOLOGY("admin-sqrt", "x = N(w x + F(x)), w = sqrt(n), n sub-layers",
              "admin-torch, code, mode O(1)", 2022, POST, 0, tfn__admin_sqrt)
TFN__RECIPE("admin",          "admin",          "layernorm", "fused")
TFN__RECIPE("admin-direct",   "admin-direct",   "layernorm", "fused")
TFN__RECIPE("admin-constant", "admin-constant", "layernorm", "xavier-uniform")
TFN__RECIPE("admin-sqrt",     "admin-sqrt",     "layernorm", "xavier-uniform")

/* -- B2T connection --------------------------------------------------------------------------
 * Takase et al. 2022, eq. 5: a skip from the bottom of a layer to its top, past all its norms but
 * the last, keeps Post-LN's gradients alive. Since 2023 the code divides all matrices of a layer by
 * sqrt(L), which the paper does not have: the init "b2t". */
#ifdef TFN__RULES
static void tfn__b2t(const tfn_place *p, tfn_join *j)
{
    if (p->kind == TFN_SUBLAYER_FFN) j->extra = tfn__constant_of(1);
}

/* Footnote 1 skips the last norm, too: worse. */
static void tfn__b2t_skip_last(const tfn_place *p, tfn_join *j)
{
    tfn__b2t(p, j);
    j->extra_last = true;
}

/* Appendix D, eq. 7 and 8: a = min(L/12, L^-0.15), b = C^-0.2. */
static void tfn__b2t_no_norm(const tfn_place *p, tfn_join *j)
{
    const double depth = p->depth;
    double a = tfn__pow(depth, -0.15);
    if (depth / 12 < a) a = depth / 12;
    if (p->kind != TFN_SUBLAYER_FFN) return;
    j->skip = tfn__constant_of(tfn__pow(p->width, -0.2));
    j->out = j->skip;
    j->extra = tfn__constant_of(a);
}

static void tfn__b2t_gains(const tfn_place *p, tfn_gains *g)
{
    const double a = tfn__pow(p->depth, -0.5);
    tfn__all_gains(g, a);
    tfn__qkv_gains(g, a * TFN__FUSED);
}
#endif
TFN__TOPOLOGY("b2t", "x = N(x + F(x)); at the feed-forward N(x_0 + x + F(x))",
              "Takase et al., eq. 5", 2022, POST, 0, tfn__b2t)
TFN__TOPOLOGY("b2t-pre", "x = x + F(N(x)); at the feed-forward x_0 + x + F(N(x)); final norm",
              "Takase et al., code", 2022, PRE, 0, tfn__b2t)
TFN__TOPOLOGY("b2t-skip-last", "x = N(x + F(x)); at the feed-forward x_0 + N(x + F(x))",
              "Takase et al., footnote 1", 2022, POST, 0, tfn__b2t_skip_last)
TFN__TOPOLOGY("b2t-no-norm", "x = x + F(x); at the feed-forward a x_0 + b (x + F(x))",
              "Takase et al., eq. 6, 7 and 8", 2022, BARE, 0, tfn__b2t_no_norm)
TFN__INIT("b2t", "fairseq; all matrices of a layer: 1/sqrt(L)", "b2t_connection, code", 2023,
          XAVIER_UNIFORM, FAN_IN_UNIFORM, TFN__QKV_BIAS | TFN__TABLE_OUTPUT, tfn__b2t_gains)
TFN__RECIPE("b2t",           "b2t",           "layernorm", "fairseq")
TFN__RECIPE("b2t-pre",       "b2t-pre",       "layernorm", "fairseq")
TFN__RECIPE("b2t-skip-last", "b2t-skip-last", "layernorm", "fairseq")
TFN__RECIPE("b2t-no-norm",   "b2t-no-norm",   "layernorm", "fairseq")

/* -- DLCL: dynamic linear combination of layers ----------------------------------------------
 * Wang et al. 2019: a layer reads a learned sum of all earlier outputs, which starts as their mean,
 * w_k = 1/(l+1). On a Pre-LN host each y_k has a norm of its own (y_0 none), on a Post-LN host the
 * sum has one. The variants of w are options of the code. */
TFN__AGGREGATED("dlcl", "pre; input of layer l+1 = sum of w_k N(y_k)", "Wang et al. (DLCL)", 2019,
                PRE, NORMED, SCALAR)
TFN__AGGREGATED("dlcl-post", "post; input of layer l+1 = N(sum of w_k y_k)", "Wang et al. (DLCL)",
                2019, POST, NORM, SCALAR)
TFN__AGGREGATED("dlcl-softmax", "dlcl, w = softmax of a row", "Wang et al. (DLCL), code", 2019,
                PRE, NORMED, SOFTMAX)
TFN__AGGREGATED("dlcl-vector", "dlcl, w a vector for each y_k", "Wang et al. (DLCL), code", 2019,
                PRE, NORMED, VECTOR)
TFN__AGGREGATED("dlcl-groups", "dlcl, two w for each y_k: of even and of odd channels",
                "Wang et al. (DLCL), code", 2019, PRE, NORMED, TWO_GROUPS)
TFN__AGGREGATED("dlcl-one", "dlcl, w = 1 at the start", "Wang et al. (DLCL), code", 2019,
                PRE, NORMED, ONES)
TFN__AGGREGATED("dlcl-window", "dlcl, w = softmax over the last three y_k",
                "Wang et al. (DLCL), code", 2019, PRE, NORMED, LAST_THREE)
TFN__RECIPE("dlcl",         "dlcl",         "layernorm", "fused")
TFN__RECIPE("dlcl-post",    "dlcl-post",    "layernorm", "fused")
TFN__RECIPE("dlcl-softmax", "dlcl-softmax", "layernorm", "fused")
TFN__RECIPE("dlcl-vector",  "dlcl-vector",  "layernorm", "fused")
TFN__RECIPE("dlcl-groups",  "dlcl-groups",  "layernorm", "fused")
TFN__RECIPE("dlcl-one",     "dlcl-one",     "layernorm", "fused")
TFN__RECIPE("dlcl-window",  "dlcl-window",  "layernorm", "fused")

/* -- T-Fixup ---------------------------------------------------------------------------------
 * Huang et al. 2020: no norm and no warm-up, if the first updates stay small for Adam: values,
 * outputs and feed-forward are drawn smaller, and so is the embedding. The paper has one depth for
 * both stacks, the code N and M, as here; the code leaves q and k at 1/sqrt(2). */
#ifdef TFN__RULES
static void tfn__t_fixup_gains(const tfn_place *p, tfn_gains *g)
{
    if (p->decoder) {
        tfn__branch_gains(g, tfn__pow(9.0 * p->decoder_depth, -0.25));
        g->embedding = (float)tfn__pow(9.0 * p->decoder_depth, -0.25);
    } else {
        tfn__branch_gains(g, 0.67 * tfn__pow(p->encoder_depth, -0.25));
        g->embedding = (float)tfn__pow(9.0 * p->encoder_depth, -0.25);
    }
}

static void tfn__t_fixup_code_gains(const tfn_place *p, tfn_gains *g)
{
    tfn__t_fixup_gains(p, g);
    g->q = g->k = (float)TFN__FUSED;
}
#endif
TFN__TOPOLOGY("no-norm", "x = x + F(x)", "Huang et al. (T-Fixup)", 2020, BARE, 0, NULL)
TFN__INIT("t-fixup", "xavier-uniform; v, o, W_1, W_2: 0.67 N^(-1/4), (9M)^(-1/4); "
          "embedding (9N)^(-1/4)", "Huang et al. (T-Fixup)", 2020,
          XAVIER_UNIFORM, XAVIER_UNIFORM, TFN__TABLE_OUTPUT, tfn__t_fixup_gains)
TFN__INIT("t-fixup-code", "t-fixup; q, k: 1/sqrt(2)", "T-Fixup, code", 2020,
          XAVIER_UNIFORM, XAVIER_UNIFORM, TFN__QKV_BIAS | TFN__TABLE_OUTPUT,
          tfn__t_fixup_code_gains)
TFN__RECIPE("t-fixup", "no-norm", "layernorm", "t-fixup")

/* -- Fixup -----------------------------------------------------------------------------------
 * Zhang et al. 2019, section 3: with B branches in the model, the matrices of a branch of k
 * matrices are drawn B^(-1/(2k-2)) times as large, the last one and the output 0; a scalar m
 * multiplies each branch, and scalar shifts take the place of biases. The code builds
 * cross-attention without its B, and so with its default, 12. */
#ifdef TFN__RULES
static void tfn__fixup(const tfn_place *p, tfn_join *j)
{
    (void)p;
    j->shifts = true;
    j->out = tfn__scale_of(TFN_SCALE_LEARNED, 1);
}

static void tfn__fixup_gains(const tfn_place *p, tfn_gains *g)
{
    double branches = 2 * p->encoder_depth + 3 * p->decoder_depth;
    if (p->alone) branches = 2 * p->depth;
    tfn__qkv_gains(g, tfn__pow(branches, -1.0 / 6) * TFN__FUSED);
    g->w1 = (float)tfn__pow(branches, -0.5);
    g->o = g->w2 = 0;
}

static void tfn__fixup_code_gains(const tfn_place *p, tfn_gains *g)
{
    tfn__fixup_gains(p, g);
    if (p->kind != TFN_SUBLAYER_CROSS_ATTENTION) return;
    tfn__qkv_gains(g, tfn__pow(12, -1.0 / 6) * TFN__FUSED);
}
#endif
TFN__TOPOLOGY("fixup", "x = x + m F(x - s), shifts s", "Zhang et al. (Fixup)", 2019,
              BARE, TFN_TOPOLOGY_EDGE_SHIFTS | TFN_TOPOLOGY_BIASLESS, tfn__fixup)
TFN__INIT("fixup", "fused; q, k, v: B^(-1/6), W_1: B^(-1/2), W_O, W_2, output: 0",
          "Zhang et al. (Fixup), section 3", 2019,
          XAVIER_UNIFORM, XAVIER_UNIFORM, TFN__ZERO_OUTPUT, tfn__fixup_gains)
TFN__INIT("fixup-code", "fixup; q, k, v of cross-attention: 12^(-1/6)", "Fixup, code", 2019,
          XAVIER_UNIFORM, XAVIER_UNIFORM, TFN__ZERO_OUTPUT, tfn__fixup_code_gains)
TFN__RECIPE("fixup", "fixup", "layernorm", "fixup")

/* -- ReZero ----------------------------------------------------------------------------------
 * Bachlechner et al. 2020: one scalar a_l for all branches of a layer, 0 at the start, so that the
 * stack begins as the identity and only a_l moves at first. On Post-LN: Liu et al. 2020. */
#ifdef TFN__RULES
static void tfn__rezero(const tfn_place *p, tfn_join *j)
{
    (void)p;
    j->out = tfn__scale_of(TFN_SCALE_SHARED, 0);
}
#endif
TFN__TOPOLOGY("rezero", "x = x + a_l F(x), a_l = 0 at the start", "Bachlechner et al. (ReZero)",
              2020, BARE, 0, tfn__rezero)
TFN__TOPOLOGY("rezero-post", "x = N(x + a_l F(x)), a_l = 0 at the start", "Liu et al., table 3",
              2020, POST, 0, tfn__rezero)
TFN__RECIPE("rezero",      "rezero",      "layernorm", "xavier-uniform")
TFN__RECIPE("rezero-post", "rezero-post", "layernorm", "fused")

/* -- LookLinear ------------------------------------------------------------------------------
 * Balduzzi et al. 2017: ReLU(x A) C - ReLU(-x A) C = x A C, so the feed-forward starts linear. */
TFN__INIT("looklinear", "fused; W_1 = [A, -A], W_2 = [C; -C]", "Balduzzi et al.", 2017,
          XAVIER_UNIFORM, MIRRORED, TFN__TABLE_OUTPUT, tfn__fused_gains)
TFN__RECIPE("looklinear", "post", "layernorm", "looklinear")

/* -- DeepNorm --------------------------------------------------------------------------------
 * Wang et al. (DeepNet) 2022, figure 2: Post-LN whose skip counts a times as much, and whose
 * branches start b times smaller, so that an update moves the output by a bounded amount whatever
 * the depth. torchscale has 1.15 = 1/0.87 where the paper has 0.87, and scales the framework's
 * default with its biases; it leaves the decoder Pre-LN unless its caller clears a flag: wrong, and
 * no option. "post-ln-init" is the paper's probe. */
#ifdef TFN__RULES
static double tfn__deepnorm_alpha(const tfn_place *p)
{
    const double n = p->encoder_depth;
    const double m = p->decoder_depth;
    if (p->alone) return tfn__pow(2.0 * p->depth, 1.0 / 4);
    if (p->decoder) return tfn__pow(3 * m, 1.0 / 4);
    return 0.81 * tfn__pow(n, 4.0 / 16) * tfn__pow(m, 1.0 / 16);
}

static double tfn__deepnorm_beta(const tfn_place *p)
{
    const double n = p->encoder_depth;
    const double m = p->decoder_depth;
    if (p->alone) return tfn__pow(8.0 * p->depth, -1.0 / 4);
    if (p->decoder) return tfn__pow(12 * m, -1.0 / 4);
    return 0.87 * tfn__pow(n, -4.0 / 16) * tfn__pow(m, -1.0 / 16);
}

static void tfn__deepnorm(const tfn_place *p, tfn_join *j)
{
    j->skip = tfn__constant_of(tfn__deepnorm_alpha(p));
}

static void tfn__deepnorm_gains(const tfn_place *p, tfn_gains *g)
{
    tfn__branch_gains(g, tfn__deepnorm_beta(p));
}

static void tfn__torchscale_gains(const tfn_place *p, tfn_gains *g)
{
    tfn__deepnorm_gains(p, g);
    if (p->alone || p->decoder) return;
    tfn__branch_gains(g, (double)g->v * 1.15 / 0.87);
}

static void tfn__post_ln_init_gains(const tfn_place *p, tfn_gains *g)
{
    tfn__all_gains(g, 1.0 / (p->depth - p->layer + 1));
}
#endif
TFN__TOPOLOGY("deepnorm", "x = N(a x + F(x)), a = (2L)^(1/4); 0.81 (N^4 M)^(1/16), (3M)^(1/4)",
              "Wang et al. (DeepNet), figure 2", 2022, POST, 0, tfn__deepnorm)
TFN__INIT("deepnorm", "xavier; v, o, W_1, W_2: (8L)^(-1/4); 0.87 (N^4 M)^(-1/16), (12M)^(-1/4)",
          "Wang et al. (DeepNet), figure 2", 2022,
          XAVIER_NORMAL, XAVIER_NORMAL, 0, tfn__deepnorm_gains)
TFN__INIT("deepnorm-torchscale", "framework, biases scaled too; encoder 1.15 for 0.87",
          "torchscale, code", 2022,
          FAN_IN_UNIFORM, FAN_IN_UNIFORM, TFN__GAIN_BIAS | TFN__TABLE_OUTPUT, tfn__torchscale_gains)
TFN__INIT("post-ln-init", "xavier; layer l: 1/(L-l+1)", "Wang et al. (DeepNet)", 2022,
          XAVIER_NORMAL, XAVIER_NORMAL, 0, tfn__post_ln_init_gains)
TFN__RECIPE("deepnorm", "deepnorm", "layernorm", "deepnorm")

/* -- DS-Init ---------------------------------------------------------------------------------
 * Zhang et al. 2019: Post-LN, the matrices of layer l drawn from U(+-g/sqrt(l)). Its code hands
 * 1/sqrt(l) to a variance, which makes l^(-1/4), and draws q, k and v of self-attention, not of
 * cross-attention, as one C x 3C matrix. */
#ifdef TFN__RULES
static void tfn__ds_gains(const tfn_place *p, tfn_gains *g)
{
    tfn__all_gains(g, tfn__pow(p->layer, -0.5));
}

static void tfn__ds_code_gains(const tfn_place *p, tfn_gains *g)
{
    const double gain = tfn__pow(p->layer, -0.25);
    tfn__all_gains(g, gain);
    if (p->kind == TFN_SUBLAYER_SELF_ATTENTION) tfn__qkv_gains(g, gain * TFN__FUSED);
}
#endif
TFN__INIT("ds-init", "xavier-uniform; layer l: l^(-1/2)", "Zhang et al. (DS-Init)", 2019,
          XAVIER_UNIFORM, XAVIER_UNIFORM, 0, tfn__ds_gains)
TFN__INIT("ds-init-code",
          "xavier-uniform; layer l: l^(-1/4); q, k, v of self-attention: 1/sqrt(2)", "zero, code",
          2019, XAVIER_UNIFORM, XAVIER_UNIFORM, 0, tfn__ds_code_gains)
TFN__RECIPE("ds-init", "post", "layernorm", "ds-init")

/* -- ScaleNorm, FixNorm, SmallInit -----------------------------------------------------------
 * Nguyen & Salazar 2019: one learned length G, sqrt(C) at the start, in the place of all gains;
 * words of length 1, at the input and at the output, so that logits are G cos; attention drawn from
 * N(0, 2/(5C)), that is 0.632 of N(0, 1/C). */
#ifdef TFN__RULES
static void tfn__small_gains(const tfn_place *p, tfn_gains *g)
{
    (void)p;
    g->q = g->k = g->v = g->o = (float)0.63245553;
}
#endif
TFN__TOPOLOGY("pre-fixnorm", "pre; rows of the embedding have length 1",
              "Nguyen & Salazar (FixNorm)", 2019, PRE, TFN_TOPOLOGY_FIXNORM, NULL)
TFN__NORM("scalenorm", "G x/max(|x|, e)", "Nguyen & Salazar (ScaleNorm)", 2019,
          L2, TFN_FLAG_SCALAR)
TFN__INIT("small", "attention N(0, 2/(5C)), feed-forward xavier", "Nguyen & Salazar (SmallInit)",
          2019, FAN_IN_NORMAL, XAVIER_NORMAL, 0, tfn__small_gains)
TFN__RECIPE("scalenorm", "pre-fixnorm", "scalenorm", "small")

/* -- BatchNorm -------------------------------------------------------------------------------
 * Ioffe & Szegedy 2015, algorithm 1, in the place of LayerNorm: what stands at a position depends
 * on the other sentences; running statistics take over at inference. */
TFN__NORM("batchnorm", "g (x - mean)/sqrt(var + e) + b, over the batch", "Ioffe & Szegedy, alg. 1",
          2015, BATCH, TFN__AFFINE)
TFN__RECIPE("batchnorm", "post", "batchnorm", "fairseq")

/* -- transparent attention -------------------------------------------------------------------
 * Bapna et al. 2018: layer j of the decoder attends to its own mean of all encoder layers. */
TFN__TOPOLOGY("transparent", "pre; decoder layer j attends to the sum of softmax(w_j)_i y_i",
              "Bapna et al.", 2018, PRE, TFN_TOPOLOGY_TRANSPARENT, NULL)
TFN__RECIPE("transparent", "transparent", "layernorm", "xavier")

/* -- Macaron ---------------------------------------------------------------------------------
 * Lu et al. 2019: half a step of the feed-forward before the attention and half a step behind. */
#ifdef TFN__RULES
static void tfn__macaron(const tfn_place *p, tfn_join *j)
{
    if (p->kind == TFN_SUBLAYER_FFN || p->kind == TFN_SUBLAYER_FFN_BEFORE)
        j->out = tfn__constant_of(0.5);
}
#endif
TFN__TOPOLOGY("macaron", "post; F/2, attention, F/2", "Lu et al. (Macaron)", 2019,
              POST, TFN_TOPOLOGY_MACARON, tfn__macaron)
TFN__TOPOLOGY("macaron-pre", "pre; F/2, attention, F/2; final norm", "Lu et al. (Macaron)", 2019,
              PRE, TFN_TOPOLOGY_MACARON, tfn__macaron)
TFN__RECIPE("macaron",     "macaron",     "layernorm", "fused")
TFN__RECIPE("macaron-pre", "macaron-pre", "layernorm", "fused")

/* -- AdaNorm and DetachNorm ------------------------------------------------------------------
 * Xu et al. 2019: what LayerNorm does for training is done by the derivatives of mean and variance.
 * DetachNorm takes them for constants, to show it; LayerNorm-simple has no gain and no bias;
 * AdaNorm multiplies n by 1 - n/10, taken for a constant, in their place. Their code has e outside
 * of the root and s over C - 1, which AdaNorm has here, too; of the others that is the form with
 * -code. */
TFN__NORM("adanorm", "c sg(1 - n/10) n, n = (x - mean)/(s + e)", "Xu et al. (AdaNorm)", 2019,
          ADA, 0)
TFN__NORM("layernorm-simple", "(x - mean)/sqrt(var + e)", "Xu et al. (AdaNorm)", 2019, LAYER, 0)
TFN__NORM("layernorm-simple-code", "(x - mean)/(s + e), s over C - 1", "Xu et al. (AdaNorm), code",
          2019, ADA, TFN_FLAG_PLAIN)
TFN__NORM("detachnorm", "LayerNorm, mean and variance constant in the backward",
          "Xu et al. (AdaNorm)", 2019, LAYER, TFN_FLAG_DETACH_MEAN | TFN_FLAG_DETACH_STD)
TFN__NORM("detachnorm-mean", "LayerNorm, the mean constant in the backward", "Xu et al. (AdaNorm)",
          2019, LAYER, TFN_FLAG_DETACH_MEAN)
TFN__NORM("detachnorm-std", "LayerNorm, the variance constant in the backward",
          "Xu et al. (AdaNorm)", 2019, LAYER, TFN_FLAG_DETACH_STD)
TFN__NORM("detachnorm-code", "layernorm-simple-code, mean and s constant in the backward",
          "Xu et al. (AdaNorm), code", 2019,
          ADA, TFN_FLAG_PLAIN | TFN_FLAG_DETACH_MEAN | TFN_FLAG_DETACH_STD)
TFN__NORM("detachnorm-mean-code", "layernorm-simple-code, the mean constant in the backward",
          "Xu et al. (AdaNorm), code", 2019, ADA, TFN_FLAG_PLAIN | TFN_FLAG_DETACH_MEAN)
TFN__NORM("detachnorm-std-code", "layernorm-simple-code, s constant in the backward",
          "Xu et al. (AdaNorm), code", 2019, ADA, TFN_FLAG_PLAIN | TFN_FLAG_DETACH_STD)
TFN__RECIPE("adanorm",          "pre", "adanorm",          "fused")
TFN__RECIPE("layernorm-simple", "pre", "layernorm-simple", "fused")
TFN__RECIPE("detachnorm",       "pre", "detachnorm",       "fused")
TFN__RECIPE("detachnorm-mean",  "pre", "detachnorm-mean",  "fused")
TFN__RECIPE("detachnorm-std",   "pre", "detachnorm-std",   "fused")

/* -- zero gamma ------------------------------------------------------------------------------
 * Goyal et al. 2017: the gain of the norm behind a branch starts at 0, and so
 * the stack as the identity.
 */
TFN__INIT("zero-gamma", "xavier; gains of the norm after a branch: 0", "Goyal et al.", 2017,
          XAVIER_NORMAL, XAVIER_NORMAL, TFN__ZERO_BRANCH, NULL)
TFN__RECIPE("zero-gamma", "peri", "layernorm", "zero-gamma")

/* -- Hanin & Rolnick 2018 --------------------------------------------------------------------
 * Branches that count less and less: the sum of 0.9^l is finite at any depth. */
#ifdef TFN__RULES
static void tfn__hanin(const tfn_place *p, tfn_join *j)
{
    j->out = tfn__constant_of(tfn__pow(0.9, p->layer));
}
#endif
TFN__TOPOLOGY("hanin-rolnick", "x = x + 0.9^l F(x)", "Hanin & Rolnick", 2018, BARE, 0, tfn__hanin)
TFN__RECIPE("hanin-rolnick", "hanin-rolnick", "layernorm", "he")

/* -- aggregation of layers: Dou et al. 2018 --------------------------------------------------- */
TFN__AGGREGATED("dense", "post; input of layer l+1 = N(sum of y_k)", "Dou et al.", 2018,
                POST, DENSE, SCALAR)
TFN__AGGREGATED("linear-aggregation", "post; input of layer l+1 = sum of w_k y_k", "Dou et al.",
                2018, POST, LINEAR, SCALAR)
TFN__RECIPE("dense",              "dense",              "layernorm", "xavier")
TFN__RECIPE("linear-aggregation", "linear-aggregation", "layernorm", "xavier")

/* -- initializations that the papers compare with ---------------------------------------------
 * LSUV (Mishkin & Matas 2016) divides each matrix by the deviation of its output on one batch. */
TFN__INIT("lsuv", "orthonormal, outputs of variance 1 on one batch", "Mishkin & Matas", 2016,
          ORTHOGONAL, ORTHOGONAL, TFN__UNIT_VARIANCE, NULL)
TFN__INIT("orthogonal", "orthonormal", "Saxe et al.", 2014, ORTHOGONAL, ORTHOGONAL, 0, NULL)
TFN__INIT("he", "N(0, 2/in)", "He et al., eq. 10", 2015, HE_NORMAL, HE_NORMAL, 0, NULL)
TFN__RECIPE("lsuv",       "post", "layernorm", "lsuv")
TFN__RECIPE("orthogonal", "post", "layernorm", "orthogonal")
TFN__RECIPE("he",         "post", "layernorm", "he")

/* -- RMSNorm and its forms -------------------------------------------------------------------
 * Zhang & Sennrich 2019: LayerNorm without the mean. Their PyTorch code has e outside of the root,
 * their TensorFlow code inside; pRMSNorm looks at a part of the features. Gemma stores gain - 1, so
 * that weight decay pulls the gain to 1, and norms both sides of a branch. */
TFN__NORM_OF("prmsnorm", "g x/sqrt(mean of the first 1/16 (x^2) + e)",
             "Zhang & Sennrich (pRMSNorm)", 2019, RMS, TFN_FLAG_GAIN, 0, 0.0625)
TFN__NORM_OF("rmsnorm-outside", "g x/(sqrt(mean(x^2)) + e)",
             "Zhang & Sennrich, their PyTorch code", 2019, RMS_OUTSIDE, TFN_FLAG_GAIN, 1e-8, 0)
TFN__NORM_OF("rmsnorm-offset", "(1 + g) x/sqrt(mean(x^2) + e)", "Gemma, code", 2024,
             RMS, TFN_FLAG_GAIN | TFN_FLAG_OFFSET, 1e-6, 0)
TFN__RECIPE("pre-rms",         "pre",  "rmsnorm",         "xavier")
TFN__RECIPE("post-rms",        "post", "rmsnorm",         "xavier")
TFN__RECIPE("prmsnorm",        "pre",  "prmsnorm",        "xavier")
TFN__RECIPE("rmsnorm-outside", "pre",  "rmsnorm-outside", "xavier")
TFN__RECIPE("gemma",           "peri", "rmsnorm-offset",  "xavier")

/* -- Sandwich-LN and Peri-LN -----------------------------------------------------------------
 * Ding et al. (CogView) 2021; Kim et al. 2025: a norm before and behind each branch. CogView's code
 * norms x/(max|x|/8), against overflow in half precision, the maximum over the whole tensor. */
TFN__TOPOLOGY("peri", "x = x + N(F(N(x))); final norm",
              "Ding et al. (Sandwich-LN); Gemma 2; Kim et al. 2025 (Peri-LN)", 2021, PERI, 0, NULL)
TFN__NORM("cogview", "LayerNorm of x/(max|x|/8), the maximum over the tensor", "Ding et al., code",
          2021, ABSMAX, TFN__AFFINE | TFN_FLAG_WHOLE)
TFN__RECIPE("sandwich", "peri", "cogview",   "gpt2")
TFN__RECIPE("peri",     "peri", "layernorm", "xavier")

/* -- norms behind branches only: Swin v2, OLMo 2 ----------------------------------------------
 * Liu et al. 2021; OLMo 2 2024. A branch reads the raw stream, so attention wants norms of queries
 * and keys. Swin v2 starts the branches' norms at 0. */
#ifdef TFN__RULES
static void tfn__olmo2(const tfn_place *p, tfn_join *j)
{
    (void)p;
    j->qk = TFN_QK_NORM_FULL;
}

static void tfn__swin_v2(const tfn_place *p, tfn_join *j)
{
    (void)p;
    j->qk = TFN_QK_NORM_COSINE;
}
#endif
TFN__TOPOLOGY("output-norm", "x = x + N(F(x)); final norm", "Liu et al. (Swin v2); OLMo 2 2024",
              2021, BRANCH, 0, NULL)
TFN__TOPOLOGY("olmo2", "x = x + N(F(x)), norms on queries and keys; final norm", "OLMo 2", 2024,
              BRANCH, 0, tfn__olmo2)
TFN__TOPOLOGY("swin-v2", "x = x + N(F(x)), cosine attention; final norm", "Liu et al. (Swin v2)",
              2021, BRANCH, 0, tfn__swin_v2)
TFN__RECIPE("output-norm", "output-norm", "layernorm", "truncated")
TFN__RECIPE("olmo2",       "olmo2",       "rmsnorm",   "truncated")
TFN__RECIPE("swin-v2",     "swin-v2",     "layernorm", "zero-gamma")

/* -- norms of queries, keys and values -------------------------------------------------------
 * The logits of attention cannot grow without bound: see tfn_qk_norm for the forms. */
#ifdef TFN__RULES
static void tfn__qknorm(const tfn_place *p, tfn_join *j)
{
    (void)p;
    j->qk = TFN_QK_NORM_L2;
}

static void tfn__qk_head(const tfn_place *p, tfn_join *j)
{
    (void)p;
    j->qk = TFN_QK_NORM_HEAD;
}

static void tfn__qkv_head(const tfn_place *p, tfn_join *j)
{
    (void)p;
    j->qk = TFN_QK_NORM_QKV_HEAD;
}
#endif
TFN__TOPOLOGY("qknorm", "pre; attention g cos(q, k)", "Henry et al. (QKNorm)", 2020,
              PRE, 0, tfn__qknorm)
TFN__TOPOLOGY("qk-head", "pre; norms on the queries and keys of a head",
              "Dehghani et al. (ViT-22B)", 2023, PRE, 0, tfn__qk_head)
TFN__TOPOLOGY("qkv-head", "pre; norms on the queries, keys and values of a head",
              "Zhuo et al. (HybridNorm)", 2025, PRE, 0, tfn__qkv_head)
TFN__RECIPE("qknorm",   "qknorm",   "layernorm", "xavier")
TFN__RECIPE("qk-head",  "qk-head",  "layernorm", "xavier")
TFN__RECIPE("qkv-head", "qkv-head", "layernorm", "xavier")

/* -- Sub-LN (Magneto) ------------------------------------------------------------------------
 * Wang et al. 2022: one more norm in each branch, before its last matrix, and a gain on v, o, W_1
 * and W_2 that grows with depth. Cross-attention has neither. */
#ifdef TFN__RULES
static void tfn__sub_ln(const tfn_place *p, tfn_join *j)
{
    j->norm_inner = p->kind != TFN_SUBLAYER_CROSS_ATTENTION;
}

/* The square of the gain. */
static double tfn__sub_ln_gain2(const tfn_place *p)
{
    const double n = p->encoder_depth;
    const double m = p->decoder_depth;
    if (p->alone) return tfn__log(2 * p->depth);
    if (p->decoder) return tfn__log(3 * m);
    return tfn__log(3 * m) * (tfn__log(2 * n) / 3);
}

static void tfn__sub_ln_gains(const tfn_place *p, tfn_gains *g)
{
    if (p->kind == TFN_SUBLAYER_CROSS_ATTENTION) return;
    tfn__branch_gains(g, tfn__pow(tfn__sub_ln_gain2(p), 0.5));
}
#endif
TFN__TOPOLOGY("sub-ln", "pre, and a norm before W_O and W_2; final norm", "Wang et al. (Magneto)",
              2022, PRE, 0, tfn__sub_ln)
TFN__INIT("sub-ln", "xavier; v, o, W_1, W_2: sqrt(ln 2L); sqrt(ln 3M ln 2N / 3), sqrt(ln 3M)",
          "Wang et al. (Magneto)", 2022, XAVIER_NORMAL, XAVIER_NORMAL, 0, tfn__sub_ln_gains)
TFN__RECIPE("sub-ln", "sub-ln", "layernorm", "sub-ln")

/* -- NormFormer ------------------------------------------------------------------------------
 * Shleifer et al. 2021: Pre-LN, and a norm behind attention, a learned scale for each head, a norm
 * before W_2; ResScale: a vector on the skip of the feed-forward. fairseq has it in decoder layers
 * only, and scales the output of W_O in blocks of D channels where the paper scales the heads
 * before W_O: "normformer-code". */
#ifdef TFN__RULES
static void tfn__normformer(const tfn_place *p, tfn_join *j)
{
    j->norm_branch = p->kind == TFN_SUBLAYER_SELF_ATTENTION;
    j->norm_inner = p->kind == TFN_SUBLAYER_FFN;
    if (p->kind == TFN_SUBLAYER_SELF_ATTENTION) j->head_scale = TFN_HEAD_SCALE_BEFORE;
}

static void tfn__normformer_res(const tfn_place *p, tfn_join *j)
{
    tfn__normformer(p, j);
    if (p->kind == TFN_SUBLAYER_FFN) j->skip = tfn__scale_of(TFN_SCALE_VECTOR, 1);
}

static void tfn__normformer_code(const tfn_place *p, tfn_join *j)
{
    if (!p->decoder) return;
    tfn__normformer(p, j);
    if (p->kind == TFN_SUBLAYER_SELF_ATTENTION) j->head_scale = TFN_HEAD_SCALE_AFTER;
}
#endif
TFN__TOPOLOGY("normformer", "pre; N after attention, a scale a head, N before W_2; final norm",
              "Shleifer et al. (NormFormer)", 2021, PRE, 0, tfn__normformer)
TFN__TOPOLOGY("normformer-res", "normformer, and a vector on the skip of the feed-forward",
              "Shleifer et al. (NormFormer)", 2021, PRE, 0, tfn__normformer_res)
TFN__TOPOLOGY("normformer-code", "normformer of decoder layers, the scale behind W_O",
              "Shleifer et al., code", 2021, PRE, 0, tfn__normformer_code)
TFN__RECIPE("normformer",      "normformer",      "layernorm", "xavier")
TFN__RECIPE("normformer-res",  "normformer-res",  "layernorm", "xavier")
TFN__RECIPE("normformer-code", "normformer-code", "layernorm", "xavier")

/* -- ResiDual --------------------------------------------------------------------------------
 * Xie et al. 2023: Post-LN, and beside it a stream that only sums, as Pre-LN's does; the output has
 * both. Branches read the first alone. */
TFN__TOPOLOGY("resi-dual", "x = N(x + F(x)); output x + N(x_0 + sum of F)", "Xie et al. (ResiDual)",
              2023, POST, TFN_TOPOLOGY_SIDE_STREAM, NULL)
TFN__RECIPE("resi-dual", "resi-dual", "layernorm", "xavier")

/* -- DyT, Derf and siblings: functions in the place of norms ----------------------------------
 * Zhu et al. 2025; Chen et al. 2025: each number is squashed by itself, no statistics at all. In
 * language models DyT's code multiplies x_0 by a learned scalar, sqrt(C) at the start: without it
 * training is poor. (It has no bias there; the row has one.) */
TFN__TOPOLOGY("pre-embed-scale", "pre; x_0 = a embedding, a = sqrt(C) at the start",
              "Zhu et al. (DyT), code", 2025, PRE, TFN_TOPOLOGY_EMBEDDING_SCALE, NULL)
TFN__POINT("dyt", "g tanh(a x) + b", "Zhu et al. (DyT)", 2025, 0, TANH)
TFN__POINT("dyt-isru", "g z/sqrt(z^2 + 1) + b, z = a x + s", "Chen et al. (Derf), code", 2025,
           TFN_FLAG_SHIFT, ISRU)
TFN__POINT("dyt-exp", "g sign(z)(1 - exp(-|z|)) + b, z = a x + s", "Chen et al. (Derf), code", 2025,
           TFN_FLAG_SHIFT, EXP)
TFN__POINT("dyt-atan", "g 2/pi atan(a x + s) + b", "Chen et al. (Derf), code", 2025,
           TFN_FLAG_SHIFT, ATAN)
TFN__POINT("dyt-sin", "g sin(a x + s, clipped to +-pi/2) + b", "Chen et al. (Derf), code", 2025,
           TFN_FLAG_SHIFT, SIN)
TFN__POINT("dyt-softsign", "g z/(1 + |z|) + b, z = a x + s", "Chen et al. (Derf), code", 2025,
           TFN_FLAG_SHIFT, SOFTSIGN)
TFN__POINT("derf", "g erf(a x + s) + b", "Chen et al. (Derf)", 2025, TFN_FLAG_SHIFT, ERF)
TFN__RECIPE("dyt",          "pre",             "dyt",          "xavier")
TFN__RECIPE("dyt-lm",       "pre-embed-scale", "dyt",          "xavier")
TFN__RECIPE("dyt-isru",     "pre",             "dyt-isru",     "xavier")
TFN__RECIPE("dyt-exp",      "pre",             "dyt-exp",      "xavier")
TFN__RECIPE("dyt-atan",     "pre",             "dyt-atan",     "xavier")
TFN__RECIPE("dyt-sin",      "pre",             "dyt-sin",      "xavier")
TFN__RECIPE("dyt-softsign", "pre",             "dyt-softsign", "xavier")
TFN__RECIPE("derf",         "pre",             "derf",         "xavier")

/* -- LNS: LayerNorm scaling ------------------------------------------------------------------
 * Sun et al. 2025: Pre-LN whose stream grows with depth, divided by sqrt(l). Two repositories never
 * reach their own branch for it: the constant is the paper's. */
#ifdef TFN__RULES
static void tfn__lns(const tfn_place *p, tfn_join *j)
{
    j->in = tfn__constant_of(tfn__pow(p->layer, -0.5));
}
#endif
TFN__TOPOLOGY("lns", "x = x + F(N(x)/sqrt(l)); final norm", "Sun et al. (LNS)", 2025,
              PRE, 0, tfn__lns)
TFN__RECIPE("lns", "lns", "rmsnorm", "xavier")

/* -- Mix-LN: Li et al. 2024, a quarter of the layers ----------------------------------------- */
#ifdef TFN__RULES
static void tfn__mix_ln(const tfn_place *p, tfn_join *j)
{
    j->norm_sum = p->layer <= p->depth / 4;
    j->norm_in = !j->norm_sum;
}
#endif
TFN__TOPOLOGY("mix-ln", "post in the first quarter of the layers, then pre; final norm",
              "Li et al. (Mix-LN)", 2024, PRE, 0, tfn__mix_ln)
TFN__RECIPE("mix-ln", "mix-ln", "rmsnorm", "xavier")

/* -- HybridNorm ------------------------------------------------------------------------------
 * Zhuo et al. 2025: attention has norms of q, k and v and none before it; the skip of the
 * feed-forward starts behind its norm. HybridNorm*: the first layer is Pre-LN (with these q, k, v).
 */
#ifdef TFN__RULES
static void tfn__hybridnorm(const tfn_place *p, tfn_join *j)
{
    if (p->kind == TFN_SUBLAYER_FFN) {
        j->norm_in = true;
        j->skip_from = TFN_SOURCE_NORMED;
    } else {
        j->norm_in = false;
        j->qk = TFN_QK_NORM_QKV_HEAD;
    }
}

static void tfn__hybridnorm_first(const tfn_place *p, tfn_join *j)
{
    tfn__hybridnorm(p, j);
    if (p->layer > 1) return;
    j->norm_in = true;
    j->skip_from = TFN_SOURCE_STREAM;
}
#endif
TFN__TOPOLOGY("hybridnorm", "x = x + A(x), norms on q, k, v; n = N(x), x = n + F(n); final norm",
              "Zhuo et al. (HybridNorm)", 2025, PRE, 0, tfn__hybridnorm)
TFN__TOPOLOGY("hybridnorm-first", "hybridnorm, the first layer pre", "Zhuo et al. (HybridNorm)",
              2025, PRE, 0, tfn__hybridnorm_first)
TFN__RECIPE("hybridnorm",       "hybridnorm",       "rmsnorm", "gpt2")
TFN__RECIPE("hybridnorm-first", "hybridnorm-first", "rmsnorm", "gpt2")

/* -- LayerScale ------------------------------------------------------------------------------
 * Touvron et al. (CaiT) 2021: a learned vector on each branch, the smaller the deeper the stack. */
#ifdef TFN__RULES
static double tfn__layerscale_start(int32_t depth)
{
    if (depth <= 18) return 0.1;
    if (depth <= 24) return 1e-5;
    return 1e-6;
}

static void tfn__layerscale(const tfn_place *p, tfn_join *j)
{
    j->out = tfn__scale_of(TFN_SCALE_VECTOR, tfn__layerscale_start(p->depth));
}
#endif
TFN__TOPOLOGY("layerscale", "x = x + v F(N(x)), v = 0.1, 1e-5 or 1e-6 by depth; final norm",
              "Touvron et al. (CaiT)", 2021, PRE, 0, tfn__layerscale)
TFN__RECIPE("layerscale", "layerscale", "layernorm", "xavier")

/* -- GPT-2 -----------------------------------------------------------------------------------
 * Radford et al. 2019, section 2.3: the last matrix of a branch over the root of the number of
 * branches, 2L. */
#ifdef TFN__RULES
static void tfn__gpt2_gains(const tfn_place *p, tfn_gains *g)
{
    g->o = g->w2 = (float)tfn__pow(2 * p->depth, -0.5);
}
#endif
TFN__INIT_STD("gpt2", "N(0, 0.02^2); W_O, W_2: 1/sqrt(2L)", "Radford et al., section 2.3", 2019,
              NORMAL, 0.02, tfn__gpt2_gains)
TFN__RECIPE("gpt2", "pre", "layernorm", "gpt2")

/* -- a norm of the embedding: BLOOM 2022 on Pre-LN, BERT 2018 on Post-LN ---------------------- */
TFN__TOPOLOGY("pre-embed-norm", "pre; x_0 = N(embedding)", "BLOOM 2022; Kim et al. 2025", 2022,
              PRE, TFN_TOPOLOGY_EMBEDDING_NORM, NULL)
TFN__TOPOLOGY("post-embed-norm", "post; x_0 = N(embedding)", "Devlin et al. (BERT)", 2018,
              POST, TFN_TOPOLOGY_EMBEDDING_NORM, NULL)
TFN__INIT_STD("truncated", "N(0, 0.02^2) within two deviations", "Devlin et al. (BERT), code", 2018,
              TRUNCATED_NORMAL, 0.02, NULL)
TFN__RECIPE("embed-norm", "pre-embed-norm",  "layernorm", "xavier")
TFN__RECIPE("bert",       "post-embed-norm", "layernorm", "truncated")

/* -- nGPT ------------------------------------------------------------------------------------
 * Loshchilov et al. 2024, eq. 10 and 11: everything lies on the sphere. A sub-layer turns x towards
 * n(F(x)) by |v|, 0.05 at the start; weights are brought back to length 1 after each update.
 * Learned scales are stored as numbers that begin with 1/sqrt(C) and multiplied by a unit, which
 * sets how fast they learn. The released position function is no rotation: use TFN_POSITION_ROTARY.
 */
#ifdef TFN__RULES
static void tfn__ngpt(const tfn_place *p, tfn_join *j)
{
    j->out = tfn__scale_of(TFN_SCALE_VECTOR, 0.05);
    j->out.unit = (float)(0.05 * tfn__pow(p->width, 0.5));
    j->skip = tfn__scale_of(TFN_SCALE_LERP, 0);
    j->qk = TFN_QK_NORM_UNIT;
    j->scales = true;
}
#endif
TFN__TOPOLOGY("ngpt", "x = n(x + |v| (n(F(x)) - x)), n = x/|x|; weights of length 1",
              "Loshchilov et al., eq. 10 and 11", 2024, UNIT,
              TFN_TOPOLOGY_BIASLESS | TFN_TOPOLOGY_UNIT_WEIGHTS | TFN_TOPOLOGY_LOGIT_SCALE,
              tfn__ngpt)
TFN__NORM_OF("l2norm", "x/|x|", "Loshchilov et al. (nGPT)", 2024, L2, 0, 1e-12, 0)
TFN__INIT("ngpt", "N(0, 1/in), then of length 1", "Loshchilov et al.", 2024,
          FAN_IN_NORMAL, FAN_IN_NORMAL, 0, NULL)
TFN__RECIPE("ngpt", "ngpt", "l2norm", "ngpt")

/* -- parallel blocks -------------------------------------------------------------------------
 * GPT-J 2021; PaLM; GPT-NeoX 2022: all sub-layers of a layer read its input, by one norm, or by a
 * norm each (NeoX). */
#ifdef TFN__RULES
static void tfn__parallel(const tfn_place *p, tfn_join *j)
{
    if (p->kind != TFN_SUBLAYER_SELF_ATTENTION) j->source = TFN_SOURCE_LAYER;
}

static void tfn__parallel_shared(const tfn_place *p, tfn_join *j)
{
    if (p->kind == TFN_SUBLAYER_SELF_ATTENTION) return;
    j->source = TFN_SOURCE_FIRST;
    j->norm_in = false;
}
#endif
TFN__TOPOLOGY("parallel", "x = x + A(N(x)) + F(N'(x)); final norm", "GPT-NeoX", 2022,
              PRE, 0, tfn__parallel)
TFN__TOPOLOGY("parallel-shared", "x = x + A(n) + F(n), n = N(x); final norm",
              "GPT-J 2021; PaLM, section 2", 2021, PRE, 0, tfn__parallel_shared)
TFN__RECIPE("parallel",        "parallel",        "layernorm", "xavier")
TFN__RECIPE("parallel-shared", "parallel-shared", "layernorm", "xavier")

/* -- SkipInit: De & Smith 2020. ReZero with a scalar for each branch -------------------------- */
#ifdef TFN__RULES
static void tfn__skipinit(const tfn_place *p, tfn_join *j)
{
    (void)p;
    j->out = tfn__scale_of(TFN_SCALE_LEARNED, 0);
}
#endif
TFN__TOPOLOGY("skipinit", "x = x + a F(x), a = 0 at the start", "De & Smith (SkipInit)", 2020,
              BARE, 0, tfn__skipinit)
TFN__RECIPE("skipinit", "skipinit", "layernorm", "xavier-uniform")

/* -- PowerNorm: Shen et al. 2020, algorithm 2; see tfn_columns_args --------------------------- */
TFN__NORM("powernorm", "g x/psi + b, psi^2 the running mean of x^2", "Shen et al., alg. 2", 2020,
          POWER, TFN__AFFINE)
TFN__RECIPE("powernorm", "post", "powernorm", "fairseq")

/* -- GroupNorm: Wu & He 2018, eq. 7; as many groups as heads ---------------------------------- */
TFN__NORM("groupnorm", "LayerNorm of each of H groups of channels", "Wu & He, eq. 7", 2018,
          LAYER, TFN__AFFINE | TFN_FLAG_BY_HEAD)
TFN__RECIPE("groupnorm", "pre", "groupnorm", "xavier")

/* -- BranchNorm ------------------------------------------------------------------------------
 * Liu et al. 2023: the branches of Post-LN are blended in over the first 4,000 updates. */
#ifdef TFN__RULES
static void tfn__branchnorm(const tfn_place *p, tfn_join *j)
{
    (void)p;
    j->out = tfn__scale_of(TFN_SCALE_SCHEDULED, 4000);
}
#endif
TFN__TOPOLOGY("branchnorm", "x = N(x + min(1, t/4000) F(x)) after t updates",
              "Liu et al. (BranchNorm)", 2023, POST, 0, tfn__branchnorm)
TFN__RECIPE("branchnorm", "branchnorm", "layernorm", "xavier")

/* -- sigmaReparam ----------------------------------------------------------------------------
 * Zhai et al. 2023, section 3.2: each map is g W/sigma(W), so that its gain is one learned number
 * g, and attention does not collapse. g starts at 1; in the vision code at sigma, which leaves the
 * function as it was drawn. See the api section. */
TFN__TOPOLOGY("sigma-reparam", "x = x + F(x); maps g W/sigma(W), g = 1 at the start",
              "Zhai et al. (sigmaReparam), section 3.2", 2023,
              BARE, TFN_TOPOLOGY_SIGMA_REPARAM, NULL)
TFN__TOPOLOGY("sigma-reparam-post", "post; maps g W/sigma(W), g = 1 at the start",
              "Zhai et al. (sigmaReparam), section 3.2", 2023,
              POST, TFN_TOPOLOGY_SIGMA_REPARAM, NULL)
TFN__TOPOLOGY("sigma-reparam-vision", "x = x + F(x); maps g W/sigma(W), g = sigma at the start",
              "Zhai et al. (sigmaReparam), vision code", 2023,
              BARE, TFN_TOPOLOGY_SIGMA_REPARAM | TFN_TOPOLOGY_SIGMA_OWN, NULL)
TFN__RECIPE("sigma-reparam",        "sigma-reparam",        "layernorm", "truncated")
TFN__RECIPE("sigma-reparam-post",   "sigma-reparam-post",   "layernorm", "truncated")
TFN__RECIPE("sigma-reparam-vision", "sigma-reparam-vision", "layernorm", "truncated")

/* -- GPAS ------------------------------------------------------------------------------------
 * Chen et al. 2025: the stream shrinks by a learned gate in the forward, and not in the backward:
 * sg(x) counts as constant. On Post-LN the gate is on the skip. */
#ifdef TFN__RULES
static void tfn__gpas(const tfn_place *p, tfn_join *j)
{
    (void)p;
    j->gate = true;
}
#endif
TFN__TOPOLOGY("gpas", "pre; x = x - SiLU(q_l) sg(x) after each sum", "Chen et al. (GPAS)", 2025,
              PRE, 0, tfn__gpas)
TFN__TOPOLOGY("gpas-post", "x = N(x - SiLU(q_l) sg(x) + F(x))", "Chen et al. (GPAS)", 2025,
              POST, 0, tfn__gpas)
TFN__RECIPE("gpas",      "gpas",      "rmsnorm",   "xavier")
TFN__RECIPE("gpas-post", "gpas-post", "layernorm", "xavier")

/* -- CRMSNorm: Jiang et al. 2023 -------------------------------------------------------------
 * Pre-LN whose stream has mean 0, so that one of C channels need not be kept. */
TFN__NORM("crmsnorm", "g x/sqrt((sum(x^2) + sum(x)^2)/C + e), C - 1 channels",
          "Jiang et al. (Pre-CRMS)", 2023, CRMS, TFN_FLAG_GAIN)
TFN__RECIPE("crmsnorm", "pre", "crmsnorm", "xavier")

/* -- SeeDNorm: Cai et al. 2025; the gain depends on the row, by t = tanh(x . d) --------------- */
TFN__NORM("seednorm", "(a tanh(x . d) + g) x/sqrt(mean(x^2) + e)", "Cai et al.", 2025,
          SEED, TFN_FLAG_GAIN)
TFN__RECIPE("seednorm", "pre", "seednorm", "xavier")

/* -- CenterNorm: Qi et al. (LipsFormer) 2023; a norm that is linear -------------------------- */
TFN__NORM("centernorm", "g C/(C-1) (x - mean) + b", "Qi et al. (LipsFormer)", 2023,
          CENTER, TFN__AFFINE)
TFN__RECIPE("centernorm", "pre", "centernorm", "xavier")

/* -- a norm of length 1 alone on Pre-LN ------------------------------------------------------ */
TFN__RECIPE("l2norm", "pre", "l2norm", "xavier")
#endif /* TFN__EXTRA_NORMS */

#endif /* the blocks */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY && !defined TFNORM_ONLY_KERNELS
/* -- tables of the rows ---------------------------------------------------------------------- */

/* Each table defines its rows, and includes this file with nothing but TFN__ROWS to be read. */
#undef TFN__RULES
#define TFN__ROWS
#undef TFN__IMPLEMENTING

/* Norms: which function (kind), what is learned (flags); eps 0: 1e-5; part 0: of all features. */
enum { TFN__AFFINE = TFN_FLAG_GAIN | TFN_FLAG_BIAS };
#undef TFN__NORM
#undef TFN__NORM_OF
#undef TFN__POINT
#define TFN__NORM(name, formula, paper, year, kind, flags)                                         \
    { name, formula, paper, year, TFN_NORM_##kind, flags, 0, 0, TFN_SQUASH_TANH },
#define TFN__NORM_OF(name, formula, paper, year, kind, flags, eps, part)                           \
    { name, formula, paper, year, TFN_NORM_##kind, flags, (float)(eps), (float)(part),             \
      TFN_SQUASH_TANH },
#define TFN__POINT(name, formula, paper, year, flags, squash)                                      \
    { name, formula, paper, year, TFN_NORM_POINT, TFN__AFFINE | (flags), 0, 0,                     \
      TFN_SQUASH_##squash },
static const tfn_norm_rule tfn__norms[] = {
#include TFNORM_FILE
};
#undef TFN__NORM
#undef TFN__NORM_OF
#undef TFN__POINT
#define TFN__NORM(...)
#define TFN__NORM_OF(...)
#define TFN__POINT(...)

/* Topologies: a host, what the ends of the stack have beside the host's (flags), a rule or NULL.
 * The host is the join before a rule changes it; a stack whose stream is not normed has a final
 * norm, but for those without norms. */
#define TFN__NO_SCALE  { TFN_SCALE_NONE, 0, 0, 0, 0, 0 }
#define TFN__JOIN(in, branch, sum)                                                                 \
    { in, branch, sum, false, false, false, false, false, TFN_SOURCE_STREAM, TFN_SOURCE_STREAM,    \
      TFN_QK_NORM_DEFAULT, TFN_HEAD_SCALE_NONE, TFN__NO_SCALE, TFN__NO_SCALE, TFN__NO_SCALE,       \
      TFN__NO_SCALE }
#define TFN__HOST_BARE    TFN__JOIN(false, false, false)
#define TFN__HOST_POST    TFN__JOIN(false, false, true)
#define TFN__HOST_PRE     TFN__JOIN(true, false, false)
#define TFN__HOST_PERI    TFN__JOIN(true, true, false)
#define TFN__HOST_BRANCH  TFN__JOIN(false, true, false)
#define TFN__HOST_UNIT    TFN__JOIN(false, true, true)
enum {
    TFN__ENDS_BARE = 0, TFN__ENDS_POST = 0, TFN__ENDS_UNIT = 0,
    TFN__ENDS_PRE = TFN_TOPOLOGY_FINAL_NORM, TFN__ENDS_PERI = TFN_TOPOLOGY_FINAL_NORM,
    TFN__ENDS_BRANCH = TFN_TOPOLOGY_FINAL_NORM
};
/* Weights of an aggregate: groups, channels, softmax, ones, window. */
#define TFN__MIX_SCALAR      { 0, false, false, false, 0 }
#define TFN__MIX_SOFTMAX     { 0, false, true, false, 0 }
#define TFN__MIX_VECTOR      { 0, true, false, false, 0 }
#define TFN__MIX_TWO_GROUPS  { 2, false, false, false, 0 }
#define TFN__MIX_ONES        { 0, false, false, true, 0 }
#define TFN__MIX_LAST_THREE  { 0, false, true, false, 3 }
#undef TFN__TOPOLOGY
#undef TFN__AGGREGATED
#define TFN__TOPOLOGY(name, formula, paper, year, host, flags, rule)                               \
    { name, formula, paper, year, (uint32_t)TFN__ENDS_##host | (uint32_t)(flags),                  \
      TFN_AGGREGATE_NONE, rule, TFN__HOST_##host, TFN__HOST_##host, TFN__MIX_SCALAR, 0, 0 },
#define TFN__AGGREGATED(name, formula, paper, year, host, aggregate, mix)                          \
    { name, formula, paper, year, TFN__ENDS_##host, TFN_AGGREGATE_##aggregate, NULL,               \
      TFN__HOST_##host, TFN__HOST_##host, TFN__MIX_##mix, 0, 0 },
static const tfn_topology tfn__topologies[] = {
#include TFNORM_FILE
};
#undef TFN__TOPOLOGY
#undef TFN__AGGREGATED
#define TFN__TOPOLOGY(...)
#define TFN__AGGREGATED(...)

/* Initializations: the distribution of attention and of the feed-forward, what else is drawn or
 * not (flags), a rule or NULL. Of formulas: gains by matrix, times the base distribution; biases
 * are 0 unless said. */
enum {
    TFN__ZERO_OUTPUT = 1, TFN__ZERO_BRANCH = 2, TFN__QKV_BIAS = 4, TFN__GAIN_BIAS = 8,
    TFN__UNIT_VARIANCE = 16, TFN__TABLE_OUTPUT = 32
};
#undef TFN__INIT
#undef TFN__INIT_STD
#define TFN__INIT(name, formula, paper, year, base, ffn_base, flags, rule)                         \
    { name, formula, paper, year, TFN_DISTRIBUTION_##base, TFN_DISTRIBUTION_##ffn_base, 0, 0,      \
      ((flags) & TFN__ZERO_OUTPUT) != 0, ((flags) & TFN__ZERO_BRANCH) != 0,                        \
      ((flags) & TFN__QKV_BIAS) != 0, ((flags) & TFN__GAIN_BIAS) != 0,                             \
      ((flags) & TFN__UNIT_VARIANCE) != 0, ((flags) & TFN__TABLE_OUTPUT) != 0, rule },
#define TFN__INIT_STD(name, formula, paper, year, base, std, rule)                                 \
    { name, formula, paper, year, TFN_DISTRIBUTION_##base, TFN_DISTRIBUTION_##base, (float)(std),  \
      (float)(std), false, false, false, false, false, false, rule },
static const tfn_init_rule tfn__inits[] = {
#include TFNORM_FILE
};
#undef TFN__INIT
#undef TFN__INIT_STD
#define TFN__INIT(...)
#define TFN__INIT_STD(...)

/* Recipes: a topology, a norm and an initialization under the name of the method. */
#undef TFN__RECIPE
#define TFN__RECIPE(name, topology, norm, init) { name, topology, norm, init },
static const tfn_recipe tfn__recipes[] = {
#include TFNORM_FILE
};
#define TFN__IMPLEMENTING
#undef TFN__ROWS
#undef TFN__RECIPE
#undef TFN__TOPOLOGY
#undef TFN__AGGREGATED
#undef TFN__NORM
#undef TFN__NORM_OF
#undef TFN__POINT
#undef TFN__INIT
#undef TFN__INIT_STD
#undef TFN__NO_SCALE
#undef TFN__JOIN
#undef TFN__HOST_BARE
#undef TFN__HOST_POST
#undef TFN__HOST_PRE
#undef TFN__HOST_PERI
#undef TFN__HOST_BRANCH
#undef TFN__HOST_UNIT
#undef TFN__MIX_SCALAR
#undef TFN__MIX_SOFTMAX
#undef TFN__MIX_VECTOR
#undef TFN__MIX_TWO_GROUPS
#undef TFN__MIX_ONES
#undef TFN__MIX_LAST_THREE
#undef TFN__FUSED

/* -- lookup ---------------------------------------------------------------------------------- */

TFNORM_API tfn_join tfn_topology_join(const tfn_topology *t, const tfn_place *place)
{
    tfn_join join;
    TFNORM_MEMSET(&join, 0, sizeof join);
    if (!t || !place) return join;
    join = t->attention;
    if (place->kind == TFN_SUBLAYER_FFN || place->kind == TFN_SUBLAYER_FFN_BEFORE) join = t->ffn;
    if (t->rule) t->rule(place, &join);
    return join;
}

/* tfn_KIND_at and tfn_KIND_find of a table; every row starts with its name. */
#define TFN__LOOKUP(kind, type, table)                                                             \
    TFNORM_API const type *tfn_##kind##_at(int32_t i)                                              \
    {                                                                                              \
        const int32_t count = sizeof table / sizeof *table;                                        \
        if (i < 0 || i >= count) return NULL;                                                      \
        return table + i;                                                                          \
    }                                                                                              \
    TFNORM_API const type *tfn_##kind##_find(const char *name)                                     \
    {                                                                                              \
        const int32_t count = sizeof table / sizeof *table;                                        \
        if (!name) return NULL;                                                                    \
        for (int32_t i = 0; i < count; i++)                                                        \
            if (tfn__equal(name, table[i].name)) return table + i;                                 \
        return NULL;                                                                               \
    }
TFN__LOOKUP(norm, tfn_norm_rule, tfn__norms)
TFN__LOOKUP(topology, tfn_topology, tfn__topologies)
TFN__LOOKUP(init, tfn_init_rule, tfn__inits)
TFN__LOOKUP(recipe, tfn_recipe, tfn__recipes)
#undef TFN__LOOKUP
#endif /* TFN__IMPLEMENTING */
/* >> optim */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY && !defined TFNORM_ONLY_KERNELS

static inline double tfn__sqrt(double x) { return tfn__pow(x, 0.5); }      /* within 1e-15 */

#ifndef TFNORM_NO_TRAINING
/* The moments of the optimizer's row; SGD without momentum keeps none. */
static int32_t tfn__optimizer_moments(tfn_optimizer kind, float beta1)
{
    if (kind == TFN_OPTIMIZER_SGD && !(beta1 > 0)) return 0;
    switch (kind) {
#define TFN__MOMENTS_OF(moments, value, name, formula, paper) case value: return moments;
    TFN__OPTIMIZER_LIST(TFN__MOMENTS_OF)
#undef TFN__MOMENTS_OF
    default: break;
    }
    return 0;
}

/* RAdam (Liu et al. 2020, algorithm 2): rho_t, at most rho_end = 2/(1-b2) - 1, tells how many
 * gradients the second moment has seen. Where it is large enough, the step is r_t times Adam's;
 * below, the variant decides (tfn_radam has their thresholds). power is b2^t. Returns r_t, or 0
 * below. */
static double tfn__rectify(double b2, double power, double t, tfn_radam kind)
{
    const double rho_end = 2 / (1 - b2) - 1;
    const double rho = rho_end - 2 * t * power / (1 - power);
    bool known = rho >= 5;
    if (kind == TFN_RADAM_DEFAULT) known = rho > 4;
    if (kind == TFN_RADAM_PYTORCH) known = rho > 5;
    if (!known) return 0;
    return tfn__sqrt(((rho - 4) * (rho - 2) * rho_end) / ((rho_end - 4) * (rho_end - 2) * rho));
}

/* What all parameters have in common at update t >= 1: fill step_size, root, adaptive and skip.
 * Adam's step is lr m^/(sqrt(v^) + eps), m^ = m/(1 - b1^t), v^ = v/(1 - b2^t). eps_inside
 * (PyTorch's Adam) has eps there, else (fairseq, PyTorch's RAdam) it stands beside sqrt(v):
 *
 *   inside   step_size = lr/(1 - b1^t)                step_size m/(sqrt(v)/sqrt(1 - b2^t) + eps)
 * outside  step_size = lr sqrt(1 - b2^t)/(1 - b1^t)             step_size m/(sqrt(v) + eps)
 *
 * RAdam multiplies step_size by r_t; where there is none, the step is lr m^ alone. */
static void tfn__update_at(tfn_update_args *u, int64_t t)
{
    const bool torch_radam = u->optimizer == TFN_OPTIMIZER_RADAM && u->radam == TFN_RADAM_PYTORCH;
    const bool inside = u->eps_inside && !torch_radam;
    const double power = tfn__pow((double)u->beta2, (double)t);
    const double root = tfn__sqrt(1 - power);
    double size = (double)u->lr / (1 - tfn__pow((double)u->beta1, (double)t));
    u->skip = false;
    u->adaptive = u->optimizer != TFN_OPTIMIZER_SGD;
    if (u->optimizer == TFN_OPTIMIZER_RADAM) {
        const double rectified = tfn__rectify((double)u->beta2, power, (double)t, u->radam);
        u->adaptive = rectified > 0;
        u->skip = !u->adaptive && u->radam == TFN_RADAM_AUTHORS;
        if (u->adaptive) size *= rectified;
        if (!u->adaptive && u->radam == TFN_RADAM_DECAY) size = 0;
    }
    u->root = 1;
    if (u->adaptive && inside) u->root = (float)(1 / root);
    if (u->adaptive && !inside) size *= root;
    u->step_size = (float)size;
}
#endif

/* -- schedules: the rate of an update; formulas stand at the rows, tfn_schedule_kind --------- */

/* r, the share of a decay that is left: 1 at update `from`, then down in equal steps to 0 behind
 * the last update, so that this one still moves; in fairseq's counting to 0 at the last. Without an
 * end it stays 1. */
static double tfn__rate_left(const tfn_schedule *s, double t, double from)
{
    double end = (double)s->steps;
    if (!s->fairseq) end += 1;
    if (s->steps <= 0 || t <= from) return 1;
    if (t >= end) return 0;
    return (end - t) / (end - from);
}

/* The last update of stable-decay at the peak, S - D: D = decay_steps, by default a tenth of all,
 * and from 1 to what the warm-up leaves. */
static double tfn__stable_until(const tfn_schedule *s)
{
    const int64_t most = s->steps - s->warmup;
    int64_t decay = s->decay_steps;
    if (decay <= 0) decay = s->steps / 10;
    if (decay < 1) decay = 1;
    if (decay > most) decay = most;
    return (double)(s->steps - decay);
}

/* c d^-1/2 min(t^-1/2, t W^-3/2), Vaswani 2017, eq. 3; lr is the factor c, d the width. In
 * fairseq's counting t begins with 0, whose rate is 0. */
static double tfn__noam(const tfn_schedule *s, double t, double width)
{
    double warm = 1;
    double lowest;
    double fall = 0;
    if (s->warmup > 1) warm = (double)s->warmup;
    if (width < 1) width = 1;
    lowest = t * tfn__pow(warm, -1.5);
    if (t > 0) fall = tfn__pow(t, -0.5);
    if (!(lowest < fall)) lowest = fall;
    return (double)s->lr * tfn__pow(width, -0.5) * lowest;
}

/* A of the inverse square root: the end of the warm-up, where both formulas give lr. */
static double tfn__inverse_sqrt_anchor(const tfn_schedule *s)
{
    if (s->anchor > 0) return (double)s->anchor;
    if (s->warmup > 0) return (double)s->warmup;
    return 1;
}

static double tfn__t_fixup_anchor(const tfn_schedule *s)
{
    if (s->anchor > 0) return (double)s->anchor;
    return 4000;              /* Huang et al. 2020 */
}

/* The rate behind the warm-up. Those that end fall from lr to lr_min, which comes behind the last
 * update. */
static double tfn__decayed(const tfn_schedule *s, double t)
{
    const double lr = (double)s->lr;
    const double least = (double)s->lr_min;
    const double left = tfn__rate_left(s, t, (double)s->warmup);
    double anchor;
    double power = 1;
    double root;
    switch (s->kind) {
    case TFN_SCHEDULE_INVERSE_SQRT:
        anchor = tfn__inverse_sqrt_anchor(s);
        if (t <= anchor) return lr;
        return lr * tfn__sqrt(anchor / t);
    case TFN_SCHEDULE_T_FIXUP:
        anchor = tfn__t_fixup_anchor(s);
        return lr * tfn__sqrt(anchor / (anchor + t - (double)s->warmup));
    case TFN_SCHEDULE_LINEAR:
        return least + (lr - least) * left;
    case TFN_SCHEDULE_POLYNOMIAL:
        if (left <= 0) return least;
        if (s->power > 0) power = (double)s->power;
        return least + (lr - least) * tfn__pow(left, power);
    case TFN_SCHEDULE_COSINE:    /* (1 - cos a)/2 is sin(a/2)^2, which keeps its digits */
        root = tfn__sin(3.14159265358979323846 / 2 * left);
        return least + (lr - least) * root * root;
    case TFN_SCHEDULE_WARMUP_STABLE_DECAY:
        return least + (lr - least) * tfn__rate_left(s, t, tfn__stable_until(s));
    default:
        return lr;               /* constant; step, which step_at lowers */
    }
}

/* Noam has one formula; all others a linear warm-up, from lr_init at 0 to lr at its last update,
 * and then their own. step_at applies to any of them. */
TFNORM_API float tfn_schedule_at(const tfn_schedule *s, int64_t t, int32_t width)
{
    double lr;
    if (!s) return (float)NAN;
    if (s->frozen) return 0;
    const double warm = (double)s->warmup;
    const double first = (double)s->lr_init;
    double counted = (double)t;
    if (s->fairseq) counted = (double)(t - 1);

    if (s->kind == TFN_SCHEDULE_NOAM)
        lr = tfn__noam(s, counted, (double)width);
    else if (s->warmup > 0 && counted <= warm)
        lr = first + counted * ((double)s->lr - first) / warm;
    else
        lr = tfn__decayed(s, counted);

    if (s->step_at > 0 && t > s->step_at) {
        double factor = 0.1;
        if (s->step_factor > 0) factor = (double)s->step_factor;
        lr *= factor;
    }
    return (float)lr;
}
#endif /* TFN__IMPLEMENTING */
/* >> options */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY && !defined TFNORM_ONLY_KERNELS
/* The options of a model: the rows of their enumerations, the ranges of their numbers, defaults,
 * and what has no legal value. */

/* An option, or its default where it is not set. Real ones that may not be 0 count as not set
 * there, and below. */
static int32_t tfn__or(int32_t value, int32_t otherwise)
{
    if (value) return value;
    return otherwise;
}

static float tfn__orf(float value, float otherwise)
{
    if (value > 0) return value;
    return otherwise;
}

/* Layers of a stack; a lone stack answers for both. */
static int32_t tfn__depth(const tfn_model_desc *d, bool decoder)
{
    if (decoder && d->arch == TFN_ARCH_ENCODER_DECODER) return d->decoder_layers;
    return d->layers;
}

/* What the rules of a row are told about a sub-layer; layer from 1. */
static tfn_place tfn__place_at(const tfn_model_desc *d, bool decoder, tfn_sublayer kind,
                               int32_t layer)
{
    tfn_place p;
    p.kind = kind;
    p.decoder = decoder;
    p.alone = d->arch != TFN_ARCH_ENCODER_DECODER;
    p.layer = layer;
    p.depth = tfn__depth(d, decoder);
    p.encoder_depth = tfn__depth(d, false);
    p.decoder_depth = tfn__depth(d, true);
    p.width = d->width;
    return p;
}

/* -- choices: the rows of options that are enumerations --------------------------------------- */

/* Linkers drop an array that nobody reads, but not a string: hence name[20], and in small builds
 * nothing else. */
#ifndef TFNORM_NO_TRAINING
#define TFN__CHOICE(value, name, formula, paper) { value, name, formula, paper },
#else
#define TFN__CHOICE(value, name, formula, paper) { value, name, NULL, NULL },
#endif
#define TFN__OPTIMIZER_CHOICE(moments, value, name, formula, paper)                                \
    TFN__CHOICE(value, name, formula, paper)
/* One table for each list; the enumerators of the api section are made from the same lists. */
static const tfn_choice tfn__activation_rows[] = { TFN__ACTIVATION_LIST(TFN__CHOICE) };
static const tfn_choice tfn__arch_rows[] = { TFN__ARCH_LIST(TFN__CHOICE) };
static const tfn_choice tfn__head_rows[] = { TFN__HEAD_LIST(TFN__CHOICE) };
static const tfn_choice tfn__optimizer_rows[] = { TFN__OPTIMIZER_LIST(TFN__OPTIMIZER_CHOICE) };
static const tfn_choice tfn__position_rows[] = { TFN__POSITION_LIST(TFN__CHOICE) };
static const tfn_choice tfn__qk_norm_rows[] = { TFN__QK_NORM_LIST(TFN__CHOICE) };
static const tfn_choice tfn__radam_rows[] = { TFN__RADAM_LIST(TFN__CHOICE) };
static const tfn_choice tfn__schedule_rows[] = { TFN__SCHEDULE_LIST(TFN__CHOICE) };
static const tfn_choice tfn__smoothing_rows[] = { TFN__SMOOTHING_LIST(TFN__CHOICE) };

/* Under the names of their options. A new enumeration has a line here. */
#define TFN__CHOICES_OF(option, rows) { option, rows, sizeof rows / sizeof *rows },
static const struct { char option[16]; const tfn_choice *rows; int32_t count; } tfn__choices[] = {
    TFN__CHOICES_OF("activation", tfn__activation_rows)
    TFN__CHOICES_OF("arch", tfn__arch_rows)
    TFN__CHOICES_OF("head", tfn__head_rows)
    TFN__CHOICES_OF("optimizer", tfn__optimizer_rows)
    TFN__CHOICES_OF("position", tfn__position_rows)
    TFN__CHOICES_OF("qk_norm", tfn__qk_norm_rows)
    TFN__CHOICES_OF("radam", tfn__radam_rows)
    TFN__CHOICES_OF("schedule.kind", tfn__schedule_rows)
    TFN__CHOICES_OF("smoothing_kind", tfn__smoothing_rows)
};
#undef TFN__CHOICE
#undef TFN__OPTIMIZER_CHOICE
#undef TFN__CHOICES_OF

/* Options are few: a name is looked up from the first row on. */
TFNORM_API const tfn_choice *tfn_choice_at(const char *option, int32_t i)
{
    if (!option || i < 0) return NULL;
    for (size_t k = 0; k < sizeof tfn__choices / sizeof *tfn__choices; k++) {
        if (!tfn__equal(option, tfn__choices[k].option)) continue;
        if (i < tfn__choices[k].count) return tfn__choices[k].rows + i;
    }
    return NULL;
}

/* Names are told apart as they are written: "AdamW" is none. */
TFNORM_API const tfn_choice *tfn_choice_find(const char *option, const char *name)
{
    if (!name) return NULL;
    for (int32_t i = 0;; i++) {
        const tfn_choice *row = tfn_choice_at(option, i);
        if (!row || tfn__equal(name, row->name)) return row;
    }
}

/* By value, not by place: where 0 is "default", the first row has the value 1. */
TFNORM_API const char *tfn_choice_name(const char *option, int32_t value)
{
    for (int32_t i = 0;; i++) {
        const tfn_choice *row = tfn_choice_at(option, i);
        if (!row) return NULL;
        if (row->value == value) return row->name;
    }
}

/* -- names for messages ---------------------------------------------------------------------- */

/* Name i that an option can have; NULL: past the last. */
static const char *tfn__name_of(const char *option, int32_t i)
{
    const tfn_recipe *recipe = tfn_recipe_at(i);
    const tfn_norm_rule *norm = tfn_norm_at(i);
    const tfn_init_rule *init = tfn_init_at(i);
    const tfn_choice *choice = tfn_choice_at(option, i);
    if (recipe && tfn__equal(option, "recipe")) return recipe->name;
    if (init && tfn__equal(option, "init")) return init->name;
    if (norm && tfn__equal(option, "norm")) return norm->name;
    if (norm && tfn__equal(option, "decoder_norm")) return norm->name;
    if (choice) return choice->name;
    return NULL;
}

/* Insertions, deletions and replacements of a character that make b of a (Levenshtein 1966), twice.
 * row[j] is the distance of the first characters of a to the first j of b. Where one is the other's
 * beginning, what follows counts half: "pre-ln" is nearer to "pre" than to "pre-rms". */
static int32_t tfn__name_distance(const char *a, const char *b)
{
    enum { MOST = 31 };                 /* no name of the library's is longer */
    int32_t row[MOST + 1];
    const int32_t length = (int32_t)tfn__min((ptrdiff_t)tfn__length(b), MOST);
    int32_t same = 0;
    for (int32_t j = 0; j <= length; j++) row[j] = j;
    for (int32_t i = 0; a[i]; i++) {
        int32_t corner = row[0];        /* of one character less of both */
        row[0] = i + 1;
        for (int32_t j = 1; j <= length; j++) {
            int32_t least = corner + (a[i] != b[j - 1]);
            corner = row[j];
            if (row[j] + 1 < least) least = row[j] + 1;
            if (row[j - 1] + 1 < least) least = row[j - 1] + 1;
            row[j] = least;
        }
    }
    while (a[same] == b[same]) {
        if (!a[same]) return 0;
        same++;
    }
    if (!a[same] || !b[same]) return row[length];
    return 2 * row[length];
}

/* "; did you mean pre?", if some name of the option is more like the given one than not. */
static void tfn__put_nearest(tfn__text *t, const char *option, const char *given)
{
    const char *name;
    const char *best = NULL;
    int32_t least = (int32_t)tfn__min((ptrdiff_t)tfn__length(given), 64) + 1;
    for (int32_t i = 0; (name = tfn__name_of(option, i)) != NULL; i++) {
        const int32_t distance = tfn__name_distance(given, name);
        if (distance >= least) continue;
        least = distance;
        best = name;
    }
    if (best) tfn__put_texts(t, "; did you mean ", best, "?");
}

/* -- ranges ---------------------------------------------------------------------------------- */

/* Where a numeric option stands in its struct, and what it may be when defaults are filled in. The
 * kinds: a whole number or a real one, from least to most; a rate, which is below most; a real one
 * that may also be 0, for "none". One row serves for the check, for its message, and for the tests,
 * which try what is just inside and just outside. */
enum { TFN__WHOLE, TFN__REAL, TFN__RATE, TFN__REAL_OR_0 };
typedef struct tfn__limit {               /* small: a microcontroller has the table, too */
    const char *name;
    uint8_t     kind, size;
    uint16_t    at;
    float       least, most;
} tfn__limit;
#define TFN__RANGE_OF(type, field, kind, least, most) \
    { #field, kind, (uint8_t)sizeof(((type *)0)->field), (uint16_t)offsetof(type, field), \
      (float)(least), (float)(most) }

/* A signed whole number of 1, 2, 4 or 8 bytes: an enum may have any of them. Copied by size, not
 * cast: the field is not of the type that one would read it as. */
static int64_t tfn__whole_at(const char *p, size_t size)
{
    int8_t one = 0;
    int16_t two = 0;
    int32_t four = 0;
    int64_t eight = 0;
    if (size == sizeof one) TFNORM_MEMCPY(&one, p, sizeof one);
    if (size == sizeof two) TFNORM_MEMCPY(&two, p, sizeof two);
    if (size == sizeof four) TFNORM_MEMCPY(&four, p, sizeof four);
    if (size == sizeof eight) TFNORM_MEMCPY(&eight, p, sizeof eight);
    return one + two + four + eight;                /* all but one are 0 */
}

/* v in least .. most, or an error with the end that it is beyond. The first of all errors stays:
 * once there is one, nothing is checked any more. */
static void tfn__in_range(tfn_error *e, const char *op, const char *name, int64_t v, int64_t least,
                          int64_t most)
{
    if (e->status != TFN_OK) return;
    if (v < least) {
        tfn__fail_name(e, TFN_BAD_OPTION, op, "%s is %d, at least %d is wanted", name);
        e->found = v;
        e->wanted = least;
    } else if (v > most) {
        tfn__fail_name(e, TFN_BAD_OPTION, op, "%s is %d, at most %d is wanted", name);
        e->found = v;
        e->wanted = most;
    }
}

/* A number that is none is neither below nor above: it fails both comparisons, and so the check. */
static bool tfn__real_in_range(const tfn__limit *r, float v)
{
    if (r->kind == TFN__REAL_OR_0 && v == 0) return true;
    if (r->kind == TFN__RATE) return v >= r->least && v < r->most;
    return v >= r->least && v <= r->most;
}

#ifdef TFNORM_NO_TRAINING         /* without the numbers: writing them takes a kilobyte of code */
static void tfn__check_real(tfn_error *e, const char *op, const tfn__limit *r, float v)
{
    if (e->status == TFN_OK && !tfn__real_in_range(r, v))
        tfn__fail_name(e, TFN_BAD_OPTION, op, "%s is not within its range", r->name);
}
#else
/* " is 1.5", or why it is no number. */
static void tfn__put_found(tfn__text *t, float v)
{
    const bool finite = v - v == 0;
    if (v != v) {
        tfn__put(t, " is not a number");
    } else if (finite) {
        tfn__put(t, " is ");
        tfn__put_float(t, v);
    } else if (v > 0) {
        tfn__put(t, " is infinite");
    } else {
        tfn__put(t, " is minus infinity");
    }
}

/* ", 0 or at least 1e-18": the end of the range that v is beyond; the lower if v is no number. */
static void tfn__put_wanted(tfn__text *t, const tfn__limit *r, float v)
{
    const bool above = v >= r->most;
    if (r->kind == TFN__REAL_OR_0) tfn__put(t, ", 0 or");
    else tfn__put(t, ",");
    if (!above) tfn__put(t, " at least ");
    else if (r->kind == TFN__RATE) tfn__put(t, " below ");
    else tfn__put(t, " at most ");
    if (above) tfn__put_float(t, r->most);
    else tfn__put_float(t, r->least);
}

/* "norm_eps is -1, 0 or at least 1e-18 is wanted". Formats of errors have whole numbers only, so
 * the error's name takes the whole sentence. */
static void tfn__check_real(tfn_error *e, const char *op, const tfn__limit *r, float v)
{
    tfn__text t;
    if (e->status != TFN_OK || tfn__real_in_range(r, v)) return;
    tfn__fail(e, TFN_BAD_OPTION, op, "%s", 0, 0);
    t = tfn__text_in(e->name, sizeof e->name);
    tfn__put(&t, r->name);
    tfn__put_found(&t, v);
    tfn__put_wanted(&t, r, v);
    tfn__put(&t, " is wanted");
    tfn__end(&t);
}
#endif

/* Check each option of a struct that has a row in `limits`: the options of models here, those of
 * generators and tokenizers in their sections. The limits of whole numbers are floats, too, which
 * are exact for all that stand there: powers of 2, small numbers, and such less 1. */
static void tfn__check_ranges(tfn_error *e, const char *op, const void *options,
                              const tfn__limit *limits, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const tfn__limit *r = limits + i;
        const char *p = (const char *)options + r->at;
        if (r->kind == TFN__WHOLE) {
            tfn__in_range(e, op, r->name, tfn__whole_at(p, r->size), (int64_t)r->least,
                          (int64_t)r->most);
        } else {
            float real;
            TFNORM_MEMCPY(&real, p, sizeof real);
            tfn__check_real(e, op, r, real);
        }
    }
}

/* Every numeric option of a model: a test fails when one is missing. Sizes are bounded so that
 * their products are found to be too large before they overflow. */
#define TFN__TINY  1e-18                  /* TINY, HUGE: squares and inverses are normal numbers */
#define TFN__HUGE  1e18
#define TFN__COUNT 9007199254740992.0     /* 2^53: checkpoints keep steps as doubles, exactly */
#define TFN__ANY   2147483648.0           /* of 32 bits: no limit */
#define TFN__SIDE  1048576                /* 2^20, of any side of a tensor but the vocabulary's */
#define TFN__VOCAB 16777216               /* 2^24 words */
#define TFN__RANGE_LIST(X)                                                                     \
    /* the shape */                                                                            \
    X(vocab,                WHOLE,     1, TFN__VOCAB)                                          \
    X(context,              WHOLE,     1, TFN__SIDE)                                           \
    X(arch,                 WHOLE,     0, TFN_ARCH_COUNT - 1)                                  \
    X(source_context,       WHOLE,     1, TFN__SIDE)                                           \
    X(width,                WHOLE,     1, TFN__SIDE)                                           \
    X(layers,               WHOLE,     1, 4096)                                                \
    X(decoder_layers,       WHOLE,     1, 4096)                                                \
    X(heads,                WHOLE,     1, 32768)                                               \
    X(kv_heads,             WHOLE,     1, 32768)                                               \
    X(ffn,                  WHOLE,     1, 4 * TFN__SIDE)                                       \
    X(segments,             WHOLE,     0, TFN__SIDE)                                           \
    X(classes,              WHOLE,     0, TFN__VOCAB)                                          \
    X(bands,                WHOLE,     0, TFN__SIDE)                                           \
    /* what it reads and says */                                                               \
    X(head,                 WHOLE,     0, TFN_HEAD_COUNT - 1)                                  \
    X(cutoffs[0],           WHOLE,     0, TFN__VOCAB)                                          \
    X(cutoffs[1],           WHOLE,     0, TFN__VOCAB)                                          \
    X(activation,           WHOLE,     0, TFN_ACTIVATION_COUNT - 1)                            \
    X(position,             WHOLE,     0, TFN_POSITION_COUNT - 1)                              \
    /* attention and norms */                                                                  \
    X(rotary_base,          REAL,      1, TFN__HUGE)                                           \
    X(qk_norm,              WHOLE,     0, TFN_QK_NORM_COUNT - 1)                               \
    X(attention_cap,        REAL_OR_0, TFN__TINY, TFN__HUGE)                                   \
    X(logit_cap,            REAL_OR_0, TFN__TINY, TFN__HUGE)                                   \
    X(norm_eps,             REAL_OR_0, TFN__TINY, TFN__HUGE)                                   \
    X(norm_factor,          REAL_OR_0, TFN__TINY, 1e6)                                         \
    /* of a run */                                                                             \
    X(batch,                WHOLE,     1, TFN__SIDE)                                           \
    X(batch_tokens,         WHOLE,     0, TFN__ANY)                                            \
    X(threads,              WHOLE,     1, 1024)                                                \
    X(isa,                  WHOLE,     0, TFN_ISA_COUNT - 1)
#define TFN__TRAINING_RANGES(X)                                                                \
    /* regularization */                                                                       \
    X(dropout,              RATE,      0, 1)                                                   \
    X(attention_dropout,    RATE,      0, 1)                                                   \
    X(activation_dropout,   RATE,      0, 1)                                                   \
    X(smoothing,            RATE,      0, 1)                                                   \
    X(smoothing_kind,       WHOLE,     0, TFN_SMOOTHING_COUNT - 1)                             \
    /* the update */                                                                           \
    X(optimizer,            WHOLE,     0, TFN_OPTIMIZER_COUNT - 1)                             \
    /* the rate; norm_warmup, that of PowerNorm, may be the schedule's */                      \
    X(schedule.kind,        WHOLE,     0, TFN_SCHEDULE_COUNT - 1)                              \
    X(schedule.lr,          REAL,      0, 1e6)                                                 \
    X(schedule.lr_init,     REAL,      0, 1e6)                                                 \
    X(schedule.lr_min,      REAL,      0, 1e6)                                                 \
    X(schedule.warmup,      WHOLE,     0, TFN__COUNT)                                          \
    X(schedule.steps,       WHOLE,     0, TFN__COUNT)                                          \
    X(schedule.anchor,      WHOLE,     0, TFN__COUNT)                                          \
    X(schedule.step_at,     WHOLE,     0, TFN__COUNT)                                          \
    X(schedule.step_factor, REAL,      0, 1e6)                                                 \
    X(schedule.power,       REAL_OR_0, TFN__TINY, 1e6)                                         \
    X(schedule.decay_steps, WHOLE,     0, TFN__COUNT)                                          \
    X(norm_warmup,          WHOLE,     0, TFN__COUNT)                                          \
    /* the optimizer */                                                                        \
    X(beta1,                RATE,      0, 1)                                                   \
    X(beta2,                RATE,      0, 1)                                                   \
    X(eps,                  REAL,      TFN__TINY, TFN__HUGE)                                   \
    X(decay,                REAL,      0, 1e3)                                                 \
    X(radam,                WHOLE,     0, TFN_RADAM_COUNT - 1)                                 \
    X(clip,                 REAL_OR_0, TFN__TINY, TFN__HUGE)                                   \
    X(micro_batches,        WHOLE,     1, TFN__SIDE)                                           \
    /* of half precision: below 2^-5 training has diverged */                                  \
    X(loss_scale,           REAL,      0.03125, TFN__HUGE)
/* A build without training does not look at what only training reads. */
#ifdef TFNORM_NO_TRAINING
#undef TFN__TRAINING_RANGES
#define TFN__TRAINING_RANGES(X)
#endif
#define TFN__RANGE(field, kind, least, most) \
    TFN__RANGE_OF(tfn_model_desc, field, TFN__##kind, least, most),
static const tfn__limit tfn__limits[] = {
    TFN__RANGE_LIST(TFN__RANGE) TFN__TRAINING_RANGES(TFN__RANGE)
};
enum { TFN__LIMITS = sizeof tfn__limits / sizeof *tfn__limits };

/* Defaults of training. Noam's rate is a factor, 1 in Vaswani 2017; beta2 is theirs, too. SGD's
 * beta1 is the momentum, so that 0 means none. A polynomial of power 1 is linear. Half precision
 * begins with fairseq's scale, 128: without half nothing is scaled, whatever is set. */
static void tfn__fill_training_defaults(tfn_model_desc *d)
{
    tfn_schedule *s = &d->schedule;
    const bool sgd = d->optimizer == TFN_OPTIMIZER_SGD;
    if (d->optimizer == TFN_OPTIMIZER_DEFAULT) d->optimizer = TFN_OPTIMIZER_ADAMW;
    if (s->lr == 0 && s->kind == TFN_SCHEDULE_NOAM) s->lr = 1;
    if (s->lr == 0) s->lr = (float)1e-3;
    if (s->power == 0 && s->kind == TFN_SCHEDULE_POLYNOMIAL) s->power = 1;
    if (d->beta1 == 0 && !sgd) d->beta1 = (float)0.9;
    if (d->beta2 == 0) d->beta2 = (float)0.98;
    if (d->eps == 0) d->eps = (float)1e-8;
    if (TFN__ALL && !d->norm_warmup) d->norm_warmup = s->warmup;
    d->micro_batches = tfn__or(d->micro_batches, 1);
    if (d->loss_scale == 0 && d->half) d->loss_scale = 128;
    if (d->loss_scale == 0) d->loss_scale = 1;
}

/* What is 0 or NULL gets its default. Nothing is checked yet: sizes may be anything, and what is
 * made of them must not overflow. The order counts: a default may be another option, filled above
 * it. Heads have 32 channels, the feed-forward is four times as wide as the stream (Vaswani 2017).
 */
static void tfn__fill_defaults(tfn_model_desc *d)
{
    d->source_context = tfn__or(d->source_context, d->context);
    d->width = tfn__or(d->width, 64);
    d->layers = tfn__or(d->layers, 2);
    d->decoder_layers = tfn__or(d->decoder_layers, d->layers);
    d->heads = tfn__or(d->heads, (int32_t)tfn__max(d->width / 32, 1));
    d->kv_heads = tfn__or(d->kv_heads, d->heads);
    if (!d->ffn && d->width > 0 && d->width < INT32_MAX / 4) d->ffn = 4 * d->width;
    d->ffn = tfn__or(d->ffn, 1);                    /* of a width that will be refused */
    if (d->activation == TFN_ACTIVATION_DEFAULT) d->activation = TFN_ACTIVATION_GELU_TANH;
    if (d->position == TFN_POSITION_DEFAULT) d->position = TFN_POSITION_LEARNED;
    if (d->rotary_base == 0) d->rotary_base = 10000;
    if (!d->recipe) d->recipe = "pre";
    tfn__fill_training_defaults(d);
    d->batch = tfn__or(d->batch, 1);
#if defined TFN__THREADS && !defined TFNORM_PARALLEL_FOR
    if (!d->half) d->threads = tfn__or(d->threads, omp_get_max_threads());
#endif
    d->threads = tfn__or(d->threads, 1);
}

/* The parts of the recipe, unless the options override them; then each name must be one of a row. A
 * topology of the caller's own has no name to be found. */
static void tfn__resolve_recipe(tfn_model_desc *d, tfn_error *e)
{
    const tfn_recipe *recipe = tfn_recipe_find(d->recipe);
    const tfn_norm_rule *norm;
    const tfn_norm_rule *decoder_norm;
    if (!recipe) {
        tfn__fail_name(e, TFN_NOT_FOUND, "model", "no recipe is called \"%s\"", d->recipe);
        return;
    }
    if (!d->topology) d->topology = tfn_topology_find(recipe->topology);
    if (!d->decoder_topology) d->decoder_topology = d->topology;
    if (!d->norm) d->norm = recipe->norm;
    if (!d->decoder_norm) d->decoder_norm = d->norm;
    if (!d->init) d->init = recipe->init;
    norm = tfn_norm_find(d->norm);
    decoder_norm = tfn_norm_find(d->decoder_norm);
    if (!norm)
        tfn__fail_name(e, TFN_NOT_FOUND, "model", "no norm is called \"%s\"", d->norm);
    else if (!decoder_norm)
        tfn__fail_name(e, TFN_NOT_FOUND, "model", "no norm is called \"%s\"", d->decoder_norm);
    else if (TFN__ALL && (norm->kind == TFN_NORM_CRMS) != (decoder_norm->kind == TFN_NORM_CRMS))
        tfn__fail(e, TFN_BAD_OPTION, "model", "crmsnorm must be the norm of both stacks", 0, 0);
    if (!tfn_init_find(d->init))
        tfn__fail_name(e, TFN_NOT_FOUND, "model", "no initialization is called \"%s\"", d->init);
}

/* Channels of the residual stream: CRMSNorm keeps all but one of a vector whose sum is 0, as that
 * one is minus the sum of the others. Both stacks have that norm or none has. */
static int32_t tfn__stream(const tfn_model_desc *d)
{
    const tfn_norm_rule *norm = NULL;
    if (TFN__ALL) norm = tfn_norm_find(d->norm);
    if (norm && norm->kind == TFN_NORM_CRMS) return d->width - 1;
    return d->width;
}

/* Of options in their ranges: those that depend on others. Heads share the width, so it must split
 * into them; key and value heads are shared by equally many query heads (head h reads h G/H);
 * rotary positions turn the two halves of a head against each other. */
static void tfn__check_sizes(const tfn_model_desc *d, tfn_error *e)
{
    tfn__in_range(e, "model", "kv_heads", d->kv_heads, 1, d->heads);
    if (e->status != TFN_OK) return;
    if (d->width % d->heads)
        tfn__fail(e, TFN_BAD_OPTION, "model", "width %d does not split into %d heads", d->width,
                  d->heads);
    if (d->heads % d->kv_heads)
        tfn__fail(e, TFN_BAD_OPTION, "model", "%d heads cannot share %d key/value heads", d->heads,
                  d->kv_heads);
    if (TFN__ALL && tfn__stream(d) < 1)
        tfn__fail(e, TFN_BAD_OPTION, "model", "crmsnorm wants a width of 2, not %d", d->width, 0);
    if (d->position == TFN_POSITION_ROTARY && d->width / d->heads % 2)
        tfn__fail(e, TFN_BAD_OPTION, "model", "rotary positions want an even head size, not %d",
                  d->width / d->heads, 0);
}

/* More threads than one want the compiler's (OpenMP), or the caller's. Half precision rounds a copy
 * of the weights as it goes, one operation after the other: one thread. */
static void tfn__check_threads(const tfn_model_desc *d, tfn_error *e)
{
#ifndef TFN__THREADS
    if (d->threads > 1)
        tfn__fail(e, TFN_UNSUPPORTED, "model", "threads is %d, this build has %d: it wants OpenMP "
                  "or TFNORM_PARALLEL_FOR", d->threads, 1);
#endif
    if (TFN__ALL && d->half && d->threads > 1)
        tfn__fail(e, TFN_BAD_OPTION, "model", "threads is %d, half wants %d", d->threads, 1);
}

#ifndef TFNORM_NO_TRAINING
/* Schedules that end, and the one that steps, must be told when: no default is right. */
static void tfn__check_schedule(const tfn_schedule *s, tfn_error *e)
{
    switch (s->kind) {
    case TFN_SCHEDULE_LINEAR:
    case TFN_SCHEDULE_POLYNOMIAL:
    case TFN_SCHEDULE_COSINE:
    case TFN_SCHEDULE_WARMUP_STABLE_DECAY:
        tfn__in_range(e, "model", "the end of the schedule, schedule.steps,", s->steps, 1,
                      INT64_MAX);
        break;
    case TFN_SCHEDULE_STEP:
        tfn__in_range(e, "model", "the step of the schedule, schedule.step_at,", s->step_at, 1,
                      INT64_MAX);
        break;
    default:
        break;
    }
}
#endif

/* Clusters of words: 0 if they are not parted, else one more than there are cutoffs. Cluster k
 * begins with word tfn__cluster_at(d, k) and ends where the next one begins, the last with the
 * vocabulary. */
static int32_t tfn__clusters(const tfn_model_desc *d)
{
    if (!TFN__ALL || !d->cutoffs[0]) return 0;
    if (!d->cutoffs[1]) return 2;
    return 3;
}

static int32_t tfn__cluster_at(const tfn_model_desc *d, int32_t k)
{
    if (k == 0) return 0;
    if (k < tfn__clusters(d)) return d->cutoffs[k - 1];
    return d->vocab;
}

/* The logits of clusters are log p already, and words have no row of a common table: what acts on
 * either is refused. Each tail is a quarter as wide as the one before: width 16 leaves the last 1.
 */
static void tfn__check_clusters(const tfn_model_desc *d, tfn_error *e)
{
    const uint32_t words = TFN_TOPOLOGY_FIXNORM | TFN_TOPOLOGY_LOGIT_SCALE;
    const bool plain_logits = !(d->smoothing > 0 || d->logit_cap > 0 || d->half);
    if (d->cutoffs[0])
        tfn__in_range(e, "model", "cutoffs[0]", d->cutoffs[0], 0, d->vocab - 1);
    if (d->cutoffs[0] && d->cutoffs[1])
        tfn__in_range(e, "model", "cutoffs[1]", d->cutoffs[1], d->cutoffs[0] + 1, d->vocab - 1);
    else
        tfn__in_range(e, "model", "cutoffs[1]", d->cutoffs[1], 0, 0);
    if (e->status != TFN_OK || !tfn__clusters(d)) return;
    if (d->arch == TFN_ARCH_DECODER && d->width >= 16 && plain_logits
        && !(d->decoder_topology->flags & words)) return;
    tfn__fail(e, TFN_BAD_OPTION, "model", "cutoffs want a decoder of width 16 or more, and "
              "neither smoothing nor a cap nor scale of logits nor half", 0, 0);
}

/* Options that only some architectures, machines or builds have. */
static void tfn__check_kinds(const tfn_model_desc *d, tfn_error *e)
{
    if (d->head == TFN_HEAD_SEQUENCE && d->arch != TFN_ARCH_ENCODER)
        tfn__fail(e, TFN_BAD_OPTION, "model", "a sequence head wants an encoder", 0, 0);
    if (d->head == TFN_HEAD_SEQUENCE)
        tfn__in_range(e, "model", "classes", d->classes, 1, TFN__VOCAB);
    if (TFN__ALL && d->bands && d->arch != TFN_ARCH_ENCODER_DECODER)
        tfn__fail(e, TFN_BAD_OPTION, "model", "frames want an encoder-decoder", 0, 0);
    if (d->segments && d->arch != TFN_ARCH_ENCODER)
        tfn__fail(e, TFN_BAD_OPTION, "model", "segment embeddings want an encoder", 0, 0);
    if (!tfn_kernels_for(d->isa))
        tfn__fail(e, TFN_UNSUPPORTED, "model", "instruction set %d is not available here",
                  d->isa, 0);
    if (TFN__ALL && d->folded && !d->inference)
        tfn__fail(e, TFN_BAD_OPTION, "model", "a folded model is for inference", 0, 0);
#ifdef TFNORM_NO_TRAINING
    if (!d->inference)
        tfn__fail(e, TFN_UNSUPPORTED, "model", "this build has no training: set inference", 0, 0);
#endif
}

/* Whether a stack's attention norms queries and keys by `form` somewhere. A rule may decide by
 * layer and by kind, so every place is asked, unless the model's option overrides them all. */
static bool tfn__stack_has_qk(const tfn_model_desc *d, bool decoder, tfn_qk_norm form)
{
    const tfn_topology *row = d->topology;
    if (decoder) row = d->decoder_topology;
    if (d->qk_norm != TFN_QK_NORM_DEFAULT) return d->qk_norm == form;
    for (int32_t layer = 1; layer <= tfn__depth(d, decoder); layer++) {
        tfn_place self = tfn__place_at(d, decoder, TFN_SUBLAYER_SELF_ATTENTION, layer);
        tfn_place cross = tfn__place_at(d, decoder, TFN_SUBLAYER_CROSS_ATTENTION, layer);
        if (tfn_topology_join(row, &self).qk == form) return true;
        if (tfn_topology_join(row, &cross).qk == form) return true;
    }
    return false;
}

/* nGPT multiplies queries and keys by one vector, so that both need as many channels. An encoder
 * has no decoder to ask, nor a decoder an encoder. */
static void tfn__check_qk(const tfn_model_desc *d, tfn_error *e)
{
    bool unit = false;
    if (d->arch != TFN_ARCH_DECODER) unit |= tfn__stack_has_qk(d, false, TFN_QK_NORM_UNIT);
    if (d->arch != TFN_ARCH_ENCODER) unit |= tfn__stack_has_qk(d, true, TFN_QK_NORM_UNIT);
    if (unit && d->kv_heads != d->heads)
        tfn__fail(e, TFN_BAD_OPTION, "model", "nGPT's queries and keys share their scales: "
                  "kv_heads is %d, as many as heads are wanted, %d", d->kv_heads, d->heads);
}

/* A build without the extra norms has neither aggregates nor flags beyond the norms of the ends. */
static bool tfn__is_plain_row(const tfn_topology *t)
{
    const uint32_t plain = TFN_TOPOLOGY_FINAL_NORM | TFN_TOPOLOGY_EMBEDDING_NORM;
    return t->aggregate == TFN_AGGREGATE_NONE && !(t->flags & ~plain);
}

/* Nothing that wants the operations of TFNORM_ALL_NORMS: see TFN__ALL. */
static bool tfn__is_plain_model(const tfn_model_desc *d)
{
    if (d->folded || d->half || d->bands || d->cutoffs[0]) return false;
    if (d->attention_cap > 0 || d->logit_cap > 0) return false;
    if (d->qk_norm > TFN_QK_NORM_NONE) return false;
    return tfn__is_plain_row(d->topology) && tfn__is_plain_row(d->decoder_topology);
}

/* Fill the defaults, then check: names, ranges, what depends on other options. A check may use what
 * the ones above it have let pass. */
TFNORM_API bool tfn_model_resolve(tfn_model_desc *out, const tfn_model_desc *desc, tfn_error *e)
{
    tfn_error none;
    if (!e) e = &none;
    tfn__no_error(e);
    if (!tfn__given(e, "model", "desc", desc) || !tfn__given(e, "model", "out", out)) return false;
    *out = *desc;
    tfn__fill_defaults(out);
    tfn__resolve_recipe(out, e);
    if (e->status == TFN_OK && !TFN__ALL && !tfn__is_plain_model(out))
        tfn__fail(e, TFN_UNSUPPORTED, "model", tfn__plain_only, 0, 0);
    tfn__check_ranges(e, "model", out, tfn__limits, TFN__LIMITS);
    if (e->status != TFN_OK) return false;
    if (!out->half) out->loss_scale = 1;
    tfn__check_sizes(out, e);
    tfn__check_kinds(out, e);
    tfn__check_threads(out, e);
#ifndef TFNORM_NO_TRAINING
    if (!out->inference) tfn__check_schedule(&out->schedule, e);
#endif
    if (TFN__ALL) tfn__check_clusters(out, e);
    if (TFN__ALL && e->status == TFN_OK) tfn__check_qk(out, e);
    return e->status == TFN_OK;
}
#endif /* TFN__IMPLEMENTING */
/* >> builder */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY && !defined TFNORM_ONLY_KERNELS
/* The builder records a whole model on a tape. It walks through the stacks, their layers and the
 * sub-layers of these, from the tokens to the loss; training, evaluation and one-token decoding are
 * recorded by the same functions. Topologies are data here. A sub-layer F, attention or feed-
 * forward, with the input x in a layer that began with x_0, is joined to the stream by
 *
 *     u = in * N_in(source) - s               source: x, x_0, or the u of the layer's first F
 *     p = Drop(N_branch(F(u)))
 *     z = skip * from + out * p + extra * x_0       from: x, N_in(x), or x_0
 *     x = N_sum(z)
 *
 * where every norm, scale and shift is absent unless the join of the topology's row has it. So
 * Post-LN has N_sum alone, Pre-LN N_in alone, DeepNorm N_sum and a constant skip.
 *
 * Parameters are found by where they belong: the spot (stack, layer, sub-layer), their part in it
 * (W_q, the norm before F) and their kind (matrix, bias, gain). The first tape makes them in the
 * order in which it wants them, which is the order of the flat vector; later tapes find them again.
 * A spot is a value of four bytes that goes down with the calls. What belongs elsewhere is asked
 * for with another one: a gain that the sub-layers of a layer share belongs to no sub-layer, a
 * shared embedding to no stack. The order of calls is the order of nodes and of parameters, hence
 * part of the bits: two calls that record never stand in one argument list. */

/* -- what a plain build leaves out ------------------------------------------------------------ */

/* A plain build (TFN__ALL is false: no training, no other norms) has the plain rows only, and
 * refuses the options below when it resolves a description. Asked through these functions they are
 * constants there, and the compiler drops the code that depends on them. */
static bool tfn__is_folded(const tfn_model_desc *d)  { return TFN__ALL && d->folded; }
static bool tfn__is_half(const tfn_model_desc *d)    { return TFN__ALL && d->half; }
static bool tfn__has_frames(const tfn_model_desc *d) { return TFN__ALL && d->bands > 0; }
static bool tfn__is_watched(const tfn_model_desc *d) { return TFN__ALL && d->probes; }
static bool tfn__caps_logits(const tfn_model_desc *d) { return TFN__ALL && d->logit_cap > 0; }

/* Of a join. */
static bool tfn__gates(const tfn_join *j)         { return TFN__ALL && j->gate; }
static bool tfn__shifts(const tfn_join *j)        { return TFN__ALL && j->shifts; }
static bool tfn__scales_hidden(const tfn_join *j) { return TFN__ALL && j->scales; }
static bool tfn__has_inner_norm(const tfn_join *j) { return TFN__ALL && j->norm_inner; }
static bool tfn__has_last_extra(const tfn_join *j) { return TFN__ALL && j->extra_last; }
static bool tfn__interpolates(const tfn_join *j)
{
    return TFN__ALL && j->skip.kind == TFN_SCALE_LERP;
}
static tfn_source tfn__source_of(const tfn_join *j)
{
    if (!TFN__ALL) return TFN_SOURCE_STREAM;
    return j->source;
}
static bool tfn__has_head_scale(const tfn_join *j, tfn_head_scale where)
{
    return TFN__ALL && j->head_scale == where;
}

/* A flag of norms beyond gain and bias. */
static bool tfn__norm_has(const tfn_norm_rule *norm, uint32_t flag)
{
    return TFN__ALL && (norm->flags & flag) != 0;
}

/* The model starts as LSUV has it: each linear map's output of variance 1. */
static bool tfn__wants_unit_variance(const tfn_model_desc *d)
{
    return TFN__ALL && tfn_init_find(d->init)->unit_variance;
}

/* Of a scale: the schedule, and the unit in which a learned one is stored. */
static bool tfn__is_scheduled(const tfn_scale_rule *s)
{
    return TFN__ALL && s->kind == TFN_SCALE_SCHEDULED;
}
static float tfn__unit_of(const tfn_scale_rule *s)
{
    if (!TFN__ALL) return 1;
    return tfn__orf(s->unit, 1);
}

/* Scales beyond constants and learned ones; joins that a row of the user can have in a plain build,
 * where they are an error. */
static bool tfn__is_refused_scale(const tfn_scale_rule *s)
{
    return !TFN__ALL && s->kind > TFN_SCALE_VECTOR;
}
static bool tfn__is_refused(const tfn_join *j)
{
    if (TFN__ALL) return false;
    if (j->norm_inner || j->shifts || j->gate || j->extra_last || j->scales) return true;
    if (j->source != TFN_SOURCE_STREAM || j->qk > TFN_QK_NORM_NONE) return true;
    if (j->head_scale != TFN_HEAD_SCALE_NONE) return true;
    return tfn__is_refused_scale(&j->in) || tfn__is_refused_scale(&j->out)
        || tfn__is_refused_scale(&j->skip) || tfn__is_refused_scale(&j->extra);
}

/* -- spots: where something belongs ------------------------------------------------------------ */

enum { TFN__NO_STACK, TFN__IN_ENCODER, TFN__IN_DECODER };
enum { TFN__NO_LAYER = -1 };
enum { TFN__NO_SUB = TFN_SUBLAYER_FFN_BEFORE + 1 };

/* What a topology's rule is told (tfn_place, with depths) is made of a spot: see tfn__join_at. */
typedef struct tfn__spot {
    int16_t layer;                       /* from 0, or TFN__NO_LAYER */
    uint8_t stack;                       /* no stack: what the stacks share, and the model's end */
    uint8_t sub;                         /* a tfn_sublayer, or TFN__NO_SUB */
} tfn__spot;

static tfn__spot tfn__spot_in(int stack, int32_t layer, int sub)
{
    tfn__spot at;
    at.layer = (int16_t)layer;
    at.stack = (uint8_t)stack;
    at.sub = (uint8_t)sub;
    return at;
}

/* What belongs to the whole model, to a stack, to a layer, to the layer of a sub-layer. */
static tfn__spot tfn__spot_of_model(void)
{
    return tfn__spot_in(TFN__NO_STACK, TFN__NO_LAYER, TFN__NO_SUB);
}
static tfn__spot tfn__spot_of_stack(int stack)
{
    return tfn__spot_in(stack, TFN__NO_LAYER, TFN__NO_SUB);
}
static tfn__spot tfn__spot_of_layer(int stack, int32_t layer)
{
    return tfn__spot_in(stack, layer, TFN__NO_SUB);
}
static tfn__spot tfn__layer_of(tfn__spot at)
{
    return tfn__spot_in(at.stack, at.layer, TFN__NO_SUB);
}
static tfn__spot tfn__spot_of(const tfn__weight *w)
{
    return tfn__spot_in(w->stack, w->layer, w->sub);
}

/* Questions about a spot. */
static bool tfn__in_decoder(tfn__spot at)  { return at.stack == TFN__IN_DECODER; }
static bool tfn__in_sublayer(tfn__spot at) { return at.sub < TFN__NO_SUB; }
static bool tfn__in_ffn(tfn__spot at)
{
    return at.sub == TFN_SUBLAYER_FFN || at.sub == TFN_SUBLAYER_FFN_BEFORE;
}

/* An encoder alone and a decoder alone are the only stacks of their models. */
static bool tfn__has_stack(const tfn_model_desc *d, tfn__spot at)
{
    if (tfn__in_decoder(at)) return d->arch != TFN_ARCH_ENCODER;
    return d->arch != TFN_ARCH_DECODER;
}

/* The stack whose output the model's end reads. */
static tfn__spot tfn__last_stack(const tfn_model_desc *d)
{
    if (d->arch == TFN_ARCH_ENCODER) return tfn__spot_of_stack(TFN__IN_ENCODER);
    return tfn__spot_of_stack(TFN__IN_DECODER);
}

/* The stack whose tokens are the source; every other stack reads the target. */
static bool tfn__reads_source(const tfn_model_desc *d, tfn__spot at)
{
    return at.stack == TFN__IN_ENCODER && d->arch == TFN_ARCH_ENCODER_DECODER;
}

/* Options that a stack has of its own: its topology and its norm. */
static const tfn_topology *tfn__stack_row(const tfn_model_desc *d, int32_t stack)
{
    return stack == TFN__IN_DECODER ? d->decoder_topology : d->topology;
}
static const tfn_topology *tfn__row(const tfn_model_desc *d, tfn__spot at)
{
    return tfn__stack_row(d, at.stack);
}
static const tfn_norm_rule *tfn__norm_rule_of(const tfn_model_desc *d, tfn__spot at)
{
    if (tfn__in_decoder(at)) return tfn_norm_find(d->decoder_norm);
    return tfn_norm_find(d->norm);
}

/* A flag of the stack's row: plain rows have a final norm and an embedding norm. */
static bool tfn__has_plain(const tfn_model_desc *d, tfn__spot at, uint32_t flag)
{
    return (tfn__row(d, at)->flags & flag) != 0;
}
static bool tfn__has(const tfn_model_desc *d, tfn__spot at, uint32_t flag)
{
    return TFN__ALL && tfn__has_plain(d, at, flag);
}

/* How the inputs of this stack's layers come from all layers before them. */
static tfn_aggregate tfn__aggregate_of(const tfn_model_desc *d, tfn__spot at)
{
    if (!TFN__ALL) return TFN_AGGREGATE_NONE;
    return tfn__row(d, at)->aggregate;
}

/* The join of a sub-layer. It is asked for where it is wanted, not carried along: a row's rule is a
 * function of the place alone. Rules count layers from 1. */
static tfn_join tfn__join_at(const tfn_model_desc *d, tfn__spot at)
{
    const tfn_place place = tfn__place_at(d, tfn__in_decoder(at), (tfn_sublayer)at.sub,
                                          at.layer + 1);
    return tfn_topology_join(tfn__row(d, at), &place);
}

/* What an attention does to its queries and keys: the option, or what the row says. */
static tfn_qk_norm tfn__qk_form(const tfn_model_desc *d, tfn__spot at)
{
    if (!TFN__ALL) return TFN_QK_NORM_NONE;
    if (d->qk_norm != TFN_QK_NORM_DEFAULT) return d->qk_norm;
    return tfn__join_at(d, at).qk;
}

/* value * N^n * M^m * l^layer, with the depths N of the encoder, M of the decoder; 1 without a
 * scale. */
static float tfn__rule_value(const tfn_model_desc *d, const tfn_scale_rule *s, tfn__spot at)
{
    const int32_t layer = (int32_t)tfn__max(at.layer + 1, 1);
    double v = (double)s->value;
    if (s->kind == TFN_SCALE_NONE) return 1;
    v *= tfn__pow(tfn__depth(d, false), (double)s->n)
       * tfn__pow(tfn__depth(d, true), (double)s->m);
    return (float)(v * tfn__pow(layer, (double)s->layer));
}

/* The sub-layers of a layer of this stack, in their order: Macaron's half feed-forward, attention,
 * the decoder's attention to the memory, feed-forward. */
typedef struct tfn__subs {
    int          count;
    tfn_sublayer kind[4];
} tfn__subs;

static tfn__subs tfn__subs_of(const tfn_model_desc *d, tfn__spot at)
{
    const bool cross = tfn__in_decoder(at) && d->arch == TFN_ARCH_ENCODER_DECODER;
    tfn__subs subs;
    subs.count = 0;
    if (tfn__has(d, at, TFN_TOPOLOGY_MACARON)) subs.kind[subs.count++] = TFN_SUBLAYER_FFN_BEFORE;
    subs.kind[subs.count++] = TFN_SUBLAYER_SELF_ATTENTION;
    if (cross) subs.kind[subs.count++] = TFN_SUBLAYER_CROSS_ATTENTION;
    subs.kind[subs.count++] = TFN_SUBLAYER_FFN;
    return subs;
}

/* The place of a sub-layer of the layer of `at`. */
static tfn__spot tfn__sublayer_at(tfn__spot at, tfn_sublayer kind)
{
    return tfn__spot_in(at.stack, at.layer, (int)kind);
}

/* -- parameters: a table over one flat vector -------------------------------------------------- */

/* The kinds of a part's tensors and how their names end; gains are scales, too. From STATE on they
 * are no parameters, but what training keeps beside them:
 * FOLDED_SCALE   a profiled scale that goes into other weights
 * MEAN to NU     running statistics of norms over the batch
 * UPDATES        how many updates the weights have seen, for what is scheduled
 * SIGMA_U, _V    what sigma is estimated with */
#define TFN__KINDS(X)                                                                              \
    X(MATRIX, ".weight") X(BIAS, ".bias") X(GAIN, ".weight") X(ALPHA, ".alpha")                    \
    X(SHIFT, ".shift") X(DIRECTION, ".direction") X(GAMMA, ".gamma")                               \
    X(FOLDED_SCALE, ".weight") X(MEAN, ".running_mean") X(VARIANCE, ".running_var")                \
    X(SQUARE, ".running_square") X(NU, ".running_nu") X(UPDATES, ".updates")                       \
    X(SIGMA_U, ".sigma_u") X(SIGMA_V, ".sigma_v")

/* The parts of a sub-layer, a layer, a stack and a model. Checkpoints know them by name: a new part
 * gets an entry, an old one keeps its name. Their order means nothing, but that some are asked for
 * as a range: Q to V, W1 to W3, the tables from EMBEDDING to SEGMENT; and the clusters and their
 * maps are counted through. */
#define TFN__PARTS(X)                                                                              \
    X(Q, "q") X(K, "k") X(V, "v") X(O, "o") X(W1, "w1") X(W2, "w2") X(W3, "w3")                    \
    X(NORM_IN, "norm_in") X(NORM_BRANCH, "norm_branch") X(NORM, "norm") X(NORM_O, "norm_o")        \
    X(NORM_2, "norm_2") X(Q_NORM, "q_norm") X(K_NORM, "k_norm") X(V_NORM, "v_norm")                \
    X(QK_SCALE, "qk_scale") X(HEAD_SCALE, "head_scale") X(SCALE_1, "scale_1")                      \
    X(SCALE_3, "scale_3") X(SHIFT_IN, "shift_in") X(SHIFT_1, "shift_1") X(SHIFT_2, "shift_2")      \
    X(IN, "in") X(OUT, "out") X(SKIP, "skip") X(EXTRA, "extra") X(GATE, "gate") X(MIX, "mix")      \
    X(NORM_OUT, "norm_out") X(MEMORY_MIX, "memory_mix") X(EMBEDDING, "embedding")                  \
    X(CLUSTER_0, "cluster_0") X(CLUSTER_1, "cluster_1") X(CLUSTER_2, "cluster_2")                  \
    X(POSITION, "position") X(SEGMENT, "segment") X(EMBEDDING_NORM, "embedding_norm")              \
    X(EMBEDDING_SCALE, "embedding_scale") X(FINAL_NORM, "final_norm")                              \
    X(FINAL_SHIFT, "final_shift") X(FINAL_SCALE, "final_scale") X(POOLER, "pooler")                \
    X(CLASSIFIER, "classifier") X(OUTPUT, "output") X(LOGIT_SCALE, "logit_scale")                  \
    X(CONV_1, "conv_1") X(CONV_2, "conv_2") X(PROJECT_0, "project_0") X(PROJECT_1, "project_1")    \
    X(PROJECT_2, "project_2") X(SCHEDULE, "schedule")
/* Each list is an enumeration and its names. */
#define TFN__KIND_ENUM(id, name) TFN__##id,
#define TFN__PART_ENUM(id, name) TFN__PART_##id,
#define TFN__NAME(id, name) name,
enum { TFN__KINDS(TFN__KIND_ENUM) TFN__KIND_COUNT };
enum { TFN__STATE = TFN__FOLDED_SCALE };
enum { TFN__PARTS(TFN__PART_ENUM) TFN__PART_COUNT };
static const char *const tfn__kind_names[] = { TFN__KINDS(TFN__NAME) };
static const char *const tfn__part_names[] = { TFN__PARTS(TFN__NAME) };

/* "decoder.3.self.q.weight" */
static void tfn__weight_name(const tfn__weight *w, tfn__text *t)
{
    static const char *const stacks[] = { "", "encoder.", "decoder." };
    static const char *const subs[] = { "self.", "cross.", "ffn.", "before.", "" };
    tfn__put(t, stacks[w->stack]);
    if (w->layer >= 0) tfn__put_int(t, NULL, w->layer, ".");
    tfn__put_texts(t, subs[w->sub], tfn__part_names[w->part], tfn__kind_names[w->kind]);
}

/* What is the same wherever the builder is: the tape, the table of weights, what stacks share. */
typedef struct tfn__builder {
    tfn_tape    *t;
    const tfn_model_desc *d;
    tfn__weight *weights;
    int32_t      count, capacity;      /* capacity 0: the table is complete, only look up */
    int64_t      floats, buffers;      /* where the next parameter and the next state lie */
    bool         decode;               /* one token at a time, against caches of the past */
    int32_t      encoder_first, encoder_last;    /* nodes: the encoder's layers lie between */
    tfn_var      embedding;            /* of all stacks that have none of their own */
    tfn_var      table;                /* sinusoids or rotations */
    tfn_var      memory;               /* the encoder's output; in decoding its first cache */
    tfn_var      logits[3];            /* of clusters of words */
} tfn__builder;

/* A search through the list: a model has some hundred weights, and looks them up when its tapes are
 * recorded, never when they run. */
static const tfn__weight *tfn__find_weight(const tfn__weight *weights, int32_t count,
                                           tfn__spot at, int part, int kind)
{
    for (int32_t i = 0; i < count; i++) {
        const tfn__weight *w = weights + i;
        if (w->part == part && w->kind == kind && w->layer == at.layer && w->stack == at.stack
            && w->sub == at.sub) return w;
    }
    return NULL;
}

/* The next of the flat vector, or of the buffers for state; each begins at a multiple of 16 floats,
 * a cache line. `initial` is where it starts if its init rule draws nothing. */
static tfn__weight *tfn__new_weight(tfn__builder *b, tfn__spot at, int part, int kind,
                                    int32_t rows, int32_t cols, float initial)
{
    int64_t *floats = kind >= TFN__STATE ? &b->buffers : &b->floats;
    tfn__weight *w;
    if (b->count >= b->capacity) {
        tfn__tape_error(b->t, TFN_NO_MEMORY, "model", "more than %d parameters", b->capacity, 0);
        return NULL;
    }
    w = b->weights + b->count++;
    w->at = *floats;
    w->rows = rows;
    w->cols = cols;
    w->layer = at.layer;
    w->stack = at.stack;
    w->sub = at.sub;
    w->part = (uint8_t)part;
    w->kind = (uint8_t)kind;
    w->initial = initial;
    *floats += tfn__padded((int64_t)rows * cols);
    return w;
}

/* The parameter (rows, cols) of a place: made by the first tape, found again by the others. One
 * that several sub-layers share must be one node: the flags of its gradient are counted by node. */
static tfn_var tfn__weight_of(tfn__builder *b, tfn__spot at, int part, int kind, int32_t rows,
                              int32_t cols, float initial)
{
    const bool shared = !tfn__in_sublayer(at) || part == TFN__PART_QK_SCALE;
    const tfn__weight *w = tfn__find_weight(b->weights, b->count, at, part, kind);
    if (!w) w = tfn__new_weight(b, at, part, kind, rows, cols, initial);
    if (!w) return tfn__none;
    if (kind >= TFN__STATE) return tfn__buffer_at(b->t, rows, cols, w->at);
    return tfn__param_at(b->t, rows, cols, w->at, shared);
}

/* A learned scalar or vector. */
static tfn_var tfn__gain_at(tfn__builder *b, tfn__spot at, int part, int32_t cols, float initial)
{
    return tfn__weight_of(b, at, part, TFN__GAIN, 1, cols, initial);
}

/* The count of updates that scheduled scales read, one for the whole model. It is saved with the
 * weights: without it they mean nothing. */
static tfn_var tfn__updates_of(tfn__builder *b)
{
    return tfn__weight_of(b, tfn__spot_of_model(), TFN__PART_SCHEDULE, TFN__UPDATES, 1, 1, 0);
}

/* -- probes: numbers of what is watched -------------------------------------------------------- */

/* A point that the user watches has the number point | kind << 4 | decoder << 7 | layer << 8, which
 * tfn_probe_of reads. The library's own begin beyond them: PROFILE + 2 w and + 2 w + 1 are the
 * branch and the skip of the profiled scale that is weight w, OUTPUTS + w is the output of the
 * linear map of matrix w. */
enum { TFN__KIND_BIT = 4, TFN__DECODER_BIT = 7, TFN__LAYER_BIT = 8 };
enum { TFN__PROFILE = 1 << 24, TFN__OUTPUTS = 1 << 25 };

/* A point of a sub-layer or stack can be watched. */
static tfn_var tfn__point_at(tfn__builder *b, tfn__spot at, tfn_watched point, tfn_var x)
{
    int32_t id = (int32_t)point;
    if (!tfn__is_watched(b->d) || !b->t->training) return x;
    if (tfn__in_sublayer(at)) id |= at.sub << TFN__KIND_BIT;
    if (tfn__in_decoder(at)) id |= 1 << TFN__DECODER_BIT;
    if (at.layer > 0) id |= at.layer << TFN__LAYER_BIT;
    tfn_probe(b->t, x, id);
    return x;
}

/* The profile sees the branch, then the skip before its scale: see tfn__profile_probe. */
static void tfn__probe_profile(tfn__builder *b, tfn__spot at, tfn_scale_kind skip, tfn_var x,
                               tfn_var p)
{
    int kind = TFN__GAIN;
    const tfn__weight *w;
    int32_t id;
    if (!TFN__ALL || !b->t->training) return;
    if (skip == TFN_SCALE_FOLDED) kind = TFN__FOLDED_SCALE;
    else if (skip != TFN_SCALE_PROFILED) return;
    w = tfn__find_weight(b->weights, b->count, at, TFN__PART_SKIP, kind);
    if (!w) return;                             /* the evaluation's tape comes first and makes it */
    id = TFN__PROFILE + 2 * (int32_t)(w - b->weights);
    tfn_probe(b->t, p, id);
    tfn_probe(b->t, x, id + 1);
}

/* LSUV watches the outputs of linear maps. */
static void tfn__probe_output(tfn__builder *b, tfn__spot at, int part, tfn_var y)
{
    const tfn__weight *w = tfn__find_weight(b->weights, b->count, at, part, TFN__MATRIX);
    if (w) tfn_probe(b->t, y, TFN__OUTPUTS + (int32_t)(w - b->weights));
}

/* -- what a folded model leaves out: see tfn_model_fold --------------------------------------- */

/* Each function says whether its derivation holds at a sub-layer. The builder asks it to leave
 * something out, the fold to put the same thing into weights: the two must ask the same question,
 * or the folded model is another function. Where none holds, a scale or norm stays as it was
 * trained, and the folded model is right with it. Those named tfn__folds_ are false for models that
 * are not folded. */

/* (u - s) W + b = u W + (b - s 1^T W): maps that read a shifted value have a bias that takes the
 * shift, in models without biases too. Keys and values of a cross-attention read the memory. */
static bool tfn__reads_shift(const tfn_model_desc *d, tfn__spot at, int part)
{
    if (!tfn__in_sublayer(at) || !tfn__join_at(d, at).shifts) return false;
    switch (part) {
    case TFN__PART_K:
    case TFN__PART_V:  return at.sub == TFN_SUBLAYER_SELF_ATTENTION;
    case TFN__PART_Q:
    case TFN__PART_W1:
    case TFN__PART_W2:
    case TFN__PART_W3: return true;
    default:           return false;
    }
}

/* The linear map of this part has a bias. */
static bool tfn__biased(const tfn_model_desc *d, tfn__spot at, int part)
{
    if (tfn__is_folded(d) && tfn__reads_shift(d, at, part)) return true;
    return !d->no_bias && !tfn__has(d, at, TFN_TOPOLOGY_BIASLESS);
}

/* What the first sub-layer of this layer reads, later ones read too. */
static bool tfn__first_is_read(const tfn_model_desc *d, tfn__spot at)
{
    const tfn__subs subs = tfn__subs_of(d, at);
    if ((tfn_sublayer)at.sub != subs.kind[0]) return false;
    for (int i = 1; i < subs.count; i++)
        if (tfn__join_at(d, tfn__sublayer_at(at, subs.kind[i])).source == TFN_SOURCE_FIRST)
            return true;
    return false;
}

/* The matrix behind a norm of a sub-layer, the first of several, or -1: no matrix alone. */
static int tfn__reader_of_norm(tfn__spot at, int norm)
{
    switch (norm) {
    case TFN__PART_NORM_O: return TFN__PART_O;
    case TFN__PART_NORM_2: return TFN__PART_W2;
    case TFN__PART_NORM_IN:
        if (tfn__in_ffn(at)) return TFN__PART_W1;
        return TFN__PART_Q;
    default: return -1;
    }
}

/* (g n + t) W = n (g W) + t W: the affine part of a norm that linear maps of this sub-layer alone
 * read. t wants a bias, and so do the means of a batch. SeeDNorm's factor of n is no constant. */
static bool tfn__folds_norm(const tfn_model_desc *d, tfn__spot at, int part)
{
    const tfn_norm_rule *norm = tfn__norm_rule_of(d, at);
    const bool shifted = (norm->flags & TFN_FLAG_BIAS) != 0 || norm->kind == TFN_NORM_BATCH;
    const int reader = tfn__reader_of_norm(at, part);
    if (!tfn__is_folded(d) || reader < 0 || norm->kind == TFN_NORM_SEED) return false;
    if (shifted && !tfn__biased(d, at, reader)) return false;
    if (part != TFN__PART_NORM_IN) return true;
    if (tfn__join_at(d, at).skip_from == TFN_SOURCE_NORMED) return false;
    return !tfn__first_is_read(d, at);
}

/* u = in * y - s: into the maps that read u, which nothing else does; with the norm before it. */
static bool tfn__folds_input(const tfn_model_desc *d, tfn__spot at)
{
    tfn_join j;
    if (!tfn__is_folded(d)) return false;
    j = tfn__join_at(d, at);
    if (j.norm_in) return tfn__folds_norm(d, at, TFN__PART_NORM_IN);
    return j.skip_from != TFN_SOURCE_NORMED;
}

/* (h y) W = y (h W), h a head's scale: not across a norm, but for one of constant statistics. */
static bool tfn__folds_head_scale(const tfn_model_desc *d, tfn__spot at)
{
    if (!tfn__is_folded(d)) return false;
    if (!tfn__join_at(d, at).norm_inner) return true;
    if (tfn__norm_rule_of(d, at)->kind != TFN_NORM_BATCH) return false;
    return tfn__folds_norm(d, at, TFN__PART_NORM_O);
}

/* u W + b - s: a bias, if no scale comes between. */
static bool tfn__folds_shift_1(const tfn_model_desc *d, tfn__spot at)
{
    return tfn__is_folded(d) && !tfn__join_at(d, at).scales;
}

/* A factor of the branch p goes into its last matrix, or into the gain of the norm behind that: a
 * gain stored as it is, not as an offset from 1. */
static bool tfn__folds_branch(const tfn_model_desc *d, tfn__spot at)
{
    const uint32_t either = TFN_FLAG_GAIN | TFN_FLAG_OFFSET;
    tfn_join j;
    if (!tfn__is_folded(d)) return false;
    j = tfn__join_at(d, at);
    if (j.skip.kind == TFN_SCALE_LERP) return false;
    if (!j.norm_branch) return true;
    return (tfn__norm_rule_of(d, at)->flags & either) == TFN_FLAG_GAIN;
}

/* The scale of the branch itself: constant, or learned as any vector. */
static bool tfn__folds_out(const tfn_model_desc *d, tfn__spot at)
{
    tfn_scale_kind kind;
    if (!tfn__folds_branch(d, at)) return false;
    kind = tfn__join_at(d, at).out.kind;
    return kind != TFN_SCALE_NONE && kind <= TFN_SCALE_SHARED;
}

/* N(a x + p) = N(x + p/a) with eps over a^2, for a > 0 by which one can divide, and norms that
 * divide by a root; if nothing else reads p or adds to the sum. */
static bool tfn__folds_skip(const tfn_model_desc *d, tfn__spot at)
{
    tfn_join j;
    float a;
    if (!tfn__folds_branch(d, at)) return false;
    j = tfn__join_at(d, at);
    if (!j.norm_sum || j.skip.kind != TFN_SCALE_CONSTANT) return false;
    if (j.extra.kind != TFN_SCALE_NONE || j.gate) return false;
    if (tfn__has(d, at, TFN_TOPOLOGY_SIDE_STREAM)) return false;
    if (tfn__norm_rule_of(d, at)->kind > TFN_NORM_RMS) return false;
    a = tfn__rule_value(d, &j.skip, at);
    return a > (float)1e-9 && a < (float)1e9;
}

/* More than the skip and the branch of its first sub-layer read the input x_0 of the layer. */
static bool tfn__layer_is_read(const tfn_model_desc *d, tfn__spot at)
{
    const tfn__subs subs = tfn__subs_of(d, at);
    if (tfn__row(d, at)->aggregate != TFN_AGGREGATE_NONE) return true;
    if (at.stack == TFN__IN_ENCODER && tfn__has(d, at, TFN_TOPOLOGY_TRANSPARENT)) return true;
    for (int i = 0; i < subs.count; i++) {
        const tfn_join j = tfn__join_at(d, tfn__sublayer_at(at, subs.kind[i]));
        if (j.extra.kind != TFN_SCALE_NONE) return true;
        if (i == 0) continue;
        if (j.source != TFN_SOURCE_STREAM || j.skip_from == TFN_SOURCE_LAYER) return true;
    }
    return false;
}

/* The sub-layer before this one: of the same layer, or the last of the layer before, which is
 * TFN__NO_LAYER before the first. */
static tfn__spot tfn__spot_before(const tfn_model_desc *d, tfn__spot at)
{
    const tfn__subs subs = tfn__subs_of(d, at);
    for (int i = 1; i < subs.count; i++)
        if ((tfn_sublayer)at.sub == subs.kind[i]) return tfn__sublayer_at(at, subs.kind[i - 1]);
    return tfn__spot_in(at.stack, at.layer - 1, (int)subs.kind[subs.count - 1]);
}

/* Admin's scale w of a skip that reads x = g n + t, the output of the norm before it: x' = w x has
 * the gain w g and the bias w t, the skip is x', and the branch F(x) is that of x' with W/w in the
 * maps that read it (Liu 2020, appendix C). So x must be read by these two alone, the branch by
 * linear maps, and the sub-layer before must end with a norm. */
static bool tfn__skip_moves(const tfn_model_desc *d, tfn__spot at)
{
    const tfn__spot before = tfn__spot_before(d, at);
    const bool begins = before.layer != at.layer;                    /* a layer: x is x_0 */
    const tfn_join j = tfn__join_at(d, at);
    const bool later = j.source == TFN_SOURCE_LAYER || j.skip_from == TFN_SOURCE_LAYER;
    tfn_join last;
    if (j.skip.kind != TFN_SCALE_PROFILED && j.skip.kind != TFN_SCALE_FOLDED) return false;
    if (!(tfn__norm_rule_of(d, at)->flags & TFN_FLAG_GAIN) || j.norm_in) return false;
    /* the branch: linear in x, which neither x - s is nor gamma/sigma W in W */
    if (j.source == TFN_SOURCE_FIRST) return false;
    if (j.shifts && !tfn__folds_input(d, at)) return false;
    if (!d->folded && tfn__has(d, at, TFN_TOPOLOGY_SIGMA_REPARAM)) return false;
    if (!begins && later) return false;

    /* the norm before it, and that nobody else reads what it gives */
    if (before.layer < 0) return false;
    last = tfn__join_at(d, before);
    if (!last.norm_sum) return false;
    if (last.extra.kind != TFN_SCALE_NONE && last.extra_last) return false;
    return !begins || !tfn__layer_is_read(d, at);
}

/* The first sub-layer of a stack has no norm before it; there the profiled w is 1, and the fold
 * looks that it is. */
static bool tfn__skip_is_one(const tfn_model_desc *d, tfn__spot at)
{
    const tfn_scale_rule s = tfn__join_at(d, at).skip;
    const float value = tfn__rule_value(d, &s, at);
    const float unit = tfn__unit_of(&s);
    if (tfn__spot_before(d, at).layer >= 0 || s.kind != TFN_SCALE_FOLDED) return false;
    return !(value < 1 || value > 1) && !(unit < 1 || unit > 1);
}

/* The profiled scale of the skip here is left out of a folded model. */
static bool tfn__folds_profile(const tfn_model_desc *d, tfn__spot at)
{
    if (!tfn__is_folded(d)) return false;
    return tfn__skip_is_one(d, at) || tfn__skip_moves(d, at);
}

/* LayerNorm subtracts the mean of its row. Where rows of the stream have the mean 0 that changes
 * nothing, and RMSNorm, which does not subtract, gives the same; and if nothing else reads the
 * stream, its mean is free. So all that is added to it may be centred: here a sub-layer that reads
 * the stream through LayerNorm alone, and adds scalars times the stream and outputs of matrices. */
static bool tfn__centred_at(const tfn_join *j)
{
    if (!j->norm_in || j->norm_branch || j->norm_sum || j->source == TFN_SOURCE_FIRST) return false;
    if (j->skip_from == TFN_SOURCE_NORMED || j->skip.kind > TFN_SCALE_LEARNED) return false;
    if (j->out.kind == TFN_SCALE_PROFILED || j->out.kind == TFN_SCALE_FOLDED) return false;
    return j->extra.kind <= TFN_SCALE_LEARNED;
}

/* All that writes to the stream of a stack can be centred, and what reads it behind the last layer
 * does so through LayerNorm, too. Every kind of sub-layer is asked, those it lacks as well. */
static bool tfn__centred_stack(const tfn_model_desc *d, int stack)
{
    const uint32_t others = TFN_TOPOLOGY_EMBEDDING_NORM | TFN_TOPOLOGY_SIDE_STREAM
                          | TFN_TOPOLOGY_FIXNORM | TFN_TOPOLOGY_EDGE_SHIFTS;
    const tfn__spot top = tfn__spot_of_stack(stack);
    const tfn_norm_rule *norm = tfn__norm_rule_of(d, top);
    const tfn_topology *row = tfn__row(d, top);
    const int32_t depth = tfn__depth(d, tfn__in_decoder(top));
    if (norm->kind != TFN_NORM_LAYER || (norm->flags & TFN_FLAG_BY_HEAD)) return false;
    if (row->aggregate != TFN_AGGREGATE_NONE) return false;
    if (!(row->flags & TFN_TOPOLOGY_FINAL_NORM) || (row->flags & others)) return false;
    for (int32_t l = 0; l < depth; l++)
        for (int sub = 0; sub < TFN__NO_SUB; sub++) {
            const tfn_join j = tfn__join_at(d, tfn__spot_in(stack, l, sub));
            if (!tfn__centred_at(&j)) return false;
        }
    return true;
}

/* All that writes to the streams can be centred: then LayerNorm is RMSNorm (Jiang 2023). */
static bool tfn__centred(const tfn_model_desc *d)
{
    if (!tfn__is_folded(d) || !d->untied || d->bands || d->cutoffs[0]) return false;
    if (d->position == TFN_POSITION_SINUSOIDAL) return false;
    if (d->position == TFN_POSITION_SINUSOIDAL_FAIRSEQ) return false;
    if (d->qk_norm == TFN_QK_NORM_FULL) return false;
    return tfn__centred_stack(d, TFN__IN_ENCODER) && tfn__centred_stack(d, TFN__IN_DECODER);
}

/* FixNorm is a property of a table, not of the stack that happens to read it first: its rows have
 * length 1 if any stack that reads it says so. `own`: the source's own table. */
static bool tfn__unit_table(const tfn_model_desc *d, bool own)
{
    const bool encoder = tfn__has(d, tfn__spot_of_stack(TFN__IN_ENCODER), TFN_TOPOLOGY_FIXNORM);
    const bool decoder = tfn__has(d, tfn__spot_of_stack(TFN__IN_DECODER), TFN_TOPOLOGY_FIXNORM);
    if (own || d->arch == TFN_ARCH_ENCODER) return encoder;
    if (d->arch == TFN_ARCH_DECODER || d->separate_source || d->bands) return decoder;
    return encoder || decoder;
}

/* -- linear maps ------------------------------------------------------------------------------ */

/* The matrix w (in, out) of this place as its linear map reads it: as it is, or gamma/sigma w with
 * sigma near its largest singular value (sigmaReparam, Zhai 2023), which a folded model has
 * multiplied out. The ends of a model are like the stack beside them. */
static tfn_var tfn__read_matrix(tfn__builder *b, tfn__spot at, tfn_var w, int part, int32_t in,
                                int32_t out)
{
    const tfn_model_desc *d = b->d;
    tfn__spot stack = tfn__last_stack(d);
    tfn_var gamma;
    tfn_var u;
    tfn_var v;
    if (at.stack != TFN__NO_STACK) stack = tfn__spot_of_stack(at.stack);
    if (!tfn__has(d, stack, TFN_TOPOLOGY_SIGMA_REPARAM) || d->folded) return w;
    gamma = tfn__weight_of(b, at, part, TFN__GAMMA, 1, 1, 1);
    u = tfn__weight_of(b, at, part, TFN__SIGMA_U, 1, in, 0);
    v = tfn__weight_of(b, at, part, TFN__SIGMA_V, 1, out, 0);
    return tfn__reparameterized(b->t, w, gamma, u, v);
}

/* act(x W + b), x (rows, in), W (in, out). The matrix is made before the bias and the bias before
 * sigma's parts: that is their order in the flat vector. The function stands apart where the sum is
 * wanted as a value of its own: LSUV looks at it, half precision rounds it. */
static tfn_var tfn__apply_linear(tfn__builder *b, tfn__spot at, tfn_var x, int part, int32_t in,
                                 int32_t out, tfn_activation_kind act)
{
    tfn_var w = tfn__weight_of(b, at, part, TFN__MATRIX, in, out, 0);
    tfn_var bias = tfn__none;
    if (tfn__biased(b->d, at, part)) bias = tfn__weight_of(b, at, part, TFN__BIAS, 1, out, 0);
    w = tfn__read_matrix(b, at, w, part, in, out);
    if (!tfn__is_half(b->d) && !tfn__wants_unit_variance(b->d))
        return tfn_linear(b->t, x, w, bias, act);

    x = tfn_linear(b->t, x, w, bias, TFN_ACTIVATION_IDENTITY);
    if (b->t->training && !tfn__is_half(b->d)) tfn__probe_output(b, at, part, x);
    if (act == TFN_ACTIVATION_IDENTITY) return x;
    return tfn_activation(b->t, x, act);
}

/* -- norms: the row's, with its parameters ---------------------------------------------------- */

/* The model's option first, then what the norm's paper has, then 1e-5. */
static float tfn__eps_of(const tfn_model_desc *d, const tfn_norm_rule *norm)
{
    return tfn__orf(d->norm_eps, tfn__orf(norm->eps, (float)1e-5));
}

/* The eps of the norm `part`. ResiDual's second stream is small, and so is its eps; a folded skip
 * a x has divided the sum by a, and the variance by a^2. */
static float tfn__eps_at(const tfn_model_desc *d, tfn__spot at, const tfn_norm_rule *norm,
                         int part)
{
    float eps = tfn__eps_of(d, norm);
    if (part == TFN__PART_FINAL_NORM && tfn__has(d, at, TFN_TOPOLOGY_SIDE_STREAM))
        return (float)1e-7;
    if (part == TFN__PART_NORM && tfn__folds_skip(d, at)) {
        const tfn_scale_rule skip = tfn__join_at(d, at).skip;
        const float a = tfn__rule_value(d, &skip, at);
        eps /= a * a;
    }
    return eps;
}

/* Two running statistics side by side, (2, cols): mean and variance, which start at 0 and 1, or
 * PowerNorm's mean square and nu, which start at 1 and 0. They are two weights, each with a name,
 * and one buffer without a gap. */
static tfn_var tfn__running_of(tfn__builder *b, tfn__spot at, int part, int32_t cols, bool power)
{
    const int first = power ? TFN__SQUARE : TFN__MEAN;
    const tfn__weight *w = tfn__find_weight(b->weights, b->count, at, part, first);
    if (!w) {
        const int64_t begin = b->buffers;
        w = tfn__new_weight(b, at, part, first, 1, cols, (float)power);
        b->buffers = begin + cols;
        tfn__new_weight(b, at, part, first + 1, 1, cols, (float)!power);
        b->buffers = begin + tfn__padded(2 * (int64_t)cols);
    }
    if (!w) return tfn__none;
    return tfn__buffer_at(b->t, 2, cols, w->at);
}

/* BatchNorm, and PowerNorm behind an RMSNorm of each head. Where the affine part folds, nothing is
 * left of it: the statistics are constants then. */
static tfn_var tfn__batch_norm_of(tfn__builder *b, tfn__spot at, tfn_var x, int part, tfn_var gain,
                                  tfn_var bias, const tfn_norm_rule *norm)
{
    const int32_t cols = tfn__need(b->t, "norm", x)->cols;
    const bool power = norm->kind == TFN_NORM_POWER;
    tfn_norm_args groups = tfn__plain_norm(TFN_NORM_RMS, tfn__eps_of(b->d, norm));
    tfn_var running;
    groups.groups = 1;
    if (cols % b->d->heads == 0) groups.groups = b->d->heads;
    if (power) x = tfn_norm(b->t, x, tfn__none, tfn__none, cols, &groups);
    if (tfn__folds_norm(b->d, at, part)) return x;
    running = tfn__running_of(b, at, part, cols, power);
    return tfn__batch_norm(b->t, x, gain, bias, running, norm->kind, (int32_t)b->d->norm_warmup,
                           groups.eps);
}

/* A norm of rows as the tape wants it. Of a stack whose stream is centred, LayerNorm is RMSNorm
 * where it reads the stream. */
static tfn_norm_args tfn__norm_args_of(const tfn_model_desc *d, tfn__spot at,
                                       const tfn_norm_rule *norm, int part, int32_t cols,
                                       bool folds)
{
    const bool reads_stream = part == TFN__PART_NORM_IN || part == TFN__PART_FINAL_NORM;
    tfn_norm_args n = tfn__plain_norm(norm->kind, tfn__eps_at(d, at, norm, part));
    if (!TFN__ALL) return n;
    if (reads_stream && tfn__centred(d)) n.kind = TFN_NORM_RMS;
    if (!tfn__norm_has(norm, TFN_FLAG_PLAIN)) {
        n.slope = (float)0.1;                            /* AdaNorm's k */
        n.factor = d->norm_factor;                       /* and C */
    }
    n.offset = tfn__norm_has(norm, TFN_FLAG_OFFSET) && !folds;
    n.detach_mean = tfn__norm_has(norm, TFN_FLAG_DETACH_MEAN);
    n.detach_std = tfn__norm_has(norm, TFN_FLAG_DETACH_STD);
    if (tfn__norm_has(norm, TFN_FLAG_BY_HEAD)) n.groups = d->heads;
    if (norm->part > 0) n.part = tfn__max((int32_t)(norm->part * (float)cols), 1);
    return n;
}

/* Norms that are not of rows come behind those in the list of kinds. */
static bool tfn__is_other_norm(const tfn_norm_rule *norm)
{
    return TFN__ALL && norm->kind > TFN_NORM_ABSMAX;
}

/* They learn more than gain and bias: a squash one alpha and perhaps a shift, SeeDNorm two vectors,
 * and norms over the batch keep running statistics. */
static tfn_var tfn__other_norm(tfn__builder *b, tfn__spot at, tfn_var x, int part, tfn_var gain,
                               tfn_var bias, const tfn_norm_rule *norm)
{
    const int32_t cols = tfn__need(b->t, "norm", x)->cols;
    tfn_var alpha;
    tfn_var shift = tfn__none;
    tfn_var direction;
    if (norm->kind == TFN_NORM_POINT) {
        alpha = tfn__weight_of(b, at, part, TFN__ALPHA, 1, 1, (float)0.5);
        if (tfn__norm_has(norm, TFN_FLAG_SHIFT))
            shift = tfn__weight_of(b, at, part, TFN__SHIFT, 1, 1, 0);
        return tfn_squash(b->t, x, gain, bias, alpha, shift, norm->squash);
    }
    if (norm->kind == TFN_NORM_SEED) {
        alpha = tfn__weight_of(b, at, part, TFN__ALPHA, 1, cols, 1);
        direction = tfn__weight_of(b, at, part, TFN__DIRECTION, 1, cols, 0);
        return tfn_seednorm(b->t, x, gain, alpha, direction, tfn__eps_of(b->d, norm));
    }
    return tfn__batch_norm_of(b, at, x, part, gain, bias, norm);
}

/* Gains start at 1, at 0 where the norm adds 1 to them; one less behind a branch that starts as
 * 0. */
static float tfn__gain_start(const tfn_model_desc *d, tfn__spot at, int part)
{
    float start = 1;
    if (!TFN__ALL) return start;
    if (tfn__norm_has(tfn__norm_rule_of(d, at), TFN_FLAG_OFFSET)) start = 0;
    if (part == TFN__PART_NORM_BRANCH && tfn_init_find(d->init)->zero_branch) start -= 1;
    return start;
}

/* The norm of each `cols` columns of x. Heads have norms of rows only: LayerNorm for the others.
 * Recorded in this order: gain, bias, what else it learns, the norm, the scalar of ScaleNorm. */
static tfn_var tfn__apply_norm_of(tfn__builder *b, tfn__spot at, tfn_var x, int part, int32_t cols)
{
    const bool whole = cols == tfn__need(b->t, "norm", x)->cols;
    const bool folds = whole && tfn__folds_norm(b->d, at, part);
    const tfn_norm_rule *norm = tfn__norm_rule_of(b->d, at);
    tfn_var gain = tfn__none;
    tfn_var bias = tfn__none;
    tfn_norm_args args;
    if (!whole && norm->kind > TFN_NORM_ABSMAX) norm = tfn__norms;
    if ((norm->flags & TFN_FLAG_GAIN) && !folds)
        gain = tfn__gain_at(b, at, part, cols, tfn__gain_start(b->d, at, part));
    if ((norm->flags & TFN_FLAG_BIAS) && !folds)
        bias = tfn__weight_of(b, at, part, TFN__BIAS, 1, cols, 0);
    if (tfn__is_other_norm(norm)) return tfn__other_norm(b, at, x, part, gain, bias, norm);

    args = tfn__norm_args_of(b->d, at, norm, part, cols, folds);
    x = tfn_norm(b->t, x, gain, bias, cols, &args);
    if (folds || !tfn__norm_has(norm, TFN_FLAG_SCALAR)) return x;
    gain = tfn__gain_at(b, at, part, 1, TFN__SQRT((float)cols));
    return tfn_scale(b->t, x, gain);
}

/* The norm of whole rows. */
static tfn_var tfn__apply_norm(tfn__builder *b, tfn__spot at, tfn_var x, int part)
{
    return tfn__apply_norm_of(b, at, x, part, tfn__need(b->t, "norm", x)->cols);
}

/* x/|x| of each `cols` columns, with |x| at least 1e-12 as PyTorch's normalize has it. */
static tfn_var tfn__unit_rows(tfn__builder *b, tfn_var x, int32_t cols)
{
    const tfn_norm_args l2 = tfn__plain_norm(TFN_NORM_L2, (float)1e-12);
    return tfn_norm(b->t, x, tfn__none, tfn__none, cols, &l2);
}

/* -- the join: what a topology's row says ----------------------------------------------------- */

/* What flows through the layers of a stack. It is the one thing that sub-layers change: each takes
 * it as the one before left it. */
typedef struct tfn__flow {
    tfn_var x;                           /* the residual stream */
    tfn_var x0;                          /* what this layer began with */
    tfn_var first;                       /* u of this layer's first sub-layer */
    tfn_var side;                        /* ResiDual's second stream, or none */
} tfn__flow;

/* The value of a learned scale: what is stored, times its unit. An optimizer that moves a weight by
 * the learning rate moves the value by as many units (nGPT, section 2.5). */
static tfn_var tfn__scale_weight(tfn__builder *b, tfn__spot at, const tfn_scale_rule *s, int part,
                                 int kind, int32_t cols)
{
    const float start = tfn__rule_value(b->d, s, at);
    const float unit = tfn__unit_of(s);
    const tfn_var stored = tfn__weight_of(b, at, part, kind, 1, cols, start / unit);
    return tfn__multiple(b->t, stored, unit);
}

/* The learned factor of a scale, or none. */
static tfn_var tfn__scale_factor(tfn__builder *b, tfn__spot at, const tfn_scale_rule *s, int part,
                                 int32_t cols)
{
    if (tfn__is_refused_scale(s)) return tfn__none;
    switch (s->kind) {
    case TFN_SCALE_LEARNED:
        return tfn__scale_weight(b, at, s, part, TFN__GAIN, 1);
    case TFN_SCALE_SHARED:
        return tfn__scale_weight(b, tfn__layer_of(at), s, part, TFN__GAIN, 1);
    case TFN_SCALE_VECTOR:
    case TFN_SCALE_PROFILED:
        return tfn__scale_weight(b, at, s, part, TFN__GAIN, cols);
    case TFN_SCALE_FOLDED:
        return tfn__scale_weight(b, at, s, part, TFN__FOLDED_SCALE, cols);
    default:
        return tfn__none;
    }
}

/* x times a scale of the join. Constants go into the sum that follows, in *constant. */
static tfn_var tfn__apply_scale(tfn__builder *b, tfn__spot at, tfn_var x, const tfn_scale_rule *s,
                                int part, float *constant)
{
    const int32_t cols = tfn__need(b->t, "scale", x)->cols;
    tfn_var factor;
    *constant = 1;
    if (s->kind == TFN_SCALE_CONSTANT) *constant = tfn__rule_value(b->d, s, at);
    if (tfn__is_scheduled(s)) return tfn__ramp(b->t, x, tfn__updates_of(b), s->value);
    factor = tfn__scale_factor(b, at, s, part, cols);
    if (!factor.id) return x;
    return tfn_scale(b->t, x, factor);
}

/* The gate of GPAS: x - SiLU(q) sg(x), sg without gradient, one learned q a layer. */
static tfn_var tfn__apply_gate(tfn__builder *b, tfn__spot at, tfn_var x)
{
    const tfn__spot layer = tfn__layer_of(at);
    return tfn_gate(b->t, x, tfn__gain_at(b, layer, TFN__PART_GATE, 1, 0));
}

static tfn_var tfn__attention_branch(tfn__builder *b, tfn__spot at, const tfn_join *join,
                                     tfn_var u);
static tfn_var tfn__ffn_branch(tfn__builder *b, tfn__spot at, const tfn_join *join, tfn_var u);

/* What the branch begins with. */
static tfn_var tfn__read_source(tfn__builder *b, const tfn_join *join, const tfn__flow *flow)
{
    const tfn_source source = tfn__source_of(join);
    if (source == TFN_SOURCE_LAYER) return flow->x0;
    if (source != TFN_SOURCE_FIRST) return flow->x;
    if (!flow->first.id)
        return tfn__tape_error(b->t, TFN_BAD_OPTION, "model", "the first sub-layer of a layer "
                               "cannot read what the first one read", 0, 0);
    return flow->first;
}

/* u = in * N_in(source) - s, which F reads; *normed is N_in(source). */
static tfn_var tfn__branch_input(tfn__builder *b, tfn__spot at, const tfn_join *join,
                                 tfn__flow *flow, tfn_var *normed)
{
    tfn_var u = tfn__read_source(b, join, flow);
    float in;
    if (join->norm_in) u = tfn__apply_norm(b, at, u, TFN__PART_NORM_IN);
    *normed = u;
    if (!flow->first.id) flow->first = u;
    if (tfn__folds_input(b->d, at)) return u;
    u = tfn__apply_scale(b, at, u, &join->in, TFN__PART_IN, &in);
    u = tfn__multiple(b->t, u, in);
    if (!tfn__shifts(join)) return u;
    return tfn_shift(b->t, u, tfn__gain_at(b, at, TFN__PART_SHIFT_IN, 1, 0), -1);
}

/* nGPT: x + |out| (p - x) with x and p of length 1 (Loshchilov 2024, eq. 10 and 11); the learned
 * rate's magnitude as its authors' code takes it. A rate that is not learned is a number. */
static tfn_var tfn__interpolate(tfn__builder *b, tfn__spot at, const tfn_join *join, tfn_var x,
                                tfn_var p)
{
    const int32_t cols = tfn__need(b->t, "scale", x)->cols;
    float constant = 1;
    tfn_var rate;
    x = tfn__unit_rows(b, x, cols);
    p = tfn_add(b->t, p, x, 1, -1);
    rate = tfn__scale_factor(b, at, &join->out, TFN__PART_OUT, cols);
    if (rate.id) {
        rate = tfn__magnitude(b->t, rate);
        p = tfn_scale(b->t, p, rate);
    } else {
        p = tfn__apply_scale(b, at, p, &join->out, TFN__PART_OUT, &constant);
    }
    return tfn_add(b->t, x, p, 1, constant);
}

/* skip * x + out * p. Constants are numbers of the sum, no operation of their own; learned scales
 * are. ResiDual's second stream y = side_scale (x_0 + sum of all p) gets the scaled branch, too. */
static tfn_var tfn__join_sum(tfn__builder *b, tfn__spot at, const tfn_join *join, tfn__flow *flow,
                             tfn_var x, tfn_var p)
{
    float keep = 1;
    float out = 1;
    if (tfn__gates(join) && join->norm_sum) x = tfn__apply_gate(b, at, x);
    if (tfn__interpolates(join)) return tfn__interpolate(b, at, join, x, p);
    if (!tfn__folds_out(b->d, at)) p = tfn__apply_scale(b, at, p, &join->out, TFN__PART_OUT, &out);
    if (flow->side.id) {
        const float scale = tfn__orf(tfn__row(b->d, at)->side_scale, 1);
        flow->side = tfn_add(b->t, flow->side, p, 1, out * scale);
    }
    tfn__probe_profile(b, at, join->skip.kind, x, p);
    if (!tfn__folds_skip(b->d, at) && !tfn__folds_profile(b->d, at))
        x = tfn__apply_scale(b, at, x, &join->skip, TFN__PART_SKIP, &keep);
    return tfn_add(b->t, x, p, keep, out);
}

/* N_sum(z + extra * x_0), or N_sum(z) + extra * x_0, with the gate on z where no norm follows. */
static tfn_var tfn__finish_sum(tfn__builder *b, tfn__spot at, const tfn_join *join, tfn_var z,
                               tfn_var x0)
{
    const bool extra = join->extra.kind != TFN_SCALE_NONE;
    const bool last = tfn__has_last_extra(join);
    float scale = 1;
    if (extra) x0 = tfn__apply_scale(b, at, x0, &join->extra, TFN__PART_EXTRA, &scale);
    if (extra && !last) z = tfn_add(b->t, z, x0, 1, scale);
    if (tfn__gates(join) && !join->norm_sum) z = tfn__apply_gate(b, at, z);
    tfn__point_at(b, at, TFN_WATCH_SUM, z);
    if (join->norm_sum) z = tfn__apply_norm(b, at, z, TFN__PART_NORM);
    if (extra && last) z = tfn_add(b->t, z, x0, 1, scale);
    return z;
}

/* What the skip passes on. */
static tfn_var tfn__skip_of(const tfn_join *join, const tfn__flow *flow, tfn_var normed)
{
    if (join->skip_from == TFN_SOURCE_NORMED) return normed;
    if (join->skip_from == TFN_SOURCE_LAYER) return flow->x0;
    return flow->x;
}

/* One sub-layer: the join at the head of this section, from left to right. The points that can be
 * watched stand between its steps. */
static void tfn__apply_sublayer(tfn__builder *b, tfn__spot at, tfn__flow *flow)
{
    const tfn_join join = tfn__join_at(b->d, at);
    tfn_var normed;
    tfn_var p;
    tfn_var z;
    if (tfn__is_refused(&join)) {
        tfn__tape_error(b->t, TFN_UNSUPPORTED, "model", tfn__plain_only, 0, 0);
        return;
    }
    tfn__point_at(b, at, TFN_WATCH_INPUT, flow->x);
    p = tfn__branch_input(b, at, &join, flow, &normed);
    tfn__point_at(b, at, TFN_WATCH_READ, p);

    if (tfn__in_ffn(at)) p = tfn__ffn_branch(b, at, &join, p);
    else p = tfn__attention_branch(b, at, &join, p);
    if (join.norm_branch) p = tfn__apply_norm(b, at, p, TFN__PART_NORM_BRANCH);
    p = tfn_dropout(b->t, p, b->d->dropout);
    tfn__point_at(b, at, TFN_WATCH_BRANCH, p);

    z = tfn__join_sum(b, at, &join, flow, tfn__skip_of(&join, flow, normed), p);
    z = tfn__finish_sum(b, at, &join, z, flow->x0);
    flow->x = tfn__point_at(b, at, TFN_WATCH_OUTPUT, z);
}

/* -- branches --------------------------------------------------------------------------------- */

/* Keys and values of the memory in a cache: the first caches of the state, one a layer. */
static tfn_var tfn__memory_cache(tfn__builder *b, tfn_var k, tfn_var v)
{
    const tfn_model_desc *d = b->d;
    const int32_t cols = d->width / d->heads * d->kv_heads;
    if (!k.id) return tfn__cache_memory(b->t, cols, d->kv_heads, d->source_context);
    return tfn__cache_encoded(b->t, k, v, cols, d->kv_heads, d->source_context);
}

/* nGPT's vector s of queries and keys, which they share: stored as s/sqrt(C) of the size of a
 * weight; queries times D besides, for scores of sqrt(D) q k (section 2.3.2). */
static tfn_var tfn__unit_qk(tfn__builder *b, tfn__spot at, tfn_var x, bool query)
{
    const float root = TFN__SQRT((float)b->d->width);
    const int32_t cols = tfn__need(b->t, "attention", x)->cols;
    tfn_var s = tfn__gain_at(b, at, TFN__PART_QK_SCALE, cols, 1 / root);
    if (query) s = tfn__multiple(b->t, s, root * (float)(b->d->width / b->d->heads));
    else s = tfn__multiple(b->t, s, root);
    return tfn_scale(b->t, x, s);
}

/* Queries of length 1 times the temperature, and times sqrt(D), by which the attention divides.
 * L2 (Henry 2020): a learned scalar that starts at log2(T^2 - T), T about the longest sentence.
 * COSINE (Swin v2): exp(min(tau, ln 100)) a head, tau starts at ln 10. */
static tfn_var tfn__scale_queries(tfn__builder *b, tfn__spot at, tfn_var q, tfn_qk_norm form)
{
    const float root = TFN__SQRT((float)(b->d->width / b->d->heads));
    const double ln2 = 0.693147180559945309;
    const float ln10 = (float)2.30258509299404568;
    tfn_var by;
    if (form == TFN_QK_NORM_L2) {
        const double t = (double)tfn__max(b->d->context, 2);
        by = tfn__gain_at(b, at, TFN__PART_QK_SCALE, 1, (float)(tfn__log(t * (t - 1)) / ln2));
    } else {
        by = tfn__gain_at(b, at, TFN__PART_QK_SCALE, b->d->heads, ln10);
        by = tfn__exp_capped_of(b->t, by);
    }
    return tfn_scale(b->t, q, tfn__multiple(b->t, by, root));
}

/* The norm of queries (part Q_NORM) or keys: the model's own norm of each head or of all heads side
 * by side (OLMo 2), or length 1: then nGPT scales both, and the others have a learned temperature
 * that queries alone get, so that it is in the product once. */
static tfn_var tfn__apply_qk_norm(tfn__builder *b, tfn__spot at, tfn_var x, int part,
                                  tfn_qk_norm form)
{
    const int32_t size = b->d->width / b->d->heads;
    const bool query = part == TFN__PART_Q_NORM;
    switch (form) {
    case TFN_QK_NORM_HEAD:
    case TFN_QK_NORM_QKV_HEAD:
        return tfn__apply_norm_of(b, at, x, part, size);
    case TFN_QK_NORM_FULL:
        return tfn__apply_norm(b, at, x, part);
    case TFN_QK_NORM_UNIT:
        x = tfn__unit_rows(b, x, size);
        return tfn__unit_qk(b, at, x, query);
    case TFN_QK_NORM_L2:
    case TFN_QK_NORM_COSINE:
        x = tfn__unit_rows(b, x, size);
        if (!query) return x;
        return tfn__scale_queries(b, at, x, form);
    default:
        return x;
    }
}

/* Queries (B*T, C) or keys (B*T, C/H * kv_heads): projected, normalized, rotated. nGPT normalizes
 * after the rotation. */
static tfn_var tfn__project(tfn__builder *b, tfn__spot at, tfn_var u, bool query, bool rotate)
{
    const tfn_model_desc *d = b->d;
    const tfn_qk_norm form = tfn__qk_form(d, at);
    const int32_t size = d->width / d->heads;
    int32_t out = size * d->kv_heads;
    int part = TFN__PART_K;
    int norm = TFN__PART_K_NORM;
    tfn_var x;
    if (query) {
        out = d->width;
        part = TFN__PART_Q;
        norm = TFN__PART_Q_NORM;
    }
    x = tfn__apply_linear(b, at, u, part, tfn__stream(d), out, TFN_ACTIVATION_IDENTITY);
    if (form != TFN_QK_NORM_UNIT) x = tfn__apply_qk_norm(b, at, x, norm, form);
    if (rotate && d->position == TFN_POSITION_ROTARY) x = tfn_rotary(b->t, x, b->table, size);
    if (form == TFN_QK_NORM_UNIT) x = tfn__apply_qk_norm(b, at, x, norm, form);
    return x;
}

/* Values (B*T, C/H * kv_heads): projected, by one form normalized. */
static tfn_var tfn__project_values(tfn__builder *b, tfn__spot at, tfn_var u)
{
    const tfn_model_desc *d = b->d;
    const int32_t size = d->width / d->heads;
    tfn_var x = tfn__apply_linear(b, at, u, TFN__PART_V, tfn__stream(d), size * d->kv_heads,
                                  TFN_ACTIVATION_IDENTITY);
    if (tfn__qk_form(d, at) != TFN_QK_NORM_QKV_HEAD) return x;
    return tfn__apply_norm_of(b, at, x, TFN__PART_V_NORM, size);
}

/* What a layer of the decoder sees of the encoder: its output, or a mean of its embedding and its
 * layers with learned weights, normed as the output is (Bapna 2018). */
static tfn_var tfn__memory_of(tfn__builder *b, tfn__spot at)
{
    const tfn__spot encoder = tfn__spot_of_stack(TFN__IN_ENCODER);
    const tfn__spot layer = tfn__layer_of(at);
    const int32_t count = b->d->layers + 1;
    int32_t k = 0;
    tfn_var weights;
    tfn_var mean = tfn__none;
    if (!tfn__has(b->d, encoder, TFN_TOPOLOGY_TRANSPARENT)) return b->memory;
    weights = tfn__gain_at(b, layer, TFN__PART_MEMORY_MIX, count, 0);
    if (!b->d->folded) weights = tfn_softmax(b->t, weights);
    for (int32_t i = b->encoder_first; i < b->encoder_last; i++) {
        tfn_var y;
        if (k == count) break;
        if (!(b->t->nodes[i].flags & TFN__LAYER)) continue;
        y.id = i;
        mean = tfn_mix(b->t, mean, y, weights, k);
        k++;
    }
    if (!tfn__has(b->d, encoder, TFN_TOPOLOGY_FINAL_NORM)) return mean;
    return tfn__apply_norm(b, encoder, mean, TFN__PART_FINAL_NORM);
}

/* softmax(q k^T / sqrt(D)) v for each head, of u with itself or with the memory, by the lengths of
 * the sentences that k and v come from. In decoding keys and values of the past are in a cache:
 * those of the memory since decoding began, the others are appended by this step. */
static tfn_var tfn__attend(tfn__builder *b, tfn__spot at, tfn_var q, tfn_var u)
{
    const tfn_model_desc *d = b->d;
    const int32_t kv_cols = d->width / d->heads * d->kv_heads;
    const bool self = at.sub == TFN_SUBLAYER_SELF_ATTENTION;
    const bool causal = self && tfn__in_decoder(at);
    int32_t lengths = TFN_INT_SOURCE_LENGTHS;
    tfn_var cache;
    tfn_var k;
    tfn_var v;
    if (self && !tfn__reads_source(d, at)) lengths = TFN_INT_LENGTHS;
    if (b->decode && !self) {
        cache.id = b->memory.id + at.layer;             /* filled when decoding began */
        return tfn__attend_cached(b->t, q, cache, d->heads, lengths);
    }
    if (!self) u = tfn__memory_of(b, at);
    k = tfn__project(b, at, u, false, self);
    v = tfn__project_values(b, at, u);
    if (b->decode && causal) {
        cache = tfn__cache_rows(b->t, k, v, kv_cols, d->kv_heads, d->context);
        return tfn__attend_cached(b->t, q, cache, d->heads, -1);
    }
    return tfn_attention(b->t, q, k, v, d->heads, d->kv_heads, causal, lengths,
                         d->attention_dropout);
}

/* Scores s of an attention become c tanh(s/c), c > 0 (Gemma 2); the node has c as its second
 * number. */
static void tfn__cap_scores(tfn__builder *b, tfn_var y)
{
    if (y.id) b->t->nodes[y.id].number[1] = b->d->attention_cap;
}

/* A learned scale for each head: of blocks of columns. */
static tfn_var tfn__scale_heads(tfn__builder *b, tfn__spot at, tfn_var x)
{
    return tfn_scale(b->t, x, tfn__gain_at(b, at, TFN__PART_HEAD_SCALE, b->d->heads, 1));
}

/* F(u) = N(h y) W_O, y the heads' values; scales and norm where the join has them. */
static tfn_var tfn__attention_branch(tfn__builder *b, tfn__spot at, const tfn_join *join,
                                     tfn_var u)
{
    const tfn_model_desc *d = b->d;
    const tfn_var q = tfn__project(b, at, u, true, at.sub == TFN_SUBLAYER_SELF_ATTENTION);
    tfn_var y = tfn__attend(b, at, q, u);
    tfn__cap_scores(b, y);
    if (tfn__has_head_scale(join, TFN_HEAD_SCALE_BEFORE) && !tfn__folds_head_scale(d, at))
        y = tfn__scale_heads(b, at, y);
    if (tfn__has_inner_norm(join)) y = tfn__apply_norm(b, at, y, TFN__PART_NORM_O);
    y = tfn__apply_linear(b, at, y, TFN__PART_O, d->width, tfn__stream(d), TFN_ACTIVATION_IDENTITY);
    if (tfn__has_head_scale(join, TFN_HEAD_SCALE_AFTER) && !d->folded)
        y = tfn__scale_heads(b, at, y);
    return y;
}

/* The hidden units act(u W) of W_1 or W_3, (B*T, F). nGPT scales them by a learned vector times
 * sqrt(C) before their function, Fixup shifts those of W_1: `plain` ones can be fused. */
static tfn_var tfn__hidden(tfn__builder *b, tfn__spot at, const tfn_join *join, tfn_var u,
                           int part, tfn_activation_kind act)
{
    const tfn_model_desc *d = b->d;
    const bool first = part == TFN__PART_W1;
    const bool scaled = tfn__scales_hidden(join);
    const bool shifted = tfn__shifts(join) && first && !tfn__folds_shift_1(d, at);
    const bool plain = !scaled && !shifted;
    tfn_var h;
    if (plain) return tfn__apply_linear(b, at, u, part, tfn__stream(d), d->ffn, act);
    h = tfn__apply_linear(b, at, u, part, tfn__stream(d), d->ffn, TFN_ACTIVATION_IDENTITY);
    if (scaled) {
        const int scale = first ? TFN__PART_SCALE_1 : TFN__PART_SCALE_3;
        const tfn_var by = tfn__gain_at(b, at, scale, d->ffn, 1);
        h = tfn_scale(b->t, h, tfn__multiple(b->t, by, TFN__SQRT((float)d->width)));
    }
    if (shifted) h = tfn_shift(b->t, h, tfn__gain_at(b, at, TFN__PART_SHIFT_1, 1, 0), -1);
    if (act == TFN_ACTIVATION_IDENTITY) return h;
    return tfn_activation(b->t, h, act);
}

/* f(u W_1) * (u W_3), f = GELU or SiLU (GEGLU, SwiGLU: Shazeer 2020). The gate is recorded before
 * the other factor. */
static tfn_var tfn__gated_hidden(tfn__builder *b, tfn__spot at, const tfn_join *join, tfn_var u)
{
    const bool gelu = b->d->activation == TFN_ACTIVATION_GEGLU;
    const tfn_var gate = tfn__hidden(b, at, join, u, TFN__PART_W1, TFN_ACTIVATION_IDENTITY);
    const tfn_var up = tfn__hidden(b, at, join, u, TFN__PART_W3, TFN_ACTIVATION_IDENTITY);
    return tfn_glu(b->t, gate, up, gelu ? TFN_ACTIVATION_GELU : TFN_ACTIVATION_SILU);
}

/* F(u) = (Drop(h) - s) W_2, h the hidden units (B*T, F): with the inner norm between, and Fixup's
 * shift s. */
static tfn_var tfn__ffn_branch(tfn__builder *b, tfn__spot at, const tfn_join *join, tfn_var u)
{
    const tfn_model_desc *d = b->d;
    tfn_var h;
    if (d->activation == TFN_ACTIVATION_GEGLU || d->activation == TFN_ACTIVATION_SWIGLU)
        h = tfn__gated_hidden(b, at, join, u);
    else
        h = tfn__hidden(b, at, join, u, TFN__PART_W1, d->activation);
    h = tfn_dropout(b->t, h, d->activation_dropout);
    if (tfn__has_inner_norm(join)) h = tfn__apply_norm(b, at, h, TFN__PART_NORM_2);
    if (tfn__shifts(join) && !d->folded)
        h = tfn_shift(b->t, h, tfn__gain_at(b, at, TFN__PART_SHIFT_2, 1, 0), -1);
    return tfn__apply_linear(b, at, h, TFN__PART_W2, d->ffn, tfn__stream(d),
                             TFN_ACTIVATION_IDENTITY);
}

/* -- embeddings: from ids or frames to x_0 ---------------------------------------------------- */

/* The embedding (V, C) of this stack's tokens: one for all stacks, or the source's own. The shared
 * one is recorded by the first that reads it, and the output may be tied to it. */
static tfn_var tfn__embedding_of(tfn__builder *b, tfn__spot at)
{
    const tfn_model_desc *d = b->d;
    const bool own = d->separate_source && tfn__reads_source(d, at);
    const int32_t width = tfn__stream(d);
    tfn_var e;
    if (!own && b->embedding.id) return b->embedding;
    if (!own) at = tfn__spot_of_model();
    e = tfn__weight_of(b, at, TFN__PART_EMBEDDING, TFN__MATRIX, d->vocab, width, 0);
    if (tfn__unit_table(d, own) && !d->folded) e = tfn__unit_rows(b, e, width);
    if (!own) b->embedding = e;
    return e;
}

/* Adaptive softmax (Grave 2017; Baevski & Auli 2019): cluster k has vectors of width C/4^k, and a
 * map (width, C). The first has rows for the other clusters, too, behind those of its words. */
static tfn_var tfn__cluster_of(tfn__builder *b, int32_t k, bool output, tfn_var *project)
{
    const tfn_model_desc *d = b->d;
    const int32_t width = d->width >> 2*k;
    tfn__spot at = tfn__spot_of_model();
    int32_t count = tfn__cluster_at(d, k + 1) - tfn__cluster_at(d, k);
    tfn_var words;
    if (k == 0) count += tfn__clusters(d) - 1;
    if (output && d->untied) at = tfn__spot_of_stack(TFN__IN_DECODER);
    words = tfn__weight_of(b, at, TFN__PART_CLUSTER_0 + k, TFN__MATRIX, count, width, 0);
    *project = tfn__weight_of(b, at, TFN__PART_PROJECT_0 + k, TFN__MATRIX, width, tfn__stream(d),
                              0);
    return words;
}

/* Look each word up in its cluster's table and project it to the width; in the other clusters a
 * word is no word and gives 0, so that the sum is over all clusters. */
static tfn_var tfn__embed_clusters(tfn__builder *b, tfn_rows rows, float scale)
{
    tfn_var sum = tfn__none;
    for (int32_t k = 0; k < tfn__clusters(b->d); k++) {
        tfn_var project;
        tfn_var x = tfn__cluster_of(b, k, false, &project);
        x = tfn_embedding(b->t, x, TFN_INT_CLUSTERS + k, rows, scale);
        x = tfn_linear(b->t, x, project, tfn__none, TFN_ACTIVATION_IDENTITY);
        if (k == 0) sum = x;
        else sum = tfn_add(b->t, sum, x, 1, 1);
    }
    return sum;
}

enum { TFN__FRAMES };       /* the slot of the float input that every model of frames binds */

/* Frames to positions: two convolutions of kernel 3, each with a ReLU, as speech recognizers have
 * (ESPnet, Karita 2019; fairseq's have kernel 5 and GLU). */
static tfn_var tfn__subsample(tfn__builder *b, tfn__spot at)
{
    static const int parts[] = { TFN__PART_CONV_1, TFN__PART_CONV_2 };
    const tfn_model_desc *d = b->d;
    const int32_t out = tfn__stream(d);
    int32_t in = d->bands;
    tfn_var x = tfn_input(b->t, TFN__FRAMES, TFN_ROWS_FRAMES, d->bands);
    for (int i = 0; i < 2; i++) {
        tfn_var w = tfn__weight_of(b, at, parts[i], TFN__MATRIX, 3 * in, out, 0);
        tfn_var bias = tfn__none;
        if (!d->no_bias) bias = tfn__weight_of(b, at, parts[i], TFN__BIAS, 1, out, 0);
        w = tfn__read_matrix(b, at, w, parts[i], 3 * in, out);
        x = tfn_convolution(b->t, x, w, bias);
        x = tfn_activation(b->t, x, TFN_ACTIVATION_RELU);
        in = out;
    }
    return x;
}

/* s*E[token], from the one table, from clusters of words, or what frames give. */
static tfn_var tfn__embed_tokens(tfn__builder *b, tfn__spot at, float scale)
{
    const bool source = tfn__reads_source(b->d, at);
    tfn_rows rows = TFN_ROWS_TARGET;
    int32_t slot = TFN_INT_TOKENS;
    if (source) {
        rows = TFN_ROWS_SOURCE;
        slot = TFN_INT_SOURCE;
    }
    if (tfn__has_frames(b->d) && source)
        return tfn__multiple(b->t, tfn__subsample(b, at), scale);
    if (tfn__clusters(b->d)) return tfn__embed_clusters(b, rows, scale);
    return tfn_embedding(b->t, tfn__embedding_of(b, at), slot, rows, scale);
}

/* x + P[position], P learned or the model's sinusoids. */
static tfn_var tfn__add_positions(tfn__builder *b, tfn__spot at, tfn_var x)
{
    const tfn_model_desc *d = b->d;
    int32_t positions = d->context;
    tfn_var table = b->table;
    if (d->position == TFN_POSITION_NONE || d->position == TFN_POSITION_ROTARY) return x;
    if (tfn__reads_source(d, at)) positions = d->source_context;
    if (d->position == TFN_POSITION_LEARNED)
        table = tfn__weight_of(b, at, TFN__PART_POSITION, TFN__MATRIX, positions, tfn__stream(d),
                               0);
    return tfn_position(b->t, x, table);
}

/* x + S[segment]; only an encoder alone has segments. */
static tfn_var tfn__add_segments(tfn__builder *b, tfn__spot at, tfn_var x)
{
    const int32_t width = tfn__stream(b->d);
    tfn_var s;
    if (!b->d->segments) return x;
    s = tfn__weight_of(b, at, TFN__PART_SEGMENT, TFN__MATRIX, b->d->segments, width, 0);
    s = tfn_embedding(b->t, s, TFN_INT_SEGMENTS, TFN_ROWS_TARGET, 1);
    return tfn_add(b->t, x, s, 1, 1);
}

/* x_0 = Drop(N(s*E[token] + P[position] + S[segment])), s = sqrt(C) where it is wanted */
static tfn_var tfn__embed_stack(tfn__builder *b, tfn__spot at)
{
    const tfn_model_desc *d = b->d;
    const float root = TFN__SQRT((float)d->width);
    float scale = 1;
    tfn_var x;
    if (d->scale_embedding || tfn__has(d, at, TFN_TOPOLOGY_FIXNORM)) scale = root;
    x = tfn__embed_tokens(b, at, scale);
    x = tfn__add_positions(b, at, x);
    x = tfn__add_segments(b, at, x);
    if (tfn__has(d, at, TFN_TOPOLOGY_EMBEDDING_SCALE))
        x = tfn_scale(b->t, x, tfn__gain_at(b, at, TFN__PART_EMBEDDING_SCALE, 1, root));
    if (tfn__has_plain(d, at, TFN_TOPOLOGY_EMBEDDING_NORM))
        x = tfn__apply_norm(b, at, x, TFN__PART_EMBEDDING_NORM);
    return tfn_dropout(b->t, x, d->dropout);
}

/* -- stacks ----------------------------------------------------------------------------------- */

/* y_l, l from 0 for the embedding, remembered by its node for those who mix layers. */
static tfn_var tfn__push_layer(tfn__builder *b, tfn__spot at, tfn_var y)
{
    const tfn_aggregate how = tfn__aggregate_of(b->d, at);
    if (how == TFN_AGGREGATE_NORMED && at.layer >= 0)
        y = tfn__apply_norm(b, at, y, TFN__PART_NORM_OUT);
    if (y.id) b->t->nodes[y.id].flags |= TFN__LAYER;
    return y;
}

/* The weights (groups, outputs) with which `count` outputs are mixed; the first *skipped are
 * outside of a softmax's window. */
static tfn_var tfn__mix_weights(tfn__builder *b, tfn__spot at, int32_t count, int32_t *skipped)
{
    const tfn_mix_rule *rule = &tfn__row(b->d, at)->mix;
    int32_t groups = (int32_t)tfn__max(rule->groups, 1);
    int32_t inside = count;
    float start = 1;
    tfn_var w;
    if (rule->channels) groups = tfn__stream(b->d);
    if (rule->window > 0 && rule->window < count) inside = rule->window;
    if (!rule->ones) start = 1 / (float)inside;
    *skipped = 0;
    if (rule->softmax) *skipped = count - inside;
    w = tfn__weight_of(b, at, TFN__PART_MIX, TFN__GAIN, groups, count - *skipped, start);
    if (!rule->softmax || b->d->folded) return w;
    return tfn_softmax(b->t, w);
}

/* sum of w_k y_k over the marked nodes from `first` on, but the first `skipped`; w none: all 1. */
static tfn_var tfn__mix_layers(tfn__builder *b, tfn_var w, int32_t first, int32_t count,
                               int32_t skipped)
{
    int32_t seen = 0;
    tfn_var sum = tfn__none;
    for (int32_t i = first; i < b->t->count; i++) {
        const int32_t k = seen - skipped;
        tfn_var y;
        if (seen == count) break;
        if (!(b->t->nodes[i].flags & TFN__LAYER)) continue;
        seen++;
        y.id = i;
        if (k < 0) continue;
        if (w.id) sum = tfn_mix(b->t, sum, y, w, k);
        else if (k == 0) sum = y;
        else sum = tfn_add(b->t, sum, y, 1, 1);
    }
    return sum;
}

/* The input of what follows `at`, a layer or the embedding, from the outputs of all before it:
 * the marked nodes from `first` on. Its weights belong to the layer that reads it, its norm to the
 * layer of `at`; the last layer's reader is the stack itself. */
static tfn_var tfn__aggregate(tfn__builder *b, tfn__spot at, tfn__spot reader, tfn_var x,
                              int32_t first)
{
    const tfn_aggregate how = tfn__aggregate_of(b->d, at);
    const int32_t count = at.layer + 2;                      /* with the embedding */
    int32_t skipped = 0;
    tfn_var w = tfn__none;
    if (how == TFN_AGGREGATE_NONE) return x;
    if (at.layer < 0 && how > TFN_AGGREGATE_NORM) return x;
    if (how != TFN_AGGREGATE_DENSE) w = tfn__mix_weights(b, reader, count, &skipped);
    x = tfn__mix_layers(b, w, first, count, skipped);
    if (at.layer < 0) return x;
    if (how == TFN_AGGREGATE_NORM || how == TFN_AGGREGATE_DENSE)
        x = tfn__apply_norm(b, at, x, TFN__PART_NORM_OUT);
    return x;
}

/* One layer: its sub-layers, one after the other on the stream. */
static tfn_var tfn__apply_layer(tfn__builder *b, tfn__spot at, tfn__flow *flow)
{
    const tfn__subs subs = tfn__subs_of(b->d, at);
    flow->x0 = flow->x;
    flow->first = tfn__none;
    for (int i = 0; i < subs.count; i++)
        tfn__apply_sublayer(b, tfn__sublayer_at(at, subs.kind[i]), flow);
    return flow->x;
}

/* After the last layer: Fixup's shift (and scale), the second stream, the final norm. A transparent
 * encoder has its final norm in tfn__memory_of. */
static tfn_var tfn__finish_stack(tfn__builder *b, tfn__spot at, const tfn__flow *flow)
{
    const tfn_model_desc *d = b->d;
    tfn_var x = flow->x;
    if (tfn__has(d, at, TFN_TOPOLOGY_EDGE_SHIFTS)) {
        x = tfn_shift(b->t, x, tfn__gain_at(b, at, TFN__PART_FINAL_SHIFT, 1, 0), -1);
        if (at.stack == TFN__IN_ENCODER)
            x = tfn_scale(b->t, x, tfn__gain_at(b, at, TFN__PART_FINAL_SCALE, 1, 1));
    }
    if (flow->side.id) {
        const tfn_var side = tfn__apply_norm(b, at, flow->side, TFN__PART_FINAL_NORM);
        return tfn_add(b->t, x, side, tfn__orf(tfn__row(d, at)->side_weight, 1), 1);
    }
    if (tfn__reads_source(d, at) && tfn__has(d, at, TFN_TOPOLOGY_TRANSPARENT)) return x;
    if (!tfn__has_plain(d, at, TFN_TOPOLOGY_FINAL_NORM)) return x;
    return tfn__apply_norm(b, at, x, TFN__PART_FINAL_NORM);
}

/* A stack, from its ids to its output (B*T, C): embedding, layers, end. The tape is told the layer,
 * which errors name. With desc.recompute each layer is a segment whose values the backward computes
 * again, numbered from 1 through both stacks. */
static tfn_var tfn__build_stack(tfn__builder *b, int stack)
{
    const tfn_model_desc *d = b->d;
    const tfn__spot at = tfn__spot_of_stack(stack);
    const int32_t depth = tfn__depth(d, tfn__in_decoder(at));
    const int32_t first = b->t->count;
    int32_t segment = 1;
    tfn__spot before = at;
    tfn__flow flow;
    tfn_var x = tfn__point_at(b, at, TFN_WATCH_EMBEDDING, tfn__embed_stack(b, at));
    flow.x = tfn__push_layer(b, at, x);
    flow.side = tfn__none;
    if (tfn__has(d, at, TFN_TOPOLOGY_SIDE_STREAM))
        flow.side = tfn__multiple(b->t, flow.x, tfn__orf(tfn__row(d, at)->side_scale, 1));
    if (tfn__in_decoder(at)) segment += d->layers;

    for (int32_t l = 0; l < depth; l++) {
        const tfn__spot layer = tfn__spot_of_layer(stack, l);
        flow.x = tfn__aggregate(b, before, layer, flow.x, first);
        b->t->layer = l;
        if (d->recompute) tfn_recompute(b->t, segment + l);
        flow.x = tfn__push_layer(b, layer, tfn__apply_layer(b, layer, &flow));
        before = layer;
    }
    tfn_recompute(b->t, 0);
    flow.x = tfn__aggregate(b, before, at, flow.x, first);
    b->t->layer = -1;
    if (stack == TFN__IN_ENCODER) {
        b->encoder_first = first;
        b->encoder_last = b->t->count;
    }
    x = tfn__finish_stack(b, at, &flow);
    return tfn__point_at(b, at, TFN_WATCH_STACK, x);
}

/* The one table a model has: sinusoids (T, C) or rotations (T, D). */
static void tfn__build_table(tfn__builder *b)
{
    const tfn_model_desc *d = b->d;
    int32_t cols = tfn__stream(d);
    b->table = tfn__none;
    if (d->position == TFN_POSITION_LEARNED || d->position == TFN_POSITION_NONE) return;
    if (d->position == TFN_POSITION_ROTARY) cols = d->width / d->heads;
    b->table = tfn__table(b->t, (int32_t)tfn__max(d->context, d->source_context), cols);
}

/* -- the end: logits and the loss ------------------------------------------------------------- */

/* Classes of a sentence from its first position, as BERT has it: tanh(x W_p) W_c, (B, classes). */
static tfn_var tfn__classify(tfn__builder *b, tfn_var x)
{
    const tfn_model_desc *d = b->d;
    const tfn__spot at = tfn__spot_of_model();
    x = tfn_first_rows(b->t, x);
    x = tfn__apply_linear(b, at, x, TFN__PART_POOLER, tfn__stream(d), d->width,
                          TFN_ACTIVATION_TANH);
    return tfn__apply_linear(b, at, x, TFN__PART_CLASSIFIER, d->width, d->classes,
                             TFN_ACTIVATION_IDENTITY);
}

/* Logits of head and tails, kept in the builder for the loss. To train, no more is wanted; else
 * they become logits of all words. */
static tfn_var tfn__cluster_logits(tfn__builder *b, tfn_var x)
{
    const tfn_node *xn = tfn__need(b->t, "words", x);
    for (int32_t k = 0; k < 3; k++) {
        tfn_var project;
        tfn_var words;
        b->logits[k] = tfn__none;
        if (k >= tfn__clusters(b->d)) continue;
        words = tfn__cluster_of(b, k, true, &project);
        project = tfn_linear_transposed(b->t, x, project, tfn__none);
        b->logits[k] = tfn_linear_transposed(b->t, project, words, tfn__none);
    }
    if (b->t->training) return b->logits[0];
    return tfn__var_of(b->t, tfn__record(b->t, TFN__OP_WORDS, xn->rows, xn->count, b->d->vocab,
                                         b->logits[0], b->logits[1], b->logits[2]));
}

/* x E^T with the embedding (Press & Wolf 2017), or x W with a matrix of its own: (B*T, V). */
static tfn_var tfn__word_logits(tfn__builder *b, tfn_var x)
{
    const tfn_model_desc *d = b->d;
    const tfn__spot at = tfn__spot_of_model();
    const int32_t width = tfn__stream(d);
    tfn_var w;
    if (!d->untied) return tfn_linear_transposed(b->t, x, b->embedding, tfn__none);
    w = tfn__weight_of(b, at, TFN__PART_OUTPUT, TFN__MATRIX, width, d->vocab, 0);
    w = tfn__read_matrix(b, at, w, TFN__PART_OUTPUT, width, d->vocab);
    return tfn_linear(b->t, x, w, tfn__none, TFN_ACTIVATION_IDENTITY);
}

/* Logits of the last stack's output x. nGPT scales them by a learned vector of words times sqrt(C);
 * a cap c makes c tanh(x/c) of them. */
static tfn_var tfn__build_logits(tfn__builder *b, tfn_var x)
{
    const tfn_model_desc *d = b->d;
    const tfn__spot at = tfn__spot_of_model();
    const float root = TFN__SQRT((float)d->width);
    if (d->head == TFN_HEAD_SEQUENCE) return tfn__classify(b, x);
    if (tfn__clusters(d)) return tfn__cluster_logits(b, x);
    x = tfn__word_logits(b, x);
    if (tfn__has(d, tfn__last_stack(d), TFN_TOPOLOGY_LOGIT_SCALE)) {
        const tfn_var s = tfn__gain_at(b, at, TFN__PART_LOGIT_SCALE, d->vocab, 1 / root);
        x = tfn_scale(b->t, x, tfn__multiple(b->t, s, root));
    }
    if (tfn__caps_logits(d)) {
        x = tfn__multiple(b->t, x, 1 / d->logit_cap);
        x = tfn_activation(b->t, x, TFN_ACTIVATION_TANH);
        x = tfn__multiple(b->t, x, d->logit_cap);
    }
    return x;
}

#ifndef TFNORM_NO_TRAINING
/* The loss of each row. The head of clusters says which tail, and each tail which word: the sum of
 * both is -log of the product of probabilities. */
static tfn_var tfn__build_loss(tfn__builder *b, tfn_var logits)
{
    const tfn_model_desc *d = b->d;
    tfn_var loss = tfn__none;
    if (!tfn__clusters(d))
        return tfn_cross_entropy(b->t, logits, TFN_INT_TARGETS, d->smoothing,
                                 (int32_t)d->smoothing_kind);
    for (int32_t k = 0; k < tfn__clusters(d); k++) {
        const int32_t slot = TFN_INT_CLUSTER_TARGETS + k;
        const tfn_var part = tfn_cross_entropy(b->t, b->logits[k], slot, 0, 0);
        if (k == 0) loss = part;
        else loss = tfn_add(b->t, loss, part, 1, 1);
    }
    return loss;
}
#endif

/* The whole model on one tape: *logits, and the loss per row, which a build without training has
 * not. What is kept stays readable after a run: logits of the tape that infers, and the loss. */
static tfn_var tfn__build_model(tfn__builder *b, tfn_var *logits)
{
    const bool two = b->d->arch == TFN_ARCH_ENCODER_DECODER;
    tfn_var x;
    tfn__build_table(b);
    if (two) b->memory = tfn__build_stack(b, TFN__IN_ENCODER);
    x = tfn__build_stack(b, tfn__last_stack(b->d).stack);
    x = tfn__build_logits(b, x);
    *logits = x;
    if (!b->t->training) tfn_keep(b->t, x);
#ifndef TFNORM_NO_TRAINING
    x = tfn__build_loss(b, x);
    tfn_keep(b->t, x);
#endif
    return x;
}
#endif /* TFN__IMPLEMENTING */
/* >> initial */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY && !defined TFNORM_ONLY_KERNELS
/* Initial values: a base distribution of the init's row, times the gain that its rule gives at the
 * place of the weight (topologies section). Each number has its own index in a stream of the seed
 * and of the weight, so it depends on no other weight. Builds without training draw nothing: their
 * weights come from elsewhere. */

/* Where the numbers of a weight are; running statistics and the like are no parameters. */
static float *tfn__weight_data(const tfn_model *m, const tfn__weight *w)
{
    if (w->kind >= TFN__STATE) return m->run.buffers + w->at;
    return m->params + w->at;
}

/* Tables have a row for each word, position or segment; all else is a map (in, out). */
static bool tfn__is_table(int part)
{
    return part >= TFN__PART_EMBEDDING && part <= TFN__PART_SEGMENT;
}

/* v/|v| of n numbers that lie `step` apart; 0 stays 0. */
static void tfn__unit_vector(float *v, ptrdiff_t n, ptrdiff_t step)
{
    double sum = 0;
    float scale = 0;
    for (ptrdiff_t i = 0; i < n; i++) sum += (double)v[i*step] * (double)v[i*step];
    if (sum > 0) scale = 1 / TFN__SQRT((float)sum);
    for (ptrdiff_t i = 0; i < n; i++) v[i*step] *= scale;
}

#ifndef TFNORM_NO_TRAINING
/* Normal, drawn again while it is outside two deviations: one draw in 22. */
static float tfn__truncated(tfn_key key, uint64_t i)
{
    for (uint64_t draw = 0;; draw++) {
        float z = tfn_random_normal(tfn_key_fold(key, draw), i);
        if (z >= -2 && z <= 2) return z;
    }
}

/* The gain of a part; W_3, the gate of a GLU, has that of W_1, beside which it stands. */
static float tfn__gain_of(const tfn_gains *g, int part)
{
    switch (part) {
    case TFN__PART_Q:  return g->q;
    case TFN__PART_K:  return g->k;
    case TFN__PART_V:  return g->v;
    case TFN__PART_O:  return g->o;
    case TFN__PART_W1:
    case TFN__PART_W3: return g->w1;
    case TFN__PART_W2: return g->w2;
    case TFN__PART_EMBEDDING: return g->embedding;
    default:           return 1;
    }
}

/* The gain of a weight at its place. What belongs to no stack, such as a shared embedding, is the
 * encoder's if there is one; what belongs to no sub-layer counts as feed-forward of the first
 * layer. / */
static float tfn__init_gain(const tfn_model_desc *d, const tfn_init_rule *rule,
                            const tfn__weight *w)
{
    tfn_gains g = { 1, 1, 1, 1, 1, 1, 1 };
    tfn_sublayer kind = TFN_SUBLAYER_FFN;
    bool decoder = w->stack == TFN__IN_DECODER;
    tfn_place place;
    if (!TFN__ALL || !rule->rule) return 1;
    if (w->stack == TFN__NO_STACK) decoder = d->arch == TFN_ARCH_DECODER || d->separate_source;
    if (w->sub < TFN__NO_SUB) kind = (tfn_sublayer)w->sub;
    place = tfn__place_at(d, decoder, kind, (int32_t)tfn__max(w->layer + 1, 1));
    rule->rule(&place, &g);
    return tfn__gain_of(&g, w->part);
}

/* One draw of the base distribution with standard deviation, or half-width, `size`. An orthonormal
 * matrix begins as a normal one. */
static float tfn__draw(tfn_distribution base, tfn_key key, uint64_t i, float size)
{
    switch (base) {
    case TFN_DISTRIBUTION_XAVIER_UNIFORM:
    case TFN_DISTRIBUTION_FAN_IN_UNIFORM:
    case TFN_DISTRIBUTION_MIRRORED:
        return (2 * tfn_random_uniform(key, i) - 1) * size;
    case TFN_DISTRIBUTION_TRUNCATED_NORMAL:
        return tfn__truncated(key, i) * size;
    default:
        return tfn_random_normal(key, i) * size;
    }
}

/* Standard deviation or half-width (of variance v: sqrt(3 v)) of a matrix (in, out). */
static float tfn__spread(const tfn_init_rule *rule, tfn_distribution base, int32_t in, int32_t out)
{
    switch (base) {
    case TFN_DISTRIBUTION_XAVIER_NORMAL:  return TFN__SQRT(2 / (float)(in + out));
    case TFN_DISTRIBUTION_XAVIER_UNIFORM:
    case TFN_DISTRIBUTION_MIRRORED:       return TFN__SQRT(6 / (float)(in + out));
    case TFN_DISTRIBUTION_FAN_IN_UNIFORM:
    case TFN_DISTRIBUTION_FAN_IN_NORMAL:  return 1 / TFN__SQRT((float)in);
    case TFN_DISTRIBUTION_HE_NORMAL:      return TFN__SQRT(2 / (float)in);
    case TFN_DISTRIBUTION_ORTHOGONAL:     return 1;
    case TFN_DISTRIBUTION_NORMAL:
    case TFN_DISTRIBUTION_TRUNCATED_NORMAL: break;
    }
    return rule->std;
}

/* Rows, or columns where they are fewer, made orthonormal one after the other: Gram-Schmidt, v less
 * its projection (v . u) u on each u before it; then all times the gain. */
static void tfn__orthonormal(float *p, ptrdiff_t rows, ptrdiff_t cols, float gain)
{
    const ptrdiff_t count = tfn__min(rows, cols);
    const ptrdiff_t n = tfn__max(rows, cols);
    ptrdiff_t next = cols;        /* from vector to vector, and within one: rows */
    ptrdiff_t step = 1;
    if (rows > cols) {            /* columns */
        next = 1;
        step = cols;
    }
    for (ptrdiff_t i = 0; i < count; i++) {
        float *v = p + i*next;
        for (ptrdiff_t j = 0; j < 2*i; j++) {       /* twice: the first leaves rounding errors */
            const float *u = p + j%i*next;
            double dot = 0;
            for (ptrdiff_t k = 0; k < n; k++) dot += (double)v[k*step] * (double)u[k*step];
            for (ptrdiff_t k = 0; k < n; k++) v[k*step] -= (float)dot * u[k*step];
        }
        tfn__unit_vector(v, n, step);
    }
    for (ptrdiff_t i = 0; i < rows*cols; i++) p[i] *= gain;
}

/* W_1 = [A, -A]: the second half of the columns; a column that is left over is 0. */
static void tfn__mirror_columns(float *p, ptrdiff_t rows, ptrdiff_t cols)
{
    const ptrdiff_t half = cols / 2;
    for (ptrdiff_t r = 0; r < rows; r++, p += cols) {
        for (ptrdiff_t c = 0; c < half; c++) p[half + c] = -p[c];
        if (cols > 2*half) p[2*half] = 0;
    }
}

/* W_2 = [C; -C]: the second half of the rows. */
static void tfn__mirror_rows(float *p, ptrdiff_t rows, ptrdiff_t cols)
{
    const ptrdiff_t half = rows / 2 * cols;
    for (ptrdiff_t i = 0; i < half; i++) p[half + i] = -p[i];
    for (ptrdiff_t i = 2*half; i < rows*cols; i++) p[i] = 0;
}

/* W_3, the gate of a GLU, too. */
static bool tfn__is_ffn(int part) { return part >= TFN__PART_W1 && part <= TFN__PART_W3; }

/* What the row draws matrices from: the feed-forward may differ from the rest. */
static tfn_distribution tfn__rule_base(const tfn_init_rule *rule, const tfn__weight *w)
{
    if (tfn__is_ffn(w->part)) return rule->ffn_base;
    return rule->base;
}

/* What a weight is drawn from. Tables are normal whatever the base is, or truncated where it is,
 * and so is an untied output that is drawn as one; biases, where they are drawn, are uniform. */
static tfn_distribution tfn__base_of(const tfn_init_rule *rule, const tfn__weight *w)
{
    const tfn_distribution base = tfn__rule_base(rule, w);
    const bool table = w->kind == TFN__MATRIX && tfn__is_table(w->part);
    if (w->kind == TFN__BIAS) return TFN_DISTRIBUTION_FAN_IN_UNIFORM;
    if (w->part == TFN__PART_OUTPUT && rule->table_output) return TFN_DISTRIBUTION_NORMAL;
    if (table && base != TFN_DISTRIBUTION_TRUNCATED_NORMAL) return TFN_DISTRIBUTION_NORMAL;
    return base;
}

/* Of a bias: U(+-1/sqrt(in)) of the matrix before it, if the row draws it; else 0. */
static float tfn__bias_size(const tfn_model_desc *d, const tfn_init_rule *rule,
                            const tfn__weight *w)
{
    const tfn__weight *matrix = w - 1;
    bool drawn = tfn__rule_base(rule, w) == TFN_DISTRIBUTION_FAN_IN_UNIFORM;
    float size;
    if (matrix->kind != TFN__MATRIX) return 0;
    if (w->part <= TFN__PART_V && rule->qkv_bias) drawn = true;
    if (!drawn) return 0;
    size = 1 / TFN__SQRT((float)matrix->rows);
    if (rule->gain_bias) size *= tfn__init_gain(d, rule, w);
    return size;
}

/* Half-width or deviation of a weight's draw; 0: it starts at w->initial. Embeddings are N(0, 1/C)
 * unless the row has a deviation, and so is an untied output that is drawn as one. */
static float tfn__init_size(const tfn_model_desc *d, const tfn_init_rule *rule,
                            const tfn__weight *w)
{
    if (w->kind == TFN__BIAS) return tfn__bias_size(d, rule, w);
    if (w->kind != TFN__MATRIX) return 0;
    if (tfn__is_table(w->part)) {
        const float size = tfn__orf(rule->embedding_std, 1 / TFN__SQRT((float)w->cols));
        return size * tfn__init_gain(d, rule, w);
    }
    if (w->part == TFN__PART_OUTPUT && rule->zero_output) return 0;
    if (w->part == TFN__PART_OUTPUT && rule->table_output)
        return 1 / TFN__SQRT((float)w->rows);
    return tfn__spread(rule, tfn__rule_base(rule, w), w->rows, w->cols)
         * tfn__init_gain(d, rule, w);
}

/* Weights of an aggregate without softmax start at 0 outside of its window: only the last y_k count
 * at first, but the others are learned, too. */
static void tfn__start_window(const tfn_model *m, const tfn__weight *w, float *p)
{
    const tfn_mix_rule *mix = &tfn__stack_row(&m->desc, w->stack)->mix;
    int32_t outside = w->cols - mix->window;
    if (w->part != TFN__PART_MIX || mix->window < 1 || mix->softmax || mix->ones) return;
    for (int32_t g = 0; g < w->rows; g++)
        for (int32_t k = 0; k < outside; k++) p[(int64_t)g*w->cols + k] = 0;
}

/* Draw weight `index`; what is not drawn starts at its own constant, gains at 1 and biases at 0.
 * The key folds in 1 for weights (4 is sigmaReparam's), then the index: a model with one more
 * weight at the end has the same numbers in all others. */
static void tfn__init_weight(const tfn_model *m, int32_t index, float *p)
{
    const tfn__weight *w = m->weights + index;
    const tfn_init_rule *rule = tfn_init_find(m->desc.init);
    const tfn_key key = tfn_key_fold(tfn_key_fold(tfn_key_make(m->desc.seed), 1), (uint64_t)index);
    const tfn_distribution base = tfn__base_of(rule, w);
    const float size = tfn__init_size(&m->desc, rule, w);
    const int64_t n = (int64_t)w->rows * w->cols;
    const bool orthonormal = base == TFN_DISTRIBUTION_ORTHOGONAL;
    if (!(size > 0)) {
        for (int64_t i = 0; i < n; i++) p[i] = w->initial;
    } else if (TFN__ALL && orthonormal) {
        for (int64_t i = 0; i < n; i++) p[i] = tfn__draw(base, key, (uint64_t)i, 1);
        tfn__orthonormal(p, w->rows, w->cols, size);
    } else {
        for (int64_t i = 0; i < n; i++) p[i] = tfn__draw(base, key, (uint64_t)i, size);
    }

    if (!TFN__ALL) return;
    if (w->kind == TFN__MATRIX && base == TFN_DISTRIBUTION_MIRRORED) {
        if (w->part == TFN__PART_W2) tfn__mirror_rows(p, w->rows, w->cols);
        else tfn__mirror_columns(p, w->rows, w->cols);
    }
    tfn__start_window(m, w, p);
}
#else
/* Without training: what is not loaded afterwards stands at its constant. */
static void tfn__init_weight(const tfn_model *m, int32_t index, float *p)
{
    const tfn__weight *w = m->weights + index;
    for (int64_t i = 0; i < (int64_t)w->rows * w->cols; i++) p[i] = w->initial;
}
#endif

/* The row that a weight follows; what belongs to no stack follows the last one. */
static const tfn_topology *tfn__weight_row(const tfn_model *m, const tfn__weight *w)
{
    if (w->stack == TFN__IN_ENCODER || m->desc.arch == TFN_ARCH_ENCODER) return m->desc.topology;
    return m->desc.decoder_topology;
}

/* nGPT (Loshchilov et al. 2024): all vectors along the channels have length 1. These are the rows
 * of tables and of what writes into the stream (W_O, W_2), and the columns of what reads it. */
static void tfn__unit_weights(tfn_model *m)
{
    const uint32_t any = m->desc.topology->flags | m->desc.decoder_topology->flags;
    if (!TFN__ALL || !(any & TFN_TOPOLOGY_UNIT_WEIGHTS)) return;
    for (int32_t i = 0; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        const bool by_row = tfn__is_table(w->part) || w->part == TFN__PART_O
                         || w->part == TFN__PART_W2;
        float *p = m->params + w->at;
        if (w->kind != TFN__MATRIX || w->part == TFN__PART_POSITION) continue;
        if (!(tfn__weight_row(m, w)->flags & TFN_TOPOLOGY_UNIT_WEIGHTS)) continue;
        if (by_row) {
            for (int32_t r = 0; r < w->rows; r++)
                tfn__unit_vector(p + (int64_t)r*w->cols, w->cols, 1);
        } else {
            for (int32_t c = 0; c < w->cols; c++) tfn__unit_vector(p + c, w->rows, w->cols);
        }
    }
}

#ifndef TFNORM_NO_TRAINING
/* -- sigmaReparam: u and v of each W follow its first singular vectors ----------------------- */

/* Of the same map, whatever they are for it: matrix, bias, u, v, gamma. */
static bool tfn__same_place(const tfn__weight *a, const tfn__weight *b)
{
    return a->stack == b->stack && a->layer == b->layer && a->sub == b->sub && a->part == b->part;
}

/* The weight of another kind in the place of w, such as the u, the v or the gamma of a matrix. */
static const tfn__weight *tfn__beside(const tfn_model *m, const tfn__weight *w, int kind)
{
    for (int32_t i = 0; i < m->weight_count; i++)
        if (m->weights[i].kind == kind && tfn__same_place(m->weights + i, w)) return m->weights + i;
    return NULL;
}

/* One power iteration: v = W^T u / |W^T u|, then u = W v / |W v|. Returns |W v|; 0 and the old u
 * where W^T u is 0. */
static float tfn__power_iteration(const tfn_model *m, const tfn__weight *place)
{
    const tfn__weight *matrix = tfn__beside(m, place, TFN__MATRIX);
    const float *w = tfn__weight_data(m, matrix);
    float *u = tfn__weight_data(m, tfn__beside(m, place, TFN__SIGMA_U));
    float *v = tfn__weight_data(m, tfn__beside(m, place, TFN__SIGMA_V));
    const ptrdiff_t rows = matrix->rows;
    const ptrdiff_t cols = matrix->cols;
    float square;
    for (ptrdiff_t c = 0; c < cols; c++) v[c] = 0;
    for (ptrdiff_t r = 0; r < rows; r++)
        for (ptrdiff_t c = 0; c < cols; c++) v[c] += u[r] * w[r*cols + c];
    tfn__unit_vector(v, cols, 1);
    if (!(m->kernels->dot(v, v, cols) > 0)) return 0;
    for (ptrdiff_t r = 0; r < rows; r++) u[r] = m->kernels->dot(w + r*cols, v, cols);
    square = m->kernels->dot(u, u, rows);
    tfn__unit_vector(u, rows, 1);
    return TFN__SQRT(square);
}

/* From any u: iterate until |W v| grows by less than a millionth, a hundred times at most. Returns
 * |W v|, which is sigma by then. */
static float tfn__find_sigma(const tfn_model *m, const tfn__weight *place)
{
    float sigma = 0;
    for (int k = 0; k < 100; k++) {
        const float last = sigma;
        sigma = tfn__power_iteration(m, place);
        if (!(sigma > last * (float)1.000001)) break;
    }
    return sigma;
}

/* u and v begin near the first singular vectors; the authors' code begins with those themselves. */
static void tfn__start_sigma(tfn_model *m)
{
    for (int32_t i = 0; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        const tfn_key key = tfn_key_fold(tfn_key_fold(tfn_key_make(m->desc.seed), 4), (uint64_t)i);
        float *u = tfn__weight_data(m, w);
        float sigma;
        if (w->kind != TFN__SIGMA_U) continue;
        for (int32_t k = 0; k < w->cols; k++) u[k] = tfn_random_normal(key, (uint64_t)k);
        tfn__unit_vector(u, w->cols, 1);
        sigma = tfn__find_sigma(m, w);
        if ((tfn__weight_row(m, w)->flags & TFN_TOPOLOGY_SIGMA_OWN) && sigma > 0)
            *tfn__weight_data(m, tfn__beside(m, w, TFN__GAMMA)) = sigma;
    }
}

/* After an update: one iteration, since W has moved a little. */
static void tfn__follow_sigma(tfn_model *m)
{
    for (int32_t i = 0; i < m->weight_count; i++)
        if (m->weights[i].kind == TFN__SIGMA_U) tfn__power_iteration(m, m->weights + i);
}
#endif
#endif /* TFN__IMPLEMENTING */
/* >> fold */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY && !defined TFNORM_ONLY_KERNELS
/* Folding gives a model for inference the weights of a trained one such that it computes the same
 * with less. Of the join of a sub-layer F
 *
 *     u = in * N_in(source) - s;  p = N_branch(F(u));  x = N_sum(skip * x + out * p + extra * x_0)
 *
 * all that is affine beside a linear map goes into the map, for a norm N(x) = g n(x) + t:
 *
 *     u W + b            = n (in g W) + b + (in t - s) W               tfn__fold_input
 *     (h (g n + t)) W_O  = n (h g W_O) + h t W_O, and W_2 alike        tfn__fold_inner
 *     out p              = F(u) with out W_O, out b; or out g of N_branch    tfn__fold_output
 *     N_sum(a x + p)     = N_sum(x + p/a), eps/a^2                     tfn__fold_output
 *     w x + F(x)         = x' + F(x'/w), x' = w x from the norm before    tfn__fold_skip
 *
 * Outside of the sub-layers gamma/sigma W becomes W, tables get the rows of length 1 that they are
 * read with, softmaxed weights become their softmax, and where all that writes to the stream can
 * have the mean 0, it gets it, and LayerNorm is RMSNorm.
 *
 * Where one of these holds is asked of the builder (tfn__folds_norm and those beside it), which
 * leaves out of the folded model exactly what goes into weights here. Everything is checked before
 * anything is written; then weights are copied by place, and changed in place. */

/* The weight of a model at a spot, or NULL: most parts are there only where a row has them, and a
 * folded model lacks what was folded. */
static const tfn__weight *tfn__weight_in(const tfn_model *m, tfn__spot at, int part, int kind)
{
    return tfn__find_weight(m->weights, m->weight_count, at, part, kind);
}

/* The matrices that read the stream; of a cross-attention the first alone does: its keys and values
 * read the memory. */
static const int tfn__readers[] = {
    TFN__PART_Q, TFN__PART_K, TFN__PART_V, TFN__PART_W1, TFN__PART_W3
};
static int tfn__reader_count(tfn__spot at)
{
    if (at.sub == TFN_SUBLAYER_CROSS_ATTENTION) return 1;
    return (int)(sizeof tfn__readers / sizeof *tfn__readers);
}

/* -- profiled skips --------------------------------------------------------------------------- */

/* Row r of a matrix over unit * w[r]. */
static void tfn__divide_rows(const tfn_model *m, const tfn__weight *matrix, const float *w,
                             float unit)
{
    float *p = m->params + matrix->at;
    for (int32_t r = 0; r < matrix->rows; r++, p += matrix->cols)
        for (int32_t c = 0; c < matrix->cols; c++) p[c] /= unit * w[r];
}

/* One can divide by unit*w and get normal numbers: 0, infinities and NaN are refused, and what is
 * near enough to 0 for weights to overflow. */
static bool tfn__divides(const float *w, int32_t count, float unit)
{
    for (int32_t i = 0; i < count; i++) {
        double size = (double)unit * (double)w[i];
        if (size < 0) size = -size;
        if (!(size > 1e-30 && size < 1e30)) return false;
    }
    return true;
}

/* The learned vectors of a norm times unit * w; a gain that is stored as an offset from 1 stays
 * one. */
static void tfn__scale_norm(const tfn_model *m, tfn__spot at, const float *w, float unit)
{
    static const int kinds[] = { TFN__GAIN, TFN__BIAS, TFN__ALPHA };
    const tfn_norm_rule *norm = tfn__norm_rule_of(&m->desc, at);
    const int count = norm->kind == TFN_NORM_SEED ? 3 : 2;       /* SeeDNorm's alpha is a gain */
    for (int k = 0; k < count; k++) {
        const tfn__weight *p = tfn__weight_in(m, at, TFN__PART_NORM, kinds[k]);
        const bool offset = kinds[k] == TFN__GAIN && (norm->flags & TFN_FLAG_OFFSET);
        if (!p) continue;
        for (int32_t i = 0; i < p->cols; i++) {
            float *x = m->params + p->at + i;
            const float by = unit * w[i];
            if (offset) *x = by * (1 + *x) - 1;
            else *x = by * *x;
        }
    }
}

/* The skip scale unit*w of a sub-layer moves into the norm before it and, as its inverse, into the
 * matrices that read the stream: see tfn__skip_moves. */
static void tfn__fold_skip(const tfn_model *m, tfn__spot at, const float *w, float unit)
{
    tfn__scale_norm(m, tfn__spot_before(&m->desc, at), w, unit);
    for (int i = 0; i < tfn__reader_count(at); i++) {
        const tfn__weight *matrix = tfn__weight_in(m, at, tfn__readers[i], TFN__MATRIX);
        if (matrix) tfn__divide_rows(m, matrix, w, unit);
    }
}

/* The unit in which the skip of a sub-layer is stored. */
static float tfn__skip_unit(const tfn_model_desc *d, tfn__spot at)
{
    const tfn_join j = tfn__join_at(d, at);
    return tfn__unit_of(&j.skip);
}

/* Admin in its folded form: after profiling the scales of skips go into the weights where they can,
 * and are 1 from then on. */
static void tfn__fold_skips(tfn_model *m)
{
    for (int32_t i = 0; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        const tfn__spot at = tfn__spot_of(w);
        float *data = tfn__weight_data(m, w);
        float unit;
        if (w->part != TFN__PART_SKIP || w->kind != TFN__FOLDED_SCALE) continue;
        unit = tfn__skip_unit(&m->desc, at);
        if (!tfn__skip_moves(&m->desc, at) || !tfn__divides(data, w->cols, unit)) continue;
        tfn__fold_skip(m, at, data, unit);
        for (int32_t c = 0; c < w->cols; c++) data[c] = 1 / unit;
    }
}

/* -- one sub-layer ---------------------------------------------------------------------------- */

/* What the functions of a sub-layer get: both models, and where they are. Numbers are read from the
 * trained model (old) and changed in the folded one (new), which begins as its copy. */
typedef struct tfn__folding {
    tfn_model       *to;
    const tfn_model *from;
    tfn__spot        at;                 /* the sub-layer */
    tfn_join         join;               /* its */
} tfn__folding;

/* Number i of a weight of the trained model, or `otherwise` where it has none; a scalar has one
 * number for all i, a scale of heads one for each. */
static double tfn__old_at(const tfn_model *from, tfn__spot at, int part, int kind, int32_t i,
                          double otherwise)
{
    const tfn__weight *w = tfn__weight_in(from, at, part, kind);
    if (!w) return otherwise;
    return (double)tfn__weight_data(from, w)[i % w->cols];
}
static double tfn__old(const tfn__folding *f, int part, int kind, int32_t i, double otherwise)
{
    return tfn__old_at(f->from, f->at, part, kind, i, otherwise);
}

/* A weight of the folded model and where its numbers are, or NULL. */
static float *tfn__new(const tfn__folding *f, int part, int kind, const tfn__weight **w)
{
    *w = tfn__weight_in(f->to, f->at, part, kind);
    if (!*w) return NULL;
    return tfn__weight_data(f->to, *w);
}

/* Channel i of a norm is g n + t, of its kind's n; of BATCH and POWER n is x: their statistics are
 * constants now. */
static void tfn__fold_norm(const tfn__folding *f, int part, int32_t i, double *g, double *t)
{
    const tfn_norm_rule *norm = tfn__norm_rule_of(&f->to->desc, f->at);
    const double eps = (double)tfn__eps_of(&f->to->desc, norm);
    *g = tfn__old(f, part, TFN__GAIN, i, 1);
    if (norm->flags & TFN_FLAG_OFFSET) *g += 1;
    *t = tfn__old(f, part, TFN__BIAS, i, 0);
    if (norm->kind == TFN_NORM_BATCH) {
        *g *= tfn__pow(tfn__old(f, part, TFN__VARIANCE, i, 1) + eps, -0.5);
        *t -= *g * tfn__old(f, part, TFN__MEAN, i, 0);
    }
    if (norm->kind == TFN_NORM_POWER)
        *g *= tfn__pow(tfn__old(f, part, TFN__SQUARE, i, 1) + eps, -0.5);
}

/* W reads g u + t in channel i: b += t W, W *= g in its row i. The bias takes the row as it was, so
 * it comes first. A builder that folds t has made the bias; where there is none, t is 0. */
static void tfn__fold_row(const tfn__folding *f, int part, int32_t i, double g, double t)
{
    const tfn__weight *w;
    const tfn__weight *bias;
    float *p = tfn__new(f, part, TFN__MATRIX, &w);
    float *b = tfn__new(f, part, TFN__BIAS, &bias);
    if (!p) return;
    p += (int64_t)i * w->cols;
    for (int32_t c = 0; c < w->cols; c++) {
        if (b) b[c] += (float)t * p[c];
        p[c] *= (float)g;
    }
}

/* What a scheduled scale has come to: min(1, t/value) after t updates. Weights take it as the
 * constant that it is by then. */
static double tfn__old_ramp(const tfn__folding *f, const tfn_scale_rule *s)
{
    const float updates = (float)tfn__old_at(f->from, tfn__spot_of_model(), TFN__PART_SCHEDULE,
                                             TFN__UPDATES, 0, 0);
    if (updates < s->value) return (double)(updates / s->value);
    return 1;
}

/* A scale of the join at channel i. */
static double tfn__old_scale(const tfn__folding *f, const tfn_scale_rule *s, int part, int32_t i)
{
    tfn__spot at = f->at;
    int kind = TFN__GAIN;
    switch (s->kind) {
    case TFN_SCALE_NONE:
    case TFN_SCALE_LERP:      return 1;
    case TFN_SCALE_CONSTANT:  return (double)tfn__rule_value(&f->from->desc, s, at);
    case TFN_SCALE_SCHEDULED: return tfn__old_ramp(f, s);
    case TFN_SCALE_SHARED:    at = tfn__layer_of(at); break;
    case TFN_SCALE_FOLDED:    kind = TFN__FOLDED_SCALE; break;
    default:                  break;
    }
    return tfn__old_at(f->from, at, part, kind, i, 1) * (double)tfn__unit_of(s);
}

/* Channel i of u, which F reads: norm, scale, shift. */
static void tfn__fold_input(const tfn__folding *f, int32_t i)
{
    const double in = tfn__old_scale(f, &f->join.in, TFN__PART_IN, i);
    double g = 1;
    double t = 0;
    if (f->join.norm_in) tfn__fold_norm(f, TFN__PART_NORM_IN, i, &g, &t);
    t = t * in - tfn__old(f, TFN__PART_SHIFT_IN, TFN__GAIN, 0, 0);
    for (int r = 0; r < tfn__reader_count(f->at); r++)
        tfn__fold_row(f, tfn__readers[r], i, g * in, t);
}

/* What the last matrix, W_O or W_2, reads: the inner norm, a scale of heads, Fixup's last shift. */
static void tfn__fold_inner(const tfn__folding *f, int last)
{
    const tfn_model_desc *d = &f->to->desc;
    const int norm = last == TFN__PART_O ? TFN__PART_NORM_O : TFN__PART_NORM_2;
    const bool norms = f->join.norm_inner && tfn__folds_norm(d, f->at, norm);
    const bool heads = f->join.head_scale == TFN_HEAD_SCALE_BEFORE
                    && tfn__folds_head_scale(d, f->at);
    const int32_t head_size = d->width / d->heads;
    const tfn__weight *w;
    if (!tfn__new(f, last, TFN__MATRIX, &w)) return;
    for (int32_t i = 0; i < w->rows; i++) {
        double g = 1;
        double t = 0;
        if (norms) tfn__fold_norm(f, norm, i, &g, &t);
        if (heads) g *= tfn__old(f, TFN__PART_HEAD_SCALE, TFN__GAIN, i / head_size, 1);
        if (last == TFN__PART_W2) t -= tfn__old(f, TFN__PART_SHIFT_2, TFN__GAIN, 0, 0);
        tfn__fold_row(f, last, i, g, t);
    }
}

/* Columns of a matrix or vector times out/skip, the branch's scale in the sum over the skip's: F(u)
 * has its bias scaled like its matrix. */
static void tfn__fold_columns(const tfn__folding *f, int part, int kind)
{
    const bool out = tfn__folds_out(&f->to->desc, f->at);
    const bool skip = tfn__folds_skip(&f->to->desc, f->at);
    const tfn__weight *w;
    float *p = tfn__new(f, part, kind, &w);
    if (!p) return;
    for (int64_t k = 0; k < (int64_t)w->rows * w->cols; k++) {
        const int32_t i = (int32_t)(k % w->cols);
        double o = 1;
        if (out) o = tfn__old_scale(f, &f->join.out, TFN__PART_OUT, i);
        if (skip) o /= tfn__old_scale(f, &f->join.skip, TFN__PART_SKIP, i);
        p[k] *= (float)o;
    }
}

/* The scale a head behind W_O: of blocks of its columns, C/H of them a head. */
static void tfn__fold_head_scale_after(const tfn__folding *f, int kind)
{
    const tfn__weight *w;
    float *p = tfn__new(f, TFN__PART_O, kind, &w);
    int32_t block;
    if (!p) return;
    block = w->cols / f->to->desc.heads;
    for (int64_t k = 0; k < (int64_t)w->rows * w->cols; k++) {
        const int32_t head = (int32_t)(k % w->cols) / block;
        p[k] *= (float)tfn__old(f, TFN__PART_HEAD_SCALE, TFN__GAIN, head, 1);
    }
}

/* Behind the last matrix: the scale of heads, then that of the branch, in the norm between if there
 * is one. */
static void tfn__fold_output(const tfn__folding *f, int last)
{
    if (f->join.head_scale == TFN_HEAD_SCALE_AFTER && last == TFN__PART_O) {
        tfn__fold_head_scale_after(f, TFN__MATRIX);
        tfn__fold_head_scale_after(f, TFN__BIAS);
    }
    if (!f->join.norm_branch) {
        tfn__fold_columns(f, last, TFN__MATRIX);
        tfn__fold_columns(f, last, TFN__BIAS);
        return;
    }
    tfn__fold_columns(f, TFN__PART_NORM_BRANCH, TFN__GAIN);
    tfn__fold_columns(f, TFN__PART_NORM_BRANCH, TFN__BIAS);
    if (tfn__norm_rule_of(&f->to->desc, f->at)->kind == TFN_NORM_SEED)
        tfn__fold_columns(f, TFN__PART_NORM_BRANCH, TFN__ALPHA);
}

/* The profiled scale of the skip here, where it folds, or NULL. */
static const tfn__weight *tfn__skip_to_fold(const tfn__folding *f)
{
    int kind = TFN__GAIN;
    if (!tfn__folds_profile(&f->to->desc, f->at)) return NULL;
    if (f->join.skip.kind == TFN_SCALE_FOLDED) kind = TFN__FOLDED_SCALE;
    return tfn__weight_in(f->from, f->at, TFN__PART_SKIP, kind);
}

/* Fixup's shift of the hidden units: u W_1 + b - s. */
static void tfn__fold_shift_1(const tfn__folding *f)
{
    const float shift = (float)tfn__old(f, TFN__PART_SHIFT_1, TFN__GAIN, 0, 0);
    const tfn__weight *w;
    float *bias = tfn__new(f, TFN__PART_W1, TFN__BIAS, &w);
    if (!bias) return;
    for (int32_t c = 0; c < w->cols; c++) bias[c] -= shift;
}

/* All that folds at one sub-layer, from what F reads to what it gives. The skip comes last: biases
 * must have taken the shifts, which are of x, before rows are divided for x' = w x. */
static void tfn__fold_sublayer(const tfn__folding *f)
{
    const tfn_model_desc *d = &f->to->desc;
    const bool ffn = tfn__in_ffn(f->at);
    const int last = ffn ? TFN__PART_W2 : TFN__PART_O;
    const tfn__weight *skip = tfn__skip_to_fold(f);
    if (tfn__folds_input(d, f->at))
        for (int32_t i = 0; i < tfn__stream(d); i++) tfn__fold_input(f, i);
    if (ffn && tfn__folds_shift_1(d, f->at)) tfn__fold_shift_1(f);
    tfn__fold_inner(f, last);
    tfn__fold_output(f, last);
    if (skip && tfn__skip_moves(d, f->at))
        tfn__fold_skip(f->to, f->at, tfn__weight_data(f->from, skip), tfn__skip_unit(d, f->at));
}

/* Do something at each sub-layer of each stack. */
static void tfn__fold_sublayers(tfn__folding *f, void (*fold)(const tfn__folding *f))
{
    const tfn_model_desc *d = &f->to->desc;
    for (int stack = TFN__IN_ENCODER; stack <= TFN__IN_DECODER; stack++) {
        const tfn__spot top = tfn__spot_of_stack(stack);
        const tfn__subs subs = tfn__subs_of(d, top);
        if (!tfn__has_stack(d, top)) continue;
        for (int32_t l = 0; l < tfn__depth(d, tfn__in_decoder(top)); l++)
            for (int i = 0; i < subs.count; i++) {
                f->at = tfn__spot_in(stack, l, (int)subs.kind[i]);
                f->join = tfn__join_at(d, f->at);
                fold(f);
            }
    }
}

/* -- the two models must be the same function ------------------------------------------------- */

/* The same numbers, compared as such: -0 is 0 here. */
static bool tfn__same_scale(const tfn_scale_rule *a, const tfn_scale_rule *b)
{
    const float x[] = { a->value, a->n, a->m, a->layer, a->unit };
    const float y[] = { b->value, b->n, b->m, b->layer, b->unit };
    for (int i = 0; i < 5; i++)
        if (x[i] < y[i] || x[i] > y[i]) return false;
    return a->kind == b->kind;
}
static bool tfn__same_join(const tfn_join *a, const tfn_join *b)
{
    return a->norm_in == b->norm_in && a->norm_branch == b->norm_branch
        && a->norm_sum == b->norm_sum && a->norm_inner == b->norm_inner && a->shifts == b->shifts
        && a->gate == b->gate && a->extra_last == b->extra_last && a->scales == b->scales
        && a->source == b->source && a->skip_from == b->skip_from && a->qk == b->qk
        && a->head_scale == b->head_scale && tfn__same_scale(&a->in, &b->in)
        && tfn__same_scale(&a->out, &b->out) && tfn__same_scale(&a->skip, &b->skip)
        && tfn__same_scale(&a->extra, &b->extra);
}

/* The rows of a stack say the same of every kind of sub-layer in every layer. */
static bool tfn__same_rows(const tfn_model_desc *a, const tfn_model_desc *b, int stack)
{
    const tfn__spot top = tfn__spot_of_stack(stack);
    const tfn_topology *x = tfn__row(a, top);
    const tfn_topology *y = tfn__row(b, top);
    if (!tfn__has_stack(a, top)) return true;
    if (x->flags != y->flags || x->aggregate != y->aggregate) return false;
    for (int32_t l = 0; l < tfn__depth(a, tfn__in_decoder(top)); l++)
        for (int sub = 0; sub < TFN__NO_SUB; sub++) {
            const tfn__spot at = tfn__spot_in(stack, l, sub);
            const tfn_join j = tfn__join_at(a, at);
            const tfn_join k = tfn__join_at(b, at);
            if (!tfn__same_join(&j, &k)) return false;
        }
    return true;
}

/* Options are compared by their bytes, which the resolver has copied from the caller's. */
#define TFN__SAME(field)                                                                           \
    { #field, offsetof(tfn_model_desc, field), sizeof(((tfn_model_desc *)0)->field) }
static bool tfn__same_bytes(const char *a, const char *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i]) return false;
    return true;
}

/* The first option that makes them different functions, or NULL. A shape that differs, and a matrix
 * with a bias or without, the weights tell. */
static const char *tfn__other_option(const tfn_model_desc *a, const tfn_model_desc *b)
{
    static const struct { const char *name; size_t at, size; } options[] = {
        TFN__SAME(arch), TFN__SAME(vocab), TFN__SAME(width), TFN__SAME(layers), TFN__SAME(heads),
        TFN__SAME(kv_heads), TFN__SAME(ffn), TFN__SAME(head), TFN__SAME(bands), TFN__SAME(segments),
        TFN__SAME(cutoffs), TFN__SAME(activation), TFN__SAME(position), TFN__SAME(rotary_base),
        TFN__SAME(untied), TFN__SAME(separate_source), TFN__SAME(scale_embedding),
        TFN__SAME(qk_norm), TFN__SAME(attention_cap), TFN__SAME(logit_cap), TFN__SAME(norm_eps),
        TFN__SAME(norm_factor)
    };
    const char *x = (const char *)a;
    const char *y = (const char *)b;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (!tfn__same_bytes(x + options[i].at, y + options[i].at, options[i].size))
            return options[i].name;
    if (a->arch == TFN_ARCH_ENCODER_DECODER && a->decoder_layers != b->decoder_layers)
        return "decoder_layers";
    if (!tfn__equal(a->norm, b->norm)) return "norm";
    if (!tfn__equal(a->decoder_norm, b->decoder_norm)) return "decoder_norm";
    if (a->no_bias && !b->no_bias) return "no_bias";
    if (!tfn__same_rows(a, b, TFN__IN_ENCODER)) return "topology";
    if (!tfn__same_rows(a, b, TFN__IN_DECODER)) return "decoder_topology";
    return NULL;
}

/* `to` is folded, `from` is not, and all else is the same. */
static void tfn__check_fold(tfn_model *to, const tfn_model *from)
{
    const char *other = tfn__other_option(&to->desc, &from->desc);
    if (!to->desc.folded || from->desc.folded)
        tfn__fail(&to->error, TFN_BAD_OPTION, "fold",
                  "the models must have the same options, but folded", 0, 0);
    if (other)
        tfn__fail_name(&to->error, TFN_BAD_OPTION, "fold",
                       "the models must have the same options, but folded: %s is another", other);
}

/* An error that names a weight. */
static void tfn__fail_weight(tfn_model *to, const char *text, const tfn__weight *w)
{
    char name[sizeof to->error.name];
    tfn__text t = tfn__text_in(name, sizeof name);
    tfn__weight_name(w, &t);
    tfn__end(&t);
    tfn__fail_name(&to->error, TFN_BAD_OPTION, "fold", text, name);
}

/* Weights have values with which the fold is no function: it refuses, and says which. */
static void tfn__check_sublayer(const tfn__folding *f)
{
    const tfn__weight *skip = tfn__skip_to_fold(f);
    const float *w;
    if (!skip) return;
    w = tfn__weight_data(f->from, skip);
    if (tfn__skip_is_one(&f->to->desc, f->at)) {
        for (int32_t i = 0; i < skip->cols; i++)
            if (w[i] < 1 || w[i] > 1)
                tfn__fail_weight(f->to, "%s is not 1, and there is no norm before it to take it",
                                 skip);
        return;
    }
    if (!tfn__divides(w, skip->cols, tfn__skip_unit(&f->to->desc, f->at)))
        tfn__fail_weight(f->to, "%s is 0 or nearly: matrices that read the stream cannot be "
                         "divided by it", skip);
}

/* The trained model's weight for one of the folded, or NULL. */
static const tfn__weight *tfn__counterpart(const tfn_model *from, const tfn__weight *w)
{
    return tfn__weight_in(from, tfn__spot_of(w), w->part, w->kind);
}

/* Each weight of `to` is one of `from`; biases may be new. */
static void tfn__check_shapes(tfn_model *to, const tfn_model *from)
{
    for (int32_t i = 0; i < to->weight_count; i++) {
        const tfn__weight *w = to->weights + i;
        const tfn__weight *old = tfn__counterpart(from, w);
        if (!old && w->kind == TFN__BIAS) continue;
        if (old && old->rows == w->rows && old->cols == w->cols) continue;
        tfn__fail_weight(to, "the models must have the same options, but folded: %s has another "
                         "shape", w);
    }
}

/* -- what is not of a sub-layer --------------------------------------------------------------- */

/* Weights as they were trained; new biases are 0. */
static void tfn__fold_copy(tfn_model *to, const tfn_model *from)
{
    for (int32_t i = 0; i < to->weight_count; i++) {
        const tfn__weight *w = to->weights + i;
        const tfn__weight *old = tfn__counterpart(from, w);
        const size_t bytes = (size_t)w->rows * (size_t)w->cols * sizeof(float);
        float *data = tfn__weight_data(to, w);
        if (old) TFNORM_MEMCPY(data, tfn__weight_data(from, old), bytes);
        else TFNORM_MEMSET(data, 0, bytes);
    }
}

/* W becomes gamma/sigma W, sigma = u^T W v; where W is 0, sigma counts as 1. */
static void tfn__fold_sigma(tfn_model *to, const tfn_model *from, const tfn__weight *gamma)
{
    const tfn__spot at = tfn__spot_of(gamma);
    const tfn__weight *w = tfn__weight_in(to, at, gamma->part, TFN__MATRIX);
    const tfn__weight *left = tfn__weight_in(from, at, gamma->part, TFN__SIGMA_U);
    const tfn__weight *right = tfn__weight_in(from, at, gamma->part, TFN__SIGMA_V);
    const float *u = tfn__weight_data(from, left);
    const float *v = tfn__weight_data(from, right);
    float ratio = *tfn__weight_data(from, gamma);
    float *p = tfn__weight_data(to, w);
    double sigma = 0;
    for (int32_t r = 0; r < w->rows; r++) {
        const float dot = to->kernels->dot(p + (int64_t)r * w->cols, v, w->cols);
        sigma += (double)u[r] * (double)dot;
    }
    if (sigma < 0 || sigma > 0) ratio /= (float)sigma;
    for (int64_t i = 0; i < (int64_t)w->rows * w->cols; i++) p[i] *= ratio;
}

/* Embeddings get the rows of length 1 that they are read with, learned means of layers the softmax
 * of what was stored. */
static void tfn__fold_tables(tfn_model *m)
{
    for (int32_t i = 0; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        const tfn__spot at = tfn__spot_of(w);
        float *p = tfn__weight_data(m, w);
        if (w->part == TFN__PART_EMBEDDING
            && tfn__unit_table(&m->desc, at.stack == TFN__IN_ENCODER))
            for (int32_t r = 0; r < w->rows; r++)
                tfn__unit_vector(p + (int64_t)r * w->cols, w->cols, 1);
        if (w->part == TFN__PART_MEMORY_MIX) m->kernels->softmax_forward(p, p, 1, w->cols);
        if (w->part == TFN__PART_MIX && tfn__row(&m->desc, at)->mix.softmax)
            m->kernels->softmax_forward(p, p, w->rows, w->cols);
    }
}

/* Rows of what writes to the stream get the mean 0: then the stream has it, and its LayerNorm
 * subtracts nothing. */
static void tfn__centre(const tfn_model *m, const tfn__weight *w)
{
    float *p = m->params + w->at;
    if (w->part != TFN__PART_O && w->part != TFN__PART_W2 && !tfn__is_table(w->part)) return;
    for (int32_t r = 0; r < w->rows; r++, p += w->cols) {
        double sum = 0;
        for (int32_t c = 0; c < w->cols; c++) sum += (double)p[c];
        for (int32_t c = 0; c < w->cols; c++) p[c] -= (float)(sum / w->cols);
    }
}

/* Check all, copy, fold. sigma is of the matrices as they were trained, so it comes first; the
 * centring changes what the sub-layers' folds have written, so it comes last. */
TFNORM_API tfn_status tfn_model_fold(tfn_model *to, const tfn_model *from)
{
    tfn__folding f;
    if (!to || !from) return TFN_NULL;
    tfn__made(&to->error, "fold", to->weights);
    if (!from->weights && from->error.status == TFN_OK)
        tfn__fail(&to->error, TFN_NOT_READY, "fold", "`from` was not initialized", 0, 0);
    if (from->error.status != TFN_OK && from->error.status != TFN_BAD_BATCH)
        return from->error.status;
    if (to->error.status == TFN_OK) tfn__check_fold(to, from);
    if (to->error.status == TFN_OK) tfn__check_shapes(to, from);
    if (to->error.status != TFN_OK) return to->error.status;

    TFNORM_MEMSET(&f, 0, sizeof f);
    f.to = to;
    f.from = from;
    tfn__fold_sublayers(&f, tfn__check_sublayer);
    if (to->error.status != TFN_OK) return to->error.status;

    tfn__fold_copy(to, from);
    to->step = from->step;
    for (int32_t i = 0; i < from->weight_count; i++)
        if (from->weights[i].kind == TFN__GAMMA) tfn__fold_sigma(to, from, from->weights + i);
    tfn__fold_tables(to);
    tfn__fold_sublayers(&f, tfn__fold_sublayer);
    if (tfn__centred(&to->desc))
        for (int32_t i = 0; i < to->weight_count; i++) tfn__centre(to, to->weights + i);
    return TFN_OK;
}
#endif /* TFN__IMPLEMENTING */
/* >> model */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY && !defined TFNORM_ONLY_KERNELS
/* A model is one block of memory:
 *
 *     table of weights | infer: its tape and plan | train: its tape and plan      metadata
 *     parameters, state | rounded copy | gradients | moments | before | tables | workspace | ids
 *
 * The first line is real memory in every pass; what records and plans a tape beyond what the tape
 * keeps is given back and lies under the second line. That is regions of floats, 64-byte aligned.
 * Parameters, gradients, moments and workspace may be arrays of the caller's instead; inference has
 * neither gradients nor moments nor `before`. Gradients and moments are as long as the parameters
 * and in their order, so that an optimizer, a norm or an all-reduce is one loop over a flat vector.
 * tfn_model_size and tfn_model_init run the same code, the first with an arena that only counts the
 * floats.
 *
 * A step is a forward and backward of the tape `train` for each micro-batch, then one update;
 * evaluation and logits run the tape `infer`, which has no backward and needs less workspace. */

/* -- one block of memory ---------------------------------------------------------------------- */

/* Builds without training refuse models that train, and drop the code for them. */
static bool tfn__trains(const tfn_model_desc *d) { return TFN__TRAINS && !d->inference; }

/* The larger of two counts, which want 64 bits on small machines, too. */
static int64_t tfn__larger_of(int64_t a, int64_t b)
{
    if (a > b) return a;
    return b;
}

/* A stack has sigmaReparam: weights and nodes besides each matrix. */
static bool tfn__has_sigma(const tfn_model_desc *d)
{
    const uint32_t flags = d->topology->flags | d->decoder_topology->flags;
    return TFN__ALL && (flags & TFN_TOPOLOGY_SIGMA_REPARAM) != 0;
}

/* Positions of a source that a tape must hold. */
static int32_t tfn__source_capacity(const tfn_model_desc *d)
{
    if (d->arch != TFN_ARCH_ENCODER_DECODER) return 0;
    return d->source_context;
}

/* Bounds of what the builder makes, so that tables can be allocated before it runs: a layer with
 * all norms, scales and gates, with sigmaReparam's gamma, u and v for each matrix, and the ends of
 * the stacks. A row that wants more is refused with TFN_NO_MEMORY; whoever adds parts to the
 * builder looks whether the largest row still fits. */
enum {
    TFN__WEIGHTS_OF_LAYER = 64, TFN__WEIGHTS_OF_SIGMA_LAYER = 112, TFN__WEIGHTS_OF_ENDS = 48,
    TFN__NODES_OF_LAYER = 280, TFN__NODES_OF_SIGMA_LAYER = 360,
    TFN__LAYERS_OF_ENDS = 2             /* the ends of a stack have no more nodes than these */
};

/* Rows of the table of weights. */
static int64_t tfn__weight_bound(const tfn_model_desc *d)
{
    int64_t each = TFN__WEIGHTS_OF_LAYER;
    if (tfn__has_sigma(d)) each = TFN__WEIGHTS_OF_SIGMA_LAYER;
    return each * ((int64_t)d->layers + d->decoder_layers) + TFN__WEIGHTS_OF_ENDS;
}

/* Nodes of a tape, with probes. Stacks that mix layers have a node for each layer that a layer
 * reads, the layers of a decoder one for each of the encoder. */
static int64_t tfn__node_bound(const tfn_model_desc *d)
{
    const int64_t n = d->layers + TFN__LAYERS_OF_ENDS;
    const int64_t m = d->decoder_layers + TFN__LAYERS_OF_ENDS;
    int64_t each = TFN__NODES_OF_LAYER;
    int64_t mixed = 0;
    if (tfn__has_sigma(d)) each = TFN__NODES_OF_SIGMA_LAYER;
    if (d->topology->aggregate != TFN_AGGREGATE_NONE) mixed += n * n;
    if (d->decoder_topology->aggregate != TFN_AGGREGATE_NONE) mixed += m * m;
    if (d->topology->flags & TFN_TOPOLOGY_TRANSPARENT) mixed += m * n;
    return each * (n + m) + mixed;
}

/* Where the next piece of a block begins. */
static size_t tfn__next_piece(const tfn__arena *a)
{
    return a->used + ((0 - a->used) & (TFN__ALIGN - 1));
}

/* Record a tape in what is left of the block, plan it, and keep only what it goes on using: tapes
 * stand one behind the other, and the next begins where the nodes of this one and the order in
 * which they run end. The caller records between the two calls. */
static void tfn__tape_begin(tfn_tape *t, const tfn__arena *a, int32_t batch, int32_t source,
                            int32_t target, bool training)
{
    const size_t start = tfn__next_piece(a);
    unsigned char *mem = a->base;
    size_t left = 0;
    if (start < a->size) {
        mem += start;
        left = a->size - start;
    }
    tfn_tape_init(t, mem, left, batch, source, target, training);
}

/* Planning wants more memory than the plan: the peak says how much the block must have. */
static tfn_status tfn__tape_end(tfn_tape *t, tfn__arena *a, const tfn_kernels *k,
                                const tfn_model_desc *d)
{
    const size_t start = tfn__next_piece(a);
    const tfn_status status = tfn_tape_plan(t, k, d->threads);
    if (status != TFN_OK) return status;
    t->half = tfn__is_half(d);
    if (start + t->peak > a->peak) a->peak = start + t->peak;
    a->used = start + tfn__order_end(t);
    return TFN_OK;
}

/* One of the two tapes: the whole model, for the most rows that the options allow. */
static void tfn__record_model(tfn_model *m, tfn__arena *a, tfn__builder *b, tfn_tape *t,
                              bool training, tfn_var *logits, tfn_var *loss)
{
    const tfn_model_desc *d = &m->desc;
    if (m->error.status != TFN_OK) return;
    tfn__tape_begin(t, a, d->batch, tfn__source_capacity(d), d->context, training);
    t->tokens = d->batch_tokens;
    b->t = t;
    b->embedding = tfn__none;
    b->memory = tfn__none;
    *loss = tfn__build_model(b, logits);
    if (tfn__tape_end(t, a, m->kernels, d) != TFN_OK) m->error = t->error;
}

/* The metadata: the table of weights and the tapes. The tape `infer` is recorded first and makes
 * the weights; `train` finds them, and has what training alone has: dropout, probes. */
static void tfn__lay_metadata(tfn_model *m, tfn__arena *a)
{
    const size_t bound = (size_t)tfn__weight_bound(&m->desc);
    tfn__builder b;
    tfn_var logits;
    void *weights = tfn__take(a, bound, sizeof *m->weights, &m->error);
    m->weights = (tfn__weight *)weights;
    if (!weights) return;
    TFNORM_MEMSET(&b, 0, sizeof b);
    b.d = &m->desc;
    b.weights = m->weights;
    b.capacity = (int32_t)bound;
    tfn__record_model(m, a, &b, &m->infer, false, &m->logits, &m->loss);
    if (tfn__trains(&m->desc))
        tfn__record_model(m, a, &b, &m->train, true, &logits, &m->train_loss);
    m->weight_count = b.count;
    m->param_floats = b.floats;
    m->buffer_floats = b.buffers;
}

/* Moments an optimizer keeps, each as long as the parameters. */
static int64_t tfn__moment_count(const tfn_model_desc *d)
{
#ifndef TFNORM_NO_TRAINING
    if (!d->inference) return tfn__optimizer_moments(d->optimizer, d->beta1);
#else
    (void)d;
#endif
    return 0;
}

/* A region of floats: the caller's if one is given, else of the block; *bytes are the block's. */
static float *tfn__region(tfn_model *m, tfn__arena *a, float *given, int64_t floats, size_t *bytes)
{
    const size_t count = tfn__count(floats);
    *bytes = 0;
    if (given) return given;
    *bytes = tfn__mul(count, sizeof(float));
    if (floats == 0) return NULL;
    return (float *)(void *)tfn__take(a, count, sizeof(float), &m->error);
}

/* Some weights start with what a first batch shows: the builder has left probes for that. */
static bool tfn__wants_profile(const tfn_model *m)
{
    for (int32_t i = 1; i < m->train.count; i++) {
        const tfn_node *n = m->train.nodes + i;
        if (n->op == TFN__OP_PROBE && n->arg[0] >= TFN__PROFILE) return true;
    }
    return false;
}

/* A profile changes parameters before its update is known to be good. No update was made yet, so
 * that the moments are 0, and the copy stands in their place; without moments it stands behind the
 * copy of the buffers. */
static bool tfn__copy_in_moments(const tfn_model *m) { return tfn__moment_count(&m->desc) > 0; }

/* Floats of m->before: the buffers, and the parameters where they have no other place. */
static int64_t tfn__before_floats(const tfn_model *m)
{
    if (!tfn__trains(&m->desc)) return 0;
    if (!tfn__wants_profile(m) || tfn__copy_in_moments(m)) return m->buffer_floats;
    return m->buffer_floats + m->param_floats;
}

/* The data: regions of floats, only counted in the size pass. The two tapes never run at once, so
 * that one workspace serves both. Half precision computes with a rounded copy of the parameters;
 * the state behind them is never rounded. */
static void tfn__lay_data(tfn_model *m, tfn__arena *a)
{
    const tfn_model_desc *d = &m->desc;
    const int64_t params = m->param_floats;
    int64_t work = m->infer.work;
    int64_t scratch = m->infer.scratch;
    m->memory.metadata = a->used;
    m->params = tfn__region(m, a, d->parameters, params + m->buffer_floats, &m->memory.parameters);
    if (m->params) m->run.buffers = m->params + params;
    m->run.params = m->params;
    if (tfn__is_half(d)) m->run.params = tfn__region(m, a, NULL, params, &m->memory.working);
    if (tfn__trains(d)) {
        work = tfn__larger_of(work, m->train.work);
        scratch = tfn__larger_of(scratch, m->train.scratch);
        m->run.grads = tfn__region(m, a, d->gradients, params, &m->memory.gradients);
        m->moments = tfn__region(m, a, d->moments, tfn__moment_count(d) * params,
                                 &m->memory.moments);
        m->before = tfn__region(m, a, NULL, tfn__before_floats(m), &m->memory.before);
    }
    m->run.tables = tfn__region(m, a, NULL, m->infer.tables, &m->memory.tables);
    m->run.work = tfn__region(m, a, d->workspace, work, &m->memory.workspace);
    m->memory.scratch = (size_t)(scratch * d->threads) * sizeof(float);
    if (tfn__has_frames(d)) m->lengths = tfn__take_ids(a, (size_t)d->batch, &m->error);
    if (tfn__clusters(d))                   /* 3 clusters at most, of tokens and of targets */
        m->words = tfn__take_ids(a, tfn__mul(6 * (size_t)d->batch, (size_t)d->context), &m->error);
}

/* Size and init run this: once with data that is only counted, once for real. Returns the bytes of
 * a block at any address, with the slack to align it; 0 after an error, which is in m->error. */
static size_t tfn__lay_out(tfn_model *m, const tfn_model_desc *d, void *mem, size_t size, bool real)
{
    tfn__arena a = tfn__arena_in(mem, mem ? size : 0);
    TFNORM_MEMSET(m, 0, sizeof *m);
    if (!tfn_model_resolve(&m->desc, d, &m->error)) return 0;
    m->kernels = tfn_kernels_for(m->desc.isa);
    tfn__lay_metadata(m, &a);
    if (m->error.status != TFN_OK) return 0;
    if (!real) tfn__only_count(&a);
    tfn__lay_data(m, &a);
    if (m->error.status != TFN_OK) return 0;
    m->memory.total = a.used;
    if (a.peak > a.used) m->memory.total = a.peak;
    return m->memory.total + TFN__ALIGN - 1;
}

/* In closed form, since nothing was recorded yet: the table, two tapes while they are recorded, and
 * the slack of their alignment. */
TFNORM_API size_t tfn_model_scratch(const tfn_model_desc *desc)
{
    tfn_model_desc d;
    size_t weights;
    size_t tape;
    if (!tfn_model_resolve(&d, desc, NULL)) return 0;
    weights = (size_t)tfn__weight_bound(&d) * sizeof(tfn__weight);
    tape = tfn_tape_bytes((int32_t)tfn__node_bound(&d));
    return weights + 2 * tape + 8 * TFN__ALIGN;
}

TFNORM_API size_t tfn_model_size(const tfn_model_desc *desc, void *scratch, size_t scratch_size)
{
    tfn_model m;
    return tfn__lay_out(&m, desc, scratch, scratch_size, false);
}

/* Sinusoids or rotations of all positions: the one region that no call changes again. */
static void tfn__fill_table(tfn_model *m)
{
    const tfn_model_desc *d = &m->desc;
    const ptrdiff_t rows = tfn__max(d->context, d->source_context);
    if (d->position == TFN_POSITION_ROTARY)
        tfn__rotary_table(m->run.tables, rows, d->width / d->heads, d->rotary_base);
    else if (m->infer.tables)
        tfn__sinusoid_table(m->run.tables, rows, tfn__stream(d),
                            d->position == TFN_POSITION_SINUSOIDAL_FAIRSEQ);
}

/* A region that a model does not have is NULL. */
static void tfn__clear(float *p, int64_t floats)
{
    if (p) TFNORM_MEMSET(p, 0, (size_t)floats * sizeof(float));
}

/* Parameters and state as a new model has them. Each weight draws from a stream of its own, keyed
 * by its number, so that the order of drawing is free. Tensors are padded to 16 floats: the padding
 * is 0 and stays 0, so that sums over the flat vector may include it. */
static void tfn__init_weights(tfn_model *m)
{
    tfn__clear(m->params, m->param_floats + m->buffer_floats);
    for (int32_t i = 0; i < m->weight_count; i++)
        tfn__init_weight(m, i, tfn__weight_data(m, m->weights + i));
    tfn__unit_weights(m);
#ifndef TFNORM_NO_TRAINING
    tfn__start_sigma(m);
#endif
}

/* The layout is made first and compared with the block then: what it wrote until there is metadata
 * within the block. */
TFNORM_API tfn_status tfn_model_init(tfn_model *m, const tfn_model_desc *desc, void *mem,
                                     size_t size)
{
    size_t bytes;
    if (!m) return TFN_NULL;
    bytes = tfn__lay_out(m, desc, mem, size, true);
    if (m->error.status == TFN_OK && bytes > size)
        tfn__fail(&m->error, TFN_NO_MEMORY, "model", "the block has %d bytes, %d are wanted",
                  (int64_t)size, (int64_t)bytes);
    if (m->error.status != TFN_OK) return m->error.status;
    tfn__fill_table(m);
    if (TFN__ALL) m->loss_scale = m->desc.loss_scale;
    if (tfn__trains(&m->desc)) {
        tfn__clear(m->run.grads, m->param_floats);
        tfn__clear(m->moments, tfn__moment_count(&m->desc) * m->param_floats);
    }
    /* given parameters of an inference may be const, and have their values */
    if (!m->desc.parameters || tfn__trains(&m->desc)) tfn__init_weights(m);
    return TFN_OK;
}

#ifndef TFNORM_NO_MALLOC
static void *tfn__malloc(size_t size, void *user)
{
    (void)user;
    return malloc(size);
}
static void tfn__free(void *mem, size_t size, void *user)
{
    (void)size;
    (void)user;
    free(mem);
}

/* NULL for nothing, too: a size of 0 is an error that was reported already. */
static void *tfn__allocate(tfn_model *m, const tfn_allocator *a, size_t size)
{
    void *mem;
    if (size == 0) return NULL;
    mem = a->allocate(size, a->user);
    if (!mem)
        tfn__fail(&m->error, TFN_NO_MEMORY, "model", "the allocator has no %d bytes",
                  (int64_t)size, 0);
    return mem;
}

/* Bytes of the block, found with scratch memory that is given back; 0: error. */
static size_t tfn__allocated_size(tfn_model *m, const tfn_model_desc *desc, const tfn_allocator *a)
{
    const size_t scratch = tfn_model_scratch(desc);
    void *mem = tfn__allocate(m, a, scratch);
    size_t bytes;
    if (!mem) return 0;
    bytes = tfn__lay_out(m, desc, mem, scratch, false);
    a->release(mem, scratch, a->user);
    return bytes;
}

/* Scratch, size, block, init. m->mem is set last: tfn_model_init clears the model. A model whose
 * init fails has its block, which tfn_model_free gives back. */
TFNORM_API tfn_status tfn_model_new(tfn_model *m, const tfn_model_desc *desc,
                                    const tfn_allocator *allocator)
{
    static const tfn_allocator standard = { tfn__malloc, tfn__free, NULL };
    const tfn_allocator a = allocator ? *allocator : standard;
    tfn_model_desc resolved;
    size_t bytes;
    void *mem;
    if (!m) return TFN_NULL;
    TFNORM_MEMSET(m, 0, sizeof *m);
    if (!tfn_model_resolve(&resolved, desc, &m->error)) return m->error.status;
    if (!a.allocate) tfn__given(&m->error, "model", "allocator.allocate", NULL);
    if (!a.release) tfn__given(&m->error, "model", "allocator.release", NULL);
    if (m->error.status != TFN_OK) return m->error.status;
    bytes = tfn__allocated_size(m, desc, &a);
    mem = tfn__allocate(m, &a, bytes);
    if (!mem) return m->error.status;
    tfn_model_init(m, desc, mem, bytes);
    m->mem = mem;
    m->mem_size = bytes;
    m->allocator = a;
    return m->error.status;
}

TFNORM_API void tfn_model_free(tfn_model *m)
{
    if (!m) return;
    if (m->mem) m->allocator.release(m->mem, m->mem_size, m->allocator.user);
    TFNORM_MEMSET(m, 0, sizeof *m);
    tfn__fail(&m->error, TFN_NOT_READY, "model", "the model was freed", 0, 0);
}
#endif

/* -- batches ---------------------------------------------------------------------------------- */

/* A batch is arrays of the caller's: tokens (B, T), targets (B, T) or (B), lengths (B), those of a
 * source, segments (B, T). Padding is on the right, beyond the lengths, and is not read: neither
 * checked nor computed. Ids index tables, so that each is checked, before a call changes anything;
 * an error of a batch (TFN_BAD_BATCH) concerns its call alone. Then the arrays are bound to the
 * slots of the run, and forgotten when the call returns. */

/* Ids of sentences (batch, time), and of those with lengths what is no padding: all below `most`,
 * and none below 0 unless such are ignored. The error has the value of the first that is not. */
static void tfn__check_ids(tfn_error *e, const char *text, const int32_t *ids, int32_t batch,
                           int32_t time, const int32_t *lengths, int32_t most, bool ignored)
{
    for (int32_t b = 0; b < batch; b++) {
        const int32_t *row = ids + (int64_t)b * time;
        const int32_t n = lengths ? lengths[b] : time;
        for (int32_t t = 0; t < n; t++)
            if (row[t] >= most || (row[t] < 0 && !ignored)) {
                tfn__fail(e, TFN_BAD_BATCH, "batch", text, row[t], most);
                return;
            }
    }
}

/* Positions of the longest sentence, and lengths within them. */
static void tfn__check_time(tfn_error *e, const char *text, int32_t time, int32_t most,
                            const int32_t *lengths, int32_t batch)
{
    if (time < 1 || time > most) tfn__fail(e, TFN_BAD_BATCH, "batch", text, time, most);
    if (e->status != TFN_OK || !lengths) return;
    for (int32_t b = 0; b < batch; b++)
        if (lengths[b] < 0 || lengths[b] > time)
            tfn__fail(e, TFN_BAD_BATCH, "batch", "a length is %d, the batch has %d positions",
                      lengths[b], time);
}

/* Positions of the encoder, of a source of so many tokens or frames: two convolutions of kernel 3
 * and stride 2 make n positions of 4 n + 3 frames. */
static int32_t tfn__positions(const tfn_model_desc *d, int32_t time)
{
    if (!tfn__has_frames(d)) return time;
    return (time - 3) / 4;
}

/* Frames (batch, source_time, bands) are numbers, any of which is legal. */
static void tfn__check_frames(tfn_error *e, const tfn_model_desc *d, const tfn_batch *x)
{
    if (!x->frames) tfn__fail(e, TFN_BAD_BATCH, "batch", "there are no frames", 0, 0);
    if (x->source_time % 4 != 3)
        tfn__fail(e, TFN_BAD_BATCH, "batch", "%d frames, 4 n + 3 are wanted", x->source_time, 0);
    tfn__check_time(e, "source time is %d, the limit is %d", x->source_time,
                    4 * d->source_context + 3, x->source_lengths, x->batch);
}

/* What the encoder of an encoder-decoder reads. */
static void tfn__check_source(tfn_error *e, const tfn_model_desc *d, const tfn_batch *x)
{
    if (tfn__has_frames(d)) {
        tfn__check_frames(e, d, x);
        return;
    }
    if (!x->source)
        tfn__fail(e, TFN_BAD_BATCH, "batch", "an encoder-decoder wants source tokens", 0, 0);
    tfn__check_time(e, "source time is %d, the limit is %d", x->source_time, d->source_context,
                    x->source_lengths, x->batch);
    if (e->status != TFN_OK) return;
    tfn__check_ids(e, "a source token is %d, the vocabulary has %d", x->source, x->batch,
                   x->source_time, x->source_lengths, d->vocab, false);
}

/* Rows that a batch has: of the target, or of the source where those are more. */
static int64_t tfn__batch_rows(const tfn_model_desc *d, const tfn_batch *x)
{
    const int64_t target = (int64_t)x->batch * x->time;
    int64_t source;
    if (d->arch != TFN_ARCH_ENCODER_DECODER || x->source_time < 0) return tfn__larger_of(target, 0);
    source = (int64_t)x->batch * tfn__positions(d, x->source_time);
    return tfn__larger_of(source, target);
}

/* Within what the tapes were planned for. */
static void tfn__check_sizes_of(tfn_error *e, const tfn_model_desc *d, const tfn_batch *x)
{
    const int64_t rows = tfn__batch_rows(d, x);
    if (d->batch_tokens && rows > d->batch_tokens)
        tfn__fail(e, TFN_BAD_BATCH, "batch", "%d tokens, the limit is %d", rows, d->batch_tokens);
    if (x->batch < 1 || x->batch > d->batch)
        tfn__fail(e, TFN_BAD_BATCH, "batch", "%d sentences, the limit is %d", x->batch, d->batch);
    if (!x->tokens) tfn__fail(e, TFN_BAD_BATCH, "batch", "there are no tokens", 0, 0);
}

/* Targets below 0 are ignored. A head of sequences has one target a sentence, (batch). */
static void tfn__check_targets(tfn_error *e, const tfn_model_desc *d, const tfn_batch *x)
{
    const char *text = "a target is %d, there are %d classes";
    if (d->head == TFN_HEAD_SEQUENCE)
        tfn__check_ids(e, text, x->targets, x->batch, 1, NULL, d->classes, true);
    else
        tfn__check_ids(e, text, x->targets, x->batch, x->time, x->lengths, d->vocab, true);
}

/* A batch that does not fit is refused before anything is touched; the model goes on. Sizes come
 * first: ids are read only as far as they are known to be there. */
static bool tfn__check_batch(tfn_error *e, const tfn_model_desc *d, const tfn_batch *x,
                             bool targets)
{
    tfn__check_sizes_of(e, d, x);
    if (targets && !x->targets)
        tfn__fail(e, TFN_BAD_BATCH, "batch", "there are no targets", 0, 0);
    tfn__check_time(e, "time is %d, the limit is %d", x->time, d->context, x->lengths, x->batch);
    if (e->status != TFN_OK) return false;
    if (d->arch == TFN_ARCH_ENCODER_DECODER) tfn__check_source(e, d, x);
    if (e->status != TFN_OK) return false;
    tfn__check_ids(e, "a token is %d, the vocabulary has %d", x->tokens, x->batch, x->time,
                   x->lengths, d->vocab, false);
    if (targets) tfn__check_targets(e, d, x);
    if (x->segments)
        tfn__check_ids(e, "a segment is %d, there are %d", x->segments, x->batch, x->time,
                       x->lengths, d->segments, false);
    return e->status == TFN_OK;
}

/* The caller's arrays become the inputs of a run, each at the slot that the builder's nodes read.
 * Lengths of sources are copied, in positions, if there is room for them: a model of frames and a
 * decoder have it. */
static void tfn__bind(tfn_run *r, const tfn_model_desc *d, const tfn_batch *x, int32_t *lengths)
{
    r->batch = x->batch;
    r->target = x->time;
    r->source = 0;
    if (d->arch == TFN_ARCH_ENCODER_DECODER) r->source = tfn__positions(d, x->source_time);
    r->start = 0;
    r->skip_padding = true;
    r->ints[TFN_INT_TOKENS] = x->tokens;
    r->ints[TFN_INT_TARGETS] = x->targets;
    r->ints[TFN_INT_LENGTHS] = x->lengths;
    r->ints[TFN_INT_SOURCE] = x->source;
    r->ints[TFN_INT_SOURCE_LENGTHS] = x->source_lengths;
    r->ints[TFN_INT_SEGMENTS] = x->segments;
    if (TFN__ALL) r->inputs[TFN__FRAMES] = x->frames;
    if (!lengths || !x->source_lengths) return;
    for (int32_t b = 0; b < x->batch; b++) lengths[b] = tfn__positions(d, x->source_lengths[b]);
    r->ints[TFN_INT_SOURCE_LENGTHS] = lengths;
}

/* Nothing that a call was given is kept when it returns: the caller may free its arrays. */
static void tfn__unbind(tfn_run *r)
{
    for (int i = 0; i < TFN_SLOTS; i++) {
        r->ints[i] = NULL;
        r->inputs[i] = NULL;
    }
}

/* A word as cluster k has it, -1 if it is of another. The head, cluster 0, has targets for those as
 * well: behind its own words one for each of the other clusters. */
static int32_t tfn__part_word(const tfn_model_desc *d, int32_t k, int32_t word, bool target)
{
    const int32_t low = tfn__cluster_at(d, k);
    const int32_t high = tfn__cluster_at(d, k + 1);
    if (word >= low && word < high) return word - low;
    if (!target || k > 0 || word < high) return -1;
    if (word < tfn__cluster_at(d, 2)) return high;
    return high + 1;
}

/* n words as each cluster has them, into `to` (clusters, n); NULL where there are none. */
static void tfn__part_words(tfn_run *r, const tfn_model_desc *d, int32_t *to, const int32_t *ids,
                            int64_t n, bool targets)
{
    int slot = TFN_INT_CLUSTERS;
    if (targets) slot = TFN_INT_CLUSTER_TARGETS;
    for (int32_t k = 0; k < tfn__clusters(d); k++, to += n) {
        r->ints[slot + k] = NULL;
        if (!ids) continue;
        for (int64_t i = 0; i < n; i++) to[i] = tfn__part_word(d, k, ids[i], targets);
        r->ints[slot + k] = to;
    }
}

/* Half precision computes with a rounded copy of the parameters. Whoever computes has a copy of its
 * own, the model and each decoder, and makes it anew when a call begins: nobody who changes
 * weights, the user with a pointer to them included, has to tell. */
static void tfn__refresh_copy(const tfn_model *m, float *copy)
{
    if (!tfn__is_half(&m->desc)) return;
    TFNORM_MEMCPY(copy, m->params, (size_t)m->param_floats * sizeof(float));
    tfn__round_to_half(copy, (ptrdiff_t)m->param_floats);
}
static void tfn__refresh(tfn_model *m) { tfn__refresh_copy(m, m->run.params); }

/* Tokens and targets by cluster, three pieces of each. */
static void tfn__bind_words(tfn_model *m, const tfn_batch *x, bool targets)
{
    const int64_t n = (int64_t)x->batch * x->time;
    const int32_t *ids = targets ? x->targets : NULL;
    if (!tfn__clusters(&m->desc)) return;
    tfn__part_words(&m->run, &m->desc, m->words, x->tokens, n, false);
    tfn__part_words(&m->run, &m->desc, m->words + 3*n, ids, n, true);
}

/* What every call on a model with a batch begins with: an error, or all is bound. An error of the
 * batch before is forgotten, one of the model itself stays. */
static tfn_status tfn__ready(tfn_model *m, const tfn_batch *x, bool targets)
{
    if (!m) return TFN_NULL;
    tfn__forgive(&m->error);
    tfn__made(&m->error, "model", m->weights);
    if (!x) tfn__fail(&m->error, TFN_BAD_BATCH, "batch", "the batch is NULL", 0, 0);
    if (m->error.status != TFN_OK) return m->error.status;
    if (!tfn__check_batch(&m->error, &m->desc, x, targets)) return m->error.status;
    tfn__bind(&m->run, &m->desc, x, m->lengths);
    tfn__bind_words(m, x, targets);
    m->run.step = m->step;
    tfn__refresh(m);
    return TFN_OK;
}

/* Logits want no targets: the loss node reads ones that are all ignored. */
TFNORM_API const float *tfn_model_logits(tfn_model *m, const tfn_batch *batch)
{
    tfn_status status;
    if (tfn__ready(m, batch, false) != TFN_OK) return NULL;
    m->run.ints[TFN_INT_TARGETS] = NULL;
    status = tfn_tape_forward(&m->infer, &m->run);
    tfn__unbind(&m->run);
    if (status != TFN_OK) return NULL;
    return tfn_value(&m->infer, &m->run, m->logits);
}

/* Whether its group has weight decay. */
static bool tfn__decays(const tfn_model_desc *d, const tfn__weight *w)
{
    return w->kind == TFN__MATRIX || (d->decay_all && w->kind < TFN__STATE);
}

/* -- one step --------------------------------------------------------------------------------- */

/* A step of training is, over `micro_batches` calls of tfn_model_step:
 *
 *     before the first     copy the running statistics; a new model profiles itself
 *     each                 forward, sum of the loss, backward into the gradients (store, then add)
 *     after the last       norm of the gradient; update, loss scale, or all as it was before
 *
 * The loss is a sum over targets, 1/targets is applied once, in the update: so a step of several
 * micro-batches weighs each target alike, however many there are in each. */

/* Nothing may be copied from or to NULL, not even 0 floats. */
static void tfn__copy_floats(float *to, const float *from, int64_t floats)
{
    if (floats > 0) TFNORM_MEMCPY(to, from, (size_t)floats * sizeof(float));
}

/* An update is made whole or not at all. Before its end it changes the running statistics, with
 * each micro-batch, and by a profile, if it is the first one, parameters and buffers: so they are
 * copied first. */
static void tfn__begin_update(tfn_model *m)
{
    tfn__copy_floats(m->before, m->run.buffers, m->buffer_floats);
}

/* Where a profile keeps the parameters that it changes: see tfn__copy_in_moments. */
static float *tfn__params_before(const tfn_model *m)
{
    if (tfn__copy_in_moments(m)) return m->moments;
    return m->before + m->buffer_floats;
}

#ifndef TFNORM_NO_TRAINING
/* Targets are a row for each position, or one for each sentence. */
static tfn_rows tfn__target_rows(const tfn_model *m)
{
    if (m->desc.head == TFN_HEAD_SEQUENCE) return TFN_ROWS_BATCH;
    return TFN_ROWS_TARGET;
}
static ptrdiff_t tfn__targets_each(const tfn_model *m)
{
    if (m->desc.head == TFN_HEAD_SEQUENCE) return 1;
    return m->run.target;
}

/* How many targets count: none of the padding, and none below 0. */
static int64_t tfn__count_targets(const tfn_model *m)
{
    const ptrdiff_t time = tfn__targets_each(m);
    int64_t count = 0;
    for (ptrdiff_t b = 0; b < m->run.batch; b++) {
        const int32_t *targets = m->run.ints[TFN_INT_TARGETS] + b*time;
        const ptrdiff_t counted = tfn__counted_rows(&m->run, tfn__target_rows(m), b);
        for (ptrdiff_t i = 0; i < counted; i++)
            if (targets[i] >= 0) count++;
    }
    return count;
}

/* The flat sum of the values (rows) whose targets count, side by side: those that are ignored must
 * not move a term to another lane. */
static double tfn__sum_targets(const tfn_model *m, const float *values)
{
    const ptrdiff_t time = tfn__targets_each(m);
    tfn__flat_sum sum;
    TFNORM_MEMSET(&sum, 0, sizeof sum);
    for (ptrdiff_t b = 0; b < m->run.batch; b++, values += time) {
        const int32_t *targets = m->run.ints[TFN_INT_TARGETS] + b*time;
        const ptrdiff_t counted = tfn__counted_rows(&m->run, tfn__target_rows(m), b);
        for (ptrdiff_t i = 0; i < counted; i++)
            if (targets[i] >= 0) tfn__flat_add(&sum, values + i, NULL, 1);
    }
    return (double)tfn__flat_total(&sum);
}

/* Sums of the loss per row, with smoothing and without (nll). The loss node saves the latter as the
 * third array of its rows; a sum over clusters of words is never smoothed. */
static void tfn__sum_loss(const tfn_model *m, const tfn_tape *t, tfn_var loss, double *sum,
                          double *nll)
{
    const tfn_node *n = t->nodes + loss.id;
    const ptrdiff_t rows = (ptrdiff_t)tfn__rows_at(n, m->run.batch, m->run.source, m->run.target);
    *sum = tfn__sum_targets(m, m->run.work + n->value[0]);
    *nll = *sum;
    if (n->op == TFN__OP_LOSS) *nll = tfn__sum_targets(m, m->run.work + n->saved[0] + 2*rows);
}

/* Neither infinite nor NaN: for these x - x is NaN. */
static bool tfn__finite(double x) { return x - x >= 0; }

/* Sums over targets become means. */
static void tfn__report(tfn_report *r, double loss, double nll, int64_t tokens, int64_t step)
{
    double scale = 0;
    if (tokens) scale = 1.0 / (double)tokens;
    TFNORM_MEMSET(r, 0, sizeof *r);
    r->loss = loss * scale;
    r->nll = nll * scale;
    r->tokens = tokens;
    r->step = step;
    r->culprit = -1;
}

/* The loss of a batch on the tape `infer`: no dropout, statistics of batches as training left
 * them. */
TFNORM_API tfn_status tfn_model_eval(tfn_model *m, const tfn_batch *batch, tfn_report *report)
{
    double loss;
    double nll;
    tfn_report unread;
    tfn_status status = tfn__ready(m, batch, true);
    if (!report) report = &unread;
    if (status != TFN_OK) return status;
    status = tfn_tape_forward(&m->infer, &m->run);
    if (status == TFN_OK) {
        tfn__sum_loss(m, &m->infer, m->loss, &loss, &nll);
        tfn__report(report, loss, nll, tfn__count_targets(m), m->step);
    }
    tfn__unbind(&m->run);
    return status;
}

/* The parameter whose gradient is not finite, or -1. */
static int32_t tfn__bad_gradient(const tfn_model *m)
{
    for (int32_t i = 0; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        const float *g = m->run.grads + w->at;
        if (w->kind >= TFN__STATE) continue;
        if (!tfn__finite((double)m->kernels->dot(g, g, (ptrdiff_t)w->rows * w->cols))) return i;
    }
    return -1;
}

/* The length of the gradient of the mean loss; what is stored is that of the sum, times the loss
 * scale. */
static float tfn__grad_norm(const tfn_model *m, int32_t *culprit)
{
    const float *g = m->run.grads;
    const double sum = (double)m->kernels->dot(g, g, (ptrdiff_t)m->param_floats);
    *culprit = -1;
    if (tfn__finite(sum)) return TFN__SQRT((float)sum) / (float)m->tokens / m->loss_scale;
    *culprit = tfn__bad_gradient(m);
    return (float)sum;
}

/* Past the last tensor after i that follows it in the same group; state has no place in the flat
 * vector, and belongs to any group. */
static int32_t tfn__group_end(const tfn_model *m, int32_t i)
{
    const bool decays = tfn__decays(&m->desc, m->weights + i);
    for (i++; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        if (w->kind < TFN__STATE && tfn__decays(&m->desc, w) != decays) break;
    }
    return i;
}

/* The numbers of one optimizer step, which is the same for all groups but in weight decay. */
static tfn_update_args tfn__update_args_of(const tfn_model *m, float lr, float grad_scale)
{
    const tfn_model_desc *d = &m->desc;
    tfn_update_args u;
    TFNORM_MEMSET(&u, 0, sizeof u);
    u.optimizer = d->optimizer;
    u.radam = d->radam;
    u.lr = lr;
    u.beta1 = d->beta1;
    u.beta2 = d->beta2;
    u.eps = d->eps;
    u.grad_scale = grad_scale;
    u.nesterov = d->nesterov;
    u.eps_inside = d->eps_inside;
    tfn__update_at(&u, m->step + 1);
    return u;
}

/* The optimizer is one loop over the flat vectors, a run of tensors of one group at a time: those
 * with weight decay, as matrices have it, and those without. The first moment is a flat vector, the
 * second one behind it; an optimizer that keeps fewer does not read them. */
static void tfn__update_all(tfn_model *m, float lr, float grad_scale)
{
    float *first = m->moments;
    float *second = first ? first + m->param_floats : NULL;
    tfn_update_args u = tfn__update_args_of(m, lr, grad_scale);
    int32_t next;
    for (int32_t i = 0; i < m->weight_count; i = next) {
        const tfn__weight *w = m->weights + i;
        const int64_t at = w->at;
        int64_t end = m->param_floats;
        next = i + 1;
        if (w->kind >= TFN__STATE) continue;
        next = tfn__group_end(m, i);
        if (next < m->weight_count) end = m->weights[next].at;
        u.decay = 0;
        if (tfn__decays(&m->desc, w)) u.decay = m->desc.decay;
        m->kernels->update(m->params + at, m->run.grads + at, first ? first + at : NULL,
                           second ? second + at : NULL, (ptrdiff_t)(end - at), &u);
    }
}

/* Running statistics become what the last forward found. The node saves (4, C): the next ones are
 * the last two; its second forward has saved them elsewhere. */
static void tfn__keep_statistics(tfn_model *m)
{
    for (int32_t i = 1; i < m->train.count; i++) {
        const tfn_node *n = m->train.nodes + i;
        const bool again = (n->flags & TFN__AGAIN) != 0;
        const int64_t saved = n->saved[again];
        if (n->op != TFN__OP_COLUMNS) continue;
        TFNORM_MEMCPY(m->run.buffers + m->train.nodes[n->in[3]].value[0],
                      m->run.work + saved + 2*n->cols, 2 * (size_t)n->cols * sizeof(float));
    }
}

/* The weights have seen one more update; 2^24 + 1 is no float, so that the count stops there. */
static void tfn__count_update(tfn_model *m)
{
    for (int32_t i = 0; i < m->weight_count; i++)
        if (m->weights[i].kind == TFN__UPDATES) *tfn__weight_data(m, m->weights + i) += 1;
}

/* The dynamic loss scale (Micikevicius 2018, section 3.2; window and minimum of Liu 2020): half of
 * it after an update that was skipped, twice after 256 that were not. Gradients are stored times
 * the scale, so that small ones are no zeros in half precision. Below the minimum training has
 * failed: the step says so, and goes on at the minimum. */
static tfn_status tfn__rescale(tfn_model *m, bool skipped)
{
    const float least = (float)0.03125;
    const int32_t window = 256;
    if (!m->desc.half) return TFN_OK;
    if (skipped) {
        m->loss_scale *= (float)0.5;
    } else {
        m->finite_steps++;
        if (m->finite_steps < window) return TFN_OK;
        m->loss_scale *= 2;
    }
    m->finite_steps = 0;
    if (m->loss_scale >= least) return TFN_OK;
    m->loss_scale = least;
    return TFN_NOT_FINITE;
}

static bool tfn__all_finite(const float *p, int64_t floats)
{
    for (int64_t i = 0; i < floats; i++)
        if (!tfn__finite((double)p[i])) return false;
    return true;
}

/* The profile stands: the moments are 0 again. */
static void tfn__close_profile(tfn_model *m)
{
    if (m->profile_open && tfn__wants_profile(m) && tfn__copy_in_moments(m))
        tfn__clear(m->moments, m->param_floats);
    m->profile_open = false;
}

/* All is as before the update began: statistics, and where its profile had changed them, the
 * parameters. Gradients are not restored, the next update stores new ones. */
static void tfn__undo_update(tfn_model *m)
{
    tfn__copy_floats(m->run.buffers, m->before, m->buffer_floats);
    if (m->profile_open) {
        m->profiled = false;
        if (tfn__wants_profile(m))
            tfn__copy_floats(m->params, tfn__params_before(m), m->param_floats);
    }
    tfn__close_profile(m);
    tfn__refresh(m);
}

/* A running statistic that is not finite, or -1. */
static int32_t tfn__bad_statistic(const tfn_model *m)
{
    for (int32_t i = 0; i < m->weight_count; i++) {
        const tfn__weight *w = m->weights + i;
        if (w->kind < TFN__STATE) continue;
        if (!tfn__all_finite(tfn__weight_data(m, w), (int64_t)w->rows * w->cols)) return i;
    }
    return -1;
}

/* All that the update is made of is finite, and there is something to learn. The first update of a
 * model that is still not profiled has seen its profile refused. */
static bool tfn__update_holds(const tfn_model *m, tfn_report *report)
{
    if (!tfn__finite(m->loss_sum)) return false;
    report->grad_norm = tfn__grad_norm(m, &report->culprit);
    if (!tfn__finite((double)report->grad_norm)) return false;
    report->culprit = tfn__bad_statistic(m);
    if (report->culprit >= 0) return false;
    return m->tokens > 0 && (m->profiled || m->step > 0);
}

/* Clip, update, and put the weights where their rules want them. The gradient of the mean loss is
 * the stored one over the tokens and the loss scale; clipping makes it no longer than `clip`. */
static void tfn__apply_update(tfn_model *m, tfn_report *report)
{
    const float scale = (float)(1.0 / (double)m->tokens) / m->loss_scale;
    float factor = 1;
    if (m->desc.clip > 0) factor = m->desc.clip / (report->grad_norm + (float)1e-6);
    if (!(factor < 1)) factor = 1;
    tfn__close_profile(m);
    tfn__update_all(m, report->lr, scale * factor);
    if (!m->desc.schedule.frozen) {
        tfn__unit_weights(m);
        tfn__follow_sigma(m);
    }
    tfn__count_update(m);
    m->step++;
    report->updated = true;
}

/* All micro-batches are in: the update, or what was before it. */
static tfn_status tfn__finish_step(tfn_model *m, tfn_report *report)
{
    tfn_status status = TFN_OK;
    tfn__report(report, m->loss_sum, m->nll_sum, m->tokens, m->step);
    report->lr = tfn_schedule_at(&m->desc.schedule, m->step + 1, m->desc.width);
    report->loss_scale = m->loss_scale;
    report->skipped = !tfn__update_holds(m, report);
    if (report->skipped) tfn__undo_update(m);
    else tfn__apply_update(m, report);
    if (m->tokens) status = tfn__rescale(m, report->skipped);
    report->step = m->step;
    m->micro = 0;
    m->tokens = 0;
    m->loss_sum = 0;
    m->nll_sum = 0;
    return status;
}

/* The key of this forward's dropout: seed, step, micro-batch. A resumed run draws the same
 * masks. */
static tfn_key tfn__step_key(const tfn_model *m)
{
    tfn_key key = tfn_key_fold(tfn_key_make(m->desc.seed), 2);
    key = tfn_key_fold(key, (uint64_t)m->step);
    return tfn_key_fold(key, (uint64_t)m->micro);
}

/* -- data-dependent initialization: forwards of the training tape, watched by probes ---------- */

/* LSUV changes one matrix at a time, in the order of the flat vector, until its output has variance
 * 1: a forward for each try. Admin needs one forward: each skip's scale is set when its probe is
 * reached, from the variances of the branches before it, and what follows is computed with it. A
 * model that has both does LSUV first, since it changes what Admin measures. */

/* What the probe of this number watches, for its rows; the probe itself gets values alone. */
static const tfn_node *tfn__probed_node(const tfn_tape *t, int32_t id)
{
    for (int32_t i = 1; i < t->count; i++)
        if (t->nodes[i].op == TFN__OP_PROBE && t->nodes[i].arg[0] == id)
            return t->nodes + t->nodes[i].in[0];
    return t->nodes;
}

/* The sum of (x - mean)^power, power 1 or 2, of a value's rows that count, and their number. */
static double tfn__sum_powers(const tfn_run *r, const tfn_node *n, const float *x, double mean,
                              int power, int64_t *count)
{
    const tfn_rows kind = (tfn_rows)n->rows;
    const bool sentences = tfn__padding_of(r, kind) != NULL;
    const ptrdiff_t rows = (ptrdiff_t)tfn__rows_at(n, r->batch, r->source, r->target);
    const ptrdiff_t pieces = sentences ? r->batch : 1;
    const ptrdiff_t each = rows / tfn__max(pieces, 1);
    double sum = 0;
    *count = 0;
    for (ptrdiff_t b = 0; b < pieces; b++) {
        const float *piece = x + b*each*n->cols;
        ptrdiff_t values = each * n->cols;
        if (sentences) values = tfn__counted_rows(r, kind, b) * n->cols;
        for (ptrdiff_t i = 0; i < values; i++) {
            const double d = (double)piece[i] - mean;
            if (power == 2) sum += d*d;
            else sum += d;
        }
        *count += values;
    }
    return sum;
}

/* The variance of what a probe watches, over all rows that count; NaN if there are none. */
static double tfn__variance_of(const tfn_model *m, int32_t id, const float *x)
{
    const tfn_node *n = tfn__probed_node(&m->train, id);
    int64_t count;
    const double mean = tfn__sum_powers(&m->run, n, x, 0, 1, &count) / (double)count;
    return tfn__sum_powers(&m->run, n, x, mean, 2, &count) / (double)count;
}

typedef struct tfn__profile {
    tfn_model *m;
    double     ratio[3];               /* Admin: the running scalar r of each stack */
    double     branch;                 /* and Var(F) */
    int32_t    target;                 /* LSUV: the weight whose output is wanted */
    double     variance;               /* and its variance */
    bool       refused;                /* a number was not finite */
} tfn__profile;

/* The scale of a skip becomes r, also in the rounded copy: this very forward goes on with it. */
static void tfn__set_profiled(tfn_model *m, const tfn__weight *w, float r)
{
    float *scale = tfn__weight_data(m, w);
    for (int32_t i = 0; i < w->cols; i++) scale[i] = r;
    if (m->desc.half && w->kind < TFN__STATE)
        tfn__copy_floats(m->run.params + w->at, scale, w->cols);
}

/* Admin (Liu 2020, section 4.3; the authors' code): w := r at once, so that what follows sees it;
 * r := sqrt(Var(w x) + Var(F)), variances over the tensor without its padding, which the authors'
 * code includes. r starts at 1. The branch is seen before the skip. */
static void tfn__profile_probe(void *user, int32_t id, const float *data, ptrdiff_t rows,
                               ptrdiff_t cols, bool backward)
{
    tfn__profile *p = (tfn__profile *)user;
    const bool is_branch = id % 2 == 0;
    const tfn__weight *w;
    double variance;
    double *ratio;
    float r;
    (void)rows;
    (void)cols;
    if (backward || id < TFN__PROFILE || id >= TFN__OUTPUTS) return;
    w = p->m->weights + (id - TFN__PROFILE) / 2;
    variance = tfn__variance_of(p->m, id, data);
    if (!tfn__finite(variance)) p->refused = true;
    if (is_branch) {
        p->branch = variance;
        return;
    }
    ratio = p->ratio + w->stack;
    r = (float)*ratio;
    if (!tfn__finite((double)r)) p->refused = true;
    tfn__set_profiled(p->m, w, r);
    *ratio = (double)TFN__SQRT((float)((double)r * (double)r * variance + p->branch));
}

/* LSUV: the variance of the one output that is wanted. */
static void tfn__output_probe(void *user, int32_t id, const float *data, ptrdiff_t rows,
                              ptrdiff_t cols, bool backward)
{
    tfn__profile *p = (tfn__profile *)user;
    (void)rows;
    (void)cols;
    if (backward || id != TFN__OUTPUTS + p->target) return;
    p->variance = tfn__variance_of(p->m, id, data);
}

/* A forward of the training tape with the batch that is bound, and our probe in the place of the
 * user's. Dropout is as the first step will have it. */
static void tfn__forward_probed(tfn__profile *p, tfn_probe_fn *probe)
{
    tfn_run r = p->m->run;
    r.probe = probe;
    r.probe_user = p;
    r.key = tfn__step_key(p->m);
    tfn_tape_forward(&p->m->train, &r);
}

/* W of p->target over the deviation of its output until the variance is within 0.1 of 1, at most
 * ten times. False: a variance is not finite. */
static bool tfn__unit_output(tfn__profile *p)
{
    const tfn__weight *w = p->m->weights + p->target;
    float *data = tfn__weight_data(p->m, w);
    for (int tries = 0; tries < 10; tries++) {
        float variance;
        p->variance = 1;
        tfn__forward_probed(p, tfn__output_probe);
        variance = (float)p->variance;
        if (!tfn__finite((double)variance)) return false;
        if (!(variance > 0)) return true;
        if (p->variance > 0.9 && p->variance < 1.1) return true;
        for (int64_t i = 0; i < (int64_t)w->rows * w->cols; i++) data[i] /= TFN__SQRT(variance);
        tfn__refresh(p->m);
    }
    return true;
}

/* LSUV (Mishkin & Matas 2016): the matrices of linear maps in order, each of which changes what
 * the next ones see. */
static void tfn__unit_outputs(tfn__profile *p)
{
    for (p->target = 0; p->target < p->m->weight_count; p->target++) {
        const tfn__weight *w = p->m->weights + p->target;
        if (w->kind != TFN__MATRIX || tfn__is_table(w->part)) continue;
        if (!tfn__unit_output(p)) p->refused = true;
        if (p->refused) return;
    }
}

/* At the beginning of an update, which may still undo it. False: it was refused, because a number
 * is not finite, and all is as before. */
static bool tfn__open_profile(tfn_model *m)
{
    tfn__profile p;
    TFNORM_MEMSET(&p, 0, sizeof p);
    p.m = m;
    p.ratio[TFN__IN_ENCODER] = 1;
    p.ratio[TFN__IN_DECODER] = 1;
    m->profiled = true;
    m->profile_open = true;
    if (!tfn__wants_profile(m)) return true;
    tfn__copy_floats(tfn__params_before(m), m->params, m->param_floats);
    if (tfn__wants_unit_variance(&m->desc)) tfn__unit_outputs(&p);
    tfn__forward_probed(&p, tfn__profile_probe);
    tfn__fold_skips(m);
    if (!tfn__all_finite(m->params, m->param_floats + m->buffer_floats)) p.refused = true;
    if (p.refused) tfn__undo_update(m);
    return !p.refused;
}

/* A model that was neither profiled nor trained; only such a one profiles itself. */
static bool tfn__is_new(const tfn_model *m) { return !m->profiled && !m->step && !m->micro; }

/* The run passes the probe on from now on. */
TFNORM_API tfn_status tfn_model_watch(tfn_model *m, tfn_probe_fn *probe, void *user)
{
    if (!m) return TFN_NULL;
    tfn__made(&m->error, "model", m->weights);
    if (m->error.status != TFN_OK && m->error.status != TFN_BAD_BATCH) return m->error.status;
    if (!m->desc.probes || m->desc.inference) return TFN_NOT_READY;
    m->run.probe = probe;
    m->run.probe_user = user;
    return TFN_OK;
}

/* The data-dependent start on a batch of the user's choice. Targets are ignored, so none need be
 * given. */
TFNORM_API tfn_status tfn_model_profile(tfn_model *m, const tfn_batch *batch)
{
    tfn_status status = tfn__ready(m, batch, false);
    if (status != TFN_OK) return status;
    if (m->desc.inference) {
        tfn__unbind(&m->run);
        return tfn__fail(&m->error, TFN_NOT_READY, "model",
                         "a model made for inference cannot profile", 0, 0);
    }
    m->run.ints[TFN_INT_TARGETS] = NULL;
    if (tfn__is_new(m)) {
        tfn__begin_update(m);
        if (!tfn__open_profile(m)) status = TFN_NOT_FINITE;
        tfn__close_profile(m);
    }
    tfn__unbind(&m->run);
    return status;
}

/* A step whose batch is bound: the first micro-batch stores gradients, the others add. A loss that
 * is not finite has no backward: the update it belongs to is skipped anyway. Until the last
 * micro-batch is in, the report is of this one. */
static tfn_status tfn__step_bound(tfn_model *m, tfn_report *report)
{
    double loss;
    double nll;
    if (!m->micro) tfn__begin_update(m);
    if (tfn__is_new(m)) {
        tfn__open_profile(m);
        tfn__refresh(m);
    }
    m->run.loss_scale = m->loss_scale;
    m->run.key = tfn__step_key(m);
    m->run.accumulate = m->micro > 0;
    tfn_tape_forward(&m->train, &m->run);
    tfn__sum_loss(m, &m->train, m->train_loss, &loss, &nll);
    m->loss_sum += loss;
    m->nll_sum += nll;
    m->tokens += tfn__count_targets(m);
    if (tfn__finite(loss)) {
        tfn_tape_backward(&m->train, &m->run);
        tfn__keep_statistics(m);
    }
    m->micro++;
    if (m->micro == m->desc.micro_batches) return tfn__finish_step(m, report);
    tfn__report(report, loss, nll, tfn__count_targets(m), m->step);
    return TFN_OK;
}

TFNORM_API tfn_status tfn_model_step(tfn_model *m, const tfn_batch *batch, tfn_report *report)
{
    tfn_report unread;
    tfn_status status = tfn__ready(m, batch, true);
    if (!report) report = &unread;
    if (status != TFN_OK) return status;
    if (m->desc.inference)
        status = tfn__fail(&m->error, TFN_NOT_READY, "model",
                           "a model made for inference cannot train", 0, 0);
    else status = tfn__step_bound(m, report);
    tfn__unbind(&m->run);
    return status;
}
#else
/* A build without training has the names, and says what it lacks. */
TFNORM_API tfn_status tfn_model_eval(tfn_model *m, const tfn_batch *batch, tfn_report *report)
{
    return tfn_model_step(m, batch, report);
}
TFNORM_API tfn_status tfn_model_step(tfn_model *m, const tfn_batch *batch, tfn_report *report)
{
    (void)batch;
    (void)report;
    if (!m) return TFN_NULL;
    return tfn__fail(&m->error, TFN_UNSUPPORTED, "model", "this build has no training", 0, 0);
}
TFNORM_API tfn_status tfn_model_profile(tfn_model *m, const tfn_batch *batch)
{
    return tfn_model_step(m, batch, NULL);
}
TFNORM_API tfn_status tfn_model_watch(tfn_model *m, tfn_probe_fn *probe, void *user)
{
    (void)probe;
    (void)user;
    return tfn_model_step(m, NULL, NULL);
}
#endif

/* The number of a point, read as tfn__point_at has written it. */
TFNORM_API tfn_probe_info tfn_probe_of(int32_t id)
{
    tfn_probe_info info = { TFN_WATCH_NONE, TFN_SUBLAYER_SELF_ATTENTION, false, 0 };
    const int32_t point = id & ((1 << TFN__KIND_BIT) - 1);
    if (id < 1 || id >= TFN__PROFILE || point > TFN_WATCH_STACK) return info;
    info.point = (tfn_watched)point;
    info.kind = (tfn_sublayer)(id >> TFN__KIND_BIT & 7);
    info.decoder = id >> TFN__DECODER_BIT & 1;
    info.layer = id >> TFN__LAYER_BIT;
    return info;
}

/* -- parameters by name, hash ----------------------------------------------------------------- */

/* Everything about weight i; its name is written anew at each call, its data are the model's. */
TFNORM_API bool tfn_model_param(const tfn_model *m, int32_t i, tfn_param_info *info)
{
    const tfn__weight *w;
    tfn__text t;
    if (!m || !info) return false;
    t = tfn__text_in(info->name, sizeof info->name);
    if (m->error.status != TFN_OK && m->error.status != TFN_BAD_BATCH) return false;
    if (i < 0 || i >= m->weight_count) return false;
    w = m->weights + i;
    tfn__weight_name(w, &t);
    tfn__end(&t);
    info->data = tfn__weight_data(m, w);
    info->grad = NULL;
    if (m->run.grads && w->kind < TFN__STATE) info->grad = m->run.grads + w->at;
    info->rows = w->rows;
    info->cols = w->cols;
    info->layer = w->layer;
    info->decay = tfn__decays(&m->desc, w);
    return true;
}

/* The bits of all weights and state in their order, without the padding, mixed one after the other:
 * two weights that change places change the hash. */
TFNORM_API uint64_t tfn_model_hash(const tfn_model *m)
{
    uint64_t hash = 0;
    tfn_param_info p;
    for (int32_t i = 0; tfn_model_param(m, i, &p); i++)
        for (int64_t j = 0; j < (int64_t)p.rows * p.cols; j++) {
#ifdef TFN__DOUBLE
            uint64_t bits;
#else
            uint32_t bits;
#endif
            TFNORM_MEMCPY(&bits, p.data + j, sizeof bits);
            hash = tfn__mix(hash ^ bits) + UINT64_C(0x9e3779b97f4a7c15);
        }
    return hash;
}
#endif /* TFN__IMPLEMENTING */
/* >> decoder */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY && !defined TFNORM_ONLY_KERNELS
/* Inference with a cache. The keys and values of positions that were fed are kept, so that the next
 * token costs the work of one position, and its attention as much as there are positions before it.
 *
 * Two tapes are recorded by the functions that record the model itself, over one state:
 *
 *   encode   of an encoder-decoder: the encoder, then for each layer of the decoder the keys and
 *            values of its cross-attention. tfn_decoder_start runs it, once a sentence.
 *   decode   up to `chunk` positions of the decoder, whose keys and values are appended to the
 *            caches at position run.start. tfn_decoder_next runs it.
 *
 * The caches of the memory (what the decoder sees of the source) come first in the state, one a
 * layer, and both tapes record them first: so they agree on where each stands. The caches of the
 * past follow. In order: recording, memory, start, reordering for beams, next. */

/* -- recording ------------------------------------------------------------------------------- */

/* The encoder's stack, and what each layer of the decoder attends to: keys and values depend on the
 * source alone, so they are computed once a sentence and not at each token. */
static void tfn__record_encode(tfn__builder *b)
{
    const tfn_model_desc *d = b->d;
    tfn__build_table(b);
    b->memory = tfn__build_stack(b, TFN__IN_ENCODER);
    for (int32_t layer = 0; layer < d->decoder_layers; layer++) {
        const tfn__spot at = tfn__spot_in(TFN__IN_DECODER, layer, TFN_SUBLAYER_CROSS_ATTENTION);
        const tfn_var from = tfn__memory_of(b, at);
        const tfn_var k = tfn__project(b, at, from, false, false);      /* a key, not rotated */
        const tfn_var v = tfn__project_values(b, at, from);
        tfn__memory_cache(b, k, v);
    }
}

/* The decoder's stack with caches in place of the past (b->decode). Returns the logits (B, V) of
 * the last position that is fed: the head is applied to no other. */
static tfn_var tfn__record_decode(tfn__builder *b)
{
    const tfn_model_desc *d = b->d;
    tfn_var x;
    b->decode = true;
    tfn__build_table(b);
    if (d->arch == TFN_ARCH_ENCODER_DECODER) {      /* without inputs: the other tape fills them */
        b->memory = tfn__memory_cache(b, tfn__none, tfn__none);
        for (int32_t l = 1; l < d->decoder_layers; l++) tfn__memory_cache(b, tfn__none, tfn__none);
    }
    x = tfn__build_stack(b, TFN__IN_DECODER);
    x = tfn__build_logits(b, tfn__last(b->t, x));
    tfn_keep(b->t, x);
    return x;
}

/* Record and plan one of the tapes in the block: encode sees no targets, decode `chunk` of them at
 * most. */
static void tfn__lay_tape(tfn_decoder *d, tfn__arena *a, tfn_tape *t, bool encode)
{
    const tfn_model *m = d->model;
    tfn__builder b;
    int32_t source = 0;
    int32_t target = 0;
    if (d->error.status != TFN_OK) return;
    TFNORM_MEMSET(&b, 0, sizeof b);
    b.t = t;
    b.d = &m->desc;
    b.weights = m->weights;
    b.count = m->weight_count;

    if (m->desc.arch == TFN_ARCH_ENCODER_DECODER) source = m->desc.source_context;
    if (!encode) target = d->chunk;
    tfn__tape_begin(t, a, d->batch, source, target, false);
    if (encode) tfn__record_encode(&b);
    else d->logits = tfn__record_decode(&b);
    if (tfn__tape_end(t, a, m->kernels, &m->desc) != TFN_OK) d->error = t->error;
}

/* -- one block of memory --------------------------------------------------------------------- */

/* Room for so many floats or int32_t, which are no longer; NULL for none: a tape without state or
 * work has no array for it. */
static void *tfn__take_numbers(tfn_decoder *d, tfn__arena *a, int64_t count)
{
    if (count == 0) return NULL;
    return tfn__take(a, tfn__count(count), sizeof(float), &d->error);
}

/* The first error of a decoder or generator is that of its model, or that there is no model. What
 * was wrong with a batch concerned that call of the model alone. */
static void tfn__model_for(tfn_error *e, const char *op, const tfn_model *m)
{
    tfn__no_error(e);
    if (!tfn__given(e, op, "model", m)) return;
    *e = m->error;
    tfn__forgive(e);
    if (!m->weights) tfn__fail(e, TFN_NOT_READY, op, "the model was not initialized", 0, 0);
}

/* The options: 0 stands for 1. */
static void tfn__decoder_resolve(tfn_decoder *d, const tfn_model *m, int32_t batch, int32_t chunk)
{
    d->model = m;
    d->batch = tfn__or(batch, 1);
    d->chunk = tfn__or(chunk, 1);
    if (m->desc.arch == TFN_ARCH_ENCODER)
        tfn__fail(&d->error, TFN_BAD_OPTION, "decoder", "an encoder has nothing to decode", 0, 0);
    tfn__in_range(&d->error, "decoder", "a decoder's batch", d->batch, 1, TFN__SIDE);
    tfn__in_range(&d->error, "decoder", "a chunk of tokens", d->chunk, 1, m->desc.context);
}

/* What the tapes run in, behind them in the block. */
static void tfn__lay_run(tfn_decoder *d, tfn__arena *a)
{
    const tfn_model *m = d->model;
    const int32_t kv_width = m->desc.width / m->desc.heads * m->desc.kv_heads;
    int64_t work = d->decode.work;
    if (d->encode.work > work) work = d->encode.work;
    d->lengths = (int32_t *)tfn__take_numbers(d, a, d->batch);
    if (tfn__clusters(&m->desc))            /* at most three clusters */
        d->words = (int32_t *)tfn__take_numbers(d, a, (int64_t)3 * d->batch * d->chunk);
    d->run.state = (float *)tfn__take_numbers(d, a, d->decode.state);
    if (d->batch > 1)                       /* reordering beams puts a cache of the past aside */
        d->spare = (float *)tfn__take_numbers(d, a, (int64_t)d->batch * m->desc.context * kv_width);
    d->run.work = (float *)tfn__take_numbers(d, a, work);
    d->run.params = m->params;
    if (TFN__ALL && m->desc.half)
        d->run.params = (float *)tfn__take_numbers(d, a, m->param_floats);
}

/* Check, record and lay out a decoder. Returns the bytes that it takes, 0 after an error. To size
 * one (real is false), `mem` is scratch that the tapes are recorded in; what comes behind them is
 * only counted. */
static size_t tfn__lay_decoder(tfn_decoder *d, const tfn_model *m, int32_t batch, int32_t chunk,
                               void *mem, size_t size, bool real)
{
    tfn__arena a;
    if (!mem) size = 0;
    a = tfn__arena_in(mem, size);
    TFNORM_MEMSET(d, 0, sizeof *d);
    tfn__model_for(&d->error, "decoder", m);
    if (d->error.status != TFN_OK) return 0;

    tfn__decoder_resolve(d, m, batch, chunk);
    if (m->desc.arch == TFN_ARCH_ENCODER_DECODER) tfn__lay_tape(d, &a, &d->encode, true);
    tfn__lay_tape(d, &a, &d->decode, false);
    if (d->error.status != TFN_OK) return 0;

    if (!real) tfn__only_count(&a);
    tfn__lay_run(d, &a);
    if (a.peak < a.used) a.peak = a.used;
    if (d->error.status != TFN_OK) return 0;
    return a.peak + TFN__ALIGN - 1;         /* as much as aligning a block may cost */
}

TFNORM_API size_t tfn_decoder_size(const tfn_model *m, int32_t batch, int32_t chunk, void *scratch,
                                   size_t scratch_size)
{
    tfn_decoder d;
    return tfn__lay_decoder(&d, m, batch, chunk, scratch, scratch_size, false);
}

TFNORM_API tfn_status tfn_decoder_init(tfn_decoder *d, const tfn_model *m, int32_t batch,
                                       int32_t chunk, void *mem, size_t size)
{
    size_t bytes;
    if (!d) return TFN_NULL;
    bytes = tfn__lay_decoder(d, m, batch, chunk, mem, size, true);
    if (d->error.status == TFN_OK && bytes > size)
        tfn__fail(&d->error, TFN_NO_MEMORY, "decoder", "the block has %d bytes, %d are wanted",
                  (int64_t)size, (int64_t)bytes);
    if (d->error.status != TFN_OK) return d->error.status;

    tfn__clear(d->run.state, d->decode.state);
    d->run.buffers = m->run.buffers;
    d->run.tables = m->run.tables;
    d->run.batch = d->batch;
    if (m->desc.arch == TFN_ARCH_ENCODER_DECODER) return TFN_OK;    /* it waits for a source */
    return tfn_decoder_start(d, NULL);
}

/* -- start ----------------------------------------------------------------------------------- */

/* Encode the source of an encoder-decoder into the caches of the memory. Of the batch only the
 * lengths are used again: tfn__bind copies them, and the copy is bound for the tokens to come. */
static tfn_status tfn__start_source(tfn_decoder *d, const tfn_batch *source)
{
    const tfn_model_desc *m = &d->model->desc;
    int32_t sentences = 0;
    tfn_status status;
    if (source) sentences = source->batch;
    if (sentences < 1 || sentences > d->batch)
        tfn__fail(&d->error, TFN_BAD_BATCH, "decoder", "%d source sentences, the limit is %d",
                  sentences, d->batch);
    else tfn__check_source(&d->error, m, source);
    if (d->error.status != TFN_OK) return d->error.status;

    tfn__bind(&d->run, m, source, d->lengths);
    d->run.target = 0;
    d->started = true;
    tfn__refresh_copy(d->model, d->run.params);
    status = tfn_tape_forward(&d->encode, &d->run);
    tfn__unbind(&d->run);
    if (source->source_lengths) d->run.ints[TFN_INT_SOURCE_LENGTHS] = d->lengths;
    return status;
}

TFNORM_API tfn_status tfn_decoder_start(tfn_decoder *d, const tfn_batch *source)
{
    if (!d) return TFN_NULL;
    tfn__forgive(&d->error);
    tfn__made(&d->error, "decoder", d->model);
    if (d->error.status != TFN_OK) return d->error.status;
    if (d->model->desc.arch == TFN_ARCH_ENCODER_DECODER) return tfn__start_source(d, source);
    d->run.start = 0;           /* what the caches hold beyond it is never read */
    return TFN_OK;
}

/* -- caches ---------------------------------------------------------------------------------- */

/* The keys (part 0) or values (part 1) of the cache that node n names: B rows, one for each
 * sentence or beam, of *floats numbers each. tfn__cache laid them out: offset arg[2] in units of 64
 * floats, width cols, capacity arg[1]. */
static float *tfn__cache_part(const tfn_decoder *d, const tfn_node *n, int part, ptrdiff_t *floats)
{
    *floats = (ptrdiff_t)n->cols * n->arg[1];
    return d->run.state + (int64_t)n->arg[2]*64 + part * d->batch * *floats;
}

static bool tfn__is_memory(const tfn_node *n) { return n->op == TFN__OP_MEMORY; }

/* Row b of each cache of the past becomes what row beam[b] was. Two beams may swap, so all rows
 * that go elsewhere are put aside before any is written. */
static void tfn__reorder(tfn_decoder *d, const int32_t *beam)
{
    for (int32_t i = 1; i < d->decode.count; i++) {
        const tfn_node *n = d->decode.nodes + i;
        if (n->op != TFN__OP_CACHE) continue;
        for (int part = 0; part < 2; part++) {
            ptrdiff_t row;
            float *cache = tfn__cache_part(d, n, part, &row);
            const size_t bytes = (size_t)row * sizeof(float);
            for (int32_t b = 0; b < d->run.batch; b++)
                if (beam[b] != b) TFNORM_MEMCPY(d->spare + b*row, cache + beam[b]*row, bytes);
            for (int32_t b = 0; b < d->run.batch; b++)
                if (beam[b] != b) TFNORM_MEMCPY(cache + b*row, d->spare + b*row, bytes);
        }
    }
}

/* -- next ------------------------------------------------------------------------------------ */

/* tokens (B, time), beam (B) or NULL. */
static bool tfn__check_next(tfn_decoder *d, const int32_t *tokens, int32_t time,
                            const int32_t *beam)
{
    const tfn_model_desc *m = &d->model->desc;
    const int32_t left = m->context - d->run.start;
    tfn_error *e = &d->error;
    if (m->arch == TFN_ARCH_ENCODER_DECODER && !d->started)
        tfn__fail(e, TFN_BAD_BATCH, "decoder", "tfn_decoder_start was not called", 0, 0);
    if (time < 1 || time > d->chunk)
        tfn__fail(e, TFN_BAD_BATCH, "decoder", "%d tokens at once, the limit is %d", time,
                  d->chunk);
    if (time > left)
        tfn__fail(e, TFN_BAD_BATCH, "decoder", "%d tokens, the context has room for %d", time,
                  left);
    if (e->status != TFN_OK) return false;

    tfn__check_ids(e, "a token is %d, the vocabulary has %d", tokens, d->run.batch, time, NULL,
                   m->vocab, false);
    if (beam)
        tfn__check_ids(e, "beam %d, there are %d", beam, 1, d->run.batch, NULL, d->run.batch,
                       false);
    return e->status == TFN_OK;
}

TFNORM_API const float *tfn_decoder_next(tfn_decoder *d, const int32_t *tokens, int32_t time,
                                         const int32_t *beam)
{
    tfn_status status;
    if (!d) return NULL;
    tfn__forgive(&d->error);
    tfn__made(&d->error, "decoder", d->model);
    if (!tokens) tfn__fail(&d->error, TFN_BAD_BATCH, "decoder", "there are no tokens", 0, 0);
    if (d->error.status != TFN_OK) return NULL;
    if (!tfn__check_next(d, tokens, time, beam)) return NULL;

    if (beam && d->batch > 1) tfn__reorder(d, beam);
    d->run.target = time;
    d->run.ints[TFN_INT_TOKENS] = tokens;
    tfn__part_words(&d->run, &d->model->desc, d->words, tokens, (int64_t)d->run.batch * time,
                    false);
    if (d->run.start == 0) tfn__refresh_copy(d->model, d->run.params);     /* of half precision */
    status = tfn_tape_forward(&d->decode, &d->run);
    d->run.ints[TFN_INT_TOKENS] = NULL;         /* nothing of the caller's is kept */
    if (status != TFN_OK) return NULL;
    d->run.start += time;
    return tfn_value(&d->decode, &d->run, d->logits);
}
#endif /* TFN__IMPLEMENTING */
/* >> generate */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY && !defined TFNORM_ONLY_KERNELS
/* Text from a model: greedy, drawn, or by beam search. In order: options, memory, prompts, caches,
 * candidates, draws, hypotheses, and the loop over all that, tfn_generator_run.
 *
 * The sentences of a call advance side by side. At each position a sentence is fed the next token
 * of its prompt or, past it, what it chose: prompts of different lengths want no padding. Step t of
 * a sentence chooses its token t, counted from the end of its prompt. Sentences that are done leave
 * the decoder, and the rows of the others close up.
 *
 * All choices are made from log p(v) = x[v] - log sum exp x in double, so that they are as
 * reproducible as the logits x. A beam's sum is that of log p over its tokens; a hypothesis scores
 *
 *     score = sum(log p) / length^length_penalty,         the end token counted in the length
 *
 * as in fairseq (Ott et al. 2019); GNMT's ((5 + length)/6)^a (Wu et al. 2016) is another function.
 *
 * Rows: sentence order[i] has `width` rows of the decoder from i*width on, one for each beam; width
 * is 1 without a beam search. The state of a run, for sentences s and rows r:
 *
 *   fed                 positions fed so far: sentence s is at step fed - begin[s], below 0 in its
 *                       prompt
 *   begin[s], last[s]   tokens of its prompt; the step at which it ends at the latest
 *   found[s], alive[s]  hypotheses that it has; beams that go on, 0: it is done
 *   order, live         the sentences that go on, and how many they are
 *   next[r], from[r]    the token to feed, and the row whose past this one continues
 *   sums                (sentences, width): sum of log p of each beam
 *   chosen, parent      (steps, sentences, width): what a beam chose, and the beam that it
 *                       continues; hypotheses are traced back along them
 *   score, row, token   the candidates of one step of one sentence, `count` of at most `room`, the
 *                       best first: sum of log p, beam that it continues, token that it chooses */

/* -- options --------------------------------------------------------------------------------- */

/* Tokens of a prompt fed at once: products with a matrix, which cost less than those with as many
 * vectors. A translation's prompt is one token as a rule. */
enum { TFN__PROMPT_CHUNK = 16 };

/* What 0 means. An option whose 0 is of use has a second one that says so: allow_empty for
 * min_tokens, unnormalized for length_penalty. */
static void tfn__generate_defaults(tfn_generate_desc *d, const tfn_model_desc *m)
{
    d->sentences = tfn__or(d->sentences, 1);
    d->max_tokens = tfn__or(d->max_tokens, 200);
    if (!d->allow_empty) d->min_tokens = tfn__or(d->min_tokens, 1);
    if (d->length_penalty == 0) d->length_penalty = 1;
    if (d->unnormalized) d->length_penalty = 0;             /* length^0 is 1 */
    if (d->top_p == 0) d->top_p = 1;
    if (!d->chunk && m->arch != TFN_ARCH_ENCODER_DECODER)
        d->chunk = (int32_t)tfn__min(TFN__PROMPT_CHUNK, m->context);
    d->chunk = tfn__or(d->chunk, 1);
}

/* Every numeric option but the end, which has no least, and what is forbidden. */
#define TFN__GENERATE(field, kind, least, most) \
    TFN__RANGE_OF(tfn_generate_desc, field, TFN__##kind, least, most)
static const tfn__limit tfn__generate_limits[] = {
    TFN__GENERATE(sentences, WHOLE, 1, TFN__SIDE),
    TFN__GENERATE(beam, WHOLE, 0, TFN__SIDE),
    TFN__GENERATE(max_tokens, WHOLE, 1, TFN__ANY),
    TFN__GENERATE(max_ratio, REAL, 0, 1e6),
    TFN__GENERATE(min_tokens, WHOLE, 0, TFN__ANY),
    TFN__GENERATE(forbidden_count, WHOLE, 0, TFN__VOCAB),
    TFN__GENERATE(length_penalty, REAL, 0, 100),
    TFN__GENERATE(temperature, REAL_OR_0, TFN__TINY, TFN__HUGE),
    TFN__GENERATE(top_k, WHOLE, 0, TFN__ANY),
    TFN__GENERATE(top_p, REAL, 0, 1),
    TFN__GENERATE(chunk, WHOLE, 1, TFN__SIDE)
};

/* Everything that can be refused before a prompt is seen. */
static void tfn__generate_check(tfn_error *e, const tfn_generate_desc *d, const tfn_model_desc *m)
{
    static const char op[] = "generator";
    tfn__check_ranges(e, op, d, tfn__generate_limits,
                      sizeof tfn__generate_limits / sizeof *tfn__generate_limits);
    tfn__in_range(e, op, "the number of all beams", (int64_t)d->sentences * d->beam, 0, TFN__SIDE);
    tfn__in_range(e, op, "end", d->end, INT32_MIN, (int64_t)m->vocab - 1);
    if (d->beam && d->temperature > 0)
        tfn__fail(e, TFN_BAD_OPTION, op, "%d beams: a beam search does not draw", d->beam, 0);
    if (d->forbidden_count && !d->forbidden)
        tfn__fail(e, TFN_BAD_OPTION, op, "%d tokens are forbidden, but none are given",
                  d->forbidden_count, 0);
    tfn__in_range(e, op, "forbidden_count", d->forbidden_count, 0, m->vocab);
    if (e->status != TFN_OK) return;
    for (int32_t i = 0; i < d->forbidden_count; i++)
        tfn__in_range(e, op, "a forbidden token", d->forbidden[i], 0, (int64_t)m->vocab - 1);
}

/* Whether a text that is long enough is forced to choose the end, as in fairseq. Else it is cut. */
static bool tfn__forces_end(const tfn_generate_desc *d) { return d->beam && d->end >= 0; }

/* Most tokens of a text without the end, for a source of n tokens: fairseq's a*n + b, but never
 * more than there is room for. */
static int32_t tfn__max_tokens(const tfn_generate_desc *d, int32_t n, int32_t room)
{
    const double most = (double)d->max_ratio * n + d->max_tokens;
    if (most < room) return (int32_t)most;
    return room;
}

/* -- one block of memory --------------------------------------------------------------------- */

static int32_t *tfn__take_ints(tfn_generator *g, tfn__arena *a, int64_t n, int64_t each)
{
    return tfn__take_ids(a, tfn__mul((size_t)n, (size_t)each), &g->error);
}
static double *tfn__take_doubles(tfn_generator *g, tfn__arena *a, int64_t n)
{
    return (double *)(void *)tfn__take(a, (size_t)n, sizeof(double), &g->error);
}
static float *tfn__take_reals(tfn_generator *g, tfn__arena *a, int64_t n)
{
    return (float *)(void *)tfn__take(a, tfn__count(n), sizeof(float), &g->error);
}

/* The arrays of tfn_generator, behind the decoder in the block; shapes are in its declaration. */
static void tfn__lay_search(tfn_generator *g, tfn__arena *a, int64_t vocab)
{
    const tfn_generate_desc *d = &g->desc;
    const int64_t n = d->sentences;
    const int64_t rows = n * g->width;
    int32_t *forbidden = tfn__take_ints(g, a, d->forbidden_count, 1);
    if (a->base && forbidden && d->forbidden_count)
        TFNORM_MEMCPY(forbidden, d->forbidden, (size_t)d->forbidden_count * sizeof *forbidden);
    g->desc.forbidden = forbidden;

    g->order = tfn__take_ints(g, a, n, 1);              /* of sentences */
    g->begin = tfn__take_ints(g, a, n, 1);
    g->last = tfn__take_ints(g, a, n, 1);
    g->found = tfn__take_ints(g, a, n, 1);
    g->alive = tfn__take_ints(g, a, n, 1);

    g->chosen = tfn__take_ints(g, a, rows, g->most);    /* of beams */
    g->parent = tfn__take_ints(g, a, rows, g->most);
    g->next = tfn__take_ints(g, a, rows, d->chunk);
    g->from = tfn__take_ints(g, a, rows, 1);
    g->sums = tfn__take_doubles(g, a, rows);

    g->score = tfn__take_doubles(g, a, g->room);        /* of candidates */
    g->row = tfn__take_ints(g, a, g->room, 1);
    g->token = tfn__take_ints(g, a, g->room, 1);
    if (d->temperature > 0) g->heap = tfn__take_ints(g, a, vocab, 1);
    g->weights = tfn__take_reals(g, a, vocab);

    g->tokens = tfn__take_ints(g, a, rows, g->most);    /* the result */
    g->lengths = tfn__take_ints(g, a, rows, 1);
    g->scores = tfn__take_reals(g, a, rows);
}

/* Check the options and lay out decoder and search. Returns the bytes of both, 0 after an error;
 * *decoder has those of the decoder. real: as for tfn__lay_decoder. */
static size_t tfn__lay_generator(tfn_generator *g, const tfn_model *m,
                                 const tfn_generate_desc *desc, void *mem, size_t size,
                                 bool real, size_t *decoder)
{
    tfn__arena a = tfn__arena_in(mem, size);
    int32_t source = 0;
    TFNORM_MEMSET(g, 0, sizeof *g);
    tfn__model_for(&g->error, "generator", m);
    tfn__given(&g->error, "generator", "desc", desc);
    if (g->error.status != TFN_OK) return 0;
    g->desc = *desc;
    tfn__generate_defaults(&g->desc, &m->desc);
    tfn__generate_check(&g->error, &g->desc, &m->desc);
    if (g->error.status != TFN_OK) return 0;

    /* Of 2*beam candidates at most `beam` end, so `beam` are left to go on. */
    g->width = (int32_t)tfn__max(g->desc.beam, 1);
    g->room = (int32_t)tfn__max(2 * g->desc.beam, 1);
    /* A prompt takes at least one position of the context; one more token is the end. */
    if (m->desc.arch == TFN_ARCH_ENCODER_DECODER) source = m->desc.source_context;
    g->most = tfn__max_tokens(&g->desc, source, m->desc.context - 1) + 1;

    *decoder = tfn__lay_decoder(&g->decoder, m, g->desc.sentences * g->width, g->desc.chunk, mem,
                                size, real);
    g->error = g->decoder.error;
    if (!*decoder) return 0;
    a.used = *decoder - (TFN__ALIGN - 1);
    if (!real) tfn__only_count(&a);
    tfn__lay_search(g, &a, m->desc.vocab);
    if (g->error.status != TFN_OK) return 0;
    return a.used + TFN__ALIGN - 1;
}

TFNORM_API size_t tfn_generator_size(const tfn_model *m, const tfn_generate_desc *desc,
                                     void *scratch, size_t scratch_size)
{
    tfn_generator g;
    size_t decoder;
    return tfn__lay_generator(&g, m, desc, scratch, scratch_size, false, &decoder);
}

TFNORM_API tfn_status tfn_generator_init(tfn_generator *g, const tfn_model *m,
                                         const tfn_generate_desc *desc, void *mem, size_t size)
{
    size_t decoder;
    if (!g) return TFN_NULL;
    if (!tfn__lay_generator(g, m, desc, mem, size, true, &decoder)) return g->error.status;
    /* The decoder was laid out to learn where the search begins; this records it once more. */
    if (tfn_decoder_init(&g->decoder, m, g->desc.sentences * g->width, g->desc.chunk, mem,
                         decoder) != TFN_OK)
        g->error = g->decoder.error;
    return g->error.status;
}

/* -- prompts --------------------------------------------------------------------------------- */

/* Without prompts each sentence begins with the end token, as fairseq's decoders do. */
static int32_t tfn__prompt_length(const tfn_batch *x, int32_t s)
{
    if (!x->tokens) return 1;
    if (x->lengths) return x->lengths[s];
    return x->time;
}
static int32_t tfn__prompt_token(const tfn_generator *g, const tfn_batch *x, int32_t s, int32_t t)
{
    if (!x->tokens) return g->desc.end;
    return x->tokens[(ptrdiff_t)s * x->time + t];
}

/* Positions of a sentence's source; 0 without one. */
static int32_t tfn__source_length(const tfn_model_desc *m, const tfn_batch *x, int32_t s)
{
    if (m->arch != TFN_ARCH_ENCODER_DECODER) return 0;
    if (x->source_lengths) return tfn__positions(m, x->source_lengths[s]);
    return tfn__positions(m, x->source_time);
}

/* All of a batch is checked before anything of the last result is overwritten. */
static bool tfn__check_prompts(tfn_generator *g, const tfn_batch *x)
{
    const tfn_model_desc *m = &g->decoder.model->desc;
    tfn_error *e = &g->error;
    if (x->batch < 1 || x->batch > g->desc.sentences)
        tfn__fail(e, TFN_BAD_BATCH, "generator", "%d sentences, the limit is %d", x->batch,
                  g->desc.sentences);
    if (!x->tokens && g->desc.end < 0)
        tfn__fail(e, TFN_BAD_BATCH, "generator", "neither prompts nor an end token", 0, 0);
    if (x->tokens)
        tfn__check_time(e, "time is %d, the limit is %d", x->time, m->context, x->lengths,
                        x->batch);
    if (e->status == TFN_OK && m->arch == TFN_ARCH_ENCODER_DECODER) tfn__check_source(e, m, x);
    if (!x->tokens) return e->status == TFN_OK;

    for (int32_t s = 0; s < x->batch; s++) {
        const int32_t n = tfn__prompt_length(x, s);
        if (e->status != TFN_OK) break;
        if (n < 1) tfn__fail(e, TFN_BAD_BATCH, "generator", "prompt %d is empty", s, 0);
        tfn__check_ids(e, "a token is %d, the vocabulary has %d", x->tokens + (ptrdiff_t)s*x->time,
                       1, n, NULL, m->vocab, false);
    }
    return e->status == TFN_OK;
}

/* The number of the first beam of sentence s in arrays (sentences, width). */
static ptrdiff_t tfn__first_beam(const tfn_generator *g, int32_t s)
{
    return (ptrdiff_t)s * g->width;
}

/* The same at a step in arrays (steps, sentences, width). */
static ptrdiff_t tfn__step_beams(const tfn_generator *g, int32_t step, int32_t s)
{
    return ((ptrdiff_t)step * g->desc.sentences + s) * g->width;
}

/* The last step of a sentence with `begin` tokens in its prompt. Step t needs begin + t positions
 * of the context. A text that is forced to end has max_tokens tokens and the end, which makes
 * max_tokens + 1 steps; else there are max_tokens steps. */
static int32_t tfn__last_step(const tfn_generator *g, int32_t begin, int32_t source)
{
    const int32_t room = g->decoder.model->desc.context - begin;
    if (tfn__forces_end(&g->desc)) return tfn__max_tokens(&g->desc, source, room);
    return tfn__max_tokens(&g->desc, source, room + 1) - 1;
}

/* All sentences anew: one beam that has chosen nothing, and no hypotheses. */
static void tfn__begin_sentences(tfn_generator *g, const tfn_batch *x)
{
    const tfn_model_desc *m = &g->decoder.model->desc;
    g->sentences = x->batch;
    g->live = x->batch;
    for (int32_t s = 0; s < x->batch; s++) {
        const ptrdiff_t first = tfn__first_beam(g, s);
        g->order[s] = s;
        g->begin[s] = tfn__prompt_length(x, s);
        g->last[s] = tfn__last_step(g, g->begin[s], tfn__source_length(m, x, s));
        g->found[s] = 0;
        g->alive[s] = 1;
        g->sums[first] = 0;
        for (int32_t k = 0; k < g->width; k++) {
            g->lengths[first + k] = 0;
            g->scores[first + k] = (float)-HUGE_VAL;
        }
    }
}

/* Feed the positions that all prompts have, a row a sentence: the logits of the last, or NULL. */
static const float *tfn__feed_prompts(tfn_generator *g, const tfn_batch *x)
{
    const float *logits = NULL;
    int32_t shortest = g->begin[0];
    for (int32_t s = 1; s < x->batch; s++) shortest = (int32_t)tfn__min(shortest, g->begin[s]);
    g->decoder.run.batch = x->batch;
    g->fed = 0;
    if (tfn_decoder_start(&g->decoder, x) != TFN_OK) return NULL;
    while (g->fed < shortest) {
        const int32_t n = (int32_t)tfn__min(shortest - g->fed, g->decoder.chunk);
        for (int32_t s = 0; s < x->batch; s++)
            for (int32_t t = 0; t < n; t++)
                g->next[(ptrdiff_t)s * n + t] = tfn__prompt_token(g, x, s, g->fed + t);
        logits = tfn_decoder_next(&g->decoder, g->next, n, NULL);
        if (!logits) return NULL;
        g->fed += n;
    }
    return logits;
}

/* -- caches ---------------------------------------------------------------------------------- */

/* Row `to` of the memory's caches, and with `past` of those of the past, becomes a copy of row
 * `from`. */
static void tfn__copy_row(tfn_decoder *d, int32_t to, int32_t from, bool past)
{
    if (to == from) return;
    for (int32_t i = 1; i < d->decode.count; i++) {
        const tfn_node *n = d->decode.nodes + i;
        if (n->op != TFN__OP_CACHE && !tfn__is_memory(n)) continue;
        if (!past && !tfn__is_memory(n)) continue;
        for (int part = 0; part < 2; part++) {
            ptrdiff_t row;
            float *cache = tfn__cache_part(d, n, part, &row);
            TFNORM_MEMCPY(cache + to*row, cache + from*row, (size_t)row * sizeof(float));
        }
    }
    if (d->run.ints[TFN_INT_SOURCE_LENGTHS]) d->lengths[to] = d->lengths[from];
}

/* A row a sentence becomes a row a beam. From the last on: each row comes from one before it. */
static void tfn__spread_beams(tfn_generator *g)
{
    const int32_t rows = g->live * g->width;
    for (int32_t r = rows; r-- > 0;) tfn__copy_row(&g->decoder, r, r / g->width, true);
    g->decoder.run.batch = rows;
}

/* What to feed in a row for beam k of the i-th sentence, and the row whose past it continues. In
 * its prompt a sentence has all beams alike. A beam that the sentence does not have (at step 0 one
 * chose for all) must be fed something, too: nothing reads its logits. */
static void tfn__next_row(tfn_generator *g, const tfn_batch *x, int32_t row, int32_t i, int32_t k)
{
    const int32_t s = g->order[i];
    const int32_t step = g->fed - g->begin[s];
    int32_t token = 0;
    int32_t beam = 0;
    if (step < 0) {
        token = tfn__prompt_token(g, x, s, g->fed);
        beam = k;
    } else if (k < g->alive[s]) {
        token = g->chosen[tfn__step_beams(g, step, s) + k];
        beam = g->parent[tfn__step_beams(g, step, s) + k];
    }
    g->next[row] = token;
    g->from[row] = i * g->width + beam;
}

/* The rows of the sentences that go on, which close up. */
static void tfn__next_rows(tfn_generator *g, const tfn_batch *x)
{
    int32_t live = 0;
    for (int32_t i = 0; i < g->live; i++) {
        const int32_t s = g->order[i];
        if (!g->alive[s]) continue;
        for (int32_t k = 0; k < g->width; k++) tfn__next_row(g, x, live * g->width + k, i, k);
        g->order[live] = s;
        live++;
    }
    g->live = live;
}

/* Row r of the caches becomes what row from[r] was. Caches of the past may take any order. Those of
 * the memory are alike in all beams of a sentence; they only close up, each row from one behind it,
 * so they are copied in place from the first on. */
static void tfn__move_rows(tfn_generator *g)
{
    tfn_decoder *d = &g->decoder;
    const int32_t rows = g->live * g->width;
    bool moved = false;
    for (int32_t r = 0; r < rows; r++) moved |= g->from[r] != r;
    for (int32_t r = rows; r < d->run.batch; r++) g->from[r] = r;
    if (moved) tfn__reorder(d, g->from);
    if (moved && d->started)
        for (int32_t r = 0; r < rows; r++)
            if (g->from[r] / g->width != r / g->width) tfn__copy_row(d, r, g->from[r], false);
    d->run.batch = rows;
}

/* -- candidates ------------------------------------------------------------------------------ */

/* A candidate is a beam and a token that might continue it. The `room` best by sum of log p are
 * kept, over all beams of one sentence. */

/* The end is forbidden before min_tokens and only then, be it in the list or not. */
static bool tfn__forbidden(const tfn_generate_desc *d, int32_t token, int32_t step)
{
    if (token == d->end) return step < d->min_tokens;
    for (int32_t i = 0; i < d->forbidden_count; i++)
        if (d->forbidden[i] == token) return true;
    return false;
}

/* Insert a candidate; when there are `room`, the worst falls out. Of equal ones the first stays in
 * front. */
static void tfn__offer(tfn_generator *g, double score, int32_t beam, int32_t token)
{
    int32_t i = g->room - 1;
    if (g->count < g->room) i = g->count++;
    for (; i > 0; i--) {
        if (!(score > g->score[i - 1])) break;
        g->score[i] = g->score[i - 1];
        g->row[i] = g->row[i - 1];
        g->token[i] = g->token[i - 1];
    }
    g->score[i] = score;
    g->row[i] = beam;
    g->token[i] = token;
}

/* All continuations of a beam: base is its sum of log p less log sum exp x. Most tokens are worse
 * than the worst candidate, so that is asked first. */
static void tfn__offer_all(tfn_generator *g, const float *x, double base, int32_t beam,
                           int32_t step)
{
    const int32_t vocab = g->decoder.model->desc.vocab;
    double least = -HUGE_VAL;
    if (g->count == g->room) least = g->score[g->room - 1];
    for (int32_t v = 0; v < vocab; v++) {
        const double score = base + (double)x[v];
        if (!(score > least) || tfn__forbidden(&g->desc, v, step)) continue;
        tfn__offer(g, score, beam, v);
        if (g->count == g->room) least = g->score[g->room - 1];
    }
}

/* log sum exp x of a row of logits. */
static double tfn__log_sum_exp(tfn_generator *g, const float *x)
{
    const double y = tfn__log_sum(g->decoder.model->kernels, g->weights, x,
                                  g->decoder.model->desc.vocab);
    if (!(y - y >= 0))                          /* infinity and NaN */
        tfn__fail(&g->error, TFN_NOT_FINITE, "generator", "the logits are not finite", 0, 0);
    return y;
}

/* -- draws ----------------------------------------------------------------------------------- */

/* Tokens are drawn by their weights, softmax(x / temperature). top_k (Fan et al. 2018) and top_p,
 * nucleus sampling (Holtzman et al. 2020), draw from the heaviest alone. A heap yields these one
 * after the other, so a nucleus of m tokens costs m pops and no sort of the vocabulary. */

/* The order of the heap: its first weighs most, of equal ones the smallest token comes first. */
static bool tfn__lighter(const void *weights, int32_t a, int32_t b)
{
    const float *w = (const float *)weights;
    return w[a] < w[b] || (!(w[b] < w[a]) && a > b);
}

static void tfn__make_heap(int32_t *heap, const float *w, int32_t n)
{
    for (int32_t i = 0; i < n; i++) heap[i] = i;
    for (int32_t i = n / 2; i-- > 0;) tfn__sink(heap, i, n, tfn__lighter, w);
}

/* Take the heaviest of what is left out of a heap that had n, of which i are out already. Those
 * stand behind it: the i-th, counted from 0, in heap[n - 1 - i]. */
static int32_t tfn__pop(int32_t *heap, const float *w, int32_t i, int32_t n)
{
    const int32_t top = heap[0];
    heap[0] = heap[n - 1 - i];
    heap[n - 1 - i] = top;
    tfn__sink(heap, 0, n - 1 - i, tfn__lighter, w);
    return top;
}

static double tfn__sum_weights(const float *w, int32_t n)
{
    double sum = 0;
    for (int32_t i = 0; i < n; i++) sum += (double)w[i];
    return sum;
}

/* How many of n tokens top_k leaves. */
static int32_t tfn__top_k(const tfn_generate_desc *d, int32_t n)
{
    if (d->top_k > 0 && d->top_k < n) return d->top_k;
    return n;
}

/* Pop the tokens to draw from: how many they are, and their weight. The top_k first, of these the
 * nucleus: the fewest that have top_p of the weight of all that top_k left. */
static int32_t tfn__truncate(const tfn_generate_desc *d, int32_t *heap, const float *w, int32_t n,
                             double *total)
{
    const int32_t keep = tfn__top_k(d, n);
    int32_t out = 0;                            /* popped so far */
    double mass = 0;
    tfn__make_heap(heap, w, n);
    *total = 0;
    if (keep < n)
        for (; out < keep; out++) *total += (double)w[tfn__pop(heap, w, out, n)];
    else *total = tfn__sum_weights(w, n);
    if (!(d->top_p < 1)) return keep;

    for (int32_t i = 0; i < keep; i++) {
        if (i == out) {
            tfn__pop(heap, w, out, n);
            out++;
        }
        mass += (double)w[heap[n - 1 - i]];
        if (mass >= (double)d->top_p * *total) {
            *total = mass;
            return i + 1;
        }
    }
    return keep;
}

/* The token in whose interval u in [0, 1) falls, when weights that add up to 1 lie one behind the
 * other; -1: no token has a weight. Rounding may leave u behind the last: that one is taken. */
static int32_t tfn__draw_token(tfn_generator *g, int32_t n, double u)
{
    const tfn_generate_desc *d = &g->desc;
    const float *w = g->weights;
    const bool truncated = tfn__top_k(d, n) < n || d->top_p < 1;
    double total;
    double sum = 0;
    int32_t keep = n;
    int32_t found = -1;
    if (truncated) keep = tfn__truncate(d, g->heap, w, n, &total);
    else total = tfn__sum_weights(w, n);
    if (!(total > 0)) return -1;

    for (int32_t i = 0; i < keep; i++) {
        int32_t v = i;
        if (truncated) v = g->heap[n - 1 - i];
        if (w[v] > 0) found = v;
        sum += (double)w[v];
        if (sum > u * total) break;
    }
    return found;
}

/* Draw one candidate. The random number belongs to (key, id, step), so a text depends neither on
 * the other sentences of the call nor on its place among them. */
static void tfn__offer_drawn(tfn_generator *g, const float *x, double base, int32_t step,
                             uint64_t id)
{
    const tfn_generate_desc *d = &g->desc;
    const tfn_kernels *k = g->decoder.model->kernels;
    const int32_t n = g->decoder.model->desc.vocab;
    const uint64_t bits = tfn_random_bits(tfn_key_fold(d->key, id), (uint64_t)step);
    const double u = (double)(bits >> 11) * (1.0 / 9007199254740992.0);     /* 53 bits of it */
    int32_t v;

    /* softmax(x / temperature), forbidden tokens with weight 0 */
    k->combine(g->weights, x, NULL, n, 1 / d->temperature, 0, false);
    for (int32_t i = 0; i < d->forbidden_count; i++)
        if (d->forbidden[i] != d->end) g->weights[d->forbidden[i]] = (float)-HUGE_VAL;
    if (d->end >= 0 && step < d->min_tokens) g->weights[d->end] = (float)-HUGE_VAL;
    k->softmax_forward(g->weights, g->weights, 1, n);

    v = tfn__draw_token(g, n, u);
    if (v >= 0) tfn__offer(g, base + (double)x[v], 0, v);
}

/* -- hypotheses ------------------------------------------------------------------------------ */

/* A hypothesis is a place in the arrays of the result: its tokens, its length and its score. */
static void tfn__copy_hypothesis(tfn_generator *g, ptrdiff_t to, ptrdiff_t from)
{
    g->lengths[to] = g->lengths[from];
    g->scores[to] = g->scores[from];
    TFNORM_MEMCPY(g->tokens + to * g->most, g->tokens + from * g->most,
                  (size_t)g->lengths[from] * sizeof *g->tokens);
}

/* Candidate i of sentence s ends at this step. Insert it behind the hypotheses that are at least as
 * good, and trace its tokens back from beam to beam. */
static void tfn__finish(tfn_generator *g, int32_t s, int32_t step, int32_t i)
{
    const ptrdiff_t first = tfn__first_beam(g, s);
    const int32_t length = step + 1;
    const float score = (float)(g->score[i] / tfn__pow(length, (double)g->desc.length_penalty));
    ptrdiff_t at = first + g->found[s];
    int32_t beam = g->row[i];
    int32_t *text;
    for (; at > first; at--) {
        if (!(score > g->scores[at - 1])) break;
        tfn__copy_hypothesis(g, at, at - 1);
    }
    g->found[s]++;
    g->scores[at] = score;
    g->lengths[at] = length;

    text = g->tokens + at * g->most;
    text[step] = g->token[i];
    for (int32_t t = step; t-- > 0;) {
        const ptrdiff_t cell = tfn__step_beams(g, t, s) + beam;
        text[t] = g->chosen[cell];
        beam = g->parent[cell];
    }
}

/* fairseq's rule: candidates among the first `width` that end are hypotheses; the best `width` that
 * do not end go on as beams. The sentence is done when it has `width` hypotheses, or at its last
 * step, where all that is left ends. */
static void tfn__advance(tfn_generator *g, int32_t s, int32_t step)
{
    const ptrdiff_t beams = tfn__step_beams(g, step, s);
    const bool last = step == g->last[s];
    int32_t kept = 0;
    for (int32_t i = 0; i < g->count; i++) {
        if (kept == g->width) break;
        if (last || g->token[i] == g->desc.end) {
            if (i < g->width && g->found[s] < g->width) tfn__finish(g, s, step, i);
            continue;
        }
        g->chosen[beams + kept] = g->token[i];
        g->parent[beams + kept] = g->row[i];
        g->sums[tfn__first_beam(g, s) + kept] = g->score[i];
        kept++;
    }
    g->alive[s] = kept;
    if (last || g->found[s] == g->width) g->alive[s] = 0;
    if (!g->alive[s] && !g->found[s])
        tfn__fail(&g->error, TFN_NOT_FINITE, "generator", "sentence %d has nothing to choose", s,
                  0);
}

/* -- steps ----------------------------------------------------------------------------------- */

/* One step of sentence s, whose first row of logits is x: gather candidates from all of its beams,
 * then let them end or go on. */
static void tfn__choose(tfn_generator *g, int32_t s, const float *x, uint64_t id)
{
    const tfn_generate_desc *d = &g->desc;
    const int32_t step = g->fed - g->begin[s];
    const int32_t vocab = g->decoder.model->desc.vocab;
    const bool forced = tfn__forces_end(d) && step == g->last[s];
    g->count = 0;
    for (int32_t k = 0; k < g->alive[s]; k++, x += vocab) {
        const double sum = g->sums[tfn__first_beam(g, s) + k];
        const double base = sum - tfn__log_sum_exp(g, x);
        if (g->error.status != TFN_OK) return;
        if (forced) tfn__offer(g, base + (double)x[d->end], k, d->end);
        else if (d->temperature > 0) tfn__offer_drawn(g, x, base, step, id);
        else tfn__offer_all(g, x, base, k, step);
    }
    tfn__advance(g, s, step);
}

/* One step of all sentences that are past their prompts, of so many rows of logits each. */
static void tfn__choose_all(tfn_generator *g, const float *logits, const int64_t *ids, int32_t rows)
{
    const ptrdiff_t each = (ptrdiff_t)rows * g->decoder.model->desc.vocab;
    for (int32_t i = 0; i < g->live; i++) {
        const int32_t s = g->order[i];
        int64_t id = s;
        if (ids) id = ids[s];
        if (g->error.status != TFN_OK) return;
        if (g->fed >= g->begin[s]) tfn__choose(g, s, logits + i*each, (uint64_t)id);
    }
}

/* The first step chooses from one row of logits a sentence, since all of its beams would be alike;
 * the later ones from a row a beam. */
TFNORM_API tfn_status tfn_generator_run(tfn_generator *g, const tfn_batch *batch,
                                        const int64_t *ids)
{
    const float *logits;
    if (!g) return TFN_NULL;
    if (g->error.status == TFN_NOT_FINITE) g->error.status = TFN_OK;
    tfn__forgive(&g->error);
    tfn__made(&g->error, "generator", g->tokens);
    if (!batch) tfn__fail(&g->error, TFN_BAD_BATCH, "batch", "the batch is NULL", 0, 0);
    if (g->error.status != TFN_OK || !tfn__check_prompts(g, batch)) return g->error.status;

    tfn__begin_sentences(g, batch);
    logits = tfn__feed_prompts(g, batch);
    if (logits) {
        tfn__choose_all(g, logits, ids, 1);
        if (g->width > 1) tfn__spread_beams(g);
    }
    while (logits) {
        if (g->error.status != TFN_OK) return g->error.status;
        tfn__next_rows(g, batch);               /* who goes on, and with what */
        if (!g->live) return TFN_OK;
        tfn__move_rows(g);
        logits = tfn_decoder_next(&g->decoder, g->next, 1, NULL);
        g->fed++;
        if (logits) tfn__choose_all(g, logits, ids, g->width);
    }
    g->error = g->decoder.error;                /* without logits the decoder failed */
    return g->error.status;
}
TFN__SMALL_END
#endif /* TFN__IMPLEMENTING */
/* >> json */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY && !defined TFNORM_ONLY_KERNELS \
    && (!defined TFNORM_NO_TOKENIZERS || !defined TFNORM_NO_FILES)
/* UTF-8 (RFC 3629) and JSON (RFC 8259), for the tokenizers and the files: characters, a reader of
 * bytes, then marks, strings, numbers and whole values of JSON.
 *
 * The reader is a cursor over a text that stays where it is; nothing is allocated and no tree is
 * built. The caller walks the document, asks for what should come next and gets it in a variable of
 * its own. The first thing that is wrong sets `wanted`, which is a piece of the message ("x is
 * wanted"); from then on the reader stands still and sees the end of the text, so that callers test
 * for an error once, after they have read everything. Files are hostile: each byte is read through
 * tfn__peek, which knows where the text ends. */

/* -- UTF-8 ----------------------------------------------------------------------------------- */

enum { TFN__MAX_CODE_POINT = 0x10ffff, TFN__SURROGATE = 0xd800, TFN__LOW_SURROGATE = 0xdc00,
       TFN__AFTER_SURROGATES = 0xe000 };

/* How many bytes a character takes whose first byte this is: 0xxxxxxx 1, 110xxxxx 2, 1110xxxx 3,
 * 11110xxx 4; 0 for a byte that cannot be the first. */
static size_t tfn__utf8_bytes(uint8_t first)
{
    if (first < 0x80)     return 1;
    if (first >> 5 == 6)  return 2;
    if (first >> 4 == 14) return 3;
    if (first >> 3 == 30) return 4;
    return 0;
}

/* Read the first character of the n >= 1 bytes at s. Returns how many bytes it takes and stores its
 * code point. A byte that begins no character of UTF-8 counts as one of its own, with code point
 * -1. Longer forms than needed ("overlong"), halves of surrogate pairs and what lies beyond
 * U+10FFFF are no characters. */
static size_t tfn__utf8(const uint8_t *s, size_t n, int32_t *c)
{
    static const int32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };      /* by bytes */
    const size_t bytes = tfn__utf8_bytes(s[0]);
    int32_t v = s[0];
    *c = -1;
    if (bytes == 0 || bytes > n) return 1;

    if (bytes > 1) v &= 0x7f >> bytes;
    for (size_t i = 1; i < bytes; i++) {            /* 10xxxxxx: six bits each */
        if (s[i] >> 6 != 2) return 1;
        v = v << 6 | (s[i] & 0x3f);
    }
    if (v < least[bytes] || v > TFN__MAX_CODE_POINT) return 1;
    if (v >= TFN__SURROGATE && v < TFN__AFTER_SURROGATES) return 1;
    *c = v;
    return bytes;
}

static bool tfn__is_utf8(const uint8_t *s, size_t n)
{
    for (size_t at = 0; at < n;) {
        int32_t c;
        at += tfn__utf8(s + at, n - at, &c);
        if (c < 0) return false;
    }
    return true;
}

/* Write a code point into at most 4 bytes; returns how many. */
static size_t tfn__put_utf8(uint8_t *s, int32_t c)
{
    static const uint8_t mark[] = { 0, 0, 0xc0, 0xe0, 0xf0 };           /* by bytes */
    size_t bytes = 1;
    if (c >= 0x80)    bytes = 2;
    if (c >= 0x800)   bytes = 3;
    if (c >= 0x10000) bytes = 4;
    for (size_t i = bytes; --i > 0; c >>= 6) s[i] = (uint8_t)(0x80 | (c & 0x3f));
    s[0] = (uint8_t)(mark[bytes] | c);
    return bytes;
}

static void tfn__put_code(tfn__text *t, int32_t c)
{
    uint8_t s[4];
    tfn__put_bytes(t, s, tfn__put_utf8(s, c));
}

/* -- the reader ------------------------------------------------------------------------------ */

typedef struct tfn__reader {
    const uint8_t *s;
    size_t size, at;
    const char *wanted;       /* NULL: all is well so far */
} tfn__reader;

static tfn__reader tfn__read_from(const void *s, size_t size)
{
    tfn__reader r;
    TFNORM_MEMSET(&r, 0, sizeof r);
    r.s = (const uint8_t *)s;
    if (s) r.size = size;
    return r;
}

/* Note what should stand here, unless something was wrong before. Always -1, so that a function
 * that returns -1 for an error can end with it. */
static int32_t tfn__want(tfn__reader *r, const char *what)
{
    if (!r->wanted) r->wanted = what;
    return -1;
}

/* The next byte; -1 at the end, and behind what is wrong. */
static int32_t tfn__peek(const tfn__reader *r)
{
    if (r->wanted || r->at >= r->size) return -1;
    return r->s[r->at];
}

/* Step over the next byte if it is c. */
static bool tfn__accept(tfn__reader *r, int32_t c)
{
    const bool here = c >= 0 && tfn__peek(r) == c;
    r->at += here;
    return here;
}

/* The value of the next byte as a decimal digit; -1: it is none. */
static int32_t tfn__peek_digit(const tfn__reader *r)
{
    const int32_t c = tfn__peek(r);
    if (c < '0' || c > '9') return -1;
    return c - '0';
}

/* -- marks ----------------------------------------------------------------------------------- */

static void tfn__json_space(tfn__reader *r)
{
    for (;;) {
        const int32_t c = tfn__peek(r);
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return;
        r->at++;
    }
}

/* Step over one of {}[],:" with the space around it. Behind a quote space belongs to the string. */
static bool tfn__json_mark(tfn__reader *r, char mark)
{
    bool here;
    tfn__json_space(r);
    here = tfn__accept(r, mark);
    if (here && mark != '"') tfn__json_space(r);
    return here;
}
static void tfn__json_want(tfn__reader *r, char mark, const char *what)
{
    if (!tfn__json_mark(r, mark)) tfn__want(r, what);
}

/* Go through the members of an object, or with '[' and ']' the elements of an array:
 *
 *     for (bool more = tfn__json_open(r, '{', '}'); more; more = tfn__json_more(r, '}'))
 *
 * The body reads one member. Both are false after an error, so the loop ends there too. */
static bool tfn__json_open(tfn__reader *r, char open, char close)
{
    if (open == '{') tfn__json_want(r, open, "{");
    else             tfn__json_want(r, open, "[");
    return !tfn__json_mark(r, close) && !r->wanted;
}
static bool tfn__json_more(tfn__reader *r, char close)
{
    if (tfn__json_mark(r, ',')) return true;
    if (close == '}') tfn__json_want(r, close, ", or }");
    else              tfn__json_want(r, close, ", or ]");
    return false;
}

/* -- strings --------------------------------------------------------------------------------- */

/* The four hexadecimal digits of \u: a unit of UTF-16, or -1. */
static int32_t tfn__json_unit(tfn__reader *r)
{
    int32_t v = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        int32_t digit = tfn__peek_digit(r);
        const int32_t letter = tfn__peek(r) | 32;           /* in lower case; -1 stays -1 */
        if (letter >= 'a' && letter <= 'f') digit = letter - 'a' + 10;
        if (digit < 0) return tfn__want(r, "four digits of \\u");
        v = v << 4 | digit;
    }
    return v;
}

/* The character behind a backslash. Beyond U+FFFF it is written as a pair of surrogates, each with
 * ten bits of it: \ud83d\ude00 is U+1F600. */
static int32_t tfn__json_escape(tfn__reader *r)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[]   = "\"\\/\b\f\n\r\t";
    int32_t high;
    int32_t low = 0;
    for (int i = 0; from[i]; i++)
        if (tfn__accept(r, from[i])) return to[i];
    if (!tfn__accept(r, 'u')) return tfn__want(r, "an escape");

    high = tfn__json_unit(r);
    if (high < TFN__SURROGATE || high >= TFN__AFTER_SURROGATES) return high;
    if (high < TFN__LOW_SURROGATE && tfn__accept(r, '\\') && tfn__accept(r, 'u'))
        low = tfn__json_unit(r);
    if (low < TFN__LOW_SURROGATE || low >= TFN__AFTER_SURROGATES)
        return tfn__want(r, "a pair of surrogates");
    return 0x10000 + ((high & 0x3ff) << 10 | (low & 0x3ff));
}

/* The next character of a string whose opening quote was read; -1 at its end or an error. */
static int32_t tfn__json_char(tfn__reader *r)
{
    int32_t c = tfn__peek(r);
    if (tfn__accept(r, '"')) return -1;
    if (tfn__accept(r, '\\')) return tfn__json_escape(r);
    if (c < 32) return tfn__want(r, "the end of a string");     /* control characters: \u */
    r->at += tfn__utf8(r->s + r->at, r->size - r->at, &c);
    if (c < 0) return tfn__want(r, "UTF-8");
    return c;
}

/* A string of at most size - 1 bytes, which a zero ends; into NULL of any length, passed over. */
static void tfn__json_string(tfn__reader *r, char *to, size_t size)
{
    tfn__text t = tfn__text_in(to, size);
    bool zero = false;              /* a \u0000 would end the text too early */
    tfn__json_want(r, '"', "a string");
    for (;;) {
        const int32_t c = tfn__json_char(r);
        if (c < 0) break;
        if (c == 0) zero = true;
        tfn__put_code(&t, c);
    }
    tfn__end(&t);
    if (to && (zero || t.used >= size)) tfn__want(r, "a shorter string without zeros");
}

/* A byte of a string that stands for itself, whatever comes after it. */
static bool tfn__is_plain(uint8_t c)
{
    return c < 128 && c != '"' && c != '\\';
}

/* The order of two strings by code points, < 0, 0 or > 0. Both were read before, so they are right
 * and end with a quote; the readers are copies that stand behind the opening quotes. Files name
 * thousands of tensors with long common beginnings, so equal plain bytes are passed over first. */
static int32_t tfn__json_compare(tfn__reader a, tfn__reader b)
{
    int32_t x;
    int32_t y;
    while (a.s[a.at] == b.s[b.at]) {
        if (!tfn__is_plain(a.s[a.at])) break;
        a.at++;
        b.at++;
    }
    do {
        x = tfn__json_char(&a);
        y = tfn__json_char(&b);
        if (x < 0) break;
    } while (x == y);
    return x - y;
}

/* The name of a member and the colon behind it. Returns which of the names it is, or -1. Each name
 * ends with a quote, as in the text, which makes it a string that tfn__json_compare can read. */
static int tfn__json_key(tfn__reader *r, const char *const *names, int count)
{
    tfn__reader key = *r;
    int found = -1;
    tfn__json_string(r, NULL, 0);
    tfn__json_want(r, ':', ":");
    if (r->wanted) return -1;
    key.at++;                                   /* behind the quote */
    for (int i = 0; i < count; i++) {
        const tfn__reader name = tfn__read_from(names[i], tfn__length(names[i]));
        if (tfn__json_compare(key, name) == 0) found = i;
    }
    return found;
}

/* A character inside a string that is written. */
static void tfn__put_json(tfn__text *t, int32_t c)
{
    if (c < 16) tfn__put(t, "\\u000");
    else if (c < 32) tfn__put(t, "\\u001");
    else if (c == '"' || c == '\\') tfn__put(t, "\\");
    if (c < 32) c = "0123456789abcdef"[c & 15];
    tfn__put_code(t, c);
}

/* -- numbers --------------------------------------------------------------------------------- */

/* Digits and nothing else, up to a number; no zero in front. */
static uint64_t tfn__json_digits(tfn__reader *r, uint64_t most)
{
    const size_t begin = r->at;
    const bool zero = tfn__peek(r) == '0';
    uint64_t v = 0;
    for (;; r->at++) {
        const int32_t digit = tfn__peek_digit(r);
        if (digit < 0) break;
        if (v > most / 10 || 10*v > most - (uint64_t)digit) tfn__want(r, "a smaller number");
        else v = 10*v + (uint64_t)digit;
    }
    if (r->at == begin || (zero && r->at > begin + 1)) tfn__want(r, "a whole number");
    return v;
}

/* A count, or -1. */
static int64_t tfn__json_count(tfn__reader *r, int64_t most)
{
    const int64_t v = (int64_t)tfn__json_digits(r, (uint64_t)most);
    if (r->wanted) return -1;
    return v;
}

/* A whole number, perhaps negative, from -most - 1 to most. */
static int64_t tfn__json_whole(tfn__reader *r, int64_t most)
{
    const bool minus = tfn__accept(r, '-');
    const uint64_t v = tfn__json_digits(r, (uint64_t)most + minus);
    if (minus) return (int64_t)(0 - v);         /* unsigned, where -INT64_MIN is no overflow */
    return (int64_t)v;
}

/* Read digits as the continuation of v; returns how many. Those behind the first 17 or 18 are below
 * the precision of a double: they are not multiplied in but counted in *left_out, so that v stays
 * below 1e18, as tfn__decimal wants it. */
static int64_t tfn__json_mantissa(tfn__reader *r, double *v, int64_t *left_out)
{
    int64_t count = 0;
    for (;; r->at++) {
        const int32_t digit = tfn__peek_digit(r);
        if (digit < 0) return count;
        if (*v < 1e17) *v = 10 * *v + digit;
        else *left_out += 1;
        count++;
    }
}

/* The exponent of a number behind its e: 0 where there is none. From 1000 on the value is 0 or
 * infinity whatever follows, so it stops to grow. */
static int64_t tfn__json_exponent(tfn__reader *r)
{
    int64_t exponent = 0;
    bool down;
    if (!tfn__accept(r, 'e') && !tfn__accept(r, 'E')) return 0;
    down = tfn__accept(r, '-');
    if (!down) tfn__accept(r, '+');
    if (tfn__peek_digit(r) < 0) tfn__want(r, "an exponent");
    for (;; r->at++) {
        const int32_t digit = tfn__peek_digit(r);
        if (digit < 0) break;
        if (exponent < 1000) exponent = 10*exponent + digit;
    }
    if (down) return -exponent;
    return exponent;
}

/* A number, -12.5e3: exact where the power of ten is, else to a few ulp of a double. Digits are
 * gathered as one whole number without the point, then multiplied by a power of ten that counts the
 * digits behind the point (down), those left out (up) and the exponent. */
static double tfn__json_number(tfn__reader *r)
{
    const bool minus = tfn__accept(r, '-');
    const bool zero = tfn__peek(r) == '0';
    int64_t power = 0;
    double v = 0;
    const int64_t whole = tfn__json_mantissa(r, &v, &power);
    const bool point = whole > 0 && tfn__accept(r, '.');
    int64_t part = 0;
    if (point) part = tfn__json_mantissa(r, &v, &power);
    if (whole == 0 || (zero && whole > 1) || (point && part == 0)) tfn__want(r, "a number");
    power -= part;
    power += tfn__json_exponent(r);
    v = tfn__decimal(v, power);
    if (minus) return -v;
    return v;
}

/* -- values that nobody wants ---------------------------------------------------------------- */

static void tfn__json_word(tfn__reader *r, const char *word)
{
    for (const char *s = word; *s; s++)
        if (!tfn__accept(r, *s)) tfn__want(r, word);
}

/* Read any value and forget it. depth: how many objects and arrays deep it may go, so that a file
 * of brackets cannot use up the stack. */
static void tfn__json_skip(tfn__reader *r, int depth)
{
    const int32_t c = tfn__peek(r);
    if ((c == '{' || c == '[') && depth == 0) tfn__want(r, "less depth");
    if (c == '{') {
        for (bool more = tfn__json_open(r, '{', '}'); more; more = tfn__json_more(r, '}')) {
            tfn__json_string(r, NULL, 0);
            tfn__json_want(r, ':', ":");
            tfn__json_skip(r, depth - 1);
        }
    } else if (c == '[') {
        for (bool more = tfn__json_open(r, '[', ']'); more; more = tfn__json_more(r, ']'))
            tfn__json_skip(r, depth - 1);
    } else if (c == '"') tfn__json_string(r, NULL, 0);
    else if (c == 't') tfn__json_word(r, "true");
    else if (c == 'f') tfn__json_word(r, "false");
    else if (c == 'n') tfn__json_word(r, "null");
    else tfn__json_number(r);
}
#endif /* TFN__IMPLEMENTING */
/* >> tokenize */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY && !defined TFNORM_ONLY_KERNELS \
    && !defined TFNORM_NO_TOKENIZERS
/* Text to numbers and back: bytes, characters, words, and byte-pair encoding (Sennrich et al. 2016)
 * over bytes and GPT-2's words (Radford et al. 2019). In order:
 *
 *   characters, pieces     classes of Unicode; where a text is cut
 *   hash tables, specials  for strings and pairs; the names of <pad> and its like
 *   training               count the pieces of texts, then choose words or learn merges
 *   making a tokenizer     its tables, from a trainer, a blob, or vocab.json and merges.txt
 *   encoding, decoding     with these tables
 *   saving                 as a blob, vocab.json or merges.txt
 *
 * BPE learns by merging, again and again, the pair of neighbours that is most frequent in the words
 * into a new token; it encodes a word by the same merges in the same order. Of "low" 5 times and
 * "lower" twice the pairs are lo 7, ow 7, we 2, er 2: "lo" becomes a token, then "low" (7), then
 * "er" (2), then "lower". So frequent words end as one token, and no text is without tokens.
 *
 * The trainer merges in time proportional to the changes, not to the text: it keeps all occurrences
 * of each pair in a list and the pairs in a heap. The encoder knows which words come out as one
 * token when they are merged ("entire"), so that most words cost one look-up. Both are exact: what
 * they give is what the plain algorithm gives. */

/* -- characters ------------------------------------------------------------------------------ */

enum { TFN__OTHER, TFN__LETTER, TFN__NUMBER, TFN__WHITE };

/* The classes \p{L}, \p{N} and \s of all code points, made by tools/unicode.py from Unicode 14.0.0:
 * runs of code points of one class, each as the number length*4 + class. A number is written with
 * five bits a character, lowest first, as '0' + bits, and + 32 where more follow: "T1" is 36, nine
 * code points of class 0 (U+0 to U+8), "G" is 23, five of class 3 (tab to carriage return).
 * tfn__run_starts has of every 32nd run the code point where it begins, and its place in the text.
 */
static const char tfn__runs[] =
    "T1GX27l1Z1LY3HY3X17X37T15L:45<654>4m24m34Yi1@a1h1EL545T@E498A45H54=454a24]:4]AP1iD4i485HU5l8"
    "]3@Ad5]5d2Z1@94]<45l19L9Z1=85P254i3d3U;\\15h1Z1U4T19@5Di2@5T15<5l2U3L]1DQ34IT2Y5X7i6<5X25LY1"
    "@Z14Q2@Q1898i24M45<A<5P25d194=@Z198J85P1I@98i24M494949l3A45LZ18=P2U14=4i24M494E<5X25l19@Z1T1"
    "5\\1Q1898i24M494E<5h394=@Z145J\\154I<=4A<94549<9<=<a1h25d2f1X2Q14=4m24Q2<5X3=8589@Z1P1N45@Q1"
    "4=4m24Y14E<5l3949@Z149T2U14=4U585P25D=4N=@^24IDY2<Q34U1458Ml3Z1T2Q649`1MT1Z1l49454E4Q3454Y14"
    "9T158E45T1Z18AP45l3b2`1Q14a4\\3E\\>]5`25Z1HI@A<5<9L=@e1`154Z1Hi445D58]54eY14A8M454A8U54A8U44"
    "A8M454A8m14U74A8]8h1b2<Q2P2i:8I<a]28U27Y3D]9<>Q1LY2d1]2h1Y2h1e14=l1a6\\45@5<Z1HZ1h2Z1HU;LE8Y"
    "445Di8X1m3l4Z1i38E\\1a5@Y3H^1d4m2T1e6\\5Z1HZ1d15d;m5T2Q1<Z1T5i3d19Z1a5X3a4`3Z1<=Z1a48U1L]58="
    "T5A4I49<5DQHP8iR18I8i48I8Q14545454m38e64M45<=4M<A8I@e1D=4M<_1d3;D7l57P2658JD5Z1He1d<5@58Y145"
    "<EH545454A4]18ADE@54^69Fhj2b7h9j2h^2j3`]4eLHA<9T168i445D58Q7L5P2m2T1M4M4M4M4M4M4M4MP:5Pj17@9"
    "6T3V1LE8>9@i:H=4Y;4AD]54i;<BX1Q4P6Q2P4Z1h3R14n1P4Z1l4n1PX1QhIP8eaf2\\8i58eQ1<Q2Z19`2m5P2m38i"
    "8Z1l4U18m<8Q8D9454EP3Q24=4A4m2d1JX1a6h1Y6`3Z1P3I<5494Z1a3X1m2T3e3Lm5`35Z1HE4Y1Z1E4U5l2=4Q1@Z"
    "1Hm2<5<Y645<98E8545P3=8]1L=`1I8I8IT1M4M4]54i1H]>d1Z1Had[1`1m2@U6`PQ1i]18Y=h4M`1ED54Y14e14E45"
    "49494a=T4]]1X2Q88i6P5a1`>E4m@\\2Z1LY3HY3\\1U;<I8I8I8=\\4a14Y34]2494m18i1X4]?`1f5`1V7T2:`Ne3<"
    "U6P2^3@Q4BT1a26Q16Di4X1i38a4@Q14FX5iC8Z1Ha4@a4@Q5P1a6`1]14m14M494]14m14M49\\8mV1T1i2X1Q1P3I4"
    "Y54U1d8I854a549<58m28R1m28Nm3P1V1P6]249DFi2J@Y3h8Q7@:9R28j55l1A4=4e3X1V1l2e3:4e3>P4Q14a3HFP2"
    "i6X1i28R1]2DR1Y2l2NP:U9l6]6d1]6LJa4`1Z1hT1n34Y5H9h9e3Z15P1i2\\1B\\3Y2h5e2N`2m2`1e6X3j34985d1"
    "e5P4U3LZ1T1a4l1Z1@585P1]4<5`1Q6h1A\\1Z1545@b2\\1Y24U3`:M454A4m14Y1Lm5T2Z1\\1Q1898i24M494E<5X"
    "25`1EhCe6X2ADZ1D=h3Q6`2945P1Z1hDm5T5A`4Q6`25\\1Z1h4]5d15LZ1h6]3d2b1@MTGa5`>Q8^2`1Q1858Q1494Q"
    "3l1545h1Z1h8Q18m4P2545`35X1Q5L5d25\\1i5\\25X2U9lP1U14e4T25l1f3Di3P>M494i4d25T1Z1HI494Q4h15LZ"
    "1hV1]2dG5l1f2\\5Yc3h<n=T2aH`Y:U<l1mU4Tj?mX2TgQ1UW2Lm34Z1Hm94Z1Hi3X2Q6P2A`1Z14N4e2D]2Pf2Q8n2T"
    "=]9D5X8e1P8945`3QoGP1ij4X5U1llR1A4M494]T1d5=T2AP1aa1`P9]=De1<U1LY1hXFb2`=V3l@e:4m84985898A4a"
    "1454M4U84A8Q14M4a34A4E45<M4aZ18U34U34m34U34m34U34m34U34m34U34Q18Z6PP7m3Tl1e5X1M8Z1@5TX1i3X2a"
    "5@Z1hl4M4A494m14eH8V1P6a8L5@Z1lR3^74>4B`9f54n1XHA4]34945854Y14A4545H5@545454=494585454545454"
    "9458A4M4A4A454Y14U2D=4E4U2`X2f1\\l:Z1hP4QlV5P4UW@LiK8Y`Fh1UVMlS<iS2Xl5]YC";
static const int32_t tfn__run_starts[][2] = {
    { 0, 0 }, { 710, 45 }, { 1369, 86 }, { 1969, 133 }, { 2385, 180 }, { 2556, 220 },
    { 2738, 259 }, { 2918, 299 }, { 3089, 339 }, { 3295, 380 }, { 3517, 421 }, { 3782, 464 },
    { 4226, 510 }, { 4799, 550 }, { 5888, 596 }, { 6400, 646 }, { 7088, 702 }, { 8006, 750 },
    { 8189, 786 }, { 8487, 826 }, { 11558, 873 }, { 12295, 912 }, { 12896, 959 }, { 42963, 1019 },
    { 43389, 1068 }, { 43712, 1111 }, { 55243, 1157 }, { 65008, 1208 }, { 65616, 1254 },
    { 66513, 1308 }, { 67392, 1357 }, { 67828, 1405 }, { 68296, 1452 }, { 69296, 1507 },
    { 69927, 1562 }, { 70287, 1608 }, { 70751, 1654 }, { 71680, 1708 }, { 72243, 1758 },
    { 73062, 1809 }, { 92778, 1874 }, { 94208, 1926 }, { 119808, 1987 }, { 120134, 2025 },
    { 123136, 2076 }, { 126065, 2127 }, { 126537, 2166 }, { 126590, 2198 }
};

/* Read one number of tfn__runs and step over it. */
static int32_t tfn__next_run(const char **s)
{
    int32_t run = 0;
    for (int32_t shift = 0;; shift += 5) {
        const int32_t digit = **s - '0';
        ++*s;
        run |= (digit & 31) << shift;
        if (!(digit & 32)) return run;
    }
}

/* The class of a code point: a binary search among the starts, then through 32 runs at most. */
static int tfn__class(int32_t c)
{
    int32_t low = 0;
    int32_t high = sizeof tfn__run_starts / sizeof *tfn__run_starts;
    int32_t end;
    const char *s;
    if (c < 0) return TFN__OTHER;               /* a byte that is not UTF-8 */
    if (c < 128 && (c | 32) >= 'a' && (c | 32) <= 'z') return TFN__LETTER;      /* most text */
    while (high - low > 1) {
        const int32_t middle = (low + high) / 2;
        if (tfn__run_starts[middle][0] <= c) low = middle;
        else high = middle;
    }
    end = tfn__run_starts[low][0];
    s = tfn__runs + tfn__run_starts[low][1];
    while (*s) {
        const int32_t run = tfn__next_run(&s);
        end += run >> 2;
        if (c < end) return run & 3;
    }
    return TFN__OTHER;
}

/* GPT-2 writes tokens, which are bytes, as text: each byte is shown as a character that prints. Of
 * U+0021 to U+00FF those that print show themselves; the other 68 bytes, in order, are shown as
 * U+0100 on: 0-32 as 256-288, 127-160 as 289-322, 173 as 323. So a space is U+0120, the G with a
 * dot that most tokens of a vocabulary begin with. */
static bool tfn__shows_itself(int32_t byte)
{
    return (byte >= '!' && byte <= '~') || (byte >= 161 && byte <= 255 && byte != 173);
}

/* The character that shows a byte. */
static int32_t tfn__shown(int32_t byte)
{
    if (tfn__shows_itself(byte)) return byte;
    if (byte <= 32)  return 256 + byte;
    if (byte <= 160) return 289 + (byte - 127);
    return 323;
}

/* The byte that a character shows, or -1. */
static int32_t tfn__byte_shown(int32_t c)
{
    if (tfn__shows_itself(c))   return c;
    if (c >= 256 && c <= 288)   return c - 256;
    if (c >= 289 && c <= 322)   return 127 + (c - 289);
    if (c == 323)               return 173;
    return -1;
}

/* -- pieces ---------------------------------------------------------------------------------- */

/* GPT-2 cuts a text by this expression, tried from left to right at each place:
 *
 *     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * The last but one lets white space leave its last character to the word behind it, unless nothing
 * follows: "a  b" is "a", " ", " b". No merge crosses the end of a piece. */

/* Bytes of the contraction at s, or 0. */
static size_t tfn__contraction(const uint8_t *s, size_t n)
{
    if (n < 2 || s[0] != '\'') return 0;
    if (s[1] == 's' || s[1] == 't' || s[1] == 'm' || s[1] == 'd') return 2;
    if (n < 3) return 0;
    if (s[1] == 'r' && s[2] == 'e') return 3;
    if (s[1] == 'v' && s[2] == 'e') return 3;
    if (s[1] == 'l' && s[2] == 'l') return 3;
    return 0;
}

/* Characters of one class from `at` on: where they end; *last: where the last of them begins, as it
 * was if there is none. */
static size_t tfn__run_of(const uint8_t *s, size_t n, size_t at, int wanted, size_t *last)
{
    while (at < n) {
        int32_t c;
        const size_t bytes = tfn__utf8(s + at, n - at, &c);
        if (tfn__class(c) != wanted) break;
        *last = at;
        at += bytes;
    }
    return at;
}

/* Bytes of the first word of n >= 1 bytes. */
static size_t tfn__word_of(const uint8_t *s, size_t n)
{
    size_t at = tfn__contraction(s, n);
    size_t last = 0;
    int32_t c;
    int kind;
    if (at) return at;
    if (s[0] == ' ' && n > 1) at = 1;           /* " ?", if no white space follows */
    tfn__utf8(s + at, n - at, &c);
    kind = tfn__class(c);
    if (kind != TFN__WHITE) return tfn__run_of(s, n, at, kind, &last);

    at = tfn__run_of(s, n, 0, kind, &last);
    if (at < n && last) return last;            /* \s+(?!\S) of at least two characters */
    return at;
}

/* Bytes of the first piece of n >= 1 bytes. */
static size_t tfn__piece_of(tfn_tokenizer_kind kind, const uint8_t *s, size_t n)
{
    int32_t c;
    if (kind == TFN_TOKENIZER_BYTES) return 1;
    if (kind == TFN_TOKENIZER_CHARACTERS) return tfn__utf8(s, n, &c);
    return tfn__word_of(s, n);
}

/* -- hash tables ----------------------------------------------------------------------------- */

/* Open addressing with linear probing: a power of two of slots, at most half full, each with the
 * index of its string or pair + 1, 0 for none. In front of the slots stands their count - 1, the
 * mask: slot h is slots[1 + h]. A table is made for all that it will hold and never grows. */

/* Slots for n entries. */
static size_t tfn__slots(size_t n)
{
    size_t slots = 2;
    while (slots / 2 < n) {
        if (slots > SIZE_MAX / 4) break;        /* too large: the arena will refuse it */
        slots *= 2;
    }
    return slots;
}

/* FNV-1a (Fowler, Noll and Vo), 64 bits folded to 32. */
static uint32_t tfn__hash(const uint8_t *s, size_t n)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++) h = (h ^ s[i]) * UINT64_C(0x100000001b3);
    return (uint32_t)(h ^ h >> 32);
}

/* Neighbouring ids must not fall into neighbouring slots: splitmix64 over both. */
static uint32_t tfn__hash_pair(int32_t left, int32_t right)
{
    return (uint32_t)tfn__mix((uint64_t)(uint32_t)left << 32 | (uint32_t)right);
}

static bool tfn__same(const uint8_t *a, const uint8_t *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i]) return false;
    return true;
}

/* The slot of a string: that of its index i, for which it is text[start[i]] to
 * text[start[i + 1] - 1], or the empty one where it belongs. */
static int32_t *tfn__string_slot(int32_t *slots, const uint8_t *text, const int32_t *start,
                                 const uint8_t *s, size_t n)
{
    const uint32_t mask = (uint32_t)slots[0];
    uint32_t h = tfn__hash(s, n) & mask;
    for (;; h = (h + 1) & mask) {
        const int32_t i = slots[1 + h] - 1;
        if (i < 0) break;
        if ((size_t)(start[i + 1] - start[i]) == n && tfn__same(text + start[i], s, n)) break;
    }
    return slots + 1 + h;
}

/* An empty table for n entries. */
static int32_t *tfn__take_slots(tfn__arena *a, size_t n, tfn_error *e)
{
    const size_t slots = tfn__slots(n);
    int32_t *s = tfn__take_ids(a, slots + 1, e);
    if (!s || !a->base) return NULL;
    TFNORM_MEMSET(s, 0, (slots + 1) * sizeof *s);
    s[0] = (int32_t)(slots - 1);
    return s;
}

/* -- special tokens -------------------------------------------------------------------------- */

/* The names that mark a special token of a vocabulary, whoever made it. The first row of each kind,
 * in the order of tfn_special, is the name that a trainer gives; then BERT's, and GPT-2's. */
static const struct { char name[16]; tfn_special which; } tfn__specials[] = {
    { "<pad>", TFN_SPECIAL_PAD },
    { "<s>", TFN_SPECIAL_BOS },
    { "</s>", TFN_SPECIAL_EOS },
    { "<unk>", TFN_SPECIAL_UNK },
    { "<mask>", TFN_SPECIAL_MASK },
    { "[PAD]", TFN_SPECIAL_PAD },
    { "[CLS]", TFN_SPECIAL_BOS },
    { "[SEP]", TFN_SPECIAL_EOS },
    { "[UNK]", TFN_SPECIAL_UNK },
    { "[MASK]", TFN_SPECIAL_MASK },
    { "<|endoftext|>", TFN_SPECIAL_EOS },
};

/* The row of a name, or -1: few rows, asked once for each token of a vocabulary. */
static int tfn__special_row(const uint8_t *s, size_t n)
{
    for (size_t i = 0; i < sizeof tfn__specials / sizeof *tfn__specials; i++) {
        const char *name = tfn__specials[i].name;
        if (tfn__length(name) == n && tfn__same(s, (const uint8_t *)name, n)) return (int)i;
    }
    return -1;
}

#ifndef TFNORM_NO_TRAINING
/* -- training: options and memory ------------------------------------------------------------ */

/* Most words and bytes of words: offsets into their text are int32_t. */
enum { TFN__WORD_ROOM = 1 << 30 };

/* Every option that is a number. */
#define TFN__TOKENIZER(field, least, most) \
    TFN__RANGE_OF(tfn_tokenizer_desc, field, TFN__WHOLE, least, most)
static const tfn__limit tfn__tokenizer_limits[] = {
    TFN__TOKENIZER(kind, 0, TFN_TOKENIZER_WORDS), TFN__TOKENIZER(vocab, 0, TFN__ANY),
    TFN__TOKENIZER(min_count, 1, TFN__COUNT), TFN__TOKENIZER(words, 1, TFN__WORD_ROOM),
    TFN__TOKENIZER(word_bytes, 1, TFN__WORD_ROOM)
};

/* What 0 means, by kind. Bytes need no training and so no room for words. */
static void tfn__trainer_defaults(tfn_tokenizer_desc *d, int32_t first)
{
    int32_t vocab = INT32_MAX;
    int64_t min_count = 1;
    int32_t words = 1 << 18;
    int32_t bytes_each = 12;
    if (d->kind == TFN_TOKENIZER_BPE) {
        vocab = 8192;
        min_count = 2;
    } else if (d->kind == TFN_TOKENIZER_BYTES) {
        vocab = first + 256;
        words = 1;
    } else if (d->kind == TFN_TOKENIZER_CHARACTERS) {
        words = 1 << 14;
        bytes_each = 4;
    }
    if (!d->vocab) d->vocab = vocab;
    if (!d->min_count) d->min_count = min_count;
    if (!d->words) d->words = words;
    if (!d->word_bytes) {
        d->word_bytes = TFN__WORD_ROOM;
        if (d->words > 0 && d->words < TFN__WORD_ROOM / bytes_each)
            d->word_bytes = d->words * bytes_each;
    }
}

/* Ids: the specials, then `first` on 256 bytes and merges, or the words or characters. */
static bool tfn__trainer_resolve(tfn_trainer *t, const tfn_tokenizer_desc *desc)
{
    tfn_tokenizer_desc *d = &t->desc;
    int32_t least;
    TFNORM_MEMSET(t, 0, sizeof *t);
    if (!tfn__given(&t->error, "tokenizer", "desc", desc)) return false;
    *d = *desc;
    t->first = !d->no_pad + !d->no_bos + !d->no_eos + !d->no_unk + d->mask;
    tfn__trainer_defaults(d, t->first);
    tfn__check_ranges(&t->error, "tokenizer", d, tfn__tokenizer_limits,
                      sizeof tfn__tokenizer_limits / sizeof *tfn__tokenizer_limits);
    least = t->first;
    if (d->kind == TFN_TOKENIZER_BPE || d->kind == TFN_TOKENIZER_BYTES) least += 256;
    tfn__in_range(&t->error, "tokenizer", "vocab", d->vocab, least, INT32_MAX);
    return t->error.status == TFN_OK;
}

/* Room for pairs. Those that exist at one time are fewer than the words' bytes by far. */
static size_t tfn__pair_room(const tfn_tokenizer_desc *d)
{
    return (size_t)d->word_bytes / 4 + 1024;
}

/* Returns the bytes of the block; 0 after an error. */
static size_t tfn__trainer_lay(tfn_trainer *t, void *mem, size_t size)
{
    const tfn_tokenizer_desc *d = &t->desc;
    const size_t words = (size_t)d->words;
    const size_t bytes = (size_t)d->word_bytes;
    const size_t pairs = tfn__pair_room(d);
    tfn__arena a = tfn__arena_in(mem, size);
    tfn_error *e = &t->error;
    t->text = tfn__take(&a, bytes, 1, e);
    t->start = tfn__take_ids(&a, words + 1, e);
    t->count = (int64_t *)(void *)tfn__take(&a, words, sizeof *t->count, e);
    t->slots = tfn__take_slots(&a, words, e);
    if (d->kind >= TFN_TOKENIZER_CHARACTERS) t->order = tfn__take_ids(&a, words, e);
    if (d->kind == TFN_TOKENIZER_BPE) {                 /* per byte, per pair, per id */
        t->symbol = tfn__take_ids(&a, bytes, e);
        t->word = tfn__take_ids(&a, bytes, e);
        t->next = tfn__take_ids(&a, bytes, e);
        t->prev = tfn__take_ids(&a, bytes, e);
        t->pair = (tfn__pair *)(void *)tfn__take(&a, pairs, sizeof *t->pair, e);
        t->heap = tfn__take_ids(&a, pairs, e);
        t->pair_slots = tfn__take_slots(&a, pairs, e);
        t->left = tfn__take_ids(&a, (size_t)d->vocab, e);
        t->right = tfn__take_ids(&a, (size_t)d->vocab, e);
        t->length = tfn__take_ids(&a, (size_t)d->vocab, e);
    }
    if (e->status != TFN_OK) return 0;
    return a.peak + (TFN__ALIGN - 1);
}

TFNORM_API size_t tfn_trainer_size(const tfn_tokenizer_desc *desc)
{
    tfn_trainer t;
    if (!tfn__trainer_resolve(&t, desc)) return 0;
    return tfn__trainer_lay(&t, NULL, SIZE_MAX);
}

TFNORM_API tfn_status tfn_trainer_init(tfn_trainer *t, const tfn_tokenizer_desc *desc, void *mem,
                                       size_t size)
{
    if (!t) return TFN_NULL;
    if (!mem) size = 0;
    if (tfn__trainer_resolve(t, desc) && tfn__trainer_lay(t, mem, size)) t->start[0] = 0;
    return t->error.status;
}

/* -- training: counting pieces --------------------------------------------------------------- */

/* A text is needed once: what is kept of it is its different pieces, which are called words here
 * even where they are characters, and how often each came. Merges never cross the end of a piece,
 * so nothing else matters to them. */

/* One more of a piece; a new one is appended to the words' text. */
static void tfn__count_word(tfn_trainer *t, const uint8_t *s, size_t n)
{
    int32_t *slot = tfn__string_slot(t->slots, t->text, t->start, s, n);
    if (*slot) {
        t->count[*slot - 1]++;
        return;
    }
    if (t->words == t->desc.words || n > (size_t)(t->desc.word_bytes - t->word_bytes)) {
        tfn__fail(&t->error, TFN_NO_MEMORY, "tokenizer",
                  "%d different words of %d bytes fill the room: raise words or word_bytes",
                  t->words, t->word_bytes);
        return;
    }
    TFNORM_MEMCPY(t->text + t->word_bytes, s, n);
    t->word_bytes += (int32_t)n;
    t->count[t->words] = 1;
    t->words++;
    t->start[t->words] = t->word_bytes;
    *slot = t->words;
}

/* Bytes are not counted: their vocabulary does not depend on the text. */
TFNORM_API tfn_status tfn_trainer_add(tfn_trainer *t, const char *text, size_t bytes)
{
    const uint8_t *s = (const uint8_t *)text;
    size_t at = 0;
    if (!t) return TFN_NULL;
    tfn__made(&t->error, "tokenizer", t->start);
    if (bytes) tfn__given(&t->error, "tokenizer", "text", text);
    if (t->ran) tfn__fail(&t->error, TFN_NOT_READY, "tokenizer", "text after the run", 0, 0);
    if (t->desc.kind == TFN_TOKENIZER_BYTES) return t->error.status;
    while (at < bytes) {
        size_t n;
        if (t->error.status != TFN_OK) break;
        n = tfn__piece_of(t->desc.kind, s + at, bytes - at);
        tfn__count_word(t, s + at, n);
        at += n;
    }
    return t->error.status;
}

/* -- training: words and characters ---------------------------------------------------------- */

/* Whether word i comes before word j in the vocabulary: by count, then by their bytes. */
static bool tfn__word_before(const void *x, int32_t i, int32_t j)
{
    const tfn_trainer *t = (const tfn_trainer *)x;
    const uint8_t *a = t->text + t->start[i];
    const uint8_t *b = t->text + t->start[j];
    const int32_t na = t->start[i + 1] - t->start[i];
    const int32_t nb = t->start[j + 1] - t->start[j];
    if (t->count[i] != t->count[j]) return t->count[i] > t->count[j];
    for (int32_t k = 0; k < na; k++) {
        if (k == nb) return false;
        if (a[k] != b[k]) return a[k] < b[k];
    }
    return na < nb;
}

/* The most frequent ones that the vocabulary has room for and that are frequent enough: those in
 * front when all are in order. */
static void tfn__choose_words(tfn_trainer *t)
{
    const int32_t most = (int32_t)tfn__min(t->words, t->desc.vocab - t->first);
    int32_t n = 0;
    tfn__order(t->order, t->words, tfn__word_before, t);
    for (; n < most; n++)
        if (t->count[t->order[n]] < t->desc.min_count) break;
    t->vocab = t->first + n;
}

/* -- training: pairs ------------------------------------------------------------------------- */

/* The words' text, cut into tokens: symbol[i] is the id of the token that begins at byte i, and on
 * the last byte of one with several stands ~i, which leads back to its first. So both neighbours of
 * a token are found at once, and merging two writes two numbers; on bytes between those stands what
 * earlier merges left there. "lower" at bytes 10 to 14, when it is lo w er:
 *
 *     byte      10    11    12    13    14
 *     text       l     o     w     e     r
 *     symbol    lo   ~10     w    er   ~13
 *
 * An occurrence of a pair is the byte where it begins. All of one pair are a list through next and
 * prev; its count is the sum of the counts of their words. The heap has the pairs that exist, best
 * first, and pair[p].at is the place of p in it; a pair without occurrences is dropped, and its
 * entry joins the free ones, a list through `head` from t->spare on. */

/* Whether pair p is merged before q: the more frequent, then the one with the smaller ids. */
static bool tfn__pair_before(const tfn_trainer *t, int32_t p, int32_t q)
{
    const tfn__pair *a = t->pair + p;
    const tfn__pair *b = t->pair + q;
    if (a->count != b->count) return a->count > b->count;
    if (a->left != b->left) return a->left < b->left;
    return a->right < b->right;
}

/* Every move within the heap goes through here, so that a pair knows its place. */
static void tfn__heap_place(tfn_trainer *t, int32_t p, int32_t at)
{
    t->heap[at] = p;
    t->pair[p].at = at;
}

/* Pair p belongs into the hole at `at`, or further up, or further down: its count may have changed.
 * Those that it passes move into the hole. */
static void tfn__heap_move(tfn_trainer *t, int32_t p, int32_t at)
{
    while (at > 0) {
        const int32_t parent = (at - 1) / 2;
        if (!tfn__pair_before(t, p, t->heap[parent])) break;
        tfn__heap_place(t, t->heap[parent], at);
        at = parent;
    }
    while (at < t->heap_size / 2) {
        int32_t child = 2*at + 1;
        if (child + 1 < t->heap_size
            && tfn__pair_before(t, t->heap[child + 1], t->heap[child])) child++;
        if (!tfn__pair_before(t, t->heap[child], p)) break;
        tfn__heap_place(t, t->heap[child], at);
        at = child;
    }
    tfn__heap_place(t, p, at);
}

/* The slot of a pair, or the empty one where it belongs. */
static uint32_t tfn__pair_slot(const tfn_trainer *t, int32_t left, int32_t right)
{
    const uint32_t mask = (uint32_t)t->pair_slots[0];
    uint32_t h = tfn__hash_pair(left, right) & mask;
    for (;; h = (h + 1) & mask) {
        const int32_t p = t->pair_slots[1 + h] - 1;
        if (p < 0) break;
        if (t->pair[p].left == left && t->pair[p].right == right) break;
    }
    return h;
}

/* Empty a slot. A pair further on that was put there because this slot was taken would not be found
 * any more: it moves into the hole, and leaves one (Knuth, volume 3, algorithm 6.4 R). */
static void tfn__free_slot(tfn_trainer *t, uint32_t hole)
{
    const uint32_t mask = (uint32_t)t->pair_slots[0];
    int32_t *slots = t->pair_slots + 1;
    for (uint32_t h = (hole + 1) & mask; slots[h]; h = (h + 1) & mask) {
        const tfn__pair *p = t->pair + slots[h] - 1;
        const uint32_t home = tfn__hash_pair(p->left, p->right) & mask;
        if (((h - home) & mask) < ((h - hole) & mask)) continue;    /* home lies behind the hole */
        slots[hole] = slots[h];
        hole = h;
    }
    slots[hole] = 0;
}

/* An entry for a pair, last in the heap, which a count of 0 is right for; -1: no room. */
static int32_t tfn__new_pair(tfn_trainer *t, int32_t left, int32_t right)
{
    int32_t p = t->spare;
    if (p >= 0) t->spare = t->pair[p].head;
    else if (t->pairs < t->pair_room) p = t->pairs++;
    else {
        tfn__fail(&t->error, TFN_NO_MEMORY, "tokenizer", "over %d pairs: raise word_bytes",
                  t->pair_room, 0);
        return -1;
    }
    t->pair[p].left = left;
    t->pair[p].right = right;
    t->pair[p].count = 0;
    t->pair[p].head = -1;
    tfn__heap_place(t, p, t->heap_size++);
    return p;
}

/* Take a pair out of the heap, the table and the entries. The last of the heap fills its place. */
static void tfn__drop_pair(tfn_trainer *t, int32_t p, uint32_t slot)
{
    const int32_t at = t->pair[p].at;
    const int32_t last = t->heap[--t->heap_size];
    tfn__free_slot(t, slot);
    if (last != p) tfn__heap_move(t, last, at);
    t->pair[p].head = t->spare;
    t->spare = p;
}

/* The token after or before the one at byte i of the same word; -1: none. */
static int32_t tfn__symbol_after(const tfn_trainer *t, int32_t i)
{
    const int32_t j = i + t->length[t->symbol[i]];
    if (j >= t->start[t->word[i] + 1]) return -1;
    return j;
}
static int32_t tfn__symbol_before(const tfn_trainer *t, int32_t i)
{
    if (i == t->start[t->word[i]]) return -1;
    if (t->symbol[i - 1] < 0) return ~t->symbol[i - 1];
    return i - 1;                               /* a token of one byte */
}

/* Put the occurrence at byte i into the list of its pair, which it may be the first of. */
static void tfn__link(tfn_trainer *t, int32_t i)
{
    const int32_t left = t->symbol[i];
    const int32_t right = t->symbol[tfn__symbol_after(t, i)];
    const uint32_t slot = tfn__pair_slot(t, left, right);
    int32_t p = t->pair_slots[1 + slot] - 1;
    if (p < 0) {
        p = tfn__new_pair(t, left, right);
        if (p < 0) return;
        t->pair_slots[1 + slot] = p + 1;
    }
    t->prev[i] = -1;
    t->next[i] = t->pair[p].head;
    if (t->next[i] >= 0) t->prev[t->next[i]] = i;
    t->pair[p].head = i;
    t->pair[p].count += t->count[t->word[i]];
    tfn__heap_move(t, p, t->pair[p].at);
}

/* Take the occurrence at byte i out, and the pair with it if that was the last. */
static void tfn__unlink(tfn_trainer *t, int32_t i)
{
    const uint32_t slot = tfn__pair_slot(t, t->symbol[i], t->symbol[tfn__symbol_after(t, i)]);
    const int32_t p = t->pair_slots[1 + slot] - 1;
    if (t->next[i] >= 0) t->prev[t->next[i]] = t->prev[i];
    if (t->prev[i] >= 0) t->next[t->prev[i]] = t->next[i];
    else t->pair[p].head = t->next[i];
    t->pair[p].count -= t->count[t->word[i]];
    if (t->pair[p].head < 0) tfn__drop_pair(t, p, slot);
    else tfn__heap_move(t, p, t->pair[p].at);
}

/* Make one token of those at i and after it: of x A B y the pairs xA, AB and By go, x(AB) and (AB)y
 * come. All are unlinked before a symbol changes, since a pair is found by its symbols. */
static void tfn__merge_at(tfn_trainer *t, int32_t i, int32_t id)
{
    const int32_t before = tfn__symbol_before(t, i);
    const int32_t after = tfn__symbol_after(t, i);
    const int32_t end = after + t->length[t->symbol[after]];
    const bool more = tfn__symbol_after(t, after) >= 0;
    if (before >= 0) tfn__unlink(t, before);
    tfn__unlink(t, i);
    if (more) tfn__unlink(t, after);
    t->symbol[i] = id;
    t->symbol[end - 1] = ~i;
    if (before >= 0) tfn__link(t, before);
    if (more) tfn__link(t, i);
}

/* Whether a pair stands at i; i may be -1, which is what tfn__symbol_after says of the last. */
static bool tfn__pair_at(const tfn_trainer *t, int32_t i, int32_t left, int32_t right)
{
    int32_t after;
    if (i < 0 || t->symbol[i] != left) return false;
    after = tfn__symbol_after(t, i);
    return after >= 0 && t->symbol[after] == right;
}

/* The first of the equal tokens that stand in a row before i. */
static int32_t tfn__run_begin(const tfn_trainer *t, int32_t i)
{
    for (;;) {
        const int32_t before = tfn__symbol_before(t, i);
        if (before < 0 || t->symbol[before] != t->symbol[i]) return i;
        i = before;
    }
}

/* Merge all occurrences of a pair, until its list is empty. In which order they come does not
 * matter, but for equal tokens in a row: in aaa the occurrences of a + a overlap, and the plain
 * algorithm, which reads from left to right, merges the first two. So go back to where the row
 * begins, then merge along it. */
static void tfn__merge_pair(tfn_trainer *t, int32_t left, int32_t right, int32_t id)
{
    while (t->error.status == TFN_OK) {
        const int32_t p = t->pair_slots[1 + tfn__pair_slot(t, left, right)] - 1;
        int32_t i;
        if (p < 0) return;
        i = t->pair[p].head;
        if (left == right) i = tfn__run_begin(t, i);
        while (tfn__pair_at(t, i, left, right)) {
            tfn__merge_at(t, i, id);
            if (t->error.status != TFN_OK) return;
            i = tfn__symbol_after(t, i);
        }
    }
}

/* All bytes are tokens of their own; link all pairs of neighbours. */
static void tfn__begin_pairs(tfn_trainer *t)
{
    t->pair_room = (int32_t)tfn__pair_room(&t->desc);
    t->spare = -1;
    for (int32_t i = 0; i < t->first + 256; i++) t->length[i] = 1;
    for (int32_t w = 0; w < t->words; w++)
        for (int32_t i = t->start[w]; i < t->start[w + 1]; i++) {
            t->symbol[i] = t->first + t->text[i];
            t->word[i] = w;
        }
    for (int32_t w = 0; w < t->words; w++)
        for (int32_t i = t->start[w]; i + 1 < t->start[w + 1]; i++) {
            if (t->error.status != TFN_OK) return;
            tfn__link(t, i);
        }
}

/* Algorithm 1 of Sennrich et al. 2016: merge the most frequent pair, until the vocabulary is full
 * or no pair is frequent enough. Each merge of an occurrence changes five pairs at most, and each
 * change costs the logarithm of the number of pairs in the heap. */
static void tfn__learn_merges(tfn_trainer *t)
{
    tfn__begin_pairs(t);
    while (t->vocab < t->desc.vocab) {
        const int32_t id = t->vocab;
        tfn__pair best;
        if (t->error.status != TFN_OK || t->heap_size == 0) return;
        best = t->pair[t->heap[0]];
        if (best.count < t->desc.min_count) return;
        t->left[id] = best.left;
        t->right[id] = best.right;
        t->length[id] = t->length[best.left] + t->length[best.right];
        t->vocab++;
        tfn__merge_pair(t, best.left, best.right, id);
    }
}

/* Ids from `first` on are the bytes, unless words or characters are chosen. */
TFNORM_API tfn_status tfn_trainer_run(tfn_trainer *t)
{
    if (!t) return TFN_NULL;
    tfn__made(&t->error, "tokenizer", t->start);
    if (t->ran || t->error.status != TFN_OK) return t->error.status;
    t->vocab = t->first + 256;
    if (t->desc.kind == TFN_TOKENIZER_BPE) tfn__learn_merges(t);
    else if (t->desc.kind != TFN_TOKENIZER_BYTES) tfn__choose_words(t);
    t->ran = t->error.status == TFN_OK;
    return t->error.status;
}
#endif /* TFNORM_NO_TRAINING */

/* -- making a tokenizer ---------------------------------------------------------------------- */

/* A tokenizer is a few tables in one block:
 *
 *   text, start          the bytes of all tokens one after the other: token id is text[start[id]]
 *                        to text[start[id + 1] - 1]
 *   slots                a hash table of those that text is encoded as
 *   flags                of each token, see below
 *   byte_id              the token of each byte, -1: none
 *   merge, merge_slots   left, right and what they give, best first; a hash table of the pairs
 *
 * A source is gone through twice by one function, its pass: without a tokenizer it counts, so that
 * the block can be laid out; with it, it stores. Nothing about a source is written twice. */

enum {
    TFN__RAW    = 1,    /* no text is encoded as this token: a special, as it is */
    TFN__ENTIRE = 2,    /* merging the bytes of this token gives it */
    TFN__SEEN   = 4     /* vocab.json: the id came, while its entries are read */
};

/* What a source holds, up to where a pass has come. */
typedef struct tfn__vocab {
    tfn_tokenizer_kind kind;
    size_t count, merges, bytes, longest;           /* longest: a buffer for merges.txt */
} tfn__vocab;

/* What a source holds ends here, and must have been read to its end. */
static void tfn__end_vocab(tfn_error *e, tfn__reader *r, const char *text)
{
    if (r->at < r->size) tfn__want(r, "its end");
    if (!r->wanted || e->status != TFN_OK) return;
    tfn__fail_name(e, TFN_BAD_FORMAT, "tokenizer", text, r->wanted);
    e->found = (int64_t)r->at;
}

/* How long token id is. */
static size_t tfn__token_bytes(const tfn_tokenizer *k, int32_t id)
{
    return (size_t)(k->start[id + 1] - k->start[id]);
}

/* The id of a token that text can be encoded as, or -1. */
static int32_t tfn__token_id(const tfn_tokenizer *k, const uint8_t *s, size_t n)
{
    return *tfn__string_slot(k->slots, k->text, k->start, s, n) - 1;
}

/* A special token by its name, such as <s> and [CLS]: of several for one purpose the first in the
 * vocabulary is the one that tfn_tokenizer.special names. */
static void tfn__mark_special(tfn_tokenizer *k, int32_t id, int row)
{
    const tfn_special which = tfn__specials[row].which;
    if (k->special[which] < 0) k->special[which] = id;
    k->flags[id] |= TFN__RAW;
}

/* Fill the table of strings, the ids of bytes and those of the specials, when all tokens are
 * stored. Raw tokens are in no table: so text that reads like one is encoded as other tokens. */
static bool tfn__index_tokens(tfn_tokenizer *k)
{
    for (int i = 0; i < TFN_SPECIAL_COUNT; i++) k->special[i] = -1;
    for (int32_t id = 0; id < k->vocab; id++) {
        const uint8_t *s = k->text + k->start[id];
        const size_t n = tfn__token_bytes(k, id);
        const int row = tfn__special_row(s, n);
        int32_t *slot;
        if (row >= 0) tfn__mark_special(k, id, row);
        if (k->flags[id] & TFN__RAW) continue;
        slot = tfn__string_slot(k->slots, k->text, k->start, s, n);
        if (*slot || !n)
            tfn__fail(&k->error, TFN_BAD_FORMAT, "tokenizer",
                      "token %d is empty, or the same as token %d", id, *slot - 1);
        *slot = id + 1;
    }
    for (int i = 0; i < 256; i++) {
        const uint8_t byte = (uint8_t)i;
        k->byte_id[i] = tfn__token_id(k, &byte, 1);
    }
    return k->error.status == TFN_OK;
}

/* -- merging --------------------------------------------------------------------------------- */

/* Merge i gives token id. */
static void tfn__set_merge(tfn_tokenizer *k, size_t i, int32_t left, int32_t right, int32_t id)
{
    k->merge[3*i] = left;
    k->merge[3*i + 1] = right;
    k->merge[3*i + 2] = id;
}

/* The slot of a merge, or the empty one where it belongs. */
static int32_t *tfn__merge_slot(const tfn_tokenizer *k, int32_t left, int32_t right)
{
    const uint32_t mask = (uint32_t)k->merge_slots[0];
    uint32_t h = tfn__hash_pair(left, right) & mask;
    for (;; h = (h + 1) & mask) {
        const int32_t i = k->merge_slots[1 + h] - 1;
        if (i < 0) break;
        if (k->merge[3*i] == left && k->merge[3*i + 1] == right) break;
    }
    return k->merge_slots + 1 + h;
}

/* Whether tokens left and right together are token id: what a merge of a file must satisfy. */
static bool tfn__makes(const tfn_tokenizer *k, int32_t left, int32_t right, int32_t id)
{
    size_t a;
    size_t b;
    if (left < 0 || right < 0 || id < 0) return false;
    if (left >= k->vocab || right >= k->vocab || id >= k->vocab) return false;
    if ((k->flags[left] | k->flags[right] | k->flags[id]) & TFN__RAW) return false;
    a = tfn__token_bytes(k, left);
    b = tfn__token_bytes(k, right);
    return tfn__token_bytes(k, id) == a + b
           && tfn__same(k->text + k->start[id], k->text + k->start[left], a)
           && tfn__same(k->text + k->start[id] + a, k->text + k->start[right], b);
}

/* SHORT_WORD: bytes of a word that is merged on the stack; nearly all of text is shorter. */
enum { TFN__SHORT_WORD = 256, TFN__NO_RANK = INT32_MAX };

/* The rank of a pair is the number of its merge: the lowest is merged first. */
static int32_t tfn__rank(const tfn_tokenizer *k, int32_t left, int32_t right)
{
    const int32_t i = *tfn__merge_slot(k, left, right);
    if (!i) return TFN__NO_RANK;
    return i - 1;
}

/* Merge n symbols in place, as GPT-2's encoder does: in each pass all occurrences of the pair of
 * the lowest rank, from left to right, while the lowest rank of what comes out is found. Returns
 * how many are left. Each pass merges something, so n symbols take n - 1 passes at most: plain, and
 * fast for the short words that text is made of. */
static ptrdiff_t tfn__merge_all(const tfn_tokenizer *k, int32_t *symbol, ptrdiff_t n)
{
    int32_t rank = TFN__NO_RANK;
    for (ptrdiff_t i = 1; i < n; i++)
        rank = (int32_t)tfn__min(rank, tfn__rank(k, symbol[i - 1], symbol[i]));
    while (rank != TFN__NO_RANK) {
        const int32_t *m = k->merge + 3 * rank;
        ptrdiff_t out = 0;
        rank = TFN__NO_RANK;
        for (ptrdiff_t i = 0; i < n; i++) {
            int32_t id = symbol[i];
            if (id == m[0] && i + 1 < n && symbol[i + 1] == m[1]) {
                id = m[2];
                i++;
            }
            symbol[out++] = id;
            if (out > 1) rank = (int32_t)tfn__min(rank, tfn__rank(k, symbol[out - 2], id));
        }
        n = out;
    }
    return n;
}

/* The bytes of a word as symbols; those that the vocabulary lacks are unknown, or left out. */
static ptrdiff_t tfn__symbols(const tfn_tokenizer *k, int32_t *symbol, const uint8_t *s, size_t n)
{
    ptrdiff_t count = 0;
    for (size_t i = 0; i < n; i++) {
        int32_t id = k->byte_id[s[i]];
        if (id < 0) id = k->special[TFN_SPECIAL_UNK];
        if (id >= 0) symbol[count++] = id;
    }
    return count;
}

/* Find the tokens that their own bytes merge to. Not all do: a merge on the way may have taken a
 * byte away to the other side. A long one is not tried; encoding merges it each time. */
static void tfn__mark_entire(tfn_tokenizer *k)
{
    int32_t symbol[TFN__SHORT_WORD];
    for (int32_t id = 0; id < k->vocab; id++) {
        const size_t n = tfn__token_bytes(k, id);
        ptrdiff_t count;
        if (k->flags[id] & TFN__RAW || n > TFN__SHORT_WORD) continue;
        count = tfn__symbols(k, symbol, k->text + k->start[id], n);
        if (tfn__merge_all(k, symbol, count) == 1 && symbol[0] == id) k->flags[id] |= TFN__ENTIRE;
    }
}

/* Check the merges and fill their table, when all are stored. */
static bool tfn__index_merges(tfn_tokenizer *k)
{
    for (int32_t i = 0; i < k->merges; i++) {
        const int32_t *m = k->merge + 3 * i;
        int32_t *slot = tfn__merge_slot(k, m[0], m[1]);
        if (*slot || !tfn__makes(k, m[0], m[1], m[2])) {
            tfn__fail(&k->error, TFN_BAD_FORMAT, "tokenizer",
                      "merge %d comes twice or does not give a token", i, 0);
            return false;
        }
        *slot = i + 1;
    }
    if (k->kind == TFN_TOKENIZER_BPE) tfn__mark_entire(k);
    return true;
}

/* -- from a trainer -------------------------------------------------------------------------- */

/* A token is appended piece by piece, then closed. Without k its bytes are only counted. */
static void tfn__append(tfn__vocab *v, tfn_tokenizer *k, const uint8_t *s, size_t n)
{
    if (k) TFNORM_MEMCPY(k->text + v->bytes, s, n);
    v->bytes += n;
}
static void tfn__close(tfn__vocab *v, tfn_tokenizer *k, uint8_t flags)
{
    if (k) k->flags[v->count] = flags;
    v->count++;
    if (k) k->start[v->count] = (int32_t)v->bytes;
}
static void tfn__add_token(tfn__vocab *v, tfn_tokenizer *k, const uint8_t *s, size_t n,
                           uint8_t flags)
{
    tfn__append(v, k, s, n);
    tfn__close(v, k, flags);
}

#ifdef TFNORM_NO_TRAINING
static void tfn__trained_pass(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k, const tfn_trainer *t)
{
    (void)v;
    (void)k;
    (void)t;
    tfn__fail(e, TFN_UNSUPPORTED, "tokenizer", "this build cannot train", 0, 0);
}
#else
/* Ids go up in the order in which tokens are added: specials, then words, or bytes and merges. */

/* Words or characters in the order that training gave them. */
static void tfn__trained_words(tfn__vocab *v, tfn_tokenizer *k, const tfn_trainer *t)
{
    for (int32_t i = 0; i < t->vocab - t->first; i++) {
        const int32_t word = t->order[i];
        const size_t n = (size_t)(t->start[word + 1] - t->start[word]);
        tfn__add_token(v, k, t->text + t->start[word], n, 0);
    }
}

/* The bytes of token id, which was stored before. */
static void tfn__append_token(tfn__vocab *v, tfn_tokenizer *k, const tfn_trainer *t, int32_t id)
{
    const uint8_t *s = NULL;
    if (k) s = k->text + k->start[id];
    tfn__append(v, k, s, (size_t)t->length[id]);
}

/* The 256 bytes, then a token for each merge: of bytes alone there are none. */
static void tfn__trained_merges(tfn__vocab *v, tfn_tokenizer *k, const tfn_trainer *t)
{
    for (int i = 0; i < 256; i++) {
        const uint8_t byte = (uint8_t)i;
        tfn__add_token(v, k, &byte, 1, 0);
    }
    for (int32_t id = t->first + 256; id < t->vocab; id++) {
        tfn__append_token(v, k, t, t->left[id]);
        tfn__append_token(v, k, t, t->right[id]);
        tfn__close(v, k, 0);
        if (k) tfn__set_merge(k, v->merges, t->left[id], t->right[id], id);
        v->merges++;
    }
}

static void tfn__trained_pass(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k, const tfn_trainer *t)
{
    const tfn_tokenizer_desc *d = &t->desc;         /* in the order of tfn_special: */
    const bool wanted[TFN_SPECIAL_COUNT] = { !d->no_pad, !d->no_bos, !d->no_eos, !d->no_unk,
                                             d->mask };
    if (!t->ran) {
        tfn__fail(e, TFN_NOT_READY, "tokenizer", "the trainer did not run", 0, 0);
        return;
    }
    v->kind = d->kind;
    for (int i = 0; i < TFN_SPECIAL_COUNT; i++) {
        const char *name = tfn__specials[i].name;
        if (wanted[i]) tfn__add_token(v, k, (const uint8_t *)name, tfn__length(name), 0);
    }
    if (t->order) tfn__trained_words(v, k, t);
    else          tfn__trained_merges(v, k, t);
}
#endif

/* -- from a blob ----------------------------------------------------------------------------- */

/* A blob, as tfn_tokenizer_write makes it and checkpoints keep it:
 *
 *     "tfntok1\n"
 *     kind, how many tokens, how many merges
 *     per token   bytes*2 + raw, then its bytes
 *     per merge   left, right, what they give
 *     4 bytes     tfn__hash of all before, lowest byte first
 *
 * Numbers have 7 bits a byte, lowest first, and the highest bit where more follow: 300 is AC 02. */
static const uint8_t tfn__magic[8] = { 't', 'f', 'n', 't', 'o', 'k', '1', '\n' };
enum { TFN__SUM_BYTES = 4 };

/* Up to INT32_MAX: four bytes of 7 bits, and 3 bits of a fifth. 0 after an error. */
static int32_t tfn__read_number(tfn__reader *r)
{
    uint32_t v = 0;
    for (int shift = 0; shift < 35; shift += 7) {
        const int32_t c = tfn__peek(r);
        if (c < 0 || (shift == 28 && c > 7)) break;
        r->at++;
        v |= (uint32_t)(c & 127) << shift;
        if (c < 128) return (int32_t)v;
    }
    tfn__want(r, "a number");
    return 0;
}

/* The magic, and the sum that stands behind all that r reads. */
static void tfn__check_blob(tfn__reader *r)
{
    const uint32_t sum = tfn__hash(r->s, r->size);
    if (r->size < sizeof tfn__magic || !tfn__same(r->s, tfn__magic, sizeof tfn__magic)) {
        tfn__want(r, "a tokenizer's blob");
        return;
    }
    for (size_t i = 0; i < TFN__SUM_BYTES; i++)
        if (r->s[r->size + i] != (uint8_t)(sum >> 8*i)) tfn__want(r, "another sum at its end");
}

/* Raw tokens must be UTF-8: they are written into vocab.json as they are. */
static void tfn__blob_token(tfn__reader *r, tfn__vocab *v, tfn_tokenizer *k)
{
    const size_t head = (size_t)tfn__read_number(r);
    const size_t n = head / 2;
    uint8_t flags = 0;
    if (head & 1) flags = TFN__RAW;
    if (!n || n > r->size - r->at) tfn__want(r, "a token");
    else if (flags && !tfn__is_utf8(r->s + r->at, n)) tfn__want(r, "a token");
    if (r->wanted) return;
    tfn__add_token(v, k, r->s + r->at, n, flags);
    r->at += n;
}

/* The numbers of a merge may be any: see tfn__makes. */
static void tfn__blob_merge(tfn__reader *r, tfn__vocab *v, tfn_tokenizer *k)
{
    const int32_t left = tfn__read_number(r);
    const int32_t right = tfn__read_number(r);
    const int32_t id = tfn__read_number(r);
    if (k) tfn__set_merge(k, v->merges, left, right, id);
    v->merges++;
}

/* A blob with the right sum may still say anything: each number is checked before it is used, and a
 * count only bounds how long is read. Whether the merges make sense tfn__index_merges finds out. */
static void tfn__blob_pass(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k, const void *blob,
                           size_t size)
{
    tfn__reader r = tfn__read_from(blob, size);
    size_t count;
    size_t merges;
    if (size < sizeof tfn__magic + TFN__SUM_BYTES) r.size = 0;
    else r.size -= TFN__SUM_BYTES;
    tfn__check_blob(&r);
    r.at = sizeof tfn__magic;
    v->kind = (tfn_tokenizer_kind)tfn__read_number(&r);
    count = (size_t)tfn__read_number(&r);
    merges = (size_t)tfn__read_number(&r);
    if ((unsigned)v->kind > TFN_TOKENIZER_WORDS || (merges && v->kind != TFN_TOKENIZER_BPE))
        tfn__want(&r, "a kind");
    while (v->count < count) {
        tfn__blob_token(&r, v, k);
        if (r.wanted) break;
    }
    while (v->merges < merges) {
        if (r.wanted) break;
        tfn__blob_merge(&r, v, k);
    }
    tfn__end_vocab(e, &r, "the blob is wrong at byte %d: %s is wanted");
}

/* -- from vocab.json and merges.txt ---------------------------------------------------------- */

/* vocab.json is one object, { "low": 17, "\u0120low": 18, ... }, each token written as the
 * characters that show its bytes; merges.txt has a line "lo w" for each merge, best first. */

/* Store the bytes of a token whose opening quote was read. */
static void tfn__store_token(tfn__reader r, uint8_t *to, bool raw)
{
    size_t n = 0;
    for (;;) {
        const int32_t c = tfn__json_char(&r);
        if (c < 0) return;
        if (raw) n += tfn__put_utf8(to + n, c);
        else to[n++] = (uint8_t)tfn__byte_shown(c);
    }
}

/* How many bytes the token has whose opening quote was read. Each character shows a byte, as GPT-2
 * does; a token with one that shows none is raw, a special as it is in UTF-8. Which of the two
 * becomes clear only at the end of the string, so both are counted. */
static size_t tfn__json_token(tfn__reader *r, bool *raw)
{
    uint8_t spare[4];
    size_t shown = 0;
    size_t plain = 0;
    *raw = false;
    for (;;) {
        const int32_t c = tfn__json_char(r);
        if (c < 0) break;
        if (tfn__byte_shown(c) < 0) *raw = true;
        shown++;
        plain += tfn__put_utf8(spare, c);
    }
    if (*raw) return plain;
    return shown;
}

/* vocab.json has its ids in any order, so it is read three times: entries are counted; lengths are
 * noted in start[id + 1], from which the places follow; bytes are stored there. */
enum { TFN__COUNT_TOKENS, TFN__MEASURE_TOKENS, TFN__STORE_TOKENS };

/* Each id must come once. As there are as many entries as ids, then none is left out. */
static bool tfn__id_fits(const tfn_tokenizer *k, int32_t id, int step)
{
    if (step == TFN__COUNT_TOKENS) return true;
    if (id < 0 || id >= k->vocab) return false;
    return step == TFN__STORE_TOKENS || !k->flags[id];
}

/* One entry, "token": id. */
static void tfn__vocab_entry(tfn__reader *r, tfn__vocab *v, tfn_tokenizer *k, int step)
{
    tfn__reader token;
    size_t n;
    int32_t id;
    bool raw;
    tfn__json_want(r, '"', "a string");
    token = *r;
    n = tfn__json_token(r, &raw);
    tfn__json_want(r, ':', ":");
    id = (int32_t)tfn__json_count(r, INT32_MAX);
    if (!n) tfn__want(r, "a token that is not empty");
    if (!tfn__id_fits(k, id, step)) tfn__want(r, "each number from 0 on once");
    if (r->wanted) return;

    v->count++;
    v->bytes += n;
    if (n > v->longest) v->longest = n;
    if (step == TFN__MEASURE_TOKENS) {
        k->flags[id] = TFN__SEEN;
        if (raw) k->flags[id] |= TFN__RAW;
        k->start[id + 1] = (int32_t)n;
    }
    if (step == TFN__STORE_TOKENS) tfn__store_token(token, k->text + k->start[id], raw);
}

static void tfn__read_vocab(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k, int step,
                            const tfn_tokenizer_source *s)
{
    tfn__reader r = tfn__read_from(s->vocab, s->vocab_size);
    for (bool more = tfn__json_open(&r, '{', '}'); more; more = tfn__json_more(&r, '}'))
        tfn__vocab_entry(&r, v, k, step);
    tfn__end_vocab(e, &r, "the vocabulary is wrong at byte %d: %s is wanted");
}

/* Without merges the file cannot say what its tokens are, so the source does. */
static void tfn__vocab_pass(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k,
                            const tfn_tokenizer_source *s)
{
    v->kind = s->kind;
    if (s->merges) v->kind = TFN_TOKENIZER_BPE;
    else if (s->kind == TFN_TOKENIZER_BPE || (unsigned)s->kind > TFN_TOKENIZER_WORDS)
        tfn__fail(e, TFN_BAD_OPTION, "tokenizer", "a vocabulary without merges wants a kind", 0, 0);
    if (!k) {
        tfn__read_vocab(e, v, NULL, TFN__COUNT_TOKENS, s);
        return;
    }
    tfn__read_vocab(e, v, k, TFN__MEASURE_TOKENS, s);
    if (e->status != TFN_OK) return;
    for (int32_t id = 0; id < k->vocab; id++) {
        k->start[id + 1] += k->start[id];
        k->flags[id] &= TFN__RAW;
    }
    tfn__read_vocab(e, v, k, TFN__STORE_TOKENS, s);
}

/* The next line of a text without its end, "\n" or "\r\n"; r goes behind it. */
static tfn__reader tfn__next_line(tfn__reader *r)
{
    const uint8_t *s = r->s + r->at;
    const size_t left = r->size - r->at;
    size_t n = 0;
    while (n < left) {
        if (s[n] == '\n') break;
        n++;
    }
    r->at += n;
    if (n < left) r->at++;
    if (n && s[n - 1] == '\r') n--;
    return tfn__read_from(s, n);
}

/* The ids of "A B" and of A and B together; false where the vocabulary has no such token. Their
 * bytes are put one after the other into `to`, whose room is that of the longest token. */
static bool tfn__read_merge(tfn_tokenizer *k, size_t i, tfn__reader line, uint8_t *to, size_t room)
{
    size_t used = 0;
    size_t left = 0;                            /* bytes of A, when the space was found */
    int32_t a;
    int32_t b;
    int32_t both;
    while (line.at < line.size) {
        int32_t c;
        if (!left && used && tfn__accept(&line, ' ')) left = used;
        if (line.at == line.size) return false;
        line.at += tfn__utf8(line.s + line.at, line.size - line.at, &c);
        c = tfn__byte_shown(c);
        if (c < 0 || used == room) return false;
        to[used++] = (uint8_t)c;
    }
    a = tfn__token_id(k, to, left);
    b = tfn__token_id(k, to + left, used - left);
    both = tfn__token_id(k, to, used);
    tfn__set_merge(k, i, a, b, both);
    return a >= 0 && b >= 0 && both >= 0;
}

/* Lines "A B", the best merge first, after an optional one that begins with #version. Without k
 * they are counted. */
static void tfn__merges_pass(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k, uint8_t *buffer,
                             const tfn_tokenizer_source *s)
{
    static const uint8_t version[] = { '#', 'v', 'e', 'r', 's', 'i', 'o', 'n' };
    tfn__reader r = tfn__read_from(s->merges, s->merges_size);
    while (r.at < r.size) {
        const bool first = r.at == 0;
        const tfn__reader line = tfn__next_line(&r);
        if (!line.size) continue;
        if (first && line.size >= sizeof version && tfn__same(line.s, version, sizeof version))
            continue;
        if (k && !tfn__read_merge(k, v->merges, line, buffer, v->longest))
            tfn__fail(e, TFN_BAD_FORMAT, "tokenizer",
                      "merge %d is not two tokens of the vocabulary that make a third",
                      (int64_t)v->merges, 0);
        v->merges++;
    }
}

/* -- size and init --------------------------------------------------------------------------- */

/* The whole source: counted, or with k stored. A trainer comes before a blob, a blob before files;
 * the buffer is for merges.txt. */
static void tfn__source_pass(tfn_error *e, tfn__vocab *v, tfn_tokenizer *k, uint8_t *buffer,
                             const tfn_tokenizer_source *s)
{
    const bool files = !s->trainer && !s->blob;         /* else merges come with the tokens */
    TFNORM_MEMSET(v, 0, sizeof *v);
    if (k) k->start[0] = 0;
    if (s->trainer) tfn__trained_pass(e, v, k, s->trainer);
    else if (s->blob) tfn__blob_pass(e, v, k, s->blob, s->blob_size);
    else if (s->vocab) tfn__vocab_pass(e, v, k, s);
    else tfn__fail(e, TFN_BAD_OPTION, "tokenizer", "the source is empty", 0, 0);

    /* merges.txt names tokens by their bytes, so it is read when they can be found. */
    if (k && e->status == TFN_OK) tfn__index_tokens(k);
    if (files && e->status == TFN_OK) tfn__merges_pass(e, v, k, buffer, s);
}

/* Bytes of the block, and (mem) where everything stands; 0: an error. *buffer, for merges.txt, is
 * in the block like the rest, as long as the longest token. */
static size_t tfn__tokenizer_lay(tfn_tokenizer *k, const tfn_tokenizer_source *s, uint8_t **buffer,
                                 void *mem, size_t size)
{
    const size_t most = INT32_MAX / 4;      /* a count fits an int32_t with room to double it */
    tfn__arena a = tfn__arena_in(mem, size);
    tfn_error *e = &k->error;
    tfn__vocab v;
    TFNORM_MEMSET(k, 0, sizeof *k);
    if (!tfn__given(e, "tokenizer", "source", s)) return 0;
    tfn__source_pass(e, &v, NULL, NULL, s);
    if (v.count > most || v.merges > most || v.bytes > most)
        tfn__fail(e, TFN_TOO_LARGE, "tokenizer", NULL, 0, 0);
    if (!v.count) tfn__fail(e, TFN_BAD_FORMAT, "tokenizer", "the vocabulary is empty", 0, 0);
    if (e->status != TFN_OK) return 0;

    k->kind = v.kind;
    k->vocab = (int32_t)v.count;
    k->merges = (int32_t)v.merges;
    k->start = tfn__take_ids(&a, v.count + 1, e);
    k->merge = tfn__take_ids(&a, 3 * v.merges, e);
    k->byte_id = tfn__take_ids(&a, 256, e);
    k->slots = tfn__take_slots(&a, v.count, e);
    k->merge_slots = tfn__take_slots(&a, v.merges, e);
    k->flags = tfn__take(&a, v.count, 1, e);
    k->text = tfn__take(&a, v.bytes, 1, e);
    *buffer = tfn__take(&a, v.longest, 1, e);
    if (e->status != TFN_OK) return 0;
    if (mem) TFNORM_MEMSET(k->flags, 0, v.count);
    return a.peak + (TFN__ALIGN - 1);
}

TFNORM_API size_t tfn_tokenizer_size(const tfn_tokenizer_source *source)
{
    tfn_tokenizer k;
    uint8_t *buffer;
    return tfn__tokenizer_lay(&k, source, &buffer, NULL, SIZE_MAX);
}

TFNORM_API tfn_status tfn_tokenizer_init(tfn_tokenizer *k, const tfn_tokenizer_source *source,
                                         void *mem, size_t size)
{
    tfn__vocab v;
    uint8_t *buffer;
    if (!k) return TFN_NULL;
    if (!mem) size = 0;
    if (!tfn__tokenizer_lay(k, source, &buffer, mem, size)) return k->error.status;
    tfn__source_pass(&k->error, &v, k, buffer, source);
    if (k->error.status == TFN_OK) tfn__index_merges(k);
    return k->error.status;
}

/* -- encoding and decoding ------------------------------------------------------------------- */

/* Merge one word. Symbols are at first as many as bytes, more than the ids that come out: work is
 * done on the stack, or for a long word in the room for the ids; a long one that has too little
 * room counts as its bytes. */
static ptrdiff_t tfn__encode_word(const tfn_tokenizer *k, int32_t *ids, ptrdiff_t room,
                                  const uint8_t *s, size_t n)
{
    int32_t symbol[TFN__SHORT_WORD];
    ptrdiff_t count;
    if (n > TFN__SHORT_WORD) {
        if ((size_t)room < n) return (ptrdiff_t)n;
        return tfn__merge_all(k, ids, tfn__symbols(k, ids, s, n));
    }
    count = tfn__merge_all(k, symbol, tfn__symbols(k, symbol, s, n));
    room = tfn__min(room, count);
    for (ptrdiff_t i = 0; i < room; i++) ids[i] = symbol[i];
    return count;
}

/* The ids of one piece: how many, of which those are stored that there is room for. Of bytes,
 * characters and words a piece is a token or unknown; so is a piece of BPE that is entire. */
static ptrdiff_t tfn__encode_piece(const tfn_tokenizer *k, int32_t *ids, ptrdiff_t room,
                                   const uint8_t *s, size_t n)
{
    int32_t id = tfn__token_id(k, s, n);
    if (k->kind == TFN_TOKENIZER_BPE && (id < 0 || !(k->flags[id] & TFN__ENTIRE)))
        return tfn__encode_word(k, ids, room, s, n);
    if (id < 0) id = k->special[TFN_SPECIAL_UNK];
    if (id < 0) return 0;
    if (room) ids[0] = id;
    return 1;
}

/* A tokenizer that init made, without an error. Encoding and decoding have no error of their own:
 * without one that is usable there is nothing. */
static bool tfn__usable(const tfn_tokenizer *k)
{
    return k && k->error.status == TFN_OK && k->start;
}

/* Cut the text and encode its pieces one by one. Ids that there is no room for are counted alike,
 * so a first call with no room says how much is needed. No state goes from piece to piece: texts
 * may be encoded in parts that end where a piece ends. */
TFNORM_API ptrdiff_t tfn_tokenizer_encode(const tfn_tokenizer *k, int32_t *ids, ptrdiff_t capacity,
                                          const char *text, size_t bytes)
{
    const uint8_t *s = (const uint8_t *)text;
    ptrdiff_t count = 0;
    size_t at = 0;
    if (!tfn__usable(k) || !text) return 0;
    if (!ids) capacity = 0;
    while (at < bytes) {
        const size_t n = tfn__piece_of(k->kind, s + at, bytes - at);
        ptrdiff_t room = 0;
        int32_t *to = NULL;
        if (count < capacity) {
            room = capacity - count;
            to = ids + count;
        }
        count += tfn__encode_piece(k, to, room, s + at, n);
        at += n;
    }
    return count;
}

/* Specials but "<unk>" give no text: it stands for something that was there. */
static bool tfn__silent(const tfn_tokenizer *k, int32_t id)
{
    return k->flags[id] & TFN__RAW && id != k->special[TFN_SPECIAL_UNK]
           && tfn__special_row(k->text + k->start[id], tfn__token_bytes(k, id)) >= 0;
}

/* Bytes and nothing between them: spaces are part of the tokens. */
TFNORM_API size_t tfn_tokenizer_decode(const tfn_tokenizer *k, char *text, size_t capacity,
                                       const int32_t *ids, ptrdiff_t count)
{
    tfn__text t = tfn__text_in(text, capacity);
    if (!tfn__usable(k) || !ids) return 0;
    for (ptrdiff_t i = 0; i < count; i++) {
        int32_t id = ids[i];
        if (id < 0 || id >= k->vocab) id = k->special[TFN_SPECIAL_UNK];
        if (id >= 0 && !tfn__silent(k, id))
            tfn__put_bytes(&t, k->text + k->start[id], tfn__token_bytes(k, id));
    }
    return t.used;
}

TFNORM_API const char *tfn_tokenizer_token(const tfn_tokenizer *k, int32_t id, size_t *bytes)
{
    if (bytes) *bytes = 0;
    if (!tfn__usable(k) || id < 0 || id >= k->vocab) return NULL;
    if (bytes) *bytes = tfn__token_bytes(k, id);
    return (const char *)k->text + k->start[id];
}

/* Raw tokens are in no table: those are searched from the first on. */
TFNORM_API int32_t tfn_tokenizer_find(const tfn_tokenizer *k, const char *token, size_t bytes)
{
    const uint8_t *s = (const uint8_t *)token;
    int32_t id;
    if (!tfn__usable(k) || !token) return -1;
    id = tfn__token_id(k, s, bytes);
    if (id >= 0) return id;
    for (id = 0; id < k->vocab; id++) {
        if (!(k->flags[id] & TFN__RAW) || tfn__token_bytes(k, id) != bytes) continue;
        if (tfn__same(k->text + k->start[id], s, bytes)) return id;
    }
    return -1;
}

/* -- saving ---------------------------------------------------------------------------------- */

/* The lowest 8 bits. */
static void tfn__put_byte(tfn__text *t, size_t byte)
{
    const uint8_t s = (uint8_t)byte;
    tfn__put_bytes(t, &s, 1);
}

/* What tfn__read_number reads: the highest bit says that more follow. */
static void tfn__put_number(tfn__text *t, size_t n)
{
    for (; n > 127; n >>= 7) tfn__put_byte(t, n | 128);
    tfn__put_byte(t, n);
}

/* The sum at the end is over what was stored; if that is not all, nobody will read it. */
TFNORM_API size_t tfn_tokenizer_write(const tfn_tokenizer *k, void *blob, size_t capacity)
{
    tfn__text t = tfn__text_in(blob, capacity);
    uint32_t sum = 0;
    if (!tfn__usable(k)) return 0;
    tfn__put_bytes(&t, tfn__magic, sizeof tfn__magic);
    tfn__put_number(&t, (size_t)k->kind);
    tfn__put_number(&t, (size_t)k->vocab);
    tfn__put_number(&t, (size_t)k->merges);
    for (int32_t id = 0; id < k->vocab; id++) {
        const size_t n = tfn__token_bytes(k, id);
        tfn__put_number(&t, 2*n + (k->flags[id] & TFN__RAW));
        tfn__put_bytes(&t, k->text + k->start[id], n);
    }
    for (int32_t i = 0; i < 3 * k->merges; i++) tfn__put_number(&t, (size_t)k->merge[i]);
    if (t.used <= t.size) sum = tfn__hash((const uint8_t *)t.buf, t.used);
    for (int i = 0; i < TFN__SUM_BYTES; i++) tfn__put_byte(&t, sum >> 8*i);
    return t.used;
}

/* A token in JSON: its bytes as the characters that show them, or if it is raw as it is. */
static void tfn__put_token(tfn__text *t, const tfn_tokenizer *k, int32_t id)
{
    const uint8_t *s = k->text + k->start[id];
    const size_t n = tfn__token_bytes(k, id);
    const bool raw = k->flags[id] & TFN__RAW;
    for (size_t at = 0; at < n;) {
        int32_t c = tfn__shown(s[at]);
        size_t bytes = 1;
        if (raw) bytes = tfn__utf8(s + at, n - at, &c);
        tfn__put_json(t, c);
        at += bytes;
    }
}

TFNORM_API size_t tfn_tokenizer_vocab_text(const tfn_tokenizer *k, char *text, size_t capacity)
{
    tfn__text t = tfn__text_in(text, capacity);
    if (!tfn__usable(k)) return 0;
    for (int32_t id = 0; id < k->vocab; id++) {
        if (id == 0) tfn__put(&t, "{\"");
        else         tfn__put(&t, ", \"");
        tfn__put_token(&t, k, id);
        tfn__put_int(&t, "\": ", id, NULL);
    }
    tfn__put(&t, "}");
    return t.used;
}

/* A token in merges.txt. */
static void tfn__put_shown(tfn__text *t, const tfn_tokenizer *k, int32_t id)
{
    for (int32_t at = k->start[id]; at < k->start[id + 1]; at++)
        tfn__put_code(t, tfn__shown(k->text[at]));
}

TFNORM_API size_t tfn_tokenizer_merges_text(const tfn_tokenizer *k, char *text, size_t capacity)
{
    tfn__text t = tfn__text_in(text, capacity);
    if (!tfn__usable(k)) return 0;
    tfn__put(&t, "#version: 0.2\n");
    for (int32_t i = 0; i < k->merges; i++) {
        tfn__put_shown(&t, k, k->merge[3*i]);
        tfn__put(&t, " ");
        tfn__put_shown(&t, k, k->merge[3*i + 1]);
        tfn__put(&t, "\n");
    }
    return t.used;
}
#endif /* TFN__IMPLEMENTING */
/* >> metrics */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY && !defined TFNORM_ONLY_KERNELS \
    && !defined TFNORM_NO_METRICS
TFN__SMALL
/* Scores of texts: perplexity, accuracy, BLEU (Papineni et al. 2002) as sacrebleu computes it (Post
 * 2018), ROUGE (Lin 2004), word and character error rates (Levenshtein 1966).
 *
 * An object holds sums over a corpus; an addition cuts one hypothesis and its references into
 * tokens, counts, and adds; the score is computed from the sums. In order: perplexity, accuracy,
 * cutting texts into tokens, the memory for that, counting n-grams, BLEU, ROUGE and error rates.
 *
 * Each metric has tokens of its own. They stand one after the other in a copy of the text, so that
 * only where they begin is kept. n-grams are counted by sorting: the tokens are put in order by the
 * four that begin there, after which equal n-grams, n <= 4, stand side by side. */

/* -- perplexity ------------------------------------------------------------------------------ */

/* exp(nll / tokens): the size of a vocabulary that would be as hard to guess from. */
TFNORM_API double tfn_perplexity(double nll, int64_t tokens)
{
    if (tokens <= 0) return (double)NAN;
    return tfn__exp(nll / (double)tokens);
}

/* nll in nats is nll / ln 2 bits. */
TFNORM_API double tfn_bits_per_byte(double nll, int64_t bytes)
{
    const double ln_2 = 0.693147180559945309;
    if (bytes <= 0) return (double)NAN;
    return nll / (ln_2 * (double)bytes);
}

/* -- accuracy -------------------------------------------------------------------------------- */

/* Of single tokens and of whole rows: a row is right when all of its tokens are. One of which
 * nothing is wanted counts nowhere. */
static void tfn__accuracy_row(tfn_accuracy *a, int64_t right, int64_t tokens)
{
    a->right += right;
    a->tokens += tokens;
    a->rows += tokens > 0;
    a->right_rows += tokens > 0 && right == tokens;
}

TFNORM_API void tfn_accuracy_add(tfn_accuracy *a, const int32_t *found, const int32_t *wanted,
                                 ptrdiff_t rows, ptrdiff_t cols)
{
    if (!a || !found || !wanted) return;
    for (; rows > 0; rows--, found += cols, wanted += cols) {
        int64_t right = 0;
        int64_t tokens = 0;
        for (ptrdiff_t c = 0; c < cols; c++) {
            tokens += wanted[c] >= 0;
            right += wanted[c] >= 0 && found[c] == wanted[c];
        }
        tfn__accuracy_row(a, right, tokens);
    }
}

TFNORM_API void tfn_accuracy_add_logits(tfn_accuracy *a, const float *logits,
                                        const int32_t *wanted, ptrdiff_t rows, ptrdiff_t cols,
                                        int32_t vocab)
{
    if (!a || !logits || !wanted) return;
    for (; rows > 0; rows--, wanted += cols) {
        int64_t right = 0;
        int64_t tokens = 0;
        for (ptrdiff_t c = 0; c < cols; c++, logits += vocab) {
            if (wanted[c] < 0) continue;
            tokens++;
            right += tfn__largest(logits, vocab) == wanted[c];
        }
        tfn__accuracy_row(a, right, tokens);
    }
}

/* -- tokens ---------------------------------------------------------------------------------- */

/* Token i is text[at[i]] to text[at[i + 1] - 1]. The text comes in where it goes out: what is
 * written is never ahead of what was read. */
typedef struct tfn__words {
    char    *text;
    int32_t *at, *order;      /* order: the tokens, sorted by the four from each on */
    int32_t  count, used;
    bool     inside;          /* a token */
    char     held[3];         /* the passes of 13a: a character that waits for the next; 0: none */
} tfn__words;

/* Cuts the `bytes` bytes of w->text into tokens; everything else of w is 0 before, except for the
 * arrays. */
typedef void (*tfn__splitter)(tfn__words *w, int32_t bytes);

/* Append a character. A space is not stored: it ends a token. */
static void tfn__put_char(tfn__words *w, char c)
{
    if (c == ' ') {
        w->inside = false;
        return;
    }
    if (!w->inside) w->at[w->count++] = w->used;
    w->inside = true;
    w->text[w->used++] = c;
}

/* Bytes of the white space at s, as Python's str.isspace has it: U+9-D 1C-1F 20 85 A0 1680
 * 2000-200A 2028 2029 202F 205F 3000; or 0. */
static int32_t tfn__space(const char *s, int32_t left)
{
    const int one = (unsigned char)s[0];
    int two = one << 8;                         /* the first two bytes of UTF-8 as a number */
    int three;
    if (left > 1) two |= (unsigned char)s[1];
    three = two << 8;
    if (left > 2) three |= (unsigned char)s[2];

    if (one == 0x20 || (one >= 9 && one <= 13) || (one >= 0x1c && one <= 0x1f)) return 1;
    if (two == 0xc285 || two == 0xc2a0) return 2;                           /* 85, A0 */
    if (three == 0xe19a80 || three == 0xe38080) return 3;                   /* 1680, 3000 */
    if (three >= 0xe28080 && three <= 0xe2808a) return 3;                   /* 2000-200A */
    if (three == 0xe280a8 || three == 0xe280a9) return 3;                   /* 2028, 2029 */
    if (three == 0xe280af || three == 0xe2819f) return 3;                   /* 202F, 205F */
    return 0;
}

static bool tfn__digit(char c) { return c >= '0' && c <= '9'; }
static bool tfn__stop(char c) { return c == '.' || c == ','; }

/* The tokenizer "13a" of mteval-v13a, as sacrebleu writes it: unescape a few entities, then four
 * substitutions over the line, one after the other, and cut at white space:
 *
 *     ([\{-\~\[-\` -\&\(-\+\:-\@\/])  ->  " \1 "      marks stand alone (tfn__mark_13a)
 *     ([^0-9])([\.,])                 ->  "\1 \2 "    pass 0
 *     ([\.,])([^0-9])                 ->  " \1 \2"    pass 1
 *     ([0-9])(-)                      ->  "\1 \2 "    pass 2
 *
 * The passes run as a chain: each holds one character back until it has seen the next, and hands
 * its output to the next pass. Matches of a substitution do not overlap: after one the pass starts
 * with nothing held. */

static bool tfn__mark_13a(char c)
{
    return (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@')
           || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

/* Whether a pass matches a followed by c. */
static bool tfn__parts_13a(int pass, char a, char c)
{
    if (pass == 0) return !tfn__digit(a) && tfn__stop(c);
    if (pass == 1) return tfn__stop(a) && !tfn__digit(c);
    return tfn__digit(a) && c == '-';
}

static void tfn__pass_13a(tfn__words *w, int pass, char c)
{
    char a;
    bool parts;
    if (pass == 3) {                            /* past the last one */
        tfn__put_char(w, c);
        return;
    }
    a = w->held[pass];
    w->held[pass] = c;
    if (!a) return;

    parts = tfn__parts_13a(pass, a, c);
    if (parts && pass == 1) tfn__pass_13a(w, pass + 1, ' ');
    tfn__pass_13a(w, pass + 1, a);
    if (!parts) return;
    w->held[pass] = 0;
    tfn__pass_13a(w, pass + 1, ' ');
    tfn__pass_13a(w, pass + 1, c);
    if (pass != 1) tfn__pass_13a(w, pass + 1, ' ');
}

/* Bytes of the prefix if s begins with it, or 0. */
static int32_t tfn__prefix(const char *s, int32_t n, const char *prefix)
{
    int32_t k = 0;
    for (; prefix[k]; k++)
        if (k == n || s[k] != prefix[k]) return 0;
    return k;
}

/* Every `from` in the n bytes of s becomes `to`, from left to right: how many bytes are left. `to`
 * is shorter, so that it is done in place. */
static int32_t tfn__replace(char *s, int32_t n, const char *from, const char *to)
{
    int32_t out = 0;
    for (int32_t i = 0; i < n;) {
        const int32_t k = tfn__prefix(s + i, n - i, from);
        if (!k) {
            s[out++] = s[i++];
            continue;
        }
        for (int32_t j = 0; to[j]; j++) s[out++] = to[j];
        i += k;
    }
    return out;
}

/* The n bytes of s without the white space at their end: how many are left. A character of it may
 * take one to three bytes, and no shorter one is the tail of a longer. */
static int32_t tfn__strip_end(const char *s, int32_t n)
{
    for (int32_t k = 1; k <= 3; k++) {
        if (k > n) break;
        if (tfn__space(s + n - k, k) != k) continue;
        n -= k;
        k = 0;
    }
    return n;
}

/* Tokens by 13a. White space becomes spaces, which the passes go over like any character. */
static void tfn__split_13a(tfn__words *w, int32_t n)
{
    static const char *const names[][2] = {
        { "<skipped>", "" }, { "-\n", "" }, { "&quot;", "\"" }, { "&amp;", "&" }, { "&lt;", "<" },
        { "&gt;", ">" }
    };
    char *s = w->text;
    n = tfn__strip_end(s, n);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        n = tfn__replace(s, n, names[i][0], names[i][1]);

    tfn__pass_13a(w, 0, ' ');                   /* sacrebleu puts a space around the line */
    for (int32_t i = 0; i < n;) {
        const int32_t space = tfn__space(s + i, n - i);
        const bool mark = tfn__mark_13a(s[i]);
        char c = s[i];
        if (space) c = ' ';
        if (mark) tfn__pass_13a(w, 0, ' ');
        tfn__pass_13a(w, 0, c);
        if (mark) tfn__pass_13a(w, 0, ' ');
        i += (int32_t)tfn__max(space, 1);
    }
    tfn__pass_13a(w, 0, ' ');
    for (int pass = 0; pass < 3; pass++)        /* what they still hold */
        if (w->held[pass]) tfn__pass_13a(w, pass + 1, w->held[pass]);
}

/* Words as Python's str.split() has them. */
static void tfn__split_words(tfn__words *w, int32_t n)
{
    for (int32_t i = 0; i < n;) {
        const int32_t space = tfn__space(w->text + i, n - i);
        if (space) tfn__put_char(w, ' ');
        else tfn__put_char(w, w->text[i]);
        i += (int32_t)tfn__max(space, 1);
    }
}

/* Runs of a-z and 0-9, in lower case. */
static void tfn__split_rouge(tfn__words *w, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        char c = w->text[i];
        if (c >= 'A' && c <= 'Z') c = (char)(c + ('a' - 'A'));
        if ((c < 'a' || c > 'z') && !tfn__digit(c)) c = ' ';
        tfn__put_char(w, c);
    }
}

/* A token begins at each byte that is not 10xxxxxx, the continuation of a character. */
static void tfn__split_characters(tfn__words *w, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (i == 0 || ((unsigned char)w->text[i] & 0xc0) != 0x80) w->at[w->count++] = i;
    w->used = n;
}

/* -- one block of memory --------------------------------------------------------------------- */

/* Most bytes of all texts of an addition: tokens of two of them, added up, fit an int32_t. */
enum { TFN__METRIC_BYTES = INT32_MAX / 2 };

/* In the caller's memory: the struct of each text, `at` and `order` of all (a text of n bytes has
 * at most n tokens, and an end), and a copy of all bytes. */
static tfn__words *tfn__lay_words(tfn__arena *a, size_t bytes, size_t strings, tfn_error *e)
{
    const size_t ints = tfn__mul(2, tfn__sum(bytes, strings));
    tfn__words *w = (tfn__words *)(void *)tfn__take(a, strings, sizeof *w, e);
    int32_t *at = tfn__take_ids(a, ints, e);
    char *text = (char *)tfn__take(a, bytes, 1, e);
    if (!w || !at || !text || !a->base) return NULL;
    TFNORM_MEMSET(w, 0, strings * sizeof *w);
    w->text = text;
    w->at = at;
    return w;
}

TFNORM_API size_t tfn_metric_work(size_t bytes, int32_t strings)
{
    tfn__arena a = tfn__arena_in(NULL, SIZE_MAX);
    tfn_error e;
    tfn__no_error(&e);
    if (strings < 1 || bytes > TFN__METRIC_BYTES) return 0;
    tfn__lay_words(&a, bytes, (size_t)strings, &e);
    if (e.status != TFN_OK) return 0;
    return a.used + TFN__ALIGN - 1;
}

/* *bytes: of all texts together, without their zeros. */
static tfn_status tfn__check_texts(const char *hypothesis, const char *const *references,
                                   int32_t count, size_t *bytes)
{
    if (!hypothesis || !references) return TFN_NULL;
    for (int32_t i = 0; i < count; i++)
        if (!references[i]) return TFN_NULL;
    if (count < 1) return TFN_BAD_OPTION;
    *bytes = tfn__length(hypothesis);
    for (int32_t i = 0; i < count; i++) *bytes = tfn__sum(*bytes, tfn__length(references[i]));
    return TFN_OK;
}

/* The tokens of a hypothesis, w[0], and its references, w[1] and so on, in the caller's memory; or
 * NULL, and the status says why. */
static tfn__words *tfn__split_all(const char *hypothesis, const char *const *references,
                                  int32_t count, tfn__splitter split, void *work, size_t size,
                                  tfn_status *status)
{
    tfn__arena a = tfn__arena_in(work, size);
    tfn__words *w;
    tfn_error e;
    char *text;
    int32_t *at;
    size_t bytes = 0;
    *status = tfn__check_texts(hypothesis, references, count, &bytes);
    if (*status != TFN_OK) return NULL;
    *status = TFN_NO_MEMORY;
    if (!work || size < TFN__ALIGN) return NULL;
    *status = TFN_TOO_LARGE;
    if (bytes > TFN__METRIC_BYTES) return NULL;
    tfn__no_error(&e);
    w = tfn__lay_words(&a, bytes, (size_t)count + 1, &e);
    *status = e.status;
    if (!w) return NULL;

    text = w->text;
    at = w->at;
    for (int32_t i = 0; i <= count; i++) {
        const char *s = hypothesis;
        size_t n;
        if (i > 0) s = references[i - 1];
        n = tfn__length(s);
        w[i].text = text;
        w[i].at = at;
        w[i].order = at + n + 1;
        text += n;
        at += 2*(n + 1);
        TFNORM_MEMCPY(w[i].text, s, n);
        split(w + i, (int32_t)n);
        w[i].at[w[i].count] = w[i].used;        /* where the last one ends */
    }
    return w;
}

/* -- n-grams --------------------------------------------------------------------------------- */

/* -1, 0 or 1 as a's token i comes before b's token j, is the same, or comes after it. Any order
 * would do; this one is that of the bytes, a prefix first. */
static int tfn__compare_token(const tfn__words *a, int32_t i, const tfn__words *b, int32_t j)
{
    const char *x = a->text + a->at[i];
    const char *y = b->text + b->at[j];
    const int32_t n = a->at[i + 1] - a->at[i];
    const int32_t m = b->at[j + 1] - b->at[j];
    for (int32_t k = 0; k < n; k++) {
        if (k == m) return 1;
        if (x[k] < y[k]) return -1;
        if (x[k] > y[k]) return 1;
    }
    return (n > m) - (n < m);
}

/* n tokens from a's i-th and b's j-th on; the end comes before any token. */
static int tfn__compare_gram(const tfn__words *a, int32_t i, const tfn__words *b, int32_t j,
                             int32_t n)
{
    for (int32_t k = 0; k < n; k++) {
        int order;
        if (i + k >= a->count || j + k >= b->count)
            return (i + k < a->count) - (j + k < b->count);
        order = tfn__compare_token(a, i + k, b, j + k);
        if (order) return order;
    }
    return 0;
}

/* The order of tfn__order: by four tokens, which puts fewer in order, too. */
static bool tfn__gram_before(const void *x, int32_t i, int32_t j)
{
    const tfn__words *w = (const tfn__words *)x;
    return tfn__compare_gram(w, i, w, j, 4) < 0;
}

/* Places in w's order before the n-gram at i of g; with `after` those of the same n-gram too. */
static int32_t tfn__rank_gram(const tfn__words *w, const tfn__words *g, int32_t i, int32_t n,
                              bool after)
{
    int32_t low = 0;
    int32_t high = w->count;
    while (low < high) {
        const int32_t mid = low + (high - low) / 2;
        const int order = tfn__compare_gram(w, w->order[mid], g, i, n);
        if (order < 0 || (order == 0 && after)) low = mid + 1;
        else high = mid;
    }
    return low;
}

/* How often w has the n-gram at i of g: two binary searches. */
static int32_t tfn__count_gram(const tfn__words *w, const tfn__words *g, int32_t i, int32_t n)
{
    return tfn__rank_gram(w, g, i, n, true) - tfn__rank_gram(w, g, i, n, false);
}

/* Clipped counts (Papineni et al. 2002, section 2.1): over the different n-grams of the hypothesis
 * w[0] the sum of min(its count there, its count in the reference that has most of it). */
static int64_t tfn__match_grams(const tfn__words *w, int32_t references, int32_t n)
{
    int64_t sum = 0;
    int32_t end;
    for (int32_t at = 0; at < w->count; at = end) {
        const int32_t i = w->order[at];
        ptrdiff_t most = 0;
        end = tfn__rank_gram(w, w, i, n, true);         /* equal ones stand side by side */
        if (i + n > w->count) continue;                 /* the text ends inside it */
        for (int32_t r = 1; r <= references; r++)
            most = tfn__max(most, tfn__count_gram(w + r, w, i, n));
        sum += tfn__min(most, end - at);
    }
    return sum;
}

/* Tokens n at a time; 0 in a text of fewer. */
static ptrdiff_t tfn__total_grams(const tfn__words *w, int32_t n)
{
    return tfn__max(w->count - n + 1, 0);
}

/* -- BLEU ------------------------------------------------------------------------------------ */

/* The brevity penalty compares lengths in tokens. */
static ptrdiff_t tfn__difference(int32_t a, int32_t b) { return tfn__max(a, b) - tfn__min(a, b); }

/* The length of the closest reference; of two as close the shorter. */
static int32_t tfn__closest(const tfn__words *w, int32_t references)
{
    int32_t best = w[1].count;
    for (int32_t r = 2; r <= references; r++) {
        const int32_t n = w[r].count;
        const ptrdiff_t gap = tfn__difference(n, w->count);
        const ptrdiff_t best_gap = tfn__difference(best, w->count);
        if (gap < best_gap || (gap == best_gap && n < best)) best = n;
    }
    return best;
}

/* Matches and n-grams of one sentence, n = 1 ... 4. Sums of them are kept and no scores, since BLEU
 * of a corpus is not a mean over its sentences. */
TFNORM_API tfn_status tfn_bleu_add(tfn_bleu *b, const char *hypothesis,
                                   const char *const *references, int32_t count, void *work,
                                   size_t size)
{
    tfn_status why;
    tfn__words *w;
    if (!b) return TFN_NULL;
    w = tfn__split_all(hypothesis, references, count, tfn__split_13a, work, size, &why);
    if (!w) return why;
    for (int i = 0; i <= count; i++) tfn__order(w[i].order, w[i].count, tfn__gram_before, w + i);
    for (int32_t n = 1; n <= 4; n++) {
        b->correct[n - 1] += tfn__match_grams(w, count, n);
        b->total[n - 1] += tfn__total_grams(w, n);
    }
    b->length += w->count;
    b->reference_length += tfn__closest(w, count);
    if (!b->references) b->references = count;
    else if (b->references != count) b->references = -1;
    return TFN_OK;
}

/* What stands for 0 matches (Chen & Cherry 2014). `half` is 1/2 for the first order without a
 * match, 1/4 for the second, and so on. The third form, one more of each, is not only for zeros. */
static double tfn__smoothed_zero(tfn_smooth smooth, double half)
{
    if (smooth == TFN_SMOOTH_EXP)   return half;
    if (smooth == TFN_SMOOTH_FLOOR) return 0.1;
    return 0;
}

/* BLEU = BP * exp(1/N sum of log p[n], n = 1 ... N), N = 4, p[n] = 100 * correct[n] / total[n],
 * BP = 1, or exp(1 - reference/length) where the hypotheses are shorter  (Papineni et al. 2002).
 * As in sacrebleu log 0 is -9999999999; effective_order: N is the longest n-gram there is. */
TFNORM_API double tfn_bleu_score(const tfn_bleu *b, tfn_smooth smooth, bool effective_order)
{
    const double log_0 = -9999999999.0;
    double half = 1;
    double sum = 0;
    double brevity = 1;
    double ratio;
    int orders = 0;
    if (!b) return (double)NAN;
    ratio = (double)b->reference_length / (double)tfn__max(b->length, 1);
    if (ratio > 1) brevity = tfn__exp(1 - ratio);
    if (b->correct[0] + b->correct[1] + b->correct[2] + b->correct[3] == 0) return 0;

    for (; orders < 4; orders++) {
        const int more = smooth == TFN_SMOOTH_ADD_ONE && orders > 0;
        const double total = (double)(b->total[orders] + more);
        double correct = (double)(b->correct[orders] + more);
        if (total == 0) break;
        if (correct == 0) {
            half /= 2;
            correct = tfn__smoothed_zero(smooth, half);
        }
        if (correct == 0) sum += log_0;
        else sum += tfn__log(100 * correct / total);
    }
    if (!effective_order) {                     /* orders that no text is long enough for */
        sum += log_0 * (4 - orders);
        orders = 4;
    }
    return tfn__exp(sum / orders) * brevity;
}

/* What sacrebleu prints beside a score, in its words and order. */
TFNORM_API const char *tfn_bleu_text(const tfn_bleu *b, tfn_smooth smooth, bool effective_order,
                                     char *buf, size_t size)
{
    static const char *const names[] = { "exp", "floor[0.10]", "add-k[1.00]", "none" };
    const char *effective = "no";
    tfn__text t = tfn__text_in(buf, size);
    if (!b) return tfn__end(&t);
    if (effective_order) effective = "yes";
    if (b->references < 0) tfn__put(&t, "nrefs:var");
    else tfn__put_int(&t, "nrefs:", b->references, NULL);
    tfn__put_texts(&t, "|case:mixed|eff:", effective, "|tok:13a|smooth:");
    tfn__put_texts(&t, names[(unsigned)smooth % 4], "|version:tfnorm-", TFNORM_VERSION);
    return tfn__end(&t);
}

/* -- ROUGE, error rates ---------------------------------------------------------------------- */

/* F1 = 2PR/(P + R), P = matches/hypothesis, R = matches/reference
 *    = 2 matches / (hypothesis + reference). */
static double tfn__f1(int64_t matches, int64_t hypothesis, int64_t reference)
{
    if (!matches) return 0;
    return 2 * (double)matches / (double)(hypothesis + reference);
}

/* Levenshtein's distance of w[0] and w[1]: the fewest tokens inserted, deleted and substituted that
 * make one of the other. d[i][j] is the distance of the first i and the first j tokens:
 *
 *     d[i][j] = min(d[i-1][j-1] + (equal ? 0 : substitution), d[i-1][j] + 1, d[i][j-1] + 1)
 *
 * Of the table one row is kept, in w[1].order, which is used no more by then. A substitution costs
 * 1; if it costs 2, as a deletion and an insertion do, the distance is n + m - 2 c, c the length of
 * the longest common subsequence. */
static int32_t tfn__distance(const tfn__words *w, int32_t substitution)
{
    const int32_t m = w[1].count;
    int32_t *row = w[1].order;
    for (int32_t j = 0; j <= m; j++) row[j] = j;
    for (int32_t i = 0; i < w->count; i++) {
        int32_t corner = row[0];                        /* d[i-1][j-1] */
        row[0]++;
        for (int32_t j = 0; j < m; j++) {
            const int32_t above = row[j + 1];           /* d[i-1][j] */
            if (tfn__compare_token(w, i, w + 1, j)) corner += substitution;
            row[j + 1] = (int32_t)tfn__min(corner, tfn__min(above, row[j]) + 1);
            corner = above;
        }
    }
    return row[m];
}

/* ROUGE-1 and -2: F1 of n-grams; ROUGE-L: of the longest common subsequence (Lin 2004). */
TFNORM_API tfn_status tfn_rouge_add(tfn_rouge *r, const char *hypothesis, const char *reference,
                                    void *work, size_t size)
{
    int32_t common;
    tfn_status why;
    tfn__words *w;
    if (!r) return TFN_NULL;
    w = tfn__split_all(hypothesis, &reference, 1, tfn__split_rouge, work, size, &why);
    if (!w) return why;
    for (int i = 0; i < 2; i++) tfn__order(w[i].order, w[i].count, tfn__gram_before, w + i);
    for (int32_t n = 1; n <= 2; n++)
        r->f1[n - 1] += tfn__f1(tfn__match_grams(w, 1, n), tfn__total_grams(w, n),
                                tfn__total_grams(w + 1, n));
    common = (w[0].count + w[1].count - tfn__distance(w, 2)) / 2;
    r->f1[2] += tfn__f1(common, w[0].count, w[1].count);
    r->pairs++;
    return TFN_OK;
}

/* i: 0 ROUGE-1, 1 ROUGE-2, 2 ROUGE-L; the mean over the pairs. */
TFNORM_API double tfn_rouge_score(const tfn_rouge *r, int32_t i)
{
    if (!r || r->pairs <= 0 || i < 0 || i > 2) return (double)NAN;
    return r->f1[i] / (double)r->pairs;
}

/* Of a corpus: all edits by all tokens, no mean over its sentences. */
static tfn_status tfn__add_edits(tfn_edits *e, const char *hypothesis, const char *reference,
                                 tfn__splitter split, void *work, size_t size)
{
    tfn_status why;
    tfn__words *w;
    if (!e) return TFN_NULL;
    w = tfn__split_all(hypothesis, &reference, 1, split, work, size, &why);
    if (!w) return why;
    e->edits += tfn__distance(w, 1);
    e->length += w[1].count;
    return TFN_OK;
}

TFNORM_API tfn_status tfn_edits_add_words(tfn_edits *e, const char *hypothesis,
                                          const char *reference, void *work, size_t size)
{
    return tfn__add_edits(e, hypothesis, reference, tfn__split_words, work, size);
}
TFNORM_API tfn_status tfn_edits_add_characters(tfn_edits *e, const char *hypothesis,
                                               const char *reference, void *work, size_t size)
{
    return tfn__add_edits(e, hypothesis, reference, tfn__split_characters, work, size);
}

/* Edits per token of the references; of empty ones with no edits 0, with edits no number. */
TFNORM_API double tfn_edits_score(const tfn_edits *e)
{
    if (!e) return (double)NAN;
    if (e->length > 0) return (double)e->edits / (double)e->length;
    if (e->edits > 0) return (double)NAN;
    return 0;
}
TFN__SMALL_END
#endif /* TFN__IMPLEMENTING */
/* >> files */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY && !defined TFNORM_ONLY_KERNELS \
    && !defined TFNORM_NO_FILES
TFN__SMALL
/* safetensors files: where their bytes are, what stands in them, how they are written. The format
 * is that of github.com/huggingface/safetensors:
 *
 *     8 bytes   n, the length of the header, little-endian
 *     n bytes   JSON: "__metadata__", texts by their names, and every tensor by its name with its
 *               dtype, its shape and where its bytes begin and end, counted from the header's end
 *     the rest  those bytes: without holes, in any order of the tensors
 *
 * Files are hostile: what they say is compared with the bytes that there are before it is used, and
 * no size in them is taken for a size of memory: a file of a kilobyte that promises a terabyte
 * costs a kilobyte. All of the header is checked when a file is opened; what was checked there is
 * not checked again.
 *
 * The first error stays in the file's object, and every function below does nothing once there is
 * one; so a sequence of calls needs one check at its end. */

/* -- errors ---------------------------------------------------------------------------------- */

/* No error so far. */
static bool tfn__fine(const tfn_file *f) { return f->error.status == TFN_OK; }

/* Keep the first error; always returns the status in force. In `text`, %s is `what` (a tensor, an
 * option, a reason), and %d is `found`, then `wanted`. tfn_error_text puts the path in front of it,
 * whole. */
static tfn_status tfn__file_fail(tfn_file *f, tfn_status status, const char *text,
                                 const char *what, int64_t found, int64_t wanted)
{
    if (!tfn__fine(f)) return f->error.status;
    tfn__fail_name(&f->error, status, "file", text, what);
    f->error.found = found;
    f->error.wanted = wanted;
    f->error.path = f->path;
    return status;
}

/* The bytes are not what the format says. */
static void tfn__bad(tfn_file *f, const char *text, const char *what, int64_t found, int64_t wanted)
{
    tfn__file_fail(f, TFN_BAD_FORMAT, text, what, found, wanted);
}

/* Before a call of the C library: forget what errno says about earlier ones. */
static void tfn__clear_reason(void)
{
#ifdef TFN__STDIO
    errno = 0;
#endif
}

/* Behind one that failed. %s in `text` is ": " and the system's reason, such as ": No space left on
 * device", or nothing where errno says none, as of memory and streams. C does not say that strerror
 * may be called by two threads at a time; the texts of known errors are constants everywhere. */
static void tfn__system_fail(tfn_file *f, const char *text, int64_t found, int64_t wanted)
{
    char reason[sizeof f->error.name];
    tfn__text t = tfn__text_in(reason, sizeof reason);
#ifdef TFN__STDIO
    if (f->path && errno) tfn__put_texts(&t, ": ", strerror(errno), NULL);
#endif
    tfn__end(&t);
    tfn__file_fail(f, TFN_BAD_FILE, text, reason, found, wanted);
}

/* -- paths ----------------------------------------------------------------------------------- */

#ifdef TFN__STDIO
enum {
    TFN__PATH = 1024,                                   /* bytes of a buffer for a path */
    TFN__PATH_MOST = TFN__PATH - (int)sizeof ".tmp",    /* with that and a zero it still fits */
    TFN__LINKS = 40                                     /* followed at most, as Linux does */
};

/* What C99 lacks: places beyond 2 GiB, bytes that are on the disk and not in a cache, and a rename
 * that replaces. DURABLE: what tfn_io_durable says. SEEK, SYNC and RENAME are 0 where they succeed.
 * MoveFileExA is declared here: MSVC includes no windows.h for one function. */
#if defined _WIN32
#define TFN__DURABLE "commit"
#define TFN__SEEK(s, at, from) _fseeki64(s, (int64_t)(at), from)
#define TFN__TELL(s) _ftelli64(s)
#define TFN__SYNC(s) _commit(_fileno(s))
#define TFN__RENAME(from, to) !MoveFileExA(from, to, 1 | 8)    /* replace, write through */
#ifdef __cplusplus
extern "C"
#endif
__declspec(dllimport) int __stdcall MoveFileExA(const char *, const char *, unsigned long);
#elif defined TFN__POSIX
#define TFN__DURABLE "fsync"
#define TFN__SEEK(s, at, from) fseeko(s, (off_t)(at), from)
#define TFN__TELL(s) ftello(s)
#define TFN__SYNC(s) fsync(fileno(s))
#define TFN__RENAME(from, to) rename(from, to)
#else
#define TFN__DURABLE "no"
#define TFN__SEEK(s, at, from) ((at) > LONG_MAX || fseek(s, (long)(at), from))
#define TFN__TELL(s) ftell(s)
#define TFN__SYNC(s) 0
#define TFN__RENAME(from, to) rename(from, to)
#endif

#ifdef TFN__POSIX
/* Bytes of the folder in front of a path, with its slash; 0: there is none. */
static size_t tfn__folder_bytes(const char *path)
{
    size_t bytes = 0;
    for (size_t i = 0; path[i]; i++)
        if (path[i] == '/') bytes = i + 1;
    return bytes;
}

/* The name of a new file stands in its folder: that must reach the disk too. Some file systems
 * cannot (EINVAL). */
static bool tfn__sync_folder(const char *path)
{
    const size_t bytes = tfn__folder_bytes(path);
    char name[TFN__PATH] = ".";
    int folder;
    bool done;
    if (bytes) {
        TFNORM_MEMCPY(name, path, bytes);
        name[bytes] = 0;
    }
    folder = open(name, O_RDONLY);
    if (folder < 0) return false;
    done = !fsync(folder) || errno == EINVAL;
    return !close(folder) && done;
}

/* Where a path leads: links stay, and the file behind them is replaced, as a program that opened
 * the path and wrote into it would do. In place; false: more links than the system follows, or a
 * path that does not fit. */
static bool tfn__follow(char *path)
{
    for (int links = 0; links < TFN__LINKS; links++) {
        char link[TFN__PATH];
        size_t folder = 0;
        const ptrdiff_t got = (ptrdiff_t)readlink(path, link, sizeof link - 1);
        if (got < 0) return true;                       /* no link */
        link[got] = 0;
        if (link[0] != '/') folder = tfn__folder_bytes(path);   /* it counts from where it stands */
        if (folder + (size_t)got + 1 > TFN__PATH) return false;
        TFNORM_MEMCPY(path + folder, link, (size_t)got + 1);
    }
    return false;
}
#else
static bool tfn__sync_folder(const char *path) { return path != NULL; }
static bool tfn__follow(char *path) { return path != NULL; }
#endif

/* The file that a path names and, beside it, FILE.tmp. What a program left there that died is
 * overwritten. */
static bool tfn__temporary(tfn_file *f, char *target, char *name)
{
    size_t bytes = tfn__length(f->path);
    if (bytes <= TFN__PATH_MOST) {
        TFNORM_MEMCPY(target, f->path, bytes + 1);
        if (!tfn__follow(target)) {
            tfn__file_fail(f, TFN_BAD_FILE, "its symbolic links lead nowhere", NULL, 0, 0);
            return false;
        }
        bytes = tfn__length(target);
    }
    if (bytes > TFN__PATH_MOST) {
        tfn__file_fail(f, TFN_BAD_FILE, "the path has %d bytes, the limit is %d", NULL,
                       (int64_t)bytes, TFN__PATH_MOST);
        return false;
    }
    TFNORM_MEMCPY(name, target, bytes);
    TFNORM_MEMCPY(name + bytes, ".tmp", sizeof ".tmp");
    return true;
}

/* Open the path, or FILE.tmp to write; `used` becomes the bytes that can be read. A folder can be
 * opened on some systems, but has no size, or one that no file has. */
static void tfn__open_path(tfn_file *f, bool write)
{
    char target[TFN__PATH];
    char name[TFN__PATH];
    FILE *s;
    if (!tfn__temporary(f, target, name)) return;       /* reading, too: one limit for both */
    tfn__clear_reason();
    if (write) s = fopen(name, "wb");
    else s = fopen(f->path, "rb");
    f->stream = s;
    if (!s) tfn__system_fail(f, "cannot be opened%s", 0, 0);
    if (!s || write) return;
    f->used = UINT64_MAX;
    if (!TFN__SEEK(s, 0, SEEK_END)) f->used = (uint64_t)TFN__TELL(s);
    if (f->used > INT64_MAX) tfn__system_fail(f, "it has no size%s", 0, 0);
}

/* Close what was written and put it in its place, or after an error take it away. The order is that
 * of a safe replacement: bytes on the disk, then the name, then the folder on the disk. A crash
 * between any two of them leaves the old file or the new one, whole; a name that comes first may
 * stand for a file whose bytes were never written. */
static void tfn__commit_path(tfn_file *f)
{
    char target[TFN__PATH];
    char name[TFN__PATH];
    FILE *s = (FILE *)f->stream;
    const bool named = tfn__temporary(f, target, name);
    f->stream = NULL;
    tfn__clear_reason();
    if (tfn__fine(f) && fflush(s)) tfn__system_fail(f, "flush failed%s", 0, 0);
    if (tfn__fine(f) && TFN__SYNC(s)) tfn__system_fail(f, "fsync failed%s", 0, 0);
    if (fclose(s)) tfn__system_fail(f, "close failed%s", 0, 0);
    if (!named) return;
    if (tfn__fine(f) && TFN__RENAME(name, target)) tfn__system_fail(f, "rename failed%s", 0, 0);
    if (!tfn__fine(f)) remove(name);
    else if (!tfn__sync_folder(target)) tfn__system_fail(f, "fsync of its folder failed%s", 0, 0);
}
#else
#define TFN__DURABLE "no"
#endif
TFNORM_API const char *tfn_io_durable(void) { return TFN__DURABLE; }

/* -- bytes ----------------------------------------------------------------------------------- */

/* Is the machine little-endian, as files are? Then values are copied, else their bytes turn
 * round. */
static bool tfn__little(void)
{
    const uint16_t one = 1;
    return *(const uint8_t *)&one;
}

/* Before a file is read or written. Reading, `used` becomes the bytes that there are; writing, it
 * counts. What is written to nowhere is only counted: so sizes come from the code that writes, and
 * cannot differ from what is written. */
static bool tfn__begin(tfn_file *f, bool write)
{
    if (!tfn__fine(f)) return false;
    f->used = 0;
    if (!write && f->io) f->used = f->io->size;
    else if (!write) f->used = f->from_size;
    f->counts = write && !f->path && !f->to && !f->io;
    if (!f->path) return true;
#ifdef TFN__STDIO
    tfn__open_path(f, write);
#else
    tfn__file_fail(f, TFN_UNSUPPORTED, "this build has no paths", NULL, 0, 0);
#endif
    return tfn__fine(f);
}

/* Bytes from the path, the stream or the memory; those that are asked for are there. */
static bool tfn__get_bytes(tfn_file *f, uint64_t at, void *to, size_t bytes)
{
#ifdef TFN__STDIO
    FILE *s = (FILE *)f->stream;
    if (f->path) return !TFN__SEEK(s, at, SEEK_SET) && fread(to, 1, bytes, s) == bytes;
#endif
    if (f->io) return f->io->read && f->io->read(f->io->user, at, to, bytes);
    TFNORM_MEMCPY(to, (const uint8_t *)f->from + at, bytes);
    return true;
}

/* Copy bytes from a place in the file, or fail: the place is compared with the bytes that there are
 * without a sum that could overflow. */
static bool tfn__file_get(tfn_file *f, uint64_t at, void *to, uint64_t bytes)
{
    const bool there = bytes <= f->used && at <= f->used - bytes && bytes <= SIZE_MAX;
    if (!tfn__fine(f)) return false;
    if (!bytes) return true;
    tfn__clear_reason();
    if (there && tfn__get_bytes(f, at, to, (size_t)bytes)) return true;
    tfn__system_fail(f, "%d bytes at byte %d cannot be read%s", (int64_t)bytes, (int64_t)at);
    return false;
}

/* To the path, the stream or the memory, behind what was written. Memory takes a piece if it fits:
 * tfn__finish_writing says how much it would have been, which a second try can use. */
static bool tfn__put_bytes_to(tfn_file *f, const void *from, size_t bytes)
{
#ifdef TFN__STDIO
    if (f->path) return fwrite(from, 1, bytes, (FILE *)f->stream) == bytes;
#endif
    if (f->io) return f->io->write && f->io->write(f->io->user, from, bytes);
    if (f->used <= f->to_size && bytes <= f->to_size - f->used)
        TFNORM_MEMCPY((uint8_t *)f->to + f->used, from, bytes);
    return true;
}

/* Append bytes, or only count them. */
static void tfn__file_put(tfn_file *f, const void *from, size_t bytes)
{
    if (!tfn__fine(f)) return;
    tfn__clear_reason();
    if (bytes && !f->counts && !tfn__put_bytes_to(f, from, bytes))
        tfn__system_fail(f, "%d bytes cannot be written behind %d%s", (int64_t)bytes,
                         (int64_t)f->used);
    f->used += bytes;
}

/* After the last byte: a path takes its name, and memory that was too small learns how much there
 * should have been. */
static tfn_status tfn__finish_writing(tfn_file *f)
{
#ifdef TFN__STDIO
    if (f->path && f->stream) tfn__commit_path(f);
#endif
    if (!f->path && !f->io && f->to && f->used > f->to_size)
        tfn__file_fail(f, TFN_NO_MEMORY, "the memory has %d bytes, %d are wanted", NULL,
                       (int64_t)f->to_size, (int64_t)f->used);
    tfn_file_close(f);
    return f->error.status;
}

TFNORM_API void tfn_file_close(tfn_file *f)
{
    if (!f) return;
#ifdef TFN__STDIO
    if (f->stream) fclose((FILE *)f->stream);
#endif
#ifndef TFNORM_NO_MALLOC
    free(f->owned);
#endif
    f->stream = NULL;
    f->owned = NULL;
    f->header = NULL;                   /* which says that the file is open */
    f->count = 0;
}

/* Memory until the file is closed: the caller's, or of malloc where there is none. The first is
 * aligned by tfn__arena_in, which takes up to TFN__ALIGN - 1 bytes: all sizes of work count
 * them. */
static tfn__arena tfn__work_of(tfn_file *f, size_t bytes)
{
    void *mem = f->work;
    size_t size = 0;
    if (mem) size = f->work_size;
#ifndef TFNORM_NO_MALLOC
    if (!mem && bytes < SIZE_MAX) mem = f->owned = malloc(bytes);
    if (f->owned) size = bytes;
#endif
    if (!mem || size < bytes)
        tfn__file_fail(f, TFN_NO_MEMORY, "work has %d bytes, %d are wanted", NULL, (int64_t)size,
                       (int64_t)bytes);
    return tfn__arena_in(mem, size);
}

/* A little-endian number of up to 8 bytes, on a machine of any order. */
static uint64_t tfn__from_bytes(const uint8_t *s, size_t bytes)
{
    uint64_t v = 0;
    while (bytes-- > 0) v = v << 8 | s[bytes];
    return v;
}

/* -- safetensors: the header ----------------------------------------------------------------- */

/* The header stays in memory as it is, for the work of a file is given by its caller and should be
 * known from its size. `entries` says where in it the name of each tensor stands, `order` in which
 * order the names come: 28 bytes a tensor, while a tfn_tensor has 232. A tensor is parsed again
 * whenever it is asked for. */
enum {
    TFN__RANK = 8,                      /* as tfn_tensor has room for */
    TFN__HEADER_MOST = 100000000,       /* bytes: the reference implementation's limit */
    TFN__ENTRY_BYTES = 49,              /* of the shortest entry: so many can there be at most */
    TFN__CHUNK = 128                    /* values that are converted at a time */
};

typedef struct tfn__entry {
    uint64_t begin, end;
    uint32_t at;                        /* its name in the header */
} tfn__entry;

/* How the values of a dtype are coded; of OPAQUE ones only the bytes are known. The order is that
 * of tfn_dtype. Sizes below a byte are legal where all values together fill whole bytes. */
enum { TFN__OPAQUE, TFN__UNSIGNED, TFN__SIGNED, TFN__IEEE };
static const struct {
    char    name[12];
    uint8_t bits, code, exponent_bits;
} tfn__dtypes[TFN_DTYPE_COUNT] = {
    { "",            0,  TFN__OPAQUE,   0 },
    { "U64",         64, TFN__UNSIGNED, 0 },
    { "I64",         64, TFN__SIGNED,   0 },
    { "F64",         64, TFN__IEEE,     11 },
    { "C64",         64, TFN__OPAQUE,   0 },
    { "F32",         32, TFN__IEEE,     8 },
    { "U32",         32, TFN__UNSIGNED, 0 },
    { "I32",         32, TFN__SIGNED,   0 },
    { "BF16",        16, TFN__IEEE,     8 },
    { "F16",         16, TFN__IEEE,     5 },
    { "U16",         16, TFN__UNSIGNED, 0 },
    { "I16",         16, TFN__SIGNED,   0 },
    { "F8_E5M2FNUZ", 8,  TFN__OPAQUE,   0 },
    { "F8_E4M3FNUZ", 8,  TFN__OPAQUE,   0 },
    { "F8_E8M0",     8,  TFN__OPAQUE,   0 },
    { "F8_E4M3",     8,  TFN__OPAQUE,   0 },
    { "F8_E5M2",     8,  TFN__OPAQUE,   0 },
    { "I8",          8,  TFN__SIGNED,   0 },
    { "U8",          8,  TFN__UNSIGNED, 0 },
    { "F6_E3M2",     6,  TFN__OPAQUE,   0 },
    { "F6_E2M3",     6,  TFN__OPAQUE,   0 },
    { "F4",          4,  TFN__OPAQUE,   0 },
    { "BOOL",        8,  TFN__UNSIGNED, 0 }
};

/* Its values can be read as numbers. */
static bool tfn__has_values(tfn_dtype d)
{
    return d > TFN_DTYPE_DEFAULT && d < TFN_DTYPE_COUNT && tfn__dtypes[d].code != TFN__OPAQUE;
}

#ifdef TFN__DOUBLE
enum { TFN__FLOAT = TFN_DTYPE_F64 };
#else
enum { TFN__FLOAT = TFN_DTYPE_F32 };
#endif

/* Dtypes that the format has, also those whose values are not read: such a tensor can be listed. */
static void tfn__parse_dtype(tfn__reader *r, tfn_tensor *t)
{
    char name[16];
    tfn__json_string(r, name, sizeof name);
    for (int i = 1; i < TFN_DTYPE_COUNT; i++)
        if (tfn__equal(name, tfn__dtypes[i].name)) {
            t->dtype = (tfn_dtype)i;
            return;
        }
    tfn__want(r, "a known dtype");
}

/* count * size, where -1 stands for what does not fit and stays, as SIZE_MAX does in tfn__mul. */
static int64_t tfn__volume(int64_t count, int64_t size)
{
    if (count < 0 || size < 0) return -1;
    if (size && count > INT64_MAX / size) return -1;
    return count * size;
}

/* An array of counts, such as a shape: returns how many there are. Those that fit are stored, and
 * their product is -1 where no int64_t holds it. */
static int32_t tfn__parse_counts(tfn__reader *r, int64_t *to, int32_t room, int64_t *product)
{
    const int64_t most = (INT64_C(1) << 48) - 1;        /* sizes above are outside the schema */
    int32_t n = 0;                      /* the header has under 10^8 bytes: no overflow */
    *product = 1;
    for (bool more = tfn__json_open(r, '[', ']'); more; more = tfn__json_more(r, ']')) {
        const int64_t v = tfn__json_count(r, most);
        if (n < room) to[n] = v;
        *product = tfn__volume(*product, v);
        n++;
    }
    return n;
}

/* "NAME":{"dtype":"F32","shape":[2,3],"data_offsets":[BEGIN,END]}, the keys in any order, each
 * once; others are skipped. An end before the beginning makes bytes that are negative as an
 * int64_t: that is checked with the places, where the name can be told. */
static void tfn__parse_tensor(tfn__reader *r, tfn_tensor *t)
{
    static const char *const keys[] = { "dtype\"", "shape\"", "data_offsets\"" };
    int64_t offsets[2] = { 0, 0 };
    int64_t ignored;
    bool seen[3] = { false, false, false };
    TFNORM_MEMSET(t, 0, sizeof *t);
    tfn__json_string(r, t->name, sizeof t->name);
    tfn__json_want(r, ':', ":");
    for (bool more = tfn__json_open(r, '{', '}'); more; more = tfn__json_more(r, '}')) {
        const int key = tfn__json_key(r, keys, 3);
        if (key < 0) {
            tfn__json_skip(r, 8);
            continue;
        }
        if (seen[key]) tfn__want(r, "each key once");
        seen[key] = true;
        if (key == 0) tfn__parse_dtype(r, t);
        else if (key == 1) t->rank = tfn__parse_counts(r, t->shape, TFN__RANK, &t->count);
        else if (tfn__parse_counts(r, offsets, 2, &ignored) != 2) tfn__want(r, "two offsets");
    }
    if (!seen[0] || !seen[1] || !seen[2])
        tfn__want(r, "a tensor with dtype, shape and data_offsets");
    t->at = (uint64_t)offsets[0];
    t->bytes = (uint64_t)(offsets[1] - offsets[0]);
}

/* The name of a file alone: no other folder is reached by it. */
static bool tfn__plain(const char *s)
{
    if (tfn__equal(s, "") || tfn__equal(s, ".") || tfn__equal(s, "..")) return false;
    for (; *s; s++)
        if (*s == '/' || *s == '\\' || *s == ':') return false;
    return true;
}

/* An object of texts, or null; in an index (`files`) they are names of files, which a program will
 * open: so none of them may lead out of the folder. Where the object stands is kept. */
static void tfn__parse_texts(tfn_file *f, tfn__reader *r, bool files)
{
    char file[256];
    if (f->metadata) tfn__want(r, "one of it");
    f->metadata = r->at;
    if (tfn__peek(r) == 'n') {
        tfn__json_skip(r, 0);
        f->metadata_end = r->at;
        return;
    }
    for (bool more = tfn__json_open(r, '{', '}'); more; more = tfn__json_more(r, '}')) {
        tfn__json_string(r, NULL, 0);
        tfn__json_want(r, ':', ":");
        if (!files) {
            tfn__json_string(r, NULL, 0);
            continue;
        }
        tfn__json_string(r, file, sizeof file);
        if (!r->wanted && !tfn__plain(file)) tfn__want(r, "a plain file name");
    }
    f->metadata_end = r->at;
}

/* Tensor i in the order of the header, which was checked. */
static tfn__reader tfn__entry_of(const tfn_file *f, int32_t i)
{
    tfn__reader r = tfn__read_from(f->header, f->header_size);
    r.at = ((const tfn__entry *)f->entries)[i].at;
    return r;
}
/* The same as a tensor; `at` counts from the header's end, as in the file. */
static void tfn__entry_at(const tfn_file *f, int32_t i, tfn_tensor *t)
{
    tfn__reader r = tfn__entry_of(f, i);
    tfn__parse_tensor(&r, t);
}

/* For tfn__order. Names are compared where they stand in the header, behind their opening quotes,
 * character by character: an escape is as good as what it stands for. */
static bool tfn__name_before(const void *x, int32_t i, int32_t j)
{
    const tfn_file *f = (const tfn_file *)x;
    tfn__reader a = tfn__entry_of(f, i);
    tfn__reader b = tfn__entry_of(f, j);
    a.at++;
    b.at++;
    return tfn__json_compare(a, b) < 0;
}
/* An empty tensor stands before the one that begins at the same byte: then each begins where the
 * last one ended. */
static bool tfn__offset_before(const void *x, int32_t i, int32_t j)
{
    const tfn_file *f = (const tfn_file *)x;
    const tfn__entry *a = (const tfn__entry *)f->entries + i;
    const tfn__entry *b = (const tfn__entry *)f->entries + j;

    if (a->begin != b->begin) return a->begin < b->begin;
    return a->end < b->end;
}

/* Parse all of the header: is it what the format says, and where do its tensors stand? */
static void tfn__read_entries(tfn_file *f)
{
    static const char *const keys[] = { "__metadata__\"" };
    tfn__reader r = tfn__read_from(f->header, f->header_size);
    tfn__entry *e = (tfn__entry *)f->entries;
    if (!tfn__is_utf8(r.s, r.size)) tfn__bad(f, "the header is not UTF-8", NULL, 0, 0);
    if (!tfn__fine(f)) return;
    f->metadata = 0;
    for (bool more = tfn__json_open(&r, '{', '}'); more; more = tfn__json_more(&r, '}')) {
        tfn__reader key = r;            /* to look at the name and come back */
        tfn_tensor t;
        if (tfn__json_key(&key, keys, 1) == 0) {
            r = key;
            tfn__parse_texts(f, &r, false);
            continue;
        }
        e[f->count].at = (uint32_t)r.at;
        tfn__parse_tensor(&r, &t);
        e[f->count].begin = t.at;
        e[f->count].end = t.at + t.bytes;
        f->count++;
    }
    if (r.at < r.size) tfn__want(&r, "the header's end");
    if (r.wanted) tfn__bad(f, "%s is wanted at byte %d of the header", r.wanted, (int64_t)r.at, 0);
}

/* No two names are the same. The order of names stays. */
static void tfn__check_names(tfn_file *f)
{
    tfn_tensor t;
    tfn__order(f->order, f->count, tfn__name_before, f);
    for (int32_t i = 1; i < f->count; i++) {
        if (tfn__name_before(f, f->order[i - 1], f->order[i])) continue;
        tfn__entry_at(f, f->order[i], &t);
        tfn__bad(f, "%s comes twice", t.name, 0, 0);
    }
}

/* A tensor begins where the last one ended, and has the bytes of its shape. */
static void tfn__check_place(tfn_file *f, const tfn_tensor *t, uint64_t last)
{
    const int64_t bits = tfn__volume(t->count, tfn__dtypes[t->dtype].bits);
    if (t->at != last)
        tfn__bad(f, "%s begins at %d, %d is wanted", t->name, (int64_t)t->at, (int64_t)last);
    if ((int64_t)t->bytes < 0) tfn__bad(f, "%s ends before it begins", t->name, 0, 0);
    if (bits < 0)
        tfn__file_fail(f, TFN_TOO_LARGE, "%s: too many values", t->name, 0, 0);
    else if (bits % 8 || (uint64_t)bits / 8 != t->bytes)
        tfn__bad(f, "%s has %d bytes, its shape wants %d", t->name, (int64_t)t->bytes, bits / 8);
}

/* In the order of their bytes, tensors follow each other without hole or overlap, and the last one
 * ends the file. A legal file may still have ranks for which tfn_tensor has no room. */
static void tfn__check_entries(tfn_file *f)
{
    uint64_t last = 0;
    tfn_tensor t, deep;
    deep.rank = 0;
    tfn__check_names(f);
    tfn__order(f->order, f->count, tfn__offset_before, f);
    for (int32_t i = 0; i < f->count; i++) {
        if (!tfn__fine(f)) break;
        tfn__entry_at(f, f->order[i], &t);
        tfn__check_place(f, &t, last);
        if (t.rank > TFN__RANK) deep = t;
        last += t.bytes;
    }
    if (last != f->used - f->data)
        tfn__bad(f, "the tensors have %d bytes, the file has %d", NULL, (int64_t)last,
                 (int64_t)(f->used - f->data));
    if (deep.rank)
        tfn__file_fail(f, TFN_UNSUPPORTED, "%s has rank %d, the limit is %d", deep.name, deep.rank,
                       TFN__RANK);
    tfn__order(f->order, f->count, tfn__name_before, f);    /* for tfn_file_find */
}

/* Bytes of the header; no more is done with this number before it was found to be small enough. */
static size_t tfn__header_size(tfn_file *f)
{
    uint8_t s[8];
    uint64_t n;
    if (f->used < 8) tfn__bad(f, "it has %d bytes, %d are wanted", NULL, (int64_t)f->used, 8);
    if (!tfn__file_get(f, 0, s, 8)) return 0;
    n = tfn__from_bytes(s, 8);
    if (n > TFN__HEADER_MOST)
        tfn__bad(f, "the header has over %d bytes", NULL, TFN__HEADER_MOST, 0);
    else if (n > f->used - 8)
        tfn__bad(f, "a header of %d bytes, the file has %d", NULL, (int64_t)n,
                 (int64_t)(f->used - 8));
    if (!tfn__fine(f)) return 0;
    return (size_t)n;
}

/* Place the header of n bytes, its entries and their order in the work; there are at most as many
 * entries as the shortest ones that fit into n bytes. Returns the bytes that it takes; over an
 * arena that only counts, this is the size that the caller is told. */
static size_t tfn__place_header(tfn_file *f, tfn__arena a, size_t n)
{
    const size_t room = n / TFN__ENTRY_BYTES + 1;
    f->header = tfn__take(&a, n, 1, &f->error);
    f->entries = tfn__take(&a, room, sizeof(tfn__entry), &f->error);
    f->order = tfn__take_ids(&a, room, &f->error);
    f->header_size = n;
    f->data = 8 + (uint64_t)n;
    return a.used + (TFN__ALIGN - 1);
}

/* Open what the bytes come from. Bytes of work that the header wants; *n: its own. */
static size_t tfn__open_bytes(tfn_file *f, size_t *n)
{
    *n = 0;
    if (tfn__begin(f, false)) *n = tfn__header_size(f);
    return tfn__place_header(f, tfn__arena_in(NULL, SIZE_MAX), *n);
}

/* Only the first 8 bytes are read: the header may still be refused when the file is opened. */
TFNORM_API size_t tfn_file_work(tfn_file *f)
{
    size_t n, bytes;
    if (!f) return 0;
    bytes = tfn__open_bytes(f, &n);
    tfn_file_close(f);
    if (!tfn__fine(f)) return 0;
    return bytes;
}

/* The header is read once, into memory of its size, which is that of bytes that there are. */
TFNORM_API tfn_status tfn_file_open(tfn_file *f)
{
    size_t n, bytes;
    if (!f) return TFN_NULL;
    tfn_file_close(f);
    bytes = tfn__open_bytes(f, &n);
    if (tfn__fine(f)) tfn__place_header(f, tfn__work_of(f, bytes), n);
    if (tfn__file_get(f, 8, f->header, n)) tfn__read_entries(f);
    if (tfn__fine(f)) tfn__check_entries(f);
    if (!tfn__fine(f)) tfn_file_close(f);
    return f->error.status;
}

/* -- safetensors: reading -------------------------------------------------------------------- */

/* Before what reads a file: is it open? */
static bool tfn__file_open(tfn_file *f)
{
    if (!f) return false;
    if (!f->header) tfn__file_fail(f, TFN_NOT_READY, "the file is not open", NULL, 0, 0);
    return tfn__fine(f);
}

/* An argument that must not be NULL. */
static bool tfn__file_given(tfn_file *f, const char *name, const void *p)
{
    if (!p) tfn__file_fail(f, TFN_NULL, "%s is NULL", name, 0, 0);
    return p != NULL;
}

TFNORM_API bool tfn_file_tensor(tfn_file *f, int32_t i, tfn_tensor *t)
{
    if (!tfn__file_open(f) || !tfn__file_given(f, "tensor", t)) return false;
    if (i < 0 || i >= f->count) return false;
    tfn__entry_at(f, f->order[i], t);
    t->at += f->data;
    return true;
}

/* A binary search over the names, each parsed where it stands. */
TFNORM_API bool tfn_file_find(tfn_file *f, const char *name, tfn_tensor *t)
{
    int32_t low = 0;
    int32_t high;
    if (!tfn__file_open(f) || !tfn__file_given(f, "name", name)) return false;
    if (!tfn__file_given(f, "tensor", t)) return false;
    high = f->count;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        int order;
        if (!tfn_file_tensor(f, middle, t)) return false;
        order = tfn__compare(t->name, name);
        if (!order) return true;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return false;
}

/* Go through the texts of __metadata__, or of an index, where all was checked when it was opened:
 *     for (bool more = tfn__texts_open(f, &r); more; more = tfn__json_more(&r, '}'))
 *         value = tfn__next_text(&r, name);
 */
enum { TFN__NAME_ROOM = sizeof(((tfn_error *)0)->name) };
static bool tfn__texts_open(const tfn_file *f, tfn__reader *r)
{
    if (!f->header || !f->metadata || !tfn__fine(f)) return false;
    *r = tfn__read_from(f->header, f->metadata_end);
    r->at = f->metadata;
    return tfn__peek(r) == '{' && tfn__json_open(r, '{', '}');
}
/* The name, of TFN__NAME_ROOM bytes, "" if it is long; returns a reader in front of the value. */
static tfn__reader tfn__next_text(tfn__reader *r, char *name)
{
    tfn__reader key = *r;
    tfn__reader value;
    tfn__json_string(&key, name, TFN__NAME_ROOM);
    if (key.wanted) name[0] = 0;
    tfn__json_string(r, NULL, 0);
    tfn__json_want(r, ':', ":");
    value = *r;
    tfn__json_string(r, NULL, 0);
    return value;
}

/* The characters of a string, escapes resolved. */
static void tfn__copy_string(tfn__text *t, tfn__reader r)
{
    int32_t c;
    tfn__json_mark(&r, '"');
    while ((c = tfn__json_char(&r)) >= 0) tfn__put_code(t, c);
}

TFNORM_API size_t tfn_file_text(tfn_file *f, const char *key, char *text, size_t size)
{
    char name[TFN__NAME_ROOM];
    tfn__text t = tfn__text_in(text, size);
    tfn__reader r;
    tfn__end(&t);                       /* empty, whatever follows */
    if (!tfn__file_open(f) || !tfn__file_given(f, "key", key)) return 0;
    for (bool more = tfn__texts_open(f, &r); more; more = tfn__json_more(&r, '}')) {
        const tfn__reader value = tfn__next_text(&r, name);
        if (!tfn__equal(name, key)) continue;
        tfn__copy_string(&t, value);
        break;
    }
    tfn__end(&t);
    return t.used;
}

/* An IEEE 754 number of any format: the sign, then the exponent plus its bias, then the fraction
 * behind the leading 1, which denormal numbers, of exponent 0, do not have. */
static double tfn__ieee(uint64_t u, int exponent_bits, int fraction_bits)
{
    const int most = (1 << exponent_bits) - 1;          /* the exponent of infinity and NaN */
    const int unit = most / 2 + fraction_bits;          /* bias, and that of the fraction's unit */
    const int exponent = (int)(u >> fraction_bits) & most;
    const uint64_t one = UINT64_C(1) << fraction_bits;
    const uint64_t fraction = u & (one - 1);
    double v;
    if (exponent == most && fraction) v = (double)NAN;
    else if (exponent == most) v = (double)INFINITY;
    else if (exponent == 0) v = ldexp((double)fraction, 1 - unit);
    else v = ldexp((double)(fraction | one), exponent - unit);
    if (u >> (exponent_bits + fraction_bits) & 1) v = -v;
    return v;
}

/* The value of one number of a dtype that has values, as a double: exact but for integers of 64
 * bits above 2^53. */
static double tfn__decode(tfn_dtype dtype, const uint8_t *s)
{
    const int bits = tfn__dtypes[dtype].bits;
    const int exponent = tfn__dtypes[dtype].exponent_bits;
    const uint64_t u = tfn__from_bytes(s, (size_t)bits / 8);
    const uint64_t sign = UINT64_C(1) << (bits - 1);
    if (tfn__dtypes[dtype].code == TFN__IEEE) return tfn__ieee(u, exponent, bits - 1 - exponent);
    if (tfn__dtypes[dtype].code == TFN__SIGNED && u & sign)
        return -(double)(sign - (u - sign));            /* 2^bits - u, which 64 bits cannot hold */
    return (double)u;
}

/* Store a value as one of three types. As I32 the caller asks only for what fits. */
static void tfn__store(void *to, int64_t i, double v, tfn_dtype as)
{
    if (as == TFN_DTYPE_I32) ((int32_t *)to)[i] = (int32_t)v;
    else if (as == TFN_DTYPE_F64) ((double *)to)[i] = v;
    else ((float *)to)[i] = (float)v;
}

/* Values first, first + 1 ... of a tensor, as I32, F64 or float: copied where they stand in the
 * file as they are wanted, else converted a chunk at a time. */
static void tfn__read_as(tfn_file *f, const tfn_tensor *t, void *to, tfn_dtype as, int64_t first,
                         int64_t count)
{
    const uint64_t each = tfn__dtypes[t->dtype].bits / 8;
    const uint64_t at = t->at + (uint64_t)first * each;
    uint8_t s[8 * TFN__CHUNK];
    if (t->dtype == as && tfn__little()) {
        tfn__file_get(f, at, to, (uint64_t)count * each);
        return;
    }
    for (int64_t done = 0; done < count; done += TFN__CHUNK) {
        int64_t n = count - done;
        if (n > TFN__CHUNK) n = TFN__CHUNK;
        if (!tfn__file_get(f, at + (uint64_t)done * each, s, (uint64_t)n * each)) return;
        for (int64_t i = 0; i < n; i++)
            tfn__store(to, done + i, tfn__decode(t->dtype, s + (uint64_t)i * each), as);
    }
}

/* The tensor is that of find or tensor: its place was checked, but the caller may have changed it,
 * so the bytes are compared with those of the file again. */
TFNORM_API tfn_status tfn_file_read(tfn_file *f, const tfn_tensor *t, float *to, int64_t first,
                                    int64_t count)
{
    if (!f) return TFN_NULL;
    if (!tfn__file_open(f) || !tfn__file_given(f, "tensor", t)) return f->error.status;
    if (first < 0 || count < 0 || count > t->count - first)
        tfn__file_fail(f, TFN_BAD_SHAPE, "%s has %d values, not %d more", t->name, t->count, count);
    if (!tfn__has_values(t->dtype))
        tfn__file_fail(f, TFN_UNSUPPORTED, "%s has a dtype that is not read", t->name, 0, 0);
    if (count > 0) tfn__file_given(f, "to", to);
    if (tfn__fine(f)) tfn__read_as(f, t, to, (tfn_dtype)TFN__FLOAT, first, count);
    return f->error.status;
}

/* -- safetensors: writing -------------------------------------------------------------------- */

/* What is written: tensor i of `count`, of which those without a name are left out, and a function
 * that writes __metadata__, or NULL. So a model is written without a list of its tensors in memory:
 * a large one has thousands. */
typedef struct tfn__source {
    const void *user;
    int32_t count;
    void  (*tensor)(const struct tfn__source *s, int32_t i, tfn_tensor *t);
    void  (*metadata)(const struct tfn__source *s, tfn_file *f);
} tfn__source;

/* Fill in count and bytes of what is written; count -1: not a legal dtype or shape, or more bytes
 * than memory can have. */
static void tfn__measure_tensor(tfn_tensor *t)
{
    t->count = -1;
    t->bytes = 0;
    if (t->rank < 0 || t->rank > TFN__RANK || !tfn__has_values(t->dtype)) return;
    t->count = 1;
    for (int32_t k = 0; k < t->rank; k++) t->count = tfn__volume(t->count, t->shape[k]);
    if (t->count > INT64_MAX / 64) t->count = -1;       /* its bits are counted, too */
    if (t->count >= 0) t->bytes = (uint64_t)t->count * tfn__dtypes[t->dtype].bits / 8;
    if (t->bytes > SIZE_MAX / 2) t->count = -1;
}

/* Tensor i, measured. It is asked for again at every use, so it must always be the same. */
static tfn_tensor tfn__source_tensor(const tfn__source *s, int32_t i)
{
    tfn_tensor t;
    TFNORM_MEMSET(&t, 0, sizeof t);
    s->tensor(s, i, &t);
    if (!t.dtype) t.dtype = TFN_DTYPE_F32;
    tfn__measure_tensor(&t);
    return t;
}

/* For tfn__order: wide dtypes first, so that every tensor is aligned; then by name. */
static bool tfn__source_before(const void *x, int32_t i, int32_t j)
{
    const tfn__source *s = (const tfn__source *)x;
    const tfn_tensor a = tfn__source_tensor(s, i);
    const tfn_tensor b = tfn__source_tensor(s, j);
    if (a.dtype != b.dtype) return a.dtype < b.dtype;
    return tfn__compare(a.name, b.name) < 0;
}

/* What the text holds goes to the file, and it is empty again. */
static void tfn__flush_text(tfn_file *f, tfn__text *t)
{
    tfn__file_put(f, t->buf, t->used);
    t->used = 0;
}

/* The inside of a JSON string, of any length: the text goes to the file when it is half full. */
static void tfn__put_name(tfn__text *t, const char *s, tfn_file *f)
{
    const size_t n = tfn__length(s);
    size_t at = 0;
    if (!tfn__is_utf8((const uint8_t *)s, n))
        tfn__file_fail(f, TFN_BAD_OPTION, "a name or text is not UTF-8", NULL, 0, 0);
    while (at < n) {
        int32_t c;
        if (!tfn__fine(f)) return;
        at += tfn__utf8((const uint8_t *)s + at, n - at, &c);
        if (t->used > t->size / 2) tfn__flush_text(f, t);
        tfn__put_json(t, c);
    }
}

/* ,"NAME":{"dtype":"F32","shape":[2,3],"data_offsets":[BEGIN,END]}, its bytes from `at` on. */
static void tfn__put_entry(tfn_file *f, tfn__text *t, const tfn_tensor *x, uint64_t at)
{
    tfn__put(t, ",\"");
    tfn__put_name(t, x->name, f);
    tfn__put_texts(t, "\":{\"dtype\":\"", tfn__dtypes[x->dtype].name, "\",\"shape\":[");
    for (int32_t k = 0; k < x->rank; k++) {
        if (k) tfn__put(t, ",");
        tfn__put_int(t, NULL, x->shape[k], NULL);
    }
    tfn__put_int(t, "],\"data_offsets\":[", (int64_t)at, ",");
    tfn__put_int(t, NULL, (int64_t)(at + x->bytes), "]}");
    tfn__flush_text(f, t);
}

/* The JSON, from the opening brace to the closing one. Offsets count up in the order in which the
 * values will follow. */
static void tfn__put_header(tfn_file *f, const tfn__source *s, const int32_t *order)
{
    char buf[512];
    uint64_t at = 0;
    tfn__text t = tfn__text_in(buf, sizeof buf);
    tfn__put(&t, "{\"__metadata__\":");
    if (!s->metadata) tfn__put(&t, "{\"format\":\"pt\"}");
    tfn__flush_text(f, &t);
    if (s->metadata) s->metadata(s, f);
    for (int32_t i = 0; i < s->count; i++) {
        const tfn_tensor x = tfn__source_tensor(s, order[i]);
        if (!x.name[0]) continue;
        tfn__put_entry(f, &t, &x, at);
        at += x.bytes;
    }
    tfn__file_put(f, "}", 1);
}

/* Before anything is written; in the order of names those that are the same are neighbours. */
static void tfn__check_tensors(tfn_file *f, const tfn__source *s, const int32_t *order)
{
    tfn_tensor t, last;
    last.name[0] = 0;
    for (int32_t i = 0; i < s->count; i++) {
        t = tfn__source_tensor(s, order[i]);
        if (t.name[0] && t.count < 0)
            tfn__file_fail(f, TFN_BAD_SHAPE, "%s has no legal dtype or shape", t.name, 0, 0);
        if (t.name[0] && t.bytes && !t.data)
            tfn__file_fail(f, TFN_NULL, "%s has no data", t.name, 0, 0);
        if (t.name[0] && (tfn__equal(t.name, last.name) || tfn__equal(t.name, "__metadata__")))
            tfn__file_fail(f, TFN_BAD_OPTION, "%s is not a name, or comes twice", t.name, 0, 0);
        if (!tfn__fine(f)) return;
        last = t;
    }
}

/* The values of a tensor, little-endian: on a big-endian machine the bytes of each turn round. */
static void tfn__put_values(tfn_file *f, const tfn_tensor *t)
{
    const size_t each = tfn__dtypes[t->dtype].bits / 8;
    const size_t bytes = (size_t)t->bytes;
    const uint8_t *from = (const uint8_t *)t->data;
    uint8_t s[8 * TFN__CHUNK];
    if (tfn__little() || each == 1) {
        tfn__file_put(f, from, bytes);
        return;
    }
    for (size_t at = 0; at < bytes; at += sizeof s) {
        size_t n = bytes - at;
        if (n > sizeof s) n = sizeof s;
        for (size_t i = 0; i < n; i++) s[i] = from[at + (i ^ (each - 1))];    /* each: 2, 4 or 8 */
        tfn__file_put(f, s, n);
    }
}

/* Bytes of the header, without padding: it is written to nowhere. */
static uint64_t tfn__measure_header(tfn_file *f, const tfn__source *s, const int32_t *order)
{
    const bool counts = f->counts;
    uint64_t n;
    f->counts = true;
    tfn__put_header(f, s, order);
    f->counts = counts;
    n = f->used;
    f->used = 0;
    return n;
}

/* Length, header padded to a multiple of 8, then the data. The order stands at the front of the
 * work. The header is written twice, first to nowhere: its length comes before it. */
static tfn_status tfn__write_source(tfn_file *f, const tfn__source *s, tfn__arena a)
{
    int32_t *order = NULL;
    uint8_t length[8];
    uint64_t n, pad;
    if (tfn__fine(f)) order = tfn__take_ids(&a, (size_t)s->count, &f->error);
    if (!order) return tfn__finish_writing(f);
    tfn__order(order, s->count, tfn__source_before, s);
    tfn__check_tensors(f, s, order);
    if (!tfn__fine(f)) return tfn__finish_writing(f);
    n = tfn__measure_header(f, s, order);
    pad = (0 - n) & 7;                  /* so the values begin at a multiple of 8 */
    for (int i = 0; i < 8; i++) length[i] = (uint8_t)((n + pad) >> 8*i);
    tfn__file_put(f, length, 8);
    tfn__put_header(f, s, order);
    tfn__file_put(f, "       ", (size_t)pad);
    for (int32_t i = 0; i < s->count; i++) {
        const tfn_tensor t = tfn__source_tensor(s, order[i]);
        if (!tfn__fine(f)) break;
        if (t.name[0]) tfn__put_values(f, &t);
    }
    return tfn__finish_writing(f);
}

/* tfn_file_write: the tensors are in an array, and __metadata__ is the least one. */
static void tfn__given_tensor(const tfn__source *s, int32_t i, tfn_tensor *t)
{
    *t = ((const tfn_tensor *)s->user)[i];
}

TFNORM_API tfn_status tfn_file_write(tfn_file *f, const tfn_tensor *tensors, int32_t count)
{
    tfn__source s = { tensors, count, tfn__given_tensor, NULL };
    if (!f) return TFN_NULL;
    if (count < 0) tfn__file_fail(f, TFN_BAD_OPTION, "%d tensors", NULL, count, 0);
    if (count > 0) tfn__file_given(f, "tensors", tensors);
    if (!tfn__begin(f, true)) return f->error.status;
    return tfn__write_source(f, &s, tfn__work_of(f, tfn__sum(tfn__mul((size_t)count, 4), 63)));
}

/* -- the index of several files -------------------------------------------------------------- */

/* {"metadata":{...},"weight_map":{"TENSOR":"FILE", ...}}: all of it is the header, and the map its
 * texts. */
TFNORM_API tfn_status tfn_index_open(tfn_file *f)
{
    static const char *const keys[] = { "weight_map\"" };
    tfn__reader r;
    tfn__arena a;
    if (!f) return TFN_NULL;
    tfn_file_close(f);
    f->metadata = 0;
    if (!tfn__begin(f, false)) return f->error.status;
    f->header_size = SIZE_MAX;
    if (f->used < SIZE_MAX / 2) f->header_size = (size_t)f->used;
    a = tfn__work_of(f, tfn__sum(f->header_size, TFN__ALIGN - 1));
    if (tfn__fine(f)) f->header = tfn__take(&a, f->header_size, 1, &f->error);
    r = tfn__read_from(f->header, f->header_size);
    if (!tfn__file_get(f, 0, f->header, f->used)) r.size = 0;
    for (bool more = tfn__json_open(&r, '{', '}'); more; more = tfn__json_more(&r, '}')) {
        if (tfn__json_key(&r, keys, 1) == 0) tfn__parse_texts(f, &r, true);
        else tfn__json_skip(&r, 8);
    }
    if (!f->metadata) tfn__want(&r, "a weight_map");
    if (r.at < r.size) tfn__want(&r, "its end");
    if (r.wanted) tfn__bad(f, "%s is wanted at byte %d", r.wanted, (int64_t)r.at, 0);
    if (!tfn__fine(f)) tfn_file_close(f);               /* count is 0: it has no tensors */
    return f->error.status;
}

TFN__SMALL_END
#endif /* TFN__IMPLEMENTING */
/* >> checkpoints */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY && !defined TFNORM_ONLY_KERNELS \
    && !defined TFNORM_NO_FILES
TFN__SMALL
/* A checkpoint is a safetensors file:
 *
 *     decoder.0.self.q.weight ...      the weights, and running statistics, by their names
 *     training.moment1.NAME ...        what training keeps of each: see tfn__groups
 *     training.state                   eight numbers: see tfn__saved_state
 *     tokenizer                        the blob of tfn_tokenizer_write
 *     __metadata__                     the options as texts, "tfn.width", and "extra", the user's
 *
 * A program that reads safetensors finds the weights in it without knowing anything of this
 * library. With the state, a run that is loaded has the bits of one that was never stopped. */

/* -- options as texts ------------------------------------------------------------------------ */

/* Options stand in __metadata__ as texts under their names. Enumerations have the names of their
 * rows, so that a file means the same where a later version has more of them; files of format 1,
 * version 0.1, have numbers. */
enum {
    TFN__FIELD_BOOL, TFN__FIELD_WHOLE, TFN__FIELD_REAL,
    TFN__FIELD_CHOICE,                  /* an enumerator, by the name of its row; 0 may have none */
    TFN__FIELD_NAME,                    /* of a recipe, norm or initialization */
    TFN__FIELD_TOPOLOGY                 /* a row, perhaps the user's own, by its name */
};
/* When a model must have the same value as the file: never, always, or to train on. */
enum { TFN__MAY_DIFFER, TFN__SAME_ALWAYS, TFN__SAME_TO_TRAIN };

/* How an option is called, what it is, and where it stands in tfn_model_desc. A new option is a row
 * here: a test finds those of tfn_model_desc that are missing. */
typedef struct tfn__field {
    char    name[28];
    uint8_t type, same;
    bool    later;                      /* files of 0.1 lack it: it is written where it is not 0,
                                         * and 0 where a file does not have it */
    size_t  at, size;
} tfn__field;

#define TFN__FIELD_OF(type, same, field, later) \
    { "tfn." #field, TFN__FIELD_##type, TFN__##same, later, offsetof(tfn_model_desc, field), \
      sizeof(((tfn_model_desc *)0)->field) }
#define TFN__FIELD(type, same, field) TFN__FIELD_OF(type, same, field, false)
#define TFN__LATER(type, same, field) TFN__FIELD_OF(type, same, field, true)

/* Sorted by name, so that the keys of __metadata__ are. What does not change what a model computes
 * may differ (memory, the largest batch); what only a training step looks at may, too, where the
 * file is not trained on; threads and instruction set are the machine's, and are not saved. */
static const tfn__field tfn__fields[] = {
    TFN__FIELD(CHOICE, SAME_ALWAYS, activation),
    TFN__FIELD(REAL, SAME_TO_TRAIN, activation_dropout),
    TFN__FIELD(CHOICE, SAME_ALWAYS, arch),
    TFN__FIELD(REAL, SAME_ALWAYS, attention_cap),
    TFN__FIELD(REAL, SAME_TO_TRAIN, attention_dropout),
    TFN__LATER(WHOLE, SAME_ALWAYS, bands),
    TFN__FIELD(WHOLE, MAY_DIFFER, batch),
    TFN__FIELD(REAL, SAME_TO_TRAIN, beta1),
    TFN__FIELD(REAL, SAME_TO_TRAIN, beta2),
    TFN__FIELD(WHOLE, SAME_ALWAYS, classes),
    TFN__FIELD(REAL, SAME_TO_TRAIN, clip),
    TFN__FIELD(WHOLE, MAY_DIFFER, context),
    TFN__LATER(WHOLE, SAME_ALWAYS, cutoffs[0]),
    TFN__LATER(WHOLE, SAME_ALWAYS, cutoffs[1]),
    TFN__FIELD(REAL, SAME_TO_TRAIN, decay),
    TFN__LATER(BOOL, SAME_TO_TRAIN, decay_all),
    TFN__FIELD(WHOLE, SAME_ALWAYS, decoder_layers),
    TFN__FIELD(NAME, SAME_ALWAYS, decoder_norm),
    TFN__FIELD(TOPOLOGY, SAME_ALWAYS, decoder_topology),
    TFN__FIELD(REAL, SAME_TO_TRAIN, dropout),
    TFN__FIELD(REAL, SAME_TO_TRAIN, eps),
    TFN__FIELD(BOOL, SAME_TO_TRAIN, eps_inside),
    TFN__FIELD(WHOLE, SAME_ALWAYS, ffn),
    TFN__FIELD(BOOL, SAME_ALWAYS, folded),
    TFN__FIELD(BOOL, SAME_TO_TRAIN, half),
    TFN__FIELD(CHOICE, SAME_ALWAYS, head),
    TFN__FIELD(WHOLE, SAME_ALWAYS, heads),
    TFN__FIELD(NAME, SAME_TO_TRAIN, init),
    TFN__FIELD(WHOLE, SAME_ALWAYS, kv_heads),
    TFN__FIELD(WHOLE, SAME_ALWAYS, layers),
    TFN__FIELD(REAL, SAME_ALWAYS, logit_cap),
    TFN__FIELD(REAL, SAME_TO_TRAIN, loss_scale),
    TFN__FIELD(WHOLE, SAME_TO_TRAIN, micro_batches),
    TFN__FIELD(BOOL, SAME_TO_TRAIN, nesterov),
    TFN__FIELD(BOOL, SAME_ALWAYS, no_bias),
    TFN__FIELD(NAME, SAME_ALWAYS, norm),
    TFN__FIELD(REAL, SAME_ALWAYS, norm_eps),
    TFN__LATER(REAL, SAME_ALWAYS, norm_factor),
    TFN__FIELD(WHOLE, SAME_TO_TRAIN, norm_warmup),
    TFN__FIELD(CHOICE, SAME_TO_TRAIN, optimizer),
    TFN__FIELD(CHOICE, SAME_ALWAYS, position),
    TFN__FIELD(CHOICE, SAME_ALWAYS, qk_norm),
    TFN__FIELD(CHOICE, SAME_TO_TRAIN, radam),
    TFN__FIELD(NAME, SAME_TO_TRAIN, recipe),
    TFN__FIELD(BOOL, MAY_DIFFER, recompute),
    TFN__FIELD(REAL, SAME_ALWAYS, rotary_base),
    TFN__FIELD(BOOL, SAME_ALWAYS, scale_embedding),
    TFN__FIELD(WHOLE, SAME_TO_TRAIN, schedule.anchor),
    TFN__FIELD(WHOLE, SAME_TO_TRAIN, schedule.decay_steps),
    TFN__LATER(BOOL, SAME_TO_TRAIN, schedule.fairseq),
    TFN__LATER(BOOL, SAME_TO_TRAIN, schedule.frozen),
    TFN__FIELD(CHOICE, SAME_TO_TRAIN, schedule.kind),
    TFN__FIELD(REAL, SAME_TO_TRAIN, schedule.lr),
    TFN__FIELD(REAL, SAME_TO_TRAIN, schedule.lr_init),
    TFN__FIELD(REAL, SAME_TO_TRAIN, schedule.lr_min),
    TFN__LATER(REAL, SAME_TO_TRAIN, schedule.power),
    TFN__FIELD(WHOLE, SAME_TO_TRAIN, schedule.step_at),
    TFN__FIELD(REAL, SAME_TO_TRAIN, schedule.step_factor),
    TFN__FIELD(WHOLE, SAME_TO_TRAIN, schedule.steps),
    TFN__FIELD(WHOLE, SAME_TO_TRAIN, schedule.warmup),
    TFN__FIELD(WHOLE, SAME_TO_TRAIN, seed),
    TFN__FIELD(WHOLE, SAME_ALWAYS, segments),
    TFN__FIELD(BOOL, SAME_ALWAYS, separate_source),
    TFN__FIELD(REAL, SAME_TO_TRAIN, smoothing),
    TFN__FIELD(CHOICE, SAME_TO_TRAIN, smoothing_kind),
    TFN__FIELD(WHOLE, MAY_DIFFER, source_context),
    TFN__FIELD(TOPOLOGY, SAME_ALWAYS, topology),
    TFN__FIELD(BOOL, SAME_ALWAYS, untied),
    TFN__FIELD(WHOLE, SAME_ALWAYS, vocab),
    TFN__FIELD(WHOLE, SAME_ALWAYS, width)
};
enum {
    TFN__FIELDS = sizeof tfn__fields / sizeof *tfn__fields,
    TFN__FIELD_ROOM = 96                /* bytes of a value's text */
};

/* The option's name for a reader, without "tfn.". */
static const char *tfn__field_name(const tfn__field *x) { return x->name + sizeof "tfn." - 1; }

/* The name of an enumerator; NULL: there is none of that number. */
static const char *tfn__choice_text(const tfn__field *x, int64_t value)
{
    const char *name = NULL;
    if (value >= 0 && value <= INT32_MAX)
        name = tfn_choice_name(tfn__field_name(x), (int32_t)value);
    if (!name && value == 0) return "default";
    return name;
}

/* The value as a text, in buf: the same text for the same value, so that two models are compared by
 * their texts. Real numbers are the shortest that read as the same float again. */
static const char *tfn__field_text(const tfn__field *x, const tfn_model_desc *d, char *buf)
{
    const char *p = (const char *)d + x->at;
    const char *name = NULL;
    const tfn_topology *row;
    float real;
    tfn__text t = tfn__text_in(buf, TFN__FIELD_ROOM);
    switch (x->type) {
    case TFN__FIELD_BOOL:
        name = tfn__whole_at(p, x->size) ? "true" : "false";
        break;
    case TFN__FIELD_WHOLE:
        tfn__put_int(&t, NULL, tfn__whole_at(p, x->size), NULL);
        break;
    case TFN__FIELD_REAL:
        TFNORM_MEMCPY(&real, p, sizeof real);
        tfn__put_float(&t, real);
        break;
    case TFN__FIELD_CHOICE:
        name = tfn__choice_text(x, tfn__whole_at(p, x->size));
        break;
    case TFN__FIELD_NAME:
        TFNORM_MEMCPY(&name, p, sizeof name);
        break;
    default:
        TFNORM_MEMCPY(&row, p, sizeof row);
        name = row->name;
    }
    tfn__put(&t, name);
    return tfn__end(&t);
}

/* A later option, at what it was before there was a choice. */
static bool tfn__field_unset(const tfn__field *x, const char *text)
{
    return x->later && (tfn__equal(text, "0") || tfn__equal(text, "false"));
}

/* Write a whole number of 1, 2, 4 or 8 bytes: the low ones of v. */
static void tfn__set_whole(char *p, int64_t v, size_t size)
{
    const char *low = (const char *)&v;
    if (!tfn__little()) low += sizeof v - size;
    TFNORM_MEMCPY(p, low, size);
}

/* A number or a truth. False: the text is no such value, or has something behind it. Whether the
 * value is legal, tfn_model_resolve says. */
static bool tfn__set_number(const tfn__field *x, char *p, const char *text)
{
    tfn__reader r = tfn__read_from(text, tfn__length(text));
    const bool truth = tfn__equal(text, "true");
    if (x->type == TFN__FIELD_BOOL) {
        tfn__set_whole(p, truth, x->size);
        return truth || tfn__equal(text, "false");
    }
    if (x->type == TFN__FIELD_REAL) {
        const float real = (float)tfn__json_number(&r);
        TFNORM_MEMCPY(p, &real, sizeof real);
    } else {
        const int64_t most = INT64_MAX >> (64 - 8 * x->size);
        tfn__set_whole(p, tfn__json_whole(&r, most), x->size);
    }
    return !r.wanted && r.at == r.size;
}

/* False: no row has this name. */
static bool tfn__set_choice(const tfn__field *x, char *p, const char *text)
{
    const tfn_choice *row = tfn_choice_find(tfn__field_name(x), text);
    if (row) tfn__set_whole(p, row->value, x->size);
    else tfn__set_whole(p, 0, x->size);
    return row || tfn__equal(text, tfn__choice_text(x, 0));
}

/* The text itself is not kept: the option points to the library's. */
static bool tfn__set_name(const tfn__field *x, char *p, const char *text)
{
    const char *name;
    for (int32_t i = 0; (name = tfn__name_of(tfn__field_name(x), i)) != NULL; i++)
        if (tfn__equal(name, text)) break;
    TFNORM_MEMCPY(p, &name, sizeof name);
    return name != NULL;
}

/* False: no legal value, or an unknown name. A topology that is not the library's becomes NULL:
 * the caller of peek sets it. */
static bool tfn__field_set(const tfn__field *x, tfn_model_desc *d, const char *text)
{
    char *p = (char *)d + x->at;
    const tfn_topology *row;
    switch (x->type) {
    case TFN__FIELD_CHOICE:
        return tfn__set_choice(x, p, text);
    case TFN__FIELD_NAME:
        return tfn__set_name(x, p, text);
    case TFN__FIELD_TOPOLOGY:
        row = tfn_topology_find(text);
        TFNORM_MEMCPY(p, &row, sizeof row);
        return true;
    default:
        return tfn__set_number(x, p, text);
    }
}

/* -- checkpoints: saving --------------------------------------------------------------------- */

/* The tensors of a model are its weights, then what training keeps of each: groups of as many.
 * BEFORE: parameters and statistics of before the update under way, which may be skipped. */
enum { TFN__WEIGHTS, TFN__FIRST, TFN__SECOND, TFN__GRADIENTS, TFN__BEFORE, TFN__GROUPS };
static const char tfn__groups[][20] = {
    "", "training.moment1.", "training.moment2.", "training.gradient.", "training.before."
};

/* "training.state": eight numbers as F64, which hold counts up to 2^53. */
enum {
    TFN__SAVED_STEP, TFN__SAVED_MICRO, TFN__SAVED_TOKENS, TFN__SAVED_FINITE_STEPS,
    TFN__SAVED_PROFILED,                /* 1: profiled; 2: by the update under way */
    TFN__SAVED_LOSS_SCALE, TFN__SAVED_LOSS_SUM, TFN__SAVED_NLL_SUM,
    TFN__SAVED_COUNT
};

/* A profile, which norms and initializations that look at data make at the first update, changes
 * parameters. As long as that update is under way, those of before are kept. */
static bool tfn__keeps_params(const tfn_model *m)
{
    return m->micro > 0 && m->profile_open && tfn__wants_profile(m);
}

/* Where the values of a weight or statistic stood before the update under way; NULL: as now. */
static float *tfn__before_data(const tfn_model *m, const tfn__weight *w)
{
    if (w->kind >= TFN__STATE) {
        if (!m->micro) return NULL;
        return m->before + w->at;
    }
    if (!tfn__keeps_params(m)) return NULL;
    return tfn__params_before(m) + w->at;
}

/* Tensor i of all groups; NULL: the model has none. Statistics are not trained. */
static float *tfn__group_data(const tfn_model *m, int32_t i)
{
    const int32_t group = i / m->weight_count;
    const tfn__weight *w = m->weights + i % m->weight_count;
    if (group == TFN__WEIGHTS) return tfn__weight_data(m, w);
    if (group == TFN__BEFORE) return tfn__before_data(m, w);
    if (w->kind >= TFN__STATE) return NULL;
    if (group == TFN__GRADIENTS) {
        if (!m->micro) return NULL;
        return m->run.grads + w->at;
    }
    if (tfn__keeps_params(m)) return NULL;              /* the moments are 0 */
    if (group > tfn__moment_count(&m->desc)) return NULL;
    if (group == TFN__FIRST) return m->moments + w->at;
    return m->moments + m->param_floats + w->at;
}

/* Tensor i of all groups with its name, shape and data. What has one row is a vector, but for
 * matrices, which stay so. */
static void tfn__group_tensor(const tfn_model *m, int32_t i, tfn_tensor *t)
{
    const tfn__weight *w = m->weights + i % m->weight_count;
    tfn__text text = tfn__text_in(t->name, sizeof t->name);
    tfn__put(&text, tfn__groups[i / m->weight_count]);
    tfn__weight_name(w, &text);
    tfn__end(&text);
    t->dtype = (tfn_dtype)TFN__FLOAT;
    if (w->rows > 1 || w->kind == TFN__MATRIX) {
        t->rank = 2;
        t->shape[0] = w->rows;
        t->shape[1] = w->cols;
    } else {
        t->rank = 1;
        t->shape[0] = w->cols;
        t->shape[1] = 0;
    }
    t->data = tfn__group_data(m, i);
}

typedef struct tfn__saving {
    const tfn_model *m;
    const tfn_checkpoint *with;
    double   state[TFN__SAVED_COUNT];
    uint8_t *blob;                      /* the tokenizer */
    size_t   blob_size;
} tfn__saving;

/* For tfn__source: all groups, then the state and the tokenizer. What is left out has no name:
 * what a model for inference, or weights_only, does not save, and groups that the model does not
 * have. */
static void tfn__saved_tensor(const tfn__source *s, int32_t i, tfn_tensor *t)
{
    const tfn__saving *x = (const tfn__saving *)s->user;
    const int32_t weights = x->m->weight_count;
    const bool trains = !x->with->weights_only && !x->m->desc.inference;
    tfn__text name = tfn__text_in(t->name, sizeof t->name);
    if (i < TFN__GROUPS * weights) {
        tfn__group_tensor(x->m, i, t);
        if (!t->data || (i >= weights && !trains)) t->name[0] = 0;
        return;
    }
    t->rank = 1;
    if (i == TFN__GROUPS * weights) {
        if (trains) tfn__put(&name, "training.state");
        t->dtype = TFN_DTYPE_F64;
        t->shape[0] = TFN__SAVED_COUNT;
        t->data = x->state;
    } else {
        if (x->blob_size) tfn__put(&name, "tokenizer");
        t->dtype = TFN_DTYPE_U8;
        t->shape[0] = (int64_t)x->blob_size;
        t->data = x->blob;
    }
    tfn__end(&name);
}

/* {"extra":"...","format":"pt","tfn.activation":"gelu-tanh", ... ,"tfn_format":"2"}: "pt" is what
 * programs in Python look for. */
static void tfn__saved_texts(const tfn__source *s, tfn_file *f)
{
    const tfn__saving *x = (const tfn__saving *)s->user;
    char buf[256];
    char value[TFN__FIELD_ROOM];
    tfn__text t = tfn__text_in(buf, sizeof buf);
    tfn__put(&t, "{\"");
    if (x->with->extra) {
        tfn__put(&t, "extra\":\"");
        tfn__put_name(&t, x->with->extra, f);
        tfn__put(&t, "\",\"");
    }
    tfn__put(&t, "format\":\"pt");
    for (int i = 0; i < TFN__FIELDS; i++) {
        const char *text = tfn__field_text(tfn__fields + i, &x->m->desc, value);
        if (tfn__field_unset(tfn__fields + i, text)) continue;
        tfn__put_texts(&t, "\",\"", tfn__fields[i].name, "\":\"");
        tfn__put_name(&t, text, f);
        tfn__flush_text(f, &t);
    }
    tfn__put_int(&t, "\",\"tfn_format\":\"", TFN_FORMAT, "\"}");
    tfn__flush_text(f, &t);
}

/* Bytes of the tokenizer that goes along, written where there is room; 0: there is none. */
static size_t tfn__blob_size(const tfn_checkpoint *with, void *blob, size_t size)
{
#ifndef TFNORM_NO_TOKENIZERS
    if (with && with->tokenizer) return tfn_tokenizer_write(with->tokenizer, blob, size);
#endif
    (void)with;
    (void)blob;
    (void)size;
    return 0;
}

/* The order of the tensors, 4 bytes for each, and the tokenizer. */
TFNORM_API size_t tfn_model_save_work(const tfn_model *m, const tfn_checkpoint *with)
{
    size_t order;
    if (!m || !m->weights) return 0;
    order = 4 * ((size_t)TFN__GROUPS * (size_t)m->weight_count + 2) + 2 * TFN__ALIGN;
    return tfn__sum(order, tfn__blob_size(with, NULL, 0));
}

/* What a model knows besides its tensors. Sums of the loss are of the micro-batches so far. */
static void tfn__saved_state(double *state, const tfn_model *m)
{
    state[TFN__SAVED_STEP] = (double)m->step;
    state[TFN__SAVED_MICRO] = (double)m->micro;
    state[TFN__SAVED_TOKENS] = (double)m->tokens;
    state[TFN__SAVED_FINITE_STEPS] = (double)m->finite_steps;
    state[TFN__SAVED_PROFILED] = (double)m->profiled;
    if (m->profiled && m->profile_open) state[TFN__SAVED_PROFILED] = 2;
    state[TFN__SAVED_LOSS_SCALE] = (double)m->loss_scale;
    state[TFN__SAVED_LOSS_SUM] = m->loss_sum;
    state[TFN__SAVED_NLL_SUM] = m->nll_sum;
}

/* A model with the error of a batch is as good as before. */
static void tfn__check_saved(tfn_file *f, const tfn_model *m)
{
    if (!m->weights) tfn__file_fail(f, TFN_NOT_READY, "the model was not initialized", NULL, 0, 0);
    if (m->error.status != TFN_OK && m->error.status != TFN_BAD_BATCH)
        tfn__file_fail(f, TFN_NOT_READY, "the model has an error", NULL, 0, 0);
}

/* Nothing is copied: the values go from the model to the file. */
TFNORM_API tfn_status tfn_model_save(tfn_file *f, const tfn_model *m, const tfn_checkpoint *with)
{
    static const tfn_checkpoint none = { NULL, NULL, false };
    tfn__saving x;
    tfn__source s = { &x, 0, tfn__saved_tensor, tfn__saved_texts };
    tfn__arena a;
    if (!f) return TFN_NULL;
    if (!tfn__file_given(f, "model", m)) return f->error.status;
    tfn__check_saved(f, m);
    if (!tfn__begin(f, true)) return f->error.status;
    TFNORM_MEMSET(&x, 0, sizeof x);
    x.m = m;
    x.with = &none;
    if (with) x.with = with;
    tfn__saved_state(x.state, m);
    s.count = TFN__GROUPS * m->weight_count + 2;
    a = tfn__work_of(f, tfn_model_save_work(m, with));
    x.blob_size = tfn__blob_size(with, NULL, 0);
    if (x.with->tokenizer && !x.blob_size)
        tfn__file_fail(f, TFN_NOT_READY, "the tokenizer was not initialized", NULL, 0, 0);
    if (tfn__fine(f)) x.blob = tfn__take(&a, x.blob_size, 1, &f->error);
    if (tfn__fine(f)) tfn__blob_size(with, x.blob, x.blob_size);
    return tfn__write_source(f, &s, a);
}

/* -- checkpoints: loading -------------------------------------------------------------------- */

/* The first option in which file and model differ: "layers is 1, the model has 2". */
static void tfn__differs(tfn_file *f, const tfn__field *x, const char *value, const char *wanted)
{
    char buf[TFN__NAME_ROOM];
    tfn__text t = tfn__text_in(buf, sizeof buf);
    tfn__put_texts(&t, tfn__field_name(x), " is ", value);
    tfn__put_texts(&t, ", the model has ", wanted, NULL);
    tfn__end(&t);
    tfn__file_fail(f, TFN_BAD_SHAPE, "%s", buf, 0, 0);
}

/* "position is rotery, which is not known here; did you mean rotary?" */
static void tfn__unknown(tfn_file *f, const tfn__field *x, const char *value)
{
    char buf[TFN__NAME_ROOM];
    tfn__text t = tfn__text_in(buf, sizeof buf);
    tfn__put_texts(&t, tfn__field_name(x), " is ", value);
    tfn__put(&t, ", which is not known here");
    tfn__put_nearest(&t, tfn__field_name(x), value);
    tfn__end(&t);
    tfn__file_fail(f, TFN_BAD_SHAPE, "%s", buf, 0, 0);
}

/* Files of format 1 have the number of an enumerator: put its name in the place. */
static void tfn__name_number(const tfn__field *x, char *value)
{
    tfn__reader r = tfn__read_from(value, tfn__length(value));
    tfn__text t = tfn__text_in(value, TFN__FIELD_ROOM);
    const char *name;
    if (x->type != TFN__FIELD_CHOICE) return;
    name = tfn__choice_text(x, tfn__json_count(&r, INT32_MAX));
    if (r.at < r.size || !name) return;
    tfn__put(&t, name);
    tfn__end(&t);
}

/* The format, which TFN_FORMAT counts; 0: an error. */
static int tfn__read_format(tfn_file *f)
{
    char format[8];
    if (!tfn_file_text(f, "tfn_format", format, sizeof format))
        tfn__bad(f, "it is no checkpoint of this library", NULL, 0, 0);
    if (!tfn__fine(f)) return 0;
    if (format[0] >= '1' && format[0] <= '0' + TFN_FORMAT && !format[1]) return format[0] - '0';
    tfn__file_fail(f, TFN_UNSUPPORTED, "its format is %s, the latest known here is %d", format,
                   TFN_FORMAT, 0);
    return 0;
}

/* What a file is read for: to compare its options with a model's, or to store them. */
typedef struct tfn__reading {
    const tfn_model *m;
    bool trains;                        /* more options must be the same */
    tfn_model_desc *out;                /* NULL: compare */
} tfn__reading;

/* Store an option, or compare it. An empty value: the file has none. */
static void tfn__read_field(tfn_file *f, const tfn__reading *x, const tfn__field *field,
                            const char *value)
{
    char buf[TFN__FIELD_ROOM];
    const char *own;
    if (x->out) {
        if (!tfn__field_set(field, x->out, value)) tfn__unknown(f, field, value);
        return;
    }
    if (field->same == TFN__MAY_DIFFER) return;
    if (field->same == TFN__SAME_TO_TRAIN && !x->trains) return;
    own = tfn__field_text(field, &x->m->desc, buf);
    if (tfn__equal(value, own)) return;
    if (value[0] == 0 && tfn__field_unset(field, own)) return;
    if (value[0] == 0) value = "not given";
    tfn__differs(f, field, value, own);
}

/* All options of an open file. One that is missing is an error, unless it is a later one. */
static void tfn__read_desc(tfn_file *f, const tfn__reading *x)
{
    char name[TFN__NAME_ROOM];
    char value[TFN__FIELD_ROOM];
    bool seen[TFN__FIELDS] = { false };
    tfn__reader r;
    const int format = tfn__read_format(f);
    for (bool more = tfn__texts_open(f, &r); more; more = tfn__json_more(&r, '}')) {
        tfn__reader text = tfn__next_text(&r, name);
        for (int i = 0; i < TFN__FIELDS; i++) {
            if (!tfn__equal(name, tfn__fields[i].name)) continue;
            seen[i] = true;
            tfn__json_string(&text, value, sizeof value);
            if (format == 1) tfn__name_number(tfn__fields + i, value);
            tfn__read_field(f, x, tfn__fields + i, value);
        }
    }
    for (int i = 0; i < TFN__FIELDS; i++) {
        if (seen[i]) continue;
        if (!tfn__fields[i].later)
            tfn__bad(f, "it lacks the option %s", tfn__field_name(tfn__fields + i), 0, 0);
        else if (!x->out) tfn__read_field(f, x, tfn__fields + i, "");
    }
}

/* One of the counts in the state: below a limit to which an int64_t or int32_t holds it, since a
 * conversion beyond it is undefined in C. The step is less than 2^53, so that a double is exact. */
static bool tfn__legal_count(double v, double limit)
{
    return v >= 0 && v < limit && (double)(int64_t)v == v;
}
/* All that is converted to an integer, and the scale, by which gradients are divided. */
static bool tfn__legal_state(const double *s)
{
    const double most = 9e15;
    const double most32 = 2e9;
    return tfn__legal_count(s[TFN__SAVED_STEP], most)
        && tfn__legal_count(s[TFN__SAVED_MICRO], most32)
        && tfn__legal_count(s[TFN__SAVED_TOKENS], most)
        && tfn__legal_count(s[TFN__SAVED_FINITE_STEPS], most32)
        && tfn__legal_count(s[TFN__SAVED_PROFILED], most32)
        && s[TFN__SAVED_LOSS_SCALE] > 0 && s[TFN__SAVED_LOSS_SCALE] < 1e30;
}

/* What stands in "training.state"; false: there is none, or an error, and `state` stays. */
static bool tfn__read_state(tfn_file *f, double *state)
{
    double found[TFN__SAVED_COUNT] = { 0 };
    tfn_tensor t;
    bool legal;
    if (!tfn_file_find(f, "training.state", &t)) return false;
    legal = t.dtype == TFN_DTYPE_F64 && t.rank == 1 && t.count == TFN__SAVED_COUNT;
    if (legal) tfn__read_as(f, &t, found, TFN_DTYPE_F64, 0, t.count);
    if (!tfn__fine(f)) return false;
    if (!legal || !tfn__legal_state(found)) {
        tfn__bad(f, "training.state has no legal values", NULL, 0, 0);
        return false;
    }
    TFNORM_MEMCPY(state, found, sizeof found);
    return true;
}

/* The file's tensor has the shape of the model's; its dtype may be another one. */
static void tfn__check_shape(tfn_file *f, const tfn_tensor *own, const tfn_tensor *t)
{
    static const char *const texts[] = { "%s has %d rows, %d are wanted",
                                         "%s has %d columns, %d are wanted" };
    if (t->rank != own->rank)
        tfn__file_fail(f, TFN_BAD_SHAPE, "%s has rank %d, not %d", own->name, t->rank, own->rank);
    else if (!tfn__has_values(t->dtype))
        tfn__file_fail(f, TFN_UNSUPPORTED, "%s has a dtype that is not read", own->name, 0, 0);
    for (int32_t k = 0; k < own->rank; k++) {
        if (!tfn__fine(f)) return;
        if (t->shape[k] == own->shape[k]) continue;
        tfn__file_fail(f, TFN_BAD_SHAPE, texts[k], own->name, t->shape[k], own->shape[k]);
    }
}

/* Find tensor i of the model's groups, and compare its shape. */
static bool tfn__find_tensor(tfn_file *f, const tfn_model *m, int32_t i, tfn_tensor *t)
{
    tfn_tensor own;
    tfn__group_tensor(m, i, &own);
    if (tfn_file_find(f, own.name, t)) tfn__check_shape(f, &own, t);
    else tfn__file_fail(f, TFN_NOT_FOUND, "%s is missing", own.name, 0, 0);
    return tfn__fine(f);
}

/* No tensor of this name, in a file without an error. */
static bool tfn__lacks_tensor(tfn_file *f, const tfn_model *m, int32_t i)
{
    tfn_tensor own, t;
    tfn__group_tensor(m, i, &own);
    return !tfn_file_find(f, own.name, &t) && tfn__fine(f);
}

/* Files of version 0.1 have the number of updates in "training.state" only, and where they hold the
 * weights alone not at all: then all that is scheduled counts as over. */
static bool tfn__lacks_updates(tfn_file *f, const tfn_model *m, int32_t i)
{
    if (m->weights[i % m->weight_count].kind != TFN__UPDATES) return false;
    return tfn__lacks_tensor(f, m, i);
}
static float tfn__old_updates(tfn_file *f)
{
    const float over = 16777216;        /* 2^24: no longer warm-up */
    double state[TFN__SAVED_COUNT];
    if (tfn__read_state(f, state)) return (float)state[TFN__SAVED_STEP];
    return over;
}

/* A copy of the statistics before the update under way, which files of version 0.1 do not have:
 * then those of now are the best there are. */
static bool tfn__lacks_copy(tfn_file *f, const tfn_model *m, int32_t i)
{
    if (i / m->weight_count != TFN__BEFORE) return false;
    if (m->weights[i % m->weight_count].kind < TFN__STATE) return false;
    return tfn__lacks_tensor(f, m, i);
}

/* to[0..n) = mean over the files of values at, at + 1 ... of tensor i: sums in double, in the order
 * of the files. */
static bool tfn__read_chunk(float *to, tfn_file *f, int32_t count, const tfn_model *m, int32_t i,
                            int64_t at, int64_t n)
{
    double sum[TFN__CHUNK] = { 0 };
    float part[TFN__CHUNK];
    tfn_tensor t;
    for (int32_t k = 0; k < count; k++) {
        if (!tfn__find_tensor(f + k, m, i, &t)) return false;
        if (tfn_file_read(f + k, &t, part, at, n) != TFN_OK) return false;
        for (int64_t j = 0; j < n; j++) sum[j] += (double)part[j];
    }
    for (int64_t j = 0; j < n; j++) to[j] = (float)(sum[j] / count);
    return true;
}

/* Tensor i of the model's groups; of several files their mean. */
static void tfn__read_tensor(float *to, tfn_file *f, int32_t count, const tfn_model *m, int32_t i)
{
    tfn_tensor t;
    if (!to || tfn__lacks_copy(f, m, i)) return;
    if (tfn__lacks_updates(f, m, i)) {
        *to = tfn__old_updates(f);
        return;
    }
    if (!tfn__find_tensor(f, m, i, &t)) return;
    if (count == 1) {
        tfn_file_read(f, &t, to, 0, t.count);
        return;
    }
    for (int64_t at = 0; at < t.count; at += TFN__CHUNK) {
        int64_t n = t.count - at;
        if (n > TFN__CHUNK) n = TFN__CHUNK;
        if (!tfn__read_chunk(to + at, f, count, m, i, at, n)) return;
    }
}

/* The first error of the files. */
static tfn_status tfn__files_status(const tfn_file *f, int32_t count)
{
    for (int32_t k = 0; k < count; k++)
        if (!tfn__fine(f + k)) return f[k].error.status;
    return TFN_OK;
}

/* The model as it will be when all is loaded: its tensors are in the same places. */
static tfn_model tfn__model_after(const tfn_model *m, const double *state)
{
    tfn_model next = *m;
    TFNORM_MEMSET(&next.error, 0, sizeof next.error);
    next.step = (int64_t)state[TFN__SAVED_STEP];
    next.micro = (int32_t)state[TFN__SAVED_MICRO];
    next.tokens = (int64_t)state[TFN__SAVED_TOKENS];
    next.finite_steps = (int32_t)state[TFN__SAVED_FINITE_STEPS];
    next.profiled = state[TFN__SAVED_PROFILED] > 0;
    next.profile_open = state[TFN__SAVED_PROFILED] > 1 && next.micro > 0;
    next.loss_scale = (float)state[TFN__SAVED_LOSS_SCALE];
    next.loss_sum = state[TFN__SAVED_LOSS_SUM];
    next.nll_sum = state[TFN__SAVED_NLL_SUM];
    return next;
}

/* How many tensors are looked for: the weights, or all groups. */
static int32_t tfn__tensors_of(const tfn_model *m, bool trains)
{
    if (trains) return TFN__GROUPS * m->weight_count;
    return m->weight_count;
}

/* Options of one file, and the shapes of the tensors that the model takes from it. */
static void tfn__check_file(tfn_file *f, const tfn_model *next, const tfn_model *m, bool trains)
{
    const tfn__reading reading = { m, trains, NULL };
    const int32_t count = tfn__tensors_of(m, trains);
    tfn_tensor t;
    if (tfn__fine(f)) tfn__read_desc(f, &reading);
    for (int32_t i = 0; i < count; i++) {
        if (!tfn__fine(f)) return;
        if (!tfn__group_data(next, i)) continue;
        if (tfn__lacks_updates(f, m, i) || tfn__lacks_copy(f, m, i)) continue;
        tfn__find_tensor(f, m, i, &t);
    }
}

/* From files that were checked: only the disk can still fail, and then the model is half loaded and
 * says so. Without a state the moments are 0, and with a profile under way, too. The group BEFORE
 * comes last: begin_update makes the copy of now, which an older file does not replace. */
static void tfn__read_model(tfn_model *next, tfn_file *f, int32_t count, const tfn_model *m,
                            bool trains)
{
    const int32_t all = tfn__tensors_of(m, trains);
    if (!trains || tfn__keeps_params(next))
        tfn__clear(m->moments, tfn__moment_count(&m->desc) * m->param_floats);
    for (int32_t i = 0; i < all; i++) {
        if (!tfn__fine(f)) break;
        if (i == TFN__BEFORE * m->weight_count) tfn__begin_update(next);
        tfn__read_tensor(tfn__group_data(next, i), f, count, m, i);
    }
    if (tfn__files_status(f, count) != TFN_OK)
        tfn__fail(&next->error, TFN_NOT_READY, "model", "it was half loaded from a file", 0, 0);
}

/* All is compared before anything is written. Without a state in the file, or of several files,
 * training begins anew. */
static tfn_status tfn__load(tfn_model *m, tfn_file *f, int32_t count, bool weights)
{
    double state[TFN__SAVED_COUNT] = { 0 };
    tfn_model next;
    bool trains;
    tfn__made(&m->error, "model", m->weights);
    if (m->error.status != TFN_OK && m->error.status != TFN_BAD_BATCH) return m->error.status;
    for (int32_t k = 0; k < count; k++) tfn_file_open(f + k);
    state[TFN__SAVED_PROFILED] = 1;
    state[TFN__SAVED_LOSS_SCALE] = (double)m->desc.loss_scale;
    trains = !weights && !m->desc.inference && tfn__fine(f) && tfn__read_state(f, state);
    if (state[TFN__SAVED_MICRO] >= (double)m->desc.micro_batches)
        tfn__bad(f, "%d micro-batches, %d make a step", NULL, (int64_t)state[TFN__SAVED_MICRO],
                 m->desc.micro_batches);
    next = tfn__model_after(m, state);
    for (int32_t k = 0; k < count; k++) tfn__check_file(f + k, &next, m, trains);
    if (tfn__files_status(f, count) == TFN_OK) {
        tfn__read_model(&next, f, count, m, trains);
        *m = next;
    }
    for (int32_t k = 0; k < count; k++) tfn_file_close(f + k);
    return tfn__files_status(f, count);
}

TFNORM_API tfn_status tfn_model_load(tfn_model *m, tfn_file *f)
{
    if (!m || !f) return TFN_NULL;
    return tfn__load(m, f, 1, false);
}
TFNORM_API tfn_status tfn_model_load_weights(tfn_model *m, tfn_file *files, int32_t count)
{
    if (!m || !files) return TFN_NULL;
    if (count <= 0) return TFN_BAD_OPTION;
    return tfn__load(m, files, count, true);
}

/* A model can be made of the options, for inference at least: a schedule's end, which training
 * wants, may be missing. */
static void tfn__check_options(tfn_file *f, tfn_model_desc *d)
{
    char text[TFN__NAME_ROOM];
    tfn_error e;
    if (!tfn__fine(f)) return;
    d->inference = true;
    if (!tfn_model_resolve(d, d, &e))
        tfn__file_fail(f, TFN_BAD_OPTION, "%s", tfn_error_text(&e, text, sizeof text), 0, 0);
    d->inference = d->folded;
}

TFNORM_API tfn_status tfn_model_peek(tfn_file *f, tfn_model_desc *desc, int64_t *step)
{
    double state[TFN__SAVED_COUNT] = { -1 };
    tfn_model_desc found;
    tfn__reading reading = { NULL, false, NULL };
    reading.out = &found;
    TFNORM_MEMSET(&found, 0, sizeof found);
    if (!f) return TFN_NULL;
    if (!tfn__file_given(f, "desc", desc)) return f->error.status;
    if (tfn_file_open(f) == TFN_OK) tfn__read_desc(f, &reading);
    if (tfn__fine(f)) tfn__read_state(f, state);
    tfn__check_options(f, &found);
    tfn_file_close(f);
    if (!tfn__fine(f)) return f->error.status;
    *desc = found;
    if (step) *step = (int64_t)state[TFN__SAVED_STEP];
    return TFN_OK;
}

/* The tensor "tokenizer"; version 0.1 called it "tokeniser". */
TFNORM_API size_t tfn_checkpoint_tokenizer(tfn_file *f, void *blob, size_t size)
{
    tfn_tensor t;
    bool found = false;
    size_t bytes;
    if (!f) return 0;
    if (!blob) size = 0;
    if (tfn_file_open(f) == TFN_OK)
        found = tfn_file_find(f, "tokenizer", &t) || tfn_file_find(f, "tokeniser", &t);
    if (!found) t.bytes = 0;
    bytes = (size_t)t.bytes;
    if (bytes < size) size = bytes;
    if (found) tfn__file_get(f, t.at, blob, size);
    tfn_file_close(f);
    if (!tfn__fine(f)) return 0;
    return bytes;
}
TFN__SMALL_END
#endif /* TFN__IMPLEMENTING */
/* >> diagnostics */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY && !defined TFNORM_ONLY_KERNELS
TFN__SMALL_END
#if defined __GNUC__ && !defined __clang__ && defined __OPTIMIZE__ && !defined __OPTIMIZE_SIZE__
#pragma GCC pop_options
#endif

/* -- the self-check: generated data, dropout on, every kind of kernel ------------------------ */

/* A machine has the promised bits if a small model, trained for some steps, has the hash that
 * TFN_BITS_HASH says. The sizes are odd on purpose: no row, width or head fills whole vectors or
 * blocks, so that the ends of all loops run, too. What is generated here is part of the hash: a
 * change of any number below changes it. */
enum { TFN__CHECK_BATCH = 3, TFN__CHECK_TIME = 19, TFN__CHECK_VOCAB = 37, TFN__CHECK_STEPS = 20 };

/* 6 MiB, of which every build needs less: the caller may have it as a static array. */
TFNORM_API size_t tfn_selfcheck_size(void) { return (size_t)6 << 20; }

/* One sentence of n tokens and its padding. The task is to write n random symbols backwards: token
 * t is what should have been written before, 0 at the beginning. */
static void tfn__check_sentence(tfn_key key, int32_t at, int32_t n, int32_t *source,
                                int32_t *tokens, int32_t *targets)
{
    for (int32_t i = 0; i < n; i++) {       /* with a choice inside clang 14 -msimd128 never ends */
        const uint64_t r = tfn_random_bits(key, (uint64_t)(at + i));
        source[at + i] = 1 + (int32_t)(r % (TFN__CHECK_VOCAB - 1));
    }
    for (int32_t i = 0; i < n; i++) targets[at + i] = source[at + n - 1 - i];
    tokens[at] = 0;
    for (int32_t i = 1; i < n; i++) tokens[at + i] = targets[at + i - 1];
    for (int32_t i = n; i < TFN__CHECK_TIME; i++) {
        source[at + i] = 0;
        tokens[at + i] = 0;
        targets[at + i] = -1;               /* ignored */
    }
}

/* Sentences of different length, padded on the right; other ones in each step. */
static void tfn__check_data(int64_t step, int32_t *source, int32_t *tokens, int32_t *targets,
                            int32_t *lengths)
{
    const tfn_key key = tfn_key_fold(tfn_key_make(20), (uint64_t)step);
    for (int32_t b = 0; b < TFN__CHECK_BATCH; b++) {
        lengths[b] = TFN__CHECK_TIME - 5*b;
        tfn__check_sentence(key, b * TFN__CHECK_TIME, lengths[b], source, tokens, targets);
    }
}

/* Settings in which no rule of the arithmetic is idle: a learned scalar in each join, whose
 * gradient is a sum over the rows that count; a rate that drives softmax and GELU into their tails;
 * gradients clipped so far that moments fall below the least that counts. */
static tfn_model_desc tfn__check_desc(tfn_isa isa, int32_t threads)
{
    tfn_model_desc d;
    TFNORM_MEMSET(&d, 0, sizeof d);
    d.arch = TFN_ARCH_ENCODER_DECODER;
    d.vocab = TFN__CHECK_VOCAB;
    d.context = TFN__CHECK_TIME;
    d.batch = TFN__CHECK_BATCH;
    d.width = 36;
    d.heads = 6;
    d.kv_heads = 2;
    d.ffn = 70;
    d.position = TFN_POSITION_ROTARY;
    d.recipe = "rezero-post";
    d.dropout = (float)0.1;
    d.attention_dropout = (float)0.1;
    d.activation_dropout = (float)0.1;
    d.smoothing = (float)0.1;
    d.scale_embedding = true;
    d.schedule.kind = TFN_SCHEDULE_INVERSE_SQRT;
    d.schedule.lr = 3;
    d.schedule.warmup = 8;
    d.decay = (float)0.01;
    d.clip = (float)1e-4;
    d.seed = 1;
    d.isa = isa;
#ifdef TFN__THREADS
    d.threads = threads;
#else
    (void)threads;                          /* there are none: as with one */
#endif
    return d;
}

/* The hash after so many steps; 0: it could not be trained, as in builds without training. */
TFNORM_API uint64_t tfn_selfcheck(void *mem, size_t size, tfn_isa isa, int32_t threads)
{
#ifdef TFNORM_NO_TRAINING
    (void)mem;
    (void)size;
    (void)isa;
    (void)threads;
    return 0;
#else
    int32_t source[TFN__CHECK_BATCH * TFN__CHECK_TIME];
    int32_t tokens[TFN__CHECK_BATCH * TFN__CHECK_TIME];
    int32_t targets[TFN__CHECK_BATCH * TFN__CHECK_TIME];
    int32_t lengths[TFN__CHECK_BATCH];
    const tfn_model_desc desc = tfn__check_desc(isa, threads);
    tfn_model m;
    tfn_batch batch;
    tfn_report report;
    TFNORM_MEMSET(&batch, 0, sizeof batch);
    batch.tokens = tokens;
    batch.targets = targets;
    batch.lengths = lengths;
    batch.source = source;
    batch.source_lengths = lengths;
    batch.batch = TFN__CHECK_BATCH;
    batch.time = TFN__CHECK_TIME;
    batch.source_time = TFN__CHECK_TIME;
    if (tfn_model_init(&m, &desc, mem, size) != TFN_OK) return 0;
    for (int64_t step = 0; step < TFN__CHECK_STEPS; step++) {
        tfn__check_data(step, source, tokens, targets, lengths);
        if (tfn_model_step(&m, &batch, &report) != TFN_OK || report.skipped) return 0;
    }
    return tfn_model_hash(&m);
#endif
}
#endif /* TFN__IMPLEMENTING */
/* >> end */
/* No private macro is left for the program that includes this file, but for the lists and the
 * enumerators' helpers of the api: they are needed again where the header comes first and the
 * implementation later. Each stands under the section that defines it. */
#if defined TFN__IMPLEMENTING && !defined TFN__BODY
/* ground: what the compiler and the machine can do */
#undef TFN__ALIGN
#undef TFN__ALL
#undef TFN__EXTRA_NORMS
#undef TFN__GOLDEN
#undef TFN__IMPLEMENTING
#undef TFN__INLINE
#undef TFN__NEON
#undef TFN__NOINLINE
#undef TFN__POSIX
#undef TFN__RESTRICT
#undef TFN__SMALL
#undef TFN__SMALL_END
#undef TFN__SQRT
#undef TFN__STATUS_TEXT
#undef TFN__STDIO
#undef TFN__THREADS
#undef TFN__TRAINS
#undef TFN__WASM
#undef TFN__X86
#undef TFN__X86_WIDE
#undef TFN__YIELD
/* math: constants of the functions */
#undef TFN__GCC_FMA
#undef TFN__LEAST
#undef TFN__LEAST_ROOT
#undef TFN__LLVM_FMA
#undef TFN__LN2_HIGH
#undef TFN__LN2_LOW
#undef TFN__PLAIN_FMA
#undef TFN__TAIL
#undef TFN__TAIL_LOG
/* vmath: loops over lanes */
#undef TFN__EACH16
/* dense: products */
#undef TFN__SPAN
/* norms: rows in blocks */
#undef TFN__BLOCK
/* attention: strips of keys */
#undef TFN__STEP
#undef TFN__STRIP
/* ffn: kinds of activations */
#undef TFN__KINDS
/* tape: the table of operations */
#undef TFN__BACK
#undef TFN__ENTRY
#undef TFN__MORE_OPS
#undef TFN__NODE_BYTES
#undef TFN__NO_GRAD
#undef TFN__OPS
#undef TFN__OP_ENUM
#undef TFN__OP_ROW
#undef TFN__TAPE_SLACK
/* options: ranges */
#undef TFN__ANY
#undef TFN__COUNT
#undef TFN__HUGE
#undef TFN__RANGE
#undef TFN__RANGE_LIST
#undef TFN__RANGE_OF
#undef TFN__SIDE
#undef TFN__TINY
#undef TFN__TRAINING_RANGES
#undef TFN__VOCAB
/* builder: names of parameters */
#undef TFN__KIND_ENUM
#undef TFN__NAME
#undef TFN__PARTS
#undef TFN__PART_ENUM
/* fold: weights that fold */
#undef TFN__SAME
/* generate: options of generators */
#undef TFN__GENERATE
/* tokenize: options of tokenizers */
#undef TFN__TOKENIZER
/* files: calls of the system */
#undef TFN__DURABLE
#undef TFN__RENAME
#undef TFN__SEEK
#undef TFN__SYNC
#undef TFN__TELL
/* checkpoints: options as texts */
#undef TFN__FIELD
#undef TFN__FIELD_OF
#undef TFN__LATER
/* And the state of the compiler is what it was: see the ground section. */
#if (defined __GNUC__ || defined __clang__) \
    && (defined TFNORM_NO_TRAINING || defined TFNORM_ONLY_KERNELS \
        || defined TFNORM_NO_TOKENIZERS || defined TFNORM_NO_METRICS || defined TFNORM_NO_FILES)
#pragma GCC diagnostic pop
#endif
#if defined __clang__
#pragma STDC FP_CONTRACT DEFAULT
#elif defined __GNUC__
#pragma GCC pop_options
#endif
#endif
/* >> rules */
/* House rules.
 *
 * In order: a reader finds anything in ten seconds; a user cannot be crashed, only told; what is
 * promised is tested; fast where it matters (matrix products, attention, sums), simple elsewhere.
 *
 * - A section uses only sections above it. Kernels know plain pointers, the tape knows kernels, the
 *   model knows the tape.
 * - C99 that is also C++11: cast what an arena gives, no compound literals, no designated
 *   initializers. No warnings (the set is in tests/compile/warnings.sh).
 * - At most 100 columns; functions of about 10 lines, 60 at most. tools/layout.c counts, and a
 *   higher budget is a change of its number with a reason.
 * - Names: tfn_ and TFN_ public, TFNORM_ for the user's macros, tfn__ and TFN__ private. B, T, C,
 *   H, D, V, F, L as in the api section; dx is the gradient of x. One verb per idea: init, size,
 *   plan, forward, backward, step, text; of files open, read, write, close; of models save, load.
 * - Outputs first, then inputs, parameters, sizes. Products of sizes through tfn__mul, always.
 * - All-zero options are good defaults. Zero is said first in the comment.
 * - Nothing aborts, prints or keeps state. An error says what was found and what was wanted.
 * - A kernel cannot fail and holds no state. A forward comes with its backward, in one commit, with
 *   tests that die if a sign is flipped (tests/mutants.txt).
 * - The order of every sum is the definition of the result: see "The arithmetic".
 * - A comment says why; the formula and its paper stand once, above the forward.
 *
 *
 * The arithmetic
 *
 * 1. An element of a matrix product is one chain of fused multiply-adds over k in increasing order,
 *    from its start value (+0, a bias, or what is there). Blocks, tiles and threads never split it.
 * 2. A sum over features: 16 lanes by index mod 16, then the tree +8, +4, +2, +1 (tfn__tree), plain
 *    additions; missing lanes add +0. A flat sum: blocks of 4,096 by that rule, then the blocks'
 *    sums by that rule again.
 * 3. A sum over rows (bias and gain gradients): a chain over the rows, columns in the lanes.
 * 4. Masked keys are skipped by loop bounds, never multiplied by zero. No rescaled softmax.
 * 5. No libm in float code but sqrt, which IEEE 754 defines. Compilers may not contract.
 * 6. No partition by thread count. Random numbers are indexed by what they are for.
 * A change of any of these raises TFN_BITS_VERSION and TFN_BITS_HASH, on purpose.
 *
 *
 * Adding a method
 *
 * The code of these walk-throughs is what tests/walkthrough.sh puts into a copy of the header; it
 * trains them, and compares their gradients with differences.
 *
 * 1. A topology, a norm, an initialization, or several, and the recipe that names them, are one
 *    block in the topologies section. Say, KEEL (2026), with a toy norm:
 *        #ifdef TFN__RULES
 *        static void tfn__keel(const tfn_place *p, tfn_join *j)
 *        {
 *            j->skip = tfn__constant_of(tfn__sublayers(p));
 *            j->norm_sum = true;
 *        }
 *        #endif
 *        TFN__TOPOLOGY("keel", "x = N(n x + F(N(x))), n sub-layers", "KEEL", 2026,
 *                      PRE, 0, tfn__keel)
 *        TFN__NORM_OF("rmsnorm-half", "g x/sqrt(mean of the first half (x^2) + e)", "a toy", 2026,
 *                     RMS, TFN_FLAG_GAIN, 0, 0.5)
 *        TFN__RECIPE("keel", "keel", "rmsnorm-half", "xavier")
 *    Above it, a comment: what it claims, paper, equation; where paper and published code differ,
 *    the paper is the default. The row's host is the join that the rule changes at a place,
 *        p = out * N_branch(F(in * N_in(source)));  z = skip*x + p + extra*x_0;  x = N_sum(z)
 *    An initialization has a rule for its gains in the same way: see DeepNorm's block.
 * 2. Most norms are a kind of tfn_norm_args with another flag. One that is not is an operation, see
 *    below, and has its case in tfn__apply_norm_of (builder), which makes its parameters.
 * 3. Tests run every recipe by themselves: gradients, bits, memory, decoding, folding. Golden
 *    values come from tests/golden/make_variants.py, written from the paper.
 * Without touching this file: examples/04_own_topology.c.
 *
 *
 * Adding an operation
 *
 * Say, the squared ReLU (So et al. 2021), y = max(x, 0)^2, dx = 2 max(x, 0) dy.
 * 1. A kernel pair in its section (here ffn), inside #ifdef TFN__BODY; formula, paper, shapes, what
 *    is saved and why. Gradients take `add`: false stores, true adds.
 *        static void TFN__N(tfn__relu2_forward)(float *y, const float *x, ptrdiff_t n)
 *        {
 *            TFN__EACH(i, k, n) {
 *                const TFN__V r = TFN__MAX(TFN__SET(0), TFN__GET(x + i, k));
 *                TFN__PUT(y + i, TFN__MUL(r, r), k);
 *            }
 *        }
 *        #ifndef TFNORM_NO_TRAINING
 *        static void TFN__N(tfn__relu2_backward)(float *dx, const float *dy, const float *x,
 *                                                ptrdiff_t n, bool add)
 *        {
 *            TFN__EACH(i, k, n) {
 *                const TFN__V r = TFN__MAX(TFN__SET(0), TFN__GET(x + i, k));
 *                const TFN__V d = TFN__MUL(TFN__MUL(TFN__SET(2), r), TFN__GET(dy + i, k));
 *                TFN__N(tfn__store_or_add)(dx + i, d, k, add);
 *            }
 *        }
 *        #endif
 * 2. Its two members at the end of tfn_kernels (api), with the declaration of what records it,
 *        void (*relu2_forward)(float *y, const float *x, ptrdiff_t n);
 *        void (*relu2_backward)(float *dx, const float *dy, const float *x, ptrdiff_t n, bool add);
 *    and at the end of the table (section table), the backward through TFN__TRAIN:
 *        TFN__N(tfn__relu2_forward), TFN__TRAIN(tfn__relu2_backward)
 * 3. In the tape section: a forward and a backward that call the kernel on this chunk of values,
 *        static void tfn__relu2_op(const tfn__call *c)
 *        {
 *            const tfn__range s = tfn__my_values(c);
 *            c->k->relu2_forward(c->y + s.first, c->x[0] + s.first, s.count);
 *        }
 *        #ifndef TFNORM_NO_TRAINING
 *        static void tfn__relu2_back(const tfn__call *c)
 *        {
 *            const tfn__range s = tfn__my_values(c);
 *            c->k->relu2_backward(c->dx[0] + s.first, c->dy + s.first, c->x[0] + s.first, s.count,
 *                                 c->add[0]);
 *        }
 *        #endif
 *    a row of TFN__OPS: name, the two, how each is cut into chunks, and what the backward reads.
 *    The planner trusts that mask: what is not in it may be overwritten. Tests fill it with NaN.
 *        X(RELU2, "relu2", tfn__relu2_op, tfn__by_rows, TFN__BACK(tfn__relu2_back),
 *          tfn__by_rows, TFN__IN0)
 *    and a function that records it; tfn__map checks the shapes of what is done value by value.
 *        TFNORM_API tfn_var tfn_relu2(tfn_tape *t, tfn_var x)
 *        {
 *            if (!tfn__recording(t)) return tfn__none;
 *            return tfn__var_of(t, tfn__map(t, TFN__OP_RELU2, x, tfn__none, tfn__none));
 *        }
 * 4. Its test declaration: a reference in double, sizes 0, 1 and odd, equal bits on all instruction
 *    sets, the gradient by differences; a mutant per sign.
 * If anything else must change, the design is wrong: change that first.
 * Without touching this file: examples/05_own_op.c.
 *
 *
 * Adding an optimizer, a schedule, an activation
 *
 * 1. A row at the end of its list (api): tools and checkpoints take its name from there, options
 *    their range. An optimizer's says how many moments it keeps. Say, Lion (Chen et al. 2023):
 *        X(1, TFN_OPTIMIZER_LION, "lion",
 *          "p -= lr sign(b1 m + (1-b1) g); m = b2 m + (1-b2) g", "Chen et al. 2023")
 * 2. Of an optimizer, a step (loss) that gives what is taken from k weights, and its case in
 *    tfn__update. Constants of an update, such as corrections of bias, are made in tfn__update_at.
 *        static TFN__INLINE TFN__V TFN__N(tfn__lion_step)(float *m, TFN__V g, ptrdiff_t i,
 *                                                         ptrdiff_t k, const tfn_update_args *u)
 *        {
 *            const TFN__V mean = TFN__GET(m + i, k);
 *            const TFN__V b1 = TFN__SET(u->beta1);
 *            const TFN__V b2 = TFN__SET(u->beta2);
 *            const TFN__V one = TFN__SET(1);
 *            const TFN__V by = TFN__FMA(b1, mean, TFN__MUL(TFN__SUB(one, b1), g));
 *            const TFN__V next = TFN__FMA(b2, mean, TFN__MUL(TFN__SUB(one, b2), g));
 *            TFN__PUT(m + i, TFN__N(tfn__vcut)(next, TFN__LEAST), k);
 *            return TFN__LESS(TFN__SET(0), by, TFN__SET(u->lr), TFN__SET(-u->lr));
 *        }
 *    Of a schedule, a case in tfn__decayed (optim). Of an activation, cases in tfn__vactivation,
 *    tfn__vderivative and TFN__KINDS (ffn), and in tfn__act_ok (tape).
 * 3. Golden values: tests/golden/make_golden.py, make_schedules.py.
 *
 *
 * Adding an instruction set
 *
 * 1. In the simd section its vector macros: about twenty over TFN__V of TFN__W lanes (16, 8, 4).
 * 2. In the instances section its copy of the kernels, under the target attribute if one is needed.
 * 3. Its name in tfn_isa (append) and tfn_isa_find, and its line in tfn__kernels_of: is it here?
 * 4. A row in the table of README.md that says tested, compiled or expected, and nothing more. The
 *    tests find the new table by themselves and want the bits of all the others.
 */

/* >> history */
/* 0.2.0 (unreleased)  The field's words throughout, and every enumerator with its type. Old names
 *     on the left; -ise and -iser became -ize and -izer everywhere (tfn_tokeniser: tfn_tokenizer,
 *     TFNORM_NO_TOKENISERS: TFNORM_NO_TOKENIZERS, tfn --tokeniser: --tokenizer).
 *     calls of a tape             are nouns of the field, or verbs
 *       tfn_activate                tfn_activation         tfn_attend      tfn_attention
 *       tfn_conv                    tfn_convolution        tfn_embed       tfn_embedding
 *       tfn_first                   tfn_first_rows         tfn_gated       tfn_glu
 *       tfn_normalise               tfn_norm               tfn_squashed    tfn_squash
 *     arguments of kernels        end in _args
 *       tfn_attention               tfn_attention_args     tfn_columns     tfn_columns_args
 *       tfn_attention_cached        tfn_attention_cached_args
 *       tfn_matmul                  tfn_matmul_args        tfn_norm        tfn_norm_args
 *       tfn_point                   tfn_point_args         tfn_seed        tfn_seed_args
 *       tfn_update                  tfn_update_args
 *     types
 *       tfn_activation              tfn_activation_kind    tfn_squash      tfn_squash_kind
 *     enumerators
 *       TFN_RELU, TFN_GELU ...      TFN_ACTIVATION_RELU ...
 *       TFN_DECODER, TFN_ENCODER ...                       TFN_ARCH_DECODER ...
 *       TFN_XAVIER_NORMAL ...       TFN_DISTRIBUTION_XAVIER_NORMAL ...
 *       TFN_F32, TFN_U8 ...         TFN_DTYPE_F32 ...
 *       TFN_NORM_GAIN ... (flags)   TFN_FLAG_GAIN ...
 *       TFN_NO_HEAD_SCALE           TFN_HEAD_SCALE_NONE    TFN_HEAD_SCALE  TFN_HEAD_SCALE_BEFORE
 *       TFN_SGD, TFN_ADAM ...       TFN_OPTIMIZER_SGD ...
 *       TFN_LEARNED, TFN_ROTARY ... TFN_POSITION_LEARNED ...
 *       TFN_NO_POSITION             TFN_POSITION_NONE
 *       TFN_QK_HEAD ...             TFN_QK_NORM_HEAD ...
 *       TFN_QKV_HEAD                TFN_QK_NORM_QKV_HEAD
 *       TFN_CONSTANT, TFN_LINEAR ...                       TFN_SCHEDULE_CONSTANT ...
 *       TFN_FROM_STREAM ...         TFN_SOURCE_STREAM ...
 *       TFN_PAD, TFN_BOS ...        TFN_SPECIAL_PAD ...
 *       TFN_SELF_ATTENTION ...      TFN_SUBLAYER_SELF_ATTENTION ...
 *       TFN_BPE, TFN_BYTES ...      TFN_TOKENIZER_BPE ...
 *       TFN_FINAL_NORM, TFN_MACARON ... (flags)            TFN_TOPOLOGY_FINAL_NORM ...
 *     A status (TFN_OK, TFN_BAD_SHAPE ...) keeps its name: it is what every call returns.
 *     Every defect that an audit of 0.1 found. TFN_BITS_VERSION 2 with the hash
 *     890a8ae3717f254d (0.1: 790f3b045bf7bd7e), because
 *     - what decays to 0 is exactly 0 below 2^-60, an optimiser's moments below 2^-100: denormals
 *       made training up to 3 times slower on some processors;
 *     - scalar gradients, the reported loss, profiles and PowerNorm's nu leave out padding;
 *     - schedules count updates from 1: the warm-up ends at lr, and the last update moves;
 *     - nGPT takes the absolute value of its rates, and some initialisations follow their papers;
 *     - the self-check itself has a learned scalar, a rate and a clipping that reach all of this.
 *     TFN_BITS_HASH_NO_FMA is new: processors without a fused multiply-add agree, too. Checkpoints
 *     of 0.1 load. Its runs go on with the new rules, so with other bits. New ones have format 2:
 *     options that are enumerations stand in them by name, not by number.
 * 0.1.0 (2026-11-21)  The foundation: kernels, tape, model; Pre-LN, Post-LN and one's own row.
 */

/* >> licence */
/* Choose whichever of the two you like better.
 *
 * A. MIT licence. Copyright (c) 2026 tfnorm.h contributors
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy of this software
 * and associated documentation files (the "Software"), to deal in the Software without
 * restriction, including without limitation the rights to use, copy, modify, merge, publish,
 * distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the
 * Software is furnished to do so, subject to the following conditions:
 *
 * The above copyright notice and this permission notice shall be included in all copies or
 * substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING
 * BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
 * NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
 * DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
 * OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
 *
 * B. Public domain (www.unlicense.org)
 *
 * This is free and unencumbered software released into the public domain.
 *
 * Anyone is free to copy, modify, publish, use, compile, sell, or distribute this software, either
 * in source code form or as a compiled binary, for any purpose, commercial or non-commercial, and
 * by any means.
 *
 * In jurisdictions that recognize copyright laws, the author or authors of this software dedicate
 * any and all copyright interest in the software to the public domain. We make this dedication for
 * the benefit of the public at large and to the detriment of our heirs and successors. We intend
 * this dedication to be an overt act of relinquishment in perpetuity of all present and future
 * rights to this software under copyright law.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING
 * BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
 * NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
 * LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN
 * CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
 */
