/* The constructors behind the grammar's actions.  Invariant: a node's height is known when it is
 * made and never exceeds TL_AST_MAX_HEIGHT; what Python forbids beyond its grammar (targets,
 * parameter and argument order) is reported here, and the node is made all the same. */
#include "syntax/build.h"
#include "base/vec.h"
#include "parser.h"

#include <string.h>

#define NEW(Name) tl_ast_new_##Name(ps->cx->arena, r)
#define DONE(n)   tl_mk_done(ps, &(n)->node)

const char *
tl_mk_word(const TlParser *ps, const TlToken *t)
{
   return t ? tl_intern(ps->cx->strings, ps->text + t->begin, t->end - t->begin) : NULL;
}

static void
raise_height(void *user, TlNode *child)
{
   uint32_t *height = user;
   if (child->height >= *height)
      *height = child->height + 1;
}

static TlNode *
limit_height(TlParser *ps, TlNode *node, uint32_t height)
{
   node->height = height;
   if (height <= TL_AST_MAX_HEIGHT)
      return node;
   TlRange r = node->range;
   if (!ps->too_high.file || r.begin >= ps->too_high.end || r.end <= ps->too_high.begin)
      tl_report(ps->diags, E0108, r, (unsigned)TL_AST_MAX_HEIGHT);
   ps->too_high = r;
   return &tl_ast_new_Skipped(ps->cx->arena, r)->node;
}

TlNode *
tl_mk_done(TlParser *ps, TlNode *node)
{
   uint32_t height = 1;
   tl_ast_children(node, raise_height, &height);
   return limit_height(ps, node, height);
}

/* ---- lists ---- */

TlListP
tl_mk_list(TlParser *ps)
{
   return tl_new(ps->cx->arena, TlNodeList);
}

TlListP
tl_mk_append(TlParser *ps, TlListP list, TlNode *item)
{
   if (item)
      tl_vec_push(ps->cx->arena, list, item);
   return list;
}

TlListP
tl_mk_list1(TlParser *ps, TlNode *first)
{
   return tl_mk_append(ps, tl_mk_list(ps), first);
}

TlListP
tl_mk_concat(TlParser *ps, TlListP list, TlListP more)
{
   for (size_t i = 0; i < more->len; i++)
      tl_vec_push(ps->cx->arena, list, more->data[i]);
   return list;
}

void
tl_mk_top(TlParser *ps, TlListP stmts)
{
   tl_mk_concat(ps, ps->module, stmts);
}

/* ---- expressions ---- */

TlNode *
tl_mk_name(TlParser *ps, const TlToken *t)
{
   TlRange r = tl_tok_range(ps, t);
   TlAstName *n = NEW(Name);
   n->id = tl_mk_word(ps, t);
   return &n->node;
}

TlNode *
tl_mk_int(TlParser *ps, const TlToken *t)
{
   TlRange r = tl_tok_range(ps, t);
   TlAstInt *n = NEW(Int);
   n->value = tl_decode_int(ps, t);
   n->is_large = n->value > INT64_MAX;
   return &n->node;
}

TlNode *
tl_mk_float(TlParser *ps, const TlToken *t)
{
   TlRange r = tl_tok_range(ps, t);
   TlAstFloat *n = NEW(Float);
   n->value = tl_decode_float(ps, t);
   return &n->node;
}

static bool
is_bytes(const TlNode *n)
{
   return n->kind == TL_AST_STR && tl_ast_Str(n)->is_bytes;
}

TlNode *
tl_mk_string_part(TlParser *ps, const TlToken *t)
{
   if (t->kind == TL_TOK_FSTRING)
      return tl_decode_fstring(ps, t);
   TlRange r = tl_tok_range(ps, t);
   TlAstStr *n = NEW(Str);
   n->value = tl_decode_string(ps, t, &n->is_bytes);
   return &n->node;
}

/* Adds a part of an f-string; text next to text becomes one Str. */
static void
add_part(TlParser *ps, TlNodeList *parts, TlNode *part)
{
   TlNode *last = parts->len ? tl_vec_last(parts) : NULL;
   if (!last || last->kind != TL_AST_STR || part->kind != TL_AST_STR) {
      tl_vec_push(ps->cx->arena, parts, part);
      return;
   }
   TlRange r = tl_range_join(last->range, part->range);
   TlAstStr *n = NEW(Str);
   TlSb sb;
   tl_sb_init(&sb, ps->cx->arena);
   tl_sb_mem(&sb, tl_ast_Str(last)->value.data, tl_ast_Str(last)->value.len);
   tl_sb_mem(&sb, tl_ast_Str(part)->value.data, tl_ast_Str(part)->value.len);
   n->value = (TlText){tl_sb_cstr(&sb), sb.len};
   tl_vec_last(parts) = &n->node;
}

static TlNode *
join_text(TlParser *ps, TlRange r, TlListP parts)
{
   TlSb sb;
   tl_sb_init(&sb, ps->cx->arena);
   for (size_t i = 0; i < parts->len; i++)
      tl_sb_mem(&sb, tl_ast_Str(parts->data[i])->value.data, tl_ast_Str(parts->data[i])->value.len);
   TlAstStr *n = NEW(Str);
   n->value = (TlText){tl_sb_cstr(&sb), sb.len};
   n->is_bytes = is_bytes(parts->data[0]);
   return &n->node;
}

TlNode *
tl_mk_strings(TlParser *ps, TlRange r, TlListP parts)
{
   bool has_format = false;
   if (parts->len == 1)
      return parts->data[0];
   for (size_t i = 0; i < parts->len; i++) {
      has_format |= parts->data[i]->kind != TL_AST_STR;
      if (is_bytes(parts->data[i]) != is_bytes(parts->data[0])) {
         tl_report(ps->diags, E0128, parts->data[i]->range);
         break;
      }
   }
   if (!has_format)
      return join_text(ps, r, parts);
   TlAstFString *n = NEW(FString);
   for (size_t i = 0; i < parts->len; i++) {
      TlNode *part = parts->data[i];
      if (part->kind != TL_AST_FSTRING) {
         add_part(ps, &n->parts, part);
         continue;
      }
      const TlNodeList *inner = &tl_ast_FString(part)->parts;
      for (size_t k = 0; k < inner->len; k++)
         add_part(ps, &n->parts, inner->data[k]);
   }
   return DONE(n);
}

TlNode *
tl_mk_unary(TlParser *ps, TlRange r, TlAstOp op, TlNode *operand)
{
   return TL_MAKE(ps, r, Unary, .op = op, .operand = operand);
}

TlNode *
tl_mk_binary(TlParser *ps, TlRange r, TlAstOp op, TlNode *left, TlNode *right)
{
   return TL_MAKE(ps, r, Binary, .op = op, .left = left, .right = right);
}

TlNode *
tl_mk_boolop(TlParser *ps, TlRange r, TlAstOp op, TlNode *left, TlNode *right)
{
   return TL_MAKE(ps, r, BoolOp, .op = op, .left = left, .right = right);
}

TlNode *
tl_mk_compare(TlParser *ps, TlRange r, TlNode *left, TlAstOp op, TlNode *right)
{
   TlAstCompare *n = NEW(Compare);
   n->left = left;
   tl_vec_push(ps->cx->arena, &n->ops, op);
   tl_vec_push(ps->cx->arena, &n->rights, right);
   return DONE(n);
}

TlNode *
tl_mk_compare_more(TlParser *ps, TlRange r, TlNode *chain, TlAstOp op, TlNode *right)
{
   if (chain->kind != TL_AST_COMPARE) /* the stand-in of a tree too high */
      return chain;
   TlAstCompare *n = tl_ast_Compare(chain);
   tl_vec_push(ps->cx->arena, &n->ops, op);
   tl_vec_push(ps->cx->arena, &n->rights, right);
   n->node.range = r;
   uint32_t height = n->node.height > right->height ? n->node.height : right->height + 1;
   return limit_height(ps, &n->node, height);
}

/* Positional after keyword, and a keyword given twice. */
static void
check_arguments(TlParser *ps, const TlNodeList *args)
{
   const TlNode *named = NULL, *unpacked = NULL;
   bool is_reported = false; /* the others follow the same keyword */
   for (size_t i = 0; i < args->len; i++) {
      const TlNode *a = args->data[i];
      if (a->kind != TL_AST_KEYWORD) {
         bool is_star = a->kind == TL_AST_STARRED, is_wrong = unpacked || (named && !is_star);
         if (is_wrong && !is_reported) {
            tl_report(ps->diags, E0134, a->range,
                      unpacked ? "'**' unpacking" : "a keyword argument");
            if (named && !unpacked)
               tl_help(ps->diags,
                       "write the arguments without keyword first; '%s=' gives an argument by its "
                       "name, '%s ==' compares",
                       tl_ast_Keyword(named)->name, tl_ast_Keyword(named)->name);
         }
         is_reported |= is_wrong;
         continue;
      }
      const char *name = tl_ast_Keyword(a)->name;
      if (!name) {
         unpacked = a;
         continue;
      }
      named = a;
      for (size_t k = 0; k < i && k < 64; k++)
         if (args->data[k]->kind == TL_AST_KEYWORD && tl_ast_Keyword(args->data[k])->name == name)
            tl_report(ps->diags, E0138, a->range, name);
   }
}

TlNode *
tl_mk_call(TlParser *ps, TlRange r, TlNode *func, TlListP args)
{
   check_arguments(ps, args);
   return TL_MAKE(ps, r, Call, .func = func, .args = *args);
}

TlNode *
tl_mk_tuple(TlParser *ps, TlRange r, TlListP items)
{
   return TL_MAKE(ps, r, Tuple, .items = *items);
}

TlNode *
tl_mk_paren(TlParser *ps, TlRange r, TlNode *inner)
{
   (void)r;
   if (inner->kind == TL_AST_STARRED)
      tl_report(ps->diags, E0141, inner->range, "a starred value");
   return inner;
}

/* Pairs travel as two entries each, a NULL key included. */
TlListP
tl_mk_pair(TlParser *ps, TlListP pairs, TlNode *key, TlNode *value)
{
   tl_vec_push(ps->cx->arena, pairs, key);
   tl_vec_push(ps->cx->arena, pairs, value);
   return pairs;
}

TlNode *
tl_mk_dict(TlParser *ps, TlRange r, TlListP pairs)
{
   TlAstDict *n = NEW(Dict);
   for (size_t i = 0; i + 1 < pairs->len; i += 2) {
      tl_vec_push(ps->cx->arena, &n->keys, pairs->data[i]);
      tl_vec_push(ps->cx->arena, &n->values, pairs->data[i + 1]);
   }
   return DONE(n);
}

/* ---- targets ---- */

static const char *
describe(const TlNode *n)
{
   switch (n->kind) {
   case TL_AST_INT:
   case TL_AST_FLOAT:
   case TL_AST_STR:
   case TL_AST_FSTRING:
      return "a literal";
   case TL_AST_CONST:
      return tl_ast_op_text[tl_ast_Const(n)->which];
   case TL_AST_CALL:
      return "a call";
   case TL_AST_COMPARE:
      return "a comparison";
   case TL_AST_CONDITIONAL:
      return "a conditional expression";
   case TL_AST_LAMBDA:
      return "a lambda";
   case TL_AST_COMPREHENSION:
      return "a comprehension";
   case TL_AST_DICT:
   case TL_AST_SET:
      return "a display";
   default:
      return "an expression";
   }
}

static void check_target(TlParser *ps, const char *verb, const TlNode *n);

static void
check_targets(TlParser *ps, const char *verb, const TlNodeList *items)
{
   for (size_t i = 0; i < items->len; i++) {
      const TlNode *n = items->data[i];
      check_target(ps, verb, n->kind == TL_AST_STARRED ? tl_ast_Starred(n)->value : n);
   }
}

static void
check_target(TlParser *ps, const char *verb, const TlNode *n)
{
   switch (n->kind) {
   case TL_AST_NAME:
   case TL_AST_ATTRIBUTE:
   case TL_AST_SUBSCRIPT:
   case TL_AST_SKIPPED:
      return;
   case TL_AST_TUPLE:
      check_targets(ps, verb, &tl_ast_Tuple(n)->items);
      return;
   case TL_AST_LIST:
      check_targets(ps, verb, &tl_ast_List(n)->items);
      return;
   default:
      tl_report(ps->diags, E0133, n->range, verb, describe(n));
      if (n->kind == TL_AST_COMPARE)
         tl_help(ps->diags, "'==' compares, '=' assigns");
   }
}

static void
check_single_target(TlParser *ps, const char *verb, const TlNode *n)
{
   if (n->kind == TL_AST_TUPLE || n->kind == TL_AST_LIST)
      tl_report(ps->diags, E0133, n->range, verb, n->kind == TL_AST_TUPLE ? "a tuple" : "a list");
   else
      check_target(ps, verb, n);
}

/* ---- parameters ---- */

static void
check_parameter(TlParser *ps, const TlNodeList *params, size_t i, unsigned *state)
{
   enum { HAS_DEFAULT = 1, HAS_STAR = 2, HAS_STAR_STAR = 4 };
   const TlAstParam *p = tl_ast_Param(params->data[i]);
   if (*state & HAS_STAR_STAR)
      tl_report(ps->diags, E0139, p->node.range, "**", "all other parameters");
   if (p->kind == TL_AST_OP_STAR || p->kind == TL_AST_OP_KW_MARK) {
      if (*state & HAS_STAR)
         tl_report(ps->diags, E0136, p->node.range, "*");
      *state |= HAS_STAR;
   } else if (p->kind == TL_AST_OP_STAR_STAR) {
      *state |= HAS_STAR_STAR;
   } else if (p->kind == TL_AST_OP_POS_MARK) {
      if (*state & HAS_STAR)
         tl_report(ps->diags, E0139, p->node.range, "*", "'/'");
   } else if (p->default_value) {
      *state |= HAS_DEFAULT;
   } else if ((*state & (HAS_DEFAULT | HAS_STAR)) == HAS_DEFAULT) {
      tl_report(ps->diags, E0135, p->node.range, p->name);
   }
   enum { MAX_COMPARED = 256 }; /* keeps hostile lists linear */
   for (size_t k = 0; p->name && k < i && k < MAX_COMPARED; k++)
      if (tl_ast_Param(params->data[k])->name == p->name) {
         tl_report(ps->diags, E0136, p->node.range, p->name);
         break;
      }
}

static void
check_parameters(TlParser *ps, const TlNodeList *params)
{
   unsigned state = 0;
   for (size_t i = 0; i < params->len; i++)
      if (params->data[i]->kind == TL_AST_PARAM)
         check_parameter(ps, params, i, &state);
}

TlNode *
tl_mk_param(TlParser *ps, TlRange r, TlAstOp kind, const TlToken *name, TlNode *annotation,
            TlNode *default_value)
{
   return TL_MAKE(ps, r, Param, .kind = kind, .name = tl_mk_word(ps, name),
                  .annotation = annotation, .default_value = default_value);
}

TlNode *
tl_mk_lambda(TlParser *ps, TlRange r, TlListP params, TlNode *body)
{
   check_parameters(ps, params);
   return TL_MAKE(ps, r, Lambda, .params = *params, .body = body);
}

TlNode *
tl_mk_comprehension(TlParser *ps, TlRange r, TlAstOp kind, TlNode *key, TlNode *value,
                    TlListP clauses)
{
   return TL_MAKE(ps, r, Comprehension, .kind = kind, .key = key, .value = value,
                  .clauses = *clauses);
}

TlNode *
tl_mk_comp_for(TlParser *ps, TlRange r, TlNode *target, TlNode *iter, TlListP conditions)
{
   check_target(ps, "assign to", target);
   return TL_MAKE(ps, r, CompFor, .target = target, .iter = iter, .conditions = *conditions);
}

static void
need_tile(TlParser *ps, TlRange r, const char *what)
{
   if (!ps->is_tile)
      tl_report(ps->diags, E0137, r, what);
}

TlNode *
tl_mk_ptr_type(TlParser *ps, TlRange r, bool is_const, TlNode *pointee)
{
   need_tile(ps, r, "a pointer type '*T'");
   return TL_MAKE(ps, r, PtrType, .is_const = is_const, .pointee = pointee);
}

/* `**T` is one token: a pointer to the pointer. */
TlNode *
tl_mk_ptr_ptr_type(TlParser *ps, TlRange r, bool is_const, TlNode *pointee)
{
   TlRange inner = tl_range(r.file, r.begin + 1, r.end);
   return tl_mk_ptr_type(ps, r, false, tl_mk_ptr_type(ps, inner, is_const, pointee));
}

TlNode *
tl_mk_fact_type(TlParser *ps, TlRange r, TlNode *type, TlNode *fact)
{
   need_tile(ps, r, "a divisibility fact 'type:16'");
   return TL_MAKE(ps, r, FactType, .type = type, .fact = fact);
}

/* ---- statements ---- */

TlNode *
tl_mk_expr_stmt(TlParser *ps, TlRange r, TlNode *value)
{
   if (value->kind == TL_AST_STARRED)
      tl_report(ps->diags, E0141, value->range, "a starred value");
   return TL_MAKE(ps, r, ExprStmt, .value = value);
}

TlNode *
tl_mk_assign(TlParser *ps, TlRange r, TlListP targets, TlNode *value)
{
   for (size_t i = 0; i < targets->len; i++)
      check_target(ps, "assign to", targets->data[i]);
   return TL_MAKE(ps, r, Assign, .targets = *targets, .value = value);
}

TlNode *
tl_mk_aug_assign(TlParser *ps, TlRange r, TlAstOp op, TlNode *target, TlNode *value)
{
   check_single_target(ps, "update", target);
   return TL_MAKE(ps, r, AugAssign, .op = op, .target = target, .value = value);
}

TlNode *
tl_mk_ann_assign(TlParser *ps, TlRange r, TlNode *target, TlNode *annotation, TlNode *value)
{
   check_single_target(ps, "annotate", target);
   return TL_MAKE(ps, r, AnnAssign, .target = target, .annotation = annotation, .value = value);
}

TlNode *
tl_mk_for(TlParser *ps, TlRange r, TlNode *target, TlNode *iter, TlListP body, TlListP orelse)
{
   check_target(ps, "assign to", target);
   return TL_MAKE(ps, r, For, .target = target, .iter = iter, .body = tl_list(body),
                  .orelse = tl_list(orelse));
}

TlNode *
tl_mk_if(TlParser *ps, TlRange r, TlNode *test, TlListP body, TlListP orelse)
{
   return TL_MAKE(ps, r, If, .test = test, .body = tl_list(body), .orelse = tl_list(orelse));
}

TlNode *
tl_mk_plain(TlParser *ps, TlRange r, TlAstKind kind)
{
   TlAstPass *n = NEW(Pass); /* pass, break and continue have no fields */
   n->node.kind = kind;
   return &n->node;
}

TlNode *
tl_mk_del(TlParser *ps, TlRange r, TlNode *targets)
{
   check_target(ps, "delete", targets);
   TlAstDel *n = NEW(Del);
   if (targets->kind == TL_AST_TUPLE)
      n->targets = tl_ast_Tuple(targets)->items;
   else
      tl_vec_push(ps->cx->arena, &n->targets, targets);
   return DONE(n);
}

TlNode *
tl_mk_with_item(TlParser *ps, TlRange r, TlNode *value, TlNode *target)
{
   if (target)
      check_target(ps, "assign to", target);
   return TL_MAKE(ps, r, WithItem, .value = value, .target = target);
}

TlNode *
tl_mk_try(TlParser *ps, TlRange r, TlListP body, TlListP handlers, TlListP orelse,
          TlListP finally_body)
{
   if (!handlers->len && !finally_body)
      tl_report(ps->diags, E0140, tl_range(r.file, r.begin, r.begin + 3));
   return TL_MAKE(ps, r, Try, .body = tl_list(body), .handlers = *handlers,
                  .orelse = tl_list(orelse), .finally_body = tl_list(finally_body));
}

TlNode *
tl_mk_dotted(TlParser *ps, TlRange r, TlNode *left, const TlToken *name)
{
   TlAstName *n = NEW(Name);
   TlSb sb;
   tl_sb_init(&sb, ps->cx->arena);
   tl_sb_printf(&sb, "%s.%s", tl_ast_Name(left)->id, tl_mk_word(ps, name));
   if (sb.len > TL_MAX_IDENT_BYTES) {
      TlRange first = tl_range(r.file, r.begin, r.begin + 1); /* one place, so reported once */
      tl_report(ps->diags, E0105, first, (unsigned)TL_MAX_IDENT_BYTES, (unsigned)sb.len);
      return left;
   }
   n->id = tl_intern(ps->cx->strings, sb.data, sb.len);
   return &n->node;
}

TlNode *
tl_mk_alias(TlParser *ps, TlRange r, TlNode *name, const TlToken *as_name)
{
   TlAstAlias *n = NEW(Alias);
   n->name = tl_ast_Name(name)->id;
   n->as_name = tl_mk_word(ps, as_name);
   if (as_name)
      n->node.range.end = as_name->end;
   return &n->node;
}

TlNode *
tl_mk_import_from(TlParser *ps, TlRange r, unsigned level, TlNode *module, TlListP names)
{
   const char *from = module ? tl_ast_Name(module)->id : NULL;
   return TL_MAKE(ps, r, Import, .level = level, .module = from, .is_from = true, .is_star = !names,
                  .names = tl_list(names));
}

TlNode *
tl_mk_function(TlParser *ps, TlRange r, const TlToken *name, TlListP params, TlNode *returns,
               TlListP body)
{
   check_parameters(ps, params);
   return TL_MAKE(ps, r, Function, .name = tl_mk_word(ps, name), .params = *params,
                  .returns = returns, .body = tl_list(body));
}

TlNode *
tl_mk_decorated(TlParser *ps, TlRange r, TlListP decorators, TlNode *definition)
{
   if (definition->kind == TL_AST_FUNCTION)
      tl_ast_Function(definition)->decorators = *decorators;
   else if (definition->kind == TL_AST_CLASS)
      tl_ast_Class(definition)->decorators = *decorators;
   definition->range = r;
   return tl_mk_done(ps, definition);
}

TlNode *
tl_mk_skipped(TlParser *ps, TlRange r, const char *reason)
{
   TlAstSkipped *n = NEW(Skipped);
   n->reason = reason ? tl_intern_cstr(ps->cx->strings, reason) : NULL;
   return &n->node;
}
