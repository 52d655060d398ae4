# Every example compiles without a warning, runs, and prints what its opening comment says. Examples whose
# command, on their first line, differs only in names are linked with one compiled implementation; the
# others, and in the night tier all, are built by their own commands. The default tier leaves those that
# train for longer to the extra tier, and quickstart to readme.sh.
. ./check.sh
here=$PWD

# own FILE: the command on its first line
own() { sed -n '1s,^/\* *\(cc .*-lm\).*,\1,p; 1s,^/\* *\(cc .* -c .*\.o\)$,\1,p' "$1"; }
# build FILE: by its own command, run at the top level, with the program in $work
build() {
    command=$(own "$1")
    [ -n "$command" ] || { echo "no command on line 1"; return 1; }
    command=$(printf '%s\n' "$command" | sed "s,-o [^ ]*,-Wall -Wextra -Werror -o $here/$work/example,")
    (cd .. && sh -c "$command")
}
# what the opening comment shows: the lines after the one that begins with "Prints"
comment() {
    awk '/^ \* Prints/ { on = 1; next }
         on && /^ \*     / { line = substr($0, 8); sub(/ *\*\/$/, "", line); print line }
         /\*\/$/ { exit }' "$1"
}
# run FILE: the program prints what the file shows; other bits end in other numbers
run() {
    (cd .. && "$here/$work/example" < /dev/null) > "$work/printed" || return 1
    comment "$1" > "$work/comment"
    [ -s "$work/comment" ] || { echo "the opening comment shows no output"; return 1; }
    [ "$canonical" ] || { echo "other bits"; return 0; }
    shown_by "$work/printed" < "$work/comment"
}
if canonical; then canonical=yes; else canonical=; echo "left out: what examples print: the bits here are others"; fi
# an implementation alone, which another example names, is no program
example() { build "$1" && case $command in *" -c "*) return ;; esac && run "$1"; }

implementation() {
    head -n 1 ../examples/tfnorm.c | grep -q '^/\* cc -O2 -c examples/tfnorm.c ' &&
        ${CC:-cc} -O2 -c $strict $strict_c ../examples/tfnorm.c -o "$work/tfnorm.o"
}
# linked FILE: compiles FILE with that implementation, if its own command has the usual form
linked() {
    own "$1" | grep -qx "cc -O2 examples/$name\.c\( examples/tfnorm\.c\)* -o ${name#*_} -lm" ||
        { echo "not the usual command: $(own "$1")"; return 1; }
    grep -v '^#define TFNORM_' "$1" > "$work/linked.c" &&
        ${CC:-cc} -O2 -Wall -Wextra -Werror -I../examples "$work/linked.c" "$work/tfnorm.o" \
            -o "$work/example" -lm && run "$1"
}

# 23_import_lora tunes a Hugging Face folder of GPT-2's form: the loss falls, the adapter is small,
# and base and adapter together have the loss of the merged model in the folder that it writes.
tuned() {
    get_tool tfn || return 1
    rm -rf "$work/gpt2" "$work/merged"
    mkdir "$work/merged"
    awk 'BEGIN { for (i = 0; i < 9000; i++) printf "%s ", substr("onetwosix", i % 3 * 3 + 1, 3) }' > "$work/words"
    awk 'BEGIN { for (i = 0; i < 9000; i++) printf "%s ", substr("sixtwoone", i % 3 * 3 + 1, 3) }' > "$work/other"
    "$work/tfn" train "$work/words" --recipe gpt2 --position learned --vocab 264 --width 32 --layers 2 --steps 200 --lr 0.003 \
        --set activation=gelu-tanh --out "$work/gpt2.safetensors" --force --quiet &&
        "$work/tfn" export "$work/gpt2.safetensors" --hf "$work/gpt2" --family gpt2 &&
        "$work/example" "$work/gpt2" "$work/other" "$work/merged" | tee "$work/printed" || return 1
    awk '{ loss = $4 } NR == 1 { first = loss } END { exit !(NR == 10 && loss < 0.6 * first) }' "$work/printed" || return 1
    "$work/tfn" import "$work/merged" --out "$work/merged.safetensors" --force > "$work/said" &&
        "$work/tfn" import "$work/gpt2" --out "$work/base.safetensors" --force > "$work/said" || return 1
    for model in merged base "base.safetensors --adapter $work/merged/lora"; do
        # shellcheck disable=SC2086
        "$work/tfn" eval "$work/"$model.safetensors "$work/other" | sed -n 's/^loss *\([0-9.]*\).*/\1/p'
    done > "$work/losses"
    cat "$work/losses"
    awk '{ loss[NR] = $1 } END { d = loss[1] - loss[3]
        exit !(NR == 3 && loss[1] < loss[2] / 2 && d * d < 1e-8) }' "$work/losses" &&
        [ "$(wc -c < "$work/merged/lora.safetensors")" -lt "$(($(wc -c < "$work/merged/model.safetensors") / 4))" ]
}

if [ "$tier" != night ]; then
    echo "left out: building linked examples by their own commands (tier night)"
    check "example tfnorm" implementation
fi
for f in ../examples/*.c; do
    [ -f "$f" ] || { skip examples "none"; continue; }
    if head -n 1 "$f" | grep -q '^/\* mpicc '; then continue; fi           # see mpi.sh
    name=$(basename "$f" .c) way=example
    case $tier:$name in
    night:*) ;;
    *:tfnorm) continue ;;
    *:quickstart) continue ;;           # see readme.sh
    default:0[35789]_* | default:1[0347]_*) echo "left out: example $name (tier extra)"; continue ;;
    *:20_*) ;;                          # without training, files and allocation
    default:*) way=linked ;;
    *:01_* | *:19_*) ;;                 # 19 is without allocation
    *:0[589]_* | *:10_*) ;;             # with files of tools
    *) way=linked ;;
    esac
    check "example $name" $way "$f"
    [ "$name" != 23_import_lora ] || check "example $name: a folder" tuned
done

# The README's table of tasks names the examples from 03 on in their order, and the text above it
# the first two.
listed() {
    (cd .. && ls examples/[0-9]*.c examples/[0-9]*.html) > "$work/examples"
    grep -oE '\]\(examples/[0-9][0-9a-z_]*\.(c|html)' ../README.md | cut -c 3- | awk '!seen[$0]++' > "$work/named"
    diff "$work/examples" "$work/named"
}
check "the README names every example, by task and in order" listed
finish
