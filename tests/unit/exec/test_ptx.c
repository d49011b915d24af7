/* Inline PTX: each instruction on values whose result the PTX ISA gives, and what is refused. */
#include "exec/ptx.h"
#include "support/ir_fixture.h"

#include <stdio.h>

/* $0 is the only output of a 64-bit register, $1 .. $3 are inputs of 64 bits. */
static const struct {
   const char *text;
   uint64_t in[3], want;
} rows[] = {
   {"mov.b64 $0, 5;", {0}, 5},
   {"mov.u32 $0, -1;", {0}, 0xFFFFFFFF},
   {"mov.b32 $0, 0f3F800000;", {0}, 0x3F800000},
   {"mov.f64 $0, 0d3FF0000000000000;", {0}, 0x3FF0000000000000},
   {"mov.f32 $0, 1.5;", {0}, 0x3FC00000},
   {".reg .b16 a, b; mov.b32 {a, b}, $1; mov.b32 $0, {b, a};", {0x11112222}, 0x22221111},
   {".reg .b32 a; mov.b64 {_, a}, $1; mov.b32 $0, a;", {0x1111111122222222}, 0x11111111},
   {".reg .b32 r<3>; add.s32 r0, $1, 1; add.s32 r2, r0, r0; mov.b32 $0, r2;", {5}, 12},
   {"{ .reg .b32 a; mov.b32 a, 3; { .reg .b32 a; mov.b32 a, 4; } mov.b32 $0, a; }", {0}, 3},
   {"add.s32 $0, $1, $2; // comment ; \n /* and ; */ add.s32 $0, $0, 1;",
    {0x7FFFFFFF, 1},
    0x80000001},
   {"sub.u64 $0, $1, $2;", {0, 1}, UINT64_MAX},
   {"mul.lo.s16 $0, $1, $2;", {300, 300}, 90000 & 0xFFFF},
   {"mul.hi.u32 $0, $1, $2;", {0x80000000, 6}, 3},
   {"mul.hi.s32 $0, $1, $2;", {0x80000000, 2}, 0xFFFFFFFF},
   {"mul.wide.s32 $0, $1, $2;", {0xFFFFFFFF, 5}, (uint64_t)-5},
   {"mul.wide.u16 $0, $1, $2;", {0xFFFF, 0xFFFF}, 0xFFFE0001},
   {"mad.lo.s32 $0, $1, $2, $3;", {3, 4, 5}, 17},
   {"mad.wide.u32 $0, $1, $2, $3;", {0x80000000, 4, 1}, 0x200000001},
   {"div.s32 $0, $1, $2;", {(uint32_t)-7, 2}, (uint32_t)-3},
   {"rem.s32 $0, $1, $2;", {(uint32_t)-7, 2}, (uint32_t)-1},
   {"min.s32 $0, $1, $2;", {0xFFFFFFFF, 1}, 0xFFFFFFFF},
   {"min.u32 $0, $1, $2;", {0xFFFFFFFF, 1}, 1},
   {"abs.s32 $0, $1;", {(uint32_t)-5}, 5},
   {"neg.s64 $0, $1;", {5}, (uint64_t)-5},
   {"add.f32 $0, $1, $2;", {0x3F800000, 0x33800000}, 0x3F800000},
   {"add.f32 $0, $1, 0f3F800000;", {0x40000000}, 0x40400000},
   {"add.ftz.f32 $0, $1, $2;", {0x00400000, 0x00400000}, 0},
   {"add.f32 $0, $1, $2;", {0x00400000, 0x00400000}, 0x00800000},
   {"add.sat.f32 $0, $1, $2;", {0x3F800000, 0x3F800000}, 0x3F800000},
   {"fma.rn.f32 $0, $1, $2, $3;", {0x3F800001, 0x3F800001, 0xBF800002}, 0x28800000},
   {"fma.rn.relu.f16x2 $0, $1, $2, $3;", {0x3C003C00, 0xC0004000, 0}, 0x00004000},
   {"add.f16x2 $0, $1, $2;", {0x3C004000, 0x3C003C00}, 0x40004200},
   {"mul.bf16x2 $0, $1, $2;", {0x40003F80, 0x40404040}, 0x40C04040},
   {"max.f32 $0, $1, $2;", {0x7FC00000, 0x3F800000}, 0x3F800000},
   {"max.NaN.f32 $0, $1, $2;", {0x7FC00000, 0x3F800000}, 0x7FC00000},
   {"max.NaN.f32 $0, $1, $2;", {0x3F800000, 0xC0000000}, 0x3F800000},
   {"max.NaN.xorsign.abs.f32 $0, $1, $2;", {0x3F800000, 0xC0000000}, 0xC0000000},
   {"min.xorsign.abs.f32 $0, $1, $2;", {0xBF800000, 0xC0000000}, 0x3F800000},
   {"min.xorsign.abs.f32 $0, $1, $2;", {0x7FC00000, 0xC0000000}, 0xC0000000},
   {"max.xorsign.abs.bf16x2 $0, $1, $2;", {0x3F80BF80, 0xC0004000}, 0xC000C000},
   {"copysign.f32 $0, $1, $2;", {0x80000000, 0x3F800000}, 0xBF800000},
   {"rcp.approx.ftz.f32 $0, $1;", {0x40800000}, 0x3E800000},
   {"sqrt.rn.f32 $0, $1;", {0x40800000}, 0x40000000},
   {"rsqrt.approx.f32 $0, $1;", {0x40800000}, 0x3F000000},
   {"ex2.approx.f32 $0, $1;", {0x40400000}, 0x41000000},
   {"ex2.approx.f16x2 $0, $1;", {0x3C004000}, 0x40004400},
   {"lg2.approx.f32 $0, $1;", {0x41000000}, 0x40400000},
   {"tanh.approx.f32 $0, $1;", {0x7F800000}, 0x3F800000},
   {"sin.approx.f32 $0, $1;", {0}, 0},
   {"cos.approx.f32 $0, $1;", {0}, 0x3F800000},
   {"and.b32 $0, $1, 0xF0;", {0xABCD}, 0xC0},
   {"and.b32 $0, $1, 0b11110000;", {0xABCD}, 0xC0},
   {"and.b32 $0, $1, -0b10000;", {0xABCD}, 0xABC0},
   {"not.b16 $0, $1;", {0x00FF}, 0xFF00},
   {"shl.b32 $0, $1, $2;", {1, 33}, 0},
   {"shr.u32 $0, $1, 4;", {0x80000000}, 0x08000000},
   {"shr.s32 $0, $1, 40;", {0x80000000}, 0xFFFFFFFF},
   {"shf.l.wrap.b32 $0, $1, $2, 8;", {0x12345678, 0x9ABCDEF0}, 0xBCDEF012},
   {"shf.r.clamp.b32 $0, $1, $2, 40;", {0x12345678, 0x9ABCDEF0}, 0x9ABCDEF0},
   {"popc.b64 $0, $1;", {0xFF00FF}, 16},
   {"clz.b32 $0, $1;", {1}, 31},
   {"brev.b32 $0, $1;", {1}, 0x80000000},
   {"bfe.u32 $0, $1, 8, 8;", {0xABCDEF}, 0xCD},
   {"bfe.s32 $0, $1, 8, 8;", {0xABCDEF}, 0xFFFFFFCD},
   {"bfi.b32 $0, $1, $2, 8, 8;", {0xAB, 0}, 0xAB00},
   {"prmt.b32 $0, $1, $2, 0x5410;", {0x33221100, 0x77665544}, 0x55441100},
   {"prmt.b32 $0, $1, $2, 0x000C;", {0, 0x00000080}, 0xFF & 0xFF},
   {"lop3.b32 $0, $1, $2, $3, 0x96;", {0xF0F0, 0xFF00, 0x5555}, 0xF0F0 ^ 0xFF00 ^ 0x5555},
   {"lop3.b32 $0, $1, $2, $3, 0xE8;", {12, 10, 6}, 14},
   {"dp4a.s32.u32 $0, $1, $2, $3;", {0xFF01FF01, 0x02020202, 1}, 1},
   {".reg .pred p; setp.lt.f32 p, $1, $2; selp.b32 $0, 1, 2, p;", {0x3F800000, 0x40000000}, 1},
   {".reg .pred p; setp.ne.f32 p, $1, $1; selp.b32 $0, 1, 2, p;", {0x7FC00000}, 2},
   {".reg .pred p; setp.neu.f32 p, $1, $1; selp.b32 $0, 1, 2, p;", {0x7FC00000}, 1},
   {".reg .pred p; setp.hi.u32 p, $1, 5; @p mov.b32 $0, 7; @!p mov.b32 $0, 8;", {6}, 7},
   {".reg .pred p, q; setp.eq.s32 p|q, $1, 1; @q mov.b32 $0, 9;", {2}, 9},
   {".reg .pred p, q; setp.eq.s32 q, $1, 2; setp.eq.and.s32 p, $2, 3, !q; selp.b32 $0, 1, 0, p;",
    {2, 3},
    0},
   {".reg .pred p; setp.nan.f32 p, $1, $2; selp.b32 $0, 1, 0, p;", {0x7FC00000, 0}, 1},
   {"cvt.s32.s8 $0, $1;", {0x80}, 0xFFFFFF80},
   {"cvt.u32.u8 $0, $1;", {0x180}, 0x80},
   {"cvt.sat.s8.s32 $0, $1;", {1000}, 127},
   {"cvt.sat.u8.s32 $0, $1;", {(uint32_t)-3}, 0},
   {"cvt.rni.s32.f32 $0, $1;", {0x40200000}, 2},
   {"cvt.rpi.s32.f32 $0, $1;", {0x40200000}, 3},
   {"cvt.rzi.u32.f32 $0, $1;", {0xBF800000}, 0},
   {"cvt.rn.f32.s32 $0, $1;", {16777217}, 0x4B800000},
   {"cvt.rz.f32.u64 $0, $1;", {UINT64_MAX}, 0x5F7FFFFF},
   {"cvt.rn.f16.f32 $0, $1;", {0x3F800000}, 0x3C00},
   {"cvt.rm.f32.s32 $0, $1;", {0x01000001}, 0x4B800000},
   {"cvt.rp.f32.s32 $0, $1;", {0x01000001}, 0x4B800001},
   {"add.rm.f32 $0, $1, $2;", {0x3F800000, 0x80000001}, 0x3F7FFFFF},
   {"sqrt.rp.f32 $0, $1;", {0x40000000}, 0x3FB504F4},
   {"rcp.rz.f32 $0, $1;", {0x40400000}, 0x3EAAAAAA},
   {"cvt.rz.bf16.f32 $0, $1;", {0x3F80FFFF}, 0x3F80},
   {"cvt.rn.bf16.f32 $0, $1;", {0x3F80FFFF}, 0x3F81},
   {"cvt.f32.f16 $0, $1;", {0x3C00}, 0x3F800000},
   {"cvt.rna.tf32.f32 $0, $1;", {0x3F801000}, 0x3F802000},
   {"cvt.rn.f16x2.f32 $0, $1, $2;", {0x3F800000, 0x40000000}, 0x3C004000},
   {"cvt.rn.bf16x2.f32 $0, $1, $2;", {0x3F800000, 0x40000000}, 0x3F804000},
   {"cvt.rn.satfinite.e4m3x2.f32 $0, $1, $2;", {0x3F800000, 0x7F000000}, 0x387E},
   {"cvt.rn.satfinite.e5m2x2.f16x2 $0, $1;", {0x3C004000}, 0x3C40},
   {"cvt.rn.f16x2.e4m3x2 $0, $1;", {0x3840}, 0x3C004000},
   {"cvt.rn.relu.f16x2.f32 $0, $1, $2;", {0xBF800000, 0x40000000}, 0x00004000},
   {"cvt.pack.sat.u8.s32.b32 $0, $1, $2, $3;", {300, (uint32_t)-5, 0x1234}, 0x1234FF00},
   {"cvt.rmi.f32.f32 $0, $1;", {0x40200000}, 0x40000000},
};

static const struct {
   const char *text, *why;
} refused[] = {
   {"bar.sync 0;", "not modelled on the CPU"},
   {"ld.global.b32 $0, [$1];", "not modelled on the CPU"},
   {"mov.b32 $0, [$1];", "memory is not accessed"},
   {"add.rna.f32 $0, $1, $2;", "modifier"},
   {"fma.rp.f16 $0, $1, $2, $3;", "f32"},
   {"min.abs.f32 $0, $1, $2;", ".xorsign.abs"},
   {"min.xorsign.abs.s32 $0, $1, $2;", ".xorsign.abs"},
   {"add.xorsign.abs.f32 $0, $1, $2;", "modifier"},
   {"add.s32 $0, $1;", "number of operands"},
   {"add $0, $1, $2;", "number of types"},
   {"mul.s32 $0, $1, $2;", ".lo, .hi, .wide"},
   {"add.f8 $0, $1, $2;", "modifier"},
   {"mov.b32 $0, %laneid;", "register is not declared"},
   {"mov.b32 $0, $9;", "4 operands names $9"},
   {"mov.b32 5, $1;", "must be a register"},
   {"{ mov.b32 $0, $1;", "'}' is missing"},
   {"mov.b32 $0, $1; }", "has no '{'"},
   {"mov.b32 $0, $1 mov.b32 $0, $1;", "';' is expected"},
   {".shared .b32 a;", "only .reg"},
   {".reg .b128 a;", "register type"},
   {".reg .b32 a<999>;", "register count"},
   {"mov.b32 $0, {$1, $2, $3};", "2, 4 or 8 elements"},
   {"setp.f32 $0, $1, $2;", "one comparison"},
};

/* An inline_asm of three u64 and one u64 result. */
static const TlPtx *
program(IrFixture *x, const char *text, const char **error)
{
   TlSb escaped;
   tl_sb_init(&escaped, x->arena);
   for (const char *p = text; *p; p++)
      tl_sb_str(&escaped, *p == '\n' ? "\\n" : (const char[]){*p, 0});
   const char *ir = tl_arena_printf(
      x->arena,
      "func @k(%%a: u64, %%b: u64, %%c: u64) {num_warps = 4, state = typed} {\n"
      "%%r = inline_asm %%a, %%b, %%c {text = \"%s\", constraints = \"=l,l,l,l\", pure, pack = 1} "
      ": u64\nreturn\n}\n",
      tl_sb_cstr(&escaped));
   if (!ir_read(x, ir)) {
      *error = ir_messages(x);
      return NULL;
   }
   return tl_ptx_new(x->arena, x->module->first_func->body->block->first, error);
}

static void
instructions_do_what_the_isa_says(void **state)
{
   (void)state;
   for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
      IrFixture x;
      ir_open(&x);
      const char *error = NULL;
      const TlPtx *p = program(&x, rows[i].text, &error);
      if (!p)
         fail_msg("%s: %s", rows[i].text, error);
      uint64_t got = 0;
      const void *args[] = {&rows[i].in[0], &rows[i].in[1], &rows[i].in[2]};
      tl_ptx_apply(p, args, (const size_t[]){1, 1, 1}, (void *const[]){&got}, 1);
      if (got != rows[i].want)
         fail_msg("%s gave 0x%llx, not 0x%llx", rows[i].text, (unsigned long long)got,
                  (unsigned long long)rows[i].want);
      ir_close(&x);
   }
}

static void
other_instructions_are_refused(void **state)
{
   (void)state;
   for (unsigned i = 0; i < sizeof refused / sizeof refused[0]; i++) {
      IrFixture x;
      ir_open(&x);
      const char *error = NULL;
      assert_null(program(&x, refused[i].text, &error));
      assert_non_null(error);
      if (!strstr(error, refused[i].why))
         fail_msg("%s: \"%s\" does not tell of \"%s\"", refused[i].text, error, refused[i].why);
      ir_close(&x);
   }
}

/* Any text is refused or runs: pieces of instructions in random order. */
static void
random_text_does_no_harm(void **state)
{
   (void)state;
   static const char *const piece[] = {"mov",   ".b32", " $0", ", $1", ";",   "{",     "}",
                                       ".reg ", "a<3>", "@p ", "|",    "!",   "_",     "setp",
                                       ".lt",   ".f32", "0x",  "-",    "cvt", ".rn",   "\n",
                                       "//",    "/*",   "$",   "1.5",  "a1",  "f16x2", ".pack"};
   uint64_t seed = 4711;
   for (unsigned trial = 0; trial < 3000; trial++) {
      IrFixture x;
      ir_open(&x);
      TlSb text;
      tl_sb_init(&text, x.arena);
      for (unsigned n = 0; n < 12; n++) {
         seed = seed * 6364136223846793005u + 1442695040888963407u;
         tl_sb_str(&text, piece[(seed >> 33) % (sizeof piece / sizeof piece[0])]);
      }
      const char *error = NULL;
      const TlPtx *p = program(&x, tl_sb_cstr(&text), &error);
      uint64_t in = 1, got;
      const void *args[] = {&in, &in, &in};
      if (p)
         tl_ptx_apply(p, args, (const size_t[]){1, 1, 1}, (void *const[]){&got}, 1);
      else
         assert_non_null(error);
      ir_close(&x);
   }
}

int test_ptx(void);
int
test_ptx(void)
{
   const struct CMUnitTest tests[] = {
      cmocka_unit_test(instructions_do_what_the_isa_says),
      cmocka_unit_test(other_instructions_are_refused),
      cmocka_unit_test(random_text_does_no_harm),
   };
   return cmocka_run_group_tests_name("ptx", tests, NULL, NULL);
}
