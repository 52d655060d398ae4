# tools/bench.c: its rows are JSON with what a script needs, and what is no model is refused. Speed
# itself is no test.
. ./check.sh
bench=$work/bench
built() {
    ${CC:-cc} -O2 -std=c99 -Wall -Wextra -Werror ../tools/bench.c -o "$bench" -lm -ldl -pthread
}
keys() { # keys BENCH ...: at least one object, each with a name, ms, gflops or gbytes, peer, ratio
    "$bench" "$@" --quick --no-peers --json > "$work/rows" || return 1
    awk '!/^\{"bench":.*"name":".*"ms":[0-9]/ || !/,"(gflops|gbytes)":[0-9]/ ||
         !/,"peer":.*,"ratio":.*\}$/ { bad = 1 }
         END { exit bad || !NR }' "$work/rows" || { cat "$work/rows"; return 1; }
}
refused() { "$bench" train L=2,q=3 2> "$work/said"; [ $? = 2 ] && grep -q 'L=2,q=3' "$work/said"; }
by_value() { "$bench" memory L=1,d=32,h=2,ff=64,T=8,B=2,V=16 | grep -q '^L=1.*working set [1-9]'; }

check "bench builds" built
check "bench gemm" keys gemm --only 32x32x32
check "bench kernels" keys kernels --only "dropout 64x64"
check "bench train" keys train L=1,d=32,h=2,ff=64,T=8,B=2,V=16
check "bench decode" keys decode L=1,d=32,h=2,ff=64,T=8,B=2,V=16
check "bench attention" keys attention --only "T=32"
check "bench peak" keys peak --only "16 KiB"
check "bench memory by value" by_value
check "bench names what is no model" refused
finish
