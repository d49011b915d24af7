/* An access of a tile as boxes of a tensor: loads that fill a ring (ring_boxes.c), stores
 * (store_boxes.c). */
#ifndef TL_PASSES_BOX_ACCESS_H
#define TL_PASSES_BOX_ACCESS_H

#include "ir/affine.h"
#include "layout/hw_layouts.h"

enum {
   TL_MAX_MAPS = 16,       /* of a launch */
   TL_MOST_GROUP_BITS = 3, /* of 32 warps by four */
};

typedef struct TlBoxAccess {
   TlTileAccess access;
   TlBoxes boxes;
   int64_t order[TL_MAX_RANK];        /* dimension of the buffer as boxes have it -> of the tile */
   TlValue *map;                      /* at the top of the kernel, or where it is known */
   TlValue *coordinate[TL_TMAP_RANK]; /* before the access; as many as the map has dimensions */
   unsigned rank;                     /* of the map */
   bool is_own;                       /* only the kernel knows the tensor: it makes the map */
} TlBoxAccess;

/* The dimension that is contiguous in memory: tl_tile_access found one. */
unsigned tl_inner_dim(const TlTileAccess *a);
/* May two pointers be of one tensor?  What lies behind different parameters is taken for different
 * memory, and so are a table of pointers and what these point to. */
bool tl_may_be_one_tensor(const TlValue *pointer, const TlValue *other);
/* The tensor of a load or store, of the launch's or of the kernel's own: NULL, or why none. */
const char *tl_box_tensor(TlAffine *affine, const TlOp *access, TlBoxAccess *x);
/* The load or store as boxes between its tensor and a buffer (a memdesc of one stage): NULL, or why
 * not. */
const char *tl_box_access(TlAffine *affine, const TlOp *access, const TlType *buffer,
                          TlBoxAccess *x);
/* A bit of the number of a group of four warps, which chooses among boxes: bit `box` of their
 * number.  Elements whose index along the tile's dimension `dim` has the bit `step` are those of
 * groups that have this one. */
typedef struct TlGroupBit {
   int64_t box;
   uint32_t dim, step;
} TlGroupBit;

/* The boxes of a tile cut so that each belongs to one group of four warps, those that hold it as
 * the layout says: the bits of the group, so many as are returned; 0 where no boxes are so. */
unsigned tl_box_access_group(const TlBoxAccess *x, const TlLinear *tile, const TlType *buffer,
                             TlBoxes *boxes, TlGroupBit bits[TL_MOST_GROUP_BITS]);
/* Makes the map and the coordinates of what tl_box_access found: NULL, or why there is no map. */
const char *tl_box_access_build(TlArena *scratch, TlFunc *f, TlOp *access, const TlType *buffer,
                                TlBoxAccess *x);
/* Fills the view by boxes, whose bytes count at stage `slot` of the barriers, where pred is true or
 * NULL; `map` has what values became (tl_slice_mapped). */
void tl_box_access_copy(TlBuilder *b, const TlBoxAccess *x, TlValue *view, TlValue *barriers,
                        TlValue *slot, const TlMap *map, TlValue *pred);
/* The buffer with the dimensions of the map's boxes. */
TlValue *tl_box_access_view(TlBuilder *b, const TlBoxAccess *x, TlValue *view);

#endif
