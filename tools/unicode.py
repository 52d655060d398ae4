#!/usr/bin/env python3
"""python3 tools/unicode.py: print the table of character classes of tfnorm.h (section pieces).

GPT-2's rules know letters (category L*), numbers (N*), white space and everything else. The table
is a text of runs from U+0000 on, each a number, length*4 + class, 5 bits a character from '0' on,
the lowest first; all but the last one of a number have 32 added. After the last run all is "else".
A list holds where every 32nd run begins: its code point, and its place in the text."""
import re
import unicodedata

BLOCK, COLUMNS = 32, 98
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
        out.append((start, c - start, kind(start)))
        start = c
    while out[-1][2] == OTHER:
        out.pop()
    return out


def digits(number):
    text = chr(48 + number % 32)
    while number := number // 32:
        text = text[:-1] + chr(ord(text[-1]) + 32) + chr(48 + number % 32)
    return text


def rows(pieces, first, between, last, end=""):
    line = "    " + first
    for piece in pieces:
        if len(line + piece + last) > COLUMNS:
            print(line.rstrip() + last)
            line = "    " + first
        line += piece + between
    print(line.rstrip(", ") + last + end)


table = runs()
texts = [digits(n * 4 + k) for _, n, k in table]
places = [sum(map(len, texts[:i])) for i in range(0, len(texts), BLOCK)]
escaped = "".join(texts).replace("\\", "\\\\").replace("??", "?\\?")     # no trigraphs
pieces = re.findall(r"\\.|.", escaped)
print(f"/* Made by tools/unicode.py, Unicode {unicodedata.unidata_version}: runs of length*4 + class,"
      f"\n * and where every {BLOCK}nd begins: code point, place. */")
print("static const char tfn__runs[] =")
rows(pieces, '"', "", '"', ";")
print("static const int32_t tfn__run_starts[][2] = {")
rows([f"{{ {start}, {place} }}," for (start, _, _), place in zip(table[::BLOCK], places)], "", " ", "")
print("};")
