/* Functions built in the LAID state: tiles of element numbers in any layout, stored in the end. */
#ifndef TESTS_SUPPORT_LAID_FIXTURE_H
#define TESTS_SUPPORT_LAID_FIXTURE_H

#include "support/lowered_fixture.h"

typedef struct Build {
   Kernel k;
   TlFunc *f;
   TlBuilder b;
   TlTypes *types;
} Build;

static inline void
build_open(Build *t, unsigned seed, unsigned log2_warps)
{
   k_open(&t->k, seed);
   t->types = t->k.x.types;
   t->f = tl_func_new(t->k.x.module, "f", (TlRange){0});
   t->f->num_warps = 1u << log2_warps;
   t->f->num_stages = 1;
   t->f->num_ctas = 1;
   t->f->state = TL_STATE_LAID;
   t->f->target = "sm_90a";
   t->b = tl_builder_at_end(t->f, t->f->body->block);
}

static inline TlValue *
parameter(Build *t, const char *name, TlDtype d)
{
   const TlType *p = tl_type_ptr(t->types, tl_type_scalar(t->types, d), false);
   t->f->params = tl_new_array(t->k.x.arena, TlParam, 1);
   t->f->params[0] = (TlParam){.name = name, .is_runtime = true, .type = p, .divisibility = 16};
   t->f->num_params = 1;
   return tl_block_add_arg(t->f->body->block, p, name);
}

static inline const TlType *
tile(Build *t, const TlType *elem, const TlLinear *l)
{
   uint32_t shape[TL_MAX_RANK];
   tl_ll_shape(l, shape);
   return tl_type_tile(t->types, elem, l->rank, shape, l);
}

/* Element numbers in the layout. */
static inline TlValue *
numbers(Build *t, const TlLinear *l)
{
   const TlType *i32 = tl_type_scalar(t->types, TL_I32);
   uint32_t n = 1u << tl_ll_bits(l);
   TlLinear flat = *l;
   flat.rank = 1;
   flat.log2_dim[0] = (uint8_t)tl_ll_bits(l);
   flat.repeat[0] = 1;
   const TlType *row = tl_type_tile(t->types, i32, 1, &n, &flat);
   TlValue *v = tl_b0(&t->b, TL_OP_ARANGE, row, {TL_ATTR_END, {.i = n}});
   return tl_t1(&t->b, TL_OP_RESHAPE, tile(t, i32, l), v);
}

static inline void
finish(Build *t, TlValue *out, TlDtype d, const TlLinear *l, TlValue *p)
{
   const TlType *ptr = p->type;
   TlValue *at = tl_t1(&t->b, TL_OP_SPLAT, tile(t, ptr, l), p);
   at = tl_b2(&t->b, TL_OP_ADDPTR, at, numbers(t, l));
   tl_build_n(&t->b, TL_OP_STORE, (TlValue *const[]){at, out}, 2, NULL, TL_ATTRS_());
   tl_build(&t->b, TL_OP_RETURN, NULL, 0, NULL, 0, NULL, 0, 0);
   (void)d;
}

#endif
