# The walk-throughs of tools/source/README.md, followed to the letter: their code is inserted in a copy
# of the parts at the places that they name, and the toy topology, norm, operation and optimizer are
# trained.
. ./check.sh

# walk FIRST-LINE: prints the block of code that begins with this line
walk() {
    awk -v first="$1" '
        before == "```c" && index($0, first) == 1 { found = 1 }
        found && $0 == "```" { exit }
        found { print }
        { before = $0 }' ../tools/source/README.md
}
# before PART LINE: inserts the standard input before the part's first line that begins with LINE
before() {
    cat > "$work/part"
    [ -s "$work/part" ] || { echo "README.md has no code for $1"; return 1; }
    awk -v line="$2" -v part="$work/part" '
        !done && index($0, line) == 1 {
            while ((getline text < part) > 0) print text
            done = 1
        }
        { print }
        END { exit !done }' "$work/source/$1" > "$work/next" || { echo "no line $2"; return 1; }
    mv "$work/next" "$work/source/$1"
}
append() {              # append PART: appends the standard input
    cat > "$work/part"
    [ -s "$work/part" ] || { echo "README.md has no code for $1"; return 1; }
    cat "$work/part" >> "$work/source/$1"
}
macro() { sed 's/$/ \\/'; }         # lines of a macro

method() { walk '#ifdef TFN__RULES' | before model/methods.h '#endif /* TFN__ALL */'; }
operation() {
    walk 'static void TFN__N(tfn__relu3_forward)' | append bodies/ffn.c &&
        walk 'void (*relu3_forward)' | before api/api_kernels.h '} tfn_kernels;' &&
        walk 'TFNORM_API tfn_var tfn_relu3(' | sed '1!d; s/$/;/' |
            before api/api_tape.h 'TFNORM_API tfn_var tfn_activation(' &&
        walk 'TFN__N(tfn__relu3_forward)' | before bodies/table.c '};' &&
        walk 'SHARED void tfn__relu3_op' | append tape/op_values.c &&
        walk 'X(RELU3' | macro | before tape/tape.h '    TFN__MORE_OPS(X)' &&
        walk 'TFNORM_API tfn_var tfn_relu3(' |
            before tape/record_ops.c 'TFNORM_API tfn_var tfn_glu('
}
optimizer() {
    walk 'X(EACH, NONE, FLAT, TFN_OPTIMIZER_SIGNUM' | sed '$!s/$/ \\/' |
        before api/api_kernels.h '#define TFN__OPTIMIZER_ENUM' &&
        awk '/X\(EACH, NONE, FLAT, TFN_OPTIMIZER_SIGNUM/ { $0 = $0; sub(/$/, " \\", last) }
             NR > 1 { print last } { last = $0 } END { print last }' \
            "$work/source/api/api_kernels.h" > "$work/list" &&
        mv "$work/list" "$work/source/api/api_kernels.h" &&
        walk 'static TFN__INLINE TFN__V TFN__N(tfn__signum_step)' |
            before bodies/optimizers.c 'static void TFN__N(tfn__update)' &&
        printf '%s\n' '        if (tfn__is_optimizer(u, TFN_OPTIMIZER_SIGNUM))' \
            '            d = TFN__N(tfn__signum_step)(m, d, i, k, u);' '        else' |
            before bodies/optimizers.c '        if (sgd) d = '
}
rm -rf "$work/source"
cp -r ../tools/source "$work/"
check "walk-through: a method" method
check "walk-through: an operation" operation
check "walk-through: an optimizer" optimizer

joined() {
    ${CC:-cc} -std=c99 "$work/source/join.c" -o "$work/join" &&
        "$work/join" "$work/source" > "$work/tfnorm.h"
}
check "walk-through: the parts are joined" joined
# a method changes one place, with at most 12 lines
lines() { [ "$(walk '#ifdef TFN__RULES' | wc -l)" -le 12 ]; }
check "walk-through: 12 lines are enough" lines
# clang takes half a second at -O0, gcc optimizes the kernels whatever the options are
cc=${CC:-cc}
if have clang; then cc=clang; fi
toys() {
    # shellcheck disable=SC2086
    $cc -std=c99 -O0 -Wall -Wextra -Werror -DTFNORM_NO_SIMD -I"$work" $1 toys.c \
        -o "$work/toys" -lm && "$work/toys"
}
check "walk-through: gradients by differences" toys -DTFN__DOUBLE
check "walk-through: training" toys
finish
