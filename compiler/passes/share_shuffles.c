/* Lanes that exchange a value in several forms exchange it once, and make the forms of what comes:
 *
 *    %a = mul %y, %f    %b = shfl %a, 1      // becomes  %z = shfl %y, 1
 *    %c = mul %y, %g    %d = shfl %c, 1      //          %b = mul %z, %g
 *                                            //          %d = mul %z, %f
 *
 * where %f is (lane & 1) and %g is 1 - (lane & 1): what one lane has as %f the other has as %g.
 * Sorts written as sums of a tile times masks (left = sum(y * (1 - m)), right = sum(y * m)) give
 * each word away twice otherwise.  The numbers are one register of a thread (%f is a pick or a
 * splat of it) and made of the lane's index, so that they are known of every lane.  The bits are
 * those of before, whatever the operation.
 * Refused: operations that cost more than an exchange; numbers whose other lane's value no form has
 * at hand, as it would take a register for as long as these lanes are used; exchanges whose lane is
 * another one for each register.
 * Each rewrite leaves one form less that is exchanged, so it ends. */
#include "ir/walk.h"
#include "passes/pass.h"

#include <assert.h>
#include <string.h>

enum { LANES = 32, MOST_NUMBERS = 64, MOST_USES = 64, MAX_DEPTH = 8 };

/* An exchange made already. */
typedef struct Made {
   TlOp *op;
   struct Made *next; /* of the same value */
} Made;

/* A number that forms have, and what it is in each lane. */
typedef struct Number {
   TlValue *value;
   TlBits of_lane[LANES];
} Number;

typedef struct Share {
   TlArena *arena;
   TlMap made; /* value -> newest Made */
   Number number[MOST_NUMBERS];
   unsigned num_numbers;
} Share;

/* A value in one of its forms: op(word, f), where f is the same number in all registers. */
typedef struct Form {
   TlOp *op;
   TlValue *word, *number;
   unsigned at; /* operand of the number */
} Form;

static TlValue *
one_number(const TlValue *v)
{
   if (!tl_value_is(v, TL_OP_PICK) && !tl_value_is(v, TL_OP_SPLAT))
      return NULL;
   TlValue *of = tl_arg(v->def, 0);
   return v->def->num_args == 1 && of->type->kind == TL_TYPE_SCALAR ? of : NULL;
}

static bool
is_cheap(const TlOp *op)
{
   switch (op->opcode) {
   case TL_OP_ADD:
   case TL_OP_SUB:
   case TL_OP_MUL:
   case TL_OP_AND:
   case TL_OP_OR:
   case TL_OP_XOR:
   case TL_OP_MIN:
   case TL_OP_MAX:
      return true;
   default:
      return false;
   }
}

static bool
find_form(const TlValue *v, Form *form)
{
   TlOp *op = v->def;
   if (!op || v->type->kind != TL_TYPE_REGS || !is_cheap(op))
      return false;
   for (unsigned at = 0; at < 2; at++) {
      TlValue *number = one_number(tl_arg(op, at)), *word = tl_arg(op, 1 - at);
      if (number && word->type == v->type && !one_number(word)) {
         *form = (Form){op, word, number, at};
         return true;
      }
   }
   return false;
}

/* ---- what numbers are in each lane ---- */
static bool
eval_in_lane(const TlValue *v, unsigned lane, unsigned depth, TlBits *bits)
{
   enum { MAX_ARGS = 3 };
   TlBits args[MAX_ARGS];
   TlDtype dtypes[MAX_ARGS];
   const TlOp *op = v->def;
   if (tl_is_const(v, bits))
      return true;
   if (tl_value_is(v, TL_OP_LANE_ID)) {
      *bits = lane;
      return true;
   }
   if (!op || depth == MAX_DEPTH || v->type->kind != TL_TYPE_SCALAR || op->num_args > MAX_ARGS ||
       !tl_has_trait(op, TL_TRAIT_ELTWISE))
      return false;
   for (unsigned i = 0; i < op->num_args; i++) {
      const TlValue *arg = tl_arg(op, i);
      if (arg->type->kind != TL_TYPE_SCALAR || !eval_in_lane(arg, lane, depth + 1, &args[i]))
         return false;
      dtypes[i] = arg->type->dtype;
   }
   bool undefined = false;
   *bits = tl_eval(op->opcode, op->attrs, v->type->dtype, dtypes, args, &undefined);
   return !undefined;
}

static const Number *
find_number(const Share *s, const TlValue *v)
{
   for (unsigned i = 0; i < s->num_numbers; i++)
      if (s->number[i].value == v)
         return &s->number[i];
   return NULL;
}

static void
learn_number(Share *s, TlValue *v)
{
   if (s->num_numbers == MOST_NUMBERS || find_number(s, v))
      return;
   Number *n = &s->number[s->num_numbers];
   n->value = v;
   for (unsigned lane = 0; lane < LANES; lane++)
      if (!eval_in_lane(v, lane, 0, &n->of_lane[lane]))
         return;
   s->num_numbers++;
}

/* What is here what `v` is in the lane that the exchange names, or NULL. */
static TlValue *
number_there(const Share *s, const TlOp *shfl, const TlValue *v)
{
   TlBits lane_xor, there[LANES];
   const Number *n = find_number(s, v);
   if (!n || tl_attr_int(shfl, TL_ATTR_SHFL) != TL_SHFL_BFLY ||
       !tl_is_const(tl_arg(shfl, 1), &lane_xor) || lane_xor >= LANES)
      return NULL;
   for (unsigned lane = 0; lane < LANES; lane++)
      there[lane] = n->of_lane[lane ^ lane_xor];
   for (unsigned i = 0; i < s->num_numbers; i++)
      if (s->number[i].value->type == v->type && tl_value_dominates(s->number[i].value, shfl) &&
          memcmp(there, s->number[i].of_lane, sizeof there) == 0)
         return s->number[i].value;
   return NULL;
}

/* ---- exchanges ---- */
static bool
is_alike(const TlOp *a, const TlOp *b)
{
   return b->opcode == TL_OP_SHFL && a->block == b->block && tl_arg(a, 1) == tl_arg(b, 1) &&
          tl_attr_int(a, TL_ATTR_SHFL) == tl_attr_int(b, TL_ATTR_SHFL) &&
          tl_attr_int(a, TL_ATTR_WIDTH) == tl_attr_int(b, TL_ATTR_WIDTH);
}

/* Is the word exchanged in another form that can be made of what comes? */
static bool
has_company(const Share *s, const TlOp *shfl, const Form *form)
{
   unsigned n = 0;
   for (const TlUse *use = form->word->uses; use && n < MOST_USES; use = use->next, n++) {
      Form other;
      if (use->user == form->op || use->user->num_results != 1 ||
          !find_form(tl_result(use->user, 0), &other) || other.word != form->word ||
          !number_there(s, shfl, other.number))
         continue;
      for (const TlUse *u = tl_result(use->user, 0)->uses; u; u = u->next)
         if (is_alike(shfl, u->user))
            return true;
   }
   return false;
}

static TlOp *
find_made(const Share *s, const TlOp *shfl, const TlValue *word)
{
   for (const Made *m = tl_map_get(&s->made, word); m; m = m->next)
      if (is_alike(shfl, m->op))
         return m->op;
   return NULL;
}

static TlValue *
exchange(Share *s, TlBuilder *b, const TlOp *shfl, TlValue *word)
{
   Made *m = tl_new(s->arena, Made);
   TlMap there;
   tl_map_init(&there, s->arena);
   tl_map_put(&there, tl_arg(shfl, 0), word);
   *m = (Made){tl_clone_op(b, shfl, &there), tl_map_get(&s->made, word)};
   tl_map_put(&s->made, word, m);
   return tl_result(m->op, 0);
}

static bool
share(Share *s, TlOp *shfl)
{
   Form form;
   if (shfl->opcode != TL_OP_SHFL || !find_form(tl_arg(shfl, 0), &form))
      return false;
   TlValue *number = number_there(s, shfl, form.number);
   TlOp *made = find_made(s, shfl, form.word);
   if (!number || (!made && !has_company(s, shfl, &form)))
      return false;
   TlBuilder b = tl_builder_before(shfl);
   TlValue *all = tl_arg(form.op, form.at);
   TlMap there;
   tl_map_init(&there, s->arena);
   tl_map_put(&there, all, tl_t1(&b, TL_OP_SPLAT, all->type, number));
   tl_map_put(&there, form.word, made ? tl_result(made, 0) : exchange(s, &b, shfl, form.word));
   tl_replace_uses(tl_result(shfl, 0), tl_result(tl_clone_op(&b, form.op, &there), 0));
   tl_remove(shfl);
   return true;
}

bool
tl_pass_share_shuffles(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LOWERED);
   Share *s = tl_new(cx->scratch, Share);
   s->arena = cx->scratch;
   tl_map_init(&s->made, cx->scratch);
   bool changed = false;
   const TlBlock *body = f->body->block;
   for (TlOp *op = tl_walk_inner(body); op; op = tl_walk_inner_next(op, body)) {
      Form form;
      if (op->opcode == TL_OP_SHFL && find_form(tl_arg(op, 0), &form))
         learn_number(s, form.number);
   }
   for (TlOp *op = tl_walk_inner(body), *next; op && s->num_numbers; op = next) {
      next = tl_walk_inner_next(op, body);
      changed |= share(s, op);
   }
   return changed;
}
