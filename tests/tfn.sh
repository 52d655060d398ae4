# tools/tfn compiles without a warning. A tiny model trains, resumes to the same bits, generates,
# is scored, averaged, folded, exported. Wrong arguments end with code 2 and a message.
. ./check.sh
tfn=$work/tfn
check "tfn compiles" get_tool tfn
rm -rf "$work/kill" "$work"/*.safetensors "$work"/*.csv "$work"/*.jsonl "$work"/*.h "$work"/x

# small TASK OUT ...: a model that trains within a second
small() {               # few items, so that validation loss has its minimum long before step 300
    task=$1 out=$2
    shift 2
    "$tfn" train --task "$task" --layers 2 --width 32 --items 200 --held 60 --threads 1 --quiet \
        --out "$work/$out.safetensors" "$@"
}
hash_of() { sed -n 's/^hash //p' "$1"; }

trains() { small copy a --steps 300 --min 2 --max 5 > "$work/a" && grep -q '^bits' "$work/a"; }
check "tfn train" trains
refuses() {
    ! small copy a --steps 300 --min 2 --max 5 2> "$work/error" && grep -q -- --force "$work/error"
}
check "tfn train: an existing file" refuses
heard=                  # before a command: it hears SIGHUP even if nohup runs the tests
if env --default-signal=HUP true 2> "$work/error"; then heard="env --default-signal=HUP"; fi
resumes() {             # after a signal, the printed command resumes the run, with any characters in names
    rm -f "$work/b.safetensors" "$work/b.best.safetensors" "$work/b's log.csv"
    log="$work/b's log.csv"
    $heard "$tfn" train --task copy --layers 2 --width 32 --items 200 --held 60 --threads 1 --quiet \
        --steps 300 --min 2 --max 5 --out "$work/b.safetensors" --log "$log" \
        > "$work/b" 2> "$work/error" &
    job=$!
    while [ ! -e "$log" ] && kill -0 $job; do sleep 0.02; done
    kill -"$1" $job
    wait $job
    code=$?
    command=$(sed -n 's/^ *tfn \(train --resume .*--threads \)1$/\12/p' "$work/error")
    [ $code = 130 ] && [ -n "$command" ] || { echo "code $code"; return 1; }
    echo later >> "$log"
    eval "\"$tfn\" $command --quiet" > "$work/b" && [ "$(wc -l < "$log")" = 302 ] || return 1
    [ -n "$(hash_of "$work/a")" ] && [ "$(hash_of "$work/a")" = "$(hash_of "$work/b")" ]
}
check "tfn train: Ctrl-C, resumed: the same bits" resumes INT
check "tfn train: SIGTERM saves, too" resumes TERM
check "tfn train: SIGHUP saves, too" resumes HUP
# Before the first step there is nothing to save: a signal ends the program, which says so and
# leaves no file. The text comes through a pipe that stays open, so no step begins before the signal.
stops_early() {
    rm -f "$work/early" "$work"/early.*
    mkfifo "$work/early" || return 1
    for signal in INT TERM HUP; do
        $heard "$tfn" train - --out "$work/early.safetensors" \
            < "$work/early" > "$work/page" 2> "$work/error" &
        job=$!
        exec 9> "$work/early"
        until [ -e "$work/early.safetensors.lock" ]; do kill -0 $job && sleep 0.02 || return 1; done
        kill -$signal $job
        wait $job
        code=$?
        exec 9>&-
        [ $code -gt 128 ] && grep -q 'stopped before the first step: nothing to save' "$work/error" || return 1
        for left in "$work"/early.*; do [ ! -e "$left" ] || { echo "$left"; return 1; }; done
    done
}
outlives_terminal() {   # nohup makes the program ignore SIGHUP
    rm -f "$work/nohup.jsonl"
    nohup "$tfn" train --task copy --layers 1 --width 8 --items 400 --held 40 --threads 1 --quiet --force \
        --steps 100000 --out "$work/nohup.safetensors" --log "$work/nohup.jsonl" > "$work/page" 2> "$work/error" &
    job=$!
    while [ ! -s "$work/nohup.jsonl" ] && kill -0 $job; do sleep 0.02; done
    kill -HUP $job
    sleep 0.2
    kill -0 $job && kill -TERM $job && wait $job
    [ $? = 130 ]
}
if [ -n "$heard" ]; then check "tfn train: stopped before the first step" stops_early
else skip "tfn train: stopped before the first step" "env without --default-signal"
fi
if have nohup; then check "tfn train: nohup" outlives_terminal
else skip "tfn train: nohup" "no nohup"
fi
# One --out, two processes: the second is refused, even with another name or --force. A killed
# one leaves no lock.
locks() {
    out=$work/lock.safetensors
    set -- train --task copy --layers 1 --width 8 --items 400 --held 40 --threads 1 --quiet --force
    rm -f "$out" "$out.lock" "$work/lock.jsonl" && ln -sf lock.safetensors "$work/link.safetensors" || return 1
    "$tfn" "$@" --steps 1000000 --save-every 0 --out "$out" --log "$work/lock.jsonl" > "$work/page" 2>&1 &
    job=$!
    while [ ! -s "$work/lock.jsonl" ] && kill -0 $job; do sleep 0.02; done
    "$tfn" "$@" --steps 2 --out "$work/link.safetensors" > "$work/page" 2> "$work/error"
    code=$?
    grep -q "link.safetensors is the --out of process $job, which still trains; .*another --out" "$work/error" &&
        [ $code = 1 ] && [ ! -e "$out" ]
    good=$?
    kill -9 $job
    wait $job
    [ $good = 0 ] && "$tfn" "$@" --steps 2 --out "$out" > "$work/page" && [ -s "$out" ] && [ ! -e "$out.lock" ]
}
check "tfn train: two processes, one --out" locks
# A link, or a file with bytes, where the lock would be: it stays, and nothing is made at its end.
foreign_lock() {
    out=$work/foreign.safetensors
    set -- train --task copy --layers 1 --width 8 --items 40 --held 4 --threads 1 --quiet --force --steps 1 --out "$out"
    rm -f "$out.lock" "$work/victim" && ln -s victim "$out.lock" && "$tfn" "$@" > "$work/page" &&
        [ -L "$out.lock" ] && [ ! -e "$work/victim" ] || return 1
    rm "$out.lock" && echo precious > "$out.lock" && "$tfn" "$@" > "$work/page" && [ "$(cat "$out.lock")" = precious ]
}
check "tfn train: another's file in the place of the lock" foreign_lock
# No progress line wraps on terminals of 80 to 30 columns, nor with wide characters in the sample;
# other messages have whole words. Columns of a line: characters, and one more for wide ones.
fits() {
    i=0
    while [ $i -lt 200 ]; do printf '日本語の文字 テキスト 学ぶ 🙂 żółć 幅が広い\n'; i=$((i + 1)); done > "$work/wide.txt"
    for columns in 80 60 40 30; do
        data="--task copy --min 2 --max 5 --items 400 --held 40"
        [ $columns != 40 ] || data="wide.txt --tokenizer chars"
        script -qec "stty cols $columns; cd $work && ./tfn train $data --layers 1 --width 16 --threads 1 \
            --steps 60 --out fits.safetensors --force" /dev/null < /dev/null > "$work/typed" 2>&1
        tr '\r' '\n' < "$work/typed" | sed 's/\x1b\[[0-9;]*[mK]//g' > "$work/lines.$columns"
        LC_ALL=C awk -v columns=$columns '/^    tfn / { next } { line = $0; gsub(/[\200-\277]/, "")
            n = length($0) + gsub(/[\343-\364]/, "") } n > columns - (line ~ /step [0-9]*\//) { print line; wide = 1 }
            /step [0-9]*\// { seen = 1 } END { exit wide || !seen }' "$work/lines.$columns" || return 1
    done
    grep -q 'loss.*left' "$work/lines.60" && grep -q loss "$work/lines.30" && grep -q 'it writes' "$work/lines.40"
}
# After a resize the lines have the new width.
shrinks() {
    rm -f "$work/pts" "$work/narrow.csv" && : > "$work/typed"
    script -qfec "tty > $work/pts; stty cols 80; cd $work && exec ./tfn train --task copy --min 2 --max 5 --items 400 \
        --held 40 --layers 1 --width 16 --threads 1 --steps 10000000 --out narrow.safetensors --force" "$work/typed" \
        < /dev/null > "$work/page" 2>&1 &
    job=$!
    grows 3 || return 1
    before=$(wc -c < "$work/typed")
    stty -F "$(tr -d '\r' < "$work/pts")" cols 40 && grows $(($(progress_lines) + 3)) || return 1
    kill $job
    wait $job
    head -c "$before" "$work/typed" > "$work/wide" && tail -c +"$((before + 1))" "$work/typed" > "$work/narrow" || return 1
    [ "$(widest "$work/wide")" -gt 39 ] && [ "$(widest "$work/narrow")" -le 39 ]
}
progress_lines() { tr '\r' '\n' < "$work/typed" | grep -c 'step [0-9]'; }
grows() { while [ "$(progress_lines)" -lt "$1" ]; do kill -0 $job && sleep 0.05 || return 1; done; }
# the columns of the longest progress line, without the first, which the resize may have cut
widest() {
    tr '\r' '\n' < "$1" | sed 's/\x1b\[[0-9;]*[mK]//g' | grep 'step [0-9]' | sed '1d' |
        awk '{ if (length($0) > n) n = length($0) } END { print n + 0 }'
}
if have script stty; then
    check "tfn train: progress fits the terminal" fits
    check "tfn train: progress after a resize" shrinks
else skip "tfn train: progress fits the terminal" "no script or stty"
fi
prompts() {             # a prompt is --text, --prompt or words; an argument that looks like a path is one
    "$tfn" train ../examples/04_language_model.txt --layers 1 --width 16 --steps 3 --threads 1 --quiet \
        --tokenizer bytes --out "$work/prompt.safetensors" > "$work/prompt" || return 1
    printf 'two words\n' | "$tfn" generate "$work/prompt.safetensors" > "$work/wanted" &&
        "$tfn" generate "$work/prompt.safetensors" two words | cmp - "$work/wanted" &&
        "$tfn" generate "$work/prompt.safetensors" "two words" | cmp - "$work/wanted" &&
        "$tfn" generate "$work/prompt.safetensors" --text "two words" | cmp - "$work/wanted" &&
        "$tfn" generate "$work/prompt.safetensors" --prompt "two words" | cmp - "$work/wanted" &&
        ! "$tfn" generate "$work/prompt.safetensors" no.txt 2> "$work/error" &&
        grep -q 'no.txt: cannot be opened' "$work/error" &&
        grep -q 'a prompt that looks like .* needs --text' "$work/error" &&
        ! "$tfn" translate "$work/prompt.safetensors" words 2> "$work/error" &&
        grep -q 'continues texts and was not trained on pairs: tfn generate' "$work/error" &&
        ! "$tfn" generate "$work/prompt.safetensors" a --text b 2> "$work/error" &&
        ! "$tfn" generate --text b 2> "$work/error" && grep -q 'expected MODEL' "$work/error" &&
        "$tfn" generate "$work/prompt.safetensors" -- -x > "$work/page" &&
        "$tfn" generate "$work/prompt.safetensors" --text=-x | cmp - "$work/page"
}
check "tfn generate: a prompt" prompts
# On a terminal without input, commands ask for it.
asks() {
    for words in "generate prompt.safetensors" "chat prompt.safetensors" "tokens prompt.safetensors" "train -"; do
        script -qec "cd $work && ./tfn $words" /dev/null < /dev/null > "$work/typed" 2>&1
        grep -q 'type .*; Ctrl-D ends' "$work/typed" || { cat "$work/typed"; return 1; }
    done
}
if have script; then check "tfn: a terminal without input" asks
else skip "tfn: a terminal without input" "no script"
fi

pipes() {               # a text, pairs, labels and validation that can be read only once
    text=../examples/04_language_model.txt
    awk 'BEGIN { for (i = 0; i < 80; i++) print i % 7 "a" i "\t" i "b" }' > "$work/pairs"
    awk 'BEGIN { for (i = 0; i < 80; i++) print i % 2 "\ta" i }' > "$work/labels"
    once() { "$tfn" train "$@" --layers 1 --width 16 --steps 3 --threads 1 --quiet --force \
        --tokenizer bytes --out "$work/pipe.safetensors"; }
    once "$text" > "$work/wanted" && once "$text" --valid "$text" > "$work/both" &&
        once --pairs "$work/pairs" > "$work/two" && once --labels "$work/labels" > "$work/kinds" ||
        return 1
    cat "$text" | once - | cmp - "$work/wanted" &&
        cat "$text" | once /dev/stdin | cmp - "$work/wanted" &&
        once - < "$text" | cmp - "$work/wanted" &&
        cat "$text" | once "$text" --valid - | cmp - "$work/both" &&
        cat "$work/pairs" | once --pairs - | cmp - "$work/two" &&
        cat "$work/labels" | once --labels /dev/stdin | cmp - "$work/kinds" || return 1
    rm -f "$work/once"
    mkfifo "$work/once" || return 0
    cat "$text" > "$work/once" &
    once "$work/once" | cmp - "$work/wanted" || return 1
    cat "$work/pairs" > "$work/once" &
    once --pairs "$work/once" | cmp - "$work/two" || return 1
    cat "$text" > "$work/once" &
    once "$text" --valid "$work/once" | cmp - "$work/both"
}
check "tfn train: pipes" pipes

# frozen weights do not change and have no moments; an unknown name is refused
froze() {
    small copy f --steps 20 --min 2 --max 5 --from "$work/a.safetensors" --freeze '*' \
        --group 'decoder.final_norm.* rate=0.5 decay=0' --group '*.ffn.w?.bias' > "$work/f" &&
        "$tfn" inspect "$work/a.safetensors" | grep '^decoder' > "$work/x1" &&
        "$tfn" inspect "$work/f.safetensors" > "$work/x2" || return 1
    grep '^decoder' "$work/x2" | diff "$work/x1" - > "$work/x3" && return 1
    grep -q '> decoder.final_norm.weight' "$work/x3" && ! grep -q '[qkvo]\.' "$work/x3" &&
        grep -q 'training.moment1.decoder.0.ffn.w1.bias' "$work/x2" &&
        ! grep -q 'training.moment1.*[ovw12].weight' "$work/x2"
}
check "tfn train --freeze --group" froze
lora() {                # only A and B train; the folded model gives the same
    small copy l --steps 20 --min 2 --max 5 --from "$work/a.safetensors" \
        --lora '*.self.[qv].weight:4:8' --lora '*.w1.weight:2' > "$work/l" &&
        "$tfn" inspect "$work/a.safetensors" | grep '^decoder' > "$work/x1" &&
        "$tfn" inspect "$work/l.safetensors" > "$work/x2" || return 1
    grep '^decoder' "$work/x2" | grep -v lora | diff "$work/x1" - &&
        [ "$(grep -c 'training.moment1.*lora' "$work/x2")" = "$(grep -c 'training.moment1' "$work/x2")" ] &&
        grep -q '^decoder.1.ffn.w1.lora_b' "$work/x2" &&
        "$tfn" fold "$work/l.safetensors" --out "$work/lf.safetensors" > "$work/x3" &&
        ! "$tfn" inspect "$work/lf.safetensors" | grep -q lora
}
check "tfn train --lora, fold" lora
misnamed() {
    ! small copy n --steps 20 --freeze '*.nrom.*' 2> "$work/error" &&
        grep -q 'did you mean' "$work/error" &&
        ! small copy n --steps 20 --group '*.bias rate=x' 2> "$work/error" &&
        grep -q -- '--group' "$work/error"
}
check "tfn train --freeze: an unknown name" misnamed
# library options that tfn itself lacks are kept in the model; those that tfn sets are refused
any_option() {
    small copy any --steps 20 --optimizer muon --set qk_norm=head,muon_rate=8 --set no_bias=true \
        > "$work/x1" && "$tfn" inspect "$work/any.safetensors" > "$work/x2" || return 1
    head -c 8000 "$work/any.safetensors" | tr , '\n' > "$work/x3"
    grep -q '"tfn.qk_norm":"head"' "$work/x3" && grep -q '"tfn.muon_rate":"8"' "$work/x3" &&
        grep -q '^decoder.*self.q_norm' "$work/x2" && ! grep -q '^decoder.*self.q.bias' "$work/x2" &&
        hash=$(hash_of "$work/x1") || return 1
    small copy any --steps 20 --optimizer muon --set no_bias=true,muon_rate=8,qk_norm=head \
        --force > "$work/x1" && [ "$(hash_of "$work/x1")" = "$hash" ]
}
check "tfn train --set" any_option
unset_for() {           # unset_for ENTRY WORDS: refused, with the entry and the reason
    ! small copy no --steps 20 --set "$1" 2> "$work/error" && grep -q -- "--set.*$1.*$2" "$work/error"
}
no_such_option() {
    unset_for qk_nrom=head 'did you mean qk_norm' && unset_for qk_norm=heed 'did you mean head' &&
        unset_for width=48 'width is ' && ! small copy no --steps 20 --set qk_norm 2> "$work/error" &&
        grep -q 'needs NAME=VALUE, not "qk_norm"' "$work/error"
}
check "tfn train --set: errors" no_such_option

averages() {            # the same weights; validation and use take the averages
    small copy ema --steps 300 --min 2 --max 5 --ema 0.99 > "$work/page" &&
        [ "$(hash_of "$work/a")" = "$(hash_of "$work/page")" ] &&
        [ "$(head -n 1 "$work/a")" != "$(head -n 1 "$work/page")" ] &&
        "$tfn" eval "$work/a.safetensors" > "$work/one" &&
        "$tfn" eval "$work/ema.safetensors" > "$work/page" && ! cmp -s "$work/one" "$work/page" &&
        ! "$tfn" train --resume "$work/ema.safetensors" --ema 0.9 2> "$work/error" &&
        grep -q 'ema is 0.99' "$work/error"
}
check "tfn train --ema" averages

keeps_best() {          # the model of the lowest validation loss, also after an interruption; without state
    small copy a2 --steps 300 --min 2 --max 5 > "$work/page" || return 1
    best=$(sed -n 's/^best \([0-9]*\)  valid .*/\1/p' "$work/page")
    [ "$best" -lt 300 ] && [ "$(sed -n 's/^best.*valid //p' "$work/page")" != \
        "$(sed -n 's/^step.*valid //p' "$work/page")" ] && grep '^best' "$work/b" > "$work/one" &&
        grep '^best' "$work/page" | cmp - "$work/one" || return 1
    for name in a2 b; do "$tfn" eval "$work/$name.best.safetensors" > "$work/of.$name"; done
    "$tfn" eval "$work/a2.safetensors" > "$work/one"
    cmp "$work/of.a2" "$work/of.b" && ! cmp -s "$work/of.a2" "$work/one" &&
        ! "$tfn" train --resume "$work/a2.best.safetensors" 2> "$work/error" &&
        grep -q 'only weights: train --from' "$work/error"
}
check "tfn train: the best is kept" keeps_best

# the example's model: letters backwards, for eval, generate and later commands
reverse() {
    "$tfn" train --task reverse --arch decoder --layers 2 --width 16 --ffn 32 --heads 2 --min 1 \
        --max 4 --context 12 --steps 2000 --lr 0.005 --batch-tokens 256 --threads 1 --quiet \
        --save-every 500 --keep 2 --out "$work/m.safetensors" --log "$work/m.jsonl" \
        --plot "$work/m.svg" > "$work/page"
}
check "tfn train: a model for later tests" reverse
drawn() {               # an interrupted run has the picture of one without interruption
    "$tfn" train --task copy --arch decoder --layers 1 --width 8 --steps 900 --threads 1 --quiet \
        --out "$work/g.safetensors" --plot "$work/g.svg" > "$work/page" &&
        [ "$(sed -n 2p "$work/g.svg.csv")" = "$columns" ] || return 1
    rm "$work/g.safetensors" "$work/g.best.safetensors"
    "$tfn" train --task copy --arch decoder --layers 1 --width 8 --steps 900 --threads 1 --quiet \
        --out "$work/g.safetensors" --log "$work/g.jsonl" --plot "$work/h.svg" \
        > "$work/page" 2> "$work/error" &
    job=$!
    while [ ! -s "$work/g.jsonl" ] && kill -0 $job; do sleep 0.02; done
    kill -INT $job
    wait $job
    [ $? = 130 ] && "$tfn" train --resume "$work/g.safetensors" --threads 1 --quiet \
        --log "$work/g.jsonl" --plot "$work/h.svg" > "$work/page" && cmp "$work/g.svg" "$work/h.svg"
}
columns=step,loss,nll,lr,gradient,tokens,seconds,valid,other,decoder.0
check "tfn train --plot: all of the log" drawn
records() {
    [ "$(wc -l < "$work/m.jsonl")" = 2001 ] && head -n 1 "$work/m.jsonl" | grep -q '"lr": 0.005' &&
        grep -q 'Gradient norm' "$work/m.svg" && tail -n 1 "$work/m.svg" | grep -q '</svg>' &&
        head -n 1 "$work/b's log.csv" | grep -q '^# {"tfnorm"' && [ ! -e "$work/m.500.safetensors" ] &&
        [ -e "$work/m.1000.safetensors" ] && [ -e "$work/m.1500.safetensors" ]
}
check "tfn train: --log, --plot, --keep" records
scores() {
    "$tfn" eval "$work/m.safetensors" > "$work/page" && grep -q '^equal *1.0000' "$work/page" &&
        printf 'ab\tba\nabcd\tdcba\n' | "$tfn" eval "$work/m.safetensors" - > "$work/page" &&
        grep -q '^items *2' "$work/page" && grep -q '^equal *1.0000' "$work/page"
}
check "tfn eval" scores
generates() {           # a line for each, even an empty one, with any batch
    printf 'ab\n\nbead\r\nhgf' > "$work/input"
    "$tfn" generate "$work/m.safetensors" "$work/input" > "$work/page" &&
        [ "$(sed -n '1p;3p;4p' "$work/page" | tr '\n' ' ')" = 'ba daeb fgh ' ] &&
        [ "$(wc -l < "$work/page")" = 4 ] || return 1
    for how in '' '--beam 3' '--temperature 2 --top-k 5 --top-p 0.9 --seed 3'; do
        "$tfn" generate "$work/m.safetensors" "$work/input" $how --batch 1 > "$work/one" &&
            "$tfn" generate "$work/m.safetensors" $how < "$work/input" > "$work/page" &&
            cmp "$work/one" "$work/page" || return 1
    done
    "$tfn" generate "$work/m.safetensors" "$work/input" --beam 3 --n-best 2 > "$work/page"
    [ "$(cut -f 1 "$work/page" | tr '\n' ' ')" = '1 1 2 2 3 3 4 4 ' ]
}
check "tfn generate" generates
lines() {               # an answer comes before the input ends
    rm -f "$work/fifo" "$work/answer"
    mkfifo "$work/fifo" || return 0
    (echo ab; exec sleep 60) > "$work/fifo" &
    job=$!
    "$tfn" generate "$work/m.safetensors" --batch 1 < "$work/fifo" > "$work/answer" &
    while [ ! -s "$work/answer" ] && kill -0 $job; do sleep 0.1; done
    kill $job && [ "$(cat "$work/answer")" = ba ]
}
check "tfn generate: line by line" lines
averages() {            # the average of a file with itself: the same weights
    "$tfn" average "$work/m.safetensors" "$work/m.safetensors" -o "$work/mean.safetensors" \
        > "$work/page" && "$tfn" inspect "$work/m.safetensors" > "$work/one" &&
        grep -q "step 2000, hash $(hash_of "$work/page")" "$work/one" &&
        grep -q '^training.moment1.embedding' "$work/one" &&
        ! "$tfn" average "$work/m.safetensors" "$work/a.safetensors" -o "$work/x" 2> "$work/error" &&
        grep -q 'the model has' "$work/error"
}
check "tfn average, inspect" averages
folds() {
    "$tfn" fold "$work/m.safetensors" -o "$work/folded.safetensors" > "$work/page" || return 1
    "$tfn" eval "$work/folded.safetensors" > "$work/page" 2>&1
    grep -q '^equal *1.0000' "$work/page"
}
check "tfn fold" folds
# The example's model must be this one, with the same text and score; TFN_UPDATE=1 writes it.
exports() {
    "$tfn" export "$work/m.safetensors" -o "$work/m.h" || return 1
    if [ "$TFN_UPDATE" ]; then cp "$work/m.h" ../examples/20_model.h; fi
    cmp "$work/m.h" ../examples/20_model.h && MAKEFLAGS= make -s build/lib.o &&
        sed '/^#define TFNORM_/d' ../examples/20_exported.c > "$work/exported.c" &&
        ${CC:-cc} -O1 -I../examples "$work/exported.c" build/lib.o -o "$work/exported" -lm ||
        return 1
    for text in a bead hgfh; do
        echo $text | "$tfn" generate "$work/m.safetensors" --n-best 1 |
            awk -F '\t' '{ print $3 " " $2 }' > "$work/page"
        "$work/exported" $text | diff - "$work/page" || return 1
    done
}
# a model made by a program, without a tokenizer: an encoder of frames
exports_frames() {
    cat > "$work/frames.c" <<'END'
#include "../../../tfnorm.h"
#include <stdio.h>
#ifdef EXPORTED
#include "frames.h"
#endif
int main(int argc, char **argv)
{
    const float frames[6] = { 0.5f, -1, 2, 0.25f, 1, -0.125f };
    tfn_batch batch = { 0 };
    const float *z;
    tfn_model m;
#ifdef EXPORTED
    tfn_model_desc d = hand_desc();
#else
    tfn_model_desc d = { 0 };
    tfn_file f = { 0 };
    d.arch = TFN_ARCH_ENCODER;
    d.context = 4;
    d.bands = 2;
    d.frame_map = TFN_FRAME_MAP_LINEAR;
    d.head = TFN_HEAD_NUMBERS;
    d.numbers = 3;
#endif
    d.threads = 1;
    if (tfn_model_new(&m, &d, NULL) != TFN_OK) return 1;
    batch.frames = frames;
    batch.batch = 1;
    batch.time = 3;
    z = tfn_model_logits(&m, &batch);
    if (!z) return 1;
    for (int i = 0; i < 3; i++) printf("%.9g\n", (double)z[i]);
#ifndef EXPORTED
    f.path = argv[argc - 1];
    if (tfn_model_save(&f, &m, NULL) != TFN_OK) return 1;
#else
    (void)argv;
#endif
    return argc != 2;
}
END
    MAKEFLAGS= make -s build/lib.o &&
        ${CC:-cc} -O1 "$work/frames.c" build/lib.o -o "$work/frames" -lm &&
        "$work/frames" "$work/hand.safetensors" > "$work/said" &&
        "$tfn" export "$work/hand.safetensors" --prefix hand -o "$work/frames.h" || return 1
    ! grep -q tokenizer "$work/frames.h" &&
        ${CC:-cc} -O1 -DEXPORTED "$work/frames.c" build/lib.o -o "$work/exported" -lm &&
        "$work/exported" x | diff - "$work/said" || return 1
    ! "$tfn" logits "$work/hand.safetensors" --ids 1 2> "$work/said" &&
        grep -q 'reads frames, not tokens' "$work/said"
}
check "tfn export of a model without tokenizer" exports_frames
if "$tfn" bits > "$work/page"; then check "tfn export" exports
else skip "tfn export" "bits differ here"
fi
hears() {               # sound through convolutions; text input is refused
    "$tfn" train --task digits --items 60 --held 20 --layers 1 --width 16 --steps 30 --threads 1 \
        --quiet --out "$work/s.safetensors" > "$work/page" &&
        "$tfn" inspect "$work/s.safetensors" | grep -q '^encoder.conv_2.weight' &&
        "$tfn" eval "$work/s.safetensors" > "$work/page" && grep -q '^items *20' "$work/page" &&
        grep -q '^WER *[0-9.]*$' "$work/page" || return 1
    echo one | "$tfn" translate "$work/s.safetensors" 2> "$work/error"
    [ $? = 1 ] && grep -q 'is a model of sound' "$work/error" || return 1
    "$tfn" train --task digits --arch decoder --out "$work/x.safetensors" 2> "$work/error"
    [ $? = 1 ] && grep -q 'sound needs --arch encdec' "$work/error"
}
check "tfn train --task digits: sound" hears
parts() {               # words in clusters: the file stores them, and all commands use them
    "$tfn" train --task markov --items 300 --held 20 --layers 1 --width 16 --steps 30 --threads 1 \
        --cutoffs 8,12 --quiet --out "$work/w.safetensors" > "$work/page" &&
        "$tfn" inspect "$work/w.safetensors" | grep -q '^project_2.weight' &&
        "$tfn" eval "$work/w.safetensors" | grep -q '^perplexity' &&
        echo | "$tfn" generate "$work/w.safetensors" --max-tokens 4 > "$work/page" || return 1
    "$tfn" train --task markov --cutoffs x --out "$work/x.safetensors" 2> "$work/error"
    [ $? = 1 ] && grep -q 'cutoffs x is no number' "$work/error"
}
check "tfn train --cutoffs: clusters of words" parts
classifies() {
    awk 'BEGIN { for (i = 0; i < 900; i++) { n = i * 7 % 13 % 2
        print (n ? "yes" : "no") "\t" (n ? "good " : "bad ") i "\t" i % 7 } }' > "$work/labels.tsv"
    "$tfn" train --labels "$work/labels.tsv" --layers 1 --width 16 --tokenizer words --steps 100 \
        --threads 1 --quiet --out "$work/c.safetensors" > "$work/page" &&
        printf 'good 28\t1\n\nbad 1\t3' | "$tfn" classify "$work/c.safetensors" > "$work/page" &&
        [ "$(sed 2d "$work/page" | tr '\n' ' ')" = 'yes no ' ] &&
        "$tfn" eval "$work/c.safetensors" | grep -q '^accuracy *\(0.[89]\|1\)' || return 1
    printf 'other\t1\t2\n' | "$tfn" eval "$work/c.safetensors" - 2> "$work/error"
    [ $? = 1 ] && grep -q 'standard input:1: label "other"' "$work/error"
}
check "tfn classify" classifies
ordered() {             # lines of many lengths, the longest larger than a training batch
    awk 'BEGIN { for (i = 0; i < 60; i++) {
        printf "%s", i % 3 ? "bad" : "good"; for (k = i * 7 % 31; k > 0; k--) printf " %d", k
        print "" } for (i = 0; i < 600; i++) printf "good "; print "" }' > "$work/input"
    "$tfn" train --labels "$work/labels.tsv" --layers 1 --width 16 --tokenizer words --steps 100 \
        --context 700 --batch-tokens 512 --threads 1 --quiet --out "$work/o.safetensors" \
        > "$work/page" && "$tfn" classify "$work/o.safetensors" "$work/input" --n-best 1 |
        cut -f 1 > "$work/one" && seq 61 | diff - "$work/one" || return 1
    "$tfn" classify "$work/o.safetensors" "$work/input" > "$work/one"
    while read -r line; do echo "$line" | "$tfn" classify "$work/o.safetensors"; done \
        < "$work/input" | diff - "$work/one"
}
check "tfn classify: in order" ordered
embeds() {              # a vector for each line, with any batch; in both forms; for each architecture
    printf 'ab\n\nbead hgf abcdefgh\nhgf' > "$work/input"
    rm -f "$work"/*.npy "$work/v.tsv"
    "$tfn" embed "$work/m.safetensors" "$work/input" > "$work/one" 2> "$work/error" &&
        grep -q '^tfn: line 3 has [0-9]* tokens; 11 are read' "$work/error" &&
        awk -F '\t' 'NF != 16 { exit 1 } END { exit NR != 4 }' "$work/one" &&
        "$tfn" embed "$work/m.safetensors" --batch 1 -o "$work/v.tsv" < "$work/input" \
            2> "$work/error" && cmp "$work/one" "$work/v.tsv" &&
        "$tfn" embed "$work/m.safetensors" "$work/input" -o "$work/v.npy" 2> "$work/error" &&
        head -c 128 "$work/v.npy" | grep -aq "'<f4', .*'shape': (4, 16)" &&
        [ "$(wc -c < "$work/v.npy")" = $((128 + 4 * 16 * 4)) ] || return 1
    for model in m c a; do                                  # decoder, encoder, encoder-decoder
        "$tfn" embed "$work/$model.safetensors" "$work/input" --unit --pool last --layer 1 \
            2> "$work/error" | awk -F '\t' '{ n = 0; for (i = 1; i <= NF; i++) n += $i * $i
                if (n < 0.9999 || n > 1.0001) exit 1 } END { exit NR != 4 }' || return 1
    done
    "$tfn" embed "$work/m.safetensors" "$work/input" -o "$work/v.npy" 2> "$work/error"
    [ $? = 1 ] && grep -q -- --force "$work/error" || return 1
    "$tfn" embed "$work/m.safetensors" "$work/input" --format npy 2> "$work/error"
    [ $? = 2 ] && grep -q 'needs --out' "$work/error" || return 1
    "$tfn" embed "$work/m.safetensors" "$work/input" --layer 3 2> "$work/error"
    [ $? = 1 ] && grep -q 'after 3 layers, the stack has 2' "$work/error" || return 1
    "$tfn" embed "$work/s.safetensors" "$work/input" 2> "$work/error"
    [ $? = 1 ] && grep -q 'is a model of sound' "$work/error"
}
check "tfn embed" embeds
reads_both() {
    "$python" -c 'import sys, numpy as n
a, b = n.load(sys.argv[1]), n.loadtxt(sys.argv[2], dtype=n.float32, delimiter="\t", ndmin=2)
sys.exit(a.dtype != n.float32 or a.tobytes() != b.tobytes())' "$work/v.npy" "$work/v.tsv"
}
for python in python3 /usr/bin/python3 none; do
    if [ $python = none ] || "$python" -c 'import numpy' 2> "$work/error"; then break; fi
done
if [ $python = none ]; then skip "tfn embed: readable by numpy" "no python3 with numpy"
else check "tfn embed: readable by numpy" reads_both
fi
limited() { (ulimit -v 300000 && "$tfn" "$@"); }
roomy() {               # eval uses the batches of training, not 1.6 GB for the longest possible rows
    awk 'BEGIN { for (i = 0; i < 9000; i++) print (i % 3 ? "yes\ta" : "no\tb") i }' > "$work/short"
    limited train --labels "$work/short" --tokenizer bytes --context 4000 --batch 4000 \
        --batch-tokens 4000 --layers 1 --width 32 --steps 3 --threads 1 --quiet \
        --out "$work/r.safetensors" > "$work/page" && limited eval "$work/r.safetensors" \
        > "$work/page" 2> "$work/error" && grep -q '^items *[1-9]' "$work/page" ||
        { cat "$work/error"; return 1; }
}
check "tfn eval: memory of the batches" roomy
tunes() {               # a pre-trained encoder classifies; its first seed gives the model's own run
    "$tfn" train --task sentences --arch encoder --layers 1 --width 16 --steps 60 --threads 1 --quiet \
        --out "$work/p.safetensors" > "$work/page" &&
        "$tfn" train --task agreement --from "$work/p.safetensors" --items 300 --held 100 \
            --steps 60 --threads 1 --out "$work/q.safetensors" > "$work/page" 2> "$work/error" &&
        grep -q '^[0-9]* of [0-9]* tensors come from' "$work/error" &&
        "$tfn" classify "$work/q.safetensors" --seeds 2 > "$work/page" &&
        grep -q '^mean .*, 95 % interval .* to ' "$work/page" &&
        "$tfn" eval "$work/q.safetensors" > "$work/one" &&
        [ "$(awk '/^seed 1 / { print $4 }' "$work/page")" = \
          "$(awk '/^accuracy/ { print $2 }' "$work/one")" ]
}
check "tfn train --from, classify --seeds" tunes
texts() {               # a user's text; prompts of any bytes
    "$tfn" train check.sh --tokenizer bytes --layers 1 --width 16 --steps 20 --threads 1 --quiet \
        --out "$work/t.safetensors" > "$work/page" && "$tfn" eval "$work/t.safetensors" |
        grep -q bits/byte && printf 'if\n\377\\' | "$tfn" generate "$work/t.safetensors" \
        --max-tokens 9 --lines > "$work/page" && [ "$(wc -l < "$work/page")" = 2 ]
}
check "tfn: a text in bytes" texts
slides() {              # past the context, any number of tokens; with any batch
    printf 'if\nthen some more words than half of the context has room for, or so\n' > "$work/input"
    "$tfn" train tfn.sh --tokenizer bytes --layers 1 --width 16 --context 16 --steps 60 --threads 1 \
        --quiet --out "$work/slide.safetensors" > "$work/page" 2>&1 || return 1
    for how in '' '--temperature 1 --top-k 9'; do
        "$tfn" generate "$work/slide.safetensors" "$work/input" $how --max-tokens 333 > "$work/one" \
            2> "$work/error" && [ "$(wc -c < "$work/one")" = $(($(wc -c < "$work/input") + 666)) ] &&
            "$tfn" generate "$work/slide.safetensors" "$work/input" $how --max-tokens 333 --batch 1 \
                2> "$work/error" | cmp "$work/one" - || return 1
        "$tfn" generate "$work/slide.safetensors" "$work/input" $how --max-tokens 9 > "$work/short" \
            2> "$work/error"
        head -n 1 "$work/short" | tr -d '\n' > "$work/begin"
        head -c "$(wc -c < "$work/begin")" "$work/one" | cmp - "$work/begin" || return 1
    done
    echo if | "$tfn" generate "$work/slide.safetensors" > "$work/one"      # 200, the default
    [ "$(wc -c < "$work/one")" = 203 ] || return 1
    for how in '--beam 2' '--n-best 1'; do
        echo if | "$tfn" generate "$work/slide.safetensors" $how > "$work/page" 2> "$work/error" &&
            grep -q '^tfn: 1 text stopped because no room was left in the context of 16 tokens' "$work/error" ||
            return 1
    done
}
check "tfn generate: longer than the context" slides
# why each text stops: its end, --max-tokens, no room
stops() {
    printf 'ab\nhgf\n' | "$tfn" generate "$work/m.safetensors" --counts > "$work/page" 2> "$work/error" &&
        [ "$(cat "$work/error")" = "$(printf 'tfn: text 1: 3 tokens, stopped at its end\ntfn: text 2: 4 tokens, stopped at its end')" ] &&
        echo hgfe | "$tfn" generate "$work/m.safetensors" --counts --max-tokens 2 > "$work/page" 2> "$work/error" &&
        [ "$(cat "$work/error")" = "tfn: text 1: 2 tokens, stopped at --max-tokens 2" ] &&
        "$tfn" generate "$work/slide.safetensors" if --counts --max-tokens 40 > "$work/page" 2> "$work/error" &&
        [ "$(cat "$work/error")" = "tfn: text 1: 40 tokens, stopped at --max-tokens 40" ] &&
        "$tfn" generate "$work/slide.safetensors" if --counts --n-best 1 > "$work/page" 2> "$work/error" &&
        grep -q '^tfn: text 1: [0-9]* tokens, stopped at the context of 16 tokens$' "$work/error"
}
check "tfn generate --counts: why a text stops" stops
newlines() {            # unchanged; as \n where the output has one text a line
    awk 'BEGIN { for (i = 0; i < 2000; i++) print "a\\" }' > "$work/slashes"
    "$tfn" train "$work/slashes" --tokenizer bytes --layers 1 --width 8 --steps 100 --lr 0.02 \
        --threads 1 --quiet --out "$work/n.safetensors" > "$work/page" &&
        printf '%s\n' 'a\' > "$work/input" &&
        "$tfn" generate "$work/n.safetensors" "$work/input" --max-tokens 4 > "$work/page" || return 1
    printf '%s\n' 'a\' 'a\' '' | cmp - "$work/page" || return 1
    for how in --lines '--n-best 1'; do
        "$tfn" generate "$work/n.safetensors" "$work/input" --max-tokens 4 $how | cut -f 3 \
            > "$work/page"
        printf '%s\n' 'a\\\na\\\n' | cmp - "$work/page" || return 1
    done
    "$tfn" generate --help | grep -q 'newline as'
}
check "tfn generate: newlines" newlines
zeros() {               # a text with zero bytes is written completely
    printf 'a\0b%.0s' $(seq 700) > "$work/zeros"
    "$tfn" train "$work/zeros" --tokenizer bytes --layers 1 --width 8 --steps 100 --lr 0.02 \
        --threads 1 --quiet --out "$work/n.safetensors" --force > "$work/page" &&
        echo a | "$tfn" generate "$work/n.safetensors" --max-tokens 5 > "$work/page" &&
        printf 'a\0ba\0b\n' | cmp - "$work/page"
}
check "tfn generate: zero bytes" zeros
oneline() {             # a tenth is still held out, cut between characters
    awk 'BEGIN { for (i = 0; i < 900; i++) printf "\303\244%d ", i % 7 }' > "$work/oneline"
    "$tfn" train "$work/oneline" --tokenizer chars --layers 1 --width 16 --steps 20 --threads 1 \
        --quiet --out "$work/oneline.safetensors" > "$work/page" &&
        "$tfn" eval "$work/oneline.safetensors" > "$work/page" &&
        awk '/^targets/ { exit !($2 > 250 && $2 < 280) }' "$work/page"
}
check "tfn train: a text of one line" oneline
marked() {              # a byte-order mark is never part of a class, a word or a prompt
    mark=$(printf '\357\273\277')
    { printf '%s' "$mark"; cat "$work/labels.tsv"; } > "$work/marked.tsv"
    "$tfn" train --labels "$work/marked.tsv" --layers 1 --width 16 --tokenizer words --steps 100 \
        --threads 1 --quiet --out "$work/k.safetensors" > "$work/one" &&
        "$tfn" train --labels "$work/labels.tsv" --layers 1 --width 16 --tokenizer words \
            --steps 100 --threads 1 --quiet --force --out "$work/c2.safetensors" > "$work/page" &&
        cmp "$work/one" "$work/page" || return 1
    { printf '%s' "$mark"; echo ab; } > "$work/marked"
    echo ab > "$work/plain"
    for command in "generate $work/m.safetensors" "classify $work/c.safetensors"; do
        "$tfn" $command "$work/plain" > "$work/one" && "$tfn" $command "$work/marked" |
            cmp "$work/one" - && "$tfn" $command < "$work/marked" | cmp "$work/one" - || return 1
    done
    "$tfn" score "$work/marked" "$work/plain" | grep -q '^equal *1.0000'
}
check "tfn: byte-order marks" marked
elsewhere() {           # the resumed file is written, with any name, in any folder
    mkdir -p "$work/other" && rm -f "$work/other"/* &&
        small copy first --steps 20 --save-every 10 --keep 2 --force > "$work/page" &&
        mv "$work/first.10.safetensors" "$work/other/second.safetensors" || return 1
    there=$PWD/$tfn
    (cd "$work/other" && "$there" train --resume second.safetensors --quiet --log new.csv) \
        > "$work/one" && [ "$(hash_of "$work/one")" = "$(hash_of "$work/page")" ] &&
        [ "$(ls "$work/other")" = "$(printf '%s\n' new.csv second.best.safetensors second.safetensors)" ] &&
        head -n 1 "$work/other/new.csv" | grep -q '^# {"tfnorm"' &&      # a new log begins with a head
        [ "$(sed -n 3p "$work/other/new.csv" | cut -d , -f 1)" = 11 ]
}
check "tfn train --resume: a file of another name" elsewhere
shares() {              # no file has two roles, and none is lost without --force
    for i in 1 2 3 4 5 6 7 8; do echo "abba baab $i"; done > "$work/lines.txt"
    cp "$work/lines.txt" "$work/lines.kept"
    tiny() { "$tfn" train "$work/lines.txt" --layers 1 --width 8 --steps 3 --threads 1 --quiet "$@"; }
    out=$work/shared.safetensors
    rm -f "$out" "$work/shared.best.safetensors"
    refused() {         # refused MESSAGE OPTIONS
        said=$1
        shift
        ! tiny "$@" > "$work/page" 2> "$work/error" && grep -q -- "$said" "$work/error" ||
            { echo "$said: $*"; cat "$work/error"; return 1; }
    }
    ln -sf lines.txt "$work/linked.txt"
    refused 'one file' --out "$out" --log "$work/lines.txt" --force &&
        refused 'one file' --out "$out" --plot "$work/linked.txt" --force &&
        refused 'one file' --out "$out" --plot "$out" && refused 'one file' --out "$out" --log "$out" &&
        refused 'one file' --out "$out" --adapter "$out" --lora '*.q.weight:2' &&
        refused 'one file' --out "$out" --log "$work/x.csv" --plot "$work/x.csv" &&
        refused 'is no log' --out "$out" --log "$work/lines.kept" &&
        refused 'is no picture' --out "$out" --plot "$work/lines.kept" &&
        cmp "$work/lines.txt" "$work/lines.kept" && [ ! -e "$out" ] || return 1
    tiny --out "$out" > "$work/page" && rm "$out" &&
        refused 'shared.best.safetensors, an earlier' --out "$out" && tiny --out "$out" --force > "$work/page" &&
        refused 'has no value' --out "$out" --force=no &&
        refused 'one of them' --out "$out" --force --minutes 1 &&
        refused '--wall needs --minutes' --out "$out" --force --wall &&
        refused 'one of them' --resume "$out" --from "$out" && refused 'is no log' --resume "$out" \
            --log "$work/lines.kept" && cmp "$work/lines.txt" "$work/lines.kept"
}
check "tfn train: files with two roles, or that would be lost" shares
refusals() {            # options without effect, or with another effect, are refused
    said() {            # said MESSAGE ARGUMENTS
        wanted=$1
        shift
        ! "$tfn" "$@" < "$work/lines.kept" > "$work/page" 2> "$work/error" && grep -q -- "$wanted" "$work/error" ||
            { echo "$wanted: $*"; cat "$work/error"; return 1; }
    }
    sed 's/^/yes\t/' "$work/lines.kept" > "$work/lines.labels"
    out=$work/shared.safetensors
    tiny --out "$work/full.safetensors" --force > "$work/page" &&
        tiny --out "$work/low.safetensors" --from "$work/full.safetensors" --lora '*.q.weight:2' \
            --adapter "$work/low.adapter" --force > "$work/page" &&
        "$tfn" generate "$work/full.safetensors" "$work/lines.kept" --adapter "$work/low.adapter" --max-tokens 3 \
            > "$work/page" || return 1
    said 'is no adapter' generate "$work/full.safetensors" - --adapter "$work/low.safetensors" &&
        said 'tfn fold merges it' train "$work/lines.txt" --from "$work/low.safetensors" --out "$out" --force &&
        said 'all labels are "yes"' train --labels "$work/lines.labels" --layers 1 --out "$out" --force &&
        said 'needs NAMES:N,.., not ""' train "$work/lines.txt" --lora '' --out "$out" --force &&
        said 'one file, expected two' score - - && said 'need a sentence' inspect "$work/full.safetensors" \
            --out "$work/x.html" && said 'need --hf' export "$work/full.safetensors" --out "$work/x.h" --round &&
        said 'is for C' export "$work/full.safetensors" --hf "$work/x.hf" --prefix a &&
        "$tfn" generate "$work/full.safetensors" --max-tokens 30 2> "$work/error" > "$work/page" \
            --ids "$(for _ in 1 2 3 4 5 6; do printf '4 4 4 4 4 4 4 4 4 4 '; done)" &&
        grep -q 'no room was left in the context of 64' "$work/error" &&
        said 'no room for a turn' chat "$work/full.safetensors" - \
            --system "$(cat "$work/lines.kept" "$work/lines.kept")"
}
check "tfn: options without effect are refused" refusals
json_log() {            # numbers have JSON's form, however they are given
    small copy j --steps 3 --dropout .1 --decay 0x1p-3 --seed 007 --force --log "$work/j.jsonl" > "$work/page" &&
        head -n 1 "$work/j.jsonl" > "$work/one" && grep -q '"dropout": 0.1,' "$work/one" &&
        grep -q '"decay": 0.125,' "$work/one" && grep -q '"seed": 7,' "$work/one"
}
check "tfn train --log: numbers of JSON" json_log
changes() {             # a resumed run needs the same data
    head -c 9000 tfn.sh > "$work/text"
    "$tfn" train "$work/text" --layers 1 --width 16 --steps 5 --threads 1 --quiet \
        --out "$work/e.safetensors" > "$work/page" 2>&1 && head -c 9000 check.sh > "$work/text" &&
        ! "$tfn" train --resume "$work/e.safetensors" > "$work/page" 2> "$work/error" &&
        grep -q 'is not the data of' "$work/error"
}
check "tfn train --resume: changed data" changes
diagnoses() {
    "$tfn" train --task copy --layers 6 --width 16 --recipe post --warmup 0 --lr 0.05 --steps 60 \
        --threads 1 --quiet --out "$work/d.safetensors" > "$work/page" 2> "$work/error" &&
        grep -q 'post, 6 layers, no warm-up: try --warmup 400' "$work/error" &&
        [ "$(grep -c warning "$work/error")" = 1 ] && grep -q 'decoder.5' "$work/error" || return 1
    # Pre-LN is not told to become Pre-LN
    seq 400 | sed 's/$/ a b/' > "$work/text"
    "$tfn" train "$work/text" --layers 1 --width 16 --steps 80 --threads 1 --quiet --force \
        --out "$work/d.safetensors" > "$work/page" 2> "$work/error" &&
        grep -q 'pre, 1 layer, .* try more steps, more text' "$work/error" && ! grep -q -e '--recipe pre' "$work/error"
}
check "tfn train: diagnoses errors" diagnoses
progress() {            # before the first validation no loss is shown
    script -qec "$tfn train --task copy --layers 1 --width 8 --steps 300 --eval-every 200 \
        --threads 1 --out $work/progress.safetensors" "$work/typed" < /dev/null > "$work/page"
    tr '\r' '\n' < "$work/typed" | grep '^.*step [0-9]*/300' > "$work/lines"
    grep -q 'step [0-9]*/300 .* valid -  lr' "$work/lines" && ! grep -q nan "$work/lines" &&
        grep -q 'step 300/300 .* valid [0-9.]*  lr' "$work/lines"
}
if have script; then check "tfn train: progress" progress
else skip "tfn train: progress" "no script"
fi
timed() {
    "$tfn" train --task copy --layers 1 --width 8 --minutes 0.01 --quiet --out "$work/h.safetensors" \
        > "$work/one" 2> "$work/error" || return 1
    steps=$(sed -n 's/.*--steps //p' "$work/error")
    "$tfn" train --task copy --layers 1 --width 8 --steps "$steps" --quiet --force --threads 1 \
        --out "$work/h.safetensors" > "$work/page" && cmp "$work/one" "$work/page"
}
check "tfn train --minutes: repeats by --steps" timed
# With a text, --minutes chooses all missing options, and prints a command that repeats the run.
planned() {
    cat ./*.sh > "$work/book.txt"
    "$tfn" train "$work/book.txt" --minutes 0.01 --layers 1 --threads 1 --quiet \
        --out "$work/h2.safetensors" > "$work/one" 2> "$work/error" || return 1
    line=$(sed -n 's/.* a step://p' "$work/error")
    case $line in *--layers*) return 1 ;; *--width*--optimizer*--steps*) ;; *) return 1 ;; esac
    # shellcheck disable=SC2086
    "$tfn" train "$work/book.txt" --layers 1 $line --threads 1 --quiet --force \
        --out "$work/h2.safetensors" > "$work/page" && cmp "$work/one" "$work/page" || return 1
    # given options decide others: heads of a width, norms of a recipe, pieces of --vocab
    "$tfn" train "$work/book.txt" --minutes 0.01 --width 80 --recipe ngpt --vocab 300 --threads 1 \
        --quiet --force --out "$work/h2.safetensors" > "$work/page" 2> "$work/error" || return 1
    grep -q -e '--set muon_rate=[0-9]' "$work/error" || return 1
    ! grep -q -e 'qk_norm\|--tokenizer\|--heads' "$work/error" || return 1
    "$tfn" train "$work/book.txt" --minutes 0.01 --optimizer adamw --set no_bias=true \
        --threads 1 --quiet --force --out "$work/h2.safetensors" > "$work/page" 2> "$work/error" ||
        return 1
    ! grep -q ' a step:.* --\(set\|lr\|decay\) ' "$work/error"
}
check "tfn train TEXT --minutes: its choices repeat the run" planned
# Batches of one row, of 2 letters or 40: whichever come first, the steps take the requested time by a
# clock that counts positions, because a machine's speed varies from second to second.
estimated() {
    MAKEFLAGS= make -s -C ../tools out="$PWD/$work/counted" \
        CFLAGS="-O0 -std=c99 -DTFNORM_NO_SIMD -DTFN_TEST_CLOCK" "$PWD/$work/counted/tfn" || return 1
    awk 'BEGIN { for (i = 0; i < 3000; i++) { w = "a" i
        if (i % 12 == 0) for (k = 0; k < 40; k++) w = w "b" k % 7
        print w "\t" w } }' > "$work/uneven.tsv"
    for seed in 1 2 3; do
        "$work/counted/tfn" train --pairs "$work/uneven.tsv" --tokenizer chars --context 256 --batch 1 --layers 1 \
            --width 16 --seed $seed --minutes 0.03 --threads 1 --quiet --force \
            --out "$work/u.safetensors" > "$work/page" 2> "$work/said" || return 1
        sed -n 's/.*--steps //p' "$work/said"
    done > "$work/steps"
    cat "$work/steps"
    # this build's wall clock runs three times as fast: this is reported, and --wall counts it
    grep -q 'minutes 0.03 counts processor time: about 0.09[0-9]* minutes on the clock.* --wall counts the clock' \
        "$work/said" && "$work/counted/tfn" train --pairs "$work/uneven.tsv" --tokenizer chars \
        --context 256 --batch 1 --layers 1 --width 16 --minutes 0.03 --wall --threads 1 --quiet \
        --force --out "$work/u.safetensors" > "$work/page" 2> "$work/said" || return 1
    ! grep -q 'on the clock' "$work/said" &&
        awk -v all="$(tail -n 1 "$work/steps")" -v few="$(sed -n 's/.*--steps //p' "$work/said")" \
        'BEGIN { exit !(few > all / 4 && few < all / 2) }' || { cat "$work/said"; return 1; }
    sort -n "$work/steps" | awk '{ n[NR] = $1 } END { exit !(n[1] > 100 && n[3] < 1.5 * n[1]) }'
}
check "tfn train --minutes: any order of batches" estimated
diverges() {            # reported, with a code other than 0; the model is kept for inspection
    "$tfn" train --task copy --layers 1 --width 16 --steps 50 --lr 100 --threads 1 --quiet \
        --out "$work/v.safetensors" > "$work/page" 2> "$work/error"
    [ $? = 1 ] && grep -q '^tfn: training diverged: the validation loss is ' "$work/error" &&
        grep -q '^hash' "$work/page" && [ -s "$work/v.safetensors" ] || return 1
    "$tfn" train --task copy --layers 1 --width 16 --steps 1 --threads 1 --quiet --force \
        --out "$work/v.safetensors" > "$work/page" 2> "$work/error"       # a short run is no error
}
check "tfn train: reports divergence" diverges
killed() {              # during a save: the next run removes the remains
    rm -rf "$work/kill"
    mkdir -p "$work/kill"
    kept="--task copy --layers 2 --width 64 --steps 60 --save-every 1 --keep 2 --threads 1 --quiet"
    "$tfn" train $kept --out "$work/kill/whole.safetensors" > "$work/one" || return 1
    stale=0
    for round in 1 2 3 4 5 6 7 8 9 10 11 12; do
        "$tfn" train $kept --resume auto --out "$work/kill/m.safetensors" > "$work/page" 2>&1 &
        job=$!
        sleep 0.$((round % 5 + 1))$round
        kill -9 $job 2> "$work/error" || break
        wait $job 2> "$work/error"
        if [ -n "$(find "$work/kill" -name '*.tmp' -o -name '*.keep')" ]; then stale=$((stale + 1)); fi
    done
    : > "$work/kill/m.safetensors.keep"                 # these must remain
    : > "$work/kill/m.safetensors.keep.tmp"
    (exit) & wait $!                                    # a process that has ended, and one that runs
    for name in m.safetensors m.safetensors.keep m.best.safetensors; do
        : > "$work/kill/$name.$!-abc234.tmp"
    done
    : > "$work/kill/m.safetensors.$$-abc234.tmp"
    "$tfn" train $kept --resume auto --out "$work/kill/m.safetensors" > "$work/page" &&
        tail -n 2 "$work/one" > "$work/wanted" && tail -n 2 "$work/page" | cmp - "$work/wanted" ||
        return 1
    rm "$work/kill/m.safetensors.$$-abc234.tmp" || return 1
    echo "$stale rounds left something"
    ls "$work/kill" > "$work/list"
    cat "$work/list"
    ! grep -v -x '\(m\|whole\)\([.][0-9]*\|[.]best\)\{0,1\}[.]safetensors' "$work/list"
}
check "tfn train: killed while it saves" killed
planted() {             # no tool writes through a link at a temporary file's former name
    rm -rf "$work/planted"
    mkdir -p "$work/planted"
    train="train --task copy --layers 1 --width 8 --steps 2 --threads 1 --quiet --force"
    for arguments in "$train --save-every 1 --keep 2" "average $work/m.safetensors --force" \
        "fold $work/m.safetensors --force" "export $work/m.safetensors --force" \
        "quantize $work/m.safetensors --to q8 --force" "$train --plot $work/planted/p.svg"; do
        echo important > "$work/planted/victim"
        for name in x.tmp x.keep x.keep.tmp x.best.tmp p.svg.tmp; do
            ln -sf victim "$work/planted/$name"
        done
        echo old > "$work/planted/x"
        chmod 600 "$work/planted/x"
        "$tfn" $arguments --out "$work/planted/x" > "$work/page" 2>&1 || return 1
        [ "$(cat "$work/planted/victim")" = important ] && [ ! -L "$work/planted/x" ] &&
            [ "$(ls -l "$work/planted/x" | cut -c 1-10)" = -rw------- ] ||
            { echo "$arguments"; ls -l "$work/planted"; return 1; }
    done
    mkfifo "$work/planted/pipe" || return 0
    for arguments in "$train" "average $work/m.safetensors" "fold $work/m.safetensors" \
        "quantize $work/m.safetensors --to q8"; do
        ! "$tfn" $arguments --force --out "$work/planted/pipe" > "$work/page" 2> "$work/error" &&
            [ -p "$work/planted/pipe" ] || { echo "$arguments"; return 1; }
    done
}
check "tfn: links at temporary names, modes, pipes" planted
linked() {              # a symbolic link stays a link, and its target is replaced
    rm -rf "$work/link"
    mkdir -p "$work/link/far"
    ln -s far/real "$work/link/near" && ln -s "$PWD/$work/link/near" "$work/link/whole" &&
        ln -s loop "$work/link/loop" || return 1
    train="train --task copy --layers 1 --width 8 --steps 2 --threads 1 --quiet --force"
    for arguments in "$train" "average $work/m.safetensors --force" \
        "fold $work/m.safetensors --force" "export $work/m.safetensors --force" \
        "quantize $work/m.safetensors --to q8 --force"; do
        for name in near whole; do
            rm -f "$work/link/far/real"         # the first time the link is dangling
            for again in 1 2; do
                "$tfn" $arguments --out "$work/link/$name" > "$work/page" 2>&1 &&
                    [ -L "$work/link/$name" ] && [ -L "$work/link/near" ] &&
                    [ -s "$work/link/far/real" ] && [ ! -L "$work/link/far/real" ] &&
                    [ "$(ls "$work/link/far")" = real ] || { echo "$name: $arguments"; return 1; }
            done
        done
        ! "$tfn" $arguments --out "$work/link/loop" 2> "$work/error" && [ -s "$work/error" ] &&
            [ -L "$work/link/loop" ] || return 1
    done
    rm "$work/link/far/real"
    "$tfn" $train --out "$work/x.safetensors" --plot "$work/link/near" > "$work/page" &&
        [ -L "$work/link/near" ] && grep -q '<svg' "$work/link/far/real"
    code=$?
    rm -f "$work/x.safetensors"
    return $code
}
check "tfn: symbolic links stay" linked
named() {               # a file that is not a model is named for what it is
    printf 'PK\3\4abcdefgh' > "$work/is.zip"
    printf '\200\2abcdefgh' > "$work/is.pickle"
    : > "$work/is.empty"
    mkdir -p "$work/is.folder"
    wanted="expected a model that tfn train saved"
    for command in generate translate classify eval inspect "average --out $work/y" \
        "fold --out $work/y" "export --out $work/y" "quantize --to q8 --out $work/y" \
        "train --task copy --out $work/y --from" "train --out $work/y --resume"; do
        says "../README.md is a text, $wanted" $command ../README.md &&
            says "$work/is.zip is a zip archive, as PyTorch's are, $wanted" $command "$work/is.zip" &&
            says "$work/is.pickle is a pickle of Python, $wanted" $command "$work/is.pickle" &&
            says "$work/is.empty is empty, $wanted" $command "$work/is.empty" &&
            says "$work/is.folder is a folder, $wanted" $command "$work/is.folder" || return 1
    done
    [ ! -e "$work/y" ] || return 1
    # more than any machine has: the message has the sizes
    "$tfn" train --task copy --steps 1 --ffn 1000000 --width 65536 --layers 1 --threads 1 --quiet \
        --out "$work/y" > "$work/page" 2> "$work/error"
    [ $? = 1 ] && grep -q 'width 65536, hidden width 1000000, ' "$work/error" && [ ! -e "$work/y" ]
}
# says TEXT ARGUMENTS: code 1, nothing printed, and TEXT as the whole message
says() {
    text=$1
    shift
    "$tfn" "$@" < /dev/null > "$work/page" 2> "$work/error"
    code=$?
    [ $code = 1 ] && [ ! -s "$work/page" ] && [ "$(cat "$work/error")" = "tfn: $text" ] ||
        { echo "$*: code $code"; cat "$work/error"; return 1; }
}
check "tfn: files that are not models are identified" named
broken() {              # a damaged file: code 1 and a message
    head -c 5000 "$work/m.safetensors" > "$work/cut.safetensors"
    for command in eval generate inspect export fold "quantize --to q8"; do
        for file in cut.safetensors a.csv nothing; do
            "$tfn" $command "$work/$file" -o "$work/x" < /dev/null > "$work/page" 2> "$work/error"
            code=$?
            [ "${command%% *}" = quantize ] || [ $command = fold ] || [ $command = export ] ||
                [ $code != 2 ] ||
                "$tfn" $command "$work/$file" < /dev/null > "$work/page" 2> "$work/error" || code=$?
            [ $code = 1 ] && [ -s "$work/error" ] || { echo "$command $file: code $code"; return 1; }
        done
    done
}
check "tfn: damaged files" broken

manners() {             # a file that cannot be written is reported before the work, a text by its name
    mkdir -p "$work/folder"
    : > "$work/empty"
    few="too few lines to hold some out; give --valid" anew="--from begins anew with its weights"
    says "$work/none/x cannot be written: No such file or directory" train --task copy --out "$work/none/x" &&
        says "$work/folder: cannot be read: Is a directory" train "$work/folder" &&
        says "$work/folder is a folder" train --task copy --force --out "$work/folder" &&
        says "$work/none/x cannot be written: No such file or directory" train --task copy --out "$work/x" \
            --log "$work/x.csv" --plot "$work/none/x" &&
        says "$work/folder is a folder" average "$work/m.safetensors" -o "$work/folder" &&
        says "$work/none/x cannot be written: No such file or directory" fold "$work/m.safetensors" -o "$work/none/x" &&
        says "$work/empty is empty" train "$work/empty" --out "$work/x" &&
        says "standard input is empty" train - &&
        says "the standard input cannot be both training and validation data" train - --valid /dev/stdin &&
        says "the standard input cannot be both training and validation data" train --pairs - --valid - &&
        says "--log needs a file; --json prints progress for programs" train --task copy --log - &&
        bad=$(printf '%s/a\377.safetensors' "$work") &&
        says "$bad is not UTF-8, so a model cannot store it: rename it" train --task copy --out "$bad" &&
        printf a > "$work/one" && says "$work/one: $few" train "$work/one" --out "$work/x" &&
        says "$work/empty: 0 tokens, expected 2" eval "$work/t.safetensors" "$work/empty" &&
        says "$work/empty has no line" score "$work/empty" "$work/empty" &&
        says "--lr is 0.005 in $work/m.safetensors and stays so; $anew" \
            train --resume "$work/m.safetensors" --lr 0.01 && [ ! -e "$work/x" ] &&
        "$tfn" train --resume "$work/m.safetensors" --lr 5e-3 --steps 2000 --quiet > "$work/page"
}
check "tfn: messages about files" manners
longest=$work/$(awk 'BEGIN { for (i = 0; i < 1500; i++) printf i % 20 == 19 ? "d/" : "a"; print "e" }')
whole() {               # messages have the whole path, however long
    missing="$longest: cannot be opened: No such file or directory"
    says "$missing" train "$longest" --out "$work/x" &&
        says "$missing" score "$longest" "$work/text" &&
        says "$longest: the path has ${#longest} bytes, the limit is 1019" \
            eval "$longest" "$work/text" &&
        says "$longest cannot be written: No such file or directory" train --task copy --steps 1 --out "$longest"
}
check "tfn: long paths" whole

# wrong TEXT ARGUMENTS: code 2, nothing printed, and the message contains TEXT
wrong() {
    text=$1
    shift
    "$tfn" "$@" > "$work/page" 2> "$work/error"
    code=$?
    [ $code = 2 ] && [ ! -s "$work/page" ] && grep -q -- "$text" "$work/error" ||
        { echo "$*: code $code"; cat "$work/error"; return 1; }
}
scored() {              # lines against lines, the same number
    printf 'The dog bit the man.\nthe cat is on mat\n' > "$work/found"
    printf 'The dog bit the man.\nthe cat sat on the mat\n' > "$work/wanted"
    "$tfn" score "$work/found" "$work/wanted" > "$work/page" &&
        grep -q '^equal *0.5000' "$work/page" && grep -q '^WER *0.1818' "$work/page" &&
        ! "$tfn" score "$work/found" /dev/null 2> "$work/error" && grep -q more "$work/error" &&
        printf 'a\na\0b\n' > "$work/zero" &&
        ! "$tfn" score "$work/zero" "$work/wanted" 2> "$work/error" &&
        grep -q "zero, line 2: byte 2 is 0, expected a text" "$work/error"
}
check "tfn score" scored
agrees() {
    "$python" golden/agree.py "$work" > "$work/one" && "$tfn" score "$work/found" "$work/wanted" |
        awk '/^(BLEU|WER|CER)/ { print $1, $2 }' | diff - "$work/one"
}
for python in python3 /usr/bin/python3 none; do
    "$python" -c 'import nltk' 2> "$work/error" && break
done
if [ $python = none ]; then skip "tfn score: equals Python's nltk" "no python3 with nltk"
else check "tfn score: equals Python's nltk" agrees
fi
parted() {              # parted CUTOFFS: invalid clusters, so nothing is trained
    ! "$tfn" train --task copy --arch decoder --steps 1 --cutoffs "$1" --out "$work/x.safetensors" \
        --force 2> "$work/error" && grep -q "cutoffs $1 is no number" "$work/error"
}
check "tfn train --cutoffs: not numbers" eval 'parted 8x && parted 8, && parted 8,9,10 && parted x'
# tfn export knows every option that a file's models must share
exports_all() {
    sed -n '/shape_names\[\] = {/,/};/p' ../tools/tfn/models.c > "$work/names"
    options=$(sed -n 's/^ *TFN__\(FIELD\|LATER\)([A-Z]*, SAME_ALWAYS, \([^)]*\)),*$/\2/p' ../tfnorm.h)
    [ "$(echo "$options" | wc -l)" -gt 40 ] || return 1
    for option in $options; do
        grep -q -F "\"$option\"" "$work/names" || { echo "$option"; return 1; }
    done
}
check "tfn export: all options of a model" exports_all
# a folder of the hub: its logits to nine digits, ids by its tokenizer, generated text
imports() {
    rm -rf "$work/hub" && mkdir "$work/hub" && cp golden/hub/gpt2/* "$work/hub" || return 1
    echo '{"a": 0, "b": 1, "ab": 2, "\u0120": 3}' > "$work/hub/vocab.json"
    printf '#version: 0.2\na b\n' > "$work/hub/merges.txt"
    "$tfn" import "$work/hub" --out "$work/hub.safetensors" --force > "$work/said" &&
        grep -q '^family *gpt2$' "$work/said" && grep -q '^tokens *4$' "$work/said" || return 1
    "$tfn" logits "$work/hub.safetensors" --ids "$(head -n 1 golden/hub/gpt2/ids.txt)" |
        paste -d ' ' - golden/hub/gpt2/logits.txt | head -n 13 | awk '
        { for (i = 1; i <= NF / 2; i++) { d = $i - $(i + NF / 2); if (d * d > 1e-9) exit 1; n++ } }
        END { exit n != 13 * 31 }' || return 1
    printf 'abba\nab\n' | "$tfn" tokens "$work/hub.safetensors" > "$work/said" &&
        [ "$(cat "$work/said")" = "$(printf '2 1 0\n2')" ] &&
        echo ab | "$tfn" generate "$work/hub.safetensors" --max-tokens 3 > "$work/said"
}
check "tfn import, logits, tokens" imports
# A text of an imported decoder stops at its end: one id, a list, or none if no id is in the vocabulary.
stops_at_end() {
    rm -rf "$work/end" && mkdir "$work/end" && cp golden/hub/llama/* "$work/end" || return 1
    for ends in '[2, 3]' '[99, 3]' '2' '[99]'; do
        echo "{\"eos_token_id\": $ends}" > "$work/end/generation_config.json"
        "$tfn" import "$work/end" --out "$work/end.safetensors" --force > "$work/page" || return 1
        for seed in 1 2 3 4 5 6; do
            "$tfn" generate "$work/end.safetensors" --ids '1 5 7' --temperature 1.5 --seed $seed \
                --max-tokens 29 || return 1
        done > "$work/said"
        awk -v ends=" $(echo "$ends" | tr -d '[],') " '{
            for (i = 1; i <= NF; i++) if (index(ends, " " $i " ")) { if (i < NF) bad = 1; stopped++ }
            if (NF < 29 && !index(ends, " " $NF " ")) bad = 1
        } END { exit bad || NR != 6 || (ends != " 99 " && stopped < 2) }' "$work/said" || return 1
    done
}
check "tfn generate stops at the end of an imported model" stops_at_end
imports_gguf() {        # the hash of the folder that the file was made from; its tokenizer, or one beside it
    rm -rf "$work/gguf" && mkdir "$work/gguf" && cp golden/gguf/llama.gguf "$work/gguf" || return 1
    for from in golden/hub/llama "$work/gguf/llama.gguf"; do
        "$tfn" import "$from" --out "$work/hub2.safetensors" --force | grep hash || return 1
    done > "$work/said"
    [ "$(sort -u "$work/said" | wc -l)" = 1 ] && [ "$(wc -l < "$work/said")" = 2 ] || return 1
    echo '{"a": 0, "b": 1, "ab": 2}' > "$work/gguf/vocab.json"
    printf '#version: 0.2\na b\n' > "$work/gguf/merges.txt"
    (top=$PWD; cd "$work/gguf" && "$top/$tfn" import llama.gguf --out x.safetensors) | grep -q '^tokens *31$' &&
        LC_ALL=C sed 's/gpt-2/gpt-3/' golden/gguf/llama.gguf > "$work/gguf/other.gguf" &&
        (top=$PWD; cd "$work/gguf" && "$top/$tfn" import other.gguf --out y.safetensors) > "$work/said" 2>&1 &&
        grep -q 'pre-tokenizer "gpt-3" is not read' "$work/said" && grep -q '^tokens *3$' "$work/said"
}
check "tfn import of a .gguf file" imports_gguf
# a file for llama.cpp has the weights and tokens of the model; another model is refused, with the reason
exports_gguf() {
    "$tfn" import golden/gguf/llama.gguf --out "$work/hub2.safetensors" --force > "$work/said" || return 1
    rm -f "$work/x.gguf"
    "$tfn" export "$work/hub2.safetensors" "$work/x.gguf" | grep -q '^tokens *31$' &&
        "$tfn" import "$work/x.gguf" --out "$work/hub3.safetensors" --force > "$work/page" &&
        diff "$work/said" "$work/page" &&
        ! "$tfn" export "$work/hub2.safetensors" "$work/x.gguf" 2> "$work/error" && grep -q -e --force "$work/error" &&
        "$tfn" export "$work/hub2.safetensors" --out "$work/x.gguf" --force --type f16 > "$work/page" &&
        ! "$tfn" export "$work/m.safetensors" "$work/y.gguf" 2> "$work/error" &&
        grep -q 'llama.cpp has no such model; the nearest, ' "$work/error" && [ ! -e "$work/y.gguf" ]
}
check "tfn export of a .gguf file" exports_gguf
# The page of a sentence has the same numbers as other commands: weights that sum to 1, the
# logits after the last layer, the length of the stack's output vector.
inspects() {
    ids=$(head -n 1 golden/hub/gpt2/ids.txt)
    "$tfn" inspect "$work/hub.safetensors" --ids "$ids" > "$work/page" &&
        awk '/^\[[0-9]/ { gsub(/[][]/, ""); n = split($0, w, ","); sum = 0
            for (i = 1; i <= n; i++) sum += w[i]
            if (sum < 9993 || sum > 10007) { print; exit 1 } rows++ }
            END { exit rows != 2 * 4 * 13 }' "$work/page" || return 1
    "$tfn" logits "$work/hub.safetensors" --ids "$ids" | awk '{ best = 1; sum = 0
        for (i = 1; i <= NF; i++) if ($i > $best) best = i
        for (i = 1; i <= NF; i++) sum += exp($i - $best)
        printf "%.4f\n", 1 / sum }' > "$work/one" &&
        sed -n '/class="lens"/,$p' "$work/page" | grep '^<tr><th scope="row"' |
        sed 's/.*title="[^ ]* \([^,]*\),.*/\1/' | diff - "$work/one" &&
        [ "$(wc -l < "$work/one")" = 13 ] || return 1
    "$tfn" inspect "$work/hub.safetensors" --text abba > "$work/page" && echo abba |
        "$tfn" embed "$work/hub.safetensors" --pool last |
        awk '{ for (i = 1; i <= NF; i++) n += $i * $i; printf "%.3g\n", sqrt(n) }' > "$work/one" &&
        sed -n '/class="stream"/,/<\/table>/p' "$work/page" | grep '^<tr><th scope="row"' | tail -n 1 |
        sed 's/.*>\([0-9.]*\)<\/td><\/tr>/\1/' | diff - "$work/one"
}
check "tfn inspect --text: the page's numbers" inspects
# every architecture, and a stack whose output combines several layers; missing parts are reported
inspects_all() {
    "$tfn" train --task copy --arch decoder --layers 1 --width 8 --steps 1 --recipe dlcl --threads 1 \
        --quiet --force --out "$work/y.safetensors" > "$work/page" 2> "$work/error"
    for model in m c a y; do
        "$tfn" inspect "$work/$model.safetensors" --text 'ab' --force --out "$work/$model.html" &&
            well_formed "$work/$model.html" && well_formed_roughly "$work/$model.html" || return 1
        ! grep -q -e 'src=' -e 'href=' -e 'url(' -e '@import' "$work/$model.html" || return 1
    done
    rm "$work/y.safetensors"
    grep -q 'decoder to encoder' "$work/a.html" && ! grep -q 'None here' "$work/m.html" &&
        grep -q 'None here.*several layers' "$work/y.html" && grep -q 'title="\(yes\|no\) 0' "$work/c.html" &&
        "$tfn" inspect "$work/a.safetensors" --text ab --target ba |
        grep -q '"keys":\["[^"]*","b","a"\]' || return 1
    says "$work/s.safetensors is a model of sound, not of lines" inspect "$work/s.safetensors" --text one &&
        says "--ids: 99 ids, the limit is 12" inspect "$work/m.safetensors" --ids "$(seq 99)" &&
        says "--target is for an encoder-decoder, $work/m.safetensors is none" \
            inspect "$work/m.safetensors" --text ab --target ba &&
        says "$work/m.html already exists; --force overwrites it" \
            inspect "$work/m.safetensors" --text ab --out "$work/m.html"
}
check "tfn inspect --text: all models" inspects_all
# masked words, by an import's logits; in a model trained here, text and ids give the same
fills() {
    "$tfn" import golden/hub/bert --out "$work/bert.safetensors" --force > "$work/page" &&
        ids=$(head -n 1 golden/hub/bert/ids.txt) && mask=$(echo "$ids" | cut -d ' ' -f 4) || return 1
    "$tfn" fill "$work/bert.safetensors" --ids "$ids" --mask "$mask" --top 3 | cut -f 2,3 |
        head -n 3 > "$work/one"
    sed -n 4p golden/hub/bert/logits.txt | awk '{ for (k = 0; k < 3; k++) { best = 1; sum = 0
        for (i = 2; i <= NF; i++) if (!(i in used) && (best in used || $i > $best)) best = i
        for (i = 1; i <= NF; i++) sum += exp($i - $best)
        used[best]; printf "%.4f\t%d\n", 1 / sum, best - 1 } }' | diff - "$work/one" || return 1
    "$tfn" fill "$work/p.safetensors" --text 'the [MASK] <mask>' --top 2 > "$work/one" &&
        [ "$(cut -f 1 "$work/one" | tr '\n' ' ')" = '1 1 2 2 ' ] &&
        the=$(echo the | "$tfn" tokens "$work/p.safetensors") &&
        "$tfn" fill "$work/p.safetensors" --ids "1 $the 4 4 2" --top 2 | cmp - "$work/one" || return 1
    says "$work/m.safetensors is of the architecture decoder, expected an encoder that knows masked words" \
        fill "$work/m.safetensors" --text a &&
        says "$work/bert.safetensors has no token that is a mask: give --mask ID" \
            fill "$work/bert.safetensors" --ids 1 &&
        says "$work/bert.safetensors has no tokenizer: it takes --ids" \
            fill "$work/bert.safetensors" --mask 1 --text '[MASK]' &&
        says "--mask is 99, the vocabulary has 31" fill "$work/bert.safetensors" --ids 1 --mask 99 &&
        says 'no token is the mask, 4' fill "$work/p.safetensors" --text the &&
        says "$work/c.safetensors predicts 2 classes, expected an encoder that knows masked words; try tfn classify" \
            fill "$work/c.safetensors" --text the
}
check "tfn fill" fills
classifies_one() {      # the most likely first, as in the lines; the probabilities sum to 1
    "$tfn" classify "$work/c.safetensors" --text 'good 28' > "$work/one" &&
        echo 'good 28' | "$tfn" classify "$work/c.safetensors" > "$work/page" &&
        [ "$(head -n 1 "$work/one" | cut -f 2)" = "$(cat "$work/page")" ] &&
        awk '{ n++; sum += $1 } END { exit n != 2 || sum < 0.9998 || sum > 1.0002 }' "$work/one" &&
        echo 'good 28' | "$tfn" classify "$work/c.safetensors" --n-best 1 |
        awk -F '\t' '{ printf "%.4f\n", exp($2) }' > "$work/page" &&
        [ "$(cut -f 1 "$work/one" | head -n 1 | cut -c 1-5)" = "$(cut -c 1-5 "$work/page")" ] || return 1
    says "$work/m.safetensors has no head of classes: expected a model trained on labels" \
        classify "$work/m.safetensors" --text a
}
check "tfn classify --text" classifies_one
# if a folder has both, tokenizer.json counts
prefers() {
    awk 'BEGIN { for (i = 0; i < 256; i++) printf "%d\n", i }' | awk '
        { b = $1; c = b                             # GPT-2 shows each byte as a character
          if (b <= 32) c = 256 + b; else if (b >= 127 && b <= 160) c = 289 + b - 127
          else if (b == 173) c = 323
          printf "%s\"\\u%04x\": %d", (b ? ", " : "{"), c, b } END { print "}" }' > "$work/vocab"
    printf '{"model": {"type": "BPE", "vocab": %s, "merges": ["a b"]}, "added_tokens": [
            {"id": 257, "content": "<s>", "special": true},
            {"id": 258, "content": "<|im_start|>", "special": true},
            {"id": 259, "content": "<|im_end|>", "special": true}], "normalizer": null,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
        "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>",
            "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}], "special_tokens": {"<s>":
            {"id": "<s>", "ids": [257], "tokens": ["<s>"]}}}, "decoder": {"type": "ByteLevel"}}' \
        "$(sed 's/}$/, "ab": 256}/' "$work/vocab")" > "$work/hub/tokenizer.json"
    "$tfn" import "$work/hub" --out "$work/other.safetensors" --force > "$work/page" 2> "$work/error" &&
        grep -q 'hub/tokenizer.json: .*has 260 tokens, the model 31' "$work/error" &&
        grep -q 'taking vocab.json and merges.txt instead' "$work/error" &&
        grep -q '^tokens *4$' "$work/page"
}
check "tfn import: tokenizer.json has priority over vocab.json" prefers
# An invalid tokenizer does not lose the weights: an older file is taken, or none.
falls_back() {
    rm -rf "$work/fall" && mkdir "$work/fall" && cp golden/hub/gpt2/* "$work/fall" || return 1
    fall() { "$tfn" import "$work/fall" --out "$work/fall.safetensors" --force > "$work/page" \
        2> "$work/error" && grep -q "^tokens *$1" "$work/page" && grep -q -- "$2" "$work/error"; }
    for words in '{"model": {"type": "BPE", "vocab": {"a": 0|byte 4[0-9]*: , or } is expected' \
        '{"model": {"type": "Magic", "vocab": {"a": 0}}}|the model is Magic' \
        '{"model": {"type": "BPE", "vocab": {"a": 0, "b": 9000000}, "merges": []}}|id 9000000' \
        '{"model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"]}}|merge 0'; do
        echo "${words%|*}" > "$work/fall/tokenizer.json"
        rm -f "$work"/fall/vocab.txt "$work/fall/tokenizer.model"
        fall none "fall/tokenizer.json: not usable: .*${words#*|}" &&
            grep -q 'without a tokenizer: .*import again' "$work/error" || return 1
        mkdir "$work/fall/tokenizer.model"
        printf '[UNK]\na\n##b\n' > "$work/fall/vocab.txt"
        fall 3 'tokenizer.model: cannot be read' && grep -q 'taking vocab.txt instead' "$work/error" &&
            rmdir "$work/fall/tokenizer.model" && [ "$(echo ab | "$tfn" tokens "$work/fall.safetensors")" = '1 2' ] ||
            return 1
    done
}
check "tfn import: a tokenizer that is invalid" falls_back
names_family() {        # without model_type: a family by name; skipped keys are printed
    rm -rf "$work/fam" && mkdir "$work/fam" && cp golden/hub/gpt2/model.safetensors "$work/fam" || return 1
    sed '/"model_type"/d' golden/hub/gpt2/config.json > "$work/fam/config.json"
    says "$work/fam/config.json has no model_type: give --family NAME, one of $families" \
        import "$work/fam" --out "$work/fam.safetensors" &&
        says "no family is called gpt3; the nearest is gpt2, of $families" \
            import "$work/fam" --out "$work/fam.safetensors" --family gpt3 &&
        "$tfn" import "$work/fam" --out "$work/fam.safetensors" --family gpt2 > "$work/page" &&
        grep -q '^family *gpt2$' "$work/page" &&
        sed 's/^{/{ "n_hats": 7, "color": "red",/' golden/hub/gpt2/config.json > "$work/fam/config.json" &&
        "$tfn" import "$work/fam" --out "$work/fam.safetensors" --force --lenient > "$work/page" \
            2> "$work/error" && [ "$(cat "$work/error")" = \
            "tfn: $work/fam/config.json: left aside: n_hats, color" ] &&
        sed 's/"gpt2"/"gpt77"/' golden/hub/gpt2/config.json > "$work/fam/config.json" &&
        says "$work/fam/config.json: no family is called gpt77; if it is like a known one, give --family NAME, one of $families" \
            import "$work/fam" --force --out "$work/fam.safetensors"
}
families='gpt2, llama, mistral, qwen2, qwen3, olmo2, olmo, granite, smollm3, gemma, gemma2, gemma3_text, gemma3, gpt_neox, phi, opt, phi3, stablelm, gpt_neo, gptj, bloom, bert, distilbert, roberta, xlm-roberta, camembert, mpnet, modernbert, electra, marian, bart, mbart, m2m_100, t5, mt5'
check "tfn import --family, --lenient" names_family
# Marian's source.spm, with the pieces "_a", "b" and "c", and a vocab.json that lacks the last
marian_piece() { printf '\012%b\012%b%b\025\000\000\200\277\030%b' "$1" "$2" "$3" "$4"; }
marian() {
    rm -rf "$work/mt" && cp -r golden/hub/marian "$work/mt" || return 1
    { marian_piece '\016' '\005' '<unk>' '\002'
      marian_piece '\014' '\003' '<s>' '\003'
      marian_piece '\015' '\004' '</s>' '\003'
      marian_piece '\015' '\004' '\342\226\201a' '\001'
      marian_piece '\012' '\001' 'b' '\001'
      marian_piece '\012' '\001' 'c' '\001'
      printf '\022\002\030\001'; } > "$work/mt/source.spm"
    printf '{"</s>": 0, "<unk>": 1, "b": 2, "\342\226\201a": 3, "\342\226\201\303\274": 4, "<pad>": 5}' \
        > "$work/mt/vocab.json"
    "$tfn" import "$work/mt" --out "$work/mt.safetensors" --force > "$work/page" &&
        grep -q '^tokens *6$' "$work/page" &&
        [ "$(echo 'abcc x' | "$tfn" tokens "$work/mt.safetensors")" = '3 2 1 1 1 0' ] || return 1
    echo '{}' > "$work/mt/target_vocab.json"
    "$tfn" import "$work/mt" --out "$work/mt.safetensors" --force > "$work/page" &&
        grep -q '^tokens *none' "$work/page"
}
check "tfn import: Marian's tokenizer" marian
# tiny_hub FOLDER: a GPT-2 of 262 tokens in F16, whose weights are between 0.03 and 0.13, with that
# tokenizer
tiny_hub() {
    rm -rf "$1" && mkdir "$1" && cp "$work/hub/tokenizer.json" "$1" || return 1
    echo '{"model_type": "gpt2", "vocab_size": 262, "n_embd": 8, "n_layer": 1, "n_head": 2,
        "n_positions": 64}' > "$1/config.json"
    echo 'wte.weight 262 8
        wpe.weight 64 8
        h.0.ln_1.weight 8
        h.0.ln_1.bias 8
        h.0.attn.c_attn.weight 8 24
        h.0.attn.c_attn.bias 24
        h.0.attn.c_proj.weight 8 8
        h.0.attn.c_proj.bias 8
        h.0.ln_2.weight 8
        h.0.ln_2.bias 8
        h.0.mlp.c_fc.weight 8 32
        h.0.mlp.c_fc.bias 32
        h.0.mlp.c_proj.weight 32 8
        h.0.mlp.c_proj.bias 8
        ln_f.weight 8
        ln_f.bias 8' | awk '
        { n = NF > 2 ? $2 * $3 : $2; shape = NF > 2 ? $2 "," $3 : $2
          text = text (NR > 1 ? "," : "{") "\"" $1 "\":{\"dtype\":\"F16\",\"shape\":[" shape \
            "],\"data_offsets\":[" at "," at + 2 * n "]}"; at += 2 * n }
        NR == 1 { sub(/\[,/, "[0,", text) }
        END { printf "%-2048s", text "}" }' > "$work/header"
    { printf '\000\010\000\000\000\000\000\000'
      cat "$work/header"
      awk 'BEGIN { x = 13; for (i = 0; i < 3496; i++) { x = (x * 421 + 1663) % 7875
          printf "%c%c", 33 + x % 94, 40 + int(x / 94) % 8 } }'; } > "$1/model.safetensors"
}
templates() {           # prompts begin with the template's tokens, in tokens and in generate
    tiny_hub "$work/tiny" && "$tfn" import "$work/tiny" --out "$work/tiny.safetensors" --force \
        > "$work/page" && [ "$(echo abc | "$tfn" tokens "$work/tiny.safetensors")" = '257 256 99' ] ||
        return 1
    for ids in '257 256 99' '256 99'; do
        "$tfn" logits "$work/tiny.safetensors" --ids "$ids" | tail -n 1 | awk '{ best = 1
            for (i = 2; i <= NF; i++) if ($i > $best) best = i; printf "%c\n", best - 1 }'
    done > "$work/one"
    echo abc | "$tfn" generate "$work/tiny.safetensors" --max-tokens 1 > "$work/page"
    cat "$work/one" "$work/page"
    [ "$(cat "$work/page")" = "abc$(head -n 1 "$work/one")" ] &&
        [ "$(head -n 1 "$work/one")" != "$(tail -n 1 "$work/one")" ]
}
check "tfn tokens, generate: the beginning of a template" templates
# An import is used and trained further like any model: measured on a file, with its own shape and
# all its weights, and by LoRA that is saved separately; it keeps no data of its training.
tuned() {
    awk 'BEGIN { for (i = 0; i < 900; i++) printf "%c%d ", 97 + i % 7, i % 5 }' > "$work/abc"
    "$tfn" eval "$work/tiny.safetensors" "$work/abc" > "$work/short" && grep -q bits/byte "$work/short" &&
        says "$work/tiny.safetensors keeps no data: expected a file" eval "$work/tiny.safetensors" ||
        return 1
    from="train $work/abc --from $work/tiny.safetensors --steps 5 --lr 0.01 --threads 1 --force"
    "$tfn" $from --out "$work/ft.safetensors" > "$work/page" 2> "$work/error" &&
        grep -q '^20 of 20 tensors' "$work/error" && "$tfn" $from --lora '*.self.[qv].weight:2' \
            --adapter "$work/adapter.safetensors" --out "$work/lo.safetensors" --quiet \
            > "$work/page" && [ "$(wc -c < "$work/adapter.safetensors")" -lt 5000 ] || return 1
    "$tfn" eval "$work/lo.safetensors" "$work/abc" > "$work/one" &&
        ! cmp -s "$work/short" "$work/one" && "$tfn" eval "$work/tiny.safetensors" "$work/abc" \
            --adapter "$work/adapter.safetensors" | cmp "$work/one" - &&
        echo ab | "$tfn" generate "$work/lo.safetensors" --max-tokens 3 > "$work/one" &&
        echo ab | "$tfn" generate "$work/tiny.safetensors" --max-tokens 3 \
            --adapter "$work/adapter.safetensors" | cmp "$work/one" - &&
        echo ab | "$tfn" chat "$work/lo.safetensors" --temperature 1 > "$work/one" &&
        ! echo ab | "$tfn" chat "$work/tiny.safetensors" --temperature 1 | cmp -s "$work/one" - &&
        echo ab | "$tfn" chat "$work/tiny.safetensors" --temperature 1 \
            --adapter "$work/adapter.safetensors" | cmp "$work/one" - || return 1
    "$tfn" $from --lora output.weight:2 --out "$work/lo.safetensors" --quiet > "$work/page" &&
        "$tfn" fold "$work/lo.safetensors" --force --out "$work/lo2.safetensors" > "$work/page" &&
        "$tfn" eval "$work/lo.safetensors" "$work/abc" | grep '^loss' | cut -c 1-17 > "$work/one" &&
        ! grep '^loss' "$work/short" | cut -c 1-17 | cmp -s "$work/one" - &&
        "$tfn" eval "$work/lo2.safetensors" "$work/abc" | grep '^loss' | cut -c 1-17 |
        cmp "$work/one" - || return 1
    "$tfn" generate "$work/m.safetensors" --adapter "$work/adapter.safetensors" < /dev/null \
        2> "$work/error"
    [ $? = 1 ] && grep -q ' is .*, the model has ' "$work/error" &&
        wrong 'adapter needs --lora' train "$work/abc" --adapter "$work/x" --out "$work/y"
}
# Words with the ids of the golden sentence give the golden vector. A classifier and
# masked words are trained further, with the segments and the constants of BERT.
tuned_bert() {
    rm -rf "$work/mini" && cp -r golden/hub/minilm "$work/mini" && awk 'BEGIN {
        for (i = 0; i < 31; i++) w[i] = sprintf("%c%c", 97 + i % 26, 97 + i / 26)
        w[3] = "[CLS]"; w[16] = "[SEP]"; w[4] = "[PAD]"; w[5] = "[UNK]"; w[6] = "[MASK]"
        for (i = 0; i < 31; i++) print w[i] }' > "$work/mini/vocab.txt" &&
        "$tfn" import "$work/mini" --force --out "$work/mini.safetensors" > "$work/page" || return 1
    echo 'va ua ja aa ca cb aa pa na la va' > "$work/input"
    [ "$("$tfn" tokens "$work/mini.safetensors" "$work/input")" = "$(head -n 1 "$work/mini/ids.txt")" ] &&
        "$tfn" embed "$work/mini.safetensors" "$work/input" --unit > "$work/page" && sed -n 15p "$work/mini/logits.txt" |
        paste -d ' ' - "$work/page" | awk '{ for (i = 1; i <= NF / 2; i++) { d = $i - $(i + 24)
            if (d * d > 1e-11) exit 1; n++ } } END { exit n != 24 }' || return 1
    awk 'BEGIN { split("va ua ja aa ca cb pa na la", w, " "); for (i = 0; i < 300; i++) {
        a = w[1 + i % 9]; b = w[1 + i % 7]; print (i % 3 ? "yes" : "no") "\t" a " " b " " w[1 + i % 5] }
        }' > "$work/short"
    bert="--from $work/mini.safetensors --steps 30 --threads 1 --force --out $work/cl.safetensors"
    "$tfn" train --labels "$work/short" $bert > "$work/page" 2> "$work/error" &&
        grep -q '^37 of 41 tensors' "$work/error" && "$tfn" classify "$work/cl.safetensors" "$work/input" |
        grep -q '^\(yes\|no\)$' || { cat "$work/error"; return 1; }
    cut -f 2 "$work/short" > "$work/masked" && "$tfn" train "$work/masked" $bert --dropout 0.1 \
        > "$work/page" 2> "$work/error" && grep -q '^37 of 37 tensors' "$work/error" &&
        "$tfn" fill "$work/cl.safetensors" --text 'va [MASK] ja' --top 3 > "$work/page" &&
        [ "$(wc -l < "$work/page")" = 3 ] && "$tfn" eval "$work/cl.safetensors" "$work/masked" |
        grep -q '^perplexity' &&
        ! "$tfn" eval "$work/mini.safetensors" "$work/masked" 2> "$work/error" && grep -q 'has no head' "$work/error" || { cat "$work/error"; return 1; }
    "$tfn" train "$work/masked" $bert --lr 0.05 --lora '*.self.[qv].weight:2' \
        --adapter "$work/adapter2.safetensors" --quiet > "$work/page" 2> "$work/error" &&
        "$tfn" fill "$work/cl.safetensors" --text 'va [MASK] ja' > "$work/one" &&
        ! "$tfn" fill "$work/mini.safetensors" --text 'va [MASK] ja' | cmp -s "$work/one" - &&
        "$tfn" fill "$work/mini.safetensors" --text 'va [MASK] ja' \
            --adapter "$work/adapter2.safetensors" | cmp "$work/one" - || return 1
    "$tfn" classify "$work/c.safetensors" --text a --adapter "$work/adapter2.safetensors" \
        2> "$work/error"
    [ $? = 1 ] && grep -q ' is .*, the model has ' "$work/error" &&
        says "$work/mini.safetensors was not trained on labels" classify "$work/mini.safetensors"
}
check "tfn eval, train --from, --adapter: an import" tuned
check "tfn embed, train --from: an import of BERT" tuned_bert
# A classifier is exported and imported with the class names of id2label, or with numbers.
classifies_hub() {
    awk 'BEGIN { split("va ua ja aa ca cb pa na la", w, " "); split("yes no maybe", l, " ")
        for (i = 0; i < 300; i++) print l[1 + i % 3] "\t" w[1 + i % 9] " " w[1 + i % 3] }' > "$work/short" &&
        "$tfn" train --labels "$work/short" --from "$work/mini.safetensors" --steps 30 --threads 1 \
            --quiet --force --out "$work/cl.safetensors" > "$work/page" 2> "$work/error" || return 1
    rm -rf "$work/out" && "$tfn" export "$work/cl.safetensors" --hf "$work/out" > "$work/page" || return 1
    grep -v 'num_labels\|id2label\|label2id' "$work/out/config.json" > "$work/config"
    "$tfn" classify "$work/cl.safetensors" --text 'va ja' > "$work/one" &&
        [ "$(wc -l < "$work/one")" = 3 ] &&
        "$tfn" import "$work/out" --out "$work/cl2.safetensors" > "$work/page" &&
        "$tfn" classify "$work/cl2.safetensors" --text 'va ja' | diff "$work/one" - &&
        grep -q '^  "label2id": {"yes": 0, "no": 1, "maybe": 2},$' "$work/out/config.json" || return 1
    labels='"0": "yes", "1": "not at all", "2": "maybe \u00e9"'
    hub_classes "$labels" && [ ! -s "$work/error" ] &&
        sed 's/no$/not at all/; s/maybe$/maybe é/' "$work/one" | diff - "$work/page" &&
        cut -f 2 "$work/short" | "$tfn" classify "$work/cl2.safetensors" > "$work/page" &&
        cut -f 2 "$work/short" | "$tfn" classify "$work/cl.safetensors" |
        sed 's/no$/not at all/; s/maybe$/maybe é/' | diff - "$work/page" || return 1
    long=$(printf '%048d' 0)
    for third in '"1": "b"' '"2": "a"' '"2": ""' '"2": "b\n"' '"2": "c\td"' '"2": "\u0000"' '"2": null' \
        "\"2\": \"$long\"" '"3": "c"'; do
        hub_classes "\"0\": \"a\", \"1\": \"b\", $third" &&
            grep -q 'the 3 names of id2label are not all different' "$work/error" &&
            sed 's/yes$/0/; s/no$/1/; s/maybe$/2/' "$work/one" | diff - "$work/page" ||
            { echo "$third"; return 1; }
    done
    { echo '{"id2label": 3,'; sed 1d "$work/config"; } > "$work/out/config.json"
    says "import: config.json: id2label is 3; an object is expected" \
        import "$work/out" --force --out "$work/cl2.safetensors"
}
hub_classes() {         # hub_classes NAMES: imports with NAMES, and classifies
    { printf '{"id2label": {%s},' "$1"; sed 1d "$work/config"; } > "$work/out/config.json"
    "$tfn" import "$work/out" --out "$work/cl2.safetensors" --force > "$work/page" 2> "$work/error" &&
        "$tfn" classify "$work/cl2.safetensors" --text 'va ja' > "$work/page"
}
check "tfn import, classify: names of classes" classifies_hub
# Encoder-decoders of the hub write PyTorch's greedy texts: they start with the token that config.json
# names, also after other commands, and in a batch of lines of all lengths.
greedy() {              # greedy MODEL NAME: each text must equal that of golden/hub/NAME/greedy.txt
    while read -r source && read -r wanted; do
        found=$("$tfn" translate "$1" --ids "$source" --max-tokens 12) || return 1
        [ "$found" = "$wanted" ] || { echo "$found, not $wanted"; return 1; }
    done < "golden/hub/$2/greedy.txt"
}
translates_hub() {
    model=$work/tr.safetensors
    for name in marian t5; do
        rm -rf "$work/tr" "$work/out" && cp -r golden/hub/$name "$work/tr" || return 1
        "$tfn" import "$work/tr" --out "$model" --force > "$work/page" && greedy "$model" $name &&
            "$tfn" export "$model" --hf "$work/out" > "$work/page" &&
            "$tfn" import "$work/out" --out "$work/tr2.safetensors" --force > "$work/page" &&
            greedy "$work/tr2.safetensors" $name || return 1
        sed '/decoder_start_token_id/d' golden/hub/$name/config.json > "$work/tr/config.json" &&
            "$tfn" import "$work/tr" --out "$model" --force > "$work/page" && greedy "$model" $name ||
            return 1
        # generation_config.json has priority: another start, a forbidden word
        echo '{"decoder_start_token_id": 2}' > "$work/tr/generation_config.json" &&
            "$tfn" import "$work/tr" --out "$model" --force > "$work/page" &&
            ! greedy "$model" $name > "$work/page" || return 1
        echo '{"bad_words_ids": [[27], [ 7 , 25 ] , [9]]}' > "$work/tr/generation_config.json" &&
            "$tfn" import "$work/tr" --out "$model" --force > "$work/page" 2> "$work/error" &&
            grep -q 'bad_words_ids has 1 words of several' "$work/error" || return 1
        while read -r source && read -r wanted; do
            found=$("$tfn" translate "$model" --ids "$source" --max-tokens 12) || return 1
            case " $found " in *" 27 "* | *" 9 "*) echo "$found"; return 1;; esac
        done < golden/hub/$name/greedy.txt
        "$tfn" generate "$model" --ids '5 6 0' --beam 3 --n-best 2 > "$work/page" &&
            [ "$(cut -f 1 "$work/page" | tr '\n' ' ')" = '1 1 ' ] || return 1
    done
}
check "tfn translate: Marian and T5 of the hub, by ids" translates_hub
# as letters: 3 is a, 28 is z
letters() {
    tr ' ' '\n' | awk 'BEGIN { split("abcdefghijklmnopqrstuvwxyz", w, "") }
        $1 == 2 { s = s "<unk>" } $1 > 2 && $1 < 29 { s = s w[$1 - 2] } $1 == 29 { s = s " " }
        END { sub(/^ /, "", s); print s }'
}
translates_texts() {
    name=t5-v1.1 model=$work/tr.safetensors
    rm -rf "$work/tr" && cp -r golden/hub/$name "$work/tr" && awk 'BEGIN {
        printf "{\"model\": {\"type\": \"Unigram\", \"unk_id\": 2, \"vocab\": [[\"<pad>\", 0], [\"</s>\", 0], [\"<unk>\", 0]"
        for (i = 0; i < 26; i++) printf ", [\"%c\", -2]", 97 + i
        printf ", [\"\\u2581\", -2], [\"zzzz\", -99]]}, \"added_tokens\": ["
        split("<pad> </s> <unk>", special, " ")
        for (i = 0; i < 3; i++)
            printf "%s{\"id\": %d, \"content\": \"%s\", \"special\": true}", (i ? ", " : ""), i, special[i + 1]
        print "], \"normalizer\": null, \"pre_tokenizer\": {\"type\": \"Metaspace\", \"replacement\": \"\\u2581\","
        print "\"prepend_scheme\": \"never\"}, \"decoder\": {\"type\": \"Metaspace\", \"replacement\": \"\\u2581\","
        print "\"prepend_scheme\": \"never\"}, \"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": ["
        print "{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}, {\"SpecialToken\": {\"id\": \"</s>\", \"type_id\": 0}}],"
        print "\"special_tokens\": {\"</s>\": {\"id\": \"</s>\", \"ids\": [1], \"tokens\": [\"</s>\"]}}}}" }' \
        > "$work/tr/tokenizer.json" &&
        "$tfn" import "$work/tr" --out "$model" --force > "$work/page" || return 1
    : > "$work/input"
    : > "$work/wanted"
    while read -r source && read -r wanted; do
        echo "$source" | letters >> "$work/input"
        echo "$wanted" | letters >> "$work/wanted"
    done < golden/hub/$name/greedy.txt
    for command in "translate" "generate" "translate --batch 3"; do
        # shellcheck disable=SC2086
        "$tfn" $command "$model" "$work/input" --max-tokens 12 2> "$work/error" |
            diff - "$work/wanted" || return 1
    done
    "$tfn" average "$model" "$model" --out "$work/tr2.safetensors" --force > "$work/page" &&
        "$tfn" translate "$work/tr2.safetensors" "$work/input" --max-tokens 12 2> "$work/error" |
        diff - "$work/wanted" &&
        "$tfn" translate "$model" "$work/input" --max-tokens 12 --beam 3 2> "$work/error" > "$work/wanted" &&
        while read -r source && read -r wanted; do
            "$tfn" translate "$model" --ids "$source" --max-tokens 12 --beam 3 | letters
        done < golden/hub/$name/greedy.txt | diff - "$work/wanted" &&
        "$tfn" embed "$model" "$work/input" > "$work/page" && [ "$(wc -l < "$work/page")" = 4 ] &&
        "$tfn" inspect "$model" --text abc --target cab | grep -q '"keys":\["[^"]*pad[^"]*","c","a","b"\]' ||
        return 1
    # the loss of a written text is its score; further training starts from the same loss
    echo '{"bad_words_ids": [[2], [29], [30]]}' > "$work/tr/generation_config.json" &&
        "$tfn" import "$work/tr" --out "$model" --force > "$work/page" &&
        "$tfn" translate "$model" "$work/input" --max-tokens 6 --beam 1 --n-best 1 \
            --length-penalty 0 > "$work/one" && cut -f 3 "$work/one" | paste "$work/input" - \
            > "$work/short" && "$tfn" eval "$model" "$work/short" > "$work/page" &&
        awk '/^targets/ { n = $2 } /^loss/ { sum = n * $2 } { s -= $2 * (FILENAME ~ /one$/) }
            END { exit !(n > 8 && (sum - s) ^ 2 < 1e-5) }' "$work/page" "$work/one" &&
        "$tfn" train --pairs "$work/short" --valid "$work/short" --from "$model" --steps 1 --lr 0 \
            --quiet --force --out "$work/tr2.safetensors" > "$work/page" 2> "$work/error" &&
        "$tfn" translate "$work/tr2.safetensors" "$work/input" --max-tokens 6 --beam 1 --n-best 1 \
            --length-penalty 0 | cmp - "$work/one" || { cat "$work/page" "$work/one"; return 1; }
    says "$model is of the architecture encoder-decoder, expected an encoder that knows masked words" \
        fill "$model" --text a &&
        says "$model has no head of classes: expected a model trained on labels" \
            classify "$model" --text a &&
        says "--ids: 513 ids, the limit is 512" translate "$model" --ids "$(yes 5 | head -n 513)"
}
check "tfn translate, eval, train --from: T5 of the hub, by texts" translates_texts
mistranslates() {       # ids in config.json that the model lacks
    model=$work/tr3.safetensors
    rm -rf "$model" "$work/tr" && cp -r golden/hub/marian "$work/tr" || return 1
    for words in 'decoder_start_token_id is 31,|s/"decoder_start_token_id": 30/"decoder_start_token_id": 31/' \
        'decoder_start_token_id is -1,|s/"decoder_start_token_id": 30/"decoder_start_token_id": -1/' \
        'eos_token_id is x,|s/"eos_token_id": 0/"eos_token_id": "x"/' \
        'pad_token_id is 1.5,|s/"pad_token_id": 30/"pad_token_id": 1.5/' \
        'bad_words_ids is {},|s/"bad_words_ids": \[/"bad_words_ids": {}, "x": [/'; do
        sed "${words#*|}" golden/hub/marian/config.json > "$work/tr/config.json"
        ! "$tfn" import "$work/tr" --lenient --out "$model" > "$work/page" 2> "$work/error" &&
            grep -q "config.json: ${words%%|*} expected ids from 0 to 30" "$work/error" ||
            { cat "$work/error"; return 1; }
    done
    cp golden/hub/marian/config.json "$work/tr" && echo '[1]' > "$work/tr/generation_config.json"
    says "$work/tr/generation_config.json is no object of JSON" import "$work/tr" --out "$model" &&
        rm "$work/tr/generation_config.json" && sed '/decoder_start_token_id/d; /pad_token_id/d' \
            golden/hub/marian/config.json > "$work/tr/config.json" &&
        "$tfn" import "$work/tr" --out "$model" --force > "$work/page" &&
        says "$model does not say with which token its decoder starts: its config.json had no decoder_start_token_id" \
            translate "$model" --ids 5
}
check "tfn translate: invalid ids" mistranslates
# A kept cache gives the answers of a new decoder that reads the whole conversation, even after
# old turns were dropped.
chats() {
    awk 'BEGIN { for (i = 0; i < 900; i++) printf "%c%d ", 97 + i % 7, i % 5 }' > "$work/abc"
    "$tfn" train "$work/abc" --tokenizer bytes --layers 1 --width 16 --context 64 --steps 60 \
        --threads 1 --quiet --force --out "$work/talk.safetensors" > "$work/page" 2>&1 || return 1
    said=
    for text in a1 'b2 c' d4; do
        said="$said$text>"
        answer=$(echo "$said" | "$tfn" generate "$work/talk.safetensors" --max-tokens 9) || return 1
        said="$answer;"
        echo "${answer##*>}"
    done > "$work/one"
    printf 'a1\nb2 c\nd4' | talk --max-tokens 9 --counts > "$work/page" 2> "$work/error" &&
        diff "$work/one" "$work/page" && [ "$(wc -l < "$work/one")" = 3 ] &&
        [ "$(awk '{ print $2 ":" $6 }' "$work/error" | tr '\n' ' ')" = '11:0 15:11 13:26 ' ] || { cat "$work/error"; return 1; }
    long='a0 b1 c2 d3 e4 f0 g1'
    printf '%s\n' "$long" "$long" "$long" | talk --max-tokens 5 > "$work/page" 2> "$work/error" &&
        grep -q 'context of 64 tokens is full: the oldest turn is left out' "$work/error" &&
        [ "$(wc -l < "$work/error")" = 1 ] &&
        echo "$long>$(sed -n 2p "$work/page");$long" | talk --max-tokens 5 > "$work/one" &&
        sed -n 3p "$work/page" | diff "$work/one" - || return 1
    # drawn from only the most likely token, the text is greedy; others depend on the seed
    echo a1 | talk --max-tokens 9 --temperature 1 --top-k 1 > "$work/one" &&
        echo a1 | talk --max-tokens 9 | cmp "$work/one" - &&
        echo a1 | talk --max-tokens 40 --temperature 2 > "$work/one" &&
        ! echo a1 | talk --max-tokens 40 --temperature 2 --seed 2 | cmp -s "$work/one" - || return 1
    # a stop text ends an answer before it; an answer longer than the context is cut, with a message
    answer=$(echo a1 | talk --max-tokens 20) && word=$(echo "$answer" | cut -c 4-5) &&
        [ "$(echo a1 | talk --max-tokens 20 --stop "zz,$word")" = "${answer%%"$word"*}" ] &&
        echo a1 | talk --max-tokens 99 2> "$work/error" > "$work/page" &&
        grep -q 'the turn fills the context of 64' "$work/error" &&
        [ "$(wc -c < "$work/page")" = 63 ] || return 1
    printf '%s\na1\n' "$long $long $long $long" | talk --max-tokens 9 2> "$work/error" |
        sed 1q | grep -q . && grep -q 'line 1 has 84 tokens with its marks, .* room for 63' "$work/error" &&
        talk < /dev/null > "$work/page" && [ ! -s "$work/page" ] &&
        says "$work/a.safetensors is of the architecture encoder-decoder, expected a decoder" \
            chat "$work/a.safetensors"
}
talk() { "$tfn" chat "$work/talk.safetensors" --user '' --assistant '>' --end ';' "$@"; }
check "tfn chat" chats
chats_by() {            # marks are special tokens, typed ones are not
    mark='<|im_start|>' end='<|im_end|>'
    printf 'ab%s\n' "$end" | "$tfn" chat "$work/tiny.safetensors" --template chatml --max-tokens 1 \
        --counts > "$work/page" 2> "$work/error" || return 1
    # <s>, mark, 5 of "user\n", ab, 10 of the typed mark, end, \n, mark, 10 of "assistant\n"
    grep -q ' 31 tokens were read, 0 ' "$work/error" || { cat "$work/error"; return 1; }
    echo ab | "$tfn" chat "$work/tiny.safetensors" --template llama2 --system be --max-tokens 1 \
        --counts > "$work/page" 2> "$work/error" && grep -q ' 38 tokens' "$work/error"
}
check "tfn chat --template" chats_by
chats_as() {            # chats_as TEMPLATE WORDS: tfn import knows the template by these words
    mkdir -p "$work/chat" && cp golden/hub/llama/* "$work/chat" || return 1
    printf '{"chat_template": "%s"}' "$2" > "$work/chat/tokenizer_config.json"
    "$tfn" import "$work/chat" --out "$work/chat.safetensors" --force > "$work/page" 2> "$work/error" &&
        grep -q "^chat  *$1" "$work/page" || { cat "$work/page" "$work/error"; return 1; }
}
chats_imported() {
    chats_as chatml "{{ '<|im_start|>' + m.role }}{{ '<|im_end|>' }}" &&
        chats_as llama3 "<|start_header_id|>{{ m }}<|eot_id|>" &&
        chats_as llama2 "[INST] <<SYS>>" && chats_as gemma "<start_of_turn>{{ m }}<end_of_turn>" &&
        chats_as phi3 "<|user|>{{ m }}<|end|>" && chats_as zephyr "<|user|>{{ m + eos_token }}" &&
        chats_as unknown "USER: {{ m }} ASSISTANT:" || return 1
    # the imported format is the default of tfn chat, and stays with the model
    cp "$work/tiny.safetensors" "$work/one" && mkdir -p "$work/kept" &&
        "$tfn" export "$work/one" --hf "$work/kept" --force > "$work/page" || return 1
    printf '<|im_start|>{{ m }}<|im_end|>' > "$work/kept/chat_template.jinja"
    "$tfn" import "$work/kept" --out "$work/kept.safetensors" --force > "$work/page" &&
        printf 'ab<|im_end|>\n' | "$tfn" chat "$work/kept.safetensors" --max-tokens 1 --counts \
            > "$work/page" 2> "$work/error" &&
        grep -q ' 31 tokens were read, 0 ' "$work/error" || { cat "$work/error"; return 1; }
    # a .gguf file says it in Jinja
    "$tfn" export "$work/kept.safetensors" "$work/kept.gguf" --force > "$work/page" &&
        "$tfn" import "$work/kept.gguf" --out "$work/kept.safetensors" --force > "$work/page" &&
        grep -q '^chat  *chatml' "$work/page" || { cat "$work/page" "$work/error"; return 1; }
}
check "tfn import keeps the format of turns" chats_imported
# A generated text keeps the space of its first token, although decoding drops it at the start of a text.
continues() {
    rm -rf "$work/spaced" && mkdir "$work/spaced" && cp golden/hub/llama/model.safetensors \
        golden/hub/llama/config.json "$work/spaced" || return 1
    awk 'BEGIN { m = "\342\226\201"
        printf "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":\"%s\"},", m
        printf "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"%s\"}]},\"decoder\":{\"type\":\"Sequence\",", m
        printf "\"decoders\":[{\"type\":\"Replace\",\"pattern\":{\"String\":\"%s\"},\"content\":\" \"},{\"type\":\"Fuse\"},", m
        printf "{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0}]},\"model\":{\"type\":\"BPE\",\"merges\":[\"%s a\"],", m
        printf "\"unk_token\":\"<u>\",\"vocab\":{\"<u>\":0,\"%s\":1,\"a\":2,\"%sa\":3", m, m
        for (i = 4; i < 31; i++) printf ",\"%sw%d\":%d", m, i, i
        print "}}}" }' > "$work/spaced/tokenizer.json"
    "$tfn" import "$work/spaced" --out "$work/spaced.safetensors" --force > "$work/page" &&
        "$tfn" generate "$work/spaced.safetensors" --ids 3 --max-tokens 6 > "$work/one" &&
        tr ' ' '\n' < "$work/one" | awk '{ word[0] = "<u>"; word[1] = " "; word[2] = "a"; word[3] = " a"
            text = text ($1 in word ? word[$1] : " w" $1) } END { print "a" text }' > "$work/wanted" &&
        "$tfn" generate "$work/spaced.safetensors" --text a --max-tokens 6 | diff - "$work/wanted"
}
check "tfn generate: spaces after the prompt" continues
# heads of positions: classes of tokens by name, answers in the second part of a pair
tells_tokens() {
    rm -rf "$work/ner" && cp -r golden/hub/bert-classes "$work/ner" || return 1
    sed 's/ForSequenceClass/ForTokenClass/' golden/hub/bert-classes/config.json > "$work/ner/config.json"
    "$tfn" import "$work/ner" --out "$work/ner.safetensors" --force > "$work/page" || return 1
    for segments in '0 0 0 0' '0 0 1 1'; do
        "$tfn" logits "$work/ner.safetensors" --ids '3 9 20 7' --segments "$segments" | awk '
            BEGIN { split("bad neither good", name, " "); split("3 9 20 7", id, " ") }
            { best = 1; sum = 0
              for (i = 1; i <= NF; i++) { if ($i > $best) best = i; sum += exp($i) }
              printf "1\t%s\t%.4f\t%s\n", id[NR], exp($best) / sum, name[best] }' > "$work/$segments" &&
            "$tfn" classify "$work/ner.safetensors" --ids '3 9 20 7' --segments "$segments" |
            diff "$work/$segments" - && [ "$(wc -l < "$work/$segments")" = 4 ] || return 1
    done
    ! cmp -s "$work/0 0 0 0" "$work/0 0 1 1" &&
        [ "$("$tfn" classify "$work/ner.safetensors" --ids 3 --n-best 9 | wc -l)" = 3 ] &&
        "$tfn" inspect "$work/ner.safetensors" --ids '3 9' | grep -q 'Classes by layer' &&
        says "--segments: 2 numbers for 1 tokens" classify "$work/ner.safetensors" --ids 3 --segments '0 1' &&
        says "--segments: 2 is too large, the model has 2" \
            logits "$work/ner.safetensors" --ids 3 --segments 2
}
check "tfn classify, logits: classes of tokens" tells_tokens
# BERT with a head whose start and end are channels 0 and 1 of the last hidden states
answers() {
    rm -rf "$work/qa" && mkdir "$work/qa" && cp golden/hub/bert/model.safetensors "$work/qa/one.safetensors" || return 1
    sed 's/ForMaskedLM/ForQuestionAnswering/' golden/hub/bert/config.json > "$work/qa/config.json"
    { printf '\240\0\0\0\0\0\0\0%-160s' '{"qa_outputs.bias":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"qa_outputs.weight":{"dtype":"F32","shape":[2,24],"data_offsets":[8,200]}}'
      head -c 8 /dev/zero; printf '\0\0\200\077'; head -c 96 /dev/zero; printf '\0\0\200\077'; head -c 88 /dev/zero
    } > "$work/qa/two.safetensors"
    { printf '{"weight_map": {"qa_outputs.bias": "two.safetensors", "qa_outputs.weight": "two.safetensors"'
      head -c 9000 golden/hub/bert/model.safetensors | grep -a -o '"[^"]*": *{"dtype"' |
        sed 's/^\("[^"]*"\).*/, \1: "one.safetensors"/'
      echo '}}'; } > "$work/qa/model.safetensors.index.json"
    printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' a b c d e f g h i j k l m n o p q r s t u v w x y z '[MASK]' > "$work/qa/vocab.txt"
    "$tfn" import "$work/qa" --out "$work/qa.safetensors" --force > "$work/page" &&
        ids='2 4 5 3 6 7 8 9 3' segments='0 0 0 0 1 1 1 1 1' &&
        "$tfn" logits "$work/qa.safetensors" --ids "$ids" --segments "$segments" > "$work/two" &&
        "$tfn" logits "$work/qa.safetensors" --ids "$ids" --segments "$segments" --hidden > "$work/one" &&
        cut -d ' ' -f 1,2 "$work/one" | cmp - "$work/two" && awk '
            BEGIN { split("c d e f", name, " ") }
            { s[NR] = exp($1); e[NR] = exp($2); S += s[NR]; E += e[NR] }
            END { for (i = 5; i <= 8; i++) for (j = i; j <= 8; j++) {
                t = name[i - 4]
                for (k = i + 1; k <= j; k++) t = t " " name[k - 4]
                printf "1\t%.4f\t%d\t%d\t%s\n", s[i] / S * e[j] / E, i - 1, j - 1, t
            } }' "$work/two" | sort -t "$tab" -k 2 -r > "$work/wanted" &&
        "$tfn" classify "$work/qa.safetensors" --text "a b${tab}c d e f" --n-best 99 | sort -t "$tab" -k 2 -r |
        diff "$work/wanted" - && printf 'a b\tc d e f\n' | "$tfn" classify "$work/qa.safetensors" > "$work/page" &&
        [ "$(cut -f 2 "$work/page")" = "$(sed -n 1p "$work/wanted" | cut -f 2)" ] && [ "$(wc -l < "$work/page")" = 1 ] &&
        says "$work/qa.safetensors predicts classes of tokens, which tfn eval cannot measure: try tfn classify" \
            eval "$work/qa.safetensors" "$work/page"
}
tab=$(printf '\t')
check "tfn classify, logits: answers" answers
# RoBERTa has two ends between the parts of a pair, and an answer is never in the question
answers_of_roberta() {
    rm -rf "$work/qb" && cp -r golden/hub/roberta-questions "$work/qb" || return 1
    { printf '{"version": "1.0", "added_tokens": ['
      for special in '0, "content": "<s>"' '1, "content": "<pad>"' '2, "content": "</s>"' '3, "content": "<unk>"'; do
          [ "$special" = '0, "content": "<s>"' ] || printf ', '
          printf '{"id": %s, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}' "$special"
      done
      printf '], "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true},'
      printf '"post_processor": {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0], "trim_offsets": true, "add_prefix_space": false},'
      printf '"decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "unk_token": "<unk>", "merges": [], "vocab": {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3'
      id=4
      for letter in a b c d e f g h i j k l m n o p q r s t u v w x y '\u0120' z; do
          printf ', "%s": %d' "$letter" "$id"
          id=$((id + 1))
      done
      printf '}}}'; } > "$work/qb/tokenizer.json"
    "$tfn" import "$work/qb" --out "$work/qb.safetensors" --force > "$work/page" &&
        "$tfn" logits "$work/qb.safetensors" --ids '0 4 29 5 2 2 6 29 7 2' | awk '
            { s[NR] = exp($1); e[NR] = exp($2); S += s[NR]; E += e[NR] }
            END { for (i = 7; i <= 9; i++) for (j = i; j <= 9; j++)
                printf "1\t%.4f\t%d\t%d\n", s[i] / S * e[j] / E, i - 1, j - 1 }' | sort > "$work/wanted" &&
        "$tfn" classify "$work/qb.safetensors" --text "a b${tab}c d" --n-best 99 | cut -f 1-4 | sort |
        diff "$work/wanted" -
}
check "tfn classify: answers of RoBERTa" answers_of_roberta
# an encoder-decoder by ids; a body without a head has hidden states only
heads() {
    "$tfn" import golden/hub/marian --out "$work/ed.safetensors" --force > "$work/page" &&
        "$tfn" logits "$work/ed.safetensors" --source-ids "$(sed -n 1p golden/hub/marian/ids.txt)" \
            --ids "$(sed -n 2p golden/hub/marian/ids.txt)" | paste -d ' ' - golden/hub/marian/logits.txt |
        head -n 11 | awk '{ for (i = 1; i <= NF / 2; i++) { d = $i - $(i + NF / 2); if (d * d > 1e-9) exit 1; n++ } }
            END { exit n != 11 * 31 }' || return 1
    says "$work/ed.safetensors also reads a source: --source-ids \"ID ID ...\"" logits "$work/ed.safetensors" --ids 1 &&
        "$tfn" import golden/hub/minilm --out "$work/body.safetensors" --force > "$work/page" || return 1
    for words in 'logits --ids 3' 'fill --mask 3 --ids 3' 'eval /dev/null'; do
        # shellcheck disable=SC2086
        set -- $words
        command=$1
        shift
        case $command in eval) says "$work/body.safetensors has no tokenizer" eval "$work/body.safetensors" ;;
        *) says "$work/body.safetensors has no head, only the body of an encoder: tfn logits --hidden and tfn embed print its hidden states, tfn train --from gives it a head" \
            "$command" "$work/body.safetensors" "$@" ;; esac || return 1
    done
    [ "$("$tfn" logits "$work/body.safetensors" --ids '3 4' --hidden | wc -w)" = 48 ] &&
        "$tfn" inspect "$work/body.safetensors" --ids '3 4' > "$work/page" && ! grep -q 'by layer</h2>' "$work/page"
}
check "tfn logits: a source; a body without a head" heads
misimports() {          # a missing file is named, and nothing is written
    for words in "config.json: cannot be opened|import $work/none --out $work/x" \
        "expected one folder or .gguf file|import --out $work/x" "expected --ids|logits $work/hub.safetensors" \
        "at most 16|import golden/hub/gpt2 --context 17 --out $work/x" \
        "is no number|logits $work/hub.safetensors --ids x"; do
        # shellcheck disable=SC2086
        ! "$tfn" ${words#*|} > "$work/page" 2> "$work/error" && [ ! -s "$work/page" ] &&
            grep -q -- "${words%%|*}" "$work/error" || { cat "$work/error"; return 1; }
    done
    [ ! -e "$work/x" ]
}
check "tfn import: errors" misimports
# exported again: the same file of weights, in its own type, and an equivalent tokenizer
exports_hub() {
    for name in llama-bf16 mistral; do
        rm -rf "$work/out" && "$tfn" import golden/hub/$name --out "$work/hub2.safetensors" --force \
            > "$work/said" && "$tfn" export "$work/hub2.safetensors" --hf "$work/out" > "$work/said" &&
            cmp "$work/out/model.safetensors" golden/hub/$name/model.safetensors &&
            grep -q "^family *${name%-bf16}$" "$work/said" || return 1
    done
    ! "$tfn" export "$work/hub2.safetensors" --hf "$work/out" 2> "$work/error" &&
        grep -q 'exists; --force' "$work/error" || return 1
    "$tfn" train --task copy --tokenizer bpe --vocab 300 --recipe gpt2 --position learned --steps 2 \
        --width 32 --layers 1 --arch decoder --quiet --out "$work/gpt.safetensors" --force > "$work/said" &&
        "$tfn" export "$work/gpt.safetensors" --hf "$work/out" --force > "$work/said" &&
        grep -q '^family *gpt2$' "$work/said" && [ -s "$work/out/tokenizer_config.json" ] &&
        "$tfn" import "$work/out" --out "$work/gpt2.safetensors" --force > "$work/said" || return 1
    for model in gpt gpt2; do
        printf '3 1 4 1 5\nab </s> é\n' | "$tfn" tokens "$work/$model.safetensors" > "$work/$model.ids"
    done
    cmp "$work/gpt.ids" "$work/gpt2.ids"
}
check "tfn export --hf" exports_hub
# LoRA is merged into the matrices: imported again, the model is the same without LoRA
exports_lora() {
    for _ in 1 2 3 4 5 6 7 8; do echo "abba baab aab"; done > "$work/abba"
    "$tfn" train "$work/abba" --from "$work/hub.safetensors" --lora '*.[qv].weight:2:8' --steps 4 \
        --lr 0.1 --quiet --out "$work/lora.safetensors" --force > "$work/said" &&
        ! "$tfn" export "$work/lora.safetensors" --hf "$work/out" --force 2> "$work/error" &&
        grep -q "tokenizer.json belongs to another model" "$work/error" && rm -rf "$work/out" &&
        "$tfn" export "$work/lora.safetensors" --hf "$work/out" --force > "$work/said" &&
        "$tfn" import "$work/out" --out "$work/merged.safetensors" --force > "$work/said" || return 1
    for model in hub lora merged; do
        "$tfn" logits "$work/$model.safetensors" --ids "1 2 3" > "$work/$model.logits" || return 1
    done
    nears() {           # largest difference of the numbers in two files
        paste -d ' ' "$work/$1.logits" "$work/$2.logits" | awk '{
            for (i = 1; i <= NF/2; i++) { d = $i - $(NF/2 + i); if (d < 0) d = -d; if (d > m) m = d }
        } END { print m + 0 }'
    }
    printf 'merged %s, tuned %s\n' "$(nears lora merged)" "$(nears hub merged)"
    [ "$(nears lora merged | awk '{ print ($1 < 1e-5) }')" = 1 ] &&
        [ "$(nears hub merged | awk '{ print ($1 > 1e-3) }')" = 1 ]
}
check "tfn export --hf: LoRA" exports_lora
# LoRA goes to PEFT and back: merged by export or by fold, the model is the trained one. An adapter of
# PEFT is imported with its base.
exports_peft() {
    rm -rf "$work/peft" "$work/peft2" "$work/out" && "$tfn" export "$work/lora.safetensors" --peft "$work/peft" > "$work/said" &&
        grep -q '^tensors *4$' "$work/said" && grep -q '"r": 4,' "$work/peft/adapter_config.json" &&
        "$tfn" export "$work/hub.safetensors" --adapter "$work/peft" --hf "$work/out" > "$work/said" &&
        "$tfn" import "$work/out" --out "$work/merged.safetensors" --force > "$work/said" &&
        "$tfn" fold "$work/hub.safetensors" --adapter "$work/peft" --out "$work/folded.safetensors" --force \
            > "$work/said" || return 1
    for model in merged folded; do
        "$tfn" logits "$work/$model.safetensors" --ids "1 2 3" > "$work/$model.logits" || return 1
        [ "$(nears lora $model | awk '{ print ($1 < 1e-5) }')" = 1 ] || { nears lora $model; return 1; }
    done
    "$tfn" import golden/hub/llama --adapter golden/peft/llama --out "$work/adapted.safetensors" --force \
        > "$work/said" && "$tfn" logits "$work/adapted.safetensors" --ids "$(head -n 1 golden/hub/llama/ids.txt)" \
            > "$work/adapted.logits" && head -n 13 golden/peft/llama/logits.txt > "$work/golden.logits" &&
        [ "$(nears adapted golden | awk '{ print ($1 < 1e-4) }')" = 1 ] || return 1
    says "$work/peft/adapter_config.json exists; --force overwrites it" \
        export "$work/lora.safetensors" --peft "$work/peft" &&
        says "export: groups: the model has no LoRA, which an adapter consists of" \
            export "$work/hub.safetensors" --peft "$work/peft2" && [ ! -e "$work/peft2" ] &&
        says "$work/out has no adapter_config.json: expected a folder of PEFT" \
            import golden/hub/llama --adapter "$work/out" --out "$work/x" &&
        wrong 'adapter needs --hf' export "$work/hub.safetensors" --adapter "$work/peft" --out "$work/x.h" &&
        wrong 'not both' export "$work/hub.safetensors" --peft "$work/peft" --hf "$work/out" && [ ! -e "$work/x" ]
}
check "tfn export --peft, import --adapter" exports_peft
misexports() {
    for words in "no family is called lama; the nearest is llama|--family lama" \
        "gpt2 has .*, the model|--family gpt2" \
        "opt has .*, the model|--family opt" "bert has .*, the model|--family bert" \
        "needs f32|f16|bf16|--dtype f64" \
        "cannot be opened|--hf $work/none/none"; do
        # shellcheck disable=SC2086
        ! "$tfn" export "$work/hub2.safetensors" --hf "$work/out2" ${words##*|} > "$work/page" \
            2> "$work/error" && grep -q -- "${words%|*}" "$work/error" ||
            { cat "$work/error"; return 1; }
    done
    [ ! -e "$work/out2/config.json" ] && [ ! -e "$work/out2/model.safetensors" ]
}
check "tfn export --hf: errors" misexports
# a text: bits a byte are the nats of all tokens over bytes; guessing is worse; a sample follows
learns() {
    text=../examples/04_language_model.txt
    "$tfn" train "$text" --tokenizer bytes --layers 1 --width 32 --steps 200 --threads 1 --force \
        --out "$work/learns.safetensors" > "$work/page" 2> "$work/error" || return 1
    awk '/^validation: / { n++; x = $2; bits = $6; guess = $(NF - 2)
            good = x < guess && bits < $NF && (bits - x / log(2)) ^ 2 < 0.0004 }
        /^it writes, after "/ { n++; getline; if (length($0) > 8) n++ } END { exit !(good && n == 3) }' \
        "$work/error" && "$tfn" train "$text" --tokenizer bytes --layers 1 --width 32 --steps 2 --quiet \
        --threads 1 --force --out "$work/learns.safetensors" > "$work/page" 2> "$work/error" &&
        [ ! -s "$work/error" ]
}
check "tfn train: the summary of a text" learns
# validations during training use a sample, and say so; the last line uses all held-out text
validates_all() {
    "$tfn" train ../examples/04_language_model.txt --tokenizer bytes --layers 1 --width 16 --context 32 --batch-tokens 256 \
        --steps 20 --eval-every 10 --threads 1 --force --out "$work/all.safetensors" > "$work/page" 2> "$work/error" &&
        "$tfn" eval "$work/all.safetensors" > "$work/one" &&
        [ "$(sed -n 's/^step.*valid //p' "$work/page")" = "$(sed -n 's/^loss *//p' "$work/one")" ] &&
        [ "$(sed -n 's/^best.*valid \(.*\) (sample)$/\1/p' "$work/page")" != "$(sed -n 's/^loss *//p' "$work/one")" ] &&
        grep -q 'a sample of 50 of [0-9]* held-out batches' "$work/error" &&
        grep -q 'step 20/20 .* valid [0-9.]* (sample)  lr' "$work/error" &&
        grep -q 'valid at the end: all [0-9]* held-out batches' "$work/error"
}
check "tfn train: the last line uses all held-out text" validates_all
# after overfitting, the command to try uses the best weights, not the last
suggests_best() {
    head -c 3000 ../examples/04_language_model.txt > "$work/short.txt"
    "$tfn" train "$work/short.txt" --tokenizer bytes --layers 1 --width 32 --steps 400 --lr 0.02 --threads 1 --force \
        --out "$work/heart.safetensors" > "$work/page" 2> "$work/error" &&
        grep -q 'tfn generate .*heart.best.safetensors' "$work/error"
}
check "tfn train: the command to try has the best weights" suggests_best
# words of other programs suggest ours; a name unlike any gives no suggestion
known_words() {
    "$tfn" train --help > "$work/help" && "$tfn" --version > "$work/version" || return 1
    for words in '--epochs|--steps' '--n_epochs|--steps' '--seqlen|--context' '--hidden|--width' '--wd|--decay' \
        '--text|FILE without' '--overwrite|--force' '--cuda|--threads' '--gradient-accumulation-steps|--batch-tokens' '--learning-rate|--lr' '--batch-size|--batch N' \
        '--batch_size|--batch N' '--learning_rate|--lr' '--num_train_epochs|--steps' \
        '--d_model|--width' '--eval-interval|--eval-every' '--warmup_steps|--warmup' '--batch_tokens|--batch-tokens' \
        '--block-size=8|--context' '--weight-decay|--decay'; do
        wrong "no option ${words%|*}; here it is ${words#*|}" train --task copy "${words%|*}" 5 || return 1
    done
    wrong 'nearest is --temperature' generate x --temp 1 && wrong 'here it is --max-tokens' generate x --max_length 1 &&
        wrong 'nearest is eval' evla && wrong 'nearest is train' TRAIN && wrong 'nearest is --help' --hlep &&
        wrong 'here it is tfn generate' sampl && wrong 'here it is tfn inspect' info && wrong 'no command ls; tfn' ls &&
        wrong 'no option --lr_rate; tfn' train --lr_rate 1 && "$tfn" -V | cmp - "$work/version" &&
        wrong 'here it is --max-tokens N; tfn generate --help says more' generate x --tokens 5 &&
        wrong 'one of FILE, .*; tfn train --help says' train && wrong 'command; tfn --help says' &&
        wrong 'here it is tfn generate' sample && wrong 'here it is tfn train --resume' resume &&
        wrong 'normlab list' list && wrong 'no command frobnicate; tfn' frobnicate &&
        wrong 'no option --frobnicate; tfn' train --frobnicate && wrong 'no command x; tfn' x &&
        "$tfn" help train | cmp - "$work/help" && "$tfn" version | cmp - "$work/version" &&
        grep -q "hash $(sed -n 's/^#define TFN_BITS_HASH  *UINT64_C(0x\(.*\))/\1/p' ../tfnorm.h |
            tr a-f A-F), saves: [a-z]*$" "$work/version"
}
check "tfn: words that people know" known_words
names_binary() {        # binary data are reported; a model of bytes takes anything
    printf 'a\0b\n' > "$work/binary"
    for _ in 1 2 3 4 5 6 7 8; do cat "$work/binary" "$work/binary" "$work/binary"; done > "$work/binary2"
    printf '\037\213\010abc' > "$work/packed.gz"
    says "$work/binary is no text but binary data: byte 1 is zero; --tokenizer bytes takes any bytes" \
        train "$work/binary" &&
        says "$work/packed.gz is no text but compressed by gzip: zcat FILE | tfn train - reads it" \
            train "$work/packed.gz" &&
        says "$work/packed.gz is no text but compressed by gzip: zcat FILE | tfn train - reads it" \
            train --pairs "$work/packed.gz" &&
        says "$work/binary is no text but binary data: byte 1 is zero" train --labels "$work/binary" &&
        says "$work/binary is no text but binary data: byte 1 is zero" train --pairs "$work/binary" &&
        "$tfn" train "$work/binary2" --tokenizer bytes --layers 1 --width 16 --context 8 --steps 1 \
            --quiet --force --out "$work/binary.safetensors" > "$work/page"
}
check "tfn train: binary data" names_binary
# --json: each line is an object that another JSON parser reads
json_lines() {          # json_lines FILE KEY ...: valid, and all keys occur
    file=$1
    shift
    if have python3; then
        python3 -c 'import json, sys
seen = set()
def bad(x): raise ValueError(x)
for line in open(sys.argv[1], encoding="utf-8"):
    seen |= set(json.loads(line, parse_constant=bad))
sys.exit(not seen >= set(sys.argv[2:]))' "$file" "$@"
    else
        node -e 'const seen = new Set()
for (const line of require("fs").readFileSync(process.argv[1], "utf8").trim().split("\n"))
    Object.keys(JSON.parse(line)).forEach(key => seen.add(key))
process.exit(process.argv.slice(2).every(key => seen.has(key)) ? 0 : 1)' "$file" "$@"
    fi
}
speaks_json() {
    out="$work/json \\\"ü.safetensors"
    odd="$work/json$(printf '\377').safetensors"         # a byte that is not UTF-8
    "$tfn" train --task copy --layers 1 --width 8 --steps 3 --threads 1 --items 400 --held 40 --json --force \
        --out "$out" > "$work/page" 2> "$work/error" &&
        json_lines "$work/page" step steps loss valid lr hash bits out best_step &&
        "$tfn" eval "$out" --json > "$work/page" &&
        json_lines "$work/page" items targets loss perplexity bits_per_byte accuracy equal bleu rougeL &&
        [ "$(wc -l < "$work/page")" = 1 ] && cp "$out" "$odd" &&
        "$tfn" inspect "$out" "$odd" --json > "$work/page" &&
        json_lines "$work/page" file tensors values hash arch step tensor dtype shape norm max bytes &&
        [ "$(grep -c '^{"file"' "$work/page")" = 2 ] || return 1
    "$tfn" train --task copy --layers 1 --width 8 --steps 9 --lr 1e6 --clip 0 --threads 1 --items 400 \
        --held 40 --json --force --out "$work/json.safetensors" > "$work/page" 2> "$work/error"
    json_lines "$work/page" hash &&
        ! "$tfn" inspect "$work/m.safetensors" --text ab --json 2> "$work/error"
}
if have python3 || have node; then check "tfn train, eval, inspect: --json" speaks_json
else skip "tfn train, eval, inspect: --json" "no python3 or node"
fi
summarizes() {          # inspect: the summary is first; a reader that stops after one line is no error
    "$tfn" inspect "$work/a.safetensors" > "$work/page" && sed -n 1p "$work/page" | grep -q ' tensors, .* hash ' &&
        sed -n 2p "$work/page" | grep -q '^model: ' || return 1
    { sleep 0.1; "$tfn" inspect "$work/a.safetensors" 2> "$work/error"; echo $? > "$work/code"; } | : &&
        [ "$(cat "$work/code")" = 0 ] && [ ! -s "$work/error" ]
}
check "tfn inspect: the summary first, into a closed pipe" summarizes
wrongs() {
    wrong 'there are none here' bits --x && wrong 'nearest is --layers' train --task copy --layer 3 && wrong 'nearest is train' trian &&
        wrong 'from 1 to' train --task copy --steps x && wrong 'needs N after' train --steps &&
        wrong 'nearest is "translate"' train --task translat && wrong 'one of' train &&
        wrong 'topology is b2, .*; did you mean b2t?' train --task copy --topology b2 &&
        wrong 'either --text' inspect "$work/m.safetensors" --text a --ids 1 &&
        wrong 'expected one model' fill && wrong 'from 1 to' fill "$work/m.safetensors" --top 0 &&
        wrong 'MODEL and --text' classify --text a &&
        wrong 'adam|adamw' train --task copy --optimizer adamm && wrong 'a command' &&
        wrong 'a name of C' export "$work/m.safetensors" --prefix 1a --out "$work/x"
}
check "tfn: wrong arguments" wrongs
helps() {
    "$tfn" --version | grep -q '[0-9][.]' && "$tfn" --help | grep -q 'Exit codes' &&
        "$tfn" train --help | grep -q '(0.002)' && "$tfn" train --help | grep -q '^  reverse .*abcd -> dcba' &&
        ! "$tfn" bits --help | grep -q Options
}
check "tfn --help" helps
finish
