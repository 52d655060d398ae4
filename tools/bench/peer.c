/* BLAS by dlopen; PyTorch by a pipe to peers/torch_peer.py. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "peer.h"
#include <stdlib.h>
#include <string.h>
#if defined __unix__ || defined __APPLE__
#include <dlfcn.h>
#include <unistd.h>

/* c = a b, row-major; ta, tb: a or b is transposed. */
void peer_gemm(const peer *p, bool ta, bool tb, int m, int n, int k, const float *a,
               const float *b, float *c)
{
    enum { ROW_MAJOR = 101, PLAIN = 111, TRANSPOSED = 112 };        /* of CBLAS */
    static const char letters[] = { 'N', 'T' };                     /* of oneDNN */
    static const int orders[] = { PLAIN, TRANSPOSED };
    int lda = k;
    int ldb = n;
    if (ta) lda = m;
    if (tb) ldb = k;
    if (p->dnnl) p->dnnl(letters[ta], letters[tb], m, n, k, 1, a, lda, b, ldb, 0, c, n);
    else p->cblas(ROW_MAJOR, orders[ta], orders[tb], m, n, k, 1, a, lda, b, ldb, 0, c, n);
}

/* A library's function, or NULL. */
static void *peer_symbol(const char *library, const char *symbol)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return NULL;
    return dlsym(handle, symbol);
}

/* Clears variables of the shell that would silently slow a peer, or speed it up. */
static void peer_clear(void)
{
    static const char *const names[] = {
        "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "OPENBLAS_NUM_THREADS", "OPENBLAS_BLOCK_FACTOR",
        "OPENBLAS_MAIN_FREE", "OPENBLAS_VERBOSE", "GOTO_NUM_THREADS", "GOTO_BLOCK_FACTOR",
        "BLIS_ARCH_TYPE", "BLIS_NUM_THREADS", "MKL_NUM_THREADS", "MKL_ENABLE_INSTRUCTIONS",
        "MKL_DEBUG_CPU_TYPE", "MKL_CBWR", "DNNL_MAX_CPU_ISA", "ONEDNN_MAX_CPU_ISA",
        "ATEN_CPU_CAPABILITY", "OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES",
        "OMP_WAIT_POLICY", "KMP_AFFINITY", "GOMP_CPU_AFFINITY", "GOMP_SPINCOUNT",
        "MALLOC_MMAP_MAX_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_",
        "MALLOC_ARENA_MAX", "GLIBC_TUNABLES", "LD_PRELOAD"
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
}

/* Names a peer after the core whose kernels OpenBLAS runs. */
static void name_openblas(peer *p)
{
    void *f = peer_symbol("libopenblas.so.0", "openblas_get_corename");
    char *(*core)(void) = NULL;
    const char *name = "unknown";
    memcpy(&core, &f, sizeof f);
    if (core) name = core();
    snprintf(p->name, sizeof p->name, "openblas %.20s", name);
}

/* OpenBLAS and oneDNN on one thread, with kernels for AVX-512 if the processor has it, because
 * Debian's OpenBLAS does not choose these on every processor. */
int peers_blas(peer *p, bool avx512)
{
    int count = 0;
    void *f;
    peer_clear();
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    setenv("OMP_NUM_THREADS", "1", 1);
    if (avx512) setenv("OPENBLAS_CORETYPE", "SKYLAKEX", 1);
    memset(p, 0, PEERS * sizeof *p);
    if ((f = peer_symbol("libopenblas.so.0", "cblas_sgemm")) != NULL) {
        memcpy(&p[count].cblas, &f, sizeof f);
        name_openblas(&p[count++]);
    }
    if ((f = peer_symbol("libdnnl.so.2", "dnnl_sgemm")) != NULL
        || (f = peer_symbol("libdnnl.so.3", "dnnl_sgemm")) != NULL) {
        memcpy(&p[count].dnnl, &f, sizeof f);
        snprintf(p[count++].name, sizeof p->name, "onednn");
    }
    return count;
}

/* Sends a question and reads a line as the answer; false: no answer. */
bool peer_tell(peer *p, const char *question, char *line, int room)
{
    fprintf(p->to, "%s\n", question);
    fflush(p->to);
    return fgets(line, room, p->from) && line[0] != '-';
}
/* Sends a question whose answer is a number of seconds; negative: no answer. */
double peer_ask(peer *p, const char *question)
{
    char line[100];
    if (!peer_tell(p, question, line, sizeof line)) return -1;
    return atof(line);
}
/* The path of a new file for the peers to read. */
bool peer_file(char *path, size_t room)
{
    const char *folder = getenv("TMPDIR");
    int f;
    if (!folder) folder = "/tmp";
    snprintf(path, room, "%s/bench-XXXXXX", folder);
    f = mkstemp(path);
    if (f < 0) path[0] = 0;
    return f >= 0 && !close(f);
}

/* Tells PyTorch and its BLAS which instructions they may use, because they do not always find these
 * themselves. glibc's allocator keeps the memory of large temporaries, which PyTorch otherwise
 * returns to the system at each step. On some machines fresh pages cost more than the products. */
static void peer_tune(bool avx512)
{
    const char *blas = "HASWELL";
    const char *aten = "avx2";
    if (avx512) {
        blas = "SKYLAKEX";
        aten = "avx512";
    }
    setenv("OPENBLAS_CORETYPE", blas, 1);
    setenv("ATEN_CPU_CAPABILITY", aten, 1);
    setenv("MALLOC_MMAP_MAX_", "0", 1);
    setenv("MALLOC_TRIM_THRESHOLD_", "100000000000", 1);
}

/* Starts a program, connected by two pipes. The first question asks for its version, which becomes
 * the end of its name; false: no answer. */
static bool peer_start(peer *p, const char *name, char *const *argv, bool tuned, bool avx512)
{
    char line[64] = "";
    int in[2], out[2];
    if (pipe(in) || pipe(out)) return false;
    if (fork() == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[0]);
        close(in[1]);
        close(out[0]);
        close(out[1]);
        if (!freopen("/dev/null", "w", stderr)) _exit(1);
        peer_clear();
        setenv("OMP_NUM_THREADS", "1", 1);
        if (tuned) peer_tune(avx512);
        execvp(argv[0], argv);
        _exit(1);
    }
    close(in[0]);
    close(out[1]);
    p->to = fdopen(in[1], "w");
    p->from = fdopen(out[0], "r");
    fprintf(p->to, "version\n");
    fflush(p->to);
    if (!fgets(line, sizeof line, p->from)) {
        fclose(p->to);
        fclose(p->from);
        return false;
    }
    line[strcspn(line, "\n")] = 0;
    snprintf(p->name, sizeof p->name, "%s%.34s", name, line);
    return true;
}

/* PyTorch as installed, and with an environment that lets it use the whole processor. */
int peers_torch(peer *p, const char *script, bool avx512)
{
    const char *python = getenv("TFN_PYTHON");
    char *argv[] = { (char *)python, (char *)script, NULL };
    int count = 0;
    if (!python) argv[0] = (char *)"/usr/bin/python3";
    memset(p, 0, PEERS * sizeof *p);
    count += peer_start(&p[count], "torch ", argv, false, avx512);
    count += peer_start(&p[count], "torch-tuned ", argv, true, avx512);
    return count;
}

/* A program that answers the same questions. Returns 1, or 0 if it does not start. */
int peer_program(peer *p, const char *program)
{
    char *const argv[] = { (char *)program, NULL };
    memset(p, 0, sizeof *p);
    return peer_start(p, "", argv, false, false);
}
#else
void peer_gemm(const peer *p, bool ta, bool tb, int m, int n, int k, const float *a,
               const float *b, float *c)
{
    (void)p, (void)ta, (void)tb, (void)m, (void)n, (void)k, (void)a, (void)b, (void)c;
}
int peers_blas(peer *p, bool avx512) { return (void)p, (void)avx512, 0; }
double peer_ask(peer *p, const char *question) { return (void)p, (void)question, -1; }
bool peer_tell(peer *p, const char *question, char *line, int room)
{
    return (void)p, (void)question, (void)line, (void)room, false;
}
bool peer_file(char *path, size_t room) { return (void)path, (void)room, false; }
int peers_torch(peer *p, const char *script, bool avx512)
{
    return (void)p, (void)script, (void)avx512, 0;
}
int peer_program(peer *p, const char *program) { return (void)p, (void)program, 0; }
#endif
