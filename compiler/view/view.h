/* `tilec view`: one HTML page that shows how a kernel became machine code.
 *
 * While a kernel is compiled the view is told of each state that it reaches, then of PTX and what
 * the assembler and a disassembler say; it keeps texts and facts, no operations.  The page is data
 * (JSON) in a template: view.html, view.css, view.js.  The same input gives the same bytes.
 *
 *    stages.c    text of TYPED, LAID and LOWERED; which source each line comes from
 *    assembly.c  the same for PTX and SASS
 *    layouts.c   the layouts of LAID, and who has them
 *    shared.c    shared memory: buffers, when they are taken, accesses and their bank conflicts
 *    trace.c     what LOWERED does with integers known: addresses, copies, waits, products in order
 *    timeline.c  that order with roles at work beside each other
 *    facts.c     registers, spills, occupancy, arguments
 *    page.c      all of it in the template
 *    svg.c       one layout as a picture, for documents */
#ifndef TL_VIEW_VIEW_H
#define TL_VIEW_VIEW_H

#include "base/diag.h"
#include "ir/ir.h"
#include "passes/pass.h"

typedef struct TlView TlView;

/* Everything lives in the arena. */
TlView *tl_view_new(TlArena *arena, TlSources *sources);
/* A function in the state it is in now.  `places`: of shared buffers, once it is LOWERED. */
void tl_view_reached(TlView *v, const TlFunc *f, const TlSharedPlace *places, size_t num_places);
void tl_view_ptx(TlView *v, const char *text, size_t len);
void tl_view_sass(TlView *v, const char *text, size_t len);
/* In place of SASS: why there is none. */
void tl_view_no_sass(TlView *v, const char *why);

/* What ptxas says that a kernel takes, in registers and bytes of a thread. */
typedef struct TlUsage {
   bool is_known;
   unsigned registers, stack, spill_stores, spill_loads;
} TlUsage;

/* What the page's header says beyond the function. */
typedef struct TlViewFacts {
   const char *producer; /* "tilec 0.9" */
   const TlTarget *target;
   TlUsage usage;
} TlViewFacts;

void tl_view_page(TlView *v, const TlViewFacts *facts, const TlDiags *diags, TlSb *out);

/* A layout as a picture in SVG.  Of a tile: which warp and lane holds an element, and in which
 * register; of shared memory (a layout without lanes and warps): the bank of an element of
 * `elem_bytes`.  `title` stands above it. */
void tl_view_layout_svg(const TlLinear *layout, unsigned elem_bytes, const char *title, TlSb *out);

/* The layout of --layout: "#l3" or a value's name, with or without '%', as the LAID text has them.
 * NULL: there is none of this name.  *elem_bytes and *title are for the picture. */
const TlLinear *tl_view_find_layout(const TlView *v, const char *name, unsigned *elem_bytes,
                                    const char **title);
/* Where there is none: "did you mean 'mask'?", or which there are. */
const char *tl_view_layout_names(const TlView *v, const char *name);

#endif
