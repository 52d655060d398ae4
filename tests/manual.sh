# The manual's recipes work unchanged: CMake's lines build a program, and the user's loop and
# the weights from numpy compile and work as described.
. ./check.sh
# clang takes a second at -O0, gcc optimizes the kernels whatever the options are
cc=${CC:-cc}
if have clang; then cc=clang; fi
# lines SECTION [FROM]: the code of a section of the manual, after the line that ends with FROM
lines() {
    awk -v section=" * $1" -v from="${2:-}" '
        $0 == section { inside = 1; on = from == ""; next }
        inside && /^ \* [A-Z][A-Z ]*$/ { exit }
        inside && from != "" && substr($0, length($0) - length(from) + 1) == from { on = 1 }
        inside && on && /^ \*        / { print substr($0, 11) }' ../tfnorm.h
}
projects() {
    rm -rf "$work/cmake"
    mkdir -p "$work/cmake"
    {
        echo 'cmake_minimum_required(VERSION 3.14)'
        echo 'project(program C)'
        lines CMAKE
    } > "$work/cmake/CMakeLists.txt"
    [ "$(lines CMAKE | wc -l)" = 6 ] || { lines CMAKE; return 1; }
    printf '#define TFNORM_IMPLEMENTATION\n#include "tfnorm.h"\n' > "$work/cmake/tfnorm.c"
    printf '#include "tfnorm.h"\nint main(void) { return tfn_isa_find("plain") < 0; }\n' \
        > "$work/cmake/program.c"
    cmake -S "$work/cmake" -B "$work/cmake/build" "-DFETCHCONTENT_SOURCE_DIR_TFNORM=$PWD/.." \
        "-DCMAKE_C_COMPILER=$cc" -DCMAKE_C_FLAGS=-DTFNORM_NO_SIMD &&
        cmake --build "$work/cmake/build" && "$work/cmake/build/program"
}
if have cmake; then check "manual: CMake" projects
else skip "manual: CMake" "no cmake"
fi

compiles() {            # compiles NAME: $work/NAME.c
    $cc -O0 -std=c99 -Wall -Wextra -Werror -DTFNORM_NO_SIMD -I.. "$work/$1.c" \
        -o "$work/$1" -lm
}
# Saves a model; another with another seed takes its weights by the manual's loop.
weights() {
    {
        cat <<'END'
#define TFNORM_IMPLEMENTATION
#include "tfnorm.h"
static int take(tfn_model model)
{
END
        lines "WEIGHTS FROM NUMPY" "and in C:" | sed 's/"weights/WORK "\/weights/'
        cat <<'END'
    return 0;
}
int main(void)
{
    tfn_model_desc desc = { .vocab = 5, .context = 4, .width = 8, .layers = 1 };
    tfn_checkpoint with = { .weights_only = true };
    tfn_file to = { .path = WORK "/weights.safetensors" };
    tfn_model one, two;
    tfn_param_info info;
    if (tfn_model_new(&one, &desc, NULL) != TFN_OK) return 2;
    desc.seed = 7;
    if (tfn_model_new(&two, &desc, NULL) != TFN_OK) return 3;
    if (tfn_model_hash(&one) == tfn_model_hash(&two)) return 4;
    if (tfn_model_save(&to, &one, &with) != TFN_OK || take(two)) return 5;
    if (tfn_model_hash(&one) != tfn_model_hash(&two)) return 6;
    for (int32_t i = 0; tfn_model_param(&two, i, &info); i++)
        if (!strcmp(info.name, "decoder.0.self.q.weight")) return 0;
    return 7;
}
END
    } | sed "1i #define WORK \"$work\"" | sed '2i #include <string.h>' > "$work/weights.c"
    grep -q tfn_file_read "$work/weights.c" && compiles weights && "$work/weights"
}
check "manual: weights from numpy" weights
loop() {                # the same lines as the example, except its output and checks
    lines "A LOOP OF YOUR OWN" | sed '1,/worse = 0;$/d' | sed '/^}/q; s, *//.*,,' | grep -o 'tfn_model_[a-z]*\|memcpy\|worse = 0\|best = ' \
        > "$work/loop"
    sed -n '/All parameters are one/,/^    }$/p' ../examples/02_two_files.c |
        grep -o 'tfn_model_param\|tfn_model_step\|tfn_model_eval\|memcpy\|worse = 0\|best = ' \
        > "$work/example"
    diff "$work/loop" "$work/example" && [ "$(wc -l < "$work/loop")" = 6 ]
}
check "manual: a user's loop" loop
# Each section's C code becomes a function, in the order of the manual. A name is declared in its
# section or in STEP BY STEP; names that the reader supplies are declared here.
snippets() {
    {
        cat <<'END'
#define TFNORM_IMPLEMENTATION
#include "tfnorm.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
extern tfn_batch held_out, shard[4];
extern float penalty(int64_t at);
extern void fill(int32_t *tokens, int32_t *targets);
extern bool read_page(void *user, int32_t page, void *to);
extern bool write_page(void *user, int32_t page, const void *from);
END
        echo 'int steps(void) {'
        lines "STEP BY STEP"
        echo 'return logits != NULL; }'
        # what the other sections take from it
        lines "STEP BY STEP" | grep -E '^(tfn_(model_desc|model|batch|report)) [a-z]+( = \{ 0 \})?;$'
        for section in "A LOOP OF YOUR OWN" "WEIGHTS FROM NUMPY" MEMORY BOARDS ERRORS; do
            echo "int $(echo "$section" | tr 'A-Z ' a-z_)(void) {"
            if [ "$section" = "WEIGHTS FROM NUMPY" ]; then lines "$section" "and in C:"
            else lines "$section"
            fi
            echo 'return 0; }'
        done
    } > "$work/snippets.c"
    [ "$(wc -l < "$work/snippets.c")" -gt 110 ] &&
        $cc -O0 -std=c99 -Wall -Wextra -Werror -Wno-unused-but-set-variable -Wno-unused-variable \
            -DTFNORM_NO_SIMD -I.. -fsyntax-only "$work/snippets.c"
}
check "manual: every snippet compiles unchanged" snippets
version() {             # a header, with an implementation of another version
    $cc -std=c99 -Wall -Wextra -Werror -pedantic compile/version.c -o "$work/version" && "$work/version"
}
check "the header knows an implementation of another version" version
numbers() {             # numbers FILE: it names the current version, and asks CMake for the same minor version
    version=$(sed -n 's/^#define TFNORM_VERSION "\(.*\)"$/\1/p' ../tfnorm.h)
    sed -n 's/.*find_package(tfnorm \([0-9.]*\)).*/\1/p; s/.*Version \([0-9.]*[0-9]\)\. *One C99.*/\1/p' "$1" |
        grep -vxF -e "$version" -e "${version%.*}" > "$work/stale"
    grep -q 'find_package(tfnorm [0-9]' "$1" && [ ! -s "$work/stale" ]
}
stale_numbers() {       # an old version is seen
    sed "s/find_package(tfnorm [0-9.]*)/find_package(tfnorm 0.2)/" ../tfnorm.h > "$work/stale.h" && ! numbers "$work/stale.h"
}
check "manual: an old version number is seen" stale_numbers
check "manual: its version numbers are current" numbers ../tfnorm.h
check "the package's configuration: its version number is current" numbers ../tools/packaging/tfnorm-config.cmake
# API.md must equal the output of its program, and list everything that is declared.
reference() {
    MAKEFLAGS= make -s -C ../tools reference reference="$PWD/$work/API.md" || return 1
    cmp "$work/API.md" ../tools/API.md || { echo 'make -C tools reference writes it anew'; return 1; }
    cat ../tools/source/api/*.h > "$work/api"
    {
        grep -oE '^(TFNORM_API|static inline) .*' "$work/api" | grep -oE 'tfn_[a-z_0-9]+\(' | sort -u
        grep -oE '^(} |typedef .*[ *])tfn_[a-z_0-9]+(;|\()' "$work/api" | grep -oE 'tfn_[a-z_0-9]+.$' |
            grep -v tfn__ | sed 's/[;(]$/`/'
        grep -oE '^#define (TFN|TFNORM)_[A-Z_]+ ' "$work/api" | grep -v ' TFNORM_API ' | cut -d ' ' -f 2
    } > "$work/declared"
    [ "$(wc -l < "$work/declared")" -gt 200 ] || return 1
    while read -r name; do
        grep -qF -e "$name" ../tools/API.md || { echo "API.md lacks $name"; return 1; }
    done < "$work/declared"
}
check "API.md is current and complete" reference
finish
