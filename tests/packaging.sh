# The files of make install: programs are built with them by pkg-config and by CMake; a manual page
# and completions cover the whole help. Then the folder for Arduino and PlatformIO: its manifests, its layout compiled like both do, sources
# as C, the sketch as C++ after Arduino.h, and the example run under qemu.
. ./check.sh
root=$PWD/$work/root prefix=/opt/tfnorm
rm -rf "$root"
# without vector code it compiles in a second
install() {
    get_tool tfn && get_tool normlab && MAKEFLAGS= make -s -C ../tools install out="$PWD/build/bin" \
        CFLAGS="-O0 -std=c99 -DTFNORM_NO_SIMD" PREFIX=$prefix DESTDIR="$root" || return 1
    rm -f build/bin/libtfnorm.a
    "$root$prefix/bin/tfn" --version
}
check "packaging: make install" install
export PKG_CONFIG_PATH="$root$prefix/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$root"
cat > "$work/program.c" << 'PROGRAM'
#include <tfnorm.h>
int main(void)
{
    tfn_model_desc desc = { 0 };
    tfn_model model;
    desc.vocab = 8;
    desc.context = 4;
    desc.threads = 2;
    if (!tfn_version_agrees()) return 2;
    if (tfn_model_new(&model, &desc, NULL) != TFN_OK) return 3;
    tfn_model_free(&model);
    return 0;
}
PROGRAM
by_pkg_config() {
    pkg-config --exact-version="$("$work/tfn" --version | sed 's/^tfn of tfnorm \([0-9.]*\),.*/\1/')" tfnorm &&
        ${CC:-cc} "$work/program.c" $(pkg-config --cflags --libs tfnorm) -o "$work/program" &&
        "$work/program"
}
by_cmake() {
    rm -rf "$work/project"
    mkdir -p "$work/project"
    cp "$work/program.c" "$work/project"
    sed '1i #define TFNORM_NO_SIMD\n#define TFNORM_IMPLEMENTATION' "$work/program.c" |
        sed '/threads/d' > "$work/project/whole.c"
    cat > "$work/project/CMakeLists.txt" << 'LISTS'
cmake_minimum_required(VERSION 3.14)
project(program C)
find_package(tfnorm 0.99 QUIET)
if(tfnorm_FOUND)
    message(FATAL_ERROR "a version that is not there")
endif()
find_package(tfnorm ${WANTED} REQUIRED)
find_package(tfnorm REQUIRED)
add_executable(program program.c)
target_link_libraries(program tfnorm::tfnorm)
add_executable(whole whole.c)
target_link_libraries(whole tfnorm::header)
LISTS
    cmake -S "$work/project" -B "$work/project/build" "-DCMAKE_PREFIX_PATH=$root$prefix" \
        -DWANTED="$(sed -n 's/^#define TFNORM_VERSION "\([0-9]*[.][0-9]*\).*/\1/p' ../tfnorm.h)" &&
        cmake --build "$work/project/build" && "$work/project/build/program" && "$work/project/build/whole"
}
if have pkg-config; then check "packaging: pkg-config" by_pkg_config
else skip "packaging: pkg-config" "no pkg-config"
fi
if have cmake; then check "packaging: CMake" by_cmake
else skip "packaging: CMake" "no cmake"
fi
share=$root$prefix/share
# COMMAND, then each of its options, from the help
helped() {
    "$work/tfn" --help | awk '/For example/ { exit } /^  tfn [a-z]+ / { print $2 }' |
        while read -r command; do
            echo "$command"
            "$work/tfn" "$command" --help | grep -oE '^  --[a-z0-9-]+' | sed "s/^ */$command /"
        done > "$work/helped"
    [ "$(wc -l < "$work/helped")" -gt 150 ]
}
check "packaging: commands and options of the help" helped
manual_page() {         # it has all of them; the formatter prints no message
    sed 's/\\fB//g; s/\\fR//g; s/\\-/-/g' "$share/man/man1/tfn.1" > "$work/page"
    while read -r command option; do
        if [ "$option" ]; then grep -qE "^$option( |$)" "$work/page"
        else grep -q "^tfn $command " "$work/page"
        fi || { echo "the manual page lacks $command $option"; return 1; }
    done < "$work/helped"
    have groff || return 0
    groff -man -Tascii -ww "$share/man/man1/tfn.1" 2> "$work/said" | grep -q "Once upon a time" &&
        [ ! -s "$work/said" ] || { cat "$work/said"; return 1; }
}
check "packaging: the manual page" manual_page
# bash_answers WORD ...: what bash offers for the last word
cat > "$work/answers" << 'BASH'
. "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_tfn
printf '%s\n' "${COMPREPLY[@]}"
BASH
bash_answers() { bash "$work/answers" "$share/bash-completion/completions/tfn" "$@"; }
in_bash() {
    bash_answers tfn '' > "$work/offered"
    for command in $(cut -d ' ' -f 1 "$work/helped" | uniq); do
        grep -qx -e "$command" "$work/offered" || { echo "no $command"; return 1; }
        bash_answers tfn "$command" - | sed "s/^/$command /" >> "$work/offered"
    done
    grep ' ' "$work/helped" | while read -r line; do
        grep -qx -e "$line" "$work/offered" || { echo "no $line"; exit 1; }
    done && [ "$(bash_answers tfn train --optimizer ad | tr '\n' ' ')" = "adam adamw adafactor " ] &&
        bash_answers tfn train --recipe b2 | grep -qx b2t &&
        [ "$(bash_answers tfn train --pairs check.s)" = check.sh ]
}
if have bash; then check "packaging: completion for bash" in_bash
else skip "packaging: completion for bash" "no bash"
fi
# zsh: _arguments is replaced by a function that prints its arguments
in_zsh() {
    cat > "$work/answers.zsh" << 'ZSH'
compdef() { }
_arguments() { print -l -- $@ }
_describe() { print -l -- ${(P)2} }
source $1
words=(tfn "") CURRENT=2
_tfn | sed 's/:.*//'
while read -r command; do
    words=(tfn $command -) CURRENT=3
    _tfn | sed -n "s/^[*]*\\(--[a-z0-9-]*\\).*/$command \\1/p"
done
ZSH
    cut -d ' ' -f 1 "$work/helped" | uniq |
        zsh -f "$work/answers.zsh" "$share/zsh/site-functions/_tfn" > "$work/offered" || return 1
    while read -r line; do
        grep -qx -e "$line" "$work/offered" || { echo "no $line"; return 1; }
    done < "$work/helped"
}
if have zsh; then check "packaging: completion for zsh" in_zsh
else skip "packaging: completion for zsh" "no zsh"
fi
removed() {
    MAKEFLAGS= make -s -C ../tools uninstall PREFIX=$prefix DESTDIR="$root" &&
        [ -z "$(find "$root" -type f)" ]
}
check "packaging: make uninstall" removed

folder=$work/tfnorm
rm -rf "$folder"
refuses() { ! sh ../tools/packaging/arduino.sh "$folder" 2> "$work/said" && grep -q 'is there already' "$work/said"; }
manifests() {
    python3 - "$folder" << 'PYTHON'
import json, os, re, sys
folder = sys.argv[1]
data = json.load(open(folder + "/library.json"))
lines = dict(line.rstrip("\n").split("=", 1) for line in open(folder + "/library.properties"))
version = re.search(r'#define TFNORM_VERSION "(.*)"', open("../tfnorm.h").read()).group(1)
assert data["version"] == lines["version"] == version
wanted = "name version author maintainer sentence paragraph category url architectures includes"
assert sorted(lines) == sorted(wanted.split()), lines
assert os.path.isfile(folder + "/src/" + data["headers"]) and lines["includes"] == data["headers"]
for example in data["examples"]:
    for name in example["files"]: assert os.path.isfile(f'{folder}/{example["base"]}/{name}'), name
    assert os.path.isfile(f'{folder}/{example["base"]}/{example["name"]}.ino')
PYTHON
}
gcc=arm-none-eabi-gcc
common="-mthumb -mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16 -Os -ffunction-sections -fdata-sections"
warnings="-Wall -Wextra -Werror"
compile() {
    sketch=$folder/examples/Reverse
    for file in "$folder"/src/*.c "$sketch"/*.c; do
        # shellcheck disable=SC2086
        $gcc $common $warnings -std=gnu11 -I"$folder/src" -I"$sketch" -c "$file" \
            -o "$work/$(basename "$file").o" || return 1
    done
    { echo '#include <Arduino.h>'; cat "$sketch/Reverse.ino"; } > "$work/Reverse.ino.cpp"
    # shellcheck disable=SC2086
    arm-none-eabi-g++ $common $warnings -std=gnu++11 -fno-exceptions -fno-rtti -Iboard -I"$folder/src" \
        -c "$work/Reverse.ino.cpp" -o "$work/Reverse.ino.o"
}
link() {
    # shellcheck disable=SC2086
    $gcc $common --specs=nano.specs -nostartfiles -std=gnu99 -DBOARD_HZ=25000000 -T board/board.ld \
        -Wl,--gc-sections,--defsym=flash_at=0,--defsym=ram_at=0x20000000,--defsym=stack_size=16384 \
        -Wl,--defsym=flash_size=0x40000,--defsym=ram_size=0x20000 "$work"/*.o \
        board/print.c board/memory.c board/arm.c -o "$work/sketch.elf" -lm
}
cat > "$work/wanted" << 'WANTED'
bead backwards: daeb
face backwards: ecaf
cab backwards: bac
hgfe backwards: efgh
WANTED
runs() {
    timeout 300 qemu-system-arm -M mps2-an386 -display none -serial none -monitor none \
        -semihosting-config enable=on,target=native -kernel "$work/sketch.elf" > "$work/said" 2>&1
    diff "$work/said" "$work/wanted"
}

check "packaging: the folder" sh ../tools/packaging/arduino.sh "$folder"
check "packaging: no folder is overwritten" refuses
if have python3; then check "packaging: manifests" manifests
else skip "packaging: manifests" "no python3"
fi
if have $gcc arm-none-eabi-g++; then
    rm -f "$work"/*.o
    check "packaging: it compiles in its layout" compile
    check "packaging: it links, in 256 KB of flash and 128 of RAM" link
    if have qemu-system-arm; then check "packaging: the example runs" runs
    else skip "packaging: the example runs" "no qemu-system-arm"
    fi
else skip "packaging: compiled" "no $gcc or arm-none-eabi-g++"
fi
finish
