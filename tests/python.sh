# tools/tfnorm.py, without numpy and, if a python3 has it, with numpy: the bits of the same training in
# C, views, errors, the step in parts, files, generation, and the loop in its docstring, unchanged.
. ./check.sh
have python3 || { skip python "no python3"; finish; exit; }
python=
for p in python3 /usr/bin/python3; do
    [ "$python" ] || ! "$p" -c 'import numpy' 2> /dev/null || python=$p
done

# The library without vectors compiles in a third of the time; the twin has them, and the same bits.
TFNORM_CACHE=$PWD/$work/cache TFNORM_CFLAGS="-O1 -DTFNORM_NO_SIMD"
if have clang; then
    export CC=clang
    TFNORM_CFLAGS="$TFNORM_CFLAGS $fma"
else TFNORM_CFLAGS=-O2
fi
export TFNORM_CACHE TFNORM_CFLAGS PYTHONDONTWRITEBYTECODE=1
unset TFNORM_LIBRARY

cat > "$work/twin.c" << 'END'
#include "../../../tfnorm.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
enum { V = 27, T = 12, B = 5 };

/* The options and batches of python.py. */
static tfn_status train(tfn_model *m, tfn_report *report)
{
    static int32_t tokens[B * T], targets[B * T], lengths[B] = { T, T, T, T, 4 };
    tfn_model_desc d = { 0 };
    tfn_batch batch = { 0 };
    d.vocab = V, d.context = T, d.batch = B, d.width = 24, d.heads = 3, d.layers = 2;
    d.recipe = "b2t", d.dropout = 0.1f, d.clip = 1, d.activation = TFN_ACTIVATION_SWIGLU;
    d.schedule.kind = TFN_SCHEDULE_INVERSE_SQRT, d.schedule.lr = 3e-3f, d.schedule.warmup = 4;
    d.untied = true, d.seed = 7, d.threads = 1;
    batch.tokens = tokens, batch.targets = targets, batch.lengths = lengths;
    batch.batch = B, batch.time = T;
    if (tfn_model_new(m, &d, NULL) != TFN_OK) return m->error.status;
    for (int step = 0; step < 20; step++) {
        for (int i = 0; i < B * T; i++) {
            tokens[i] = (i * i * 7 + step * 13 + i / T) % V;
            targets[i] = (i * 5 + step) % V;
        }
        if (tfn_model_step(m, &batch, report) != TFN_OK) return m->error.status;
    }
    return TFN_OK;
}

int main(int argc, char **argv)
{
    tfn_model m;
    tfn_report report;
    if (train(&m, &report) != TFN_OK) return 1;
    if (argc == 2) {
        printf("%.17g %.9g %016" PRIx64 "\n", report.loss, (double)report.grad_norm,
               tfn_model_hash(&m));
        return 0;
    }
    tfn_tokenizer_desc bytes = { .kind = TFN_TOKENIZER_BYTES };
    tfn_trainer trainer;
    tfn_tokenizer tokenizer;
    tfn_tokenizer_source source = { .trainer = &trainer };
    tfn_checkpoint with = { .tokenizer = &tokenizer };
    tfn_file file = { .path = argv[2] };
    const size_t room = tfn_trainer_size(&bytes);
    tfn_trainer_init(&trainer, &bytes, malloc(room), room);
    tfn_trainer_run(&trainer);
    const size_t size = tfn_tokenizer_size(&source);
    tfn_tokenizer_init(&tokenizer, &source, malloc(size), size);
    return tfn_model_save(&file, &m, &with) != TFN_OK;
}
END
MAKEFLAGS= make -s build/lib.o || exit 1                # the tests' library, up to date
twin() { ${CC:-cc} -O1 -Wall -Wextra -Werror "$work/twin.c" build/lib.o -o "$work/twin" -lm; }
check "python: the twin in C compiles" twin
check "python: without numpy" python3 python_plain.py "$PWD/$work/twin"
[ "$python" ] || { skip "python: with numpy" "no python3 has it"; finish; exit; }
for name in library bits options views errors parts files tokenizers generation reading \
    probes losses groups lora packed kinds lines folders documented notebook installed; do
    check "python: $name" "$python" python.py "$name" "$PWD/$work/twin"
done
finish
