"""Writes a wheel of tfnorm.py and the header: `pip install ./tools` calls it, and so does
    python3 tools/packaging/tfnorm_wheel.py FOLDER
It needs only Python. The same sources give the same bytes. The package requires nothing: it uses
numpy if it is installed. A C compiler is needed at the first call, unless TFNORM_LIBRARY names a
library."""
import base64
import hashlib
import os
import re
import sys
import zipfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
FILES = {"tfnorm/__init__.py": "tools/tfnorm.py", "tfnorm/tfnorm.h": "tfnorm.h",
         "tfnorm/common/threads.h": "tools/common/threads.h"}
METADATA = """Metadata-Version: 2.1
Name: tfnorm
Version: %s
Summary: Train and run small Transformers, with the bits of tfnorm.h
License: MIT or public domain
Requires-Python: >=3.8
Provides-Extra: numpy
Requires-Dist: numpy; extra == "numpy"
Description-Content-Type: text/markdown

%s"""
TAG = "py3-none-any"
WHEEL = "Wheel-Version: 1.0\nGenerator: tfnorm\nRoot-Is-Purelib: true\nTag: %s\n" % TAG


def read(path):
    with open(os.path.join(ROOT, path), "rb") as file:
        return file.read()


def version():
    return re.search(r'^__version__ = "(.*)"$', read("tools/tfnorm.py").decode(), re.M).group(1)


def contents():
    """{path in the wheel: bytes}"""
    info = "tfnorm-%s.dist-info/" % version()
    files = {to: read(path) for to, path in FILES.items()}
    files[info + "LICENSE"] = read("LICENSE")
    files[info + "METADATA"] = (METADATA % (version(), read("README.md").decode())).encode()
    files[info + "WHEEL"] = WHEEL.encode()
    record = ""
    for path, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += "%s,sha256=%s,%d\n" % (path, digest, len(data))
    files[info + "RECORD"] = (record + info + "RECORD,,\n").encode()
    return files


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """The hook of PEP 517; returns the name of the file."""
    name = "tfnorm-%s-%s.whl" % (version(), TAG)
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in contents().items():
            entry = zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    return name


def build_sdist(sdist_directory, config_settings=None):
    """The other hook of PEP 517: the source of this package is the repository."""
    raise NotImplementedError("no sdist: clone the repository, or build a wheel")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    print(os.path.join(sys.argv[1], build_wheel(sys.argv[1])))
