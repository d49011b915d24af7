/* Sums that come out less exact, or of less, than is meant: kept in half precision from round to
 * round, divided by the length of a tile that a mask cuts, or taken along an axis of which the
 * program has a part only; sums of what a dot has added already; quotients of integers that are
 * whole before they meet floating-point numbers. */
#include "ir/control.h"
#include "ir/trips.h"
#include "ir/walk.h"
#include "sema/lint.h"
#include "sema/lint_access.h"

#include <limits.h>
#include <assert.h>
#include <string.h>

enum { MAX_STEPS = 100 };

static bool
is_half(const TlType *t)
{
   const TlType *e = tl_type_elem(t);
   return e->kind == TL_TYPE_SCALAR && (e->dtype == TL_FP16 || e->dtype == TL_BF16);
}

bool
tl_lint_is_spelled(const TlLintFacts *f, const TlValue *v, TlDtype dtype)
{
   const TlDtypeInfo *info = &tl_dtype_info[dtype];
   const char *text = v->def ? tl_range_text(f->s, v->def->range) : "";
   if (tl_lint_is_written(text, info->triton_name) || tl_lint_is_written(text, info->text))
      return true;
   for (uint32_t i = 0; f->s->impl->has_guessed_types && i < f->func->num_params; i++) {
      const TlParam *p = &f->func->params[i];
      const TlType *e = p->type;
      while (e && e->kind == TL_TYPE_PTR)
         e = e->elem;
      if (e && e->kind == TL_TYPE_SCALAR && e->dtype == dtype)
         return false;
      if (p->constant && strcmp(p->constant, tl_dtype_info[dtype].text) == 0)
         return false;
   }
   return true;
}

/* acc + x, or dot(a, b, acc) */
static bool
adds_to(const TlOp *op, const TlValue *acc)
{
   return op->opcode == TL_OP_DOT
             ? tl_arg(op, 2) == acc
             : op->opcode == TL_OP_ADD && (tl_arg(op, 0) == acc || tl_arg(op, 1) == acc);
}

/* What adds to the i-th carried value of the loop, where that has a name and begins as a number of
 * a type that is the text's own; NULL: nothing of the kind. */
static const TlOp *
named_sum(const TlLintFacts *f, const TlOp *loop, unsigned i)
{
   const TlBlock *body = loop->regions[0]->block;
   const TlValue *acc = tl_carried(body, i), *from = tl_init(loop, i);
   const TlType *e = tl_type_elem(acc->type);
   const TlOp *op = tl_yielded(body, i)->def;
   uint64_t bits;
   bool is_sum = op && adds_to(op, acc) && acc->name && tl_is_const(from, &bits) &&
                 op->range.file == f->s->impl->main->file;
   return is_sum && e->kind == TL_TYPE_SCALAR && tl_lint_is_spelled(f, from, e->dtype) ? op : NULL;
}

/* acc = zeros(.., fp16); for ..: acc += .. */
static void
check_half(TlLintFacts *f, const TlOp *loop)
{
   TlSema *s = f->s;
   for (unsigned i = 0; loop->opcode == TL_OP_FOR && i < loop->num_results; i++) {
      const TlValue *acc = tl_carried(loop->regions[0]->block, i);
      const TlOp *op = is_half(acc->type) ? named_sum(f, loop, i) : NULL;
      if (!op)
         continue;
      tl_report(s->diags, W0246, op->range, acc->name,
                tl_dtype_info[tl_type_elem(acc->type)->dtype].text);
      const TlOp *dot = op->opcode == TL_OP_DOT ? op : tl_arg(op, tl_arg(op, 0) == acc)->def;
      bool is_product = dot && dot->opcode == TL_OP_DOT && is_half(tl_result(dot, 0)->type);
      tl_help(s->diags,
              "start with tl.zeros(.., tl.float32)%s and convert what is stored, as store does",
              is_product ? ", leave out_dtype of the dot out," : "");
      return;
   }
}

/* for ..: acc += dot(a, b, acc) */
static void
check_twice(TlLintFacts *f, const TlOp *loop)
{
   TlSema *s = f->s;
   for (unsigned i = 0; loop->opcode == TL_OP_FOR && i < loop->num_results; i++) {
      const TlBlock *body = loop->regions[0]->block;
      const TlValue *acc = tl_carried(body, i);
      const TlOp *op = tl_yielded(body, i)->def;
      bool is_sum = op && op->opcode == TL_OP_ADD && op->range.file == s->impl->main->file;
      for (unsigned k = 0; is_sum && acc->name && k < 2; k++) {
         const TlOp *dot = tl_arg(op, k)->def;
         if (tl_arg(op, 1 - k) != acc || !dot || dot->opcode != TL_OP_DOT || tl_arg(dot, 2) != acc)
            continue;
         tl_report(s->diags, W0271, op->range, acc->name);
         tl_help(s->diags, "write %s = dot(.., %s), or leave it out of the dot: %s += dot(..)",
                 acc->name, acc->name, acc->name);
         return;
      }
   }
}

/* The load of a table that the value is, element by element, but for what it is scaled by. */
static const TlOp *
load_of(const TlValue *v, unsigned *steps)
{
   const TlOp *op = v->def;
   if (!op || ++*steps > MAX_STEPS)
      return NULL;
   if (op->opcode == TL_OP_LOAD)
      return op;
   bool goes_on = tl_has_trait(op, TL_TRAIT_ELTWISE);
   for (unsigned i = 0; goes_on && i < op->num_args; i++) {
      const TlOp *load = load_of(tl_arg(op, i), steps);
      if (load)
         return load;
   }
   return NULL;
}

static const TlLintAccess *
access_of(const TlLintFacts *f, const TlOp *op)
{
   for (size_t i = 0; op && i < f->all.len; i++)
      if (f->all.data[i].op == op)
         return &f->all.data[i];
   return NULL;
}

/* Is the axis cut over the programs of a grid axis? */
static bool
is_cut(TlLintFacts *f, const TlLintAccess *x, unsigned d)
{
   TlTerm stride;
   TlSum index;
   if (!tl_lint_index(f, x, d, &stride, &index))
      return false;
   for (int axis = 0; axis < TL_LINT_AXES; axis++)
      if (tl_lint_has_program(&index, axis))
         return true;
   return false;
}

/* The whole axis: arange(0, BLOCK) alone, below a size. */
static bool
is_whole(TlLintFacts *f, const TlLintAccess *x, unsigned d)
{
   TlTerm stride;
   TlSum index;
   if (!tl_lint_index(f, x, d, &stride, &index) || index.num != 1)
      return false;
   for (unsigned i = 0; i < x->num_bounds; i++)
      if (x->bound[i].is_upper && tl_same_sum(&x->bound[i].index, &index))
         return true;
   return false;
}

/* Does what the reduction gives go back to each element of a tile of two dimensions? */
static bool
goes_back(const TlValue *v, unsigned *steps)
{
   for (const TlUse *u = v->uses; u && ++*steps < MAX_STEPS; u = u->next) {
      const TlOp *op = u->user;
      if (op->opcode == TL_OP_BROADCAST && tl_result(op, 0)->type->rank == 2)
         return true;
      bool goes_on = op->num_results == 1 && (tl_has_trait(op, TL_TRAIT_ELTWISE) ||
                                              tl_has_trait(op, TL_TRAIT_SAME_ELEMENTS));
      if (goes_on && goes_back(tl_result(op, 0), steps))
         return true;
   }
   return false;
}

/* Does all of it go into the exponents of a softmax?  A scale of a part, or a maximum that is
 * stored for another kernel, is meant. */
static bool
is_of_softmax(const TlValue *v, unsigned *steps)
{
   bool any = false;
   for (const TlUse *u = v->uses; u; u = u->next, any = true) {
      const TlOp *op = u->user;
      const TlUse *next = op->num_results == 1 ? tl_result(op, 0)->uses : NULL;
      bool is_exponent = op->opcode == TL_OP_SUB && tl_arg(op, 1) == v && next && !next->next &&
                         (next->user->opcode == TL_OP_EXP || next->user->opcode == TL_OP_EXP2);
      bool is_moved = tl_has_trait(op, TL_TRAIT_SAME_ELEMENTS) || op->opcode == TL_OP_BROADCAST;
      if (++*steps > MAX_STEPS ||
          !(is_exponent || (is_moved && is_of_softmax(tl_result(op, 0), steps))))
         return false;
   }
   return any;
}

/* The argument below which a mask keeps the index along dimension d; NULL: there is none. */
static const TlValue *
limit_along(const TlLintAccess *x, int d)
{
   for (unsigned i = 0; i < x->num_bounds; i++)
      if (x->bound[i].is_upper && tl_lint_has_dim(&x->bound[i].index, d))
         return tl_lint_argument(&x->bound[i].limit);
   return NULL;
}

/* store(out + cols, max(x, axis=1), cols < n): what is left of the rows goes where columns go. */
static bool
is_stored_across(const TlLintFacts *f, const TlOp *op, const TlLintAccess *x, unsigned axis)
{
   const TlValue *v = tl_result(op, 0), *n = limit_along(x, (int)axis);
   while (v->uses && !v->uses->next && v->uses->user->opcode == TL_OP_CAST)
      v = tl_result(v->uses->user, 0);
   const TlOp *to = v->uses && !v->uses->next ? v->uses->user : NULL;
   const TlLintAccess *y =
      to && to->opcode == TL_OP_STORE && tl_arg(to, 1) == v ? access_of(f, to) : NULL;
   return y && n && y->is_known && y->pointers->type->rank == 1 && limit_along(y, 0) == n &&
          limit_along(x, 1 - (int)axis) != n;
}

/* store(out + .., cumsum(x, axis=0)) alone: no carry of other programs is added or kept. */
static bool
is_stored_scan(const TlOp *op)
{
   const TlValue *v = tl_result(op, 0), *of = tl_arg(op, 0);
   for (const TlUse *u = of->uses; u; u = u->next)
      if (u->user != op && u->user->opcode == TL_OP_REDUCE)
         return false;
   return op->opcode == TL_OP_SCAN && v->uses && !v->uses->next &&
          v->uses->user->opcode == TL_OP_STORE;
}

/* Is it pid * BLOCK + arange(0, BLOCK) below a size, and nothing beside it: one array over all
 * programs, of which no row or batch is a part of its own? */
static bool
is_block_of_all(TlLintFacts *f, const TlLintAccess *x)
{
   TlTerm stride;
   TlSum index;
   const TlValue *n = limit_along(x, 0);
   if (!n || !tl_lint_index(f, x, 0, &stride, &index) || x->sum.num != 2 || index.num != 2 ||
       tl_lint_constant(&index))
      return false;
   for (unsigned i = 0; i < x->num_bounds; i++)
      if (x->bound[i].is_upper && tl_same_sum(&x->bound[i].index, &index))
         return is_cut(f, x, 0);
   return false;
}

/* Another kernel of the file may add what is missing. */
static bool
is_alone(TlSema *s)
{
   const TlKernelInfo *k;
   unsigned n = tl_sema_kernels(s, &k), launched = 0;
   for (unsigned i = 0; i < n; i++)
      launched += !k[i].is_helper;
   return launched == 1;
}

/* store(out + i, cumsum(load(x + i, i < n), axis=0), i < n) of blocks of one array */
static bool
check_cut_scan(TlLintFacts *f, const TlOp *op)
{
   unsigned steps = 0;
   const TlLintAccess *x = access_of(f, load_of(tl_arg(op, 0), &steps));
   if (!x || !x->is_known || x->pointers->type->rank != 1 || !is_stored_scan(op) ||
       !is_block_of_all(f, x) || tl_lint_is_one_program(f) || !is_alone(f->s))
      return false;
   const TlLintAccess *to = access_of(f, tl_result(op, 0)->uses->user);
   if (!to || !to->is_known || !tl_same_sum(&to->sum, &x->sum))
      return false;
   tl_report(f->s->diags, W0247, op->range, 0);
   tl_help(f->s->diags,
           "each program begins anew: a second kernel adds what the blocks before have, "
           "or one program goes through all in a loop and carries it on");
   return true;
}

/* softmax of blocks of rows, along the rows' axis */
static bool
check_cut(TlLintFacts *f, const TlOp *op)
{
   TlSema *s = f->s;
   unsigned steps = 0, back = 0, uses = 0;
   const TlValue *of = tl_arg(op, 0);
   const TlLintAccess *x = of->type->rank == 2 ? access_of(f, load_of(of, &steps)) : NULL;
   unsigned axis = (unsigned)tl_attr_int(op, TL_ATTR_AXIS);
   if (!x || !x->is_known || x->pointers->type->rank != 2 || !is_cut(f, x, axis) ||
       !is_whole(f, x, 1 - axis) ||
       (!is_stored_across(f, op, x, axis) && !is_stored_scan(op) &&
        (!goes_back(tl_result(op, 0), &back) || !is_of_softmax(tl_result(op, 0), &uses))))
      return false;
   tl_report(s->diags, W0247, op->range, axis);
   tl_help(s->diags, "each program has whole %s: axis=%u", axis ? "columns" : "rows", 1 - axis);
   return true;
}

static bool
is_length(const TlValue *v, uint32_t len)
{
   uint64_t bits;
   const TlType *e = tl_type_elem(v->type);
   return tl_is_const(v, &bits) && e->kind == TL_TYPE_SCALAR &&
          tl_bits_to_number(e->dtype, bits) == len;
}

/* v / len, or v * (1 / len) */
static bool
is_divided_by(const TlUse *u, const TlValue *v, uint32_t len)
{
   const TlOp *op = u->user;
   double by;
   if (op->opcode == TL_OP_DIV)
      return tl_arg(op, 0) == v && is_length(tl_arg(op, 1), len);
   return op->opcode == TL_OP_MUL && tl_is_number(tl_arg(op, tl_arg(op, 0) == v), &by) &&
          by * len == 1;
}

/* acc = zeros(..); for ..: acc += x: what a round adds; else v itself. */
static const TlValue *
added_in_rounds(const TlValue *v)
{
   const TlOp *loop = v->def;
   const TlBlock *body = loop && loop->opcode == TL_OP_FOR ? loop->regions[0]->block : NULL;
   const TlOp *sum = body ? tl_yielded(body, v->index)->def : NULL;
   for (unsigned i = 0; sum && sum->opcode == TL_OP_ADD && i < 2; i++)
      if (tl_arg(sum, i) == tl_carried(body, v->index))
         return tl_arg(sum, 1 - i);
   return v;
}

/* What the mask keeps the index along the axis of a sum below; NULL: it is not known. */
static const TlValue *
summed_size(const TlLintAccess *x, int axis, unsigned most_terms)
{
   const TlValue *n = NULL;
   for (unsigned i = 0; i < x->num_bounds; i++)
      if (x->bound[i].is_upper && tl_lint_has_dim(&x->bound[i].index, axis) &&
          x->bound[i].index.num <= most_terms)
         n = tl_lint_argument(&x->bound[i].limit);
   return n && n->name ? n : NULL;
}

static const TlValue *
unconverted(const TlValue *v)
{
   while (v->def && (v->def->opcode == TL_OP_CAST || v->def->opcode == TL_OP_SPLAT))
      v = tl_arg(v->def, 0);
   return v;
}

/* sum(load(.., mask=i < n)) / BLOCK, also of what rounds add up; v - sum(v, axis=0) / N, where N
 * is the size of axis 1 */
static bool
check_mean(TlLintFacts *f, const TlOp *op)
{
   TlSema *s = f->s;
   unsigned steps = 0;
   const TlValue *of = added_in_rounds(tl_arg(op, 0));
   const TlLintAccess *x = access_of(f, load_of(of, &steps));
   unsigned most_terms = of == tl_arg(op, 0) ? 1 : 2; /* where the round begins */
   int axis = (int)tl_attr_int(op, TL_ATTR_AXIS);
   const TlType *tile = tl_arg(op, 0)->type;
   uint32_t len = tile->shape[axis];
   if (!x || len < 2)
      return false;
   const TlValue *sum = tl_result(op, 0), *n = summed_size(x, axis, most_terms);
   const TlValue *any = n ? n : summed_size(x, axis, UINT_MAX);
   const TlValue *other = tile->rank == 2 ? summed_size(x, 1 - axis, UINT_MAX) : NULL;
   for (const TlUse *u = sum->uses; u; u = u->next) {
      bool is_by_length = n && tl_lint_trusts_numbers(f) && is_divided_by(u, sum, len);
      bool is_by_other = any && other && other != any && u->user->opcode == TL_OP_DIV &&
                         tl_arg(u->user, 0) == sum && unconverted(tl_arg(u->user, 1)) == other &&
                         goes_back(tl_result(u->user, 0), &steps);
      if (!is_by_length && !is_by_other)
         continue;
      bool is_guess = s->impl->has_guessed_numbers;
      const char *name = is_guess ? tl_lint_divisor(s, u->user) : NULL;
      tl_report(s->diags, W0248, u->user->range,
                is_by_length ? tl_arena_printf(s->arena, "%s is the length of the tile",
                                               name ? name : tl_arena_printf(s->arena, "%u", len))
                             : tl_arena_printf(s->arena,
                                               "'%.40s' is the size of axis %d, and the sum goes "
                                               "along axis %d",
                                               other->name, 1 - axis, axis),
                any->name);
      if (is_by_length)
         tl_help(s->diags, "divide by %s", any->name);
      else
         tl_help(s->diags,
                 "the mean along axis %d is that of a sum along axis %d, tl.sum(x, axis=%d, "
                 "keep_dims=True) / %.40s; along axis %d it is this sum divided by %.40s",
                 1 - axis, 1 - axis, 1 - axis, other->name, axis, any->name);
      return true;
   }
   return false;
}

/* The least and the greatest number of an integer type of up to 32 bits. */
static void
limits_of_type(TlDtype t, int64_t *lo, int64_t *hi)
{
   bool is_signed = tl_dtype_is_signed(t);
   unsigned width = tl_dtype_info[t].bits;
   assert(tl_dtype_is_int(t) && width <= 32);
   *lo = is_signed ? -(INT64_C(1) << (width - 1)) : 0;
   *hi = (INT64_C(1) << (width - is_signed)) - 1;
}

/* What a value of 8 or 16 bits lies between, by its type and the constants on its way. */
static void
limits_of(const TlValue *v, int64_t *lo, int64_t *hi, unsigned *steps)
{
   const TlType *e = tl_type_elem(v->type);
   uint64_t bits;
   unsigned width = tl_dtype_info[e->dtype].bits;
   limits_of_type(e->dtype, lo, hi);
   if (tl_is_const(v, &bits)) {
      *lo = *hi = tl_bits_to_int(e->dtype, bits);
      return;
   }
   const TlOp *op = v->def;
   bool goes_on = op && ++*steps < MAX_STEPS && tl_has_trait(op, TL_TRAIT_ELTWISE);
   if (goes_on && op->opcode == TL_OP_AND) {
      for (unsigned i = 0; i < 2; i++)
         if (tl_is_const(tl_arg(op, i), &bits) && tl_bits_to_int(e->dtype, bits) >= 0) {
            *lo = 0;
            *hi = tl_bits_to_int(e->dtype, bits);
         }
   } else if (goes_on && op->opcode == TL_OP_SHR && tl_is_const(tl_arg(op, 1), &bits) &&
              bits < width) {
      *lo >>= bits;
      *hi >>= bits;
   } else if (goes_on && (op->opcode == TL_OP_CAST || op->opcode == TL_OP_SELECT)) {
      const TlType *from = tl_type_elem(tl_arg(op, op->num_args - 1)->type);
      if (from->kind == TL_TYPE_SCALAR && from->dtype == TL_I1)
         *lo = 0, *hi = 1;
      else if (op->opcode == TL_OP_CAST && from->kind == TL_TYPE_SCALAR &&
               tl_dtype_is_int(from->dtype) && tl_dtype_info[from->dtype].bits <= width) {
         int64_t low, high;
         limits_of(tl_arg(op, 0), &low, &high, steps);
         if (low >= *lo && high <= *hi)
            *lo = low, *hi = high;
      }
   }
}

static bool
may_wrap(const TlOp *op, TlDtype t)
{
   unsigned steps = 0;
   int64_t a, b, c, d, lo = 0, hi = 0;
   limits_of(tl_arg(op, 0), &a, &b, &steps);
   limits_of(tl_arg(op, 1), &c, &d, &steps);
   if (op->opcode == TL_OP_ADD) {
      lo = a + c;
      hi = b + d;
   } else if (op->opcode == TL_OP_SUB) {
      lo = a - d;
      hi = b - c;
   } else {
      int64_t p[4] = {a * c, a * d, b * c, b * d};
      for (unsigned i = 0; i < 4; i++) {
         lo = p[i] < lo ? p[i] : lo;
         hi = p[i] > hi ? p[i] : hi;
      }
   }
   limits_of_type(t, &a, &b);
   return lo < a || hi > b;
}

/* x * x, x + y or x - y of int8 or int16, made wider or divided afterwards.  x + 1 of 16 bits is
 * too seldom too large. */
static bool
check_narrow(TlLintFacts *f, const TlOp *op)
{
   const TlType *e = tl_type_elem(tl_result(op, 0)->type);
   uint64_t number;
   unsigned width = e->kind == TL_TYPE_SCALAR ? tl_dtype_info[e->dtype].bits : 0;
   bool has_number = tl_is_const(tl_arg(op, 0), &number) || tl_is_const(tl_arg(op, 1), &number);
   bool is_narrow = width && tl_dtype_is_int(e->dtype) && e->dtype != TL_I1 &&
                    (width == 8 || (width == 16 && (!has_number || op->opcode == TL_OP_MUL)));
   if (!is_narrow || !may_wrap(op, e->dtype))
      return false;
   for (const TlUse *u = tl_result(op, 0)->uses; u; u = u->next) {
      const TlOp *by = u->user;
      const TlType *to = by->opcode == TL_OP_CAST ? tl_type_elem(tl_result(by, 0)->type) : NULL;
      bool is_divided =
         (by->opcode == TL_OP_DIV || (by->opcode == TL_OP_SHR && !tl_dtype_is_signed(e->dtype))) &&
         tl_arg(by, 0) == tl_result(op, 0);
      bool is_wider = to && tl_dtype_info[to->dtype].bits > width;
      if (!is_wider && !is_divided)
         continue;
      tl_report(f->s->diags, W0257, op->range,
                op->opcode == TL_OP_MUL   ? "product"
                : op->opcode == TL_OP_SUB ? "difference"
                                          : "sum",
                tl_dtype_info[e->dtype].text, width, is_wider ? "made wider" : "divided");
      tl_help(f->s->diags, "convert before: x.to(tl.int32)");
      return true;
   }
   return false;
}

/* ---- counters of 8 bits ---- */
/* n = zeros(.., int8); for ..: n += .. */
static bool
check_counter(TlLintFacts *f, const TlOp *loop)
{
   TlSema *s = f->s;
   for (unsigned i = 0; loop->opcode == TL_OP_FOR && i < loop->num_results; i++) {
      const TlValue *acc = tl_carried(loop->regions[0]->block, i);
      const TlType *e = tl_type_elem(acc->type);
      bool is_narrow = e->kind == TL_TYPE_SCALAR && tl_dtype_is_int(e->dtype) &&
                       e->dtype != TL_I1 && tl_dtype_info[e->dtype].bits == 8;
      const TlOp *op = is_narrow ? named_sum(f, loop, i) : NULL;
      if (!op || op->opcode != TL_OP_ADD)
         continue;
      unsigned steps = 0;
      uint64_t trips = tl_known_trips(loop);
      int64_t rounds = trips < INT32_MAX ? (int64_t)trips : INT32_MAX; /* not known: many */
      int64_t lo, hi, least, most;
      limits_of(tl_arg(op, tl_arg(op, 0) == acc), &lo, &hi, &steps);
      limits_of_type(e->dtype, &least, &most);
      if (lo * rounds >= least && hi * rounds <= most)
         continue;
      tl_report(s->diags, W0246, op->range, acc->name, tl_dtype_info[e->dtype].text);
      tl_help(s->diags, "it wraps beyond %lld: start with tl.zeros(.., tl.int32)", (long long)most);
      return true;
   }
   return false;
}

/* ---- quotients that are whole ---- */
/* A sum of integers, or what was loaded: data, no index. */
static bool
is_data(const TlValue *v)
{
   const TlOp *op = tl_lint_before_casts(v)->def;
   return op && (op->opcode == TL_OP_LOAD ||
                 (op->opcode == TL_OP_REDUCE && tl_combined_by(op) == TL_OP_ADD));
}

/* Has the conversion the range of the operations that take it?  One by .to(..) has its own. */
static bool
is_unwritten(const TlOp *cast)
{
   for (const TlUse *u = tl_result(cast, 0)->uses; u; u = u->next)
      if (u->user->range.begin != cast->range.begin || u->user->range.end != cast->range.end)
         return false;
   return true;
}

/* Where it becomes a floating-point number. */
static const TlOp *
made_float(const TlValue *v, bool is_silent, unsigned *steps)
{
   for (const TlUse *u = v->uses; u && ++*steps < MAX_STEPS; u = u->next) {
      const TlOp *op = u->user, *found = NULL;
      const TlType *to = op->num_results == 1 ? tl_type_elem(tl_result(op, 0)->type) : NULL;
      bool is_cast =
         op->opcode == TL_OP_CAST && to->kind == TL_TYPE_SCALAR && tl_dtype_is_float(to->dtype);
      if (op->opcode == TL_OP_SPLAT || op->opcode == TL_OP_BROADCAST)
         found = made_float(tl_result(op, 0), is_silent, steps);
      else if (is_cast && (!is_silent || is_unwritten(op)))
         found = op;
      if (found)
         return found;
   }
   return NULL;
}

/* sum(x) * (1 // n), store(y, sum(i) // n) */
static bool
check_quotient(TlLintFacts *f, const TlOp *op)
{
   TlSema *s = f->s;
   uint64_t bits;
   unsigned steps = 0;
   const TlType *e = tl_type_elem(tl_result(op, 0)->type);
   bool is_whole = op->opcode == TL_OP_DIV && e->kind == TL_TYPE_SCALAR &&
                   tl_dtype_is_int(e->dtype) && !tl_is_const(tl_arg(op, 1), &bits);
   bool is_of_constant = is_whole && tl_is_const(tl_arg(op, 0), &bits) && bits;
   if (!is_of_constant && (!is_whole || !is_data(tl_arg(op, 0))))
      return false;
   const TlOp *to = made_float(tl_result(op, 0), !is_of_constant, &steps);
   if (!to)
      return false;
   const char *text = tl_dtype_info[tl_type_elem(tl_result(to, 0)->type)->dtype].text;
   long long number = is_of_constant ? (long long)tl_bits_to_int(e->dtype, bits) : 0;
   tl_report(s->diags, W0285, op->range, tl_range_text(s, op->range),
             is_of_constant
                ? tl_arena_printf(s->arena, ", 0 where the divisor is above %lld", number)
                : " without its fraction",
             text);
   const char *sign = strstr(tl_range_text(s, op->range), "//");
   tl_help(s->diags, "'/' divides with the fraction%s",
           is_of_constant && sign
              ? tl_arena_printf(s->arena, ": %lld.0 / %.60s", number, sign + strspn(sign, "/ "))
              : "");
   if (to->range.begin != op->range.begin)
      tl_note(s->diags, N0200, to->range, "it becomes a floating-point number here");
   return true;
}

/* What goes by a type or by a number is not told of guessed ones. */
void
tl_lint_sums(TlLintFacts *f)
{
   const TlBlock *top = f->func->body->block;
   bool is_told = false, is_narrow_told = false, is_whole_told = false;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      check_half(f, op);
      is_whole_told |= !is_whole_told && op->opcode == TL_OP_DIV &&
                       op->range.file == f->s->impl->main->file && check_quotient(f, op);
      check_twice(f, op);
      (void)check_counter(f, op);
      bool is_sum_of_two = op->opcode == TL_OP_ADD || op->opcode == TL_OP_SUB;
      bool may_be_narrow =
         (op->opcode == TL_OP_MUL || is_sum_of_two) && op->range.file == f->s->impl->main->file;
      bool is_guessed = is_sum_of_two && f->s->impl->has_guessed_types;
      is_narrow_told |= may_be_narrow && !is_guessed && !is_narrow_told && check_narrow(f, op);
      bool is_sum = op->opcode == TL_OP_REDUCE && op->num_args == 1 &&
                    op->range.file == f->s->impl->main->file;
      bool is_scan =
         op->opcode == TL_OP_SCAN && op->num_args == 1 && op->range.file == f->s->impl->main->file;
      if (is_scan && !is_told)
         is_told = check_cut(f, op) || check_cut_scan(f, op);
      if (is_sum && !is_told)
         is_told = check_cut(f, op) || (tl_combined_by(op) == TL_OP_ADD && check_mean(f, op));
   }
}
