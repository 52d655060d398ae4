#!/usr/bin/env python3
"""Golden values of the learning rate schedules: python3 make_schedules.py writes golden_schedules.h.

Ours counts updates from 1. After the warm-up (Xiong 2020, eq. 1) what ends at update S goes down in S - W + 1
equal steps, the last of which would be update S + 1. fairseq sets the rate after an update: its classes have
step_update(number of updates done), which here is called as its trainer does, once before the first.
"""
import math
import os
from fractions import Fraction

LR, WIDTH, COUNT = Fraction(3, 1024), 48, 44          # exact in float; COUNT updates of each


def ours(s):
    """The rates of updates 1, 2, ... by going through them, in exact fractions as long as there is no root."""
    warmup, end, kind = s["warmup"], s["steps"], s["kind"]
    rise = (LR - s["lr_init"]) / warmup if warmup else None
    decay = s["decay_steps"] or max(end // 10, 1)
    decay = min(decay, end - warmup)
    first = end - decay if kind == "WARMUP_STABLE_DECAY" else warmup          # the last update at the peak
    share = Fraction(1)                                                       # what is left of 1
    for update in range(1, COUNT + 1):
        if update > first and end:
            share = max(share - Fraction(1, end - first + 1), 0)
        if kind == "NOAM":                                                    # Vaswani 2017, eq. 3
            rate = LR * WIDTH**-0.5 * min(update**-0.5, update * max(warmup, 1)**-1.5)
        elif update <= warmup:
            rate = s["lr_init"] + rise * update
        elif kind in ("CONSTANT", "STEP"):
            rate = LR
        elif kind in ("LINEAR", "WARMUP_STABLE_DECAY"):
            rate = s["lr_min"] + (LR - s["lr_min"]) * share
        elif kind == "POLYNOMIAL":
            rate = s["lr_min"] + (LR - s["lr_min"]) * float(share)**s["power"]
        elif kind == "COSINE":
            rate = s["lr_min"] + (LR - s["lr_min"]) * (1 + math.cos(math.pi * float(1 - share))) / 2
        elif kind == "INVERSE_SQRT":
            anchor = s["anchor"] or warmup or 1
            rate = LR if update <= anchor else float(LR) * math.sqrt(anchor) / math.sqrt(update)
        elif kind == "T_FIXUP":
            anchor = s["anchor"] or 4000
            rate = float(LR) * math.sqrt(anchor) / math.sqrt(anchor + update - warmup)
        yield rate


class Fairseq:
    """lr after `done` updates, as the classes of fairseq.optim.lr_scheduler have it."""

    def __init__(self, s):
        self.s, self.w, self.end = s, s["warmup"], s["steps"]

    def step_update(self, done):
        s, w = self.s, self.w
        if s["kind"] == "POLYNOMIAL" or s["kind"] == "LINEAR":             # polynomial_decay
            if w > 0 and done <= w:
                return s["lr_init"] + (LR - s["lr_init"]) * Fraction(done, w)
            if done >= self.end:
                return s["lr_min"]
            remaining = 1 - Fraction(done - w, self.end - w)
            return (LR - s["lr_min"]) * float(remaining)**s["power"] + s["lr_min"]
        if done < w:
            return s["lr_init"] + done * (LR - s["lr_init"]) / w
        if s["kind"] == "COSINE":                                             # cosine, one period
            done = min(done, self.end)
            part = Fraction(done - w, self.end - w)
            return s["lr_min"] + 0.5 * (LR - s["lr_min"]) * (1 + math.cos(math.pi * part))
        if s["kind"] == "INVERSE_SQRT":                                       # inverse_sqrt
            anchor = max(w, 1)
            return float(LR) * anchor**0.5 * max(done, anchor)**-0.5
        if s["kind"] == "T_FIXUP":                                            # T-Fixup's fork
            return float(LR) * (4000 / (4000 + done))**0.5
        return LR                                                             # fixed


def fairseq(s):
    schedule = Fairseq(s)
    for done in range(COUNT):                          # the next update uses what was set last
        yield schedule.step_update(done)


def cases():
    base = dict(lr_init=Fraction(0), lr_min=Fraction(0), power=1, warmup=0, steps=0, anchor=0, step_at=0,
                step_factor=Fraction(0), decay_steps=0, fairseq=0)
    ends = ("LINEAR", "COSINE", "POLYNOMIAL", "WARMUP_STABLE_DECAY")
    for kind in ("CONSTANT", "INVERSE_SQRT", "NOAM", "LINEAR", "STEP", "COSINE", "WARMUP_STABLE_DECAY", "T_FIXUP",
                 "POLYNOMIAL"):
        for warmup in (0, 7):
            s = dict(base, kind=kind, warmup=warmup)
            if kind in ends:
                s["steps"] = 41
            if kind == "POLYNOMIAL":
                s["power"] = 2.5
            if kind == "STEP":
                s["step_at"] = 11
            yield s
            if warmup:
                yield dict(s, lr_init=Fraction(1, 8192), lr_min=Fraction(1, 16384), step_at=13,
                           step_factor=Fraction(1, 4))
            if kind in ("INVERSE_SQRT", "T_FIXUP"):
                yield dict(s, anchor=19)
            if kind == "WARMUP_STABLE_DECAY":
                yield dict(s, decay_steps=15)
                yield dict(s, decay_steps=39)
            elif kind != "NOAM" and not (kind == "T_FIXUP" and warmup):
                yield dict(s, fairseq=1, lr_init=Fraction(1, 65536))
    yield dict(base, kind="POLYNOMIAL", steps=41, warmup=7, power=1)


def rates(s):
    for update, rate in enumerate((fairseq if s["fairseq"] else ours)(s), 1):
        late = s["step_at"] and update > s["step_at"]                         # after step_at updates
        yield float(rate) * (float(s["step_factor"] or Fraction(1, 10)) if late else 1)


FIELDS = ("lr_init", "lr_min", "power", "warmup", "steps", "anchor", "step_at", "step_factor", "decay_steps",
          "fairseq")
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden_schedules.h"), "w", newline="\n") as f:
    f.write("/* Made by make_schedules.py: lr 3/1024, width %d. */\n" % WIDTH)
    f.write("typedef struct golden_schedule {\n    tfn_schedule_kind kind;\n    double lr_init, lr_min, power;\n"
            "    int warmup, steps, anchor, step_at;\n    double step_factor;\n    int decay_steps, fairseq;\n"
            "    double rate[%d];                   /* of updates 1, 2, ... */\n} golden_schedule;\n" % COUNT)
    f.write("static const golden_schedule golden_schedules[] = {\n")
    for s in cases():
        f.write("    { TFN_%s, %s,\n" % (s["kind"], ", ".join("%.9g" % float(s[name]) for name in FIELDS)))
        line = "      {"
        for rate in rates(s):
            text = " %.9g," % rate
            if len(line) + len(text) > 99:
                f.write(line + "\n")
                line = "       "
            line += text
        f.write(line.rstrip(",") + " } },\n")
    f.write("};\n")
