# tools/bench: rows are JSON with the fields that a script needs, and a wrong model is refused. Speed
# itself is not tested.
. ./check.sh
bench=$work/bin/bench
mkdir -p "$work/bin"
cp -r ../tools/peers "$work/"           # bench looks for them there
keys() { # keys BENCH ...: at least one object, each with a name, ms, a rate, peer, ratio
    "$bench" "$@" --quick --no-peers --json > "$work/rows" || return 1
    awk '!/^\{"bench":.*"name":".*"ms":[0-9]/ || !/,"(gflops|gbytes|mbytes|sentences)":[0-9]/ ||
         !/,"peer":.*,"ratio":.*\}$/ { bad = 1 }
         END { exit bad || !NR }' "$work/rows" || { cat "$work/rows"; return 1; }
}
# A job of 2 us is repeated until a sample takes 10 ms: one call would only measure the clock.
repeats() {
    ("$bench" kernels --no-peers --rounds 31 --only "adamw 64x64" > "$work/rows" || exit 1; times) |
        awk -F '[ms ]' 'NR == 2 { spent = $1 * 60 + $2; print spent " s of processor time" }
                        END { exit spent < 0.1 }' > "$work/said" || { cat "$work/said"; return 1; }
}
refused() { "$bench" train L=2,q=3 2> "$work/said"; [ $? = 2 ] && grep -q 'L=2,q=3' "$work/said"; }
by_value() { "$bench" memory L=1,d=32,h=2,ff=64,T=8,B=2,V=16 | grep -q '^L=1.*working set [1-9]'; }
data() { # a row for each; derived rows have fields of their own
    keys data && [ "$(wc -l < "$work/rows")" = 4 ] &&
        grep -q '"BPE training.*"mbytes":.*"minutes_of_100_mb":[0-9]' "$work/rows" &&
        grep -q '"batches.*"sentences":.*"batches":[0-9]' "$work/rows" &&
        grep -q '"beam.*"sentences":.*"tokens":[0-9]' "$work/rows"
}
own_text() {            # a given file; a model by value; a missing file
    for i in 1 2 3 4 5 6 7 8; do cat bench.sh tfn.sh; done > "$work/text"
    "$bench" data "$work/text" L=1,d=32,h=2,ff=64,B=2,V=300 --quick --no-peers > "$work/rows" &&
        [ "$(grep -c '[1-9].* \(MB\|sentences\)/s' "$work/rows")" = 4 ] &&
        grep -q '1+1 layers, width 32' "$work/rows" || return 1
    "$bench" data "$work/none" --quick > "$work/rows" 2> "$work/said"
    [ $? = 1 ] && [ ! -s "$work/rows" ] && grep -q "$work/none.* cannot be opened" "$work/said"
}
denormals() {           # there are none, counted and timed; --counts times nothing
    "$bench" denormals --quick --rounds 1 --only olmo2 --json > "$work/rows" &&
        grep -q '"name":"olmo2","operands":0,"of":[1-9].*"underflows":0,.*"ratio":[0-9.]*}$' \
            "$work/rows" || { cat "$work/rows"; return 1; }
    "$bench" denormals --quick --counts --only olmo2 --json > "$work/rows" &&
        grep -q '"calls":[1-9][0-9]*}$' "$work/rows"
}
learns() {              # a row for one seed; errors for no file and a wrong file
    get_tool tfn "$work/bin/tfn" || return 1
    for i in 1 2 3 4; do cat bench.sh tfn.sh; done > "$work/text"
    "$bench" learn "$work/text" --minutes 0.02 --quick --no-peers --json > "$work/rows" &&
        [ "$(wc -l < "$work/rows")" = 1 ] &&
        grep -q '"bench":"learn","name":"tfn, seed 1","seconds":[0-9.]*,"nats":[0-9.]*,"bits":[1-5]' \
            "$work/rows" || { cat "$work/rows"; return 1; }
    "$bench" learn --quick --no-peers 2> "$work/said"
    [ $? = 1 ] && grep -q 'needs a file' "$work/said" || return 1
    "$bench" learn "$work/none" --quick --no-peers 2> "$work/said"
    [ $? = 1 ] && grep -q "$work/none.* cannot be opened" "$work/said"
}
# A simulated step is the sum of dealt chunks, starts of teams, and the rest. Dealing cannot beat an equal split,
# and two steps of a barrier of 1 ms add 2 ms to each round that threads share.
simulates() {
    for barrier in 100 1000000; do
        "$bench" threads --simulate 4 --barrier $barrier --quick --json L=2,d=64,h=2,ff=256,T=32,B=16,V=64 > "$work/rows" || return 1
        awk -v barrier=$barrier '{
            gsub(/[{}"]/, ""); n = split($0, pairs, ",")
            for (i = 1; i <= n; i++) { split(pairs[i], pair, ":"); v[pair[1]] = pair[2] }
            sum = v["dealt_ms"] + v["starts_ms"] + v["rest_ms"]
            bad = v["threads"] != 4 || v["rounds"] < 20 || v["chunks"] < v["rounds"] || v["teams"] < 2
            bad = bad || v["barriers"] < 10 || v["barriers"] > v["rounds"]
            bad = bad || v["ms"] > 1.001 * sum || v["ms"] < 0.999 * sum
            least = v["chunks_ms"] / 4 + 2 * barrier * 1e-6 * v["barriers"]
            bad = bad || v["dealt_ms"] < 0.999 * least || v["dealt_ms"] > v["chunks_ms"] + least
            exit bad }' "$work/rows" || { cat "$work/rows"; return 1; }
    done
    "$bench" threads --simulate 4 --quick L=2,d=16,h=2,ff=32,T=8,B=1,V=64 > "$work/said"
    grep -q 'runs on one thread' "$work/said"
}
# two rows without a ratio (AdamW, initial weights), and three with the ratio to AdamW
optimizers() {
    "$bench" optim --quick --json L=1,d=32,h=2,ff=64,T=8,B=2,V=16 > "$work/rows" &&
        [ "$(grep -c '"ms":[0-9.e-]*,"ratio":null}$' "$work/rows")" = 2 ] &&
        [ "$(grep -c ', \(muon\|fp8 moments\|bf16 moments\)".*"ratio":[0-9]*[.][0-9]*}$' "$work/rows")" = 3 ] ||
        { cat "$work/rows"; return 1; }
}
# weights of few bits: a row for each type with its bytes, and for training; other programs get
# models in their formats and their output is read; a missing one is reported
quant() {
    keys quant L=1,d=64,h=2,ff=128,V=256,T=8,B=2 &&
        grep -q '"name":"q8, cache 64, 0.1 MB".*"gbytes":.*"percent":[0-9]' "$work/rows" &&
        grep -q '"name":"q4, LoRA 8, 2x8 tokens"' "$work/rows"
}
others() {
    mkdir -p "$work/ggml"
    cat > "$work/runq" << 'END'
[ "$(head -c 4 "$1")" = 24ka ] && grep -q '<255>' "$3" && echo 'achieved tok/s: 1000.0'
END
    cat > "$work/ggml/gpt-2-quantize" << 'END'
[ "$(head -c 4 "$1")" = lmgg ] && echo "$3" > "$2" && echo 'main: quantize time = 1.0 ms'
END
    cat > "$work/ggml/gpt-2-alloc" << 'END'
case $(head -c 4 "$2") in lmgg | q8_0 | q4_0) echo "main: predict time = 64.0 ms" ;; esac
END
    for f in runq ggml/gpt-2-quantize ggml/gpt-2-alloc; do
        sed -i '1i #!/bin/sh' "$work/$f" && chmod +x "$work/$f" || return 1
    done
    TFN_PYTHON=false "$bench" quant --quick --json --only q8,\ cache --ggml "$work/ggml" \
        --runq "$work/runq" L=1,d=64,h=2,ff=128,V=256 > "$work/rows" &&
        grep -q '"peer":"ggml","peer_ms":[0-9]' "$work/rows" &&
        grep -q '"peer":"runq","peer_ms":[0-9]' "$work/rows" || { cat "$work/rows"; return 1; }
    TFN_PYTHON=false "$bench" quant --quick --only none > "$work/rows" &&
        [ "$(grep -c '^skipped: \(PyTorch\|ggml\|llama2.c\): ' "$work/rows")" = 3 ]
}
# PyTorch finds the same sentences; neither of the two programs checks itself
torch() {
    "$bench" data --quick --rounds 1 --json --only beam > "$work/rows" &&
        grep -q '"equal":4,"of":4}' "$work/rows" || { cat "$work/rows"; return 1; }
}

check "bench builds" get_tool bench "$bench"
check "bench gemm" keys gemm --only 32x32x32
check "bench kernels" keys kernels --only "dropout 64x64"
check "bench: short jobs are repeated" repeats
check "bench train" keys train L=1,d=32,h=2,ff=64,T=8,B=2,V=16
check "bench optim" optimizers
check "bench decode" keys decode L=1,d=32,h=2,ff=64,T=8,B=2,V=16
check "bench attention" keys attention --only "T=32"
check "bench peak" keys peak --only "16 KiB"
check "bench memory by value" by_value
check "bench data" data
check "bench denormals" denormals
check "bench quant" quant
check "bench quant: programs of others" others
check "bench data FILE" own_text
check "bench learn FILE" learns
check "bench threads --simulate" simulates
python=${TFN_PYTHON:-/usr/bin/python3}
if "$python" -c 'import torch' 2> "$work/said"; then check "bench data: beams equal PyTorch's" torch
else skip "bench data: beams equal PyTorch's" "no PyTorch"
fi
check "bench names a wrong model" refused
finish
