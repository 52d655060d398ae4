#!/usr/bin/env python3
"""python3 quantize.py FOLDER IN.gguf OUT.gguf TYPE: llama.cpp itself writes OUT, with all matrices
as TYPE (f16, q8_0 or q4_0). FOLDER has llama.cpp's libraries, those of node-llama-cpp."""
import ctypes
import glob
import sys

folder, source, to, kind = sys.argv[1:]
for name in ("libggml-base*", "libggml-cpu-x64*", "libggml.*", "libggml.v*", "libllama.*"):
    for path in glob.glob(f"{folder}/{name}"):
        library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)


class Settings(ctypes.Structure):
    """The beginning of llama_model_quantize_params, and room for what later versions append."""
    _fields_ = [("threads", ctypes.c_int32), ("file_type", ctypes.c_int32),
                ("output_type", ctypes.c_int32), ("embedding_type", ctypes.c_int32),
                ("requantize", ctypes.c_bool), ("output", ctypes.c_bool),
                ("only_copy", ctypes.c_bool), ("pure", ctypes.c_bool),
                ("rest", ctypes.c_uint8 * 256)]


library.llama_model_quantize_default_params.restype = Settings
settings = library.llama_model_quantize_default_params()
settings.threads = 1
settings.file_type = {"f16": 1, "q4_0": 2, "q8_0": 7}[kind]
settings.pure = True
library.llama_model_quantize.restype = ctypes.c_uint32
library.llama_model_quantize.argtypes = [ctypes.c_char_p, ctypes.c_char_p,
                                         ctypes.POINTER(Settings)]
library.llama_backend_init()
sys.exit(library.llama_model_quantize(source.encode(), to.encode(), ctypes.byref(settings)))
