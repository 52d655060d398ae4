"""sh mutants.sh random N SEED: N seeded faults in the parts, and which the tests notice.

A fault changes one statement of a copy of the parts. The copy has the fault and the statement side
by side: fault k computes if tests_fault(k) says so. All faults are in one library, so that a fault
costs runs, not a build. Statements are drawn from all functions, so a section has as many faults as
it has code; tables of data have none. Kinds: an operator, a comparison, "and" for "or", a negation,
a constant, two things swapped (neighbours in a call, two members), a check that is skipped, a
statement deleted. A fault that does not compile is replaced by another.

A run of tier quick without a fault notes which faults each case of a test program passes. A fault
then runs only these cases, those of its floor first, in tier quick; after all faults, what is left runs in tier
default. A fault is noticed when
a run fails, crashes, or takes ten times as long (processor time, plus two seconds), and the same
cases pass without it.

Equivalent by rule: the part with the fault compiles at -O2 to the code of the part without it; or
two names changed places in a sum, a product, an equality, a minimum or a maximum of these two.
Equivalent by judgement: a row of equivalent.txt, the part | the statement with the fault | the
reason. Everything else that no case notices counts as not noticed, also what no case passes.

JOBS=2: runs at once. PROGRAMS="step metrics": only these programs. PARTS="hub/pickle ^text/": only
faults in files that match. KNOWN=file: the output of an earlier run; what it noticed is not run again.
KEEP=1: the library that the last run with this N and SEED built, with the tests as they are now.
KEEP=2: its programs, too, and what it noted of their cases.
BUILD=1: build that library and end. SECONDS=900: judge no more faults after these. TIERS=quick: less
work for what is not noticed, which then may be more.
The program edges runs what edges.sh runs. Programs left out: bits_header, the tests of the tools, and
all other scripts. What only they notice counts as not noticed."""
import concurrent.futures, glob, os, pickle, random, re, resource, shutil, subprocess, sys, threading, time

count, seed = int(sys.argv[1]), int(sys.argv[2])
work = os.path.abspath("build/work-random")
copy, tests = work + "/copy", work + "/copy/tests"
again = os.environ.get("KEEP") == "2"
jobs = int(os.environ.get("JOBS", "2"))
FLOORS = "ground kernels bodies tape model text files hub".split()
COMPILER = ["gcc", "-std=c99", "-O1", "-w"]
EXACT = "math kernels norms reference".split()
BLOCKS = ("statement", "leave")          # a fault takes the place of the statement and its ;
FORMS = [os.path.basename(p)[5:-2] for p in sorted(glob.glob("*/test_*.c")) if re.search(r"_(double|poison|bare)\.c$", p)]
OWN = "tape debug memory files".split() + FORMS  # compile the header, here without SIMD
edges = open("edges.sh").read()                  # files of all.c with the address sanitizer
EDGES = re.search(r" core (\w.*)", edges)[1].split()
EDGES_FLAGS = re.search(r'flags="(-.*)"', edges)[1].split()
EDGES_ENV = {name: re.search(name + r"='?([^'\n]*?)'?(?:\s+#.*)?\n", edges)[1] for name in ("TEST_WITHOUT", "ASAN_OPTIONS")}


# -- statements --------------------------------------------------------------------------------

def bare_of(text, strings):
    """The text with comments as blanks and lines of the preprocessor as #; strings as _ too."""
    def blank(m):
        s = m[0]
        if s[0] in "\"'":
            return s[0] + "_" * (len(s) - 2) + s[0] if strings else s
        return re.sub(r"[^\n]", "#" if s.lstrip()[0] == "#" else " ", s)
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|(?m:^[ \t]*#(?:\\\n|[^\n])*)",
                  blank, text, flags=re.S)


def closing(s, at):
    """Where the bracket at `at` closes."""
    depth = 0
    for i in range(at, len(s)):
        depth += (s[i] in "([{") - (s[i] in ")]}")
        if depth == 0:
            return i
    return -1


def end_of(s, at):
    """The next ; outside brackets, or where a bracket opens a block or closes one from outside."""
    depth = 0
    for i in range(at, len(s)):
        if s[i] == "{" or depth == 0 and s[i] in ";)}":
            return i
        depth += (s[i] in "([") - (s[i] in ")]")
    return len(s)


def parts_of_for(s, a, b):
    """Where the condition of a `for` begins and ends."""
    first = end_of(s, a)
    return first + 1, end_of(s, first + 1)


def statements(s):
    """(how, begin, end) of what can be changed: a condition, a value, or a statement."""
    found = []
    for body in re.finditer(r"(?ms)^\{.*?^\}", s):
        at, stop = body.start() + 1, body.end() - 1
        while at < stop:
            m = re.compile(r"[\s;{})]+|else\b|do\b|case\b[^:]*:|default\s*:").match(s, at)
            if m:
                at = m.end()
                continue
            m = re.compile(r"(if|while|for|switch)\s*\(").match(s, at)
            if m:
                close = closing(s, m.end() - 1)
                if m[1] in ("if", "while"):
                    found.append((m[1], m.end(), close))
                elif m[1] == "for":
                    found.append(("for",) + parts_of_for(s, m.end(), close))
                at = close + 1
                continue
            end = end_of(s, at)
            if end < len(s) and s[end] == "{":
                at = end + 1
                continue
            if end >= len(s) or s[end] != ";":
                at = end + 1
                continue
            text = s[at:end]
            m = re.match(r"return\s+(?=\S)", text)
            d = re.match(r"(?:(?:const|volatile)\s+)?(?:unsigned\s+|struct\s+|signed\s+)?[A-Za-z_]\w*(?:\s+|\s*\*+\s*)(?:const\s+)?\w+\s*=\s*(?=[^={\s])", text)
            if m:
                found.append(("return", at + m.end(), end))
            elif d and not text.startswith("return"):
                found.append(("value", at + d.end(), end))
            elif re.match(r"(break|continue|goto\s+\w+|return)$", text):
                found.append(("leave", at, end))
            elif not re.match(r"(static|const|volatile|typedef|enum|extern|register)\b|(?:unsigned\s+|struct\s+)?\w+(\s+\**|\s*\*+\s+|\s\*+)\w+\s*(\[|,|$|=)", text):
                found.append(("statement", at, end))
            at = end + 1
    return [f for f in found if "#" not in s[f[1]:f[2]] and s[f[1]:f[2]].strip()]


# -- faults ------------------------------------------------------------------------------------

NAME = r"[A-Za-z_]\w*(?:(?:->|\.)\w+|\[\w+\])*"
SWAPS = {
    "operator": {" + ": " - ", " - ": " + ", " * ": " / ", "*": "+", " / ": " * ", " % ": " / ", " << ": " >> ", " >> ": " << ", " & ": " | ",
                 " | ": " & ", " ^ ": " & ", " += ": " -= ", " -= ": " += ", " *= ": " = ", " |= ": " = ", "++": "--", "--": "++"},
    "comparison": {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == "},
    "and, or": {" && ": " || ", " || ": " && "},
}
WHERE = {"*": r"(?<=[\w\])])\*(?=[\w(])", "++": r"\+\+", "--": r"--"}


def changes(text, mask):
    """kind -> [(begin, end, what is there instead)] of an expression."""
    found = {}
    for kind, swaps in SWAPS.items():
        for old, new in swaps.items():
            for m in re.finditer(WHERE.get(old, re.escape(old).replace(r"\ ", r"\s")), mask):
                found.setdefault(kind, []).append((m.start(), m.end(), new))
    for m in re.finditer(r"(?<![\w)\]])!(?=[\w(])", mask):
        found.setdefault("negation", []).append((m.start(), m.end(), ""))
    for m in re.finditer(r"(?<![\w.])(\d+|0x[0-9a-f]+|\d*\.\d+(?:e-?\d+)?|\d+e-?\d+)(u|ull|f|)\b(?!\.)", mask):
        found.setdefault("constant", []).append((m.start(), m.end(), "(%s + 1)" % m[0]))
    for m in re.finditer(r"\b(true|false)\b", mask):
        found.setdefault("constant", []).append((m.start(), m.end(), "false" if m[0] == "true" else "true"))
    for m in re.finditer(r"(?=(?<=[(,\s])(%s), (%s)[,)])" % (NAME, NAME), mask):
        if m[1] != m[2] and "float" not in (m[1], m[2]):
            found.setdefault("swapped", []).append((m.start(1), m.end(2), m[2] + ", " + m[1]))
    members = list(re.finditer(r"(?<=->)\w+|(?<=[\w\])]\.)[A-Za-z_]\w*", mask))
    for a in members:
        for b in members:
            if a.start() < b.start() and a[0] != b[0]:
                found.setdefault("swapped", []).append((a.start(), b.end(), b[0] + text[a.end():b.start()] + a[0]))
    return found


def fault_of(how, text, mask, draw):
    """(the text with the fault, its kind), or None."""
    found = changes(text, mask)
    if how in BLOCKS:
        found["deleted"] = [(0, len(text), "(void)0")]
    if how == "if":
        found["skipped"] = [(0, len(text), "false")]
    if not found:
        return None
    kind = draw.choice(sorted(found))
    a, b, new = draw.choice(found[kind])
    return " ".join((text[:a] + new + text[b:]).split()), kind


def planted(how, old, new, k):
    if how in BLOCKS:
        return "{ if (tests_fault(%d)) { %s; } else { %s; } }" % (k, new, old)
    return "(tests_fault(%d) ? (%s) : (%s))" % (k, new, old)


class Fault:
    def __init__(self, path, how, a, b, new, kind, old, line):
        self.path, self.how, self.a, self.b, self.new, self.kind, self.old, self.line = path, how, a, b, new, kind, old, line
        # a declared pointer to a function would be known only in the braces of the fault
        self.good, self.k = not (how in BLOCKS and re.match(r"\w[\w *]*\(\*(const )?\w+\)\(", old)), 0

    def row(self):
        """The part and the statement with the fault, as equivalent.txt and the report name it."""
        was = " ".join(self.old.split())
        if self.kind in ("deleted", "skipped"):
            return "%s | without: %s" % (self.path, was)
        name = re.search(r"(\w+ = )?$", source(self.path)[:self.a])[1] or ""
        return "%s | %s%s" % (self.path, {"statement": "", "value": name}.get(self.how, self.how + " "), self.new)


def source(path):
    return open(work + "/source/" + path).read()


def all_sites():
    only = os.environ.get("PARTS", "").split()
    found = []
    for floor in FLOORS:
        for path in sorted(glob.glob(work + "/source/%s/*.[ch]" % floor)):
            path = path[len(work + "/source/"):]
            if not only or any(re.search(o, path) for o in only):
                found += [(path,) + s for s in statements(bare_of(source(path), True))]
    return found


def drawn():
    draw, faults = random.Random(seed), []
    places = all_sites()
    draw.shuffle(places)
    for path, how, a, b in places:
        bare, mask = bare_of(source(path), False), bare_of(source(path), True)
        f = fault_of(how, bare[a:b], mask[a:b], draw)
        if f and f[0] != " ".join(bare[a:b].split()):
            faults.append(Fault(path, how, a, b, f[0], f[1], bare[a:b], bare.count("\n", 0, a) + 1))
        if len(faults) >= count + count // 8 + 5:
            break
    for k, f in enumerate(faults):
        f.k = k + 1
    return faults


def plant(faults, paths):
    for path in paths:
        whole = source(path)
        for f in sorted((f for f in faults if f.path == path and f.good), key=lambda f: -f.a):
            whole = whole[:f.a] + planted(f.how, f.old, f.new, f.k) + whole[f.b + (f.how in BLOCKS):]
        open(copy + "/tools/source/" + path, "w").write(whole)


# -- the library and the programs --------------------------------------------------------------

def make(name, flags=""):
    return subprocess.run(["make", "-s", "-k", "-j%d" % jobs, "-f", "library.mk", "NAME=" + name, "CC=gcc",
                           "CFLAGS=-std=c99 -O1 -w -Werror=incompatible-pointer-types -Werror=int-conversion "
                           "-Werror=implicit-function-declaration",
                           "FLAGS=-include fault.h " + flags], cwd=tests, capture_output=True, text=True)


def drop_for_header(faults):
    """Drop the faults that stop a program that compiles the header, which has code that the parts do
    not compile. Return the files that have such faults."""
    clang = shutil.which("clang") or "gcc"
    said = subprocess.run(["make", "-s", "-C", copy + "/tools", "header"], capture_output=True, text=True)
    if said.returncode:
        sys.exit("FAILED random mutants: " + said.stderr[:3000])
    lines, bad = open(copy + "/tfnorm.h").read().split("\n"), set()
    for name in OWN:
        said = subprocess.run([clang, "-std=c99", "-w", "-fsyntax-only", "-ferror-limit=0" if "clang" in clang else "-O0", "-include", "fault.h",
                               "-DTFNORM_NO_SIMD", glob.glob("*/test_%s.c" % name)[0]], cwd=tests, capture_output=True, text=True)
        for line, column in re.findall(r"tfnorm\.h:(\d+):(\d+): error", said.stderr):
            bad |= set(map(int, re.findall(r"tests_fault\((\d+)\)", lines[int(line) - 1][:int(column)])[-1:]))
    for f in faults:
        f.good = f.good and f.k not in bad
    return {f.path for f in faults if f.k in bad}


def build(faults):
    paths = {f.path for f in faults}
    while True:
        plant(faults, paths)
        paths = drop_for_header(faults)
        if paths:
            continue
        said = make("lib")
        if said.returncode == 0:
            return
        paths = set()
        for path, line in set(re.findall(r"tools/source/(?:\w+/\.\./)?(\w+/\w+\.[ch]):(\d+):\d+: error", said.stderr)):
            for f in faults:
                if f.good and f.path == path and f.line <= int(line) <= f.line + f.old.count("\n"):
                    f.good = False
                    paths.add(path)
        if not paths:
            sys.exit("FAILED random mutants: " + said.stderr[:3000])


FAULT_H = """extern int tests_chosen;
extern unsigned char tests_hits[];
static inline int tests_fault(int k)
{
    if (!tests_hits[k]) tests_hits[k] = 1;
    return tests_chosen == k;
}
"""
FAULT_C = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
enum { FAULTS = %d };
int tests_chosen;
unsigned char tests_hits[FAULTS];
static pid_t self;
static clock_t began;
static void note(const char *name)
{
    const char *to = getenv("TEST_HITS");
    FILE *f = to && to[0] && getpid() == self ? fopen(to, "a") : NULL;
    if (!f) return;
    fprintf(f, "%%s\\t%%.3f", name, (double)(clock() - began)/CLOCKS_PER_SEC);
    for (int k = 0; k < FAULTS; k++)
        if (tests_hits[k]) fprintf(f, "\\t%%d", k);
    fprintf(f, "\\n");
    fclose(f);
    memset(tests_hits, 0, sizeof tests_hits);
    began = clock();
}
static void last(void) { note("-"); }
__attribute__((constructor)) static void begin(void)
{
    const char *which = getenv("TEST_FAULT");
    tests_chosen = which ? atoi(which) : 0;
    self = getpid();
    atexit(last);
}
int tests_case(const char *name, int ended, int errors)
{
    const char *cases = getenv("TEST_CASES");
    char word[300];
    if (ended) {
        note(name);
        if (errors && tests_chosen > 0) {
            printf("FAILED %%s\\n", name);
            fflush(stdout);
            _exit(1);
        }
        return 1;
    }
    note("-");
    snprintf(word, sizeof word, "\\t%%s\\t", name);
    return !cases || strstr(cases, word) != NULL;
}
"""


def limits(sanitized):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if not sanitized:                   # the sanitizer reserves terabytes of addresses
        resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))


folders = threading.local()


def run(name, fault, cases, limit, hits="", tier="quick"):
    """Whether the cases (None: all) of a program pass, and the name of one that does not."""
    tier = "quick" if tier == "short" else tier
    env = dict(os.environ, TEST_FAULT=str(fault), TEST_HITS=hits, TEST_TIER=tier)
    if cases is not None:
        env["TEST_CASES"] = "\t" + "\t".join(cases) + "\t"
    here = "%s/runs/%s-%d-%d" % (work, name, fault, threading.get_ident())      # programs write files where they run
    os.makedirs(here + "/tests/build", exist_ok=True)
    for at, to in (("tests/golden", "golden"), ("tfnorm.h", "../tfnorm.h")):
        if not os.path.lexists(here + "/" + at):
            os.symlink(os.path.abspath(to), here + "/" + at)

    command = [work + "/program-" + name]
    if name == "edges":
        command += EDGES
        env.update(EDGES_ENV)

    def bounds():
        limits(name == "edges")
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 1))
    p = subprocess.Popen(command, cwd=here + "/tests", env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=bounds)
    waited, out = 0, None
    while out is None:                  # each second counts once, however long both were stopped
        try:
            out = p.communicate(timeout=1)[0]
        except subprocess.TimeoutExpired:
            waited += 1
            if waited > 20 * limit + 20:
                p.kill()
    good = p.returncode == 0
    shutil.rmtree(here, ignore_errors=True)
    m = re.search(rb"^FAILED (\S+)", out, re.M)
    return good, m[1].decode() if m else "crash or time"


def compile_program(name, header):
    """A program. The objects of those that link the library are kept for the next run."""
    source, to = "all.c" if name == "edges" else glob.glob("*/test_%s.c" % name)[0], work + "/program-" + name
    if again and os.path.exists(to):
        return name, True
    if header:
        compiler = ["clang"] + COMPILER[1:] if shutil.which("clang") else COMPILER
        if name == "edges":
            compiler = compiler + EDGES_FLAGS
        said = subprocess.run(compiler + ["-include", tests + "/fault.h", "-DTFNORM_NO_SIMD", source, work + "/fault.c", "-o", to, "-lm"],
                              cwd=tests, stderr=subprocess.DEVNULL)
        return name, said.returncode == 0
    kept = os.path.abspath("build/random-objects/%s.o" % name)
    os.makedirs(os.path.dirname(kept), exist_ok=True)
    read = glob.glob("*.h") + glob.glob("golden/*.h") + glob.glob("../tools/source/*/*.h") + [source] + glob.glob("model/test_model.c")
    if not os.path.exists(kept) or os.path.getmtime(kept) < max(map(os.path.getmtime, read)):
        if subprocess.run(COMPILER + ["-DTEST_LINKED", "-c", source, "-o", kept], cwd=tests, stderr=subprocess.DEVNULL).returncode:
            return name, False
    said = subprocess.run(["gcc", kept, tests + "/build/%s.o" % ("lib_exact" if name in EXACT else "lib"), work + "/fault.o", "-o", to, "-lm"],
                          stderr=subprocess.DEVNULL)
    return name, said.returncode == 0


def first_run(name):
    """case -> (seconds, faults it passes), or None."""
    hits = work + "/hits-" + name
    if not again or not os.path.exists(hits):
        if os.path.exists(hits + "-"):
            os.remove(hits + "-")
        good, which = run(name, 0, None, 600, hits + "-")
        if not good or not os.path.exists(hits + "-"):
            return name, None, which
        os.rename(hits + "-", hits)
    rows = {}
    for line in open(hits):
        case, took, *ks = line.split("\t")
        old = rows.get(case, (0, set()))
        rows[case] = (old[0] + float(took), old[1] | set(map(int, ks)))
    return name, rows, ""


# -- verdicts ----------------------------------------------------------------------------------

def code_of(path, whole, c):
    """What part c compiles to if file `path` has this text."""
    folder = tempfile_tree(path, whole)
    p = subprocess.run(["gcc", "-std=c99", "-O2", "-w", "-S", folder + "/" + c, "-o", "-"], capture_output=True, text=True)
    shutil.rmtree(folder)
    return p.stdout


def tempfile_tree(path, whole):
    folder = "%s/same/%d" % (work, threading.get_ident())
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(work + "/source", folder)
    open(folder + "/" + path, "w").write(whole)
    return folder


def equivalent(f):
    """Whether every part that reads the file compiles to the same code with this fault. The kernels
    are not compared: five sets take minutes."""
    if f.path.startswith("bodies"):
        return False
    whole = source(f.path)
    new = " " + f.new + " " if f.how in BLOCKS else "(" + f.new + ")"
    lines = f.old.count("\n")
    new += "\n" * lines
    parts = [f.path] if f.path.endswith(".c") else \
        [p[len(work + "/source/"):] for p in sorted(glob.glob(work + "/source/*/*.c")) if "/bodies/" not in p and
         os.path.basename(f.path) in open(p).read() and "instances" not in p]
    for c in parts:
        old = "%s" % f.old if f.how in BLOCKS else "(" + f.old + ")"
        a = code_of(f.path, whole[:f.a] + old + whole[f.b:], c)
        b = code_of(f.path, whole[:f.a] + new + whole[f.b:], c)
        if a == "" or a != b:
            return False
    return bool(parts)


def batches(f, passes):
    """[(program, its cases, seconds, near)] that pass the fault, in the order in which they run: near
    programs first, those in the folder of the fault's floor."""
    floor = f.path.split("/")[0].replace("bodies", "kernels")
    short, long = [], []
    for name, rows in passes.items():
        those = [c for c in rows if f.k in rows[c][1] and c != "-"]
        quick = [c for c in those if rows[c][0] < 0.1]
        if quick:
            short.append((name, quick, sum(rows[c][0] for c in quick)))
        long += [(name, [c], rows[c][0]) for c in those if rows[c][0] >= 0.1]
        if not those and "-" in rows and f.k in rows["-"][1]:
            long.append((name, None, sum(r[0] for r in rows.values())))
    found = sorted(short, key=lambda b: b[2]) + sorted(long, key=lambda b: b[2])
    found = [b + (os.path.exists("%s/test_%s.c" % (floor, b[0])),) for b in found]
    return sorted(found, key=lambda b: not b[3])


samples = [os.path.basename(p)[5:-2] for p in glob.glob("*/test_*.c") if "check_tier" in open(p).read()]
sound = {}              # (program, cases) that pass without a fault: whether they do


def sorted_pairs(text):
    """The text with both names of each symmetric operation in alphabetic order."""
    def put(m):
        a, b = sorted((m[2], m[4]))
        return m[1] + a + m[3] + b
    text = re.sub(r"(\btfn__(?:min|max|larger_of|equal)\()(%s)(, )(%s)(?=\))" % (NAME, NAME), put, " ".join(text.split()))
    begins = r"((?:^|(?<=[(,]) ?|(?<= =) |(?<=&&) |(?<=\|\|) ))(%s)" % NAME
    text = re.sub(begins + r"( (?:\+|\*) )(%s)(?=$|[),]| [<>=&|])" % NAME, put, text)
    return re.sub(begins + r"( (?:==|!=|\|) )(%s)(?=$|[),]| (?:&&|\|\|))" % NAME, put, text)


def symmetric(f):
    return f.kind == "swapped" and sorted_pairs(f.new) == sorted_pairs(f.old)


def judge(f, passes, listed, known, tier):
    """Tier "short" is twelve seconds of tier quick in near programs, or three in others. In tier default only what these do not
    notice; first whether it is equivalent by rule."""
    if f.row() in known:
        return f, "noticed", known[f.row()]
    those = batches(f, passes)
    if f.row() in listed:
        return f, "equivalent", "listed"
    if symmetric(f):
        return f, "equivalent", "symmetric"
    if tier == "default" and equivalent(f):
        return f, "equivalent", "the same code"
    spent = 0
    for name, cases, took, near in those:
        if tier == "default" and name not in samples:
            continue
        spent += took / 4 if near else took
        if tier == "short" and spent > 3:
            break
        limit = (100 if tier == "default" else 10) * took + 2
        good, which = run(name, f.k, cases, limit, tier=tier)
        if good:
            continue
        if cases and which in cases:            # these it ran
            cases = cases[:cases.index(which) + 1]
        key = (name, tuple(cases or ()), tier)
        if key not in sound:
            sound[key] = run(name, -1, cases, limit, tier=tier)[0]
        if sound[key]:
            return f, "noticed", "%s %s" % (name, which)
    return f, "not noticed" if those else "not run", ""


def table(title, rows):
    print("%-22s %8s %8s %11s %8s %10s %8s" % (title, "faults", "noticed", "not noticed", "not run", "equivalent", "noticed"))
    for name in sorted(rows) + ["all"]:
        those = rows[name] if name != "all" else [v for vs in rows.values() for v in vs]
        n = [those.count(v) for v in ("noticed", "not noticed", "not run", "equivalent")]
        left = sum(n) - n[3]
        print("%-22s %8d %8d %11d %8d %10d %6.1f %%" % (name, sum(n), *n, 100.0 * n[0] / left if left else 100))


def known_of(path):
    """What an earlier run noticed: row -> by which program."""
    if not path:
        return {}
    return {m[1]: m[2] for m in re.finditer(r"(?m)^noticed +\S.*? : (.*)  \[by (.*)\]$", open(path).read())}


def copy_tests():
    """The tests beside the library; each test that they run is asked for and told of (fault.c)."""
    for path in glob.glob("*.[ch]") + glob.glob("*/*.[ch]"):
        os.makedirs(os.path.dirname(tests + "/" + path), exist_ok=True)
        shutil.copy(path, tests + "/" + path)
    check = open("check.h").read()
    hook = check.replace("    check_errors = 0;\n", "    if (!tests_case(name, 0, 0)) return;\n    check_errors = 0;\n")
    hook = hook.replace("    test();\n", "    test();\n    tests_case(name, 1, check_errors);\n")
    hook = hook.replace("static void check_run(", "extern int tests_case(const char *name, int ended, int errors);\nstatic void check_run(")
    assert hook.count("tests_case(") == 3
    open(tests + "/check.h", "w").write(hook)


def build_library(plan):
    shutil.rmtree(work, ignore_errors=True)
    os.makedirs(copy)
    shutil.copytree("../tools/source", work + "/source")
    shutil.copytree("../tools", copy + "/tools", ignore=shutil.ignore_patterns("bin"))
    shutil.copytree(".", tests, ignore=shutil.ignore_patterns("build"))
    shutil.copy("../tfnorm.h", copy)
    faults = drawn()
    open(tests + "/fault.h", "w").write(FAULT_H)
    open(work + "/fault.c", "w").write(FAULT_C % (len(faults) + 1))
    subprocess.run(COMPILER + ["-c", work + "/fault.c", "-o", work + "/fault.o"], check=True)
    lower = [f for f in faults if re.match("ground|kernels|bodies", f.path) or f.path.endswith(".h")]
    if not lower:                       # the kernels that the tests use have none of these faults
        for path in glob.glob("build/lib/*/instances*"):
            to = tests + "/" + path
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copyfile(path, to)
    build(faults)
    said = []
    if lower:
        shutil.copytree(tests + "/build/lib", tests + "/build/lib_exact")       # differs in these floors
        for floor in ("ground", "kernels", "inside"):
            shutil.rmtree(tests + "/build/lib_exact/" + floor)
        said.append(make("lib_exact", "-DTFNORM_EXACT"))
    for one in said:
        if one.returncode:
            sys.exit("FAILED random mutants: " + one.stderr[:3000])
    with open(plan, "wb") as f:
        pickle.dump(faults, f)


def main():
    begin = time.time()
    plan = "%s/faults-%d-%d" % (work, count, seed)
    if not os.environ.get("KEEP") or not os.path.exists(plan):
        build_library(plan)
    if os.environ.get("BUILD"):
        return
    with open(plan, "rb") as f:
        faults = pickle.load(f)
    good = [f for f in faults if f.good]
    print("%d faults, %d more do not compile; library after %.0f s" % (len(good), len(faults) - len(good), time.time() - begin), flush=True)
    copy_tests()
    good = good[:count]
    names = os.environ.get("PROGRAMS", "").split() or \
        [os.path.basename(p)[5:-2] for p in sorted(glob.glob("*/test_*.c"))
         if "tools/" not in p and (os.path.exists(tests + "/build/lib_exact.o") or os.path.basename(p)[5:-2] not in EXACT) and not p.endswith("_header.c")] + ["edges"]
    passes = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        built = list(pool.map(lambda n: compile_program(n, n in OWN + ["edges"]), names))
        print("programs after %.0f s" % (time.time() - begin), flush=True)
        for name, rows, why in pool.map(lambda b: first_run(b[0]) if b[1] else (b[0], None, "it does not compile"), built):
            if rows is None:
                print("left out: random mutants: %s fails without a fault: %s" % (name, why), flush=True)
            else:
                passes[name] = rows
        if not passes:
            sys.exit("FAILED random mutants: no program passes without a fault")
        print("first runs after %.0f s" % (time.time() - begin), flush=True)
        listed = set()
        if os.path.exists("equivalent.txt"):
            listed = {" | ".join(line.rstrip("\n").split(" | ")[:-1]) for line in open("equivalent.txt") if " | " in line and line[0] != "#"}
        known = known_of(os.environ.get("KNOWN"))
        by_kind, by_section = {}, {}
        tiers = os.environ.get("TIERS", "short quick default").split()
        stop = begin + float(os.environ.get("SECONDS", "1e9"))      # later faults are not judged
        left, late = good, 0
        for tier in tiers:
            tasks = [pool.submit(lambda f: judge(f, passes, listed, known, tier) if time.time() < stop else (f, "", ""), f) for f in left]
            left = []
            for done in concurrent.futures.as_completed(tasks):
                f, verdict, by = done.result()
                if not verdict:
                    late += tier != tiers[0]
                    if tier != tiers[0]:
                        print("until %-7s %-10s %d : %s  []" % (tier, f.kind, f.line, f.row()), flush=True)
                    continue
                if verdict == "not noticed" and tier != tiers[-1]:
                    left.append(f)
                    continue
                by_kind.setdefault(f.kind, []).append(verdict)
                by_section.setdefault(f.path.split("/")[0], []).append(verdict)
                print("%-12s %-10s %d : %s  [%s]" % (verdict, f.kind, f.line, f.row(), "by " + by if verdict == "noticed" else by), flush=True)
                if verdict in ("not noticed", "not run"):
                    print("             was: " + " ".join(f.old.split()), flush=True)
            print("tier %s after %.0f s" % (tier, time.time() - begin), flush=True)
    judged = sum(map(len, by_kind.values()))
    if judged < len(good):
        print("%d faults were not judged; %d of these passed a shorter tier" % (len(good) - judged, late))
    table("by kind", by_kind)
    table("by section", by_section)
    print("random mutants of seed %d in %.0f s; programs: %s" % (seed, time.time() - begin, " ".join(sorted(passes))))


main()
