# Boards under qemu-system: the self-check, decoders from flash, with weights of 32, 8 and 4 bits,
# training in a static block and a head for a new user have the bits of this computer, with an FPU or
# without. Prints the cost of each, and README's table at the end. By hand:
#     BOARDS="m4f m33" PROGRAMS="decode train" sh board.sh
. ./check.sh
here=board

# name | compiler and flags | qemu and machine | flash | RAM | clock that SysTick counts | start-up code |
# programs: without an FPU the self-check and the gestures take minutes
arm="arm-none-eabi-gcc --specs=nano.specs -mthumb -mcpu" mps2="0x00000000 | 0x20000000 | 25000000 | arm"
hard="-mfloat-abi=hard -mfpu" an505="0x10000000 | 0x38000000 | 20000000 | arm"
riscv="riscv64-unknown-elf-gcc --specs=picolibc.specs -march" virt="0x80000000 | 0x80400000 | 0 | riscv"
packed="float32 q8 q4" soft="decode train quantized $packed" programs="check gesture $soft"
[ "$tier" != night ] || soft=$programs
rows() { sed 's/ *| */|/g' << ROWS
m0      | $arm=cortex-m0                       | arm -M mps2-an385          | $mps2  | $soft
m3      | $arm=cortex-m3                       | arm -M mps2-an385          | $mps2  | $soft
m4f     | $arm=cortex-m4 $hard=fpv4-sp-d16     | arm -M mps2-an386          | $mps2  | $programs
m7      | $arm=cortex-m7 $hard=fpv5-d16        | arm -M mps2-an500          | $mps2  | $programs
m33     | $arm=cortex-m33 $hard=fpv5-sp-d16    | arm -M mps2-an505          | $an505 | $programs
rv32imc | $riscv=rv32imc -mabi=ilp32     | riscv32 -M virt -bios none | $virt  | $soft
rv32imf | $riscv=rv32imf -mabi=ilp32f    | riscv32 -M virt -bios none | $virt  | $programs
ROWS
}
column() { rows | awk -F '|' -v name="$1" -v n="$2" '$1 == name { print $n }'; }      # BOARD NUMBER

tokens=100                      # quantized.sh has 1,000
[ "$tier" != night ] || tokens=1000
same="-std=gnu99 -DTFNORM_EXACT -DQUANTIZED_TOKENS=$tokens -I$work"     # on this computer, too
flags="$strict $same -Os -ffunction-sections -fdata-sections"
# image BOARD PROGRAM COMPILER FLAG ...: with the start-up code of its family
image() {
    board=$1 program=$2
    shift 2
    # shellcheck disable=SC2086
    "$@" $flags -DBOARD_SMALL -nostartfiles -DBOARD_HZ="$hz" -T $here/board.ld -Wl,--gc-sections \
        -Wl,--defsym=stack_size=16384,--defsym=flash_size=0x400000,--defsym=ram_size=0x400000 \
        -Wl,--defsym=flash_at="$flash",--defsym=ram_at="$ram" \
        $here/"$program".c $here/print.c $here/memory.c $here/"$family".c -o "$work/$board-$program.elf" -lm
}
# runs BOARD PROGRAM: it succeeds, and its hash equals this computer's
runs() {
    out=$work/$1-$2
    # shellcheck disable=SC2086
    timeout 1800 qemu-system-$machine -display none -serial none -monitor none -icount shift=0 \
        -semihosting-config enable=on,target=native -kernel "$out.elf" > "$out.out" 2>&1
    status=$?
    cat "$out.out"
    hash=$(value host "$2" hash)
    [ "$status" = 0 ] && [ -n "$hash" ] && [ "$(value "$1" "$2" hash)" = "$hash" ]
}
# value BOARD PROGRAM KEY: the printed value
value() { awk -v key="$3" '$1 == key { print $2 }' "$work/$1-$2.out"; }
# the models of the programs float32, q8, q4 and gesture, as C
models() {
    for program in weights gesture_train; do
        ${CC:-cc} -O0 -std=gnu99 $here/$program.c -o "$work/$program" -lm || return 1
    done
    for type in $packed; do "$work/weights" "$type" > "$work/weights_$type.h" || return 1; done
    "$work/gesture_train" > "$work/gesture_model.h"
}
host() {
    for program in ${PROGRAMS:-$programs}; do
        # shellcheck disable=SC2086
        ${CC:-cc} -O1 $same $here/"$program".c $here/print.c $here/host.c \
            -o "$work/host-$program" -lm && "$work/host-$program" > "$work/host-$program.out" || return 1
    done
}

boards=${BOARDS:-$(rows | cut -d '|' -f 1 | paste -s -d ' ' -)}
case $tier in full | extra)         # m0 and m33 are the nearest to these
    echo "left out: m3, m7 (tier night)"
    boards=$(echo "$boards" | sed 's/m3 //; s/m7 //') ;;
esac
# bytes of code, with constants but without the model, bytes of RAM, instructions
table() {
    echo "| board | decoder: code | RAM | a token | training: code | RAM | an update |"
    echo "|---|---|---|---|---|---|---|"
    for board in $boards; do
        [ -s "$work/$board-train.out" ] || continue
        printf '| %s |' "$board"
        for program in decode train; do
            printf ' %s |' "$(value "$board" "$program" code)" "$(value "$board" $program ram)" \
                           "$(value "$board" $program instructions)"
        done
        echo
    done
}
# a decoder of width 64, its weights in flash: bytes, instructions
packed_table() {
    echo "| board | weights | in flash | code | RAM | a token |"
    echo "|---|---|---|---|---|---|"
    for board in $boards; do
        for type in $packed; do
            [ -s "$work/$board-$type.out" ] || continue
            printf '| %s | %s |' "$board" "$type"
            for key in model code ram instructions; do printf ' %s |' "$(value "$board" "$type" $key)"; done
            echo
        done
    done
}
# accuracy in per cent, before and after a board has trained its own head; instructions
gesture_table() {
    echo "| board | encoder | people like those heard | a new one | after 48 gestures | a gesture | learning |"
    echo "|---|---|---|---|---|---|---|"
    for board in $boards; do
        for type in float32 q8; do
            [ -s "$work/$board-gesture.out" ] || continue
            printf '| %s | %s |' "$board" "$type"
            for key in like before after; do
                awk -v key="${type}_$key" '$1 == key { n = $2 } $1 == "tested" { printf " %.1f |", 100 * n / $2 }' \
                    "$work/$board-gesture.out"
            done
            for key in instructions learning; do printf ' %s |' "$(value "$board" gesture "${type}_$key")"; done
            echo
        done
    done
}
# README's: KiB of flash (code, constants, weights) and of RAM, millions of instructions
readme_table() {
    echo "| $boards" | tr '[:lower:]' '[:upper:]' | sed 's/ / | /g; s/$/ |/'
    echo "|---| $boards" | sed 's/ [^ ]*/---|/g'
    for row in "float32 a token, float32" "q8 Q8" "q4 Q4" "train an update"; do
        program=${row%% *}
        printf '| %s |' "${row#* }"
        for board in $boards; do
            [ -s "$work/$board-$program.out" ] || { printf ' |'; continue; }
            awk 'function kib(bytes) { return int((bytes + 1023) / 1024) }
                 { of[$1] = $2 }
                 END { printf " %d + %d, %.3g |", kib(of["code"] + of["model"]), kib(of["ram"]),
                                                  of["instructions"] / 1e6 }' "$work/$board-$program.out"
        done
        echo
    done
}

check "boards: models in C" models
check "boards: the programs on this computer" host
rm -f "$work"/*.elf "$work"/[mr]*.out
for board in $boards; do
    command=$(column "$board" 2) machine=$(column "$board" 3)
    flash=$(column "$board" 4) ram=$(column "$board" 5) hz=$(column "$board" 6)
    family=$(column "$board" 7)
    have "${command%% *}" "qemu-system-${machine%% *}" ||
        { skip "$board" "no ${command%% *} or qemu-system-${machine%% *}"; continue; }
    for program in ${PROGRAMS:-$(column "$board" 8)}; do
        # shellcheck disable=SC2086
        check "$board: $program builds" image "$board" "$program" $command
        check "$board: $program, the same bits as here" runs "$board" "$program"
    done
done
table
packed_table
gesture_table
readme_table
finish
