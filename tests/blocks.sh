# Bits do not depend on how products are divided: kernels/test_dense.c, which knows only the definition, with
# other blocks than the header's.
. ./check.sh
mkdir -p "$work/tests"
cp check.h exact_fma.h "$work"
sed 's|^#include "../lib.h"|#define TFNORM_IMPLEMENTATION\n#include "../tfnorm.h"|' kernels/test_dense.c \
    > "$work/tests/dense.c"
# divide KC MC NC PASS: small blocks, so that small products have many, or long and flat ones
divide() {
    sed -e "s/^#define TFN__KC .*/#define TFN__KC $1/" -e "s/^#define TFN__MC .*/#define TFN__MC $2/" \
        -e "s/^#define TFN__NC .*/#define TFN__NC $3/" \
        -e "s|^#define TFN__PASS [0-9]*|#define TFN__PASS $4|" ../tfnorm.h > "$work/tfnorm.h" &&
        [ "$(diff ../tfnorm.h "$work/tfnorm.h" | grep -c '^>')" = 4 ] &&
        ${CC:-cc} -O1 -DTFNORM_ONLY_KERNELS -DTFNORM_ALL_ISA "$work/tests/dense.c" -o "$work/dense" -lm &&
        "$work/dense" > "$work/said" || { tail -n 20 "$work/said"; return 1; }
}
check "blocks: 40 steps, 42 rows, 128 columns" divide 40 42 128 90
check "blocks: 700 steps, 28 rows, 512 columns" divide 700 28 512 5000
finish
