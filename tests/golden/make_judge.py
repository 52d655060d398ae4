# python3 make_judge.py > golden_judge.h       (scipy)
# Student's quantiles, intervals of means, seeds that decide: what tools/normlab/judge.c computes itself.
import math, random
from scipy import optimize, stats

# Its quantiles have nine digits, its probabilities have all.
def quantile(p, n):
    first = float(stats.t.ppf(p, n))
    wrong = lambda t: stats.t.sf(t, n) - (1 - p)
    return float(optimize.brentq(wrong, first * 0.99, first * 1.01, xtol=1e-14, rtol=1e-14))

def seeds_for(sd, distance):
    for n in range(2, 1000):
        if quantile(0.995, n - 1) * sd / math.sqrt(n) < distance: return n
    return 1000

print('/* Made by make_judge.py with scipy. */')
print('static const struct { int n; double within, t; } golden_student[] = {')
for n in [*range(1, 13), 15, 20, 29, 30, 39, 63, 100, 500, 998]:
    print(f'    {{ {n}, 0.99, {quantile(0.995, n)!r} }},')
for n, p in ((1, .5), (2, .8), (3, .9), (7, .95), (10, .999), (30, .68)):
    print(f'    {{ {n}, {p}, {quantile((1 + p) / 2, n)!r} }},')
print('};')
random.seed(1)
print('static const struct { int n; double v[12], mean, sd, low, high; } golden_intervals[] = {')
for n in (2, 3, 5, 8, 12):
    v = [round(random.gauss(1, 0.3), 3) for _ in range(n)]
    mean, sd = sum(v) / n, math.sqrt(sum((x - sum(v) / n)**2 for x in v) / (n - 1))
    half = quantile(0.995, n - 1) * sd / math.sqrt(n)
    print(f'    {{ {n}, {{ {", ".join(map(repr, v))} }}, ')
    print(f'      {mean!r}, {sd!r}, {mean - half!r}, {mean + half!r} }},')
print('};')
print('static const struct { double sd, distance; int n; } golden_seeds[] = {')
for sd, distance in ((1, 100), (1, 10), (1, 2), (1, 1), (1, .5), (0.02, 0.01), (1, .1), (3, .1)):
    print(f'    {{ {sd}, {distance}, {seeds_for(sd, distance)} }},')
print('};')
# the jackknife of a ratio of means, and the slope of log y over log x of the same
v = [[round(random.gauss(m, 0.2), 3) for _ in range(6)] for m in (1, 2)]
def ratio(k):
    kept = [[x for i, x in enumerate(row) if i != k] for row in v]
    return sum(kept[1]) / sum(kept[0])
whole = sum(v[1]) / sum(v[0])
pseudo = [6 * whole - 5 * ratio(k) for k in range(6)]
mean = sum(pseudo) / 6
error = math.sqrt(sum((p - mean)**2 for p in pseudo) / 5 / 6)
print('static const struct { double v[2][6], mean, low, high; } golden_jackknife = {')
print('    { ' + ', '.join('{ ' + ', '.join(map(repr, row)) + ' }' for row in v) + ' },')
half = quantile(0.995, 5) * error
print(f'    {mean!r}, {mean - half!r}, {mean + half!r}')
print('};')
