/* Uniqued IR types: two equal types of one TlTypes are one pointer. */
#ifndef TL_IR_TYPES_H
#define TL_IR_TYPES_H

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "ir/dtype.h"
#include "layout/linear.h"

enum {
   TL_MAX_RANK = TL_LL_MAX_RANK,
   TL_MAX_TILE_ELEMS = 1 << 20,
   TL_TMAP_RANK = 5, /* PTX ISA, "Tensor dimension, size and format" */
   TL_TMAP_BOX = 256,
};

typedef enum TlTypeKind {
   TL_TYPE_SCALAR,
   TL_TYPE_PTR,     /* to device memory (global) */
   TL_TYPE_TILE,    /* of scalars or pointers */
   TL_TYPE_REGS,    /* LOWERED: `count` registers of one thread */
   TL_TYPE_MEMDESC, /* LAID: a shared-memory buffer or view */
   TL_TYPE_TOKEN,   /* LAID: a copy in flight */
   TL_TYPE_TMAP,    /* LAID, LOWERED: a tensor map, by which boxes of a tensor are copied */
} TlTypeKind;

typedef struct TlType TlType;
struct TlType {
   TlTypeKind kind;
   TlDtype dtype;               /* SCALAR, MEMDESC, TMAP; of a tile or regs of scalars: theirs */
   bool is_const;               /* PTR: stores are rejected */
   const TlType *elem;          /* PTR: pointee; TILE, REGS: SCALAR or PTR */
   uint8_t rank;                /* TILE, MEMDESC, TMAP */
   uint32_t shape[TL_MAX_RANK]; /* TILE, MEMDESC; TMAP: of a box */
   uint32_t count;              /* REGS: registers; MEMDESC: stages (1 = not staged) */
   bool is_in_flight;           /* REGS, TILE: still being computed; only waits may read them */
   const TlLinear *layout;      /* TILE in LAID state, MEMDESC: interned; else NULL */
};

typedef struct TlTypes TlTypes;

TlTypes *tl_types_new(TlArena *arena);
const TlType *tl_type_scalar(TlTypes *t, TlDtype dtype);
const TlType *tl_type_ptr(TlTypes *t, const TlType *pointee, bool is_const);
/* elem is SCALAR or PTR; layout may be NULL (TYPED). */
const TlType *tl_type_tile(TlTypes *t, const TlType *elem, unsigned rank, const uint32_t *shape,
                           const TlLinear *layout);
/* count 1 gives the element type itself: a scalar is one register. */
const TlType *tl_type_regs(TlTypes *t, const TlType *elem, uint32_t count);
/* The same registers or tile while an instruction in flight computes them, or once it is done. */
const TlType *tl_type_in_flight(TlTypes *t, const TlType *of, bool is_in_flight);
const TlType *tl_type_memdesc(TlTypes *t, TlDtype dtype, unsigned rank, const uint32_t *shape,
                              const TlLinear *layout, uint32_t stages);
const TlType *tl_type_token(TlTypes *t);
/* rank 1 to 5, each side of the box at most 256. */
const TlType *tl_type_tmap(TlTypes *t, TlDtype dtype, unsigned rank, const uint32_t *box);
/* The same tile shape with another element type, or another layout; a scalar type for scalars. */
const TlType *tl_type_with_elem(TlTypes *t, const TlType *like, const TlType *elem);
const TlType *tl_type_with_layout(TlTypes *t, const TlType *tile, const TlLinear *layout);
const TlLinear *tl_layout_intern(TlTypes *t, const TlLinear *layout);

static inline bool
tl_type_is_tile(const TlType *t)
{
   return t->kind == TL_TYPE_TILE;
}
/* Element type: of a tile or regs, else the type itself. */
static inline const TlType *
tl_type_elem(const TlType *t)
{
   return t->kind == TL_TYPE_TILE || t->kind == TL_TYPE_REGS ? t->elem : t;
}
static inline bool
tl_type_is_ptr_like(const TlType *t) /* pointer, or tile or regs of pointers */
{
   return tl_type_elem(t)->kind == TL_TYPE_PTR;
}
/* Registers of one thread: 1 for what is not a tuple. */
static inline uint32_t
tl_type_num_regs(const TlType *t)
{
   return t->kind == TL_TYPE_REGS ? t->count : 1;
}
uint64_t tl_type_num_elems(const TlType *t); /* 1 for a scalar */
/* Columns of an index below `size`, as device_print shows it; 0 for a size of 1. */
int tl_print_width(uint32_t size);
bool tl_type_same_shape(const TlType *a, const TlType *b); /* scalars have equal (no) shape */

/* "fp32", "ptr<fp16>", "ptr<const fp16>", "tile<fp32, 128x64>", "tile<fp32, 128x64, #L>" where #L
 * is printed by tl_print (ir), "regs<fp32, 16>", "inflight<fp32, 16>",
 * "memdesc<fp16, 2 x 128x64, #L>", "token", "tmap<fp16, 128x64>". */
/* Layouts by the name that the map gives (const TlLinear * -> const char *). */
void tl_type_print_named(const TlType *t, const TlMap *layout_names, TlSb *out);
const char *tl_type_cstr(TlArena *arena, const TlType *t); /* for diagnostics, without layout */

#endif
