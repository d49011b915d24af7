/* Matrix products: which operand types may meet, what comes out, how exact. */
#include "sema/help.h"
#include "sema/impl.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

enum { DOT_A, DOT_B, DOT_ACC, DOT_PRECISION, DOT_TF32, DOT_IMPRECISE, DOT_OUT };

static void
note_operands(TlSema *s, const TlCall *call, const TlValue *a, const TlValue *b)
{
   tl_note(s->diags, N0250, tl_call_arg_range(call, DOT_A), "left",
           tl_type_cstr(s->arena, a->type));
   tl_note(s->diags, N0250, tl_call_arg_range(call, DOT_B), "right",
           tl_type_cstr(s->arena, b->type));
}

/* As it is written, where that is a name; else "a" or "b". */
static const char *
operand_text(TlSema *s, const TlCall *call, unsigned i)
{
   const char *text = tl_range_text(s, tl_call_arg_range(call, i)), *c = text;
   while (isalnum((unsigned char)*c) || *c == '_')
      c++;
   return *text && !*c ? text : i ? "b" : "a";
}

static bool
check_dtypes(TlSema *s, const TlCall *call, const TlValue *a, const TlValue *b)
{
   for (unsigned i = 0; i < 2; i++) {
      const TlType *elem = tl_type_elem((i ? b : a)->type);
      bool ok = elem->kind == TL_TYPE_SCALAR &&
                (tl_dtype_is_float(elem->dtype) || tl_dtype_info[elem->dtype].bits == 8);
      if (!ok) {
         tl_report(s->diags, E0331, tl_call_arg_range(call, i), tl_type_cstr(s->arena, elem));
         tl_blame(s, i ? b : a, TL_WANT_FLOAT);
         tl_help(s->diags, elem->kind == TL_TYPE_PTR
                              ? "load the values first: tl.dot(tl.load(pointers), b)"
                              : "operands are fp16, bf16, fp32, fp64, fp8 or int8");
         return false;
      }
   }
   TlDtype x = tl_value_dtype(a), y = tl_value_dtype(b);
   if (x != y && !(tl_dtype_is_fp8(x) && tl_dtype_is_fp8(y))) {
      tl_report(s->diags, E0330, call->range, tl_dtype_info[x].text, tl_dtype_info[y].text);
      note_operands(s, call, a, b);
      bool is_mixed = tl_dtype_is_float(x) != tl_dtype_is_float(y); /* weights, say */
      unsigned own =
         is_mixed ? tl_dtype_is_float(x) : tl_dtype_info[x].bits <= tl_dtype_info[y].bits;
      tl_help(s->diags, "cast one operand: %s.to(%s.dtype)", operand_text(s, call, own),
              operand_text(s, call, !own));
      return false;
   }
   if (x == TL_U8) {
      tl_report(s->diags, E0331, call->range, "u8");
      tl_help(s->diags, "of the integer types only int8 is supported");
      return false;
   }
   return true;
}

/* A matrix times a vector, or a vector times a matrix: the vector goes along the dimension that is
 * summed up, which is the other one where its length is that of the other one alone. */
static const char *
vector_product(TlSema *s, const TlCall *call, const TlType *x, const TlType *y)
{
   bool is_left = x->rank == 1;
   const TlType *vector = is_left ? x : y, *matrix = is_left ? y : x;
   const char *v = operand_text(s, call, !is_left), *m = operand_text(s, call, is_left);
   if (matrix->rank != 2)
      return is_left ? "with a vector on the left it is tl.sum(x[:, None] * b, 0)"
                     : "with a vector it is tl.sum(a * x[None, :], 1)";
   unsigned axis = !is_left;
   if (matrix->shape[axis] != vector->shape[0] && matrix->shape[1 - axis] == vector->shape[0])
      axis = 1 - axis;
   const char *line = axis ? "[None, :]" : "[:, None]";
   return is_left ? tl_arena_printf(s->arena, "with a vector it is tl.sum(%s%s * %s, %u)", v, line,
                                    m, axis)
                  : tl_arena_printf(s->arena, "with a vector it is tl.sum(%s * %s%s, %u)", m, v,
                                    line, axis);
}

static bool
check_shapes(TlSema *s, const TlCall *call, const TlValue *a, const TlValue *b)
{
   assert(tl_type_is_tile(a->type) && tl_type_is_tile(b->type));
   const TlType *x = a->type, *y = b->type;
   if (x->rank != y->rank || x->rank < 2) {
      tl_report(s->diags, E0347, call->range, tl_type_cstr(s->arena, x), tl_type_cstr(s->arena, y));
      if (x->rank == 1 && y->rank == 1)
         tl_help(s->diags, "of two vectors it is tl.sum(a * b)");
      else if (x->rank == 1 || y->rank == 1)
         tl_help(s->diags, "%s", vector_product(s, call, x, y));
      return false;
   }
   unsigned r = x->rank;
   uint32_t k = x->shape[r - 1], min_k = tl_dtype_info[x->elem->dtype].bits == 8 ? 32 : 16;
   unsigned d = 0; /* the first batch dimension that differs */
   while (d < r - 2 && x->shape[d] == y->shape[d])
      d++;
   if (k != y->shape[r - 2] || d < r - 2) {
      if (k != y->shape[r - 2])
         tl_report(s->diags, E0312, call->range, "inner", k, y->shape[r - 2]);
      else
         tl_report(s->diags, E0312, call->range, "batch", x->shape[d], y->shape[d]);
      note_operands(s, call, a, b);
      const char *repair =
         d < r - 2 ? NULL : tl_help_dot_shapes(s, call, a, b, &call->args[DOT_ACC]);
      if (repair)
         tl_help(s->diags, "%s", repair);
      return false;
   }
   if (k < min_k) {
      tl_report(s->diags, E0334, call->range, min_k, tl_dtype_info[x->elem->dtype].text, k);
      note_operands(s, call, a, b);
      tl_help(s->diags,
              "multiply and add up, tl.sum(a[:, :, None] * b[None, :, :], axis=1), or use a larger "
              "block along the inner dimension: where the array ends before it, with a mask and "
              "other=0.0");
      return false;
   }
   return true;
}

/* Dtype of the result from the operands and out_dtype. */
static bool
result_dtype(TlSema *s, const TlCall *call, TlDtype operand, TlDtype *wanted, TlDtype *out)
{
   const TlType *type = tl_scalar(s, TL_FP32);
   if (tl_call_has(call, DOT_OUT) && !tl_call_dtype(s, call, DOT_OUT, &type))
      return false;
   *wanted = type->dtype;
   if (tl_dtype_is_int(operand)) {
      *out = TL_I32;
      return true;
   }
   if (*wanted == TL_BF16) {
      tl_report(s->diags, E0332, tl_call_arg_range(call, DOT_OUT), "bf16",
                tl_dtype_info[operand].text);
      tl_help(s->diags, "accumulate in fp32 and convert the result: .to(tl.bfloat16)");
      return false;
   }
   if (operand == TL_FP64)
      *out = TL_FP64;
   else if (operand == TL_FP32 || operand == TL_BF16)
      *out = TL_FP32;
   else if (*wanted == TL_FP16 || *wanted == TL_FP32)
      *out = *wanted;
   else
      return tl_refuse(s->diags, E0332, tl_call_arg_range(call, DOT_OUT),
                       tl_dtype_info[*wanted].text, tl_dtype_info[operand].text);
   return true;
}

/* The accumulator: the one given, which must be of the result's type, or zeros. */
static TlValue *
accumulator(TlSema *s, const TlCall *call, const TlType *type, TlDtype wanted)
{
   assert(type->kind == TL_TYPE_TILE);
   if (!tl_call_has(call, DOT_ACC))
      return tl_const_bits(&s->b, type, 0);
   TlRange range = tl_call_arg_range(call, DOT_ACC);
   int64_t zero;
   if (tl_sv_const_int(&call->args[DOT_ACC], &zero) && zero == 0)
      return tl_const_bits(&s->b, type, 0);
   TlValue *acc = tl_call_value(s, call, DOT_ACC);
   if (!acc)
      return NULL;
   if (acc->type != type) {
      tl_report(s->diags, E0333, range, tl_type_cstr(s->arena, type),
                tl_type_cstr(s->arena, acc->type));
      const TlValue *const left = call->args[DOT_A].value, *const right = call->args[DOT_B].value;
      const char *factors = tl_help_exchanged(s, left, right, acc->type->rank, acc->type->shape);
      if (factors)
         tl_help(s->diags, "%s", factors);
      else if (tl_type_same_shape(acc->type, type) &&
               tl_type_elem(acc->type)->kind == TL_TYPE_SCALAR)
         tl_help(s->diags, "start it as tl.%s, or say out_dtype=tl.%s",
                 tl_dtype_info[type->elem->dtype].triton_name,
                 tl_dtype_info[tl_type_elem(acc->type)->dtype].triton_name);
      return NULL;
   }
   if (type->elem->dtype != wanted) {
      tl_report(s->diags, E0333, range, tl_dtype_info[wanted].text,
                tl_dtype_info[type->elem->dtype].text);
      tl_help(s->diags, "say out_dtype=tl.%s", tl_dtype_info[type->elem->dtype].triton_name);
      return NULL;
   }
   return acc;
}

bool
tl_dot_precision(const char *word, int64_t *out)
{
   return tl_word_is_listed(TL_DOT_PRECISIONS, word) &&
          tl_attr_word_value(TL_AK_PRECISION, word, strlen(word), out);
}

/* allow_tf32=True asks for what a dot that says nothing has. */
static bool
precision(TlSema *s, const TlCall *call, int64_t *out)
{
   *out = s->fp32_dot;
   if (tl_call_has(call, DOT_PRECISION) && tl_call_has(call, DOT_TF32))
      return tl_refuse(s->diags, E0336, call->range);
   if (tl_call_has(call, DOT_TF32)) {
      bool allow;
      if (!tl_call_bool(s, call, DOT_TF32, &allow))
         return false;
      *out = allow ? *out : TL_PRECISION_IEEE;
   } else if (!tl_call_word(s, call, DOT_PRECISION, TL_AK_PRECISION, TL_DOT_PRECISIONS, *out,
                            out)) {
      return false;
   }
   if (*out == TL_PRECISION_TF32 && s->cuts_tf32)
      *out = TL_PRECISION_TF32_CUT;
   return true;
}

/* The tile with its batch dimensions as one. */
static TlValue *
join_batches(TlSema *s, TlValue *x)
{
   unsigned r = x->type->rank;
   if (r <= 3)
      return x;
   uint32_t shape[3] = {1, x->type->shape[r - 2], x->type->shape[r - 1]};
   for (unsigned d = 0; d < r - 2; d++)
      shape[0] *= x->type->shape[d];
   const TlType *type = tl_type_tile(s->types, x->type->elem, 3, shape, NULL);
   return tl_t1(&s->b, TL_OP_RESHAPE, type, x, {TL_ATTR_REORDER, {.i = 0}});
}

static TlSv
dot(TlSema *s, const TlCall *call)
{
   TlValue *a = tl_call_tile(s, call, DOT_A), *b = tl_call_tile(s, call, DOT_B);
   int64_t how, imprecise = 0;
   TlDtype wanted, out;
   if (!a || !b || !check_dtypes(s, call, a, b) || !check_shapes(s, call, a, b) ||
       !precision(s, call, &how) || !result_dtype(s, call, tl_value_dtype(a), &wanted, &out))
      return tl_sv_poison();
   unsigned r = a->type->rank;
   uint32_t k = a->type->shape[r - 1];
   bool both_fp8 = tl_dtype_is_fp8(tl_value_dtype(a)) && tl_dtype_is_fp8(tl_value_dtype(b));
   if (both_fp8)
      imprecise = INT64_C(1) << 30; /* never promoted unless asked: capability 9.0 */
   if (tl_call_has(call, DOT_IMPRECISE)) {
      if (!tl_call_int(s, call, DOT_IMPRECISE, &imprecise))
         return tl_sv_poison();
      if (both_fp8 && (imprecise < 0 || imprecise > k))
         return tl_sv_refuse(s, E0335, tl_call_arg_range(call, DOT_IMPRECISE), k,
                             (long long)imprecise);
   }
   if (tl_value_dtype(a) == TL_FP8E4B15 || tl_value_dtype(b) == TL_FP8E4B15) {
      if (!s->impl->options.capability || s->impl->options.capability >= 90)
         tl_report(s->diags, W0253, call->range);
      a = tl_sema_cast(s, a, tl_scalar(s, TL_FP16), call->range);
      b = tl_sema_cast(s, b, tl_scalar(s, TL_FP16), call->range);
      imprecise = 0;
   }
   uint32_t shape[TL_MAX_RANK];
   memcpy(shape, a->type->shape, r * sizeof shape[0]);
   shape[r - 1] = b->type->shape[r - 1];
   TlValue *acc =
      accumulator(s, call, tl_type_tile(s->types, tl_scalar(s, out), r, shape, NULL), wanted);
   if (!acc)
      return tl_sv_poison();
   const TlAttrInit attrs[] = {{TL_ATTR_PRECISION, {.i = how}},
                               {TL_ATTR_IMPRECISE, {.i = imprecise}},
                               {TL_ATTR_COUNT, {.i = 0}}};
   TlValue *operands[] = {join_batches(s, a), join_batches(s, b), join_batches(s, acc)};
   TlValue *product = tl_sema_build(s, TL_OP_DOT, operands, 3, NULL, attrs, call->range);
   if (product && r > 3)
      product = tl_t1(&s->b, TL_OP_RESHAPE, acc->type, product, {TL_ATTR_REORDER, {.i = 0}});
   return tl_sv_value(product);
}

TlSv
tl_builtin_dot(TlSema *s, const TlCall *call)
{
   unsigned errors = s->diags->num_errors;
   TlSv v = dot(s, call);
   const char *help = s->diags->num_errors != errors ? tl_help_dot_order(s, call) : NULL;
   if (help)
      tl_help(s->diags, "%s", help);
   return v;
}
