/* Statements.  A block is run statement by statement; what follows a statement in its function is
 * at hand as a TlCont, so that an early return under a run-time `if` can run the rest in the other
 * side (stmt_if.c).  A statement with an error leaves poison in what it assigns and the next one
 * goes on. */
#include "sema/bindings.h"
#include "sema/help.h"
#include "sema/impl.h"

#include <assert.h>
#include <string.h>

/* ---- assignments ---- */
static TlSv
usable(TlSema *s, TlFrame *f, TlSv v, TlRange range)
{
   if (!tl_is_host(f) && tl_is_foreign(&v)) {
      tl_report_opaque(s, &v, range);
      return tl_sv_poison();
   }
   return v;
}

static void
exec_assign(TlSema *s, TlFrame *f, const TlAstAssign *n)
{
   TlSv v = usable(s, f, tl_eval_expr(s, f, n->value), n->value->range);
   if (tl_is_host(f) && v.kind == TL_SV_POISON)
      return; /* a handler finds the old value */
   if (!tl_is_host(f))
      v = tl_strengthen(s, v);
   for (size_t i = 0; i < n->targets.len; i++)
      tl_assign(s, f, n->targets.data[i], v);
}

/* x op= v: lists, sets and dicts are changed themselves.  What the target stands on is evaluated
 * once. */
static void
host_aug_assign(TlSema *s, TlFrame *f, const TlAstAugAssign *n)
{
   TlPlace place;
   if (!tl_place_of(s, f, n->target, &place))
      return;
   TlSv old = tl_place_value(s, f, &place), v;
   if (old.kind != TL_SV_POISON)
      v = tl_eval_expr(s, f, n->value);
   if (old.kind == TL_SV_POISON || v.kind == TL_SV_POISON)
      return;
   unsigned errors = s->diags->num_errors;
   TlSv sum = old;
   if (!tl_host_in_place(s, f, n->op, &old, &v, n->node.range))
      sum = tl_apply_binary(s, n->op, &old, &v, n->node.range);
   if (s->diags->num_errors == errors)
      tl_place_set(s, f, &place, sum);
}

/* counts[bin] += 1 */
static void
help_added(TlSema *s, const TlAstAugAssign *n)
{
   const TlDiag *d = s->diags->last;
   bool is_sum = n->op == TL_AST_OP_ADD || n->op == TL_AST_OP_SUB;
   if (!is_sum || n->target->kind != TL_AST_SUBSCRIPT || !d || d->code != TL_DIAG_E0295 ||
       d->range.begin != n->target->range.begin || d->range.file != n->target->range.file ||
       !tl_starts_with(d->text, "a pointer"))
      return;
   const char *to = tl_range_text(s, n->target->range), *open = strchr(to, '[');
   const char *value = tl_range_text(s, n->value->range);
   if (!open || !d->help || strlen(to) + strlen(value) > 80 || strpbrk(to, "\n,"))
      return;
   bool is_less = n->op == TL_AST_OP_SUB;
   tl_help(s->diags, "tl.atomic_add(%.*s + %.*s, %s%s%s) adds to it, whoever else does; %s",
           (int)(open - to), to, (int)strlen(open) - 2, open + 1, is_less ? "-(" : "", value,
           is_less ? ")" : "", d->help);
}

static void
exec_aug_assign(TlSema *s, TlFrame *f, const TlAstAugAssign *n)
{
   if (tl_is_host(f)) {
      host_aug_assign(s, f, n);
      return;
   }
   unsigned errors = s->diags->num_errors;
   TlSv old = tl_eval_expr(s, f, n->target);
   if (old.kind == TL_SV_POISON && s->diags->num_errors == errors + 1)
      help_added(s, n);
   TlSv v = usable(s, f, tl_eval_expr(s, f, n->value), n->value->range);
   if (old.kind == TL_SV_POISON || v.kind == TL_SV_POISON) {
      tl_help_unset_like(s, errors, n->op, &v);
      if (n->target->kind == TL_AST_NAME)
         tl_assign(s, f, n->target, tl_sv_poison());
      return;
   }
   TlSv sum = tl_apply_binary(s, n->op, &old, &v, n->node.range);
   tl_assign(s, f, n->target, tl_strengthen(s, sum));
}

static void
exec_ann_assign(TlSema *s, TlFrame *f, const TlAstAnnAssign *n)
{
   if (!n->value)
      return;
   TlSv v = usable(s, f, tl_eval_expr(s, f, n->value), n->value->range);
   if (tl_is_host(f) && v.kind == TL_SV_POISON)
      return;
   bool is_constexpr = tl_is_constexpr_annotation(n->annotation);
   if (is_constexpr && v.kind == TL_SV_VALUE && !tl_is_host(f) && n->target->kind == TL_AST_NAME) {
      tl_report(s->diags, W0217, n->node.range,
                tl_arena_printf(s->arena, "'%s' is annotated", tl_ast_Name(n->target)->id));
      tl_help(s->diags, "leave the annotation out, or make what it is computed from tl.constexpr "
                        "parameters");
   }
   if (is_constexpr)
      v = tl_weaken(s, v);
   else if (!tl_is_host(f))
      v = tl_strengthen(s, v);
   tl_assign(s, f, n->target, v);
}

/* ---- leaving ---- */
/* It is told to the loop, which ends and has the function return behind it. */
static TlFlow
return_from_loop(TlSema *s, TlFrame *f, const TlAstReturn *n, TlSv v)
{
   TlActivation *act = f->act;
   assert(act->leave && "begin_leaving() sees every return of its loop");
   v = tl_strengthen(s, usable(s, f, v, n->node.range));
   if (v.kind != TL_SV_NONE && v.kind != TL_SV_POISON) {
      act->like = v;
      tl_frame_set(s, f, act->result, v, n->node.range);
   }
   tl_frame_set(s, f, act->returned, tl_sv_bool(true), n->node.range);
   tl_frame_set(s, f, act->leave, tl_sv_bool(true), n->node.range);
   return TL_FLOW_CONTINUE;
}

static TlFlow
exec_return(TlSema *s, TlFrame *f, const TlAstReturn *n)
{
   TlActivation *act = f->act;
   if (!act->func) {
      tl_report(s->diags, E0233, n->node.range);
      return TL_FLOW_NEXT;
   }
   TlSv v = n->value ? tl_eval_expr(s, f, n->value) : tl_sv_none();
   if (act->loops && !act->static_loops && act->returned)
      return return_from_loop(s, f, n, v);
   if (act->loops) {
      tl_report(s->diags, E0234, n->node.range);
      v = tl_sv_poison();
   }
   if (!act->is_host) {
      v = tl_strengthen(s, usable(s, f, v, n->node.range));
      bool is_none = v.kind == TL_SV_NONE || v.kind == TL_SV_POISON;
      if (!act->caller && !is_none && !act->may_return &&
          act->func->node->kind == TL_AST_FUNCTION) {
         tl_report(s->diags, E0235, n->node.range, act->func->name, tl_sv_describe(s, &v));
         tl_help(s->diags,
                 "write results with tl.store, through a pointer that is a parameter of its "
                 "own: tl.store(out + index, result)");
      }
   }
   act->ret = v;
   act->ret_range = n->node.range;
   return TL_FLOW_RETURN;
}

static TlFlow
exec_break(TlSema *s, TlFrame *f, const TlNode *n)
{
   assert(n->kind == TL_AST_BREAK || n->kind == TL_AST_CONTINUE);
   bool is_break = n->kind == TL_AST_BREAK;
   if (!f->act->loops && !f->act->static_loops) {
      tl_report(s->diags, E0278, n->range, is_break ? "break" : "continue");
      return TL_FLOW_NEXT;
   }
   if (is_break && !f->act->is_host && f->act->loops && !f->act->static_loops) {
      assert(f->act->leave && "begin_leaving() sees every break of its loop");
      tl_frame_set(s, f, f->act->leave, tl_sv_bool(true), n->range);
      return TL_FLOW_CONTINUE;
   }
   return is_break ? TL_FLOW_BREAK : TL_FLOW_CONTINUE;
}

static void
exec_raise(TlSema *s, TlFrame *f, const TlAstRaise *n)
{
   if (tl_is_host(f)) {
      tl_host_raise(s, f, n);
      return;
   }
   s->impl->run_time_raises += s->impl->region != 0;
   tl_report(s->diags, E0237, n->node.range, n->value ? tl_node_text(s, n->value) : "an exception");
}

/* In Triton an assertion is the run's, also one that is known not to hold: the kernel may never get
 * to it. */
static bool
is_left_to_run(const TlFrame *f)
{
   return !tl_is_host(f) && f->source && !f->source->is_tile;
}

static void
exec_assert(TlSema *s, TlFrame *f, const TlAstAssert *n)
{
   TlSv test = tl_eval_test(s, f, n->test);
   bool known, truth = false;
   if (!tl_truth(s, &test, n->test->range, &known, &truth) || (known && truth))
      return;
   TlSv message = n->message ? tl_eval_expr(s, f, n->message) : tl_make_str(s, "", 0);
   const char *text =
      message.kind == TL_SV_STR && message.s.len ? message.s.data : tl_node_text(s, n->test);
   if (known && !is_left_to_run(f)) {
      tl_report(s->diags, E0238, n->node.range, text);
      if (tl_is_host(f) && message.kind != TL_SV_POISON)
         tl_raise_as(s, "AssertionError");
      return;
   }
   if (known) {
      tl_report(s->diags, W0212, n->node.range, text);
      test = tl_sv_bool(false);
   }
   if (message.kind != TL_SV_STR)
      message = tl_make_str(s, "", 0);
   TlSv args[2] = {test, message};
   tl_invoke_named(s, TL_NS_TL, "device_assert", args, 2, n->node.range);
}

/* ---- definitions and scopes ---- */
static void
exec_function(TlSema *s, TlFrame *f, const TlNode *n)
{
   TlSvFunc *fn = tl_func_value(s, f->source, f->is_module ? NULL : f, n);
   fn->is_compiled |= !tl_is_host(f);
   TlSv v = {.kind = TL_SV_FUNC, .func = fn};
   if (n->kind == TL_AST_CLASS) {
      const TlNodeList *d = &tl_ast_Class(n)->decorators;
      const TlSv *decorators = tl_eval_decorators(s, f, fn, d);
      if (!decorators)
         return;
      tl_define_class(s, fn);
      if (fn->info->fault && tl_is_host(f)) {
         tl_report(s->diags, E0259, n->range, fn->name, fn->info->fault);
         tl_raise_as(s, fn->info->exception);
         return;
      }
      v = tl_apply_decorators(s, fn, d, decorators);
   } else if (tl_is_host(f)) {
      v = tl_define_function(s, f, fn);
   }
   if (v.kind == TL_SV_POISON && s->impl->tries)
      return;
   tl_frame_set(s, f, fn->name, v, n->range);
}

static void
exec_del(TlSema *s, TlFrame *f, const TlAstDel *n)
{
   for (size_t i = 0; i < n->targets.len; i++) {
      const TlNode *t = n->targets.data[i];
      if (!tl_host_del(s, f, t))
         return;
   }
}

/* Python that compiled code has no meaning for: an error at the statement's first word, no other
 * for the names that it would bind. */
static TlFlow
refuse_statement(TlSema *s, TlFrame *f, const TlNode *n)
{
   static const struct {
      const char *word, *help;
   } rows[] = {
      {"try", "nothing is raised on a GPU: test the values with 'if', or with tl.device_assert"},
      {"with", "write what its body does; there is nothing to enter or to leave on a GPU"},
      {"class", "define it outside of the kernel, or pass its fields one by one"},
      {"global", "pass the value as a parameter, and results through pointers"},
      {"nonlocal", "return the value, or pass it as a parameter"},
      {"del", "leave it out: what is not used any more takes no place"},
      {"yield", "store each value, or return a tuple of them"},
   };
   const char *text = tl_node_text(s, n);
   size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyz");
   const char *word = tl_arena_strndup(s->arena, text, len);
   TlRange at = tl_range(n->range.file, n->range.begin, n->range.begin + (uint32_t)len);
   tl_report(s->diags, E0239, at, word);
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
      if (strcmp(rows[i].word, word) == 0)
         tl_help(s->diags, "%s", rows[i].help);
   TlNodeList one = {(TlNode *[]){(TlNode *)(uintptr_t)n}, 1, 1};
   tl_poison_assigned(s, f, &one, n->range);
   if (n->kind == TL_AST_CLASS)
      tl_frame_set(s, f, tl_ast_Class(n)->name, tl_sv_poison(), n->range);
   return TL_FLOW_NEXT;
}

bool
tl_may_end_errors(TlSema *s, TlFrame *f, const TlNode *manager)
{
   static const char *const names[] = {"suppress", "raises", "ExitStack"};
   const char *name = tl_decorator_name(manager), *dot;
   bool is_call = manager->kind == TL_AST_CALL;
   TlSv callee = is_call ? tl_quiet_value(s, f, tl_ast_Call(manager)->func, NULL) : tl_sv_none();
   if (tl_is_host_module_value(&callee)) { /* under whatever name it was imported */
      dot = strrchr(callee.module->name, '.');
      name = dot ? dot + 1 : callee.module->name;
   }
   for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
      if (strcmp(name, names[i]) == 0)
         return true;
   return false;
}

/* Of host code: what a manager of another package does is not known, and changes no value of the
 * program but by its arguments, which its call loses. */
static TlFlow
exec_with(TlSema *s, TlFrame *f, const TlAstWith *n, const TlCont *rest)
{
   bool ends_errors = false;
   for (size_t i = 0; i < n->items.len; i++) {
      const TlAstWithItem *item = tl_ast_WithItem(n->items.data[i]);
      TlSv v = tl_eval_expr(s, f, item->value);
      if (v.kind == TL_SV_POISON)
         return TL_FLOW_NEXT;
      ends_errors |= tl_may_end_errors(s, f, item->value);
      if (!tl_is_foreign(&v)) {
         tl_report(s->diags, E0259, item->value->range, "with",
                   "what this does at its begin and end is not followed");
         return TL_FLOW_NEXT;
      }
      if (item->target)
         tl_assign(s, f, item->target,
                   tl_sv_lost(s, tl_node_text(s, item->value), item->value->range));
   }
   unsigned errors = s->diags->num_errors;
   TlFlow flow = tl_stmt_block(s, f, &n->body, 0, rest);
   if (ends_errors && s->diags->num_errors != errors)
      s->impl->raised.error = NULL; /* nobody outside can catch it, and what follows is run */
   return flow;
}

/* A function under @triton.must_use_result, called for nothing: its decorator says why not. */
static void
check_result_used(TlSema *s, TlFrame *f, const TlNode *value)
{
   TlSv callee;
   const TlNode *name = value->kind == TL_AST_CALL ? tl_ast_Call(value)->func : NULL;
   if (!name || name->kind != TL_AST_NAME || tl_is_host(f) ||
       !tl_lookup_quiet(s, f, tl_ast_Name(name)->id, &callee) || callee.kind != TL_SV_FUNC ||
       callee.func->node->kind != TL_AST_FUNCTION)
      return;
   const TlNodeList *d = &tl_ast_Function(callee.func->node)->decorators;
   for (size_t i = 0; i < d->len; i++) {
      if (strcmp(tl_decorator_name(d->data[i]), "must_use_result") != 0)
         continue;
      const TlNode *why = tl_decorator_argument(d->data[i], "s", 0);
      TlSv text = why ? tl_decorator_value(s, callee.func, why, NULL) : tl_sv_none();
      tl_report(s->diags, E0349, value->range, callee.func->name);
      if (text.kind == TL_SV_STR)
         tl_help(s->diags, "%.*s", (int)text.s.len, text.s.data);
   }
}

/* The variable of the function itself that is the call's first argument and is still this value:
 * the call may be of any function, and may have bound the name anew. */
static bool
is_first_argument(TlFrame *f, const TlNode *call, const TlValue *x)
{
   const TlNodeList *args = call->kind == TL_AST_CALL ? &tl_ast_Call(call)->args : NULL;
   if (!args || !args->len || args->data[0]->kind != TL_AST_NAME)
      return false;
   const TlVar *v = tl_frame_var(f, tl_ast_Name(args->data[0])->id);
   return v && v->state == TL_VAR_BOUND && v->value.kind == TL_SV_VALUE && v->value.value == x;
}

/* `multiple_of(x, 16)` for nothing but its promise: it is x's from where x is made, when both are
 * of one block, so that whoever comes to the one comes to the other. */
static void
keep_promise(TlSema *s, TlFrame *f, const TlNode *value, const TlSv *result)
{
   TlOp *hint = result->kind == TL_SV_VALUE ? result->value->def : NULL;
   if (!hint || hint->opcode != TL_OP_HINT || !tl_is_unused(hint) ||
       !is_first_argument(f, value, tl_arg(hint, 0)))
      return;
   TlValue *x = tl_arg(hint, 0);
   TlBlock *block = x->def ? x->def->block : x->block;
   if (block != hint->block)
      return;
   TlOp *place = x->def ? x->def->next : block->first;
   if (place != hint)
      tl_move_before(hint, place);
   tl_replace_uses(x, result->value);
   tl_set_arg(hint, 0, x);
   tl_assign(s, f, tl_ast_Call(value)->args.data[0], *result);
}

/* Operations behind `before` that do no more than make a value; a hint is one that is kept. */
static bool
is_idle(const TlBlock *block, const TlOp *before)
{
   for (const TlOp *op = before ? before->next : block->first; op; op = op->next) {
      bool is_load = op->opcode == TL_OP_LOAD && !tl_attr_int(op, TL_ATTR_VOLATILE);
      if (op->opcode == TL_OP_HINT || !(is_load || tl_op_is_pure(op)))
         return false;
   }
   return true;
}

/* tl.advance(p, (0, 64)): tiles and pointers never change, a function gives a new one. */
static void
check_call_used(TlSema *s, TlFrame *f, const TlNode *call, const TlSv *result)
{
   const TlNode *callee = tl_ast_Call(call)->func;
   const char *name = tl_decorator_name(callee);
   TlSv fn = tl_quiet_value(s, f, callee, NULL);
   bool is_value = result->kind == TL_SV_VALUE || result->kind == TL_SV_BLOCKPTR ||
                   (result->kind == TL_SV_TUPLE && result->tuple->len);
   bool is_function = fn.kind == TL_SV_BUILTIN || fn.kind == TL_SV_FUNC;
   if (!is_value || !is_function || !*name || tl_is_host(f)) /* fs[0](x): of the file's own */
      return;
   tl_report(s->diags, W0200, call->range, tl_arena_printf(s->arena, "call of '%s'", name));
   tl_help(
      s->diags, "it changes nothing in place: assign what it gives, as in x = %s%s(..)",
      callee->kind == TL_AST_ATTRIBUTE
         ? tl_arena_printf(s->arena, "%.40s.", tl_node_text(s, tl_ast_Attribute(callee)->value))
         : "",
      name);
}

static void
exec_expr(TlSema *s, TlFrame *f, const TlNode *value)
{
   if (value->kind == TL_AST_STR || value->kind == TL_AST_CONST)
      return; /* docstring, `...` */
   unsigned errors = s->diags->num_errors;
   check_result_used(s, f, value);
   TlBlock *block = s->b.block;
   const TlOp *before = block ? block->last : NULL;
   TlSv v = tl_eval_expr(s, f, value);
   usable(s, f, v, value->range);
   bool does_nothing =
      s->diags->num_errors == errors && block && block == s->b.block && is_idle(block, before);
   if (value->kind == TL_AST_CALL && does_nothing)
      check_call_used(s, f, value, &v);
   keep_promise(s, f, value, &v);
   const char *what = v.kind == TL_SV_VALUE ? tl_idle_value(value) : NULL;
   if (what && (value->kind == TL_AST_COMPARE || does_nothing))
      tl_report_idle(s, value, what);
}

static void
exec_yield(TlSema *s, TlFrame *f, const TlAstYield *n)
{
   TlYields *yields = f->act->yields;
   if (!yields) {
      refuse_statement(s, f, &n->node);
      return;
   }
   TlSv v = n->value ? tl_eval_expr(s, f, n->value) : tl_sv_none(), *items = &v;
   size_t len = v.kind != TL_SV_POISON;
   if (n->is_from && len && !tl_iterate(s, &v, n->node.range, &items, &len))
      return;
   for (size_t i = 0; i < len && tl_step(s, n->node.range); i++)
      tl_vec_push(s->arena, &yields->items, items[i]);
}

static bool
is_host_only(const TlNode *n)
{
   switch (n->kind) {
   case TL_AST_CLASS:
   case TL_AST_GLOBAL:
   case TL_AST_DEL:
   case TL_AST_WITH:
   case TL_AST_TRY:
      return true;
   default:
      return false;
   }
}

static TlFlow
exec_stmt(TlSema *s, TlFrame *f, const TlNode *n, const TlCont *rest)
{
   if (!tl_is_host(f) && is_host_only(n))
      return refuse_statement(s, f, n);
   switch (n->kind) {
   case TL_AST_EXPR_STMT:
      exec_expr(s, f, tl_ast_ExprStmt(n)->value);
      return TL_FLOW_NEXT;
   case TL_AST_ASSIGN:
      exec_assign(s, f, tl_ast_Assign(n));
      return TL_FLOW_NEXT;
   case TL_AST_AUG_ASSIGN:
      exec_aug_assign(s, f, tl_ast_AugAssign(n));
      return TL_FLOW_NEXT;
   case TL_AST_ANN_ASSIGN:
      exec_ann_assign(s, f, tl_ast_AnnAssign(n));
      return TL_FLOW_NEXT;
   case TL_AST_FOR:
      return tl_stmt_for(s, f, tl_ast_For(n), rest);
   case TL_AST_WHILE:
      return tl_stmt_while(s, f, tl_ast_While(n), rest);
   case TL_AST_IF:
      return tl_stmt_if(s, f, tl_ast_If(n), rest);
   case TL_AST_MATCH:
      return tl_stmt_match(s, f, tl_ast_Match(n), rest);
   case TL_AST_RETURN:
      return exec_return(s, f, tl_ast_Return(n));
   case TL_AST_PASS:
   case TL_AST_GLOBAL:
      return TL_FLOW_NEXT;
   case TL_AST_BREAK:
   case TL_AST_CONTINUE:
      return exec_break(s, f, n);
   case TL_AST_ASSERT:
      exec_assert(s, f, tl_ast_Assert(n));
      return TL_FLOW_NEXT;
   case TL_AST_RAISE:
      exec_raise(s, f, tl_ast_Raise(n));
      f->act->ret = tl_sv_poison();
      return f->act->loops || f->act->static_loops ? TL_FLOW_CONTINUE : TL_FLOW_RETURN;
   case TL_AST_YIELD:
      exec_yield(s, f, tl_ast_Yield(n));
      return TL_FLOW_NEXT;
   case TL_AST_DEL:
      exec_del(s, f, tl_ast_Del(n));
      return TL_FLOW_NEXT;
   case TL_AST_WITH:
      return exec_with(s, f, tl_ast_With(n), rest);
   case TL_AST_TRY:
      return tl_host_try(s, f, tl_ast_Try(n));
   case TL_AST_IMPORT:
      tl_import_into(s, f, tl_ast_Import(n));
      return TL_FLOW_NEXT;
   case TL_AST_FUNCTION:
   case TL_AST_CLASS:
      exec_function(s, f, n);
      return TL_FLOW_NEXT;
   case TL_AST_SKIPPED: {
      const char *why = tl_ast_Skipped(n)->reason;
      tl_report(s->diags, E0240, n->range, why ? why : "not understood");
      return TL_FLOW_NEXT;
   }
   default:
      tl_report(s->diags, E0239, n->range, tl_ast_kind_text[n->kind]);
      return TL_FLOW_NEXT;
   }
}

static bool
has_failed(const TlSema *s, const TlFrame *f)
{
   return tl_is_host(f) && s->diags->num_errors != f->act->errors;
}

TlFlow
tl_stmt_block(TlSema *s, TlFrame *f, const TlNodeList *stmts, size_t first, const TlCont *up)
{
   TlFlow flow = TL_FLOW_NEXT;
   if (s->depth >= TL_MAX_EVAL_DEPTH) {
      if (first < stmts->len)
         tl_report(s->diags, E0228, stmts->data[first]->range, (unsigned)TL_MAX_EVAL_DEPTH);
      return flow;
   }
   s->depth++;
   for (size_t i = first; i < stmts->len && flow == TL_FLOW_NEXT; i++) {
      const TlNode *n = stmts->data[i];
      if (!n)
         continue;
      if (has_failed(s, f)) { /* Python would not go on */
         f->act->ret = tl_sv_poison();
         flow = TL_FLOW_RETURN;
         break;
      }
      if (!tl_step(s, n->range))
         break;
      TlCont rest = {stmts, i + 1, up};
      TlRange saved = s->b.range;
      s->b.range = n->range;
      flow = exec_stmt(s, f, n, &rest);
      s->b.range = saved;
   }
   s->depth--;
   if (has_failed(s, f)) {
      f->act->ret = tl_sv_poison();
      flow = TL_FLOW_RETURN;
   }
   return flow;
}

TlFlow
tl_stmt_rest(TlSema *s, TlFrame *f, const TlCont *rest)
{
   TlFlow flow = TL_FLOW_NEXT;
   for (; rest && flow == TL_FLOW_NEXT; rest = rest->up)
      flow = tl_stmt_block(s, f, rest->stmts, rest->next, rest->up);
   return flow;
}

/* ---- names that statements assign ---- */
enum { PLAIN = 1, CONSTEXPR = 2 };

static void
add_name(void *user, const TlBinding *b)
{
   TlMap *names = user;
   bool is_assigned =
      b->kind == TL_BINDS_VARIABLE || b->kind == TL_BINDS_FUNCTION || b->kind == TL_BINDS_PART;
   bool is_constexpr = b->stmt->kind == TL_AST_ANN_ASSIGN &&
                       tl_is_constexpr_annotation(tl_ast_AnnAssign(b->stmt)->annotation);
   uintptr_t old = (uintptr_t)tl_map_get(names, b->name);
   if (is_assigned)
      tl_map_put(names, b->name, (void *)(old | (is_constexpr ? CONSTEXPR : PLAIN)));
}

void
tl_assigned_names(const TlNodeList *stmts, TlMap *names)
{
   tl_each_binding(stmts, add_name, names);
}

void
tl_poison_assigned(TlSema *s, TlFrame *f, const TlNodeList *stmts, TlRange range)
{
   TlMap names;
   tl_map_init(&names, s->arena);
   tl_assigned_names(stmts, &names);
   for (size_t i = 0; i < names.cap; i++)
      if (names.slots[i].used)
         tl_frame_set(s, f, (const char *)names.slots[i].key, tl_sv_poison(), range);
}
