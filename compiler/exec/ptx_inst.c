/* What the instructions of inline PTX do.  Arithmetic on one lane is tl_eval's; the rest follows
 * the sections of the PTX ISA that carry the instructions' names. */
#include "exec/ptx_impl.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

/* ---- suffixes ---- */
static const TlPtxType types[] = {
   {"pred", TL_I1, 1, true, true, false},          {"b8", TL_U8, 1, false, true, false},
   {"b16", TL_U16, 1, false, true, false},         {"b32", TL_U32, 1, false, true, false},
   {"b64", TL_U64, 1, false, true, false},         {"u8", TL_U8, 1, false, false, false},
   {"u16", TL_U16, 1, false, false, false},        {"u32", TL_U32, 1, false, false, false},
   {"u64", TL_U64, 1, false, false, false},        {"s8", TL_I8, 1, false, false, false},
   {"s16", TL_I16, 1, false, false, false},        {"s32", TL_I32, 1, false, false, false},
   {"s64", TL_I64, 1, false, false, false},        {"f16", TL_FP16, 1, false, false, false},
   {"f16x2", TL_FP16, 2, false, false, false},     {"bf16", TL_BF16, 1, false, false, false},
   {"bf16x2", TL_BF16, 2, false, false, false},    {"f32", TL_FP32, 1, false, false, false},
   {"f64", TL_FP64, 1, false, false, false},       {"tf32", TL_FP32, 1, false, false, true},
   {"e4m3x2", TL_FP8E4NV, 2, false, false, false}, {"e5m2x2", TL_FP8E5, 2, false, false, false},
};

const TlPtxType *
tl_ptx_type(const char *text, size_t len)
{
   for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
      if (strlen(types[i].text) == len && memcmp(types[i].text, text, len) == 0)
         return &types[i];
   return NULL;
}

#define TL_PTX_FLAGS(X)                                                                            \
   X(RN, "rn") X(RZ, "rz") X(RNI, "rni") X(RZI, "rzi") X(RMI, "rmi") X(RPI, "rpi") X(RNA, "rna")   \
   X(RM, "rm") X(RP, "rp") X(APPROX, "approx") X(FULL, "full") X(FTZ, "ftz") X(SAT, "sat")         \
   X(SATFINITE, "satfinite")                                                                       \
   X(RELU, "relu") X(LO, "lo") X(HI, "hi") X(WIDE, "wide") X(WRAP, "wrap") X(CLAMP, "clamp")       \
   X(L, "l") X(R, "r") X(EQ, "eq") X(NE, "ne") X(LT, "lt") X(LE, "le") X(GT, "gt") X(GE, "ge")     \
   X(LS, "ls") X(HS, "hs") X(EQU, "equ") X(NEU, "neu") X(LTU, "ltu") X(LEU, "leu")                 \
   X(GTU, "gtu") X(GEU, "geu") X(NUM, "num") X(ISNAN, "nan") X(NAN, "NaN") X(AND, "and")           \
   X(OR, "or") X(XOR, "xor") X(PACK, "pack") X(XORSIGN, "xorsign") X(ABS, "abs")

enum {
#define FLAG_BIT(id, text) BIT_##id,
   TL_PTX_FLAGS(FLAG_BIT)
#undef FLAG_BIT
};
#define F(id) ((uint64_t)1 << BIT_##id)
static const char *const flag_text[] = {
#define FLAG_TEXT(id, text) text,
   TL_PTX_FLAGS(FLAG_TEXT)
#undef FLAG_TEXT
};
enum { NUM_FLAGS = sizeof flag_text / sizeof flag_text[0] };

#define DIRECTED (F(RZ) | F(RM) | F(RP)) /* rounding that is not to nearest */
#define COMPARE_FLAGS                                                                              \
   (F(EQ) | F(NE) | F(LT) | F(LE) | F(GT) | F(GE) | F(LO) | F(LS) | F(HI) | F(HS) | F(EQU) |       \
    F(NEU) | F(LTU) | F(LEU) | F(GTU) | F(GEU) | F(NUM) | F(ISNAN))
#define CVT_FLAGS                                                                                  \
   (F(RN) | DIRECTED | F(RNI) | F(RZI) | F(RMI) | F(RPI) | F(RNA) | F(FTZ) | F(SAT) |              \
    F(SATFINITE) | F(RELU) | F(PACK))

enum { ON_PRED = 1, ON_BITS = 2, ON_INT = 4, ON_HALF = 8, ON_F32 = 16, ON_F64 = 32, ON_FP8 = 64 };
enum { ON_FLOAT = ON_HALF | ON_F32 | ON_F64, ON_ANY = ON_BITS | ON_INT | ON_FLOAT };

typedef void Step(const TlPtxInst *i, uint64_t *reg);

struct TlPtxSpec {
   const char *name;
   Step *step;
   uint8_t min_operands, max_operands, num_types;
   uint8_t on;     /* types it takes */
   uint64_t flags; /* modifiers it takes */
   TlOpcode op;    /* step_eval: the operation of a lane */
};

/* ---- registers ---- */
static unsigned
bits_of(const TlPtxType *t)
{
   return t->lanes * tl_dtype_info[t->dtype].bits;
}

static uint64_t
low_bits(uint64_t v, unsigned bits)
{
   return bits >= 64 ? v : v & (((uint64_t)1 << bits) - 1);
}

static uint64_t
get(const TlPtxInst *i, const uint64_t *reg, unsigned k, const TlPtxType *t)
{
   const TlPtxOperand *o = &i->operand[k];
   uint64_t v = o->imm;
   if (o->kind == TL_PTX_REG)
      v = reg[o->reg[0]] ^ (o->is_not ? 1 : 0);
   else if (o->imm_kind == TL_PTX_IMM_F64 && t->dtype != TL_FP64 && tl_dtype_is_float(t->dtype))
      v = tl_double_to_bits(t->dtype, tl_bits_to_double(TL_FP64, v), TL_ROUND_NEAREST_EVEN);
   else if (o->imm_kind == TL_PTX_IMM_F32 && t->dtype == TL_FP64)
      v = tl_cast_bits(TL_FP32, TL_FP64, v, TL_ROUND_NEAREST_EVEN);
   return low_bits(v, bits_of(t));
}

static void
put(const TlPtxInst *i, uint64_t *reg, unsigned k, uint64_t v)
{
   uint32_t to = i->operand[k].reg[0];
   if (to != TL_PTX_SINK)
      reg[to] = v;
}

static TlBits
flush(TlDtype d, TlBits v) /* denormals to zero of the same sign */
{
   return d == TL_FP32 && (v & 0x7F800000) == 0 ? v & 0x80000000 : v;
}

static TlBits
eval(TlOpcode op, TlDtype d, const TlBits *args, int64_t nan)
{
   TlAttr attrs[TL_MAX_OP_ATTRS] = {{0}};
   TlDtype dtypes[3] = {d, d, d};
   bool undefined = false, gives_bool = op == TL_OP_EQ || op == TL_OP_LT || op == TL_OP_LE;
   if (op == TL_OP_MIN || op == TL_OP_MAX)
      attrs[tl_attr_at(op, TL_ATTR_NAN)].i = nan;
   return tl_eval(op, attrs, gives_bool ? TL_I1 : d, dtypes, args, &undefined);
}

static TlBits
limit(const TlPtxInst *i, TlDtype d, TlBits v)
{
   TlBits zero = 0, one = tl_double_to_bits(d, 1, TL_ROUND_NEAREST_EVEN);
   if (i->flags & F(RELU))
      v = eval(TL_OP_MAX, d, (TlBits[]){v, zero}, TL_NAN_ALL);
   if ((i->flags & F(SAT)) && tl_dtype_is_float(d)) {
      v = eval(TL_OP_MAX, d, (TlBits[]){v, zero}, TL_NAN_NONE); /* NaN gives 0 */
      v = eval(TL_OP_MIN, d, (TlBits[]){v, one}, TL_NAN_NONE);
   }
   return i->flags & F(FTZ) ? flush(d, v) : v;
}

/* ---- rounding in a direction: this CPU's own ---- */
/* Volatile operands keep the arithmetic between the two changes of the rounding. */
#define IN_TYPE(type, fma, sqrt)                                                                   \
   static type directed_##type(TlOpcode op, type a, type b, type c)                                \
   {                                                                                               \
      volatile type x = a, y = b, z = c, r = 0;                                                    \
      if (op == TL_OP_ADD)                                                                         \
         r = x + y;                                                                                \
      else if (op == TL_OP_SUB)                                                                    \
         r = x - y;                                                                                \
      else if (op == TL_OP_MUL)                                                                    \
         r = x * y;                                                                                \
      else if (op == TL_OP_DIV)                                                                    \
         r = x / y;                                                                                \
      else if (op == TL_OP_FMA)                                                                    \
         r = fma(x, y, z);                                                                         \
      else if (op == TL_OP_SQRT)                                                                   \
         r = sqrt(x);                                                                              \
      return r;                                                                                    \
   }
IN_TYPE(float, fmaf, sqrtf)
IN_TYPE(double, fma, sqrt)
#undef IN_TYPE

/* The rounding that was before. */
static int
turn(uint64_t flags)
{
   int before = fegetround();
   fesetround(flags & F(RZ) ? FE_TOWARDZERO : flags & F(RM) ? FE_DOWNWARD : FE_UPWARD);
   return before;
}

static TlBits
directed(const TlPtxInst *i, TlOpcode op, TlDtype d, const TlBits *args, unsigned num)
{
   double v[3] = {0, 0, 0};
   for (unsigned k = 0; k < num; k++)
      v[k] = tl_bits_to_double(d, args[k]);
   int before = turn(i->flags);
   double r = d == TL_FP64 ? directed_double(op, v[0], v[1], v[2])
                           : (double)directed_float(op, (float)v[0], (float)v[1], (float)v[2]);
   fesetround(before);
   return tl_double_to_bits(d, r, TL_ROUND_NEAREST_EVEN);
}

/* A number of any type as one of fp32 or fp64. */
static TlBits
directed_cast(const TlPtxInst *i, TlDtype to, TlDtype from, TlBits v)
{
   bool is_float = tl_dtype_is_float(from), is_signed = tl_dtype_is_signed(from);
   volatile double d = is_float ? tl_bits_to_double(from, v) : 0;
   volatile int64_t n = is_signed ? tl_bits_to_int(from, v) : 0;
   volatile uint64_t u = v;
   volatile float narrow;
   volatile double wide;
   int before = turn(i->flags);
   if (to == TL_FP64) {
      wide = is_float ? d : is_signed ? (double)n : (double)u;
   } else {
      narrow = is_float ? (float)d : is_signed ? (float)n : (float)u;
      wide = (double)narrow;
   }
   fesetround(before);
   return tl_double_to_bits(to, wide, TL_ROUND_NEAREST_EVEN);
}

/* ---- one operation on each lane ---- */
static void
step_eval(const TlPtxInst *i, uint64_t *reg)
{
   const TlPtxType *t = i->type[0];
   unsigned bits = tl_dtype_info[t->dtype].bits, num = i->num_operands - 1;
   int64_t nan = i->flags & F(NAN) ? TL_NAN_ALL : TL_NAN_NONE;
   uint64_t out = 0, sign = i->flags & F(XORSIGN) ? (uint64_t)1 << (bits - 1) : 0;
   for (unsigned lane = 0; lane < t->lanes; lane++) {
      TlBits args[3] = {0};
      for (unsigned k = 0; k < num; k++) {
         args[k] = low_bits(get(i, reg, k + 1, t) >> lane * bits, bits);
         if (i->flags & F(FTZ))
            args[k] = flush(t->dtype, args[k]);
      }
      uint64_t differ = sign ? (args[0] ^ args[1]) & sign : 0; /* min, max .xorsign.abs */
      for (unsigned k = 0; k < num; k++)
         args[k] &= ~sign;
      TlBits r = i->flags & DIRECTED ? directed(i, i->spec->op, t->dtype, args, num)
                                     : eval(i->spec->op, t->dtype, args, nan);
      if (differ && !isnan(tl_bits_to_double(t->dtype, r)))
         r |= differ;
      out |= limit(i, t->dtype, r) << lane * bits;
   }
   put(i, reg, 0, out);
}

static void
step_not(const TlPtxInst *i, uint64_t *reg)
{
   put(i, reg, 0, low_bits(~get(i, reg, 1, i->type[0]), bits_of(i->type[0])));
}

/* rcp.f: 1 / a */
static void
step_rcp(const TlPtxInst *i, uint64_t *reg)
{
   TlDtype d = i->type[0]->dtype;
   TlBits x = get(i, reg, 1, i->type[0]);
   x = i->flags & F(FTZ) ? flush(d, x) : x;
   TlBits args[] = {tl_double_to_bits(d, 1, TL_ROUND_NEAREST_EVEN), x};
   TlBits r =
      i->flags & DIRECTED ? directed(i, TL_OP_DIV, d, args, 2) : eval(TL_OP_DIV, d, args, 0);
   put(i, reg, 0, limit(i, d, r));
}

/* mul, mad of integers: the low or the high half of the product, or all of it. */
static uint64_t
product(const TlPtxInst *i, uint64_t *reg)
{
   TlDtype d = i->type[0]->dtype;
   TlBits args[] = {get(i, reg, 1, i->type[0]), get(i, reg, 2, i->type[0])};
   if (i->flags & F(WIDE))
      return (uint64_t)tl_bits_to_int(d, args[0]) * (uint64_t)tl_bits_to_int(d, args[1]);
   return eval(i->flags & F(HI) ? TL_OP_MULHI : TL_OP_MUL, d, args, 0);
}

static const TlPtxType *
wide_type(const TlPtxInst *i)
{
   unsigned bits = tl_dtype_info[i->type[0]->dtype].bits;
   const char *text = bits == 16 ? "b32" : "b64";
   return i->flags & F(WIDE) ? tl_ptx_type(text, 3) : i->type[0];
}

static void
step_mul(const TlPtxInst *i, uint64_t *reg)
{
   if (tl_dtype_is_float(i->type[0]->dtype))
      step_eval(i, reg);
   else
      put(i, reg, 0, low_bits(product(i, reg), bits_of(wide_type(i))));
}

static void
step_mad(const TlPtxInst *i, uint64_t *reg)
{
   if (tl_dtype_is_float(i->type[0]->dtype)) {
      step_eval(i, reg);
      return;
   }
   const TlPtxType *t = wide_type(i);
   put(i, reg, 0, low_bits(product(i, reg) + get(i, reg, 3, t), bits_of(t)));
}

/* Shifts take a 32-bit count. */
static void
step_shift(const TlPtxInst *i, uint64_t *reg)
{
   TlDtype d = i->type[0]->dtype;
   TlBits args[] = {get(i, reg, 1, i->type[0]), get(i, reg, 2, tl_ptx_type("u32", 3))};
   put(i, reg, 0, eval(i->spec->op, d, args, 0));
}

/* shf.l, shf.r: 32 bits of the 64-bit value b:a. */
static void
step_shf(const TlPtxInst *i, uint64_t *reg)
{
   const TlPtxType *t = i->type[0];
   uint64_t both = get(i, reg, 2, t) << 32 | get(i, reg, 1, t);
   uint64_t count = get(i, reg, 3, t);
   count = i->flags & F(WRAP) ? count & 31 : count > 32 ? 32 : count;
   put(i, reg, 0, low_bits(i->flags & F(L) ? both << count >> 32 : both >> count, 32));
}

/* ---- bits ---- */
static void
step_popc(const TlPtxInst *i, uint64_t *reg)
{
   put(i, reg, 0, (uint64_t)__builtin_popcountll(get(i, reg, 1, i->type[0])));
}

static void
step_clz(const TlPtxInst *i, uint64_t *reg)
{
   unsigned bits = bits_of(i->type[0]);
   uint64_t x = get(i, reg, 1, i->type[0]);
   put(i, reg, 0, x ? (uint64_t)__builtin_clzll(x) - (64 - bits) : bits);
}

static void
step_brev(const TlPtxInst *i, uint64_t *reg)
{
   unsigned bits = bits_of(i->type[0]);
   uint64_t x = get(i, reg, 1, i->type[0]), y = 0;
   for (unsigned b = 0; b < bits; b++)
      y |= (x >> b & 1) << (bits - 1 - b);
   put(i, reg, 0, y);
}

static void
step_bfe(const TlPtxInst *i, uint64_t *reg)
{
   const TlPtxType *t = i->type[0], *u32 = tl_ptx_type("u32", 3);
   unsigned bits = bits_of(t);
   uint64_t x = get(i, reg, 1, t), first = get(i, reg, 2, u32) & 255;
   uint64_t len = get(i, reg, 3, u32) & 255;
   bool is_signed = tl_dtype_is_signed(t->dtype);
   uint64_t last = first + len - 1 < bits - 1 ? first + len - 1 : bits - 1;
   uint64_t sign = is_signed && len ? x >> last & 1 : 0, y = 0;
   for (uint64_t b = 0; b < bits; b++)
      y |= (b < len && first + b < bits ? x >> (first + b) & 1 : sign) << b;
   put(i, reg, 0, y);
}

static void
step_bfi(const TlPtxInst *i, uint64_t *reg)
{
   const TlPtxType *t = i->type[0], *u32 = tl_ptx_type("u32", 3);
   unsigned bits = bits_of(t);
   uint64_t x = get(i, reg, 1, t), y = get(i, reg, 2, t);
   uint64_t first = get(i, reg, 3, u32) & 255, len = get(i, reg, 4, u32) & 255;
   for (uint64_t b = 0; b < len && first + b < bits; b++)
      y = (y & ~((uint64_t)1 << (first + b))) | (x >> b & 1) << (first + b);
   put(i, reg, 0, y);
}

static void
step_prmt(const TlPtxInst *i, uint64_t *reg)
{
   const TlPtxType *t = i->type[0];
   uint64_t pool = get(i, reg, 2, t) << 32 | get(i, reg, 1, t), pick = get(i, reg, 3, t), y = 0;
   for (unsigned b = 0; b < 4; b++) {
      unsigned c = pick >> 4 * b & 15;
      uint64_t byte = pool >> 8 * (c & 7) & 255;
      y |= (c & 8 ? (byte & 128 ? 255u : 0u) : byte) << 8 * b;
   }
   put(i, reg, 0, y);
}

static void
step_lop3(const TlPtxInst *i, uint64_t *reg)
{
   const TlPtxType *t = i->type[0];
   uint64_t a = get(i, reg, 1, t), b = get(i, reg, 2, t), c = get(i, reg, 3, t), y = 0;
   uint64_t table = get(i, reg, 4, t);
   for (unsigned k = 0; k < 32; k++)
      y |= (table >> ((a >> k & 1) * 4 + (b >> k & 1) * 2 + (c >> k & 1)) & 1) << k;
   put(i, reg, 0, y);
}

static void
step_dp4a(const TlPtxInst *i, uint64_t *reg)
{
   const TlPtxType *u32 = tl_ptx_type("u32", 3);
   uint64_t a = get(i, reg, 1, u32), b = get(i, reg, 2, u32), sum = get(i, reg, 3, u32);
   TlDtype da = tl_dtype_is_signed(i->type[0]->dtype) ? TL_I8 : TL_U8;
   TlDtype db = tl_dtype_is_signed(i->type[1]->dtype) ? TL_I8 : TL_U8;
   for (unsigned k = 0; k < 4; k++)
      sum +=
         (uint64_t)(tl_bits_to_int(da, a >> 8 * k & 255) * tl_bits_to_int(db, b >> 8 * k & 255));
   put(i, reg, 0, low_bits(sum, 32));
}

/* copysign.f d, a, b: b with the sign of a. */
static void
step_copysign(const TlPtxInst *i, uint64_t *reg)
{
   uint64_t sign = (uint64_t)1 << (bits_of(i->type[0]) - 1);
   put(i, reg, 0, (get(i, reg, 1, i->type[0]) & sign) | (get(i, reg, 2, i->type[0]) & ~sign));
}

/* ---- moves and predicates ---- */
static void
step_mov(const TlPtxInst *i, uint64_t *reg)
{
   const TlPtxOperand *to = &i->operand[0], *from = &i->operand[1];
   unsigned bits = bits_of(i->type[0]);
   uint64_t v = 0;
   if (from->kind == TL_PTX_VECTOR) {
      unsigned part = bits / from->num;
      for (unsigned k = 0; k < from->num; k++)
         v |= low_bits(reg[from->reg[k]], part) << k * part;
   } else {
      v = get(i, reg, 1, i->type[0]);
   }
   if (to->kind != TL_PTX_VECTOR) {
      put(i, reg, 0, v);
      return;
   }
   unsigned part = bits / to->num;
   for (unsigned k = 0; k < to->num; k++)
      if (to->reg[k] != TL_PTX_SINK)
         reg[to->reg[k]] = low_bits(v >> k * part, part);
}

static bool
is_nan(TlDtype d, TlBits v)
{
   return tl_dtype_is_float(d) && isnan(tl_bits_to_double(d, v));
}

static bool
compare(const TlPtxInst *i, TlDtype d, TlBits a, TlBits b)
{
   bool unordered = is_nan(d, a) || is_nan(d, b);
   uint64_t f = i->flags & COMPARE_FLAGS;
   if (f & (F(NUM) | F(ISNAN)))
      return unordered == ((f & F(ISNAN)) != 0);
   if (unordered)
      return (f & (F(EQU) | F(NEU) | F(LTU) | F(LEU) | F(GTU) | F(GEU))) != 0;
   bool equal = eval(TL_OP_EQ, d, (TlBits[]){a, b}, 0) != 0;
   bool less = eval(TL_OP_LT, d, (TlBits[]){a, b}, 0) != 0;
   if (f & (F(EQ) | F(EQU)))
      return equal;
   if (f & (F(NE) | F(NEU)))
      return !equal;
   if (f & (F(LT) | F(LTU) | F(LO)))
      return less;
   if (f & (F(LE) | F(LEU) | F(LS)))
      return less || equal;
   if (f & (F(GT) | F(GTU) | F(HI)))
      return !less && !equal;
   return !less; /* ge, geu, hs */
}

static void
step_setp(const TlPtxInst *i, uint64_t *reg)
{
   TlDtype d = i->type[0]->dtype;
   TlBits a = get(i, reg, 1, i->type[0]), b = get(i, reg, 2, i->type[0]);
   if (i->flags & F(FTZ)) {
      a = flush(d, a);
      b = flush(d, b);
   }
   bool p = compare(i, d, a, b), q = !p;
   if (i->num_operands > 3) {
      bool c = get(i, reg, 3, &types[0]) != 0;
      p = i->flags & F(AND) ? p & c : i->flags & F(OR) ? p | c : p ^ c;
      q = i->flags & F(AND) ? q & c : i->flags & F(OR) ? q | c : q ^ c;
   }
   put(i, reg, 0, p);
   if (i->operand[0].num > 1)
      reg[i->operand[0].reg[1]] = q;
}

static void
step_selp(const TlPtxInst *i, uint64_t *reg)
{
   bool first = get(i, reg, 3, &types[0]) != 0;
   put(i, reg, 0, get(i, reg, first ? 1 : 2, i->type[0]));
}

/* ---- conversions ---- */
static double
to_whole(const TlPtxInst *i, double v)
{
   if (i->flags & F(RNI))
      return rint(v);
   if (i->flags & F(RZI))
      return trunc(v);
   if (i->flags & F(RMI))
      return floor(v);
   return i->flags & F(RPI) ? ceil(v) : v;
}

static TlBits
clamp_int(TlDtype to, TlDtype from, TlBits v)
{
   __int128 x = tl_dtype_is_signed(from) ? (__int128)tl_bits_to_int(from, v) : (__int128)v;
   unsigned bits = tl_dtype_info[to].bits;
   bool is_signed = tl_dtype_is_signed(to);
   __int128 high = ((__int128)1 << (bits - is_signed)) - 1, low = is_signed ? -high - 1 : 0;
   x = x < low ? low : x > high ? high : x;
   return low_bits((uint64_t)x, bits);
}

/* One lane; at most one rounding. */
static TlBits
convert(const TlPtxInst *i, const TlPtxType *to, TlDtype from, TlBits v)
{
   TlRounding rounding = i->flags & F(RZ) ? TL_ROUND_TOWARD_ZERO : TL_ROUND_NEAREST_EVEN;
   TlDtype d = to->dtype;
   if (i->flags & F(FTZ))
      v = flush(from, v);
   if (i->flags & DIRECTED && (d == TL_FP32 || d == TL_FP64) && !to->is_tf32)
      return limit(i, d, directed_cast(i, d, from, v));
   if (to->is_tf32)
      return tl_round_tf32((uint32_t)v);
   if (!tl_dtype_is_float(from) && !tl_dtype_is_float(d))
      return i->flags & F(SAT) ? clamp_int(d, from, v)
                               : low_bits((uint64_t)tl_bits_to_int(from, v), bits_of(to));
   if (!tl_dtype_is_float(from))
      return limit(i, d, tl_cast_bits(from, d, v, rounding));
   double x = to_whole(i, tl_bits_to_double(from, v));
   if (!tl_dtype_is_float(d))
      return tl_cast_bits(TL_FP64, d, tl_double_to_bits(TL_FP64, x, rounding), rounding);
   return limit(i, d, tl_double_to_bits(d, x, rounding));
}

static void
step_cvt(const TlPtxInst *i, uint64_t *reg)
{
   const TlPtxType *to = i->type[0], *from = i->type[1];
   unsigned in = tl_dtype_info[from->dtype].bits, out = tl_dtype_info[to->dtype].bits;
   if (i->flags & F(PACK)) { /* cvt.pack.sat.T.s32.b32 d, a, b, c: d = c : a : b */
      uint64_t c = i->num_operands > 3 ? get(i, reg, 3, tl_ptx_type("b32", 3)) : 0;
      TlBits a = clamp_int(to->dtype, TL_I32, get(i, reg, 1, from));
      TlBits b = clamp_int(to->dtype, TL_I32, get(i, reg, 2, from));
      put(i, reg, 0, low_bits(c << 2 * out | a << out | b, 32));
      return;
   }
   if (to->lanes == 2 && from->lanes == 1) { /* d = a : b */
      TlBits a = convert(i, to, from->dtype, get(i, reg, 1, from));
      TlBits b = convert(i, to, from->dtype, get(i, reg, 2, from));
      put(i, reg, 0, a << out | b);
      return;
   }
   uint64_t y = 0;
   for (unsigned lane = 0; lane < to->lanes; lane++)
      y |= convert(i, to, from->dtype, low_bits(get(i, reg, 1, from) >> lane * in, in))
           << lane * out;
   put(i, reg, 0, y);
}

/* ---- the table ---- */
#define ARITH (F(RN) | DIRECTED | F(FTZ) | F(SAT))
#define MINMAX (F(FTZ) | F(NAN) | F(XORSIGN) | F(ABS))
#define NEAR (F(APPROX) | F(FTZ))
#define LOGIC ON_BITS | ON_PRED
static const TlPtxSpec specs[] = {
   {"mov", step_mov, 2, 2, 1, ON_ANY | ON_PRED, 0, TL_OP_COUNT},
   {"add", step_eval, 3, 3, 1, ON_INT | ON_FLOAT, ARITH, TL_OP_ADD},
   {"sub", step_eval, 3, 3, 1, ON_INT | ON_FLOAT, ARITH, TL_OP_SUB},
   {"mul", step_mul, 3, 3, 1, ON_INT | ON_FLOAT, ARITH | F(LO) | F(HI) | F(WIDE), TL_OP_MUL},
   {"mad", step_mad, 4, 4, 1, ON_INT | ON_F32 | ON_F64, ARITH | F(LO) | F(HI) | F(WIDE), TL_OP_FMA},
   {"fma", step_eval, 4, 4, 1, ON_FLOAT, ARITH | F(RELU), TL_OP_FMA},
   {"div", step_eval, 3, 3, 1, ON_INT | ON_F32 | ON_F64,
    F(RN) | DIRECTED | F(APPROX) | F(FULL) | F(FTZ), TL_OP_DIV},
   {"rem", step_eval, 3, 3, 1, ON_INT, 0, TL_OP_REM},
   {"min", step_eval, 3, 3, 1, ON_INT | ON_FLOAT, MINMAX, TL_OP_MIN},
   {"max", step_eval, 3, 3, 1, ON_INT | ON_FLOAT, MINMAX, TL_OP_MAX},
   {"abs", step_eval, 2, 2, 1, ON_INT | ON_FLOAT, F(FTZ), TL_OP_ABS},
   {"neg", step_eval, 2, 2, 1, ON_INT | ON_FLOAT, F(FTZ), TL_OP_NEG},
   {"copysign", step_copysign, 3, 3, 1, ON_F32 | ON_F64, 0, TL_OP_COUNT},
   {"rcp", step_rcp, 2, 2, 1, ON_F32 | ON_F64, F(RN) | DIRECTED | NEAR, TL_OP_COUNT},
   {"sqrt", step_eval, 2, 2, 1, ON_F32 | ON_F64, F(RN) | DIRECTED | NEAR, TL_OP_SQRT},
   {"rsqrt", step_eval, 2, 2, 1, ON_F32 | ON_F64, NEAR, TL_OP_RSQRT},
   {"ex2", step_eval, 2, 2, 1, ON_F32 | ON_HALF, NEAR, TL_OP_EXP2},
   {"lg2", step_eval, 2, 2, 1, ON_F32, NEAR, TL_OP_LOG2},
   {"sin", step_eval, 2, 2, 1, ON_F32, NEAR, TL_OP_SIN},
   {"cos", step_eval, 2, 2, 1, ON_F32, NEAR, TL_OP_COS},
   {"tanh", step_eval, 2, 2, 1, ON_F32 | ON_HALF, F(APPROX), TL_OP_TANH},
   {"and", step_eval, 3, 3, 1, LOGIC, 0, TL_OP_AND},
   {"or", step_eval, 3, 3, 1, LOGIC, 0, TL_OP_OR},
   {"xor", step_eval, 3, 3, 1, LOGIC, 0, TL_OP_XOR},
   {"not", step_not, 2, 2, 1, LOGIC, 0, TL_OP_COUNT},
   {"shl", step_shift, 3, 3, 1, ON_BITS, 0, TL_OP_SHL},
   {"shr", step_shift, 3, 3, 1, ON_BITS | ON_INT, 0, TL_OP_SHR},
   {"shf", step_shf, 4, 4, 1, ON_BITS, F(L) | F(R) | F(WRAP) | F(CLAMP), TL_OP_COUNT},
   {"popc", step_popc, 2, 2, 1, ON_BITS, 0, TL_OP_COUNT},
   {"clz", step_clz, 2, 2, 1, ON_BITS, 0, TL_OP_COUNT},
   {"brev", step_brev, 2, 2, 1, ON_BITS, 0, TL_OP_COUNT},
   {"bfe", step_bfe, 4, 4, 1, ON_INT, 0, TL_OP_COUNT},
   {"bfi", step_bfi, 5, 5, 1, ON_BITS, 0, TL_OP_COUNT},
   {"prmt", step_prmt, 4, 4, 1, ON_BITS, 0, TL_OP_COUNT},
   {"lop3", step_lop3, 5, 5, 1, ON_BITS, 0, TL_OP_COUNT},
   {"dp4a", step_dp4a, 4, 4, 2, ON_INT, 0, TL_OP_COUNT},
   {"setp", step_setp, 3, 4, 1, ON_ANY, COMPARE_FLAGS | F(AND) | F(OR) | F(XOR) | F(FTZ),
    TL_OP_COUNT},
   {"selp", step_selp, 4, 4, 1, ON_ANY, 0, TL_OP_COUNT},
   {"cvt", step_cvt, 2, 4, 2, ON_INT | ON_FLOAT | ON_FP8, CVT_FLAGS, TL_OP_COUNT},
};

static unsigned
class_of(const TlPtxType *t)
{
   if (t->is_pred)
      return ON_PRED;
   if (t->is_untyped)
      return ON_BITS;
   if (!tl_dtype_is_float(t->dtype))
      return ON_INT;
   unsigned bits = tl_dtype_info[t->dtype].bits;
   return bits == 64 ? ON_F64 : bits == 32 ? ON_F32 : bits == 16 ? ON_HALF : ON_FP8;
}

static const char *
decode_suffix(const char *p, size_t len, TlPtxInst *inst)
{
   const TlPtxType *t = tl_ptx_type(p, len);
   if (t) {
      if (inst->num_types == TL_PTX_MAX_TYPES)
         return "too many types";
      inst->type[inst->num_types++] = t;
      return NULL;
   }
   for (unsigned b = 0; b < NUM_FLAGS; b++)
      if (strlen(flag_text[b]) == len && memcmp(flag_text[b], p, len) == 0) {
         inst->flags |= (uint64_t)1 << b;
         return NULL;
      }
   return "a modifier of this instruction is not modelled on the CPU";
}

const char *
tl_ptx_decode(const char *name, size_t len, TlPtxInst *inst)
{
   size_t n = 0;
   while (n < len && name[n] != '.')
      n++;
   for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++)
      if (strlen(specs[i].name) == n && memcmp(specs[i].name, name, n) == 0)
         inst->spec = &specs[i];
   if (!inst->spec)
      return "this instruction is not modelled on the CPU";
   while (n < len) {
      size_t begin = ++n;
      while (n < len && name[n] != '.')
         n++;
      const char *why = decode_suffix(name + begin, n - begin, inst);
      if (why)
         return why;
   }
   if (inst->flags & ~inst->spec->flags)
      return "a modifier of this instruction is not modelled on the CPU";
   return NULL;
}

static const char *
check_cvt(const TlPtxInst *i)
{
   const TlPtxType *to = i->type[0], *from = i->type[1];
   if (i->flags & F(PACK))
      return tl_dtype_is_float(to->dtype) || from->dtype != TL_I32 || i->num_operands < 3
                ? "this packing conversion is not modelled on the CPU"
                : NULL;
   unsigned operands = to->lanes == 2 && from->lanes == 1 ? 3 : 2;
   if (i->num_operands != operands || i->num_types != 2)
      return "the number of operands does not fit the conversion";
   if (from->lanes == 2 && to->lanes == 1)
      return "this conversion is not modelled on the CPU";
   if (to->is_tf32 && !(i->flags & F(RNA)))
      return "a conversion to tf32 is modelled with .rna only";
   return NULL;
}

static const char *
check_operands(const TlPtxInst *i)
{
   for (unsigned k = 0; k < i->num_operands; k++) {
      const TlPtxOperand *o = &i->operand[k];
      if (k == 0 && o->kind == TL_PTX_IMM)
         return "the first operand is written and must be a register";
      if (k > 0 && o->kind == TL_PTX_REG && o->reg[0] == TL_PTX_SINK)
         return "'_' cannot be read";
      if (o->kind != TL_PTX_VECTOR)
         continue;
      if (i->spec->step != step_mov)
         return "vectors are operands of mov only";
      unsigned n = o->num;
      if (n < 2 || (n & (n - 1)) || bits_of(i->type[0]) / n < 8)
         return "a vector has 2, 4 or 8 elements of 8 bits or more";
      for (unsigned e = 0; k > 0 && e < n; e++)
         if (o->reg[e] == TL_PTX_SINK)
            return "'_' cannot be read";
   }
   return NULL;
}

const char *
tl_ptx_check(const TlPtxInst *i)
{
   const TlPtxSpec *spec = i->spec;
   unsigned most = spec->step == step_cvt ? 3 : spec->num_types;
   if (i->num_types < spec->num_types || i->num_types > most)
      return "the number of types does not fit the instruction";
   if (i->num_operands < spec->min_operands || i->num_operands > spec->max_operands)
      return "the number of operands does not fit the instruction";
   for (unsigned k = 0; k < spec->num_types; k++)
      if (!(class_of(i->type[k]) & spec->on))
         return "the instruction is not modelled for this type on the CPU";
   bool is_product = spec->step == step_mul || spec->step == step_mad;
   bool is_float = tl_dtype_is_float(i->type[0]->dtype);
   if (is_product && is_float == ((i->flags & (F(LO) | F(HI) | F(WIDE))) != 0))
      return "one of .lo, .hi, .wide belongs to integer products, and only to them";
   if (is_product && (i->flags & F(WIDE)) && bits_of(i->type[0]) == 64)
      return ".wide takes 16-bit or 32-bit types";
   if (i->flags & DIRECTED && spec->step != step_cvt && !(class_of(i->type[0]) & (ON_F32 | ON_F64)))
      return "rounding in a direction is of .f32 and .f64";
   if (i->flags & (F(RM) | F(RP)) && spec->step == step_cvt &&
       !(class_of(i->type[0]) & (ON_F32 | ON_F64)))
      return "a conversion with .rm or .rp is modelled to .f32 and .f64";
   bool has_abs = i->flags & F(ABS), has_sign = i->flags & F(XORSIGN);
   if (has_abs != has_sign || (has_sign && !(class_of(i->type[0]) & (ON_HALF | ON_F32))))
      return ".xorsign.abs is of .f32 and of types of 16 bits";
   if (spec->step == step_eval && !is_float && (i->flags & (F(SAT) | F(RN))))
      return "this modifier is not modelled for integers on the CPU";
   if (spec->step == step_shf && (!(i->flags & (F(L) | F(R))) ||
                                  !(i->flags & (F(WRAP) | F(CLAMP))) || bits_of(i->type[0]) != 32))
      return "shf is .l or .r, .wrap or .clamp, and .b32";
   if ((spec->step == step_prmt || spec->step == step_lop3) && bits_of(i->type[0]) != 32)
      return "the instruction takes .b32";
   if (spec->step == step_setp) {
      uint64_t cmp = i->flags & COMPARE_FLAGS;
      if (!cmp || (cmp & (cmp - 1)))
         return "setp has one comparison";
      if ((i->num_operands == 4) != ((i->flags & (F(AND) | F(OR) | F(XOR))) != 0))
         return "a third source belongs to .and, .or and .xor";
   }
   const char *why = spec->step == step_cvt ? check_cvt(i) : NULL;
   return why ? why : check_operands(i);
}

void
tl_ptx_step(const TlPtxInst *i, uint64_t *reg)
{
   if (i->guard == TL_PTX_SINK || (reg[i->guard] & 1) != i->guard_not)
      i->spec->step(i, reg);
}
