"""tfnorm.h from Python: this file, and a C compiler for the first call.

    import numpy as np, tfnorm                       # PYTHONPATH=tools, or pip install ./tools
    text = np.frombuffer(open("README.md", "rb").read(), np.uint8)
    model = tfnorm.Model(vocab=256, context=64, batch=16, recipe="pre", schedule_lr=2e-3)
    for step in range(301):
        at = np.random.randint(len(text) - 64, size=(16, 1)) + np.arange(65)
        report = model.step(text[at[:, :-1]], text[at[:, 1:]])
        if step % 100 == 0: print(step, report.loss)
    model.save("model.safetensors")
    print(bytes(model.generate([text[:20]], max_tokens=44, temperature=0.7)[0].astype(np.uint8)))
    tfnorm.plot(model.losses, "losses.svg")         # a notebook draws tfnorm.plot(model.losses)

Fine-tune a model from Hugging Face with LoRA, merge LoRA into the weights, and write it back:

    import numpy as np, tfnorm
    tokenizer = tfnorm.Tokenizer.of(json=open("gpt2/tokenizer.json").read())
    ids = tokenizer.encode(open("notes.txt").read())
    model = tfnorm.Model.from_folder("gpt2", batch=8, batch_tokens=8 * 64, schedule_lr=1e-3,
                                     groups=["decoder.*.self.[qv].weight rank=8 alpha=16"])
    for step in range(201):
        at = np.random.randint(len(ids) - 64, size=(8, 1)) + np.arange(65)
        report = model.step(ids[at[:, :-1]], ids[at[:, 1:]])
        if step % 100 == 0: print(step, report.loss)
    model.save_adapter("notes.safetensors")         # only what was trained
    model.merge().export("gpt2-notes", tokenizer)   # a folder like "gpt2"

Options have the names of the members of tfn_model_desc; schedule_lr is schedule.lr. An Error has
the message of the header. Arrays of parameters, gradients and logits are views into the model,
without a copy: writing to them changes it, and each keeps the model alive.

numpy is optional. Arguments may be lists, arrays of numpy, or buffers of whole numbers or floats.
With numpy, arrays are returned as numpy's. Without it, they are memoryviews of the same shape:
view[i, j], len(view), view.tolist().

The first call compiles tfnorm.h, which takes some seconds, and keeps the library for later runs.
The header is next to this file or a directory above. Environment variables:
- TFNORM_LIBRARY: a compiled library to use instead
- CC, TFNORM_CFLAGS: the compiler and its flags; cc -O2
- TFNORM_CACHE: the folder of the library; ~/.cache/tfnorm
Layouts of structs are not copied here: the library gives them (tfn_layout).
"""
import collections
import ctypes
import hashlib
import itertools
import math
import os
import platform
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
except ImportError:
    np = None                               # arrays are memoryviews

__version__ = "0.3.0"
__all__ = ["Error", "Model", "Decoder", "Tokenizer", "Point", "Picture", "bits", "build",
           "open_library", "option_names", "padded", "plot", "version"]


class Error(Exception):
    """An error of the library, with its message; status is its tfn_status."""

    def __init__(self, text, status=0):
        super().__init__(text)
        self.status = status

    @property
    def reason(self):
        """The class of the error in words (tfn_status_text)."""
        return C().tfn_status_text(self.status).decode()


# -- the library ---------------------------------------------------------------------------------

class Key(ctypes.Structure):
    """tfn_key, which is passed by value."""
    _fields_ = [("bits", ctypes.c_uint64)]


class Var(ctypes.Structure):
    """tfn_var, the same."""
    _fields_ = [("id", ctypes.c_int32)]


class ProbeInfo(ctypes.Structure):
    """tfn_probe_info, which a function returns."""
    _fields_ = [("point", ctypes.c_int32), ("kind", ctypes.c_int32), ("decoder", ctypes.c_bool),
                ("layer", ctypes.c_int32)]


# Results and arguments: i int32, l int64, z size_t, u uint64, f float, b bool, c char, s text,
# p pointer, k Key, n ProbeInfo, x Var, v nothing.
FUNCTIONS = {
    "tfn_bits": "si", "tfn_choice_name": "ssi", "tfn_desc_get": "spspz", "tfn_desc_name": "si",
    "tfn_desc_set": "ipssp", "tfn_error_text": "sppz", "tfn_layout": "csspp", "tfn_version": "s",
    "tfn_status_text": "si", "tfn_model_hidden_all": "ippip", "tfn_decoder_watch": "ippp",
    "tfn_model_new": "ippp", "tfn_model_free": "vp", "tfn_model_scratch": "zp",
    "tfn_model_step": "ippp", "tfn_model_eval": "ippp", "tfn_model_logits": "ppp",
    "tfn_model_gradient": "ippibp", "tfn_model_gradients": "ppp", "tfn_model_rate": "fp",
    "tfn_model_update": "ippfp", "tfn_model_profile": "ipp", "tfn_model_param": "bpip",
    "tfn_model_hash": "up", "tfn_model_fold": "ipp", "tfn_model_hidden": "pppii",
    "tfn_model_attention": "ippiiiip", "tfn_model_pool": "ippiiibp",
    "tfn_decoder_size": "zpiipz", "tfn_decoder_init": "ippiipz", "tfn_decoder_start": "ipp",
    "tfn_decoder_next": "pppip", "tfn_generator_size": "zpppz", "tfn_generator_init": "ippppz",
    "tfn_generator_run": "ippp", "tfn_model_save": "ippp", "tfn_model_load": "ipp",
    "tfn_model_load_weights": "ippi", "tfn_model_peek": "ippp", "tfn_checkpoint_tokenizer": "zppz",
    "tfn_model_save_adapter": "ippp", "tfn_model_watch": "ippp", "tfn_probe_of": "ni",
    "tfn_import_new": "ipsp", "tfn_export_write": "ipp", "tfn_family_find": "ps",
    "tfn_custom": "xpipiiii", "tfn_model_quantize": "ipp", "tfn_quant_unpack": "vppillll",
    "tfn_tokenizer_size": "zp", "tfn_tokenizer_init": "ipppz", "tfn_tokenizer_encode": "lpplsz",
    "tfn_tokenizer_decode": "zppzpl", "tfn_key_make": "ku",
}
TYPES = {"i": ctypes.c_int32, "l": ctypes.c_ssize_t, "z": ctypes.c_size_t, "u": ctypes.c_uint64,
         "f": ctypes.c_float, "b": ctypes.c_bool, "c": ctypes.c_char, "s": ctypes.c_char_p,
         "p": ctypes.c_void_p, "k": Key, "n": ProbeInfo, "x": Var, "v": None}


def find_header():
    """The path of tfnorm.h, next to this file or a directory above."""
    here = os.path.dirname(os.path.abspath(__file__))
    for place in (here, os.path.dirname(here)):
        if os.path.exists(os.path.join(place, "tfnorm.h")):
            return os.path.join(place, "tfnorm.h")
    raise Error("no tfnorm.h beside %s or a directory above" % os.path.abspath(__file__))


def build(path=None):
    """Compile the header to a shared library, into `path` or the cache; returns its path. The cache
    keeps it: the same header, compiler and flags are compiled once. Says on stderr that it compiles
    and how long that took."""
    header = find_header()
    compiler = os.environ.get("CC", "cc")
    flags = shlex.split(os.environ.get("TFNORM_CFLAGS", "-O2"))
    threads = os.path.join(os.path.dirname(os.path.abspath(__file__)), "common", "threads.h")
    source = '#define TFNORM_IMPLEMENTATION\n#include "tfnorm.h"\n'
    if os.path.exists(threads):             # pthreads: options may have threads=2
        source = '#include "%s"\n' % threads + source
        flags.append("-pthread")
    if path is None:
        key = hashlib.sha256(open(header, "rb").read())
        key.update(repr((compiler, flags, source, os.uname().machine)).encode())
        cache = os.environ.get("TFNORM_CACHE") or os.path.join(
            os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "tfnorm")
        path = os.path.join(cache, "libtfnorm-%s.so" % key.hexdigest()[:16])
        if os.path.exists(path):
            return path
    if not shutil.which(shlex.split(compiler)[0]):
        raise Error("no C compiler %s: install one, or set CC, or TFNORM_LIBRARY to a library "
                    "that was built from tfnorm.h" % compiler)
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    print("tfnorm: compiling tfnorm.h with %s; this takes some seconds, once" % compiler,
          file=sys.stderr, flush=True)
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(path))) as place:
        made = os.path.join(place, "made.so")
        command = shlex.split(compiler) + flags + ["-std=gnu99", "-shared", "-fPIC", "-I",
                  os.path.dirname(header), "-x", "c", "-", "-o", made, "-lm"]
        done = subprocess.run(command, input=source.encode(), capture_output=True)
        if done.returncode:
            raise Error("%s fails:\n%s" % (" ".join(command), done.stderr.decode()))
        os.replace(made, path)              # whole or not at all, if two programs build it
    print("tfnorm: compiled in %.1f seconds; kept as %s" % (time.perf_counter() - begin, path),
          file=sys.stderr)
    return path


def open_library(path=None):
    """Open the library and give its functions their types. The first use of anything else calls
    this; call it to open another library."""
    global library
    path = path or os.environ.get("TFNORM_LIBRARY") or build()
    try:
        opened = ctypes.CDLL(os.path.abspath(path))
        for name, types in FUNCTIONS.items():
            function = getattr(opened, name)
            function.restype = TYPES[types[0]]
            function.argtypes = [TYPES[t] for t in types[1:]]
    except (OSError, AttributeError) as error:
        raise Error("%s is no library of this version of tfnorm.h: %s" % (path, error)) from None
    library = opened
    layouts.clear()
    return opened


library = None
layouts = {}


def C():
    """The opened library: C().tfn_version() calls the function of the header."""
    return library or open_library()


def version():
    """The version of the compiled library, which equals __version__."""
    return C().tfn_version().decode()


def bits():
    """Returns "canonical", or "differ: reason"."""
    return C().tfn_bits(0).decode()


# -- arrays: of numpy, or memoryviews --------------------------------------------------------------

CODES = {"f": ctypes.c_float, "i": ctypes.c_int32, "B": ctypes.c_uint8}     # as in struct
DTYPES = {"f": "float32", "i": "int32", "B": "uint8"}


def shaped(memory, code, shape):
    """An array of this shape in the memory of a ctypes object, which it keeps alive."""
    if np and 0 in shape:
        return np.zeros(shape, DTYPES[code])
    if np:
        return np.frombuffer(memory, DTYPES[code]).reshape(shape)
    if 0 in shape:                          # a memoryview has no empty dimensions
        return memoryview(memory).cast("B").cast(code)
    return memoryview(memory).cast("B").cast(code, list(shape))


def zeros(shape, code="f"):
    """A new array."""
    return shaped((CODES[code] * math.prod(shape))(), code, shape)


def address(array):
    """The address of an array's numbers."""
    if np:
        return array.ctypes.data
    return ctypes.addressof((ctypes.c_char * array.nbytes).from_buffer(array))


def count(array):
    """How many numbers an array has."""
    return array.nbytes // array.itemsize


def fixed(array):
    """The array, which can no longer be written to."""
    if not np:
        return array.toreadonly()
    array.flags.writeable = False
    return array


def flat(array):
    """The same numbers in one dimension."""
    return array.reshape(-1) if np else array.cast("B").cast(array.format)


def nested(values):
    """The shape of nested lists or of a buffer, and its numbers in one list."""
    if hasattr(values, "tolist"):           # memoryview, array.array
        values = values.tolist()
    if isinstance(values, (bytes, bytearray)):
        values = list(values)
    if isinstance(values, str) or not hasattr(values, "__len__"):      # whole and floats refuse a str
        return (), [values]
    if not len(values):
        return (0,), []
    parts = [nested(value) for value in values]
    if any(shape != parts[0][0] for shape, _ in parts):
        raise ValueError("rows have different lengths")
    return (len(parts),) + parts[0][0], [number for _, numbers in parts for number in numbers]


def filled(values, code, least=1):
    """A new array of the numbers of nested lists or a buffer. least: see whole."""
    shape, numbers = nested(values)
    shape = (1,) * (least - len(shape)) + shape
    memory = (CODES[code] * len(numbers))(*numbers)
    return shaped(memory, code, shape)


def not_whole(name, kind):
    """The error for an array of another kind than int; a text is the usual mistake."""
    more = "; a Tokenizer encodes texts" if kind == "str" else ""
    return TypeError("%s must be whole numbers, not %s%s" % (name, kind, more))


def whole(name, values, shape=None, least=0):
    """An array of int32, as the library reads it: values that do not fit are refused. least: the
    minimum number of dimensions."""
    if np:
        found = np.asarray(values)
        found = found.reshape((1,) * (least - found.ndim) + found.shape)
        if found.dtype.kind not in "iub":
            raise not_whole(name, "str" if found.dtype.kind == "U" else str(found.dtype))
        numbers = (found.min(), found.max()) if found.size else ()
    else:
        numbers = nested(values)[1]
        for number in numbers:
            if not isinstance(number, int):
                raise not_whole(name, type(number).__name__)
    if any(not -1 << 31 <= number < 1 << 31 for number in numbers):
        raise ValueError("%s does not fit into 32 bits" % name)
    if not np:
        found = filled(values, "i", least)
    if shape is not None and tuple(found.shape) != shape:
        raise ValueError("%s has the shape %s, expected %s" % (name, tuple(found.shape), shape))
    return np.ascontiguousarray(found, np.int32) if np else found


def floats(values):
    """An array of float32."""
    return np.ascontiguousarray(values, np.float32) if np else filled(values, "f")


# -- structs -------------------------------------------------------------------------------------

def layout(type, name=""):
    """What a member is, where it stands and how many bytes it has; of "" the struct itself."""
    if (type, name) not in layouts:
        at, size = ctypes.c_size_t(), ctypes.c_size_t()
        kind = C().tfn_layout(type.encode(), name.encode(), ctypes.byref(at), ctypes.byref(size))
        if kind == b"\0":
            raise AttributeError("%s has no member %s" % (type, name))
        layouts[type, name] = kind.decode(), at.value, size.value
    return layouts[type, name]


class Struct:
    """A struct of the library; members are read and written as attributes. What a pointer points
    to, an array or bytes, lives as long as the struct. One of the library is at an address."""
    TYPES = {("w", 1): ctypes.c_int8, ("w", 4): ctypes.c_int32, ("w", 8): ctypes.c_int64,
             ("r", 4): ctypes.c_float, ("r", 8): ctypes.c_double, ("b", 1): ctypes.c_bool,
             ("p", ctypes.sizeof(ctypes.c_void_p)): ctypes.c_void_p, ("s", 8): ctypes.c_uint64}
    SHOWN = {"tfn_report": "loss nll tokens step lr grad_norm updated skipped",
             "tfn_sums": "loss nll targets"}

    def __init__(self, type, address=None, **members):
        memory = None
        if address is None:
            memory = (ctypes.c_double * (layout(type)[2] // 8 + 1))()
            address = ctypes.addressof(memory)
        self.__dict__.update(type=type, memory=memory, kept={}, address=address)
        for name, value in members.items():
            setattr(self, name, value)

    def place(self, name):
        """A member as the ctypes object in memory."""
        kind, at, size = layout(self.type, name)
        return Struct.TYPES[kind, size].from_address(self.address + at)

    def at(self, name):
        """The address of a member."""
        return self.address + layout(self.type, name)[1]

    def __getattr__(self, name):
        if layout(self.type, name)[0] == "t":
            return ctypes.string_at(self.at(name)).decode()
        return self.place(name).value

    def __setattr__(self, name, value):
        place = self.place(name)
        self.kept[name] = value
        if isinstance(value, memoryview) or np and isinstance(value, np.ndarray):
            value = address(value)
        elif isinstance(value, bytes):
            value = ctypes.cast(ctypes.c_char_p(value), ctypes.c_void_p).value
        elif isinstance(value, Struct):
            value = value.address
        elif isinstance(value, ctypes._CFuncPtr):
            value = ctypes.cast(value, ctypes.c_void_p).value
        place.value = value

    def __repr__(self):
        names = Struct.SHOWN.get(self.type, "").split()
        return "%s(%s)" % (self.type, ", ".join("%s=%r" % (n, getattr(self, n)) for n in names))


def error_of(address, status=None):
    """The Error of a tfn_error at an address."""
    text = ctypes.create_string_buffer(400)
    C().tfn_error_text(address, ctypes.addressof(text), len(text))
    if status is None:
        status = ctypes.c_int32.from_address(address + layout("tfn_error", "status")[1]).value
    return Error(text.value.decode(errors="replace"), status)


def view(place, shape, owner):
    """Floats of the library at an address as an array, which keeps `owner` alive."""
    memory = (ctypes.c_float * math.prod(shape)).from_address(place)
    memory.owner = owner
    return shaped(memory, "f", shape)


# -- options -------------------------------------------------------------------------------------

def option_names():
    """Names of all options, those of tfn_model_desc."""
    names, i = [], 0
    while C().tfn_desc_name(i):
        names.append(C().tfn_desc_name(i).decode())
        i += 1
    return names


def option_text(name, value):
    """The text of an option's value, as tfn_desc_set reads it."""
    if value is None:
        return "default"
    if np and isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if name == "seed" and int(value) >= 1 << 63:
        return str(int(value) - (1 << 64))          # the same 64 bits with a sign
    return str(value)


def set_options(desc, options):
    """Keyword arguments into a tfn_model_desc. schedule_lr=1e-3 is "schedule.lr", and so is
    schedule={"lr": 1e-3}; cutoffs=(100, 1000) are "cutoffs[0]" and "cutoffs[1]"."""
    known = option_names()
    for key, value in options.items():
        if key not in known and key.replace("_", ".", 1) in known:
            key = key.replace("_", ".", 1)
        parts = {key: value}
        if isinstance(value, dict):
            parts = {"%s.%s" % (key, name): part for name, part in value.items()}
        elif isinstance(value, (list, tuple)):
            parts = {"%s[%d]" % (key, i): part for i, part in enumerate(value)}
        for name, part in parts.items():
            error = Struct("tfn_error")
            text = option_text(name, part)
            if C().tfn_desc_set(desc, name.encode(), text.encode(), error.address):
                raise error_of(error.address)


def get_option(desc, name):
    """The value of an option of a tfn_model_desc at an address; default is None."""
    text = ctypes.create_string_buffer(96)
    if not C().tfn_desc_get(desc, name.encode(), ctypes.addressof(text), len(text)):
        raise KeyError(name)
    text = text.value.decode()
    for meaning in ({"true": True, "false": False, "default": None}.__getitem__, int, float):
        try:
            return meaning(text)
        except (KeyError, ValueError):
            pass
    return text


# -- models --------------------------------------------------------------------------------------

class Calls:
    """Functions of Python that the library calls. An exception in one cannot pass through C: it is
    kept, and raised when the library's function returns."""
    PROBE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32, ctypes.c_void_p,
                             ctypes.c_ssize_t, ctypes.c_ssize_t, ctypes.c_bool)
    OPERATION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    # tfn_loss_fn returns a struct of one int32, which ctypes cannot: where it goes as an int32 does
    LOSS = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, Var)
    MACHINES = "x86_64 amd64 aarch64 arm64 armv7l armv8l riscv64 ppc64le"

    def __init__(self):
        self.raised = None
        self.targets = None

    def _try(self, function, *arguments):
        try:
            return function(*arguments)
        except BaseException as error:
            self.raised = self.raised or error
            return None

    def check(self):
        """Raise what a function raised while the library called it."""
        raised, self.raised = self.raised, None
        if raised:
            raise raised

    # -- probes --

    POINTS = "none input read branch sum output embedding stack".split()    # tfn_watched
    KINDS = "self cross ffn before".split()                                 # tfn_sublayer

    def watch(self, function):
        """A tfn_probe_fn that calls function(point, values)."""
        return Calls.PROBE(lambda *arguments: self._try(self._seen, function, *arguments))

    def _seen(self, function, user, number, data, rows, cols, backward):
        info = C().tfn_probe_of(number)
        stack = "decoder" if info.decoder else "encoder"
        values = fixed(view(data, (rows, cols), None))
        function(Point(Calls.POINTS[info.point], stack, info.layer, Calls.KINDS[info.kind],
                       backward), values)

    # -- a loss --

    def loss(self, desc, function):
        """The loss of a tfn_model_desc is an operation of its own on the logits."""
        if platform.machine().lower() not in Calls.MACHINES.split():
            raise Error("no loss of one's own on %s: write it in C" % platform.machine())
        forward, backward = (Calls.OPERATION(lambda at, run=run: self._try(run, Struct(
            "tfn_custom_args", at))) for run in (self._forward, self._backward))
        self.function = function
        self.operation = Struct("tfn_custom_op", name=b"loss", forward=forward, backward=backward)
        desc.loss = Calls.LOSS(self._record)

    def _record(self, user, tape, logits):
        tape = Struct("tfn_tape", tape)
        tape.custom, tape.customs = self.operation.address, 1
        rows = 1 if self.of_sentences else 3        # tfn_rows: a row a sentence, a row a position
        return C().tfn_custom(tape.address, 0, ctypes.addressof(logits), 1, rows, 0, 1).id

    def _forward(self, a):
        y = view(a.y, (a.rows,), None)
        logits = view(getattr(a, "x[0]"), (a.rows, getattr(a, "x_cols[0]")), None)
        for i in range(a.rows):
            y[i] = math.nan                 # if the function fails
        self.slope = zeros(logits.shape)
        values, slope = self.function(fixed(logits), self.targets)
        if np:
            y[:], self.slope[:] = values, slope
        else:
            y[:], self.slope = floats(values), floats(slope)

    def _backward(self, a):
        shape = tuple(self.slope.shape)
        dx = view(getattr(a, "dx[0]"), shape, None)
        dy = view(a.dy, (a.rows,), None)
        add = getattr(a, "add[0]")
        if np:
            dx[:] = (dx if add else 0) + dy.reshape(-1, 1) * self.slope
            return
        for i, j in itertools.product(*map(range, shape)):
            dx[i, j] = (dx[i, j] if add else 0) + dy[i] * self.slope[i, j]


class Point(collections.namedtuple("Point", "point stack layer kind backward")):
    """Where a probe stands: point is "input", "read", "branch", "sum" or "output" of a sub-layer
    of a kind, "self", "cross", "ffn" or "before", or "embedding" or "stack"; layers are from 0;
    backward: its values are gradients of the summed loss."""


class Model:
    """A Transformer, and all that trains it, in one block of memory. loss: one of your own, a
    function of logits (rows, vocab) and targets (rows) that returns the loss of each row and its
    gradient (rows, vocab); rows whose target is below 0 do not count."""

    def __init__(self, loss=None, **options):
        desc = Struct("tfn_model_desc")
        set_options(desc.address, options)
        self._make(desc, loss)

    def _make(self, desc, loss=None, folder=None):
        model = Struct("tfn_model")
        self.losses = []                    # of each update: see plot
        self.calls = Calls()
        if loss:
            self.calls.of_sentences = get_option(desc.address, "head") == "sequence"
            self.calls.loss(desc, loss)
        self.desc = desc
        if folder is None:
            status = C().tfn_model_new(model.address, desc.address, None)
        else:
            status = C().tfn_import_new(model.address, folder, desc.address)
        if status:
            raise error_of(model.at("error"))
        self.struct = model
        self.address = model.address
        self.free = C().tfn_model_free      # for __del__, when the module may be gone

    def __del__(self):
        if hasattr(self, "struct"):
            self.free(self.address)

    def _check(self, status):
        self.calls.check()
        if status:
            raise error_of(self.struct.at("error"), status)

    def _found(self, address):
        self.calls.check()
        if not address:
            raise error_of(self.struct.at("error"))
        return address

    @property
    def options(self):
        """All options and what those that were not given became."""
        return {name: self.option(name) for name in option_names()}

    def option(self, name):
        """The value of one option, such as "width" or "schedule.lr"."""
        return get_option(self.struct.at("desc"), name)

    @property
    def step_count(self):
        """Updates so far."""
        return self.struct.step

    @property
    def rate(self):
        """The schedule's rate of the update to come."""
        return C().tfn_model_rate(self.address)

    def __repr__(self):
        stacks = "%d layers" % self.option("layers")
        if self.option("arch") == "encoder-decoder":
            stacks = "%d + %d layers" % (self.option("layers"), self.option("decoder_layers"))
        return "tfnorm.Model: %s, %s of width %d, %s bytes of weights, %d updates" % (
            self.option("topology"), stacks, self.option("width"),
            format(self.memory("parameters"), ","), self.step_count)

    def _repr_html_(self):
        """In a notebook: the model in a line, and the curve of its losses."""
        html = "<p>%s</p>" % repr(self)
        if self.losses:
            html += curve(self.losses)
        return html

    def hash(self):
        """64 bits over all parameters: equal only where each bit of them is."""
        return C().tfn_model_hash(self.address)

    # -- views --

    def _tensors(self):
        info = Struct("tfn_param_info")
        i = 0
        while C().tfn_model_param(self.address, i, info.address):
            yield info
            i += 1

    def parameters(self):
        """{name: view (rows, cols), or (cols) of a vector}. Matrices are (in, out). Of weights of
        fewer bits it is a copy of the numbers that they stand for, which cannot be written to."""
        return {p.name: self._unpacked(p) if p.weights else self._tensor(p, p.data)
                for p in self._tensors()}

    def weights(self):
        """{name: (type, bytes)}: "float32", "q8", "q4", "bf16" or "f16"."""
        return {p.name: (C().tfn_choice_name(b"weights", p.weights).decode(),
                         p.bytes or 4 * p.rows * p.cols) for p in self._tensors()}

    def gradients(self):
        """The same of what the last step or gradient left, of the summed loss."""
        return {p.name: self._tensor(p, p.grad) for p in self._tensors() if p.grad}

    def _tensor(self, info, address):
        shape = (info.rows, info.cols) if info.rows > 1 else (info.cols,)
        return view(address, shape, self)

    def _unpacked(self, info):
        """Blocks of an embedding lie along its columns, those of a map along its rows."""
        turned = info.weights in (1, 2) and "embedding" in info.name
        shape = (info.cols, info.rows) if turned else (info.rows, info.cols)
        numbers = zeros(shape)
        C().tfn_quant_unpack(address(numbers), info.packed, info.weights, shape[0], shape[1], 0,
                             shape[1])
        if turned and np:
            numbers = numbers.T
        elif turned:
            numbers = filled(list(zip(*numbers.tolist())), "f")
        return fixed(numbers)

    def flat(self):
        """All parameters as one view."""
        if self.option("weights") != "float32":
            raise Error("weights of %s are no floats" % self.option("weights"))
        count = self.memory("parameters") // 4
        return view(next(self._tensors()).data, (count,), self)

    def flat_gradients(self):
        """All gradients as one view, in the order of the parameters."""
        count = ctypes.c_int64()
        address = C().tfn_model_gradients(self.address, ctypes.byref(count))
        if not address:
            raise Error("the model has no gradients: it was made for inference")
        return view(address, (count.value,), self)

    def memory(self, name):
        """Bytes of a class of memory: total, parameters, gradients, moments, workspace ..."""
        kind, at, size = layout("tfn_memory", name)
        return ctypes.c_size_t.from_address(self.struct.at("memory") + at).value

    # -- batches --

    def _batch(self, tokens, targets=None, lengths=None, source=None, source_lengths=None,
               frames=None, segments=None, numbers=None):
        """A tfn_batch. The library takes pointers: shapes are checked here, numbers there."""
        batch = Struct("tfn_batch")
        if tokens is not None:
            tokens = whole("tokens", tokens, least=2)
            batch.tokens = tokens
            batch.batch, batch.time = tokens.shape
        if source is not None:
            source = whole("source", source, least=2)
            batch.source = source
            batch.batch, batch.source_time = source.shape
        if frames is not None:
            frames = floats(frames)
            if frames.ndim != 3 or frames.shape[2] != self.option("bands"):
                raise ValueError("frames must be (batch, time, %d)" % self.option("bands"))
            batch.frames = frames
            batch.batch, time = frames.shape[:2]
            if self.option("arch") == "encoder":
                batch.time = time
            else:
                batch.source_time = time
        rows = batch.batch
        for array in (tokens, source, frames):
            if array is not None and len(array) != rows:
                raise ValueError("one array has %d rows, another %d" % (len(array), rows))
        if targets is not None and self.option("head") == "sequence":
            batch.targets = whole("targets", targets, (rows,))
        elif targets is not None:
            positions = self._positions(batch, Model.STACKS["last"])
            batch.targets = whole("targets", targets, (rows, positions), 2)
        if targets is not None:
            self.calls.targets = flat(batch.kept["targets"])
        if numbers is not None:
            numbers = floats(numbers)
            if tuple(numbers.shape) != (rows, self.option("numbers")):
                raise ValueError("numbers must be (batch, %d)" % self.option("numbers"))
            batch.numbers = numbers
        if segments is not None:
            batch.segments = whole("segments", segments, (rows, batch.time), 2)
        if lengths is not None:
            batch.lengths = whole("lengths", lengths, (rows,))
        if source_lengths is not None:
            batch.source_lengths = whole("source_lengths", source_lengths, (rows,))
        return batch

    def step(self, tokens, targets, **more):
        """One step: forward, backward and, when all micro-batches of it are in, the update. tokens
        and targets (batch, time); targets below 0 are not scored. more: lengths, source,
        source_lengths, frames (of an encoder alone tokens are None then), segments, numbers (the
        targets of a head of numbers, NaN: not scored). Returns a report: loss, nll, tokens, lr,
        grad_norm ..."""
        report = Struct("tfn_report")
        batch = self._batch(tokens, targets, **more)
        self._check(C().tfn_model_step(self.address, batch.address, report.address))
        if report.updated:
            self.losses.append(report.loss)
        return report

    def gradient(self, tokens, targets, shard=0, add=False, **more):
        """The first half of a step: the gradient of the summed loss, stored or added into
        flat_gradients(). Returns sums: loss, nll, targets. shard numbers the batches of an update,
        so that each has dropout of its own."""
        sums = Struct("tfn_sums")
        batch = self._batch(tokens, targets, **more)
        self._check(C().tfn_model_gradient(self.address, batch.address, shard, add, sums.address))
        return sums

    def update(self, sums=None, rate=None):
        """The second half: clipping and the optimizer. sums: None, those of all gradients since the
        last update; rate: None, the schedule's."""
        report = Struct("tfn_report")
        rate = self.rate if rate is None else rate
        address = sums.address if sums else None
        self._check(C().tfn_model_update(self.address, address, rate, report.address))
        if report.updated:
            self.losses.append(report.loss)
        return report

    def eval(self, tokens, targets, **more):
        """The loss without dropout; nothing changes."""
        report = Struct("tfn_report")
        batch = self._batch(tokens, targets, **more)
        self._check(C().tfn_model_eval(self.address, batch.address, report.address))
        return report

    def logits(self, tokens, **more):
        """Scores (batch, time, vocab), (batch, classes), (batch, positions, classes) or numbers
        (batch, numbers): a view, valid until the next call on the model; copy() keeps it."""
        batch = self._batch(tokens, **more)
        address = self._found(C().tfn_model_logits(self.address, batch.address))
        head = self.option("head")
        cols = self.option({"tokens": "vocab", "numbers": "numbers"}.get(head, "classes"))
        if head in ("sequence", "numbers"):
            return view(address, (batch.batch, cols), self)
        positions = self._positions(batch, Model.STACKS["last"])
        return view(address, (batch.batch, positions, cols), self)

    # -- reading --

    STACKS = {"last": 0, "encoder": 1, "decoder": 2}        # tfn_stack
    ATTENTIONS = {"self": 0, "cross": 1}                    # tfn_sublayer
    POOLS = {"mean": 0, "first": 1, "last": 2}              # tfn_pool

    def hidden(self, tokens, stack="last", layers=-1, **more):
        """Hidden states (batch, time, channels) behind so many layers, 0: the embedding, -1: all
        and the final norm: a view, valid until the next call on the model."""
        batch = self._batch(tokens, **more)
        stack = Model.STACKS[stack]
        address = self._found(C().tfn_model_hidden(self.address, batch.address, stack, layers))
        return view(address, (batch.batch, self._positions(batch, stack), self._channels()),
                    self)

    def hidden_all(self, tokens, stack="last", **more):
        """All of them in one forward: (layers + 2, batch, time, channels) after 0, 1 ... layers,
        then the stack's output."""
        batch = self._batch(tokens, **more)
        layers = self.option("layers")
        if stack != "encoder" and self.option("arch") == "encoder-decoder":
            layers = self.option("decoder_layers")
        stack = Model.STACKS[stack]
        hidden = zeros((layers + 2, batch.batch, self._positions(batch, stack), self._channels()))
        self._check(C().tfn_model_hidden_all(self.address, batch.address, stack, address(hidden)))
        return hidden

    def attention(self, tokens, layer, stack="last", kind="self", **more):
        """Weights of an attention, (batch, heads, queries, keys); layer from 0, kind "self" or
        "cross"."""
        batch = self._batch(tokens, **more)
        stack = Model.STACKS[stack]
        queries = self._positions(batch, stack)
        keys = queries if kind == "self" else self._positions(batch, Model.STACKS["encoder"])
        weights = zeros((batch.batch, self.option("heads"), queries, keys))
        self._check(C().tfn_model_attention(self.address, batch.address, stack, layer,
                                            Model.ATTENTIONS[kind], -1, address(weights)))
        return weights

    def pool(self, tokens, how="mean", stack="last", layers=-1, unit=False, **more):
        """A vector of each sentence, (batch, channels), from its hidden states: their mean, the
        first or the last; unit: divided by its length."""
        batch = self._batch(tokens, **more)
        stack = Model.STACKS[stack]
        vectors = zeros((batch.batch, self._channels()))
        self._check(C().tfn_model_pool(self.address, batch.address, stack, layers,
                                       Model.POOLS[how], unit, address(vectors)))
        return vectors

    def _positions(self, batch, stack):
        """How many positions a stack has in a batch: two convolutions take a quarter of frames."""
        arch = self.option("arch")
        encoder = stack == Model.STACKS["encoder"] or arch == "encoder"
        convolves = self.option("bands") and self.option("frame_map") == "convolutions"
        if not encoder or arch == "decoder":
            return batch.time
        time = batch.time if arch == "encoder" else batch.source_time
        return (time - 3) // 4 if convolves else time

    def _channels(self):
        """CRMSNorm, which both stacks have or none, keeps all channels but one."""
        return self.option("width") - (self.option("norm") == "crmsnorm")

    def watch(self, function):
        """function(point, values) sees the values of every sub-layer in the forward of a step,
        eval, logits or profile, and their gradients in a step's backward: a Point and an array
        (rows, channels), valid within the call. None: no longer. The model is made with
        probes=True."""
        if function and not self.option("probes"):
            raise Error("the model has no probes: it was made without probes=True")
        probe = self.calls.watch(function) if function else None
        self._check(C().tfn_model_watch(self.address, ctypes.cast(probe, ctypes.c_void_p), None))
        self.probe = probe                  # the library has its address

    def profile(self, tokens, **more):
        """Initialization that looks at data (admin, lsuv); else the first step does it."""
        batch = self._batch(tokens, **more)
        self._check(C().tfn_model_profile(self.address, batch.address))

    # -- decoding --

    def decoder(self, batch=1, chunk=1):
        """A Decoder for so many texts, which is fed at most `chunk` tokens of each at once."""
        return Decoder(self, batch, chunk)

    def generate(self, prompts=None, seed=0, end=-1, forbidden=(), scores=False, source=None,
                 **options):
        """Texts that continue prompts, a list of arrays of tokens: greedy, drawn (temperature,
        top_k, top_p, seed), or by beam search (beam); max_tokens and the rest are
        tfn_generate_desc's. end: the token that ends a text. Of an encoder-decoder, source is a
        list of arrays. Returns an array for each, or with scores pairs of list: (score, tokens),
        the best first."""
        sentences = len(source if prompts is None else prompts)
        desc = Struct("tfn_generate_desc", sentences=sentences, end=end,
                      forbidden=whole("forbidden", forbidden if len(forbidden) else [0]),
                      forbidden_count=len(forbidden), key=C().tfn_key_make(seed).bits, **options)
        more = {}
        if source is not None:
            more["source"], more["source_lengths"] = padded("source", source)
        tokens = None
        if prompts is not None:
            tokens, more["lengths"] = padded("prompts", prompts)
        batch = self._batch(tokens, **more)
        generator = Struct("tfn_generator")
        scratch = self._scratch()
        size = C().tfn_generator_size(self.address, desc.address, address(scratch), count(scratch))
        block = zeros((size,), "B")
        status = C().tfn_generator_init(generator.address, self.address, desc.address,
                                        address(block), size)
        status = status or C().tfn_generator_run(generator.address, batch.address, None)
        if status:
            raise error_of(generator.at("error"), status)
        found = [self._written(generator, i) for i in range(sentences)]
        return found if scores else [best[0][1] for best in found]

    def _written(self, generator, i):
        width, most = generator.width, generator.most
        lengths = (ctypes.c_int32 * width).from_address(generator.lengths + 4 * i * width)
        points = (ctypes.c_float * width).from_address(generator.scores + 4 * i * width)
        texts = []
        for k in range(width):
            at = generator.tokens + 4 * (i * width + k) * most
            row = filled((ctypes.c_int32 * lengths[k]).from_address(at)[:], "i")
            if lengths[k] or k == 0:
                texts.append((points[k], row))
        return texts

    def _scratch(self):
        return zeros((C().tfn_model_scratch(self.struct.at("desc")),), "B")

    # -- files --

    def save(self, path, extra=None, tokenizer=None, weights_only=False):
        """A checkpoint; Python's package safetensors reads it, too."""
        file = Struct("tfn_file", path=os.fsencode(path))
        members = {"weights_only": weights_only}
        if extra is not None:
            members["extra"] = extra.encode() + b"\0"
        if tokenizer is not None:
            members["tokenizer"] = tokenizer.struct
        checkpoint = Struct("tfn_checkpoint", **members)
        status = C().tfn_model_save(file.address, self.address, checkpoint.address)
        if status:
            raise error_of(file.at("error"), status)

    @classmethod
    def _of_file(cls, file, options):
        """A model with the shape of a checkpoint and these options, and first values."""
        desc = Struct("tfn_model_desc")
        if C().tfn_model_peek(file.address, desc.address, None):
            raise error_of(file.at("error"))
        set_options(desc.address, options)
        model = cls.__new__(cls)
        model._make(desc)
        return model

    @classmethod
    def load(cls, path, **options):
        """A model from a checkpoint: what is trained on has the bits of a run that never stopped.
        options change what may differ: batch, threads, inference=True ..."""
        file = Struct("tfn_file", path=os.fsencode(path))
        model = cls._of_file(file, options)
        if C().tfn_model_load(model.address, file.address):
            raise error_of(file.at("error"))
        return model

    @classmethod
    def start(cls, path, **options):
        """A new model with the shape and the weights of a checkpoint, to be trained on from there:
        options may name groups, so that it is tuned by LoRA, an optimizer, rates ..."""
        model = cls._of_file(Struct("tfn_file", path=os.fsencode(path)), options)
        model.load_weights(path)
        return model

    @classmethod
    def from_folder(cls, folder, **options):
        """The model in a folder of Hugging Face, or in a GGUF file, with its weights. options are
        those that config.json does not determine: batch, groups, inference=True, weights="q8", a
        shorter context ... Give a batch_tokens or a context if the model reads long texts, because
        the memory of a batch grows with them."""
        desc = Struct("tfn_model_desc")
        set_options(desc.address, options)
        model = cls.__new__(cls)
        model._make(desc, folder=os.fsencode(folder))
        return model

    def export(self, folder, tokenizer=None, family=None, dtype="f32", round=False):
        """Write a folder of Hugging Face with config.json, model.safetensors and the Tokenizer, if
        one is given. The library chooses the family ("gpt2", "llama" ...) that fits, unless one is
        given. dtype: "f32", "f16" or "bf16"; round=True rounds matrices that it cannot hold, which
        are an error otherwise. Merge LoRA first."""
        out = Struct("tfn_export", folder=os.fsencode(folder), dtype=Model.DTYPES[dtype],
                     round=round)
        if tokenizer is not None:
            out.tokenizer = tokenizer.struct
        if family is not None:
            out.family = C().tfn_family_find(family.encode())
            if not out.family:
                raise Error("no family is called %s" % family)
        os.makedirs(folder, exist_ok=True)
        if C().tfn_export_write(out.address, self.address):
            raise error_of(out.at("error"))

    DTYPES = {"f32": 5, "bf16": 8, "f16": 9}                # tfn_dtype

    def merge(self, **options):
        """A model without LoRA whose matrices are W + alpha/r A B. It can train or be exported.
        Merges LoRA of a tied output into a matrix of its own."""
        more = {"groups": [None] * 10}
        if "output.lora_a" in self.parameters():
            more["untied"] = True
        merged = self._like(dict(more, **options))
        merged._check(C().tfn_model_fold(merged.address, self.address))
        return merged

    def save_adapter(self, path):
        """What trains, alone: LoRA's tensors and whatever else is not frozen; load_weights takes
        it into a model with the same groups, behind the weights of its base."""
        file = Struct("tfn_file", path=os.fsencode(path))
        if C().tfn_model_save_adapter(file.address, self.address, None):
            raise error_of(file.at("error"))

    def fold(self, **options):
        """A model for inference with what can be folded into the weights, LoRA too; that of a tied
        output goes into a matrix of its own."""
        more = {"inference": True, "folded": True}
        if "output.lora_a" in self.parameters():
            more["untied"] = True
        folded = self._like(dict(more, **options))
        folded._check(C().tfn_model_fold(folded.address, self.address))
        return folded

    def quantize(self, weights, **options):
        """A model for inference whose matrices are of "q8", "q4", "bf16" or "f16"."""
        packed = self._like(dict({"inference": True, "weights": weights}, **options))
        packed._check(C().tfn_model_quantize(packed.address, self.address))
        return packed

    def _like(self, options):
        """A new model with the same options but these."""
        desc = Struct("tfn_model_desc")
        for name in option_names():
            value = self.option(name)
            if value not in (None, ""):
                set_options(desc.address, {name: value})
        set_options(desc.address, options)
        like = type(self).__new__(type(self))
        like._make(desc)
        return like

    def load_weights(self, path):
        """The weights of a checkpoint alone, to begin anew from them; they may be a part."""
        file = Struct("tfn_file", path=os.fsencode(path))
        if C().tfn_model_load_weights(self.address, file.address, 1):
            raise error_of(file.at("error"))


def padded(name, rows):
    """Rows of different lengths as one array, padded on the right, and their lengths."""
    rows = [whole(name, row, least=1) for row in rows]
    lengths = whole("lengths", [len(row) for row in rows])
    array = zeros((len(rows), max(map(len, rows), default=0)), "i")
    for i, row in enumerate(rows):
        for t, token in enumerate(row):
            array[i, t] = token
    return array, lengths


class Decoder:
    """One token after the other against a cache of the past; the model must not change."""

    def __init__(self, model, batch=1, chunk=1):
        scratch = model._scratch()
        size = C().tfn_decoder_size(model.address, batch, chunk, address(scratch), count(scratch))
        self.model, self.batch, self.calls = model, batch, Calls()
        self.block = zeros((size,), "B")
        self.struct = Struct("tfn_decoder")
        self._check(C().tfn_decoder_init(self.struct.address, model.address, batch, chunk,
                                         address(self.block), size))

    def _check(self, status):
        self.calls.check()
        if status:
            raise error_of(self.struct.at("error"), status)

    def watch(self, function):
        """As Model.watch: next() shows the positions that it feeds, start() those of the source."""
        if function and not self.model.option("probes"):
            raise Error("the model has no probes: it was made without probes=True")
        probe = self.calls.watch(function) if function else None
        self._check(C().tfn_decoder_watch(self.struct.address,
                                          ctypes.cast(probe, ctypes.c_void_p), None))
        self.probe = probe                  # the library has its address

    def start(self, **source):
        """Begin again; of an encoder-decoder with its source and source_lengths, or frames."""
        batch = self.model._batch(None, **source) if source else None
        self._check(C().tfn_decoder_start(self.struct.address, batch and batch.address))

    def next(self, tokens, beam=None):
        """Feed (batch, time) tokens: a view of the logits (batch, vocab) of the last."""
        tokens = flat(whole("tokens", tokens, least=1))
        beam = None if beam is None else whole("beam", beam, (self.batch,))
        if len(tokens) % self.batch:
            raise ValueError("%d tokens for %d texts" % (len(tokens), self.batch))
        logits = C().tfn_decoder_next(self.struct.address, address(tokens),
                                      len(tokens) // self.batch,
                                      None if beam is None else address(beam))
        self.calls.check()
        if not logits:
            raise error_of(self.struct.at("error"))
        return view(logits, (self.batch, self.model.option("vocab")), self)


class Tokenizer:
    """The tokenizer that `tfn train` or `tfn import` put into a checkpoint."""

    def __init__(self, path):
        file = Struct("tfn_file", path=os.fsencode(path))
        size = C().tfn_checkpoint_tokenizer(file.address, None, 0)
        blob = zeros((size,), "B")
        if not size:
            failed = error_of(file.at("error"))
            raise failed if failed.status else Error("%s has no tokenizer" % path)
        C().tfn_checkpoint_tokenizer(file.address, address(blob), size)
        self._make(Struct("tfn_tokenizer_source", blob=blob, blob_size=size))

    @classmethod
    def of(cls, **source):
        """One of the hub's: its files' contents, json=, model=, vocab= or vocab= and merges=, and
        the other members of tfn_tokenizer_source."""
        source = {n: v.encode() if isinstance(v, str) else v for n, v in source.items()}
        sizes = {n + "_size": len(v) for n, v in source.items() if isinstance(v, bytes)}
        tokenizer = cls.__new__(cls)
        tokenizer._make(Struct("tfn_tokenizer_source", **source, **sizes))
        return tokenizer

    def _make(self, source):
        self.block = zeros((C().tfn_tokenizer_size(source.address),), "B")
        self.struct = Struct("tfn_tokenizer")
        status = C().tfn_tokenizer_init(self.struct.address, source.address, address(self.block),
                                        count(self.block))
        if status:
            raise error_of(self.struct.at("error"), status)

    def encode(self, text):
        """The ids of a str or bytes."""
        text = text.encode() if isinstance(text, str) else bytes(text)
        most = len(text) + 1
        while True:                         # a normalizer may make more of a text than its bytes
            ids = zeros((most,), "i")
            found = C().tfn_tokenizer_encode(self.struct.address, address(ids), most, text,
                                             len(text))
            if found <= most:
                return whole("ids", ids[:found])
            most = found

    def decode(self, ids):
        """The text of ids; bytes that are no UTF-8 are replaced."""
        ids = whole("ids", ids, least=1)
        size = C().tfn_tokenizer_decode(self.struct.address, None, 0, address(ids), count(ids))
        text = ctypes.create_string_buffer(size + 1)
        C().tfn_tokenizer_decode(self.struct.address, ctypes.addressof(text), size, address(ids),
                                 count(ids))
        return text.raw[:size].decode(errors="replace")


# -- curves --------------------------------------------------------------------------------------

class Picture:
    """An SVG picture, which a notebook draws; str() is its text."""

    def __init__(self, text):
        self.text = text

    def __str__(self):
        return self.text

    def _repr_svg_(self):
        return self.text


def curve(losses):
    """The SVG of a curve of losses: its highest and lowest value, and the updates. More than 540
    losses are drawn as the means of 540 pieces."""
    losses = [float(loss) for loss in losses]
    updates = len(losses)
    if updates > 540:
        ends = [updates * i // 540 for i in range(541)]
        losses = [statistics.fmean(losses[i:j]) for i, j in zip(ends, ends[1:])]
    losses = losses or [0.0]
    high, low = max(losses), min(losses)
    points = " ".join("%.1f,%.1f" % (50 + 540 * i / max(len(losses) - 1, 1),
                                     20 + 320 * (high - loss) / (high - low or 1))
                      for i, loss in enumerate(losses))
    return ('<svg xmlns="http://www.w3.org/2000/svg" width="600" height="370" '
            'font-family="sans-serif" font-size="12">\n'
            '<polyline fill="none" stroke="#1f77b4" points="%s"/>\n'
            '<text x="4" y="24">%.3f</text>\n<text x="4" y="344">%.3f</text>\n'
            '<text x="220" y="364">nats per target over %d updates</text>\n</svg>\n'
            % (points, high, low, updates))


def plot(losses, path=None):
    """A curve of losses, such as model.losses. Without a path returns a Picture, which a notebook
    draws. A path that ends in .svg is written here, any other one by matplotlib."""
    if path is None:
        return Picture(curve(losses))
    if not str(path).endswith(".svg"):
        import matplotlib
        matplotlib.use("Agg")
        from matplotlib import pyplot
        figure, axes = pyplot.subplots()
        axes.plot(range(1, len(losses) + 1), losses)
        axes.set(xlabel="update", ylabel="nats per target")
        figure.savefig(path)
        pyplot.close(figure)
        return None
    with open(path, "w") as file:
        file.write(curve(losses))
    return None
