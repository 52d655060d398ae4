"""coverage.sh: lines and branches of each part, from the notes that gcov left in FOLDER.

python3 coverage.py FOLDER TABLE MISSING [whole]: writes a row per part to TABLE, and to MISSING each
line that did not run and each branch that was not taken. A branch is one outcome of one operand of a
condition (each part of && and || has two, a switch one per case) as gcc makes them at -O0. A part that is
compiled more than once, or a function that is inlined, counts once: what any copy ran. Programs with tfnorm.h in one piece count by function
and the line's distance from its start. After an inlined function gcc at -O0 counts the caller's next
conditions at the function's last line: branches at a line of math.h without a condition are left out.
unreached.txt lists what no test can reach:
    part | function | what | the line | why
where `what` is "line", or the number of its branches that are not taken. These are left out of the
counts. A row whose line is not in its function is an error; with `whole`, one that ran is, too."""
import collections, json, os, re, subprocess, sys

folder, table, missing = sys.argv[1:4]
whole = "whole" in sys.argv[4:]
source = os.path.abspath("../tools/source")
REQUIRED = {            # the parts that issue lists, by section
    "ground": ["ground/"], "norms": ["bodies/norms", "kernels/columns", "tape/op_norms"],
    "attention": ["bodies/attention", "kernels/strips", "tape/op_attention"],
    "loss": ["bodies/loss", "kernels/losses", "tape/op_loss"],
    "tape": ["tape/tape", "tape/op_table", "tape/record", "tape/plan", "tape/run"],
    "builder": ["model/builder", "model/joins", "model/stacks", "model/topologies"],
    "model": ["model/"], "files": ["files/"], "json": ["text/json"], "tokenize": ["text/"], "import": ["hub/"]}
CONDITION = re.compile(r"\b(if|for|while|switch|case)\b|[?]|&&|[|][|]")
lines_of, hits, function_at, starts = {}, {}, {}, {}
later = []              # from tfnorm.h, for which the parts' functions are needed


def text_of(path):
    if path not in lines_of:
        lines_of[path] = open(path, encoding="utf-8").read().split("\n")
    return lines_of[path]


def add(path, number, function, count, branches):
    if number > len(text_of(path)):     # of an older text
        return
    function_at[path, number] = function
    if path.endswith("ground/math.h") and not CONDITION.search(text_of(path)[number - 1]):
        branches = []
    lengths = hits.setdefault((path, number), {})
    old = lengths.setdefault(len(branches), [0, [0] * len(branches)])
    old[0] += count
    old[1] = [a + b for a, b in zip(old[1], branches)]


def read(path):
    out = subprocess.run(["gcov", "--json-format", "--stdout", "-b", path], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, check=True).stdout.decode()
    for report in out.splitlines():
        report = json.loads(report)
        for f in report["files"]:
            name = os.path.normpath(os.path.join(report["current_working_directory"], f["file"]))
            part, header = name.startswith(source + "/"), name == os.path.abspath("../tfnorm.h")
            begin = {g["name"]: g["start_line"] for g in f["functions"]}
            if part:
                for g, line in begin.items():
                    starts.setdefault(g, (name, line))
            for line in f["lines"]:
                g, n = line.get("function_name", ""), line["line_number"]
                row = (n, g, line["count"], [b["count"] for b in line["branches"]])
                if part:
                    add(name, *row)
                elif header and g in begin:
                    later.append((begin[g],) + row)


for at, _, names in os.walk(folder):
    for name in sorted(names):
        if name.endswith(".gcno"):
            read(os.path.join(at, name))
header = text_of("../tfnorm.h")
for begin, n, g, count, branches in later:
    path, start = starts.get(g, ("", 0))
    at = start + n - begin
    if path and at <= len(text_of(path)) and text_of(path)[at - 1].split() == header[n - 1].split():
        add(path, at, g, count, branches)

# What is listed as out of reach, by (part, function, text)
listed, faults = {}, []
for row in open("unreached.txt", encoding="utf-8"):
    if row.strip() and not row.startswith("#"):
        cells = row.rstrip("\n").split(" | ", 3)
        cells[3:] = cells[3].rsplit(" | ", 1) if len(cells) == 4 else []    # the line may have a |
        cells = [c.strip() for c in cells]
        if len(cells) != 5 or not cells[4]:
            faults.append("unreached.txt: not five cells: " + row.strip())
            continue
        listed[cells[0], cells[1], " ".join(cells[3].split())] = [cells[2], 0, False]

def folded(lengths):
    """The branches of a line over all copies: a function that is inlined n times has n times as many. An
    instruction set may have branches of its own: the set with the fewest missing counts."""
    base = min((n for n in lengths if n), default=0)
    out = [0] * base
    for n, (_, branches) in lengths.items():
        for i, b in enumerate(branches):
            if n % base == 0:
                out[i % base] += b
    for n, (_, branches) in lengths.items():
        if n and n % base and branches.count(0) < out.count(0):
            out = branches
    return out


counts = collections.defaultdict(lambda: [0, 0, 0, 0])
gaps = []
for (path, n), lengths in sorted(hits.items()):
    part = os.path.splitext(os.path.relpath(path, source))[0]
    text, g = " ".join(text_of(path)[n - 1].split()), function_at[path, n]
    count = sum(v[0] for v in lengths.values())
    branches = folded(lengths)
    gone = sum(not b for b in branches)
    row = listed.get((part, g, text))
    if row:
        row[2] = True
        row[1] += count == 0 if row[0] == "line" else gone
        if row[0] == "line" and count == 0:
            continue
        if row[0] != "line" and count and gone == int(row[0]):
            branches = [b for b in branches if b]
            gone = 0
    c = counts[part]
    c[0] += 1
    c[1] += count > 0
    c[2] += len(branches)
    c[3] += len(branches) - gone
    if count == 0:
        gaps.append("%s:%d: %s: line: %s" % (part, n, g, text))
    elif gone:
        gaps.append("%s:%d: %s: %d of %d: %s" % (part, n, g, gone, len(branches), text))
for (part, g, text), (what, gone, seen) in listed.items():
    if not seen:
        faults.append("unreached.txt: %s: %s has no such line: %s" % (part, g, text))
    elif whole and gone != (1 if what == "line" else int(what)):
        faults.append("unreached.txt: %s: %s: %d, not %s: %s" % (part, g, gone, what, text))


def percent(a, b):
    return 100.0 * a / b if b else 100.0


def row(name, c):
    return "%-28s %6d lines %5.1f %%   %6d branches %5.1f %%\n" % (name, c[0], percent(c[1], c[0]), c[2], percent(c[3], c[2]))


def total(names):
    return [sum(counts[p][i] for p in names) for i in range(4)]


with open(table, "w", encoding="utf-8") as f:
    f.writelines(row(p, counts[p]) for p in sorted(counts))
    f.write(row("  all", total(counts)) + "\n")
    for name, parts in REQUIRED.items():
        c = total([p for p in counts if p.startswith(tuple(parts))])
        f.write(row("  section " + name, c))
        if whole and (percent(c[1], c[0]) < 99 or percent(c[3], c[2]) < 97):
            faults.append("section %s: under 99 %% of lines or 97 %% of branches" % name)
open(missing, "w", encoding="utf-8").write("\n".join(gaps) + "\n")
print("\n".join(faults))
sys.exit(bool(faults))
