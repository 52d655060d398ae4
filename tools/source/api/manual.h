/* tfnorm.h - train and run small Transformers, with the normalization wherever a paper put it.
 * Version 0.2.0.  One C99 header, no dependency.  MIT or public domain, as you like (at the end).
 * Generated from the parts in tools/source by `make -C tools header`: change those, not this file.
 *
 * In ONE source file, best in one of your own, tfnorm.c, which is compiled once and kept:
 *     #define TFNORM_IMPLEMENTATION
 *     #include "tfnorm.h"
 * In all others only the include, which compiles in no time (examples/14_two_files.c):
 *     cc -O2 -c tfnorm.c && cc -O2 program.c tfnorm.o -o program -lm
 * `cc -O2` with no other flag is fast: the best kernels of the processor are chosen when the
 * program runs. See a model learn to spell numbers, in one hundred lines:
 *     cc -O2 examples/quickstart.c -o quickstart -lm && ./quickstart
 *
 * It does
 *   models      decoder-only, encoder-only, encoder-decoder; any depth and width; tied or not
 *   placement   Pre-LN, Post-LN, Admin, B2T, DeepNorm, DLCL, T-Fixup, Fixup, ReZero, Peri-LN,
 *               ResiDual, nGPT and forty more by name, hybrids, and any row of your own; 26 norms
 *               and 24 initializations, each free to combine with the others
 *   inside      multi-head and grouped-query attention, windows; learned, sinusoidal, rotary
 *               positions, ALiBi, buckets of distances; ReLU, its square, GELU and GEGLU (both
 *               forms), SiLU, SwiGLU; dropout at every usual place
 *   training    cross-entropy with label smoothing, squared error, Huber's loss; SGD, Adam, AdamW,
 *               RAdam, Lion, Muon, Adafactor, schedule-free AdamW; clipping by norm and by value;
 *               nine schedules with warm-up; averages of the weights; gradient accumulation;
 *               recomputation
 *   text        byte-level BPE with its training, words, characters, bytes; tokenizer.json
 *   files       safetensors; checkpoints, after which a run goes on with the same bits; models of
 *               the hub as their folders are: GPT-2, Llama, Mistral, Qwen, OLMo 2, Gemma, Pythia,
 *               Phi, OPT, BLOOM, BERT, Marian, T5
 *   running     a key/value cache, batches, beams; microcontroller builds without training
 *   small       weights of 8, 4 or 16 bits, multiplied as integers, with the same bits everywhere
 *   processors  AVX-512, AVX2, 128-bit x86, NEON, WebAssembly SIMD, plain C; threads if you like
 *
 * It does not
 *   - use a GPU, or the hardware's half precision (it simulates it);
 *   - fetch data: it takes and gives arrays, and reads what is on the disk;
 *   - differentiate C code: each operation has its backward, written by hand (add your own);
 *   - allocate after init, print, exit, abort, or keep anything in a global variable;
 *   - send anything: training on several machines is a loop of yours (examples/18_mpi.c).
 *
 * Three levels, each usable alone. Kernels: plain functions on plain pointers (tfn_kernels_for).
 * Tape: record operations once, plan their memory once, run many times (tfn_tape_init). Model: one
 * options struct and one call per training step (tfn_model_new). A lower level knows no higher one.
 * If you come from the papers, begin with ">> reference": norms, softmax, attention, linear maps,
 * cross-entropy and AdamW in plain loops, with the bits of the fast kernels.
 *
 * CONTENTS: search for ">> name".
@contents
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
 *    a message, and a failed call changes nothing. Leave floating-point traps off, as C does
 *    (feenableexcept turns them on): a training that diverges overflows before it is skipped.
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
 *    .init override them one by one. .topology, .norm_rule and .init_rule take rows of your own
 *    (examples/04_own_topology.c has one); .decoder_topology, .decoder_norm, .decoder_norm_rule
 *    make the two stacks of an encoder-decoder differ.
 *    Recipes that look at data first ("admin", "lsuv") do so in the first step, or when you call
 *    tfn_model_profile.
 *
 * 2. Make the model.
 *
 *        tfn_model model;
 *        char text[200];
 *        if (tfn_model_new(&model, &desc, NULL) != TFN_OK)        // malloc, or your allocator
 *            puts(tfn_error_text(&model.error, text, sizeof text));
 *
 *    Without malloc, see MEMORY. The weights are drawn from desc.seed.
 *
 * 3. Train. Tokens and targets are rows of `time` numbers, one row per sentence. A target below 0
 *    is ignored. Sentences shorter than `time` are padded on the right; lengths says how long each
 *    is (NULL: all full). Padding may hold anything and changes nothing, not the last bit.
 *
 *        static int32_t tokens[16 * 128], targets[16 * 128];
 *        tfn_batch batch = { 0 };
 *        batch.tokens  = tokens;                   // (batch, time)
 *        batch.targets = targets;                  // the same shape: for text, tokens moved by one
 *        batch.batch   = 16;
 *        batch.time    = 128;
 *        tfn_report report;
 *        for (int i = 0; i < 1000; i++) {
 *            fill(tokens, targets);                // yours
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
 *    tfn_model_logits gives the scores themselves. With desc.ema = 0.999f, say, the model keeps
 *    averages of its weights, which often do better: tfn_model_swap_ema before and after. So does
 *    the optimizer schedule-free, which wants no schedule, and must be measured so.
 *
 * 5. Use it. A decoder feeds one token after the other and remembers the past.
 *
 *        size_t scratch_size = tfn_model_scratch(&desc);
 *        void *scratch = malloc(scratch_size);
 *        size_t size = tfn_decoder_size(&model, 1, 1, scratch, scratch_size);
 *        tfn_decoder decoder;
 *        tfn_decoder_init(&decoder, &model, 1, 1, malloc(size), size);
 *        int32_t token = 'a';
 *        const float *logits = tfn_decoder_next(&decoder, &token, 1, NULL);
 *
 *    Several decoders may share a model. An encoder-decoder gets its source by tfn_decoder_start.
 *    The scores are those of the full forward, to the last bit (but with a norm over the whole
 *    tensor, TFN_FLAG_WHOLE, which no decode can know, and with a cache of 16 bits, which takes
 *    half the memory: desc.cache_type).
 *
 * 6. Look inside. tfn_model_param(&model, i, &info) gives tensor i with name, shape, data, gradient
 *    and group; all parameters are one flat vector, and so are gradients and moments, of all that
 *    trains: desc.groups gives parameters, by their names, a rate or a decay of their own, or
 *    freezes them, which then have neither, or adds LoRA to linear maps. Weights are stored (in,
 *    out). tfn_model_hash is a fingerprint of all of them.
 *    What stands between tokens and logits: tfn_model_hidden gives the hidden states behind so many
 *    layers, tfn_model_lens the logits that they would have, tfn_model_attention the weights of a
 *    layer's heads, tfn_model_pool a vector of each sentence. Made with desc.probes, a model shows
 *    each point of its sub-layers in every run, and its gradient in training: tfn_model_watch.
 *
 * 7. Ship it. A model made with .inference and .folded takes the weights of a trained one through
 *    tfn_model_fold, and has none of the scales, gains and shifts that those can hold.
 *
 *    Made with .weights it takes a quarter of the memory, or an eighth: see WEIGHTS OF FEWER BITS.
 *
 * 8. Save, and go on another day. A run that was resumed has the bits of one that never stopped.
 *
 *        tfn_file file = { 0 };
 *        tfn_checkpoint with = { NULL, "line 4711", false };   // a tfn_tokenizer, a text of yours
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
 *    Made with desc.inference, the model takes the weights alone, of a run with averages these.
 *    tfn_model_load_weights begins anew from the weights, or from the mean of several
 *    checkpoints. Python reads the file with the package safetensors.
 *
 * A model that others trained, from a folder of the hub; examples/19_gpt2.c has the tokenizer, too:
 *
 *        tfn_import_new(&model, "gpt2", NULL);     // or peek, size and init: see tfn_import_peek
 *
 * A model of one's own goes out as such a folder, if some family there has it:
 *
 *        tfn_export out = { 0 };
 *        out.folder = "mine";
 *        tfn_export_write(&out, &model);           // or out.error says which option none has
 *
 * Encoder-decoder: desc.arch = TFN_ARCH_ENCODER_DECODER; a batch also has source, source_time and
 * source_lengths. Encoder: desc.arch = TFN_ARCH_ENCODER, with a word per position, or as desc.head
 * says a class per sentence (TFN_HEAD_SEQUENCE), a class per position (TFN_HEAD_POSITIONS), or
 * several numbers per sentence (TFN_HEAD_NUMBERS): batch.numbers are what they should be, and
 * desc.number_loss is the squared error or Huber's loss. What an encoder reads may be frames of
 * numbers instead of tokens (desc.bands): spectra, of which two convolutions make a quarter as many
 * positions, sensors, patches of pictures (desc.frame_map = TFN_FRAME_MAP_LINEAR). Such an encoder
 * is in examples/20_gesture.c: sensors in, class out, and a head of its own for a new user.
 *
 * The tape alone: examples/05_own_op.c. A kernel alone: examples/02_kernel.c.
 *
 * A LOOP OF YOUR OWN
 *
 * Training is a loop in your program, so whatever you want between two updates stands there. The
 * parameters are one vector that begins with tensor 0: the weights that did best on held-out data
 * are one memcpy away (all of it in examples/14_two_files.c).
 *
 *        tfn_param_info all;
 *        tfn_report loss;                                     // of held_out, another tfn_batch
 *        void *kept = malloc(model.memory.parameters);
 *        double best = 1e9;
 *        int worse = 0;
 *        tfn_model_param(&model, 0, &all);
 *        for (int step = 1; worse < 3; step++) {
 *            tfn_model_step(&model, &batch, &report);         // report.lr, report.grad_norm ...
 *            if (step % 20) continue;
 *            tfn_model_eval(&model, &held_out, &loss);
 *            worse++;
 *            if (!(loss.loss < best)) continue;                   // NaN is never better
 *            best = loss.loss;
 *            worse = 0;
 *            memcpy(kept, all.data, model.memory.parameters);
 *        }
 *
 * A step can be taken apart. tfn_model_gradient leaves the gradient of the summed loss in one flat
 * vector, which is yours until the update: send it to other machines, cut it, mix it, add to it.
 *
 *        int64_t floats;
 *        tfn_sums sums;
 *        float *g = tfn_model_gradients(&model, &floats);
 *        for (int i = 0; i < 4; i++)                                   // shard: tfn_batch shard[4]
 *            tfn_model_gradient(&model, &shard[i], i, i > 0, &sums);   // stored, then added
 *        for (int64_t i = 0; i < floats; i++) g[i] += penalty(i);      // say
 *        tfn_model_update(&model, &sums, tfn_model_rate(&model), &report);
 *
 * tfn_model_step is exactly the two calls; examples/17_own_loop.c has them, and a loss of its own
 * (desc.loss). After either, info.grad of each tensor is its part of the vector, before clipping.
 * You may write to info.data at any time between two calls: nothing is kept that depends on it (but
 * the optimizer schedule-free makes the parameters anew, in each update, of two other points).
 *
 *
 * FROM PYTHON
 *
 * tools/tfnorm.py, one file on ctypes and numpy, compiles this header once and takes options by
 * their names, schedule.lr as schedule_lr. Parameters, gradients, logits and hidden states are
 * arrays without a copy; what is an error here is an exception with the same text.
 *
 *        model = tfnorm.Model(vocab=256, context=64, batch=16, recipe="post", schedule_lr=2e-3)
 *        report = model.step(tokens, targets)                     # arrays (batch, time)
 *        sums = model.gradient(tokens, targets)                   # or the step in parts
 *        model.flat_gradients()[:] += 1e-4 * sums.targets * model.flat()
 *        model.update(sums)
 *
 * Other languages can do as it does: tfn_desc_set sets options from texts, and tfn_layout says
 * where the members of a struct stand.
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
 *        tfn_tensor tensor;
 *        tfn_param_info info;
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
 * WEIGHTS OF FEWER BITS
 *
 * Where memory is short, or its bandwidth, as in a decoder, which reads all weights for each token,
 * matrices can have fewer bits: desc.weights, and tfn_model_quantize gives such a model the weights
 * of another.
 *
 *        bytes a weight     4        1.06    0.56    2               2
 *        desc.weights       FLOAT    Q8      Q4      BF16            F16
 *
 * Q8 and Q4 are products of integers: of 32 inputs that share a scale, quantized when the product
 * runs, with 32 weights that share one. A sum of integers is exact in any order, and what is left
 * of floats is rounded step by step, so these products have the same bits on all processors, with a
 * fused multiply-add and without. What stands between the products, norms, attention, activations,
 * has the canonical bits where there is one, or with TFNORM_EXACT.
 * It is a property of each matrix, so that any recipe and architecture has it. Norms, biases,
 * scales and positions stay floats, and so do relative positions, convolutions, and the maps
 * between clusters of words. Such a model is saved and loaded as others are.
 * A model to train is quantized when it is trained; one that has LoRA trains on, its matrices
 * frozen in few bits, at an eighth of the memory of floats with their moments.
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
 * After `make -C tools install`, find_package(tfnorm 0.2) has the target tfnorm::tfnorm, which is
 * the header with a compiled library, and pkg-config knows tfnorm.
 *
 *
 * MEMORY
 *
 * A model is one block. tfn_model_size runs the very code of init on an arena that only counts, so
 * its answer is exact and includes the slack for alignment: any address will do.
 *
 *        static unsigned char block[1 << 22];
 *        size_t wanted = tfn_model_size(&desc, block, sizeof block);   // the block as scratch
 *        tfn_status st = tfn_model_init(&model, &desc, block, sizeof block);
 *
 * The size pass plans the model for real and needs a little real memory to do so: the scratch, of
 * at most tfn_model_scratch(&desc) bytes. It is not used afterwards.
 * The block holds four regions: parameters, gradients, moments, workspace; model.memory has their
 * bytes, and those of the small ones and of averages. Each of the four can be a pointer of yours
 * instead (desc.parameters ...): give a model made for inference its weights from flash, or let two
 * models share a workspace when they do not run at the same time. desc.inference leaves gradients
 * and moments out. desc.recompute computes the inside of each layer again in the backward, for less
 * workspace. desc.moment_type keeps moments in a half or a quarter of their bytes.
 * No buffer grows with the square of a length. Models may be thrown away; tfn_model_free is for
 * tfn_model_new only. Do not copy a model to another address while you use it from two places:
 * it is plain data, but both copies would work in the same block.
 *
 *
 * BOARDS
 *
 * TFNORM_NO_STDIO and TFNORM_NO_MALLOC are for all of them; config has the macros that keep only
 * what a program needs. tests/board has start-up code, linker scripts and programs that qemu runs,
 * and prints what each takes. Without an FPU TFNORM_EXACT gives the bits of the others.
 * Decoding: weights in flash (tfn export writes them as C), desc.inference, desc.only_decoders,
 * one array for the model and its decoder (see tfn_memory), and desc.cache_type, which halves the
 * decoder's cache. Training, in one static block: sentences one by one (desc.batch = 1) and
 * desc.micro_batches of them to an update, desc.recompute, moments of 8 bits (desc.moment_type),
 * the lower layers frozen by a group, and a checkpoint in flash, from which a run goes on with the
 * same bits after a power cut:
 *
 *        static double page[4096 / sizeof(double)];      // one page of RAM
 *        tfn_flash flash = { 0 };
 *        flash.page = 4096;
 *        flash.pages = 32;                         // of each of two slots
 *        flash.work = page;
 *        flash.read = read_page;                   // yours: see tfn_flash
 *        flash.write = write_page;                 // which erases it first
 *        tfn_flash_load(&model, &flash);           // or there is none yet
 *        while (tfn_model_step(&model, &batch, NULL) == TFN_OK)
 *            if (model.micro == 0 && model.step % 100 == 0) tfn_flash_save(&flash, &model);
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
 *     linear: input has 48 channels, weight needs 64 (node 17, layer 2)
 * TFNORM_ASSERT is for defects of this library, never for a mistake of yours.
 * A program and a library that were compiled apart may have been made from different headers. Ask
 * once, at the start:
 *
 *        if (!tfn_version_agrees())
 *            printf("tfnorm.h %s, but library %s\n", TFNORM_VERSION, tfn_version());
 *
 *
 * BITS
 *
 * Every sum in here has a fixed order, given by the data and never by the machine; matrix products
 * are chains of fused multiply-adds in order of the inner index; exp, tanh, erf and the others are
 * our own; random numbers are counted, not drawn. So a result depends on the seed, the options and
 * the data. It does not depend on: compiler, -O level, -march, instruction set, threads, padding,
 * the batch's capacity, the address of the block.
 * Promised where the processor has a fused multiply-add: x86 with AVX-512 or AVX2 (with FMA3 alone
 * if TFNORM_ALL_ISA or -mfma builds its kernels),
 * AArch64, RISC-V with F, Cortex-M4F and later, ARMv7 with VFPv4, 64-bit POWER, s390x; there also
 * for WebAssembly compiled with -mrelaxed-simd, whose engine may use it. Without one ("sse2", i386,
 * MIPS, other WebAssembly, plain C compiled without -mfma) the results are as good, but
 * their bits are others: a second set, the same on all of these. TFNORM_EXACT makes these
 * compute a fused multiply-add in software, slowly, to get the canonical ones.
 * Excluded: -ffast-math and -Ofast, clang's -ffp-contract=fast, x87 arithmetic, a processor set to
 * flush denormals to zero, and every rounding mode except to nearest (fesetround). tfn_bits(isa)
 * tries all of these with a few numbers, in the mode that is set when it is called, and returns
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
 * TFNORM_PARALLEL_FOR (see config; tools/common/threads.h has one for pthreads and Windows); else
 * all runs on the calling thread. Each forward and each backward is one parallel region with small
 * chunks taken from a queue, and every output has one writer: the bits are equal for every number.
 * A thread that the system delays is waited for only while it holds a chunk. Objects are
 * independent; one object must not be used from two threads at once, but for the model that several
 * decoders read. On a 32-bit processor without 8-byte atomics, such as MIPS32, threads want
 * -latomic.
 *
 *
 * PLATFORMS
 *
 * Any C99 compiler with 32-bit IEEE floats; the implementation also compiles as C++11. gcc and
 * clang choose the kernels at run time on x86-64. Built by gcc for Windows (MinGW) only 128-bit
 * vectors are used, because of GCC bug 54412 (misaligned AVX spills). Other compilers get plain C.
 * README.md has the table of what is tested, compiled only, or expected to work.
 */
