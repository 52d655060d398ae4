/* tfnorm.h - train and run small Transformers, with the normalization wherever a paper put it.
 * Version 0.3.0.  One C99 header, no dependencies.  MIT or public domain, your choice (at the end).
 * Generated from the parts in tools/source by `make -C tools header`: edit those, not this file.
 *
 * In ONE source file, preferably a separate tfnorm.c that you compile once:
 *     #define TFNORM_IMPLEMENTATION
 *     #include "tfnorm.h"
 * In all others only the include, which compiles in no time (examples/02_two_files.c):
 *     cc -O2 -c tfnorm.c && cc -O2 program.c tfnorm.o -o program -lm
 * No other flag is needed for full speed: the program chooses the best kernels for the processor
 * when it runs. To see a model learn to spell numbers, in a hundred lines:
 *     cc -O2 examples/quickstart.c -o quickstart -lm && ./quickstart
 *
 * It does
 *   models      decoder-only, encoder-only, encoder-decoder; any depth and width; tied or not
 *   placement   Pre-LN, Post-LN, Admin, B2T, DeepNorm, DLCL, T-Fixup, Fixup, ReZero, Peri-LN,
 *               ResiDual, nGPT and forty more by name, hybrids, and any row of your own; 27 norms
 *               and 24 initializations, in any combination
 *   inside      multi-head and grouped-query attention, windows; learned, sinusoidal, rotary
 *               positions, ALiBi, T5's relative positions; ReLU, ReLU squared, GELU and GEGLU (both
 *               forms), SiLU, SwiGLU; dropout at every usual place
 *   training    cross-entropy with label smoothing, squared error, Huber's loss; SGD, Adam, AdamW,
 *               RAdam, Lion, Muon, Adafactor, schedule-free AdamW; clipping by norm and by value;
 *               nine schedules with warm-up; averages of the weights; gradient accumulation;
 *               recomputation
 *   text        byte-level BPE with its training, words, characters, bytes; tokenizer.json
 *   files       safetensors; checkpoints, from which a run resumes with the same bits; models of
 *               the hub, read from and written to their folders: GPT-2, Llama, Mistral, Qwen,
 *               OLMo 2, Gemma, Pythia, Phi, OPT, BLOOM, BERT, Marian, T5
 *   running     a key/value cache, batches, beams; microcontroller builds without training
 *   small       weights of 8, 4 or 16 bits, multiplied as integers, with the same bits everywhere
 *   processors  AVX-512, AVX2, 128-bit x86, NEON, WebAssembly SIMD, plain C; optional threads
 *
 * It does not
 *   - use a GPU, or hardware half precision (it simulates half precision);
 *   - download data: it works on arrays, and reads local files;
 *   - differentiate C code: each operation has a backward written by hand (add your own);
 *   - allocate after init, print, exit, abort, or keep anything in a global variable;
 *   - communicate: to train on several machines, write the loop (examples/22_mpi.c).
 *
 * There are three levels, and you can use each by itself. Kernels: plain functions on plain
 * pointers (tfn_kernels_for). Tape: record operations once, plan their memory once, run many times
 * (tfn_tape_init). Model: one options struct and one call per training step (tfn_model_new). A
 * lower level does not depend on a higher one.
 * If you come from the papers, begin with ">> reference": norms, softmax, attention, linear maps,
 * cross-entropy and AdamW in plain loops, with the same bits as the fast kernels.
 *
 * CONTENTS: search for ">> name".
@contents
 *
 *
 * FIVE PROMISES (each has a test)
 *
 * 1. Every placement. A recipe names a topology, a norm and an initialization. One field sets it,
 *    and you can override each of the three. tfn_recipe_at, tfn_topology_at, tfn_norm_at and
 *    tfn_init_at list all rows. A row of your own works like any of these.
 * 2. Same bits. The same seed gives the same bits with any number of threads, any compiler and
 *    optimization level, and every processor with a fused multiply-add, at full speed, by default.
 * 3. Exact memory. A function tells how many bytes a configuration needs. With a block of this size
 *    it works; with one byte less it returns an error. No allocation after init, nothing to free.
 * 4. Never kills you. No abort, exit, print or global state. A wrong argument gives an error with
 *    a message, and a failed call changes nothing. Leave floating-point traps off, as C does
 *    (feenableexcept turns them on), because an update that diverges overflows before it is
 *    skipped.
 * 5. Fast as compiled. No flags, no library: plain `cc -O2` runs close to the processor's limit.
 *
 *
 * STEP BY STEP
 *
 * 1. Set the options. Only vocab and context are required; 0 in any other means a good default.
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
 *    tfn_model_resolve shows the defaults that replace zeros. A recipe sets three things;
 *    .topology, .norm and .init override them one by one. .topology, .norm_rule and .init_rule take
 *    rows of your own (see examples/17_own_topology.c). With .decoder_topology, .decoder_norm and
 *    .decoder_norm_rule the two stacks of an encoder-decoder may differ.
 *    Recipes that need data for their initialization ("admin", "lsuv") use the first step's, or the
 *    data that you pass to tfn_model_profile.
 *
 * 2. Make the model.
 *
 *        tfn_model model;
 *        char text[200];
 *        if (tfn_model_new(&model, &desc, NULL) != TFN_OK)        // malloc, or your allocator
 *            puts(tfn_error_text(&model.error, text, sizeof text));
 *
 *    Without malloc, see MEMORY. desc.seed determines the initial weights.
 *
 * 3. Train. Tokens and targets are rows of `time` numbers, one row per sentence. A target below 0
 *    is ignored. Sentences shorter than `time` are padded on the right; `lengths` has the length of
 *    each (NULL: all are full). Padding may hold anything, and does not change a bit of the result.
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
 *    A batch may have fewer sentences and a shorter time than planned, without any preparation.
 *    With desc.micro_batches = 4, four calls make one update. If a loss or a gradient is not
 *    finite, the update is skipped and changes nothing: weights and moments stay, running
 *    statistics from earlier micro-batches are restored, and a profile made by it is dropped. Then
 *    report.skipped is true, and report.culprit tells which parameter.
 *
 * 4. Measure. tfn_model_eval computes the loss without dropout and without an update.
 *    tfn_model_logits computes the scores themselves. With desc.ema = 0.999f, for example, the
 *    model keeps averages of its weights, which often do better: call tfn_model_swap_ema before and
 *    after measuring. The optimizer schedule-free needs no schedule, but its averages must be
 *    swapped in to measure.
 *
 * 5. Use it. A decoder reads one token after the other, and keeps the past in a cache.
 *
 *        size_t scratch_size = tfn_model_scratch(&desc);
 *        void *scratch = malloc(scratch_size);
 *        size_t size = tfn_decoder_size(&model, 1, 1, scratch, scratch_size);
 *        tfn_decoder decoder;
 *        tfn_decoder_init(&decoder, &model, 1, 1, malloc(size), size);
 *        int32_t token = 'a';
 *        const float *logits = tfn_decoder_next(&decoder, &token, 1, NULL);
 *
 *    Several decoders may share a model. In an encoder-decoder tfn_decoder_start sets the source.
 *    The scores equal those of the full forward, to the last bit. There are two exceptions: a norm
 *    over the whole tensor (TFN_FLAG_WHOLE), which a decoder cannot compute, and a 16-bit cache
 *    (desc.cache_type), which takes half the memory.
 *
 * 6. Look inside. tfn_model_param(&model, i, &info) describes tensor i: name, shape, data, gradient
 *    and group. Weights are stored (in, out). All parameters are one flat vector, and so are the
 *    gradients and the moments of all parameters that train. desc.groups selects parameters by
 *    name, and gives them another rate or decay, freezes them (then they have no gradients and
 *    moments), or adds LoRA to linear maps. tfn_model_hash is a fingerprint of all parameters.
 *    tfn_model_hidden computes the hidden states after any layer, tfn_model_lens their logits,
 *    tfn_model_attention the attention weights of a layer, and tfn_model_pool one vector per
 *    sentence. A model made with desc.probes shows every point of its sub-layers in each run, and
 *    the gradient there in training: tfn_model_watch.
 *
 * 7. Ship it. tfn_model_fold copies a trained model into one made with .inference and .folded,
 *    which has no scales, gains and shifts, because its weights absorb them.
 *
 *    A model made with .weights takes a quarter or an eighth of the memory: see WEIGHTS OF FEWER
 *    BITS.
 *
 * 8. Save, and resume another day. A resumed run has the bits of one that was never interrupted.
 *
 *        tfn_file file = { 0 };
 *        tfn_checkpoint with = { NULL, "line 4711", false };   // a tfn_tokenizer, a text of yours
 *        file.path = "model.safetensors";
 *        if (tfn_model_save(&file, &model, &with) != TFN_OK)
 *            puts(tfn_error_text(&file.error, text, sizeof text));
 *
 *    The old file is replaced only when the new one is complete. Later, or in another program:
 *
 *        int64_t step;
 *        tfn_model_peek(&file, &desc, &step);      // the options, all of them
 *        tfn_model_new(&model, &desc, NULL);
 *        tfn_model_load(&model, &file);
 *
 *    A model made with desc.inference loads only the weights, or the averages if the run has them.
 *    tfn_model_load_weights starts a new run from the weights, or from the mean of several
 *    checkpoints. Python reads the file with the package safetensors.
 *
 * To load a published model from a folder of the hub (with its tokenizer: examples/06_gpt2.c):
 *
 *        tfn_import_new(&model, "gpt2", NULL);     // or peek, size and init: see tfn_import_peek
 *
 * To write your model as such a folder, if a family of the hub can express it:
 *
 *        tfn_export out = { 0 };
 *        out.folder = "mine";
 *        tfn_export_write(&out, &model);           // or out.error names the option that none has
 *
 * Encoder-decoder: set desc.arch = TFN_ARCH_ENCODER_DECODER. A batch then also has source,
 * source_time and source_lengths.
 * Encoder: set desc.arch = TFN_ARCH_ENCODER. desc.head selects the output: a word per position (0),
 * a class per sentence (TFN_HEAD_SEQUENCE), a class per position (TFN_HEAD_POSITIONS), or several
 * numbers per sentence (TFN_HEAD_NUMBERS). For numbers batch.numbers are the targets, and
 * desc.number_loss is the squared error or Huber's loss. An encoder can read frames of numbers
 * instead of tokens (desc.bands): spectra, from which two convolutions make a quarter as many
 * positions; or sensors and patches of pictures (desc.frame_map = TFN_FRAME_MAP_LINEAR).
 * examples/11_gesture.c classifies sensor data, and then trains a new head for a new user.
 *
 * Only the tape: examples/24_tape.c. Only kernels: examples/18_kernel.c.
 *
 * A LOOP OF YOUR OWN
 *
 * Training is a loop in your program, where you can do anything between two updates. The parameters
 * are one vector that begins at tensor 0, so one memcpy keeps the weights that did best on held-out
 * data (the whole program is examples/02_two_files.c).
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
 * You can take a step apart. tfn_model_gradient computes the gradient of the summed loss as one
 * flat vector. Until the update you may change it: send it to other machines, clip it, average it,
 * add a penalty.
 *
 *        int64_t floats;
 *        tfn_sums sums;
 *        float *g = tfn_model_gradients(&model, &floats);
 *        for (int i = 0; i < 4; i++)                                   // shard: tfn_batch shard[4]
 *            tfn_model_gradient(&model, &shard[i], i, i > 0, &sums);   // stored, then added
 *        for (int64_t i = 0; i < floats; i++) g[i] += penalty(i);      // say
 *        tfn_model_update(&model, &sums, tfn_model_rate(&model), &report);
 *
 * tfn_model_step is exactly these two calls. examples/15_own_loop.c uses them, with a custom loss
 * (desc.loss). Afterwards info.grad of each tensor is its part of the vector, before clipping. You
 * may write to info.data at any time between two calls, because no other state depends on it. (The
 * only exception is the optimizer schedule-free: each update computes the parameters from two other
 * points.)
 *
 *
 * FROM PYTHON
 *
 * tools/tfnorm.py is one file that needs only Python, and compiles this header once. With numpy,
 * arrays are arrays of numpy; without it, they are memoryviews.
 * Options have the same names, with schedule_lr for schedule.lr. Parameters, gradients, logits and
 * hidden states are arrays that are not copied. An error becomes an exception with the same text.
 *
 *        model = tfnorm.Model(vocab=256, context=64, batch=16, recipe="post", schedule_lr=2e-3)
 *        report = model.step(tokens, targets)                     # arrays (batch, time)
 *        sums = model.gradient(tokens, targets)                   # or the step in parts
 *        model.flat_gradients()[:] += 1e-4 * sums.targets * model.flat()
 *        model.update(sums)
 *
 * Other languages can do the same: tfn_desc_set sets options from texts, and tfn_layout tells the
 * offsets of the members of a struct.
 *
 *
 * WEIGHTS FROM NUMPY
 *
 * tfn_model_param tells the names, shapes and order of the tensors. Matrices are (in, out), the
 * transpose of torch.nn.Linear's, and vectors have one row. In Python, with a dictionary of arrays:
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
 * Matrices can have fewer bits (desc.weights), which saves memory and bandwidth. Bandwidth limits a
 * decoder, which reads all weights for each token. tfn_model_quantize copies the weights of another
 * model into such a model.
 *
 *        bytes a weight     4        1.06    0.56    2               2
 *        desc.weights       FLOAT    Q8      Q4      BF16            F16
 *
 * Q8 and Q4 multiply integers. Blocks of 32 weights share a scale, and so do blocks of 32 inputs,
 * which are quantized when the product runs. A sum of integers is exact in any order, and the few
 * float operations are rounded one by one, so these products have the same bits on all processors,
 * with or without a fused multiply-add. The rest of the model (norms, attention, activations) has
 * the canonical bits on a processor with a fused multiply-add, or with TFNORM_EXACT.
 * This works with any recipe and architecture. Norms, biases, scales and positions stay floats, and
 * so do relative positions, convolutions, and the maps between clusters of words. These models are
 * saved and loaded like others.
 * A model must be trained before it is quantized. Only a model with LoRA can train afterwards: its
 * matrices stay frozen in few bits, and take an eighth of the memory of floats with their moments.
 *
 *
 * CMAKE
 *
 * A single header needs no package. In a project whose tfnorm.c has the two lines above:
 *
 *        include(FetchContent)
 *        FetchContent_Declare(tfnorm GIT_REPOSITORY ${TFNORM_URL} GIT_TAG ${TFNORM_TAG})
 *        FetchContent_MakeAvailable(tfnorm)                   # 3.14 or later
 *        add_executable(program program.c tfnorm.c)
 *        target_include_directories(program PRIVATE ${tfnorm_SOURCE_DIR})
 *        target_link_libraries(program PRIVATE m)
 *
 * After `make -C tools install`, find_package(tfnorm 0.3) provides the target tfnorm::tfnorm, the
 * header with a compiled library, and pkg-config finds tfnorm.
 *
 *
 * MEMORY
 *
 * A model is one block of memory. tfn_model_size runs the code of init on an arena that only
 * counts, so the size is exact. It includes the slack for alignment, so the block may have any
 * address.
 *
 *        static unsigned char block[1 << 22];
 *        size_t wanted = tfn_model_size(&desc, block, sizeof block);   // the block as scratch
 *        tfn_status st = tfn_model_init(&model, &desc, block, sizeof block);
 *
 * tfn_model_size plans the model for real, and needs some real memory for that: the scratch, at
 * most tfn_model_scratch(&desc) bytes. It is not used afterwards.
 * The block has four large regions: parameters, gradients, moments, workspace. model.memory has the
 * bytes of these, of the small ones, and of averages. You can provide each of the four yourself
 * (desc.parameters ...): for example, weights in flash for a model made for inference, or a
 * workspace that two models share because they never run at the same time. desc.inference omits
 * gradients and moments. desc.recompute computes the inside of each layer again in the backward,
 * which saves workspace. desc.moment_type stores moments in half or a quarter of their bytes.
 * No buffer grows with the square of a length.
 * You may discard a model at any time; tfn_model_free is only for tfn_model_new. tfn_model is plain
 * data and may be copied, but both copies use the same block, so do not use them at the same time.
 *
 *
 * BOARDS
 *
 * Define TFNORM_NO_STDIO and TFNORM_NO_MALLOC on every board. Section config has more macros, which
 * keep only the features that a program needs. tests/board has start-up code, linker scripts and
 * programs that run in qemu, and prints the memory of each. Without an FPU TFNORM_EXACT gives the
 * canonical bits.
 * To decode, use weights in flash (tfn export writes them as C), desc.inference,
 * desc.only_decoders, one array for the model and its decoder (see tfn_memory), and
 * desc.cache_type, which halves the decoder's cache. To train in one static block, use one sentence
 * at a time (desc.batch = 1) with desc.micro_batches sentences per update, desc.recompute, 8-bit
 * moments (desc.moment_type), lower layers frozen by a group, and a checkpoint in flash, from which
 * a run resumes with the same bits after a power cut:
 *
 *        static double page[4096 / sizeof(double)];      // one page of RAM
 *        tfn_flash flash = { 0 };
 *        flash.page = 4096;
 *        flash.pages = 32;                         // in each of two slots
 *        flash.work = page;
 *        flash.read = read_page;                   // yours: see tfn_flash
 *        flash.write = write_page;                 // must erase the page first
 *        tfn_flash_load(&model, &flash);           // fails if there is none yet
 *        while (tfn_model_step(&model, &batch, NULL) == TFN_OK)
 *            if (model.micro == 0 && model.step % 100 == 0) tfn_flash_save(&flash, &model);
 *
 *
 * ERRORS
 *
 * A call that fails returns a tfn_status other than TFN_OK, a NULL pointer, or a size of 0. An
 * object keeps its first error in `error`. Later calls return it again and do nothing, so you can
 * check once, at the end. The only exception is an error in a batch (TFN_BAD_BATCH), which concerns
 * only that call. A NULL pointer gives TFN_NULL, or TFN_BAD_BATCH for a batch and its required
 * members, unless a comment defines NULL. An object that is NULL gives TFN_NULL, too, but cannot
 * keep the error. An object that was never initialized, all zero, gives TFN_NOT_READY.
 * tfn_error_text tells the value found and the value needed:
 *     linear: input has 48 channels, weight needs 64 (node 17, layer 2)
 * TFNORM_ASSERT is only for defects of this library, never for your mistakes.
 * A program and a library that were compiled apart may have been made from different headers. Ask
 * once, at the start:
 *
 *        if (!tfn_version_agrees())
 *            printf("tfnorm.h %s, but library %s\n", TFNORM_VERSION, tfn_version());
 *
 *
 * BITS
 *
 * Every sum has a fixed order, which depends on the data and never on the machine. Matrix products
 * are chains of fused multiply-adds in order of the inner index. exp, tanh, erf and other functions
 * are our own. Random numbers come from a counter, not from a state. So a result depends on the
 * seed, the options and the data. It does not depend on the compiler, the -O level, -march, the
 * instruction set, threads, padding, the batch's capacity, or the address of the block.
 * This is promised on processors with a fused multiply-add: x86 with AVX-512 or AVX2 (or only FMA3,
 * if TFNORM_ALL_ISA or -mfma builds its kernels), AArch64, RISC-V with F, Cortex-M4F and later,
 * ARMv7 with VFPv4, 64-bit POWER, s390x; and for WebAssembly compiled with -mrelaxed-simd, if the
 * engine uses that instruction. Without one ("sse2", i386, MIPS, other WebAssembly, plain C
 * compiled without -mfma) the results are as good, but have a second set of bits, the same on all
 * of these. With TFNORM_EXACT these, too, have the canonical bits: they compute a fused
 * multiply-add in software, slowly.
 * Excluded: -ffast-math and -Ofast, clang's -ffp-contract=fast, x87 arithmetic, a processor set to
 * flush denormals to zero, and every rounding mode except to nearest (fesetround). tfn_bits(isa)
 * tests all of these with a few numbers, in the mode that is set when it is called, and returns
 * "canonical" or "differ: reason". tfn_selfcheck trains a small model for 20 steps. The hash equals
 * TFN_BITS_HASH if the bits are canonical, and TFN_BITS_HASH_NO_FMA if tfn_bits returns
 * "differ: no FMA", which means that nothing else differs. A large batch and the same batch in
 * micro-batches are different configurations, and differ in the last bits. Where a result is NaN,
 * it is NaN in every build, but its sign and payload may differ.
 * The order of every sum is part of the interface: if it changes, TFN_BITS_VERSION changes.
 * Denormal numbers are slow on many processors, so the library avoids them: a softmax's exp, the
 * logistic function, and derivatives that decay to 0 are exactly 0 below 2^-60, and an optimizer's
 * moments below 2^-100.
 *
 *
 * THREADS
 *
 * desc.threads sets their number, which is fixed at init. Compile with OpenMP (-fopenmp), or define
 * TFNORM_PARALLEL_FOR (see config; tools/common/threads.h has one for pthreads and Windows).
 * Otherwise everything runs on the calling thread. Each forward, each backward and each pass of an
 * update over all parameters is one parallel region. The work is cut into small chunks. A thread
 * that has done its share takes chunks from the others. Every output has one writer, so the bits
 * are the same for any number of threads. If the system delays a thread, the others wait for it
 * only if it holds a chunk. Objects are independent. Do not use one object in two threads at once;
 * the only exception is a model that several decoders read. On a 32-bit processor without 8-byte
 * atomics, such as MIPS32, threads need -latomic.
 *
 *
 * PLATFORMS
 *
 * Any C99 compiler with 32-bit IEEE floats works; the implementation also compiles as C++11. Built
 * by gcc or clang for x86-64, the program chooses its kernels at run time. gcc for Windows (MinGW)
 * builds only 128-bit vectors, because of GCC bug 54412 (misaligned AVX spills). Other compilers
 * build plain C. README.md has a table of platforms: tested, only compiled, or expected to work.
 */
