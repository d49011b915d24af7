/* Remarks: what the compiler did and what it could not do, by source line. */
#ifndef TL_PASSES_REMARK_H
#define TL_PASSES_REMARK_H

#include "passes/pass.h"

/* Group "layout": width of every access, how every dot is computed. */
void tl_remark_layouts(TlPassCx *cx, TlFunc *f);
/* Group "layout": every conversion that is left, with bytes and way. */
void tl_remark_conversions(TlPassCx *cx, TlFunc *f);

/* Group "tma": whether the loads that feed dots are boxes of a tensor. */
void tl_remark_tiles(TlPassCx *cx, TlFunc *f);

#endif
