/* Operators on compile-time values.  Weak constants (literals, constexpr) follow Python: integers
 * of up to 127 bits with an error on overflow (those beyond 64 are a kind of their own, which is
 * for arithmetic alone), `//` floors, `%` takes the divisor's sign.  When an operand
 * is strong (a constant that was stored to a plain variable) both are converted by the promotion
 * rules of run-time values and the operation's own scalar model gives the result, which stays
 * strong. */
#include "sema/impl.h"
#include "sema/text.h"

#include <assert.h>
#include <math.h>
#include <string.h>

__extension__ typedef __int128 Wide;

/* ---- predicates ---- */
enum {
   MAX_VALUE_DEPTH = 200,     /* of lists in lists .. that are walked */
   MAX_VALUE_PARTS = 1 << 20, /* that are walked, shared ones each time */
};

static bool
all_known(const TlSv *v, size_t len, unsigned depth, unsigned *parts)
{
   if (depth > MAX_VALUE_DEPTH)
      return false;
   bool known = true;
   for (size_t i = 0; known && i < len; i++) {
      if (++*parts > MAX_VALUE_PARTS || v[i].kind == TL_SV_VALUE || v[i].kind == TL_SV_BLOCKPTR)
         return false;
      if (v[i].kind == TL_SV_TUPLE)
         known = all_known(v[i].tuple->items, v[i].tuple->len, depth + 1, parts);
      else if (v[i].kind == TL_SV_OBJECT)
         known = all_known(v[i].fields->values, v[i].fields->len, depth + 1, parts);
      else if (v[i].kind == TL_SV_RANGE)
         known = all_known(&v[i].range->start, 1, depth + 1, parts) &&
                 all_known(&v[i].range->stop, 1, depth + 1, parts) &&
                 all_known(&v[i].range->step, 1, depth + 1, parts);
   }
   return known;
}

bool
tl_is_known(const TlSv *v)
{
   unsigned parts = 0;
   return all_known(v, 1, 0, &parts);
}

static bool
is_int(const TlSv *v)
{
   return v->kind == TL_SV_INT || v->kind == TL_SV_BOOL || v->kind == TL_SV_LONG;
}

static bool
is_number(const TlSv *v)
{
   return tl_sv_is_number(v) || v->kind == TL_SV_LONG;
}

static Wide
wide(const TlSv *v)
{
   assert(is_int(v));
   if (v->kind == TL_SV_BOOL)
      return v->b;
   if (v->kind == TL_SV_LONG)
      return (Wide)v->wide.high * ((Wide)1 << 64) + v->wide.low;
   return v->is_large ? (Wide)(uint64_t)v->i : (Wide)v->i;
}

double
tl_known_double(const TlSv *v)
{
   assert(is_number(v));
   return v->kind == TL_SV_FLOAT ? v->f : (double)wide(v);
}

const char *
tl_long_text(TlSema *s, const TlSv *v)
{
   assert(v->kind == TL_SV_LONG);
   char digits[48];
   size_t n = sizeof digits;
   Wide w = wide(v), left = w < 0 ? -w : w;
   digits[--n] = '\0';
   for (; left; left /= 10)
      digits[--n] = (char)('0' + (int)(left % 10));
   if (w < 0)
      digits[--n] = '-';
   return tl_arena_strndup(s->arena, digits + n, sizeof digits - 1 - n);
}

static bool
same_text(TlText a, TlText b)
{
   return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

enum { UNORDERED = 2 };

/* -1, 0, 1, or UNORDERED; exact, also between large integers and floats. */
static int
order_numbers(const TlSv *a, const TlSv *b)
{
   if (is_int(a) && is_int(b))
      return wide(a) < wide(b) ? -1 : wide(a) > wide(b);
   if (a->kind == TL_SV_FLOAT && b->kind == TL_SV_FLOAT)
      return isnan(a->f) || isnan(b->f) ? UNORDERED : a->f < b->f ? -1 : a->f > b->f;
   double f = a->kind == TL_SV_FLOAT ? a->f : b->f;
   Wide w = a->kind == TL_SV_FLOAT ? wide(b) : wide(a);
   int order; /* of the integer to the float */
   if (isnan(f))
      return UNORDERED;
   if (f >= 0x1p126 || f <= -0x1p126)
      order = f > 0 ? -1 : 1;
   else {
      double whole = floor(f);
      Wide v = (Wide)whole;
      order = w < v || (w == v && f > whole) ? -1 : w > v;
   }
   return a->kind == TL_SV_FLOAT ? -order : order;
}

/* One comparison.  Lists may contain themselves, or share parts so often that a walk never ends. */
typedef struct Same {
   TlSema *s;
   bool exact; /* also in strength and dtype */
   bool stop;  /* reported */
   unsigned depth, parts;
} Same;

static bool same_values(Same *c, const TlSv *a, const TlSv *b);

static bool
same_items(Same *c, const TlSv *a, const TlSv *b, size_t len)
{
   if (c->depth >= MAX_VALUE_DEPTH) {
      if (!c->stop)
         tl_report(c->s->diags, E0259, c->s->b.range, "==", "the operands are nested too deep");
      c->stop = true;
   }
   bool same = !c->stop;
   c->depth++;
   for (size_t i = 0; same && i < len; i++) {
      if (++c->parts % 32 == 0 && !tl_step(c->s, c->s->b.range))
         c->stop = true;
      same = !c->stop && same_values(c, &a[i], &b[i]);
   }
   c->depth--;
   return same;
}

static bool
same_fields(Same *c, const TlSvFields *a, const TlSvFields *b)
{
   if (a == b)
      return true;
   if (a->type_name != b->type_name || a->len != b->len)
      return false;
   for (size_t i = 0; i < a->len; i++)
      if ((a->names && a->names[i] != b->names[i]) ||
          (a->keys[i].kind != TL_SV_POISON && !same_items(c, &a->keys[i], &b->keys[i], 1)))
         return false;
   return same_items(c, a->values, b->values, a->len);
}

static bool
stop(Same *c, const char *why)
{
   if (!c->stop)
      tl_report(c->s->diags, E0259, c->s->b.range, "==", why);
   c->stop = true;
   return false;
}

/* Python's ==: the order of the keys does not matter. */
static bool
same_dicts(Same *c, const TlSvFields *a, const TlSvFields *b)
{
   if (a == b)
      return true;
   bool same = a->len == b->len;
   for (size_t i = 0; same && !c->stop && i < a->len; i++) {
      size_t k = 0;
      while (k < b->len && !same_items(c, &a->keys[i], &b->keys[k], 1))
         k++;
      same = k < b->len && same_items(c, &a->values[i], &b->values[k], 1);
   }
   return same && !c->stop;
}

/* Of two instances of one dataclass. */
static bool
same_data(Same *c, const TlClassInfo *info, const TlSv *a, const TlSv *b)
{
   bool same = true;
   for (size_t i = 0; same && i < info->fields.len; i++) {
      const TlField *field = &info->fields.data[i];
      TlSv x, y;
      if (field->is_compared &&
          !(tl_object_get(a, field->name, &x) && tl_object_get(b, field->name, &y)))
         return stop(c, "a field has no value");
      same = !field->is_compared || same_items(c, &x, &y, 1);
   }
   return same;
}

/* The dataclass of the object, where @dataclass says what is equal. */
static const TlClassInfo *
data_of(Same *c, const TlSv *v)
{
   const TlSvFunc *cls = tl_class_of(v);
   const TlClassInfo *info = cls ? tl_class_info(c->s, cls) : NULL;
   bool is_own = cls && tl_frame_var(cls->class_frame, tl_intern_cstr(c->s->strings, "__eq__"));
   return info && info->has_eq && !info->is_unsure && !is_own ? info : NULL;
}

/* Python's ==: of one's own classes by identity, unless they say otherwise. */
static bool
same_objects(Same *c, const TlSv *a, const TlSv *b)
{
   if (a->fields == b->fields)
      return c->depth || !tl_has_method(c->s, a, "__eq__") ||
             stop(c, "the class may say what is equal");
   if (!tl_class_of(a))
      return same_fields(c, a->fields, b->fields);
   const TlClassInfo *x = data_of(c, a), *y = data_of(c, b);
   if (x && y)
      return x == y && same_data(c, x, a, b);
   if (tl_has_method(c->s, a, "__eq__") || tl_has_method(c->s, b, "__eq__"))
      return stop(c, "the class may say what is equal");
   return false;
}

static bool
same_sets(Same *c, const TlSvTuple *a, const TlSvTuple *b)
{
   return a == b || (a->len == b->len && tl_set_within(c->s, a, b));
}

static bool
same_ranges(Same *c, const TlSvRange *a, const TlSvRange *b)
{
   if (a == b)
      return true;
   TlSv x = {.kind = TL_SV_RANGE, .range = (TlSvRange *)(uintptr_t)a}, *p, *q;
   TlSv y = {.kind = TL_SV_RANGE, .range = (TlSvRange *)(uintptr_t)b};
   size_t n, m;
   if (!tl_is_known(&x) || !tl_is_known(&y))
      return false;
   if (!tl_iterate(c->s, &x, c->s->b.range, &p, &n) || !tl_iterate(c->s, &y, c->s->b.range, &q, &m))
      return stop(c, "the ranges are not known");
   return n == m && same_items(c, p, q, n);
}

static bool
same_numbers(Same *c, const TlSv *a, const TlSv *b)
{
   if (c->exact && (a->kind != b->kind || a->is_strong != b->is_strong ||
                    (a->is_strong && a->dtype != b->dtype)))
      return false;
   if (c->exact && a->kind == TL_SV_FLOAT) /* NaN is the same as NaN here, and -0.0 is not 0.0 */
      return memcmp(&a->f, &b->f, sizeof a->f) == 0;
   if (is_int(a) && is_int(b))
      return wide(a) == wide(b);
   if (c->depth && isnan(tl_known_double(a)) && isnan(tl_known_double(b)))
      return stop(c, "NaN in a list is equal to itself alone");
   return order_numbers(a, b) == 0;
}

static bool
may_be_equal_at_run_time(const TlSv *a, const TlSv *b)
{
   bool is_a = a->kind == TL_SV_VALUE, is_b = b->kind == TL_SV_VALUE;
   if (is_a && is_b)
      return a->value != b->value;
   return (is_a && tl_sv_is_number(b)) || (is_b && tl_sv_is_number(a));
}

static bool
same_values(Same *c, const TlSv *a, const TlSv *b)
{
   if (is_number(a) && is_number(b))
      return same_numbers(c, a, b);
   if (!c->exact &&
       (tl_report_lost(c->s, a, c->s->b.range) || tl_report_lost(c->s, b, c->s->b.range)))
      c->stop = true;
   if (!c->exact && a->kind != b->kind && (a->kind == TL_SV_OBJECT || b->kind == TL_SV_OBJECT) &&
       (tl_has_method(c->s, a, "__eq__") || tl_has_method(c->s, b, "__eq__")))
      return stop(c, "the class may say what is equal");
   if (!c->exact && (a->kind == TL_SV_OPAQUE || b->kind == TL_SV_OPAQUE))
      return stop(c, "one side is not known");
   if (!c->exact && may_be_equal_at_run_time(a, b))
      return stop(c, "this is known at run time only; compare the parts one by one");
   bool is_view =
      (a->kind == TL_SV_ITER && a->iter->is_view) || (b->kind == TL_SV_ITER && b->iter->is_view);
   if (!c->exact && is_view && !(a->kind == b->kind && a->iter == b->iter))
      return stop(c, "views are not compared");
   if (a->kind != b->kind || c->stop)
      return false;
   switch (a->kind) {
   case TL_SV_NONE:
   case TL_SV_ELLIPSIS:
      return true;
   case TL_SV_STR:
      return same_text(a->s, b->s);
   case TL_SV_TYPE:
      return a->type == b->type;
   case TL_SV_TUPLE:
      return a->tuple == b->tuple ||
             (a->tuple->len == b->tuple->len && a->tuple->is_list == b->tuple->is_list &&
              same_items(c, a->tuple->items, b->tuple->items, a->tuple->len));
   case TL_SV_SET:
      return same_sets(c, a->tuple, b->tuple);
   case TL_SV_ITER:
      return a->iter == b->iter;
   case TL_SV_DICT:
      return c->exact ? same_fields(c, a->fields, b->fields) : same_dicts(c, a->fields, b->fields);
   case TL_SV_OBJECT:
      return c->exact && !tl_is_member(a) ? same_fields(c, a->fields, b->fields)
                                          : same_objects(c, a, b);
   case TL_SV_FUNC:
      return a->func == b->func ||
             (a->func->node == b->func->node && a->func->closure == b->func->closure);
   case TL_SV_BUILTIN:
      return a->builtin.row == b->builtin.row && a->builtin.self == b->builtin.self;
   case TL_SV_MODULE:
      return a->module == b->module ||
             (a->module->kind == b->module->kind && strcmp(a->module->name, b->module->name) == 0);
   case TL_SV_VALUE:
      return a->value == b->value;
   case TL_SV_RANGE:
      return c->exact ? a->range == b->range : same_ranges(c, a->range, b->range);
   default:
      return false;
   }
}

bool
tl_const_equal(TlSema *s, const TlSv *a, const TlSv *b)
{
   Same c = {.s = s};
   return same_values(&c, a, b);
}

bool
tl_const_equal_item(TlSema *s, const TlSv *a, const TlSv *b)
{
   Same c = {.s = s};
   return same_items(&c, a, b, 1);
}

bool
tl_const_same(TlSema *s, const TlSv *a, const TlSv *b)
{
   Same c = {.s = s, .exact = true};
   return same_values(&c, a, b);
}

bool
tl_const_truth(const TlSv *v)
{
   assert(!tl_sv_is_runtime(v));
   switch (v->kind) {
   case TL_SV_NONE:
      return false;
   case TL_SV_BOOL:
      return v->b;
   case TL_SV_INT:
      return v->i != 0;
   case TL_SV_FLOAT:
      return v->f != 0;
   case TL_SV_STR:
      return v->s.len != 0;
   case TL_SV_TUPLE:
   case TL_SV_SET:
      return v->tuple->len != 0;
   case TL_SV_ITER:
      return !v->iter->is_view || v->iter->len != 0;
   case TL_SV_DICT:
      return v->fields->len != 0;
   default:
      return true;
   }
}

/* ---- Python's integers and floats ---- */
static TlSv
from_wide(TlSema *s, Wide w, TlRange range)
{
   const Wide limit = (Wide)1 << 126; /* a sum, a difference or a quotient of two fits in Wide */
   if (w >= limit || w <= -limit)
      return tl_sv_refuse(s, E0210, range);
   if (w > (Wide)UINT64_MAX || w < (Wide)INT64_MIN) {
      Wide low = (Wide)(uint64_t)w, high = (w - low) / ((Wide)1 << 64);
      return (TlSv){.kind = TL_SV_LONG, .wide = {(uint64_t)low, (int64_t)high}};
   }
   TlSv v = tl_sv_int((int64_t)(uint64_t)w);
   v.is_large = w > (Wide)INT64_MAX;
   return v;
}

bool
tl_in_host(const TlSema *s)
{
   return !s->impl->act || s->impl->act->is_host;
}

static TlSv
div_by_zero(TlSema *s, TlRange range)
{
   tl_report(s->diags, E0211, range);
   tl_raise_as(s, "ZeroDivisionError");
   return tl_sv_poison();
}

static Wide
floor_div(Wide a, Wide b)
{
   assert(b != 0);
   Wide q = a / b;
   return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

static TlSv
int_pow(TlSema *s, Wide base, Wide e, TlRange range)
{
   if (e < 0)
      return base == 0 ? div_by_zero(s, range) : tl_sv_float(pow((double)base, (double)e));
   Wide r = 1;
   while (e) {
      if ((e & 1) && __builtin_mul_overflow(r, base, &r))
         return tl_sv_refuse(s, E0210, range);
      e >>= 1;
      if (e && __builtin_mul_overflow(base, base, &base))
         return tl_sv_refuse(s, E0210, range);
   }
   return from_wide(s, r, range);
}

static TlSv
int_shift(TlSema *s, TlAstOp op, Wide a, Wide n, TlRange range)
{
   if (n < 0) {
      tl_report(s->diags, E0212, range, (long long)n);
      tl_raise_as(s, "ValueError");
      return tl_sv_poison();
   }
   if (op == TL_AST_OP_SHR)
      return from_wide(s, n > 126 ? (a < 0 ? -1 : 0) : a >> n, range);
   Wide r = 0;
   if (a && (n > 126 || __builtin_mul_overflow(a, (Wide)1 << n, &r)))
      return tl_sv_refuse(s, E0210, range);
   return from_wide(s, r, range);
}

static TlSv
true_div(TlSema *s, Wide a, Wide b, TlRange range)
{
   const Wide exact = (Wide)1 << 53; /* up to here a double is the integer */
   if (b && (a > exact || a < -exact || b > exact || b < -exact) && a % b != 0) {
      tl_report(s->diags, E0259, range, "/", "integers above 2^53 are not divided exactly");
      return tl_sv_poison();
   }
   if (a == 0 && b)
      return tl_sv_float(b < 0 ? -0.0 : 0.0);
   if (b && a % b == 0)
      return tl_sv_float((double)(a / b));
   return b ? tl_sv_float((double)a / (double)b) : div_by_zero(s, range);
}

static TlSv
int_binary(TlSema *s, TlAstOp op, const TlSv *x, const TlSv *y, TlRange range)
{
   assert(is_int(x) && is_int(y));
   Wide a = wide(x), b = wide(y), r = 0;
   bool both_bool = x->kind == TL_SV_BOOL && y->kind == TL_SV_BOOL;
   switch (op) {
   case TL_AST_OP_ADD:
      return from_wide(s, a + b, range);
   case TL_AST_OP_SUB:
      return from_wide(s, a - b, range);
   case TL_AST_OP_MUL:
      return __builtin_mul_overflow(a, b, &r) ? tl_sv_refuse(s, E0210, range)
                                              : from_wide(s, r, range);
   case TL_AST_OP_DIV:
      return true_div(s, a, b, range);
   case TL_AST_OP_FLOORDIV:
      return b ? from_wide(s, floor_div(a, b), range) : div_by_zero(s, range);
   case TL_AST_OP_MOD:
      return b ? from_wide(s, a - floor_div(a, b) * b, range) : div_by_zero(s, range);
   case TL_AST_OP_POW:
      return int_pow(s, a, b, range);
   case TL_AST_OP_SHL:
   case TL_AST_OP_SHR:
      return int_shift(s, op, a, b, range);
   case TL_AST_OP_BITAND:
      return both_bool ? tl_sv_bool(x->b & y->b) : from_wide(s, a & b, range);
   case TL_AST_OP_BITOR:
      return both_bool ? tl_sv_bool(x->b | y->b) : from_wide(s, a | b, range);
   case TL_AST_OP_BITXOR:
      return both_bool ? tl_sv_bool(x->b ^ y->b) : from_wide(s, a ^ b, range);
   default:
      return tl_sv_poison();
   }
}

static bool
is_arith(TlAstOp op)
{
   return op == TL_AST_OP_ADD || op == TL_AST_OP_SUB || op == TL_AST_OP_MUL ||
          op == TL_AST_OP_DIV || op == TL_AST_OP_FLOORDIV || op == TL_AST_OP_MOD ||
          op == TL_AST_OP_POW;
}

static bool
is_bitwise(TlAstOp op)
{
   return op == TL_AST_OP_SHL || op == TL_AST_OP_SHR || op == TL_AST_OP_BITAND ||
          op == TL_AST_OP_BITOR || op == TL_AST_OP_BITXOR;
}

/* As CPython: by way of the remainder, so that 1.0 // 0.1 is 9. */
static double
float_floor_div(double a, double b)
{
   double mod = fmod(a, b), div = (a - mod) / b;
   if (mod != 0 && (b < 0) != (mod < 0))
      div -= 1;
   if (div == 0)
      return copysign(0, a / b);
   double whole = floor(div);
   return div - whole > 0.5 ? whole + 1 : whole;
}

static TlSv
float_pow(TlSema *s, double a, double b, TlRange range)
{
   if (a == 0 && b < 0)
      return div_by_zero(s, range);
   double r = pow(a, b);
   bool is_complex = a < 0 && isfinite(b) && b != floor(b) && isfinite(a);
   if (is_complex || (isinf(r) && isfinite(a) && isfinite(b))) {
      tl_report(s->diags, E0259, range, "**", "the result is no finite float");
      return tl_sv_poison();
   }
   return tl_sv_float(r);
}

static TlSv
float_binary(TlSema *s, TlAstOp op, double a, double b, TlRange range)
{
   switch (op) {
   case TL_AST_OP_ADD:
      return tl_sv_float(a + b);
   case TL_AST_OP_SUB:
      return tl_sv_float(a - b);
   case TL_AST_OP_MUL:
      return tl_sv_float(a * b);
   case TL_AST_OP_DIV:
      return b != 0 ? tl_sv_float(a / b) : div_by_zero(s, range);
   case TL_AST_OP_FLOORDIV:
      return b != 0 ? tl_sv_float(float_floor_div(a, b)) : div_by_zero(s, range);
   case TL_AST_OP_MOD: {
      if (b == 0)
         return div_by_zero(s, range);
      double r = fmod(a, b);
      return tl_sv_float(r == 0 ? copysign(0, b) : (r < 0) != (b < 0) ? r + b : r);
   }
   case TL_AST_OP_POW:
      return float_pow(s, a, b, range);
   default:
      return tl_sv_poison();
   }
}

/* ---- strong constants: the run-time meaning, folded ---- */
static const struct {
   TlAstOp op;
   TlOpcode opcode;
} strong_op[] = {
   {TL_AST_OP_ADD, TL_OP_ADD},  {TL_AST_OP_SUB, TL_OP_SUB},      {TL_AST_OP_MUL, TL_OP_MUL},
   {TL_AST_OP_DIV, TL_OP_DIV},  {TL_AST_OP_FLOORDIV, TL_OP_DIV}, {TL_AST_OP_MOD, TL_OP_REM},
   {TL_AST_OP_SHL, TL_OP_SHL},  {TL_AST_OP_SHR, TL_OP_SHR},      {TL_AST_OP_BITAND, TL_OP_AND},
   {TL_AST_OP_BITOR, TL_OP_OR}, {TL_AST_OP_BITXOR, TL_OP_XOR},   {TL_AST_OP_EQ, TL_OP_EQ},
   {TL_AST_OP_NE, TL_OP_NE},    {TL_AST_OP_LT, TL_OP_LT},        {TL_AST_OP_LE, TL_OP_LE},
   {TL_AST_OP_GT, TL_OP_GT},    {TL_AST_OP_GE, TL_OP_GE},
};

static TlBits
const_bits(const TlSv *v, TlDtype dtype)
{
   assert(tl_sv_is_number(v));
   if (v->kind == TL_SV_FLOAT)
      return tl_cast_bits(TL_FP64, dtype, tl_double_to_bits(TL_FP64, v->f, TL_ROUND_NEAREST_EVEN),
                          TL_ROUND_NEAREST_EVEN);
   if (dtype == TL_I1)
      return wide(v) != 0;
   if (tl_dtype_is_float(dtype))
      return tl_double_to_bits(dtype, (double)wide(v), TL_ROUND_NEAREST_EVEN);
   return tl_int_to_bits(dtype, v->kind == TL_SV_BOOL ? v->b : v->i);
}

static TlSv
from_bits(TlDtype dtype, TlBits bits)
{
   TlSv v;
   if (dtype == TL_I1) {
      v = tl_sv_bool(bits != 0);
   } else if (tl_dtype_is_float(dtype)) {
      v = tl_sv_float(tl_bits_to_double(dtype, bits));
   } else {
      v = tl_sv_int(tl_bits_to_int(dtype, bits));
      v.is_large = dtype == TL_U64 && v.i < 0;
   }
   v.is_strong = true;
   v.dtype = dtype;
   return v;
}

static bool
strong_binary(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b, TlRange range, TlSv *out)
{
   size_t i = 0;
   while (i < sizeof strong_op / sizeof strong_op[0] && strong_op[i].op != op)
      i++;
   if (i == sizeof strong_op / sizeof strong_op[0])
      return false; /* `**`: Python's meaning */
   bool is_div = op == TL_AST_OP_DIV || op == TL_AST_OP_FLOORDIV || op == TL_AST_OP_MOD;
   TlDtype dtype;
   *out = tl_sv_poison();
   if (!tl_sema_promote(s, a, b, is_div, range, &dtype))
      return true;
   if (op == TL_AST_OP_DIV && !tl_dtype_is_float(dtype))
      dtype = TL_FP32;
   if (op == TL_AST_OP_FLOORDIV && tl_dtype_is_float(dtype))
      return false;
   if (is_bitwise(op) && tl_dtype_is_float(dtype))
      return false;
   bool is_compare = strong_op[i].opcode >= TL_OP_EQ && strong_op[i].opcode <= TL_OP_GE;
   TlBits args[2] = {const_bits(a, dtype), const_bits(b, dtype)};
   if (is_div && !tl_dtype_is_float(dtype) && args[1] == 0) {
      *out = div_by_zero(s, range);
      return true;
   }
   TlDtype dtypes[2] = {dtype, dtype}, result = is_compare ? TL_I1 : dtype;
   bool undefined = false;
   *out = from_bits(result, tl_eval(strong_op[i].opcode, NULL, result, dtypes, args, &undefined));
   return true;
}

/* ---- sequences ---- */
enum { MAX_ITEMS = 1 << 16 };

static TlSv
concat(TlSema *s, const TlSv *a, const TlSv *b, TlRange range)
{
   assert(a->kind == TL_SV_TUPLE && b->kind == TL_SV_TUPLE);
   size_t n = a->tuple->len + b->tuple->len;
   if (n > MAX_ITEMS) {
      tl_report(s->diags, E0276, range, n, (unsigned)MAX_ITEMS);
      return tl_sv_poison();
   }
   TlSv *items = tl_new_array(s->arena, TlSv, n);
   for (size_t i = 0; i < n; i++)
      items[i] = i < a->tuple->len ? a->tuple->items[i] : b->tuple->items[i - a->tuple->len];
   return tl_make_tuple(s, items, n, a->tuple->is_list);
}

static TlSv
concat_text(TlSema *s, TlText a, TlText b, TlRange range)
{
   TlSb sb;
   if (a.len + b.len > MAX_ITEMS) {
      tl_report(s->diags, E0276, range, a.len + b.len, (unsigned)MAX_ITEMS);
      return tl_sv_poison();
   }
   tl_sb_init(&sb, s->arena);
   tl_sb_mem(&sb, a.data, a.len);
   tl_sb_mem(&sb, b.data, b.len);
   return tl_make_str(s, tl_sb_cstr(&sb), sb.len);
}

static TlSv
repeat(TlSema *s, const TlSv *seq, const TlSv *count, TlRange range)
{
   int64_t n = count->kind == TL_SV_BOOL ? count->b : count->i;
   size_t len = seq->kind == TL_SV_STR ? seq->s.len : seq->tuple->len;
   bool is_large = count->kind == TL_SV_INT && count->is_large;
   size_t times = n < 0 && !is_large ? 0 : (size_t)n;
   if (len && times > MAX_ITEMS / len) {
      tl_report(s->diags, E0213, range, times, len);
      return tl_sv_poison();
   }
   if (seq->kind == TL_SV_STR) {
      char *text = tl_arena_alloc(s->arena, len * times + 1);
      for (size_t i = 0; i < times && len; i++)
         memcpy(text + i * len, seq->s.data, len);
      return tl_make_str(s, text, len * times);
   }
   TlSv *items = tl_new_array(s->arena, TlSv, len * times);
   for (size_t i = 0; i < len * times; i++)
      items[i] = seq->tuple->items[i % len];
   return tl_make_tuple(s, items, len * times, seq->tuple->is_list);
}

static bool
sequence_binary(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b, TlRange range, TlSv *out)
{
   if (tl_set_binary(s, op, a, b, out))
      return true;
   bool a_seq = a->kind == TL_SV_STR || a->kind == TL_SV_TUPLE;
   bool b_seq = b->kind == TL_SV_STR || b->kind == TL_SV_TUPLE;
   bool is_host = tl_in_host(s);
   bool mixed =
      a->kind == TL_SV_TUPLE && b->kind == TL_SV_TUPLE && a->tuple->is_list != b->tuple->is_list;
   if (op == TL_AST_OP_ADD && a->kind == b->kind && a_seq && !(is_host && mixed)) {
      if (a->kind == TL_SV_TUPLE)
         *out = concat(s, a, b, range);
      else
         *out = concat_text(s, a->s, b->s, range);
      return true;
   }
   if (op == TL_AST_OP_MUL && a_seq && is_int(b)) {
      *out = repeat(s, a, b, range);
      return true;
   }
   if (op == TL_AST_OP_MUL && b_seq && is_int(a)) {
      *out = repeat(s, b, a, range);
      return true;
   }
   if (op == TL_AST_OP_MOD && a->kind == TL_SV_STR) {
      *out = tl_percent_format(s, a->s, b, range);
      return true;
   }
   if (op == TL_AST_OP_BITOR && a->kind == TL_SV_DICT && b->kind == TL_SV_DICT) {
      *out = tl_dict_new(s);
      const TlSv *both[2] = {a, b};
      for (unsigned k = 0; k < 2; k++)
         for (size_t i = 0; i < both[k]->fields->len; i++)
            tl_dict_set(s, out, &both[k]->fields->keys[i], both[k]->fields->values[i]);
      return true;
   }
   return false;
}

TlSv
tl_const_binary(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b, TlRange range)
{
   TlSv out;
   if (is_number(a) && is_number(b)) {
      if ((a->is_strong && b->kind == TL_SV_LONG) || (b->is_strong && a->kind == TL_SV_LONG))
         return tl_sv_refuse(s, E0210, range);
      if ((a->is_strong || b->is_strong) && strong_binary(s, op, a, b, range, &out))
         return out;
      if (is_int(a) && is_int(b) && op != TL_AST_OP_MATMUL) {
         out = int_binary(s, op, a, b, range);
         bool is_flag = a->member_of == TL_SOME_ENUM || b->member_of == TL_SOME_ENUM;
         if (is_flag && is_bitwise(op) && out.kind == TL_SV_INT)
            out.member_of = TL_SOME_ENUM;
         return out;
      }
      if (is_arith(op))
         return float_binary(s, op, tl_known_double(a), tl_known_double(b), range);
   } else if (sequence_binary(s, op, a, b, range, &out)) {
      return out;
   }
   tl_report(s->diags, E0214, range, tl_ast_op_text[op], tl_sv_operand(s, a), tl_sv_operand(s, b));
   if (!tl_help_no_number(s, a))
      (void)tl_help_no_number(s, b);
   if (tl_is_plain(a) && tl_is_plain(b))
      tl_raise_as(s, "TypeError");
   return tl_sv_poison();
}

TlSv
tl_const_unary(TlSema *s, TlAstOp op, const TlSv *a, TlRange range)
{
   bool truth;
   if (op == TL_AST_OP_NOT)
      return tl_host_truth(s, a, range, &truth) ? tl_sv_bool(!truth) : tl_sv_poison();
   if (is_number(a)) {
      TlSv zero = tl_sv_int(0), out;
      if (op == TL_AST_OP_POS)
         return a->kind == TL_SV_BOOL && !a->is_strong ? tl_sv_int(a->b) : *a;
      if (op == TL_AST_OP_NEG && a->kind == TL_SV_FLOAT) {
         out = *a;
         out.f = -a->f;
         return out;
      }
      if (op == TL_AST_OP_NEG)
         return tl_const_binary(s, TL_AST_OP_SUB, &zero, a, range);
      if (op == TL_AST_OP_INVERT && is_int(a)) {
         if (a->member_of == TL_SOME_ENUM)
            return tl_sv_refuse(s, E0259, range, "~", "it hangs on the version of Python's enum");
         if (a->is_strong)
            return from_bits(a->dtype, ~const_bits(a, a->dtype) &
                                          (UINT64_MAX >> (64 - tl_dtype_info[a->dtype].bits)));
         return from_wide(s, -wide(a) - 1, range);
      }
   }
   tl_report(s->diags, E0215, range, tl_ast_op_text[op], tl_sv_describe(s, a));
   if (a->kind == TL_SV_NONE && a->s.len)
      tl_help_given_none(s, a->s.data, "a number");
   if (tl_is_plain(a))
      tl_raise_as(s, "TypeError");
   return tl_sv_poison();
}

/* ---- comparisons ---- */
int
tl_const_order(TlSema *s, const TlSv *a, const TlSv *b, TlRange range, bool *ok)
{
   *ok = true;
   unsigned errors = s->diags->num_errors;
   while (a->kind == TL_SV_TUPLE && b->kind == TL_SV_TUPLE &&
          a->tuple->is_list == b->tuple->is_list) {
      const TlSvTuple *x = a->tuple, *y = b->tuple;
      size_t i = 0, n = x->len < y->len ? x->len : y->len;
      while (i < n && tl_const_equal_item(s, &x->items[i], &y->items[i]))
         i++;
      *ok = s->diags->num_errors == errors && tl_step(s, range);
      if (!*ok)
         return 0;
      if (i == n)
         return x->len < y->len ? -1 : x->len > y->len;
      a = &x->items[i];
      b = &y->items[i];
   }
   if (is_number(a) && is_number(b))
      return order_numbers(a, b);
   if (a->kind == TL_SV_STR && b->kind == TL_SV_STR) {
      size_t n = a->s.len < b->s.len ? a->s.len : b->s.len;
      int c = memcmp(a->s.data, b->s.data, n);
      return c ? (c < 0 ? -1 : 1) : a->s.len < b->s.len ? -1 : a->s.len > b->s.len;
   }
   *ok = false;
   tl_report(s->diags, E0214, range, "<", tl_sv_operand(s, a), tl_sv_operand(s, b));
   if (a->kind == TL_SV_BUILTIN || a->kind == TL_SV_FUNC) /* zeros<64>() */
      (void)tl_help_no_number(s, a);
   if (tl_is_plain(a) && tl_is_plain(b) && a->kind != TL_SV_SET)
      tl_raise_as(s, "TypeError");
   return 0;
}

static TlSv
contains(TlSema *s, const TlSv *item, const TlSv *in, TlRange range)
{
   if (in->kind == TL_SV_STR && item->kind == TL_SV_STR) {
      const char *begin = in->s.data;
      return tl_sv_bool(tl_find_text(s, begin, begin + in->s.len, item->s) != NULL);
   }
   if (in->kind == TL_SV_STR && tl_is_plain(item)) {
      tl_report(s->diags, E0214, range, "in", tl_sv_operand(s, item), tl_sv_operand(s, in));
      tl_raise_as(s, "TypeError");
      return tl_sv_poison();
   }
   unsigned errors = s->diags->num_errors;
   if (in->kind == TL_SV_DICT || in->kind == TL_SV_SET) {
      bool found = false;
      if (tl_report_lost(s, in, range) || !tl_check_hashable(s, item, range))
         return tl_sv_poison();
      if (in->kind == TL_SV_SET)
         found = tl_set_has(s, in->tuple, item);
      else
         tl_dict_get(s, in, item, &found);
      return s->diags->num_errors == errors ? tl_sv_bool(found) : tl_sv_poison();
   }
   if (in->kind == TL_SV_OBJECT && tl_has_method(s, in, "__contains__")) {
      tl_report(s->diags, E0259, range, "in", "the class may define it");
      return tl_sv_poison();
   }
   TlSv *items;
   size_t len;
   if (!tl_iterate(s, in, range, &items, &len))
      return tl_sv_poison();
   s->steps += len / 32;
   for (size_t i = 0; i < len && s->diags->num_errors == errors; i++)
      if (tl_const_equal_item(s, item, &items[i])) {
         tl_iter_unsure(in);
         return tl_sv_bool(true);
      }
   return s->diags->num_errors == errors ? tl_sv_bool(false) : tl_sv_poison();
}

/* a < b and the like of sets: subsets. */
static TlSv
set_compare(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b)
{
   bool swap = op == TL_AST_OP_GT || op == TL_AST_OP_GE;
   const TlSvTuple *x = swap ? b->tuple : a->tuple, *y = swap ? a->tuple : b->tuple;
   bool strict = op == TL_AST_OP_LT || op == TL_AST_OP_GT;
   return tl_sv_bool(tl_set_within(s, x, y) && !(strict && x->len == y->len));
}

/* a is b.  Of a run-time value it is known that it is no None, not whether it is True. */
static bool
is_same(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b, TlRange range, bool *same)
{
   if (tl_in_host(s))
      return tl_host_is(s, a, b, range, same);
   *same = false;
   if (a->kind == TL_SV_VALUE && b->kind == TL_SV_VALUE) {
      *same = a->value == b->value;
      return true;
   }
   if (may_be_equal_at_run_time(a, b)) {
      tl_report(s->diags, E0214, range, tl_ast_op_text[op], tl_sv_operand(s, a),
                tl_sv_operand(s, b));
      tl_help(s->diags, "'is' is decided at compile time; of a run-time value write 'if x', "
                        "'if not x' or 'x == 1'");
      return false;
   }
   unsigned errors = s->diags->num_errors;
   *same = a->kind == b->kind && tl_const_equal(s, a, b);
   return s->diags->num_errors == errors;
}

static bool
version_key(const TlSv *v, TlSv *key)
{
   return v->kind == TL_SV_OBJECT && strcmp(v->fields->type_name, TL_VERSION_TYPE) == 0 &&
          tl_object_get(v, TL_VERSION_KEY, key);
}

TlSv
tl_const_compare(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b, TlRange range)
{
   TlSv out, a_key, b_key;
   bool same;
   switch (op) {
   case TL_AST_OP_IS:
   case TL_AST_OP_IS_NOT:
      return is_same(s, op, a, b, range, &same) ? tl_sv_bool(same == (op == TL_AST_OP_IS))
                                                : tl_sv_poison();
   case TL_AST_OP_IN:
   case TL_AST_OP_NOT_IN:
      out = contains(s, a, b, range);
      return out.kind == TL_SV_BOOL ? tl_sv_bool(out.b == (op == TL_AST_OP_IN)) : out;
   default:
      break;
   }
   if (version_key(a, &a_key) && version_key(b, &b_key))
      return tl_const_compare(s, op, &a_key, &b_key, range);
   if (tl_sv_is_number(a) && tl_sv_is_number(b) && (a->is_strong || b->is_strong) &&
       strong_binary(s, op, a, b, range, &out))
      return out;
   unsigned errors = s->diags->num_errors;
   if (op == TL_AST_OP_NE && (tl_has_method(s, a, "__ne__") || tl_has_method(s, b, "__ne__"))) {
      tl_report(s->diags, E0259, range, "!=", "the class may say what is not equal");
      return tl_sv_poison();
   }
   if (op == TL_AST_OP_EQ || op == TL_AST_OP_NE) {
      bool same = tl_const_equal(s, a, b);
      return s->diags->num_errors == errors ? tl_sv_bool(same == (op == TL_AST_OP_EQ))
                                            : tl_sv_poison();
   }
   if (a->kind == TL_SV_SET && b->kind == TL_SV_SET)
      return set_compare(s, op, a, b);
   bool ok;
   int order = tl_const_order(s, a, b, range, &ok);
   if (!ok)
      return tl_sv_poison();
   bool r = op == TL_AST_OP_LT   ? order == -1
            : op == TL_AST_OP_LE ? order == -1 || order == 0
            : op == TL_AST_OP_GT ? order == 1
                                 : order == 1 || order == 0;
   return tl_sv_bool(r);
}

/* ---- dicts and objects ---- */
TlSv
tl_dict_new(TlSema *s)
{
   TlSvFields *d = tl_new(s->arena, TlSvFields);
   d->type_name = "dict";
   d->change = (TlChange){.region = s->impl->region, .born = ++s->impl->seq};
   return (TlSv){.kind = TL_SV_DICT, .fields = d};
}

TlSv
tl_object_new(TlSema *s, const char *type_name)
{
   TlSvFields *d = tl_new(s->arena, TlSvFields);
   d->type_name = type_name;
   d->change = (TlChange){.region = s->impl->region, .born = ++s->impl->seq};
   return (TlSv){.kind = TL_SV_OBJECT, .fields = d};
}

static size_t
fields_grow(TlSema *s, TlSvFields *d)
{
   if (d->len == d->cap) {
      size_t names_cap = d->cap, keys_cap = d->cap;
      d->names = tl_vec_grow(s->arena, d->names, d->len, &names_cap, sizeof d->names[0]);
      d->keys = tl_vec_grow(s->arena, d->keys, d->len, &keys_cap, sizeof d->keys[0]);
      d->values = tl_vec_grow(s->arena, d->values, d->len, &d->cap, sizeof d->values[0]);
   }
   return d->len++;
}

TlSv
tl_dict_get(TlSema *s, const TlSv *dict, const TlSv *key, bool *found)
{
   assert(dict->kind == TL_SV_DICT);
   TlSvFields *d = dict->fields;
   size_t at = tl_key_find(s, d, key);
   *found = at < d->len;
   return *found ? d->values[at] : tl_sv_none();
}

void
tl_dict_set(TlSema *s, const TlSv *dict, const TlSv *key, TlSv value)
{
   assert(dict->kind == TL_SV_DICT);
   TlSvFields *d = dict->fields;
   size_t at = tl_key_find(s, d, key);
   if (at < d->len) {
      d->values[at] = value;
      d->writes++;
      return;
   }
   at = fields_grow(s, d);
   d->keys[at] = *key;
   d->values[at] = value;
}

void
tl_dict_del(TlSema *s, const TlSv *dict, const TlSv *key)
{
   assert(dict->kind == TL_SV_DICT);
   TlSvFields *d = dict->fields;
   size_t at = tl_key_find(s, d, key);
   if (at == d->len)
      return;
   memmove(d->keys + at, d->keys + at + 1, (d->len - at - 1) * sizeof d->keys[0]);
   memmove(d->values + at, d->values + at + 1, (d->len - at - 1) * sizeof d->values[0]);
   d->len--;
   tl_keys_removed(d);
}

bool
tl_object_get(const TlSv *object, const char *name, TlSv *out)
{
   assert(object->kind == TL_SV_OBJECT);
   const TlSvFields *d = object->fields;
   for (size_t i = 0; i < d->len; i++)
      if (d->names[i] == name || strcmp(d->names[i], name) == 0) {
         *out = d->values[i];
         return true;
      }
   return false;
}

void
tl_object_set(TlSema *s, const TlSv *object, const char *name, TlSv value)
{
   assert(object->kind == TL_SV_OBJECT);
   TlSvFields *d = object->fields;
   name = tl_intern_cstr(s->strings, name);
   for (size_t i = 0; i < d->len; i++)
      if (d->names[i] == name) {
         d->values[i] = value;
         return;
      }
   size_t i = fields_grow(s, d);
   d->names[i] = name;
   d->values[i] = value;
}
