"""sh mutants.sh random N SEED: N seeded faults in the parts, and whether the tests notice them.

Each fault is one line of a copy of the parts, compiled beside the line itself: fault k computes if
tests_fault(k) says so. One library has all of them, so that a fault costs runs, not a build. A run
without a fault notes the faults whose lines it passes; each fault then runs the programs that pass
it, the short ones first, until one fails, crashes or takes ten times as long: it is noticed.
Kinds: an operator, a comparison, a constant, two arguments swapped, a condition that is skipped, a
statement deleted. Equivalent, by rule: the part with the fault compiles at -O2 to the bytes of the
part without it. PROGRAMS="step metrics": only these; JOBS: runs at once (2)."""
import concurrent.futures, glob, os, random, re, shutil, subprocess, sys, time

count, seed = int(sys.argv[1]), int(sys.argv[2])
work = os.path.abspath("build/work-random")
copy, tests = work + "/copy", work + "/copy/tests"
jobs = int(os.environ.get("JOBS", "2"))
SWAPS = {" + ": " - ", " - ": " + ", " * ": " + ", " / ": " * ", " && ": " || ", " || ": " && ", " < ": " <= ",
         " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == ", "true": "false", "false": "true"}
FLOORS = "ground kernels tape model text files hub".split()


def changed(text, draw):
    """The text with one change, or None."""
    sites = [(m.start(), m.end(), SWAPS[m[0]]) for m in
             re.finditer("|".join(r"\b%s\b" % s if s.isalpha() else re.escape(s) for s in SWAPS), text)]
    sites += [(m.start(), m.end(), str(int(m[0]) + 1)) for m in re.finditer(r"(?<![\w.])\d{1,5}(?![\w.])", text)]
    sites += [(m.start(), m.end(), "(%s, %s" % (m[2], m[1])) for m in re.finditer(r"\((\w+), (\w+)(?=[,)])", text)]
    if not sites:
        return None
    a, b, new = draw.choice(sites)
    return text[:a] + new + text[b:]


def balanced(text):
    return text.count("(") == text.count(")") and text.count("[") == text.count("]")


def fault_of(line, draw):
    """(the line with only the fault, the line with both, its kind), where @ is the fault's number; or None."""
    if any(c in line for c in "\"'\\#") or "/*" in line or "TFN__" in line and "(" not in line:
        return None
    m = re.match(r"^(\s+(?:\} else )?if )\((.*)\)( \{| return\b[^;]*;| continue;| break;|)$", line)
    if m and balanced(m[2]):
        new = changed(m[2], draw) if draw.random() < 0.7 else "false"
        if new is None:
            new = "false"
        kind = "skipped" if new == "false" else "condition"
        return m[1] + "(%s)" % new + m[3], m[1] + "(tests_fault(@) ? (%s) : (%s))" % (new, m[2]) + m[3], kind
    m = re.match(r"^(\s+)return (.*);$", line)
    if m and balanced(m[2]):
        new = changed(m[2], draw)
        if new is None:
            return None
        return "%sreturn %s;" % (m[1], new), "%s{ if (tests_fault(@)) return %s; return %s; }" % (m[1], new, m[2]), "result"
    m = re.match(r"^(\s+)((?:\*?\w[\w.>\[\]-]*(?: - | \+ )?\w*\]?) [-+*/|&^]?= .*|tfn__\w+\(.*\)|\w[\w.>-]*\+\+);$", line)
    if m and balanced(m[2]) and not re.match(r"(return|static|const)\b", m[2]):
        new = changed(m[2], draw) if draw.random() < 0.6 else None
        new, kind = (new, "statement") if new else ("(void)0", "deleted")
        return "%s%s;" % (m[1], new), "%s{ if (tests_fault(@)) { %s; } else { %s; } }" % (m[1], new, m[2]), kind
    return None


def sites():
    found = []
    for floor in FLOORS:
        for path in sorted(glob.glob("../tools/source/%s/*.c" % floor)):
            inside = False
            for n, line in enumerate(open(path).read().split("\n")):
                inside = line.startswith("{") or inside and not line.startswith("}")
                if inside and fault_of(line, random.Random(0)):
                    found.append((path[len("../tools/source/"):], n))
    return found


def plant(faults):
    """The parts of the copy with all faults in them, and the function that they call."""
    for path in {f[0] for f in faults}:
        lines = open("../tools/source/" + path).read().split("\n")
        for k, f in enumerate(faults):
            if f[0] == path and f[4]:
                lines[f[1]] = f[3].replace("@", str(k + 1))
        open(copy + "/tools/source/" + path, "w").write("\n".join(lines))


def build():
    return subprocess.run(["make", "-s", "-k", "-j%d" % jobs, "-f", "library.mk", "NAME=lib", "CC=gcc", "CFLAGS=-std=c99 -O1 -w",
                           "FLAGS=-include fault.h"], cwd=tests, capture_output=True, text=True)


def run(name, fault, limit):
    env = dict(os.environ, TEST_FAULT=str(fault), TEST_HITS=work + "/hits-%s" % name if fault == 0 else "")
    begin = time.time()
    here = "%s/run-%s-%d" % (work, name, fault)         # programs write files where they run
    os.makedirs(here, exist_ok=True)
    for link in ("golden", "../tfnorm.h"):
        to = os.path.join(here, os.path.basename(link))
        if not os.path.lexists(to):
            os.symlink(os.path.abspath(link), to)
    try:
        p = subprocess.run(["sh", "-c", "ulimit -c 0; ulimit -v 16000000; exec %s/program-%s" % (work, name)], cwd=here, env=env,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=limit)
        good = p.returncode == 0
    except subprocess.TimeoutExpired:
        good = False
    shutil.rmtree(here, ignore_errors=True)
    return good, time.time() - begin


def equivalent(f):
    """True if the part with only this fault compiles to the same bytes as the part."""
    folder = os.path.dirname("../tools/source/" + f[0])
    texts = open("../tools/source/" + f[0]).read().split("\n")
    objects = []
    for line in (texts[f[1]], f[2]):
        lines = texts[:f[1]] + [line] + texts[f[1] + 1:]
        p = subprocess.run(["gcc", "-std=c99", "-O2", "-w", "-I", folder, "-x", "c", "-S", "-", "-o", "-"], cwd=folder,
                           input="\n".join(lines), capture_output=True, text=True)
        objects.append(p.stdout)
    return objects[0] != "" and objects[0] == objects[1]


def main():
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(copy)
    shutil.copytree("../tools", copy + "/tools", ignore=shutil.ignore_patterns("bin"))
    shutil.copytree(".", tests, ignore=shutil.ignore_patterns("build"))
    open(tests + "/fault.h", "w").write("extern int tests_fault(int k);\n")
    open(work + "/fault.c", "w").write("""#include <stdio.h>
#include <stdlib.h>
static int chosen = -1;
static unsigned char hits[%d];
static void note(void)
{
    const char *to = getenv("TEST_HITS");
    FILE *f = to && to[0] ? fopen(to, "wb") : NULL;
    if (!f) return;
    fwrite(hits, 1, sizeof hits, f);
    fclose(f);
}
int tests_fault(int k)
{
    if (chosen < 0) {
        const char *which = getenv("TEST_FAULT");
        chosen = which ? atoi(which) : 0;
        atexit(note);
    }
    hits[k] = 1;
    return chosen == k;
}
""" % (count + 1))
    draw = random.Random(seed)
    faults = []
    for path, n in sorted(draw.sample(sites(), count)):
        line = open("../tools/source/" + path).read().split("\n")[n]
        alone, both, kind = next(f for f in iter(lambda: fault_of(line, draw), 0) if f)
        faults.append([path, n, alone, both, True, kind])
    while True:                         # a change that does not compile is not a fault
        plant(faults)
        said = build()
        bad = {(m[1], int(m[2]) - 1) for m in re.finditer(r"tools/source/(\S+?):(\d+):\d+: error", said.stderr)}
        left = [f for f in faults if f[4] and (f[0], f[1]) in bad]
        if said.returncode == 0:
            break
        if not left:
            sys.exit("FAILED random mutants: " + said.stderr[:2000])
        for f in left:
            f[4] = False
    names = os.environ.get("PROGRAMS", "").split() or \
        [os.path.basename(p)[5:-2] for p in sorted(glob.glob("*/test_*.c"))
         if not re.search(r"_(double|poison|bare|header)\.c$", p) and not re.search("^#define TFNORM_IMPL|tools/", open(p).read(), re.M)]
    times, passes = {}, {}
    for name in names:
        source = glob.glob("*/test_%s.c" % name)[0]
        if subprocess.run(["gcc", "-std=c99", "-O1", "-w", "-DTEST_LINKED", source, tests + "/build/lib.o", work + "/fault.c", "-o",
                           work + "/program-" + name, "-lm"]).returncode:
            continue
        good, took = run(name, 0, 900)
        if not good or not os.path.exists(work + "/hits-" + name):
            print("left out: random mutants: %s fails without a fault or passes no line of one" % name)
            continue
        times[name], passes[name] = took, open(work + "/hits-" + name, "rb").read()
        print("  %s passes %d faults in %.1f s" % (name, sum(passes[name]), took), flush=True)
    tally = {"noticed": 0, "not noticed": 0, "not run": 0, "equivalent": 0}

    def judge(k):
        f = faults[k]
        those = sorted((n for n in times if passes[n][k + 1]), key=times.get)
        for name in those:
            if not run(name, k + 1, 10 * times[name] + 10)[0]:
                return k, "noticed", name
        if equivalent(f):
            return k, "equivalent", ""
        return k, "not noticed" if those else "not run", ""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for k, verdict, name in pool.map(judge, [k for k in range(len(faults)) if faults[k][4]]):
            f = faults[k]
            tally[verdict] += 1
            print("%-12s %-10s %s:%d %s%s" % (verdict, f[5], f[0], f[1] + 1, f[2].strip(), name and "   by " + name), flush=True)
    print("random mutants of seed %d: " % seed + ", ".join("%d %s" % (n, v) for v, n in tally.items()))
    counted = sum(tally.values()) - tally["equivalent"]
    print("  %.1f %% noticed of %d that are not equivalent" % (100 * tally["noticed"] / max(counted, 1), counted))


main()
