#!/usr/bin/env python3
# python3 tools/catalogs.py DIR [--to LANG] [--test NAME ...] [--valid NAME ...] [--download]
#     [--into-english] [--words LEAST MOST] PACKAGE ...
# Pairs of sentences from message catalogs (.mo files) of Debian packages, English and LANG (de):
#     DIR/train.tsv, valid.tsv, test.tsv    lines ENGLISH tab LANG; --into-english: LANG first
#     DIR/packages.txt                      each package: its split and its pairs
# Nothing of it is committed: the messages belong to their authors, under each package's license.
#
# A PACKAGE is installed (dpkg -L lists its files), or NAME=FOLDER, a folder tree that dpkg -x
# unpacked. With --download, packages that are not installed are fetched by apt-get download and
# unpacked into DIR/packages. Sources of a hundred thousand pairs: gimp-data inkscape gnucash-common
# libreoffice-l10n-de git.
#
# The test and the validation set hold whole packages: within a package, messages come again with
# small changes. --test and --valid name them; without these, packages in the order of their names'
# hashes, the first with at least 1,000 pairs or a tenth of all. A pair whose English or whose
# translation is in an earlier split (test, valid, train) is left out of the later ones.
#
# Left out are also: pairs equal to their source, with another number of words than --words (3 to
# 25), whose formats (%s, %1$d, {name}, <b>) differ, and all but the first translation of a message.
# The marks of keyboard shortcuts (_File, &File, ~File) go, and white space becomes one space.
import argparse, collections, glob, hashlib, os, re, struct, subprocess, sys

LEAST_HELD_OUT = 1000
FORMATS = re.compile(r'%(?!%)(?:\(\w+\)|\d+\$|\d+(?![\w$]))?[-+#0]*\d*(?:\.\d+)?(?:hh|ll|[hlqjzt])?'
                     r'[diouxXeEfgGcsp]|%\d+|\{\w*\}|\$\{?\w+\}?|</?\w[^>]*>')

def read_mo(data):
    """The pairs of bytes of a catalog: a header of 28 bytes, then tables of (length, offset)."""
    if len(data) < 28: raise ValueError('it is shorter than a header')
    order = {0x950412de: '<', 0xde120495: '>'}.get(struct.unpack('<I', data[:4])[0])
    if not order: raise ValueError('it does not begin as a catalog')
    version, count, ids, texts = struct.unpack(order + '4I', data[4:20])
    if version >> 16 > 1: raise ValueError('its version is not known')
    def text(table, i):
        if table + 8 * i + 8 > len(data): raise ValueError('its table is cut')
        length, at = struct.unpack(order + '2I', data[table + 8 * i:table + 8 * i + 8])
        if at + length > len(data): raise ValueError('a message is cut')
        return data[at:at + length]
    return [(text(ids, i), text(texts, i)) for i in range(count)]

def messages(data):
    """Pairs of texts. A message may have a context before byte 4 and plural forms after byte 0."""
    pairs = read_mo(data)
    header = next((t for m, t in pairs if not m), b'').decode('latin-1')
    charset = (re.findall(r'charset=([\w-]+)', header) + ['utf-8'])[0]
    for message, translation in pairs:
        if not message: continue
        try:
            source = message.split(b'\4')[-1].decode('utf-8').split('\0')
            target = translation.decode(charset).split('\0')
        except (UnicodeDecodeError, LookupError):
            continue
        yield source[0], target[0]
        if len(source) > 1 and len(target) > 1: yield source[1], target[-1]

def formats(text): return sorted(FORMATS.findall(text.replace('%%', '')))

def clean(source, target):
    """Without marks of shortcuts, which both sides have once; white space becomes one space."""
    for mark in '_&~':
        found = [re.findall(re.escape(mark) + r'(?=\w)', side) for side in (source, target)]
        if all(len(f) == 1 for f in found):
            source, target = (re.sub(re.escape(mark) + r'(?=\w)', '', side)
                              for side in (source, target))
    return ' '.join(source.split()), ' '.join(target.split())

def is_useful(source, target, least, most):
    if not source or not target or source == target: return False
    if formats(source) != formats(target): return False
    return all(least <= len(side.split()) <= most for side in (source, target))

def catalogs_of(files, language):
    end = re.compile(f'/{re.escape(language)}/LC_MESSAGES/[^/]*\\.mo$')
    return sorted(f for f in files if end.search(f))

def files_below(folder):
    return [os.path.join(path, f) for path, _, files in os.walk(folder) for f in files]

def installed_files(package):
    try:
        done = subprocess.run(['dpkg', '-L', package], capture_output=True, text=True, check=False)
    except OSError:
        return []
    return [line for line in done.stdout.splitlines() if os.path.isfile(line)]

def download(package, folder):
    """Fetches a package and unpacks it without installing it."""
    where = os.path.abspath(os.path.join(folder, 'packages'))
    to = os.path.join(where, package)
    if os.path.isdir(to): return files_below(to)
    os.makedirs(where, exist_ok=True)
    subprocess.run(['apt-get', 'download', package], cwd=where, check=True)
    archive = sorted(glob.glob(os.path.join(where, glob.escape(package) + '_*.deb')))[-1]
    subprocess.run(['dpkg', '-x', archive, to], check=True)
    return files_below(to)

def package_pairs(name, files, options):
    """The useful pairs of a package, by the order of its files."""
    pairs = []
    for path in catalogs_of(files, options.to):
        with open(path, 'rb') as f: data = f.read()
        try:
            for source, target in messages(data):
                pair = clean(source, target)
                if is_useful(*pair, *options.words): pairs.append(pair)
        except ValueError as e:
            sys.exit(f'{path} is not a message catalog: {e}')
    if not pairs: print(f'catalogs.py: no pairs in {name}', file=sys.stderr)
    return pairs

def choose(packages, named, taken, least):
    """The packages to hold out: those named, or enough in the order of their names' hashes."""
    unknown = [n for n in named if n not in packages]
    if unknown: sys.exit(f'no such package was given: {unknown[0]}')
    if named: return list(named)
    chosen, count = [], 0
    for name in sorted(packages, key=lambda n: hashlib.sha256(n.encode()).hexdigest()):
        if count >= least: break
        if name in taken: continue
        chosen.append(name)
        count += len(packages[name])
    return chosen

def split(packages, options):
    """Lists of pairs by split. What an earlier split has is left out of the later ones."""
    least = min(LEAST_HELD_OUT, sum(map(len, packages.values())) // 10)
    test = choose(packages, options.test, list(options.valid), least)
    valid = choose(packages, options.valid, test, least)
    if set(test) & set(valid): sys.exit('a package is in the test and in the validation set')
    names = {'test': test, 'valid': valid,
             'train': [n for n in packages if n not in test + valid]}
    if not names['train']: sys.exit('no package is left for training')
    seen, found, lists = [set(), set()], collections.Counter(), {}
    for part, members in names.items():
        lists[part], fresh = [], [set(), set()]
        for name in members:
            for pair in packages[name]:
                if any(side.casefold() in known for side, known in zip(pair, seen)): continue
                if pair[0].casefold() in fresh[0]: continue
                for side, known in zip(pair, fresh): known.add(side.casefold())
                lists[part].append(pair)
                found[name] += 1
        for known, new in zip(seen, fresh): known |= new
    return names, lists, found

def main():
    p = argparse.ArgumentParser(prog='catalogs.py', usage='catalogs.py DIR [options] PACKAGE ...')
    p.add_argument('folder')
    p.add_argument('packages', nargs='+')
    p.add_argument('--to', default='de')
    p.add_argument('--test', nargs='+', default=[])
    p.add_argument('--valid', nargs='+', default=[])
    p.add_argument('--words', nargs=2, type=int, default=[3, 25])
    p.add_argument('--download', action='store_true')
    p.add_argument('--into-english', action='store_true')
    options = p.parse_intermixed_args()
    packages = {}
    for given in options.packages:
        name, _, folder = given.partition('=')
        files = files_below(folder) if folder else installed_files(name)
        if options.download and not folder and not catalogs_of(files, options.to):
            files = download(name, options.folder)
        packages[name] = package_pairs(name, files, options)
    names, lists, found = split(packages, options)
    os.makedirs(options.folder, exist_ok=True)
    for part, pairs in lists.items():
        if options.into_english: pairs = [(t, s) for s, t in pairs]
        path = os.path.join(options.folder, part + '.tsv')
        with open(path, 'w', encoding='utf-8', newline='\n') as f:
            f.writelines(f'{s}\t{t}\n' for s, t in pairs)
    with open(os.path.join(options.folder, 'packages.txt'), 'w', encoding='utf-8') as f:
        for part, members in names.items():
            f.writelines(f'{part}\t{name}\t{found[name]}\n' for name in members)
    print(', '.join(f'{part} {len(pairs)}' for part, pairs in lists.items()))

main()
