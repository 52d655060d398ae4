/* mpicc -O2 examples/22_mpi.c -o mpi -lm && mpirun -np 2 ./mpi
 * Trains on several machines, with the same bits on 1 to 8 of them. The work of an update is cut
 * into 8 shards, and any rank may compute any of them. Each rank sums its slice of the flat
 * gradient in the order of the shards, the slices are gathered, and every rank makes the same
 * update. Norms over a batch keep statistics of the shards of their rank, so their bits depend on
 * the number of ranks. Arguments: updates, recipe, checkpoint (loaded if it exists, written every
 * 10 updates), an update at which the last rank dies: the others end; the next run continues.
 * Prints, with the arguments 12 pre:
 *     ...
 *     hash b1029a27586c8e39 */
#define TFNORM_IMPLEMENTATION
#include "../tfnorm.h"
#include <mpi.h>
#include <stdio.h>

enum { SHARDS = 8, B = 4, T = 24, VOCAB = 16 };
static int rank, ranks;

/* Shard s of an update: rows to reverse, a different number each; the last has no targets. */
static tfn_batch fill(int32_t *tokens, int32_t *targets, int64_t update, int s)
{
    const tfn_key key = tfn_key_fold(tfn_key_make((uint64_t)update), (uint64_t)s);
    for (int i = 0; i < B*T; i++) {
        const int from = i % T < T/2 ? i : i / T * T + T - 1 - i % T;
        tokens[i] = (int32_t)(tfn_random_bits(key, (uint64_t)from) % VOCAB);
    }
    for (int i = 0; i < B*T; i++)
        targets[i] = s < SHARDS - 1 && i % T >= T/2 - 1 && i % T < T - 1 ? tokens[i + 1] : -1;
    return (tfn_batch){ .tokens = tokens, .targets = targets, .batch = 1 + s % B, .time = T };
}

/* Sum the gradients of all shards into every rank's vector, and their sums. Each round computes one
 * shard per rank; its slices go to the ranks that sum them, this rank's to `slice`. */
static tfn_status sum_gradients(tfn_model *m, float *slice, float *received, tfn_sums *sums)
{
    static int32_t tokens[B*T], targets[B*T];
    int64_t n;
    float *g = tfn_model_gradients(m, &n);
    int count[SHARDS], at[SHARDS], mine[SHARDS], back[SHARDS];
    for (int r = 0; r < ranks; r++) {
        at[r] = (int)(n * r / ranks);
        count[r] = (int)(n * (r + 1) / ranks) - at[r];
    }
    for (int r = 0; r < ranks; r++) {
        mine[r] = count[rank];
        back[r] = r * count[rank];
    }
    memset(slice, 0, (size_t)count[rank] * sizeof *slice);
    memset(sums, 0, sizeof *sums);
    for (int first = 0; first < SHARDS; first += ranks) {
        const int s = first + rank;
        tfn_sums own = { 0 }, all[SHARDS];
        if (s < SHARDS) {
            tfn_batch batch = fill(tokens, targets, m->step, s);
            if (tfn_model_gradient(m, &batch, s, false, &own) != TFN_OK) return m->error.status;
        }
        MPI_Alltoallv(g, count, at, MPI_FLOAT, received, mine, back, MPI_FLOAT, MPI_COMM_WORLD);
        MPI_Allgather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, MPI_COMM_WORLD);
        for (int r = 0; r < ranks && first + r < SHARDS; r++) {
            for (int i = 0; i < count[rank]; i++) slice[i] += received[back[r] + i];
            sums->loss += all[r].loss;
            sums->nll += all[r].nll;
            sums->targets += all[r].targets;
        }
    }
    MPI_Allgatherv(slice, count[rank], MPI_FLOAT, g, count, at, MPI_FLOAT, MPI_COMM_WORLD);
    return TFN_OK;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int64_t updates = argc > 1 ? atol(argv[1]) : 60, death = argc > 4 ? atol(argv[4]) : -1;
    tfn_model_desc desc = { .vocab = VOCAB, .context = T, .batch = B, .threads = 1, .clip = 1,
                            .dropout = 0.1f, .recipe = argc > 2 ? argv[2] : "pre" };
    desc.schedule = (tfn_schedule){ .lr = 3e-3f, .warmup = 20 };
    tfn_model model;
    tfn_file from = { .path = argc > 3 ? argv[3] : NULL }, to = from;
    tfn_sums sums;
    static int32_t tokens[B*T], targets[B*T];
    if (ranks > SHARDS || tfn_model_new(&model, &desc, NULL) != TFN_OK)
        MPI_Abort(MPI_COMM_WORLD, 1);
    int64_t n;
    tfn_model_gradients(&model, &n);
    float *slice = malloc(3 * (size_t)n * sizeof *slice), *received = slice + n;
    if (from.path && tfn_file_open(&from) == TFN_OK && tfn_model_load(&model, &from) != TFN_OK)
        MPI_Abort(MPI_COMM_WORLD, 1);
    tfn_batch first = fill(tokens, targets, 0, 0);
    tfn_model_profile(&model, &first);          /* from one shard; no effect in most recipes */

    const double begin = MPI_Wtime();
    for (const int64_t start = model.step; model.step < updates;) {
        tfn_report report;
        if (model.step == death && rank == ranks - 1) abort();
        if (sum_gradients(&model, slice, received, &sums) != TFN_OK
            || tfn_model_update(&model, &sums, tfn_model_rate(&model), &report) != TFN_OK)
            MPI_Abort(MPI_COMM_WORLD, 1);
        if (rank == 0 && (model.step % 10 == 0 || model.step == updates))
            printf("update %3d  loss %.4f  %.0f shards/s\n", (int)model.step, report.loss,
                   (double)(SHARDS * (model.step - start)) / (MPI_Wtime() - begin));
        if (to.path && rank == 0 && model.step % 10 == 0
            && tfn_model_save(&to, &model, NULL) != TFN_OK) MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank == 0) printf("hash %016llx\n", (unsigned long long)tfn_model_hash(&model));
    return MPI_Finalize();
}
