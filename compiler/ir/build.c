/* Construction of operations at a cursor.  Every operation that leaves tl_build satisfies its infer
 * rule; a violation here is a bug of the caller, who reports user mistakes before. */
#include "ir/ir.h"

#include <assert.h>
#include <string.h>

TlOp *
tl_op_new(TlBuilder *b, TlOpcode opcode, unsigned num_args, unsigned num_results,
          unsigned num_regions)
{
   assert(opcode < TL_OP_COUNT && b->block);
   assert(!b->before || b->before->block == b->block);
   TlArena *arena = b->module->arena;
   const TlOpInfo *info = &tl_op_info[opcode];
   TlOp *op = tl_new(arena, TlOp);
   op->opcode = opcode;
   op->num_args = num_args;
   op->num_results = num_results;
   op->num_regions = num_regions;
   op->args = tl_new_array(arena, TlUse, num_args);
   op->results = tl_new_array(arena, TlValue, num_results);
   op->regions = tl_new_array(arena, TlRegion *, num_regions);
   op->range = b->range;
   if (!op->range.site)
      op->range.site = b->site;
   for (unsigned i = 0; i < info->num_attrs; i++)
      op->attrs[i] = tl_attr_default(info->attr[i].key, info->attr[i].initial);
   for (unsigned i = 0; i < num_args; i++)
      op->args[i].user = op;
   for (unsigned i = 0; i < num_results; i++) {
      op->results[i].def = op;
      op->results[i].index = i;
      op->results[i].id = b->func->next_value_id++;
   }
   for (unsigned i = 0; i < num_regions; i++)
      op->regions[i] = tl_region_new(b->func, op);
   tl_op_link(op, b->block, b->before);
   return op;
}

/* Fills types[] by the infer rule, or from the given ones, which must then agree. */
static void
result_types(TlBuilder *b, const TlOp *op, TlValue *const *args, const TlType *const *given,
             const TlType **types)
{
   enum { FEW = 16 };
   TlArena *arena = b->module->arena;
   const TlType *few[FEW];
   const TlType **arg_types =
      op->num_args <= FEW ? few : tl_new_array(arena, const TlType *, op->num_args);
   for (unsigned i = 0; i < op->num_args; i++)
      arg_types[i] = args[i]->type;
   for (unsigned i = 0; i < op->num_results; i++)
      types[i] = given ? given[i] : NULL; /* rules may look whether one is wanted */
   TlInferCx cx = {.types = b->module->types, .arena = arena};
   bool ok = tl_infer(&cx, op->opcode, arg_types, op->num_args, op->attrs, types, op->num_results);
   assert(ok && "operands do not satisfy the infer rule");
   (void)ok;
   for (unsigned i = 0; given && i < op->num_results; i++) {
      assert(tl_infer_accepts(b->module->types, types[i], given[i]));
      types[i] = given[i];
   }
}

TlOp *
tl_build(TlBuilder *b, TlOpcode opcode, TlValue *const *args, unsigned num_args,
         const TlType *const *result_types_given, unsigned num_results, const TlAttrInit *attrs,
         unsigned num_attrs, unsigned num_regions)
{
   TlArena *arena = b->module->arena;
   assert(tl_op_info[opcode].num_results == TL_ANY ||
          tl_op_info[opcode].num_results == (int)num_results);
   TlOp *op = tl_op_new(b, opcode, num_args, num_results, num_regions);
   for (unsigned i = 0; i < num_attrs; i++)
      *tl_attr(op, attrs[i].key) = attrs[i].value;
   for (unsigned i = 0; i < num_args; i++)
      tl_set_arg(op, i, args[i]);
   const TlType *few[4];
   const TlType **types = num_results <= 4 ? few : tl_new_array(arena, const TlType *, num_results);
   result_types(b, op, args, result_types_given, types);
   for (unsigned i = 0; i < num_results; i++)
      op->results[i].type = types[i];
   return op;
}

TlValue *
tl_build_n(TlBuilder *b, TlOpcode opcode, TlValue *const *args, unsigned num_args,
           const TlType *result, const TlAttrInit *attrs_until_count)
{
   unsigned num_attrs = 0;
   while (attrs_until_count[num_attrs].key != TL_ATTR_COUNT)
      num_attrs++;
   int n = tl_op_info[opcode].num_results;
   unsigned num_results = n == TL_ANY ? 1 : (unsigned)n;
   TlOp *op = tl_build(b, opcode, args, num_args, result ? &result : NULL, num_results,
                       attrs_until_count, num_attrs, 0);
   return num_results ? &op->results[0] : NULL;
}

TlValue *
tl_const_bits(TlBuilder *b, const TlType *type, uint64_t bits)
{
   assert(tl_type_elem(type)->kind == TL_TYPE_SCALAR || tl_type_elem(type)->kind == TL_TYPE_PTR);
   return tl_b0(b, TL_OP_CONSTANT, type, {TL_ATTR_VALUE, {.bits = bits}});
}

TlValue *
tl_const_int(TlBuilder *b, TlDtype dtype, int64_t v)
{
   assert(dtype < TL_DTYPE_COUNT);
   return tl_const_bits(b, tl_type_scalar(b->module->types, dtype), tl_int_to_bits(dtype, v));
}

TlValue *
tl_const_double(TlBuilder *b, const TlType *type, double v)
{
   TlDtype dtype = tl_type_elem(type)->dtype;
   TlBits bits = tl_dtype_is_float(dtype) ? tl_double_to_bits(dtype, v, TL_ROUND_NEAREST_EVEN)
                                          : tl_int_to_bits(dtype, (int64_t)v);
   return tl_const_bits(b, type, bits);
}

bool
tl_is_const(const TlValue *v, uint64_t *bits)
{
   const TlOp *op = v->def;
   while (op && tl_has_trait(op, TL_TRAIT_SAME_ELEMENTS))
      op = tl_arg(op, 0)->def;
   if (!op || op->opcode != TL_OP_CONSTANT)
      return false;
   *bits = tl_attr_bits(op, TL_ATTR_VALUE);
   return true;
}

bool
tl_is_number(const TlValue *v, double *out)
{
   uint64_t bits;
   const TlType *elem = tl_type_elem(v->type);
   if (elem->kind != TL_TYPE_SCALAR || !tl_is_const(v, &bits))
      return false;
   *out = tl_bits_to_number(elem->dtype, bits);
   return true;
}
