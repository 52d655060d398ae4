#!/usr/bin/env python3
"""Fit the polynomials of tfnorm.h's vector functions (section vmath) and print their coefficients.

Usage: python3 tools/fit.py

Remez's exchange in 40 digits for the smallest largest relative error of the function, on the
variable that the header uses. Coefficients are rounded to float one by one, from the lowest power,
and the others are fitted again around those already rounded. Needs Python 3 alone.
"""
import struct
from decimal import Decimal as D, getcontext

getcontext().prec = 40
PI = D("3.141592653589793238462643383279502884197")


def to_float(x):
    return D(struct.unpack("f", struct.pack("f", float(x)))[0])


def erf(x):
    """Maclaurin's series; 40 digits leave more than 25 up to x = 4."""
    term, total, k = x, x, 0
    while abs(term) > D(10) ** -38:
        k += 1
        term = -term * x * x / k
        total += term / (2 * k + 1)
    return 2 * total / PI.sqrt()


def tanh(x):
    e = (2 * x).exp()
    return (e - 1) / (e + 1)


def solve(a, b):
    """Gauss with pivots."""
    n = len(b)
    for i in range(n):
        p = max(range(i, n), key=lambda r: abs(a[r][i]))
        a[i], a[p], b[i], b[p] = a[p], a[i], b[p], b[i]
        for r in range(i + 1, n):
            f = a[r][i] / a[i][i]
            a[r] = [u - f * v for u, v in zip(a[r], a[i])]
            b[r] -= f * b[i]
    for i in reversed(range(n)):
        b[i] = (b[i] - sum(a[i][j] * b[j] for j in range(i + 1, n))) / a[i][i]
    return b


def remez(points, powers):
    """points: (x, target, weight); the c that minimize max |weight (sum c x^power - target)|."""
    n = len(powers)
    pick = [round(i * (len(points) - 1) / n) for i in range(n + 1)]
    for _ in range(40):
        rows = [[x ** k for k in powers] + [D((-1) ** i) / w]
                for i, (x, _, w) in enumerate(points[p] for p in pick)]
        c = solve(rows, [points[p][1] for p in pick])[:n]
        error = [w * (sum(a * x ** k for a, k in zip(c, powers)) - t) for x, t, w in points]
        # the largest error of each run of one sign
        runs = []
        for i, e in enumerate(error):
            if runs and (error[runs[-1]] > 0) == (e > 0):
                if abs(e) > abs(error[runs[-1]]):
                    runs[-1] = i
            else:
                runs.append(i)
        while len(runs) > n + 1:
            runs.pop(0 if abs(error[runs[0]]) < abs(error[runs[-1]]) else -1)
        if len(runs) < n + 1 or runs == pick:
            break
        pick = runs
    return c, max(map(abs, error))


def fit(name, function, low, high, powers, weight, count=400):
    """weight(x, f): what makes of an error of the polynomial one of the result, relative."""
    xs = [(low + high) / 2 - (high - low) / 2 * cosine(D(i) / count) for i in range(count + 1)]
    points = []
    for x in xs:
        t = function(x)
        points.append((x, t, weight(x, t)))
    fixed = []
    while len(fixed) < len(powers):
        left = [(x, t - sum(c * x ** k for c, k in zip(fixed, powers)), w) for x, t, w in points]
        c, error = remez(left, powers[len(fixed):])
        if not fixed:
            best = error
        fixed.append(to_float(c[0]))
    worst = max(abs(w * (sum(c * x ** k for c, k in zip(fixed, powers)) - t)) for x, t, w in points)
    print(f"{name}: relative error 2^{log2(best):.1f}, with float coefficients 2^{log2(worst):.1f}")
    print("   ", ", ".join(f"{float(c):.9g}" for c in fixed))


def log2(x):
    return float(x.ln() / D(2).ln())


def cosine(turn):
    """cos(pi turn), for Chebyshev's points."""
    x, term, total, k = PI * turn, D(1), D(1), 0
    while abs(term) > D(10) ** -30:
        k += 2
        term = -term * x * x / (k * (k - 1))
        total += term
    return total


if __name__ == "__main__":
    half_ln2 = D(2).ln() / 2 * D("1.001")
    tiny = D("1e-6")

    # exp(r) = 1 + r + r^2 q(r)
    fit("exp", lambda r: (r.exp() - 1 - r) / r ** 2, -half_ln2, half_ln2 + tiny, range(5),
        lambda r, q: r ** 2 / r.exp())

    # tanh(x) = x + x s q(s), s = x^2, below the threshold; 1 - 2/(exp(2x) + 1) above
    def tanh_q(s):
        x = s.sqrt()
        return (tanh(x) - x) / (x * s)
    fit("tanh below 0.625", tanh_q, tiny, D("0.625") ** 2, range(5),
        lambda s, q: s.sqrt() * s / tanh(s.sqrt()))

    # erf(x) = x + x q(s), s = x^2, below 1
    def erf_q(s):
        x = s.sqrt()
        return erf(x) / x - 1
    fit("erf below 1", erf_q, tiny, D(1), range(7), lambda s, q: s.sqrt() / erf(s.sqrt()))

    # erf(x) = 1 - exp(-x + x q(x)) from 1 on, until 4 where erf is 1 in float
    fit("erf from 1", lambda x: ((1 - erf(x)).ln() + x) / x, D(1), D(4), range(6),
        lambda x, q: x * (1 - erf(x)) / erf(x))
