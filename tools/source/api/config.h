/* Define these before the implementation, if you want them.
 *
 *   TFNORM_IMPLEMENTATION   emit the code here: in exactly one source file (or see _STATIC)
 *   TFNORM_STATIC           all functions static: each file that includes it has its own copy
 *   TFNORM_API              what stands before each declaration instead of extern, such as
 *                           __declspec(dllexport); define it in all files alike
 *   TFNORM_ASSERT(x)        for defects of the library; nothing by default, in a debug build assert
 *   TFNORM_NO_STDIO         without <stdio.h>: files in memory and through callbacks alone
 *   TFNORM_NO_FILES         without files, options by name (tfn_desc_set) and tfn_layout
 *   TFNORM_NO_IMPORT        without checkpoints of the hub (tfn_import_new), which are folders:
 *                           TFNORM_NO_STDIO has none either
 *   TFNORM_NO_PICKLE        without pytorch_model.bin (tfn_pickle_open)
 *   TFNORM_NO_MALLOC        without <stdlib.h>, tfn_model_new and tfn_model_free; files want work
 *   TFNORM_NO_TRAINING      without gradients, optimizers and random weights: a decoder fits a
 *                           microcontroller
 *   TFNORM_ALL_NORMS        with TFNORM_NO_TRAINING: keep the norms that are neither LayerNorm nor
 *                           RMSNorm, and watching and reading; without it a decoder has none
 *   TFNORM_PLAIN            what TFNORM_NO_TRAINING leaves of models, with training, too: rows like
 *                           "pre" and "post", LayerNorm and RMSNorm. No tfn_selfcheck (it gives 0)
 *   TFNORM_ARCHS, TFNORM_NORMS, TFNORM_POSITIONS, TFNORM_ACTIVATIONS, TFNORM_OPTIMIZERS,
 *   TFNORM_SCHEDULES        keep these alone, for a small program; a model or a tape that asks for
 *                           another one gets an error that names the macro, as of all that is left
 *                           out. Sets of enumerators: for instance
 *                           -DTFNORM_POSITIONS="TFN_SET(TFN_POSITION_ROTARY)", others behind a |.
 *                           The kernels of what was left out are NULL, or do nothing.
 *                           A default counts as asked for: who keeps no learned positions must set
 *                           another one. What is kept has the bits that it has in any build.
 *                           On a Cortex-M4F at -Os, with TFNORM_ONLY_DECODERS, a decoder of one
 *                           norm, one activation and learned positions takes 27 KB of flash, with
 *                           rotary ones, which compute sines in double, 34; a trainer of one recipe
 *                           with AdamW, with TFNORM_PLAIN, 53, without messages 49; with messages,
 *                           but without decoders, dropout and groups 49, with none of these 46
 *   TFNORM_NO_MESSAGES      errors keep their status, operation and numbers, and have no sentences
 *   TFNORM_NO_SCALES        joins without scales, as those of "pre" and "post"
 *   TFNORM_NO_DECODERS      without caches: no tfn_decoder, and no generator
 *   TFNORM_NO_DROPOUT       without dropout
 *   TFNORM_NO_GROUPS        without groups of parameters (desc.groups), and so without LoRA
 *   TFNORM_ONLY_DECODERS    with TFNORM_NO_TRAINING: models of one stack that tfn_decoder runs, and
 *                           nothing else does; they are made with desc.only_decoders
 *   TFNORM_ONLY_KERNELS     the kernels alone, without tape and model
 *   TFNORM_NO_TOKENIZERS    without tokenizers
 *   TFNORM_NO_METRICS       without BLEU and the other scores of texts
 *   TFNORM_NO_QUANT         without weights, moments and caches of fewer bits (desc.weights,
 *                           moment_type, cache_type)
 *   TFNORM_NO_SIMD          plain C only
 *   TFNORM_ALL_ISA          x86-64: also build plain C and the 128-bit kernels with FMA3. They take
 *                           an eighth more time to compile. Only tests need plain C there, and only
 *                           processors with FMA3 but without AVX2 (AMD, 2012 to 2014) need the
 *                           others: without them they use SSE2, and tfn_bits says that bits differ.
 *                           Without it, tfn_kernels_for returns NULL for both, and a build for one
 *                           processor (-march=native) has only its own widest kernels
 *   TFNORM_DEBUG            plain C only, without attributes and pragmas that optimize: compiled
 *                           with -O0 it takes a second, and every line can be stepped through. The
 *                           bits are those of TFNORM_NO_SIMD. Tapes run on the calling thread, and
 *                           their memory is looked at: a run begins in a workspace of NaN, and an
 *                           array is NaN again when nobody should read it any more, so that who
 *                           does makes the loss NaN (no memory is used twice: workspaces are
 *                           larger); after each operation, one of your own too, TFNORM_ASSERT says
 *                           whether the 16 floats beside each array that it may write are as before
 *   TFNORM_EXACT            plain C, SSE2 and WebAssembly compute the fused multiply-add in
 *                           software where the compiler has no instruction for it: canonical
 *                           bits, slowly. Products of weights of fewer bits have none
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
