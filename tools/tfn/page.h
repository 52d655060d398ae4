/* Style and script of the pages of tfn inspect. A page loads nothing, follows the reader's light or
 * dark mode, and is well-formed XML, so the script has no angle bracket and no ampersand. */
#ifndef PAGE_H
#define PAGE_H

#include <stdio.h>

extern const char *const page_attention[];

/* state: the displayed map and the selected row. A map is drawn once into an image with one pixel a
 * weight, which is then stretched. */
extern const char *const page_script[];

void page_lines(FILE *f, const char *const *lines);

void page_begin(FILE *f, const char *title);

void page_end(FILE *f);
#endif
