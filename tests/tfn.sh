# tools/tfn.c compiles without a warning; a tiny model trains, resumes to the same bits, writes,
# scores, is averaged, folded, exported; wrong arguments end with code 2 and a message.
. ./check.sh
tfn=$work/tfn
build() {
    ${CC:-cc} -O2 -std=c99 -Wall -Wextra -Wconversion -Wshadow -Werror ../tools/tfn.c -o "$tfn" \
        -lm -pthread
}
check "tfn compiles" build
rm -f "$work"/*.safetensors "$work"/*.csv "$work"/*.jsonl

# small TASK OUT ...: a model that trains within a second
small() {
    task=$1 out=$2
    shift 2
    "$tfn" train --task "$task" --layers 2 --width 32 --items 3000 --held 60 --threads 1 --quiet \
        --out "$work/$out.safetensors" "$@"
}
hash_of() { sed -n 's/^hash //p' "$1"; }

trains() { small copy a --steps 300 --min 2 --max 5 > "$work/a" && grep -q '^bits' "$work/a"; }
check "tfn train" trains
refuses() {
    ! small copy a --steps 300 --min 2 --max 5 2> "$work/error" && grep -q -- --force "$work/error"
}
check "tfn train: an existing file" refuses
resumes() {             # SIGINT in the midst
    "$tfn" train --task copy --layers 2 --width 32 --items 3000 --held 60 --threads 1 --quiet \
        --steps 300 --min 2 --max 5 --out "$work/b.safetensors" --log "$work/b.csv" \
        > "$work/b" 2> "$work/error" &
    job=$!
    while [ ! -e "$work/b.csv" ] && kill -0 $job; do sleep 0.02; done
    kill -INT $job
    wait $job
    code=$?
    [ $code = 130 ] && grep -q 'train --resume' "$work/error" || { echo "code $code"; return 1; }
    "$tfn" train --resume "$work/b.safetensors" --quiet --threads 2 > "$work/b" || return 1
    [ -n "$(hash_of "$work/a")" ] && [ "$(hash_of "$work/a")" = "$(hash_of "$work/b")" ]
}
check "tfn train: Ctrl-C, resumed: the same bits" resumes

# wrong TEXT ARGUMENTS: code 2, nothing printed, and the text among what is said
wrong() {
    text=$1
    shift
    "$tfn" "$@" > "$work/page" 2> "$work/error"
    code=$?
    [ $code = 2 ] && [ ! -s "$work/page" ] && grep -q -- "$text" "$work/error" ||
        { echo "$*: code $code"; cat "$work/error"; return 1; }
}
wrongs() {
    wrong 'nearest is --layers' train --task copy --layer 3 && wrong 'nearest is train' trian &&
        wrong 'from 1 to' train --task copy --steps x && wrong 'wants N behind' train --steps &&
        wrong 'nearest is "translate"' train --task translat && wrong 'one of' train &&
        wrong 'nearest is "b2t"' train --task copy --topology b2 &&
        wrong 'adamw|adam' train --task copy --optimizer adamm && wrong 'a command'
}
check "tfn: wrong arguments" wrongs
helps() { "$tfn" --help | grep -q 'Exit codes' && "$tfn" train --help | grep -q '(0.002)'; }
check "tfn --help" helps
finish
