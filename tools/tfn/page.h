/* The form of the pages of tfn inspect: style and script. A page loads nothing, is light or dark as
 * its reader likes, and is well-formed XML: the script has no angle bracket and no ampersand. */
#ifndef PAGE_H
#define PAGE_H

#include <stdio.h>

extern const char *const page_attention[];

/* state: the map that is shown and the row that is chosen. A map is drawn once into an image of a
 * pixel a weight, which is then stretched. */
extern const char *const page_script[];

void page_lines(FILE *f, const char *const *lines);

void page_begin(FILE *f, const char *title);

void page_end(FILE *f);
#endif
