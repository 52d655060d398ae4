"""python.py NAME TWIN: one test of tools/tfnorm.py, see python.sh. The twin is a C program that
does the same training and prints the results."""
import gc
import json
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import numpy as np
import tfnorm

V, T, B = 27, 12, 5
OPTIONS = dict(vocab=V, context=T, batch=B, width=24, heads=3, layers=2, recipe="b2t", dropout=0.1,
               schedule_kind="inverse-sqrt", schedule_lr=3e-3, schedule={"warmup": 4}, clip=1,
               activation="swiglu", untied=True, seed=7, threads=1)


def batch(step):
    """Tokens and targets of a step, as in the twin; the last sentence is shorter."""
    i = np.arange(B * T)
    tokens = ((i * i * 7 + step * 13 + i // T) % V).reshape(B, T)
    targets = ((i * 5 + step) % V).reshape(B, T)
    lengths = np.full(B, T)
    lengths[-1] = 4
    return {"tokens": tokens, "targets": targets, "lengths": lengths}


def refused(wanted, call, *arguments, kind=tfnorm.Error, **named):
    try:
        call(*arguments, **named)
    except kind as error:
        assert wanted in str(error), '"%s" lacks "%s"' % (error, wanted)
        return error
    raise AssertionError('no error "%s"' % wanted)


def bits():
    """The same training has the bits of C, also with two threads."""
    said = subprocess.run([sys.argv[2], "train"], capture_output=True, text=True, check=True)
    model = tfnorm.Model(**OPTIONS)
    for step in range(20):
        report = model.step(**batch(step))
    found = "%.17g %.9g %016x" % (report.loss, report.grad_norm, model.hash())
    assert found == said.stdout.strip(), "%s, in C %s" % (found, said.stdout)
    assert report.step == model.step_count == 20 and report.updated and not report.skipped
    assert len(model.losses) == 20 and model.losses[-1] == report.loss
    assert "loss=%r" % report.loss in repr(report)
    threads = tfnorm.Model(**dict(OPTIONS, threads=2))
    for step in range(20):
        threads.step(**batch(step))
    assert threads.hash() == model.hash()


def options():
    model = tfnorm.Model(**OPTIONS)
    assert model.options["topology"] == "b2t" and model.options["ffn"] == 96
    assert model.option("schedule.lr") == 3e-3 and model.option("untied") is True
    assert model.option("beta2") == 0.98 and model.option("optimizer") == "adamw"
    assert tfnorm.Model(vocab=40, context=8, width=16, heads=2,
                        cutoffs=(10, 20)).option("cutoffs[1]") == 20
    assert tfnorm.Model(vocab=4, context=8, seed=2**64 - 1).option("seed") == -1
    assert set(OPTIONS) - {"schedule"} <= {n.replace(".", "_") for n in tfnorm.option_names()}


def views():
    """Writing to a view changes the model; a view keeps it alive."""
    model = tfnorm.Model(**OPTIONS)
    before = model.hash()
    weights = model.parameters()
    assert weights["decoder.0.self.q.weight"].shape == (24, 24)
    for name, w in weights.items():         # parts of one vector, with gaps that align them
        first = (w.ctypes.data - model.flat().ctypes.data) // 4
        assert (model.flat()[first:first + w.size] == w.ravel()).all(), name
    was = model.logits(batch(0)["tokens"]).copy()
    old = weights["decoder.0.self.q.weight"][3, 5]
    weights["decoder.0.self.q.weight"][3, 5] += 1
    assert model.hash() != before
    assert (model.logits(batch(0)["tokens"]) != was).any()
    weights["decoder.0.self.q.weight"][3, 5] = old
    assert model.hash() == before
    flat = model.flat()
    kept = flat.copy()
    model.step(**batch(0))
    assert (flat != kept).any()
    flat[:] = kept
    assert (model.logits(batch(0)["tokens"]) == was).all()
    gradients = model.gradients()
    assert gradients.keys() == weights.keys()
    squares = sum(float((g.astype(float)**2).sum()) for g in gradients.values())
    assert np.isclose(squares, (model.flat_gradients().astype(float)**2).sum()) and squares > 0
    del model, weights, gradients
    gc.collect()
    assert (flat == kept).all()
    flat[:] = 0


def errors():
    make = tfnorm.Model
    assert refused("no option is called widht; did you mean width?", make, widht=8).status
    assert refused("layers is -1; it must be at least 1", make, layers=-1).reason == \
        "an option has no legal value"
    refused("recipe is pre-ln, which is not known here; did you mean pre?", make, recipe="pre-ln")
    refused("width is 8.5; a whole number", make, width=8.5)
    refused("dropout is nan; a number is expected", make, dropout=float("nan"))
    refused("vocab is 0; it must be at least 1", make, context=8)
    refused("width is 64; it must be a multiple of heads, 3", make, vocab=8, context=8, heads=3)
    model = make(**OPTIONS)
    before = model.hash()
    b = batch(0)
    refused("token", model.step, b["tokens"] + V, b["targets"])
    refused("", model.step, np.zeros((B + 1, T), int), np.zeros((B + 1, T), int))
    refused("shape", model.step, b["tokens"], b["targets"][:, 1:], kind=ValueError)
    refused("32 bits", model.step, b["tokens"] + 2**32, b["targets"], kind=ValueError)
    refused("whole", model.step, b["tokens"] * 0.5, b["targets"], kind=TypeError)
    assert model.update().skipped                   # without any gradient
    assert model.hash() == before
    model.step(**b)
    refused("none/such.safetensors", tfnorm.Model.load, "none/such.safetensors")
    refused("none/such.safetensors", tfnorm.Model.start, "none/such.safetensors", batch=2)
    refused("none", model.save, "none/such.safetensors")
    refused("no member lose", lambda: tfnorm.Struct("tfn_report").lose, kind=AttributeError)
    refused("no gradients", make(inference=True, **OPTIONS).flat_gradients)
    refused("temperature is -1", model.generate, [[1]], temperature=-1)


def parts():
    """gradient and update equal a step; users may act in between."""
    a, b, c = (tfnorm.Model(**OPTIONS) for _ in range(3))
    for step in range(5):
        whole = a.step(**batch(step))
        sums = b.gradient(**batch(step))
        assert sums.loss / sums.targets == whole.loss
        report = b.update(sums, rate=b.rate)
        assert (report.loss, report.lr) == (whole.loss, whole.lr) and a.hash() == b.hash()
        c.gradient(**batch(step))
        c.gradient(shard=1, add=True, **batch(step + 1))
        c.flat_gradients()[:] *= 0.5
        c.gradients()["embedding.weight"][:] = 0
        c.update()
    assert c.step_count == 5 and c.hash() != a.hash()
    d = tfnorm.Model(**OPTIONS)             # a user's rule, in numpy
    before = d.eval(**batch(0)).loss
    for step in range(20):
        sums = d.gradient(**batch(0))
        d.flat()[:] -= np.float32(0.5 / sums.targets) * d.flat_gradients()
    assert d.step_count == 0 and d.eval(**batch(0)).loss < 0.9 * before


def files():
    """A resumed run equals an uninterrupted one; the twin's file is read with its tokenizer."""
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "m.safetensors")
        model = tfnorm.Model(**OPTIONS)
        for step in range(6):
            model.step(**batch(step))
            if step == 2:
                model.save(path, extra="line 3")
        other = tfnorm.Model.load(path)
        assert other.step_count == 3
        for step in range(3, 6):
            other.step(**batch(step))
        assert other.hash() == model.hash()
        reader = tfnorm.Model.load(path, inference=True, batch=1)
        assert reader.memory("moments") == 0 and reader.logits([[1, 2]]).shape == (1, 2, V)
        other.load_weights(path)
        assert other.hash() == reader.hash() and other.step_count == 0
        refused("has no tokenizer", tfnorm.Tokenizer, path)
        subprocess.run([sys.argv[2], "save", path], check=True)
        tokenizer = tfnorm.Tokenizer(path)
        ids = tokenizer.encode("bytes, \u00e4")
        assert tokenizer.decode(ids) == "bytes, \u00e4" and len(ids) == 9
        model.save(path, tokenizer=tokenizer, weights_only=True)
        assert (tfnorm.Tokenizer(path).encode("bytes") == ids[:5]).all()


def tokenizers():
    """All ids of a text, even if they are more than its bytes: spaces become U+2581, which this
    vocabulary has as three bytes."""
    tokens = ["<unk>"] + ["<0x%02X>" % b for b in range(256)] + ["b", "c", "bc"]
    vocab = {token: i for i, token in enumerate(tokens)}
    text = json.dumps({
        "added_tokens": [], "pre_tokenizer": None, "post_processor": None,
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
            {"type": "ByteFallback"}, {"type": "Fuse"}]},
        "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True,
                  "vocab": vocab, "merges": ["b c"]}}).encode()
    tokenizer = tfnorm.Tokenizer.of(json=text)
    space = [1 + b for b in "\u2581".encode()]
    assert tokenizer.encode("bc").tolist() == [259]
    assert tokenizer.encode("    bc").tolist() == 4 * space + [259]
    refused("the vocabulary is wrong", tfnorm.Tokenizer.of, json="{}")


def generation():
    """Greedy text is the argmax of the logits, and so is the decoder's; drawn texts depend on the seed."""
    model = tfnorm.Model(**OPTIONS)
    for step in range(30):
        model.step(**batch(step % 3))
    prompts = [[1, 2, 3], [4]]
    found = model.generate(prompts, max_tokens=6)
    for prompt, text in zip(prompts, found):
        decoder = model.decoder(chunk=4)
        decoder.start()
        logits = decoder.next(prompt)
        for k, token in enumerate(text):
            last = model.logits([prompt + list(text[:k])])[0, -1]
            assert (last == logits[0]).all() and np.argmax(last) == token
            logits = decoder.next([token])
        assert len(text) == 6
    drawn = [model.generate(prompts, max_tokens=6, temperature=2, seed=s)[0] for s in (1, 1, 2)]
    assert (drawn[0] == drawn[1]).all() and (drawn[0] != drawn[2]).any()
    beams = model.generate(prompts, max_tokens=4, beam=3, end=0, scores=True)
    assert len(beams) == 2 and beams[0][0][0] >= beams[0][1][0]


def reading():
    """Hidden states, attention weights and pooled vectors have the right shapes and sums."""
    model = tfnorm.Model(**OPTIONS)
    tokens = batch(0)["tokens"]
    last = model.hidden(tokens).copy()
    assert last.shape == (B, T, 24)
    logits = model.logits(tokens).copy()
    made = last @ model.parameters()["output.weight"]       # untied, its bias is 0
    assert np.abs(made - logits).max() < 1e-4
    assert (model.hidden(tokens, layers=2) == last).all()   # a Post-LN stack
    assert (model.hidden(tokens, layers=0) != last).any()
    every = model.hidden_all(tokens)
    assert every.shape == (4, B, T, 24) and (every[2] == last).all() and (every[3] == last).all()
    assert (every[0] == model.hidden(tokens, layers=0)).all()
    weights = model.attention(tokens, layer=1)
    assert weights.shape == (B, 3, T, T) and np.abs(weights.sum(axis=3) - 1).max() < 1e-5
    assert (weights[:, :, 0, 1:] == 0).all()                # causal
    mean = model.pool(tokens)
    assert np.abs(mean - last.mean(axis=1)).max() < 1e-5
    assert (model.pool(tokens, how="last") == last[:, -1]).all()
    refused("layer", model.attention, tokens, layer=9)
    pair = tfnorm.Model(vocab=9, context=6, batch=2, arch="encoder-decoder", width=16, heads=2,
                        threads=1)
    source = np.arange(10).reshape(2, 5) % 9
    target = np.arange(8).reshape(2, 4)
    assert pair.hidden(target, stack="encoder", source=source).shape == (2, 5, 16)
    assert pair.hidden_all(target, source=source).shape == (4, 2, 4, 16)
    cross = pair.attention(target, layer=0, kind="cross", source=source)
    assert cross.shape == (2, 2, 4, 5) and np.abs(cross.sum(axis=3) - 1).max() < 1e-5


def probes():
    """Values and gradients at the points of sub-layers; an exception in a probe is raised again."""
    model = tfnorm.Model(probes=True, **OPTIONS)
    plain = tfnorm.Model(**OPTIONS)
    seen = []
    model.watch(lambda point, values: seen.append((point, values.copy())))
    model.step(**batch(0))
    plain.step(**batch(0))
    assert model.hash() == plain.hash()
    for backward in (False, True):
        points = {(p.point, p.layer, p.kind) for p, _ in seen if p.backward == backward}
        assert ("output", 1, "ffn") in points and ("input", 0, "self") in points
        assert "embedding" in {p[0] for p in points}
    assert all(p.stack == "decoder" and v.shape == (B * T, 24) for p, v in seen)
    del seen[:]
    stack = model.hidden(batch(0)["tokens"]).reshape(B * T, 24).copy()
    model.logits(batch(0)["tokens"])
    assert (seen[-1][1] == stack).all() and seen[-1][0].point == "stack"
    assert not any(p.backward for p, _ in seen)
    model.watch(lambda point, values: seen.nothing)
    refused("nothing", model.logits, batch(0)["tokens"], kind=AttributeError)
    del seen[:]
    model.watch(None)
    model.step(**batch(1))
    assert not seen
    refused("probes", plain.watch, print)
    decoder = model.decoder(B)
    decoder.watch(lambda point, values: seen.append((point, values.copy())))
    decoder.next(batch(1)["tokens"][:, :1])
    assert seen[-1][0].point == "stack" and seen[-1][1].shape == (B, 24)
    decoder.watch(lambda point, values: seen.nothing)
    refused("nothing", decoder.next, batch(1)["tokens"][:, :1], kind=AttributeError)
    refused("probes", plain.decoder().watch, print)


def losses():
    """A user's loss. Cross-entropy in numpy trains like the library's; a row whose target is
    below 0, or padding, does not count."""
    def cross_entropy(logits, targets):
        assert logits.shape == (len(targets), V)
        shifted = logits - logits.max(axis=1, keepdims=True)
        logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        slope = np.exp(logs)
        rows = np.arange(len(targets))
        slope[rows, targets] -= 1
        return -logs[rows, targets], slope
    own, model = tfnorm.Model(loss=cross_entropy, **OPTIONS), tfnorm.Model(**OPTIONS)
    for step in range(20):
        given = batch(step)
        given["targets"] = np.array(given["targets"])
        given["targets"][1, :5] = -1
        one, two = own.step(**given), model.step(**given)
        assert abs(one.loss - two.loss) < 1e-3 and one.tokens == two.tokens
        assert step or np.abs(own.flat_gradients() - model.flat_gradients()).max() < 1e-4
    assert abs(own.eval(**batch(3)).loss - model.eval(**batch(3)).loss) < 1e-3
    assert np.abs(own.logits(batch(3)["tokens"]) - model.logits(batch(3)["tokens"])).max() < 1e-2
    failing = tfnorm.Model(loss=lambda logits, targets: 1 / 0, **OPTIONS)
    refused("division", failing.step, kind=ZeroDivisionError, **batch(0))
    classes = dict(vocab=9, context=6, batch=2, arch="encoder", head="sequence", classes=3,
                   threads=1)
    asked = []

    def logit(logits, targets):
        asked.append((logits.shape, targets.tolist()))
        return logits[:, 1], np.array([0, 1, 0])
    report = tfnorm.Model(loss=logit, **classes).step(np.arange(10).reshape(2, 5) % 9, [0, 2])
    assert report.tokens == 2 and asked[0] == ((2, 3), [0, 2])


def groups():
    """A frozen weight has no gradient and does not move."""
    model = tfnorm.Model(groups=["*.ffn.* frozen", "embedding.* rate=0.5"], **OPTIONS)
    before = model.parameters()["decoder.0.ffn.w1.weight"].copy()
    report = model.step(**batch(0))
    assert report.updated and "decoder.0.ffn.w1.weight" not in model.gradients()
    assert (model.parameters()["decoder.0.ffn.w1.weight"] == before).all()
    assert model.flat_gradients().size < model.flat().size
    assert model.option("groups[0]") == "*.ffn.* frozen"


def lora():
    """LoRA starts as the base, only LoRA trains and is saved, and fold merges it."""
    with tempfile.TemporaryDirectory() as place:
        path, small = (os.path.join(place, name) for name in ("base", "lora"))
        base = tfnorm.Model(**OPTIONS)
        base.step(**batch(0))
        base.save(path)
        tokens = batch(1)["tokens"]
        was = base.logits(tokens).copy()
        model = tfnorm.Model(groups=["*.self.q.* rank=2"], **OPTIONS)
        model.load_weights(path)
        assert (model.logits(tokens) == was).all()
        assert set(model.gradients()) == {"decoder.%d.self.q.lora_%s" % (layer, part)
                                          for layer in (0, 1) for part in "ab"}
        for step in range(5):
            model.step(**batch(step))
        now = model.logits(tokens).copy()
        assert (now != was).any()
        model.save_adapter(small)
        assert os.path.getsize(small) < os.path.getsize(path) / 8
        other = tfnorm.Model.start(path, groups=["*.self.q.* rank=2"])
        assert other.gradients().keys() == model.gradients().keys() and other.step_count == 0
        assert (other.logits(tokens) == was).all()
        other.load_weights(small)
        assert (other.logits(tokens) == now).all()
        folded = model.fold()
        assert np.abs(folded.logits(tokens) - now).max() < 1e-4
        assert not any("lora" in name for name in folded.parameters())
        tied = tfnorm.Model(groups=["output.weight rank=2"], **dict(OPTIONS, untied=False))
        for step in range(5):
            tied.step(**batch(step))
        now = tied.logits(tokens).copy()
        assert set(tied.gradients()) == {"output.lora_a", "output.lora_b"}
        assert np.abs(tied.fold().logits(tokens) - now).max() < 1e-4


def packed():
    """Packed weights: their type, their values, and the same from a file."""
    base = tfnorm.Model(**dict(OPTIONS, untied=False, width=72))      # not whole blocks
    for step in range(5):
        base.step(**batch(step))
    tokens, floats = batch(9)["tokens"], base.parameters()
    wanted = base.logits(tokens).copy()
    matrices = {name for name, x in floats.items() if x.ndim == 2 and "position" not in name}
    for kind, most in ("q8", 0.01), ("q4", 0.15), ("bf16", 0.004), ("f16", 0.0005):
        model = base.quantize(kind)
        weights = model.weights()
        assert {name for name, (type, _) in weights.items() if type == kind} == matrices
        assert weights["decoder.0.self.q.bias"] == ("float32", 4 * 72)
        assert weights["decoder.0.self.q.weight"][1] < {"q8": 0.4, "q4": 0.25}.get(kind, 0.52) * 4 * 72 * 72
        for name, numbers in model.parameters().items():
            off = np.linalg.norm(numbers - floats[name]) / max(np.linalg.norm(floats[name]), 1e-30)
            assert off < most if name in matrices else (numbers == floats[name]).all(), (name, off)
        off = np.abs(model.logits(tokens) - wanted).max() / np.abs(wanted).max()
        assert 0 < off < 4 * most, (kind, off)
        refused("no floats", model.flat)
        refused("read-only", model.parameters()["embedding.weight"].fill, 0, kind=ValueError)
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "packed")
            model.save(path)
            again = tfnorm.Model.load(path)
        assert again.hash() == model.hash() and (again.logits(tokens) == model.logits(tokens)).all()
    assert set(type for type, _ in base.weights().values()) == {"float32"}
    refused("q9", base.quantize, "q9")
    refused("fold, then quantize", model.fold)


def kinds():
    """Encoder-decoders and classes."""
    pair = tfnorm.Model(vocab=9, context=6, batch=2, arch="encoder-decoder", width=16, heads=2,
                        threads=1)
    source = np.arange(10).reshape(2, 5) % 9
    tokens = np.arange(8).reshape(2, 4)
    first = pair.step(tokens, tokens, source=source, source_lengths=[5, 3]).loss
    for _ in range(20):
        last = pair.step(tokens, tokens, source=source, source_lengths=[5, 3]).loss
    assert last < first and pair.logits(tokens, source=source).shape == (2, 4, 9)
    assert len(pair.generate(source=[[1, 2, 3], [4]], end=0, max_tokens=3)) == 2
    classes = tfnorm.Model(vocab=9, context=6, batch=2, arch="encoder", head="sequence", classes=3,
                           threads=1)
    assert classes.step(source, [0, 2]).tokens == 2 and classes.logits(source).shape == (2, 3)
    heads(np.arange(2 * 11 * 5).reshape(2, 11, 5) / 110)


def heads(frames):
    """Encoders of frames, of each head."""
    like = dict(context=11, batch=2, arch="encoder", bands=5, width=16, heads=2, threads=1)
    tags = tfnorm.Model(head="positions", classes=3, frame_map="linear", **like)
    report = tags.step(None, np.arange(22).reshape(2, 11) % 4 - 1, frames=frames, lengths=[11, 4])
    assert report.tokens == 8 + 3 and tags.logits(None, frames=frames).shape == (2, 11, 3)
    tags = tfnorm.Model(head="positions", classes=3, **like)         # two positions of 11 frames
    assert tags.step(None, [[0, 1], [2, 0]], frames=frames).tokens == 4
    assert tags.logits(None, frames=frames).shape == (2, 2, 3)
    values = tfnorm.Model(head="numbers", numbers=2, number_loss="huber", **like)
    report = values.step(None, None, frames=frames, numbers=[[1, np.nan], [0, 2]])
    assert report.tokens == 3 and values.option("delta") == 1
    assert values.logits(None, frames=frames).shape == (2, 2)
    refused("numbers must be (batch, 2)", values.step, None, None, frames=frames, numbers=[1, 2],
            kind=ValueError)
    refused("no numbers to learn", values.step, None, None, frames=frames)


def library():
    """The library is built once, with a message and the time; a missing compiler is reported."""
    begin = "import tfnorm; tfnorm.bits()"
    ran = subprocess.run([sys.executable, "-c", begin], capture_output=True, text=True, check=True,
                         env=dict(os.environ, PYTHONPATH=os.path.dirname(tfnorm.__file__)))
    path = tfnorm.build()
    assert path == tfnorm.build() and os.path.exists(path)
    if ran.stderr:                          # nothing if an earlier run of the tests compiled it
        first, second = ran.stderr.splitlines()
        assert "compiling tfnorm.h" in first and path in second, ran.stderr
        assert 0 < float(second.split("compiled in ")[1].split(" seconds")[0]) < 1000
    assert tfnorm.__version__ == tfnorm.version()
    changed = dict(os.environ)
    with tempfile.TemporaryDirectory() as place:
        os.environ.update(CC="/no/such/cc", TFNORM_CACHE=place)
        refused("no C compiler /no/such/cc", tfnorm.build)
        assert not os.listdir(place)
        os.environ["CC"] = "false"
        refused("false", tfnorm.build)
        assert not os.listdir(place)
        broken = os.path.join(place, "none.so")
        open(broken, "w").write("none")
        refused("no library of this version", tfnorm.open_library, broken)
    os.environ.clear()
    os.environ.update(changed)


def lines():
    """The loop in the module's docstring works unchanged and draws its curve. README's is its first
    part; the manual's lines work, too."""
    code = [line[4:] for line in tfnorm.__doc__.split("\n") if line.startswith("    ")]
    code = code[:10]
    top = os.path.join(os.path.dirname(os.path.abspath(tfnorm.__file__)), "..")
    readme = open(os.path.join(top, "README.md")).read()
    assert readme.split("```python\n")[1].split("```")[0] == "\n".join(code[:7]) + "\n"
    manual = open(tfnorm.find_header()).read().split(" * FROM PYTHON\n")[1].split("\n *\n *\n")[0]
    manual = [line[10:] for line in manual.split("\n") if line.startswith(" *        ")]
    assert len(manual) == 5
    names = {"tfnorm": tfnorm, "tokens": np.ones((16, 9), int), "targets": np.ones((16, 9), int)}
    exec("\n".join(manual), names)
    assert names["model"].step_count == 2
    names = {}
    with tempfile.TemporaryDirectory() as place:
        open(os.path.join(place, "README.md"), "w").write("one two three " * 99)
        os.chdir(place)
        code = "\n".join(code).replace("301", "31")
        exec(code, names)
        losses = names["model"].losses
        assert len(losses) == 31 and losses[-1] < 0.3 * losses[0]
        assert open("losses.svg").read().count(",") >= 31
        assert os.path.getsize("model.safetensors") > 1000
        os.chdir("/")


def folders():
    """The second loop in the module's docstring tunes a folder with LoRA and writes it back."""
    code = [line[4:] for line in tfnorm.__doc__.split("\n") if line.startswith("    ")][10:]
    assert len(code) == 11 and code[0].startswith("import")
    names = {}
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        words = "one two six " * 99
        open("notes.txt", "w").write("six two one " * 99)
        letters = sorted(set(words.replace(" ", "\u0120")))
        json.dump({"model": {"type": "BPE", "vocab": {x: i for i, x in enumerate(letters)},
                             "merges": []},
                   "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False},
                   "decoder": {"type": "ByteLevel"}}, open("tokenizer.json", "w"))
        tokenizer = tfnorm.Tokenizer.of(json=open("tokenizer.json").read())
        base = tfnorm.Model(vocab=len(letters), context=64, batch=8, recipe="gpt2", position="learned", width=32,
                            layers=2, heads=2, activation="gelu-tanh", schedule_lr=1e-2)
        ids = tokenizer.encode(words)
        assert tokenizer.decode(ids) == words
        for step in range(100):
            at = np.random.randint(len(ids) - 64, size=(8, 1)) + np.arange(65)
            base.step(ids[at[:, :-1]], ids[at[:, 1:]])
        base.export("gpt2", tokenizer)
        exec("\n".join(code).replace("201", "61"), names)
        model, at = names["model"], names["at"]
        assert model.losses[-1] < 0.6 * model.losses[0], model.losses
        again = tfnorm.Model.from_folder("gpt2-notes", inference=True, batch=8)
        tokens = names["ids"][at[:, :-1]]
        wanted = model.logits(tokens).copy()
        assert np.abs(again.logits(tokens) - wanted).max() < 1e-4 * np.abs(wanted).max()
        assert (model.merge().logits(tokens) == again.logits(tokens)).all()
        other = tfnorm.Model.from_folder("gpt2", inference=True, batch=8,
                                         groups=[model.option("groups[0]")])
        assert (other.logits(tokens) == base.logits(tokens)).all()
        other.load_weights("notes.safetensors")
        assert (other.logits(tokens) == wanted).all()
        assert not os.path.exists("gpt2/lora.safetensors") and os.path.exists("gpt2-notes/tokenizer.json")
        refused("has LoRA", model.export, "lora")
        refused("no family is called gpt9", base.export, "x", family="gpt9")
        refused("none: cannot be opened", tfnorm.Model.from_folder, "none")
        base.export("half", family="gpt2", dtype="bf16", round=True)
        half = tfnorm.Model.from_folder("half", inference=True, batch=8)
        off = np.abs(half.logits(tokens) - base.logits(tokens)).max()
        assert 0 < off < 0.05 * np.abs(wanted).max()
        os.chdir("/")


def documented():
    """Every public name has a docstring, and __all__ lists them."""
    def undocumented(place, name):
        for key, value in vars(place).items():
            value = getattr(value, "__func__", value)           # for a class method
            mine = getattr(value, "__module__", None) == "tfnorm" or isinstance(value, property)
            if key.startswith("_") or not mine:
                continue
            if not value.__doc__:
                yield name + key
            if isinstance(value, type):
                yield from undocumented(value, name + key + ".")
    missing = list(undocumented(tfnorm, ""))
    assert not missing, missing
    assert tfnorm.__doc__ and all(hasattr(tfnorm, name) for name in tfnorm.__all__)


def notebook():
    """A notebook draws a model and its losses as well-formed pictures with a point for each update."""
    model = tfnorm.Model(**OPTIONS)
    assert "0 updates" in repr(model) and "<svg" not in model._repr_html_()
    for step in range(3):
        model.step(**batch(step))
    assert "b2t, 2 layers of width 24" in repr(model) and "3 updates" in repr(model)
    html = model._repr_html_()
    picture = tfnorm.plot(model.losses)
    assert picture._repr_svg_() in html and str(picture) in html
    points = [xml.etree.ElementTree.fromstring(tfnorm.curve(losses))[0].get("points").split()
              for losses in (model.losses, [2.0], [1.0] * 7, list(range(9999)))]
    assert [len(p) for p in points] == [3, 1, 7, 540], points
    high, low = max(model.losses), min(model.losses)
    assert "%.3f" % high in html and "%.3f" % low in html
    assert xml.etree.ElementTree.fromstring(tfnorm.curve([])) is not None


def installed():
    """pip installs the folder without a network and without setuptools; the copy finds its header."""
    tools = os.path.dirname(os.path.abspath(tfnorm.__file__))
    with tempfile.TemporaryDirectory() as place:
        try:
            import pip
            subprocess.run([sys.executable, "-m", "pip", "-q", "install", "--no-index",
                            "--no-build-isolation", "--target", place, tools], check=True)
        except ImportError:
            subprocess.run([sys.executable, tools + "/packaging/tfnorm_wheel.py", place], check=True)
            wheel = [name for name in os.listdir(place) if name.endswith(".whl")][0]
            zipfile.ZipFile(os.path.join(place, wheel)).extractall(place)
        say = "import tfnorm; print(tfnorm.find_header(), tfnorm.__version__, tfnorm.version())"
        env = dict(os.environ, PYTHONPATH=place, TFNORM_LIBRARY=tfnorm.build())
        found = subprocess.run([sys.executable, "-c", say], capture_output=True, text=True, env=env,
                               cwd=place, check=True).stdout.split()
        assert os.path.samefile(found[0], os.path.join(place, "tfnorm", "tfnorm.h")), found
        assert found[1] == found[2] == tfnorm.__version__
        assert os.path.exists(os.path.join(place, "tfnorm", "common", "threads.h"))


if __name__ == "__main__":
    globals()[sys.argv[1]]()
