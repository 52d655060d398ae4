#!/bin/sh
# Writes a library for Arduino and PlatformIO into a new folder:
#     sh tools/packaging/arduino.sh FOLDER
# Copy it into the sketchbook's libraries, or name it in lib_deps of platformio.ini. Its manifests
# have the header's version; TFNORM_URL, if it is set, is the page that they name.
set -eu
[ $# = 1 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 1; }
out=$1
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
[ ! -e "$out" ] || { echo "$out is there already: nothing was written" >&2; exit 1; }
version=$(sed -n 's/^#define TFNORM_VERSION "\(.*\)"$/\1/p' "$root/tfnorm.h")
[ -n "$version" ] || { echo "tfnorm.h says no version" >&2; exit 1; }

mkdir -p "$out/src" "$out/examples/Reverse"
cp "$root/tfnorm.h" "$here/arduino/tfnorm_board.h" "$here/arduino/tfnorm_board.c" "$out/src"
cp "$root/LICENSE" "$out"
cp "$here/arduino/Reverse.ino" "$here/arduino/reverse.c" "$out/examples/Reverse"
cp "$root/examples/20_model.h" "$out/examples/Reverse/model.h"

sentence="Runs and trains small Transformers, with the same bits as on a computer."
cat > "$out/library.properties" << PROPERTIES
name=tfnorm
version=$version
author=tfnorm.h contributors
maintainer=tfnorm.h contributors
sentence=$sentence
paragraph=One C99 header without malloc or files: decoders from flash with a key/value cache, and training in one static block. src/tfnorm_board.h says what is compiled.
category=Data Processing
url=${TFNORM_URL:-}
architectures=*
includes=tfnorm_board.h
PROPERTIES
cat > "$out/library.json" << JSON
{
    "name": "tfnorm",
    "version": "$version",
    "description": "$sentence",
    "keywords": "transformer, neural network, machine learning",
    "homepage": "${TFNORM_URL:-}",
    "license": "MIT",
    "headers": "tfnorm_board.h",
    "frameworks": "*",
    "platforms": "*",
    "examples": [
        { "name": "Reverse", "base": "examples/Reverse", "files": ["Reverse.ino", "reverse.c", "model.h"] }
    ]
}
JSON
