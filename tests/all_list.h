/* The files of all.c in the order in which they run: a folder and a name. This list is read twice,
 * to include each file and to call it (all_next.h). */
#define ALL_FILE ground, math
#include "all_next.h"
#define ALL_FILE kernels, dense
#include "all_next.h"
#define ALL_FILE kernels, kernels
#include "all_next.h"
#define ALL_FILE kernels, guard
#include "all_next.h"
#define ALL_FILE kernels, quant
#include "all_next.h"
#define ALL_FILE kernels, reference
#include "all_next.h"
#define ALL_FILE kernels, norms
#include "all_next.h"
#define ALL_FILE kernels, attention
#include "all_next.h"
#define ALL_FILE kernels, embed
#include "all_next.h"
#define ALL_FILE kernels, schedules
#include "all_next.h"
#define ALL_FILE tape, tape
#include "all_next.h"
#define ALL_FILE model, model
#include "all_next.h"
#define ALL_FILE model, step
#include "all_next.h"
#define ALL_FILE model, ema
#include "all_next.h"
#define ALL_FILE model, mup
#include "all_next.h"
#define ALL_FILE model, identities
#include "all_next.h"
#define ALL_FILE model, inits
#include "all_next.h"
#define ALL_FILE model, generate
#include "all_next.h"
#define ALL_FILE text, metrics
#include "all_next.h"
#define ALL_FILE model, golden
#include "all_next.h"
#define ALL_FILE text, tokenize
#include "all_next.h"
#define ALL_FILE text, hub
#include "all_next.h"
#define ALL_FILE hub, import
#include "all_next.h"
#define ALL_FILE hub, export
#include "all_next.h"
#define ALL_FILE hub, peft
#include "all_next.h"
#define ALL_FILE model, papers
#include "all_next.h"
#define ALL_FILE files, files
#include "all_next.h"
#define ALL_FILE model, own
#include "all_next.h"
#define ALL_FILE model, options
#include "all_next.h"
#define ALL_FILE files, foreign
#include "all_next.h"
#define ALL_FILE model, groups
#include "all_next.h"
#define ALL_FILE api, nulls
#include "all_next.h"
#define ALL_FILE model, reading
#include "all_next.h"
#define ALL_FILE kernels, bits
#include "all_next.h"
