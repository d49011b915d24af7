/* Launch arguments: from the caller's tagged value to the 8 bytes that the kernel's parameter
 * wants.  A value that would change by the conversion is refused, except that floats round.
 * Nothing here knows the driver. */
#include "core/core.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool
float_from(TilecDtype dtype, double v, TlSlot *out)
{
   out->u = 0;
   if (dtype == TILEC_FP64)
      out->f64 = v;
   else if (dtype == TILEC_FP32)
      out->f32 = (float)v;
   else if (tl_dtype_is_small_float(dtype))
      out->u = tl_dtype_narrow(dtype, v);
   else
      return false;
   return true;
}

static void
show(const TilecArg *a, char *text, size_t bytes)
{
   char kind = tl_dtype_kind(a->dtype);
   const char *name = tl_dtype_name(a->dtype);
   if (a->kind == TILEC_ARG_NONE)
      snprintf(text, bytes, "None");
   else if (a->kind == TILEC_ARG_TENSOR)
      snprintf(text, bytes, "a tensor descriptor of %s", name);
   else if (a->kind != TILEC_ARG_SCALAR)
      snprintf(text, bytes, "*%s", name);
   else if (a->dtype == TILEC_FP32 || a->dtype == TILEC_FP64)
      snprintf(text, bytes, "%s %.9g", name, a->as.f);
   else if (kind == 'I' || kind == 'B')
      snprintf(text, bytes, "%s %" PRId64, name, a->as.i);
   else
      snprintf(text, bytes, "%s %" PRIu64, name, a->as.u);
}

static bool
refuse(const TlLaunchParam *p, const TilecArg *a, const char *why, char *text)
{
   char got[96];
   show(a, got, sizeof got);
   snprintf(text, TL_RT_TEXT, "parameter '%s' is %s; got %s%s%s", p->info->name, p->info->type, got,
            why ? ": " : "", why ? why : "");
   return false;
}

/* Integers to integers: the value must fit. */
static bool
int_to_int(const TlLaunchParam *p, const TilecArg *a, TlSlot *out, char *text)
{
   bool negative = tl_dtype_kind(a->dtype) != 'U' && a->as.i < 0;
   uint64_t magnitude = negative ? 0 - a->as.u : a->as.u;
   unsigned bits = tl_dtype_bytes(p->dtype) * 8;
   uint64_t limit;
   assert(bits >= 8 && bits <= 64);
   switch (tl_dtype_kind(p->dtype)) {
   case 'B':
      limit = negative ? 0 : 1;
      break;
   case 'I':
      limit = ((uint64_t)1 << (bits - 1)) - !negative;
      break;
   default:
      limit = negative ? 0 : UINT64_MAX >> (64 - bits);
   }
   if (magnitude > limit)
      return refuse(p, a, "the value does not fit: declare i64, or leave the type open", text);
   out->u = a->as.u;
   return true;
}

static bool
scalar(const TlLaunchParam *p, const TilecArg *a, TlSlot *out, char *text)
{
   char from = tl_dtype_kind(a->dtype), to = tl_dtype_kind(p->dtype);
   if (a->kind != TILEC_ARG_SCALAR || !from || !to)
      return refuse(p, a, NULL, text);
   if (to != 'F')
      return from == 'F'
                ? refuse(p, a, "a float is not taken for an integer: give a whole number", text)
                : int_to_int(p, a, out, text);
   if (from != 'F') {
      double v = from == 'U' ? (double)a->as.u : (double)a->as.i;
      return float_from(p->dtype, v, out);
   }
   if (a->dtype == TILEC_FP32 || a->dtype == TILEC_FP64)
      return float_from(p->dtype, a->as.f, out);
   if (a->dtype != p->dtype)
      return refuse(p, a, "small floats are taken for their own type only", text);
   out->u = a->as.u & (tl_dtype_bytes(p->dtype) == 1 ? 0xff : 0xffff);
   return true;
}

/* Signedness does not matter behind a pointer, and unsigned integers stand for raw bits. */
static bool
same_elements(TilecDtype want, TilecDtype got)
{
   if (!want || !got || want == got)
      return true;
   if (tl_dtype_bytes(want) != tl_dtype_bytes(got))
      return false;
   return tl_dtype_kind(got) == 'U' || (tl_dtype_kind(want) != 'F' && tl_dtype_kind(got) != 'F');
}

static bool
pointer(const TlLaunchParam *p, const TilecArg *a, TlSlot *out, char *text)
{
   if (a->kind != TILEC_ARG_POINTER && a->kind != TILEC_ARG_BUFFER)
      return refuse(p, a, NULL, text);
   TilecDtype elem = a->dtype;
   if (a->kind == TILEC_ARG_BUFFER && a->as.buffer && !tl_handle_is_live(&a->as.buffer->handle))
      return refuse(p, a, "the buffer was freed", text);
   if (a->kind == TILEC_ARG_BUFFER && !elem && a->as.buffer)
      elem = a->as.buffer->layout.dtype;
   if (!same_elements(p->dtype, elem))
      return refuse(p, a,
                    "other elements: convert the array; a parameter whose type is left open takes "
                    "those that the kernel computes with in any type",
                    text);
   if (a->kind == TILEC_ARG_POINTER) {
      out->u = (uint64_t)(uintptr_t)a->as.ptr;
      return true;
   }
   if (!a->as.buffer)
      return refuse(p, a, "the buffer is NULL", text);
   if (a->bytes > a->as.buffer->bytes) {
      snprintf(text, TL_RT_TEXT,
               "parameter '%s' is given a view from byte %" PRIu64 " on of a buffer of %" PRIu64
               " bytes",
               p->info->name, a->bytes, a->as.buffer->bytes);
      return false;
   }
   if (a->as.buffer->is_read_only && !p->info->is_const)
      return refuse(p, a, "the buffer is read-only, and the kernel writes through it", text);
   assert(a->as.buffer->address || !a->as.buffer->bytes);
   out->u = (uint64_t)(uintptr_t)a->as.buffer->address + a->bytes;
   return true;
}

bool
tl_arg_convert(const TlLaunchParam *p, const TilecArg *a, TlSlot *out, char *text)
{
   out->u = 0;
   assert(!(p->is_none && p->is_passed));
   if (p->is_none)
      return a->kind == TILEC_ARG_NONE || refuse(p, a, "the code was compiled for None", text);
   if (a->kind == TILEC_ARG_NONE)
      return refuse(p, a, "the code was not compiled for None", text);
   return p->is_pointer ? pointer(p, a, out, text) : scalar(p, a, out, text);
}

void
tl_args_note_order(const TlVariant *v, const TilecArg *args, uint32_t i, char *text)
{
   TlSlot slot;
   char why[TL_RT_TEXT], got[96];
   uint32_t found = 0, with = i;
   if (tl_arg_convert(&v->params[i], &args[i], &slot, why)) /* its value is what is wrong */
      return;
   for (uint32_t k = 0; k < v->num_params; k++)
      if (k != i && tl_arg_convert(&v->params[k], &args[i], &slot, why) &&
          tl_arg_convert(&v->params[i], &args[k], &slot, why)) {
         found++;
         with = k;
      }
   size_t len = strlen(text);
   if (found != 1)
      return;
   show(&args[with], got, sizeof got);
   snprintf(text + len, TL_RT_TEXT - len, "; '%s' is given %s: are the two exchanged?",
            v->params[with].info->name, got);
}

/* Divisors are powers of two as the compiler makes them: a division a launch argument would be a
 * tenth of what a launch costs beside the driver. */
static bool
is_multiple(const TlLaunchParam *p, TlSlot slot, uint32_t d)
{
   if (!(d & (d - 1)))
      return !(slot.u & (d - 1));
   bool is_signed = tl_dtype_kind(p->dtype) == 'I' && !p->is_pointer;
   return is_signed ? slot.i % (int64_t)d == 0 : slot.u % d == 0;
}

bool
tl_arg_fits(const TlLaunchParam *p, TlSlot slot, bool is_none, char *text)
{
   if (is_none || p->is_none)
      return true; /* tl_arg_convert has settled it */
   if (!p->is_passed) {
      bool same;
      TlSlot want = {0};
      assert(p->info->value);
      if (p->has_int && tl_dtype_kind(p->dtype) != 'F')
         same = slot.i == p->value;
      else
         same = float_from(p->dtype, p->has_int ? (double)p->value : p->fvalue, &want) &&
                want.u == slot.u;
      if (!same)
         snprintf(text, TL_RT_TEXT, "the code was compiled for '%s' = %s", p->info->name,
                  p->info->value);
      return same;
   }
   uint32_t d = p->info->divisible;
   if (d > 1 && !is_multiple(p, slot, d)) {
      char value[24];
      snprintf(value, sizeof value, p->is_pointer ? "0x%" PRIx64 : "%" PRId64, slot.i);
      snprintf(text, TL_RT_TEXT, "the code was compiled for '%s' divisible by %u; it is %s",
               p->info->name, d, value);
      return false;
   }
   return true;
}

/* Do the strides keep the alignment that the code counts on?  p is followed by its parts: sizes,
 * strides but the last. */
static bool
check_strides(const TlLaunchParam *p, const TilecTensor *t, char *text)
{
   for (uint32_t d = 0; d + 1 < t->rank; d++) {
      int64_t step = p[1 + p->rank + d].info->divisible, stride = t->strides[d];
      if (step <= 1 || stride % step == 0)
         continue;
      int64_t bytes = p->info->divisible / step, padded = stride + step - stride % step;
      char what[32] = "rows";
      if (d + 2 < t->rank)
         snprintf(what, sizeof what, "items of dimension %u", (unsigned)d);
      snprintf(text, TL_RT_TEXT,
               "parameter '%s': %s of the tensor are %" PRId64 " bytes apart, which must be a "
               "multiple of %u: pad them to %" PRId64 " elements",
               p->info->name, what, stride * bytes, (unsigned)p->info->divisible, padded);
      return false;
   }
   return true;
}

static bool
is_block_of(const TlLaunchParam *p, const TilecTensor *t)
{
   bool same = t->rank == p->rank;
   for (uint32_t d = 0; same && d < p->rank; d++)
      same = t->block[d] == p->block[d];
   return same;
}

/* Pointer, sizes, strides but the last; false: text says why not. */
static bool
flatten_tensor(const TlLaunchParam *p, const TilecTensor *t, TilecArg *out, char *text)
{
   const char *name = p->info->name;
   if (!t || !p->rank || !is_block_of(p, t)) {
      snprintf(text, TL_RT_TEXT, "parameter '%s' is %s; got a tensor descriptor of another block",
               name, p->info->type);
      return false;
   }
   if (t->strides[t->rank - 1] != 1) {
      snprintf(text, TL_RT_TEXT,
               "parameter '%s': the last stride of a tensor must be 1; it is %" PRId64, name,
               t->strides[t->rank - 1]);
      return false;
   }
   if (!check_strides(p, t, text))
      return false;
   *out++ = t->base;
   for (uint32_t d = 0; d < t->rank; d++)
      *out++ = tilec_int(TILEC_I64, t->shape[d]);
   for (uint32_t d = 0; d + 1 < t->rank; d++)
      *out++ = tilec_int(TILEC_I64, t->strides[d]);
   return true;
}

uint32_t
tl_args_flatten(const TlVariant *v, const TilecArg *args, size_t num_args, TilecArg *flat,
                char *text)
{
   uint32_t n = 0;
   for (size_t i = 0; i < num_args; i++) {
      if (n >= v->num_params) {
         snprintf(text, TL_RT_TEXT, "more arguments are given than the kernel takes");
         return 0;
      }
      if (args[i].kind != TILEC_ARG_TENSOR) {
         flat[n++] = args[i];
         continue;
      }
      const TlLaunchParam *p = &v->params[n];
      if (!flatten_tensor(p, args[i].as.tensor, &flat[n], text))
         return 0;
      n += 2 * p->rank;
   }
   return n;
}
