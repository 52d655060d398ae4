/* References of every name as BibTeX, and differences between paper and code. */
#ifndef PAPERS_H
#define PAPERS_H

/* Prints the note and the references of a name. */
void print_notes(const char *name);
#endif
