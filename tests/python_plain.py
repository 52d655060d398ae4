"""python_plain.py TWIN: tools/tfnorm.py without numpy, see python.sh: lists and buffers go in,
memoryviews come out, with the bits of the same training in C."""
import array
import math
import os
import subprocess
import sys
import tempfile

sys.modules["numpy"] = None                 # as if it were not installed
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import tfnorm

V, T, B = 27, 12, 5
OPTIONS = dict(vocab=V, context=T, batch=B, width=24, heads=3, layers=2, recipe="b2t", dropout=0.1,
               schedule_kind="inverse-sqrt", schedule_lr=3e-3, schedule={"warmup": 4}, clip=1,
               activation="swiglu", untied=True, seed=7, threads=1)
SMALL = dict(vocab=V, context=T, batch=B, width=16, layers=1, threads=1)


def batch(step):
    """Tokens and targets of a step, as in the twin."""
    rows = [range(k * T, (k + 1) * T) for k in range(B)]
    tokens = [[(i * i * 7 + step * 13 + k) % V for i in row] for k, row in enumerate(rows)]
    return {"tokens": tokens, "targets": [[(i * 5 + step) % V for i in row] for row in rows],
            "lengths": array.array("i", [T] * (B - 1) + [4])}


def refused(kind, wanted, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except kind as error:
        assert wanted in str(error), error
        return
    raise AssertionError('no error "%s"' % wanted)


assert tfnorm.np is None
model = tfnorm.Model(**OPTIONS)
for step in range(20):
    report = model.step(**batch(step))
found = "%.17g %.9g %016x" % (report.loss, report.grad_norm, model.hash())
said = subprocess.run([sys.argv[1], "train"], capture_output=True, text=True, check=True).stdout
assert found == said.strip(), "%s, in C %s" % (found, said)
assert "<svg" in model._repr_html_() and "<polyline" in tfnorm.plot(model.losses)._repr_svg_()
assert tfnorm.curve(list(range(9999))).count(",") == 540 and tfnorm.curve([])

# views: of the shape of the tensor, without a copy
weights = model.parameters()["decoder.0.ffn.w1.weight"]
before = model.hash()
assert weights.shape == (24, model.option("ffn")), weights.shape
weights[3, 2] += 1.0
assert model.hash() != before and model.parameters()["decoder.0.ffn.w1.weight"][3, 2] == weights[3, 2]
weights[3, 2] -= 1.0
assert len(model.flat()) * 4 == model.memory("parameters")
assert model.gradients()["decoder.0.ffn.w1.weight"].shape == weights.shape
logits = model.logits(batch(0)["tokens"])
assert logits.shape == (B, T, V) and math.isfinite(logits[4, 11, 26])
one = model.logits(batch(0)["tokens"][1])                # one row
assert one.shape == (1, T, V)
attention = model.attention(batch(0)["tokens"], 0)
assert attention.shape == (B, 3, T, T) and abs(sum(attention[0, 0, T - 1, k] for k in range(T)) - 1) < 1e-5
assert model.hidden([[1, 2]]).shape == (1, 2, 24) and model.pool([[1, 2]], unit=True).shape == (1, 24)

# refusals
refused(TypeError, "whole numbers", model.logits, [[1.5]])
refused(TypeError, "tokens must be whole numbers, not str; a Tokenizer", model.logits, "ab")
refused(TypeError, "prompts must be whole numbers, not str; a Tokenizer", model.generate, "ab")
refused(TypeError, "prompts must be whole numbers, not str; a Tokenizer", model.generate, ["ab", "c"])
refused(ValueError, "32 bits", model.logits, [[1 << 31]])
refused(ValueError, "different lengths", model.logits, [[1], [1, 2]])
refused(ValueError, "shape", model.step, [[1, 2]], [[1, 2, 3]])
refused(tfnorm.Error, "a token is 27, the vocabulary has 27", model.logits, [[V]])

# texts: generated, decoded step by step, padded
texts = model.generate([[1, 2, 3], bytes([4])], max_tokens=4, forbidden=[0])
assert [len(text) for text in texts] == [4, 4] and 0 not in texts[0].tolist()
decoder = model.decoder(batch=2)
assert decoder.next([1, 2]).shape == (2, V) and decoder.next([[3], [4]], beam=[0, 0]).shape == (2, V)
rows, lengths = tfnorm.padded("rows", [[1, 2, 3], [4]])
assert rows.tolist() == [[1, 2, 3], [4, 0, 0]] and lengths.tolist() == [3, 1]

# files, tokenizers, quantized weights
with tempfile.TemporaryDirectory() as place:
    path = os.path.join(place, "m.safetensors")
    model.save(path)
    assert tfnorm.Model.load(path).hash() == model.hash()
    subprocess.run([sys.argv[1], "save", path], check=True)
    tokenizer = tfnorm.Tokenizer(path)
    assert tokenizer.decode(tokenizer.encode("añ")) == "añ" and len(tokenizer.encode("")) == 0
packed = model.quantize("q8")
table = packed.parameters()["decoder.0.ffn.w1.weight"]
assert table.readonly and table.shape == weights.shape and abs(table[3, 2] - weights[3, 2]) < 0.05
assert max(map(max, packed.parameters()["embedding.weight"].tolist())) > 0

# a probe, and a loss of one's own: the same as the built-in one
seen = []
probed = tfnorm.Model(probes=True, **SMALL)
probed.watch(lambda point, values: seen.append((point.point, values.shape, values.readonly)))
probed.eval(batch(0)["tokens"], batch(0)["targets"])
assert ("embedding", (B * T, 16), True) in seen, seen


def cross_entropy(logits, targets):
    losses, slopes = [], []
    for z, target in zip(logits.tolist(), targets.tolist()):
        most = max(z)
        e = [math.exp(v - most) for v in z]
        total = sum(e)
        losses.append(math.log(total) + most - z[target])
        slopes.append([v / total - (k == target) for k, v in enumerate(e)])
    return losses, slopes


own, built_in = tfnorm.Model(loss=cross_entropy, **SMALL), tfnorm.Model(**SMALL)
for step in range(3):
    ours, theirs = (m.step(batch(step)["tokens"], batch(step)["targets"]) for m in (own, built_in))
    assert abs(ours.loss - theirs.loss) < 1e-4, (ours.loss, theirs.loss)
