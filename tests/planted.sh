# TFNORM_DEBUG finds mistakes that are planted into a copy of the header: a backward that reads an array that
# its row of operations does not name, and a kernel that writes one value too many. Without them nothing
# is found. The program is compiled at -O0, as for debugging.
. ./check.sh
. ./mutate.sh
cat > "$work/train.c" <<'END'
#define TFNORM_IMPLEMENTATION
#include "tfnorm.h"
#include <stdio.h>
int main(void)
{
    static const int32_t ids[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 3 };
    tfn_model_desc d = { 0 };
    tfn_batch b = { 0 };
    tfn_model m;
    tfn_report r = { 0 };
    d.vocab = 11;
    d.context = 6;
    d.batch = 2;
    d.activation = TFN_ACTIVATION_SWIGLU;
    d.ffn = 13;
    b.tokens = b.targets = ids;
    b.batch = 2;
    b.time = 6;
    if (tfn_model_new(&m, &d, NULL) != TFN_OK) return 1;
    for (int i = 0; i < 3; i++)
        if (tfn_model_step(&m, &b, &r) != TFN_OK || r.skipped) return 2;
    printf("loss %.4f\n", r.loss);
    tfn_model_free(&m);
    return 0;
}
END

# ends CODE FLAGS: the program, compiled with the header in $work, ends with this code
ends() {
    wanted=$1
    shift
    ${CC:-cc} -std=c99 -O0 "$@" "$work/train.c" -o "$work/train" -lm || return 1
    (ulimit -c 0; exec "$work/train") > "$work/page" 2>&1
    code=$?
    cat "$work/page"
    [ $code = "$wanted" ] || { echo "code $code, wanted $wanted"; return 1; }
}
sound() { cp ../tfnorm.h "$work/tfnorm.h" && ends 0 -DTFNORM_DEBUG; }
check "a debug build finds nothing" sound

# the backward of a gated unit reads both of its inputs, but its row names one
reads='s/\(X(GATED, [^|]*TFN__IN0\) | TFN__IN1)/\1)/'
reads_dead() { plant "$reads" "$work/tfnorm.h" && ends 2 -DTFNORM_DEBUG; }
check "a debug build: dead memory is read" reads_dead

# the product of a gated unit continues one value too far
writes='s/TFN__EACH(i, k, n)/TFN__EACH(i, k, n + 1)/'
one_line_each ../tfnorm.h > "$work/lines"
writes_beside() {
    mutate "$work/lines" 'TFN__N(tfn__multiply)' "$writes" "$work/tfnorm.h" && ends 134 -DTFNORM_DEBUG &&
        grep -q 'an operation wrote outside its arrays' "$work/page"
}
check "a debug build: one value too many is written" writes_beside
finish
