/* Loads whose ring boxes of a tensor fill (box_access.c). */
#include "passes/ring_boxes.h"

#include <assert.h>

const char *
tl_why_no_boxes(const TlPipe *p, const TlRingLoad *l)
{
   return tl_box_access(p->affine, l->op, tl_ring_turned_type(p, l),
                        tl_new(p->cx->scratch, TlBoxAccess));
}

TlBoxAccess *
tl_ring_boxes(TlPipe *p, const TlRingLoad *l, const char **why)
{
   TlBoxAccess *x = tl_new(p->cx->scratch, TlBoxAccess);
   const TlType *stage = tl_ring_turned_type(p, l);
   *why = tl_box_access(p->affine, l->op, stage, x);
   if (!*why)
      *why = tl_box_access_build(p->cx->scratch, p->func, l->op, stage, x);
   return *why ? NULL : x;
}

void
tl_ring_boxes_remark(const TlPassCx *cx, const TlRingLoad *l, const char *why)
{
   if (!tl_wants_remarks(cx->diags, "tma"))
      return;
   if (why) {
      tl_report(cx->diags, R0422, l->op->range, why);
      return;
   }
   const TlBoxes *boxes = &l->boxes->boxes;
   tl_report(cx->diags, R0421, l->op->range, 1u << boxes->log2_num, boxes->log2_num ? "es" : "",
             boxes->swizzle);
}

void
tl_ring_boxes_copy(TlPipe *p, TlBuilder *b, const TlRingLoad *l, TlValue *view, TlValue *barriers,
                   TlValue *slot, const TlMap *map, TlValue *pred)
{
   const TlBoxAccess *x = l->boxes;
   TlValue *args[5 + TL_TMAP_RANK] = {tl_slice_mapped(map, x->map),
                                      tl_box_access_view(b, x, tl_ring_turned_view(p, b, l, view)),
                                      barriers, slot};
   for (unsigned i = 0; i < x->rank; i++)
      args[4 + i] = tl_slice_mapped(map, x->coordinate[i]);
   args[4 + x->rank] = pred;
   tl_build_n(b, TL_OP_BOX_COPY, args, 4 + x->rank + (pred != NULL), NULL, TL_ATTRS_());
}
