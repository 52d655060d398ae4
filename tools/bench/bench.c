/* make -C tools && taskset -c 0 tools/bin/bench train
 *
 * Speed and memory on this machine, next to what else is installed here.
 *     bench peak        fused multiply-adds and bytes a second: the processor's limits
 *     bench gemm        matrix products; per cent of the FMA limit; OpenBLAS, oneDNN
 *     bench train       a training step: forward, backward, AdamW; PyTorch
 *     bench optim       a step with Muon or packed moments, relative to AdamW; initial weights
 *     bench decode      a token, batch 1; per cent of the memory limit; prefill; PyTorch
 *     bench quant       the same with weights of 8, 4 and 16 bits, per cent of the limit of their
 *                       bytes; LoRA; PyTorch's dynamic int8; decoders.h: --ggml DIR, with
 *                       ggml's examples gpt-2-alloc, gpt-2-quantize; --runq FILE, of llama2.c
 *     bench kernels     norms, softmax, activations, optimizer; PyTorch
 *     bench attention   forward and backward, causal
 *     bench threads     two threads, with and without a busy neighbour; are the bits the same?
 *                       Models smaller than tiny, too: no row should be below 0.97
 *                       --simulate N: what N threads could gain, from timed chunks; simulate.h
 *                       says how. --barrier NS (0: measured), --bandwidth GB/s (60) of all threads
 *     bench memory      bytes of a training step
 *     bench growth      tokens a second against width, depth, length, batch
 *     bench data        BPE, batching, beam search; PyTorch, and are the sentences the same?
 *     bench learn FILE  loss on held-out text after --minutes of training, three seeds (default:
 *                       the time in which PyTorch trains nanoGPT's model for a CPU); see learn.h
 *     bench denormals   denormal numbers in 250 updates of every recipe at a high rate; their time
 *                       with and without the processor's flushing, in nine alternating pairs, and
 *                       the median ratio. --counts: no times; denormals.h says what is counted
 * train, optim, decode, quant and memory take models by name (tiny small medium gpt2 encdec) or by
 * value:
 *     bench train L=4,d=96,h=3,ff=384,T=40,B=12,V=300
 * data takes one of these, too, and a FILE of text instead of a generated one.
 * Limits, ours and the peers are measured alternately, --rounds times (7). Times are medians; a
 * ratio (peer / ours) is the lower quartile of the rounds' ratios. Times are the thread's processor
 * time: pin it to a core (taskset -c 0). tools/peers/torch_peer.py runs PyTorch, as installed and
 * tuned (OPENBLAS_CORETYPE, ATEN_CPU_CAPABILITY, and an allocator that keeps its memory:
 * MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=100000000000). Variables of the shell that would change
 * a peer are cleared. OpenBLAS is shown with the core whose kernels it runs. TFN_PYTHON replaces
 * /usr/bin/python3. --peer PROGRAM adds a peer that answers the questions of torch_peer.py, such as
 * peers/llm_c.c. --isa NAME, --threads N, --only WORD picks rows,
 * --no-peers, --quick. --json prints one object per row.
 *
 * Scripts in tools/peers compare with other libraries: llama_cpp.py (decoding and prefill),
 * onnx_runtime.py (encoders), tokens.py (SentencePiece, Hugging Face's tokenizers, tiktoken). */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "../../tfnorm.h"
#include "../common/cli.h"
#include "../common/output.h"
#include "../common/threads.h"
#include "attention.h"
#include "beam.h"
#include "decode.h"
#include "gemm.h"
#include "growth.h"
#include "kernels.h"
#include "learn.h"
#include "optim.h"
#include "option.h"
#include "peak.h"
#include "quant.h"
#include "shapes.h"
#include "simulate.h"
#include "slowness.h"
#include "text.h"
#include "train.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char usage[] =
    "bench peak | gemm | train | optim | decode | kernels | attention | threads | memory | growth\n"
    "      [MODEL]\n"
    "bench quant [--ggml DIR] [--runq FILE] [MODEL]\n"
    "bench data [FILE] [MODEL]\n"
    "bench learn FILE [--minutes M]\n"
    "bench denormals [--counts] [MODEL]\n"
    "bench threads --simulate N [--barrier NS] [--bandwidth GB/s] [MODEL]\n"
    "      [--isa NAME] [--threads N] [--only WORD] [--rounds N] [--no-peers] [--quick] [--json]\n"
    "      [--peer PROGRAM]\n"
    "MODEL: tiny small medium gpt2 encdec, or by value: L=4,d=96,h=3,ff=384,T=40,B=12,V=300\n"
    "Pin it to a core, taskset -c 0 bench train, except for threads.\n";

static void each_isa(void (*bench)(const tfn_kernels *))
{
    for (int isa = TFN_ISA_PLAIN; isa < TFN_ISA_COUNT; isa++) {
        const tfn_kernels *k = tfn_kernels_for((tfn_isa)isa);
        if (k && (option.isa == TFN_ISA_BEST || (int)option.isa == isa)) bench(k);
    }
}

/* Finds tools/peers/torch_peer.py from the path of this program, tools/bin/bench. */
static void find_script(const char *program)
{
    const char *slash = strrchr(program, '/');
    int folder = 0;
    if (slash) folder = (int)(slash - program + 1);
    snprintf(option.script, sizeof option.script, "%.*s../peers/torch_peer.py", folder, program);
    snprintf(option.tfn, sizeof option.tfn, "%.*stfn", folder, program);
}

/* The bench's name, and the models and the text that it uses. */
typedef struct bench_arguments {
    const char *name, *file;
    shape       list[16];
    int         count;
    bool        given;              /* the arguments name models; false: those of the table */
} bench_arguments;

static bool takes_file(const bench_arguments *a)
{
    return !strcmp(a->name, "data") || !strcmp(a->name, "learn");
}

static void read_arguments(bench_arguments *a, cli *c)
{
    const char *isa = NULL;
    long threads = 1;
    long rounds = 7;
    long simulated = 0;
    if (!strcmp(a->name, "denormals")) rounds = 9;
    option.peers = true;
    option.bandwidth = 60;
    while (cli_next(c)) {
        const char *text = c->argv[c->at];
        if (cli_text(c, "--isa", &isa) || cli_text(c, "--only", &option.only)) continue;
        if (cli_text(c, "--peer", &option.program)) continue;
        if (cli_text(c, "--ggml", &option.ggml) || cli_text(c, "--runq", &option.runq)) continue;
        if (cli_number(c, "--threads", 1, TFN_THREADS_MAX, &threads)) continue;
        if (cli_number(c, "--rounds", 1, ROUNDS, &rounds)) continue;
        if (cli_number(c, "--simulate", 2, TFN_THREADS_MAX, &simulated)) continue;
        if (cli_real(c, "--barrier", 0, 1e6, &option.barrier)) continue;
        if (cli_real(c, "--bandwidth", 0.1, 1e4, &option.bandwidth)) continue;
        if (cli_real(c, "--minutes", 0.001, 1e5, &option.minutes)) continue;
        if (cli_is(c, "--json")) option.json = true;
        else if (cli_is(c, "--no-peers")) option.peers = false;
        else if (cli_is(c, "--counts")) option.counts = true;
        else if (cli_is(c, "--quick")) {
            option.quick = true;
            rounds = 3;
        } else if (a->count < 16 && parse_shape(&a->list[a->count], text)) a->count++;
        else if (takes_file(a) && !a->file && text[0] != '-') a->file = text;
        else cli_fail(c, "\"%s\" is neither an option nor a model", text);
    }
    a->given = a->count > 0;
    option.isa = tfn_isa_find(isa);
    option.threads = (int)threads;
    option.simulate = (int)simulated;
    option.rounds = (int)rounds;
}

/* Adds models smaller than tiny, down to width 8, and tiny with one sentence. */
static void add_smaller(bench_arguments *a)
{
    static const char *const texts[] = { "d=8,h=2,ff=32", "d=16,h=2,ff=64", "d=32,ff=128",
                                         "d=48,ff=192", "B=1" };
    for (int i = 0; i < 5; i++) parse_shape(&a->list[a->count++], texts[i]);
}

/* Adds the models of the table; for quant GPT-2; with --quick only the small ones. */
static void add_shapes(bench_arguments *a)
{
    const bool threads = !strcmp(a->name, "threads") && !option.simulate;
    const bool quant = !strcmp(a->name, "quant");
    if (quant && !option.quick) parse_shape(&a->list[a->count++], "gpt2");
    if (quant && option.quick) parse_shape(&a->list[a->count++], "tiny");
    if (quant) return;
    if (threads) add_smaller(a);
    for (int i = 0; i < SHAPES; i++)
        if (!option.quick || shapes[i].width < 384) a->list[a->count++] = shapes[i];
}

static int run_named(const bench_arguments *a)
{
    const char *name = a->name;
    const tfn_kernels *k = tfn_kernels_for(option.isa);
    if (!strcmp(name, "peak")) each_isa(bench_peak);
    else if (!strcmp(name, "gemm")) bench_gemm(k);
    else if (!strcmp(name, "kernels")) bench_kernels(k);
    else if (!strcmp(name, "attention")) bench_attention(k);
    else if (!strcmp(name, "train")) bench_train(a->list, a->count);
    else if (!strcmp(name, "optim")) bench_optim(a->list, a->count);
    else if (!strcmp(name, "decode")) bench_decode(a->list, a->count);
    else if (!strcmp(name, "quant")) bench_quant(a->list, a->count);
    else if (!strcmp(name, "threads") && option.simulate) bench_simulate(a->list, a->count);
    else if (!strcmp(name, "threads")) bench_threads(a->list, a->count);
    else if (!strcmp(name, "memory")) bench_memory(a->list, a->count);
    else if (!strcmp(name, "growth")) bench_growth();
    else if (!strcmp(name, "data")) bench_data(a->file, a->given ? a->list : beams + option.quick);
    else if (!strcmp(name, "learn")) bench_learn(a->file);
    else if (!strcmp(name, "denormals")) bench_denormals(a->given ? a->list : NULL);
    else if (!strcmp(name, "--help")) fputs(usage, stdout);
    else {
        fputs(usage, stderr);
        return 2;
    }
    return 0;
}

static int run_bench(int argc, char **argv)
{
    static bench_arguments a;
    cli c = { "bench", NULL, 0, 1, NULL };
    c.argv = argv;
    c.argc = argc;
    a.name = argc > 1 ? argv[1] : "";
    read_arguments(&a, &c);
    if (!a.given) add_shapes(&a);
    find_script(argv[0]);
    if (!tfn_kernels_for(option.isa)) {
        fprintf(stderr, "bench: this machine lacks it\n");
        return 1;
    }
    return run_named(&a);
}

int main(int argc, char **argv)
{
    output_begin("bench");
    return output_end(run_bench(argc, argv));
}
