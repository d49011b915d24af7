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
tl_boxes_remark(const TlPassCx *cx, const TlOp *load, const TlBoxes *boxes)
{
   if (tl_wants_remarks(cx->diags, "tma"))
      tl_report(cx->diags, R0421, load->range, 1u << boxes->log2_num, boxes->log2_num ? "es" : "",
                boxes->swizzle);
}

void
tl_ring_boxes_remark(const TlPassCx *cx, const TlRingLoad *l, const char *why)
{
   if (!why)
      tl_boxes_remark(cx, l->op, &l->boxes->boxes);
   else if (tl_wants_remarks(cx->diags, "tma"))
      tl_report(cx->diags, R0422, l->op->range, why);
}

void
tl_ring_boxes_copy(TlPipe *p, TlBuilder *b, const TlRingLoad *l, TlValue *view, TlValue *barriers,
                   TlValue *slot, const TlMap *map, TlValue *pred)
{
   tl_box_access_copy(b, l->boxes, tl_ring_turned_view(p, b, l, view), barriers, slot, map, pred);
}
