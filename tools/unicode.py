#!/usr/bin/env python3
"""python3 tools/unicode.py: print the table of character classes of tfnorm.h (section tokenise).

GPT-2's rules know letters (category L*), numbers (N*), white space and everything else. The table
is a list of runs from U+0000 on, each a 16-bit number, length*4 + class; a longer run is cut in
pieces. After the last run all is "else". A second list holds where every 32nd run begins."""
import unicodedata

LONGEST, BLOCK, COLUMNS = 65535 // 4, 32, 98
SPACE = {*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029,
         0x202F, 0x205F, 0x3000}
OTHER, LETTER, NUMBER, WHITE = range(4)


def kind(c):
    if c in SPACE:
        return WHITE
    return {"L": LETTER, "N": NUMBER}.get(unicodedata.category(chr(c))[0], OTHER)


def runs():
    out, start = [], 0
    for c in range(1, 0x110001):
        if c < 0x110000 and kind(c) == kind(start):
            continue
        while start < c:
            n = min(c - start, LONGEST)
            out.append((start, n, kind(start)))
            start += n
    while out[-1][2] == OTHER:
        out.pop()
    return out


def rows(numbers):
    line = "   "
    for n in numbers:
        if len(line) + len(f" {n},") > COLUMNS:
            print(line)
            line = "   "
        line += f" {n},"
    print(line.rstrip(","))


table = runs()
print(f"/* Made by tools/unicode.py, Unicode {unicodedata.unidata_version}: runs of length*4 + class,"
      f"\n * and where every {BLOCK}nd begins. */")
print("static const uint16_t tfn__runs[] = {")
rows(n * 4 + k for _, n, k in table)
print("};\nstatic const int32_t tfn__run_starts[] = {")
rows(start for start, _, _ in table[::BLOCK])
print("};")
