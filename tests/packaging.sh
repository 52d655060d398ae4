# The folder for Arduino and PlatformIO: its manifests, its layout compiled as both build it, sources
# as C, the sketch as C++ behind Arduino.h, and the example run under qemu.
. ./check.sh
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
check "packaging: no folder is written over" refuses
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
