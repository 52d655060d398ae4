# python3 make_metrics.py > golden_metrics.h
# BLEU, ROUGE, WER and CER of random texts, slowly, from their definitions: Papineni 2002 with the
# tokens of mteval-v13a and the exponential smoothing of Chen & Cherry 2014; Lin 2004; Levenshtein.
import math, random, re
from collections import Counter

def tokens_13a(line):
    line = line.rstrip().replace('<skipped>', '').replace('-\n', '').replace('\n', ' ')
    for name, char in (('&quot;', '"'), ('&amp;', '&'), ('&lt;', '<'), ('&gt;', '>')):
        line = line.replace(name, char)
    line = re.sub(r'([ -&(-+/:-@\[-`{-~])', r' \1 ', ' ' + line + ' ')
    line = re.sub(r'([^0-9])([.,])', r'\1 \2 ', line)
    line = re.sub(r'([.,])([^0-9])', r' \1 \2', line)
    line = re.sub(r'([0-9])(-)', r'\1 \2 ', line)
    return line.split()

def grams(tokens, n):
    return Counter(tuple(tokens[i:i + n]) for i in range(len(tokens) - n + 1))

def bleu(pairs, smooth, effective):
    correct, total, sys_len, ref_len = [0]*4, [0]*4, 0, 0
    for hyp, refs in pairs:
        h, rs = tokens_13a(hyp), [tokens_13a(r) for r in refs]
        sys_len += len(h)
        ref_len += min((abs(len(r) - len(h)), len(r)) for r in rs)[1]
        for n in range(1, 5):
            most = Counter()
            for r in rs: most |= grams(r, n)
            correct[n - 1] += sum((grams(h, n) & most).values())
            total[n - 1] += max(len(h) - n + 1, 0)
    if not any(correct): return 0.0
    p, s, last = [0.0]*4, 1, 0
    for n in range(4):
        c, t = correct[n], total[n]
        if smooth == 2 and n: c, t = c + 1, t + 1
        if t == 0: break
        last = n + 1
        if c: p[n] = 100 * c / t
        elif smooth == 0:
            s *= 2
            p[n] = 100 / (s * t)
        elif smooth == 1: p[n] = 100 * 0.1 / t
    orders = last if effective else 4
    if not all(p[:orders]): return 0.0
    bp = 1 if sys_len >= ref_len else math.exp(1 - ref_len / sys_len)
    return bp * math.exp(sum(math.log(x) for x in p[:orders]) / orders)

def f1(m, a, b):
    p, r = m / max(a, 1), m / max(b, 1)
    return 2*p*r / (p + r) if p + r else 0.0

def lcs(a, b):
    t = [[0]*(len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a)):
        for j in range(len(b)):
            t[i + 1][j + 1] = t[i][j] + 1 if a[i] == b[j] else max(t[i][j + 1], t[i + 1][j])
    return t[-1][-1]

def rouge(hyp, ref):
    h, r = ([w for w in re.split('[^a-z0-9]+', re.sub('[A-Z]', lambda m: m[0].lower(), x)) if w]
            for x in (hyp, ref))
    out = []
    for n in (1, 2):
        a, b = grams(h, n), grams(r, n)
        out.append(f1(sum((a & b).values()), sum(a.values()), sum(b.values())))
    return out + [f1(lcs(h, r), len(h), len(r))]

def edits(a, b):
    t = [list(range(len(b) + 1))] + [[i + 1] + [0]*len(b) for i in range(len(a))]
    for i in range(len(a)):
        for j in range(len(b)):
            t[i + 1][j + 1] = min(t[i][j] + (a[i] != b[j]), t[i][j + 1] + 1, t[i + 1][j] + 1)
    return t[-1][-1]

random.seed(20)
PIECES = ['the', 'cat', 'sat', 'on', 'a', 'mat', 'The', 'U.S.', "it's", '3.14', '1,000', '1990-1995',
          '-5', 'x...y', ',', '.', '...', '"so"', '(50%)', '$5.00/kg', 'na\u00efve', 'Stra\u00dfe',
          '\u65e5\u672c', '\u20ac3', '&amp;', '&quot;', '&lt;b&gt;', '&amp;lt;', '<skipped>', '5-', 'a-',
          '-', '--', '_', '~', '\\', '!', '\u00ab', '7', '12', 'a.1', '1.a', 'e,g.', "'", '.,', ',5,',
          '\U0001f600', 'dog']
SPACES = [' '] * 30 + ['', '', '', '  ', '\t', '\u00a0', '\u2003', '\u3000', '\n', '-\n', '\u2028',
                       '\x1c', '\u0085', '\u1680', '\u205f', '\r\n']

def text(most):
    out = random.choice(['', '', ' ', '\n'])
    for _ in range(random.randint(0, most)):
        out += random.choice(PIECES) + random.choice(SPACES)
    return out

def change(s):
    words = [x for x in re.split('( )', s)]
    for _ in range(random.randint(0, 4)):
        if words: words[random.randrange(len(words))] = random.choice(PIECES + ['', ''])
    return ''.join(words)

def c_string(s):
    return '"' + ''.join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else '\\%03o' % b
                         for b in s.encode()) + '"'

pairs = []
for i in range(120):
    refs = [text(14)]
    while len(refs) < 1 + i % 3: refs.append(change(refs[0]) if i % 2 else text(14))
    pairs.append((change(refs[0]) if i % 5 else text(14), refs))

print('/* Made by make_metrics.py. */')
print('static const struct {\n    const char *hyp, *refs[3];\n    int count, words, word_edits, '
      'characters, character_edits;\n    double bleu[4], effective, rouge[3];\n} golden_metrics[] = {')
for hyp, refs in pairs:
    values = [bleu([(hyp, refs)], s, False) for s in range(4)] + [bleu([(hyp, refs)], 0, True)]
    values += rouge(hyp, refs[0])
    print('    { %s,' % c_string(hyp))
    print('      { %s },' % ',\n        '.join([c_string(r) for r in refs] + ['0']*(3 - len(refs))))
    print('      %d, %d, %d, %d, %d,' % (len(refs), len(refs[0].split()),
                                        edits(hyp.split(), refs[0].split()), len(refs[0]),
                                        edits(hyp, refs[0])))
    print('      { %.12g, %.12g, %.12g, %.12g }, %.12g,\n      { %.12g, %.12g, %.12g } },'
          % tuple(values))
print('};')
print('static const double golden_corpus[4] = { %.12g, %.12g, %.12g, %.12g };'
      % tuple(bleu(pairs, s, False) for s in range(4)))
