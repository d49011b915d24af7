/* Every grammar form by its printed tree, walker order, ranges. */
#include "fixture.h"

static const struct {
   const char *text, *tree; /* tree: children of the module on one line */
} form[] = {
   {"a + b * c - d",
    "body: expr_stmt (value: binary op='-' (left: binary op='+' (left: name id=a, "
    "right: binary op='*' (left: name id=b, right: name id=c)), right: name id=d))"},
   {"(a + b) * c", "body: expr_stmt (value: binary op='*' (left: binary op='+' (left: name id=a, "
                   "right: name id=b), right: name id=c))"},
   {"-a ** -b", "body: expr_stmt (value: unary op='-' (operand: binary op='**' (left: name id=a, "
                "right: unary op='-' (operand: name id=b))))"},
   {"a @ b // c % d << 1 >> 2 & 3 | 4 ^ ~5",
    "body: expr_stmt (value: binary op='|' (left: binary op='&' (left: binary op='>>' "
    "(left: binary op='<<' (left: binary op='%' (left: binary op='//' (left: binary "
    "op='@' (left: name id=a, right: name id=b), right: name id=c), right: name id=d), "
    "right: int value=1), right: int value=2), right: int value=3), right: binary "
    "op='^' (left: int value=4, right: unary op='~' (operand: int value=5))))"},
   {"a < b <= c != d",
    "body: expr_stmt (value: compare ops='<','<=','!=' (left: name id=a, rights: name "
    "id=b, rights: name id=c, rights: name id=d))"},
   {"(a < b) < c",
    "body: expr_stmt (value: compare ops='<' (left: compare ops='<' (left: name id=a, "
    "rights: name id=b), rights: name id=c))"},
   {"a in b not in c is not d",
    "body: expr_stmt (value: compare ops='in','not in','is not' (left: name id=a, "
    "rights: name id=b, rights: name id=c, rights: name id=d))"},
   {"not a and b or c",
    "body: expr_stmt (value: boolop op='or' (left: boolop op='and' (left: unary op='not' "
    "(operand: name id=a), right: name id=b), right: name id=c))"},
   {"a if b else c if d else e",
    "body: expr_stmt (value: conditional (test: name id=b, then_value: name id=a, "
    "else_value: conditional (test: name id=d, then_value: name id=c, else_value: "
    "name id=e)))"},
   {"lambda: 0", "body: expr_stmt (value: lambda (body: int value=0))"},
   {"lambda x, y=1, *a, **k: x + y",
    "body: expr_stmt (value: lambda (params: param kind='plain' name=x, params: param "
    "kind='plain' name=y (default_value: int value=1), params: param kind='*' name=a, "
    "params: param kind='**' name=k, body: binary op='+' (left: name id=x, right: "
    "name id=y)))"},
   {"lambda x, /, *, z: z",
    "body: expr_stmt (value: lambda (params: param kind='plain' name=x, params: param "
    "kind='/,', params: param kind='*,', params: param kind='plain' name=z, body: "
    "name id=z))"},
   {"f()", "body: expr_stmt (value: call (func: name id=f))"},
   {"f(a, *b, k=c, **d)",
    "body: expr_stmt (value: call (func: name id=f, args: name id=a, args: starred "
    "(value: name id=b), args: keyword name=k (value: name id=c), args: keyword (value: "
    "name id=d)))"},
   {"f(x for x in y)",
    "body: expr_stmt (value: call (func: name id=f, args: comprehension kind='generator' "
    "(value: name id=x, clauses: comp_for (target: name id=x, iter: name id=y))))"},
   {"f(a, x := 1)", "body: expr_stmt (value: call (func: name id=f, args: name id=a, args: walrus "
                    "(target: name id=x, value: int value=1)))"},
   {"a.b.c(d)[e].f",
    "body: expr_stmt (value: attribute name=f (value: subscript (value: call (func: "
    "attribute name=c (value: attribute name=b (value: name id=a)), args: name id=d), "
    "indices: name id=e)))"},
   {"a[1]", "body: expr_stmt (value: subscript (value: name id=a, indices: int value=1))"},
   {"a[1,]",
    "body: expr_stmt (value: subscript is_tuple (value: name id=a, indices: int value=1))"},
   {"a[(1, 2)]", "body: expr_stmt (value: subscript (value: name id=a, indices: tuple (items: int "
                 "value=1, items: int value=2)))"},
   {"a[:, None]", "body: expr_stmt (value: subscript is_tuple (value: name id=a, indices: slice, "
                  "indices: const which='None'))"},
   {"a[1:2, ::3, ...]",
    "body: expr_stmt (value: subscript is_tuple (value: name id=a, indices: slice "
    "(lower: int value=1, upper: int value=2), indices: slice (step: int value=3), "
    "indices: const which='...'))"},
   {"a[b:c:d]", "body: expr_stmt (value: subscript (value: name id=a, indices: slice (lower: name "
                "id=b, upper: name id=c, step: name id=d)))"},
   {"()", "body: expr_stmt (value: tuple)"},
   {"(a,)", "body: expr_stmt (value: tuple (items: name id=a))"},
   {"(a, b)", "body: expr_stmt (value: tuple (items: name id=a, items: name id=b))"},
   {"[]", "body: expr_stmt (value: list)"},
   {"[a, *b]",
    "body: expr_stmt (value: list (items: name id=a, items: starred (value: name id=b)))"},
   {"[x + 1 for x in y if x if not z for w, v in x]",
    "body: expr_stmt (value: comprehension kind='list' (value: binary op='+' (left: "
    "name id=x, right: int value=1), clauses: comp_for (target: name id=x, iter: name "
    "id=y, conditions: name id=x, conditions: unary op='not' (operand: name id=z)), "
    "clauses: comp_for (target: tuple (items: name id=w, items: name id=v), iter: "
    "name id=x)))"},
   {"{}", "body: expr_stmt (value: dict)"},
   {"{a: b, **c, d: e}",
    "body: expr_stmt (value: dict (keys: name id=a, keys: null, keys: name id=d, values: "
    "name id=b, values: name id=c, values: name id=e))"},
   {"{a, b}", "body: expr_stmt (value: set (items: name id=a, items: name id=b))"},
   {"{x for x in y}",
    "body: expr_stmt (value: comprehension kind='set' (value: name id=x, clauses: "
    "comp_for (target: name id=x, iter: name id=y)))"},
   {"{k: v for k, v in d}",
    "body: expr_stmt (value: comprehension kind='dict' (key: name id=k, value: name "
    "id=v, clauses: comp_for (target: tuple (items: name id=k, items: name id=v), "
    "iter: name id=d)))"},
   {"(x for x in y)",
    "body: expr_stmt (value: comprehension kind='generator' (value: name id=x, clauses: "
    "comp_for (target: name id=x, iter: name id=y)))"},
   {"(y := 2)", "body: expr_stmt (value: walrus (target: name id=y, value: int value=2))"},
   {"None", "body: expr_stmt (value: const which='None')"},
   {"...", "body: expr_stmt (value: const which='...')"},
   {"True, False",
    "body: expr_stmt (value: tuple (items: const which='True', items: const which='False'))"},
   {"a, *b = c",
    "body: assign (targets: tuple (items: name id=a, items: starred (value: name id=b)), "
    "value: name id=c)"},
   {"a = b, c = d",
    "body: assign (targets: name id=a, targets: tuple (items: name id=b, items: name "
    "id=c), value: name id=d)"},
   {"a += 1", "body: aug_assign op='+' (target: name id=a, value: int value=1)"},
   {"a //= b", "body: aug_assign op='//' (target: name id=a, value: name id=b)"},
   {"a @= b", "body: aug_assign op='@' (target: name id=a, value: name id=b)"},
   {"x: i32", "body: ann_assign (target: name id=x, annotation: name id=i32)"},
   {"x: tl.constexpr = 4",
    "body: ann_assign (target: name id=x, annotation: attribute name=constexpr (value: "
    "name id=tl), value: int value=4)"},
   {"x: *fp32 = p",
    "body: ann_assign (target: name id=x, annotation: ptr_type (pointee: name id=fp32), "
    "value: name id=p)"},
   {"a; b", "body: expr_stmt (value: name id=a), body: expr_stmt (value: name id=b)"},
   {"return", "body: return"},
   {"return a, b", "body: return (value: tuple (items: name id=a, items: name id=b))"},
   {"pass", "body: pass"},
   {"break; continue", "body: break, body: continue"},
   {"assert a, \"m\"", "body: assert (test: name id=a, message: str value=\"m\")"},
   {"raise E from f", "body: raise (value: name id=E)"},
   {"global a, b", "body: global (names: name id=a, names: name id=b)"},
   {"del a, b[0]", "body: del (targets: name id=a, targets: subscript (value: name id=b, indices: "
                   "int value=0))"},
   {"import a.b as c, d",
    "body: import level=0 (names: alias name=a.b as_name=c, names: alias name=d)"},
   {"from a.b import c as d, e",
    "body: import level=0 module=a.b is_from (names: alias name=c as_name=d, names: "
    "alias name=e)"},
   {"from . import x", "body: import level=1 is_from (names: alias name=x)"},
   {"from ...m import (x, y as z,)",
    "body: import level=3 module=m is_from (names: alias name=x, names: alias name=y "
    "as_name=z)"},
   {"from m import *", "body: import level=0 module=m is_from is_star"},
   {"for i in range(3): pass",
    "body: for (target: name id=i, iter: call (func: name id=range, args: int value=3), "
    "body: pass)"},
   {"for i, j in a, b:\n  c\nelse:\n  d",
    "body: for (target: tuple (items: name id=i, items: name id=j), iter: tuple (items: "
    "name id=a, items: name id=b), body: expr_stmt (value: name id=c), orelse: expr_stmt "
    "(value: name id=d))"},
   {"while a:\n  b\nelse: c",
    "body: while (test: name id=a, body: expr_stmt (value: name id=b), orelse: expr_stmt "
    "(value: name id=c))"},
   {"if a: b\nelif c: d\nelse: e",
    "body: if (test: name id=a, body: expr_stmt (value: name id=b), orelse: if (test: "
    "name id=c, body: expr_stmt (value: name id=d), orelse: expr_stmt (value: name "
    "id=e)))"},
   {"with a as b, c: d",
    "body: with (items: with_item (value: name id=a, target: name id=b), items: with_item "
    "(value: name id=c), body: expr_stmt (value: name id=d))"},
   {"with (a as b, c as d,): e",
    "body: with (items: with_item (value: name id=a, target: name id=b), items: with_item "
    "(value: name id=c, target: name id=d), body: expr_stmt (value: name id=e))"},
   {"with (a, b): c",
    "body: with (items: with_item (value: tuple (items: name id=a, items: name id=b)), "
    "body: expr_stmt (value: name id=c))"},
   {"try:\n  a\nexcept E as e:\n  b\nexcept (F, G): c\nelse:\n  d\nfinally:\n  e",
    "body: try (body: expr_stmt (value: name id=a), handlers: except name=e (type: "
    "name id=E, body: expr_stmt (value: name id=b)), handlers: except (type: tuple "
    "(items: name id=F, items: name id=G), body: expr_stmt (value: name id=c)), orelse: "
    "expr_stmt (value: name id=d), finally_body: expr_stmt (value: name id=e))"},
   {"def f(): pass", "body: function name=f (body: pass)"},
   {"def f(a, b: i32 = 1, *, c, **k) -> x: pass",
    "body: function name=f (params: param kind='plain' name=a, params: param kind='plain' "
    "name=b (annotation: name id=i32, default_value: int value=1), params: param kind='*,', "
    "params: param kind='plain' name=c, params: param kind='**' name=k, returns: name "
    "id=x, body: pass)"},
   {"def f(a, /, *r: t): pass",
    "body: function name=f (params: param kind='plain' name=a, params: param kind='/,', "
    "params: param kind='*' name=r (annotation: name id=t), body: pass)"},
   {"def f(p: *const *fp16, q: **const i8, n: i32:16, m: i64:1 = 4): pass",
    "body: function name=f (params: param kind='plain' name=p (annotation: ptr_type "
    "is_const (pointee: ptr_type (pointee: name id=fp16))), params: param kind='plain' "
    "name=q (annotation: ptr_type (pointee: ptr_type is_const (pointee: name id=i8))), "
    "params: param kind='plain' name=n (annotation: fact_type (type: name id=i32, "
    "fact: int value=16)), params: param kind='plain' name=m (annotation: fact_type "
    "(type: name id=i64, fact: int value=1), default_value: int value=4), body: pass)"},
   {"@a\n@b.c(d=[e for f in g])\ndef h(): \"doc\"",
    "body: function name=h (decorators: name id=a, decorators: call (func: attribute "
    "name=c (value: name id=b), args: keyword name=d (value: comprehension kind='list' "
    "(value: name id=e, clauses: comp_for (target: name id=f, iter: name id=g)))), "
    "body: expr_stmt (value: str value=\"doc\"))"},
   {"class A: pass", "body: class name=A (body: pass)"},
   {"class A(B, metaclass=C):\n  x: i32\n  def m(self): return self.x",
    "body: class name=A (bases: name id=B, bases: keyword name=metaclass (value: name "
    "id=C), body: ann_assign (target: name id=x, annotation: name id=i32), body: function "
    "name=m (params: param kind='plain' name=self, body: return (value: attribute "
    "name=x (value: name id=self))))"},
};

static void
every_form(void **state)
{
   (void)state;
   for (size_t i = 0; i < sizeof form / sizeof form[0]; i++) {
      Fixture f;
      fixture_open(&f);
      TlAstModule *m = parse_named(&f, "t.tile", form[i].text, strlen(form[i].text));
      const char *got = one_line(&f, tree_text(&f, &m->node));
      char want[2000];
      snprintf(want, sizeof want, "module (%s)", form[i].tree);
      if (strcmp(got, want) != 0 || f.diags.first)
         fail_msg("for: %s\nexpected: %s\ngot:      %s\n%s", form[i].text, want, got,
                  all_rendered(&f));
      fixture_close(&f);
   }
}

static const char *
text_of(Fixture *f, const TlNode *n)
{
   return tl_arena_strndup(f->arena, tl_source(f->sources, n->range.file)->text + n->range.begin,
                           n->range.end - n->range.begin);
}

static void
ranges_cover_their_text(void **state)
{
   (void)state;
   const char text[] = "@k(1)\n"
                       "def f(a: i32 = 2):\n"
                       "    if a:  # c\n"
                       "        x = (a + 1) * b[i, :]  # d\n"
                       "\n"
                       "    # e\n"
                       "g(h = 3)\n";
   Fixture f;
   fixture_open(&f);
   TlAstModule *m = parse_named(&f, "t.tile", text, sizeof text - 1);
   TlAstFunction *fn = tl_ast_Function(m->body.data[0]);
   assert_string_equal(text_of(&f, fn->decorators.data[0]), "k(1)");
   assert_string_equal(text_of(&f, fn->params.data[0]), "a: i32 = 2");
   TlAstIf *cond = tl_ast_If(fn->body.data[0]);
   assert_string_equal(text_of(&f, &cond->node), "if a:  # c\n        x = (a + 1) * b[i, :]");
   TlAstAssign *set = tl_ast_Assign(cond->body.data[0]);
   TlAstBinary *mul = tl_ast_Binary(set->value);
   assert_string_equal(text_of(&f, &mul->node), "(a + 1) * b[i, :]");
   assert_string_equal(text_of(&f, mul->left), "a + 1");
   assert_string_equal(text_of(&f, tl_ast_Subscript(mul->right)->indices.data[1]), ":");
   TlAstCall *call = tl_ast_Call(tl_ast_ExprStmt(m->body.data[1])->value);
   assert_string_equal(text_of(&f, call->args.data[0]), "h = 3");
   assert_memory_equal(text_of(&f, &fn->node), "@k(1)\ndef f", 11);
   fixture_close(&f);
}

typedef struct Order {
   uint32_t last;
   unsigned count;
} Order;

static void
check_order(void *user, TlNode *child)
{
   Order *o = user, inner = {child->range.begin, 0};
   assert_true(child->range.begin >= o->last);
   o->last = child->range.begin;
   o->count++;
   tl_ast_children(child, check_order, &inner);
   o->count += inner.count;
}

static void
children_in_source_order(void **state)
{
   (void)state;
   const char text[] = "@d\ndef f(a: t = 1, *b) -> r:\n"
                       "  x = {a: b, **c, d: e if f else g}\n"
                       "  y = {k: v for k, v in d if k}\n"
                       "  z = a < b < c; q = f(a, k=1)[1:2]\n";
   Fixture f;
   fixture_open(&f);
   TlAstModule *m = parse_named(&f, "t.tile", text, sizeof text - 1);
   Order o = {0, 0};
   tl_ast_children(&m->node, check_order, &o);
   unsigned lines = 0;
   for (const char *p = tree_text(&f, &m->node); *p; p++)
      lines += *p == '\n';
   assert_int_equal(o.count, lines - 1 - 1); /* all but the module and the dict's null key */
   fixture_close(&f);
}

static void
expressions_alone(void **state)
{
   (void)state;
   static const struct {
      const char *text, *tree;
   } row[] = {
      {"*fp16:16", "fact_type (type: ptr_type (pointee: name id=fp16), fact: int value=16)"},
      {"i32:16", "fact_type (type: name id=i32, fact: int value=16)"},
      {"**const fp32", "ptr_type (pointee: ptr_type is_const (pointee: name id=fp32))"},
      {"(cdiv(n, B),\n 1)", "tuple (items: call (func: name id=cdiv, args: name id=n, args: "
                            "name id=B), items: int value=1)"},
      {"a, b", "tuple (items: name id=a, items: name id=b)"},
      {" 64 ", "int value=64"},
   };
   Fixture f;
   fixture_open(&f);
   for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
      uint32_t file = tl_sources_add(f.sources, "<s>", row[i].text, strlen(row[i].text));
      TlNode *n = tl_parse_expression(&f.cx, file);
      assert_non_null(n);
      assert_string_equal(one_line(&f, tree_text(&f, n)), row[i].tree);
   }
   static const char *const bad[] = {"", "1 +", "a b", "(a", "a = 1", "def"};
   for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
      unsigned before = f.diags.num_errors;
      uint32_t file = tl_sources_add(f.sources, "<s>", bad[i], strlen(bad[i]));
      assert_null(tl_parse_expression(&f.cx, file));
      assert_int_equal(f.diags.num_errors, before + 1);
   }
   fixture_close(&f);
}

int test_parse(void);
int
test_parse(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_form),
      cmocka_unit_test(ranges_cover_their_text),
      cmocka_unit_test(children_in_source_order),
      cmocka_unit_test(expressions_alone),
   };
   return cmocka_run_group_tests_name("syntax/parse", tests, NULL, NULL);
}
