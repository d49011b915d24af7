/* LOWERED text to PTX: what each machine operation becomes; failures are located errors. */
#include "codegen/codegen.h"
#include "support/ir_fixture.h"

static int
setup(void **state)
{
   static IrFixture x;
   ir_open(&x);
   *state = &x;
   return 0;
}

static int
teardown(void **state)
{
   ir_close(*state);
   return 0;
}

/* PTX of one kernel whose body is given; NULL when code generation reported an error. */
static const char *
emit(IrFixture *f, const char *arch, const char *head, const char *body)
{
   const char *text = tl_arena_printf(
      f->arena,
      "func @k(%s) {num_warps = 4, state = lowered, shared_bytes = 32768} {\n%s\nreturn\n}\n", head,
      body);
   uint32_t file = tl_sources_add(f->sources, "k.tir", text, strlen(text));
   f->module->first_func = f->module->last_func = NULL;
   bool ok = tl_read_module(f->module, f->sources, file);
   for (const TlDiag *d = f->diags.first; !ok && d; d = d->next)
      print_error("%s\n", d->text);
   assert_true(ok);
   TlCgOptions o = {
      .target = tl_target_find(arch), .opt_level = 3, .want_llvm = true, .verify = true};
   TlCgResult r;
   TlFunc *func = f->module->first_func;
   return tl_codegen(f->arena, &func, 1, f->sources, &f->diags, &o, &r) ? r.ptx : NULL;
}

static void
expect(const char *ptx, const char *what)
{
   assert_non_null(ptx);
   if (!strstr(ptx, what))
      fail_msg("'%s' is missing in:\n%s", what, ptx);
}

static void
kernel_frame(void **state)
{
   const char *ptx = emit(*state, "sm_90a", "%x: ptr<fp32> {div = 16}, %n: i32, %b: i1", "");
   expect(ptx, ".target sm_90a");
   expect(ptx, ".visible .entry k(");
   expect(ptx, ".align 16 k_param_0");
   expect(ptx, ".param .u8 k_param_2");
   expect(ptx, ".reqntid 128");
}

static void
too_many_parameters(void **state)
{
   IrFixture *f = *state;
   enum { MOST = 32764 / 8 };
   for (unsigned n = MOST; n <= MOST + 1; n++) {
      TlSb head;
      tl_sb_init(&head, f->arena);
      for (unsigned i = 0; i < n; i++)
         tl_sb_printf(&head, "%s%%p%u: ptr<i32>", i ? ", " : "", i);
      const char *ptx = emit(f, "sm_90a", tl_sb_cstr(&head), "");
      if (n == MOST)
         expect(ptx, ".version 8.1");
      else
         assert_null(ptx);
   }
   assert_int_equal(f->diags.num_errors, 1);
   assert_int_equal(f->diags.first->code, TL_DIAG_E0505);
}

static void
vector_accesses(void **state)
{
   const char *ptx = emit(*state, "sm_80", "%x: ptr<fp32>, %h: ptr<fp16>, %n: i1",
                          "%v = ld_global %x {vec = 4} : regs<fp32, 4>\n"
                          "%w = ld_global %h, %n {vec = 8} : regs<fp16, 8>\n"
                          "st_global %x, %v, %n {vec = 4}\n"
                          "st_global %h, %w {vec = 8}\n");
   expect(ptx, "ld.global.v4.b32");
   expect(ptx, "@%p1 ld.global.v4.b32");
   expect(ptx, "@%p1 st.global.v4.b32");
   expect(ptx, "st.global.v4.b32");
}

static void
cache_hints(void **state)
{
   const char *ptx = emit(*state, "sm_90a", "%x: ptr<fp32>",
                          "%v = ld_global %x {cache = cg} : fp32\n"
                          "%w = ld_global %x {evict = last} : fp32\n"
                          "%b = ld_global %x {cache = ca, evict = last} : fp32\n"
                          "%a = add %v, %w : fp32\n"
                          "%s = add %a, %b : fp32\n"
                          "st_global %x, %s {evict = first}\n");
   expect(ptx, "ld.global.cg.b32");
   expect(ptx, "ld.global.ca.L2::cache_hint.b32"); /* with ".L1::evict_last" ptxas refuses it */
   expect(ptx, "ld.global.L1::evict_last.L2::cache_hint.b32");
   expect(ptx, "createpolicy.fractional.L2::evict_first.b64");
   expect(ptx, "st.global.L1::evict_first.L2::cache_hint.b32");
}

static void
shared_and_barriers(void **state)
{
   const char *ptx =
      emit(*state, "sm_80", "%x: ptr<fp16>, %y: ptr<fp32>",
           "%l = lane_id : i32\n"
           "%c = constant 16 : i32\n"
           "%a = mul %l, %c : i32\n"
           "%v = ld_global %x {vec = 8} : regs<fp16, 8>\n"
           "st_shared %a, %v {vec = 8}\n"
           "bar_sync\n"
           "%m = ldmatrix %a : regs<fp16, 8>\n"
           "%t = ldmatrix %a {trans, num = 2, offsets = [64]} : regs<fp16, 4>\n"
           "%z = constant 0.0 : regs<fp32, 4>\n"
           "%d = mma %m, %t, %z {mma = m16n8k16.f16.f32, reps = {m = 1, n = 1}} : regs<fp32, 4>\n"
           "st_global %y, %d {vec = 4}\n");
   expect(ptx, "st.shared.v4.b32");
   expect(ptx, "bar.sync");
   expect(ptx, "ldmatrix.sync.aligned.m8n8.x4.shared.b16");
   expect(ptx, "ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16");
   expect(ptx, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
}

/* LLVM 22 miscompiles fptoui to i1 and sitofp from i1 to bf16: neither may be emitted. */
static void
avoided_patterns(void **state)
{
   const char *ptx = emit(*state, "sm_90a", "%x: ptr<fp32>, %y: ptr<bf16>",
                          "%v = ld_global %x : fp32\n"
                          "%b = cast %v : i1\n"
                          "%h = cast %b : bf16\n"
                          "st_global %y, %h\n");
   expect(ptx, "setp.neu.f32");
   expect(ptx, "selp");
}

static void
loops_have_one_branch(void **state)
{
   const char *ptx = emit(*state, "sm_90a", "%x: ptr<fp32>, %n: i32",
                          "%z = constant 0 : i32\n"
                          "%o = constant 1 : i32\n"
                          "%f = constant 0.0 : fp32\n"
                          "%r = for %i = %z to %n step %o iter(%acc = %f) : fp32 {\n"
                          "  %p = addptr %x, %i : ptr<fp32>\n"
                          "  %v = ld_global %p : fp32\n"
                          "  %s = add %acc, %v : fp32\n"
                          "  yield %s\n"
                          "}\n"
                          "st_global %x, %r\n");
   assert_non_null(ptx);
   unsigned branches = 0;
   for (const char *p = ptx; (p = strstr(p, "bra")); p++)
      branches++;
   assert_true(branches <= 3); /* the guard, the back edge, at most one join */
}

static void
fp64_functions_are_errors(void **state)
{
   IrFixture *f = *state;
   assert_null(emit(f, "sm_90a", "%x: ptr<fp64>",
                    "%v = ld_global %x : fp64\n%e = exp %v : fp64\nst_global %x, %e\n"));
   assert_int_equal(f->diags.num_errors, 1);
   assert_int_equal(f->diags.first->code, TL_DIAG_E0501);
   assert_int_not_equal(f->diags.first->range.file, 0);
}

static void
missing_features_are_errors(void **state)
{
   IrFixture *f = *state;
   assert_null(emit(f, "sm_80", "%x: ptr<fp16>, %a: i32",
                    "%v = ld_global %x {vec = 2} : regs<fp16, 2>\nstmatrix %a, %v {num = 1}\n"));
   assert_int_equal(f->diags.first->code, TL_DIAG_E0501);
}

/* LLVM would warn, and write the name it does not know into the PTX. */
static void
unknown_targets_stay_out(void **state)
{
   (void)state;
   static const char *const names[] = {"sm_1", "sm_90A", "sm_9", "90", "", "sm_90aa", "gfx90a"};
   for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
      assert_null(tl_target_find(names[i]));
}

/* What a target lacks is done by compare-and-swap. */
static void
bf16_adds_loop_before_sm_90(void **state)
{
   IrFixture *f = *state;
   static const char body[] =
      "%v = ld_global %x : bf16\n%o = atom_rmw %x, %v : bf16\nst_global %x, %o\n";
   const char *ptx = emit(f, "sm_80", "%x: ptr<bf16>", body);
   assert_non_null(ptx);
   assert_non_null(strstr(ptx, "atom.acq_rel.gpu.global.cas.b16"));
   assert_null(strstr(ptx, "noftz.bf16"));
   ptx = emit(f, "sm_90", "%x: ptr<bf16>", body);
   assert_non_null(strstr(ptx, "atom.acq_rel.gpu.global.add.noftz.bf16"));
   assert_null(strstr(ptx, "cas"));
}

static void
fp8_pairs_use_the_hardware(void **state)
{
   IrFixture *f = *state;
   static const char body[] = "%v = ld_global %x {vec = 2} : regs<fp32, 2>\n"
                              "%c = cast %v : regs<fp8e4nv, 2>\nst_global %y, %c {vec = 2}\n"
                              "%b = cast %c : regs<fp32, 2>\nst_global %x, %b {vec = 2}\n";
   const char *ptx = emit(f, "sm_90", "%x: ptr<fp32>, %y: ptr<fp8e4nv>", body);
   assert_non_null(ptx);
   assert_non_null(strstr(ptx, "cvt.rn.satfinite.e4m3x2.f32"));
   assert_non_null(strstr(ptx, "cvt.rn.f16x2.e4m3x2"));
   ptx = emit(f, "sm_80", "%x: ptr<fp32>, %y: ptr<fp8e4nv>", body);
   assert_non_null(ptx);
   assert_null(strstr(ptx, "e4m3x2"));
}

static void
every_target_compiles(void **state)
{
   for (unsigned i = 0; tl_target_at(i); i++) {
      const char *ptx = emit(*state, tl_target_at(i)->arch, "%x: ptr<fp32>",
                             "%v = ld_global %x : fp32\n%e = exp2 %v : fp32\nst_global %x, %e\n");
      expect(ptx, "ex2.approx.ftz.f32");
      expect(ptx, tl_target_at(i)->arch);
   }
}

static void
shuffles_pack_halves(void **state)
{
   const char *ptx = emit(*state, "sm_90a", "%x: ptr<fp16>",
                          "%v = ld_global %x {vec = 8} : regs<fp16, 8>\n"
                          "%o = constant 1 : i32\n"
                          "%s = shfl %v, %o : regs<fp16, 8>\n"
                          "st_global %x, %s {vec = 8}\n");
   assert_non_null(ptx);
   unsigned shuffles = 0;
   for (const char *p = ptx; (p = strstr(p, "shfl.sync")); p++)
      shuffles++;
   assert_int_equal(shuffles, 4); /* two halves in each */
}

static void
printing_and_assertions(void **state)
{
   const char *ptx = emit(*state, "sm_90a", "%x: ptr<fp16>, %n: i32",
                          "%v = ld_global %x : fp16\n"
                          "%z = constant 0 : i32\n"
                          "%c = gt %n, %z : i1\n"
                          "device_print %v, %n {text = \"100% of\"}\n"
                          "device_assert %c {text = \"n must be positive\"}\n");
   expect(ptx, "vprintf");
   expect(ptx, "__assertfail");
   expect(ptx, ".extern .func");
   assert_null(strstr(ptx, "trap"));
}

/* The user's assembly, two fp16 elements to a register. */
static void
inline_assembly_packs(void **state)
{
   const char *ptx = emit(*state, "sm_90a", "%x: ptr<fp16>",
                          "%v = ld_global %x {vec = 4} : regs<fp16, 4>\n"
                          "%r = inline_asm %v {text = \"ex2.approx.f16x2 $0, $1;\", "
                          "constraints = \"=r,r\", pack = 2} : regs<fp16, 4>\n"
                          "st_global %x, %r {vec = 4}\n");
   assert_non_null(ptx);
   unsigned calls = 0;
   for (const char *p = ptx; (p = strstr(p, "ex2.approx.f16x2")); p++)
      calls++;
   assert_int_equal(calls, 2);
   /* of fewer registers than a call has the last is repeated */
   ptx = emit(*state, "sm_90a", "%x: ptr<i32>, %n: i32",
              "%r = inline_asm %n {text = \"add.s32 $0, $2, $3;\", "
              "constraints = \"=r,=r,r,r\", pack = 2} : i32\n"
              "st_global %x, %r\n");
   assert_non_null(ptx);
   const char *p = strstr(ptx, "add.s32 ");
   unsigned d, a, b;
   assert_non_null(p);
   assert_int_equal(sscanf(p, "add.s32 %%r%u, %%r%u, %%r%u;", &d, &a, &b), 3);
   assert_int_equal(a, b);
}

static void
atomics(void **state)
{
   const char *ptx = emit(*state, "sm_90a", "%x: ptr<fp32>, %i: ptr<i32>, %b: i1, %h: ptr<fp16>",
                          "%v = ld_global %x : fp32\n"
                          "%a = atom_rmw %x, %v, %b : fp32\n"
                          "%m = atom_rmw %x, %a {rmw = max, sem = relaxed, scope = sys} : fp32\n"
                          "%n = ld_global %i : i32\n"
                          "%e = atom_rmw %i, %n {rmw = xchg} : i32\n"
                          "%c = atom_cas %i, %n, %e {sem = acquire, scope = cta} : i32\n"
                          "%s = cast %m : i32\n"
                          "%t = add %c, %s : i32\n"
                          "st_global %i, %t\n"
                          "%q = ld_global %h : fp16\n"
                          "%w = atom_rmw %h, %q : fp16\n"
                          "st_global %h, %w\n");
   expect(ptx, "atom.acq_rel.gpu.global.add.f32");
   expect(ptx, "atom.relaxed.sys.global.max.s32"); /* floats by their integer order */
   expect(ptx, "atom.relaxed.sys.global.min.u32");
   expect(ptx, "atom.acq_rel.gpu.global.exch.b32");
   expect(ptx, "atom.acquire.cta.global.cas.b32");
   expect(ptx, "atom.acq_rel.gpu.global.add.noftz.f16");
}

/* Every function of fp32, and the 16-bit types through it; strict mode keeps denormals. */
static void
functions(void **state)
{
   static const char *const names[] = {"exp",  "exp2",  "log",     "log2",  "sin",
                                       "cos",  "sqrt",  "sqrt_rn", "rsqrt", "erf",
                                       "tanh", "floor", "ceil",    "trunc", "rint"};
   IrFixture *f = *state;
   for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
      for (unsigned t = 0; t < 3; t++) {
         const char *type = ((const char *[]){"fp32", "fp16", "bf16"})[t];
         const char *head = tl_arena_printf(f->arena, "%%x: ptr<%s>", type);
         const char *body = tl_arena_printf(
            f->arena, "%%v = ld_global %%x : %s\n%%r = %s %%v : %s\nst_global %%x, %%r\n", type,
            names[i], type);
         expect(emit(f, "sm_80", head, body), "st.global");
      }
   expect(emit(f, "sm_90a", "%x: ptr<fp32>",
               "%v = ld_global %x : fp32\n%r = sqrt %v : fp32\n"
               "st_global %x, %r\n"),
          "sqrt.approx.ftz.f32");
}

/* Every pair of dtypes has a conversion that assembles; none goes through a pattern LLVM gets
 * wrong. */
static void
all_casts(void **state)
{
   IrFixture *f = *state;
   for (unsigned a = 0; a < TL_DTYPE_COUNT; a++)
      for (unsigned b = 0; b < TL_DTYPE_COUNT; b++) {
         const char *from = tl_dtype_info[a].text, *to = tl_dtype_info[b].text;
         const char *head = tl_arena_printf(f->arena, "%%x: %s, %%y: ptr<%s>", from, to);
         const char *body =
            tl_arena_printf(f->arena, "%%r = cast %%x : %s\nst_global %%y, %%r\n", to);
         expect(emit(f, "sm_90a", head, body), "st.global");
      }
}

int test_emit(void);
int
test_emit(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(kernel_frame, setup, teardown),
      cmocka_unit_test_setup_teardown(too_many_parameters, setup, teardown),
      cmocka_unit_test_setup_teardown(vector_accesses, setup, teardown),
      cmocka_unit_test_setup_teardown(cache_hints, setup, teardown),
      cmocka_unit_test_setup_teardown(shared_and_barriers, setup, teardown),
      cmocka_unit_test_setup_teardown(avoided_patterns, setup, teardown),
      cmocka_unit_test_setup_teardown(loops_have_one_branch, setup, teardown),
      cmocka_unit_test_setup_teardown(fp64_functions_are_errors, setup, teardown),
      cmocka_unit_test_setup_teardown(missing_features_are_errors, setup, teardown),
      cmocka_unit_test(unknown_targets_stay_out),
      cmocka_unit_test_setup_teardown(bf16_adds_loop_before_sm_90, setup, teardown),
      cmocka_unit_test_setup_teardown(fp8_pairs_use_the_hardware, setup, teardown),
      cmocka_unit_test_setup_teardown(every_target_compiles, setup, teardown),
      cmocka_unit_test_setup_teardown(shuffles_pack_halves, setup, teardown),
      cmocka_unit_test_setup_teardown(printing_and_assertions, setup, teardown),
      cmocka_unit_test_setup_teardown(inline_assembly_packs, setup, teardown),
      cmocka_unit_test_setup_teardown(atomics, setup, teardown),
      cmocka_unit_test_setup_teardown(functions, setup, teardown),
      cmocka_unit_test_setup_teardown(all_casts, setup, teardown),
   };
   return cmocka_run_group_tests(tests, NULL, NULL);
}
