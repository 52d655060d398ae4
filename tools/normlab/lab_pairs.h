/* Pairs of sentences from files, cut into subwords: the task "pairs". A folder has train.tsv,
 * valid.tsv and test.tsv, lines of SOURCE tab TARGET, as tools/catalogs.py writes them. Subwords
 * are learned from train.tsv. The loss is that of the validation set, the scores that of the
 * test. */
#ifndef LAB_PAIRS_H
#define LAB_PAIRS_H

/* Reads the pairs to learn. NULL, or the reason why a folder is not suitable. */
const char *lab_take_pairs(const char *folder);
#endif
