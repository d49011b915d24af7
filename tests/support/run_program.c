/* Inputs, launches and comparison of generated programs. */
#include "support/run_program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 256, POISON = 0xCD };

/* ---- data ---- */
static uint64_t
next_u64(uint64_t *rng)
{
   uint64_t z = (*rng += 0x9E3779B97F4A7C15u);
   z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
   z = (z ^ z >> 27) * 0x94D049BB133111EBu;
   return z ^ z >> 31;
}

static double
normal(uint64_t *rng)
{
   double sum = -6;
   for (unsigned i = 0; i < 12; i++)
      sum += (double)(next_u64(rng) >> 11) * 0x1p-53;
   return sum < -8 ? -8 : sum > 8 ? 8 : sum;
}

static TlBits
whole(TlDtype d, int64_t v)
{
   if (tl_dtype_is_float(d))
      return tl_double_to_bits(d, (double)v, TL_ROUND_NEAREST_EVEN);
   return tl_int_to_bits(d, v);
}

static TlBits
special(TlDtype d, uint64_t r)
{
   static const double values[] = {0.0, -0.0, 1.0, -1.0, 1e-40, 1e-7, 65504, 1e38};
   unsigned n = sizeof values / sizeof values[0];
   if (r % (n + 3) < n)
      return tl_double_to_bits(d, values[r % (n + 3)], TL_ROUND_NEAREST_EVEN);
   double odd[] = {(double)INFINITY, -(double)INFINITY, (double)NAN};
   return tl_double_to_bits(d, odd[r % (n + 3) - n], TL_ROUND_NEAREST_EVEN);
}

static TlBits
element(TlDtype d, GenFill fill, uint64_t *rng)
{
   bool is_signed = tl_dtype_is_float(d) || tl_dtype_is_signed(d);
   uint64_t r = next_u64(rng), mask = ~(uint64_t)0 >> (64 - tl_dtype_info[d].bits);
   switch (fill) {
   case GEN_SMALL:
      return whole(d, is_signed ? (int64_t)(r % 17) - 8 : (int64_t)(r % 16));
   case GEN_TINY:
      return whole(d, is_signed ? (int64_t)(r % 5) - 2 : (int64_t)(r % 4));
   case GEN_NORMAL:
      return tl_double_to_bits(d, normal(rng), TL_ROUND_NEAREST_EVEN);
   case GEN_WIDE:
      return r % 4 == 0 ? special(d, r >> 8) : next_u64(rng) & mask;
   case GEN_BITS:
      return r % 8 == 0 ? whole(d, (int64_t)(r >> 8) % 5 - 2) : next_u64(rng) & mask;
   case GEN_POISON:
      break;
   }
   return 0;
}

RunMemory
run_memory_new(const GenProgram *p)
{
   RunMemory m = {0};
   for (unsigned i = 0; i < p->num_buffers; i++) {
      size_t bytes = tl_dtype_info[p->buffer[i].dtype].bytes;
      m.at[i] = m.bytes + p->buffer[i].skip * bytes;
      m.bytes = (m.at[i] + p->buffer[i].elems * bytes + 2 * ALIGN - 1) & ~(size_t)(ALIGN - 1);
   }
   m.data = aligned_alloc(ALIGN, m.bytes + ALIGN);
   if (!m.data)
      abort();
   memset(m.data, POISON, m.bytes);
   for (unsigned i = 0; i < p->num_buffers; i++) {
      const GenBuffer *b = &p->buffer[i];
      uint64_t rng = (p->seed * GEN_MAX_BUFFERS + i) * 0xd1342543de82ef95u;
      for (uint32_t k = 0; k < b->elems && b->fill != GEN_POISON; k++)
         tl_store_elem(b->dtype, m.data + m.at[i] + (size_t)k * tl_dtype_info[b->dtype].bytes,
                       element(b->dtype, b->fill, &rng));
   }
   return m;
}

RunMemory
run_memory_copy(const RunMemory *m)
{
   RunMemory c = *m;
   c.data = aligned_alloc(ALIGN, m->bytes + ALIGN);
   if (!c.data)
      abort();
   memcpy(c.data, m->data, m->bytes);
   return c;
}

/* ---- compiling and running ---- */
static void
take_text(void *user, const TilecDiag *d)
{
   char *why = user;
   size_t n = strlen(why);
   if (d->severity == TILEC_SEVERITY_ERROR || n)
      snprintf(why + n, RUN_WHY_BYTES - n, "%s", d->rendered ? d->rendered : d->text);
}

TilecStatus
run_compile(const char *text, TilecCompileOptions options, TilecProgram **out, char *why)
{
   TilecSessionOptions so = {.struct_size = sizeof so, .on_diag = take_text, .user = why};
   TilecSession *session;
   why[0] = 0;
   TilecStatus status = tilec_session_new(&so, &session);
   if (status != TILEC_OK)
      return status;
   options.struct_size = sizeof options;
   options.file = "program.tir";
   options.source = text;
   options.source_bytes = TILEC_STRLEN;
   status = tilec_compile(session, &options, out);
   if (status != TILEC_OK && !why[0])
      snprintf(why, RUN_WHY_BYTES, "%s: %s", tilec_status_string(status),
               tilec_session_error(session));
   tilec_session_free(session);
   return status;
}

static TilecDtype
public_dtype(TlDtype t)
{
   switch (t) {
#define ROW(id, number, text, bytes, kind)                                                         \
   case TL_##id:                                                                                   \
      return TILEC_##id;
      TILEC_DTYPE_TABLE(ROW)
#undef ROW
   default:
      return TILEC_DTYPE_NONE;
   }
}

size_t
run_args(const GenProgram *p, const RunMemory *m, RunBufferArg *buffer, void *user, TilecArg *args)
{
   size_t n = 0;
   for (unsigned i = 0; i < p->num_scalars; i++)
      args[n++] = tilec_int(TILEC_I32, p->scalar[i]);
   for (unsigned i = 0; i < p->num_buffers; i++) {
      TlDtype d = p->buffer[i].dtype;
      args[n++] = buffer(user, public_dtype(d), m->at[i],
                         (size_t)p->buffer[i].elems * tl_dtype_info[d].bytes);
   }
   return n;
}

static TilecArg
host_argument(void *user, TilecDtype dtype, size_t at, size_t bytes)
{
   return tilec_ptr(dtype, (unsigned char *)user + at, bytes);
}

unsigned
run_multiprocessors(const GenProgram *p)
{
   enum { MOST = 8 };
   return 1 + (unsigned)(p->seed % MOST);
}

TilecStatus
run_on_host(const TilecProgram *program, const GenProgram *p, TilecHostMode mode, RunMemory *m,
            char *why)
{
   TilecArg args[RUN_MAX_ARGS];
   TilecFault fault = {0};
   TilecHostLaunch launch = {.struct_size = sizeof launch,
                             .mode = mode,
                             .grid = {p->grid[0], p->grid[1], p->grid[2]},
                             .args = args,
                             .num_args = run_args(p, m, host_argument, m->data, args),
                             .num_threads = 1,
                             .multiprocessors = run_multiprocessors(p)};
   TilecStatus status = tilec_program_run_cpu(program, &launch, &fault);
   if (status != TILEC_OK)
      snprintf(why, RUN_WHY_BYTES, "%s: %s", tilec_status_string(status), fault.message);
   return status;
}

/* ---- comparison ---- */
typedef struct Pair {
   const GenProgram *p;
   const RunMemory *want, *got;
   char *why;
} Pair;

static TlBits
bits_at(const Pair *x, const RunMemory *m, int buffer, size_t i)
{
   TlDtype d = x->p->buffer[buffer].dtype;
   return tl_load_elem(d, m->data + m->at[buffer] + i * tl_dtype_info[d].bytes);
}

static double
number_at(const Pair *x, const RunMemory *m, int buffer, size_t i)
{
   return tl_bits_to_double(x->p->buffer[buffer].dtype, bits_at(x, m, buffer, i));
}

static double
ulp_of(TlDtype d, double v)
{
   const TlDtypeInfo *t = &tl_dtype_info[d];
   int e, least = 1 - t->bias;
   frexp(v, &e);
   e = e - 1 < least || v == 0 ? least : e - 1;
   return ldexp(1, e - t->mantissa);
}

/* Sum of the terms' magnitudes, and their number. */
static double
sum_terms(const Pair *x, const GenBuffer *b, size_t i, double *n)
{
   size_t len = b->dims[1], inner = b->dims[2];
   size_t outer = b->agree == GEN_SCAN ? i / (len * inner) : i / inner, at = i % inner;
   double sum = 0;
   for (size_t k = 0; k < len; k++)
      sum += fabs(number_at(x, x->want, b->f, (outer * len + k) * inner + at));
   *n = (double)len;
   return sum;
}

static double
dot_terms(const Pair *x, const GenBuffer *b, size_t i, double *n)
{
   size_t batch = b->dims[1], m = b->dims[2], cols = b->dims[3], len = b->dims[4];
   size_t one = batch * m * cols, program = i / one, e = i % one;
   size_t slab = e / (m * cols), row = e / cols % m, col = e % cols;
   size_t room = b->dims[0] ? b->dims[0] : 1, steps = b->dims[0] ? (size_t)x->p->scalar[0] : 1;
   double sum = b->h >= 0 ? fabs(number_at(x, x->want, b->h, i)) : 0;
   for (size_t s = 0; s < steps; s++)
      for (size_t k = 0; k < len; k++) {
         size_t base = ((program * room + s) * batch + slab);
         size_t f = base * m * len + (b->f_trans ? k * m + row : row * len + k);
         size_t g = base * len * cols + (b->g_trans ? col * len + k : k * cols + col);
         sum += fabs(number_at(x, x->want, b->f, f) * number_at(x, x->want, b->g, g));
      }
   *n = (double)(steps * len);
   return sum;
}

/* How far the results may be apart; c = 2 for sums, 4 for dots (docs/testing.md). */
static double
allowed(const Pair *x, unsigned buffer, size_t i, double want)
{
   const GenBuffer *b = &x->p->buffer[buffer];
   double n, terms;
   switch (b->agree) {
   case GEN_ULP:
      return b->least +
             (b->ulp + b->per_x * fabs(number_at(x, x->want, b->f, i))) * ulp_of(b->dtype, want);
   case GEN_SUM:
   case GEN_SCAN:
      terms = sum_terms(x, b, i, &n);
      return 2 * n * b->unit * terms;
   case GEN_DOT:
      terms = dot_terms(x, b, i, &n);
      return 4 * n * b->unit * terms;
   case GEN_SAME_BITS:
      break;
   }
   return 0;
}

static bool
element_agrees(const Pair *x, unsigned buffer, size_t i)
{
   const GenBuffer *b = &x->p->buffer[buffer];
   TlBits want = bits_at(x, x->want, (int)buffer, i), got = bits_at(x, x->got, (int)buffer, i);
   if (want == got)
      return true;
   double w = 0, g = 0, limit = 0;
   if (tl_dtype_is_float(b->dtype)) {
      w = tl_bits_to_double(b->dtype, want);
      g = tl_bits_to_double(b->dtype, got);
      if (isnan(w) && isnan(g))
         return true;
      if (b->agree != GEN_SAME_BITS && isfinite(w) && isfinite(g)) {
         limit = allowed(x, buffer, i, w);
         if (fabs(w - g) <= limit)
            return true;
      }
   } else {
      w = (double)tl_bits_to_int(b->dtype, want);
      g = (double)tl_bits_to_int(b->dtype, got);
   }
   snprintf(x->why, RUN_WHY_BYTES,
            "buffer b%u (%s), element %zu: 0x%llx (%.9g), the CPU has 0x%llx (%.9g); %.3g allowed",
            buffer, tl_dtype_info[b->dtype].text, i, (unsigned long long)got, g,
            (unsigned long long)want, w, limit);
   return false;
}

/* Bytes that belong to no output. */
static bool
bytes_agree(const Pair *x, size_t from, size_t to)
{
   for (size_t i = from; i < to; i++)
      if (x->want->data[i] != x->got->data[i]) {
         snprintf(x->why, RUN_WHY_BYTES, "a byte outside the outputs was written, at %zu", i);
         return false;
      }
   return true;
}

bool
run_agrees(const GenProgram *p, const RunMemory *want, const RunMemory *got, char *why)
{
   Pair x = {p, want, got, why};
   size_t end = 0;
   for (unsigned i = 0; i < p->num_buffers; i++) {
      const GenBuffer *b = &p->buffer[i];
      if (!b->is_output)
         continue;
      if (!bytes_agree(&x, end, want->at[i]))
         return false;
      for (size_t k = 0; k < b->elems; k++)
         if (!element_agrees(&x, i, k))
            return false;
      end = want->at[i] + (size_t)b->elems * tl_dtype_info[b->dtype].bytes;
   }
   return bytes_agree(&x, end, want->bytes);
}
