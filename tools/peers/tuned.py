#!/usr/bin/env python3
"""Real models: a Llama, a GPT-2 and a BERT, trained in PyTorch on a text, imported by tfn and tuned
by both on another one.

    make -C tools bin/tfn
    /usr/bin/python3 tools/peers/tuned.py [--minutes 3] [--tune-minutes 2] [llama gpt2 bert]

Of each family a small model is trained for some minutes and written as a folder of the hub, which
`tfn import` reads. Then, with the float32 weights of that folder in both programs:
    the loss on all windows of the text's last tenth; PyTorch's in float64, too
    the greedy text of 200 tokens behind each prompt, of BERT the likeliest word at each mask
    LoRA on queries and values: so many updates as tfn makes in some minutes, then the same ones by
    PyTorch in float32 and in float64, from the same A and B and with the same batches; the loss
    before, after, of each update
PyTorch's forwards are those of tests/golden/hub_models.py, its gradients autograd's, its optimizer
torch.optim.AdamW. One thread each. A line whose numbers differ by more than a millionth has a ! at
its end, and the program then ends with 1. Hundreds of updates can make more of a rounding: where
PyTorch's float32 lies farther than that from its float64, tfn may lie as far from the latter.
"""
import argparse
import contextlib
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:0] = [os.path.join(TOP, "tools"), os.path.join(TOP, "tests", "golden")]
sys.dont_write_bytecode = True
import numpy as np
import torch
import tfnorm
import tuned_models
from make_hub import write_json, write_safetensors
from tuned_models import ALPHA, FAMILIES, RANK
from tuned_text import BATCH, CONTEXT, drawn_batch, held_out, write_tokenizer

torch.set_default_dtype(torch.float32)      # hub_models computes its golden values in float64
torch.set_num_threads(1)

TRAIN_RATE, TRAIN_WARMUP = 2e-3, 50
ADAMW = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.01}
SAME = 1e-6                                 # six digits; 65 updates of LoRA parted by 1.5e-7
WRITTEN = 200
PROMPTS = ["ROMEO:", "What say you", "In the beginning God"]


# -- losses, training -----------------------------------------------------------------------------

def torch_loss(model, batches):
    with torch.no_grad():
        losses = torch.cat([model.losses(*batch).double() for batch in batches])
    return losses.mean().item()


@contextlib.contextmanager
def new_tensors_of(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    yield
    torch.set_default_dtype(before)


def torch_loss_in_double(model, batches):
    with new_tensors_of(torch.float64):
        return torch_loss(model.copy(torch.float64), batches)


def tfn_loss(model, batches):
    reports = [model.eval(*batch) for batch in batches]
    return sum(r.loss * r.tokens for r in reports) / sum(r.tokens for r in reports)


def train(name, model, ids, seconds):
    """For so many seconds; the rate falls to 0 with them. Returns the count of updates."""
    optimizer = torch.optim.AdamW(model.tensors.values(), betas=(0.9, 0.98), weight_decay=0.01)
    start, steps = time.monotonic(), 0
    while time.monotonic() - start < seconds:
        part = min(1.0, (time.monotonic() - start) / seconds)
        rate = TRAIN_RATE * min(1, (steps + 1) / TRAIN_WARMUP)
        optimizer.param_groups[0]["lr"] = rate * (1 + math.cos(math.pi * part)) / 2
        torch_step(model, optimizer, drawn_batch(name, ids, steps))
        steps += 1
    return steps


def torch_step(model, optimizer, batch):
    """An update; the loss before it, whose mean is not rounded to float32."""
    losses = model.losses(*batch)
    optimizer.zero_grad()
    losses.mean().backward()
    optimizer.step()
    return losses.detach().double().mean().item()


def start_tuning(path):
    """The imported model with LoRA, and with PyTorch's AdamW."""
    return tfnorm.Model.start(
        path, groups=["*.self.[qv].weight rank=%d alpha=%d" % (RANK, ALPHA)], batch=BATCH,
        threads=1, schedule_lr=ADAMW["lr"], beta1=ADAMW["betas"][0], beta2=ADAMW["betas"][1],
        eps=ADAMW["eps"], eps_inside=True, decay=ADAMW["weight_decay"])


# -- folders, texts -------------------------------------------------------------------------------

def imported(tfn, folder, name, model):
    """Writes the folder's weights and configuration, and has tfn import it: the checkpoint."""
    path = folder + ".safetensors"
    tensors = {n: ("F32", x) for n, x in model.tensors.items()}
    write_safetensors(os.path.join(folder, "model.safetensors"), tensors)
    write_json(os.path.join(folder, "config.json"), model.config)
    subprocess.run([tfn, "import", folder, "--out", path, "--force"], check=True,
                   stdout=subprocess.DEVNULL)
    return path


def default_text():
    """The New Testament of Debian's package bible-kjv, without the numbers of verses."""
    if not shutil.which("bible"):
        sys.exit("tuned.py: no text to tune on: --tune-on FILE, or apt-get install bible-kjv")
    said = subprocess.run(["bible", "-f", "Matt1:1-Rev22:21"], capture_output=True, text=True)
    return re.sub(r"(?m)^\S+ ", "", said.stdout)


def read_text(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


def encoded(tokenizer, text):
    """Ids of the first nine tenths, and of the rest."""
    cut = len(text) * 9 // 10
    return [tokenizer.encode(part).astype(np.int64) for part in (text[:cut], text[cut:])]


# -- what the models write ------------------------------------------------------------------------

def torch_greedy(model, ids):
    for _ in range(WRITTEN):
        with torch.no_grad():
            ids = ids + [model.logits(torch.tensor(ids))[-1].argmax().item()]
    return ids


def compare_greedy(model, other, path, tfn):
    """Texts behind the prompts, by PyTorch, by the library, and by `tfn generate`."""
    tokenizer = tfnorm.Tokenizer(path)
    said = subprocess.run([tfn, "generate", path, "--lines", "--max-tokens", str(WRITTEN)],
                          input="\n".join(PROMPTS), capture_output=True, check=True,
                          encoding="utf-8", errors="replace")
    prompts = [tokenizer.encode(prompt).tolist() for prompt in PROMPTS]
    for prompt, ours, line in zip(prompts, other.generate(prompts, max_tokens=WRITTEN),
                                  said.stdout.split("\n")):
        theirs = torch_greedy(model, prompt)
        ours = prompt + ours.tolist()
        text = tokenizer.decode(theirs).replace("\\", "\\\\").replace("\n", "\\n")
        same = [a == b for a, b in zip(theirs, ours)] + [False]
        print("  greedy: %d of %d ids equal, tfn generate's text %s: %s" % (
            same.index(False) - len(prompt), WRITTEN, "too" if line == text else "not", text[:60]))
        if same.index(False) < len(theirs):
            say_parting(model, other, theirs, ours, same.index(False))


def say_parting(model, other, theirs, ours, at):
    """The logits of the two tokens that were chosen there."""
    with torch.no_grad():
        a = model.logits(torch.tensor(theirs[:at]))[-1].numpy()
    b = other.logits([theirs[:at]])[0, -1]
    print("    there PyTorch's token leads by %.3g in PyTorch, by %.3g in tfn" % tuple(
        z[theirs[at]] - z[ours[at]] for z in (a, b)))


def compare_words(model, other, batches):
    """The likeliest word at each mask; where they differ, by how much."""
    equal = places = 0
    for tokens, targets in batches:
        with torch.no_grad():
            a = model.forward(tokens).numpy()[targets >= 0]
        b = other.logits(tokens)[targets >= 0]
        first, second = a.argmax(1), b.argmax(1)
        for i in np.flatnonzero(first != second):
            print("    words %d and %d differ by %.3g in PyTorch, by %.3g in tfn" % (
                first[i], second[i], *(z[i, first[i]] - z[i, second[i]] for z in (a, b))))
        equal, places = equal + (first == second).sum(), places + len(first)
    print("  likeliest word: the same at %d of %d places" % (equal, places))


# -- the comparison -------------------------------------------------------------------------------

def row(label, theirs, ours, allowed=0):
    """A line of the table; whether the numbers agree."""
    apart = abs(ours - theirs)
    good = apart <= max(SAME * abs(theirs), allowed)
    print("  %-34s %13.9f %13.9f %9.1e%s" % (label, theirs, ours, apart, "" if good else "  !"))
    return good


class Tuning(NamedTuple):
    before: float               # losses on the windows held out
    after: float
    losses: np.ndarray          # of the updates
    seconds: float              # of all of them


def tfn_tuning(name, model, ids, windows, seconds):
    """As many updates as so many seconds take."""
    losses, before, start = [], tfn_loss(model, windows), time.monotonic()
    while time.monotonic() - start < seconds:
        losses.append(model.step(*drawn_batch(name, ids, len(losses))).loss)
    spent = time.monotonic() - start
    return Tuning(before, tfn_loss(model, windows), np.array(losses), spent)


def torch_tuning(name, dtype, base, values, ids, windows, count):
    with new_tensors_of(dtype):
        model = tuned_models.tuned(base, FAMILIES[name], values, dtype)
        optimizer = torch.optim.AdamW([x for pair in model.learned.values() for x in pair], **ADAMW)
        before, start = torch_loss(model, windows), time.monotonic()
        losses = [torch_step(model, optimizer, drawn_batch(name, ids, i)) for i in range(count)]
        spent = time.monotonic() - start
        return Tuning(before, torch_loss(model, windows), np.array(losses), spent)


def compare_tuning(name, base, path, text, seconds):
    ids, rest = encoded(tfnorm.Tokenizer(path), text)
    windows = held_out(name, rest)
    tuned = start_tuning(path)
    values = {n: tuned.parameters()[n].copy() for n in tuned.gradients()}
    ours = tfn_tuning(name, tuned, ids, windows, seconds)
    count = len(ours.losses)
    theirs, exact = [torch_tuning(name, dtype, base, values, ids, windows, count)
                     for dtype in (torch.float32, torch.float64)]
    doubt = abs(theirs.after - exact.after)
    good = row("other text, before tuning", theirs.before, ours.before)
    good &= row("after %d updates" % count, theirs.after, ours.after, 2 * doubt)
    good &= row("the same, PyTorch in float64", exact.after, ours.after, doubt)
    worst = np.abs(exact.losses - ours.losses).argmax()
    good &= row("update %d, farthest from that" % (worst + 1), exact.losses[worst],
                ours.losses[worst], np.abs(theirs.losses - exact.losses).max())
    print("  %-34s %13.1f %13.1f" % ("seconds of the updates", theirs.seconds, ours.seconds))
    return good


def compare(name, o, text, other_text, place):
    family, folder = FAMILIES[name], os.path.join(place, name)
    os.mkdir(folder)
    torch.manual_seed(1)
    model = family.model(family.config)
    with torch.no_grad():
        model.logits(torch.tensor([0]))                         # draws the weights
    cut = len(text) * 9 // 10
    known = write_tokenizer(name, folder, text[:cut])
    tokenizer = tfnorm.Tokenizer(imported(o.tfn, folder, name, model))
    ids, rest = encoded(tokenizer, text)
    assert known is None or known == ids.tolist(), "tokens of tfn are not those of the script"
    steps = train(name, model, ids, 60 * o.minutes)
    path = imported(o.tfn, folder, name, model)
    other = tfnorm.Model.load(path, inference=True, batch=BATCH, threads=1)
    print("%s: %d parameters, %d updates of %d tokens, then imported\n  %-34s %13s %13s %9s" % (
        name, sum(x.numel() for x in model.tensors.values()), steps, BATCH * CONTEXT,
        "mean loss, nats a token", "PyTorch", "tfn", "differ by"))
    windows = held_out(name, rest)
    loss = tfn_loss(other, windows)
    good = row("held out", torch_loss(model, windows), loss)
    exact = torch_loss_in_double(model, windows)
    good &= row("the same, PyTorch in float64", exact, loss)
    if name == "bert":
        compare_words(model, other, windows)
    else:
        compare_greedy(model, other, path, o.tfn)
    return compare_tuning(name, model, path, other_text, 60 * o.tune_minutes) and good


def processor():
    with open("/proc/cpuinfo") as f:
        names = [line.split(": ")[1].strip() for line in f if line.startswith("model name")]
    return names[0] if names else "unknown processor"


def main():
    parser = argparse.ArgumentParser(description="PyTorch's models, imported and tuned by tfn")
    parser.add_argument("families", nargs="*", default=list(FAMILIES), metavar="FAMILY")
    parser.add_argument("--minutes", type=float, default=3, help="of training in PyTorch (3)")
    parser.add_argument("--tune-minutes", type=float, default=2, help="of tuning by tfn (2)")
    parser.add_argument("--text", default=os.path.join(TOP, "../shared/data/tinyshakespeare.txt"))
    parser.add_argument("--tune-on", help="a text; else the New Testament of bible-kjv")
    parser.add_argument("--tfn", default=os.path.join(TOP, "tools", "bin", "tfn"))
    o = parser.parse_args()
    if not os.path.exists(o.tfn):
        sys.exit("tuned.py: no program %s: make -C tools bin/tfn, or --tfn PATH" % o.tfn)
    sys.stdout.reconfigure(line_buffering=True)
    print("%s\n%s, %s, PyTorch %s, tfnorm %s, bits %s" % (
        " ".join(sys.argv), processor(), time.strftime("%d %B %Y"), torch.__version__,
        tfnorm.version(), tfnorm.bits()))
    text = read_text(o.text)
    other_text = read_text(o.tune_on) if o.tune_on else default_text()
    with tempfile.TemporaryDirectory() as place:
        good = [compare(name, o, text, other_text, place) for name in o.families]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
