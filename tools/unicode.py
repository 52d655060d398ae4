#!/usr/bin/env python3
"""python3 tools/unicode.py: print the tables of characters of text/unicode and text/normal_forms.

A character has one of Unicode's categories (CATEGORIES below; the control characters that are white
space, and the symbols that are alphabetic, have a row of their own). The table is a text of runs
from U+0000 on, each a number, length*32 + category, 5 bits a character from '0' on, the lowest
first; all but the last one of a number have 32 added. After the last run all is unassigned. A list
holds where every 32nd run begins: its code point, and its place in the text.

The normal form NFC knows, in runs of length*64 + an index of a list, how a character behaves: 0 it
begins anew and stays as it is, DECOMPOSES the same but it has parts, JOINS it may be composed with
what is in front of it, CHANGES it is never in NFC; else its combining class. Parts are a text of
groups, one for each second part: how much it is above that of the group before, times 2, plus 1 if
the parts are never composed; how many characters the group has from there on; how many entries,
each the first part and the whole, as differences to those before, 2*d or for d < 0 -2*d - 1. What
has one part alone is a group of 0, in a text of its own.

The forms NFKC and NFKD also take compatible characters apart: entries in the order of the code points
that they begin at, each how far that is behind the end of the entry before, then 2*n for n
characters that each become one, all at the same difference, which follows; or 2*n + 1 for one
character that becomes n, which follow as differences, the first to the character, the others to the
one before. A list holds where every 32nd entry begins: its code point, and its place in the text.

Small letters are runs of length*128 + an index of a list of differences; index 1 adds 1 to even
characters, 2 to odd ones."""
import re
import unicodedata

BLOCK, ROW, COLUMNS = 32, 1024, 98
WHITE_CONTROL = {*range(0x09, 0x0E), 0x85}
ALPHABETIC_SYMBOL = {*range(0x24B6, 0x24EA), *range(0x1F130, 0x1F14A), *range(0x1F150, 0x1F16A),
                     *range(0x1F170, 0x1F18A)}
CATEGORIES = ("Cn Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp "
              "Cc Cf Cs Co").split()
DECOMPOSES, JOINS, CHANGES = 253, 254, 255
EVEN, ODD = 1, 2


def category(c):
    if c in WHITE_CONTROL:
        return 30
    if c in ALPHABETIC_SYMBOL:
        return 31
    return CATEGORIES.index(unicodedata.category(chr(c)))


def runs(kind):
    out, start = [], 0
    for c in range(1, 0x110001):
        if c < 0x110000 and kind(c) == kind(start):
            continue
        out.append((start, c - start, kind(start)))
        start = c
    while out[-1][2] == 0:
        out.pop()
    return out


def parts():
    """Of each character its canonical parts; Hangul's syllables follow from a formula."""
    out = {}
    for c in range(0x110000):
        text = unicodedata.decomposition(chr(c))
        if text and text[0] != "<":
            out[c] = [int(part, 16) for part in text.split()]
    return out


PARTS = parts()
CHANGED = {c for c in PARTS if unicodedata.normalize("NFC", chr(c)) != chr(c)}
JOINED = {p[1] for c, p in PARTS.items() if len(p) == 2 and c not in CHANGED}
JOINED |= {*range(0x1161, 0x1176), *range(0x11A8, 0x11C3)}


def behavior(c):
    if c in CHANGED:
        return CHANGES
    if c in PARTS:
        return DECOMPOSES
    return unicodedata.combining(chr(c)) or (JOINS if c in JOINED else 0)


def small(c):
    """What a capital becomes; of one that becomes two characters (U+0130) nothing is said."""
    low = chr(c).lower() if c < 0x110000 else ""
    return ord(low) - c if len(low) == 1 else 0


def small_runs():
    """Runs of one difference; letters that alternate with their capitals are one run, too."""
    out, c = [], 0
    deltas = [0, 0, 0]
    while c < 0x110000:
        end, d = c + 1, small(c)
        if d == 1 and small(c + 1) == 0:
            while small(end + 1) == 1 and small(end) == 0:
                end += 2
            index = ODD if c & 1 else EVEN
        else:
            while end < 0x110000 and small(end) == d:
                end += 1
            index = deltas.index(d) if d in deltas else len(deltas)
            deltas += [d] * (index == len(deltas))
        if out and out[-1][2] == index == 0:
            out[-1] = (out[-1][0], end - out[-1][0], 0)
        else:
            out.append((c, end - c, index))
        c = end
    while out[-1][2] == 0:
        out.pop()
    return out, deltas


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


def signed(d):
    return digits(2*d if d >= 0 else -2*d - 1)


def group(entries):
    text, first, whole = digits(len(entries)), 0, 0
    for a, c in entries:
        text += signed(a - first) + signed(c - whole)
        first, whole = a, c
    return text


def alone():
    text = group([(p[0], c) for c, p in sorted(PARTS.items()) if len(p) == 1])
    return digits(1) + digits(len(text)) + text


def groups():
    members = {}
    for c, p in PARTS.items():
        if len(p) == 1:
            continue
        key = (p[1], c in CHANGED)
        members.setdefault(key, []).append((p[0], c))
    text, second = "", 0
    for (key, never), entries in sorted(members.items()):
        body = group(sorted(entries))
        text += digits((key - second)*2 + never) + digits(len(body)) + body
        second = key
    return text


def compatible():
    """Entries, as above, and where they begin."""
    parts = {}
    for c in range(0x110000):
        text = unicodedata.decomposition(chr(c))
        if text and text[0] == "<":
            parts[c] = [int(part, 16) for part in text.split()[1:]]
    out, end, c = [], 0, 0
    for c in sorted(parts):
        if c < end:
            continue
        p, n = parts[c], 1
        if len(p) == 1:
            while len(parts.get(c + n, [])) == 1 and parts[c + n][0] - c - n == p[0] - c:
                n += 1
            text = digits(2*n) + signed(p[0] - c)
        else:
            text = digits(2*len(p) + 1)
            text += "".join(signed(x - y) for x, y in zip(p, [c] + p))
        out.append((c, digits(c - end) + text))
        end = c + n
    return out


def string(name, text):
    escaped = text.replace("\\", "\\\\").replace("??", "?\\?")      # no trigraphs
    print(f"static const char {name}[] =")
    rows(re.findall(r"\\.|.", escaped), '"', "", '"', ";")


def print_blocks(name, starts, texts):
    """Rows of up to ROW - 1 characters, in which no block of texts is cut; and where each block
    begins: the code point, and the place in the table."""
    strings, places = [""], []
    for i in range(0, len(texts), BLOCK):
        block = "".join(texts[i:i + BLOCK])
        if len(strings[-1] + block) >= ROW:
            strings.append("")
        places.append(ROW*(len(strings) - 1) + len(strings[-1]))
        strings[-1] += block
    print(f"static const char {name}s[][{ROW}] = {{")
    for text in strings:
        escaped = text.replace("\\", "\\\\").replace("??", "?\\?")
        rows(re.findall(r"\\.|.", escaped), '"', "", '"', "," if text is not strings[-1] else "")
    print("};")
    print(f"static const int32_t {name}_starts[][2] = {{")
    rows([f"{{ {start}, {place} }}," for start, place in zip(starts[::BLOCK], places)], "", " ", "")
    print("};")


def print_runs(name, table, width, index=lambda k: k):
    print_blocks(name, [c for c, _, _ in table], [digits(n * width + index(k)) for _, n, k in table])


print(f"/* Made by tools/unicode.py, Unicode {unicodedata.unidata_version}: runs of length*32 +"
      f"\n * category, and where every {BLOCK}nd begins: code point, place. */")
print_runs("tfn__run", runs(category), 32)
table = runs(behavior)
codes = sorted({k for _, _, k in table})
assert len(codes) <= 64 and codes[0] == 0
print_runs("tfn__mark_run", table, 64, codes.index)
print("static const uint8_t tfn__behaviors[] = {")
rows([f"{k}," for k in codes], "", " ", "")
print("};")
string("tfn__parts", groups())
string("tfn__alone", alone())
entries = compatible()
print_blocks("tfn__compatible", [c for c, _ in entries], [t for _, t in entries])
table, deltas = small_runs()
assert len(deltas) <= 128
print_runs("tfn__small_run", table, 128)
print("static const int32_t tfn__small_deltas[] = {")
rows([f"{d}," for d in deltas], "", " ", "")
print("};")
