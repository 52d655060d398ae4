/* References of every name as BibTeX, and where paper and code differ. */
#ifndef PAPERS_H
#define PAPERS_H

/* The note and the references of a name. */
void print_notes(const char *name);
#endif
