#!/bin/sh
# model.sh: trains the model inside generate.html again, as model.safetensors: English sentences of a generated
# language, letter by letter. Every machine with the canonical bits gets the same weights.
cd "$(dirname "$0")" || exit 1
tfn=${TFN:-../bin/tfn} out=${1:-model.safetensors}
"$tfn" train --task sentences --tokenizer chars --recipe pre --layers 4 --width 64 --heads 4 --context 96 \
    --steps 3000 --lr 0.003 --force --out whole.safetensors &&
    "$tfn" quantize whole.best.safetensors --to q8 --out "$out" --force
rm -f whole.safetensors whole.best.safetensors
