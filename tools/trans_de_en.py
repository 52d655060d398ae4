#!/usr/bin/env python3
# python3 tools/trans_de_en.py DIR
# German-English pairs from Debian's dictionary (apt-get install trans-de-en; GPL, never committed):
#     DIR/train.tsv, valid.tsv, test.tsv    lines GERMAN tab ENGLISH; 5,000 are for the test
#     DIR/test.de, test.en                  its two sides
#     DIR/words.en                          test.de word for word: the baseline
# The score of the baseline: tfn score DIR/words.en DIR/test.en.
#
# An entry is "a; b | c :: x; y | z": parts that belong together, each with alternatives. Remarks in
# brackets go, {such} (ones) [too] <and these> /or abbreviations/, as do alternatives in which
# something is left open. Pairs are German alternatives with the first English one, at most 16 words
# a side; words of over 8 letters alone, compounds mostly, are left out. An entry belongs to one split
# as a whole, by its hash; test and validation have the first pair of each of its parts that has 3
# German words or more, and training none of these.
#
# The baseline knows every entry of training, long words too. Of a word's translations it takes the
# one that is most frequent in the English of training; a word without one stays as it is.
import collections, hashlib, os, re, sys

DICTIONARY = '/usr/share/trans/de-en'
MOST, LETTERS, TESTS, VALIDS = 16, 8, 5000, 1000

def clean(text):
    text = re.sub(r'\{[^}]*\}|\([^)]*\)|\[[^]]*\]|<[^>]*>|/[^/]*/', ' ', text)
    text = ' '.join(text.replace('’', "'").split()).strip(' ,;:')
    return '' if re.search('[][{}()<>/|…\t]|\\.\\.|::', text) else text

def alternatives(part):
    part = re.sub(r'\{[^}]*\}|\([^)]*\)', ' ', part)       # they may hold a semicolon
    return [a for a in map(clean, part.split(';')) if a and len(a.split()) <= MOST]

def entries(path):
    for line in open(path, encoding='utf-8'):
        if line.startswith('#') or line.count(' :: ') != 1: continue
        german, english = (side.split(' | ') for side in line.rstrip('\n').split(' :: '))
        if len(german) != len(english): continue
        parts = [(alternatives(g), alternatives(e)) for g, e in zip(german, english)]
        parts = [p for p in parts if p[0] and p[1]]
        if parts: yield hashlib.sha256(line.encode()).hexdigest(), parts

def translate(words, text):
    out = []
    for token in re.findall(r"[\w'-]+|[^\w\s]", text):
        forms = (token, token.lower(), token.capitalize())
        out.append(next((words[f] for f in forms if f in words), token))
    text = re.sub(r' ([.,!?;:])', r'\1', ' '.join(out))
    return text[:1].upper() + text[1:] if text[-1:] in ('.', '!', '?') else text

def main(folder):
    if not os.path.exists(DICTIONARY):
        sys.exit(f'{DICTIONARY} is not there: apt-get install trans-de-en')
    sizes = {'test': TESTS, 'valid': VALIDS}
    pairs = {'test': [], 'valid': [], 'train': []}
    found, read = collections.defaultdict(set), set()
    for _, parts in sorted(entries(DICTIONARY)):
        split = next((s for s in sizes if len(pairs[s]) < sizes[s]), 'train')
        for german, english in parts:
            if split == 'train':
                for g in german:
                    if ' ' not in g: found[g].update(re.sub('^to ', '', e) for e in english)
            elif len(german[0].split()) < 3: continue
            for g in german if split == 'train' else german[:1]:
                if g in read or len(pairs[split]) == sizes.get(split): continue
                if split != 'train': read.add(g)
                if ' ' in g or len(g) <= LETTERS: pairs[split].append((g, english[0]))
    pairs['train'] = list(dict.fromkeys(pairs['train']))
    often = collections.Counter(word for _, e in pairs['train'] for word in e.split())
    words = {g: min(e, key=lambda text: (-often[text], text)) for g, e in found.items()}
    os.makedirs(folder, exist_ok=True)
    def write(name, lines):
        with open(os.path.join(folder, name), 'w', encoding='utf-8', newline='\n') as f:
            f.writelines(line + '\n' for line in lines)
    for split in pairs: write(split + '.tsv', ('\t'.join(p) for p in pairs[split]))
    write('test.de', (p[0] for p in pairs['test']))
    write('test.en', (p[1] for p in pairs['test']))
    write('words.en', (translate(words, p[0]) for p in pairs['test']))
    print(', '.join(f'{s} {len(p)}' for s, p in pairs.items()), f'; {len(words)} words')

if len(sys.argv) != 2: sys.exit('usage: trans_de_en.py DIR')
main(sys.argv[1])
