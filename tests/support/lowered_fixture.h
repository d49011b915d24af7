/* Kernels written as TYPED text, lowered, and run by the interpreter of lowered code. */
#ifndef TESTS_SUPPORT_LOWERED_FIXTURE_H
#define TESTS_SUPPORT_LOWERED_FIXTURE_H

#include "support/ir_fixture.h"

#include "passes/pass.h"
#include "support/lowered_interp.h"

/* Default target: the interpreter has no wgmma. */
#ifndef LOWERED_ARCH
#define LOWERED_ARCH "sm_90"
#endif

typedef struct Kernel {
   IrFixture x;
   TlArena *scratch;
   TlSb body;
   uint64_t rng;
   unsigned warps, num_args, names;
   const char *arch; /* target; NULL = LOWERED_ARCH */
   LoweredArg args[10];
   const char *params; /* text of the parameter list so far */
   LoweredStats stats;
   uint32_t grid[3];
} Kernel;

static inline uint32_t
k_below(Kernel *k, uint32_t n)
{
   k->rng += 0x9e3779b97f4a7c15u;
   uint64_t z = k->rng;
   z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
   z = (z ^ z >> 27) * 0x94d049bb133111ebu;
   return (uint32_t)(((z ^ z >> 31) >> 32) * n >> 32);
}

static inline void
k_open(Kernel *k, uint64_t seed)
{
   memset(k, 0, sizeof *k);
   ir_open(&k->x);
   k->scratch = tl_arena_new(&k->x.mem);
   tl_sb_init(&k->body, k->x.arena);
   k->rng = seed * 7919 + 1;
   k->warps = 1u << k_below(k, 6);
   k->params = "";
   k->grid[0] = k->grid[1] = k->grid[2] = 1;
}

static inline void
k_close(Kernel *k)
{
   tl_arena_free(k->scratch);
   ir_close(&k->x);
}

/* A new parameter %<name>: pointer to n elements; the zeroed storage is returned. */
static inline void *
k_buffer(Kernel *k, const char *name, TlDtype t, size_t n)
{
   size_t bytes = n * tl_dtype_info[t].bytes;
   char *p = tl_arena_alloc(k->x.arena, bytes + 64);
   p += 64 - (uintptr_t)p % 64;
   k->args[k->num_args++] = (LoweredArg){.data = p, .bytes = bytes};
   k->params = tl_arena_printf(k->x.arena, "%s%s%%%s: ptr<%s> {div = 16}", k->params,
                               *k->params ? ", " : "", name, tl_dtype_info[t].text);
   return p;
}

static inline void
k_scalar(Kernel *k, const char *name, TlDtype t, TlBits bits)
{
   k->args[k->num_args++] = (LoweredArg){.bits = bits};
   k->params = tl_arena_printf(k->x.arena, "%s%s%%%s: %s", k->params, *k->params ? ", " : "", name,
                               tl_dtype_info[t].text);
}

#define k_line(k, ...)                                                                             \
   (tl_sb_str(&(k)->body, "   "), tl_sb_printf(&(k)->body, __VA_ARGS__),                           \
    tl_sb_char(&(k)->body, '\n'))

/* "fp32, 4x8" */
static inline const char *
k_type(Kernel *k, const char *elem, unsigned rank, const uint32_t *shape)
{
   const char *s = tl_arena_printf(k->x.arena, "tile<%s, ", elem);
   for (unsigned d = 0; d < rank; d++)
      s = tl_arena_printf(k->x.arena, "%s%s%u", s, d ? "x" : "", shape[d]);
   return tl_arena_printf(k->x.arena, "%s>", s);
}

/* Row-major element numbers, i32, in the shape: by reshape, or as a sum over dimensions. */
static inline const char *
k_index(Kernel *k, unsigned rank, const uint32_t *shape)
{
   uint32_t n = 1, stride = 1;
   const char *type = k_type(k, "i32", rank, shape), *sum = NULL;
   for (unsigned d = 0; d < rank; d++)
      n *= shape[d];
   if (rank == 1 || k_below(k, 2)) {
      unsigned a = k->names++;
      k_line(k, "%%r%u = arange {end = %u} : tile<i32, %u>", a, n, n);
      if (rank == 1)
         return tl_arena_printf(k->x.arena, "%%r%u", a);
      k_line(k, "%%s%u = reshape %%r%u : %s", a, a, type);
      return tl_arena_printf(k->x.arena, "%%s%u", a);
   }
   for (unsigned d = rank; d-- > 0;) {
      unsigned a = k->names++;
      uint32_t at[8] = {shape[d]};
      unsigned have = 1;
      k_line(k, "%%r%u = arange {end = %u} : tile<i32, %u>", a, shape[d], shape[d]);
      const char *v = tl_arena_printf(k->x.arena, "%%r%u", a);
      for (unsigned e = 0; e < rank; e++) {
         if (e == d)
            continue;
         unsigned axis = e < d ? 0 : have;
         memmove(&at[axis + 1], &at[axis], (have - axis) * sizeof at[0]);
         at[axis] = 1;
         have++;
         k_line(k, "%%x%u_%u = expand_dims %s {axis = %u} : %s", a, e, v, axis,
                k_type(k, "i32", have, at));
         v = tl_arena_printf(k->x.arena, "%%x%u_%u", a, e);
      }
      k_line(k, "%%b%u = broadcast %s : %s", a, v, type);
      k_line(k, "%%c%u = constant %u : %s", a, stride, type);
      k_line(k, "%%m%u = mul %%b%u, %%c%u : %s", a, a, a, type);
      v = tl_arena_printf(k->x.arena, "%%m%u", a);
      if (sum) {
         k_line(k, "%%t%u = add %s, %s : %s", a, sum, v, type);
         v = tl_arena_printf(k->x.arena, "%%t%u", a);
      }
      sum = v;
      stride *= shape[d];
   }
   return sum;
}

static inline const char *
k_pointers(Kernel *k, const char *param, const char *dtype, unsigned rank, const uint32_t *shape)
{
   unsigned a = k->names++;
   const char *index = k_index(k, rank, shape);
   const char *type = k_type(k, tl_arena_printf(k->x.arena, "ptr<%s>", dtype), rank, shape);
   k_line(k, "%%p%u = splat %%%s : %s", a, param, type);
   k_line(k, "%%q%u = addptr %%p%u, %s : %s", a, a, index, type);
   return tl_arena_printf(k->x.arena, "%%q%u", a);
}

/* %<name> = the whole tile from parameter param. */
static inline void
k_load(Kernel *k, const char *name, const char *param, const char *dtype, unsigned rank,
       const uint32_t *shape)
{
   const char *p = k_pointers(k, param, dtype, rank, shape);
   k_line(k, "%%%s = load %s : %s", name, p, k_type(k, dtype, rank, shape));
}

static inline void
k_store(Kernel *k, const char *name, const char *param, const char *dtype, unsigned rank,
        const uint32_t *shape)
{
   const char *p = k_pointers(k, param, dtype, rank, shape);
   k_line(k, "store %s, %%%s", p, name);
}

static inline const char *
k_text(Kernel *k)
{
   return tl_arena_printf(k->x.arena,
                          "func @f(%s) {num_warps = %u, num_stages = 1, state = typed} {\n%s"
                          "   return\n}\n",
                          k->params, k->warps, tl_sb_cstr(&k->body));
}

static inline TlPassCx
k_context(Kernel *k)
{
   return (TlPassCx){.scratch = k->scratch,
                     .sources = k->x.sources,
                     .diags = &k->x.diags,
                     .target = tl_target_find(k->arch ? k->arch : LOWERED_ARCH),
                     .verify_each = true};
}

/* Lowers; NULL after an error, whose text is ir_messages(). */
static inline TlFunc *
k_lower(Kernel *k)
{
   TlFunc *f = ir_must_read(&k->x, k_text(k));
   TlPassCx cx = k_context(k);
   return tl_pipeline_laid(&cx, f) && tl_pipeline_lowered(&cx, f) ? f : NULL;
}

static inline TlFunc *
k_run(Kernel *k)
{
   TlFunc *f = k_lower(k);
   if (!f)
      fail_msg("%s\n%s", ir_messages(&k->x), k_text(k));
   const char *error = lowered_run(k->scratch, f, k->args, k->num_args, k->grid, &k->stats);
   if (error)
      fail_msg("%s\n%s\n%s", error, k_text(k), ir_print(&k->x, k->x.module));
   return f;
}

static inline uint32_t
k_shape(Kernel *k, unsigned rank, unsigned bits, uint32_t *shape)
{
   for (unsigned d = 0; d < rank; d++)
      shape[d] = 1;
   for (unsigned i = 0; i < bits; i++)
      shape[k_below(k, rank)] *= 2;
   return 1u << bits;
}

#endif
