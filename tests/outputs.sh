# The output of the tools: every picture and page passes an XML reader; every command whose output is
# lost (a full disk, a closed output) reports it, ends with code 1 and leaves no partial file. A command
# or a tool that this script does not know is a failure.
. ./check.sh
tools="bench layout normlab tfn"
tool() { echo "$work/$1"; }
build() { for t in $tools; do get_tool $t || return 1; done; }
check "the tools compile" build
rm -rf "$work"/files "$work"/*.safetensors "$work"/*.svg "$work"/*.html "$work"/*.jsonl
files=$work/files m=$work/m.safetensors l=$work/labels.safetensors
b=$work/bert.safetensors
mkdir -p "$files"

# -- one run of every command that writes, with arguments that are fast
tiny="--layers 1 --width 8 --steps 3 --items 60 --held 4 --min 2 --max 3 --threads 1 --quiet --force"
shape=L=1,d=32,h=2,ff=64,T=8,B=2,V=16
printf 'ab\n' > "$work/lines"
# rows: TOOL COMMAND ARGUMENTS. Each prints at least something.
all_rows() {
    cat <<END
tfn train --task copy $tiny --out $work/t.safetensors
tfn generate $m $work/lines --max-tokens 4
tfn translate $m $work/lines --max-tokens 4
tfn classify $l $work/lines
tfn embed $m $work/lines
tfn eval $m
tfn score $work/lines $work/lines
tfn average $m $m --force --out $work/t.safetensors
tfn fold $m --force --out $work/t.safetensors
tfn quantize $m --to q8 --force --out $work/t.safetensors
tfn import golden/hub/gpt2 --force --out $work/t.safetensors
tfn logits $m --ids 1
tfn fill $b --ids 1 --mask 1
tfn chat $m $work/lines
tfn tokens $m $work/lines
tfn inspect $m
tfn bits
normlab list
normlab show b2t
normlab claims
normlab run X2 --file -
normlab robust X2 --file -
normlab second X8a --file -
normlab factors --markdown --file -
normlab merge $work/x2.jsonl --file $work/merged.jsonl
normlab placements post --layers 1 --file $work/placed.jsonl
normlab report --file $work/none
normlab compare pre --layers 1 --steps 2 --width 8
normlab smoke pre --steps 1
bench peak --quick --no-peers --only 16.KiB
bench gemm --quick --no-peers --only 32x32x32
bench kernels --quick --no-peers --only dropout
bench attention --quick --no-peers --only T=32
bench train --quick --no-peers $shape
bench decode --quick --no-peers $shape
bench optim --quick $shape
bench threads --quick --no-peers $shape
bench threads --simulate 4 --quick $shape
bench memory --quick --no-peers $shape
bench data --quick --no-peers $work/text $shape
bench quant --quick --no-peers $shape
layout - ../tfnorm.h
END
}
rows() { all_rows; }
# `tfn export` prints nothing; these take minutes or need given pairs, and end in the same function
left_out="tfn export|normlab all|normlab lesson|normlab rates|bench growth|bench denormals|bench learn"

prepare() {
    "$(tool tfn)" train --task copy --arch decoder $tiny --out "$m" > "$work/page" 2>&1 || return 1
    awk 'BEGIN { for (i = 0; i < 90; i++) print (i % 3 ? "yes" : "no") "\t" i }' > "$work/labels"
    "$(tool tfn)" train --labels "$work/labels" $tiny --out "$l" > "$work/page" 2>&1 &&
        "$(tool tfn)" import golden/hub/bert --out "$b" > "$work/page" 2>&1 || return 1
    "$(tool normlab)" run X2 --seeds 1 --start-seeds 1 --file "$work/x2.jsonl" > "$work/page" 2>&1 || return 1
    for i in 1 2 3 4 5 6 7 8; do cat bench.sh tfn.sh; done > "$work/text"
}
check "models for later tests" prepare

mains() { (cd ../tools && grep -l '^int main(' */*.c | grep -v -e '^source/' -e '^peers/' | tr '\n' ' '); }
commands() {            # every command of --help has a row
    "$(tool tfn)" --help | awk '/For example/ { exit } /^  tfn [a-z]+ / { print "tfn", $2 }' > "$work/wanted"
    "$(tool normlab)" --help | awk '/^normlab [a-z]/ { gsub(/ \| normlab/, "\nnormlab"); print }' |
        awk '/^normlab/ { print $1, $2 }' >> "$work/wanted"
    "$(tool bench)" --help | awk '/^bench/ { gsub(/\[.*/, ""); gsub(/\|/, " ");
        for (i = 2; i <= NF; i++) if ($i !~ /^-|[A-Z]/) print "bench", $i }' >> "$work/wanted"
    sort -u "$work/wanted" | grep -v -x -E "$left_out" > "$work/sorted"
    echo "left out: $left_out"
    rows | awk '$1 != "layout" { print $1, $2 }' | sort -u | diff "$work/sorted" - &&
        [ "$(wc -l < "$work/sorted")" -gt 20 ] &&
        [ "$(mains)" = "bench/bench.c layout/layout.c normlab/normlab.c tfn/tfn.c " ] &&
        [ -z "$(cd ../tools && grep -L 'return output_end(' $(mains))" ]
}
check "every command has a row" commands

# The ways in which an output is lost; each leaves the exit code in $code.
on_full_disk() { "$@" > /dev/full 2> "$work/error"; code=$?; }
when_closed() { "$@" >&- 2> "$work/error"; code=$?; }
without_reader() {
    { sleep 0.1; "$@" 2> "$work/error"; echo $? > "$work/code"; } | :
    code=$(cat "$work/code")
}
each() {                # each WAY: runs all rows; in without_reader, code 0 is legal if the reader had read enough
    way=$1
    rows > "$work/rows"
    while read -r name command arguments; do
        if [ "$command" != - ]; then arguments="$command $arguments"; fi
        $way "$(tool "$name")" $arguments < /dev/null
        if [ "$way" = without_reader ]; then
            [ "$code" = 0 ] && ! grep -q 'cannot be written' "$work/error" && continue
        else
            [ "$code" = 1 ] && grep -q 'standard output cannot be written: [A-Za-z]' "$work/error" &&
                continue
        fi
        echo "$name $arguments: code $code"
        cat "$work/error"
        return 1
    done < "$work/rows"
}
# bench measures for seconds a row
if ! full; then rows() { all_rows | grep -v '^bench [gkatdq]'; }; fi
if [ -c /dev/full ]; then check "lost output: a full disk" each on_full_disk
else skip "lost output: a full disk" "no /dev/full"
fi
# the other ways end in the same function, so a few rows are enough
if ! full; then rows() { all_rows | grep '^tfn [geiq]\|^normlab l'; }; fi
check "lost output: closed" each when_closed
check "lost output: a pipe without a reader" each without_reader

# -- files: whole or not at all
few="--seeds 1 --start-seeds 1 --depth 2 --width 16"
# rows: what is written, TOOL ARGUMENTS that write it
file_rows() {
    cat <<END
export.h tfn export $m --force --out
page.html tfn inspect $m --text ab --force --out
mean.safetensors tfn average $m --force --out
folded.safetensors tfn fold $m --force --out
packed.safetensors tfn quantize $m --to q8 --force --out
new.safetensors tfn train --task copy $tiny --out
b2t.svg normlab show b2t --svg
END
}
cut_short() {           # half of it fits: the old file stays, and no other is left
    rm -rf "$files"
    mkdir -p "$files"
    file_rows > "$work/rows"
    while read -r file name arguments; do
        "$(tool "$name")" $arguments "$files/$file" > "$work/page" 2> "$work/error" || return 1
        blocks=$(($(wc -c < "$files/$file") / 1024))
        echo old > "$files/$file"
        ls "$files" > "$work/before"
        (trap '' XFSZ; ulimit -f $blocks; "$(tool "$name")" $arguments "$files/$file" 2>&1) |
            cat > "$work/error"
        ls "$files" | diff "$work/before" - && [ "$(cat "$files/$file")" = old ] &&
            grep -q "^$name: .*\(cannot be written\|failed\|cannot write\)" "$work/error" ||
            { echo "$file: "; cat "$work/error"; return 1; }
        (trap '' XFSZ; ulimit -f $blocks; "$(tool "$name")" $arguments "$files/$file") \
            > /dev/null 2>&1
        code=$?
        [ $code = 1 ] || { echo "$file: code $code"; return 1; }
    done < "$work/rows"
}
check "no partial file" cut_short
unlogged() {            # a lost log does not stop training, but the run fails
    "$(tool tfn)" train --task copy $tiny --log /dev/full --out "$files/u.safetensors" \
        > "$work/page" 2> "$work/error"
    code=$?
    [ $code = 1 ] && grep -q '/dev/full cannot be written: ' "$work/error" &&
        "$(tool tfn)" inspect "$files/u.safetensors" | grep -q 'step 3, ' ||
        { echo "code $code"; cat "$work/error"; return 1; }
    (trap '' XFSZ; ulimit -f 0; "$(tool normlab)" run A4 $few --file "$files/lab.jsonl" \
        2> /dev/null; echo "code $?") | cat > "$work/page"
    grep -q '^code 1' "$work/page" && grep -q '^A4 ' "$work/page" || return 1
    "$(tool normlab)" run A4 $few --file "$files/none/x" > "$work/page" 2> "$work/error"
    [ $? = 1 ] && grep -q 'none/x cannot be written: ' "$work/error" && grep -q '^A4 ' "$work/page"
}
if [ -c /dev/full ]; then check "a log that is lost" unlogged; fi
continued() {           # records after a cut line are read again
    rm -f "$work/cut.jsonl"
    for i in 1 2 3; do
        "$(tool normlab)" run A4 $few --file "$work/cut.jsonl" > "$work/run$i" 2> "$work/said$i" ||
            return 1
        if [ $i = 1 ]; then
            half=$(($(wc -c < "$work/cut.jsonl") / 2))
            head -c $half "$work/cut.jsonl" > "$work/cut" && mv "$work/cut" "$work/cut.jsonl"
        fi
    done
    cmp "$work/run1" "$work/run3" && grep -q measurements "$work/said2" &&
        ! grep measurements "$work/said3"
}
check "a cut line does not affect others" continued
devices() {             # a device or pipe is written directly or refused, never replaced
    "$(tool normlab)" show b2t --svg /dev/stdout | cat > "$work/piped.svg" &&
        well_formed "$work/piped.svg" || return 1
    rm -f "$work/fifo"              # a pipe instead of a device, because no test may write to a real one
    mkfifo "$work/fifo" || return 1
    for arguments in "train --task copy $tiny" "average $m --force" "fold $m --force" \
        "quantize $m --to q8 --force"; do
        ! timeout 20 "$(tool tfn)" $arguments --out "$work/fifo" 2> "$work/error" &&
            grep -q 'fifo is a device' "$work/error" && [ -p "$work/fifo" ] || return 1
    done
}
check "devices are not replaced" devices

# -- pictures and pages
formed() {
    for f; do
        well_formed "$f" || { echo "$f"; return 1; }
    done
}
pictures() {            # of a training: names of layers, one step, a log of either form
    rm -f "$work"/*.svg
    for how in "--steps 1 --plot $work/one.svg" "--steps 300 --plot $work/many.svg" \
        "--steps 30 --plot $work/json.svg --log $work/p.jsonl" \
        "--steps 30 --lr 100 --plot $work/lost.svg"; do
        "$(tool tfn)" train --task copy $tiny $how --out "$work/p.safetensors" \
            > "$work/page" 2> "$work/error"
    done
    "$(tool normlab)" compare pre post --layers 2 --steps 2 --width 8 --svg "$work/pair" \
        > "$work/page" && "$(tool normlab)" show b2t --svg "$work/b2t.svg" || return 1
    ls "$work"/*.svg > "$work/list"
    [ "$(grep -c '<svg y=' "$work/one.svg")" = 3 ] && [ "$(wc -l < "$work/list")" = 7 ] &&
        formed "$work"/*.svg
}
check "every SVG passes an XML reader" pictures
pages() {               # without results, and with claims that have curves, bars and a heat map
    "$(tool normlab)" report --file "$work/none" > "$work/empty.html" 2> "$work/error" &&
        "$(tool normlab)" run X2 B2 A4 $few --file "$work/few.jsonl" \
            > "$work/page" 2> "$work/error" && "$(tool normlab)" report X2 B2 A4 $few \
            --file "$work/few.jsonl" > "$work/few.html" || { cat "$work/error"; return 1; }
    "$(tool tfn)" inspect "$m" --text 'a<&"b' --out "$work/sentence.html" || return 1
    grep -q '<svg' "$work/few.html" && formed "$work/empty.html" "$work/few.html" "$work/sentence.html"
}
check "every page passes an XML reader" pages
# files that draw (placements.c in claims.sh): a new caller of svg.h or a new page needs a test here
drawing="common/svg.c normlab/compare.c normlab/drawing.c normlab/placements.c normlab/report.c tfn/inspect.c tfn/page.c tfn/trainer.c "
drawers() {
    (cd ../tools && grep -l 'svg_begin\|svg_curves\|svg_bars\|svg_heat\|<html' */*.c) |
        tr '\n' ' ' > "$work/drawers"
    cat "$work/drawers"
    [ "$(cat "$work/drawers")" = "$drawing" ]
}
check "all files that draw are tested" drawers
roughly() {             # the check without an XML reader agrees
    for f in "$work"/*.svg "$work"/*.html; do
        well_formed_roughly "$f" || { echo "$f"; return 1; }
    done
    for bad in '<a><b></a></b>' '<a>&x</a>' '<a b="></a>' '<a></a' 'x<a></a>' '<a><?xml?></a>' \
        '<a><b></a>'; do
        printf '%s\n' "$bad" > "$work/bad.xml"
        ! well_formed_roughly "$work/bad.xml" || { echo "$bad passes"; return 1; }
    done
}
check "the reader in awk agrees" roughly
finish
