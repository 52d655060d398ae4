# python3 agree.py FOLDER: random lines FOLDER/found and FOLDER/wanted, and on the standard output what
# the package nltk says of them, to be compared with tfn score (../tfn.sh): BLEU with the smoothing
# of Chen & Cherry 2014, method 3, which is sacrebleu's "exp"; edit distances.
import random, sys
from nltk.metrics.distance import edit_distance
from nltk.translate.bleu_score import SmoothingFunction, corpus_bleu

random.seed(7)
words = 'the a cat dog sat on mat und der naïve Zürich 3.14 x'.split()
found, wanted = [], []
for _ in range(300):
    line = random.choices(words, k=random.randint(4, 14))
    other = [random.choice(words) if random.random() < 0.3 else w for w in line if random.random() < 0.9]
    found.append(other if len(other) > 3 else line)
    wanted.append(line)
for name, lines in (('found', found), ('wanted', wanted)):
    with open(f'{sys.argv[1]}/{name}', 'w', encoding='utf-8') as f:
        f.writelines(' '.join(line) + '\n' for line in lines)
bleu = corpus_bleu([[w] for w in wanted], found, smoothing_function=SmoothingFunction().method3)
wer = sum(edit_distance(f, w) for f, w in zip(found, wanted)) / sum(map(len, wanted))
texts = [(' '.join(f), ' '.join(w)) for f, w in zip(found, wanted)]
cer = sum(edit_distance(f, w) for f, w in texts) / sum(len(w) for _, w in texts)
print(f'BLEU {100 * bleu:.2f}\nWER {wer:.4f}\nCER {cer:.4f}')
