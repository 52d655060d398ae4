/* Macros that you may define before the implementation.
 *
 *   TFNORM_IMPLEMENTATION   Emit the code here. Define it in exactly one source file (or see
 *                           TFNORM_STATIC).
 *   TFNORM_STATIC           Make all functions static, so that each file that includes the header
 *                           has its own copy.
 *   TFNORM_API              Replaces `extern` in front of each declaration, for example with
 *                           __declspec(dllexport). Define it in the same way in all files.
 *   TFNORM_ASSERT(x)        Checks for defects of the library. By default it does nothing, or with
 *                           TFNORM_DEBUG it is assert.
 *   TFNORM_NO_STDIO         Omit <stdio.h>: files can only be in memory or use callbacks.
 *   TFNORM_NO_FILES         Omit files, options by name (tfn_desc_set) and tfn_layout.
 *   TFNORM_NO_IMPORT        Omit checkpoints of the hub (tfn_import_new). They are folders, so
 *                           TFNORM_NO_STDIO omits them, too.
 *   TFNORM_NO_GGUF          Omit .gguf files (tfn_gguf_open, tfn_export_gguf).
 *   TFNORM_NO_PICKLE        Omit pytorch_model.bin (tfn_pickle_open).
 *   TFNORM_NO_MALLOC        Omit <stdlib.h>, tfn_model_new and tfn_model_free. Files then need a
 *                           block of yours (tfn_file.work).
 *   TFNORM_NO_TRAINING      Omit gradients, optimizers and random weights, so that a decoder fits a
 *                           microcontroller.
 *   TFNORM_ALL_NORMS        With TFNORM_NO_TRAINING: keep the norms other than LayerNorm and
 *                           RMSNorm, and watching and reading. Without it a decoder has none of
 *                           these.
 *   TFNORM_PLAIN            Keep training, but only those models that TFNORM_NO_TRAINING keeps:
 *                           rows like "pre" and "post", LayerNorm and RMSNorm. tfn_selfcheck
 *                           returns 0.
 *   TFNORM_ARCHS, TFNORM_NORMS, TFNORM_POSITIONS, TFNORM_ACTIVATIONS, TFNORM_OPTIMIZERS,
 *   TFNORM_SCHEDULES        Keep only these enumerators, for a small program. Each is a set, for
 *                           example -DTFNORM_POSITIONS="TFN_SET(TFN_POSITION_ROTARY)"; combine
 *                           several with |. A model or a tape that asks for another one gets an
 *                           error that names the macro, as with all omitted features. Kernels of
 *                           omitted features are NULL, or do nothing. A default counts as asked
 *                           for: a build without learned positions must set another kind. The kept
 *                           features have the same bits as in any build.
 *                           Flash on a Cortex-M4F at -Os: a decoder (TFNORM_ONLY_DECODERS) with one
 *                           norm, one activation and learned positions takes 27 KB; with rotary
 *                           positions, which compute sines in double, 34 KB. A trainer with one
 *                           recipe and AdamW (TFNORM_PLAIN) takes 53 KB; without messages 49 KB;
 *                           without decoders, dropout and groups 49 KB; without all four 46 KB.
 *   TFNORM_NO_MESSAGES      Errors have a status, an operation and numbers, but no text.
 *   TFNORM_NO_SCALES        Omit scales in joins, which "pre" and "post" do not have.
 *   TFNORM_NO_DECODERS      Omit caches, and so tfn_decoder and tfn_generator.
 *   TFNORM_NO_DROPOUT       Omit dropout.
 *   TFNORM_NO_GROUPS        Omit groups of parameters (desc.groups), and so LoRA.
 *   TFNORM_ONLY_DECODERS    With TFNORM_NO_TRAINING: keep only models of one stack, run by
 *                           tfn_decoder. Make them with desc.only_decoders.
 *   TFNORM_ONLY_KERNELS     Keep only the kernels, without tape and model.
 *   TFNORM_NO_TOKENIZERS    Omit tokenizers.
 *   TFNORM_NO_METRICS       Omit BLEU and the other scores of texts.
 *   TFNORM_NO_QUANT         Omit weights, moments and caches of fewer bits (desc.weights,
 *                           moment_type, cache_type).
 *   TFNORM_NO_SIMD          Build plain C only.
 *   TFNORM_ALL_ISA          x86-64: also build plain C and the 128-bit kernels with FMA3, which
 *                           takes an eighth more time to compile. Only tests need plain C there.
 *                           Only processors with FMA3 but without AVX2 (AMD, 2012 to 2014) need the
 *                           others; without them they use SSE2, and tfn_bits says that bits differ.
 *                           Without this macro tfn_kernels_for returns NULL for both sets, and a
 *                           build for one processor (-march=native) has only its widest kernels.
 *   TFNORM_DEBUG            Build plain C without attributes and pragmas that optimize. With -O0 it
 *                           compiles in a second, and a debugger can step through every line. The
 *                           bits are the same as with TFNORM_NO_SIMD. Tapes run on the calling
 *                           thread and check their memory. A run fills the workspace with NaN, and
 *                           fills every array with NaN again after its last use, so that reading it
 *                           later makes the loss NaN. After each operation, including your own,
 *                           TFNORM_ASSERT checks that the 16 floats before and after each array
 *                           that it may write are unchanged. Workspaces are larger, because no
 *                           memory is reused.
 *   TFNORM_EXACT            Compute the fused multiply-add in software in plain C, SSE2 and
 *                           WebAssembly, where the compiler has no instruction for it. The bits are
 *                           then canonical, but products are slow. Products of weights of fewer
 *                           bits do not use it and stay fast.
 *   TFNORM_PARALLEL_FOR(threads, fn, ctx)
 *                           Must call fn(ctx, i) once for each int i = 0 .. threads-1, in any
 *                           order, in parallel or not, and return after all have returned. fn is
 *                           void fn(void *, int). Needs gcc or clang, because it uses atomics.
 *   TFNORM_PARALLEL_COUNT(threads)
 *                           How many of so many threads are worth starting now. Below 2 the calling
 *                           thread does the next region alone, for example while other programs
 *                           need the processors. The bits do not depend on it. By default all are.
 *   TFNORM_MEMSET, TFNORM_MEMCPY, TFNORM_SQRTF
 *                           Replace memset, memcpy and sqrtf. With the first two, <string.h> is not
 *                           included. TFNORM_SQRTF must round correctly, or the bits are not
 *                           canonical.
 *   TFNORM_FILE             The name by which the header includes itself, by default "tfnorm.h".
 *                           Define it if your copy has another name, or a path that quotes do not
 *                           resolve.
 */
