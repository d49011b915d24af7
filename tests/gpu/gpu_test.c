/* The same kernels on the GPU (or its simulator) and on the CPU executor, which is the meaning of
 * the language: integers, conversions and comparisons must agree in every bit, floating point
 * within a stated bound.  Every kernel runs with 1, 2, 4 and 8 warps; outputs are poisoned before
 * and guarded past their end.  Exits with 77 (skipped) on a machine without a GPU.
 *    gpu_test [--on cuda|sim] [--seed N] */
#include "tilec/runtime.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77, GUARD_BYTES = 256, POISON = 0xCD };

/* ---- inputs ---- */
typedef enum Fill {
   ANY,      /* every bit pattern of an integer; normal values of a float */
   POSITIVE, /* 1 .. 99 */
   SMALL,    /* -8 .. 7 */
   WIDE,     /* floats over 30 powers of two, with zeros and infinities */
} Fill;

typedef struct Type {
   TilecDtype dtype;
   const char *name;
   unsigned bytes;
   bool is_float;
} Type;

static const Type types[TILEC_DTYPE_COUNT] = {
#define TYPE_ROW(id, number, text, bytes, kind)                                                    \
   [number] = {TILEC_##id, text, bytes, #kind[0] == 'F'},
   TILEC_DTYPE_TABLE(TYPE_ROW)
#undef TYPE_ROW
};

static uint64_t
next_u64(uint64_t *rng)
{
   uint64_t z = (*rng += 0x9E3779B97F4A7C15u);
   z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
   z = (z ^ z >> 27) * 0x94D049BB133111EBu;
   return z ^ z >> 31;
}

static double
uniform(uint64_t *rng)
{
   return ((double)(next_u64(rng) >> 11) + 0.5) * 0x1p-53;
}

static double
make_float(uint64_t *rng, Fill fill)
{
   double normal = sqrt(-2 * log(uniform(rng))) * cos(6.283185307179586 * uniform(rng));
   uint64_t r = next_u64(rng);
   if (fill == POSITIVE)
      return (double)(r % 99 + 1);
   if (fill == SMALL)
      return (double)(r % 16) - 8;
   if (fill == ANY)
      return normal;
   return r % 17 == 0 ? 0 : r % 19 == 0 ? (double)INFINITY : ldexp(normal, (int)(r % 30) - 15);
}

/* fp32 to bf16 by rounding to nearest even; to fp16 through the machine's own type. */
static void
store_float(TilecDtype dtype, void *at, double v)
{
   float f = (float)v;
   uint32_t bits;
   memcpy(&bits, &f, 4);
   if (dtype == TILEC_FP64) {
      memcpy(at, &v, 8);
   } else if (dtype == TILEC_FP32) {
      memcpy(at, &f, 4);
   } else if (dtype == TILEC_BF16) {
      uint16_t h = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
      memcpy(at, &h, 2);
   } else {
      _Float16 h = (_Float16)v;
      memcpy(at, &h, 2);
   }
}

static double
load_float(TilecDtype dtype, const void *at)
{
   uint32_t bits = 0;
   uint16_t half;
   float f;
   double d;
   _Float16 h;
   switch (dtype) {
   case TILEC_FP64:
      memcpy(&d, at, 8);
      return d;
   case TILEC_BF16:
      memcpy(&half, at, 2);
      bits = (uint32_t)half << 16;
      memcpy(&f, &bits, 4);
      return (double)f;
   case TILEC_FP16:
      memcpy(&h, at, 2);
      return (double)h;
   default:
      memcpy(&f, at, 4);
      return (double)f;
   }
}

static void
make_input(uint64_t *rng, const Type *t, Fill fill, size_t elems, unsigned char *data)
{
   for (size_t i = 0; i < elems; i++, data += t->bytes) {
      uint64_t r = next_u64(rng);
      uint64_t v = fill == POSITIVE ? r % 99 + 1
                   : fill == SMALL  ? (uint64_t)((int64_t)(r % 16) - 8)
                                    : r;
      if (t->is_float)
         store_float(t->dtype, data, make_float(rng, fill));
      else
         memcpy(data, &v, t->bytes);
   }
}

/* ---- cases ---- */
typedef struct Case {
   const char *name;
   TilecDtype a, b, o;
   Fill fill_a, fill_b;
   double tolerance;                 /* relative L2; 0 = every bit */
   const char *expr;                 /* elementwise over x and y, or NULL */
   const char *body;                 /* else the body of a kernel (a, b, o, n) */
   size_t elems_a, elems_b, elems_o; /* of a body */
} Case;

#define T(x) TILEC_##x
#define ELEMENTWISE(name, a, b, o, fa, fb, tol, expr)                                              \
   {                                                                                               \
      name, T(a), T(b), T(o), fa, fb, tol, expr, NULL, 0, 0, 0                                     \
   }
#define TILE_IJ                                                                                    \
   "    i = arange(0, 64)[:, None]\n    j = arange(0, 32)[None, :]\n    x = load(a + i * 32 + "    \
   "j)\n"

/* Names of the rows of language_cases.def. */
#define BODY(name, in, out, fa, fb, tol, elems, lines)                                             \
   {                                                                                               \
      name, T(in), T(in), T(out), fa, fb, tol, NULL, "    x = a\n    y = b\n" lines, 512, 512,     \
         elems                                                                                     \
   }
static const char helpers[] =
   "def addi(a, b):\n    return a + b\n"
   "def mx(a, i, b, j):\n    g = a > b\n    return tl.where(g, a, b), tl.where(g, i, j)\n"
   "def lin(a1, b1, a2, b2):\n    return a1 * a2, a2 * b1 + b2\n"
   "def wel(ma, m2a, na, mb, m2b, nb):\n    n = na + nb\n    d = mb - ma\n    w = nb / n\n"
   "    return ma + d * w, m2a + m2b + d * d * na * w, n\n"
   "def two(a0, a1, b0, b1):\n    return a0 + b0, a1 + b1, a0 * b0, a1 * b1\n";

static const Case cases[] = {
#include "language_cases.def"
   ELEMENTWISE("add i32", I32, I32, I32, ANY, ANY, 0, "x + y"),
   ELEMENTWISE("sub i8", I8, I8, I8, ANY, ANY, 0, "x - y"),
   ELEMENTWISE("mul i64", I64, I64, I64, ANY, ANY, 0, "x * y"),
   ELEMENTWISE("mul u16", U16, U16, U16, ANY, ANY, 0, "x * y"),
   ELEMENTWISE("div i32", I32, I32, I32, ANY, POSITIVE, 0, "x // y"),
   ELEMENTWISE("rem i32", I32, I32, I32, ANY, POSITIVE, 0, "x % y"),
   ELEMENTWISE("div u32", U32, U32, U32, ANY, POSITIVE, 0, "x // y"),
   ELEMENTWISE("rem u64", U64, U64, U64, ANY, POSITIVE, 0, "x % y"),
   ELEMENTWISE("shr i32", I32, I32, I32, ANY, ANY, 0, "x >> (y & 31)"),
   ELEMENTWISE("shr u32", U32, U32, U32, ANY, ANY, 0, "x >> (y & 31)"),
   ELEMENTWISE("shl i32", I32, I32, I32, ANY, ANY, 0, "x << (y & 31)"),
   ELEMENTWISE("bits u8", U8, U8, U8, ANY, ANY, 0, "(x & y) | ~(x ^ y)"),
   ELEMENTWISE("less i32", I32, I32, I8, ANY, ANY, 0, "(x < y).to(int8)"),
   ELEMENTWISE("less u32", U32, U32, I8, ANY, ANY, 0, "(x < y).to(int8)"),
   ELEMENTWISE("mixed widths", I8, I32, I32, ANY, ANY, 0, "x + y"),
   ELEMENTWISE("max i16", I16, I16, I16, ANY, ANY, 0, "maximum(x, y)"),
   ELEMENTWISE("fp32 compare", FP32, FP32, I8, WIDE, WIDE, 0, "(x >= y).to(int8)"),
   ELEMENTWISE("fp32 add", FP32, FP32, FP32, WIDE, ANY, 0, "x + y"),
   ELEMENTWISE("fp32 min", FP32, FP32, FP32, WIDE, WIDE, 0, "minimum(x, y)"),
   ELEMENTWISE("fp32 fma", FP32, FP32, FP32, ANY, ANY, 1e-7, "x * y + x"),
   ELEMENTWISE("fp32 div", FP32, FP32, FP32, ANY, POSITIVE, 2e-7, "x / y"),
   ELEMENTWISE("fp32 exp", FP32, FP32, FP32, ANY, ANY, 5e-7, "exp(x)"),
   ELEMENTWISE("fp32 exp2", FP32, FP32, FP32, ANY, ANY, 5e-7, "exp2(x)"),
   ELEMENTWISE("fp32 log", FP32, FP32, FP32, ANY, POSITIVE, 5e-7, "log(y)"),
   ELEMENTWISE("fp32 log2", FP32, FP32, FP32, ANY, POSITIVE, 5e-7, "log2(y)"),
   ELEMENTWISE("fp32 sin", FP32, FP32, FP32, ANY, ANY, 1e-6, "sin(x)"),
   ELEMENTWISE("fp32 cos", FP32, FP32, FP32, ANY, ANY, 1e-6, "cos(x)"),
   ELEMENTWISE("fp32 sqrt", FP32, FP32, FP32, ANY, POSITIVE, 3e-7, "sqrt(y)"),
   ELEMENTWISE("fp32 rsqrt", FP32, FP32, FP32, ANY, POSITIVE, 3e-7, "rsqrt(y)"),
   ELEMENTWISE("fp32 erf", FP32, FP32, FP32, ANY, ANY, 1e-6, "erf(x)"),
   ELEMENTWISE("fp32 floor", FP32, FP32, FP32, WIDE, ANY, 0, "floor(x)"),
   ELEMENTWISE("fp32 ceil", FP32, FP32, FP32, WIDE, ANY, 0, "ceil(x)"),
   ELEMENTWISE("fp32 abs neg", FP32, FP32, FP32, WIDE, ANY, 0, "abs(x) * -1.0"),
   ELEMENTWISE("fp32 to fp16", FP32, FP32, FP16, WIDE, ANY, 0, "x.to(fp16)"),
   ELEMENTWISE("fp32 to bf16", FP32, FP32, BF16, WIDE, ANY, 0, "x.to(bf16)"),
   ELEMENTWISE("fp32 to i32", FP32, FP32, I32, SMALL, ANY, 0, "(x * 1.25).to(int32)"),
   ELEMENTWISE("i32 to fp32", I32, I32, FP32, ANY, ANY, 0, "x.to(fp32)"),
   ELEMENTWISE("u64 to fp32", U64, U64, FP32, ANY, ANY, 0, "x.to(fp32)"),
   ELEMENTWISE("fp16 mul", FP16, FP16, FP16, ANY, ANY, 0, "x * y"),
   ELEMENTWISE("bf16 add", BF16, BF16, BF16, ANY, ANY, 0, "x + y"),
   ELEMENTWISE("fp16 plus bf16", FP16, BF16, FP32, ANY, ANY, 0, "(x + y).to(fp32)"),
   ELEMENTWISE("fp64 fma", FP64, FP64, FP64, ANY, ANY, 1e-15, "x * y + y"),
   ELEMENTWISE("where", FP32, I32, FP32, ANY, SMALL, 0, "where(y > 0, x, -1.0)"),
   ELEMENTWISE("bitcast", FP32, FP32, I32, WIDE, ANY, 0, "x.to(int32, bitcast=True)"),

   {"sum rows i32", T(I32), T(I32), T(I32), ANY, ANY, 0, NULL,
    TILE_IJ "    store(o + arange(0, 64), sum(x, 1))\n", 2048, 1, 64},
   {"sum columns fp32", T(FP32), T(FP32), T(FP32), ANY, ANY, 5e-7, NULL,
    TILE_IJ "    store(o + arange(0, 32), sum(x, 0))\n", 2048, 1, 32},
   {"sum all i32", T(I32), T(I32), T(I32), ANY, ANY, 0, NULL, TILE_IJ "    store(o, sum(x))\n",
    2048, 1, 1},
   {"max rows fp32", T(FP32), T(FP32), T(FP32), WIDE, ANY, 0, NULL,
    TILE_IJ "    store(o + arange(0, 64), max(x, axis=1))\n", 2048, 1, 64},
   {"min columns i32", T(I32), T(I32), T(I32), ANY, ANY, 0, NULL,
    TILE_IJ "    store(o + arange(0, 32), min(x, axis=0))\n", 2048, 1, 32},
   {"argmax rows i32", T(I32), T(I32), T(I32), SMALL, ANY, 0, NULL,
    TILE_IJ "    store(o + arange(0, 64), argmax(x, axis=1))\n", 2048, 1, 64},
   {"cumsum rows i32", T(I32), T(I32), T(I32), ANY, ANY, 0, NULL,
    TILE_IJ "    store(o + i * 32 + j, cumsum(x, 1))\n", 2048, 1, 2048},
   {"transpose fp32", T(FP32), T(FP32), T(FP32), ANY, ANY, 0, NULL,
    TILE_IJ "    store(o + arange(0, 32)[:, None] * 64 + arange(0, 64)[None, :], trans(x))\n", 2048,
    1, 2048},
   {"transpose fp16", T(FP16), T(FP16), T(FP16), ANY, ANY, 0, NULL,
    TILE_IJ "    store(o + arange(0, 32)[:, None] * 64 + arange(0, 64)[None, :], trans(x))\n", 2048,
    1, 2048},
   {"reshape i8", T(I8), T(I8), T(I8), ANY, ANY, 0, NULL,
    TILE_IJ "    store(o + arange(0, 2048), reshape(x, (2048,)))\n", 2048, 1, 2048},
   {"row minus mean", T(FP32), T(FP32), T(FP32), ANY, ANY, 1e-6, NULL,
    TILE_IJ "    store(o + i * 32 + j, x - sum(x, 1)[:, None] / 32)\n", 2048, 1, 2048},
   {"outer of row and column sums", T(I32), T(I32), T(I32), ANY, ANY, 0, NULL,
    TILE_IJ "    store(o + i * 32 + j, sum(x, 1)[:, None] ^ sum(x, 0)[None, :])\n", 2048, 1, 2048},
   {"dot fp16", T(FP16), T(FP16), T(FP32), ANY, ANY, 1e-6, NULL,
    TILE_IJ "    y = load(b + arange(0, 32)[:, None] * 64 + arange(0, 64)[None, :])\n"
            "    store(o + i * 64 + arange(0, 64)[None, :], dot(x, y))\n",
    2048, 2048, 4096},
   {"dot bf16 of a transpose", T(BF16), T(BF16), T(FP32), ANY, ANY, 1e-6, NULL,
    TILE_IJ "    y = load(b + i * 32 + j)\n"
            "    store(o + i * 64 + arange(0, 64)[None, :], dot(x, trans(y)))\n",
    2048, 2048, 4096},
   {"dot fp32 ieee", T(FP32), T(FP32), T(FP32), ANY, ANY, 1e-6, NULL,
    TILE_IJ "    y = load(b + arange(0, 32)[:, None] * 64 + arange(0, 64)[None, :])\n"
            "    store(o + i * 64 + arange(0, 64)[None, :], dot(x, y, input_precision=\"ieee\"))\n",
    2048, 2048, 4096},
   {"dot fp32 tf32", T(FP32), T(FP32), T(FP32), SMALL, SMALL, 1e-6, NULL,
    TILE_IJ "    y = load(b + arange(0, 32)[:, None] * 64 + arange(0, 64)[None, :])\n"
            "    store(o + i * 64 + arange(0, 64)[None, :], dot(x, y))\n",
    2048, 2048, 4096},
   {"dot i8", T(I8), T(I8), T(I32), ANY, ANY, 0, NULL,
    TILE_IJ "    y = load(b + arange(0, 32)[:, None] * 64 + arange(0, 64)[None, :])\n"
            "    store(o + i * 64 + arange(0, 64)[None, :], dot(x, y, out_dtype=int32))\n",
    2048, 2048, 4096},
   {"dot i8 of a transpose", T(I8), T(I8), T(I32), ANY, ANY, 0, NULL,
    TILE_IJ "    y = load(b + i * 32 + j)\n"
            "    store(o + i * 64 + arange(0, 64)[None, :], dot(x, trans(y), out_dtype=int32))\n",
    2048, 2048, 4096},
   {"dot fp32 tf32 of any", T(FP32), T(FP32), T(FP32), ANY, ANY, 2e-6, NULL,
    TILE_IJ "    y = load(b + arange(0, 32)[:, None] * 64 + arange(0, 64)[None, :])\n"
            "    store(o + i * 64 + arange(0, 64)[None, :], dot(x, y))\n",
    2048, 2048, 4096},
   {"dot fp32 tf32 of a transpose", T(FP32), T(FP32), T(FP32), ANY, ANY, 2e-6, NULL,
    TILE_IJ "    y = load(b + i * 32 + j)\n"
            "    store(o + i * 64 + arange(0, 64)[None, :], dot(x, trans(y)))\n",
    2048, 2048, 4096},
   {"dot fp8", T(I8), T(I8), T(FP32), ANY, ANY, 1e-3, NULL,
    TILE_IJ "    x = (x & 0x77).to(int8).to(fp8e4nv, bitcast=True)\n"
            "    y = (load(b + i * 32 + j) & 0x77).to(int8).to(fp8e5, bitcast=True)\n"
            "    store(o + i * 64 + arange(0, 64)[None, :], dot(x, trans(y)))\n",
    2048, 2048, 4096},
   {"dot fp8 added in fp32", T(I8), T(I8), T(FP32), ANY, ANY, 1e-3, NULL,
    TILE_IJ "    x = (x & 0x77).to(int8).to(fp8e4nv, bitcast=True)\n"
            "    y = (load(b + i * 32 + j) & 0x77).to(int8).to(fp8e4nv, bitcast=True)\n"
            "    s = full((64, 64), 1.0, fp32)\n"
            "    store(o + i * 64 + arange(0, 64)[None, :], dot(x, trans(y), s, "
            "max_num_imprecise_acc=0))\n",
    2048, 2048, 4096},
   {"chained dots i8", T(I8), T(I8), T(I32), ANY, ANY, 0, NULL,
    TILE_IJ "    y = load(b + i * 32 + j)\n"
            "    z = load(b + arange(0, 32)[:, None] * 64 + arange(0, 64)[None, :])\n"
            "    p = dot(x, trans(y), out_dtype=int32).to(int8)\n"
            "    store(o + i * 32 + j, dot(p, trans(z), out_dtype=int32))\n",
    2048, 2048, 2048},
   {"chained dots tf32", T(FP32), T(FP32), T(FP32), SMALL, SMALL, 1e-6, NULL,
    TILE_IJ "    y = load(b + i * 32 + j)\n    p = dot(x, trans(y)) * 0.5\n"
            "    store(o + i * 32 + j, dot(p, y))\n",
    2048, 2048, 2048},
   {"chained dots fp16", T(FP16), T(FP16), T(FP32), ANY, ANY, 2e-3, NULL,
    TILE_IJ "    y = load(b + i * 32 + j)\n    p = dot(x, trans(y)).to(fp16)\n"
            "    store(o + i * 32 + j, dot(p, y))\n",
    2048, 2048, 2048},
   {"loop with carried tile", T(I32), T(I32), T(I32), ANY, ANY, 0, NULL,
    TILE_IJ "    s = zeros((64, 32), int32)\n    for k in range(0, n % 7 + 3):\n        s = s * 3 "
            "+ x + k\n"
            "    store(o + i * 32 + j, s)\n",
    2048, 1, 2048},
   {"while and if", T(I32), T(I32), T(I32), ANY, ANY, 0, NULL,
    "    k = n\n    steps = 0\n    while k > 1:\n        if k % 2 == 0:\n            k = k // 2\n"
    "        else:\n            k = 3 * k + 1\n        steps += 1\n    store(o, steps)\n",
    1, 1, 1},
   {"atomic add histogram", T(I32), T(I32), T(I32), ANY, ANY, 0, NULL,
    "    i = arange(0, 2048)\n    store(o + arange(0, 32), zeros((32,), int32))\n    "
    "debug_barrier()\n"
    "    atomic_add(o + (load(a + i) & 31), 1)\n",
    2048, 1, 32},
   {"one atomic per element", T(I32), T(I32), T(I32), ANY, ANY, 0, NULL,
    "    i = arange(0, 16)\n    store(o + i, load(a + i))\n    debug_barrier()\n    atomic_add(o "
    "+ i, 1)\n",
    16, 1, 16},
   {"softmax of rows", T(FP32), T(FP32), T(FP32), ANY, ANY, 1e-6, NULL,
    TILE_IJ "    e = exp(x - max(x, axis=1)[:, None])\n"
            "    store(o + i * 32 + j, e / sum(e, 1)[:, None])\n",
    2048, 1, 2048},
   {"join and split", T(I32), T(I32), T(I32), ANY, ANY, 0, NULL,
    TILE_IJ "    p, q = split(join(x, x + 1))\n    store(o + i * 32 + j, p * 2 - q)\n", 2048, 1,
    2048},
};

/* ---- one kernel on one executor ---- */
typedef struct Place {
   TilecRuntime *rt;
   const char *name;
} Place;

typedef struct Bytes {
   unsigned char *data;
   size_t bytes;
} Bytes;

static bool
fails(const Place *p, TilecStatus status, const char *what)
{
   if (status == TILEC_OK)
      return false;
   char text[2048] = "";
   tilec_runtime_error(p->rt, text, sizeof text);
   printf("   %s on %s: %s: %s\n", what, p->name, tilec_status_string(status), text);
   return true;
}

/* out: elems of `o` plus a guard; false after a message. */
static bool
run_on(const Place *p, const Case *c, const char *source, uint32_t num_warps, size_t n,
       const Bytes in[2], Bytes *out)
{
   TilecSource s = {.struct_size = sizeof s,
                    .file = "case.tile",
                    .source = source,
                    .source_bytes = TILEC_STRLEN,
                    .kernel = "test",
                    .num_warps = num_warps};
   TilecModule *module = NULL;
   TilecKernel *kernel;
   TilecBuffer *buffers[3] = {0};
   const Bytes *data[3] = {&in[0], &in[1], out};
   TilecDtype dtypes[3] = {c->a, c->b, c->o};
   TilecArg args[4];
   memset(out->data, POISON, out->bytes);
   bool bad = fails(p, tilec_module_from_source(p->rt, &s, &module), "reading") ||
              fails(p, tilec_module_kernel(module, "test", &kernel), "finding the kernel");
   for (unsigned i = 0; i < 3 && !bad; i++) {
      bad = fails(p, tilec_buffer_new(p->rt, data[i]->bytes, &buffers[i]), "a buffer") ||
            fails(p, tilec_buffer_upload(buffers[i], 0, data[i]->data, data[i]->bytes, NULL),
                  "an upload");
      args[i] = tilec_view(dtypes[i], buffers[i], 0);
   }
   if (!bad) {
      args[3] = TILEC_ARG((int)n);
      TilecLaunch launch = {.grid = {c->expr ? TILEC_OWN_GRID : 1, 1, 1}};
      bad =
         fails(p, tilec_launch(kernel, &launch, args, 4), "the launch") ||
         fails(p, tilec_runtime_sync(p->rt), "the kernel") ||
         fails(p, tilec_buffer_download(buffers[2], 0, out->data, out->bytes, NULL), "a download");
   }
   for (unsigned i = 0; i < 3; i++)
      tilec_buffer_free(buffers[i]);
   tilec_module_free(module);
   return !bad;
}

/* ---- comparing ---- */
static double
difference(const Type *t, const Bytes *got, const Bytes *want, size_t elems)
{
   double d2 = 0, w2 = 0;
   for (size_t i = 0; i < elems; i++) {
      double g = load_float(t->dtype, got->data + i * t->bytes);
      double w = load_float(t->dtype, want->data + i * t->bytes);
      if (isnan(g) && isnan(w))
         continue;
      if (!isfinite(g) || !isfinite(w)) {
         if (g != w)
            return (double)INFINITY;
         continue;
      }
      d2 += (g - w) * (g - w);
      w2 += w * w;
   }
   return d2 == 0 ? 0 : w2 == 0 ? (double)INFINITY : sqrt(d2 / w2);
}

static bool
agrees(const Case *c, const Bytes *gpu, const Bytes *cpu, size_t elems)
{
   const Type *t = &types[c->o];
   for (size_t i = elems * t->bytes; i < gpu->bytes; i++)
      if (gpu->data[i] != POISON) {
         printf("   byte %zu past the end was written\n", i - elems * t->bytes);
         return false;
      }
   if (c->tolerance > 0) {
      double d = difference(t, gpu, cpu, elems);
      if (!(d <= c->tolerance))
         printf("   relative L2 %.2e, at most %.1e allowed\n", d, c->tolerance);
      return d <= c->tolerance;
   }
   for (size_t i = 0; i < elems; i++) {
      const unsigned char *g = gpu->data + i * t->bytes, *w = cpu->data + i * t->bytes;
      bool both_nan =
         t->is_float && isnan(load_float(t->dtype, g)) && isnan(load_float(t->dtype, w));
      if (both_nan || memcmp(g, w, t->bytes) == 0)
         continue;
      uint64_t gb = 0, wb = 0;
      memcpy(&gb, g, t->bytes);
      memcpy(&wb, w, t->bytes);
      printf("   element %zu: GPU 0x%llx, CPU 0x%llx\n", i, (unsigned long long)gb,
             (unsigned long long)wb);
      return false;
   }
   return true;
}

static Bytes
new_bytes(size_t bytes)
{
   Bytes b = {calloc(bytes, 1), bytes};
   if (!b.data)
      exit(1);
   return b;
}

static bool
run_case(const Place *gpu, const Place *cpu, const Case *c, uint32_t num_warps, size_t n,
         uint64_t *rng)
{
   char source[4096];
   if (c->expr)
      snprintf(
         source, sizeof source,
         "@kernel(grid=(cdiv(n, BLOCK),))\ndef test(a, b, o, n: i32, BLOCK: constexpr = 512):\n"
         "    i = program_id(0) * BLOCK + arange(0, BLOCK)\n    m = i < n\n"
         "    x = load(a + i, m, other=1)\n    y = load(b + i, m, other=1)\n"
         "    store(o + i, %s, m)\n",
         c->expr);
   else
      snprintf(source, sizeof source, "%s@kernel\ndef test(a, b, o, n: i32):\n%s", helpers,
               c->body);
   size_t elems[3] = {c->expr ? n : c->elems_a, c->expr ? n : c->elems_b, c->expr ? n : c->elems_o};
   Bytes in[2] = {new_bytes(elems[0] * types[c->a].bytes), new_bytes(elems[1] * types[c->b].bytes)};
   make_input(rng, &types[c->a], c->fill_a, elems[0], in[0].data);
   make_input(rng, &types[c->b], c->fill_b, elems[1], in[1].data);
   size_t out_bytes = elems[2] * types[c->o].bytes + GUARD_BYTES;
   Bytes on_gpu = new_bytes(out_bytes), on_cpu = new_bytes(out_bytes);
   bool ok = run_on(cpu, c, source, num_warps, n, in, &on_cpu) &&
             run_on(gpu, c, source, num_warps, n, in, &on_gpu) &&
             agrees(c, &on_gpu, &on_cpu, elems[2]);
   free(in[0].data);
   free(in[1].data);
   free(on_gpu.data);
   free(on_cpu.data);
   return ok;
}

/* ---- all ---- */
static void
show_text(void *user, const char *rendered)
{
   (void)user;
   fputs(rendered, stdout);
}

static TilecStatus
open_place(Place *p, TilecExecutor executor, const char *name, char *why, size_t why_bytes)
{
   TilecRuntimeOptions o = {.struct_size = sizeof o,
                            .executor = executor,
                            .synchronous = true,
                            .error = why,
                            .error_bytes = why_bytes};
   p->name = name;
   TilecStatus status = tilec_runtime_open(&o, &p->rt);
   TilecJitOptions jit = {.struct_size = sizeof jit, .on_text = show_text};
   return status == TILEC_OK ? tilec_jit_attach(p->rt, &jit) : status;
}

static unsigned
run_all(const Place *gpu, const Place *cpu, uint64_t seed, unsigned *runs)
{
   /* a single element only where every bit must agree: its relative error may be cancellation */
   static const size_t sizes[] = {1, 511, 513, 4099};
   unsigned failed = 0;
   for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
      uint64_t rng = seed + i;
      for (uint32_t warps = 1; warps <= 8; warps *= 2)
         for (size_t s = 0; s < (cases[i].expr ? sizeof sizes / sizeof sizes[0] : 1); s++) {
            bool is_exact = cases[i].tolerance == 0;
            size_t n = !cases[i].expr ? 27 : sizes[s] > 1 || is_exact ? sizes[s] : 31;
            ++*runs;
            if (!run_case(gpu, cpu, &cases[i], warps, n, &rng)) {
               printf("FAIL %s, %u warps, n %zu, seed %llu\n", cases[i].name, warps, n,
                      (unsigned long long)seed);
               failed++;
            }
         }
   }
   return failed;
}

int
main(int argc, char **argv)
{
   uint64_t seed = 20260101;
   bool on_sim = false;
   for (int i = 1; i + 1 < argc; i += 2) {
      if (strcmp(argv[i], "--seed") == 0)
         seed = strtoull(argv[i + 1], NULL, 0);
      else if (strcmp(argv[i], "--on") == 0)
         on_sim = strcmp(argv[i + 1], "sim") == 0;
   }
   char why[1024] = "";
   Place gpu, cpu;
   TilecStatus status = on_sim ? open_place(&gpu, TILEC_ON_SIM, "sim", why, sizeof why)
                               : open_place(&gpu, TILEC_ON_CUDA, "cuda", why, sizeof why);
   if (status != TILEC_OK) {
      printf("gpu_test: %s\n", why);
      return on_sim ? 1 : SKIPPED;
   }
   if (open_place(&cpu, TILEC_ON_CPU, "cpu", why, sizeof why) != TILEC_OK) {
      printf("gpu_test: no CPU executor: %s\n", why);
      return 1;
   }
   unsigned runs = 0, failed = run_all(&gpu, &cpu, seed, &runs);
   tilec_runtime_close(gpu.rt);
   tilec_runtime_close(cpu.rt);
   printf("gpu_test: %zu kernels on %s and cpu, %u runs, %u failed\n",
          sizeof cases / sizeof cases[0], gpu.name, runs, failed);
   return failed != 0;
}
