/* Invariant: value[id] holds num_threads * registers entries, thread major; entries of inactive
 * threads keep what they had. */
#include "support/lowered_interp.h"

#include "support/hw_models.h"

#include <string.h>

enum { WARP = 32, MANY = -2, NOBODY = -1 };

/* Who touched a shared byte since the last block barrier. */
typedef struct Byte {
   uint8_t value;
   bool written;       /* ever */
   int writer, reader; /* thread, NOBODY, or MANY (of reader_warp, or of several: MANY) */
   int reader_warp;
   uint32_t write_epoch, read_epoch; /* block barriers before */
   uint32_t write_warp, read_warp;   /* warp barriers before */
   bool in_flight;                   /* an asynchronous copy will write it */
   const uint8_t *coming;            /* from here; NULL: zero */
} Byte;

/* One access of an asynchronous copy; its bytes arrive when the group is waited for, not before. */
typedef struct Copy {
   unsigned thread, bytes;
   int64_t to;
   const uint8_t *from;
   unsigned len; /* bytes from there, zeros after them */
   uint32_t group;
} Copy;

typedef struct In {
   TlArena *arena;
   const TlFunc *func;
   const LoweredArg *args;
   unsigned num_args, threads;
   uint32_t program[3], grid[3];
   TlBits **value;
   bool *active;
   Byte *shared;
   uint32_t epoch, warp_epoch;
   TL_VEC(Copy) copies; /* in flight */
   uint32_t group;      /* groups committed */
   LoweredStats *stats;
   const char *error;
   const TlOp *op;
} In;

static bool run_block(In *in, const TlBlock *block);

static bool __attribute__((format(printf, 2, 3)))
stop(In *in, const char *fmt, ...)
{
   va_list ap;
   va_start(ap, fmt);
   if (!in->error)
      in->error = tl_arena_printf(in->arena, "%s: %s", in->op ? tl_info(in->op)->text : "?",
                                  tl_arena_vprintf(in->arena, fmt, ap));
   va_end(ap);
   return false;
}

static unsigned
regs(const TlValue *v)
{
   return tl_type_num_regs(v->type);
}

static TlDtype
dtype(const TlValue *v)
{
   const TlType *e = tl_type_elem(v->type);
   return e->kind == TL_TYPE_PTR ? TL_U64 : e->dtype;
}

static TlBits
get(const In *in, const TlValue *v, unsigned t, unsigned r)
{
   unsigned n = regs(v);
   return in->value[v->id][(size_t)t * n + (n == 1 ? 0 : r)];
}

static TlBits *
room(In *in, const TlValue *v)
{
   if (!in->value[v->id])
      in->value[v->id] = tl_new_array(in->arena, TlBits, (size_t)in->threads * regs(v));
   return in->value[v->id];
}

static void
set(In *in, const TlValue *v, unsigned t, unsigned r, TlBits bits)
{
   room(in, v)[(size_t)t * regs(v) + r] = bits;
}

static TlBits
garbage(const In *in, unsigned t, unsigned r, TlDtype d)
{
   uint64_t h = tl_hash(&(uint32_t[3]){t, r, in->op ? in->op->results[0].id : 0}, 12, 7);
   unsigned bits = tl_dtype_info[d].bits;
   return bits == 64 ? h : h & ((1ull << bits) - 1);
}

#define EACH_THREAD(in, t)                                                                         \
   for (unsigned t = 0; t < (in)->threads; t++)                                                    \
      if ((in)->active[t])

static bool
all_active(In *in)
{
   for (unsigned t = 0; t < in->threads; t++)
      if (!in->active[t])
         return stop(in, "not all threads are here");
   return true;
}

/* Of each warp all threads or none. */
static bool
whole_warps_active(In *in)
{
   for (unsigned t = 0; t < in->threads; t++)
      if (in->active[t] != in->active[t / WARP * WARP])
         return stop(in, "not all threads of warp %u are here", t / WARP);
   return true;
}

/* ---- global memory ---- */
static uint8_t *
address(In *in, TlBits a, uint64_t bytes)
{
   for (unsigned i = 0; i < in->num_args; i++) {
      const LoweredArg *x = &in->args[i];
      uint64_t base = ((uint64_t)(i + 1) << 44) + ((uintptr_t)x->data & 0xfff);
      if (x->bytes && a >= base && a - base + bytes <= x->bytes)
         return (uint8_t *)x->data + (a - base);
   }
   stop(in, "address %llx + %llu is in no buffer", (unsigned long long)a,
        (unsigned long long)bytes);
   return NULL;
}

static unsigned
mem_bytes(const TlValue *v)
{
   return tl_dtype_info[dtype(v)].bytes;
}

static bool
predicate(const In *in, const TlOp *op, unsigned at, unsigned t, unsigned r)
{
   return op->num_args <= at || (get(in, tl_arg(op, at), t, r) & 1);
}

/* Bytes of access r, of `bytes`, that are made: whole elements from the first on. */
static unsigned
part_of(const In *in, const TlOp *op, unsigned at, unsigned t, unsigned r, unsigned bytes)
{
   if (!tl_is_partial(op))
      return predicate(in, op, at, t, r) ? bytes : 0;
   return (unsigned)tl_bits_to_int(TL_I32, get(in, tl_arg(op, at), t, r));
}

static bool
ld_global(In *in, const TlOp *op)
{
   const TlValue *out = tl_result(op, 0);
   unsigned vec = (unsigned)tl_attr_int(op, TL_ATTR_VEC), n = regs(out), es = mem_bytes(out);
   if (n % vec || regs(tl_arg(op, 0)) != n / vec)
      return stop(in, "%u registers do not fit %u pointers of %u", n, regs(tl_arg(op, 0)), vec);
   if (vec * es > 16)
      return stop(in, "%u bytes in one access", vec * es);
   EACH_THREAD(in, t)
   for (unsigned a = 0; a < n / vec; a++) {
      unsigned on = part_of(in, op, 1, t, a, vec * es);
      TlBits p = get(in, tl_arg(op, 0), t, a);
      if (on > vec * es || on % es)
         return stop(in, "%u bytes of %u", on, vec * es);
      if (on && p % (vec * es))
         return stop(in, "address %llx is not aligned to %u", (unsigned long long)p, vec * es);
      const uint8_t *from = on ? address(in, p, on) : NULL;
      if (on && !from)
         return false;
      in->stats->global_loads += on > 0;
      for (unsigned k = 0; k < vec; k++) {
         unsigned r = a * vec + k;
         TlBits v = k * es < on        ? tl_load_elem(dtype(out), from + k * es)
                    : op->num_args > 2 ? get(in, tl_arg(op, 2), t, r)
                                       : garbage(in, t, r, dtype(out));
         set(in, out, t, r, v);
      }
   }
   return true;
}

static bool
st_global(In *in, const TlOp *op)
{
   const TlValue *v = tl_arg(op, 1);
   unsigned vec = (unsigned)tl_attr_int(op, TL_ATTR_VEC), n = regs(v), es = mem_bytes(v);
   if (n % vec || regs(tl_arg(op, 0)) != n / vec || vec * es > 16)
      return stop(in, "bad vector");
   EACH_THREAD(in, t)
   for (unsigned a = 0; a < n / vec; a++) {
      unsigned on = part_of(in, op, 2, t, a, vec * es);
      if (!on)
         continue;
      TlBits p = get(in, tl_arg(op, 0), t, a);
      uint8_t *to = address(in, p, on);
      if (!to || p % (vec * es) || on > vec * es || on % es)
         return stop(in, "%u bytes at %llx are not aligned to %u", on, (unsigned long long)p,
                     vec * es);
      in->stats->global_stores++;
      for (unsigned k = 0; k * es < on; k++)
         tl_store_elem(dtype(v), to + k * es, get(in, v, t, a * vec + k));
   }
   return true;
}

static TlBits
bin(TlOpcode op, TlDtype d, TlBits a, TlBits b)
{
   bool undefined = false;
   TlAttr attrs[TL_MAX_OP_ATTRS] = {{0}};
   return tl_eval(op, attrs, d, (TlDtype[]){d, d}, (TlBits[]){a, b}, &undefined);
}

static TlBits
rmw(int64_t kind, TlDtype d, TlBits old, TlBits v)
{
   static const TlOpcode ops[] = {[TL_RMW_ADD] = TL_OP_ADD, [TL_RMW_AND] = TL_OP_AND,
                                  [TL_RMW_OR] = TL_OP_OR,   [TL_RMW_XOR] = TL_OP_XOR,
                                  [TL_RMW_MAX] = TL_OP_MAX, [TL_RMW_MIN] = TL_OP_MIN};
   return kind == TL_RMW_XCHG ? v : bin(ops[kind], d, old, v);
}

static bool
atom(In *in, const TlOp *op)
{
   const TlValue *out = tl_result(op, 0);
   bool cas = op->opcode == TL_OP_ATOM_CAS;
   unsigned at = cas ? 3 : 2;
   EACH_THREAD(in, t)
   for (unsigned r = 0; r < regs(out); r++) {
      if (!predicate(in, op, at, t, r)) {
         set(in, out, t, r, garbage(in, t, r, dtype(out)));
         continue;
      }
      uint8_t *p = address(in, get(in, tl_arg(op, 0), t, r), mem_bytes(out));
      if (!p)
         return false;
      TlBits old = tl_load_elem(dtype(out), p), v = get(in, tl_arg(op, at - 1), t, r);
      if (!cas)
         v = rmw(tl_attr_int(op, TL_ATTR_RMW), dtype(out), old, v);
      if (!cas || old == get(in, tl_arg(op, 1), t, r))
         tl_store_elem(dtype(out), p, v);
      set(in, out, t, r, old);
   }
   return true;
}

/* ---- shared memory ---- */
static bool
in_shared(In *in, int64_t at, unsigned bytes)
{
   TlExtent e;
   if (at < 0 || at + bytes > in->func->shared_bytes)
      return stop(in, "bytes %lld + %u are outside the %u of the block", (long long)at, bytes,
                  in->func->shared_bytes);
   if (tl_attr_extent(in->op, &e) && (at < e.begin || at + bytes > e.end))
      return stop(in, "bytes %lld + %u are outside the extent", (long long)at, bytes);
   if (at % bytes)
      return stop(in, "shared address %lld is not aligned to %u", (long long)at, bytes);
   return true;
}

static bool
read_byte(In *in, unsigned t, int64_t at, uint8_t *out)
{
   Byte *b = &in->shared[at];
   int warp = (int)t / WARP;
   if (b->in_flight)
      return stop(in, "thread %u reads shared byte %lld, which a copy is about to write", t,
                  (long long)at);
   if (!b->written)
      return stop(in, "thread %u reads shared byte %lld, which nobody wrote", t, (long long)at);
   if (b->writer != (int)t && b->write_epoch == in->epoch &&
       !(b->writer / WARP == warp && b->write_warp < in->warp_epoch))
      return stop(in, "thread %u reads shared byte %lld of thread %d without a barrier", t,
                  (long long)at, b->writer);
   if (b->read_epoch != in->epoch || b->reader == NOBODY) {
      b->reader = (int)t;
      b->reader_warp = warp;
   } else if (b->reader != (int)t) {
      b->reader = MANY;
      b->reader_warp = b->reader_warp == warp ? warp : MANY;
   }
   b->read_epoch = in->epoch;
   b->read_warp = in->warp_epoch;
   *out = b->value;
   return true;
}

static bool
may_write(In *in, unsigned t, int64_t at)
{
   const Byte *b = &in->shared[at];
   int warp = (int)t / WARP;
   if (b->reader != NOBODY && b->reader != (int)t && b->read_epoch == in->epoch &&
       !(b->reader_warp == warp && b->read_warp < in->warp_epoch))
      return stop(in, "thread %u writes shared byte %lld after thread %d read it, no barrier", t,
                  (long long)at, b->reader);
   return true;
}

static bool
write_byte(In *in, unsigned t, int64_t at, uint8_t v)
{
   Byte *b = &in->shared[at];
   int warp = (int)t / WARP;
   bool same = b->written && b->value == v;
   if (b->in_flight)
      return stop(in, "thread %u writes shared byte %lld, which a copy is about to write", t,
                  (long long)at);
   if (!may_write(in, t, at))
      return false;
   if (b->written && !same && b->writer != (int)t && b->write_epoch == in->epoch &&
       !(b->writer / WARP == warp && b->write_warp < in->warp_epoch))
      return stop(in, "threads %u and %d write shared byte %lld differently", t, b->writer,
                  (long long)at);
   if (!(same && b->write_epoch == in->epoch && b->writer != (int)t)) {
      b->writer = (int)t;
      b->write_warp = in->warp_epoch;
   }
   b->write_epoch = in->epoch;
   b->value = v;
   b->written = true;
   return true;
}

static int64_t
shared_address(const In *in, const TlOp *op, unsigned t, unsigned a)
{
   TlInts offsets = tl_attr_ints(op, TL_ATTR_OFFSETS);
   int64_t base = (int32_t)get(in, tl_arg(op, 0), t, a);
   return base + (a < offsets.len ? offsets.data[a] : 0);
}

static bool
ld_shared(In *in, const TlOp *op)
{
   const TlValue *out = tl_result(op, 0);
   unsigned vec = (unsigned)tl_attr_int(op, TL_ATTR_VEC), n = regs(out), es = mem_bytes(out);
   if (vec * es > 16 || n % vec)
      return stop(in, "bad vector");
   EACH_THREAD(in, t)
   for (unsigned a = 0; a < n / vec; a++) {
      int64_t at = shared_address(in, op, t, a);
      if (!in_shared(in, at, vec * es))
         return false;
      for (unsigned k = 0; k < vec; k++) {
         uint8_t bytes[8] = {0};
         for (unsigned i = 0; i < es; i++)
            if (!read_byte(in, t, at + k * es + i, &bytes[i]))
               return false;
         set(in, out, t, a * vec + k, tl_load_elem(dtype(out), bytes));
      }
   }
   return true;
}

static bool
st_shared(In *in, const TlOp *op)
{
   const TlValue *v = tl_arg(op, 1);
   unsigned vec = (unsigned)tl_attr_int(op, TL_ATTR_VEC), n = regs(v), es = mem_bytes(v);
   if (vec * es > 16 || n % vec)
      return stop(in, "bad vector");
   EACH_THREAD(in, t)
   for (unsigned a = 0; a < n / vec; a++) {
      int64_t at = shared_address(in, op, t, a);
      if (!predicate(in, op, 2, t, a))
         continue;
      if (!in_shared(in, at, vec * es))
         return false;
      for (unsigned k = 0; k < vec; k++) {
         uint8_t bytes[8] = {0};
         tl_store_elem(dtype(v), bytes, get(in, v, t, a * vec + k));
         for (unsigned i = 0; i < es; i++)
            if (!write_byte(in, t, at + k * es + i, bytes[i]))
               return false;
      }
   }
   return true;
}

static bool
atom_shared(In *in, const TlOp *op)
{
   const TlValue *v = tl_arg(op, 1);
   EACH_THREAD(in, t)
   for (unsigned r = 0; r < regs(v); r++) {
      int64_t at = shared_address(in, op, t, r);
      if (!predicate(in, op, 2, t, r))
         continue;
      if (!in_shared(in, at, 4))
         return false;
      uint8_t bytes[8] = {0};
      for (unsigned i = 0; i < 4; i++) {
         Byte *b = &in->shared[at + i];
         if (!b->written)
            return stop(in, "atomic on shared byte %lld, which nobody wrote", (long long)at);
         if (b->writer != MANY && b->writer != (int)t && b->write_epoch == in->epoch)
            return stop(in, "atomic on shared byte %lld without a barrier", (long long)at);
         bytes[i] = b->value;
      }
      TlBits old = tl_load_elem(dtype(v), bytes);
      tl_store_elem(dtype(v), bytes,
                    rmw(tl_attr_int(op, TL_ATTR_RMW), dtype(v), old, get(in, v, t, r)));
      for (unsigned i = 0; i < 4; i++) {
         Byte *b = &in->shared[at + i];
         b->value = bytes[i];
         b->writer = MANY;
         b->write_epoch = in->epoch;
         b->write_warp = in->warp_epoch;
      }
   }
   return true;
}

/* ---- asynchronous copies ---- */
static bool
start_copy(In *in, const Copy *c)
{
   for (unsigned i = 0; i < c->bytes; i++) {
      Byte *b = &in->shared[c->to + i];
      const uint8_t *from = c->from ? c->from + i : NULL;
      int warp = (int)c->thread / WARP;
      if (b->in_flight && b->coming != from)
         return stop(in, "two copies to shared byte %lld", (long long)c->to + i);
      if (!may_write(in, c->thread, c->to + i))
         return false;
      if (b->written && !b->in_flight && b->writer != (int)c->thread &&
          b->write_epoch == in->epoch &&
          !(b->writer / WARP == warp && b->write_warp < in->warp_epoch))
         return stop(in, "a copy to shared byte %lld after thread %d wrote it, no barrier",
                     (long long)c->to + i, b->writer);
      b->in_flight = true;
      b->coming = from;
   }
   tl_vec_push(in->arena, &in->copies, *c);
   return true;
}

static bool
cp_async(In *in, const TlOp *op)
{
   unsigned n = regs(tl_arg(op, 1)), bytes = (unsigned)tl_attr_int(op, TL_ATTR_BYTES);
   if (bytes != 4 && bytes != 8 && bytes != 16)
      return stop(in, "%u bytes", bytes);
   EACH_THREAD(in, t)
   for (unsigned a = 0; a < n; a++) {
      if (op->num_args > 3 && !(get(in, tl_arg(op, 3), t, 0) & 1))
         continue;
      Copy c = {t, bytes, shared_address(in, op, t, a), NULL, 0, in->group};
      TlBits p = get(in, tl_arg(op, 1), t, a);
      if (!in_shared(in, c.to, bytes))
         return false;
      c.len = part_of(in, op, 2, t, a, bytes);
      if (c.len) {
         if (p % bytes || c.len > bytes)
            return stop(in, "%u bytes at %llx are not aligned to %u", c.len, (unsigned long long)p,
                        bytes);
         c.from = address(in, p, c.len);
         if (!c.from)
            return false;
         in->stats->async_copies++;
      }
      if (!start_copy(in, &c))
         return false;
   }
   return true;
}

static bool
land(In *in, const Copy *c)
{
   for (unsigned i = 0; i < c->bytes; i++)
      in->shared[c->to + i].in_flight = false;
   for (unsigned i = 0; i < c->bytes; i++)
      if (!write_byte(in, c->thread, c->to + i, i < c->len ? c->from[i] : 0))
         return false;
   return true;
}

static bool
cp_async_wait(In *in, const TlOp *op)
{
   uint32_t num = (uint32_t)tl_attr_int(op, TL_ATTR_NUM);
   size_t kept = 0;
   for (size_t i = 0; i < in->copies.len; i++) {
      Copy c = in->copies.data[i];
      if (c.group + num >= in->group)
         in->copies.data[kept++] = c;
      else if (!land(in, &c))
         return false;
   }
   in->copies.len = kept;
   return all_active(in);
}

/* PTX ISA, ldmatrix and stmatrix: lane 8j + i names row i of matrix j; lane l has row l / 4, bytes
 * 4 (l % 4) to 4 (l % 4) + 3 (with .trans: rows and columns of 16-bit elements swapped). */
static bool
move_matrices(In *in, const TlOp *op, const TlValue *v, bool is_load)
{
   unsigned es = tl_dtype_info[dtype(v)].bytes, elems = 4 / es;
   unsigned num = (unsigned)tl_attr_int(op, TL_ATTR_NUM), per = elems * num, n = regs(v);
   bool trans = tl_attr_int(op, TL_ATTR_TRANS) != 0;
   if (!whole_warps_active(in) || es > 4 || (trans && es != 2))
      return false;
   EACH_THREAD(in, t)
   for (unsigned i = 0; i < n; i++) {
      unsigned a = i / per, j = i % per / elems, e = i % elems, lane = t % WARP;
      unsigned row = trans ? lane % 4 * 2 + e : lane / 4;
      unsigned col = trans ? 2 * (lane / 4) : lane % 4 * 4 + e * es; /* bytes */
      int64_t at = shared_address(in, op, t / WARP * WARP + 8 * j + row, a);
      uint8_t bytes[8] = {0};
      if (!in_shared(in, at, 16))
         return false;
      if (!is_load)
         tl_store_elem(dtype(v), bytes, get(in, v, t, i));
      for (unsigned k = 0; k < es; k++)
         if (is_load ? !read_byte(in, t, at + col + k, &bytes[k])
                     : !write_byte(in, t, at + col + k, bytes[k]))
            return false;
      if (is_load)
         set(in, v, t, i, tl_load_elem(dtype(v), bytes));
   }
   in->stats->matrix_loads += is_load;
   return true;
}

/* ---- exchange and matrices ---- */
static bool
shfl(In *in, const TlOp *op)
{
   const TlValue *out = tl_result(op, 0);
   if (!all_active(in))
      return false;
   for (unsigned t = 0; t < in->threads; t++)
      for (unsigned r = 0; r < regs(out); r++) {
         uint32_t lane = (uint32_t)get(in, tl_arg(op, 1), t, r), own = t % WARP, from = own;
         switch (tl_attr_int(op, TL_ATTR_SHFL)) {
         case TL_SHFL_BFLY:
            from = own ^ lane;
            break;
         case TL_SHFL_IDX:
            from = lane;
            break;
         case TL_SHFL_UP:
            from = own >= lane ? own - lane : own;
            break;
         default:
            from = own + lane < WARP ? own + lane : own;
         }
         if (from >= WARP)
            return stop(in, "lane %u", from);
         set(in, out, t, r, get(in, tl_arg(op, 0), t / WARP * WARP + from, r));
      }
   in->stats->shuffles++;
   return true;
}

static bool
vote(In *in, const TlOp *op)
{
   if (!whole_warps_active(in))
      return false;
   EACH_THREAD(in, t)
   {
      TlBits any = 0;
      for (unsigned lane = 0; lane < WARP; lane++)
         any |= get(in, tl_arg(op, 0), t / WARP * WARP + lane, 0) & 1;
      set(in, tl_result(op, 0), t, 0, any);
   }
   return true;
}

typedef struct MmaKind {
   TlDtype in, b, acc; /* of A, B and C */
   TlMmaKind kind;
   unsigned k;
} MmaKind;

static double
number(TlDtype t, TlBits bits)
{
   return tl_dtype_is_float(t) ? tl_bits_to_double(t, bits) : (double)tl_bits_to_int(t, bits);
}

static TlBits
of_number(TlDtype t, double v) /* integers wrap */
{
   return tl_dtype_is_float(t) ? tl_double_to_bits(t, v, TL_ROUND_NEAREST_EVEN)
                               : tl_int_to_bits(t, (int64_t)v);
}

static bool
mma(In *in, const TlOp *op)
{
   static const MmaKind kinds[] = {
      [TL_MMA_F16_F32] = {TL_FP16, TL_FP16, TL_FP32, TL_MMA_M16N8, 16},
      [TL_MMA_BF16_F32] = {TL_BF16, TL_BF16, TL_FP32, TL_MMA_M16N8, 16},
      [TL_MMA_F16_F16] = {TL_FP16, TL_FP16, TL_FP16, TL_MMA_M16N8, 16},
      [TL_MMA_TF32_F32] = {TL_FP32, TL_FP32, TL_FP32, TL_MMA_M16N8, 8},
      [TL_MMA_E4M3_E5M2_F32] = {TL_FP8E4NV, TL_FP8E5, TL_FP32, TL_MMA_M16N8, 32},
      [TL_MMA_E5M2_E4M3_F32] = {TL_FP8E5, TL_FP8E4NV, TL_FP32, TL_MMA_M16N8, 32},
      [TL_MMA_S8_S32] = {TL_I8, TL_I8, TL_I32, TL_MMA_M16N8, 32},
      [TL_MMA_U8_S32] = {TL_U8, TL_U8, TL_I32, TL_MMA_M16N8, 32},
      [TL_MMA_E4M3_F32] = {TL_FP8E4NV, TL_FP8E4NV, TL_FP32, TL_MMA_M16N8, 32},
      [TL_MMA_E5M2_F32] = {TL_FP8E5, TL_FP8E5, TL_FP32, TL_MMA_M16N8, 32},
      [TL_MMA_F64] = {TL_FP64, TL_FP64, TL_FP64, TL_MMA_M8N8_F64, 4},
   };
   const MmaKind *kind = &kinds[tl_attr_int(op, TL_ATTR_MMA)];
   TlReps reps = tl_attr_reps(op);
   int64_t rm = reps.m, rn = reps.n, rk = reps.k;
   bool is_f64 = kind->kind == TL_MMA_M8N8_F64;
   unsigned bits = tl_dtype_info[kind->in].bits, ra = is_f64 ? 1 : 4 * 32 / bits;
   unsigned rb = is_f64 ? 1 : ra / 2, rc = is_f64 ? 2 : 4;
   TlLinear la = hw_instr_operand(kind->kind, 0, bits);
   TlLinear lb = hw_instr_operand(kind->kind, 1, bits);
   TlLinear lc = hw_instr_acc(kind->kind, 8);
   const TlValue *out = tl_result(op, 0);
   if (!whole_warps_active(in) || dtype(tl_arg(op, 0)) != kind->in ||
       dtype(tl_arg(op, 1)) != kind->b || dtype(out) != kind->acc)
      return stop(in, "wrong types");
   if (regs(tl_arg(op, 0)) != rm * rk * ra || regs(tl_arg(op, 1)) != rn * rk * rb ||
       regs(out) != rm * rn * rc)
      return stop(in, "registers do not fit the repetitions");
   for (unsigned w = 0; w < in->threads / WARP; w++)
      for (unsigned m = 0; m < rm && in->active[w * WARP]; m++)
         for (unsigned n = 0; n < rn; n++) {
            double c[16][8];
            for (unsigned l = 0; l < WARP; l++)
               for (unsigned r = 0; r < rc; r++) {
                  uint32_t at[2];
                  tl_ll_coords(&lc, r, l, 0, 0, at);
                  c[at[0]][at[1]] = number(kind->acc, get(in, tl_arg(op, 2), w * WARP + l,
                                                          (unsigned)((m * rn + n) * rc + r)));
               }
            for (unsigned k = 0; k < rk; k++) {
               double a[16][32] = {{0}}, b[32][8] = {{0}};
               for (unsigned l = 0; l < WARP; l++) {
                  uint32_t at[2];
                  for (unsigned r = 0; r < ra; r++) {
                     tl_ll_coords(&la, r, l, 0, 0, at);
                     a[at[0]][at[1]] = number(kind->in, get(in, tl_arg(op, 0), w * WARP + l,
                                                            (unsigned)((m * rk + k) * ra + r)));
                  }
                  for (unsigned r = 0; r < rb; r++) {
                     tl_ll_coords(&lb, r, l, 0, 0, at);
                     b[at[0]][at[1]] = number(kind->b, get(in, tl_arg(op, 1), w * WARP + l,
                                                           (unsigned)((n * rk + k) * rb + r)));
                  }
               }
               for (unsigned i = 0; i < 4 * rc; i++)
                  for (unsigned j = 0; j < 8; j++)
                     for (unsigned x = 0; x < kind->k; x++)
                        c[i][j] += a[i][x] * b[x][j];
            }
            for (unsigned l = 0; l < WARP; l++)
               for (unsigned r = 0; r < rc; r++) {
                  uint32_t at[2];
                  tl_ll_coords(&lc, r, l, 0, 0, at);
                  set(in, out, w * WARP + l, (unsigned)((m * rn + n) * rc + r),
                      of_number(kind->acc, c[at[0]][at[1]]));
               }
         }
   in->stats->mmas++;
   return true;
}

/* ---- registers ---- */
static bool
pick(In *in, const TlOp *op)
{
   const TlValue *out = tl_result(op, 0);
   TlInts index = tl_attr_ints(op, TL_ATTR_INDEX);
   if (index.len != regs(out))
      return stop(in, "%zu indices for %u registers", index.len, regs(out));
   EACH_THREAD(in, t)
   for (unsigned r = 0; r < index.len; r++) {
      int64_t i = index.data[r];
      unsigned a = 0;
      while (a < op->num_args && i >= regs(tl_arg(op, a)))
         i -= regs(tl_arg(op, a++));
      if (i < 0 || a == op->num_args)
         return stop(in, "index %lld", (long long)index.data[r]);
      set(in, out, t, r, get(in, tl_arg(op, a), t, (unsigned)i));
   }
   return true;
}

static bool
repack(In *in, const TlOp *op)
{
   const TlValue *v = tl_arg(op, 0), *out = tl_result(op, 0);
   unsigned from = tl_dtype_info[dtype(v)].bits, to = tl_dtype_info[dtype(out)].bits;
   if (from * regs(v) != to * regs(out))
      return stop(in, "sizes differ");
   EACH_THREAD(in, t)
   for (unsigned r = 0; r < regs(out); r++) {
      TlBits bits = 0;
      for (unsigned i = 0; i < to; i++) {
         unsigned bit = r * to + i;
         bits |= (get(in, v, t, bit / from) >> bit % from & 1) << i;
      }
      set(in, out, t, r, bits);
   }
   return true;
}

static bool
eltwise(In *in, const TlOp *op)
{
   const TlValue *out = tl_result(op, 0);
   unsigned n = regs(out);
   for (unsigned i = 0; i < op->num_args; i++)
      if (regs(tl_arg(op, i)) != n)
         return stop(in, "operands of %u and %u registers", regs(tl_arg(op, i)), n);
   EACH_THREAD(in, t)
   for (unsigned r = 0; r < n; r++) {
      TlBits args[4], v;
      TlDtype types[4];
      bool undefined = false;
      for (unsigned i = 0; i < op->num_args; i++) {
         args[i] = get(in, tl_arg(op, i), t, r);
         types[i] = dtype(tl_arg(op, i));
      }
      if (op->opcode == TL_OP_ADDPTR) {
         const TlType *e = tl_type_elem(out->type)->elem;
         unsigned es = e->kind == TL_TYPE_PTR ? 8 : tl_dtype_info[e->dtype].bytes;
         v = args[0] + (TlBits)tl_bits_to_int(types[1], args[1]) * es;
      } else if (op->opcode == TL_OP_SELECT) {
         v = args[0] & 1 ? args[1] : args[2];
      } else if (op->opcode == TL_OP_BITCAST) {
         v = args[0];
      } else {
         v = tl_eval(op->opcode, op->attrs, dtype(out), types, args, &undefined);
      }
      set(in, out, t, r, v);
   }
   return true;
}

/* ---- control ---- */
static bool
uniform(In *in, const TlValue *v, TlBits *out)
{
   bool first = true;
   EACH_THREAD(in, t)
   {
      TlBits b = get(in, v, t, 0);
      if (!first && b != *out)
         return stop(in, "threads disagree on a value that decides for all");
      *out = b;
      first = false;
   }
   return true;
}

static void
copy(In *in, const TlValue *to, const TlValue *from)
{
   EACH_THREAD(in, t)
   for (unsigned r = 0; r < regs(to); r++)
      set(in, to, t, r, get(in, from, t, r));
}

/* Parallel copy: sources may be destinations. */
static void
copy_all(In *in, TlValue *const *to, const TlOp *from, unsigned first, unsigned n)
{
   TlBits **tmp = tl_new_array(in->arena, TlBits *, n);
   for (unsigned i = 0; i < n; i++) {
      const TlValue *v = tl_arg(from, first + i);
      size_t bytes = (size_t)in->threads * regs(v) * sizeof(TlBits);
      tmp[i] = tl_arena_alloc(in->arena, bytes);
      memcpy(tmp[i], in->value[v->id], bytes);
   }
   for (unsigned i = 0; i < n; i++)
      EACH_THREAD(in, t)
   for (unsigned r = 0; r < regs(to[i]); r++)
      set(in, to[i], t, r, tmp[i][(size_t)t * regs(to[i]) + r]);
}

static bool
run_for(In *in, const TlOp *op)
{
   TlBits bound[3];
   TlBlock *body = op->regions[0]->block;
   TlDtype d = dtype(tl_arg(op, 0));
   for (unsigned i = 0; i < 3; i++)
      if (!uniform(in, tl_arg(op, i), &bound[i]))
         return false;
   int64_t i = tl_bits_to_int(d, bound[0]), end = tl_bits_to_int(d, bound[1]);
   int64_t step = tl_bits_to_int(d, bound[2]);
   if (step == 0)
      return stop(in, "step 0");
   copy_all(in, body->args + 1, op, 3, op->num_results);
   for (; step > 0 ? i < end : i > end; i += step) {
      EACH_THREAD(in, t)
      set(in, body->args[0], t, 0, tl_int_to_bits(d, i));
      if (!run_block(in, body))
         return false;
      copy_all(in, body->args + 1, body->last, 0, op->num_results);
   }
   for (unsigned k = 0; k < op->num_results; k++)
      copy(in, tl_result(op, k), body->args[k + 1]);
   return true;
}

static bool
run_while(In *in, const TlOp *op)
{
   TlBlock *test = op->regions[0]->block, *body = op->regions[1]->block;
   copy_all(in, test->args, op, 0, op->num_results);
   for (;;) {
      TlBits go;
      if (!run_block(in, test) || !uniform(in, tl_arg(test->last, 0), &go))
         return false;
      copy_all(in, body->args, test->last, 1, op->num_results);
      if (!(go & 1))
         break;
      if (!run_block(in, body))
         return false;
      copy_all(in, test->args, body->last, 0, op->num_results);
   }
   for (unsigned k = 0; k < op->num_results; k++)
      copy(in, tl_result(op, k), body->args[k]);
   return true;
}

static bool
run_if(In *in, const TlOp *op)
{
   bool *outer = in->active;
   for (unsigned i = 0; i < op->num_regions; i++) {
      bool *mine = tl_new_array(in->arena, bool, in->threads), any = false;
      for (unsigned t = 0; t < in->threads; t++) {
         mine[t] = outer[t] && (get(in, tl_arg(op, 0), t, 0) & 1) == (i == 0);
         any |= mine[t];
      }
      if (!any)
         continue;
      const TlBlock *block = op->regions[i]->block;
      in->active = mine;
      bool ok = run_block(in, block);
      for (unsigned k = 0; ok && k < op->num_results; k++)
         copy(in, tl_result(op, k), tl_arg(block->last, k));
      in->active = outer;
      if (!ok)
         return false;
   }
   return true;
}

static bool
fill(In *in, const TlOp *op, TlBits bits)
{
   EACH_THREAD(in, t)
   for (unsigned r = 0; r < regs(tl_result(op, 0)); r++)
      set(in, tl_result(op, 0), t, r, bits);
   return true;
}

static bool
run_op(In *in, const TlOp *op)
{
   const TlValue *out = op->num_results ? tl_result(op, 0) : NULL;
   in->op = op;
   switch (op->opcode) {
   case TL_OP_CONSTANT:
      return fill(in, op, tl_attr_bits(op, TL_ATTR_VALUE));
   case TL_OP_PROGRAM_ID:
      return fill(in, op, in->program[tl_attr_int(op, TL_ATTR_AXIS)]);
   case TL_OP_NUM_PROGRAMS:
      return fill(in, op, in->grid[tl_attr_int(op, TL_ATTR_AXIS)]);
   case TL_OP_SREG:
      return fill(in, op, 0);
   case TL_OP_POISON:
      EACH_THREAD(in, t)
      for (unsigned r = 0; r < regs(out); r++)
         set(in, out, t, r, garbage(in, t, r, dtype(out)));
      return true;
   case TL_OP_LANE_ID:
   case TL_OP_WARP_ID:
      EACH_THREAD(in, t)
      set(in, out, t, 0, op->opcode == TL_OP_LANE_ID ? t % WARP : t / WARP);
      return true;
   case TL_OP_SPLAT:
      EACH_THREAD(in, t)
      for (unsigned r = 0; r < regs(out); r++)
         set(in, out, t, r, get(in, tl_arg(op, 0), t, 0));
      return true;
   case TL_OP_PICK:
      return pick(in, op);
   case TL_OP_REPACK:
      return repack(in, op);
   case TL_OP_PIN:
      EACH_THREAD(in, t)
      for (unsigned r = 0; r < regs(out); r++)
         set(in, out, t, r, get(in, tl_arg(op, 0), t, r));
      return true;
   case TL_OP_ROUND_TF32:
      EACH_THREAD(in, t)
      for (unsigned r = 0; r < regs(out); r++)
         set(in, out, t, r, tl_round_tf32((uint32_t)get(in, tl_arg(op, 0), t, r)));
      return true;
   case TL_OP_LD_GLOBAL:
      return ld_global(in, op);
   case TL_OP_ST_GLOBAL:
      return st_global(in, op);
   case TL_OP_LD_SHARED:
      return ld_shared(in, op);
   case TL_OP_ST_SHARED:
      return st_shared(in, op);
   case TL_OP_LDMATRIX:
      return move_matrices(in, op, tl_result(op, 0), true);
   case TL_OP_STMATRIX:
      return move_matrices(in, op, tl_arg(op, 1), false);
   case TL_OP_ATOM_SHARED:
      return atom_shared(in, op);
   case TL_OP_CP_ASYNC:
      return cp_async(in, op);
   case TL_OP_CP_ASYNC_COMMIT:
      in->group++;
      return all_active(in);
   case TL_OP_CP_ASYNC_WAIT:
      return cp_async_wait(in, op);
   case TL_OP_ATOM_RMW:
   case TL_OP_ATOM_CAS:
      return atom(in, op);
   case TL_OP_SHFL:
      return shfl(in, op);
   case TL_OP_VOTE:
      return vote(in, op);
   case TL_OP_MMA:
      return mma(in, op);
   case TL_OP_BAR_SYNC:
      in->epoch++;
      in->stats->block_barriers++;
      return all_active(in);
   case TL_OP_BAR_WARP:
      in->warp_epoch++;
      in->stats->warp_barriers++;
      return all_active(in);
   case TL_OP_FOR:
      return run_for(in, op);
   case TL_OP_WHILE:
      return run_while(in, op);
   case TL_OP_IF:
      return run_if(in, op);
   case TL_OP_DEVICE_PRINT:
      EACH_THREAD(in, t)
      in->stats->prints += op->num_args ? regs(tl_arg(op, 0)) : 1;
      return true;
   case TL_OP_DEVICE_ASSERT:
      EACH_THREAD(in, t)
      for (unsigned r = 0; r < regs(tl_arg(op, 0)); r++)
         if (predicate(in, op, 1, t, r) && !(get(in, tl_arg(op, 0), t, r) & 1))
            return stop(in, "assertion failed in thread %u", t);
      return true;
   case TL_OP_ASSUME:
   case TL_OP_GDC_WAIT:
   case TL_OP_GDC_LAUNCH:
      return true;
   default:
      if (tl_has_trait(op, TL_TRAIT_ELTWISE))
         return eltwise(in, op);
      return stop(in, "no model");
   }
}

static bool
run_block(In *in, const TlBlock *block)
{
   for (const TlOp *op = block->first; op; op = op->next) {
      if (tl_has_trait(op, TL_TRAIT_TERM))
         return true;
      if (!run_op(in, op))
         return false;
   }
   return true;
}

static bool
run_program(In *in)
{
   const TlFunc *f = in->func;
   in->active = tl_new_array(in->arena, bool, in->threads);
   in->value = tl_new_array(in->arena, TlBits *, f->next_value_id);
   in->shared = tl_new_array(in->arena, Byte, f->shared_bytes + 1);
   in->copies.len = in->copies.cap = 0;
   in->group = 0;
   for (uint32_t i = 0; i < f->shared_bytes; i++)
      in->shared[i].writer = in->shared[i].reader = NOBODY;
   for (unsigned t = 0; t < in->threads; t++)
      in->active[t] = true;
   for (unsigned i = 0; i < f->body->block->num_args; i++) {
      const LoweredArg *a = &in->args[i];
      TlBits bits = a->bytes ? ((uint64_t)(i + 1) << 44) + ((uintptr_t)a->data & 0xfff) : a->bits;
      for (unsigned t = 0; t < in->threads; t++)
         set(in, f->body->block->args[i], t, 0, bits);
   }
   return run_block(in, f->body->block);
}

const char *
lowered_run(TlArena *arena, const TlFunc *f, const LoweredArg *args, unsigned num_args,
            const uint32_t grid[3], LoweredStats *stats)
{
   LoweredStats unused;
   In in = {.arena = arena,
            .func = f,
            .args = args,
            .num_args = num_args,
            .threads = f->num_warps * WARP,
            .grid = {grid[0], grid[1], grid[2]},
            .stats = stats ? stats : &unused};
   memset(in.stats, 0, sizeof *in.stats);
   if (f->body->block->num_args > num_args)
      return "too few arguments";
   for (uint32_t z = 0; z < grid[2]; z++)
      for (uint32_t y = 0; y < grid[1]; y++)
         for (uint32_t x = 0; x < grid[0]; x++) {
            TlArenaMark mark = tl_arena_mark(arena);
            in.program[0] = x;
            in.program[1] = y;
            in.program[2] = z;
            if (!run_program(&in))
               return in.error;
            tl_arena_reset(arena, mark);
         }
   return NULL;
}
