/* See help.h. */
#include "sema/help.h"
#include "ir/control.h"
#include "sema/impl.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

enum { MAX_DEEP = 12 };

/* ---- ranges that begin somewhere in the run ---- */
/* Do both compute the same from the same? */
static bool
is_same(const TlValue *a, const TlValue *b, unsigned deep)
{
   uint64_t x, y;
   if (a == b)
      return true;
   if (a->type != b->type)
      return false;
   if (tl_is_const(a, &x) || tl_is_const(b, &y))
      return tl_is_const(a, &x) && tl_is_const(b, &y) && x == y;
   const TlOp *p = a->def, *q = b->def;
   bool is_pure = p && q && p->opcode == q->opcode && p->num_args == q->num_args &&
                  !p->num_regions && a->index == b->index && deep < MAX_DEEP;
   if (!is_pure || p->opcode == TL_OP_LOAD || memcmp(p->attrs, q->attrs, sizeof p->attrs) != 0)
      return false;
   for (unsigned i = 0; i < p->num_args; i++)
      if (!is_same(tl_arg(p, i), tl_arg(q, i), deep + 1))
         return false;
   return true;
}

static bool
is_int_const(const TlValue *v, int64_t *out)
{
   uint64_t bits;
   if (!tl_is_const(v, &bits) || tl_type_is_tile(v->type))
      return false;
   *out = tl_bits_to_int(v->type->dtype, bits);
   return true;
}

/* a - b where it is a number whatever the run brings: of start + 64 and start, of (i + 1) * 64 and
 * i * 64. */
static bool
difference(const TlValue *a, const TlValue *b, unsigned deep, int64_t *out)
{
   int64_t n;
   *out = 0;
   if (is_same(a, b, 0))
      return true;
   const TlOp *p = a->def, *q = b->def;
   if (!p || p->num_args != 2 || deep > MAX_DEEP)
      return false;
   const TlValue *left = tl_arg(p, 0), *right = tl_arg(p, 1);
   if (p->opcode == TL_OP_MUL && q && q->opcode == TL_OP_MUL)
      for (unsigned i = 0; i < 2; i++) { /* the factor on either side */
         const TlValue *by = tl_arg(p, i), *other = tl_arg(p, 1 - i);
         for (unsigned k = 0; k < 2 && is_int_const(by, &n); k++)
            if (is_same(by, tl_arg(q, k), 0))
               return difference(other, tl_arg(q, 1 - k), deep + 1, out) &&
                      !__builtin_mul_overflow(*out, n, out);
      }
   if (p->opcode == TL_OP_SUB && is_int_const(right, &n))
      return difference(left, b, deep + 1, out) && !__builtin_sub_overflow(*out, n, out);
   if (p->opcode != TL_OP_ADD)
      return false;
   if (is_int_const(right, &n) || is_int_const(left, &n))
      return difference(is_int_const(right, &n) ? left : right, b, deep + 1, out) &&
             !__builtin_add_overflow(*out, n, out);
   return false;
}

const char *
tl_help_axis(TlSema *s, const TlValue *v, const TlType *shape)
{
   while (v->def && v->def->opcode == TL_OP_CAST)
      v = tl_arg(v->def, 0);
   const TlOp *op = v->def;
   if (!op || op->opcode != TL_OP_REDUCE || shape->rank != 1)
      return NULL;
   const TlType *table = tl_arg(op, 0)->type;
   unsigned axis = (unsigned)tl_attr_int(op, TL_ATTR_AXIS);
   if (table->rank != 2 || table->shape[axis] != shape->shape[0] ||
       table->shape[1 - axis] == shape->shape[0])
      return NULL;
   return tl_arena_printf(s->arena, "axis=%u leaves %u elements of the %ux%u; axis=%u leaves %u",
                          axis, table->shape[1 - axis], table->shape[0], table->shape[1], 1 - axis,
                          table->shape[axis]);
}

/* x[:, None] or x[None, :] that v is, or is a conversion or a multiple of; NULL: it is none. */
static const TlOp *
expanded_line(const TlValue *v)
{
   enum { MAX_DEPTH = 8 };
   const TlOp *op = v->def;
   for (unsigned i = 0; op && i < MAX_DEPTH && op->opcode != TL_OP_EXPAND_DIMS; i++) {
      uint64_t bits;
      unsigned factor = op->num_args == 2 && tl_is_const(tl_arg(op, 0), &bits);
      bool is_scaled = op->num_args == 2 && tl_is_const(tl_arg(op, !factor), &bits);
      op = op->opcode == TL_OP_CAST || is_scaled ? tl_arg(op, factor)->def : NULL;
   }
   return op && op->opcode == TL_OP_EXPAND_DIMS && tl_arg(op, 0)->type->rank == 1 ? op : NULL;
}

const char *
tl_help_other_axis(TlSema *s, const TlValue *v, unsigned rank, const uint32_t *shape)
{
   const TlOp *op = rank == 2 && v->type->rank == 2 ? expanded_line(v) : NULL;
   if (!op)
      return NULL;
   uint32_t len = tl_arg(op, 0)->type->shape[0];
   unsigned along = (unsigned)tl_attr_int(op, TL_ATTR_AXIS); /* its other dimension is the line */
   const char *other = along == 1 ? "[None, :]" : "[:, None]";
   const char *text = tl_range_text(s, op->range), *open = strrchr(text, '[');
   bool is_written = open && open > text && open - text <= 40 && !strchr(text, '\n') &&
                     strcmp(open, along == 1 ? "[:, None]" : "[None, :]") == 0;
   const TlValue *line = tl_arg(op, 0);
   while (line->def && line->def->opcode == TL_OP_CAST)
      line = tl_arg(line->def, 0);
   bool is_kept = line->def && line->def->opcode == TL_OP_REDUCE && /* sum(x, 1)[:, None] */
                  (unsigned)tl_attr_int(line->def, TL_ATTR_AXIS) == along;
   if (is_kept || (shape[along] != len && shape[along] != 1))
      return NULL;
   return tl_arena_printf(s->arena, "%.*s%s gives %s%u%s, one value for each %s",
                          is_written ? (int)(open - text) : 1, is_written ? text : "x", other,
                          along == 1 ? "1x" : "", len, along == 1 ? "" : "x1",
                          along == 1 ? "column" : "row");
}

/* Of the function that is being compiled; NULL: it has none of the name. */
static const TlAstParam *
parameter_named(TlSema *s, const char *name)
{
   const TlActivation *act = s->impl->act;
   const TlNode *fn = act && act->func ? act->func->node : NULL;
   const TlNodeList *params =
      fn && fn->kind == TL_AST_FUNCTION ? &tl_ast_Function(fn)->params : NULL;
   for (size_t i = 0; params && i < params->len; i++) {
      const TlAstParam *p = tl_ast_Param(params->data[i]);
      if (p->name && strcmp(p->name, name) == 0)
         return p;
   }
   return NULL;
}

/* A constexpr parameter of the kernel, which a line of it has set to a number of the run. */
const char *
tl_help_set_constexpr(TlSema *s, TlRange range)
{
   const char *name = tl_range_text(s, range);
   const TlAstParam *p = parameter_named(s, name);
   if (!p || !tl_is_constexpr_annotation(p->annotation))
      return NULL;
   return tl_arena_printf(s->arena,
                          "'%.40s' is constexpr, and a run-time 'if' or loop gives it another "
                          "value: set another name there; a size does not change in a run, a "
                          "mask cuts it",
                          name);
}

/* How a function uses a constexpr besides as the length of a tile. */
typedef struct LengthUses {
   const char *name;  /* of the constexpr */
   TlRange arange;    /* the call */
   const char *tile;  /* what its result is called; NULL: nothing */
   bool is_of_arange; /* the statement that is looked at has the call in it */
   bool is_size;      /* .. so that it is the size of the data, and has to stay: c < D, sum / D */
} LengthUses;

static bool
is_name(const TlNode *n, const char *name)
{
   return n->kind == TL_AST_NAME && strcmp(tl_ast_Name(n)->id, name) == 0;
}

/* total / D; x + row * D, where no block's own start is counted: pid * B + arange(0, B). */
static bool
is_size_in(const LengthUses *u, const TlAstBinary *b)
{
   bool is_right = is_name(b->right, u->name);
   if (b->op == TL_AST_OP_MUL)
      return (is_right || is_name(b->left, u->name)) && !u->is_of_arange;
   return is_right && b->op == TL_AST_OP_DIV;
}

static void
find_size(void *user, TlNode *n)
{
   LengthUses *u = user;
   bool is_product = false, was_of_arange = u->is_of_arange;
   if (n->kind == TL_AST_ASSIGN) {
      const TlAstAssign *a = tl_ast_Assign(n);
      const TlNode *value = a->value, *target = a->targets.data[0];
      u->is_of_arange = tl_range_is_within(u->arange, n->range);
      if (u->is_of_arange && tl_range_is_within(value->range, u->arange) &&
          target->kind == TL_AST_NAME)
         u->tile = tl_ast_Name(target)->id;
      is_product = value->kind == TL_AST_BINARY && tl_ast_Binary(value)->op == TL_AST_OP_MUL;
   } else if (n->kind == TL_AST_EXPR_STMT) {
      u->is_of_arange = tl_range_is_within(u->arange, n->range);
   } else if (n->kind == TL_AST_BINARY) {
      u->is_size |= is_size_in(u, tl_ast_Binary(n));
   } else if (n->kind == TL_AST_COMPARE) {
      const TlAstCompare *c = tl_ast_Compare(n);
      bool is_bound =
         c->ops.len == 1 && (c->ops.data[0] == TL_AST_OP_LT || c->ops.data[0] == TL_AST_OP_GE);
      u->is_size |= is_bound && is_name(c->rights.data[0], u->name);
   }
   if (!is_product) /* start = pid * B */
      tl_ast_children(n, find_size, u);
   u->is_of_arange = was_of_arange;
}

const char *
tl_help_length(TlSema *s, const TlCall *call, int64_t power)
{
   const char *to = tl_range_text(s, tl_call_arg_range(call, 1));
   const TlAstParam *p = parameter_named(s, to);
   if (!p || !tl_is_constexpr_annotation(p->annotation))
      return NULL;
   const TlAstFunction *fn = tl_ast_Function(s->impl->act->func->node);
   LengthUses uses = {.name = to, .arange = call->range};
   for (size_t i = 0; i < fn->body.len; i++)
      find_size(&uses, fn->body.data[i]);
   if (!uses.is_size)
      return tl_arena_printf(s->arena,
                             "give '%.40s' the value %lld; a mask leaves out what lies beyond", to,
                             (long long)power);
   bool is_bare = tl_starts_with(tl_range_text(s, call->range), "arange");
   return tl_arena_printf(s->arena,
                          "'%.40s' is the size of the data, too, and stays %lld: %sarange(0, "
                          "%snext_power_of_2(%.40s)), of length %lld, and loads and stores with "
                          "the mask %.40s < %.40s",
                          to, (long long)call->args[1].i, is_bare ? "" : "tl.",
                          is_bare ? "" : "triton.", to, (long long)power,
                          uses.tile ? uses.tile : "offsets", to);
}

/* BLOCK_SIZE, as constants are written. */
static bool
is_upper_case(const char *name)
{
   bool has_letter = false;
   for (const char *p = name; *p; p++) {
      if (islower((unsigned char)*p))
         return false;
      has_letter |= isupper((unsigned char)*p) != 0;
   }
   return has_letter && name[1];
}

const char *
tl_help_arange(TlSema *s, const TlCall *call)
{
   const TlSv *start = &call->args[0], *end = &call->args[1];
   const char *from = tl_range_text(s, tl_call_arg_range(call, 0));
   const char *to = tl_range_text(s, tl_call_arg_range(call, 1));
   const char *set =
      end->kind == TL_SV_VALUE ? tl_help_set_constexpr(s, tl_call_arg_range(call, 1)) : NULL;
   if (set)
      return set;
   bool starts_in_run = start->kind == TL_SV_VALUE, ends_in_run = end->kind == TL_SV_VALUE;
   bool is_scalar = (!starts_in_run || start->value->type->kind == TL_TYPE_SCALAR) &&
                    (!ends_in_run || end->value->type->kind == TL_TYPE_SCALAR);
   int64_t len, power = 1;
   if ((!starts_in_run && !ends_in_run) || !is_scalar)
      return NULL;
   if (ends_in_run && is_upper_case(to) && parameter_named(s, to))
      return tl_arena_printf(s->arena,
                             "the size of a tile is a constant: declare the parameter "
                             "%.40s: tl.constexpr",
                             to);
   bool has_len = starts_in_run && ends_in_run && difference(end->value, start->value, 0, &len) &&
                  len > 0 && len <= TL_MAX_TILE_ELEMS;
   while (has_len && power < len)
      power *= 2;
   size_t begin = strlen(from);
   const char *name =
      strncmp(to, from, begin) == 0 && strncmp(to + begin, " + ", 3) == 0 ? to + begin + 3 : "";
   if (has_len && power == len && is_upper_case(name) && parameter_named(s, name))
      return tl_arena_printf(s->arena,
                             "the bounds are constants, and what the run decides is added: %.60s + "
                             "tl.arange(0, %.40s)",
                             from, name);
   if (has_len)
      return tl_arena_printf(
         s->arena,
         "the bounds are constants, and what the run decides is added: %.60s + "
         "tl.arange(0, %lld)%s",
         from, (long long)power,
         power > len ? ", whose length is a power of two: a mask leaves the rest out" : "");
   if (starts_in_run)
      return tl_arena_printf(s->arena,
                             "the bounds are constants, and what the run decides is added: %.60s + "
                             "tl.arange(0, BLOCK) with a parameter BLOCK: tl.constexpr%s%.40s",
                             from, ends_in_run ? ", and a mask: offsets < " : "",
                             ends_in_run ? to : "");
   int64_t zero;
   bool is_from_zero = tl_sv_const_int(start, &zero) && zero == 0;
   return tl_arena_printf(
      s->arena,
      "the size of a tile is a constant: tl.arange(%.40s, %sBLOCK) with a parameter BLOCK: "
      "tl.constexpr, and a mask for what lies beyond: offsets < %.40s",
      from, is_from_zero ? "" : tl_arena_printf(s->arena, "%.40s + ", from), to);
}

const TlValue *
tl_value_named(const TlBlock *in, const char *name)
{
   while (in) {
      for (const TlOp *op = in->last; op; op = op->prev)
         for (uint32_t i = 0; i < op->num_results; i++) {
            const TlValue *v = tl_result(op, i);
            if (v->name && strcmp(v->name, name) == 0)
               return v;
         }
      for (uint32_t i = 0; i < in->num_args; i++)
         if (in->args[i]->name && strcmp(in->args[i]->name, name) == 0)
            return in->args[i];
      in = in->region->parent ? in->region->parent->block : NULL;
   }
   return NULL;
}

/* ---- fractions ---- */
/* A whole number, or an integer that `/` has converted; copies of one are none the less. */
static bool
is_whole(const TlValue *v)
{
   double x;
   while (v->def && (v->def->opcode == TL_OP_SPLAT || v->def->opcode == TL_OP_BROADCAST ||
                     v->def->opcode == TL_OP_EXPAND_DIMS))
      v = tl_arg(v->def, 0);
   if (tl_is_number(v, &x))
      return x == floor(x);
   return v->def && v->def->opcode == TL_OP_CAST &&
          tl_dtype_is_int(tl_value_dtype(tl_arg(v->def, 0)));
}

static const TlOp *quotient_in(const TlValue *v, unsigned *steps);

/* What a loop carries is what it was entered with. */
static const TlOp *
quotient_before_loop(const TlValue *carried, unsigned *steps)
{
   const TlOp *loop =
      carried->block && carried->block->region ? carried->block->region->parent : NULL;
   if (!loop || !tl_is_loop(loop) || carried->index < tl_first_carried(loop))
      return NULL;
   unsigned init = tl_first_init(loop) + carried->index - tl_first_carried(loop);
   const TlValue *v = init < loop->num_args ? tl_arg(loop, init)
                      : carried->name       ? tl_value_named(loop->block, carried->name)
                                            : NULL; /* of a loop that is not built to its end */
   return quotient_in(v, steps);
}

static const TlOp *
quotient_of_branches(const TlValue *v, unsigned *steps)
{
   const TlOp *found = NULL;
   for (unsigned r = 0; !found && r < v->def->num_regions; r++) {
      const TlOp *yield = v->def->regions[r]->block->last;
      if (yield && yield->opcode == TL_OP_YIELD && v->index < yield->num_args)
         found = quotient_in(tl_arg(yield, v->index), steps);
   }
   return found;
}

/* The division of whole numbers that a float comes from; NULL: it has another cause. */
static const TlOp *
quotient_in(const TlValue *v, unsigned *steps)
{
   enum { MAX_STEPS = 200 };
   const TlType *elem = v ? tl_type_elem(v->type) : NULL;
   if (!v || elem->kind != TL_TYPE_SCALAR || !tl_dtype_is_float(elem->dtype) ||
       ++*steps > MAX_STEPS)
      return NULL;
   const TlOp *op = v->def, *found = NULL;
   if (!op)
      return quotient_before_loop(v, steps);
   if (op->opcode == TL_OP_DIV && is_whole(tl_arg(op, 0)) && is_whole(tl_arg(op, 1)))
      return op;
   if (op->opcode == TL_OP_LOAD)
      return NULL;
   if (op->opcode == TL_OP_IF)
      return quotient_of_branches(v, steps);
   if (tl_is_loop(op))
      return tl_first_init(op) + v->index < op->num_args
                ? quotient_in(tl_arg(op, tl_first_init(op) + v->index), steps)
                : NULL;
   for (unsigned i = 0; !found && i < op->num_args; i++)
      found = quotient_in(tl_arg(op, i), steps);
   return found;
}

/* Do constants alone make it a float? */
static bool
is_float_by_constants(const TlValue *v, unsigned *steps)
{
   enum { MAX_STEPS = 200 };
   uint64_t bits;
   const TlOp *op = v->def;
   const TlType *elem = tl_type_elem(v->type);
   if (tl_is_const(v, &bits) || (elem->kind == TL_TYPE_SCALAR && tl_dtype_is_int(elem->dtype)))
      return true;
   bool is_of_fractions = op && op->opcode == TL_OP_DIV; /* of whole ones it was found before */
   if (!op || op->num_regions || op->opcode == TL_OP_LOAD || is_of_fractions ||
       ++*steps > MAX_STEPS)
      return false;
   for (unsigned i = 0; i < op->num_args; i++)
      if (!is_float_by_constants(tl_arg(op, i), steps))
         return false;
   return true;
}

typedef struct Division { /* as it is written */
   TlRange within;        /* whose names count */
   const TlNode *names[MAX_DEEP], *found;
   unsigned num_names;
} Division;

static void
find_division(void *user, TlNode *n)
{
   Division *d = user;
   bool is_within = n->range.begin >= d->within.begin && n->range.end <= d->within.end;
   if (n->range.end <= d->within.begin || n->range.begin >= d->within.end || d->found)
      return;
   if (is_within && n->kind == TL_AST_BINARY && tl_ast_Binary(n)->op == TL_AST_OP_DIV)
      d->found = n;
   else if (is_within && n->kind == TL_AST_NAME && d->num_names < MAX_DEEP)
      d->names[d->num_names++] = n;
   else
      tl_ast_children(n, find_division, d);
}

typedef struct LastSetting {
   const char *name;
   uint32_t before;
   const TlNode *value;
} LastSetting;

static void
find_last_setting(void *user, TlNode *n)
{
   LastSetting *f = user;
   const TlAstAnnAssign *typed = n->kind == TL_AST_ANN_ASSIGN ? tl_ast_AnnAssign(n) : NULL;
   if (typed && typed->value && n->range.begin < f->before && typed->target->kind == TL_AST_NAME &&
       strcmp(tl_ast_Name(typed->target)->id, f->name) == 0)
      f->value = typed->value;
   const TlAstAssign *a = n->kind == TL_AST_ASSIGN ? tl_ast_Assign(n) : NULL;
   for (size_t i = 0; a && n->range.begin < f->before && i < a->targets.len; i++) {
      const TlNode *t = a->targets.data[i];
      if (t->kind == TL_AST_NAME && strcmp(tl_ast_Name(t)->id, f->name) == 0)
         f->value = a->value;
   }
   tl_ast_children(n, find_last_setting, f);
}

/* half = BLOCK / 2, which compiling has made a number already: the division that is written at the
 * place, or where a name there was set. */
static const TlNode *
written_quotient(TlSema *s, const TlValue *v, TlRange at)
{
   const TlActivation *act = s->impl->act;
   TlNode *fn = act && act->func ? (TlNode *)act->func->node : NULL;
   unsigned steps = 0;
   if (!fn || at.file != fn->range.file || (v && !is_float_by_constants(v, &steps)))
      return NULL;
   Division d = {.within = at};
   find_division(&d, fn);
   for (unsigned i = 0; i < d.num_names && !d.found; i++) {
      LastSetting f = {.name = tl_ast_Name(d.names[i])->id, .before = at.begin};
      tl_ast_children(fn, find_last_setting, &f);
      Division in = {.within = f.value ? f.value->range : at};
      if (f.value)
         find_division(&in, (TlNode *)f.value);
      d.found = in.found;
   }
   return d.found;
}

void
tl_note_quotient(TlSema *s, const TlValue *v)
{
   unsigned steps = 0;
   const TlOp *op = quotient_in(v, &steps);
   if (op)
      tl_note(s->diags, N0200, op->range, "'/' gives a fraction, '//' a whole number");
}

/* Of rounds: with a mask for the last, that one is of less than a whole. */
static const char *
rounded_up(TlSema *s, const char *text, const char *slash)
{
   const char *end = slash;
   while (end > text && end[-1] == ' ')
      end--;
   slash++;
   return tl_arena_printf(s->arena, "; with a last round that a mask cuts off tl.cdiv(%.*s, %s)",
                          (int)(end - text), text, slash + strspn(slash, " "));
}

bool
tl_help_quotient(TlSema *s, const TlValue *v, TlRange at)
{
   unsigned steps = 0;
   const TlOp *op = v ? quotient_in(v, &steps) : NULL;
   const TlNode *written = op ? NULL : written_quotient(s, v, at);
   if (!op && !written)
      return false;
   TlRange found = op ? op->range : written->range;
   const char *text = tl_range_text(s, found), *slash = strchr(text, '/');
   bool is_stop = s->diags->last && strstr(s->diags->last->text, "'stop' of ");
   bool is_within = found.file == at.file && at.begin <= found.begin && found.end <= at.end;
   if (!slash || strchr(slash + 1, '/') || strlen(text) > 60)
      tl_help(s->diags, "'/' gives a fraction, '//' a whole number");
   else
      tl_help(s->diags, "'/' gives a fraction, '//' a whole number: %.*s/%s%s", (int)(slash - text),
              text, slash, is_stop ? rounded_up(s, text, slash) : "");
   if (!is_within)
      tl_note(s->diags, N0200, found, "the fraction comes of this '/'");
   return true;
}

/* ---- shapes ---- */
const char *
tl_help_transposed(TlSema *s, const TlType *tile, unsigned rank, const uint32_t *shape,
                   const char *text)
{
   bool is_named = *text && strlen(text) <= 40 && !strpbrk(text, "\n=,");
   const char *x = is_named ? text : "x";
   TlSb order;
   bool used[TL_MAX_RANK] = {0};
   if (tile->rank != rank || rank < 2)
      return NULL;
   tl_sb_init(&order, s->arena);
   for (unsigned d = 0; d < rank; d++) {
      unsigned from = 0;
      while (from < rank && (used[from] || tile->shape[from] != shape[d]))
         from++;
      if (from == rank)
         return NULL;
      used[from] = true;
      tl_sb_printf(&order, "%s%u", d ? ", " : "", from);
   }
   size_t len = strlen(x), before = strncmp(x, "tl.", 3) == 0 ? 3 : 0;
   if (rank == 2 && is_named && strncmp(x + before, "trans(", 6) == 0 && x[len - 1] == ')' &&
       strchr(x, ')') == x + len - 1)
      return tl_arena_printf(s->arena,
                             "rows and columns are exchanged: they fit as they are before 'trans' "
                             "turns them, %.*s",
                             (int)(len - before - 7), x + before + 6);
   if (rank == 2)
      return tl_arena_printf(s->arena, "rows and columns are exchanged: tl.trans(%s) turns it", x);
   return tl_arena_printf(s->arena, "its dimensions come in another order: tl.permute(%s, (%s))", x,
                          tl_sb_cstr(&order));
}

const char *
tl_help_exchanged(TlSema *s, const TlValue *a, const TlValue *b, unsigned rank,
                  const uint32_t *shape)
{
   const TlType *x = a->type, *y = b->type;
   if (rank < 2 || x->rank != rank || y->rank != rank || x->shape[rank - 2] != y->shape[rank - 1] ||
       y->shape[rank - 2] != shape[rank - 2] || x->shape[rank - 1] != shape[rank - 1] ||
       tl_type_same_shape(x, y))
      return NULL;
   return tl_arena_printf(s->arena,
                          "the operands of 'dot' are exchanged: dot(right, left) of these two has "
                          "the shape %s",
                          tl_shape_text(s, rank, shape));
}

const char *
tl_help_factors(TlSema *s, const TlValue *v, unsigned rank, const uint32_t *shape)
{
   const TlOp *op = v->def;
   return op && op->opcode == TL_OP_DOT
             ? tl_help_exchanged(s, tl_arg(op, 0), tl_arg(op, 1), rank, shape)
             : NULL;
}

const char *
tl_help_dot_order(TlSema *s, const TlCall *call)
{
   enum { ACC, LEFT, RIGHT };
   const TlType *type[3];
   for (unsigned i = 0; i < 3; i++) {
      if (call->args[i].kind != TL_SV_VALUE || !tl_type_is_tile(call->args[i].value->type))
         return NULL;
      type[i] = call->args[i].value->type;
   }
   TlDtype operand = type[LEFT]->elem->kind == TL_TYPE_SCALAR ? type[LEFT]->elem->dtype : TL_I1;
   TlDtype result = tl_dtype_is_int(operand) ? TL_I32 : operand == TL_FP64 ? TL_FP64 : TL_FP32;
   unsigned r = type[ACC]->rank;
   if (r < 2 || type[LEFT]->rank != r || type[RIGHT]->rank != r ||
       type[LEFT]->elem != type[RIGHT]->elem || type[ACC]->elem != tl_scalar(s, result) ||
       type[LEFT]->shape[r - 1] != type[RIGHT]->shape[r - 2] ||
       type[ACC]->shape[r - 2] != type[LEFT]->shape[r - 2] ||
       type[ACC]->shape[r - 1] != type[RIGHT]->shape[r - 1])
      return NULL;
   const char *text[3];
   for (unsigned i = 0; i < 3; i++)
      text[i] = tl_range_text(s, tl_call_arg_range(call, i));
   return tl_arena_printf(s->arena,
                          "the accumulator comes behind the operands: tl.dot(%.40s, %.40s, %.40s)",
                          text[LEFT], text[RIGHT], text[ACC]);
}

const char *
tl_help_parameter(TlSema *s, const TlValue *v)
{
   for (unsigned deep = 0; v->def && deep < MAX_DEEP; deep++) {
      TlOpcode op = v->def->opcode;
      if (op != TL_OP_ADD && op != TL_OP_SPLAT && op != TL_OP_BROADCAST && op != TL_OP_CAST)
         return NULL;
      v = tl_arg(v->def, 0);
   }
   bool is_parameter = !v->def && v->block && v->block->region && !v->block->region->parent;
   if (!is_parameter || !v->name || v->type->kind != TL_TYPE_SCALAR)
      return NULL;
   const char *dtype = tl_dtype_info[v->type->dtype].text;
   if (s->impl->short_signature)
      return tl_arena_printf(s->arena, "'%s' is a number, %s: %s", v->name, dtype,
                             s->impl->short_signature);
   if (tl_dtype_info[v->type->dtype].bits == 64 && tl_dtype_is_int(v->type->dtype))
      return tl_arena_printf(
         s->arena,
         "'%s' is a number, %s, and no pointer: a launch passes the tensor itself, x, not "
         "x.data_ptr(); in a signature the type of an array is that of its elements, *fp32",
         v->name, dtype);
   return tl_arena_printf(
      s->arena,
      "'%s' is a number, %s, and no pointer: of an array the parameter's type is *%s, and x + "
      "offsets are the addresses of its elements",
      v->name, dtype, dtype);
}

const char *
tl_help_list(TlSema *s, const TlSvTuple *list)
{
   bool is_counted = list->is_list && list->len > 1, has_pointer = false;
   for (size_t i = 0; is_counted && i < list->len; i++) {
      const TlSv *v = &list->items[i];
      const TlValue *x = v->kind == TL_SV_VALUE ? v->value : NULL;
      is_counted = v->kind == TL_SV_INT || (x && !tl_type_is_tile(x->type));
      has_pointer |= x && x->type->kind == TL_TYPE_PTR;
   }
   if (!is_counted)
      return NULL;
   if (has_pointer)
      return tl_arena_printf(s->arena,
                             "a list is no tile; addresses are a pointer parameter plus offsets: "
                             "x + tl.arange(0, %zu)",
                             list->len);
   return tl_arena_printf(
      s->arena,
      "a list is no tile: tl.arange(0, %zu) makes %zu indices at once, and what "
      "is computed with it, such as start + tl.arange(0, %zu), goes for each of "
      "them",
      list->len, list->len, list->len);
}

void
tl_report_warps(TlSema *s, TlRange range, int64_t warps)
{
   tl_report(s->diags, E0404, range, (unsigned)warps);
   if (warps > 32 && warps <= 1024 && (warps & (warps - 1)) == 0)
      tl_help(s->diags, "a warp is 32 threads: %u threads are num_warps=%u", (unsigned)warps,
              (unsigned)warps / 32);
}

const TlValue *
tl_help_inverted(const TlValue *v)
{
   const TlOp *op = v->def;
   const TlType *e = tl_type_elem(v->type);
   uint64_t bits;
   bool is_number = e->kind == TL_TYPE_SCALAR && tl_dtype_is_int(e->dtype) && e->dtype != TL_I1;
   if (!op || op->opcode != TL_OP_XOR || !is_number || !tl_is_const(tl_arg(op, 1), &bits))
      return NULL;
   return bits == tl_int_to_bits(e->dtype, -1) ? tl_arg(op, 0) : NULL;
}

bool
tl_help_difference(TlSema *s, const TlValue *x, TlRange asked)
{
   const TlType *e = tl_type_elem(x->type);
   bool is_unsigned = e->kind == TL_TYPE_SCALAR && tl_dtype_is_int(e->dtype) && e->dtype != TL_I1 &&
                      !tl_dtype_is_signed(e->dtype);
   if (!is_unsigned || !x->def || x->def->opcode != TL_OP_SUB)
      return false;
   const TlDtypeInfo *info = &tl_dtype_info[e->dtype];
   tl_report(s->diags, W0365, asked, tl_range_text(s, asked), info->text);
   tl_help(s->diags,
           "convert both before, x.to(tl.int%u), or subtract the smaller from the larger: "
           "tl.maximum(a, b) - tl.minimum(a, b)",
           info->bits < 32 ? 32 : 64);
   return true;
}

const char *
tl_help_of_run(TlSema *s, const TlCall *c, const char *name)
{
   const TlBuiltinRow *row = (const TlBuiltinRow *)tl_builtin_find(TL_NS_TL, name);
   const char *text = tl_range_text(s, tl_call_arg_range(c, 0));
   bool is_plain = !text[strcspn(text, " +-*/%&|^~<>=\n")];
   const TlValue *v = c->args[0].kind == TL_SV_VALUE ? c->args[0].value : NULL;
   const TlType *elem = v ? tl_type_elem(v->type) : NULL;
   if (c->num_args != 1 || !elem || elem->kind != TL_TYPE_SCALAR || strlen(text) > 40)
      return tl_arena_printf(s->arena, "of a value of the run it is tl.%s", name);
   bool is_converted = (row->takes & TL_TAKES_FLOAT) && !tl_dtype_is_float(elem->dtype);
   const char *open = is_converted && !is_plain ? "(" : "", *close = *open ? ")" : "";
   return tl_arena_printf(s->arena,
                          "of a value of the run it is tl.%s(%s%s%s%s); '%s', %s, is known when "
                          "the kernel runs",
                          name, open, text, close, is_converted ? ".to(tl.float32)" : "", text,
                          tl_type_cstr(s->arena, v->type));
}
