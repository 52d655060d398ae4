#!/usr/bin/env python3
"""python3 tools/unicode.py: print the tables of characters of tfnorm.h (section pieces).

GPT-2's rules know letters (category L*), numbers (N*), white space and everything else. The table
is a text of runs from U+0000 on, each a number, length*4 + class, 5 bits a character from '0' on,
the lowest first; all but the last one of a number have 32 added. After the last run all is "else".
A list holds where every 32nd run begins: its code point, and its place in the text.

The normal form NFC knows, in runs of length*64 + an index of a list, how a character behaves: 0 it
begins anew and stays as it is, DECOMPOSES the same but it has parts, JOINS it may be composed with
what is in front of it, CHANGES it is never in NFC; else its combining class. Parts are a text of
groups, one for each second part: how much it is above that of the group before, times 2, plus 1 if
the parts are never composed; how many characters the group has from there on; how many entries,
each the first part and the whole, as differences to those before, 2*d or for d < 0 -2*d - 1. What
has one part alone is a group of 0, in a text of its own.

BERT's rules know traits, in runs of length*4 + trait: punctuation (P*, and what is neither letter
nor digit of ASCII), accents (Mn), what controls (Cc, Cf, Co). Small letters are runs of length*128
+ an index of a list of differences; index 1 adds 1 to even characters, 2 to odd ones."""
import re
import unicodedata

BLOCK, COLUMNS = 32, 98
SPACE = {*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029,
         0x202F, 0x205F, 0x3000}
OTHER, LETTER, NUMBER, WHITE = range(4)
DECOMPOSES, JOINS, CHANGES = 253, 254, 255
PLAIN, PUNCTUATION, ACCENT, CONTROL = range(4)
EVEN, ODD = 1, 2


def kind(c):
    if c in SPACE:
        return WHITE
    return {"L": LETTER, "N": NUMBER}.get(unicodedata.category(chr(c))[0], OTHER)


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


def trait(c):
    category = unicodedata.category(chr(c))
    if category[0] == "P" or (c < 127 and c > 32 and not chr(c).isalnum()):
        return PUNCTUATION
    return {"Mn": ACCENT, "Cc": CONTROL, "Cf": CONTROL, "Co": CONTROL}.get(category, PLAIN)


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


def string(name, text):
    escaped = text.replace("\\", "\\\\").replace("??", "?\\?")      # no trigraphs
    print(f"static const char {name}[] =")
    rows(re.findall(r"\\.|.", escaped), '"', "", '"', ";")


def print_runs(name, table, width, index=lambda k: k):
    texts = [digits(n * width + index(k)) for _, n, k in table]
    places = [sum(map(len, texts[:i])) for i in range(0, len(texts), BLOCK)]
    string(name + "s", "".join(texts))
    print(f"static const int32_t {name}_starts[][2] = {{")
    rows([f"{{ {start}, {place} }}," for (start, _, _), place in zip(table[::BLOCK], places)],
         "", " ", "")
    print("};")


print(f"/* Made by tools/unicode.py, Unicode {unicodedata.unidata_version}: runs of length*4 + class,"
      f"\n * and where every {BLOCK}nd begins: code point, place. */")
print_runs("tfn__run", runs(kind), 4)
table = runs(behavior)
codes = sorted({k for _, _, k in table})
assert len(codes) <= 64 and codes[0] == 0
print_runs("tfn__mark_run", table, 64, codes.index)
print("static const uint8_t tfn__behaviors[] = {")
rows([f"{k}," for k in codes], "", " ", "")
print("};")
string("tfn__parts", groups())
string("tfn__alone", alone())
print_runs("tfn__trait_run", runs(trait), 4)
table, deltas = small_runs()
assert len(deltas) <= 128
print_runs("tfn__small_run", table, 128)
print("static const int32_t tfn__small_deltas[] = {")
rows([f"{d}," for d in deltas], "", " ", "")
print("};")
