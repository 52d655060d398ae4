# tfn quantize and other commands on packed weights: inspect, use, train --from, import, export
# to C, whose program prints what tfn generate prints.
. ./check.sh
tfn=$work/tfn
check "tfn compiles" get_tool tfn
rm -rf "$work"/*.safetensors "$work"/*.h "$work/x" "$work/hub"
types="q8 q4 bf16 f16"
trains() {
    "$tfn" train --task copy --arch decoder --layers 2 --width 64 --heads 2 --ffn 96 --context 16 \
        --min 2 --max 5 --steps 150 --batch-tokens 256 --items 3000 --held 60 --threads 1 --quiet \
        --set untied=true --out "$work/m.safetensors" > "$work/page"
}
check "tfn train: a model to quantize" trains
hash_of() { sed -n 's/^hash //p' "$1"; }
bytes_of() { wc -c < "$work/$1.safetensors"; }

# printed sizes and losses are those of the files: tfn eval finds the same
quantizes() {
    printf 'a b\ta b\na c d\ta c d\n' > "$work/text"
    for type in $types; do
        "$tfn" quantize "$work/m.safetensors" --to $type --on "$work/text" > "$work/said.$type" ||
            return 1
        for file in m m.$type; do
            "$tfn" eval "$work/$file.safetensors" "$work/text" | sed -n 's/^loss *//p' || return 1
        done > "$work/losses"
        sed -n 's/^loss *\([0-9.]*\), was \([0-9.]*\):.*/\2 \1/p' "$work/said.$type" | tr ' ' '\n' |
            awk '{ printf "%.4f\n", $1 }' | diff - "$work/losses" &&
            "$tfn" inspect "$work/m.$type.safetensors" > "$work/seen.$type" &&
            grep -q "weights $type, .*, hash $(hash_of "$work/said.$type")\$" "$work/seen.$type" &&
            said_bytes $type "$(moves $type)" || return 1
    done
    [ $((4 * $(bytes_of m.q4))) -lt $((3 * $(bytes_of m.q8))) ] &&
        [ $((4 * $(bytes_of m.q8))) -lt $((3 * $(bytes_of m.f16))) ]
}
moves() { case $1 in q8) echo 0.01 ;; q4) echo 0.12 ;; bf16) echo 0.003 ;; f16) echo 0.0004 ;; esac; }
# said_bytes TYPE MOST: the kinds sum to the total, which equals the tensors of the file, and numbers
# moved by less than MOST, relative to their size
said_bytes() {
    awk '$1 == "all" { exit !(was == $3 && is == $4) } NF > 4 { was += $(NF-2); is += $(NF-1) }' \
        "$work/said.$1" && awk -v most="$2" '
            /^[a-z]/ && NF > 4 && $1 !~ "still|loss" { n++; if (!($NF > 0 && $NF < most)) exit bad = 1 }
            END { exit bad || n < 5 }' "$work/said.$1" &&
        [ "$(awk '$1 == "all" { print $4 }' "$work/said.$1")" = \
          "$(awk '/bytes/ && $1 != "tokenizer" { n += $NF } END { print n }' "$work/seen.$1")" ]
}
check "tfn quantize --on" quantizes
# numbers move by at most half a step of their type; 16-bit ones convert back unchanged
inspects() {
    "$tfn" quantize "$work/m.bf16.safetensors" --to float32 -o "$work/back.safetensors" \
        > "$work/page" || return 1
    for file in m m.q8 m.bf16 back; do
        "$tfn" inspect "$work/$file.safetensors" | grep -v '^training\|^model\|tensors, ' > "$work/$file.seen"
    done
    sed -n 's/^decoder.0.self.q.weight *\([A-Z0-9]*\) *64 x 64 .*bytes \(.*\)/\1 \2/p' \
        "$work/m.seen" "$work/m.q8.seen" "$work/m.bf16.seen" "$work/back.seen" | tr '\n' ' ' > "$work/page"
    [ "$(cat "$work/page")" = "F32 16384 Q8 4352 BF16 8192 F32 16384 " ] &&
        awk '{ print $1, $(NF-4), $(NF-2) }' "$work/m.bf16.seen" > "$work/one" &&
        awk '{ print $1, $(NF-4), $(NF-2) }' "$work/back.seen" | cmp - "$work/one" &&
        close_norms "$work/m.q8.seen" && close_norms "$work/m.bf16.seen" || return 1
    for type in q8 q4; do       # within the effect of unrounded inputs
        "$tfn" quantize "$work/m.$type.safetensors" --to float32 --on "$work/text" --force \
            -o "$work/near.safetensors" > "$work/page" &&
            awk '$1 == "loss" { n++; d = $NF == "%" ? $(NF-1) : 99; if (d*d > 4) exit bad = 1 }
                 END { exit bad || n != 1 }' "$work/page" || { cat "$work/page"; return 1; }
    done
    for file in back m.bf16; do
        "$tfn" logits "$work/$file.safetensors" --ids "1 3 2" > "$work/$file.logits" || return 1
    done
    cmp "$work/back.logits" "$work/m.bf16.logits" &&
        "$tfn" logits "$work/m.safetensors" --ids "1 3 2" > "$work/page" &&
        ! cmp -s "$work/page" "$work/back.logits"
}
close_norms() {         # norms of each tensor agree with those of the floats within a hundredth
    awk 'NR == FNR { norm[$1] = $(NF-4); next }
         $1 != "tokenizer" { n++; d = $(NF-4) - norm[$1]; if (d*d > 1e-4 * norm[$1]^2) exit bad = 1 }
         END { exit bad || n < 20 }' "$work/m.seen" "$1"
}
check "tfn inspect; tfn quantize --to float32" inspects
uses() {                # everything that a model of floats can do
    printf 'a b\nc d e\n' > "$work/lines"
    for type in $types; do
        file=$work/m.$type.safetensors
        "$tfn" generate "$file" "$work/lines" --max-tokens 8 > "$work/page" &&
            [ "$(wc -l < "$work/page")" = 2 ] &&
            "$tfn" embed "$file" "$work/lines" > "$work/page" && [ "$(awk '{ print NF }' "$work/page" |
            tr '\n' ' ')" = "64 64 " ] && ! grep -q nan "$work/page" &&
            "$tfn" chat "$file" "$work/lines" --max-tokens 4 > "$work/page" &&
            "$tfn" inspect "$file" --text ab --out "$work/page.html" --force || return 1
    done
    "$tfn" eval "$work/m.safetensors" | sed -n 's/^accuracy *//p' > "$work/one" &&
        "$tfn" eval "$work/m.q8.safetensors" | sed -n 's/^accuracy *//p' > "$work/two"
    awk 'NR == 1 { a = $1 } END { exit !(NR == 2 && a > 0.5 && (a - $1)^2 < 1e-4) }' "$work/one" "$work/two"
}
check "tfn: a packed model in use" uses
# LoRA on packed weights: from a packed file, or from floats that are packed on loading
tunes() {
    lora="train --task copy --arch decoder --steps 3 --items 300 --held 20 --threads 1 --quiet --force"
    lora="$lora --lora *.self.[qv].weight:2 --from"
    # shellcheck disable=SC2086
    (set -f; "$tfn" $lora "$work/m.q8.safetensors" --out "$work/a.safetensors" > "$work/one" &&
        "$tfn" $lora "$work/m.safetensors" --set weights=q8 --out "$work/b.safetensors" > "$work/two") &&
        cmp "$work/one" "$work/two" && for file in a b m.q8; do
            "$tfn" inspect "$work/$file.safetensors" | grep ' Q8 ' > "$work/$file.seen" || return 1
        done && cmp "$work/a.seen" "$work/b.seen" && cmp "$work/a.seen" "$work/m.q8.seen"
}
check "tfn train --from: LoRA on packed weights" tunes
imports() {             # quantized during the import: the same as in two steps
    "$tfn" import golden/hub/gpt2 --weights q8 --out "$work/i.safetensors" > "$work/one" &&
        "$tfn" import golden/hub/gpt2 --out "$work/f.safetensors" > "$work/page" &&
        "$tfn" quantize "$work/f.safetensors" --to q8 > "$work/two" &&
        [ "$(hash_of "$work/one")" = "$(hash_of "$work/two")" ] && grep -q '^weights  *q8: .* of float32' "$work/one" &&
        cmp "$work/i.safetensors" "$work/f.q8.safetensors"
}
check "tfn import --weights" imports

# says CODE TEXT ARGUMENTS: nothing is written, and the message contains TEXT
says() {
    wanted=$1 text=$2
    shift 2
    "$tfn" "$@" < /dev/null > "$work/page" 2> "$work/error"
    code=$?
    [ $code = "$wanted" ] && [ ! -s "$work/page" ] && grep -q -- "$text" "$work/error" ||
        { echo "$*: code $code"; cat "$work/error"; return 1; }
}
refuses() {
    m=$work/m.safetensors
    "$tfn" train --task copy --recipe sigma-reparam --layers 1 --width 16 --steps 2 --items 300 --held 20 \
        --threads 1 --quiet --out "$work/s.safetensors" > "$work/page" && cp "$work/m.q8.safetensors" "$work/was" &&
        says 2 'needs float32|q8|q4|bf16|f16, not "q9"' quantize "$m" --to q9 &&
        says 2 'expected --to q8' quantize "$m" && says 2 'expected one model' quantize --to q8 &&
        says 1 'm.q8.safetensors already exists' quantize "$m" --to q8 &&
        says 1 'has weights of float32 already' quantize "$m" --to float32 &&
        says 1 'weights of q8 already' quantize "$work/m.q8.safetensors" --to q8 &&
        says 1 'has weights of q8: quantize the model' quantize "$work/m.q8.safetensors" --to q4 &&
        says 1 'only linear maps .*tfn fold makes one' quantize "$work/s.safetensors" --to q8 &&
        says 1 'none/x cannot be written' quantize "$m" --to q8 -o "$work/none/x" &&
        says 1 'nothing: cannot be opened' quantize "$m" --to q8 --on "$work/nothing" -o "$work/x" &&
        says 1 'fold, then quantize' fold "$work/m.q8.safetensors" -o "$work/x" &&
        says 1 'the model q8' export "$work/m.q8.safetensors" --hf "$work/hub" &&
        says 1 'packed weights have no mean' average "$work/m.q8.safetensors" "$work/m.q8.safetensors" -o "$work/x" &&
        says 1 'do not train' train --task copy --from "$work/m.q8.safetensors" -o "$work/x" --quiet &&
        says 1 'but floats are needed' train --task copy --arch decoder --from "$work/m.q8.safetensors" \
            --set weights=float32 -o "$work/x" --quiet &&
        says 2 'needs float32' import golden/hub/gpt2 --weights x -o "$work/x" || return 1
    [ ! -e "$work/x" ] && cmp "$work/was" "$work/m.q8.safetensors"
}
check "tfn quantize: errors" refuses
replaces() {            # replaces a model by itself; in a folded one the scales are gone
    cp "$work/m.safetensors" "$work/same.safetensors"
    "$tfn" quantize "$work/same.safetensors" --to q8 -o "$work/same.safetensors" --force > "$work/page" &&
        cmp "$work/same.safetensors" "$work/m.q8.safetensors" &&
        "$tfn" fold "$work/s.safetensors" -o "$work/sf.safetensors" > "$work/page" &&
        "$tfn" quantize "$work/sf.safetensors" --to q8 > "$work/page" &&
        "$tfn" eval "$work/sf.q8.safetensors" > "$work/page"
}
check "tfn quantize: in place, and folded" replaces

# -- in C

cat > "$work/exported.c" << 'END_OF_C'
/* The text that follows the ids of the arguments, which end with -1, and the model's hash, in memory of
 * the sizes that tfn export wrote: no byte less will do. */
#ifdef SMALL
#define TFNORM_NO_MALLOC
#define TFNORM_NO_STDIO
#define TFNORM_NO_TRAINING
#define TFNORM_ALL_ISA             /* plain C on x86-64, too */
#define TFNORM_IMPLEMENTATION
#endif
#include "../../../tfnorm.h"
#include "model.h"
#include <stdio.h>
static unsigned char words[model_tokenizer_memory];
#ifdef ONE_BLOCK
static unsigned char ram[model_board_memory];
#else
static unsigned char memory[model_memory], more[model_decoder_memory];
#endif
static tfn_model model;
static tfn_decoder decoder;

static int begin(tfn_model_desc *desc)
{
    desc->isa = TFN_ISA_PLAIN;
    desc->threads = 1;
#ifdef ONE_BLOCK
    desc->only_decoders = true;
    if (tfn_model_init(&model, desc, ram, sizeof ram) != TFN_OK) return 2;
    if (tfn_decoder_init(&decoder, &model, 1, 1, ram + model.memory.kept,
                         sizeof ram - model.memory.kept) != TFN_OK) return 3;
#else
    if (tfn_model_init(&model, desc, memory, sizeof memory - EXACT) == TFN_OK && EXACT) return 4;
    if (tfn_model_init(&model, desc, memory, sizeof memory) != TFN_OK) return 2;
    if (tfn_decoder_init(&decoder, &model, 1, 1, more, sizeof more - EXACT) == TFN_OK && EXACT) return 5;
    if (tfn_decoder_init(&decoder, &model, 1, 1, more, sizeof more) != TFN_OK) return 3;
#endif
    if ((const void *)model.params != (const void *)desc->parameters) return 6;     /* no copy */
    return 0;
}

int main(void)
{
    static const int32_t ids[] = { PROMPT };
    enum { COUNT = sizeof ids / sizeof *ids };
    tfn_model_desc desc = model_desc();
    tfn_tokenizer_source source = { 0 };
    tfn_tokenizer k;
    const float *logits = NULL;
    const int status = begin(&desc);
    if (status) return status;
    for (int32_t i = 0; i < COUNT; i++) logits = tfn_decoder_next(&decoder, ids + i, 1, NULL);
    source.blob = model_tokenizer;
    source.blob_size = sizeof model_tokenizer;
    if (tfn_tokenizer_init(&k, &source, words, sizeof words) != TFN_OK) return 7;
    for (int32_t n = 0; logits && n < 6; n++) {
        int32_t best = 0;
        for (int32_t v = 1; v < desc.vocab; v++) if (logits[v] > logits[best]) best = v;
        if (n) printf(" ");
        printf("%d", (int)best);
        if (best == k.special[TFN_SPECIAL_EOS]) break;
        logits = tfn_decoder_next(&decoder, &best, 1, NULL);
    }
    printf("\n%016llX\n", (unsigned long long)tfn_model_hash(&model));
    return 0;
}
END_OF_C
# exported TYPE NAME COMMAND ...: built with these flags, it prints what tfn generate prints
exported() {
    type=$1 name=$2 run=$3
    shift 3
    "$tfn" export "$work/m.$type.safetensors" -o "$work/model.h" --force &&
        "$@" "-DPROMPT=$prompt" "$work/exported.c" -o "$work/$name" -lm &&
        $run "$work/$name" > "$work/page" && { "$tfn" generate "$work/m.$type.safetensors" \
            --ids "$(echo "$prompt" | tr , ' ')" --max-tokens 6 &&
        "$tfn" inspect "$work/m.$type.safetensors" | sed -n 's/^model.*hash //p'; } | diff - "$work/page" &&
        grep -q "Hash $(tail -n 1 "$work/page")" "$work/model.h"
}
prompt=5,7,6,2
both() {                # in two blocks of exactly the needed sizes, and in one
    MAKEFLAGS= make -s build/lib.o && exported "$1" two "" "${CC:-cc}" -O1 -std=c99 -DEXACT=1 build/lib.o &&
        exported "$1" one "" "${CC:-cc}" -O1 -std=c99 -DEXACT=0 -DONE_BLOCK build/lib.o
}
small="-DSMALL -DEXACT=0 -DONE_BLOCK"
if "$tfn" bits > "$work/page"; then
    for type in $types; do check "tfn export: $type" both $type; done
    # shellcheck disable=SC2086
    check "tfn export: q8, without a warning" exported q8 small "" "${CC:-cc}" -O1 -std=c99 \
        $strict $strict_c $small
else skip "tfn export: $types" "bits differ here"
fi
arm="arm-linux-gnueabihf-gcc"
if full || [ "$tier" = extra ]; then
    if have $arm qemu-arm-static; then
        check "tfn export: q8, 32 bits" exported q8 arm qemu-arm-static $arm -O1 -std=c99 -static \
            -mfpu=vfpv4 $small
    else skip "tfn export: q8, 32 bits" "no $arm or qemu-arm-static"
    fi
    if have mips-linux-gnu-gcc qemu-mips-static; then
        for type in q8 f16; do
            check "tfn export: $type, big-endian" exported $type mips qemu-mips-static mips-linux-gnu-gcc \
                -O1 -std=c99 -static -DTFNORM_EXACT $small
        done
    else skip "tfn export: big-endian" "no mips-linux-gnu-gcc or qemu-mips-static"
    fi
fi
finish
