#!/bin/sh
# build.sh [OUT]: the pages and their engine, into ../bin/web. Needs clang 16 or later with its wasm-ld
# (CLANG and WASM_LD name others), gzip, base64, awk: no emscripten, no node.
cd "$(dirname "$0")" || exit 1
out=${1:-../bin/web}
knows() {               # knows CLANG: the instructions, by the names that they have since 16
    echo '#include <wasm_simd128.h>
        v128_t f(v128_t x) { return wasm_f32x4_relaxed_madd(x, x, x); }' |
        "$1" --target=wasm32 -msimd128 -mrelaxed-simd -ffreestanding -x c -c - -o /dev/null 2> /dev/null
}
for version in "" -21 -20 -19 -18 -17 -16; do
    [ "$CLANG" ] && break
    command -v "wasm-ld$version" > /dev/null && knows "clang$version" || continue
    CLANG=clang$version WASM_LD=${WASM_LD:-wasm-ld$version}
done
[ "$CLANG" ] || { echo "build.sh: clang 16 and wasm-ld are needed, or later (clang-19, lld-19)" >&2; exit 1; }
mkdir -p "$out/include/sys"
for name in errno fcntl math sched signal stdio stdlib string sys/stat time unistd; do
    echo '#include "libc.h"' > "$out/include/$name.h"
done

# The engine is linked of these, each compiled without files.
lab="block claims compare drawing features lab lab_data lab_look lab_run lab_samples lab_score
     lab_spec list rows sides tongues"
sources="engine.c libc.c $(printf '../common/%s.c ' cli data library output svg tasks)
         $(printf '../normlab/%s.c ' $lab)"

module() {              # module NAME FLAGS
    mkdir -p "$out/$1"
    # shellcheck disable=SC2086
    for source in $sources; do
        $CLANG --target=wasm32 -std=c99 -ffreestanding -mbulk-memory $2 -DTFNORM_NO_STDIO -DCOMPARE_NO_FILES \
            -isystem "$out/include" -I. -c "$source" -o "$out/$1/$(basename "$source" .c).o" || exit 1
    done
    ${WASM_LD:-wasm-ld} --no-entry --gc-sections --strip-all -z stack-size=1048576 "$out/$1"/*.o -o "$out/$1.wasm" &&
        gzip -9nc "$out/$1.wasm" | base64 | tr -d '\n' > "$out/$1.base64" || exit 1
}
module relaxed "-O2 -msimd128 -mrelaxed-simd"
module simd "-O2 -msimd128"
module plain -Oz

# As JavaScript. The pages go without plain C: browsers that unpack gzip have SIMD, but for three
# versions of Chrome of 2020.
embed() {               # embed NAME ...
    for name; do
        printf 'Tfnorm.embedded.%s = "' "$name"
        cat "$out/$name.base64"
        printf '";\n'
    done
}
embed relaxed simd > "$out/embedded.js"
{ cat engine.js "$out/embedded.js"; embed plain; } > "$out/tfnorm.js"

# The row of each topology in the header, and which one a recipe has. TFNORM_SOURCE: the address of
# the header, if there is one to link to; the pages then name the row's line, "#L17".
awk -v source="$TFNORM_SOURCE" '
    function text(s) { gsub(/[\\"]/, "\\\\&", s); return "\"" s "\"" }
    /^#define TFNORM_VERSION "/ { split($0, part, "\""); version = part[2] }
    /^TFN__(TOPOLOGY|AGGREGATED)\("/ { at = NR; row = ""; depth = 0; split($0, part, "\""); name = part[2] }
    at {
        row = row (row == "" ? "" : "\n") $0
        line = $0
        depth += gsub(/\(/, "", line) - gsub(/\)/, "", line)
        if (depth == 0) {
            gsub(/\n/, "\001", row); row = text(row); gsub(/\001/, "\\n", row)
            rows = rows sprintf("    %s: [%d, %s],\n", text(name), source == "" ? 0 : at, row); at = 0
        }
    }
    /^TFN__RECIPE\("/ { split($0, part, "\""); recipes = recipes sprintf("%s: %s, ", text(part[2]), text(part[4])) }
    END { printf "const HEADER = { version: %s, source: %s, rows: {\n%s}, recipes: { %s} };\n", text(version), text(source), rows, recipes }
' ../../tfnorm.h > "$out/header.js" || exit 1

# The model inside the second page.
{ printf 'const MODEL = "'; base64 model.safetensors | tr -d '\n'; printf '";\n'; } > "$out/model.js"

# Lines "<!-- include FILE -->" become the file.
for page in *.html; do
    [ -f "$page" ] || continue
    awk -v out="$out/" '/^<!-- include .* -->$/ {
            file = $3
            if (file == "embedded.js" || file == "header.js" || file == "model.js") file = out file
            while ((got = (getline line < file)) > 0) print line
            if (got < 0) { print "no " file > "/dev/stderr"; exit 1 }
            next
        } { print }' "$page" > "$out/$page" || exit 1
done
